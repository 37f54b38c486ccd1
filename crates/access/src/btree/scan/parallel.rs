//! A scan that the members of a team share: each takes the next leaf that no other has taken. The
//! lock on the common position is held while a leaf is found, not while it is copied, so a leaf
//! may be taken that turns out to lie beyond what qualifies: whoever finds that out says so.

use super::{ArrayPosition, BtScan, Job, ReadPage, Tree, own, page};
use crate::index::Direction;
use base::{BlockNo, Result};
use os::sync::Mutex;

/// Where the members of a team are in the scan that they share.
#[derive(Default)]
pub struct ParallelScan(Mutex<Position>);

#[derive(Default)]
struct Position {
    /// The array elements that are looked for.
    arrays: ArrayPosition,
    next: Next,
}

/// What is to be taken next.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    /// Nothing has been.
    #[default]
    Fresh,
    /// The leaf beside the one that was taken last.
    Beside { last: BlockNo, neighbour: BlockNo },
    /// No more leaves for these array elements.
    Exhausted,
    /// Nothing at all.
    Done,
}

impl ParallelScan {
    /// Nothing more qualifies with these array elements.
    fn exhaust(&self, arrays: &ArrayPosition) {
        let mut position = self.0.lock();
        if position.arrays == *arrays && matches!(position.next, Next::Beside { .. }) {
            position.next = Next::Exhausted;
        }
    }
}

impl BtScan {
    /// Takes the next leaf that has entries.
    pub(super) fn seize(&mut self, direction: Direction) -> Result<bool> {
        let Some(team) = self.options.parallel.clone() else { return Ok(false) };
        loop {
            self.flush_kills();
            let mut position = team.0.lock();
            let Some((p, from)) = self.take_leaf(&mut position, direction)? else {
                return Ok(false);
            };
            let arrays = self.prepared.array_position();
            position.arrays.clone_from(&arrays);
            let neighbour = match direction {
                Direction::Forward => page::right(&p),
                Direction::Backward => page::left(&p),
            };
            position.next = match neighbour {
                BlockNo::INVALID => Next::Exhausted,
                neighbour => Next::Beside { last: p.block(), neighbour },
            };
            drop(position);
            self.note(p.block());
            let job = Job { index: &self.index, prepared: &self.prepared, options: &self.options };
            let leaf = own(&mut self.leaf);
            leaf.copy(&p, p.block(), &job, from, direction)?;
            drop(p);
            let more = match direction {
                Direction::Forward => leaf.more_right,
                Direction::Backward => leaf.more_left,
            };
            if !more {
                team.exhaust(&arrays);
            }
            if !leaf.entries.is_empty() {
                return Ok(true);
            }
        }
    }

    /// The next leaf, with the item to begin at. The caller says in `position` what follows.
    fn take_leaf(
        &mut self,
        position: &mut Position,
        direction: Direction,
    ) -> Result<Option<(ReadPage, u16)>> {
        loop {
            match position.next {
                Next::Fresh if self.prepared.never => position.next = Next::Done,
                Next::Done => return Ok(None),
                Next::Fresh => self.prepared.reset_arrays(direction),
                Next::Beside { last, neighbour } => {
                    self.prepared.set_array_position(&position.arrays);
                    let tree = Tree::new(&self.storage, &self.index);
                    let (p, from) = match direction {
                        Direction::Forward => (tree.live_right(neighbour)?, 0),
                        Direction::Backward => (tree.live_left(last, neighbour)?, u16::MAX),
                    };
                    if let Some(p) = p {
                        return Ok(Some((p, from)));
                    }
                    position.next = Next::Exhausted;
                    continue;
                }
                Next::Exhausted => {
                    self.prepared.set_array_position(&position.arrays);
                    if !self.prepared.has_arrays() || !self.prepared.step_arrays(direction) {
                        position.next = Next::Done;
                        return Ok(None);
                    }
                }
            }
            if position.next == Next::Done {
                return Ok(None);
            }
            position.arrays = self.prepared.array_position();
            let key = self.prepared.start(&self.index, direction);
            match self.descend(&key, direction)? {
                Some(block) => return self.first_leaf(block, &key, direction).map(Some),
                None => position.next = Next::Exhausted,
            }
        }
    }
}
