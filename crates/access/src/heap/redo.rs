//! Replays the heap's log records, taking the latches that forward work takes.

use super::change::{self, UpdateHead};
use super::rel::truncate_files;
use super::{page, record, vm};
use base::{BlockNo, Fork, Oid, RelFile, Result, Tid, err};
use buffer::{BufferPool, PageMut, Persistence};
use std::sync::Arc;
use wal::{BlockRef, Record, Redo};

/// Redo of [`wal::Rmgr::Heap`].
pub struct HeapRedo {
    pool: Arc<BufferPool>,
}

impl HeapRedo {
    /// Over this pool.
    pub fn new(pool: &Arc<BufferPool>) -> HeapRedo {
        HeapRedo { pool: Arc::clone(pool) }
    }

    /// Latches block `id` of the record. If the record has its image, or the page has the change
    /// already, there is nothing to do: None.
    fn open(&self, rec: &Record, id: u8) -> Result<Option<PageMut<'static>>> {
        let Some(b) = rec.block(id) else { return Ok(None) };
        let whole = b.will_init || b.has_image();
        let mut page = self.pool.read_for_redo(b.rel, b.fork, b.block, whole)?;
        if rec.restore_image(id, &mut page[..])? {
            finish(&mut page, rec);
            return Ok(None);
        }
        Ok((b.will_init || page.lsn() < rec.lsn_end).then_some(page))
    }

    /// Clears the bits of a heap page in the map's page, block `id` of the record.
    fn clear(&self, rec: &Record, id: u8, heap: &[BlockNo]) -> Result<()> {
        if let Some(mut map) = self.open(rec, id)? {
            for &block in heap.iter().filter(|&&b| Some(vm::map_block(b)) == block_of(rec, id)) {
                vm::set(&mut map, block, 0);
            }
            finish(&mut map, rec);
        }
        Ok(())
    }

    /// A record that changes one heap page.
    fn one(
        &self,
        rec: &Record,
        apply: impl FnOnce(&mut page::Bytes, BlockNo) -> Result<()>,
    ) -> Result<()> {
        let block = block0(rec)?.block;
        if let Some(mut page) = self.open(rec, 0)? {
            apply(&mut page, block)?;
            finish(&mut page, rec);
        }
        self.clear(rec, 2, &[block])
    }

    fn update(&self, rec: &Record) -> Result<()> {
        let head = UpdateHead::decode(rec.data())?;
        let new_block = block0(rec)?.block;
        let next = Tid { block: new_block, offset: head.new };
        let tuple = rec.block_data(0);
        let Some(old_block) = block_of(rec, 1) else {
            return self.one(rec, |page, block| {
                change::redo_update_new(page, block, rec.xid, head, tuple)?;
                change::redo_update_old(page, rec.xid, head, next)
            });
        };
        // The old version first: a reader in a standby must not find two versions without a link.
        if let Some(mut page) = self.open(rec, 1)? {
            change::redo_update_old(&mut page, rec.xid, head, next)?;
            finish(&mut page, rec);
        }
        if let Some(mut page) = self.open(rec, 0)? {
            change::redo_update_new(&mut page, new_block, rec.xid, head, tuple)?;
            finish(&mut page, rec);
        }
        let mut cleared = Vec::new();
        if head.flags & record::CLEARED != 0 {
            cleared.push(new_block);
        }
        if head.flags & record::OLD_CLEARED != 0 {
            cleared.push(old_block);
        }
        self.clear(rec, 2, &cleared)?;
        self.clear(rec, 3, &cleared)
    }

    fn visible(&self, rec: &Record) -> Result<()> {
        let bits = rec.data().first().copied().unwrap_or(0);
        let heap = block_of(rec, 1)
            .ok_or_else(|| err!(DATA_CORRUPTED, "heap log record lacks its heap page"))?;
        if let Some(mut page) = self.open(rec, 1)? {
            page::change_flags(&mut page, page::ALL_VISIBLE, 0);
            finish(&mut page, rec);
        }
        if let Some(mut map) = self.open(rec, 0)? {
            if page::is_new(&map) {
                vm::init(&mut map);
            }
            vm::set(&mut map, heap, bits);
            finish(&mut map, rec);
        }
        Ok(())
    }

    fn truncate(&self, rec: &Record) -> Result<()> {
        let mut r = record::Reader(rec.data());
        let (tablespace, database) = (Oid(r.u32()?), Oid(r.u32()?));
        let file = RelFile { tablespace, database, number: r.u32()? };
        let keep = BlockNo(r.u32()?);
        if let Some(mut map) = self.open(rec, 0)? {
            if !page::is_new(&map) {
                vm::clear_from(&mut map, keep);
            }
            finish(&mut map, rec);
        }
        let files = self.pool.relation(file, Persistence::Permanent);
        if !files.exists(Fork::Main)? {
            return Ok(());
        }
        truncate_files(&files, keep)
    }
}

fn finish(page: &mut PageMut<'_>, rec: &Record) {
    page.mark_dirty();
    page.set_lsn(rec.lsn_end);
}

fn block_of(rec: &Record, id: u8) -> Option<BlockNo> {
    rec.block(id).map(|b| b.block)
}

fn block0(rec: &Record) -> Result<&BlockRef> {
    match rec.block(0) {
        Some(b) if b.fork == Fork::Main => Ok(b),
        _ => Err(err!(DATA_CORRUPTED, "heap log record lacks its page")),
    }
}

impl Redo for HeapRedo {
    fn redo(&self, rec: &Record) -> Result<()> {
        let (main, xid) = (rec.data(), rec.xid);
        match rec.info & 0xF0 {
            record::INSERT => {
                self.one(rec, |p, b| change::redo_insert(p, b, xid, main, rec.block_data(0)))
            }
            record::MULTI_INSERT => {
                self.one(rec, |p, b| change::redo_multi_insert(p, b, xid, main, rec.block_data(0)))
            }
            record::DELETE => self.one(rec, |p, b| change::redo_delete(p, b, xid, main)),
            record::UPDATE => self.update(rec),
            record::PRUNE => self.one(rec, |p, _| change::redo_prune(p, main)),
            record::REBASE => self.one(rec, |p, _| change::redo_rebase(p, main)),
            record::VISIBLE => self.visible(rec),
            record::TRUNCATE => self.truncate(rec),
            other => Err(err!(DATA_CORRUPTED, "unknown heap log record {other:#x}")),
        }
    }

    fn describe(&self, rec: &Record) -> String {
        let main = rec.data();
        let off = main.first().copied().unwrap_or(0) as u16
            | (main.get(1).copied().unwrap_or(0) as u16) << 8;
        match rec.info & 0xF0 {
            record::INSERT => format!("INSERT off: {off}"),
            record::DELETE => format!("DELETE off: {off}"),
            record::UPDATE => match UpdateHead::decode(main) {
                Ok(h) => {
                    format!("UPDATE old_off: {}, new_off: {}, flags: {:#x}", h.old, h.new, h.flags)
                }
                Err(_) => "UPDATE".into(),
            },
            record::MULTI_INSERT => "MULTI_INSERT".into(),
            record::PRUNE => match record::get_prune(main) {
                Ok((p, _)) => format!(
                    "PRUNE redirected: {}, dead: {}, unused: {}, frozen: {}",
                    p.redirect.len(),
                    p.dead.len(),
                    p.unused.len(),
                    p.freeze_xmin.len()
                ),
                Err(_) => "PRUNE".into(),
            },
            record::VISIBLE => "VISIBLE".into(),
            record::REBASE => "REBASE".into(),
            record::TRUNCATE => "TRUNCATE".into(),
            _ => "UNKNOWN".into(),
        }
    }
}
