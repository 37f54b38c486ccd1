//! Small types: enums, rows, tuple ids, uuids, money, log positions, access privileges.

use crate::call::{FnCtx, FnDef};
use base::{Error, Oid, Result, bail, err};
use std::cmp::Ordering;
use types::acl::AclItem;
use types::array::{ElemType, make_vector};
use types::compare::compare;
use types::record::Record;
use types::{Datum, oid};

#[cold]
fn money_range() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "money out of range")
}

fn cash_scale(cents: i64, factor: f64, divide: bool) -> Result<i64> {
    if divide && factor == 0.0 {
        return Err(super::int::division_by_zero());
    }
    let value = if divide { cents as f64 / factor } else { cents as f64 * factor };
    let value = value.round_ties_even();
    if value.is_infinite() && factor.is_finite() {
        return Err(super::float::overflow());
    }
    if value.is_nan() || !(-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&value) {
        return Err(money_range());
    }
    Ok(value as i64)
}

fn cash_div(cents: i64, n: i64) -> Result<i64> {
    if n == 0 {
        return Err(super::int::division_by_zero());
    }
    cents.checked_div(n).ok_or_else(money_range)
}

/// A list of rights: one dimension, of which an empty array has none.
pub(crate) fn acl_list(list: &Datum) -> Result<types::array::ArrayRef<'_>> {
    let array = types::array::ArrayRef::parse(list.as_bytes())?;
    match array.dims.len() {
        1 => Ok(array),
        _ => bail!(INVALID_PARAMETER_VALUE, "ACL arrays must be one-dimensional"),
    }
}

const MONEY: &[FnDef] = &[
    total!(cash_eq(a: i64, b: i64) -> bool { a == b }),
    total!(cash_ne(a: i64, b: i64) -> bool { a != b }),
    total!(cash_lt(a: i64, b: i64) -> bool { a < b }),
    total!(cash_le(a: i64, b: i64) -> bool { a <= b }),
    total!(cash_gt(a: i64, b: i64) -> bool { a > b }),
    total!(cash_ge(a: i64, b: i64) -> bool { a >= b }),
    total!(cash_cmp(a: i64, b: i64) -> i32 { a.cmp(&b) as i32 }),
    total!(cashlarger(a: i64, b: i64) -> i64 { a.max(b) }),
    total!(cashsmaller(a: i64, b: i64) -> i64 { a.min(b) }),
    checked!(cash_pl(a: i64, b: i64) -> i64 { a.checked_add(b).ok_or_else(money_range) }),
    checked!(cash_mi(a: i64, b: i64) -> i64 { a.checked_sub(b).ok_or_else(money_range) }),
    checked!(cash_div_cash(a: i64, b: i64) -> f64 {
        if b == 0 { Err(super::int::division_by_zero()) } else { Ok(a as f64 / b as f64) }
    }),
    row!(cash_mul_flt8(a: i64, b: f64) { cash_scale(a, b, false) }),
    row!(flt8_mul_cash(b: f64, a: i64) { cash_scale(a, b, false) }),
    row!(cash_div_flt8(a: i64, b: f64) { cash_scale(a, b, true) }),
    row!(cash_mul_flt4(a: i64, b: f32) { cash_scale(a, b as f64, false) }),
    row!(flt4_mul_cash(b: f32, a: i64) { cash_scale(a, b as f64, false) }),
    row!(cash_div_flt4(a: i64, b: f32) { cash_scale(a, b as f64, true) }),
    row!(cash_mul_int8(a: i64, b: i64) { a.checked_mul(b).ok_or_else(money_range) }),
    row!(int8_mul_cash(b: i64, a: i64) { a.checked_mul(b).ok_or_else(money_range) }),
    row!(cash_div_int8(a: i64, b: i64) { cash_div(a, b) }),
    row!(cash_mul_int4(a: i64, b: i32) { a.checked_mul(b as i64).ok_or_else(money_range) }),
    row!(int4_mul_cash(b: i32, a: i64) { a.checked_mul(b as i64).ok_or_else(money_range) }),
    row!(cash_div_int4(a: i64, b: i32) { cash_div(a, b as i64) }),
    row!(cash_mul_int2(a: i64, b: i16) { a.checked_mul(b as i64).ok_or_else(money_range) }),
    row!(int2_mul_cash(b: i16, a: i64) { a.checked_mul(b as i64).ok_or_else(money_range) }),
    row!(cash_div_int2(a: i64, b: i16) { cash_div(a, b as i64) }),
    row!(cash_numeric(a: i64) { types::numeric::small::from_scaled(a as i128, 2) }),
    row!(numeric_cash(a: &[u8]) {
        let amount = types::numeric::Numeric::decode(a);
        if !amount.is_finite() {
            let what = if amount.is_nan() { "NaN" } else { "infinity" };
            bail!(FEATURE_NOT_SUPPORTED, "cannot convert {what} to bigint");
        }
        let cents = amount.shift10(2).round(0);
        cents.to_i64().ok_or_else(|| err!(NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range"))
    }),
    row!(int4_cash(a: i32) { (a as i64).checked_mul(100).ok_or_else(money_range) }),
    row!(int8_cash(a: i64) { a.checked_mul(100).ok_or_else(super::int::int8_range) }),
];

fn tid_key(t: &[u8]) -> (u32, u16) {
    match t {
        [a, b, c, d, e, f, ..] => {
            (u32::from_le_bytes([*a, *b, *c, *d]), u16::from_le_bytes([*e, *f]))
        }
        _ => (0, 0),
    }
}

const TID: &[FnDef] = &[
    total!(tideq(a: &[u8], b: &[u8]) -> bool { a == b }),
    total!(tidne(a: &[u8], b: &[u8]) -> bool { a != b }),
    total!(tidlt(a: &[u8], b: &[u8]) -> bool { tid_key(a) < tid_key(b) }),
    total!(tidle(a: &[u8], b: &[u8]) -> bool { tid_key(a) <= tid_key(b) }),
    total!(tidgt(a: &[u8], b: &[u8]) -> bool { tid_key(a) > tid_key(b) }),
    total!(tidge(a: &[u8], b: &[u8]) -> bool { tid_key(a) >= tid_key(b) }),
    total!(bttidcmp(a: &[u8], b: &[u8]) -> i32 { tid_key(a).cmp(&tid_key(b)) as i32 }),
    row!(tidlarger(a: &Datum, b: &Datum) {
        if tid_key(a.as_bytes()) >= tid_key(b.as_bytes()) { a } else { b }
    }),
    row!(tidsmaller(a: &Datum, b: &Datum) {
        if tid_key(a.as_bytes()) <= tid_key(b.as_bytes()) { a } else { b }
    }),
];

/// Order of two values of an enum type: by the type's own order.
fn enum_order(cx: &FnCtx, a: u32, b: u32) -> Ordering {
    // Values made with the type have even OIDs, which sort as they do.
    if a == b || (a.is_multiple_of(2) && b.is_multiple_of(2)) {
        return a.cmp(&b);
    }
    let values = cx.env.catalog().enum_values(cx.call.arg_type(0));
    let rank = |v: u32| values.iter().position(|e| e.0.0 == v);
    // Values of a type that is not known here are at least not the same.
    rank(a).cmp(&rank(b)).then(a.cmp(&b))
}

fn enum_list(cx: &FnCtx) -> Result<(Oid, Vec<Oid>)> {
    let type_oid = cx.call.arg_type(0);
    let values: Vec<Oid> =
        cx.env.catalog().enum_values(type_oid).into_iter().map(|v| v.0).collect();
    if values.is_empty() {
        let name = cx.env.catalog().type_name(type_oid).unwrap_or_default();
        bail!(OBJECT_NOT_IN_PREREQUISITE_STATE, "enum {name} contains no values");
    }
    Ok((type_oid, values))
}

fn enum_array(cx: &FnCtx, low: Option<u32>, high: Option<u32>) -> Result<Datum> {
    let (type_oid, values) = enum_list(cx)?;
    let elem = super::array::elem_type(cx, type_oid)?;
    let start = low.and_then(|l| values.iter().position(|v| v.0 == l)).unwrap_or(0);
    let end =
        high.and_then(|h| values.iter().position(|v| v.0 == h)).map_or(values.len(), |p| p + 1);
    let shown = &values[start..end.max(start)];
    for v in shown {
        cx.env.catalog().types().check_enum_use(*v)?;
    }
    let list: Vec<Datum> = shown.iter().map(|v| Datum::U32(v.0)).collect();
    make_vector(&elem, &list)
}

/// The first or last value of an enum type.
fn enum_end(cx: &FnCtx, end: impl Fn(&[Oid]) -> Option<&Oid>) -> Result<Datum> {
    let (_, values) = enum_list(cx)?;
    let Some(value) = end(&values) else { return Ok(Datum::Null) };
    cx.env.catalog().types().check_enum_use(*value)?;
    Ok(Datum::U32(value.0))
}

const ENUM: &[FnDef] = &[
    total!(enum_eq(a: u32, b: u32) -> bool { a == b }),
    total!(enum_ne(a: u32, b: u32) -> bool { a != b }),
    row!(cx; enum_lt(a: u32, b: u32) { enum_order(cx, a, b).is_lt() }),
    row!(cx; enum_le(a: u32, b: u32) { enum_order(cx, a, b).is_le() }),
    row!(cx; enum_gt(a: u32, b: u32) { enum_order(cx, a, b).is_gt() }),
    row!(cx; enum_ge(a: u32, b: u32) { enum_order(cx, a, b).is_ge() }),
    row!(cx; enum_cmp(a: u32, b: u32) { enum_order(cx, a, b) as i32 }),
    row!(cx; enum_larger(a: u32, b: u32) { if enum_order(cx, a, b).is_gt() { a } else { b } }),
    row!(cx; enum_smaller(a: u32, b: u32) { if enum_order(cx, a, b).is_lt() { a } else { b } }),
    raw!(enum_first(cx, args) { enum_end(cx, |l| l.first()) }),
    raw!(enum_last(cx, args) { enum_end(cx, |l| l.last()) }),
    raw!(enum_range_all(cx, args) { enum_array(cx, None, None) }),
    raw!(enum_range_bounds(cx, args) {
        let bound = |d: &Datum| (!d.is_null()).then(|| d.as_u32());
        enum_array(cx, bound(&args[0]), bound(&args[1]))
    }),
];

fn record_order(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<Ordering> {
    compare(oid::RECORD, a, b, cx.env.catalog().types())
}

/// Order by the bytes that values are stored in.
fn image_order(a: &Datum, b: &Datum) -> Result<Ordering> {
    let (x, y) = (Record::decode(a.as_bytes())?, Record::decode(b.as_bytes())?);
    let key = |r: &Record| {
        r.columns
            .iter()
            .map(|c| {
                let mut out = Vec::new();
                types::record::put_raw(&c.value, &mut out);
                (c.value.is_null(), out)
            })
            .collect::<Vec<_>>()
    };
    Ok(key(&x).cmp(&key(&y)))
}

fn record_hash(cx: &FnCtx, value: &Datum, seed: Option<i64>) -> Result<u64> {
    let record = Record::decode(value.as_bytes())?;
    let mut out: u64 = 0;
    for column in &record.columns {
        let h = if column.value.is_null() {
            0
        } else {
            let (plain, extended) = cx
                .env
                .catalog()
                .hash_procs(column.type_oid)
                .ok_or_else(|| super::array::no_hash(cx, column.type_oid, seed.is_some()))?;
            match seed {
                None => {
                    let h = super::array::call(
                        cx,
                        plain,
                        Oid(100),
                        std::slice::from_ref(&column.value),
                    )?;
                    h.as_i32() as u32 as u64
                }
                Some(s) => {
                    let args = [column.value.clone(), Datum::I64(s)];
                    super::array::call(cx, extended, Oid(100), &args)?.as_i64() as u64
                }
            }
        };
        out = if seed.is_some() {
            (out << 5).wrapping_sub(out).wrapping_add(h)
        } else {
            let low = out as u32;
            (low << 5).wrapping_sub(low).wrapping_add(h as u32) as u64
        };
    }
    Ok(out)
}

const RECORD: &[FnDef] = &[
    row!(cx; record_eq(a: &Datum, b: &Datum) { record_order(cx, a, b).map(Ordering::is_eq) }),
    row!(cx; record_ne(a: &Datum, b: &Datum) { record_order(cx, a, b).map(Ordering::is_ne) }),
    row!(cx; record_lt(a: &Datum, b: &Datum) { record_order(cx, a, b).map(Ordering::is_lt) }),
    row!(cx; record_le(a: &Datum, b: &Datum) { record_order(cx, a, b).map(Ordering::is_le) }),
    row!(cx; record_gt(a: &Datum, b: &Datum) { record_order(cx, a, b).map(Ordering::is_gt) }),
    row!(cx; record_ge(a: &Datum, b: &Datum) { record_order(cx, a, b).map(Ordering::is_ge) }),
    row!(cx; btrecordcmp(a: &Datum, b: &Datum) { record_order(cx, a, b).map(|o| o as i32) }),
    row!(cx; record_larger(a: &Datum, b: &Datum) {
        let larger = record_order(cx, a, b)?.is_gt();
        if larger { a } else { b }
    }),
    row!(cx; record_smaller(a: &Datum, b: &Datum) {
        let smaller = record_order(cx, a, b)?.is_lt();
        if smaller { a } else { b }
    }),
    row!(record_image_eq(a: &Datum, b: &Datum) { image_order(a, b).map(Ordering::is_eq) }),
    row!(record_image_ne(a: &Datum, b: &Datum) { image_order(a, b).map(Ordering::is_ne) }),
    row!(record_image_lt(a: &Datum, b: &Datum) { image_order(a, b).map(Ordering::is_lt) }),
    row!(record_image_le(a: &Datum, b: &Datum) { image_order(a, b).map(Ordering::is_le) }),
    row!(record_image_gt(a: &Datum, b: &Datum) { image_order(a, b).map(Ordering::is_gt) }),
    row!(record_image_ge(a: &Datum, b: &Datum) { image_order(a, b).map(Ordering::is_ge) }),
    row!(btrecordimagecmp(a: &Datum, b: &Datum) { image_order(a, b).map(|o| o as i32) }),
    row!(cx; hash_record(a: &Datum) { record_hash(cx, a, None).map(|h| h as u32 as i32) }),
    row!(cx; hash_record_extended(a: &Datum, seed: i64) {
        record_hash(cx, a, Some(seed)).map(|h| h as i64)
    }),
];

fn uuid(cx: &FnCtx, fill: impl Fn(&mut [u8; 16]), version: u8) -> Vec<u8> {
    let mut out = [0u8; 16];
    cx.env.random_bytes(&mut out);
    fill(&mut out);
    out[6] = out[6] & 0x0f | version << 4;
    out[8] = out[8] & 0x3f | 0x80;
    out.to_vec()
}

fn uuid_v7(cx: &FnCtx, t: i64) -> Vec<u8> {
    let unix = t.wrapping_add(types::datetime::UNIX_OFFSET);
    let (millis, micros) = (unix.div_euclid(1000), unix.rem_euclid(1000));
    // The 12 bits after the version hold the fraction of the millisecond.
    let fraction = (micros * 4096 / 1000) as u16;
    uuid(
        cx,
        |out| {
            out[..6].copy_from_slice(&millis.to_be_bytes()[2..]);
            out[6] = (fraction >> 8) as u8;
            out[7] = fraction as u8;
        },
        7,
    )
}

fn uuid_variant(a: &[u8]) -> bool {
    a.get(8).is_some_and(|b| b & 0xc0 == 0x80)
}

fn uuid_timestamp(a: &[u8]) -> Option<i64> {
    if !uuid_variant(a) {
        return None;
    }
    let word =
        |range: std::ops::Range<usize>| a[range].iter().fold(0u64, |n, b| n << 8 | *b as u64);
    match a[6] >> 4 {
        1 => {
            let ticks = word(0..4) | word(4..6) << 32 | (word(6..8) & 0xfff) << 48;
            // Ticks of 100 ns from 1582-10-15.
            let micros = (ticks / 10) as i64;
            Some(micros - (2_451_545 - 2_299_161) * types::datetime::USECS_PER_DAY)
        }
        7 => Some(word(0..6) as i64 * 1000 - types::datetime::UNIX_OFFSET),
        _ => None,
    }
}

const UUID: &[FnDef] = &[
    row!(cx; gen_random_uuid() { uuid(cx, |_| {}, 4) }),
    row!(cx; uuidv7() { uuid_v7(cx, cx.env.clock_timestamp()) }),
    row!(cx; uuidv7_interval(shift: &[u8]) {
        let i = types::datetime::Interval::decode(shift);
        if i.is_infinite() {
            return Err(err!(DATETIME_FIELD_OVERFLOW, "interval out of range for UUID version 7")
                .detail("UUID version 7 does not support infinite intervals."));
        }
        let t = super::datetime::add_interval(cx.env.clock_timestamp(), &i, None)?;
        let unix = t.saturating_add(types::datetime::UNIX_OFFSET);
        if unix < 0 || unix / 1000 >= 1 << 48 {
            return Err(err!(DATETIME_FIELD_OVERFLOW, "timestamp out of range for UUID version 7")
                .detail(
                    "UUID version 7 supports timestamps from 1970-01-01 to approximately year \
                     10889.",
                ));
        }
        uuid_v7(cx, t)
    }),
    row!(uuid_extract_version(a: &[u8]) {
        uuid_variant(a).then(|| (a[6] >> 4) as i16)
    }),
    row!(uuid_extract_timestamp(a: &[u8]) { uuid_timestamp(a) }),
];

#[cold]
fn lsn_range() -> Error {
    err!(INVALID_PARAMETER_VALUE, "pg_lsn out of range")
}

fn lsn_plus(lsn: i64, n: &[u8], add: bool) -> Result<i64> {
    let n = types::numeric::Numeric::decode(n);
    if n.is_nan() {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "cannot {} NaN {} pg_lsn",
            if add { "add" } else { "subtract" },
            if add { "to" } else { "from" }
        );
    }
    if !n.is_finite() {
        bail!(FEATURE_NOT_SUPPORTED, "cannot convert infinity to pg_lsn");
    }
    // What comes out is rounded, not what is added.
    let lsn = types::numeric::Numeric::from(lsn as u64 as i128);
    let sum = if add { lsn.add(&n) } else { lsn.sub(&n) };
    let place = sum.to_i128().and_then(|v| u64::try_from(v).ok());
    place.map(|v| v as i64).ok_or_else(lsn_range)
}

const LSN: &[FnDef] = &[
    row!(pg_lsn_mi(a: i64, b: i64) {
        types::numeric::small::from_scaled(a as u64 as i128 - b as u64 as i128, 0)
    }),
    row!(pg_lsn_pli(a: i64, n: &[u8]) { lsn_plus(a, n, true) }),
    row!("5023"(n: &[u8], a: i64) { lsn_plus(a, n, true) }),
    row!(pg_lsn_mii(a: i64, n: &[u8]) { lsn_plus(a, n, false) }),
    row!(numeric_pg_lsn(n: &[u8]) {
        let n = types::numeric::Numeric::decode(n);
        if n.is_nan() {
            bail!(FEATURE_NOT_SUPPORTED, "cannot convert NaN to pg_lsn");
        }
        if !n.is_finite() {
            bail!(FEATURE_NOT_SUPPORTED, "cannot convert infinity to pg_lsn");
        }
        n.to_i128()
            .and_then(|v| u64::try_from(v).ok())
            .map(|v| v as i64)
            .ok_or_else(lsn_range)
    }),
];

fn bits_of(text: &str) -> Result<(u32, u32)> {
    let names = crate::srf::tables::PRIVILEGES;
    let (mut all, mut options) = (0, 0);
    for part in text.split(',') {
        let word = part.trim().to_ascii_uppercase();
        let (word, grant) = match word.strip_suffix(" WITH GRANT OPTION") {
            Some(w) => (w, true),
            None => (word.as_str(), false),
        };
        let word = if word == "TEMP" { "TEMPORARY" } else { word };
        let Some(bit) = names.iter().position(|n| *n == word) else {
            bail!(INVALID_PARAMETER_VALUE, "unrecognized privilege type: \"{}\"", part.trim());
        };
        all |= 1 << bit;
        if grant {
            options |= 1 << bit;
        }
    }
    Ok((all, options))
}

/// Privileges that a new object of a kind gives, as letters, to its owner and to everybody.
fn default_privileges(kind: u8) -> Option<(u32, u32)> {
    let bits = |letters: &str| {
        letters
            .bytes()
            .filter_map(|l| types::acl::LETTERS.iter().position(|x| *x == l))
            .fold(0, |n, b| n | 1 << b)
    };
    let (owner, public) = match kind {
        b'c' => ("", ""),
        b'r' => ("arwdDxtm", ""),
        b's' => ("rwU", ""),
        b'd' => ("CTc", "Tc"),
        b'f' => ("X", "X"),
        b'l' => ("U", "U"),
        b'L' => ("rw", ""),
        b'n' => ("UC", ""),
        b'p' => ("sA", ""),
        b't' => ("C", ""),
        b'F' | b'S' => ("U", ""),
        b'T' => ("U", "U"),
        _ => return None,
    };
    Some((bits(owner), bits(public)))
}

fn acl_default(kind: u8, owner: u32) -> Result<Datum> {
    let Some((own, public)) = default_privileges(kind) else {
        bail!(INTERNAL_ERROR, "unrecognized object type abbreviation: {}", kind as char);
    };
    let item = |grantee: u32, privileges: u32| {
        let item =
            AclItem { grantee: Oid(grantee), grantor: Oid(owner), privileges, grant_options: 0 };
        Datum::bytes(item.encode().to_vec())
    };
    let mut items = Vec::new();
    if public != 0 {
        items.push(item(0, public));
    }
    if own != 0 {
        items.push(item(owner, own));
    }
    make_vector(&ElemType::builtin(oid::ACLITEM), &items)
}

fn acl_sum(i: &AclItem) -> u32 {
    i.privileges.wrapping_add(i.grantee.0).wrapping_add(i.grantor.0)
}

fn no_longer(name: &str) -> Result<Datum> {
    bail!(FEATURE_NOT_SUPPORTED, "{name} is no longer supported")
}

const ACL: &[FnDef] = &[
    total!(aclitem_eq(a: &[u8], b: &[u8]) -> bool { a == b }),
    row!(hash_aclitem(a: &[u8]) {
        acl_sum(&AclItem::decode(a)) as i32
    }),
    row!(hash_aclitem_extended(a: &[u8], seed: i64) {
        let sum = acl_sum(&AclItem::decode(a));
        match seed {
            0 => i64::from(sum),
            _ => super::hash::hash_u32_extended(sum, seed as u64) as i64,
        }
    }),
    raw!(aclinsert(cx, args) { no_longer("aclinsert") }),
    raw!(aclremove(cx, args) { no_longer("aclremove") }),
    row!(acldefault_sql(kind: u8, owner: u32) { acl_default(kind, owner) }),
    row!(makeaclitem(grantee: u32, grantor: u32, privileges: &str, grant: bool) {
        let (bits, options) = bits_of(privileges)?;
        let item = AclItem {
            grantee: Oid(grantee),
            grantor: Oid(grantor),
            privileges: bits,
            grant_options: if grant { bits } else { options },
        };
        item.encode().to_vec()
    }),
    row!(aclcontains(list: &Datum, one: &[u8]) {
        let one = AclItem::decode(one);
        let array = acl_list(list)?;
        array.values(&ElemType::builtin(oid::ACLITEM))?.iter().any(|i| {
            let i = AclItem::decode(i.as_bytes());
            i.grantee == one.grantee
                && i.grantor == one.grantor
                && one.privileges & !i.privileges == 0
                && one.grant_options & !i.grant_options == 0
        })
    }),
];

const SIZES: &[FnDef] = &[
    row!(pg_size_pretty(n: i64) { size_pretty(n as i128) }),
    row!(pg_size_pretty_numeric(n: &[u8]) {
        let n = types::numeric::Numeric::decode(n);
        match n.to_i128() {
            Some(v) if v.abs() < 10 * 1024 => format!("{n} bytes"),
            Some(v) => size_pretty(v),
            None => huge_size(&n)?,
        }
    }),
    row!(pg_size_bytes(text: &str) { size_bytes(text) }),
];

fn size_pretty(n: i128) -> String {
    const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let mut value = n;
    // All but the first step keep one bit more, to round by at the end.
    for (i, unit) in UNITS.iter().enumerate() {
        let limit: i128 = if i == 0 { 10 * 1024 } else { 20 * 1024 - 1 };
        if value.abs() < limit || i + 1 == UNITS.len() {
            if i > 0 {
                value = if value >= 0 { (value + 1) / 2 } else { (value - 1) / 2 };
            }
            return format!("{value} {unit}");
        }
        value /= if i == 0 { 512 } else { 1024 };
    }
    String::new()
}

/// A number of bytes beyond all integers, which is never less than the largest unit.
fn huge_size(n: &types::numeric::Numeric) -> Result<String> {
    if !n.is_finite() {
        return Ok(format!("{n} PB"));
    }
    let half = types::numeric::Numeric::from(1i128 << 49);
    let halves = n.div_trunc(&half)?;
    let one = types::numeric::Numeric::from(if halves.negative { -1i64 } else { 1 });
    let units = halves.add(&one).div_trunc(&types::numeric::Numeric::from(2i64))?;
    Ok(format!("{units} PB"))
}

fn size_bytes(text: &str) -> Result<i64> {
    let invalid = || err!(INVALID_PARAMETER_VALUE, "invalid size: \"{text}\"");
    let body = text.trim();
    let mut points = 0;
    let end = body
        .char_indices()
        .find(|(i, c)| {
            points += u32::from(*c == '.');
            let exponent = matches!(c, 'e' | 'E')
                && body[i + 1..]
                    .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
            let sign = matches!(c, '+' | '-') && (*i == 0 || body[..*i].ends_with(['e', 'E']));
            !(c.is_ascii_digit() || (*c == '.' && points < 2) || exponent || sign)
        })
        .map_or(body.len(), |(i, _)| i);
    if !body[..end].bytes().any(|b| b.is_ascii_digit()) {
        return Err(invalid());
    }
    let number = types::numeric::parse(&body[..end]).map_err(|e| match e.code() {
        base::SqlState::NUMERIC_VALUE_OUT_OF_RANGE => e,
        _ => invalid(),
    })?;
    let unit = body[end..].trim();
    let factor: i64 = match unit.to_ascii_lowercase().as_str() {
        "" | "bytes" | "b" => 1,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        "tb" => 1 << 40,
        "pb" => 1 << 50,
        _ => {
            return Err(invalid().detail(format!("Invalid size unit: \"{unit}\".")).hint(
                "Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".",
            ));
        }
    };
    number.mul(&types::numeric::Numeric::from(factor)).to_i64().ok_or_else(super::int::int8_range)
}

pub(super) const FNS: &[&[FnDef]] = &[MONEY, TID, ENUM, RECORD, UUID, LSN, ACL, SIZES];
