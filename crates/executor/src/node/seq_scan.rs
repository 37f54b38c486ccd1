//! SeqScan: all rows of a table, page after page, with the conditions applied to typed columns.

use super::scan::{TableScan, start_stand_in};
use super::{Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::counts;
use crate::output::Pump;
use crate::run::Run;
use access::heap::{HeapScan, ParallelBlocks, ScanOptions, ScanSource};
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch};

struct SeqScanSpec {
    id: u32,
    table: Arc<TableScan>,
    /// Members of a team share its pages.
    parallel: bool,
}

struct SeqScanNode {
    spec: Arc<SeqScanSpec>,
    table: Arc<TableScan>,
    scan: Option<HeapScan>,
    done: bool,
    /// The page where it begins, and begins again, if it keeps other scans company.
    start: Option<u32>,
    begun: bool,
    /// Rows read that are not counted yet.
    read: u64,
    pump: Pump,
}

impl SeqScanNode {
    /// Counts a scan that is over.
    fn count(&mut self) {
        if self.scan.is_some() {
            let key = self.table.counted();
            counts::scanned(key, 1, std::mem::take(&mut self.read), 0);
        }
    }
}

impl Drop for SeqScanNode {
    fn drop(&mut self) {
        self.count();
    }
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::SeqScan,
) -> Result<Arc<dyn NodeSpec>> {
    let table = Arc::new(TableScan::compile(c, plan, scan.scanrel, &[])?);
    Ok(Arc::new(SeqScanSpec { id: plan.id, table, parallel: plan.parallel_aware }))
}

impl NodeSpec for SeqScanSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        start_stand_in(&self.table, run, |_| {
            let table = Arc::clone(&self.table);
            Ok(Box::new(SeqScanNode {
                spec: Arc::clone(&self),
                table,
                scan: None,
                done: false,
                start: None,
                begun: false,
                read: 0,
                pump: Pump::default(),
            }))
        })
    }
}

impl SeqScanSpec {
    fn source(&self, run: &Run, start: Option<u32>) -> Result<ScanSource> {
        match (&run.shared, self.parallel) {
            (Some(shared), true) => {
                let make = || Ok(ParallelBlocks::new(self.table.heap().nblocks()?));
                Ok(ScanSource::Parallel(shared.of_node(self.id, make)?))
            }
            _ => Ok(start.map_or(ScanSource::All, ScanSource::Circular)),
        }
    }
}

/// What the heap is to deliver for a scan.
pub(crate) fn options(table: &TableScan) -> ScanOptions {
    ScanOptions {
        columns: table.attrs.clone(),
        tids: table.wants_tids(),
        system: table.wants_system(),
        ..ScanOptions::default()
    }
}

/// The next rows of a heap scan as the input of the table's programs.
pub(crate) fn next_rows(
    table: &TableScan,
    scan: &mut HeapScan,
    most: usize,
) -> Result<Option<Batch>> {
    let mut batch = Batch::default();
    if !scan.next_batch(&mut batch, most)? {
        return Ok(None);
    }
    if !table.system.is_empty() {
        table.add_system(&mut batch, scan.tids(), scan.system())?;
    }
    Ok(Some(batch))
}

/// How many rows to read when `demand` are wanted.
pub(crate) fn read_ahead(table: &TableScan, demand: usize) -> usize {
    match table.output.qual.is_empty() {
        true => demand.min(BATCH_ROWS),
        false => (demand.saturating_mul(4)).clamp(64, BATCH_ROWS),
    }
}

/// The scan of a part of a table, which begins when rows are first wanted.
#[derive(Default)]
pub(crate) struct PartScan {
    scan: Option<HeapScan>,
    done: bool,
    pump: Pump,
}

impl PartScan {
    /// The next rows. `begin` gives the scan; none if there are no rows to look for.
    pub fn next(
        &mut self,
        run: &mut Run,
        demand: usize,
        table: &TableScan,
        begin: impl FnOnce(&mut Run) -> Result<Option<HeapScan>>,
    ) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        if self.scan.is_none() {
            self.scan = begin(run)?;
        }
        let Some(scan) = &mut self.scan else {
            self.done = true;
            return Ok(None);
        };
        let most = read_ahead(table, demand);
        let batch = self.pump.pull(run, demand, &table.output, |run| {
            run.check_interrupts()?;
            next_rows(table, scan, most)
        })?;
        if batch.is_none() {
            self.scan = None;
            self.done = true;
        }
        Ok(batch)
    }

    /// Starts over.
    pub fn rescan(&mut self) {
        self.scan = None;
        self.done = false;
        self.pump.clear();
    }
}

impl Node for SeqScanNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        let table = &self.table;
        if !self.begun && run.cx.settings.synchronize_scans {
            self.start = table.heap().scan_start()?;
        }
        self.begun = true;
        let scan = match &mut self.scan {
            Some(scan) => scan,
            none => none.insert(HeapScan::new(
                table.heap(),
                &run.snapshot,
                self.spec.source(run, self.start)?,
                options(table),
            )?),
        };
        let most = read_ahead(table, demand);
        let read = &mut self.read;
        let batch = self.pump.pull(run, demand, &table.output, |run| {
            run.check_interrupts()?;
            let rows = next_rows(table, scan, most)?;
            *read += rows.as_ref().map_or(0, |b| b.len as u64);
            Ok(rows)
        })?;
        if batch.is_none() {
            self.count();
            // Gives the pages back at once.
            self.scan = None;
            self.done = true;
        }
        Ok(batch)
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.count();
        self.scan = None;
        self.done = false;
        self.pump.clear();
        Ok(())
    }
}
