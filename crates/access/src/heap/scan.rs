//! Scans: page after page, each judged once under its latch, its needed columns copied straight
//! into typed vectors.

use super::decode::Decoder;
use super::page::{self, Bytes};
use super::rel::HeapRel;
use super::serial_read;
use super::visibility::{Hints, PageFacts, Sight, Viewer};
use base::{BlockNo, CommandId, Fork, Result, Tid, Xid};
use buffer::{PageRef, Persistence, Pin, ReadStream, Strategy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use txn::Snapshot;
use types::{BATCH_ROWS, Batch, ColumnBuilder};

/// System columns of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SystemColumns {
    /// `xmin`
    pub xmin: Xid,
    /// `xmax`
    pub xmax: Xid,
    /// `cmin` and `cmax`
    pub cid: CommandId,
}

/// Which rows of a page count, beside visibility: for samples and ranges of tids.
pub type RowFilter = Box<dyn FnMut(Tid) -> bool + Send>;

/// Whose eyes a scan has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ScanSight {
    /// The snapshot's.
    #[default]
    Mvcc,
    /// As of now, for the snapshot's transaction.
    Now,
    /// Every version.
    Any,
}

/// What a scan should do.
#[derive(Default)]
pub struct ScanOptions {
    /// Positions of the columns wanted, ascending.
    pub columns: Vec<usize>,
    /// Keep each row's place.
    pub tids: bool,
    /// Keep each row's system columns.
    pub system: bool,
    /// Whose eyes.
    pub sight: ScanSight,
    /// Which rows count.
    pub filter: Option<RowFilter>,
}

/// Where a scan's pages come from.
pub enum ScanSource {
    /// The whole table.
    All,
    /// The whole table from this page on, and then what is before it, telling others where it is
    /// (see [`HeapRel::scan_start`]).
    Circular(u32),
    /// Pages shared out among the scans of a parallel plan.
    Parallel(Arc<ParallelBlocks>),
    /// These pages.
    Blocks(Box<dyn Iterator<Item = BlockNo> + Send>),
    /// These rows, as a bitmap of index results names them; pages ascending.
    Bitmap(Arc<Vec<BitmapPage>>),
}

/// Rows of one page that a bitmap names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitmapPage {
    /// The page.
    pub block: BlockNo,
    /// Line pointers, ascending; None if the bitmap only knows the page.
    pub offsets: Option<Vec<u16>>,
    /// The rows' conditions must be checked again.
    pub recheck: bool,
}

/// Hands out pages of a table to the scans of a parallel plan.
pub struct ParallelBlocks {
    next: AtomicU32,
    blocks: u32,
    chunk: u32,
}

impl ParallelBlocks {
    /// For a table of that many pages.
    pub fn new(blocks: BlockNo) -> ParallelBlocks {
        // About 2048 pieces, so that the workers end at about the same time.
        let chunk = (blocks.0 / 2048).clamp(1, 8192).next_power_of_two();
        ParallelBlocks { next: AtomicU32::new(0), blocks: blocks.0, chunk }
    }

    /// Starts over, for a rescan.
    pub fn reset(&self) {
        self.next.store(0, Ordering::Relaxed);
    }

    fn take(&self) -> std::ops::Range<u32> {
        let first = self.next.load(Ordering::Relaxed);
        if first >= self.blocks {
            return 0..0;
        }
        let first = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        // Adding can pass the end by at most a chunk for each worker: no overflow to fear.
        first.min(self.blocks)..first.saturating_add(self.chunk).min(self.blocks)
    }
}

struct Shared {
    from: Arc<ParallelBlocks>,
    range: std::ops::Range<u32>,
}

impl Iterator for Shared {
    type Item = BlockNo;
    fn next(&mut self) -> Option<BlockNo> {
        if self.range.is_empty() {
            self.range = self.from.take();
        }
        self.range.next().map(BlockNo)
    }
}

impl HeapRel {
    /// Where a scan of a large table begins that keeps others company: at the page where one was
    /// lately, so that both read each page once (`synchronize_seqscans`). None for small tables.
    pub fn scan_start(&self) -> Result<Option<u32>> {
        let blocks = self.nblocks()?;
        let large = self.storage.pool.scan_strategy(blocks) == Strategy::BulkRead;
        let shared = self.files.persistence() != Persistence::Temp;
        Ok((large && shared).then(|| self.files.scan_place() % blocks.0.max(1)))
    }

    /// All pages from `start` on, round the end.
    fn circle(&self, start: u32) -> Result<impl Iterator<Item = BlockNo> + Send + use<>> {
        /// Others are told of one page in so many.
        const TOLD: u32 = 16;
        let (files, blocks) = (Arc::clone(&self.files), self.nblocks()?.0);
        Ok((start..blocks).chain(0..start.min(blocks)).map(move |block| {
            if block.is_multiple_of(TOLD) {
                files.note_scan_place(block);
            }
            BlockNo(block)
        }))
    }
}

/// The page a scan is in.
struct Current {
    pin: Pin,
    /// Line pointers of the rows that are seen.
    offsets: Vec<u16>,
    /// How many of them were delivered.
    done: usize,
}

/// A running scan.
pub struct HeapScan {
    rel: Arc<HeapRel>,
    snapshot: Arc<Snapshot>,
    sight: ScanSight,
    decoder: Decoder,
    builders: Vec<ColumnBuilder>,
    stream: ReadStream,
    bitmap: Option<Arc<Vec<BitmapPage>>>,
    bitmap_at: usize,
    recheck: bool,
    current: Option<Current>,
    /// A vector to use again.
    spare: Vec<u16>,
    want_tids: bool,
    want_system: bool,
    tids: Vec<Tid>,
    system: Vec<SystemColumns>,
    filter: Option<RowFilter>,
    prune_horizon: super::rel::PruneClock,
    /// Tuples of the current page that are not seen.
    unseen: usize,
}

impl HeapScan {
    /// Begins a scan of `rel` through `snapshot`.
    pub fn new(
        rel: &Arc<HeapRel>,
        snapshot: &Arc<Snapshot>,
        source: ScanSource,
        options: ScanOptions,
    ) -> Result<HeapScan> {
        let mut bitmap = None;
        if let (Some(serial), ScanSight::Mvcc) = (snapshot.serial(), options.sight)
            && !matches!(source, ScanSource::Bitmap(_))
        {
            serial.read_relation(rel.about.file.database, rel.oid());
        }
        let blocks: Box<dyn Iterator<Item = BlockNo> + Send> = match source {
            ScanSource::All => Box::new((0..rel.nblocks()?.0).map(BlockNo)),
            ScanSource::Circular(start) => Box::new(rel.circle(start)?),
            ScanSource::Parallel(from) => Box::new(Shared { from, range: 0..0 }),
            ScanSource::Blocks(blocks) => blocks,
            ScanSource::Bitmap(pages) => {
                bitmap = Some(Arc::clone(&pages));
                let n = pages.len();
                Box::new((0..n).map(move |i| pages[i].block))
            }
        };
        let decoder = Decoder::new(Arc::clone(&rel.desc), &options.columns);
        Ok(HeapScan {
            rel: Arc::clone(rel),
            snapshot: Arc::clone(snapshot),
            sight: options.sight,
            builders: decoder.builders(),
            decoder,
            stream: rel.stream(Fork::Main, blocks)?,
            bitmap,
            bitmap_at: 0,
            recheck: false,
            current: None,
            spare: Vec::new(),
            want_tids: options.tids,
            want_system: options.system,
            tids: Vec::new(),
            system: Vec::new(),
            filter: options.filter,
            prune_horizon: super::rel::PruneClock::default(),
            unseen: 0,
        })
    }

    /// Fills `batch` with up to `max` rows (at most a batch's); false at the end.
    pub fn next_batch(&mut self, batch: &mut Batch, max: usize) -> Result<bool> {
        let max = max.clamp(1, BATCH_ROWS);
        self.tids.clear();
        self.system.clear();
        let mut len = 0;
        while len < max {
            if self.current.is_none() {
                let Some(pin) = self.stream.next()? else { break };
                let recheck = self.bitmap.as_ref().is_some_and(|b| b[self.bitmap_at].recheck);
                if len > 0 && recheck != self.recheck {
                    // A batch is rechecked as a whole or not at all: this page is the next's.
                    self.current = Some(self.enter(pin)?);
                    break;
                }
                self.recheck = recheck;
                len += self.enter_and_read(pin, max - len)?;
            } else {
                if len == 0 && self.bitmap_at > 0 {
                    self.recheck =
                        self.bitmap.as_ref().is_some_and(|b| b[self.bitmap_at - 1].recheck);
                }
                len += self.read_on(max - len)?;
            }
        }
        *batch = self.decoder.finish(len, &mut self.builders);
        Ok(len > 0)
    }

    /// Places of the last batch's rows, if they were asked for.
    pub fn tids(&self) -> &[Tid] {
        &self.tids
    }

    /// System columns of the last batch's rows, if they were asked for.
    pub fn system(&self) -> &[SystemColumns] {
        &self.system
    }

    /// True if the last batch's rows come from a bitmap that may name too many.
    pub fn recheck(&self) -> bool {
        self.recheck
    }

    /// Enters a page without reading rows yet.
    fn enter(&mut self, pin: Pin) -> Result<Current> {
        let mut offsets = std::mem::take(&mut self.spare);
        self.rel.prune_if_worthwhile(&pin, &mut self.prune_horizon)?;
        let latched = pin.read();
        let latched = self.visible(latched, &mut offsets)?;
        drop(latched);
        Ok(Current { pin, offsets, done: 0 })
    }

    /// Enters a page and reads up to `room` of its rows under the same latch.
    fn enter_and_read(&mut self, pin: Pin, room: usize) -> Result<usize> {
        let mut offsets = std::mem::take(&mut self.spare);
        self.rel.prune_if_worthwhile(&pin, &mut self.prune_horizon)?;
        let latched = pin.read();
        let latched = self.visible(latched, &mut offsets)?;
        let n = offsets.len().min(room);
        self.read_rows(latched, &offsets[..n])?;
        if n == offsets.len() {
            self.spare = offsets;
            self.rel.prune_crowded(&pin, self.unseen, &mut self.prune_horizon)?;
        } else {
            self.current = Some(Current { pin, offsets, done: n });
        }
        Ok(n)
    }

    /// Reads on in the current page. What a snapshot sees no pruning takes away, so the line
    /// pointers that were found stay good while others latch the page in between.
    fn read_on(&mut self, room: usize) -> Result<usize> {
        let Some(mut current) = self.current.take() else { return Ok(0) };
        let n = (current.offsets.len() - current.done).min(room);
        let latched = current.pin.read();
        self.read_rows(latched, &current.offsets[current.done..current.done + n])?;
        current.done += n;
        if current.done == current.offsets.len() {
            self.spare = current.offsets;
        } else {
            self.current = Some(current);
        }
        Ok(n)
    }

    /// Finds the rows of a page that are seen.
    fn visible<'p>(&mut self, latched: PageRef<'p>, offsets: &mut Vec<u16>) -> Result<PageRef<'p>> {
        offsets.clear();
        self.unseen = 0;
        let block = latched.block();
        let bytes: &Bytes = &latched;
        let mut hints = Hints::new();
        let wanted = match &self.bitmap {
            Some(b) => {
                self.bitmap_at += 1;
                b.get(self.bitmap_at - 1).and_then(|p| p.offsets.as_deref())
            }
            None => None,
        };
        if page::is_new(bytes) {
            return Ok(latched);
        }
        let sight = match self.sight {
            ScanSight::Mvcc => Sight::Mvcc(&self.snapshot),
            ScanSight::Now => Sight::Now(&self.snapshot),
            ScanSight::Any => Sight::Any,
        };
        let viewer = Viewer::new(&self.rel.storage, sight);
        let facts = PageFacts::of(bytes);
        if let Some(wanted) = wanted {
            for &root in wanted {
                let found = viewer.search_chain(bytes, block, root, &facts, &mut hints)?;
                // Two entries of one row can lead to the same version.
                if let Some(off) = found.filter(|o| !offsets.contains(o)) {
                    offsets.push(off);
                }
            }
        } else {
            self.unseen = visible_offsets(bytes, &viewer, &facts, offsets, &mut hints)?;
        }
        if let (Some(serial), ScanSight::Mvcc) = (self.snapshot.serial(), self.sight) {
            let place = serial_read::Place { rel: &self.rel, serial, snapshot: &self.snapshot };
            place.page(bytes, block, &facts, wanted.map(|w| (w, &offsets[..])))?;
        }
        if let Some(filter) = &mut self.filter {
            offsets.retain(|&offset| filter(Tid { block, offset }));
        }
        Ok(set_hints(latched, &hints))
    }

    /// Copies the needed columns of rows out of a latched page.
    fn read_rows(&mut self, latched: PageRef<'_>, offsets: &[u16]) -> Result<()> {
        let bytes: &Bytes = &latched;
        let block = latched.block();
        if self.want_tids {
            self.tids.extend(offsets.iter().map(|&offset| Tid { block, offset }));
        }
        if self.want_system {
            let facts = PageFacts::of(bytes);
            for &off in offsets {
                self.system.push(system_columns(bytes, off, &facts));
            }
        }
        if self.decoder.needed().is_empty() {
            return Ok(());
        }
        let upcoming = self.stream.upcoming();
        upcoming.prefetch_head(page::HEADER_SIZE + offsets.len() * page::LINE_SIZE);
        let far = |off: &u16| page::tuple(bytes, *off).is_some_and(|t| self.decoder.may_fetch(t));
        if self.decoder.has_varlena() && offsets.iter().any(far) {
            // Values stored apart are fetched without the latch, from a copy of the page.
            let copy: Box<Bytes> = Box::new(*bytes);
            drop(latched);
            let fetcher = self.rel.fetcher();
            return self.decoder.page(&copy, offsets, &mut self.builders, &fetcher, upcoming);
        }
        self.decoder.page(bytes, offsets, &mut self.builders, &types::NoDetoast, upcoming)
    }
}

/// Line pointers of the rows in a page that the viewer sees; gives how many tuples it does not
/// see.
pub fn visible_offsets(
    bytes: &Bytes,
    viewer: &Viewer<'_>,
    facts: &PageFacts,
    offsets: &mut Vec<u16>,
    hints: &mut Hints,
) -> Result<usize> {
    if page::all_visible(bytes) {
        page::normal_offsets(bytes, offsets);
        return Ok(0);
    }
    let mut unseen = 0;
    let limit = viewer.limit(facts);
    offsets.reserve(page::max_offset(bytes).min(page::MAX_TUPLES as u16) as usize);
    // After many updates most line pointers have no tuple.
    for (off, line) in (1..).zip(page::raw_lines(bytes)).filter(|(_, line)| line.is_normal()) {
        // What most tuples are was settled before the snapshot was made.
        let glance = limit.and_then(|limit| page::glance_along(bytes, line)?.seen(limit));
        if let Some(seen) = glance {
            match seen {
                true => offsets.push(off),
                false => unseen += 1,
            }
            continue;
        }
        let Some(t) = page::tuple(bytes, off) else { continue };
        let mut hint = 0;
        match viewer.sees_tuple(t, facts, &mut hint)? {
            true => offsets.push(off),
            false => unseen += 1,
        }
        if hint != 0 {
            hints.push((off, hint));
        }
    }
    Ok(unseen)
}

/// System columns of one tuple.
pub fn system_columns(bytes: &Bytes, off: u16, facts: &PageFacts) -> SystemColumns {
    match page::tuple(bytes, off) {
        Some(t) => SystemColumns {
            xmin: facts.xid(t.xmin_raw()),
            xmax: facts.xid(t.xmax_raw()),
            cid: CommandId(t.cid()),
        },
        None => SystemColumns::default(),
    }
}

/// Sets hint bits if nobody else is in the page. They do not make it dirty: a page that goes to
/// disk for nothing but hints could be torn there without an image in the log to mend it.
pub fn set_hints<'p>(latched: PageRef<'p>, hints: &Hints) -> PageRef<'p> {
    if hints.is_empty() {
        return latched;
    }
    match latched.try_upgrade() {
        Ok(mut exclusive) => {
            for &(off, bits) in hints {
                if let Some(mut t) = page::tuple_mut(&mut exclusive, off) {
                    t.change_mask(bits, 0);
                }
            }
            exclusive.downgrade()
        }
        Err(latched) => latched,
    }
}
