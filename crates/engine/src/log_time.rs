//! Times of the log: stamps, and names of log files.

use std::fmt::Write;
use types::datetime::{DAY_NAMES, MONTH_NAMES, TimeZone};

/// A moment as clocks somewhere show it.
struct Local {
    year: i64,
    month: i64,
    day: i64,
    /// Seconds of the day.
    second: i64,
    /// Days since 1970-01-01.
    days: i64,
    offset: i32,
    abbrev: String,
}

fn local(seconds: i64, zone: &TimeZone) -> Local {
    let info = zone.at_unix(seconds);
    let here = seconds + i64::from(info.offset);
    let days = here.div_euclid(86_400);
    let (year, month, day) = civil(days);
    let (offset, abbrev) = (info.offset, info.abbrev.to_string());
    Local { year, month, day, second: here.rem_euclid(86_400), days, offset, abbrev }
}

/// Year, month and day of a day counted from 1970-01-01.
fn civil(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let m = if mp < 10 { mp + 3 } else { mp - 9 };
    (yoe + era * 400 + (m <= 2) as i64, m, doy - (153 * mp + 2) / 5 + 1)
}

/// As `2026-01-31 12:00:00 UTC`.
pub fn seconds_time(micros: i64, zone: &TimeZone) -> String {
    strftime("%Y-%m-%d %H:%M:%S %Z", micros.div_euclid(1_000_000), zone)
}

/// As `2026-01-31 12:00:00.123 UTC`.
pub fn full_time(micros: i64, zone: &TimeZone) -> String {
    let ms = micros.div_euclid(1000).rem_euclid(1000);
    let pattern = format!("%Y-%m-%d %H:%M:%S.{ms:03} %Z");
    strftime(&pattern, micros.div_euclid(1_000_000), zone)
}

/// As the C function of this name does in the C locale.
pub fn strftime(pattern: &str, seconds: i64, zone: &TimeZone) -> String {
    let t = local(seconds, zone);
    let mut out = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let Some(c) = chars.next() else {
            out.push('%');
            break;
        };
        one(c, &t, seconds, zone, &mut out);
    }
    out
}

fn one(c: char, t: &Local, seconds: i64, zone: &TimeZone, out: &mut String) {
    let (hour, minute, second) = (t.second / 3600, t.second / 60 % 60, t.second % 60);
    let weekday = (t.days + 4).rem_euclid(7);
    let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
    let year_day = || (0..t.days + 1).rev().take_while(|d| civil(*d).0 == t.year).count() as i64;
    let mut again = |pattern: &str| out.push_str(&strftime(pattern, seconds, zone));
    match c {
        'c' => return again("%a %b %e %H:%M:%S %Y"),
        'D' | 'x' => return again("%m/%d/%y"),
        'F' => return again("%Y-%m-%d"),
        'R' => return again("%H:%M"),
        'r' => return again("%I:%M:%S %p"),
        'T' | 'X' => return again("%H:%M:%S"),
        _ => {}
    }
    let _ = match c {
        'Y' => write!(out, "{:04}", t.year),
        'C' => write!(out, "{:02}", t.year / 100),
        'y' => write!(out, "{:02}", t.year.rem_euclid(100)),
        'm' => write!(out, "{:02}", t.month),
        'd' => write!(out, "{:02}", t.day),
        'e' => write!(out, "{:2}", t.day),
        'H' => write!(out, "{hour:02}"),
        'I' => write!(out, "{hour12:02}"),
        'k' => write!(out, "{hour:2}"),
        'l' => write!(out, "{hour12:2}"),
        'M' => write!(out, "{minute:02}"),
        'S' => write!(out, "{second:02}"),
        'p' => write!(out, "{}", if hour < 12 { "AM" } else { "PM" }),
        'j' => write!(out, "{:03}", year_day()),
        'A' => write!(out, "{}", DAY_NAMES[weekday as usize]),
        'a' => write!(out, "{}", &DAY_NAMES[weekday as usize][..3]),
        'B' => write!(out, "{}", MONTH_NAMES[t.month as usize - 1]),
        'b' | 'h' => write!(out, "{}", &MONTH_NAMES[t.month as usize - 1][..3]),
        'u' => write!(out, "{}", if weekday == 0 { 7 } else { weekday }),
        'w' => write!(out, "{weekday}"),
        'U' => write!(out, "{:02}", (year_day() + 6 - weekday) / 7),
        'W' => write!(out, "{:02}", (year_day() + 6 - (weekday + 6) % 7) / 7),
        's' => write!(out, "{seconds}"),
        'Z' => write!(out, "{}", t.abbrev),
        'z' => {
            let minutes = t.offset.abs() / 60;
            let sign = if t.offset < 0 { '-' } else { '+' };
            write!(out, "{sign}{:02}{:02}", minutes / 60, minutes % 60)
        }
        'n' => writeln!(out),
        't' => write!(out, "\t"),
        '%' => write!(out, "%"),
        other => write!(out, "%{other}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let utc = TimeZone::utc();
        assert_eq!(seconds_time(0, &utc), "1970-01-01 00:00:00 UTC");
        assert_eq!(full_time(1_709_210_096_789_000, &utc), "2024-02-29 12:34:56.789 UTC");
        let name = |p: &str| strftime(p, 1_709_210_096, &utc);
        assert_eq!(name("postgresql-%Y-%m-%d_%H%M%S.log"), "postgresql-2024-02-29_123456.log");
        assert_eq!(
            name("%a %A %b %B %j %p %I %y %u %w %%"),
            "Thu Thursday Feb February 060 PM 12 24 4 4 %"
        );
        assert_eq!(name("%F %T %D %R %z %U %W"), "2024-02-29 12:34:56 02/29/24 12:34 +0000 08 09");
    }
}
