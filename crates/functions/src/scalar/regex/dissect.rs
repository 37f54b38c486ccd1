//! Finding matches and taking them apart.

use super::Spans;
use super::class::other_cases;
use super::nfa::{Program, Programs, State, StateSet, program};
use super::parse::{Anchor, Node, Part, Prefer, Tree};
use base::{Result, err};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// Steps after which a pattern with back-references is given up.
const STEPS_MAX: u64 = 40_000_000;

/// A text taken apart once for all matches in it.
pub(crate) struct Characters {
    chars: Vec<char>,
    /// Byte offset of each character, and of the end.
    offsets: Vec<usize>,
}

impl Characters {
    pub(super) fn new(text: &str) -> Characters {
        let mut offsets: Vec<usize> = text.char_indices().map(|c| c.0).collect();
        offsets.push(text.len());
        Characters { chars: text.chars().collect(), offsets }
    }
}

/// A pattern and the text that it is applied to.
pub(super) struct Matcher<'a> {
    tree: &'a Tree,
    programs: &'a mut Programs,
    chars: &'a [char],
    offsets: &'a [usize],
    ends: HashMap<(u32, usize), Rc<Vec<usize>>>,
    looks: HashMap<(u32, bool, usize), bool>,
    /// Where matches of a part that is looked for behind end.
    behind: HashMap<u32, Rc<Vec<bool>>>,
    captures: Vec<Option<(usize, usize)>>,
    steps: u64,
}

impl<'a> Matcher<'a> {
    pub fn new(tree: &'a Tree, programs: &'a mut Programs, text: &'a Characters) -> Matcher<'a> {
        Matcher {
            tree,
            programs,
            chars: &text.chars,
            offsets: &text.offsets,
            ends: HashMap::new(),
            looks: HashMap::new(),
            behind: HashMap::new(),
            captures: vec![None; tree.groups + 1],
            steps: 0,
        }
    }

    /// The character at a byte offset.
    pub fn char_at(&self, byte: usize) -> usize {
        self.offsets.partition_point(|o| *o < byte)
    }

    fn step(&mut self, n: usize) -> Result<()> {
        let before = self.steps;
        self.steps += n as u64 + 1;
        if before >> 16 != self.steps >> 16 {
            base::interrupt::check()?;
        }
        if self.steps > STEPS_MAX && self.tree.backrefs {
            return Err(err!(
                INVALID_REGULAR_EXPRESSION,
                "regular expression failed: regular expression is too complex"
            ));
        }
        Ok(())
    }

    /// The leftmost match from a byte offset.
    pub fn search(&mut self, at: usize, captures: bool) -> Result<Option<Spans>> {
        let root = &self.tree.root;
        let first = self.char_at(at);
        if !self.tree.backrefs {
            // One run from all places at once tells whether there is a match at all.
            let program = program(self.tree, self.programs, root)?;
            let mut found = false;
            self.run(&program, first, true, |_| {
                found = true;
                false
            })?;
            match (found, captures) {
                (false, _) => return Ok(None),
                (true, false) => return Ok(Some(Vec::new())),
                (true, true) => {}
            }
        }
        // PostgreSQL tries places where a match with back-references might end one after the other
        // and stops before the last one, unless that is the first.
        let (last, mut almost) = (self.chars.len(), false);
        for begin in first..=last {
            let ends = self.ends(root, begin)?;
            if self.tree.backrefs && begin == last && almost {
                continue;
            }
            almost |= ends.iter().any(|end| end + 1 == last);
            if ends.is_empty() {
                continue;
            }
            for &end in ends.iter() {
                self.captures.fill(None);
                if self.dissect(root, begin, end)? {
                    return Ok(Some(self.spans(begin, end)));
                }
            }
        }
        Ok(None)
    }

    /// The spans of a match that is known.
    pub fn take_apart(&mut self, begin: usize, end: usize) -> Result<Spans> {
        self.captures.fill(None);
        self.dissect(&self.tree.root, begin, end)?;
        Ok(self.spans(begin, end))
    }

    fn spans(&self, begin: usize, end: usize) -> Spans {
        let mut out: Spans = self
            .captures
            .iter()
            .map(|c| c.map(|(a, b)| (self.offsets[a], self.offsets[b])))
            .collect();
        out[0] = Some((self.offsets[begin], self.offsets[end]));
        out
    }

    /// All ends of matches of a part that begin here, the preferred one first.
    pub fn ends(&mut self, part: &Part, begin: usize) -> Result<Rc<Vec<usize>>> {
        if let Some(found) = self.ends.get(&(part.id, begin)) {
            return Ok(Rc::clone(found));
        }
        let program = program(self.tree, self.programs, part)?;
        let mut found = Vec::new();
        self.run(&program, begin, false, |at| {
            found.push(at);
            true
        })?;
        if part.prefer != Prefer::Short {
            found.reverse();
        }
        let found = Rc::new(found);
        self.ends.insert((part.id, begin), Rc::clone(&found));
        Ok(found)
    }

    /// Runs a program from a place, or from each place; tells `end` where matches end, ascending,
    /// until it says false.
    fn run(
        &mut self,
        program: &Program,
        begin: usize,
        anywhere: bool,
        mut end: impl FnMut(usize) -> bool,
    ) -> Result<()> {
        let mut now = StateSet::new(program.states.len());
        let mut next = StateSet::new(program.states.len());
        let mut stack = Vec::new();
        self.follow(program, program.start, begin, &mut now, &mut stack)?;
        let mut at = begin;
        loop {
            if now.list.contains(&0) && !end(at) {
                return Ok(());
            }
            let Some(&c) = self.chars.get(at) else { return Ok(()) };
            if now.list.is_empty() && !anywhere {
                return Ok(());
            }
            self.step(now.list.len())?;
            next.clear();
            for i in 0..now.list.len() {
                if let State::Char(set, to) = &program.states[now.list[i] as usize]
                    && set.contains(c)
                {
                    self.follow(program, *to, at + 1, &mut next, &mut stack)?;
                }
            }
            at += 1;
            if anywhere {
                self.follow(program, program.start, at, &mut next, &mut stack)?;
            }
            std::mem::swap(&mut now, &mut next);
        }
    }

    /// Puts in a state and all that are reached from it without a character.
    fn follow(
        &mut self,
        program: &Program,
        state: u32,
        at: usize,
        set: &mut StateSet,
        stack: &mut Vec<u32>,
    ) -> Result<()> {
        stack.push(state);
        while let Some(s) = stack.pop() {
            if !set.insert(s) {
                continue;
            }
            match &program.states[s as usize] {
                State::Split(a, b) => stack.extend([*b, *a]),
                State::Jump(a) => stack.push(*a),
                State::Anchor(a, to) => {
                    if self.anchored(*a, at) {
                        stack.push(*to);
                    }
                }
                State::Look { part, ahead, negate, next } => {
                    if self.look(*part, *ahead, at)? != *negate {
                        stack.push(*next);
                    }
                }
                State::Char(..) | State::Match => {}
            }
        }
        Ok(())
    }

    fn is_word(&self, at: Option<usize>) -> bool {
        at.and_then(|i| self.chars.get(i)).is_some_and(|c| self.tree.word.contains(*c))
    }

    fn anchored(&self, anchor: Anchor, at: usize) -> bool {
        let before = self.is_word(at.checked_sub(1));
        let after = self.is_word(Some(at));
        let newline = |i: usize| self.chars.get(i) == Some(&'\n');
        match anchor {
            Anchor::TextStart => at == 0,
            Anchor::TextEnd => at == self.chars.len(),
            Anchor::LineStart => at == 0 || newline(at - 1),
            Anchor::LineEnd => at == self.chars.len() || newline(at),
            Anchor::WordStart => !before && after,
            Anchor::WordEnd => before && !after,
            Anchor::WordEdge => before != after,
            Anchor::NotWordEdge => before == after,
        }
    }

    fn look(&mut self, part: u32, ahead: bool, at: usize) -> Result<bool> {
        if let Some(found) = self.looks.get(&(part, ahead, at)) {
            return Ok(*found);
        }
        base::stack::check()?;
        let Some(node) = self.tree.look(part) else { return Ok(false) };
        let program = program(self.tree, self.programs, node)?;
        if !ahead {
            return self.look_behind(part, &program, at);
        }
        let mut found = false;
        self.run(&program, at, false, |_| {
            found = true;
            false
        })?;
        self.looks.insert((part, ahead, at), found);
        Ok(found)
    }

    fn look_behind(&mut self, part: u32, program: &Arc<Program>, at: usize) -> Result<bool> {
        if let Some(found) = self.behind.get(&part) {
            return Ok(found[at]);
        }
        let mut ends = vec![false; self.chars.len() + 1];
        self.run(program, 0, true, |end| {
            ends[end] = true;
            true
        })?;
        let found = ends[at];
        self.behind.insert(part, Rc::new(ends));
        Ok(found)
    }

    /// Whether a part matches exactly this, as far as can be said without its groups.
    fn spans_exactly(&mut self, part: &Part, begin: usize, end: usize) -> Result<bool> {
        let ends = self.ends(part, begin)?;
        Ok(match part.prefer {
            Prefer::Short => ends.binary_search(&end).is_ok(),
            _ => ends.binary_search_by(|e| end.cmp(e)).is_ok(),
        })
    }

    /// Finds the groups of a part that matches this; false if back-references disagree.
    fn dissect(&mut self, part: &Part, begin: usize, end: usize) -> Result<bool> {
        base::stack::check()?;
        if !part.is_messy() {
            return Ok(true);
        }
        self.step(1)?;
        match part.kind() {
            Node::Capture(n, inner) => {
                if !self.dissect(inner, begin, end)? {
                    return Ok(false);
                }
                self.captures[*n as usize] = Some((begin, end));
                Ok(true)
            }
            Node::Backref(n) => Ok(self.same_as_group(*n, begin, end)),
            Node::Alt(parts) => {
                for p in parts {
                    if self.spans_exactly(p, begin, end)? {
                        let saved = self.captures.clone();
                        if self.dissect(p, begin, end)? {
                            return Ok(true);
                        }
                        self.captures = saved;
                    }
                }
                Ok(false)
            }
            Node::Concat(parts) => self.sequence(parts, begin, end),
            Node::Repeat { part: inner, min, max, .. } => {
                let max = max.unwrap_or(u32::MAX);
                let mut failed = HashMap::new();
                self.iterate(inner, (*min, max), 0, (begin, end), &mut failed)
            }
            _ => Ok(true),
        }
    }

    /// The parts one after another, each as long or as short as it prefers to be.
    fn sequence(&mut self, parts: &[Part], begin: usize, end: usize) -> Result<bool> {
        let Some((first, rest)) = parts.split_first() else { return Ok(begin == end) };
        if rest.is_empty() {
            return Ok(self.spans_exactly(first, begin, end)? && self.dissect(first, begin, end)?);
        }
        let ends = self.ends(first, begin)?;
        for &middle in ends.iter().filter(|m| **m <= end) {
            if !self.rest_matches(rest, middle, end)? {
                continue;
            }
            let saved = self.captures.clone();
            if self.dissect(first, begin, middle)? && self.sequence(rest, middle, end)? {
                return Ok(true);
            }
            self.captures = saved;
        }
        Ok(false)
    }

    /// Whether these parts can match exactly this: sets of ends, part after part.
    fn rest_matches(&mut self, parts: &[Part], begin: usize, end: usize) -> Result<bool> {
        let Some((last, before)) = parts.split_last() else { return Ok(begin == end) };
        let mut reached = vec![begin];
        for p in before {
            let mut next: Vec<usize> = Vec::new();
            for at in reached {
                let ends = self.ends(p, at)?;
                next.extend(ends.iter().filter(|e| **e <= end));
            }
            next.sort_unstable();
            next.dedup();
            self.step(next.len())?;
            reached = next;
        }
        for at in reached {
            if self.spans_exactly(last, at, end)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Repetitions of a part, the `done` first ones of which are found.
    fn iterate(
        &mut self,
        part: &Part,
        (min, max): (u32, u32),
        done: u32,
        (begin, end): (usize, usize),
        failed: &mut HashMap<(u32, usize), ()>,
    ) -> Result<bool> {
        base::stack::check()?;
        if begin == end && done >= min && (done > 0 || min == 0) {
            // An empty text needs no repetition, but a group in one is then set to it.
            if done > 0 || !self.spans_exactly(part, begin, end)? {
                return Ok(true);
            }
            if max == 0 {
                return Ok(true);
            }
            let saved = self.captures.clone();
            if !self.dissect(part, begin, end)? {
                self.captures = saved;
            }
            return Ok(true);
        }
        // How many were done matters only until enough are.
        let key = (done.min(if max == u32::MAX { min } else { u32::MAX }), begin);
        if done >= max || failed.contains_key(&key) {
            return Ok(false);
        }
        let ends = self.ends(part, begin)?;
        for &middle in ends.iter().filter(|m| **m <= end) {
            if middle == begin && done >= min {
                continue;
            }
            self.step(1)?;
            let saved = self.captures.clone();
            self.forget_groups(part);
            if self.dissect(part, begin, middle)?
                && self.iterate(part, (min, max), done + 1, (middle, end), failed)?
            {
                return Ok(true);
            }
            self.captures = saved;
        }
        if !self.tree.backrefs {
            failed.insert(key, ());
        }
        Ok(false)
    }

    /// A further repetition starts without the groups of the one before.
    fn forget_groups(&mut self, part: &Part) {
        part.each_group(&mut |n| self.captures[n as usize] = None);
    }

    fn same_as_group(&self, n: u32, begin: usize, end: usize) -> bool {
        let Some((a, b)) = self.captures[n as usize] else { return false };
        let (group, here) = (&self.chars[a..b], &self.chars[begin..end]);
        if group == here {
            return true;
        }
        self.tree.ignore_case
            && group.len() == here.len()
            && group
                .iter()
                .zip(here)
                .all(|(x, y)| x == y || other_cases(*x, self.tree.letters).contains(y))
    }
}
