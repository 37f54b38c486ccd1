//! Unique: the first of each run of equal rows. Group is the same with conditions and columns.

use super::limit::keys;
use super::{Child, Node, NodeSpec};

use crate::compile::PlanCompiler;
use crate::expr::{Equality, VarMap};
use crate::output::{Output, Pump};
use crate::run::Run;
use base::Result;
use ir::{GroupKey, Plan};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Datum};

struct UniqueSpec {
    child: Child,
    keys: Vec<(usize, Equality)>,
    output: Output,
}

struct UniqueNode {
    spec: Arc<UniqueSpec>,
    child: Box<dyn Node>,
    last: Option<Vec<Datum>>,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    unique: &ir::Unique,
) -> Result<Arc<dyn NodeSpec>> {
    compile_keys(c, plan, &unique.keys)
}

/// A node that gives the first row of each run that is equal in these columns.
pub(crate) fn compile_keys(
    c: &mut PlanCompiler,
    plan: &Plan,
    group: &[GroupKey],
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let keys = keys(c, group)?;
    let output = c.output(plan, &VarMap::outer(child.phys.len()))?;
    Ok(Arc::new(UniqueSpec { child, keys, output }))
}

impl NodeSpec for UniqueSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        Ok(Box::new(UniqueNode { spec: self, child, last: None, pump: Pump::default() }))
    }
}

impl UniqueSpec {
    /// Leaves the rows selected that differ from the row before.
    fn mark(&self, run: &mut Run, last: &mut Option<Vec<Datum>>, batch: &mut Batch) -> Result<()> {
        let mut kept = Vec::new();
        let mut before: Option<usize> = None;
        for n in 0..batch.rows() {
            let i = batch.position(n);
            let mut same = true;
            for (k, (column, eq)) in self.keys.iter().enumerate() {
                let c = &batch.columns[*column];
                same = match (before, &*last) {
                    (Some(j), _) => eq.same_at(run, c, j, c, i)?,
                    (None, Some(row)) => eq.same(run, &row[k], &c.get(i))?,
                    (None, None) => false,
                };
                if !same {
                    break;
                }
            }
            // Without keys all rows are one run.
            if !same || (before.is_none() && last.is_none()) {
                kept.push(i as u16);
            }
            before = Some(i);
        }
        if let Some(i) = before {
            *last = Some(self.keys.iter().map(|(c, _)| batch.get(*c, i)).collect());
        }
        batch.sel = Some(kept);
        Ok(())
    }
}

impl Node for UniqueNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let (spec, child, last) = (&self.spec, &mut self.child, &mut self.last);
        self.pump.pull(run, demand, &spec.output, |run| {
            loop {
                let Some(mut batch) = child.next(run, demand.min(BATCH_ROWS))? else {
                    return Ok(None);
                };
                spec.mark(run, last, &mut batch)?;
                if batch.rows() > 0 {
                    return Ok(Some(batch));
                }
            }
        })
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.last = None;
        self.pump.clear();
        self.child.rescan(run, changed)
    }
}
