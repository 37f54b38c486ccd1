//! Counters of the parts of the server that work in the background.

use crate::CheckpointKind;
use os::sync::Mutex;

/// What `pg_stat_checkpointer` shows.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Checkpointer {
    pub timed: u64,
    pub requested: u64,
    pub done: u64,
    pub write_micros: u64,
    pub sync_micros: u64,
    pub buffers: u64,
    /// When the counters were reset, in microseconds since 1970.
    pub reset: i64,
}

/// What `pg_stat_archiver` shows: how many segments, the last one's name, and when that was.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Archiver {
    pub archived: (u64, String, i64),
    pub failed: (u64, String, i64),
}

/// The checkpointer's counters.
#[derive(Default)]
pub(crate) struct CheckpointerStats {
    counters: Mutex<Checkpointer>,
    /// Kilobytes of log between checkpoints, as they have been of late.
    estimate: Mutex<f64>,
}

impl CheckpointerStats {
    /// One was made.
    pub fn count(&self, kind: CheckpointKind, counts: &buffer::CheckpointCounts) {
        let mut c = self.counters.lock();
        match kind {
            CheckpointKind::Timed => c.timed += 1,
            CheckpointKind::Requested | CheckpointKind::Volume => c.requested += 1,
            CheckpointKind::Shutdown | CheckpointKind::EndOfRecovery => {}
        }
        c.done += 1;
        c.write_micros += counts.write_micros;
        c.sync_micros += counts.sync_micros;
        c.buffers += counts.pages as u64;
    }

    /// It was time for one, but nothing had happened since the last.
    pub fn count_skipped(&self) {
        self.counters.lock().timed += 1;
    }

    /// The counters now.
    pub fn get(&self) -> Checkpointer {
        self.counters.lock().clone()
    }

    /// Sets them.
    pub fn set(&self, to: Checkpointer) {
        *self.counters.lock() = to;
    }

    /// A new distance: up at once, down slowly.
    pub fn estimate(&self, distance_kb: u64) -> u64 {
        let mut estimate = self.estimate.lock();
        let distance = distance_kb as f64;
        *estimate = if *estimate < distance { distance } else { 0.9 * *estimate + 0.1 * distance };
        *estimate as u64
    }
}
