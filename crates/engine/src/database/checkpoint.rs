//! Checkpoints, the background writer, and the thread that runs both.

use super::{Database, thread_error};
use crate::log::message;
use base::{Lsn, Result};
use os::sync::{Condvar, Mutex};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use wal::CheckPoint;

/// Why a checkpoint is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckpointKind {
    /// The server stops.
    Shutdown,
    /// Recovery is over.
    EndOfRecovery,
    /// Somebody asked: at once.
    Requested,
    /// It is time: spread out.
    Timed,
    /// The log has grown: spread out.
    Volume,
}

impl CheckpointKind {
    /// As the log has it.
    fn flags(self) -> &'static str {
        match self {
            CheckpointKind::Shutdown => "shutdown immediate",
            CheckpointKind::EndOfRecovery => "end-of-recovery immediate wait",
            CheckpointKind::Requested => "immediate force wait",
            CheckpointKind::Timed => "time",
            CheckpointKind::Volume => "wal",
        }
    }
}

#[derive(Default)]
struct State {
    stop: bool,
    /// The log has grown: a checkpoint is due.
    by_volume: bool,
    threads: Vec<os::thread::JoinHandle<()>>,
}

/// What the checkpointer and who asks it share.
#[derive(Default)]
pub struct Checkpoints {
    state: Mutex<State>,
    wake: Condvar,
    /// Held while one is made: one at a time.
    running: Mutex<()>,
    /// How many wait for one that is not spread out: the one that runs hurries.
    hurried: AtomicUsize,
}

impl Database {
    /// Makes a checkpoint; when it returns, recovery would begin at its start.
    pub fn checkpoint(&self, kind: CheckpointKind) -> Result<()> {
        let hurried = &self.checkpoints.hurried;
        let spread = matches!(kind, CheckpointKind::Timed | CheckpointKind::Volume);
        hurried.fetch_add(usize::from(!spread), Ordering::Relaxed);
        let _one = self.checkpoints.running.lock();
        hurried.fetch_sub(usize::from(!spread), Ordering::Relaxed);
        let storage = &self.storage;
        let shutdown = kind == CheckpointKind::Shutdown;
        let logged = self.defaults().get("log_checkpoints").is_some_and(|v| v.as_bool());
        if logged {
            let e = message(format!("checkpoint starting: {}", kind.flags()));
            self.log_as("checkpointer", &e);
        }
        let before = storage.wal.redo_pointer();
        let redo = {
            let _settled = self.moving.lock();
            storage.wal.begin_checkpoint()?
        };
        let started = os::clock::monotonic_nanos();
        let span = self.spread(kind);
        let mut pace = |done: f64| self.pace(started, span, done);
        storage.txn.checkpoint()?;
        let counts = storage.pool.checkpoint(shutdown, &mut pace)?;
        let horizon = storage.txn.horizon();
        let checkpoint = CheckPoint {
            redo,
            next_xid: storage.txn.next_xid(),
            next_oid: self.oids.for_checkpoint(),
            oldest_xid: base::Xid::FIRST_NORMAL,
            oldest_xid_db: catalog::oids::TEMPLATE1,
            oldest_active_xid: storage.txn.oldest_running(),
            horizon: horizon.lsn,
            time: os::clock::now_micros(),
            wal_level: 1,
            ..CheckPoint::default()
        };
        storage.wal.finish_checkpoint(&self.control, checkpoint, shutdown)?;
        let mut segments = (0, 0);
        if !shutdown {
            let may = |name: &str| self.may_drop_segment(name);
            segments = storage.wal.remove_old_segments(redo, self.spare_segments(), &may)?;
            self.forget_archived()?;
        }
        self.stats.checkpointer.count(kind, &counts);
        if logged {
            let total = (os::clock::monotonic_nanos() - started) / 1000;
            let text = self.checkpoint_text(&counts, segments, total, (before, redo));
            self.log_as("checkpointer", &message(text));
        }
        Ok(())
    }

    /// What the log says when one is done.
    fn checkpoint_text(
        &self,
        counts: &buffer::CheckpointCounts,
        (recycled, removed): (usize, usize),
        total_micros: u64,
        (before, redo): (Lsn, Lsn),
    ) -> String {
        let buffers = self.defaults().get("shared_buffers").map_or(1, |v| v.as_i64()).max(1);
        let seconds = |micros: u64| format!("{:.3} s", micros as f64 / 1e6);
        let distance = redo.0.saturating_sub(before.0) >> 10;
        let estimate = self.stats.checkpointer.estimate(distance);
        let each = counts.sync_micros / (counts.files.max(1) as u64);
        format!(
            "checkpoint complete: wrote {} buffers ({:.1}%), wrote 0 SLRU buffers; 0 WAL file(s) \
             added, {removed} removed, {recycled} recycled; write={}, sync={}, total={}; sync \
             files={}, longest={}, average={}; distance={distance} kB, estimate={estimate} kB; \
             lsn={}, redo lsn={redo}",
            counts.pages,
            counts.pages as f64 * 100.0 / buffers as f64,
            seconds(counts.write_micros),
            seconds(counts.sync_micros),
            seconds(total_micros),
            counts.files,
            seconds(each),
            seconds(each),
            self.storage.wal.inserted(),
        )
    }

    /// How long a timed checkpoint takes.
    fn spread(&self, kind: CheckpointKind) -> Duration {
        if !matches!(kind, CheckpointKind::Timed | CheckpointKind::Volume) {
            return Duration::ZERO;
        }
        let defaults = self.defaults();
        let timeout = defaults.get("checkpoint_timeout").map_or(300, |v| v.as_i64());
        let share = defaults.get("checkpoint_completion_target").map_or(0.9, |v| v.as_f64());
        Duration::from_secs_f64(timeout as f64 * share)
    }

    /// Sleeps while the checkpoint is ahead of its plan.
    fn pace(&self, started: u64, span: Duration, done: f64) {
        if span.is_zero() {
            return;
        }
        let due = started + (span.as_nanos() as f64 * done) as u64;
        loop {
            let state = self.checkpoints.state.lock();
            let now = os::clock::monotonic_nanos();
            let hurry = self.checkpoints.hurried.load(Ordering::Relaxed) > 0;
            if state.stop || state.by_volume || hurry || now >= due {
                return;
            }
            drop(state);
            os::thread::sleep(Duration::from_nanos((due - now).min(100_000_000)));
        }
    }

    fn spare_segments(&self) -> u64 {
        let defaults = self.defaults();
        let min = defaults.get("min_wal_size").map_or(80, |v| v.as_i64()) as u64;
        (min << 20) / self.storage.wal.segment_size()
    }

    /// Starts the checkpointer and the background writer.
    pub(super) fn start_background(self: &Arc<Database>) -> Result<()> {
        let weak = Arc::downgrade(self);
        let defaults = self.defaults();
        let max = defaults.get("max_wal_size").map_or(1024, |v| v.as_i64()) as u64;
        let target = defaults.get("checkpoint_completion_target").map_or(0.9, |v| v.as_f64());
        let trigger = weak.clone();
        let bytes = ((max << 20) as f64 / (1.0 + target)) as u64;
        self.storage.wal.set_checkpoint_trigger(
            bytes,
            Arc::new(move || {
                if let Some(database) = trigger.upgrade() {
                    database.checkpoints.state.lock().by_volume = true;
                    database.checkpoints.wake.notify_all();
                }
            }),
        );
        let mut threads = Vec::new();
        let own = weak.clone();
        threads.push(
            os::thread::spawn("checkpointer", move || checkpointer(&own)).map_err(thread_error)?,
        );
        let own = weak.clone();
        let launcher = move || crate::autovacuum::launcher(&own);
        threads.push(os::thread::spawn("autovacuum launcher", launcher).map_err(thread_error)?);
        threads.push(
            os::thread::spawn("background writer", move || background_writer(&weak))
                .map_err(thread_error)?,
        );
        threads.extend(self.start_archiver()?);
        self.checkpoints.state.lock().threads = threads;
        Ok(())
    }

    /// Begins to watch how much memory the process holds. Not for simulated servers, of which
    /// there are many in one process.
    pub fn watch_memory(self: &Arc<Database>) -> Result<()> {
        let own = Arc::downgrade(self);
        let watch = move || super::memory::watch(&own);
        let thread = os::thread::spawn("memory", watch).map_err(thread_error)?;
        self.checkpoints.state.lock().threads.push(thread);
        Ok(())
    }

    /// Stops them and waits for their end.
    pub(super) fn stop_background(&self) {
        let threads = {
            let mut state = self.checkpoints.state.lock();
            state.stop = true;
            std::mem::take(&mut state.threads)
        };
        self.checkpoints.wake.notify_all();
        // A vacuum that runs is given up.
        self.activity.terminate_all();
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// Says so if the log grows fast enough for checkpoints to follow each other closely.
    fn warn_of_frequency(&self, seconds: u64) {
        let least = self.defaults().get("checkpoint_warning").map_or(30, |v| v.as_i64());
        if seconds >= least as u64 {
            return;
        }
        let unit = if seconds == 1 { "second" } else { "seconds" };
        let text = format!("checkpoints are occurring too frequently ({seconds} {unit} apart)");
        let hint = "Consider increasing the configuration parameter \"max_wal_size\".";
        self.log_as("checkpointer", &message(text).hint(hint));
    }

    /// Waits until `time` has passed, there is work, or the server stops; true if it stops.
    fn wait(&self, time: Duration) -> bool {
        let mut state = self.checkpoints.state.lock();
        if !state.stop && !state.by_volume {
            state = self.checkpoints.wake.wait_timeout(state, time).0;
        }
        state.stop
    }

    /// True once the server stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.checkpoints.state.lock().stop
    }

    /// Waits until `time` has passed or the server stops; true if it stops.
    pub(crate) fn nap(&self, time: Duration) -> bool {
        let until = os::clock::monotonic_nanos() + time.as_nanos() as u64;
        let mut state = self.checkpoints.state.lock();
        loop {
            let now = os::clock::monotonic_nanos();
            if state.stop || now >= until {
                return state.stop;
            }
            let left = Duration::from_nanos(until - now);
            state = self.checkpoints.wake.wait_timeout(state, left).0;
        }
    }
}

/// One round a second: is a checkpoint due?
fn checkpointer(database: &Weak<Database>) {
    buffer::counts::set_backend(buffer::Backend::Checkpointer);
    let mut last = os::clock::monotonic_nanos();
    let mut last_redo = Lsn::INVALID;
    loop {
        let Some(database) = database.upgrade() else { return };
        if database.wait(Duration::from_secs(1)) {
            return;
        }
        let timeout = database.defaults().get("checkpoint_timeout").map_or(300, |v| v.as_i64());
        let now = os::clock::monotonic_nanos();
        let by_time = now.saturating_sub(last) >= timeout as u64 * 1_000_000_000;
        let by_volume = std::mem::take(&mut database.checkpoints.state.lock().by_volume);
        let _ = database.storage.txn.maintain();
        if !by_time && !by_volume {
            continue;
        }
        let before = std::mem::replace(&mut last, now);
        // A server that did nothing needs no checkpoint.
        if database.storage.wal.inserted() == last_redo {
            database.stats.checkpointer.count_skipped();
            continue;
        }
        let kind = if by_volume { CheckpointKind::Volume } else { CheckpointKind::Timed };
        if by_volume {
            database.warn_of_frequency(now.saturating_sub(before) / 1_000_000_000);
        }
        if let Err(e) = database.checkpoint(kind) {
            database.log_as("checkpointer", &e.context("checkpoint"));
        }
        last_redo = database.storage.wal.inserted();
    }
}

/// How many pages sessions have needed room for of late.
#[derive(Default)]
struct WriterPace {
    seen: u64,
    mean: f64,
}

impl WriterPace {
    /// Pages to have clean for the next round.
    fn pages(&mut self, multiplier: f64) -> usize {
        /// Where nobody needs room the pool is still walked through.
        const LEAST: usize = 4;
        let needed = buffer::counts::needed();
        let fresh = needed.wrapping_sub(std::mem::replace(&mut self.seen, needed)) as f64;
        // Up at once, down slowly.
        self.mean = if fresh > self.mean { fresh } else { self.mean + (fresh - self.mean) / 16.0 };
        ((self.mean * multiplier) as usize).max(LEAST)
    }
}

/// Writes pages out before sessions have to.
fn background_writer(database: &Weak<Database>) {
    buffer::counts::set_backend(buffer::Backend::BackgroundWriter);
    let mut pace = WriterPace::default();
    loop {
        let Some(database) = database.upgrade() else { return };
        let defaults = database.defaults();
        let delay = defaults.get("bgwriter_delay").map_or(200, |v| v.as_i64());
        let most = defaults.get("bgwriter_lru_maxpages").map_or(100, |v| v.as_i64());
        {
            let state = database.checkpoints.state.lock();
            if state.stop {
                return;
            }
        }
        let multiplier = defaults.get("bgwriter_lru_multiplier").map_or(2.0, |v| v.as_f64());
        let most = pace.pages(multiplier).min(most.max(0) as usize);
        let _ = database.storage.pool.background_write(most);
        drop(database);
        os::thread::sleep(Duration::from_millis(delay.max(10) as u64));
    }
}
