//! The log's part in a checkpoint.

use crate::builder::{BlockFlags, RecordBuilder};
use crate::control::{CheckPoint, ControlFile, DbState};
use crate::log::{Trigger, Wal};
use crate::rmgr::{Rmgr, xlog_info};
use base::{BlockNo, Fork, Lsn, RelFile, Result, Xid};
use os::sync::Arc;
use os::sync::atomic::Ordering;

impl Wal {
    /// Begins a checkpoint: moves the redo pointer to the end of the log and gives it. From
    /// now on each page's first change carries an image. The caller then writes and syncs all
    /// pages that are dirty now, and calls [`Wal::finish_checkpoint`]. One at a time.
    pub fn begin_checkpoint(&self) -> Result<Lsn> {
        // Everybody who decided on images by an older pointer is done after this, so that the
        // epochs never come round.
        self.flush(self.inserted())?;
        let _one = self.checkpointing.lock();
        Ok(self.slots.advance_redo())
    }

    /// Ends a checkpoint whose pages are durable: logs it, flushes, and points the control
    /// file to it. `checkpoint.redo` is what [`Wal::begin_checkpoint`] gave. Gives the
    /// position of the checkpoint record.
    pub fn finish_checkpoint(
        &self,
        control: &ControlFile,
        checkpoint: CheckPoint,
        shutdown: bool,
    ) -> Result<Lsn> {
        let info = match shutdown {
            true => xlog_info::CHECKPOINT_SHUTDOWN,
            false => xlog_info::CHECKPOINT_ONLINE,
        };
        let mut checkpoint = checkpoint;
        checkpoint.timeline = self.timeline();
        checkpoint.full_page_writes = self.full_page_writes();
        let mut record = RecordBuilder::new(Rmgr::Xlog, info, Xid::INVALID);
        record.data(&checkpoint.encode());
        self.check_space()?;
        let (start, end) = self.insert_range(&record);
        self.flush(end)?;
        control.update(|c| {
            c.state = if shutdown { DbState::ShutDown } else { DbState::InProduction };
            c.checkpoint = start;
            c.checkpoint_copy = checkpoint;
            c.min_recovery_point = Lsn::INVALID;
        })?;
        Ok(start)
    }

    /// Gives up the segments before `keep`, of which up to `spare` are kept to be written
    /// again. `keep` is the redo pointer of the last finished checkpoint, or less if somebody
    /// still reads older log. Gives how many were recycled and removed.
    /// `may` is asked by its name whether a segment may go.
    pub fn remove_old_segments(
        &self,
        keep: Lsn,
        spare: u64,
        may: &dyn Fn(&str) -> bool,
    ) -> Result<(usize, usize)> {
        let kept = self.inserted().0.saturating_sub(self.segments.keep.load(Ordering::Relaxed));
        let keep = keep.min(self.redo_pointer()).min(self.flushed()).min(Lsn(kept));
        self.segments.remove_before(keep, spare, may)
    }

    /// Calls `action` once for each checkpoint interval in which more than `bytes` are
    /// logged: time for a checkpoint by volume. It must not block.
    pub fn set_checkpoint_trigger(&self, bytes: u64, action: Arc<dyn Fn() + Send + Sync>) {
        *self.trigger.lock() = Some(Trigger { bytes, action, done_for: u64::MAX });
    }

    /// Changes the volume of [`Wal::set_checkpoint_trigger`].
    pub fn set_checkpoint_volume(&self, bytes: u64) {
        if let Some(trigger) = &mut *self.trigger.lock() {
            trigger.bytes = bytes;
        }
    }

    pub(crate) fn fire_trigger(&self) {
        let redo = self.redo_pointer().0;
        let action = match &mut *self.trigger.lock() {
            Some(t) if t.done_for != redo && self.bytes_since_redo() >= t.bytes => {
                t.done_for = redo;
                t.action.clone()
            }
            _ => return,
        };
        action();
    }

    /// Logs a page as it is, for changes that have no record of their own. `hint` says that
    /// only hint bits changed.
    pub fn log_page(
        &self,
        rel: RelFile,
        fork: Fork,
        block: BlockNo,
        page: &[u8],
        standard: bool,
        hint: bool,
    ) -> Lsn {
        let info = if hint { xlog_info::FPI_FOR_HINT } else { xlog_info::FPI };
        let hole = if standard { BlockFlags::STANDARD } else { BlockFlags::NONE };
        let mut record = RecordBuilder::new(Rmgr::Xlog, info, Xid::INVALID);
        record.block(0, rel, fork, block, Some(page), hole | BlockFlags::FORCE_IMAGE);
        self.insert(&record)
    }
}
