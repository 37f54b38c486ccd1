//! The fast path: the three weakest modes on a relation do not conflict with each other, so a
//! session notes them in its own slot, and only who wants a stronger mode looks there. A counter
//! for each hash value says that somebody holds or wants a strong mode; then everybody uses the
//! shared table.

use super::{LockMode, LockTag};
use base::Oid;
use os::sync::atomic::{AtomicU32, Ordering};

/// Relations that a session can note.
const NOTES: usize = 64;
const COUNTERS: usize = 1024;

/// Relations a session has locked in weak modes: which, and the modes as bits.
#[derive(Default)]
pub(crate) struct FastPath {
    notes: Vec<(Oid, Oid, u16)>,
}

impl FastPath {
    /// Notes the lock, if there is room.
    pub fn note(&mut self, db: Oid, rel: Oid, mode: LockMode) -> bool {
        if let Some(note) = self.notes.iter_mut().find(|n| (n.0, n.1) == (db, rel)) {
            note.2 |= mode.bit();
            return true;
        }
        if self.notes.len() >= NOTES {
            return false;
        }
        self.notes.push((db, rel, mode.bit()));
        true
    }

    /// Removes the note. False if there is none: it went to the shared table meanwhile.
    pub fn remove(&mut self, db: Oid, rel: Oid, mode: LockMode) -> bool {
        let Some(at) = self.notes.iter().position(|n| (n.0, n.1) == (db, rel)) else {
            return false;
        };
        let note = &mut self.notes[at];
        if note.2 & mode.bit() == 0 {
            return false;
        }
        note.2 &= !mode.bit();
        if note.2 == 0 {
            self.notes.swap_remove(at);
        }
        true
    }

    /// Removes all notes on the relation and gives the modes.
    pub fn take(&mut self, db: Oid, rel: Oid) -> u16 {
        match self.notes.iter().position(|n| (n.0, n.1) == (db, rel)) {
            Some(at) => self.notes.swap_remove(at).2,
            None => 0,
        }
    }

    /// All notes.
    pub fn iter(&self) -> impl Iterator<Item = &(Oid, Oid, u16)> {
        self.notes.iter()
    }
}

/// The counters of strong modes.
pub(crate) struct StrongLocks(Box<[AtomicU32]>);

impl StrongLocks {
    pub fn new() -> StrongLocks {
        StrongLocks((0..COUNTERS).map(|_| AtomicU32::new(0)).collect())
    }

    fn counter(&self, rel: Oid) -> &AtomicU32 {
        &self.0[rel.0.wrapping_mul(0x9E37_79B1) as usize >> 22]
    }

    /// True if nobody holds or wants a strong mode on it. Called with the session's notes
    /// locked: a strong locker counts first and then looks at the notes, so one of the two sees
    /// the other.
    pub fn is_clear(&self, rel: Oid) -> bool {
        self.counter(rel).load(Ordering::SeqCst) == 0
    }

    pub fn add(&self, rel: Oid) {
        self.counter(rel).fetch_add(1, Ordering::SeqCst);
    }

    pub fn remove(&self, rel: Oid) {
        self.counter(rel).fetch_sub(1, Ordering::SeqCst);
    }
}

/// The relation, if the lock may go the fast path.
pub(crate) fn weak(tag: LockTag, mode: LockMode) -> Option<(Oid, Oid)> {
    match tag {
        LockTag::Relation { db, rel } if mode <= LockMode::RowExclusive => Some((db, rel)),
        _ => None,
    }
}

/// The relation, if the mode conflicts with a weak one.
pub(crate) fn strong(tag: LockTag, mode: LockMode) -> Option<(Oid, Oid)> {
    match tag {
        LockTag::Relation { db, rel } if mode > LockMode::ShareUpdateExclusive => Some((db, rel)),
        _ => None,
    }
}
