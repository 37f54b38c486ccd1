//! What EXPLAIN ANALYZE shows of a run.

use crate::node::Node;
use crate::run::Run;
use base::Result;
use buffer::BufferUsage;
use types::Batch;
use wal::WalUsage;

/// Counters of one node.
#[derive(Clone, Debug, Default)]
pub struct NodeStats {
    /// How often it was started.
    pub loops: u64,
    /// Rows that it gave, over all loops.
    pub rows: f64,
    /// Milliseconds until the first row, and until the end, over all loops.
    pub startup_ms: f64,
    /// See `startup_ms`.
    pub total_ms: f64,
    /// Rows that its conditions removed: of the node, of the join.
    pub removed_by_filter: u64,
    /// Rows that the join's own conditions removed.
    pub removed_by_join: u64,
    /// Pages touched, by the node and those below it.
    pub buffers: BufferUsage,
    /// Log written, by the node and those below it.
    pub wal: WalUsage,
    /// What else there is to show, by kind of node.
    pub details: Vec<(&'static str, Detail)>,
    /// Nanoseconds at the start of the current loop's first row; internal.
    started: bool,
    loop_ns: u64,
}

/// A figure of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// A number.
    Int(i64),
    /// Text.
    Text(String),
}

/// Counters of all nodes of a statement, by node number.
#[derive(Clone, Debug, Default)]
pub struct Instrumentation {
    /// Whether times are taken.
    pub timing: bool,
    /// By `Plan::id`.
    pub nodes: Vec<NodeStats>,
    /// The same of each parallel worker; those of all workers are in `nodes` too.
    pub workers: Vec<Vec<NodeStats>>,
    /// What a worker used in all.
    pub used: (BufferUsage, WalUsage),
}

impl Instrumentation {
    /// The counters of a node.
    pub fn node(&mut self, id: u32) -> &mut NodeStats {
        let id = id as usize;
        if id >= self.nodes.len() {
            self.nodes.resize_with(id + 1, NodeStats::default);
        }
        &mut self.nodes[id]
    }
}

impl NodeStats {
    /// Sets a figure.
    pub fn set(&mut self, name: &'static str, value: Detail) {
        match self.details.iter_mut().find(|(n, _)| *n == name) {
            Some(d) => d.1 = value,
            None => self.details.push((name, value)),
        }
    }

    /// Adds to a number.
    pub fn add(&mut self, name: &'static str, n: i64) {
        match self.details.iter_mut().find(|(x, _)| *x == name) {
            Some((_, Detail::Int(v))) => *v += n,
            _ => self.details.push((name, Detail::Int(n))),
        }
    }

    /// A figure.
    pub fn get(&self, name: &str) -> Option<&Detail> {
        self.details.iter().find(|(n, _)| *n == name).map(|(_, d)| d)
    }

    fn add_all(&mut self, other: &NodeStats) {
        self.loops += other.loops;
        self.rows += other.rows;
        self.startup_ms += other.startup_ms;
        self.total_ms += other.total_ms;
        self.removed_by_filter += other.removed_by_filter;
        self.removed_by_join += other.removed_by_join;
        self.buffers += other.buffers;
        self.wal += other.wal;
        for (name, detail) in &other.details {
            match detail {
                Detail::Int(n) if *name == "Heap Fetches" => self.add(name, *n),
                // How a worker sorted is shown with the worker.
                _ if name.starts_with("Sort ") => {}
                detail if self.get(name).is_none() => self.set(name, detail.clone()),
                _ => {}
            }
        }
    }

    /// Ends a loop.
    pub fn end_loop(&mut self) {
        if self.started {
            self.loops += 1;
            self.total_ms += self.loop_ns as f64 / 1e6;
            self.started = false;
            self.loop_ns = 0;
        }
    }
}

/// Adds what a worker counted.
pub(crate) fn merge(all: &mut Instrumentation, worker: Instrumentation, number: usize) {
    // The nodes above measure what this thread uses.
    worker.used.0.add_to_current();
    worker.used.1.add_to_current();
    if all.workers.len() <= number {
        all.workers.resize_with(number + 1, Vec::new);
    }
    for (id, stats) in worker.nodes.into_iter().enumerate() {
        if stats.loops == 0 && stats.details.is_empty() {
            continue;
        }
        let sum = all.node(id as u32);
        sum.add_all(&stats);
        let own = &mut all.workers[number];
        if own.len() <= id {
            own.resize_with(id + 1, NodeStats::default);
        }
        own[id].add_all(&stats);
        own[id].details.clone_from(&stats.details);
    }
}

/// What a thread has used so far: pages and log.
#[derive(Clone, Copy)]
pub(crate) struct Usage(BufferUsage, WalUsage);

impl Usage {
    pub fn now() -> Usage {
        Usage(BufferUsage::current(), WalUsage::current())
    }

    /// What was used since then.
    pub fn since(self) -> (BufferUsage, WalUsage) {
        (BufferUsage::current() - self.0, WalUsage::current() - self.1)
    }

    /// Credits what was used since then to a node.
    pub fn credit(self, stats: &mut NodeStats) {
        let used = self.since();
        stats.buffers += used.0;
        stats.wal += used.1;
    }
}

/// A node whose rows and time are counted.
pub(crate) struct Instrumented {
    pub id: u32,
    pub inner: Box<dyn Node>,
}

impl Node for Instrumented {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let timing = run.instrumentation.as_ref().is_some_and(|i| i.timing);
        let begin = if timing { os::clock::monotonic_nanos() } else { 0 };
        let before = Usage::now();
        let result = self.inner.next(run, demand);
        let spent = if timing { os::clock::monotonic_nanos() - begin } else { 0 };
        if let Some(all) = &mut run.instrumentation {
            let stats = all.node(self.id);
            before.credit(stats);
            stats.loop_ns += spent;
            if !stats.started {
                stats.started = true;
                stats.startup_ms += spent as f64 / 1e6;
            }
            if let Ok(Some(batch)) = &result {
                stats.rows += batch.rows() as f64;
            }
        }
        result
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        if let Some(all) = &mut run.instrumentation {
            all.node(self.id).end_loop();
        }
        let before = Usage::now();
        let result = self.inner.rescan(run, changed);
        if let Some(all) = &mut run.instrumentation {
            before.credit(all.node(self.id));
        }
        result
    }

    fn set_bound(&mut self, bound: u64) {
        self.inner.set_bound(bound);
    }
}
