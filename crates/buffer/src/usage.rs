//! What this thread's statement has used of the page cache, for `EXPLAIN (BUFFERS)` and
//! `pg_stat_statements`. Counters are the thread's own, so counting costs no shared cache line.

use crate::Persistence;
use std::cell::Cell;
use std::ops::{AddAssign, Sub};

/// Pages used. `shared` counts permanent and unlogged relations, `local` temporary ones.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct BufferUsage {
    /// Pages found in memory.
    pub shared_hit: u64,
    /// Pages read from files.
    pub shared_read: u64,
    /// Clean pages made dirty.
    pub shared_dirtied: u64,
    /// Pages written to files to make room.
    pub shared_written: u64,
    /// As `shared_hit`, temporary relations.
    pub local_hit: u64,
    /// As `shared_read`, temporary relations.
    pub local_read: u64,
    /// As `shared_dirtied`, temporary relations.
    pub local_dirtied: u64,
    /// As `shared_written`, temporary relations.
    pub local_written: u64,
    /// Pages read from spill files; counted by who spills.
    pub temp_read: u64,
    /// Pages written to spill files; counted by who spills.
    pub temp_written: u64,
    /// Nanoseconds that reads and writes took, with `track_io_timing`: of shared pages, of
    /// temporary relations, of spill files.
    pub read_nanos: [u64; 3],
    /// See `read_nanos`.
    pub write_nanos: [u64; 3],
}

thread_local! {
    static USAGE: Cell<BufferUsage> = const {
        Cell::new(BufferUsage {
            shared_hit: 0,
            shared_read: 0,
            shared_dirtied: 0,
            shared_written: 0,
            local_hit: 0,
            local_read: 0,
            local_dirtied: 0,
            local_written: 0,
            temp_read: 0,
            temp_written: 0,
            read_nanos: [0; 3],
            write_nanos: [0; 3],
        })
    };
}

impl BufferUsage {
    /// What this thread has used so far; differences of two readings say what a node used.
    pub fn current() -> BufferUsage {
        USAGE.get()
    }

    /// Adds what another thread used on this one's behalf.
    pub fn add_to_current(self) {
        update(|u| *u += self);
    }
}

impl Sub for BufferUsage {
    type Output = BufferUsage;
    fn sub(self, o: BufferUsage) -> BufferUsage {
        BufferUsage {
            shared_hit: self.shared_hit.wrapping_sub(o.shared_hit),
            shared_read: self.shared_read.wrapping_sub(o.shared_read),
            shared_dirtied: self.shared_dirtied.wrapping_sub(o.shared_dirtied),
            shared_written: self.shared_written.wrapping_sub(o.shared_written),
            local_hit: self.local_hit.wrapping_sub(o.local_hit),
            local_read: self.local_read.wrapping_sub(o.local_read),
            local_dirtied: self.local_dirtied.wrapping_sub(o.local_dirtied),
            local_written: self.local_written.wrapping_sub(o.local_written),
            temp_read: self.temp_read.wrapping_sub(o.temp_read),
            temp_written: self.temp_written.wrapping_sub(o.temp_written),
            read_nanos: std::array::from_fn(|i| self.read_nanos[i].wrapping_sub(o.read_nanos[i])),
            write_nanos: std::array::from_fn(|i| {
                self.write_nanos[i].wrapping_sub(o.write_nanos[i])
            }),
        }
    }
}

impl AddAssign for BufferUsage {
    fn add_assign(&mut self, o: BufferUsage) {
        let zero = BufferUsage::default();
        *self = *self - (zero - o);
    }
}

#[inline]
fn update(f: impl FnOnce(&mut BufferUsage)) {
    USAGE.with(|cell| {
        let mut usage = cell.get();
        f(&mut usage);
        cell.set(usage);
    });
}

#[inline]
pub(crate) fn count_hit(persistence: Persistence) {
    update(|u| match persistence {
        Persistence::Temp => u.local_hit += 1,
        _ => u.shared_hit += 1,
    });
}

pub(crate) fn count_read(persistence: Persistence) {
    update(|u| match persistence {
        Persistence::Temp => u.local_read += 1,
        _ => u.shared_read += 1,
    });
}

pub(crate) fn count_dirtied(persistence: Persistence) {
    update(|u| match persistence {
        Persistence::Temp => u.local_dirtied += 1,
        _ => u.shared_dirtied += 1,
    });
}

pub(crate) fn count_written(persistence: Persistence, pages: u64) {
    update(|u| match persistence {
        Persistence::Temp => u.local_written += pages,
        _ => u.shared_written += pages,
    });
}

/// Counts the time of a read (`read`) or a write.
pub(crate) fn count_time(temporary: bool, read: bool, nanos: u64) {
    update(|u| {
        let times = if read { &mut u.read_nanos } else { &mut u.write_nanos };
        times[usize::from(temporary)] += nanos;
    });
}

/// Counts pages that went to (`read` is false) or came from spill files, and since when.
pub fn count_temp(read: bool, pages: u64, began: Option<u64>) {
    let nanos = began.map_or(0, |b| os::clock::monotonic_nanos().saturating_sub(b));
    update(|u| match read {
        true => {
            u.temp_read += pages;
            u.read_nanos[2] += nanos;
        }
        false => {
            u.temp_written += pages;
            u.write_nanos[2] += nanos;
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up() {
        let before = BufferUsage::current();
        count_hit(Persistence::Permanent);
        count_read(Persistence::Temp);
        let used = BufferUsage::current() - before;
        assert_eq!((used.shared_hit, used.local_read), (1, 1));
        used.add_to_current();
        let twice = BufferUsage::current() - before;
        assert_eq!((twice.shared_hit, twice.local_read), (2, 2));
    }
}
