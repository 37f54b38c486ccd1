//! A table written anew, with every version that some snapshot may still look for: who inserted
//! and who deleted each stays known, and so does which version follows which. For VACUUM FULL and
//! CLUSTER; README.md, "A table written anew", has the rules.

use super::page::{self, Bytes, MAX_TUPLES, Tuple, TupleMut};
use super::prune::Fate;
use super::rel::HeapRel;
use super::visibility::{PageFacts, Undertaker};
use base::{BlockNo, Fork, Lsn, Oid, PAGE_SIZE, Result, Tid, Xid, bail};
use buffer::Persistence;
use std::collections::{HashMap, HashSet};
use types::tuple::{ToastPointer, attr_ranges};
use wal::{BlockFlags, Rmgr, xlog_info};

/// What was found and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewriteReport {
    /// Pages of the old table.
    pub pages: u32,
    /// Versions that stay.
    pub kept: u64,
    /// Those of them that are dead to later snapshots.
    pub recently_dead: u64,
    /// Versions left out.
    pub removed: u64,
    /// No version that stays has an older id that matters.
    pub oldest_id: Xid,
}

/// A version that waits for its successor's new place.
struct Row {
    bytes: Vec<u8>,
    tid: Tid,
    xmin: Xid,
    /// Somebody may not see it yet.
    unfrozen: bool,
    /// The deleter, unless there is none.
    xmax: Option<Xid>,
}

/// A table on its way from one file to another. Nobody else has to do with either.
pub struct Rewrite<'a> {
    old: &'a HeapRel,
    new: &'a HeapRel,
    horizon: Lsn,
    /// The page that is being filled.
    page: Box<Bytes>,
    block: BlockNo,
    /// Versions whose successors have no new place yet, by deleter and the successor's old place.
    waiting: HashMap<(Xid, Tid), Row>,
    /// New places of versions whose predecessors have none yet, by inserter and old place.
    placed: HashMap<(Xid, Tid), Tid>,
    /// What has been written in order, page by page.
    done: HashMap<BlockNo, [u64; MAX_TUPLES.div_ceil(64) + 1]>,
    /// Values stored apart that are still referred to, where columns were dropped.
    values: Option<HashSet<Oid>>,
    /// The only values of a TOAST table that stay, if not all do.
    only: Option<HashSet<Oid>>,
    report: RewriteReport,
}

impl<'a> Rewrite<'a> {
    /// From `old` to the empty `new`. What was deleted up to the horizon is left out.
    pub fn new(old: &'a HeapRel, new: &'a HeapRel, horizon: Lsn) -> Rewrite<'a> {
        let dropped = old.desc.attrs.iter().any(|a| a.dropped && a.len == -1);
        Rewrite {
            old,
            new,
            horizon,
            page: Box::new([0; PAGE_SIZE]),
            block: BlockNo(0),
            waiting: HashMap::new(),
            placed: HashMap::new(),
            done: HashMap::new(),
            values: dropped.then(HashSet::new),
            only: None,
            report: RewriteReport {
                pages: 0,
                kept: 0,
                recently_dead: 0,
                removed: 0,
                oldest_id: old.storage.txn.oldest_running(),
            },
        }
    }

    /// Writes the version at this place next; once only.
    pub fn copy_row(&mut self, tid: Tid) -> Result<()> {
        let mut bytes: Box<Bytes> = Box::new([0; PAGE_SIZE]);
        bytes.copy_from_slice(&*self.old.files.read_shared(Fork::Main, tid.block)?);
        let marks = self.done.entry(tid.block).or_default();
        let (word, bit) = (tid.offset as usize / 64, 1u64 << (tid.offset % 64));
        if marks.get(word).is_none_or(|w| w & bit != 0) {
            return Ok(());
        }
        marks[word] |= bit;
        self.row(&bytes, tid)
    }

    /// Writes all that [`Rewrite::copy_row`] has not; `pause` is told how many pages were read.
    pub fn copy_rest(&mut self, pause: &mut dyn FnMut(u32) -> Result<()>) -> Result<()> {
        let blocks = self.old.nblocks()?;
        self.report.pages = blocks.0;
        let all = Box::new((0..blocks.0).map(BlockNo));
        let mut stream = self.old.stream(Fork::Main, all)?;
        let mut bytes: Box<Bytes> = Box::new([0; PAGE_SIZE]);
        while let Some(pin) = stream.next()? {
            let block = pin.block();
            bytes.copy_from_slice(&*pin.read());
            drop(pin);
            pause(block.0)?;
            if page::is_new(&bytes) {
                continue;
            }
            let marks = self.done.remove(&block).unwrap_or_default();
            for offset in 1..=page::max_offset(&bytes).min(MAX_TUPLES as u16) {
                if marks[offset as usize / 64] >> (offset % 64) & 1 == 0 {
                    self.row(&bytes, Tid { block, offset })?;
                }
            }
        }
        Ok(())
    }

    /// Of a TOAST table: leaves out values that nothing refers to.
    pub fn only_values(&mut self, values: Option<HashSet<Oid>>) {
        self.only = values;
    }

    /// The last rows and the last page. Gives the values stored apart that are left, unless all
    /// are.
    pub fn finish(mut self) -> Result<(RewriteReport, Option<HashSet<Oid>>)> {
        // A successor that never came was taken back: these are the ends of their chains.
        let mut left: Vec<Row> = self.waiting.drain().map(|(_, row)| row).collect();
        left.sort_by_key(|row| row.tid.to_u64());
        for row in left {
            self.put(row, None)?;
        }
        self.write_page()?;
        Ok((self.report, self.values))
    }

    /// One version, if it stays.
    fn row(&mut self, bytes: &Bytes, tid: Tid) -> Result<()> {
        let Some(t) = page::tuple(bytes, tid.offset) else { return Ok(()) };
        let facts = PageFacts::of(bytes);
        let storage = &*self.old.storage;
        let mut keeper = Undertaker::new(storage, self.horizon);
        let deleted = match keeper.fate(t, &facts, &mut 0)? {
            Fate::Dead => {
                self.report.removed += 1;
                return Ok(());
            }
            Fate::RecentlyDead => {
                self.report.recently_dead += 1;
                true
            }
            Fate::Deleting => !t.no_deleter(),
            Fate::Live | Fate::Inserting => false,
        };
        if !self.belongs(t) {
            return Ok(());
        }
        let values = &mut self.values;
        let row = Row {
            bytes: without_dropped(self.old, t, &mut |external| {
                if let Some(values) = values {
                    values.insert(ToastPointer::decode(external)?.value);
                }
                Ok(())
            })?,
            tid,
            xmin: facts.xid(t.xmin_raw()),
            unfrozen: !keeper.inserted_for_all(t, &facts)?,
            xmax: deleted.then(|| facts.xid(t.xmax_raw())),
        };
        self.report.kept += 1;
        let ids = row.unfrozen.then_some(row.xmin).into_iter().chain(row.xmax);
        self.report.oldest_id = ids.fold(self.report.oldest_id, Xid::min);
        self.place(row)
    }

    /// False for a piece of a value that nothing refers to any more.
    fn belongs(&self, t: Tuple<'_>) -> bool {
        let id = t.data().first_chunk().map(|b| Oid(u32::from_le_bytes(*b)));
        match (&self.only, id) {
            (Some(only), Some(id)) => only.contains(&id),
            _ => true,
        }
    }

    /// Finds the row's place, and those of rows that waited for it.
    fn place(&mut self, row: Row) -> Result<()> {
        let mut next = Some(row);
        let mut successor = None;
        while let Some(row) = next.take() {
            let key = (row.xmin, row.tid);
            let (unfrozen, old) = (row.unfrozen, Tuple::new(&row.bytes).map(Tuple::ctid));
            let leads = old.filter(|c| c.block.0 != page::MOVED_BLOCK && *c != row.tid);
            if let (Some(xmax), Some(to), None) = (row.xmax, leads, successor) {
                match self.placed.remove(&(xmax, to)) {
                    Some(found) => successor = Some(found),
                    None => {
                        self.waiting.insert((xmax, to), row);
                        return Ok(());
                    }
                }
            }
            let updated =
                Tuple::new(&row.bytes).is_some_and(|t| t.mask() & page::UPDATED != 0) && unfrozen;
            let tid = self.put(row, successor.take())?;
            if updated {
                next = self.waiting.remove(&key);
                match next {
                    Some(_) => successor = Some(tid),
                    None => drop(self.placed.insert(key, tid)),
                }
            }
        }
        Ok(())
    }

    /// Puts a row into the page; its place.
    fn put(&mut self, mut row: Row, successor: Option<Tid>) -> Result<Tid> {
        let size = page::align8(row.bytes.len());
        let begun = !page::is_new(&self.page);
        if begun && page::free_space(&self.page) < size + self.new.spare_bytes() {
            self.write_page()?;
        }
        if page::is_new(&self.page) {
            let next = self.new.storage.txn.next_xid();
            page::init(&mut self.page, page::base_for(next));
        }
        let base = page::xid_base(&self.page);
        let offset = page::next_offset(&mut self.page);
        let tid = Tid { block: self.block, offset };
        let raw = |xid: Xid| match page::encode_xid(base, xid) {
            Some(raw) => Ok(raw),
            None => bail!(INTERNAL_ERROR, "transaction id {xid} does not fit a new page"),
        };
        let xmin = match row.unfrozen {
            true => raw(row.xmin)?,
            // 2 is the frozen id.
            false => page::encode_xid(base, row.xmin).unwrap_or(2),
        };
        let xmax = row.xmax.map(raw).transpose()?.unwrap_or(0);
        let mut t = TupleMut::new(&mut row.bytes);
        let moved =
            Tuple::new(t.get().bytes()).is_some_and(|t| t.ctid().block.0 == page::MOVED_BLOCK);
        if !(moved && row.xmax.is_some()) {
            t.set_ctid(successor.unwrap_or(tid));
        }
        t.set_xmin(xmin);
        t.set_xmax(xmax);
        if !row.unfrozen {
            t.change_mask(page::XMIN_FROZEN, 0);
        }
        let mut mask2 = page::HOT_UPDATED | page::HEAP_ONLY;
        if row.xmax.is_none() {
            t.change_mask(page::XMAX_INVALID, page::XMAX_COMMITTED | page::XMAX_LOCK_ONLY);
            mask2 |= page::KEYS_UPDATED;
        }
        t.change_mask2(0, mask2);
        if !page::add_tuple(&mut self.page, offset, &row.bytes) {
            bail!(INTERNAL_ERROR, "failed to add tuple to page");
        }
        page::add_prune_hint(&mut self.page, xmax);
        Ok(tid)
    }

    /// The page goes into the new file, and into the log as a whole.
    fn write_page(&mut self) -> Result<()> {
        if page::is_new(&self.page) {
            return Ok(());
        }
        let storage = &self.new.storage;
        storage.wal.check_space()?;
        let mut page = self.new.files.extend_one(Fork::Main)?;
        if page.block() != self.block {
            bail!(INTERNAL_ERROR, "a new file has other pages than its writer's");
        }
        page.copy_from_slice(&self.page[..]);
        if self.new.about.persistence == Persistence::Permanent {
            let flags = BlockFlags::STANDARD | BlockFlags::FORCE_IMAGE;
            let mut pages = [(0, &mut page, flags)];
            let (rmgr, info) = (Rmgr::Xlog, xlog_info::FPI);
            buffer::log_change(&storage.wal, rmgr, info, Xid::INVALID, &mut pages, |_| ());
        } else {
            page.mark_dirty();
        }
        self.page.fill(0);
        self.block = BlockNo(self.block.0 + 1);
        Ok(())
    }
}

/// A row's bytes with NULL in place of values of dropped columns. `external` is told of each
/// pointer to a value stored apart that stays.
fn without_dropped(
    rel: &HeapRel,
    t: Tuple<'_>,
    external: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<Vec<u8>> {
    let desc = &rel.desc;
    let n = t.natts().min(desc.natts());
    let mut ranges = vec![None; n];
    if !desc.attrs.iter().any(|a| a.dropped) {
        return Ok(t.bytes().to_vec());
    }
    attr_ranges(desc, t.data(), t.bitmap(), t.natts(), &mut ranges)?;
    let kept = |i: &usize| ranges[*i].is_some() && !desc.attrs[*i].dropped;
    let mut bits = vec![0u8; n.div_ceil(8)];
    for i in (0..n).filter(kept) {
        bits[i / 8] |= 1 << (i % 8);
    }
    let nulls = (0..n).filter(kept).count() < n;
    let hoff = page::align8(page::TUPLE_HEADER + if nulls { bits.len() } else { 0 });
    let mut data: Vec<u8> = Vec::with_capacity(t.data().len());
    let (mut wide, mut apart) = (false, false);
    for i in (0..n).filter(kept) {
        let (attr, Some(range)) = (&desc.attrs[i], ranges[i].clone()) else { continue };
        let value = &t.data()[range];
        let short = attr.len == -1 && value.first().is_some_and(|b| b & 1 != 0);
        if attr.len != -2 && !short {
            data.resize(data.len().next_multiple_of((attr.align as usize).max(1)), 0);
        }
        wide |= attr.len < 0;
        if attr.len == -1 && value.first() == Some(&1) {
            apart = true;
            external(value)?;
        }
        data.extend_from_slice(value);
    }
    let mut out = t.bytes()[..page::TUPLE_HEADER].to_vec();
    out.resize(hoff, 0);
    if nulls {
        out[page::TUPLE_HEADER..page::TUPLE_HEADER + bits.len()].copy_from_slice(&bits);
    }
    let shape = page::HAS_NULL | page::HAS_VARWIDTH | page::HAS_EXTERNAL;
    let mask = (t.mask() & !shape)
        | if nulls { page::HAS_NULL } else { 0 }
        | if wide { page::HAS_VARWIDTH } else { 0 }
        | if apart { page::HAS_EXTERNAL } else { 0 };
    let mask2 = t.mask2() & !page::NATTS_MASK;
    let mut header = TupleMut::new(&mut out);
    header.set_shape(n as u16, mask, hoff as u8);
    header.change_mask2(mask2, 0);
    out.extend_from_slice(&data);
    Ok(out)
}
