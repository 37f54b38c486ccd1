//! CREATE, ALTER and DROP DATABASE.

mod alter;
mod create;
mod options;

use crate::Session;
use base::{Error, Oid, Result, err};
use catalog::{DatabaseDesc, RowStore, SysRow, indexes};
use std::sync::Arc;
use types::Datum;

/// One more or several more.
fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

impl Session {
    /// The database of this name.
    pub(crate) fn require_database(&self, name: &str) -> Result<Arc<DatabaseDesc>> {
        self.core
            .view()?
            .database_named(name)?
            .ok_or_else(|| err!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist"))
    }

    fn database_row(&self, oid: Oid) -> Result<SysRow> {
        let found = self.core.store.index_scan(indexes::PG_DATABASE_OID, &[Datum::U32(oid.0)])?;
        let gone = || err!(INVALID_CATALOG_NAME, "database with OID {oid} does not exist");
        found.into_iter().next().ok_or_else(gone)
    }

    /// Locks a database against others who create from it, change it or drop it.
    fn lock_database(&self, oid: Oid) -> Result<()> {
        let class = catalog::oids::PG_DATABASE;
        let tag = txn::LockTag::Object { db: Oid::INVALID, class, id: oid, sub: 0 };
        self.core.txn()?.lock(tag, txn::LockMode::AccessExclusive)?;
        Ok(())
    }

    /// Fails while other sessions are in the database, after having given them time to leave.
    fn require_nobody_in(&self, oid: Oid, message: String) -> Result<()> {
        let own = self.place.pid();
        let others = self.core.database.wait_for_others(oid, own);
        if others == 0 {
            return Ok(());
        }
        let sessions = plural(others, "other session", "other sessions");
        let verb = if others == 1 { "is" } else { "are" };
        Err(Error::new(base::SqlState::OBJECT_IN_USE, message)
            .detail(format!("There {verb} {sessions} using the database.")))
    }
}
