//! One way to log a change: pages are marked dirty, the record is inserted, its end becomes their
//! LSN. All under the pages' exclusive latches.

use super::page::Bytes;
use crate::Storage;
use base::{BlockNo, Fork, Lsn, Xid};
use buffer::{PageMut, Persistence, RelFiles};
use std::sync::Arc;
use wal::{BlockFlags, RecordBuilder, Rmgr};

/// A page under its exclusive latch.
pub trait Latched {
    /// Its bytes.
    fn bytes(&self) -> &Bytes;
    /// The relation, fork and number.
    fn place(&self) -> (&Arc<RelFiles>, Fork, BlockNo);
    /// It has to be written to its file.
    fn mark_dirty(&mut self);
    /// The end of the record that changed it.
    fn set_lsn(&mut self, lsn: Lsn);
}

impl Latched for PageMut<'_> {
    fn bytes(&self) -> &Bytes {
        self
    }

    fn place(&self) -> (&Arc<RelFiles>, Fork, BlockNo) {
        (self.rel(), self.fork(), self.block())
    }

    fn mark_dirty(&mut self) {
        PageMut::mark_dirty(self);
    }

    fn set_lsn(&mut self, lsn: Lsn) {
        PageMut::set_lsn(self, lsn);
    }
}

/// A page that a change touches.
pub struct Touched<'r> {
    /// Its number in the record.
    pub id: u8,
    /// The page.
    pub page: &'r mut (dyn Latched + 'r),
    /// Redo makes it anew: no image of it is needed.
    pub init: bool,
    /// Bytes that redo needs unless it has an image of the page.
    pub data: &'r [u8],
}

impl<'r> Touched<'r> {
    /// A page without data.
    pub fn new(id: u8, page: &'r mut (dyn Latched + 'r)) -> Touched<'r> {
        Touched { id, page, init: false, data: &[] }
    }
}

/// Logs a change that was made to these pages. The latches are held from before the change until
/// after this returns.
pub fn log_change(
    storage: &Storage,
    rmgr: Rmgr,
    info: u8,
    xid: Xid,
    main: &[u8],
    pages: &mut [Touched<'_>],
) -> Lsn {
    // Before the record: a checkpoint that begins after it must find the pages dirty.
    for t in pages.iter_mut() {
        t.page.mark_dirty();
    }
    let logged = |t: &Touched<'_>| t.page.place().0.persistence() == Persistence::Permanent;
    if !pages.first().is_none_or(logged) {
        return Lsn::INVALID;
    }
    let lsn = {
        let mut record = RecordBuilder::new(rmgr, info, xid);
        record.data(main);
        for t in pages.iter() {
            let (rel, fork, block) = t.page.place();
            let flags = match (t.init, fork) {
                (true, _) => BlockFlags::WILL_INIT,
                (_, Fork::Main) => BlockFlags::STANDARD,
                // A map has no hole between its ends.
                _ => BlockFlags::NONE,
            };
            record.block(t.id, rel.file(), fork, block, Some(&t.page.bytes()[..]), flags);
            if !t.data.is_empty() {
                record.block_data(t.id, t.data);
            }
        }
        storage.wal.insert(&record)
    };
    for t in pages.iter_mut() {
        t.page.set_lsn(lsn);
    }
    lsn
}
