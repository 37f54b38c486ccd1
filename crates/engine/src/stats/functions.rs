//! The functions under the `pg_stat_*` views.

use super::{Relation, Upkeep, backend};
use crate::StatementEnv;
use base::progress::{Command, Progress};
use base::{Oid, Result, bail, err};
use buffer::Op;
use buffer::counts::OPS;
use executor::counts::Counts;
use executor::function_counts::Calls;
use functions::CallInfo;
use std::sync::Arc;
use types::Datum;
use types::record::{Record, RecordColumn};

type Rows = Vec<Vec<Datum>>;

/// Microseconds since 2000, of those since 1970; 0 is not known.
pub(super) fn time(unix: i64) -> Datum {
    if unix == 0 { Datum::Null } else { Datum::I64(unix - types::datetime::UNIX_OFFSET) }
}

pub(super) fn count(n: u64) -> Datum {
    Datum::I64(n as i64)
}

fn ms(micros: u64) -> Datum {
    Datum::F64(micros as f64 / 1000.0)
}

pub(super) fn numeric(n: u64) -> Datum {
    let env = functions::StaticEnv::new(0);
    use functions::FnEnv;
    types::io::input(Oid(1700), &n.to_string(), -1, &env.io()).unwrap_or(Datum::Null)
}

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let about = functions::builtin::proc(call.fn_oid)?;
    let name = about.proname;
    let rest = name.strip_prefix("pg_stat_")?;
    let row = match rest {
        "get_wal" => Some(wal(env)),
        "get_backend_wal" => Some(backend::backend_wal(env, args)),
        "get_archiver" => Some(archiver(env)),
        "get_backend_subxact" => Some(backend::subtransactions(env, args)),
        _ => None,
    };
    if let Some(values) = row {
        return Some(Ok(record(about, values)));
    }
    let oid = |i: usize| match args.get(i) {
        Some(Datum::U32(n)) => Oid(*n),
        Some(Datum::I32(n)) => Oid(*n as u32),
        _ => Oid::INVALID,
    };
    if let Some(what) = rest.strip_prefix("get_db_") {
        return database(env, what, oid(0)).map(Ok);
    }
    if let Some(what) = rest.strip_prefix("get_xact_") {
        return in_transaction(env, what, oid(0)).map(Ok);
    }
    if let Some(what) = rest.strip_prefix("get_function_") {
        return Some(Ok(function(env, what, oid(0))));
    }
    if let Some(what) = rest.strip_prefix("get_") {
        return relation(env, what, oid(0)).or_else(|| server(env, what)).map(Ok);
    }
    let text = |i: usize| match args.get(i) {
        Some(d @ Datum::Bytes(_)) => Some(d.as_str()),
        _ => None,
    };
    reset(env, rest, oid(0), text(0))
}

fn reset(
    env: &StatementEnv<'_>,
    what: &str,
    oid: Oid,
    target: Option<&str>,
) -> Option<Result<Datum>> {
    const PARTS: [&str; 7] =
        ["archiver", "bgwriter", "checkpointer", "io", "recovery_prefetch", "slru", "wal"];
    let stats = &env.core.database.stats;
    let reset_part = |part: &str| {
        stats.reset_part(part);
        if matches!(part, "wal" | "io") {
            stats.reset_wal(part, &env.core.database.wal().stats());
        }
    };
    match what {
        "reset" => stats.reset_database(env.core.state.oid),
        "reset_single_table_counters" => {
            if let Ok(rel) = env.view.relation(oid) {
                stats.reset_file(rel.relfile);
            }
            stats.reset_relation(env.core.state.oid, oid);
        }
        "reset_shared" => match target {
            None => PARTS.iter().for_each(|p| reset_part(p)),
            Some(part) if PARTS.contains(&part) => reset_part(part),
            Some(other) => {
                let e = err!(INVALID_PARAMETER_VALUE, "unrecognized reset target: \"{other}\"");
                return Some(Err(e.hint(
                    "Target must be \"archiver\", \"bgwriter\", \"checkpointer\", \"io\", \
                     \"recovery_prefetch\", \"slru\", or \"wal\".",
                )));
            }
        },
        "reset_slru" => stats.reset_part("slru"),
        "reset_single_function_counters" => stats.reset_function(env.core.state.oid, oid),
        "reset_backend_stats" => {
            let now = os::clock::now_micros();
            env.core.database.activity().reset_figures(oid.0 as i32, now);
        }
        "clear_snapshot" => env.core.kept_stats.forget(),
        "reset_replication_slot" => {
            if let Some(slot) = target {
                let text = format!("replication slot \"{slot}\" does not exist");
                return Some(Err(base::Error::new(base::SqlState::INVALID_PARAMETER_VALUE, text)));
            }
        }
        "reset_subscription_stats" => {}
        "have_stats" => {
            let known = match target {
                Some("database") => true,
                _ => stats.has_relation(env.core.state.oid, oid),
            };
            return Some(Ok(Datum::Bool(known)));
        }
        _ => return None,
    }
    Some(Ok(Datum::text("")))
}

fn upkeep(r: &Relation, at: usize) -> Upkeep {
    r.upkeep.get(at).copied().unwrap_or_default()
}

/// A relation's counters.
fn relation(env: &StatementEnv<'_>, what: &str, oid: Oid) -> Option<Datum> {
    const KNOWN: [&str; 26] = [
        "numscans",
        "lastscan",
        "tuples_returned",
        "tuples_fetched",
        "tuples_inserted",
        "tuples_updated",
        "tuples_deleted",
        "tuples_hot_updated",
        "tuples_newpage_updated",
        "live_tuples",
        "dead_tuples",
        "mod_since_analyze",
        "ins_since_vacuum",
        "vacuum_count",
        "autovacuum_count",
        "analyze_count",
        "autoanalyze_count",
        "last_vacuum_time",
        "total_vacuum_time",
        "total_autovacuum_time",
        "total_analyze_time",
        "total_autoanalyze_time",
        "last_autovacuum_time",
        "last_analyze_time",
        "last_autoanalyze_time",
        "relation_stats_reset_time",
    ];
    if matches!(what, "blocks_fetched" | "blocks_hit") {
        let found = env.view.relation(oid).ok();
        let blocks = found.map(|r| env.core.file_stats(r.relfile));
        let (hits, reads) = blocks.unwrap_or_default();
        return Some(count(if what == "blocks_hit" { hits } else { hits.wrapping_add(reads) }));
    }
    if !KNOWN.contains(&what) {
        return None;
    }
    let r = env.core.relation_stats(oid);
    let c = &r.counts;
    if let Some(figure) = counts_figure(what, c) {
        return Some(figure);
    }
    Some(match what {
        "lastscan" => time(c.last_scan),
        "live_tuples" => Datum::I64(r.live.max(0)),
        "dead_tuples" => Datum::I64(r.dead.max(0)),
        "mod_since_analyze" => count(r.mod_since_analyze),
        "ins_since_vacuum" => count(r.ins_since_vacuum),
        "vacuum_count" => count(upkeep(&r, 0).count),
        "autovacuum_count" => count(upkeep(&r, 1).count),
        "analyze_count" => count(upkeep(&r, 2).count),
        "autoanalyze_count" => count(upkeep(&r, 3).count),
        "last_vacuum_time" => time(upkeep(&r, 0).last),
        "last_autovacuum_time" => time(upkeep(&r, 1).last),
        "last_analyze_time" => time(upkeep(&r, 2).last),
        "last_autoanalyze_time" => time(upkeep(&r, 3).last),
        "total_vacuum_time" => Datum::F64(upkeep(&r, 0).micros as f64 / 1000.0),
        "total_autovacuum_time" => Datum::F64(upkeep(&r, 1).micros as f64 / 1000.0),
        "total_analyze_time" => Datum::F64(upkeep(&r, 2).micros as f64 / 1000.0),
        "total_autoanalyze_time" => Datum::F64(upkeep(&r, 3).micros as f64 / 1000.0),
        _ => time(r.reset),
    })
}

/// What the session's transaction has done so far.
fn in_transaction(env: &StatementEnv<'_>, what: &str, oid: Oid) -> Option<Datum> {
    let open = &env.core.changes.open;
    let database = env.core.state.oid;
    if let Some(what) = what.strip_prefix("function_") {
        let calls = open.function(database, oid);
        return Some(calls.map_or(Datum::Null, |c| calls_figure(what, &c)));
    }
    if matches!(what, "blocks_fetched" | "blocks_hit") {
        let found = env.view.relation(oid).ok();
        let (hits, reads) = found.map(|r| open.blocks(r.relfile)).unwrap_or_default();
        return Some(count(if what == "blocks_hit" { hits } else { hits + reads }));
    }
    let mut c = open.relation((database, oid));
    c.add(&open.relation((Oid::INVALID, oid)));
    counts_figure(what, &c)
}

/// Figures of what was scanned and changed in a relation.
fn counts_figure(what: &str, c: &Counts) -> Option<Datum> {
    Some(match what {
        "numscans" => count(c.scans),
        "tuples_returned" => count(c.returned),
        "tuples_fetched" => count(c.fetched),
        "tuples_inserted" => count(c.inserted),
        "tuples_updated" => count(c.updated),
        "tuples_deleted" => count(c.deleted),
        "tuples_hot_updated" => count(c.hot_updated),
        "tuples_newpage_updated" => count(c.newpage_updated),
        _ => return None,
    })
}

/// Figures of a function's calls.
fn calls_figure(what: &str, calls: &Calls) -> Datum {
    match what {
        "calls" => count(calls.calls),
        "total_time" => Datum::F64(calls.total_nanos as f64 / 1e6),
        _ => Datum::F64(calls.self_nanos as f64 / 1e6),
    }
}

/// Calls of a function since they are counted.
fn function(env: &StatementEnv<'_>, what: &str, oid: Oid) -> Datum {
    let calls = env.core.function_stats(oid);
    let calls = calls.filter(|_| matches!(env.view.find_proc(oid), Ok(Some(_))));
    calls.map_or(Datum::Null, |c| calls_figure(what, &c))
}

fn database(env: &StatementEnv<'_>, what: &str, oid: Oid) -> Option<Datum> {
    let activity = env.core.database.activity();
    if what == "numbackends" {
        return Some(Datum::I32(activity.count_in(oid) as i32));
    }
    if matches!(what, "blocks_fetched" | "blocks_hit") {
        let (hits, reads) = env.core.database.stats.database_blocks(oid);
        return Some(count(if what == "blocks_hit" { hits } else { hits.wrapping_add(reads) }));
    }
    let d = env.core.database_stats(oid);
    Some(match what {
        "xact_commit" => count(d.committed),
        "xact_rollback" => count(d.rolled_back),
        "tuples_returned" => count(d.sums.returned),
        "tuples_fetched" => count(d.sums.fetched),
        "tuples_inserted" => count(d.sums.inserted),
        "tuples_updated" => count(d.sums.updated),
        "tuples_deleted" => count(d.sums.deleted),
        "temp_files" => count(d.temp_files),
        "temp_bytes" => count(d.temp_bytes),
        "deadlocks" => count(d.deadlocks),
        "parallel_workers_to_launch" => count(d.workers.0),
        "parallel_workers_launched" => count(d.workers.1),
        "sessions" => count(d.sessions),
        "session_time" => ms(d.session_micros),
        "active_time" => ms(d.active_micros),
        "idle_in_transaction_time" => ms(d.idle_in_transaction_micros),
        "sessions_abandoned" => count(d.abandoned),
        "sessions_fatal" => count(d.fatal),
        "sessions_killed" => count(d.killed),
        "stat_reset_time" => time(d.reset),
        _ => return None,
    })
}

/// Counters of the server's parts.
fn server(env: &StatementEnv<'_>, what: &str) -> Option<Datum> {
    let database = &env.core.database;
    let pool = || database.storage().pool.stats();
    let load =
        |n: &std::sync::atomic::AtomicU64| count(n.load(std::sync::atomic::Ordering::Relaxed));
    let began = |part: &str| match database.stats.reset_of(part) {
        0 => time(database.start_micros),
        at => time(at),
    };
    if let Some(what) = what.strip_prefix("checkpointer_") {
        let c = database.stats.checkpointer.get();
        return Some(match what {
            "num_timed" => count(c.timed),
            "num_requested" => count(c.requested),
            "num_performed" => count(c.done),
            "write_time" => ms(c.write_micros),
            "sync_time" => ms(c.sync_micros),
            "buffers_written" => count(c.buffers),
            "stat_reset_time" => began("checkpointer"),
            _ => return None,
        });
    }
    Some(match what {
        "bgwriter_maxwritten_clean" => load(&pool().background_halts),
        "buf_alloc" => {
            // Each page that was read or added took a place.
            let all = database.stats.operations();
            let taken = [Op::Read as usize, Op::Extend as usize];
            let sums = all.chunks(OPS).map(|ops| taken.map(|op| ops[op]).iter().sum::<u64>());
            count(sums.sum())
        }
        "bgwriter_buf_written_clean" => load(&pool().background_writes),
        "bgwriter_stat_reset_time" => began("bgwriter"),
        "snapshot_timestamp" => env.core.kept_stats.time().map_or(Datum::Null, time),
        _ => return None,
    })
}

/// The rows of a set-returning one, or of one that returns a row; `None` if it is not among them.
pub fn rows(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Rows>> {
    let name = functions::builtin::proc(call.fn_oid)?.proname;
    Some(Ok(match name {
        "pg_config" => {
            let all = base::build::settings();
            all.iter().map(|(n, v)| vec![Datum::text(n), Datum::text(v)]).collect()
        }
        "pg_stat_get_io" => backend::io(env),
        "pg_stat_get_slru" => slru(env),
        "pg_stat_get_recovery_prefetch" => vec![prefetched(env)],
        "pg_stat_get_progress_info" => return Some(progress(env, args)),
        "pg_get_wait_events" => wait_events(),
        "pg_get_backend_memory_contexts" => vec![memory(env)],
        "pg_get_aios" | "pg_get_shmem_allocations_numa" => Vec::new(),
        "pg_stat_get_backend_io" => backend::backend_io(env, args),
        _ => return None,
    }))
}

/// How far the commands of a kind are.
fn progress(env: &StatementEnv<'_>, args: &[Datum]) -> Result<Rows> {
    let name = args.first().map_or("", Datum::as_str);
    let Some(command) = Command::named(name) else {
        bail!(INVALID_PARAMETER_VALUE, "invalid command name: \"{name}\"");
    };
    let told = env.core.database.activity().progress_of(command);
    let row = |(pid, database, p): (i32, Oid, Arc<Progress>)| {
        use crate::sysfn::SysSession as _;
        let activity = env.core.database.activity();
        let user = activity.session(pid).map_or(Oid::INVALID, |(info, _)| info.user);
        let may_see = env.may_see_session_of(user);
        let shown = |value| if may_see { value } else { Datum::Null };
        let figures = p.figures().map(|n| shown(Datum::I64(n)));
        [Datum::I32(pid), Datum::U32(database.0), shown(Datum::U32(p.relation))]
            .into_iter()
            .chain(figures)
            .collect()
    };
    Ok(told.into_iter().map(row).collect())
}

pub(super) fn reset_time(env: &StatementEnv<'_>, part: &str) -> Datum {
    match env.core.database.stats.reset_of(part) {
        0 => time(env.core.database.start_micros),
        at => time(at),
    }
}

fn wal(env: &StatementEnv<'_>) -> Vec<Datum> {
    let all = env.core.database.stats.wal(&env.core.database.wal().stats());
    vec![count(all[0]), count(all[1]), numeric(all[2]), count(all[3]), reset_time(env, "wal")]
}

/// Values of a function's OUT columns as a row.
pub(crate) fn record(about: &functions::builtin::ProcRow, values: Vec<Datum>) -> Datum {
    let modes = about.proargmodes.iter();
    let types =
        about.proallargtypes.iter().zip(modes).filter(|(_, m)| **m == b'o').map(|(t, _)| *t);
    let columns = types.zip(values).map(|(type_oid, value)| RecordColumn { type_oid, value });
    Record::anonymous(columns.collect()).encode()
}

/// Recovery reads pages as it needs them.
fn prefetched(env: &StatementEnv<'_>) -> Vec<Datum> {
    let mut row = vec![reset_time(env, "recovery_prefetch")];
    row.extend(vec![Datum::I64(0); 6]);
    row.extend(vec![Datum::I32(0); 3]);
    row
}

fn archiver(env: &StatementEnv<'_>) -> Vec<Datum> {
    let all = env.core.database.stats.archiver();
    let side = |(n, name, at): &(u64, String, i64)| {
        let name = if name.is_empty() { Datum::Null } else { Datum::text(name) };
        [count(*n), name, time(*at)]
    };
    let mut row = Vec::from(side(&all.archived));
    row.extend(side(&all.failed));
    row.push(reset_time(env, "archiver"));
    row
}

fn slru(env: &StatementEnv<'_>) -> Rows {
    let names = [
        "commit_timestamp",
        "multixact_member",
        "multixact_offset",
        "notify",
        "serializable",
        "subtransaction",
        "transaction",
        "other",
    ];
    let row = |name: &&str| {
        let mut row = vec![Datum::text(name)];
        row.extend((0..7).map(|_| count(0)));
        row.push(reset_time(env, "slru"));
        row
    };
    names.iter().map(row).collect()
}

fn wait_events() -> Rows {
    let row = |n: u16| {
        let e = base::wait::WaitEvent::from_u16(n);
        let text = |t: Option<&str>| t.map_or(Datum::Null, Datum::text);
        vec![text(e.class()), text(e.name()), text(e.description())]
    };
    (1..=base::wait::EVENTS.len() as u16).map(row).collect()
}

fn memory(env: &StatementEnv<'_>) -> Vec<Datum> {
    let used = env.core.memory.used() as u64;
    let elem = types::array::ElemType::builtin(Oid(23));
    let path = types::array::make_vector(&elem, &[Datum::I32(1)]).unwrap_or(Datum::Null);
    vec![
        Datum::text("TopMemoryContext"),
        Datum::Null,
        Datum::text("AllocSet"),
        Datum::I32(1),
        path,
        count(used),
        count(u64::from(used > 0)),
        count(0),
        count(0),
        count(used),
    ]
}
