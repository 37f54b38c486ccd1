//! Search keys, and their comparison with the items of a page.

use super::page::{self, Item, Page, get32, get64};
use super::tree::{ReadPage, WritePage};
use crate::index::{IndexRel, KeyCmp, KeyColumn, Probe};
use crate::index::{decode, next_stored};
use crate::toast::reduce::compress;
use base::{BlockNo, Result, Tid, bail, err};
use smallvec::SmallVec;
use std::cmp::Ordering;
use types::tuple::{Compression, append_values, data_size, form_tuple_with};
use types::{Datum, PhysType};

/// One column of a search key.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Comparison of the stored value (left) with this one.
    pub cmp: KeyCmp,
    /// The value.
    pub probe: Probe,
}

/// What a descent looks for: values of the first columns, perhaps a row's place.
#[derive(Clone, Debug)]
pub struct SearchKey {
    /// Values of the leading columns.
    pub columns: SmallVec<[Wanted; 2]>,
    /// Tie breaker among equal keys.
    pub tid: Option<Tid>,
    /// Look for the first item after the key instead of the first not before it.
    pub after: bool,
    /// The scan goes backward: equal pivots must not be skipped.
    pub backward: bool,
}

impl SearchKey {
    /// The key of an entry with these values, without tie breaker.
    pub fn of_values(index: &IndexRel, values: &[Datum]) -> SearchKey {
        let columns = index
            .keys
            .iter()
            .zip(values)
            .map(|(k, v)| Wanted { cmp: k.cmp.clone(), probe: k.cmp.probe(v) })
            .collect();
        SearchKey { columns, tid: None, after: false, backward: false }
    }

    /// The key of an item already stored (leaf or pivot).
    pub fn of_item(index: &IndexRel, item: Item<'_>) -> Result<SearchKey> {
        let n = item.natts(index.nkeys()).min(index.nkeys());
        let values = item_values(index, item, n)?;
        let mut key = SearchKey::of_values(index, &values);
        key.tid = item.low_tid();
        // An equal pivot is not to be skipped: it may be the very one that is looked for.
        key.backward = true;
        Ok(key)
    }

    /// True if it has a NULL.
    pub fn has_null(&self) -> bool {
        self.columns.iter().any(|w| matches!(w.probe, Probe::Null))
    }

    /// True if pages may be searched with it while they change.
    pub fn is_total(&self) -> bool {
        self.columns.iter().all(|w| w.cmp.is_total())
    }
}

/// Order of two values of a key column in the index, with its DESC and NULLS FIRST.
fn flip(column: &KeyColumn, natural: Ordering) -> Ordering {
    if column.desc { natural.reverse() } else { natural }
}

/// Order of a wanted NULL-or-not against a stored NULL-or-not, if either is NULL.
fn null_order(column: &KeyColumn, wanted_null: bool, stored_null: bool) -> Option<Ordering> {
    let wanted_first = if column.nulls_first { Ordering::Less } else { Ordering::Greater };
    match (wanted_null, stored_null) {
        (false, false) => None,
        (true, true) => Some(Ordering::Equal),
        (true, false) => Some(wanted_first),
        (false, true) => Some(wanted_first.reverse()),
    }
}

#[inline]
fn bit_is_null(bitmap: &[u8], i: usize) -> bool {
    !bitmap.is_empty() && bitmap.get(i / 8).is_some_and(|b| b >> (i % 8) & 1 == 0)
}

/// Order of the search key relative to an item.
pub fn compare(index: &IndexRel, key: &SearchKey, item: Item<'_>) -> Result<Ordering> {
    let natts = index.desc.attrs.len();
    let has = item.natts(index.nkeys()).min(index.nkeys());
    let (bitmap, data) = item.bitmap_and_data(natts);
    let mut at = 0;
    for (i, wanted) in key.columns.iter().enumerate() {
        if i >= has {
            // What was truncated away is minus infinity.
            return Ok(Ordering::Greater);
        }
        let stored_null = bit_is_null(bitmap, i);
        let wanted_null = matches!(wanted.probe, Probe::Null);
        let column = &index.keys[i];
        let order = match null_order(column, wanted_null, stored_null) {
            Some(order) => {
                if !stored_null {
                    next_stored(data, &mut at, &index.desc.attrs[i]);
                }
                order
            }
            None => {
                let attr = &index.desc.attrs[i];
                let stored = next_stored(data, &mut at, attr);
                flip(column, wanted.cmp.compare_stored(attr, stored, &wanted.probe)?.reverse())
            }
        };
        if order != Ordering::Equal {
            return Ok(order);
        }
    }
    Ok(compare_tid(index, key, item, has))
}

/// The tie breaker, once all wanted columns are equal.
fn compare_tid(index: &IndexRel, key: &SearchKey, item: Item<'_>, has: usize) -> Ordering {
    let Some(tid) = key.tid else {
        // All entries with this very key are to the right of a pivot that has all columns and no
        // place: no need to look at the page to its left.
        let whole = key.columns.len() == index.nkeys() && has == index.nkeys();
        let skip = whole && !key.backward && item.is_pivot() && item.low_tid().is_none();
        return if skip { Ordering::Greater } else { Ordering::Equal };
    };
    if has > key.columns.len() && item.is_pivot() {
        return Ordering::Equal;
    }
    match item.low_tid() {
        None => Ordering::Greater,
        Some(low) if tid <= low || item.is_pivot() => tid.cmp(&low),
        Some(_) if tid <= item.high_tid() => Ordering::Equal,
        Some(_) => Ordering::Greater,
    }
}

/// Among fewer items it is not worth guessing.
const WORTH_GUESSING: u16 = 16;

/// How an integer column is stored.
#[derive(Clone, Copy)]
enum Width {
    I32,
    U32,
    I64,
}

/// The commonest search: one integer column without tie breaker.
pub struct IntSearch {
    width: Width,
    wanted: i64,
    desc: bool,
    /// Equal pivots without place count as less than the key.
    skip_equal_pivot: bool,
}

impl IntSearch {
    /// If the key is such a one.
    pub fn of(index: &IndexRel, key: &SearchKey) -> Option<IntSearch> {
        let [Wanted { cmp: KeyCmp::Int, probe: Probe::Int(wanted) }] = key.columns[..] else {
            return None;
        };
        let width = match index.desc.attrs[0].phys {
            PhysType::I32 => Width::I32,
            PhysType::U32 => Width::U32,
            PhysType::I64 => Width::I64,
            _ => return None,
        };
        if key.tid.is_some() {
            return None;
        }
        let skip_equal_pivot = index.nkeys() == 1 && !key.backward;
        Some(IntSearch { width, wanted, desc: index.keys[0].desc, skip_equal_pivot })
    }

    /// Order of the key relative to an item; None if that needs the general comparison.
    #[inline]
    pub fn compare(&self, item: Item<'_>) -> Option<Ordering> {
        self.decide(page::get16(item.0, 6), page::get16(item.0, 4), || self.stored(item))
    }

    /// The same for an item that begins with these sixteen bytes.
    #[inline(always)]
    pub fn compare_words(&self, (head, first): (u64, u64)) -> Option<Ordering> {
        // Its offset and info are the last quarters of the head.
        self.decide((head >> 48) as u16, (head >> 32) as u16, || self.value(first))
    }

    /// The value of an item that has one.
    #[inline]
    fn stored(&self, item: Item<'_>) -> i64 {
        match self.width {
            Width::I32 => get32(item.0, 8) as i32 as i64,
            Width::U32 => get32(item.0, 8) as i64,
            Width::I64 => get64(item.0, 8) as i64,
        }
    }

    /// The same of the eight bytes behind an item's head.
    #[inline(always)]
    pub fn value(&self, word: u64) -> i64 {
        match self.width {
            Width::I32 => word as i32 as i64,
            Width::U32 => word as u32 as i64,
            Width::I64 => word as i64,
        }
    }

    /// Where the key would be among items `low..high` if their values were evenly spread, which
    /// those of most keys made by counting are. `stored` gives an item's value; what it gives for
    /// an item without one makes a bad guess, no more.
    #[inline]
    pub fn guess(&self, low: u16, high: u16, stored: impl Fn(u16) -> i64) -> Option<u16> {
        // The first may be minus infinity.
        let (first, last) = (low + 1, high.checked_sub(1)?);
        if last < first + WORTH_GUESSING {
            return None;
        }
        let (a, b) = (stored(first) as f64, stored(last) as f64);
        let (span, way) = match self.desc {
            false => (b - a, self.wanted as f64 - a),
            true => (a - b, a - self.wanted as f64),
        };
        if span <= 0.0 {
            return None;
        }
        let share = (way / span).clamp(0.0, 1.0);
        Some(first + (share * f64::from(last - first)) as u16)
    }

    #[inline(always)]
    fn decide(&self, info: u16, offset: u16, stored: impl FnOnce() -> i64) -> Option<Ordering> {
        if info & page::INFO_NULLS != 0 {
            return None;
        }
        let pivot = info & page::INFO_PIVOT != 0;
        if pivot && offset & !page::PIVOT_TID == 0 {
            return Some(Ordering::Greater);
        }
        let order = self.wanted.cmp(&stored());
        if order == Ordering::Equal {
            let skip = pivot && self.skip_equal_pivot && offset & page::PIVOT_TID == 0;
            return Some(if skip { Ordering::Greater } else { order });
        }
        Some(if self.desc { order.reverse() } else { order })
    }
}

/// Number of the first item from `page::first` on that is not before the key (with `key.after`:
/// that is after it); the count if there is none.
pub fn lower_bound(index: &IndexRel, p: &Page, key: &SearchKey) -> Result<u16> {
    let fast = IntSearch::of(index, key);
    let (low, high) = (page::first(p), page::count(p));
    let guess = fast.as_ref().and_then(|f| f.guess(low, high, |i| f.stored(page::item(p, i))));
    partition(low, high, guess, |i| {
        let item = page::item(p, i);
        let order = match fast.as_ref().and_then(|f| f.compare(item)) {
            Some(order) => order,
            None => compare(index, key, item)?,
        };
        Ok(order == Ordering::Greater || (key.after && order == Ordering::Equal))
    })
}

/// The first of `low..high` for which `before` is false, or `high`. Looks first near the guess: a
/// good one touches few cache lines.
#[inline]
pub fn partition<E>(
    mut low: u16,
    mut high: u16,
    guess: Option<u16>,
    mut before: impl FnMut(u16) -> Result<bool, E>,
) -> Result<u16, E> {
    if let Some(guess) = guess.filter(|g| (low..high).contains(g)) {
        let up = before(guess)?;
        if up {
            low = guess + 1;
        } else {
            high = guess;
        }
        for step in [1, 8] {
            let at = match up {
                true => guess.saturating_add(step),
                false => guess.saturating_sub(step),
            };
            if !(low..high).contains(&at) {
                break;
            }
            match before(at)? {
                true => low = at + 1,
                false => high = at,
            }
            if (low > at) != up {
                break;
            }
        }
    }
    while low < high {
        let mid = low + (high - low) / 2;
        match before(mid)? {
            true => low = mid + 1,
            false => high = mid,
        }
    }
    Ok(low)
}

/// Number of the downlink to follow on an inner page: the last that is before the key.
pub fn downlink(index: &IndexRel, p: &Page, key: &SearchKey) -> Result<u16> {
    let first = page::first(p);
    // The first downlink is minus infinity, whatever its bytes say.
    Ok(lower_bound(index, p, key)?.saturating_sub(1).max(first))
}

/// True if what is looked for lies to the right of this page.
pub fn is_beyond(index: &IndexRel, p: &Page, key: &SearchKey) -> Result<bool> {
    if page::is_rightmost(p) {
        return Ok(false);
    }
    let order = compare(index, key, page::item(p, 0))?;
    Ok(order == Ordering::Greater || (key.after && order == Ordering::Equal))
}

/// The first `n` values of an item.
pub fn item_values(index: &IndexRel, item: Item<'_>, n: usize) -> Result<Vec<Datum>> {
    let mut out = Vec::with_capacity(n);
    item_values_into(index, item, n, &mut out)?;
    Ok(out)
}

/// Appends the first `n` values of an item.
pub fn item_values_into(
    index: &IndexRel,
    item: Item<'_>,
    n: usize,
    out: &mut Vec<Datum>,
) -> Result<()> {
    let (bitmap, data) = item.bitmap_and_data(index.desc.attrs.len());
    let mut at = 0;
    for (i, attr) in index.desc.attrs.iter().enumerate().take(n) {
        if bit_is_null(bitmap, i) {
            out.push(Datum::Null);
        } else {
            out.push(decode(attr, next_stored(data, &mut at, attr))?);
        }
    }
    Ok(())
}

/// Order of two items by key columns, then by place.
pub fn compare_items(index: &IndexRel, a: Item<'_>, b: Item<'_>) -> Result<Ordering> {
    compare(index, &SearchKey::of_item(index, a)?, b)
}

/// Bytes up to the end of the first `n` attributes, header and bitmap included.
fn prefix_len(index: &IndexRel, item: Item<'_>, n: usize) -> usize {
    let (bitmap, data) = item.bitmap_and_data(index.desc.attrs.len());
    let start = item.0.len() - data.len();
    let mut at = 0;
    for (i, attr) in index.desc.attrs.iter().enumerate().take(n) {
        if !bit_is_null(bitmap, i) {
            next_stored(data, &mut at, attr);
        }
    }
    if n == 0 { page::ITEM_HEADER } else { start + at }
}

/// The shortest pivot that is not less than `last_left` and less than `first_right`, both leaf
/// items: the high key of the left page and the downlink of the right one.
pub fn make_separator(
    index: &IndexRel,
    last_left: Item<'_>,
    first_right: Item<'_>,
) -> Result<Vec<u8>> {
    let nkeys = index.nkeys();
    let equal = equal_columns(index, last_left, first_right)?;
    if equal < nkeys {
        let len = prefix_len(index, first_right, equal + 1);
        return Ok(page::make_pivot(first_right, len, equal + 1, None));
    }
    let len = prefix_len(index, first_right, nkeys);
    Ok(page::make_pivot(first_right, len, nkeys, Some(last_left.high_tid())))
}

/// How many leading key columns two items share.
pub fn equal_columns(index: &IndexRel, a: Item<'_>, b: Item<'_>) -> Result<usize> {
    let natts = index.desc.attrs.len();
    let limit = a.natts(index.nkeys()).min(b.natts(index.nkeys())).min(index.nkeys());
    let ((abits, adata), (bbits, bdata)) = (a.bitmap_and_data(natts), b.bitmap_and_data(natts));
    let (mut aat, mut bat) = (0, 0);
    for i in 0..limit {
        let attr = &index.desc.attrs[i];
        match (bit_is_null(abits, i), bit_is_null(bbits, i)) {
            (true, true) => continue,
            (false, false) => {}
            _ => return Ok(i),
        }
        let x = next_stored(adata, &mut aat, attr);
        let y = next_stored(bdata, &mut bat, attr);
        if x == y {
            continue;
        }
        let cmp = &index.keys[i].cmp;
        if cmp.compare(&decode(attr, x)?, &decode(attr, y)?)? != Ordering::Equal {
            return Ok(i);
        }
    }
    Ok(limit)
}

/// True if two leaf items have the same bytes but for the rows, so that they may share a posting
/// list.
pub fn same_image(a: Item<'_>, b: Item<'_>) -> bool {
    let (x, y) = (page::align8(a.key_end()), page::align8(b.key_end()));
    x == y
        && a.has_nulls() == b.has_nulls()
        && a.0.get(page::ITEM_HEADER..x) == b.0.get(page::ITEM_HEADER..y)
}

/// Values longer than this are compressed if their column allows it.
const COMPRESS_ABOVE: usize = 500;

/// The leaf item of a new entry.
pub fn form_item(index: &IndexRel, values: &[Datum], tid: Tid) -> Result<Vec<u8>> {
    let long = |v: &Datum| matches!(v, Datum::Bytes(b) if b.len() > COMPRESS_ABOVE);
    if !values.iter().any(|v| v.is_null() || long(v)) {
        let mut item = page::begin_leaf(data_size(&index.desc, values));
        append_values(&index.desc, values, &mut item)?;
        page::finish_leaf(&mut item, tid);
        return Ok(item);
    }
    let mut raw: Vec<Option<Vec<u8>>> = Vec::new();
    for (i, (attr, value)) in index.desc.attrs.iter().zip(values).enumerate() {
        let Datum::Bytes(bytes) = value else { continue };
        let may = attr.len == -1 && matches!(attr.storage, b'x' | b'm');
        if may
            && bytes.len() > COMPRESS_ABOVE
            && let Some(packed) = compress(bytes, Compression::of_column(attr.compression))
        {
            raw.resize(i + 1, None);
            raw[i] = Some(packed);
        }
    }
    let formed = form_tuple_with(&index.desc, values, &raw)?;
    let item = page::make_leaf(formed.nulls.as_deref().unwrap_or(&[]), &formed.data, tid);
    if item.len() > page::MAX_ITEM {
        return Err(too_large(index, item.len(), tid));
    }
    Ok(item)
}

#[cold]
fn too_large(index: &IndexRel, size: usize, tid: Tid) -> base::Error {
    err!(
        PROGRAM_LIMIT_EXCEEDED,
        "index row size {size} exceeds btree version 4 maximum {} for index \"{}\"",
        page::MAX_ITEM,
        index.name
    )
    .detail(format!("Index row references tuple ({},{}).", tid.block, tid.offset))
    .hint(
        "Values larger than 1/3 of a buffer page cannot be indexed.\nConsider a function index \
         of an MD5 hash of the value, or use full text indexing.",
    )
}

/// An error that tells that the index is damaged.
#[cold]
pub fn corrupt(index: &IndexRel, block: BlockNo, what: impl std::fmt::Display) -> base::Error {
    err!(INDEX_CORRUPTED, "index \"{}\": block {block}: {what}", index.name)
}

/// Fails unless the page's line pointers and items are in bounds.
pub fn verify_page<P: Latched>(index: &IndexRel, block: BlockNo, latched: &P) -> Result<()> {
    if latched.is_verified() {
        return Ok(());
    }
    verify(index, block, latched)?;
    latched.set_verified();
    Ok(())
}

/// A latched page whose frame knows whether it was verified.
pub trait Latched: std::ops::Deref<Target = Page> {
    /// It was, since it was loaded.
    fn is_verified(&self) -> bool;
    /// It is now.
    fn set_verified(&self);
}

impl Latched for ReadPage {
    fn is_verified(&self) -> bool {
        ReadPage::is_verified(self)
    }
    fn set_verified(&self) {
        ReadPage::set_verified(self)
    }
}

impl Latched for WritePage {
    fn is_verified(&self) -> bool {
        WritePage::is_verified(self)
    }
    fn set_verified(&self) {
        WritePage::set_verified(self)
    }
}

/// The same, whether it was verified or not.
pub fn verify(index: &IndexRel, block: BlockNo, p: &Page) -> Result<()> {
    if page::is_new(p) {
        bail!(
            INDEX_CORRUPTED,
            "index \"{}\" contains unexpected zero page at block {block}",
            index.name
        );
    }
    match page::damage(p) {
        Some(what) => Err(corrupt(index, block, what)),
        None => Ok(()),
    }
}
