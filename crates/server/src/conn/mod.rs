//! One connection: from its first packet to its end.
//!
//! The state machine: startup packet, authentication, then messages. All of it runs when bytes have
//! come, on the thread that serves the reactor; nothing here waits, but statements may.

mod auth;
mod ident;
mod messages;
mod outside;
mod radius;
mod sink;
mod startup;
mod text;
mod wire;

pub use wire::{Socket, Wire};

use self::auth::Exchange;
use crate::backend::BackendSession;
use crate::hba::Rule;
use crate::reactor::{Next, Peer, Waker};
use crate::shared::Shared;
use base::{Error, Lsn, Severity};
use engine::log::LogWho;
use engine::{Interrupts, SessionEnd};
use pgwire::{backend, frontend, startup as packet};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use wire::Got;

/// How far a connection has come.
enum Phase {
    /// Waiting for the startup packet.
    Startup,
    /// Waiting for a password.
    Authenticating(Box<Exchange>),
    /// Serving statements.
    Serving,
    /// Sending the last words.
    Closing,
}

/// See the module's text.
pub struct Conn {
    shared: Arc<Shared>,
    wire: Wire,
    address: Option<SocketAddr>,
    /// The name of that address, with `log_hostname`.
    host_name: Option<String>,
    phase: Phase,
    session: Option<Box<dyn BackendSession>>,
    interrupts: Option<Arc<Interrupts>>,
    /// The connection as the log knows it; its number is the session's.
    who: Arc<LogWho>,
    user: String,
    database: String,
    /// Replies wait until the log is durable up to here.
    gate: Lsn,
    /// An extended-protocol message failed: everything up to Sync is skipped.
    skipping: bool,
    /// What SCRAM can bind to on an encrypted connection.
    end_point: Vec<u8>,
    /// The line of `pg_hba.conf` that counts.
    rule: Option<Rule>,
    /// How the client proved who it is, and as whom: `method:name`.
    system_user: Option<String>,
    /// The client has proved who it is.
    proved: bool,
    /// TLS began without a request.
    direct: bool,
    /// The client has asked for encryption: by TLS, by GSSAPI.
    asked_encryption: (bool, bool),
    /// When the client had said who it is, in microseconds since 1970.
    asked_at: i64,
    /// When the last message was done, in nanoseconds of the monotonic clock.
    idle_since: u64,
    /// The message whose statement has left the thread to wait for a row, and since when.
    left: Option<(Vec<u8>, u64)>,
    /// The number of the reactor that serves it.
    reactor: usize,
}

/// A statement that waits longer without a thread is given one: it looks for deadlocks there.
const PATIENCE: u64 = 100_000_000;

impl Conn {
    /// A connection that was just accepted, for the reactor of this number. Its client's address
    /// has a name if that was looked up.
    pub fn new(
        shared: &Arc<Shared>,
        socket: Socket,
        (address, host_name): (Option<SocketAddr>, Option<String>),
        reactor: usize,
    ) -> Conn {
        shared.connections.opened();
        let remote = match address {
            Some(a) => {
                let host = host_name.clone().unwrap_or_else(|| a.ip().to_string());
                (host, a.port().to_string())
            }
            None => ("[local]".to_string(), String::new()),
        };
        let who = LogWho::client(shared.backend.new_pid(), remote, socket.local_address());
        if shared.log.connections().receipt {
            let text = format!("connection received: {}", host_and_port(&who));
            shared.log.line(&who, Severity::Log, &text);
        }
        Conn {
            who,
            shared: Arc::clone(shared),
            wire: Wire::new(socket),
            address,
            host_name,
            phase: Phase::Startup,
            session: None,
            interrupts: None,
            user: String::new(),
            database: String::new(),
            gate: Lsn::INVALID,
            skipping: false,
            end_point: Vec::new(),
            rule: None,
            system_user: None,
            proved: false,
            direct: false,
            asked_encryption: (false, false),
            asked_at: 0,
            idle_since: os::clock::monotonic_nanos(),
            left: None,
            reactor,
        }
    }

    /// Sends an error, and logs it.
    fn report(&mut self, error: &Error, statement: Option<&str>) {
        let logged = self.session.as_ref().is_some_and(|s| s.log_error(error, statement));
        if !logged {
            // Which line was followed is nothing that a client should know.
            let proving = matches!(self.phase, Phase::Startup | Phase::Authenticating(_));
            let stage = match (proving && !self.proved, self.user.is_empty()) {
                (_, true) => "",
                (true, _) => "authentication",
                (false, _) => "startup",
            };
            let rule = self.rule.as_ref().filter(|_| proving && !self.proved);
            match rule {
                Some(rule) if error.fields().detail.is_none() => {
                    let told = error.clone().detail(rule.written.as_str());
                    self.shared.log.error_at(Some(&self.who), stage, &told);
                }
                _ => self.shared.log.error_at(Some(&self.who), stage, error),
            }
        }
        let start = self.wire.out.len();
        backend::error_or_notice(&mut self.wire.out, error);
        // An error that cannot be told is replaced, so that there is none left.
        let _ = text::to_client(&mut self.wire.out, start, self.wire.encoding);
    }

    /// Ends the connection with an error.
    fn fail(&mut self, error: Error) {
        // With a client that has lost count there is nothing more to say.
        const SILENT: [&str; 2] = ["invalid message length", "invalid length of startup packet"];
        if SILENT.contains(&error.fields().message.as_str()) {
            self.shared.log.error(Some(&self.who), &error.severity(Severity::Log));
            self.phase = Phase::Closing;
            return;
        }
        let error = match error.fields().severity >= Severity::Fatal {
            true => error,
            false => error.severity(Severity::Fatal),
        };
        if let Some(session) = self.session.as_mut() {
            session.set_end(match error.code() {
                base::SqlState::ADMIN_SHUTDOWN => SessionEnd::Killed,
                _ => SessionEnd::Fatal,
            });
        }
        self.report(&error, None);
        self.phase = Phase::Closing;
    }

    /// Length of the message that has begun to come (0: not known), or that is there as a whole.
    fn next_length(&self) -> base::Result<(usize, bool)> {
        let pending = self.wire.pending();
        let len = match self.phase {
            Phase::Startup => match packet::decode(pending) {
                Ok(Some((_, n))) => Some(n),
                Ok(None) => None,
                Err(e) => return Err(e),
            },
            _ => frontend::length(pending)?,
        };
        Ok((len.unwrap_or(0), len.is_some_and(|n| n <= pending.len())))
    }

    /// Handles all messages that are there.
    fn consume(&mut self) {
        loop {
            if matches!(self.phase, Phase::Closing) || self.left.is_some() {
                return;
            }
            if matches!(self.phase, Phase::Serving)
                && let Some(len) = frontend::whole(self.wire.pending())
            {
                if let Err(e) = self.message(len) {
                    self.fail(e);
                }
                continue;
            }
            const HANDSHAKE: u8 = 0x16;
            if matches!(self.phase, Phase::Startup)
                && self.wire.tls().is_none()
                && self.wire.pending().first() == Some(&HANDSHAKE)
            {
                if let Err(e) = self.direct_tls() {
                    self.fail(e);
                    return;
                }
                // What was decrypted already raises no event.
                self.wire.fill(0);
            }
            match self.next_length() {
                Ok((len, true)) => {
                    let result = match self.phase {
                        Phase::Startup => self.startup_packet(),
                        Phase::Authenticating(_) => self.password_message(len),
                        _ => self.message(len),
                    };
                    if let Err(e) = result {
                        self.fail(e);
                    }
                }
                Ok(_) => return,
                // Whom this is told to how depends on what came.
                Err(e) if matches!(self.phase, Phase::Startup) => {
                    let e = self.startup_packet().err().unwrap_or(e);
                    if !matches!(self.phase, Phase::Closing) {
                        self.fail(e);
                    }
                }
                Err(e) => self.fail(e),
            }
        }
    }

    /// What to wait for, after everything that was there is done.
    fn settle(&mut self) -> Next {
        self.idle_since = os::clock::monotonic_nanos();
        self.wire.give_back_input();
        if self.left.is_some() && !self.wire.is_broken() {
            return Next::Park;
        }
        if self.gate > self.shared.backend.flushed() && !self.wire.is_broken() {
            return Next::Gate(self.gate);
        }
        self.gate = Lsn::INVALID;
        let all_sent = self.wire.send();
        if self.wire.is_broken() || (all_sent && matches!(self.phase, Phase::Closing)) {
            return Next::Close;
        }
        self.wire.give_back_output();
        if all_sent { Next::Read } else { Next::Write }
    }

    /// The client has gone.
    fn hung_up(&mut self) -> Next {
        let mid_transaction = self.session.as_ref().is_some_and(|s| s.transaction_status() != b'I');
        let what = match (&self.phase, self.wire.pending().len()) {
            (Phase::Startup, 1..) => Some("incomplete startup packet"),
            (Phase::Serving, 1..5) => Some("unexpected EOF within message length word"),
            (Phase::Serving, 5..) if self.left.is_none() => Some("incomplete message from client"),
            _ if mid_transaction => {
                Some("unexpected EOF on client connection with an open transaction")
            }
            _ => None,
        };
        if let Some(what) = what {
            let e = engine::log::message(what);
            if self.session.as_ref().is_none_or(|s| !s.log_error(&e, None)) {
                self.shared.log.error(Some(&self.who), &e);
            }
        }
        if let Some(session) = self.session.as_mut() {
            session.set_end(SessionEnd::Abandoned);
        }
        Next::Close
    }
}

impl Peer for Conn {
    fn fd(&self) -> RawFd {
        self.wire.socket().as_raw_fd()
    }

    fn approach(&self, others: usize) {
        match &self.session {
            Some(session) if others + 1 == crate::reactor::APPROACH => {
                os::memory::prefetch_all(&**session);
            }
            Some(session) => session.approach(others),
            None => {}
        }
    }

    fn ready(&mut self, read: bool, write: bool) -> Next {
        if self.left.is_some() {
            return match self.wire.socket().is_open() {
                true => Next::ParkDeaf,
                false => self.hung_up(),
            };
        }
        if write && !read && self.wire.has_output() {
            return self.settle();
        }
        self.wire.borrow_output();
        // What is behind a full buffer raises the next event.
        match self.wire.fill(self.next_length().map_or(0, |l| l.0)) {
            Got::End => return self.hung_up(),
            Got::Nothing => {}
            Got::Bytes(_) => self.consume(),
        }
        self.settle()
    }

    fn release(&mut self, _flushed: Lsn) -> Next {
        self.settle()
    }

    fn parked(&mut self, waker: &dyn Fn() -> Waker) -> bool {
        let Some(interrupts) = &self.interrupts else { return true };
        if !interrupts.has_waker() {
            interrupts.set_waker(waker());
        }
        !interrupts.still_waits()
    }

    fn resume(&mut self) -> Next {
        let waits = self.interrupts.as_ref().is_some_and(|i| i.still_waits());
        let long = match &self.left {
            Some((_, since)) => os::clock::monotonic_nanos() - since > PATIENCE,
            None => return self.settle(),
        };
        if waits && !long {
            return Next::Park;
        }
        self.wire.borrow_output();
        if let Err(e) = self.message_again(!long) {
            self.fail(e);
        }
        self.consume();
        self.settle()
    }

    fn ticks_fast() -> bool {
        engine::settings::timeouts_used()
    }

    fn tick(&mut self) -> Next {
        if self.left.is_some() {
            return self.resume();
        }
        self.check_time_limits();
        if self.wire.has_output() || matches!(self.phase, Phase::Closing) {
            return self.settle();
        }
        Next::Read
    }
}

/// As lines of the log name the other end.
fn host_and_port(who: &LogWho) -> String {
    match &who.remote {
        Some((host, port)) if !port.is_empty() => format!("host={host} port={port}"),
        _ => "host=[local]".to_string(),
    }
}

impl Conn {
    /// `log_disconnections`
    #[cold]
    fn log_disconnection(&self) {
        let micros = (os::clock::now_micros() - self.who.start_micros).max(0);
        let (ms, s) = (micros / 1000 % 1000, micros / 1_000_000);
        let text = format!(
            "disconnection: session time: {}:{:02}:{:02}.{ms:03} user={} database={} {}",
            s / 3600,
            s / 60 % 60,
            s % 60,
            self.user,
            self.database,
            host_and_port(&self.who)
        );
        let e = engine::log::message(text);
        if self.session.as_ref().is_none_or(|s| !s.log_error(&e, None)) {
            self.shared.log.error(Some(&self.who), &e);
        }
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        if self.session.is_some() && self.shared.log.disconnections() {
            self.log_disconnection();
        }
        // The session's end rolls back what was open.
        self.session = None;
        self.shared.connections.closed();
    }
}
