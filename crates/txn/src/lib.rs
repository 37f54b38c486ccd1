//! Transactions: identifiers, what became of them, snapshots, locks of every kind.
//!
//! Entry points: [`TxnManager`] (one per server); [`Backend`], a session's place in it;
//! [`Txn`], from [`TxnManager::begin`]; [`Snapshot`], from [`Txn::snapshot`];
//! [`TxnManager::status`] and [`TxnManager::sees`] for visibility; [`Horizon`] for what vacuum
//! may remove; [`Txn::lock`] for heavyweight locks; [`RowLocks`] for rows; [`Interrupts`].
//!
//! Invariants: a snapshot is one log position, and sees exactly the transactions whose commit
//! records end at or before it; the state of a transaction changes once; locks go when the
//! commit record is in the log buffer, and a hint bit comes only when it is on disk. The
//! protocols are in README.md.
//!
//! It must never know what a tuple, a plan or a statement is.

mod backend;
mod clog;
mod combo;
mod commit_times;
mod interrupts;
mod lock;
mod manager;
mod protocol;
mod record;
mod redo;
mod row_lock;
mod snapshot;
mod ssi;
mod transaction;
mod two_phase;
mod xid_table;

pub use backend::{Backend, ProcId};
pub use interrupts::Interrupts;
pub use lock::about;
pub use lock::{LockInfo, LockMode, LockOutcome, LockTag, LongWait, Wait, WaitStage, WaitWatcher};
pub use manager::{Sees, TxnConfig, TxnLog, TxnManager, XidStatus};
pub use record::{INFO_ABORT, INFO_COMMIT, XactRecord};
pub use redo::{OnCommit, TxnRedo};
pub use row_lock::{RowConflict, RowKey, RowLocks, RowStrength};
pub use snapshot::{Horizon, Snapshot};
pub use ssi::{PredicateHolder, PredicateTarget, Serial, Ssi};
pub use transaction::{CommitData, Isolation, SubId, Txn};
pub use two_phase::{INFO_PREPARE, PreparedTxn, Preparing};
