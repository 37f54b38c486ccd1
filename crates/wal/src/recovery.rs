//! Replay: reading the log from the last checkpoint and handing each record to its manager.

use crate::control::{Control, DbState};
use crate::log::Wal;
use crate::reader::{ReadOutcome, WalReader};
use crate::record::{BlockRef, Record};
use crate::rmgr::{Rmgr, xlog_info};
use base::{Error, Lsn, PAGE_SIZE, Result, Severity, SqlState, err};
use os::sync::Arc;
use os::sync::atomic::Ordering;
use os::{IoError, OpenOptions};

/// What a manager does with its records.
pub trait Redo: Send + Sync {
    /// Does again what the record says, unless the page has it already.
    fn redo(&self, record: &Record) -> Result<()>;

    /// The record's contents in words, for pg_waldump.
    fn describe(&self, record: &Record) -> String;

    /// The name of a kind of record, for pg_waldump.
    fn identify(&self, info: u8) -> &'static str {
        let _ = info;
        "UNKNOWN"
    }

    /// Blanks what may differ between a page that was changed and one that was replayed, such
    /// as hint bits, before `wal_consistency_checking` compares them.
    fn mask(&self, page: &mut [u8]) {
        let _ = page;
    }

    /// Before the first record.
    fn start(&self) -> Result<()> {
        Ok(())
    }

    /// After the last record, before the log is written again.
    fn finish(&self) -> Result<()> {
        Ok(())
    }
}

/// The managers, by number.
#[derive(Clone, Default)]
pub struct RedoTable {
    managers: [Option<Arc<dyn Redo>>; 32],
    pages: Option<Arc<PageSource>>,
    forgiving: Option<Arc<dyn Fn(Error) + Send + Sync>>,
}

/// Gives the page that replay made of a block; false if the block is gone since.
pub type PageSource = dyn Fn(&BlockRef, &mut [u8]) -> Result<bool> + Send + Sync;

impl RedoTable {
    /// A table without managers.
    pub fn new() -> RedoTable {
        RedoTable::default()
    }

    /// With this manager for its records.
    pub fn with(mut self, rmgr: Rmgr, redo: Arc<dyn Redo>) -> RedoTable {
        self.set(rmgr, redo);
        self
    }

    /// Goes on with the next record when pages that one changes are not as they have to be
    /// (`ignore_invalid_pages`); what is passed over is told.
    pub fn forgiving(mut self, tell: impl Fn(Error) + Send + Sync + 'static) -> RedoTable {
        self.forgiving = Some(Arc::new(tell));
        self
    }

    /// Sets the manager of these records.
    pub fn set(&mut self, rmgr: Rmgr, redo: Arc<dyn Redo>) {
        self.managers[rmgr as usize] = Some(redo);
    }

    /// The manager of these records.
    pub fn get(&self, rmgr: Rmgr) -> Option<&Arc<dyn Redo>> {
        self.managers[rmgr as usize].as_ref()
    }

    /// Sets where replayed pages are found, to compare them with those in records that
    /// were written with `consistency_check`.
    pub fn set_pages(&mut self, pages: Arc<PageSource>) {
        self.pages = Some(pages);
    }

    /// Compares the pages that the record changed with what they were when it was written.
    fn check_pages(&self, record: &Record) -> Result<()> {
        let (Some(pages), Some(manager)) = (&self.pages, self.get(record.rmgr)) else {
            return Ok(());
        };
        for block in record.blocks.iter().filter(|b| b.has_check_image()) {
            let mut expected = vec![0; PAGE_SIZE];
            let mut found = vec![0; PAGE_SIZE];
            record.check_image(block.id, &mut expected)?;
            if !pages(block, &mut found)? {
                continue;
            }
            let newer = Lsn(u64::from_le_bytes(*found.first_chunk().unwrap_or(&[0; 8])));
            if newer > record.lsn_end {
                continue;
            }
            found[block.hole()].fill(0);
            for page in [&mut expected, &mut found] {
                // The LSN and the checksum are those of before.
                page[..10].fill(0);
                manager.mask(page);
            }
            if let Some(at) = expected.iter().zip(&found).position(|(a, b)| a != b) {
                let (rel, fork, number) = (block.rel, block.fork, block.block);
                let e = err!(DATA_CORRUPTED, "inconsistent page found, rel {rel}, block {number}");
                let detail = format!("Fork {fork:?} differs from byte {at}.");
                return Err(e.detail(detail).context(self.context(record)));
            }
        }
        Ok(())
    }

    /// Hands a record to its manager. An error gets the record as context.
    pub fn redo(&self, record: &Record) -> Result<()> {
        let Some(manager) = self.get(record.rmgr) else {
            let name = record.rmgr.name();
            return Err(err!(
                DATA_CORRUPTED,
                "no redo for resource manager {name}, record at {}",
                record.lsn_start
            ));
        };
        let done = manager.redo(record).map_err(|e| e.context(self.context(record)));
        match (done, &self.forgiving) {
            (Err(e), Some(tell)) if e.code() == SqlState::DATA_CORRUPTED => {
                tell(e);
                Ok(())
            }
            (done, _) => done.and_then(|()| self.check_pages(record)),
        }
    }

    fn context(&self, record: &Record) -> String {
        let Some(manager) = self.get(record.rmgr) else { return String::new() };
        format!(
            "WAL redo at {} for {}/{}: {}",
            record.lsn_start,
            record.rmgr.name(),
            manager.identify(record.info),
            manager.describe(record)
        )
    }
}

/// How replay ended.
#[derive(Clone, Debug)]
pub struct RecoveryEnd {
    /// The end of the last record: where [`Wal::start_writing`] goes on.
    pub end: Lsn,
    /// The start of the last record; invalid if there was none.
    pub last: Lsn,
    /// Records replayed.
    pub records: u64,
    /// Why there was no further record.
    pub reason: String,
}

impl Wal {
    /// Replays the log from the checkpoint that `control` names. `observe` sees each record
    /// after its redo; an error from it ends replay. The log must reach the checkpoint
    /// record, and `control`'s minimum recovery point: if not, it is damaged, and that is an
    /// error. After a crash the caller has run [`os::Disk::sync_tree`] over the data folder
    /// before.
    pub fn recover(
        &self,
        control: &Control,
        table: &RedoTable,
        observe: &mut dyn FnMut(&Record) -> Result<()>,
    ) -> Result<RecoveryEnd> {
        let start = control.checkpoint_copy.redo;
        self.sync_segments(start)?;
        let mut reader = self.reader(start);
        for rmgr in Rmgr::ALL {
            if let Some(manager) = table.get(*rmgr) {
                manager.start()?;
            }
        }
        let mut record = Record::default();
        let mut end =
            RecoveryEnd { end: start, last: Lsn::INVALID, records: 0, reason: String::new() };
        end.reason = loop {
            if let ReadOutcome::End(reason) = reader.read(&mut record)? {
                break reason;
            }
            self.replayed.store(record.lsn_end.0, Ordering::Release);
            if !(record.rmgr == Rmgr::Xlog && record.info == xlog_info::SWITCH) {
                table.redo(&record)?;
            }
            observe(&record)?;
            end.end = record.lsn_end;
            end.last = record.lsn_start;
            end.records += 1;
        };
        let needed = control.min_recovery_point.max(Lsn(control.checkpoint.0 + 1));
        if end.end < needed {
            let e = err!(DATA_CORRUPTED, "WAL ends before consistent recovery point");
            let detail =
                format!("The log ends at {}, {} is needed: {}", end.end, needed, end.reason);
            return Err(e.detail(detail).severity(Severity::Fatal));
        }
        for rmgr in Rmgr::ALL {
            if let Some(manager) = table.get(*rmgr) {
                manager.finish()?;
            }
        }
        let clean = control.state == DbState::ShutDown && end.last == control.checkpoint;
        self.ended_clean.store(clean, Ordering::Relaxed);
        Ok(end)
    }

    /// A reader of this log from `start`, a record's start.
    pub fn reader(&self, start: Lsn) -> WalReader {
        WalReader::new(self.disk(), self.dir(), self.segment_size(), self.timeline(), start)
    }

    /// Reads the record at `position`, which must be durable.
    pub fn read_record(&self, position: Lsn) -> Result<Record> {
        let mut record = Record::default();
        match self.reader(position).read(&mut record)? {
            ReadOutcome::Record => Ok(record),
            ReadOutcome::End(reason) => Err(err!(DATA_CORRUPTED, "could not read WAL: {reason}")),
        }
    }

    /// What is about to be replayed may be in the page cache only, if just the process died:
    /// no page may get ahead of it on disk.
    fn sync_segments(&self, start: Lsn) -> Result<()> {
        let size = self.segments.size;
        let mut at = start.0 / size * size;
        loop {
            match self.disk().open(&self.segments.path(at), &OpenOptions::new().read_only()) {
                Ok(file) => file.sync()?,
                Err(e) if IoError::is_not_found(&e) => break,
                Err(e) => return Err(e.into()),
            }
            at += size;
        }
        Ok(())
    }
}
