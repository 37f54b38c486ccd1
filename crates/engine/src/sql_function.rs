//! Functions that users made: those in SQL are analysed, planned and run here.

use crate::StatementEnv;
use crate::ddl::function::function_params;
use crate::session::{RunParts, is_query};
use crate::settings::{Actor, TrackFunctions};
use base::{Error, Oid, Result, bail};
use catalog::{ProcDesc, generic, oids};
use executor::{CompiledStmt, Execution};
use functions::{CallInfo, CallState, FnCtx};
use ir::{CmdType, Query};
use std::sync::Arc;
use types::Datum;
use types::record::{Record, RecordColumn};

/// How deep functions may call each other.
const MAX_DEPTH: usize = 200;

/// A function's statements, ready to run for some argument types.
pub struct Prepared {
    generation: u64,
    settings: u64,
    stmts: Vec<Arc<CompiledStmt>>,
    /// The statement whose rows are the result.
    last: Option<usize>,
    shape: Shape,
}

/// How the last statement's columns make the result.
#[derive(Clone, Debug)]
enum Shape {
    Nothing,
    Scalar,
    /// Columns of these types make a row of the type; 0 stands for dropped ones.
    Row(Oid, Vec<Oid>),
    /// The one column is the row.
    WholeRow,
}

/// Runs a function that is not built in; `None` if there is no such function.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let p = match env.view.find_proc(call.fn_oid) {
        Ok(Some(p)) => p,
        Ok(None) => return None,
        Err(e) => return Some(Err(e)),
    };
    if functions::builtin::proc(call.fn_oid).is_some() {
        return None;
    }
    Some(match p.language {
        oids::INTERNAL_LANGUAGE => internal(env, &p, call, args),
        oids::SQL_LANGUAGE => scalar(env, &p, call, args),
        _ => Err(unsupported_language(env, &p)),
    })
}

/// Runs a built-in function that is written in SQL; `None` if it is not one.
pub fn call_built_in(
    env: &StatementEnv<'_>,
    call: &CallInfo,
    args: &[Datum],
) -> Option<Result<Datum>> {
    let p = match env.view.find_proc(call.fn_oid) {
        Ok(p) => p.filter(|p| p.language == oids::SQL_LANGUAGE)?,
        Err(e) => return Some(Err(e)),
    };
    Some(scalar(env, &p, call, args))
}

/// Runs a procedure; gives its outputs. `None` if it is built in.
pub fn procedure(
    env: &StatementEnv<'_>,
    call: &CallInfo,
    args: &[Datum],
) -> Option<Result<Vec<Datum>>> {
    if functions::builtin::proc(call.fn_oid).is_some() {
        return None;
    }
    let p = match env.view.find_proc(call.fn_oid) {
        Ok(Some(p)) => p,
        Ok(None) => return None,
        Err(e) => return Some(Err(e)),
    };
    Some(match p.language {
        oids::SQL_LANGUAGE => run(env, &p, call, args, false)
            .map(|(rows, _)| rows.into_iter().next().unwrap_or_default()),
        _ => Err(unsupported_language(env, &p)),
    })
}

fn unsupported_language(env: &StatementEnv<'_>, p: &ProcDesc) -> Error {
    let rows = catalog::RowStore::table_scan(&*env.core.store, oids::PG_LANGUAGE);
    let name = rows.ok().and_then(|rows| {
        let row = rows.iter().find(|r| r.oid("oid").ok() == Some(p.language))?;
        Some(row.text("lanname").ok()?.to_string())
    });
    let name = name.unwrap_or_else(|| "unknown".to_string());
    Error::unsupported(format!("calling a function in language {name}"))
}

fn internal(
    env: &StatementEnv<'_>,
    p: &ProcDesc,
    call: &CallInfo,
    args: &[Datum],
) -> Result<Datum> {
    let source: &str = if p.source.is_empty() { &p.name } else { &p.source };
    if let Some(def) = functions::lookup_prosrc(source) {
        let mut state = CallState::default();
        return (def.row)(&mut FnCtx { env, call, state: &mut state }, args);
    }
    bail!(UNDEFINED_FUNCTION, "internal function \"{source}\" is not in internal lookup table")
}

/// The rows of a set-returning function that is not built in. Rows of several columns have the
/// row itself as one more.
pub fn rows(
    env: &StatementEnv<'_>,
    call: &CallInfo,
    args: &[Datum],
) -> Option<Result<Vec<Vec<Datum>>>> {
    if functions::builtin::proc(call.fn_oid).is_some() {
        return None;
    }
    let p = match env.view.find_proc(call.fn_oid) {
        Ok(Some(p)) => p,
        Ok(None) => return None,
        Err(e) => return Some(Err(e)),
    };
    Some(match p.language {
        oids::SQL_LANGUAGE => all_rows(env, &p, call, args),
        _ => Err(unsupported_language(env, &p)),
    })
}

/// The rows of a built-in set-returning function that is written in SQL.
pub fn rows_built_in(
    env: &StatementEnv<'_>,
    call: &CallInfo,
    args: &[Datum],
) -> Option<Result<Vec<Vec<Datum>>>> {
    let p = match env.view.find_proc(call.fn_oid) {
        Ok(p) => p.filter(|p| p.language == oids::SQL_LANGUAGE)?,
        Err(e) => return Some(Err(e)),
    };
    Some(all_rows(env, &p, call, args))
}

fn all_rows(
    env: &StatementEnv<'_>,
    p: &ProcDesc,
    call: &CallInfo,
    args: &[Datum],
) -> Result<Vec<Vec<Datum>>> {
    let (rows, shape) = run(env, p, call, args, true)?;
    rows.into_iter().map(|r| whole(&shape, r)).collect()
}

/// A row's columns and the row itself.
fn whole(shape: &Shape, row: Vec<Datum>) -> Result<Vec<Datum>> {
    match shape {
        Shape::Row(ty, types) => {
            let record = make_row(*ty, types, &row);
            let mut row = row;
            row.push(record);
            Ok(row)
        }
        Shape::WholeRow => {
            let Some(Datum::Bytes(bytes)) = row.first() else { return Ok(row) };
            let record = Record::decode(bytes)?;
            let mut all: Vec<Datum> = record.columns.into_iter().map(|c| c.value).collect();
            all.extend(row);
            Ok(all)
        }
        _ => Ok(row),
    }
}

fn make_row(ty: Oid, types: &[Oid], row: &[Datum]) -> Datum {
    let columns = types
        .iter()
        .zip(row)
        .map(|(t, v)| RecordColumn { type_oid: *t, value: v.clone() })
        .collect();
    Record { type_oid: ty, typmod: -1, columns }.encode()
}

fn scalar(env: &StatementEnv<'_>, p: &ProcDesc, call: &CallInfo, args: &[Datum]) -> Result<Datum> {
    let (rows, shape) = run(env, p, call, args, false)?;
    let Some(row) = rows.into_iter().next() else { return Ok(Datum::Null) };
    Ok(match shape {
        Shape::Nothing => Datum::Null,
        Shape::Scalar | Shape::WholeRow => row.into_iter().next().unwrap_or(Datum::Null),
        Shape::Row(ty, types) => make_row(ty, &types, &row),
    })
}

/// Runs all statements; gives the rows of the last (one, unless it returns a set).
fn run(
    env: &StatementEnv<'_>,
    p: &ProcDesc,
    call: &CallInfo,
    args: &[Datum],
    set: bool,
) -> Result<(Vec<Vec<Datum>>, Shape)> {
    base::stack::check()?;
    let core = env.core;
    let depth = core.function_depth.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let guard = Depth(core);
    if depth > MAX_DEPTH {
        return Err(base::stack::too_deep());
    }
    let counted = core.setting(|s| s.track_functions) == TrackFunctions::All;
    let _call = counted.then(|| executor::function_counts::begin(core.state.oid, p.oid));
    let changed = change_surroundings(env, p)?;
    let result = run_inside(env, p, call, args, set);
    if changed {
        restore_surroundings(env, p);
    }
    drop(guard);
    result
}

struct Depth<'a>(&'a Arc<crate::SessionCore>);

impl Drop for Depth<'_> {
    fn drop(&mut self) {
        self.0.function_depth.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// SET clauses and SECURITY DEFINER.
fn change_surroundings(env: &StatementEnv<'_>, p: &ProcDesc) -> Result<bool> {
    let config = p.config.as_deref().unwrap_or(&[]);
    if config.is_empty() && !p.security_definer {
        return Ok(false);
    }
    let core = env.core;
    {
        let mut settings = core.settings.lock();
        settings.begin_level();
        for item in config {
            let Some((name, value)) = item.split_once('=') else { continue };
            let actor = Actor { superuser: true, at_start: false };
            if let Err(e) = settings.set(name, value, true, actor) {
                settings.abort_level();
                return Err(e);
            }
        }
    }
    if p.security_definer {
        let mut users = core.users();
        core.definers.lock().push(users);
        users.current = p.owner;
        core.set_users(users);
    }
    Ok(true)
}

fn restore_surroundings(env: &StatementEnv<'_>, p: &ProcDesc) {
    let core = env.core;
    core.settings.lock().abort_level();
    if p.security_definer
        && let Some(users) = core.definers.lock().pop()
    {
        core.set_users(users);
    }
}

fn run_inside(
    outer: &StatementEnv<'_>,
    p: &ProcDesc,
    call: &CallInfo,
    args: &[Datum],
    set: bool,
) -> Result<(Vec<Vec<Datum>>, Shape)> {
    let env = &outer.nested()?;
    let core = env.core;
    let context = |e: Error, n: Option<usize>| match n {
        Some(n) => {
            e.placed(None).context(format!("SQL function \"{}\" statement {}", p.name, n + 1))
        }
        None => e.placed(None).context(format!("SQL function \"{}\" during startup", p.name)),
    };
    let prepared = prepared(env, p, call).map_err(|e| context(e, None))?;
    let params: Arc<[Datum]> = args.into();
    let mut rows = Vec::new();
    for (n, stmt) in prepared.stmts.iter().enumerate() {
        if p.volatility == b'v' {
            core.txn()?.increment_command()?;
        }
        let snapshot = Arc::new(core.txn()?.snapshot());
        let mut run = Execution::new(stmt.clone(), params.clone(), snapshot);
        let mut parts = RunParts::of(core)?;
        let wanted = prepared.last == Some(n);
        let keep: Vec<usize> = {
            let target = &stmt.plan().plan.target;
            (0..target.len()).filter(|i| !target[*i].junk).collect()
        };
        // Only as many rows as are asked for, unless the statement has effects.
        let one = wanted && !set && stmt.plan().command == CmdType::Select;
        if one {
            parts = parts.alone();
        }
        loop {
            let want = usize::from(one);
            let batch = run.next_batch(parts.cx(env), want).map_err(|e| context(e, Some(n)))?;
            let Some(batch) = batch else { break };
            if wanted {
                for i in batch.positions() {
                    rows.push(keep.iter().map(|c| batch.columns[*c].get(i)).collect());
                }
            }
            if one && !rows.is_empty() {
                break;
            }
            core.backend.interrupts().check_deadline()?;
        }
    }
    if p.volatility == b'v' {
        core.txn()?.increment_command()?;
    }
    Ok((rows, prepared.shape.clone()))
}

/// A function's statements for these argument types; kept for the next call.
fn prepared(env: &StatementEnv<'_>, p: &ProcDesc, call: &CallInfo) -> Result<Arc<Prepared>> {
    let core = env.core;
    let generation = env.view.generation();
    let settings = core.settings.lock().version();
    let key = (p.oid, call.arg_types.clone(), call.ret_type);
    if let Some(found) = core.sql_functions.lock().get(&key)
        && found.generation == generation
        && found.settings == settings
    {
        return Ok(found.clone());
    }
    let made = Arc::new(prepare(env, p, call, generation, settings)?);
    core.sql_functions.lock().insert(key, made.clone());
    Ok(made)
}

fn prepare(
    env: &StatementEnv<'_>,
    p: &ProcDesc,
    call: &CallInfo,
    generation: u64,
    settings: u64,
) -> Result<Prepared> {
    let core = env.core;
    let cx = crate::analysis::env(env);
    let mut queries = analysed(env, p, call)?;
    let (last, shape) = fit_result(env, p, call, &mut queries)?;
    let mut stmts = Vec::new();
    let mut result = None;
    for (n, query) in queries.into_iter().enumerate() {
        for query in analyze::rewrite(&cx, query)? {
            core.lock_relations(&query)?;
            let tag = query.can_set_tag;
            let plan = core.plan(env, query, None, 0.0)?;
            stmts.push(core.compile(env, plan)?);
            if last == Some(n) && tag {
                result = Some(stmts.len() - 1);
            }
        }
    }
    Ok(Prepared { generation, settings, stmts, last: result, shape })
}

/// What a function does, if it is one query whose columns are those of the result: for the
/// planner to put it in place of a call.
pub fn body(
    env: &StatementEnv<'_>,
    p: &ProcDesc,
    arg_types: &[Oid],
    ret_type: Oid,
) -> Result<Option<Query>> {
    let call = CallInfo {
        fn_oid: p.oid,
        collation: Oid::INVALID,
        arg_types: arg_types.to_vec(),
        ret_type,
        ret_typmod: -1,
        columns: None,
        variadic: false,
    };
    let mut queries = analysed(env, p, &call)?;
    if queries.len() != 1 || queries[0].command != CmdType::Select {
        return Ok(None);
    }
    let (last, shape) = fit_result(env, p, &call, &mut queries)?;
    let whole = match shape {
        Shape::Scalar => true,
        // A column that was dropped has to be there as a null.
        Shape::Row(ty, types) => match env.view.type_(ty)?.relation {
            rel if rel.is_valid() => env.view.relation(rel)?.tuple.attrs.len() == types.len(),
            _ => true,
        },
        _ => false,
    };
    let cx = crate::analysis::env(env);
    let mut all = match queries.pop() {
        Some(query) if whole && last.is_some() => analyze::rewrite(&cx, query)?,
        _ => return Ok(None),
    };
    match (all.pop(), all.is_empty()) {
        (Some(query), true) => {
            env.core.lock_relations(&query)?;
            env.core.check_permissions(env, &query)?;
            Ok(Some(query))
        }
        _ => Ok(None),
    }
}

/// A function's statements, analysed for these argument types.
fn analysed(env: &StatementEnv<'_>, p: &ProcDesc, call: &CallInfo) -> Result<Vec<Query>> {
    let cx = crate::analysis::env(env);
    Ok(match &p.sql_body {
        Some(body) if functions::builtin::proc(p.oid).is_none() => {
            crate::cook::body_from_text(body)?
        }
        body => {
            let names = p.arg_names.clone().unwrap_or_default();
            let all = p.all_arg_types.as_ref().unwrap_or(&p.arg_types);
            let modes = p.arg_modes.clone().unwrap_or_default();
            let mut params = function_params(&p.name, all, &modes, &names);
            for (t, given) in params.types.iter_mut().zip(&call.arg_types) {
                *t = *given;
            }
            let mut queries = Vec::new();
            let source = body.as_deref().map_or(p.source.to_string(), statements_of);
            for stmt in env.core.parse(&source)? {
                if !is_query(&stmt.stmt) {
                    let name = crate::session::statement_name(&stmt.stmt);
                    return Err(Error::unsupported(format!("{name} in a function in SQL")));
                }
                let params = analyze::Params::Function(&params);
                queries.push(analyze::analyze_stmt(&cx, &stmt.stmt, params)?);
            }
            queries
        }
    })
}

/// The body of a built-in function, which is SQL as it was declared, as plain statements.
fn statements_of(body: &str) -> String {
    match body.strip_prefix("RETURN ") {
        Some(value) => format!("SELECT {value}"),
        None => {
            let inner = body.trim_start_matches("BEGIN ATOMIC").trim_end();
            inner.strip_suffix("END").unwrap_or(inner).to_string()
        }
    }
}

/// Coerces the last statement's columns to what the function returns.
fn fit_result(
    env: &StatementEnv<'_>,
    p: &ProcDesc,
    call: &CallInfo,
    queries: &mut [Query],
) -> Result<(Option<usize>, Shape)> {
    let ret = if call.ret_type.is_valid() { call.ret_type } else { p.return_type };
    if ret == oids::VOID {
        return Ok((None, Shape::Nothing));
    }
    let Some(last) = queries.len().checked_sub(1) else { return Ok((None, Shape::Nothing)) };
    let cx = crate::analysis::env(env);
    let q = &mut queries[last];
    let list = match q.command {
        CmdType::Select => &mut q.target_list,
        _ => &mut q.returning,
    };
    let count = list.iter().filter(|t| !t.junk).count();
    let desc = env.view.type_(ret)?;
    let mut base = desc.clone();
    while base.kind == b'd' {
        base = env.view.type_(base.base_type)?;
    }
    let outs: Option<Vec<Oid>> = match (&p.all_arg_types, &p.arg_modes) {
        (Some(all), Some(modes)) => {
            let outs = all.iter().zip(modes).filter(|(_, m)| matches!(m, b'o' | b'b' | b't'));
            let resolve = |t: Oid| {
                let found = generic::resolve(&env.view, &p.arg_types, &call.arg_types, t)?;
                Ok(found.unwrap_or(t))
            };
            Some(outs.map(|(t, _)| resolve(*t)).collect::<Result<_>>()?)
        }
        _ => None,
    };
    let first = list.iter().find(|t| !t.junk).map(|t| t.expr.ty());
    // A single column that can be the row is the row.
    if count == 1
        && base.kind == b'c'
        && first != Some(ret)
        && let Some(t) = list.iter_mut().find(|t| !t.junk)
        && let Some(row) = analyze::coerce_assignment(&cx, t.expr.clone(), ret, -1)?
    {
        let set_op = q.set_operations.is_some();
        if !set_op {
            t.expr = row;
        } else {
            wrap(&cx, q, &[ret])?;
        }
        return Ok((Some(last), Shape::WholeRow));
    }
    let (types, shape) = match () {
        () if count == 1 && first == Some(ret) && (base.kind == b'c' || ret == oids::RECORD) => {
            return Ok((Some(last), Shape::WholeRow));
        }
        () if base.kind == b'c' => {
            let rel = env.view.relation(base.relation)?;
            let types: Vec<Oid> =
                rel.tuple.attrs.iter().filter(|a| !a.dropped).map(|a| a.type_oid).collect();
            (types.clone(), Shape::Row(base.oid, types))
        }
        () if ret == oids::RECORD => {
            let types = match outs.filter(|o| o.len() > 1 || p.kind == b'p' && !o.is_empty()) {
                Some(outs)
                    if !outs.iter().any(|t| env.view.type_(*t).is_ok_and(|t| t.kind == b'p')) =>
                {
                    outs
                }
                _ => list.iter().filter(|t| !t.junk).map(|t| t.expr.ty()).collect(),
            };
            (types.clone(), Shape::Row(oids::RECORD, types))
        }
        () => (vec![ret], Shape::Scalar),
    };
    let set_op =
        q.set_operations.is_some() || !q.sort_clause.is_empty() || !q.distinct_clause.is_empty();
    let mut needs = false;
    for (t, ty) in list.iter().filter(|t| !t.junk).zip(&types) {
        needs |= t.expr.ty() != *ty;
    }
    if needs && set_op {
        wrap(&cx, q, &types)?;
        return Ok((Some(last), shape));
    }
    for (t, ty) in list.iter_mut().filter(|t| !t.junk).zip(&types) {
        if t.expr.ty() != *ty
            && let Some(e) = analyze::coerce_assignment(&cx, t.expr.clone(), *ty, -1)?
        {
            t.expr = e;
        }
    }
    Ok((Some(last), shape))
}

/// Puts a query into FROM of one that coerces its columns.
fn wrap(cx: &analyze::Env<'_>, q: &mut Query, types: &[Oid]) -> Result<()> {
    let inner = std::mem::replace(q, Query::new(CmdType::Select));
    let columns: Vec<&ir::TargetEntry> = inner.target_list.iter().filter(|t| !t.junk).collect();
    let names: Vec<String> =
        columns.iter().map(|t| t.name.clone().unwrap_or_else(|| "?column?".into())).collect();
    for (i, (t, ty)) in columns.iter().zip(types).enumerate() {
        let n = i as i16 + 1;
        let var = ir::Var::new(1, n, t.expr.ty(), t.expr.typmod(), t.expr.collation());
        let var = ir::Expr::Var(var);
        let made = analyze::coerce_assignment(cx, var.clone(), *ty, -1)?.unwrap_or(var);
        q.target_list.push(ir::TargetEntry::new(made, n, t.name.clone(), false));
    }
    let alias = ir::Alias { name: "*SELECT*".into(), columns: names };
    q.rtable.push(ir::Rte {
        kind: ir::RteKind::Subquery { query: Box::new(inner), view: None, barrier: false },
        alias: None,
        eref: alias,
        lateral: false,
        in_from: true,
        perms: None,
        security_quals: Vec::new(),
    });
    q.jointree.items.push(ir::FromItem::Table(1));
    Ok(())
}
