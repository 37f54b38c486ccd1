//! What a session knows about its own locks: how often and on whose behalf it holds each.

use super::{LockMode, LockTag};
use hashbrown::HashMap;
use smallvec::SmallVec;

/// On whose behalf a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Owner {
    /// Until given back.
    Session,
    /// Until the transaction (level 0) or the subtransaction of this level ends.
    Level(u32),
}

/// One lock in one mode.
#[derive(Default)]
pub(crate) struct LocalLock {
    pub counts: SmallVec<[(Owner, u32); 2]>,
    /// Recorded in the session's own slot, not in the shared table.
    pub fast: bool,
}

impl LocalLock {
    pub fn add(&mut self, owner: Owner) {
        match self.counts.iter_mut().find(|(o, _)| *o == owner) {
            Some((_, n)) => *n += 1,
            None => self.counts.push((owner, 1)),
        }
    }
}

/// All locks of a session.
#[derive(Default)]
pub(crate) struct LocalLocks {
    pub held: HashMap<(LockTag, LockMode), LocalLock>,
    /// The address of one that was held, for nothing but to be fetched.
    pub near: usize,
}

impl LocalLocks {
    /// Takes away all that `gone` picks. `over` gets the locks of which nothing is left, and
    /// whether they were on the fast path.
    pub fn release(
        &mut self,
        gone: impl Fn(Owner) -> bool,
        mut over: impl FnMut(LockTag, LockMode, bool),
    ) {
        self.held.retain(|(tag, mode), lock| {
            match lock.counts[..] {
                [(owner, _)] if gone(owner) => {}
                _ => {
                    lock.counts.retain(|(owner, _)| !gone(*owner));
                    if !lock.counts.is_empty() {
                        return true;
                    }
                }
            }
            over(*tag, *mode, lock.fast);
            false
        });
    }

    /// Takes one count away. `None` if there is none; else whether the lock is over, and fast.
    pub fn release_one(
        &mut self,
        tag: LockTag,
        mode: LockMode,
        owner: impl Fn(Owner) -> bool,
    ) -> Option<(bool, bool)> {
        let lock = self.held.get_mut(&(tag, mode))?;
        let at = lock.counts.iter().rposition(|(o, _)| owner(*o))?;
        lock.counts[at].1 -= 1;
        if lock.counts[at].1 == 0 {
            lock.counts.remove(at);
        }
        let (over, fast) = (lock.counts.is_empty(), lock.fast);
        if over {
            self.held.remove(&(tag, mode));
        }
        Some((over, fast))
    }

    /// A subtransaction has committed: its locks are its parent's.
    pub fn move_up(&mut self, level: u32) {
        for lock in self.held.values_mut() {
            let Some(at) = lock.counts.iter().position(|(o, _)| *o == Owner::Level(level)) else {
                continue;
            };
            let (_, n) = lock.counts.remove(at);
            let parent = Owner::Level(level - 1);
            match lock.counts.iter_mut().find(|(o, _)| *o == parent) {
                Some((_, m)) => *m += n,
                None => lock.counts.push((parent, n)),
            }
        }
    }
}
