//! EXPLAIN: a planned statement, and what a run of it took, as text, JSON, XML or YAML.
//!
//! Entry point: [`explain`]. What a run took comes as [`Measured`], by `Plan::id`; nothing here
//! measures anything.

mod detail;
mod figures;
mod measured;
mod modify;
mod node;
mod writer;

pub use measured::{BufferUse, Figure, Measured, NodeRun, TriggerRun, WalUse};
pub use writer::Format;

use crate::deparse::{Ancestor, Names, PlanPrinter, quote_literal};
use crate::plan::{Plan, PlanNode, PlannedStmt};
use crate::query::RteKind;
use base::Result;
use std::collections::HashSet;
use writer::Writer;

/// EXPLAIN's options, defaults applied.
#[derive(Clone, Debug, Default)]
pub struct ExplainOptions {
    pub analyze: bool,
    pub verbose: bool,
    pub costs: bool,
    pub buffers: bool,
    /// Whether reads and writes are timed.
    pub io_timing: bool,
    pub wal: bool,
    pub timing: bool,
    pub summary: bool,
    pub memory: bool,
    /// The format that rows are made into as if for a client: `text` or `binary`.
    pub serialize: Option<&'static str>,
    /// Settings that differ from their defaults, where they were asked for.
    pub settings: Option<Vec<(String, String)>>,
    /// The query's number, where it is to be told.
    pub query_id: Option<i64>,
    pub format: Format,
}

impl ExplainOptions {
    /// What EXPLAIN does without options.
    pub fn plain() -> ExplainOptions {
        ExplainOptions { costs: true, ..ExplainOptions::default() }
    }
}

/// The output of EXPLAIN for one statement, without a newline at its end.
pub fn explain(
    stmt: &PlannedStmt,
    options: &ExplainOptions,
    measured: &Measured,
    names: &dyn Names,
) -> Result<String> {
    let mut used = HashSet::new();
    let mut tops = vec![&stmt.plan];
    tops.extend(&stmt.subplans);
    tops.into_iter().for_each(|p| scanned(p, measured, &mut used));
    let tables = stmt.rtable.iter().filter(|r| !matches!(r.kind, RteKind::Group { .. })).count();
    let mut explainer = Explainer {
        stmt,
        options,
        measured,
        names,
        printer: PlanPrinter::new(stmt, &used, names),
        many_tables: tables > 1,
        printed: HashSet::new(),
        w: Writer::new(options.format),
    };
    explainer.set_old_new();
    explainer.w.open("Query", None, true);
    explainer.node(&stmt.plan, &[], None, None)?;
    explainer.settings();
    if let Some(id) = options.query_id {
        explainer.w.integer("Query Identifier", "", id);
    }
    explainer.summary();
    explainer.w.close("Query", true);
    Ok(explainer.w.finish())
}

/// The output for a utility statement, which has no plan.
pub fn explain_utility(format: Format) -> String {
    let mut w = Writer::new(format);
    match format {
        Format::Text => w.out.push_str("Utility statements have no plan structure"),
        _ => {
            w.open("Query", None, true);
            w.text("Utility Statement", "");
            w.close("Query", true);
        }
    }
    w.finish()
}

/// The output for a statement that finds what it makes: nothing, or its name.
pub fn explain_nothing(format: Format, statement: &str) -> String {
    let mut w = Writer::new(format);
    if format != Format::Text {
        w.empty(statement);
    }
    w.finish()
}

/// The range-table entries that nodes read, which get names.
fn scanned(plan: &Plan, measured: &Measured, used: &mut HashSet<u32>) {
    match &plan.node {
        PlanNode::Append(a) => used.extend(&a.parents),
        PlanNode::MergeAppend(a) => used.extend(&a.parents),
        PlanNode::SeqScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::SampleScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::IndexScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::IndexOnlyScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::BitmapHeapScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::TidScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::TidRangeScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::SubqueryScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::FunctionScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::ValuesScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::CteScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::WorkTableScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::NamedTuplestoreScan(s) => drop(used.insert(s.scanrel)),
        PlanNode::ModifyTable(m) => {
            used.insert(m.nominal);
            used.extend(m.targets.iter().map(|t| t.rtindex));
            used.extend(m.on_conflict.iter().map(|c| c.excluded_rtindex));
        }
        _ => {}
    }
    let gone = measured.gone(plan);
    for (i, child) in plan.children().into_iter().enumerate() {
        if !gone.contains(&i) {
            scanned(child, measured, used);
        }
    }
}

struct Explainer<'a> {
    stmt: &'a PlannedStmt,
    options: &'a ExplainOptions,
    measured: &'a Measured,
    names: &'a dyn Names,
    printer: PlanPrinter<'a>,
    /// Columns above scans are qualified.
    many_tables: bool,
    /// Subplans that have been shown.
    printed: HashSet<u32>,
    w: Writer,
}

impl<'a> Explainer<'a> {
    fn set_old_new(&mut self) {
        if let PlanNode::ModifyTable(m) = &self.stmt.plan.node {
            let (old, new) = (&m.returning_old_alias, &m.returning_new_alias);
            self.printer.set_old_new(old.as_deref(), new.as_deref());
        }
    }

    fn settings(&mut self) {
        let Some(settings) = &self.options.settings else { return };
        if self.w.is_text() {
            if settings.is_empty() {
                return;
            }
            let all: Vec<String> =
                settings.iter().map(|(n, v)| format!("{n} = {}", quote_literal(v))).collect();
            self.w.text("Settings", &all.join(", "));
            return;
        }
        self.w.open("Settings", Some("Settings"), true);
        for (name, value) in settings {
            self.w.text(name, value);
        }
        self.w.close("Settings", true);
    }

    fn summary(&mut self) {
        let measured = self.measured;
        let buffers = measured.planning_buffers.as_ref().filter(|_| self.options.buffers);
        let memory = measured.planning_memory_kb.filter(|_| self.options.memory);
        let text = self.w.is_text();
        if memory.is_some() || buffers.is_some_and(|b| !text || !b.is_zero()) {
            if text {
                self.w.pad();
                self.w.out.push_str("Planning:\n");
                self.w.indent += 1;
            } else {
                self.w.open("Planning", Some("Planning"), true);
            }
            if let Some(buffers) = buffers {
                self.buffer_use(buffers);
            }
            if let Some((used, allocated)) = memory {
                self.memory_use(used, allocated);
            }
            if text {
                self.w.indent -= 1;
            } else {
                self.w.close("Planning", true);
            }
        }
        if let (true, Some(ms)) = (self.options.summary, measured.planning_ms) {
            self.w.float("Planning Time", "ms", ms, 3);
        }
        if self.options.analyze {
            self.triggers();
        }
        self.serialization();
        if let (true, Some(ms)) = (self.options.summary, measured.execution_ms) {
            self.w.float("Execution Time", "ms", ms, 3);
        }
    }

    fn serialization(&mut self) {
        let Some((format, ms, kb)) = self.measured.serialization else { return };
        let timing = self.options.timing;
        if self.w.is_text() {
            let time = if timing { format!("time={ms:.3} ms  ") } else { String::new() };
            self.w.text("Serialization", &format!("{time}output={kb}kB  format={format}"));
            if self.options.buffers {
                self.w.indent += 1;
                self.buffer_use(&self.measured.serialization_buffers);
                self.w.indent -= 1;
            }
            return;
        }
        self.w.open("Serialization", Some("Serialization"), true);
        if timing {
            self.w.float("Time", "ms", ms, 3);
        }
        self.w.integer("Output Volume", "kB", kb as i64);
        self.w.text("Format", format);
        if self.options.buffers {
            self.buffer_use(&self.measured.serialization_buffers);
        }
        self.w.close("Serialization", true);
    }

    fn memory_use(&mut self, used: u64, allocated: u64) {
        if self.w.is_text() {
            self.w.text("Memory", &format!("used={used}kB  allocated={allocated}kB"));
        } else {
            self.w.integer("Memory Used", "kB", used as i64);
            self.w.integer("Memory Allocated", "kB", allocated as i64);
        }
    }

    fn triggers(&mut self) {
        self.w.open("Triggers", Some("Triggers"), false);
        for t in &self.measured.triggers {
            if !self.w.is_text() {
                self.w.open("Trigger", None, true);
                self.w.text("Trigger Name", &t.name);
                if let Some(constraint) = &t.constraint {
                    self.w.text("Constraint Name", constraint);
                }
                self.w.text("Relation", &t.relation);
                if self.options.timing {
                    self.w.float("Time", "ms", t.ms, 3);
                }
                self.w.integer("Calls", "", t.calls as i64);
                self.w.close("Trigger", true);
                continue;
            }
            let what = match &t.constraint {
                Some(c) if !self.options.verbose => format!("Trigger for constraint {c}"),
                Some(c) => format!("Trigger {} for constraint {c}", t.name),
                None => format!("Trigger {}", t.name),
            };
            let on = if t.show_relation { format!(" on {}", t.relation) } else { String::new() };
            let time =
                if self.options.timing { format!("time={:.3} ", t.ms) } else { String::new() };
            self.w.out.push_str(&format!("{what}{on}: {time}calls={}\n", t.calls));
        }
        self.w.close("Triggers", false);
    }

    /// Names of indexes and the like, without schema.
    fn object_name(&self, oid: base::Oid) -> String {
        self.names.relation(oid).map_or_else(|| oid.to_string(), |n| n.name)
    }
}

/// A node, as expressions of it are printed.
#[derive(Clone, Copy)]
struct Place<'a, 'b> {
    plan: &'a Plan,
    ancestors: &'b [Ancestor<'a>],
}
