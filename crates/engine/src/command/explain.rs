//! EXPLAIN.

use super::create_as::{Filling, as_create_table};
use crate::analysis;
use crate::ddl::table::def_text;
use crate::session::RunParts;
use crate::session::trace::query_id;
use crate::sink::Sink;
use crate::sysfn::ViewNames;
use crate::{Session, StatementEnv};
use base::settings;
use base::{Oid, Result, bail};
use buffer::BufferUsage;
use executor::{Detail, Execution, NodeStats};
use functions::FnEnv;
use ir::explain::{
    BufferUse, ExplainOptions, Figure, Format, Measured, NodeRun, WalUse, explain, explain_nothing,
    explain_utility,
};
use ir::{PlannedStmt, Query};
use parser::ast::{CreateTableAsStmt, DefElem, ExplainStmt, Stmt};
use std::sync::Arc;
use types::Datum;

/// An option that is on or off.
fn on(option: &DefElem) -> Result<bool> {
    match def_text(option).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => bail!(SYNTAX_ERROR, "{} requires a Boolean value", option.name),
    }
}

/// The options in force, and whether the plan is to be one for any parameters.
fn options_of(stmt: &ExplainStmt) -> Result<(ExplainOptions, bool)> {
    let mut o = ExplainOptions::plain();
    let (mut buffers, mut timing, mut summary, mut generic) = (None, None, None, false);
    let mut serialize = None;
    for option in &stmt.options {
        match option.name.as_str() {
            "analyze" => o.analyze = on(option)?,
            "verbose" => o.verbose = on(option)?,
            "costs" => o.costs = on(option)?,
            "buffers" => buffers = Some(on(option)?),
            "wal" => o.wal = on(option)?,
            "settings" => o.settings = on(option)?.then(Vec::new),
            "generic_plan" => generic = on(option)?,
            "timing" => timing = Some(on(option)?),
            "summary" => summary = Some(on(option)?),
            "memory" => o.memory = on(option)?,
            "serialize" => serialize = serialized(option)?,
            "format" => o.format = format(option)?,
            other => {
                let text = format!("unrecognized EXPLAIN option \"{other}\"");
                return Err(base::Error::new(base::SqlState::SYNTAX_ERROR, text).at(option.pos));
            }
        }
    }
    if o.wal && !o.analyze {
        bail!(INVALID_PARAMETER_VALUE, "EXPLAIN option WAL requires ANALYZE");
    }
    if timing == Some(true) && !o.analyze {
        bail!(INVALID_PARAMETER_VALUE, "EXPLAIN option TIMING requires ANALYZE");
    }
    if serialize.is_some() && !o.analyze {
        bail!(INVALID_PARAMETER_VALUE, "EXPLAIN option SERIALIZE requires ANALYZE");
    }
    if generic && o.analyze {
        let text = "EXPLAIN options ANALYZE and GENERIC_PLAN cannot be used together";
        bail!(INVALID_PARAMETER_VALUE, "{text}");
    }
    o.serialize = serialize;
    o.timing = timing.unwrap_or(o.analyze);
    o.summary = summary.unwrap_or(o.analyze);
    o.buffers = buffers.unwrap_or(o.analyze);
    Ok((o, generic))
}

/// SERIALIZE's format, if the rows are to be made into what a client would get.
fn serialized(option: &DefElem) -> Result<Option<&'static str>> {
    Ok(match def_text(option).as_deref() {
        None | Some("text") => Some("text"),
        Some("binary") => Some("binary"),
        Some("none" | "off") => None,
        Some(other) => return Err(unknown_value(option, other)),
    })
}

fn unknown_value(option: &DefElem, value: &str) -> base::Error {
    let text = format!("unrecognized value for EXPLAIN option \"{}\": \"{value}\"", option.name);
    base::Error::new(base::SqlState::INVALID_PARAMETER_VALUE, text).at(option.pos)
}

fn format(option: &DefElem) -> Result<Format> {
    Ok(match def_text(option).as_deref() {
        Some("text") => Format::Text,
        Some("xml") => Format::Xml,
        Some("json") => Format::Json,
        Some("yaml") => Format::Yaml,
        Some(other) => return Err(unknown_value(option, other)),
        None => bail!(SYNTAX_ERROR, "{} requires a parameter", option.name),
    })
}

/// Where the rows of a statement go that EXPLAIN ANALYZE runs.
#[derive(Clone, Copy)]
struct Into {
    table: Oid,
    /// WITH NO DATA: the query is not run.
    no_data: bool,
}

impl Session {
    /// EXPLAIN; gives the command tag.
    pub(crate) fn explain_stmt(
        &mut self,
        stmt: &ExplainStmt,
        params: &[Datum],
        text: &str,
        sink: &mut dyn Sink,
    ) -> Result<&'static str> {
        let (mut options, generic) = options_of(stmt)?;
        options.io_timing = self.core.settings.lock().bool("track_io_timing");
        let trace = self.core.resolved().trace;
        let tells_ids = options.verbose && trace.query_ids && !trace.hides_query_ids;
        if let Some(changed) = &mut options.settings {
            *changed = self.changed_settings();
        }
        // Each query has its own.
        options.query_id = tells_ids.then_some(0);
        let declared;
        let filled = match &stmt.query {
            Stmt::CreateTableAs(c) => Some((**c).clone()),
            Stmt::Select(s) => as_create_table(s),
            _ => None,
        };
        let inner = match &stmt.query {
            Stmt::DeclareCursor(d) => {
                declared = Stmt::Select(Box::new(d.query.clone()));
                &declared
            }
            other => other,
        };
        let text = match inner {
            _ if let Some(filled) = &filled => {
                self.explain_filling(filled, params, &options, generic, text)?
            }
            Stmt::Select(_)
            | Stmt::Insert(_)
            | Stmt::Update(_)
            | Stmt::Delete(_)
            | Stmt::Merge(_) => {
                let queries = {
                    let env = self.env()?;
                    let mut types = self.param_types.clone();
                    analysis::analyze_stmt(&env, inner, &mut types)?
                };
                self.explain_queries(queries, params, &options, generic, None)?
            }
            Stmt::Execute(e) => {
                let prepared = self.find_prepared(&e.name)?;
                let values = self.execute_arguments(&prepared, &e.params)?;
                let generic = generic || self.takes_generic(&prepared, &values)?;
                let queries = prepared.analysed.lock().queries.clone();
                self.explain_queries(queries, &values, &options, generic, None)?
            }
            _ => explain_utility(options.format),
        };
        sink.row_description(&[crate::command::set::text_column("QUERY PLAN")], &[])?;
        if options.format == Format::Text {
            for line in text.split('\n').filter(|_| !text.is_empty()) {
                sink.row(&[Datum::text(line)])?;
            }
        } else {
            sink.row(&[Datum::text(&text)])?;
        }
        Ok("EXPLAIN")
    }

    /// Settings that change plans and differ from their defaults.
    fn changed_settings(&self) -> Vec<(String, String)> {
        let current = self.core.settings.lock();
        settings::all()
            .iter()
            .filter(|d| d.explain && current.get(d.name) != Some(&d.boot_value()))
            .map(|d| (d.name.to_string(), current.show(d.name).unwrap_or_default()))
            .collect()
    }

    /// CREATE TABLE AS, CREATE MATERIALIZED VIEW and SELECT INTO: with ANALYZE they are done.
    fn explain_filling(
        &mut self,
        stmt: &CreateTableAsStmt,
        params: &[Datum],
        options: &ExplainOptions,
        generic: bool,
        text: &str,
    ) -> Result<String> {
        self.prepare_temp_for(&stmt.into.rel, stmt.into.persistence)?;
        if self.with_ddl(text, |ddl| ddl.is_made_already(stmt))? {
            let what = if stmt.matview { "CREATE MATERIALIZED VIEW" } else { "CREATE TABLE AS" };
            return Ok(explain_nothing(options.format, what));
        }
        let mut generic = generic;
        if let Stmt::Execute(e) = &stmt.query {
            let prepared = self.find_prepared(&e.name)?;
            let values = self.execute_arguments(&prepared, &e.params)?;
            generic |= self.takes_generic(&prepared, &values)?;
        }
        let (query, params) = self.source_query(stmt, params)?;
        let mut into = None;
        if options.analyze {
            let table = self.create_to_fill(stmt, &query, text)?;
            into = table.map(|table| Into { table, no_data: stmt.into.no_data });
        }
        let queries = {
            let env = self.env()?;
            analyze::rewrite(&analysis::env(&env), query)?
        };
        self.explain_queries(queries, &params, options, generic, into)
    }

    fn explain_queries(
        &mut self,
        queries: Vec<Query>,
        params: &[Datum],
        options: &ExplainOptions,
        generic: bool,
        into: Option<Into>,
    ) -> Result<String> {
        if queries.is_empty() {
            return Ok("Query rewrites to nothing".into());
        }
        let mut texts = Vec::new();
        for query in queries {
            texts.push(self.explain_query(query, params, options, generic, into)?);
        }
        Ok(texts.join("\n\n"))
    }

    fn explain_query(
        &mut self,
        query: Query,
        params: &[Datum],
        options: &ExplainOptions,
        generic: bool,
        into: Option<Into>,
    ) -> Result<String> {
        if query.notify.is_some() {
            return Ok("NOTIFY".into());
        }
        let env = self.env()?;
        let begin = os::clock::monotonic_nanos();
        let values = (!generic && !params.is_empty()).then_some(params);
        let query_id = options.query_id.is_some().then(|| query_id(&query));
        let options = &ExplainOptions { query_id, ..options.clone() };
        let (held, pages) = (os::memory::thread_bytes(), BufferUsage::current());
        let plan = self.plan(&env, query, values, 0.0)?;
        let spent = os::clock::monotonic_nanos() - begin;
        let held = (os::memory::thread_bytes() - held).max(0) as u64;
        let pages = BufferUsage::current() - pages;
        let mut measured = Measured {
            planning_ms: Some(spent as f64 / 1e6),
            planning_buffers: options.buffers.then(|| buffer_use(&pages, options)),
            planning_memory_kb: options.memory.then(|| planning_memory(held)),
            ..Measured::default()
        };
        let text = if options.analyze {
            self.check_writes(&plan)?;
            let plan = self.run_measured(&env, plan, params, options, &mut measured, into)?;
            self.explained(&env, &plan, options, &measured)?
        } else if prunes(&plan) {
            let compiled = self.compile(&env, plan)?;
            let plan = compiled.plan().clone();
            let snapshot = Arc::new(self.core.txn()?.snapshot());
            if params.is_empty() && plan_params(&plan) {
                // The values are not there: nothing can be ruled out.
                self.explained(&env, &plan, options, &measured)?
            } else {
                let mut run = Execution::new(compiled, params.into(), snapshot);
                measured.removed = run.ruled_out(RunParts::new(self)?.cx(&env))?;
                self.explained(&env, &plan, options, &measured)?
            }
        } else {
            self.explained(&env, &plan, options, &measured)?
        };
        drop(env);
        if options.analyze {
            self.after_query()?;
        }
        Ok(text)
    }

    fn explained(
        &self,
        env: &StatementEnv<'_>,
        plan: &PlannedStmt,
        options: &ExplainOptions,
        measured: &Measured,
    ) -> Result<String> {
        let names = ViewNames::new(&env.view, env.io());
        explain(plan, options, measured, &names)
    }

    /// Runs a plan and keeps what it took.
    fn run_measured(
        &self,
        env: &StatementEnv<'_>,
        plan: PlannedStmt,
        params: &[Datum],
        options: &ExplainOptions,
        measured: &mut Measured,
        into: Option<Into>,
    ) -> Result<Arc<PlannedStmt>> {
        let compiled = self.compile(env, plan)?;
        let plan = compiled.plan().clone();
        let snapshot = Arc::new(self.core.txn()?.snapshot());
        let begin = os::clock::monotonic_nanos();
        let mut filling = match into {
            Some(into) => Some(Filling::new(self, env, into.table, &plan.plan, &snapshot)?),
            None => None,
        };
        let mut run = Execution::new(compiled, params.into(), snapshot);
        run.instrument(options.timing);
        let parts = RunParts::new(self)?;
        measured.removed = run.ruled_out(parts.cx(env))?;
        let columns: Vec<Option<Oid>> =
            plan.plan.target.iter().map(|t| (!t.junk).then(|| t.expr.ty())).collect();
        let (mut bytes, mut serializing, mut pages) = (0, 0, BufferUsage::default());
        let runs = !into.is_some_and(|i| i.no_data);
        while runs && let Some(batch) = run.next_batch(parts.cx(env), 0)? {
            self.check_interrupts()?;
            if let Some(filling) = &mut filling {
                filling.add(&parts, env, &batch)?;
            } else if let Some(format) = options.serialize {
                let begin = os::clock::monotonic_nanos();
                let before = BufferUsage::current();
                bytes += serialized_size(&batch, &columns, format, env)?;
                serializing += os::clock::monotonic_nanos() - begin;
                pages += BufferUsage::current() - before;
            }
        }
        if let Some(filling) = filling {
            filling.finish(&parts, env)?;
        }
        measured.serialization =
            options.serialize.map(|f| (f, serializing as f64 / 1e6, bytes.div_ceil(1024)));
        measured.serialization_buffers = buffer_use(&pages, options);
        let spent = os::clock::monotonic_nanos() - begin;
        measured.execution_ms = Some(spent as f64 / 1e6);
        if let Some(all) = run.take_instrumentation() {
            measured.workers = all.workers.into_iter().map(|w| node_runs(w, options)).collect();
            measured.nodes = node_runs(all.nodes, options);
        }
        Ok(plan)
    }
}

/// Bytes of the messages that a client would get for these rows.
fn serialized_size(
    batch: &types::Batch,
    columns: &[Option<Oid>],
    format: &str,
    env: &StatementEnv<'_>,
) -> Result<u64> {
    let mut text = Vec::new();
    let mut bytes = 0;
    for i in batch.positions() {
        // Kind, length and number of columns; then each with its length.
        bytes += 7;
        for (column, ty) in batch.columns.iter().zip(columns) {
            let Some(ty) = ty else { continue };
            bytes += 4;
            let value = column.get(i);
            if value.is_null() {
                continue;
            }
            bytes += match (format, &value) {
                ("binary", Datum::Bool(_) | Datum::Char(_)) => 1,
                ("binary", Datum::I16(_)) => 2,
                ("binary", Datum::I32(_) | Datum::U32(_) | Datum::F32(_)) => 4,
                ("binary", Datum::I64(_) | Datum::F64(_)) => 8,
                ("binary", Datum::Bytes(b)) => b.len() as u64,
                _ => {
                    text.clear();
                    types::io::output(*ty, &value, &env.io(), &mut text)?;
                    text.len() as u64
                }
            };
        }
    }
    Ok(bytes)
}

/// The plans of a statement.
fn plans(stmt: &PlannedStmt) -> Vec<&ir::Plan> {
    let mut all = vec![&stmt.plan];
    all.extend(&stmt.subplans);
    let mut at = 0;
    while at < all.len() {
        all.extend(all[at].children());
        at += 1;
    }
    all
}

fn prune_of(plan: &ir::Plan) -> Option<&ir::AppendPrune> {
    match &plan.node {
        ir::PlanNode::Append(a) => a.prune.as_deref(),
        ir::PlanNode::MergeAppend(a) => a.prune.as_deref(),
        _ => None,
    }
}

/// Whether a run would begin with ruling out children of appends.
fn prunes(stmt: &PlannedStmt) -> bool {
    plans(stmt).into_iter().any(|p| prune_of(p).is_some())
}

/// Whether that needs the statement's parameters.
fn plan_params(stmt: &PlannedStmt) -> bool {
    let of = |p: &ir::AppendPrune| {
        p.clauses.iter().any(|c| {
            ir::walk::any(
                c,
                &mut |e| matches!(e, ir::Expr::Param(p) if p.kind == ir::ParamKind::Extern),
            )
        })
    };
    plans(stmt).into_iter().filter_map(prune_of).any(of)
}

/// Pages touched, as EXPLAIN shows them.
fn buffer_use(b: &BufferUsage, options: &ExplainOptions) -> BufferUse {
    let ms = |nanos: [u64; 3]| match options.io_timing {
        true => nanos.map(|n| n as f64 / 1e6),
        false => [0.0; 3],
    };
    BufferUse {
        shared_hit: b.shared_hit,
        shared_read: b.shared_read,
        shared_dirtied: b.shared_dirtied,
        shared_written: b.shared_written,
        local_hit: b.local_hit,
        local_read: b.local_read,
        local_dirtied: b.local_dirtied,
        local_written: b.local_written,
        temp_read: b.temp_read,
        temp_written: b.temp_written,
        read_ms: ms(b.read_nanos),
        write_ms: ms(b.write_nanos),
    }
}

/// Kilobytes that the planner held, and what the allocator has put aside for them at least.
fn planning_memory(bytes: u64) -> (u64, u64) {
    (bytes.div_ceil(1024), bytes.div_ceil(8192) * 8)
}

fn node_runs(nodes: Vec<NodeStats>, options: &ExplainOptions) -> Vec<NodeRun> {
    nodes
        .into_iter()
        .map(|n| NodeRun {
            loops: n.loops,
            rows: n.rows,
            startup_ms: n.startup_ms,
            total_ms: n.total_ms,
            removed_by_filter: n.removed_by_filter,
            removed_by_join: n.removed_by_join,
            buffers: buffer_use(&n.buffers, options),
            wal: WalUse {
                records: n.wal.records,
                full_pages: n.wal.images,
                bytes: n.wal.bytes,
                buffers_full: n.wal.buffers_full,
            },
            figures: n
                .details
                .into_iter()
                .map(|(name, detail)| match detail {
                    Detail::Int(v) => (name, Figure::Int(v)),
                    Detail::Text(t) => (name, Figure::Text(t)),
                })
                .collect(),
            ..NodeRun::default()
        })
        .collect()
}
