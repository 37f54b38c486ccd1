//! Writing pages back: by who needs room, by the background writer, by checkpoints.

use crate::counts::{self, Backend, Context, Op};
use crate::frame::{Attempt, Frame, Pin, pin_frame};
use crate::page::{Page, page_lsn, seal};
use crate::pool::{BufferPool, PoolInner};
use crate::relation::{Persistence, RelFiles};
use crate::segment::{SEGMENT_BLOCKS, Segment, write_error};
use crate::usage;
use crate::word;
use base::wait::WaitEvent;
use base::{BlockNo, Fork, Lsn, PAGE_SIZE, RelFile, Result};
use os::{AlignedBuf, IoMethod, IoQueue};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Pages that a checkpoint copies and writes at a time, in a pool that is not tiny.
const BATCH: usize = 64;

/// A dirty page that was found, by where it goes; sorting gives the order of writing.
type Found = (RelFile, Fork, BlockNo, u32);

thread_local! {
    static ONE_PAGE: RefCell<Option<Batch>> = const { RefCell::new(None) };
}

fn as_page(bytes: &mut [u8]) -> &mut Page {
    match bytes.try_into() {
        Ok(page) => page,
        Err(_) => unreachable!("staging slots have the size of a page"),
    }
}

/// Memory for the copies of pages on their way to disk, and the queue they go through.
pub(crate) struct Batch {
    /// Before `staging`, so that it is dropped first.
    queue: Option<IoQueue>,
    staging: AlignedBuf,
}

/// Neighbouring pages: which of the batch, the first one's number, the file.
struct Run {
    pages: Range<usize>,
    block: u32,
    segment: Arc<Segment>,
}

impl Run {
    fn bytes<'a>(&self, staging: &'a AlignedBuf) -> &'a [u8] {
        &staging[self.pages.start * PAGE_SIZE..self.pages.end * PAGE_SIZE]
    }

    fn offset(&self) -> u64 {
        (self.block % SEGMENT_BLOCKS) as u64 * PAGE_SIZE as u64
    }

    fn error(&self, e: &os::IoError) -> base::Error {
        write_error(self.block, &self.segment.name, e)
    }
}

impl Batch {
    fn new(pages: usize) -> Batch {
        Batch { staging: AlignedBuf::zeroed(pages * PAGE_SIZE), queue: None }
    }

    fn slot(&mut self, at: usize) -> &mut Page {
        as_page(&mut self.staging[at * PAGE_SIZE..(at + 1) * PAGE_SIZE])
    }

    /// Writes all runs at the same time and waits for them.
    fn write_all(&mut self, runs: &[Run], method: IoMethod) -> Result<()> {
        let queue = self.queue.get_or_insert_with(|| IoQueue::new(method));
        for (number, run) in runs.iter().enumerate() {
            let bytes = run.bytes(&self.staging);
            // SAFETY: the staging memory stays, unchanged, until all completions are in below;
            // if this thread unwinds before, the queue, dropped first, waits for them.
            unsafe {
                queue.submit_write(
                    &run.segment.file,
                    bytes.as_ptr(),
                    bytes.len(),
                    run.offset(),
                    number as u64,
                );
            }
        }
        let mut done = Vec::with_capacity(runs.len());
        while queue.in_flight() > 0 {
            queue.wait(usize::MAX, &mut done);
        }
        for completion in done {
            let run = &runs[completion.token as usize];
            completion.result.map_err(|e| run.error(&e))?;
        }
        Ok(())
    }
}

impl PoolInner {
    /// Pins whatever valid page the frame holds.
    pub(crate) fn pin_any(&self, frame: &Frame) -> Option<Pin> {
        // Looking first keeps idle frames' cache lines clean.
        if frame.word.load() & (word::VALID | word::CLAIMED) != word::VALID {
            return None;
        }
        match pin_frame(frame) {
            Attempt::Pinned(pin) => Some(pin),
            Attempt::Loading(_) | Attempt::Gone => None,
        }
    }

    /// Writes the page of a frame that is to be reused. False if it is in use after all.
    pub(crate) fn write_victim(&self, frame: &Frame) -> Result<bool> {
        let Some(pin) = self.pin_any(frame) else { return Ok(false) };
        if !frame.word.try_begin_write() {
            return Ok(false);
        }
        // Not waiting for a latch: the thread may hold others, which its holder may want.
        let copied = match pin.try_read() {
            Some(page) => {
                frame.word.copied();
                let mut batch = ONE_PAGE.take().unwrap_or_else(|| Batch::new(1));
                batch.slot(0).copy_from_slice(&*page);
                Some(batch)
            }
            None => None,
        };
        let Some(mut batch) = copied else {
            frame.wake_if(frame.word.finish_write(false));
            return Ok(false);
        };
        self.stats.backend_writes.fetch_add(1, Ordering::Relaxed);
        let persistence = pin.rel().persistence();
        usage::count_written(persistence, 1);
        let context = match persistence {
            Persistence::Temp => Context::Temp,
            _ => Context::Normal,
        };
        let began = counts::begin();
        self.write_staged(&[pin], &mut batch)?;
        counts::end(began, context, Op::WriteNanos);
        counts::add(context, Op::Write, 1);
        counts::add(context, Op::Evict, 1);
        ONE_PAGE.set(Some(batch));
        Ok(true)
    }

    /// Writes these pages, in this order, if they are still dirty. Gives how many it wrote.
    ///
    /// While it is the writer of some pages it waits for nothing but the log and the disk: who
    /// waits for one of its pages may be in the way of another. Pages that are not to be had at
    /// once come afterwards, one by one.
    fn write_batch(&self, found: &[Found], batch: &mut Batch) -> Result<usize> {
        let mut pins: Vec<Pin> = Vec::with_capacity(found.len());
        let mut busy: Vec<u32> = Vec::new();
        for (.., index) in found {
            let frame = self.frame(*index);
            let Some(pin) = self.pin_any(frame) else { continue };
            if !frame.word.try_begin_write() {
                if frame.word.load() & word::DIRTY != 0 {
                    busy.push(*index);
                }
                continue;
            }
            let Some(page) = pin.try_read() else {
                frame.wake_if(frame.word.finish_write(false));
                busy.push(*index);
                continue;
            };
            frame.word.copied();
            batch.slot(pins.len()).copy_from_slice(&*page);
            drop(page);
            pins.push(pin);
        }
        let mut written = pins.len();
        self.write_staged(&pins, batch)?;
        drop(pins);
        for index in busy {
            written += self.write_busy(self.frame(index), batch)? as usize;
        }
        Ok(written)
    }

    /// Writes a page that somebody else is writing or changing, when they are done. The caller
    /// must know afterwards that what was dirty before is in the file.
    fn write_busy(&self, frame: &Frame, batch: &mut Batch) -> Result<bool> {
        loop {
            let Some(pin) = self.pin_any(frame) else { return Ok(false) };
            if frame.word.try_begin_write() {
                copy_out(&pin, batch.slot(0));
                return self.write_staged(&[pin], batch).map(|()| true);
            }
            if frame.word.load() & word::DIRTY == 0 {
                return Ok(false);
            }
            let writing = || frame.word.load() & word::WRITING != 0;
            if writing() {
                frame.wait_until(WaitEvent::BufferIo, || !writing());
            }
        }
    }

    /// Writes the copies, in the batch, of pages whose writer we are, and is that no longer.
    fn write_staged(&self, pins: &[Pin], batch: &mut Batch) -> Result<()> {
        let mut newest = Lsn::INVALID;
        for (at, pin) in pins.iter().enumerate() {
            let copy = batch.slot(at);
            if pin.rel().persistence() == Persistence::Permanent {
                newest = newest.max(page_lsn(copy));
            }
            seal(copy, pin.block().0);
        }
        // No page goes to disk before the log that describes it.
        let mut result = Ok(());
        if newest > self.log.flushed() {
            result = self.log.flush(newest);
        }
        let result = result.and_then(|()| self.write_runs(pins, batch));
        for pin in pins {
            let frame = pin.frame();
            frame.wake_if(frame.word.finish_write(result.is_ok()));
        }
        result
    }

    /// Writes the staged copies of these pages; neighbours on disk go in one request.
    fn write_runs(&self, pins: &[Pin], batch: &mut Batch) -> Result<()> {
        let mut runs = Vec::new();
        let mut start = 0;
        while start < pins.len() {
            let first = &pins[start];
            let block = first.block().0;
            let mut len = 1;
            while let Some(next) = pins.get(start + len)
                && Arc::ptr_eq(next.rel(), first.rel())
                && next.fork() == first.fork()
                && next.block().0 == block + len as u32
                && next.block().0 % SEGMENT_BLOCKS != 0
            {
                len += 1;
            }
            let segment = first.rel().fork(first.fork()).segments.of_block(self, block)?;
            runs.push(Run { pages: start..start + len, block, segment });
            start += len;
        }
        let _waiting = os::wait::begin(WaitEvent::DataFileWrite);
        match &runs[..] {
            [] => return Ok(()),
            [run] => run
                .segment
                .file
                .write_at(run.bytes(&batch.staging), run.offset())
                .map_err(|e| run.error(&e))?,
            runs => batch.write_all(runs, self.config.io_method)?,
        }
        for run in &runs {
            let first = &pins[run.pages.start];
            first.rel().fork(first.fork()).segments.note_written(self, &run.segment);
        }
        Ok(())
    }

    /// Pages that are pinned for writing at a time: few enough to leave some for others.
    fn batch_size(&self) -> usize {
        (self.frames().len() / 8).clamp(1, BATCH)
    }

    /// The dirty pages that `wanted` picks, sorted by where they go.
    fn find_dirty(&self, wanted: impl Fn(&RelFiles) -> bool) -> Vec<Found> {
        let mut found = Vec::new();
        for frame in self.frames() {
            if frame.word.load() & word::DIRTY == 0 {
                continue;
            }
            if let Some(pin) = self.pin_any(frame)
                && wanted(pin.rel())
            {
                found.push((pin.rel().file(), pin.fork(), pin.block(), frame.index()));
            }
        }
        found.sort_unstable();
        found
    }
}

/// Copies a page whose writer we are, under the share latch.
fn copy_out(pin: &Pin, copy: &mut Page) {
    let page = pin.read();
    pin.frame().word.copied();
    copy.copy_from_slice(&*page);
}

/// What a checkpoint wrote.
#[derive(Clone, Copy, Default, Debug)]
pub struct CheckpointCounts {
    /// Pages written.
    pub pages: usize,
    /// Files synced.
    pub files: usize,
    /// Microseconds that writing took, with the pauses.
    pub write_micros: u64,
    /// Microseconds that syncing took.
    pub sync_micros: u64,
}

impl BufferPool {
    /// Writes every page that is dirty now and syncs the files written since the last time.
    /// The caller has set the redo pointer before. `pace` is told the share done so far, from
    /// 0 to 1, after each batch, and sleeps to spread the work. Pages of unlogged relations
    /// are written at `shutdown` only, those of temporary ones never.
    pub fn checkpoint(
        &self,
        shutdown: bool,
        pace: &mut dyn FnMut(f64),
    ) -> Result<CheckpointCounts> {
        let found = self.inner.find_dirty(|rel| match rel.persistence() {
            Persistence::Permanent => true,
            Persistence::Unlogged => shutdown,
            Persistence::Temp => false,
        });
        let mut counts = CheckpointCounts::default();
        let began = os::clock::monotonic_nanos();
        let size = self.inner.batch_size();
        let mut copies = Batch::new(size);
        for (i, batch) in found.chunks(size).enumerate() {
            counts.pages += self.inner.write_batch(batch, &mut copies)?;
            pace(((i * size + batch.len()) as f64) / found.len() as f64);
        }
        self.stats().checkpoint_writes.fetch_add(counts.pages as u64, Ordering::Relaxed);
        let written = os::clock::monotonic_nanos();
        counts.files = self.sync_pending()?;
        counts::counted_as(Backend::Checkpointer, || {
            let add = |op, n| counts::add(Context::Normal, op, n);
            add(Op::Write, counts.pages as u64);
            add(Op::Sync, counts.files as u64);
            if counts::begin().is_some() {
                add(Op::WriteNanos, written - began);
                add(Op::SyncNanos, os::clock::monotonic_nanos() - written);
            }
        });
        counts.write_micros = (written - began) / 1000;
        counts.sync_micros = (os::clock::monotonic_nanos() - written) / 1000;
        Ok(counts)
    }

    /// Syncs the files, and the folders of files that came or went, since the last time.
    pub fn sync_pending(&self) -> Result<usize> {
        let dirs = std::mem::take(&mut *self.inner.pending_dirs.lock());
        let segments = std::mem::take(&mut *self.inner.pending_sync.lock());
        for (i, segment) in segments.iter().enumerate() {
            if let Err(e) = Segment::sync(segment, &self.inner) {
                // For the next time, if there is one.
                self.inner.pending_sync.lock().extend_from_slice(&segments[i..]);
                self.inner.pending_dirs.lock().extend(dirs);
                return Err(e);
            }
        }
        for dir in &dirs {
            match self.disk().sync_dir(dir) {
                Err(e) if e.is_not_found() => {}
                Err(e) if self.inner.config.data_sync_retry => {
                    self.inner.pending_dirs.lock().extend(dirs);
                    return Err(e.into());
                }
                Err(e) => return Err(self.inner.fatal(e.into())),
                Ok(()) => {}
            }
        }
        Ok(segments.len())
    }

    /// Writes the dirty pages of a relation and syncs its files, as before its files are copied.
    pub fn flush_relation(&self, rel: &Arc<RelFiles>) -> Result<()> {
        let found = self.inner.find_dirty(|r| r.file() == rel.file());
        self.flush_found(&found)?;
        for fork in Fork::ALL {
            rel.sync(fork)?;
        }
        Ok(())
    }

    /// Writes the dirty pages of a database, as before its folder is copied.
    pub fn flush_database(&self, database: base::Oid) -> Result<()> {
        let found = self
            .inner
            .find_dirty(|r| r.file().database == database && r.persistence() != Persistence::Temp);
        self.flush_found(&found)
    }

    fn flush_found(&self, found: &[Found]) -> Result<()> {
        let size = self.inner.batch_size();
        let mut copies = Batch::new(size);
        for batch in found.chunks(size) {
            self.inner.write_batch(batch, &mut copies)?;
        }
        Ok(())
    }

    /// One round of the background writer: looks at the frames that the clock hand reaches
    /// next and writes up to `most` of their dirty pages that nobody has used lately, so that
    /// sessions find clean ones. Gives how many it wrote.
    pub fn background_write(&self, most: usize) -> Result<usize> {
        let frames = self.inner.frames();
        let hand = self.inner.hand.load(Ordering::Relaxed) as usize % frames.len();
        let mut found = Vec::new();
        for i in 0..frames.len().min(most.saturating_mul(16)) {
            let frame = &frames[(hand + i) % frames.len()];
            let state = frame.word.load();
            if state & word::DIRTY == 0
                || state & (word::PINS | word::WRITING | word::CLAIMED) != 0
                || frame.usage.load(Ordering::Relaxed) > 0
            {
                continue;
            }
            if let Some(pin) = self.inner.pin_any(frame) {
                found.push((pin.rel().file(), pin.fork(), pin.block(), frame.index()));
            }
            if found.len() >= most {
                break;
            }
        }
        found.sort_unstable();
        let mut written = 0;
        let size = self.inner.batch_size().min(most.max(1));
        let mut copies = Batch::new(size);
        for batch in found.chunks(size) {
            written += self.inner.write_batch(batch, &mut copies)?;
        }
        self.stats().background_writes.fetch_add(written as u64, Ordering::Relaxed);
        if written >= most && most > 0 {
            self.stats().background_halts.fetch_add(1, Ordering::Relaxed);
        }
        counts::counted_as(Backend::BackgroundWriter, || {
            counts::add(Context::Normal, Op::Write, written as u64);
        });
        Ok(written)
    }
}
