//! Bytes of a visibility map page: two bits for each heap page.

use super::page::{Bytes, HEADER_SIZE};
use base::{BlockNo, PAGE_SIZE};

/// Every tuple of the heap page is visible to every snapshot.
pub const ALL_VISIBLE: u8 = 1;
/// And every tuple is frozen.
pub const ALL_FROZEN: u8 = 2;
const BITS: u8 = ALL_VISIBLE | ALL_FROZEN;

/// Heap pages that one page of the map speaks of.
pub const HEAP_BLOCKS: u32 = ((PAGE_SIZE - HEADER_SIZE) * 4) as u32;

/// The map's page for a heap page.
pub fn map_block(heap: BlockNo) -> BlockNo {
    BlockNo(heap.0 / HEAP_BLOCKS)
}

fn place(heap: BlockNo) -> (usize, u32) {
    let n = heap.0 % HEAP_BLOCKS;
    (HEADER_SIZE + (n / 4) as usize, (n % 4) * 2)
}

/// Makes an empty map page.
pub fn init(page: &mut Bytes) {
    page.fill(0);
    page[12..14].copy_from_slice(&(HEADER_SIZE as u16).to_le_bytes());
    page[14..16].copy_from_slice(&(PAGE_SIZE as u16).to_le_bytes());
    page[16..18].copy_from_slice(&(PAGE_SIZE as u16).to_le_bytes());
    page[18..20].copy_from_slice(&(PAGE_SIZE as u16 | 4).to_le_bytes());
}

/// The bits of a heap page.
pub fn get(page: &Bytes, heap: BlockNo) -> u8 {
    let (at, shift) = place(heap);
    (page[at] >> shift) & BITS
}

/// Sets the bits of a heap page.
pub fn set(page: &mut Bytes, heap: BlockNo, bits: u8) {
    let (at, shift) = place(heap);
    page[at] = (page[at] & !(BITS << shift)) | ((bits & BITS) << shift);
}

/// Clears the bits of heap page `first` and of all after it in this map page.
pub fn clear_from(page: &mut Bytes, first: BlockNo) {
    let (at, shift) = place(first);
    page[at] &= (1u16 << shift).wrapping_sub(1) as u8;
    page[at + 1..].fill(0);
}

/// How many pages are all-visible and how many all-frozen.
pub fn count(page: &Bytes) -> (u32, u32) {
    let mut n = (0, 0);
    for b in &page[HEADER_SIZE..] {
        n.0 += (b & 0x55).count_ones();
        n.1 += (b & 0xAA).count_ones();
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_apart() {
        let mut p = [0; PAGE_SIZE];
        init(&mut p);
        set(&mut p, BlockNo(5), ALL_VISIBLE);
        set(&mut p, BlockNo(6), BITS);
        set(&mut p, BlockNo(HEAP_BLOCKS - 1), ALL_VISIBLE);
        assert_eq!(get(&p, BlockNo(5)), ALL_VISIBLE);
        assert_eq!(get(&p, BlockNo(4)), 0);
        assert_eq!(count(&p), (3, 1));
        set(&mut p, BlockNo(6), 0);
        assert_eq!(count(&p), (2, 0));
        assert_eq!(map_block(BlockNo(HEAP_BLOCKS)), BlockNo(1));
    }
}
