//! The way to semantic analysis.

use crate::session::StatementEnv;
use crate::session::trace::Meter;
use analyze::{Env, Params, Told};
use base::{Error, Oid, Result};
use functions::FnEnv;
use parser::ast::{RawStmt, Stmt};

/// What analysis is given of a statement's surroundings.
pub fn env<'a>(env: &'a StatementEnv<'_>) -> Env<'a> {
    Env { catalog: &env.view, io: env.io(), told: env }
}

impl Told for StatementEnv<'_> {
    fn warn(&self, warning: Error) {
        self.notice(warning);
    }
}

/// Analyses and rewrites a statement; `params` grows as parameters turn up.
pub fn analyze(
    cx: &StatementEnv<'_>,
    stmt: &RawStmt,
    params: &mut Vec<Oid>,
) -> Result<Vec<ir::Query>> {
    let core = cx.core;
    let trace = core.resolved().trace;
    let cx = env(cx);
    let meter = Meter::begin(trace.parser);
    let query = analyze::analyze(&cx, stmt, Params::Infer(params))?;
    core.measured(meter, "PARSE ANALYSIS STATISTICS");
    if !trace.any {
        return analyze::rewrite(&cx, query);
    }
    core.show_parsed(&query);
    let meter = Meter::begin(trace.parser);
    let queries = analyze::rewrite(&cx, query)?;
    core.measured(meter, "REWRITER STATISTICS");
    core.show_rewritten(&queries);
    Ok(queries)
}

/// The same for a statement within another.
pub fn analyze_stmt(
    cx: &StatementEnv<'_>,
    stmt: &Stmt,
    params: &mut Vec<Oid>,
) -> Result<Vec<ir::Query>> {
    let cx = env(cx);
    let query = analyze::analyze_stmt(&cx, stmt, Params::Infer(params))?;
    analyze::rewrite(&cx, query)
}
