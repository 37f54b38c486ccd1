//! Network addresses: inet and cidr as family (2 or 3), mask length, 4 or 16 bytes; macaddr and
//! macaddr8 as their bytes.

use base::{Error, Result, err};
use std::cmp::Ordering;

/// An inet or cidr value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inet {
    /// Version 6.
    pub v6: bool,
    /// Bits of the network part.
    pub bits: u8,
    /// The address; version 4 uses the first four bytes.
    pub addr: [u8; 16],
}

impl Inet {
    /// Bits of an address.
    pub fn max_bits(&self) -> u8 {
        if self.v6 { 128 } else { 32 }
    }

    /// The address's bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.v6 { &self.addr } else { &self.addr[..4] }
    }

    /// Reads the stored form.
    pub fn decode(stored: &[u8]) -> Inet {
        let v6 = stored.first() == Some(&3);
        let mut addr = [0; 16];
        let body = stored.get(2..).unwrap_or(&[]);
        let n = body.len().min(16);
        addr[..n].copy_from_slice(&body[..n]);
        Inet { v6, bits: stored.get(1).copied().unwrap_or(0), addr }
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![if self.v6 { 3 } else { 2 }, self.bits];
        out.extend_from_slice(self.bytes());
        out
    }

    /// Whether all bits beyond the mask are zero.
    pub fn is_network(&self) -> bool {
        self.masked().addr == self.addr
    }

    /// The address with the bits beyond the mask cleared.
    pub fn masked(&self) -> Inet {
        let mut out = *self;
        for (i, byte) in out.addr.iter_mut().enumerate() {
            let keep = (self.bits as i32 - 8 * i as i32).clamp(0, 8);
            *byte &= (0xff00u16 >> keep) as u8;
        }
        out
    }

    /// Order: family, network bits in common, mask length, whole address.
    pub fn compare(&self, other: &Inet) -> Ordering {
        self.v6.cmp(&other.v6).then_with(|| {
            let bits = self.bits.min(other.bits);
            let a = Inet { bits, ..*self }.masked();
            let b = Inet { bits, ..*other }.masked();
            a.addr.cmp(&b.addr).then(self.bits.cmp(&other.bits)).then(self.addr.cmp(&other.addr))
        })
    }

    /// Whether `other`'s network lies within this one's.
    pub fn contains(&self, other: &Inet) -> bool {
        self.v6 == other.v6
            && self.bits <= other.bits
            && Inet { bits: self.bits, ..*other }.masked().addr == self.masked().addr
    }

    /// The address without its mask.
    pub fn host_text(&self) -> String {
        if self.v6 { v6_text(&self.addr) } else { v4_text(&self.addr[..4]) }
    }

    /// The address with its mask, which an inet of a single host leaves out.
    pub fn text(&self, cidr: bool) -> String {
        let mut out = self.host_text();
        if cidr || self.bits != self.max_bits() {
            out.push_str(&format!("/{}", self.bits));
        }
        out
    }
}

fn v4_text(b: &[u8]) -> String {
    format!("{}.{}.{}.{}", b[0], b[1], b[2], b[3])
}

fn v6_text(addr: &[u8; 16]) -> String {
    let words: Vec<u16> = addr.chunks(2).map(|c| u16::from_be_bytes([c[0], c[1]])).collect();
    // The longest run of at least two zero words is left out, the first of equals.
    let (mut best, mut best_len, mut at) = (0, 0, 0);
    while at < 8 {
        let run = words[at..].iter().take_while(|w| **w == 0).count();
        if run > best_len {
            (best, best_len) = (at, run);
        }
        at += run.max(1);
    }
    let hex = |w: &[u16]| w.iter().map(|x| format!("{x:x}")).collect::<Vec<_>>().join(":");
    if best_len < 2 {
        return hex(&words);
    }
    let v4_tail = best == 0 && (best_len == 6 || (best_len == 5 && words[5] == 0xffff));
    if v4_tail {
        let middle = if best_len == 5 { ":ffff" } else { ":" };
        let middle = if best_len == 5 { format!(":{middle}:") } else { format!(":{middle}") };
        return format!("{middle}{}", v4_text(&addr[12..]));
    }
    format!("{}::{}", hex(&words[..best]), hex(&words[best + best_len..]))
}

#[cold]
fn syntax(name: &str, text: &str) -> Error {
    err!(INVALID_TEXT_REPRESENTATION, "invalid input syntax for type {name}: \"{text}\"")
}

/// Reads an inet, or a cidr, whose host bits must be zero.
pub fn parse_inet(text: &str, cidr: bool) -> Result<Inet> {
    let name = if cidr { "cidr" } else { "inet" };
    let parsed = if text.contains(':') { parse_v6(text) } else { parse_v4(text, cidr) };
    let inet = parsed.ok_or_else(|| syntax(name, text))?;
    if cidr && !inet.is_network() {
        return Err(err!(INVALID_TEXT_REPRESENTATION, "invalid cidr value: \"{text}\"")
            .detail("Value has bits set to right of mask."));
    }
    Ok(inet)
}

fn mask_bits(text: &str, most: u8) -> Option<u8> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|b| *b <= most)
}

fn parse_v4(text: &str, cidr: bool) -> Option<Inet> {
    let (host, mask) = match text.split_once('/') {
        Some((host, mask)) => (host, Some(mask_bits(mask, 32)?)),
        None => (text, None),
    };
    let mut addr = [0; 16];
    let mut n = 0;
    let hex = host.strip_prefix("0x").or_else(|| host.strip_prefix("0X")).filter(|_| cidr);
    if let Some(hex) = hex {
        let ok = (1..=8).contains(&hex.len()) && hex.bytes().all(|b| b.is_ascii_hexdigit());
        for pair in hex.as_bytes().chunks(2) {
            // A last digit alone is the upper half of its byte.
            let digit = |i: usize| pair.get(i).and_then(|b| (*b as char).to_digit(16)).unwrap_or(0);
            *addr.get_mut(n).filter(|_| ok)? = (digit(0) << 4 | digit(1)) as u8;
            n += 1;
        }
        if n == 0 {
            return None;
        }
    }
    for part in host.split('.').filter(|_| hex.is_none()) {
        if n == 4 || part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        addr[n] = part.parse::<u16>().ok().and_then(|v| u8::try_from(v).ok())?;
        n += 1;
    }
    if n < 4 && !cidr && mask.is_none() {
        return None;
    }
    let class = || {
        // Without a mask the old classes say it, and the bytes given.
        let by_class = match addr[0] {
            240.. => 32,
            224.. => 8,
            192.. => 24,
            128.. => 16,
            _ => 8,
        };
        by_class.max(n as u8 * 8)
    };
    let bits = mask.unwrap_or_else(|| if cidr && (n < 4 || hex.is_some()) { class() } else { 32 });
    Some(Inet { v6: false, bits, addr })
}

fn parse_v6(text: &str) -> Option<Inet> {
    let (host, bits) = match text.split_once('/') {
        Some((host, mask)) => (host, mask_bits(mask, 128)?),
        None => (text, 128),
    };
    let addr: std::net::Ipv6Addr = host.parse().ok()?;
    Some(Inet { v6: true, bits, addr: addr.octets() })
}

/// Reads a MAC address of `len` (6 or 8) bytes; a 6-byte one becomes 8 by `ff:fe` in the middle.
pub fn parse_mac(text: &str, len: usize) -> Result<Vec<u8>> {
    if len == 8 {
        return mac8_bytes(text.trim()).ok_or_else(|| syntax("macaddr8", text));
    }
    let octets = MAC_FORMS.iter().find_map(|form| scan_mac(text, form));
    let octets = octets.ok_or_else(|| syntax("macaddr", text))?;
    let byte = |n: i64| {
        u8::try_from(n).map_err(|_| {
            err!(NUMERIC_VALUE_OUT_OF_RANGE, "invalid octet value in \"macaddr\" value: \"{text}\"")
        })
    };
    octets.into_iter().map(byte).collect()
}

/// The forms of six octets: how many digits each may have (0 is any number), and what stands
/// behind it.
const MAC_FORMS: [(usize, [&str; 5]); 7] = [
    (0, [":", ":", ":", ":", ":"]),
    (0, ["-", "-", "-", "-", "-"]),
    (2, ["", "", ":", "", ""]),
    (2, ["", "", "-", "", ""]),
    (2, ["", ".", "", ".", ""]),
    (2, ["", "-", "", "-", ""]),
    (2, ["", "", "", "", ""]),
];

/// The octets of a text of this form, as C's `scanf` reads hexadecimal numbers: with blanks
/// before them, with signs, each of at most so many characters.
fn scan_mac(text: &str, (width, separators): &(usize, [&str; 5])) -> Option<[i64; 6]> {
    let blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let mut rest = text;
    let mut out = [0; 6];
    for (i, octet) in out.iter_mut().enumerate() {
        rest = rest.trim_start_matches(blank);
        let most = if *width == 0 { rest.len() } else { *width };
        let sign = usize::from(rest.starts_with(['+', '-']));
        let hex = |from: usize| {
            let b = rest.as_bytes().get(from..).unwrap_or_default();
            b.iter().take(most.saturating_sub(from)).take_while(|b| b.is_ascii_hexdigit()).count()
        };
        let prefixed = most > sign + 2
            && rest.as_bytes().get(sign..sign + 2).is_some_and(|p| p.eq_ignore_ascii_case(b"0x"));
        let from = if prefixed && hex(sign + 2) > 0 { sign + 2 } else { sign };
        let digits = hex(from);
        if digits == 0 {
            return None;
        }
        let n = i64::from_str_radix(&rest[from..from + digits], 16).unwrap_or(i64::MAX);
        *octet = if rest.starts_with('-') { -n } else { n };
        rest = &rest[from + digits..];
        rest = rest.strip_prefix(separators.get(i).copied().unwrap_or(""))?;
    }
    rest.trim_matches(blank).is_empty().then_some(out)
}

fn mac8_bytes(text: &str) -> Option<Vec<u8>> {
    let separators: Vec<char> = text.chars().filter(|c| !c.is_ascii_hexdigit()).collect();
    if separators.iter().any(|c| !matches!(c, ':' | '-' | '.') || *c != separators[0]) {
        return None;
    }
    let mut out = Vec::new();
    for group in text.split([':', '-', '.']) {
        if group.is_empty() || group.len() % 2 != 0 {
            return None;
        }
        for i in (0..group.len()).step_by(2) {
            out.push(u8::from_str_radix(group.get(i..i + 2)?, 16).ok()?);
        }
    }
    match out.len() {
        6 => Some([&out[..3], &[0xff, 0xfe], &out[3..]].concat()),
        8 => Some(out),
        _ => None,
    }
}

/// A MAC address as text.
pub fn mac_text(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
}
