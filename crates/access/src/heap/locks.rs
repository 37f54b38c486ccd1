//! The one place that talks to txn's row locks, and waits.

use super::page::{self, Bytes};
use super::rel::HeapRel;
use super::visibility::chain_root;
use crate::ExecTxn;
use base::{Result, Tid, Xid};
use std::cell::Cell;
use txn::{RowKey, RowStrength, Wait};

impl HeapRel {
    fn row_key(&self, tid: Tid) -> RowKey {
        RowKey { db: self.about.file.database, rel: self.oid(), tid }
    }

    /// The transaction that holds a lock on the row that `strength` must wait for.
    pub(super) fn row_conflict(
        &self,
        x: &ExecTxn<'_>,
        tid: Tid,
        strength: RowStrength,
    ) -> Result<Option<Xid>> {
        Ok(x.txn.row_conflict(&self.row_key(tid), strength)?.map(|c| c.xid))
    }

    /// A serializable transaction is about to write, with the page latched: a row, or a new one.
    #[inline]
    pub(super) fn writes(&self, x: &ExecTxn<'_>, tid: Option<Tid>) -> Result<()> {
        let Some(serial) = x.txn.serial() else { return Ok(()) };
        let (block, offset) = (tid.map(|t| t.block), tid.map(|t| t.offset));
        serial.conflict_in(self.about.file.database, self.oid(), block, offset)
    }

    /// Locks the row, or says who is in the way.
    pub(super) fn take_row(
        &self,
        x: &ExecTxn<'_>,
        tid: Tid,
        strength: RowStrength,
    ) -> Result<Option<Xid>> {
        Ok(x.txn.lock_row(&self.row_key(tid), strength)?.map(|c| c.xid))
    }

    /// A place from which to wait for the row, given back when it is dropped.
    /// `verb` says what for.
    pub(super) fn queue<'a>(
        &'a self,
        x: &'a ExecTxn<'a>,
        tid: Tid,
        verb: &'static str,
    ) -> RowQueue<'a> {
        let key = Cell::new(self.row_key(tid));
        RowQueue { x, rel: self, verb, tid, key, held: Cell::new(0) }
    }

    /// What is held on the old version is held on the new one too.
    pub(super) fn copy_row_locks(&self, from: Tid, to: Tid) -> Result<()> {
        let mgr = &self.storage.txn;
        mgr.rows().carry(mgr, &self.row_key(from), &self.row_key(to))
    }
}

/// A session's place in a row's queue: who waits first gets the row first.
pub(super) struct RowQueue<'a> {
    x: &'a ExecTxn<'a>,
    rel: &'a HeapRel,
    verb: &'static str,
    tid: Tid,
    /// The row's first version in its HOT chain: who waits for a row that others change all the
    /// time keeps the place for all its versions.
    key: Cell<RowKey>,
    /// A bit for each strength that was waited for.
    held: Cell<u8>,
}

impl RowQueue<'_> {
    /// The queue of the version at `offset` is that of its row. To be called with the page latched,
    /// before waiting.
    pub fn find(&self, page: &Bytes, offset: u16) {
        let mut key = self.key.get();
        if self.held.get() == 0 && page::tuple(page, offset).is_some_and(|t| t.heap_only()) {
            key.tid.offset = chain_root(page, key.tid.block, offset);
            self.key.set(key);
        }
    }

    /// The version at `offset` has been got, by a statement that may have waited for its row.
    #[inline]
    pub fn claim(&self, page: &Bytes, offset: u16) {
        if self.x.txn.has_row_place() {
            self.find(page, offset);
            self.x.txn.claim_row_place(&self.key.get());
        }
    }

    /// What was waited for was replaced meanwhile: the place is for the new version, which the
    /// statement looks at next.
    pub fn hand_on(&self) {
        for strength in self.reached() {
            self.x.txn.keep_row_place(&self.key.get(), strength);
        }
        self.held.set(0);
    }

    /// The strengths that were waited for.
    fn reached(&self) -> impl Iterator<Item = RowStrength> + use<> {
        let held = self.held.get();
        let all = [
            RowStrength::KeyShare,
            RowStrength::Share,
            RowStrength::NoKeyUpdate,
            RowStrength::Update,
        ];
        all.into_iter().filter(move |strength| held & 1 << *strength as u8 != 0)
    }

    /// True if the row is another one's first: the statement has left its thread with a place in
    /// the row's queue that has not been reached yet.
    #[inline]
    pub fn is_early(&self, page: &Bytes, offset: u16, strength: RowStrength) -> bool {
        if !self.x.txn.has_row_place() {
            return false;
        }
        self.find(page, offset);
        self.x.txn.is_in_row_queue(&self.key.get(), strength)
    }

    /// Waits until `xid`, which is in the way of `strength`, is over, or with none for nothing but
    /// the place in the queue; false if it may not wait. No latch is held.
    pub fn wait(&self, strength: RowStrength, wait: Wait, xid: Option<Xid>) -> Result<bool> {
        let done = txn::about::waiting(self.verb, self.tid, &self.rel.about.name, || {
            self.x.txn.wait_for_row(&self.key.get(), strength, xid, wait)
        });
        if matches!(&done, Err(e) if e.is_parked()) {
            // The place is kept for when the statement comes again.
            self.held.set(0);
            self.x.txn.keep_row_place(&self.key.get(), strength);
        }
        let done = done?;
        if done {
            self.held.set(self.held.get() | 1 << strength as u8);
        }
        Ok(done)
    }
}

impl Drop for RowQueue<'_> {
    fn drop(&mut self) {
        for strength in self.reached() {
            self.x.txn.leave_row_queue(&self.key.get(), strength);
        }
    }
}
