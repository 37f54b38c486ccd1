//! Putting a level's plan into another: its range table goes behind the other's.

use ir::{
    Expr, INDEX_VAR, INNER_VAR, OUTER_VAR, Plan, PlanNode, PlanRowMark, Query, Rte, RteKind, walk,
};

/// Drops what only planning needed of range-table entries.
pub fn lighten(rtable: &mut [Rte]) {
    for rte in rtable {
        match &mut rte.kind {
            RteKind::Subquery { query, .. }
                if (!query.target_list.is_empty() || !query.rtable.is_empty()) =>
            {
                **query = Query::new(ir::CmdType::Select);
            }
            RteKind::Join { alias_vars, .. } => alias_vars.clear(),
            RteKind::Function { functions, .. } => {
                // The plan's node has them.
                functions.truncate(1);
            }
            RteKind::Values { lists, .. } => lists.clear(),
            RteKind::Group { exprs } => exprs.clear(),
            RteKind::UnionAll { members, .. } => members.clear(),
            _ => {}
        }
    }
}

fn special(varno: u32) -> bool {
    matches!(varno, OUTER_VAR | INNER_VAR | INDEX_VAR)
}

fn shift_expr(e: &mut Expr, by: u32) {
    walk::transform(e, &mut |x| match x {
        Expr::Var(v) => {
            if !special(v.varno) {
                v.varno += by;
            }
            if v.syn_no != 0 && !special(v.syn_no) {
                v.syn_no += by;
            }
        }
        Expr::CurrentOf { varno, .. } => *varno += by,
        _ => {}
    });
}

fn shift_marks(marks: &mut [PlanRowMark], by: u32) {
    for m in marks {
        m.rtindex += by;
        m.parent += by;
        m.members.iter_mut().for_each(|i| *i += by);
    }
}

/// Adds `by` to every range-table index in the plan.
pub fn shift_plan(plan: &mut Plan, by: u32) {
    if by == 0 {
        return;
    }
    walk::plan_exprs_mut(plan, &mut |e| shift_expr(e, by));
    for s in &mut plan.init_plans {
        s.args.iter_mut().for_each(|e| shift_expr(e, by));
    }
    match &mut plan.node {
        PlanNode::SeqScan(s) => s.scanrel += by,
        PlanNode::SampleScan(s) => s.scanrel += by,
        PlanNode::IndexScan(s) => s.scanrel += by,
        PlanNode::IndexOnlyScan(s) => s.scanrel += by,
        PlanNode::BitmapIndexScan(s) => s.scanrel += by,
        PlanNode::BitmapHeapScan(s) => s.scanrel += by,
        PlanNode::TidScan(s) => s.scanrel += by,
        PlanNode::TidRangeScan(s) => s.scanrel += by,
        PlanNode::SubqueryScan(s) => s.scanrel += by,
        PlanNode::FunctionScan(s) => s.scanrel += by,
        PlanNode::ValuesScan(s) => s.scanrel += by,
        PlanNode::CteScan(s) => s.scanrel += by,
        PlanNode::WorkTableScan(s) => s.scanrel += by,
        PlanNode::NamedTuplestoreScan(s) => s.scanrel += by,
        PlanNode::Append(ir::Append { parents, members, .. })
        | PlanNode::MergeAppend(ir::MergeAppend { parents, members, .. }) => {
            parents.iter_mut().for_each(|p| *p += by);
            for (member, parent) in members {
                *member += by;
                *parent += by;
            }
        }
        PlanNode::LockRows(l) => shift_marks(&mut l.marks, by),
        PlanNode::ModifyTable(m) => {
            m.nominal += by;
            if m.root != 0 {
                m.root += by;
            }
            m.targets.iter_mut().for_each(|t| t.rtindex += by);
            shift_marks(&mut m.row_marks, by);
            if let Some(c) = &mut m.on_conflict {
                c.excluded_rtindex += by;
            }
        }
        _ => {}
    }
    for c in plan.children_mut() {
        shift_plan(c, by);
    }
}
