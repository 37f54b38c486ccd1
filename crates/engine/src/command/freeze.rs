//! How old transaction ids may get: what VACUUM freezes, and what `pg_class` and `pg_database` say
//! of the oldest ids that are left.
//!
//! Ids have 64 bits and never come round, so nothing depends on this but who looks at it. The
//! catalogs show the low half of an id, as PostgreSQL's do.

use super::vacuum_options::Options;
use crate::Session;
use access::heap::Skip;
use base::{Oid, Result, Xid};
use catalog::{RelKind, RelationDesc, RowStore, RowWriter, SysRow, indexes, oids};
use txn::{LockMode, LockTag};
use types::Datum;

/// The next multixact id, as the catalogs show it: none was ever made, row locks are in memory.
pub(crate) const NEXT_MULTI: u32 = 1;

/// The id of which `low` is the low half, if the next one is `next`; None if it says nothing or
/// lies ahead.
pub(crate) fn full_id(low: u32, next: Xid) -> Option<Xid> {
    let age = (next.0 as u32).wrapping_sub(low) as i32;
    (u64::from(low) >= Xid::FIRST_NORMAL.0 && age >= 0).then(|| Xid(next.0 - age as u64))
}

/// How far a vacuum goes.
pub(super) struct Cutoffs {
    /// Rows with older ids are frozen.
    pub freeze_before: Xid,
    /// Pages are looked at even if all see all their rows.
    pub aggressive: bool,
    /// The table's ids are so old that only freezing matters.
    pub failsafe: bool,
    /// What `pg_class` says.
    oldest_low: u32,
}

impl Cutoffs {
    pub fn of(session: &Session, rel: &RelationDesc, how: &Options) -> Result<Cutoffs> {
        let oldest_low = session.oldest_in_class(rel.oid)?;
        let settings = session.core.settings.lock();
        let next = session.core.database.storage().txn.next_xid();
        let most = settings.i64("autovacuum_freeze_max_age");
        // An automatic one follows the table's own settings.
        let own = |name: &str| {
            let own = session.is_background().then(|| rel.option(name)).flatten();
            own.and_then(|v| v.parse::<i64>().ok()).filter(|n| *n >= 0)
        };
        let age = |name: &str, option: &str, most: i64| match how.freeze {
            true => 0,
            false => own(option).unwrap_or_else(|| settings.i64(name)).min(most),
        };
        let before = |age: i64| Xid(next.0.saturating_sub(age.max(0) as u64));
        let min = age("vacuum_freeze_min_age", "autovacuum_freeze_min_age", most / 2);
        let table = age("vacuum_freeze_table_age", "autovacuum_freeze_table_age", most / 100 * 95);
        let multi = age(
            "vacuum_multixact_freeze_table_age",
            "autovacuum_multixact_freeze_table_age",
            settings.i64("autovacuum_multixact_freeze_max_age") / 100 * 95,
        );
        let failsafe = settings.i64("vacuum_failsafe_age").max(most / 100 * 105);
        let oldest = full_id(oldest_low, next);
        Ok(Cutoffs {
            freeze_before: before(min),
            // Where the oldest id is not known, it is found out.
            aggressive: oldest.is_none_or(|id| id <= before(table)) || multi == 0,
            failsafe: oldest.is_some_and(|id| id < before(failsafe)),
            oldest_low,
        })
    }

    /// What there is to write into `pg_class` if no row of the table has an id older than `oldest`.
    pub fn advance(&self, session: &Session, oldest: Xid) -> Option<Advance> {
        let next = session.core.database.storage().txn.next_xid();
        let now = oldest.max(Xid::FIRST_NORMAL);
        let moves = full_id(self.oldest_low, next).is_none_or(|old| old < now);
        let by = (now.0 as u32).wrapping_sub(self.oldest_low) as i32;
        moves.then_some(Advance { now, by })
    }

    /// The pages that need not be looked at.
    pub fn skip(&self, how: &Options) -> Skip {
        match (how.all_pages, self.aggressive) {
            (true, _) => Skip::Nothing,
            (false, true) => Skip::AllFrozen,
            (false, false) => Skip::AllVisible,
        }
    }
}

/// How far the oldest id of a table has moved.
#[derive(Clone, Copy)]
pub(super) struct Advance {
    /// What it is now.
    pub now: Xid,
    /// By how many ids.
    pub by: i32,
}

impl Session {
    /// The low half of the oldest id of a table, as `pg_class` has it; 0 if there is no such table.
    /// The descriptors of system tables do not know it.
    pub(crate) fn oldest_in_class(&self, table: Oid) -> Result<u32> {
        let rows = self.core.store.index_scan(indexes::PG_CLASS_OID, &[Datum::U32(table.0)])?;
        rows.first().map_or(Ok(0), |row| Ok(row.oid("relfrozenxid")?.0))
    }

    /// Brings `pg_database` up to date with the tables of this database, in a transaction of its
    /// own.
    pub(crate) fn note_oldest_of_database(&mut self) -> Result<()> {
        self.write_oldest_of_database()?;
        self.commit_transaction()?;
        self.ensure_transaction()
    }

    fn write_oldest_of_database(&self) -> Result<()> {
        let db = self.core.state.oid;
        let txn = self.core.txn()?;
        // Two at once would write the same row.
        txn.lock(LockTag::FrozenIds { db }, LockMode::Exclusive)?;
        let next = txn.mgr().next_xid();
        let mut oldest = txn.mgr().oldest_running();
        drop(txn);
        for row in self.core.store.table_scan(oids::PG_CLASS)? {
            if matches!(row.char("relkind")?, b'r' | b'm' | b't') {
                // A table of which nothing is known may have ids as old as the database's.
                let Some(id) = full_id(row.oid("relfrozenxid")?.0, next) else { return Ok(()) };
                oldest = oldest.min(id);
            }
        }
        let _kept = self.core.store.keep_locks();
        let key = [Datum::U32(db.0)];
        let found = self.core.store.index_scan(indexes::PG_DATABASE_OID, &key)?;
        let Some(mut row) = found.into_iter().next() else { return Ok(()) };
        let before = full_id(row.oid("datfrozenxid")?.0, next);
        if before.is_none_or(|b| b < oldest) {
            row.set_oid("datfrozenxid", low(oldest))?.set_oid("datminmxid", Oid(NEXT_MULTI))?;
            self.core.store.update(row)?;
        }
        Ok(())
    }
}

/// The low half of an id, as catalogs show it.
pub(crate) fn low(id: Xid) -> Oid {
    Oid(id.0 as u32)
}

/// True of relations whose rows have transaction ids.
pub(crate) fn is_heap(kind: RelKind) -> bool {
    matches!(kind, RelKind::Table | RelKind::MatView | RelKind::Toast)
}

/// A table's row of `pg_class` when its file is new: no id in it is older than that of the oldest
/// transaction that runs.
pub(crate) fn set_new(row: &mut SysRow, oldest: Xid) -> Result<()> {
    row.set_oid("relfrozenxid", low(oldest))?.set_oid("relminmxid", Oid(NEXT_MULTI))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_id_is_made_whole() {
        let next = Xid((5 << 32) + 10);
        assert_eq!(full_id(7, next), Some(Xid((5 << 32) + 7)));
        assert_eq!(full_id(u32::MAX, next), Some(Xid((5 << 32) - 1)));
        assert_eq!(full_id(11, next), None);
        assert_eq!((full_id(0, next), full_id(2, next)), (None, None));
        assert_eq!(full_id(744, Xid(106)), None);
    }
}
