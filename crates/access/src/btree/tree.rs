//! A B-tree opened for one operation: its pages, its log records.

use super::edit::Edit;
use super::page::{self, Page};
use super::vacuum;
use crate::Storage;
use crate::index::IndexRel;
use base::{BlockNo, Fork, Lsn, Result, Xid};
use buffer::{PageMut, PageRef, Persistence, RelFiles};
use std::sync::Arc;
use wal::{BlockFlags, RecordBuilder, Rmgr};

/// A page pinned and latched for reading.
pub type ReadPage = PageRef<'static>;
/// A page pinned and latched for writing.
pub type WritePage = PageMut<'static>;

/// A page is either free as a whole or not at all.
const FREE: usize = base::PAGE_SIZE / 2;

/// The index during one operation.
pub struct Tree<'a> {
    /// Pool, log, transactions.
    pub storage: &'a Storage,
    /// The descriptor.
    pub index: &'a IndexRel,
    /// Its files.
    pub rel: &'a Arc<RelFiles>,
    /// Which of them: the init fork of an unlogged index is built like any other.
    pub fork: Fork,
}

/// A page that a record changes: its edits, and whether they start from nothing.
pub type Changed<'p, 'e> = (&'p mut WritePage, &'e Edit, bool);

impl<'a> Tree<'a> {
    /// Opens the main fork.
    pub fn new(storage: &'a Storage, index: &'a IndexRel) -> Tree<'a> {
        Tree { storage, index, rel: index.files(storage), fork: Fork::Main }
    }

    /// Whether changes go to the log.
    pub fn is_logged(&self) -> bool {
        self.index.persistence == Persistence::Permanent || self.fork == Fork::Init
    }

    /// A page, latched for reading.
    #[inline]
    pub fn read(&self, block: BlockNo) -> Result<ReadPage> {
        self.rel.read_shared(self.fork, block)
    }

    /// A page, latched for writing.
    pub fn write(&self, block: BlockNo) -> Result<WritePage> {
        self.rel.read_exclusive(self.fork, block)
    }

    /// Inserts the record of a change that was made to latched pages. Block ids are places in the
    /// list.
    pub fn log(&self, kind: u8, pages: &mut [Changed<'_, '_>]) -> Result<()> {
        for (p, _, _) in pages.iter_mut() {
            p.mark_dirty();
        }
        if !self.is_logged() {
            return Ok(());
        }
        let mut record = RecordBuilder::new(Rmgr::Btree, kind, Xid::INVALID);
        for (i, (p, edit, init)) in pages.iter().enumerate() {
            let flags = if *init { BlockFlags::WILL_INIT } else { BlockFlags::STANDARD };
            let bytes: &Page = p;
            let image = (!*init).then_some(&bytes[..]);
            record.block(i as u8, self.index.file, self.fork, p.block(), image, flags);
            record.block_data(i as u8, edit.bytes());
        }
        let lsn = self.storage.wal.insert(&record);
        drop(record);
        for (p, _, _) in pages.iter_mut() {
            p.set_lsn(lsn);
        }
        Ok(())
    }

    /// Lets `new_page` find a page that is free.
    pub fn offer_page(&self, block: BlockNo) -> Result<()> {
        self.rel.record_free_space(block, base::PAGE_SIZE - 1)
    }

    /// A page to build something in, latched: a recycled one or a new one at the end.
    pub fn new_page(&self) -> Result<WritePage> {
        while let Some(block) = self.rel.page_with_space(FREE)? {
            // Whatever becomes of it, nobody else needs to look at it now.
            self.rel.record_free_space(block, 0)?;
            if block.0 >= self.rel.nblocks(self.fork)?.0 {
                continue;
            }
            let pin = self.rel.read(self.fork, block)?;
            // A page that is free is latched by nobody for long.
            let p = pin.into_write();
            if self.is_recyclable(&p) {
                return Ok(p);
            }
        }
        self.rel.extend_one(self.fork)
    }

    /// True if a page is not part of the tree and no scan can still arrive at it.
    pub fn is_recyclable(&self, p: &Page) -> bool {
        if page::is_new(p) {
            return true;
        }
        page::flags(p) & page::flag::DELETED != 0
            && Lsn(page::safe_lsn(p)) < self.storage.oldest_visible_lsn()
    }

    /// The running vacuum's number, 0 if none runs.
    pub fn vacuum_cycle(&self) -> u16 {
        vacuum::current_cycle(self.storage, self.index.file)
    }
}
