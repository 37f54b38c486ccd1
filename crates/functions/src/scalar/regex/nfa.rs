//! Running all states of a part of a pattern at once.

use super::class::CharSet;
use super::invalid;
use super::parse::{Anchor, Node, Part, Tree};
use base::Result;
use std::collections::HashMap;
use std::sync::Arc;

/// States that a pattern may have.
const STATES_MAX: usize = 150_000;

/// What a state does.
#[derive(Debug)]
pub(super) enum State {
    Char(Arc<CharSet>, u32),
    Split(u32, u32),
    Jump(u32),
    Anchor(Anchor, u32),
    /// The part with this number, ahead or behind, negated or not.
    Look {
        part: u32,
        ahead: bool,
        negate: bool,
        next: u32,
    },
    Match,
}

/// The states of one part of a pattern.
#[derive(Debug)]
pub(super) struct Program {
    pub states: Vec<State>,
    pub start: u32,
}

/// Programs by the number of their part.
pub(super) type Programs = HashMap<u32, Arc<Program>>;

struct Compiler<'a> {
    tree: &'a Tree,
    states: Vec<State>,
    depth: u32,
}

/// The program of a part.
pub(super) fn program(tree: &Tree, programs: &mut Programs, part: &Part) -> Result<Arc<Program>> {
    if let Some(found) = programs.get(&part.id) {
        return Ok(Arc::clone(found));
    }
    let mut c = Compiler { tree, states: vec![State::Match], depth: 0 };
    let start = c.part(part, 0)?;
    let made = Arc::new(Program { states: c.states, start });
    programs.insert(part.id, Arc::clone(&made));
    Ok(made)
}

impl Compiler<'_> {
    fn push(&mut self, state: State) -> Result<u32> {
        if self.states.len() >= STATES_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        self.states.push(state);
        Ok(self.states.len() as u32 - 1)
    }

    /// Builds backwards: gives the state to start at, from where to go on afterwards.
    fn part(&mut self, part: &Part, next: u32) -> Result<u32> {
        base::stack::check()?;
        match part.kind() {
            Node::Empty => Ok(next),
            Node::Set(set) => self.push(State::Char(Arc::clone(set), next)),
            Node::Anchor(a) => self.push(State::Anchor(*a, next)),
            Node::Look { ahead, negate, part } => {
                let (ahead, negate) = (*ahead, *negate);
                self.push(State::Look { part: part.id, ahead, negate, next })
            }
            Node::Concat(parts) => {
                let mut next = next;
                for p in parts.iter().rev() {
                    next = self.part(p, next)?;
                }
                Ok(next)
            }
            Node::Alt(parts) => {
                let mut start = None;
                for p in parts.iter().rev() {
                    let one = self.part(p, next)?;
                    start = Some(match start {
                        None => one,
                        Some(other) => self.push(State::Split(one, other))?,
                    });
                }
                Ok(start.unwrap_or(next))
            }
            Node::Capture(_, inner) => self.part(inner, next),
            Node::Backref(n) => {
                // What the group could match stands for what it did match; the difference is
                // seen when the match is taken apart.
                self.depth += 1;
                if self.depth > 8 {
                    return Err(invalid("regular expression is too complex"));
                }
                let group = self.tree.group(*n)?;
                let start = self.part(group, next);
                self.depth -= 1;
                start
            }
            Node::Repeat { part, min, max, .. } => self.repeat(part, *min, *max, next),
        }
    }

    fn repeat(&mut self, part: &Part, min: u32, max: Option<u32>, next: u32) -> Result<u32> {
        let mut next = next;
        match max {
            None => {
                let again = self.push(State::Jump(0))?;
                let body = self.part(part, again)?;
                self.states[again as usize] = State::Split(body, next);
                next = if min > 0 { body } else { again };
                for _ in 1..min {
                    next = self.part(part, next)?;
                }
            }
            Some(max) => {
                let end = next;
                for _ in min..max {
                    let body = self.part(part, next)?;
                    next = self.push(State::Split(body, end))?;
                }
                for _ in 0..min {
                    next = self.part(part, next)?;
                }
            }
        }
        Ok(next)
    }
}

/// A set of states that remembers the order in which they came.
pub(super) struct StateSet {
    pub list: Vec<u32>,
    marks: Vec<u32>,
    round: u32,
}

impl StateSet {
    pub fn new(states: usize) -> StateSet {
        StateSet { list: Vec::new(), marks: vec![0; states], round: 1 }
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.round += 1;
    }

    /// Puts a state in; false if it was there.
    #[inline]
    pub fn insert(&mut self, state: u32) -> bool {
        let mark = &mut self.marks[state as usize];
        if *mark == self.round {
            return false;
        }
        *mark = self.round;
        self.list.push(state);
        true
    }
}
