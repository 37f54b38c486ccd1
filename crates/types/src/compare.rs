//! Order of two values of a type, for the places that have no function at hand: arrays, rows,
//! ranges, sorting in the catalog. Text compares by bytes.

use crate::array::{ArrayRef, ElemType};
use crate::datetime::Interval;
use crate::datum::Datum;
use crate::io::{TypeInfo, TypeLookup};
use crate::net::Inet;
use crate::range::{Range, decode_multirange};
use crate::record::Record;
use crate::{json, numeric, oid};
use base::{Oid, Result, bail, err};
use std::cmp::Ordering;

/// Order of doubles: NaN is equal to itself and above all others.
#[inline]
pub fn compare_f64(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Order of char(n) values: trailing blanks do not count.
pub fn compare_bpchar(a: &[u8], b: &[u8]) -> Ordering {
    trim_blanks(a).cmp(trim_blanks(b))
}

/// Bytes without trailing blanks.
pub fn trim_blanks(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| *b != b' ').map_or(0, |p| p + 1);
    &bytes[..end]
}

/// Order of two values of a type; NULLs are equal and last.
pub fn compare(type_oid: Oid, a: &Datum, b: &Datum, lookup: &dyn TypeLookup) -> Result<Ordering> {
    Ok(match (a, b) {
        (Datum::Null, Datum::Null) => Ordering::Equal,
        (Datum::Null, _) => Ordering::Greater,
        (_, Datum::Null) => Ordering::Less,
        (Datum::Bool(x), Datum::Bool(y)) => x.cmp(y),
        (Datum::Char(x), Datum::Char(y)) => x.cmp(y),
        (Datum::I16(x), Datum::I16(y)) => x.cmp(y),
        (Datum::I32(x), Datum::I32(y)) => x.cmp(y),
        (Datum::I64(x), Datum::I64(y)) if matches!(type_oid, oid::PG_LSN | oid::XID8) => {
            (*x as u64).cmp(&(*y as u64))
        }
        (Datum::I64(x), Datum::I64(y)) => x.cmp(y),
        // Labels that came with an enum type have even OIDs, which sort as the labels do.
        (Datum::U32(x), Datum::U32(y)) if x == y || x % 2 == 0 && y % 2 == 0 => x.cmp(y),
        (Datum::U32(x), Datum::U32(y)) => {
            let rank = |v: u32| lookup.enum_rank(type_oid, Oid(v));
            rank(*x).cmp(&rank(*y)).then(x.cmp(y))
        }
        (Datum::F32(x), Datum::F32(y)) => compare_f64(*x as f64, *y as f64),
        (Datum::F64(x), Datum::F64(y)) => compare_f64(*x, *y),
        (Datum::Bytes(x), Datum::Bytes(y)) => compare_bytes(type_oid, x, y, lookup)?,
        _ => bail!(INTERNAL_ERROR, "cannot compare values of different types"),
    })
}

fn compare_bytes(type_oid: Oid, a: &[u8], b: &[u8], lookup: &dyn TypeLookup) -> Result<Ordering> {
    Ok(match type_oid {
        oid::TEXT
        | oid::VARCHAR
        | oid::NAME
        | oid::BYTEA
        | oid::UUID
        | oid::MACADDR
        | oid::MACADDR8
        | oid::ACLITEM
        | oid::CSTRING => a.cmp(b),
        oid::BPCHAR => compare_bpchar(a, b),
        oid::NUMERIC => numeric::compare(a, b),
        oid::INTERVAL => Interval::decode(a).compare(&Interval::decode(b)),
        oid::TIMETZ => compare_timetz(a, b),
        oid::TID => tid(a).cmp(&tid(b)),
        oid::INET | oid::CIDR => Inet::decode(a).compare(&Inet::decode(b)),
        oid::JSONB => json::decode(a).compare(&json::decode(b)),
        oid::BIT | oid::VARBIT => crate::bits::bit_bytes(a)
            .cmp(crate::bits::bit_bytes(b))
            .then(crate::bits::bit_len(a).cmp(&crate::bits::bit_len(b))),
        oid::RECORD => compare_records(a, b, lookup)?,
        oid::OIDVECTOR | oid::INT2VECTOR => compare_arrays(a, b, lookup)?,
        _ => {
            let info = lookup
                .type_info(type_oid)
                .ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {type_oid} does not exist"))?;
            compare_by_kind(&info, a, b, lookup)?
        }
    })
}

fn compare_by_kind(
    info: &TypeInfo,
    a: &[u8],
    b: &[u8],
    lookup: &dyn TypeLookup,
) -> Result<Ordering> {
    match info.typtype {
        b'd' => compare_bytes(info.base, a, b, lookup),
        b'c' => compare_records(a, b, lookup),
        b'r' => {
            let sub = subtype(info.base, lookup)?;
            let (x, y) = (Range::decode(a, sub.phys)?, Range::decode(b, sub.phys)?);
            compare_ranges(&x, &y, info.base, lookup)
        }
        b'm' => {
            let range = subtype(info.base, lookup)?;
            let sub = subtype(range.base, lookup)?;
            let (x, y) = (decode_multirange(a, sub.phys)?, decode_multirange(b, sub.phys)?);
            for (r, s) in x.iter().zip(&y) {
                let order = compare_ranges(r, s, range.base, lookup)?;
                if order.is_ne() {
                    return Ok(order);
                }
            }
            Ok(x.len().cmp(&y.len()))
        }
        _ if info.elem.is_valid() => compare_arrays(a, b, lookup),
        _ => bail!(
            UNDEFINED_FUNCTION,
            "could not identify a comparison function for type {}",
            info.name
        ),
    }
}

fn subtype(oid: Oid, lookup: &dyn TypeLookup) -> Result<std::sync::Arc<TypeInfo>> {
    lookup
        .type_info(oid)
        .ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {oid} does not exist"))
}

fn tid(bytes: &[u8]) -> (u32, u16) {
    match bytes {
        [a, b, c, d, e, f, ..] => {
            (u32::from_le_bytes([*a, *b, *c, *d]), u16::from_le_bytes([*e, *f]))
        }
        _ => (0, 0),
    }
}

/// Time of day and seconds *west* of UTC of a stored timetz.
pub fn timetz_parts(bytes: &[u8]) -> (i64, i32) {
    match bytes.first_chunk::<12>() {
        Some(&[a, b, c, d, e, f, g, h, i, j, k, l]) => {
            (i64::from_le_bytes([a, b, c, d, e, f, g, h]), i32::from_le_bytes([i, j, k, l]))
        }
        None => (0, 0),
    }
}

/// Order of stored timetz values: by instant, then by zone.
pub fn compare_timetz(a: &[u8], b: &[u8]) -> Ordering {
    let ((t1, z1), (t2, z2)) = (timetz_parts(a), timetz_parts(b));
    let instant = |t: i64, z: i32| t + z as i64 * 1_000_000;
    instant(t1, z1).cmp(&instant(t2, z2)).then(z1.cmp(&z2))
}

/// Order of two stored arrays: element by element, then length, dimensions, bounds.
pub fn compare_arrays(a: &[u8], b: &[u8], lookup: &dyn TypeLookup) -> Result<Ordering> {
    let (x, y) = (ArrayRef::parse(a)?, ArrayRef::parse(b)?);
    if x.elem_type != y.elem_type {
        bail!(DATATYPE_MISMATCH, "cannot compare arrays of different element types");
    }
    let elem = match lookup.type_info(x.elem_type) {
        Some(info) => ElemType::new(&info),
        None => ElemType::builtin(x.elem_type),
    };
    let mut right = y.iter(&elem);
    for left in x.iter(&elem) {
        let Some(other) = right.next() else { return Ok(Ordering::Greater) };
        let order = compare(x.elem_type, &left?, &other?, lookup)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    if right.next().is_some() {
        return Ok(Ordering::Less);
    }
    Ok(x.dims
        .len()
        .cmp(&y.dims.len())
        .then_with(|| x.dims.cmp(&y.dims))
        .then_with(|| x.lbounds.cmp(&y.lbounds)))
}

fn compare_records(a: &[u8], b: &[u8], lookup: &dyn TypeLookup) -> Result<Ordering> {
    let (x, y) = (Record::decode(a)?, Record::decode(b)?);
    for (i, (left, right)) in x.columns.iter().zip(&y.columns).enumerate() {
        if left.type_oid != right.type_oid {
            let name = |oid| lookup.reg_out(crate::oid::REGTYPE, oid).unwrap_or_default();
            bail!(
                DATATYPE_MISMATCH,
                "cannot compare dissimilar column types {} and {} at record column {}",
                name(left.type_oid),
                name(right.type_oid),
                i + 1
            );
        }
        let order = compare(left.type_oid, &left.value, &right.value, lookup)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    if x.columns.len() != y.columns.len() {
        bail!(DATATYPE_MISMATCH, "cannot compare record types with different numbers of columns");
    }
    Ok(Ordering::Equal)
}

/// A range's bound.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The value, NULL if infinite.
    pub value: &'a Datum,
    /// There is no bound.
    pub infinite: bool,
    /// The value is in the range.
    pub inclusive: bool,
    /// It is the lower bound.
    pub lower: bool,
}

impl Range {
    /// The lower bound.
    pub fn lower_bound(&self) -> Bound<'_> {
        Bound {
            value: &self.lower,
            infinite: self.lower_infinite(),
            inclusive: self.lower_inclusive(),
            lower: true,
        }
    }

    /// The upper bound.
    pub fn upper_bound(&self) -> Bound<'_> {
        Bound {
            value: &self.upper,
            infinite: self.upper_infinite(),
            inclusive: self.upper_inclusive(),
            lower: false,
        }
    }
}

/// Order of two bounds on the line of values.
pub fn compare_bounds(a: Bound, b: Bound, sub: Oid, lookup: &dyn TypeLookup) -> Result<Ordering> {
    let side = |x: Bound| if x.lower { Ordering::Less } else { Ordering::Greater };
    match (a.infinite, b.infinite) {
        (true, true) => return Ok(if a.lower == b.lower { Ordering::Equal } else { side(a) }),
        (true, false) => return Ok(side(a)),
        (false, true) => return Ok(side(b).reverse()),
        _ => {}
    }
    let order = compare(sub, a.value, b.value, lookup)?;
    if order.is_ne() {
        return Ok(order);
    }
    Ok(match (a.inclusive, b.inclusive) {
        (true, true) => Ordering::Equal,
        (false, false) if a.lower == b.lower => Ordering::Equal,
        (false, false) => side(a).reverse(),
        (false, true) => side(a).reverse(),
        (true, false) => side(b),
    })
}

/// Order of two ranges: the empty one first, then by lower, then by upper bound.
pub fn compare_ranges(a: &Range, b: &Range, sub: Oid, lookup: &dyn TypeLookup) -> Result<Ordering> {
    if a.is_empty() || b.is_empty() {
        return Ok(b.is_empty().cmp(&a.is_empty()));
    }
    let order = compare_bounds(a.lower_bound(), b.lower_bound(), sub, lookup)?;
    if order.is_ne() {
        return Ok(order);
    }
    compare_bounds(a.upper_bound(), b.upper_bound(), sub, lookup)
}

/// Checks a range's bounds and brings it to its canonical form: discrete ranges are `[a,b)`.
pub fn canonical(mut range: Range, sub: Oid, lookup: &dyn TypeLookup) -> Result<Range> {
    if range.is_empty() {
        return Ok(Range::empty(range.type_oid));
    }
    if !range.lower_infinite() && !range.upper_infinite() {
        let order = compare(sub, &range.lower, &range.upper, lookup)?;
        if order.is_gt() {
            bail!(
                DATA_EXCEPTION,
                "range lower bound must be less than or equal to range upper bound"
            );
        }
        if order.is_eq() && !(range.lower_inclusive() && range.upper_inclusive()) {
            return Ok(Range::empty(range.type_oid));
        }
    }
    let next = |value: &Datum| -> Result<Option<Datum>> {
        Ok(Some(match (range.type_oid, value) {
            (oid::INT4RANGE, Datum::I32(n)) => Datum::I32(
                n.checked_add(1)
                    .ok_or_else(|| err!(NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))?,
            ),
            (oid::INT8RANGE, Datum::I64(n)) => Datum::I64(
                n.checked_add(1)
                    .ok_or_else(|| err!(NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range"))?,
            ),
            (oid::DATERANGE, Datum::I32(n)) if *n == i32::MAX || *n == i32::MIN => return Ok(None),
            (oid::DATERANGE, Datum::I32(n)) => {
                let next = n + 1;
                if next >= crate::datetime::END_DATE {
                    bail!(DATETIME_FIELD_OVERFLOW, "date out of range");
                }
                Datum::I32(next)
            }
            _ => return Ok(None),
        }))
    };
    use crate::range::{LB_INC, UB_INC};
    if !range.lower_infinite()
        && !range.lower_inclusive()
        && let Some(value) = next(&range.lower)?
    {
        range.lower = value;
        range.flags |= LB_INC;
    }
    if !range.upper_infinite()
        && range.upper_inclusive()
        && let Some(value) = next(&range.upper)?
    {
        range.upper = value;
        range.flags &= !UB_INC;
    }
    let both = !range.lower_infinite() && !range.upper_infinite();
    if both
        && compare(sub, &range.lower, &range.upper, lookup)?.is_eq()
        && !(range.lower_inclusive() && range.upper_inclusive())
    {
        return Ok(Range::empty(range.type_oid));
    }
    Ok(range)
}

/// Sorts ranges and merges those that touch: a multirange's canonical form.
pub fn normalize(ranges: Vec<Range>, sub: Oid, lookup: &dyn TypeLookup) -> Result<Vec<Range>> {
    let mut sorted: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges.into_iter().filter(|r| !r.is_empty()) {
        let mut at = sorted.len();
        while at > 0 && compare_ranges(&sorted[at - 1], &range, sub, lookup)?.is_gt() {
            at -= 1;
        }
        sorted.insert(at, range);
    }
    let mut out: Vec<Range> = Vec::with_capacity(sorted.len());
    for range in sorted {
        if let Some(last) = out.last_mut()
            && touches(last, &range, sub, lookup)?
        {
            if compare_bounds(last.upper_bound(), range.upper_bound(), sub, lookup)?.is_lt() {
                use crate::range::{UB_INC, UB_INF};
                last.flags = last.flags & !(UB_INC | UB_INF) | range.flags & (UB_INC | UB_INF);
                last.upper = range.upper;
            }
            continue;
        }
        out.push(range);
    }
    Ok(out)
}

/// Whether `next`, which does not start before `first`, overlaps it or is adjacent to it.
fn touches(first: &Range, next: &Range, sub: Oid, lookup: &dyn TypeLookup) -> Result<bool> {
    if first.upper_infinite() || next.lower_infinite() {
        return Ok(true);
    }
    Ok(match compare(sub, &next.lower, &first.upper, lookup)? {
        Ordering::Less => true,
        Ordering::Equal => first.upper_inclusive() || next.lower_inclusive(),
        Ordering::Greater => false,
    })
}

/// What comparison functions of bytes give: the difference of the first bytes that differ, as the
/// C library does, or which of them is longer.
pub fn byte_difference(a: &[u8], b: &[u8]) -> i32 {
    match a.iter().zip(b).find(|(x, y)| x != y) {
        Some((x, y)) => i32::from(*x) - i32::from(*y),
        None => a.len().cmp(&b.len()) as i32,
    }
}

/// The same of names, which end with a zero byte.
pub fn name_difference(a: &[u8], b: &[u8]) -> i32 {
    let n = a.len().min(b.len());
    match a[..n] == b[..n] {
        true => {
            let next = |s: &[u8]| s.get(n).map_or(0, |c| i32::from(*c));
            next(a) - next(b)
        }
        false => byte_difference(a, b),
    }
}
