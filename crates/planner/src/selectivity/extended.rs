//! Conditions on several columns of one relation, by what ANALYZE found of the columns together:
//! the commonest combinations of values, and columns that follow from others.

use super::JoinFor;
use crate::rel::{BaseKind, ExtendedInfo, Rel, Restriction};
use crate::root::Root;
use base::{Oid, Result};
use ir::{BoolOp, Expr, NullTestKind, OpKind};
use std::rc::Rc;
use types::Datum;
use types::ext_stats::{Dependency, McvList};

/// A condition of a list: as it is stored with its relation, or a part of such a one.
#[derive(Clone, Copy)]
pub(super) enum Condition<'a> {
    Whole(&'a Rc<Restriction>),
    /// A part of an OR of a restriction.
    Part(&'a Expr),
}

impl<'a> Condition<'a> {
    pub fn expr(self) -> &'a Expr {
        match self {
            Condition::Whole(r) => &r.clause,
            Condition::Part(e) => e,
        }
    }
}

/// What conditions are about.
#[derive(Clone, Default, PartialEq)]
struct Subject {
    columns: Vec<i16>,
    exprs: Vec<Expr>,
}

impl Subject {
    fn is_empty(&self) -> bool {
        self.columns.is_empty() && self.exprs.is_empty()
    }

    fn add_column(&mut self, n: i16) {
        if !self.columns.contains(&n) {
            self.columns.push(n);
        }
    }

    fn is_simple(&self) -> bool {
        self.columns.len() + self.exprs.len() == 1
    }
}

impl ExtendedInfo {
    fn expr_place(&self, e: &Expr) -> Option<usize> {
        self.exprs.iter().position(|x| x == e)
    }

    fn covers(&self, s: &Subject) -> bool {
        !s.is_empty()
            && s.columns.iter().all(|n| self.desc.columns.contains(n))
            && s.exprs.iter().all(|e| self.expr_place(e).is_some())
    }

    /// Which of the values of an item an expression is.
    fn place(&self, e: &Expr) -> Option<usize> {
        match strip(e) {
            Expr::Var(v) => self.desc.columns.iter().position(|n| *n == v.attno),
            other => self.expr_place(other).map(|i| self.desc.columns.len() + i),
        }
    }
}

fn strip(e: &Expr) -> &Expr {
    match e {
        Expr::Relabel { arg, .. } => strip(arg),
        other => other,
    }
}

/// The operand of a comparison that is no constant, the constant, and whether the former is left.
fn sides(args: &[Expr]) -> Option<(&Expr, &ir::Const, bool)> {
    let [left, right] = args else { return None };
    match (strip(left), strip(right)) {
        (e, Expr::Const(c)) => Some((e, c, true)),
        (Expr::Const(c), e) => Some((e, c, false)),
        _ => None,
    }
}

/// What an estimate by single columns and one by combinations come to: the latter only knows of
/// the listed combinations, the former tells what the others have.
fn combine(simple: f64, found: &Share) -> f64 {
    let others = (simple - found.base).clamp(0.0, 1.0).min(1.0 - found.total);
    (found.exact + others).clamp(0.0, 1.0)
}

/// The share of rows of listed combinations that fit, the share they would have if columns were
/// independent, and the share of all listed ones.
#[derive(Default)]
struct Share {
    exact: f64,
    base: f64,
    total: f64,
}

fn share(list: &McvList, fits: &[bool]) -> Share {
    let mut s = Share::default();
    for (item, fits) in list.items.iter().zip(fits) {
        s.total += item.frequency;
        if *fits {
            s.exact += item.frequency;
            s.base += item.base_frequency;
        }
    }
    s
}

impl Root<'_> {
    /// The relation that all conditions are about, if it has extended statistics.
    pub(super) fn extended_of(&self, list: &[Condition]) -> Option<&Rel> {
        if self.rels.iter().all(|r| r.extended.is_empty()) {
            return None;
        }
        let mut only = None;
        for c in list {
            let relids = match c {
                Condition::Whole(r) => r.clause_relids.clone(),
                Condition::Part(e) => self.relids_of(e),
            };
            if relids.is_empty() {
                continue;
            }
            let index = relids.singleton()?;
            if only.is_some_and(|o| o != index) {
                return None;
            }
            only = Some(index);
        }
        let rel = self.base_rel(only?)?;
        let is_table = matches!(rel.kind, BaseKind::Table(_) | BaseKind::AppendRel(_));
        (is_table && !rel.extended.is_empty()).then_some(rel)
    }

    /// The share that extended statistics give for some conditions of a list, which are marked.
    pub(super) fn extended_selectivity(
        &self,
        rel: &Rel,
        list: &[Condition],
        done: &mut [bool],
        var_rel: u32,
        join: Option<JoinFor>,
    ) -> Result<f64> {
        let by_values = self.by_combinations(rel, list, done, var_rel, join, false)?;
        Ok(by_values * self.by_dependencies(rel, list, done, var_rel, join)?)
    }

    /// The same for the parts of an OR.
    pub(super) fn extended_or_selectivity(
        &self,
        rel: &Rel,
        list: &[Condition],
        done: &mut [bool],
        var_rel: u32,
        join: Option<JoinFor>,
    ) -> Result<f64> {
        self.by_combinations(rel, list, done, var_rel, join, true)
    }

    fn by_combinations(
        &self,
        rel: &Rel,
        list: &[Condition],
        done: &mut [bool],
        var_rel: u32,
        join: Option<JoinFor>,
        is_or: bool,
    ) -> Result<f64> {
        let mut sel = if is_or { 0.0 } else { 1.0 };
        if rel.extended.iter().all(|s| s.desc.common.is_none()) {
            return Ok(sel);
        }
        let mut subjects = Vec::new();
        for (c, done) in list.iter().zip(&*done) {
            let mut s = Subject::default();
            if *done || !self.subject_of(*c, rel, &mut s)? {
                s = Subject::default();
            }
            subjects.push(s);
        }
        while let Some((info, common)) = best_combinations(rel, &subjects) {
            let mut own = Vec::new();
            for (i, s) in subjects.iter_mut().enumerate() {
                if info.covers(s) {
                    own.push((list[i], s.is_simple()));
                    done[i] = true;
                    *s = Subject::default();
                }
            }
            if is_or {
                let s = self.or_combinations(info, common, &own, var_rel, join)?;
                sel = sel + s - sel * s;
                continue;
            }
            let conditions: Vec<Condition> = own.iter().map(|o| o.0).collect();
            let simple = self.conditions_selectivity(&conditions, var_rel, join, false)?;
            let exprs: Vec<&Expr> = conditions.iter().map(|c| c.expr()).collect();
            let fits = self.fitting(info, common, &exprs, false)?;
            sel *= combine(simple, &share(common, &fits));
        }
        Ok(sel)
    }

    fn or_combinations(
        &self,
        info: &ExtendedInfo,
        common: &McvList,
        own: &[(Condition, bool)],
        var_rel: u32,
        join: Option<JoinFor>,
    ) -> Result<f64> {
        let mut before = vec![false; common.items.len()];
        let (mut simple_or, mut sel) = (0.0f64, 0.0f64);
        for (c, is_simple) in own {
            let simple = self.condition_selectivity(*c, var_rel, join, false)?;
            let simple_overlap = simple_or * simple;
            simple_or = (simple_or + simple - simple_overlap).clamp(0.0, 1.0);
            let fits = self.fitting(info, common, &[c.expr()], false)?;
            let both: Vec<bool> = fits.iter().zip(&before).map(|(a, b)| *a && *b).collect();
            let one = match is_simple {
                true => simple,
                false => combine(simple, &share(common, &fits)),
            };
            let overlap = combine(simple_overlap, &share(common, &both));
            sel = (sel + one - overlap).clamp(0.0, 1.0);
            before.iter_mut().zip(fits).for_each(|(b, f)| *b |= f);
        }
        Ok(sel)
    }

    /// Whether combinations of values can tell something about a condition, and what it is about.
    fn subject_of(&self, c: Condition, rel: &Rel, out: &mut Subject) -> Result<bool> {
        match c {
            Condition::Whole(r) if r.pseudoconstant => return Ok(false),
            Condition::Part(Expr::Bool { op: BoolOp::And, args, .. }) => {
                for a in args {
                    if !self.subject_of(Condition::Part(a), rel, out)? {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            _ => {}
        }
        if self.relids_of(c.expr()).singleton() != Some(rel.rtindex) {
            return Ok(false);
        }
        self.subject(c.expr(), rel, out)
    }

    fn subject(&self, e: &Expr, rel: &Rel, out: &mut Subject) -> Result<bool> {
        let mut add = |e: &Expr| match strip(e) {
            Expr::Var(v) if v.varno != rel.rtindex || v.levels_up != 0 || v.attno <= 0 => false,
            Expr::Var(v) => {
                out.add_column(v.attno);
                true
            }
            other => {
                out.exprs.push(other.clone());
                true
            }
        };
        match strip(e) {
            Expr::Op(o) if o.kind == OpKind::Plain => {
                let Some((side, _, _)) = sides(&o.args) else { return Ok(false) };
                Ok(self.is_comparison(o.op)? && add(side))
            }
            Expr::ScalarArrayOp(s) => match sides(&s.args) {
                Some((side, _, true)) => Ok(self.is_comparison(s.op)? && add(side)),
                _ => Ok(false),
            },
            Expr::Bool { args, .. } => {
                for a in args {
                    if !self.subject(a, rel, out)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expr::NullTest { arg, .. } => Ok(add(arg)),
            other => Ok(add(other)),
        }
    }

    /// Operators that are estimated by comparing values.
    fn is_comparison(&self, op: Oid) -> Result<bool> {
        Ok(matches!(self.env.catalog.operator(op)?.rest.0, 101..=104 | 336 | 337))
    }

    /// Which of the listed combinations fit all conditions (or some).
    fn fitting(
        &self,
        info: &ExtendedInfo,
        common: &McvList,
        list: &[&Expr],
        is_or: bool,
    ) -> Result<Vec<bool>> {
        let mut out = vec![!is_or; common.items.len()];
        for e in list {
            let one = self.fitting_one(info, common, e)?;
            for (out, one) in out.iter_mut().zip(one) {
                *out = if is_or { *out || one } else { *out && one };
            }
        }
        Ok(out)
    }

    fn fitting_one(&self, info: &ExtendedInfo, common: &McvList, e: &Expr) -> Result<Vec<bool>> {
        let none = || vec![false; common.items.len()];
        let each = |e: &Expr, f: &dyn Fn(&Datum, Oid) -> bool| match info.place(e) {
            Some(at) => common.items.iter().map(|i| f(&i.values[at], common.types[at])).collect(),
            None => none(),
        };
        Ok(match strip(e) {
            Expr::Op(o) => {
                let Some((side, c, left)) = sides(&o.args) else { return Ok(none()) };
                each(side, &|value, ty| {
                    if value.is_null() || c.value.is_null() {
                        return false;
                    }
                    match left {
                        true => self.env.holds(o.op, value, ty, &c.value, c.ty, o.input_collation),
                        false => self.env.holds(o.op, &c.value, c.ty, value, ty, o.input_collation),
                    }
                })
            }
            Expr::ScalarArrayOp(s) => {
                let Some((side, c, _)) = sides(&s.args) else { return Ok(none()) };
                let elements = self.env.array_elements(&Expr::Const(c.clone()))?;
                let Some(elements) = elements else { return Ok(none()) };
                each(side, &|value, ty| {
                    let holds = |e: &Expr| match e {
                        Expr::Const(c) if !c.value.is_null() => {
                            self.env.holds(s.op, value, ty, &c.value, c.ty, s.input_collation)
                        }
                        _ => false,
                    };
                    !value.is_null()
                        && match s.use_or {
                            true => elements.iter().any(holds),
                            false => elements.iter().all(holds),
                        }
                })
            }
            Expr::NullTest { kind, arg, .. } => {
                each(arg, &|value, _| value.is_null() == (*kind == NullTestKind::IsNull))
            }
            Expr::Bool { op, args, .. } => {
                let args: Vec<&Expr> = args.iter().collect();
                let mut fits = self.fitting(info, common, &args, *op == BoolOp::Or)?;
                if *op == BoolOp::Not {
                    fits.iter_mut().for_each(|f| *f = !*f);
                }
                fits
            }
            other => each(other, &|value, _| *value == Datum::Bool(true)),
        })
    }

    /// Columns of which some follow from others count less than if they were independent.
    fn by_dependencies(
        &self,
        rel: &Rel,
        list: &[Condition],
        done: &mut [bool],
        var_rel: u32,
        join: Option<JoinFor>,
    ) -> Result<f64> {
        if rel.extended.iter().all(|s| s.desc.dependencies.is_none()) {
            return Ok(1.0);
        }
        // Expressions are -1, -2, and so on, in the order in which conditions name them.
        let mut exprs: Vec<Expr> = Vec::new();
        let mut numbers: Vec<Option<i16>> = Vec::new();
        for (c, done) in list.iter().zip(&*done) {
            let subject = match *done {
                true => None,
                false => self.equality_subject(*c, rel)?,
            };
            numbers.push(match subject {
                Some(Expr::Var(v)) => Some(v.attno),
                Some(e) => Some(match exprs.iter().position(|x| *x == e) {
                    Some(i) => -1 - i as i16,
                    None => {
                        exprs.push(e);
                        -(exprs.len() as i16)
                    }
                }),
                None => None,
            });
        }
        let mut open: Vec<i16> = Vec::new();
        for n in numbers.iter().flatten() {
            if !open.contains(n) {
                open.push(*n);
            }
        }
        if open.len() < 2 {
            return Ok(1.0);
        }
        let known = dependencies_of(rel, &open, &exprs);
        let mut used: Vec<&Dependency> = Vec::new();
        while let Some(d) = strongest(&known, &open) {
            let last = d.attributes[d.attributes.len() - 1];
            open.retain(|n| *n != last);
            used.push(d);
        }
        if used.is_empty() {
            return Ok(1.0);
        }
        let mut shares: Vec<(i16, f64)> = Vec::new();
        for n in used.iter().flat_map(|d| &d.attributes) {
            if shares.iter().any(|s| s.0 == *n) {
                continue;
            }
            let own: Vec<usize> = (0..list.len()).filter(|i| numbers[*i] == Some(*n)).collect();
            own.iter().for_each(|i| done[*i] = true);
            let own: Vec<Condition> = own.iter().map(|i| list[*i]).collect();
            shares.push((*n, self.conditions_selectivity(&own, var_rel, join, false)?));
        }
        for d in used.iter().rev() {
            let of = |n: i16| shares.iter().find(|s| s.0 == n).map_or(1.0, |s| s.1);
            let (last, first) = d.attributes.split_last().unwrap_or((&0, &[]));
            let (s1, s2) = (first.iter().map(|n| of(*n)).product::<f64>(), of(*last));
            let implied = if s1 <= s2 { 1.0 } else { s2 / s1 };
            let new = d.degree * implied + (1.0 - d.degree) * s2;
            shares.iter_mut().filter(|s| s.0 == *last).for_each(|s| s.1 = new);
        }
        Ok(shares.iter().map(|s| s.1).product::<f64>().clamp(0.0, 1.0))
    }

    /// The column or expression with statistics that a condition says the value of.
    fn equality_subject(&self, c: Condition, rel: &Rel) -> Result<Option<Expr>> {
        if let Condition::Whole(r) = c
            && r.pseudoconstant
        {
            return Ok(None);
        }
        if self.relids_of(c.expr()).singleton() != Some(rel.rtindex) {
            return Ok(None);
        }
        let fixed = |e: &Expr| {
            let free = self.relids_of(e).is_empty();
            Ok::<_, base::Error>(free && !crate::prep::volatility::has_volatile(e, self.env)?)
        };
        let is_eq = |op: Oid| Ok::<_, base::Error>(self.env.catalog.operator(op)?.rest == Oid(101));
        let subject = match c.expr() {
            Expr::Op(o) if o.kind == OpKind::Plain => {
                let [left, right] = o.args.as_slice() else { return Ok(None) };
                let side = if fixed(right)? {
                    left
                } else if fixed(left)? {
                    right
                } else {
                    return Ok(None);
                };
                if !is_eq(o.op)? {
                    return Ok(None);
                }
                side
            }
            Expr::ScalarArrayOp(s) => {
                if !s.use_or || !fixed(&s.args[1])? || !is_eq(s.op)? {
                    return Ok(None);
                }
                &s.args[0]
            }
            Expr::Bool { op: BoolOp::Or, args, .. } => {
                let mut same: Option<Expr> = None;
                for a in args {
                    let one = self.equality_subject(Condition::Part(a), rel)?;
                    if one.is_none() || same.is_some() && same != one {
                        return Ok(None);
                    }
                    same = one;
                }
                return Ok(same);
            }
            Expr::Bool { op: BoolOp::Not, args, .. } => &args[0],
            other => other,
        };
        let subject = strip(subject);
        Ok(match subject {
            Expr::Var(v) => {
                let own = v.varno == rel.rtindex && v.levels_up == 0 && v.attno > 0;
                own.then(|| subject.clone())
            }
            _ => {
                let with = |s: &&Rc<ExtendedInfo>| s.desc.dependencies.is_some();
                let known = rel.extended.iter().filter(with).any(|s| s.exprs.contains(subject));
                known.then(|| subject.clone())
            }
        })
    }
}

/// The statistics that know most of what is left, of these the ones of fewest columns.
fn best_combinations<'r>(
    rel: &'r Rel,
    subjects: &[Subject],
) -> Option<(&'r ExtendedInfo, &'r McvList)> {
    let mut best: Option<(&ExtendedInfo, &McvList)> = None;
    let (mut best_matched, mut best_size) = (2, usize::MAX);
    for info in &rel.extended {
        let Some(common) = &info.desc.common else { continue };
        let mut matched = Subject::default();
        for s in subjects.iter().filter(|s| info.covers(s)) {
            s.columns.iter().for_each(|n| matched.add_column(*n));
            for e in &s.exprs {
                if !matched.exprs.contains(e) {
                    matched.exprs.push(e.clone());
                }
            }
        }
        let matched = matched.columns.len() + matched.exprs.len();
        let size = info.desc.columns.len() + info.exprs.len();
        if matched > best_matched || matched == best_matched && size < best_size {
            best = Some((info, common));
            (best_matched, best_size) = (matched, size);
        }
    }
    best
}

/// The dependencies among columns and expressions, with the expressions' numbers as here.
fn dependencies_of(rel: &Rel, open: &[i16], exprs: &[Expr]) -> Vec<Dependency> {
    let mut out = Vec::new();
    for info in &rel.extended {
        let Some(list) = &info.desc.dependencies else { continue };
        let columns = open.iter().filter(|n| info.desc.columns.contains(n)).count();
        let own = exprs.iter().filter(|e| info.exprs.contains(e)).count();
        if columns + own < 2 {
            continue;
        }
        for d in list {
            let number = |n: &i16| match *n {
                n if n > 0 => Some(n),
                n => {
                    let e = info.exprs.get((-1 - n) as usize)?;
                    exprs.iter().position(|x| x == e).map(|i| -1 - i as i16)
                }
            };
            let attributes: Option<Vec<i16>> = d.attributes.iter().map(number).collect();
            if let Some(attributes) = attributes
                && attributes.len() >= 2
            {
                out.push(Dependency { attributes, degree: d.degree });
            }
        }
    }
    out
}

/// The dependency of most columns, of these the one that holds most, whose columns are all open.
fn strongest<'d>(known: &'d [Dependency], open: &[i16]) -> Option<&'d Dependency> {
    let mut best: Option<&Dependency> = None;
    for d in known {
        let weaker = best.is_some_and(|b| {
            let (own, best) = (d.attributes.len(), b.attributes.len());
            own < best || own == best && b.degree > d.degree
        });
        if !weaker && d.attributes.iter().all(|n| open.contains(n)) {
            best = Some(d);
        }
    }
    best
}
