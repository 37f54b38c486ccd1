//! Access methods: how rows and index entries lie in pages, and how they are found again.
//!
//! Entry points: `heap::HeapRel` (rows: insert, update, delete, lock, fetch, scan, vacuum),
//! `index` (the traits every index has) and `btree`, `sequence` (one-page counters), `Storage`
//! (pool, log and transaction manager, which everything here needs).
//! Invariants: a page changes only under its exclusive latch, and its log record is inserted
//! before the latch is let go; redo calls the same page functions as forward work.
//! It must never know about catalogs, SQL or sessions: all it needs comes in descriptors.

pub mod btree;
pub mod heap;
pub mod index;
pub mod sequence;
pub mod toast;

use base::{Lsn, Result};
use std::sync::Arc;

/// What everything here needs: page cache, log and transactions.
pub struct Storage {
    /// The page cache.
    pub pool: Arc<buffer::BufferPool>,
    /// The log.
    pub wal: Arc<wal::Wal>,
    /// Transactions.
    pub txn: Arc<txn::TxnManager>,
}

impl Storage {
    /// What is committed up to here every snapshot sees, now and later: no snapshot is older.
    pub fn horizon(&self) -> Lsn {
        self.txn.horizon().lsn
    }

    /// A position that no snapshot is older than, perhaps a little behind [`Storage::horizon`].
    pub fn oldest_visible_lsn(&self) -> Lsn {
        self.txn.horizon_cached().lsn
    }

    /// Pool, log and transactions over this disk, with a new log.
    pub fn create(disk: os::Disk, buffers: usize) -> Result<Arc<Storage>> {
        let config = wal::WalConfig { threads: false, ..wal::WalConfig::default() };
        let wal = wal::Wal::create(disk.clone(), std::path::Path::new("pg_wal"), config)?;
        let config = buffer::PoolConfig { buffers, ..buffer::PoolConfig::default() };
        let log = Arc::new(PoolLog(Arc::clone(&wal)));
        let pool = buffer::BufferPool::new(disk.clone(), log.clone(), config);
        let txn = txn::TxnManager::open(disk, log, txn::TxnConfig::default())?;
        Ok(Arc::new(Storage { pool, wal, txn }))
    }
}

/// Who changes rows: the transaction, and what its statement sees.
#[derive(Clone, Copy)]
pub struct ExecTxn<'a> {
    /// The transaction.
    pub txn: &'a txn::Txn,
    /// The statement's snapshot; its command id marks the changes.
    pub snapshot: &'a txn::Snapshot,
}

impl ExecTxn<'_> {
    /// The command id of the statement's changes; the transaction's next command gets another.
    fn write_cid(&self) -> base::CommandId {
        self.txn.command_for_write();
        self.snapshot.curcid
    }
}

/// The log as the page cache and the transactions see it.
pub struct PoolLog(pub Arc<wal::Wal>);

impl buffer::Log for PoolLog {
    fn flush(&self, lsn: Lsn) -> Result<()> {
        self.0.flush(lsn)
    }

    fn flushed(&self) -> Lsn {
        self.0.flushed()
    }
}

impl txn::TxnLog for PoolLog {
    fn insert(&self, info: u8, xid: base::Xid, data: &[u8]) -> Result<Lsn> {
        let mut record = wal::RecordBuilder::new(wal::Rmgr::Transaction, info, xid);
        record.data(data);
        Ok(self.0.insert(&record))
    }

    fn inserted(&self) -> Lsn {
        self.0.inserted()
    }

    fn flush(&self, lsn: Lsn) -> Result<()> {
        self.0.flush(lsn)
    }

    fn flushed(&self) -> Lsn {
        self.0.flushed()
    }

    fn flush_soon(&self, lsn: Lsn) {
        self.0.flush_async(lsn);
    }
}
