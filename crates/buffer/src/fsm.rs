//! Free space maps: which page of a relation has room for a tuple of a given size.
//!
//! The map is a fork. Each of its pages holds a complete binary tree of bytes in an array; a
//! node is the larger of its children, so the root tells the best page below. A leaf of the
//! lowest level stands for a page of the relation, a leaf of a higher level for a map page one
//! level down. Room is kept in units of [`UNIT`] bytes.
//!
//! ```text
//!  0  page header, 24 bytes (LSN 0: the map is not logged)
//! 24  next slot to start a search from, u32
//! 28  nodes: NONLEAF inner ones, then LEAVES leaves, one byte each
//! ```
//!
//! Nothing here is logged. What a crash leaves may be wrong, and every use checks: a child that
//! has less than its parent says corrects the parent, a leaf that stands for a page beyond the
//! end is set to 0, a page that fails its checksum is zeros. The caller in turn looks at the
//! page it gets and records what it finds.

use crate::frame::{PageMut, Pin};
use crate::page::Page;
use crate::relation::RelFiles;
use base::{BlockNo, Fork, PAGE_SIZE, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of room that one step of a node's value stands for.
pub const UNIT: usize = PAGE_SIZE / 256;

const OFF_NEXT: usize = 24;
const OFF_NODES: usize = 28;
const NODES: usize = PAGE_SIZE - OFF_NODES;
const NONLEAF: usize = PAGE_SIZE / 2 - 1;
const LEAVES: usize = NODES - NONLEAF;
/// Levels of map pages; enough for 2^32 pages.
const LEVELS: u32 = 3;
const ROOT_LEVEL: u32 = LEVELS - 1;

const _: () = assert!(LEAVES as u64 * LEAVES as u64 * LEAVES as u64 > u32::MAX as u64);

/// A map page by its level (0 lowest) and number within the level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Address {
    level: u32,
    number: u32,
}

const ROOT: Address = Address { level: ROOT_LEVEL, number: 0 };

impl Address {
    /// The page and slot for a page of the relation.
    fn of_heap(block: u32) -> (Address, usize) {
        let number = block / LEAVES as u32;
        (Address { level: 0, number }, block as usize % LEAVES)
    }

    fn parent(self) -> (Address, usize) {
        let number = self.number / LEAVES as u32;
        (Address { level: self.level + 1, number }, self.number as usize % LEAVES)
    }

    fn child(self, slot: usize) -> Address {
        Address { level: self.level - 1, number: self.number * LEAVES as u32 + slot as u32 }
    }

    /// Where the page is in the fork: pages come before their children, depth first.
    fn block(self) -> u32 {
        let mut leaf = self.number as u64;
        for _ in 0..self.level {
            leaf *= LEAVES as u64;
        }
        let mut pages = 0;
        for _ in 0..LEVELS {
            pages += leaf + 1;
            leaf /= LEAVES as u64;
        }
        (pages - self.level as u64 - 1) as u32
    }
}

fn category(bytes: usize) -> u8 {
    (bytes / UNIT).min(255) as u8
}

/// The least category in which every page has that much room.
fn needed(bytes: usize) -> u8 {
    bytes.div_ceil(UNIT).clamp(1, 255) as u8
}

fn node(page: &Page, n: usize) -> u8 {
    page[OFF_NODES + n]
}

/// Sets a leaf and the nodes above it. False if nothing changed.
fn set_leaf(page: &mut Page, slot: usize, value: u8) -> bool {
    let mut n = NONLEAF + slot;
    if node(page, n) == value && node(page, 0) >= value {
        return false;
    }
    page[OFF_NODES + n] = value;
    while n > 0 {
        n = (n - 1) / 2;
        let left = node(page, 2 * n + 1);
        let right = if 2 * n + 2 < NODES { node(page, 2 * n + 2) } else { 0 };
        page[OFF_NODES + n] = left.max(right);
    }
    true
}

/// Computes all inner nodes from the leaves.
fn rebuild(page: &mut Page) {
    for n in (0..NONLEAF).rev() {
        let left = if 2 * n + 1 < NODES { node(page, 2 * n + 1) } else { 0 };
        let right = if 2 * n + 2 < NODES { node(page, 2 * n + 2) } else { 0 };
        page[OFF_NODES + n] = left.max(right);
    }
}

/// A leaf of at least `least`, at or after `start` if there is one there, else any.
/// `Err` means the tree contradicts itself.
fn find_leaf(page: &Page, least: u8, start: usize) -> std::result::Result<Option<usize>, ()> {
    if node(page, 0) < least {
        return Ok(None);
    }
    // Climb from the start until a node promises enough, always going to the right neighbour.
    let mut n = NONLEAF + start.min(LEAVES - 1);
    while n > 0 && node(page, n) < least {
        n = right_neighbour(n);
        n = (n - 1) / 2;
    }
    while n < NONLEAF {
        let (left, right) = (2 * n + 1, 2 * n + 2);
        if left < NODES && node(page, left) >= least {
            n = left;
        } else if right < NODES && node(page, right) >= least {
            n = right;
        } else {
            return Err(());
        }
    }
    Ok(Some(n - NONLEAF))
}

/// The node to the right on the same level, wrapping around.
fn right_neighbour(n: usize) -> usize {
    let next = n + 1;
    match (next + 1).is_power_of_two() || next >= NODES {
        true => level_start(n),
        false => next,
    }
}

fn level_start(n: usize) -> usize {
    let bits = usize::BITS - 1 - (n + 1).leading_zeros();
    (1 << bits) - 1
}

fn start_slot(page: &Page) -> usize {
    u32::from_le_bytes([page[24], page[25], page[26], page[27]]) as usize
}

fn set_start_slot(page: &mut Page, slot: usize) {
    page[OFF_NEXT..OFF_NEXT + 4].copy_from_slice(&(slot as u32).to_le_bytes());
}

impl RelFiles {
    /// The map page, if the map reaches that far.
    fn fsm_page(self: &Arc<Self>, at: Address) -> Result<Option<Pin>> {
        let block = at.block();
        if block >= self.nblocks(Fork::Fsm)?.0 {
            return Ok(None);
        }
        self.read_or_zero(Fork::Fsm, BlockNo(block)).map(Some)
    }

    fn fsm_page_made(self: &Arc<Self>, at: Address) -> Result<Pin> {
        let block = at.block();
        if block >= self.nblocks(Fork::Fsm)?.0 {
            self.ensure_blocks(Fork::Fsm, block + 1)?;
        }
        self.read_or_zero(Fork::Fsm, BlockNo(block))
    }

    /// A page that probably has `bytes` of room; `None` means extend. The caller looks at the
    /// page and calls [`RelFiles::record_free_space`] if the map was wrong.
    pub fn page_with_space(self: &Arc<Self>, bytes: usize) -> Result<Option<BlockNo>> {
        self.search(needed(bytes))
    }

    /// Records what room a page has, and finds another with `bytes` of room.
    pub fn record_and_find(
        self: &Arc<Self>,
        block: BlockNo,
        has: usize,
        bytes: usize,
    ) -> Result<Option<BlockNo>> {
        self.record_free_space(block, has)?;
        self.search(needed(bytes))
    }

    /// Records what room a page has.
    pub fn record_free_space(self: &Arc<Self>, block: BlockNo, bytes: usize) -> Result<()> {
        let mut value = category(bytes);
        let (mut at, mut slot) = Address::of_heap(block.0);
        loop {
            let pin = self.fsm_page_made(at)?;
            {
                let page = pin.read();
                // Nothing to change here means nothing to change above.
                if node(&page, NONLEAF + slot) == value && node(&page, 0) >= value {
                    return Ok(());
                }
            }
            let mut page = pin.write();
            let before = node(&page, 0);
            change(&mut page, |page| set_leaf(page, slot, value));
            value = node(&page, 0);
            if at == ROOT || value == before {
                return Ok(());
            }
            drop(page);
            (at, slot) = at.parent();
        }
    }

    /// The room that the map says a page has.
    pub fn recorded_free_space(self: &Arc<Self>, block: BlockNo) -> Result<usize> {
        let (at, slot) = Address::of_heap(block.0);
        match self.fsm_page(at)? {
            Some(pin) => Ok(node(&pin.read(), NONLEAF + slot) as usize * UNIT),
            None => Ok(0),
        }
    }

    fn search(self: &Arc<Self>, least: u8) -> Result<Option<BlockNo>> {
        let mut at = ROOT;
        // Each restart has corrected something; the bound is for races with writers.
        for _ in 0..1000 {
            let found = match self.fsm_page(at)? {
                Some(pin) => self.search_page(&pin, at, least)?,
                None => None,
            };
            match found {
                Some(slot) if at.level == 0 => {
                    let block = at.number * LEAVES as u32 + slot as u32;
                    if block < self.nblocks(Fork::Main)?.0 {
                        return Ok(Some(BlockNo(block)));
                    }
                    self.record_free_space(BlockNo(block), 0)?;
                    at = ROOT;
                }
                Some(slot) => at = at.child(slot),
                None if at == ROOT => return Ok(None),
                None => {
                    // The level above promised too much.
                    let actual = match self.fsm_page(at)? {
                        Some(pin) => node(&pin.read(), 0),
                        None => 0,
                    };
                    let (parent, slot) = at.parent();
                    let pin = self.fsm_page_made(parent)?;
                    change(&mut pin.write(), |page| set_leaf(page, slot, actual));
                    at = ROOT;
                }
            }
        }
        Ok(None)
    }

    fn search_page(self: &Arc<Self>, pin: &Pin, at: Address, least: u8) -> Result<Option<usize>> {
        let found = {
            let page = pin.read();
            // Sessions start at different places, so that they do not all want one page.
            let start = match at.level {
                0 => self.fsm_hint.fetch_add(1, Ordering::Relaxed) as usize % 16,
                _ => 0,
            } + start_slot(&page);
            find_leaf(&page, least, start)
        };
        match found {
            Ok(Some(slot)) => {
                if at.level == 0
                    && let Some(mut page) = pin.try_write()
                {
                    // Advice for the next search, not worth making the page dirty.
                    set_start_slot(&mut page, slot);
                }
                Ok(Some(slot))
            }
            Ok(None) => Ok(None),
            Err(()) => {
                let mut page = pin.write();
                change(&mut page, |page| {
                    rebuild(page);
                    true
                });
                Ok(find_leaf(&page, least, 0).unwrap_or(None))
            }
        }
    }

    /// After the relation was cut to `blocks` pages: forgets the rest.
    pub fn truncate_free_space(self: &Arc<Self>, blocks: BlockNo) -> Result<()> {
        let (mut at, slot) = Address::of_heap(blocks.0);
        let Some(pin) = self.fsm_page(at)? else { return Ok(()) };
        let mut page = pin.write();
        change(&mut page, |page| {
            page[OFF_NODES + NONLEAF + slot..].fill(0);
            rebuild(page);
            true
        });
        let mut value = node(&page, 0);
        drop(page);
        let keep = at.block() + 1;
        while at != ROOT {
            let (parent, slot) = at.parent();
            let Some(pin) = self.fsm_page(parent)? else { break };
            let mut page = pin.write();
            change(&mut page, |page| {
                page[OFF_NODES + NONLEAF + slot + 1..].fill(0);
                page[OFF_NODES + NONLEAF + slot] = value;
                rebuild(page);
                true
            });
            value = node(&page, 0);
            at = parent;
        }
        self.truncate(Fork::Fsm, BlockNo(keep))
    }

    /// Corrects the upper levels from the lower ones, as vacuum does at its end, so that room
    /// it has found becomes visible to searches.
    pub fn vacuum_free_space(self: &Arc<Self>) -> Result<()> {
        self.vacuum_fsm_page(ROOT).map(drop)
    }

    fn vacuum_fsm_page(self: &Arc<Self>, at: Address) -> Result<u8> {
        let Some(pin) = self.fsm_page(at)? else { return Ok(0) };
        if at.level > 0 {
            for slot in 0..LEAVES {
                let child = at.child(slot);
                if child.block() >= self.nblocks(Fork::Fsm)?.0 {
                    break;
                }
                let value = self.vacuum_fsm_page(child)?;
                if node(&pin.read(), NONLEAF + slot) != value {
                    change(&mut pin.write(), |page| set_leaf(page, slot, value));
                }
            }
        }
        let mut page = pin.write();
        change(&mut page, |page| {
            set_start_slot(page, 0);
            let before = node(page, 0);
            rebuild(page);
            node(page, 0) != before
        });
        Ok(node(&page, 0))
    }
}

/// Changes a map page. Marking it dirty before the change would be as good: nothing is logged.
fn change(page: &mut PageMut<'_>, f: impl FnOnce(&mut Page) -> bool) {
    if f(page) {
        page.mark_dirty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_depth_first_and_dense() {
        assert_eq!(ROOT.block(), 0);
        assert_eq!(Address { level: 1, number: 0 }.block(), 1);
        assert_eq!(Address { level: 0, number: 0 }.block(), 2);
        assert_eq!(Address { level: 0, number: LEAVES as u32 - 1 }.block(), LEAVES as u32 + 1);
        assert_eq!(Address { level: 1, number: 1 }.block(), LEAVES as u32 + 2);
        assert_eq!(Address { level: 0, number: LEAVES as u32 }.block(), LEAVES as u32 + 3);
    }

    #[test]
    fn leaf_search_finds_all_and_only_what_fits() {
        let mut page = [0u8; PAGE_SIZE];
        assert_eq!(find_leaf(&page, 1, 0), Ok(None));
        for (slot, value) in [(0, 3), (7, 200), (LEAVES - 1, 90), (LEAVES / 2, 100)] {
            assert!(set_leaf(&mut page, slot, value));
        }
        for start in [0, 1, 6, 7, 8, LEAVES / 2, LEAVES - 1, LEAVES + 50] {
            assert_eq!(find_leaf(&page, 150, start), Ok(Some(7)), "from {start}");
            assert_eq!(find_leaf(&page, 201, start), Ok(None));
            let slot = find_leaf(&page, 80, start).unwrap().unwrap();
            assert!(node(&page, NONLEAF + slot) >= 80);
        }
        assert_eq!(find_leaf(&page, 80, 8), Ok(Some(LEAVES / 2)));
        let copy = page;
        rebuild(&mut page);
        assert_eq!(copy[..], page[..]);
        set_leaf(&mut page, 7, 0);
        assert_eq!(find_leaf(&page, 150, 0), Ok(None));
    }
}
