//! Conversion by tables.

use super::verify::Characters;
use super::{Encoding, untranslatable};
use base::Result;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A code that means two characters is held as the number of the pair, above all characters.
const PAIR: u32 = 1 << 31;

/// Codes of an encoding and the characters they mean.
#[derive(Default)]
struct Table {
    /// Characters of codes of one and two bytes; 0 if there is none.
    short: Vec<u32>,
    /// Those of longer codes.
    long: HashMap<u32, u32>,
    /// Codes of characters below 0x10000; 0 if there is none.
    basic: Vec<u32>,
    /// Those of others.
    others: HashMap<u32, u32>,
    /// Pairs of characters that are one code.
    pairs: Vec<(char, char)>,
    pair_codes: HashMap<(char, char), u32>,
    /// Codes, characters and their number where both count up (GB18030's codes of four bytes).
    ranges: Vec<(u32, u32, u32)>,
}

/// Tables of the encodings with more than one byte, by name.
const FILES: &[(&str, &str)] = &[
    ("BIG5", include_str!("../../data/encodings/big5.txt")),
    ("EUC_CN", include_str!("../../data/encodings/euc_cn.txt")),
    ("EUC_JIS_2004", include_str!("../../data/encodings/euc_jis_2004.txt")),
    ("EUC_JP", include_str!("../../data/encodings/euc_jp.txt")),
    ("EUC_KR", include_str!("../../data/encodings/euc_kr.txt")),
    ("EUC_TW", include_str!("../../data/encodings/euc_tw.txt")),
    ("GB18030", include_str!("../../data/encodings/gb18030.txt")),
    ("GBK", include_str!("../../data/encodings/gbk.txt")),
    ("JOHAB", include_str!("../../data/encodings/johab.txt")),
    ("SHIFT_JIS_2004", include_str!("../../data/encodings/shift_jis_2004.txt")),
    ("SJIS", include_str!("../../data/encodings/sjis.txt")),
    ("UHC", include_str!("../../data/encodings/uhc.txt")),
];

/// Tables of one byte, each under its name in brackets; `[FROM>TO]` has the codes of the upper 128
/// bytes in the other encoding.
const SINGLE: &str = include_str!("../../data/encodings/single.txt");

fn section(name: &str) -> Option<&'static str> {
    let head = format!("[{name}]\n");
    let start = SINGLE.find(&head)? + head.len();
    let rest = &SINGLE[start..];
    Some(rest.find("\n[").map_or(rest, |end| &rest[..=end]))
}

/// The number of GB18030's codes of four bytes before this one.
fn linear(code: u32) -> u32 {
    let [a, b, c, d] = code.to_be_bytes().map(u32::from);
    ((a.wrapping_sub(0x81) * 10 + b.wrapping_sub(0x30)) * 126 + c.wrapping_sub(0x81)) * 10
        + d.wrapping_sub(0x30)
}

fn from_linear(n: u32) -> u32 {
    let [d, n] = [n % 10 + 0x30, n / 10];
    let [c, n] = [n % 126 + 0x81, n / 126];
    let [b, a] = [n % 10 + 0x30, n / 10 + 0x81];
    u32::from_be_bytes([a as u8, b as u8, c as u8, d as u8])
}

impl Table {
    /// Reads the lines of a file: `CODE<tab>characters of consecutive codes`; `>` before a code
    /// for what is only read, `<` for what is only written, `=` for a pair, `+` for a range.
    fn read(text: &str) -> Table {
        let mut t = Table { short: vec![0; 0x10000], basic: vec![0; 0x10000], ..Table::default() };
        for line in text.lines() {
            let Some((code, chars)) = line.split_once('\t') else { continue };
            let (mark, code) = match code.as_bytes().first() {
                Some(m @ (b'>' | b'<' | b'=' | b'+')) => (*m, &code[1..]),
                _ => (b' ', code),
            };
            let Ok(code) = u32::from_str_radix(code, 16) else { continue };
            match mark {
                b'=' => t.pair(code, chars),
                b'+' => t.range(code, chars),
                _ => {
                    for (code, c) in (code..).zip(chars.chars()) {
                        t.one(code, c, mark != b'<', mark != b'>');
                    }
                }
            }
        }
        t.ranges.sort_unstable();
        t
    }

    fn one(&mut self, code: u32, c: char, reads: bool, writes: bool) {
        if reads {
            match self.short.get_mut(code as usize) {
                Some(slot) => *slot = c as u32,
                None => drop(self.long.insert(code, c as u32)),
            }
        }
        if writes {
            match self.basic.get_mut(c as usize) {
                Some(slot) => *slot = code,
                None => drop(self.others.insert(c as u32, code)),
            }
        }
    }

    fn pair(&mut self, code: u32, chars: &str) {
        let mut chars = chars.chars();
        let (Some(a), Some(b)) = (chars.next(), chars.next()) else { return };
        if let Some(slot) = self.short.get_mut(code as usize) {
            *slot = PAIR | self.pairs.len() as u32;
        }
        self.pairs.push((a, b));
        self.pair_codes.insert((a, b), code);
    }

    fn range(&mut self, code: u32, rest: &str) {
        let Some((first, n)) = rest.split_once('\t') else { return };
        if let (Ok(first), Ok(n)) = (u32::from_str_radix(first, 16), n.parse()) {
            self.ranges.push((linear(code), first, n));
        }
    }

    /// What a code means.
    fn characters(&self, code: u32) -> Option<(char, Option<char>)> {
        let found = match self.short.get(code as usize) {
            Some(found) => *found,
            None => self.long.get(&code).copied().unwrap_or(0),
        };
        match found {
            0 if self.ranges.is_empty() || code < 0x0100_0000 => None,
            0 => {
                let n = linear(code);
                let at = self.ranges.partition_point(|r| r.0 <= n).checked_sub(1)?;
                let (start, first, len) = self.ranges[at];
                let found = (n - start < len).then_some(first + n - start)?;
                Some((char::from_u32(found)?, None))
            }
            pair if pair & PAIR != 0 => {
                let (a, b) = *self.pairs.get((pair & !PAIR) as usize)?;
                Some((a, Some(b)))
            }
            c => Some((char::from_u32(c)?, None)),
        }
    }

    /// The code of a character.
    fn code(&self, c: char) -> Option<u32> {
        let found = match self.basic.get(c as usize) {
            Some(found) => *found,
            None => self.others.get(&(c as u32)).copied().unwrap_or(0),
        };
        if found != 0 {
            return Some(found);
        }
        let c = c as u32;
        let within = |r: &&(u32, u32, u32)| (r.1..r.1 + r.2).contains(&c);
        self.ranges.iter().find(within).map(|r| from_linear(r.0 + c - r.1))
    }
}

/// The table of an encoding, made when it is first wanted.
fn table(encoding: Encoding) -> Option<Arc<Table>> {
    static TABLES: Mutex<Vec<(u8, Arc<Table>)>> = Mutex::new(Vec::new());
    let mut tables = TABLES.lock().unwrap_or_else(|e| e.into_inner());
    if let Some((_, table)) = tables.iter().find(|(n, _)| *n == encoding.0) {
        return Some(table.clone());
    }
    let name = encoding.name();
    let table = match FILES.iter().find(|(n, _)| *n == name) {
        Some((_, text)) => Table::read(text),
        None => Table::read(section(name)?),
    };
    let mut table = table;
    if name == "GB18030" {
        // Everything beyond the basic plane, in order.
        table.ranges.push((linear(0x9030_8130), 0x10000, 0x10_0000));
    }
    let table = Arc::new(table);
    tables.push((encoding.0, table.clone()));
    Some(table)
}

fn push_code(code: u32, out: &mut Vec<u8>) {
    let bytes = code.to_be_bytes();
    let skip = (code.leading_zeros() / 8).min(3) as usize;
    out.extend_from_slice(&bytes[skip..]);
}

/// Bytes of an encoding with a table as UTF-8.
pub(super) fn decode(encoding: Encoding, bytes: &[u8]) -> Result<Vec<u8>> {
    let Some(table) = table(encoding) else {
        return Err(super::no_conversion(encoding, Encoding::UTF8));
    };
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 2);
    let mut characters = Characters::new(encoding, bytes);
    loop {
        let rest = characters.rest();
        let Some(c) = characters.next() else { break };
        let c = c?;
        if let [b] = c
            && *b < 0x80
        {
            out.push(char::from(*b));
            continue;
        }
        let code = c.iter().fold(0, |n, b| n << 8 | u32::from(*b));
        let Some((first, second)) = table.characters(code) else {
            return Err(untranslatable(rest, encoding, Encoding::UTF8));
        };
        out.push(first);
        out.extend(second);
    }
    Ok(out.into_bytes())
}

/// UTF-8 in an encoding with a table.
pub(super) fn encode(encoding: Encoding, bytes: &[u8]) -> Result<Vec<u8>> {
    let Some(table) = table(encoding) else {
        return Err(super::no_conversion(Encoding::UTF8, encoding));
    };
    Encoding::UTF8.verify(bytes)?;
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let mut out = Vec::with_capacity(bytes.len());
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c.is_ascii() {
            out.push(c as u8);
            continue;
        }
        let pair = chars.peek().and_then(|(_, next)| table.pair_codes.get(&(c, *next)));
        if let Some(code) = pair {
            push_code(*code, &mut out);
            chars.next();
            continue;
        }
        match table.code(c) {
            Some(code) => push_code(code, &mut out),
            None => return Err(untranslatable(&bytes[at..], Encoding::UTF8, encoding)),
        }
    }
    Ok(out)
}

/// The upper 128 bytes of an encoding in another one, as hexadecimal digits; dots for those that
/// it has not.
#[derive(Clone, Copy)]
pub(super) struct Reads(&'static [u8]);

impl Reads {
    /// A byte above 0x7F in the other encoding.
    pub(super) fn upper(self, b: u8) -> Option<u8> {
        let at = 2 * usize::from(b.checked_sub(0x80)?);
        let digits = std::str::from_utf8(self.0.get(at..at + 2)?).ok()?;
        u8::from_str_radix(digits, 16).ok()
    }
}

/// How one encoding of one byte is read as another one, if there is a table for the two.
pub(super) fn reads(from: &str, to: &str) -> Option<Reads> {
    section(&format!("{from}>{to}")).map(|codes| Reads(codes.as_bytes()))
}
