//! Bytes of a heap page, and nothing else: header, line pointers, tuple headers, and the changes
//! that forward work and redo both make. `README.md` beside this file draws them.

use super::compact::{Gaps, compact};
use base::{BlockNo, PAGE_SIZE, Tid, Xid};

/// A page's bytes.
pub type Bytes = [u8; PAGE_SIZE];

/// Bytes of the standard page header.
pub const HEADER_SIZE: usize = 24;
/// Bytes of the special area: the 64-bit base of the page's transaction ids.
pub const SPECIAL_SIZE: usize = 8;
/// Where the special area begins.
pub const SPECIAL: usize = PAGE_SIZE - SPECIAL_SIZE;
/// Bytes of a line pointer.
pub const LINE_SIZE: usize = 4;
/// Bytes of a tuple header without null bitmap.
pub const TUPLE_HEADER: usize = 23;
/// Smallest offset from a tuple's start to its data.
pub const MIN_HOFF: usize = 24;
/// More line pointers than this a page never has.
pub const MAX_TUPLES: usize = (PAGE_SIZE - HEADER_SIZE - SPECIAL_SIZE) / (MIN_HOFF + LINE_SIZE);
/// The longest tuple, header included.
pub const MAX_TUPLE_SIZE: usize = (PAGE_SIZE - HEADER_SIZE - SPECIAL_SIZE - LINE_SIZE) & !7;

const _: () = assert!(HEADER_SIZE.is_multiple_of(8) && SPECIAL.is_multiple_of(8));
const _: () = assert!(MAX_TUPLES == 291 && MAX_TUPLE_SIZE == 8152);

const AT_FLAGS: usize = 10;
pub(super) const AT_LOWER: usize = 12;
pub(super) const AT_UPPER: usize = 14;
const AT_SPECIAL: usize = 16;
const AT_VERSION: usize = 18;
const AT_PRUNE: usize = 20;
const VERSION: u16 = PAGE_SIZE as u16 | 4;

/// Page flag: some line pointer below `lower` is unused.
pub const HAS_FREE_LINES: u16 = 1;
/// Page flag: an update found no room here, so a reader should prune.
pub const PAGE_FULL: u16 = 2;
/// Page flag: every tuple is visible to every snapshot.
pub const ALL_VISIBLE: u16 = 4;

/// Tuple flag: has a null bitmap.
pub const HAS_NULL: u16 = 0x0001;
/// Tuple flag: has values of varying length.
pub const HAS_VARWIDTH: u16 = 0x0002;
/// Tuple flag: has values stored out of line.
pub const HAS_EXTERNAL: u16 = 0x0004;
/// Tuple flag: the command id stands for a pair (cmin, cmax).
pub const COMBO_CID: u16 = 0x0020;
/// Tuple flag: xmax only locked the tuple.
pub const XMAX_LOCK_ONLY: u16 = 0x0080;
/// Tuple flag: xmin is known to have committed.
pub const XMIN_COMMITTED: u16 = 0x0100;
/// Tuple flag: xmin is known to have aborted.
pub const XMIN_INVALID: u16 = 0x0200;
/// Both together: xmin is so old that all see it.
pub const XMIN_FROZEN: u16 = XMIN_COMMITTED | XMIN_INVALID;
/// Tuple flag: xmax is known to have committed.
pub const XMAX_COMMITTED: u16 = 0x0400;
/// Tuple flag: there is no xmax, or it is known to have aborted.
pub const XMAX_INVALID: u16 = 0x0800;
/// Tuple flag: this is the new version of an updated row.
pub const UPDATED: u16 = 0x2000;

/// Mask of the number of attributes in the second flag word.
pub const NATTS_MASK: u16 = 0x07FF;
/// Second word: xmax deleted the row or changed a key column.
pub const KEYS_UPDATED: u16 = 0x2000;
/// Second word: the next version is in this page and no index points to it.
pub const HOT_UPDATED: u16 = 0x4000;
/// Second word: no index points to this version.
pub const HEAP_ONLY: u16 = 0x8000;

/// Block number in a deleted row's ctid when its partition key change moved it elsewhere.
pub const MOVED_BLOCK: u32 = u32::MAX;

#[inline]
fn u16_at(b: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([b[at], b[at + 1]])
}

#[inline]
fn u32_at(b: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
}

#[inline]
pub(super) fn put_u16(b: &mut [u8], at: usize, v: u16) {
    b[at..at + 2].copy_from_slice(&v.to_le_bytes());
}

#[inline]
fn put_u32(b: &mut [u8], at: usize, v: u32) {
    b[at..at + 4].copy_from_slice(&v.to_le_bytes());
}

/// Rounds up to the alignment of tuples.
#[inline]
pub const fn align8(n: usize) -> usize {
    (n + 7) & !7
}

/// Makes an empty page whose transaction ids count from `base`.
pub fn init(page: &mut Bytes, base: u64) {
    page.fill(0);
    put_u16(page, AT_LOWER, HEADER_SIZE as u16);
    put_u16(page, AT_UPPER, SPECIAL as u16);
    put_u16(page, AT_SPECIAL, SPECIAL as u16);
    put_u16(page, AT_VERSION, VERSION);
    page[SPECIAL..].copy_from_slice(&base.to_le_bytes());
}

/// The base a new page gets when `xid` writes it first.
pub fn base_for(xid: Xid) -> u64 {
    xid.0.saturating_sub(1 << 31)
}

/// True for a page of zeros, as a file extension leaves it.
#[inline]
pub fn is_new(page: &Bytes) -> bool {
    u16_at(page, AT_UPPER) == 0
}

/// The base of the page's transaction ids.
#[inline]
pub fn xid_base(page: &Bytes) -> u64 {
    let mut b = [0; 8];
    b.copy_from_slice(&page[SPECIAL..]);
    u64::from_le_bytes(b)
}

/// The full id that a tuple's 32 bits stand for.
#[inline]
pub fn decode_xid(base: u64, raw: u32) -> Xid {
    if raw < 3 { Xid(raw as u64) } else { Xid(base + raw as u64) }
}

/// The 32 bits that stand for `xid`, or `None` if it is too far from the page's base.
#[inline]
pub fn encode_xid(base: u64, xid: Xid) -> Option<u32> {
    if xid.0 < 3 {
        return Some(xid.0 as u32);
    }
    let raw = xid.0.checked_sub(base)?;
    if (3..=u32::MAX as u64).contains(&raw) { Some(raw as u32) } else { None }
}

/// The page's flags.
#[inline]
pub fn flags(page: &Bytes) -> u16 {
    u16_at(page, AT_FLAGS)
}

/// Sets and clears flags of the page.
#[inline]
pub fn change_flags(page: &mut Bytes, set: u16, clear: u16) {
    let f = (flags(page) & !clear) | set;
    put_u16(page, AT_FLAGS, f);
}

/// True if every tuple is visible to every snapshot.
#[inline]
pub fn all_visible(page: &Bytes) -> bool {
    flags(page) & ALL_VISIBLE != 0
}

/// The oldest xmax whose commit would leave something to prune; raw, 0 for none.
#[inline]
pub fn prune_hint(page: &Bytes) -> u32 {
    u32_at(page, AT_PRUNE)
}

/// Remembers that `raw` deleted something, unless an older one is remembered already.
#[inline]
pub fn add_prune_hint(page: &mut Bytes, raw: u32) {
    let old = prune_hint(page);
    if raw != 0 && (old == 0 || raw < old) {
        put_u32(page, AT_PRUNE, raw);
    }
}

/// Sets the prune hint outright.
#[inline]
pub fn set_prune_hint(page: &mut Bytes, raw: u32) {
    put_u32(page, AT_PRUNE, raw);
}

#[inline]
pub(super) fn lower(page: &Bytes) -> usize {
    u16_at(page, AT_LOWER) as usize
}

#[inline]
pub(super) fn upper(page: &Bytes) -> usize {
    u16_at(page, AT_UPPER) as usize
}

/// Number of line pointers; offsets run from 1 to it.
#[inline]
pub fn max_offset(page: &Bytes) -> u16 {
    let n = lower(page).saturating_sub(HEADER_SIZE) / LINE_SIZE;
    n.min((PAGE_SIZE - HEADER_SIZE) / LINE_SIZE) as u16
}

/// What a line pointer says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    /// Free for a new tuple.
    Unused,
    /// A tuple at this place of this length.
    Normal {
        /// Byte offset in the page.
        at: u16,
        /// Bytes.
        len: u16,
    },
    /// The root of a HOT chain whose first versions are gone; go to this offset.
    Redirect(u16),
    /// A dead row to which index entries may still point.
    Dead,
}

/// The raw word of line pointer `off`, which must exist.
#[inline]
fn line_word(page: &Bytes, off: u16) -> u32 {
    u32_at(page, HEADER_SIZE + (off as usize - 1) * LINE_SIZE)
}

/// The line pointer `off`; unused if there is none.
#[inline]
pub fn line(page: &Bytes, off: u16) -> Line {
    if off == 0 || off > max_offset(page) {
        return Line::Unused;
    }
    let w = line_word(page, off);
    match (w >> 15) & 3 {
        0 => Line::Unused,
        1 => Line::Normal { at: (w & 0x7FFF) as u16, len: (w >> 17) as u16 },
        2 => Line::Redirect((w & 0x7FFF) as u16),
        _ => Line::Dead,
    }
}

/// Overwrites line pointer `off`, which must be in the array.
pub fn set_line(page: &mut Bytes, off: u16, line: Line) {
    let w = match line {
        Line::Unused => 0,
        Line::Normal { at, len } => at as u32 | (1 << 15) | ((len as u32) << 17),
        Line::Redirect(to) => to as u32 | (2 << 15),
        Line::Dead => 3 << 15,
    };
    put_u32(page, HEADER_SIZE + (off as usize - 1) * LINE_SIZE, w);
}

/// A tuple in a page or in memory: header, null bitmap, data. At least 24 bytes.
#[derive(Clone, Copy)]
pub struct Tuple<'a>(&'a [u8]);

/// Header fields in the order of their bytes.
const T_XMIN: usize = 0;
const T_XMAX: usize = 4;
const T_CID: usize = 8;
const T_BLOCK: usize = 12;
const T_OFFSET: usize = 16;
const T_MASK2: usize = 18;
const T_MASK: usize = 20;
const T_HOFF: usize = 22;

impl<'a> Tuple<'a> {
    /// The tuple in these bytes, unless they cannot be one.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Option<Tuple<'a>> {
        if bytes.len() < MIN_HOFF {
            return None;
        }
        let hoff = bytes[T_HOFF] as usize;
        if hoff < MIN_HOFF || hoff > bytes.len() {
            return None;
        }
        Some(Tuple(bytes))
    }

    /// All its bytes.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// xmin as stored.
    #[inline]
    pub fn xmin_raw(self) -> u32 {
        u32_at(self.0, T_XMIN)
    }

    /// xmax as stored.
    #[inline]
    pub fn xmax_raw(self) -> u32 {
        u32_at(self.0, T_XMAX)
    }

    /// The command id: cmin, cmax or a combo.
    #[inline]
    pub fn cid(self) -> u32 {
        u32_at(self.0, T_CID)
    }

    /// Where the next version is; itself if this is the latest.
    #[inline]
    pub fn ctid(self) -> Tid {
        Tid { block: BlockNo(u32_at(self.0, T_BLOCK)), offset: u16_at(self.0, T_OFFSET) }
    }

    /// The first flag word.
    #[inline]
    pub fn mask(self) -> u16 {
        u16_at(self.0, T_MASK)
    }

    /// The second flag word.
    #[inline]
    pub fn mask2(self) -> u16 {
        u16_at(self.0, T_MASK2)
    }

    /// Number of attributes stored.
    #[inline]
    pub fn natts(self) -> usize {
        (self.mask2() & NATTS_MASK) as usize
    }

    /// Offset of the data.
    #[inline]
    pub fn hoff(self) -> usize {
        self.0[T_HOFF] as usize
    }

    /// The null bitmap, a bit set for each value that is present.
    #[inline]
    pub fn bitmap(self) -> Option<&'a [u8]> {
        if self.mask() & HAS_NULL != 0 { Some(&self.0[TUPLE_HEADER..self.hoff()]) } else { None }
    }

    /// The values.
    #[inline]
    pub fn data(self) -> &'a [u8] {
        &self.0[self.hoff()..]
    }

    /// True if xmin is frozen.
    #[inline]
    pub fn frozen(self) -> bool {
        self.mask() & XMIN_FROZEN == XMIN_FROZEN
    }

    /// True if there is no deleter: none at all, one that aborted, or only a locker.
    #[inline]
    pub fn no_deleter(self) -> bool {
        self.mask() & (XMAX_INVALID | XMAX_LOCK_ONLY) != 0
    }

    /// True if no index points to it.
    #[inline]
    pub fn heap_only(self) -> bool {
        self.mask2() & HEAP_ONLY != 0
    }

    /// True if its successor is in the same page and no index points to that.
    #[inline]
    pub fn hot_updated(self) -> bool {
        self.mask2() & HOT_UPDATED != 0
            && self.mask() & XMAX_INVALID == 0
            && self.mask() & XMIN_FROZEN != XMIN_INVALID
    }
}

/// Tuple `off` of the page, if the line pointer is a normal one and its bytes can be a tuple.
#[inline]
pub fn tuple(page: &Bytes, off: u16) -> Option<Tuple<'_>> {
    match line(page, off) {
        Line::Normal { at, len } => Tuple::new(page.get(at as usize..at as usize + len as usize)?),
        _ => None,
    }
}

/// What the beginning of a tuple alone tells about who sees it.
#[derive(Clone, Copy)]
pub struct Glance {
    /// xmin and xmax as stored, xmin in the lower half.
    xids: u64,
    mask: u16,
    mask2: u16,
}

impl Glance {
    /// True if no index points to it.
    #[inline]
    pub fn heap_only(self) -> bool {
        self.mask2 & HEAP_ONLY != 0
    }

    /// Whether a snapshot sees the tuple that sees all committed ids stored as less than `limit`;
    /// None if that needs a closer look.
    #[inline]
    pub fn seen(self, limit: u32) -> Option<bool> {
        let below = |raw: u32| (3..limit).contains(&raw);
        match self.mask & XMIN_FROZEN {
            XMIN_FROZEN => {}
            XMIN_INVALID => return Some(false),
            XMIN_COMMITTED if below(self.xids as u32) => {}
            _ => return None,
        }
        if self.mask & (XMAX_INVALID | XMAX_LOCK_ONLY) != 0 {
            return Some(true);
        }
        let deleted = self.mask & XMAX_COMMITTED != 0 && below((self.xids >> 32) as u32);
        deleted.then_some(false)
    }
}

/// A line pointer as it is stored.
#[derive(Clone, Copy)]
pub struct RawLine(u32);

impl RawLine {
    /// True if it points to a tuple.
    #[inline]
    pub fn is_normal(self) -> bool {
        (self.0 >> 15) & 3 == 1
    }

    /// Place and size of the tuple, if it points to one and could be right.
    #[inline]
    fn place(self) -> Option<(usize, usize)> {
        let (at, len) = ((self.0 & 0x7FFF) as usize, (self.0 >> 17) as usize);
        let sound = self.is_normal() && len >= MIN_HOFF && at + len <= PAGE_SIZE;
        sound.then_some((at, len))
    }
}

/// All line pointers, in order; the first is number 1.
#[inline]
pub fn raw_lines(page: &Bytes) -> impl Iterator<Item = RawLine> + '_ {
    let n = (max_offset(page) as usize).min(MAX_TUPLES);
    let lines = page[HEADER_SIZE..HEADER_SIZE + n * LINE_SIZE].as_chunks::<LINE_SIZE>().0;
    lines.iter().map(|word| RawLine(u32::from_le_bytes(*word)))
}

/// Place and size of the normal tuple at line pointer `off`. As [`line`], with fewer steps.
#[inline]
fn normal_place(page: &Bytes, off: u16) -> Option<(usize, usize)> {
    let words = page.get(HEADER_SIZE + (off as usize).wrapping_sub(1) * LINE_SIZE..)?;
    RawLine(u32::from_le_bytes(*words.first_chunk()?)).place()
}

/// A glance at the normal tuple at line pointer `off`.
#[inline]
pub fn glance(page: &Bytes, off: u16) -> Option<Glance> {
    glance_at(page, normal_place(page, off)?.0)
}

/// A glance at the tuple that a line pointer points to.
#[inline]
pub fn glance_along(page: &Bytes, line: RawLine) -> Option<Glance> {
    glance_at(page, line.place()?.0)
}

#[inline]
fn glance_at(page: &Bytes, at: usize) -> Option<Glance> {
    let head: &[u8; TUPLE_HEADER] = page.get(at..)?.first_chunk()?;
    let xids = u64::from_le_bytes(*head.first_chunk()?);
    let mask = u16::from_le_bytes([head[T_MASK], head[T_MASK + 1]]);
    let mask2 = u16::from_le_bytes([head[T_MASK2], head[T_MASK2 + 1]]);
    Some(Glance { xids, mask, mask2 })
}

/// Where a tuple's values are, and what a quick reader must know of it.
#[derive(Clone, Copy)]
pub struct Outline {
    /// Offset of the data in the page.
    pub start: u32,
    /// Bytes of data.
    pub size: u32,
    /// Number of attributes.
    pub natts: u16,
    /// The first flag word.
    pub mask: u16,
    /// The first byte of the bitmap of values that are there, if there is one.
    pub bits: u8,
}

/// The outline of the normal tuple at line pointer `off`. As [`tuple`], with fewer steps.
#[inline]
pub fn outline(page: &Bytes, off: u16) -> Option<Outline> {
    let (at, len) = normal_place(page, off)?;
    // offset of ctid, both flag words, data offset, first byte of the bitmap
    let head = u64::from_le_bytes(*page.get(at + T_OFFSET..)?.first_chunk()?);
    let hoff = (head >> 48) as u8 as usize;
    let sound = hoff >= MIN_HOFF && hoff <= len;
    sound.then(|| Outline {
        start: (at + hoff) as u32,
        size: (len - hoff) as u32,
        natts: (head >> 16) as u16 & NATTS_MASK,
        mask: (head >> 32) as u16,
        bits: (head >> 56) as u8,
    })
}

/// Appends the offsets of all normal line pointers to `out`.
pub fn normal_offsets(page: &Bytes, out: &mut Vec<u16>) {
    let n = (max_offset(page) as usize).min(MAX_TUPLES);
    let old = out.len();
    out.resize(old + n, 0);
    let lines = page[HEADER_SIZE..HEADER_SIZE + n * LINE_SIZE].as_chunks::<LINE_SIZE>().0;
    let mut found = old;
    for (i, word) in lines.iter().enumerate() {
        // Written in any case, kept only if the line pointer is normal: no branch to mispredict.
        out[found] = i as u16 + 1;
        found += ((u32::from_le_bytes(*word) >> 15) & 3 == 1) as usize;
    }
    out.truncate(found);
}

/// The bytes of tuple `off`, to change.
#[inline]
pub fn tuple_mut(page: &mut Bytes, off: u16) -> Option<TupleMut<'_>> {
    match line(page, off) {
        Line::Normal { at, len } => {
            let b = page.get_mut(at as usize..at as usize + len as usize)?;
            if b.len() < MIN_HOFF { None } else { Some(TupleMut(b)) }
        }
        _ => None,
    }
}

/// A tuple whose header can be changed.
pub struct TupleMut<'a>(&'a mut [u8]);

impl<'a> TupleMut<'a> {
    /// Over bytes that begin with a header.
    pub fn new(bytes: &'a mut [u8]) -> TupleMut<'a> {
        TupleMut(bytes)
    }

    /// To read.
    pub fn get(&self) -> Tuple<'_> {
        Tuple(self.0)
    }

    /// Stores xmin.
    pub fn set_xmin(&mut self, raw: u32) {
        put_u32(self.0, T_XMIN, raw);
    }

    /// Stores xmax.
    pub fn set_xmax(&mut self, raw: u32) {
        put_u32(self.0, T_XMAX, raw);
    }

    /// Stores the command id.
    pub fn set_cid(&mut self, cid: u32) {
        put_u32(self.0, T_CID, cid);
    }

    /// Stores where the next version is.
    pub fn set_ctid(&mut self, tid: Tid) {
        put_u32(self.0, T_BLOCK, tid.block.0);
        put_u16(self.0, T_OFFSET, tid.offset);
    }

    /// Sets and clears flags of the first word.
    pub fn change_mask(&mut self, set: u16, clear: u16) {
        let m = (self.get().mask() & !clear) | set;
        put_u16(self.0, T_MASK, m);
    }

    /// Sets and clears flags of the second word.
    pub fn change_mask2(&mut self, set: u16, clear: u16) {
        let m = (self.get().mask2() & !clear) | set;
        put_u16(self.0, T_MASK2, m);
    }

    /// Stores the number of attributes and the data's offset.
    pub fn set_shape(&mut self, natts: u16, mask: u16, hoff: u8) {
        put_u16(self.0, T_MASK2, natts & NATTS_MASK);
        put_u16(self.0, T_MASK, mask);
        self.0[T_HOFF] = hoff;
    }
}

/// Bytes between line pointers and tuples.
#[inline]
pub fn exact_free(page: &Bytes) -> usize {
    upper(page).saturating_sub(lower(page))
}

/// Bytes that one more tuple could take, its line pointer counted.
pub fn free_space(page: &Bytes) -> usize {
    let gap = exact_free(page);
    if gap < LINE_SIZE {
        return 0;
    }
    let n = max_offset(page);
    if n as usize >= MAX_TUPLES {
        // A new tuple must reuse a line pointer; without one the space is of no use.
        if flags(page) & HAS_FREE_LINES == 0 || !(1..=n).any(|off| line(page, off) == Line::Unused)
        {
            return 0;
        }
    }
    gap - LINE_SIZE
}

/// Where the next tuple's line pointer goes: an unused one, else a new one at the end.
pub fn next_offset(page: &mut Bytes) -> u16 {
    let n = max_offset(page);
    if flags(page) & HAS_FREE_LINES != 0 {
        if let Some(off) = (1..=n).find(|&off| line(page, off) == Line::Unused) {
            return off;
        }
        change_flags(page, 0, HAS_FREE_LINES);
    }
    n + 1
}

/// Puts a tuple at line pointer `off`, which is unused or the one after the last. False if it
/// does not fit.
pub fn add_tuple(page: &mut Bytes, off: u16, bytes: &[u8]) -> bool {
    let n = max_offset(page);
    if off == 0 || off > n + 1 || off as usize > MAX_TUPLES || bytes.len() < MIN_HOFF {
        return false;
    }
    let new_line = off == n + 1;
    if !new_line && line(page, off) != Line::Unused {
        return false;
    }
    let need = align8(bytes.len()) + if new_line { LINE_SIZE } else { 0 };
    if need > exact_free(page) || upper(page) > SPECIAL {
        return false;
    }
    let at = upper(page) - align8(bytes.len());
    page[at..at + bytes.len()].copy_from_slice(bytes);
    page[at + bytes.len()..at + align8(bytes.len())].fill(0);
    if new_line {
        let l = lower(page) + LINE_SIZE;
        put_u16(page, AT_LOWER, l as u16);
    }
    put_u16(page, AT_UPPER, at as u16);
    set_line(page, off, Line::Normal { at: at as u16, len: bytes.len() as u16 });
    true
}

/// What pruning and freezing change in a page; one log record carries it.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct PrunePlan {
    /// Line pointers to redirect, and where to.
    pub redirect: Vec<(u16, u16)>,
    /// Line pointers to mark dead.
    pub dead: Vec<u16>,
    /// Line pointers to free.
    pub unused: Vec<u16>,
    /// Tuples whose xmin becomes frozen.
    pub freeze_xmin: Vec<u16>,
    /// Tuples whose xmax is wiped, as it aborted or only locked.
    pub clear_xmax: Vec<u16>,
}

impl PrunePlan {
    /// True if it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.redirect.is_empty()
            && self.dead.is_empty()
            && self.unused.is_empty()
            && self.freeze_xmin.is_empty()
            && self.clear_xmax.is_empty()
    }

    /// True if it takes tuples or line pointers away.
    pub fn prunes(&self) -> bool {
        !(self.redirect.is_empty() && self.dead.is_empty() && self.unused.is_empty())
    }
}

/// Carries a plan out. The page's next prune hint is `hint`.
pub fn apply_prune(page: &mut Bytes, plan: &PrunePlan, hint: u32) {
    let n = max_offset(page);
    let gaps = Gaps::of(page, plan);
    for &(from, to) in &plan.redirect {
        if from >= 1 && from <= n {
            set_line(page, from, Line::Redirect(to));
        }
    }
    for &off in plan.dead.iter().filter(|&&o| o >= 1 && o <= n) {
        set_line(page, off, Line::Dead);
    }
    for &off in plan.unused.iter().filter(|&&o| o >= 1 && o <= n) {
        set_line(page, off, Line::Unused);
    }
    for &off in &plan.freeze_xmin {
        if let Some(mut t) = tuple_mut(page, off) {
            t.change_mask(XMIN_FROZEN, 0);
        }
    }
    for &off in &plan.clear_xmax {
        if let Some(mut t) = tuple_mut(page, off) {
            t.set_xmax(0);
            t.change_mask(XMAX_INVALID, XMAX_COMMITTED | XMAX_LOCK_ONLY);
            t.change_mask2(0, HOT_UPDATED | KEYS_UPDATED);
        }
    }
    set_prune_hint(page, hint);
    if plan.prunes() {
        compact(page, &gaps);
    }
}

/// Moves the page's base, so that later ids fit. Ids that matter must lie above the new base;
/// the rest belong to frozen tuples or to an xmax that was cleared. False if some do not.
pub fn rebase(page: &mut Bytes, new_base: u64) -> bool {
    let old_base = xid_base(page);
    let shift = |raw: u32| encode_xid(new_base, decode_xid(old_base, raw));
    for off in 1..=max_offset(page) {
        let Some(t) = tuple(page, off) else { continue };
        let xmin_ok = t.frozen() || t.mask() & XMIN_INVALID != 0 || shift(t.xmin_raw()).is_some();
        let xmax_ok = t.mask() & XMAX_INVALID != 0 || shift(t.xmax_raw()).is_some();
        if !xmin_ok || !xmax_ok {
            return false;
        }
    }
    for off in 1..=max_offset(page) {
        let Some(mut t) = tuple_mut(page, off) else { continue };
        let (xmin, xmax) = (t.get().xmin_raw(), t.get().xmax_raw());
        t.set_xmin(shift(xmin).unwrap_or(Xid::FROZEN.0 as u32));
        t.set_xmax(shift(xmax).unwrap_or(0));
    }
    let hint = prune_hint(page);
    set_prune_hint(page, shift(hint).unwrap_or(3));
    page[SPECIAL..].copy_from_slice(&new_base.to_le_bytes());
    true
}

/// Verifies what always holds of a heap page, and says what does not.
pub fn check(page: &Bytes) -> Result<(), String> {
    if is_new(page) {
        return Ok(());
    }
    let (lo, up, sp) = (lower(page), upper(page), u16_at(page, AT_SPECIAL) as usize);
    if lo < HEADER_SIZE || lo > up || up > sp || sp != SPECIAL || !lo.is_multiple_of(4) {
        return Err(format!("corrupted page pointers: lower = {lo}, upper = {up}, special = {sp}"));
    }
    let n = max_offset(page);
    if n as usize > MAX_TUPLES {
        return Err(format!("{n} line pointers are too many"));
    }
    let mut used: Vec<(usize, usize)> = Vec::new();
    for off in 1..=n {
        check_line(page, off, n, up, &mut used)?;
    }
    used.sort_unstable();
    for w in used.windows(2) {
        if w[0].1 > w[1].0 {
            return Err(format!("tuples at {} and {} overlap", w[0].0, w[1].0));
        }
    }
    Ok(())
}

fn check_line(
    page: &Bytes,
    off: u16,
    n: u16,
    up: usize,
    used: &mut Vec<(usize, usize)>,
) -> Result<(), String> {
    match line(page, off) {
        Line::Unused => {}
        Line::Dead => {
            if all_visible(page) {
                return Err(format!("line pointer {off} is dead in an all-visible page"));
            }
        }
        Line::Redirect(to) => {
            if to == 0 || to > n {
                return Err(format!("line pointer {off} redirects to {to} of {n}"));
            }
            match tuple(page, to) {
                Some(t) if t.heap_only() => {}
                _ => {
                    return Err(format!("line pointer {off} redirects to no heap-only tuple"));
                }
            }
        }
        Line::Normal { at, len } => {
            let (at, len) = (at as usize, len as usize);
            if at < up || at + len > SPECIAL || !at.is_multiple_of(8) {
                return Err(format!("tuple {off} lies outside: at {at}, length {len}"));
            }
            let Some(t) = tuple(page, off) else {
                return Err(format!("tuple {off} has a broken header"));
            };
            let nulls = if t.mask() & HAS_NULL != 0 { t.natts().div_ceil(8) } else { 0 };
            if t.hoff() != align8(TUPLE_HEADER + nulls) {
                return Err(format!("tuple {off} has {} as data offset", t.hoff()));
            }
            if all_visible(page) && !t.no_deleter() {
                return Err(format!("tuple {off} has a deleter in an all-visible page"));
            }
            used.push((at, at + align8(len)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(data: &[u8]) -> Vec<u8> {
        let mut b = vec![0; MIN_HOFF];
        TupleMut::new(&mut b).set_shape(1, XMAX_INVALID, MIN_HOFF as u8);
        b.extend_from_slice(data);
        b
    }

    #[test]
    fn add_prune_compact() {
        let mut p = [0u8; PAGE_SIZE];
        init(&mut p, 0);
        let mut n = 0;
        loop {
            let off = next_offset(&mut p);
            if !add_tuple(&mut p, off, &row(&[n as u8; 100])) {
                break;
            }
            n += 1;
        }
        assert_eq!(n, 61, "as many rows as in PostgreSQL");
        check(&p).unwrap();
        let free = exact_free(&p);
        let plan = PrunePlan { dead: vec![3, 5], unused: vec![n as u16], ..PrunePlan::default() };
        apply_prune(&mut p, &plan, 0);
        check(&p).unwrap();
        assert_eq!(exact_free(&p), free + 3 * 128 + 4);
        assert_eq!(tuple(&p, 7).unwrap().data(), &[6; 100]);
        assert_eq!(line(&p, 3), Line::Dead);
        let plan = PrunePlan { unused: vec![3, 5], ..PrunePlan::default() };
        apply_prune(&mut p, &plan, 0);
        assert_eq!(next_offset(&mut p), 3);
    }

    #[test]
    fn xids_and_rebase() {
        let base = base_for(Xid(1 << 40));
        let mut p = [0u8; PAGE_SIZE];
        init(&mut p, base);
        assert!(add_tuple(&mut p, 1, &row(&[1])));
        let x = Xid(1 << 40);
        tuple_mut(&mut p, 1).unwrap().set_xmin(encode_xid(base, x).unwrap());
        let far = Xid((1 << 40) + (3 << 30));
        assert!(encode_xid(base, far).is_none());
        assert!(!rebase(&mut p, base_for(far)), "an id that matters is below the new base");
        tuple_mut(&mut p, 1).unwrap().change_mask(XMIN_FROZEN, 0);
        assert!(rebase(&mut p, base_for(far)));
        assert!(encode_xid(xid_base(&p), far).is_some());
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut seed = 1u64;
        let mut p = [0u8; PAGE_SIZE];
        for _ in 0..200 {
            for b in p.iter_mut() {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *b = (seed >> 56) as u8;
            }
            let _ = check(&p);
            for off in 0..=max_offset(&p) {
                let _ = tuple(&p, off).map(|t| (t.bitmap().map(<[u8]>::len), t.data().len()));
            }
        }
    }
}
