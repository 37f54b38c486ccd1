//! Intervals in ISO 8601's forms: with designators, `P1Y2M3DT4H5M6S`, and the alternative ones
//! without, `P0001-02-03T04:05:06` and `P00010203T040506`.

use super::decode::DtError;
use super::decode_interval::{Sum, Unit};
use super::interval::Interval;

/// Reads an interval that begins with `P`.
pub(super) fn iso(text: &str) -> Result<Interval, DtError> {
    let rest = text.strip_prefix('P').filter(|r| !r.is_empty()).ok_or(DtError::BadFormat)?;
    let mut reader = Reader { rest, sum: Sum::default(), designated: false };
    let (mut in_time, mut done) = (false, false);
    while !done && !reader.rest.is_empty() {
        if let Some(after) = reader.rest.strip_prefix('T') {
            in_time = true;
            reader.designated = false;
            reader.rest = after;
        } else if in_time {
            done = reader.time_field()?;
        } else {
            reader.date_field()?;
        }
    }
    if !reader.rest.is_empty() {
        return Err(DtError::BadFormat);
    }
    reader.sum.finish()
}

/// A number, its fraction, and how it was written.
struct Number<'a> {
    whole: i64,
    fraction: f64,
    /// The digits, if there is nothing else.
    digits: &'a str,
}

struct Reader<'a> {
    rest: &'a str,
    sum: Sum,
    /// A field with a designator has come since `P` or `T`.
    designated: bool,
}

impl<'a> Reader<'a> {
    fn date_field(&mut self) -> Result<(), DtError> {
        let n = self.number()?;
        let unit = match self.rest.bytes().next() {
            Some(b'Y') => Unit::Year,
            Some(b'M') => Unit::Month,
            Some(b'W') => Unit::Week,
            Some(b'D') => Unit::Day,
            None | Some(b'T' | b'-') if !self.designated => return self.alternative_date(n),
            _ => return Err(DtError::BadFormat),
        };
        self.designated(unit, n)
    }

    fn designated(&mut self, unit: Unit, n: Number) -> Result<(), DtError> {
        self.rest = &self.rest[1..];
        self.designated = true;
        self.sum.add(unit, n.whole, n.fraction)
    }

    /// `YYYYMMDD`, or `YYYY[-MM[-DD]]`. A time may follow.
    fn alternative_date(&mut self, first: Number) -> Result<(), DtError> {
        if first.digits.len() == 8 && !self.rest.starts_with('-') {
            let part = |range: std::ops::Range<usize>| {
                first.digits[range].parse().map_err(|_| DtError::BadFormat)
            };
            self.sum.add(Unit::Year, part(0..4)?, 0.0)?;
            self.sum.add(Unit::Month, part(4..6)?, 0.0)?;
            return self.sum.add(Unit::Day, part(6..8)?, 0.0);
        }
        self.sum.add(Unit::Year, first.whole, first.fraction)?;
        for unit in [Unit::Month, Unit::Day] {
            let Some(after) = self.rest.strip_prefix('-') else { break };
            self.rest = after;
            let n = self.number()?;
            self.sum.add(unit, n.whole, n.fraction)?;
        }
        match self.rest.bytes().next() {
            None | Some(b'T') => Ok(()),
            _ => Err(DtError::BadFormat),
        }
    }

    /// Answers whether nothing may follow.
    fn time_field(&mut self) -> Result<bool, DtError> {
        let n = self.number()?;
        let unit = match self.rest.bytes().next() {
            Some(b'H') => Unit::Hour,
            Some(b'M') => Unit::Minute,
            Some(b'S') => Unit::Second,
            None | Some(b':') if !self.designated => {
                self.alternative_time(n)?;
                return Ok(true);
            }
            _ => return Err(DtError::BadFormat),
        };
        self.designated(unit, n)?;
        Ok(false)
    }

    /// `HHMMSS`, or `HH[:MM[:SS]]`.
    fn alternative_time(&mut self, first: Number) -> Result<(), DtError> {
        if first.digits.len() == 6 && self.rest.is_empty() {
            let part = |range: std::ops::Range<usize>| {
                first.digits[range].parse().map_err(|_| DtError::BadFormat)
            };
            self.sum.add(Unit::Hour, part(0..2)?, 0.0)?;
            self.sum.add(Unit::Minute, part(2..4)?, 0.0)?;
            return self.sum.add(Unit::Second, part(4..6)?, 0.0);
        }
        self.sum.add(Unit::Hour, first.whole, first.fraction)?;
        for unit in [Unit::Minute, Unit::Second] {
            let Some(after) = self.rest.strip_prefix(':') else { break };
            self.rest = after;
            let n = self.number()?;
            self.sum.add(unit, n.whole, n.fraction)?;
        }
        Ok(())
    }

    /// A number: digits, a point and more of them, an exponent.
    fn number(&mut self) -> Result<Number<'a>, DtError> {
        let text = self.rest;
        let bytes = text.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let sign = bytes.first().is_some_and(|b| matches!(b, b'+' | b'-')) as usize;
        let whole = digits(sign);
        let mut end = sign + whole;
        let mut fraction = 0;
        if bytes.get(end) == Some(&b'.') {
            fraction = digits(end + 1);
            end += 1 + fraction;
        }
        if whole + fraction == 0 {
            return Err(DtError::BadFormat);
        }
        let plain = fraction == 0 && end == sign + whole;
        let mut exponent = false;
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = matches!(bytes.get(end + 1), Some(b'+' | b'-')) as usize;
            let n = digits(end + 1 + sign);
            exponent = n > 0;
            end += if exponent { 1 + sign + n } else { 0 };
        }
        self.rest = &text[end..];
        if plain && !exponent {
            let digits = if sign == 0 { &text[..end] } else { "" };
            let whole: i64 = text[..end].parse().map_err(|_| DtError::FieldRange)?;
            return Ok(Number { whole, fraction: 0.0, digits });
        }
        let value: f64 = text[..end].parse().map_err(|_| DtError::BadFormat)?;
        if value.abs() > i64::MAX as f64 {
            return Err(DtError::FieldRange);
        }
        Ok(Number { whole: value as i64, fraction: value - value.trunc(), digits: "" })
    }
}
