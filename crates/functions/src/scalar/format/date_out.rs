//! `to_char` of dates, times and intervals.

use super::template::{Case, Field, FieldNode, Node, check_length, parse};
use super::{DAYS, MONTHS, ROMAN_MONTHS, ordinal};
use crate::call::{FnCtx, FnDef};
use base::{Error, Result, err};
use std::fmt::Write;
use types::Datum;
use types::datetime::{self, Civil, Interval};

/// What is printed.
struct Value {
    year: i32,
    month: i32,
    day: i32,
    hour: i64,
    minute: i32,
    second: i32,
    micros: i32,
    day_of_year: i32,
    /// Seconds east of Greenwich, and the zone's short name.
    zone: Option<(i32, String)>,
    interval: bool,
}

#[cold]
fn not_for_intervals() -> Error {
    err!(INVALID_DATETIME_FORMAT, "invalid format specification for an interval value")
        .hint("Intervals are not tied to specific calendar dates.")
}

/// A number, filled up with zeros to a width; a sign takes a place of its own.
fn padded(out: &mut String, n: i64, width: usize, fill: bool) {
    let width = if fill {
        0
    } else if n >= 0 {
        width
    } else {
        width + 1
    };
    let _ = write!(out, "{n:0width$}");
}

fn cased(word: &str, case: Case) -> String {
    match case {
        Case::Upper => word.to_uppercase(),
        Case::Title => word.to_string(),
        Case::Lower => word.to_lowercase(),
    }
}

impl Value {
    fn civil(&self) -> Civil {
        Civil {
            year: self.year,
            month: self.month,
            day: self.day,
            hour: 0,
            minute: 0,
            second: 0,
            micros: 0,
        }
    }

    fn shown_year(&self, year: i32) -> i64 {
        if !self.interval && year <= 0 { 1 - year as i64 } else { year as i64 }
    }

    fn dated(&self) -> Result<()> {
        if self.interval { Err(not_for_intervals()) } else { Ok(()) }
    }

    fn field(&self, node: &FieldNode, out: &mut String) -> Result<()> {
        let fill = node.fill;
        let start = out.len();
        match node.field {
            Field::Exact => return Ok(()),
            Field::Meridiem { dots } => {
                let late = self.hour.rem_euclid(24) >= 12;
                let word = match (late, dots) {
                    (true, true) => "P.M.",
                    (true, false) => "PM",
                    (false, true) => "A.M.",
                    (false, false) => "AM",
                };
                out.push_str(&if node.upper { word.to_string() } else { word.to_lowercase() });
                return Ok(());
            }
            Field::Era { dots } => {
                self.dated()?;
                let word = match (self.year <= 0, dots) {
                    (true, true) => "B.C.",
                    (true, false) => "BC",
                    (false, true) => "A.D.",
                    (false, false) => "AD",
                };
                out.push_str(&if node.upper { word.to_string() } else { word.to_lowercase() });
                return Ok(());
            }
            Field::DayName(case) => {
                self.dated()?;
                return self.word(DAYS[self.weekday()], case, 9, node, out);
            }
            Field::DayAbbrev(case) => {
                self.dated()?;
                return self.word(&DAYS[self.weekday()][..3], case, 3, node, out);
            }
            Field::MonthName(case) => {
                self.dated()?;
                return self.word(MONTHS[self.month_index()], case, 9, node, out);
            }
            Field::MonthAbbrev(case) => {
                self.dated()?;
                return self.word(&MONTHS[self.month_index()][..3], case, 3, node, out);
            }
            Field::RomanMonth => return self.roman(node, out),
            Field::Zone | Field::ZoneOffset | Field::ZoneHour | Field::ZoneMinute => {
                self.dated()?;
                return self.zone_field(node, out);
            }
            Field::Hour12
            | Field::Hour24
            | Field::Minute
            | Field::Second
            | Field::SecondOfDay
            | Field::Fraction(_)
            | Field::Millis
            | Field::Micros => self.time_field(node.field, fill, out),
            _ => self.date_field(node.field, fill, out)?,
        }
        if let Some(upper) = node.th
            && out.len() > start
        {
            let end = ordinal(&out[start..], upper);
            out.push_str(end);
        }
        Ok(())
    }

    fn weekday(&self) -> usize {
        self.civil().weekday().rem_euclid(7) as usize
    }

    fn month_index(&self) -> usize {
        (self.month - 1).clamp(0, 11) as usize
    }

    fn word(
        &self,
        word: &str,
        case: Case,
        width: usize,
        node: &FieldNode,
        out: &mut String,
    ) -> Result<()> {
        let word = cased(word, case);
        let width = if node.fill || node.localized { 0 } else { width };
        let _ = write!(out, "{word:width$}");
        Ok(())
    }

    fn roman(&self, node: &FieldNode, out: &mut String) -> Result<()> {
        if self.month == 0 && self.year == 0 {
            return Ok(());
        }
        let index = match self.month {
            // A whole number of years: the last month of them.
            0 => {
                if self.year >= 0 {
                    11
                } else {
                    0
                }
            }
            m if m < 0 => 12 + m,
            m => m - 1,
        };
        let word = ROMAN_MONTHS[index.clamp(0, 11) as usize];
        let word = if node.upper { word.to_string() } else { word.to_lowercase() };
        let width = if node.fill { 0 } else { 4 };
        let _ = write!(out, "{word:width$}");
        Ok(())
    }

    fn zone_field(&self, node: &FieldNode, out: &mut String) -> Result<()> {
        let (offset, name) = self.zone.clone().unwrap_or((0, String::new()));
        let sign = if offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.abs() / 3600, offset.abs() % 3600 / 60);
        match node.field {
            Field::Zone if node.upper => out.push_str(&name),
            Field::Zone => out.push_str(&name.to_lowercase()),
            Field::ZoneHour => {
                let _ = write!(out, "{sign}{hours:02}");
            }
            Field::ZoneMinute => {
                let _ = write!(out, "{minutes:02}");
            }
            _ => {
                out.push(sign);
                padded(out, hours as i64, 2, node.fill);
                if minutes != 0 {
                    let _ = write!(out, ":{minutes:02}");
                }
            }
        }
        Ok(())
    }

    fn time_field(&self, field: Field, fill: bool, out: &mut String) {
        match field {
            Field::Hour24 => padded(out, self.hour, 2, fill),
            Field::Hour12 => {
                let h = self.hour % 12;
                padded(out, if h == 0 { 12 } else { h }, 2, fill);
            }
            Field::Minute => padded(out, self.minute as i64, 2, fill),
            Field::Second => padded(out, self.second as i64, 2, fill),
            Field::SecondOfDay => {
                let n = self.hour * 3600 + self.minute as i64 * 60 + self.second as i64;
                let _ = write!(out, "{n}");
            }
            Field::Fraction(digits) => {
                let n = self.micros / 10i32.pow(6 - digits.min(6));
                let _ = write!(out, "{n:0width$}", width = digits as usize);
            }
            Field::Millis => {
                let _ = write!(out, "{:03}", self.micros / 1000);
            }
            _ => {
                let _ = write!(out, "{:06}", self.micros);
            }
        }
    }

    fn date_field(&self, field: Field, fill: bool, out: &mut String) -> Result<()> {
        let calendar = matches!(
            field,
            Field::DayOfWeek
                | Field::IsoDayOfWeek
                | Field::WeekOfYear
                | Field::IsoWeek
                | Field::WeekOfMonth
                | Field::IsoDayOfYear
        );
        if calendar && matches!(field, Field::DayOfWeek | Field::IsoDayOfWeek) {
            self.dated()?;
        }
        match field {
            Field::Century => {
                let year = self.year as i64;
                let century = if self.interval {
                    year / 100
                } else if year > 0 {
                    (year - 1) / 100 + 1
                } else {
                    year / 100 - 1
                };
                match century.abs() <= 99 {
                    true => padded(out, century, 2, fill),
                    false => {
                        let _ = write!(out, "{century}");
                    }
                }
            }
            Field::Month => padded(out, self.month as i64, 2, fill),
            Field::DayOfMonth => {
                let _ = write!(out, "{:0width$}", self.day, width = if fill { 0 } else { 2 });
            }
            Field::DayOfYear => padded(out, self.day_of_year as i64, 3, fill),
            Field::IsoDayOfYear => {
                let (_, week) = self.civil().iso_week();
                let weekday = iso_weekday(self.weekday());
                padded(out, (week as i64 - 1) * 7 + weekday, 3, fill);
            }
            Field::DayOfWeek => {
                let _ = write!(out, "{}", self.weekday() + 1);
            }
            Field::IsoDayOfWeek => {
                let _ = write!(out, "{}", iso_weekday(self.weekday()));
            }
            Field::WeekOfYear => padded(out, (self.day_of_year as i64 - 1) / 7 + 1, 2, fill),
            Field::IsoWeek => padded(out, self.civil().iso_week().1 as i64, 2, fill),
            Field::WeekOfMonth => {
                let _ = write!(out, "{}", (self.day - 1) / 7 + 1);
            }
            Field::Quarter if self.month != 0 => {
                let _ = write!(out, "{}", (self.month - 1) / 3 + 1);
            }
            Field::Julian => {
                // An interval's days may be any number.
                let first = datetime::julian_day(self.year, self.month, 0);
                let _ = write!(out, "{}", first.wrapping_add(self.day));
            }
            Field::YearComma => {
                let year = self.shown_year(self.year);
                let thousands = year / 1000;
                let _ = write!(out, "{thousands},{:03}", year - thousands * 1000);
            }
            Field::Year(digits) => self.year_field(self.year, digits, fill, out),
            Field::IsoYear(digits) => {
                self.year_field(self.civil().iso_week().0, digits, fill, out);
            }
            _ => {}
        }
        Ok(())
    }

    fn year_field(&self, year: i32, digits: u32, fill: bool, out: &mut String) {
        let year = self.shown_year(year);
        match digits {
            4 => padded(out, year, 4, fill),
            3 => padded(out, year % 1000, 3, fill),
            2 => padded(out, year % 100, 2, fill),
            _ => {
                let _ = write!(out, "{}", year % 10);
            }
        }
    }
}

fn iso_weekday(day: usize) -> i64 {
    if day == 0 { 7 } else { day as i64 }
}

fn print(value: &Value, template: &str) -> Result<String> {
    check_length(template)?;
    let mut out = String::new();
    for node in parse(template)?.iter() {
        match node {
            Node::Field(f) => value.field(f, &mut out)?,
            Node::Char(c) | Node::Separator(c) | Node::Space(c) => out.push(*c),
        }
    }
    Ok(out)
}

fn of_timestamp(t: i64, zone: Option<(i32, String)>) -> Value {
    let c = Civil::from_timestamp(t);
    Value {
        year: c.year,
        month: c.month,
        day: c.day,
        hour: c.hour as i64,
        minute: c.minute,
        second: c.second,
        micros: c.micros,
        day_of_year: c.day_of_year(),
        zone,
        interval: false,
    }
}

fn timestamptz(cx: &FnCtx, t: i64, template: &str) -> Result<Datum> {
    if template.is_empty() || datetime::is_infinite(t) {
        return Ok(Datum::Null);
    }
    let zone = &cx.env.format().timezone;
    let info = zone.at(t);
    let (offset, abbrev) = (info.offset, info.abbrev.to_string());
    let local = datetime::to_local(t, zone)?;
    Ok(Datum::string(print(&of_timestamp(local, Some((offset, abbrev))), template)?))
}

fn interval(i: &Interval, template: &str) -> Result<Datum> {
    if template.is_empty() || i.is_infinite() {
        return Ok(Datum::Null);
    }
    let (year, month) = (i.months / 12, i.months % 12);
    let seconds = i.micros / 1_000_000;
    let day_of_year = (year as i64 * 12 + month as i64) * 30 + i.days as i64;
    let value = Value {
        year,
        month,
        day: i.days,
        hour: seconds / 3600,
        minute: (seconds / 60 % 60) as i32,
        second: (seconds % 60) as i32,
        micros: (i.micros % 1_000_000) as i32,
        day_of_year: day_of_year.clamp(i32::MIN as i64, i32::MAX as i64) as i32,
        zone: None,
        interval: true,
    };
    Ok(Datum::string(print(&value, template)?))
}

pub(super) const FNS: &[FnDef] = &[
    row!(timestamp_to_char(t: i64, template: &str) {
        if template.is_empty() || datetime::is_infinite(t) {
            return Ok(Datum::Null);
        }
        print(&of_timestamp(t, None), template)
    }),
    row!(cx; timestamptz_to_char(t: i64, template: &str) { timestamptz(cx, t, template) }),
    row!(interval_to_char(i: &[u8], template: &str) { interval(&Interval::decode(i), template) }),
];
