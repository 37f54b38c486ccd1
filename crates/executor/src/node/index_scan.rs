//! IndexScan: rows of a table in the order of an index.

use super::index_keys::IndexKeys;
use super::scan::{TableScan, start_stand_in};
use super::{FoundRow, Node, NodeSpec, OnlyRow};
use crate::batch::take;
use crate::compile::PlanCompiler;
use crate::counts;
use crate::output::Pump;
use crate::run::Run;
use access::btree::ParallelScan;
use access::heap::{Decoder, Found, Viewer};
use access::index::{Direction, IndexRel, IndexScan as Scan, ScanOptions};
use base::{Error, Oid, Result, Tid};
use ir::{Plan, ScanDirection};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, ColumnBuilder, Datum};

/// Rows to read at once when there are conditions on them.
const READ_AHEAD: usize = 64;

pub(crate) struct IndexScanSpec {
    pub table: Arc<TableScan>,
    pub index: Arc<IndexRel>,
    pub keys: IndexKeys,
    pub direction: Direction,
    pub decoder: Arc<Decoder>,
    /// If one row at most is looked for by its whole key: which condition is on which column.
    pub whole: Option<Vec<usize>>,
    /// Members of a team share the entries.
    pub parallel: bool,
}

struct IndexScanNode {
    spec: Arc<IndexScanSpec>,
    scan: Option<Box<dyn Scan>>,
    /// The keys are to be evaluated before the next row.
    stale: bool,
    done: bool,
    builders: Vec<ColumnBuilder>,
    /// Rows that a look-up found.
    tids: Vec<Tid>,
    pump: Pump,
}

/// An index of a scanned table, opened.
pub(crate) fn find_index(table: &TableScan, index: Oid) -> Result<usize> {
    table
        .rel
        .indexes
        .iter()
        .position(|i| i.oid == index)
        .ok_or_else(|| Error::internal(format!("index {index} is not the table's")))
}

pub(crate) fn direction(d: ScanDirection) -> Direction {
    match d {
        ScanDirection::Forward => Direction::Forward,
        ScanDirection::Backward => Direction::Backward,
    }
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::IndexScan,
) -> Result<Arc<dyn NodeSpec>> {
    if !scan.order_by.is_empty() {
        return Err(Error::unsupported("ordering operators of indexes"));
    }
    let table = TableScan::compile(c, plan, scan.scanrel, &scan.index_qual_orig)?;
    let at = find_index(&table, scan.index)?;
    let keys = IndexKeys::compile(c, &table.rel.indexes[at], &scan.index_qual)?;
    let decoder = Arc::new(Decoder::new(Arc::clone(&table.heap().desc), &table.attrs));
    let index = Arc::clone(&table.open.indexes[at]);
    // A team's members would each find it.
    let whole = match keys.unique && !plan.parallel_aware {
        true => keys.whole_key(index.nkeys()),
        false => None,
    };
    Ok(Arc::new(IndexScanSpec {
        index,
        table: Arc::new(table),
        keys,
        direction: direction(scan.direction),
        decoder,
        whole,
        parallel: plan.parallel_aware,
    }))
}

impl NodeSpec for IndexScanSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let table = Arc::clone(&self.table);
        start_stand_in(&table, run, |_| {
            let builders = self.decoder.builders();
            Ok(Box::new(IndexScanNode {
                spec: self,
                scan: None,
                stale: true,
                done: false,
                builders,
                tids: Vec::new(),
                pump: Pump::default(),
            }))
        })
    }

    fn as_index_scan(&self) -> Option<&IndexScanSpec> {
        Some(self)
    }

    fn only_row(&self, run: &mut Run, whole: bool) -> Result<OnlyRow> {
        let table = &self.table;
        if !table.output.qual.is_empty() {
            return Ok(OnlyRow::Unknown);
        }
        let needed = match whole {
            true => table.rel.tuple.natts(),
            false => table.attrs.last().map_or(0, |a| a + 1),
        };
        let mut values = vec![Datum::Null; needed];
        let found = self.find_one(run, &mut Vec::new(), |tid, viewer| {
            table.heap().fetch(tid, viewer, &mut values)
        })?;
        Ok(match found {
            None => OnlyRow::Unknown,
            Some(None) => OnlyRow::None,
            Some(Some(at)) => {
                let columns = table.project_row(run, &values, at)?;
                OnlyRow::Found(FoundRow { columns, whole: whole.then_some(values) })
            }
        })
    }
}

impl IndexScanSpec {
    /// The place of the row with the whole key, if there is one, without a scan's state; `None` if
    /// a scan has to do it, since there are entries to mark as dead. `fetch` reads what is needed
    /// of a row.
    fn find_one(
        &self,
        run: &mut Run,
        tids: &mut Vec<Tid>,
        mut fetch: impl FnMut(Tid, &Viewer<'_>) -> Result<Found>,
    ) -> Result<Option<Option<Tid>>> {
        let Some(order) = &self.whole else { return Ok(None) };
        if run.snapshot.serial().is_some() {
            return Ok(None);
        }
        let key = self.keys.whole_eval(order, run)?;
        let storage = run.cx.storage()?;
        let viewer = Viewer::mvcc(storage, &run.snapshot);
        self.index.am().lookup(storage, &self.index, &key, tids)?;
        let mut found = None;
        for tid in &*tids {
            match fetch(*tid, &viewer)? {
                Found::Row(at) => {
                    found = Some(at);
                    break;
                }
                Found::DeadToAll => return Ok(None),
                Found::None => {}
            }
        }
        let rows = u64::from(found.is_some());
        counts::scanned(counted(&self.index), 1, tids.len() as u64, rows);
        Ok(Some(found))
    }
}

/// What the members of a team have in common of the scan of this node, if they share it.
pub(crate) fn parallel_scan(
    run: &Run,
    node: u32,
    parallel: bool,
) -> Result<Option<Arc<ParallelScan>>> {
    match &run.shared {
        Some(team) if parallel => team.of_node(node, || Ok(ParallelScan::default())).map(Some),
        _ => Ok(None),
    }
}

/// Counts one more search of an index.
pub(crate) fn count_search(run: &mut Run, id: u32) {
    if let Some(all) = &mut run.instrumentation {
        all.node(id).add("Index Searches", 1);
    }
}

/// What statistics call an index.
pub(crate) fn counted(index: &IndexRel) -> counts::Key {
    (index.file.database, index.oid)
}

impl IndexScanNode {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        let keys = self.spec.keys.eval(run)?;
        count_search(run, self.spec.table.id);
        match &mut self.scan {
            Some(scan) => scan.rescan(keys)?,
            none => {
                let index = &self.spec.index;
                let storage = run.cx.storage()?;
                let serial = run.snapshot.serial().cloned();
                let parallel = parallel_scan(run, self.spec.table.id, self.spec.parallel)?;
                let options = ScanOptions { serial, parallel, ..ScanOptions::default() };
                *none = Some(index.am().begin_scan(storage, index, keys, options)?);
            }
        }
        self.stale = false;
        counts::scanned(counted(&self.spec.index), 1, 0, 0);
        Ok(())
    }

    /// The row with the key, without the state of a scan: `None` if a scan has to do it, since
    /// there are entries to mark as dead.
    fn look_up(&mut self, run: &mut Run) -> Result<Option<Option<Batch>>> {
        let spec = Arc::clone(&self.spec);
        let table = &spec.table;
        let builders = &mut self.builders;
        let found = spec.find_one(run, &mut self.tids, |tid, viewer| {
            table.heap().fetch_columns(tid, viewer, &spec.decoder, builders)
        })?;
        let Some(found) = found else { return Ok(None) };
        (self.stale, self.done) = (false, true);
        count_search(run, table.id);
        let Some(at) = found else { return Ok(Some(None)) };
        let system = match table.wants_system() {
            true => vec![table.heap().system_columns(at)?],
            false => Vec::new(),
        };
        let mut batch = take(1, &mut self.builders);
        table.add_system(&mut batch, &[at], &system)?;
        Ok(Some(Some(batch)))
    }

    /// The next rows, at most `most`, as the input of the programs.
    fn read(&mut self, run: &mut Run, most: usize) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        if self.stale {
            if let Some(row) = self.look_up(run)? {
                return Ok(row);
            }
            self.begin(run)?;
        }
        let spec = Arc::clone(&self.spec);
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let table = &spec.table;
        let snapshot = Arc::clone(&run.snapshot);
        let viewer = Viewer::mvcc(run.cx.storage()?, &snapshot);
        let (mut tids, mut system, mut rows) = (Vec::new(), Vec::new(), 0);
        let mut entries = 0;
        while rows < most {
            let Some(tid) = scan.next(spec.direction)? else {
                self.done = true;
                break;
            };
            entries += 1;
            match table.heap().fetch_columns(tid, &viewer, &spec.decoder, &mut self.builders)? {
                Found::Row(at) => {
                    rows += 1;
                    if table.wants_tids() {
                        tids.push(at);
                    }
                    if table.wants_system() {
                        system.push(table.heap().system_columns(at)?);
                    }
                    if spec.keys.unique {
                        self.done = true;
                        break;
                    }
                }
                Found::DeadToAll => scan.kill(),
                Found::None => {}
            }
        }
        if entries > 0 {
            counts::scanned(counted(&spec.index), 0, entries, rows as u64);
        }
        if rows == 0 {
            return Ok(None);
        }
        let mut batch = take(rows, &mut self.builders);
        table.add_system(&mut batch, &tids, &system)?;
        Ok(Some(batch))
    }
}

impl Node for IndexScanNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let most = match self.spec.table.output.qual.is_empty() {
            true => demand.min(BATCH_ROWS),
            false => demand.clamp(READ_AHEAD, BATCH_ROWS),
        };
        let mut pump = std::mem::take(&mut self.pump);
        let table = Arc::clone(&self.spec.table);
        let result = pump.pull(run, demand, &table.output, |run| self.read(run, most));
        self.pump = pump;
        result
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.stale = true;
        self.done = false;
        self.pump.clear();
        Ok(())
    }
}
