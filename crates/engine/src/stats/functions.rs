//! The functions under the `pg_stat_*` views.

use super::{Relation, Stats, Upkeep};
use crate::StatementEnv;
use base::progress::{Command, Progress};
use base::{Oid, Result, bail, err};
use buffer::counts::{BACKENDS, CONTEXTS, OPS};
use buffer::{Backend, Context, Op};
use functions::CallInfo;
use std::sync::Arc;
use types::Datum;
use types::record::{Record, RecordColumn};

type Rows = Vec<Vec<Datum>>;

/// Microseconds since 2000, of those since 1970; 0 is not known.
fn time(unix: i64) -> Datum {
    if unix == 0 { Datum::Null } else { Datum::I64(unix - types::datetime::UNIX_OFFSET) }
}

fn count(n: u64) -> Datum {
    Datum::I64(n as i64)
}

fn ms(micros: u64) -> Datum {
    Datum::F64(micros as f64 / 1000.0)
}

fn numeric(n: u64) -> Datum {
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
        "get_backend_wal" => return Some(Err(base::Error::unsupported(name))),
        "get_archiver" => Some(archiver(env)),
        "get_backend_subxact" => Some(subtransactions(env, args)),
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
        "reset_backend_stats" | "reset_replication_slot" | "reset_subscription_stats" => {}
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
    const KNOWN: [&str; 22] = [
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
        "last_autovacuum_time",
        "last_analyze_time",
        "last_autoanalyze_time",
        "relation_stats_reset_time",
    ];
    if matches!(what, "blocks_fetched" | "blocks_hit") {
        let found = env.view.relation(oid).ok();
        let blocks = found.map(|r| env.core.database.stats.file_blocks(r.relfile));
        let (hits, reads) = blocks.unwrap_or_default();
        return Some(count(if what == "blocks_hit" { hits } else { hits.wrapping_add(reads) }));
    }
    if !KNOWN.contains(&what) {
        return None;
    }
    let r = env.core.database.stats.relation(env.core.state.oid, oid);
    let c = &r.counts;
    Some(match what {
        "numscans" => count(c.scans),
        "lastscan" => time(c.last_scan),
        "tuples_returned" => count(c.returned),
        "tuples_fetched" => count(c.fetched),
        "tuples_inserted" => count(c.inserted),
        "tuples_updated" => count(c.updated),
        "tuples_deleted" => count(c.deleted),
        "tuples_hot_updated" => count(c.hot_updated),
        "tuples_newpage_updated" => count(c.newpage_updated),
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
        _ => time(r.reset),
    })
}

/// What the session's transaction has changed so far.
fn in_transaction(env: &StatementEnv<'_>, what: &str, oid: Oid) -> Option<Datum> {
    let changed = env.core.changes.in_transaction(oid);
    Some(match what {
        "tuples_inserted" => count(changed[0]),
        "tuples_updated" => count(changed[1]),
        "tuples_deleted" => count(changed[2]),
        _ => return None,
    })
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
    let d = env.core.database.stats.database(oid);
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
        "snapshot_timestamp" => Datum::Null,
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
        "pg_stat_get_io" => io(env),
        "pg_stat_get_slru" => slru(env),
        "pg_stat_get_recovery_prefetch" => vec![prefetched(env)],
        "pg_stat_get_progress_info" => return Some(progress(env, args)),
        "pg_get_wait_events" => wait_events(),
        "pg_get_backend_memory_contexts" => vec![memory(env)],
        "pg_get_aios" | "pg_get_shmem_allocations_numa" => Vec::new(),
        "pg_stat_get_backend_io" => return Some(Err(base::Error::unsupported(name))),
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
        let first = [Datum::I32(pid), Datum::U32(database.0), Datum::U32(p.relation)];
        first.into_iter().chain(p.figures().map(Datum::I64)).collect()
    };
    Ok(told.into_iter().map(row).collect())
}

fn reset_time(env: &StatementEnv<'_>, part: &str) -> Datum {
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

/// How many subtransactions a session has, and whether they are too many for its place.
fn subtransactions(env: &StatementEnv<'_>, args: &[Datum]) -> Vec<Datum> {
    let own = env.core.backend.pid();
    match args.first() {
        Some(Datum::I32(pid)) if *pid == own => {
            let depth = env.core.txn_if_any().map_or(0, |t| t.depth());
            vec![Datum::I32(depth as i32), Datum::Bool(false)]
        }
        Some(Datum::I32(pid)) if env.core.database.activity().session(*pid).is_some() => {
            vec![Datum::I32(0), Datum::Bool(false)]
        }
        _ => vec![Datum::Null, Datum::Null],
    }
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

/// The number of a kind of thread, as page cache and log have it.
fn backend_of(name: &str) -> Option<usize> {
    Some(match name {
        "client backend" => Backend::Client as usize,
        "autovacuum launcher" => Backend::AutovacuumLauncher as usize,
        "autovacuum worker" => Backend::AutovacuumWorker as usize,
        "background worker" => Backend::BackgroundWorker as usize,
        "background writer" => Backend::BackgroundWriter as usize,
        "checkpointer" => Backend::Checkpointer as usize,
        "startup" => Backend::Startup as usize,
        "walwriter" => usize::from(wal::WRITER),
        _ => return None,
    })
}

/// What a line of `pg_stat_io` counts, of what the page cache counts.
fn io_cells(all: &[u64], backend: &str, object: &str, context: &str) -> [u64; OPS] {
    let Some(backend) = backend_of(backend).filter(|b| *b < BACKENDS) else { return [0; OPS] };
    let context = match (object, context) {
        ("temp relation", _) => Context::Temp,
        ("relation", "normal") => Context::Normal,
        ("relation", "bulkread") => Context::BulkRead,
        ("relation", "bulkwrite") => Context::BulkWrite,
        ("relation", "vacuum") => Context::Vacuum,
        _ => return [0; OPS],
    };
    let at = (backend * CONTEXTS + context as usize) * OPS;
    let found = all.get(at..at + OPS).and_then(|cells| cells.try_into().ok());
    found.unwrap_or([0; OPS])
}

/// `pg_stat_io`: who can do what is known; what was done is counted by the page cache.
fn io(env: &StatementEnv<'_>) -> Rows {
    let all = env.core.database.stats.operations();
    let log = env.core.database.stats.wal(&env.core.database.wal().stats());
    let reset = reset_time(env, "io");
    let line = |line: &str| {
        let f: Vec<&str> = line.split('\t').collect();
        let can = |c: char| f[3].contains(c);
        let mut cells = io_cells(&all, f[0], f[1], f[2]);
        let logged = match (f[1], f[2], backend_of(f[0])) {
            ("wal", "normal", Some(user)) => Some(Stats::wal_by(&log, user)),
            _ => None,
        };
        if let Some([writes, _, syncs, write_nanos, sync_nanos]) = logged {
            cells[Op::Write as usize] = writes;
            cells[Op::WriteNanos as usize] = write_nanos;
            cells[Op::Sync as usize] = syncs;
            cells[Op::SyncNanos as usize] = sync_nanos;
        }
        let group = |c: char, op: Op, nanos: Option<Op>, bytes: bool| {
            let mut out = vec![Datum::Null; 2 + usize::from(bytes)];
            if can(c) {
                let n = cells[op as usize];
                out[0] = count(n);
                if bytes {
                    let pages = n * base::PAGE_SIZE as u64;
                    let written = logged.filter(|_| op == Op::Write).map(|l| l[1]);
                    out[1] = numeric(written.unwrap_or(pages));
                }
                let took = nanos.map_or(0, |op| cells[op as usize]);
                *out.last_mut().unwrap_or(&mut Datum::Null) = Datum::F64(took as f64 / 1e6);
            }
            out
        };
        let single = |c: char, op: Op| match can(c) {
            true => count(cells[op as usize]),
            false => Datum::Null,
        };
        let mut row: Vec<Datum> = f[..3].iter().map(|t| Datum::text(t)).collect();
        row.extend(group('r', Op::Read, Some(Op::ReadNanos), true));
        row.extend(group('w', Op::Write, Some(Op::WriteNanos), true));
        row.extend(match can('b') {
            true => [count(0), Datum::F64(0.0)],
            false => [Datum::Null, Datum::Null],
        });
        row.extend(group('e', Op::Extend, Some(Op::ExtendNanos), true));
        row.extend([single('h', Op::Hit), single('v', Op::Evict), single('u', Op::Reuse)]);
        row.extend(group('s', Op::Sync, Some(Op::SyncNanos), false));
        row.push(reset.clone());
        row
    };
    include_str!("io.tsv").lines().map(line).collect()
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
