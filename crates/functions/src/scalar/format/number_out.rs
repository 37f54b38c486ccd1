//! `to_char` of numbers.

use super::number_template::{Part, Sign, Template, parse};
use super::ordinal;
use crate::call::FnDef;
use base::{Result, bail};
use types::numeric::{self, Kind, Numeric};

/// A number as its digits.
struct Digits {
    negative: bool,
    /// Before the decimal point, without leading zeros; at least one digit.
    whole: String,
    /// After it: as many as the template has, or fewer if they are not known.
    fraction: String,
    /// How many digits after the point the type can tell.
    fraction_places: usize,
    /// More digits than places, or nothing that has digits.
    overflow: bool,
}

impl Digits {
    fn of_text(text: &str, t: &Template, fraction_places: usize) -> Digits {
        let negative = text.starts_with('-');
        let body = text.trim_start_matches('-');
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        let whole = if whole.is_empty() { "0" } else { whole };
        let overflow = whole.len() > t.before;
        Digits {
            negative,
            whole: whole.to_string(),
            fraction: fraction.to_string(),
            fraction_places,
            overflow,
        }
    }
}

/// Puts digits into the places of a template.
fn print(d: &Digits, t: &Template) -> Result<String> {
    Printer::new(d, t).run()
}

struct Printer<'a> {
    d: &'a Digits,
    t: &'a Template,
    out: String,
    whole: String,
    fraction: String,
    /// How many places stay free on the left.
    lead: usize,
    /// The zero before the point is not printed.
    bare: bool,
    /// Digits after the point that are printed.
    kept: usize,
    sign_done: bool,
    begun: bool,
}

impl<'a> Printer<'a> {
    fn new(d: &'a Digits, t: &'a Template) -> Printer<'a> {
        let (whole, fraction) = match d.overflow {
            // A float has only so many digits, whatever the template says.
            true => ("#".repeat(t.before), "#".repeat(t.after.min(d.fraction_places))),
            false => (d.whole.clone(), d.fraction.clone()),
        };
        let zero_before = t.first_zero.is_some_and(|z| z < t.before);
        let bare = !d.overflow && whole == "0" && t.after > 0 && !zero_before;
        let mut kept = fraction.len();
        if t.fill && !d.overflow {
            kept = fraction.trim_end_matches('0').len();
            if let Some(last) = t.last_zero
                && last >= t.before
            {
                kept = kept.max((last - t.before + 1).min(fraction.len()));
            }
        }
        Printer {
            lead: t.before.saturating_sub(whole.len()),
            d,
            t,
            out: String::new(),
            whole,
            fraction,
            bare,
            kept,
            sign_done: t.sign == Sign::Elsewhere || t.sign == Sign::After,
            begun: false,
        }
    }

    fn sign(&mut self) {
        if std::mem::replace(&mut self.sign_done, true) {
            return;
        }
        match (self.t.sign, self.d.negative) {
            (Sign::Before, negative) => self.out.push(if negative { '-' } else { '+' }),
            (Sign::Bracket, true) => self.out.push('<'),
            (Sign::Simple, true) => self.out.push('-'),
            _ if !self.t.fill => self.out.push(' '),
            _ => {}
        }
    }

    /// What closes the number after its last digit.
    fn close(&mut self) {
        match (self.t.sign, self.d.negative) {
            (Sign::After, negative) => self.out.push(if negative { '-' } else { '+' }),
            (Sign::Bracket, true) => self.out.push('>'),
            (Sign::Bracket, false) if !self.t.fill => self.out.push(' '),
            _ => {}
        }
    }

    fn whole_digit(&mut self, place: usize) {
        let zero = self.t.first_zero.is_some_and(|z| z <= place);
        if place < self.lead {
            if zero {
                self.sign();
                self.out.push('0');
                self.begun = true;
            } else if !self.t.fill {
                self.out.push(' ');
            }
            return;
        }
        if self.bare {
            if !self.t.fill {
                self.out.push(' ');
            } else if self.kept == 0 {
                self.sign();
                self.out.push('0');
                self.begun = true;
            }
            return;
        }
        self.sign();
        let digit = self.whole.as_bytes().get(place - self.lead).copied().unwrap_or(b'0');
        self.out.push(digit as char);
        self.begun = true;
    }

    fn run(mut self) -> Result<String> {
        let (mut place, mut past_point) = (0, false);
        let total = self.t.before + self.t.after;
        for (i, part) in self.t.parts.iter().enumerate() {
            match part {
                Part::Digit { .. } => {
                    if place < self.t.before {
                        self.whole_digit(place);
                    } else {
                        self.sign();
                        let at = place - self.t.before;
                        if at >= self.fraction.len() && !self.t.fill && !self.d.overflow {
                            // There are no more digits that mean anything.
                            return Ok(self.out);
                        }
                        if at < self.kept {
                            self.out.push(self.fraction.as_bytes()[at] as char);
                            self.begun = true;
                        }
                    }
                    place += 1;
                    if place == total && !self.point_follows(i) {
                        self.close();
                    }
                }
                Part::Point => {
                    if !past_point {
                        self.sign();
                        // The number ends with its digits, and what follows in the template
                        // is not reached.
                        if self.fraction.is_empty() && !self.d.overflow {
                            return Ok(self.out);
                        }
                        self.out.push('.');
                    }
                    past_point = true;
                    if place == total {
                        self.close();
                    }
                }
                other => self.other(*other)?,
            }
        }
        Ok(self.out)
    }

    fn point_follows(&self, i: usize) -> bool {
        self.t.after == 0 && self.t.parts[i + 1..].contains(&Part::Point)
    }

    fn other(&mut self, part: Part) -> Result<()> {
        let fill = self.t.fill;
        match part {
            Part::Group => {
                if self.begun {
                    self.out.push(',');
                } else if !fill {
                    self.out.push(' ');
                }
            }
            Part::Currency => self.out.push(' '),
            Part::Minus => match self.d.negative {
                true => self.out.push('-'),
                false if !fill => self.out.push(' '),
                false => {}
            },
            Part::Plus => match self.d.negative {
                false => self.out.push('+'),
                true if !fill => self.out.push(' '),
                true => {}
            },
            Part::PlusMinus => self.out.push(if self.d.negative { '-' } else { '+' }),
            // Without any place the number is its point.
            Part::Ordinal { .. } if self.t.before == 0 && !self.t.has_point && !self.d.negative => {
                bail!(INVALID_TEXT_REPRESENTATION, "\".\" is not a number")
            }
            Part::Ordinal { upper }
                if !self.d.overflow && !self.d.negative && !self.t.has_point =>
            {
                let end = ordinal(&self.whole, upper);
                self.out.push_str(end);
            }
            Part::Char(c) => self.out.push(c),
            _ => {}
        }
        Ok(())
    }
}

const ROMAN: [(i64, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

fn roman(n: Option<i64>, upper: bool, fill: bool) -> String {
    let Some(mut n) = n.filter(|n| (1..=3999).contains(n)) else { return "#".repeat(15) };
    let mut out = String::new();
    for (value, word) in ROMAN {
        while n >= value {
            n -= value;
            out.push_str(word);
        }
    }
    if !upper {
        out = out.to_lowercase();
    }
    if fill { out } else { format!("{out:>15}") }
}

/// A number in Roman numerals; hash marks if it has none.
pub(super) fn roman_text(n: i64) -> String {
    roman(Some(n), true, true)
}

/// Leaves room for the number with nothing in it.
fn no_exponent(t: &Template) -> String {
    let point = if t.has_point { "." } else { "" };
    format!(" {}{point}{}####", "#".repeat(t.before), "#".repeat(t.after))
}

fn of_numeric(n: Numeric, template: &str) -> Result<String> {
    let t = parse(template)?;
    if let Some(upper) = t.roman {
        let whole = if n.is_finite() { n.round(0).to_i64() } else { None };
        return Ok(roman(whole, upper, t.fill));
    }
    if t.scientific {
        if n.kind != Kind::Finite {
            return Ok(no_exponent(&t));
        }
        let text = n.to_scientific(t.after as i32);
        return Ok(if n.negative { text } else { format!(" {text}") });
    }
    let n = if t.shift > 0 && n.is_finite() { n.shift10(t.shift as i32) } else { n };
    let mut text = Vec::new();
    n.round(t.after as i32).write(&mut text);
    let text = String::from_utf8(text).unwrap_or_default();
    print(&Digits::of_text(&text, &t, t.after), &t)
}

fn of_float(x: f64, digits: usize, template: &str) -> Result<String> {
    let t = parse(template)?;
    if let Some(upper) = t.roman {
        let whole = x.round_ties_even();
        return Ok(roman((whole.abs() < 1e9).then_some(whole as i64), upper, t.fill));
    }
    if t.scientific {
        if !x.is_finite() {
            return Ok(no_exponent(&t));
        }
        let text = format!("{x:.*e}", t.after);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        let lead = if x.is_sign_negative() { "" } else { " " };
        return Ok(format!("{lead}{mantissa}e{sign}{:02}", exponent.abs()));
    }
    let x = if t.shift > 0 { x * 10f64.powi(t.shift as i32) } else { x };
    let whole = match x.classify() {
        std::num::FpCategory::Nan => "NaN".to_string(),
        std::num::FpCategory::Infinite => "Infinity".to_string(),
        _ => format!("{:.0}", x.abs()),
    };
    // No more digits than the type has.
    let after = t.after.min(digits.saturating_sub(whole.len()));
    let text = match x.is_finite() {
        true => format!("{x:.after$}"),
        false if x < 0.0 => format!("-{whole}"),
        false => whole,
    };
    print(&Digits::of_text(&text, &t, after), &t)
}

fn of_int(n: i64, template: &str) -> Result<String> {
    of_numeric(Numeric::decode(&numeric::small::from_i64(n)), template)
}

pub(super) const FNS: &[FnDef] = &[
    row!(numeric_to_char(n: &[u8], template: &str) { of_numeric(Numeric::decode(n), template) }),
    row!(int4_to_char(n: i32, template: &str) { of_int(n as i64, template) }),
    row!(int8_to_char(n: i64, template: &str) { of_int(n, template) }),
    row!(float4_to_char(x: f32, template: &str) { of_float(x as f64, 6, template) }),
    row!(float8_to_char(x: f64, template: &str) { of_float(x, 15, template) }),
];
