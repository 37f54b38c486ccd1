//! Dates, times, time zones and intervals.
//!
//! A date is days from 2000-01-01, a time microseconds from midnight, a timestamp microseconds
//! from 2000-01-01 (of UTC if with time zone); the extremes of their integers are infinities.
//! The calendar is the proleptic Gregorian one.

mod abbrev;
mod civil;
mod decode;
mod decode_interval;
mod encode;
mod interval;
mod iso_interval;
mod moment;
mod posix;
mod token;
mod zone;

pub use abbrev::{AbbrevZone, abbreviation, abbreviations};
pub use civil::{
    Civil, DAY_NAMES, MONTH_NAMES, date_from_julian, days_in_month, is_leap, julian_day,
    time_from_parts, time_parts,
};
pub use decode::{
    Decoded, DtError, Special, decode_date_time, decode_offset, decode_time, zone_by_word,
};
pub use decode_interval::decode_interval;
pub use encode::{
    Offset, write_date, write_interval, write_offset, write_time, write_timestamp,
    write_timestamptz,
};
pub use interval::{Interval, interval_from_typmod, interval_typmod_out, is_range};
pub(crate) use moment::note_read;
pub use moment::watch_present;
pub use zone::{TimeZone, ZoneInfo, set_zone_source, zone_names};

use base::{Error, Result, err};

/// Microseconds in a second.
pub const USECS_PER_SEC: i64 = 1_000_000;
/// Microseconds in a minute.
pub const USECS_PER_MINUTE: i64 = 60 * USECS_PER_SEC;
/// Microseconds in an hour.
pub const USECS_PER_HOUR: i64 = 60 * USECS_PER_MINUTE;
/// Microseconds in a day.
pub const USECS_PER_DAY: i64 = 24 * USECS_PER_HOUR;
/// Seconds in a day.
pub const SECS_PER_DAY: i64 = 86_400;
/// Julian day of 2000-01-01.
pub const EPOCH_JULIAN: i32 = 2_451_545;
/// Julian day of 1970-01-01.
pub const UNIX_EPOCH_JULIAN: i32 = 2_440_588;
/// Microseconds from 1970-01-01 to 2000-01-01.
pub const UNIX_OFFSET: i64 = (EPOCH_JULIAN - UNIX_EPOCH_JULIAN) as i64 * USECS_PER_DAY;

/// The date `infinity`.
pub const DATE_INFINITY: i32 = i32::MAX;
/// The date `-infinity`.
pub const DATE_NEG_INFINITY: i32 = i32::MIN;
/// The timestamp `infinity`.
pub const INFINITY: i64 = i64::MAX;
/// The timestamp `-infinity`.
pub const NEG_INFINITY: i64 = i64::MIN;

/// First timestamp: 4714-11-24 BC.
pub const MIN_TIMESTAMP: i64 = -211_813_488_000_000_000;
/// First instant past the last timestamp: 294277-01-01.
pub const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;
/// First day of a date.
pub const MIN_DATE: i32 = -EPOCH_JULIAN;
/// First day past the last date: 5874898-06-04.
pub const END_DATE: i32 = 2_147_483_494 - EPOCH_JULIAN;

/// Whether a timestamp is neither infinite nor out of range.
pub const fn is_valid_timestamp(t: i64) -> bool {
    MIN_TIMESTAMP <= t && t < END_TIMESTAMP
}

/// Whether a timestamp is an infinity.
pub const fn is_infinite(t: i64) -> bool {
    t == INFINITY || t == NEG_INFINITY
}

#[cold]
pub(crate) fn timestamp_range() -> Error {
    err!(DATETIME_FIELD_OVERFLOW, "timestamp out of range")
}

#[cold]
pub fn date_range_for_timestamp() -> Error {
    err!(DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")
}

/// Fails if a computed timestamp is out of range.
pub fn check_timestamp(t: i64) -> Result<i64> {
    if is_valid_timestamp(t) { Ok(t) } else { Err(timestamp_range()) }
}

/// Midnight of a date, infinities kept.
pub fn date_to_timestamp(date: i32) -> Result<i64> {
    match date {
        DATE_INFINITY => Ok(INFINITY),
        DATE_NEG_INFINITY => Ok(NEG_INFINITY),
        _ if date >= (END_TIMESTAMP / USECS_PER_DAY) as i32 => Err(date_range_for_timestamp()),
        _ => Ok(date as i64 * USECS_PER_DAY),
    }
}

/// The instant of a date's midnight, infinities kept.
pub fn date_to_instant(date: i32, zone: &TimeZone) -> Result<i64> {
    from_local(date_to_timestamp(date)?, zone).map_err(|_| date_range_for_timestamp())
}

/// Date and time of day of a timestamp that is not infinite.
pub const fn split(t: i64) -> (i32, i64) {
    (t.div_euclid(USECS_PER_DAY) as i32, t.rem_euclid(USECS_PER_DAY))
}

/// The local time, without zone, of an instant; infinities are kept.
pub fn to_local(t: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(t) {
        return Ok(t);
    }
    let local = t + zone.at(t).offset as i64 * USECS_PER_SEC;
    check_timestamp(local)
}

/// The instant of a local time; infinities are kept.
pub fn from_local(local: i64, zone: &TimeZone) -> Result<i64> {
    if is_infinite(local) {
        return Ok(local);
    }
    check_timestamp(local - zone.offset_of_local(local) as i64 * USECS_PER_SEC)
}

/// Rounds microseconds half up to `precision` digits after the second's point.
pub fn round_micros(t: i64, precision: i32) -> i64 {
    if !(0..6).contains(&precision) || is_infinite(t) {
        return t;
    }
    let unit = 10i64.pow(6 - precision as u32);
    let half = unit / 2;
    // Magnitudes are rounded, so that -0.5 goes to -1.
    if t >= 0 { (t + half) / unit * unit } else { -((-t + half) / unit * unit) }
}

#[cfg(test)]
mod tests;
