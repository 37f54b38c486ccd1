//! `pg_stat_io`, `pg_stat_wal` and what single sessions have to do with them.

use super::Stats;
use super::functions::{count, numeric, reset_time, time};
use super::session::Figures;
use crate::StatementEnv;
use buffer::counts::{BACKENDS, CONTEXTS, OPS};
use buffer::{Backend, Context, Op};
use types::Datum;
use wal::WalWrites;

type Rows = Vec<Vec<Datum>>;

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

/// What a line of `pg_stat_io` counts, of the counters of one kind of thread.
fn io_cells(all: &[u64], object: &str, context: &str) -> [u64; OPS] {
    let context = match (object, context) {
        ("temp relation", _) => Context::Temp,
        ("relation", "normal") => Context::Normal,
        ("relation", "bulkread") => Context::BulkRead,
        ("relation", "bulkwrite") => Context::BulkWrite,
        ("relation", "vacuum") => Context::Vacuum,
        _ => return [0; OPS],
    };
    let at = context as usize * OPS;
    let found = all.get(at..at + OPS).and_then(|cells| cells.try_into().ok());
    found.unwrap_or([0; OPS])
}

/// A line of `io.tsv` with its figures: those of the page cache, and for lines about the log
/// what was written of that.
fn io_line(line: &str, pages: &[u64], written: Option<WalWrites>, reset: &Datum) -> Vec<Datum> {
    let f: Vec<&str> = line.split('\t').collect();
    let can = |c: char| f[3].contains(c);
    let mut cells = io_cells(pages, f[1], f[2]);
    let logged = written.filter(|_| (f[1], f[2]) == ("wal", "normal"));
    if let Some(w) = logged {
        cells[Op::Write as usize] = w.writes;
        cells[Op::WriteNanos as usize] = w.write_nanos;
        cells[Op::Sync as usize] = w.syncs;
        cells[Op::SyncNanos as usize] = w.sync_nanos;
    }
    let group = |c: char, op: Op, nanos: Option<Op>, bytes: bool| {
        let mut out = vec![Datum::Null; 2 + usize::from(bytes)];
        if can(c) {
            let n = cells[op as usize];
            out[0] = count(n);
            if bytes {
                let pages = n * base::PAGE_SIZE as u64;
                let written = logged.filter(|_| op == Op::Write).map(|w| w.bytes);
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
}

/// `pg_stat_io`: who can do what is known; what was done is counted by page cache and log.
pub(super) fn io(env: &StatementEnv<'_>) -> Rows {
    let all = env.core.database.stats.operations();
    let log = env.core.database.stats.wal(&env.core.database.wal().stats());
    let reset = reset_time(env, "io");
    let line = |line: &str| {
        let user = backend_of(line.split('\t').next().unwrap_or_default());
        let pages = user.filter(|b| *b < BACKENDS).map_or(&[][..], |b| {
            let size = CONTEXTS * OPS;
            all.get(b * size..(b + 1) * size).unwrap_or_default()
        });
        let written = user.map(|user| {
            let [writes, bytes, syncs, write_nanos, sync_nanos] = Stats::wal_by(&log, user);
            WalWrites { writes, bytes, syncs, write_nanos, sync_nanos }
        });
        io_line(line, pages, written, &reset)
    };
    include_str!("io.tsv").lines().map(line).collect()
}

/// What a session has read and written, and which kind it is of; none if it is not counted.
fn figures(env: &StatementEnv<'_>, args: &[Datum]) -> Option<(Box<Figures>, &'static str)> {
    let Some(Datum::I32(pid)) = args.first() else { return None };
    let activity = env.core.database.activity();
    let (info, _) = activity.session(*pid)?;
    let kind = match info.background {
        true if info.leader.is_some() => "background worker",
        true => "autovacuum worker",
        false => "client backend",
    };
    activity.figures(*pid).map(|f| (f, kind))
}

fn reset_of(figures: &Figures) -> Datum {
    time(figures.reset)
}

/// `pg_stat_get_backend_io`
pub(super) fn backend_io(env: &StatementEnv<'_>, args: &[Datum]) -> Rows {
    let Some((figures, kind)) = figures(env, args) else { return Vec::new() };
    let reset = reset_of(&figures);
    let own = |line: &&str| line.split('\t').next() == Some(kind);
    let line = |line| io_line(line, &figures.io, Some(figures.writes), &reset);
    include_str!("io.tsv").lines().filter(own).map(line).collect()
}

/// `pg_stat_get_backend_wal`
pub(super) fn backend_wal(env: &StatementEnv<'_>, args: &[Datum]) -> Vec<Datum> {
    let Some((figures, _)) = figures(env, args) else { return vec![Datum::Null; 5] };
    let w = &figures.wal;
    vec![
        count(w.records),
        count(w.images),
        numeric(w.bytes),
        count(w.buffers_full),
        reset_of(&figures),
    ]
}

/// `pg_stat_get_backend_subxact`: how many subtransactions with ids a session has, and whether
/// they are too many for its place, which they never are.
pub(super) fn subtransactions(env: &StatementEnv<'_>, args: &[Datum]) -> Vec<Datum> {
    let found = match args.first() {
        Some(Datum::I32(pid)) => env.core.database.storage().txn.transaction_of(*pid),
        _ => None,
    };
    match found {
        Some((_, n)) => vec![Datum::I32(n as i32), Datum::Bool(false)],
        None => vec![Datum::Null, Datum::Null],
    }
}
