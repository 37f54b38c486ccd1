//! One connection: from its first packet to its end.
//!
//! The state machine: startup packet, authentication, then messages. All of it runs when bytes have
//! come, on the thread that serves the reactor; nothing here waits, but statements may.

mod auth;
mod messages;
mod sink;
mod startup;
mod wire;

pub use wire::{Socket, Wire};

use self::auth::Exchange;
use crate::backend::BackendSession;
use crate::reactor::{Next, Peer};
use crate::shared::Shared;
use base::{Error, Lsn, Severity};
use engine::Interrupts;
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
    phase: Phase,
    session: Option<Box<dyn BackendSession>>,
    interrupts: Option<Arc<Interrupts>>,
    /// The session's number; 0 before there is one.
    pid: i32,
    /// Who and where, for the log.
    user: String,
    database: String,
    /// Replies wait until the log is durable up to here.
    gate: Lsn,
    /// An extended-protocol message failed: everything up to Sync is skipped.
    skipping: bool,
    /// When the last message was done, in nanoseconds of the monotonic clock.
    idle_since: u64,
}

impl Conn {
    /// A connection that was just accepted.
    pub fn new(shared: &Arc<Shared>, socket: Socket, address: Option<SocketAddr>) -> Conn {
        shared.connections.opened();
        Conn {
            shared: Arc::clone(shared),
            wire: Wire::new(socket),
            address,
            phase: Phase::Startup,
            session: None,
            interrupts: None,
            pid: 0,
            user: String::new(),
            database: String::new(),
            gate: Lsn::INVALID,
            skipping: false,
            idle_since: os::clock::monotonic_nanos(),
        }
    }

    /// Sends an error, and logs it.
    fn report(&mut self, error: &Error, statement: Option<&str>) {
        let who = crate::log::Who {
            pid: self.pid,
            user: &self.user,
            database: &self.database,
            address: self.address,
        };
        self.shared.log.error(&who, error, statement);
        backend::error_or_notice(&mut self.wire.out, error);
    }

    /// Ends the connection with an error.
    fn fail(&mut self, error: Error) {
        let error = match error.fields().severity >= Severity::Fatal {
            true => error,
            false => error.severity(Severity::Fatal),
        };
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
            if matches!(self.phase, Phase::Closing) {
                return;
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
                Err(e) => self.fail(e),
            }
        }
    }

    /// What to wait for, after everything that was there is done.
    fn settle(&mut self) -> Next {
        self.idle_since = os::clock::monotonic_nanos();
        if self.gate > self.shared.backend.flushed() && !self.wire.is_broken() {
            return Next::Gate(self.gate);
        }
        self.gate = Lsn::INVALID;
        let all_sent = self.wire.send();
        if self.wire.is_broken() || (all_sent && matches!(self.phase, Phase::Closing)) {
            return Next::Close;
        }
        self.wire.give_back();
        if all_sent { Next::Read } else { Next::Write }
    }

    /// The client has gone.
    fn hung_up(&mut self) -> Next {
        let mid_transaction = self.session.as_ref().is_some_and(|s| s.transaction_status() != b'I');
        if mid_transaction {
            let who = crate::log::Who {
                pid: self.pid,
                user: &self.user,
                database: &self.database,
                address: self.address,
            };
            let what = "unexpected EOF on client connection with an open transaction";
            self.shared.log.line(&who, "LOG", what);
        }
        Next::Close
    }
}

impl Peer for Conn {
    fn fd(&self) -> RawFd {
        self.wire.socket().as_raw_fd()
    }

    fn ready(&mut self, read: bool, write: bool) -> Next {
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

    fn tick(&mut self) -> Next {
        self.check_time_limits();
        if self.wire.has_output() || matches!(self.phase, Phase::Closing) {
            return self.settle();
        }
        Next::Read
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        // The session's end rolls back what was open.
        self.session = None;
        self.shared.connections.closed();
    }
}
