//! Integers: comparison, arithmetic with overflow checks, bits, casts.

use crate::call::FnDef;
use base::{Error, err};
use types::Datum;

#[cold]
pub(crate) fn int2_range() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "smallint out of range")
}

#[cold]
pub(crate) fn int4_range() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")
}

#[cold]
pub(crate) fn int8_range() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")
}

#[cold]
pub(crate) fn oid_range() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range")
}

#[cold]
pub(crate) fn division_by_zero() -> Error {
    err!(DIVISION_BY_ZERO, "division by zero")
}

macro_rules! compare {
    ($a:ty, $b:ty, $w:ty; $eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident
     $cmp:ident) => {
        &[
            total!($eq(a: $a, b: $b) -> bool { a as $w == b as $w }),
            total!($ne(a: $a, b: $b) -> bool { a as $w != b as $w }),
            total!($lt(a: $a, b: $b) -> bool { (a as $w) < b as $w }),
            total!($le(a: $a, b: $b) -> bool { a as $w <= b as $w }),
            total!($gt(a: $a, b: $b) -> bool { a as $w > b as $w }),
            total!($ge(a: $a, b: $b) -> bool { a as $w >= b as $w }),
            total!($cmp(a: $a, b: $b) -> i32 { order(a as i64, b as i64, size_of::<$w>()) }),
        ]
    };
}

macro_rules! arithmetic {
    ($a:ty, $b:ty, $w:ty, $range:path; $pl:ident $mi:ident $mul:ident $div:ident) => {
        &[
            checked!($pl(a: $a, b: $b) -> $w { (a as $w).checked_add(b as $w).ok_or_else($range) }),
            checked!($mi(a: $a, b: $b) -> $w { (a as $w).checked_sub(b as $w).ok_or_else($range) }),
            checked!($mul(a: $a, b: $b) -> $w {
                (a as $w).checked_mul(b as $w).ok_or_else($range)
            }),
            checked!($div(a: $a, b: $b) -> $w {
                if b == 0 {
                    return Err(division_by_zero());
                }
                (a as $w).checked_div(b as $w).ok_or_else($range)
            }),
        ]
    };
}

macro_rules! own {
    ($t:ty, $range:path; $mod:ident $um:ident $up:ident $abs:ident $and:ident $or:ident $xor:ident
     $not:ident $shl:ident $shr:ident $larger:ident $smaller:ident) => {
        &[
            checked!($mod(a: $t, b: $t) -> $t {
                if b == 0 {
                    return Err(division_by_zero());
                }
                Ok(a.wrapping_rem(b))
            }),
            checked!($um(a: $t) -> $t { a.checked_neg().ok_or_else($range) }),
            total!($up(a: $t) -> $t { a }),
            checked!($abs(a: $t) -> $t { a.checked_abs().ok_or_else($range) }),
            total!($and(a: $t, b: $t) -> $t { a & b }),
            total!($or(a: $t, b: $t) -> $t { a | b }),
            total!($xor(a: $t, b: $t) -> $t { a ^ b }),
            total!($not(a: $t) -> $t { !a }),
            total!($shl(a: $t, b: i32) -> $t { shift_left(a as i64, b, size_of::<$t>()) as $t }),
            total!($shr(a: $t, b: i32) -> $t {
                let bits = 8 * size_of::<$t>() as i32;
                a >> (b & (bits.max(32) - 1)).min(bits - 1)
            }),
            total!($larger(a: $t, b: $t) -> $t { a.max(b) }),
            total!($smaller(a: $t, b: $t) -> $t { a.min(b) }),
        ]
    };
}

/// PostgreSQL's comparison of small types answers their difference.
#[inline(always)]
fn order(a: i64, b: i64, bytes: usize) -> i32 {
    if bytes < 4 { (a - b) as i32 } else { a.cmp(&b) as i32 }
}

/// C's shift on the machine: the count is taken modulo the register's width, 32 or 64.
fn shift_left(a: i64, count: i32, bytes: usize) -> i64 {
    if bytes == 8 { a << (count & 63) } else { ((a as i32) << (count & 31)) as i64 }
}

const INT2: &[FnDef] = compare!(i16, i16, i16; int2eq int2ne int2lt int2le int2gt int2ge btint2cmp);
const INT4: &[FnDef] = compare!(i32, i32, i32; int4eq int4ne int4lt int4le int4gt int4ge btint4cmp);
const INT8: &[FnDef] = compare!(i64, i64, i64; int8eq int8ne int8lt int8le int8gt int8ge btint8cmp);
const INT24: &[FnDef] =
    compare!(i16, i32, i32; int24eq int24ne int24lt int24le int24gt int24ge btint24cmp);
const INT42: &[FnDef] =
    compare!(i32, i16, i32; int42eq int42ne int42lt int42le int42gt int42ge btint42cmp);
const INT28: &[FnDef] =
    compare!(i16, i64, i64; int28eq int28ne int28lt int28le int28gt int28ge btint28cmp);
const INT82: &[FnDef] =
    compare!(i64, i16, i64; int82eq int82ne int82lt int82le int82gt int82ge btint82cmp);
const INT48: &[FnDef] =
    compare!(i32, i64, i64; int48eq int48ne int48lt int48le int48gt int48ge btint48cmp);
const INT84: &[FnDef] =
    compare!(i64, i32, i64; int84eq int84ne int84lt int84le int84gt int84ge btint84cmp);
const OID: &[FnDef] = compare!(u32, u32, u32; oideq oidne oidlt oidle oidgt oidge btoidcmp);
const CHAR: &[FnDef] = compare!(u8, u8, u8; chareq charne charlt charle chargt charge btcharcmp);

const A2: &[FnDef] = arithmetic!(i16, i16, i16, int2_range; int2pl int2mi int2mul int2div);
const A4: &[FnDef] = arithmetic!(i32, i32, i32, int4_range; int4pl int4mi int4mul int4div);
const A8: &[FnDef] = arithmetic!(i64, i64, i64, int8_range; int8pl int8mi int8mul int8div);
const A24: &[FnDef] = arithmetic!(i16, i32, i32, int4_range; int24pl int24mi int24mul int24div);
const A42: &[FnDef] = arithmetic!(i32, i16, i32, int4_range; int42pl int42mi int42mul int42div);
const A28: &[FnDef] = arithmetic!(i16, i64, i64, int8_range; int28pl int28mi int28mul int28div);
const A82: &[FnDef] = arithmetic!(i64, i16, i64, int8_range; int82pl int82mi int82mul int82div);
const A48: &[FnDef] = arithmetic!(i32, i64, i64, int8_range; int48pl int48mi int48mul int48div);
const A84: &[FnDef] = arithmetic!(i64, i32, i64, int8_range; int84pl int84mi int84mul int84div);

const O2: &[FnDef] = own!(i16, int2_range; int2mod int2um int2up int2abs int2and int2or int2xor
    int2not int2shl int2shr int2larger int2smaller);
const O4: &[FnDef] = own!(i32, int4_range; int4mod int4um int4up int4abs int4and int4or int4xor
    int4not int4shl int4shr int4larger int4smaller);
const O8: &[FnDef] = own!(i64, int8_range; int8mod int8um int8up int8abs int8and int8or int8xor
    int8not int8shl int8shr int8larger int8smaller);

const CASTS: &[FnDef] = &[
    total!(i2toi4(a: i16) -> i32 { a as i32 }),
    checked!(i4toi2(a: i32) -> i16 { i16::try_from(a).map_err(|_| int2_range()) }),
    total!(int48(a: i32) -> i64 { a as i64 }),
    checked!(int84(a: i64) -> i32 { i32::try_from(a).map_err(|_| int4_range()) }),
    total!(int28(a: i16) -> i64 { a as i64 }),
    checked!(int82(a: i64) -> i16 { i16::try_from(a).map_err(|_| int2_range()) }),
    checked!(i8tooid(a: i64) -> u32 { u32::try_from(a).map_err(|_| oid_range()) }),
    total!(oidtoi8(a: u32) -> i64 { a as i64 }),
    total!(chartoi4(a: u8) -> i32 { a as i8 as i32 }),
    checked!(i4tochar(a: i32) -> u8 {
        i8::try_from(a)
            .map(|c| c as u8)
            .map_err(|_| err!(NUMERIC_VALUE_OUT_OF_RANGE, "\"char\" out of range"))
    }),
    checked!(int4inc(a: i32) -> i32 { a.checked_add(1).ok_or_else(int4_range) }),
    checked!(int8inc(a: i64) -> i64 { a.checked_add(1).ok_or_else(int8_range) }),
    checked!(int8dec(a: i64) -> i64 { a.checked_sub(1).ok_or_else(int8_range) }),
    row!(int8inc_any(a: i64, _b: &types::Datum) { a.checked_add(1).ok_or_else(int8_range) }),
    row!(int8inc_float8_float8(a: i64, _b: f64, _c: f64) {
        a.checked_add(1).ok_or_else(int8_range)
    }),
    row!(int8dec_any(a: i64, _b: &types::Datum) { a.checked_sub(1).ok_or_else(int8_range) }),
    total!(oidlarger(a: u32, b: u32) -> u32 { a.max(b) }),
    total!(oidsmaller(a: u32, b: u32) -> u32 { a.min(b) }),
    checked!(int4gcd(a: i32, b: i32) -> i32 {
        i32::try_from(gcd(a as i64, b as i64)).map_err(|_| int4_range())
    }),
    checked!(int8gcd(a: i64, b: i64) -> i64 {
        i64::try_from(gcd_wide(a as i128, b as i128)).map_err(|_| int8_range())
    }),
    checked!(int4lcm(a: i32, b: i32) -> i32 {
        i32::try_from(lcm(a as i128, b as i128)).map_err(|_| int4_range())
    }),
    checked!(int8lcm(a: i64, b: i64) -> i64 {
        i64::try_from(lcm(a as i128, b as i128)).map_err(|_| int8_range())
    }),
    row!(in_range_int4_int8(v: i32, base: i32, offset: i64, sub: bool, less: bool) {
        in_range(v as i128, base as i128, offset as i128, sub, less)
    }),
    row!(in_range_int4_int4(v: i32, base: i32, offset: i32, sub: bool, less: bool) {
        in_range(v as i128, base as i128, offset as i128, sub, less)
    }),
    row!(in_range_int4_int2(v: i32, base: i32, offset: i16, sub: bool, less: bool) {
        in_range(v as i128, base as i128, offset as i128, sub, less)
    }),
    row!(in_range_int2_int8(v: i16, base: i16, offset: i64, sub: bool, less: bool) {
        in_range(v as i128, base as i128, offset as i128, sub, less)
    }),
    row!(in_range_int2_int4(v: i16, base: i16, offset: i32, sub: bool, less: bool) {
        in_range(v as i128, base as i128, offset as i128, sub, less)
    }),
    row!(in_range_int2_int2(v: i16, base: i16, offset: i16, sub: bool, less: bool) {
        in_range(v as i128, base as i128, offset as i128, sub, less)
    }),
    row!(in_range_int8_int8(v: i64, base: i64, offset: i64, sub: bool, less: bool) {
        in_range(v as i128, base as i128, offset as i128, sub, less)
    }),
    row!(to_hex32(a: i32) { format!("{a:x}") }),
    row!(to_hex64(a: i64) { format!("{a:x}") }),
    row!(to_oct32(a: i32) { format!("{a:o}") }),
    row!(to_oct64(a: i64) { format!("{a:o}") }),
    row!(to_bin32(a: i32) { format!("{a:b}") }),
    row!(to_bin64(a: i64) { format!("{a:b}") }),
];

/// A transaction id, or an integer that it is compared with: one body serves both.
fn xid_bits(d: &Datum) -> u32 {
    match d {
        Datum::I32(n) => *n as u32,
        other => other.as_oid().0,
    }
}

const XIDS: &[FnDef] = &[
    row!(xideq(a: &Datum, b: &Datum) { xid_bits(a) == xid_bits(b) }),
    row!(xidneq(a: &Datum, b: &Datum) { xid_bits(a) != xid_bits(b) }),
    total!(cideq(a: u32, b: u32) -> bool { a == b }),
    total!(xid8eq(a: i64, b: i64) -> bool { a == b }),
    total!(xid8ne(a: i64, b: i64) -> bool { a != b }),
    total!(xid8lt(a: i64, b: i64) -> bool { (a as u64) < b as u64 }),
    total!(xid8le(a: i64, b: i64) -> bool { a as u64 <= b as u64 }),
    total!(xid8gt(a: i64, b: i64) -> bool { a as u64 > b as u64 }),
    total!(xid8ge(a: i64, b: i64) -> bool { a as u64 >= b as u64 }),
    total!(xid8cmp(a: i64, b: i64) -> i32 { (a as u64).cmp(&(b as u64)) as i32 }),
    total!(xid8_larger(a: i64, b: i64) -> i64 { (a as u64).max(b as u64) as i64 }),
    total!(xid8_smaller(a: i64, b: i64) -> i64 { (a as u64).min(b as u64) as i64 }),
    total!(xid8toxid(a: i64) -> u32 { a as u32 }),
    total!(pg_lsn_eq(a: i64, b: i64) -> bool { a == b }),
    total!(pg_lsn_ne(a: i64, b: i64) -> bool { a != b }),
    total!(pg_lsn_lt(a: i64, b: i64) -> bool { (a as u64) < b as u64 }),
    total!(pg_lsn_le(a: i64, b: i64) -> bool { a as u64 <= b as u64 }),
    total!(pg_lsn_gt(a: i64, b: i64) -> bool { a as u64 > b as u64 }),
    total!(pg_lsn_ge(a: i64, b: i64) -> bool { a as u64 >= b as u64 }),
    total!(pg_lsn_cmp(a: i64, b: i64) -> i32 { (a as u64).cmp(&(b as u64)) as i32 }),
    total!(pg_lsn_larger(a: i64, b: i64) -> i64 { (a as u64).max(b as u64) as i64 }),
    total!(pg_lsn_smaller(a: i64, b: i64) -> i64 { (a as u64).min(b as u64) as i64 }),
];

fn gcd(a: i64, b: i64) -> i64 {
    gcd_wide(a as i128, b as i128) as i64
}

fn gcd_wide(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn lcm(a: i128, b: i128) -> i128 {
    if a == 0 || b == 0 { 0 } else { (a / gcd_wide(a, b) * b).abs() }
}

/// Whether `v` is at most (`less`) or at least `base` plus or minus `offset`.
fn in_range(v: i128, base: i128, offset: i128, sub: bool, less: bool) -> base::Result<bool> {
    if offset < 0 {
        return Err(negative_offset());
    }
    let bound = if sub { base - offset } else { base + offset };
    Ok(if less { v <= bound } else { v >= bound })
}

#[cold]
pub(crate) fn negative_offset() -> Error {
    err!(
        INVALID_PRECEDING_OR_FOLLOWING_SIZE,
        "invalid preceding or following size in window function"
    )
}

/// All bodies of this file.
pub(super) const FNS: &[&[FnDef]] = &[
    INT2, INT4, INT8, INT24, INT42, INT28, INT82, INT48, INT84, OID, CHAR, A2, A4, A8, A24, A42,
    A28, A82, A48, A84, O2, O4, O8, CASTS, XIDS,
];
