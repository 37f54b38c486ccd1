//! Coercion: from one type to another, and what type several expressions share.

use crate::params;
use crate::state::Analyzer;
use crate::typename::format_type;
use base::{Error, Oid, Result, err};
use catalog::{CastContext, CastMethod, CatalogView, TypeDesc, oids};
use ir::{CoercionForm, Const, Expr, FuncExpr, Location, ParamKind};
use std::sync::Arc;
use types::Datum;

pub use catalog::CastContext as CoercionContext;

/// How a coercion is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Path {
    Func(Oid),
    Relabel,
    ViaIo,
    Array,
}

/// A domain's base type and the modifier that holds for it.
pub(crate) fn base_type_mod(catalog: &CatalogView, oid: Oid, typmod: i32) -> Result<(Oid, i32)> {
    let (mut oid, mut typmod) = (oid, typmod);
    loop {
        let desc = catalog.type_(oid)?;
        if desc.kind != b'd' {
            return Ok((oid, typmod));
        }
        oid = desc.base_type;
        typmod = desc.typmod;
    }
}

pub(crate) fn base_type(catalog: &CatalogView, oid: Oid) -> Result<Oid> {
    Ok(base_type_mod(catalog, oid, -1)?.0)
}

/// The element type if it is an array type (or a domain over one), else 0.
pub(crate) fn element_type(catalog: &CatalogView, oid: Oid) -> Result<Oid> {
    match catalog.find_type(base_type_or(catalog, oid)?)? {
        Some(t) if t.is_array() => Ok(t.elem),
        _ => Ok(Oid::INVALID),
    }
}

fn base_type_or(catalog: &CatalogView, oid: Oid) -> Result<Oid> {
    match catalog.find_type(oid)? {
        Some(t) if t.kind == b'd' => base_type(catalog, oid),
        _ => Ok(oid),
    }
}

pub(crate) fn is_polymorphic(oid: Oid) -> bool {
    matches!(oid.0, 2277 | 2283 | 2776 | 3500 | 3831 | 4537 | 4538 | 5077 | 5078 | 5079 | 5080)
}

/// The function of the casts from smallint to integer and to the types like oid.
const INT4_OF_INT2: Oid = Oid(313);

impl Analyzer<'_> {
    pub fn type_desc(&self, oid: Oid) -> Result<Arc<TypeDesc>> {
        self.catalog().type_(oid)
    }

    pub fn type_shown(&self, oid: Oid) -> String {
        format_type(self.catalog(), oid)
    }

    pub fn collation_of_type(&self, oid: Oid) -> Result<Oid> {
        Ok(self.catalog().find_type(oid)?.map_or(Oid::INVALID, |t| t.collation))
    }

    fn is_complex(&self, oid: Oid) -> Result<bool> {
        let Some(t) = self.catalog().find_type(base_type_or(self.catalog(), oid)?)? else {
            return Ok(false);
        };
        Ok(t.relation.is_valid())
    }

    /// `typeInheritsFrom`: a row type whose table descends from the other's.
    fn inherits(&self, sub: Oid, sup: Oid) -> Result<bool> {
        let sub_rel = self.type_desc(base_type(self.catalog(), sub)?)?.relation;
        let sup_rel = self.type_desc(sup)?.relation;
        if !sub_rel.is_valid() || !sup_rel.is_valid() {
            return Ok(false);
        }
        let mut todo = vec![sub_rel];
        while let Some(oid) = todo.pop() {
            let rel = self.catalog().relation(oid)?;
            if rel.parents.contains(&sup_rel) {
                return Ok(true);
            }
            todo.extend(rel.parents.iter().copied());
        }
        Ok(false)
    }

    /// Whether these types may be coerced to those.
    pub fn can_coerce(&self, inputs: &[Oid], targets: &[Oid], cx: CastContext) -> Result<bool> {
        let mut generic = false;
        for (&input, &target) in inputs.iter().zip(targets) {
            if input == target || target == oids::ANY {
                continue;
            }
            if is_polymorphic(target) {
                generic = true;
                continue;
            }
            if input == oids::UNKNOWN || self.coercion_path(target, input, cx)?.is_some() {
                continue;
            }
            if input == oids::RECORD && self.is_complex(target)? {
                continue;
            }
            if target == oids::RECORD && self.is_complex(input)? {
                continue;
            }
            let input_elem = element_type(self.catalog(), input)?;
            if target == Oid(2287) && input_elem.is_valid() && self.is_complex(input_elem)? {
                continue;
            }
            if self.inherits_safe(input, target)? {
                continue;
            }
            return Ok(false);
        }
        if generic { self.check_generic(inputs, targets) } else { Ok(true) }
    }

    fn inherits_safe(&self, sub: Oid, sup: Oid) -> Result<bool> {
        if self.catalog().find_type(sub)?.is_none() || self.catalog().find_type(sup)?.is_none() {
            return Ok(false);
        }
        self.inherits(sub, sup)
    }

    /// `find_coercion_pathway`.
    pub fn coercion_path(&self, target: Oid, source: Oid, cx: CastContext) -> Result<Option<Path>> {
        let catalog = self.catalog();
        let source = base_type_or(catalog, source)?;
        let target = base_type_or(catalog, target)?;
        if source == target {
            return Ok(Some(Path::Relabel));
        }
        if let Some(cast) = catalog.cast(source, target)? {
            if cast.context > cx {
                return Ok(None);
            }
            return Ok(Some(match cast.method {
                CastMethod::Function => Path::Func(cast.function),
                CastMethod::InOut => Path::ViaIo,
                CastMethod::Binary => Path::Relabel,
            }));
        }
        if target != oids::OIDVECTOR && target != oids::INT2VECTOR {
            let target_elem = element_type(catalog, target)?;
            let source_elem = element_type(catalog, source)?;
            if target_elem.is_valid()
                && source_elem.is_valid()
                && self.coercion_path(target_elem, source_elem, cx)?.is_some()
            {
                return Ok(Some(Path::Array));
            }
        }
        let is_string = |oid: Oid| -> Result<bool> {
            Ok(catalog.find_type(oid)?.is_some_and(|t| t.category == b'S'))
        };
        if cx >= CastContext::Assignment && is_string(target)? {
            return Ok(Some(Path::ViaIo));
        }
        if cx >= CastContext::Explicit && is_string(source)? {
            return Ok(Some(Path::ViaIo));
        }
        Ok(None)
    }

    /// Coerces if it can be done, with the modifier applied.
    pub fn coerce_to_target(
        &mut self,
        expr: Expr,
        target: Oid,
        typmod: i32,
        cx: CastContext,
        form: CoercionForm,
        at: Location,
    ) -> Result<Option<Expr>> {
        let source = expr.ty();
        if !self.can_coerce(&[source], &[target], cx)? {
            return Ok(None);
        }
        if let Expr::Collate { arg, collation, location } = expr {
            let inner = self.coerce_to_target(*arg, target, typmod, cx, form, at)?;
            return Ok(inner.map(|e| rewrap_collate(self, e, collation, location)));
        }
        let was_const = matches!(expr, Expr::Const(_));
        let changed = source != target;
        let result = self.coerce(expr, source, target, typmod, cx, form, at)?;
        let hide = changed && !was_const;
        Ok(Some(self.coerce_typmod(result, target, typmod, cx, form, at, hide)?))
    }

    /// `coerce_type`: the caller knows that it can be done.
    #[allow(clippy::too_many_arguments)]
    pub fn coerce(
        &mut self,
        expr: Expr,
        source: Oid,
        target: Oid,
        typmod: i32,
        cx: CastContext,
        form: CoercionForm,
        at: Location,
    ) -> Result<Expr> {
        // ANY, ANYELEMENT, ANYNONARRAY, ANYCOMPATIBLE, ANYCOMPATIBLENONARRAY take it as it is.
        if source == target || matches!(target.0, 2276 | 2283 | 2776 | 5077 | 5079) {
            return Ok(expr);
        }
        if is_polymorphic(target) && source != oids::UNKNOWN {
            let base = base_type(self.catalog(), source)?;
            return Ok(if base == source { expr } else { relabel(expr, base, -1, form, at) });
        }
        if source == oids::UNKNOWN {
            match expr {
                Expr::Const(c) => return self.coerce_literal(c, target, typmod, cx, form, at),
                Expr::Param(ref p) if p.kind == ParamKind::Extern => {
                    if let Some(done) = self.coerce_param(p, target, at)? {
                        return Ok(done);
                    }
                }
                _ => {}
            }
        }
        if let Expr::Collate { arg, collation, location } = expr {
            let inner = self.coerce(*arg, source, target, typmod, cx, form, at)?;
            return Ok(rewrap_collate(self, inner, collation, location));
        }
        if let Some(path) = self.coercion_path(target, source, cx)? {
            return self.coerce_by(expr, path, target, typmod, cx, form, at);
        }
        if source == oids::RECORD && self.is_complex(target)? {
            return self.coerce_record(expr, target, cx, form, at);
        }
        if target == oids::RECORD && self.is_complex(source)? || target == Oid(2287) {
            return Ok(expr);
        }
        if self.inherits_safe(source, target)? {
            let base = base_type(self.catalog(), source)?;
            let arg = if base == source { expr } else { relabel(expr, base, -1, form, at) };
            let arg = Box::new(arg);
            return Ok(Expr::ConvertRowtype { arg, ty: target, form, location: at });
        }
        Err(Error::internal(format!(
            "failed to find conversion function from {} to {}",
            self.type_shown(source),
            self.type_shown(target)
        )))
    }

    #[allow(clippy::too_many_arguments)]
    fn coerce_by(
        &mut self,
        expr: Expr,
        path: Path,
        target: Oid,
        typmod: i32,
        cx: CastContext,
        form: CoercionForm,
        at: Location,
    ) -> Result<Expr> {
        let (base, base_mod) = base_type_mod(self.catalog(), target, typmod)?;
        if path != Path::Relabel {
            let made = self.build_coercion(expr, path, base, base_mod, cx, form, at)?;
            return self.to_domain(made, base, base_mod, target, cx, form, at, true);
        }
        let same = base == target;
        if same {
            return Ok(relabel(expr, target, -1, form, at));
        }
        let source = expr.ty();
        let expr = if base_type(self.catalog(), source)? == base || source == base {
            expr
        } else {
            relabel(expr, base, -1, CoercionForm::ImplicitCast, at)
        };
        self.to_domain(expr, base, base_mod, target, cx, form, at, false)
    }

    /// A literal of unknown type is read by the target's input function.
    fn coerce_literal(
        &mut self,
        c: Const,
        target: Oid,
        typmod: i32,
        cx: CastContext,
        form: CoercionForm,
        at: Location,
    ) -> Result<Expr> {
        let (base, base_mod) = base_type_mod(self.catalog(), target, typmod)?;
        // Interval's input needs the modifier; for others it would apply as if implicit.
        let input_mod = if base == oids::INTERVAL { base_mod } else { -1 };
        let value = match &c.value {
            Datum::Bytes(text) => {
                let text = std::str::from_utf8(text).unwrap_or_default().to_owned();
                types::io::input(base, &text, input_mod, &self.env.io)
                    .map_err(|e| e.at(c.location))?
            }
            _ => Datum::Null,
        };
        let collation = self.collation_of_type(base)?;
        let location = c.location;
        let made = Expr::Const(Const { ty: base, typmod: input_mod, collation, value, location });
        if base == target {
            return Ok(made);
        }
        self.to_domain(made, base, base_mod, target, cx, form, at, false)
    }

    #[allow(clippy::too_many_arguments)]
    fn to_domain(
        &mut self,
        expr: Expr,
        base: Oid,
        base_mod: i32,
        target: Oid,
        cx: CastContext,
        form: CoercionForm,
        at: Location,
        hide: bool,
    ) -> Result<Expr> {
        if base == target {
            return Ok(expr);
        }
        let implicit = CoercionForm::ImplicitCast;
        let arg = self.coerce_typmod(expr, base, base_mod, cx, implicit, at, hide)?;
        let collation = self.collation_of_type(target)?;
        let arg = Box::new(arg);
        Ok(Expr::CoerceToDomain { arg, ty: target, typmod: -1, collation, form, location: at })
    }

    /// Applies the modifier of a type that the expression has already.
    #[allow(clippy::too_many_arguments)]
    pub fn coerce_typmod(
        &mut self,
        expr: Expr,
        target: Oid,
        typmod: i32,
        cx: CastContext,
        form: CoercionForm,
        at: Location,
        hide: bool,
    ) -> Result<Expr> {
        if typmod == expr.typmod() {
            return Ok(expr);
        }
        let expr = if hide { hide_coercion(expr) } else { expr };
        if typmod >= 0 {
            let catalog = self.catalog();
            let elem = element_type(catalog, target)?;
            let is_array = elem.is_valid();
            let scalar = if is_array { elem } else { target };
            if let Some(cast) = catalog.cast(scalar, scalar)? {
                let path = if is_array { Path::Array } else { Path::Func(cast.function) };
                return self.build_coercion(expr, path, target, typmod, cx, form, at);
            }
        }
        Ok(relabel(expr, target, typmod, form, at))
    }

    #[allow(clippy::too_many_arguments)]
    fn build_coercion(
        &mut self,
        expr: Expr,
        path: Path,
        target: Oid,
        typmod: i32,
        cx: CastContext,
        form: CoercionForm,
        at: Location,
    ) -> Result<Expr> {
        let collation = self.collation_of_type(target)?;
        match path {
            Path::Func(func) => {
                let nargs = self.catalog().proc(func)?.arg_types.len();
                let mut args = vec![expr];
                if nargs >= 2 {
                    args.push(plain_const(oids::INT4, Datum::I32(typmod)));
                }
                if nargs == 3 {
                    let explicit = cx == CastContext::Explicit;
                    args.push(plain_const(oids::BOOL, Datum::Bool(explicit)));
                }
                // What int4(int2) gives is only like an oid: held otherwise.
                let narrow = func == INT4_OF_INT2 && target != oids::INT4;
                let call = Expr::Func(FuncExpr {
                    func,
                    ret_type: if narrow { oids::INT4 } else { target },
                    ret_set: false,
                    variadic: false,
                    form: if narrow { CoercionForm::ImplicitCast } else { form },
                    collation,
                    input_collation: Oid::INVALID,
                    args,
                    location: at,
                });
                Ok(if narrow { relabel(call, target, typmod, form, at) } else { call })
            }
            Path::Array => {
                let source_elem = element_type(self.catalog(), expr.ty())?;
                let target_elem = element_type(self.catalog(), target)?;
                let elem_mod = expr.typmod();
                let test = Expr::CaseTest {
                    ty: source_elem,
                    typmod: elem_mod,
                    collation: self.collation_of_type(source_elem)?,
                };
                let element = self.coerce_to_target(test, target_elem, typmod, cx, form, at)?;
                let Some(element) = element else {
                    return Err(Error::internal("failed to coerce array element type as expected"));
                };
                let (arg, element) = (Box::new(expr), Box::new(element));
                let ty = target;
                Ok(Expr::ArrayCoerce { arg, element, ty, typmod, collation, form, location: at })
            }
            _ => {
                let arg = Box::new(expr);
                Ok(Expr::CoerceViaIo { arg, ty: target, collation, form, location: at })
            }
        }
    }

    /// A parameter whose type is not known takes the one asked for.
    fn coerce_param(&mut self, p: &ir::Param, target: Oid, at: Location) -> Result<Option<Expr>> {
        let collation = self.collation_of_type(target)?;
        params::coerce(self, p, target, collation, at)
    }

    fn coerce_record(
        &mut self,
        expr: Expr,
        target: Oid,
        cx: CastContext,
        form: CoercionForm,
        at: Location,
    ) -> Result<Expr> {
        let fail = |a: &Self, detail: String| {
            let shown = a.type_shown(target);
            err!(CANNOT_COERCE, "cannot cast type record to {shown}").detail(detail).at(at)
        };
        let (fields, location) = match expr {
            Expr::Row(row) => (row.args, row.location),
            Expr::Var(v) if v.attno == 0 => (self.expand_row_var(&v)?, v.location),
            _ => return Err(fail(self, String::new())),
        };
        let (base, base_mod) = base_type_mod(self.catalog(), target, -1)?;
        let rel = self.type_desc(base)?.relation;
        let desc = self.catalog().relation(rel)?.tuple.clone();
        let mut args = Vec::with_capacity(fields.len());
        let count = fields.len();
        let mut source = fields.into_iter();
        for (i, attr) in desc.attrs.iter().enumerate() {
            if attr.dropped {
                args.push(Expr::null_const(oids::INT4, -1, Oid::INVALID));
                continue;
            }
            let Some(field) = source.next() else {
                return Err(fail(self, "Input has too few columns.".into()));
            };
            let source_type = field.ty();
            let implicit = CoercionForm::ImplicitCast;
            let made =
                self.coerce_to_target(field, attr.type_oid, attr.typmod, cx, implicit, None)?;
            let Some(made) = made else {
                let detail = format!(
                    "Cannot cast type {} to {} in column {}.",
                    self.type_shown(source_type),
                    self.type_shown(attr.type_oid),
                    i + 1
                );
                return Err(fail(self, detail));
            };
            args.push(made);
        }
        if source.next().is_some() {
            let _ = count;
            return Err(fail(self, "Input has too many columns.".into()));
        }
        let row = ir::RowExpr { ty: base, args, form, names: Vec::new(), location };
        let row = Expr::Row(Box::new(row));
        self.to_domain(row, base, base_mod, target, cx, form, at, false)
    }

    // Contexts that want one type.

    /// `coerce_to_boolean`.
    pub fn coerce_to_boolean(&mut self, expr: Expr, construct: &str) -> Result<Expr> {
        self.coerce_to_specific(expr, oids::BOOL, construct)
    }

    /// `coerce_to_specific_type`.
    pub fn coerce_to_specific(&mut self, expr: Expr, target: Oid, construct: &str) -> Result<Expr> {
        let at = expr.location();
        let source = expr.ty();
        let cx = CastContext::Assignment;
        let mut expr = expr;
        if source != target {
            let made =
                self.coerce_to_target(expr, target, -1, cx, CoercionForm::ImplicitCast, None)?;
            let Some(made) = made else {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "argument of {construct} must be type {}, not type {}",
                    self.type_shown(target),
                    self.type_shown(source)
                )
                .at(at));
            };
            expr = made;
        }
        if returns_set(&expr) {
            return Err(
                err!(DATATYPE_MISMATCH, "argument of {construct} must not return a set").at(at)
            );
        }
        Ok(expr)
    }

    /// `select_common_type`; none if there is none and `context` is none.
    pub fn common_type(&self, exprs: &[&Expr], context: Option<&str>) -> Result<Option<Oid>> {
        let types: Vec<(Oid, Location)> = exprs.iter().map(|e| (e.ty(), e.location())).collect();
        self.common_type_of(&types, context)
    }

    pub fn common_type_of(
        &self,
        types: &[(Oid, Location)],
        context: Option<&str>,
    ) -> Result<Option<Oid>> {
        let Some(&(first, _)) = types.first() else {
            return Ok(Some(oids::TEXT));
        };
        if first != oids::UNKNOWN && types.iter().all(|t| t.0 == first) {
            return Ok(Some(first));
        }
        let facts = |oid: Oid| -> Result<(Oid, u8, bool)> {
            let base = base_type(self.catalog(), oid)?;
            let desc = self.type_desc(base)?;
            Ok((base, desc.category, desc.is_preferred))
        };
        let (mut chosen, mut category, mut preferred) = facts(first)?;
        for &(next, at) in &types[1..] {
            let (next, next_category, next_preferred) = facts(next)?;
            if next == oids::UNKNOWN || next == chosen {
                continue;
            }
            if chosen == oids::UNKNOWN {
                (chosen, category, preferred) = (next, next_category, next_preferred);
            } else if next_category != category {
                let Some(context) = context else { return Ok(None) };
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "{context} types {} and {} cannot be matched",
                    self.type_shown(chosen),
                    self.type_shown(next)
                )
                .at(at));
            } else if !preferred
                && self.can_coerce(&[chosen], &[next], CastContext::Implicit)?
                && !self.can_coerce(&[next], &[chosen], CastContext::Implicit)?
            {
                (chosen, category, preferred) = (next, next_category, next_preferred);
            }
        }
        Ok(Some(if chosen == oids::UNKNOWN { oids::TEXT } else { chosen }))
    }

    /// `coerce_to_common_type`.
    pub fn to_common(&mut self, expr: Expr, target: Oid, context: &str) -> Result<Expr> {
        let source = expr.ty();
        if source == target {
            return Ok(expr);
        }
        if !self.can_coerce(&[source], &[target], CastContext::Implicit)? {
            return Err(err!(
                CANNOT_COERCE,
                "{context} could not convert type {} to {}",
                self.type_shown(source),
                self.type_shown(target)
            )
            .at(expr.location()));
        }
        let form = CoercionForm::ImplicitCast;
        self.coerce(expr, source, target, -1, CastContext::Implicit, form, None)
    }
}

/// The modifier that all of these share for this type, or -1.
pub(crate) fn common_typmod<'e>(mut exprs: impl Iterator<Item = &'e Expr>, ty: Oid) -> i32 {
    let Some(first) = exprs.next() else { return -1 };
    if first.ty() != ty {
        return -1;
    }
    let typmod = first.typmod();
    if typmod >= 0 && exprs.all(|e| e.ty() == ty && e.typmod() == typmod) { typmod } else { -1 }
}

fn rewrap_collate(a: &Analyzer, expr: Expr, collation: Oid, location: Location) -> Expr {
    // A type without collations drops the clause.
    match a.collation_of_type(expr.ty()) {
        Ok(c) if c.is_valid() => Expr::Collate { arg: Box::new(expr), collation, location },
        _ => expr,
    }
}

/// The same bytes under another type; on top of another relabelling, in its place.
pub(crate) fn relabel(
    expr: Expr,
    ty: Oid,
    typmod: i32,
    form: CoercionForm,
    location: Location,
) -> Expr {
    let collation = Oid::INVALID;
    let arg = match expr {
        Expr::Relabel { arg, .. } => arg,
        other => Box::new(other),
    };
    if arg.ty() == ty && arg.typmod() == typmod && typmod == -1 {
        return *arg;
    }
    Expr::Relabel { arg, ty, typmod, collation, form, location }
}

/// A coercion that is part of another one is not shown.
fn hide_coercion(mut expr: Expr) -> Expr {
    let implicit = CoercionForm::ImplicitCast;
    match &mut expr {
        Expr::Func(f) => f.form = implicit,
        Expr::Relabel { form, .. }
        | Expr::CoerceViaIo { form, .. }
        | Expr::ArrayCoerce { form, .. }
        | Expr::ConvertRowtype { form, .. }
        | Expr::CoerceToDomain { form, .. } => *form = implicit,
        Expr::Row(r) => r.form = implicit,
        _ => {}
    }
    expr
}

pub(crate) fn plain_const(ty: Oid, value: Datum) -> Expr {
    Expr::Const(Const { ty, typmod: -1, collation: Oid::INVALID, value, location: None })
}

/// Whether evaluating it may give several rows.
pub(crate) fn returns_set(expr: &Expr) -> bool {
    ir::walk::any(expr, &mut |e| match e {
        Expr::Func(f) => f.ret_set,
        Expr::Op(o) => o.ret_set,
        _ => false,
    })
}
