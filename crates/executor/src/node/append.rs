//! Append: the rows of its children, one child after another.

use super::{Child, Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::run::Run;
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::Batch;

struct AppendSpec {
    children: Vec<Child>,
}

struct AppendNode {
    spec: Arc<AppendSpec>,
    children: Vec<Option<Box<dyn Node>>>,
    at: usize,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    _plan: &Plan,
    append: &ir::Append,
) -> Result<Arc<dyn NodeSpec>> {
    let children = append.children.iter().map(|p| c.node(p)).collect::<Result<_>>()?;
    Ok(Arc::new(AppendSpec { children }))
}

impl NodeSpec for AppendSpec {
    fn start(self: Arc<Self>, _run: &mut Run) -> Result<Box<dyn Node>> {
        let children = self.children.iter().map(|_| None).collect();
        Ok(Box::new(AppendNode { spec: self, children, at: 0 }))
    }
}

impl Node for AppendNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        while self.at < self.children.len() {
            let slot = &mut self.children[self.at];
            let child = match slot {
                Some(child) => child,
                none => none.insert(self.spec.children[self.at].start(run)?),
            };
            if let Some(batch) = child.next(run, demand)? {
                return Ok(Some(batch));
            }
            self.at += 1;
        }
        Ok(None)
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.at = 0;
        self.children.iter_mut().flatten().try_for_each(|c| c.rescan(run, changed))
    }
}
