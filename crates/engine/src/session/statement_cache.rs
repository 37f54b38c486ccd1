//! Statements that sessions have in common: the text parsed and analysed, and its plan where no
//! values of parameters and no sizes of tables could ask for another.
//!
//! A database has a cache for each of the server's reactors, so that the counts of references in
//! it are written by the processor of that reactor only. What is in it holds for a generation of
//! the catalog, one user's rights and one set of settings; sessions that have temporary tables or
//! changes of the catalog of their own stay away.

use super::custom_plans::CustomPlans;
use super::prepared::{Analysed, CachedPlan};
use base::Oid;
use os::sync::{Mutex, RwLock};
use parser::ast::RawStmt;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Longer texts are not worth the memory.
const LONGEST: usize = 16 << 10;
/// How many statements a reactor's sessions share.
const MOST: usize = 512;
/// How many texts that came once are remembered.
const SEEN: usize = 1024;

/// A statement that sessions share.
pub struct SharedStatement {
    /// Its text.
    pub text: Arc<str>,
    /// Types of parameters as the client gave them.
    pub given_types: Vec<Oid>,
    /// What was written.
    pub stmt: Arc<RawStmt>,
    /// What it means.
    pub analysed: Arc<Analysed>,
    /// The number of the settings that it was read with.
    pub text_version: u64,
    /// Its plan, once there is one that serves for everybody.
    pub plan: Mutex<Option<Arc<CachedPlan>>>,
    /// Plans for values of its parameters.
    pub custom: CustomPlans,
    /// It was asked for since it was last looked at for removal.
    used: AtomicBool,
}

/// Under which conditions a statement means what it meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conditions {
    /// The catalog's generation.
    pub generation: u64,
    /// Settings that plans depend on, by their number, and whose rights count.
    pub context: (u64, Oid),
    /// All settings that texts depend on, by their number.
    pub text_version: u64,
}

/// The statements that the sessions of one reactor share.
#[derive(Default)]
pub struct StatementCache {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    statements: HashMap<u64, Arc<SharedStatement>, foldhash::fast::RandomState>,
    /// Hashes of texts that came once, each at its place.
    seen: Vec<u64>,
}

/// The caches of a database, by reactor.
#[derive(Default)]
pub struct StatementCaches {
    by_reactor: RwLock<Vec<Arc<StatementCache>>>,
}

impl StatementCaches {
    /// The cache of the sessions of a reactor.
    pub fn of_reactor(&self, reactor: usize) -> Arc<StatementCache> {
        if let Some(cache) = self.by_reactor.read().get(reactor) {
            return cache.clone();
        }
        let mut all = self.by_reactor.write();
        while all.len() <= reactor {
            all.push(Arc::default());
        }
        all[reactor].clone()
    }
}

impl SharedStatement {
    /// A statement read under these conditions.
    pub fn new(
        text: Arc<str>,
        given_types: &[Oid],
        stmt: Arc<RawStmt>,
        analysed: Arc<Analysed>,
        text_version: u64,
    ) -> SharedStatement {
        SharedStatement {
            text,
            given_types: given_types.to_vec(),
            stmt,
            analysed,
            text_version,
            plan: Mutex::new(None),
            custom: CustomPlans::default(),
            used: AtomicBool::new(true),
        }
    }

    fn holds(&self, now: &Conditions) -> bool {
        self.analysed.generation == now.generation
            && self.analysed.context == now.context
            && self.text_version == now.text_version
    }
}

impl StatementCache {
    /// The statement of this text, with parameters of these types given, if it is there and means
    /// what it meant.
    pub fn find(
        &self,
        text: &str,
        types: &[Oid],
        now: &Conditions,
    ) -> Option<Arc<SharedStatement>> {
        let inner = self.inner.lock();
        let found = inner.statements.get(&hash(&inner, text, types, now))?;
        if *found.text != *text || found.given_types != types || !found.holds(now) {
            return None;
        }
        if !found.used.load(Ordering::Relaxed) {
            found.used.store(true, Ordering::Relaxed);
        }
        Some(found.clone())
    }

    /// True if a text is worth keeping: it is not too long, and has come before.
    pub fn wants(&self, text: &str, types: &[Oid], now: &Conditions) -> bool {
        if text.len() > LONGEST {
            return false;
        }
        let mut inner = self.inner.lock();
        let hash = hash(&inner, text, types, now);
        if inner.seen.is_empty() {
            inner.seen = vec![0; SEEN];
        }
        std::mem::replace(&mut inner.seen[hash as usize % SEEN], hash) == hash
    }

    /// Keeps a statement for the sessions to come.
    pub fn keep(&self, statement: &Arc<SharedStatement>) {
        let mut inner = self.inner.lock();
        let now = Conditions {
            generation: statement.analysed.generation,
            context: statement.analysed.context,
            text_version: statement.text_version,
        };
        let hash = hash(&inner, &statement.text, &statement.given_types, &now);
        if inner.statements.len() >= MOST {
            inner.statements.retain(|_, s| s.used.swap(false, Ordering::Relaxed));
            if inner.statements.len() >= MOST {
                inner.statements.clear();
            }
        }
        inner.statements.insert(hash, statement.clone());
    }
}

/// Of what tells statements apart that may be there side by side.
fn hash(inner: &Inner, text: &str, types: &[Oid], now: &Conditions) -> u64 {
    let mut hasher = inner.statements.hasher().build_hasher();
    hasher.write(text.as_bytes());
    types.hash(&mut hasher);
    hasher.write_u64(now.text_version);
    hasher.write_u32(now.context.1.0);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str, now: Conditions) -> Arc<SharedStatement> {
        let stmt = parser::parse("SELECT 1").unwrap().pop().unwrap();
        let (generation, context) = (now.generation, now.context);
        let analysed = Analysed { generation, context, ..Analysed::default() };
        Arc::new(SharedStatement::new(
            Arc::from(text),
            &[],
            Arc::new(stmt),
            Arc::new(analysed),
            now.text_version,
        ))
    }

    const NOW: Conditions = Conditions { generation: 1, context: (1, Oid(10)), text_version: 1 };

    #[test]
    fn what_has_changed_is_not_found() {
        let cache = StatementCache::default();
        assert!(!cache.wants("a", &[], &NOW));
        assert!(cache.wants("a", &[], &NOW));
        cache.keep(&statement("a", NOW));
        assert!(cache.find("a", &[], &NOW).is_some());
        assert!(cache.find("b", &[], &NOW).is_none());
        assert!(cache.find("a", &[Oid(23)], &NOW).is_none());
        assert!(cache.find("a", &[], &Conditions { generation: 2, ..NOW }).is_none());
        assert!(cache.find("a", &[], &Conditions { context: (2, Oid(10)), ..NOW }).is_none());
        assert!(cache.find("a", &[], &Conditions { context: (1, Oid(11)), ..NOW }).is_none());
        assert!(cache.find("a", &[], &Conditions { text_version: 2, ..NOW }).is_none());
    }

    #[test]
    fn those_in_use_stay() {
        let cache = StatementCache::default();
        for i in 0..MOST {
            cache.keep(&statement(&i.to_string(), NOW));
        }
        cache.keep(&statement("one more", NOW));
        // All had been used, so that none could be preferred; from now on some are.
        let count = || cache.inner.lock().statements.len();
        for i in count()..MOST {
            cache.keep(&statement(&format!("x{i}"), NOW));
        }
        cache.inner.lock().statements.values().for_each(|s| s.used.store(false, Ordering::Relaxed));
        assert!(cache.find("one more", &[], &NOW).is_some());
        cache.keep(&statement("the last", NOW));
        assert!(cache.find("one more", &[], &NOW).is_some());
        assert_eq!(count(), 2);
    }
}
