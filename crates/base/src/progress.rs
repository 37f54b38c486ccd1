//! How far long commands are: what the `pg_stat_progress_*` views show.
//!
//! A command puts its figures where others can see them ([`begin`]); the code that does the work
//! tells them to whatever command its thread runs ([`set`], [`add`]), which is nothing if there
//! is none. A command that another one runs within (an index build of CLUSTER) has no figures of
//! its own.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// A command that tells how far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Command {
    Vacuum,
    Analyze,
    Cluster,
    CreateIndex,
    BaseBackup,
    Copy,
}

impl Command {
    /// As `pg_stat_get_progress_info` is asked for it.
    pub fn named(name: &str) -> Option<Command> {
        Some(match name.to_ascii_uppercase().as_str() {
            "VACUUM" => Command::Vacuum,
            "ANALYZE" => Command::Analyze,
            "CLUSTER" => Command::Cluster,
            "CREATE INDEX" => Command::CreateIndex,
            "BASEBACKUP" => Command::BaseBackup,
            "COPY" => Command::Copy,
            _ => return None,
        })
    }
}

/// Numbers of VACUUM's figures; phases are numbers too.
#[allow(missing_docs)]
pub mod vacuum {
    pub const PHASE: usize = 1;
    pub const BLOCKS: usize = 2;
    pub const SCANNED: usize = 3;
    pub const VACUUMED: usize = 4;
    pub const INDEX_PASSES: usize = 5;
    pub const MAX_DEAD_BYTES: usize = 6;
    pub const DEAD_BYTES: usize = 7;
    pub const DEAD_ITEMS: usize = 8;
    pub const INDEXES: usize = 9;
    pub const INDEXES_DONE: usize = 10;
    pub const DELAY_MICROS: usize = 11;
    pub const SCANNING: i64 = 1;
    pub const INDEX_VACUUM: i64 = 2;
    pub const HEAP_VACUUM: i64 = 3;
    pub const INDEX_CLEANUP: i64 = 4;
    pub const TRUNCATING: i64 = 5;
    pub const FINAL_CLEANUP: i64 = 6;
}

/// Numbers of ANALYZE's figures.
#[allow(missing_docs)]
pub mod analyze {
    pub const PHASE: usize = 1;
    pub const BLOCKS: usize = 2;
    pub const SCANNED: usize = 3;
    pub const CHILDREN: usize = 6;
    pub const CHILDREN_DONE: usize = 7;
    pub const CHILD: usize = 8;
    pub const DELAY_MICROS: usize = 9;
    pub const SAMPLING: i64 = 1;
    pub const SAMPLING_CHILDREN: i64 = 2;
    pub const COMPUTING: i64 = 3;
    pub const FINALIZING: i64 = 5;
}

/// Numbers of the figures of CLUSTER and VACUUM FULL.
#[allow(missing_docs)]
pub mod cluster {
    pub const COMMAND: usize = 1;
    pub const PHASE: usize = 2;
    pub const INDEX: usize = 3;
    pub const TUPLES_SCANNED: usize = 4;
    pub const TUPLES_WRITTEN: usize = 5;
    pub const BLOCKS: usize = 6;
    pub const BLOCKS_SCANNED: usize = 7;
    pub const INDEXES_REBUILT: usize = 8;
    pub const CLUSTER: i64 = 1;
    pub const VACUUM_FULL: i64 = 2;
    pub const SEQ_SCAN: i64 = 1;
    pub const SORTING: i64 = 3;
    pub const WRITING: i64 = 4;
    pub const SWAPPING: i64 = 5;
    pub const REBUILDING: i64 = 6;
    pub const FINAL_CLEANUP: i64 = 7;
}

/// Numbers of the figures of CREATE INDEX and REINDEX.
#[allow(missing_docs)]
pub mod index {
    pub const COMMAND: usize = 1;
    pub const INDEX: usize = 7;
    pub const METHOD: usize = 9;
    pub const PHASE: usize = 10;
    pub const SUBPHASE: usize = 11;
    pub const TUPLES: usize = 12;
    pub const TUPLES_DONE: usize = 13;
    pub const PARTITIONS: usize = 14;
    pub const PARTITIONS_DONE: usize = 15;
    pub const BLOCKS: usize = 16;
    pub const BLOCKS_DONE: usize = 17;
    pub const CREATE: i64 = 1;
    pub const CREATE_CONCURRENTLY: i64 = 2;
    pub const REINDEX: i64 = 3;
    pub const REINDEX_CONCURRENTLY: i64 = 4;
    pub const BUILDING: i64 = 2;
    pub const SCANNING: i64 = 2;
    pub const SORTING: i64 = 3;
    pub const LOADING: i64 = 5;
}

/// Numbers of COPY's figures.
#[allow(missing_docs)]
pub mod copy {
    pub const BYTES: usize = 1;
    pub const BYTES_TOTAL: usize = 2;
    pub const TUPLES: usize = 3;
    pub const EXCLUDED: usize = 4;
    pub const COMMAND: usize = 5;
    pub const TYPE: usize = 6;
    pub const SKIPPED: usize = 7;
    pub const FROM: i64 = 1;
    pub const TO: i64 = 2;
    pub const FILE: i64 = 1;
    pub const PIPE: i64 = 3;
}

/// How many figures a command may have.
pub const FIGURES: usize = 20;

/// A running command's figures.
#[derive(Debug)]
pub struct Progress {
    /// Which command.
    pub command: Command,
    /// The relation it works on; 0 is none.
    pub relation: u32,
    figures: [AtomicI64; FIGURES],
}

impl Progress {
    /// A command begins; all its figures are 0.
    pub fn new(command: Command, relation: u32) -> Arc<Progress> {
        let figures = std::array::from_fn(|_| AtomicI64::new(0));
        Arc::new(Progress { command, relation, figures })
    }

    /// The figures now, from number 1 on.
    pub fn figures(&self) -> [i64; FIGURES] {
        std::array::from_fn(|i| self.figures[i].load(Relaxed))
    }

    fn figure(&self, number: usize) -> Option<&AtomicI64> {
        self.figures.get(number.wrapping_sub(1))
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<Progress>>> = const { RefCell::new(None) };
}

/// True if the thread's command tells how far it is already.
pub fn is_told() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// The thread's command from here on.
pub fn begin(progress: Arc<Progress>) {
    CURRENT.set(Some(progress));
}

/// The thread's command is done.
pub fn end() {
    CURRENT.set(None);
}

fn with(command: Command, number: usize, change: impl FnOnce(&AtomicI64)) {
    CURRENT.with_borrow(|current| {
        if let Some(p) = current
            && p.command == command
            && let Some(figure) = p.figure(number)
        {
            change(figure);
        }
    });
}

/// Sets a figure of the thread's command, if it is this one.
pub fn set(command: Command, number: usize, value: i64) {
    with(command, number, |f| f.store(value, Relaxed));
}

/// Adds to a figure of the thread's command, if it is this one.
pub fn add(command: Command, number: usize, value: i64) {
    with(command, number, |f| {
        f.fetch_add(value, Relaxed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_the_command_that_runs() {
        set(Command::Vacuum, vacuum::PHASE, 1);
        let p = Progress::new(Command::Vacuum, 7);
        begin(Arc::clone(&p));
        assert!(is_told());
        set(Command::Vacuum, vacuum::PHASE, vacuum::SCANNING);
        add(Command::Vacuum, vacuum::SCANNED, 3);
        set(Command::Copy, copy::TUPLES, 9);
        set(Command::Vacuum, 0, 9);
        end();
        add(Command::Vacuum, vacuum::SCANNED, 3);
        assert_eq!(p.figures()[..4], [1, 0, 3, 0]);
        assert_eq!(Command::named("create index"), Some(Command::CreateIndex));
    }
}
