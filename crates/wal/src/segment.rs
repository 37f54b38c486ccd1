//! Segment files: names, allocation ahead of need, recycling.

use crate::log::WalConfig;
use base::{Lsn, Result};
use os::sync::Mutex;
use os::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use os::wait::{self, WaitEvent};
use os::{Disk, File, IoError, OpenOptions};
use std::path::{Path, PathBuf};

/// The name of the file that holds position `lsn` on this timeline, as PostgreSQL forms it.
pub fn segment_name(timeline: u32, lsn: Lsn, segment_size: u64) -> String {
    let number = lsn.0 / segment_size;
    let per_id = 0x1_0000_0000 / segment_size;
    format!("{timeline:08X}{:08X}{:08X}", number / per_id, number % per_id)
}

/// The timeline and first position of the segment of this name; `None` if it is no segment.
pub fn parse_segment_name(name: &str, segment_size: u64) -> Option<(u32, Lsn)> {
    let upper = |b: u8| b.is_ascii_digit() || (b'A'..=b'F').contains(&b);
    if name.len() != 24 || !name.bytes().all(upper) {
        return None;
    }
    let field = |i: usize| u64::from_str_radix(&name[i..i + 8], 16).ok();
    let (timeline, id, low) = (field(0)?, field(8)?, field(16)?);
    let per_id = 0x1_0000_0000 / segment_size;
    (low < per_id).then(|| (timeline as u32, Lsn((id * per_id + low) * segment_size)))
}

/// The segments of the timeline that is written.
pub(crate) struct Segments {
    pub disk: Disk,
    pub dir: PathBuf,
    pub size: u64,
    timeline: AtomicU64,
    direct: bool,
    dsync: bool,
    /// Segments exist, durably and filled with zeros or old log, up to here. Insertion never
    /// passes it.
    allocated: AtomicU64,
    /// Held while segments are made, renamed or removed.
    changing: Mutex<()>,
    /// `wal_init_zero` and `wal_recycle` are off.
    reserve_only: AtomicBool,
    never_recycle: AtomicBool,
    /// `wal_keep_size`, in bytes.
    pub keep: AtomicU64,
    /// `wal_writer_flush_after`, in bytes.
    pub flush_after: AtomicU64,
}

/// Settings about the files of the log that may change while it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileOptions {
    /// `wal_init_zero`: blocks of new segments are written.
    pub zero: bool,
    /// `wal_recycle`: old segments are written again.
    pub recycle: bool,
    /// `wal_keep_size`: so many bytes before the end are kept.
    pub keep: u64,
    /// `wal_writer_flush_after`: so many bytes that nobody waits for are flushed at once.
    pub flush_after: u64,
    /// `commit_delay`: how long a flush waits for others to join.
    pub delay: std::time::Duration,
}

impl Segments {
    pub fn new(disk: Disk, dir: &Path, config: &WalConfig) -> Segments {
        Segments {
            disk,
            dir: dir.to_path_buf(),
            size: config.segment_size,
            timeline: AtomicU64::new(config.timeline as u64),
            direct: config.direct,
            dsync: config.sync_method == crate::SyncMethod::OpenDatasync && config.fsync,
            allocated: AtomicU64::new(0),
            changing: Mutex::new(()),
            reserve_only: AtomicBool::new(false),
            never_recycle: AtomicBool::new(false),
            keep: AtomicU64::new(0),
            flush_after: AtomicU64::new(u64::MAX),
        }
    }

    pub fn set_options(&self, options: &FileOptions) {
        self.reserve_only.store(!options.zero, Ordering::Relaxed);
        self.never_recycle.store(!options.recycle, Ordering::Relaxed);
        self.keep.store(options.keep, Ordering::Relaxed);
        self.flush_after.store(options.flush_after, Ordering::Relaxed);
    }

    pub fn timeline(&self) -> u32 {
        self.timeline.load(Ordering::Relaxed) as u32
    }

    pub fn set_timeline(&self, timeline: u32) {
        self.timeline.store(timeline as u64, Ordering::Relaxed);
    }

    pub fn path(&self, position: u64) -> PathBuf {
        self.dir.join(segment_name(self.timeline(), Lsn(position), self.size))
    }

    #[inline]
    pub fn allocated(&self) -> u64 {
        self.allocated.load(Ordering::Acquire)
    }

    /// Opens the segment that holds `position`, to write it.
    pub fn open(&self, position: u64) -> Result<File, IoError> {
        let options = OpenOptions::new().direct(self.direct).dsync(self.dsync);
        self.disk.open(&self.path(position), &options)
    }

    /// Finds out which segments exist in a row from the one that holds `position`.
    pub fn find_allocated(&self, position: u64) -> Result<()> {
        let _guard = self.changing.lock();
        let mut end = position / self.size * self.size;
        while self.disk.metadata(&self.path(end)).is_ok_and(|m| m.len == self.size) {
            end += self.size;
        }
        self.allocated.store(end, Ordering::Release);
        Ok(())
    }

    /// Makes segments until they reach `end`. With `zero` their blocks are written, so that
    /// flushing into them never waits for the file system's journal; without, which is faster
    /// by far, they are only reserved.
    pub fn ensure(&self, end: u64, zero: bool) -> Result<()> {
        while self.allocated() < end {
            let _guard = self.changing.lock();
            let at = self.allocated();
            if at < end {
                self.make(at, zero)?;
                self.allocated.store(at + self.size, Ordering::Release);
            }
        }
        Ok(())
    }

    /// Makes one segment of zeros, durable under its name before this returns.
    fn make(&self, position: u64, zero: bool) -> Result<()> {
        let temporary = self.dir.join("xlogtemp");
        let made = self.make_file(&temporary, position, zero);
        if made.is_err() {
            // Half a file would keep the disk full.
            let _ = self.disk.remove(&temporary);
        }
        Ok(made?)
    }

    fn make_file(&self, temporary: &Path, position: u64, zero: bool) -> Result<(), IoError> {
        let options = OpenOptions::new().create().truncate().direct(self.direct);
        let file = self.disk.open(temporary, &options)?;
        {
            let _waiting = wait::begin(WaitEvent::WalInitWrite);
            // Reserving the blocks is what makes later writes safe from a full disk.
            file.allocate(0, self.size)?;
            if zero && !self.reserve_only.load(Ordering::Relaxed) {
                file.write_zeros(0, self.size)?;
            }
        }
        let _waiting = wait::begin(WaitEvent::WalInitSync);
        file.sync()?;
        drop(file);
        self.disk.rename(temporary, &self.path(position))?;
        self.disk.sync_dir(&self.dir)
    }

    /// Gives up the segments that end at or before `keep`: up to `spare` are renamed to be
    /// written again, the others removed. Gives the numbers of both.
    pub fn remove_before(
        &self,
        keep: Lsn,
        spare: u64,
        may: &dyn Fn(&str) -> bool,
    ) -> Result<(usize, usize)> {
        let (mut recycled, mut removed) = (0, 0);
        let mut old: Vec<(Lsn, PathBuf)> = vec![];
        for entry in self.disk.list(&self.dir)? {
            if let Some((_, start)) = parse_segment_name(&entry.name, self.size)
                && start.0 + self.size <= keep.0
                && may(&entry.name)
            {
                old.push((start, self.dir.join(entry.name)));
            }
        }
        if old.is_empty() {
            return Ok((0, 0));
        }
        old.sort();
        for (_, path) in old {
            let _guard = self.changing.lock();
            let at = self.allocated();
            let room = at < keep.0 + (spare + 1) * self.size
                && !self.never_recycle.load(Ordering::Relaxed);
            if room && self.disk.metadata(&path)?.len == self.size {
                self.disk.rename(&path, &self.path(at))?;
                // The name must last before the log goes there.
                self.disk.sync_dir(&self.dir)?;
                self.allocated.store(at + self.size, Ordering::Release);
                recycled += 1;
            } else {
                self.disk.remove(&path)?;
                removed += 1;
            }
        }
        self.disk.sync_dir(&self.dir)?;
        Ok((recycled, removed))
    }

    /// After recovery found the end of the log: nothing behind it may ever be read again. A
    /// record that lay behind a torn one could otherwise follow, by chance of length, the
    /// record that is written next.
    pub fn clear_after(&self, end: u64) -> Result<()> {
        let mut names = false;
        for entry in self.disk.list(&self.dir)? {
            let later = match parse_segment_name(&entry.name, self.size) {
                Some((_, start)) => start.0 > end,
                None => entry.name == "xlogtemp",
            };
            if later && !entry.is_dir {
                self.disk.remove(&self.dir.join(entry.name))?;
                names = true;
            }
        }
        if names {
            self.disk.sync_dir(&self.dir)?;
        }
        let path = self.path(end);
        if end.is_multiple_of(self.size) || !self.disk.exists(&path) {
            if end.is_multiple_of(self.size) && self.disk.exists(&path) {
                self.disk.remove(&path)?;
                self.disk.sync_dir(&self.dir)?;
            }
            return Ok(());
        }
        let file = self.disk.open(&path, &OpenOptions::new())?;
        let within = end % self.size;
        file.write_zeros(within, self.size - within)?;
        Ok(file.sync()?)
    }

    /// Starts the new timeline's copy of the segment in which the old one ends.
    pub fn branch(&self, old: u32, end: u64) -> Result<()> {
        let within = (end % self.size) as usize;
        if within == 0 {
            return Ok(());
        }
        let from = self.dir.join(segment_name(old, Lsn(end), self.size));
        let mut data = self.disk.read(&from)?;
        data.resize(self.size as usize, 0);
        data[within..].fill(0);
        Ok(self.disk.write_atomic(&self.path(end), &data)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_postgres_names() {
        let size = 16 << 20;
        assert_eq!(segment_name(1, Lsn(0x100_0028), size), "000000010000000000000001");
        assert_eq!(segment_name(2, Lsn(0x1_0000_0000), size), "000000020000000100000000");
        assert_eq!(
            parse_segment_name("000000020000000100000000", size),
            Some((2, Lsn(0x1_0000_0000)))
        );
        assert_eq!(parse_segment_name("000000020000000100000100", size), None);
        assert_eq!(parse_segment_name("00000002000000010000000", size), None);
        assert_eq!(parse_segment_name("00000001.history", size), None);
    }
}
