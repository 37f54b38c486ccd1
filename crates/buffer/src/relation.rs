//! A relation's files as pages: reading, extending, truncating.

use crate::counts::{self, Context, Op};
use crate::frame::{Attempt, Frame, OptPage, PageMut, PageRef, Pin, Tag, pin_frame};
use crate::map::{ABSENT, BlockMap};
use crate::page::{Page, has_sane_limits, unseal};
use crate::pool::PoolInner;
use crate::replace::Ring;
use crate::segment::Segments;
use crate::usage;
use crate::word::{self, Pinned};
use base::wait::WaitEvent;
use base::{BlockNo, Error, Fork, PAGE_SIZE, RelFile, Result, SqlState, bail};
use os::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What happens to a relation's pages in a crash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// Logged, survives.
    Permanent,
    /// Not logged, reset after a crash.
    Unlogged,
    /// Not logged, seen by one session, gone after a restart.
    Temp,
}

/// What to do about the bytes of a page that is not in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Read them; a page that fails its checksum is an error.
    Read,
    /// Read them; a page that fails its checksum becomes zeros (free space maps).
    ReadOrZero,
}

const UNKNOWN: u32 = u32::MAX;
/// Most pages that a fork can have.
pub const MAX_BLOCKS: u32 = u32::MAX - 1;

pub(crate) struct ForkFiles {
    pub map: BlockMap,
    pub segments: Segments,
    /// Pages in the fork, or UNKNOWN until somebody asks.
    nblocks: AtomicU32,
    /// Held by who changes the number of pages.
    extending: Mutex<()>,
}

/// The files of one relation. Sessions share it; get it from `BufferPool::relation`.
pub struct RelFiles {
    pool: Arc<PoolInner>,
    file: RelFile,
    persistence: Persistence,
    forks: [ForkFiles; 4],
    dropped: AtomicBool,
    /// Search start of the free space map; advice only.
    pub(crate) fsm_hint: AtomicU32,
    /// A page that a scan of the whole table was at lately; advice only.
    scan_place: AtomicU32,
}

impl RelFiles {
    pub(crate) fn new(pool: Arc<PoolInner>, file: RelFile, persistence: Persistence) -> RelFiles {
        RelFiles {
            pool,
            file,
            persistence,
            forks: Fork::ALL.map(|fork| ForkFiles {
                map: BlockMap::new(),
                segments: Segments::new(file, fork),
                nblocks: AtomicU32::new(UNKNOWN),
                extending: Mutex::new(()),
            }),
            dropped: AtomicBool::new(false),
            fsm_hint: AtomicU32::new(0),
            scan_place: AtomicU32::new(0),
        }
    }

    /// Where scans of the whole table are about, for others to join them.
    pub fn scan_place(&self) -> u32 {
        self.scan_place.load(Ordering::Relaxed)
    }

    /// A scan of the whole table is here.
    pub fn note_scan_place(&self, block: u32) {
        self.scan_place.store(block, Ordering::Relaxed);
    }

    /// Which relation this is.
    pub fn file(&self) -> RelFile {
        self.file
    }

    /// What happens to its pages in a crash.
    pub fn persistence(&self) -> Persistence {
        self.persistence
    }

    #[inline]
    fn context(&self, ring: Option<&Ring>) -> Context {
        match (self.persistence, ring) {
            (Persistence::Temp, _) => Context::Temp,
            (_, Some(ring)) => ring.context(),
            _ => Context::Normal,
        }
    }

    #[inline]
    fn count_hit(&self, ring: Option<&Ring>) {
        usage::count_hit(self.persistence);
        counts::hit(self.file, self.context(ring));
    }

    fn count_read(&self, ring: Option<&Ring>) {
        usage::count_read(self.persistence);
        counts::read(self.file, self.context(ring));
    }

    pub(crate) fn pool(&self) -> &Arc<PoolInner> {
        &self.pool
    }

    pub(crate) fn fork(&self, fork: Fork) -> &ForkFiles {
        &self.forks[fork as usize]
    }

    /// Number of pages in the fork. A fork without a file has none, except the main fork, whose
    /// absence is an error.
    #[inline]
    pub fn nblocks(&self, fork: Fork) -> Result<BlockNo> {
        match self.fork(fork).nblocks.load(Ordering::Acquire) {
            UNKNOWN => self.measure(fork).map(BlockNo),
            n => Ok(BlockNo(n)),
        }
    }

    #[cold]
    fn measure(&self, fork: Fork) -> Result<u32> {
        let ff = self.fork(fork);
        let _guard = ff.extending.lock();
        self.measure_locked(fork)
    }

    fn measure_locked(&self, fork: Fork) -> Result<u32> {
        let ff = self.fork(fork);
        let known = ff.nblocks.load(Ordering::Acquire);
        if known != UNKNOWN {
            return Ok(known);
        }
        match ff.segments.measure(&self.pool)? {
            Some(n) => {
                ff.nblocks.store(n, Ordering::Release);
                Ok(n)
            }
            None if fork == Fork::Main => {
                bail!(
                    UNDEFINED_FILE,
                    "could not open file \"{}\": No such file or directory",
                    self.file
                )
            }
            None => Ok(0),
        }
    }

    /// True if the fork has a file.
    pub fn exists(&self, fork: Fork) -> Result<bool> {
        Ok(!self.dropped.load(Ordering::Acquire)
            && self.fork(fork).segments.get(&self.pool, 0, false)?.is_some())
    }

    /// Makes the fork's file, empty, if it does not exist.
    pub fn create_fork(&self, fork: Fork) -> Result<()> {
        self.fork(fork).segments.get(&self.pool, 0, true).map(drop)
    }

    fn frame(&self, index: u32) -> &Frame {
        self.pool.frame(index)
    }

    /// Pins the page if it is in memory, waiting for its loader if there is one.
    #[inline]
    pub(crate) fn lookup(&self, fork: Fork, block: u32) -> Option<Pin> {
        let map = &self.fork(fork).map;
        let mut spins = 0;
        loop {
            let entry = map.get(block);
            if entry & ABSENT != 0 {
                return None;
            }
            match pin_frame(self.frame(entry)) {
                // The entry still names the frame, so the pin came before any claim of it.
                Attempt::Pinned(pin) if map.get(block) == entry => return Some(pin),
                Attempt::Pinned(_) => {}
                Attempt::Loading(pin) => {
                    if map.get(block) == entry && wait_loaded(&pin) && map.get(block) == entry {
                        return Some(pin);
                    }
                }
                Attempt::Gone => back_off(&mut spins),
            }
        }
    }

    /// The page, in memory and pinned.
    #[inline]
    pub fn read(self: &Arc<Self>, fork: Fork, block: BlockNo) -> Result<Pin> {
        if let Some(pin) = self.lookup(fork, block.0) {
            pin.frame().touch();
            self.count_hit(None);
            return Ok(pin);
        }
        self.read_absent(fork, block.0, None, Fill::Read)
    }

    /// As [`RelFiles::read`], taking room from the ring rather than from the whole pool.
    pub fn read_in_ring(self: &Arc<Self>, fork: Fork, block: BlockNo, ring: &Ring) -> Result<Pin> {
        if let Some(pin) = self.lookup(fork, block.0) {
            self.count_hit(Some(ring));
            return Ok(pin);
        }
        self.read_absent(fork, block.0, Some(ring), Fill::Read)
    }

    /// The page pinned and latched for reading, in one atomic operation if it is in memory and
    /// no writer has it.
    #[inline]
    pub fn read_shared(self: &Arc<Self>, fork: Fork, block: BlockNo) -> Result<PageRef<'static>> {
        let map = &self.fork(fork).map;
        let entry = map.get(block.0);
        if entry & ABSENT == 0 {
            let frame = self.frame(entry);
            let (pinned, latched) = frame.word.pin_shared();
            if pinned == Pinned::Valid && map.get(block.0) == entry {
                if let Err(sleepers) = latched {
                    frame.wake_if(sleepers);
                    frame.lock_shared_slow();
                }
                frame.touch();
                self.count_hit(None);
                return Ok(PageRef::adopt(frame));
            }
            match (pinned, latched) {
                (Pinned::Claimed(sleepers), _) => frame.wake_if(sleepers),
                (_, Ok(())) => drop(PageRef::adopt(frame)),
                (_, Err(sleepers)) => {
                    frame.wake_if(sleepers);
                    drop(Pin::adopt(frame));
                }
            }
        }
        Ok(self.read(fork, block)?.into_read())
    }

    /// The page pinned and latched for writing.
    pub fn read_exclusive(
        self: &Arc<Self>,
        fork: Fork,
        block: BlockNo,
    ) -> Result<PageMut<'static>> {
        Ok(self.read(fork, block)?.into_write())
    }

    /// Reads a page in memory without pinning or latching it. `None` if it is not in memory,
    /// or changed meanwhile. See [`OptPage`] for what the closure may rely on.
    #[inline]
    pub fn optimistic<R>(
        &self,
        fork: Fork,
        block: BlockNo,
        read: impl FnOnce(OptPage<'_>) -> R,
    ) -> Option<R> {
        let map = &self.fork(fork).map;
        let entry = map.get(block.0);
        if entry & ABSENT != 0 {
            return None;
        }
        let frame = self.frame(entry);
        let page = OptPage::begin(frame)?;
        // Whoever takes the frame makes its version odd first and clears the entry second.
        if map.get(block.0) != entry {
            return None;
        }
        if frame.usage.load(Ordering::Relaxed) == 0 {
            frame.usage.store(1, Ordering::Relaxed);
        }
        let result = read(page);
        let valid = page.still_valid();
        if valid {
            self.count_hit(None);
        }
        valid.then_some(result)
    }

    /// True if the page is in memory now.
    pub fn is_resident(&self, fork: Fork, block: BlockNo) -> bool {
        self.fork(fork).map.get(block.0) & ABSENT == 0
    }

    #[cold]
    pub(crate) fn read_absent(
        self: &Arc<Self>,
        fork: Fork,
        block: u32,
        ring: Option<&Ring>,
        fill: Fill,
    ) -> Result<Pin> {
        self.check_in_range(fork, block)?;
        loop {
            let seen = self.fork(fork).map.get(block);
            if seen & ABSENT == 0 {
                match self.lookup(fork, block) {
                    Some(pin) => {
                        self.count_hit(ring);
                        return Ok(pin);
                    }
                    None => continue,
                }
            }
            let frame = self.pool.claim_frame(ring)?;
            if !self.install(frame, fork, block, seen) {
                continue;
            }
            self.count_read(ring);
            // SAFETY: the loader has the frame latched exclusively.
            let page = unsafe { &mut *frame.page_ptr() };
            let began = counts::begin();
            let loaded = self.load(fork, block, page, fill);
            counts::end(began, self.context(ring), Op::ReadNanos);
            match loaded {
                Ok(()) => return Ok(finish_load(frame).into_pin()),
                Err(e) => {
                    self.abandon(frame, fork, block);
                    return Err(e);
                }
            }
        }
    }

    fn check_in_range(&self, fork: Fork, block: u32) -> Result<()> {
        let n = self.nblocks(fork)?.0;
        if self.dropped.load(Ordering::Acquire) {
            bail!(
                UNDEFINED_FILE,
                "could not open file \"{}\": No such file or directory",
                self.file
            );
        }
        if block >= n {
            let name = format!("{}{}", self.file, fork.suffix());
            return Err(crate::segment::short_read(block, &name, 0));
        }
        Ok(())
    }

    fn load(&self, fork: Fork, block: u32, page: &mut Page, fill: Fill) -> Result<()> {
        self.fork(fork).segments.read(&self.pool, block, page)?;
        if unseal(page, block) {
            return Ok(());
        }
        if fill == Fill::ReadOrZero {
            page.fill(0);
            return Ok(());
        }
        self.damaged(fork, block, page)
    }

    /// A page failed its checksum: an error, unless who reads it wants to go on.
    #[cold]
    fn damaged(&self, fork: Fork, block: u32, page: &mut Page) -> Result<()> {
        let error = self.invalid_page(fork, block);
        let Some(lenient) = base::damage::lenient() else { return Err(error) };
        let name = format!("{}{}", self.file, fork.suffix());
        let warn = |text: String| {
            let code = SqlState::DATA_CORRUPTED;
            lenient.warn(Error::with_severity(base::Severity::Warning, code, text));
        };
        if lenient.ignores_checksums() && has_sane_limits(page) {
            warn(format!("ignoring checksum failure in block {block} of relation \"{name}\""));
            return Ok(());
        }
        if lenient.zeroes_pages() {
            page.fill(0);
            warn(format!("invalid page in block {block} of relation \"{name}\"; zeroing out page"));
            return Ok(());
        }
        Err(error)
    }

    pub(crate) fn invalid_page(&self, fork: Fork, block: u32) -> Error {
        self.pool.stats.checksum_failures.fetch_add(1, Ordering::Relaxed);
        Error::new(
            SqlState::DATA_CORRUPTED,
            format!("invalid page in block {block} of relation \"{}{}\"", self.file, fork.suffix()),
        )
    }

    /// Gives a claimed frame to the block, if the map entry is still `seen`. On success the
    /// caller is the loader: pin, exclusive latch, LOADING.
    pub(crate) fn install(
        self: &Arc<Self>,
        frame: &Frame,
        fork: Fork,
        block: u32,
        seen: u32,
    ) -> bool {
        let tag = Tag { rel: self.clone(), fork, block };
        // SAFETY: the frame is claimed by us.
        unsafe { frame.set_tag(Some(tag)) };
        frame.usage.store(1, Ordering::Relaxed);
        frame.word.begin_load();
        if self.fork(fork).map.install(block, seen, frame.index()).is_ok() {
            return true;
        }
        frame.wake_if(frame.word.abandon_load());
        self.pool.release_frame(frame);
        false
    }

    /// The loader gives up: the block is absent again and the frame free.
    pub(crate) fn abandon(&self, frame: &Frame, fork: Fork, block: u32) {
        self.fork(fork).map.remove(block, self.pool.next_generation());
        frame.wake_if(frame.word.abandon_load());
        self.pool.release_frame(frame);
    }

    /// Puts a page that was read into private memory into the pool, unless the block has been
    /// in memory since `seen` was read.
    pub(crate) fn install_copy(
        self: &Arc<Self>,
        fork: Fork,
        block: u32,
        seen: u32,
        bytes: &Page,
        ring: Option<&Ring>,
    ) -> Result<Option<Pin>> {
        let frame = self.pool.claim_frame(ring)?;
        if !self.install(frame, fork, block, seen) {
            return Ok(None);
        }
        self.count_read(ring);
        // SAFETY: the loader has the frame latched exclusively.
        let page = unsafe { &mut *frame.page_ptr() };
        page.copy_from_slice(bytes);
        if !unseal(page, block)
            && let Err(e) = self.damaged(fork, block, page)
        {
            self.abandon(frame, fork, block);
            return Err(e);
        }
        Ok(Some(finish_load(frame).into_pin()))
    }

    /// A page of zeros in memory for a block whose bytes on disk do not matter, latched.
    fn zero_page(self: &Arc<Self>, fork: Fork, block: u32) -> Result<PageMut<'static>> {
        loop {
            if let Some(pin) = self.lookup(fork, block) {
                let mut page = pin.into_write();
                page.fill(0);
                return Ok(page);
            }
            let seen = self.fork(fork).map.get(block);
            if seen & ABSENT == 0 {
                continue;
            }
            let frame = self.pool.claim_frame(None)?;
            if self.install(frame, fork, block, seen) {
                // SAFETY: the loader has the frame latched exclusively.
                unsafe { (*frame.page_ptr()).fill(0) };
                return Ok(finish_load(frame));
            }
        }
    }

    /// Adds `count` pages of zeros at the end; gives pins on them, in order. Fewer than asked
    /// for are added if memory runs out of free frames; at least one, or an error.
    pub fn extend(self: &Arc<Self>, fork: Fork, count: u32) -> Result<Vec<Pin>> {
        let pages = self.extend_latched(fork, count)?;
        Ok(pages.into_iter().map(PageMut::into_pin).collect())
    }

    /// Adds a page of zeros at the end and latches it for writing.
    pub fn extend_one(self: &Arc<Self>, fork: Fork) -> Result<PageMut<'static>> {
        match self.extend_latched(fork, 1)?.pop() {
            Some(page) => Ok(page),
            None => Err(Error::internal("a relation was extended by no page")),
        }
    }

    fn extend_latched(self: &Arc<Self>, fork: Fork, count: u32) -> Result<Vec<PageMut<'static>>> {
        let ff = self.fork(fork);
        let _guard = ff.extending.lock();
        self.create_fork(fork)?;
        let first = self.measure_locked(fork)?;
        let Some(end) = first.checked_add(count).filter(|end| *end <= MAX_BLOCKS) else {
            bail!(
                PROGRAM_LIMIT_EXCEEDED,
                "cannot extend relation \"{}\" beyond {MAX_BLOCKS} blocks",
                self.file
            );
        };
        let (began, context) = (counts::begin(), self.context(None));
        ff.segments.allocate(&self.pool, first, count)?;
        counts::end(began, context, Op::ExtendNanos);
        counts::add(context, Op::Extend, u64::from(count));
        usage::count_written(self.persistence, u64::from(count));
        let mut pages = Vec::with_capacity(count as usize);
        for block in first..end {
            match self.zero_page(fork, block) {
                Ok(page) => pages.push(page),
                Err(e) if pages.is_empty() => return Err(e),
                Err(_) => break,
            }
        }
        ff.nblocks.store(first + pages.len() as u32, Ordering::Release);
        Ok(pages)
    }

    /// Makes the fork at least `blocks` long; for redo.
    pub(crate) fn ensure_blocks(self: &Arc<Self>, fork: Fork, blocks: u32) -> Result<()> {
        let ff = self.fork(fork);
        let _guard = ff.extending.lock();
        self.create_fork(fork)?;
        let n = self.measure_locked(fork)?;
        if n < blocks {
            ff.segments.allocate(&self.pool, n, blocks - n)?;
            ff.nblocks.store(blocks, Ordering::Release);
        }
        Ok(())
    }

    /// A page for redo, latched. `init` says that the record rebuilds it from nothing, so that
    /// its bytes on disk are not even read. The fork grows if it has to.
    pub fn read_for_redo(
        self: &Arc<Self>,
        fork: Fork,
        block: BlockNo,
        init: bool,
    ) -> Result<PageMut<'static>> {
        let known = self.fork(fork).nblocks.load(Ordering::Acquire);
        if known == UNKNOWN || known <= block.0 {
            self.ensure_blocks(fork, block.0 + 1)?;
        }
        if init {
            return self.zero_page(fork, block.0);
        }
        self.read_exclusive(fork, block)
    }

    /// As [`RelFiles::read`], but a page that fails its checksum comes back as zeros. For what
    /// can be rebuilt.
    pub fn read_or_zero(self: &Arc<Self>, fork: Fork, block: BlockNo) -> Result<Pin> {
        match self.lookup(fork, block.0) {
            Some(pin) => {
                pin.frame().touch();
                self.count_hit(None);
                Ok(pin)
            }
            None => self.read_absent(fork, block.0, None, Fill::ReadOrZero),
        }
    }

    /// Cuts the fork to `blocks` pages. Nobody may use the pages behind: the caller has the
    /// relation locked, and for a logged relation has flushed the record that says so.
    pub fn truncate(self: &Arc<Self>, fork: Fork, blocks: BlockNo) -> Result<()> {
        let ff = self.fork(fork);
        let _guard = ff.extending.lock();
        if ff.segments.get(&self.pool, 0, false)?.is_none() {
            return Ok(());
        }
        if self.measure_locked(fork)? <= blocks.0 {
            return Ok(());
        }
        ff.nblocks.store(blocks.0, Ordering::Release);
        self.discard(fork, blocks.0);
        ff.segments.truncate(&self.pool, blocks.0)
    }

    /// Writes nothing, forgets the pages from `from` on.
    pub(crate) fn discard(&self, fork: Fork, from: u32) {
        let map = &self.fork(fork).map;
        for (block, _) in map.resident(from) {
            while let Some(pin) = self.lookup(fork, block) {
                let frame = pin.frame();
                if frame.word.load() & word::PINS > 1 || !frame.word.try_claim_discard() {
                    // A writer of dirty pages has it; it lets go soon.
                    frame.wait_until(WaitEvent::BufferPin, || frame.word.try_claim_discard());
                }
                let index = frame.index();
                // The pin became the claim.
                std::mem::forget(pin);
                let frame = self.frame(index);
                self.pool.vacate(frame);
                self.pool.release_frame(frame);
            }
        }
    }

    /// Discards all pages and removes all files.
    pub(crate) fn destroy(&self) -> Result<()> {
        self.dropped.store(true, Ordering::Release);
        let mut result = Ok(());
        for fork in Fork::ALL {
            let ff = self.fork(fork);
            let _guard = ff.extending.lock();
            self.discard(fork, 0);
            ff.nblocks.store(0, Ordering::Release);
            result = result.and(ff.segments.remove(&self.pool));
        }
        result
    }

    /// Syncs the fork's files now, after its pages were written by `BufferPool::flush_relation`.
    pub fn sync(&self, fork: Fork) -> Result<()> {
        self.fork(fork).segments.sync(&self.pool)
    }

    /// Bytes of the fork's files.
    pub fn size_bytes(&self, fork: Fork) -> Result<u64> {
        Ok(self.nblocks(fork)?.0 as u64 * PAGE_SIZE as u64)
    }
}

/// The load succeeded: the page is there, still latched by its loader.
fn finish_load(frame: &Frame) -> PageMut<'static> {
    frame.version_even();
    frame.word.finish_load();
    PageMut::adopt(std::ptr::NonNull::from(frame), true)
}

#[cold]
fn wait_loaded(pin: &Pin) -> bool {
    let frame = pin.frame();
    let loading = || frame.word.load() & word::LOADING != 0;
    if loading() {
        frame.wait_until(WaitEvent::BufferIo, || !loading());
    }
    frame.word.load() & word::VALID != 0
}

#[cold]
fn back_off(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(64) {
        os::thread::yield_now();
    } else {
        os::sync::spin_hint();
    }
}
