//! Which exec params a node's rows depend on: a change of one of them means a new run for the
//! node, and for what it has kept (sorted, hashed, materialised).

use ir::{Expr, ParamKind, Plan, PlanNode, walk};

/// Numbers of params, which a set of small numbers holds well.
type Params = crate::relids::Relids;

/// Fills in `all_params` of all nodes of a finished statement.
pub fn fill(plan: &mut Plan, subplans: &mut [Plan]) {
    let mut known = vec![Params::empty(); subplans.len()];
    // A subplan may use another one, in any order.
    loop {
        let mut grown = false;
        for i in 0..subplans.len() {
            let found = of_plan(&mut subplans[i], &known);
            grown |= found.len() > known[i].len();
            known[i] = found;
        }
        if !grown {
            break;
        }
    }
    of_plan(plan, &known);
}

fn of_plan(plan: &mut Plan, subplans: &[Params]) -> Params {
    let mut out = Params::empty();
    walk::plan_exprs_mut(plan, &mut |e| of_expr(e, subplans, &mut out));
    let used = |n: u32| subplans.get(n as usize).cloned().unwrap_or_default();
    for init in &plan.init_plans {
        out.extend(&used(init.plan));
    }
    match &plan.node {
        PlanNode::CteScan(s) => {
            out.add(s.param);
            out.extend(&used(s.subplan));
        }
        PlanNode::WorkTableScan(s) => out.add(s.param),
        _ => {}
    }
    for child in plan.children_mut() {
        out.extend(&of_plan(child, subplans));
    }
    plan.all_params = out.iter().collect();
    out
}

fn of_expr(e: &Expr, subplans: &[Params], out: &mut Params) {
    walk::each(e, &mut |e| match e {
        Expr::Param(p) if p.kind == ParamKind::Exec => out.add(p.id),
        Expr::SubPlan(s) => {
            // What the call itself sets is no dependency of the caller.
            let own = subplans.get(s.plan as usize).into_iter().flat_map(Params::iter);
            own.filter(|p| !s.par_params.contains(p) && !s.param_ids.contains(p))
                .for_each(|p| out.add(p));
        }
        _ => {}
    });
}
