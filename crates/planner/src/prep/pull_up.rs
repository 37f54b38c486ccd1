//! Subqueries of FROM that are simple enough become part of the query around them.

use crate::prep::volatility;
use crate::root::Env;
use base::Result;
use ir::walk;
use ir::{CmdType, Expr, FromItem, JoinKind, Query, Rte, RteKind, TargetEntry};

/// A range-table entry that is gone, and what its columns stand for.
type Pulled = (u32, Vec<TargetEntry>);

/// Pulls up all simple subqueries of the join tree.
pub fn pull_up_subqueries(query: &mut Query, env: &Env) -> Result<()> {
    let items = std::mem::take(&mut query.jointree.items);
    let mut out = Vec::with_capacity(items.len());
    let mut pulled = Vec::new();
    for item in items {
        out.push(pull_up_item(query, env, item, false, &mut pulled)?);
    }
    query.jointree.items = out;
    // Only now that the join tree is whole again do all its conditions see the columns replaced.
    for i in 0..pulled.len() {
        let (done, later) = pulled.split_at_mut(i + 1);
        let Some((index, target)) = done.last() else { break };
        let mut replace = |e: &Expr, level: u32| column_of(e, level, *index, target);
        walk::rewrite_query(query, 0, &mut replace);
        for entry in later.iter_mut().flat_map(|(_, target)| target) {
            walk::rewrite_expr(&mut entry.expr, 0, &mut replace);
        }
    }
    Ok(())
}

fn pull_up_item(
    query: &mut Query,
    env: &Env,
    item: FromItem,
    nullable: bool,
    pulled: &mut Vec<Pulled>,
) -> Result<FromItem> {
    match item {
        FromItem::Table(index) => {
            let rte = &query.rtable[index as usize - 1];
            let RteKind::Subquery { query: sub, barrier, .. } = &rte.kind else {
                return Ok(FromItem::Table(index));
            };
            if *barrier
                || !is_simple(sub, env)?
                || (nullable && (rte.lateral || !only_columns(sub)))
            {
                return Ok(FromItem::Table(index));
            }
            pull_up_one(query, env, index, pulled)
        }
        FromItem::Join(mut join) => {
            let (left, right) = match join.kind {
                JoinKind::Left | JoinKind::Anti => (nullable, true),
                JoinKind::Right => (true, nullable),
                JoinKind::Full => (true, true),
                _ => (nullable, nullable),
            };
            join.left = pull_up_item(query, env, join.left, left, pulled)?;
            join.right = pull_up_item(query, env, join.right, right, pulled)?;
            Ok(FromItem::Join(join))
        }
        FromItem::From(mut from) => {
            let items = std::mem::take(&mut from.items);
            for item in items {
                let item = pull_up_item(query, env, item, nullable, pulled)?;
                from.items.push(item);
            }
            Ok(FromItem::From(from))
        }
    }
}

/// True if the subquery only joins, filters and projects.
fn is_simple(sub: &Query, env: &Env) -> Result<bool> {
    if sub.command != CmdType::Select
        || sub.set_operations.is_some()
        || sub.has_aggs
        || sub.has_window_funcs
        || sub.has_target_srfs
        || !sub.group_clause.is_empty()
        || !sub.grouping_sets.is_empty()
        || sub.having.is_some()
        || !sub.sort_clause.is_empty()
        || !sub.distinct_clause.is_empty()
        || sub.limit_count.is_some()
        || sub.limit_offset.is_some()
        || sub.has_for_update
        || !sub.ctes.is_empty()
        || sub.jointree.items.is_empty()
    {
        return Ok(false);
    }
    for t in &sub.target_list {
        if volatility::has_volatile(&t.expr, env)?
            || has_sublink(&t.expr) && sub.target_list.len() > 64
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_sublink(expr: &Expr) -> bool {
    walk::any(expr, &mut |e| matches!(e, Expr::SubLink(_)))
}

/// True if the visible columns are plain columns of the subquery's own tables.
fn only_columns(sub: &Query) -> bool {
    sub.target_list.iter().all(|t| matches!(&t.expr, Expr::Var(v) if v.levels_up == 0))
        && sub.jointree.items.len() == 1
}

fn pull_up_one(
    query: &mut Query,
    env: &Env,
    index: u32,
    pulled: &mut Vec<Pulled>,
) -> Result<FromItem> {
    let offset = query.rtable.len() as u32;
    let slot = &mut query.rtable[index as usize - 1];
    let RteKind::Subquery { query: sub, view, barrier } =
        std::mem::replace(&mut slot.kind, RteKind::Result)
    else {
        return Ok(FromItem::Table(index));
    };
    let mut sub = *sub;
    // The entry stays for permission checks and printing, but is no longer in the join tree.
    slot.kind = RteKind::Subquery { query: Box::new(Query::new(CmdType::Select)), view, barrier };
    slot.in_from = false;
    let lateral = slot.lateral;
    // Inner parts first, then their columns are renumbered behind the outer range table.
    pull_up_subqueries(&mut sub, env)?;
    shift_varnos(&mut sub, offset);
    walk::shift_query_levels(&mut sub, -1, 1);
    let mut from = std::mem::take(&mut sub.jointree);
    from.items.iter_mut().for_each(|i| shift_item(i, offset));
    if lateral {
        sub.rtable.iter_mut().for_each(|r| {
            if matches!(
                r.kind,
                RteKind::Subquery { .. } | RteKind::Function { .. } | RteKind::Values { .. }
            ) {
                r.lateral = true;
            }
        });
    }
    query.has_sublinks |= sub.has_sublinks;
    for mark in sub.row_marks {
        let mut mark = mark;
        mark.rtindex += offset;
        query.row_marks.push(mark);
    }
    query.rtable.append(&mut sub.rtable);
    pulled.push((index, std::mem::take(&mut sub.target_list)));
    if from.quals.is_none() && from.items.len() == 1 {
        return Ok(from.items.remove(0));
    }
    Ok(FromItem::From(Box::new(from)))
}

/// Adds `offset` to every range-table index of the query's own level.
fn shift_varnos(query: &mut Query, offset: u32) {
    walk::rewrite_query(query, 0, &mut |e, level| shifted(e, level, offset));
}

fn shifted(e: &Expr, level: u32, offset: u32) -> Option<Expr> {
    match e {
        Expr::Var(v) if v.levels_up == level => {
            let mut v = v.clone();
            v.varno += offset;
            v.syn_no += offset;
            Some(Expr::Var(v))
        }
        Expr::CurrentOf { varno, cursor } if level == 0 => {
            Some(Expr::CurrentOf { varno: varno + offset, cursor: cursor.clone() })
        }
        _ => None,
    }
}

/// Adds `offset` to the range-table indexes of a join tree.
pub fn shift_item(item: &mut FromItem, offset: u32) {
    match item {
        FromItem::Table(i) => *i += offset,
        FromItem::Join(j) => {
            if j.rtindex != 0 {
                j.rtindex += offset;
            }
            shift_item(&mut j.left, offset);
            shift_item(&mut j.right, offset);
        }
        FromItem::From(f) => f.items.iter_mut().for_each(|i| shift_item(i, offset)),
    }
}

fn column_of(e: &Expr, level: u32, index: u32, target: &[TargetEntry]) -> Option<Expr> {
    let Expr::Var(v) = e else { return None };
    if v.varno != index || v.levels_up != level {
        return None;
    }
    if v.attno == 0 {
        let args: Vec<Expr> = target.iter().filter(|t| !t.junk).map(|t| t.expr.clone()).collect();
        let names = target.iter().filter(|t| !t.junk).map(|t| t.name.clone().unwrap_or_default());
        let mut row = Expr::Row(Box::new(ir::RowExpr {
            ty: v.ty,
            args,
            form: ir::CoercionForm::ImplicitCast,
            names: names.collect(),
            location: None,
        }));
        walk::shift_levels(&mut row, level as i32, 0);
        return Some(row);
    }
    let entry = target.iter().find(|t| t.resno == v.attno)?;
    let mut expr = entry.expr.clone();
    if level > 0 {
        walk::shift_levels(&mut expr, level as i32, 0);
    }
    Some(expr)
}

/// Replaces columns of join entries by what they stand for, and drops grouping entries.
pub fn flatten_join_columns(query: &mut Query) {
    let rtable = query.rtable.clone();
    walk::rewrite_query(query, 0, &mut |e, level| join_column(e, level, &rtable));
}

fn join_column(e: &Expr, level: u32, rtable: &[Rte]) -> Option<Expr> {
    let Expr::Var(v) = e else { return None };
    if v.levels_up != level {
        return None;
    }
    let exprs = match &rtable.get(v.varno as usize - 1)?.kind {
        RteKind::Join { alias_vars, .. } => alias_vars,
        RteKind::Group { exprs } => exprs,
        _ => return None,
    };
    let mut expr = if v.attno > 0 {
        exprs.get(v.attno as usize - 1)?.clone()
    } else {
        Expr::Row(Box::new(ir::RowExpr {
            ty: v.ty,
            args: exprs.clone(),
            form: ir::CoercionForm::ImplicitCast,
            names: rtable[v.varno as usize - 1].eref.columns.clone(),
            location: None,
        }))
    };
    // What a join column stands for may be a column of another join.
    walk::rewrite_expr(&mut expr, 0, &mut |e, l| join_column(e, l, rtable));
    if level > 0 {
        walk::shift_levels(&mut expr, level as i32, 0);
    }
    Some(expr)
}
