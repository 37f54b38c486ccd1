//! PREPARE TRANSACTION, COMMIT PREPARED, ROLLBACK PREPARED.

use super::Session;
use crate::database::two_phase::{Prepared, PreparedState, encode_change, encode_file};
use crate::settings::SessionSettings;
use base::{Error, Result, bail, err};
use std::sync::Arc;

/// The longest name, and a zero byte.
const MOST_BYTES: usize = 200;

impl Session {
    /// PREPARE TRANSACTION of the open block, which is over afterwards.
    pub(super) fn prepare_block(&mut self, gid: &str) -> Result<()> {
        let result = self.prepare_open(gid);
        if result.is_err() {
            let _ = self.rollback_all();
        }
        result
    }

    fn prepare_open(&mut self, gid: &str) -> Result<()> {
        if gid.len() >= MOST_BYTES {
            bail!(INVALID_PARAMETER_VALUE, "transaction identifier \"{gid}\" is too long");
        }
        let most = self.core.settings.lock().i64("max_prepared_transactions");
        if most == 0 {
            return Err(err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "prepared transactions are disabled"
            )
            .hint("Set \"max_prepared_transactions\" to a nonzero value."));
        }
        let txn = self.core.txn()?;
        while txn.depth() > 0 {
            self.commit_sub(&txn)?;
        }
        self.check_preparable()?;
        self.fire_deferred()?;
        let (made, dropped) = self.core.files.lock().permanent()?;
        let changes = self.core.overlay.changes();
        let mut state = PreparedState::new(gid, self.core.users().current, self.core.state.oid);
        state.made = made.into_iter().map(encode_file).collect();
        state.dropped = dropped.into_iter().map(encode_file).collect();
        state.changes = changes.into_iter().map(encode_change).collect();
        let database = self.core.database.clone();
        // Held to the end, so that a name is not taken twice.
        let mut all = database.prepared.all.lock();
        if all.iter().any(|p| p.0.state.gid == gid) {
            bail!(DUPLICATE_OBJECT, "transaction identifier \"{gid}\" is already in use");
        }
        if all.len() as i64 >= most {
            return Err(err!(OUT_OF_MEMORY, "maximum number of prepared transactions reached")
                .hint(format!("Increase \"max_prepared_transactions\" (currently {most}).")));
        }
        let mgr = &database.storage().txn;
        let place = mgr.register(0, self.core.state.oid, Default::default())?;
        let prepared = txn.prepare(place, &mut |what| {
            let whole = state.clone().with(what);
            let bytes = whole.encode()?;
            mgr.log_prepare(what.top, &bytes)?;
            database.write_prepared(what.top, &bytes)?;
            state = whole;
            Ok(())
        })?;
        all.push((Arc::new(Prepared { state, txn: prepared }), false));
        drop(all);
        self.leave_prepared();
        Ok(())
    }

    /// What a prepared transaction cannot have done.
    fn check_preparable(&self) -> Result<()> {
        let refused = |what: &str| {
            err!(FEATURE_NOT_SUPPORTED, "cannot PREPARE a transaction that has {what}")
        };
        if self.core.listening.lock().is_pending() {
            return Err(refused("executed LISTEN, UNLISTEN, or NOTIFY"));
        }
        if self.portals.iter().any(|p| p.hold && !p.is_held()) {
            return Err(refused("created a cursor WITH HOLD"));
        }
        if !self.core.store.moved_files().is_empty() {
            return Err(refused("modified relation mapping"));
        }
        if !self.core.exports.lock().is_empty() {
            return Err(refused("exported snapshots"));
        }
        if self.core.txn()?.isolation() == txn::Isolation::Serializable {
            return Err(Error::unsupported("PREPARE TRANSACTION of a serializable transaction"));
        }
        Ok(())
    }

    /// The session has no transaction any more, and nothing of it is undone.
    fn leave_prepared(&mut self) {
        self.drop_portals();
        self.core.foreign_keys.clear();
        self.core.files.lock().forget();
        self.block = Default::default();
        self.leave_transaction(SessionSettings::commit_level);
        self.core.changes.end_transaction(self.core.state.oid, true);
    }

    /// COMMIT PREPARED, or ROLLBACK PREPARED.
    pub(super) fn finish_prepared(&mut self, gid: &str, commit: bool) -> Result<()> {
        let database = self.core.database.clone();
        let found = self.claim_prepared(gid)?;
        let result = match commit {
            true => self.commit_prepared(&found),
            false => self.rollback_prepared(&found),
        };
        let mut all = database.prepared.all.lock();
        match &result {
            Ok(()) => all.retain(|p| !Arc::ptr_eq(&p.0, &found)),
            Err(_) => {
                all.iter_mut().filter(|p| Arc::ptr_eq(&p.0, &found)).for_each(|p| p.1 = false);
            }
        }
        result
    }

    fn claim_prepared(&mut self, gid: &str) -> Result<Arc<Prepared>> {
        self.ensure_transaction()?;
        let (user, superuser) = (self.core.users().current, self.core.is_superuser());
        let mut all = self.core.database.prepared.all.lock();
        let Some(found) = all.iter_mut().find(|p| p.0.state.gid == gid) else {
            bail!(
                UNDEFINED_OBJECT,
                "prepared transaction with identifier \"{gid}\" does not exist"
            );
        };
        if found.1 {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "prepared transaction with identifier \"{gid}\" is busy"
            );
        }
        if !superuser && found.0.state.owner != user.0 {
            return Err(err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to finish prepared transaction"
            )
            .hint("Must be superuser or the user that prepared the transaction."));
        }
        if found.0.state.database != self.core.state.oid.0 {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "prepared transaction belongs to another database"
            )
            .hint("Connect to the database where the transaction was prepared to finish it."));
        }
        found.1 = true;
        Ok(found.0.clone())
    }

    fn commit_prepared(&self, found: &Prepared) -> Result<()> {
        let database = &self.core.database;
        let changes = found.state.changes();
        let concerned = match changes.is_empty() {
            true => Vec::new(),
            false => database.concerned(self.core.state.oid, &changes),
        };
        for cache in &concerned {
            cache.begin(&changes);
        }
        let pool = &database.storage().pool;
        found.txn.commit(found.state.dropped(), &mut |_| {
            for cache in &concerned {
                cache.end();
            }
            for file in found.state.dropped() {
                pool.drop_relation(file)?;
            }
            Ok(())
        })?;
        database.remove_prepared(found.txn.xid())
    }

    fn rollback_prepared(&self, found: &Prepared) -> Result<()> {
        let database = &self.core.database;
        database.remove_prepared(found.txn.xid())?;
        found.txn.abort()?;
        for file in found.state.made() {
            database.storage().pool.drop_relation(file)?;
        }
        Ok(())
    }
}
