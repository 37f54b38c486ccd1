//! To and from integers and floats.

use super::small::{Small, from_i64};
use super::{Kind, Numeric, parse};
use crate::blob::Blob;
use base::{Error, Result, err};

impl Numeric {
    /// Rounded to an integer; None if it does not fit.
    pub fn to_i128(&self) -> Option<i128> {
        if !self.is_finite() {
            return None;
        }
        let rounded = self.clone().round(0);
        if rounded.weight > 8 {
            return None;
        }
        let mut value: i128 = 0;
        for i in 0..=rounded.weight.max(-1) {
            let d = rounded.digits.get(i as usize).copied().unwrap_or(0);
            value = value.checked_mul(10000)?.checked_add(d as i128)?;
        }
        Some(if rounded.negative { -value } else { value })
    }

    /// Rounded to a bigint; None if it does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        self.to_i128().and_then(|n| i64::try_from(n).ok())
    }
}

/// A stored value rounded to an integer type; `name` is the type's.
pub fn to_int<T: TryFrom<i128>>(bytes: &[u8], name: &str) -> Result<T> {
    let value = match Small::decode(bytes) {
        Some(s) if s.scale == 0 => Some(s.mantissa),
        _ => {
            let number = Numeric::decode(bytes);
            match number.kind {
                Kind::NaN => return Err(special("NaN", name)),
                Kind::Infinity => return Err(special("infinity", name)),
                Kind::Finite => number.to_i128(),
            }
        }
    };
    value
        .and_then(|v| T::try_from(v).ok())
        .ok_or_else(|| err!(NUMERIC_VALUE_OUT_OF_RANGE, "{name} out of range"))
}

#[cold]
fn special(what: &str, name: &str) -> Error {
    err!(FEATURE_NOT_SUPPORTED, "cannot convert {what} to {name}")
}

/// The number that `x` prints as with 15 significant digits.
pub fn from_f64(x: f64) -> Numeric {
    from_float(x, format!("{x:.14e}"))
}

/// The number that `x` prints as with 6 significant digits.
pub fn from_f32(x: f32) -> Numeric {
    from_float(x as f64, format!("{x:.5e}"))
}

fn from_float(x: f64, text: String) -> Numeric {
    if x.is_nan() {
        return Numeric::NAN;
    }
    if x.is_infinite() {
        return if x > 0.0 { Numeric::INFINITY } else { Numeric::NEG_INFINITY };
    }
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    parse(&format!("{digits}e{exponent}")).unwrap_or(Numeric::ZERO)
}

/// The nearest double; Err(()) if it is too large.
pub fn to_f64(number: &Numeric) -> std::result::Result<f64, ()> {
    match (number.kind, number.negative) {
        (Kind::NaN, _) => Ok(f64::NAN),
        (Kind::Infinity, false) => Ok(f64::INFINITY),
        (Kind::Infinity, true) => Ok(f64::NEG_INFINITY),
        (Kind::Finite, _) => {
            let value: f64 = number.to_string().parse().map_err(|_| ())?;
            if value.is_infinite() { Err(()) } else { Ok(value) }
        }
    }
}

/// The nearest double of a stored value.
pub fn stored_to_f64(bytes: &[u8]) -> std::result::Result<f64, ()> {
    if let Some(s) = Small::decode(bytes)
        && s.mantissa.unsigned_abs() < 1 << 53
        && s.scale <= 22
    {
        // Both are exact, so that the division rounds once.
        return Ok(s.mantissa as f64 / super::small::pow10(s.scale) as f64);
    }
    to_f64(&Numeric::decode(bytes))
}

/// The stored form of a bigint.
pub fn stored_i64(n: i64) -> Blob {
    from_i64(n)
}
