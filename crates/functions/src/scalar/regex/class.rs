//! Sets of characters.

use crate::letters::Letters;
use icu_properties::props::{
    Alphabetic, BinaryProperty, GeneralCategory, GeneralCategoryGroup, Lowercase, Uppercase,
};
use icu_properties::{CodePointMapData, CodePointSetData};
use regex_syntax::hir::{Class, HirKind};
use std::sync::OnceLock;

/// A set of characters: ranges, ascending, that do not touch.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct CharSet {
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
    pub fn both_cases(&self, letters: Letters) -> CharSet {
        let mut ranges = self.ranges.clone();
        for &(a, b) in &self.ranges {
            // Large ranges hold their letters' other cases or are not worth the walk.
            let b = if b - a > 0x3000 { a.max(b.min(0x2fff)) } else { b };
            for c in (a..=b).filter_map(char::from_u32) {
                for o in other_cases(c, letters) {
                    ranges.push((o as u32, o as u32));
                }
            }
        }
        CharSet::new(ranges)
    }
}

/// The letter in its other cases.
pub(super) fn other_cases(c: char, letters: Letters) -> [char; 2] {
    // The C library's and ICU's rules for single characters know no languages; ASCII has its own.
    let letters = if c.is_ascii() { Letters::Ascii } else { letters };
    [letters.lower_char(c), letters.upper_char(c)]
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

/// The classes of PostgreSQL's own tables; in `posix` ones the digits are ASCII's, and symbols are
/// punctuation.
fn unicode(name: &str, posix: bool) -> CharSet {
    match name {
        "alnum" if posix => property(r"[\p{Alphabetic}0-9]"),
        "digit" if posix => ascii_only(name),
        "punct" if posix => property(r"[[\p{P}\p{S}]--\p{Alphabetic}]"),
        "word" if posix => property(r"[\p{Alphabetic}0-9_]"),
        "alnum" => property(r"[\p{Alphabetic}\p{Nd}]"),
        "alpha" => property(r"\p{Alphabetic}"),
        "ascii" => CharSet::new(vec![(0, 127)]),
        "blank" => property(r"[\p{Zs}\t]"),
        "cntrl" => property(r"\p{Cc}"),
        "digit" => property(r"\p{Nd}"),
        "graph" => property(r"[^\p{White_Space}\p{Cc}\p{Cn}]"),
        "lower" => property(r"\p{Lowercase}"),
        "print" => property(r"[^\p{Cc}\p{Cn}]"),
        "punct" => property(r"\p{P}"),
        "space" => property(r"\p{White_Space}"),
        "upper" => property(r"\p{Uppercase}"),
        "word" => property(r"[\p{Alphabetic}\p{Nd}_]"),
        _ => CharSet::new(
            [('0', '9'), ('a', 'f'), ('A', 'F')].map(|(a, b)| (a as u32, b as u32)).to_vec(),
        ),
    }
}

/// Characters of general categories, of the version of Unicode that ICU has.
fn categories(group: GeneralCategoryGroup) -> CharSet {
    let map = CodePointMapData::<GeneralCategory>::new();
    let ranges = map.iter_ranges_for_group(group);
    CharSet::new(ranges.map(|r| (*r.start(), *r.end())).collect())
}

fn binary<P: BinaryProperty>() -> CharSet {
    let ranges = CodePointSetData::new::<P>().iter_ranges().map(|r| (*r.start(), *r.end()));
    CharSet::new(ranges.collect())
}

/// The classes as ICU has them: by general category.
fn icu(name: &str) -> CharSet {
    use GeneralCategoryGroup as G;
    const SPACES: [(u32, u32); 3] = [(9, 13), (0x1c, 0x1f), (0x85, 0x85)];
    let invisible = G::Control.union(G::Format).union(G::Unassigned).union(G::Surrogate);
    match name {
        "alnum" => categories(G::Letter.union(G::DecimalNumber)),
        "alpha" => categories(G::Letter),
        "blank" => {
            let mut set = categories(G::SpaceSeparator);
            set.add(&CharSet::single('\t'));
            set
        }
        "cntrl" => categories(G::Control),
        "digit" => categories(G::DecimalNumber),
        "graph" => categories(invisible.union(G::Separator)).negated(),
        "lower" => categories(G::LowercaseLetter),
        "print" => categories(invisible.union(G::PrivateUse)).negated(),
        "punct" => categories(G::Punctuation),
        "space" => {
            let mut set = categories(G::Separator);
            set.add(&CharSet::new(SPACES.to_vec()));
            set
        }
        "upper" => categories(G::UppercaseLetter),
        "word" => {
            let mut set = icu("alnum");
            set.add(&CharSet::single('_'));
            set
        }
        _ => ascii_only(name),
    }
}

/// The classes as the C library has them: digits beyond ASCII's are letters, and what is neither
/// letter nor space is punctuation.
fn libc(name: &str) -> CharSet {
    use GeneralCategoryGroup as G;
    let letters = || {
        let mut set = binary::<Alphabetic>();
        set.add(&categories(G::DecimalNumber));
        ('0'..='9').fold(set, |s, c| s.without(c))
    };
    let with = |mut set: CharSet, more: &CharSet| {
        set.add(more);
        set
    };
    let visible = || categories(G::Control.union(G::Unassigned).union(G::Surrogate)).negated();
    let spaces = || {
        let set = with(categories(G::Separator), &CharSet::new(vec![(9, 13)]));
        // Spaces at which no line is broken are none.
        ['\u{a0}', '\u{2007}', '\u{202f}'].into_iter().fold(set, |s, c| s.without(c))
    };
    match name {
        "alnum" => with(letters(), &ascii_only("digit")),
        "alpha" => letters(),
        "cntrl" => with(categories(G::Control), &CharSet::new(vec![(0x2028, 0x2029)])),
        "graph" => {
            let spaces = spaces();
            with(visible().negated(), &spaces).negated()
        }
        "lower" => binary::<Lowercase>(),
        "print" => with(visible().negated(), &CharSet::new(vec![(0x2028, 0x2029)])).negated(),
        "punct" => {
            let other = with(libc("graph").negated(), &libc("alnum"));
            other.negated()
        }
        "space" => spaces(),
        "upper" => binary::<Uppercase>(),
        "word" => with(libc("alnum"), &CharSet::single('_')),
        _ => ascii_only(name),
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
pub(crate) fn named(name: &str, letters: Letters) -> Option<&'static CharSet> {
    type Sets = [OnceLock<CharSet>; NAMES.len()];
    static SETS: [Sets; 5] = [const { [const { OnceLock::new() }; NAMES.len()] }; 5];
    let at = NAMES.iter().position(|n| *n == name)?;
    Some(match letters {
        Letters::Ascii => SETS[0][at].get_or_init(|| ascii_only(name)),
        Letters::Simple => SETS[1][at].get_or_init(|| unicode(name, true)),
        Letters::Full => SETS[2][at].get_or_init(|| unicode(name, false)),
        Letters::Libc => SETS[3][at].get_or_init(|| libc(name)),
        Letters::Icu | Letters::Turkish => SETS[4][at].get_or_init(|| icu(name)),
    })
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
