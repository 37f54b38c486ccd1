//! Snapshots and horizons.

use crate::backend::{Backend, ProcId};
use crate::ssi::Serial;
use base::{CommandId, Lsn, Xid};
use std::sync::Arc;

/// What a statement sees: the transactions whose commit records end at or before `lsn`, and
/// what its own transaction did in commands before `curcid`. While a clone of it lives, the
/// horizon does not pass it.
#[derive(Clone)]
pub struct Snapshot {
    /// The position.
    pub lsn: Lsn,
    /// Everything seen is safe once the log is flushed to here; a reply that shows it waits.
    pub gate: Lsn,
    /// Every transaction with a smaller id was over when the snapshot was taken: if a hint bit
    /// says it committed, it is seen.
    pub floor: Xid,
    /// The session whose transaction this is; its running ids are "own".
    pub proc: ProcId,
    /// Own changes of this command and later ones are not seen.
    pub curcid: CommandId,
    pub(crate) hold: Option<Arc<Hold>>,
    /// The serializable transaction that reads through it.
    pub(crate) serial: Option<Arc<Serial>>,
}

impl Snapshot {
    /// The same snapshot for a later or earlier command of the transaction.
    pub fn with_curcid(&self, curcid: CommandId) -> Snapshot {
        Snapshot { curcid, ..self.clone() }
    }

    /// The serializable transaction that has to note what it reads through the snapshot.
    #[inline]
    pub fn serial(&self) -> Option<&Arc<Serial>> {
        self.serial.as_ref()
    }

    /// Sees everything committed, nothing own. For recovery checks and tests; holds nothing.
    pub fn everything() -> Snapshot {
        Snapshot {
            lsn: Lsn::MAX,
            gate: Lsn::INVALID,
            floor: Xid(u64::MAX),
            proc: ProcId(u32::MAX),
            curcid: CommandId(0),
            hold: None,
            serial: None,
        }
    }

    /// As a number with PostgreSQL's text form `xmin:xmax:` cannot be had from a position, the
    /// oldest id that may still run stands for it.
    pub fn xmin(&self) -> Xid {
        self.floor
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({} floor {} proc {})", self.lsn, self.floor, self.proc.0)
    }
}

/// Keeps the horizon from passing a snapshot.
pub(crate) struct Hold {
    pub backend: Arc<Backend>,
    pub lsn: Lsn,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.backend.release_snapshot(self.lsn);
    }
}

/// What no snapshot, present or future, can be older than.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Horizon {
    /// Every snapshot sees what committed at or before this position.
    pub lsn: Lsn,
    /// Every transaction with a smaller id is over and, if it committed, seen by all.
    pub xid: Xid,
}

impl Horizon {
    /// True if a row deleted by a transaction that committed here is invisible to all.
    #[inline]
    pub fn passed(&self, commit: Lsn) -> bool {
        commit <= self.lsn
    }
}
