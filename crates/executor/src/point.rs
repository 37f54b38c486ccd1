//! The short path of point queries: an index scan for one key of a unique index that gives plain
//! columns needs no batches, no nodes and no run.

use crate::compile::CompiledStmt;
use crate::node::index_scan::IndexScanSpec;
use access::Storage;
use access::heap::{Found, Viewer};
use access::index::ScanOptions;
use base::Result;
use std::sync::Arc;
use txn::Snapshot;
use types::Datum;

/// A statement that the short path can run.
pub struct PointQuery {
    stmt: Arc<CompiledStmt>,
    /// Positions in the table of the result's columns.
    columns: Vec<usize>,
    /// Columns of the table to read: the first so many.
    natts: usize,
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
        Some(PointQuery { stmt: Arc::clone(stmt), columns, natts })
    }

    fn scan(&self) -> Option<&IndexScanSpec> {
        self.stmt.root.spec.as_index_scan()
    }

    /// Puts the row into `row`, if there is one.
    pub fn run(
        &self,
        storage: &Arc<Storage>,
        params: &[Datum],
        snapshot: &Snapshot,
        row: &mut Vec<Datum>,
    ) -> Result<bool> {
        row.clear();
        let Some(scan) = self.scan() else { return Ok(false) };
        let keys = scan.keys.eval_simple(params);
        let options = ScanOptions::default();
        let mut entries = scan.index.am().begin_scan(storage, &scan.index, keys, options)?;
        let viewer = Viewer::mvcc(storage, snapshot);
        let mut values = [const { Datum::Null }; 16];
        let mut many;
        let values = match values.get_mut(..self.natts) {
            Some(few) => few,
            None => {
                many = vec![Datum::Null; self.natts];
                &mut many[..]
            }
        };
        while let Some(tid) = entries.next(scan.direction)? {
            match scan.table.heap().fetch(tid, &viewer, values)? {
                Found::Row(_) => {
                    row.extend(self.columns.iter().map(|c| values[*c].clone()));
                    return Ok(true);
                }
                Found::DeadToAll => entries.kill(),
                Found::None => {}
            }
        }
        Ok(false)
    }
}
