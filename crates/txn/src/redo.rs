//! The transaction system's side of the log: inserting ends of transactions, replaying them.

use crate::manager::{TxnLog, TxnManager};
use crate::record::INFO_COMMIT;
use base::{Lsn, Result, Xid};
use buffer::BufferPool;
use std::sync::Arc;
use wal::{Record, RecordBuilder, Redo, Rmgr, Wal};

impl TxnLog for Wal {
    fn insert(&self, info: u8, xid: Xid, data: &[u8]) -> Result<Lsn> {
        self.check_space()?;
        let mut record = RecordBuilder::new(Rmgr::Transaction, info, xid);
        record.data(data);
        Ok(Wal::insert(self, &record))
    }

    fn inserted(&self) -> Lsn {
        Wal::inserted(self)
    }

    fn flush(&self, lsn: Lsn) -> Result<()> {
        Wal::flush(self, lsn)
    }

    fn flushed(&self) -> Lsn {
        Wal::flushed(self)
    }

    fn flush_soon(&self, _lsn: Lsn) {
        Wal::flush_soon(self);
    }
}

/// Called in replay with the engine's bytes of each commit.
pub type OnCommit = Arc<dyn Fn(&[u8]) -> Result<()> + Send + Sync>;

/// Redo of [`Rmgr::Transaction`]. Ids in other records have to reach
/// [`TxnManager::observe_xid`] too.
pub struct TxnRedo {
    /// The transaction system.
    pub mgr: Arc<TxnManager>,
    /// Whose files go when a commit says so.
    pub pool: Arc<BufferPool>,
    /// See [`OnCommit`].
    pub on_commit: Option<OnCommit>,
}

impl Redo for TxnRedo {
    fn redo(&self, record: &Record) -> Result<()> {
        let (dropped, extra) =
            self.mgr.redo(record.info, record.xid, record.data(), record.lsn_end)?;
        for file in dropped {
            self.pool.drop_relation(file)?;
        }
        match &self.on_commit {
            Some(hook) if !extra.is_empty() => hook(&extra),
            _ => Ok(()),
        }
    }

    fn describe(&self, record: &Record) -> String {
        TxnManager::describe(record.info, record.data())
    }

    fn identify(&self, info: u8) -> &'static str {
        if info & 0xF0 == INFO_COMMIT { "COMMIT" } else { "ABORT" }
    }
}
