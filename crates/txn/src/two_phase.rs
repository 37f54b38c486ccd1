//! Prepared transactions: they belong to no session, and outlive the server.
//!
//! A transaction is handed from its session to a place of its own among the sessions: its ids
//! say so from then on, and its locks are moved. What is needed to do so again after a restart
//! is the engine's to write.

use crate::backend::Backend;
use crate::lock::{LockMode, LockTag};
use crate::manager::TxnManager;
use crate::record::XactRecord;
use crate::row_lock::RowKey;
use crate::transaction::Txn;
use crate::xid_table::State;
use base::{Error, Lsn, RelFile, Result, Xid};
use os::sync::Mutex;
use os::sync::atomic::Ordering;
use std::sync::Arc;

/// The `info` of a record that says a transaction is prepared.
pub const INFO_PREPARE: u8 = 0x10;

/// A transaction between PREPARE TRANSACTION and its end.
pub struct PreparedTxn {
    place: Arc<Backend>,
    top: Xid,
    subxids: Vec<Xid>,
    row_keys: Mutex<Vec<RowKey>>,
}

/// What has to be written down of a transaction before it is prepared.
pub struct Preparing {
    /// Its id.
    pub top: Xid,
    /// Ids of its subtransactions.
    pub subxids: Vec<Xid>,
    /// Its locks.
    pub locks: Vec<(LockTag, LockMode)>,
}

impl Txn {
    /// Hands the transaction to `place`. `write` makes it durable; if that fails the transaction
    /// is as before.
    pub fn prepare(
        &self,
        place: Arc<Backend>,
        write: &mut dyn FnMut(&Preparing) -> Result<()>,
    ) -> Result<PreparedTxn> {
        if self.depth() > 0 || self.is_over() {
            return Err(Error::internal("PREPARE of a transaction that cannot be prepared"));
        }
        let top = self.top_xid()?;
        let subxids = self.children();
        let locks = self.mgr().locks().held_by_transaction(self.backend());
        let preparing = Preparing { top, subxids, locks };
        write(&preparing)?;
        let Preparing { subxids, .. } = preparing;
        self.mgr().take_over(&place, top, &subxids)?;
        self.mgr().locks().hand_over(self.backend(), &place);
        let row_keys = Mutex::new(self.leave());
        Ok(PreparedTxn { place, top, subxids, row_keys })
    }
}

impl TxnManager {
    /// Gives running ids to another place.
    fn take_over(&self, place: &Backend, top: Xid, subxids: &[Xid]) -> Result<()> {
        let slot = place.slot();
        slot.xid_bound.store(top.0, Ordering::SeqCst);
        slot.xid.store(top.0, Ordering::SeqCst);
        // Whoever waits already has told the session; the end always looks for waiters.
        slot.awaited.store(true, Ordering::SeqCst);
        slot.in_transaction.store(true, Ordering::Relaxed);
        for xid in subxids.iter().chain([&top]) {
            self.set_state(*xid, State::InProgress(Some(place.id())))?;
        }
        Ok(())
    }

    /// A transaction that was prepared before the server stopped. Before the first session.
    pub fn adopt_prepared(&self, place: Arc<Backend>, what: Preparing) -> Result<PreparedTxn> {
        for xid in what.subxids.iter().chain([&what.top]) {
            self.observe_xid(*xid)?;
        }
        self.take_over(&place, what.top, &what.subxids)?;
        for (tag, mode) in &what.locks {
            self.locks().hold_again(&place, *tag, *mode);
        }
        let row_keys = Mutex::default();
        Ok(PreparedTxn { place, top: what.top, subxids: what.subxids, row_keys })
    }
}

impl PreparedTxn {
    /// Its id.
    pub fn xid(&self) -> Xid {
        self.top
    }

    /// Commits it; `visible` runs as in [`Txn::commit`], when the commit is durable.
    pub fn commit(
        &self,
        dropped: Vec<RelFile>,
        visible: &mut dyn FnMut(Lsn) -> Result<()>,
    ) -> Result<()> {
        let mgr = self.place.mgr();
        let record = XactRecord {
            time_micros: os::clock::now_micros(),
            subxids: self.subxids.clone(),
            dropped,
            ..XactRecord::default()
        };
        let lsn = mgr.commit_xids(self.top, &record)?;
        let result = mgr.log().flush(lsn).and_then(|()| visible(lsn));
        self.finish();
        result
    }

    /// Rolls it back; durable when it returns.
    pub fn abort(&self) -> Result<()> {
        let mgr = self.place.mgr();
        let mut all = self.subxids.clone();
        all.push(self.top);
        let result = mgr.abort_xids(Some(self.top), &all, os::clock::now_micros());
        let flushed = mgr.log().flush(mgr.log().inserted());
        self.finish();
        result.and(flushed)
    }

    fn finish(&self) {
        let mgr = self.place.mgr();
        for xid in self.subxids.iter().chain([&self.top]) {
            mgr.locks().xid_is_over(mgr, *xid);
        }
        self.place.end_xid();
        mgr.locks().release_all(&self.place);
        let keys = std::mem::take(&mut *self.row_keys.lock());
        if !keys.is_empty() {
            mgr.rows().forget(mgr, &keys);
        }
        self.place.slot().in_transaction.store(false, Ordering::Relaxed);
    }
}
