//! What an index build reads: every version that some snapshot may look for, with the line
//! pointer that the index entry must name.

use super::page::{self, Bytes, MAX_TUPLES};
use super::prune::Fate;
use super::rel::HeapRel;
use super::visibility::{Chain, PageFacts, Undertaker};
use base::{BlockNo, Fork, Result, Tid};
use buffer::ReadStream;
use std::sync::Arc;
use txn::{Sees, Snapshot};
use types::Datum;
use types::tuple::deform;

/// A version to index.
#[derive(Clone, Debug, PartialEq)]
pub struct BuildRow<'a> {
    /// What the index entry names: the root of the version's HOT chain.
    pub tid: Tid,
    /// The version itself.
    pub version: Tid,
    /// It is live; if not, it does not count as a duplicate.
    pub live: bool,
    /// Its columns, or the first of them.
    pub values: &'a [Datum],
}

/// The same, without its columns.
#[derive(Clone, Copy)]
struct Version {
    tid: Tid,
    version: Tid,
    live: bool,
}

/// Reads a table for an index build. The caller holds a lock that keeps writers out, or, for
/// catalogs, checks for duplicates again.
pub struct BuildScan {
    rel: Arc<HeapRel>,
    snapshot: Snapshot,
    stream: ReadStream,
    /// The versions of the current page, and the columns of all of them.
    rows: Vec<Version>,
    values: Vec<Datum>,
    next: usize,
    broken_chains: bool,
    live: u64,
    /// How many columns, from the first, are wanted.
    width: usize,
}

impl BuildScan {
    /// Over the whole table.
    pub fn new(rel: &Arc<HeapRel>, snapshot: &Snapshot) -> Result<BuildScan> {
        let blocks = (0..rel.nblocks()?.0).map(BlockNo);
        Ok(BuildScan {
            rel: Arc::clone(rel),
            snapshot: snapshot.clone(),
            stream: rel.stream(Fork::Main, Box::new(blocks))?,
            rows: Vec::new(),
            values: Vec::new(),
            next: 0,
            broken_chains: false,
            live: 0,
            width: rel.desc.natts(),
        })
    }

    /// Reads the first `n` columns only: the others cost nothing.
    pub fn first_columns(mut self, n: usize) -> BuildScan {
        self.width = n.min(self.width);
        self
    }

    /// The next version.
    pub fn next_row(&mut self) -> Result<Option<BuildRow<'_>>> {
        while self.next == self.rows.len() {
            let Some(pin) = self.stream.next()? else { return Ok(None) };
            self.rows.clear();
            self.values.clear();
            self.next = 0;
            let bytes: Box<Bytes> = Box::new(*pin.read());
            let block = pin.block();
            drop(pin);
            self.page(&bytes, block)?;
        }
        let (n, width) = (self.next, self.width);
        self.next += 1;
        let Version { tid, version, live } = self.rows[n];
        let values = &self.values[n * width..(n + 1) * width];
        Ok(Some(BuildRow { tid, version, live, values }))
    }

    /// True if older versions of some chain were left out that differ from what was indexed:
    /// snapshots from before the build must not use the index.
    pub fn broken_chains(&self) -> bool {
        self.broken_chains
    }

    /// Live rows so far, for `reltuples`.
    pub fn live_rows(&self) -> u64 {
        self.live
    }

    fn page(&mut self, bytes: &Bytes, block: BlockNo) -> Result<()> {
        if page::is_new(bytes) {
            return Ok(());
        }
        let facts = PageFacts::of(bytes);
        let n = page::max_offset(bytes).min(MAX_TUPLES as u16);
        let mut roots = [0u16; MAX_TUPLES + 1];
        for off in 1..=n {
            let root = match page::line(bytes, off) {
                page::Line::Redirect(_) => true,
                page::Line::Normal { .. } => {
                    page::tuple(bytes, off).is_some_and(|t| !t.heap_only())
                }
                _ => false,
            };
            let mut chain = Chain::new(block, off);
            while root && let Some((member, _)) = chain.next(bytes) {
                roots[member as usize] = off;
            }
        }
        let mut keeper = Undertaker::new(&self.rel.storage, self.rel.storage.horizon());
        for off in 1..=n {
            let Some(t) = page::tuple(bytes, off) else { continue };
            let own = |raw| {
                self.rel.storage.txn.sees(&self.snapshot, facts.xid(raw)).map(|s| s == Sees::Own)
            };
            let live = match keeper.fate(t, &facts, &mut 0)? {
                Fate::Dead => continue,
                Fate::Live => true,
                Fate::RecentlyDead if t.hot_updated() => {
                    // Its successor is indexed in its place.
                    self.broken_chains = true;
                    continue;
                }
                Fate::RecentlyDead => false,
                Fate::Inserting => true,
                Fate::Deleting if t.hot_updated() => {
                    self.broken_chains = true;
                    continue;
                }
                Fate::Deleting => !own(t.xmax_raw())?,
            };
            // A heap-only tuple without a chain is left over from an update that aborted.
            let root = match roots[off as usize] {
                0 => continue,
                root => root,
            };
            self.live += live as u64;
            let at = self.values.len();
            self.values.resize(at + self.width, Datum::Null);
            let values = &mut self.values[at..];
            let fetcher = self.rel.fetcher();
            deform(&self.rel.desc, t.data(), t.bitmap(), t.natts(), values, &fetcher)?;
            let tid = Tid { block, offset: root };
            let version = Tid { block, offset: off };
            self.rows.push(Version { tid, version, live });
        }
        Ok(())
    }
}
