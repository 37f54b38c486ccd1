//! Verification of a whole index: every page's bytes, the order of items, high keys, siblings,
//! downlinks, and that each entry has a row. Nobody may write to the index meanwhile.

use super::key::{compare_items, corrupt, verify};
use super::page::{self, Item, Page, flag};
use super::search::{End, Target};
use super::tree::Tree;
use base::{BlockNo, Result, Tid};
use std::cmp::Ordering;

/// Asked whether an entry's row is there.
pub type RowCheck<'a> = &'a mut dyn FnMut(Tid) -> Result<bool>;

/// A downlink: lower bound (None: minus infinity) and child.
struct Downlink {
    low: Option<Vec<u8>>,
    child: BlockNo,
}

impl Tree<'_> {
    /// Verifies the index; gives the number of entries.
    pub fn check(&self, mut heap: Option<RowCheck<'_>>) -> Result<u64> {
        let meta = self.read_meta()?;
        if meta.root == BlockNo::INVALID {
            return Ok(0);
        }
        self.forget_root();
        let mut expected = vec![Downlink { low: None, child: meta.root }];
        let mut level = meta.level;
        loop {
            let (next, entries) = self.check_level(level, &expected, &mut heap)?;
            if level == 0 {
                return Ok(entries);
            }
            expected = next;
            level -= 1;
        }
    }

    /// Verifies one level against the downlinks of the one above; gives its own downlinks and, for
    /// the leaves, the number of entries.
    fn check_level(
        &self,
        level: u32,
        expected: &[Downlink],
        heap: &mut Option<RowCheck<'_>>,
    ) -> Result<(Vec<Downlink>, u64)> {
        let (mut down, mut entries) = (Vec::new(), 0);
        let mut expected = expected.iter().peekable();
        let Some(mut block) = self.descend(Target::End(End::Left), level)? else {
            return Err(corrupt(self.index, BlockNo(0), "the root is missing"));
        };
        let mut left = BlockNo::INVALID;
        let mut low: Option<Vec<u8>> = None;
        let mut unlinked = false;
        while block != BlockNo::INVALID {
            let p = self.read(block)?;
            verify(self.index, block, &p)?;
            let flags = page::flags(&p);
            if page::level(&p) != level || flags & (flag::DELETED | flag::META) != 0 {
                return Err(corrupt(self.index, block, "a page of another kind is linked"));
            }
            if page::left(&p) != left {
                let what = format!("left link is {}, not {left}", page::left(&p));
                return Err(corrupt(self.index, block, what));
            }
            if (level == 0) != page::is_leaf(&p) {
                return Err(corrupt(self.index, block, "leaf flag and level disagree"));
            }
            if flags & flag::HALF_DEAD == 0 {
                if !unlinked {
                    self.check_downlink(block, expected.next(), low.as_deref())?;
                }
                self.check_items(&p, block, low.as_deref())?;
                if level == 0 {
                    entries += self.check_rows(&p, block, heap)?;
                } else {
                    downlinks(&p, low.as_deref(), &mut down);
                }
                low = (!page::is_rightmost(&p)).then(|| page::item(&p, 0).0.to_vec());
                unlinked = flags & flag::INCOMPLETE_SPLIT != 0;
            }
            (left, block) = (block, page::right(&p));
        }
        match expected.next() {
            None => Ok((down, entries)),
            Some(d) => {
                Err(corrupt(self.index, d.child, "a downlink leads to no page of its level"))
            }
        }
    }

    fn check_downlink(
        &self,
        block: BlockNo,
        found: Option<&Downlink>,
        low: Option<&[u8]>,
    ) -> Result<()> {
        let Some(found) = found.filter(|d| d.child == block) else {
            return Err(corrupt(self.index, block, "no downlink leads to it"));
        };
        let same = match (&found.low, low) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                compare_items(self.index, Item(a), Item(b))? == Ordering::Equal
                    && Item(a).natts(usize::MAX) == Item(b).natts(usize::MAX)
            }
            _ => false,
        };
        match same {
            true => Ok(()),
            false => Err(corrupt(self.index, block, "downlink and left high key disagree")),
        }
    }

    /// Items ascend strictly, lie above the lower bound and not above the high key.
    fn check_items(&self, p: &Page, block: BlockNo, low: Option<&[u8]>) -> Result<()> {
        let (first, count) = (page::first(p), page::count(p));
        let leaf = page::is_leaf(p);
        if first > count || (!leaf && first == count) {
            return Err(corrupt(self.index, block, "items are missing"));
        }
        for i in first..count {
            let item = page::item(p, i);
            if item.is_pivot() == leaf {
                return Err(corrupt(self.index, block, format!("item {i} is of the wrong kind")));
            }
            let minus_infinity = !leaf && i == first;
            if minus_infinity {
                continue;
            }
            if i > first && (leaf || i > first + 1) {
                self.ascending(block, page::item(p, i - 1), item, "items")?;
            }
            if let (Some(low), true) = (low, i == first || (!leaf && i == first + 1)) {
                self.ascending(block, Item(low), item, "lower bound and item")?;
            }
            if item.is_posting() && !item.tids().is_sorted_by(|a, b| a < b) {
                return Err(corrupt(self.index, block, format!("rows of item {i} are unsorted")));
            }
        }
        if !page::is_rightmost(p) && count > first {
            let (last, high) = (page::item(p, count - 1), page::item(p, 0));
            let skip = !leaf && count - 1 == first;
            if !skip && compare_items(self.index, last, high)? == Ordering::Greater {
                return Err(corrupt(self.index, block, "the last item is above the high key"));
            }
        }
        Ok(())
    }

    fn ascending(&self, block: BlockNo, a: Item<'_>, b: Item<'_>, what: &str) -> Result<()> {
        let order = match a.is_pivot() || b.is_pivot() {
            true => compare_items(self.index, b, a)?.reverse(),
            false => compare_items(self.index, a, b)?,
        };
        // Two leaf items with one key are told apart by their rows.
        match order {
            Ordering::Less => Ok(()),
            _ => Err(corrupt(self.index, block, format!("{what} are out of order"))),
        }
    }

    fn check_rows(&self, p: &Page, block: BlockNo, heap: &mut Option<RowCheck<'_>>) -> Result<u64> {
        let mut n = 0;
        for i in page::first(p)..page::count(p) {
            for tid in page::item(p, i).tids() {
                n += 1;
                let Some(heap) = heap else { continue };
                if !page::is_dead(p, i) && !heap(tid)? {
                    let what = format!("item {i} points to row {tid}, which is not there");
                    return Err(corrupt(self.index, block, what));
                }
            }
        }
        Ok(n)
    }
}

/// Appends the downlinks of an inner page.
fn downlinks(p: &Page, low: Option<&[u8]>, out: &mut Vec<Downlink>) {
    let first = page::first(p);
    for i in first..page::count(p) {
        let item = page::item(p, i);
        let low = if i == first { low.map(<[u8]>::to_vec) } else { Some(item.0.to_vec()) };
        out.push(Downlink { low, child: item.child() });
    }
}
