//! Dates, times, timestamps and intervals: comparison, arithmetic, casts, the current time.

use super::int::negative_offset;
use crate::call::{FnCtx, FnDef};
use base::{Error, Result, bail, err};
use std::cmp::Ordering;
use std::sync::Arc;
use types::compare::{compare_timetz, timetz_parts};
use types::datetime::*;
use types::io::timetz_bytes;
use types::{Blob, Datum};

#[cold]
pub(crate) fn timestamp_range() -> Error {
    err!(DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

#[cold]
fn date_range() -> Error {
    err!(DATETIME_FIELD_OVERFLOW, "date out of range")
}

fn interval(bytes: &[u8]) -> Interval {
    Interval::decode(bytes)
}

pub(crate) fn interval_datum(value: Interval) -> Blob {
    Blob::new(&value.encode())
}

/// The zone of this name or specification, with PostgreSQL's error.
pub(crate) fn zone_named(name: &str, cx: &FnCtx) -> Result<Arc<TimeZone>> {
    // No name is longer.
    let name = &name[..(0..=255).rev().find(|n| name.is_char_boundary(*n)).unwrap_or(0)];
    match zone_by_word(name, &cx.env.format().timezone) {
        Some(Ok(offset)) => Ok(TimeZone::fixed(offset)),
        Some(Err(zone)) => Ok(zone),
        None => Err(err!(INVALID_PARAMETER_VALUE, "time zone \"{name}\" not recognized")),
    }
}

/// The zone that `make_timestamptz` is given: an offset must say its direction.
fn zone_given(name: &str, cx: &FnCtx) -> Result<Arc<TimeZone>> {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(err!(
            INVALID_PARAMETER_VALUE,
            "invalid input syntax for type numeric time zone: \"{name}\""
        )
        .hint("Numeric time zones must have \"-\" or \"+\" as first character."));
    }
    match decode_offset(name) {
        Ok(offset) => Ok(TimeZone::fixed(offset)),
        Err(DtError::ZoneRange) => {
            Err(err!(INVALID_PARAMETER_VALUE, "numeric time zone \"{name}\" out of range"))
        }
        Err(_) => zone_named(name, cx),
    }
}

/// A timestamp plus an interval: months and days in local time of `zone`, if given.
pub(crate) fn add_interval(t: i64, i: &Interval, zone: Option<&TimeZone>) -> Result<i64> {
    if *i == Interval::INFINITY || *i == Interval::NEG_INFINITY {
        let up = *i == Interval::INFINITY;
        if is_infinite(t) && (t == INFINITY) != up {
            return Err(timestamp_range());
        }
        return Ok(if up { INFINITY } else { NEG_INFINITY });
    }
    if is_infinite(t) {
        return Ok(t);
    }
    let mut t = t;
    if i.months != 0 || i.days != 0 {
        let mut local = match zone {
            Some(zone) => to_local(t, zone)?,
            None => t,
        };
        if i.months != 0 {
            local = add_months(local, i.months)?;
        }
        if i.days != 0 {
            let (date, time) = split(local);
            let date = date as i64 + i.days as i64;
            if !((MIN_DATE as i64)..(END_DATE as i64)).contains(&date) {
                return Err(timestamp_range());
            }
            local = date
                .checked_mul(USECS_PER_DAY)
                .and_then(|d| d.checked_add(time))
                .ok_or_else(timestamp_range)?;
        }
        t = match zone {
            Some(zone) => from_local(local, zone)?,
            None => local,
        };
    }
    check_timestamp(t.checked_add(i.micros).ok_or_else(timestamp_range)?)
}

fn add_months(local: i64, months: i32) -> Result<i64> {
    let mut c = Civil::from_timestamp(local);
    let total = c.year as i64 * 12 + (c.month - 1) as i64 + months as i64;
    c.year = i32::try_from(total.div_euclid(12)).map_err(|_| timestamp_range())?;
    c.month = total.rem_euclid(12) as i32 + 1;
    c.day = c.day.min(days_in_month(c.year, c.month));
    if !c.is_julian_valid() {
        return Err(timestamp_range());
    }
    c.timestamp().ok_or_else(timestamp_range)
}

fn subtract_interval(t: i64, i: &Interval, zone: Option<&TimeZone>) -> Result<i64> {
    add_interval(t, &i.neg()?, zone)
}

/// The difference of two timestamps in days and time.
fn difference(a: i64, b: i64) -> Result<Interval> {
    if is_infinite(a) || is_infinite(b) {
        if a == b {
            return Err(err!(DATETIME_FIELD_OVERFLOW, "interval out of range"));
        }
        let up = a == INFINITY || b == NEG_INFINITY;
        return Ok(if up { Interval::INFINITY } else { Interval::NEG_INFINITY });
    }
    let micros =
        a.checked_sub(b).ok_or_else(|| err!(DATETIME_FIELD_OVERFLOW, "interval out of range"))?;
    Interval::new(0, 0, micros).justify_hours()
}

macro_rules! compare_same {
    ($t:ty; $eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident $cmp:ident $larger:ident
     $smaller:ident) => {
        &[
            total!($eq(a: $t, b: $t) -> bool { a == b }),
            total!($ne(a: $t, b: $t) -> bool { a != b }),
            total!($lt(a: $t, b: $t) -> bool { a < b }),
            total!($le(a: $t, b: $t) -> bool { a <= b }),
            total!($gt(a: $t, b: $t) -> bool { a > b }),
            total!($ge(a: $t, b: $t) -> bool { a >= b }),
            total!($cmp(a: $t, b: $t) -> i32 { a.cmp(&b) as i32 }),
            total!($larger(a: $t, b: $t) -> $t { a.max(b) }),
            total!($smaller(a: $t, b: $t) -> $t { a.min(b) }),
        ]
    };
}

const DATE: &[FnDef] = compare_same!(i32; date_eq date_ne date_lt date_le date_gt date_ge date_cmp
    date_larger date_smaller);
const TIME: &[FnDef] = compare_same!(i64; time_eq time_ne time_lt time_le time_gt time_ge time_cmp
    time_larger time_smaller);
const TIMESTAMP: &[FnDef] = compare_same!(i64; timestamp_eq timestamp_ne timestamp_lt timestamp_le
    timestamp_gt timestamp_ge timestamp_cmp timestamp_larger timestamp_smaller);

macro_rules! compare_bytes {
    ($a:ident, $b:ident => $cmp:expr; $eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident
     $name:ident $larger:ident $smaller:ident) => {
        &[
            total!($eq($a: &[u8], $b: &[u8]) -> bool { $cmp.is_eq() }),
            total!($ne($a: &[u8], $b: &[u8]) -> bool { $cmp.is_ne() }),
            total!($lt($a: &[u8], $b: &[u8]) -> bool { $cmp.is_lt() }),
            total!($le($a: &[u8], $b: &[u8]) -> bool { $cmp.is_le() }),
            total!($gt($a: &[u8], $b: &[u8]) -> bool { $cmp.is_gt() }),
            total!($ge($a: &[u8], $b: &[u8]) -> bool { $cmp.is_ge() }),
            total!($name($a: &[u8], $b: &[u8]) -> i32 { $cmp as i32 }),
            row!($larger(a: &Datum, b: &Datum) {
                let f = |$a: &[u8], $b: &[u8]| $cmp;
                if f(a.as_bytes(), b.as_bytes()).is_gt() { a } else { b }
            }),
            row!($smaller(a: &Datum, b: &Datum) {
                let f = |$a: &[u8], $b: &[u8]| $cmp;
                if f(a.as_bytes(), b.as_bytes()).is_lt() { a } else { b }
            }),
        ]
    };
}

const INTERVAL: &[FnDef] = compare_bytes!(a, b => interval(a).compare(&interval(b));
    interval_eq interval_ne interval_lt interval_le interval_gt interval_ge interval_cmp
    interval_larger interval_smaller);
const TIMETZ: &[FnDef] = compare_bytes!(a, b => compare_timetz(a, b);
    timetz_eq timetz_ne timetz_lt timetz_le timetz_gt timetz_ge timetz_cmp
    timetz_larger timetz_smaller);

/// A date as a timestamp for comparison: beyond the last timestamp it is above all but infinity.
fn date_ts(date: i32) -> i128 {
    match date {
        DATE_INFINITY => INFINITY as i128,
        DATE_NEG_INFINITY => NEG_INFINITY as i128,
        d => d as i128 * USECS_PER_DAY as i128,
    }
}

fn compare_wide(a: i128, b: i128) -> Ordering {
    // Infinity is above dates that no timestamp reaches.
    let key = |x: i128| if x == INFINITY as i128 { i128::MAX } else { x };
    key(a).cmp(&key(b))
}

fn zoned(local: i128, cx: &FnCtx) -> i128 {
    if local == INFINITY as i128 || local == NEG_INFINITY as i128 {
        return local;
    }
    match i64::try_from(local) {
        Ok(t) => local - cx.env.format().timezone.offset_of_local(t) as i128 * 1_000_000,
        Err(_) => local,
    }
}

macro_rules! compare_mixed {
    ($a:ident: $ta:ty, $b:ident: $tb:ty, $cx:ident => $cmp:expr; $eq:ident $ne:ident $lt:ident
     $le:ident $gt:ident $ge:ident $name:ident) => {
        &[
            row!($cx; $eq($a: $ta, $b: $tb) { $cmp.is_eq() }),
            row!($cx; $ne($a: $ta, $b: $tb) { $cmp.is_ne() }),
            row!($cx; $lt($a: $ta, $b: $tb) { $cmp.is_lt() }),
            row!($cx; $le($a: $ta, $b: $tb) { $cmp.is_le() }),
            row!($cx; $gt($a: $ta, $b: $tb) { $cmp.is_gt() }),
            row!($cx; $ge($a: $ta, $b: $tb) { $cmp.is_ge() }),
            row!($cx; $name($a: $ta, $b: $tb) { $cmp as i32 }),
        ]
    };
}

const DATE_TS: &[FnDef] = compare_mixed!(a: i32, b: i64, cx => compare_wide(date_ts(a), b as i128);
    date_eq_timestamp date_ne_timestamp date_lt_timestamp date_le_timestamp date_gt_timestamp
    date_ge_timestamp date_cmp_timestamp);
const TS_DATE: &[FnDef] = compare_mixed!(a: i64, b: i32, cx => compare_wide(a as i128, date_ts(b));
    timestamp_eq_date timestamp_ne_date timestamp_lt_date timestamp_le_date timestamp_gt_date
    timestamp_ge_date timestamp_cmp_date);
const DATE_TZ: &[FnDef] = compare_mixed!(
    a: i32, b: i64, cx => compare_wide(zoned(date_ts(a), cx), b as i128);
    date_eq_timestamptz date_ne_timestamptz date_lt_timestamptz date_le_timestamptz
    date_gt_timestamptz date_ge_timestamptz date_cmp_timestamptz);
const TZ_DATE: &[FnDef] = compare_mixed!(
    a: i64, b: i32, cx => compare_wide(a as i128, zoned(date_ts(b), cx));
    timestamptz_eq_date timestamptz_ne_date timestamptz_lt_date timestamptz_le_date
    timestamptz_gt_date timestamptz_ge_date timestamptz_cmp_date);
const TS_TZ: &[FnDef] = compare_mixed!(
    a: i64, b: i64, cx => compare_wide(zoned(a as i128, cx), b as i128);
    timestamp_eq_timestamptz timestamp_ne_timestamptz timestamp_lt_timestamptz
    timestamp_le_timestamptz timestamp_gt_timestamptz timestamp_ge_timestamptz
    timestamp_cmp_timestamptz);
const TZ_TS: &[FnDef] = compare_mixed!(
    a: i64, b: i64, cx => compare_wide(a as i128, zoned(b as i128, cx));
    timestamptz_eq_timestamp timestamptz_ne_timestamp timestamptz_lt_timestamp
    timestamptz_le_timestamp timestamptz_gt_timestamp timestamptz_ge_timestamp
    timestamptz_cmp_timestamp);

fn date_plus(date: i32, days: i64) -> Result<i32> {
    if date == DATE_INFINITY || date == DATE_NEG_INFINITY {
        return Ok(date);
    }
    i32::try_from(date as i64 + days)
        .ok()
        .filter(|d| (MIN_DATE..END_DATE).contains(d))
        .ok_or_else(date_range)
}

fn time_plus(time: i64, i: &Interval, sign: i64) -> Result<i64> {
    if i.is_infinite() {
        let what = if sign > 0 { "add" } else { "subtract" };
        let join = if sign > 0 { "to" } else { "from" };
        bail!(DATETIME_FIELD_OVERFLOW, "cannot {what} infinite interval {join} time");
    }
    let step = i.micros.wrapping_mul(sign);
    Ok(time.wrapping_add(step).rem_euclid(USECS_PER_DAY))
}

const ARITHMETIC: &[FnDef] = &[
    checked!(date_pli(a: i32, b: i32) -> i32 { date_plus(a, b as i64) }),
    checked!(date_mii(a: i32, b: i32) -> i32 { date_plus(a, -(b as i64)) }),
    row!("2550"(b: i32, a: i32) { date_plus(a, b as i64) }),
    checked!(date_mi(a: i32, b: i32) -> i32 {
        let infinite = |d: i32| d == DATE_INFINITY || d == DATE_NEG_INFINITY;
        if infinite(a) || infinite(b) {
            return Err(err!(DATETIME_FIELD_OVERFLOW, "cannot subtract infinite dates"));
        }
        Ok(a - b)
    }),
    row!(date_pl_interval(a: i32, b: &[u8]) {
        add_interval(date_to_timestamp(a)?, &interval(b), None)
    }),
    row!(date_mi_interval(a: i32, b: &[u8]) {
        subtract_interval(date_to_timestamp(a)?, &interval(b), None)
    }),
    row!("2546"(b: &[u8], a: i32) { add_interval(date_to_timestamp(a)?, &interval(b), None) }),
    row!(timestamp_pl_interval(a: i64, b: &[u8]) { add_interval(a, &interval(b), None) }),
    row!(timestamp_mi_interval(a: i64, b: &[u8]) { subtract_interval(a, &interval(b), None) }),
    row!("2548"(b: &[u8], a: i64) { add_interval(a, &interval(b), None) }),
    row!(cx; timestamptz_pl_interval(a: i64, b: &[u8]) {
        add_interval(a, &interval(b), Some(&cx.env.format().timezone))
    }),
    row!(cx; timestamptz_mi_interval(a: i64, b: &[u8]) {
        subtract_interval(a, &interval(b), Some(&cx.env.format().timezone))
    }),
    row!(cx; "2549"(b: &[u8], a: i64) {
        add_interval(a, &interval(b), Some(&cx.env.format().timezone))
    }),
    row!(cx; timestamptz_pl_interval_at_zone(a: i64, b: &[u8], zone: &str) {
        add_interval(a, &interval(b), Some(&*zone_named(zone, cx)?))
    }),
    row!(cx; timestamptz_mi_interval_at_zone(a: i64, b: &[u8], zone: &str) {
        subtract_interval(a, &interval(b), Some(&*zone_named(zone, cx)?))
    }),
    row!(timestamp_mi(a: i64, b: i64) { difference(a, b).map(interval_datum) }),
    row!(time_mi_time(a: i64, b: i64) { interval_datum(Interval::new(0, 0, a - b)) }),
    row!(time_pl_interval(a: i64, b: &[u8]) { time_plus(a, &interval(b), 1) }),
    row!(time_mi_interval(a: i64, b: &[u8]) { time_plus(a, &interval(b), -1) }),
    row!("1848"(b: &[u8], a: i64) { time_plus(a, &interval(b), 1) }),
    row!(timetz_pl_interval(a: &[u8], b: &[u8]) {
        let (time, west) = timetz_parts(a);
        time_plus(time, &interval(b), 1).map(|t| timetz_bytes(t, west))
    }),
    row!(timetz_mi_interval(a: &[u8], b: &[u8]) {
        let (time, west) = timetz_parts(a);
        time_plus(time, &interval(b), -1).map(|t| timetz_bytes(t, west))
    }),
    row!("2547"(b: &[u8], a: &[u8]) {
        let (time, west) = timetz_parts(a);
        time_plus(time, &interval(b), 1).map(|t| timetz_bytes(t, west))
    }),
    row!(datetime_timestamp(date: i32, time: i64) {
        let t = date_to_timestamp(date)?;
        if is_infinite(t) { Ok(t) } else { check_timestamp(t + time) }
    }),
    row!("1296"(time: i64, date: i32) {
        let t = date_to_timestamp(date)?;
        if is_infinite(t) { Ok(t) } else { check_timestamp(t + time) }
    }),
    row!(datetimetz_timestamptz(date: i32, b: &[u8]) { date_timetz(date, b) }),
    row!("1298"(b: &[u8], date: i32) { date_timetz(date, b) }),
    row!(cx; "1176"(date: i32, time: i64) {
        let t = date_to_timestamp(date)?;
        if is_infinite(t) {
            return Ok(Datum::I64(t));
        }
        from_local(t + time, &cx.env.format().timezone)
    }),
    row!(interval_pl(a: &[u8], b: &[u8]) { interval(a).add(interval(b)).map(interval_datum) }),
    row!(interval_mi(a: &[u8], b: &[u8]) { interval(a).sub(interval(b)).map(interval_datum) }),
    row!(interval_um(a: &[u8]) { interval(a).neg().map(interval_datum) }),
    row!(interval_mul(a: &[u8], b: f64) { interval(a).mul(b).map(interval_datum) }),
    row!(mul_d_interval(b: f64, a: &[u8]) { interval(a).mul(b).map(interval_datum) }),
    row!(interval_div(a: &[u8], b: f64) { interval(a).div(b).map(interval_datum) }),
    row!(interval_justify_hours(a: &[u8]) { interval(a).justify_hours().map(interval_datum) }),
    row!(interval_justify_days(a: &[u8]) { interval(a).justify_days().map(interval_datum) }),
    row!(interval_justify_interval(a: &[u8]) { interval(a).justify().map(interval_datum) }),
    row!(timestamp_age(a: i64, b: i64) { age(a, b).map(interval_datum) }),
    row!(cx; timestamptz_age(a: i64, b: i64) {
        let zone = &cx.env.format().timezone;
        age(to_local(a, zone)?, to_local(b, zone)?).map(interval_datum)
    }),
    row!(cx; "2059"(a: i64) { age(today(cx)?, a).map(interval_datum) }),
    row!(cx; "1386"(a: i64) {
        age(today(cx)?, to_local(a, &cx.env.format().timezone)?).map(interval_datum)
    }),
];

fn date_timetz(date: i32, b: &[u8]) -> Result<i64> {
    let (time, west) = timetz_parts(b);
    let t = date_to_timestamp(date)?;
    if is_infinite(t) {
        return Ok(t);
    }
    check_timestamp(t + time + west as i64 * 1_000_000).map_err(|_| date_range_for_timestamp())
}

/// Midnight of the current local date.
fn today(cx: &FnCtx) -> Result<i64> {
    let local = to_local(cx.env.transaction_timestamp(), &cx.env.format().timezone)?;
    Ok(split(local).0 as i64 * USECS_PER_DAY)
}

/// The difference in years, months, days and time, as people count.
fn age(a: i64, b: i64) -> Result<Interval> {
    if is_infinite(a) || is_infinite(b) {
        return difference(a, b);
    }
    let (x, y) = (Civil::from_timestamp(a), Civil::from_timestamp(b));
    let sign = if a < b { -1 } else { 1 };
    let (later, earlier) = if a < b { (y, x) } else { (x, y) };
    let mut micros = later.time() - earlier.time();
    let mut days = later.day - earlier.day;
    let mut months = (later.year - earlier.year) * 12 + later.month - earlier.month;
    if micros < 0 {
        micros += USECS_PER_DAY;
        days -= 1;
    }
    while days < 0 {
        // Days are borrowed from the month of the earlier date if time goes forward.
        days += days_in_month(earlier.year, earlier.month);
        months -= 1;
    }
    Ok(Interval::new(sign * months, sign * days, sign as i64 * micros))
}

const CASTS: &[FnDef] = &[
    checked!(date_timestamp(a: i32) -> i64 { date_to_timestamp(a) }),
    row!(cx; date_timestamptz(a: i32) {
        date_to_instant(a, &cx.env.format().timezone)
    }),
    total!(timestamp_date(a: i64) -> i32 { to_date(a) }),
    row!(cx; timestamptz_date(a: i64) { to_local(a, &cx.env.format().timezone).map(to_date) }),
    row!(timestamp_time(a: i64) { (!is_infinite(a)).then(|| split(a).1) }),
    row!(cx; timestamptz_time(a: i64) {
        if is_infinite(a) {
            return Ok(Datum::Null);
        }
        to_local(a, &cx.env.format().timezone).map(|l| split(l).1)
    }),
    row!(cx; timestamptz_timetz(a: i64) {
        if is_infinite(a) {
            return Ok(Datum::Null);
        }
        let zone = &cx.env.format().timezone;
        to_local(a, zone).map(|l| timetz_bytes(split(l).1, -zone.at(a).offset))
    }),
    row!(cx; timestamp_timestamptz(a: i64) { from_local(a, &cx.env.format().timezone) }),
    row!(cx; timestamptz_timestamp(a: i64) { to_local(a, &cx.env.format().timezone) }),
    row!(cx; time_timetz(a: i64) {
        let zone = &cx.env.format().timezone;
        timetz_bytes(a, -zone.offset_of_local(today(cx)? + a))
    }),
    row!(timetz_time(a: &[u8]) { timetz_parts(a).0 }),
    row!(time_interval(a: i64) { interval_datum(Interval::new(0, 0, a)) }),
    row!(interval_time(a: &[u8]) {
        let i = interval(a);
        if i.is_infinite() {
            bail!(DATETIME_FIELD_OVERFLOW, "cannot convert infinite interval to time");
        }
        i.micros.rem_euclid(USECS_PER_DAY)
    }),
    row!(timestamp_scale(a: i64, typmod: i32) { precision(a, typmod) }),
    row!(timestamptz_scale(a: i64, typmod: i32) { precision(a, typmod) }),
    row!(time_scale(a: i64, typmod: i32) { round_micros(a, typmod) }),
    row!(timetz_scale(a: &[u8], typmod: i32) {
        let (time, west) = timetz_parts(a);
        timetz_bytes(round_micros(time, typmod), west)
    }),
    row!(interval_scale(a: &[u8], typmod: i32) {
        interval_from_typmod(interval(a), typmod).map(interval_datum)
    }),
    row!(float8_timestamptz(a: f64) { from_epoch(a) }),
    total!(date_finite(a: i32) -> bool { a != DATE_INFINITY && a != DATE_NEG_INFINITY }),
    total!(timestamp_finite(a: i64) -> bool { !is_infinite(a) }),
    total!(interval_finite(a: &[u8]) -> bool { !interval(a).is_infinite() }),
];

fn precision(t: i64, typmod: i32) -> Result<i64> {
    if !(-1..=6).contains(&typmod) && !is_infinite(t) {
        bail!(INVALID_PARAMETER_VALUE, "timestamp({typmod}) precision must be between 0 and 6");
    }
    Ok(round_micros(t, typmod))
}

fn to_date(t: i64) -> i32 {
    match t {
        INFINITY => DATE_INFINITY,
        NEG_INFINITY => DATE_NEG_INFINITY,
        t => split(t).0,
    }
}

fn from_epoch(seconds: f64) -> Result<i64> {
    if seconds.is_nan() {
        bail!(DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN");
    }
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { INFINITY } else { NEG_INFINITY });
    }
    let out_of_range = || {
        let shown = general(seconds);
        err!(DATETIME_FIELD_OVERFLOW, "timestamp out of range: \"{shown}\"")
    };
    if !(-210_866_803_200.0..9_224_318_016_000.0).contains(&seconds) {
        return Err(out_of_range());
    }
    let since = seconds - (UNIX_OFFSET / USECS_PER_SEC) as f64;
    let t = (since * 1e6).round_ties_even() as i64;
    if is_valid_timestamp(t) { Ok(t) } else { Err(out_of_range()) }
}

fn timezone_of(cx: &FnCtx, name: &str, local: i64, to_utc: bool) -> Result<i64> {
    if is_infinite(local) {
        return Ok(local);
    }
    let zone = zone_named(name, cx)?;
    if to_utc { from_local(local, &zone) } else { to_local(local, &zone) }
}

/// Seconds east of UTC that an interval is, in the width of an offset.
fn zone_interval(i: &Interval) -> Result<i32> {
    if i.is_infinite() {
        bail!(INVALID_PARAMETER_VALUE, "interval time zone \"{}\" must be finite", show(i));
    }
    if i.months != 0 || i.days != 0 {
        bail!(
            INVALID_PARAMETER_VALUE,
            "interval time zone \"{}\" must not include months or days",
            show(i)
        );
    }
    Ok((i.micros / USECS_PER_SEC) as i32)
}

fn show(i: &Interval) -> String {
    let mut out = Vec::new();
    write_interval(i, types::io::IntervalStyle::Postgres, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn shift(t: i64, zone: &[u8], sign: i64) -> Result<i64> {
    if is_infinite(t) {
        return Ok(t);
    }
    let seconds = i64::from(zone_interval(&interval(zone))?);
    check_timestamp(t.checked_add(sign * seconds * USECS_PER_SEC).ok_or_else(timestamp_range)?)
}

fn timetz_at(bytes: &[u8], west: i32) -> Vec<u8> {
    let (time, old) = timetz_parts(bytes);
    let moved =
        (time + (i64::from(old) - i64::from(west)) * USECS_PER_SEC).rem_euclid(USECS_PER_DAY);
    timetz_bytes(moved, west)
}

const ZONES: &[FnDef] = &[
    row!(cx; timestamp_zone(zone: &str, t: i64) { timezone_of(cx, zone, t, true) }),
    row!(cx; timestamptz_zone(zone: &str, t: i64) { timezone_of(cx, zone, t, false) }),
    row!(timestamp_izone(zone: &[u8], t: i64) { shift(t, zone, -1) }),
    row!(timestamptz_izone(zone: &[u8], t: i64) { shift(t, zone, 1) }),
    row!(cx; timestamp_at_local(t: i64) { from_local(t, &cx.env.format().timezone) }),
    row!(cx; timestamptz_at_local(t: i64) { to_local(t, &cx.env.format().timezone) }),
    row!(cx; timetz_zone(zone: &str, a: &[u8]) {
        let zone = zone_named(zone, cx)?;
        timetz_at(a, -zone.at(cx.env.transaction_timestamp()).offset)
    }),
    row!(timetz_izone(zone: &[u8], a: &[u8]) {
        timetz_at(a, zone_interval(&interval(zone))?.wrapping_neg())
    }),
    row!(cx; timetz_at_local(a: &[u8]) {
        let zone = &cx.env.format().timezone;
        timetz_at(a, -zone.at(cx.env.transaction_timestamp()).offset)
    }),
];

const NOW: &[FnDef] = &[
    row!(cx; now() { cx.env.transaction_timestamp() }),
    row!(cx; statement_timestamp() { cx.env.statement_timestamp() }),
    row!(cx; clock_timestamp() { cx.env.clock_timestamp() }),
    row!(cx; timeofday() { time_of_day(cx) }),
];

fn time_of_day(cx: &FnCtx) -> Result<String> {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let zone = &cx.env.format().timezone;
    let now = cx.env.clock_timestamp();
    let c = Civil::from_timestamp(to_local(now, zone)?);
    Ok(format!(
        "{} {} {:02} {:02}:{:02}:{:02}.{:06} {:04} {}",
        DAYS[c.weekday() as usize],
        MONTHS[(c.month - 1) as usize],
        c.day,
        c.hour,
        c.minute,
        c.second,
        c.micros,
        c.year,
        zone.at(now).abbrev
    ))
}

fn field_range(kind: &str, text: String) -> Error {
    err!(DATETIME_FIELD_OVERFLOW, "{kind} field value out of range: {text}")
}

fn make_date(year: i32, month: i32, day: i32) -> Result<i32> {
    // A year before Christ is shown as it is counted from then on.
    let text = || {
        let before_christ = year < 0 && year != i32::MIN;
        let shown = i64::from(year) + i64::from(before_christ);
        format!("{shown}-{month:02}-{day:02}")
    };
    date_of(year, month, day, text)
}

/// A date of its fields, which are shown by `text` if they make none.
fn date_of(year: i32, month: i32, day: i32, text: impl Fn() -> String) -> Result<i32> {
    // Negative years are BC; there is no year 0, and the least number has no opposite.
    let civil_year = if year < 0 { year + 1 } else { year };
    let bad = matches!(year, 0 | i32::MIN)
        || !(1..=12).contains(&month)
        || day < 1
        || day > days_in_month(civil_year, month.clamp(1, 12));
    if bad {
        return Err(field_range("date", text()));
    }
    let c = Civil { year: civil_year, month, day, ..Civil::default() };
    if !c.is_julian_valid() || !(MIN_DATE..END_DATE).contains(&c.date()) {
        return Err(err!(DATETIME_FIELD_OVERFLOW, "date out of range: {}", text()));
    }
    Ok(c.date())
}

fn make_time(hour: i32, minute: i32, second: f64) -> Result<i64> {
    let text = || format!("{hour}:{minute:02}:{}", seconds_text(second));
    let bad = hour < 0
        || !(0..60).contains(&minute)
        || second.is_nan()
        || !(0.0..=60.0).contains(&second)
        || hour > 24
        || (hour == 24 && (minute > 0 || second > 0.0));
    if bad {
        return Err(field_range("time", text()));
    }
    let micros = (second * 1e6).round_ties_even() as i64;
    Ok((hour as i64 * 60 + minute as i64) * USECS_PER_MINUTE + micros)
}

/// A number as C's `%g` writes it: six digits that mean something.
fn general(x: f64) -> String {
    let shown = format!("{x:.5e}");
    let Some((mantissa, exponent)) = shown.split_once('e') else { return shown };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{x:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

fn seconds_text(second: f64) -> String {
    match second.is_infinite() {
        true if second > 0.0 => "Infinity".to_string(),
        true => "-Infinity".to_string(),
        false => format!("{:0>2}", general(second)),
    }
}

fn make_timestamp(args: &[Datum]) -> Result<i64> {
    let n = |i: usize| args[i].as_i32();
    let (year, month, day) = (n(0), n(1), n(2));
    let text = format!("{year}-{month:02}-{day:02}");
    let date = date_of(year, month, day, || text.clone())?;
    let time = make_time(n(3), n(4), args[5].as_f64())?;
    (date as i64)
        .checked_mul(USECS_PER_DAY)
        .and_then(|d| d.checked_add(time))
        .filter(|t| is_valid_timestamp(*t))
        .ok_or_else(|| {
            let clock = format!("{}:{:02}:{}", n(3), n(4), seconds_text(args[5].as_f64()));
            err!(DATETIME_FIELD_OVERFLOW, "timestamp out of range: {text} {clock}")
        })
}

fn make_interval(args: &[Datum]) -> Result<Blob> {
    let n = |i: usize| args[i].as_i32() as i64;
    let range = || err!(DATETIME_FIELD_OVERFLOW, "interval out of range");
    let seconds = args[6].as_f64();
    if !seconds.is_finite() {
        return Err(range());
    }
    let months = i32::try_from(n(0) * 12 + n(1)).map_err(|_| range())?;
    let days = i32::try_from(n(2) * 7 + n(3)).map_err(|_| range())?;
    if (seconds * 1e6).is_infinite() {
        return Err(super::float::overflow());
    }
    let whole = (n(4) * 60 + n(5)) as f64 * 60e6 + (seconds * 1e6).round_ties_even();
    if whole.abs() >= 9.22e18 {
        return Err(range());
    }
    let micros = (n(4) * 60 + n(5)) * USECS_PER_MINUTE + (seconds * 1e6).round_ties_even() as i64;
    Interval::new(months, days, micros).finite().map(interval_datum)
}

fn overlaps(args: &[Datum], order: fn(&Datum, &Datum) -> Ordering) -> Datum {
    let (mut s1, mut e1, mut s2, mut e2) = (&args[0], &args[1], &args[2], &args[3]);
    // A period whose ends are swapped, or whose start is unknown, is taken the other way round.
    for (s, e) in [(&mut s1, &mut e1), (&mut s2, &mut e2)] {
        if s.is_null() || (!e.is_null() && order(s, e).is_gt()) {
            std::mem::swap(s, e);
        }
        if s.is_null() {
            return Datum::Null;
        }
    }
    if order(s1, s2).is_gt() {
        (s1, s2) = (s2, s1);
        (e1, e2) = (e2, e1);
    }
    if order(s1, s2).is_eq() {
        return if e1.is_null() || e2.is_null() { Datum::Null } else { Datum::Bool(true) };
    }
    // The first period starts earlier; where they are apart, that takes both ends to tell.
    match (e1.is_null(), e2.is_null()) {
        (false, _) if order(s2, e1).is_lt() => Datum::Bool(true),
        (false, false) => Datum::Bool(false),
        _ => Datum::Null,
    }
}

/// Ends given as intervals are counted from their starts; `bits` says which ones are.
fn overlaps_from(
    args: &[Datum],
    bits: u8,
    plus: impl Fn(i64, &Interval) -> Result<i64>,
) -> Result<Datum> {
    let mut out = args.to_vec();
    for (bit, start) in [(1, 0), (2, 2)] {
        if bits & bit != 0 {
            out[start + 1] = match (&args[start], &args[start + 1]) {
                (Datum::Null, _) | (_, Datum::Null) => Datum::Null,
                (t, i) => Datum::I64(plus(t.as_i64(), &interval(i.as_bytes()))?),
            };
        }
    }
    Ok(overlaps(&out, |a, b| a.as_i64().cmp(&b.as_i64())))
}

const OVERLAPS: &[FnDef] = &[
    raw!("1305"(cx, args) {
        overlaps_from(args, 3, |t, i| add_interval(t, i, Some(&cx.env.format().timezone)))
    }),
    raw!("1306"(cx, args) {
        overlaps_from(args, 2, |t, i| add_interval(t, i, Some(&cx.env.format().timezone)))
    }),
    raw!("1307"(cx, args) {
        overlaps_from(args, 1, |t, i| add_interval(t, i, Some(&cx.env.format().timezone)))
    }),
    raw!("1309"(cx, args) { overlaps_from(args, 3, |t, i| time_plus(t, i, 1)) }),
    raw!("1310"(cx, args) { overlaps_from(args, 2, |t, i| time_plus(t, i, 1)) }),
    raw!("1311"(cx, args) { overlaps_from(args, 1, |t, i| time_plus(t, i, 1)) }),
    raw!("2042"(cx, args) { overlaps_from(args, 3, |t, i| add_interval(t, i, None)) }),
    raw!("2043"(cx, args) { overlaps_from(args, 2, |t, i| add_interval(t, i, None)) }),
    raw!("2044"(cx, args) { overlaps_from(args, 1, |t, i| add_interval(t, i, None)) }),
];

const MAKE: &[FnDef] = &[
    row!(make_date(y: i32, m: i32, d: i32) { make_date(y, m, d) }),
    row!(make_time(h: i32, m: i32, s: f64) { make_time(h, m, s) }),
    raw!(make_timestamp(cx, args) { make_timestamp(args) }),
    raw!(make_timestamptz(cx, args) {
        from_local(make_timestamp(args)?, &cx.env.format().timezone)
    }),
    raw!(make_timestamptz_at_timezone(cx, args) {
        from_local(make_timestamp(args)?, &*zone_given(args[6].as_str(), cx)?)
    }),
    raw!(make_interval(cx, args) { make_interval(args) }),
    raw!(overlaps_timestamp(cx, args) {
        overlaps(args, |a, b| a.as_i64().cmp(&b.as_i64()))
    }),
    raw!(overlaps_time(cx, args) { overlaps(args, |a, b| a.as_i64().cmp(&b.as_i64())) }),
    raw!(overlaps_timetz(cx, args) {
        overlaps(args, |a, b| compare_timetz(a.as_bytes(), b.as_bytes()))
    }),
    row!(cx; in_range_timestamp_interval(v: i64, base: i64, o: &[u8], sub: bool, less: bool) {
        in_range(v, base, o, sub, less, None)
    }),
    row!(cx; in_range_timestamptz_interval(v: i64, base: i64, o: &[u8], sub: bool, less: bool) {
        in_range(v, base, o, sub, less, Some(&cx.env.format().timezone))
    }),
    row!(in_range_date_interval(v: i32, base: i32, o: &[u8], sub: bool, less: bool) {
        in_range(date_to_timestamp(v)?, date_to_timestamp(base)?, o, sub, less, None)
    }),
    row!(in_range_time_interval(v: i64, base: i64, o: &[u8], sub: bool, less: bool) {
        let i = interval(o);
        if i.micros < 0 {
            return Err(negative_offset());
        }
        let bound = base as i128 + if sub { -(i.micros as i128) } else { i.micros as i128 };
        if less { v as i128 <= bound } else { v as i128 >= bound }
    }),
    row!(in_range_timetz_interval(v: &[u8], base: &[u8], o: &[u8], sub: bool, less: bool) {
        let i = interval(o);
        if i.micros < 0 {
            return Err(negative_offset());
        }
        let ((v, v_west), (base, west)) = (timetz_parts(v), timetz_parts(base));
        let Some(bound) = base.checked_add(if sub { -i.micros } else { i.micros }) else {
            return Ok(Datum::Bool(less));
        };
        // Ordered by the moment, then by the zone; what is beyond all times wraps around.
        let moment = |t: i64, west: i32| t.wrapping_add(west as i64 * USECS_PER_SEC);
        let order = (moment(v, v_west), v_west).cmp(&(moment(bound, west), west));
        if less { order.is_le() } else { order.is_ge() }
    }),
    row!(in_range_interval_interval(v: &[u8], base: &[u8], o: &[u8], sub: bool, less: bool) {
        let i = interval(o);
        if i.span() < 0 {
            return Err(negative_offset());
        }
        let b = interval(base);
        // From one infinity, everything is within an infinite distance of the other.
        let far = i.is_infinite() && b.is_infinite() && (b.span() > 0) == sub;
        if far {
            return Ok(Datum::Bool(true));
        }
        let bound = if sub { b.sub(i)? } else { b.add(i)? };
        let order = interval(v).compare(&bound);
        if less { order.is_le() } else { order.is_ge() }
    }),
];

fn in_range(
    v: i64,
    base: i64,
    offset: &[u8],
    sub: bool,
    less: bool,
    zone: Option<&TimeZone>,
) -> Result<bool> {
    let i = interval(offset);
    if i.span() < 0 {
        return Err(negative_offset());
    }
    if i.is_infinite() && is_infinite(base) && (base == INFINITY) == sub {
        return Ok(true);
    }
    let bound =
        if sub { subtract_interval(base, &i, zone)? } else { add_interval(base, &i, zone)? };
    Ok(if less { v <= bound } else { v >= bound })
}

pub(super) const FNS: &[&[FnDef]] = &[
    OVERLAPS, DATE, TIME, TIMESTAMP, INTERVAL, TIMETZ, DATE_TS, TS_DATE, DATE_TZ, TZ_DATE, TS_TZ,
    TZ_TS, ARITHMETIC, CASTS, ZONES, NOW, MAKE,
];
