//! `to_number`.

use super::number_template::{Part, Template, parse};
use crate::call::FnDef;
use base::{Result, bail, err};
use types::Datum;
use types::numeric::{self, Numeric};

struct Reader<'a> {
    text: &'a str,
    at: usize,
    negative: bool,
    signed: bool,
    digits: String,
    point: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_char(&mut self) {
        if let Some(c) = self.text[self.at..].chars().next() {
            self.at += c.len_utf8();
        }
    }

    /// A sign, where one may stand.
    fn sign(&mut self, bracket: bool) {
        if self.signed || !self.digits.is_empty() {
            return;
        }
        match self.peek() {
            Some(b'-') => self.negative = true,
            Some(b'+') => {}
            Some(b'<') if bracket => self.negative = true,
            _ => return,
        }
        self.signed = true;
        self.at += 1;
    }

    fn digit(&mut self, t: &Template) {
        if self.digits.is_empty() {
            while self.peek() == Some(b' ') {
                self.at += 1;
            }
        }
        self.sign(t.sign == super::number_template::Sign::Bracket);
        match self.peek() {
            Some(c) if c.is_ascii_digit() => {
                self.digits.push(c as char);
                self.at += 1;
            }
            Some(b'.') if !self.point && t.has_point => {
                self.digits.push('.');
                self.point = true;
                self.at += 1;
                if let Some(c) = self.peek().filter(u8::is_ascii_digit) {
                    self.digits.push(c as char);
                    self.at += 1;
                }
            }
            _ => {}
        }
    }
}

fn read(text: &str, t: &Template) -> String {
    let mut r =
        Reader { text, at: 0, negative: false, signed: false, digits: String::new(), point: false };
    for part in &t.parts {
        if r.at >= text.len() {
            break;
        }
        match part {
            Part::Digit { .. } => r.digit(t),
            Part::Point => {
                r.sign(false);
                if r.peek() == Some(b'.') {
                    r.at += 1;
                    if !r.point {
                        r.digits.push('.');
                        r.point = true;
                    }
                }
            }
            Part::Group => {
                if r.peek() == Some(b',') {
                    r.at += 1;
                }
            }
            Part::Currency => {
                if r.peek().is_some_and(|c| !c.is_ascii_digit() && !b"+-.,".contains(&c)) {
                    r.skip_char();
                }
            }
            Part::Minus | Part::PlusMinus | Part::Plus | Part::Sign => match r.peek() {
                Some(b'-') => {
                    r.negative = true;
                    r.signed = true;
                    r.at += 1;
                }
                Some(b'+') => r.at += 1,
                Some(b' ') if *part != Part::Sign => r.at += 1,
                _ => {}
            },
            Part::Ordinal { .. } => {
                if r.peek().is_some_and(|c| c.is_ascii_alphabetic()) {
                    r.skip_char();
                    r.skip_char();
                }
            }
            Part::Char(_) => {
                // Text takes up a place, but not one that the number needs.
                if r.peek().is_some_and(|c| !c.is_ascii_digit() && !b"+-.,".contains(&c)) {
                    r.skip_char();
                }
            }
            Part::Shift => {}
        }
    }
    // A sign after the digits counts as well.
    if !r.signed && !r.digits.is_empty() && r.peek() == Some(b'-') {
        r.negative = true;
    }
    let sign = if r.negative { "-" } else { " " };
    format!("{sign}{}", r.digits.trim_end_matches('.'))
}

fn roman(text: &str) -> Result<i64> {
    let invalid = || err!(INVALID_TEXT_REPRESENTATION, "invalid Roman numeral");
    let text = text.trim().to_ascii_uppercase();
    if text.is_empty() || text.len() > 15 {
        return Err(invalid());
    }
    let value = |c: u8| match c {
        b'I' => Some(1),
        b'V' => Some(5),
        b'X' => Some(10),
        b'L' => Some(50),
        b'C' => Some(100),
        b'D' => Some(500),
        b'M' => Some(1000),
        _ => None,
    };
    let mut digits = Vec::with_capacity(text.len());
    for c in text.bytes() {
        digits.push(value(c).ok_or_else(invalid)?);
    }
    let mut sum = 0i64;
    for (i, n) in digits.iter().enumerate() {
        let less = digits.get(i + 1).is_some_and(|next| next > n);
        sum += if less { -n } else { *n };
    }
    // Only the usual way to write a number counts as one.
    if super::number_out::roman_text(sum) != text { Err(invalid()) } else { Ok(sum) }
}

fn to_number(text: &str, template: &str) -> Result<Datum> {
    let t = parse(template)?;
    if template.is_empty() {
        return Ok(Datum::Null);
    }
    if t.roman.is_some() {
        return Ok(Datum::Bytes(numeric::small::from_i64(roman(text)?)));
    }
    if t.scientific {
        bail!(FEATURE_NOT_SUPPORTED, "\"EEEE\" not supported for input");
    }
    let read = read(text, &t);
    let number: Numeric = numeric::parse(&read)?;
    let number = if t.shift > 0 { number.shift10(-(t.shift as i32)) } else { number };
    let scale = t.after as i32;
    let number = if t.shift > 0 { number } else { number.round(scale) };
    Ok(Datum::Bytes(number.encode()?))
}

pub(super) const FNS: &[FnDef] =
    &[row!(numeric_to_number(text: &str, template: &str) { to_number(text, template) })];
