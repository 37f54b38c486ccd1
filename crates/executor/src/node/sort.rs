//! Sort and IncrementalSort.

use super::{Child, Node, NodeSpec, drain};
use crate::batch::split;
use crate::compile::PlanCompiler;
use crate::expr::Ordering_;
use crate::instrument::Detail;
use crate::run::Run;
use crate::sort::{Key, SortFacts, Sorted, Sorter, compare_rows};
use base::Result;
use ir::{Plan, SortKey};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch};

/// Rows that an incremental sort collects before it looks for the end of a group.
const GROUP_MIN: usize = 32;

struct SortSpec {
    id: u32,
    child: Child,
    keys: Vec<Key>,
    /// The input comes sorted by so many of the keys already.
    presorted: usize,
}

struct SortNode {
    spec: Arc<SortSpec>,
    child: Box<dyn Node>,
    sorted: Option<Sorted>,
    bound: Option<u64>,
    /// Rows were sorted and are no longer kept: the child has to give them again.
    dropped: bool,
}

struct IncrementalNode {
    spec: Arc<SortSpec>,
    child: Box<dyn Node>,
    sorted: Option<Sorted>,
    /// Rows read but not yet in a group.
    rest: Option<Batch>,
    eof: bool,
}

/// Sort columns, compiled.
pub(crate) fn sort_keys(c: &mut PlanCompiler, keys: &[SortKey]) -> Result<Vec<Key>> {
    keys.iter().map(|k| Ok((k.column as usize - 1, Ordering_::of_key(&mut c.ec, k)?))).collect()
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    keys: &[SortKey],
    presorted: usize,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let keys = sort_keys(c, keys)?;
    Ok(Arc::new(SortSpec { id: plan.id, child, keys, presorted }))
}

impl NodeSpec for SortSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        if self.presorted > 0 {
            return Ok(Box::new(IncrementalNode {
                spec: self,
                child,
                sorted: None,
                rest: None,
                eof: false,
            }));
        }
        Ok(Box::new(SortNode { spec: self, child, sorted: None, bound: None, dropped: false }))
    }
}

impl SortSpec {
    fn report(&self, run: &mut Run, facts: SortFacts) {
        let Some(all) = &mut run.instrumentation else { return };
        let stats = all.node(self.id);
        let (method, space, kind) = match facts {
            SortFacts { disk_kb: Some(kb), .. } => ("external merge", kb, "Disk"),
            SortFacts { top_n: true, memory_kb, .. } => ("top-N heapsort", memory_kb, "Memory"),
            SortFacts { memory_kb, .. } => ("quicksort", memory_kb, "Memory"),
        };
        stats.set("Sort Method", Detail::Text(method.into()));
        stats.set("Sort Space Used", Detail::Int(space as i64));
        stats.set("Sort Space Type", Detail::Text(kind.into()));
    }
}

impl Node for SortNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = &self.spec;
        if self.sorted.is_none() {
            if std::mem::take(&mut self.dropped) {
                self.child.rescan(run, &[])?;
            }
            let mut sorter = Sorter::new(run, &spec.child.phys, self.bound);
            drain(&mut *self.child, run, |run, batch| sorter.push(run, &spec.keys, &batch))?;
            let sorted = sorter.finish(run, &spec.keys)?;
            spec.report(run, sorted.facts);
            self.sorted = Some(sorted);
        }
        match &mut self.sorted {
            Some(sorted) => sorted.next(run, &spec.keys, demand),
            None => Ok(None),
        }
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        if self.spec.child.depends_on(changed) {
            self.sorted = None;
            self.dropped = false;
            return self.child.rescan(run, changed);
        }
        match &mut self.sorted {
            Some(sorted) => sorted.rewind(run, &self.spec.keys),
            None => Ok(()),
        }
    }

    fn set_bound(&mut self, bound: u64) {
        if self.bound != Some(bound) {
            // What was kept under another bound is of no use.
            if self.bound.is_some_and(|b| b < bound) {
                self.dropped |= self.sorted.take().is_some();
            }
            self.bound = Some(bound);
        }
    }
}

impl IncrementalNode {
    /// Collects whole groups of rows that are equal in the presorted keys, and sorts them.
    fn next_group(&mut self, run: &mut Run, demand: usize) -> Result<bool> {
        let spec = Arc::clone(&self.spec);
        let prefix = &spec.keys[..spec.presorted];
        let mut sorter = Sorter::new(run, &spec.child.phys, None);
        let mut last: Option<(Batch, usize)> = None;
        loop {
            let batch = match self.rest.take() {
                Some(b) => b,
                None if self.eof => break,
                None => match self.child.next(run, demand.clamp(GROUP_MIN, BATCH_ROWS))? {
                    Some(b) => b,
                    None => {
                        self.eof = true;
                        break;
                    }
                },
            };
            let mut n = 0;
            while n < batch.rows() {
                let i = batch.position(n);
                if let Some((before, j)) = &last
                    && sorter.len() + n >= GROUP_MIN
                    && compare_rows(run, prefix, before, *j, &batch, i)?.is_ne()
                {
                    break;
                }
                last = Some((batch.clone(), i));
                n += 1;
            }
            let (front, rest) = split(batch, n);
            if n > 0 {
                sorter.push(run, &spec.keys, &front)?;
                self.rest = rest;
            } else {
                self.rest = Some(front);
            }
            if self.rest.is_some() {
                break;
            }
        }
        if last.is_none() {
            return Ok(false);
        }
        self.sorted = Some(sorter.finish(run, &spec.keys)?);
        Ok(true)
    }
}

impl Node for IncrementalNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        loop {
            if let Some(sorted) = &mut self.sorted {
                if let Some(batch) = sorted.next(run, &self.spec.keys, demand)? {
                    return Ok(Some(batch));
                }
                self.sorted = None;
            }
            if !self.next_group(run, demand)? {
                return Ok(None);
            }
        }
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.sorted = None;
        self.rest = None;
        self.eof = false;
        self.child.rescan(run, changed)
    }
}
