//! Sets of characters.

use regex_syntax::hir::{Class, HirKind};
use std::sync::OnceLock;

/// A set of characters: ranges, ascending, that do not touch.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct CharSet {
    ranges: Vec<(u32, u32)>,
    /// Which of the first 128 are in it.
    ascii: u128,
}

const LAST: u32 = char::MAX as u32;

impl CharSet {
    pub fn new(mut ranges: Vec<(u32, u32)>) -> CharSet {
        ranges.sort_unstable();
        let mut out: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (a, b) in ranges {
            match out.last_mut() {
                Some(last) if a <= last.1.saturating_add(1) => last.1 = last.1.max(b),
                _ => out.push((a, b)),
            }
        }
        let mut ascii = 0;
        for &(a, b) in &out {
            for c in a..=b.min(127) {
                ascii |= 1 << c;
            }
        }
        CharSet { ranges: out, ascii }
    }

    pub fn single(c: char) -> CharSet {
        CharSet::new(vec![(c as u32, c as u32)])
    }

    pub fn all() -> CharSet {
        CharSet::new(vec![(0, LAST)])
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    #[inline]
    pub fn contains(&self, c: char) -> bool {
        let c = c as u32;
        if c < 128 {
            return self.ascii >> c & 1 == 1;
        }
        let i = self.ranges.partition_point(|r| r.1 < c);
        self.ranges.get(i).is_some_and(|r| r.0 <= c)
    }

    pub fn add(&mut self, other: &CharSet) {
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.extend_from_slice(&other.ranges);
        *self = CharSet::new(ranges);
    }

    pub fn negated(&self) -> CharSet {
        let mut out = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for &(a, b) in &self.ranges {
            if a > next {
                out.push((next, a - 1));
            }
            next = b + 1;
        }
        if next <= LAST {
            out.push((next, LAST));
        }
        CharSet::new(out)
    }

    pub fn without(&self, c: char) -> CharSet {
        let c = c as u32;
        let mut out = Vec::with_capacity(self.ranges.len() + 1);
        for &(a, b) in &self.ranges {
            if c < a || c > b {
                out.push((a, b));
                continue;
            }
            if a < c {
                out.push((a, c - 1));
            }
            if c < b {
                out.push((c + 1, b));
            }
        }
        CharSet::new(out)
    }

    /// With the other case of each letter.
    pub fn both_cases(&self, ascii: bool) -> CharSet {
        let mut ranges = self.ranges.clone();
        for &(a, b) in &self.ranges {
            // Large ranges hold their letters' other cases or are not worth the walk.
            let b = if b - a > 0x3000 { a.max(b.min(0x2fff)) } else { b };
            for c in (a..=b).filter_map(char::from_u32) {
                for o in other_cases(c, ascii) {
                    ranges.push((o as u32, o as u32));
                }
            }
        }
        CharSet::new(ranges)
    }
}

/// The letter in its other cases.
pub(super) fn other_cases(c: char, ascii: bool) -> Vec<char> {
    if ascii || c.is_ascii() {
        let other =
            if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        return vec![other];
    }
    let mut out = Vec::new();
    let (mut lower, mut upper) = (c.to_lowercase(), c.to_uppercase());
    if let (Some(l), None) = (lower.next(), lower.next()) {
        out.push(l);
    }
    if let (Some(u), None) = (upper.next(), upper.next()) {
        out.push(u);
    }
    out
}

/// Characters of a Unicode property.
fn property(name: &str) -> CharSet {
    let Ok(hir) = regex_syntax::Parser::new().parse(name) else { return CharSet::default() };
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => CharSet::new(
            class.ranges().iter().map(|r| (r.start() as u32, r.end() as u32)).collect(),
        ),
        _ => CharSet::default(),
    }
}

const NAMES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

fn unicode(name: &str) -> CharSet {
    match name {
        "alnum" => property(r"[\p{Alphabetic}\p{Nd}]"),
        "alpha" => property(r"\p{Alphabetic}"),
        "ascii" => CharSet::new(vec![(0, 127)]),
        "blank" => property(r"[\p{Zs}\t]"),
        "cntrl" => property(r"\p{Cc}"),
        "digit" => property(r"\p{Nd}"),
        "graph" => property(r"[^\p{White_Space}\p{Cc}\p{Cn}]"),
        "lower" => property(r"\p{Lowercase}"),
        "print" => property(r"[^\p{Cc}\p{Cn}]"),
        "punct" => property(r"[\p{P}\p{S}]"),
        "space" => property(r"\p{White_Space}"),
        "upper" => property(r"\p{Uppercase}"),
        "word" => property(r"[\p{Alphabetic}\p{Nd}_]"),
        _ => CharSet::new(
            [('0', '9'), ('a', 'f'), ('A', 'F')].map(|(a, b)| (a as u32, b as u32)).to_vec(),
        ),
    }
}

fn ascii_only(name: &str) -> CharSet {
    let test: fn(&u8) -> bool = match name {
        "alnum" => u8::is_ascii_alphanumeric,
        "alpha" => u8::is_ascii_alphabetic,
        "ascii" => u8::is_ascii,
        "blank" => |c| matches!(c, b' ' | b'\t'),
        "cntrl" => u8::is_ascii_control,
        "digit" => u8::is_ascii_digit,
        "graph" => u8::is_ascii_graphic,
        "lower" => u8::is_ascii_lowercase,
        "print" => |c| (b' '..=b'~').contains(c),
        "punct" => u8::is_ascii_punctuation,
        "space" => |c| matches!(c, b' ' | b'\t'..=b'\r'),
        "upper" => u8::is_ascii_uppercase,
        "word" => |c| c.is_ascii_alphanumeric() || *c == b'_',
        _ => u8::is_ascii_hexdigit,
    };
    CharSet::new((0..128u8).filter(test).map(|c| (c as u32, c as u32)).collect())
}

/// A class by its name.
pub(super) fn named(name: &str, ascii: bool) -> Option<CharSet> {
    static SETS: OnceLock<Vec<OnceLock<CharSet>>> = OnceLock::new();
    let at = NAMES.iter().position(|n| *n == name)?;
    if ascii {
        return Some(ascii_only(name));
    }
    let sets = SETS.get_or_init(|| NAMES.iter().map(|_| OnceLock::new()).collect());
    Some(sets[at].get_or_init(|| unicode(name)).clone())
}

/// Names of characters in `[.x.]`.
pub(super) fn character_name(name: &str) -> Option<char> {
    const LIST: &str = "NUL SOH STX ETX EOT ENQ ACK alert backspace tab newline vertical-tab \
        form-feed carriage-return SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC IS4 IS3 \
        IS2 IS1 space exclamation-mark quotation-mark number-sign dollar-sign percent-sign \
        ampersand apostrophe left-parenthesis right-parenthesis asterisk plus-sign comma \
        hyphen period slash zero one two three four five six seven eight nine colon semicolon \
        less-than-sign equals-sign greater-than-sign question-mark commercial-at";
    const AFTER: [(&str, char); 16] = [
        ("left-square-bracket", '['),
        ("backslash", '\\'),
        ("reverse-solidus", '\\'),
        ("right-square-bracket", ']'),
        ("circumflex", '^'),
        ("circumflex-accent", '^'),
        ("underscore", '_'),
        ("low-line", '_'),
        ("grave-accent", '`'),
        ("left-brace", '{'),
        ("left-curly-bracket", '{'),
        ("vertical-line", '|'),
        ("right-brace", '}'),
        ("right-curly-bracket", '}'),
        ("tilde", '~'),
        ("DEL", '\u{7f}'),
    ];
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(c);
    }
    if let Some(at) = LIST.split_whitespace().position(|n| n == name) {
        return char::from_u32(at as u32);
    }
    match name {
        "hyphen-minus" => Some('-'),
        "full-stop" => Some('.'),
        "solidus" => Some('/'),
        _ => AFTER.iter().find(|a| a.0 == name).map(|a| a.1),
    }
}
