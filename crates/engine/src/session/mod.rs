//! A session: one client's transactions, settings, prepared statements and portals.
//!
//! A statement that fails leaves the session usable: its transaction is rolled back, or its
//! block waits for ROLLBACK. Replies that show what is not yet durable are gated: see
//! [`Session::take_gate`].

mod approach;
mod block;
mod check;
mod command;
mod core;
mod cursor;
mod custom_plans;
mod ddl_storage;
mod env;
mod extended;
mod fastpath;
mod kept;
mod literals;
mod lock_table;
mod logging;
mod lookup;
pub(crate) mod on_thread;
pub(crate) mod permission;
mod planning;
mod portals;
mod prepare;
mod prepared;
mod products;
mod query;
mod reg_name;
mod rewrite_table;
mod simple;
mod snapshots;
mod statement_cache;
pub(crate) mod text_search;
mod times;
pub(crate) mod trace;
mod two_phase;
mod utility;
mod worker;

pub use block::TransactionStatus;
pub use core::{SequenceCache, SessionCore};
pub use env::StatementEnv;
pub use logging::{LogSettings, rank, rank_named};
pub(crate) use planning::RunParts;
use portals::Portals;
pub use prepared::{Portal, Prepared};
pub(crate) use simple::{is_query, statement_name};
pub use snapshots::Exports;
pub use statement_cache::StatementCaches;
pub use times::SessionEnd;
pub(crate) use worker::WorkerCount;

use crate::activity::{Place, SessionInfo, SessionState};
use crate::settings::{Actor, SessionSettings};
use crate::{Database, sink::Sink};
use base::settings::SettingValue;
use base::{Error, Lsn, Result, bail};
use block::Block;
use prepared::Normal;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use txn::Interrupts;

/// Who connects to what.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// The database's name.
    pub database: String,
    /// The role's name. It was authenticated by the caller.
    pub user: String,
    /// Settings of the start-up packet.
    pub settings: Vec<(String, String)>,
    /// Address of the client, if it came by network.
    pub client_addr: Option<String>,
    /// The name of that address, with `log_hostname`.
    pub client_hostname: Option<String>,
    /// Its port there.
    pub client_port: Option<i32>,
    /// Address and port of the server, as the client reached them.
    pub server_address: Option<(String, i32)>,
    /// A process of the server in this database, whatever the names say.
    pub background: Option<base::Oid>,
    /// How the client proved who it is, and as whom: `method:name`.
    pub system_user: Option<String>,
    /// How its connection is encrypted.
    pub ssl: Option<crate::activity::SslInfo>,
    /// Whose lines in the log are the session's.
    pub who: Option<Arc<crate::log::LogWho>>,
    /// The number of the reactor that serves it.
    pub reactor: usize,
}

/// One client's session.
pub struct Session {
    pub(crate) core: Arc<SessionCore>,
    pub(crate) place: Place,
    near: approach::Approach,
    pub(crate) block: Block,
    pub(crate) portals: Portals,
    /// What statements of the simple protocol are without their literals.
    pub(crate) normalized: HashMap<String, Normal, foldhash::fast::RandomState>,
    /// The number of the settings that they were read with.
    pub(crate) normalized_version: u64,
    pub(crate) random: Cell<[u64; 2]>,
    /// BUFFER_USAGE_LIMIT of the VACUUM or ANALYZE that runs, in kilobytes.
    pub(crate) buffer_limit_kb: Cell<Option<u32>>,
    pub(crate) point_space: Cell<executor::PointSpace>,
    /// What the next reply has to wait for.
    pub(crate) gate: Lsn,
    /// Start of the statement, in microseconds since 1970.
    pub(crate) statement_micros: i64,
    /// An extended-protocol error: messages are skipped until Sync.
    pub(crate) skipping: bool,
    /// Statements may have to be logged, as the last one's settings had it.
    pub(crate) logs: bool,
    /// Others may see its statements, by the same.
    pub(crate) shows_activity: bool,
    times: Cell<times::Times>,
    end: SessionEnd,
    /// The statement of the portal whose message failed.
    pub(crate) blamed: Option<Arc<str>>,
    /// What kind of message failed, if it was none that runs a statement.
    failed_message: Cell<&'static str>,
    /// `log_lock_waits`
    log_lock_waits: bool,
    /// Parameters are told with what goes wrong.
    tells_parameters: bool,
    /// The statement may leave its thread to wait for a row; it is then run again.
    pub(crate) may_park: bool,
    /// It has left, and is to be run again.
    pub(crate) parked: bool,
    /// Types of the parameters of the command that is being run, if it came with some.
    pub(crate) param_types: Vec<base::Oid>,
}

impl Session {
    /// Connects a role to a database.
    pub fn new(database: &Arc<Database>, options: &SessionOptions) -> Result<Session> {
        let given = options.who.as_ref().map(|w| w.pid);
        let pid = given.unwrap_or_else(|| database.activity().new_pid());
        let interrupts = Arc::new(Interrupts::new());
        let core = SessionCore::connect(database, options, pid, interrupts.clone())?;
        let core = Arc::new(core);
        let info = SessionInfo {
            pid,
            user: core.users().session,
            background: options.background.is_some(),
            client_addr: options.client_addr.clone(),
            client_hostname: options.client_hostname.clone(),
            client_port: options.client_port,
            server_address: options.server_address.clone(),
            ssl: options.ssl.clone(),
            backend_start: os::clock::now_micros(),
            state_change: os::clock::now_micros(),
            ..SessionInfo::default()
        };
        let place =
            database.activity().enter(info, interrupts, core.memory.clone(), core.who.clone());
        let mut session = Session {
            near: approach::Approach::new(&core),
            core,
            place,
            block: Block::default(),
            portals: Portals::default(),
            normalized: HashMap::default(),
            normalized_version: 0,
            buffer_limit_kb: Cell::default(),
            point_space: Cell::default(),
            random: Cell::new([os::random::u64(), os::random::u64()]),
            gate: Lsn::INVALID,
            statement_micros: os::clock::now_micros(),
            skipping: false,
            logs: false,
            shows_activity: true,
            times: Cell::new(times::Times::new(os::clock::now_micros())),
            end: SessionEnd::default(),
            blamed: None,
            failed_message: Cell::new(""),
            log_lock_waits: false,
            tells_parameters: false,
            may_park: false,
            parked: false,
            param_types: Vec::new(),
        };
        session.enter_database(options)?;
        session.apply_start_settings(options)?;
        let name = session.show("application_name").unwrap_or_default();
        session.place.update(|info| info.application_name = name);
        session.core.database.stats.change_database(session.core.state.oid, |d| d.sessions += 1);
        let resolved = session.core.resolved();
        session.logs = resolved.log.statements;
        session.log_lock_waits = resolved.log.lock_waits;
        session.place.update(|info| info.log_lock_waits = resolved.log.lock_waits);
        Ok(session)
    }

    /// Becomes one of the database's sessions, unless it is shut just now: then it waits, and the
    /// database may be gone after that.
    fn enter_database(&mut self, options: &SessionOptions) -> Result<()> {
        let database = self.core.database.clone();
        let oid = self.core.state.oid;
        let mut waited = database.doors.is_shut(oid);
        loop {
            database.doors.wait(oid);
            self.place.update(|info| info.database = oid);
            if !database.doors.is_shut(oid) {
                break;
            }
            // Who shut it counts the sessions inside.
            self.place.update(|info| info.database = base::Oid::INVALID);
            waited = true;
        }
        if waited && options.background.is_none() {
            database.check_database(oid, &self.core.database_name)?;
        }
        self.core.check_limits(&self.place)
    }

    fn apply_start_settings(&mut self, options: &SessionOptions) -> Result<()> {
        let superuser = self.core.is_superuser();
        let mut settings = self.core.settings.lock();
        let text = |s: &str| SettingValue::Text(Arc::from(s));
        settings.set_internal("session_authorization", text(&options.user), false);
        settings.set_internal("is_superuser", SettingValue::Bool(superuser), false);
        for (name, value) in &options.settings {
            let actor = Actor { superuser, at_start: true };
            settings.set(name, value, false, actor)?;
            if let Some((_, notice)) = crate::settings::shortened_name(name, value) {
                self.core.notice(notice);
            }
        }
        settings.forget_reports();
        if options.background.is_none() {
            crate::settings::check_preloaded(settings.str("session_preload_libraries"), false)?;
            crate::settings::check_preloaded(settings.str("local_preload_libraries"), true)?;
        }
        Ok(())
    }

    /// The settings a client is told at the start, name and value.
    pub fn start_reports(&self) -> Vec<(&'static str, String)> {
        let settings = self.core.settings.lock();
        base::settings::all()
            .iter()
            .filter(|d| d.report)
            .map(|d| (d.name, settings.show(d.name).unwrap_or_default()))
            .collect()
    }

    /// True for a process of the server.
    pub(crate) fn is_background(&self) -> bool {
        self.place.is_background()
    }

    /// The number clients know the session by.
    pub fn pid(&self) -> i32 {
        self.place.pid()
    }

    /// The secret that a cancel request has to bring.
    pub fn cancel_key(&self) -> &[u8] {
        self.place.cancel_key()
    }

    /// How much of it the client is told: older protocols have four bytes.
    pub fn set_cancel_key_length(&self, bytes: usize) {
        self.place.set_cancel_key_length(bytes);
    }

    /// The server.
    pub fn database(&self) -> &Arc<Database> {
        &self.core.database
    }

    /// The session's interrupts.
    pub fn interrupts(&self) -> &Arc<Interrupts> {
        self.core.backend.interrupts()
    }

    /// A setting's value as SHOW gives it.
    pub fn show(&self, name: &str) -> Option<String> {
        self.core.settings.lock().show(name)
    }

    /// How long the session may be idle as it is now, in milliseconds; 0 is for ever.
    pub fn idle_timeout_ms(&self) -> u64 {
        let status = self.status();
        self.core.setting(|settings| match status {
            TransactionStatus::Idle => settings.idle_session_timeout_ms,
            _ => settings.idle_in_transaction_timeout_ms,
        })
    }

    /// What the reply has to wait for before it goes out: the log flushed to here. Forgets it.
    pub fn take_gate(&mut self) -> Lsn {
        let gate = std::mem::replace(&mut self.gate, Lsn::INVALID);
        if gate <= self.core.database.flushed() { Lsn::INVALID } else { gate }
    }

    /// Waits for what [`Session::take_gate`] says, for callers without an event loop.
    pub fn wait_gate(&mut self) -> Result<()> {
        let gate = self.take_gate();
        if gate.is_valid() { self.core.database.wal().flush(gate) } else { Ok(()) }
    }

    /// Tells the sink of messages that have come, if the session is between transactions.
    pub fn deliver(&mut self, sink: &mut dyn Sink) {
        if !self.has_messages() {
            return;
        }
        let mailbox = self.core.listening.lock().mailbox.clone();
        for (lsn, note) in mailbox.take() {
            self.gate = self.gate.max(lsn);
            sink.notification(note.pid, &note.channel, &note.payload);
        }
    }

    /// True if messages can be delivered now.
    pub fn has_messages(&self) -> bool {
        !self.core.has_txn()
            && self.status() == TransactionStatus::Idle
            && !self.core.listening.lock().mailbox.is_empty()
    }

    /// Tells the sink of notices.
    pub(crate) fn tell(&mut self, sink: &mut dyn Sink) {
        if self.core.notices() > 0 {
            self.take_notices().iter().for_each(|n| sink.notice(n));
        }
    }

    /// What there is to tell the client, logged.
    pub fn take_notices(&self) -> Vec<Error> {
        let mut notices = self.core.take_notices();
        if !notices.is_empty() {
            let least = least_severity(self.core.settings.lock().str("client_min_messages"));
            notices.iter().for_each(|n| self.log_error(n, None));
            notices.retain(|n| {
                let severity = n.fields().severity;
                severity >= least || severity == base::Severity::Info
            });
        }
        notices
    }

    /// Tells the sink of settings that are others than it was told last.
    pub fn report_settings(&mut self, sink: &mut dyn Sink) {
        let reports = self.core.settings.lock().take_reports();
        for (name, value) in reports {
            if name == "application_name" {
                self.place.update(|info| info.application_name.clone_from(&value));
            }
            sink.parameter_status(name, &value);
        }
    }

    /// What others see of the session from now on, in microseconds since 1970.
    pub(crate) fn show_state(&self, query: Option<&str>, now: i64) {
        match query {
            Some(_) => self.begin_counting(),
            None => self.end_counting(),
        }
        if executor::counts::may_be_off() {
            executor::counts::set_off(!self.core.resolved().track_counts);
        }
        if !self.shows_activity {
            return self.hide_state();
        }
        let state = match (query.is_some(), self.status()) {
            (true, _) => SessionState::Active,
            (false, TransactionStatus::Idle) => SessionState::Idle,
            (false, TransactionStatus::InBlock) => SessionState::IdleInTransaction,
            (false, TransactionStatus::Failed) => SessionState::IdleInFailedTransaction,
        };
        self.count_time(state, now);
        self.place.update(|info| {
            info.state = state;
            info.state_change = now;
            info.thread = os::wait::thread_place();
            if let Some(query) = query {
                info.log_lock_waits = self.log_lock_waits;
                info.parameters = None;
                info.query_start = now;
                info.query_id = 0;
                info.query.clear();
                info.query.push_str(crate::ddl::name::clip(query, crate::activity::query_size()));
            }
        });
    }

    /// Shows nothing of what the session does, as `track_activities` is off.
    #[cold]
    fn hide_state(&self) {
        self.place.update(|info| {
            info.state = SessionState::Disabled;
            (info.state_change, info.query_start) = (0, 0);
            info.thread = os::wait::thread_place();
            info.query.clear();
        });
    }

    /// The error as the client gets it: with `exit_on_error` it ends the session.
    fn final_severity(&self, e: Error) -> Error {
        let ends = e.fields().severity == base::Severity::Error;
        match ends && !e.is_parked() && self.core.resolved().exit_on_error {
            true => e.severity(base::Severity::Fatal),
            false => e,
        }
    }

    /// Whether the next statement may end with [`Error::parked`] where it would wait for a row. The
    /// same message is then to be given again when [`Interrupts::still_waits`] says that it does
    /// not, or without this if it waits for long.
    pub fn set_may_park(&mut self, yes: bool) {
        self.may_park = yes;
    }

    /// Whether this statement may leave its thread: not where clocks are to be looked at while it
    /// waits, or its lines in the log would be written twice.
    pub(super) fn parks(&self) -> bool {
        let interrupts = self.interrupts();
        self.may_park && !self.logs && !interrupts.has_clocks()
    }

    /// After a statement: true if it has left its thread. One that had left before, or waited for a
    /// row, leaves no request behind, but may keep its place in the queue of a row that it got.
    pub(super) fn settle_wait(&mut self, again: bool, result: &Result<()>) -> bool {
        self.end_counting();
        let left = matches!(result, Err(e) if e.is_parked());
        if left || again {
            self.parked = left;
            let event = self.core.backend.parked_event();
            self.place.update(|info| info.parked = event.filter(|_| left));
        }
        if !left && (again || self.core.backend.has_row_place()) {
            match self.core.txn_if_any() {
                Some(txn) => txn.settle_wait(),
                None => self.core.backend.abandon_wait(),
            }
        }
        left
    }

    /// A statement that had left is run again: true if that is so.
    pub(super) fn come_back(&mut self) -> bool {
        let again = std::mem::take(&mut self.parked);
        if again {
            self.begin_counting();
            on_thread::follow(&self.core);
            self.place.update(|info| {
                info.thread = os::wait::thread_place();
                info.parked = None;
            });
        }
        again
    }

    /// Fails if the session has been told to end or the statement was cancelled.
    pub(crate) fn check_interrupts(&self) -> Result<()> {
        self.interrupts().check()
    }

    /// A copy of the settings in force.
    pub(crate) fn settings(&self) -> SessionSettings {
        self.core.settings.lock().clone()
    }

    /// Fails in a read-only transaction.
    pub(crate) fn prevent_in_read_only(&self, what: &str) -> Result<()> {
        if self.core.resolved().modes.read_only {
            bail!(READ_ONLY_SQL_TRANSACTION, "cannot execute {what} in a read-only transaction");
        }
        Ok(())
    }
}

/// The weakest messages that a client wants, by the value of `client_min_messages`.
fn least_severity(setting: &str) -> base::Severity {
    match setting {
        "error" => base::Severity::Error,
        "warning" => base::Severity::Warning,
        "notice" => base::Severity::Notice,
        "log" => base::Severity::Log,
        _ => base::Severity::Debug,
    }
}

impl Drop for Session {
    /// What is open is rolled back; errors have nobody to go to.
    fn drop(&mut self) {
        // The simulated machine has stopped: others will never let go of what a rollback waits
        // for. (A statement's own panic is caught before it gets here.)
        if os::thread::is_unwinding() {
            return;
        }
        let _ = self.rollback_all();
        self.count_end();
        if self.core.temp_namespace().is_some() {
            let _ = self.drop_temporary_at_end();
        }
        let core = &self.core;
        core.changes.hand_on(core.state.oid, &core.database.changes, i64::MAX);
        core.listening.lock().forget(&core.database.switchboard, core.state.oid);
        core.backend.unlock_all_advisory();
    }
}

/// Gives an error or notice the place in the statement's text that clients are told.
pub(crate) fn locate(mut e: Error, text: &str) -> Error {
    let fields = e.fields_mut();
    if fields.position.is_none()
        && let Some(at) = fields.location
        && let Some(before) = text.get(..at as usize)
    {
        fields.position = Some(before.chars().count() as u32 + 1);
    }
    e
}
