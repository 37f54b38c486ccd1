//! Queries.

use super::vector::{Lexeme, WEIGHTS, word};
use super::{DEPTH_MAX, TsVector, quoted};
use base::{Error, Result, bail, err};
use std::fmt;

/// A query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TsQuery {
    /// A word.
    Word {
        /// The word.
        word: String,
        /// Weights it may have, by bit; 0 for any.
        weights: u8,
        /// Any word that begins so.
        prefix: bool,
    },
    /// `!a`
    Not(Box<TsQuery>),
    /// `a & b`
    And(Box<TsQuery>, Box<TsQuery>),
    /// `a | b`
    Or(Box<TsQuery>, Box<TsQuery>),
    /// `a <n> b`
    Phrase(u16, Box<TsQuery>, Box<TsQuery>),
}

/// A part of a query whose words are put through dictionaries: what is left of it, and how far
/// the words that were dropped move what is before and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// What is left; None if all words were dropped.
    pub query: Option<TsQuery>,
    before: u16,
    after: u16,
}

impl From<TsQuery> for Piece {
    fn from(query: TsQuery) -> Piece {
        Piece { query: Some(query), before: 0, after: 0 }
    }
}

impl Piece {
    /// A word that was dropped.
    pub fn dropped() -> Piece {
        Piece::default()
    }

    /// `!a`
    pub fn not(self) -> Piece {
        Piece { query: self.query.map(|q| TsQuery::Not(Box::new(q))), ..self }
    }

    fn join(self, other: Piece, f: fn(Box<TsQuery>, Box<TsQuery>) -> TsQuery) -> Piece {
        match (self.query, other.query) {
            (Some(a), Some(b)) => Piece::from(f(Box::new(a), Box::new(b))),
            // What was dropped does not move what is beside it, but all of it together has a width.
            (None, None) => {
                let width = self.before.max(other.before);
                Piece { query: None, before: width, after: width }
            }
            (Some(q), None) => Piece { query: Some(q), before: self.before, after: self.after },
            (None, Some(q)) => Piece { query: Some(q), before: other.before, after: other.after },
        }
    }

    /// `a & b`
    pub fn and(self, other: Piece) -> Piece {
        self.join(other, TsQuery::And)
    }

    /// `a | b`
    pub fn or(self, other: Piece) -> Piece {
        self.join(other, TsQuery::Or)
    }

    /// `a <n> b`: words that were dropped count as places.
    pub fn phrase(self, distance: u16, other: Piece) -> Piece {
        let sum = |list: [u16; 3]| list.iter().fold(0u16, |a, b| a.saturating_add(*b));
        match (self.query, other.query) {
            (Some(a), Some(b)) => {
                let distance = sum([distance, self.after, other.before]);
                let query = Some(TsQuery::Phrase(distance, Box::new(a), Box::new(b)));
                Piece { query, before: self.before, after: other.after }
            }
            (None, None) => {
                let width = sum([self.before, distance, other.before]);
                Piece { query: None, before: width, after: width }
            }
            (None, Some(q)) => {
                let before = sum([self.before, distance, other.before]);
                Piece { query: Some(q), before, after: other.after }
            }
            (Some(q), None) => {
                let after = sum([self.after, distance, other.after]);
                Piece { query: Some(q), before: self.before, after }
            }
        }
    }
}

/// Bytes that a word may have.
const WORD_MAX: usize = 2046;

struct Parser<'a, F> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
    operand: F,
}

/// Reads a query's text form; None if it has no words.
pub fn parse_query(text: &str) -> Result<Option<TsQuery>> {
    parse_query_with(text, &mut |word, weights, prefix| {
        Ok(TsQuery::Word { word: word.to_string(), weights, prefix }.into())
    })
    .map(|p| p.query)
}

/// Reads a query whose words are made into queries by `operand`, or dropped.
pub fn parse_query_with(
    text: &str,
    operand: &mut dyn FnMut(&str, u8, bool) -> Result<Piece>,
) -> Result<Piece> {
    let mut p = Parser { text, rest: text.trim_start(), depth: 0, operand };
    if p.rest.is_empty() {
        return Ok(Piece::dropped());
    }
    let query = p.or()?;
    if !p.rest.is_empty() {
        return Err(p.syntax());
    }
    Ok(query)
}

impl<F: FnMut(&str, u8, bool) -> Result<Piece>> Parser<'_, F> {
    fn syntax(&self) -> Error {
        err!(SYNTAX_ERROR, "syntax error in tsquery: \"{}\"", self.text)
    }

    fn eat(&mut self, symbol: &str) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn or(&mut self) -> Result<Piece> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(base::stack::too_deep());
        }
        let mut left = self.and()?;
        while self.eat("|") {
            left = left.or(self.and()?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Piece> {
        let mut left = self.phrase()?;
        while self.eat("&") {
            left = left.and(self.phrase()?);
        }
        Ok(left)
    }

    fn phrase(&mut self) -> Result<Piece> {
        let mut left = self.not()?;
        while self.rest.starts_with('<') {
            let distance = if self.eat("<->") {
                1
            } else {
                let end = self.rest.find('>').ok_or_else(|| self.syntax())?;
                let n: u32 = self.rest[1..end].parse().map_err(|_| self.syntax())?;
                if n > 16384 {
                    return Err(err!(
                        INVALID_PARAMETER_VALUE,
                        "distance in phrase operator must be an integer value between zero and \
                         16384 inclusive"
                    ));
                }
                self.rest = self.rest[end + 1..].trim_start();
                n as u16
            };
            left = left.phrase(distance, self.not()?);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Piece> {
        if self.eat("!") {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(base::stack::too_deep());
            }
            let inner = self.not()?;
            self.depth -= 1;
            return Ok(inner.not());
        }
        if self.eat("(") {
            let inner = self.or()?;
            return if self.eat(")") { Ok(inner) } else { Err(self.syntax()) };
        }
        let quoted = self.rest.starts_with('\'');
        let found = word(&mut self.rest, |c| "&|!()<:".contains(c));
        if found.is_none() && self.rest.ends_with('\\') {
            return Err(super::vector::unfinished(self.text));
        }
        let Some(word) = found.filter(|w| quoted || !w.is_empty()) else {
            if self.rest.is_empty() && !quoted {
                return Err(err!(SYNTAX_ERROR, "no operand in tsquery: \"{}\"", self.text));
            }
            return Err(self.syntax());
        };
        let (mut weights, mut prefix) = (0, false);
        if let Some(after) = self.rest.strip_prefix(':') {
            self.rest = after;
            while let Some(c) = self.rest.chars().next() {
                let letter = WEIGHTS.iter().position(|w| *w == c.to_ascii_uppercase());
                match (c, letter) {
                    ('*', _) => prefix = true,
                    (_, Some(w)) => weights |= 1 << w,
                    _ => break,
                }
                self.rest = &self.rest[1..];
            }
        }
        self.rest = self.rest.trim_start();
        if word.len() > WORD_MAX {
            bail!(PROGRAM_LIMIT_EXCEEDED, "word is too long in tsquery: \"{}\"", self.text);
        }
        (self.operand)(&word, weights, prefix)
    }
}

/// Places where a query matches.
struct Places {
    /// The matches by their last places, with how far before that they begin; of those that are
    /// not, if `negated`.
    places: Vec<(u16, u16)>,
    negated: bool,
    /// A word is there, but the document does not say where.
    unknown: bool,
}

impl Places {
    fn has_end(&self, end: u16) -> bool {
        let at = self.places.partition_point(|p| p.0 < end);
        self.places.get(at).is_some_and(|p| p.0 == end)
    }
}

impl TsQuery {
    fn priority(&self) -> u8 {
        match self {
            TsQuery::Or(..) => 1,
            TsQuery::And(..) => 2,
            TsQuery::Phrase(..) => 3,
            TsQuery::Not(_) => 4,
            TsQuery::Word { .. } => 5,
        }
    }

    /// How many words and operators it has.
    pub fn nodes(&self) -> i32 {
        match self {
            TsQuery::Word { .. } => 1,
            TsQuery::Not(a) => 1 + a.nodes(),
            TsQuery::And(a, b) | TsQuery::Or(a, b) | TsQuery::Phrase(_, a, b) => {
                1 + a.nodes() + b.nodes()
            }
        }
    }

    /// Calls `f` for each word.
    pub fn each_word<'a>(&'a self, f: &mut dyn FnMut(&'a str)) {
        match self {
            TsQuery::Word { word, .. } => f(word),
            TsQuery::Not(a) => a.each_word(f),
            TsQuery::And(a, b) | TsQuery::Or(a, b) | TsQuery::Phrase(_, a, b) => {
                a.each_word(f);
                b.each_word(f);
            }
        }
    }

    /// The lexemes of a document that a word means.
    pub fn lexemes<'v>(&self, v: &'v TsVector) -> Vec<&'v Lexeme> {
        let TsQuery::Word { word, prefix, .. } = self else { return Vec::new() };
        if !prefix {
            return v.get(word).into_iter().collect();
        }
        let from = v.lexemes.partition_point(|l| l.word.as_bytes() < word.as_bytes());
        let rest = v.lexemes[from..].iter();
        rest.take_while(|l| l.word.as_bytes().starts_with(word.as_bytes())).collect()
    }

    /// Whether a document matches.
    pub fn matches(&self, v: &TsVector) -> bool {
        match self {
            TsQuery::Word { weights, .. } => self.lexemes(v).iter().any(|l| {
                // Without places nothing is known about weights, which then match.
                *weights == 0
                    || l.positions.is_empty()
                    || l.positions.iter().any(|p| weights >> p.1 & 1 != 0)
            }),
            TsQuery::Not(a) => !a.matches(v),
            TsQuery::And(a, b) => a.matches(v) && b.matches(v),
            TsQuery::Or(a, b) => a.matches(v) || b.matches(v),
            TsQuery::Phrase(..) => {
                let found = self.places(v);
                !found.unknown && (found.negated || !found.places.is_empty())
            }
        }
    }

    fn places(&self, v: &TsVector) -> Places {
        match self {
            TsQuery::Word { weights, .. } => {
                let mut places: Vec<(u16, u16)> = Vec::new();
                let mut unknown = false;
                for l in self.lexemes(v) {
                    unknown |= l.positions.is_empty();
                    let fits =
                        l.positions.iter().filter(|p| *weights == 0 || weights >> p.1 & 1 != 0);
                    places.extend(fits.map(|p| (p.0, 0)));
                }
                places.sort_unstable();
                places.dedup();
                Places { places, negated: false, unknown }
            }
            TsQuery::Not(a) => {
                let inner = a.places(v);
                Places { negated: !inner.negated && !inner.unknown, ..inner }
            }
            TsQuery::And(a, b) => combine(&a.places(v), &b.places(v), None, false),
            TsQuery::Or(a, b) => combine(&a.places(v), &b.places(v), None, true),
            TsQuery::Phrase(distance, a, b) => {
                combine(&a.places(v), &b.places(v), Some((*distance, b.width())), false)
            }
        }
    }

    /// How far the last word of a phrase is from its first.
    fn width(&self) -> u16 {
        match self {
            TsQuery::Phrase(d, a, b) => a.width().saturating_add(*d).saturating_add(b.width()),
            _ => 0,
        }
    }

    /// Where the parts that a match needs are: for each part the ends of its matches and how long
    /// they are. None if there is no match; alternatives are put together, so that what is found
    /// is to be checked.
    pub fn locations(&self, v: &TsVector) -> Option<Vec<(Vec<u16>, u16)>> {
        match self {
            TsQuery::Word { .. } => {
                let places = self.places(v).places;
                let ends = places.iter().map(|p| p.0).collect();
                (!places.is_empty()).then(|| vec![(ends, 0)])
            }
            TsQuery::Not(a) => (!a.matches(v)).then(Vec::new),
            TsQuery::And(a, b) => {
                let mut all = a.locations(v)?;
                all.extend(b.locations(v)?);
                Some(all)
            }
            TsQuery::Or(a, b) => match (a.locations(v), b.locations(v)) {
                (Some(x), Some(y)) if !x.is_empty() && !y.is_empty() => {
                    let mut all = Vec::new();
                    for one in &x {
                        all.extend(y.iter().map(|other| either(one, other)));
                    }
                    Some(all)
                }
                (Some(x), Some(y)) => Some(if x.is_empty() { y } else { x }),
                (x, y) => x.or(y),
            },
            TsQuery::Phrase(..) => {
                let found = self.places(v);
                match (found.negated, found.places.is_empty()) {
                    _ if found.unknown => None,
                    (true, _) => Some(Vec::new()),
                    (false, true) => None,
                    (false, false) => {
                        let ends = found.places.iter().map(|p| p.0).collect();
                        Some(vec![(ends, self.width())])
                    }
                }
            }
        }
    }
}

/// The matches of either, all of the longer one's width.
fn either(a: &(Vec<u16>, u16), b: &(Vec<u16>, u16)) -> (Vec<u16>, u16) {
    let width = a.1.max(b.1);
    let moved = |l: &(Vec<u16>, u16)| -> Vec<u16> {
        l.0.iter().map(|p| p.saturating_add(width - l.1)).collect()
    };
    let mut all = moved(a);
    all.extend(moved(b));
    all.sort_unstable();
    all.dedup();
    (all, width)
}

/// Places of both, or of either; or of one so far after the other, which also has the usual width
/// of the second.
fn combine(a: &Places, b: &Places, phrase: Option<(u16, u16)>, either: bool) -> Places {
    let nothing = |p: &Places| !p.unknown && !p.negated && p.places.is_empty();
    let unknown = match either {
        true => a.unknown || b.unknown,
        false => (a.unknown || b.unknown) && !nothing(a) && !nothing(b),
    };
    if unknown {
        return Places { places: Vec::new(), negated: false, unknown };
    }
    let (distance, width) = phrase.unwrap_or_default();
    let shift = distance.saturating_add(width);
    let negated = match either {
        true => a.negated || b.negated,
        false => a.negated && b.negated,
    };
    let mut places: Vec<(u16, u16)> = Vec::new();
    let moved = |p: &(u16, u16)| (p.0.saturating_add(shift), p.1.saturating_add(shift));
    if phrase.is_some() && !a.negated && !b.negated {
        for (end, own) in &b.places {
            let Some(before) = end.checked_sub(own.saturating_add(distance)) else { continue };
            let found = a.places.iter().filter(|p| p.0 == before);
            places.extend(found.map(|p| (*end, p.1.saturating_add(*own).saturating_add(distance))));
        }
    } else {
        let a_moved = Places {
            places: a.places.iter().map(moved).collect(),
            negated: a.negated,
            unknown: false,
        };
        let holds = |end: u16| {
            let (x, y) = (a_moved.has_end(end) != a.negated, b.has_end(end) != b.negated);
            if either { x || y } else { x && y }
        };
        places.extend(a_moved.places.iter().chain(&b.places));
        places.retain(|p| holds(p.0) != negated);
    }
    places.sort_unstable();
    places.dedup();
    Places { places, negated, unknown: false }
}

impl fmt::Display for TsQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let child = |q: &TsQuery, least: u8, f: &mut fmt::Formatter<'_>| {
            if q.priority() < least { write!(f, "( {q} )") } else { write!(f, "{q}") }
        };
        match self {
            TsQuery::Word { word, weights, prefix } => {
                f.write_str(&quoted(word))?;
                if *weights != 0 || *prefix {
                    f.write_str(":")?;
                }
                if *prefix {
                    f.write_str("*")?;
                }
                for w in (0..4).rev().filter(|w| weights >> w & 1 != 0) {
                    write!(f, "{}", WEIGHTS[w])?;
                }
                Ok(())
            }
            TsQuery::Not(a) => {
                f.write_str("!")?;
                child(a, 4, f)
            }
            TsQuery::And(a, b) => {
                child(a, 2, f)?;
                f.write_str(" & ")?;
                child(b, 2, f)
            }
            TsQuery::Or(a, b) => {
                child(a, 1, f)?;
                f.write_str(" | ")?;
                child(b, 1, f)
            }
            TsQuery::Phrase(distance, a, b) => {
                child(a, 3, f)?;
                match distance {
                    1 => f.write_str(" <-> ")?,
                    n => write!(f, " <{n}> ")?,
                }
                child(b, 4, f)
            }
        }
    }
}
