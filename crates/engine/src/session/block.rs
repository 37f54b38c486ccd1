//! Transaction blocks: BEGIN, COMMIT, ROLLBACK, savepoints, and the transactions of statements
//! outside of blocks.

use super::Session;
use crate::database::moved::MovedFiles;
use crate::settings::{SessionSettings, isolation_value};
use base::settings::SettingValue;
use base::{Error, Result, SqlState, bail, err};
use parser::ast::{IsolationLevel, Stmt, TransactionMode, TransactionStmt};
use std::cell::Cell;
use std::sync::Arc;
use txn::{CommitData, Isolation, Txn};

/// What ReadyForQuery says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStatus {
    /// No block is open.
    Idle,
    /// A block is open.
    InBlock,
    /// A block is open and failed.
    Failed,
}

impl TransactionStatus {
    /// Its letter in the protocol.
    pub fn as_u8(self) -> u8 {
        match self {
            TransactionStatus::Idle => b'I',
            TransactionStatus::InBlock => b'T',
            TransactionStatus::Failed => b'E',
        }
    }
}

struct Savepoint {
    name: String,
}

/// Where the session is with its transaction.
#[derive(Default)]
pub struct Block {
    /// BEGIN was said.
    open: bool,
    failed: bool,
    /// Several statements in one query string, or messages before one Sync, make one transaction.
    implicit: bool,
    /// A message before Sync has run a statement: the next ones go on with its transaction.
    pipelining: bool,
    /// What was run cannot be rolled back, so that its transaction ends with it.
    ends_at_once: Cell<bool>,
    savepoints: Vec<Savepoint>,
    /// A query was run: the transaction's properties are fixed.
    queried: bool,
}

fn isolation_of(level: IsolationLevel) -> Isolation {
    match level {
        IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
        IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
        IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
        IsolationLevel::Serializable => Isolation::Serializable,
    }
}

fn no_transaction() -> Error {
    Error::with_severity(
        base::Severity::Warning,
        SqlState::NO_ACTIVE_SQL_TRANSACTION,
        "there is no transaction in progress",
    )
}

impl Block {
    /// Messages after Sync are on their own.
    pub(super) fn leave_pipeline(&mut self) {
        self.pipelining = false;
    }
}

impl Session {
    /// What ReadyForQuery says.
    pub fn status(&self) -> TransactionStatus {
        match (self.in_block(), self.block.failed) {
            (_, true) => TransactionStatus::Failed,
            (true, _) => TransactionStatus::InBlock,
            _ => TransactionStatus::Idle,
        }
    }

    /// Closes what does not outlive the transaction.
    pub(super) fn drop_portals(&mut self) {
        if self.portals.is_empty() {
            return;
        }
        let shown = self.portals.iter().any(|p| p.cursor.is_some());
        self.portals.retain(|p| p.is_held());
        if shown {
            self.show_cursors();
        }
    }

    /// Notes that the transaction has run a query.
    pub(crate) fn note_query(&mut self) -> Result<()> {
        if self.block.queried {
            return Ok(());
        }
        self.block.queried = true;
        let Some(txn) = self.core.txn_if_any() else { return Ok(()) };
        if txn.isolation() != Isolation::Serializable {
            return Ok(());
        }
        let (read_only, deferrable) = {
            let s = self.core.settings.lock();
            (s.bool("transaction_read_only"), s.bool("transaction_deferrable"))
        };
        txn.set_read_only(read_only);
        if deferrable { txn.wait_for_safe_snapshot() } else { Ok(()) }
    }

    /// A transaction that is read-only stays so once it has read something, and in savepoints.
    pub(crate) fn check_read_only(&self, read_only: bool) -> Result<()> {
        if read_only || !self.core.settings.lock().bool("transaction_read_only") {
            return Ok(());
        }
        if !self.block.savepoints.is_empty() {
            bail!(
                ACTIVE_SQL_TRANSACTION,
                "cannot set transaction read-write mode inside a read-only transaction"
            );
        }
        if self.block.queried {
            bail!(
                ACTIVE_SQL_TRANSACTION,
                "transaction read-write mode must be set before any query"
            );
        }
        Ok(())
    }

    /// How many savepoints are open.
    pub(crate) fn savepoint_level(&self) -> usize {
        self.block.savepoints.len()
    }

    /// True inside a block, explicit or made by a query string of several statements.
    pub(crate) fn in_block(&self) -> bool {
        self.block.open || self.block.implicit
    }

    /// Fails for statements that cannot be rolled back.
    pub(crate) fn prevent_in_block(&self, what: &str) -> Result<()> {
        if self.in_block() {
            bail!(ACTIVE_SQL_TRANSACTION, "{what} cannot run inside a transaction block");
        }
        self.block.ends_at_once.set(true);
        Ok(())
    }

    /// Fails for statements that make sense in a block only.
    pub(crate) fn require_block(&self, what: &str) -> Result<()> {
        if !self.in_block() {
            bail!(NO_ACTIVE_SQL_TRANSACTION, "{what} can only be used in transaction blocks");
        }
        Ok(())
    }

    /// Fails outside of a block that BEGIN has opened.
    fn require_open_block(&self, what: &str) -> Result<()> {
        if !self.block.open {
            bail!(NO_ACTIVE_SQL_TRANSACTION, "{what} can only be used in transaction blocks");
        }
        Ok(())
    }

    /// A message of the extended protocol comes: after one that has run a statement it is in a
    /// block with that, which Sync ends.
    pub(super) fn follow_pipeline(&mut self) {
        if self.block.pipelining {
            self.begin_implicit();
        }
    }

    /// A string of the simple protocol comes: true if messages before it have opened a block that
    /// it has to be run in. One statement leaves that block open, several end it.
    pub(super) fn joins_pipeline(&mut self) -> bool {
        self.follow_pipeline();
        self.block.implicit
    }

    /// After a statement of the extended protocol: what cannot be rolled back is committed.
    /// `restarts`: it has ended transactions itself, after which its last one goes on.
    pub(super) fn end_in_pipeline(&mut self, restarts: bool) -> Result<()> {
        let alone = self.block.ends_at_once.take();
        if alone || (restarts && !self.in_block()) {
            self.commit_transaction()?;
        } else if let Some(txn) = self.core.txn_if_any() {
            txn.increment_command()?;
        }
        self.block.pipelining = !alone || restarts;
        Ok(())
    }

    /// At Sync: commits what the messages before it have left open, unless BEGIN was said.
    pub(super) fn end_pipeline(&mut self) -> Result<()> {
        self.block.leave_pipeline();
        self.end_implicit()
    }

    /// Several statements come together: until COMMIT they are one transaction.
    pub(crate) fn begin_implicit(&mut self) {
        if !self.block.open {
            self.block.implicit = true;
        }
    }

    /// Opens a transaction unless one is open.
    pub(crate) fn ensure_transaction(&mut self) -> Result<()> {
        if self.core.has_txn() {
            return Ok(());
        }
        let (modes, now, timeout) =
            self.core.setting(|s| (s.default_modes, s.modes, s.transaction_timeout));
        let mgr = &self.core.database.storage().txn;
        let started = self.statement_micros;
        let txn = mgr.begin_at(&self.core.backend, modes.isolation, started);
        self.core.set_txn(Some(txn));
        let mut s = self.core.settings.lock();
        s.begin_level();
        // Settings that are as they should be are left alone.
        if now != modes {
            s.set_internal("transaction_isolation", isolation_value(modes.isolation), true);
            let flag = SettingValue::Bool;
            s.set_internal("transaction_read_only", flag(modes.read_only), true);
            s.set_internal("transaction_deferrable", flag(modes.deferrable), true);
        }
        drop(s);
        if timeout.is_some() {
            self.interrupts().set_transaction_timeout(timeout);
        }
        self.place.update(|info| info.xact_start = started);
        Ok(())
    }

    /// In a failed block only its end is possible.
    pub(crate) fn check_not_failed(&self, stmt: &Stmt) -> Result<()> {
        if !self.block.failed {
            return Ok(());
        }
        let ends = matches!(
            stmt,
            Stmt::Transaction(
                TransactionStmt::Commit { .. }
                    | TransactionStmt::Rollback { .. }
                    | TransactionStmt::RollbackTo(_)
                    | TransactionStmt::Prepare(_)
            )
        );
        if ends {
            return Ok(());
        }
        Err(err!(
            IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block"
        ))
    }

    /// After a statement that went well: outside of blocks its transaction is committed.
    pub(crate) fn end_statement(&mut self) -> Result<()> {
        if let Some(txn) = self.core.txn_if_any() {
            txn.increment_command()?;
        }
        if self.in_block() { Ok(()) } else { self.commit_transaction() }
    }

    /// At the end of a query string: its implicit block is over.
    pub(crate) fn end_implicit(&mut self) -> Result<()> {
        self.block.implicit = false;
        if self.block.open || !self.core.has_txn() {
            return Ok(());
        }
        self.commit_transaction()
    }

    /// After a statement that failed: its transaction is rolled back, or its block waits for
    /// the end.
    pub(crate) fn fail_statement(&mut self) {
        self.core.backend.abandon_wait();
        self.core.foreign_keys.statement_failed();
        self.core.overlay.forget_entries();
        if self.block.open {
            self.block.failed = true;
            // What the block holds is let go at once; savepoints keep what is before them.
            if self.block.savepoints.is_empty() {
                self.drop_portals();
                let _ = self.abort_work();
            }
        } else {
            self.block = Block::default();
            let _ = self.rollback_all();
        }
    }

    /// Commits the open transaction.
    pub(crate) fn commit_transaction(&mut self) -> Result<()> {
        let Some(txn) = self.core.txn_if_any() else {
            self.block = Block::default();
            return Ok(());
        };
        while txn.depth() > 0 {
            self.commit_sub(&txn)?;
        }
        if let Err(e) = self.hold_cursors() {
            let _ = self.rollback_all();
            return Err(e);
        }
        self.drop_portals();
        let listens = self.core.listening.lock().is_pending();
        if txn.top_xid_if_any().is_none() && !listens {
            return self.commit_reading(&txn);
        }
        let last = self.fire_deferred().and_then(|()| self.on_commit_actions());
        let last = last.and_then(|()| self.core.check_messages());
        if let Err(e) = last.and_then(|()| txn.prepare_serializable()) {
            let _ = self.rollback_all();
            return Err(e);
        }
        self.core.foreign_keys.clear();
        let changes = self.core.overlay.changes();
        let concerned = match changes.is_empty() {
            true => Vec::new(),
            false => self.core.database.concerned(self.core.state.oid, &changes),
        };
        let dropped = self.core.files.lock().to_drop();
        let asynchronous = !self.core.resolved().synchronous;
        let moved =
            MovedFiles { database: self.core.state.oid, relations: self.core.store.moved_files() };
        let extra = moved.encode();
        let settling = (!extra.is_empty()).then(|| self.core.database.moving.lock());
        let data = CommitData { asynchronous, dropped, extra, ..CommitData::default() };
        for cache in &concerned {
            cache.begin(&changes);
        }
        let pool = &self.core.database.storage().pool;
        let files = &self.core.files;
        let board = &self.core.database.switchboard;
        let pending = self.core.listening.lock().is_pending();
        let notes = match pending {
            true => {
                let listening = self.core.listening.lock();
                listening.prepare(board, self.core.state.oid);
                listening.notes()
            }
            false => Vec::new(),
        };
        let publishing = (!notes.is_empty()).then(|| board.publish());
        let database = &self.core.database;
        let committed = txn.commit(data, &mut |_| {
            database.settle_moved(&moved)?;
            for cache in &concerned {
                cache.end();
            }
            files.lock().committed(pool)
        });
        let sent = match (&publishing, &committed) {
            (Some(publishing), Ok(lsn)) => publishing.send(self.core.state.oid, &notes, *lsn),
            _ => false,
        };
        drop((publishing, settling));
        if sent {
            board.wake();
        }
        if pending {
            self.core.trace_sent(committed.is_ok());
            let mut listening = self.core.listening.lock();
            match &committed {
                Ok(_) => listening.committed(board, self.core.state.oid),
                Err(_) => listening.aborted(board, self.core.state.oid),
            }
        }
        self.core.files.lock().open_doors();
        self.core.forget_exports();
        self.core.large_objects.clear();
        let core = &self.core;
        core.changes.hand_on(core.state.oid, &core.database.changes, self.statement_micros);
        self.block = Block::default();
        self.leave_transaction(SessionSettings::commit_level);
        let core = &self.core;
        core.changes.end_transaction(core.state.oid, committed.is_ok());
        match committed {
            Ok(gate) => {
                self.gate = self.gate.max(gate);
                Ok(())
            }
            Err(e) => {
                let _ = self.core.files.lock().aborted(pool);
                Err(e)
            }
        }
    }

    /// Commits a transaction that has written nothing: there is nothing to check or to tell.
    fn commit_reading(&mut self, txn: &Txn) -> Result<()> {
        let asynchronous = !self.core.setting(|s| s.synchronous);
        let data = CommitData { asynchronous, ..CommitData::default() };
        let ready = txn.prepare_serializable();
        if let Err(e) = ready {
            let _ = self.rollback_all();
            return Err(e);
        }
        let committed = txn.commit(data, &mut |_| Ok(()));
        let core = &self.core;
        core.foreign_keys.clear();
        core.forget_exports();
        core.large_objects.clear();
        core.changes.hand_on(core.state.oid, &core.database.changes, self.statement_micros);
        self.block = Block::default();
        self.leave_transaction(SessionSettings::commit_level);
        self.core.changes.end_transaction(self.core.state.oid, committed.is_ok());
        self.gate = self.gate.max(committed?);
        Ok(())
    }

    /// The session has no transaction any more; `settle` says what becomes of its settings.
    pub(super) fn leave_transaction(&self, settle: impl FnOnce(&mut SessionSettings)) {
        self.core.set_txn(None);
        self.core.overlay.reset();
        self.core.kept_stats.forget();
        *self.core.new_enums.lock() = Default::default();
        settle(&mut self.core.settings.lock());
        self.core.users_of_settings();
        self.place.update(|info| info.xact_start = 0);
        if self.interrupts().has_transaction_deadline() {
            self.interrupts().set_transaction_timeout(None);
        }
    }

    /// ON COMMIT of temporary tables.
    fn on_commit_actions(&mut self) -> Result<()> {
        let all = self.core.on_commit.lock().clone();
        if all.is_empty() {
            return Ok(());
        }
        self.with_ddl("", |ddl| ddl.on_commit_actions(&all))?;
        self.core.on_commit.lock().retain(|a| !a.1);
        Ok(())
    }

    /// Rolls the open transaction back, but the block stays.
    fn abort_work(&mut self) -> Result<()> {
        let Some(txn) = self.core.txn_if_any() else { return Ok(()) };
        let result = txn.abort();
        let board = &self.core.database.switchboard;
        self.core.listening.lock().aborted(board, self.core.state.oid);
        self.core.foreign_keys.clear();
        let pool = &self.core.database.storage().pool;
        self.core.forget_exports();
        self.core.large_objects.clear();
        let files = self.core.files.lock().aborted(pool);
        self.core.files.lock().open_doors();
        self.leave_transaction(|settings| {
            while settings.depth() > 0 {
                settings.abort_level();
            }
        });
        self.core.changes.end_transaction(self.core.state.oid, false);
        result.and(files)
    }

    /// Rolls everything back and closes the block.
    pub(crate) fn rollback_all(&mut self) -> Result<()> {
        self.block = Block::default();
        self.drop_portals();
        self.abort_work()
    }

    /// BEGIN, COMMIT and the like; gives the command tag.
    pub(crate) fn transaction_stmt(&mut self, stmt: &TransactionStmt) -> Result<&'static str> {
        match stmt {
            TransactionStmt::Begin { modes } | TransactionStmt::Start { modes } => {
                self.begin_block(modes)?;
                let started = matches!(stmt, TransactionStmt::Start { .. });
                Ok(if started { "START TRANSACTION" } else { "BEGIN" })
            }
            TransactionStmt::Commit { chain } => self.commit_block(*chain),
            TransactionStmt::Rollback { chain } => self.rollback_block(*chain),
            TransactionStmt::Savepoint(name) => {
                self.require_open_block("SAVEPOINT")?;
                self.savepoint(name)?;
                Ok("SAVEPOINT")
            }
            TransactionStmt::Release(name) => {
                self.require_open_block("RELEASE SAVEPOINT")?;
                self.release(name)?;
                Ok("RELEASE")
            }
            TransactionStmt::RollbackTo(name) => {
                self.require_open_block("ROLLBACK TO SAVEPOINT")?;
                self.rollback_to(name)?;
                Ok("ROLLBACK")
            }
            TransactionStmt::Prepare(gid) => self.prepare_transaction(gid),
            TransactionStmt::CommitPrepared(name) => {
                self.prevent_in_block("COMMIT PREPARED")?;
                self.end_prepared(name, true)?;
                Ok("COMMIT PREPARED")
            }
            TransactionStmt::RollbackPrepared(name) => {
                self.prevent_in_block("ROLLBACK PREPARED")?;
                self.end_prepared(name, false)?;
                Ok("ROLLBACK PREPARED")
            }
        }
    }

    /// PREPARE TRANSACTION, which the setting forbids unless it is changed.
    fn prepare_transaction(&mut self, gid: &str) -> Result<&'static str> {
        if self.block.failed {
            self.rollback_all()?;
            return Ok("ROLLBACK");
        }
        if !self.block.open {
            self.core.notice(no_transaction());
            self.rollback_all()?;
            return Ok("ROLLBACK");
        }
        self.prepare_block(gid)?;
        Ok("PREPARE TRANSACTION")
    }

    /// The end of a prepared transaction, with a transaction of the session's around it.
    fn end_prepared(&mut self, gid: &str, commit: bool) -> Result<()> {
        match self.finish_prepared(gid, commit) {
            Ok(()) => self.commit_transaction(),
            Err(e) => {
                let _ = self.rollback_all();
                Err(e)
            }
        }
    }

    fn begin_block(&mut self, modes: &[TransactionMode]) -> Result<()> {
        if self.block.open {
            self.core.notice(Error::with_severity(
                base::Severity::Warning,
                SqlState::ACTIVE_SQL_TRANSACTION,
                "there is already a transaction in progress",
            ));
        }
        self.ensure_transaction()?;
        let was_open = std::mem::replace(&mut self.block.open, true);
        self.block.implicit = false;
        // A block that does not begin leaves nothing that would have to be ended.
        self.set_modes(modes).inspect_err(|_| self.block.open = was_open)
    }

    /// SET TRANSACTION, and the modes of BEGIN.
    pub(crate) fn set_modes(&mut self, modes: &[TransactionMode]) -> Result<()> {
        let txn = self.core.txn()?;
        for mode in modes {
            match mode {
                TransactionMode::Isolation(level) => {
                    let isolation = isolation_of(*level);
                    if (txn.has_kept_snapshot() || self.block.queried)
                        && isolation != txn.isolation()
                    {
                        bail!(
                            ACTIVE_SQL_TRANSACTION,
                            "SET TRANSACTION ISOLATION LEVEL must be called before any query"
                        );
                    }
                    txn.set_isolation(isolation);
                    let text = SettingValue::Text(Arc::from(level.as_str()));
                    let mut s = self.core.settings.lock();
                    s.set_internal("transaction_isolation", text, true);
                }
                TransactionMode::ReadOnly(read_only) => {
                    self.check_read_only(*read_only)?;
                    let mut s = self.core.settings.lock();
                    let value = SettingValue::Bool(*read_only);
                    s.set_internal("transaction_read_only", value, true);
                }
                TransactionMode::Deferrable(yes) => {
                    if txn.has_kept_snapshot() || self.block.queried {
                        bail!(
                            ACTIVE_SQL_TRANSACTION,
                            "SET TRANSACTION [NOT] DEFERRABLE must be called before any query"
                        );
                    }
                    let mut s = self.core.settings.lock();
                    s.set_internal("transaction_deferrable", SettingValue::Bool(*yes), true);
                }
            }
        }
        Ok(())
    }

    /// The modes to begin the chained transaction with.
    fn modes_to_chain(&self) -> Vec<TransactionMode> {
        let s = self.core.settings.lock();
        let level = match s.str("transaction_isolation") {
            "read uncommitted" => IsolationLevel::ReadUncommitted,
            "repeatable read" => IsolationLevel::RepeatableRead,
            "serializable" => IsolationLevel::Serializable,
            _ => IsolationLevel::ReadCommitted,
        };
        vec![
            TransactionMode::Isolation(level),
            TransactionMode::ReadOnly(s.bool("transaction_read_only")),
            TransactionMode::Deferrable(s.bool("transaction_deferrable")),
        ]
    }

    fn commit_block(&mut self, chain: bool) -> Result<&'static str> {
        if chain {
            self.require_open_block("COMMIT AND CHAIN")?;
        }
        let modes = if chain { self.modes_to_chain() } else { Vec::new() };
        if self.block.failed {
            self.rollback_all()?;
            if chain {
                self.begin_block(&modes)?;
            }
            return Ok("ROLLBACK");
        }
        if !self.block.open {
            self.core.notice(no_transaction());
        }
        if let Err(e) = self.commit_transaction() {
            let _ = self.rollback_all();
            return Err(e);
        }
        if chain {
            self.begin_block(&modes)?;
        }
        Ok("COMMIT")
    }

    fn rollback_block(&mut self, chain: bool) -> Result<&'static str> {
        if chain {
            self.require_open_block("ROLLBACK AND CHAIN")?;
        }
        let modes = if chain { self.modes_to_chain() } else { Vec::new() };
        if !self.block.open {
            self.core.notice(no_transaction());
        }
        self.rollback_all()?;
        if chain {
            self.begin_block(&modes)?;
        }
        Ok("ROLLBACK")
    }

    fn savepoint(&mut self, name: &str) -> Result<()> {
        self.ensure_transaction()?;
        self.core.txn()?.push_sub();
        self.core.changes.begin_sub();
        self.core.settings.lock().begin_level();
        self.block.savepoints.push(Savepoint { name: name.to_string() });
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        self.block
            .savepoints
            .iter()
            .rposition(|s| s.name == name)
            .ok_or_else(|| err!(S_E_INVALID_SPECIFICATION, "savepoint \"{name}\" does not exist"))
    }

    pub(super) fn commit_sub(&mut self, txn: &txn::Txn) -> Result<()> {
        let (from, depth) = (txn.current_sub(), txn.depth());
        txn.commit_sub()?;
        self.core.store.end_sub(depth, true);
        self.core.changes.end_sub(self.core.state.oid, true);
        self.core.files.lock().sub_committed(from, txn.current_sub());
        self.core.large_objects.sub_committed(from, txn.current_sub());
        self.core.settings.lock().commit_level();
        Ok(())
    }

    fn abort_sub(&mut self, txn: &txn::Txn) -> Result<()> {
        let (sub, depth) = (txn.current_sub(), txn.depth());
        txn.abort_sub()?;
        self.core.store.end_sub(depth, false);
        self.core.changes.end_sub(self.core.state.oid, false);
        self.core.foreign_keys.sub_aborted(sub);
        self.core.large_objects.sub_aborted(sub);
        let pool = &self.core.database.storage().pool;
        self.core.files.lock().sub_aborted(pool, sub)?;
        self.core.settings.lock().abort_level();
        self.core.users_of_settings();
        self.core.overlay.forget_entries();
        Ok(())
    }

    fn release(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name)?;
        let txn = self.core.txn()?;
        while self.block.savepoints.len() > at {
            self.commit_sub(&txn)?;
            self.block.savepoints.pop();
        }
        for portal in self.portals.iter_mut() {
            portal.level = portal.level.min(at);
        }
        self.core.listening.lock().released_to(at);
        Ok(())
    }

    fn rollback_to(&mut self, name: &str) -> Result<()> {
        let at = self.find_savepoint(name)?;
        let txn = self.core.txn()?;
        self.core.listening.lock().rolled_back_to(at);
        // What its cursors read goes away with the subtransaction.
        if !self.portals.is_empty() {
            self.portals.retain(|p| p.level <= at || p.is_held());
            self.show_cursors();
        }
        while self.block.savepoints.len() > at {
            self.abort_sub(&txn)?;
            self.block.savepoints.pop();
        }
        self.block.failed = false;
        self.savepoint(name)
    }
}
