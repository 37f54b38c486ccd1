//! Exact decimal numbers of any length.
//!
//! A stored value is a header and digits in base 10000, most significant first, little endian:
//!
//! ```text
//! short   u16: 0x8000 | sign 0x2000 | dscale << 7 (6 bits) | weight (7 bits, signed)
//! long    u16: sign 0x4000 | dscale (14 bits), then i16: weight
//! special u16: 0xC000 NaN, 0xD000 Infinity, 0xF000 -Infinity
//! ```
//!
//! `weight` is the power of 10000 of the first digit; `dscale` the decimal digits shown after the
//! point. [`Numeric`] is the unpacked form; [`small`] the fast path for what fits 128 bits.

mod arith;
mod cast;
mod format;
mod func;
mod long;
mod parse;
mod round;
pub mod small;
mod sum;

pub use cast::{from_f32, from_f64, stored_i64, stored_to_f64, to_f64, to_int};
pub use parse::{apply_typmod, make_typmod, parse, typmod_parts};
pub use sum::NumericSum;

use crate::blob::Blob;
use base::{Error, Result, err};
use std::cmp::Ordering;

/// Base of a digit.
pub const BASE: u32 = 10000;
/// Decimal digits in a digit.
pub const DEC_DIGITS: i32 = 4;
/// Most digits after the point in a result.
pub const MAX_RESULT_SCALE: i32 = 2000;
/// Most digits after the point that are shown.
pub const MAX_DISPLAY_SCALE: i32 = 1000;
/// Least significant digits of a quotient.
pub const MIN_SIG_DIGITS: i32 = 16;
/// Most digits after the point in a stored value.
pub const DSCALE_MAX: i32 = 0x3fff;
const WEIGHT_MAX: i32 = i16::MAX as i32;

/// What a number is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A number.
    Finite,
    /// Not a number; equal to itself and above all others.
    NaN,
    /// Infinity, or minus infinity if negative.
    Infinity,
}

/// An unpacked number: `digits[0] * 10000^weight + ...`, with `dscale` digits shown after the
/// point. Zero has no digits and is not negative.
#[derive(Clone, PartialEq, Debug)]
pub struct Numeric {
    /// What it is.
    pub kind: Kind,
    /// Below zero.
    pub negative: bool,
    /// Power of 10000 of the first digit.
    pub weight: i32,
    /// Decimal digits shown after the point.
    pub dscale: i32,
    /// Digits in base 10000, most significant first.
    pub digits: Vec<u16>,
}

#[cold]
pub(crate) fn overflow() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

#[cold]
pub(crate) fn division_by_zero() -> Error {
    err!(DIVISION_BY_ZERO, "division by zero")
}

impl Numeric {
    /// How many bytes PostgreSQL stores it in, without the length: the short form has a header of
    /// two bytes, the long one of four.
    pub fn stored_len(&self) -> usize {
        let short = self.dscale <= 63 && (-64..=63).contains(&self.weight);
        let header = if short || !matches!(self.kind, Kind::Finite) { 2 } else { 4 };
        header + 2 * self.digits.len()
    }

    const fn special(kind: Kind, negative: bool) -> Numeric {
        Numeric { kind, negative, weight: 0, dscale: 0, digits: Vec::new() }
    }

    /// Zero.
    pub const ZERO: Numeric = Numeric::special(Kind::Finite, false);
    /// Not a number.
    pub const NAN: Numeric = Numeric::special(Kind::NaN, false);
    /// Infinity.
    pub const INFINITY: Numeric = Numeric::special(Kind::Infinity, false);
    /// Minus infinity.
    pub const NEG_INFINITY: Numeric = Numeric::special(Kind::Infinity, true);

    /// Whether it is a number.
    pub fn is_finite(&self) -> bool {
        self.kind == Kind::Finite
    }

    /// Whether it is not a number.
    pub fn is_nan(&self) -> bool {
        self.kind == Kind::NaN
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.kind == Kind::Finite && self.digits.is_empty()
    }

    /// -1, 0 or 1; NaN counts as positive.
    pub fn signum(&self) -> i32 {
        if self.is_zero() {
            0
        } else if self.negative {
            -1
        } else {
            1
        }
    }

    /// Reads a stored value.
    pub fn decode(bytes: &[u8]) -> Numeric {
        let Some((&[a, b], rest)) = bytes.split_first_chunk::<2>() else { return Numeric::ZERO };
        let header = u16::from_le_bytes([a, b]);
        let (negative, weight, dscale, rest) = match header >> 14 {
            3 => {
                return match header & 0xF000 {
                    0xD000 => Numeric::INFINITY,
                    0xF000 => Numeric::NEG_INFINITY,
                    _ => Numeric::NAN,
                };
            }
            2 => {
                let weight = ((header & 0x7f) as i32) << 25 >> 25;
                (header & 0x2000 != 0, weight, (header >> 7 & 0x3f) as i32, rest)
            }
            sign => {
                let Some((&[c, d], rest)) = rest.split_first_chunk::<2>() else {
                    return Numeric::ZERO;
                };
                let weight = i16::from_le_bytes([c, d]) as i32;
                (sign == 1, weight, (header & 0x3fff) as i32, rest)
            }
        };
        let digits =
            rest.chunks_exact(2).map(|d| u16::from_le_bytes([d[0], d[1]]).min(9999)).collect();
        Numeric { kind: Kind::Finite, negative, weight, dscale, digits }
    }

    /// The stored form. Fails if the number is too long.
    pub fn encode(&self) -> Result<Blob> {
        let header: u16 = match (self.kind, self.negative) {
            (Kind::NaN, _) => 0xC000,
            (Kind::Infinity, false) => 0xD000,
            (Kind::Infinity, true) => 0xF000,
            (Kind::Finite, _) => return self.encode_finite(),
        };
        Ok(Blob::new(&header.to_le_bytes()))
    }

    fn encode_finite(&self) -> Result<Blob> {
        let start = self.digits.iter().position(|d| *d != 0).unwrap_or(self.digits.len());
        let end = self.digits.iter().rposition(|d| *d != 0).map_or(start, |p| p + 1);
        let digits = &self.digits[start..end];
        let weight = if digits.is_empty() { 0 } else { self.weight - start as i32 };
        let negative = self.negative && !digits.is_empty();
        if !(-WEIGHT_MAX - 1..=WEIGHT_MAX).contains(&weight) || self.dscale > DSCALE_MAX {
            return Err(overflow());
        }
        let mut out = Vec::with_capacity(4 + digits.len() * 2);
        put_header(&mut out, negative, weight, self.dscale);
        for d in digits {
            out.extend_from_slice(&d.to_le_bytes());
        }
        Ok(Blob::from(out))
    }

    /// The form between the members of a team: of any length and scale, as sums may have that are
    /// no results yet.
    pub fn to_unlimited(&self) -> Blob {
        let mut out = Vec::with_capacity(9 + self.digits.len() * 2);
        out.push(self.negative as u8);
        out.extend_from_slice(&self.weight.to_le_bytes());
        out.extend_from_slice(&self.dscale.to_le_bytes());
        for d in &self.digits {
            out.extend_from_slice(&d.to_le_bytes());
        }
        Blob::from(out)
    }

    /// Reads what [`Numeric::to_unlimited`] wrote.
    pub fn from_unlimited(bytes: &[u8]) -> Numeric {
        let Some((head, digits)) = bytes.split_first_chunk::<9>() else { return Numeric::ZERO };
        let word =
            |at: usize| i32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Numeric {
            kind: Kind::Finite,
            negative: head[0] != 0,
            weight: word(1),
            dscale: word(5),
            digits: digits.chunks_exact(2).map(|d| u16::from_le_bytes([d[0], d[1]])).collect(),
        }
    }

    /// Drops zero digits at both ends; zero loses its sign.
    pub fn strip(mut self) -> Numeric {
        let start = self.digits.iter().position(|d| *d != 0).unwrap_or(self.digits.len());
        let end = self.digits.iter().rposition(|d| *d != 0).map_or(start, |p| p + 1);
        self.digits.truncate(end);
        if start > 0 {
            self.digits.drain(..start);
            self.weight -= start as i32;
        }
        if self.digits.is_empty() && self.is_finite() {
            self.weight = 0;
            self.negative = false;
        }
        self
    }

    /// Minus this number.
    pub fn neg(mut self) -> Numeric {
        if !(self.is_nan() || self.is_zero()) {
            self.negative = !self.negative;
        }
        self
    }

    /// This number without sign.
    pub fn abs(mut self) -> Numeric {
        self.negative = false;
        self
    }
}

pub(crate) fn put_header(out: &mut Vec<u8>, negative: bool, weight: i32, dscale: i32) {
    if (0..=0x3f).contains(&dscale) && (-64..=63).contains(&weight) {
        let sign = if negative { 0x2000 } else { 0 };
        let header = 0x8000 | sign | (dscale as u16) << 7 | (weight & 0x7f) as u16;
        out.extend_from_slice(&header.to_le_bytes());
    } else {
        let sign = if negative { 0x4000 } else { 0 };
        out.extend_from_slice(&(sign | dscale as u16).to_le_bytes());
        out.extend_from_slice(&(weight as i16).to_le_bytes());
    }
}

impl From<i64> for Numeric {
    fn from(n: i64) -> Numeric {
        Numeric::from(n as i128)
    }
}

impl From<i128> for Numeric {
    fn from(n: i128) -> Numeric {
        let mut rest = n.unsigned_abs();
        let mut digits = Vec::new();
        while rest != 0 {
            digits.push((rest % BASE as u128) as u16);
            rest /= BASE as u128;
        }
        digits.reverse();
        let weight = digits.len().max(1) as i32 - 1;
        Numeric { kind: Kind::Finite, negative: n < 0, weight, dscale: 0, digits }.strip()
    }
}

/// Order of two stored values: NaN above infinity, equal to itself; scale does not count.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if let (Some(x), Some(y)) = (small::Small::decode(a), small::Small::decode(b)) {
        return x.compare(y);
    }
    Numeric::decode(a).cmp_value(&Numeric::decode(b))
}

#[cfg(test)]
mod tests;
