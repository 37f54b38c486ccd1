//! Conversion without Unicode between two: Japanese and Chinese encodings that share character
//! sets, and MULE_INTERNAL, which writes before each character which set it is of.

use super::table::{self, Reads};
use super::verify::Characters;
use super::{Encoding, untranslatable};
use base::Result;
use std::borrow::Cow;
use std::sync::OnceLock;

/// `[FROM>TO]` and lines `code n code`: so many characters from a code on, in the order of
/// the first encoding, are those from the other code on in the order of the second; with `=` all
/// are that one.
const RUNS: &str = include_str!("../../data/encodings/direct.txt");

struct Run {
    first: u32,
    len: u32,
    to: u32,
    /// 0 if all are the same.
    step: u32,
}

struct Runs {
    from: Order,
    to: Order,
    /// By their first.
    runs: Vec<Run>,
}

/// How an encoding's codes are counted.
#[derive(Clone, Copy)]
enum Order {
    Euc,
    Sjis,
    Big5,
}

/// Where codes of three and of four bytes, or of one, are counted from.
const LONG: u32 = 1 << 20;
const LONGEST: u32 = 2 << 20;

impl Order {
    fn of(name: &str) -> Order {
        match name {
            "SJIS" | "SHIFT_JIS_2004" => Order::Sjis,
            "BIG5" => Order::Big5,
            _ => Order::Euc,
        }
    }

    /// The number of a character's code.
    fn number(self, c: &[u8]) -> Option<u32> {
        let of = |b: u8, first: u8| b.checked_sub(first).map(u32::from);
        match (self, c) {
            (Order::Sjis, [b]) => Some(LONG + u32::from(*b)),
            (Order::Sjis, [a, b]) => {
                Some(of(*a, 0x80)? * 188 + of(*b, 0x40)? - u32::from(*b > 0x7F))
            }
            (Order::Big5, [a, b]) => {
                let trail = if *b < 0x7F { of(*b, 0x40)? } else { of(*b, 0xA1)? + 63 };
                Some(of(*a, 0x80)? * 157 + trail)
            }
            (Order::Euc, [a, b]) => Some(of(*a, 0x80)? * 94 + of(*b, 0xA1)?),
            (Order::Euc, [0x8F, a, b]) => Some(LONG + of(*a, 0xA1)? * 94 + of(*b, 0xA1)?),
            (Order::Euc, [0x8E, p, a, b]) => {
                Some(LONGEST + (of(*p, 0xA0)? * 94 + of(*a, 0xA1)?) * 94 + of(*b, 0xA1)?)
            }
            _ => None,
        }
    }

    /// Adds the code of a number.
    fn push(self, n: u32, out: &mut Vec<u8>) {
        match self {
            Order::Sjis if n >= LONG => out.push((n - LONG) as u8),
            Order::Sjis => {
                let trail = n % 188;
                let trail = trail + 0x40 + u32::from(trail >= 0x3F);
                out.extend([(n / 188 + 0x80) as u8, trail as u8]);
            }
            Order::Big5 => {
                let trail = n % 157;
                let trail = if trail < 63 { trail + 0x40 } else { trail - 63 + 0xA1 };
                out.extend([(n / 157 + 0x80) as u8, trail as u8]);
            }
            Order::Euc if n >= LONGEST => {
                let n = n - LONGEST;
                let (plane, a, b) = (n / 8836 + 0xA0, n / 94 % 94 + 0xA1, n % 94 + 0xA1);
                out.extend([0x8E, plane as u8, a as u8, b as u8]);
            }
            Order::Euc if n >= LONG => {
                let n = n - LONG;
                out.extend([0x8F, (n / 94 + 0xA1) as u8, (n % 94 + 0xA1) as u8]);
            }
            Order::Euc => out.extend([(n / 94 + 0x80) as u8, (n % 94 + 0xA1) as u8]),
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks_exact(2);
    let byte = |p: &[u8]| u8::from_str_radix(std::str::from_utf8(p).ok()?, 16).ok();
    pairs.filter_map(byte).collect()
}

impl Runs {
    fn read(from: &str, to: &str, lines: &str) -> Runs {
        let (from, to) = (Order::of(from), Order::of(to));
        let mut runs = Vec::new();
        for line in lines.lines() {
            let mut words = line.split(' ');
            let (Some(first), Some(len), Some(target)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let step = u32::from(!target.starts_with('='));
            let (first, target) = (bytes_of(first), bytes_of(target.trim_start_matches('=')));
            let (Some(first), Some(target), Ok(len)) =
                (from.number(&first), to.number(&target), len.parse())
            else {
                continue;
            };
            runs.push(Run { first, len, to: target, step });
        }
        runs.sort_unstable_by_key(|r| r.first);
        Runs { from, to, runs }
    }

    fn convert(&self, c: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let n = self.from.number(c)?;
        let at = self.runs.partition_point(|r| r.first <= n).checked_sub(1)?;
        let run = &self.runs[at];
        let within = n - run.first;
        if within >= run.len {
            return None;
        }
        self.to.push(run.to + within * run.step, out);
        Some(())
    }
}

/// The runs from one encoding to another, if there are any.
fn runs(from: &str, to: &str) -> Option<&'static Runs> {
    static ALL: OnceLock<Vec<(&str, &str, Runs)>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let sections = RUNS.split('[').filter_map(|section| {
            let (head, lines) = section.split_once("]\n")?;
            let (from, to) = head.split_once('>')?;
            Some((from, to, Runs::read(from, to, lines)))
        });
        sections.collect()
    });
    all.iter().find(|(a, b, _)| *a == from && *b == to).map(|found| &found.2)
}

/// The encoding whose character sets MULE_INTERNAL knows, for one that shares its characters with
/// it.
fn base_of(name: &'static str) -> Option<&'static str> {
    Some(match name {
        "LATIN1" | "LATIN2" | "LATIN3" | "LATIN4" | "KOI8R" => name,
        "EUC_CN" | "EUC_KR" | "EUC_JP" | "EUC_TW" => name,
        "ISO_8859_5" | "WIN1251" | "WIN866" => "KOI8R",
        "WIN1250" => "LATIN2",
        "SJIS" => "EUC_JP",
        "BIG5" => "EUC_TW",
        _ => return None,
    })
}

/// Adds a character of a base encoding as MULE_INTERNAL.
fn to_mule(base: &str, c: &[u8], out: &mut Vec<u8>) {
    let (set, rest): (u8, &[u8]) = match (base, c) {
        ("LATIN1", c) => (0x81, c),
        ("LATIN2", c) => (0x82, c),
        ("LATIN3", c) => (0x83, c),
        ("LATIN4", c) => (0x84, c),
        ("KOI8R", c) => (0x8B, c),
        ("EUC_CN", c) => (0x91, c),
        ("EUC_KR", c) => (0x93, c),
        ("EUC_JP", [0x8E, c @ ..]) => (0x89, c),
        ("EUC_JP", [0x8F, c @ ..]) => (0x94, c),
        ("EUC_JP", c) => (0x92, c),
        (_, [0x8E, 0xA1, c @ ..]) => (0x95, c),
        (_, [0x8E, 0xA2, c @ ..]) => (0x96, c),
        (_, [0x8E, plane, c @ ..]) => {
            // The planes beyond the second are private sets, which have a byte more.
            out.extend([0x9D, plane.wrapping_sub(0xA3).wrapping_add(0xF6)]);
            out.extend_from_slice(c);
            return;
        }
        (_, c) => (0x95, c),
    };
    out.push(set);
    out.extend_from_slice(rest);
}

/// A character of MULE_INTERNAL in a base encoding, if it has its set.
fn from_mule(base: &str, c: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (set, rest) = c.split_first()?;
    match (base, set) {
        ("LATIN1", 0x81) | ("LATIN2", 0x82) | ("LATIN3", 0x83) | ("LATIN4", 0x84) => {}
        ("KOI8R", 0x8B) | ("EUC_CN", 0x91) | ("EUC_KR", 0x93) => {}
        ("EUC_JP", 0x92) | ("EUC_TW", 0x95) => {}
        ("EUC_JP", 0x89) => out.push(0x8E),
        ("EUC_JP", 0x94) => out.push(0x8F),
        ("EUC_TW", 0x96) => out.extend([0x8E, 0xA2]),
        ("EUC_TW", 0x9D) => {
            let (plane, rest) = rest.split_first()?;
            let plane = plane.checked_sub(0xF6).filter(|p| *p < 5)?;
            out.extend([0x8E, plane + 0xA3]);
            out.extend_from_slice(rest);
            return Some(());
        }
        _ => return None,
    }
    out.extend_from_slice(rest);
    Some(())
}

/// How a pair of encodings is converted.
enum Way {
    Runs(&'static Runs),
    Bytes(Reads),
    /// From MULE_INTERNAL to a base encoding, and on from there.
    FromMule(&'static str, Option<Box<Way>>),
    ToMule(&'static str, Option<Box<Way>>),
}

impl Way {
    fn of(from: Encoding, to: Encoding) -> Option<Way> {
        let (a, b) = (from.name(), to.name());
        if from == Encoding::MULE_INTERNAL {
            let base = base_of(b)?;
            let rest = (base != b).then(|| Way::between(base, b)).flatten();
            return Some(Way::FromMule(base, rest.map(Box::new)));
        }
        if to == Encoding::MULE_INTERNAL {
            let base = base_of(a)?;
            let first = (base != a).then(|| Way::between(a, base)).flatten();
            return Some(Way::ToMule(base, first.map(Box::new)));
        }
        Way::between(a, b)
    }

    fn between(from: &str, to: &str) -> Option<Way> {
        match runs(from, to) {
            Some(runs) => Some(Way::Runs(runs)),
            None => table::reads(from, to).map(Way::Bytes),
        }
    }

    /// Adds a character that is not ASCII, if the other encoding has it.
    fn convert(&self, c: &[u8], out: &mut Vec<u8>) -> Option<()> {
        match self {
            Way::Runs(runs) => runs.convert(c, out),
            Way::Bytes(codes) => match c {
                [b] => codes.upper(*b).map(|code| out.push(code)),
                _ => None,
            },
            Way::FromMule(base, None) => from_mule(base, c, out),
            Way::FromMule(base, Some(rest)) => {
                let mut middle = Vec::with_capacity(4);
                from_mule(base, c, &mut middle)?;
                rest.convert(&middle, out)
            }
            Way::ToMule(base, None) => {
                to_mule(base, c, out);
                Some(())
            }
            Way::ToMule(base, Some(first)) => {
                let mut middle = Vec::with_capacity(4);
                first.convert(c, &mut middle)?;
                to_mule(base, &middle, out);
                Some(())
            }
        }
    }
}

/// Between two encodings that need no Unicode; None if they do.
pub(super) fn convert(bytes: &[u8], from: Encoding, to: Encoding) -> Option<Result<Cow<'_, [u8]>>> {
    let way = Way::of(from, to)?;
    if bytes.is_ascii() {
        return Some(Ok(Cow::Borrowed(bytes)));
    }
    let mut out = Vec::with_capacity(bytes.len() * 2);
    let mut characters = Characters::new(from, bytes);
    loop {
        let rest = characters.rest();
        match characters.next() {
            None => return Some(Ok(Cow::Owned(out))),
            Some(Err(e)) => return Some(Err(e)),
            Some(Ok([b])) if *b < 0x80 => out.push(*b),
            Some(Ok(c)) => {
                if way.convert(c, &mut out).is_none() {
                    return Some(Err(untranslatable(rest, from, to)));
                }
            }
        }
    }
}
