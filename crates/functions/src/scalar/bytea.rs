//! Byte strings: pieces, digests, encodings.

use crate::call::FnDef;
use crate::growth;
use base::{Error, Result, bail, err, interrupt};
use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};
use std::borrow::Cow;
use types::encoding::{self, Encoding};
use types::io::bytes::{hex_decode, hex_encode};

fn substring(a: &[u8], from: i64, len: Option<i64>) -> Result<&[u8]> {
    if len.is_some_and(|n| n < 0) {
        bail!(SUBSTRING_ERROR, "negative substring length not allowed");
    }
    let start = (from.max(1) - 1).min(a.len() as i64) as usize;
    let end = len.map_or(a.len() as i64, |n| (from + n - 1).clamp(0, a.len() as i64)) as usize;
    Ok(if end <= start { &[] } else { &a[start..end] })
}

fn overlay(a: &[u8], b: &[u8], from: i32, len: i32) -> Result<Vec<u8>> {
    if from <= 0 {
        bail!(SUBSTRING_ERROR, "negative substring length not allowed");
    }
    let after = from.checked_add(len).ok_or_else(super::int::int4_range)?;
    let head = substring(a, 1, Some(from as i64 - 1))?;
    let tail = substring(a, after as i64, None)?;
    growth::made(head.len() + b.len() + tail.len())?;
    Ok([head, b, tail].concat())
}

#[cold]
fn index_range(n: i64, len: i64) -> Error {
    let most = len - 1;
    err!(ARRAY_SUBSCRIPT_ERROR, "index {n} out of valid range, 0..{most}")
}

fn bit_index(a: &[u8], n: i64) -> Result<(usize, u32)> {
    let bits = a.len() as i64 * 8;
    if n < 0 || n >= bits {
        return Err(index_range(n, bits));
    }
    Ok(((n / 8) as usize, (n % 8) as u32))
}

fn byte_index(a: &[u8], n: i32) -> Result<usize> {
    if n < 0 || n as usize >= a.len() {
        return Err(index_range(n as i64, a.len() as i64));
    }
    Ok(n as usize)
}

fn trim<'a>(a: &'a [u8], set: &[u8], left: bool, right: bool) -> &'a [u8] {
    let keep = |b: &u8| !set.contains(b);
    let start = if left { a.iter().position(keep).unwrap_or(a.len()) } else { 0 };
    let end = if right { a.iter().rposition(keep).map_or(start, |p| p + 1) } else { a.len() };
    &a[start..end.max(start)]
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    hex_encode(bytes, &mut out);
    out
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What letters of base64 stand for; 255 for others.
const BASE64_VALUES: [u8; 256] = {
    let mut out = [255; 256];
    let mut i = 0;
    while i < 64 {
        out[BASE64[i] as usize] = i as u8;
        i += 1;
    }
    out
};

fn base64_encode(bytes: &[u8]) -> Result<Vec<u8>> {
    growth::made(bytes.len() / 57 * 77)?;
    let mut out = Vec::with_capacity(bytes.len() / 57 * 77 + 80);
    let mut line = 0;
    for chunk in bytes.chunks(3) {
        interrupt::step()?;
        let word = (chunk[0] as u32) << 16
            | (chunk.get(1).copied().unwrap_or(0) as u32) << 8
            | chunk.get(2).copied().unwrap_or(0) as u32;
        if line == 76 {
            out.push(b'\n');
            line = 0;
        }
        for i in 0..4 {
            out.push(if i <= chunk.len() {
                BASE64[(word >> (18 - 6 * i)) as usize & 63]
            } else {
                b'='
            });
        }
        line += 4;
    }
    Ok(out)
}

fn base64_decode(text: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let (mut word, mut n, mut padding) = (0u32, 0, 0);
    let mut at = 0;
    while at < text.len() {
        let c = text[at];
        at += 1;
        interrupt::step()?;
        if matches!(c, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        }
        let value = if c == b'=' {
            // Padding is only right for the last one or two places.
            if padding == 0 {
                padding = match n {
                    2 => 2,
                    3 => 1,
                    _ => bail!(
                        INVALID_PARAMETER_VALUE,
                        "unexpected \"=\" while decoding base64 sequence"
                    ),
                };
            }
            0
        } else {
            match BASE64_VALUES[c as usize] {
                v @ 0..64 if padding == 0 => u32::from(v),
                _ => {
                    let shown = String::from_utf8_lossy(&text[at - 1..]);
                    let first = shown.chars().next().unwrap_or('?');
                    bail!(
                        INVALID_PARAMETER_VALUE,
                        "invalid symbol \"{first}\" found while decoding base64 sequence"
                    );
                }
            }
        };
        word = word << 6 | value;
        n += 1;
        if n == 4 {
            let bytes = [(word >> 16) as u8, (word >> 8) as u8, word as u8];
            out.extend_from_slice(&bytes[..3 - padding]);
            (word, n) = (0, 0);
        }
    }
    if n != 0 {
        return Err(err!(INVALID_PARAMETER_VALUE, "invalid base64 end sequence")
            .hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
    }
    Ok(out)
}

fn escape_encode(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    for &b in bytes {
        interrupt::step()?;
        match b {
            0 | 0x80.. => {
                let digits = [b >> 6, b >> 3 & 7, b & 7].map(|d| b'0' + d);
                out.push(b'\\');
                out.extend_from_slice(&digits);
            }
            b'\\' => out.extend_from_slice(b"\\\\"),
            b => out.push(b),
        }
    }
    growth::made(out.len())?;
    Ok(out)
}

#[cold]
fn unknown_encoding(name: &str) -> Error {
    err!(INVALID_PARAMETER_VALUE, "unrecognized encoding: \"{name}\"")
}

fn encode(bytes: &[u8], name: &str) -> Result<Vec<u8>> {
    match name.to_ascii_lowercase().as_str() {
        "hex" => {
            growth::made(bytes.len() * 2)?;
            let mut out = Vec::with_capacity(bytes.len() * 2);
            for piece in bytes.chunks(PIECE) {
                interrupt::step_by(PIECE >> 6)?;
                hex_encode(piece, &mut out);
            }
            Ok(out)
        }
        "base64" => base64_encode(bytes),
        "escape" => escape_encode(bytes),
        _ => Err(unknown_encoding(name)),
    }
}

fn decode(text: &str, name: &str) -> Result<Vec<u8>> {
    match name.to_ascii_lowercase().as_str() {
        "hex" => hex_decode(text.as_bytes()),
        "base64" => base64_decode(text.as_bytes()),
        "escape" => {
            // A leading \x has no meaning in this encoding.
            types::io::bytes::bytea_escape_in(text)
        }
        _ => Err(unknown_encoding(name)),
    }
}

/// What each byte does to a checksum.
const fn crc_table(polynomial: u32) -> [u32; 256] {
    let mut out = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = crc >> 1 ^ if crc & 1 != 0 { polynomial } else { 0 };
            bit += 1;
        }
        out[byte] = crc;
        byte += 1;
    }
    out
}

const CRC32: [u32; 256] = crc_table(0xEDB8_8320);
const CRC32C: [u32; 256] = crc_table(0x82F6_3B78);

fn crc(bytes: &[u8], table: &[u32; 256]) -> Result<i64> {
    let mut crc = u32::MAX;
    for piece in bytes.chunks(PIECE) {
        interrupt::step_by(piece.len() >> 6)?;
        for b in piece {
            crc = crc >> 8 ^ table[(crc as u8 ^ b) as usize];
        }
    }
    Ok(i64::from(!crc))
}

/// What is done at once of long values.
const PIECE: usize = 1 << 16;

fn digest<D: Digest>(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut state = D::new();
    for piece in bytes.chunks(PIECE) {
        interrupt::step_by(piece.len() >> 6)?;
        state.update(piece);
    }
    Ok(state.finalize().to_vec())
}

fn position(a: &[u8], b: &[u8]) -> i32 {
    memchr::memmem::find(a, b).map_or(0, |i| i as i32 + 1)
}

fn to_int(a: &[u8], width: usize, range: fn() -> Error) -> Result<i64> {
    if a.len() > width {
        return Err(range());
    }
    let negative = a.len() == width && a.first().is_some_and(|b| b & 0x80 != 0);
    let mut out: i64 = if negative { -1 } else { 0 };
    for b in a {
        out = out << 8 | *b as i64;
    }
    Ok(out)
}

const PIECES: &[FnDef] = &[
    row!(byteacat(a: &[u8], b: &[u8]) {
        growth::made(a.len() + b.len())?;
        [a, b].concat()
    }),
    row!(bytea_substr(a: &[u8], from: i32, len: i32) {
        substring(a, from as i64, Some(len as i64))
    }),
    row!(bytea_substr_no_len(a: &[u8], from: i32) { substring(a, from as i64, None) }),
    row!(byteaoverlay(a: &[u8], b: &[u8], from: i32, len: i32) { overlay(a, b, from, len) }),
    row!(byteaoverlay_no_len(a: &[u8], b: &[u8], from: i32) {
        overlay(a, b, from, b.len() as i32)
    }),
    row!(byteapos(a: &[u8], b: &[u8]) { position(a, b) }),
    row!(byteatrim(a: &[u8], set: &[u8]) { trim(a, set, true, true) }),
    row!(bytealtrim(a: &[u8], set: &[u8]) { trim(a, set, true, false) }),
    row!(byteartrim(a: &[u8], set: &[u8]) { trim(a, set, false, true) }),
    row!(bytea_reverse(a: &[u8]) { a.iter().rev().copied().collect::<Vec<u8>>() }),
    row!(byteaGetByte(a: &[u8], n: i32) { byte_index(a, n).map(|i| a[i] as i32) }),
    row!(byteaSetByte(a: &[u8], n: i32, value: i32) {
        let i = byte_index(a, n)?;
        let mut out = a.to_vec();
        out[i] = value as u8;
        out
    }),
    row!(byteaGetBit(a: &[u8], n: i64) {
        bit_index(a, n).map(|(i, bit)| (a[i] >> bit & 1) as i32)
    }),
    row!(byteaSetBit(a: &[u8], n: i64, value: i32) {
        let (i, bit) = bit_index(a, n)?;
        if value != 0 && value != 1 {
            bail!(INVALID_PARAMETER_VALUE, "new bit must be 0 or 1");
        }
        let mut out = a.to_vec();
        out[i] = out[i] & !(1 << bit) | (value as u8) << bit;
        out
    }),
    row!(bytea_bit_count(a: &[u8]) { a.iter().map(|b| b.count_ones() as i64).sum::<i64>() }),
    row!(int2_bytea(a: i16) { a.to_be_bytes().to_vec() }),
    row!(int4_bytea(a: i32) { a.to_be_bytes().to_vec() }),
    row!(int8_bytea(a: i64) { a.to_be_bytes().to_vec() }),
    row!(bytea_int2(a: &[u8]) { to_int(a, 2, super::int::int2_range).map(|n| n as i16) }),
    row!(bytea_int4(a: &[u8]) { to_int(a, 4, super::int::int4_range).map(|n| n as i32) }),
    row!(bytea_int8(a: &[u8]) { to_int(a, 8, super::int::int8_range) }),
];

const DIGESTS: &[FnDef] = &[
    row!(md5_text(a: &[u8]) { digest::<Md5>(a).map(|d| hex(&d)) }),
    row!(md5_bytea(a: &[u8]) { digest::<Md5>(a).map(|d| hex(&d)) }),
    row!(sha224_bytea(a: &[u8]) { digest::<Sha224>(a) }),
    row!(sha256_bytea(a: &[u8]) { digest::<Sha256>(a) }),
    row!(sha384_bytea(a: &[u8]) { digest::<Sha384>(a) }),
    row!(sha512_bytea(a: &[u8]) { digest::<Sha512>(a) }),
    row!(crc32_bytea(a: &[u8]) { crc(a, &CRC32) }),
    row!(crc32c_bytea(a: &[u8]) { crc(a, &CRC32C) }),
    row!(binary_encode(a: &[u8], name: &str) { encode(a, name) }),
    row!(binary_decode(a: &str, name: &str) { decode(a, name) }),
];

fn known(name: &str, which: &str) -> Result<Encoding> {
    Encoding::from_name(name)
        .ok_or_else(|| err!(INVALID_PARAMETER_VALUE, "invalid {which}encoding name \"{name}\""))
}

fn convert(bytes: &[u8], from: &str, to: &str) -> Result<Vec<u8>> {
    let (from, to) = (known(from, "source ")?, known(to, "destination ")?);
    encoding::convert(bytes, from, to).map(Cow::into_owned)
}

/// How keys of an index compare: by the first bytes that differ.
fn first_difference(a: &[u8], b: &[u8]) -> i32 {
    match a.iter().zip(b).find(|(a, b)| a != b) {
        Some((a, b)) => i32::from(*a) - i32::from(*b),
        None => a.len().cmp(&b.len()) as i32,
    }
}

/// An encoding whose number or name a function is given.
fn valid(encoding: Option<Encoding>, shown: String, what: &str) -> Result<Encoding> {
    encoding.ok_or_else(|| err!(UNDEFINED_OBJECT, "{shown} is not a valid encoding {what}"))
}

const CONVERT: &[FnDef] = &[
    row!(pg_convert(a: &[u8], from: &str, to: &str) { convert(a, from, to) }),
    row!(pg_convert_from(a: &[u8], from: &str) { convert(a, from, "UTF8") }),
    row!(pg_convert_to(a: &[u8], to: &str) { convert(a, "UTF8", to) }),
    row!(length_in_encoding(a: &[u8], name: &str) {
        known(name, "")?.verify(a).map(|n| n as i32)
    }),
    row!(gin_compare_jsonb(a: &[u8], b: &[u8]) { first_difference(a, b) }),
    row!(gin_cmp_tslexeme(a: &[u8], b: &[u8]) { first_difference(a, b) }),
    row!(to_ascii_default(a: &[u8]) { encoding::to_ascii(a, Encoding::UTF8) }),
    row!(to_ascii_enc(a: &[u8], n: i32) {
        let e = valid(Encoding::from_number(i64::from(n)), n.to_string(), "code")?;
        encoding::to_ascii(a, e)
    }),
    row!(to_ascii_encname(a: &[u8], name: &str) {
        let e = valid(Encoding::from_name(name), name.to_string(), "name")?;
        encoding::to_ascii(a, e)
    }),
];

pub(super) const FNS: &[&[FnDef]] = &[PIECES, DIGESTS, CONVERT];
