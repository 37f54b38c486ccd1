//! Intervals from text.

use super::decode::{DtError, micros};
use super::interval::{
    Interval, R_DAY, R_FULL, R_HOUR, R_MINUTE, R_MONTH, R_SECOND, R_YEAR, interval_from_typmod,
};
use super::iso_interval::iso;
use super::token::{FieldKind, tokenize};
use super::{USECS_PER_DAY, USECS_PER_HOUR, USECS_PER_MINUTE, USECS_PER_SEC};
use crate::io::IntervalStyle;
use base::{Error, Result};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    Micro,
    Milli,
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
}

enum UnitWord {
    Unit(Unit),
    Ago,
    Infinity,
    NegInfinity,
}

fn unit_word(word: &str) -> Option<UnitWord> {
    use Unit::*;
    // Only the first ten letters count.
    let short: String = word.chars().take(10).collect();
    Some(UnitWord::Unit(match short.as_str() {
        "ago" => return Some(UnitWord::Ago),
        "infinity" | "+infinity" => return Some(UnitWord::Infinity),
        "-infinity" => return Some(UnitWord::NegInfinity),
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Micro,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Milli,
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
        _ => return None,
    }))
}

/// The fields of an interval, added up.
#[derive(Default)]
pub(super) struct Sum {
    /// Years are kept apart up to the end: what overflows then is the interval, not a field.
    years: i64,
    months: i64,
    days: i64,
    micros: i64,
}

impl Sum {
    fn months(&mut self, n: i64, each: i64) -> Result<(), DtError> {
        self.months = n
            .checked_mul(each)
            .and_then(|m| self.months.checked_add(m))
            .filter(|m| i32::try_from(*m).is_ok())
            .ok_or(DtError::FieldRange)?;
        Ok(())
    }

    fn years(&mut self, n: i64, each: i64) -> Result<(), DtError> {
        self.years = n
            .checked_mul(each)
            .and_then(|y| self.years.checked_add(y))
            .filter(|y| i32::try_from(*y).is_ok())
            .ok_or(DtError::FieldRange)?;
        Ok(())
    }

    fn days(&mut self, n: i64, each: i64) -> Result<(), DtError> {
        self.days = n
            .checked_mul(each)
            .and_then(|d| self.days.checked_add(d))
            .filter(|d| i32::try_from(*d).is_ok())
            .ok_or(DtError::FieldRange)?;
        Ok(())
    }

    fn micros(&mut self, n: i64, each: i64) -> Result<(), DtError> {
        self.micros = n
            .checked_mul(each)
            .and_then(|m| self.micros.checked_add(m))
            .ok_or(DtError::FieldRange)?;
        Ok(())
    }

    /// A fraction of a unit of `each` microseconds.
    fn fraction_micros(&mut self, fraction: f64, each: i64) -> Result<(), DtError> {
        let value = fraction * each as f64;
        let mut whole = value as i64;
        // Rounding away from the exact value is decided on the rest.
        let rest = value - whole as f64;
        if rest > 0.5 {
            whole += 1;
        } else if rest < -0.5 {
            whole -= 1;
        }
        self.micros(whole, 1)
    }

    /// A fraction of a unit of `each` days.
    fn fraction_days(&mut self, fraction: f64, each: i64) -> Result<(), DtError> {
        let days = fraction * each as f64;
        let whole = days.trunc();
        self.days(whole as i64, 1)?;
        self.fraction_micros(days - whole, USECS_PER_DAY)
    }

    pub(super) fn add(&mut self, unit: Unit, n: i64, fraction: f64) -> Result<(), DtError> {
        match unit {
            Unit::Micro => {
                self.micros(n, 1)?;
                self.fraction_micros(fraction, 1)
            }
            Unit::Milli => {
                self.micros(n, 1000)?;
                self.fraction_micros(fraction, 1000)
            }
            Unit::Second => {
                self.micros(n, USECS_PER_SEC)?;
                self.micros((fraction * 1e6).round_ties_even() as i64, 1)
            }
            Unit::Minute => {
                self.micros(n, USECS_PER_MINUTE)?;
                self.fraction_micros(fraction, USECS_PER_MINUTE)
            }
            Unit::Hour => {
                self.micros(n, USECS_PER_HOUR)?;
                self.fraction_micros(fraction, USECS_PER_HOUR)
            }
            Unit::Day => {
                self.days(n, 1)?;
                self.fraction_micros(fraction, USECS_PER_DAY)
            }
            Unit::Week => {
                self.days(n, 7)?;
                self.fraction_days(fraction, 7)
            }
            Unit::Month => {
                self.months(n, 1)?;
                self.fraction_days(fraction, 30)
            }
            Unit::Quarter => {
                self.months(n, 3)?;
                self.fraction_months(fraction, 3)
            }
            Unit::Year => {
                self.years(n, 1)?;
                self.fraction_months(fraction, 12)
            }
            Unit::Decade => {
                self.years(n, 10)?;
                self.fraction_months(fraction, 120)
            }
            Unit::Century => {
                self.years(n, 100)?;
                self.fraction_months(fraction, 1200)
            }
            Unit::Millennium => {
                self.years(n, 1000)?;
                self.fraction_months(fraction, 12000)
            }
        }
    }

    /// A fraction of a unit of `each` months. Whole months of it are no fields of their own.
    fn fraction_months(&mut self, fraction: f64, each: i64) -> Result<(), DtError> {
        self.months((fraction * each as f64).round_ties_even() as i64, 1)
    }

    pub(super) fn finish(self) -> Result<Interval, DtError> {
        let months = i32::try_from(self.years * 12 + self.months).map_err(|_| DtError::Whole)?;
        let days = i32::try_from(self.days).map_err(|_| DtError::FieldRange)?;
        Ok(Interval::new(months, days, self.micros))
    }
}

/// Reads an interval and cuts it to its type modifier.
pub fn decode_interval(text: &str, typmod: i32, style: IntervalStyle) -> Result<Interval> {
    let range = if typmod < 0 { R_FULL } else { typmod >> 16 & 0x7fff };
    let value = match fields(text, range, style) {
        Err(DtError::BadFormat) => iso(text),
        other => other,
    };
    match value {
        Ok(value) => interval_from_typmod(value, typmod),
        Err(e) => Err(fail(e, text)),
    }
}

fn fail(e: DtError, text: &str) -> Error {
    let e = match e {
        DtError::FieldRange | DtError::MonthDayRange => DtError::IntervalRange,
        e => e,
    };
    e.into_error(text, "interval")
}

/// The unit of the last number if no word says which.
fn default_unit(range: i32) -> Unit {
    match range {
        R_YEAR => Unit::Year,
        r if r == R_MONTH || r == R_YEAR | R_MONTH => Unit::Month,
        R_DAY => Unit::Day,
        r if r == R_HOUR || r == R_DAY | R_HOUR => Unit::Hour,
        r if r == R_MINUTE || r == R_HOUR | R_MINUTE || r == R_DAY | R_HOUR | R_MINUTE => {
            Unit::Minute
        }
        _ => Unit::Second,
    }
}

fn fields(text: &str, range: i32, style: IntervalStyle) -> Result<Interval, DtError> {
    let fields = tokenize(text)?;
    let mut sum = Sum::default();
    let mut unit: Option<Unit> = None;
    // A word said so, and no number yet.
    let mut unused = false;
    let mut seen = 0u32;
    let mut ago = false;
    // In the SQL standard's style one leading sign holds for all fields.
    let force_negative = style == IntervalStyle::SqlStandard
        && fields.first().is_some_and(|f| f.text.starts_with('-'))
        && !fields[1..].iter().any(|f| f.text.starts_with(['-', '+']));
    for field in fields.iter().rev() {
        let mask = match field.kind {
            FieldKind::Time => {
                let negative = force_negative;
                sum.micros(signed(time(&field.text, range)?, negative), 1)?;
                unit = Some(Unit::Day);
                TIME_FIELDS
            }
            FieldKind::Zone if field.text.contains(':') => {
                let negative = field.text.starts_with('-') || force_negative;
                sum.micros(signed(time(&field.text[1..], range)?, negative), 1)?;
                unit = Some(Unit::Day);
                TIME_FIELDS
            }
            FieldKind::Zone | FieldKind::Date | FieldKind::Number => {
                let unit = unit.get_or_insert_with(|| default_unit(range));
                number(&mut sum, &field.text, unit, force_negative)?
            }
            FieldKind::Word | FieldKind::Signed => {
                match unit_word(&field.text).ok_or(DtError::BadFormat)? {
                    UnitWord::Unit(_) if unused => return Err(DtError::BadFormat),
                    UnitWord::Unit(u) => {
                        unit = Some(u);
                        unused = true;
                    }
                    UnitWord::Ago => {
                        ago = true;
                        unit = None;
                    }
                    UnitWord::Infinity | UnitWord::NegInfinity if fields.len() != 1 => {
                        return Err(DtError::BadFormat);
                    }
                    UnitWord::Infinity => return Ok(Interval::INFINITY),
                    UnitWord::NegInfinity => return Ok(Interval::NEG_INFINITY),
                }
                continue;
            }
        };
        if mask & seen != 0 {
            return Err(DtError::BadFormat);
        }
        seen |= mask;
        unused = false;
    }
    let first_ago = fields.iter().position(|f| f.text == "ago");
    if seen == 0 || unused || first_ago.is_some_and(|p| p + 1 != fields.len()) {
        return Err(DtError::BadFormat);
    }
    let out = sum.finish()?;
    if !ago {
        return Ok(out);
    }
    // What stands for an infinity when it is negated was none before.
    let (months, days) = (out.months.checked_neg(), out.days.checked_neg());
    match (months, days, out.micros.checked_neg()) {
        (Some(months), Some(days), Some(micros)) => Ok(Interval::new(months, days, micros)),
        _ => Err(DtError::FieldRange),
    }
}

/// What a time of day sets: hours, minutes and every kind of seconds.
const TIME_FIELDS: u32 = 0b11111;

fn signed(n: i64, negative: bool) -> i64 {
    if negative { -n } else { n }
}

/// Takes in a number of `unit`; answers the mask of fields set, from which repeats are seen.
fn number(
    sum: &mut Sum,
    text: &str,
    unit: &mut Unit,
    force_negative: bool,
) -> Result<u32, DtError> {
    let negative = text.starts_with('-');
    let body = text.trim_start_matches(['+', '-']);
    if text.len() - body.len() > 1 {
        return Err(DtError::BadFormat);
    }
    let flip = negative || force_negative;
    let (whole, fraction) = if let Some((years, months)) = body.split_once('-') {
        let years = int(years)?;
        let (digits, rest) =
            months.split_at(months.find(|c: char| !c.is_ascii_digit()).unwrap_or(months.len()));
        let months = int(digits)?;
        if months >= 12 {
            return Err(DtError::FieldRange);
        }
        if !rest.is_empty() {
            return Err(DtError::BadFormat);
        }
        *unit = Unit::Month;
        let total = years.checked_mul(12).and_then(|y| y.checked_add(months));
        (signed(total.ok_or(DtError::FieldRange)?, flip), 0.0)
    } else if let Some((whole, fraction)) = body.split_once('.') {
        if !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return Err(DtError::BadFormat);
        }
        let whole = if whole.is_empty() { 0 } else { signed_int(whole, flip)? };
        let value: f64 = format!("0.{fraction}0").parse().map_err(|_| DtError::BadFormat)?;
        (whole, value)
    } else {
        (signed_int(body, flip)?, 0.0)
    };
    sum.add(*unit, whole, if flip { -fraction } else { fraction })?;
    Ok(match unit {
        Unit::Micro if fraction == 0.0 => 1 << 3,
        Unit::Milli if fraction == 0.0 => 1 << 4,
        Unit::Second if fraction == 0.0 => 1,
        Unit::Micro | Unit::Milli | Unit::Second => 1 | 1 << 3 | 1 << 4,
        Unit::Minute => 1 << 1,
        Unit::Hour => {
            *unit = Unit::Day;
            1 << 2
        }
        Unit::Day => 1 << 5,
        Unit::Week => 1 << 6,
        Unit::Month => 1 << 7,
        Unit::Quarter => 1 << 12,
        Unit::Year => 1 << 8,
        Unit::Decade => 1 << 9,
        Unit::Century => 1 << 10,
        Unit::Millennium => 1 << 11,
    })
}

fn int(text: &str) -> Result<i64, DtError> {
    signed_int(text, false)
}

/// Digits with a sign that stands elsewhere: the least number has no positive counterpart.
fn signed_int(digits: &str, negative: bool) -> Result<i64, DtError> {
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(DtError::BadFormat);
    }
    let n: i128 = digits.parse().map_err(|_| DtError::FieldRange)?;
    i64::try_from(if negative { -n } else { n }).map_err(|_| DtError::FieldRange)
}

/// A time of day of any length, as microseconds.
fn time(text: &str, range: i32) -> Result<i64, DtError> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    if fraction.is_some_and(|f| !f.bytes().all(|b| b.is_ascii_digit())) {
        return Err(DtError::BadFormat);
    }
    // Nothing behind a colon is zero.
    let part = |(i, p): (usize, &str)| if i > 0 && p.is_empty() { Ok(0) } else { int(p) };
    let parts = whole.split(':').enumerate().map(part).collect::<Result<Vec<_>, _>>()?;
    let (hour, minute, second) = match parts[..] {
        [minute, second] if fraction.is_some() || range == R_MINUTE | R_SECOND => {
            (0, minute, second)
        }
        [hour, minute] => (hour, minute, 0),
        [hour] => (hour, 0, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return Err(DtError::BadFormat),
    };
    if minute > 59 || second > 60 {
        return Err(DtError::FieldRange);
    }
    let micros = fraction.map_or(Ok(0), micros)? as i64;
    hour.checked_mul(USECS_PER_HOUR)
        .and_then(|t| t.checked_add(minute * USECS_PER_MINUTE + second * USECS_PER_SEC + micros))
        .ok_or(DtError::FieldRange)
}
