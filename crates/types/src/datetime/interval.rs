//! Intervals: months, days and microseconds, which do not mix.

use super::{USECS_PER_DAY, USECS_PER_SEC};
use base::{Error, Result, bail, err};
use std::cmp::Ordering;

/// A span of time. Stored as microseconds, days, months: 16 bytes, little endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

#[cold]
pub(crate) fn interval_range() -> Error {
    err!(DATETIME_FIELD_OVERFLOW, "interval out of range")
}

impl Interval {
    /// The end of time.
    pub const INFINITY: Interval = Interval { months: i32::MAX, days: i32::MAX, micros: i64::MAX };
    /// The beginning of time.
    pub const NEG_INFINITY: Interval =
        Interval { months: i32::MIN, days: i32::MIN, micros: i64::MIN };

    /// An interval of these parts.
    pub const fn new(months: i32, days: i32, micros: i64) -> Interval {
        Interval { months, days, micros }
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> Interval {
        let Some(bytes) = bytes.first_chunk::<16>() else { return Interval::default() };
        let word = |at: usize| {
            i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let low = word(0) as u32 as u64 | (word(4) as u32 as u64) << 32;
        Interval { micros: low as i64, days: word(8), months: word(12) }
    }

    /// The stored form.
    pub fn encode(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.micros.to_le_bytes());
        out[8..12].copy_from_slice(&self.days.to_le_bytes());
        out[12..].copy_from_slice(&self.months.to_le_bytes());
        out
    }

    /// Whether it is an infinity.
    pub fn is_infinite(&self) -> bool {
        *self == Interval::INFINITY || *self == Interval::NEG_INFINITY
    }

    /// The span in microseconds with months of 30 days: what order and hash go by.
    pub fn span(&self) -> i128 {
        let days = self.months as i128 * 30 + self.days as i128;
        days * USECS_PER_DAY as i128 + self.micros as i128
    }

    /// Order by span.
    pub fn compare(&self, other: &Interval) -> Ordering {
        self.span().cmp(&other.span())
    }

    /// Fails on the values that stand for infinities.
    pub fn finite(self) -> Result<Interval> {
        if self.is_infinite() { Err(interval_range()) } else { Ok(self) }
    }

    /// Minus this interval.
    pub fn neg(self) -> Result<Interval> {
        if self == Interval::INFINITY {
            return Ok(Interval::NEG_INFINITY);
        }
        if self == Interval::NEG_INFINITY {
            return Ok(Interval::INFINITY);
        }
        let parts = (self.months.checked_neg(), self.days.checked_neg(), self.micros.checked_neg());
        match parts {
            (Some(months), Some(days), Some(micros)) => {
                Interval::new(months, days, micros).finite()
            }
            _ => Err(interval_range()),
        }
    }

    /// The sum, part by part.
    pub fn add(self, other: Interval) -> Result<Interval> {
        match (self.is_infinite(), other.is_infinite()) {
            (true, true) if self != other => return Err(interval_range()),
            (true, _) => return Ok(self),
            (_, true) => return Ok(other),
            _ => {}
        }
        let parts = (
            self.months.checked_add(other.months),
            self.days.checked_add(other.days),
            self.micros.checked_add(other.micros),
        );
        match parts {
            (Some(months), Some(days), Some(micros)) => {
                Interval::new(months, days, micros).finite()
            }
            _ => Err(interval_range()),
        }
    }

    /// The difference, part by part.
    pub fn sub(self, other: Interval) -> Result<Interval> {
        match (self.is_infinite(), other.is_infinite()) {
            (true, true) if self == other => return Err(interval_range()),
            (true, _) => return Ok(self),
            (_, true) => return other.neg(),
            _ => {}
        }
        let parts = (
            self.months.checked_sub(other.months),
            self.days.checked_sub(other.days),
            self.micros.checked_sub(other.micros),
        );
        match parts {
            (Some(months), Some(days), Some(micros)) => {
                Interval::new(months, days, micros).finite()
            }
            _ => Err(interval_range()),
        }
    }

    /// Times a factor; fractions of months go to days (of 30), of days to time.
    pub fn mul(self, factor: f64) -> Result<Interval> {
        if factor.is_nan() {
            return Err(interval_range());
        }
        if self.is_infinite() || factor.is_infinite() {
            let sign = (self.span().signum() as f64) * factor;
            return if sign == 0.0 || sign.is_nan() {
                Err(interval_range())
            } else if (sign > 0.0) == (self.span() > 0 || !self.is_infinite()) || sign > 0.0 {
                Ok(if sign > 0.0 { Interval::INFINITY } else { Interval::NEG_INFINITY })
            } else {
                Ok(Interval::NEG_INFINITY)
            };
        }
        self.scale(|x| x * factor)
    }

    /// Divided by a divisor, likewise.
    pub fn div(self, divisor: f64) -> Result<Interval> {
        if divisor == 0.0 {
            bail!(DIVISION_BY_ZERO, "division by zero");
        }
        if divisor.is_nan() {
            return Err(interval_range());
        }
        if self.is_infinite() {
            if divisor.is_infinite() {
                return Err(interval_range());
            }
            return if divisor < 0.0 { self.neg() } else { Ok(self) };
        }
        self.scale(|x| x / divisor)
    }

    fn scale(self, f: impl Fn(f64) -> f64) -> Result<Interval> {
        let fits32 = |x: f64| x > -2_147_483_649.0 && x < 2_147_483_648.0;
        let months = f(self.months as f64);
        let days = f(self.days as f64);
        if !fits32(months) || !fits32(days) || months.is_nan() || days.is_nan() {
            return Err(interval_range());
        }
        let (whole_months, whole_days) = (months.trunc(), days.trunc());
        // A fraction of a month is days of 30; values are brought to whole microseconds so that
        // rounding noise does not show.
        let round = |x: f64| (x * 1e6).round_ties_even() / 1e6;
        let month_days = round((months - whole_months) * 30.0);
        let mut seconds = round((days - whole_days + month_days - month_days.trunc()) * 86_400.0);
        let mut extra = 0.0;
        if seconds.abs() >= 86_400.0 {
            extra = (seconds / 86_400.0).trunc();
            seconds -= extra * 86_400.0;
        }
        let total_days = whole_days + month_days.trunc() + extra;
        let micros = (f(self.micros as f64) + seconds * 1e6).round_ties_even();
        // The bounds as they are in doubles.
        if !fits32(total_days) || !(i64::MIN as f64..i64::MAX as f64).contains(&micros) {
            return Err(interval_range());
        }
        Interval::new(whole_months as i32, total_days as i32, micros as i64).finite()
    }

    /// Hours of 24 become days.
    pub fn justify_hours(self) -> Result<Interval> {
        if self.is_infinite() {
            return Ok(self);
        }
        let whole = self.micros / USECS_PER_DAY;
        let mut out = self;
        out.micros -= whole * USECS_PER_DAY;
        out.days = i32::try_from(out.days as i64 + whole).map_err(|_| interval_range())?;
        if out.days > 0 && out.micros < 0 {
            out.micros += USECS_PER_DAY;
            out.days -= 1;
        } else if out.days < 0 && out.micros > 0 {
            out.micros -= USECS_PER_DAY;
            out.days += 1;
        }
        Ok(out)
    }

    /// Days of 30 become months.
    pub fn justify_days(self) -> Result<Interval> {
        if self.is_infinite() {
            return Ok(self);
        }
        let whole = self.days / 30;
        let mut out = self;
        out.days -= whole * 30;
        out.months = out.months.checked_add(whole).ok_or_else(interval_range)?;
        if out.months > 0 && out.days < 0 {
            out.days += 30;
            out.months -= 1;
        } else if out.months < 0 && out.days > 0 {
            out.days -= 30;
            out.months += 1;
        }
        Ok(out)
    }

    /// Both, with one sign for all parts.
    pub fn justify(self) -> Result<Interval> {
        if self.is_infinite() {
            return Ok(self);
        }
        let mut out = self;
        // Days and hours of unlike sign are settled first where that keeps days from overflowing.
        if (out.days > 0 && out.micros > 0) || (out.days < 0 && out.micros < 0) {
            let whole = out.days / 30;
            out.days -= whole * 30;
            out.months = out.months.checked_add(whole).ok_or_else(interval_range)?;
        }
        let whole = out.micros / USECS_PER_DAY;
        out.micros -= whole * USECS_PER_DAY;
        out.days = i32::try_from(out.days as i64 + whole).map_err(|_| interval_range())?;
        let whole = out.days / 30;
        out.days -= whole * 30;
        out.months = out.months.checked_add(whole).ok_or_else(interval_range)?;
        if out.months > 0 && (out.days < 0 || (out.days == 0 && out.micros < 0)) {
            out.days += 30;
            out.months -= 1;
        } else if out.months < 0 && (out.days > 0 || (out.days == 0 && out.micros > 0)) {
            out.days -= 30;
            out.months += 1;
        }
        if out.days > 0 && out.micros < 0 {
            out.micros += USECS_PER_DAY;
            out.days -= 1;
        } else if out.days < 0 && out.micros > 0 {
            out.micros -= USECS_PER_DAY;
            out.days += 1;
        }
        Ok(out)
    }
}

pub(super) const R_MONTH: i32 = 1 << 1;
pub(super) const R_YEAR: i32 = 1 << 2;
pub(super) const R_DAY: i32 = 1 << 3;
pub(super) const R_HOUR: i32 = 1 << 10;
pub(super) const R_MINUTE: i32 = 1 << 11;
pub(super) const R_SECOND: i32 = 1 << 12;
pub(super) const R_FULL: i32 = 0x7fff;

/// Cuts an interval to the fields and precision of a type modifier.
pub fn interval_from_typmod(value: Interval, typmod: i32) -> Result<Interval> {
    if typmod < 0 || value.is_infinite() {
        return Ok(value);
    }
    let (range, precision) = (typmod >> 16 & 0x7fff, typmod & 0xffff);
    let mut out = value;
    let whole = |t: i64, unit: i64| t / unit * unit;
    match range {
        R_FULL => {}
        R_YEAR => {
            out = Interval::new(value.months / 12 * 12, 0, 0);
        }
        r if r == R_MONTH || r == R_YEAR | R_MONTH => out = Interval::new(value.months, 0, 0),
        R_DAY => out.micros = 0,
        _ if !is_range(range) => {
            bail!(INTERNAL_ERROR, "unrecognized interval typmod: {typmod}")
        }
        r if r == R_HOUR || r == R_DAY | R_HOUR => {
            out.micros = whole(value.micros, 3600 * USECS_PER_SEC);
        }
        r if r == R_MINUTE || r == R_DAY | R_HOUR | R_MINUTE || r == R_HOUR | R_MINUTE => {
            out.micros = whole(value.micros, 60 * USECS_PER_SEC);
        }
        _ => {}
    }
    if precision < 6 {
        let unit = 10i64.pow(6 - precision as u32);
        let half = unit / 2 * out.micros.signum();
        out.micros = out.micros.checked_add(half).ok_or_else(interval_range)? / unit * unit;
    }
    Ok(out)
}

/// Whether these are fields that an interval can be cut to.
pub fn is_range(range: i32) -> bool {
    matches!(range, R_FULL | R_YEAR | R_MONTH | R_DAY | R_HOUR | R_MINUTE | R_SECOND)
        || [
            R_YEAR | R_MONTH,
            R_DAY | R_HOUR,
            R_DAY | R_HOUR | R_MINUTE,
            R_DAY | R_HOUR | R_MINUTE | R_SECOND,
            R_HOUR | R_MINUTE,
            R_HOUR | R_MINUTE | R_SECOND,
            R_MINUTE | R_SECOND,
        ]
        .contains(&range)
}

/// The fields and precision of a type modifier as text, with a leading space for fields.
pub fn interval_typmod_out(typmod: i32) -> String {
    if typmod < 0 {
        return String::new();
    }
    let (range, precision) = (typmod >> 16 & 0x7fff, typmod & 0xffff);
    let fields = match range {
        R_YEAR => " year",
        R_MONTH => " month",
        R_DAY => " day",
        R_HOUR => " hour",
        R_MINUTE => " minute",
        R_SECOND => " second",
        r if r == R_YEAR | R_MONTH => " year to month",
        r if r == R_DAY | R_HOUR => " day to hour",
        r if r == R_DAY | R_HOUR | R_MINUTE => " day to minute",
        r if r == R_DAY | R_HOUR | R_MINUTE | R_SECOND => " day to second",
        r if r == R_HOUR | R_MINUTE => " hour to minute",
        r if r == R_HOUR | R_MINUTE | R_SECOND => " hour to second",
        r if r == R_MINUTE | R_SECOND => " minute to second",
        _ => "",
    };
    if precision != 0xffff { format!("{fields}({precision})") } else { fields.to_string() }
}
