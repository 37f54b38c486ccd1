//! `extract`, `date_part`, `date_trunc`, `date_bin`.

use super::datetime::{interval_datum, timestamp_range, zone_named};
use crate::call::{FnCtx, FnDef};
use base::{Error, Result, bail, err};
use types::Datum;
use types::compare::timetz_parts;
use types::datetime::*;
use types::numeric::Numeric;
use types::numeric::small::from_scaled;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    IsoYear,
    Julian,
    Dow,
    IsoDow,
    Doy,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

fn field(word: &str) -> Option<Field> {
    use Field::*;
    let lower = word.to_ascii_lowercase();
    let short: String = lower.chars().take(10).collect();
    Some(match short.as_str() {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Microseconds,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Milliseconds,
        "s" | "sec" | "secs" | "second" | "seconds" => Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Hour,
        "d" | "day" | "days" => Day,
        "w" | "week" | "weeks" => Week,
        "mon" | "mons" | "month" | "months" => Month,
        "qtr" | "quarter" => Quarter,
        "y" | "yr" | "yrs" | "year" | "years" => Year,
        "dec" | "decs" | "decade" | "decades" => Decade,
        "c" | "cent" | "century" | "centuries" => Century,
        "mil" | "mils" | "millennium" | "millennia" => Millennium,
        "isoyear" => IsoYear,
        "julian" | "j" | "jd" => Julian,
        "dow" => Dow,
        "isodow" => IsoDow,
        "doy" => Doy,
        "epoch" => Epoch,
        "timezone" => Timezone,
        "timezone_h" if lower == "timezone_hour" || lower == "timezone_h" => TimezoneHour,
        "timezone_m" if lower == "timezone_minute" || lower == "timezone_m" => TimezoneMinute,
        _ => return None,
    })
}

/// A unit's name as it is told: no longer than an identifier.
fn shown(word: &str) -> String {
    let end = word.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|e| *e < 64).last();
    word[..end.unwrap_or(0)].to_ascii_lowercase()
}

#[cold]
fn unknown(word: &str, type_name: &str) -> Error {
    let word = shown(word);
    err!(INVALID_PARAMETER_VALUE, "unit \"{word}\" not recognized for type {type_name}")
}

#[cold]
fn unsupported(word: &str, type_name: &str) -> Error {
    let word = shown(word);
    err!(FEATURE_NOT_SUPPORTED, "unit \"{word}\" not supported for type {type_name}")
}

/// A result with `scale` digits after the point.
#[derive(Clone, Copy)]
struct Scaled(i128, u32);

/// What a field is: a number, or an infinity, or NULL of an infinite input.
enum Part {
    Number(Scaled),
    Infinity(bool),
    Null,
}

impl Part {
    fn int(n: i64) -> Part {
        Part::Number(Scaled(n as i128, 0))
    }

    fn numeric(self) -> Datum {
        match self {
            Part::Number(Scaled(n, scale)) => Datum::Bytes(from_scaled(n, scale)),
            Part::Infinity(negative) => {
                let n = if negative { Numeric::NEG_INFINITY } else { Numeric::INFINITY };
                Datum::Bytes(n.encode().unwrap_or_default())
            }
            Part::Null => Datum::Null,
        }
    }

    fn float(self) -> Datum {
        Datum::F64(match self {
            Part::Number(Scaled(n, scale)) => {
                // In two parts, so that a whole number stays one.
                let unit = types::numeric::small::pow10(scale.min(30));
                (n / unit) as f64 + (n % unit) as f64 / unit as f64
            }
            Part::Infinity(true) => f64::NEG_INFINITY,
            Part::Infinity(false) => f64::INFINITY,
            Part::Null => return Datum::Null,
        })
    }
}

fn century_of(year: i32, unit: i32) -> i64 {
    // Year 0 is 1 BC; centuries and millennia count from 1.
    if year > 0 {
        ((year + unit - 1) / unit) as i64
    } else {
        -(((unit - 1 - (year - 1)) / unit) as i64)
    }
}

fn shown_year(year: i32) -> i64 {
    if year > 0 { year as i64 } else { year as i64 - 1 }
}

/// A field of a local date and time, if it is one.
fn civil_part(f: Field, c: &Civil) -> Option<Part> {
    let micros = (c.second as i64 * 1_000_000 + c.micros as i64) as i128;
    Some(match f {
        Field::Microseconds => Part::Number(Scaled(micros, 0)),
        Field::Milliseconds => Part::Number(Scaled(micros, 3)),
        Field::Second => Part::Number(Scaled(micros, 6)),
        Field::Minute => Part::int(c.minute as i64),
        Field::Hour => Part::int(c.hour as i64),
        Field::Day => Part::int(c.day as i64),
        Field::Week => Part::int(c.iso_week().1 as i64),
        Field::Month => Part::int(c.month as i64),
        Field::Quarter => Part::int(((c.month - 1) / 3 + 1) as i64),
        Field::Year => Part::int(shown_year(c.year)),
        Field::IsoYear => Part::int(shown_year(c.iso_week().0)),
        Field::Decade => Part::int(c.year.div_euclid(10) as i64),
        Field::Century => Part::int(century_of(c.year, 100)),
        Field::Millennium => Part::int(century_of(c.year, 1000)),
        Field::Dow => Part::int(c.weekday() as i64),
        Field::IsoDow => Part::int(if c.weekday() == 0 { 7 } else { c.weekday() as i64 }),
        Field::Doy => Part::int(c.day_of_year() as i64),
        _ => return None,
    })
}

/// A field of an infinite timestamp or date: those that grow are infinite, others NULL.
fn infinite_part(f: Field, negative: bool) -> Part {
    match f {
        Field::Year
        | Field::Decade
        | Field::Century
        | Field::Millennium
        | Field::Julian
        | Field::IsoYear
        | Field::Epoch => Part::Infinity(negative),
        _ => Part::Null,
    }
}

fn timestamp_part(word: &str, t: i64) -> Result<Part> {
    let name = "timestamp without time zone";
    let f = field(word).ok_or_else(|| unknown(word, name))?;
    let zoned = matches!(f, Field::Timezone | Field::TimezoneHour | Field::TimezoneMinute);
    if is_infinite(t) {
        return Ok(infinite_part(f, t == NEG_INFINITY));
    }
    if zoned {
        return Err(unsupported(word, name));
    }
    local_part(f, t, t).ok_or_else(|| unsupported(word, name))
}

/// A field of a local time whose instant is `utc`.
fn local_part(f: Field, local: i64, utc: i64) -> Option<Part> {
    let c = Civil::from_timestamp(local);
    match f {
        Field::Julian => Some(julian(&c)),
        Field::Epoch => Some(Part::Number(Scaled(utc as i128 + UNIX_OFFSET as i128, 6))),
        _ => civil_part(f, &c),
    }
}

/// The Julian day with the time of day as its fraction.
fn julian(c: &Civil) -> Part {
    let day = julian_day(c.year, c.month, c.day) as i64;
    Part::int(day).with_division(c.time())
}

impl Part {
    /// Adds a share of a day.
    fn with_division(self, time: i64) -> Part {
        let Part::Number(Scaled(day, _)) = self else { return self };
        let share = Numeric::from(time).div(&Numeric::from(USECS_PER_DAY)).unwrap_or(Numeric::ZERO);
        let scale = share.dscale as u32;
        let shifted = share.shift10(scale as i32).to_i128().unwrap_or(0);
        let unit = types::numeric::small::pow10(scale.min(30));
        Part::Number(Scaled(day * unit + shifted, scale))
    }
}

fn timestamptz_part(cx: &FnCtx, word: &str, t: i64) -> Result<Part> {
    let name = "timestamp with time zone";
    let f = field(word).ok_or_else(|| unknown(word, name))?;
    if is_infinite(t) {
        return Ok(infinite_part(f, t == NEG_INFINITY));
    }
    let zone = &cx.env.format().timezone;
    let offset = zone.at(t).offset as i64;
    Ok(match f {
        Field::Timezone => Part::int(offset),
        Field::TimezoneHour => Part::int(offset / 3600),
        Field::TimezoneMinute => Part::int(offset / 60 % 60),
        _ => {
            let local = to_local(t, zone)?;
            return local_part(f, local, t).ok_or_else(|| unsupported(word, name));
        }
    })
}

fn date_part(word: &str, date: i32) -> Result<Part> {
    let f = field(word).ok_or_else(|| unknown(word, "date"))?;
    let time_of_day = matches!(
        f,
        Field::Microseconds
            | Field::Milliseconds
            | Field::Second
            | Field::Minute
            | Field::Hour
            | Field::Timezone
            | Field::TimezoneHour
            | Field::TimezoneMinute
    );
    if time_of_day {
        return Err(unsupported(word, "date"));
    }
    if date == DATE_INFINITY || date == DATE_NEG_INFINITY {
        return Ok(infinite_part(f, date == DATE_NEG_INFINITY));
    }
    Ok(match f {
        Field::Julian => Part::int(date as i64 + EPOCH_JULIAN as i64),
        Field::Epoch => {
            Part::int((date as i64 + (EPOCH_JULIAN - UNIX_EPOCH_JULIAN) as i64) * SECS_PER_DAY)
        }
        _ => civil_part(f, &Civil::from_date(date)).ok_or_else(|| unsupported(word, "date"))?,
    })
}

fn time_part(word: &str, time: i64, west: Option<i32>) -> Result<Part> {
    let name = if west.is_some() { "time with time zone" } else { "time without time zone" };
    let f = field(word).ok_or_else(|| unknown(word, name))?;
    let (hour, minute, second, micros) = time_parts(time);
    let c = Civil { hour, minute, second, micros, ..Civil::default() };
    Ok(match (f, west) {
        (Field::Timezone, Some(west)) => Part::int(-west as i64),
        (Field::TimezoneHour, Some(west)) => Part::int((-west / 3600) as i64),
        (Field::TimezoneMinute, Some(west)) => Part::int((-west / 60 % 60) as i64),
        (Field::Epoch, west) => {
            let west = west.unwrap_or(0) as i64 * USECS_PER_SEC;
            Part::Number(Scaled((time + west) as i128, 6))
        }
        (
            Field::Microseconds | Field::Milliseconds | Field::Second | Field::Minute | Field::Hour,
            _,
        ) => civil_part(f, &c).unwrap_or(Part::Null),
        _ => return Err(unsupported(word, name)),
    })
}

fn interval_part(word: &str, i: &Interval) -> Result<Part> {
    let name = "interval";
    let f = field(word).ok_or_else(|| unknown(word, name))?;
    if i.is_infinite() {
        let negative = *i == Interval::NEG_INFINITY;
        return Ok(match f {
            Field::Hour
            | Field::Day
            | Field::Year
            | Field::Decade
            | Field::Century
            | Field::Millennium
            | Field::Epoch => Part::Infinity(negative),
            Field::Microseconds
            | Field::Milliseconds
            | Field::Second
            | Field::Minute
            | Field::Week
            | Field::Month
            | Field::Quarter => Part::Null,
            _ => return Err(unsupported(word, name)),
        });
    }
    let t = i.micros;
    let years = (i.months / 12) as i64;
    let seconds = (t % USECS_PER_MINUTE) as i128;
    Ok(match f {
        Field::Microseconds => Part::Number(Scaled(seconds, 0)),
        Field::Milliseconds => Part::Number(Scaled(seconds, 3)),
        Field::Second => Part::Number(Scaled(seconds, 6)),
        Field::Minute => Part::int(t / USECS_PER_MINUTE % 60),
        Field::Hour => Part::int(t / USECS_PER_HOUR),
        Field::Day => Part::int(i.days as i64),
        Field::Week => Part::int((i.days / 7) as i64),
        Field::Month => Part::int((i.months % 12) as i64),
        Field::Quarter => {
            let month = i.months % 12;
            Part::int(if i.months >= 0 { month / 3 + 1 } else { month / 3 - 1 } as i64)
        }
        Field::Year => Part::int(years),
        Field::Decade => Part::int(years / 10),
        Field::Century => Part::int(years / 100),
        Field::Millennium => Part::int(years / 1000),
        Field::Epoch => {
            // A year counts as 365.25 days, a month as 30.
            let quarter_days = years as i128 * 1461 + (i.months % 12) as i128 * 120;
            let days = i.days as i128 * 4 + quarter_days;
            Part::Number(Scaled(days * (SECS_PER_DAY as i128 / 4) * 1_000_000 + t as i128, 6))
        }
        _ => return Err(unsupported(word, name)),
    })
}

const PARTS: &[FnDef] = &[
    row!(extract_timestamp(w: &str, t: i64) { timestamp_part(w, t).map(Part::numeric) }),
    row!(timestamp_part(w: &str, t: i64) { timestamp_part(w, t).map(Part::float) }),
    row!(cx; extract_timestamptz(w: &str, t: i64) {
        timestamptz_part(cx, w, t).map(Part::numeric)
    }),
    row!(cx; timestamptz_part(w: &str, t: i64) {
        timestamptz_part(cx, w, t).map(Part::float)
    }),
    row!(extract_date(w: &str, d: i32) { date_part(w, d).map(Part::numeric) }),
    row!("1384"(w: &str, d: i32) { timestamp_part(w, date_to_timestamp(d)?).map(Part::float) }),
    row!(extract_time(w: &str, t: i64) { time_part(w, t, None).map(Part::numeric) }),
    row!(time_part(w: &str, t: i64) { time_part(w, t, None).map(Part::float) }),
    row!(extract_timetz(w: &str, a: &[u8]) {
        let (t, west) = timetz_parts(a);
        time_part(w, t, Some(west)).map(Part::numeric)
    }),
    row!(timetz_part(w: &str, a: &[u8]) {
        let (t, west) = timetz_parts(a);
        time_part(w, t, Some(west)).map(Part::float)
    }),
    row!(extract_interval(w: &str, a: &[u8]) {
        interval_part(w, &Interval::decode(a)).map(Part::numeric)
    }),
    row!(interval_part(w: &str, a: &[u8]) {
        interval_part(w, &Interval::decode(a)).map(Part::float)
    }),
];

/// A local time cut down to a field; None if the field cannot be.
fn truncate(f: Field, local: i64) -> Option<i64> {
    let mut c = Civil::from_timestamp(local);
    match f {
        Field::Microseconds => {}
        Field::Milliseconds => c.micros = c.micros / 1000 * 1000,
        Field::Second => c.micros = 0,
        Field::Minute => (c.second, c.micros) = (0, 0),
        Field::Hour => (c.minute, c.second, c.micros) = (0, 0, 0),
        Field::Week => {
            let date = c.date();
            let monday = date - (c.weekday() + 6) % 7;
            return (monday as i64).checked_mul(USECS_PER_DAY);
        }
        _ => {
            (c.hour, c.minute, c.second, c.micros) = (0, 0, 0, 0);
            match f {
                Field::Day => {}
                Field::Month => c.day = 1,
                Field::Quarter => (c.month, c.day) = ((c.month - 1) / 3 * 3 + 1, 1),
                Field::Year => (c.month, c.day) = (1, 1),
                Field::Decade => {
                    (c.year, c.month, c.day) = (c.year.div_euclid(10) * 10, 1, 1);
                }
                Field::Century => {
                    (c.year, c.month, c.day) = (first_of(c.year, 100), 1, 1);
                }
                Field::Millennium => {
                    (c.year, c.month, c.day) = (first_of(c.year, 1000), 1, 1);
                }
                _ => return None,
            }
        }
    }
    c.timestamp()
}

/// First year of a century or millennium.
fn first_of(year: i32, unit: i32) -> i32 {
    if year > 0 {
        (year + unit - 1) / unit * unit - unit + 1
    } else {
        -((unit - 1 - (year - 1)) / unit) * unit + 1
    }
}

/// The error for a field that nothing can be cut down to: some are only known to `extract`.
fn not_truncated(f: Field, word: &str, name: &str) -> Error {
    match f {
        Field::Timezone | Field::TimezoneHour | Field::TimezoneMinute => unsupported(word, name),
        _ => unknown(word, name),
    }
}

fn trunc_timestamp(word: &str, t: i64) -> Result<i64> {
    let name = "timestamp without time zone";
    let f = field(word).ok_or_else(|| unknown(word, name))?;
    if is_infinite(t) {
        return match truncate(f, 0) {
            Some(_) => Ok(t),
            None => Err(not_truncated(f, word, name)),
        };
    }
    let out = truncate(f, t).ok_or_else(|| not_truncated(f, word, name))?;
    if is_valid_timestamp(out) { Ok(out) } else { Err(timestamp_range()) }
}

fn trunc_timestamptz(word: &str, t: i64, zone: &TimeZone) -> Result<i64> {
    let name = "timestamp with time zone";
    let f = field(word).ok_or_else(|| unknown(word, name))?;
    let local = if is_infinite(t) { 0 } else { to_local(t, zone)? };
    let out = truncate(f, local).ok_or_else(|| not_truncated(f, word, name))?;
    if is_infinite(t) {
        return Ok(t);
    }
    // Within a day the offset stays what it was, across a change of summer time too.
    let small = matches!(
        f,
        Field::Hour | Field::Minute | Field::Second | Field::Milliseconds | Field::Microseconds
    );
    if small {
        return check_timestamp(out - (local - t));
    }
    from_local(out, zone)
}

fn trunc_interval(word: &str, i: Interval) -> Result<Interval> {
    let name = "interval";
    let f = field(word).ok_or_else(|| unknown(word, name))?;
    let mut out = i;
    let cut = |t: i64, unit: i64| t / unit * unit;
    match f {
        Field::Week => {
            return Err(unsupported(word, name).detail("Months usually have fractional weeks."));
        }
        _ if i.is_infinite() => {
            if truncate(f, 0).is_none() {
                return Err(not_truncated(f, word, name));
            }
        }
        Field::Microseconds => {}
        Field::Milliseconds => out.micros = cut(i.micros, 1000),
        Field::Second => out.micros = cut(i.micros, USECS_PER_SEC),
        Field::Minute => out.micros = cut(i.micros, USECS_PER_MINUTE),
        Field::Hour => out.micros = cut(i.micros, USECS_PER_HOUR),
        Field::Day => out.micros = 0,
        Field::Month => out = Interval::new(i.months, 0, 0),
        Field::Quarter => out = Interval::new(i.months / 3 * 3, 0, 0),
        Field::Year => out = Interval::new(i.months / 12 * 12, 0, 0),
        Field::Decade => out = Interval::new(i.months / 120 * 120, 0, 0),
        Field::Century => out = Interval::new(i.months / 1200 * 1200, 0, 0),
        Field::Millennium => out = Interval::new(i.months / 12000 * 12000, 0, 0),
        _ => return Err(not_truncated(f, word, name)),
    }
    Ok(out)
}

fn bin(stride: &Interval, t: i64, origin: i64) -> Result<i64> {
    if is_infinite(t) {
        return Ok(t);
    }
    if is_infinite(origin) {
        bail!(DATETIME_FIELD_OVERFLOW, "origin out of range");
    }
    if stride.is_infinite() {
        bail!(DATETIME_FIELD_OVERFLOW, "timestamps cannot be binned into infinite intervals");
    }
    if stride.months != 0 {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years"
        );
    }
    let width = stride.span();
    let width =
        i64::try_from(width).map_err(|_| err!(DATETIME_FIELD_OVERFLOW, "interval out of range"))?;
    if width <= 0 {
        bail!(DATETIME_FIELD_OVERFLOW, "stride must be greater than zero");
    }
    let since = t
        .checked_sub(origin)
        .ok_or_else(|| err!(DATETIME_FIELD_OVERFLOW, "interval out of range"))?;
    let out = origin as i128 + since.div_euclid(width) as i128 * width as i128;
    i64::try_from(out).ok().filter(|t| is_valid_timestamp(*t)).ok_or_else(timestamp_range)
}

const TRUNC: &[FnDef] = &[
    row!(timestamp_trunc(w: &str, t: i64) { trunc_timestamp(w, t) }),
    row!(cx; timestamptz_trunc(w: &str, t: i64) {
        trunc_timestamptz(w, t, &cx.env.format().timezone)
    }),
    row!(cx; timestamptz_trunc_zone(w: &str, t: i64, zone: &str) {
        trunc_timestamptz(w, t, &*zone_named(zone, cx)?)
    }),
    row!(interval_trunc(w: &str, a: &[u8]) {
        trunc_interval(w, Interval::decode(a)).map(interval_datum)
    }),
    row!(timestamp_bin(s: &[u8], t: i64, origin: i64) { bin(&Interval::decode(s), t, origin) }),
    row!(timestamptz_bin(s: &[u8], t: i64, origin: i64) { bin(&Interval::decode(s), t, origin) }),
];

pub(super) const FNS: &[&[FnDef]] = &[PARTS, TRUNC];
