//! Dates and times as text.

use super::IoCtx;
use super::dispatch::syntax;
use crate::compare::timetz_parts;
use crate::datetime::*;
use base::{Result, err};

fn round_time(t: i64, typmod: i32) -> i64 {
    round_micros(t, typmod)
}

pub(super) fn date_in(text: &str, cx: &IoCtx) -> Result<i32> {
    let fail = |e: DtError| e.into_error(text, "date");
    let d = decode_date_time(text, cx.format, cx.now).map_err(fail)?;
    Ok(match d.special {
        Some(Special::Infinity) => DATE_INFINITY,
        Some(Special::NegInfinity) => DATE_NEG_INFINITY,
        Some(Special::Epoch) => UNIX_EPOCH_JULIAN - EPOCH_JULIAN,
        Some(Special::Now) => split(to_local(cx.now, &cx.format.timezone)?).0,
        None => {
            let date = d.date();
            if !d.civil.is_julian_valid() || !(MIN_DATE..END_DATE).contains(&date) {
                return Err(err!(DATETIME_FIELD_OVERFLOW, "date out of range: \"{text}\""));
            }
            date
        }
    })
}

pub(super) fn time_in(text: &str, typmod: i32, cx: &IoCtx) -> Result<i64> {
    let fail = |e: DtError| e.into_error(text, "time");
    let d = decode_time(text, cx.format, cx.now).map_err(fail)?;
    match d.special {
        Some(Special::Now) => Ok(split(to_local(cx.now, &cx.format.timezone)?).1),
        Some(_) => Err(syntax_time("time", text)),
        // A zone whose offset depends on the date says nothing without one.
        None if d.zone.is_some() && !d.abbreviated && !d.has_date => Err(syntax_time("time", text)),
        None => Ok(round_time(d.civil.time(), typmod)),
    }
}

fn syntax_time(name: &str, text: &str) -> base::Error {
    let _ = syntax;
    DtError::BadFormat.into_error(text, name)
}

/// Time of day and seconds west of UTC as stored.
pub fn timetz_bytes(time: i64, west: i32) -> Vec<u8> {
    let mut out = time.to_le_bytes().to_vec();
    out.extend_from_slice(&west.to_le_bytes());
    out
}

pub(super) fn timetz_in(text: &str, typmod: i32, cx: &IoCtx) -> Result<Vec<u8>> {
    let name = "time with time zone";
    let d = decode_time(text, cx.format, cx.now).map_err(|e| e.into_error(text, name))?;
    let today = to_local(cx.now, &cx.format.timezone)?;
    match d.special {
        Some(Special::Now) => {
            let west = -cx.format.timezone.at(cx.now).offset;
            Ok(timetz_bytes(split(today).1, west))
        }
        Some(_) => Err(syntax_time(name, text)),
        None => {
            let time = d.civil.time();
            if d.zone.is_some() && !d.abbreviated && !d.has_date {
                // Without a date it is not known which of the zone's offsets holds.
                return Err(syntax_time(name, text));
            }
            let local = if d.has_date {
                d.local().map_err(|e| e.into_error(text, name))?
            } else {
                note_read();
                split(today).0 as i64 * USECS_PER_DAY + time
            };
            let west = -d.offset_at(local, &cx.format.timezone);
            Ok(timetz_bytes(round_time(time, typmod), west))
        }
    }
}

pub(super) fn timetz_out(bytes: &[u8], out: &mut Vec<u8>) {
    let (time, west) = timetz_parts(bytes);
    write_time(time, out);
    write_offset(-west, out);
}

pub(super) fn timestamp_in(text: &str, typmod: i32, cx: &IoCtx) -> Result<i64> {
    let name = "timestamp";
    let d = decode_date_time(text, cx.format, cx.now).map_err(|e| e.into_error(text, name))?;
    let local = match d.special {
        Some(Special::Infinity) => return Ok(INFINITY),
        Some(Special::NegInfinity) => return Ok(NEG_INFINITY),
        Some(Special::Epoch) => -UNIX_OFFSET,
        Some(Special::Now) => to_local(cx.now, &cx.format.timezone)?,
        None => d.local().map_err(|_| out_of_range(text))?,
    };
    check_precision(typmod)?;
    in_range(round_micros(local, typmod), text)
}

fn out_of_range(text: &str) -> base::Error {
    err!(DATETIME_FIELD_OVERFLOW, "timestamp out of range: \"{text}\"")
}

fn check_precision(typmod: i32) -> Result<()> {
    match typmod {
        -1..=6 => Ok(()),
        n => Err(err!(INVALID_PARAMETER_VALUE, "timestamp({n}) precision must be between 0 and 6")),
    }
}

fn in_range(t: i64, text: &str) -> Result<i64> {
    if is_valid_timestamp(t) { Ok(t) } else { Err(out_of_range(text)) }
}

pub(super) fn timestamptz_in(text: &str, typmod: i32, cx: &IoCtx) -> Result<i64> {
    let name = "timestamp with time zone";
    let d = decode_date_time(text, cx.format, cx.now).map_err(|e| e.into_error(text, name))?;
    let t = match d.special {
        Some(Special::Infinity) => return Ok(INFINITY),
        Some(Special::NegInfinity) => return Ok(NEG_INFINITY),
        Some(Special::Epoch) => -UNIX_OFFSET,
        Some(Special::Now) => cx.now,
        None => {
            let local = d.local().map_err(|_| out_of_range(text))?;
            let offset = d.offset_at(local, &cx.format.timezone);
            local.checked_sub(offset as i64 * USECS_PER_SEC).ok_or_else(|| out_of_range(text))?
        }
    };
    check_precision(typmod)?;
    in_range(round_micros(t, typmod), text)
}
