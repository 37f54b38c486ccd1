//! MergeAppend: the children come sorted, and so do their rows together.

use super::sort::sort_keys;
use super::{Child, Node, NodeSpec};
use crate::batch::Collector;
use crate::compile::PlanCompiler;
use crate::prune::Prune;
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
    prune: Option<Arc<Prune>>,
}

/// A child and its current row.
struct Head {
    /// None until it is needed.
    node: Option<Box<dyn Node>>,
    wanted: bool,
    current: Option<(Batch, usize)>,
}

struct MergeAppendNode {
    spec: Arc<MergeAppendSpec>,
    heads: Vec<Head>,
    started: bool,
    bound: Option<u64>,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    append: &ir::MergeAppend,
) -> Result<Arc<dyn NodeSpec>> {
    let children: Vec<Child> = append.children.iter().map(|p| c.node(p)).collect::<Result<_>>()?;
    let keys = sort_keys(c, &append.keys)?;
    let phys = children.first().map(|c| c.phys.clone()).unwrap_or_default();
    let prune = c.prune(plan.id, append.prune.as_deref())?;
    Ok(Arc::new(MergeAppendSpec { children, keys, phys, prune }))
}

impl NodeSpec for MergeAppendSpec {
    fn start(self: Arc<Self>, _run: &mut Run) -> Result<Box<dyn Node>> {
        let head = |_: &Child| Head { node: None, wanted: true, current: None };
        let heads = self.children.iter().map(head).collect();
        Ok(Box::new(MergeAppendNode { spec: self, heads, started: false, bound: None }))
    }
}

impl Head {
    fn advance(&mut self, run: &mut Run, demand: usize) -> Result<()> {
        match &mut self.current {
            Some((batch, n)) if *n + 1 < batch.rows() => *n += 1,
            _ => {
                let Some(node) = &mut self.node else { return Ok(()) };
                self.current = node.next(run, demand.min(BATCH_ROWS))?.map(|b| (b, 0));
            }
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
            if let Some(prune) = &self.spec.prune {
                for (head, needed) in self.heads.iter_mut().zip(prune.needed(run, false)?) {
                    head.wanted = needed;
                }
            }
            for (head, child) in self.heads.iter_mut().zip(&self.spec.children) {
                if !head.wanted {
                    continue;
                }
                if head.node.is_none() {
                    let mut node = child.start(run)?;
                    if let Some(bound) = self.bound {
                        node.set_bound(bound);
                    }
                    head.node = Some(node);
                }
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
            if let Some(node) = &mut head.node {
                node.rescan(run, changed)?;
            }
        }
        Ok(())
    }

    fn set_bound(&mut self, bound: u64) {
        self.bound = Some(bound);
        self.heads.iter_mut().filter_map(|h| h.node.as_mut()).for_each(|n| n.set_bound(bound));
    }
}
