//! Values from a row's bytes.

use super::varlena::{Detoast, VarlenaKind, detoast, truncated, varlena_size};
use super::{Attr, TupleDesc};
use crate::batch::ColumnBuilder;
use crate::blob::Blob;
use crate::datum::{Datum, PhysType};
use base::Result;
use std::ops::Range;

/// Whether attribute `i` is NULL by the row's null bitmap.
#[inline]
fn is_null(nulls: Option<&[u8]>, i: usize) -> bool {
    nulls.is_some_and(|n| n.get(i / 8).is_none_or(|b| b >> (i % 8) & 1 == 0))
}

/// Where the value of `attr` that may start at `at` really starts and ends.
#[inline]
pub(crate) fn locate(data: &[u8], at: usize, attr: &Attr) -> Result<Range<usize>> {
    let align = (attr.align as usize).max(1);
    let aligned = (at + align - 1) & !(align - 1);
    let range = match attr.len {
        -1 => {
            // A non-zero byte cannot be padding: it is a short or external header.
            let start = match data.get(at) {
                Some(0) => aligned,
                Some(b) if b & 1 == 1 => at,
                _ => aligned,
            };
            let rest = data.get(start..).ok_or_else(truncated)?;
            start..start + varlena_size(rest)?.1
        }
        -2 => {
            let rest = data.get(at..).ok_or_else(truncated)?;
            at..at + memchr::memchr(0, rest).ok_or_else(truncated)? + 1
        }
        n => aligned..aligned + n.max(0) as usize,
    };
    if range.end > data.len() { Err(truncated()) } else { Ok(range) }
}

/// The value in `bytes`, which is exactly its on-disk form.
#[inline]
pub(crate) fn decode(bytes: &[u8], attr: &Attr, fetcher: &dyn Detoast) -> Result<Datum> {
    Ok(match attr.phys {
        PhysType::Bytes => Datum::Bytes(match attr.len {
            -1 if bytes[0] & 1 == 1 && bytes[0] != 1 => Blob::new(&bytes[1..]),
            -1 => detoast(bytes, fetcher)?,
            -2 => Blob::new(&bytes[..bytes.len() - 1]),
            64 if attr.type_oid == crate::oid::NAME => Blob::new(trim_name(bytes)),
            _ => Blob::new(bytes),
        }),
        PhysType::Bool => Datum::Bool(bytes[0] != 0),
        PhysType::Char => Datum::Char(bytes[0]),
        PhysType::I16 => Datum::I16(i16::from_le_bytes(fixed(bytes)?)),
        PhysType::I32 => Datum::I32(i32::from_le_bytes(fixed(bytes)?)),
        PhysType::I64 => Datum::I64(i64::from_le_bytes(fixed(bytes)?)),
        PhysType::U32 => Datum::U32(u32::from_le_bytes(fixed(bytes)?)),
        PhysType::F32 => Datum::F32(f32::from_le_bytes(fixed(bytes)?)),
        PhysType::F64 => Datum::F64(f64::from_le_bytes(fixed(bytes)?)),
    })
}

fn trim_name(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]
}

#[inline]
fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes.try_into().map_err(|_| truncated())
}

/// The integer of `attr` that may start at `at`, and where it ends; None if it is something else.
#[inline]
fn integer(data: &[u8], at: usize, attr: &Attr) -> Option<(Datum, usize)> {
    match (attr.phys, attr.align) {
        (PhysType::I32, 4) => {
            let (bytes, end) = word::<4>(data, at)?;
            Some((Datum::I32(i32::from_le_bytes(bytes)), end))
        }
        (PhysType::I64, 8) => {
            let (bytes, end) = word::<8>(data, at)?;
            Some((Datum::I64(i64::from_le_bytes(bytes)), end))
        }
        _ => None,
    }
}

/// The `N` bytes that begin at the next multiple of `N`, and where they end.
#[inline]
fn word<const N: usize>(data: &[u8], at: usize) -> Option<([u8; N], usize)> {
    let start = at.next_multiple_of(N);
    let bytes = data.get(start..)?.first_chunk::<N>()?;
    Some((*bytes, start + N))
}

/// Gets the first `out.len()` values of a row that has `natts` of them; columns added after the row
/// was written get their missing value or NULL.
pub fn deform(
    desc: &TupleDesc,
    data: &[u8],
    nulls: Option<&[u8]>,
    natts: usize,
    out: &mut [Datum],
    fetcher: &dyn Detoast,
) -> Result<()> {
    let mut at = 0;
    for (i, (attr, slot)) in desc.attrs.iter().zip(out.iter_mut()).enumerate() {
        if i >= natts {
            *slot = attr.missing.clone().unwrap_or_default();
        } else if is_null(nulls, i) {
            *slot = Datum::Null;
        } else if !attr.dropped
            && let Some((value, end)) = integer(data, at, attr)
        {
            *slot = value;
            at = end;
        } else {
            let range = locate(data, at, attr)?;
            at = range.end;
            *slot = if attr.dropped { Datum::Null } else { decode(&data[range], attr, fetcher)? };
        }
    }
    Ok(())
}

/// Where each of the first `out.len()` values of a row lies, header included; None for NULL and for
/// columns that the row does not have.
pub fn attr_ranges(
    desc: &TupleDesc,
    data: &[u8],
    nulls: Option<&[u8]>,
    natts: usize,
    out: &mut [Option<Range<usize>>],
) -> Result<()> {
    let mut at = 0;
    for (i, (attr, slot)) in desc.attrs.iter().zip(out.iter_mut()).enumerate() {
        *slot = None;
        if i < natts && !is_null(nulls, i) {
            let range = locate(data, at, attr)?;
            at = range.end;
            *slot = Some(range);
        }
    }
    Ok(())
}

/// Appends a row's values to the builders of the needed columns: `needed` lists positions in the
/// row, ascending, and `builders` has one builder for each.
pub fn deform_into(
    desc: &TupleDesc,
    data: &[u8],
    nulls: Option<&[u8]>,
    natts: usize,
    needed: &[usize],
    builders: &mut [ColumnBuilder],
    fetcher: &dyn Detoast,
) -> Result<()> {
    let Some(&last) = needed.last() else { return Ok(()) };
    let (mut at, mut next) = (0, 0);
    for (i, attr) in desc.attrs.iter().enumerate().take(last + 1) {
        let wanted = needed[next] == i;
        if i >= natts {
            if wanted {
                match &attr.missing {
                    Some(value) => builders[next].push_ref(value),
                    None => builders[next].push_null(),
                }
            }
        } else if is_null(nulls, i) {
            if wanted {
                builders[next].push_null();
            }
        } else {
            let range = locate(data, at, attr)?;
            at = range.end;
            if wanted {
                push(&mut builders[next], &data[range], attr, fetcher)?;
            }
        }
        next += wanted as usize;
    }
    Ok(())
}

#[inline]
fn push(
    builder: &mut ColumnBuilder,
    bytes: &[u8],
    attr: &Attr,
    fetcher: &dyn Detoast,
) -> Result<()> {
    if attr.dropped {
        builder.push_null();
        return Ok(());
    }
    match attr.phys {
        PhysType::I32 => builder.push_i32(i32::from_le_bytes(fixed(bytes)?)),
        PhysType::I64 => builder.push_i64(i64::from_le_bytes(fixed(bytes)?)),
        PhysType::Bytes => match attr.len {
            -1 => match varlena_size(bytes)? {
                (VarlenaKind::Short, size) => builder.push_bytes(&bytes[1..size]),
                (VarlenaKind::Long, size) => builder.push_bytes(&bytes[4..size]),
                _ => builder.push_bytes(&detoast(bytes, fetcher)?),
            },
            -2 => builder.push_bytes(&bytes[..bytes.len() - 1]),
            64 if attr.type_oid == crate::oid::NAME => builder.push_bytes(trim_name(bytes)),
            _ => builder.push_bytes(bytes),
        },
        _ => builder.push(decode(bytes, attr, fetcher)?),
    }
    Ok(())
}
