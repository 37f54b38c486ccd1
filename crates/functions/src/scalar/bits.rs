//! Bit strings.

use crate::call::FnDef;
use base::{Result, bail};
use types::bits::{bit_at, bit_bytes, bit_len, check_length, make_bits};

fn all(a: &[u8]) -> impl Iterator<Item = bool> + '_ {
    (0..bit_len(a)).map(|i| bit_at(a, i))
}

fn order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    bit_bytes(a).cmp(bit_bytes(b)).then(bit_len(a).cmp(&bit_len(b)))
}

fn both(a: &[u8], b: &[u8], f: fn(bool, bool) -> bool, name: &str) -> Result<Vec<u8>> {
    if bit_len(a) != bit_len(b) {
        bail!(STRING_DATA_LENGTH_MISMATCH, "cannot {name} bit strings of different sizes");
    }
    Ok(make_bits(all(a).zip(all(b)).map(|(x, y)| f(x, y))))
}

fn substring(a: &[u8], from: i64, len: Option<i64>) -> Result<Vec<u8>> {
    if len.is_some_and(|n| n < 0) {
        bail!(SUBSTRING_ERROR, "negative substring length not allowed");
    }
    let n = bit_len(a) as i64;
    let start = from.max(1) - 1;
    let end = len.map_or(n, |l| (from + l - 1).clamp(0, n));
    Ok(make_bits((start..end.max(start)).map(|i| bit_at(a, i as usize))))
}

fn overlay(a: &[u8], b: &[u8], from: i32, len: i32) -> Result<Vec<u8>> {
    if from <= 0 {
        bail!(SUBSTRING_ERROR, "negative substring length not allowed");
    }
    let after = from.checked_add(len).ok_or_else(super::int::int4_range)?;
    let head = substring(a, 1, Some(from as i64 - 1))?;
    let tail = substring(a, after as i64, None)?;
    let parts: Vec<bool> = all(&head).chain(all(b)).chain(all(&tail)).collect();
    Ok(make_bits(parts))
}

/// Moved left by `n`, zeros coming in.
fn shift(a: &[u8], n: i64) -> Vec<u8> {
    let len = bit_len(a) as i64;
    make_bits((0..len).map(|i| {
        let from = i + n;
        (0..len).contains(&from) && bit_at(a, from as usize)
    }))
}

fn position(a: &[u8], b: &[u8]) -> i32 {
    let (n, m) = (bit_len(a), bit_len(b));
    if n < m || n == 0 {
        return 0;
    }
    (0..=n - m)
        .find(|i| (0..m).all(|j| bit_at(a, i + j) == bit_at(b, j)))
        .map_or(0, |i| i as i32 + 1)
}

/// The most bits that a type's modifier allows.
const LENGTH_MAX: i32 = 83_886_080;

fn fit(a: &[u8], len: i32, explicit: bool, varying: bool) -> Result<Vec<u8>> {
    if !(1..=LENGTH_MAX).contains(&len)
        || bit_len(a) == len as usize
        || (varying && bit_len(a) <= len as usize)
    {
        return Ok(a.to_vec());
    }
    if !explicit {
        check_length(bit_len(a), len as usize, varying)?;
    }
    Ok(make_bits((0..len as usize).map(|i| i < bit_len(a) && bit_at(a, i))))
}

fn from_int(n: i64, width: i32, len: i32) -> Vec<u8> {
    let len = if (1..=LENGTH_MAX).contains(&len) { len } else { 1 };
    make_bits((0..len).rev().map(|i| if i >= width { n < 0 } else { n >> i & 1 != 0 }))
}

fn to_int(a: &[u8], width: usize, range: fn() -> base::Error) -> Result<u64> {
    if bit_len(a) > width {
        return Err(range());
    }
    Ok(all(a).fold(0, |n, bit| n << 1 | bit as u64))
}

fn index(a: &[u8], n: i32) -> Result<usize> {
    if n < 0 || n as usize >= bit_len(a) {
        bail!(
            ARRAY_SUBSCRIPT_ERROR,
            "bit index {n} out of valid range (0..{})",
            bit_len(a) as i64 - 1
        );
    }
    Ok(n as usize)
}

const LIST: &[FnDef] = &[
    total!(biteq(a: &[u8], b: &[u8]) -> bool { order(a, b).is_eq() }),
    total!(bitne(a: &[u8], b: &[u8]) -> bool { order(a, b).is_ne() }),
    total!(bitlt(a: &[u8], b: &[u8]) -> bool { order(a, b).is_lt() }),
    total!(bitle(a: &[u8], b: &[u8]) -> bool { order(a, b).is_le() }),
    total!(bitgt(a: &[u8], b: &[u8]) -> bool { order(a, b).is_gt() }),
    total!(bitge(a: &[u8], b: &[u8]) -> bool { order(a, b).is_ge() }),
    total!(bitcmp(a: &[u8], b: &[u8]) -> i32 {
        let n = bit_bytes(a).len().min(bit_bytes(b).len());
        match types::compare::byte_difference(&bit_bytes(a)[..n], &bit_bytes(b)[..n]) {
            0 => bit_len(a).cmp(&bit_len(b)) as i32,
            difference => difference,
        }
    }),
    row!(bit_and(a: &[u8], b: &[u8]) { both(a, b, |x, y| x & y, "AND") }),
    row!(bit_or(a: &[u8], b: &[u8]) { both(a, b, |x, y| x | y, "OR") }),
    row!(bitxor(a: &[u8], b: &[u8]) { both(a, b, |x, y| x ^ y, "XOR") }),
    row!(bitnot(a: &[u8]) { make_bits(all(a).map(|b| !b)) }),
    row!(bitcat(a: &[u8], b: &[u8]) { make_bits(all(a).chain(all(b))) }),
    row!(bitshiftleft(a: &[u8], n: i32) { shift(a, n as i64) }),
    row!(bitshiftright(a: &[u8], n: i32) { shift(a, -(n as i64)) }),
    row!(bitsubstr(a: &[u8], from: i32, len: i32) { substring(a, from as i64, Some(len as i64)) }),
    row!(bitsubstr_no_len(a: &[u8], from: i32) { substring(a, from as i64, None) }),
    row!(bitoverlay(a: &[u8], b: &[u8], from: i32, len: i32) { overlay(a, b, from, len) }),
    row!(bitoverlay_no_len(a: &[u8], b: &[u8], from: i32) {
        overlay(a, b, from, bit_len(b) as i32)
    }),
    row!(bitposition(a: &[u8], b: &[u8]) { position(a, b) }),
    row!(bitlength(a: &[u8]) { bit_len(a) as i32 }),
    row!(bitoctetlength(a: &[u8]) { bit_bytes(a).len() as i32 }),
    row!(bit_bit_count(a: &[u8]) { all(a).filter(|b| *b).count() as i64 }),
    row!(bitgetbit(a: &[u8], n: i32) { index(a, n).map(|i| bit_at(a, i) as i32) }),
    row!(bitsetbit(a: &[u8], n: i32, value: i32) {
        let at = index(a, n)?;
        if value != 0 && value != 1 {
            bail!(INVALID_PARAMETER_VALUE, "new bit must be 0 or 1");
        }
        make_bits(all(a).enumerate().map(|(i, b)| if i == at { value == 1 } else { b }))
    }),
    row!(bit(a: &[u8], len: i32, explicit: bool) { fit(a, len, explicit, false) }),
    row!(varbit(a: &[u8], len: i32, explicit: bool) { fit(a, len, explicit, true) }),
    row!(bitfromint4(n: i32, len: i32) { from_int(n as i64, 32, len) }),
    row!(bitfromint8(n: i64, len: i32) { from_int(n, 64, len) }),
    row!(bittoint4(a: &[u8]) { to_int(a, 32, super::int::int4_range).map(|n| n as i32) }),
    row!(bittoint8(a: &[u8]) { to_int(a, 64, super::int::int8_range).map(|n| n as i64) }),
];

pub(super) const FNS: &[&[FnDef]] = &[LIST];
