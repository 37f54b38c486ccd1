//! Expressions over the rows of one table, without a plan: ALTER TABLE, checks of rows that are
//! there, keys of indexes that are built.

use crate::bulk::no_plan;
use crate::compile::{CompiledStmt, PlanCompiler};
use crate::expr::{Prog, RowInput, VarMap};
use crate::run::{ExecCtx, Run, State};
use access::Storage;
use base::Result;
use catalog::{CatalogView, RelationDesc};
use std::sync::Arc;
use txn::Snapshot;
use types::Datum;

/// Expressions whose columns are those of a table, as entry 1.
pub struct RowExprs {
    state: State,
    progs: Vec<Prog>,
}

impl RowExprs {
    /// For these expressions.
    pub fn new(
        catalog: &CatalogView,
        storage: &Arc<Storage>,
        rel: &RelationDesc,
        snapshot: Arc<Snapshot>,
        exprs: &[ir::Expr],
    ) -> Result<RowExprs> {
        let plan = Arc::new(no_plan(rel.oid, rel.kind.as_u8() as char));
        let mut c = PlanCompiler::new(&plan, catalog, Some(storage));
        let map = VarMap::default().and(1, 0, rel.tuple.natts());
        let progs = exprs.iter().map(|e| c.ec.expr(e, &map)).collect::<Result<Vec<_>>>()?;
        let call_states = c.ec.call_states as usize;
        let root = c.node(&plan.plan)?;
        let stmt = CompiledStmt::of_parts(Arc::clone(&plan), root, call_states);
        Ok(RowExprs { state: State::new(Arc::new(stmt), Arc::new([]), snapshot), progs })
    }

    /// The value of one expression for a row.
    pub fn value(&mut self, cx: ExecCtx<'_>, index: usize, row: &[Datum]) -> Result<Datum> {
        self.progs[index].eval(&mut Run::new(cx, &mut self.state), RowInput::Row(row))
    }
}
