//! Rows of system tables in their heaps, found through their indexes.

use crate::builtin;
use crate::cached::Overlay;
use crate::change::{Change, changes_of};
use crate::desc::RelationDesc;
use crate::indexes;
use crate::oids;
use crate::open::{OpenRelation, builtin_support, open_relation};
use crate::rows::{RowStore, RowWriter, SysRow, system_relation};
use access::heap::Viewer;
use access::heap::{
    Found, HeapScan, IndexUpdates, Outcome, ScanOptions, ScanSource, UpdateOptions,
};
use access::index::{Direction, InsertOutcome, ScanKey, Strategy, UniqueCheck};
use access::{ExecTxn, Storage};
use base::{Error, Oid, Result, bail};
use os::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use txn::{Snapshot, Txn, Wait};
use types::{Batch, Datum};

/// `(a, b)=(1, x)` for a key of numbers and names.
fn key_text(row: &SysRow, columns: &[i16]) -> Option<String> {
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for n in columns {
        let i = *n as usize - 1;
        let attr = &row.table.tuple.attrs[i];
        names.push(attr.name.to_string());
        values.push(match (&row.values[i], attr.type_oid) {
            (Datum::U32(n), _) => n.to_string(),
            (Datum::I16(n), _) => n.to_string(),
            (Datum::I32(n), _) => n.to_string(),
            (Datum::Char(c), _) => char::from(*c).to_string(),
            (text @ Datum::Bytes(_), oids::NAME | oids::TEXT) => text.as_str().to_string(),
            _ => return None,
        });
    }
    Some(format!("({})=({})", names.join(", "), values.join(", ")))
}

/// The system tables of one database, opened as they are needed. Shared by its sessions.
pub struct SysTables {
    storage: Arc<Storage>,
    database: Oid,
    open: Mutex<HashMap<Oid, Arc<OpenTable>>>,
}

/// An open system table.
pub struct OpenTable {
    /// Its shape, with the files of this database.
    pub desc: RelationDesc,
    /// Its files.
    pub files: OpenRelation,
}

impl SysTables {
    /// Those of a database.
    pub fn new(storage: Arc<Storage>, database: Oid) -> SysTables {
        SysTables { storage, database, open: Mutex::new(HashMap::new()) }
    }

    /// Pool, log and transactions.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// A system table.
    pub fn table(&self, oid: Oid) -> Result<Arc<OpenTable>> {
        if let Some(table) = self.open.lock().get(&oid) {
            return Ok(table.clone());
        }
        let desc = system_relation(oid)?.in_database(self.database);
        let toast = match desc.toast.is_valid() {
            true => Some(system_relation(desc.toast)?.in_database(self.database)),
            false => None,
        };
        let files = open_relation(&self.storage, &desc, toast.as_ref(), &builtin_support)?;
        let table = Arc::new(OpenTable { desc, files });
        self.open.lock().insert(oid, table.clone());
        Ok(table)
    }
}

/// Gives OIDs out, the same never twice before they wrap around.
pub trait OidSource: Send + Sync {
    /// The next one; it may be in use since before a wrap-around.
    fn next_oid(&self) -> Result<Oid>;
}

/// Rows of system tables as one session's transaction sees and changes them.
pub struct HeapStore {
    tables: Arc<SysTables>,
    oids: Arc<dyn OidSource>,
    overlay: Arc<Overlay>,
    txn: Mutex<Option<Arc<Txn>>>,
}

impl HeapStore {
    /// For one session.
    pub fn new(
        tables: Arc<SysTables>,
        oids: Arc<dyn OidSource>,
        overlay: Arc<Overlay>,
    ) -> HeapStore {
        HeapStore { tables, oids, overlay, txn: Mutex::new(None) }
    }

    /// The session begins or ends a transaction.
    pub fn set_txn(&self, txn: Option<Arc<Txn>>) {
        *self.txn.lock() = txn;
    }

    /// The system tables.
    pub fn tables(&self) -> &Arc<SysTables> {
        &self.tables
    }

    fn txn(&self) -> Result<Arc<Txn>> {
        self.txn
            .lock()
            .clone()
            .ok_or_else(|| Error::internal("system tables are read outside of a transaction"))
    }

    /// The columns of an index of a table that a key must have, from a row.
    fn index_values(row: &SysRow, columns: &[i16]) -> Vec<Datum> {
        columns.iter().map(|n| row.values[*n as usize - 1].clone()).collect()
    }

    fn insert_entries(
        &self,
        table: &OpenTable,
        x: &ExecTxn<'_>,
        row: &SysRow,
        tid: base::Tid,
    ) -> Result<()> {
        let storage = self.tables.storage();
        for (desc, index) in table.desc.indexes.iter().zip(&table.files.indexes) {
            let values = HeapStore::index_values(row, &desc.columns);
            let check = if desc.is_unique { UniqueCheck::Yes } else { UniqueCheck::No };
            let mut probe = table.files.heap.probe(x);
            let outcome = index.am().insert(storage, index, &values, tid, check, &mut probe)?;
            if let InsertOutcome::Conflict(_) = outcome {
                let error = base::err!(
                    UNIQUE_VIOLATION,
                    "duplicate key value violates unique constraint \"{}\"",
                    desc.name
                )
                .table("pg_catalog", table.desc.name.to_string())
                .constraint(desc.name.to_string());
                return Err(match key_text(row, &desc.columns) {
                    Some(key) => error.detail(format!("Key {key} already exists.")),
                    None => error,
                });
            }
        }
        Ok(())
    }

    /// After a change: later reads see it, and what it makes stale is known.
    fn changed(&self, txn: &Txn, row: &SysRow) -> Result<()> {
        txn.increment_command()?;
        let mut changes = changes_of(row)?;
        // A table's descriptor has its indexes' descriptors in it.
        if row.table.oid == oids::PG_CLASS && matches!(row.char("relkind")?, b'i' | b'I') {
            let key = [row.get("oid")?.clone()];
            for index in self.index_scan(indexes::PG_INDEX_INDEXRELID, &key)? {
                changes.push(Change::Relation(index.oid("indrelid")?));
            }
        }
        self.overlay.add(&changes);
        Ok(())
    }
}

impl HeapStore {
    /// At most so many rows that pass the keys, as a snapshot sees them, in the index's order or
    /// against it.
    pub fn scan_range(
        &self,
        index: Oid,
        keys: Vec<ScanKey>,
        snapshot: &Snapshot,
        direction: Direction,
        most: usize,
    ) -> Result<Vec<SysRow>> {
        let desc = system_relation(index)?;
        let Some(index_desc) = &desc.index else {
            return Err(Error::internal(format!("{index} is not an index")));
        };
        let table = self.tables.table(index_desc.table)?;
        let static_table = system_relation(index_desc.table)?;
        let at = table.desc.indexes.iter().position(|i| i.oid == index);
        let at = at.ok_or_else(|| Error::internal("a system index is not its table's"))?;
        let storage = self.tables.storage();
        let viewer = Viewer::mvcc(storage, snapshot);
        let index = &table.files.indexes[at];
        let mut scan = index.am().begin_scan(storage, index, keys, Default::default())?;
        let mut found = Vec::new();
        let natts = static_table.tuple.natts();
        while found.len() < most
            && let Some(tid) = scan.next(direction)?
        {
            let mut values = vec![Datum::Null; natts];
            match table.files.heap.fetch(tid, &viewer, &mut values)? {
                Found::Row(tid) => found.push(SysRow { table: static_table, tid, values }),
                Found::DeadToAll => scan.kill(),
                Found::None => {}
            }
        }
        Ok(found)
    }
}

impl RowStore for HeapStore {
    fn index_scan(&self, index: Oid, key: &[Datum]) -> Result<Vec<SysRow>> {
        let keys = key
            .iter()
            .enumerate()
            .map(|(i, value)| ScanKey::new(i as u16, Strategy::Eq, value.clone()))
            .collect();
        let snapshot = self.txn()?.latest_snapshot();
        self.scan_range(index, keys, &snapshot, Direction::Forward, usize::MAX)
    }

    fn table_scan(&self, oid: Oid) -> Result<Vec<SysRow>> {
        let table = self.tables.table(oid)?;
        let static_table = system_relation(oid)?;
        let txn = self.txn()?;
        let snapshot = Arc::new(txn.latest_snapshot());
        let natts = static_table.tuple.natts();
        let options =
            ScanOptions { columns: (0..natts).collect(), tids: true, ..Default::default() };
        let mut scan = HeapScan::new(&table.files.heap, &snapshot, ScanSource::All, options)?;
        let mut found = Vec::new();
        let mut batch = Batch::new(0, Vec::new());
        while scan.next_batch(&mut batch, types::BATCH_ROWS)? {
            for (n, i) in batch.positions().enumerate() {
                let values = batch.columns.iter().map(|c| c.get(i)).collect();
                found.push(SysRow { table: static_table, tid: scan.tids()[n], values });
            }
        }
        Ok(found)
    }
}

impl RowWriter for HeapStore {
    fn insert(&self, mut row: SysRow) -> Result<base::Tid> {
        row.fill();
        let table = self.tables.table(row.table.oid)?;
        let txn = self.txn()?;
        let snapshot = txn.latest_snapshot();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        let tid = table.files.heap.insert(&x, &row.values)?;
        self.insert_entries(&table, &x, &row, tid)?;
        self.changed(&txn, &row)?;
        Ok(tid)
    }

    fn update(&self, mut row: SysRow) -> Result<base::Tid> {
        row.fill();
        let table = self.tables.table(row.table.oid)?;
        let txn = self.txn()?;
        let snapshot = txn.latest_snapshot();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        let options = UpdateOptions { unchanged: None, wait: Wait::Block };
        match table.files.heap.update(&x, row.tid, &row.values, options)? {
            Outcome::Done(tid, updates) => {
                if updates == IndexUpdates::All {
                    self.insert_entries(&table, &x, &row, tid)?;
                }
                self.changed(&txn, &row)?;
                Ok(tid)
            }
            _ => bail!(INTERNAL_ERROR, "tuple concurrently updated"),
        }
    }

    fn delete(&self, row: &SysRow) -> Result<()> {
        let table = self.tables.table(row.table.oid)?;
        let txn = self.txn()?;
        let snapshot = txn.latest_snapshot();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        match table.files.heap.delete(&x, row.tid, Wait::Block, false)? {
            Outcome::Done(..) => self.changed(&txn, row),
            Outcome::Deleted => bail!(INTERNAL_ERROR, "tuple concurrently deleted"),
            _ => bail!(INTERNAL_ERROR, "tuple concurrently updated"),
        }
    }

    fn new_oid(&self, table: Oid) -> Result<Oid> {
        let desc = system_relation(table)?;
        let by_oid = desc.indexes.iter().find(|i| {
            i.is_unique
                && i.columns.len() == 1
                && desc.tuple.attrs[0].name.as_ref() == "oid"
                && i.columns[0] == 1
        });
        loop {
            let oid = self.oids.next_oid()?;
            let Some(index) = by_oid else { return Ok(oid) };
            if builtin::relations().contains_key(&oid) {
                continue;
            }
            if self.index_scan(index.oid, &[Datum::U32(oid.0)])?.is_empty() {
                return Ok(oid);
            }
        }
    }
}
