//! `to_number`.

use super::number_template::{Part, Sign, Template, parse};
use crate::call::FnDef;
use base::{Result, bail, err};
use types::Datum;
use types::numeric::{self, Numeric};

/// Reads a text by the parts of a template. A part takes up its character of the text whether or
/// not that is what it stands for.
struct Reader<'a> {
    text: &'a str,
    template: &'a Template,
    at: usize,
    /// `Some(true)` for a minus.
    sign: Option<bool>,
    digits: String,
    point: bool,
    /// Digits read after the point.
    after: usize,
}

/// Characters that may belong to a number, which text in a template does not skip.
fn is_data(c: u8) -> bool {
    c.is_ascii_digit() || b"+-.,".contains(&c)
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

    fn skip_other(&mut self, n: usize) {
        for _ in 0..n {
            if self.peek().is_some_and(|c| !is_data(c)) {
                self.skip_char();
            }
        }
    }

    fn any_digits(&self) -> bool {
        self.digits.bytes().any(|c| c.is_ascii_digit())
    }

    /// A sign before the digits.
    fn leading_sign(&mut self) {
        self.sign = match self.peek() {
            Some(b'-') => Some(true),
            Some(b'+') => Some(false),
            Some(b'<') if self.template.sign == Sign::Bracket => Some(true),
            _ => return,
        };
        self.at += 1;
    }

    /// A digit, or the point, where the template has either.
    fn digit(&mut self) {
        if self.peek() == Some(b' ') {
            self.at += 1;
        }
        if self.sign.is_none() && !self.any_digits() {
            self.leading_sign();
        }
        let mut read = false;
        match self.peek() {
            Some(c) if c.is_ascii_digit() => {
                if self.point && self.after == self.template.after {
                    return self.skip_char();
                }
                self.after += self.point as usize;
                self.digits.push(c as char);
                read = true;
            }
            Some(b'.') if !self.point && self.template.has_point => {
                self.digits.push('.');
                self.point = true;
                read = true;
            }
            None => return,
            _ => {}
        }
        if self.sign.is_none() && self.any_digits() {
            self.trailing_sign(read);
        }
        self.skip_char();
    }

    /// A sign behind the digits: `S` has it right behind the last one; with another sign in the
    /// template it may be where a digit was looked for.
    fn trailing_sign(&mut self, read: bool) {
        let t = self.template;
        let negative = |c: u8| match c {
            b'-' => Some(true),
            b'+' => Some(false),
            _ => None,
        };
        if matches!(t.sign, Sign::Before | Sign::After) {
            if let Some(sign) = self.text.as_bytes().get(self.at + 1).copied().and_then(negative)
                && read
            {
                self.sign = Some(sign);
                self.at += 1;
            }
        } else if !read && (t.has_plus || t.has_minus) {
            self.sign = self.peek().and_then(negative);
        }
    }

    fn part(&mut self, part: Part) {
        match (part, self.peek()) {
            (Part::Digit { .. } | Part::Point, _) => self.digit(),
            (Part::Group, Some(b',')) => self.at += 1,
            (Part::Currency, _) => self.skip_other(1),
            (Part::Minus | Part::PlusMinus, Some(b'-')) => {
                self.sign = Some(true);
                self.at += 1;
            }
            (Part::Plus | Part::PlusMinus, Some(b'+')) => {
                self.sign = Some(false);
                self.at += 1;
            }
            (Part::Minus | Part::Plus | Part::PlusMinus, _) => self.skip_other(1),
            (Part::Ordinal { .. }, _) => self.skip_other(2),
            (Part::Char(_), _) => self.skip_char(),
            (Part::Group | Part::Sign | Part::Shift, _) => {}
        }
    }
}

/// A number's text, and how many digits after the point it has.
struct Read {
    text: String,
    after: usize,
}

fn read(text: &str, t: &Template) -> Read {
    let mut r = Reader {
        text,
        template: t,
        at: 0,
        sign: None,
        digits: String::new(),
        point: false,
        after: 0,
    };
    for part in &t.parts {
        if r.at >= text.len() {
            break;
        }
        r.part(*part);
    }
    let sign = match r.sign {
        Some(true) => "-",
        Some(false) => "+",
        None => " ",
    };
    Read { text: format!("{sign}{}", r.digits.trim_end_matches('.')), after: r.after }
}

/// The value of the Roman numeral that a text begins with.
fn roman(text: &str) -> Result<i64> {
    let invalid = || err!(INVALID_TEXT_REPRESENTATION, "invalid Roman numeral");
    let value = |c: u8| match c.to_ascii_uppercase() {
        b'I' => Some(1),
        b'V' => Some(5),
        b'X' => Some(10),
        b'L' => Some(50),
        b'C' => Some(100),
        b'D' => Some(500),
        b'M' => Some(1000),
        _ => None,
    };
    let text = text.trim_start();
    let digits: Vec<i64> = text.bytes().map_while(value).collect();
    if digits.is_empty() || digits.len() > 15 {
        return Err(invalid());
    }
    let mut sum = 0i64;
    for (i, n) in digits.iter().enumerate() {
        let less = digits.get(i + 1).is_some_and(|next| next > n);
        sum += if less { -n } else { *n };
    }
    // Only the usual way to write a number counts as one.
    let usual = super::number_out::roman_text(sum);
    match text[..digits.len()].eq_ignore_ascii_case(&usual) {
        true => Ok(sum),
        false => Err(invalid()),
    }
}

fn to_number(text: &str, template: &str) -> Result<Datum> {
    let t = parse(template)?;
    if template.is_empty() {
        return Ok(Datum::Null);
    }
    if t.roman.is_some() && !text.is_empty() {
        return Ok(Datum::Bytes(numeric::small::from_i64(roman(text)?)));
    }
    if t.scientific {
        bail!(FEATURE_NOT_SUPPORTED, "\"EEEE\" not supported for input");
    }
    let read = read(text, &t);
    // No more digits before the point than the template has.
    let typmod = numeric::make_typmod((t.before + read.after) as i32, read.after as i32);
    let number: Numeric = numeric::apply_typmod(numeric::parse(&read.text)?, typmod)?;
    let number = match t.has_shift() {
        false => number,
        // The power of ten that it is multiplied by has 16 digits that mean something.
        true => Numeric { dscale: number.dscale + 16, ..number }.shift10(-(t.shift as i32)),
    };
    Ok(Datum::Bytes(number.encode()?))
}

pub(super) const FNS: &[FnDef] =
    &[row!(numeric_to_number(text: &str, template: &str) { to_number(text, template) })];
