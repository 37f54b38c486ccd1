//! Workers of parallel plans: threads with surroundings of their own that are the session's too.
//!
//! A worker shares the session's transaction, snapshot, settings and interrupts, so that whoever
//! cancels the statement reaches it; it has its own catalog view and is seen in the list of
//! sessions. It starts no workers of its own.

use super::core::SessionCore;
use super::env::StatementEnv;
use super::planning::RunParts;
use crate::activity::{Place, SessionInfo, SessionState};
use executor::{WorkerTask, Workers};
use os::thread::JoinHandle;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Stack of a worker: that of a deep expression.
const STACK: usize = 8 << 20;

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is a worker.
pub(super) fn is_worker() -> bool {
    IS_WORKER.with(Cell::get)
}

/// Workers of all sessions, and how many were wanted and started for each database.
#[derive(Default)]
pub(crate) struct WorkerCount {
    running: AtomicUsize,
}

/// A worker's place among all.
struct Slot(Arc<SessionCore>);

impl Slot {
    /// One of `most` places; None if all are taken.
    fn take(core: &Arc<SessionCore>, most: usize) -> Option<Slot> {
        let running = &core.database.workers.running;
        let free = |n: usize| (n < most).then_some(n + 1);
        running.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).ok()?;
        Some(Slot(core.clone()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.database.workers.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Starts workers for a session.
pub(crate) struct SessionWorkers {
    core: Arc<SessionCore>,
}

impl SessionWorkers {
    pub fn new(core: &Arc<SessionCore>) -> SessionWorkers {
        SessionWorkers { core: core.clone() }
    }
}

impl Workers for SessionWorkers {
    fn start(&self, number: usize, task: WorkerTask) -> Option<JoinHandle<()>> {
        let core = self.core.clone();
        let most = {
            let settings = core.settings.lock();
            settings.i64("max_parallel_workers").min(settings.i64("max_worker_processes"))
        };
        core.database.stats.worker_wanted(core.state.oid);
        let slot = Slot::take(&core, most.max(0) as usize)?;
        core.database.stats.worker_started(core.state.oid);
        let name = format!("parallel worker {number}");
        os::thread::spawn_with_stack(&name, STACK, move || {
            IS_WORKER.with(|w| w.set(true));
            let _keeping = os::memory::keep_blocks();
            buffer::counts::set_backend(buffer::Backend::BackgroundWorker);
            work(&slot.0, task);
            drop(slot);
        })
        .ok()
    }
}

fn work(core: &Arc<SessionCore>, task: WorkerTask) {
    let place = enter(core);
    let random = Cell::new([os::random::u64(), os::random::u64()]);
    let started = os::clock::now_micros();
    let env = match StatementEnv::new(core, &random, started) {
        Ok(env) => env,
        Err(error) => return task(Err(error)),
    };
    match RunParts::of(core) {
        Ok(parts) => task(Ok(parts.cx(&env))),
        Err(error) => task(Err(error)),
    }
    drop(place);
}

/// Makes the worker seen among the sessions.
fn enter(core: &Arc<SessionCore>) -> Place {
    let activity = core.database.activity();
    let leader = core.backend.pid();
    let now = os::clock::now_micros();
    let of = activity.session(leader).map(|(info, _)| info).unwrap_or_default();
    let info = SessionInfo {
        pid: activity.new_pid(),
        leader: Some(leader),
        background: true,
        backend_start: now,
        thread: os::wait::thread_place(),
        state: SessionState::Active,
        client_addr: None,
        client_hostname: None,
        client_port: None,
        server_address: None,
        ssl: None,
        ..of
    };
    let interrupts = core.backend.interrupts().clone();
    activity.enter(info, interrupts, core.memory.clone(), None)
}
