//! Block number to frame, per fork: an array that grows by doubling segments and never moves.
//!
//! An entry is the frame number, or, with the top bit set, a count of how often the block left
//! memory. The count lets a read into private memory notice that the block came, changed, went
//! to disk and left again in the meantime: its compare-and-swap of the old entry then fails.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Set in an entry whose block is not in memory.
pub(crate) const ABSENT: u32 = 1 << 31;

const FIRST_BITS: u32 = 6;
const SEGMENTS: usize = (32 - FIRST_BITS) as usize + 1;

/// The array. Entries start as [`ABSENT`].
pub(crate) struct BlockMap {
    segments: [AtomicPtr<AtomicU32>; SEGMENTS],
}

/// Segment number, length of the segment and index in it.
fn place(block: u32) -> (usize, usize, usize) {
    let i = block as u64 + (1 << FIRST_BITS);
    let bits = 63 - i.leading_zeros();
    ((bits - FIRST_BITS) as usize, 1 << bits, (i - (1 << bits)) as usize)
}

impl BlockMap {
    pub(crate) fn new() -> BlockMap {
        BlockMap { segments: [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS] }
    }

    /// The entry of a block, [`ABSENT`] if the array does not reach it yet.
    #[inline]
    pub(crate) fn get(&self, block: u32) -> u32 {
        let (seg, _, at) = place(block);
        let base = self.segments[seg].load(Ordering::Acquire);
        if base.is_null() {
            return ABSENT;
        }
        // SAFETY: a segment has 2^(FIRST_BITS + seg) entries, `place` keeps `at` below that, and
        // segments live as long as the map.
        unsafe { &*base.add(at) }.load(Ordering::Acquire)
    }

    /// The entry of a block, to change; its segment is made if need be.
    pub(crate) fn entry(&self, block: u32) -> &AtomicU32 {
        let (seg, len, at) = place(block);
        let mut base = self.segments[seg].load(Ordering::Acquire);
        if base.is_null() {
            base = self.grow(seg, len);
        }
        // SAFETY: as in `get`.
        unsafe { &*base.add(at) }
    }

    #[cold]
    fn grow(&self, seg: usize, len: usize) -> *mut AtomicU32 {
        let fresh: Box<[AtomicU32]> = (0..len).map(|_| AtomicU32::new(ABSENT)).collect();
        let fresh = Box::into_raw(fresh).cast::<AtomicU32>();
        let slot = &self.segments[seg];
        match slot.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(other) => {
                // SAFETY: `fresh` came from `into_raw` of a box of this length just above, and
                // nobody else has seen it.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(fresh, len)) });
                other
            }
        }
    }

    /// Puts `frame` where `seen` (an absent entry) was. `Err` if the entry is another by now.
    pub(crate) fn install(&self, block: u32, seen: u32, frame: u32) -> Result<(), u32> {
        debug_assert!(seen & ABSENT != 0 && frame & ABSENT == 0);
        self.entry(block)
            .compare_exchange(seen, frame, Ordering::AcqRel, Ordering::Acquire)
            .map(drop)
    }

    /// Marks the block absent. The caller has claimed the frame, so the entry cannot change.
    /// `generation` is a number that the pool counts up, so that no value comes back soon.
    pub(crate) fn remove(&self, block: u32, generation: u32) {
        self.entry(block).store(ABSENT | generation, Ordering::Release);
    }

    /// The blocks from `from` on that are in memory, with their frames.
    pub(crate) fn resident(&self, from: u32) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        for (seg, slot) in self.segments.iter().enumerate() {
            let base = slot.load(Ordering::Acquire);
            if base.is_null() {
                continue;
            }
            let len = 1u64 << (FIRST_BITS as usize + seg);
            let first = len - (1 << FIRST_BITS);
            for at in (from as u64).saturating_sub(first)..len {
                // SAFETY: `at` is below the segment's length.
                let entry = unsafe { &*base.add(at as usize) }.load(Ordering::Acquire);
                if entry & ABSENT == 0 {
                    found.push(((first + at) as u32, entry));
                }
            }
        }
        found
    }
}

impl Drop for BlockMap {
    fn drop(&mut self) {
        for (seg, slot) in self.segments.iter_mut().enumerate() {
            let base = *slot.get_mut();
            if !base.is_null() {
                let len = 1usize << (FIRST_BITS as usize + seg);
                // SAFETY: made by `grow` from a box of this length; nobody else has the map.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(base, len)) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_its_own_entry() {
        assert_eq!(place(0), (0, 64, 0));
        assert_eq!(place(63), (0, 64, 63));
        assert_eq!(place(64), (1, 128, 0));
        assert_eq!(place(u32::MAX), (SEGMENTS - 1, 1 << 32, 63));
        let map = BlockMap::new();
        for b in [0, 5, 63, 64, 191, 192, 100_000] {
            assert_eq!(map.get(b), ABSENT);
            map.install(b, ABSENT, b + 1).unwrap();
            assert_eq!(map.get(b), b + 1);
        }
        assert_eq!(
            map.resident(64).iter().map(|e| e.0).collect::<Vec<_>>(),
            [64, 191, 192, 100_000]
        );
        map.remove(64, 9);
        assert_eq!(map.install(64, ABSENT, 1), Err(ABSENT | 9));
    }
}
