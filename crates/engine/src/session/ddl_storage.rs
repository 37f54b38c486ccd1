//! What definitions do to files and locks, in the session's transaction.

use super::Session;
use crate::ddl::RelStorage;
use access::heap::{BuildScan, HeapScan, ScanOptions, ScanSource};
use access::index::{BuildOptions, BuildOutcome, BuildSource};
use access::sequence::{Sequence, SequenceRow};
use base::{Error, Oid, RelFile, Result, err};
use catalog::{ConstraintDesc, IndexDesc, OidSource, Persistence, RelationDesc};
use parser::ast::LockMode;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Datum};

impl RelStorage for Session {
    fn lock(&self, relation: Oid, mode: LockMode) -> Result<()> {
        self.lock_relation(relation, mode as u8)
    }

    fn new_file(&self, tablespace: Oid, _persistence: Persistence) -> Result<RelFile> {
        let database = self.core.state.oid;
        loop {
            let number = self.core.database.oids.next_oid()?.0;
            let file = RelFile { tablespace, database, number };
            // Numbers come round again one day: one that is in use is passed over.
            let path = self.core.database.dir().join(file.to_string());
            if !self.core.database.disk().exists(&path) {
                return Ok(file);
            }
        }
    }

    fn create(&self, rel: &RelationDesc) -> Result<()> {
        let storage = self.core.database.storage();
        let txn = self.core.txn()?;
        self.core.files.lock().create(
            &storage.pool,
            &storage.wal,
            &txn,
            rel.relfile,
            rel.persistence.for_files(),
        )
    }

    fn drop_at_commit(&self, file: RelFile, persistence: Persistence) {
        if let Ok(txn) = self.core.txn() {
            self.core.files.lock().drop_at_commit(&txn, file, persistence.for_files());
        }
    }

    fn build_index(&self, table: &RelationDesc, index: &IndexDesc) -> Result<()> {
        let storage = self.core.database.storage();
        let view = self.core.view()?;
        let open = table.open(storage, &view)?;
        let at = table.indexes.iter().position(|i| i.oid == index.oid);
        let rel = at
            .map(|i| open.indexes[i].clone())
            .ok_or_else(|| Error::internal("an index is not its table's"))?;
        if index.exprs.is_some() || index.predicate.is_some() {
            return Err(Error::unsupported("building an index on expressions"));
        }
        let memory = (self.core.settings.lock().i64("maintenance_work_mem") as usize) << 10;
        let snapshot = self.core.txn()?.latest_snapshot();
        let width = index.columns.iter().max().map_or(0, |n| *n as usize);
        let scan = BuildScan::new(&open.heap, &snapshot)?.first_columns(width);
        let columns = index.columns.iter().map(|n| *n as usize - 1).collect();
        let mut source = TableRows { session: self, scan, columns, done: 0 };
        match rel.am().build(storage, &rel, &mut source, BuildOptions { memory })? {
            BuildOutcome::Done(_) => Ok(()),
            BuildOutcome::Duplicate(key, ..) => {
                let shown = crate::describe::key_detail(self, table, index, &key)?;
                Err(err!(UNIQUE_VIOLATION, "could not create unique index \"{}\"", index.name)
                    .detail(format!("Key {shown} is duplicated."))
                    .constraint(index.name.to_string()))
            }
        }
    }

    fn check_not_null(&self, table: &RelationDesc, attnum: i16) -> Result<()> {
        let column = attnum as usize - 1;
        let mut found = false;
        self.scan_table(table, vec![column], &mut |batch| {
            found |= batch.positions().any(|i| batch.columns[0].is_null(i));
            Ok(!found)
        })?;
        if !found {
            return Ok(());
        }
        let name = &table.tuple.attrs[column].name;
        Err(err!(
            NOT_NULL_VIOLATION,
            "column \"{name}\" of relation \"{}\" contains null values",
            table.name
        )
        .column(name.to_string()))
    }

    fn check_rows(&self, table: &RelationDesc, name: &str, _check: &ir::Expr) -> Result<()> {
        if self.table_is_empty(table)? {
            return Ok(());
        }
        Err(Error::unsupported(format!("adding check constraint \"{name}\" to a table with rows")))
    }

    fn check_foreign_key(&self, table: &RelationDesc, fk: &ConstraintDesc) -> Result<()> {
        crate::constraint::check_existing(self, table, fk)
    }

    fn start_sequence(&self, rel: &RelationDesc, last: i64, called: bool) -> Result<()> {
        let storage = self.core.database.storage();
        let files = Sequence::open(storage, rel.relfile, rel.persistence.for_files());
        files.create(SequenceRow { last_value: last, log_cnt: 0, is_called: called })
    }
}

impl Session {
    /// Reads some columns of all rows that count now; `f` says whether to go on.
    pub(crate) fn scan_table(
        &self,
        table: &RelationDesc,
        columns: Vec<usize>,
        f: &mut dyn FnMut(&Batch) -> Result<bool>,
    ) -> Result<()> {
        if table.relfile.number == 0 {
            return Ok(());
        }
        let storage = self.core.database.storage();
        let view = self.core.view()?;
        let open = table.open(storage, &view)?;
        let snapshot = Arc::new(self.core.txn()?.latest_snapshot());
        let options = ScanOptions { columns, ..Default::default() };
        let mut scan = HeapScan::new(&open.heap, &snapshot, ScanSource::All, options)?;
        let mut batch = Batch::new(0, Vec::new());
        while scan.next_batch(&mut batch, BATCH_ROWS)? {
            self.check_interrupts()?;
            if !f(&batch)? {
                break;
            }
        }
        Ok(())
    }

    /// True if no row of the table counts now.
    pub(crate) fn table_is_empty(&self, table: &RelationDesc) -> Result<bool> {
        let mut empty = true;
        self.scan_table(table, Vec::new(), &mut |batch| {
            empty &= batch.positions().next().is_none();
            Ok(empty)
        })?;
        Ok(empty)
    }
}

/// A table's rows, for the build of an index.
struct TableRows<'a> {
    session: &'a Session,
    scan: BuildScan,
    columns: Vec<usize>,
    done: u64,
}

impl BuildSource for TableRows<'_> {
    fn next(&mut self, values: &mut Vec<Datum>) -> Result<Option<(base::Tid, bool)>> {
        self.done += 1;
        if self.done.is_multiple_of(1024) {
            self.session.check_interrupts()?;
        }
        let Some(row) = self.scan.next_row()? else { return Ok(None) };
        values.extend(self.columns.iter().map(|c| row.values[*c].clone()));
        Ok(Some((row.tid, row.live)))
    }
}
