//! Frames, pins and latches. A [`Pin`] keeps a page in memory; [`PageRef`] and [`PageMut`] hold
//! its latch and give the bytes. README.md has the protocol.

use crate::page::{Page, page_lsn, set_page_lsn};
use crate::relation::RelFiles;
use crate::usage;
use crate::word::{self, Pinned, Word};
use base::wait::WaitEvent;
use base::{BlockNo, Fork, Lsn, PAGE_SIZE};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// Most that the clock hand has to take away before a page may go.
const MAX_USAGE: u8 = 5;
const SPINS: u32 = 40;

/// Which page a frame holds.
#[derive(Clone)]
pub(crate) struct Tag {
    pub rel: Arc<RelFiles>,
    pub fork: Fork,
    pub block: u32,
}

/// One frame of the pool. Frames and the memory of their pages live at a fixed address until
/// the pool is gone and no pin is left.
#[repr(align(64))]
pub(crate) struct Frame {
    pub word: Word,
    /// Odd while the page changes; see [`OptPage`].
    version: AtomicU64,
    wait_seq: os::sync::atomic::AtomicU32,
    pub usage: AtomicU8,
    /// Who uses the page has verified its structure since it was loaded.
    verified: AtomicBool,
    index: u32,
    page: NonNull<Page>,
    /// Written only by the claimant. Read only with a pin on a frame seen valid.
    tag: UnsafeCell<Option<Tag>>,
}

// SAFETY: `tag` follows the claim protocol (written only while CLAIMED and therefore by one
// thread; read only under a pin on a valid frame, which cannot be claimed); the page behind the
// pointer follows the latch in `word`.
unsafe impl Send for Frame {}
// SAFETY: as for Send.
unsafe impl Sync for Frame {}

impl Frame {
    pub fn new(index: u32, page: NonNull<Page>) -> Frame {
        Frame {
            word: Word::new_claimed(),
            version: AtomicU64::new(1),
            wait_seq: os::sync::atomic::AtomicU32::new(0),
            usage: AtomicU8::new(0),
            verified: AtomicBool::new(false),
            index,
            page,
            tag: UnsafeCell::new(None),
        }
    }

    pub fn index(&self) -> u32 {
        self.index
    }

    /// Which page the frame holds.
    ///
    /// # Safety
    /// The caller has a pin and has seen the frame valid since, or has claimed it.
    pub unsafe fn tag(&self) -> &Option<Tag> {
        // SAFETY: the caller's promise rules out a concurrent writer.
        unsafe { &*self.tag.get() }
    }

    /// Changes which page the frame holds; gives the old tag back.
    ///
    /// # Safety
    /// The caller has claimed the frame.
    pub unsafe fn set_tag(&self, tag: Option<Tag>) -> Option<Tag> {
        // SAFETY: a claimed frame's tag is touched by the claimant only.
        let old = unsafe { mem::replace(&mut *self.tag.get(), tag) };
        self.verified.store(false, Ordering::Relaxed);
        old
    }

    /// The page's bytes, for the holder of the exclusive latch or of the claim.
    pub fn page_ptr(&self) -> *mut Page {
        self.page.as_ptr()
    }

    /// From here on optimistic readers fail, until [`Frame::version_even`].
    pub fn version_odd(&self) {
        let v = self.version.load(Ordering::Relaxed);
        if v & 1 == 0 {
            self.version.store(v + 1, Ordering::Relaxed);
            fence(Ordering::Release);
        }
    }

    pub fn version_even(&self) {
        let v = self.version.load(Ordering::Relaxed);
        if v & 1 == 1 {
            self.version.store(v + 1, Ordering::Release);
        }
    }

    /// Notes a use for the clock sweep. Racy on purpose: it is only advice.
    #[inline]
    pub fn touch(&self) {
        let n = self.usage.load(Ordering::Relaxed);
        if n < MAX_USAGE {
            self.usage.store(n + 1, Ordering::Relaxed);
        }
    }

    /// Wakes all who sleep on the frame.
    #[cold]
    pub fn wake(&self) {
        self.word.clear_waiters();
        self.wait_seq.fetch_add(1, Ordering::SeqCst);
        os::sync::futex_wake(&self.wait_seq, u32::MAX);
    }

    #[inline]
    pub fn wake_if(&self, sleepers: bool) {
        if sleepers {
            self.wake();
        }
    }

    /// Sleeps until `attempt` succeeds. The flag is raised before the last attempt, and every
    /// release after it sees the flag and changes `wait_seq`, so no wake-up is lost.
    #[cold]
    pub fn wait_until(&self, event: WaitEvent, mut attempt: impl FnMut() -> bool) {
        for _ in 0..SPINS {
            std::hint::spin_loop();
            if attempt() {
                return;
            }
        }
        let _waiting = os::wait::begin(event);
        loop {
            let seq = self.wait_seq.load(Ordering::SeqCst);
            self.word.set_waiters();
            if attempt() {
                return;
            }
            os::sync::futex_wait(&self.wait_seq, seq, None);
        }
    }

    pub fn lock_shared(&self) {
        if let Err(sleepers) = self.word.try_shared() {
            self.wake_if(sleepers);
            self.lock_shared_slow();
        }
    }

    #[cold]
    pub fn lock_shared_slow(&self) {
        self.wait_until(WaitEvent::LwLockBufferContent, || {
            // Looking first keeps the sharers' count still while a writer is in there.
            self.word.load() & word::EXCLUSIVE == 0 && self.word.try_shared().is_ok()
        });
    }

    pub fn lock_exclusive(&self) {
        if !self.word.try_exclusive() {
            self.wait_until(WaitEvent::LwLockBufferContent, || self.word.try_exclusive());
        }
    }
}

/// Keeps a page in memory, so that it can be latched. Dropping it lets the page go.
pub struct Pin {
    frame: NonNull<Frame>,
}

// SAFETY: a pin is a counted reference to a frame, which is Sync; frames outlive pins.
unsafe impl Send for Pin {}
// SAFETY: as for Send.
unsafe impl Sync for Pin {}

impl Pin {
    /// Takes over a pin that the caller has on a valid frame.
    pub(crate) fn adopt(frame: &Frame) -> Pin {
        Pin { frame: NonNull::from(frame) }
    }

    pub(crate) fn frame(&self) -> &Frame {
        // SAFETY: frames stay at their address while there are pins; see `Pool::drop`.
        unsafe { self.frame.as_ref() }
    }

    fn tag(&self) -> &Tag {
        // SAFETY: this is a pin on a frame that was seen valid.
        match unsafe { self.frame().tag() } {
            Some(tag) => tag,
            None => unreachable!("a pinned frame holds a page"),
        }
    }

    /// The page's number.
    pub fn block(&self) -> BlockNo {
        BlockNo(self.tag().block)
    }

    /// The page's fork.
    pub fn fork(&self) -> Fork {
        self.tag().fork
    }

    /// The relation that the page belongs to.
    pub fn rel(&self) -> &Arc<RelFiles> {
        &self.tag().rel
    }

    /// Latches the page for reading.
    pub fn read(&self) -> PageRef<'_> {
        self.frame().lock_shared();
        PageRef { frame: self.frame, owns_pin: false, life: PhantomData }
    }

    /// Latches the page for reading; the pin goes with the latch.
    pub fn into_read(self) -> PageRef<'static> {
        self.frame().lock_shared();
        let frame = self.frame;
        mem::forget(self);
        PageRef { frame, owns_pin: true, life: PhantomData }
    }

    /// Latches the page for reading if no writer has it.
    pub fn try_read(&self) -> Option<PageRef<'_>> {
        match self.frame().word.try_shared() {
            Ok(()) => Some(PageRef { frame: self.frame, owns_pin: false, life: PhantomData }),
            Err(sleepers) => {
                self.frame().wake_if(sleepers);
                None
            }
        }
    }

    /// Latches the page for writing.
    pub fn write(&self) -> PageMut<'_> {
        self.frame().lock_exclusive();
        PageMut::adopt(self.frame, false)
    }

    /// Latches the page for writing; the pin goes with the latch.
    pub fn into_write(self) -> PageMut<'static> {
        self.frame().lock_exclusive();
        let frame = self.frame;
        mem::forget(self);
        PageMut::adopt(frame, true)
    }

    /// Latches the page for writing if nobody has it; the pin goes with the latch.
    pub fn try_into_write(self) -> Option<PageMut<'static>> {
        if !self.frame().word.try_exclusive() {
            return None;
        }
        let frame = self.frame;
        mem::forget(self);
        Some(PageMut::adopt(frame, true))
    }

    /// Latches the page for writing if nobody has it.
    pub fn try_write(&self) -> Option<PageMut<'_>> {
        self.frame().word.try_exclusive().then(|| PageMut::adopt(self.frame, false))
    }

    /// Latches the page for writing if nobody has it and no other pin exists: nobody can hold
    /// a pointer into it, so tuples may be moved.
    pub fn try_write_cleanup(&self) -> Option<PageMut<'_>> {
        self.frame().word.try_cleanup().then(|| PageMut::adopt(self.frame, false))
    }

    /// Waits until [`Pin::try_write_cleanup`] succeeds.
    pub fn write_cleanup(&self) -> PageMut<'_> {
        let frame = self.frame();
        if !frame.word.try_cleanup() {
            frame.wait_until(WaitEvent::BufferPin, || frame.word.try_cleanup());
        }
        PageMut::adopt(self.frame, false)
    }

    /// Reads the page without latching it. `None` if it changed meanwhile or is being changed:
    /// the caller tries again or latches. See [`OptPage`].
    #[inline]
    pub fn optimistic<R>(&self, read: impl FnOnce(OptPage<'_>) -> R) -> Option<R> {
        let page = OptPage::begin(self.frame())?;
        let result = read(page);
        page.still_valid().then_some(result)
    }

    /// Changes with every change of the page; odd while one is under way. Equal even numbers
    /// mean equal bytes, for as long as the pin is held.
    pub fn version(&self) -> u64 {
        self.frame().version.load(Ordering::Acquire)
    }

    /// True if the page differs from its file.
    pub fn is_dirty(&self) -> bool {
        self.frame().word.load() & word::DIRTY != 0
    }
}

impl Clone for Pin {
    fn clone(&self) -> Pin {
        self.frame().word.pin_again();
        Pin { frame: self.frame }
    }
}

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        let frame = self.frame();
        frame.wake_if(frame.word.unpin());
    }
}

/// A page under the share latch.
pub struct PageRef<'a> {
    frame: NonNull<Frame>,
    owns_pin: bool,
    life: PhantomData<&'a Pin>,
}

// SAFETY: the latch is a count in an atomic word, not tied to a thread.
unsafe impl Send for PageRef<'_> {}
// SAFETY: shared access only reads the page.
unsafe impl Sync for PageRef<'_> {}

impl<'a> PageRef<'a> {
    /// Takes over a pin and a share that the caller has.
    pub(crate) fn adopt(frame: &Frame) -> PageRef<'static> {
        PageRef { frame: NonNull::from(frame), owns_pin: true, life: PhantomData }
    }

    fn frame(&self) -> &Frame {
        // SAFETY: there is a pin, own or borrowed.
        unsafe { self.frame.as_ref() }
    }

    /// True if somebody has verified the page's structure since it was loaded.
    #[inline]
    pub fn is_verified(&self) -> bool {
        self.frame().verified.load(Ordering::Relaxed)
    }

    /// The page's structure has been verified: nobody needs to look again while it stays loaded.
    pub fn set_verified(&self) {
        self.frame().verified.store(true, Ordering::Relaxed);
    }

    /// The end of the last log record that changed the page.
    pub fn lsn(&self) -> Lsn {
        page_lsn(self)
    }

    /// The page's number.
    pub fn block(&self) -> BlockNo {
        // SAFETY: there is a pin on a valid frame.
        unsafe { self.frame().tag() }.as_ref().map_or(BlockNo::INVALID, |t| BlockNo(t.block))
    }

    /// Turns the latch into an exclusive one if nobody else reads the page; for hint bits,
    /// which are worth setting only when it is cheap.
    pub fn try_upgrade(self) -> Result<PageMut<'a>, PageRef<'a>> {
        if !self.frame().word.try_upgrade() {
            return Err(self);
        }
        let (frame, owns_pin) = (self.frame, self.owns_pin);
        mem::forget(self);
        Ok(PageMut::adopt(frame, owns_pin))
    }

    /// Gives the latch back and keeps the pin, taking another if it was borrowed.
    pub fn into_pin(self) -> Pin {
        let frame = self.frame();
        if !self.owns_pin {
            frame.word.pin_again();
        }
        frame.wake_if(frame.word.unlock_shared());
        let pin = Pin { frame: self.frame };
        mem::forget(self);
        pin
    }
}

impl Deref for PageRef<'_> {
    type Target = Page;
    #[inline]
    fn deref(&self) -> &Page {
        // SAFETY: the share latch keeps writers out.
        unsafe { &*self.frame().page_ptr() }
    }
}

impl Drop for PageRef<'_> {
    #[inline]
    fn drop(&mut self) {
        let frame = self.frame();
        let sleepers = match self.owns_pin {
            true => frame.word.unlock_shared_unpin(),
            false => frame.word.unlock_shared(),
        };
        frame.wake_if(sleepers);
    }
}

/// A page under the exclusive latch.
pub struct PageMut<'a> {
    frame: NonNull<Frame>,
    owns_pin: bool,
    /// The version is odd: bytes were handed out for change.
    changing: bool,
    life: PhantomData<&'a Pin>,
}

// SAFETY: the latch is a bit in an atomic word, not tied to a thread.
unsafe impl Send for PageMut<'_> {}
// SAFETY: shared access only reads the page.
unsafe impl Sync for PageMut<'_> {}

impl<'a> PageMut<'a> {
    /// Takes over the exclusive latch that the caller has, and its pin if `owns_pin`.
    pub(crate) fn adopt(frame: NonNull<Frame>, owns_pin: bool) -> PageMut<'a> {
        PageMut { frame, owns_pin, changing: false, life: PhantomData }
    }

    fn frame(&self) -> &Frame {
        // SAFETY: there is a pin, own or borrowed.
        unsafe { self.frame.as_ref() }
    }

    fn tag(&self) -> &Tag {
        // SAFETY: there is a pin on a valid frame.
        match unsafe { self.frame().tag() } {
            Some(tag) => tag,
            None => unreachable!("a latched frame holds a page"),
        }
    }

    /// The page's number.
    pub fn block(&self) -> BlockNo {
        BlockNo(self.tag().block)
    }

    /// The page's fork.
    pub fn fork(&self) -> Fork {
        self.tag().fork
    }

    /// The relation that the page belongs to.
    pub fn rel(&self) -> &Arc<RelFiles> {
        &self.tag().rel
    }

    /// True if somebody has verified the page's structure since it was loaded.
    #[inline]
    pub fn is_verified(&self) -> bool {
        self.frame().verified.load(Ordering::Relaxed)
    }

    /// The page's structure has been verified: nobody needs to look again while it stays loaded.
    pub fn set_verified(&self) {
        self.frame().verified.store(true, Ordering::Relaxed);
    }

    /// The end of the last log record that changed the page.
    pub fn lsn(&self) -> Lsn {
        page_lsn(self)
    }

    /// Sets what [`PageMut::lsn`] returns.
    pub fn set_lsn(&mut self, lsn: Lsn) {
        set_page_lsn(self, lsn);
    }

    /// Says that the page has to be written to its file. To be called *before* the log record
    /// of the change is inserted: a checkpoint that begins after the record must find the page.
    #[inline]
    pub fn mark_dirty(&mut self) {
        if self.frame().word.mark_dirty() {
            usage::count_dirtied(self.tag().rel.persistence());
        }
    }

    /// Turns the latch into a share latch without letting a writer in between.
    pub fn downgrade(mut self) -> PageRef<'a> {
        self.settle();
        let frame = self.frame();
        frame.wake_if(frame.word.downgrade());
        let shared = PageRef { frame: self.frame, owns_pin: self.owns_pin, life: PhantomData };
        mem::forget(self);
        shared
    }

    /// Gives the latch back and keeps the pin, taking another if it was borrowed.
    pub fn into_pin(mut self) -> Pin {
        self.settle();
        let frame = self.frame();
        if !self.owns_pin {
            frame.word.pin_again();
        }
        frame.wake_if(frame.word.unlock_exclusive());
        let pin = Pin { frame: self.frame };
        mem::forget(self);
        pin
    }

    fn settle(&mut self) {
        if mem::take(&mut self.changing) {
            self.frame().version_even();
        }
    }
}

impl Deref for PageMut<'_> {
    type Target = Page;
    #[inline]
    fn deref(&self) -> &Page {
        // SAFETY: the exclusive latch is ours.
        unsafe { &*self.frame().page_ptr() }
    }
}

impl DerefMut for PageMut<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Page {
        if !self.changing {
            self.changing = true;
            self.frame().version_odd();
        }
        // SAFETY: the exclusive latch is ours.
        unsafe { &mut *self.frame().page_ptr() }
    }
}

impl Drop for PageMut<'_> {
    #[inline]
    fn drop(&mut self) {
        self.settle();
        let frame = self.frame();
        let mut sleepers = frame.word.unlock_exclusive();
        if self.owns_pin {
            sleepers |= frame.word.unpin();
        }
        frame.wake_if(sleepers);
    }
}

/// A page that is read without a latch. Its bytes may change at any moment: every read is an
/// atomic load, and nothing that was read means anything until the read as a whole has been
/// found valid. So a reader must not trust offsets (reads outside the page give 0) and must
/// bound its loops.
#[derive(Clone, Copy)]
pub struct OptPage<'a> {
    frame: &'a Frame,
    version: u64,
}

macro_rules! opt_read {
    ($name:ident, $int:ty, $atomic:ty) => {
        /// The little-endian number at this offset; 0 if it does not lie within the page.
        #[inline]
        pub fn $name(self, at: usize) -> $int {
            const SIZE: usize = size_of::<$int>();
            if at > PAGE_SIZE - SIZE {
                return 0;
            }
            if at % SIZE != 0 {
                return self.crossing(at, SIZE) as $int;
            }
            // SAFETY: in bounds and aligned (pages are), and frames' memory outlives the borrow.
            let cell = unsafe { &*self.base().add(at).cast::<$atomic>() };
            <$int>::from_le(cell.load(Ordering::Relaxed))
        }
    };
}

impl<'a> OptPage<'a> {
    #[inline]
    pub(crate) fn begin(frame: &'a Frame) -> Option<OptPage<'a>> {
        let version = frame.version.load(Ordering::Acquire);
        (version & 1 == 0).then_some(OptPage { frame, version })
    }

    /// True if nothing has changed since the read began.
    #[inline]
    pub fn still_valid(self) -> bool {
        fence(Ordering::Acquire);
        self.frame.version.load(Ordering::Relaxed) == self.version
    }

    /// The version that the read began with; see [`Pin::version`].
    pub fn version(self) -> u64 {
        self.version
    }

    #[inline]
    fn base(self) -> *const u8 {
        self.frame.page_ptr().cast::<u8>().cast_const()
    }

    opt_read!(u16, u16, AtomicU16);
    opt_read!(u32, u32, AtomicU32);
    opt_read!(u64, u64, AtomicU64);

    /// The two little-endian numbers of eight bytes from this offset on; `None` if they do not lie
    /// within the page or the offset is no multiple of eight.
    #[inline(always)]
    pub fn two(self, at: usize) -> Option<(u64, u64)> {
        if at > PAGE_SIZE - 16 || !at.is_multiple_of(8) {
            return None;
        }
        // SAFETY: in bounds and aligned (pages are), and frames' memory outlives the borrow.
        let cells = unsafe { &*self.base().add(at).cast::<[AtomicU64; 2]>() };
        let [first, second] = cells;
        Some((
            u64::from_le(first.load(Ordering::Relaxed)),
            u64::from_le(second.load(Ordering::Relaxed)),
        ))
    }

    /// The little-endian number of `size` bytes at an offset that is no multiple of that.
    #[cold]
    fn crossing(self, at: usize, size: usize) -> u64 {
        let mut bytes = [0; 8];
        self.copy(at, &mut bytes[..size]);
        u64::from_le_bytes(bytes)
    }

    /// The byte at this offset; 0 if it does not lie within the page.
    #[inline]
    pub fn u8(self, at: usize) -> u8 {
        if at >= PAGE_SIZE {
            return 0;
        }
        // SAFETY: in bounds.
        unsafe { &*self.base().add(at).cast::<AtomicU8>() }.load(Ordering::Relaxed)
    }

    /// Copies bytes out; what lies outside the page is left as it was.
    pub fn copy(self, at: usize, out: &mut [u8]) {
        let end = PAGE_SIZE.min(at.saturating_add(out.len()));
        let mut from = at;
        while from < end {
            let i = from - at;
            if from.is_multiple_of(8) && end - from >= 8 {
                // SAFETY: in bounds and aligned.
                let cell = unsafe { &*self.base().add(from).cast::<AtomicU64>() };
                out[i..i + 8].copy_from_slice(&cell.load(Ordering::Relaxed).to_ne_bytes());
                from += 8;
            } else {
                out[i] = self.u8(from);
                from += 1;
            }
        }
    }
}

/// What [`pin_frame`] found.
pub(crate) enum Attempt {
    /// The pin is the caller's.
    Pinned(Pin),
    /// Pinned, but the page is being loaded.
    Loading(Pin),
    /// The frame is changing hands.
    Gone,
}

/// Pins a frame that a map entry names. The caller compares the entry again afterwards.
#[inline]
pub(crate) fn pin_frame(frame: &Frame) -> Attempt {
    match frame.word.pin() {
        Pinned::Valid => Attempt::Pinned(Pin::adopt(frame)),
        Pinned::NotValid => Attempt::Loading(Pin::adopt(frame)),
        Pinned::Claimed(sleepers) => {
            frame.wake_if(sleepers);
            Attempt::Gone
        }
    }
}
