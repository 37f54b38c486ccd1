//! The engine as the server's [`Backend`].

use crate::backend::{Backend, BackendSession, BindRequest, Described, Request};
use crate::log::Log;
use base::{Error, Lsn, Oid, Result, Severity, err};
use engine::FlushListener;
use engine::Interrupts;
use engine::settings::Defaults;
use engine::sink::Sink;
use engine::{Database, Session, SessionOptions};
use os::Disk;
use std::path::Path;
use std::sync::Arc;

/// Opens a data directory.
pub fn open(
    disk: &Disk,
    data: &Path,
    defaults: Defaults,
    log: &Arc<Log>,
) -> Result<Arc<dyn Backend>> {
    let log = Arc::clone(log);
    let logger: engine::log::Logger = Arc::new(move |line| log.write(line));
    let database = Database::open_telling(disk.clone(), data, defaults, Some(logger))?;
    database.watch_memory()?;
    Ok(Arc::new(Engine { database }))
}

/// See the module's text.
struct Engine {
    database: Arc<Database>,
}

/// Passes flushes on.
struct Told(Arc<dyn Fn(Lsn) + Send + Sync>);

impl FlushListener for Told {
    fn flushed(&self, upto: Lsn) {
        (self.0)(upto);
    }
}

impl Engine {
    /// Fails if no connection is free for this user: the last ones are kept for superusers, and
    /// the ones before for those who may use them.
    fn check_room(&self, user: &str) -> Result<()> {
        let defaults = self.database.defaults();
        let number = |name: &str| defaults.get(name).map_or(0, |v| v.as_i64());
        let limit = number("max_connections");
        let kept = number("superuser_reserved_connections") + number("reserved_connections");
        // Background sessions count here and not below: they only make it look twice.
        if limit - self.database.activity().count() as i64 > kept {
            return Ok(());
        }
        let free = limit - self.database.activity().clients() as i64;
        if free <= 0 {
            return full("sorry, too many clients already");
        }
        let (last, reserved) =
            (number("superuser_reserved_connections"), number("reserved_connections"));
        if free > last + reserved || self.database.is_superuser_named(user)? {
            return Ok(());
        }
        if free <= last {
            return full(
                "remaining connection slots are reserved for roles with the SUPERUSER attribute",
            );
        }
        match self.database.is_member(user, "pg_use_reserved_connections")? {
            true => Ok(()),
            false => full(
                "remaining connection slots are reserved for roles with privileges of the \
                 \"pg_use_reserved_connections\" role",
            ),
        }
    }
}

fn full(text: &str) -> Result<()> {
    Err(err!(TOO_MANY_CONNECTIONS, "{text}").severity(Severity::Fatal))
}

impl Backend for Engine {
    fn check_full(&self) -> Result<()> {
        let limit = self.database.defaults().get("max_connections").map_or(0, |v| v.as_i64());
        let activity = self.database.activity();
        // Background sessions count here and not below: they only make it look twice.
        match activity.count() as i64 >= limit && activity.clients() as i64 >= limit {
            true => full("sorry, too many clients already"),
            false => Ok(()),
        }
    }

    fn new_pid(&self) -> i32 {
        self.database.activity().new_pid()
    }

    fn connect(&self, request: Request) -> Result<Box<dyn BackendSession>> {
        self.check_room(&request.user)?;
        let options = SessionOptions {
            database: request.database,
            user: request.user,
            settings: request.settings,
            client_addr: request.address.map(|a| a.ip().to_string()),
            client_hostname: request.host_name,
            client_port: request.address.map(|a| i32::from(a.port())),
            server_address: request
                .server_address
                .map(|a| (a.ip().to_string(), i32::from(a.port()))),
            background: None,
            who: request.who,
            reactor: request.reactor,
            system_user: request.system_user,
            ssl: request.ssl,
        };
        Ok(Box::new(EngineSession(Session::new(&self.database, &options)?)))
    }

    fn role_secret(&self, user: &str) -> Result<Option<String>> {
        self.database.role_secret(user)
    }

    fn cancel(&self, pid: i32, key: &[u8]) {
        self.database.activity().cancel_with_key(pid, key);
    }

    fn terminate_all(&self) {
        self.database.activity().terminate_all();
    }

    fn is_member(&self, user: &str, role: &str) -> bool {
        self.database.is_member(user, role).unwrap_or(false)
    }

    fn flushed(&self) -> Lsn {
        self.database.flushed()
    }

    fn request_flush(&self, lsn: Lsn) {
        self.database.wal().flush_async(lsn);
    }

    fn flush_if_quick(&self, lsn: Lsn) {
        self.database.wal().flush_if_quick(lsn);
    }

    fn flush(&self, lsn: Lsn) -> Result<()> {
        self.database.wal().flush(lsn)
    }

    fn on_flush(&self, told: Arc<dyn Fn(Lsn) + Send + Sync>) {
        self.database.wal().on_flush(Arc::new(Told(told)));
    }

    fn on_message(&self, told: Arc<dyn Fn() + Send + Sync>) {
        self.database.set_waker(told);
    }

    fn on_reload(&self, told: Arc<dyn Fn() + Send + Sync>) {
        self.database.set_reloader(told);
    }

    fn on_rotate(&self, told: Arc<dyn Fn() -> bool + Send + Sync>) {
        self.database.set_rotator(told);
    }

    fn on_auth_files(&self, files: Arc<dyn engine::AuthFiles>) {
        self.database.set_auth_files(files);
    }

    fn reload(&self, settings: Defaults) -> Vec<Error> {
        self.database.set_defaults(settings)
    }

    fn shutdown(&self, immediate: bool) -> Result<()> {
        if immediate { Ok(()) } else { self.database.shutdown() }
    }
}

struct EngineSession(Session);

impl BackendSession for EngineSession {
    fn approach(&self, others: usize) {
        self.0.approach(others);
    }

    fn set_may_park(&mut self, yes: bool) {
        self.0.set_may_park(yes);
    }

    fn set_end(&mut self, end: engine::SessionEnd) {
        self.0.set_end(end);
    }

    fn simple_query(&mut self, sql: &str, sink: &mut dyn Sink) -> Result<()> {
        self.0.simple_query(sql, sink)
    }

    fn parse(&mut self, name: &str, sql: &str, types: &[Oid], _: &mut dyn Sink) -> Result<()> {
        self.0.parse(name, sql, types)
    }

    fn bind(&mut self, request: BindRequest<'_>, _: &mut dyn Sink) -> Result<()> {
        let r = request;
        self.0.bind(r.portal, r.statement, r.formats, r.parameters, r.result_formats)
    }

    fn describe_statement(
        &mut self,
        name: &str,
        parameters: &mut Vec<Oid>,
        sink: &mut dyn Sink,
    ) -> Result<Described> {
        *parameters = self.0.describe_statement(name, sink)?;
        Ok(if self.0.statement_has_rows(name) { Described::Rows } else { Described::NoRows })
    }

    fn describe_portal(&mut self, name: &str, sink: &mut dyn Sink) -> Result<Described> {
        let rows = self.0.describe_portal(name, sink)?;
        Ok(if rows { Described::Rows } else { Described::NoRows })
    }

    fn execute(&mut self, portal: &str, max_rows: u64, sink: &mut dyn Sink) -> Result<()> {
        self.0.execute(portal, max_rows, sink)
    }

    fn close_statement(&mut self, name: &str) -> Result<()> {
        self.0.close_statement(name);
        Ok(())
    }

    fn close_portal(&mut self, name: &str) -> Result<()> {
        self.0.close_portal(name);
        Ok(())
    }

    fn sync(&mut self, sink: &mut dyn Sink) -> Result<()> {
        self.0.sync(sink).map(|_| ())
    }

    fn function_call(&mut self, body: &[u8], sink: &mut dyn Sink) -> Result<Option<Vec<u8>>> {
        self.0.function_call(body, sink)
    }

    fn failed(&mut self) {}

    fn transaction_status(&self) -> u8 {
        self.0.status().as_u8()
    }

    fn gate(&mut self) -> Lsn {
        self.0.take_gate()
    }

    fn pid(&self) -> i32 {
        self.0.pid()
    }

    fn cancel_key(&self, bytes: usize) -> Vec<u8> {
        self.0.set_cancel_key_length(bytes);
        let key = self.0.cancel_key();
        key[..bytes.min(key.len())].to_vec()
    }

    fn interrupts(&self) -> Arc<Interrupts> {
        Arc::clone(self.0.interrupts())
    }

    fn start_notices(&self) -> Vec<Error> {
        self.0.take_notices()
    }

    fn reported_settings(&self) -> Vec<(String, String)> {
        self.0.start_reports().into_iter().map(|(n, v)| (n.to_string(), v)).collect()
    }

    fn idle_timeout(&self) -> (u64, bool) {
        let in_block = self.0.status().as_u8() != b'I';
        (self.0.idle_timeout_ms(), in_block)
    }

    fn log_error(&self, e: &Error, statement: Option<&str>) -> bool {
        self.0.log_error(e, statement);
        true
    }

    fn blamed(&mut self) -> Option<String> {
        self.0.take_blamed()
    }

    fn report_settings(&mut self, sink: &mut dyn Sink) {
        self.0.report_settings(sink);
    }

    fn has_messages(&self) -> bool {
        self.0.has_messages()
    }

    fn deliver(&mut self, sink: &mut dyn Sink) {
        self.0.deliver(sink);
    }

    fn idle(&mut self, _sink: &mut dyn Sink) -> Result<()> {
        self.0.interrupts().check_deadline()?;
        if self.0.interrupts().has_transaction_deadline() && self.0.idle_timeout_ms() == 0 {
            return Ok(());
        }
        let (limit, in_block) = self.idle_timeout();
        match (limit, in_block) {
            (0, _) => Ok(()),
            (_, true) => Err(err!(
                IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout"
            )
            .severity(Severity::Fatal)),
            (_, false) => Err(err!(
                IDLE_SESSION_TIMEOUT,
                "terminating connection due to idle-session timeout"
            )
            .severity(Severity::Fatal)),
        }
    }
}
