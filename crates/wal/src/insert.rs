//! Insertion: decide on images, reserve, copy, publish.

use crate::builder::{ImagePolicy, RecordBuilder};
use crate::image::{self, PackedImages};
use crate::log::{Wal, wake};
use crate::record::{self, HEADER};
use crate::rmgr::{Rmgr, xlog_info};
use crate::slots::Refused;
use base::{Error, Lsn, Result, Xid};
use os::sync::atomic::{Ordering, fence};
use os::wait::{self, WaitEvent};
use std::cell::{Cell, RefCell};
use std::time::Duration;

thread_local! {
    /// The record being inserted; its memory is used again by the next.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// This thread's favourite slot.
    static HINT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Records of this size give their memory back.
const SCRATCH_KEPT: usize = 1 << 20;

fn slot_hint() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    HINT.with(|h| {
        if h.get() == usize::MAX {
            h.set(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        }
        h.get()
    })
}

impl Wal {
    /// Inserts a record; gives the position after it, to be set as the LSN of the pages it
    /// changed. The pages are already changed and marked dirty, under their latches: a
    /// checkpoint that begins in between then finds them.
    ///
    /// It does not fail: whoever changes pages calls [`Wal::check_space`] first. If the log is
    /// nevertheless at its end, or lost, the server stops, and recovery forgets the change.
    pub fn insert(&self, record: &RecordBuilder) -> Lsn {
        self.insert_range(record).1
    }

    /// As [`Wal::insert`]; gives where the record starts and ends.
    pub fn insert_range(&self, builder: &RecordBuilder) -> (Lsn, Lsn) {
        SCRATCH.with(|scratch| {
            let bytes = &mut *scratch.borrow_mut();
            let (start, end) = self.insert_with(builder, bytes);
            if bytes.capacity() > SCRATCH_KEPT {
                *bytes = Vec::new();
            }
            (Lsn(start), Lsn(end))
        })
    }

    fn insert_with(&self, builder: &RecordBuilder, bytes: &mut Vec<u8>) -> (u64, u64) {
        self.refuse_if_closed();
        let packed = self.pack_images(builder);
        let mut slot = self.slots.acquire(slot_hint());
        let (start, images) = loop {
            // The slot is taken before the epoch is read: see README, "images".
            let (epoch, redo) = self.slots.epoch();
            let policy = self.image_policy(redo);
            let images = builder.encode(bytes, policy, &packed);
            let len = bytes.len() as u64;
            match self.slots.reserve(slot, epoch, len, self.segments.allocated()) {
                Ok(start) => break (start, images),
                Err(Refused::Epoch) => {}
                Err(Refused::Limit) => {
                    self.slots.release(slot);
                    self.extend_or_stop(len);
                    slot = self.slots.acquire(slot_hint());
                }
            }
        };
        record::place(bytes, start);
        self.copy(slot, start, bytes);
        self.slots.count(slot, bytes.len() as u64, images);
        crate::usage::count(bytes.len() as u64, images);
        self.slots.release(slot);
        let end = start + bytes.len() as u64;
        self.after_insert(start, end);
        (start, end)
    }

    fn image_policy(&self, redo: Lsn) -> ImagePolicy {
        ImagePolicy {
            redo,
            full_page_writes: self.full_page_writes(),
            check: self.config.consistency_check,
        }
    }

    /// Compresses the record's images before it has a slot: flushes wait for who has one. Should
    /// a checkpoint begin in between, pages that need an image only now get it as it is.
    #[inline]
    fn pack_images(&self, builder: &RecordBuilder) -> PackedImages {
        match image::wanted().unwrap_or_else(|| self.compression()) {
            None => PackedImages::new(),
            Some(method) => builder.pack_images(self.image_policy(self.slots.epoch().1), method),
        }
    }

    /// Wakes the log's threads when the log enters another segment or quarter of the ring.
    #[inline]
    fn after_insert(&self, start: u64, end: u64) {
        if (start ^ end) >= self.stride {
            self.passed_stride(start, end);
        }
    }

    #[cold]
    fn passed_stride(&self, start: u64, end: u64) {
        // Between the reservation and the look at who sleeps.
        fence(Ordering::SeqCst);
        let size = self.segments.size;
        if start / size != end / size {
            wake(&self.signals.allocator_sleeps);
        }
        // Written out before anybody has to wait for room.
        let quarter = self.ring.len() as u64 / 4;
        if start / quarter != end / quarter && self.config.threads {
            self.flush_async(Lsn(end));
        }
    }

    fn refuse_if_closed(&self) {
        if self.replaying.load(Ordering::Acquire) || self.failed.load(Ordering::Acquire) {
            self.insert_refused();
        }
    }

    #[cold]
    fn insert_refused(&self) -> ! {
        let e = Error::internal("cannot insert into the log: it is not open for writing");
        (self.config.on_panic)(&e);
        panic!("{e}");
    }

    /// Copies a reserved record into the ring, as far as there is room, and waits for more.
    #[inline]
    fn copy(&self, slot: usize, start: u64, bytes: &[u8]) {
        let end = start + bytes.len() as u64;
        if end <= self.room.load(Ordering::Acquire) {
            self.copy_piece(start, bytes);
        } else {
            self.copy_in_pieces(slot, start, bytes);
        }
    }

    #[inline]
    fn copy_piece(&self, start: u64, bytes: &[u8]) {
        let word = self.ring_word(start);
        let until_wrap = (self.ring.len() / 8 - word) * 8;
        if bytes.len() <= until_wrap {
            self.ring.store(word, bytes);
        } else {
            let (first, second) = bytes.split_at(until_wrap);
            self.ring.store(word, first);
            self.ring.store(0, second);
        }
    }

    #[cold]
    fn copy_in_pieces(&self, slot: usize, start: u64, bytes: &[u8]) {
        self.counters.buffers_full.fetch_add(1, Ordering::Relaxed);
        crate::usage::count_buffers_full();
        let end = start + bytes.len() as u64;
        let mut at = start;
        while at < end {
            let until = end.min(self.room.load(Ordering::Acquire));
            if until > at {
                self.copy_piece(at, &bytes[(at - start) as usize..(until - start) as usize]);
                at = until;
                // What is copied may be written, which makes the room for the rest.
                self.slots.publish(slot, at);
            } else {
                self.wait_for_room(at);
            }
        }
    }

    /// Waits until the ring has room behind `at`, by writing the log out if nobody does.
    fn wait_for_room(&self, at: u64) {
        let _waiting = wait::begin(WaitEvent::LwLockWALBufMapping);
        let sequence = self.room_sequence.load(Ordering::SeqCst);
        if self.room.load(Ordering::SeqCst) > at {
            return;
        }
        if let Some(mut writer) = self.writer.try_lock() {
            let published = self.slots.published();
            let result = self.write_to(&mut writer, published.0);
            self.give_back(writer, result.is_err());
            self.pass_requests_on();
            if let Err(e) = result {
                self.fail(e);
                self.insert_refused();
            }
            if self.room.load(Ordering::SeqCst) <= at {
                os::sync::spin_hint();
            }
            return;
        }
        self.room_waiters.fetch_add(1, Ordering::SeqCst);
        // Not for ever: the writer at work may have stopped short of us.
        os::sync::futex_wait(&self.room_sequence, sequence, Some(Duration::from_millis(1)));
        self.room_waiters.fetch_sub(1, Ordering::SeqCst);
        if self.is_failed() {
            self.insert_refused();
        }
    }

    /// The allocated segments are used up, in spite of the headroom: one more, or the end.
    #[cold]
    fn extend_or_stop(&self, len: u64) {
        if let Err(e) =
            self.segments.ensure(self.slots.reserved().0 + len + self.segments.size, false)
        {
            // A smaller step may still fit.
            if self.segments.ensure(self.slots.reserved().0 + len, false).is_err() {
                self.fail(e);
                self.insert_refused();
            }
        }
    }

    /// Makes sure that there is disk space for the log of some page changes (in total up to
    /// 8 MB or a segment, by all sessions). To be called before a page is changed: on a full
    /// disk this is the error of the statement (53100), while after the change it would have
    /// to stop the server.
    #[inline]
    pub fn check_space(&self) -> Result<()> {
        if self.slots.reserved().0 + self.headroom() <= self.segments.allocated() {
            return Ok(());
        }
        self.make_space()
    }

    #[cold]
    fn make_space(&self) -> Result<()> {
        if self.is_replaying() {
            return Ok(());
        }
        self.segments.ensure(self.slots.reserved().0 + self.headroom(), false)
    }

    /// Ends the current segment: the next record starts a new one. Gives the position after
    /// the last record, or the end of the log if it is at a segment's start already.
    pub fn switch_segment(&self) -> Result<Lsn> {
        self.check_space()?;
        self.refuse_if_closed();
        let size = self.segments.size;
        let mut bytes = vec![];
        let record = RecordBuilder::new(Rmgr::Xlog, xlog_info::SWITCH, Xid::INVALID);
        let none = ImagePolicy { redo: Lsn::INVALID, full_page_writes: false, check: false };
        record.encode(&mut bytes, none, &PackedImages::new());
        let mut slot = self.slots.acquire(slot_hint());
        let (start, end) = loop {
            let (epoch, _) = self.slots.epoch();
            let limit = self.segments.allocated();
            let end_of = |start: u64| match start % size {
                0 => start,
                _ => (start + HEADER as u64).next_multiple_of(size),
            };
            match self.slots.reserve_with(slot, epoch, limit, end_of) {
                Ok(range) => break range,
                Err(Refused::Epoch) => {}
                Err(Refused::Limit) => {
                    self.slots.release(slot);
                    self.extend_or_stop(size);
                    slot = self.slots.acquire(slot_hint());
                }
            }
        };
        if end > start {
            record::place(&mut bytes, start);
            self.copy(slot, start, &bytes);
            // The rest is zero, in pieces: it may be larger than the ring.
            let zeros = [0; 4096];
            let mut at = start + bytes.len() as u64;
            while at < end {
                let n = zeros.len().min((end - at) as usize);
                self.copy(slot, at, &zeros[..n]);
                at += n as u64;
                self.slots.publish(slot, at);
            }
        }
        self.slots.release(slot);
        self.after_insert(start, end);
        self.flush_async(Lsn(end));
        Ok(Lsn(if end > start { start + HEADER as u64 } else { start }))
    }
}
