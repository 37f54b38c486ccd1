//! Dates and times from text.

use super::abbrev::abbreviation;
use super::civil::{Civil, date_from_julian, days_in_month, time_from_parts};
use super::token::{Field, FieldKind, Part, Word, date_word, tokenize};
use super::zone::TimeZone;
use super::{EPOCH_JULIAN, SECS_PER_DAY, USECS_PER_SEC, split};
use crate::io::{DateOrder, Format};
use base::{Error, err};
use std::sync::Arc;

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DtError {
    /// Not a date or time.
    BadFormat,
    /// A field's value is impossible.
    FieldRange,
    /// A month or day is impossible: perhaps the order of fields was meant differently.
    MonthDayRange,
    /// An interval's field is out of range.
    IntervalRange,
    /// An interval's fields are in range, but not what they come to.
    Whole,
    /// An offset is too large.
    ZoneRange,
    /// No such time zone.
    BadZone(String),
}

impl DtError {
    /// The error for a text that was read as `type_name`.
    pub fn into_error(self, text: &str, type_name: &str) -> Error {
        match self {
            DtError::BadFormat => err!(
                INVALID_DATETIME_FORMAT,
                "invalid input syntax for type {type_name}: \"{text}\""
            ),
            DtError::FieldRange => {
                err!(DATETIME_FIELD_OVERFLOW, "date/time field value out of range: \"{text}\"")
            }
            DtError::MonthDayRange => {
                err!(DATETIME_FIELD_OVERFLOW, "date/time field value out of range: \"{text}\"")
                    .hint("Perhaps you need a different \"DateStyle\" setting.")
            }
            DtError::IntervalRange => {
                err!(INTERVAL_FIELD_OVERFLOW, "interval field value out of range: \"{text}\"")
            }
            DtError::Whole => super::interval::interval_range(),
            DtError::ZoneRange => err!(
                INVALID_TIME_ZONE_DISPLACEMENT_VALUE,
                "time zone displacement out of range: \"{text}\""
            ),
            DtError::BadZone(name) => {
                err!(INVALID_PARAMETER_VALUE, "time zone \"{name}\" not recognized")
            }
        }
    }
}

/// An instant that a word names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// Start of the transaction.
    Now,
    /// The end of time.
    Infinity,
    /// The beginning of time.
    NegInfinity,
    /// 1970-01-01 00:00 UTC.
    Epoch,
}

/// What a text says.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// A special instant; the rest has no meaning then.
    pub special: Option<Special>,
    /// Date and time of day; hour 24 and second 60 are possible.
    pub civil: Civil,
    /// Whether a date was given.
    pub has_date: bool,
    /// Whether a time of day was given.
    pub has_time: bool,
    /// Seconds east of UTC, if an offset or abbreviation was given.
    pub offset: Option<i32>,
    /// The zone, if one was named.
    pub zone: Option<Arc<TimeZone>>,
    /// Whether the zone was named by an abbreviation.
    pub abbreviated: bool,
}

const YEAR: u32 = 1;
const MONTH: u32 = 2;
const DAY: u32 = 4;
const HOUR: u32 = 8;
const MINUTE: u32 = 16;
const SECOND: u32 = 32;
const ZONE: u32 = 64;
const DOY: u32 = 128;
const DATE: u32 = YEAR | MONTH | DAY;
const TIME: u32 = HOUR | MINUTE | SECOND;

struct Decoder<'a> {
    format: &'a Format,
    now: i64,
    mask: u32,
    civil: Civil,
    day_of_year: i32,
    two_digits: bool,
    text_month: bool,
    bc: bool,
    pm: Option<bool>,
    offset: Option<i32>,
    dst: bool,
    zone: Option<Arc<TimeZone>>,
    abbreviated: bool,
    special: Option<Special>,
    pending: Option<Part>,
    iso_time: bool,
    time_only: bool,
    julian: bool,
}

/// Reads a date with an optional time and zone. `now` is the start of the transaction.
pub fn decode_date_time(text: &str, format: &Format, now: i64) -> Result<Decoded, DtError> {
    Decoder::new(format, now, false).run(text)
}

/// Reads a time of day with an optional date and zone.
pub fn decode_time(text: &str, format: &Format, now: i64) -> Result<Decoded, DtError> {
    Decoder::new(format, now, true).run(text)
}

impl<'a> Decoder<'a> {
    fn new(format: &'a Format, now: i64, time_only: bool) -> Decoder<'a> {
        Decoder {
            format,
            now,
            mask: 0,
            civil: Civil::default(),
            day_of_year: 0,
            two_digits: false,
            text_month: false,
            bc: false,
            pm: None,
            offset: None,
            dst: false,
            zone: None,
            abbreviated: false,
            special: None,
            pending: None,
            iso_time: false,
            time_only,
            julian: false,
        }
    }

    fn run(mut self, text: &str) -> Result<Decoded, DtError> {
        let fields = tokenize(text)?;
        if fields.is_empty() {
            return Err(DtError::BadFormat);
        }
        for (i, field) in fields.iter().enumerate() {
            let set = self.field(field, &fields[i + 1..], i == 0)?;
            if self.mask & set != 0 {
                return Err(DtError::BadFormat);
            }
            self.mask |= set;
        }
        if self.pending.is_some() || self.iso_time {
            return Err(DtError::BadFormat);
        }
        self.finish()
    }

    fn field(&mut self, field: &Field, rest: &[Field], first: bool) -> Result<u32, DtError> {
        let text = field.text.as_str();
        match field.kind {
            FieldKind::Date => self.date_field(text, rest, first),
            FieldKind::Time => {
                if let Some(part) = self.pending.take() {
                    // A date by Julian day may have a time joined to it: not with colons.
                    let _ = part;
                    return Err(DtError::BadFormat);
                }
                self.iso_time = false;
                self.time(text)?;
                Ok(TIME)
            }
            FieldKind::Zone => {
                let offset = decode_offset(text)?;
                self.offset = Some(offset);
                Ok(ZONE)
            }
            FieldKind::Number => self.number_field(text),
            FieldKind::Word | FieldKind::Signed => self.word(text, rest),
        }
    }

    /// A field with separators: a date, a zone's name, or a number joined to an offset.
    fn date_field(&mut self, text: &str, rest: &[Field], first: bool) -> Result<u32, DtError> {
        let starts_with_digit = text.as_bytes()[0].is_ascii_digit();
        if self.pending == Some(Part::Julian) {
            // A Julian day with an offset.
            let (number, offset) = split_sign(text).ok_or(DtError::BadFormat)?;
            self.pending = None;
            self.offset = Some(decode_offset(offset)?);
            let julian: i32 = number.parse().map_err(|_| DtError::FieldRange)?;
            self.set_julian(julian);
            return Ok(DATE | TIME | ZONE);
        }
        // First of several, before a time or with another such behind, it can only be a date.
        let dated = rest.first().is_some_and(|f| f.kind == FieldKind::Time)
            || rest.last().is_some_and(|f| f.kind == FieldKind::Date);
        if self.time_only && first && dated {
            return self.date(text);
        }
        let have_date = self.mask & DATE == DATE || (self.time_only && starts_with_digit);
        if have_date || self.iso_time {
            if self.iso_time && !starts_with_digit {
                return Err(DtError::BadFormat);
            }
            if starts_with_digit {
                let Some((number, offset)) = split_sign(text) else {
                    return if self.time_only && self.mask & DATE == 0 {
                        self.date(text)
                    } else {
                        Err(DtError::BadFormat)
                    };
                };
                if self.time_only && self.mask & DATE == 0 && number.len() < 4 {
                    return self.date(text);
                }
                if self.time_only && self.mask & DATE == 0 && offset[1..].contains('-') {
                    return self.date(text);
                }
                self.iso_time = false;
                self.offset = Some(decode_offset(offset)?);
                return Ok(self.run_together(number, self.mask | DATE)? | ZONE);
            }
            return self.named_zone(text);
        }
        if !starts_with_digit && !text.as_bytes()[0].is_ascii_alphabetic() {
            return Err(DtError::BadFormat);
        }
        if !starts_with_digit {
            // Either a month's name first, or a zone, which may only stand behind what it is of.
            let head: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
            if !matches!(date_word(&head), Some(Word::Month(_) | Word::Weekday)) {
                // The year may stand last, behind the zone.
                let dated = MONTH | DAY | TIME;
                return match self.time_only || self.mask & dated == dated {
                    true => self.named_zone(text),
                    false => Err(DtError::BadFormat),
                };
            }
        }
        self.date(text)
    }

    fn named_zone(&mut self, text: &str) -> Result<u32, DtError> {
        match TimeZone::by_name(text) {
            Some(zone) => {
                self.zone = Some(zone);
                Ok(ZONE)
            }
            None => Err(DtError::BadZone(text.to_string())),
        }
    }

    /// A date in one field: numbers and a month's name between separators.
    fn date(&mut self, text: &str) -> Result<u32, DtError> {
        let parts: Vec<&str> = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .flat_map(split_letters)
            .filter(|p| !p.is_empty())
            .collect();
        let mut set = 0;
        let mut numbers = Vec::new();
        for part in parts {
            if part.as_bytes()[0].is_ascii_alphabetic() {
                match date_word(part) {
                    Some(Word::Month(m)) => {
                        if set & MONTH != 0 {
                            return Err(DtError::BadFormat);
                        }
                        self.civil.month = m;
                        self.text_month = true;
                        set |= MONTH;
                    }
                    Some(Word::Weekday | Word::Ignore) => {}
                    _ => return Err(DtError::BadFormat),
                }
            } else {
                numbers.push(part);
            }
        }
        for number in numbers {
            let got = self.number(number, self.mask | set)?;
            if set & got != 0 {
                return Err(DtError::BadFormat);
            }
            set |= got;
        }
        if (self.mask | set) & !(DOY | TIME | ZONE) & DATE != DATE {
            return Err(DtError::BadFormat);
        }
        Ok(set)
    }

    fn number_field(&mut self, text: &str) -> Result<u32, DtError> {
        if let Some(part) = self.pending.take() {
            return self.unit(part, text);
        }
        if std::mem::take(&mut self.iso_time) {
            let set = self.run_together(text, self.mask | DATE)?;
            return if set & TIME != TIME { Err(DtError::BadFormat) } else { Ok(set) };
        }
        let whole = text.find('.').unwrap_or(text.len());
        let fraction = whole < text.len();
        let mask = if self.time_only { self.mask | DATE } else { self.mask };
        if fraction && mask & DATE == 0 {
            return self.date(text);
        }
        if (fraction && whole > 2)
            || (text.len() >= 6 && (mask & DATE == 0 || mask & TIME == 0))
            || (self.time_only && text.len() >= 4)
        {
            return self.run_together(text, mask);
        }
        self.number(text, mask)
    }

    /// A number after the word for Julian days, the only unit whose numbers are read apart.
    fn unit(&mut self, part: Part, text: &str) -> Result<u32, DtError> {
        if part != Part::Julian {
            return Err(DtError::BadFormat);
        }
        let whole = text.split('.').next().unwrap_or("");
        self.set_julian(whole.parse().map_err(|_| DtError::FieldRange)?);
        if text.len() == whole.len() {
            return Ok(DATE);
        }
        let day: f64 = text[whole.len()..].parse().map_err(|_| DtError::BadFormat)?;
        self.set_time((day * super::USECS_PER_DAY as f64).round() as i64);
        Ok(DATE | TIME)
    }

    fn set_julian(&mut self, julian: i32) {
        (self.civil.year, self.civil.month, self.civil.day) = date_from_julian(julian);
        self.julian = true;
    }

    fn set_time(&mut self, time: i64) {
        let c = &mut self.civil;
        (c.hour, c.minute, c.second, c.micros) = super::civil::time_parts(time);
    }

    /// Digits of a date or time without separators.
    fn run_together(&mut self, text: &str, mask: u32) -> Result<u32, DtError> {
        let (digits, fraction) = match text.split_once('.') {
            Some((digits, fraction)) => (digits, Some(fraction)),
            None => (text, None),
        };
        // Of a number beyond all bounds the low bits count, as the C library has them.
        let n = |range: std::ops::Range<usize>| -> Result<i32, DtError> {
            let part = &digits[range];
            match part.bytes().all(|b| b.is_ascii_digit()) {
                true => Ok(part.parse().unwrap_or(i64::MAX) as i32),
                false => Err(DtError::FieldRange),
            }
        };
        let len = digits.len();
        if let Some(fraction) = fraction {
            self.civil.micros = micros(fraction)?;
        } else if mask & DATE != DATE && len >= 6 {
            self.civil.day = n(len - 2..len)?;
            self.civil.month = n(len - 4..len - 2)?;
            self.civil.year = n(0..len - 4)?;
            self.two_digits = len == 6;
            return Ok(DATE);
        }
        if mask & TIME == 0 {
            if len == 6 {
                self.civil.hour = n(0..2)?;
                self.civil.minute = n(2..4)?;
                self.civil.second = n(4..6)?;
                return Ok(TIME);
            }
            if len == 4 {
                self.civil.hour = n(0..2)?;
                self.civil.minute = n(2..4)?;
                self.civil.second = 0;
                return Ok(TIME);
            }
        }
        Err(DtError::BadFormat)
    }

    /// A number whose meaning follows from what is known already.
    fn number(&mut self, text: &str, mask: u32) -> Result<u32, DtError> {
        if let Some((whole, _)) = text.split_once('.') {
            if whole.len() > 2 {
                return self.run_together(text, mask | DATE);
            }
            return Err(DtError::BadFormat);
        }
        let value: i32 = text.parse().map_err(|_| DtError::FieldRange)?;
        let order = self.format.date_order;
        if text.len() == 3 && mask & DATE == YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(DOY | MONTH | DAY);
        }
        let field = match mask & DATE {
            0 if text.len() >= 3 || order == DateOrder::Ymd => YEAR,
            0 if order == DateOrder::Dmy => DAY,
            0 => MONTH,
            YEAR => MONTH,
            MONTH if self.text_month => {
                if text.len() >= 3 || order == DateOrder::Ymd {
                    YEAR
                } else {
                    DAY
                }
            }
            MONTH => DAY,
            m if m == YEAR | MONTH && self.text_month && text.len() >= 3 && self.two_digits => {
                // What was taken for a two-digit year was the day.
                self.civil.day = self.civil.year;
                self.two_digits = false;
                self.civil.year = value;
                return Ok(DAY);
            }
            m if m == YEAR | MONTH => DAY,
            DAY => MONTH,
            m if m == MONTH | DAY => YEAR,
            _ => return Err(DtError::BadFormat),
        };
        match field {
            YEAR => {
                self.civil.year = value;
                self.two_digits = text.len() <= 2;
            }
            MONTH => self.civil.month = value,
            _ => self.civil.day = value,
        }
        Ok(field)
    }

    /// A time with colons.
    fn time(&mut self, text: &str) -> Result<(), DtError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) => (whole, fraction),
            None => (text, ""),
        };
        let mut parts = whole.split(':').map(|p| {
            if !p.bytes().all(|b| b.is_ascii_digit()) {
                return Err(DtError::BadFormat);
            }
            // Nothing behind a colon is zero.
            if p.is_empty() { Ok(0) } else { p.parse::<i32>().map_err(|_| DtError::FieldRange) }
        });
        let hour = parts.next().ok_or(DtError::BadFormat)??;
        let minute = parts.next().ok_or(DtError::BadFormat)??;
        let second = parts.next();
        if parts.next().is_some() {
            return Err(DtError::BadFormat);
        }
        let c = &mut self.civil;
        (c.hour, c.minute, c.second, c.micros) = (hour, minute, 0, 0);
        match second {
            Some(second) => c.second = second?,
            None if text.contains('.') => {
                // mm:ss.fff
                (c.hour, c.minute, c.second) = (0, hour, minute);
            }
            None => {}
        }
        if text.contains('.') {
            c.micros = micros(fraction)?;
        }
        if c.minute > 59 || c.second > 60 || c.hour > 24 {
            return Err(DtError::FieldRange);
        }
        Ok(())
    }

    fn word(&mut self, text: &str, rest: &[Field]) -> Result<u32, DtError> {
        if text.len() > 1
            && !matches!(date_word(text), Some(Word::Month(_) | Word::Weekday))
            && let Some(set) = self.zone_abbreviation(text)
        {
            return Ok(set);
        }
        let Some(word) = date_word(text) else {
            return match TimeZone::by_name(text) {
                Some(zone) => {
                    self.zone = Some(zone);
                    Ok(ZONE)
                }
                None => Err(DtError::BadFormat),
            };
        };
        Ok(match word {
            Word::Month(month) => {
                // "8 January": a number taken for the month was the day.
                if self.mask & MONTH != 0
                    && !self.text_month
                    && self.mask & DAY == 0
                    && (1..=31).contains(&self.civil.month)
                {
                    self.civil.day = self.civil.month;
                    self.mask |= DAY;
                    self.mask &= !MONTH;
                }
                self.text_month = true;
                self.civil.month = month;
                MONTH
            }
            Word::Weekday | Word::Ignore => 0,
            Word::Pm(pm) => {
                self.pm = Some(pm);
                0
            }
            Word::Bc(bc) => {
                self.bc = bc;
                0
            }
            Word::Utc => {
                self.offset = Some(0);
                ZONE
            }
            Word::Dst => {
                self.dst = true;
                match &mut self.offset {
                    Some(offset) => *offset += 3600,
                    // A zone knows for itself when it has summer time.
                    None if self.zone.is_some() => return Err(DtError::BadFormat),
                    None => {}
                }
                0
            }
            Word::IsoTime | Word::Unit(_) if self.pending.is_some() || self.iso_time => {
                return Err(DtError::BadFormat);
            }
            Word::IsoTime => {
                let next_ok = rest.first().is_some_and(|f| {
                    matches!(f.kind, FieldKind::Number | FieldKind::Time | FieldKind::Date)
                });
                if !next_ok || (!self.time_only && self.mask & DATE != DATE) {
                    return Err(DtError::BadFormat);
                }
                self.iso_time = true;
                0
            }
            Word::Unit(part) => {
                self.pending = Some(part);
                0
            }
            Word::Now => {
                super::note_read();
                self.special = Some(Special::Now);
                DATE | TIME | ZONE
            }
            Word::Today => self.relative_day(0),
            Word::Tomorrow => self.relative_day(1),
            Word::Yesterday => self.relative_day(-1),
            Word::Epoch => {
                self.special = Some(Special::Epoch);
                DATE | TIME | ZONE
            }
            Word::Infinity => {
                self.special = Some(Special::Infinity);
                DATE | TIME | ZONE
            }
            Word::NegInfinity => {
                self.special = Some(Special::NegInfinity);
                DATE | TIME | ZONE
            }
            Word::AllBalls => {
                self.set_time(0);
                self.offset = Some(0);
                TIME | ZONE
            }
        })
    }

    fn relative_day(&mut self, days: i32) -> u32 {
        super::note_read();
        let local = super::to_local(self.now, &self.format.timezone).unwrap_or(0);
        let civil = Civil::from_date(split(local).0 + days);
        (self.civil.year, self.civil.month, self.civil.day) = (civil.year, civil.month, civil.day);
        self.julian = true;
        DATE
    }

    fn zone_abbreviation(&mut self, text: &str) -> Option<u32> {
        let own = self.format.timezone.abbreviation(text);
        if own.is_some() {
            super::note_read();
        }
        match own.or_else(|| Some(abbreviation(text)?.meaning()))? {
            Ok(offset) => self.offset = Some(offset + if self.dst { 3600 } else { 0 }),
            Err(zone) => {
                self.zone = Some(zone);
                self.abbreviated = true;
            }
        }
        Some(ZONE)
    }

    fn finish(mut self) -> Result<Decoded, DtError> {
        let has_date = self.mask & DATE == DATE;
        let has_time = self.mask & TIME != 0;
        if self.special.is_none() {
            self.validate_date()?;
            self.validate_time()?;
            if !has_date && (self.mask & DATE != 0 || !self.time_only) {
                return Err(DtError::BadFormat);
            }
            if self.time_only && !has_time {
                return Err(DtError::BadFormat);
            }
        }
        Ok(Decoded {
            special: self.special,
            civil: self.civil,
            has_date,
            has_time,
            offset: self.offset,
            zone: self.zone,
            abbreviated: self.abbreviated,
        })
    }

    /// Each part of a date has to be possible before it is asked whether all are there.
    fn validate_date(&mut self) -> Result<(), DtError> {
        let c = &mut self.civil;
        if self.mask & YEAR != 0 && !self.julian {
            if self.bc {
                if c.year <= 0 {
                    return Err(DtError::FieldRange);
                }
                c.year = -(c.year - 1);
            } else if self.two_digits {
                if c.year < 0 {
                    return Err(DtError::FieldRange);
                }
                if c.year < 70 {
                    c.year += 2000;
                } else if c.year < 100 {
                    c.year += 1900;
                }
            } else if c.year <= 0 {
                return Err(DtError::FieldRange);
            }
        }
        if self.mask & DOY != 0 {
            let julian = super::julian_day(c.year, 1, 1) + self.day_of_year - 1;
            (c.year, c.month, c.day) = date_from_julian(julian);
        }
        if self.mask & MONTH != 0 && !(1..=12).contains(&c.month) {
            return Err(DtError::MonthDayRange);
        }
        if self.mask & DAY != 0 && !(1..=31).contains(&c.day) {
            return Err(DtError::MonthDayRange);
        }
        if self.mask & DATE == DATE && c.day > days_in_month(c.year, c.month) {
            return Err(DtError::FieldRange);
        }
        Ok(())
    }

    fn validate_time(&mut self) -> Result<(), DtError> {
        let c = &mut self.civil;
        if let Some(pm) = self.pm {
            if c.hour > 12 {
                return Err(DtError::FieldRange);
            }
            if pm && c.hour != 12 {
                c.hour += 12;
            } else if !pm && c.hour == 12 {
                c.hour = 0;
            }
        }
        let total = time_from_parts(c.hour, c.minute, c.second, c.micros);
        if c.hour < 0 || c.minute > 59 || c.second > 60 || total > SECS_PER_DAY * USECS_PER_SEC {
            return Err(DtError::FieldRange);
        }
        Ok(())
    }
}

impl Decoded {
    /// The local timestamp that was given, without its zone; specials are not handled here.
    pub fn local(&self) -> Result<i64, DtError> {
        if !self.civil.is_julian_valid() {
            return Err(DtError::FieldRange);
        }
        self.civil.timestamp().ok_or(DtError::FieldRange)
    }

    /// The offset that was given or that the named zone, else `default`, has at the local time.
    pub fn offset_at(&self, local: i64, default: &TimeZone) -> i32 {
        match (self.offset, &self.zone) {
            (Some(offset), _) => offset,
            (None, Some(zone)) => zone.offset_of_local(local),
            (None, None) => default.offset_of_local(local),
        }
    }

    /// Days from 2000-01-01.
    pub fn date(&self) -> i32 {
        super::julian_day(self.civil.year, self.civil.month, self.civil.day)
            .wrapping_sub(EPOCH_JULIAN)
    }
}

/// Splits where letters and digits meet.
fn split_letters(part: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let bytes = part.as_bytes();
    for i in 1..bytes.len() {
        if bytes[i].is_ascii_digit() != bytes[i - 1].is_ascii_digit() {
            out.push(&part[start..i]);
            start = i;
        }
    }
    out.push(&part[start..]);
    out
}

/// Splits a number from the offset joined to it.
fn split_sign(text: &str) -> Option<(&str, &str)> {
    let at = text.find(['-', '+'])?;
    Some(text.split_at(at))
}

/// Microseconds of the digits after a second's point, rounded.
pub(super) fn micros(fraction: &str) -> Result<i32, DtError> {
    if fraction.is_empty() {
        return Ok(0);
    }
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(DtError::BadFormat);
    }
    let value: f64 = format!("0.{fraction}").parse().map_err(|_| DtError::BadFormat)?;
    Ok((value * 1e6).round_ties_even() as i32)
}

/// The number that an offset's part begins with, 0 if there is none, and what follows it.
fn leading_number(text: &str) -> Result<(i32, &str), DtError> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    match digits.is_empty() {
        true => Ok((0, rest)),
        false => Ok((digits.parse().map_err(|_| DtError::ZoneRange)?, rest)),
    }
}

/// Seconds east of UTC of `+hh`, `+hh:mm`, `+hhmm`, `+hh:mm:ss`.
pub fn decode_offset(text: &str) -> Result<i32, DtError> {
    let (sign, body) = match text.as_bytes().first() {
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        _ => return Err(DtError::BadFormat),
    };
    let (mut hour, mut rest) = leading_number(body)?;
    let (mut minute, mut second) = (0, 0);
    if body.starts_with(|c: char| !c.is_ascii_digit()) {
        return Err(DtError::BadFormat);
    }
    // Behind a colon there may be nothing.
    if let Some(after) = rest.strip_prefix(':') {
        (minute, rest) = leading_number(after)?;
        if let Some(after) = rest.strip_prefix(':') {
            (second, rest) = leading_number(after)?;
        }
    } else if rest.is_empty() && body.len() > 2 {
        (hour, minute) = (hour / 100, hour % 100);
    }
    if hour > 15 || minute > 59 || second > 59 {
        return Err(DtError::ZoneRange);
    }
    if !rest.is_empty() {
        return Err(DtError::BadFormat);
    }
    Ok(sign * (hour * 3600 + minute * 60 + second))
}

/// The zone or offset that a word of `AT TIME ZONE` names: an abbreviation that the session's
/// zone uses or one of the known ones, a zone's name or a POSIX specification.
pub fn zone_by_word(word: &str, session: &Arc<TimeZone>) -> Option<Result<i32, Arc<TimeZone>>> {
    if let Some(found) = session.abbreviation(word) {
        return Some(found);
    }
    if let Some(a) = abbreviation(word) {
        return Some(a.meaning());
    }
    if matches!(date_word(&word.to_ascii_lowercase()), Some(Word::Utc)) {
        return Some(Ok(0));
    }
    TimeZone::by_name(word).map(Err)
}
