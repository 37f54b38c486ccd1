//! Documents.

use super::{POSITION_MAX, quoted};
use base::{Error, Result, bail, err};
use std::cmp::Ordering;
use std::fmt;

/// Letters of the weights, lowest first.
pub const WEIGHTS: [char; 4] = ['D', 'C', 'B', 'A'];

/// A lexeme and where it is in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// The word.
    pub word: String,
    /// Places from 1, each with its weight (0 is D, 3 is A), ascending.
    pub positions: Vec<(u16, u8)>,
}

/// A document: its lexemes, sorted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TsVector {
    /// The lexemes by their bytes.
    pub lexemes: Vec<Lexeme>,
}

impl TsVector {
    /// A document of these lexemes; equal ones are put together.
    pub fn new(mut lexemes: Vec<Lexeme>) -> TsVector {
        lexemes.sort_by(|a, b| a.word.as_bytes().cmp(b.word.as_bytes()));
        let mut out: Vec<Lexeme> = Vec::with_capacity(lexemes.len());
        for lexeme in lexemes {
            match out.last_mut() {
                Some(last) if last.word == lexeme.word => last.positions.extend(lexeme.positions),
                _ => out.push(lexeme),
            }
        }
        for lexeme in &mut out {
            // Of equal places the one with the highest weight stays.
            lexeme.positions.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
            lexeme.positions.dedup_by_key(|p| p.0);
            lexeme.positions.truncate(256);
        }
        TsVector { lexemes: out }
    }

    /// How many bytes PostgreSQL's form of it has, which its order begins with.
    fn size(&self) -> usize {
        let mut text = 0;
        for l in &self.lexemes {
            text += l.word.len();
            if !l.positions.is_empty() {
                text = text.next_multiple_of(2) + 2 + 2 * l.positions.len();
            }
        }
        8 + 4 * self.lexemes.len() + text
    }

    /// The order of sorts and indexes, which means nothing but is the same everywhere.
    pub fn order(&self, other: &TsVector) -> Ordering {
        let sizes = self.size().cmp(&other.size());
        let counts = self.lexemes.len().cmp(&other.lexemes.len());
        let pairs = self.lexemes.iter().zip(&other.lexemes);
        sizes.then(counts).then_with(|| {
            pairs
                .map(|(a, b)| {
                    let (x, y) = (&a.positions, &b.positions);
                    let words = || a.word.as_bytes().cmp(b.word.as_bytes());
                    let places = || {
                        // The first of unequal places makes the one that is later the smaller.
                        let unequal = x.iter().zip(y).find(|(p, q)| p != q);
                        unequal.map_or(Ordering::Equal, |(p, q)| q.0.cmp(&p.0).then(q.1.cmp(&p.1)))
                    };
                    (y.is_empty().cmp(&x.is_empty()))
                        .then_with(words)
                        .then_with(|| y.len().cmp(&x.len()))
                        .then_with(places)
                })
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        })
    }

    /// Reads the stored form.
    pub fn decode(mut b: &[u8]) -> TsVector {
        let mut lexemes = Vec::new();
        let word = |b: &mut &[u8]| -> Option<u16> {
            let (head, rest) = b.split_at_checked(2)?;
            *b = rest;
            Some(u16::from_le_bytes([head[0], head[1]]))
        };
        while let Some(len) = word(&mut b) {
            let Some((text, rest)) = b.split_at_checked(len as usize) else { break };
            b = rest;
            let n = word(&mut b).unwrap_or(0);
            let mut positions = Vec::with_capacity(n.min(256) as usize);
            for _ in 0..n {
                let Some(p) = word(&mut b) else { break };
                positions.push((p & POSITION_MAX, (p >> 14) as u8));
            }
            let word = String::from_utf8_lossy(text).into_owned();
            lexemes.push(Lexeme { word, positions });
        }
        TsVector { lexemes }
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for l in &self.lexemes {
            out.extend_from_slice(&(l.word.len() as u16).to_le_bytes());
            out.extend_from_slice(l.word.as_bytes());
            out.extend_from_slice(&(l.positions.len() as u16).to_le_bytes());
            for (place, weight) in &l.positions {
                out.extend_from_slice(&((*weight as u16) << 14 | place).to_le_bytes());
            }
        }
        out
    }

    /// The lexeme of this word.
    pub fn get(&self, word: &str) -> Option<&Lexeme> {
        let found = self.lexemes.binary_search_by(|l| l.word.as_bytes().cmp(word.as_bytes()));
        found.ok().map(|i| &self.lexemes[i])
    }

    /// The largest place.
    pub fn last_place(&self) -> u16 {
        let places = self.lexemes.iter().flat_map(|l| &l.positions);
        places.map(|p| p.0).max().unwrap_or(0)
    }
}

impl fmt::Display for TsVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, l) in self.lexemes.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            f.write_str(&quoted(&l.word))?;
            for (j, (place, weight)) in l.positions.iter().enumerate() {
                let mark = if j == 0 { ":" } else { "," };
                write!(f, "{mark}{place}")?;
                if *weight > 0 {
                    write!(f, "{}", WEIGHTS[*weight as usize & 3])?;
                }
            }
        }
        Ok(())
    }
}

/// Reads a word that may be quoted; `stop` says what ends it.
pub(super) fn word(rest: &mut &str, stop: impl Fn(char) -> bool) -> Option<String> {
    let mut out = String::new();
    let mut chars = rest.chars();
    if rest.starts_with('\'') {
        chars.next();
        loop {
            match chars.next()? {
                '\'' if chars.as_str().starts_with('\'') => {
                    chars.next();
                    out.push('\'');
                }
                '\'' => break,
                '\\' => out.push(chars.next()?),
                c => out.push(c),
            }
        }
        *rest = chars.as_str();
        return Some(out);
    }
    while let Some(c) = chars.clone().next() {
        if c.is_whitespace() || stop(c) {
            break;
        }
        chars.next();
        match c {
            '\\' => out.push(chars.next()?),
            c => out.push(c),
        }
    }
    *rest = chars.as_str();
    Some(out)
}

/// The error of a text that ends within a quoted word or behind a backslash.
pub(super) fn unfinished(text: &str) -> Error {
    match text.ends_with('\\') {
        true => err!(SYNTAX_ERROR, "there is no escaped character: \"{text}\""),
        false => err!(SYNTAX_ERROR, "syntax error in tsvector: \"{text}\""),
    }
}

/// Reads a document's text form.
pub fn parse_vector(text: &str) -> Result<TsVector> {
    let syntax = || -> Error { err!(SYNTAX_ERROR, "syntax error in tsvector: \"{text}\"") };
    let mut rest = text.trim_start();
    let mut lexemes = Vec::new();
    while !rest.is_empty() {
        // At the start of a word a colon is a letter.
        let colon = rest.starts_with(':');
        if colon {
            rest = &rest[1..];
        }
        let mut word = word(&mut rest, |c| c == ':').ok_or_else(|| unfinished(text))?;
        if colon {
            word.insert(0, ':');
        }
        if word.is_empty() {
            return Err(syntax());
        }
        if word.len() > 2046 {
            bail!(
                PROGRAM_LIMIT_EXCEEDED,
                "word is too long ({} bytes, max 2046 bytes)",
                word.len()
            );
        }
        let mut positions = Vec::new();
        if let Some(after) = rest.strip_prefix(':') {
            rest = after;
            loop {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                if digits == 0 {
                    return Err(syntax());
                }
                let place: u64 = rest[..digits].parse().unwrap_or(u64::MAX);
                if place == 0 {
                    bail!(SYNTAX_ERROR, "wrong position info in tsvector: \"{text}\"");
                }
                rest = &rest[digits..];
                let mut weight = 0;
                // The last letter counts; more are right only after D, which is no weight.
                while let Some(c) = rest.chars().next() {
                    let upper = if c == '*' { 'A' } else { c.to_ascii_uppercase() };
                    if let Some(w) = WEIGHTS.iter().position(|w| *w == upper) {
                        if weight != 0 {
                            return Err(syntax());
                        }
                        weight = w as u8;
                        rest = &rest[c.len_utf8()..];
                    } else {
                        break;
                    }
                }
                positions.push((place.min(POSITION_MAX as u64) as u16, weight));
                match rest.strip_prefix(',') {
                    Some(after) => rest = after,
                    None => break,
                }
            }
            if rest.chars().next().is_some_and(|c| !c.is_whitespace()) {
                return Err(syntax());
            }
        }
        lexemes.push(Lexeme { word, positions });
        rest = rest.trim_start();
    }
    Ok(TsVector::new(lexemes))
}
