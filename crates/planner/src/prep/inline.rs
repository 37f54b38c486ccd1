//! Calls of functions in SQL that become part of the query: expressions in place of calls, and
//! subqueries in place of sets.

use crate::prep::volatility;
use crate::root::Env;
use base::{Oid, Result};
use catalog::ProcDesc;
use ir::{CmdType, Expr, FuncExpr, ParamKind, Query, RteKind, SubLinkKind, walk};

/// The language of functions in SQL.
pub const SQL_LANGUAGE: Oid = Oid(14);
const RECORD: Oid = Oid(2249);
const VOID: Oid = Oid(2278);

/// What a function in SQL does, given by the engine.
pub trait FunctionBodies {
    /// The function's only statement, for arguments of these types, its columns being of the
    /// types that the function gives; the arguments are `$n`. None if it is not as simple.
    fn body(&self, proc: &ProcDesc, arg_types: &[Oid], ret_type: Oid) -> Result<Option<Query>>;
}

/// The call's value as an expression of its arguments, if the function is nothing else.
pub fn scalar(
    f: &FuncExpr,
    proc: &ProcDesc,
    env: &Env,
    cost: &dyn Fn(&Expr) -> f64,
) -> Result<Option<Expr>> {
    let Some(bodies) = env.bodies else { return Ok(None) };
    if proc.language != SQL_LANGUAGE
        || proc.kind != b'f'
        || proc.security_definer
        || proc.returns_set
        || proc.return_type == RECORD
        || proc.config.as_ref().is_some_and(|c| !c.is_empty())
        || f.args.len() != proc.arg_types.len()
    {
        return Ok(None);
    }
    let types: Vec<Oid> = f.args.iter().map(Expr::ty).collect();
    let Some(mut query) = bodies.body(proc, &types, f.ret_type)? else { return Ok(None) };
    if !is_plain_expression(&query) {
        return Ok(None);
    }
    super::normalise(&mut query);
    let Some(target) = query.target_list.pop() else { return Ok(None) };
    let body = target.expr;
    if body.ty() != f.ret_type
        || !keeps_promises(&body, proc, env)?
        || f.args.iter().any(|a| walk::any(a, &mut |e| matches!(e, Expr::CaseTest { .. })))
    {
        return Ok(None);
    }
    for (i, arg) in f.args.iter().enumerate() {
        let uses = uses_of(&body, i as u32 + 1);
        if uses == 0 && proc.strict {
            return Ok(None);
        }
        if uses != 1 {
            let subplan = walk::any(arg, &mut |e| matches!(e, Expr::SubLink(_) | Expr::SubPlan(_)));
            let dear = cost(arg) > 10.0 * env.settings.cpu_operator_cost;
            if subplan || dear || volatility::has_volatile(arg, env)? {
                return Ok(None);
            }
        }
    }
    let mut out = body;
    substitute(&mut out, &f.args, 0);
    if out.collation() != f.collation && f.collation.is_valid() {
        out = Expr::Collate { arg: Box::new(out), collation: f.collation, location: None };
    }
    Ok(Some(out))
}

fn uses_of(body: &Expr, id: u32) -> usize {
    let mut n = 0;
    walk::each(body, &mut |e| {
        n += usize::from(matches!(e, Expr::Param(p) if p.kind == ParamKind::Extern && p.id == id));
    });
    n
}

/// Puts the arguments in the places of `$n`, `levels` queries further in.
fn substitute(e: &mut Expr, args: &[Expr], levels: u32) {
    walk::rewrite_expr(e, levels, &mut |x, level| {
        let Expr::Param(p) = x else { return None };
        if p.kind != ParamKind::Extern {
            return None;
        }
        let mut arg = args.get(p.id as usize - 1)?.clone();
        if level > 0 {
            walk::shift_levels(&mut arg, level as i32, 0);
        }
        Some(arg)
    });
}

/// A SELECT of one expression of nothing.
fn is_plain_expression(q: &Query) -> bool {
    q.command == CmdType::Select
        && !q.has_aggs
        && !q.has_window_funcs
        && !q.has_target_srfs
        && !q.has_sublinks
        && q.ctes.is_empty()
        && q.rtable.is_empty()
        && q.jointree.items.is_empty()
        && q.jointree.quals.is_none()
        && q.group_clause.is_empty()
        && q.grouping_sets.is_empty()
        && q.having.is_none()
        && q.windows.is_empty()
        && q.distinct_clause.is_empty()
        && q.sort_clause.is_empty()
        && q.limit_offset.is_none()
        && q.limit_count.is_none()
        && q.set_operations.is_none()
        && q.target_list.len() == 1
        && !walk::any(&q.target_list[0].expr, &mut |e| matches!(e, Expr::SubLink(_)))
}

/// The expression is as immutable, stable and strict as its function is said to be.
fn keeps_promises(body: &Expr, proc: &ProcDesc, env: &Env) -> Result<bool> {
    let worst = volatility::worst(body, env)?;
    let allowed = match proc.volatility {
        b'i' => worst == b'i',
        b's' => worst != b'v',
        _ => true,
    };
    Ok(allowed && (!proc.strict || !volatility::has_nonstrict(body, env)?))
}

/// Turns calls in FROM of functions that are one query into that query.
pub fn sets(query: &mut Query, env: &Env) -> Result<()> {
    for index in 0..query.rtable.len() {
        let RteKind::Function { functions, ordinality: false } = &query.rtable[index].kind else {
            continue;
        };
        let [one] = functions.as_slice() else { continue };
        let Expr::Func(f) = &one.expr else { continue };
        if !one.col_types.is_empty() || !one.col_names.is_empty() {
            continue;
        }
        let sub = set_query(f, env)?;
        let Some(sub) = sub else { continue };
        let visible = sub.target_list.iter().filter(|t| !t.junk).count();
        if visible != one.column_count as usize {
            continue;
        }
        query.rtable[index].kind =
            RteKind::Subquery { query: Box::new(sub), view: None, barrier: false };
    }
    Ok(())
}

fn set_query(f: &FuncExpr, env: &Env) -> Result<Option<Query>> {
    let Some(bodies) = env.bodies else { return Ok(None) };
    let proc = env.catalog.proc(f.func)?;
    if proc.language != SQL_LANGUAGE
        || proc.kind != b'f'
        || proc.strict
        || proc.volatility == b'v'
        || proc.return_type == VOID
        || !proc.returns_set
        || proc.security_definer
        || proc.config.as_ref().is_some_and(|c| !c.is_empty())
        || f.args.len() != proc.arg_types.len()
    {
        return Ok(None);
    }
    for a in &f.args {
        let sublink = walk::any(a, &mut |e| {
            matches!(e, Expr::SubLink(s) if s.kind != SubLinkKind::Cte)
                || matches!(e, Expr::SubPlan(_))
        });
        if sublink || volatility::has_volatile(a, env)? {
            return Ok(None);
        }
    }
    let types: Vec<Oid> = f.args.iter().map(Expr::ty).collect();
    let Some(mut sub) = bodies.body(&proc, &types, f.ret_type)? else { return Ok(None) };
    if sub.command != CmdType::Select || sub.has_modifying_cte {
        return Ok(None);
    }
    super::normalise(&mut sub);
    let args = f.args.clone();
    // The arguments are of the query around the new subquery.
    walk::rewrite_query(&mut sub, 0, &mut |x, level| {
        let Expr::Param(p) = x else { return None };
        if p.kind != ParamKind::Extern {
            return None;
        }
        let mut arg = args.get(p.id as usize - 1)?.clone();
        walk::shift_levels(&mut arg, level as i32 + 1, 0);
        Some(arg)
    });
    Ok(Some(sub))
}
