//! Unicode: normal forms, escapes, assigned characters.

use crate::call::FnDef;
use base::{Error, Result, bail, err, interrupt};
use unicode_normalization::UnicodeNormalization;

fn normal(text: &str, form: &str) -> Result<String> {
    match form.to_ascii_uppercase().as_str() {
        "NFC" => collected(text.nfc()),
        "NFD" => collected(text.nfd()),
        "NFKC" => collected(text.nfkc()),
        "NFKD" => collected(text.nfkd()),
        _ => bail!(INVALID_PARAMETER_VALUE, "invalid normalization form: {form}"),
    }
}

fn collected(characters: impl Iterator<Item = char>) -> Result<String> {
    let mut out = String::new();
    for c in characters {
        interrupt::step()?;
        crate::growth::grow(out.len(), c.len_utf8())?;
        out.push(c);
    }
    Ok(out)
}

fn invalid() -> Error {
    err!(SYNTAX_ERROR, "invalid Unicode escape")
        .hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
}

/// The code after a backslash and how many bytes it takes.
fn escape(rest: &str) -> Result<(u32, usize)> {
    let hex = |skip: usize, len: usize| {
        let digits = rest.get(skip..skip + len)?;
        let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = if all { u32::from_str_radix(digits, 16).ok() } else { None };
        code.map(|c| (c, skip + len))
    };
    let found = match rest.as_bytes().first() {
        Some(b'+') => hex(1, 6),
        Some(b'u') => hex(1, 4),
        Some(b'U') => hex(1, 8),
        _ => hex(0, 4),
    };
    found.ok_or_else(invalid)
}

fn unescape(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut high: Option<u32> = None;
    let pair = || err!(SYNTAX_ERROR, "invalid Unicode surrogate pair");
    while let Some(c) = rest.chars().next() {
        interrupt::step()?;
        if c != '\\' {
            if high.is_some() {
                return Err(pair());
            }
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        if rest[1..].starts_with('\\') {
            if high.is_some() {
                return Err(pair());
            }
            out.push('\\');
            rest = &rest[2..];
            continue;
        }
        let (code, len) = escape(&rest[1..])?;
        rest = &rest[1 + len..];
        match (high.take(), code) {
            (Some(h), 0xdc00..0xe000) => {
                let code = 0x10000 + ((h - 0xd800) << 10) + (code - 0xdc00);
                out.extend(char::from_u32(code));
            }
            (Some(_), _) | (None, 0xdc00..0xe000) => return Err(pair()),
            (None, 0xd800..0xdc00) => high = Some(code),
            (None, code) => match char::from_u32(code).filter(|_| code != 0) {
                Some(c) => out.push(c),
                None => {
                    return Err(err!(
                        INVALID_PARAMETER_VALUE,
                        "invalid Unicode code point: {code:04X}"
                    ));
                }
            },
        }
    }
    if high.is_some() { Err(pair()) } else { Ok(out) }
}

/// Whether a character is assigned: it has a normal form of its own or is no noncharacter.
fn assigned(c: char) -> bool {
    let code = c as u32;
    let noncharacter = (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe;
    let private = (0xf0000..=0x10fffd).contains(&code);
    // Planes 4 to 13 hold nothing.
    let empty = (0x40000..0xe0000).contains(&code);
    !noncharacter && (private || !empty)
}

const UNICODE: &[FnDef] = &[
    row!(unicode_normalize_func(text: &str, form: &str) { normal(text, form) }),
    row!(unicode_is_normalized(text: &str, form: &str) {
        normal(text, form).map(|n| n == text)
    }),
    row!(unistr(text: &str) { unescape(text) }),
    row!(unicode_assigned(text: &str) { text.chars().all(assigned) }),
    row!(unicode_version() { "16.0" }),
    row!(icu_unicode_version() { types::Datum::text(ICU_UNICODE) }),
];

/// The version of Unicode that collations of ICU know.
const ICU_UNICODE: &str = "17.0";

pub(crate) const FNS: &[&[FnDef]] = &[UNICODE];
