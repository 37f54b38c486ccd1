//! BER as LDAP uses it: a tag of one byte, a definite length, contents.

/// A value that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value<'a> {
    /// Class, form and number in one byte.
    pub tag: u8,
    /// What is in it.
    pub body: &'a [u8],
}

pub const INTEGER: u8 = 0x02;
pub const OCTETS: u8 = 0x04;
pub const BOOLEAN: u8 = 0x01;
pub const ENUMERATED: u8 = 0x0a;
pub const SEQUENCE: u8 = 0x30;

/// Writes a value.
pub fn put(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.push(tag);
    match body.len() {
        n @ 0..0x80 => out.push(n as u8),
        n => {
            let bytes = (n as u32).to_be_bytes();
            let used = &bytes[bytes.iter().position(|b| *b != 0).unwrap_or(3)..];
            out.push(0x80 | used.len() as u8);
            out.extend_from_slice(used);
        }
    }
    out.extend_from_slice(body);
}

/// Writes a whole number that is not negative.
pub fn put_number(out: &mut Vec<u8>, tag: u8, n: u32) {
    let bytes = n.to_be_bytes();
    let mut from = bytes.iter().position(|b| *b != 0).unwrap_or(3);
    // The first bit is the sign.
    let zero = bytes[from] & 0x80 != 0;
    let mut body = Vec::with_capacity(5);
    if zero {
        body.push(0);
    }
    while from < 4 {
        body.push(bytes[from]);
        from += 1;
    }
    put(out, tag, &body);
}

/// Bytes of the value at the beginning, with its head; None if more has to be read to know.
pub fn whole_len(bytes: &[u8]) -> Option<usize> {
    let first = *bytes.get(1)?;
    if first < 0x80 {
        return Some(2 + usize::from(first));
    }
    let count = usize::from(first & 0x7f);
    let len = bytes.get(2..2 + count)?;
    // Longer ones are refused by their size.
    let len = len.iter().fold(0usize, |n, b| n.saturating_mul(256).saturating_add(usize::from(*b)));
    Some(len.saturating_add(2 + count))
}

/// Takes the first value; None if it is not whole.
pub fn take<'a>(bytes: &mut &'a [u8]) -> Option<Value<'a>> {
    let len = whole_len(bytes)?;
    let head = match bytes.get(1)? {
        n if *n < 0x80 => 2,
        n => 2 + usize::from(n & 0x7f),
    };
    let (value, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(Value { tag: value[0], body: &value[head..] })
}

/// Takes the first value if it has this tag.
pub fn take_tagged<'a>(bytes: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let value = take(bytes)?;
    (value.tag == tag).then_some(value.body)
}

/// A whole number that is not negative.
pub fn number(body: &[u8]) -> Option<u32> {
    if body.is_empty() || body.len() > 5 || body[0] & 0x80 != 0 {
        return None;
    }
    u32::try_from(body.iter().fold(0u64, |n, b| n << 8 | u64::from(*b))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back() {
        for len in [0usize, 1, 127, 128, 255, 256, 70_000] {
            let mut out = Vec::new();
            put(&mut out, OCTETS, &vec![7; len]);
            out.push(9);
            let mut rest = out.as_slice();
            assert_eq!(whole_len(rest), Some(out.len() - 1));
            assert_eq!(take_tagged(&mut rest, OCTETS).map(<[u8]>::len), Some(len));
            assert_eq!(rest, [9]);
        }
        for n in [0, 1, 127, 128, 255, 256, 65_535, u32::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, INTEGER, n);
            let body = take_tagged(&mut out.as_slice(), INTEGER).unwrap().to_vec();
            assert_eq!(number(&body), Some(n));
        }
    }

    #[test]
    fn what_is_cut_short_is_none() {
        for bytes in [&[][..], &[4], &[4, 2, 1], &[4, 0x82, 1], &[4, 0xff, 1, 2]] {
            assert_eq!(take(&mut &bytes[..]), None, "{bytes:?}");
        }
        assert_eq!(number(&[0xff]), None);
    }
}
