//! Strings and byte strings as text.

use super::settings::ByteaOutput;
use base::{Error, Result, err, interrupt};

/// Reads a bytea in hex or escape format.
pub fn bytea_in(text: &str) -> Result<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        return hex_decode(hex.as_bytes());
    }
    bytea_escape_in(text)
}

/// Reads a bytea in escape format.
pub fn bytea_escape_in(text: &str) -> Result<Vec<u8>> {
    let bytes = text.as_bytes();
    let Some(mut at) = memchr::memchr(b'\\', bytes) else { return Ok(bytes.to_vec()) };
    let mut out = Vec::with_capacity(bytes.len());
    out.extend_from_slice(&bytes[..at]);
    while at < bytes.len() {
        interrupt::step()?;
        match &bytes[at..] {
            [b'\\', b'\\', ..] => {
                out.push(b'\\');
                at += 2;
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                at += 4;
            }
            [b'\\', ..] => {
                return Err(err!(
                    INVALID_TEXT_REPRESENTATION,
                    "invalid input syntax for type bytea"
                ));
            }
            [b, ..] => {
                out.push(*b);
                at += 1;
            }
            [] => break,
        }
    }
    Ok(out)
}

/// Reads pairs of hexadecimal digits; white space between pairs is skipped.
pub fn hex_decode(text: &[u8]) -> Result<Vec<u8>> {
    let digit = |at: usize| -> Result<u8> {
        (text[at] as char).to_digit(16).map(|d| d as u8).ok_or_else(|| bad_digit(&text[at..]))
    };
    let mut out = Vec::with_capacity(text.len() / 2);
    let mut at = 0;
    while at < text.len() {
        interrupt::step()?;
        if matches!(text[at], b' ' | b'\n' | b'\t' | b'\r') {
            at += 1;
            continue;
        }
        let high = digit(at)?;
        if at + 1 >= text.len() {
            return Err(err!(
                INVALID_PARAMETER_VALUE,
                "invalid hexadecimal data: odd number of digits"
            ));
        }
        out.push(high << 4 | digit(at + 1)?);
        at += 2;
    }
    Ok(out)
}

#[cold]
fn bad_digit(rest: &[u8]) -> Error {
    let text = String::from_utf8_lossy(rest);
    let first = text.chars().next().unwrap_or('?');
    err!(INVALID_PARAMETER_VALUE, "invalid hexadecimal digit: \"{first}\"")
}

/// Writes a bytea.
pub fn bytea_out(bytes: &[u8], format: ByteaOutput, out: &mut Vec<u8>) {
    match format {
        ByteaOutput::Hex => {
            out.extend_from_slice(b"\\x");
            hex_encode(bytes, out);
        }
        ByteaOutput::Escape => {
            for &b in bytes {
                match b {
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    0x20..=0x7e => out.push(b),
                    _ => out.extend_from_slice(&[
                        b'\\',
                        b'0' + (b >> 6),
                        b'0' + (b >> 3 & 7),
                        b'0' + (b & 7),
                    ]),
                }
            }
        }
    }
}

/// Writes pairs of hexadecimal digits.
pub fn hex_encode(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for &b in bytes {
        out.push(DIGITS[(b >> 4) as usize]);
        out.push(DIGITS[(b & 15) as usize]);
    }
}

/// Shortens text to the `max` characters of a varchar; only blanks may be lost unless `explicit`.
pub fn varchar(text: &str, max: usize, explicit: bool) -> Result<&str> {
    match text.char_indices().nth(max) {
        None => Ok(text),
        Some((end, _)) => {
            if !explicit && text[end..].bytes().any(|b| b != b' ') {
                return Err(err!(
                    STRING_DATA_RIGHT_TRUNCATION,
                    "value too long for type character varying({max})"
                ));
            }
            Ok(&text[..end])
        }
    }
}

/// Pads or shortens text to the `len` characters of a char(n); only blanks may be lost unless
/// `explicit`.
pub fn bpchar(text: &str, len: usize, explicit: bool) -> Result<String> {
    match text.char_indices().nth(len) {
        Some((end, _)) => {
            if !explicit && text[end..].bytes().any(|b| b != b' ') {
                return Err(err!(
                    STRING_DATA_RIGHT_TRUNCATION,
                    "value too long for type character({len})"
                ));
            }
            Ok(text[..end].to_string())
        }
        None => {
            let have = text.chars().count();
            if len > 0x3fff_ffff {
                // So many bytes PostgreSQL would ask for; a cast counts them in 32 bits.
                let size = text.len() + (len - have);
                let size = match explicit {
                    true => i64::from((size as i32).wrapping_add(4)) as u64,
                    false => size as u64 + 4,
                };
                return Err(err!(INTERNAL_ERROR, "invalid memory alloc request size {size}"));
            }
            let mut out = String::with_capacity(text.len() + len - have);
            out.push_str(text);
            out.extend(std::iter::repeat_n(' ', len - have));
            Ok(out)
        }
    }
}

/// Shortens text to the 63 bytes of a name, at a character's border.
pub fn name(text: &str) -> &str {
    &text[..text.floor_char_boundary(63)]
}

/// The byte of a "char" from its text: a character's first byte, or `\ooo`.
pub fn char_in(text: &str) -> u8 {
    match text.as_bytes() {
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => {
            (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
        }
        [first, ..] => *first,
        [] => 0,
    }
}

/// Writes a "char".
pub fn char_out(c: u8, out: &mut Vec<u8>) {
    match c {
        0 => {}
        1..=0x7f => out.push(c),
        _ => out.extend_from_slice(&[b'\\', b'0' + (c >> 6), b'0' + (c >> 3 & 7), b'0' + (c & 7)]),
    }
}

/// Reads a boolean: any prefix of its words that says which, or 1 or 0.
pub fn bool_in(text: &str) -> Result<bool> {
    let word = super::number::trim_space(text);
    bool_word(word).ok_or_else(|| {
        err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type boolean: \"{text}\"")
    })
}

/// The boolean that a word stands for.
pub fn bool_word(word: &str) -> Option<bool> {
    let prefix_of = |full: &str, least: usize| {
        word.len() >= least
            && word.len() <= full.len()
            && full.as_bytes()[..word.len()].eq_ignore_ascii_case(word.as_bytes())
    };
    if prefix_of("true", 1) || prefix_of("yes", 1) || prefix_of("on", 2) || word == "1" {
        Some(true)
    } else if prefix_of("false", 1) || prefix_of("no", 1) || prefix_of("off", 2) || word == "0" {
        Some(false)
    } else {
        None
    }
}
