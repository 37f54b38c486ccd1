//! The bytes of a B-tree page and of an item, and nothing else. See README.md for the drawing.
//!
//! Readers may look at a page while it changes (optimistic reads, validated afterwards), so all
//! reading here is total: an offset outside the page reads as zero or as an empty slice, and no
//! loop is unbounded.

use base::{BlockNo, PAGE_SIZE, Tid};

/// A page's bytes.
pub type Page = [u8; PAGE_SIZE];

pub(super) const LOWER: usize = 12;
const UPPER: usize = 14;
const SPECIAL: usize = 16;
const VERSION: usize = 18;
/// Where line pointers begin.
pub const HEADER: usize = 24;
/// Where the B-tree's own trailer begins: left, right, level: u32; flags, cycle: u16.
pub const TRAILER: usize = PAGE_SIZE - 16;
pub(super) const LEFT: usize = TRAILER;
pub(super) const RIGHT: usize = TRAILER + 4;
pub(super) const LEVEL: usize = TRAILER + 8;
pub(super) const FLAGS: usize = TRAILER + 12;
const CYCLE: usize = TRAILER + 14;
const PAGE_VERSION: u16 = 8192 | 4;

/// Page flags.
pub mod flag {
    /// A leaf.
    pub const LEAF: u16 = 1;
    /// The root; it has no parent.
    pub const ROOT: u16 = 2;
    /// Unlinked, waiting to be recycled; bytes 24..32 hold the horizon.
    pub const DELETED: u16 = 4;
    /// Page 0.
    pub const META: u16 = 8;
    /// Its downlink is gone, it will be unlinked.
    pub const HALF_DEAD: u16 = 16;
    /// Some line pointers are marked dead.
    pub const HAS_DEAD: u16 = 64;
    /// The right sibling has no downlink yet.
    pub const INCOMPLETE_SPLIT: u16 = 128;
}

/// Item flag bits in `info`.
const INFO_SIZE: u16 = 0x1FFF;
pub(super) const INFO_POSTING: u16 = 0x2000;
pub(super) const INFO_PIVOT: u16 = 0x4000;
pub(super) const INFO_NULLS: u16 = 0x8000;
/// In a pivot's `offset`: the heap tid is kept, in the last 8 bytes.
pub(super) const PIVOT_TID: u16 = 0x8000;
/// Bytes before an item's null bitmap or data.
pub const ITEM_HEADER: usize = 8;
/// Bytes of a row's place in a posting list.
pub const TID_BYTES: usize = 6;
/// No item is larger: three of them and their line pointers fit a page, each with a tid added
/// when it becomes a pivot.
pub const MAX_ITEM: usize = 2704;
/// A posting list is not grown beyond this.
pub const MAX_POSTING: usize = 1352;

const _: () = assert!(TRAILER - HEADER >= 3 * (MAX_ITEM + 8 + 4));
const _: () = assert!(MAX_ITEM < INFO_SIZE as usize);

const LP_NORMAL: u32 = 1;
pub(super) const LP_DEAD: u32 = 3;

/// `n` rounded up to a multiple of 8.
#[inline]
pub const fn align8(n: usize) -> usize {
    (n + 7) & !7
}

/// Two bytes at `at`; 0 outside.
#[inline]
pub fn get16(b: &[u8], at: usize) -> u16 {
    match b.get(at..at + 2) {
        Some(s) => u16::from_le_bytes([s[0], s[1]]),
        None => 0,
    }
}

/// Four bytes at `at`; 0 outside.
#[inline]
pub fn get32(b: &[u8], at: usize) -> u32 {
    match b.get(at..at + 4) {
        Some(s) => u32::from_le_bytes([s[0], s[1], s[2], s[3]]),
        None => 0,
    }
}

/// Eight bytes at `at`; 0 outside.
#[inline]
pub fn get64(b: &[u8], at: usize) -> u64 {
    match b.get(at..at + 8) {
        Some(s) => u64::from_le_bytes([s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]]),
        None => 0,
    }
}

#[inline]
fn put16(b: &mut [u8], at: usize, v: u16) {
    b[at..at + 2].copy_from_slice(&v.to_le_bytes());
}

#[inline]
fn put32(b: &mut [u8], at: usize, v: u32) {
    b[at..at + 4].copy_from_slice(&v.to_le_bytes());
}

#[inline]
fn put64(b: &mut [u8], at: usize, v: u64) {
    b[at..at + 8].copy_from_slice(&v.to_le_bytes());
}

/// A row's place from 6 bytes.
#[inline]
pub fn get_tid(b: &[u8], at: usize) -> Tid {
    Tid { block: BlockNo(get32(b, at)), offset: get16(b, at + 4) }
}

/// A row's place into 6 bytes.
#[inline]
pub fn put_tid(b: &mut [u8], at: usize, tid: Tid) {
    put32(b, at, tid.block.0);
    put16(b, at + 4, tid.offset);
}

// ---- page header and trailer ----

/// True if the page was never initialised.
pub fn is_new(p: &Page) -> bool {
    get16(p, UPPER) == 0
}

/// Makes an empty page; the LSN stays.
pub fn init(p: &mut Page, level: u32, flags: u16, left: BlockNo, right: BlockNo) {
    p[8..].fill(0);
    put16(p, LOWER, HEADER as u16);
    put16(p, UPPER, TRAILER as u16);
    put16(p, SPECIAL, TRAILER as u16);
    put16(p, VERSION, PAGE_VERSION);
    put32(p, LEFT, left.0);
    put32(p, RIGHT, right.0);
    put32(p, LEVEL, level);
    put16(p, FLAGS, flags);
}

/// Flags, see [`flag`].
#[inline]
pub fn flags(p: &Page) -> u16 {
    get16(p, FLAGS)
}

/// Replaces the flags.
pub fn set_flags(p: &mut Page, v: u16) {
    put16(p, FLAGS, v);
}

/// Left sibling.
#[inline]
pub fn left(p: &Page) -> BlockNo {
    BlockNo(get32(p, LEFT))
}

/// Sets the left sibling.
pub fn set_left(p: &mut Page, b: BlockNo) {
    put32(p, LEFT, b.0);
}

/// Right sibling.
#[inline]
pub fn right(p: &Page) -> BlockNo {
    BlockNo(get32(p, RIGHT))
}

/// Sets the right sibling.
pub fn set_right(p: &mut Page, b: BlockNo) {
    put32(p, RIGHT, b.0);
}

/// Level; leaves are 0.
#[inline]
pub fn level(p: &Page) -> u32 {
    get32(p, LEVEL)
}

/// The vacuum cycle during which the page was last split.
pub fn cycle(p: &Page) -> u16 {
    get16(p, CYCLE)
}

/// Sets the vacuum cycle.
pub fn set_cycle(p: &mut Page, v: u16) {
    put16(p, CYCLE, v);
}

/// True for a leaf.
#[inline]
pub fn is_leaf(p: &Page) -> bool {
    flags(p) & flag::LEAF != 0
}

/// True if nothing is to the right of it.
#[inline]
pub fn is_rightmost(p: &Page) -> bool {
    right(p) == BlockNo::INVALID
}

/// True if nothing is to the left of it.
#[inline]
pub fn is_leftmost(p: &Page) -> bool {
    left(p) == BlockNo::INVALID
}

/// True if searches must pass it by.
#[inline]
pub fn is_ignorable(p: &Page) -> bool {
    flags(p) & (flag::DELETED | flag::HALF_DEAD) != 0
}

/// The horizon of a deleted page.
pub fn safe_lsn(p: &Page) -> u64 {
    get64(p, HEADER)
}

/// Turns a page into a deleted one with this horizon; links and level stay.
pub fn set_deleted(p: &mut Page, safe: u64) {
    p[HEADER..TRAILER].fill(0);
    put16(p, LOWER, HEADER as u16 + 8);
    put16(p, UPPER, TRAILER as u16);
    put64(p, HEADER, safe);
    let f = flags(p) & flag::LEAF;
    put16(p, FLAGS, f | flag::DELETED);
}

/// Free bytes between line pointers and items.
#[inline]
pub fn free_space(p: &Page) -> usize {
    (get16(p, UPPER) as usize).saturating_sub(get16(p, LOWER) as usize)
}

// ---- line pointers and items; numbers count from 0, the high key is number 0 when present ----

/// Number of items, the high key included.
#[inline]
pub fn count(p: &Page) -> u16 {
    let lower = get16(p, LOWER).clamp(HEADER as u16, TRAILER as u16);
    (lower - HEADER as u16) / 4
}

/// Number of the first item that is not the high key.
#[inline]
pub fn first(p: &Page) -> u16 {
    if is_rightmost(p) { 0 } else { 1 }
}

#[inline]
fn line(p: &Page, i: u16) -> u32 {
    get32(p, HEADER + 4 * i as usize)
}

#[inline]
const fn make_line(at: usize, flags: u32, len: usize) -> u32 {
    at as u32 | (flags << 15) | ((len as u32) << 17)
}

/// Item number `i`; empty if the line pointer is nonsense.
#[inline]
pub fn item(p: &Page, i: u16) -> Item<'_> {
    let lp = line(p, i);
    let at = (lp & 0x7FFF) as usize;
    let len = (lp >> 17) as usize;
    Item(p.get(at..at + len).unwrap_or(&[]))
}

/// True if item `i` is marked dead.
#[inline]
pub fn is_dead(p: &Page, i: u16) -> bool {
    (line(p, i) >> 15) & 3 == LP_DEAD
}

/// Marks item `i` dead (a hint).
pub fn mark_dead(p: &mut Page, i: u16) {
    if i < count(p) {
        let lp = line(p, i) | (LP_DEAD << 15);
        put32(p, HEADER + 4 * i as usize, lp);
        let f = flags(p) | flag::HAS_DEAD;
        set_flags(p, f);
    }
}

/// Inserts an item as number `i`; false if it does not fit or `i` is wrong.
#[must_use]
pub fn insert(p: &mut Page, i: u16, bytes: &[u8]) -> bool {
    let n = count(p);
    let upper = get16(p, UPPER) as usize;
    if i > n || free_space(p) < bytes.len() + 4 || bytes.len() < ITEM_HEADER || upper > TRAILER {
        return false;
    }
    let at = upper - bytes.len();
    let slot = HEADER + 4 * i as usize;
    let end = HEADER + 4 * n as usize;
    if slot < end {
        p.copy_within(slot..end, slot + 4);
    }
    put32(p, slot, make_line(at, LP_NORMAL, bytes.len()));
    put16(p, LOWER, (end + 4) as u16);
    put16(p, UPPER, at as u16);
    p[at..at + bytes.len()].copy_from_slice(bytes);
    true
}

/// Overwrites item `i` with one of the same size, in place.
#[must_use]
pub fn overwrite(p: &mut Page, i: u16, bytes: &[u8]) -> bool {
    let lp = line(p, i);
    let (at, len) = ((lp & 0x7FFF) as usize, (lp >> 17) as usize);
    if i >= count(p) || len != bytes.len() || at + len > TRAILER {
        return false;
    }
    p[at..at + len].copy_from_slice(bytes);
    true
}

/// Sets the child of pivot number `i`.
#[must_use]
pub fn set_child(p: &mut Page, i: u16, child: BlockNo) -> bool {
    let lp = line(p, i);
    let (at, len) = ((lp & 0x7FFF) as usize, (lp >> 17) as usize);
    if i >= count(p) || len < ITEM_HEADER || at + len > TRAILER {
        return false;
    }
    put32(p, at, child.0);
    true
}

/// Keeps the items for which `keep` says so and closes the gaps.
pub fn retain(p: &mut Page, mut keep: impl FnMut(u16) -> bool) {
    let n = count(p);
    let old = *p;
    let mut upper = TRAILER;
    let mut kept = 0usize;
    for i in 0..n {
        if !keep(i) {
            continue;
        }
        let it = item(&old, i).0;
        if upper < it.len() {
            break;
        }
        upper -= it.len();
        p[upper..upper + it.len()].copy_from_slice(it);
        let state = (line(&old, i) >> 15) & 3;
        put32(p, HEADER + 4 * kept, make_line(upper, state, it.len()));
        kept += 1;
    }
    put16(p, LOWER, (HEADER + 4 * kept) as u16);
    put16(p, UPPER, upper as u16);
}

/// Removes all items; the trailer stays.
pub fn clear(p: &mut Page) {
    put16(p, LOWER, HEADER as u16);
    put16(p, UPPER, TRAILER as u16);
}

/// Why a page's line pointers or items cannot be right, if so.
pub fn damage(p: &Page) -> Option<String> {
    let (lower, upper) = (get16(p, LOWER) as usize, get16(p, UPPER) as usize);
    if lower < HEADER || lower > upper || upper > TRAILER || get16(p, SPECIAL) != TRAILER as u16 {
        return Some(format!("page bounds {lower}, {upper}, {} are wrong", get16(p, SPECIAL)));
    }
    if flags(p) & (flag::DELETED | flag::META) != 0 {
        return None;
    }
    let mut used = 0;
    for i in 0..count(p) {
        let lp = line(p, i);
        let (at, len) = ((lp & 0x7FFF) as usize, (lp >> 17) as usize);
        if at < upper || at + len > TRAILER || len < ITEM_HEADER || !len.is_multiple_of(8) {
            return Some(format!("line pointer {i} ({at}, {len}) is wrong"));
        }
        if item(p, i).size() != len {
            return Some(format!("item {i} has size {}, not {len}", item(p, i).size()));
        }
        used += len;
    }
    (used > TRAILER - upper).then(|| "items overlap".to_string())
}

// ---- items ----

/// One item of a page: key values and row places, or a pivot.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a>(pub &'a [u8]);

impl<'a> Item<'a> {
    #[inline]
    fn info(self) -> u16 {
        get16(self.0, 6)
    }

    /// Size by its own header.
    #[inline]
    pub fn size(self) -> usize {
        (self.info() & INFO_SIZE) as usize
    }

    /// True for an item of an inner page, and for high keys.
    #[inline]
    pub fn is_pivot(self) -> bool {
        self.info() & INFO_PIVOT != 0
    }

    /// True for a posting list.
    #[inline]
    pub fn is_posting(self) -> bool {
        self.info() & INFO_POSTING != 0
    }

    /// True if a null bitmap is there.
    #[inline]
    pub fn has_nulls(self) -> bool {
        self.info() & INFO_NULLS != 0
    }

    /// The child of a pivot.
    #[inline]
    pub fn child(self) -> BlockNo {
        BlockNo(get32(self.0, 0))
    }

    /// Number of attributes that the item has, given how many a full one has.
    #[inline]
    pub fn natts(self, full: usize) -> usize {
        if self.is_pivot() { (get16(self.0, 4) & !PIVOT_TID) as usize } else { full }
    }

    /// Number of rows of a leaf item.
    #[inline]
    pub fn ntids(self) -> usize {
        if self.is_posting() { get16(self.0, 4) as usize } else { 1 }
    }

    /// Row `i` of a leaf item.
    #[inline]
    pub fn tid(self, i: usize) -> Tid {
        if self.is_posting() {
            get_tid(self.0, get32(self.0, 0) as usize + i * TID_BYTES)
        } else {
            get_tid(self.0, 0)
        }
    }

    /// All rows of a leaf item.
    pub fn tids(self) -> impl Iterator<Item = Tid> + 'a {
        // At most as many as a page's bytes can hold, whatever a torn header says.
        (0..self.ntids().min(PAGE_SIZE / TID_BYTES)).map(move |i| self.tid(i))
    }

    /// The place that breaks ties: a leaf item's lowest row, a pivot's if it kept one.
    #[inline]
    pub fn low_tid(self) -> Option<Tid> {
        if !self.is_pivot() {
            return Some(self.tid(0));
        }
        if get16(self.0, 4) & PIVOT_TID == 0 {
            return None;
        }
        Some(get_tid(self.0, self.0.len().saturating_sub(8)))
    }

    /// The greatest row of a leaf item.
    #[inline]
    pub fn high_tid(self) -> Tid {
        self.tid(self.ntids().saturating_sub(1))
    }

    /// Null bitmap (empty if none) and data.
    #[inline]
    pub fn bitmap_and_data(self, full_natts: usize) -> (&'a [u8], &'a [u8]) {
        if !self.has_nulls() {
            return (&[], self.0.get(ITEM_HEADER..).unwrap_or(&[]));
        }
        let bytes = full_natts.div_ceil(8);
        let bitmap = self.0.get(ITEM_HEADER..ITEM_HEADER + bytes).unwrap_or(&[]);
        (bitmap, self.0.get(align8(ITEM_HEADER + bytes)..).unwrap_or(&[]))
    }

    /// Bytes of header, bitmap and key data: what a posting list or a pivot starts with.
    pub fn key_end(self) -> usize {
        if self.is_posting() {
            get32(self.0, 0) as usize
        } else if self.is_pivot() && get16(self.0, 4) & PIVOT_TID != 0 {
            self.0.len().saturating_sub(8)
        } else {
            self.0.len()
        }
    }
}

fn set_info(b: &mut [u8], bits: u16) {
    let size = b.len() as u16;
    put16(b, 6, bits | size);
}

/// Builds a leaf item from a null bitmap (empty: no nulls) and data.
pub fn make_leaf(bitmap: &[u8], data: &[u8], tid: Tid) -> Vec<u8> {
    let start = if bitmap.is_empty() { ITEM_HEADER } else { align8(ITEM_HEADER + bitmap.len()) };
    let size = align8(start + data.len());
    let mut v = vec![0u8; size];
    v[ITEM_HEADER..ITEM_HEADER + bitmap.len()].copy_from_slice(bitmap);
    v[start..start + data.len()].copy_from_slice(data);
    put_tid(&mut v, 0, tid);
    if size <= INFO_SIZE as usize {
        set_info(&mut v, if bitmap.is_empty() { 0 } else { INFO_NULLS });
    }
    v
}

/// Room for the header of a leaf item without nulls, to which the data is to be added.
pub fn begin_leaf(data_len: usize) -> Vec<u8> {
    let mut v = Vec::with_capacity(align8(ITEM_HEADER + data_len));
    v.resize(ITEM_HEADER, 0);
    v
}

/// Completes what [`begin_leaf`] began.
pub fn finish_leaf(v: &mut Vec<u8>, tid: Tid) {
    let size = align8(v.len());
    v.resize(size, 0);
    put_tid(v, 0, tid);
    if size <= INFO_SIZE as usize {
        set_info(v, 0);
    }
}

/// Builds a pivot from the first `key_len` bytes (header, bitmap, data) of another item.
pub fn make_pivot(from: Item<'_>, key_len: usize, natts: usize, tid: Option<Tid>) -> Vec<u8> {
    let key_len = key_len.min(from.0.len());
    let nulls = if natts > 0 { from.info() & INFO_NULLS } else { 0 };
    let mut size = align8(key_len.max(ITEM_HEADER));
    if tid.is_some() {
        size += 8;
    }
    let mut v = vec![0u8; size];
    v[..key_len].copy_from_slice(&from.0[..key_len]);
    put32(&mut v, 0, BlockNo::INVALID.0);
    put16(&mut v, 4, natts as u16 | if tid.is_some() { PIVOT_TID } else { 0 });
    if let Some(tid) = tid {
        put_tid(&mut v, size - 8, tid);
    }
    set_info(&mut v, nulls | INFO_PIVOT);
    v
}

/// A pivot without attributes: less than everything.
pub fn make_minus_infinity(child: BlockNo) -> Vec<u8> {
    let mut v = vec![0u8; ITEM_HEADER];
    put32(&mut v, 0, child.0);
    set_info(&mut v, INFO_PIVOT);
    v
}

/// The same pivot with this child.
pub fn with_child(pivot: &[u8], child: BlockNo) -> Vec<u8> {
    let mut v = pivot.to_vec();
    put32(&mut v, 0, child.0);
    v
}

/// The same pivot without key: less than everything, same child.
pub fn as_minus_infinity(pivot: Item<'_>) -> Vec<u8> {
    make_minus_infinity(pivot.child())
}

/// A leaf item with the key of `base` and these rows, ascending; a posting list if several.
pub fn make_posting(base: Item<'_>, tids: &[Tid]) -> Vec<u8> {
    let key = align8(base.key_end().min(base.0.len()));
    let nulls = base.info() & INFO_NULLS;
    if tids.len() == 1 {
        let mut v = base.0[..key].to_vec();
        put_tid(&mut v, 0, tids[0]);
        set_info(&mut v, nulls);
        return v;
    }
    let size = align8(key + tids.len() * TID_BYTES);
    let mut v = vec![0u8; size];
    v[..key].copy_from_slice(&base.0[..key]);
    put32(&mut v, 0, key as u32);
    put16(&mut v, 4, tids.len() as u16);
    for (i, tid) in tids.iter().enumerate() {
        put_tid(&mut v, key + i * TID_BYTES, *tid);
    }
    set_info(&mut v, nulls | INFO_POSTING);
    v
}

/// Size that [`make_posting`] gives.
pub fn posting_size(base: Item<'_>, ntids: usize) -> usize {
    let key = align8(base.key_end());
    if ntids == 1 { key } else { align8(key + ntids * TID_BYTES) }
}

// ---- metapage ----

const META_MAGIC: u32 = 0x000B_7EE1;

/// What the metapage says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meta {
    /// The root; INVALID while the index is empty.
    pub root: BlockNo,
    /// Its level.
    pub level: u32,
    /// The lowest page that is alone on its level: where descents may start.
    pub fast_root: BlockNo,
    /// Its level.
    pub fast_level: u32,
}

/// Reads the metapage.
pub fn read_meta(p: &Page) -> Option<Meta> {
    (get32(p, HEADER) == META_MAGIC && flags(p) & flag::META != 0).then(|| Meta {
        root: BlockNo(get32(p, HEADER + 4)),
        level: get32(p, HEADER + 8),
        fast_root: BlockNo(get32(p, HEADER + 12)),
        fast_level: get32(p, HEADER + 16),
    })
}

/// Makes the metapage.
pub fn write_meta(p: &mut Page, m: &Meta) {
    init(p, 0, flag::META, BlockNo::INVALID, BlockNo::INVALID);
    put32(p, HEADER, META_MAGIC);
    put32(p, HEADER + 4, m.root.0);
    put32(p, HEADER + 8, m.level);
    put32(p, HEADER + 12, m.fast_root.0);
    put32(p, HEADER + 16, m.fast_level);
    put16(p, LOWER, HEADER as u16 + 20);
}
