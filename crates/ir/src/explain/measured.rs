//! What a run took.

use super::Explainer;
use crate::plan::{Plan, PlanNode};

/// Pages touched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BufferUse {
    pub shared_hit: u64,
    pub shared_read: u64,
    pub shared_dirtied: u64,
    pub shared_written: u64,
    pub local_hit: u64,
    pub local_read: u64,
    pub local_dirtied: u64,
    pub local_written: u64,
    pub temp_read: u64,
    pub temp_written: u64,
    /// Milliseconds of reads and writes, if they are timed: of shared pages, of temporary
    /// relations, of temporary files.
    pub read_ms: [f64; 3],
    pub write_ms: [f64; 3],
}

impl BufferUse {
    /// Nothing was touched.
    pub fn is_zero(&self) -> bool {
        *self == BufferUse::default()
    }
}

/// Log written.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WalUse {
    pub records: u64,
    pub full_pages: u64,
    pub bytes: u64,
    pub buffers_full: u64,
}

/// A further figure of a node, under the name that JSON output has for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    Int(i64),
    Text(String),
}

/// What one node did, over all its loops.
#[derive(Clone, Debug, Default)]
pub struct NodeRun {
    pub loops: u64,
    pub rows: f64,
    /// Milliseconds until first rows, and until ends, summed over loops.
    pub startup_ms: f64,
    pub total_ms: f64,
    pub removed_by_filter: u64,
    pub removed_by_join: u64,
    pub removed_by_recheck: u64,
    pub buffers: BufferUse,
    pub wal: WalUse,
    /// Such as `Sort Method`, `Hash Batches`, `Heap Fetches`.
    pub figures: Vec<(&'static str, Figure)>,
}

impl NodeRun {
    /// A figure that is a number.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.figures.iter().find(|f| f.0 == name).and_then(|f| match f.1 {
            Figure::Int(n) => Some(n),
            Figure::Text(_) => None,
        })
    }

    /// A figure that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.figures.iter().find(|f| f.0 == name).and_then(|f| match &f.1 {
            Figure::Int(_) => None,
            Figure::Text(t) => Some(t.as_str()),
        })
    }
}

/// What a trigger took.
#[derive(Clone, Debug, Default)]
pub struct TriggerRun {
    pub name: String,
    pub constraint: Option<String>,
    pub relation: String,
    /// There are triggers of several tables.
    pub show_relation: bool,
    pub ms: f64,
    pub calls: u64,
}

/// What a statement took. Empty for EXPLAIN without ANALYZE.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// By `Plan::id`; a node without an entry was not run.
    pub nodes: Vec<NodeRun>,
    /// The same of each parallel worker, whose figures are part of those above.
    pub workers: Vec<Vec<NodeRun>>,
    pub planning_ms: Option<f64>,
    pub execution_ms: Option<f64>,
    pub planning_buffers: Option<BufferUse>,
    /// Kilobytes used and allocated.
    pub planning_memory_kb: Option<(u64, u64)>,
    pub triggers: Vec<TriggerRun>,
    /// Making rows into what a client gets: format, milliseconds, kilobytes.
    pub serialization: Option<(&'static str, f64, u64)>,
    /// Pages touched meanwhile.
    pub serialization_buffers: BufferUse,
    /// Children of appends (by `Plan::id`) that were ruled out before the run.
    pub removed: Vec<(u32, Vec<usize>)>,
}

impl Measured {
    /// Children of an append that were ruled out before the run, by position.
    pub(super) fn gone(&self, plan: &Plan) -> &[usize] {
        let append = matches!(plan.node, PlanNode::Append(_) | PlanNode::MergeAppend(_));
        let found = self.removed.iter().find(|r| append && r.0 == plan.id);
        found.map_or(&[], |r| &r.1)
    }
}

impl Explainer<'_> {
    /// What each parallel worker did at a node.
    pub(super) fn worker_runs(&mut self, plan: &Plan) {
        if !self.options.analyze {
            return;
        }
        let of = |(n, w): (usize, &Vec<NodeRun>)| {
            w.get(plan.id as usize).filter(|r| r.loops > 0).map(|r| (n, r.clone()))
        };
        let runs: Vec<(usize, NodeRun)> =
            self.measured.workers.iter().enumerate().filter_map(of).collect();
        let verbose = self.options.verbose;
        let shown = |r: &NodeRun| {
            verbose || r.text("Sort Method").is_some() || r.int("HashAgg Batches").is_some()
        };
        if !runs.iter().any(|(_, r)| shown(r)) {
            return;
        }
        if !self.w.is_text() {
            self.w.open("Workers", Some("Workers"), false);
        }
        for (number, run) in runs.iter().filter(|(_, r)| shown(r)) {
            match self.w.is_text() {
                true => self.worker_lines(*number, run),
                false => self.worker_properties(*number, run),
            }
        }
        if !self.w.is_text() {
            self.w.close("Workers", false);
        }
    }

    fn worker_lines(&mut self, number: usize, run: &NodeRun) {
        let mut lines = Vec::new();
        if self.options.verbose {
            let n = run.loops as f64;
            let time = match self.options.timing {
                true => format!("time={:.3}..{:.3} ", run.startup_ms / n, run.total_ms / n),
                false => String::new(),
            };
            lines.push(format!("actual {time}rows={:.2} loops={}", run.rows / n, run.loops));
        }
        if let Some(method) = run.text("Sort Method") {
            let space = run.int("Sort Space Used").unwrap_or(0);
            let kind = run.text("Sort Space Type").unwrap_or("Memory");
            lines.push(format!("Sort Method: {method}  {kind}: {space}kB"));
        }
        if let Some(batches) = run.int("HashAgg Batches") {
            let memory = run.int("Peak Memory Usage").unwrap_or(0);
            lines.push(format!("Batches: {batches}  Memory Usage: {memory}kB"));
        }
        for (i, line) in lines.iter().enumerate() {
            self.w.pad();
            let start = if i == 0 { format!("Worker {number}:  ") } else { "  ".into() };
            self.w.out.push_str(&format!("{start}{line}\n"));
        }
    }

    fn worker_properties(&mut self, number: usize, run: &NodeRun) {
        self.w.open("Worker", None, true);
        self.w.integer("Worker Number", "", number as i64);
        if self.options.verbose {
            let n = run.loops as f64;
            if self.options.timing {
                self.w.float("Actual Startup Time", "ms", run.startup_ms / n, 3);
                self.w.float("Actual Total Time", "ms", run.total_ms / n, 3);
            }
            self.w.float("Actual Rows", "", run.rows / n, 2);
            self.w.integer("Actual Loops", "", run.loops as i64);
        }
        if let Some(method) = run.text("Sort Method") {
            self.w.text("Sort Method", method);
            self.w.integer("Sort Space Used", "kB", run.int("Sort Space Used").unwrap_or(0));
            self.w.text("Sort Space Type", run.text("Sort Space Type").unwrap_or("Memory"));
        }
        self.w.close("Worker", true);
    }

    pub(super) fn buffer_use(&mut self, b: &BufferUse) {
        if self.w.is_text() {
            return self.buffer_line(b);
        }
        let all = [
            ("Shared Hit Blocks", b.shared_hit),
            ("Shared Read Blocks", b.shared_read),
            ("Shared Dirtied Blocks", b.shared_dirtied),
            ("Shared Written Blocks", b.shared_written),
            ("Local Hit Blocks", b.local_hit),
            ("Local Read Blocks", b.local_read),
            ("Local Dirtied Blocks", b.local_dirtied),
            ("Local Written Blocks", b.local_written),
            ("Temp Read Blocks", b.temp_read),
            ("Temp Written Blocks", b.temp_written),
        ];
        for (label, n) in all {
            self.w.integer(label, "", n as i64);
        }
        if self.options.io_timing {
            for (i, kind) in ["Shared", "Local", "Temp"].iter().enumerate() {
                self.w.float(&format!("{kind} I/O Read Time"), "ms", b.read_ms[i], 3);
                self.w.float(&format!("{kind} I/O Write Time"), "ms", b.write_ms[i], 3);
            }
        }
    }

    /// How long reads and writes took, as far as they did.
    fn io_line(&mut self, b: &BufferUse) {
        let group = |(i, kind): (usize, &&str)| {
            let some: Vec<String> = [("read", b.read_ms[i]), ("write", b.write_ms[i])]
                .iter()
                .filter(|t| t.1 > 0.0)
                .map(|(word, ms)| format!("{word}={ms:.3}"))
                .collect();
            (!some.is_empty()).then(|| format!("{kind} {}", some.join(" ")))
        };
        let groups: Vec<String> =
            ["shared", "local", "temp"].iter().enumerate().filter_map(group).collect();
        if !groups.is_empty() {
            self.w.text("I/O Timings", &groups.join(", "));
        }
    }

    fn buffer_line(&mut self, b: &BufferUse) {
        let group = |name: &str, counts: [(&str, u64); 4]| {
            let some: Vec<String> =
                counts.iter().filter(|c| c.1 > 0).map(|(word, n)| format!("{word}={n}")).collect();
            (!some.is_empty()).then(|| format!("{name} {}", some.join(" ")))
        };
        let words = |h, r, d, w| [("hit", h), ("read", r), ("dirtied", d), ("written", w)];
        let groups = [
            group("shared", words(b.shared_hit, b.shared_read, b.shared_dirtied, b.shared_written)),
            group("local", words(b.local_hit, b.local_read, b.local_dirtied, b.local_written)),
            group("temp", words(0, b.temp_read, 0, b.temp_written)),
        ];
        let groups: Vec<String> = groups.into_iter().flatten().collect();
        if !groups.is_empty() {
            self.w.text("Buffers", &groups.join(", "));
        }
        self.io_line(b);
    }

    pub(super) fn wal_use(&mut self, u: &WalUse) {
        let all = [
            ("WAL Records", "records", u.records),
            ("WAL FPI", "fpi", u.full_pages),
            ("WAL Bytes", "bytes", u.bytes),
            ("WAL Buffers Full", "buffers full", u.buffers_full),
        ];
        if !self.w.is_text() {
            for (label, _, n) in all {
                self.w.integer(label, "", n as i64);
            }
            return;
        }
        let some: Vec<String> =
            all.iter().filter(|a| a.2 > 0).map(|(_, word, n)| format!("{word}={n}")).collect();
        if !some.is_empty() {
            self.w.text("WAL", &some.join(" "));
        }
    }
}
