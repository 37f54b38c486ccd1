//! Needed columns of a page's rows, straight into typed vectors.
//!
//! Columns that lie at the same offset in every row (all before them have a fixed width) are
//! read column by column; the others by a walk over the row that starts behind that prefix.
//! Rows in which one of the needed columns or one before them is NULL take the general way.

use super::page::{self, Bytes, Tuple};
use base::{Result, err};
use buffer::Upcoming;
use smallvec::SmallVec;
use std::sync::Arc;
use types::tuple::{Detoast, VarlenaKind, deform_into, detoast, varlena_size};
use types::{Batch, Column, ColumnBuilder, ColumnData, PhysType, TupleDesc};

/// One attribute that the walk passes.
#[derive(Clone, Copy)]
struct Step {
    /// Alignment less one.
    align: u32,
    len: i16,
    phys: PhysType,
    /// It is a `name`, whose padding is cut.
    name: bool,
    /// The builder that wants it.
    builder: Option<u16>,
}

/// A needed column that lies at the same offset in every row.
#[derive(Clone, Copy)]
struct Fixed {
    at: u32,
    len: u16,
    phys: PhysType,
    name: bool,
    builder: u16,
}

/// Knows how to get the needed columns of one relation; made once for a scan.
pub struct Decoder {
    desc: Arc<TupleDesc>,
    needed: Vec<usize>,
    fixed: Vec<Fixed>,
    /// Bytes of data that every row has if `fixed` can be read.
    fixed_end: usize,
    /// Where the walk starts.
    walk_at: usize,
    walk: Vec<Step>,
    /// Number of attributes that must be present for the quick way.
    natts: usize,
    /// Some needed column may be stored out of line.
    varlena: bool,
}

/// So many rows of a page are noted on the stack.
const FEW_ROWS: usize = 64;

/// Where a row's data lies in its page.
type RowAt = (u32, u32);

impl Decoder {
    /// A decoder for these columns, ascending positions in the row.
    pub fn new(desc: Arc<TupleDesc>, needed: &[usize]) -> Decoder {
        let mut d = Decoder {
            needed: needed.to_vec(),
            fixed: Vec::new(),
            fixed_end: 0,
            walk_at: 0,
            walk: Vec::new(),
            natts: needed.last().map_or(0, |n| n + 1),
            varlena: needed.iter().any(|&n| desc.attrs.get(n).is_some_and(|a| a.len == -1)),
            desc,
        };
        let mut at = 0;
        let mut in_prefix = true;
        let attrs = Arc::clone(&d.desc);
        for (i, attr) in attrs.attrs.iter().enumerate().take(d.natts) {
            let align = (attr.align as usize).max(1) - 1;
            let builder = d.needed.binary_search(&i).ok().map(|b| b as u16);
            let name = attr.type_oid == types::oid::NAME && attr.len == 64;
            // A dropped column's values are NULL whatever lies there: the general way knows.
            if attr.dropped && builder.is_some() {
                d.natts = usize::MAX;
            }
            if attr.len <= 0 {
                in_prefix = false;
            }
            if in_prefix {
                at = ((at + align) & !align) + attr.len as usize;
                if let Some(builder) = builder {
                    let (len, phys) = (attr.len as u16, attr.phys);
                    let start = (at - attr.len as usize) as u32;
                    d.fixed.push(Fixed { at: start, len, phys, name, builder });
                    d.fixed_end = at;
                }
                d.walk_at = at;
            } else {
                let (len, phys) = (attr.len, attr.phys);
                d.walk.push(Step { align: align as u32, len, phys, name, builder });
            }
        }
        d
    }

    /// Empty builders, one for each needed column.
    pub fn builders(&self) -> Vec<ColumnBuilder> {
        self.needed
            .iter()
            .map(|&n| ColumnBuilder::with_capacity(self.desc.attrs[n].phys, types::BATCH_ROWS))
            .collect()
    }

    /// Positions of the needed columns in the row.
    pub fn needed(&self) -> &[usize] {
        &self.needed
    }

    /// True if some needed column may be stored out of line in some row.
    pub fn has_varlena(&self) -> bool {
        self.varlena
    }

    /// True if some value of this tuple might have to be fetched from elsewhere.
    #[inline]
    pub fn may_fetch(&self, t: Tuple<'_>) -> bool {
        self.varlena && t.mask() & page::HAS_EXTERNAL != 0
    }

    /// True if the quick way can read a tuple with nulls: nothing needed, nor before it, is one.
    #[inline]
    fn nulls_are_behind(&self, page: &Bytes, off: u16, bits: u8) -> bool {
        if self.natts <= 8 {
            let needed = (0xFFu16 >> (8 - self.natts)) as u8;
            return bits & needed == needed;
        }
        self.many_are_there(page, off)
    }

    #[cold]
    fn many_are_there(&self, page: &Bytes, off: u16) -> bool {
        let Some(bits) = page::tuple(page, off).and_then(Tuple::bitmap) else { return false };
        let full = self.natts / 8;
        let rest = self.natts % 8;
        let rest_mask = (1u8 << rest) - 1;
        bits.len() >= full
            && bits[..full].iter().all(|&b| b == 0xFF)
            && (rest == 0 || bits.get(full).is_some_and(|b| b & rest_mask == rest_mask))
    }

    /// Appends the needed columns of the tuples at `offsets`, which must be normal ones. Tuples
    /// that lie at the same places of the upcoming page are fetched into the cache meanwhile.
    pub fn page(
        &self,
        page: &Bytes,
        offsets: &[u16],
        builders: &mut [ColumnBuilder],
        fetcher: &dyn Detoast,
        upcoming: Upcoming,
    ) -> Result<()> {
        if self.needed.is_empty() {
            return Ok(());
        }
        let mut rows: SmallVec<[RowAt; FEW_ROWS]> = SmallVec::with_capacity(offsets.len());
        for &off in offsets.iter().take(page::MAX_TUPLES) {
            let o = page::outline(page, off).ok_or_else(broken)?;
            let plain = (o.natts as usize) >= self.natts && o.size as usize >= self.fixed_end;
            let nulls = o.mask & page::HAS_NULL != 0;
            if !plain || (nulls && !self.nulls_are_behind(page, off, o.bits)) {
                return self.slowly(page, offsets, builders, fetcher);
            }
            upcoming.prefetch((o.start as usize).wrapping_sub(page::MIN_HOFF));
            upcoming.prefetch(o.start as usize + self.fixed_end);
            rows.push((o.start, o.size));
        }
        for f in &self.fixed {
            // `fixed_end` was compared with each row's size above.
            read_fixed(page, &rows, *f, &mut builders[f.builder as usize]);
        }
        if !self.walk.is_empty() {
            for &(start, size) in &rows {
                let data = &page[start as usize..(start + size) as usize];
                self.walk(data, builders, fetcher)?;
            }
        }
        Ok(())
    }

    /// The general way, row by row.
    fn slowly(
        &self,
        page: &Bytes,
        offsets: &[u16],
        builders: &mut [ColumnBuilder],
        fetcher: &dyn Detoast,
    ) -> Result<()> {
        for &off in offsets {
            let t = page::tuple(page, off).ok_or_else(broken)?;
            self.tuple(t, builders, fetcher)?;
        }
        Ok(())
    }

    /// Appends the needed columns of one tuple.
    pub fn tuple(
        &self,
        t: Tuple<'_>,
        builders: &mut [ColumnBuilder],
        fetcher: &dyn Detoast,
    ) -> Result<()> {
        deform_into(&self.desc, t.data(), t.bitmap(), t.natts(), &self.needed, builders, fetcher)
    }

    /// Appends the columns behind the fixed prefix of a row without nulls.
    fn walk(
        &self,
        data: &[u8],
        builders: &mut [ColumnBuilder],
        fetcher: &dyn Detoast,
    ) -> Result<()> {
        let mut at = self.walk_at;
        for step in &self.walk {
            let aligned = (at + step.align as usize) & !(step.align as usize);
            let (start, end) = match step.len {
                -1 => {
                    // Padding is zero and no unaligned value begins with zero.
                    let start = match data.get(at) {
                        Some(0) => aligned,
                        Some(b) if b & 1 == 1 => at,
                        _ => aligned,
                    };
                    let rest = data.get(start..).ok_or_else(broken)?;
                    (start, start + varlena_size(rest)?.1)
                }
                -2 => {
                    let rest = data.get(at..).ok_or_else(broken)?;
                    let len = rest.iter().position(|&b| b == 0).ok_or_else(broken)?;
                    (at, at + len + 1)
                }
                n => (aligned, aligned + n.max(0) as usize),
            };
            let bytes = data.get(start..end).ok_or_else(broken)?;
            at = end;
            if let Some(b) = step.builder {
                push(&mut builders[b as usize], bytes, step, fetcher)?;
            }
        }
        Ok(())
    }

    /// The builders' columns as a batch of `len` rows; the builders are empty then.
    pub fn finish(&self, len: usize, builders: &mut [ColumnBuilder]) -> Batch {
        let columns: Vec<Arc<Column>> = builders.iter_mut().map(|b| Arc::new(b.take())).collect();
        Batch { len, columns, sel: None }
    }
}

#[cold]
fn broken() -> base::Error {
    err!(DATA_CORRUPTED, "a row's bytes do not fit its table's columns")
}

fn push(
    builder: &mut ColumnBuilder,
    bytes: &[u8],
    step: &Step,
    fetcher: &dyn Detoast,
) -> Result<()> {
    fn get<const N: usize>(b: &[u8]) -> Result<[u8; N]> {
        b.try_into().map_err(|_| broken())
    }
    match step.phys {
        PhysType::Bytes => match step.len {
            -1 => match varlena_size(bytes)? {
                (VarlenaKind::Short, size) => builder.push_bytes(&bytes[1..size]),
                (VarlenaKind::Long, size) => builder.push_bytes(&bytes[4..size]),
                _ => builder.push_bytes(&detoast(bytes, fetcher)?),
            },
            -2 => builder.push_bytes(&bytes[..bytes.len() - 1]),
            _ if step.name => builder.push_bytes(trim(bytes)),
            _ => builder.push_bytes(bytes),
        },
        PhysType::Bool => builder.push_bool(bytes[0] != 0),
        PhysType::Char => builder.push_char(bytes[0]),
        PhysType::I16 => builder.push_i16(i16::from_le_bytes(get(bytes)?)),
        PhysType::I32 => builder.push_i32(i32::from_le_bytes(get(bytes)?)),
        PhysType::I64 => builder.push_i64(i64::from_le_bytes(get(bytes)?)),
        PhysType::U32 => builder.push_u32(u32::from_le_bytes(get(bytes)?)),
        PhysType::F32 => builder.push_f32(f32::from_le_bytes(get(bytes)?)),
        PhysType::F64 => builder.push_f64(f64::from_le_bytes(get(bytes)?)),
    }
    Ok(())
}

fn trim(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len())]
}

/// `N` bytes of the page at `at`.
#[inline(always)]
fn read<const N: usize>(page: &Bytes, at: usize) -> [u8; N] {
    match page.get(at..at + N) {
        Some(b) => b.try_into().unwrap_or([0; N]),
        None => [0; N],
    }
}

/// Appends one column that lies at the same offset in each of `rows`.
fn read_fixed(page: &Bytes, rows: &[RowAt], f: Fixed, builder: &mut ColumnBuilder) {
    macro_rules! column {
        ($v:ident, $old:ident, $from:expr) => {
            for (slot, &(start, _)) in $v[$old..].iter_mut().zip(rows) {
                *slot = $from(read(page, (start + f.at) as usize));
            }
        };
    }
    if f.phys == PhysType::Bytes {
        for &(start, _) in rows {
            let from = (start + f.at) as usize;
            let bytes = &page[from..from + f.len as usize];
            builder.push_bytes(if f.name { trim(bytes) } else { bytes });
        }
        return;
    }
    let old = builder.len();
    builder.resize(old + rows.len());
    match builder.data_mut() {
        ColumnData::Bool(v) => column!(v, old, |b: [u8; 1]| b[0] != 0),
        ColumnData::Char(v) => column!(v, old, |b: [u8; 1]| b[0]),
        ColumnData::I16(v) => column!(v, old, i16::from_le_bytes),
        ColumnData::I32(v) => column!(v, old, i32::from_le_bytes),
        ColumnData::I64(v) => column!(v, old, i64::from_le_bytes),
        ColumnData::U32(v) => column!(v, old, u32::from_le_bytes),
        ColumnData::F32(v) => column!(v, old, f32::from_le_bytes),
        ColumnData::F64(v) => column!(v, old, f64::from_le_bytes),
        ColumnData::Bytes(_) => {}
    }
}
