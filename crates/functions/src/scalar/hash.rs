//! Hash functions, bit for bit as PostgreSQL's: they decide which partition a row goes to.

use crate::call::FnDef;
use types::compare::trim_blanks;

const START: u32 = 0x9e37_79b9;

#[inline(always)]
fn mix(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    (a, b, c)
}

#[inline(always)]
fn last(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32) {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    (b, c)
}

fn bytes_with(bytes: &[u8], seed: u64) -> (u32, u32) {
    let init = START.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095);
    let (mut a, mut b, mut c) = (init, init, init);
    if seed != 0 {
        a = a.wrapping_add((seed >> 32) as u32);
        b = b.wrapping_add(seed as u32);
        (a, b, c) = mix(a, b, c);
    }
    let mut chunks = bytes.chunks_exact(12);
    let word = |s: &[u8]| u32::from_le_bytes([s[0], s[1], s[2], s[3]]);
    for chunk in &mut chunks {
        a = a.wrapping_add(word(&chunk[0..4]));
        b = b.wrapping_add(word(&chunk[4..8]));
        c = c.wrapping_add(word(&chunk[8..12]));
        (a, b, c) = mix(a, b, c);
    }
    let rest = chunks.remainder();
    let mut tail = [0u8; 12];
    tail[..rest.len()].copy_from_slice(rest);
    a = a.wrapping_add(word(&tail[0..4]));
    b = b.wrapping_add(word(&tail[4..8]));
    // The lowest byte of c is taken by the length.
    c = c.wrapping_add(word(&tail[8..12]) << 8);
    last(a, b, c)
}

/// Hash of bytes.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u32 {
    bytes_with(bytes, 0).1
}

/// 64-bit hash of bytes with a seed.
#[inline]
pub fn hash_bytes_extended(bytes: &[u8], seed: u64) -> u64 {
    let (b, c) = bytes_with(bytes, seed);
    (b as u64) << 32 | c as u64
}

/// Hash of a 32-bit number.
#[inline]
pub fn hash_u32(k: u32) -> u32 {
    let init = START.wrapping_add(4).wrapping_add(3_923_095);
    last(init.wrapping_add(k), init, init).1
}

/// 64-bit hash of a 32-bit number with a seed.
#[inline]
pub fn hash_u32_extended(k: u32, seed: u64) -> u64 {
    let init = START.wrapping_add(4).wrapping_add(3_923_095);
    let (mut a, mut b, mut c) = (init, init, init);
    if seed != 0 {
        a = a.wrapping_add((seed >> 32) as u32);
        b = b.wrapping_add(seed as u32);
        (a, b, c) = mix(a, b, c);
    }
    let (b, c) = last(a.wrapping_add(k), b, c);
    (b as u64) << 32 | c as u64
}

/// Folds 64 bits so that numbers that fit 32 bits hash as those do.
pub(crate) fn fold(n: i64) -> u32 {
    let (low, high) = (n as u32, (n >> 32) as u32);
    low ^ if n >= 0 { high } else { !high }
}

fn float_bytes(x: f64) -> [u8; 8] {
    if x.is_nan() { f64::NAN.to_le_bytes() } else { x.to_le_bytes() }
}

/// Hash of a double precision number.
pub fn hash_f64(x: f64) -> u32 {
    if x == 0.0 { 0 } else { hash_bytes(&float_bytes(x)) }
}

fn hash_f64_extended(x: f64, seed: u64) -> u64 {
    if x == 0.0 { seed } else { hash_bytes_extended(&float_bytes(x), seed) }
}

/// Digits of a number without zeros at both ends, and its weight.
fn numeric_digits(stored: &[u8]) -> Option<(Vec<u8>, i32)> {
    let n = types::numeric::Numeric::decode(stored);
    if !n.is_finite() {
        return None;
    }
    let bytes = n.digits.iter().flat_map(|d| d.to_le_bytes()).collect();
    Some((bytes, n.weight))
}

pub(crate) fn hash_num(stored: &[u8]) -> u32 {
    match numeric_digits(stored) {
        None => 0,
        Some((digits, _)) if digits.is_empty() => u32::MAX,
        Some((digits, weight)) => hash_bytes(&digits) ^ weight as u32,
    }
}

pub(crate) fn hash_num_extended(stored: &[u8], seed: u64) -> u64 {
    match numeric_digits(stored) {
        None => seed,
        Some((digits, _)) if digits.is_empty() => seed.wrapping_sub(1),
        Some((digits, weight)) => hash_bytes_extended(&digits, seed) ^ weight as u64,
    }
}

fn tid_bytes(stored: &[u8]) -> [u8; 6] {
    let mut out = [0; 6];
    if let [a, b, c, d, e, f, ..] = stored {
        // The block number is kept as its high and low halves.
        out = [*c, *d, *a, *b, *e, *f];
    }
    out
}

fn timetz(stored: &[u8]) -> u32 {
    let (time, west) = types::compare::timetz_parts(stored);
    hash_u32(fold(time)) ^ hash_u32(west as u32)
}

fn timetz_extended(stored: &[u8], seed: u64) -> u64 {
    let (time, west) = types::compare::timetz_parts(stored);
    hash_u32_extended(fold(time), seed) ^ hash_u32_extended(west as u32, seed)
}

fn vector_bytes(stored: &[u8]) -> Vec<u8> {
    let value = types::Datum::Bytes(types::Blob::new(stored));
    types::array::oids_of(&value).iter().flat_map(|o| o.0.to_le_bytes()).collect()
}

fn span(stored: &[u8]) -> i64 {
    types::datetime::Interval::decode(stored).span() as i64
}

macro_rules! hash {
    ($($plain:ident $extended:ident($a:ident: $t:ty) $e:expr, $x:expr;)*) => {
        &[$(
            total!($plain($a: $t) -> i32 { $e as i32 }),
            total!($extended($a: $t, seed: i64) -> i64 {
                let f: fn($t, u64) -> u64 = $x;
                f($a, seed as u64) as i64
            }),
        )*]
    };
}

const LIST: &[FnDef] = hash!(
    hashbool hashboolextended(a: bool) hash_u32(a as u32), |a, s| hash_u32_extended(a as u32, s);
    hashchar hashcharextended(a: u8) hash_u32(a as i8 as u32),
        |a, s| hash_u32_extended(a as i8 as u32, s);
    hashint2 hashint2extended(a: i16) hash_u32(a as u32), |a, s| hash_u32_extended(a as u32, s);
    hashint4 hashint4extended(a: i32) hash_u32(a as u32), |a, s| hash_u32_extended(a as u32, s);
    hashdate hashdateextended(a: i32) hash_u32(a as u32), |a, s| hash_u32_extended(a as u32, s);
    hashint8 hashint8extended(a: i64) hash_u32(fold(a)), |a, s| hash_u32_extended(fold(a), s);
    time_hash time_hash_extended(a: i64) hash_u32(fold(a)), |a, s| hash_u32_extended(fold(a), s);
    timestamp_hash timestamp_hash_extended(a: i64) hash_u32(fold(a)),
        |a, s| hash_u32_extended(fold(a), s);
    timestamptz_hash timestamptz_hash_extended(a: i64) hash_u32(fold(a)),
        |a, s| hash_u32_extended(fold(a), s);
    pg_lsn_hash pg_lsn_hash_extended(a: i64) hash_u32(fold(a)),
        |a, s| hash_u32_extended(fold(a), s);
    hashxid8 hashxid8extended(a: i64) hash_u32(fold(a)), |a, s| hash_u32_extended(fold(a), s);
    hashoid hashoidextended(a: u32) hash_u32(a), hash_u32_extended;
    hashenum hashenumextended(a: u32) hash_u32(a), hash_u32_extended;
    hashxid hashxidextended(a: u32) hash_u32(a), hash_u32_extended;
    hashcid hashcidextended(a: u32) hash_u32(a), hash_u32_extended;
    hashfloat4 hashfloat4extended(a: f32) hash_f64(a as f64),
        |a, s| hash_f64_extended(a as f64, s);
    hashfloat8 hashfloat8extended(a: f64) hash_f64(a), hash_f64_extended;
    hashtext hashtextextended(a: &[u8]) hash_bytes(a), hash_bytes_extended;
    hashname hashnameextended(a: &[u8]) hash_bytes(a), hash_bytes_extended;
    hashvarlena hashvarlenaextended(a: &[u8]) hash_bytes(a), hash_bytes_extended;
    hashbytea hashbyteaextended(a: &[u8]) hash_bytes(a), hash_bytes_extended;
    hashbpchar hashbpcharextended(a: &[u8]) hash_bytes(trim_blanks(a)),
        |a, s| hash_bytes_extended(trim_blanks(a), s);
    uuid_hash uuid_hash_extended(a: &[u8]) hash_bytes(a), hash_bytes_extended;
    hashmacaddr hashmacaddrextended(a: &[u8]) hash_bytes(a), hash_bytes_extended;
    hashmacaddr8 hashmacaddr8extended(a: &[u8]) hash_bytes(a), hash_bytes_extended;
    hashinet hashinetextended(a: &[u8]) hash_bytes(a), hash_bytes_extended;
    hash_numeric hash_numeric_extended(a: &[u8]) hash_num(a), hash_num_extended;
    hashtid hashtidextended(a: &[u8]) hash_bytes(&tid_bytes(a)),
        |a, s| hash_bytes_extended(&tid_bytes(a), s);
    timetz_hash timetz_hash_extended(a: &[u8]) timetz(a), timetz_extended;
    interval_hash interval_hash_extended(a: &[u8]) hash_u32(fold(span(a))),
        |a, s| hash_u32_extended(fold(span(a)), s);
    hashoidvector hashoidvectorextended(a: &[u8]) hash_bytes(&vector_bytes(a)),
        |a, s| hash_bytes_extended(&vector_bytes(a), s);
);

pub(super) const FNS: &[&[FnDef]] = &[LIST];
