//! Counters that a transaction has looked at, for as long as it looks (`stats_fetch_consistency`):
//! each as it was the first time, all as they were the first time, or as they are.

use super::{All, DatabaseCounts, Relation, Stats, number, plus};
use crate::session::SessionCore;
use base::{Oid, RelFile};
use executor::function_counts::Calls;
use os::sync::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};

/// `stats_fetch_consistency`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Consistency {
    None,
    Cache,
    Snapshot,
}

/// What a session's transaction has looked at.
#[derive(Default)]
pub(crate) struct Kept {
    /// There is something to forget.
    any: AtomicBool,
    looked_at: Mutex<LookedAt>,
}

#[derive(Default)]
struct LookedAt {
    relations: HashMap<(Oid, Oid), Relation>,
    databases: HashMap<Oid, DatabaseCounts>,
    functions: HashMap<(Oid, Oid), Option<Calls>>,
    files: HashMap<RelFile, (u64, u64)>,
    all: Option<Snapshot>,
}

/// All counters at one time, in microseconds since 1970.
struct Snapshot {
    time: i64,
    all: All,
    /// Pages found and read, by database and file.
    pages: HashMap<(u32, u32), (u64, u64)>,
}

impl Kept {
    /// The transaction is over, or wants to look anew.
    pub fn forget(&self) {
        if self.any.load(Ordering::Relaxed) {
            self.any.store(false, Ordering::Relaxed);
            *self.looked_at.lock() = LookedAt::default();
        }
    }

    /// When the counters are from, if they are all from one time.
    pub fn time(&self) -> Option<i64> {
        self.looked_at.lock().all.as_ref().map(|s| s.time)
    }
}

impl Stats {
    fn snapshot(&self) -> Snapshot {
        self.fold();
        let pages = buffer::counts::relations().into_iter().collect();
        Snapshot { time: os::clock::now_micros(), all: self.all.lock().clone(), pages }
    }
}

impl Snapshot {
    fn relation(&self, database: Oid, oid: Oid) -> Relation {
        let find = |database| self.all.relations.get(&number((database, oid)));
        find(database).or_else(|| find(Oid::INVALID)).cloned().unwrap_or_default()
    }

    fn file(&self, file: RelFile) -> (u64, u64) {
        let now = self.pages.get(&(file.database.0, file.number)).copied().unwrap_or_default();
        let before = self.all.files.get(&super::file_number(file)).copied();
        plus(now, before.unwrap_or_default())
    }
}

impl SessionCore {
    /// Looks at the counters as the session wants to see them: at what it has looked at before,
    /// in `kept` by its key, in the snapshot, or as they are now.
    fn look<K: Eq + Hash, T: Clone>(
        &self,
        key: K,
        kept: impl FnOnce(&mut LookedAt) -> &mut HashMap<K, T>,
        snapshot: impl FnOnce(&Snapshot) -> T,
        now: impl FnOnce(&Stats) -> T,
    ) -> T {
        let consistency = match self.settings.lock().str("stats_fetch_consistency") {
            "none" => Consistency::None,
            "snapshot" => Consistency::Snapshot,
            _ => Consistency::Cache,
        };
        let stats = &self.database.stats;
        if consistency == Consistency::None {
            return now(stats);
        }
        self.kept_stats.any.store(true, Ordering::Relaxed);
        let mut looked_at = self.kept_stats.looked_at.lock();
        if looked_at.all.is_some() != (consistency == Consistency::Snapshot) {
            // What was kept in the other way does not count any more.
            *looked_at = LookedAt::default();
        }
        match consistency {
            Consistency::Snapshot => {
                snapshot(looked_at.all.get_or_insert_with(|| stats.snapshot()))
            }
            _ => kept(&mut looked_at).entry(key).or_insert_with(|| now(stats)).clone(),
        }
    }

    /// A relation's counters.
    pub(super) fn relation_stats(&self, oid: Oid) -> Relation {
        let database = self.state.oid;
        self.look(
            (database, oid),
            |kept| &mut kept.relations,
            |all| all.relation(database, oid),
            |stats| stats.relation(database, oid),
        )
    }

    /// A database's counters.
    pub(super) fn database_stats(&self, oid: Oid) -> DatabaseCounts {
        self.look(
            oid,
            |kept| &mut kept.databases,
            |s| s.all.databases.get(&oid.0).cloned().unwrap_or_default(),
            |stats| stats.database(oid),
        )
    }

    /// Calls of a function, if they are counted.
    pub(super) fn function_stats(&self, oid: Oid) -> Option<Calls> {
        let key = (self.state.oid, oid);
        self.look(
            key,
            |kept| &mut kept.functions,
            |s| s.all.functions.get(&number(key)).copied(),
            |stats| stats.function(key.0, oid),
        )
    }

    /// Pages of a file that were found in memory, and read.
    pub(super) fn file_stats(&self, file: RelFile) -> (u64, u64) {
        self.look(
            file,
            |kept| &mut kept.files,
            |all| all.file(file),
            |stats| stats.file_blocks(file),
        )
    }
}
