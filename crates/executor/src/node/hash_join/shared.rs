//! A hash table that the members of a team make together: each hands in its share of the inner
//! rows, and the last one to be done links them.
//!
//! Whoever finds the inner side read to its end has seen no rows that another member still has to
//! hand in counted as its own, so that the table is complete when all members that began to read
//! are done. Members that come later find it made.

use super::table::Table;
use super::{HashJoinSpec, key_phys};
use crate::node::{Node, drain};
use crate::run::Run;
use base::{Error, Result, WaitEvent};
use os::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Duration;

/// How long a wait lasts before cancellation is looked for again.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(crate) struct Build {
    state: Mutex<Progress>,
    done: Condvar,
}

#[derive(Default)]
struct Progress {
    /// Members that have begun to read, and those of them that are done.
    begun: usize,
    finished: usize,
    /// Rows so far.
    table: Option<Table>,
    made: Option<Arc<Table>>,
    failed: bool,
}

/// Lets the others know if this member does not come to the end.
struct Attempt<'b> {
    build: &'b Build,
    done: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.build.state.lock().failed = true;
            self.build.done.notify_all();
        }
    }
}

impl Build {
    /// The finished table; reads a share of the inner rows for it unless it is there.
    pub fn table(
        &self,
        run: &mut Run,
        spec: &HashJoinSpec,
        inner: &mut dyn Node,
    ) -> Result<Arc<Table>> {
        {
            let mut state = self.state.lock();
            if let Some(table) = &state.made {
                return Ok(Arc::clone(table));
            }
            state.begun += 1;
            if state.table.is_none() {
                let phys = key_phys(&spec.inner_keys);
                state.table = Some(Table::new(run, &spec.equalities, &phys));
            }
        }
        let mut attempt = Attempt { build: self, done: false };
        drain(inner, run, |run, batch| {
            let batch = batch.compact();
            let (hashes, keys) = spec.hashes(run, &batch, false)?;
            match &mut self.state.lock().table {
                Some(table) => table.push(batch, hashes, keys),
                None => Err(Error::internal("a hash table was finished before its time")),
            }
        })?;
        attempt.done = true;
        self.finish(run)
    }

    fn finish(&self, run: &Run) -> Result<Arc<Table>> {
        let mut state = self.state.lock();
        state.finished += 1;
        if state.finished == state.begun
            && let Some(mut table) = state.table.take()
        {
            table.link();
            state.made = Some(Arc::new(table));
            self.done.notify_all();
        }
        loop {
            if let Some(table) = &state.made {
                return Ok(Arc::clone(table));
            }
            if state.failed {
                return Err(Error::internal("another worker could not make its part"));
            }
            let waits = os::wait::begin(WaitEvent::HashBuildHashInner);
            state = self.done.wait_timeout(state, PATIENCE).0;
            drop(state);
            drop(waits);
            run.check_interrupts()?;
            state = self.state.lock();
        }
    }
}
