//! The simple protocol: a string of statements.

use super::literals::{Normalized, normalize};
use super::logging::Told;
use super::on_thread;
use super::prepared::{Normal, Portal, Prepared};
use super::trace::Meter;
use super::{Session, TransactionStatus};
use crate::sink::Sink;
use base::{Error, Oid, Result};
use parser::ast::{RawStmt, SelectBody, SelectStmt, Stmt};
use smallvec::SmallVec;
use std::sync::Arc;
use types::Datum;

/// Texts without literals that a session remembers.
const MOST_NORMALIZED: usize = 128;

impl Session {
    /// Runs a query string. The error of the statement that failed is returned after the
    /// transaction has been dealt with; the session goes on.
    pub fn simple_query(&mut self, text: &str, sink: &mut dyn Sink) -> Result<()> {
        self.skipping = false;
        let again = self.come_back();
        if !again {
            // The unnamed statement lives until the next one, of either protocol.
            self.core.prepared.lock().remove("");
            self.statement_micros = os::clock::now_micros();
            self.start_statement_clock();
            self.show_state(Some(text), self.statement_micros);
        }
        let meter = Meter::begin(self.core.resolved().trace.statement);
        let result = match self.logs {
            false => self.run_string(text, sink),
            true => self.run_logged(text, sink),
        };
        if meter.is_some() && result.is_ok() {
            self.core.measured(meter, "QUERY STATISTICS");
        }
        if self.settle_wait(again, &result) {
            return result;
        }
        self.interrupts().end_statement();
        let result = result.map_err(|e| {
            self.fail_statement();
            self.final_severity(super::locate(e, text))
        });
        self.tell(sink);
        self.deliver(sink);
        self.show_state(None, os::clock::now_micros());
        result
    }

    /// Sets the deadlines of `statement_timeout` and `lock_timeout`.
    pub(crate) fn start_statement_clock(&mut self) {
        self.core.follow_configuration();
        let settings = self.core.resolved();
        self.interrupts().begin_statement(settings.statement_timeout);
        self.interrupts().set_lock_timeout_ms(settings.lock_timeout_ms);
        self.interrupts().set_deadlock_timeout_ms(settings.deadlock_timeout_ms);
        self.interrupts().set_client_check_ms(settings.client_check_ms);
        self.logs = settings.log.statements;
        self.log_lock_waits = settings.log.lock_waits;
        self.tells_parameters = settings.log.tells_parameters();
        self.shows_activity = settings.track_activities;
        on_thread::follow(&self.core);
    }

    /// Runs a statement that was seen before with other literals, or the same; false if that is
    /// not possible and nothing was done.
    fn run_normalized(&mut self, original: &str, sink: &mut dyn Sink) -> Result<bool> {
        if self.status() == TransactionStatus::Failed {
            return Ok(false);
        }
        self.follow_pipeline();
        // Each statement of its own is looked at, if somebody looks.
        if self.core.resolved().trace.any {
            return Ok(false);
        }
        let Some(n) = normalize(original) else { return Ok(false) };
        let text_version = self.core.resolved().text_version;
        if std::mem::replace(&mut self.normalized_version, text_version) != text_version {
            self.normalized.clear();
        }
        let prepared = match self.normalized.get(&n.key) {
            Some(Normal::Prepared(p)) if self.is_fresh(&p.analysed.lock()) => p.clone(),
            Some(Normal::Ordinary) => return Ok(false),
            // What others have made of it is at hand; alone it is not worth the work yet.
            None if self.shared_statement(n.text(), &n.types()).is_none() => {
                self.remember(n.key, Normal::Seen);
                return Ok(false);
            }
            _ => {
                self.ensure_transaction()?;
                let Some(p) = self.prepare_normalized(&n) else {
                    self.remember(n.key, Normal::Ordinary);
                    return Ok(false);
                };
                self.remember(n.key.clone(), Normal::Prepared(p.clone()));
                p
            }
        };
        self.check_interrupts()?;
        self.ensure_transaction()?;
        let Some(values) = self.literal_values(&prepared, &n) else { return Ok(false) };
        let mut portal = Portal::new("", prepared, values, self.statement_micros);
        sink.mark();
        self.run_simple_portal(&mut portal, sink).map_err(|mut e| {
            if !e.is_parked() && self.fails_when_planned(&portal) {
                sink.take_back();
            }
            let fields = e.fields_mut();
            fields.location = fields.location.map(|at| n.original(at as usize) as u32);
            e
        })?;
        Ok(true)
    }

    /// The values of a text's literals; None if one is not of the type that its use asks for.
    fn literal_values(&self, prepared: &Prepared, n: &Normalized<'_>) -> Option<Arc<[Datum]>> {
        use functions::FnEnv;
        let analysed = prepared.analysed.lock().clone();
        let mut env = None;
        let mut values: SmallVec<[Datum; 8]> = SmallVec::new();
        for (literal, type_oid) in n.literals.iter().zip(&analysed.params) {
            let text = literal.value();
            values.push(match types::io::input_plain(*type_oid, &text) {
                Some(value) => value.ok()?,
                None => {
                    let env = self.once(&mut env).ok()?;
                    types::io::input(*type_oid, &text, -1, &env.io()).ok()?
                }
            });
        }
        Some((0..values.len()).map(|i| std::mem::take(&mut values[i])).collect())
    }

    fn remember(&mut self, text: String, what: Normal) {
        if self.normalized.len() >= MOST_NORMALIZED {
            self.normalized.clear();
        }
        self.normalized.insert(text, what);
    }

    /// A statement without its literals made ready; None if it cannot be run like that.
    fn prepare_normalized(&mut self, n: &Normalized<'_>) -> Option<Arc<Prepared>> {
        let told = self.core.notices();
        let prepared = self.prepare_silent(n);
        if self.core.notices() == told {
            return prepared;
        }
        // What there is to tell of a text is told whenever it is run.
        self.core.forget_notices(told);
        None
    }

    /// [`Session::prepare_normalized`] for a statement that there is nothing to tell of.
    fn prepare_silent(&mut self, n: &Normalized<'_>) -> Option<Arc<Prepared>> {
        let types = n.types();
        let mut prepared = match self.shared_statement(n.text(), &types) {
            Some(shared) => Prepared::shared("", shared),
            None => self.prepare_anew("", n.text(), &types).ok()?,
        };
        let analysed = prepared.analysed.lock().clone();
        let query = prepared.stmt.as_ref().is_some_and(|s| is_query(&s.stmt));
        let found = analysed.params.len() == types.len();
        let fits = |(given, found): (&Oid, &Oid)| !given.is_valid() || given == found;
        if !query
            || !found
            || !types.iter().zip(&analysed.params).all(fits)
            || analysed.queries.len() != 1
        {
            return None;
        }
        prepared.from_literals = true;
        Some(Arc::new(prepared))
    }

    fn run_simple_portal(&mut self, portal: &mut Portal, sink: &mut dyn Sink) -> Result<()> {
        portal.describe = true;
        self.note_query()?;
        let tag = self.run_portal(portal, 0, sink)?;
        self.end_statement()?;
        self.tell(sink);
        sink.command_complete(&tag.unwrap_or_default())
    }

    /// Runs a string of statements, and logs it and how long it took.
    #[cold]
    fn run_logged(&mut self, text: &str, sink: &mut dyn Sink) -> Result<()> {
        let started = os::clock::monotonic_nanos();
        let logged = self.log_string(text);
        self.run_string(text, sink)?;
        let nanos = os::clock::monotonic_nanos() - started;
        let tag = crate::log::tag_of(text);
        let told = Told { what: "statement", text, tag: &tag, portal: None };
        self.log_duration(nanos, logged, told);
        Ok(())
    }

    fn run_string(&mut self, text: &str, sink: &mut dyn Sink) -> Result<()> {
        if self.run_normalized(text, sink)? {
            return Ok(());
        }
        let meter = Meter::begin(self.core.resolved().trace.parser);
        let statements = self.core.parse(text)?;
        self.core.measured(meter, "PARSER STATISTICS");
        if statements.is_empty() {
            return sink.empty_query();
        }
        let several = statements.len() > 1;
        let joins = self.joins_pipeline();
        let last = statements.len() - 1;
        for (i, stmt) in statements.iter().enumerate() {
            self.check_not_failed(&stmt.stmt)?;
            if several {
                self.begin_implicit();
            }
            if i > 0 {
                // Each statement of a string has its own time, and what SET said counts.
                let settings = self.core.resolved();
                self.interrupts().restart_statement(settings.statement_timeout);
                self.interrupts().set_lock_timeout_ms(settings.lock_timeout_ms);
                self.interrupts().set_deadlock_timeout_ms(settings.deadlock_timeout_ms);
            }
            self.run_statement(stmt, text, sink)?;
            if i == last && (several || !joins) {
                self.end_implicit()?;
            }
        }
        Ok(())
    }

    /// Runs one statement of a string and ends its transaction, if it is alone in it.
    fn run_statement(&mut self, stmt: &RawStmt, text: &str, sink: &mut dyn Sink) -> Result<()> {
        self.check_interrupts()?;
        if let Stmt::Transaction(t) = &stmt.stmt {
            let tag = self.transaction_stmt(t)?;
            self.tell(sink);
            return sink.command_complete(tag);
        }
        self.ensure_transaction()?;
        let tag = match is_query(&stmt.stmt) {
            true => {
                self.note_query()?;
                self.run_query_string(stmt, text, sink)?
            }
            false => {
                if self.core.resolved().trace.query_ids {
                    self.note_query_id(super::trace::text_id(text));
                }
                self.utility(stmt, text, &[], sink)?
            }
        };
        self.end_statement()?;
        self.tell(sink);
        sink.command_complete(&tag)
    }
}

/// True for statements that are planned.
pub(crate) fn is_query(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Select(s) => !has_into(s),
        Stmt::Insert(_) | Stmt::Update(_) | Stmt::Delete(_) | Stmt::Merge(_) => true,
        _ => false,
    }
}

/// SELECT INTO makes a table.
fn has_into(stmt: &SelectStmt) -> bool {
    match &stmt.body {
        SelectBody::Select(core) => core.into.is_some(),
        SelectBody::SetOp(op) => has_into(&op.left),
        SelectBody::Values(_) => false,
    }
}

/// A statement's kind, from its node's name: `CREATE TABLE`.
pub(crate) fn statement_name(stmt: &Stmt) -> String {
    let debug = format!("{stmt:?}");
    let mut out = String::new();
    for c in debug.chars().take_while(|c| c.is_alphanumeric()) {
        if c.is_uppercase() && !out.is_empty() {
            out.push(' ');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

/// The error of a feature that is not there yet, from a statement's kind.
pub(crate) fn unsupported(stmt: &Stmt) -> Error {
    let debug = format!("{stmt:?}");
    let name: String = debug.chars().take_while(|c| c.is_alphanumeric()).collect();
    Error::unsupported(format!("this statement ({name})"))
}
