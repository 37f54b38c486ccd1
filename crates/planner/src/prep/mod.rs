//! What is done to a query before paths are looked for.

pub mod cast;
pub mod const_fold;
pub mod group_keys;
pub mod inline;
pub mod loose;
pub mod outer_join;
pub mod pull_up;
pub mod quals;
pub mod self_join;
pub mod stored;
pub mod sublinks;
pub mod union_all;
pub mod volatility;

use ir::{CteMaterialize, Expr, ParamKind, Query, RteKind, walk};

/// Added to the numbers of a sublink's columns in its comparison, so that they are never taken
/// for exec params of the plan.
pub const PLACEHOLDER: u32 = 1 << 24;

/// Forgets where expressions stood in the text and which outer joins may null them, so that
/// equal expressions are equal values.
pub fn normalise(query: &mut Query) {
    walk::rewrite_query(query, 0, &mut |_, _| None);
    normalise_query(query);
}

fn normalise_query(query: &mut Query) {
    walk::own_exprs_mut(query, &mut |e| walk::transform(e, &mut normalise_node));
    for inner in walk::nested_queries_mut(query) {
        normalise_query(inner);
    }
}

/// The same for an expression that was stored.
pub fn normalise_expr(e: &mut Expr) {
    walk::transform(e, &mut normalise_node);
}

fn normalise_node(e: &mut Expr) {
    match e {
        Expr::Var(v) => {
            v.nulling_rels.clear();
            v.location = None;
            v.syn_no = v.varno;
            v.syn_attno = v.attno;
        }
        Expr::Const(c) => c.location = None,
        Expr::Param(p) => {
            p.location = None;
            if p.kind == ParamKind::Exec && p.id < PLACEHOLDER {
                p.id += PLACEHOLDER;
            }
        }
        Expr::Func(f) => f.location = None,
        Expr::Op(o) => o.location = None,
        Expr::ScalarArrayOp(s) => s.location = None,
        Expr::Agg(a) => {
            a.location = None;
        }
        Expr::Grouping(g) => g.location = None,
        Expr::Window(w) => w.location = None,
        Expr::SubLink(s) => {
            s.location = None;
            normalise_query(&mut s.query);
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
        | Expr::MergeAction { location } => *location = None,
        _ => {}
    }
}

/// Notes the types of aggregates' states, so that an aggregate is the same wherever it is named:
/// in the query, and in queries inside its expressions.
pub fn note_states(query: &mut Query, env: &crate::root::Env) -> base::Result<()> {
    let mut failed = None;
    walk::own_exprs_mut(query, &mut |e| {
        walk::transform(e, &mut |x| {
            let done = match x {
                Expr::Agg(a) => {
                    env.catalog.aggregate(a.agg).map(|desc| a.trans_type = desc.trans_type)
                }
                Expr::SubLink(s) => note_states(&mut s.query, env),
                _ => Ok(()),
            };
            failed = failed.take().or(done.err());
        });
    });
    for inner in walk::nested_queries_mut(query) {
        note_states(inner, env)?;
    }
    failed.map_or(Ok(()), Err)
}

/// Turns CTEs that are read once, and have no side effects, into subqueries.
pub fn inline_ctes(query: &mut Query, env: &crate::root::Env) -> base::Result<()> {
    let mut i = 0;
    while i < query.ctes.len() {
        let cte = &query.ctes[i];
        let simple = cte.query.command == ir::CmdType::Select
            && !cte.recursive
            && cte.query.row_marks.is_empty()
            && !has_volatile_query(&cte.query, env)?;
        let wanted = match cte.materialize {
            CteMaterialize::Never => true,
            CteMaterialize::Default => cte.ref_count == 1,
            CteMaterialize::Always => false,
        };
        if cte.ref_count == 0 && cte.query.command == ir::CmdType::Select {
            query.ctes.remove(i);
            continue;
        }
        if simple && wanted {
            let cte = query.ctes.remove(i);
            inline_into(query, 0, &cte);
            continue;
        }
        i += 1;
    }
    Ok(())
}

fn has_volatile_query(query: &Query, env: &crate::root::Env) -> base::Result<bool> {
    let mut found = Ok(false);
    walk::query_exprs(query, 0, &mut |e, _| {
        if let Ok(false) = found {
            found = volatility::has_volatile(e, env);
        }
    });
    found
}

/// Replaces references to the CTE in the query and in all queries inside it.
fn inline_into(query: &mut Query, level: u32, cte: &ir::Cte) {
    for rte in &mut query.rtable {
        let found = matches!(&rte.kind, RteKind::Cte { name, levels_up, .. }
            if *name == cte.name && *levels_up == level);
        if found {
            let mut sub = (*cte.query).clone();
            walk::shift_query_levels(&mut sub, level as i32, 1);
            rte.kind = RteKind::Subquery { query: Box::new(sub), view: None, barrier: false };
        } else if let RteKind::Subquery { query, .. } = &mut rte.kind {
            inline_into(query, level + 1, cte);
        }
    }
    for other in &mut query.ctes {
        inline_into(&mut other.query, level + 1, cte);
    }
    walk::own_exprs_mut(query, &mut |e| inline_into_expr(e, level, cte));
}

fn inline_into_expr(e: &mut Expr, level: u32, cte: &ir::Cte) {
    if let Expr::SubLink(s) = e {
        inline_into(&mut s.query, level + 1, cte);
    }
    walk::children_mut(e, &mut |c| inline_into_expr(c, level, cte));
}
