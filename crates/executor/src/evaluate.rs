//! Single expressions without a plan: constants for the planner, defaults, parameters.

use crate::compile::CompiledStmt;
use crate::expr::{ExprCompiler, RowInput, VarMap};
use crate::node::{Node, NodeSpec, Planned};
use crate::run::{ExecCtx, Run, State};
use base::{Error, Result};
use ir::{CmdType, Expr, Plan, PlanNode, PlannedStmt};
use std::sync::Arc;
use txn::Snapshot;
use types::Datum;

/// The value of an expression without columns, aggregates or subselects.
pub fn evaluate(cx: ExecCtx<'_>, expr: &Expr, params: &[Datum]) -> Result<Datum> {
    if let Expr::Const(c) = expr {
        return Ok(c.value.clone());
    }
    let mut ec = ExprCompiler::new(cx.catalog);
    let prog = ec.expr(expr, &VarMap::default())?;
    let mut state = empty_state(ec.call_states as usize, params);
    prog.eval(&mut Run::new(cx, &mut state), RowInput::None)
}

/// The state of a run of no plan.
fn empty_state(call_states: usize, params: &[Datum]) -> State {
    let plan = PlannedStmt {
        command: CmdType::Select,
        has_returning: false,
        has_modifying_cte: false,
        can_set_tag: false,
        plan: Plan::new(PlanNode::Result(ir::Result_::default())),
        rtable: Vec::new(),
        result_relations: Vec::new(),
        subplans: Vec::new(),
        row_marks: Vec::new(),
        relation_oids: Vec::new(),
        object_oids: Vec::new(),
        exec_param_types: Vec::new(),
        parallel_mode_needed: false,
        depends_on_role: false,
    };
    let spec = Arc::new(NoPlan);
    let root = Arc::new(Planned { id: 0, phys: Vec::new(), params: Vec::new(), spec });
    let stmt = CompiledStmt::of_parts(Arc::new(plan), root, call_states);
    State::new(Arc::new(stmt), Arc::from(params), Arc::new(Snapshot::everything()))
}

struct NoPlan;

impl NodeSpec for NoPlan {
    fn start(self: Arc<Self>, _run: &mut Run) -> Result<Box<dyn Node>> {
        Err(Error::internal("an expression has no plan"))
    }
}
