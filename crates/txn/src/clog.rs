//! The commit log on disk, `pg_xact`: two bits a transaction.
//!
//! ```text
//! pg_xact/<segment in hexadecimal>    32 pages a file
//! page p, byte b, bits 2i..2i+1       transaction p * 32768 + b * 4 + i
//! 0 in progress or crashed   1 committed   2 aborted
//! ```
//! Pages have no header and no checksum: a bit pair only ever goes from 0 to 1 or 2, so a torn
//! write leaves a mixture of two right states, and redo repeats every commit and abort since
//! the checkpoint before it.

use base::{PAGE_SIZE, Result};
use os::sync::Mutex;
use os::{Disk, File, OpenOptions};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Transactions a page.
pub(crate) const XIDS_PER_PAGE: u64 = PAGE_SIZE as u64 * 4;
const SEGMENT_PAGES: u64 = 32;
const CACHED_PAGES: usize = 64;

/// What the two bits say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bits {
    InProgress = 0,
    Committed = 1,
    Aborted = 2,
}

pub(crate) type ClogPage = [u8; PAGE_SIZE];

pub(crate) fn get_bits(page: &ClogPage, at: usize) -> Bits {
    match page[at / 4] >> (at % 4 * 2) & 3 {
        1 => Bits::Committed,
        2 => Bits::Aborted,
        _ => Bits::InProgress,
    }
}

pub(crate) fn set_bits(page: &mut ClogPage, at: usize, bits: Bits) {
    let shift = at % 4 * 2;
    page[at / 4] = page[at / 4] & !(3 << shift) | (bits as u8) << shift;
}

/// The files, with a few pages of old transactions in memory.
pub(crate) struct Clog {
    disk: Disk,
    dir: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    files: HashMap<u64, File>,
    unsynced: BTreeSet<u64>,
    created: bool,
    cache: HashMap<u64, (u64, Arc<ClogPage>)>,
    clock: u64,
}

impl Clog {
    pub fn open(disk: Disk, dir: &Path) -> Result<Clog> {
        disk.create_dir_all(dir)?;
        Ok(Clog { disk, dir: dir.to_path_buf(), inner: Mutex::new(Inner::default()) })
    }

    fn name(&self, segment: u64) -> PathBuf {
        self.dir.join(format!("{segment:04X}"))
    }

    fn file(&self, inner: &mut Inner, segment: u64, create: bool) -> Result<Option<File>> {
        if let Some(file) = inner.files.get(&segment) {
            return Ok(Some(file.clone()));
        }
        let path = self.name(segment);
        let file = match self.disk.open(&path, &OpenOptions::new()) {
            Ok(file) => file,
            Err(e) if e.is_not_found() && !create => return Ok(None),
            Err(e) if e.is_not_found() => {
                inner.created = true;
                self.disk.open(&path, &OpenOptions::new().create())?
            }
            Err(e) => return Err(e.into()),
        };
        inner.files.insert(segment, file.clone());
        Ok(Some(file))
    }

    /// A page; what was never written is all zeros.
    pub fn read(&self, page: u64) -> Result<Arc<ClogPage>> {
        let mut inner = self.inner.lock();
        inner.clock += 1;
        let now = inner.clock;
        if let Some((used, found)) = inner.cache.get_mut(&page) {
            *used = now;
            return Ok(found.clone());
        }
        let mut bytes = Box::new([0u8; PAGE_SIZE]);
        if let Some(file) = self.file(&mut inner, page / SEGMENT_PAGES, false)? {
            file.read_at(&mut bytes[..], page % SEGMENT_PAGES * PAGE_SIZE as u64)?;
        }
        let found: Arc<ClogPage> = Arc::from(bytes);
        if inner.cache.len() >= CACHED_PAGES {
            let oldest = inner.cache.iter().min_by_key(|(_, (used, _))| *used).map(|(p, _)| *p);
            inner.cache.remove(&oldest.unwrap_or(page));
        }
        inner.cache.insert(page, (now, found.clone()));
        Ok(found)
    }

    /// Writes a page; durable after [`Clog::sync`].
    pub fn write(&self, page: u64, bytes: &ClogPage) -> Result<()> {
        let mut inner = self.inner.lock();
        inner.cache.remove(&page);
        let segment = page / SEGMENT_PAGES;
        if let Some(file) = self.file(&mut inner, segment, true)? {
            file.write_at(bytes, page % SEGMENT_PAGES * PAGE_SIZE as u64)?;
            inner.unsynced.insert(segment);
        }
        Ok(())
    }

    /// Makes what was written durable. A failure must stop the server.
    pub fn sync(&self) -> Result<()> {
        let (files, created) = {
            let mut inner = self.inner.lock();
            let segments = std::mem::take(&mut inner.unsynced);
            let files: Vec<File> =
                segments.iter().filter_map(|s| inner.files.get(s).cloned()).collect();
            (files, std::mem::take(&mut inner.created))
        };
        let synced = files.iter().try_for_each(|file| file.sync());
        let synced = synced.and_then(|()| match created {
            true => self.disk.sync_dir(&self.dir),
            false => Ok(()),
        });
        if let Err(e) = &synced {
            // The next sync would succeed without what this one has lost.
            os::abort(&format!("could not make the commit log durable: {e}"));
        }
        Ok(synced?)
    }

    /// Removes the files that hold only pages before this one.
    pub fn truncate(&self, page: u64) -> Result<()> {
        let mut inner = self.inner.lock();
        for entry in self.disk.list(&self.dir)? {
            let Ok(segment) = u64::from_str_radix(&entry.name, 16) else { continue };
            if segment < page / SEGMENT_PAGES {
                inner.files.remove(&segment);
                inner.unsynced.remove(&segment);
                self.disk.remove(&self.name(segment))?;
            }
        }
        inner.cache.retain(|p, _| *p >= page);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_do_not_touch_their_neighbours() {
        let mut page = [0; PAGE_SIZE];
        set_bits(&mut page, 5, Bits::Committed);
        set_bits(&mut page, 6, Bits::Aborted);
        set_bits(&mut page, 5, Bits::Aborted);
        assert_eq!(get_bits(&page, 4), Bits::InProgress);
        assert_eq!(get_bits(&page, 5), Bits::Aborted);
        assert_eq!(get_bits(&page, 6), Bits::Aborted);
        assert_eq!(get_bits(&page, 7), Bits::InProgress);
    }
}
