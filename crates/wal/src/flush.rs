//! Writing the log out and making it durable; telling those who wait.

use crate::log::{BLOCK, Next, SyncMethod, Wal, wake};
use base::{Error, Lsn, Result, err};
use os::sync::atomic::{Ordering, fence};
use os::sync::{Arc, MutexGuard, futex_wait, futex_wake};
use os::wait::{self, WaitEvent};
use os::{AlignedBuf, File};
use std::time::Duration;

/// Somebody to tell that the log is durable further than before. Called by whoever flushed,
/// after each flush, with no lock held; must not block.
pub trait FlushListener: Send + Sync {
    /// All before `upto` is durable.
    fn flushed(&self, upto: Lsn);
}

/// Who holds it writes the log.
pub(crate) struct Writer {
    /// All before this is written, though not all is synced.
    written: u64,
    /// The open segment, by number.
    segment: Option<(u64, File)>,
    /// The blocks of a short write, with zeros after the end of the log.
    bounce: AlignedBuf,
}

/// Writes up to this size go through the bounce buffer as a whole.
const BOUNCE: usize = 32 << 10;
/// A sync of this many nanoseconds costs less than having another thread do it: what else the
/// thread has to do waits meanwhile, and others wait for that.
const QUICK_NANOS: u64 = 25_000;
/// The idle walwriter looks every so many delays.
const HIBERNATE: u32 = 25;

impl Default for Writer {
    fn default() -> Writer {
        Writer { written: 0, segment: None, bounce: AlignedBuf::zeroed(BOUNCE) }
    }
}

impl Writer {
    pub fn start(&mut self, end: u64) {
        self.written = end;
        self.segment = None;
    }
}

impl Wal {
    /// Waits until all before `lsn` is durable. Fails only if the log is lost, in which case
    /// the server is stopping.
    pub fn flush(&self, lsn: Lsn) -> Result<()> {
        if lsn <= self.flushed() || self.replaying.load(Ordering::Acquire) {
            return Ok(());
        }
        if lsn > self.slots.reserved() {
            return Err(Error::internal(format!(
                "flush to {lsn}, past the end of the log at {}",
                self.slots.reserved()
            )));
        }
        let _waiting = wait::begin(WaitEvent::WalSync);
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        loop {
            let sequence = self.flush_sequence.load(Ordering::SeqCst);
            if lsn <= self.flushed() {
                return Ok(());
            }
            if self.is_failed() {
                return Err(lost());
            }
            if let Some(writer) = self.writer.try_lock() {
                let result = self.flush_locked(writer, lsn);
                self.pass_requests_on();
                result?;
            } else {
                self.flush_waiters.fetch_add(1, Ordering::SeqCst);
                futex_wait(&self.flush_sequence, sequence, None);
                self.flush_waiters.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Asks for a flush up to `lsn` without waiting; [`Wal::on_flush`] tells when it is done.
    #[inline]
    pub fn flush_async(&self, lsn: Lsn) {
        if lsn > self.flushed() {
            self.requested.fetch_max(lsn.0, Ordering::SeqCst);
            wake(&self.signals.flusher_sleeps);
        }
    }

    /// As [`Wal::flush_async`], but on this thread, if the last syncs were quick enough for a
    /// thread with other work to wait for, and nobody else is at it. If somebody is, the caller
    /// hears of the end of that flush as a listener, and comes again if it did not go far enough.
    pub fn flush_if_quick(&self, lsn: Lsn) {
        let delays = self.delay_micros.load(Ordering::Relaxed) > 0;
        if delays || self.sync_nanos.load(Ordering::Relaxed) > QUICK_NANOS {
            return self.flush_async(lsn);
        }
        self.requested.fetch_max(lsn.0, Ordering::SeqCst);
        if lsn <= self.flushed() {
            return;
        }
        let Some(writer) = self.writer.try_lock() else { return };
        let wanted = Lsn(self.requested.load(Ordering::SeqCst));
        // A failure has been dealt with: the server stops.
        if !self.is_failed() {
            let _ = self.flush_locked(writer, wanted);
        }
    }

    /// Says that something was inserted which should be durable within a few delays of the
    /// walwriter, though nobody waits for it: an asynchronous commit.
    #[inline]
    pub fn flush_soon(&self) {
        fence(Ordering::SeqCst);
        if self.signals.hibernates.load(Ordering::SeqCst) {
            self.signals.hibernates.store(false, Ordering::SeqCst);
            wake(&self.signals.flusher_sleeps);
        }
    }

    /// Has `listener` told after every flush from now on.
    pub fn on_flush(&self, listener: Arc<dyn FlushListener>) {
        self.listeners.write().push(listener);
    }

    /// Writes and syncs up to `lsn` at least, up to all that is published if possible.
    fn flush_locked(&self, mut writer: MutexGuard<'_, Writer>, lsn: Lsn) -> Result<()> {
        let result = self.flush_with(&mut writer, lsn);
        self.give_back(writer, result.is_err());
        match result {
            Ok(Some(upto)) => {
                for listener in self.listeners.read().iter() {
                    listener.flushed(upto);
                }
                self.fire_trigger();
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(e) => Err(self.fail(e)),
        }
    }

    /// Gives the writer back and lets those go on who wait for a flush. In this order: a waiter
    /// that tried the lock in vain has read the sequence before, and so does not sleep. After a
    /// failure the log is closed before anybody else can have the lock: a second sync would
    /// succeed, and acknowledge what the first one lost.
    pub(crate) fn give_back(&self, writer: MutexGuard<'_, Writer>, failed: bool) {
        if failed {
            self.failed.store(true, Ordering::SeqCst);
        }
        drop(writer);
        self.flush_sequence.fetch_add(1, Ordering::SeqCst);
        if self.flush_waiters.load(Ordering::SeqCst) > 0 {
            futex_wake(&self.flush_sequence, u32::MAX);
        }
    }

    /// After the writer was given back by somebody who does not look at it again: what was asked
    /// for meanwhile, by those who did not wait for the writer, is for the walwriter.
    pub(crate) fn pass_requests_on(&self) {
        if self.requested.load(Ordering::SeqCst) > self.flushed().0 {
            wake(&self.signals.flusher_sleeps);
        }
    }

    fn flush_with(&self, writer: &mut Writer, lsn: Lsn) -> Result<Option<Lsn>> {
        if lsn <= self.flushed() {
            return Ok(None);
        }
        let mut spins = 0;
        let target = loop {
            let target = self.slots.published();
            if target >= lsn {
                break target.0;
            }
            // An inserter below is not done. If it waits for room, this makes some.
            self.write_to(writer, target.0)?;
            spins += 1;
            if spins % 64 == 0 {
                os::thread::yield_now();
            } else {
                os::sync::spin_hint();
            }
        };
        self.write_to(writer, target)?;
        self.sync_segment(writer)?;
        self.flushed.fetch_max(target, Ordering::Release);
        Ok(Some(Lsn(target)))
    }

    /// `wal_writer_flush_after`: more is unflushed than is to wait for its time.
    fn is_much(&self, end: Lsn) -> bool {
        let much = self.segments.flush_after.load(Ordering::Relaxed);
        end.0.saturating_sub(self.flushed().0) >= much
    }

    /// `commit_delay`: gives transactions that are about to commit the time to join a flush.
    fn wait_for_siblings(&self) {
        let micros = self.delay_micros.load(Ordering::Relaxed);
        if micros == 0 || !self.config.fsync {
            return;
        }
        let enough = self.enough_siblings.read().clone();
        if enough.is_some_and(|enough| enough()) {
            os::thread::sleep(Duration::from_micros(micros));
        }
    }

    fn sync_segment(&self, writer: &mut Writer) -> Result<()> {
        if !self.config.fsync || self.config.sync_method == SyncMethod::OpenDatasync {
            return Ok(());
        }
        if let Some((_, file)) = &writer.segment {
            let _waiting = wait::begin(WaitEvent::WalSync);
            let timed = crate::log::begin();
            let began = os::clock::monotonic_nanos();
            file.sync()?;
            self.counters.count_sync(timed);
            // A sliding mean; who has the writer is alone here.
            let (old, new) =
                (self.sync_nanos.load(Ordering::Relaxed), os::clock::monotonic_nanos() - began);
            self.sync_nanos.store(old - old / 8 + new / 8, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes all up to `to`, which must be published.
    pub(crate) fn write_to(&self, writer: &mut Writer, to: u64) -> Result<()> {
        if self.is_failed() {
            return Err(lost());
        }
        while writer.written < to {
            let size = self.segments.size;
            let ring = self.ring.len() as u64;
            // From the beginning of the block in which the last write ended.
            let from = writer.written / BLOCK * BLOCK;
            let end = to.min((from / size + 1) * size).min((from / ring + 1) * ring);
            self.open_segment(writer, from)?;
            self.write_range(writer, from, end)?;
            writer.written = end;
            if end.is_multiple_of(size) {
                // The next write opens another file: this one must be durable before.
                self.sync_segment(writer)?;
                writer.segment = None;
            }
            self.room.store(end / BLOCK * BLOCK + ring, Ordering::SeqCst);
            self.room_sequence.fetch_add(1, Ordering::SeqCst);
            if self.room_waiters.load(Ordering::SeqCst) > 0 {
                futex_wake(&self.room_sequence, u32::MAX);
            }
        }
        Ok(())
    }

    fn open_segment(&self, writer: &mut Writer, position: u64) -> Result<()> {
        let number = position / self.segments.size;
        if writer.segment.as_ref().is_none_or(|(n, _)| *n != number) {
            writer.segment = Some((number, self.segments.open(position)?));
        }
        Ok(())
    }

    /// Writes `[from, end)`, within one segment and one round of the ring; `from` is at a
    /// block's start. The last block is padded with zeros, from a buffer of its own, as others
    /// may be inserting behind `end`.
    fn write_range(&self, writer: &mut Writer, from: u64, end: u64) -> Result<()> {
        let _waiting = wait::begin(WaitEvent::WalWrite);
        let Writer { segment: Some((_, file)), bounce, .. } = writer else {
            return Err(Error::internal("no open segment"));
        };
        let size = self.segments.size;
        let mut at = from;
        if end - at > BOUNCE as u64 {
            let whole = end / BLOCK * BLOCK;
            let word = self.ring_word(at);
            let len = (whole - at) as usize;
            let timed = crate::log::begin();
            file.write_shared_at(&self.ring, word * 8, len, at % size)?;
            self.counters.count_write(len as u64, timed);
            at = whole;
        }
        if at < end {
            let len = (end - at) as usize;
            let padded = len.next_multiple_of(BLOCK as usize);
            // Record ends are multiples of 8, as are the ends of copied pieces.
            self.ring.load(self.ring_word(at), &mut bounce[..len]);
            bounce[len..padded].fill(0);
            let timed = crate::log::begin();
            file.write_at(&bounce[..padded], at % size)?;
            self.counters.count_write(padded as u64, timed);
        }
        Ok(())
    }

    /// A round of the walwriter: flushes what is asked for, and what nobody asked for after a
    /// delay.
    pub(crate) fn flush_step(&self) -> Next {
        let signals = &self.signals;
        if self.is_failed() {
            return Next::Stop;
        }
        let wanted = Lsn(self.requested.load(Ordering::SeqCst));
        if wanted > self.flushed() {
            self.wait_for_siblings();
            // What others insert while this one works is flushed in the next round.
            let writer = self.writer.lock();
            return if self.flush_locked(writer, wanted).is_ok() {
                Next::Again
            } else {
                Next::Stop
            };
        }
        if signals.is_stopping() {
            return Next::Stop;
        }
        let now = os::clock::monotonic_nanos();
        let delay = self.config.writer_delay;
        let end = self.slots.published();
        let mut time = delay * HIBERNATE;
        let nothing = end <= self.flushed();
        signals.hibernates.store(nothing, Ordering::SeqCst);
        if nothing && self.slots.reserved() > self.flushed() {
            // Somebody inserted meanwhile, and may have looked before we said that we sleep.
            signals.hibernates.store(false, Ordering::SeqCst);
            os::thread::yield_now();
            return Next::Again;
        }
        if end > self.flushed() {
            // Inserted, but nobody waits: flushed when it has been seen for a delay.
            let seen = self.unflushed_since.load(Ordering::Relaxed);
            let until = seen.saturating_add(delay.as_nanos() as u64);
            if seen == 0 {
                self.unflushed_since.store(now.max(1), Ordering::Relaxed);
            } else if now >= until || self.is_much(end) {
                self.unflushed_since.store(0, Ordering::Relaxed);
                self.requested.fetch_max(end.0, Ordering::SeqCst);
                return Next::Again;
            }
            time = delay;
        } else {
            self.unflushed_since.store(0, Ordering::Relaxed);
        }
        // Say that we sleep, then look again: who asks in between sees it and wakes us.
        signals.flusher_sleeps.store(1, Ordering::SeqCst);
        if self.requested.load(Ordering::SeqCst) > self.flushed().0 || signals.is_stopping() {
            signals.flusher_sleeps.store(0, Ordering::SeqCst);
            return Next::Again;
        }
        Next::Sleep(|s| &s.flusher_sleeps, time)
    }

    /// A round of the allocator: makes segments before they are needed, so that no commit
    /// waits for one.
    pub(crate) fn allocate_step(&self) -> Next {
        let signals = &self.signals;
        if signals.is_stopping() || self.is_failed() {
            return Next::Stop;
        }
        let size = self.segments.size;
        // Two whole segments after the one being filled.
        let want = || (self.slots.reserved().0 / size + 3) * size;
        let target = want();
        // Zeros take time: when the log is about to catch up, reserve only. Commits into such a
        // segment are several times slower, as each sync has to wait for the journal.
        let left = || self.segments.allocated().saturating_sub(self.slots.reserved().0);
        let made = loop {
            if self.segments.allocated() >= target {
                break true;
            }
            let next = self.segments.allocated() + size;
            if self.segments.ensure(next, left() > size / 8).is_err() {
                break false;
            }
        };
        if !made {
            // The disk is full: statements get the error; try again in a while.
            signals.allocator_sleeps.store(1, Ordering::SeqCst);
            return Next::Sleep(|s| &s.allocator_sleeps, Duration::from_secs(1));
        }
        signals.allocator_sleeps.store(1, Ordering::SeqCst);
        if want() > target || signals.is_stopping() {
            return Next::Again;
        }
        Next::Sleep(|s| &s.allocator_sleeps, Duration::from_secs(60))
    }
}

fn lost() -> Error {
    err!(IO_ERROR, "the write-ahead log could not be written; the server is stopping")
}
