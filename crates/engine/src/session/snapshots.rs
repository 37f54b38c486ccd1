//! Snapshots that other sessions may take over: `pg_export_snapshot`, SET TRANSACTION SNAPSHOT.

use super::{Session, SessionCore};
use base::{Oid, Result, bail, err};
use os::sync::Mutex;
use std::collections::HashMap;
use txn::{Isolation, Snapshot};

/// A snapshot that may be taken over as long as its transaction is open.
struct Exported {
    database: Oid,
    snapshot: Snapshot,
}

/// All of them, by name.
#[derive(Default)]
pub struct Exports {
    all: Mutex<HashMap<String, Exported>>,
}

impl SessionCore {
    /// `pg_export_snapshot`: the name by which others find the transaction's snapshot.
    pub(crate) fn export_snapshot(&self) -> Result<String> {
        let txn = self.txn()?;
        if txn.depth() > 0 {
            bail!(ACTIVE_SQL_TRANSACTION, "cannot export a snapshot from a subtransaction");
        }
        let mut own = self.exports.lock();
        let (slot, local) = self.backend.virtual_xid();
        let name = format!("{slot:08X}-{local:08X}-{}", own.len() + 1);
        let exported = Exported { database: self.state.oid, snapshot: txn.snapshot() };
        self.database.exports.all.lock().insert(name.clone(), exported);
        own.push(name.clone());
        Ok(name)
    }

    /// The transaction is over: nobody finds its snapshots any more.
    pub(crate) fn forget_exports(&self) {
        let mut own = self.exports.lock();
        if own.is_empty() {
            return;
        }
        let mut all = self.database.exports.all.lock();
        for name in own.drain(..) {
            all.remove(&name);
        }
    }
}

/// True for names as [`SessionCore::export_snapshot`] makes them.
fn is_name(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let hex = |p: &str| p.len() == 8 && p.bytes().all(|b| b.is_ascii_hexdigit());
    match parts[..] {
        [slot, local, n] => hex(slot) && hex(local) && n.parse::<u32>().is_ok(),
        _ => false,
    }
}

impl Session {
    /// SET TRANSACTION SNAPSHOT.
    pub(crate) fn set_snapshot(&mut self, name: &str) -> Result<()> {
        let txn = self.core.txn()?;
        if txn.has_kept_snapshot() || txn.depth() > 0 {
            bail!(
                ACTIVE_SQL_TRANSACTION,
                "SET TRANSACTION SNAPSHOT must be called before any query"
            );
        }
        if txn.isolation() < Isolation::RepeatableRead {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "a snapshot-importing transaction must have isolation level SERIALIZABLE or \
                 REPEATABLE READ"
            );
        }
        if txn.isolation() == Isolation::Serializable {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "a serializable transaction cannot import a snapshot from a non-serializable \
                 transaction"
            );
        }
        if !is_name(name) {
            bail!(INVALID_PARAMETER_VALUE, "invalid snapshot identifier: \"{name}\"");
        }
        // Held while it is taken over: its transaction cannot end in between.
        let all = self.core.database.exports.all.lock();
        let found = all
            .get(name)
            .ok_or_else(|| err!(UNDEFINED_OBJECT, "snapshot \"{name}\" does not exist"))?;
        if found.database != self.core.state.oid {
            bail!(FEATURE_NOT_SUPPORTED, "cannot import a snapshot from a different database");
        }
        txn.import_snapshot(&found.snapshot);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_have_a_form() {
        assert!(super::is_name("00000003-0000001B-1"));
        assert!(!super::is_name("foo"));
        assert!(!super::is_name("00000003-0000001B"));
    }
}
