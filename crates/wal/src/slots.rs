//! Reservation and publication: the lock-free heart of insertion. `README.md` has the
//! protocol; `tests/loom.rs` checks it.

use base::Lsn;
use os::sync::atomic::{AtomicU64, Ordering};

/// Low bits of the reservation word that hold the epoch of the redo pointer; positions are
/// multiples of 8, so that they are free.
const EPOCH_MASK: u64 = 7;
const IDLE: u64 = u64::MAX;

/// One inserter's progress: everything it reserved below `position` is in the buffers. A cache
/// line of its own, with the counters that only the slot's holder adds to.
#[repr(align(128))]
struct Slot {
    position: AtomicU64,
    records: AtomicU64,
    images: AtomicU64,
    bytes: AtomicU64,
}

/// Why a reservation was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The redo pointer moved since the epoch was read: decide on images again.
    Epoch,
    /// The position would pass the limit.
    Limit,
}

/// The end of the log as a word to reserve from, and the slots of those who insert.
pub struct Slots {
    reserved: AtomicU64,
    redo: [AtomicU64; 8],
    slots: Box<[Slot]>,
}

impl Slots {
    /// A log that ends at `end`, whose last checkpoint starts redo at `redo`.
    pub fn new(count: usize, end: Lsn, redo: Lsn) -> Slots {
        let slot = |_| Slot {
            position: AtomicU64::new(IDLE),
            records: AtomicU64::new(0),
            images: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        Slots {
            reserved: AtomicU64::new(end.0 & !EPOCH_MASK),
            redo: std::array::from_fn(|_| AtomicU64::new(redo.0)),
            slots: (0..count).map(slot).collect(),
        }
    }

    /// Sets the end, before anybody inserts.
    pub fn set_end(&self, end: Lsn, redo: Lsn) {
        for r in &self.redo {
            r.store(redo.0, Ordering::Release);
        }
        self.reserved.store(end.0 & !EPOCH_MASK, Ordering::Release);
    }

    /// End of the last reservation.
    #[inline]
    pub fn reserved(&self) -> Lsn {
        Lsn(self.reserved.load(Ordering::Acquire) & !EPOCH_MASK)
    }

    /// Takes a free slot, `hint` first. From here on nothing that this thread will reserve
    /// counts as published.
    pub fn acquire(&self, hint: usize) -> usize {
        let n = self.slots.len();
        loop {
            for i in 0..n {
                let at = (hint + i) % n;
                let slot = &self.slots[at].position;
                if slot.load(Ordering::Relaxed) != IDLE {
                    continue;
                }
                // A lower bound of what will be reserved: the end only grows.
                let bound = self.reserved().0;
                let taken = slot.compare_exchange(IDLE, bound, Ordering::AcqRel, Ordering::Relaxed);
                if taken.is_ok() {
                    return at;
                }
            }
            os::sync::spin_hint();
        }
    }

    /// The current epoch and its redo pointer; to be read while a slot is held, which keeps
    /// the epoch from coming round again.
    #[inline]
    pub fn epoch(&self) -> (u64, Lsn) {
        let epoch = self.reserved.load(Ordering::Acquire) & EPOCH_MASK;
        (epoch, Lsn(self.redo[epoch as usize].load(Ordering::Acquire)))
    }

    /// Reserves `len` bytes (a multiple of 8) for the holder of `slot`, up to `limit`; gives
    /// where they start.
    #[inline]
    pub fn reserve(&self, slot: usize, epoch: u64, len: u64, limit: u64) -> Result<u64, Refused> {
        self.reserve_with(slot, epoch, limit, |start| start + len).map(|(start, _)| start)
    }

    /// As [`Slots::reserve`], with the end computed from the start.
    #[inline]
    pub fn reserve_with(
        &self,
        slot: usize,
        epoch: u64,
        limit: u64,
        end_of: impl Fn(u64) -> u64,
    ) -> Result<(u64, u64), Refused> {
        let mut word = self.reserved.load(Ordering::Relaxed);
        loop {
            if word & EPOCH_MASK != epoch {
                return Err(Refused::Epoch);
            }
            let start = word & !EPOCH_MASK;
            let end = end_of(start);
            if end > limit {
                return Err(Refused::Limit);
            }
            // Release: who sees this reservation sees that the slot is taken.
            match self.reserved.compare_exchange_weak(
                word,
                end | epoch,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.slots[slot].position.store(start, Ordering::Release);
                    return Ok((start, end));
                }
                Err(now) => word = now,
            }
        }
    }

    /// Says that the holder of `slot` has copied all it reserved below `position`.
    pub fn publish(&self, slot: usize, position: u64) {
        self.slots[slot].position.store(position, Ordering::Release);
    }

    /// Gives the slot back: all that its holder reserved is copied, or nothing was reserved.
    #[inline]
    pub fn release(&self, slot: usize) {
        self.slots[slot].position.store(IDLE, Ordering::Release);
    }

    /// Counts a record for the holder of `slot`.
    #[inline]
    pub fn count(&self, slot: usize, bytes: u64, images: u32) {
        let s = &self.slots[slot];
        let add = |counter: &AtomicU64, n: u64| {
            counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed)
        };
        add(&s.records, 1);
        add(&s.bytes, bytes);
        if images > 0 {
            add(&s.images, images as u64);
        }
    }

    /// Records, images and bytes inserted so far.
    pub fn counts(&self) -> (u64, u64, u64) {
        let sum = |f: fn(&Slot) -> &AtomicU64| {
            self.slots.iter().map(|s| f(s).load(Ordering::Relaxed)).sum()
        };
        (sum(|s| &s.records), sum(|s| &s.images), sum(|s| &s.bytes))
    }

    /// Everything below the result is in the buffers. May be lower than an earlier result,
    /// which stays true.
    pub fn published(&self) -> Lsn {
        // In this order: a reservation that this load includes has its slot taken already.
        let mut low = self.reserved().0;
        for slot in &self.slots {
            low = low.min(slot.position.load(Ordering::Acquire));
        }
        Lsn(low)
    }

    /// Moves the redo pointer to the end of what is reserved and gives it. One caller at a
    /// time. Whoever decided on images by the old pointer and has not reserved yet is refused.
    pub fn advance_redo(&self) -> Lsn {
        let mut word = self.reserved.load(Ordering::Acquire);
        loop {
            let position = word & !EPOCH_MASK;
            let next = (word & EPOCH_MASK).wrapping_add(1) & EPOCH_MASK;
            self.redo[next as usize].store(position, Ordering::Release);
            match self.reserved.compare_exchange(
                word,
                position | next,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Lsn(position),
                Err(now) => word = now,
            }
        }
    }

    /// The redo pointer.
    #[inline]
    pub fn redo(&self) -> Lsn {
        self.epoch().1
    }
}
