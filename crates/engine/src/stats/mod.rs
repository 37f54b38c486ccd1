//! Counters of the server: what the `pg_stat_*` views show.
//!
//! Threads count on their own (`executor::counts`); whoever wants to know has it folded in here
//! first. A clean stop writes the counters down, and the next start reads them; after a crash
//! they begin anew, as they may be behind the data.

mod backend;
pub(crate) mod functions;
mod kept;
mod server;
pub(crate) mod session;

pub(crate) use functions::{call, rows};
pub(crate) use kept::Kept;
pub(crate) use server::{Archiver, Checkpointer, CheckpointerStats};

use base::{Oid, RelFile, Result};
use executor::counts::{Counts, Key};
use executor::function_counts::Calls;
use os::Disk;
use os::sync::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// When something was done to a table last, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Upkeep {
    pub count: u64,
    pub last: i64,
    /// How long it took, all times together, in microseconds.
    #[serde(default)]
    pub micros: u64,
}

/// A relation's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Relation {
    pub counts: Counts,
    pub live: i64,
    pub dead: i64,
    pub mod_since_analyze: u64,
    pub ins_since_vacuum: u64,
    /// Vacuum and analyze, by hand and automatic.
    pub upkeep: [Upkeep; 4],
    pub reset: i64,
}

/// A database's counters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DatabaseCounts {
    pub committed: u64,
    pub rolled_back: u64,
    /// Of all its relations.
    pub sums: Counts,
    pub temp_files: u64,
    pub temp_bytes: u64,
    pub deadlocks: u64,
    pub sessions: u64,
    pub session_micros: u64,
    #[serde(default)]
    pub active_micros: u64,
    #[serde(default)]
    pub idle_in_transaction_micros: u64,
    /// Sessions that ended in other ways than by the client's wish.
    #[serde(default)]
    pub abandoned: u64,
    #[serde(default)]
    pub fatal: u64,
    #[serde(default)]
    pub killed: u64,
    /// Parallel workers wanted, and started.
    #[serde(default)]
    pub workers: (u64, u64),
    pub reset: i64,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct All {
    relations: HashMap<u64, Relation>,
    databases: HashMap<u32, DatabaseCounts>,
    #[serde(default)]
    functions: HashMap<u64, Calls>,
    checkpointer: Checkpointer,
    #[serde(default)]
    archiver: Archiver,
    /// When the counters of other parts were reset.
    resets: HashMap<String, i64>,
    /// What the counters of `buffer::counts` are to be added to, for what is shown: what was
    /// counted before the start, less what was counted before a reset. By file, and by database.
    #[serde(default)]
    files: HashMap<u64, (u64, u64)>,
    #[serde(default)]
    pages: HashMap<u32, (u64, u64)>,
    /// The same for [`buffer::counts::operations`].
    #[serde(default)]
    io: Vec<u64>,
    /// The same for the log's counters, as [`wal_figures`] has them.
    #[serde(default)]
    wal: Vec<u64>,
}

/// The log's counters in one row: first what `pg_stat_wal` shows, then for each kind of thread
/// what it wrote.
fn wal_figures(s: &wal::WalStats) -> Vec<u64> {
    let mut all = vec![s.records, s.images, s.bytes, s.buffers_full];
    for w in &s.by {
        all.extend([w.writes, w.bytes, w.syncs, w.write_nanos, w.sync_nanos]);
    }
    all
}

/// How many of them are `pg_stat_wal`'s.
const OF_WAL: usize = 4;

/// Sums of hits and reads; what was reset may make the first less than nothing.
fn plus(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.wrapping_add(b.0), a.1.wrapping_add(b.1))
}

fn minus(a: (u64, u64)) -> (u64, u64) {
    (a.0.wrapping_neg(), a.1.wrapping_neg())
}

/// What was done to a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    Vacuum = 0,
    AutoVacuum = 1,
    Analyze = 2,
    AutoAnalyze = 3,
}

/// All counters.
#[derive(Default)]
pub(crate) struct Stats {
    all: Mutex<All>,
    /// `pg_stat_checkpointer`
    pub checkpointer: CheckpointerStats,
}

fn number(key: Key) -> u64 {
    u64::from(key.0.0) << 32 | u64::from(key.1.0)
}

fn file_number(file: RelFile) -> u64 {
    u64::from(file.database.0) << 32 | u64::from(file.number)
}

fn now() -> i64 {
    os::clock::now_micros()
}

impl Stats {
    /// Folds in what threads have counted.
    fn fold(&self) {
        let mut all = self.all.lock();
        executor::function_counts::drain(|key, calls| {
            all.functions.entry(number(key)).or_default().add(calls);
        });
        executor::counts::drain(|key, c| {
            if key.1 == Oid::INVALID {
                let d = all.databases.entry(key.0.0).or_default();
                d.committed += c.scans;
                d.rolled_back += c.returned;
                return;
            }
            let d = all.databases.entry(key.0.0).or_default();
            d.sums.add(c);
            let r = all.relations.entry(number(key)).or_default();
            r.counts.add(c);
            if c.scans > 0 {
                r.counts.last_scan = now();
            }
            let in_vain = c.inserted_in_vain as i64 - c.deleted_in_vain as i64;
            r.live += c.inserted as i64 - c.deleted as i64 - in_vain;
            r.dead += (c.updated + c.deleted) as i64 + in_vain;
            r.mod_since_analyze += c.inserted + c.updated + c.deleted;
            r.ins_since_vacuum += c.inserted;
        });
    }

    /// A relation's counters now.
    pub fn relation(&self, database: Oid, relation: Oid) -> Relation {
        self.fold();
        let all = self.all.lock();
        let found = all.relations.get(&number((database, relation)));
        let shared = || all.relations.get(&number((Oid::INVALID, relation)));
        found.or_else(shared).cloned().unwrap_or_default()
    }

    /// How many pages of a file were found in memory, and read.
    pub fn file_blocks(&self, file: RelFile) -> (u64, u64) {
        let before = self.all.lock().files.get(&file_number(file)).copied();
        plus(buffer::counts::relation(file), before.unwrap_or_default())
    }

    /// A relation has another file: it goes on counting where the other one is.
    pub fn moved(&self, from: RelFile, to: RelFile) {
        let counted = self.file_blocks(from);
        self.all.lock().files.insert(file_number(to), counted);
    }

    /// How many pages of a database's relations were found in memory, and read.
    pub fn database_blocks(&self, database: Oid) -> (u64, u64) {
        let before = self.all.lock().pages.get(&database.0).copied().unwrap_or_default();
        let all = buffer::counts::relations();
        let own = all.into_iter().filter(|(file, _)| file.0 == database.0);
        own.fold(before, |sum, (_, counted)| plus(sum, counted))
    }

    /// What was done by whom: as [`buffer::counts::operations`].
    pub fn operations(&self) -> Vec<u64> {
        let before = self.all.lock().io.clone();
        let before = before.into_iter().chain(std::iter::repeat(0));
        buffer::counts::operations().iter().zip(before).map(|(n, b)| n.wrapping_add(b)).collect()
    }

    /// The log's counters.
    pub fn wal(&self, now: &wal::WalStats) -> Vec<u64> {
        let before = self.all.lock().wal.clone();
        let before = before.into_iter().chain(std::iter::repeat(0));
        wal_figures(now).iter().zip(before).map(|(n, b)| n.wrapping_add(b)).collect()
    }

    /// What a kind of thread wrote of the log: writes, bytes, syncs, nanoseconds of both.
    pub fn wal_by(figures: &[u64], user: usize) -> [u64; 5] {
        let at = OF_WAL + user * 5;
        let found = figures.get(at..at + 5).and_then(|f| f.try_into().ok());
        found.unwrap_or_default()
    }

    /// Forgets the log's counters: `pg_stat_wal`'s, or those of who wrote.
    pub fn reset_wal(&self, part: &str, now: &wal::WalStats) {
        let figures = wal_figures(now);
        let mut all = self.all.lock();
        all.wal.resize(figures.len(), 0);
        for (i, (before, n)) in all.wal.iter_mut().zip(figures).enumerate() {
            if (i < OF_WAL) == (part == "wal") {
                *before = n.wrapping_neg();
            }
        }
    }

    /// Forgets the pages used of a relation, whose file this is.
    pub fn reset_file(&self, file: RelFile) {
        let counted = buffer::counts::relation(file);
        self.all.lock().files.insert(file_number(file), minus(counted));
    }

    fn reset_pages(all: &mut All, database: Oid) {
        all.files.retain(|key, _| key >> 32 != u64::from(database.0));
        let mut sum = (0, 0);
        for ((in_database, file), counted) in buffer::counts::relations() {
            if in_database == database.0 {
                sum = plus(sum, counted);
                all.files.insert(u64::from(in_database) << 32 | u64::from(file), minus(counted));
            }
        }
        all.pages.insert(database.0, minus(sum));
    }

    /// A database's counters now.
    pub fn database(&self, database: Oid) -> DatabaseCounts {
        self.fold();
        self.all.lock().databases.get(&database.0).cloned().unwrap_or_default()
    }

    /// A plan wants a parallel worker.
    pub fn worker_wanted(&self, database: Oid) {
        self.change_database(database, |d| d.workers.0 += 1);
    }

    /// It has got one.
    pub fn worker_started(&self, database: Oid) {
        self.change_database(database, |d| d.workers.1 += 1);
    }

    /// Changes a database's counters.
    pub fn change_database(&self, database: Oid, change: impl FnOnce(&mut DatabaseCounts)) {
        change(self.all.lock().databases.entry(database.0).or_default());
    }

    /// A table was taken care of; it has so many rows and dead ones now, if that was found out.
    pub fn worked(
        &self,
        (database, table): (Oid, Oid),
        work: Work,
        rows: Option<(f64, f64)>,
        micros: u64,
    ) {
        self.fold();
        let mut all = self.all.lock();
        let r = all.relations.entry(number((database, table))).or_default();
        let upkeep = &mut r.upkeep[work as usize];
        upkeep.count += 1;
        upkeep.last = now();
        upkeep.micros += micros;
        match work {
            Work::Vacuum | Work::AutoVacuum => {
                r.dead = 0;
                r.ins_since_vacuum = 0;
            }
            Work::Analyze | Work::AutoAnalyze => r.mod_since_analyze = 0,
        }
        if let Some((live, dead)) = rows.filter(|n| n.0 >= 0.0) {
            (r.live, r.dead) = (live as i64, dead as i64);
        }
    }

    /// Forgets the counters of a database and its relations.
    pub fn reset_database(&self, database: Oid) {
        self.fold();
        let mut all = self.all.lock();
        all.relations.retain(|key, _| key >> 32 != u64::from(database.0));
        all.functions.retain(|key, _| key >> 32 != u64::from(database.0));
        Self::reset_pages(&mut all, database);
        all.databases.insert(database.0, DatabaseCounts { reset: now(), ..Default::default() });
    }

    /// Forgets the counters of a relation.
    pub fn reset_relation(&self, database: Oid, relation: Oid) {
        self.fold();
        let mut all = self.all.lock();
        for database in [database, Oid::INVALID] {
            if let Some(r) = all.relations.get_mut(&number((database, relation))) {
                *r = Relation { reset: now(), ..Default::default() };
            }
        }
        all.databases.entry(database.0).or_default().reset = now();
    }

    /// Calls of a function; none if it was not called while functions were counted.
    pub fn function(&self, database: Oid, function: Oid) -> Option<Calls> {
        self.fold();
        self.all.lock().functions.get(&number((database, function))).copied()
    }

    /// Forgets the calls of a function.
    pub fn reset_function(&self, database: Oid, function: Oid) {
        self.fold();
        let mut all = self.all.lock();
        if let Some(calls) = all.functions.get_mut(&number((database, function))) {
            *calls = Calls::default();
        }
        all.databases.entry(database.0).or_default().reset = now();
    }

    /// True if something was counted.
    pub fn has_relation(&self, database: Oid, relation: Oid) -> bool {
        self.fold();
        self.all.lock().relations.contains_key(&number((database, relation)))
    }

    /// Notes that a part's counters were reset.
    pub fn reset_part(&self, part: &str) {
        let mut all = self.all.lock();
        all.resets.insert(part.to_string(), now());
        if part == "io" {
            all.io = buffer::counts::operations().into_iter().map(u64::wrapping_neg).collect();
        }
        if part == "archiver" {
            all.archiver = Archiver::default();
        }
        drop(all);
        if part == "checkpointer" {
            self.checkpointer.set(Checkpointer { reset: now(), ..Default::default() });
        }
    }

    /// The archiver has tried to have a segment archived.
    pub fn archived(&self, segment: &str, well: bool) {
        let mut all = self.all.lock();
        let side = if well { &mut all.archiver.archived } else { &mut all.archiver.failed };
        *side = (side.0 + 1, segment.to_string(), now());
    }

    /// `pg_stat_archiver`
    pub fn archiver(&self) -> Archiver {
        self.all.lock().archiver.clone()
    }

    /// When a part's counters were reset; at first, when the server was made.
    pub fn reset_of(&self, part: &str) -> i64 {
        self.all.lock().resets.get(part).copied().unwrap_or(0)
    }

    /// Reads what the server before wrote down; the file is gone then.
    pub fn read(&self, disk: &Disk, dir: &Path, clean: bool) -> Result<()> {
        let path = dir.join("pg_stat/pgstat.stat");
        if !disk.exists(&path) {
            return Ok(());
        }
        // What cannot be understood is as good as nothing: counters are not worth a failed start.
        if clean
            && let Ok(bytes) = disk.read(&path)
            && let Ok(all) = serde_json::from_slice::<All>(&bytes)
        {
            self.checkpointer.set(all.checkpointer.clone());
            *self.all.lock() = all;
        }
        Ok(disk.remove(&path)?)
    }

    /// Writes the counters down.
    pub fn write(&self, disk: &Disk, dir: &Path, log: &wal::WalStats) -> Result<()> {
        self.fold();
        let log = self.wal(log);
        let mut all = self.all.lock().clone();
        all.checkpointer = self.checkpointer.get();
        all.io = self.operations();
        all.wal = log;
        for ((database, file), counted) in buffer::counts::relations() {
            let add = |sum: &mut (u64, u64)| *sum = plus(*sum, counted);
            let key = u64::from(database) << 32 | u64::from(file);
            add(all.files.entry(key).or_default());
            add(all.pages.entry(database).or_default());
        }
        let Ok(bytes) = serde_json::to_vec(&all) else { return Ok(()) };
        disk.create_dir_all(&dir.join("pg_stat"))?;
        Ok(disk.write_atomic(&dir.join("pg_stat/pgstat.stat"), &bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_fold_reset_and_come_back() {
        let (stats, db, table) = (Stats::default(), Oid(77_001), Oid(5));
        executor::counts::changed((db, table), 10, 2, 1);
        executor::counts::scanned((db, table), 1, 9, 0);
        executor::counts::transaction(db, true);
        let r = stats.relation(db, table);
        assert_eq!((r.live, r.dead, r.counts.scans, r.mod_since_analyze), (9, 3, 1, 13));
        assert_eq!(stats.database(db).committed, 1);
        stats.worked((db, table), Work::AutoVacuum, Some((9.0, 0.0)), 0);
        assert_eq!(stats.relation(db, table).dead, 0);
        let dir = std::env::temp_dir().join(format!("olifant-stats-{}", os::process::id()));
        let disk = Disk::real();
        stats.write(&disk, &dir, &wal::WalStats::default()).unwrap();
        let again = Stats::default();
        again.read(&disk, &dir, true).unwrap();
        assert_eq!(again.relation(db, table), stats.relation(db, table));
        assert!(!disk.exists(&dir.join("pg_stat/pgstat.stat")));
        again.reset_database(db);
        assert_eq!(again.relation(db, table), Relation::default());
        disk.remove_dir_all(&dir).unwrap();
    }
}
