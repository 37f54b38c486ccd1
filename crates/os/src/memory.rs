//! How much memory there is to use.

use std::alloc::{GlobalAlloc, Layout};
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

/// The allocator of the server: mimalloc, with a count of what each thread holds (one addition in
/// the thread's own memory for each call), so that a server short of memory can tell which
/// statement has most of it.
pub struct Allocator;

/// Blocks are aligned so far without being asked. Saying an alignment makes a call half as fast.
const NATURAL: usize = size_of::<usize>();

// SAFETY: all calls go to mimalloc, whose blocks are aligned to a word at least and to what is
// asked for where that is more; counting touches a plain thread-local number that needs neither
// allocation nor a destructor.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: any size and any power of two will do.
        let block = unsafe {
            match layout.align() <= NATURAL {
                true => libmimalloc_sys::mi_malloc(layout.size()),
                false => libmimalloc_sys::mi_malloc_aligned(layout.size(), layout.align()),
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: any size and any power of two will do.
        let block = unsafe {
            match layout.align() <= NATURAL {
                true => libmimalloc_sys::mi_zalloc(layout.size()),
                false => libmimalloc_sys::mi_zalloc_aligned(layout.size(), layout.align()),
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promise: the block came from here.
        unsafe { libmimalloc_sys::mi_free(ptr.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as i64 - layout.size() as i64);
        // SAFETY: the caller's promise: the block came from here, with this alignment.
        let block = unsafe {
            match layout.align() <= NATURAL {
                true => libmimalloc_sys::mi_realloc(ptr.cast(), size),
                false => libmimalloc_sys::mi_realloc_aligned(ptr.cast(), size, layout.align()),
            }
        };
        block.cast()
    }
}
