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

use base::{Lsn, Result, Xid};
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

    /// As [`Storage::horizon`], computed a moment ago: for what happens all the time.
    pub fn recent_horizon(&self) -> Lsn {
        self.txn.horizon_cached().lsn
    }

    /// A position that no snapshot is older than, perhaps a little behind [`Storage::horizon`].
    pub fn oldest_visible_lsn(&self) -> Lsn {
        // The B-tree's tests have no transactions that could hold it up.
        if cfg!(test) { Lsn::MAX } else { self.txn.horizon_cached().lsn }
    }

    /// Pool, log and transactions over this disk, with a new log.
    pub fn create(disk: os::Disk, buffers: usize) -> Result<Arc<Storage>> {
        let config = wal::WalConfig { threads: false, ..wal::WalConfig::default() };
        let wal = wal::Wal::create(disk.clone(), std::path::Path::new("pg_wal"), config)?;
        let config = buffer::PoolConfig { buffers, ..buffer::PoolConfig::default() };
        let pool = buffer::BufferPool::new(disk.clone(), wal.clone(), config);
        let txn = txn::TxnManager::open(disk, wal.clone(), txn::TxnConfig::default())?;
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
    /// The id of the changes. An error if the log has no room for their records: once a page is
    /// changed it is too late to find that out.
    fn write_xid(&self, storage: &Storage) -> Result<Xid> {
        storage.wal.check_space()?;
        self.txn.xid()
    }

    /// The command id of the statement's changes; the transaction's next command gets another.
    fn write_cid(&self) -> base::CommandId {
        self.txn.command_for_write();
        self.snapshot.curcid
    }
}
