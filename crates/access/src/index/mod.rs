//! What every index method offers, and the descriptor it works from.
//!
//! Entry points: [`IndexRel`] (made by the catalog), [`IndexAm`] (one static per method, see
//! [`method`]), [`IndexScan`] (a running scan), [`ScanKey`] (a condition pushed into a scan).
//! Expressions and predicates of an index are evaluated by the caller: what arrives here are the
//! finished key values. It must never know about the catalog, expressions or plans.

mod key;
mod scankey;

pub use key::{KeyCmp, KeyColumn, KeyFn, Probe, decode, next_stored, stored_int};
pub use scankey::{ScanKey, ScanValue, Strategy};

use crate::Storage;
use base::{BlockNo, Oid, RelFile, Result, Tid, Xid};
use buffer::{Persistence, RelFiles};
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use types::Datum;
use types::tuple::TupleDesc;

/// The index methods there are; each has one [`IndexAm`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexMethod {
    /// `btree`
    Btree,
}

/// The implementation of a method.
pub fn method(m: IndexMethod) -> &'static dyn IndexAm {
    match m {
        IndexMethod::Btree => &crate::btree::BtreeAm,
    }
}

/// An index as this crate needs to know it. Cheap to share; made once per relcache entry.
#[derive(Debug)]
pub struct IndexRel {
    /// `pg_class.oid`.
    pub oid: Oid,
    /// Name, for messages.
    pub name: String,
    /// `pg_class.oid` of the table.
    pub heap_oid: Oid,
    /// Its files.
    pub file: RelFile,
    /// Logged, unlogged or temporary.
    pub persistence: Persistence,
    /// Which method.
    pub method: IndexMethod,
    /// Attributes: key columns first, then INCLUDE columns.
    pub desc: Arc<TupleDesc>,
    /// How to compare each key column; `keys.len()` is the number of key columns.
    pub keys: Vec<KeyColumn>,
    /// No two live rows with equal keys.
    pub unique: bool,
    /// NULLs count as equal to each other in a unique index.
    pub nulls_not_distinct: bool,
    /// Percent of a leaf page filled by bulk build and by splits at the right end (10..=100).
    pub fillfactor: u8,
    /// Whether equal keys may share a posting list (`deduplicate_items`, and all key types are
    /// such that equal values are the same bytes).
    pub deduplicate: bool,
    /// What the method remembers about this index.
    pub am_cache: AmCache,
}

/// What an index method remembers about an index, never needed for correctness.
#[derive(Default)]
pub struct AmCache {
    /// The root page.
    pub(crate) root: AtomicU64,
    /// The page where the last rightmost insertion went.
    pub(crate) rightmost: AtomicU64,
    files: OnceLock<Arc<RelFiles>>,
}

impl fmt::Debug for AmCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AmCache")
    }
}

impl IndexRel {
    /// Number of key columns.
    pub fn nkeys(&self) -> usize {
        self.keys.len()
    }

    /// Its files, looked up once.
    pub(crate) fn files(&self, storage: &Storage) -> &Arc<RelFiles> {
        self.am_cache.files.get_or_init(|| storage.pool.relation(self.file, self.persistence))
    }

    /// The implementation of its method.
    pub fn am(&self) -> &'static dyn IndexAm {
        method(self.method)
    }
}

/// How an insertion treats equal keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UniqueCheck {
    /// Not a unique index, or nothing to check.
    No,
    /// Conflict with a live row means nothing is inserted.
    Yes,
    /// Insert whatever is there and say whether there might be a conflict (deferrable
    /// constraints, and ON CONFLICT's speculative insertions).
    Partial,
    /// The entry is there already: only look whether another live row has the key.
    Existing,
}

/// What became of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InsertOutcome {
    /// Inserted (or found, with [`UniqueCheck::Existing`]) and no other live row has the key.
    Unique,
    /// Inserted with [`UniqueCheck::Partial`], but another row perhaps has the key.
    MaybeConflict,
    /// Not inserted: this row has the key and is live.
    Conflict(Tid),
}

/// What the table knows about a row that an index entry points to, for unique checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowState {
    /// No transaction can see any version of it: its index entry may be marked dead.
    DeadToAll,
    /// Deleted or never committed as far as a newcomer is concerned, but old snapshots may see
    /// it.
    Gone,
    /// It is there.
    Live,
    /// Depends on this transaction, which is in progress.
    InProgress(Xid),
}

/// Unique checks ask the table through this. The index page is latched during `state`, so the
/// implementation must not touch the index; `wait` is called without any latch.
pub trait RowProbe {
    /// State of the row (chain of versions) that begins at `tid`, seen as of now by the
    /// transaction that inserts.
    fn state(&mut self, tid: Tid) -> Result<RowState>;
    /// Waits until the transaction is over.
    fn wait(&mut self, xid: Xid, tid: Tid) -> Result<()>;

    /// An entry is about to be added to this page, which is latched.
    fn writes_page(&mut self, _index: &IndexRel, _block: BlockNo) -> Result<()> {
        Ok(())
    }
}

/// Where to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// In index order.
    Forward,
    /// Against it.
    Backward,
}

/// Whether all rows of a page of the table are visible to all. Asked while the index page is
/// latched: that makes the answer safe against a vacuum that is between removing entries and
/// setting the bit.
pub type AllVisible = Arc<dyn Fn(BlockNo) -> bool + Send + Sync>;

/// What a scan is for.
#[derive(Clone, Default)]
pub struct ScanOptions {
    /// Keep the key values of each entry for [`IndexScan::values`].
    pub want_values: bool,
    /// With `want_values`: answers [`IndexScan::all_visible`].
    pub all_visible: Option<AllVisible>,
    /// The serializable transaction that has to note what the scan looks at.
    pub serial: Option<Arc<txn::Serial>>,
    /// What the scan shares with those of the other members of a team, which have the same keys.
    /// Each gives a part of the entries, in the index's order. Such a scan goes one way once.
    pub parallel: Option<Arc<crate::btree::ParallelScan>>,
}

/// A running scan.
pub trait IndexScan: Send {
    /// Starts over with other keys.
    fn rescan(&mut self, keys: Vec<ScanKey>) -> Result<()>;

    /// The next entry's row.
    fn next(&mut self, direction: Direction) -> Result<Option<Tid>>;

    /// Values of the entry that `next` returned, one per attribute of the index. Only with
    /// [`ScanOptions::want_values`].
    fn values(&self, out: &mut Vec<Datum>) -> Result<()>;

    /// Whether the table's page of the current entry was all-visible when the entry was read.
    fn all_visible(&self) -> bool;

    /// Goes over the next entries as long as their pages were all-visible when they were read: how
    /// many those were, at most `most`. More may follow.
    fn skip_visible(&mut self, direction: Direction, most: usize) -> usize;

    /// Tells that no transaction can see the row of the current entry.
    fn kill(&mut self);

    /// Remembers the current position (merge join).
    fn mark(&mut self) -> Result<()>;

    /// Goes back to the marked position: the marked entry is current again.
    fn restore(&mut self) -> Result<()>;

    /// Gives the rows of all entries that qualify, in no order a caller may rely on; returns how
    /// many.
    fn bitmap(&mut self, out: &mut dyn FnMut(Tid)) -> Result<u64>;
}

/// Rows to be indexed by a build, in any order.
pub trait BuildSource {
    /// Puts the next row's key values into `values` (one per attribute of the index); returns
    /// its place and whether it is live (a recently dead row is indexed for old snapshots, and
    /// does not count as a duplicate).
    fn next(&mut self, values: &mut Vec<Datum>) -> Result<Option<(Tid, bool)>>;
}

/// What came of a build.
#[derive(Debug)]
pub enum BuildOutcome {
    /// The index is complete; this many entries.
    Done(u64),
    /// A unique index with two live rows of this key: the index is not usable.
    Duplicate(Vec<Datum>, Tid, Tid),
}

/// Limits of a build.
#[derive(Clone, Copy, Debug)]
pub struct BuildOptions {
    /// Bytes to sort in memory (`maintenance_work_mem`).
    pub memory: usize,
}

/// What a vacuum found in an index.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct VacuumStats {
    /// Pages in the index.
    pub pages: u32,
    /// Entries that remain.
    pub entries: u64,
    /// Entries that were removed.
    pub removed: u64,
    /// Pages newly deleted by this vacuum.
    pub newly_deleted: u32,
    /// Pages that are deleted.
    pub deleted: u32,
    /// Pages that can be used again.
    pub free: u32,
}

/// Figures for the planner.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct IndexFacts {
    /// Pages in the main fork.
    pub pages: u32,
    /// Levels above the leaves (`tree_height`).
    pub height: u32,
}

/// An index method.
pub trait IndexAm: Send + Sync {
    /// Makes the files' content of an empty index. The files exist and are empty.
    fn build_empty(&self, storage: &Arc<Storage>, index: &IndexRel) -> Result<()>;

    /// Fills a new index. The files exist and are empty.
    fn build(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        source: &mut dyn BuildSource,
        options: BuildOptions,
    ) -> Result<BuildOutcome>;

    /// Adds an entry for the row at `tid`.
    fn insert(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        values: &[Datum],
        tid: Tid,
        check: UniqueCheck,
        probe: &mut dyn RowProbe,
    ) -> Result<InsertOutcome>;

    /// A live row with this key, if there is one, other than `except`; waits for transactions in
    /// progress. ON CONFLICT asks this before it inserts.
    fn find_conflict(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        values: &[Datum],
        except: Tid,
        probe: &mut dyn RowProbe,
    ) -> Result<Option<Tid>>;

    /// Begins a scan; it owns all it needs.
    fn begin_scan(
        &self,
        storage: &Arc<Storage>,
        index: &Arc<IndexRel>,
        keys: Vec<ScanKey>,
        options: ScanOptions,
    ) -> Result<Box<dyn IndexScan>>;

    /// Rows of all entries whose key columns equal `key` (one value each, of the columns' own
    /// types; NULL equals nothing). What a scan does, for who wants one key only.
    fn lookup(
        &self,
        storage: &Arc<Storage>,
        index: &Arc<IndexRel>,
        key: &[Datum],
        out: &mut Vec<Tid>,
    ) -> Result<()>;

    /// Removes the entries whose rows `dead` names.
    fn bulk_delete(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        dead: &dyn Fn(Tid) -> bool,
        stats: &mut VacuumStats,
    ) -> Result<()>;

    /// The end of a vacuum; `stats` is what `bulk_delete` left, or default if it did not run.
    fn cleanup(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        stats: &mut VacuumStats,
    ) -> Result<()>;

    /// Figures for the planner.
    fn facts(&self, storage: &Arc<Storage>, index: &IndexRel) -> Result<IndexFacts>;

    /// Verifies the structure; `heap` is asked, when given, for each entry whether the table's
    /// row is there (false: the entry points nowhere). The error tells what is wrong.
    fn check(
        &self,
        storage: &Arc<Storage>,
        index: &IndexRel,
        heap: Option<&mut dyn FnMut(Tid) -> Result<bool>>,
    ) -> Result<u64>;
}
