//! Floating point numbers as text: the shortest digits that read back the same.

use super::number::trim_space;
use base::{Error, Result, err};

#[cold]
fn syntax(name: &str, text: &str) -> Error {
    err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {name}: \"{text}\"")
}

#[cold]
fn range(name: &str, text: &str) -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "\"{text}\" is out of range for type {name}")
}

/// Whether text has the form of a decimal or hexadecimal number.
fn is_number(text: &str) -> bool {
    let b = text.as_bytes();
    let mut at = usize::from(matches!(b.first(), Some(b'+' | b'-')));
    let start = at;
    let digits = |at: &mut usize| {
        let from = *at;
        while b.get(*at).is_some_and(u8::is_ascii_digit) {
            *at += 1;
        }
        *at - from
    };
    let mut n = digits(&mut at);
    if b.get(at) == Some(&b'.') {
        at += 1;
        n += digits(&mut at);
    }
    if n == 0 || at == start {
        return false;
    }
    if matches!(b.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(b.get(at), Some(b'+' | b'-')));
        if digits(&mut at) == 0 {
            return false;
        }
    }
    at == b.len()
}

fn word(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.strip_prefix(['+', '-']).unwrap_or(&lower);
    let tagged = |rest: &str| {
        let tag = rest.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
        rest.is_empty() || tag.is_some_and(|t| t.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    if unsigned.strip_prefix("nan").is_some_and(tagged) {
        return Some(f64::NAN);
    }
    Some(match lower.as_str() {
        "infinity" | "+infinity" | "inf" | "+inf" => f64::INFINITY,
        "-infinity" | "-inf" => f64::NEG_INFINITY,
        _ => return None,
    })
}

/// The value of a hexadecimal number, `0x1.8p3`, rounded to `bits` bits; None if it is none.
fn hexadecimal(text: &str, bits: u32) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let body = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"))?;
    let (digits, exponent) = match body.split_once(['p', 'P']) {
        Some((digits, exponent)) => {
            let plain = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let ok = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_digit());
            let n = exponent.parse::<i32>();
            (digits, n.ok().or(ok.then_some(if exponent.starts_with('-') { -9999 } else { 9999 }))?)
        }
        None => (body, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (mut mantissa, mut power) =
        (0u128, exponent.clamp(-9999, 9999) - 4 * fraction.len() as i32);
    for c in whole.chars().chain(fraction.chars()) {
        let digit = c.to_digit(16)?;
        if mantissa >> 120 == 0 {
            mantissa = mantissa << 4 | u128::from(digit);
        } else {
            // A digit too many only matters as not being zero.
            mantissa |= u128::from(digit != 0);
            power += 4;
        }
    }
    if mantissa == 0 {
        return Some(if text.starts_with('-') { -0.0 } else { 0.0 });
    }
    let top = 128 - mantissa.leading_zeros() as i32;
    let least = if bits == 24 { -149 } else { -1074 };
    let keep = (top + power - least).min(bits as i32);
    let drop = (top - keep).max(0);
    if keep < 0 {
        return Some(0.0);
    }
    let rounded = match drop {
        0 => mantissa,
        n => {
            let (kept, half) = (mantissa >> n, 1u128 << (n - 1));
            let rest = mantissa & ((1u128 << n) - 1);
            kept + u128::from(rest > half || (rest == half && kept & 1 == 1))
        }
    };
    let value = rounded as f64 * 2f64.powi((power + drop).clamp(-1074, 2000));
    Some(if text.starts_with('-') { -value } else { value })
}

/// Whether the digits are all zeros, so that a zero result is no underflow.
fn is_zero(text: &str) -> bool {
    text.bytes().take_while(|b| !matches!(b, b'e' | b'E')).all(|b| !(b'1'..=b'9').contains(&b))
}

/// Reads a double precision.
pub fn parse_f64(text: &str) -> Result<f64> {
    parse_f64_as(text, "double precision")
}

/// Reads a double precision that is part of a value of type `name`.
pub fn parse_f64_as(text: &str, name: &str) -> Result<f64> {
    let body = trim_space(text);
    if let Some(x) = word(body) {
        return Ok(x);
    }
    if let Some(x) = hexadecimal(body, 53) {
        let lost = x.is_infinite() || (x == 0.0 && body.contains(|c| ('1'..='9').contains(&c)));
        return if lost { Err(range("double precision", body)) } else { Ok(x) };
    }
    if !is_number(body) {
        return Err(syntax(name, text));
    }
    let x: f64 = body.parse().map_err(|_| syntax(name, text))?;
    if x.is_infinite() || (x == 0.0 && !is_zero(body)) {
        return Err(range("double precision", body));
    }
    Ok(x)
}

/// Reads a real.
pub fn parse_f32(text: &str) -> Result<f32> {
    let body = trim_space(text);
    if let Some(x) = word(body) {
        return Ok(x as f32);
    }
    if let Some(x) = hexadecimal(body, 24) {
        let lost = (x as f32).is_infinite() || (x == 0.0 && body.bytes().any(|b| b == b'p'));
        return if lost { Err(range("real", body)) } else { Ok(x as f32) };
    }
    if !is_number(body) {
        return Err(syntax("real", text));
    }
    let x: f32 = body.parse().map_err(|_| syntax("real", text))?;
    if x.is_infinite() || (x == 0.0 && !is_zero(body)) {
        return Err(range("real", body));
    }
    Ok(x)
}

/// Digits and decimal exponent of the first digit, of `1.23e-5` style text.
fn split(text: &str) -> (String, i32) {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse().unwrap_or(0)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: String = format!("{whole}{fraction}");
    let lead = all.bytes().take_while(|b| *b == b'0').count();
    let digits = all[lead..].trim_end_matches('0');
    let first = whole.len() as i32 - 1 - lead as i32 + exponent;
    if digits.is_empty() { ("0".into(), 0) } else { (digits.into(), first) }
}

/// Whether `digits * 10^(first - len + 1)` is exactly `odd * 2^power`, `odd` being odd: the middle
/// between two neighbours. PostgreSQL's shortest output does not use such a bound.
fn is_bound(digits: &str, first: i32, odd: u128, power: i32) -> bool {
    let Ok(n) = digits.parse::<u128>() else { return false };
    let ten = first - digits.len() as i32 + 1;
    if ten.abs() > 24 {
        return false;
    }
    let five = 5u128.pow(ten.unsigned_abs());
    let (a, b) = if ten >= 0 { (n * five, odd) } else { (n, odd.saturating_mul(five)) };
    let twos = a.trailing_zeros() as i32;
    a >> twos == b && twos + ten == power
}

/// Shortest digits of a finite positive number, from the library's shortest text; `mantissa` and
/// `power` make it exactly, `show(p)` gives it with `p` digits, `same` reads back.
fn shortest(
    text: &str,
    mantissa: u128,
    power: i32,
    show: impl Fn(usize) -> String,
    same: impl Fn(&str) -> bool,
) -> (String, i32) {
    let (digits, first) = split(text);
    let on_bound = |d: &str, f: i32| {
        is_bound(d, f, 2 * mantissa + 1, power - 1) || is_bound(d, f, 2 * mantissa - 1, power - 1)
    };
    if !on_bound(&digits, first) {
        return (digits, first);
    }
    for precision in digits.len()..=17 {
        let text = show(precision);
        let (d, f) = split(&text);
        if same(&text) && !on_bound(&d, f) {
            return (d, f);
        }
    }
    (digits, first)
}

fn shortest_f64(x: f64) -> (String, i32) {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as u128;
    let (mantissa, power) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    shortest(
        ryu::Buffer::new().format_finite(x),
        mantissa,
        power,
        |p| format!("{x:.*e}", p - 1),
        |t| t.parse() == Ok(x),
    )
}

fn shortest_f32(x: f32) -> (String, i32) {
    let bits = x.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32;
    let fraction = (bits & ((1 << 23) - 1)) as u128;
    let (mantissa, power) =
        if exponent == 0 { (fraction, -149) } else { (fraction | 1 << 23, exponent - 150) };
    shortest(
        ryu::Buffer::new().format_finite(x),
        mantissa,
        power,
        |p| format!("{x:.*e}", p - 1),
        |t| t.parse() == Ok(x),
    )
}

/// Lays digits out as C's `%g` does: fixed if the exponent is at least -4 and below `limit`.
fn layout(digits: &str, first: i32, limit: i32, out: &mut Vec<u8>) {
    if (-4..limit).contains(&first) {
        if first < 0 {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-first - 1) as usize));
            out.extend_from_slice(digits.as_bytes());
        } else {
            let whole = first as usize + 1;
            if digits.len() <= whole {
                out.extend_from_slice(digits.as_bytes());
                out.extend(std::iter::repeat_n(b'0', whole - digits.len()));
            } else {
                out.extend_from_slice(&digits.as_bytes()[..whole]);
                out.push(b'.');
                out.extend_from_slice(&digits.as_bytes()[whole..]);
            }
        }
        return;
    }
    out.push(digits.as_bytes()[0]);
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits.as_bytes()[1..]);
    }
    let sign = if first < 0 { '-' } else { '+' };
    out.extend_from_slice(format!("e{sign}{:02}", first.abs()).as_bytes());
}

fn special(x: f64, out: &mut Vec<u8>) -> bool {
    if x.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if x.is_infinite() {
        out.extend_from_slice(if x > 0.0 { b"Infinity" } else { b"-Infinity" });
    } else if x == 0.0 {
        out.extend_from_slice(if x.is_sign_negative() { b"-0" } else { b"0" });
    } else {
        return false;
    }
    true
}

/// Appends a double precision; `extra` is `extra_float_digits`.
pub fn write_f64(x: f64, extra: i32, out: &mut Vec<u8>) {
    if special(x, out) {
        return;
    }
    if x < 0.0 {
        out.push(b'-');
    }
    let x = x.abs();
    // Small integers, the most common doubles, need no search.
    if extra > 0 && x < 1e15 && x == x.trunc() {
        return out.extend_from_slice(itoa::Buffer::new().format(x as u64).as_bytes());
    }
    if extra > 0 {
        let (digits, first) = shortest_f64(x);
        return layout(&digits, first, 15, out);
    }
    general(format!("{x:.*e}", significant(15 + extra)), 15 + extra, out);
}

/// Appends a real; `extra` is `extra_float_digits`.
pub fn write_f32(x: f32, extra: i32, out: &mut Vec<u8>) {
    if special(x as f64, out) {
        return;
    }
    if x < 0.0 {
        out.push(b'-');
    }
    let x = x.abs();
    if extra > 0 {
        let (digits, first) = shortest_f32(x);
        return layout(&digits, first, 6, out);
    }
    general(format!("{x:.*e}", significant(6 + extra)), 6 + extra, out);
}

fn significant(precision: i32) -> usize {
    precision.max(1) as usize - 1
}

fn general(text: String, precision: i32, out: &mut Vec<u8>) {
    let (digits, first) = split(&text);
    layout(&digits, first, precision.max(1), out);
}

/// The text of a double precision; `digits` is `extra_float_digits`.
pub fn f64_text_with(x: f64, digits: i32) -> String {
    let mut out = Vec::new();
    write_f64(x, digits, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// The text of a double precision with all its digits.
pub fn f64_text(x: f64) -> String {
    let mut out = Vec::new();
    write_f64(x, 1, &mut out);
    String::from_utf8(out).unwrap_or_default()
}
