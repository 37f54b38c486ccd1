//! Which bytes are characters.

use super::{Encoding, invalid};
use base::Result;

/// The families whose rules differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Single,
    Utf8,
    Mule,
    EucJp,
    EucKr,
    EucCn,
    EucTw,
    Sjis,
    Big5,
    Gb18030,
    Johab,
}

fn family(encoding: Encoding) -> Family {
    match encoding.name() {
        "UTF8" => Family::Utf8,
        "MULE_INTERNAL" => Family::Mule,
        "EUC_JP" | "EUC_JIS_2004" => Family::EucJp,
        "EUC_KR" => Family::EucKr,
        "EUC_CN" => Family::EucCn,
        "EUC_TW" => Family::EucTw,
        "SJIS" | "SHIFT_JIS_2004" => Family::Sjis,
        "BIG5" | "GBK" | "UHC" => Family::Big5,
        "GB18030" => Family::Gb18030,
        "JOHAB" => Family::Johab,
        _ => Family::Single,
    }
}

/// Bytes that the character at the start has, by its first bytes alone.
pub(super) fn length(encoding: Encoding, bytes: &[u8]) -> usize {
    length_in(family(encoding), bytes)
}

fn length_in(family: Family, bytes: &[u8]) -> usize {
    let Some(&first) = bytes.first() else { return 0 };
    if first < 0x80 {
        return 1;
    }
    match (family, first) {
        (Family::Single, _) => 1,
        (Family::Utf8, 0xc0..=0xdf) => 2,
        (Family::Utf8, 0xe0..=0xef) => 3,
        (Family::Utf8, 0xf0..=0xf7) => 4,
        (Family::Utf8, _) => 1,
        (Family::Mule, 0x81..=0x8d) => 2,
        (Family::Mule, 0x90..=0x9b) => 3,
        (Family::Mule, 0x9c | 0x9d) => 4,
        (Family::Mule, _) => 1,
        (Family::EucCn, 0x8e) => 3,
        (Family::EucTw, 0x8e) => 4,
        (Family::EucJp | Family::EucKr | Family::EucCn | Family::EucTw | Family::Johab, 0x8f) => 3,
        (Family::Sjis, 0xa1..=0xdf) => 1,
        (Family::Gb18030, _) if matches!(bytes.get(1), Some(0x30..=0x39)) => 4,
        _ => 2,
    }
}

/// Whether the bytes of one character, as many as it should have, are one.
fn is_character(family: Family, c: &[u8]) -> bool {
    let high = |b: u8| (0xa1..=0xfe).contains(&b);
    match (family, c) {
        (_, [b]) if *b < 0x80 => *b != 0,
        (Family::Single, _) => true,
        (Family::Utf8, _) => std::str::from_utf8(c).is_ok(),
        (Family::Mule, [_, rest @ ..]) => rest.iter().all(|b| *b >= 0x80),
        (Family::EucJp, [0x8e, b]) => (0xa1..=0xdf).contains(b),
        (Family::EucJp | Family::Johab, [0x8f, a, b]) => high(*a) && high(*b),
        (Family::EucJp, [a, b]) => high(*a) && high(*b),
        (Family::EucKr | Family::EucCn, [a, b]) => high(*a) && high(*b),
        (Family::EucTw, [0x8e, p, a, b]) => (0xa1..=0xa7).contains(p) && high(*a) && high(*b),
        (Family::EucTw | Family::Johab, [_, b]) => high(*b),
        (Family::Sjis, [b]) => (0xa1..=0xdf).contains(b),
        (Family::Sjis, [a, b]) => {
            matches!(a, 0x81..=0x9f | 0xe0..=0xfc) && matches!(b, 0x40..=0x7e | 0x80..=0xfc)
        }
        // This pair is what no text ever has, so that it can stand for bytes that are none.
        (Family::Big5, [0x8d, 0x20]) => false,
        (Family::Big5, [_, b]) => *b != 0,
        (Family::Gb18030, [a, b]) => {
            matches!(a, 0x81..=0xfe) && matches!(b, 0x40..=0x7e | 0x80..=0xfe)
        }
        (Family::Gb18030, [a, _, b, c]) => {
            let lead = |b: u8| (0x81..=0xfe).contains(&b);
            lead(*a) && lead(*b) && (0x30..=0x39).contains(c)
        }
        _ => false,
    }
}

/// The characters of bytes, each checked.
pub(super) struct Characters<'a> {
    encoding: Encoding,
    family: Family,
    rest: &'a [u8],
}

impl<'a> Characters<'a> {
    pub(super) fn new(encoding: Encoding, bytes: &'a [u8]) -> Characters<'a> {
        Characters { encoding, family: family(encoding), rest: bytes }
    }

    /// What has not been looked at yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Characters<'a> {
    type Item = Result<&'a [u8]>;

    fn next(&mut self) -> Option<Result<&'a [u8]>> {
        let len = length_in(self.family, self.rest);
        if len == 0 {
            return None;
        }
        let Some((c, rest)) = self.rest.split_at_checked(len) else {
            return Some(Err(invalid(self.encoding, self.rest)));
        };
        if !is_character(self.family, c) {
            return Some(Err(invalid(self.encoding, self.rest)));
        }
        self.rest = rest;
        Some(Ok(c))
    }
}

impl Encoding {
    /// Bytes that the first character has, by its first bytes.
    pub fn first_length(self, bytes: &[u8]) -> usize {
        length(self, bytes)
    }

    /// How many bytes from the start are whole characters.
    pub fn whole_characters(self, bytes: &[u8]) -> usize {
        let (family, mut at) = (family(self), 0);
        while let n @ 1.. = length_in(family, &bytes[at..]) {
            // Whether there are two or four bytes is told by the second one.
            let told = family != Family::Gb18030 || n == 1 || bytes.len() - at > 1;
            if !told || at + n > bytes.len() {
                break;
            }
            at += n;
        }
        at
    }

    /// Checks bytes and counts their characters.
    pub fn verify(self, bytes: &[u8]) -> Result<usize> {
        if bytes.is_ascii() && memchr::memchr(0, bytes).is_none() {
            return Ok(bytes.len());
        }
        let mut n = 0;
        for c in Characters::new(self, bytes) {
            c?;
            n += 1;
        }
        Ok(n)
    }
}
