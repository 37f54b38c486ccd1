//! What one session has counted: since it began, for `pg_stat_get_backend_io` and `_wal`, and in
//! its open transaction, for `pg_stat_xact_*`.
//!
//! While a statement runs, everything is counted by its thread only. [`begin`] notes where the
//! thread's counters are, [`end`] gives the difference; what belongs to a transaction that goes on
//! is kept with the session ([`OpenCounts`]) between its statements.

use base::{Oid, RelFile};
use buffer::counts::{CONTEXTS, OPS};
use executor::counts::{Counts, Key};
use executor::function_counts::Calls;
use foldhash::fast::RandomState;
use os::sync::Mutex;
use std::cell::RefCell;
use std::collections::HashMap;
use wal::{WalUsage, WalWrites};

/// What a session has read and written.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// Of the page cache: by context, then operation.
    pub io: [u64; CONTEXTS * OPS],
    /// Records.
    pub wal: WalUsage,
    /// Of the log's files.
    pub writes: WalWrites,
    /// When they were reset, in microseconds since 1970; 0 is never.
    pub reset: i64,
}

impl Default for Figures {
    fn default() -> Figures {
        let (wal, writes) = Default::default();
        Figures { io: [0; CONTEXTS * OPS], wal, writes, reset: 0 }
    }
}

impl Figures {
    /// Adds what the thread has done since it began to work for the session.
    fn take_from_thread(&mut self, began: &Began) {
        buffer::counts::take_used(|at, n| self.io[at] = self.io[at].wrapping_add(n));
        self.wal += WalUsage::current() - began.wal;
        let (w, b) = (WalWrites::of_thread(), &began.writes);
        self.writes.writes += w.writes - b.writes;
        self.writes.bytes += w.bytes - b.bytes;
        self.writes.syncs += w.syncs - b.syncs;
        self.writes.write_nanos += w.write_nanos - b.write_nanos;
        self.writes.sync_nanos += w.sync_nanos - b.sync_nanos;
    }
}

/// Where a thread's counters were when it began to work for a session.
struct Began {
    pid: i32,
    wal: WalUsage,
    writes: WalWrites,
}

thread_local! {
    /// The session whose statement the thread runs, and its counters when that began.
    static RUNS: RefCell<Option<Began>> = const { RefCell::new(None) };
}

/// The thread begins to work for a session, or goes on.
fn begin(pid: i32) {
    RUNS.with(|runs| {
        let mut runs = runs.borrow_mut();
        if runs.as_ref().is_none_or(|r| r.pid != pid) {
            forget_statement();
            buffer::counts::take_used(|_, _| ());
            let (wal, writes) = (WalUsage::current(), WalWrites::of_thread());
            *runs = Some(Began { pid, wal, writes });
        }
    });
}

fn forget_statement() {
    executor::counts::forget_statement();
    executor::function_counts::forget_statement();
    buffer::counts::forget_statement();
}

/// What the statements of an open transaction have counted that are over.
#[derive(Default)]
struct Kept {
    relations: HashMap<Key, Counts, RandomState>,
    blocks: HashMap<(u32, u32), (u64, u64), RandomState>,
    functions: HashMap<Key, Calls, RandomState>,
}

impl Kept {
    /// Relations up to which the next transaction finds the maps made.
    const FEW: usize = 32;

    /// Forgets everything; false if that leaves too much memory.
    fn clear(&mut self) -> bool {
        self.relations.clear();
        self.blocks.clear();
        self.functions.clear();
        let sizes = [self.relations.capacity(), self.blocks.capacity(), self.functions.capacity()];
        sizes.iter().all(|n| *n <= Kept::FEW)
    }
}

/// What a session's open transaction has counted.
#[derive(Default)]
pub(crate) struct OpenCounts(Mutex<Option<Box<Kept>>>);

impl OpenCounts {
    /// A statement is over, and the transaction goes on.
    pub fn keep_statement(&self) {
        let mut kept = self.0.lock();
        let kept = kept.get_or_insert_default();
        executor::counts::take_statement(|key, counts| {
            kept.relations.entry(key).or_default().add(counts);
        });
        buffer::counts::take_statement(|key, (hits, reads)| {
            let sum = kept.blocks.entry(key).or_default();
            *sum = (sum.0 + hits, sum.1 + reads);
        });
        for (key, calls) in executor::function_counts::take_statement() {
            kept.functions.entry(key).or_default().add(&calls);
        }
    }

    /// The transaction is over.
    pub fn forget(&self) {
        forget_statement();
        self.0.lock().take_if(|kept| !kept.clear());
    }

    /// A relation's counters.
    pub fn relation(&self, key: Key) -> Counts {
        let mut sum = executor::counts::of_statement(key);
        if let Some(before) = self.0.lock().as_ref().and_then(|k| k.relations.get(&key)) {
            sum.add(before);
        }
        sum
    }

    /// Hits and reads of a relation's pages.
    pub fn blocks(&self, file: RelFile) -> (u64, u64) {
        let now = buffer::counts::of_statement(file);
        let kept = self.0.lock();
        let key = (file.database.0, file.number);
        let before = kept.as_ref().and_then(|k| k.blocks.get(&key)).copied().unwrap_or_default();
        (now.0 + before.0, now.1 + before.1)
    }

    /// Calls of a function; none if there were none.
    pub fn function(&self, database: Oid, function: Oid) -> Option<Calls> {
        let mut sum = executor::function_counts::of_statement((database, function));
        let kept = self.0.lock();
        if let Some(before) = kept.as_ref().and_then(|k| k.functions.get(&(database, function))) {
            sum.add(before);
        }
        (sum.calls > 0).then_some(sum)
    }
}

impl crate::Session {
    /// The thread works for the session from now on.
    pub(crate) fn begin_counting(&self) {
        begin(self.place.pid());
    }

    /// It does not any more.
    pub(crate) fn end_counting(&self) {
        crate::session::on_thread::forget();
        let pid = self.place.pid();
        let Some(began) = RUNS.with(|runs| runs.borrow_mut().take_if(|r| r.pid == pid)) else {
            return;
        };
        self.place.add_figures(|figures| figures.take_from_thread(&began));
        // The others' transactions end with their statements.
        if self.in_block() && self.core.has_txn() {
            self.core.changes.open.keep_statement();
        }
    }
}
