//! The extended protocol: parse, bind, describe, execute, close, sync.

use super::logging::{Told, message_name};
use super::prepared::{Portal, Prepared};
use super::simple::is_query;
use super::{Session, TransactionStatus};
use crate::sink::{ResultFormat, Sink};
use base::{Error, Oid, Result, bail, err};
use parser::ast::Stmt;
use smallvec::SmallVec;
use std::sync::Arc;
use types::Datum;

/// A parameter's value as the client sent it.
pub type RawParam<'a> = Option<&'a [u8]>;

impl Session {
    /// Runs a message's work; an error makes the session skip messages until Sync.
    fn extended<T>(
        &mut self,
        text: Option<&str>,
        work: impl FnOnce(&mut Session) -> Result<T>,
    ) -> Result<T> {
        if self.skipping {
            return Err(Error::internal("a message before Sync was not skipped"));
        }
        self.follow_pipeline();
        let result = work(self);
        result.map_err(|e| {
            if e.is_parked() {
                return e;
            }
            self.skipping = true;
            self.fail_statement();
            match text {
                Some(text) => {
                    let e = super::locate(e, text);
                    self.blamed = Some(Arc::from(text));
                    self.final_severity(e)
                }
                None => self.final_severity(e),
            }
        })
    }

    /// True after an error until Sync: messages are to be skipped.
    pub fn is_skipping(&self) -> bool {
        self.skipping
    }

    /// Parse.
    pub fn parse(&mut self, name: &str, text: &str, types: &[Oid]) -> Result<()> {
        self.statement_micros = os::clock::now_micros();
        self.show_state(Some(text), self.statement_micros);
        let result = self.extended(Some(text), |s| s.parse_message(name, text, types));
        if result.is_err() {
            self.failed_message.set("PARSE");
        }
        if self.logs && result.is_ok() {
            let what = format!("parse {}", if name.is_empty() { "<unnamed>" } else { name });
            self.log_since(&what, text, "PARSE", None);
        }
        result
    }

    /// Logs how long the message took that came at `statement_micros`.
    #[cold]
    fn log_since(&self, what: &str, text: &str, tag: &str, portal: Option<&Portal>) {
        let micros = (os::clock::now_micros() - self.statement_micros).max(0);
        self.log_duration(micros as u64 * 1000, false, Told { what, text, tag, portal });
    }

    fn parse_message(&mut self, name: &str, text: &str, types: &[Oid]) -> Result<()> {
        if !name.is_empty() && self.core.prepared.lock().contains_key(name) {
            bail!(DUPLICATE_PSTATEMENT, "prepared statement \"{name}\" already exists");
        }
        let prepared = match self.shared_statement(text, types) {
            Some(shared) => {
                self.check_not_failed(&shared.stmt.stmt)?;
                self.ensure_transaction()?;
                match self.is_still_shared(&shared)? {
                    true => Prepared::shared(name, shared),
                    false => self.prepare_anew(name, text, types)?,
                }
            }
            None => self.prepare_anew(name, text, types)?,
        };
        let mut all = self.core.prepared.lock();
        match all.get_mut(name) {
            Some(place) => *place = Arc::new(prepared),
            None => drop(all.insert(name.to_string(), Arc::new(prepared))),
        }
        Ok(())
    }

    pub(super) fn prepare_anew(
        &mut self,
        name: &str,
        text: &str,
        types: &[Oid],
    ) -> Result<Prepared> {
        let told = self.core.notices();
        let mut statements = self.core.parse(text)?;
        if statements.len() > 1 {
            bail!(SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement");
        }
        let Some(stmt) = statements.pop() else {
            let analysed = self.analyse(None, types)?;
            return Ok(Prepared::new(name, Arc::from(text), None, Arc::new(analysed), types));
        };
        self.check_not_failed(&stmt.stmt)?;
        self.ensure_transaction()?;
        let stmt = Arc::new(stmt);
        let (analysed, shared) = self.analyse_to_share(text, &stmt, types, told)?;
        if let Some(shared) = shared {
            return Ok(Prepared::shared(name, shared));
        }
        let mut made = Prepared::new(name, Arc::from(text), Some(stmt), analysed, types);
        made.whole = true;
        Ok(made)
    }

    /// The prepared statement of this name.
    pub(crate) fn find_prepared(&self, name: &str) -> Result<Arc<Prepared>> {
        let all = self.core.prepared.lock();
        let Some((name, prepared)) = all.get_key_value(name) else {
            return Err(match name {
                "" => err!(INVALID_SQL_STATEMENT_NAME, "unnamed prepared statement does not exist"),
                _ => {
                    err!(INVALID_SQL_STATEMENT_NAME, "prepared statement \"{name}\" does not exist")
                }
            });
        };
        self.near.used(name, prepared);
        Ok(Arc::clone(prepared))
    }

    /// Bind. `formats` and `result_formats` are as in the message: none, one for all, or one
    /// each; 0 is text, 1 binary.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &[i16],
        params: &[RawParam<'_>],
        result_formats: &[i16],
    ) -> Result<()> {
        self.statement_micros = os::clock::now_micros();
        let bound = self
            .extended(None, |s| s.bind_message(portal, statement, formats, params, result_formats));
        if let Err(e) = bound {
            self.failed_message.set("BIND");
            self.blamed = self.find_prepared(statement).ok().map(|p| p.text.clone());
            return Err(e);
        }
        if self.logs
            && let Some(p) = self.portals.get(portal)
        {
            self.log_since(&message_name("bind", p), &p.prepared.text, "BIND", Some(p));
        }
        Ok(())
    }

    fn bind_message(
        &mut self,
        portal: &str,
        statement: &str,
        formats: &[i16],
        params: &[RawParam<'_>],
        result_formats: &[i16],
    ) -> Result<()> {
        let prepared = self.find_prepared(statement)?;
        if let Some(stmt) = &prepared.stmt {
            self.check_not_failed(&stmt.stmt)?;
            self.ensure_transaction()?;
        }
        let analysed = prepared.analysed.lock().clone();
        if formats.len() > 1 && formats.len() != params.len() {
            bail!(
                PROTOCOL_VIOLATION,
                "bind message has {} parameter formats but {} parameters",
                formats.len(),
                params.len()
            );
        }
        if params.len() != analysed.params.len() {
            bail!(
                PROTOCOL_VIOLATION,
                "bind message supplies {} parameters, but prepared statement \"{statement}\" \
                 requires {}",
                params.len(),
                analysed.params.len()
            );
        }
        if !portal.is_empty() && self.portals.contains(portal) {
            bail!(DUPLICATE_CURSOR, "cursor \"{portal}\" already exists");
        }
        let columns = analysed.columns.len();
        if result_formats.len() > 1 && result_formats.len() != columns && columns > 0 {
            bail!(
                PROTOCOL_VIOLATION,
                "bind message has {} result formats but query has {columns} columns",
                result_formats.len()
            );
        }
        let mut values = match params.is_empty() {
            true => SmallVec::new(),
            false => self.read_params(portal, &analysed.params, formats, params)?,
        };
        // From a range, whose length is known, they are moved once.
        let params: Arc<[Datum]> =
            (0..values.len()).map(|i| std::mem::take(&mut values[i])).collect();
        let mut new = Portal::new(portal, prepared, params, self.statement_micros);
        // One that is not known is an error of the first row.
        new.formats.extend(result_formats.iter().map(|code| ResultFormat::of_code(*code)));
        self.plan_at_bind(&mut new)?;
        self.portals.insert(new);
        Ok(())
    }

    fn read_params(
        &self,
        portal: &str,
        types: &[Oid],
        formats: &[i16],
        params: &[RawParam<'_>],
    ) -> Result<SmallVec<[Datum; 4]>> {
        use functions::FnEnv;
        let mut env: Option<super::StatementEnv<'_>> = None;
        let converted = || self.core.resolved().format.client_encoding.is_converted();
        let mut values = SmallVec::with_capacity(params.len());
        for (i, (param, type_oid)) in params.iter().zip(types).enumerate() {
            let code = match formats.len() {
                0 => 0,
                1 => formats[0],
                _ => formats[i],
            };
            let binary =
                is_binary(code).map_err(|e| self.blame_param(e, portal, i, *param, true))?;
            // The most usual values need no session around them.
            let plain =
                param.filter(|b| !binary && (b.is_ascii() || !converted())).and_then(|bytes| {
                    types::io::input_plain(*type_oid, types::io::checked_text(bytes).ok()?)
                });
            if let Some(Ok(value)) = plain {
                values.push(value);
                continue;
            }
            let env = self.once(&mut env)?;
            match read_param(*type_oid, *param, binary, &env.io()) {
                Ok(value) => values.push(value),
                Err(e) => return Err(self.blame_param(e, portal, i, *param, binary)),
            }
        }
        Ok(values)
    }

    #[cold]
    fn blame_param(
        &self,
        mut e: Error,
        portal: &str,
        i: usize,
        param: RawParam<'_>,
        binary: bool,
    ) -> Error {
        let text = param.filter(|_| !binary).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.filter(|t| !t.contains('\0'));
        if e.message() == "incorrect binary data format" {
            let place = format!("incorrect binary data format in bind parameter {}", i + 1);
            e.fields_mut().message = place;
        }
        e.context(self.bind_context(portal, i, text))
    }

    /// Describe of a statement: its parameters' types; the sink gets the row description, or
    /// none if it gives no rows (the caller then sends NoData).
    pub fn describe_statement(&mut self, name: &str, sink: &mut dyn Sink) -> Result<Vec<Oid>> {
        let prepared = self.extended(None, |s| s.find_prepared(name))?;
        let analysed = prepared.analysed.lock().clone();
        if analysed.gives_rows() {
            sink.row_description(&analysed.columns, &[])?;
        }
        Ok(analysed.params.clone())
    }

    /// True if the statement gives rows.
    pub fn statement_has_rows(&self, name: &str) -> bool {
        self.core.prepared.lock().get(name).is_some_and(|p| p.analysed.lock().gives_rows())
    }

    /// Describe of a portal: false if it gives no rows (the caller then sends NoData).
    pub fn describe_portal(&mut self, name: &str, sink: &mut dyn Sink) -> Result<bool> {
        self.extended(None, |s| {
            let portal = s.find_portal(name)?;
            let analysed = portal.prepared.analysed.lock().clone();
            if !analysed.gives_rows() {
                return Ok(false);
            }
            sink.row_description(&analysed.columns, &portal.formats)?;
            Ok(true)
        })
    }

    fn find_portal(&self, name: &str) -> Result<&Portal> {
        self.portals
            .get(name)
            .ok_or_else(|| err!(INVALID_CURSOR_NAME, "portal \"{name}\" does not exist"))
    }

    /// Execute: at most `max_rows` rows, 0 for all.
    pub fn execute(&mut self, name: &str, max_rows: u64, sink: &mut dyn Sink) -> Result<()> {
        let text = self.portals.get(name).map(|p| p.prepared.text.clone());
        let again = self.come_back();
        if !again {
            self.statement_micros = os::clock::now_micros();
            self.start_statement_clock();
            self.show_state(Some(text.as_deref().unwrap_or("")), self.statement_micros);
        }
        let result = match self.logs {
            false => self.extended(text.as_deref(), |s| s.execute_portal(name, max_rows, sink)),
            true => self.execute_logged(text.as_deref(), name, max_rows, sink),
        };
        if self.settle_wait(again, &result) {
            return result;
        }
        self.interrupts().end_statement();
        if result.is_err() {
            self.tell(sink);
        }
        result
    }

    #[cold]
    fn execute_logged(
        &mut self,
        text: Option<&str>,
        name: &str,
        max_rows: u64,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let started = os::clock::monotonic_nanos();
        // What the portal was, since running a transaction command drops it.
        let mut about = None;
        let mut logged = false;
        if let Some(portal) = self.portals.get(name) {
            let what = if portal.position > 0 { "execute fetch from" } else { "execute" };
            logged = self.log_execute(portal, what);
            let mut copy = Portal::new(
                name,
                portal.prepared.clone(),
                portal.params.clone(),
                self.statement_micros,
            );
            copy.formats.clone_from(&portal.formats);
            about = Some((copy, message_name(what, portal)));
        }
        self.extended(text, |s| s.execute_portal(name, max_rows, sink))?;
        let nanos = os::clock::monotonic_nanos() - started;
        if let Some((portal, what)) = &about {
            let text = &portal.prepared.text;
            let tag = crate::log::tag_of(text);
            let told = Told { what, text, tag: &tag, portal: Some(portal) };
            self.log_duration(nanos, logged, told);
        }
        Ok(())
    }

    fn execute_portal(&mut self, name: &str, max_rows: u64, sink: &mut dyn Sink) -> Result<()> {
        if self.tells_parameters
            && let Some(told) = self.portals.get(name).and_then(|p| self.parameter_context(p))
        {
            self.place.update(|info| info.parameters = Some(told.into()));
        }
        let result = self.execute_message(name, max_rows, sink);
        result.map_err(|e| match self.portals.get(name).and_then(|p| self.parameter_context(p)) {
            Some(context) => e.context(context),
            None => e,
        })
    }

    fn execute_message(&mut self, name: &str, max_rows: u64, sink: &mut dyn Sink) -> Result<()> {
        let portal = self.find_portal(name)?;
        let (prepared, params) = (portal.prepared.clone(), portal.params.clone());
        let Some(stmt) = &prepared.stmt else { return sink.empty_query() };
        self.check_not_failed(&stmt.stmt)?;
        self.check_interrupts()?;
        if let Stmt::Transaction(t) = &stmt.stmt {
            let tag = self.transaction_stmt(t)?;
            self.portals.remove(name);
            self.tell(sink);
            return sink.command_complete(tag);
        }
        self.ensure_transaction()?;
        if is_query(&stmt.stmt) {
            self.note_query()?;
            let Some(mut portal) = self.portals.remove(name) else { return Ok(()) };
            let result = self.run_portal(&mut portal, max_rows, sink);
            self.portals.insert(portal);
            let result = result?;
            self.tell(sink);
            match result {
                Some(tag) => sink.command_complete(&tag)?,
                None => sink.portal_suspended()?,
            }
        } else {
            self.run_utility(name, (stmt, &prepared), &params, max_rows, sink)?;
        }
        self.end_in_pipeline(restarts(&stmt.stmt))
    }

    /// Close of a statement.
    pub fn close_statement(&mut self, name: &str) {
        self.core.prepared.lock().remove(name);
    }

    /// Close of a portal.
    pub fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    /// Sync: outside of a block the transaction is committed; messages are no more skipped.
    pub fn sync(&mut self, sink: &mut dyn Sink) -> Result<TransactionStatus> {
        let failed = std::mem::take(&mut self.skipping);
        let mut result = Ok(());
        if failed {
            self.block.leave_pipeline();
        } else {
            result = self.end_pipeline();
            if result.is_err() {
                self.fail_statement();
            }
        }
        if !self.in_block() {
            self.portals.remove("");
        }
        self.tell(sink);
        self.deliver(sink);
        self.show_state(None, os::clock::now_micros());
        result.map(|()| self.status())
    }
}

/// What a format code of a message says.
fn is_binary(code: i16) -> Result<bool> {
    match code {
        0 | 1 => Ok(code == 1),
        _ => Err(err!(INVALID_PARAMETER_VALUE, "unsupported format code: {code}")),
    }
}

/// Statements that end transactions while they run, if they are not in a block.
fn restarts(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Vacuum(v) => v.vacuum,
        Stmt::CreateIndex(c) => c.concurrently,
        Stmt::Drop(d) => d.concurrently,
        _ => false,
    }
}

fn read_param(
    type_oid: Oid,
    param: RawParam<'_>,
    binary: bool,
    io: &types::io::IoCtx,
) -> Result<Datum> {
    match param {
        None => types::io::null(type_oid, io),
        Some(bytes) if binary => types::io::receive(type_oid, bytes, -1, io),
        Some(bytes) => types::io::input(type_oid, &types::io::client_text(bytes, io)?, -1, io),
    }
}
