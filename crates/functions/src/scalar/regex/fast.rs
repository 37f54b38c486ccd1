//! What the library can decide about a pattern.

use super::parse::{Anchor, Node, Part, Tree};
use crate::letters::Letters;
use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};
use std::sync::OnceLock;

/// A pattern without back-references and lookaround, for the library.
pub(super) struct Fast {
    /// Finds where leftmost matches start.
    first: Regex,
    /// Finds the longest match from a place.
    longest: OnceLock<Option<Regex>>,
    hir: Hir,
}

impl Fast {
    pub fn is_match(&self, text: &str) -> bool {
        self.first.is_match(text)
    }

    /// The leftmost longest match from a byte offset.
    pub fn find(&self, text: &str, at: usize) -> Option<(usize, usize)> {
        let found = self.first.search(&Input::new(text).span(at..text.len()))?;
        let start = found.start();
        let longest = self.longest.get_or_init(|| build(&self.hir, MatchKind::All));
        let end = longest.as_ref().and_then(|r| {
            r.search(&Input::new(text).span(start..text.len()).anchored(Anchored::Yes))
        });
        Some((start, end.map_or(found.end(), |m| m.end())))
    }
}

/// The library's form of a tree, if it has one.
pub(super) fn compile(tree: &Tree) -> Option<Fast> {
    let hir = translate(&tree.root, tree.letters == Letters::Ascii)?;
    let first = build(&hir, MatchKind::LeftmostFirst)?;
    Some(Fast { first, longest: OnceLock::new(), hir })
}

fn build(hir: &Hir, kind: MatchKind) -> Option<Regex> {
    let config = Regex::config()
        .match_kind(kind)
        .utf8_empty(true)
        .nfa_size_limit(Some(8 << 20))
        .hybrid_cache_capacity(4 << 20);
    Regex::builder().configure(config).build_from_hir(hir).ok()
}

fn translate(part: &Part, ascii: bool) -> Option<Hir> {
    base::stack::check().ok()?;
    let all =
        |parts: &[Part]| parts.iter().map(|p| translate(p, ascii)).collect::<Option<Vec<_>>>();
    Some(match part.kind() {
        Node::Empty => Hir::empty(),
        Node::Set(set) => {
            let ranges = set.ranges().iter().flat_map(|&(a, b)| {
                // No character is a surrogate.
                let below = (a < 0xd800).then(|| (a, b.min(0xd7ff)));
                let above = (b > 0xdfff).then(|| (a.max(0xe000), b));
                below.into_iter().chain(above)
            });
            let ranges = ranges.filter_map(|(a, b)| {
                Some(ClassUnicodeRange::new(char::from_u32(a)?, char::from_u32(b)?))
            });
            Hir::class(Class::Unicode(ClassUnicode::new(ranges)))
        }
        Node::Anchor(a) => Hir::look(match a {
            Anchor::TextStart => Look::Start,
            Anchor::TextEnd => Look::End,
            Anchor::LineStart => Look::StartLF,
            Anchor::LineEnd => Look::EndLF,
            // Beyond ASCII the library's words are others.
            Anchor::WordStart if ascii => Look::WordStartAscii,
            Anchor::WordEnd if ascii => Look::WordEndAscii,
            Anchor::WordEdge if ascii => Look::WordAscii,
            Anchor::NotWordEdge if ascii => Look::WordAsciiNegate,
            _ => return None,
        }),
        Node::Concat(parts) => Hir::concat(all(parts)?),
        Node::Alt(parts) => Hir::alternation(all(parts)?),
        Node::Capture(_, inner) => translate(inner, ascii)?,
        Node::Repeat { part, min, max, .. } => {
            let sub = Box::new(translate(part, ascii)?);
            Hir::repetition(Repetition { min: *min, max: *max, greedy: true, sub })
        }
        Node::Look { .. } | Node::Backref(_) => return None,
    })
}
