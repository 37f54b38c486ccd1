//! Descriptors of committed rows, shared by all sessions of a database.
//!
//! The rule: what is in the cache is what a fresh snapshot reads, or an invalidation for it is
//! under way and it is about to go. The race: a reader loads a row, a writer commits and
//! invalidates, the reader then stores what it loaded. So a committing writer first blocks
//! stores and drops the stale entries ([`SharedCache::begin`]), commits, and then lets stores in
//! again ([`SharedCache::end`]); a reader stores only if no invalidation began or ended since
//! before it read. While stores are blocked readers read the tables. The generation changes on
//! both sides, so that a plan made in between is looked at again.

use crate::change::Change;
use base::Oid;
use foldhash::fast::RandomState;
use os::sync::RwLock;
use std::any::Any;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What a descriptor is found by.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Key {
    Relation(Oid),
    RelationName(Oid, Arc<str>),
    Children(Oid),
    Statistic(Oid, i16, bool),
    ExtendedStatistics(Oid),
    Sequence(Oid),
    Constraint(Oid),
    Domain(Oid),
    Type(Oid),
    TypeName(Oid, Arc<str>),
    Enum(Oid),
    Proc(Oid),
    /// A built-in function's rights, by OID.
    ProcAcl(Oid),
    ProcName(Arc<str>),
    Aggregate(Oid),
    Operator(Oid),
    OperatorName(Arc<str>),
    Cast(Oid, Oid),
    Opclass(Oid),
    OpclassesOf(Oid),
    Opfamily(Oid),
    AmopsOfFamily(Oid),
    AmopsOfOperator(Oid),
    Amprocs(Oid),
    Collation(Oid),
    CollationName(Oid, Arc<str>),
    Namespace(Oid),
    NamespaceName(Arc<str>),
    Role(Oid),
    RoleName(Arc<str>),
    Database(Oid),
    DatabaseName(Arc<str>),
}

impl Key {
    /// True for operators and what is around them.
    pub fn is_operator(&self) -> bool {
        matches!(
            self,
            Key::Operator(_)
                | Key::OperatorName(_)
                | Key::Opclass(_)
                | Key::OpclassesOf(_)
                | Key::Opfamily(_)
                | Key::AmopsOfFamily(_)
                | Key::AmopsOfOperator(_)
                | Key::Amprocs(_)
        )
    }
}

/// A descriptor, a list of them, or that there is none.
pub type Value = Arc<dyn Any + Send + Sync>;

const SHARDS: usize = 32;

type Shard = HashMap<Key, Value, RandomState>;

/// The descriptors of one database.
pub struct SharedCache {
    shards: [RwLock<Shard>; SHARDS],
    hasher: RandomState,
    generation: AtomicU64,
    blocked: AtomicU32,
}

impl Default for SharedCache {
    fn default() -> SharedCache {
        SharedCache {
            shards: std::array::from_fn(|_| RwLock::default()),
            hasher: RandomState::default(),
            generation: AtomicU64::new(1),
            blocked: AtomicU32::new(0),
        }
    }
}

impl SharedCache {
    fn shard(&self, key: &Key) -> &RwLock<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// Changes whenever an entry may have become stale.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What is stored under the key.
    pub fn get(&self, key: &Key) -> Option<Value> {
        self.shard(key).read().get(key).cloned()
    }

    /// Stores what was read since the generation was `since`, unless it may be stale by now.
    pub fn store(&self, key: Key, value: Value, since: u64) {
        let mut shard = self.shard(&key).write();
        let quiet = self.blocked.load(Ordering::SeqCst) == 0;
        if quiet && self.generation.load(Ordering::SeqCst) == since {
            shard.insert(key, value);
        }
    }

    /// Before the commit of these changes: drops what they concern and blocks stores.
    pub fn begin(&self, changes: &[Change]) {
        self.blocked.fetch_add(1, Ordering::SeqCst);
        self.generation.fetch_add(1, Ordering::SeqCst);
        for shard in &self.shards {
            shard.write().retain(|key, _| !changes.iter().any(|c| c.concerns(key)));
        }
    }

    /// After the commit (or the abort): lets stores in again.
    pub fn end(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.blocked.fetch_sub(1, Ordering::SeqCst);
    }

    /// Drops everything, as after a restore.
    pub fn clear(&self) {
        self.blocked.fetch_add(1, Ordering::SeqCst);
        for shard in &self.shards {
            shard.write().clear();
        }
        self.end();
    }
}
