//! Material: keeps the child's rows to give them again.

use super::{Child, Node, NodeSpec};
use crate::batch::split;
use crate::compile::PlanCompiler;
use crate::run::Run;
use crate::store::RowStore;
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::Batch;

struct MaterialSpec {
    child: Child,
}

struct MaterialNode {
    spec: Arc<MaterialSpec>,
    child: Box<dyn Node>,
    store: RowStore,
    /// The next stored batch to give, and rows of it that have been given.
    at: usize,
    rest: Option<Batch>,
    eof: bool,
}

/// A node that passes its child's rows on: Hash, whose parent builds the table itself.
struct PassSpec(Child);

/// The child itself under another node's number.
pub(crate) fn pass(child: Child) -> Arc<dyn NodeSpec> {
    Arc::new(PassSpec(child))
}

impl NodeSpec for PassSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        self.0.start(run)
    }
}

pub(crate) fn compile(c: &mut PlanCompiler, plan: &Plan) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    Ok(Arc::new(MaterialSpec { child }))
}

impl NodeSpec for MaterialSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        let store = RowStore::new(run, &self.child.phys);
        Ok(Box::new(MaterialNode { spec: self, child, store, at: 0, rest: None, eof: false }))
    }
}

impl Node for MaterialNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let batch = match self.rest.take() {
            Some(batch) => batch,
            None if self.at < self.store.batches() => {
                self.at += 1;
                self.store.batch(run, self.at - 1)?
            }
            None if self.eof => return Ok(None),
            None => match self.child.next(run, demand)? {
                Some(batch) => {
                    self.store.push(run, batch.clone())?;
                    self.at = self.store.batches();
                    batch
                }
                None => {
                    self.eof = true;
                    return Ok(None);
                }
            },
        };
        let (front, rest) = split(batch, demand);
        self.rest = rest;
        Ok(Some(front))
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.at = 0;
        self.rest = None;
        if self.spec.child.depends_on(changed) {
            self.eof = false;
            self.store.clear();
            return self.child.rescan(run, changed);
        }
        Ok(())
    }
}
