//! Autovacuum: tables that have changed enough are vacuumed and analysed by threads of the
//! server, as many as `autovacuum_max_workers` allows.
//!
//! Sessions count the rows their statements change and add them to the shared counts now and
//! then. The counts are in memory only: after a restart they begin at zero, which costs a late
//! vacuum and nothing else.

use crate::command::freeze::full_id;
use crate::command::upkeep_report::Told;
use crate::database::thread_error;
use crate::session::SessionOptions;
use crate::{Database, Session};
use base::{Oid, Result};
use catalog::{RelKind, RelationDesc, RowStore, oids};
use os::sync::Mutex;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Rows of a table changed since it was last taken care of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Changes {
    /// Inserted since the last vacuum.
    pub inserted: u64,
    /// Updated or deleted since the last vacuum.
    pub dead: u64,
    /// Changed in any way since the last analysis.
    pub changed: u64,
}

impl Changes {
    fn add(&mut self, other: Changes) {
        self.inserted += other.inserted;
        self.dead += other.dead;
        self.changed += other.changed;
    }
}

/// The counts of all tables, by database and OID.
#[derive(Default)]
pub struct AllChanges {
    tables: Mutex<HashMap<(Oid, Oid), Changes>>,
}

impl AllChanges {
    /// The counts of a table.
    pub fn of(&self, database: Oid, table: Oid) -> Changes {
        self.tables.lock().get(&(database, table)).copied().unwrap_or_default()
    }

    fn add(&self, database: Oid, counts: impl Iterator<Item = (Oid, Changes)>) {
        let mut tables = self.tables.lock();
        for (table, c) in counts {
            tables.entry((database, table)).or_default().add(c);
        }
    }

    /// The table was vacuumed; what was counted since `before` stays.
    pub(crate) fn vacuumed(&self, database: Oid, table: Oid, before: Changes) {
        if let Some(c) = self.tables.lock().get_mut(&(database, table)) {
            c.inserted = c.inserted.saturating_sub(before.inserted);
            c.dead = c.dead.saturating_sub(before.dead);
        }
    }

    /// The table was analysed.
    pub(crate) fn analysed(&self, database: Oid, table: Oid, before: Changes) {
        if let Some(c) = self.tables.lock().get_mut(&(database, table)) {
            c.changed = c.changed.saturating_sub(before.changed);
        }
    }

    /// The database has gone.
    fn forget(&self, database: Oid) {
        self.tables.lock().retain(|(db, _), _| *db != database);
    }

    fn snapshot(&self) -> Vec<((Oid, Oid), Changes)> {
        self.tables.lock().iter().map(|(k, c)| (*k, *c)).collect()
    }
}

/// A session's counts that the others do not know yet.
#[derive(Default)]
pub struct PendingChanges {
    tables: Mutex<(Vec<(Oid, Changes)>, i64)>,
    /// Rows that the open transaction has inserted, updated, deleted.
    transaction: Mutex<Open>,
    /// What the open transaction has scanned, changed and called, for the statistics views.
    pub(crate) open: crate::stats::session::OpenCounts,
}

/// Rows by table: inserted, updated, deleted.
type Rows = Vec<(Oid, [u64; 3])>;

/// What the open transaction has counted.
#[derive(Default)]
struct Open {
    all: Rows,
    /// Of these, what was rolled back already.
    vain: Rows,
    /// Both as they were when each open subtransaction began.
    marks: Vec<(Rows, Rows)>,
}

fn add_rows(to: &mut Rows, table: Oid, rows: [u64; 3]) {
    match to.iter_mut().find(|t| t.0 == table) {
        Some(t) => t.1.iter_mut().zip(rows).for_each(|(sum, n)| *sum += n),
        None => to.push((table, rows)),
    }
}

fn rows_of(all: &Rows, table: Oid) -> [u64; 3] {
    all.iter().find(|t| t.0 == table).map_or([0; 3], |t| t.1)
}

/// Counts are handed on at most this often, in microseconds.
const HAND_ON: i64 = 500_000;

impl PendingChanges {
    /// Counts rows of a table: inserted, and updated or deleted.
    pub(crate) fn count(&self, table: Oid, inserted: u64, dead: u64) {
        if executor::counts::is_off() {
            return;
        }
        let counts = Changes { inserted, dead, changed: inserted + dead };
        let mut pending = self.tables.lock();
        match pending.0.iter_mut().find(|t| t.0 == table) {
            Some(t) => t.1.add(counts),
            None => pending.0.push((table, counts)),
        }
    }

    /// Counts rows for the statistics views: inserted, updated, deleted.
    pub(crate) fn note(&self, database: Oid, table: Oid, rows: [u64; 3]) {
        executor::counts::changed((database, table), rows[0], rows[1], rows[2]);
        add_rows(&mut self.transaction.lock().all, table, rows);
    }

    /// A subtransaction begins.
    pub(crate) fn begin_sub(&self) {
        let mut open = self.transaction.lock();
        let mark = (open.all.clone(), open.vain.clone());
        open.marks.push(mark);
    }

    /// The innermost subtransaction is over. What it counted was in vain if it was rolled back.
    pub(crate) fn end_sub(&self, database: Oid, committed: bool) {
        let mut open = self.transaction.lock();
        let Some((all, vain)) = open.marks.pop() else { return };
        if committed {
            return;
        }
        let open = &mut *open;
        for (table, now) in &open.all {
            let (before, lost) = (rows_of(&all, *table), rows_of(&vain, *table));
            let known = rows_of(&open.vain, *table);
            let mut own = [0; 3];
            for (i, n) in own.iter_mut().enumerate() {
                *n = (now[i] - before[i]).saturating_sub(known[i] - lost[i]);
            }
            if own[0] + own[2] > 0 {
                executor::counts::rolled_back((database, *table), own[0], own[2]);
            }
            add_rows(&mut open.vain, *table, own);
        }
    }

    /// The transaction is over.
    pub(crate) fn end_transaction(&self, database: Oid, committed: bool) {
        executor::counts::transaction(database, committed);
        self.open.forget();
        let mut open = self.transaction.lock();
        if !committed {
            for (table, [inserted, _, deleted]) in open.all.iter().filter(|t| t.1[0] + t.1[2] > 0) {
                let known = rows_of(&open.vain, *table);
                let (inserted, deleted) = (inserted - known[0], deleted - known[2]);
                executor::counts::rolled_back((database, *table), inserted, deleted);
            }
        }
        open.all.clear();
        open.vain.clear();
        open.marks.clear();
    }

    /// Hands the counts on, if that was not done a moment ago.
    pub(crate) fn hand_on(&self, database: Oid, all: &AllChanges, now: i64) {
        let mut pending = self.tables.lock();
        if !pending.0.is_empty() && now - pending.1 >= HAND_ON {
            pending.1 = now;
            all.add(database, pending.0.drain(..));
        }
    }
}

/// `pg_database.datconnlimit` of one whose removal was broken off.
const INVALID_DATABASE: i32 = -2;

/// What a table needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Need {
    vacuum: bool,
    analyze: bool,
    /// The vacuum is due because of the age of the table's ids.
    against_wraparound: bool,
}

/// The table's options keep autovacuum away.
pub(crate) fn is_off_for(rel: &RelationDesc) -> bool {
    let off = |v: &str| matches!(v, "false" | "off" | "0" | "no");
    rel.option("autovacuum_enabled").is_some_and(off)
}

/// The settings that decide, and a table's own in place of them.
struct Thresholds<'a> {
    defaults: &'a crate::settings::Defaults,
    rel: &'a RelationDesc,
}

impl Thresholds<'_> {
    fn number(&self, name: &str) -> f64 {
        let own = self.rel.option(name).and_then(|v| v.parse().ok());
        own.unwrap_or_else(|| self.defaults.get(name).map_or(0.0, |v| v.as_f64()))
    }

    fn whole(&self, name: &str) -> f64 {
        let own = self.rel.option(name).and_then(|v| v.parse().ok());
        own.unwrap_or_else(|| self.defaults.get(name).map_or(0, |v| v.as_i64()) as f64)
    }

    /// By how many ids a table may be behind.
    fn oldest_age(&self) -> u64 {
        let set = self.defaults.get("autovacuum_freeze_max_age").map_or(0, |v| v.as_i64());
        let own = self.rel.option("autovacuum_freeze_max_age").and_then(|v| v.parse().ok());
        own.map_or(set, |own: i64| own.min(set)).max(0) as u64
    }

    /// What a table needs that has changed so much, and whose oldest id is so far behind.
    fn need(&self, c: Changes, age: u64) -> Need {
        let against_wraparound = age > self.oldest_age();
        if is_off_for(self.rel) {
            return Need { vacuum: against_wraparound, analyze: false, against_wraparound };
        }
        let rows = f64::from(self.rel.tuples.max(0.0));
        let dead = self.whole("autovacuum_vacuum_threshold")
            + self.number("autovacuum_vacuum_scale_factor") * rows;
        let most = self.whole("autovacuum_vacuum_max_threshold");
        let dead = if most >= 0.0 { dead.min(most) } else { dead };
        let fresh = self.whole("autovacuum_vacuum_insert_threshold");
        let inserted = fresh + self.number("autovacuum_vacuum_insert_scale_factor") * rows;
        let changed = self.whole("autovacuum_analyze_threshold")
            + self.number("autovacuum_analyze_scale_factor") * rows;
        Need {
            vacuum: against_wraparound
                || c.dead as f64 > dead
                || (fresh >= 0.0 && c.inserted as f64 > inserted),
            analyze: c.changed as f64 > changed,
            against_wraparound,
        }
    }
}

/// A table that has changed.
#[derive(Clone, Copy)]
struct Job {
    database: Oid,
    table: Oid,
    counts: Changes,
}

/// What the launcher and its workers share.
#[derive(Default)]
pub(crate) struct Crew {
    jobs: Mutex<Jobs>,
    /// How many workers there are: they share the cost limit.
    workers: AtomicUsize,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    /// The tables that workers are at.
    taken: HashSet<(Oid, Oid)>,
}

impl Crew {
    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.workers.load(Ordering::Relaxed)
    }

    /// What changed is waiting from now on, but for what a worker is at; how many tables that is.
    fn refill(&self, mut found: Vec<Job>) -> usize {
        let mut jobs = self.jobs.lock();
        found.retain(|j| !jobs.taken.contains(&(j.database, j.table)));
        found.sort_by_key(|j| (j.database, j.table));
        found.dedup_by_key(|j| (j.database, j.table));
        jobs.waiting = found.into();
        jobs.waiting.len()
    }

    /// The next table, in the database where the worker is if there is one.
    fn take(&self, here: Option<Oid>) -> Option<Taken<'_>> {
        let mut jobs = self.jobs.lock();
        let near = jobs.waiting.iter().position(|j| Some(j.database) == here);
        let job = jobs.waiting.remove(near.unwrap_or(0))?;
        jobs.taken.insert((job.database, job.table));
        Some(Taken { crew: self, job })
    }

    /// Nothing of this database is waiting any more.
    fn forget(&self, database: Oid) {
        self.jobs.lock().waiting.retain(|j| j.database != database);
    }
}

/// A table that a worker is at: nobody else's until this is dropped, be it by a panic.
struct Taken<'c> {
    crew: &'c Crew,
    job: Job,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.crew.jobs.lock().taken.remove(&(self.job.database, self.job.table));
    }
}

/// A worker among those that share the cost limit.
struct Counted<'c>(&'c Crew);

impl Counted<'_> {
    fn one_more(crew: &Crew) -> Counted<'_> {
        crew.workers.fetch_add(1, Ordering::Relaxed);
        Counted(crew)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.workers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The launcher's thread: now and then it looks what has changed, and has workers take care of it,
/// `autovacuum_max_workers` of them at most. One that has found a large table does not keep the
/// others from the small ones.
pub(crate) fn launcher(database: &Weak<Database>) {
    let mut workers: Vec<os::thread::JoinHandle<()>> = Vec::new();
    loop {
        let Some(database) = database.upgrade() else { return };
        let defaults = database.defaults();
        let whole = |name: &str| defaults.get(name).map_or(1, |v| v.as_i64()).max(1);
        let stops = database.nap(Duration::from_secs(whole("autovacuum_naptime") as u64));
        let (over, running) = workers.into_iter().partition(|w| w.is_finished() || stops);
        workers = running;
        for worker in over {
            let _ = worker.join();
        }
        if stops {
            return;
        }
        let defaults = database.defaults();
        if !defaults.get("autovacuum").is_none_or(|v| v.as_bool()) {
            continue;
        }
        let job = |((database, table), counts)| Job { database, table, counts };
        let mut found: Vec<Job> = database.changes.snapshot().into_iter().map(job).collect();
        match aged(&database) {
            Ok(jobs) => found.extend(jobs),
            Err(e) => database.log_as("autovacuum launcher", &e),
        }
        let waiting = database.autovacuum.refill(found);
        let whole = |name: &str| defaults.get(name).map_or(1, |v| v.as_i64()).max(1) as usize;
        let most = whole("autovacuum_max_workers").min(whole("autovacuum_worker_slots"));
        for _ in 0..waiting.min(most.saturating_sub(workers.len())) {
            let own = Arc::clone(&database);
            match os::thread::spawn("autovacuum worker", move || worker(&own)) {
                Ok(worker) => workers.push(worker),
                Err(e) => database.log_as("autovacuum launcher", &thread_error(e)),
            }
        }
    }
}

/// A worker's thread: table after table, as long as some are waiting.
fn worker(database: &Arc<Database>) {
    buffer::counts::set_backend(buffer::Backend::AutovacuumWorker);
    let crew = &database.autovacuum;
    let _counted = Counted::one_more(crew);
    let mut next = crew.take(None);
    while let Some(taken) = next.take() {
        next = work(database, taken);
    }
}

/// This table and others of its database; gives one of another.
fn work<'d>(database: &'d Arc<Database>, first: Taken<'d>) -> Option<Taken<'d>> {
    let (crew, db) = (&database.autovacuum, first.job.database);
    let options = SessionOptions { background: Some(db), ..SessionOptions::default() };
    let mut next = Some(first);
    let begun = Session::new(database, &options).and_then(|mut session| {
        // No lock is waited for long, so that no other table waits for this one.
        session.interrupts().set_lock_timeout_ms(1000);
        let mut vacuumed = false;
        while let Some(taken) = next.take_if(|t| t.job.database == db) {
            session.interrupts().check()?;
            vacuumed |= one(&mut session, taken.job)?;
            drop(taken);
            next = crew.take(Some(db));
        }
        if vacuumed {
            session.ensure_transaction()?;
            session.note_oldest_of_database()?;
            session.rollback_all()?;
        }
        Ok(())
    });
    if let Err(e) = begun {
        drop(next.take_if(|t| t.job.database == db));
        crew.forget(db);
        // What was counted for a database that has gone is of no use.
        if e.code() == base::SqlState::INVALID_CATALOG_NAME || !database.has_folder(db) {
            database.changes.forget(db);
        } else {
            database.log_as("autovacuum worker", &e.context("automatic vacuum"));
        }
    }
    match database.nap(Duration::ZERO) {
        true => None,
        false => next.or_else(|| crew.take(None)),
    }
}

/// True if the table was vacuumed; fails if the worker is to end.
fn one(session: &mut Session, job: Job) -> Result<bool> {
    let e = match one_table(session, job.table, job.counts) {
        Ok(vacuumed) => return Ok(vacuumed),
        Err(e) => e,
    };
    let _ = session.rollback_all();
    session.interrupts().check()?;
    if e.code() != base::SqlState::LOCK_NOT_AVAILABLE {
        let e = e.context(format!("automatic vacuum of table {}", job.table));
        session.core.database.log_as("autovacuum worker", &e);
    }
    Ok(false)
}

/// How far the oldest id of a table, or of its TOAST table, is behind.
fn age_of(session: &Session, rel: &RelationDesc) -> Result<u64> {
    let next = session.core.database.storage().txn.next_xid();
    let mut oldest = 0;
    for table in [rel.oid, rel.toast] {
        let low = if table.is_valid() { session.oldest_in_class(table)? } else { 0 };
        oldest = oldest.max(full_id(low, next).map_or(0, |id| next.0 - id.0));
    }
    Ok(oldest)
}

/// The tables whose ids are so old that they are vacuumed for that alone; those of which something
/// has changed are looked at anyway.
fn aged(database: &Arc<Database>) -> Result<Vec<Job>> {
    let next = database.storage().txn.next_xid();
    let most = database.defaults().get("autovacuum_freeze_max_age").map_or(0, |v| v.as_i64());
    // Nothing can be that old, which is so for a long time.
    if next.0 <= most.max(0) as u64 {
        return Ok(Vec::new());
    }
    let mut jobs = Vec::new();
    let inside = |db: Oid| {
        let options = SessionOptions { background: Some(db), ..SessionOptions::default() };
        let mut session = Session::new(database, &options)?;
        session.ensure_transaction()?;
        Ok::<_, base::Error>(session)
    };
    let is_old = |low: Oid| full_id(low.0, next).is_some_and(|id| next.0 - id.0 > most as u64);
    let mut first = inside(oids::TEMPLATE1)?;
    let mut old = Vec::new();
    for row in first.core.store.table_scan(oids::PG_DATABASE)? {
        if is_old(row.oid("datfrozenxid")?) && row.i32("datconnlimit")? != INVALID_DATABASE {
            old.push(row.oid("oid")?);
        }
    }
    first.rollback_all()?;
    drop(first);
    for db in old {
        let mut session = inside(db)?;
        let view = session.core.view()?;
        for row in session.core.store.table_scan(oids::PG_CLASS)? {
            if !matches!(row.char("relkind")?, b'r' | b'm') {
                continue;
            }
            let Some(rel) = view.find_relation(row.oid("oid")?)? else { continue };
            let limits = Thresholds { defaults: &database.defaults(), rel: &rel }.oldest_age();
            let passes = rel.persistence == catalog::Persistence::Temp;
            if !passes && age_of(&session, &rel)? > limits {
                let counts = database.changes.of(db, rel.oid);
                jobs.push(Job { database: db, table: rel.oid, counts });
            }
        }
        drop(view);
        session.rollback_all()?;
    }
    Ok(jobs)
}

/// True if the table was vacuumed.
fn one_table(session: &mut Session, table: Oid, counts: Changes) -> Result<bool> {
    let database = session.core.database.clone();
    let db = session.core.state.oid;
    session.statement_micros = os::clock::now_micros();
    session.ensure_transaction()?;
    let view = session.core.view()?;
    let Some(rel) = view.find_relation(table)? else {
        database.changes.tables.lock().remove(&(db, table));
        return session.rollback_all().map(|()| false);
    };
    if !matches!(rel.kind, RelKind::Table | RelKind::MatView) {
        return session.rollback_all().map(|()| false);
    }
    let defaults = database.defaults();
    let age = age_of(session, &rel)?;
    let need = Thresholds { defaults: &defaults, rel: &rel }.need(counts, age);
    let own = rel.option("log_autovacuum_min_duration").and_then(|v| v.parse().ok());
    let set = || defaults.get("log_autovacuum_min_duration").map_or(600_000, |v| v.as_i64());
    let told = Told::Log(own.unwrap_or_else(set));
    drop(view);
    // DDL goes first: a table that is locked is taken next time, unless its ids are running out.
    if !need.against_wraparound && (need.vacuum || need.analyze) {
        let place = if rel.shared { Oid::INVALID } else { db };
        let tag = txn::LockTag::Relation { db: place, rel: table };
        let locked = session.core.txn()?.try_lock(tag, txn::LockMode::ShareUpdateExclusive)?;
        if !locked.is_held() {
            tell_skipped(session, told, need.vacuum, &rel.name);
            return session.rollback_all().map(|()| false);
        }
    }
    if need.vacuum {
        session.vacuum_table(table, told, need.against_wraparound)?;
        session.commit_transaction()?;
        database.changes.vacuumed(db, table, counts);
        session.ensure_transaction()?;
    }
    if need.analyze {
        crate::command::analyze::analyze_table(session, table, &[], told)?;
        session.commit_transaction()?;
        database.changes.analysed(db, table, counts);
    }
    session.rollback_all().map(|()| need.vacuum)
}

/// Says in the log, if what is done to the table would be told there, that nothing was.
fn tell_skipped(session: &Session, told: Told, vacuum: bool, table: &str) {
    if !matches!(told, Told::Log(0..)) {
        return;
    }
    let verb = if vacuum { "vacuum" } else { "analyze" };
    let e = base::err!(LOCK_NOT_AVAILABLE, "skipping {verb} of \"{table}\" --- lock not available");
    session.core.database.log_as("autovacuum worker", &e.severity(base::Severity::Log));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_share_the_tables() {
        let crew = Crew::default();
        let job = |db, table| {
            let counts = Changes::default();
            Job { database: Oid(db), table: Oid(table), counts }
        };
        let place = |t: &Option<Taken>| t.as_ref().map(|t| (t.job.database.0, t.job.table.0));
        assert_eq!(crew.refill(vec![job(2, 30), job(1, 20), job(1, 10)]), 3);
        let first = crew.take(None);
        assert_eq!(place(&first), Some((1, 10)));
        // Another worker stays in its database; one that has none left there goes on to another.
        let others = [crew.take(Some(Oid(2))), crew.take(Some(Oid(2)))];
        assert_eq!(others.each_ref().map(place), [Some((2, 30)), Some((1, 20))]);
        assert!(crew.take(None).is_none());
        // What a worker is at waits for no other one.
        assert_eq!(crew.refill(vec![job(1, 10), job(1, 40), job(3, 50)]), 2);
        drop(first);
        assert_eq!(crew.refill(vec![job(1, 10), job(1, 40), job(3, 50)]), 3);
        crew.forget(Oid(1));
        assert_eq!(place(&crew.take(Some(Oid(1)))), Some((3, 50)));
        // One that panics leaves its table to the others, and no longer shares the cost limit.
        let panics = std::panic::AssertUnwindSafe(|| {
            let (_counted, _taken) = (Counted::one_more(&crew), crew.take(None));
            assert_eq!((crew.workers(), crew.refill(vec![job(4, 60)])), (1, 1));
            let _taken = crew.take(None);
            assert_eq!(crew.refill(vec![job(4, 60)]), 0);
            panic!("as a damaged page might do");
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        assert_eq!((crew.workers(), crew.refill(vec![job(4, 60)])), (0, 1));
    }
}
