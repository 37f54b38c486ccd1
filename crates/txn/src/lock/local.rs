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
    /// One on the fast path.
    pub fn fast(owner: Owner) -> LocalLock {
        LocalLock { counts: SmallVec::from_slice(&[(owner, 1)]), fast: true }
    }

    pub fn add(&mut self, owner: Owner) {
        match self.counts.iter_mut().find(|(o, _)| *o == owner) {
            Some((_, n)) => *n += 1,
            None => self.counts.push((owner, 1)),
        }
    }
}

/// A lock and its mode.
type Key = (LockTag, LockMode);

/// Locks by tag and mode: few are looked through, many are hashed.
#[derive(Default)]
pub(crate) struct Held {
    few: Vec<(Key, LocalLock)>,
    /// All of them, if there are any here.
    many: HashMap<Key, LocalLock>,
}

/// So many are looked through.
const FEW: usize = 8;

impl Held {
    pub fn is_empty(&self) -> bool {
        self.few.is_empty() && self.many.is_empty()
    }

    pub fn contains(&self, key: &Key) -> bool {
        self.few.iter().any(|(k, _)| k == key) || self.many.contains_key(key)
    }

    pub fn get_mut(&mut self, key: &Key) -> Option<&mut LocalLock> {
        if self.many.is_empty() {
            return self.few.iter_mut().find(|(k, _)| k == key).map(|(_, lock)| lock);
        }
        self.many.get_mut(key)
    }

    /// Adds a lock that is not there.
    pub fn add(&mut self, key: Key, lock: LocalLock) -> &mut LocalLock {
        if self.many.is_empty() {
            if self.few.len() < FEW {
                self.few.push((key, lock));
                let at = self.few.len() - 1;
                return &mut self.few[at].1;
            }
            self.many.extend(self.few.drain(..));
        }
        self.many.entry(key).insert(lock).into_mut()
    }

    /// Counts a lock in the shared table once more.
    pub fn count(&mut self, key: Key, owner: Owner) {
        match self.get_mut(&key) {
            Some(lock) => lock.add(owner),
            None => self.add(key, LocalLock::default()).add(owner),
        }
    }

    pub fn remove(&mut self, key: &Key) {
        self.few.retain(|(k, _)| k != key);
        self.many.remove(key);
    }

    pub fn retain(&mut self, mut keep: impl FnMut(&Key, &mut LocalLock) -> bool) {
        self.few.retain_mut(|(key, lock)| keep(key, lock));
        if !self.many.is_empty() {
            self.many.retain(keep);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Key, &LocalLock)> {
        self.few.iter().map(|(key, lock)| (key, lock)).chain(&self.many)
    }

    fn locks_mut(&mut self) -> impl Iterator<Item = &mut LocalLock> {
        self.few.iter_mut().map(|(_, lock)| lock).chain(self.many.values_mut())
    }
}

/// All locks of a session.
#[derive(Default)]
pub(crate) struct LocalLocks {
    pub held: Held,
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
        for lock in self.held.locks_mut() {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_held_alike() {
        let key = |n: u64| (LockTag::Transaction(base::Xid(n)), LockMode::Exclusive);
        let mut locks = LocalLocks::default();
        for most in [3, FEW as u64, 40] {
            for n in 1..=most {
                assert!(locks.held.get_mut(&key(n)).is_none());
                locks.held.count(key(n), Owner::Session);
                locks.held.count(key(n), Owner::Level((n % 2) as u32));
            }
            assert_eq!(locks.held.iter().count() as u64, most);
            assert!((1..=most).all(|n| locks.held.contains(&key(n))));
            locks.move_up(1);
            let mut over = 0;
            locks.release(|owner| owner == Owner::Level(0), |_, _, _| over += 1);
            assert_eq!(over, 0);
            for n in 1..=most {
                assert_eq!(locks.release_one(key(n).0, key(n).1, |_| true), Some((true, false)));
            }
            assert!(locks.held.is_empty());
        }
        locks.held.count(key(1), Owner::Session);
        assert_eq!(locks.held.few.len(), 1);
    }
}
