//! What programs need that look at the files of a stopped server: what records of the log say,
//! and whether pages are sound.

use access::btree::redo::BtreeRedo;
use access::heap::HeapRedo;
use access::sequence::SequenceRedo;
use base::{Lsn, Result};
use buffer::{BufferPool, PoolConfig, StorageRedo, XlogRedo};
use os::Disk;
use std::path::Path;
use std::sync::Arc;
use txn::TxnManager;
use wal::{Record, RedoTable, Rmgr};

/// Nothing is ever logged.
struct NoLog;

impl buffer::Log for NoLog {
    fn flush(&self, _: Lsn) -> Result<()> {
        Ok(())
    }

    fn flushed(&self) -> Lsn {
        Lsn(u64::MAX)
    }
}

/// Puts records into words. Nothing is replayed.
pub struct Describer {
    table: RedoTable,
}

impl Describer {
    /// For records about the files below `data`, which are not opened.
    pub fn new(data: &Path) -> Describer {
        let config = PoolConfig { buffers: 64, data_dir: data.to_path_buf(), ..Default::default() };
        let pool = BufferPool::new(Disk::real(), Arc::new(NoLog), config);
        let heap = Arc::new(HeapRedo::new(&pool));
        let table = RedoTable::new()
            .with(Rmgr::Xlog, Arc::new(XlogRedo(pool.clone())))
            .with(Rmgr::Storage, Arc::new(StorageRedo(pool.clone())))
            .with(Rmgr::Heap, heap.clone())
            .with(Rmgr::Heap2, heap)
            .with(Rmgr::Btree, Arc::new(BtreeRedo { pool: pool.clone() }))
            .with(Rmgr::Sequence, Arc::new(SequenceRedo::new(&pool)));
        Describer { table }
    }

    /// The kind of a record, and what it says.
    pub fn describe(&self, record: &Record) -> (String, String) {
        if record.rmgr == Rmgr::Transaction {
            let text = TxnManager::describe(record.info, record.data());
            let name = text.split_whitespace().next().unwrap_or_default().to_string();
            let rest = text.strip_prefix(&name).unwrap_or_default().trim_start().to_string();
            return (name, rest);
        }
        match self.table.get(record.rmgr) {
            Some(manager) => {
                let text = manager.describe(record);
                match manager.identify(record.info) {
                    // The description begins with the name then.
                    "UNKNOWN" => {
                        let (name, rest) = text.split_once(' ').unwrap_or((&text, ""));
                        (name.to_string(), rest.to_string())
                    }
                    name => (name.to_string(), text),
                }
            }
            None => (format!("UNKNOWN ({:x})", record.info & 0xF0), String::new()),
        }
    }
}

/// The checksums of a page: the one it has, and the one it should have; None if it is sound.
pub fn bad_checksum(page: &[u8; base::PAGE_SIZE], block: u32) -> Option<(u16, u16)> {
    const AT: usize = 8;
    if page.iter().all(|b| *b == 0) {
        return None;
    }
    let stored = u16::from_le_bytes([page[AT], page[AT + 1]]);
    let mut copy = *page;
    copy[AT..AT + 2].fill(0);
    let wanted = buffer::page_checksum(&copy, block);
    (stored != wanted).then_some((stored, wanted))
}
