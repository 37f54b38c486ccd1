//! Row locks: who has asked for which rows with FOR UPDATE and its weaker kinds, or needs a
//! foreign key's row to stay. They live in memory only: a crash ends all transactions anyway.
//!
//! The table holds members (transaction id, strength) by row version. A member counts only as
//! long as its id runs, so the end of a transaction, or the rollback of a savepoint, releases
//! all at once without touching the table; removing the entries is housekeeping. Waiting is
//! waiting for the end of a conflicting id, in the order of the heavyweight lock on the row.
//!
//! Callers hold the row's page latched, shared to lock and exclusively to update or delete, so
//! that looking at the row's `xmax` and at this table is one step.

use crate::lock::LockMode;
use crate::manager::TxnManager;
use base::{Oid, Result, Tid, Xid};
use hashbrown::HashMap;
use os::sync::Mutex;
use os::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use smallvec::SmallVec;
use std::hash::BuildHasher;

/// The four strengths, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum RowStrength {
    /// FOR KEY SHARE: the key must stay.
    KeyShare,
    /// FOR SHARE: the row must stay.
    Share,
    /// FOR NO KEY UPDATE, and updates that leave the key alone.
    NoKeyUpdate,
    /// FOR UPDATE, deletes, updates of the key.
    Update,
}

impl RowStrength {
    /// True if two transactions cannot have the row in these strengths at the same time.
    #[inline]
    pub const fn conflicts_with(self, other: RowStrength) -> bool {
        // Key share goes with no key update; share goes with share: the sum tells.
        self as u8 + other as u8 >= 3
    }

    /// The mode of the heavyweight lock that queues for it.
    pub const fn queue_mode(self) -> LockMode {
        match self {
            RowStrength::KeyShare => LockMode::AccessShare,
            RowStrength::Share => LockMode::RowShare,
            RowStrength::NoKeyUpdate => LockMode::Exclusive,
            RowStrength::Update => LockMode::AccessExclusive,
        }
    }
}

/// A row version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowKey {
    /// The database; 0 for shared relations.
    pub db: Oid,
    /// The relation.
    pub rel: Oid,
    /// The version.
    pub tid: Tid,
}

/// Who stands in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowConflict {
    /// The transaction, or subtransaction, to wait for.
    pub xid: Xid,
    /// What it has.
    pub strength: RowStrength,
}

type Members = SmallVec<[(Xid, RowStrength); 2]>;

const PARTITIONS: usize = 64;
const FILTER: usize = 1 << 14;

struct Partition {
    rows: HashMap<RowKey, Members, foldhash::fast::FixedState>,
    /// Entries at which dead ones are looked for.
    sweep_at: usize,
}

/// The row locks of a server.
pub struct RowLocks {
    partitions: Box<[Mutex<Partition>]>,
    /// Rows with members, by hash: who finds 0 need not look further.
    filter: Box<[AtomicU32]>,
    rows: AtomicUsize,
    hasher: foldhash::fast::FixedState,
}

impl RowLocks {
    pub(crate) fn new() -> RowLocks {
        let hasher = foldhash::fast::FixedState::default();
        RowLocks {
            partitions: (0..PARTITIONS)
                .map(|_| {
                    Mutex::new(Partition {
                        rows: HashMap::with_hasher(hasher.clone()),
                        sweep_at: 64,
                    })
                })
                .collect(),
            filter: (0..FILTER).map(|_| AtomicU32::new(0)).collect(),
            rows: AtomicUsize::new(0),
            hasher,
        }
    }

    fn hash(&self, key: &RowKey) -> (usize, usize) {
        let hash = self.hasher.hash_one(key);
        (hash as usize % PARTITIONS, (hash >> 32) as usize % FILTER)
    }

    /// False if surely nobody has the row: no lock is taken and no shared line written.
    #[inline]
    pub fn may_be_locked(&self, key: &RowKey) -> bool {
        self.rows.load(Ordering::Acquire) != 0
            && self.filter[self.hash(key).1].load(Ordering::Acquire) != 0
    }

    /// A running transaction other than `own` session's that has the row in a strength that
    /// conflicts.
    pub fn conflict(
        &self,
        mgr: &TxnManager,
        backend: &crate::Backend,
        key: &RowKey,
        strength: RowStrength,
    ) -> Result<Option<RowConflict>> {
        if !self.may_be_locked(key) {
            return Ok(None);
        }
        let partition = self.partitions[self.hash(key).0].lock();
        match partition.rows.get(key) {
            Some(members) => first_conflict(mgr, backend, members, strength),
            None => Ok(None),
        }
    }

    /// Gives the row to `xid` (an id of the session's transaction), or says who is in the way.
    pub fn acquire(
        &self,
        mgr: &TxnManager,
        backend: &crate::Backend,
        key: &RowKey,
        xid: Xid,
        strength: RowStrength,
    ) -> Result<Option<RowConflict>> {
        let (at, bucket) = self.hash(key);
        let mut partition = self.partitions[at].lock();
        if partition.rows.len() >= partition.sweep_at {
            self.sweep_partition(mgr, &mut partition);
        }
        if let Some(members) = partition.rows.get_mut(key) {
            let members: &mut Members = members;
            if let Some(conflict) = first_conflict(mgr, backend, members, strength)? {
                return Ok(Some(conflict));
            }
            members.retain(|(x, _)| mgr.is_running(*x).unwrap_or(true));
            add_member(members, xid, strength);
            return Ok(None);
        }
        partition.rows.insert(*key, SmallVec::from_slice(&[(xid, strength)]));
        self.filter[bucket].fetch_add(1, Ordering::AcqRel);
        self.rows.fetch_add(1, Ordering::AcqRel);
        Ok(None)
    }

    /// The strength in which a session's running transaction has the row.
    pub fn own_strength(
        &self,
        mgr: &TxnManager,
        backend: &crate::Backend,
        key: &RowKey,
    ) -> Result<Option<RowStrength>> {
        if !self.may_be_locked(key) {
            return Ok(None);
        }
        let partition = self.partitions[self.hash(key).0].lock();
        let mut best = None;
        for (xid, strength) in partition.rows.get(key).into_iter().flatten() {
            if mgr.is_own(backend, *xid)? {
                best = best.max(Some(*strength));
            }
        }
        Ok(best)
    }

    /// All who have the row now, for `pgrowlocks`-like views.
    pub fn members(&self, mgr: &TxnManager, key: &RowKey) -> Result<Vec<RowConflict>> {
        let partition = self.partitions[self.hash(key).0].lock();
        let mut found = Vec::new();
        for (xid, strength) in partition.rows.get(key).into_iter().flatten() {
            if mgr.is_running(*xid)? {
                found.push(RowConflict { xid: *xid, strength: *strength });
            }
        }
        Ok(found)
    }

    /// An update made version `to` from version `from`: the locks that were compatible with it
    /// hold for the new version too. Called with both pages latched exclusively.
    pub fn carry(&self, mgr: &TxnManager, from: &RowKey, to: &RowKey) -> Result<()> {
        if !self.may_be_locked(from) {
            return Ok(());
        }
        let members = self.members(mgr, from)?;
        if members.is_empty() {
            return Ok(());
        }
        let (at, bucket) = self.hash(to);
        let mut partition = self.partitions[at].lock();
        let fresh = !partition.rows.contains_key(to);
        let entry = partition.rows.entry(*to).or_default();
        for member in members {
            add_member(entry, member.xid, member.strength);
        }
        if fresh {
            self.filter[bucket].fetch_add(1, Ordering::AcqRel);
            self.rows.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Removes the entries of an ended transaction.
    pub(crate) fn forget(&self, mgr: &TxnManager, keys: &[RowKey]) {
        for key in keys {
            let (at, bucket) = self.hash(key);
            let mut partition = self.partitions[at].lock();
            let Some(members) = partition.rows.get_mut(key) else { continue };
            members.retain(|(xid, _)| mgr.is_running(*xid).unwrap_or(true));
            if members.is_empty() {
                partition.rows.remove(key);
                self.filter[bucket].fetch_sub(1, Ordering::AcqRel);
                self.rows.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    fn sweep_partition(&self, mgr: &TxnManager, partition: &mut Partition) {
        partition.rows.retain(|key, members| {
            members.retain(|(xid, _)| mgr.is_running(*xid).unwrap_or(true));
            if members.is_empty() {
                self.filter[self.hash(key).1].fetch_sub(1, Ordering::AcqRel);
                self.rows.fetch_sub(1, Ordering::AcqRel);
            }
            !members.is_empty()
        });
        partition.sweep_at = (partition.rows.len() * 2).max(64);
    }

    /// Removes all entries of ended transactions.
    pub(crate) fn sweep(&self, mgr: &TxnManager) {
        if self.rows.load(Ordering::Acquire) == 0 {
            return;
        }
        for partition in &self.partitions {
            self.sweep_partition(mgr, &mut partition.lock());
        }
    }

    /// Rows with an entry.
    pub fn len(&self) -> usize {
        self.rows.load(Ordering::Acquire)
    }

    /// True if no row has an entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn add_member(members: &mut Members, xid: Xid, strength: RowStrength) {
    match members.iter_mut().find(|(x, _)| *x == xid) {
        Some((_, s)) => *s = strength.max(*s),
        None => members.push((xid, strength)),
    }
}

fn first_conflict(
    mgr: &TxnManager,
    backend: &crate::Backend,
    members: &Members,
    strength: RowStrength,
) -> Result<Option<RowConflict>> {
    for (xid, has) in members {
        if strength.conflicts_with(*has) && mgr.is_running(*xid)? && !mgr.is_own(backend, *xid)? {
            return Ok(Some(RowConflict { xid: *xid, strength: *has }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::RowStrength::{self, *};

    #[test]
    fn the_conflict_table_is_postgres_s() {
        let rows: [(RowStrength, [bool; 4]); 4] = [
            (KeyShare, [false, false, false, true]),
            (Share, [false, false, true, true]),
            (NoKeyUpdate, [false, true, true, true]),
            (Update, [true, true, true, true]),
        ];
        for (a, row) in rows {
            for (b, conflicts) in [KeyShare, Share, NoKeyUpdate, Update].into_iter().zip(row) {
                assert_eq!(a.conflicts_with(b), conflicts, "{a:?} {b:?}");
            }
        }
    }
}
