//! Queries that functions get as text and run themselves: `ts_stat`, `query_to_xml` and the like.

use crate::StatementEnv;
use crate::session::{RunParts, is_query};
use base::{Error, Result, bail};
use executor::Execution;
use functions::QueryRows;
use std::sync::Arc;

/// Runs a query; gives its columns and rows.
pub fn run(outer: &StatementEnv<'_>, sql: &str, most: Option<usize>) -> Result<QueryRows> {
    base::stack::check()?;
    let inside = |e: Error| e.placed(None).context(format!("SQL statement \"{sql}\""));
    run_inside(outer, sql, most).map_err(inside)
}

fn run_inside(outer: &StatementEnv<'_>, sql: &str, most: Option<usize>) -> Result<QueryRows> {
    let env = &outer.nested()?;
    let core = env.core;
    let stmts = core.parse(sql)?;
    let [stmt] = stmts.as_slice() else {
        bail!(INVALID_CURSOR_DEFINITION, "cannot open multi-query plan as cursor");
    };
    if !is_query(&stmt.stmt) {
        bail!(INVALID_CURSOR_DEFINITION, "invalid query: \"{sql}\"");
    }
    let cx = crate::analysis::env(env);
    let query = analyze::analyze_stmt(&cx, &stmt.stmt, analyze::Params::None)?;
    let mut out = QueryRows::default();
    for entry in query.target_list.iter().filter(|t| !t.junk) {
        let name = entry.name.as_ref().map(|n| n.to_string()).unwrap_or_default();
        out.columns.push((name, entry.expr.ty(), entry.expr.typmod()));
    }
    for query in analyze::rewrite(&cx, query)? {
        core.lock_relations(&query)?;
        let plan = core.plan(env, query, None, 0.0)?;
        let compiled = core.compile(env, plan)?;
        let keep: Vec<usize> = {
            let target = &compiled.plan().plan.target;
            (0..target.len()).filter(|i| !target[*i].junk).collect()
        };
        let snapshot = Arc::new(core.txn()?.snapshot());
        let mut run = Execution::new(compiled, Arc::new([]), snapshot);
        let parts = RunParts::of(core)?;
        while most.is_none_or(|m| out.rows.len() < m) {
            let Some(batch) = run.next_batch(parts.cx(env), 0)? else { break };
            for i in batch.positions() {
                out.rows.push(keep.iter().map(|c| batch.columns[*c].get(i)).collect());
            }
            core.backend.interrupts().check_deadline()?;
        }
    }
    if let Some(most) = most {
        out.rows.truncate(most);
    }
    Ok(out)
}
