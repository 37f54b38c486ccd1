//! Network addresses.

use crate::call::FnDef;
use base::{Error, Result, bail, err};
use std::cmp::Ordering;
use types::Datum;
use types::net::Inet;

fn inet(bytes: &[u8]) -> Inet {
    Inet::decode(bytes)
}

fn order(a: &[u8], b: &[u8]) -> Ordering {
    inet(a).compare(&inet(b))
}

/// What the comparison function gives: the difference of bytes, or of mask lengths.
fn difference(a: &Inet, b: &Inet) -> i32 {
    let common = usize::from(a.bits.min(b.bits));
    let bytes = |n: usize| types::compare::byte_difference(&a.bytes()[..n], &b.bytes()[..n]);
    if a.v6 != b.v6 {
        return i32::from(a.v6) - i32::from(b.v6);
    }
    match (bytes(common / 8), a.compare(b) as i32) {
        (0, 0) => 0,
        // The last bits in common are looked at one by one.
        (0, order) if common % 8 != 0 && a.addr[common / 8] != b.addr[common / 8] => {
            let kept = 0xffu8 << (8 - common % 8);
            match a.addr[common / 8] & kept == b.addr[common / 8] & kept {
                true if a.bits != b.bits => i32::from(a.bits) - i32::from(b.bits),
                true => bytes(a.bytes().len()),
                false => order,
            }
        }
        (0, _) if a.bits != b.bits => i32::from(a.bits) - i32::from(b.bits),
        (0, _) => bytes(a.bytes().len()),
        (difference, _) => difference,
    }
}

const COMPARE: &[FnDef] = &[
    total!(network_eq(a: &[u8], b: &[u8]) -> bool { order(a, b).is_eq() }),
    total!(network_ne(a: &[u8], b: &[u8]) -> bool { order(a, b).is_ne() }),
    total!(network_lt(a: &[u8], b: &[u8]) -> bool { order(a, b).is_lt() }),
    total!(network_le(a: &[u8], b: &[u8]) -> bool { order(a, b).is_le() }),
    total!(network_gt(a: &[u8], b: &[u8]) -> bool { order(a, b).is_gt() }),
    total!(network_ge(a: &[u8], b: &[u8]) -> bool { order(a, b).is_ge() }),
    total!(network_cmp(a: &[u8], b: &[u8]) -> i32 { difference(&inet(a), &inet(b)) }),
    row!(network_larger(a: &Datum, b: &Datum) {
        if order(a.as_bytes(), b.as_bytes()).is_gt() { a } else { b }
    }),
    row!(network_smaller(a: &Datum, b: &Datum) {
        if order(a.as_bytes(), b.as_bytes()).is_lt() { a } else { b }
    }),
    total!(network_sub(a: &[u8], b: &[u8]) -> bool {
        inet(b).contains(&inet(a)) && inet(a).bits > inet(b).bits
    }),
    total!(network_subeq(a: &[u8], b: &[u8]) -> bool { inet(b).contains(&inet(a)) }),
    total!(network_sup(a: &[u8], b: &[u8]) -> bool {
        inet(a).contains(&inet(b)) && inet(b).bits > inet(a).bits
    }),
    total!(network_supeq(a: &[u8], b: &[u8]) -> bool { inet(a).contains(&inet(b)) }),
    total!(network_overlap(a: &[u8], b: &[u8]) -> bool {
        inet(a).contains(&inet(b)) || inet(b).contains(&inet(a))
    }),
    total!(inet_same_family(a: &[u8], b: &[u8]) -> bool { inet(a).v6 == inet(b).v6 }),
];

fn map(a: Inet, f: impl Fn(usize, u8) -> u8) -> Inet {
    let mut out = a;
    let n = a.bytes().len();
    for i in 0..n {
        out.addr[i] = f(i, a.addr[i]);
    }
    out
}

/// The mask of `bits` as an address.
fn mask(a: Inet) -> Inet {
    let ones = map(a, |_, _| 0xff);
    Inet { bits: a.bits, ..ones }.masked()
}

fn combine(a: &[u8], b: &[u8], name: &str, f: fn(u8, u8) -> u8) -> Result<Vec<u8>> {
    let (x, y) = (inet(a), inet(b));
    if x.v6 != y.v6 {
        bail!(INVALID_PARAMETER_VALUE, "cannot {name} inet values of different sizes");
    }
    let mut out = map(x, |i, byte| f(byte, y.addr[i]));
    out.bits = x.bits.max(y.bits);
    Ok(out.encode())
}

fn number(a: &Inet) -> u128 {
    a.bytes().iter().fold(0, |n, b| n << 8 | *b as u128)
}

#[cold]
fn out_of_range() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}

fn plus(a: &[u8], n: i128) -> Result<Vec<u8>> {
    let x = inet(a);
    let value = number(&x);
    let moved =
        if n >= 0 { value.checked_add(n as u128) } else { value.checked_sub(n.unsigned_abs()) };
    let moved = moved.filter(|v| x.v6 || *v <= u32::MAX as u128).ok_or_else(out_of_range)?;
    let bytes = moved.to_be_bytes();
    let skip = 16 - x.bytes().len();
    Ok(map(x, |i, _| bytes[skip + i]).encode())
}

fn set_mask(a: &[u8], bits: i32, cidr: bool) -> Result<Vec<u8>> {
    let mut x = inet(a);
    let bits = if bits == -1 { x.max_bits() as i32 } else { bits };
    if bits < 0 || bits > x.max_bits() as i32 {
        bail!(INVALID_PARAMETER_VALUE, "invalid mask length: {bits}");
    }
    x.bits = bits as u8;
    Ok(if cidr { x.masked() } else { x }.encode())
}

fn merge(a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
    let (x, y) = (inet(a), inet(b));
    if x.v6 != y.v6 {
        bail!(INVALID_PARAMETER_VALUE, "cannot merge addresses from different families");
    }
    let mut bits = x.bits.min(y.bits);
    while (Inet { bits, ..x }).masked().addr != (Inet { bits, ..y }).masked().addr {
        bits -= 1;
    }
    Ok(Inet { bits, ..x }.masked().encode())
}

fn abbrev(a: &[u8], cidr: bool) -> String {
    let x = inet(a);
    if !cidr {
        return x.text(false);
    }
    // Only the bytes of the network part are shown.
    if x.v6 {
        let text = x.text(true);
        return match text.split_once("::/") {
            Some((head, bits)) if !head.is_empty() => format!("{head}/{bits}"),
            _ => text,
        };
    }
    let n = (x.bits as usize).div_ceil(8).max(1);
    let parts: Vec<String> = x.addr[..n].iter().map(u8::to_string).collect();
    format!("{}/{}", parts.join("."), x.bits)
}

const FUNCTIONS: &[FnDef] = &[
    row!(network_host(a: &[u8]) { inet(a).host_text() }),
    row!(network_show(a: &[u8]) { inet(a).text(true) }),
    row!(inet_abbrev(a: &[u8]) { abbrev(a, false) }),
    row!(cidr_abbrev(a: &[u8]) { abbrev(a, true) }),
    row!(network_masklen(a: &[u8]) { inet(a).bits as i32 }),
    row!(network_family(a: &[u8]) { if inet(a).v6 { 6 } else { 4 } }),
    row!(network_network(a: &[u8]) { inet(a).masked().encode() }),
    row!(inet_to_cidr(a: &[u8]) { inet(a).masked().encode() }),
    row!(network_broadcast(a: &[u8]) {
        let x = inet(a);
        let m = mask(x);
        map(x, |i, b| b | !m.addr[i]).encode()
    }),
    row!(network_netmask(a: &[u8]) {
        let x = inet(a);
        Inet { bits: x.max_bits(), ..mask(x) }.encode()
    }),
    row!(network_hostmask(a: &[u8]) {
        let x = inet(a);
        let m = mask(x);
        Inet { bits: x.max_bits(), ..map(x, |i, _| !m.addr[i]) }.encode()
    }),
    row!(inet_set_masklen(a: &[u8], n: i32) { set_mask(a, n, false) }),
    row!(cidr_set_masklen(a: &[u8], n: i32) { set_mask(a, n, true) }),
    row!(inet_merge(a: &[u8], b: &[u8]) { merge(a, b) }),
    row!(inetnot(a: &[u8]) { map(inet(a), |_, b| !b).encode() }),
    row!(inetand(a: &[u8], b: &[u8]) { combine(a, b, "AND", |x, y| x & y) }),
    row!(inetor(a: &[u8], b: &[u8]) { combine(a, b, "OR", |x, y| x | y) }),
    row!(inetpl(a: &[u8], n: i64) { plus(a, n as i128) }),
    row!("2631"(n: i64, a: &[u8]) { plus(a, n as i128) }),
    row!(inetmi_int8(a: &[u8], n: i64) {
        // The least number has no counterpart, and stays as it is.
        plus(a, i128::from(n.wrapping_neg()))
    }),
    row!(inetmi(a: &[u8], b: &[u8]) {
        let (x, y) = (inet(a), inet(b));
        if x.v6 != y.v6 {
            bail!(INVALID_PARAMETER_VALUE, "cannot subtract inet values of different sizes");
        }
        let difference = number(&x).wrapping_sub(number(&y)) as i128;
        i64::try_from(difference).map_err(|_| out_of_range())
    }),
];

macro_rules! mac {
    ($eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident $cmp:ident $not:ident $and:ident
     $or:ident) => {
        &[
            total!($eq(a: &[u8], b: &[u8]) -> bool { a == b }),
            total!($ne(a: &[u8], b: &[u8]) -> bool { a != b }),
            total!($lt(a: &[u8], b: &[u8]) -> bool { a < b }),
            total!($le(a: &[u8], b: &[u8]) -> bool { a <= b }),
            total!($gt(a: &[u8], b: &[u8]) -> bool { a > b }),
            total!($ge(a: &[u8], b: &[u8]) -> bool { a >= b }),
            total!($cmp(a: &[u8], b: &[u8]) -> i32 { a.cmp(b) as i32 }),
            row!($not(a: &[u8]) { a.iter().map(|b| !b).collect::<Vec<u8>>() }),
            row!($and(a: &[u8], b: &[u8]) {
                a.iter().zip(b).map(|(x, y)| x & y).collect::<Vec<u8>>()
            }),
            row!($or(a: &[u8], b: &[u8]) {
                a.iter().zip(b).map(|(x, y)| x | y).collect::<Vec<u8>>()
            }),
        ]
    };
}

const MAC: &[FnDef] = mac!(macaddr_eq macaddr_ne macaddr_lt macaddr_le macaddr_gt macaddr_ge
    macaddr_cmp macaddr_not macaddr_and macaddr_or);
const MAC8: &[FnDef] = mac!(macaddr8_eq macaddr8_ne macaddr8_lt macaddr8_le macaddr8_gt
    macaddr8_ge macaddr8_cmp macaddr8_not macaddr8_and macaddr8_or);

fn trunc(a: &[u8]) -> Vec<u8> {
    a.iter().enumerate().map(|(i, b)| if i < 3 { *b } else { 0 }).collect()
}

const MAC_MORE: &[FnDef] = &[
    row!(macaddr_trunc(a: &[u8]) { trunc(a) }),
    row!(macaddr8_trunc(a: &[u8]) { trunc(a) }),
    row!(macaddrtomacaddr8(a: &[u8]) { [&a[..3], &[0xff, 0xfe], &a[3..]].concat() }),
    row!(macaddr8tomacaddr(a: &[u8]) {
        if a[3] != 0xff || a[4] != 0xfe {
            return Err(err!(
                NUMERIC_VALUE_OUT_OF_RANGE,
                "macaddr8 data out of range to convert to macaddr"
            )
            .hint(
                "Only addresses that have FF and FE as values in the 4th and 5th bytes from the \
                 left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from \
                 macaddr8 to macaddr.",
            ));
        }
        [&a[..3], &a[5..]].concat()
    }),
    row!(macaddr8_set7bit(a: &[u8]) {
        let mut out = a.to_vec();
        out[0] |= 2;
        out
    }),
];

pub(super) const FNS: &[&[FnDef]] = &[COMPARE, FUNCTIONS, MAC, MAC8, MAC_MORE];
