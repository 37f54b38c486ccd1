//! Search filters: the text form of RFC 4515 made into BER.

use super::ber;

const AND: u8 = 0xa0;
const OR: u8 = 0xa1;
const NOT: u8 = 0xa2;
const EQUAL: u8 = 0xa3;
const SUBSTRINGS: u8 = 0xa4;
const GREATER_OR_EQUAL: u8 = 0xa5;
const LESS_OR_EQUAL: u8 = 0xa6;
const PRESENT: u8 = 0x87;
const APPROXIMATELY: u8 = 0xa8;

/// Filters in filters are not deeper than this.
const DEEPEST: usize = 100;

/// A filter's text as BER; None if it is not one.
pub fn encode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // Outermost parentheses may be left out.
    let whole = match text.starts_with('(') {
        true => text.to_string(),
        false => format!("({text})"),
    };
    let rest = one(&whole, &mut out, 0)?;
    rest.is_empty().then_some(out)
}

/// A filter in parentheses; gives what follows.
fn one<'a>(text: &'a str, out: &mut Vec<u8>, depth: usize) -> Option<&'a str> {
    if depth > DEEPEST {
        return None;
    }
    let inner = text.strip_prefix('(')?;
    let list = |tag: u8, mut rest: &'a str, out: &mut Vec<u8>| {
        let mut body = Vec::new();
        while rest.starts_with('(') {
            rest = one(rest, &mut body, depth + 1)?;
        }
        ber::put(out, tag, &body);
        rest.strip_prefix(')')
    };
    match inner.as_bytes().first()? {
        b'&' => list(AND, &inner[1..], out),
        b'|' => list(OR, &inner[1..], out),
        b'!' => {
            let mut body = Vec::new();
            let rest = one(&inner[1..], &mut body, depth + 1)?;
            ber::put(out, NOT, &body);
            rest.strip_prefix(')')
        }
        _ => {
            let end = inner.find(')')?;
            item(&inner[..end], out)?;
            Some(&inner[end + 1..])
        }
    }
}

/// `attribute=value` and its like.
fn item(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let at = text.find('=')?;
    let (mut name, value) = (&text[..at], &text[at + 1..]);
    let mut tag = EQUAL;
    for (sign, other) in [('>', GREATER_OR_EQUAL), ('<', LESS_OR_EQUAL), ('~', APPROXIMATELY)] {
        if let Some(shorter) = name.strip_suffix(sign) {
            (name, tag) = (shorter, other);
        }
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ';' | '_');
    if name.is_empty() || !name.chars().all(fits) {
        return None;
    }
    if tag == EQUAL && value == "*" {
        ber::put(out, PRESENT, name.as_bytes());
        return Some(());
    }
    let mut body = Vec::new();
    ber::put(&mut body, ber::OCTETS, name.as_bytes());
    if tag == EQUAL && value.contains('*') {
        substrings(value, &mut body)?;
        tag = SUBSTRINGS;
    } else {
        ber::put(&mut body, ber::OCTETS, &unescape(value)?);
    }
    ber::put(out, tag, &body);
    Some(())
}

/// `initial*any*final`
fn substrings(value: &str, out: &mut Vec<u8>) -> Option<()> {
    let pieces: Vec<&str> = value.split('*').collect();
    let mut list = Vec::new();
    for (i, piece) in pieces.iter().enumerate().filter(|(_, p)| !p.is_empty()) {
        let tag = match i {
            0 => 0x80,
            i if i == pieces.len() - 1 => 0x82,
            _ => 0x81,
        };
        ber::put(&mut list, tag, &unescape(piece)?);
    }
    ber::put(out, ber::SEQUENCE, &list);
    Some(())
}

/// `\2a` is the byte of that number.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'\\' {
            out.push(b);
            continue;
        }
        let digit = |b: Option<u8>| char::from(b?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push((high << 4 | low) as u8);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_as_bytes() {
        assert_eq!(encode("(uid=ann)").unwrap(), b"\xa3\x0a\x04\x03uid\x04\x03ann");
        assert_eq!(encode("uid=ann").unwrap(), encode("(uid=ann)").unwrap());
        assert_eq!(encode("(cn=*)").unwrap(), b"\x87\x02cn");
        assert_eq!(encode("(a=x*y)").unwrap(), b"\xa4\x0b\x04\x01a\x30\x06\x80\x01x\x82\x01y");
        assert_eq!(encode("(a=\\2a)").unwrap(), b"\xa3\x06\x04\x01a\x04\x01*");
        assert_eq!(
            encode("(&(a=1)(!(b>=2)))").unwrap(),
            b"\xa0\x12\xa3\x06\x04\x01a\x04\x011\xa2\x08\xa5\x06\x04\x01b\x04\x012"
        );
    }

    #[test]
    fn what_is_no_filter() {
        for text in ["", "(", "()", "(a)", "(=b)", "(a=b", "(a=b)x", "(a=\\2)", "(&(a=b)", "(!a)"] {
            assert_eq!(encode(text), None, "{text}");
        }
        assert_eq!(encode(&"(!".repeat(10_000)), None);
    }
}
