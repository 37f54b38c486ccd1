//! Rows that are all made before the first is sent: those of commands, and of queries that change
//! rows and are asked for a few at a time, which do all their work no matter how much is fetched.

use super::Session;
use super::prepared::{Portal, PortalState, Prepared};
use crate::rows::RowWriter;
use crate::sink::{ResultColumn, ResultFormat, Sink};
use base::{Error, Result, err};
use parser::ast::{FetchDirection, FetchStmt, RawStmt};
use std::sync::Arc;
use types::Datum;

/// A portal's rows, and what it says after the last.
pub struct Kept {
    columns: Vec<ResultColumn>,
    rows: std::vec::IntoIter<Vec<Datum>>,
    tag: String,
}

/// Keeps rows and passes on everything else.
pub(super) struct Collect<'a> {
    columns: Vec<ResultColumn>,
    rows: Vec<Vec<Datum>>,
    outer: &'a mut dyn Sink,
}

impl<'a> Collect<'a> {
    pub(super) fn new(columns: &[ResultColumn], outer: &'a mut dyn Sink) -> Collect<'a> {
        Collect { columns: columns.to_vec(), rows: Vec::new(), outer }
    }

    pub(super) fn finish(self, tag: String) -> Kept {
        Kept { columns: self.columns, rows: self.rows.into_iter(), tag }
    }
}

impl Sink for Collect<'_> {
    fn row_description(&mut self, columns: &[ResultColumn], _: &[ResultFormat]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, values: &[Datum]) -> Result<()> {
        self.rows.push(values.to_vec());
        Ok(())
    }

    fn command_complete(&mut self, _: &str) -> Result<()> {
        Ok(())
    }

    fn notice(&mut self, notice: &Error) {
        self.outer.notice(notice);
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.outer.parameter_status(name, value);
    }

    fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        self.outer.notification(pid, channel, payload);
    }

    fn copy_in(&mut self, binary: bool, columns: usize) -> Result<()> {
        self.outer.copy_in(binary, columns)
    }

    fn copy_data_in(&mut self) -> Result<Option<Vec<u8>>> {
        self.outer.copy_data_in()
    }

    fn copy_out(&mut self, binary: bool, columns: usize) -> Result<()> {
        self.outer.copy_out(binary, columns)
    }

    fn copy_data_out(&mut self, data: &[u8]) -> Result<()> {
        self.outer.copy_data_out(data)
    }

    fn copy_out_done(&mut self) -> Result<()> {
        self.outer.copy_out_done()
    }
}

impl Session {
    /// Runs a command that is a portal's, and sends at most `max` of the rows it gives.
    pub(super) fn run_utility(
        &mut self,
        name: &str,
        (stmt, prepared): (&RawStmt, &Arc<Prepared>),
        params: &[Datum],
        max: u64,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let known = self.portals.get_mut(name).map(|p| {
            let kept = std::mem::replace(&mut p.state, PortalState::Done);
            (kept, p.formats.clone())
        });
        let (mut kept, formats) = match known {
            Some((PortalState::Kept(kept), formats)) => (kept, formats),
            other => {
                let mut collect = Collect::new(&[], sink);
                if !params.is_empty() {
                    self.param_types.clone_from(&prepared.analysed.lock().params);
                }
                let tag = self.utility(stmt, &prepared.text, params, &mut collect);
                self.param_types.clear();
                let tag = tag?;
                (Box::new(collect.finish(tag)), other.map(|o| o.1).unwrap_or_default())
            }
        };
        match self.send_kept(&mut kept, &formats, max, sink)? {
            (_, true) => {
                if let Some(portal) = self.portals.get_mut(name) {
                    portal.state = PortalState::Kept(kept);
                }
                sink.portal_suspended()
            }
            _ => {
                self.tell(sink);
                sink.command_complete(&kept.tag)
            }
        }
    }

    /// Sends at most `max` more rows of a portal, 0 for all; None if there may be more, else its
    /// tag.
    pub(super) fn run_kept(
        &mut self,
        portal: &mut Portal,
        max: u64,
        sink: &mut dyn Sink,
    ) -> Result<Option<String>> {
        let PortalState::Kept(mut kept) = std::mem::replace(&mut portal.state, PortalState::Done)
        else {
            return Ok(Some("SELECT 0".into()));
        };
        let (sent, more) = self.send_kept(&mut kept, &portal.formats, max, sink)?;
        portal.position += sent as u64;
        if more {
            portal.state = PortalState::Kept(kept);
            return Ok(None);
        }
        Ok(Some(match kept.tag.starts_with("SELECT") {
            true => format!("SELECT {sent}"),
            false => kept.tag,
        }))
    }

    /// How many rows were sent, and whether that is all the client asked for.
    fn send_kept(
        &self,
        kept: &mut Kept,
        formats: &[ResultFormat],
        max: u64,
        sink: &mut dyn Sink,
    ) -> Result<(usize, bool)> {
        if kept.rows.len() == 0 {
            return Ok((0, false));
        }
        let env = self.env()?;
        use functions::FnEnv;
        let writer = RowWriter::new(&kept.columns, formats);
        let count = if max == 0 { usize::MAX } else { usize::try_from(max).unwrap_or(usize::MAX) };
        let mut sent = 0;
        for row in kept.rows.by_ref().take(count) {
            writer.row(&row, &env.io(), sink)?;
            sent += 1;
        }
        Ok((sent, sent == count))
    }

    /// FETCH and MOVE of a portal that Bind made, which goes only forward; gives the command tag.
    pub(super) fn fetch_portal(
        &mut self,
        portal: &mut Portal,
        stmt: &FetchStmt,
        sink: &mut dyn Sink,
    ) -> Result<String> {
        let skipped = match (stmt.direction, stmt.count) {
            (FetchDirection::Forward, 0..) => 0,
            (FetchDirection::Relative, n) if n > 0 => n - 1,
            _ => {
                return Err(err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
                    .hint("Declare it with SCROLL option to enable backward scan."));
            }
        };
        let columns = portal.prepared.analysed.lock().columns.clone();
        let word = if stmt.is_move { "MOVE" } else { "FETCH" };
        if skipped > 0 {
            let mut collect = Collect::new(&columns, sink);
            self.run_portal(portal, skipped as u64, &mut collect)?;
        }
        let count = match (stmt.direction, stmt.count) {
            (FetchDirection::Relative, _) => Some(1),
            (_, 0) => None,
            (_, i64::MAX) => Some(0),
            (_, n) => Some(n as u64),
        };
        let mut collect = Collect::new(&columns, sink);
        if let Some(count) = count {
            self.run_portal(portal, count, &mut collect)?;
        }
        let rows = collect.rows;
        if !stmt.is_move {
            use functions::FnEnv;
            sink.row_description(&columns, &[])?;
            let env = self.env()?;
            let writer = RowWriter::new(&columns, &[]);
            for row in &rows {
                writer.row(row, &env.io(), sink)?;
            }
        }
        Ok(format!("{word} {}", rows.len()))
    }
}
