//! `to_timestamp` and `to_date`.

use super::template::{Calendar, Field, FieldNode, Node, check_length, parse, parse_standard};
use super::{DAYS, MONTHS, ROMAN_MONTHS};
use crate::call::{FnCtx, FnDef};
use base::{Error, Result, err};
use std::sync::Arc;
use types::Datum;
use types::datetime::{self, Civil};

/// What has been read.
#[derive(Default)]
struct Read {
    hour: i32,
    minute: i32,
    second: i32,
    seconds_of_day: i32,
    weekday: i32,
    day: i32,
    day_of_year: i32,
    month: i32,
    millis: i32,
    micros: i32,
    /// Digits of a second that the template wants.
    precision: Option<u32>,
    year: i32,
    year_digits: u32,
    before_christ: Option<bool>,
    week: i32,
    week_of_month: i32,
    century: i32,
    julian: i32,
    late: Option<bool>,
    clock12: bool,
    iso: bool,
    zone_sign: i32,
    zone_hour: i32,
    zone_minute: i32,
    zone_offset: Option<i32>,
    /// The zone, if an abbreviation's meaning changed with time.
    zone: Option<Arc<datetime::TimeZone>>,
}

#[cold]
fn bad(message: String) -> Error {
    err!(INVALID_DATETIME_FORMAT, "{message}")
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t'..=b'\r')
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    exact: bool,
    /// Characters that were skipped beyond what the template has.
    extra: i32,
    /// The session's zone, if its abbreviations are known.
    session: Option<&'a Arc<datetime::TimeZone>>,
    read: Read,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_char(&mut self) {
        if let Some(c) = self.rest().chars().next() {
            self.at += c.len_utf8();
        }
    }

    fn skip_spaces(&mut self) -> i32 {
        let before = self.at;
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        (self.at - before) as i32
    }

    /// A whole number: of `len` characters, or as many as there are if nothing after it could be
    /// mistaken for it.
    fn number(&mut self, len: usize, node: &FieldNode, slurp: bool) -> Result<(i32, usize)> {
        self.skip_spaces();
        let rest = self.rest();
        let name = node.name;
        let fixed = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let piece = if node.fill || slurp {
            rest
        } else {
            let end = rest.char_indices().nth(len).map_or(rest.len(), |c| c.0);
            let have = rest[..end].chars().count();
            if have < len {
                return Err(bad(format!(
                    "source string too short for \"{name}\" formatting field"
                ))
                .detail(format!("Field requires {len} characters, but only {have} remain."))
                .hint(fixed));
            }
            &rest[..end]
        };
        let body = piece.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
        let lead = piece.len() - body.len();
        let sign = usize::from(body.starts_with(['-', '+']));
        let digits = body[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            let shown: String = rest.chars().take(len).collect();
            return Err(bad(format!("invalid value \"{shown}\" for \"{name}\""))
                .detail("Value must be an integer."));
        }
        let used = lead + sign + digits;
        if !(node.fill || slurp) && used < piece.len() {
            return Err(bad(format!("invalid value \"{piece}\" for \"{name}\""))
                .detail(format!(
                    "Field requires {len} characters, but only {used} could be parsed."
                ))
                .hint(fixed));
        }
        let value: i32 = body[..sign + digits].parse().map_err(|_| {
            err!(
                DATETIME_VALUE_OUT_OF_RANGE,
                "value for \"{name}\" in source string is out of range"
            )
            .detail("Value must be in the range -2147483648 to 2147483647.")
        })?;
        self.at += used;
        Ok((value, used))
    }

    /// One of some words, whatever its case.
    fn word(&mut self, words: &[&str], node: &FieldNode) -> Result<usize> {
        let rest = self.rest();
        let mut best: Option<(usize, usize)> = None;
        for (i, word) in words.iter().enumerate() {
            let head = rest.as_bytes().get(..word.len());
            if head.is_some_and(|h| h.eq_ignore_ascii_case(word.as_bytes()))
                && best.is_none_or(|(_, len)| len < word.len())
            {
                best = Some((i, word.len()));
            }
        }
        match best {
            Some((i, len)) => {
                self.at += len;
                Ok(i)
            }
            None => {
                let shown = rest.split([' ', '\t', '\n', '\r']).next().unwrap_or("");
                Err(bad(format!("invalid value \"{shown}\" for \"{}\"", node.name)).detail(
                    "The given value did not match any of the allowed values for this field.",
                ))
            }
        }
    }
}

fn set(slot: &mut i32, value: i32, node: &FieldNode) -> Result<()> {
    if *slot != 0 && *slot != value {
        return Err(bad(format!(
            "conflicting values for \"{}\" field in formatting string",
            node.name
        ))
        .detail("This value contradicts a previous setting for the same field type."));
    }
    *slot = value;
    Ok(())
}

fn set_flag(slot: &mut Option<bool>, value: bool, node: &FieldNode) -> Result<()> {
    if slot.is_some_and(|old| old && !value) {
        return Err(bad(format!(
            "conflicting values for \"{}\" field in formatting string",
            node.name
        ))
        .detail("This value contradicts a previous setting for the same field type."));
    }
    *slot = Some(value);
    Ok(())
}

/// A year of fewer than four digits is the one nearest to 2020.
fn near_2020(year: i32) -> i32 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

impl Reader<'_> {
    fn field(&mut self, node: &FieldNode, slurp: bool) -> Result<()> {
        match node.field {
            Field::Exact => self.exact = true,
            Field::Meridiem { dots } => {
                let words: &[&str] = if dots { &["a.m.", "p.m."] } else { &["am", "pm"] };
                let late = self.word(words, node)? == 1;
                set_flag(&mut self.read.late, late, node)?;
                self.read.clock12 = true;
            }
            Field::Era { dots } => {
                let words: &[&str] = if dots { &["a.d.", "b.c."] } else { &["ad", "bc"] };
                let before = self.word(words, node)? == 1;
                set_flag(&mut self.read.before_christ, before, node)?;
            }
            Field::MonthName(_) => {
                let i = self.word(&MONTHS, node)? as i32;
                set(&mut self.read.month, i + 1, node)?;
            }
            Field::MonthAbbrev(_) => {
                let i = self.word(&MONTHS.map(|m| &m[..3]), node)? as i32;
                set(&mut self.read.month, i + 1, node)?;
            }
            Field::DayName(_) => {
                let i = self.word(&DAYS, node)? as i32;
                set(&mut self.read.weekday, i + 1, node)?;
            }
            Field::DayAbbrev(_) => {
                let i = self.word(&DAYS.map(|d| &d[..3]), node)? as i32;
                set(&mut self.read.weekday, i + 1, node)?;
            }
            Field::RomanMonth => {
                let i = self.word(&ROMAN_MONTHS, node)? as i32;
                set(&mut self.read.month, i + 1, node)?;
            }
            Field::Zone | Field::ZoneOffset | Field::ZoneHour | Field::ZoneMinute => {
                return self.zone(node, slurp);
            }
            Field::YearComma => self.year_comma(node)?,
            _ => return self.digits(node, slurp),
        }
        self.ordinal(node);
        Ok(())
    }

    fn ordinal(&mut self, node: &FieldNode) {
        if node.th.is_some() {
            self.skip_char();
            self.skip_char();
        }
    }

    fn digits(&mut self, node: &FieldNode, slurp: bool) -> Result<()> {
        use Field::*;
        let len = match node.field {
            Year(n) | IsoYear(n) | Fraction(n) => n as usize,
            DayOfYear | IsoDayOfYear | Millis => 3,
            Micros => 6,
            SecondOfDay => 5,
            DayOfWeek | IsoDayOfWeek | Quarter | WeekOfMonth => 1,
            Julian => usize::MAX / 2,
            _ => 2,
        };
        let (n, used) = self.number(len, node, slurp || node.field == Julian)?;
        let r = &mut self.read;
        match node.field {
            Hour12 => {
                set(&mut r.hour, n, node)?;
                r.clock12 = true;
            }
            Hour24 => set(&mut r.hour, n, node)?,
            Minute => set(&mut r.minute, n, node)?,
            Second => set(&mut r.second, n, node)?,
            SecondOfDay => set(&mut r.seconds_of_day, n, node)?,
            Millis => {
                let scaled = n.saturating_mul([100, 10, 1][used.clamp(1, 3) - 1]);
                set(&mut r.millis, scaled, node)?;
            }
            Micros | Fraction(_) => {
                if let Fraction(digits) = node.field {
                    r.precision = Some(digits);
                }
                let power = 6usize.saturating_sub(used.max(1)) as u32;
                set(&mut r.micros, n.saturating_mul(10i32.pow(power)), node)?;
            }
            DayOfYear => set(&mut r.day_of_year, n, node)?,
            IsoDayOfYear => {
                set(&mut r.day_of_year, n, node)?;
                r.iso = true;
            }
            DayOfMonth => set(&mut r.day, n, node)?,
            DayOfWeek => set(&mut r.weekday, n, node)?,
            IsoDayOfWeek => {
                set(&mut r.weekday, n, node)?;
                // Numbered as Sunday is 1 below.
                r.weekday += 1;
                if r.weekday > 7 {
                    r.weekday = 1;
                }
                r.iso = true;
            }
            WeekOfYear => set(&mut r.week, n, node)?,
            IsoWeek => {
                set(&mut r.week, n, node)?;
                r.iso = true;
            }
            WeekOfMonth => set(&mut r.week_of_month, n, node)?,
            Century => set(&mut r.century, n, node)?,
            Julian => set(&mut r.julian, n, node)?,
            Month => set(&mut r.month, n, node)?,
            Year(digits) | IsoYear(digits) => {
                let year = if digits < 4 && used < 4 { near_2020(n) } else { n };
                set(&mut r.year, year, node)?;
                r.year_digits = digits;
                r.iso |= matches!(node.field, IsoYear(_));
            }
            // A quarter says too little about the date to be used.
            _ => {}
        }
        self.ordinal(node);
        Ok(())
    }

    fn year_comma(&mut self, node: &FieldNode) -> Result<()> {
        let rest = self.rest();
        let invalid = || bad(format!("invalid value \"{}\" for \"Y,YYY\"", self.rest()));
        let (thousands, tail) = rest.split_once(',').ok_or_else(invalid)?;
        let digits = tail.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let thousands: i32 = thousands.trim().parse().map_err(|_| invalid())?;
        let low: i32 = tail[..digits].parse().map_err(|_| invalid())?;
        let year =
            thousands.checked_mul(1000).and_then(|y| y.checked_add(low)).ok_or_else(|| {
                err!(
                    DATETIME_VALUE_OUT_OF_RANGE,
                    "value for \"Y,YYY\" in source string is out of range"
                )
            })?;
        let used = rest.len() - tail.len() + digits;
        set(&mut self.read.year, year, node)?;
        self.read.year_digits = 4;
        self.at += used;
        Ok(())
    }

    fn zone(&mut self, node: &FieldNode, slurp: bool) -> Result<()> {
        let signed = |r: &mut Self| {
            let sign = match r.peek() {
                Some(b'-') => -1,
                Some(b'+' | b' ') => 1,
                // The separator before the field may have taken a minus for itself.
                _ if r.extra > 0 && r.text.as_bytes()[..r.at].last() == Some(&b'-') => return -1,
                _ => return 1,
            };
            r.at += 1;
            sign
        };
        match node.field {
            Field::ZoneMinute => {
                let n = self.number(2, node, slurp)?.0;
                set(&mut self.read.zone_minute, n, node)?;
                if self.read.zone_sign == 0 {
                    self.read.zone_sign = 1;
                }
            }
            Field::ZoneHour => {
                let sign = signed(self);
                self.read.zone_sign = sign;
                let n = self.number(2, node, slurp)?.0;
                set(&mut self.read.zone_hour, n, node)?;
            }
            Field::Zone if self.abbreviation() => {}
            Field::Zone if self.rest().starts_with(|c: char| c.is_ascii_alphabetic()) => {
                let shown = self.rest().split([' ', '\t', '\n', '\r']).next().unwrap_or("");
                return Err(bad(format!("invalid value \"{shown}\" for \"{}\"", node.name))
                    .detail("Time zone abbreviation is not recognized."));
            }
            _ => {
                let sign = signed(self);
                self.read.zone_sign = sign;
                let n = self.number(2, node, true)?.0;
                set(&mut self.read.zone_hour, n, node)?;
                if self.peek() == Some(b':') {
                    self.at += 1;
                    let n = self.number(2, node, slurp)?.0;
                    set(&mut self.read.zone_minute, n, node)?;
                }
            }
        }
        Ok(())
    }

    /// Takes in the longest abbreviation of a zone that is here: one that the session's zone uses
    /// first. False if there is none.
    fn abbreviation(&mut self) -> bool {
        let rest = self.rest();
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        for len in (1..=letters).rev() {
            let word = &rest[..len];
            let own = self.session.and_then(|zone| zone.abbreviation(word));
            match own.or_else(|| datetime::abbreviation(word).map(|a| a.meaning())) {
                Some(Ok(offset)) => self.read.zone_offset = Some(offset),
                Some(Err(zone)) => self.read.zone = Some(zone),
                None => continue,
            }
            self.at += len;
            return true;
        }
        false
    }
}

/// Whether what follows a field cannot be mistaken for its digits.
fn followed_by_other(nodes: &[Node], i: usize) -> bool {
    if let Node::Field(f) = &nodes[i]
        && f.th.is_some()
    {
        return true;
    }
    match nodes.get(i + 1) {
        None => true,
        Some(Node::Field(f)) => !f.field.is_digits(),
        Some(Node::Char(c) | Node::Separator(c) | Node::Space(c)) => !c.is_ascii_digit(),
    }
}

/// What has been read, and how far.
/// Separators and text must be what the template has where it is read by the standard's rules.
fn same(r: &mut Reader, c: char, what: &str) -> Result<()> {
    match r.text[r.at..].starts_with(c) {
        true => {
            r.skip_char();
            Ok(())
        }
        false => Err(bad(format!("unmatched format {what} \"{c}\""))),
    }
}

fn read_to(
    text: &str,
    template: &str,
    standard: bool,
    session: Option<&Arc<datetime::TimeZone>>,
) -> Result<(Read, usize)> {
    check_length(template)?;
    let nodes = if standard { parse_standard(template)? } else { parse(template)? };
    let mut calendar = Calendar::default();
    let mut r = Reader { text, at: 0, exact: false, extra: 0, session, read: Read::default() };
    for (i, node) in nodes.iter().enumerate() {
        if r.at >= text.len() {
            if standard {
                return Err(bad("input string is too short for datetime format".to_string()));
            }
            break;
        }
        if !standard
            && !r.exact
            && (matches!(node, Node::Field(_)) || i == 0)
            && !matches!(node, Node::Char(_))
        {
            let skipped = r.skip_spaces();
            r.extra += skipped;
        }
        match node {
            Node::Separator(c) | Node::Space(c) if standard => same(&mut r, *c, "separator")?,
            Node::Char(c) if standard => same(&mut r, *c, "character")?,
            Node::Separator(_) | Node::Space(_) if r.exact => r.skip_char(),
            Node::Separator(_) | Node::Space(_) => {
                r.extra -= 1;
                let here = r.peek().unwrap_or(b'a');
                if is_space(here) || (here.is_ascii_graphic() && !here.is_ascii_alphanumeric()) {
                    r.at += 1;
                    r.extra += 1;
                }
            }
            Node::Char(_) if !r.exact && r.extra > 0 => r.extra -= 1,
            Node::Char(_) => r.skip_char(),
            Node::Field(f) => {
                calendar.admit(f)?;
                r.field(f, followed_by_other(&nodes, i))?;
                if !r.exact && !standard {
                    r.extra = r.skip_spaces();
                }
            }
        }
    }
    Ok((r.read, r.at))
}

/// The first Monday of an ISO year, as a Julian day.
fn iso_year_start(year: i32) -> i32 {
    let fourth = datetime::julian_day(year, 1, 4);
    fourth - (fourth.rem_euclid(7))
}

fn field_range(text: &str) -> Error {
    err!(DATETIME_FIELD_OVERFLOW, "date/time field value out of range: \"{text}\"")
}

impl Read {
    fn clock(&mut self) -> Result<()> {
        if self.seconds_of_day != 0 {
            let n = self.seconds_of_day;
            (self.hour, self.minute, self.second) = (n / 3600, n % 3600 / 60, n % 60);
        }
        if self.clock12 {
            if self.hour < 1 || self.hour > 12 {
                return Err(bad(format!(
                    "hour \"{}\" is invalid for the 12-hour clock",
                    self.hour
                ))
                .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            match (self.late == Some(true), self.hour) {
                (true, h) if h < 12 => self.hour += 12,
                (false, 12) => self.hour = 0,
                _ => {}
            }
        }
        Ok(())
    }

    /// The year, astronomically counted, if something said it.
    fn year_of(&self) -> Option<i32> {
        let before = self.before_christ == Some(true);
        let century = if before { -self.century } else { self.century };
        if self.year != 0 {
            if self.century != 0 && self.year_digits <= 2 {
                let year = self.year % 100;
                return Some(match (year != 0, century >= 0) {
                    (true, true) => year.saturating_add((century - 1).saturating_mul(100)),
                    (true, false) => (century + 1).saturating_mul(100).saturating_sub(year) + 1,
                    (false, true) => century.saturating_mul(100),
                    (false, false) => century.saturating_mul(100).saturating_add(1),
                });
            }
            let year = if before { self.year.wrapping_neg() } else { self.year };
            return Some(if year < 0 { year.saturating_add(1) } else { year });
        }
        (self.century != 0).then(|| {
            if century >= 0 {
                (century - 1).saturating_mul(100).saturating_add(1)
            } else {
                century.saturating_mul(100).saturating_add(1)
            }
        })
    }

    fn civil(&mut self, text: &str) -> Result<Civil> {
        self.clock()?;
        let known = self.year_of();
        let (mut year, mut month, mut day) = (known.unwrap_or(0), 1, 1);
        if self.julian != 0 {
            (year, month, day) = datetime::date_from_julian(self.julian);
        }
        if self.week != 0 {
            if self.iso {
                let start = iso_year_start(if year == 0 { 1 } else { year });
                let monday = start.saturating_add((self.week - 1).saturating_mul(7));
                let shift = match self.weekday {
                    0 => 0,
                    1 => 6,
                    n => n - 2,
                };
                (year, month, day) = datetime::date_from_julian(monday.saturating_add(shift));
            } else {
                self.day_of_year = (self.week - 1).saturating_mul(7).saturating_add(1);
            }
        }
        if self.week_of_month != 0 {
            self.day = (self.week_of_month - 1).saturating_mul(7).saturating_add(1);
        }
        if self.day != 0 {
            day = self.day;
        }
        if self.month != 0 {
            month = self.month;
        }
        if self.day_of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && self.before_christ != Some(true) {
                return Err(bad(
                    "cannot calculate day of year without year information".to_string()
                ));
            }
            if self.iso {
                let first = iso_year_start(year) - 1;
                let date = first.saturating_add(self.day_of_year);
                (year, month, day) = datetime::date_from_julian(date);
            } else {
                let length = if datetime::is_leap(year) { 366 } else { 365 };
                if self.day_of_year < 1 || self.day_of_year > length {
                    return Err(field_range(text));
                }
                let first = datetime::julian_day(year, 1, 1);
                (year, month, day) = datetime::date_from_julian(first + self.day_of_year - 1);
            }
        }
        let micros = self.millis as i64 * 1000 + self.micros as i64;
        let valid = (1..=12).contains(&month)
            && (1..=datetime::days_in_month(year, month)).contains(&day)
            && (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second)
            && (0..1_000_000).contains(&micros);
        if !valid {
            return Err(field_range(text));
        }
        Ok(Civil {
            year,
            month,
            day,
            hour: self.hour,
            minute: self.minute,
            second: self.second,
            micros: micros as i32,
        })
    }

    /// To as many digits of a second as the template wants.
    fn rounded(&self, micros: i64) -> i64 {
        self.precision.map_or(micros, |n| datetime::round_micros(micros, n as i32))
    }

    fn offset(&self, text: &str, local: impl Fn() -> Option<i64>) -> Result<Option<i32>> {
        if let Some(zone) = &self.zone {
            return Ok(local().map(|t| zone.offset_of_local(t)));
        }
        if self.zone_offset.is_some() {
            return Ok(self.zone_offset);
        }
        if self.zone_sign == 0 {
            return Ok(None);
        }
        if !(0..=15).contains(&self.zone_hour) || !(0..60).contains(&self.zone_minute) {
            return Err(err!(
                INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                "time zone displacement out of range: \"{text}\""
            ));
        }
        Ok(Some(self.zone_sign * (self.zone_hour * 3600 + self.zone_minute * 60)))
    }
}

fn to_timestamp(cx: &FnCtx, text: &str, template: &str) -> Result<i64> {
    let zone = &cx.env.format().timezone;
    let mut read = read_to(text, template, false, Some(zone))?.0;
    let range = || err!(DATETIME_FIELD_OVERFLOW, "timestamp out of range");
    let civil = read.civil(text)?;
    let offset = read.offset(text, || civil.timestamp())?;
    if !civil.is_julian_valid() {
        return Err(range());
    }
    let local = civil.timestamp().ok_or_else(range)?;
    let at = match offset {
        Some(seconds) => {
            let shift = seconds as i64 * datetime::USECS_PER_SEC;
            datetime::check_timestamp(local.checked_sub(shift).ok_or_else(range)?)?
        }
        None => datetime::check_timestamp(datetime::from_local(local, zone)?)?,
    };
    Ok(read.rounded(at))
}

fn to_date(text: &str, template: &str) -> Result<i32> {
    let mut read = read_to(text, template, false, None)?.0;
    let range = || err!(DATETIME_FIELD_OVERFLOW, "date out of range: \"{text}\"");
    let civil = read.civil(text)?;
    if !civil.is_julian_valid() {
        return Err(range());
    }
    let date = civil.date();
    if (datetime::MIN_DATE..datetime::END_DATE).contains(&date) { Ok(date) } else { Err(range()) }
}

pub(super) const FNS: &[FnDef] = &[
    row!(cx; to_timestamp(text: &str, template: &str) {
        to_timestamp(cx, text, template).map(Datum::I64)
    }),
    row!(to_date(text: &str, template: &str) { to_date(text, template).map(Datum::I32) }),
];

/// What a template finds in a text.
pub(crate) struct Found {
    /// Days from 2000-01-01, if the template has a date.
    pub date: Option<i32>,
    /// Microseconds of the day, if the template has a time.
    pub time: Option<i64>,
    /// Whether the template has a zone.
    pub zoned: bool,
    /// Seconds east of Greenwich.
    pub offset: Option<i32>,
}

/// Reads a text by a template that says itself whether it is of dates or times.
pub(crate) fn read_by_template(text: &str, template: &str) -> Result<Found> {
    use Field::*;
    let (mut date, mut time, mut zoned) = (false, false, false);
    for node in parse_standard(template)?.iter() {
        let Node::Field(f) = node else { continue };
        match f.field {
            Zone | ZoneOffset | ZoneHour | ZoneMinute => zoned = true,
            Meridiem { .. }
            | Hour12
            | Hour24
            | Minute
            | Second
            | SecondOfDay
            | Millis
            | Micros
            | Fraction(_) => time = true,
            Exact => {}
            _ => date = true,
        }
    }
    let (mut read, used) = read_to(text, template, true, None)?;
    if used < text.len() && !template.is_empty() {
        return Err(bad(
            "trailing characters remain in input string after datetime format".to_string()
        ));
    }
    let civil = read.civil(text)?;
    let offset = read.offset(text, || civil.timestamp())?;
    if zoned && offset.is_none() {
        let name = if date { "timestamptz" } else { "timetz" };
        return Err(bad(format!("missing time zone in input string for type {name}")));
    }
    let (mut days, mut micros) = (civil.date(), read.rounded(civil.time()));
    if date && micros >= datetime::USECS_PER_DAY {
        (days, micros) = (days + 1, micros - datetime::USECS_PER_DAY);
    }
    Ok(Found { date: date.then_some(days), time: time.then_some(micros), zoned, offset })
}
