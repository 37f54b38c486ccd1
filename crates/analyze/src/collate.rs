//! Which collation each expression has and which one each function is given.

use crate::state::Analyzer;
use base::{Oid, Result, err};
use catalog::oids;
use ir::{Expr, Location, Query};

/// How a collation was come by; a stronger one wins.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
enum Strength {
    None,
    Implicit,
    Conflict,
    Explicit,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    collation: Oid,
    strength: Strength,
    location: Location,
    /// What it is in conflict with.
    other: Oid,
}

const NOTHING: Found = Found {
    collation: Oid::INVALID,
    strength: Strength::None,
    location: None,
    other: Oid::INVALID,
};

const USE_COLLATE: &str = "Use the COLLATE clause to set the collation explicitly.";

impl Found {
    /// What functions are given: none if it is not certain.
    fn usable(&self) -> Oid {
        if self.strength == Strength::Conflict { Oid::INVALID } else { self.collation }
    }
}

/// `assign_query_collations`: every expression of this level.
pub(crate) fn assign_query(a: &mut Analyzer, query: &mut Query) -> Result<()> {
    for t in query.target_list.iter_mut().filter(|t| t.sort_group_ref != 0) {
        sortable(a, &mut t.expr)?;
    }
    let mut result = Ok(());
    ir::walk::own_exprs_mut(query, &mut |e| {
        if result.is_ok() {
            result = assign(a, e);
        }
    });
    result
}

/// What is sorted, grouped or made distinct by must have one collation.
fn sortable(a: &mut Analyzer, expr: &mut Expr) -> Result<()> {
    let found = walk(a, expr)?;
    if found.strength == Strength::Conflict {
        return Err(mismatch(a, found.collation, found.other, found.location));
    }
    let collatable = a.collation_of_type(expr.ty())?.is_valid();
    if collatable && found.strength != Strength::Explicit && !expr.collation().is_valid() {
        return Err(undetermined("string comparison"));
    }
    Ok(())
}

/// Two collations of which neither is stronger.
pub(crate) fn mismatch(a: &Analyzer, one: Oid, other: Oid, at: Location) -> base::Error {
    err!(
        COLLATION_MISMATCH,
        "collation mismatch between implicit collations \"{}\" and \"{}\"",
        name_of(a, one),
        name_of(a, other)
    )
    .hint("You can choose the collation by applying the COLLATE clause to one or both expressions.")
    .at(at)
}

fn undetermined(what: &str) -> base::Error {
    err!(INDETERMINATE_COLLATION, "could not determine which collation to use for {what}")
        .hint(USE_COLLATE)
}

/// What a function does with its arguments' collation, if it cannot do without one.
fn need(function: Oid) -> Option<&'static str> {
    Some(match function.0 {
        67 | 157 | 360 | 458 | 459 | 740..=743 | 1048..=1053 | 1063 | 1064 | 1078 => {
            "string comparison"
        }
        850 | 851 | 1569 | 1570 | 1631 | 1632 => "LIKE",
        1633 | 1634 | 1660 | 1661 => "ILIKE",
        1238 | 1239 | 1254 | 1256 | 1656..=1659 => "regular expression",
        870 => "lower() function",
        871 => "upper() function",
        872 => "initcap() function",
        _ => return None,
    })
}

/// `assign_expr_collations`.
pub(crate) fn assign(a: &mut Analyzer, expr: &mut Expr) -> Result<()> {
    walk(a, expr).map(|_| ())
}

/// `select_common_collation`: the collation of these together. `none` if there may be none.
pub(crate) fn common(a: &mut Analyzer, exprs: &mut [Expr], none: bool) -> Result<Oid> {
    let mut merged = NOTHING;
    for e in exprs {
        let found = walk(a, e)?;
        merge(a, &mut merged, found)?;
    }
    if merged.strength == Strength::Conflict && !none {
        return Err(mismatch(a, merged.collation, merged.other, merged.location));
    }
    Ok(merged.usable())
}

/// The collation that the values of a column of VALUES share.
pub(crate) fn column_collation(a: &mut Analyzer, exprs: &mut [Expr]) -> Result<Oid> {
    common(a, exprs, true)
}

fn name_of(a: &Analyzer, collation: Oid) -> String {
    match a.catalog().find_collation(collation) {
        Ok(Some(c)) => c.name.to_string(),
        _ => collation.to_string(),
    }
}

/// `merge_collation_state`.
fn merge(a: &Analyzer, into: &mut Found, new: Found) -> Result<()> {
    if new.strength > into.strength {
        *into = new;
        return Ok(());
    }
    if new.strength < into.strength || new.collation == into.collation {
        return Ok(());
    }
    match new.strength {
        Strength::Implicit => {
            // One that is not the default beats the default.
            if into.collation == oids::DEFAULT_COLLATION {
                *into = new;
            } else if new.collation != oids::DEFAULT_COLLATION {
                into.strength = Strength::Conflict;
                (into.other, into.location) = (new.collation, new.location);
            }
            Ok(())
        }
        Strength::Explicit => Err(err!(
            COLLATION_MISMATCH,
            "collation mismatch between explicit collations \"{}\" and \"{}\"",
            name_of(a, into.collation),
            name_of(a, new.collation)
        )
        .at(new.location)),
        _ => Ok(()),
    }
}

fn leaf(expr: &Expr) -> Found {
    let collation = expr.collation();
    let strength = if collation.is_valid() { Strength::Implicit } else { Strength::None };
    Found { collation, strength, location: expr.location(), ..NOTHING }
}

fn walk(a: &mut Analyzer, expr: &mut Expr) -> Result<Found> {
    base::stack::check()?;
    let mut inner = NOTHING;
    let place = expr.location();
    match expr {
        Expr::Const(_)
        | Expr::Var(_)
        | Expr::Param(_)
        | Expr::CaseTest { .. }
        | Expr::SqlValue { .. }
        | Expr::DomainValue { .. }
        | Expr::SetToDefault { .. }
        | Expr::CurrentOf { .. }
        | Expr::NextValue { .. }
        | Expr::MergeAction { .. } => return Ok(leaf(expr)),
        Expr::Collate { arg, collation, location } => {
            walk(a, arg)?;
            let (collation, location) = (*collation, *location);
            return Ok(Found { collation, strength: Strength::Explicit, location, ..NOTHING });
        }
        Expr::FieldSelect { arg, .. } => {
            walk(a, arg)?;
            return Ok(leaf(expr));
        }
        Expr::Row(row) => {
            for e in &mut row.args {
                walk(a, e)?;
            }
            return Ok(NOTHING);
        }
        Expr::RowCompare { left, right, collations, .. } => {
            for (i, (l, r)) in left.iter_mut().zip(right).enumerate() {
                let mut pair = walk(a, l)?;
                let other = walk(a, r)?;
                merge(a, &mut pair, other)?;
                collations[i] = pair.usable();
            }
            return Ok(NOTHING);
        }
        Expr::SubLink(link) => {
            if let Some(test) = &mut link.test {
                walk(a, test)?;
            }
            return Ok(leaf(expr));
        }
        Expr::Case(case) => {
            if let Some(arg) = &mut case.arg {
                walk(a, arg)?;
            }
            for w in &mut case.whens {
                walk(a, &mut w.when)?;
                let found = walk(a, &mut w.then)?;
                merge(a, &mut inner, found)?;
            }
            let found = walk(a, &mut case.default)?;
            merge(a, &mut inner, found)?;
        }
        Expr::Agg(agg) => inner = walk_aggregate(a, agg)?,
        Expr::Window(w) => {
            for e in &mut w.args {
                let found = walk(a, e)?;
                merge(a, &mut inner, found)?;
            }
            if let Some(f) = &mut w.filter {
                walk(a, f)?;
            }
        }
        Expr::Subscript(s) => {
            for e in s.upper.iter_mut().chain(&mut s.lower).flatten() {
                walk(a, e)?;
            }
            inner = walk(a, &mut s.container)?;
            if let Some(e) = &mut s.assign {
                let found = walk(a, e)?;
                merge(a, &mut inner, found)?;
            }
        }
        Expr::CoerceToDomain { arg, .. } => {
            inner = walk(a, arg)?;
        }
        _ => {
            let mut result = Ok(());
            ir::walk::children_mut(expr, &mut |e| {
                if result.is_ok() {
                    result = walk(a, e).and_then(|found| merge(a, &mut inner, found));
                }
            });
            result?;
        }
    }
    finish(a, expr, inner, place)
}

/// The arguments of an aggregate; what an ordered-set one only sorts by has its own collation.
fn walk_aggregate(a: &mut Analyzer, agg: &mut ir::Aggref) -> Result<Found> {
    let mut inner = NOTHING;
    for e in &mut agg.direct_args {
        let found = walk(a, e)?;
        if agg.kind != 'h' {
            merge(a, &mut inner, found)?;
        }
    }
    let single = agg.args.len() == 1;
    for (i, t) in agg.args.iter_mut().enumerate() {
        if t.sort_group_ref != 0 && agg.kind != 'h' {
            sortable(a, &mut t.expr)?;
        }
        let found = walk(a, &mut t.expr)?;
        if agg.kind == 'h' {
            // Each hypothetical value is compared with its column.
            let direct = agg.direct_args.get_mut(i).map(|d| walk(a, d)).transpose()?;
            let mut pair = direct.unwrap_or(NOTHING);
            merge(a, &mut pair, found)?;
            merge(a, &mut inner, pair)?;
        } else if !t.junk && (agg.kind == 'n' || single) {
            merge(a, &mut inner, found)?;
        }
    }
    if let Some(f) = &mut agg.filter {
        walk(a, f)?;
    }
    Ok(inner)
}

/// What the node's value has, from its type and its operands.
fn finish(a: &mut Analyzer, expr: &mut Expr, inner: Found, place: Location) -> Result<Found> {
    if inner.strength == Strength::Conflict {
        let function = match expr {
            Expr::Func(f) => f.func,
            Expr::Op(o) => o.func,
            Expr::ScalarArrayOp(s) => s.func,
            _ => Oid::INVALID,
        };
        let what = match expr {
            Expr::MinMax { .. } => Some("string comparison"),
            _ => need(function),
        };
        if let Some(what) = what {
            return Err(undetermined(what));
        }
    }
    let own = a.collation_of_type(expr.ty())?;
    let domain = matches!(expr, Expr::CoerceToDomain { .. });
    let found = if !own.is_valid() {
        NOTHING
    } else if domain && own != oids::DEFAULT_COLLATION {
        Found { collation: own, strength: Strength::Implicit, location: place, ..NOTHING }
    } else if inner.strength > Strength::None {
        inner
    } else {
        Found { collation: own, strength: Strength::Implicit, location: place, ..NOTHING }
    };
    set(expr, found.usable(), inner.usable());
    Ok(found)
}

/// `exprSetCollation` and `exprSetInputCollation`.
fn set(expr: &mut Expr, out: Oid, input: Oid) {
    match expr {
        Expr::Func(f) => (f.collation, f.input_collation) = (out, input),
        Expr::Op(o) => (o.collation, o.input_collation) = (out, input),
        Expr::ScalarArrayOp(s) => s.input_collation = input,
        Expr::Agg(g) => (g.collation, g.input_collation) = (out, input),
        Expr::Window(w) => (w.collation, w.input_collation) = (out, input),
        Expr::Subscript(s) => s.collation = out,
        Expr::Relabel { collation, .. }
        | Expr::CoerceViaIo { collation, .. }
        | Expr::ArrayCoerce { collation, .. }
        | Expr::Coalesce { collation, .. }
        | Expr::CoerceToDomain { collation, .. } => *collation = out,
        Expr::MinMax { collation, input_collation, .. } => {
            (*collation, *input_collation) = (out, input);
        }
        Expr::Case(c) => c.collation = out,
        Expr::Array(x) => x.collation = out,
        Expr::Json(j) => j.collation = out,
        Expr::Xml(x) => x.collation = out,
        _ => {}
    }
}
