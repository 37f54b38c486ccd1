//! The files of one fork: segments of 1 GB, opened when first used.

use crate::pool::PoolInner;
use base::wait::WaitEvent;
use base::{Error, Fork, PAGE_SIZE, RelFile, Result, SqlState, bail};
use os::sync::{Mutex, RwLock};
use os::{AlignedBuf, File, IoError, OpenOptions};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Pages in a segment file: 1 GB.
pub const SEGMENT_BLOCKS: u32 = (1 << 30) / PAGE_SIZE as u32;

/// One open segment file.
pub(crate) struct Segment {
    pub file: File,
    /// Path below the data directory, as messages show it.
    pub name: String,
    /// Written since the last checkpoint took note.
    needs_sync: AtomicBool,
    /// Asked for since it was last looked at for closing.
    used: AtomicBool,
}

/// A fork's segments, by number; None: not open.
type Slots = RwLock<Vec<Option<Arc<Segment>>>>;

/// All segments that are open, longest open first, so that there are never many more than
/// `max_files_per_process`.
#[derive(Default)]
pub(crate) struct OpenFiles {
    all: Mutex<VecDeque<(Weak<Slots>, usize)>>,
}

impl OpenFiles {
    /// A segment is to be opened: closes one that nobody has used for the longest, or about, if
    /// there are `most`. Those that somebody has in hand, or has to sync, stay.
    fn make_room(&self, most: usize) {
        let mut all = self.all.lock();
        for _ in 0..all.len() * 2 {
            if all.len() < most {
                return;
            }
            let Some((slots, number)) = all.pop_front() else { return };
            let Some(fork) = slots.upgrade() else { continue };
            // Whoever holds the lock opens or closes one himself.
            let Some(mut open) = fork.try_write() else {
                all.push_back((slots, number));
                continue;
            };
            let Some(Some(segment)) = open.get(number) else { continue };
            if segment.used.swap(false, Ordering::Relaxed) || Arc::strong_count(segment) > 1 {
                all.push_back((slots, number));
                continue;
            }
            open[number] = None;
        }
    }
}

/// The segments of a fork that have been opened.
pub(crate) struct Segments {
    rel: RelFile,
    fork: Fork,
    open: Arc<Slots>,
}

/// The name of a segment file, below the data directory.
fn segment_name(rel: RelFile, fork: Fork, segment: u32) -> String {
    match segment {
        0 => format!("{rel}{}", fork.suffix()),
        n => format!("{rel}{}.{n}", fork.suffix()),
    }
}

fn offset(block: u32) -> u64 {
    (block % SEGMENT_BLOCKS) as u64 * PAGE_SIZE as u64
}

fn file_error(what: &str, name: &str, e: &IoError) -> Error {
    let text = e.to_string();
    let reason = text.rsplit_once("\": ").map_or(text.as_str(), |(_, reason)| reason);
    let error = Error::new(e.sqlstate(), format!("could not {what} file \"{name}\": {reason}"));
    if e.sqlstate() == SqlState::DISK_FULL { error.hint("Check free disk space.") } else { error }
}

impl Segments {
    pub fn new(rel: RelFile, fork: Fork) -> Segments {
        Segments { rel, fork, open: Arc::default() }
    }

    fn path(&self, pool: &PoolInner, segment: u32) -> (PathBuf, String) {
        let name = segment_name(self.rel, self.fork, segment);
        (pool.config.data_dir.join(&name), name)
    }

    /// The segment, opened; `None` if its file does not exist and is not to be made.
    pub fn get(
        &self,
        pool: &PoolInner,
        segment: u32,
        create: bool,
    ) -> Result<Option<Arc<Segment>>> {
        if let Some(Some(open)) = self.open.read().get(segment as usize) {
            if !open.used.load(Ordering::Relaxed) {
                open.used.store(true, Ordering::Relaxed);
            }
            return Ok(Some(open.clone()));
        }
        pool.open_files.make_room(pool.config.open_files);
        let mut open = self.open.write();
        if let Some(Some(found)) = open.get(segment as usize) {
            return Ok(Some(found.clone()));
        }
        let (path, name) = self.path(pool, segment);
        let options = OpenOptions::new().direct(pool.config.direct_io);
        let file = match pool.disk.open(&path, &options) {
            Ok(file) => file,
            Err(e) if e.is_not_found() && !create => return Ok(None),
            Err(e) if e.is_not_found() => self.create(pool, &path, &name, &options.create())?,
            Err(e) => return Err(file_error("open", &name, &e)),
        };
        let (needs_sync, used) = (AtomicBool::new(false), AtomicBool::new(true));
        let found = Arc::new(Segment { file, name, needs_sync, used });
        if open.len() <= segment as usize {
            open.resize(segment as usize + 1, None);
        }
        open[segment as usize] = Some(found.clone());
        let place = (Arc::downgrade(&self.open), segment as usize);
        pool.open_files.all.lock().push_back(place);
        Ok(Some(found))
    }

    fn create(
        &self,
        pool: &PoolInner,
        path: &Path,
        name: &str,
        options: &OpenOptions,
    ) -> Result<File> {
        if let Some(parent) = path.parent() {
            // Redo may come before the folder of a tablespace or database.
            pool.disk.create_dir_all(parent).map_err(|e| file_error("create", name, &e))?;
            pool.pending_dirs.lock().insert(parent.to_path_buf());
        }
        pool.disk.open(path, options).map_err(|e| file_error("create", name, &e))
    }

    /// The segment that holds a block; an error if its file does not exist.
    pub fn of_block(&self, pool: &PoolInner, block: u32) -> Result<Arc<Segment>> {
        let segment = block / SEGMENT_BLOCKS;
        match self.get(pool, segment, false)? {
            Some(found) => Ok(found),
            None => {
                let (_, name) = self.path(pool, segment);
                bail!(UNDEFINED_FILE, "could not open file \"{name}\": No such file or directory")
            }
        }
    }

    /// Number of whole pages in the files; `None` if there is no file.
    pub fn measure(&self, pool: &PoolInner) -> Result<Option<u32>> {
        let mut blocks = 0u32;
        for segment in 0.. {
            let Some(found) = self.get(pool, segment, false)? else {
                return Ok((segment > 0).then_some(blocks));
            };
            let len =
                found.file.len().map_err(|e| file_error("seek to end of", &found.name, &e))?;
            let here = (len / PAGE_SIZE as u64).min(SEGMENT_BLOCKS as u64) as u32;
            blocks = blocks.saturating_add(here);
            if here < SEGMENT_BLOCKS {
                break;
            }
        }
        Ok(Some(blocks))
    }

    /// Makes room for `count` pages of zeros from `first` on, which is the present end.
    pub fn allocate(&self, pool: &PoolInner, first: u32, count: u32) -> Result<()> {
        let _waiting = os::wait::begin(WaitEvent::DataFileExtend);
        let (mut block, end) = (first, first + count);
        while block < end {
            let here = (SEGMENT_BLOCKS - block % SEGMENT_BLOCKS).min(end - block);
            let Some(found) = self.get(pool, block / SEGMENT_BLOCKS, true)? else {
                return Err(Error::internal("a segment file could not be created"));
            };
            let bytes = here as usize * PAGE_SIZE;
            let extended = match pool.config.extend_by_zeros {
                true => found.file.write_at(&AlignedBuf::zeroed(bytes), offset(block)),
                false => found.file.allocate(offset(block), bytes as u64),
            };
            extended.map_err(|e| file_error("extend", &found.name, &e))?;
            self.note_written(pool, &found);
            block += here;
        }
        Ok(())
    }

    /// Reads pages that lie side by side in one segment. Fewer bytes mean the file is short.
    pub fn read(&self, pool: &PoolInner, block: u32, buf: &mut [u8]) -> Result<()> {
        let found = self.of_block(pool, block)?;
        let _waiting = os::wait::begin(WaitEvent::DataFileRead);
        let mut done = 0;
        while done < buf.len() {
            let n = found
                .file
                .read_at(&mut buf[done..], offset(block) + done as u64)
                .map_err(|e| read_error(block, (buf.len() / PAGE_SIZE) as u32, &found.name, &e))?;
            if n == 0 {
                return Err(short_read(block, &found.name, done));
            }
            done += n;
        }
        Ok(())
    }

    /// Remembers that the next checkpoint has to sync the file. To be called before the page
    /// that was written is marked clean.
    pub fn note_written(&self, pool: &PoolInner, segment: &Arc<Segment>) {
        if !segment.needs_sync.swap(true, Ordering::SeqCst) {
            pool.pending_sync.lock().push(segment.clone());
        }
    }

    /// Cuts the files to `blocks` pages.
    pub fn truncate(&self, pool: &PoolInner, blocks: u32) -> Result<()> {
        let _waiting = os::wait::begin(WaitEvent::DataFileTruncate);
        let last = blocks / SEGMENT_BLOCKS;
        for segment in (last..).take_while(|s| *s < u32::MAX / SEGMENT_BLOCKS + 1) {
            let Some(found) = self.get(pool, segment, false)? else { break };
            if segment > last {
                self.remove_segment(pool, segment)?;
                continue;
            }
            found
                .file
                .truncate(offset(blocks))
                .map_err(|e| file_error("truncate", &found.name, &e))?;
            self.note_written(pool, &found);
        }
        Ok(())
    }

    fn remove_segment(&self, pool: &PoolInner, segment: u32) -> Result<bool> {
        if let Some(slot) = self.open.write().get_mut(segment as usize) {
            *slot = None;
        }
        let (path, name) = self.path(pool, segment);
        match pool.disk.remove(&path) {
            Ok(()) => {
                pool.pending_dirs.lock().extend(path.parent().map(Path::to_path_buf));
                Ok(true)
            }
            Err(e) if e.is_not_found() => Ok(false),
            Err(e) => Err(file_error("remove", &name, &e)),
        }
    }

    /// Removes all files of the fork.
    pub fn remove(&self, pool: &PoolInner) -> Result<()> {
        for segment in 0.. {
            if !self.remove_segment(pool, segment)? {
                break;
            }
        }
        Ok(())
    }

    /// Syncs all files of the fork now.
    pub fn sync(&self, pool: &PoolInner) -> Result<()> {
        let open: Vec<_> = self.open.read().iter().flatten().cloned().collect();
        for segment in open {
            segment.sync(pool)?;
        }
        Ok(())
    }
}

impl Segment {
    /// Syncs the file. A failure is fatal: what the kernel has thrown away cannot be written
    /// again, so only recovery from the log is right. With `data_sync_retry` the kernel is one that
    /// throws nothing away, and the next checkpoint tries again.
    pub fn sync(&self, pool: &PoolInner) -> Result<()> {
        // Before the sync: what is written during it belongs to the next one.
        let needed = self.needs_sync.swap(false, Ordering::SeqCst);
        let _waiting = os::wait::begin(WaitEvent::DataFileSync);
        self.file.sync().map_err(|e| {
            let error = file_error("fsync", &self.name, &e);
            if !pool.config.data_sync_retry {
                return pool.fatal(error);
            }
            self.needs_sync.fetch_or(needed, Ordering::SeqCst);
            error
        })
    }
}

pub(crate) fn read_error(block: u32, count: u32, name: &str, e: &IoError) -> Error {
    let last = block + count.saturating_sub(1);
    file_error(&format!("read blocks {block}..{last} in"), name, e)
}

pub(crate) fn short_read(block: u32, name: &str, got: usize) -> Error {
    Error::new(
        SqlState::DATA_CORRUPTED,
        format!(
            "could not read blocks {block}..{block} in file \"{name}\": \
             read only {} of {PAGE_SIZE} bytes",
            got % PAGE_SIZE
        ),
    )
}

pub(crate) fn write_error(block: u32, name: &str, e: &IoError) -> Error {
    file_error(&format!("write blocks {block}..{block} in"), name, e)
}
