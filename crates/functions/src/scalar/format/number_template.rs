//! Templates of numbers.

use base::{Error, Result, bail, err};

/// A part of a template.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Part {
    /// A digit; `0` where it is printed even if it is a leading or trailing zero.
    Digit {
        zero: bool,
    },
    /// `.` or `D`
    Point,
    /// `,` or `G`
    Group,
    Currency,
    Minus,
    Plus,
    PlusMinus,
    /// `S`
    Sign,
    Ordinal {
        upper: bool,
    },
    /// `V`
    Shift,
    Char(char),
}

/// Where the sign goes that is not a part of its own.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum Sign {
    /// `-` or a blank before the first digit.
    #[default]
    Simple,
    /// `S` before the digits.
    Before,
    /// `S` after the digits.
    After,
    /// `PR`
    Bracket,
    /// Parts of the template say it.
    Elsewhere,
}

/// A template.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Template {
    pub parts: Vec<Part>,
    /// Digits before the decimal point, those after `V` included.
    pub before: usize,
    pub after: usize,
    pub shift: usize,
    pub sign: Sign,
    pub fill: bool,
    pub scientific: bool,
    /// `RN`, and whether in capitals.
    pub roman: Option<bool>,
    pub has_plus: bool,
    pub has_minus: bool,
    pub has_point: bool,
    /// `B`
    blank: bool,
    /// Digits before the decimal point that stand before `S`.
    before_sign: usize,
    /// Number of the first `0`, counting digits from the left.
    pub first_zero: Option<usize>,
    /// Number of the last `0`.
    pub last_zero: Option<usize>,
}

#[cold]
fn wrong(message: &str) -> Error {
    err!(SYNTAX_ERROR, "{message}")
}

fn keyword<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

/// Reads a template.
pub(super) fn parse(text: &str) -> Result<Template> {
    if text.len() > (1 << 26) {
        bail!(PROGRAM_LIMIT_EXCEEDED, "requested length too large");
    }
    let mut t = Template::default();
    let mut rest = text;
    while !rest.is_empty() {
        rest = t.next(rest)?;
        if t.roman.is_some() && t.more_than_roman() {
            return Err(roman_alone());
        }
    }
    // With no digit of the whole part behind it, `S` stands after the number.
    if t.sign == Sign::Before && t.before_sign == t.before {
        t.sign = Sign::After;
    }
    Ok(t)
}

fn roman_alone() -> Error {
    wrong("\"RN\" is incompatible with other formats")
        .detail("\"RN\" may only be used together with \"FM\".")
}

impl Template {
    fn next<'a>(&mut self, text: &'a str) -> Result<&'a str> {
        for (word, action) in WORDS {
            if let Some(rest) = keyword(text, word) {
                if self.scientific && *word != "EEEE" {
                    return Err(wrong("\"EEEE\" must be the last pattern used"));
                }
                action(self, text)?;
                return Ok(rest);
            }
        }
        let mut chars = text.chars();
        match chars.next() {
            Some('"') => {
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => self.parts.extend(chars.next().map(Part::Char)),
                        c => self.parts.push(Part::Char(c)),
                    }
                }
            }
            Some('\\') if chars.as_str().starts_with('"') => {
                self.parts.extend(chars.next().map(Part::Char));
            }
            Some(c) => self.parts.push(Part::Char(c)),
            None => {}
        }
        Ok(chars.as_str())
    }

    fn digit(&mut self, zero: bool) -> Result<()> {
        if self.sign == Sign::Bracket {
            let shown = if zero { "0" } else { "9" };
            return Err(wrong(&format!("\"{shown}\" must be ahead of \"PR\"")));
        }
        if zero {
            let at = self.before + self.after;
            self.first_zero.get_or_insert(at);
            self.last_zero = Some(at);
        }
        if self.has_shift() {
            // Only the one kind of digits counts for the shift.
            self.shift += usize::from(!zero);
            self.before += 1;
        } else if self.has_point {
            self.after += 1;
        } else {
            self.before += 1;
        }
        self.parts.push(Part::Digit { zero });
        Ok(())
    }

    /// Whether there is anything that must not stand beside `RN`, as plain digits and text may.
    fn more_than_roman(&self) -> bool {
        self.first_zero.is_some()
            || self.has_point
            || self.sign != Sign::Simple
            || self.has_plus
            || self.has_minus
            || self.has_shift()
            || self.scientific
            || self.blank
    }

    pub(super) fn has_shift(&self) -> bool {
        self.parts.contains(&Part::Shift)
    }

    fn point(&mut self) -> Result<()> {
        if self.has_point {
            return Err(wrong("multiple decimal points"));
        }
        if self.has_shift() {
            return Err(wrong("cannot use \"V\" and decimal point together"));
        }
        self.has_point = true;
        self.parts.push(Part::Point);
        Ok(())
    }

    fn shift(&mut self) -> Result<()> {
        if self.has_point {
            return Err(wrong("cannot use \"V\" and decimal point together"));
        }
        self.parts.push(Part::Shift);
        Ok(())
    }

    fn own_sign(&self) -> bool {
        self.has_plus || self.has_minus || self.sign == Sign::Elsewhere
    }

    fn locale_sign(&mut self) -> Result<()> {
        if matches!(self.sign, Sign::Before | Sign::After) {
            return Err(wrong("cannot use \"S\" twice"));
        }
        if self.own_sign() || self.sign == Sign::Bracket {
            return Err(wrong("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
        }
        self.sign = Sign::Before;
        self.before_sign = self.before;
        self.parts.push(Part::Sign);
        Ok(())
    }

    fn sign_part(&mut self, part: Part, name: &str) -> Result<()> {
        if matches!(self.sign, Sign::Before | Sign::After) {
            return Err(wrong(&format!("cannot use \"S\" and \"{name}\" together")));
        }
        match part {
            Part::Plus => self.has_plus = true,
            Part::Minus => {
                self.has_minus = true;
                self.sign = Sign::Elsewhere;
            }
            _ => {
                self.has_plus = true;
                self.has_minus = true;
                self.sign = Sign::Elsewhere;
            }
        }
        self.parts.push(part);
        Ok(())
    }

    fn bracket(&mut self) -> Result<()> {
        if self.own_sign() || matches!(self.sign, Sign::Before | Sign::After) {
            return Err(wrong("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
        }
        self.sign = Sign::Bracket;
        Ok(())
    }

    fn exponent(&mut self) -> Result<()> {
        if self.scientific {
            return Err(wrong("cannot use \"EEEE\" twice"));
        }
        if self.fill
            || self.own_sign()
            || self.sign != Sign::Simple
            || self.roman.is_some()
            || self.has_shift()
        {
            return Err(wrong("\"EEEE\" is incompatible with other formats").detail(
                "\"EEEE\" may only be used together with digit and decimal point patterns.",
            ));
        }
        self.scientific = true;
        Ok(())
    }

    fn roman(&mut self, upper: bool) -> Result<()> {
        if self.roman.is_some() {
            return Err(wrong("cannot use \"RN\" twice"));
        }
        self.roman = Some(upper);
        Ok(())
    }
}

type Action = fn(&mut Template, &str) -> Result<()>;

const WORDS: &[(&str, Action)] = &[
    (",", |t, _| {
        t.parts.push(Part::Group);
        Ok(())
    }),
    (".", |t, _| t.point()),
    ("0", |t, _| t.digit(true)),
    ("9", |t, _| t.digit(false)),
    ("B", |t, _| {
        t.blank = true;
        Ok(())
    }),
    ("C", |_, _| Ok(())),
    ("D", |t, _| t.point()),
    ("EEEE", |t, _| t.exponent()),
    ("FM", |t, _| {
        t.fill = true;
        Ok(())
    }),
    ("G", |t, _| {
        t.parts.push(Part::Group);
        Ok(())
    }),
    ("L", |t, _| {
        t.parts.push(Part::Currency);
        Ok(())
    }),
    ("MI", |t, _| t.sign_part(Part::Minus, "MI")),
    ("PL", |t, _| t.sign_part(Part::Plus, "PL")),
    ("PR", |t, _| t.bracket()),
    ("RN", |t, text| t.roman(text.starts_with('R'))),
    ("SG", |t, _| t.sign_part(Part::PlusMinus, "SG")),
    ("SP", |_, _| Ok(())),
    ("S", |t, _| t.locale_sign()),
    ("TH", |t, text| {
        t.parts.push(Part::Ordinal { upper: text.starts_with('T') });
        Ok(())
    }),
    ("V", |t, _| t.shift()),
];
