//! The short path of point queries: an index scan for one key of a unique index that gives plain
//! columns needs no batches, no nodes and no run.

use crate::compile::CompiledStmt;
use crate::counts;
use crate::node::index_scan::IndexScanSpec;
use access::Storage;
use access::heap::{Found, Sight, Viewer};
use access::index::ScanOptions;
use base::{Result, Tid};
use std::sync::Arc;
use txn::Snapshot;
use types::Datum;

/// Rows of so many columns are read on the stack.
const FEW: usize = 8;

/// A statement that the short path can run.
pub struct PointQuery {
    stmt: Arc<CompiledStmt>,
    /// Positions in the table of the result's columns.
    columns: Vec<usize>,
    /// Columns of the table to read: the first so many.
    natts: usize,
    /// Which condition is on which column of the index, if they are its whole key.
    key: Option<Vec<usize>>,
}

/// Memory that point queries use again.
#[derive(Default)]
pub struct PointSpace {
    /// The row found.
    pub row: Vec<Datum>,
    tids: Vec<Tid>,
}

impl PointQuery {
    /// The short path for a statement, if there is one.
    pub fn of(stmt: &Arc<CompiledStmt>) -> Option<PointQuery> {
        let scan = stmt.root.spec.as_index_scan()?;
        let table = &scan.table;
        let plain = scan.keys.unique && scan.keys.is_simple() && table.output.qual.is_empty();
        if !plain || !stmt.init_plans.is_empty() || !stmt.modifying.is_empty() {
            return None;
        }
        let mut columns = Vec::with_capacity(table.output.target.len());
        for prog in &table.output.target {
            columns.push(*table.attrs.get(prog.as_column()?)?);
        }
        if stmt.plan().plan.target.iter().any(|t| t.junk) {
            return None;
        }
        let natts = columns.iter().map(|c| c + 1).max().unwrap_or(0);
        let key = scan.keys.whole_key(scan.index.nkeys());
        Some(PointQuery { stmt: Arc::clone(stmt), columns, natts, key })
    }

    fn scan(&self) -> Option<&IndexScanSpec> {
        self.stmt.root.spec.as_index_scan()
    }

    /// Puts the row into `space`, if there is one.
    pub fn run(
        &self,
        storage: &Arc<Storage>,
        params: &[Datum],
        snapshot: &Snapshot,
        space: &mut PointSpace,
    ) -> Result<bool> {
        space.row.clear();
        let Some(scan) = self.scan() else { return Ok(false) };
        let viewer = Viewer::mvcc(storage, snapshot);
        let counted = (scan.index.file.database, scan.index.oid);
        let Some(order) = &self.key else { return self.scan_for(storage, params, &viewer, space) };
        if snapshot.serial().is_some() {
            return self.scan_for(storage, params, &viewer, space);
        }
        let key = scan.keys.whole_values(order, params);
        scan.index.am().lookup(storage, &scan.index, &key, &mut space.tids)?;
        if space.tids.is_empty() {
            counts::scanned(counted, 1, 0, 0);
        }
        for tid in &space.tids {
            match self.fetch(scan, *tid, &viewer, &mut space.row)? {
                Found::Row(_) => {
                    counts::scanned(counted, 1, 1, 1);
                    return Ok(true);
                }
                // An index scan marks such entries, so that they are not looked up again.
                Found::DeadToAll => return self.scan_for(storage, params, &viewer, space),
                Found::None => {}
            }
        }
        Ok(false)
    }

    fn scan_for(
        &self,
        storage: &Arc<Storage>,
        params: &[Datum],
        viewer: &Viewer<'_>,
        space: &mut PointSpace,
    ) -> Result<bool> {
        let Some(scan) = self.scan() else { return Ok(false) };
        let keys = scan.keys.eval_simple(params);
        let serial = match viewer.sight() {
            Sight::Mvcc(s) => s.serial().cloned(),
            _ => None,
        };
        let options = ScanOptions { serial, ..ScanOptions::default() };
        let mut entries = scan.index.am().begin_scan(storage, &scan.index, keys, options)?;
        while let Some(tid) = entries.next(scan.direction)? {
            match self.fetch(scan, tid, viewer, &mut space.row)? {
                Found::Row(_) => return Ok(true),
                Found::DeadToAll => entries.kill(),
                Found::None => {}
            }
        }
        Ok(false)
    }

    fn fetch(
        &self,
        scan: &IndexScanSpec,
        tid: Tid,
        viewer: &Viewer<'_>,
        row: &mut Vec<Datum>,
    ) -> Result<Found> {
        let mut values = [const { Datum::Null }; FEW];
        let mut many;
        let values = match values.get_mut(..self.natts) {
            Some(few) => few,
            None => {
                many = vec![Datum::Null; self.natts];
                &mut many[..]
            }
        };
        let found = scan.table.heap().fetch(tid, viewer, values)?;
        if let Found::Row(_) = found {
            for column in &self.columns {
                row.push(values[*column].clone());
            }
        }
        Ok(found)
    }
}
