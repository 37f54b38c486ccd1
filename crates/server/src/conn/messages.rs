//! Messages of a session that is being served.

use super::sink::WireSink;
use super::{Conn, Phase, text};
use crate::backend::{BindRequest, Described};
use base::{Error, Result, Severity, err};
use pgwire::backend;
use pgwire::frontend::{self, Bind, Message, Target};
use std::cell::Cell;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// The message that is handled, so that the connection's input can be used by COPY meanwhile.
    static MESSAGE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Copies larger than this are not kept for the next message.
const KEEP: usize = 256 << 10;

impl Conn {
    /// Handles the message of `len` bytes that is next.
    pub(super) fn message(&mut self, len: usize) -> Result<()> {
        let mut bytes = MESSAGE.take();
        bytes.clear();
        bytes.extend_from_slice(&self.wire.pending()[..len]);
        self.wire.consume(len);
        self.handle(bytes, true, None)
    }

    /// Handles the message whose statement had left, as if it came only now. Without `park` its
    /// statement waits on this thread.
    pub(super) fn message_again(&mut self, park: bool) -> Result<()> {
        let Some((bytes, since)) = self.left.take() else { return Ok(()) };
        self.handle(bytes, park, Some(since))
    }

    fn handle(&mut self, bytes: Vec<u8>, park: bool, since: Option<u64>) -> Result<()> {
        if let Some(session) = self.session.as_mut() {
            session.set_may_park(park);
        }
        let watched = self.watch_client();
        // A bug in a statement ends its session; one in storage has ended the server already, see
        // `panic_hook` in postmaster.rs.
        let dispatched = catch_unwind(AssertUnwindSafe(|| self.dispatch(&bytes)));
        let result = dispatched.unwrap_or_else(|_| {
            let e = Error::internal("terminating connection because of an internal error");
            Err(e.severity(Severity::Fatal))
        });
        if watched {
            self.shared.clients.forget(self.wire.socket().as_raw_fd());
        }
        if matches!(&result, Err(e) if e.is_parked()) {
            let since = since.unwrap_or_else(os::clock::monotonic_nanos);
            self.left = Some((bytes, since));
            return Ok(());
        }
        if bytes.capacity() <= KEEP {
            MESSAGE.set(bytes);
        }
        result
    }

    /// Has the client looked for while the message is handled, if the session wants that.
    #[inline]
    fn watch_client(&self) -> bool {
        let Some(interrupts) = &self.interrupts else { return false };
        let ms = interrupts.client_check_ms();
        if ms > 0 {
            self.shared.clients.watch(self.wire.socket().as_raw_fd(), interrupts, ms);
        }
        ms > 0
    }

    fn dispatch(&mut self, bytes: &[u8]) -> Result<()> {
        let kind = bytes[0];
        if self.skipping && !matches!(kind, b'S' | b'X') {
            return Ok(());
        }
        let encoding = self.wire.encoding;
        if !encoding.is_converted() || bytes.is_ascii() {
            return self.dispatch_text(bytes);
        }
        match text::from_client(bytes, encoding) {
            Ok(converted) => self.dispatch_text(&converted),
            Err(e) if matches!(kind, b'Q' | b'F') => self.after_simple(Err(e), None),
            Err(e) => self.after_extended(Err(e), None),
        }
    }

    /// A message whose texts are UTF-8.
    fn dispatch_text(&mut self, bytes: &[u8]) -> Result<()> {
        let kind = bytes[0];
        if kind == b'B' {
            let result = match frontend::decode_bind(bytes) {
                Ok(bind) => self.bind(&bind),
                Err(e) if e.fields().severity >= Severity::Fatal => return Err(e),
                Err(e) => Err(e),
            };
            return self.after_extended(result, None);
        }
        let message = match frontend::decode(bytes) {
            Ok(message) => message,
            Err(e) if e.fields().severity >= Severity::Fatal => return Err(e),
            Err(e) => {
                return match kind {
                    b'Q' | b'F' => self.after_simple(Err(e), None),
                    _ => self.after_extended(Err(e), None),
                };
            }
        };
        let Some(session) = self.session.as_mut() else {
            return Err(Error::internal("a session is missing"));
        };
        match message {
            Message::Query(sql) => {
                let result = session.simple_query(sql, &mut WireSink::new(&mut self.wire));
                if matches!(&result, Err(e) if e.is_parked()) {
                    return result;
                }
                self.after_simple(result, Some(sql))
            }
            Message::Parse { name, query, types } => {
                let result = session.parse(name, query, &types, &mut WireSink::new(&mut self.wire));
                if result.is_ok() {
                    backend::parse_complete(&mut self.wire.out);
                }
                self.after_extended(result, Some(query))
            }
            Message::Bind(bind) => {
                let result = self.bind(&bind);
                self.after_extended(result, None)
            }
            Message::Describe(target, name) => {
                let result = self.describe(target, name);
                self.after_extended(result, None)
            }
            Message::Execute { portal, max_rows } => {
                let result = session.execute(
                    portal,
                    max_rows.max(0) as u64,
                    &mut WireSink::new(&mut self.wire),
                );
                if matches!(&result, Err(e) if e.is_parked()) {
                    return result;
                }
                self.after_extended(result, None)
            }
            Message::Close(target, name) => {
                let result = match target {
                    Target::Statement => session.close_statement(name),
                    Target::Portal => session.close_portal(name),
                };
                if result.is_ok() {
                    backend::close_complete(&mut self.wire.out);
                }
                self.after_extended(result, None)
            }
            Message::Sync => {
                self.skipping = false;
                let result = session.sync(&mut WireSink::new(&mut self.wire));
                self.after_simple(result, None)
            }
            Message::Flush => {
                self.wait_for_gate()?;
                self.wire.send_blocking()
            }
            Message::FunctionCall(body) => {
                let result = session.function_call(body, &mut WireSink::new(&mut self.wire));
                let result = result.map(|value| {
                    backend::function_call_response(&mut self.wire.out, value.as_deref());
                });
                self.after_simple(result, None)
            }
            // What a client still sends after its COPY has failed.
            Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => Ok(()),
            Message::Password(_) => {
                Err(err!(PROTOCOL_VIOLATION, "invalid frontend message type {kind}")
                    .severity(Severity::Fatal))
            }
            Message::Terminate => {
                self.phase = Phase::Closing;
                Ok(())
            }
        }
    }

    fn bind(&mut self, bind: &Bind<'_>) -> Result<()> {
        let Some(session) = self.session.as_mut() else { return Ok(()) };
        let request = BindRequest {
            portal: bind.portal,
            statement: bind.statement,
            formats: &bind.formats,
            parameters: &bind.parameters,
            result_formats: &bind.result_formats,
        };
        session.bind(request, &mut WireSink::new(&mut self.wire))?;
        backend::bind_complete(&mut self.wire.out);
        Ok(())
    }

    fn describe(&mut self, target: Target, name: &str) -> Result<()> {
        let Some(session) = self.session.as_mut() else { return Ok(()) };
        // The row description comes after the parameters, but is made in the same call.
        let start = self.wire.out.len();
        let described = match target {
            Target::Portal => session.describe_portal(name, &mut WireSink::new(&mut self.wire))?,
            Target::Statement => {
                let mut types = Vec::new();
                let described = session.describe_statement(
                    name,
                    &mut types,
                    &mut WireSink::new(&mut self.wire),
                )?;
                let rows = self.wire.out.split_off(start);
                backend::parameter_description(&mut self.wire.out, &types);
                self.wire.out.extend_from_slice(&rows);
                described
            }
        };
        if described == Described::NoRows {
            backend::no_data(&mut self.wire.out);
        }
        Ok(())
    }

    /// The end of a simple query or of a group of messages.
    fn after_simple(&mut self, result: Result<()>, sql: Option<&str>) -> Result<()> {
        if let Err(e) = result {
            if e.fields().severity >= Severity::Fatal {
                return Err(e);
            }
            self.report(&e, sql);
            self.check_in_step()?;
        }
        let status = match self.session.as_mut() {
            Some(session) => {
                session.report_settings(&mut WireSink::new(&mut self.wire));
                self.gate = self.gate.max(session.gate());
                session.transaction_status()
            }
            None => b'I',
        };
        backend::ready_for_query(&mut self.wire.out, status);
        Ok(())
    }

    /// The end of one message of the extended protocol.
    fn after_extended(&mut self, result: Result<()>, sql: Option<&str>) -> Result<()> {
        let Err(e) = result else { return Ok(()) };
        if e.fields().severity >= Severity::Fatal {
            return Err(e);
        }
        let mut blamed = None;
        if let Some(session) = self.session.as_mut() {
            session.failed();
            blamed = session.blamed();
        }
        self.report(&e, sql.or(blamed.as_deref()));
        self.skipping = true;
        self.check_in_step()
    }

    fn check_in_step(&self) -> Result<()> {
        if !self.wire.out_of_step {
            return Ok(());
        }
        let what = "terminating connection because protocol synchronization was lost";
        Err(err!(PROTOCOL_VIOLATION, "{what}").severity(Severity::Fatal))
    }

    /// Before replies are sent in the middle of a group.
    fn wait_for_gate(&mut self) -> Result<()> {
        if let Some(session) = self.session.as_mut() {
            self.gate = self.gate.max(session.gate());
        }
        if self.gate > self.shared.backend.flushed() {
            self.shared.backend.flush(self.gate)?;
        }
        Ok(())
    }

    /// Ends what has been idle for too long, or is told to end.
    pub(super) fn check_time_limits(&mut self) {
        let idle_ms = (os::clock::monotonic_nanos() - self.idle_since) / 1_000_000;
        match self.phase {
            Phase::Startup | Phase::Authenticating(_) => {
                let micros = (os::clock::now_micros() - self.who.start_micros).max(0) as u64;
                if micros / 1000 <= self.shared.authentication_timeout_ms() {
                    return;
                }
                // Who has not even said what it wants is not told anything.
                match self.phase {
                    Phase::Startup => self.phase = Phase::Closing,
                    _ => self.fail(
                        err!(QUERY_CANCELED, "canceling authentication due to timeout")
                            .severity(Severity::Fatal),
                    ),
                }
            }
            Phase::Serving => {
                let Some(session) = self.session.as_mut() else { return };
                if session.has_messages() {
                    self.wire.borrow_output();
                    session.deliver(&mut WireSink::new(&mut self.wire));
                    self.gate = self.gate.max(session.gate());
                }
                let terminated = self.interrupts.as_ref().is_some_and(|i| i.is_terminated());
                let (limit, _) = session.idle_timeout();
                let in_transaction =
                    self.interrupts.as_ref().is_some_and(|i| i.has_transaction_deadline());
                if terminated || in_transaction || (limit > 0 && idle_ms >= limit) {
                    self.wire.borrow_output();
                    let result = session.idle(&mut WireSink::new(&mut self.wire));
                    if let Err(e) = result {
                        self.fail(e);
                    }
                }
            }
            Phase::Closing => {}
        }
    }
}
