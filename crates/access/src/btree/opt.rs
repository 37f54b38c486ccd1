//! Looking at a page without a latch. What is read may be torn: nothing here trusts an offset or
//! loops without bound, and the caller compares the page's version before it believes the result.

use super::key::{IntSearch, SearchKey, compare, partition};
use super::page::{self, Item, flag};
use super::search::{End, Target};
use crate::index::IndexRel;
use base::{BlockNo, Result, Tid};
use buffer::OptPage;
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Where a descent goes from a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// This is the level that was asked for.
    Here,
    /// To this child.
    Down(BlockNo),
    /// To the right sibling.
    Right(BlockNo),
    /// The page is not what it was when its number was read: from the root again.
    Restart,
}

/// Items up to this size are looked at on the stack.
const STACK: usize = 512;

/// A page under an optimistic read.
#[derive(Clone, Copy)]
pub struct View<'a>(pub OptPage<'a>);

impl View<'_> {
    /// Flags.
    #[inline]
    pub fn flags(self) -> u16 {
        self.0.u16(page::FLAGS)
    }

    /// Level.
    #[inline]
    pub fn level(self) -> u32 {
        self.0.u32(page::LEVEL)
    }

    /// Left sibling.
    #[inline]
    pub fn left(self) -> BlockNo {
        BlockNo(self.0.u32(page::LEFT))
    }

    /// Right sibling.
    #[inline]
    pub fn right(self) -> BlockNo {
        BlockNo(self.0.u32(page::RIGHT))
    }

    /// Number of items.
    #[inline]
    pub fn count(self) -> u16 {
        let lower = self.0.u16(page::LOWER);
        (lower.clamp(page::HEADER as u16, page::TRAILER as u16) - page::HEADER as u16) / 4
    }

    /// Number of the first item that is not the high key.
    #[inline]
    pub fn first(self) -> u16 {
        (self.right() != BlockNo::INVALID) as u16
    }

    /// True if an item is marked dead.
    #[inline]
    pub fn is_dead(self, i: u16) -> bool {
        (self.0.u32(page::HEADER + 4 * i as usize) >> 15) & 3 == page::LP_DEAD
    }

    /// Place and size of an item; (0, 0) if nonsense.
    #[inline]
    pub fn line(self, i: u16) -> (usize, usize) {
        let lp = self.0.u32(page::HEADER + 4 * i as usize);
        let (at, len) = ((lp & 0x7FFF) as usize, (lp >> 17) as usize);
        if at + len > base::PAGE_SIZE { (0, 0) } else { (at, len) }
    }

    /// The first sixteen bytes of an item: its head, and the first of its values (of one that has
    /// none or less, what comes after it). `None` if it does not lie where items do.
    #[inline(always)]
    pub fn words(self, i: u16) -> Option<(u64, u64)> {
        self.0.two((self.0.u32(page::HEADER + 4 * i as usize) & 0x7FFF) as usize)
    }

    /// The row of a leaf item that has just one.
    #[inline]
    pub fn only_row(self, i: u16) -> Option<Tid> {
        let (at, len) = self.line(i);
        // Row, then info.
        let head = self.0.u64(at);
        let info = (head >> 48) as u16;
        let many = len < page::ITEM_HEADER || info & (page::INFO_PIVOT | page::INFO_POSTING) != 0;
        (!many).then_some(Tid { block: BlockNo(head as u32), offset: (head >> 32) as u16 })
    }

    /// Calls `f` with a copy of an item.
    #[inline]
    pub fn with_item<R>(self, i: u16, f: impl FnOnce(Item<'_>) -> R) -> R {
        let (at, len) = self.line(i);
        if len <= STACK {
            let mut copy = [0; STACK];
            self.0.copy(at, &mut copy[..len]);
            f(Item(&copy[..len]))
        } else {
            let mut copy = vec![0; len];
            self.0.copy(at, &mut copy);
            f(Item(&copy))
        }
    }
}

/// An item that is not compared by one integer alone.
struct NotAnInt;

/// Order of an integer key relative to item `i`, if that is all there is to it.
#[inline(always)]
fn order_of_int(p: View<'_>, fast: &IntSearch, i: u16) -> Option<Ordering> {
    p.words(i).and_then(|words| fast.compare_words(words))
}

/// Order of the key relative to item `i`.
#[inline]
fn order(
    index: &IndexRel,
    p: View<'_>,
    key: &SearchKey,
    fast: Option<&IntSearch>,
    i: u16,
) -> Result<Ordering> {
    match fast.and_then(|fast| order_of_int(p, fast, i)) {
        Some(order) => Ok(order),
        None => order_of_any(index, p, key, i),
    }
}

fn order_of_any(index: &IndexRel, p: View<'_>, key: &SearchKey, i: u16) -> Result<Ordering> {
    p.with_item(i, |item| compare(index, key, item))
}

/// As [`super::key::lower_bound`].
#[inline]
pub fn lower_bound(
    index: &IndexRel,
    p: View<'_>,
    key: &SearchKey,
    fast: Option<&IntSearch>,
) -> Result<u16> {
    if let Some(fast) = fast {
        let (low, high) = (p.first(), p.count());
        let guess = fast.guess(low, high, |i| p.words(i).map_or(0, |(_, word)| fast.value(word)));
        let found = partition(low, high, guess, |i| {
            let order = order_of_int(p, fast, i).ok_or(NotAnInt)?;
            Ok(order == Ordering::Greater || (key.after && order == Ordering::Equal))
        });
        if let Ok::<u16, NotAnInt>(found) = found {
            return Ok(found);
        }
    }
    lower_bound_of_any(index, p, key, fast)
}

#[inline(never)]
fn lower_bound_of_any(
    index: &IndexRel,
    p: View<'_>,
    key: &SearchKey,
    fast: Option<&IntSearch>,
) -> Result<u16> {
    partition(p.first(), p.count(), None, |i| {
        let order = order(index, p, key, fast, i)?;
        Ok(order == Ordering::Greater || (key.after && order == Ordering::Equal))
    })
}

/// As [`super::key::is_beyond`].
#[inline]
pub fn is_beyond(
    index: &IndexRel,
    p: View<'_>,
    key: &SearchKey,
    fast: Option<&IntSearch>,
) -> Result<bool> {
    if p.right() == BlockNo::INVALID {
        return Ok(false);
    }
    let order = order(index, p, key, fast, 0)?;
    Ok(order == Ordering::Greater || (key.after && order == Ordering::Equal))
}

/// What a leaf says about an equal key, if the leaf alone can tell.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    /// The page's log position.
    pub lsn: u64,
    /// Its left sibling.
    pub left: BlockNo,
    /// Its right sibling.
    pub right: BlockNo,
}

/// Collects the rows of all entries that equal a whole key: row and item number. None if the page
/// is
/// not a leaf where they must all be.
pub fn collect_equal(
    index: &IndexRel,
    p: OptPage<'_>,
    key: &SearchKey,
    fast: Option<&IntSearch>,
    out: &mut SmallVec<[(Tid, u16); 4]>,
) -> Result<Option<Leaf>> {
    let p = View(p);
    out.clear();
    let (flags, right) = (p.flags(), p.right());
    let wrong = flag::META | flag::DELETED | flag::HALF_DEAD;
    if flags & flag::LEAF == 0 || flags & wrong != 0 {
        return Ok(None);
    }
    if is_beyond(index, p, key, fast)? {
        return Ok(None);
    }
    let count = p.count();
    let mut i = lower_bound(index, p, key, fast)?;
    loop {
        if i >= count {
            if right != BlockNo::INVALID {
                return Ok(None);
            }
            break;
        }
        if order(index, p, key, fast, i)? != Ordering::Equal {
            break;
        }
        if !p.is_dead(i) {
            match p.only_row(i) {
                Some(tid) => out.push((tid, i)),
                None => p.with_item(i, |item| out.extend(item.tids().map(|t| (t, i)))),
            }
        }
        i += 1;
    }
    Ok(Some(Leaf { lsn: p.0.u64(0), left: p.left(), right }))
}

/// Where to go from a page on the way down to `level`. The page is on level `at`; if it is the
/// root it must still be alone there.
pub fn step(
    index: &IndexRel,
    p: OptPage<'_>,
    (target, fast): (Target<'_>, Option<&IntSearch>),
    at: u32,
    is_root: bool,
    level: u32,
) -> Result<Step> {
    let p = View(p);
    let (flags, right) = (p.flags(), p.right());
    if flags & flag::META != 0 || p.level() != at {
        return Ok(Step::Restart);
    }
    if is_root && (right != BlockNo::INVALID || p.left() != BlockNo::INVALID) {
        return Ok(Step::Restart);
    }
    if flags & (flag::DELETED | flag::HALF_DEAD) != 0 {
        return Ok(if right == BlockNo::INVALID { Step::Restart } else { Step::Right(right) });
    }
    if at == level {
        return Ok(Step::Here);
    }
    let number = match target {
        Target::Key(key) => {
            if is_beyond(index, p, key, fast)? {
                return Ok(Step::Right(right));
            }
            lower_bound(index, p, key, fast)?.saturating_sub(1).max(p.first())
        }
        Target::End(End::Left) => p.first(),
        Target::End(End::Right) if right == BlockNo::INVALID => p.count().saturating_sub(1),
        Target::End(End::Right) => return Ok(Step::Right(right)),
    };
    if number >= p.count() {
        return Ok(Step::Restart);
    }
    Ok(Step::Down(BlockNo(p.0.u32(p.line(number).0))))
}
