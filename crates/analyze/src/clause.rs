//! ORDER BY, GROUP BY items, DISTINCT, LIMIT.

use crate::oper::SortOps;
use crate::state::{Analyzer, Kind, loc};
use base::{Result, err};
use catalog::{CastContext, oids};
use ir::{CoercionForm, Expr, Location, SortGroupClause, TargetEntry};
use parser::ast::{self, ExprKind, Literal};

/// Expressions alike but for their places in the text.
pub(crate) fn same_expr(a: &Expr, b: &Expr) -> bool {
    if let (Expr::Var(a), Expr::Var(b)) = (a, b) {
        return a.varno == b.varno
            && a.attno == b.attno
            && a.levels_up == b.levels_up
            && a.returning == b.returning
            && a.nulling_rels == b.nulling_rels;
    }
    if std::mem::discriminant(a) != std::mem::discriminant(b) {
        return false;
    }
    unplaced(a) == unplaced(b)
}

/// A copy without places that still knows what its columns were called.
pub(crate) fn unplaced_keeping(expr: &Expr) -> Expr {
    let mut copy = expr.clone();
    ir::walk::transform(&mut copy, &mut |e| {
        let names = if let Expr::Var(v) = e { Some((v.syn_no, v.syn_attno)) } else { None };
        clear_place(e);
        if let (Expr::Var(v), Some((no, attno))) = (e, names) {
            (v.syn_no, v.syn_attno) = (no, attno);
        }
    });
    copy
}

/// A copy without places.
pub(crate) fn unplaced(expr: &Expr) -> Expr {
    let mut copy = expr.clone();
    ir::walk::rewrite_expr(&mut copy, 0, &mut |_, _| None);
    ir::walk::transform(&mut copy, &mut clear_place);
    copy
}

fn clear_place(e: &mut Expr) {
    match e {
        Expr::Const(c) => c.location = None,
        Expr::Var(v) => {
            v.location = None;
            v.syn_no = 0;
            v.syn_attno = 0;
        }
        Expr::Param(p) => p.location = None,
        Expr::Func(f) => f.location = None,
        Expr::Op(o) => o.location = None,
        Expr::ScalarArrayOp(s) => s.location = None,
        Expr::Agg(a) => a.location = None,
        Expr::Grouping(g) => g.location = None,
        Expr::Window(w) => w.location = None,
        Expr::SubLink(s) => {
            s.location = None;
            ir::walk::own_exprs_mut(&mut s.query, &mut |e| {
                ir::walk::transform(e, &mut clear_place)
            });
        }
        Expr::Case(c) => c.location = None,
        Expr::Array(a) => a.location = None,
        Expr::Row(r) => r.location = None,
        Expr::Json(j) => j.location = None,
        Expr::Xml(x) => x.location = None,
        Expr::Bool { location, .. }
        | Expr::Relabel { location, .. }
        | Expr::CoerceViaIo { location, .. }
        | Expr::ArrayCoerce { location, .. }
        | Expr::ConvertRowtype { location, .. }
        | Expr::Collate { location, .. }
        | Expr::Coalesce { location, .. }
        | Expr::MinMax { location, .. }
        | Expr::SqlValue { location, .. }
        | Expr::NullTest { location, .. }
        | Expr::BooleanTest { location, .. }
        | Expr::CoerceToDomain { location, .. }
        | Expr::DomainValue { location, .. }
        | Expr::SetToDefault { location, .. }
        | Expr::NamedArg { location, .. }
        | Expr::MergeAction { location } => *location = None,
        _ => {}
    }
}

/// `strip_implicit_coercions`.
pub(crate) fn strip_implicit(expr: &Expr) -> &Expr {
    let implicit = CoercionForm::ImplicitCast;
    match expr {
        Expr::Func(f) if f.form == implicit && !f.args.is_empty() => strip_implicit(&f.args[0]),
        Expr::Relabel { arg, form, .. }
        | Expr::CoerceViaIo { arg, form, .. }
        | Expr::ArrayCoerce { arg, form, .. }
        | Expr::ConvertRowtype { arg, form, .. }
        | Expr::CoerceToDomain { arg, form, .. }
            if *form == implicit =>
        {
            strip_implicit(arg)
        }
        other => other,
    }
}

impl Analyzer<'_> {
    /// `findTargetlistEntrySQL92`, or SQL99's rule if `sql99`: the index of the target that an
    /// item of ORDER BY and the like means; it is added as junk if there is none.
    pub fn target_for(
        &mut self,
        expr: &ast::Expr,
        targets: &mut Vec<TargetEntry>,
        kind: Kind,
        sql99: bool,
    ) -> Result<usize> {
        let clause = match kind {
            Kind::OrderBy => "ORDER BY",
            Kind::GroupBy => "GROUP BY",
            Kind::DistinctOn => "DISTINCT ON",
            _ => kind.name(),
        };
        let at = loc(expr.location());
        if !sql99 {
            if let ExprKind::Column { parts, star: false } = &expr.kind
                && let [name] = parts.as_slice()
            {
                // GROUP BY prefers a column of FROM to one of the select list.
                let own_column =
                    kind == Kind::GroupBy && self.find_local_column(name, at)?.is_some();
                if !own_column && let Some(i) = named_target(name, targets, clause, at)? {
                    return Ok(i);
                }
            }
            if let ExprKind::Literal(literal) = &expr.kind {
                let Literal::Integer(n) = literal else {
                    return Err(err!(SYNTAX_ERROR, "non-integer constant in {clause}").at(at));
                };
                let found = targets.iter().enumerate().filter(|(_, t)| !t.junk);
                for (seen, (i, _)) in found.enumerate() {
                    if seen as i64 + 1 == *n as i64 {
                        return Ok(i);
                    }
                }
                return Err(err!(
                    INVALID_COLUMN_REFERENCE,
                    "{clause} position {n} is not in select list"
                )
                .at(at));
            }
        }
        let made = self.expr(expr, kind)?;
        let wanted = strip_implicit(&made);
        let known = targets.iter().position(|t| same_expr(wanted, strip_implicit(&t.expr)));
        if let Some(i) = known {
            return Ok(i);
        }
        let resno = targets.len() as i16 + 1;
        self.st().next_resno = resno;
        targets.push(TargetEntry::new(made, resno, None, true));
        Ok(targets.len() - 1)
    }

    /// `transformSortClause`.
    pub fn sort_clause(
        &mut self,
        items: &[ast::SortBy],
        targets: &mut Vec<TargetEntry>,
        kind: Kind,
        sql99: bool,
    ) -> Result<Vec<SortGroupClause>> {
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            let i = self.target_for(&item.expr, targets, kind, sql99)?;
            self.add_sort(targets, i, item, &mut list)?;
        }
        Ok(list)
    }

    fn known_type(&mut self, targets: &mut [TargetEntry], i: usize) -> Result<()> {
        self.resolve_unknowns(&mut targets[i..=i])
    }

    /// `addTargetToSortList`.
    pub fn add_sort(
        &mut self,
        targets: &mut [TargetEntry],
        i: usize,
        item: &ast::SortBy,
        list: &mut Vec<SortGroupClause>,
    ) -> Result<()> {
        self.known_type(targets, i)?;
        let ty = targets[i].expr.ty();
        let place = loc(item.expr.location());
        let ops = self.sort_ops(ty)?;
        let mut hashable = ops.hashable;
        let (sort_op, eq_op, descending);
        match &item.dir {
            ast::SortDir::Default | ast::SortDir::Asc | ast::SortDir::Desc => {
                descending = item.dir == ast::SortDir::Desc;
                sort_op = self.need_lt(&ops, descending, ty).map_err(|e| e.at(place))?;
                eq_op = self.need_eq(&ops, ty).map_err(|e| e.at(place))?;
            }
            ast::SortDir::Using(op) => {
                let found = self.find_operator(op, Some(ty), ty, place)?;
                let amops = self.catalog().amops_of_operator(found.oid)?;
                let hit =
                    amops.iter().find(|a| a.am == oids::BTREE_AM && matches!(a.strategy, 1 | 5));
                let Some(hit) = hit else {
                    return Err(err!(
                        WRONG_OBJECT_TYPE,
                        "operator {} is not a valid ordering operator",
                        op.name
                    )
                    .hint(
                        "Ordering operators must be \"<\" or \">\" members of btree operator \
                         families.",
                    )
                    .at(loc(op.pos)));
                };
                descending = hit.strategy == 5;
                let eq = self.catalog().amop(hit.family, hit.left, hit.right, 3)?;
                eq_op = self.need_eq(&SortOps { eq, ..ops }, ty).map_err(|e| e.at(place))?;
                hashable = hashable && Some(eq_op) == ops.eq;
                sort_op = found.oid;
            }
        }
        let target_ref = assign_ref(targets, i);
        // A second mention of a column changes nothing.
        let twice = list.iter().any(|c| {
            c.target_ref == target_ref && (c.sort_op == Some(sort_op) || c.descending != descending)
        });
        if twice {
            return Ok(());
        }
        let nulls_first = match item.nulls {
            ast::NullsOrder::Default => descending,
            ast::NullsOrder::First => true,
            ast::NullsOrder::Last => false,
        };
        let sort_op = Some(sort_op);
        list.push(SortGroupClause {
            target_ref,
            eq_op,
            sort_op,
            descending,
            nulls_first,
            hashable,
        });
        Ok(())
    }

    /// How to group or make distinct by a target.
    pub fn group_clause_for(
        &mut self,
        targets: &mut [TargetEntry],
        i: usize,
    ) -> Result<SortGroupClause> {
        self.known_type(targets, i)?;
        let ty = targets[i].expr.ty();
        let ops = self.sort_ops(ty)?;
        let eq_op = self.need_eq(&ops, ty)?;
        Ok(SortGroupClause {
            target_ref: assign_ref(targets, i),
            eq_op,
            sort_op: ops.lt,
            descending: false,
            nulls_first: false,
            hashable: ops.hashable,
        })
    }

    /// `transformDistinctClause`.
    pub fn distinct_clause(
        &mut self,
        targets: &mut [TargetEntry],
        sort: &[SortGroupClause],
        is_agg: bool,
    ) -> Result<Vec<SortGroupClause>> {
        let mut list: Vec<SortGroupClause> = Vec::new();
        // In the order of ORDER BY first, so that one sort serves both.
        for clause in sort {
            let entry = targets.iter().find(|t| t.sort_group_ref == clause.target_ref);
            let Some(entry) = entry else { continue };
            if entry.junk {
                let message = if is_agg {
                    "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument \
                     list"
                } else {
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
                };
                return Err(err!(INVALID_COLUMN_REFERENCE, "{message}").at(entry.expr.location()));
            }
            list.push(clause.clone());
        }
        for i in 0..targets.len() {
            if targets[i].junk {
                continue;
            }
            let known = targets[i].sort_group_ref;
            if known > 0 && list.iter().any(|c| c.target_ref == known) {
                continue;
            }
            let place = targets[i].expr.location();
            list.push(self.group_clause_for(targets, i).map_err(|e| e.at(place))?);
        }
        if list.is_empty() {
            let message = if is_agg {
                "an aggregate with DISTINCT must have at least one argument"
            } else {
                "SELECT DISTINCT must have at least one column"
            };
            return Err(err!(SYNTAX_ERROR, "{message}"));
        }
        Ok(list)
    }

    /// `transformDistinctOnClause`.
    pub fn distinct_on(
        &mut self,
        exprs: &[ast::Expr],
        targets: &mut Vec<TargetEntry>,
        sort: &[SortGroupClause],
    ) -> Result<Vec<SortGroupClause>> {
        let mut wanted: Vec<(u32, usize, Location)> = Vec::new();
        for e in exprs {
            let i = self.target_for(e, targets, Kind::DistinctOn, false)?;
            self.known_type(targets, i)?;
            wanted.push((assign_ref(targets, i), i, loc(e.location())));
        }
        let mismatch = |at: Location| {
            err!(
                INVALID_COLUMN_REFERENCE,
                "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
            )
            .at(at)
        };
        let mut list: Vec<SortGroupClause> = Vec::new();
        let mut skipped = false;
        for clause in sort {
            if let Some((.., place)) = wanted.iter().find(|w| w.0 == clause.target_ref) {
                if skipped {
                    return Err(mismatch(*place));
                }
                list.push(clause.clone());
            } else {
                skipped = true;
            }
        }
        for (target_ref, i, place) in wanted {
            if list.iter().any(|c| c.target_ref == target_ref) {
                continue;
            }
            if skipped {
                return Err(mismatch(place));
            }
            let place = targets[i].expr.location();
            list.push(self.group_clause_for(targets, i).map_err(|e| e.at(place))?);
        }
        Ok(list)
    }

    /// `transformLimitClause`.
    pub fn limit(
        &mut self,
        expr: Option<&ast::Expr>,
        kind: Kind,
        with_ties: bool,
    ) -> Result<Option<Expr>> {
        let Some(e) = expr else { return Ok(None) };
        let construct = kind.name();
        let made = self.expr(e, kind)?;
        let made = self.coerce_to_specific(made, oids::INT8, construct)?;
        let mut place = None;
        let vars = ir::walk::any(&made, &mut |e| match e {
            Expr::Var(v) if v.levels_up == 0 => {
                place = v.location;
                true
            }
            _ => false,
        });
        if vars {
            return Err(err!(
                INVALID_COLUMN_REFERENCE,
                "argument of {construct} must not contain variables"
            )
            .at(place));
        }
        let null = matches!(&made, Expr::Const(c) if c.value.is_null());
        if with_ties && kind == Kind::Limit && null {
            return Err(err!(
                INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
                "row count cannot be null in FETCH FIRST ... WITH TIES clause"
            ));
        }
        let _ = CastContext::Implicit;
        Ok(Some(made))
    }
}

/// `assignSortGroupRef`.
pub(crate) fn assign_ref(targets: &mut [TargetEntry], i: usize) -> u32 {
    if targets[i].sort_group_ref == 0 {
        let highest = targets.iter().map(|t| t.sort_group_ref).max().unwrap_or(0);
        targets[i].sort_group_ref = highest + 1;
    }
    targets[i].sort_group_ref
}

/// The visible target of this name; two different ones are an error.
fn named_target(
    name: &str,
    targets: &[TargetEntry],
    clause: &str,
    at: Location,
) -> Result<Option<usize>> {
    let mut found: Option<usize> = None;
    for (i, t) in targets.iter().enumerate() {
        if t.junk || t.name.as_deref() != Some(name) {
            continue;
        }
        match found {
            Some(known) if !same_expr(&targets[known].expr, &t.expr) => {
                return Err(err!(AMBIGUOUS_COLUMN, "{clause} \"{name}\" is ambiguous").at(at));
            }
            Some(_) => {}
            None => found = Some(i),
        }
    }
    Ok(found)
}
