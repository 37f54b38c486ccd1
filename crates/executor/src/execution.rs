//! A run of a statement, as the session holds it.

use crate::compile::CompiledStmt;
use crate::instrument::Instrumentation;
use crate::node::{Node, drain};
use crate::run::{ExecCtx, Run, State};
use base::Result;
use std::sync::Arc;
use txn::Snapshot;
use types::{BATCH_ROWS, Batch, Datum};

/// A run of a statement. It may be pulled in pieces, with other statements of the session in
/// between (a portal); what the session lends is passed to each call.
pub struct Execution {
    state: State,
    root: Option<Box<dyn Node>>,
    done: bool,
}

impl Execution {
    /// A run with these parameters (`$1` first), which sees what the snapshot sees.
    pub fn new(
        stmt: Arc<CompiledStmt>,
        params: Arc<[Datum]>,
        snapshot: Arc<Snapshot>,
    ) -> Execution {
        Execution { state: State::new(stmt, params, snapshot), root: None, done: false }
    }

    /// Counts rows, and times if `timing`, for EXPLAIN ANALYZE. To be called before the first
    /// row is asked for.
    pub fn instrument(&mut self, timing: bool) {
        let all = Instrumentation { timing, ..Instrumentation::default() };
        self.state.instrumentation = Some(Box::new(all));
    }

    /// If it has to wait for the first row that it changes or locks, it may leave with
    /// [`base::Error::parked`]; it is then to be made and run anew.
    pub fn may_park(&mut self) {
        self.state.parks = self.state.stmt.repeatable;
    }

    /// What it runs.
    pub fn stmt(&self) -> &Arc<CompiledStmt> {
        &self.state.stmt
    }

    /// The children of appends that values known before the run rule out: the append's number, and
    /// positions of children.
    pub fn ruled_out(&mut self, cx: ExecCtx<'_>) -> Result<Vec<(u32, Vec<usize>)>> {
        let mut run = Run::new(cx, &mut self.state);
        let stmt = Arc::clone(&run.stmt);
        let mut all = Vec::new();
        for (id, prune) in &stmt.prunes {
            let needed = prune.needed(&mut run, true)?;
            let out: Vec<usize> = (0..needed.len()).filter(|i| !needed[*i]).collect();
            if !out.is_empty() {
                all.push((*id, out));
            }
        }
        Ok(all)
    }

    /// The next rows, at most `max_rows` (0: any number); None at the end. Junk columns are not
    /// removed: `plan().plan.target` says which they are. After the end, all statements in WITH
    /// that change rows have been run to their ends.
    pub fn next_batch(&mut self, cx: ExecCtx<'_>, max_rows: usize) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        let mut run = Run::new(cx, &mut self.state);
        let root = match &mut self.root {
            Some(root) => root,
            none => none.insert(Arc::clone(&run.stmt.root).start(&mut run)?),
        };
        let demand = if max_rows == 0 { BATCH_ROWS } else { max_rows.min(BATCH_ROWS) };
        if let Some(batch) = root.next(&mut run, demand)? {
            return Ok(Some(batch));
        }
        self.done = true;
        let stmt = Arc::clone(&run.stmt);
        for index in &stmt.modifying {
            crate::node::cte_scan::finish(&mut run, *index)?;
        }
        Ok(None)
    }

    /// Runs to the end, dropping the rows.
    pub fn run_to_end(&mut self, cx: ExecCtx<'_>) -> Result<()> {
        while self.next_batch(cx, 0)?.is_some() {
            cx.env.check_interrupts()?;
        }
        Ok(())
    }

    /// Starts over: the next row is the first again.
    pub fn rewind(&mut self, cx: ExecCtx<'_>) -> Result<()> {
        self.done = false;
        if let Some(root) = &mut self.root {
            let mut run = Run::new(cx, &mut self.state);
            root.rescan(&mut run, &[])?;
        }
        Ok(())
    }

    /// Rows that a statement that changes data has processed.
    pub fn processed(&self) -> u64 {
        self.state.processed
    }

    /// The counters, if they were asked for; ends the loops of all nodes.
    pub fn take_instrumentation(&mut self) -> Option<Instrumentation> {
        let mut all = *self.state.instrumentation.take()?;
        all.nodes.iter_mut().for_each(|n| n.end_loop());
        Some(all)
    }
}

/// Pulls a node to its end.
pub(crate) fn exhaust(node: &mut dyn Node, run: &mut Run) -> Result<()> {
    drain(node, run, |_, _| Ok(()))
}
