//! MergeAppend: the children come sorted, and so do their rows together.

use super::sort::sort_keys;
use super::{Child, Node, NodeSpec};
use crate::batch::Collector;
use crate::compile::PlanCompiler;
use crate::run::Run;
use crate::sort::{Key, compare_rows};
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, PhysType};

struct MergeAppendSpec {
    children: Vec<Child>,
    keys: Vec<Key>,
    phys: Vec<PhysType>,
}

/// A child and its current row.
struct Head {
    node: Box<dyn Node>,
    current: Option<(Batch, usize)>,
}

struct MergeAppendNode {
    spec: Arc<MergeAppendSpec>,
    heads: Vec<Head>,
    started: bool,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    _plan: &Plan,
    append: &ir::MergeAppend,
) -> Result<Arc<dyn NodeSpec>> {
    let children: Vec<Child> = append.children.iter().map(|p| c.node(p)).collect::<Result<_>>()?;
    let keys = sort_keys(c, &append.keys)?;
    let phys = children.first().map(|c| c.phys.clone()).unwrap_or_default();
    Ok(Arc::new(MergeAppendSpec { children, keys, phys }))
}

impl NodeSpec for MergeAppendSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let mut heads = Vec::with_capacity(self.children.len());
        for child in &self.children {
            heads.push(Head { node: child.start(run)?, current: None });
        }
        Ok(Box::new(MergeAppendNode { spec: self, heads, started: false }))
    }
}

impl Head {
    fn advance(&mut self, run: &mut Run, demand: usize) -> Result<()> {
        match &mut self.current {
            Some((batch, n)) if *n + 1 < batch.rows() => *n += 1,
            _ => self.current = self.node.next(run, demand.min(BATCH_ROWS))?.map(|b| (b, 0)),
        }
        Ok(())
    }
}

impl MergeAppendNode {
    fn least(&self, run: &mut Run) -> Result<Option<usize>> {
        let mut least: Option<usize> = None;
        for (i, head) in self.heads.iter().enumerate() {
            let Some((batch, n)) = &head.current else { continue };
            if let Some((other, m)) = least.and_then(|l| self.heads[l].current.as_ref()) {
                let (a, b) = (batch.position(*n), other.position(*m));
                if !compare_rows(run, &self.spec.keys, batch, a, other, b)?.is_lt() {
                    continue;
                }
            }
            least = Some(i);
        }
        Ok(least)
    }
}

impl Node for MergeAppendNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if !self.started {
            self.started = true;
            for head in &mut self.heads {
                head.advance(run, demand)?;
            }
        }
        let mut rows = Collector::new(&self.spec.phys);
        while rows.rows() < demand.min(BATCH_ROWS) {
            let Some(least) = self.least(run)? else { break };
            let head = &mut self.heads[least];
            if let Some((batch, n)) = &head.current {
                rows.push(batch, batch.position(*n));
            }
            // The next row of this child is not read before it is needed.
            head.advance(run, demand - rows.rows() + 1)?;
        }
        Ok(rows.take())
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.started = false;
        for head in &mut self.heads {
            head.current = None;
            head.node.rescan(run, changed)?;
        }
        Ok(())
    }

    fn set_bound(&mut self, bound: u64) {
        self.heads.iter_mut().for_each(|h| h.node.set_bound(bound));
    }
}
