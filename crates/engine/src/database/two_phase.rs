//! Prepared transactions: what is written of them, and those that are open.
//!
//! A file in `pg_twophase` for each, named by its id, written and synced before PREPARE
//! TRANSACTION returns; the log has the same bytes, for replay. The file goes after the commit
//! is durable, or before the rollback.

use super::Database;
use base::{BlockNo, Error, Oid, RelFile, Result, SqlState, Tid, Xid};
use catalog::Change;
use os::sync::Mutex;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use txn::{LockMode, LockTag, PreparedTxn, Preparing, XidStatus};

/// What is written of a prepared transaction.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreparedState {
    /// What the user calls it.
    pub gid: String,
    pub xid: u64,
    pub subxids: Vec<u64>,
    pub owner: u32,
    pub database: u32,
    /// Microseconds since 1970.
    pub prepared: i64,
    /// Files that go when it commits.
    pub dropped: Vec<(u32, u32, u32)>,
    /// Files that go when it is rolled back.
    pub made: Vec<(u32, u32, u32)>,
    /// What its commit makes stale.
    pub changes: Vec<(u8, u32)>,
    /// Kind of tag, four words, mode.
    locks: Vec<(u8, [u32; 4], u8)>,
}

/// A prepared transaction.
pub struct Prepared {
    pub state: PreparedState,
    pub txn: PreparedTxn,
}

/// Those that are open.
#[derive(Default)]
pub struct PreparedList {
    /// With those whose end a session is working on.
    pub all: Mutex<Vec<(Arc<Prepared>, bool)>>,
}

const CHANGES: [Change; 8] = [
    Change::Types,
    Change::Procs,
    Change::Operators,
    Change::Casts,
    Change::Collations,
    Change::Namespaces,
    Change::Roles,
    Change::Databases,
];

/// A change as it is written; 255 is a relation.
pub fn encode_change(change: Change) -> (u8, u32) {
    match change {
        Change::Relation(oid) => (255, oid.0),
        other => (CHANGES.iter().position(|c| *c == other).unwrap_or(0) as u8, 0),
    }
}

/// A relation's file as it is written.
pub fn encode_file(file: RelFile) -> (u32, u32, u32) {
    (file.tablespace.0, file.database.0, file.number)
}

fn encode_lock((tag, mode): (LockTag, LockMode)) -> Option<(u8, [u32; 4], u8)> {
    let (kind, words) = match tag {
        LockTag::Relation { db, rel } => (0, [db.0, rel.0, 0, 0]),
        LockTag::Object { db, class, id, sub } => (1, [db.0, class.0, id.0, u32::from(sub)]),
        LockTag::Advisory { db, key1, key2, kind } => (2, [db.0, key1, key2, u32::from(kind)]),
        LockTag::Page { db, rel, block } => (3, [db.0, rel.0, block.0, 0]),
        LockTag::Tuple { db, rel, tid } => (4, [db.0, rel.0, tid.block.0, u32::from(tid.offset)]),
        _ => return None,
    };
    Some((kind, words, LockMode::ALL.iter().position(|m| *m == mode)? as u8))
}

fn decode_lock((kind, w, mode): &(u8, [u32; 4], u8)) -> Option<(LockTag, LockMode)> {
    let (db, rel) = (Oid(w[0]), Oid(w[1]));
    let tag = match kind {
        0 => LockTag::Relation { db, rel },
        1 => LockTag::Object { db, class: rel, id: Oid(w[2]), sub: w[3] as u16 },
        2 => LockTag::Advisory { db, key1: w[1], key2: w[2], kind: w[3] as u16 },
        3 => LockTag::Page { db, rel, block: BlockNo(w[2]) },
        4 => {
            let tid = Tid { block: BlockNo(w[2]), offset: w[3] as u16 };
            LockTag::Tuple { db, rel, tid }
        }
        _ => return None,
    };
    Some((tag, *LockMode::ALL.get(*mode as usize)?))
}

fn files(list: &[(u32, u32, u32)]) -> Vec<RelFile> {
    let file =
        |f: &(u32, u32, u32)| RelFile { tablespace: Oid(f.0), database: Oid(f.1), number: f.2 };
    list.iter().map(file).collect()
}

impl PreparedState {
    /// Adds what the transaction system knows.
    pub fn with(mut self, what: &Preparing) -> PreparedState {
        self.xid = what.top.0;
        self.subxids = what.subxids.iter().map(|x| x.0).collect();
        self.locks = what.locks.iter().filter_map(|l| encode_lock(*l)).collect();
        self
    }

    /// One without ids and locks yet.
    pub fn new(gid: &str, owner: Oid, database: Oid) -> PreparedState {
        PreparedState {
            gid: gid.to_string(),
            xid: 0,
            subxids: Vec::new(),
            owner: owner.0,
            database: database.0,
            prepared: os::clock::now_micros(),
            dropped: Vec::new(),
            made: Vec::new(),
            changes: Vec::new(),
            locks: Vec::new(),
        }
    }

    /// Its bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Error::internal(format!("prepared state: {e}")))
    }

    /// From its bytes.
    pub fn decode(bytes: &[u8]) -> Result<PreparedState> {
        serde_json::from_slice(bytes)
            .map_err(|e| Error::new(SqlState::DATA_CORRUPTED, format!("prepared transaction: {e}")))
    }

    /// Files that go when it commits.
    pub fn dropped(&self) -> Vec<RelFile> {
        files(&self.dropped)
    }

    /// Files that go when it is rolled back.
    pub fn made(&self) -> Vec<RelFile> {
        files(&self.made)
    }

    /// What its commit makes stale.
    pub fn changes(&self) -> Vec<Change> {
        let change = |c: &(u8, u32)| match c.0 {
            255 => Some(Change::Relation(Oid(c.1))),
            n => CHANGES.get(n as usize).copied(),
        };
        self.changes.iter().filter_map(change).collect()
    }
}

impl Database {
    fn two_phase_path(&self, xid: Xid) -> PathBuf {
        self.dir.join("pg_twophase").join(format!("{:016X}", xid.0))
    }

    /// Writes the file of a prepared transaction, durably.
    pub(crate) fn write_prepared(&self, xid: Xid, bytes: &[u8]) -> Result<()> {
        Ok(self.disk.write_atomic(&self.two_phase_path(xid), bytes)?)
    }

    /// Reads it.
    pub(super) fn read_prepared(&self, xid: Xid) -> Result<PreparedState> {
        PreparedState::decode(&self.disk.read(&self.two_phase_path(xid))?)
    }

    /// Removes it, durably; fine if there is none.
    pub(crate) fn remove_prepared(&self, xid: Xid) -> Result<()> {
        let path = self.two_phase_path(xid);
        if !self.disk.exists(&path) {
            return Ok(());
        }
        self.disk.remove(&path)?;
        Ok(self.disk.sync_dir(&self.dir.join("pg_twophase"))?)
    }

    /// Ids of the transactions that have a file.
    pub(crate) fn prepared_files(&self) -> Result<Vec<Xid>> {
        let mut all = Vec::new();
        for entry in self.disk.list(&self.dir.join("pg_twophase"))? {
            if let Ok(xid) = u64::from_str_radix(&entry.name, 16) {
                all.push(Xid(xid));
            }
        }
        Ok(all)
    }

    /// After replay: what was prepared goes on being so.
    pub(super) fn adopt_prepared(&self) -> Result<()> {
        let mgr = &self.storage.txn;
        for xid in self.prepared_files()? {
            let state = self.read_prepared(xid)?;
            if matches!(mgr.status(xid)?, XidStatus::Committed(_)) {
                self.remove_prepared(xid)?;
                continue;
            }
            let place = mgr.register(0, Oid(state.database), Default::default())?;
            let what = Preparing {
                top: xid,
                subxids: state.subxids.iter().map(|x| Xid(*x)).collect(),
                locks: state.locks.iter().filter_map(decode_lock).collect(),
            };
            let txn = mgr.adopt_prepared(place, what)?;
            self.prepared.all.lock().push((Arc::new(Prepared { state, txn }), false));
        }
        Ok(())
    }
}
