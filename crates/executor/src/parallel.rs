//! Workers of parallel plans: threads that run the same part of a plan as the leader, with state
//! of their own and a few things in common.
//!
//! A team lives as long as its Gather node: dropping it stops the workers and waits for them, so
//! that none outlives the statement. Rows go through a queue for each worker, which a worker that
//! is ahead waits for room in. What fails in a worker fails the statement. Nothing that a worker
//! waits for (room, a shared hash table) is held by a leader that waits for the worker: the leader
//! waits only while all queues that it needs are empty, and who builds a hash table sends no rows
//! before it is done.

use crate::compile::CompiledStmt;
use crate::instrument::{Detail, Instrumentation, NodeStats, Usage, merge};
use crate::node::Child;
use crate::run::{ExecCtx, ExecSlot, Run, State};
use base::{Error, Result, WaitEvent};
use os::sync::atomic::{AtomicBool, Ordering};
use os::sync::{Condvar, Mutex};
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use txn::Snapshot;
use types::{BATCH_ROWS, Batch, Datum};

/// Batches that a worker may be ahead of the leader.
const AHEAD: usize = 8;

/// How long a wait lasts before cancellation is looked for again.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a worker does with the surroundings that it is given.
pub type WorkerTask = Box<dyn FnOnce(Result<ExecCtx<'_>>) + Send>;

/// Starts workers for the session's statement.
pub trait Workers {
    /// Runs the task on a thread of its own, with surroundings that are the session's too; None
    /// if there are enough workers already. `number` is the worker's in its team.
    fn start(&self, number: usize, task: WorkerTask) -> Option<os::thread::JoinHandle<()>>;
}

/// Something that the runs of one node in all members of a team have in common.
pub(crate) type Common = Arc<dyn Any + Send + Sync>;

/// What the members of a team have in common.
pub(crate) struct Shared {
    stopped: AtomicBool,
    nodes: Mutex<HashMap<u32, Common>>,
    queues: Mutex<Queues>,
    /// The leader waits for rows.
    ready: Condvar,
    /// Workers wait for room.
    room: Condvar,
}

struct Queues {
    rows: Vec<VecDeque<Batch>>,
    finished: Vec<bool>,
    error: Option<Error>,
    stats: Vec<Option<Instrumentation>>,
}

impl Shared {
    fn new(members: usize) -> Shared {
        let mut rows = Vec::new();
        rows.resize_with(members, VecDeque::new);
        let mut stats = Vec::new();
        stats.resize_with(members, || None);
        Shared {
            stopped: AtomicBool::new(false),
            nodes: Mutex::new(HashMap::new()),
            queues: Mutex::new(Queues { rows, finished: vec![false; members], error: None, stats }),
            ready: Condvar::new(),
            room: Condvar::new(),
        }
    }

    /// What the runs of a node have in common, made by the first that asks.
    pub fn of_node<T: Any + Send + Sync>(
        &self,
        id: u32,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let mut nodes = self.nodes.lock();
        let common = match nodes.get(&id) {
            Some(common) => Arc::clone(common),
            None => {
                let made: Common = Arc::new(make()?);
                nodes.insert(id, Arc::clone(&made));
                made
            }
        };
        common.downcast().map_err(|_| Error::internal("nodes share something of another kind"))
    }

    /// Fails if the others have stopped.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(Error::internal("the parallel workers were stopped")),
            false => Ok(()),
        }
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _queues = self.queues.lock();
        self.room.notify_all();
    }

    /// Hands rows to the leader, waiting for room; false if it wants no more.
    fn send(&self, worker: usize, batch: Batch, run: &Run) -> Result<bool> {
        let mut queues = self.queues.lock();
        while queues.rows[worker].len() >= AHEAD {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let waits = os::wait::begin(WaitEvent::MessageQueueSend);
            queues = self.room.wait_timeout(queues, PATIENCE).0;
            drop(waits);
            drop(queues);
            run.check_interrupts()?;
            queues = self.queues.lock();
        }
        queues.rows[worker].push_back(batch);
        self.ready.notify_one();
        Ok(!self.stopped.load(Ordering::Relaxed))
    }
}

/// Says that the worker is done, whatever became of it.
struct Farewell {
    shared: Arc<Shared>,
    worker: usize,
    error: Option<Error>,
    stats: Option<Instrumentation>,
    begun: bool,
    done: bool,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let mut queues = self.shared.queues.lock();
        queues.finished[self.worker] = true;
        queues.stats[self.worker] = self.stats.take();
        let lost = (self.begun && !self.done)
            .then(|| Error::internal("lost connection to parallel worker"));
        let error = self.error.take().or(lost);
        if queues.error.is_none() {
            queues.error = error;
        }
        self.shared.ready.notify_all();
    }
}

impl Farewell {
    fn say(mut self, result: Result<()>) {
        let stopped = self.shared.stopped.load(Ordering::Relaxed);
        self.error = result.err().filter(|_| !stopped).map(|e| e.context("parallel worker"));
        self.done = true;
    }
}

/// What a worker is to run.
struct Job {
    stmt: Arc<CompiledStmt>,
    child: Child,
    snapshot: Arc<Snapshot>,
    params: Arc<[Datum]>,
    exec: Vec<ExecSlot>,
    /// Whether nodes are counted, and timed.
    counted: Option<bool>,
    bound: Option<u64>,
}

impl Job {
    fn state(self, shared: &Arc<Shared>) -> State {
        let mut state = State::new(self.stmt, self.params, self.snapshot);
        state.exec = self.exec;
        state.shared = Some(Arc::clone(shared));
        state.instrumentation = self
            .counted
            .map(|timing| Box::new(Instrumentation { timing, ..Instrumentation::default() }));
        state
    }
}

fn work(cx: ExecCtx<'_>, job: Job, farewell: &mut Farewell) -> Result<()> {
    let shared = Arc::clone(&farewell.shared);
    let before = Usage::now();
    let (child, bound) = (Arc::clone(&job.child), job.bound);
    let mut state = job.state(&shared);
    let mut run = Run::new(cx, &mut state);
    let mut node = child.start(&mut run)?;
    if let Some(bound) = bound {
        node.set_bound(bound);
    }
    while let Some(batch) = node.next(&mut run, BATCH_ROWS)? {
        run.check_interrupts()?;
        if !shared.send(farewell.worker, batch, &run)? {
            break;
        }
    }
    drop(node);
    farewell.stats = state.instrumentation.take().map(|mut all| {
        all.nodes.iter_mut().for_each(NodeStats::end_loop);
        all.used = before.since();
        *all
    });
    Ok(())
}

/// The workers of a Gather, and what they have in common with the leader.
pub(crate) struct Team {
    pub shared: Arc<Shared>,
    handles: Vec<os::thread::JoinHandle<()>>,
    started: usize,
    /// Whose turn it is.
    next: usize,
}

impl Team {
    /// Starts up to `wanted` workers, each of which runs `child`.
    pub fn start(run: &mut Run, child: &Child, wanted: u32, bound: Option<u64>) -> Result<Team> {
        let stmt = Arc::clone(&run.stmt);
        // What init plans make is made once, before.
        for param in &child.params {
            if run.exec.get(*param as usize).is_some_and(|slot| slot.pending.is_some()) {
                run.exec_param(*param)?;
            }
        }
        let shared = Arc::new(Shared::new(wanted as usize));
        let mut handles = Vec::new();
        if let Some(workers) = run.cx.workers {
            for number in 0..wanted as usize {
                let job = Job {
                    stmt: Arc::clone(&stmt),
                    child: Arc::clone(child),
                    snapshot: Arc::clone(&run.snapshot),
                    params: Arc::clone(&run.extern_params),
                    exec: run.save_exec(),
                    counted: run.instrumentation.as_ref().map(|i| i.timing),
                    bound,
                };
                let mut farewell = Farewell {
                    shared: Arc::clone(&shared),
                    worker: number,
                    error: None,
                    stats: None,
                    begun: false,
                    done: false,
                };
                let task: WorkerTask = Box::new(move |cx| {
                    farewell.begun = true;
                    let result = cx.and_then(|cx| work(cx, job, &mut farewell));
                    farewell.say(result);
                });
                match workers.start(number, task) {
                    Some(handle) => handles.push(handle),
                    None => break,
                }
            }
        }
        {
            // Whoever did not start has nothing to give, and nothing went wrong with it.
            let mut queues = shared.queues.lock();
            for number in handles.len()..wanted as usize {
                queues.finished[number] = true;
            }
        }
        let started = handles.len();
        Ok(Team { shared, handles, started, next: 0 })
    }

    /// How many workers there are.
    pub fn len(&self) -> usize {
        self.started
    }

    /// Rows of any worker; None if there are none now. True if there will be no more.
    pub fn take_any(&mut self) -> Result<(Option<Batch>, bool)> {
        let mut queues = self.shared.queues.lock();
        if let Some(error) = queues.error.take() {
            return Err(error);
        }
        let n = self.started;
        for k in 0..n {
            let worker = (self.next + k) % n;
            if let Some(batch) = queues.rows[worker].pop_front() {
                self.next = worker;
                self.shared.room.notify_all();
                return Ok((Some(batch), false));
            }
        }
        Ok((None, queues.finished[..n].iter().all(|f| *f)))
    }

    /// Waits until there may be rows of `worker`, or of any.
    pub fn wait(&self, run: &Run, worker: Option<usize>) -> Result<()> {
        let queues = self.shared.queues.lock();
        let n = self.started;
        let there = |w: usize| !queues.rows[w].is_empty() || queues.finished[w];
        let found = match worker {
            Some(w) => there(w),
            None => {
                (0..n).any(|w| !queues.rows[w].is_empty())
                    || queues.finished[..n].iter().all(|f| *f)
            }
        };
        if !found && queues.error.is_none() {
            let waits = os::wait::begin(WaitEvent::ExecuteGather);
            let (queues, _) = self.shared.ready.wait_timeout(queues, PATIENCE);
            drop(queues);
            drop(waits);
        }
        run.check_interrupts()
    }

    /// The next rows of one worker, waiting for them; None if it has given all.
    pub fn take_of(&self, run: &Run, worker: usize) -> Result<Option<Batch>> {
        loop {
            {
                let mut queues = self.shared.queues.lock();
                if let Some(error) = queues.error.take() {
                    return Err(error);
                }
                if let Some(batch) = queues.rows[worker].pop_front() {
                    self.shared.room.notify_all();
                    return Ok(Some(batch));
                }
                if queues.finished[worker] {
                    return Ok(None);
                }
            }
            self.wait(run, Some(worker))?;
        }
    }

    /// Ends the workers and adds what they counted to the leader's counts.
    pub fn dismiss(&mut self, run: &mut Run, id: u32) {
        self.end();
        if let Some(all) = &mut run.instrumentation {
            let mut queues = self.shared.queues.lock();
            for (number, stats) in queues.stats.iter_mut().enumerate() {
                if let Some(stats) = stats.take() {
                    merge(all, stats, number);
                }
            }
            all.node(id).set("Workers Launched", Detail::Int(self.started as i64));
        }
    }

    fn end(&mut self) {
        if self.handles.is_empty() {
            return;
        }
        self.shared.stop();
        let _waits = os::wait::begin(WaitEvent::ParallelFinish);
        for handle in self.handles.drain(..) {
            let _ = handle.join();
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.end();
    }
}
