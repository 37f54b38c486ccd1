//! Replay of the B-tree's log records: the edits of each block are done again.

use super::edit;
use base::{Result, bail, err};
use buffer::BufferPool;
use std::sync::Arc;
use wal::{Record, Redo};

/// What a record is about, for people; redo treats all alike.
pub mod kind {
    /// An entry came into a leaf.
    pub const INSERT_LEAF: u8 = 0x00;
    /// An entry came into a posting list.
    pub const INSERT_POST: u8 = 0x10;
    /// A downlink came into an inner page, which completes a split.
    pub const INSERT_UPPER: u8 = 0x20;
    /// A page was split.
    pub const SPLIT: u8 = 0x30;
    /// A root was made.
    pub const NEW_ROOT: u8 = 0x40;
    /// Equal keys were merged.
    pub const DEDUP: u8 = 0x50;
    /// Dead entries were removed by an insertion.
    pub const DELETE: u8 = 0x60;
    /// Dead entries were removed by vacuum.
    pub const VACUUM: u8 = 0x70;
    /// A page lost its downlink.
    pub const HALF_DEAD: u8 = 0x80;
    /// A page was unlinked from its siblings.
    pub const UNLINK: u8 = 0x90;
    /// A page of a new index.
    pub const BUILD: u8 = 0xA0;
}

/// Replays and describes the B-tree's records.
pub struct BtreeRedo {
    /// Where the pages are.
    pub pool: Arc<BufferPool>,
}

impl Redo for BtreeRedo {
    fn redo(&self, record: &Record) -> Result<()> {
        // All pages stay latched until the record is done, in the order of forward work, so that
        // who reads meanwhile never sees half of it.
        let mut done = Vec::with_capacity(record.blocks.len());
        for block in &record.blocks {
            let fresh = block.will_init || block.has_image();
            let mut p = self.pool.read_for_redo(block.rel, block.fork, block.block, fresh)?;
            if block.has_image() {
                if !record.restore_image(block.id, &mut p[..])? {
                    let (lsn, rel) = (record.lsn_start, block.rel);
                    bail!(DATA_CORRUPTED, "log record at {lsn} has a bad page image of {rel}");
                }
            } else {
                if !fresh && p.lsn() >= record.lsn_end {
                    continue;
                }
                edit::apply(&mut p, record.block_data(block.id)).map_err(|what| {
                    err!(
                        DATA_CORRUPTED,
                        "log record at {} does not fit block {} of {}: {what}",
                        record.lsn_start,
                        block.block,
                        block.rel
                    )
                })?;
            }
            p.set_lsn(record.lsn_end);
            p.mark_dirty();
            done.push(p);
        }
        Ok(())
    }

    fn describe(&self, record: &Record) -> String {
        let blocks: Vec<String> = record.blocks.iter().map(|b| b.block.to_string()).collect();
        let bytes: usize = record.blocks.iter().map(|b| record.block_data(b.id).len()).sum();
        format!("blocks: {}, bytes: {bytes}", blocks.join(" "))
    }

    fn identify(&self, info: u8) -> &'static str {
        match info & 0xF0 {
            kind::INSERT_LEAF => "INSERT_LEAF",
            kind::INSERT_POST => "INSERT_POST",
            kind::INSERT_UPPER => "INSERT_UPPER",
            kind::SPLIT => "SPLIT",
            kind::NEW_ROOT => "NEWROOT",
            kind::DEDUP => "DEDUP",
            kind::DELETE => "DELETE",
            kind::VACUUM => "VACUUM",
            kind::HALF_DEAD => "MARK_PAGE_HALFDEAD",
            kind::UNLINK => "UNLINK_PAGE",
            kind::BUILD => "BUILD",
            _ => "UNKNOWN",
        }
    }
}
