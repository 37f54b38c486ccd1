//! Replay after a crash: who replays which record, and what is cleaned up after the last one.

use super::Database;
use super::folders::{self, DATABASE_CREATE, DATABASE_DROP, FileCopy};
use super::moved::MovedFiles;
use super::two_phase::PreparedState;
use access::btree::redo::BtreeRedo;
use access::heap::HeapRedo;
use access::sequence::SequenceRedo;
use base::{BlockNo, Error, Fork, Lsn, Oid, PAGE_SIZE, RelFile, Result, SqlState, Xid};
use buffer::{BufferPool, Persistence, STORAGE_CREATE, StorageRedo, XlogRedo};
use os::sync::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Weak};
use txn::{INFO_COMMIT, INFO_PREPARE, TxnManager, XactRecord};
use wal::{Record, Redo, RedoTable, Rmgr, xlog_info};

/// Files made by transactions whose end has not been replayed yet.
type Made = Mutex<HashMap<Xid, Vec<RelFile>>>;

/// Databases dropped by transactions whose end has not been replayed yet.
type Doomed = Mutex<HashMap<Xid, Vec<Oid>>>;

/// The replay of a server's log.
pub struct Recovery {
    database: Arc<Database>,
    made: Arc<Made>,
    doomed: Arc<Doomed>,
}

impl Recovery {
    /// For a server that is being opened.
    pub fn new(database: &Arc<Database>) -> Recovery {
        Recovery { database: database.clone(), made: Arc::default(), doomed: Arc::default() }
    }

    /// Who replays which record.
    pub fn table(&self) -> RedoTable {
        let storage = &self.database.storage;
        let pool = &storage.pool;
        let heap = Arc::new(HeapRedo::new(pool));
        let xlog = Log { pages: XlogRedo(pool.clone()), database: self.database.clone() };
        let transactions = Transactions {
            txn: storage.txn.clone(),
            pool: pool.clone(),
            made: self.made.clone(),
            doomed: self.doomed.clone(),
            database: self.database.clone(),
            prepared: Mutex::new(None),
        };
        let databases = Databases { pool: pool.clone(), doomed: self.doomed.clone() };
        let table = match self.database.defaults().get("ignore_invalid_pages") {
            Some(on) if on.as_bool() => self.forgiving(),
            _ => RedoTable::new(),
        };
        table
            .with(Rmgr::Xlog, Arc::new(xlog))
            .with(Rmgr::Transaction, Arc::new(transactions))
            .with(
                Rmgr::Storage,
                Arc::new(Files { inner: StorageRedo(pool.clone()), made: self.made.clone() }),
            )
            .with(Rmgr::Database, Arc::new(databases))
            .with(Rmgr::Heap, heap.clone())
            .with(Rmgr::Heap2, heap)
            .with(Rmgr::Btree, Arc::new(BtreeRedo { pool: pool.clone() }))
            .with(Rmgr::Sequence, Arc::new(SequenceRedo::new(pool)))
    }

    /// A table that passes over records whose pages are damaged. A page that cannot be read counts
    /// as empty, so that the records that write it anew still do.
    fn forgiving(&self) -> RedoTable {
        let replay = Forgiving(Arc::downgrade(&self.database));
        base::damage::set(Some(|| -> Arc<dyn base::damage::Lenient> { Arc::new(replay) }));
        let own = Forgiving(Arc::downgrade(&self.database));
        RedoTable::new().forgiving(move |e| {
            base::damage::Lenient::warn(&own, e.severity(base::Severity::Warning));
        })
    }

    /// After the last record: files of transactions that never committed go, and after a crash
    /// unlogged relations start over and temporary ones are gone.
    pub fn finish(&self, clean: bool) -> Result<()> {
        crate::session::on_thread::forget();
        let pool = &self.database.storage.pool;
        let made = std::mem::take(&mut *self.made.lock());
        for file in made.into_values().flatten() {
            pool.drop_relation(file)?;
        }
        if !clean {
            reset_unlogged(&self.database)?;
        }
        Ok(())
    }
}

/// Replay with `ignore_invalid_pages`.
struct Forgiving(Weak<Database>);

impl base::damage::Lenient for Forgiving {
    fn ignores_checksums(&self) -> bool {
        false
    }

    fn zeroes_pages(&self) -> bool {
        true
    }

    fn warn(&self, warning: Error) {
        if let Some(database) = self.0.upgrade() {
            database.log_as("startup", &warning);
        }
    }
}

/// Page images, and the records about the log and the control file.
struct Log {
    pages: XlogRedo,
    database: Arc<Database>,
}

impl Redo for Log {
    fn redo(&self, record: &Record) -> Result<()> {
        if record.info & 0xF0 == xlog_info::NEXTOID {
            let bytes: Option<[u8; 4]> = record.data().get(..4).and_then(|b| b.try_into().ok());
            let Some(bytes) = bytes else {
                return Err(Error::new(SqlState::DATA_CORRUPTED, "NEXTOID record is too short"));
            };
            self.database.oids.observe(Oid(u32::from_le_bytes(bytes)));
        }
        self.pages.redo(record)
    }

    fn describe(&self, record: &Record) -> String {
        self.pages.describe(record)
    }

    fn identify(&self, info: u8) -> &'static str {
        self.pages.identify(info)
    }
}

/// Ends of transactions, with the files that go at a commit.
struct Transactions {
    txn: Arc<TxnManager>,
    pool: Arc<BufferPool>,
    made: Arc<Made>,
    doomed: Arc<Doomed>,
    database: Arc<Database>,
    /// Prepared transactions at this point of replay; those with files before the first.
    prepared: Mutex<Option<HashSet<Xid>>>,
}

impl Transactions {
    /// True if the transaction was prepared; it is not any more.
    fn was_prepared(&self, xid: Xid) -> Result<bool> {
        let mut prepared = self.prepared.lock();
        let list = match &mut *prepared {
            Some(list) => list,
            none => none.insert(self.database.prepared_files()?.into_iter().collect()),
        };
        Ok(list.remove(&xid))
    }

    fn redo_prepare(&self, record: &Record) -> Result<()> {
        let state = PreparedState::decode(record.data())?;
        self.was_prepared(record.xid)?;
        if let Some(list) = &mut *self.prepared.lock() {
            list.insert(record.xid);
        }
        for xid in state.subxids {
            self.txn.observe_xid(Xid(xid))?;
        }
        self.made.lock().remove(&record.xid);
        self.database.write_prepared(record.xid, record.data())
    }
}

impl Redo for Transactions {
    fn redo(&self, record: &Record) -> Result<()> {
        if record.info & 0xF0 == INFO_PREPARE {
            return self.redo_prepare(record);
        }
        let mut prepared = None;
        if self.was_prepared(record.xid)? {
            prepared = Some(self.database.read_prepared(record.xid)?);
            self.database.remove_prepared(record.xid)?;
        }
        let end: Lsn = record.lsn_end;
        let (dropped, extra) = self.txn.redo(record.info, record.xid, record.data(), end)?;
        let made = self.made.lock().remove(&record.xid);
        let doomed = self.doomed.lock().remove(&record.xid);
        if record.info & 0xF0 == INFO_COMMIT {
            if let Some(moved) = MovedFiles::decode(&extra)? {
                self.database.replay_moved(&moved)?;
            }
            for file in dropped {
                self.pool.drop_relation(file)?;
            }
            for database in doomed.into_iter().flatten() {
                self.pool.drop_database(database)?;
                folders::remove(self.pool.disk(), self.pool.data_dir(), database)?;
            }
        } else {
            let theirs = prepared.map(|p| p.made()).unwrap_or_default();
            for file in made.into_iter().flatten().chain(theirs) {
                self.pool.drop_relation(file)?;
            }
        }
        Ok(())
    }

    fn describe(&self, record: &Record) -> String {
        if record.info & 0xF0 == INFO_PREPARE {
            return match PreparedState::decode(record.data()) {
                Ok(state) => format!("PREPARE gid {}", state.gid),
                Err(e) => e.message().to_string(),
            };
        }
        match XactRecord::decode(record.data()) {
            Ok(_) => TxnManager::describe(record.info, record.data()),
            Err(e) => e.message().to_string(),
        }
    }

    fn identify(&self, info: u8) -> &'static str {
        match info & 0xF0 {
            INFO_COMMIT => "COMMIT",
            INFO_PREPARE => "PREPARE",
            _ => "ABORT",
        }
    }
}

/// Files made and cut; those made are noted until their transaction ends.
struct Files {
    inner: StorageRedo,
    made: Arc<Made>,
}

impl Redo for Files {
    fn redo(&self, record: &Record) -> Result<()> {
        self.inner.redo(record)?;
        if record.info & 0xF0 == STORAGE_CREATE
            && record.xid.is_valid()
            && let Some(file) = super::files::decode(record.data())
            && record.data().get(12) == Some(&(Fork::Main as u8))
        {
            self.made.lock().entry(record.xid).or_default().push(file);
        }
        Ok(())
    }

    fn describe(&self, record: &Record) -> String {
        self.inner.describe(record)
    }

    fn identify(&self, info: u8) -> &'static str {
        self.inner.identify(info)
    }
}

/// Databases as folders.
struct Databases {
    pool: Arc<BufferPool>,
    doomed: Arc<Doomed>,
}

impl Redo for Databases {
    fn redo(&self, record: &Record) -> Result<()> {
        let (disk, dir) = (self.pool.disk(), self.pool.data_dir());
        match record.info & 0xF0 {
            DATABASE_CREATE => {
                let [source, made] = folders::words(record.data())?;
                let missing = !disk.exists(&folders::folder(dir, made));
                if missing && disk.exists(&folders::folder(dir, source)) {
                    // Only after a rollback, or where the log came from another server.
                    self.pool.checkpoint(false, &mut |_| {})?;
                    folders::copy(disk, dir, source, made, FileCopy::Copy)?;
                }
            }
            DATABASE_DROP => {
                let [database] = folders::words(record.data())?;
                self.doomed.lock().entry(record.xid).or_default().push(database);
            }
            _ => {}
        }
        Ok(())
    }

    fn describe(&self, record: &Record) -> String {
        match folders::words(record.data()) {
            Ok([source, made]) => format!("copy dir {source} to {made}"),
            Err(_) => match folders::words(record.data()) {
                Ok([database]) => format!("dir {database}"),
                Err(e) => e.message().to_string(),
            },
        }
    }

    fn identify(&self, info: u8) -> &'static str {
        if info & 0xF0 == DATABASE_CREATE { "CREATE" } else { "DROP" }
    }
}

/// Copies the init fork of each unlogged relation over its main fork.
fn reset_unlogged(database: &Database) -> Result<()> {
    let base = database.dir.join("base");
    for folder in database.disk.list(&base)? {
        let Ok(oid) = folder.name.parse::<u32>() else { continue };
        let path = base.join(&folder.name);
        for entry in database.disk.list(&path)? {
            let Some(number) = entry.name.strip_suffix(Fork::Init.suffix()) else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            let file =
                RelFile { tablespace: catalog::oids::PG_DEFAULT, database: Oid(oid), number };
            reset_one(database, &path, file)?;
        }
    }
    Ok(())
}

fn reset_one(database: &Database, folder: &Path, file: RelFile) -> Result<()> {
    let init = folder.join(format!("{}{}", file.number, Fork::Init.suffix()));
    let contents = database.disk.read(&init)?;
    let rel = database.storage.pool.relation(file, Persistence::Unlogged);
    for fork in [Fork::Fsm, Fork::Vm, Fork::Main] {
        if rel.exists(fork)? {
            rel.truncate(fork, BlockNo(0))?;
        }
    }
    if !rel.exists(Fork::Main)? {
        rel.create_fork(Fork::Main)?;
    }
    for page in contents.chunks_exact(PAGE_SIZE) {
        let mut fresh = rel.extend_one(Fork::Main)?;
        fresh.copy_from_slice(page);
        fresh.mark_dirty();
    }
    Ok(())
}
