//! EXISTS and IN conditions become semijoins and antijoins where that is the same.

use crate::prep::pull_up::shift_item;
use crate::prep::{const_fold, volatility};
use crate::root::Env;
use base::Result;
use ir::walk::{self, conjoin, conjuncts};
use ir::{
    Alias, BoolOp, CmdType, Expr, FromExpr, FromItem, JoinExpr, JoinKind, ParamKind, Query, Rte,
    RteKind, SubLink, SubLinkKind, Var,
};

/// Pulls up the sublinks of WHERE and of inner joins' conditions.
pub fn pull_up_sublinks(query: &mut Query, env: &Env) -> Result<()> {
    if !query.has_sublinks {
        return Ok(());
    }
    let mut from = std::mem::take(&mut query.jointree);
    let mut items = Vec::new();
    for item in std::mem::take(&mut from.items) {
        items.push(pull_item(query, env, item)?);
    }
    from.items = items;
    query.jointree = pull_from(query, env, from)?;
    Ok(())
}

fn pull_item(query: &mut Query, env: &Env, item: FromItem) -> Result<FromItem> {
    match item {
        FromItem::Table(_) => Ok(item),
        FromItem::From(from) => {
            let mut from = *from;
            let mut items = Vec::new();
            for item in std::mem::take(&mut from.items) {
                items.push(pull_item(query, env, item)?);
            }
            from.items = items;
            Ok(FromItem::From(Box::new(pull_from(query, env, from)?)))
        }
        FromItem::Join(mut join) => {
            join.left = pull_item(query, env, join.left)?;
            join.right = pull_item(query, env, join.right)?;
            if join.kind == JoinKind::Inner
                && let Some(quals) = join.quals.take()
            {
                let (item, rest) = pull_quals(query, env, FromItem::Join(join), quals)?;
                return Ok(match rest {
                    None => item,
                    Some(quals) => {
                        FromItem::From(Box::new(FromExpr { items: vec![item], quals: Some(quals) }))
                    }
                });
            }
            Ok(FromItem::Join(join))
        }
    }
}

fn pull_from(query: &mut Query, env: &Env, mut from: FromExpr) -> Result<FromExpr> {
    let Some(quals) = from.quals.take() else { return Ok(from) };
    if !walk::any(&quals, &mut |e| matches!(e, Expr::SubLink(_))) {
        from.quals = Some(quals);
        return Ok(from);
    }
    let left = if from.items.len() == 1 {
        from.items.remove(0)
    } else {
        FromItem::From(Box::new(FromExpr { items: from.items, quals: None }))
    };
    let (item, rest) = pull_quals(query, env, left, quals)?;
    Ok(match (item, rest) {
        (FromItem::From(f), quals) if f.quals.is_none() => FromExpr { items: f.items, quals },
        (item, quals) => FromExpr { items: vec![item], quals },
    })
}

/// Joins to `left` what the sublinks among the conditions ask for; gives the conditions left.
fn pull_quals(
    query: &mut Query,
    env: &Env,
    left: FromItem,
    quals: Expr,
) -> Result<(FromItem, Option<Expr>)> {
    let mut item = left;
    let mut rest = Vec::new();
    for qual in conjuncts(quals) {
        let converted = match &qual {
            Expr::SubLink(s) if s.kind == SubLinkKind::Any => convert_any(query, env, s)?,
            Expr::SubLink(s) if s.kind == SubLinkKind::Exists => {
                convert_exists(query, env, s, false)?
            }
            Expr::Bool { op: BoolOp::Not, args, .. } => match &args[0] {
                Expr::SubLink(s) if s.kind == SubLinkKind::Exists => {
                    convert_exists(query, env, s, true)?
                }
                _ => None,
            },
            _ => None,
        };
        match converted {
            None => rest.push(qual),
            Some((kind, right, quals)) => {
                // The sublink's own FROM may hold sublinks in its conditions.
                let right = pull_item(query, env, right)?;
                item = FromItem::Join(Box::new(JoinExpr {
                    kind,
                    natural: false,
                    left: item,
                    right,
                    using: Vec::new(),
                    using_alias: None,
                    quals,
                    rtindex: 0,
                }));
            }
        }
    }
    Ok((item, conjoin(rest)))
}

type Converted = Option<(JoinKind, FromItem, Option<Expr>)>;

/// `x = ANY (SELECT y ...)` becomes a semijoin with the subselect as a table.
fn convert_any(query: &mut Query, env: &Env, s: &SubLink) -> Result<Converted> {
    let Some(test) = &s.test else { return Ok(None) };
    let mut outer_refs = false;
    walk::query_exprs(&s.query, 0, &mut |e, inner| {
        outer_refs |= walk::any_levels(e, inner, &mut |e, l| {
            matches!(e, Expr::Var(v) if v.levels_up > l)
                || matches!(e, Expr::Agg(a) if a.levels_up > l)
        })
    });
    let mentions = walk::any(test, &mut |e| matches!(e, Expr::Var(v) if v.levels_up == 0));
    if outer_refs || !mentions || volatility::has_volatile(test, env)? || !s.query.ctes.is_empty() {
        return Ok(None);
    }
    let mut sub = (*s.query).clone();
    sub.can_set_tag = false;
    let columns = sub
        .target_list
        .iter()
        .filter(|t| !t.junk)
        .map(|t| t.name.clone().unwrap_or_default())
        .collect();
    let types: Vec<_> = sub
        .target_list
        .iter()
        .filter(|t| !t.junk)
        .map(|t| (t.expr.ty(), t.expr.typmod(), t.expr.collation()))
        .collect();
    query.rtable.push(subquery_rte(sub, "ANY_subquery", columns));
    let index = query.rtable.len() as u32;
    let mut quals = (**test).clone();
    walk::replace(&mut quals, &mut |e| match e {
        Expr::Param(p) if p.kind == ParamKind::Exec => {
            let column = p.id.checked_sub(crate::prep::PLACEHOLDER)?;
            let (ty, typmod, collation) = *types.get(column as usize - 1)?;
            Some(Expr::Var(Var::new(index, column as i16, ty, typmod, collation)))
        }
        // The params in another subquery's comparison are that one's.
        Expr::SubLink(_) => Some(e.clone()),
        _ => None,
    });
    Ok(Some((JoinKind::Semi, FromItem::Table(index), Some(quals))))
}

/// A range-table entry of a subquery.
pub fn subquery_rte(sub: Query, name: &str, columns: Vec<String>) -> Rte {
    Rte {
        kind: RteKind::Subquery { query: Box::new(sub), view: None, barrier: false },
        alias: None,
        eref: Alias { name: name.into(), columns },
        lateral: false,
        in_from: true,
        perms: None,
        security_quals: Vec::new(),
    }
}

/// `[NOT] EXISTS (SELECT ... WHERE condition)` becomes a join on the condition.
fn convert_exists(query: &mut Query, env: &Env, s: &SubLink, negated: bool) -> Result<Converted> {
    let mut sub = (*s.query).clone();
    if !simplify_exists(&mut sub, env)? || sub.jointree.items.is_empty() {
        return Ok(None);
    }
    let Some(mut quals) = sub.jointree.quals.take() else { return Ok(None) };
    // Only WHERE may refer to the outer query, and it must.
    let mut elsewhere = false;
    walk::query_exprs(&sub, 0, &mut |e, inner| {
        elsewhere |=
            walk::any_levels(e, inner, &mut |e, l| matches!(e, Expr::Var(v) if v.levels_up > l))
    });
    let mut refers_out = false;
    let mut beyond = false;
    walk::any_levels(&quals, 0, &mut |e, l| {
        if let Expr::Var(v) = e {
            refers_out |= v.levels_up == l + 1;
            beyond |= v.levels_up > l && l > 0;
        }
        false
    });
    let own = walk::any(&quals, &mut |e| matches!(e, Expr::Var(v) if v.levels_up == 0));
    if elsewhere || !refers_out || beyond || !own || volatility::has_volatile(&quals, env)? {
        return Ok(None);
    }
    let offset = query.rtable.len() as u32;
    // Own columns move behind the outer range table; outer ones come one level nearer.
    walk::rewrite_expr(&mut quals, 0, &mut |e, level| match e {
        Expr::Var(v) if v.levels_up == level => {
            let mut v = v.clone();
            v.varno += offset;
            v.syn_no += offset;
            Some(Expr::Var(v))
        }
        Expr::Var(v) if v.levels_up == level + 1 => {
            let mut v = v.clone();
            v.levels_up -= 1;
            Some(Expr::Var(v))
        }
        _ => None,
    });
    walk::rewrite_query(&mut sub, 0, &mut |e, level| match e {
        Expr::Var(v) if v.levels_up == level => {
            let mut v = v.clone();
            v.varno += offset;
            v.syn_no += offset;
            Some(Expr::Var(v))
        }
        _ => None,
    });
    let mut from = sub.jointree;
    from.items.iter_mut().for_each(|i| shift_item(i, offset));
    query.rtable.append(&mut sub.rtable);
    let right =
        if from.items.len() == 1 { from.items.remove(0) } else { FromItem::From(Box::new(from)) };
    let kind = if negated { JoinKind::Anti } else { JoinKind::Semi };
    Ok(Some((kind, right, Some(quals))))
}

/// Drops what does not matter for EXISTS; false if something that matters is there.
pub fn simplify_exists(sub: &mut Query, env: &Env) -> Result<bool> {
    // A number is given as a conversion to bigint.
    let limit = sub.limit_count.clone().map(|e| const_fold::simplify(e, env, false)).transpose()?;
    let limit_harmless = match &limit {
        None => true,
        Some(Expr::Const(c)) => match c.value {
            types::Datum::I64(n) => n > 0,
            types::Datum::Null => true,
            _ => false,
        },
        Some(_) => false,
    };
    if sub.command != CmdType::Select
        || sub.set_operations.is_some()
        || sub.has_aggs
        || !sub.grouping_sets.is_empty()
        || sub.has_window_funcs
        || sub.has_target_srfs
        || sub.has_modifying_cte
        || sub.having.is_some()
        || sub.limit_offset.is_some()
        || !limit_harmless
        || !sub.row_marks.is_empty()
        || !sub.ctes.is_empty()
    {
        return Ok(false);
    }
    sub.limit_count = None;
    sub.target_list.clear();
    sub.group_clause.clear();
    sub.distinct_clause.clear();
    sub.has_distinct_on = false;
    sub.sort_clause.clear();
    sub.windows.clear();
    Ok(true)
}
