//! The syntax of collation rules (LDML, "Collation Rules"), as ICU reads it.
//!
//! A text of rules is read into steps that the tailoring takes in order: resets, relations,
//! settings and sets of characters whose contractions are given up.

use super::{Failure, Level, Position, Result, Settings};

/// What a step of the rules asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// `&text`, with the level of `[before n]`.
    Reset(Option<Level>, String),
    /// `&[last regular]` and the like.
    ResetAt(Option<Level>, Position),
    /// `< text`, `<< prefix | text / extension`, ...; no level is `=`.
    Relation { level: Option<Level>, prefix: String, text: String, extension: String },
    /// `[suppressContractions [set]]`.
    Suppress(Vec<char>),
}

/// The rules and what they set for the whole collation.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Parsed {
    pub steps: Vec<Step>,
    pub settings: Settings,
}

struct Parser {
    text: Vec<char>,
    at: usize,
    out: Parsed,
}

fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{85}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
}

fn bad<T>() -> Result<T> {
    Err(Failure::Format)
}

/// Reads rules.
pub(super) fn parse(rules: &str) -> Result<Parsed> {
    let mut p = Parser { text: rules.chars().collect(), at: 0, out: Parsed::default() };
    while let Some(c) = p.peek() {
        match c {
            c if is_space(c) => p.at += 1,
            '&' => p.chain()?,
            '[' => p.setting()?,
            '#' => p.comment(),
            '@' => {
                p.out.settings.backwards = Some(true);
                p.at += 1;
            }
            '!' => p.at += 1,
            _ => return bad(),
        }
    }
    Ok(p.out)
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    fn comment(&mut self) {
        while let Some(c) = self.peek() {
            self.at += 1;
            if matches!(c, '\n' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}') {
                break;
            }
        }
    }

    /// A reset and the relations after it.
    fn chain(&mut self) -> Result<()> {
        self.at += 1;
        self.skip_spaces();
        let before = self.before();
        self.skip_spaces();
        match self.peek() {
            None => return bad(),
            Some('[') => {
                let position = self.position()?;
                self.out.steps.push(Step::ResetAt(before, position));
            }
            Some(_) => {
                let text = self.string()?;
                self.out.steps.push(Step::Reset(before, text));
            }
        }
        let mut first = true;
        loop {
            self.skip_spaces();
            let Some((level, starred)) = self.operator() else {
                if self.peek() == Some('#') {
                    self.comment();
                    continue;
                }
                return if first { bad() } else { Ok(()) };
            };
            if let Some(before) = before {
                let same = level == Some(before);
                let weaker = level.is_none_or(|l| l >= before);
                if if first { !same } else { !weaker } {
                    return bad();
                }
            }
            if starred {
                self.starred(level)?
            } else {
                self.relation(level)?
            }
            first = false;
        }
    }

    /// `[before n]`, if it is here.
    fn before(&mut self) -> Option<Level> {
        let start = self.at;
        let word: String = self.text[start..].iter().take(7).collect();
        if word != "[before" || !self.text.get(start + 7).copied().is_some_and(is_space) {
            return None;
        }
        self.at += 7;
        self.skip_spaces();
        let level = match self.peek() {
            Some('1') => Level::Primary,
            Some('2') => Level::Secondary,
            Some('3') => Level::Tertiary,
            _ => {
                self.at = start;
                return None;
            }
        };
        if self.text.get(self.at + 1) != Some(&']') {
            self.at = start;
            return None;
        }
        self.at += 2;
        Some(level)
    }

    /// The operator of a relation: its level, none for `=`, and whether it has a star.
    fn operator(&mut self) -> Option<(Option<Level>, bool)> {
        let (level, mut width) = match self.peek()? {
            '<' => {
                let count = self.text[self.at..].iter().take(4).take_while(|c| **c == '<').count();
                let level = [Level::Primary, Level::Secondary, Level::Tertiary, Level::Quaternary];
                (Some(level[count - 1]), count)
            }
            ';' => (Some(Level::Secondary), 1),
            ',' => (Some(Level::Tertiary), 1),
            '=' => (None, 1),
            _ => return None,
        };
        let may_have_star = !matches!(self.peek(), Some(';' | ','));
        let starred = may_have_star && self.text.get(self.at + width) == Some(&'*');
        width += usize::from(starred);
        self.at += width;
        Some((level, starred))
    }

    fn relation(&mut self, level: Option<Level>) -> Result<()> {
        let mut text = self.string()?;
        let mut prefix = String::new();
        let mut extension = String::new();
        if self.peek() == Some('|') {
            self.at += 1;
            prefix = text;
            text = self.string()?;
        }
        if self.peek() == Some('/') {
            self.at += 1;
            extension = self.string()?;
        }
        if !prefix.is_empty() && [&prefix, &text].iter().any(|s| !starts_apart(s)) {
            return bad();
        }
        self.out.steps.push(Step::Relation { level, prefix, text, extension });
        Ok(())
    }

    /// `<* abc-f`: each character is a relation of its own.
    fn starred(&mut self, level: Option<Level>) -> Result<()> {
        let mut last: Option<char> = None;
        let mut text = self.string_as_is()?;
        let mut rest: Vec<char> = text.chars().collect();
        loop {
            for c in rest {
                self.starred_one(level, c)?;
                last = Some(c);
            }
            if self.peek() != Some('-') {
                break;
            }
            let Some(from) = last.take() else { return bad() };
            self.at += 1;
            text = self.string_as_is()?;
            let mut chars = text.chars();
            let Some(to) = chars.next().filter(|to| *to >= from) else { return bad() };
            for c in (from..=to).skip(1) {
                self.starred_one(level, c)?;
            }
            rest = chars.collect();
        }
        self.skip_spaces();
        Ok(())
    }

    fn starred_one(&mut self, level: Option<Level>, c: char) -> Result<()> {
        use unicode_normalization::char::{canonical_combining_class, decompose_canonical};
        let mut same = canonical_combining_class(c) == 0;
        decompose_canonical(c, |d| same &= d == c);
        if !same || ('\u{fffd}'..='\u{ffff}').contains(&c) {
            return bad();
        }
        self.out.steps.push(Step::Relation {
            level,
            prefix: String::new(),
            text: c.to_string(),
            extension: String::new(),
        });
        Ok(())
    }

    /// A string that must have something, with the space around it.
    fn string(&mut self) -> Result<String> {
        let text = self.string_as_is()?;
        self.skip_spaces();
        Ok(text)
    }

    fn string_as_is(&mut self) -> Result<String> {
        self.skip_spaces();
        let mut out = String::new();
        while let Some(c) = self.peek() {
            match c {
                '\'' => {
                    self.at += 1;
                    self.quoted(&mut out)?;
                }
                '\\' => {
                    let Some(next) = self.text.get(self.at + 1) else { return bad() };
                    out.push(*next);
                    self.at += 2;
                }
                c if c.is_ascii_punctuation() || is_space(c) => break,
                c => {
                    out.push(c);
                    self.at += 1;
                }
            }
        }
        if out.is_empty() || out.chars().any(|c| ('\u{fffd}'..='\u{ffff}').contains(&c)) {
            return bad();
        }
        Ok(out)
    }

    /// What is after an opening quote: `''` is a quote, anything else goes on to the next one.
    fn quoted(&mut self, out: &mut String) -> Result<()> {
        if self.peek() == Some('\'') {
            self.at += 1;
            out.push('\'');
            return Ok(());
        }
        loop {
            let Some(c) = self.peek() else { return bad() };
            self.at += 1;
            if c == '\'' {
                if self.peek() != Some('\'') {
                    return Ok(());
                }
                self.at += 1;
            }
            out.push(c);
        }
    }

    /// Words up to a sign of the syntax, with one space between them; stays at that sign.
    fn words(&mut self) -> Option<String> {
        let mut out = String::new();
        self.skip_spaces();
        loop {
            let c = self.peek()?;
            if c.is_ascii_punctuation() && c != '-' && c != '_' {
                return Some(out.trim_end().to_string());
            }
            if is_space(c) {
                out.push(' ');
                self.skip_spaces();
            } else {
                out.push(c);
                self.at += 1;
            }
        }
    }

    fn position(&mut self) -> Result<Position> {
        self.at += 1;
        let words = self.words();
        if self.peek() != Some(']') {
            return bad();
        }
        self.at += 1;
        Position::named(words.as_deref().unwrap_or_default()).ok_or(Failure::Format)
    }

    fn setting(&mut self) -> Result<()> {
        self.at += 1;
        let Some(words) = self.words().filter(|w| !w.is_empty()) else { return bad() };
        match self.peek() {
            Some(']') => {
                self.at += 1;
                self.out.settings.set(&words)
            }
            Some('[') => {
                let set = self.set()?;
                self.skip_spaces();
                if self.peek() != Some(']') {
                    return bad();
                }
                self.at += 1;
                match words.as_str() {
                    "optimize" => {}
                    "suppressContractions" => self.out.steps.push(Step::Suppress(set)),
                    _ => return bad(),
                }
                Ok(())
            }
            _ => bad(),
        }
    }

    /// A set of characters, `[a c-f]`; properties and operations are not known.
    fn set(&mut self) -> Result<Vec<char>> {
        self.at += 1;
        let mut out: Vec<char> = Vec::new();
        loop {
            self.skip_spaces();
            let Some(c) = self.peek() else { return bad() };
            self.at += 1;
            match c {
                ']' => return Ok(out),
                '-' if !out.is_empty() && self.peek() != Some(']') => {
                    self.skip_spaces();
                    let to = self.set_character()?;
                    let from = out.last().copied().unwrap_or(to);
                    if to < from {
                        return bad();
                    }
                    out.extend((from..=to).skip(1));
                }
                '[' | '^' | '{' | '$' | '&' | ':' => {
                    return Err(Failure::NotYet("a set of characters with operations"));
                }
                _ => {
                    self.at -= 1;
                    let c = self.set_character()?;
                    out.push(c);
                }
            }
        }
    }

    /// One character of a set; `\u00e4` and the like are read.
    fn set_character(&mut self) -> Result<char> {
        let Some(c) = self.peek() else { return bad() };
        self.at += 1;
        if c != '\\' {
            return Ok(c);
        }
        let Some(kind) = self.peek() else { return bad() };
        self.at += 1;
        let digits = match kind {
            'u' => 4,
            'U' => 8,
            'p' | 'P' | 'N' => {
                return Err(Failure::NotYet("a set of characters with properties"));
            }
            other => return Ok(other),
        };
        let hex: String = self.text[self.at..].iter().take(digits).collect();
        self.at += digits.min(self.text.len() - self.at);
        let code = u32::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == digits);
        code.and_then(char::from_u32).ok_or(Failure::Format)
    }
}

/// Whether a text never joins with what is before it when it is composed.
fn starts_apart(text: &str) -> bool {
    text.chars().next().is_none_or(|c| {
        unicode_normalization::char::canonical_combining_class(c) == 0
            && unicode_normalization::is_nfc_quick(std::iter::once(c))
                == unicode_normalization::IsNormalized::Yes
    })
}
