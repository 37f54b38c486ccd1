//! Amounts of money, in cents, in the form of the C locale.

use super::dispatch::syntax;
use super::number::trim_space;
use base::{Result, err};

/// Reads an amount.
pub(super) fn money_in(text: &str) -> Result<i64> {
    let mut body = trim_space(text);
    let mut negative = false;
    let dollar = |text: &mut &str| *text = text.strip_prefix('$').unwrap_or(text).trim_start();
    dollar(&mut body);
    if let Some(rest) = body.strip_prefix(['-', '(', '+']) {
        negative = !body.starts_with('+');
        body = rest.trim_start();
    }
    dollar(&mut body);
    // Behind the number a sign, the parenthesis and the currency may stand.
    let end = body.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')));
    let (body, rest) = body.split_at(end.unwrap_or(body.len()));
    for c in rest.chars() {
        match c {
            '-' => negative = true,
            ')' | '+' | '$' => {}
            c if c.is_ascii_whitespace() => {}
            _ => return Err(syntax("money", text)),
        }
    }
    let mut value: i128 = 0;
    let mut after_point: Option<u32> = None;
    let mut round_up = false;
    for c in body.chars() {
        match c {
            '0'..='9' => {
                let d = c as i128 - '0' as i128;
                match &mut after_point {
                    Some(n) if *n >= 2 => {
                        round_up |= *n == 2 && d >= 5;
                        *n += 1;
                    }
                    n => {
                        value = (value * 10 + d).min(1 << 100);
                        if let Some(n) = n {
                            *n += 1;
                        }
                    }
                }
            }
            '.' if after_point.is_none() => after_point = Some(0),
            ',' => {}
            _ => return Err(syntax("money", text)),
        }
    }
    for _ in after_point.unwrap_or(0).min(2)..2 {
        value *= 10;
    }
    value += round_up as i128;
    let value = if negative { -value } else { value };
    i64::try_from(value).map_err(|_| {
        err!(NUMERIC_VALUE_OUT_OF_RANGE, "value \"{text}\" is out of range for type money")
    })
}

/// Appends an amount.
pub fn money_out(cents: i64, out: &mut Vec<u8>) {
    if cents < 0 {
        out.push(b'-');
    }
    out.push(b'$');
    let n = cents.unsigned_abs();
    let whole = (n / 100).to_string();
    for (i, b) in whole.bytes().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(b);
    }
    out.extend_from_slice(format!(".{:02}", n % 100).as_bytes());
}
