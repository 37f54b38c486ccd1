//! How much memory there is to use, and the allocator.

mod allocator;

pub use allocator::{Allocator, Keeping, keep_blocks};

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of memory that this process may use: the machine's, or its control group's limit.
pub fn total_bytes() -> u64 {
    // SAFETY: sysconf takes a constant and touches no memory of ours.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let machine = (pages.max(1) as u64).saturating_mul(size.max(1) as u64);
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    machine.min(limit.unwrap_or(u64::MAX))
}

/// Bytes of memory in use by this process now.
pub fn resident_bytes() -> u64 {
    let Ok(text) = std::fs::read_to_string("/proc/self/statm") else { return 0 };
    let pages = text.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    pages * 4096
}

static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);

/// Sets what the process is to hold at most, for [`has_room`].
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// Whether the process may hold so many bytes more. Takes a microsecond or two.
pub fn has_room(bytes: u64) -> bool {
    let limit = LIMIT.load(Ordering::Relaxed);
    limit == u64::MAX || resident_bytes().saturating_add(bytes) <= limit
}

/// Returns to the system what was freed a moment ago, which the allocator keeps for a while. Takes
/// milliseconds if that is much.
pub fn give_back() {
    unsafe extern "C" {
        fn mi_collect(force: bool);
    }
    // SAFETY: the allocator's own function for this, which any thread may call at any time.
    unsafe { mi_collect(true) }
}

/// Has the cache line of this address fetched, if it is one that can be read. A hint: it never
/// fails and waits for nothing.
#[inline(always)]
pub fn prefetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of an address that cannot be read does nothing.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The same for all lines of something.
#[inline]
pub fn prefetch_all<T: ?Sized>(of: &T) {
    let start = std::ptr::from_ref(of).cast::<u8>();
    (0..size_of_val(of)).step_by(64).for_each(|at| prefetch(start.wrapping_add(at)));
}

thread_local! {
    /// Bytes that this thread has allocated less those it has freed; see [`Counting`].
    static HELD: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

/// Bytes that this thread has allocated less those it has freed. Meaningful as a difference over
/// work that stays on one thread.
#[inline]
pub fn thread_bytes() -> i64 {
    HELD.with(std::cell::Cell::get)
}

#[inline]
fn count(bytes: i64) {
    HELD.with(|h| h.set(h.get().wrapping_add(bytes)));
}
