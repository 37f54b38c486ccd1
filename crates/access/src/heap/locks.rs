//! The one place that talks to txn's row locks, and waits.

use super::rel::HeapRel;
use crate::ExecTxn;
use base::{Result, Tid, Xid};
use txn::{RowStrength, Wait};

impl HeapRel {
    /// True if another transaction holds a lock on the row that `strength` must wait for.
    pub(super) fn row_conflicts(&self, x: &ExecTxn<'_>, tid: Tid, strength: RowStrength) -> bool {
        self.storage.txn.rows().conflicts(x.txn.proc(), self.about.file, tid, strength)
    }

    /// Locks the row if nobody is in the way.
    pub(super) fn try_row_lock(
        &self,
        x: &ExecTxn<'_>,
        tid: Tid,
        strength: RowStrength,
    ) -> Result<bool> {
        Ok(self.storage.txn.rows().lock(x.txn.proc(), self.about.file, tid, strength, false))
    }

    /// Locks the row, waiting if `wait` says so; false if it may not.
    pub(super) fn row_lock(
        &self,
        x: &ExecTxn<'_>,
        tid: Tid,
        strength: RowStrength,
        wait: Wait,
    ) -> Result<bool> {
        let block = wait == Wait::Block;
        Ok(self.storage.txn.rows().lock(x.txn.proc(), self.about.file, tid, strength, block))
    }

    /// What is held on the old version is held on the new one too.
    pub(super) fn copy_row_locks(&self, from: Tid, to: Tid) {
        self.storage.txn.rows().copy(self.about.file, from, to);
    }

    /// Waits until a transaction is over.
    pub(super) fn wait_for_xid(&self, x: &ExecTxn<'_>, _tid: Tid, xid: Xid) -> Result<()> {
        x.txn.wait_for_xid(xid)
    }
}
