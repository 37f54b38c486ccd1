//! Memory that the disk can read and write directly.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Alignment of an [`AlignedBuf`] in bytes: enough for every disk that direct I/O works on.
pub const BUF_ALIGN: usize = 4096;

/// From this size on buffers are mapped: the allocator would touch every byte to zero it.
const MAPPED: usize = 256 << 10;
/// From this size on, huge pages are asked for.
const HUGE: usize = 32 << 20;

/// How large memory is mapped (`huge_pages`, `huge_page_size`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HugePages {
    /// In pages of the ordinary size.
    Off,
    /// In huge pages where the kernel makes some without being asked for each.
    Try,
    /// In huge pages that were set apart, of so many kilobytes; 0 is the kernel's own size.
    Reserved(u32),
}

impl HugePages {
    /// Bytes of a page, if they are known to matter.
    fn page_size(self) -> usize {
        match self {
            HugePages::Reserved(0) => 1024 * default_huge_kb(),
            HugePages::Reserved(kb) => 1024 * kb as usize,
            _ => BUF_ALIGN,
        }
    }

    /// True if so many bytes can be mapped like this now.
    pub fn can_map(self, len: usize) -> bool {
        let size = len.next_multiple_of(self.page_size());
        match try_map(size, self.flags()) {
            Some(p) => {
                // SAFETY: the mapping just made, which nobody knows of.
                unsafe { libc::munmap(p.as_ptr().cast(), size) };
                true
            }
            None => false,
        }
    }

    fn flags(self) -> i32 {
        match self {
            HugePages::Off | HugePages::Try => 0,
            HugePages::Reserved(0) => libc::MAP_HUGETLB,
            HugePages::Reserved(kb) => {
                let log2 = (u64::from(kb) * 1024).ilog2() as i32;
                libc::MAP_HUGETLB | log2 << libc::MAP_HUGE_SHIFT
            }
        }
    }
}

/// Kilobytes of the huge pages that the kernel makes if it is not told a size.
fn default_huge_kb() -> usize {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("Hugepagesize:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(2048)
}

/// A zeroed buffer whose address is a multiple of [`BUF_ALIGN`].
pub struct AlignedBuf {
    ptr: NonNull<u8>,
    len: usize,
    /// Bytes of its mapping; 0 if the allocator gave it.
    mapped: usize,
}

// SAFETY: the buffer owns its memory exclusively, as a Box<[u8]> does.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared access only reads, as for a Box<[u8]>.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// `len` bytes of zero. Large buffers cost no memory until they are written.
    pub fn zeroed(len: usize) -> AlignedBuf {
        let layout = Self::layout(len);
        if layout.size() >= MAPPED {
            return AlignedBuf::mapped(len, HugePages::Try);
        }
        // SAFETY: the layout's size is at least BUF_ALIGN, so it is not zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        match NonNull::new(ptr) {
            Some(ptr) => AlignedBuf { ptr, len, mapped: 0 },
            None => handle_alloc_error(layout),
        }
    }

    /// The same in memory of its own. Without reserved huge pages it gets others.
    pub fn mapped(len: usize, huge: HugePages) -> AlignedBuf {
        let size = len.max(1).next_multiple_of(huge.page_size());
        if matches!(huge, HugePages::Reserved(_))
            && let Some(ptr) = try_map(size, huge.flags())
        {
            return AlignedBuf { ptr, len, mapped: size };
        }
        let size = Self::layout(len).size();
        AlignedBuf { ptr: map(size, huge != HugePages::Off), len, mapped: size }
    }

    fn layout(len: usize) -> Layout {
        let size = len.max(1).div_ceil(BUF_ALIGN) * BUF_ALIGN;
        Layout::from_size_align(size, BUF_ALIGN).expect("buffer size fits the address space")
    }

    /// The address, for requests that run while the buffer is lent to the kernel.
    pub fn as_raw(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: ptr points to len initialised bytes that live as long as self.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for Deref, and &mut self makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if self.mapped > 0 {
            // SAFETY: the memory is a mapping of this size, and nobody uses it any more.
            unsafe { libc::munmap(self.ptr.as_ptr().cast(), self.mapped) };
        } else {
            // SAFETY: the memory came from alloc_zeroed with this same layout.
            unsafe { dealloc(self.ptr.as_ptr(), Self::layout(self.len)) }
        }
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.len)
    }
}

/// Anonymous memory: zero without being touched.
fn map(size: usize, huge: bool) -> NonNull<u8> {
    let Some(p) = try_map(size, 0) else {
        handle_alloc_error(Layout::from_size_align(size, BUF_ALIGN).unwrap_or(Layout::new::<u8>()));
    };
    if size >= HUGE && huge {
        // SAFETY: advice on the mapping just made.
        unsafe { libc::madvise(p.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
    }
    p
}

fn try_map(size: usize, flags: i32) -> Option<NonNull<u8>> {
    // SAFETY: a new private mapping at an address of the kernel's choice concerns nobody.
    let p = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags,
            -1,
            0,
        )
    };
    if p == libc::MAP_FAILED { None } else { NonNull::new(p.cast()) }
}

/// An aligned buffer of atomic words that many threads may fill while the disk reads other
/// parts of it. Which parts are stable is the user's protocol; bytes read while another thread
/// writes them are merely stale or new, never undefined behaviour.
pub struct SharedBuf {
    buf: AlignedBuf,
}

impl SharedBuf {
    /// `len` bytes of zero; `len` must be a multiple of 8.
    pub fn zeroed(len: usize) -> SharedBuf {
        assert!(len.is_multiple_of(8), "a shared buffer holds whole words");
        SharedBuf { buf: AlignedBuf::zeroed(len) }
    }

    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.buf.len
    }

    /// True for a buffer of no bytes.
    pub fn is_empty(&self) -> bool {
        self.buf.len == 0
    }

    /// The bytes as words in memory order.
    #[inline]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the memory is 4096-aligned, zeroed, owned by self, and only ever reached
        // through these atomics (or by the kernel, which has no notion of a data race).
        unsafe {
            std::slice::from_raw_parts(self.buf.ptr.as_ptr() as *const AtomicU64, self.buf.len / 8)
        }
    }

    /// Copies whole words from `src` (a multiple of 8 bytes) to the word index `at`.
    #[inline]
    pub fn store(&self, at: usize, src: &[u8]) {
        let words = &self.words()[at..at + src.len() / 8];
        for (word, bytes) in words.iter().zip(src.as_chunks::<8>().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
    }

    /// Copies whole words out to `dst` (a multiple of 8 bytes) from the word index `at`.
    pub fn load(&self, at: usize, dst: &mut [u8]) {
        let words = &self.words()[at..at + dst.len() / 8];
        for (word, bytes) in words.iter().zip(dst.as_chunks_mut::<8>().0) {
            *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
        }
    }

    pub(crate) fn raw(&self, offset: usize, len: usize) -> *const u8 {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.buf.len));
        self.buf.as_raw().wrapping_add(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_and_zeroed() {
        let mut buf = AlignedBuf::zeroed(10000);
        assert_eq!(buf.as_ptr() as usize % BUF_ALIGN, 0);
        assert!(buf.iter().all(|b| *b == 0));
        buf[9999] = 1;
        assert_eq!(buf.len(), 10000);
        assert_eq!(AlignedBuf::zeroed(0).len(), 0);
    }

    #[test]
    fn shared_words_keep_byte_order() {
        let buf = SharedBuf::zeroed(64);
        buf.store(1, b"abcdefghABCDEFGH");
        let mut out = [0u8; 16];
        buf.load(1, &mut out);
        assert_eq!(&out, b"abcdefghABCDEFGH");
        let mut all = [0u8; 24];
        buf.load(0, &mut all);
        assert_eq!(&all[..10], b"\0\0\0\0\0\0\0\0ab");
    }
}
