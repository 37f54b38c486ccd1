//! One way to log a change: pages are marked dirty, the record is inserted, its end becomes their
//! LSN. All under the pages' exclusive latches.

use crate::Storage;
use base::{Lsn, Xid};
use buffer::{PageMut, Persistence};
use wal::{BlockFlags, RecordBuilder, Rmgr};

/// A page that a change touches.
pub struct Touched<'r, 'p> {
    /// Its number in the record.
    pub id: u8,
    /// The page.
    pub page: &'r mut PageMut<'p>,
    /// Redo makes it anew: no image of it is needed.
    pub init: bool,
    /// Bytes that redo needs unless it has an image of the page.
    pub data: &'r [u8],
}

impl<'r, 'p> Touched<'r, 'p> {
    /// A page without data.
    pub fn new(id: u8, page: &'r mut PageMut<'p>) -> Touched<'r, 'p> {
        Touched { id, page, init: false, data: &[] }
    }
}

/// Logs a change that was made, or is about to be made, to these pages. The latches are held
/// from before the change until after this returns.
pub fn log_change(
    storage: &Storage,
    rmgr: Rmgr,
    info: u8,
    xid: Xid,
    main: &[u8],
    pages: &mut [Touched<'_, '_>],
) -> Lsn {
    for t in pages.iter_mut() {
        t.page.mark_dirty();
    }
    let logged =
        pages.first().is_none_or(|t| t.page.rel().persistence() == Persistence::Permanent);
    if !logged {
        return Lsn::INVALID;
    }
    let mut record = RecordBuilder::new(rmgr, info, xid);
    record.data(main);
    for t in pages.iter() {
        let (file, fork) = (t.page.rel().file(), t.page.fork());
        let flags = if t.init { BlockFlags::WILL_INIT } else { BlockFlags::NONE };
        record.block(t.id, file, fork, t.page.block(), Some(&t.page[..]), flags);
        if !t.data.is_empty() {
            record.block_data(t.id, t.data);
        }
    }
    let lsn = storage.wal.insert(&record);
    for t in pages.iter_mut() {
        t.page.set_lsn(lsn);
    }
    lsn
}
