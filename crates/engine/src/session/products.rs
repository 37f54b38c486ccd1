//! Statements that rules turned into several, into one of another kind, or into none.

use super::Session;
use super::prepared::{Analysed, Portal};
use super::query::tag_of;
use crate::rows::RowWriter;
use crate::sink::Sink;
use base::Result;
use ir::{CmdType, Query};
use parser::ast::Stmt;

/// The tag of a statement that nothing is left of.
fn empty_tag(stmt: Option<&Stmt>) -> &'static str {
    match stmt {
        Some(Stmt::Insert(_)) => "INSERT 0 0",
        Some(Stmt::Update(_)) => "UPDATE 0",
        Some(Stmt::Delete(_)) => "DELETE 0",
        Some(Stmt::Merge(_)) => "MERGE 0",
        _ => "SELECT 0",
    }
}

impl Session {
    /// Runs all that rules made of a statement; `simple`: rows of every SELECT go to the client.
    pub(super) fn run_products(
        &mut self,
        portal: &Portal,
        analysed: &Analysed,
        sink: &mut dyn Sink,
    ) -> Result<String> {
        let simple = portal.describe;
        let mut tag = None;
        for query in analysed.queries.clone() {
            if let Some((channel, payload)) = &query.notify {
                let payload = payload.as_deref().unwrap_or("");
                crate::notify_fn::notify(&self.core, channel, payload)?;
                continue;
            }
            let main = query.can_set_tag;
            let gives = query.command == CmdType::Select || main && !query.returning.is_empty();
            let shown = gives && (main || simple);
            let made = self.run_product(query, portal, shown.then_some(&mut *sink))?;
            if main {
                tag = Some(made);
            }
        }
        let stmt = portal.prepared.stmt.as_ref().map(|s| &s.stmt);
        Ok(tag.unwrap_or_else(|| empty_tag(stmt).to_string()))
    }

    /// Runs one query of several to its end; without a sink nobody sees its rows.
    fn run_product(
        &mut self,
        mut query: Query,
        portal: &Portal,
        sink: Option<&mut dyn Sink>,
    ) -> Result<String> {
        self.resolve_current_of(&mut query)?;
        let env = self.env()?;
        let only = std::slice::from_ref(&query);
        let columns = match &sink {
            Some(_) => {
                let mut shown = only[0].clone();
                shown.can_set_tag = true;
                self.result_columns(&env, &[shown])?
            }
            None => Vec::new(),
        };
        let mut run = self.execution(&env, query, portal.params.clone())?;
        let count = match sink {
            Some(sink) => {
                if portal.describe && !columns.is_empty() {
                    sink.row_description(&columns, &portal.formats)?;
                }
                let rows = RowWriter::new(&columns, &portal.formats);
                self.pull(&env, &mut run, 0, &rows, sink)?.0
            }
            None => self.discard_rows(&env, &mut run)?,
        };
        self.count_changes(&run);
        let tag = tag_of(&run, count).into_owned();
        drop(env);
        self.after_query()?;
        Ok(tag)
    }
}
