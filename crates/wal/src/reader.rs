//! Reading the log back, record by record. Whatever the bytes are, the answer is a record or
//! the end with a reason; nothing here panics.

use crate::record::{self, ALIGN, HEADER, MAX_LEN, Record};
use crate::rmgr::{Rmgr, xlog_info};
use crate::segment::segment_name;
use base::{Lsn, Result};
use os::wait::{self, WaitEvent};
use os::{Disk, File, OpenOptions};
use std::path::{Path, PathBuf};

/// What came of an attempt to read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReadOutcome {
    /// The record was filled in.
    Record,
    /// No valid record is at this position: the end of the log, with what was found there.
    End(String),
}

impl ReadOutcome {
    /// True if there was a record.
    pub fn is_record(&self) -> bool {
        *self == ReadOutcome::Record
    }
}

/// Bytes read from a file at a time.
const WINDOW: usize = 256 << 10;

/// Reads records in order.
pub struct WalReader {
    disk: Disk,
    dir: PathBuf,
    segment_size: u64,
    /// Timelines with where each begins, oldest first.
    timelines: Vec<(u32, Lsn)>,
    position: u64,
    limit: Option<Lsn>,
    window: Vec<u8>,
    window_start: u64,
    file: Option<(u64, File)>,
}

impl WalReader {
    /// A reader that starts at `start`, a record's start, on this timeline.
    pub fn new(disk: &Disk, dir: &Path, segment_size: u64, timeline: u32, start: Lsn) -> WalReader {
        WalReader {
            disk: disk.clone(),
            dir: dir.to_path_buf(),
            segment_size,
            timelines: vec![(timeline, Lsn(0))],
            position: start.0,
            limit: None,
            window: vec![],
            window_start: 0,
            file: None,
        }
    }

    /// Reads nothing at or behind `limit`: for a log that is being written, what is flushed.
    pub fn set_limit(&mut self, limit: Lsn) {
        self.limit = Some(limit);
        // The window may hold bytes that were not final.
        self.window.clear();
    }

    /// Follows this history: each timeline with where it begins, oldest first.
    pub fn set_timelines(&mut self, timelines: Vec<(u32, Lsn)>) {
        self.timelines = timelines;
        self.file = None;
        self.window.clear();
    }

    /// Where the next record is expected.
    pub fn position(&self) -> Lsn {
        Lsn(self.position)
    }

    /// Goes to another record's start.
    pub fn seek(&mut self, position: Lsn) {
        self.position = position.0;
    }

    /// Reads the next record into `record` and moves behind it. At the end it stays, so that
    /// a growing log can be read on.
    pub fn read(&mut self, record: &mut Record) -> Result<ReadOutcome> {
        let at = self.position;
        if !at.is_multiple_of(ALIGN) {
            return Ok(ReadOutcome::End(format!("invalid record offset at {}", Lsn(at))));
        }
        if self.limit.is_some_and(|limit| at + HEADER as u64 > limit.0) {
            return Ok(ReadOutcome::End(format!("end of the log at {}", Lsn(at))));
        }
        let Some(header) = self.bytes(at, HEADER)? else {
            return Ok(ReadOutcome::End(format!("no more segments at {}", Lsn(at))));
        };
        let len = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        if len < HEADER as u32 || len > MAX_LEN {
            let expected = format!("expected at least {HEADER}, got {len}");
            return Ok(ReadOutcome::End(format!(
                "invalid record length at {}: {expected}",
                Lsn(at)
            )));
        }
        if Rmgr::from_u8(header[16]).is_none() {
            let id = header[16];
            return Ok(ReadOutcome::End(format!(
                "invalid resource manager ID {id} at {}",
                Lsn(at)
            )));
        }
        let mut end = at + (len as u64).next_multiple_of(ALIGN);
        if self.limit.is_some_and(|limit| end > limit.0) {
            return Ok(ReadOutcome::End(format!("record at {} is not complete", Lsn(at))));
        }
        let mut bytes = std::mem::take(&mut record.bytes);
        bytes.clear();
        let complete = self.collect(at, len as usize, &mut bytes)?;
        record.bytes = bytes;
        if !complete {
            return Ok(ReadOutcome::End(format!("record at {} is not complete", Lsn(at))));
        }
        if !record::is_valid(&record.bytes, at) {
            let what = "incorrect resource manager data checksum in record";
            return Ok(ReadOutcome::End(format!("{what} at {}", Lsn(at))));
        }
        if record.bytes[16] == Rmgr::Xlog as u8 && record.bytes[17] == xlog_info::SWITCH {
            end = end.next_multiple_of(self.segment_size);
        }
        if record.decode(at, end).is_none() {
            return Ok(ReadOutcome::End(format!("malformed record at {}", Lsn(at))));
        }
        self.position = end;
        Ok(ReadOutcome::Record)
    }

    /// Appends `len` bytes from `at` to `out`; false if the log has fewer.
    fn collect(&mut self, at: u64, len: usize, out: &mut Vec<u8>) -> Result<bool> {
        while out.len() < len {
            let from = at + out.len() as u64;
            let n = (len - out.len()).min(WINDOW / 2);
            match self.bytes(from, n)? {
                Some(piece) => out.extend_from_slice(piece),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// `len` bytes from `at`, at most half a window; `None` if the log has fewer.
    fn bytes(&mut self, at: u64, len: usize) -> Result<Option<&[u8]>> {
        let start = self.window_start;
        if at < start || at + len as u64 > start + self.window.len() as u64 {
            self.fill(at, len)?;
        }
        let skip = (at - self.window_start) as usize;
        Ok(self.window.get(skip..skip + len))
    }

    /// Reads a new window that starts at `at` and holds at least `len` bytes, if there are.
    fn fill(&mut self, at: u64, len: usize) -> Result<()> {
        let _waiting = wait::begin(WaitEvent::WalRead);
        self.window_start = at;
        self.window.resize(WINDOW, 0);
        let mut have = 0;
        while have < len {
            let position = at + have as u64;
            let within = position % self.segment_size;
            let Some(file) = self.open(position)? else { break };
            let n = (WINDOW - have).min((self.segment_size - within) as usize);
            let got = file.read_at(&mut self.window[have..have + n], within)?;
            have += got;
            if got < n {
                break;
            }
        }
        self.window.truncate(have);
        Ok(())
    }

    fn open(&mut self, position: u64) -> Result<Option<File>> {
        let number = position / self.segment_size;
        if let Some((n, file)) = &self.file
            && *n == number
        {
            return Ok(Some(file.clone()));
        }
        let end = (number + 1) * self.segment_size;
        // The newest timeline that has a copy of this segment.
        let timelines = self.timelines.iter().rev().filter(|(_, begin)| begin.0 < end);
        for (timeline, _) in timelines {
            let name = segment_name(*timeline, Lsn(position), self.segment_size);
            match self.disk.open(&self.dir.join(name), &OpenOptions::new().read_only()) {
                Ok(file) => {
                    self.file = Some((number, file.clone()));
                    return Ok(Some(file));
                }
                Err(e) if e.is_not_found() => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(None)
    }
}
