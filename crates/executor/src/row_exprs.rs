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
        let map = VarMap::default().and(1, 0, rel.tuple.natts());
        RowExprs::over(catalog, storage, rel, snapshot, exprs, &map)
    }

    fn over(
        catalog: &CatalogView,
        storage: &Arc<Storage>,
        rel: &RelationDesc,
        snapshot: Arc<Snapshot>,
        exprs: &[ir::Expr],
        map: &VarMap,
    ) -> Result<RowExprs> {
        let plan = Arc::new(no_plan(rel.oid, rel.kind.as_u8() as char));
        let mut c = PlanCompiler::new(&plan, catalog, Some(storage));
        let of_table = |e: &ir::Expr| crate::node::modify::rel::of_table(e.clone(), rel);
        let progs =
            exprs.iter().map(|e| c.ec.expr(&of_table(e), map)).collect::<Result<Vec<_>>>()?;
        let call_states = c.ec.call_states as usize;
        let root = c.node(&plan.plan)?;
        let stmt = CompiledStmt::of_parts(Arc::clone(&plan), root, call_states);
        Ok(RowExprs { state: State::new(Arc::new(stmt), Arc::new([]), snapshot), progs })
    }

    /// As [`RowExprs::new`], over two rows of the table, one after the other: as entries 1 and 2.
    pub fn of_pair(
        catalog: &CatalogView,
        storage: &Arc<Storage>,
        rel: &RelationDesc,
        snapshot: Arc<Snapshot>,
        exprs: &[ir::Expr],
    ) -> Result<RowExprs> {
        let natts = rel.tuple.natts();
        let map = VarMap::default().and(1, 0, natts).and(2, natts, natts);
        RowExprs::over(catalog, storage, rel, snapshot, exprs, &map)
    }

    /// The value of one expression for a row.
    pub fn value(&mut self, cx: ExecCtx<'_>, index: usize, row: &[Datum]) -> Result<Datum> {
        self.progs[index].eval(&mut Run::new(cx, &mut self.state), RowInput::Row(row))
    }
}
