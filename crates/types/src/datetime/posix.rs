//! POSIX time zone specifications: `EST5EDT,M3.2.0,M11.1.0`, `<+03>-3`.

use super::civil::{date_from_julian, is_leap, julian_day};
use super::zone::ZoneInfo;
use super::{SECS_PER_DAY, UNIX_EPOCH_JULIAN};

/// When in a year a change happens, in local time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    day: Day,
    /// Seconds from midnight; may be negative or beyond a day.
    time: i32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Day {
    /// Month, week (5 = last), weekday.
    MonthWeek(i32, i32, i32),
    /// Day from 1, never counting February 29th.
    Julian(i32),
    /// Day from 0.
    Zero(i32),
}

/// A rule for all times.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PosixRule {
    /// Abbreviation and offset east of UTC of standard time.
    pub(super) std: (String, i32),
    /// The same of summer time.
    pub(super) dst: Option<(String, i32)>,
    start: Change,
    end: Change,
}

const US_START: Change = Change { day: Day::MonthWeek(3, 2, 0), time: 7200 };
const US_END: Change = Change { day: Day::MonthWeek(11, 1, 0), time: 7200 };

impl PosixRule {
    pub(super) fn parse(text: &str) -> Option<PosixRule> {
        let (std, rest) = abbrev(text)?;
        let (offset, rest) = offset(rest)?;
        let std = (std.to_string(), -offset);
        let mut rule = PosixRule { std, dst: None, start: US_START, end: US_END };
        if rest.is_empty() {
            return Some(rule);
        }
        let (dst, rest) = abbrev(rest)?;
        if dst.is_empty() {
            return None;
        }
        let (dst_offset, rest) = match rest.as_bytes().first() {
            None | Some(b',' | b';') => (offset - 3600, rest),
            _ => self::offset(rest)?,
        };
        rule.dst = Some((dst.to_string(), -dst_offset));
        if let Some(rest) = rest.strip_prefix([',', ';']) {
            let (start, end) = rest.split_once(',')?;
            rule.start = change(start)?;
            rule.end = change(end)?;
        } else if !rest.is_empty() {
            return None;
        }
        Some(rule)
    }

    /// Moments when summer time starts and ends in a year.
    fn changes(&self, year: i32, dst_offset: i32) -> (i64, i64) {
        (self.start.moment(year, self.std.1), self.end.moment(year, dst_offset))
    }

    pub(super) fn at(&self, seconds: i64) -> ZoneInfo<'_> {
        let std = ZoneInfo { offset: self.std.1, dst: false, abbrev: &self.std.0 };
        let Some((abbrev, offset)) = &self.dst else { return std };
        let (start, end) = self.changes(year_of(seconds + self.std.1 as i64), *offset);
        let summer = if start < end {
            start <= seconds && seconds < end
        } else {
            !(end <= seconds && seconds < start)
        };
        if summer { ZoneInfo { offset: *offset, dst: true, abbrev } } else { std }
    }

    pub(super) fn next_change(&self, seconds: i64) -> Option<i64> {
        let offset = self.dst.as_ref()?.1;
        let year = year_of(seconds);
        (year - 1..=year + 2)
            .flat_map(|y| {
                let (start, end) = self.changes(y, offset);
                [start, end]
            })
            .filter(|m| *m > seconds)
            .min()
    }

    pub(super) fn abbreviation(&self, abbrev: &str) -> Option<(i32, bool)> {
        if self.std.0.eq_ignore_ascii_case(abbrev) {
            return Some((self.std.1, false));
        }
        let (name, offset) = self.dst.as_ref()?;
        name.eq_ignore_ascii_case(abbrev).then_some((*offset, true))
    }
}

fn year_of(seconds: i64) -> i32 {
    let day = seconds.div_euclid(SECS_PER_DAY) + UNIX_EPOCH_JULIAN as i64;
    date_from_julian(day as i32).0
}

impl Change {
    /// Seconds from 1970 of the change in a year, where local time is `offset` east of UTC.
    fn moment(&self, year: i32, offset: i32) -> i64 {
        let january = julian_day(year, 1, 1);
        let day = match self.day {
            Day::Zero(n) => january + n,
            Day::Julian(n) => january + n - 1 + (is_leap(year) && n >= 60) as i32,
            Day::MonthWeek(month, week, weekday) => {
                let first = julian_day(year, month, 1);
                let shift = (weekday - (first + 1).rem_euclid(7)).rem_euclid(7);
                let mut day = first + shift + 7 * (week - 1);
                let days = super::civil::days_in_month(year, month);
                while day >= first + days {
                    day -= 7;
                }
                day
            }
        };
        (day - UNIX_EPOCH_JULIAN) as i64 * SECS_PER_DAY + self.time as i64 - offset as i64
    }
}

/// A name, which may be empty, as in `-13:00`, and the rest.
fn abbrev(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('<') {
        return rest.split_once('>');
    }
    let end = text.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+'));
    Some(text.split_at(end.unwrap_or(text.len())))
}

/// `[+-]hh[:mm[:ss]]` as seconds, and the rest.
fn offset(text: &str) -> Option<(i32, &str)> {
    let (sign, body) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (mut seconds, mut rest) = part(body, 167)?;
    seconds *= 3600;
    // A second of 60 is a leap second's.
    for (unit, most) in [(60, 59), (1, 60)] {
        let Some(more) = rest.strip_prefix(':') else { break };
        let (n, more) = part(more, most)?;
        seconds += n * unit;
        rest = more;
    }
    Some((sign * seconds, rest))
}

/// A number up to `most`, and the rest.
fn part(text: &str, most: i32) -> Option<(i32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let n: i32 = text[..end].parse().ok()?;
    (n <= most).then(|| (n, &text[end..]))
}

fn change(text: &str) -> Option<Change> {
    let (day, time) = match text.split_once('/') {
        Some((day, time)) => {
            let (seconds, rest) = offset(time)?;
            if !rest.is_empty() {
                return None;
            }
            (day, seconds)
        }
        None => (text, 7200),
    };
    let day = if let Some(rest) = day.strip_prefix('M') {
        let mut parts = rest.split('.').map(|p| p.parse::<i32>().ok());
        let (month, week, weekday) = (parts.next()??, parts.next()??, parts.next()??);
        if !(1..=12).contains(&month) || !(1..=5).contains(&week) || !(0..=6).contains(&weekday) {
            return None;
        }
        Day::MonthWeek(month, week, weekday)
    } else if let Some(rest) = day.strip_prefix('J') {
        Day::Julian(rest.parse().ok()?)
    } else {
        Day::Zero(day.parse().ok()?)
    };
    Some(Change { day, time })
}
