//! When transactions committed, `pg_commit_ts`: the setting `track_commit_timestamp`.
//!
//! ```text
//! pg_commit_ts/<segment in hexadecimal>    32 pages a file
//! page p, bytes 10i..10i+10                transaction p * 819 + i
//! time, i64, microseconds since 1970; 0 is not known    origin, u16
//! ```
//! An entry is made before the commit record is inserted, and a checkpoint writes the entries
//! after it has chosen the redo pointer: whatever committed before that is in the files, and redo
//! makes the others again. An entry of a transaction that did not commit in the end is harmless:
//! who asks looks at the transaction's state first.

use crate::clog::Clog;
use base::{PAGE_SIZE, Result, Xid};
use os::Disk;
use os::sync::Mutex;
use std::collections::BTreeMap;
use std::path::Path;

const ENTRY: usize = 10;

/// Transactions a page.
const PER_PAGE: u64 = (PAGE_SIZE / ENTRY) as u64;

/// Pages that are kept in memory.
const MOST_PAGES: usize = 16;

struct Page {
    bytes: Box<[u8; PAGE_SIZE]>,
    dirty: bool,
}

#[derive(Default)]
struct Inner {
    pages: BTreeMap<u64, Page>,
    last: Option<(Xid, i64)>,
}

/// Times of commits.
pub(crate) struct CommitTimes {
    files: Clog,
    inner: Mutex<Inner>,
}

fn place(xid: Xid) -> (u64, usize) {
    (xid.0 / PER_PAGE, (xid.0 % PER_PAGE) as usize * ENTRY)
}

impl CommitTimes {
    /// The times in a folder.
    pub fn open(disk: Disk, dir: &Path) -> Result<CommitTimes> {
        Ok(CommitTimes { files: Clog::open(disk, dir)?, inner: Mutex::default() })
    }

    /// Forgets what was written while the times were kept.
    pub fn remove(disk: Disk, dir: &Path) -> Result<()> {
        if !disk.exists(dir) {
            return Ok(());
        }
        Clog::open(disk, dir)?.truncate(u64::MAX)
    }

    fn page<'a>(&self, inner: &'a mut Inner, number: u64) -> Result<&'a mut Page> {
        if !inner.pages.contains_key(&number) {
            if inner.pages.len() >= MOST_PAGES
                && let Some((oldest, page)) = inner.pages.pop_first()
                && page.dirty
                && let Err(e) = self.files.write(oldest, &page.bytes)
            {
                inner.pages.insert(oldest, page);
                return Err(e);
            }
            let bytes = Box::new(*self.files.read(number)?);
            inner.pages.insert(number, Page { bytes, dirty: false });
        }
        let page = inner.pages.get_mut(&number);
        page.ok_or_else(|| base::Error::internal("a page of commit times is lost"))
    }

    /// A transaction and its parts are about to commit, or replay says that they did.
    pub fn set(&self, xids: impl Iterator<Item = Xid>, time: i64) -> Result<()> {
        let mut inner = self.inner.lock();
        for xid in xids {
            let (number, at) = place(xid);
            let page = self.page(&mut inner, number)?;
            if let Some(entry) = page.bytes.get_mut(at..at + ENTRY) {
                entry[..8].copy_from_slice(&time.to_le_bytes());
                entry[8..].fill(0);
            }
            page.dirty = true;
        }
        Ok(())
    }

    /// It has committed.
    pub fn committed(&self, xid: Xid, time: i64) {
        self.inner.lock().last = Some((xid, time));
    }

    /// The last one that committed since the start.
    pub fn last(&self) -> Option<(Xid, i64)> {
        self.inner.lock().last
    }

    /// When a transaction committed, if it has.
    pub fn get(&self, xid: Xid) -> Result<Option<i64>> {
        let mut inner = self.inner.lock();
        let (number, at) = place(xid);
        let page = self.page(&mut inner, number)?;
        let time = page.bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
        Ok(time.map(i64::from_le_bytes).filter(|t| *t != 0))
    }

    /// Makes all that is known durable.
    pub fn checkpoint(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        for (number, page) in inner.pages.iter_mut().filter(|(_, p)| p.dirty) {
            self.files.write(*number, &page.bytes)?;
            page.dirty = false;
        }
        drop(inner);
        self.files.sync()
    }

    /// Forgets transactions before this one, as far as whole files are theirs.
    pub fn truncate(&self, oldest: Xid) -> Result<()> {
        self.files.truncate(oldest.0 / PER_PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_after_checkpoints_and_evictions() {
        let dir = std::env::temp_dir().join(format!("olifant-times-{}", os::process::id()));
        let disk = Disk::real();
        let times = CommitTimes::open(disk.clone(), &dir).unwrap();
        for n in 0..40u64 {
            times.set([Xid(3 + n * 700)].into_iter(), 1000 + n as i64).unwrap();
        }
        for n in 0..40u64 {
            assert_eq!(times.get(Xid(3 + n * 700)).unwrap(), Some(1000 + n as i64));
            assert_eq!(times.get(Xid(4 + n * 700)).unwrap(), None);
        }
        times.checkpoint().unwrap();
        drop(times);
        let again = CommitTimes::open(disk.clone(), &dir).unwrap();
        assert_eq!(again.get(Xid(3)).unwrap(), Some(1000));
        assert_eq!(again.last(), None);
        again.committed(Xid(9), 5);
        assert_eq!(again.last(), Some((Xid(9), 5)));
        drop(again);
        CommitTimes::remove(disk.clone(), &dir).unwrap();
        let none = CommitTimes::open(disk.clone(), &dir).unwrap();
        assert_eq!(none.get(Xid(3)).unwrap(), None);
        disk.remove_dir_all(&dir).unwrap();
    }
}
