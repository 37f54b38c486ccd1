//! What this thread's statement has written to the log, for `EXPLAIN (WAL)`. Counters are the
//! thread's own, so counting costs no shared cache line.

use std::cell::Cell;
use std::ops::{AddAssign, Sub};

/// Log written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WalUsage {
    /// Records.
    pub records: u64,
    /// Images of pages among them.
    pub images: u64,
    /// Bytes of records.
    pub bytes: u64,
    /// How often there was no room in the buffers.
    pub buffers_full: u64,
}

thread_local! {
    static USAGE: Cell<WalUsage> =
        const { Cell::new(WalUsage { records: 0, images: 0, bytes: 0, buffers_full: 0 }) };
}

impl WalUsage {
    /// What this thread has written so far; differences of two readings say what a node wrote.
    pub fn current() -> WalUsage {
        USAGE.get()
    }

    /// Adds what another thread wrote on this one's behalf.
    pub fn add_to_current(self) {
        let mut all = USAGE.get();
        all += self;
        USAGE.set(all);
    }
}

impl Sub for WalUsage {
    type Output = WalUsage;
    fn sub(self, o: WalUsage) -> WalUsage {
        WalUsage {
            records: self.records.wrapping_sub(o.records),
            images: self.images.wrapping_sub(o.images),
            bytes: self.bytes.wrapping_sub(o.bytes),
            buffers_full: self.buffers_full.wrapping_sub(o.buffers_full),
        }
    }
}

impl AddAssign for WalUsage {
    fn add_assign(&mut self, o: WalUsage) {
        self.records = self.records.wrapping_add(o.records);
        self.images = self.images.wrapping_add(o.images);
        self.bytes = self.bytes.wrapping_add(o.bytes);
        self.buffers_full = self.buffers_full.wrapping_add(o.buffers_full);
    }
}

#[inline]
pub(crate) fn count(bytes: u64, images: u32) {
    let mut u = USAGE.get();
    u.records += 1;
    u.images += u64::from(images);
    u.bytes += bytes;
    USAGE.set(u);
}

pub(crate) fn count_buffers_full() {
    let mut u = USAGE.get();
    u.buffers_full += 1;
    USAGE.set(u);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up() {
        let before = WalUsage::current();
        count(100, 1);
        count(50, 0);
        let used = WalUsage::current() - before;
        assert_eq!((used.records, used.images, used.bytes), (2, 1, 150));
        used.add_to_current();
        assert_eq!((WalUsage::current() - before).bytes, 300);
    }
}
