//! Other numbers for the entries of a range table.

use crate::expr::Expr;
use crate::query::{FromItem, Query};
use crate::walk;

/// Gives every range-table index of the query's own level, wherever it is mentioned, the number
/// that `f` says. The range table itself stays.
pub fn query(query: &mut Query, f: &dyn Fn(u32) -> u32) {
    walk::rewrite_query(query, 0, &mut |e, level| renumbered(e, level, f));
    query.jointree.items.iter_mut().for_each(|i| item(i, f));
    if query.result_relation != 0 {
        query.result_relation = f(query.result_relation);
    }
    if let Some(conflict) = &mut query.on_conflict
        && conflict.excluded_rtindex != 0
    {
        conflict.excluded_rtindex = f(conflict.excluded_rtindex);
    }
    for mark in &mut query.row_marks {
        mark.rtindex = f(mark.rtindex);
    }
}

/// The same for an expression over the range table.
pub fn expr(expr: &mut Expr, f: &dyn Fn(u32) -> u32) {
    walk::rewrite_expr(expr, 0, &mut |e, level| renumbered(e, level, f));
}

fn renumbered(e: &Expr, level: u32, f: &dyn Fn(u32) -> u32) -> Option<Expr> {
    match e {
        Expr::Var(v) if v.levels_up == level => {
            let mut v = v.clone();
            v.varno = f(v.varno);
            if v.syn_no != 0 {
                v.syn_no = f(v.syn_no);
            }
            v.nulling_rels.iter_mut().for_each(|n| *n = f(*n));
            Some(Expr::Var(v))
        }
        Expr::CurrentOf { varno, cursor } if level == 0 => {
            Some(Expr::CurrentOf { varno: f(*varno), cursor: cursor.clone() })
        }
        _ => None,
    }
}

/// The same for a part of a join tree.
pub fn item(item_: &mut FromItem, f: &dyn Fn(u32) -> u32) {
    match item_ {
        FromItem::Table(i) => *i = f(*i),
        FromItem::Join(j) => {
            if j.rtindex != 0 {
                j.rtindex = f(j.rtindex);
            }
            item(&mut j.left, f);
            item(&mut j.right, f);
        }
        FromItem::From(from) => from.items.iter_mut().for_each(|i| item(i, f)),
    }
}

/// True if the entry is a part of the join tree.
pub fn stands_in(items: &[FromItem], index: u32) -> bool {
    items.iter().any(|i| match i {
        FromItem::Table(n) => *n == index,
        FromItem::Join(j) => {
            stands_in(std::slice::from_ref(&j.left), index)
                || stands_in(std::slice::from_ref(&j.right), index)
        }
        FromItem::From(from) => stands_in(&from.items, index),
    })
}

/// True if the expression, `level` queries inwards, mentions a column of the entry.
pub fn mentions(expr: &Expr, index: u32) -> bool {
    walk::any_levels(
        expr,
        0,
        &mut |e, level| matches!(e, Expr::Var(v) if v.varno == index && v.levels_up == level),
    )
}

/// True if anything in the query mentions the entry.
pub fn used(query: &Query, index: u32) -> bool {
    let mut found = stands_in(&query.jointree.items, index);
    walk::query_exprs(query, 0, &mut |e, level| {
        let mut is_it = |e: &Expr, level| match e {
            Expr::Var(v) => v.varno == index && v.levels_up == level,
            _ => false,
        };
        found = found || walk::any_levels(e, level, &mut is_it);
    });
    found
}
