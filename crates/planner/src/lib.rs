//! From a [`Query`](ir::Query) to the cheapest [`PlannedStmt`](ir::PlannedStmt).
//!
//! Entry point: [`plan`]. Passes, in order: CTEs, sublinks and subqueries pulled up
//! ([`prep`]), constants folded, outer joins reduced, conditions distributed over relations
//! and equivalence classes ([`init`], [`equivalence`]), scans and joins searched ([`path`],
//! [`join_order`]), upper steps ([`upper`]), the best path made a plan ([`plan`](mod@plan)).
//!
//! Invariants: costs and estimates follow PostgreSQL's formulas; a plan is made of nothing but
//! the query, the catalogs' facts and the settings, so the same input gives the same plan.
//! It must never know the executor: constants are computed through [`ConstEvaluator`].

mod cost;
mod equivalence;
mod init;
mod join_order;
mod join_removal;
mod level;
mod parallel;
mod path;
mod pathkeys;
mod plan;
mod prep;
mod rel;
mod relids;
mod restriction;
mod root;
mod selectivity;
mod settings;
mod subselect;
mod upper;
mod watch;

pub use prep::const_fold::simplify;
pub use prep::inline::FunctionBodies;
pub use root::{ConstEvaluator, Env, RelationSizes};
pub use settings::PlannerSettings;
pub use watch::{Grounds, Watch};

use base::Result;
use ir::{PlannedStmt, Query};
use root::Global;
use std::cell::RefCell;

/// Plans a query that analysis and rewriting are done with.
pub fn plan_query(query: Query, env: &Env) -> Result<PlannedStmt> {
    let mut query = query;
    prep::normalise(&mut query);
    let (command, has_returning) = (query.command, !query.returning.is_empty());
    let (can_set_tag, has_modifying_cte) = (query.can_set_tag, query.has_modifying_cte);
    let depends_on_role = query.has_row_security;
    let hazard = match env.parallel_ok && env.settings.max_parallel_workers_per_gather > 0 {
        true => parallel::query_hazard(&query, env)?,
        false => parallel::Hazard::Unsafe,
    };
    let global = RefCell::new(Global {
        parallel_ok: hazard != parallel::Hazard::Unsafe,
        all_safe: hazard == parallel::Hazard::Safe,
        ..Global::default()
    });
    let level = level::plan_query(env, &global, query, Vec::new(), env.tuple_fraction, None)?;
    let mut g = global.into_inner();
    let mut rtable = level.rtable;
    let mut row_marks = level.row_marks;
    let mut top = level.plan;
    if g.parallel_ok && top.parallel_safe && env.settings.debug_parallel_query == "on" {
        top = plan::in_worker(top, env.settings);
        g.parallel_used = true;
    }
    let mut next = 0;
    plan::fixup::number(&mut top, &mut next);
    for (sub, (sub_rtable, sub_marks)) in g.subplans.iter_mut().zip(g.subplan_rtables) {
        let by = rtable.len() as u32;
        plan::shift_plan(sub, by);
        plan::fixup::number(sub, &mut next);
        rtable.extend(sub_rtable);
        row_marks.extend(sub_marks.into_iter().map(|mut m| {
            m.rtindex += by;
            m.parent += by;
            m
        }));
    }
    plan::params::fill(&mut top, &mut g.subplans);
    let mut relation_oids = std::mem::take(&mut g.relation_oids);
    relation_oids.sort_unstable();
    relation_oids.dedup();
    let mut result_relations = Vec::new();
    note_results(&top, &mut result_relations);
    g.subplans.iter().for_each(|p| note_results(p, &mut result_relations));
    Ok(PlannedStmt {
        command,
        has_returning,
        has_modifying_cte,
        can_set_tag,
        plan: top,
        rtable,
        result_relations,
        subplans: g.subplans,
        row_marks,
        relation_oids,
        object_oids: g.object_oids,
        exec_param_types: g.exec_param_types,
        parallel_mode_needed: g.parallel_used,
        depends_on_role,
    })
}

fn note_results(plan: &ir::Plan, out: &mut Vec<u32>) {
    if let ir::PlanNode::ModifyTable(m) = &plan.node {
        out.extend(m.targets.iter().map(|t| t.rtindex));
    }
    for c in plan.children() {
        note_results(c, out);
    }
}
