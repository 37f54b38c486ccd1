//! VACUUM: takes dead rows out of the table and its indexes, freezes, keeps the visibility and
//! free space maps, gives empty pages at the end back.

use super::freeze::Freeze;
use super::log::Touched;
use super::page::{self, PrunePlan};
use super::prune::Fate;
use super::rel::HeapRel;
use super::visibility::{PageFacts, Undertaker};
use super::{record, vm};
use crate::index::{self, IndexRel};
use base::progress::{self, Command, vacuum as figure};
use base::{BlockNo, Fork, Lsn, Result, Tid, Xid};
use buffer::{PageMut, Strategy};
use std::sync::Arc;

/// Tells how far the vacuum is.
fn tell(number: usize, value: i64) {
    progress::set(Command::Vacuum, number, value);
}

/// Which pages a vacuum passes over, going by the visibility map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Skip {
    /// Those in which all see all rows.
    AllVisible,
    /// Those in which moreover all rows are frozen.
    AllFrozen,
    /// None.
    Nothing,
}

/// How to vacuum.
pub struct VacuumOptions<'a> {
    /// Which pages it does not look at.
    pub skip: Skip,
    /// Rows with older ids are frozen.
    pub freeze_before: Xid,
    /// Go through the indexes, so that line pointers can be freed.
    pub index_cleanup: bool,
    /// How its reads treat the pool.
    pub strategy: Strategy,
    /// Most dead rows remembered between two passes over the indexes.
    pub dead_limit: usize,
    /// Asked when pages at the end could be given back: takes the lock that keeps all others out
    /// of the table, or says false. None: do not truncate.
    pub lock_for_truncation: Option<&'a mut dyn FnMut() -> Result<bool>>,
    /// Called for each page: interrupts, cost delay, progress (blocks done, of all).
    pub pause: &'a mut dyn FnMut(BlockNo, BlockNo) -> Result<()>,
}

/// What a vacuum did and found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VacuumReport {
    /// Pages when it began.
    pub pages: u32,
    /// Pages looked at.
    pub scanned: u32,
    /// Pages given back.
    pub removed_pages: u32,
    /// Rows that remain, extrapolated if pages were skipped.
    pub live_tuples: f64,
    /// Versions that are dead but may still be seen.
    pub recently_dead: u64,
    /// Versions removed.
    pub deleted: u64,
    /// Rows frozen.
    pub frozen: u64,
    /// Pages with frozen rows.
    pub frozen_pages: u32,
    /// Dead line pointers that were freed.
    pub dead_items: u64,
    /// Pages they were in.
    pub dead_item_pages: u32,
    /// Passes over the indexes.
    pub index_passes: u32,
    /// Pages newly marked all-visible.
    pub new_all_visible: u32,
    /// Pages newly marked all-frozen, and how many of those were all-visible before.
    pub new_all_frozen: u32,
    /// See `new_all_frozen`.
    pub frozen_visible: u32,
    /// Pages marked all-visible at the end.
    pub all_visible: u32,
    /// And all-frozen.
    pub all_frozen: u32,
    /// What came of each index.
    pub indexes: Vec<index::VacuumStats>,
    /// No row of the table has an older id that matters; None if pages were passed over that may
    /// have some.
    pub oldest_id: Option<Xid>,
    /// What was committed up to here all could see: later deletions had to stay.
    pub horizon: Lsn,
}

/// Dead rows, in order.
#[derive(Default)]
struct DeadRows {
    tids: Vec<u64>,
}

impl DeadRows {
    fn contains(&self, tid: Tid) -> bool {
        self.tids.binary_search(&tid.to_u64()).is_ok()
    }
}

struct Vacuum<'a, 'o> {
    rel: &'a HeapRel,
    indexes: &'a [Arc<IndexRel>],
    options: VacuumOptions<'o>,
    report: VacuumReport,
    dead: DeadRows,
    horizon: Lsn,
    live_seen: u64,
    /// No row that was looked at has an older id.
    oldest: Xid,
    /// Pages were passed over that are not all-frozen.
    passed_ids: bool,
    /// The page after the last that holds anything.
    nonempty_end: u32,
}

impl HeapRel {
    /// Vacuums the table. The caller holds the lock that keeps other vacuums and DDL out.
    pub fn vacuum(
        &self,
        indexes: &[Arc<IndexRel>],
        known_tuples: f64,
        options: VacuumOptions<'_>,
    ) -> Result<VacuumReport> {
        let horizon = self.storage.horizon();
        // Whoever adds rows from now on has an id that is not older.
        let oldest = self.storage.txn.oldest_running();
        let mut v = Vacuum {
            rel: self,
            indexes,
            options,
            report: VacuumReport { horizon, ..VacuumReport::default() },
            dead: DeadRows::default(),
            horizon,
            live_seen: 0,
            oldest,
            passed_ids: false,
            nonempty_end: 0,
        };
        v.report.indexes = vec![index::VacuumStats::default(); indexes.len()];
        tell(figure::INDEXES, indexes.len() as i64);
        tell(figure::MAX_DEAD_BYTES, v.options.dead_limit as i64 * 8);
        tell(figure::PHASE, figure::SCANNING);
        v.scan()?;
        v.sweep()?;
        tell(figure::PHASE, figure::INDEX_CLEANUP);
        tell(figure::INDEXES_DONE, 0);
        for (i, index) in indexes.iter().enumerate() {
            index.am().cleanup(&self.storage, index, &mut v.report.indexes[i])?;
            tell(figure::INDEXES_DONE, i as i64 + 1);
        }
        v.estimate(known_tuples);
        self.files.vacuum_free_space()?;
        v.truncate()?;
        tell(figure::PHASE, figure::FINAL_CLEANUP);
        (v.report.all_visible, v.report.all_frozen) = self.visibility_counts()?;
        v.report.oldest_id = (!v.passed_ids).then_some(v.oldest);
        Ok(v.report)
    }

    /// What a page is after pruning: rows that count, rows that some may still see, and the bits
    /// it deserves in the visibility map.
    fn appraise(&self, page: &PageMut<'_>, horizon: Lsn) -> Result<Appraisal> {
        let facts = PageFacts::of(page);
        let mut keeper = Undertaker::new(&self.storage, horizon);
        let mut a = Appraisal { visible: true, frozen: true, ..Appraisal::default() };
        for off in 1..=page::max_offset(page) {
            let t = match page::line(page, off) {
                page::Line::Dead => {
                    // It goes before the end of the table is looked at.
                    a.dead.push(off);
                    a.visible = false;
                    continue;
                }
                page::Line::Unused | page::Line::Redirect(_) => continue,
                page::Line::Normal { .. } => match page::tuple(page, off) {
                    Some(t) => t,
                    None => {
                        a.visible = false;
                        continue;
                    }
                },
            };
            a.used = true;
            a.oldest = super::freeze::oldest_id(t, &facts).into_iter().chain(a.oldest).min();
            match keeper.fate(t, &facts, &mut 0)? {
                Fate::Live => {
                    a.live += 1;
                    a.visible &= keeper.inserted_for_all(t, &facts)?;
                    a.frozen &= t.frozen() && t.xmax_raw() == 0;
                    // A deleter that aborted leaves its mark until it is cleared.
                    a.visible &= t.no_deleter();
                }
                Fate::RecentlyDead => {
                    a.recently_dead += 1;
                    a.visible = false;
                }
                Fate::Deleting | Fate::Inserting => {
                    a.live += 1;
                    a.visible = false;
                }
                Fate::Dead => a.visible = false,
            }
        }
        Ok(a)
    }
}

/// What a page is after pruning.
#[derive(Default)]
struct Appraisal {
    live: u64,
    recently_dead: u64,
    dead: Vec<u16>,
    visible: bool,
    frozen: bool,
    used: bool,
    /// The oldest id that matters.
    oldest: Option<Xid>,
}

impl Appraisal {
    fn bits(&self) -> u8 {
        match (self.visible, self.frozen) {
            (true, true) => vm::ALL_VISIBLE | vm::ALL_FROZEN,
            (true, false) => vm::ALL_VISIBLE,
            _ => 0,
        }
    }
}

impl Vacuum<'_, '_> {
    /// The first pass over the table.
    fn scan(&mut self) -> Result<()> {
        let rel = self.rel;
        let all = rel.nblocks()?;
        self.report.pages = all.0;
        tell(figure::BLOCKS, i64::from(all.0));
        let blocks = self.blocks_to_scan(all)?;
        self.report.scanned = blocks.len() as u32;
        // What was skipped holds rows.
        let mut expected = all.0;
        for b in blocks.iter().rev() {
            if b.0 + 1 != expected {
                break;
            }
            expected = b.0;
        }
        self.nonempty_end = expected;
        let mut stream = rel.stream_with(self.options.strategy, Box::new(blocks.into_iter()));
        while let Some(pin) = stream.next()? {
            let block = pin.block();
            tell(figure::SCANNED, i64::from(block.0));
            (self.options.pause)(block, all)?;
            let mut page = pin.write();
            let free = self.page(&mut page)?;
            drop(page);
            drop(pin);
            if let Some(free) = free {
                rel.files.record_free_space(block, free)?;
            }
            if self.dead.tids.len() >= self.options.dead_limit.max(page::MAX_TUPLES) {
                self.sweep()?;
            }
        }
        Ok(())
    }

    fn blocks_to_scan(&mut self, all: BlockNo) -> Result<Vec<BlockNo>> {
        let mut blocks = Vec::new();
        let mut map: Option<(BlockNo, Box<page::Bytes>)> = None;
        let map_blocks = self.rel.files.nblocks(Fork::Vm)?;
        for b in (0..all.0).map(BlockNo) {
            let at = vm::map_block(b);
            let bit = match self.options.skip {
                Skip::AllVisible => vm::ALL_VISIBLE,
                Skip::AllFrozen => vm::ALL_FROZEN,
                Skip::Nothing => 0,
            };
            if bit != 0 && at < map_blocks {
                if map.as_ref().is_none_or(|m| m.0 != at) {
                    let page = self.rel.files.read_shared(Fork::Vm, at)?;
                    map = Some((at, Box::new(*page)));
                }
                if let Some((_, bytes)) = &map
                    && !page::is_new(bytes)
                    && vm::get(bytes, b) & bit != 0
                {
                    self.passed_ids |= vm::get(bytes, b) & vm::ALL_FROZEN == 0;
                    continue;
                }
            }
            blocks.push(b);
        }
        Ok(blocks)
    }

    /// Prunes, freezes and judges one page. Gives its free space if that is final.
    fn page(&mut self, page: &mut PageMut<'_>) -> Result<Option<usize>> {
        let block = page.block();
        if page::is_new(page) {
            return Ok(Some(page::MAX_TUPLE_SIZE));
        }
        let no_indexes = self.indexes.is_empty();
        let before = count_normal(page);
        let freeze = Freeze::Before(self.options.freeze_before);
        let plan = self.rel.prune_below(page, self.horizon, freeze, no_indexes)?;
        self.count(&plan, before - count_normal(page).min(before));
        let a = self.rel.appraise(page, self.horizon)?;
        self.live_seen += a.live;
        self.report.recently_dead += a.recently_dead;
        self.oldest = a.oldest.map_or(self.oldest, |id| id.min(self.oldest));
        if a.used {
            self.nonempty_end = self.nonempty_end.max(block.0 + 1);
        }
        if a.bits() != 0 {
            let before = self.rel.visibility(block)?;
            self.count_bits(before, a.bits());
            self.rel.set_visible(page, a.bits())?;
        }
        self.report.dead_item_pages += u32::from(!a.dead.is_empty());
        if !self.options.index_cleanup {
            self.report.dead_items += a.dead.len() as u64;
            return Ok(Some(page::free_space(page)));
        }
        if a.dead.is_empty() {
            return Ok(Some(page::free_space(page)));
        }
        let tid = |&offset: &u16| Tid { block, offset }.to_u64();
        self.dead.tids.extend(a.dead.iter().map(tid));
        tell(figure::DEAD_ITEMS, self.dead.tids.len() as i64);
        tell(figure::DEAD_BYTES, self.dead.tids.len() as i64 * 8);
        Ok(None)
    }

    /// A page gets these bits in the visibility map.
    fn count_bits(&mut self, before: u8, bits: u8) {
        let new = bits & !before;
        self.report.new_all_visible += u32::from(new & vm::ALL_VISIBLE != 0);
        if new & vm::ALL_FROZEN != 0 {
            self.report.new_all_frozen += 1;
            self.report.frozen_visible += u32::from(before & vm::ALL_VISIBLE != 0);
        }
    }

    fn count(&mut self, plan: &PrunePlan, gone: usize) {
        self.report.deleted += gone as u64;
        self.report.frozen += plan.freeze_xmin.len() as u64;
        self.report.frozen_pages += !plan.freeze_xmin.is_empty() as u32;
    }

    /// Removes the index entries of the dead rows, then frees their line pointers.
    fn sweep(&mut self) -> Result<()> {
        if self.dead.tids.is_empty() {
            return Ok(());
        }
        let dead = std::mem::take(&mut self.dead);
        let storage = &self.rel.storage;
        tell(figure::PHASE, figure::INDEX_VACUUM);
        tell(figure::INDEXES_DONE, 0);
        for (i, index) in self.indexes.iter().enumerate() {
            let stats = &mut self.report.indexes[i];
            index.am().bulk_delete(storage, index, &|tid| dead.contains(tid), stats)?;
            tell(figure::INDEXES_DONE, i as i64 + 1);
        }
        self.report.index_passes += u32::from(!self.indexes.is_empty());
        tell(figure::INDEX_PASSES, i64::from(self.report.index_passes));
        tell(figure::PHASE, figure::HEAP_VACUUM);
        self.report.dead_items += dead.tids.len() as u64;
        let mut at = 0;
        while at < dead.tids.len() {
            let block = Tid::from_u64(dead.tids[at]).block;
            let n =
                dead.tids[at..].iter().take_while(|&&t| Tid::from_u64(t).block == block).count();
            (self.options.pause)(block, BlockNo(self.report.pages))?;
            self.free_lines(block, &dead.tids[at..at + n])?;
            tell(figure::VACUUMED, i64::from(block.0) + 1);
            at += n;
        }
        tell(figure::DEAD_ITEMS, 0);
        tell(figure::DEAD_BYTES, 0);
        tell(figure::PHASE, figure::SCANNING);
        Ok(())
    }

    /// Frees line pointers whose index entries are gone.
    fn free_lines(&mut self, block: BlockNo, dead: &[u64]) -> Result<()> {
        let rel = self.rel;
        let mut page = rel.files.read_exclusive(Fork::Main, block)?;
        let offsets = dead.iter().map(|&t| Tid::from_u64(t).offset);
        let still = |off: &u16| page::line(&page, *off) == page::Line::Dead;
        let unused: Vec<u16> = offsets.filter(still).collect();
        if !unused.is_empty() {
            let plan = PrunePlan { unused, ..PrunePlan::default() };
            let hint = page::prune_hint(&page);
            page::apply_prune(&mut page, &plan, hint);
            let main = record::put_prune(&plan, hint);
            let touched = Touched::new(0, &mut page);
            rel.log(record::PRUNE, Xid::INVALID, &main, touched, None);
        }
        let a = rel.appraise(&page, self.horizon)?;
        if a.bits() != 0 {
            let before = rel.visibility(block)?;
            self.count_bits(before, a.bits());
            rel.set_visible(&mut page, a.bits())?;
        }
        let free = page::free_space(&page);
        drop(page);
        rel.files.record_free_space(block, free)
    }

    /// How many rows there are, as far as the pages looked at tell.
    fn estimate(&mut self, known: f64) {
        let (pages, scanned) = (self.report.pages as f64, self.report.scanned as f64);
        let seen = self.live_seen as f64;
        self.report.live_tuples = if self.report.scanned >= self.report.pages {
            seen
        } else if known < 0.0 || scanned == 0.0 {
            if scanned == 0.0 { known.max(0.0) } else { (seen / scanned * pages).round() }
        } else {
            // Pages that were not looked at are as full as the table was on average before.
            (known / pages * (pages - scanned) + seen).round()
        };
    }

    /// Gives empty pages at the end back, if there are enough and the lock can be had.
    fn truncate(&mut self) -> Result<()> {
        let rel = self.rel;
        let Some(lock) = self.options.lock_for_truncation.as_mut() else { return Ok(()) };
        let pages = rel.nblocks()?.0;
        let empty = pages.saturating_sub(self.nonempty_end);
        if empty == 0 || (empty < 1000 && empty < pages / 16) {
            return Ok(());
        }
        tell(figure::PHASE, figure::TRUNCATING);
        if !lock()? {
            return Ok(());
        }
        // Somebody may have used the pages before the lock was there.
        let pages = rel.nblocks()?.0;
        let mut keep = pages;
        while keep > self.nonempty_end {
            let page = rel.files.read_shared(Fork::Main, BlockNo(keep - 1))?;
            let used = (1..=page::max_offset(&page))
                .any(|off| page::line(&page, off) != page::Line::Unused);
            if used && !page::is_new(&page) {
                break;
            }
            keep -= 1;
        }
        if keep < pages {
            rel.truncate_to(BlockNo(keep))?;
            self.report.removed_pages = pages - keep;
        }
        Ok(())
    }
}

fn count_normal(page: &page::Bytes) -> usize {
    let normal = |&off: &u16| matches!(page::line(page, off), page::Line::Normal { .. });
    (1..=page::max_offset(page)).filter(normal).count()
}
