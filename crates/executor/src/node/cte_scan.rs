//! CteScan: reads the rows of a WITH query, which runs once for all of its scans.

use super::{Node, NodeSpec};
use crate::batch::split;
use crate::compile::PlanCompiler;
use crate::expr::VarMap;
use crate::output::{Output, Pump};
use crate::run::Run;
use crate::store::RowStore;
use base::{Error, Result};
use ir::Plan;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch};

/// The rows of a WITH query so far.
pub(crate) struct CteState {
    store: RowStore,
    eof: bool,
}

struct CteSpec {
    subplan: usize,
    output: Output,
}

struct CteNode {
    spec: Arc<CteSpec>,
    at: usize,
    rest: Option<Batch>,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::CteScan,
) -> Result<Arc<dyn NodeSpec>> {
    let target = &c.stmt.subplans[scan.subplan as usize].target;
    let output = c.output(
        plan,
        &VarMap::output_of(scan.scanrel, target, &c.stmt.rtable[scan.scanrel as usize - 1]),
    )?;
    Ok(Arc::new(CteSpec { subplan: scan.subplan as usize, output }))
}

impl NodeSpec for CteSpec {
    fn start(self: Arc<Self>, _run: &mut Run) -> Result<Box<dyn Node>> {
        Ok(Box::new(CteNode { spec: self, at: 0, rest: None, pump: Pump::default() }))
    }
}

/// Batch `at` of a CTE, running it on if need be.
fn fetch(run: &mut Run, subplan: usize, at: usize, demand: usize) -> Result<Option<Batch>> {
    let mut state = match run.subplans[subplan].cte.take() {
        Some(s) => s,
        None if run.subplans[subplan].started && run.subplans[subplan].node.is_none() => {
            return Err(Error::internal("a CTE reads itself"));
        }
        None => {
            let phys = run.stmt.subplans[subplan].phys.clone();
            Box::new(CteState { store: RowStore::new(run, &phys), eof: false })
        }
    };
    let result = state.fetch(run, subplan, at, demand);
    run.subplans[subplan].cte = Some(state);
    result
}

impl CteState {
    fn fetch(
        &mut self,
        run: &mut Run,
        subplan: usize,
        at: usize,
        demand: usize,
    ) -> Result<Option<Batch>> {
        if at < self.store.batches() {
            return self.store.batch(run, at).map(Some);
        }
        if self.eof {
            return Ok(None);
        }
        let batch = run.with_subplan(subplan, |run, node| node.next(run, demand))?;
        match batch {
            Some(batch) => {
                self.store.push(run, batch)?;
                self.store.batch(run, at).map(Some)
            }
            None => {
                self.eof = true;
                Ok(None)
            }
        }
    }
}

/// Runs a WITH query that changes rows to its end, as far as nobody has read it.
pub(crate) fn finish(run: &mut Run, subplan: usize) -> Result<()> {
    if run.subplans[subplan].cte.as_ref().is_some_and(|c| c.eof) {
        return Ok(());
    }
    run.with_subplan(subplan, |run, node| crate::execution::exhaust(node, run))
}

impl Node for CteNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let (rest, at, spec) = (&mut self.rest, &mut self.at, &self.spec);
        self.pump.pull(run, demand, &spec.output, |run| {
            let batch = match rest.take() {
                Some(b) => b,
                None => match fetch(run, spec.subplan, *at, demand.min(BATCH_ROWS))? {
                    Some(b) => {
                        *at += 1;
                        b
                    }
                    None => return Ok(None),
                },
            };
            let (front, back) = split(batch, demand);
            *rest = back;
            Ok(Some(front))
        })
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.at = 0;
        self.rest = None;
        self.pump.clear();
        let plan = Arc::clone(&run.stmt.subplans[self.spec.subplan]);
        // The first of its scans that starts over makes the query start over.
        if plan.depends_on(changed) && run.subplans[self.spec.subplan].cte.take().is_some() {
            run.with_subplan(self.spec.subplan, |run, node| node.rescan(run, changed))?;
        }
        Ok(())
    }
}
