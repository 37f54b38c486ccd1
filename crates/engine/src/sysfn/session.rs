//! A running statement's surroundings, as these functions use them.

use super::{CursorInfo, PreparedInfo, SysSession};
use crate::StatementEnv;
use crate::activity::SessionInfo;
use crate::ddl::Identity;
use crate::settings::SessionSettings;
use base::{Fork, Oid, Result};
use catalog::depend::ObjectAddress;
use catalog::{CatalogView, RelationDesc, RowStore, SysRow, oids};
use functions::FnEnv;
use txn::{LockInfo, PredicateHolder, PredicateTarget};
use types::Datum;

/// Microseconds from 1970 to 2000.
const EPOCH_SHIFT: i64 = types::datetime::UNIX_OFFSET;

impl StatementEnv<'_> {
    /// Fails if the user may not end the statement of a session, or the session.
    fn check_may_signal(&self, info: &SessionInfo, terminate: bool) -> Result<()> {
        let core = &self.core;
        let of_superuser = match info.background {
            true => true,
            false => info.user.is_valid() && self.view.role(info.user).is_ok_and(|r| r.superuser),
        };
        let (text, verb, them, it) = match terminate {
            true => ("terminate process", "terminate", "processes", "process is being terminated"),
            false => ("cancel query", "cancel", "queries", "query is being canceled"),
        };
        let refused = |detail: String| {
            let e = base::err!(INSUFFICIENT_PRIVILEGE, "permission denied to {text}");
            Err(e.detail(detail))
        };
        if info.background && info.leader.is_none() {
            if core.has_rights_of(oids::PG_SIGNAL_AUTOVACUUM_WORKER)? {
                return Ok(());
            }
            return refused(format!(
                "Only roles with privileges of the \"pg_signal_autovacuum_worker\" role may \
                 {verb} autovacuum workers."
            ));
        }
        if of_superuser {
            if core.is_superuser() {
                return Ok(());
            }
            return refused(format!(
                "Only roles with the SUPERUSER attribute may {verb} {them} of roles with the \
                 SUPERUSER attribute."
            ));
        }
        if core.has_rights_of(info.user)? || core.has_rights_of(oids::PG_SIGNAL_BACKEND)? {
            return Ok(());
        }
        let this = if terminate { "process" } else { "query" };
        refused(format!(
            "Only roles with privileges of the role whose {it} or with privileges of the \
             \"pg_signal_backend\" role may {verb} this {this}."
        ))
    }
}

impl SysSession for StatementEnv<'_> {
    fn tablespace_location(&self, oid: Oid) -> Result<String> {
        let link = format!("pg_tblspc/{oid}");
        let path = self.core.database.dir().join(&link);
        let disk = self.core.database.disk();
        match disk.link_target(&path) {
            Some(target) => Ok(target.display().to_string()),
            None if disk.exists(&path) => Ok(link),
            None => base::bail!(
                UNDEFINED_FILE,
                "could not stat file \"{link}\": No such file or directory"
            ),
        }
    }

    fn may_see_session_of(&self, role: Oid) -> bool {
        let core = &self.core;
        let own = role.is_valid() && core.has_rights_of(role).unwrap_or(false);
        own || core.has_rights_of(oids::PG_READ_ALL_STATS).unwrap_or(false)
    }

    fn check_may_read(&self, setting: &str) -> Result<()> {
        self.core.check_may_read(setting)
    }

    fn reads_all_settings(&self) -> bool {
        self.core.reads_all_settings().unwrap_or(false)
    }

    fn has_tablespace(&self, name: &str) -> Result<bool> {
        self.core.has_tablespace(name)
    }

    fn view_query(&self, view: &RelationDesc) -> Result<Option<ir::Query>> {
        match view.view_query() {
            Some(_) => analyze::view_query(&crate::analysis::env(self), view).map(Some),
            None => Ok(None),
        }
    }

    fn describe_object(&self, object: ObjectAddress) -> Result<Option<String>> {
        if self.with_ddl(|ddl| ddl.identify(object))?.is_none() {
            return Ok(None);
        }
        self.with_ddl(|ddl| ddl.describe(object)).map(Some)
    }

    fn identify_object(&self, object: ObjectAddress) -> Result<(String, Option<Identity>)> {
        self.with_ddl(|ddl| Ok((ddl.object_kind(object)?, ddl.identify(object)?)))
    }

    fn object_address(
        &self,
        kind: &str,
        names: &[Option<String>],
        args: &[Option<String>],
    ) -> Result<ObjectAddress> {
        self.with_ddl(|ddl| ddl.object_address(kind, names, args))
    }

    fn view(&self) -> &CatalogView {
        &self.view
    }

    fn env(&self) -> &dyn FnEnv {
        self
    }

    fn table_rows(&self, table: Oid) -> Result<Vec<SysRow>> {
        self.core.store.table_scan(table)
    }

    fn index_rows(&self, index: Oid, key: &[Datum]) -> Result<Vec<SysRow>> {
        self.core.store.index_scan(index, key)
    }

    fn pid(&self) -> i32 {
        self.core.backend.pid()
    }

    fn settings(&self) -> SessionSettings {
        self.core.settings.lock().clone()
    }

    fn set_config(&self, name: &str, value: Option<&str>, local: bool) -> Result<()> {
        match value {
            Some(value) => self.core.change_setting(name, value, local),
            None => {
                let actor = self.core.actor_of(name, false)?;
                self.core.settings.lock().reset(name, local, actor)
            }
        }
    }

    fn fork_bytes(&self, relation: &RelationDesc, fork: u8) -> Result<i64> {
        let fork = match fork {
            0 => Fork::Main,
            1 => Fork::Fsm,
            2 => Fork::Vm,
            _ => Fork::Init,
        };
        let persistence = match relation.persistence {
            catalog::Persistence::Permanent => buffer::Persistence::Permanent,
            catalog::Persistence::Unlogged => buffer::Persistence::Unlogged,
            catalog::Persistence::Temp => buffer::Persistence::Temp,
        };
        let files = self.core.database.storage().pool.relation(relation.relfile, persistence);
        if !files.exists(fork)? {
            return Ok(0);
        }
        Ok(i64::from(files.nblocks(fork)?.0) * base::PAGE_SIZE as i64)
    }

    fn directory_bytes(&self, path: &str) -> Result<i64> {
        let disk = self.core.database.disk();
        let mut todo = vec![self.core.database.dir().join(path)];
        let mut bytes = 0;
        while let Some(dir) = todo.pop() {
            for entry in disk.list(&dir)? {
                let path = dir.join(&entry.name);
                if entry.is_dir {
                    todo.push(path);
                } else {
                    bytes += disk.open(&path, &os::OpenOptions::new())?.len()? as i64;
                }
            }
        }
        Ok(bytes)
    }

    fn sessions(&self) -> Vec<SessionInfo> {
        let mut sessions = self.core.database.activity().sessions();
        for lock in self.locks() {
            if let txn::LockTag::Transaction(xid) = lock.tag
                && lock.granted
                && let Some(i) = sessions.iter_mut().find(|i| i.pid == lock.pid)
            {
                i.xid = Some(xid.0);
            }
        }
        sessions
    }

    fn part_pid(&self, part: &str) -> i32 {
        self.core.database.part(part).pid
    }

    fn locks(&self) -> Vec<LockInfo> {
        let txn = &self.core.database.storage().txn;
        txn.locks().list(txn)
    }

    fn predicate_locks(&self) -> Vec<(PredicateTarget, PredicateHolder)> {
        self.core.database.storage().txn.ssi().notes()
    }

    fn blocking(&self, pid: i32) -> Vec<i32> {
        let txn = &self.core.database.storage().txn;
        txn.locks().blocking_pids(txn, pid)
    }

    fn log_memory(&self, pid: i32) -> bool {
        self.core.database.log_memory_of(pid)
    }

    fn signal(&self, pid: i32, terminate: bool) -> Result<bool> {
        let activity = self.core.database.activity();
        if let Some((info, _)) = activity.session(pid) {
            self.check_may_signal(&info, terminate)?;
        }
        Ok(if terminate { activity.terminate(pid) } else { activity.cancel(pid) })
    }

    fn xid(&self, assign: bool) -> Result<Option<u64>> {
        let txn = self.core.txn()?;
        if assign {
            return Ok(Some(txn.xid()?.0));
        }
        Ok(txn.top_xid_if_any().map(|x| x.0))
    }

    fn running_xids(&self) -> Result<(u64, u64, Vec<u64>)> {
        let txns = &self.core.database.storage().txn;
        let (first, next) = (txns.oldest_running().0, txns.next_xid().0);
        let mut running = Vec::new();
        for xid in first..next {
            if txns.status(base::Xid(xid))? == txn::XidStatus::InProgress {
                running.push(xid);
            }
        }
        Ok((running.first().copied().unwrap_or(next), next, running))
    }

    fn xid_status(&self, xid: u64) -> Result<&'static str> {
        let txns = &self.core.database.storage().txn;
        if xid >= txns.next_xid().0 {
            return Err(base::err!(
                INVALID_PARAMETER_VALUE,
                "transaction ID {xid} is in the future"
            ));
        }
        Ok(match txns.status(base::Xid(xid))? {
            txn::XidStatus::InProgress => "in progress",
            txn::XidStatus::Committed(_) => "committed",
            txn::XidStatus::Aborted => "aborted",
        })
    }

    fn commit_time(&self, xid: u32) -> Result<Option<i64>> {
        let txns = &self.core.database.storage().txn;
        check_commit_times(txns)?;
        if xid == 0 {
            return Err(base::err!(
                INVALID_PARAMETER_VALUE,
                "cannot retrieve commit timestamp for transaction 0"
            ));
        }
        // Of the transactions with these low bits, the last one.
        let next = txns.next_xid().0;
        let full = match next & !0xFFFF_FFFF | u64::from(xid) {
            later if later >= next => later.checked_sub(1 << 32),
            full => Some(full),
        };
        full.map_or(Ok(None), |full| txns.commit_time(base::Xid(full)))
    }

    fn last_commit_time(&self) -> Result<Option<(u64, i64)>> {
        let txns = &self.core.database.storage().txn;
        check_commit_times(txns)?;
        Ok(txns.last_commit_time().map(|(xid, time)| (xid.0, time)))
    }

    fn new_oid(&self, table: Oid) -> Result<Oid> {
        use catalog::RowWriter;
        self.core.store.new_oid(table)
    }

    fn wal_ends(&self) -> (u64, u64) {
        let wal = self.core.database.wal();
        (wal.inserted().0, wal.flushed().0)
    }

    fn start_times(&self) -> (i64, i64) {
        let start = self.core.database.start_micros - EPOCH_SHIFT;
        (start, start)
    }

    fn cursors(&self) -> Vec<CursorInfo> {
        self.core.cursors.lock().clone()
    }

    fn prepared_transactions(&self) -> Vec<(u64, String, i64, u32, u32)> {
        let all = self.core.database.prepared.all.lock();
        let row = |p: &crate::database::two_phase::PreparedState| {
            (p.xid, p.gid.clone(), p.prepared - EPOCH_SHIFT, p.owner, p.database)
        };
        all.iter().map(|p| row(&p.0.state)).collect()
    }

    fn prepared(&self) -> Vec<PreparedInfo> {
        let all = self.core.prepared.lock();
        let mut list: Vec<PreparedInfo> =
            all.values().filter(|p| !p.name.is_empty()).map(|p| p.info()).collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        list
    }
}

/// Fails if times of commits are not kept.
fn check_commit_times(txns: &txn::TxnManager) -> Result<()> {
    if txns.keeps_times() {
        return Ok(());
    }
    let text = "could not get commit timestamp data";
    Err(base::err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "{text}")
        .hint("Make sure the configuration parameter \"track_commit_timestamp\" is set."))
}
