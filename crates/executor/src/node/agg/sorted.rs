//! Aggregates over one group, or over groups that come one after another.
//!
//! Groups are numbered as they come. A number is used again only when its group has been given
//! and emptied: after each batch all groups but the last are complete.

use super::{AggSpec, null_rep};
use crate::batch::builders;
use crate::expr::agg::AggRun;
use crate::node::Node;
use crate::output::Pump;
use crate::run::Run;
use base::Result;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, ColumnBuilder};

/// Group numbers; more than the groups that a batch can begin or complete.
const RING: u32 = 2 * BATCH_ROWS as u32;

pub(crate) struct SortedAgg {
    spec: Arc<AggSpec>,
    child: Box<dyn Node>,
    aggs: Vec<AggRun>,
    /// The last row that was read, to tell whether the next one begins a group.
    last: Option<(Batch, usize)>,
    /// First rows of the groups that have begun and not been given.
    rep: Vec<ColumnBuilder>,
    /// The open group's number, and how many are complete before it.
    open: u32,
    complete: u32,
    eof: bool,
    pump: Pump,
}

impl SortedAgg {
    pub fn new(spec: Arc<AggSpec>, child: Box<dyn Node>) -> Result<SortedAgg> {
        let aggs = spec.start_calls()?;
        let rep = builders(&spec.rep_phys, 0);
        let mut node = SortedAgg {
            spec,
            child,
            aggs,
            last: None,
            rep,
            open: 0,
            complete: 0,
            eof: false,
            pump: Pump::default(),
        };
        let groups = if node.spec.keys.is_empty() { 1 } else { RING as usize };
        node.aggs.iter_mut().for_each(|a| a.states.resize(groups));
        Ok(node)
    }

    /// Takes in one batch.
    fn take(&mut self, run: &mut Run, batch: Batch) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        if spec.keys.is_empty() {
            for (call, agg) in spec.calls.iter().zip(&mut self.aggs) {
                call.update(run, agg, None, &batch)?;
            }
            if self.last.is_none() {
                self.begin(&batch, batch.position(0));
                self.last = Some((Batch::default(), 0));
            }
            return Ok(());
        }
        let mut groups = vec![0; batch.len];
        let mut before: Option<usize> = None;
        for n in 0..batch.rows() {
            let i = batch.position(n);
            if self.begins(run, &batch, before, i)? {
                if before.is_some() || self.last.is_some() {
                    self.open = (self.open + 1) % RING;
                    self.complete += 1;
                }
                self.begin(&batch, i);
            }
            groups[i] = self.open;
            before = Some(i);
        }
        for (call, agg) in spec.calls.iter().zip(&mut self.aggs) {
            call.update(run, agg, Some(&groups), &batch)?;
        }
        if let Some(i) = before {
            self.last = Some((batch, i));
        }
        Ok(())
    }

    /// Whether the row begins a group, being unlike the row before it.
    fn begins(&self, run: &mut Run, b: &Batch, before: Option<usize>, i: usize) -> Result<bool> {
        let (other, j) = match (before, &self.last) {
            (Some(j), _) => (b, j),
            (None, Some((last, j))) => (last, *j),
            (None, None) => return Ok(true),
        };
        for (column, eq) in &self.spec.keys {
            if !eq.same_at(run, &other.columns[*column], j, &b.columns[*column], i)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn begin(&mut self, batch: &Batch, i: usize) {
        for (b, column) in self.rep.iter_mut().zip(&self.spec.rep) {
            b.push_from(&batch.columns[*column], i);
        }
    }

    /// The rows of the complete groups.
    fn give(&mut self, run: &mut Run) -> Result<Option<Batch>> {
        if self.complete == 0 {
            return Ok(None);
        }
        let spec = Arc::clone(&self.spec);
        let n = self.complete as usize;
        let open = (!self.eof).then_some(self.open);
        for (call, agg) in spec.calls.iter().zip(&mut self.aggs) {
            call.settle(run, agg, open)?;
        }
        let firsts = crate::batch::take(n + open.is_some() as usize, &mut self.rep);
        let mut rep = firsts.columns.clone();
        if open.is_some() {
            let done: Vec<u16> = (0..n as u16).collect();
            rep = crate::batch::gather(&firsts, &done);
            crate::batch::push_row(&mut self.rep, &firsts, n);
        }
        let from = (self.open + RING - self.complete + self.eof as u32) % RING;
        let ids: Vec<usize> = (0..n as u32).map(|k| ((from + k) % RING) as usize).collect();
        let rows = spec.group_rows(run, &self.aggs, rep, ids.iter().copied(), None)?;
        for agg in &mut self.aggs {
            ids.iter().for_each(|g| agg.states.reset(*g));
        }
        self.complete = 0;
        Ok(Some(rows))
    }

    /// The rows of groups that are complete, reading on as needed.
    fn more(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        while !self.eof {
            let want = if self.spec.keys.is_empty() { BATCH_ROWS } else { demand.min(BATCH_ROWS) };
            match self.child.next(run, want)? {
                Some(batch) => {
                    run.check_interrupts()?;
                    self.take(run, batch)?;
                }
                None => {
                    self.eof = true;
                    if self.spec.keys.is_empty() {
                        return self.only_group(run).map(Some);
                    }
                    if self.last.is_some() {
                        self.complete += 1;
                    }
                }
            }
            if let Some(rows) = self.give(run)? {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// The row of the only group, which is there even without any input.
    fn only_group(&mut self, run: &mut Run) -> Result<Batch> {
        let spec = Arc::clone(&self.spec);
        for (call, agg) in spec.calls.iter().zip(&mut self.aggs) {
            call.settle(run, agg, None)?;
        }
        let rep = match self.last.is_some() {
            true => crate::batch::take(1, &mut self.rep).columns,
            false => null_rep(&spec.rep_phys),
        };
        spec.group_rows(run, &self.aggs, rep, [0usize].into_iter(), None)
    }
}

impl Node for SortedAgg {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let mut pump = std::mem::take(&mut self.pump);
        let spec = Arc::clone(&self.spec);
        let result = pump.pull(run, demand, &spec.output, |run| self.more(run, demand));
        self.pump = pump;
        result
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        let child = std::mem::replace(&mut self.child, Box::new(Nothing));
        *self = SortedAgg::new(Arc::clone(&self.spec), child)?;
        self.child.rescan(run, changed)
    }
}

/// Stands in for a child while it is moved.
struct Nothing;

impl Node for Nothing {
    fn next(&mut self, _: &mut Run, _: usize) -> Result<Option<Batch>> {
        Ok(None)
    }

    fn rescan(&mut self, _: &mut Run, _: &[u32]) -> Result<()> {
        Ok(())
    }
}
