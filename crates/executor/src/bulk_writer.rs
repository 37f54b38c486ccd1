//! Rows on their way to a table through a thread of its own, which puts them into pages and into
//! the log while the session makes the next ones.
//!
//! A writer lives no longer than the statement: dropping it waits for the thread, so that nothing
//! is written after the transaction's end. Vectors of rows go back and forth, and their values are
//! dropped where they were made: reference counts stay in one core's cache.

use access::ExecTxn;
use access::heap::{HeapRel, InsertOptions};
use base::{Error, Result, WaitEvent};
use os::sync::Relay;
use os::thread::JoinHandle;
use std::sync::Arc;
use txn::{Snapshot, Txn};
use types::Datum;

/// Batches that the session may be ahead.
const AHEAD: usize = 4;

/// What the thread works for.
pub(crate) struct Work {
    pub heap: Arc<HeapRel>,
    pub txn: Arc<Txn>,
    pub snapshot: Arc<Snapshot>,
    pub options: InsertOptions,
}

/// A running thread.
pub(crate) struct BulkWriter {
    lanes: Arc<Lanes>,
    thread: Option<JoinHandle<Result<()>>>,
}

struct Lanes {
    /// Rows to be written.
    rows: Relay<Vec<Datum>>,
    /// Rows that were, whose vectors can be used again. There is room for all there are.
    written: Relay<Vec<Datum>>,
}

/// The session must not wait for a thread that has ended.
struct Farewell(Arc<Lanes>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.rows.abandon();
    }
}

impl BulkWriter {
    /// Starts the thread; none if there cannot be another.
    pub fn start(work: Work) -> Option<BulkWriter> {
        let lanes = Lanes { rows: Relay::new(AHEAD), written: Relay::new(2 * AHEAD) };
        let lanes = Arc::new(lanes);
        let farewell = Farewell(Arc::clone(&lanes));
        let run = move || write(&farewell.0, &work);
        let thread = os::thread::spawn("bulk writer", run).ok()?;
        Some(BulkWriter { lanes, thread: Some(thread) })
    }

    /// Hands rows over, waiting for room; leaves an empty vector in their place.
    pub fn store(&mut self, rows: &mut Vec<Datum>) -> Result<()> {
        let mut next = self.lanes.written.try_receive().unwrap_or_default();
        next.clear();
        let full = std::mem::replace(rows, next);
        match self.lanes.rows.send(full, WaitEvent::MessageQueueSend) {
            Ok(()) => Ok(()),
            Err(_) => self.end(),
        }
    }

    /// Waits until all rows are written.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        self.lanes.rows.end();
        let waits = os::wait::begin(WaitEvent::MessageQueueReceive);
        let outcome = thread.join();
        drop(waits);
        outcome.unwrap_or_else(|_| Err(Error::internal("the writer of a table was lost")))
    }
}

impl Drop for BulkWriter {
    fn drop(&mut self) {
        self.lanes.rows.abandon();
        // Whoever drops a writer that has not finished has an error already.
        let _ = self.end();
    }
}

fn write(lanes: &Lanes, work: &Work) -> Result<()> {
    let x = ExecTxn { txn: &work.txn, snapshot: &work.snapshot };
    let natts = work.heap.desc.natts().max(1);
    let mut tids = Vec::new();
    while let Some(rows) = lanes.rows.receive(WaitEvent::MessageQueueReceive) {
        tids.clear();
        work.heap.multi_insert(&x, &mut rows.chunks_exact(natts), work.options, &mut tids)?;
        // Whoever does not want it back has gone.
        let _ = lanes.written.send(rows, WaitEvent::MessageQueueSend);
    }
    Ok(())
}
