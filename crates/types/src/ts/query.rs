//! Queries.

use super::vector::{Lexeme, WEIGHTS, word};
use super::{DEPTH_MAX, TsVector, quoted};
use base::{Error, Result, err};
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

struct Parser<'a, F> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
    operand: F,
}

/// Reads a query's text form; None if it has no words.
pub fn parse_query(text: &str) -> Result<Option<TsQuery>> {
    parse_query_with(text, &mut |word, weights, prefix| {
        Ok(Some(TsQuery::Word { word: word.to_string(), weights, prefix }))
    })
}

/// Reads a query whose words are made into queries by `operand`, or dropped.
pub fn parse_query_with(
    text: &str,
    operand: &mut dyn FnMut(&str, u8, bool) -> Result<Option<TsQuery>>,
) -> Result<Option<TsQuery>> {
    let mut p = Parser { text, rest: text.trim_start(), depth: 0, operand };
    if p.rest.is_empty() {
        return Ok(None);
    }
    let query = p.or()?;
    if !p.rest.is_empty() {
        return Err(p.syntax());
    }
    Ok(query)
}

fn both(
    a: Option<TsQuery>,
    b: Option<TsQuery>,
    join: impl FnOnce(Box<TsQuery>, Box<TsQuery>) -> TsQuery,
) -> Option<TsQuery> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(Box::new(a), Box::new(b))),
        // What a stop word was part of is what is left.
        (a, b) => a.or(b),
    }
}

impl<F: FnMut(&str, u8, bool) -> Result<Option<TsQuery>>> Parser<'_, F> {
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

    fn or(&mut self) -> Result<Option<TsQuery>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(err!(STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
        }
        let mut left = self.and()?;
        while self.eat("|") {
            left = both(left, self.and()?, TsQuery::Or);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Option<TsQuery>> {
        let mut left = self.phrase()?;
        while self.eat("&") {
            left = both(left, self.phrase()?, TsQuery::And);
        }
        Ok(left)
    }

    fn phrase(&mut self) -> Result<Option<TsQuery>> {
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
            left = both(left, self.not()?, |a, b| TsQuery::Phrase(distance, a, b));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Option<TsQuery>> {
        if self.eat("!") {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(err!(STATEMENT_TOO_COMPLEX, "stack depth limit exceeded"));
            }
            let inner = self.not()?;
            self.depth -= 1;
            return Ok(inner.map(|q| TsQuery::Not(Box::new(q))));
        }
        if self.eat("(") {
            let inner = self.or()?;
            return if self.eat(")") { Ok(inner) } else { Err(self.syntax()) };
        }
        let quoted = self.rest.starts_with('\'');
        let found = word(&mut self.rest, |c| "&|!()<:".contains(c));
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
        (self.operand)(&word, weights, prefix)
    }
}

/// Places where a query matches.
struct Places {
    /// Last places of the matches; of those that are not, if `negated`.
    places: Vec<u16>,
    negated: bool,
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
                // Without places nothing is known about weights, which then do not match.
                *weights == 0 || l.positions.iter().any(|p| weights >> p.1 & 1 != 0)
            }),
            TsQuery::Not(a) => !a.matches(v),
            TsQuery::And(a, b) => a.matches(v) && b.matches(v),
            TsQuery::Or(a, b) => a.matches(v) || b.matches(v),
            TsQuery::Phrase(..) => {
                let found = self.places(v);
                found.negated || !found.places.is_empty()
            }
        }
    }

    fn places(&self, v: &TsVector) -> Places {
        match self {
            TsQuery::Word { weights, .. } => {
                let mut places: Vec<u16> = Vec::new();
                for l in self.lexemes(v) {
                    let fits =
                        l.positions.iter().filter(|p| *weights == 0 || weights >> p.1 & 1 != 0);
                    places.extend(fits.map(|p| p.0));
                }
                places.sort_unstable();
                places.dedup();
                Places { places, negated: false }
            }
            TsQuery::Not(a) => {
                let inner = a.places(v);
                Places { negated: !inner.negated, ..inner }
            }
            TsQuery::And(a, b) => combine(&a.places(v), &b.places(v), 0, 0, false),
            TsQuery::Or(a, b) => combine(&a.places(v), &b.places(v), 0, 0, true),
            TsQuery::Phrase(distance, a, b) => {
                // The places of the second operand may be those of a phrase, which starts earlier.
                let width = b.width();
                combine(&a.places(v), &b.places(v), *distance + width, 0, false)
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
}

/// Places of both, or of either; those of `a` are moved on by `shift` first.
fn combine(a: &Places, b: &Places, shift: u16, _: u16, either: bool) -> Places {
    let moved: Vec<u16> = a.places.iter().map(|p| p.saturating_add(shift)).collect();
    let inside = |list: &[u16], p: &u16| list.binary_search(p).is_ok();
    let negated = match either {
        true => a.negated || b.negated,
        false => a.negated && b.negated,
    };
    let mut places: Vec<u16> = moved.iter().chain(&b.places).copied().collect();
    places.sort_unstable();
    places.dedup();
    let holds = |p: &u16| {
        let (x, y) = (inside(&moved, p) != a.negated, inside(&b.places, p) != b.negated);
        if either { x || y } else { x && y }
    };
    places.retain(|p| holds(p) != negated);
    Places { places, negated }
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
