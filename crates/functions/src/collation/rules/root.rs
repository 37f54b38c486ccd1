//! The collation elements that rules start from: those of the root, and those of a locale over it.
//!
//! A collation element is 64 bits: primary weight (32), secondary (16), two bits of case, tertiary
//! (14, around two bits of quaternary weight).

use super::{Failure, Result};
use icu_collator::provider::{
    Baked, CollationData, CollationDiacritics, CollationJamo, CollationJamoV1, CollationRootV1,
    CollationSpecialPrimaries, CollationSpecialPrimariesV1,
};
use icu_collections::char16trie::Char16Trie;
use icu_provider::prelude::*;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use zerovec::{ZeroSlice, ZeroVec};

/// The usual secondary and tertiary weight.
pub(super) const COMMON: u16 = 0x0500;
/// The usual secondary and tertiary weights of an element.
pub(super) const COMMON_BOTH: u64 = 0x0500_0500;
/// The bits of a tertiary weight that are neither case nor quaternary weight.
pub(super) const TERTIARY_BITS: u16 = 0x3f3f;
/// What the table of a locale has for characters that are as in the root.
pub(super) const FALLBACK: u32 = 0xc0;
/// The first primary of characters that are not assigned.
pub(super) const UNASSIGNED: u32 = 0xfe00_0000;
/// The first primary after all those.
pub(super) const TRAILING: u32 = 0xff02_0200;
/// The letters that Hangul syllables are made of.
pub(super) const JAMO: RangeInclusive<char> = '\u{1100}'..='\u{11ff}';
/// The accents that have a table of their own.
pub(super) const ACCENTS: std::ops::Range<char> = '\u{300}'..'\u{34f}';

/// What a character is in a place: after `prefix`, before `suffix`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Context<T> {
    /// In the order of the text.
    pub prefix: Vec<char>,
    pub suffix: Vec<char>,
    pub elements: Vec<T>,
    /// The value of a digit, which numeric ordering reads.
    pub digit: Option<u8>,
}

/// The elements of a locale.
pub(super) struct Base<'a> {
    root: &'static CollationData<'static>,
    jamo: &'static CollationJamo<'static>,
    pub special: &'static CollationSpecialPrimaries<'static>,
    pub tailored: Option<&'a CollationData<'a>>,
    /// The accents, which have a table of their own that holds before all others.
    accents: &'a CollationDiacritics<'a>,
    /// All elements without case, in order.
    pub weights: Vec<u64>,
}

/// What is missing where the crate has none of its own tables.
fn none<T>(found: Option<T>) -> Result<T> {
    found.ok_or(Failure::Argument)
}

impl<'a> Base<'a> {
    /// The elements of the root with those of a locale over them.
    pub(super) fn new(
        tailored: Option<&'a CollationData<'a>>,
        accents: &'a CollationDiacritics<'a>,
    ) -> Result<Base<'a>> {
        let root: DataResponse<CollationRootV1> =
            Baked.load(DataRequest::default()).map_err(|_| Failure::Argument)?;
        let jamo: DataResponse<CollationJamoV1> =
            Baked.load(DataRequest::default()).map_err(|_| Failure::Argument)?;
        let special: DataResponse<CollationSpecialPrimariesV1> =
            Baked.load(DataRequest::default()).map_err(|_| Failure::Argument)?;
        let mut base = Base {
            root: none(root.payload.get_static())?,
            jamo: none(jamo.payload.get_static())?,
            special: none(special.payload.get_static())?,
            tailored,
            accents,
            weights: Vec::new(),
        };
        static ROOT: OnceLock<Vec<u64>> = OnceLock::new();
        base.weights = ROOT.get_or_init(|| base.all_of(base.root)).clone();
        if let Some(tailored) = base.tailored {
            let more = base.all_of(tailored);
            base.weights.extend(more);
        }
        for c in base.accents() {
            let all = base.of(c).into_iter().flat_map(|x| x.elements);
            base.weights.extend(all);
        }
        base.weights.sort_unstable();
        base.weights.dedup();
        Ok(base)
    }

    /// Every element of a table, without case, in order.
    fn all_of(&self, data: &CollationData<'_>) -> Vec<u64> {
        let mut out = vec![
            u64::from(UNASSIGNED) << 32 | COMMON_BOTH,
            u64::from(TRAILING) << 32 | COMMON_BOTH,
        ];
        for range in data.trie.iter_ranges() {
            if range.value == FALLBACK || range.value & 0xcf == 0xcf {
                continue;
            }
            // The characters of a range have the same elements, but for those that are numbered.
            let numbered = range.value & 0xcf == 0xce;
            let end = if numbered { *range.range.end() } else { *range.range.start() };
            for c in (*range.range.start()..=end).filter_map(char::from_u32) {
                for context in self.contexts(data, c, range.value) {
                    out.extend(context.elements.iter().map(|e| without_case(*e)));
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Whether the locale, not the root, says what a character is.
    pub(super) fn is_tailored(&self, c: char) -> bool {
        self.tailored.is_some_and(|t| t.trie.get(c) != FALLBACK)
    }

    /// What a character of decomposed text is in all its places, the plain one last.
    pub(super) fn of(&self, c: char) -> Vec<Context<u64>> {
        if JAMO.contains(&c) {
            let ce32 = self.jamo.ce32s.get(c as usize - 0x1100).unwrap_or_default();
            return self.contexts(self.root, c, ce32);
        }
        if let Some(element) = self.accent(c) {
            let (prefix, suffix) = (vec![], vec![]);
            return vec![Context { prefix, suffix, elements: vec![element], digit: None }];
        }
        if let Some(tailored) = self.tailored.filter(|_| self.is_tailored(c)) {
            return self.contexts(tailored, c, tailored.trie.get(c));
        }
        self.contexts(self.root, c, self.root.trie.get(c))
    }

    /// The characters that are in the table of accents.
    pub(super) fn accents(&self) -> Vec<char> {
        let count = self.accents.secondaries.len() as u32;
        (0..count).filter_map(|n| char::from_u32(0x300 + n)).collect()
    }

    fn accent(&self, c: char) -> Option<u64> {
        let at = (c as usize).checked_sub(0x300)?;
        let secondary = self.accents.secondaries.get(at).filter(|s| *s != 0)?;
        Some(u64::from(secondary) << 16 | u64::from(COMMON))
    }

    /// What a character that is not in a locale's rules is in the root, in its plain place.
    pub(super) fn plain_of_root(&self, c: char) -> Vec<u64> {
        if JAMO.contains(&c) {
            return self.of(c).pop().map(|x| x.elements).unwrap_or_default();
        }
        if let Some(element) = self.accent(c) {
            return vec![element];
        }
        let mut all = self.contexts(self.root, c, self.root.trie.get(c));
        all.pop().map(|x| x.elements).unwrap_or_default()
    }

    fn contexts(&self, data: &CollationData<'_>, c: char, ce32: u32) -> Vec<Context<u64>> {
        let mut out = Vec::new();
        self.decode(data, c, ce32, (&[], &[]), &mut out);
        // The plain one is last.
        out.sort_by_key(|x: &Context<u64>| x.prefix.is_empty() && x.suffix.is_empty());
        out
    }

    fn decode(
        &self,
        data: &CollationData<'_>,
        c: char,
        ce32: u32,
        place: (&[char], &[char]),
        out: &mut Vec<Context<u64>>,
    ) {
        let index = (ce32 >> 13) as usize;
        let special = ce32 & 0xff >= FALLBACK;
        match ce32 & 0xf {
            tag @ (8 | 9) if special => {
                let word = |n: usize| u32::from(data.contexts.get(index + n).unwrap_or_default());
                let default = word(0) << 16 | word(1);
                let rest = data.contexts.get_subslice(index + 2..data.contexts.len());
                let trie = Char16Trie::new(rest.map_or(ZeroVec::new(), ZeroSlice::as_zerovec));
                for (text, value) in trie.iter2() {
                    let mut text: Vec<char> = text.chars().collect();
                    if tag == 8 {
                        text.reverse();
                        self.decode(data, c, value as u32, (&text, place.1), out);
                    } else {
                        self.decode(data, c, value as u32, (place.0, &text), out);
                    }
                }
                self.decode(data, c, default, place, out);
            }
            0 if special => {
                let mut found = self.contexts(self.root, c, self.root.trie.get(c));
                if let Some(plain) = found.pop() {
                    push(out, place, plain.elements, plain.digit);
                }
            }
            10 if special => {
                let plain = data.ce32s.get(index).unwrap_or_default();
                let digit = Some((ce32 >> 8 & 0xf) as u8);
                push(out, place, self.elements(data, c, plain), digit);
            }
            _ => push(out, place, self.elements(data, c, ce32), None),
        }
    }

    /// The elements of what has no places.
    fn elements(&self, data: &CollationData<'_>, c: char, ce32: u32) -> Vec<u64> {
        let (index, length) = ((ce32 >> 13) as usize, (ce32 >> 8 & 31) as usize);
        if ce32 & 0xff < FALLBACK {
            return vec![alone(ce32)];
        }
        match ce32 & 0xf {
            1 | 2 => vec![alone(ce32)],
            5 => (index..index + length).filter_map(|n| data.ce32s.get(n)).map(alone).collect(),
            6 => (index..index + length).filter_map(|n| data.ces.get(n)).collect(),
            14 => {
                let from = data.ces.get(index).unwrap_or_default();
                vec![u64::from(numbered(from, c)) << 32 | COMMON_BOTH]
            }
            15 => vec![u64::from(unassigned(c)) << 32 | COMMON_BOTH],
            _ => Vec::new(),
        }
    }
}

fn push(
    out: &mut Vec<Context<u64>>,
    place: (&[char], &[char]),
    mut elements: Vec<u64>,
    digit: Option<u8>,
) {
    elements.retain(|e| *e != 0);
    out.push(Context { prefix: place.0.to_vec(), suffix: place.1.to_vec(), elements, digit });
}

/// An element without case and quaternary weight.
pub(super) fn without_case(element: u64) -> u64 {
    element & !0xffff | element & u64::from(TERTIARY_BITS)
}

/// The element of a short form that is whole in itself.
fn alone(ce32: u32) -> u64 {
    let wide = u64::from(ce32);
    match ce32 & 0xff {
        0xc1 => (wide & 0xffff_ff00) << 32 | COMMON_BOTH,
        0xc2 => wide & 0xffff_ff00,
        low => (wide & 0xffff_0000) << 32 | (wide & 0xff00) << 16 | u64::from(low) << 8,
    }
}

/// The primary of a character in a range whose primaries are in the order of the code points.
///
/// `from` has the first primary, the first code point, and the step between two primaries; the
/// second byte of a primary has fewer values where the first may be left out of sort keys.
fn numbered(from: u64, c: char) -> u32 {
    let first = (from >> 32) as u32;
    let low = from as u32;
    let step = i64::from(low & 0x7f);
    let mut left = (i64::from(c as u32) - i64::from(low >> 8)) * step;
    let byte = |at: u32| i64::from(first >> at & 0xff);
    left += byte(8) - 2;
    let mut out = ((left.rem_euclid(254) + 2) as u32) << 8;
    left = left.div_euclid(254);
    let (lowest, count) = if low & 0x80 != 0 { (4, 251) } else { (2, 254) };
    left += byte(16) - lowest;
    out |= ((left.rem_euclid(count) + lowest) as u32) << 16;
    left = left.div_euclid(count);
    out | (first & 0xff00_0000).wrapping_add((left as u32) << 24)
}

/// The primary of a character that is not assigned.
fn unassigned(c: char) -> u32 {
    let n = c as u32 + 1;
    let (fourth, n) = (2 + n % 18 * 14, n / 18);
    let (third, n) = (2 + n % 254, n / 254);
    UNASSIGNED | (4 + n % 251) << 16 | third << 8 | fourth
}

/// Weights beside others, among all that are in use.
impl Base<'_> {
    fn at_least(&self, element: u64) -> usize {
        self.weights.partition_point(|w| *w < element)
    }

    /// The first primary in use that is at least this.
    pub(super) fn primary_from(&self, primary: u32) -> u32 {
        self.weights
            .get(self.at_least(u64::from(primary) << 32))
            .map_or(u32::MAX, |w| (w >> 32) as u32)
    }

    /// The primary that marks where all begins, above that of U+FFFE.
    pub(super) fn first_primary(&self) -> u32 {
        self.primary_after(0x0200_0000)
    }

    pub(super) fn primary_after(&self, primary: u32) -> u32 {
        self.primary_from(primary.saturating_add(1))
    }

    /// The last primary in use that is less; zero if there is none.
    pub(super) fn primary_before(&self, primary: u32) -> u32 {
        match self.at_least(u64::from(primary) << 32) {
            0 => 0,
            n => (self.weights[n - 1] >> 32) as u32,
        }
    }

    /// The secondaries that are in use with a primary, in order.
    pub(super) fn secondaries(&self, primary: u32) -> Vec<u16> {
        let mut out: Vec<u16> = self.of_primary(primary).map(|w| (w >> 16) as u16).collect();
        if primary != 0 {
            out.push(COMMON);
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The tertiaries that are in use with a primary and a secondary, in order.
    pub(super) fn tertiaries(&self, primary: u32, secondary: u16) -> Vec<u16> {
        let mut out: Vec<u16> = self
            .of_primary(primary)
            .filter(|w| (*w >> 16) as u16 == secondary)
            .map(|w| *w as u16)
            .collect();
        if secondary != 0 {
            out.push(COMMON);
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    fn of_primary(&self, primary: u32) -> impl Iterator<Item = &u64> {
        let start = self.at_least(u64::from(primary) << 32);
        self.weights[start..].iter().take_while(move |w| (*w >> 32) as u32 == primary)
    }

    /// Whether sort keys may leave out this first byte of a primary.
    pub(super) fn is_compressible(&self, byte: u8) -> bool {
        let field = self.special.compressible_bytes.get(usize::from(byte >> 4));
        field.unwrap_or_default() >> (byte & 15) & 1 != 0
    }

    /// The primary that marks where the ideographs begin.
    pub(super) fn first_ideograph(&self) -> u32 {
        let first = self.of('\u{4e00}').pop().and_then(|x| x.elements.first().copied());
        self.primary_before(first.map_or(UNASSIGNED, |e| (e >> 32) as u32))
    }

    /// Where the secondaries of accents begin: those of letters are below.
    pub(super) fn secondary_limit(&self) -> u16 {
        self.secondaries(0).into_iter().find(|s| *s != 0).unwrap_or(0x8000) & 0xff00
    }

    /// Where the tertiaries of what has nothing else begin: all others are below.
    pub(super) fn tertiary_limit(&self) -> u16 {
        self.tertiaries(0, 0).into_iter().find(|t| *t != 0).unwrap_or(0x3d00) & 0xff00
    }
}
