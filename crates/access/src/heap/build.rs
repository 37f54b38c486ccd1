//! What an index build reads: every version that some snapshot may look for, with the line
//! pointer that the index entry must name.

use super::page::{self, Bytes, MAX_TUPLES};
use super::prune::Fate;
use super::rel::HeapRel;
use super::visibility::{Chain, PageFacts, Undertaker};
use base::progress::{self, Command};
use base::{BlockNo, Error, Fork, PAGE_SIZE, Result, Tid, WaitEvent, Xid};
use buffer::ReadStream;
use os::sync::Relay;
use os::thread::JoinHandle;
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

/// What was read of some pages.
#[derive(Default)]
struct Chunk {
    rows: Vec<Version>,
    /// The columns of all of them.
    values: Vec<Datum>,
    live: u64,
    broken_chains: bool,
    /// How many pages that were.
    pages: i64,
}

/// Reads pages.
struct Reader {
    rel: Arc<HeapRel>,
    snapshot: Snapshot,
    stream: ReadStream,
    /// How many columns, from the first, are wanted.
    width: usize,
}

/// Where chunks come from.
enum Source {
    Reader(Box<Reader>),
    Ahead(Ahead),
}

/// A thread that reads pages while the index build does something with the last ones.
struct Ahead {
    lanes: Arc<Lanes>,
    thread: Option<JoinHandle<()>>,
}

struct Lanes {
    chunks: Relay<Result<Chunk>>,
    /// Chunks to be used again. There is room for all there are.
    used: Relay<Chunk>,
}

/// Tables of fewer pages are read without another thread.
const MANY_PAGES: u32 = 1024;

/// Chunks that the thread may be ahead.
const AHEAD: usize = 4;

/// Rows that make a chunk of a thread full.
const CHUNK_ROWS: usize = 1000;

/// Reads a table for an index build. The caller holds a lock that keeps writers out, or, for
/// catalogs, checks for duplicates again.
pub struct BuildScan {
    source: Source,
    chunk: Chunk,
    next: usize,
    broken_chains: bool,
    live: u64,
    width: usize,
}

impl BuildScan {
    /// Over the whole table, of which the first `width` columns are read: the others cost
    /// nothing.
    pub fn new(rel: &Arc<HeapRel>, snapshot: &Snapshot, width: usize) -> Result<BuildScan> {
        let width = width.min(rel.desc.natts());
        let blocks = rel.nblocks()?;
        progress::set(Command::CreateIndex, progress::index::BLOCKS, i64::from(blocks.0));
        progress::set(Command::CreateIndex, progress::index::BLOCKS_DONE, 0);
        let ahead = match blocks.0 >= MANY_PAGES {
            true => Ahead::start(rel, snapshot, blocks, width),
            false => None,
        };
        let source = match ahead {
            Some(ahead) => Source::Ahead(ahead),
            None => Source::Reader(Box::new(Reader::new(rel, snapshot, blocks, width)?)),
        };
        let chunk = Chunk::default();
        Ok(BuildScan { source, chunk, next: 0, broken_chains: false, live: 0, width })
    }

    /// The next version.
    pub fn next_row(&mut self) -> Result<Option<BuildRow<'_>>> {
        while self.next == self.chunk.rows.len() {
            self.next = 0;
            let more = match &mut self.source {
                Source::Reader(reader) => reader.fill(&mut self.chunk, 1)?,
                Source::Ahead(ahead) => ahead.fill(&mut self.chunk)?,
            };
            if !more {
                return Ok(None);
            }
            progress::add(Command::CreateIndex, progress::index::BLOCKS_DONE, self.chunk.pages);
            self.live += self.chunk.live;
            self.broken_chains |= self.chunk.broken_chains;
        }
        let (n, width) = (self.next, self.width);
        self.next += 1;
        let Version { tid, version, live } = self.chunk.rows[n];
        let values = &self.chunk.values[n * width..(n + 1) * width];
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
}

/// Transactions of others that have changed rows of a table and are not over. Whoever has the
/// table locked against writers can meet some only if those gave their locks back earlier.
pub fn unsettled(rel: &Arc<HeapRel>, snapshot: &Snapshot) -> Result<Vec<Xid>> {
    let blocks = (0..rel.nblocks()?.0).map(BlockNo);
    let mut stream = rel.stream(Fork::Main, Box::new(blocks))?;
    let mut found = Vec::new();
    while let Some(pin) = stream.next()? {
        let bytes = pin.read();
        if page::is_new(&bytes) {
            continue;
        }
        let facts = PageFacts::of(&bytes);
        let mut keeper = Undertaker::new(&rel.storage, rel.storage.horizon());
        for off in 1..=page::max_offset(&bytes).min(MAX_TUPLES as u16) {
            let Some(t) = page::tuple(&bytes, off) else { continue };
            if !matches!(keeper.fate(t, &facts, &mut 0)?, Fate::Inserting | Fate::Deleting) {
                continue;
            }
            for xid in [t.xmin_raw(), t.xmax_raw()].map(|raw| facts.xid(raw)) {
                let txn = &rel.storage.txn;
                let others = xid.is_valid() && !found.contains(&xid) && txn.is_running(xid)?;
                if others && txn.sees(snapshot, xid)? != Sees::Own {
                    found.push(xid);
                }
            }
        }
    }
    Ok(found)
}

/// The build must not wait for a thread that has ended.
struct Farewell(Arc<Lanes>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.chunks.end();
    }
}

impl Ahead {
    /// Starts the thread; none if there cannot be another.
    fn start(
        rel: &Arc<HeapRel>,
        snapshot: &Snapshot,
        blocks: BlockNo,
        width: usize,
    ) -> Option<Ahead> {
        let lanes = Lanes { chunks: Relay::new(AHEAD), used: Relay::new(2 * AHEAD) };
        let lanes = Arc::new(lanes);
        let farewell = Farewell(Arc::clone(&lanes));
        let (rel, snapshot) = (Arc::clone(rel), snapshot.clone());
        let run = move || {
            let lanes = &farewell.0;
            if let Err(e) = read_ahead(lanes, &rel, &snapshot, blocks, width) {
                // Whoever does not want to know has gone.
                let _ = lanes.chunks.send(Err(e), WaitEvent::MessageQueueSend);
            }
        };
        let thread = os::thread::spawn("index build reader", run).ok()?;
        Some(Ahead { lanes, thread: Some(thread) })
    }

    /// The next chunk, in place of one that was read; false at the end.
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let used = std::mem::take(chunk);
        match self.lanes.chunks.receive(WaitEvent::ParallelCreateIndexScan) {
            Some(next) => *chunk = next?,
            None => return self.join().map(|()| false),
        }
        let _ = self.lanes.used.send(used, WaitEvent::MessageQueueSend);
        Ok(true)
    }

    fn join(&mut self) -> Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        let waits = os::wait::begin(WaitEvent::ParallelCreateIndexScan);
        let outcome = thread.join();
        drop(waits);
        outcome.map_err(|_| Error::internal("the reader of a table was lost"))
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.lanes.chunks.abandon();
        // Whoever drops a scan before its end has an error already.
        let _ = self.join();
    }
}

fn read_ahead(
    lanes: &Lanes,
    rel: &Arc<HeapRel>,
    snapshot: &Snapshot,
    blocks: BlockNo,
    width: usize,
) -> Result<()> {
    let mut reader = Reader::new(rel, snapshot, blocks, width)?;
    loop {
        let mut chunk = lanes.used.try_receive().unwrap_or_default();
        let more = reader.fill(&mut chunk, CHUNK_ROWS)?;
        if !more || lanes.chunks.send(Ok(chunk), WaitEvent::MessageQueueSend).is_err() {
            return Ok(());
        }
    }
}

impl Reader {
    fn new(
        rel: &Arc<HeapRel>,
        snapshot: &Snapshot,
        blocks: BlockNo,
        width: usize,
    ) -> Result<Reader> {
        let blocks = (0..blocks.0).map(BlockNo);
        let stream = rel.stream(Fork::Main, Box::new(blocks))?;
        Ok(Reader { rel: Arc::clone(rel), snapshot: snapshot.clone(), stream, width })
    }

    /// Reads pages until there are so many rows, in place of those of `chunk`; false at the end.
    fn fill(&mut self, chunk: &mut Chunk, rows: usize) -> Result<bool> {
        chunk.rows.clear();
        chunk.values.clear();
        (chunk.live, chunk.broken_chains, chunk.pages) = (0, false, 0);
        let mut bytes: Box<Bytes> = Box::new([0; PAGE_SIZE]);
        while chunk.rows.len() < rows {
            let Some(pin) = self.stream.next()? else { return Ok(!chunk.rows.is_empty()) };
            bytes.copy_from_slice(&*pin.read());
            let block = pin.block();
            drop(pin);
            chunk.pages += 1;
            self.page(&bytes, block, chunk)?;
        }
        Ok(true)
    }

    fn page(&self, bytes: &Bytes, block: BlockNo, out: &mut Chunk) -> Result<()> {
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
                    out.broken_chains = true;
                    continue;
                }
                Fate::RecentlyDead => false,
                Fate::Inserting => true,
                Fate::Deleting if t.hot_updated() => {
                    out.broken_chains = true;
                    continue;
                }
                Fate::Deleting => !own(t.xmax_raw())?,
            };
            // A heap-only tuple without a chain is left over from an update that aborted.
            let root = match roots[off as usize] {
                0 => continue,
                root => root,
            };
            out.live += live as u64;
            let at = out.values.len();
            out.values.resize(at + self.width, Datum::Null);
            let values = &mut out.values[at..];
            let fetcher = self.rel.fetcher();
            deform(&self.rel.desc, t.data(), t.bitmap(), t.natts(), values, &fetcher)?;
            let tid = Tid { block, offset: root };
            let version = Tid { block, offset: off };
            out.rows.push(Version { tid, version, live });
        }
        Ok(())
    }
}
