//! Rows of system tables in their heaps, found through their indexes.

use crate::builtin;
use crate::cached::Overlay;
use crate::change::{Change, changes_of};
use crate::desc::RelationDesc;
use crate::file_map::FileMap;
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
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use txn::{LockMode, LockTag, Snapshot, Txn, Wait};
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
    own: FileMap,
    shared: Arc<FileMap>,
    open: Mutex<OpenTables>,
}

/// Tables, and the generations of the maps that said where their files are.
#[derive(Default)]
struct OpenTables {
    maps: (u64, u64),
    tables: HashMap<Oid, Arc<OpenTable>>,
}

/// An open system table.
pub struct OpenTable {
    /// Its shape, with the files of this database.
    pub desc: RelationDesc,
    /// Its files.
    pub files: OpenRelation,
}

impl SysTables {
    /// Those of a database; `shared` tells of the shared tables' files.
    pub fn new(storage: Arc<Storage>, database: Oid, shared: Arc<FileMap>) -> SysTables {
        let folder = storage.pool.data_dir().join(format!("base/{database}"));
        let own = FileMap::new(storage.pool.disk().clone(), &folder);
        SysTables { storage, database, own, shared, open: Mutex::default() }
    }

    /// The map of the tables that all databases share.
    pub fn shared_map(storage: &Storage) -> Arc<FileMap> {
        let folder = storage.pool.data_dir().join("global");
        Arc::new(FileMap::new(storage.pool.disk().clone(), &folder))
    }

    /// Pool, log and transactions.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The number of a system relation's file, if it is not its first.
    fn file_number(&self, relation: Oid) -> Result<Option<u32>> {
        match system_relation(relation)?.shared {
            true => self.shared.number(relation),
            false => self.own.number(relation),
        }
    }

    /// Relations have new files, as a durable commit says.
    pub fn moved(&self, relations: &[(Oid, u32)]) -> Result<()> {
        let shared = |oid: &Oid| system_relation(*oid).is_ok_and(|r| r.shared);
        let (shared, own): (Vec<_>, Vec<_>) = relations.iter().partition(|(oid, _)| shared(oid));
        for (map, moved) in [(&*self.shared, shared), (&self.own, own)] {
            if !moved.is_empty() {
                map.apply(&moved)?;
            }
        }
        Ok(())
    }

    /// A system table.
    pub fn table(&self, oid: Oid) -> Result<Arc<OpenTable>> {
        let maps = (self.own.generation(), self.shared.generation());
        {
            let mut open = self.open.lock();
            if open.maps != maps {
                *open = OpenTables { maps, ..OpenTables::default() };
            }
            if let Some(table) = open.tables.get(&oid) {
                return Ok(table.clone());
            }
        }
        let table = self.opened(oid, &|oid| self.file_number(oid))?;
        let mut open = self.open.lock();
        if open.maps == maps {
            open.tables.insert(oid, table.clone());
        }
        Ok(table)
    }

    /// Opens a system table whose files have these numbers.
    fn opened(
        &self,
        oid: Oid,
        number: &dyn Fn(Oid) -> Result<Option<u32>>,
    ) -> Result<Arc<OpenTable>> {
        let placed = |oid| system_relation(oid)?.in_database(self.database).with_files(number);
        let desc = placed(oid)?;
        let toast = match desc.toast.is_valid() {
            true => Some(placed(desc.toast)?),
            false => None,
        };
        let files = open_relation(&self.storage, &desc, toast.as_ref(), &builtin_support)?;
        Ok(Arc::new(OpenTable { desc, files }))
    }
}

/// A lock on a system table while a few of its rows are read or written.
struct Held<'a> {
    store: &'a HeapStore,
    txn: &'a Txn,
    tag: LockTag,
    mode: LockMode,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut kept = self.store.kept.lock();
        if kept.scopes > 0 && kept.locks.insert((self.tag, self.mode)) {
            return;
        }
        drop(kept);
        self.txn.unlock(self.tag, self.mode);
    }
}

/// Locks on system tables that last longer than one access.
#[derive(Default)]
struct Kept {
    scopes: u32,
    locks: HashSet<(LockTag, LockMode)>,
}

/// While it is there, system tables that were read stay where they are, so that their rows can be
/// changed. See [`HeapStore::keep_locks`].
pub struct KeptLocks<'a>(&'a HeapStore);

impl Drop for KeptLocks<'_> {
    fn drop(&mut self) {
        let mut kept = self.0.kept.lock();
        kept.scopes -= 1;
        if kept.scopes > 0 {
            return;
        }
        let locks = std::mem::take(&mut kept.locks);
        drop(kept);
        if let Ok(txn) = self.0.txn()
            && !txn.is_over()
        {
            for (tag, mode) in locks {
                txn.unlock(tag, mode);
            }
        }
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
    /// True if the transaction has moved tables itself.
    has_moved: AtomicBool,
    moved: Mutex<Moved>,
    kept: Mutex<Kept>,
    /// Another session holds what this one needs.
    is_helper: AtomicBool,
}

/// Files that system tables have for the transaction that moved them, and the tables opened there.
#[derive(Default)]
struct Moved {
    numbers: HashMap<Oid, u32>,
    open: HashMap<Oid, Arc<OpenTable>>,
    /// What `numbers` were before a subtransaction of this depth changed them, innermost last.
    before: Vec<(usize, HashMap<Oid, u32>)>,
}

impl HeapStore {
    /// For one session.
    pub fn new(
        tables: Arc<SysTables>,
        oids: Arc<dyn OidSource>,
        overlay: Arc<Overlay>,
    ) -> HeapStore {
        let (txn, has_moved, moved, kept, is_helper) = Default::default();
        HeapStore { tables, oids, overlay, txn, has_moved, moved, kept, is_helper }
    }

    /// The session begins or ends a transaction.
    pub fn set_txn(&self, txn: Option<Arc<Txn>>) {
        if txn.is_none() && self.has_moved.swap(false, Ordering::Relaxed) {
            *self.moved.lock() = Moved::default();
        }
        *self.txn.lock() = txn;
    }

    /// System relations have new files, for the transaction until it commits. It has locked out
    /// all others.
    pub fn move_files(&self, relations: &[(Oid, u32)]) {
        let depth = self.txn.lock().as_ref().map_or(0, |t| t.depth());
        let mut moved = self.moved.lock();
        if depth > 0 && moved.before.last().is_none_or(|b| b.0 < depth) {
            let numbers = moved.numbers.clone();
            moved.before.push((depth, numbers));
        }
        moved.numbers.extend(relations.iter().copied());
        moved.open.clear();
        self.has_moved.store(true, Ordering::Relaxed);
        let changes: Vec<Change> =
            relations.iter().map(|(oid, _)| Change::Relation(*oid)).collect();
        self.overlay.add(&changes);
    }

    /// The subtransaction of this depth has ended: what it moved is its parent's, or is where it
    /// was before.
    pub fn end_sub(&self, depth: usize, committed: bool) {
        if !self.has_moved.load(Ordering::Relaxed) {
            return;
        }
        let mut moved = self.moved.lock();
        while let Some((at, numbers)) = moved.before.pop_if(|b| b.0 >= depth) {
            if committed {
                let parent = moved.before.last().map_or(0, |b| b.0);
                if at > 1 && parent < at - 1 {
                    moved.before.push((at - 1, numbers));
                }
                return;
            }
            let changed = |(oid, n): &(&Oid, &u32)| numbers.get(oid) != Some(n);
            let changed = moved.numbers.iter().filter(changed);
            let changes: Vec<Change> = changed.map(|(oid, _)| Change::Relation(*oid)).collect();
            moved.numbers = numbers;
            moved.open.clear();
            self.overlay.add(&changes);
        }
    }

    /// Keeps the locks of system tables that are read from now on until the guard is dropped. Who
    /// reads a row to change it holds the guard: the row must not move in between.
    pub fn keep_locks(&self) -> KeptLocks<'_> {
        self.kept.lock().scopes += 1;
        KeptLocks(self)
    }

    /// Keeps a table where it is while [`KeptLocks`] are there, for a helper to change its rows.
    pub fn keep_table(&self, table: Oid) -> Result<()> {
        let txn = self.txn()?;
        self.hold(&txn, system_relation(table)?, LockMode::RowExclusive).map(drop)
    }

    /// The session works for another one, which waits for it and has kept the tables where they
    /// are: it takes no locks of its own, as nobody would see that the two wait for each other.
    pub fn work_for_another(&self) {
        self.is_helper.store(true, Ordering::Relaxed);
    }

    /// What [`HeapStore::move_files`] was told in this transaction.
    pub fn moved_files(&self) -> Vec<(Oid, u32)> {
        match self.has_moved.load(Ordering::Relaxed) {
            true => self.moved.lock().numbers.iter().map(|(oid, n)| (*oid, *n)).collect(),
            false => Vec::new(),
        }
    }

    /// A system table as the transaction has it.
    fn table(&self, oid: Oid) -> Result<Arc<OpenTable>> {
        if !self.has_moved.load(Ordering::Relaxed) {
            return self.tables.table(oid);
        }
        let mut moved = self.moved.lock();
        if let Some(table) = moved.open.get(&oid) {
            return Ok(table.clone());
        }
        let number = |oid| match moved.numbers.get(&oid) {
            Some(n) => Ok(Some(*n)),
            None => self.tables.file_number(oid),
        };
        let table = self.tables.opened(oid, &number)?;
        moved.open.insert(oid, table.clone());
        Ok(table)
    }

    /// Keeps away who gives the table new files, until the result is dropped.
    fn hold<'a>(
        &'a self,
        txn: &'a Txn,
        table: &RelationDesc,
        mode: LockMode,
    ) -> Result<Option<Held<'a>>> {
        if self.is_helper.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let db = if table.shared { Oid::INVALID } else { self.tables.database };
        let tag = LockTag::Relation { db, rel: table.oid };
        txn.lock(tag, mode)?;
        Ok(Some(Held { store: self, txn, tag, mode }))
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
        let static_table = system_relation(index_desc.table)?;
        let txn = self.txn()?;
        let _held = self.hold(&txn, static_table, LockMode::AccessShare)?;
        let table = self.table(index_desc.table)?;
        let at = table.desc.indexes.iter().position(|i| i.oid == index);
        let at = at.ok_or_else(|| Error::internal("a system index is not its table's"))?;
        let storage = self.tables.storage();
        let viewer = Viewer::mvcc(storage, snapshot);
        let index = &table.files.indexes[at];
        let mut scan = index.am().begin_scan(storage, index, keys, Default::default())?;
        let mut found = Vec::new();
        let (file, natts) = (table.desc.relfile.number, static_table.tuple.natts());
        while found.len() < most
            && let Some(tid) = scan.next(direction)?
        {
            let mut values = vec![Datum::Null; natts];
            match table.files.heap.fetch(tid, &viewer, &mut values)? {
                Found::Row(tid) => found.push(SysRow { table: static_table, tid, file, values }),
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
        let static_table = system_relation(oid)?;
        let txn = self.txn()?;
        let _held = self.hold(&txn, static_table, LockMode::AccessShare)?;
        let table = self.table(oid)?;
        let snapshot = Arc::new(txn.latest_snapshot());
        let (file, natts) = (table.desc.relfile.number, static_table.tuple.natts());
        let options =
            ScanOptions { columns: (0..natts).collect(), tids: true, ..Default::default() };
        let mut scan = HeapScan::new(&table.files.heap, &snapshot, ScanSource::All, options)?;
        let mut found = Vec::new();
        let mut batch = Batch::new(0, Vec::new());
        while scan.next_batch(&mut batch, types::BATCH_ROWS)? {
            for (n, i) in batch.positions().enumerate() {
                let values = batch.columns.iter().map(|c| c.get(i)).collect();
                let tid = scan.tids()[n];
                found.push(SysRow { table: static_table, tid, file, values });
            }
        }
        Ok(found)
    }

    fn file_number(&self, relation: Oid) -> Result<Option<u32>> {
        if self.has_moved.load(Ordering::Relaxed)
            && let Some(number) = self.moved.lock().numbers.get(&relation)
        {
            return Ok(Some(*number));
        }
        self.tables.file_number(relation)
    }
}

/// Fails if the row was read before its table got new files: it is elsewhere now.
fn check_file(table: &OpenTable, row: &SysRow) -> Result<()> {
    match row.file == table.desc.relfile.number {
        true => Ok(()),
        false => bail!(INTERNAL_ERROR, "tuple concurrently updated"),
    }
}

impl RowWriter for HeapStore {
    fn insert(&self, mut row: SysRow) -> Result<base::Tid> {
        row.fill();
        let txn = self.txn()?;
        let _held = self.hold(&txn, row.table, LockMode::RowExclusive)?;
        let table = self.table(row.table.oid)?;
        let snapshot = txn.latest_snapshot();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        let tid = table.files.heap.insert(&x, &row.values)?;
        self.insert_entries(&table, &x, &row, tid)?;
        self.changed(&txn, &row)?;
        Ok(tid)
    }

    fn update(&self, mut row: SysRow) -> Result<base::Tid> {
        row.fill();
        let txn = self.txn()?;
        let _held = self.hold(&txn, row.table, LockMode::RowExclusive)?;
        let table = self.table(row.table.oid)?;
        let snapshot = txn.latest_snapshot();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        check_file(&table, &row)?;
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
        let txn = self.txn()?;
        let _held = self.hold(&txn, row.table, LockMode::RowExclusive)?;
        let table = self.table(row.table.oid)?;
        let snapshot = txn.latest_snapshot();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        check_file(&table, row)?;
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
