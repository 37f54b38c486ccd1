//! Heavyweight locks: on relations, rows in dispute, transactions, objects, and what users
//! make of advisory locks. README.md, "Locks", has the protocol.

pub mod about;
mod deadlock;
mod fast;
mod list;
mod local;
mod park;
mod table;

pub(crate) use fast::FastPath;
pub use list::LockInfo;
pub(crate) use local::{LocalLocks, Owner};
pub(crate) use park::{Parked, Place};
pub(crate) use table::WaitInfo;
pub use table::{LockManager, LongWait, WaitStage, WaitWatcher};

use base::wait::WaitEvent;
use base::{BlockNo, Oid, Tid, Xid};
use std::fmt;

/// The eight modes, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LockMode {
    /// SELECT.
    AccessShare = 1,
    /// SELECT FOR UPDATE and the like.
    RowShare = 2,
    /// INSERT, UPDATE, DELETE.
    RowExclusive = 3,
    /// VACUUM, ANALYZE, CREATE INDEX CONCURRENTLY.
    ShareUpdateExclusive = 4,
    /// CREATE INDEX.
    Share = 5,
    /// CREATE TRIGGER and some ALTER TABLE.
    ShareRowExclusive = 6,
    /// REFRESH MATERIALIZED VIEW CONCURRENTLY.
    Exclusive = 7,
    /// DROP, TRUNCATE, most ALTER TABLE, LOCK TABLE.
    AccessExclusive = 8,
}

impl LockMode {
    /// All modes, weakest first.
    pub const ALL: [LockMode; 8] = [
        LockMode::AccessShare,
        LockMode::RowShare,
        LockMode::RowExclusive,
        LockMode::ShareUpdateExclusive,
        LockMode::Share,
        LockMode::ShareRowExclusive,
        LockMode::Exclusive,
        LockMode::AccessExclusive,
    ];

    /// The name in `pg_locks` and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            LockMode::AccessShare => "AccessShareLock",
            LockMode::RowShare => "RowShareLock",
            LockMode::RowExclusive => "RowExclusiveLock",
            LockMode::ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            LockMode::Share => "ShareLock",
            LockMode::ShareRowExclusive => "ShareRowExclusiveLock",
            LockMode::Exclusive => "ExclusiveLock",
            LockMode::AccessExclusive => "AccessExclusiveLock",
        }
    }

    pub(crate) const fn bit(self) -> u16 {
        1 << self as u8
    }

    /// The modes that cannot be held by others at the same time, as a set of bits.
    pub(crate) const fn conflicts(self) -> u16 {
        const fn from(first: LockMode) -> u16 {
            0x1FE & !(first.bit() - 1)
        }
        match self {
            LockMode::AccessShare => from(LockMode::AccessExclusive),
            LockMode::RowShare => from(LockMode::Exclusive),
            LockMode::RowExclusive => from(LockMode::Share),
            LockMode::ShareUpdateExclusive => from(LockMode::ShareUpdateExclusive),
            LockMode::Share => from(LockMode::RowExclusive) & !LockMode::Share.bit(),
            LockMode::ShareRowExclusive => from(LockMode::RowExclusive),
            LockMode::Exclusive => from(LockMode::RowShare),
            LockMode::AccessExclusive => from(LockMode::AccessShare),
        }
    }

    /// True if the two modes cannot be held by two sessions at the same time.
    pub const fn conflicts_with(self, other: LockMode) -> bool {
        self.conflicts() & other.bit() != 0
    }
}

/// What a lock is on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockTag {
    /// A relation; database 0 for shared ones.
    Relation {
        /// Its database.
        db: Oid,
        /// The relation.
        rel: Oid,
    },
    /// The right to extend a relation.
    Extend {
        /// Its database.
        db: Oid,
        /// The relation.
        rel: Oid,
    },
    /// The right to change `pg_database.datfrozenxid`.
    FrozenIds {
        /// The database.
        db: Oid,
    },
    /// A page of a relation.
    Page {
        /// Its database.
        db: Oid,
        /// The relation.
        rel: Oid,
        /// The page.
        block: BlockNo,
    },
    /// The first place in the queue for a row.
    Tuple {
        /// Its database.
        db: Oid,
        /// The relation.
        rel: Oid,
        /// The row version.
        tid: Tid,
    },
    /// The end of a transaction.
    Transaction(Xid),
    /// The end of a virtual transaction.
    VirtualXid {
        /// Slot of the session, from 1.
        proc: u32,
        /// Count of its transactions.
        local: u32,
    },
    /// The end of a speculative insertion.
    SpeculativeToken {
        /// The transaction that inserts.
        xid: Xid,
        /// The insertion.
        token: u32,
    },
    /// A catalog object that is not a relation.
    Object {
        /// Its database; 0 for shared ones.
        db: Oid,
        /// The catalog.
        class: Oid,
        /// The object.
        id: Oid,
        /// A part of it, or 0.
        sub: u16,
    },
    /// A user's lock.
    Advisory {
        /// The database.
        db: Oid,
        /// High half of the key, or the first of two.
        key1: u32,
        /// Low half of the key, or the second of two.
        key2: u32,
        /// 1: one key of 64 bits; 2: two of 32 bits.
        kind: u16,
    },
}

impl LockTag {
    /// `pg_locks.locktype`.
    pub const fn type_name(&self) -> &'static str {
        match self {
            LockTag::Relation { .. } => "relation",
            LockTag::Extend { .. } => "extend",
            LockTag::FrozenIds { .. } => "frozenid",
            LockTag::Page { .. } => "page",
            LockTag::Tuple { .. } => "tuple",
            LockTag::Transaction(_) => "transactionid",
            LockTag::VirtualXid { .. } => "virtualxid",
            LockTag::SpeculativeToken { .. } => "spectoken",
            LockTag::Object { .. } => "object",
            LockTag::Advisory { .. } => "advisory",
        }
    }

    /// What a session that waits for it is shown to wait for.
    pub const fn wait_event(&self) -> WaitEvent {
        match self {
            LockTag::Relation { .. } => WaitEvent::LockRelation,
            LockTag::Extend { .. } => WaitEvent::LockExtend,
            LockTag::FrozenIds { .. } => WaitEvent::LockFrozenid,
            LockTag::Page { .. } => WaitEvent::LockPage,
            LockTag::Tuple { .. } => WaitEvent::LockTuple,
            LockTag::Transaction(_) => WaitEvent::LockTransactionid,
            LockTag::VirtualXid { .. } => WaitEvent::LockVirtualxid,
            LockTag::SpeculativeToken { .. } => WaitEvent::LockSpectoken,
            LockTag::Object { .. } => WaitEvent::LockObject,
            LockTag::Advisory { .. } => WaitEvent::LockAdvisory,
        }
    }
}

impl fmt::Display for LockTag {
    /// As in the detail of a deadlock.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockTag::Relation { db, rel } => write!(f, "relation {rel} of database {db}"),
            LockTag::Extend { db, rel } => {
                write!(f, "extension of relation {rel} of database {db}")
            }
            LockTag::FrozenIds { db } => write!(f, "pg_database.datfrozenxid of database {db}"),
            LockTag::Page { db, rel, block } => {
                write!(f, "page {block} of relation {rel} of database {db}")
            }
            LockTag::Tuple { db, rel, tid } => {
                write!(f, "tuple {tid} of relation {rel} of database {db}")
            }
            LockTag::Transaction(xid) => write!(f, "transaction {xid}"),
            LockTag::VirtualXid { proc, local } => write!(f, "virtual transaction {proc}/{local}"),
            LockTag::SpeculativeToken { xid, token } => {
                write!(f, "speculative token {token} of transaction {xid}")
            }
            LockTag::Object { db, class, id, .. } => {
                write!(f, "object {id} of class {class} of database {db}")
            }
            LockTag::Advisory { db, key1, key2, kind } => {
                write!(f, "advisory lock [{db},{key1},{key2},{kind}]")
            }
        }
    }
}

/// What to do if a lock is not free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Wait, looking for deadlocks, until granted, timed out or interrupted.
    Block,
    /// Queue, and leave with [`base::Error::parked`]. The same request made again goes on from
    /// there; [`crate::Backend::abandon_wait`] takes it back.
    Park,
    /// Give up.
    NoWait,
}

/// How a request for a lock ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockOutcome {
    /// Granted now: what the lock protects may have changed before.
    Granted,
    /// The session had it in this mode already.
    AlreadyHeld,
    /// Somebody else has it, and the request did not want to wait.
    NotAvailable,
}

impl LockOutcome {
    /// True unless the lock was not available.
    pub fn is_held(self) -> bool {
        self != LockOutcome::NotAvailable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conflict_table_is_postgres_s() {
        // Rows: requested; columns: held; from the documentation, 13.3.1.
        let rows = [
            "00000001", "00000011", "00001111", "00011111", "00110111", "00111111", "01111111",
            "11111111",
        ];
        for (row, a) in rows.iter().zip(LockMode::ALL) {
            for (cell, b) in row.bytes().zip(LockMode::ALL) {
                assert_eq!(a.conflicts_with(b), cell == b'1', "{a:?} {b:?}");
                assert_eq!(a.conflicts_with(b), b.conflicts_with(a));
            }
        }
    }
}
