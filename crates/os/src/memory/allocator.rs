//! The allocator: mimalloc, and before it what a thread keeps of the blocks that it freed.
//!
//! A statement allocates some hundred small blocks and frees them again. mimalloc hands out all
//! blocks of a page in turn before it comes back to one just freed, so those of the next statement
//! are others, and by the time the first ones come again they have left the processor's caches:
//! reading the link to the next free block, which mimalloc keeps in the block, waits for memory. A
//! thread that [keeps blocks](keep_blocks) gives out what it got back last, and finds it in an
//! array of its own.

use super::count;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::marker::PhantomData;

/// The allocator of the server, with a count of what each thread holds (one addition in the
/// thread's own memory for each call), so that a server short of memory can tell which statement
/// has most of it.
pub struct Allocator;

/// Blocks are aligned so far without being asked. Saying an alignment makes a call half as fast.
const NATURAL: usize = size_of::<usize>();

/// Sizes of blocks that are kept are multiples of this.
const GRAIN: usize = 16;

/// Blocks up to this size are kept.
const KEPT_SIZE_MAX: usize = 1024;

/// So many blocks of one size are kept at most.
const KEPT_BLOCKS: usize = 32;

/// Blocks of one size that are free.
struct Shelf {
    used: usize,
    blocks: [*mut u8; KEPT_BLOCKS],
}

/// What a thread keeps.
struct Shelves {
    /// Blocks that a shelf may have: none if the thread keeps none.
    room: usize,
    shelves: [Shelf; KEPT_SIZE_MAX / GRAIN + 1],
}

impl Shelves {
    const EMPTY: Shelves = Shelves {
        room: 0,
        shelves: [const { Shelf { used: 0, blocks: [std::ptr::null_mut(); KEPT_BLOCKS] } };
            KEPT_SIZE_MAX / GRAIN + 1],
    };
}

thread_local! {
    // It has no destructor, so it is there as long as the thread is.
    static SHELVES: UnsafeCell<Shelves> = const { UnsafeCell::new(Shelves::EMPTY) };
}

/// Calls `f` with what this thread keeps. `f` must not allocate.
#[inline(always)]
fn with_shelves<R>(f: impl FnOnce(&mut Shelves) -> R) -> R {
    // SAFETY: no other thread reaches it, and nothing that `f` does comes here again.
    SHELVES.with(|s| f(unsafe { &mut *s.get() }))
}

/// The shelf for blocks of this layout, if such are kept.
#[inline(always)]
fn shelf_of(layout: Layout) -> Option<usize> {
    let kept = layout.size() <= KEPT_SIZE_MAX && layout.align() <= NATURAL;
    kept.then(|| layout.size().div_ceil(GRAIN))
}

/// A block of this size as mimalloc is asked for it: who gets one off a shelf may fill it to the
/// shelf's size.
#[inline(always)]
fn rounded(size: usize) -> usize {
    if size <= KEPT_SIZE_MAX { size.next_multiple_of(GRAIN) } else { size }
}

/// A block for this shelf, off it or a new one; null if there is no memory.
#[inline(always)]
fn take(shelf: usize) -> *mut u8 {
    let kept = with_shelves(|s| {
        let shelf = &mut s.shelves[shelf];
        shelf.used = shelf.used.checked_sub(1)?;
        Some(shelf.blocks[shelf.used])
    });
    // SAFETY: any size will do.
    kept.unwrap_or_else(|| unsafe { libmimalloc_sys::mi_malloc(shelf * GRAIN) }.cast())
}

/// Takes back a block of this shelf's size.
///
/// # Safety
///
/// [`take`] gave the block, or mimalloc in this size, and nobody has it.
#[inline(always)]
unsafe fn put(shelf: usize, block: *mut u8) {
    let kept = with_shelves(|s| {
        let room = s.room;
        let shelf = &mut s.shelves[shelf];
        let kept = shelf.used < room;
        if kept {
            shelf.blocks[shelf.used] = block;
            shelf.used += 1;
        }
        kept
    });
    if !kept {
        // SAFETY: the caller's promise: it is mimalloc's.
        unsafe { libmimalloc_sys::mi_free(block.cast()) }
    }
}

/// While this is there, the thread keeps blocks.
pub struct Keeping(PhantomData<*mut u8>);

/// From now on this thread keeps up to 32 blocks of each size up to 1 KB that it frees: for threads
/// that run statements. It is half a megabyte at most.
pub fn keep_blocks() -> Keeping {
    with_shelves(|s| s.room = KEPT_BLOCKS);
    Keeping(PhantomData)
}

impl Drop for Keeping {
    fn drop(&mut self) {
        with_shelves(|s| {
            s.room = 0;
            for shelf in &mut s.shelves {
                for block in &shelf.blocks[..std::mem::take(&mut shelf.used)] {
                    // SAFETY: it came from mimalloc, and whoever had it has freed it.
                    unsafe { libmimalloc_sys::mi_free(block.cast()) };
                }
            }
        });
    }
}

// SAFETY: blocks come from mimalloc, whose blocks are aligned to a word at least and to what is
// asked for where that is more, or off a shelf, where there are such of its size or more that
// nobody has; keeping and counting touch plain thread-local memory that needs neither allocation
// nor a destructor.
unsafe impl GlobalAlloc for Allocator {
    // Once for all: its callers are everywhere, and they would not fit into the processor's cache.
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        if let Some(shelf) = shelf_of(layout) {
            return take(shelf);
        }
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
                true => libmimalloc_sys::mi_zalloc(rounded(layout.size())),
                false => libmimalloc_sys::mi_zalloc_aligned(layout.size(), layout.align()),
            }
        };
        block.cast()
    }

    #[inline(never)]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        match shelf_of(layout) {
            // SAFETY: the caller's promise: nobody has it, and it came from here with this size.
            Some(shelf) => unsafe { put(shelf, ptr) },
            // SAFETY: the caller's promise: the block came from here, so from mimalloc.
            None => unsafe { libmimalloc_sys::mi_free(ptr.cast()) },
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise: the alignment is one, and the size is not too large.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if let (Some(old), Some(new)) = (shelf_of(layout), shelf_of(wanted)) {
            count(size as i64 - layout.size() as i64);
            if old == new {
                return ptr;
            }
            // SAFETY: the new block is another, and both have room for the smaller size.
            unsafe {
                let block = take(new);
                if !block.is_null() {
                    block.copy_from_nonoverlapping(ptr, layout.size().min(size));
                    put(old, ptr);
                }
                return block;
            }
        }
        count(size as i64 - layout.size() as i64);
        // SAFETY: the caller's promise: the block came from here, with this alignment.
        let block = unsafe {
            match layout.align() <= NATURAL {
                true => libmimalloc_sys::mi_realloc(ptr.cast(), rounded(size)),
                false => libmimalloc_sys::mi_realloc_aligned(ptr.cast(), size, layout.align()),
            }
        };
        block.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).unwrap()
    }

    #[test]
    fn what_was_freed_last_comes_first() {
        let keeping = keep_blocks();
        // SAFETY: each block is freed once, with its layout, and filled only as far as it goes.
        unsafe {
            let (a, b) = (Allocator.alloc(layout(40)), Allocator.alloc(layout(48)));
            Allocator.dealloc(a, layout(40));
            Allocator.dealloc(b, layout(48));
            // All of one shelf have room for the largest of it.
            let again = Allocator.alloc(layout(48));
            let and_again = Allocator.alloc(layout(48));
            assert_eq!((again, and_again), (b, a));
            a.write_bytes(1, 48);
            b.write_bytes(2, 48);
            let grown = Allocator.realloc(a, layout(48), 2000);
            assert!((0..48).all(|i| *grown.add(i) == 1));
            let small = Allocator.realloc(grown, layout(2000), 33);
            Allocator.dealloc(small, layout(33));
            // Whoever takes it may use all 48 bytes.
            let taken = Allocator.alloc(layout(48));
            assert_eq!(taken, small);
            taken.write_bytes(3, 48);
            assert!((0..48).all(|i| *b.add(i) == 2));
            Allocator.dealloc(taken, layout(48));
            Allocator.dealloc(b, layout(48));
        }
        drop(keeping);
        with_shelves(|s| assert!(s.shelves.iter().all(|shelf| shelf.used == 0)));
    }

    #[test]
    fn a_shelf_has_an_end_and_other_threads_have_none() {
        let blocks = |n: usize| -> Vec<*mut u8> {
            // SAFETY: a size that is not 0.
            (0..n).map(|_| unsafe { Allocator.alloc(layout(64)) }).collect()
        };
        let kept = || with_shelves(|s| s.shelves[4].used);
        let give_back = |blocks: Vec<*mut u8>| {
            // SAFETY: each once, with its layout.
            blocks.into_iter().for_each(|b| unsafe { Allocator.dealloc(b, layout(64)) });
        };
        give_back(blocks(100));
        assert_eq!(kept(), 0);
        let keeping = keep_blocks();
        give_back(blocks(100));
        assert_eq!(kept(), KEPT_BLOCKS);
        let some = blocks(100);
        assert_eq!(kept(), 0);
        give_back(some);
        drop(keeping);
        assert_eq!(kept(), 0);
    }
}
