//! SERIALIZABLE: predicate locks and what follows from them.
//!
//! A serializable transaction notes what it reads (`Serial::read_*`): whole relations, pages, or
//! rows; in an index the leaf pages it looked at. Who writes there finds the note, who reads a
//! row that another is changing finds the writer in the row: both are an edge in [`graph`], and
//! two edges in a row whose end committed first end a transaction with 40001. The notes are kept
//! until everybody who ran at the same time is over. Notes never make anybody wait.
//!
//! Transactions of other levels come here for nothing: a snapshot or a transaction without a
//! [`Serial`] asks no more. See README.md, "Predicate locks".

mod graph;

use crate::snapshot::Snapshot;
use base::{BlockNo, Oid, Result, Tid, Xid};
use graph::{Graph, Node, failure};
use os::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use os::sync::{Condvar, Mutex};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// Notes on rows of one page from which on the page is noted instead, unless set otherwise.
const ROWS_OF_PAGE: u32 = 2;
/// Notes on one relation from which on it is noted as a whole, unless set otherwise.
const PLACES_OF_RELATION: u32 = 31;
const SHARDS: usize = 64;
const WHOLE: u32 = u32::MAX;

/// What a note is about; coarse ones have no block or no offset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PredicateTarget {
    /// The database.
    pub db: Oid,
    /// The relation.
    pub rel: Oid,
    block: u32,
    offset: u16,
}

impl PredicateTarget {
    fn relation(db: Oid, rel: Oid) -> PredicateTarget {
        PredicateTarget { db, rel, block: WHOLE, offset: 0 }
    }

    fn page(db: Oid, rel: Oid, block: BlockNo) -> PredicateTarget {
        PredicateTarget { db, rel, block: block.0, offset: 0 }
    }

    fn row(db: Oid, rel: Oid, tid: Tid) -> PredicateTarget {
        PredicateTarget { db, rel, block: tid.block.0, offset: tid.offset }
    }

    /// The page, if it is not about the whole relation.
    pub fn block(&self) -> Option<BlockNo> {
        (self.block != WHOLE).then_some(BlockNo(self.block))
    }

    /// The row, if it is about one.
    pub fn offset(&self) -> Option<u16> {
        (self.offset != 0).then_some(self.offset)
    }

    fn shard(&self) -> usize {
        let mixed = (u64::from(self.rel.0) << 32 | u64::from(self.block))
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 58) as usize % SHARDS
    }
}

type Holders = HashMap<PredicateTarget, Vec<Arc<Serial>>>;

/// Who made a note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PredicateHolder {
    /// The process.
    pub pid: i32,
    /// Its virtual transaction.
    pub virtual_xid: (u32, u32),
}

/// All predicate locks and serializable transactions.
pub struct Ssi {
    /// As [`ROWS_OF_PAGE`].
    rows_of_page: AtomicU32,
    /// As [`PLACES_OF_RELATION`].
    places_of_relation: AtomicU32,
    /// Serializable transactions that run or are remembered; what others look at first.
    tracked: AtomicUsize,
    shards: Vec<Mutex<Holders>>,
    graph: Mutex<Graph>,
    /// A transaction is over: deferrable ones look again.
    over: Condvar,
}

/// What a transaction has noted.
#[derive(Default)]
struct Held {
    /// Forgotten: nothing may be noted any more.
    over: bool,
    targets: HashSet<PredicateTarget>,
    by_page: HashMap<PredicateTarget, u32>,
    by_relation: HashMap<PredicateTarget, u32>,
}

/// A serializable transaction.
pub struct Serial {
    id: u64,
    ssi: Arc<Ssi>,
    /// It has to end with an error when it next looks.
    doomed: AtomicBool,
    /// Read only, and nothing can go wrong any more: it need note nothing.
    safe: AtomicBool,
    held: Mutex<Held>,
    holder: PredicateHolder,
}

impl std::fmt::Debug for Serial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Serial({})", self.id)
    }
}

impl Ssi {
    pub(crate) fn new() -> Arc<Ssi> {
        Arc::new(Ssi {
            rows_of_page: AtomicU32::new(ROWS_OF_PAGE),
            places_of_relation: AtomicU32::new(PLACES_OF_RELATION),
            tracked: AtomicUsize::new(0),
            shards: (0..SHARDS).map(|_| Mutex::new(HashMap::new())).collect(),
            graph: Mutex::new(Graph::default()),
            over: Condvar::new(),
        })
    }

    /// Sets how many notes on rows of one page, and on places of one relation, are kept before a
    /// coarser one takes their place.
    pub fn set_limits(&self, rows_of_page: u32, places_of_relation: u32) {
        self.rows_of_page.store(rows_of_page, Ordering::Relaxed);
        self.places_of_relation.store(places_of_relation, Ordering::Relaxed);
    }

    /// Begins a serializable transaction with the snapshot that `take` takes. None: it is read
    /// only and nobody runs who could disturb it, so it needs no tracking.
    pub(crate) fn begin(
        self: &Arc<Self>,
        read_only: bool,
        holder: PredicateHolder,
        take: impl FnOnce() -> Snapshot,
    ) -> (Option<Arc<Serial>>, Snapshot) {
        let mut graph = self.graph.lock();
        let snapshot = take();
        let mut waits_for = BTreeSet::new();
        if read_only {
            let writers = graph.nodes.iter().filter(|(_, n)| n.committed.is_none());
            waits_for.extend(writers.filter(|(_, n)| !n.read_only).map(|(id, _)| *id));
            if waits_for.is_empty() {
                return (None, snapshot);
            }
        }
        graph.next_id += 1;
        let id = graph.next_id;
        let serial = Arc::new(Serial {
            id,
            ssi: Arc::clone(self),
            doomed: AtomicBool::new(false),
            safe: AtomicBool::new(false),
            held: Mutex::new(Held::default()),
            holder,
        });
        let node = Node {
            serial: Arc::clone(&serial),
            seen: graph.clock,
            prepared: None,
            committed: None,
            read_only,
            wrote: false,
            inward: BTreeSet::new(),
            outward: BTreeSet::new(),
            earliest_out: None,
            waits_for,
            is_unsafe: false,
            xids: Vec::new(),
        };
        graph.nodes.insert(id, node);
        self.tracked.fetch_add(1, Ordering::SeqCst);
        (Some(serial), snapshot)
    }

    fn remove_notes(&self, serial: &Arc<Serial>) {
        let over = Held { over: true, ..Held::default() };
        let held = std::mem::replace(&mut *serial.held.lock(), over);
        for target in held.targets {
            self.remove_note(&target, serial.id);
        }
    }

    fn remove_note(&self, target: &PredicateTarget, id: u64) {
        let mut shard = self.shards[target.shard()].lock();
        if let Some(list) = shard.get_mut(target) {
            list.retain(|s| s.id != id);
            if list.is_empty() {
                shard.remove(target);
            }
        }
    }

    fn holders(&self, target: &PredicateTarget) -> Vec<Arc<Serial>> {
        self.shards[target.shard()].lock().get(target).cloned().unwrap_or_default()
    }

    /// A page of an index was split: who looked at it looked at both.
    pub fn page_split(&self, db: Oid, rel: Oid, old: BlockNo, new: BlockNo) {
        if self.tracked.load(Ordering::SeqCst) == 0 {
            return;
        }
        for serial in self.holders(&PredicateTarget::page(db, rel, old)) {
            serial.note(PredicateTarget::page(db, rel, new));
        }
    }

    /// A page of an index goes away: who looked at it counts as having looked at all.
    pub fn page_gone(&self, db: Oid, rel: Oid, old: BlockNo) {
        if self.tracked.load(Ordering::SeqCst) == 0 {
            return;
        }
        for serial in self.holders(&PredicateTarget::page(db, rel, old)) {
            serial.note(PredicateTarget::relation(db, rel));
        }
    }

    /// All notes and who made them, for `pg_locks`.
    pub fn notes(&self) -> Vec<(PredicateTarget, PredicateHolder)> {
        let mut all = Vec::new();
        for shard in &self.shards {
            for (target, holders) in shard.lock().iter() {
                all.extend(holders.iter().map(|s| (*target, s.holder)));
            }
        }
        all
    }
}

/// Catalogs are not read under predicate locks.
fn is_tracked(rel: Oid) -> bool {
    rel.0 >= 12000
}

impl Serial {
    fn check(&self, when: &str) -> Result<()> {
        if self.doomed.load(Ordering::Relaxed) {
            let what = format!("Canceled on identification as a pivot, during {when}");
            return Err(failure(&what));
        }
        Ok(())
    }

    /// Notes that it reads a whole relation.
    pub fn read_relation(self: &Arc<Self>, db: Oid, rel: Oid) {
        if is_tracked(rel) {
            self.note(PredicateTarget::relation(db, rel));
        }
    }

    /// Notes that it reads a page.
    pub fn read_page(self: &Arc<Self>, db: Oid, rel: Oid, block: BlockNo) {
        if is_tracked(rel) {
            self.note(PredicateTarget::page(db, rel, block));
        }
    }

    /// Notes that it reads a row.
    pub fn read_row(self: &Arc<Self>, db: Oid, rel: Oid, tid: Tid) {
        if is_tracked(rel) {
            self.note(PredicateTarget::row(db, rel, tid));
        }
    }

    /// Writes a note, unless a coarser one says as much; many fine ones become a coarse one.
    fn note(self: &Arc<Self>, target: PredicateTarget) {
        if self.safe.load(Ordering::Relaxed) {
            return;
        }
        let whole = PredicateTarget::relation(target.db, target.rel);
        let page = PredicateTarget { offset: 0, ..target };
        let mut held = self.held.lock();
        let known = |t: &PredicateTarget| held.targets.contains(t);
        if held.over || known(&whole) || known(&page) || known(&target) {
            return;
        }
        let mut target = target;
        if target.offset != 0 {
            let rows = held.by_page.entry(page).or_default();
            *rows += 1;
            if *rows > self.ssi.rows_of_page.load(Ordering::Relaxed) {
                target = page;
            }
        }
        if target != whole {
            let places = held.by_relation.entry(whole).or_default();
            *places += 1;
            if *places > self.ssi.places_of_relation.load(Ordering::Relaxed) {
                target = whole;
            }
        }
        held.targets.insert(target);
        let covered = |t: &PredicateTarget| {
            *t != target
                && t.db == target.db
                && t.rel == target.rel
                && (target == whole || t.block == target.block && target.offset == 0)
        };
        let finer: Vec<PredicateTarget> =
            held.targets.iter().filter(|t| covered(t)).copied().collect();
        for t in &finer {
            held.targets.remove(t);
        }
        if let Some(places) = held.by_relation.get_mut(&whole) {
            *places = places.saturating_sub(finer.len() as u32);
        }
        // The coarse note is there before the fine ones go.
        let shard = &self.ssi.shards[target.shard()];
        shard.lock().entry(target).or_default().push(Arc::clone(self));
        for t in &finer {
            self.ssi.remove_note(t, self.id);
        }
    }

    /// It read a row of which `xid`, unseen by its snapshot, is the writer.
    pub fn conflict_out(&self, rel: Oid, xid: Xid) -> Result<()> {
        if !is_tracked(rel) || self.safe.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.check("conflict out checking")?;
        self.ssi.graph.lock().conflict_out(self.id, xid)
    }

    /// It is about to write here; called with the page latched.
    pub fn conflict_in(
        &self,
        db: Oid,
        rel: Oid,
        block: Option<BlockNo>,
        offset: Option<u16>,
    ) -> Result<()> {
        if !is_tracked(rel) {
            return Ok(());
        }
        self.check("conflict in checking")?;
        let mut targets = vec![PredicateTarget::relation(db, rel)];
        if let Some(block) = block {
            targets.push(PredicateTarget::page(db, rel, block));
            if let Some(offset) = offset {
                targets.push(PredicateTarget::row(db, rel, Tid { block, offset }));
            }
        }
        let mut readers = Vec::new();
        for target in targets.iter().rev() {
            readers.extend(self.ssi.holders(target).iter().map(|s| s.id));
        }
        let mut graph = self.ssi.graph.lock();
        if let Some(me) = graph.nodes.get_mut(&self.id) {
            me.wrote = true;
        }
        for reader in readers {
            graph.conflict_in(self.id, reader)?;
        }
        Ok(())
    }

    /// It has got this id, for itself or a subtransaction.
    pub(crate) fn note_xid(&self, xid: Xid) {
        let mut graph = self.ssi.graph.lock();
        if let Some(me) = graph.nodes.get_mut(&self.id) {
            me.xids.push(xid);
            graph.by_xid.insert(xid, self.id);
        }
    }

    /// Fails if it must not commit.
    pub(crate) fn prepare(&self) -> Result<()> {
        self.check("commit attempt")?;
        if self.safe.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.ssi.graph.lock().prepare(self.id)
    }

    /// It is over.
    pub(crate) fn finish(&self, committed: bool) {
        let gone = self.ssi.graph.lock().finish(self.id, committed);
        for serial in &gone {
            self.ssi.remove_notes(serial);
        }
        self.ssi.tracked.fetch_sub(gone.len(), Ordering::SeqCst);
        self.ssi.over.notify_all();
    }

    /// What became of a deferrable transaction's snapshot: safe, unsafe, or not known yet. Waits
    /// a moment for the answer.
    pub(crate) fn is_safe(&self, wait: Duration) -> Option<bool> {
        let mut graph = self.ssi.graph.lock();
        for last in [false, true] {
            match graph.nodes.get(&self.id) {
                Some(n) if n.is_unsafe => return Some(false),
                Some(n) if !n.waits_for.is_empty() => {}
                _ => return Some(true),
            }
            if !last {
                graph = self.ssi.over.wait_timeout(graph, wait).0;
            }
        }
        None
    }
}
