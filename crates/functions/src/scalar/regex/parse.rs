//! From a pattern's text to its tree.

use super::class::{CharSet, character_name, named};
use super::{Flags, invalid};
use crate::letters::Letters;
use base::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// Repetition counts may be as large.
const COUNT_MAX: u32 = 255;

/// A place that must be as said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordEdge,
    NotWordEdge,
}

/// Which of several matches from one place a part would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefer {
    None,
    Long,
    Short,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Empty,
    Set(Arc<CharSet>),
    Anchor(Anchor),
    Look { ahead: bool, negate: bool, part: Part },
    Concat(Vec<Part>),
    Alt(Vec<Part>),
    Repeat { part: Part, min: u32, max: Option<u32> },
    Capture(u32, Part),
    Backref(u32),
}

/// A part of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub id: u32,
    pub prefer: Prefer,
    /// There are groups or back-references in it.
    messy: bool,
    node: Box<Node>,
}

impl Part {
    pub fn kind(&self) -> &Node {
        &self.node
    }

    pub fn is_messy(&self) -> bool {
        self.messy
    }

    /// Calls `f` with the number of each group in it.
    pub fn each_group(&self, f: &mut dyn FnMut(u32)) {
        if !self.messy {
            return;
        }
        match self.kind() {
            Node::Capture(n, inner) => {
                f(*n);
                inner.each_group(f);
            }
            Node::Concat(parts) | Node::Alt(parts) => parts.iter().for_each(|p| p.each_group(f)),
            Node::Repeat { part, .. } => part.each_group(f),
            _ => {}
        }
    }
}

/// A whole pattern.
pub(super) struct Tree {
    pub root: Part,
    pub groups: usize,
    /// The shortest match is wanted.
    pub shortest: bool,
    pub backrefs: bool,
    pub letters: Letters,
    pub ignore_case: bool,
    /// Characters of words.
    pub word: CharSet,
    looks: HashMap<u32, Part>,
    group_parts: Vec<Option<Part>>,
}

impl Tree {
    pub fn look(&self, id: u32) -> Option<&Part> {
        self.looks.get(&id)
    }

    pub fn group(&self, n: u32) -> Result<&Part> {
        let found = self.group_parts.get(n as usize).and_then(Option::as_ref);
        found.ok_or_else(|| invalid("invalid backreference number"))
    }
}

struct Parser<'a> {
    chars: Vec<char>,
    at: usize,
    flags: Flags,
    next_id: u32,
    groups: u32,
    /// Groups that are closed, with what is in them.
    closed: Vec<Option<Part>>,
    looks: HashMap<u32, Part>,
    backrefs: bool,
    /// How many lookarounds are open.
    in_look: u32,
    depth: &'a mut u32,
}

/// Takes off `***:`, `***=` and `(?letters)` at the front.
fn directives(pattern: &str, mut flags: Flags) -> Result<(&str, Flags)> {
    if flags.quote {
        return Ok((pattern, flags));
    }
    let mut pattern = pattern;
    if let Some(rest) = pattern.strip_prefix("***") {
        match rest.chars().next() {
            Some('=') => {
                flags.quote = true;
                return Ok((&rest[1..], flags));
            }
            Some(':') => {
                (flags.basic, flags.extended) = (false, false);
                pattern = &rest[1..];
            }
            Some('?') => return Err(invalid("invalid regexp (reg version 0.8)")),
            _ => return Err(invalid("quantifier operand invalid")),
        }
    }
    if flags.basic || flags.extended {
        return Ok((pattern, flags));
    }
    let Some(rest) = pattern.strip_prefix("(?") else { return Ok((pattern, flags)) };
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Ok((pattern, flags));
    }
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    for c in rest[..end].chars() {
        match c {
            'b' => (flags.basic, flags.extended, flags.quote) = (true, false, false),
            'c' => flags.ignore_case = false,
            'e' => (flags.extended, flags.basic, flags.quote) = (true, false, false),
            'i' => flags.ignore_case = true,
            'm' | 'n' => (flags.newline_stop, flags.newline_anchor) = (true, true),
            'p' => (flags.newline_stop, flags.newline_anchor) = (true, false),
            'q' => (flags.quote, flags.basic, flags.extended) = (true, false, false),
            's' => (flags.newline_stop, flags.newline_anchor) = (false, false),
            't' => flags.expanded = false,
            'w' => (flags.newline_stop, flags.newline_anchor) = (false, true),
            'x' => flags.expanded = true,
            _ => return Err(invalid("invalid embedded option")),
        }
    }
    if !rest[end..].starts_with(')') {
        return Err(invalid("invalid embedded option"));
    }
    Ok((&rest[end + 1..], flags))
}

pub(super) fn parse(pattern: &str, flags: Flags) -> Result<Tree> {
    let (pattern, flags) = directives(pattern, flags)?;
    let mut depth = 0;
    let mut p = Parser {
        chars: pattern.chars().collect(),
        at: 0,
        flags,
        next_id: 0,
        groups: 0,
        closed: vec![None],
        looks: HashMap::new(),
        backrefs: false,
        in_look: 0,
        depth: &mut depth,
    };
    let root = if flags.quote { p.literal_pattern() } else { p.alternation()? };
    if p.at < p.chars.len() {
        return Err(invalid("parentheses () not balanced"));
    }
    Ok(Tree {
        shortest: root.prefer == Prefer::Short,
        root,
        groups: p.groups as usize,
        backrefs: p.backrefs,
        letters: flags.letters,
        ignore_case: flags.ignore_case,
        word: named("word", flags.letters).cloned().unwrap_or_default(),
        looks: p.looks,
        group_parts: p.closed,
    })
}

impl Parser<'_> {
    fn part(&mut self, node: Node) -> Part {
        self.next_id += 1;
        let (prefer, messy) = match &node {
            Node::Concat(parts) => {
                let first = parts.iter().map(|p| p.prefer).find(|p| *p != Prefer::None);
                (first.unwrap_or(Prefer::None), parts.iter().any(Part::is_messy))
            }
            Node::Alt(parts) => (Prefer::Long, parts.iter().any(Part::is_messy)),
            Node::Capture(_, inner) => (inner.prefer, true),
            Node::Backref(_) => (Prefer::None, true),
            Node::Repeat { part, .. } => (part.prefer, part.messy),
            _ => (Prefer::None, false),
        };
        Part { id: self.next_id, prefer, messy, node: Box::new(node) }
    }

    /// One after another; neighbours without groups that prefer the same are one part.
    fn concat(&mut self, parts: Vec<Part>) -> Part {
        let mut runs: Vec<Vec<Part>> = Vec::new();
        // What the last run prefers.
        let mut theirs = Prefer::None;
        for p in parts {
            let joins = runs.last().is_some_and(|run: &Vec<Part>| {
                !p.messy
                    && !run[0].messy
                    && (p.prefer == theirs || p.prefer == Prefer::None || theirs == Prefer::None)
            });
            match runs.last_mut() {
                Some(run) if joins => {
                    if theirs == Prefer::None {
                        theirs = p.prefer;
                    }
                    run.push(p);
                }
                _ => {
                    theirs = p.prefer;
                    runs.push(vec![p]);
                }
            }
        }
        let mut out = Vec::with_capacity(runs.len());
        let only = runs.len() == 1;
        for mut run in runs {
            if run.len() == 1 || only {
                out.append(&mut run);
            } else {
                out.push(self.part(Node::Concat(run)));
            }
        }
        match out.len() {
            0 => self.part(Node::Empty),
            1 => out.remove(0),
            _ => self.part(Node::Concat(out)),
        }
    }

    fn literal_pattern(&mut self) -> Part {
        let chars = self.chars.clone();
        self.at = chars.len();
        let parts = chars.into_iter().map(|c| self.literal(c)).collect();
        self.concat(parts)
    }

    fn literal(&mut self, c: char) -> Part {
        let mut set = CharSet::single(c);
        if self.flags.ignore_case {
            set = set.both_cases(self.flags.letters);
        }
        self.part(Node::Set(Arc::new(set)))
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn ahead(&self, n: usize) -> Option<char> {
        self.chars.get(self.at + n).copied()
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.ahead(i) == Some(c))
    }

    fn accept(&mut self, text: &str) -> bool {
        let found = self.starts(text);
        if found {
            self.at += text.chars().count();
        }
        found
    }

    fn is_advanced(&self) -> bool {
        !self.flags.basic && !self.flags.extended
    }

    /// Skips white space and comments where they mean nothing.
    fn skip(&mut self) -> Result<()> {
        loop {
            let before = self.at;
            if self.flags.expanded && !self.flags.basic {
                while self.peek().is_some_and(|c| matches!(c, ' ' | '\t'..='\r')) {
                    self.at += 1;
                }
                if self.peek() == Some('#') {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
            }
            if self.is_advanced() && self.accept("(?#") {
                while self.peek().is_some_and(|c| c != ')') {
                    self.at += 1;
                }
                self.at += self.peek().is_some() as usize;
            }
            if self.at == before {
                return Ok(());
            }
        }
    }

    fn at_branch_end(&self) -> bool {
        match self.peek() {
            None => true,
            Some(_) if self.flags.basic => *self.depth > 0 && self.starts("\\)"),
            Some('|' | ')') => true,
            _ => false,
        }
    }

    fn alternation(&mut self) -> Result<Part> {
        base::stack::check()?;
        let mut branches = vec![self.branch()?];
        while !self.flags.basic && self.peek() == Some('|') {
            self.at += 1;
            branches.push(self.branch()?);
        }
        Ok(match branches.len() {
            1 => branches.remove(0),
            _ => self.part(Node::Alt(branches)),
        })
    }

    fn branch(&mut self) -> Result<Part> {
        let mut parts = Vec::new();
        loop {
            self.skip()?;
            if self.at_branch_end() {
                break;
            }
            let first = parts.is_empty();
            let grouped = self.peek() == Some('(')
                && (self.ahead(1) != Some('?') || self.ahead(2) == Some(':'));
            let atom = self.atom(first)?;
            self.skip()?;
            let part = self.quantified(atom, grouped)?;
            parts.push(part);
        }
        Ok(self.concat(parts))
    }

    fn quantified(&mut self, atom: Part, grouped: bool) -> Result<Part> {
        let Some((min, max)) = self.quantifier()? else { return Ok(atom) };
        if !grouped && matches!(atom.kind(), Node::Anchor(_) | Node::Look { .. }) {
            return Err(invalid("quantifier operand invalid"));
        }
        let exact = max.1;
        let max = max.0;
        let short = self.is_advanced() && self.accept("?");
        self.skip()?;
        if self.quantifier()?.is_some() {
            return Err(invalid("quantifier operand invalid"));
        }
        let own = atom.prefer;
        let wanted = if short { Prefer::Short } else { Prefer::Long };
        if min == 1 && max == Some(1) && (exact || own == Prefer::None || own == wanted) {
            return Ok(atom);
        }
        let mut made = self.part(Node::Repeat { part: atom, min, max });
        made.prefer = match (exact, short) {
            (true, _) => own,
            (false, true) => Prefer::Short,
            (false, false) => Prefer::Long,
        };
        Ok(made)
    }

    /// Least and most repetitions, and whether one number said both.
    #[allow(clippy::type_complexity)]
    fn quantifier(&mut self) -> Result<Option<(u32, (Option<u32>, bool))>> {
        let open = if self.flags.basic { "\\{" } else { "{" };
        let simple = match self.peek() {
            Some('*') => Some((0, (None, false))),
            Some('+') if !self.flags.basic => Some((1, (None, false))),
            Some('?') if !self.flags.basic => Some((0, (Some(1), false))),
            _ => None,
        };
        if simple.is_some() {
            self.at += 1;
            return Ok(simple);
        }
        let digit = self.ahead(open.len()).is_some_and(|c| c.is_ascii_digit());
        if !self.starts(open) || !(digit || self.flags.basic) {
            return Ok(None);
        }
        self.at += open.len();
        let min = self.count()?;
        let mut max = (Some(min), true);
        if self.accept(",") {
            max = (None, false);
            if self.peek().is_some_and(|c| c.is_ascii_digit()) {
                max = (Some(self.count()?), false);
            }
        }
        let close = if self.flags.basic { "\\}" } else { "}" };
        if self.peek().is_none() {
            return Err(invalid("braces {} not balanced"));
        }
        if !self.accept(close) || max.0.is_some_and(|m| m < min) {
            return Err(invalid("invalid repetition count(s)"));
        }
        Ok(Some((min, max)))
    }

    fn count(&mut self) -> Result<u32> {
        let mut n = 0u32;
        let mut any = false;
        while let Some(d) = self.peek().and_then(|c| c.to_digit(10)) {
            n = n * 10 + d;
            any = true;
            self.at += 1;
            if n > COUNT_MAX {
                return Err(invalid("invalid repetition count(s)"));
            }
        }
        if !any {
            return Err(invalid("invalid repetition count(s)"));
        }
        Ok(n)
    }

    fn anchor(&mut self, a: Anchor) -> Part {
        self.part(Node::Anchor(a))
    }

    fn atom(&mut self, first: bool) -> Result<Part> {
        let Some(c) = self.peek() else { return Ok(self.part(Node::Empty)) };
        if self.starts("[[:<:]]") || self.starts("[[:>:]]") {
            let start = self.starts("[[:<:]]");
            self.at += 7;
            return Ok(self.anchor(if start { Anchor::WordStart } else { Anchor::WordEnd }));
        }
        let (line_start, line_end) = match self.flags.newline_anchor {
            true => (Anchor::LineStart, Anchor::LineEnd),
            false => (Anchor::TextStart, Anchor::TextEnd),
        };
        self.at += 1;
        match c {
            '[' => self.bracket(),
            '.' => {
                let set = CharSet::all();
                let set = if self.flags.newline_stop { set.without('\n') } else { set };
                Ok(self.part(Node::Set(Arc::new(set))))
            }
            '\\' => self.escape(),
            '^' if !self.flags.basic || first => Ok(self.anchor(line_start)),
            '$' if !self.flags.basic
                || self.peek().is_none()
                || (*self.depth > 0 && self.starts("\\)")) =>
            {
                Ok(self.anchor(line_end))
            }
            '(' if !self.flags.basic => self.group(),
            '*' if self.flags.basic => Ok(self.literal('*')),
            '*' | '+' | '?' if !self.flags.basic => Err(invalid("quantifier operand invalid")),
            '{' if !self.flags.basic && self.peek().is_some_and(|c| c.is_ascii_digit()) => {
                Err(invalid("quantifier operand invalid"))
            }
            c => Ok(self.literal(c)),
        }
    }

    /// After an opening parenthesis.
    fn group(&mut self) -> Result<Part> {
        if self.is_advanced() && self.peek() == Some('?') {
            for (text, ahead, negate) in [
                ("?=", true, false),
                ("?!", true, true),
                ("?<=", false, false),
                ("?<!", false, true),
            ] {
                if self.accept(text) {
                    self.in_look += 1;
                    let inner = self.until_close();
                    self.in_look -= 1;
                    let part = inner?;
                    self.looks.insert(part.id, part.clone());
                    return Ok(self.part(Node::Look { ahead, negate, part }));
                }
            }
            if self.accept("?:") {
                return self.until_close();
            }
            return Err(invalid("quantifier operand invalid"));
        }
        if self.in_look > 0 {
            return self.until_close();
        }
        self.groups += 1;
        let number = self.groups;
        self.closed.push(None);
        let inner = self.until_close()?;
        self.closed[number as usize] = Some(inner.clone());
        Ok(self.part(Node::Capture(number, inner)))
    }

    fn until_close(&mut self) -> Result<Part> {
        *self.depth += 1;
        let inner = self.alternation()?;
        *self.depth -= 1;
        if !self.accept(if self.flags.basic { "\\)" } else { ")" }) {
            return Err(invalid("parentheses () not balanced"));
        }
        Ok(inner)
    }

    fn class_of(&self, letter: char) -> Option<CharSet> {
        let name = match letter.to_ascii_lowercase() {
            'd' => "digit",
            's' => "space",
            'w' => "word",
            _ => return None,
        };
        let set = named(name, self.flags.letters).cloned()?;
        Some(if letter.is_ascii_uppercase() { set.negated() } else { set })
    }

    /// After a backslash.
    fn escape(&mut self) -> Result<Part> {
        let bad = || invalid("invalid escape \\ sequence");
        let Some(c) = self.peek() else { return Err(bad()) };
        self.at += 1;
        if self.flags.basic {
            return match c {
                '(' => self.group(),
                '<' => Ok(self.anchor(Anchor::WordStart)),
                '>' => Ok(self.anchor(Anchor::WordEnd)),
                '{' => Err(invalid("quantifier operand invalid")),
                '1'..='9' => self.backref(c as u32 - '0' as u32),
                c => Ok(self.literal(c)),
            };
        }
        if self.flags.extended || !c.is_alphanumeric() {
            return Ok(self.literal(c));
        }
        if let Some(set) = self.class_of(c) {
            return Ok(self.part(Node::Set(Arc::new(set))));
        }
        let anchor = match c {
            'A' => Some(Anchor::TextStart),
            'Z' => Some(Anchor::TextEnd),
            'm' => Some(Anchor::WordStart),
            'M' => Some(Anchor::WordEnd),
            'y' => Some(Anchor::WordEdge),
            'Y' => Some(Anchor::NotWordEdge),
            _ => None,
        };
        if let Some(a) = anchor {
            return Ok(self.anchor(a));
        }
        if let Some(first) = c.to_digit(10).filter(|d| *d > 0) {
            let start = self.at;
            let mut n = first;
            while let Some(d) = self.peek().and_then(|c| c.to_digit(10)) {
                n = n.saturating_mul(10).saturating_add(d);
                self.at += 1;
            }
            if self.at == start || n <= self.groups {
                return self.backref(n);
            }
            // More digits than there are groups: an octal number.
            self.at = start - 1;
            let value = self.octal()?;
            return Ok(self.literal(value));
        }
        let c = self.character_escape(c)?;
        Ok(self.literal(c))
    }

    fn backref(&mut self, n: u32) -> Result<Part> {
        let known = self.closed.get(n as usize).is_some_and(Option::is_some);
        if !known || self.in_look > 0 {
            return Err(invalid("invalid backreference number"));
        }
        self.backrefs = true;
        Ok(self.part(Node::Backref(n)))
    }

    fn octal(&mut self) -> Result<char> {
        let mut n = 0;
        for _ in 0..3 {
            let Some(d) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            n = n * 8 + d;
            self.at += 1;
        }
        char::from_u32(n).ok_or_else(|| invalid("invalid escape \\ sequence"))
    }

    fn hex(&mut self, least: usize, most: usize) -> Result<char> {
        let mut n = 0u32;
        let mut digits = 0;
        while digits < most
            && let Some(d) = self.peek().and_then(|c| c.to_digit(16))
        {
            n = n.saturating_mul(16).saturating_add(d);
            digits += 1;
            self.at += 1;
        }
        let found = char::from_u32(n).filter(|_| digits >= least);
        found.ok_or_else(|| invalid("invalid escape \\ sequence"))
    }

    /// The character that a letter after a backslash stands for.
    fn character_escape(&mut self, c: char) -> Result<char> {
        Ok(match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'B' => '\\',
            'c' => {
                let Some(x) = self.peek() else {
                    return Err(invalid("invalid escape \\ sequence"));
                };
                self.at += 1;
                char::from_u32(x as u32 & 31).unwrap_or_default()
            }
            'e' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => self.hex(4, 4)?,
            'U' => self.hex(8, 8)?,
            'v' => '\u{b}',
            'x' => self.hex(1, 255)?,
            '0' => {
                self.at -= 1;
                self.octal()?
            }
            _ => return Err(invalid("invalid escape \\ sequence")),
        })
    }

    /// After an opening bracket.
    fn bracket(&mut self) -> Result<Part> {
        let unbalanced = || invalid("brackets [] not balanced");
        let negated = self.accept("^");
        let mut set = CharSet::default();
        let mut first = true;
        loop {
            let Some(c) = self.peek() else { return Err(unbalanced()) };
            if c == ']' && !first {
                self.at += 1;
                break;
            }
            first = false;
            let low = match self.bracket_item()? {
                Ok(c) => c,
                Err(class) => {
                    set.add(&class);
                    if self.peek() == Some('-') && self.ahead(1).is_some_and(|c| c != ']') {
                        return Err(invalid("invalid character range"));
                    }
                    continue;
                }
            };
            let mut high = low;
            if self.peek() == Some('-') && self.ahead(1) != Some(']') {
                if self.ahead(1).is_none() {
                    return Err(unbalanced());
                }
                self.at += 1;
                high = match self.bracket_item()? {
                    Ok(c) => c,
                    Err(_) => return Err(invalid("invalid character range")),
                };
            }
            if low > high {
                return Err(invalid("invalid character range"));
            }
            let mut range = CharSet::new(vec![(low as u32, high as u32)]);
            if self.flags.ignore_case {
                range = range.both_cases(self.flags.letters);
            }
            set.add(&range);
        }
        if negated {
            set = set.negated();
            if self.flags.newline_stop {
                set = set.without('\n');
            }
        }
        Ok(self.part(Node::Set(Arc::new(set))))
    }

    /// A character or a class in brackets.
    fn bracket_item(&mut self) -> Result<std::result::Result<char, CharSet>> {
        for (open, close) in [("[:", ":]"), ("[=", "=]"), ("[.", ".]")] {
            if !self.accept(open) {
                continue;
            }
            let mut name = String::new();
            while !self.starts(close) {
                let Some(c) = self.peek() else {
                    return Err(invalid("brackets [] not balanced"));
                };
                name.push(c);
                self.at += 1;
            }
            self.at += 2;
            if open == "[:" {
                let cased = matches!(name.as_str(), "upper" | "lower");
                let name = if self.flags.ignore_case && cased { "alpha" } else { &name };
                let found = named(name, self.flags.letters).cloned();
                return found.map(Err).ok_or_else(|| invalid("invalid character class"));
            }
            let c = character_name(&name).ok_or_else(|| invalid("invalid collating element"))?;
            if open == "[=" {
                let mut set = CharSet::single(c);
                if self.flags.ignore_case {
                    set = set.both_cases(self.flags.letters);
                }
                return Ok(Err(set));
            }
            return Ok(Ok(c));
        }
        let Some(c) = self.peek() else { return Err(invalid("brackets [] not balanced")) };
        self.at += 1;
        if c != '\\' || !self.is_advanced() {
            return Ok(Ok(c));
        }
        let Some(c) = self.peek() else { return Err(invalid("invalid escape \\ sequence")) };
        self.at += 1;
        if !c.is_alphanumeric() {
            return Ok(Ok(c));
        }
        if let Some(set) = self.class_of(c) {
            return Ok(Err(set));
        }
        if c.is_ascii_digit() && c != '0' {
            self.at -= 1;
            return self.octal().map(Ok);
        }
        self.character_escape(c).map(Ok)
    }
}
