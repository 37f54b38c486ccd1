//! PostgreSQL's advanced regular expressions.
//!
//! A pattern is parsed to a tree ([`parse`]). What the library can decide (is there a match, where
//! does the leftmost one start, how long is the longest) it decides, from the same tree
//! ([`fast`]). The rest is done here: a match's end is found by running all states at once
//! ([`nfa`]), so that no pattern without back-references needs more than its length times the
//! text's; the spans of groups are found by taking the match apart again, each part as long (or
//! as short) as it prefers ([`dissect`]).

pub(crate) mod class;
mod dissect;
mod fast;
mod nfa;
mod parse;
mod size;

use crate::letters::Letters;
use base::{Error, Result, SqlState, err};
use dissect::{Characters, Matcher};
use fast::Fast;
use parse::Tree;
use std::sync::{Mutex, PoisonError};

/// How a pattern is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) global: bool,
    pub(crate) ignore_case: bool,
    /// A basic regular expression.
    pub(crate) basic: bool,
    /// An extended one, without escapes.
    pub(crate) extended: bool,
    /// A plain string.
    pub(crate) quote: bool,
    /// White space and comments are skipped.
    pub(crate) expanded: bool,
    /// `.` and negated classes stop at a newline.
    pub(crate) newline_stop: bool,
    /// `^` and `$` match at newlines.
    pub(crate) newline_anchor: bool,
    /// What has cases, and what is in classes.
    pub(crate) letters: Letters,
}

/// Start and end of the whole match and of each group, in bytes.
pub(crate) type Spans = Vec<Option<(usize, usize)>>;

/// A compiled pattern.
pub(crate) struct Pattern {
    tree: Tree,
    fast: Option<Fast>,
    /// Programs of parts of the tree, made when they are needed.
    programs: Mutex<nfa::Programs>,
}

/// A pattern for others to use, as `pg_hba.conf` has them.
#[derive(Clone)]
pub struct Regex(std::sync::Arc<Pattern>);

impl std::fmt::Debug for Regex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Regex")
    }
}

impl Regex {
    /// Compiles an advanced regular expression.
    pub fn new(pattern: &str) -> Result<Regex> {
        compile(pattern, Flags::default()).map(|p| Regex(std::sync::Arc::new(p)))
    }

    /// Whether it matches anywhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }

    /// If it matches: what its first group is.
    pub fn first_group(&self, text: &str) -> Option<Option<String>> {
        let spans = self.0.captures_at(text, 0).ok()??;
        let group = spans.get(1).copied().flatten();
        Some(group.map(|(from, to)| text[from..to].to_string()))
    }
}

#[cold]
pub(crate) fn invalid(what: &str) -> Error {
    err!(INVALID_REGULAR_EXPRESSION, "invalid regular expression: {what}")
}

/// A pattern that is nested deeper than the stack allows is too complex, like one that has too
/// many states.
fn too_complex(e: Error, begin: &str) -> Error {
    match e.code() {
        SqlState::STATEMENT_TOO_COMPLEX => {
            err!(INVALID_REGULAR_EXPRESSION, "{begin}: regular expression is too complex")
        }
        _ => e,
    }
}

/// Compiles a pattern.
pub(crate) fn compile(pattern: &str, flags: Flags) -> Result<Pattern> {
    let tree = parse::parse(pattern, flags).and_then(|tree| {
        // Only a repetition makes a pattern much larger than its text.
        if pattern.len() > 1000 || pattern.contains('{') {
            size::check(&tree.root)?;
        }
        Ok(tree)
    });
    let tree = tree.map_err(|e| too_complex(e, "invalid regular expression"))?;
    let fast = fast::compile(&tree);
    Ok(Pattern { tree, fast, programs: Mutex::default() })
}

impl Pattern {
    /// Whether it matches anywhere.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool> {
        match &self.fast {
            Some(fast) => Ok(fast.is_match(text)),
            None => Ok(self.search(&Characters::new(text), 0, false)?.is_some()),
        }
    }

    /// The first match from a byte offset.
    pub(crate) fn captures_at(&self, text: &str, at: usize) -> Result<Option<Spans>> {
        self.captures_in(text, &mut None, at)
    }

    /// As [`Pattern::captures_at`] for a text that is searched again and again: its characters
    /// are kept.
    pub(crate) fn captures_in(
        &self,
        text: &str,
        characters: &mut Option<Characters>,
        at: usize,
    ) -> Result<Option<Spans>> {
        let Some(fast) = &self.fast else {
            let text = characters.get_or_insert_with(|| Characters::new(text));
            return self.search(text, at, true);
        };
        let Some((start, end)) = fast.find(text, at) else { return Ok(None) };
        // The library's end is the right one if the longest match is wanted.
        let end = if self.tree.shortest { None } else { Some(end) };
        if let (Some(end), 0) = (end, self.tree.groups) {
            return Ok(Some(vec![Some((start, end))]));
        }
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let text = characters.get_or_insert_with(|| Characters::new(text));
        let mut m = Matcher::new(&self.tree, &mut programs, text);
        let begin = m.char_at(start);
        let end = match end {
            Some(end) => m.char_at(end),
            None => match m.ends(&self.tree.root, begin)?.first() {
                Some(end) => *end,
                None => return Ok(None),
            },
        };
        let spans = m.take_apart(begin, end);
        spans.map(Some).map_err(|e| too_complex(e, "regular expression failed"))
    }

    /// Whether the part of the text up to its end matches, for `^` patterns and the like.
    fn search(&self, text: &Characters, at: usize, captures: bool) -> Result<Option<Spans>> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut m = Matcher::new(&self.tree, &mut programs, text);
        m.search(at, captures).map_err(|e| too_complex(e, "regular expression failed"))
    }
}

#[cfg(test)]
mod tests;
