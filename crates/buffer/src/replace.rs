//! Which page goes when another needs room: a clock sweep, with rings for scans that would
//! otherwise push everything else out.

use crate::counts::Context;
use crate::frame::Frame;
use crate::pool::PoolInner;
use crate::word;
use base::{Error, Result};
use os::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Sweeps that find every page pinned before a session gives up; some 30 ms.
const MOST_STRIKES: u32 = 24;

/// How a scan treats the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// As any page access.
    #[default]
    Normal,
    /// Reads much, once: goes round in a ring of a few frames.
    BulkRead,
    /// Writes much, once (COPY, CREATE TABLE AS): a larger ring.
    BulkWrite,
    /// Vacuum and what goes with it: a ring of so many pages; 0 is as any page access.
    Vacuum(u32),
}

/// The frames that one scan goes round in.
pub struct Ring {
    frames: Mutex<RingFrames>,
    context: Context,
}

impl Ring {
    /// What its reads count as.
    pub(crate) fn context(&self) -> Context {
        self.context
    }
}

struct RingFrames {
    slots: Vec<u32>,
    next: usize,
    size: usize,
}

impl Strategy {
    /// The ring of a scan with this strategy, in a pool of so many frames.
    pub(crate) fn ring(self, frames: usize) -> Option<Ring> {
        let (size, context) = match self {
            Strategy::Normal | Strategy::Vacuum(0) => return None,
            Strategy::BulkRead => (32, Context::BulkRead),
            Strategy::BulkWrite => (2048, Context::BulkWrite),
            Strategy::Vacuum(pages) => (pages as usize, Context::Vacuum),
        };
        let size = size.min(frames / 8).max(4);
        let frames = Mutex::new(RingFrames { slots: Vec::new(), next: 0, size });
        Some(Ring { frames, context })
    }
}

impl PoolInner {
    /// A frame for a new page: claimed, in no map, without tag, its version odd.
    pub(crate) fn claim_frame(&self, ring: Option<&Ring>) -> Result<&Frame> {
        let Some(ring) = ring else { return self.claim_any() };
        let mut ring = ring.frames.lock();
        let at = ring.next;
        ring.next = (at + 1) % ring.size;
        if let Some(index) = ring.slots.get(at) {
            let frame = self.frame(*index);
            // Used more than by this scan: leave it and take another in its place.
            if frame.usage.load(Ordering::Relaxed) <= 1 && self.try_take(frame)? {
                return Ok(frame);
            }
        }
        let frame = self.claim_any()?;
        match ring.slots.get_mut(at) {
            Some(slot) => *slot = frame.index(),
            None => ring.slots.push(frame.index()),
        }
        Ok(frame)
    }

    fn claim_any(&self) -> Result<&Frame> {
        let count = self.frames().len() as u32;
        if self.never_used.load(Ordering::Relaxed) < count {
            let index = self.never_used.fetch_add(1, Ordering::Relaxed);
            if index < count {
                return Ok(self.frame(index));
            }
        }
        if self.free_count.load(Ordering::Relaxed) > 0
            && let Some(index) = self.free.lock().pop()
        {
            self.free_count.fetch_sub(1, Ordering::Relaxed);
            return Ok(self.frame(index));
        }
        let mut strikes = 0;
        loop {
            let mut hopeless = true;
            for _ in 0..count {
                let frame = self.frame(self.next_hand());
                let state = frame.word.load();
                const BUSY: u64 = word::CLAIMED | word::LOADING | word::WRITING;
                if state & (BUSY | word::PINS) != 0 {
                    // What is being written, or changes hands, is to be had soon.
                    hopeless &= state & BUSY == 0;
                    continue;
                }
                hopeless = false;
                let usage = frame.usage.load(Ordering::Relaxed);
                if usage > 0 {
                    frame.usage.store(usage - 1, Ordering::Relaxed);
                } else if self.try_take(frame)? {
                    return Ok(frame);
                }
            }
            // Pins are mostly short, so a moment in which all pages have one is no disaster.
            strikes = if hopeless { strikes + 1 } else { 0 };
            if strikes > MOST_STRIKES {
                return Err(Error::internal("no unpinned buffers available"));
            }
            match strikes {
                0 => os::thread::yield_now(),
                _ => os::thread::sleep(Duration::from_micros(100) * strikes),
            }
        }
    }

    /// Where the clock hand is now, moving it on.
    fn next_hand(&self) -> u32 {
        let count = self.frames().len() as u64;
        (self.hand.fetch_add(1, Ordering::Relaxed) % count) as u32
    }

    /// Claims the frame if nobody uses it, writing its page first if it is dirty.
    fn try_take(&self, frame: &Frame) -> Result<bool> {
        if frame.word.load() & word::DIRTY != 0 && !self.write_victim(frame)? {
            return Ok(false);
        }
        if !frame.word.try_claim() {
            return Ok(false);
        }
        self.vacate(frame);
        Ok(true)
    }

    /// Takes the page out of a claimed frame. Its version goes odd before the map entry goes.
    pub(crate) fn vacate(&self, frame: &Frame) {
        frame.version_odd();
        // SAFETY: the caller has claimed the frame.
        if let Some(tag) = unsafe { frame.set_tag(None) } {
            tag.rel.fork(tag.fork).map.remove(tag.block, self.next_generation());
        }
    }

    /// Puts a claimed frame without a page on the free list.
    pub(crate) fn release_frame(&self, frame: &Frame) {
        frame.version_odd();
        // SAFETY: the caller has claimed the frame.
        drop(unsafe { frame.set_tag(None) });
        self.free.lock().push(frame.index());
        self.free_count.fetch_add(1, Ordering::Relaxed);
    }

    /// A number that differs from all given out recently.
    pub(crate) fn next_generation(&self) -> u32 {
        self.generation.fetch_add(1, Ordering::Relaxed) & (crate::map::ABSENT - 1)
    }
}
