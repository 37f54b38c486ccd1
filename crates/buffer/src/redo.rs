//! What pages and the log have to do with each other: logging changes, replaying them, and the
//! records of files that come, shrink and go.
//!
//! ```text
//! Storage/CREATE    relation (tablespace, database, number: u32 each), fork u8
//! Storage/TRUNCATE  relation, pages left in the main fork u32, in the visibility map u32
//! ```

use crate::frame::PageMut;
use crate::pool::{BufferPool, Log};
use crate::relation::{Persistence, RelFiles};
use base::{BlockNo, Error, Fork, Lsn, Oid, RelFile, Result, SqlState, Xid};
use std::sync::Arc;
use wal::{BlockFlags, Record, RecordBuilder, Redo, Rmgr, Wal, xlog_info};

/// The `info` of a record that a fork's file was made.
pub const STORAGE_CREATE: u8 = 0x10;
/// The `info` of a record that a relation was cut.
pub const STORAGE_TRUNCATE: u8 = 0x20;

impl Log for Wal {
    fn flush(&self, lsn: Lsn) -> Result<()> {
        Wal::flush(self, lsn)
    }

    fn flushed(&self) -> Lsn {
        // During replay nothing is inserted: all that a page can refer to is in the log.
        if self.is_replaying() { Lsn::MAX } else { Wal::flushed(self) }
    }
}

/// Logs a change of these pages, which the caller has latched and changed, and stamps them with
/// the record's end. `pages` are the number of each in the record, the page, and how to log it;
/// `fill` adds the data. `Wal::check_space` has been called before the change.
pub fn log_change(
    wal: &Wal,
    rmgr: Rmgr,
    info: u8,
    xid: Xid,
    pages: &mut [(u8, &mut PageMut<'_>, BlockFlags)],
    fill: impl FnOnce(&mut RecordBuilder<'_>),
) -> Lsn {
    for (_, page, _) in pages.iter_mut() {
        page.mark_dirty();
    }
    let lsn = {
        let mut record = RecordBuilder::new(rmgr, info, xid);
        for (id, page, flags) in pages.iter() {
            let rel = page.rel().file();
            record.block(*id, rel, page.fork(), page.block(), Some(&page[..]), *flags);
        }
        fill(&mut record);
        wal.insert(&record)
    };
    for (_, page, _) in pages.iter_mut() {
        page.set_lsn(lsn);
    }
    lsn
}

/// What redo finds of a block.
pub enum RedoBlock {
    /// The change is not in the page: apply it. The page is marked dirty and will carry the
    /// record's LSN once [`PageMut::set_lsn`] has been called, after the change.
    Apply(PageMut<'static>),
    /// The page was restored from the image in the record and stamped.
    Restored(PageMut<'static>),
    /// The page has the change already.
    Done,
}

impl BufferPool {
    /// A block of a record in replay, latched, if there is anything to do to it.
    pub fn redo_block(&self, record: &Record, id: u8) -> Result<RedoBlock> {
        let Some(block) = record.block(id) else {
            return Err(Error::new(
                SqlState::DATA_CORRUPTED,
                format!("record at {} has no block {id}", record.lsn_start),
            ));
        };
        let init = block.will_init || block.has_image();
        let mut page = self.read_for_redo(block.rel, block.fork, block.block, init)?;
        if block.has_image() {
            page.mark_dirty();
            record.restore_image(id, &mut page[..])?;
            page[8..10].fill(0);
            page.set_lsn(record.lsn_end);
            return Ok(RedoBlock::Restored(page));
        }
        if !init && page.lsn() >= record.lsn_end {
            return Ok(RedoBlock::Done);
        }
        page.mark_dirty();
        Ok(RedoBlock::Apply(page))
    }

    /// Makes a relation's fork and logs that, so that replay makes it too. For permanent
    /// relations; the file goes again if the transaction `xid` does not commit, which is the
    /// caller's business.
    pub fn create_logged(
        &self,
        wal: &Wal,
        file: RelFile,
        fork: Fork,
        xid: Xid,
    ) -> Result<Arc<RelFiles>> {
        wal.check_space()?;
        let mut record = RecordBuilder::new(Rmgr::Storage, STORAGE_CREATE, xid);
        record.data(&encode_file(file)).data(&[fork as u8]);
        wal.insert(&record);
        let rel = self.relation(file, Persistence::Permanent);
        rel.create_fork(fork)?;
        Ok(rel)
    }

    /// Cuts a permanent relation to `blocks` pages, its visibility map to `vm_blocks`, and its
    /// free space map to match, crash-safely. The caller has the relation locked and has
    /// cleared what the map's last page says of pages that go.
    pub fn truncate_logged(
        &self,
        wal: &Wal,
        rel: &Arc<RelFiles>,
        blocks: BlockNo,
        vm_blocks: BlockNo,
        xid: Xid,
    ) -> Result<()> {
        wal.check_space()?;
        let mut record = RecordBuilder::new(Rmgr::Storage, STORAGE_TRUNCATE, xid);
        record.data(&encode_file(rel.file()));
        record.data(&blocks.0.to_le_bytes()).data(&vm_blocks.0.to_le_bytes());
        let lsn = wal.insert(&record);
        // Once the file is cut there is no way back, so the record has to be safe.
        wal.flush(lsn)?;
        truncate_all(rel, blocks, vm_blocks)
    }
}

fn truncate_all(rel: &Arc<RelFiles>, blocks: BlockNo, vm_blocks: BlockNo) -> Result<()> {
    if rel.exists(Fork::Fsm)? {
        rel.truncate_free_space(blocks)?;
    }
    rel.truncate(Fork::Vm, vm_blocks)?;
    rel.truncate(Fork::Main, blocks)
}

fn encode_file(file: RelFile) -> [u8; 12] {
    let mut out = [0; 12];
    for (at, n) in [file.tablespace.0, file.database.0, file.number].into_iter().enumerate() {
        out[at * 4..at * 4 + 4].copy_from_slice(&n.to_le_bytes());
    }
    out
}

fn number(data: &[u8], at: usize) -> Result<u32> {
    match data.get(at..at + 4).map(<[u8; 4]>::try_from) {
        Some(Ok(bytes)) => Ok(u32::from_le_bytes(bytes)),
        _ => Err(Error::new(SqlState::DATA_CORRUPTED, "storage record is too short")),
    }
}

fn decode_file(data: &[u8]) -> Result<RelFile> {
    Ok(RelFile {
        tablespace: Oid(number(data, 0)?),
        database: Oid(number(data, 4)?),
        number: number(data, 8)?,
    })
}

/// Redo of [`Rmgr::Storage`].
pub struct StorageRedo(pub Arc<BufferPool>);

impl Redo for StorageRedo {
    fn redo(&self, record: &Record) -> Result<()> {
        let data = record.data();
        let rel = self.0.relation(decode_file(data)?, Persistence::Permanent);
        match record.info & 0xF0 {
            STORAGE_CREATE => {
                let fork = data.get(12).and_then(|n| Fork::from_u8(*n)).unwrap_or(Fork::Main);
                rel.create_fork(fork)
            }
            STORAGE_TRUNCATE => {
                // The file may be gone by a later drop; redo of that comes and removes it again.
                rel.create_fork(Fork::Main)?;
                truncate_all(&rel, BlockNo(number(data, 12)?), BlockNo(number(data, 16)?))
            }
            other => Err(Error::new(
                SqlState::DATA_CORRUPTED,
                format!("unknown storage record type {other}"),
            )),
        }
    }

    fn describe(&self, record: &Record) -> String {
        let data = record.data();
        match (decode_file(data), record.info & 0xF0) {
            (Ok(file), STORAGE_TRUNCATE) => {
                format!("{file} to {} blocks", number(data, 12).unwrap_or(0))
            }
            (Ok(file), _) => file.to_string(),
            (Err(e), _) => e.message().to_string(),
        }
    }

    fn identify(&self, info: u8) -> &'static str {
        match info & 0xF0 {
            STORAGE_CREATE => "CREATE",
            STORAGE_TRUNCATE => "TRUNCATE",
            _ => "UNKNOWN",
        }
    }
}

/// Redo of [`Rmgr::Xlog`]: page images. What else that manager logs concerns the log and the
/// control file, not pages.
pub struct XlogRedo(pub Arc<BufferPool>);

impl Redo for XlogRedo {
    fn redo(&self, record: &Record) -> Result<()> {
        if matches!(record.info & 0xF0, xlog_info::FPI | xlog_info::FPI_FOR_HINT) {
            for block in &record.blocks {
                self.0.redo_block(record, block.id)?;
            }
        }
        Ok(())
    }

    fn describe(&self, record: &Record) -> String {
        format!("{} bytes", record.data().len())
    }

    fn identify(&self, info: u8) -> &'static str {
        xlog_info::name(info)
    }
}
