//! Functions: which one a call means.

use crate::coerce::{Path, base_type};
use crate::state::Analyzer;
use base::{Oid, Result, err};
use catalog::{CastContext, ProcDesc, oids};
use ir::{Expr, Location};
use std::sync::Arc;

/// One that might be meant, with the argument types of the call's shape.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub oid: Oid,
    pub args: Vec<Oid>,
    /// How many of `args` came from expanding VARIADIC.
    pub expanded: usize,
    /// How many trailing arguments come from defaults.
    pub defaults: usize,
    /// For named notation: which parameter each argument of the call is, from 0.
    pub order: Option<Vec<usize>>,
}

impl Candidate {
    pub fn plain(oid: Oid, args: Vec<Oid>) -> Candidate {
        Candidate { oid, args, expanded: 0, defaults: 0, order: None }
    }
}

/// What choosing among candidates gave.
pub(crate) enum Choice {
    One(Oid),
    None,
    Many,
}

/// What a call turned out to be.
pub(crate) enum FuncDetail {
    /// A function, aggregate, window function or procedure.
    Proc {
        desc: Arc<ProcDesc>,
        candidate: Candidate,
    },
    /// `type(value)`: a coercion.
    Coercion(Oid),
    NotFound,
    Many,
}

impl Analyzer<'_> {
    /// Those whose arguments the call's can be coerced to.
    pub fn matching_candidates(
        &self,
        inputs: &[Oid],
        candidates: Vec<Candidate>,
    ) -> Result<Vec<Candidate>> {
        let mut kept = Vec::new();
        for c in candidates {
            if self.can_coerce(inputs, &c.args, CastContext::Implicit)? {
                kept.push(c);
            }
        }
        Ok(kept)
    }

    fn is_preferred(&self, category: u8, ty: Oid) -> Result<bool> {
        let desc = self.type_desc(ty)?;
        Ok(desc.category == category && desc.is_preferred)
    }

    fn category(&self, ty: Oid) -> Result<u8> {
        Ok(self.type_desc(ty)?.category)
    }

    /// `func_select_candidate`.
    pub fn select_candidate(&self, inputs: &[Oid], mut list: Vec<Candidate>) -> Result<Choice> {
        let mut bases = Vec::with_capacity(inputs.len());
        let mut unknowns = 0;
        for &input in inputs {
            if input == oids::UNKNOWN {
                unknowns += 1;
                bases.push(input);
            } else {
                bases.push(base_type(self.catalog(), input)?);
            }
        }
        let known = || (0..bases.len()).filter(|&i| bases[i] != oids::UNKNOWN);
        list = keep_best(list, |c| Ok(known().filter(|&i| c.args[i] == bases[i]).count()))?;
        if let [only] = list.as_slice() {
            return Ok(Choice::One(only.oid));
        }
        let mut categories = Vec::with_capacity(bases.len());
        for &b in &bases {
            categories.push(self.category(b)?);
        }
        list = keep_best(list, |c| {
            let mut score = 0;
            for i in known() {
                if c.args[i] == bases[i] || self.is_preferred(categories[i], c.args[i])? {
                    score += 1;
                }
            }
            Ok(score)
        })?;
        if let [only] = list.as_slice() {
            return Ok(Choice::One(only.oid));
        }
        if unknowns == 0 {
            return Ok(Choice::Many);
        }
        list = self.by_unknown_categories(&bases, &mut categories, list)?;
        if let [only] = list.as_slice() {
            return Ok(Choice::One(only.oid));
        }
        // If all known arguments have one type, suppose that the unknown ones have it too.
        let mut same = None;
        for i in known() {
            match same {
                None => same = Some(bases[i]),
                Some(ty) if ty != bases[i] => return Ok(Choice::Many),
                _ => {}
            }
        }
        if let Some(ty) = same {
            let supposed = vec![ty; bases.len()];
            let mut kept = Vec::new();
            for c in &list {
                if self.can_coerce(&supposed, &c.args, CastContext::Implicit)? {
                    kept.push(c.oid);
                }
            }
            if let [only] = kept.as_slice() {
                return Ok(Choice::One(*only));
            }
        }
        Ok(Choice::Many)
    }

    /// Which category the candidates want for each unknown argument decides among them.
    fn by_unknown_categories(
        &self,
        bases: &[Oid],
        categories: &mut [u8],
        list: Vec<Candidate>,
    ) -> Result<Vec<Candidate>> {
        let mut preferred_wanted = vec![false; bases.len()];
        for (i, base) in bases.iter().enumerate() {
            if *base != oids::UNKNOWN {
                continue;
            }
            let mut chosen = 0u8;
            let mut conflict = false;
            let mut have_preferred = false;
            for c in &list {
                let desc = self.type_desc(c.args[i])?;
                if chosen == 0 {
                    chosen = desc.category;
                    have_preferred = desc.is_preferred;
                } else if desc.category == chosen {
                    have_preferred |= desc.is_preferred;
                } else if desc.category == b'S' {
                    chosen = b'S';
                    conflict = false;
                    have_preferred = desc.is_preferred;
                } else {
                    conflict = chosen != b'S';
                }
            }
            if conflict {
                // Another argument may still be string-like in some candidate.
                let mut string = false;
                for c in &list {
                    string |= self.category(c.args[i])? == b'S';
                }
                if !string {
                    return Ok(list);
                }
            }
            categories[i] = chosen;
            preferred_wanted[i] = have_preferred;
        }
        let mut kept = Vec::new();
        'candidates: for c in &list {
            for (i, base) in bases.iter().enumerate() {
                if *base != oids::UNKNOWN {
                    continue;
                }
                let desc = self.type_desc(c.args[i])?;
                if desc.category != categories[i] || (preferred_wanted[i] && !desc.is_preferred) {
                    continue 'candidates;
                }
            }
            kept.push(c.clone());
        }
        Ok(if kept.is_empty() { list } else { kept })
    }

    /// `FuncnameGetCandidates`.
    pub fn func_candidates(
        &self,
        name: &[String],
        nargs: usize,
        arg_names: &[String],
        expand_variadic: bool,
        at: Location,
    ) -> Result<Vec<Candidate>> {
        let (schema, last) = self.split_name(name, at)?;
        if let Some(schema) = schema {
            self.catalog().require_namespace(schema).map_err(|e| e.at(at))?;
        }
        let mut list: Vec<(Oid, Candidate)> = Vec::new();
        for p in self.catalog().procs_named(schema, last)? {
            let p = self.as_called(p);
            let Some(c) = shape(&p, nargs, arg_names, expand_variadic) else { continue };
            // Of two that look alike the nearer schema wins, then the one without VARIADIC.
            let twin = list.iter().position(|(_, o)| o.args == c.args && o.order == c.order);
            match twin {
                Some(i) if list[i].0 != p.namespace => {}
                Some(i) if list[i].1.expanded > 0 && c.expanded == 0 => {
                    list[i] = (p.namespace, c);
                }
                Some(i) if c.expanded > 0 && list[i].1.expanded == 0 => {}
                Some(i) if list[i].1.defaults > 0 && c.defaults == 0 => {
                    list[i] = (p.namespace, c);
                }
                Some(i) if c.defaults > 0 && list[i].1.defaults == 0 => {}
                _ => list.push((p.namespace, c)),
            }
        }
        Ok(list.into_iter().map(|(_, c)| c).collect())
    }

    /// `func_get_detail`.
    pub fn func_detail(
        &self,
        name: &[String],
        args: &[Expr],
        arg_names: &[String],
        expand_variadic: bool,
        at: Location,
    ) -> Result<FuncDetail> {
        let inputs: Vec<Oid> = args.iter().map(Expr::ty).collect();
        let candidates =
            self.func_candidates(name, inputs.len(), arg_names, expand_variadic, at)?;
        let by_call = |c: &Candidate| -> Vec<Oid> { call_types(c, inputs.len()) };
        let exact: Vec<&Candidate> = candidates.iter().filter(|c| by_call(c) == inputs).collect();
        if let Some(&found) = exact.first() {
            if exact.len() > 1 && found.defaults > 0 {
                return Ok(FuncDetail::Many);
            }
            return self.found(found.clone());
        }
        if inputs.len() == 1
            && arg_names.is_empty()
            && let Some(target) = self.type_for_call(name)?
        {
            let source = inputs[0];
            let coerces = source == oids::UNKNOWN
                || match self.coercion_path(target, source, CastContext::Explicit)? {
                    Some(Path::Relabel) => true,
                    Some(Path::ViaIo) => {
                        let row =
                            source == oids::RECORD || self.type_desc(source)?.relation.is_valid();
                        !(row && self.category(target)? == b'S')
                    }
                    _ => false,
                };
            if coerces {
                return Ok(FuncDetail::Coercion(target));
            }
        }
        let reordered: Vec<Candidate> =
            candidates.iter().map(|c| Candidate { args: by_call(c), ..c.clone() }).collect();
        let matching = self.matching_candidates(&inputs, reordered)?;
        let chosen = match matching.as_slice() {
            [] => return Ok(FuncDetail::NotFound),
            [only] => Choice::One(only.oid),
            _ => self.select_candidate(&inputs, matching.clone())?,
        };
        match chosen {
            Choice::One(oid) => {
                let ambiguous = matching.iter().filter(|c| c.oid == oid).count() > 1;
                match candidates.into_iter().find(|c| c.oid == oid) {
                    Some(found) if !ambiguous => self.found(found),
                    _ => Ok(FuncDetail::Many),
                }
            }
            Choice::None => Ok(FuncDetail::NotFound),
            Choice::Many => Ok(FuncDetail::Many),
        }
    }

    fn found(&self, candidate: Candidate) -> Result<FuncDetail> {
        let desc = self.as_called(self.catalog().proc(candidate.oid)?);
        Ok(FuncDetail::Proc { desc, candidate })
    }

    /// CALL gives something for each output of a procedure, as if they were inputs.
    fn as_called(&self, p: Arc<ProcDesc>) -> Arc<ProcDesc> {
        let (Some(all), Some(modes)) = (&p.all_arg_types, &p.arg_modes) else { return p };
        if p.kind != b'p' || self.cur().kind != crate::state::Kind::CallArgument {
            return p;
        }
        let mut called = ProcDesc::clone(&p);
        called.arg_types = all.clone();
        let input = |m: &u8| if *m == b'o' { b'i' } else { *m };
        called.arg_modes = Some(modes.iter().map(input).collect());
        Arc::new(called)
    }

    /// A type that a function-like cast may mean.
    fn type_for_call(&self, name: &[String]) -> Result<Option<Oid>> {
        let Ok((schema, last)) = self.split_name(name, None) else { return Ok(None) };
        let Some(desc) = self.catalog().type_named(schema, last)? else { return Ok(None) };
        let composite = desc.relation.is_valid();
        Ok((desc.is_defined && !composite).then_some(desc.oid))
    }

    /// `func_signature_string`.
    pub fn func_shown(&self, name: &[String], args: &[Expr], arg_names: &[String]) -> String {
        let first_named = args.len() - arg_names.len();
        let shown: Vec<String> = args
            .iter()
            .enumerate()
            .map(|(i, a)| match i.checked_sub(first_named) {
                Some(n) if !arg_names.is_empty() => {
                    format!("{} => {}", arg_names[n], self.type_shown(a.ty()))
                }
                _ => self.type_shown(a.ty()),
            })
            .collect();
        format!("{}({})", name.join("."), shown.join(", "))
    }

    /// `make_fn_arguments` needs the VARIADIC arguments gathered in an array first.
    pub fn gather_variadic(
        &mut self,
        mut args: Vec<Expr>,
        declared: &mut Vec<Oid>,
        expanded: usize,
    ) -> Result<Vec<Expr>> {
        let first = args.len() - expanded;
        let want = declared[first];
        let rest = args.split_off(first);
        let at = rest.first().and_then(Expr::location);
        let elements = self.coerce_args(rest, &vec![want; expanded])?;
        let array_type = self.type_desc(want)?.array;
        if !array_type.is_valid() {
            return Err(err!(
                UNDEFINED_OBJECT,
                "could not find array type for data type {}",
                self.type_shown(want)
            )
            .at(at));
        }
        declared.truncate(first);
        declared.push(array_type);
        args.push(Expr::Array(Box::new(ir::ArrayExpr {
            array_type,
            collation: Oid::INVALID,
            element_type: want,
            elements,
            multidims: false,
            location: at,
        })));
        Ok(args)
    }
}

/// Keeps those with the highest score; all, if the highest is 0.
fn keep_best(
    list: Vec<Candidate>,
    score: impl Fn(&Candidate) -> Result<usize>,
) -> Result<Vec<Candidate>> {
    let mut best = 0;
    let mut kept = Vec::new();
    for c in list {
        let n = score(&c)?;
        if n > best {
            best = n;
            kept.clear();
        }
        if n == best {
            kept.push(c);
        }
    }
    Ok(kept)
}

/// Argument types in the order in which the call gives them.
pub(crate) fn call_types(c: &Candidate, nargs: usize) -> Vec<Oid> {
    match &c.order {
        Some(order) => order.iter().take(nargs).map(|&i| c.args[i]).collect(),
        None => c.args[..nargs.min(c.args.len())].to_vec(),
    }
}

/// The function as a candidate for a call with so many arguments, if it can be one.
fn shape(
    p: &ProcDesc,
    nargs: usize,
    arg_names: &[String],
    expand_variadic: bool,
) -> Option<Candidate> {
    let declared = p.arg_types.len();
    if !arg_names.is_empty() {
        if p.variadic.is_valid() && expand_variadic {
            return None;
        }
        let order = match_names(p, nargs, arg_names)?;
        let defaults = declared - nargs;
        return Some(Candidate {
            oid: p.oid,
            args: p.arg_types.clone(),
            expanded: 0,
            defaults,
            order: Some(order),
        });
    }
    if p.variadic.is_valid() && expand_variadic && declared <= nargs {
        let mut args = p.arg_types[..declared - 1].to_vec();
        let expanded = nargs - declared + 1;
        args.extend(std::iter::repeat_n(p.variadic, expanded));
        return Some(Candidate { oid: p.oid, args, expanded, defaults: 0, order: None });
    }
    if declared < nargs || declared > nargs + p.n_defaults as usize {
        return None;
    }
    let args = p.arg_types.clone();
    Some(Candidate { oid: p.oid, args, expanded: 0, defaults: declared - nargs, order: None })
}

/// `MatchNamedCall`: which input parameter each argument is.
fn match_names(p: &ProcDesc, nargs: usize, arg_names: &[String]) -> Option<Vec<usize>> {
    let declared = p.arg_types.len();
    if declared < nargs {
        return None;
    }
    let names = p.arg_names.as_ref()?;
    let positional = nargs - arg_names.len();
    let mut order: Vec<usize> = (0..positional).collect();
    let mut used = vec![false; declared];
    used[..positional].fill(true);
    for wanted in arg_names {
        let mut input = 0;
        let mut found = None;
        for (i, name) in names.iter().enumerate() {
            let mode = p.arg_modes.as_ref().map_or(b'i', |m| m[i]);
            if !matches!(mode, b'i' | b'b' | b'v') {
                continue;
            }
            if name == wanted {
                found = Some(input);
                break;
            }
            input += 1;
        }
        let i = found?;
        if std::mem::replace(used.get_mut(i)?, true) {
            return None;
        }
        order.push(i);
    }
    // What the call leaves out must have defaults.
    let first_default = declared - p.n_defaults as usize;
    for (i, used) in used.iter().enumerate() {
        if !used {
            if i < first_default {
                return None;
            }
            order.push(i);
        }
    }
    Some(order)
}
