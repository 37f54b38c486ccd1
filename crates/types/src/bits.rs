//! Bit strings: the number of bits (i32, little endian), then the bits, first bit highest; bits
//! past the end are zero.

use base::{Result, err};

/// Number of bits of a stored value.
pub fn bit_len(stored: &[u8]) -> usize {
    stored.first_chunk::<4>().map_or(0, |b| i32::from_le_bytes(*b).max(0) as usize)
}

/// Bytes of the bits of a stored value.
pub fn bit_bytes(stored: &[u8]) -> &[u8] {
    stored.get(4..).unwrap_or(&[])
}

/// Bit `i` of a stored value.
pub fn bit_at(stored: &[u8], i: usize) -> bool {
    bit_bytes(stored).get(i / 8).is_some_and(|b| b >> (7 - i % 8) & 1 != 0)
}

/// The stored form of bits.
pub fn make_bits(bits: impl IntoIterator<Item = bool>) -> Vec<u8> {
    let mut out = vec![0; 4];
    let mut n = 0i32;
    for bit in bits {
        if n % 8 == 0 {
            out.push(0);
        }
        if bit && let Some(last) = out.last_mut() {
            *last |= 0x80 >> (n % 8);
        }
        n += 1;
    }
    out[..4].copy_from_slice(&n.to_le_bytes());
    out
}

/// Reads `0101`, `b0101` or `x1F`; `typmod` is the length, -1 if none; `varying` says it is the
/// most.
pub fn parse_bits(text: &str, typmod: i32, varying: bool) -> Result<Vec<u8>> {
    let (digits, hex) = match text.as_bytes().first() {
        Some(b'b' | b'B') => (&text[1..], false),
        Some(b'x' | b'X') => (&text[1..], true),
        _ => (text, false),
    };
    let len = digits.len() * if hex { 4 } else { 1 };
    if typmod > 0 {
        check_length(len, typmod as usize, varying)?;
    }
    let mut bits = Vec::with_capacity(len);
    for c in digits.chars() {
        if hex {
            let d = c.to_digit(16).ok_or_else(|| {
                err!(INVALID_TEXT_REPRESENTATION, "\"{c}\" is not a valid hexadecimal digit")
            })?;
            bits.extend((0..4).rev().map(|i| d >> i & 1 != 0));
        } else {
            match c {
                '0' => bits.push(false),
                '1' => bits.push(true),
                _ => {
                    return Err(err!(
                        INVALID_TEXT_REPRESENTATION,
                        "\"{c}\" is not a valid binary digit"
                    ));
                }
            }
        }
    }
    Ok(make_bits(bits))
}

/// Fails unless a bit string of `len` bits fits a modifier.
pub fn check_length(len: usize, want: usize, varying: bool) -> Result<()> {
    if varying && len > want {
        return Err(err!(
            STRING_DATA_RIGHT_TRUNCATION,
            "bit string too long for type bit varying({want})"
        ));
    }
    if !varying && len != want {
        return Err(err!(
            STRING_DATA_LENGTH_MISMATCH,
            "bit string length {len} does not match type bit({want})"
        ));
    }
    Ok(())
}

/// Appends the bits as text.
pub fn write_bits(stored: &[u8], out: &mut Vec<u8>) {
    out.extend((0..bit_len(stored)).map(|i| if bit_at(stored, i) { b'1' } else { b'0' }));
}
