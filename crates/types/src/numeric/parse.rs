//! Numbers from text, and type modifiers.

use super::{DEC_DIGITS, DSCALE_MAX, Kind, Numeric, overflow};
use crate::io::number::trim_space;
use base::{Error, Result, err};

#[cold]
fn syntax(text: &str) -> Error {
    err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type numeric: \"{text}\"")
}

/// Reads a number.
pub fn parse(text: &str) -> Result<Numeric> {
    let body = trim_space(text);
    let (negative, rest) = match body.as_bytes().first() {
        Some(b'-') => (true, &body[1..]),
        Some(b'+') => (false, &body[1..]),
        _ => (false, body),
    };
    match rest.as_bytes() {
        [b'0', b'x' | b'X', ..] => return radix(&rest[2..], 16, negative, text),
        [b'0', b'o' | b'O', ..] => return radix(&rest[2..], 8, negative, text),
        [b'0', b'b' | b'B', ..] => return radix(&rest[2..], 2, negative, text),
        [b'0'..=b'9' | b'.', ..] => {}
        _ => {
            return if rest.eq_ignore_ascii_case("infinity") || rest.eq_ignore_ascii_case("inf") {
                Ok(if negative { Numeric::NEG_INFINITY } else { Numeric::INFINITY })
            } else if body.eq_ignore_ascii_case("nan") {
                Ok(Numeric::NAN)
            } else {
                Err(syntax(text))
            };
        }
    }
    let (decimal, point, exponent) = scan(rest.as_bytes()).ok_or_else(|| syntax(text))?;
    let exponent: i64 = match exponent {
        None => 0,
        Some(e) if e.abs() > i32::MAX as i64 / 2 => return Err(overflow()),
        Some(e) => e,
    };
    build(
        negative,
        &decimal,
        point as i64 + exponent,
        decimal.len() as i64 - point as i64 - exponent,
    )
}

/// Decimal digits, how many of them are before the point, and the exponent.
fn scan(bytes: &[u8]) -> Option<(Vec<u8>, usize, Option<i64>)> {
    let mut decimal = Vec::with_capacity(bytes.len());
    let mut point = None;
    let mut at = 0;
    let mut digit_before = false;
    while at < bytes.len() {
        match bytes[at] {
            b @ b'0'..=b'9' => {
                decimal.push(b - b'0');
                digit_before = true;
            }
            b'_' if digit_before && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => {
                digit_before = false;
            }
            b'.' if point.is_none() && (digit_before || at == 0) => {
                point = Some(decimal.len());
                digit_before = false;
            }
            b'e' | b'E' if !decimal.is_empty() => break,
            _ => return None,
        }
        at += 1;
    }
    if decimal.is_empty() {
        return None;
    }
    let point = point.unwrap_or(decimal.len());
    if at == bytes.len() {
        return Some((decimal, point, None));
    }
    let mut rest = &bytes[at + 1..];
    let negative = match rest.first()? {
        b'-' => {
            rest = &rest[1..];
            true
        }
        b'+' => {
            rest = &rest[1..];
            false
        }
        _ => false,
    };
    let mut value: i64 = 0;
    let mut after_digit = false;
    if rest.is_empty() {
        return None;
    }
    for (i, b) in rest.iter().enumerate() {
        match b {
            b'0'..=b'9' => {
                value = (value * 10 + (b - b'0') as i64).min(1 << 40);
                after_digit = true;
            }
            b'_' if after_digit && rest.get(i + 1).is_some_and(u8::is_ascii_digit) => {
                after_digit = false;
            }
            _ => return None,
        }
    }
    Some((decimal, point, Some(if negative { -value } else { value })))
}

/// The number of these decimal digits, `point` of which are before the point.
fn build(negative: bool, decimal: &[u8], point: i64, dscale: i64) -> Result<Numeric> {
    let dscale = dscale.max(0);
    let zeros = decimal.iter().take_while(|d| **d == 0).count();
    if zeros == decimal.len() {
        if dscale > DSCALE_MAX as i64 {
            return Err(overflow());
        }
        return Ok(Numeric { dscale: dscale as i32, ..Numeric::ZERO });
    }
    let point = point - zeros as i64;
    let decimal = &decimal[zeros..];
    // The first digit of base 10000 covers the decimal positions above the next multiple of 4.
    let weight = (point - 1).div_euclid(DEC_DIGITS as i64);
    if weight > i16::MAX as i64 || dscale > DSCALE_MAX as i64 || weight < -(1 << 15) {
        return Err(overflow());
    }
    let lead = ((weight + 1) * DEC_DIGITS as i64 - point) as usize;
    let mut digits = Vec::with_capacity((lead + decimal.len()).div_ceil(4));
    let mut current = 0u16;
    let mut filled = lead;
    for d in decimal {
        current = current * 10 + *d as u16;
        filled += 1;
        if filled == 4 {
            digits.push(current);
            (current, filled) = (0, 0);
        }
    }
    if filled > 0 {
        digits.push(current * 10u16.pow(4 - filled as u32));
    }
    let number = Numeric {
        kind: Kind::Finite,
        negative,
        weight: weight as i32,
        dscale: dscale as i32,
        digits,
    };
    Ok(number.strip())
}

fn radix(digits: &str, radix: u32, negative: bool, text: &str) -> Result<Numeric> {
    let mut number = Numeric::ZERO;
    let (mut chunk, mut scale) = (0u32, 1u32);
    let mut after_digit = true;
    if digits.is_empty() || digits.ends_with('_') {
        return Err(syntax(text));
    }
    for c in digits.chars() {
        if c == '_' && after_digit {
            after_digit = false;
            continue;
        }
        let d = c.to_digit(radix).ok_or_else(|| syntax(text))?;
        after_digit = true;
        chunk = chunk * radix + d;
        scale *= radix;
        if scale >= 1 << 20 {
            number = number.mul_small(scale).add(&Numeric::from(chunk as i64));
            (chunk, scale) = (0, 1);
        }
        if number.weight > i16::MAX as i32 {
            return Err(overflow());
        }
    }
    number = number.mul_small(scale).add(&Numeric::from(chunk as i64));
    number.negative = negative;
    Ok(number.strip())
}

/// The modifier of `numeric(precision, scale)`.
pub fn make_typmod(precision: i32, scale: i32) -> i32 {
    ((precision << 16) | (scale & 0x7ff)) + 4
}

/// Precision and scale of a modifier, if it has them.
pub fn typmod_parts(typmod: i32) -> Option<(i32, i32)> {
    if typmod < 4 {
        return None;
    }
    let t = typmod - 4;
    Some((t >> 16 & 0xffff, ((t & 0x7ff) ^ 1024) - 1024))
}

/// Rounds to the modifier's scale and checks its precision.
pub fn apply_typmod(number: Numeric, typmod: i32) -> Result<Numeric> {
    let Some((precision, scale)) = typmod_parts(typmod) else { return Ok(number) };
    match number.kind {
        Kind::NaN => return Ok(number),
        Kind::Infinity => {
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} cannot hold an infinite value."
            )));
        }
        Kind::Finite => {}
    }
    let mut number = number.round(scale);
    number.dscale = scale.max(0);
    let most = precision - scale;
    if !number.digits.is_empty() {
        let first = number.digits[0];
        let width = if first >= 1000 {
            4
        } else if first >= 100 {
            3
        } else if first >= 10 {
            2
        } else {
            1
        };
        if number.weight * DEC_DIGITS + width > most {
            let power = if most == 0 { "1".to_string() } else { format!("10^{most}") };
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute \
                 value less than {power}."
            )));
        }
    }
    Ok(number)
}

#[cold]
fn field_overflow(detail: String) -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(detail)
}
