//! What the server needs of the database, apart from how the engine does it.

use base::{Error, Lsn, Oid, Result};
use engine::Interrupts;
use engine::log::LogWho;
use engine::sink::Sink;
use std::sync::Arc;

/// Who wants a session.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The role that logs in; it was authenticated.
    pub user: String,
    /// The database.
    pub database: String,
    /// Settings from the startup packet, `options` included.
    pub settings: Vec<(String, String)>,
    /// The client's address; None on a unix socket.
    pub address: Option<std::net::SocketAddr>,
    /// The name of that address, with `log_hostname`.
    pub host_name: Option<String>,
    /// The server's address, as the client reached it; None on a unix socket.
    pub server_address: Option<std::net::SocketAddr>,
    /// How the client proved who it is, and as whom.
    pub system_user: Option<String>,
    /// How the connection is encrypted.
    pub ssl: Option<engine::SslInfo>,
    /// Whose lines in the log are the session's; its number is the session's.
    pub who: Option<Arc<LogWho>>,
    /// The number of the reactor that serves the connection.
    pub reactor: usize,
}

/// The database.
pub trait Backend: Send + Sync {
    /// A number that no session has.
    fn new_pid(&self) -> i32;
    /// Begins a session.
    fn connect(&self, request: Request) -> Result<Box<dyn BackendSession>>;
    /// Fails if there is no place for anybody.
    fn check_full(&self) -> Result<()> {
        Ok(())
    }
    /// The stored password of a role that may log in; None if there is no role or no password.
    fn role_secret(&self, user: &str) -> Result<Option<String>>;
    /// A cancel request came.
    fn cancel(&self, pid: i32, key: &[u8]);
    /// Tells all sessions to end.
    fn terminate_all(&self);
    /// Names of roles that this role is a member of, for `+role` in pg_hba.conf.
    fn is_member(&self, user: &str, role: &str) -> bool;
    /// The log is durable up to here.
    fn flushed(&self) -> Lsn;
    /// Somebody waits for this position.
    fn request_flush(&self, lsn: Lsn);
    /// Makes the log durable up to here on this thread if that is known to be quick; otherwise as
    /// [`Backend::request_flush`].
    fn flush_if_quick(&self, lsn: Lsn);
    /// Makes the log durable up to here, waiting.
    fn flush(&self, lsn: Lsn) -> Result<()>;
    /// Who is told of flushes.
    fn on_flush(&self, told: Arc<dyn Fn(Lsn) + Send + Sync>);
    /// Who is told that idle sessions may have messages.
    fn on_message(&self, told: Arc<dyn Fn() + Send + Sync>) {
        let _ = told;
    }
    /// Who reads the configuration files again when a session asks for it.
    fn on_reload(&self, told: Arc<dyn Fn() + Send + Sync>) {
        let _ = told;
    }
    /// Who begins new log files when a session asks for it; false if there are none.
    fn on_rotate(&self, told: Arc<dyn Fn() -> bool + Send + Sync>) {
        let _ = told;
    }
    /// Who reads the files about authentication for their views.
    fn on_auth_files(&self, files: Arc<dyn engine::AuthFiles>) {
        let _ = files;
    }
    /// New values from the configuration files.
    /// Gives lines for the log.
    fn reload(&self, settings: engine::settings::Defaults) -> Vec<Error>;
    /// Ends all work; with a checkpoint unless `immediate`.
    fn shutdown(&self, immediate: bool) -> Result<()>;
}

/// A portal to be made.
pub struct BindRequest<'a> {
    /// Its name.
    pub portal: &'a str,
    /// The prepared statement.
    pub statement: &'a str,
    /// How parameters are coded: none (text), one for all, or one each.
    pub formats: &'a [i16],
    /// The parameters' bytes; None is NULL.
    pub parameters: &'a [Option<&'a [u8]>],
    /// How results shall be coded: none (text), one for all, or one each.
    pub result_formats: &'a [i16],
}

/// A session. Errors it returns are reported to the client by the caller.
pub trait BackendSession: Send {
    /// Whether the next statement may end with [`Error::parked`] where it would wait for a row: its
    /// message is then to be given again.
    fn set_may_park(&mut self, yes: bool) {
        let _ = yes;
    }
    /// Has what the next message will need fetched into the processor's cache; `others` sessions,
    /// fewer each time, are served before it. What is fetched first leads to what is fetched next.
    fn approach(&self, others: usize) {
        let _ = others;
    }
    /// Runs the statements of a simple query message.
    fn simple_query(&mut self, sql: &str, sink: &mut dyn Sink) -> Result<()>;
    /// Makes a prepared statement.
    fn parse(&mut self, name: &str, sql: &str, types: &[Oid], sink: &mut dyn Sink) -> Result<()>;
    /// Makes a portal.
    fn bind(&mut self, request: BindRequest<'_>, sink: &mut dyn Sink) -> Result<()>;
    /// Types of a prepared statement's parameters; what it returns goes to the sink as a row
    /// description, false if it returns no rows.
    fn describe_statement(
        &mut self,
        name: &str,
        parameters: &mut Vec<Oid>,
        sink: &mut dyn Sink,
    ) -> Result<Described>;
    /// What a portal returns.
    fn describe_portal(&mut self, name: &str, sink: &mut dyn Sink) -> Result<Described>;
    /// Runs a portal.
    fn execute(&mut self, portal: &str, max_rows: u64, sink: &mut dyn Sink) -> Result<()>;
    /// A function call by OID: the message's body, and the value's bytes.
    fn function_call(&mut self, body: &[u8], sink: &mut dyn Sink) -> Result<Option<Vec<u8>>> {
        let _ = (body, sink);
        Err(Error::unsupported("the function call message"))
    }
    /// Forgets a prepared statement.
    fn close_statement(&mut self, name: &str) -> Result<()>;
    /// Forgets a portal.
    fn close_portal(&mut self, name: &str) -> Result<()>;
    /// The end of a group of messages.
    fn sync(&mut self, sink: &mut dyn Sink) -> Result<()>;
    /// An extended-protocol message failed: the transaction block is failed, or rolled back.
    fn failed(&mut self);
    /// `I`, `T` or `E`.
    fn transaction_status(&self) -> u8;
    /// Replies must wait until the log is durable up to here.
    fn gate(&mut self) -> Lsn;
    /// How it ends, for the statistics.
    fn set_end(&mut self, end: engine::SessionEnd) {
        let _ = end;
    }
    /// Its number, as `pg_backend_pid()` gives it.
    fn pid(&self) -> i32;
    /// The secret that a cancel request has to bring: as many bytes as the client is told.
    fn cancel_key(&self, bytes: usize) -> Vec<u8>;
    /// How others interrupt it.
    fn interrupts(&self) -> Arc<Interrupts>;
    /// What the client is told when it comes.
    fn start_notices(&self) -> Vec<Error> {
        Vec::new()
    }
    /// Settings that clients follow, and their values.
    fn reported_settings(&self) -> Vec<(String, String)>;
    /// Milliseconds that the session may be idle now; 0 is for ever. In a transaction block, the
    /// second value is true.
    fn idle_timeout(&self) -> (u64, bool);
    /// Writes an error to the log if the session's settings want it there; false: it has no
    /// settings.
    fn log_error(&self, e: &Error, statement: Option<&str>) -> bool {
        let _ = (e, statement);
        false
    }
    /// The statement that the last message's error is about, where the message had no text.
    fn blamed(&mut self) -> Option<String> {
        None
    }
    /// True if messages of other sessions wait to be told.
    /// Tells the client of settings that are others than it knows, before it is told that the
    /// session is ready.
    fn report_settings(&mut self, _sink: &mut dyn Sink) {}

    fn has_messages(&self) -> bool {
        false
    }
    /// Tells messages of other sessions.
    fn deliver(&mut self, sink: &mut dyn Sink) {
        let _ = sink;
    }
    /// Nothing was received for that long, or the server goes down: the error to end with.
    fn idle(&mut self, sink: &mut dyn Sink) -> Result<()>;
}

/// Whether there are rows to describe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Described {
    /// The sink was told the columns.
    Rows,
    /// It returns no rows.
    NoRows,
}

/// The error for a connection that comes too late.
pub fn shutting_down() -> Error {
    base::err!(CANNOT_CONNECT_NOW, "the database system is shutting down")
        .severity(base::Severity::Fatal)
}
