//! A UNION ALL without anything above it becomes an entry of the query around: its members are
//! scanned and joined like tables of an inheritance tree.

use super::pull_up;
use crate::root::Env;
use base::{Oid, Result};
use ir::walk;
use ir::{Expr, FromItem, Query, RteKind, SetOpKind, SetOperand, SetOperation, UnionMember, Var};

/// True if the query is nothing but UNION ALL of subqueries with columns of the same types, so
/// that rows need no work, and names nothing of the query right around it.
pub fn is_simple(query: &Query) -> bool {
    is_plain(query)
        && query.sort_clause.is_empty()
        && query.limit_count.is_none()
        && query.limit_offset.is_none()
        && query.ctes.is_empty()
        && !refers_up(query)
}

/// The same, where an order or a limit may be above.
fn is_plain(query: &Query) -> bool {
    let Some(top) = &query.set_operations else { return false };
    !query.has_for_update
        && query.row_marks.is_empty()
        && query.target_list.iter().filter(|t| !t.junk).count() == top.col_types.len()
        && of_types(query, top, &top.col_types)
}

fn of_types(query: &Query, op: &SetOperation, types: &[Oid]) -> bool {
    let fits = |operand: &SetOperand| match operand {
        SetOperand::Operation(inner) => of_types(query, inner, types),
        SetOperand::Table(index) => {
            let RteKind::Subquery { query: sub, .. } = &query.rte(*index).kind else {
                return false;
            };
            let columns = sub.target_list.iter().filter(|t| !t.junk);
            columns.map(|t| t.expr.ty()).eq(types.iter().copied())
        }
    };
    op.all && op.kind == SetOpKind::Union && fits(&op.left) && fits(&op.right)
}

fn refers_up(query: &Query) -> bool {
    let mut found = false;
    walk::query_exprs(query, 0, &mut |e, level| {
        found = found
            || walk::any_levels(
                e,
                level,
                &mut |x, l| matches!(x, Expr::Var(v) if v.levels_up == l + 1),
            );
    });
    found
}

fn leaves(op: &SetOperation, out: &mut Vec<u32>) {
    for operand in [&op.left, &op.right] {
        match operand {
            SetOperand::Table(index) => out.push(*index),
            SetOperand::Operation(inner) => leaves(inner, out),
        }
    }
}

/// The entry as a member whose columns are those of its subquery.
fn member(query: &Query, index: u32) -> UnionMember {
    let mut columns = Vec::new();
    if let RteKind::Subquery { query: sub, .. } = &query.rte(index).kind {
        for t in sub.target_list.iter().filter(|t| !t.junk) {
            let e = &t.expr;
            let var = Var::new(index, t.resno, e.ty(), e.typmod(), e.collation());
            columns.push(Expr::Var(var));
        }
    }
    UnionMember { rtindex: index, columns }
}

/// Makes the subquery of entry `index`, which is simple, a union of entries of this query.
pub fn pull_up(query: &mut Query, index: u32, env: &Env) -> Result<()> {
    let slot = &mut query.rtable[index as usize - 1];
    let RteKind::Subquery { query: sub, view, .. } =
        std::mem::replace(&mut slot.kind, RteKind::Result)
    else {
        return Ok(());
    };
    let mut sub = *sub;
    let offset = query.rtable.len() as u32;
    walk::shift_query_levels(&mut sub, -1, 1);
    let mut found = Vec::new();
    if let Some(op) = &sub.set_operations {
        leaves(op, &mut found);
    }
    query.rtable.append(&mut sub.rtable);
    let members = found.iter().map(|leaf| member(query, leaf + offset)).collect();
    query.rtable[index as usize - 1].kind = RteKind::UnionAll { members, view };
    pull_up_members(query, index, env)
}

/// Makes a query that is a UNION ALL one over an entry that is the union.
pub fn flatten(query: &mut Query, env: &Env) -> Result<()> {
    if !is_plain(query) {
        return Ok(());
    }
    let Some(op) = query.set_operations.take() else { return Ok(()) };
    let mut found = Vec::new();
    leaves(&op, &mut found);
    // The output names the first one's columns: its entry becomes the union.
    let union = found[0];
    let first = query.rte(union).clone();
    query.rtable.push(first);
    found[0] = query.rtable.len() as u32;
    let members = found.iter().map(|leaf| member(query, *leaf)).collect();
    query.rtable[union as usize - 1].kind = RteKind::UnionAll { members, view: None };
    query.jointree.items = vec![FromItem::Table(union)];
    pull_up_members(query, union, env)
}

fn pull_up_members(query: &mut Query, union: u32, env: &Env) -> Result<()> {
    let RteKind::UnionAll { members, .. } = &query.rte(union).kind else { return Ok(()) };
    let list: Vec<u32> = members.iter().map(|m| m.rtindex).collect();
    for (at, index) in list.into_iter().enumerate() {
        let RteKind::Subquery { query: sub, barrier: false, .. } =
            &mut query.rtable[index as usize - 1].kind
        else {
            continue;
        };
        if is_simple(sub) {
            pull_up(query, index, env)?;
            continue;
        }
        if !pull_up::is_simple(sub, env)? || sub.target_list.iter().any(|t| has_sublink(&t.expr)) {
            continue;
        }
        pull_up::with_a_table(sub);
        pull_up::pull_up_subqueries(sub, env)?;
        // There is no place for conditions of a member.
        if sub.jointree.quals.is_some() || !matches!(sub.jointree.items[..], [FromItem::Table(_)]) {
            continue;
        }
        if let FromItem::Table(table) = pull_up::pull_up_one(query, index)
            && let RteKind::UnionAll { members, .. } = &mut query.rtable[union as usize - 1].kind
        {
            members[at].rtindex = table;
        }
    }
    Ok(())
}

fn has_sublink(e: &Expr) -> bool {
    walk::any(e, &mut |x| matches!(x, Expr::SubLink(_)))
}
