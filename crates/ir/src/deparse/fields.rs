//! Names of a row's fields, found through the subqueries that the row came from.

use super::plan::PlanScope;
use super::{Names, Printer};
use crate::expr::{Expr, ParamKind};
use crate::query::{CmdType, Query, RteKind};

impl<'a> Printer<'a> {
    /// Prints a field of a row.
    pub(super) fn field(&mut self, arg: &'a Expr, field: i16) {
        let arg = below_relabel(arg);
        let bare = matches!(arg, Expr::Subscript(_) | Expr::FieldSelect { .. });
        self.put(if bare { "" } else { "(" });
        self.expr(arg, true);
        self.put(if bare { "" } else { ")" });
        let fields = self.row_fields(arg).unwrap_or_default();
        let name = fields.get(field as usize - 1).filter(|n| !n.is_empty()).cloned();
        self.put(".");
        self.put_ident(&name.unwrap_or_else(|| format!("f{field}")));
    }

    fn row_fields(&self, arg: &'a Expr) -> Option<Vec<String>> {
        if let Expr::Var(v) = arg
            && v.attno == 0
            && self.names.fields(v.ty).is_none()
            && let Some(scope) = self.scope(v.levels_up)
            && scope.rtable.is_empty()
        {
            return scope.columns.get(v.varno as usize - 1).cloned();
        }
        match self.scopes.iter().rev().find_map(|s| s.plan.as_ref()) {
            Some(place) => fields_in_plan(arg, place, self.names),
            None => {
                let chain: Option<Vec<&Query>> = self.scopes.iter().map(|s| s.query).collect();
                fields_in_query(arg, &chain.unwrap_or_default(), self.names)
            }
        }
    }
}

/// The value below casts of a domain to its base type, which nobody wrote.
pub(super) fn below_relabel(expr: &Expr) -> &Expr {
    match expr {
        Expr::Relabel { arg, form: crate::expr::CoercionForm::ImplicitCast, .. } => {
            below_relabel(arg)
        }
        _ => expr,
    }
}

/// The fields' names of a row that tells them itself.
fn own_fields(expr: &Expr, names: &dyn Names) -> Option<Vec<String>> {
    if let Some(fields) = names.fields(expr.ty()) {
        return Some(fields);
    }
    match expr {
        Expr::Row(row) => Some(row.names.clone()),
        Expr::Func(f) => names.outputs(f.func),
        _ => None,
    }
}

/// The fields' names of a row in the last of a chain of queries within one another.
fn fields_in_query(expr: &Expr, chain: &[&Query], names: &dyn Names) -> Option<Vec<String>> {
    base::stack::check().ok()?;
    let Expr::Var(v) = expr else { return own_fields(expr, names) };
    if let Some(fields) = names.fields(v.ty) {
        return Some(fields);
    }
    let level = chain.len().checked_sub(1 + v.levels_up as usize)?;
    let rte = chain[level].rtable.get(v.varno as usize - 1)?;
    let Some(number) = usize::try_from(v.attno).ok()?.checked_sub(1) else {
        return Some(rte.eref.columns.clone());
    };
    let chain = &chain[..=level];
    match &rte.kind {
        RteKind::Subquery { query, .. } => fields_of_output(query, number, chain, names),
        RteKind::Cte { name, levels_up, .. } => {
            let level = chain.len().checked_sub(1 + *levels_up as usize)?;
            let cte = chain[level].ctes.iter().find(|c| c.name == *name)?;
            fields_of_output(&cte.query, number, &chain[..=level], names)
        }
        RteKind::Join { alias_vars: exprs, .. } | RteKind::Group { exprs } => {
            fields_in_query(exprs.get(number)?, chain, names)
        }
        RteKind::Values { lists, .. } => fields_in_query(lists.first()?.get(number)?, chain, names),
        _ => None,
    }
}

fn fields_of_output(
    query: &Query,
    number: usize,
    chain: &[&Query],
    names: &dyn Names,
) -> Option<Vec<String>> {
    let returned = query.command != CmdType::Select;
    let list = if returned { &query.returning } else { &query.target_list };
    let target = list.iter().filter(|t| !t.junk).nth(number)?;
    let mut inner = chain.to_vec();
    inner.push(query);
    fields_in_query(&target.expr, &inner, names)
}

/// The fields' names of a row that a plan's node computes or has from a node below.
fn fields_in_plan(expr: &Expr, place: &PlanScope, names: &dyn Names) -> Option<Vec<String>> {
    base::stack::check().ok()?;
    if let Some(fields) = names.fields(expr.ty()) {
        return Some(fields);
    }
    match expr {
        Expr::Var(v) => {
            if let Some((below, expr)) = place.resolve(v) {
                return fields_in_plan(expr, &below, names);
            }
            match usize::try_from(v.attno).ok()? {
                0 => place.entry_columns(v.varno),
                _ => {
                    let (below, expr) = place.scanned(v)?;
                    fields_in_plan(expr, &below, names)
                }
            }
        }
        Expr::Param(p) if p.kind == ParamKind::Exec => {
            let (above, expr) = place.referent(p.id)?;
            fields_in_plan(expr, &above, names)
        }
        _ => own_fields(expr, names),
    }
}
