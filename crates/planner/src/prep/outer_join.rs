//! Outer joins whose null-extended rows a condition above rejects are inner joins.

use crate::prep::volatility::nonnullable_rels;
use crate::relids::Relids;
use crate::root::Env;
use base::Result;
use ir::{FromExpr, FromItem, JoinKind, Query, RteKind};

/// Reduces outer joins where that cannot change the result, and turns RIGHT into LEFT.
pub fn reduce_outer_joins(query: &mut Query, env: &Env) -> Result<()> {
    let mut from = std::mem::take(&mut query.jointree);
    reduce_from(&mut from, env, &[])?;
    query.jointree = from;
    // What join entries say of themselves is for printing only, but is kept right.
    sync_kinds(query);
    Ok(())
}

fn sync_kinds(query: &mut Query) {
    fn each(item: &FromItem, out: &mut Vec<(u32, JoinKind)>) {
        match item {
            FromItem::Table(_) => {}
            FromItem::Join(j) => {
                if j.rtindex != 0 {
                    out.push((j.rtindex, j.kind));
                }
                each(&j.left, out);
                each(&j.right, out);
            }
            FromItem::From(f) => f.items.iter().for_each(|i| each(i, out)),
        }
    }
    let mut kinds = Vec::new();
    query.jointree.items.iter().for_each(|i| each(i, &mut kinds));
    for (index, new) in kinds {
        if let RteKind::Join { kind, .. } = &mut query.rtable[index as usize - 1].kind {
            *kind = new;
        }
    }
}

fn add_nonnullable(quals: &Option<ir::Expr>, env: &Env, out: &mut Vec<u32>) -> Result<()> {
    if let Some(q) = quals {
        nonnullable_rels(q, env, true, out)?;
    }
    Ok(())
}

fn reduce_from(from: &mut FromExpr, env: &Env, above: &[u32]) -> Result<()> {
    let mut known = above.to_vec();
    add_nonnullable(&from.quals, env, &mut known)?;
    for item in &mut from.items {
        reduce_item(item, env, &known)?;
    }
    Ok(())
}

fn reduce_item(item: &mut FromItem, env: &Env, above: &[u32]) -> Result<()> {
    match item {
        FromItem::Table(_) => Ok(()),
        FromItem::From(from) => reduce_from(from, env, above),
        FromItem::Join(join) => {
            let left = item_relids(&join.left);
            let right = item_relids(&join.right);
            let rejects = |side: &Relids| above.iter().any(|r| side.contains(*r));
            join.kind = match join.kind {
                JoinKind::Left if rejects(&right) => JoinKind::Inner,
                JoinKind::Right if rejects(&left) => JoinKind::Inner,
                JoinKind::Full => match (rejects(&left), rejects(&right)) {
                    (true, true) => JoinKind::Inner,
                    (true, false) => JoinKind::Left,
                    (false, true) => JoinKind::Right,
                    (false, false) => JoinKind::Full,
                },
                other => other,
            };
            if join.kind == JoinKind::Right {
                std::mem::swap(&mut join.left, &mut join.right);
                join.kind = JoinKind::Left;
            }
            let mut own = Vec::new();
            add_nonnullable(&join.quals, env, &mut own)?;
            let both = |a: &[u32], b: &[u32]| -> Vec<u32> { [a, b].concat() };
            match join.kind {
                JoinKind::Inner | JoinKind::Semi => {
                    let known = both(above, &own);
                    reduce_item(&mut join.left, env, &known)?;
                    reduce_item(&mut join.right, env, &known)
                }
                JoinKind::Full => {
                    reduce_item(&mut join.left, env, &[])?;
                    reduce_item(&mut join.right, env, &[])
                }
                _ => {
                    reduce_item(&mut join.left, env, above)?;
                    reduce_item(&mut join.right, env, &own)
                }
            }
        }
    }
}

/// The tables of a join tree item.
pub fn item_relids(item: &FromItem) -> Relids {
    match item {
        FromItem::Table(i) => Relids::single(*i),
        FromItem::Join(j) => item_relids(&j.left).union(&item_relids(&j.right)),
        FromItem::From(f) => {
            f.items.iter().fold(Relids::empty(), |set, i| set.union(&item_relids(i)))
        }
    }
}
