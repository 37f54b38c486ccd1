//! The simple protocol: a string of statements.

use super::Session;
use crate::sink::Sink;
use base::{Error, Result};
use parser::ast::{RawStmt, SelectBody, SelectStmt, Stmt};

impl Session {
    /// Runs a query string. The error of the statement that failed is returned after the
    /// transaction has been dealt with; the session goes on.
    pub fn simple_query(&mut self, text: &str, sink: &mut dyn Sink) -> Result<()> {
        self.skipping = false;
        self.statement_micros = os::clock::now_micros();
        self.show_state(Some(text));
        self.start_statement_clock();
        let result = self.run_string(text, sink);
        self.interrupts().end_statement();
        let result = result.map_err(|e| {
            self.fail_statement();
            self.locate(e, text)
        });
        self.tell(sink);
        self.show_state(None);
        result
    }

    /// Sets the deadlines of `statement_timeout` and `lock_timeout`.
    pub(crate) fn start_statement_clock(&self) {
        let settings = self.core.resolved();
        self.interrupts().begin_statement(settings.statement_timeout);
        self.interrupts().set_lock_timeout_ms(settings.lock_timeout_ms);
    }

    fn run_string(&mut self, text: &str, sink: &mut dyn Sink) -> Result<()> {
        let statements = match parser::parse(text) {
            Ok(all) => all,
            Err(e) => return Err(e),
        };
        if statements.is_empty() {
            return sink.empty_query();
        }
        let several = statements.len() > 1;
        let last = statements.len() - 1;
        for (i, stmt) in statements.iter().enumerate() {
            self.check_not_failed(&stmt.stmt)?;
            if several {
                self.begin_implicit();
            }
            self.run_statement(stmt, text, sink)?;
            if i == last {
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
            true => self.run_query_string(stmt, text, sink)?,
            false => self.utility(stmt, text, &[], sink)?,
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

/// The error of a feature that is not there yet, from a statement's kind.
pub(crate) fn unsupported(stmt: &Stmt) -> Error {
    let debug = format!("{stmt:?}");
    let name: String = debug.chars().take_while(|c| c.is_alphanumeric()).collect();
    Error::unsupported(format!("this statement ({name})"))
}
