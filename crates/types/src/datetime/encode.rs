//! Dates, times and intervals as text.

use super::civil::{Civil, time_parts};
use super::interval::Interval;
use super::{DATE_INFINITY, DATE_NEG_INFINITY, INFINITY, NEG_INFINITY, TimeZone};
use super::{USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC};
use crate::io::{DateOrder, DateStyle, Format, IntervalStyle};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// An offset or an abbreviation to write after a timestamp.
#[derive(Clone, Copy, Debug)]
pub struct Offset<'a> {
    /// Seconds east of UTC.
    pub seconds: i32,
    /// The abbreviation, for the styles that show it.
    pub abbrev: Option<&'a str>,
}

fn two(n: i32, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8]);
}

fn four(n: i32, out: &mut Vec<u8>) {
    if (0..=9999).contains(&n) {
        two(n / 100, out);
        two(n % 100, out);
    } else {
        int(n as i64, out);
    }
}

fn int(n: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
}

/// The fraction of a second with its point, without trailing zeros; nothing if zero.
fn fraction(micros: i32, out: &mut Vec<u8>) {
    if micros == 0 {
        return;
    }
    out.push(b'.');
    let mut rest = micros.unsigned_abs();
    let mut unit = 100_000;
    while rest != 0 {
        out.push(b'0' + (rest / unit) as u8);
        rest %= unit;
        unit /= 10;
    }
}

/// Appends `hh:mm:ss[.ffffff]`.
pub fn write_time(time: i64, out: &mut Vec<u8>) {
    let (hour, minute, second, micros) = time_parts(time);
    clock(hour, minute, second, micros, out);
}

fn clock(hour: i32, minute: i32, second: i32, micros: i32, out: &mut Vec<u8>) {
    two(hour, out);
    out.push(b':');
    two(minute, out);
    out.push(b':');
    two(second, out);
    fraction(micros, out);
}

/// Appends `+hh[:mm[:ss]]`.
pub fn write_offset(seconds: i32, out: &mut Vec<u8>) {
    out.push(if seconds < 0 { b'-' } else { b'+' });
    let s = seconds.unsigned_abs();
    if s < 360_000 {
        two((s / 3600) as i32, out);
    } else {
        out.extend_from_slice((s / 3600).to_string().as_bytes());
    }
    let s = (s % 3600) as i32;
    if s % 3600 != 0 {
        out.push(b':');
        two(s / 60 % 60, out);
        if s % 60 != 0 {
            out.push(b':');
            two(s % 60, out);
        }
    }
}

/// Year as shown: BC years count from 1.
fn shown_year(year: i32) -> i32 {
    if year > 0 { year } else { 1 - year }
}

fn day_month(c: &Civil, separator: u8, day_first: bool, out: &mut Vec<u8>) {
    let (a, b) = if day_first { (c.day, c.month) } else { (c.month, c.day) };
    two(a, out);
    out.push(separator);
    two(b, out);
    out.push(separator);
    four(shown_year(c.year), out);
}

/// Appends a date.
pub fn write_date(date: i32, format: &Format, out: &mut Vec<u8>) {
    match date {
        DATE_INFINITY => return out.extend_from_slice(b"infinity"),
        DATE_NEG_INFINITY => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let c = Civil::from_date(date);
    let dmy = format.date_order == DateOrder::Dmy;
    match format.date_style {
        DateStyle::Iso => iso_date(&c, out),
        DateStyle::Sql => day_month(&c, b'/', dmy, out),
        DateStyle::German => day_month(&c, b'.', true, out),
        DateStyle::Postgres => day_month(&c, b'-', dmy, out),
    }
    if c.year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

fn iso_date(c: &Civil, out: &mut Vec<u8>) {
    four(shown_year(c.year), out);
    out.push(b'-');
    two(c.month, out);
    out.push(b'-');
    two(c.day, out);
}

/// Appends a local timestamp with an offset after it, if given.
pub fn write_timestamp(local: i64, zone: Option<Offset>, format: &Format, out: &mut Vec<u8>) {
    match local {
        INFINITY => return out.extend_from_slice(b"infinity"),
        NEG_INFINITY => return out.extend_from_slice(b"-infinity"),
        _ => {}
    }
    let c = Civil::from_timestamp(local);
    let dmy = format.date_order == DateOrder::Dmy;
    match format.date_style {
        DateStyle::Iso => iso_date(&c, out),
        DateStyle::Sql => day_month(&c, b'/', dmy, out),
        DateStyle::German => day_month(&c, b'.', true, out),
        DateStyle::Postgres => {
            out.extend_from_slice(DAYS[c.weekday() as usize].as_bytes());
            out.push(b' ');
            let month = MONTHS[(c.month - 1).clamp(0, 11) as usize].as_bytes();
            if dmy {
                two(c.day, out);
                out.push(b' ');
                out.extend_from_slice(month);
            } else {
                out.extend_from_slice(month);
                out.push(b' ');
                two(c.day, out);
            }
        }
    }
    out.push(b' ');
    clock(c.hour, c.minute, c.second, c.micros, out);
    if format.date_style == DateStyle::Postgres {
        out.push(b' ');
        four(shown_year(c.year), out);
    }
    if let Some(zone) = zone {
        match zone.abbrev.filter(|_| format.date_style != DateStyle::Iso) {
            Some(abbrev) => {
                out.push(b' ');
                out.extend_from_slice(abbrev.as_bytes());
            }
            None => {
                if format.date_style == DateStyle::Postgres {
                    out.push(b' ');
                }
                write_offset(zone.seconds, out);
            }
        }
    }
    if c.year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

/// Appends an instant in the session's zone.
pub fn write_timestamptz(t: i64, format: &Format, out: &mut Vec<u8>) {
    if super::is_infinite(t) {
        return write_timestamp(t, None, format, out);
    }
    let zone: &TimeZone = &format.timezone;
    let info = zone.at(t);
    let local = t.saturating_add(info.offset as i64 * USECS_PER_SEC);
    let offset = Offset { seconds: info.offset, abbrev: Some(info.abbrev) };
    write_timestamp(local, Some(offset), format, out);
}

struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
}

/// Appends an interval.
pub fn write_interval(value: &Interval, style: IntervalStyle, out: &mut Vec<u8>) {
    if *value == Interval::INFINITY {
        return out.extend_from_slice(b"infinity");
    }
    if *value == Interval::NEG_INFINITY {
        return out.extend_from_slice(b"-infinity");
    }
    let t = value.micros;
    let parts = Parts {
        year: (value.months / 12) as i64,
        month: (value.months % 12) as i64,
        day: value.days as i64,
        hour: t / USECS_PER_HOUR,
        minute: t % USECS_PER_HOUR / USECS_PER_MINUTE,
        second: t % USECS_PER_MINUTE / USECS_PER_SEC,
        micros: t % USECS_PER_SEC,
    };
    match style {
        IntervalStyle::Postgres => postgres(&parts, t, out),
        IntervalStyle::PostgresVerbose => verbose(&parts, out),
        IntervalStyle::SqlStandard => sql_standard(&parts, out),
        IntervalStyle::Iso8601 => iso(&parts, out),
    }
}

fn seconds(p: &Parts, fill: bool, out: &mut Vec<u8>) {
    let second = p.second.abs();
    if fill {
        two(second as i32, out);
    } else {
        int(second, out);
    }
    fraction(p.micros as i32, out);
}

fn postgres(p: &Parts, t: i64, out: &mut Vec<u8>) {
    let start = out.len();
    let mut before = false;
    for (n, unit) in [(p.year, "year"), (p.month, "mon"), (p.day, "day")] {
        if n == 0 {
            continue;
        }
        if out.len() > start {
            out.push(b' ');
        }
        if before && n > 0 {
            out.push(b'+');
        }
        int(n, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if n != 1 {
            out.push(b's');
        }
        before = n < 0;
    }
    if out.len() == start || t != 0 {
        if out.len() > start {
            out.push(b' ');
        }
        if t < 0 {
            out.push(b'-');
        } else if before {
            out.push(b'+');
        }
        let hour = p.hour.abs();
        if hour < 100 {
            two(hour as i32, out)
        } else {
            int(hour, out)
        }
        out.push(b':');
        two(p.minute.abs() as i32, out);
        out.push(b':');
        seconds(p, true, out);
    }
}

fn verbose(p: &Parts, out: &mut Vec<u8>) {
    out.push(b'@');
    let start = out.len();
    let mut before = false;
    let units =
        [(p.year, "year"), (p.month, "mon"), (p.day, "day"), (p.hour, "hour"), (p.minute, "min")];
    for (n, unit) in units {
        if n == 0 {
            continue;
        }
        if out.len() == start {
            before = n < 0;
        }
        let n = if before { -n } else { n };
        out.push(b' ');
        int(n, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if n != 1 {
            out.push(b's');
        }
    }
    if p.second != 0 || p.micros != 0 {
        let negative = p.second < 0 || p.micros < 0;
        out.push(b' ');
        if out.len() == start + 1 {
            before = negative;
        } else if negative != before {
            out.push(b'-');
        }
        seconds(p, false, out);
        out.extend_from_slice(b" sec");
        if p.second.abs() != 1 || p.micros != 0 {
            out.push(b's');
        }
    }
    if out.len() == start {
        out.extend_from_slice(b" 0");
    }
    if before {
        out.extend_from_slice(b" ago");
    }
}

fn sql_standard(p: &Parts, out: &mut Vec<u8>) {
    let all = [p.year, p.month, p.day, p.hour, p.minute, p.second, p.micros];
    let negative = all.iter().any(|n| *n < 0);
    let positive = all.iter().any(|n| *n > 0);
    let year_month = p.year != 0 || p.month != 0;
    let day_time = all[2..].iter().any(|n| *n != 0);
    let standard = !((negative && positive) || (year_month && day_time));
    if !negative && !positive {
        return out.push(b'0');
    }
    if !standard {
        let sign = |negative: bool| if negative { b'-' } else { b'+' };
        out.push(sign(p.year < 0 || p.month < 0));
        int(p.year.abs(), out);
        out.push(b'-');
        int(p.month.abs(), out);
        out.extend_from_slice(&[b' ', sign(p.day < 0)]);
        int(p.day.abs(), out);
        let time = p.hour < 0 || p.minute < 0 || p.second < 0 || p.micros < 0;
        out.extend_from_slice(&[b' ', sign(time)]);
        return sql_time(p, out);
    }
    if negative {
        out.push(b'-');
    }
    if year_month {
        int(p.year.abs(), out);
        out.push(b'-');
        return int(p.month.abs(), out);
    }
    if p.day != 0 {
        int(p.day.abs(), out);
        out.push(b' ');
    }
    sql_time(p, out);
}

fn sql_time(p: &Parts, out: &mut Vec<u8>) {
    int(p.hour.abs(), out);
    out.push(b':');
    two(p.minute.abs() as i32, out);
    out.push(b':');
    seconds(p, true, out);
}

fn iso(p: &Parts, out: &mut Vec<u8>) {
    out.push(b'P');
    let start = out.len();
    for (n, unit) in [(p.year, b'Y'), (p.month, b'M'), (p.day, b'D')] {
        if n != 0 {
            int(n, out);
            out.push(unit);
        }
    }
    if p.hour == 0 && p.minute == 0 && p.second == 0 && p.micros == 0 {
        if out.len() == start {
            out.extend_from_slice(b"T0S");
        }
        return;
    }
    out.push(b'T');
    for (n, unit) in [(p.hour, b'H'), (p.minute, b'M')] {
        if n != 0 {
            int(n, out);
            out.push(unit);
        }
    }
    if p.second != 0 || p.micros != 0 {
        if p.second < 0 || p.micros < 0 {
            out.push(b'-');
        }
        seconds(p, false, out);
        out.push(b'S');
    }
}
