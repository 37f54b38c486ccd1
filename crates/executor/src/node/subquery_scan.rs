//! SubqueryScan: the rows of a subquery that was planned for itself.

use super::{Child, Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::expr::VarMap;
use crate::output::{Output, Pump};
use crate::run::Run;
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::Batch;

/// A child's rows through conditions and a target list.
pub(crate) struct FilterSpec {
    child: Child,
    output: Output,
}

struct FilterNode {
    spec: Arc<FilterSpec>,
    child: Box<dyn Node>,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::SubqueryScan,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.node(&scan.subplan)?;
    let map = VarMap::output_of(
        scan.scanrel,
        &scan.subplan.target,
        &c.stmt.rtable[scan.scanrel as usize - 1],
    );
    let output = c.output(plan, &map)?;
    Ok(Arc::new(FilterSpec { child, output }))
}

impl NodeSpec for FilterSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        Ok(Box::new(FilterNode { spec: self, child, pump: Pump::default() }))
    }
}

impl Node for FilterNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let child = &mut self.child;
        self.pump.pull(run, demand, &self.spec.output, |run| child.next(run, demand))
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.pump.clear();
        self.child.rescan(run, changed)
    }

    fn set_bound(&mut self, bound: u64) {
        if self.spec.output.qual.is_empty() {
            self.child.set_bound(bound);
        }
    }
}
