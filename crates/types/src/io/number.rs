//! Integers as text.

use base::{Error, Result, err};

#[cold]
fn syntax(type_name: &str, text: &str) -> Error {
    err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {type_name}: \"{text}\"")
}

#[cold]
fn range(type_name: &str, text: &str) -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "value \"{text}\" is out of range for type {type_name}")
}

/// White space as C's `isspace` has it.
pub(crate) const fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// `text` without white space at both ends.
pub(crate) fn trim_space(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// Reads an integer whose magnitude must fit `limit` (`limit + 1` if negative).
fn parse(text: &str, type_name: &str, limit: u64) -> Result<i64> {
    match plain(text.as_bytes()) {
        Some(n) if n.unsigned_abs() <= limit => Ok(n),
        _ => parse_any(text, type_name, limit),
    }
}

/// A number of nothing but a few digits, perhaps after a minus sign.
#[inline]
fn plain(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // As many as cannot overflow.
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0;
    for b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + digit as i64;
    }
    Some(if negative { -value } else { value })
}

fn parse_any(text: &str, type_name: &str, limit: u64) -> Result<i64> {
    let bytes = trim_space(text).as_bytes();
    let (negative, digits) = match bytes.first() {
        Some(b'-') => (true, &bytes[1..]),
        Some(b'+') => (false, &bytes[1..]),
        _ => (false, bytes),
    };
    let (radix, digits, prefixed) = match digits {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest, true),
        [b'0', b'o' | b'O', rest @ ..] => (8, rest, true),
        [b'0', b'b' | b'B', rest @ ..] => (2, rest, true),
        _ => (10, digits, false),
    };
    let most = limit + negative as u64;
    let mut value: u64 = 0;
    let mut last_underscore = !prefixed;
    if digits.is_empty() {
        return Err(syntax(type_name, text));
    }
    for &b in digits {
        if b == b'_' {
            if last_underscore {
                return Err(syntax(type_name, text));
            }
            last_underscore = true;
            continue;
        }
        let Some(digit) = (b as char).to_digit(radix) else {
            return Err(syntax(type_name, text));
        };
        last_underscore = false;
        match value.checked_mul(radix as u64).and_then(|v| v.checked_add(digit as u64)) {
            Some(v) if v <= most => value = v,
            // What comes behind is not looked at.
            _ => return Err(range(type_name, text)),
        }
    }
    if last_underscore {
        return Err(syntax(type_name, text));
    }
    Ok(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// Reads a smallint.
pub fn parse_i16(text: &str) -> Result<i16> {
    parse(text, "smallint", i16::MAX as u64).map(|n| n as i16)
}

/// Reads an integer.
#[inline]
pub fn parse_i32(text: &str) -> Result<i32> {
    parse(text, "integer", i32::MAX as u64).map(|n| n as i32)
}

/// Reads a bigint.
#[inline]
pub fn parse_i64(text: &str) -> Result<i64> {
    parse(text, "bigint", i64::MAX as u64)
}

/// Reads an unsigned number as C's `strtoul` does: a sign is allowed, `0x`, `0b` and a leading 0
/// choose the base.
pub(crate) fn parse_unsigned(text: &str, type_name: &str, bits: u32) -> Result<u64> {
    let (value, rest) = unsigned_prefix(text, type_name, bits)?;
    if !trim_space(rest).is_empty() {
        return Err(syntax(type_name, text));
    }
    Ok(value)
}

/// The unsigned number that text starts with, and what is behind it.
pub(crate) fn unsigned_prefix<'a>(
    text: &'a str,
    type_name: &str,
    bits: u32,
) -> Result<(u64, &'a str)> {
    let body = text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
    let (negative, digits) = match body.as_bytes().first() {
        Some(b'-') => (true, &body[1..]),
        Some(b'+') => (false, &body[1..]),
        _ => (false, body),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', c, ..] if c.is_ascii_hexdigit() => (16, &digits[2..]),
        [b'0', b'b' | b'B', b'0' | b'1', ..] => (2, &digits[2..]),
        [b'0', ..] => (8, digits),
        _ => (10, digits),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    if end == 0 {
        return Err(syntax(type_name, text));
    }
    let (digits, rest) = digits.split_at(end);
    let Ok(value) = u64::from_str_radix(digits, radix) else {
        return Err(range(type_name, text));
    };
    let value = if negative { value.wrapping_neg() } else { value };
    if bits == 64 {
        return Ok((value, rest));
    }
    // A 32-bit value may come as its 64-bit sign extension.
    if value > u32::MAX as u64 && value as i64 != value as i32 as i64 {
        // What is no number at all is told first.
        return Err(match trim_space(rest) {
            "" => range(type_name, text),
            _ => syntax(type_name, text),
        });
    }
    Ok((value as u32 as u64, rest))
}

/// Reads an oid.
pub fn parse_oid(text: &str) -> Result<u32> {
    parse_unsigned(text, "oid", 32).map(|n| n as u32)
}

/// Appends an integer.
#[inline]
pub(crate) fn put_int(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}
