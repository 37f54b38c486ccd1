//! Values of settings: reading and showing them.

use super::unit::plain;
use super::{SettingDef, SettingType, Unit};
use crate::{Error, Result, err};
use std::sync::Arc;

/// A value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// on, off
    Bool(bool),
    /// In the setting's unit.
    Integer(i64),
    /// In the setting's unit.
    Real(f64),
    /// Text, and enums' words.
    Text(Arc<str>),
}

impl SettingValue {
    /// The boolean; false for other kinds.
    pub fn as_bool(&self) -> bool {
        matches!(self, SettingValue::Bool(true))
    }

    /// The whole number; 0 for other kinds.
    pub fn as_i64(&self) -> i64 {
        match self {
            SettingValue::Integer(n) => *n,
            SettingValue::Real(n) => *n as i64,
            _ => 0,
        }
    }

    /// The number; 0 for other kinds.
    pub fn as_f64(&self) -> f64 {
        match self {
            SettingValue::Integer(n) => *n as f64,
            SettingValue::Real(n) => *n,
            _ => 0.0,
        }
    }

    /// The text; empty for other kinds.
    pub fn as_str(&self) -> &str {
        match self {
            SettingValue::Text(t) => t,
            _ => "",
        }
    }
}

/// A Boolean as PostgreSQL reads it: unique prefixes of true, false, yes, no, on, off; 1, 0.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    let t = text.to_ascii_lowercase();
    if t.is_empty() {
        return None;
    }
    for (word, value) in [("true", true), ("false", false), ("yes", true), ("no", false)] {
        if word.starts_with(&t) {
            return Some(value);
        }
    }
    match t.as_str() {
        "on" | "1" => Some(true),
        "off" | "of" | "0" => Some(false),
        _ => None,
    }
}

impl SettingDef {
    /// Reads a value; fails in PostgreSQL's words.
    pub fn parse(&self, text: &str) -> Result<SettingValue> {
        match self.kind {
            SettingType::Bool => parse_bool(text).map(SettingValue::Bool).ok_or_else(|| {
                err!(
                    INVALID_PARAMETER_VALUE,
                    "parameter \"{}\" requires a Boolean value",
                    self.name
                )
            }),
            SettingType::Integer | SettingType::Real => self.parse_number(text),
            SettingType::String => Ok(SettingValue::Text(Arc::from(text))),
            SettingType::Enum => self.parse_enum(text),
        }
    }

    /// The value before anything sets it.
    pub fn boot_value(&self) -> SettingValue {
        let text = self.boot.unwrap_or("");
        self.parse(text).unwrap_or_else(|_| SettingValue::Text(Arc::from(text)))
    }

    fn invalid(&self, text: &str) -> Error {
        err!(INVALID_PARAMETER_VALUE, "invalid value for parameter \"{}\": \"{text}\"", self.name)
    }

    fn parse_number(&self, text: &str) -> Result<SettingValue> {
        let t = text.trim();
        let (number, unit) = split_number(t).ok_or_else(|| self.invalid(text))?;
        let mut number = number;
        if !unit.is_empty() {
            number = match self.unit.convert(number, unit) {
                Some(n) => n,
                None => {
                    let e = self.invalid(text);
                    return Err(match self.unit.hint() {
                        Some(hint) => e.hint(hint),
                        None => e,
                    });
                }
            };
        }
        if self.kind == SettingType::Integer {
            number = number.round_ties_even();
            if number.abs() > f64::from(i32::MAX) {
                return Err(self.invalid(text).hint("Value exceeds integer range."));
            }
        } else if number.is_infinite() {
            return Err(self.invalid(text));
        }
        if number.is_nan() || number < self.min || number > self.max {
            let u = match self.unit {
                Unit::None => String::new(),
                unit => format!(" {}", unit.name()),
            };
            return Err(err!(
                INVALID_PARAMETER_VALUE,
                "{}{u} is outside the valid range for parameter \"{}\" ({}{u} .. {}{u})",
                plain(number),
                self.name,
                self.min_text,
                self.max_text
            ));
        }
        Ok(match self.kind {
            SettingType::Integer => SettingValue::Integer(number as i64),
            _ => SettingValue::Real(number),
        })
    }

    fn parse_enum(&self, text: &str) -> Result<SettingValue> {
        let find = |w: &str| self.enum_values.iter().find(|v| v.eq_ignore_ascii_case(w));
        if let Some(v) = find(text) {
            return Ok(SettingValue::Text(Arc::from(*v)));
        }
        // Enums that grew out of Booleans still take all of a Boolean's words.
        let alias = match parse_bool(text) {
            Some(true) if text.len() > 1 || text == "1" => find("on"),
            Some(false) if text.len() > 1 || text == "0" => find("off"),
            _ if text.eq_ignore_ascii_case("debug") => find("debug2"),
            _ => None,
        };
        if let Some(v) = alias {
            return Ok(SettingValue::Text(Arc::from(*v)));
        }
        let words: Vec<String> = self
            .enum_values
            .iter()
            .map(|w| if w.is_empty() { "\"\"".to_string() } else { w.to_string() })
            .collect();
        Err(self.invalid(text).hint(format!("Available values: {}.", words.join(", "))))
    }

    /// A value as SHOW gives it, with its unit.
    pub fn show(&self, value: &SettingValue) -> String {
        match value {
            SettingValue::Bool(b) => if *b { "on" } else { "off" }.to_string(),
            SettingValue::Integer(n) => match self.name {
                "log_file_mode" | "unix_socket_permissions" | "data_directory_mode" => {
                    format!("{n:04o}")
                }
                _ => self.unit.show(*n as f64),
            },
            // What a generator began with tells what it will give.
            SettingValue::Real(_) if self.name == "seed" => "unavailable".to_string(),
            SettingValue::Real(n) => self.unit.show(*n),
            SettingValue::Text(t) => t.to_string(),
        }
    }

    /// A value as `pg_settings.setting` gives it, without its unit.
    pub fn show_plain(&self, value: &SettingValue) -> String {
        match value {
            SettingValue::Integer(_) if self.unit == Unit::None => self.show(value),
            SettingValue::Integer(n) => n.to_string(),
            SettingValue::Real(n) => plain(*n),
            _ => self.show(value),
        }
    }
}

/// The number at the beginning (decimal, hexadecimal, octal) and the unit after it.
fn split_number(t: &str) -> Option<(f64, &str)> {
    let body = t.strip_prefix(['+', '-']).unwrap_or(t);
    let negative = t.starts_with('-');
    let sign = if negative { -1.0 } else { 1.0 };
    if let Some(hex) = body.strip_prefix("0x").or(body.strip_prefix("0X")) {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        let n = i64::from_str_radix(&hex[..end], 16).ok()?;
        return Some((sign * n as f64, hex[end..].trim()));
    }
    let bytes = body.as_bytes();
    let mut end = 0;
    while end < bytes.len() && (bytes[end].is_ascii_digit() || bytes[end] == b'.') {
        end += 1;
    }
    if end == 0 {
        return None;
    }
    let octal =
        end > 1 && bytes[0] == b'0' && bytes[1..end].iter().all(|b| (b'0'..=b'7').contains(b));
    if octal {
        let n = i64::from_str_radix(&body[..end], 8).ok()?;
        return Some((sign * n as f64, body[end..].trim()));
    }
    // An exponent, unless the letter begins a unit.
    if end < bytes.len() && matches!(bytes[end], b'e' | b'E') {
        let mut e = end + 1;
        if e < bytes.len() && matches!(bytes[e], b'+' | b'-') {
            e += 1;
        }
        if e < bytes.len() && bytes[e].is_ascii_digit() {
            while e < bytes.len() && bytes[e].is_ascii_digit() {
                e += 1;
            }
            end = e;
        }
    }
    let n: f64 = body[..end].parse().ok()?;
    Some((sign * n, body[end..].trim()))
}
