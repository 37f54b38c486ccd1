//! A table as this crate knows it, and where in it rows go.

use super::change;
use super::freeze::Freeze;
use super::log::{Touched, log_change};
use super::page::{self, TupleMut};
use super::{prune, record, vm};
use crate::toast::{ToastRel, Toaster, reduce};
use crate::{ExecTxn, Storage};
use base::{BlockNo, Fork, Oid, RelFile, Result, Tid, Xid, bail};
use buffer::{PageMut, Persistence, Pin, ReadStream, RelFiles, Strategy};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use types::tuple::{append_values, form_tuple_with};
use types::{Datum, TupleDesc};
use wal::Rmgr;

/// A set of columns, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttrSet(Vec<u64>);

impl AttrSet {
    /// True if column `i` is in it.
    pub fn contains(&self, i: usize) -> bool {
        self.0.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 != 0)
    }

    /// Puts column `i` into it.
    pub fn insert(&mut self, i: usize) {
        if self.0.len() <= i / 64 {
            self.0.resize(i / 64 + 1, 0);
        }
        self.0[i / 64] |= 1 << (i % 64);
    }

    /// True if no column is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|w| *w == 0)
    }

    /// The columns in it, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let left = |w: &u64| Some(w & (w - 1)).filter(|w| *w != 0);
            let words = std::iter::successors(Some(word).filter(|w| *w != 0), left);
            words.map(move |w| at * 64 + w.trailing_zeros() as usize)
        })
    }

    /// True if all columns in it are in the other set too.
    pub fn is_subset(&self, of: &AttrSet) -> bool {
        let others = of.0.iter().copied().chain(std::iter::repeat(0));
        self.0.iter().zip(others).all(|(own, other)| own & !other == 0)
    }
}

impl FromIterator<usize> for AttrSet {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> AttrSet {
        let mut set = AttrSet::default();
        columns.into_iter().for_each(|c| set.insert(c));
        set
    }
}

/// What the catalog tells about a table.
#[derive(Clone, Debug)]
pub struct HeapDesc {
    /// `pg_class.oid`.
    pub oid: Oid,
    /// Name, for messages.
    pub name: Arc<str>,
    /// Its files.
    pub file: RelFile,
    /// What happens to its pages in a crash.
    pub persistence: Persistence,
    /// The columns.
    pub columns: Arc<TupleDesc>,
    /// Percent of a page that insertions fill.
    pub fillfactor: u8,
    /// Columns that some index other than a summarizing one uses, in its key, its INCLUDE list,
    /// its expressions or its predicate.
    pub indexed: AttrSet,
    /// Columns that only summarizing indexes use.
    pub summarized: AttrSet,
    /// Columns of unique indexes that a foreign key could refer to.
    pub keys: AttrSet,
}

impl HeapDesc {
    /// A table of these columns without indexes.
    pub fn new(oid: Oid, file: RelFile, columns: Arc<TupleDesc>) -> HeapDesc {
        HeapDesc {
            oid,
            name: Arc::from(""),
            file,
            persistence: Persistence::Permanent,
            columns,
            fillfactor: 100,
            indexed: AttrSet::default(),
            summarized: AttrSet::default(),
            keys: AttrSet::default(),
        }
    }
}

const HINTS: usize = 16;

/// A table. Made once per relation cache entry and shared.
pub struct HeapRel {
    /// Pool, log and transactions.
    pub storage: Arc<Storage>,
    /// Its files.
    pub files: Arc<RelFiles>,
    /// What the catalog tells.
    pub about: HeapDesc,
    /// The columns.
    pub desc: Arc<TupleDesc>,
    /// Where long values go.
    pub toast: Option<Arc<ToastRel>>,
    /// Where the last insertion went: first the page that all use as long as they do not get in
    /// each other's way, so that rows lie in the order they came in; then one for each thread,
    /// for threads that insert at the same time.
    targets: [AtomicU32; HINTS],
}

/// Rows as they will lie in pages, one after another.
#[derive(Default)]
struct FormedRows {
    bytes: Vec<u8>,
    /// Start and end of each.
    ends: Vec<(usize, usize)>,
}

/// How rows come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InsertOptions {
    /// COPY FREEZE: the table was made or emptied in this transaction, all may see the rows.
    pub frozen: bool,
}

/// When a reader last looked at the horizon, so that it does not for every page.
#[derive(Default)]
pub struct PruneClock {
    horizon: Option<base::Lsn>,
}

thread_local! {
    static TARGET_SLOT: usize = {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        1 + NEXT.fetch_add(1, Ordering::Relaxed) as usize % (HINTS - 1)
    };
}

/// So many tuples of a page that a scan does not see are worth a pruning, which costs about what a
/// few scans of them do.
const CROWD: usize = 24;

impl HeapRel {
    /// Opens a table whose files exist or are about to be made.
    pub fn open(storage: &Arc<Storage>, about: HeapDesc, toast: Option<Arc<ToastRel>>) -> HeapRel {
        HeapRel {
            storage: Arc::clone(storage),
            files: storage.pool.relation(about.file, about.persistence),
            desc: Arc::clone(&about.columns),
            about,
            toast,
            targets: [const { AtomicU32::new(u32::MAX) }; HINTS],
        }
    }

    /// `pg_class.oid`.
    pub fn oid(&self) -> Oid {
        self.about.oid
    }

    /// Number of pages.
    pub fn nblocks(&self) -> Result<BlockNo> {
        self.files.nblocks(Fork::Main)
    }

    /// Reads pages of a fork in this order, looking ahead.
    pub fn stream(
        &self,
        fork: Fork,
        blocks: Box<dyn Iterator<Item = BlockNo> + Send>,
    ) -> Result<ReadStream> {
        let strategy = self.storage.pool.scan_strategy(self.nblocks()?);
        Ok(self.storage.pool.read_stream(&self.files, fork, blocks, strategy))
    }

    /// Reads pages of the table in this order, treating the pool like this.
    pub(super) fn stream_with(
        &self,
        strategy: Strategy,
        blocks: Box<dyn Iterator<Item = BlockNo> + Send>,
    ) -> ReadStream {
        self.storage.pool.read_stream(&self.files, Fork::Main, blocks, strategy)
    }

    /// Fetches values of this table that are stored apart.
    pub fn fetcher(&self) -> Toaster<'_> {
        Toaster::new(self)
    }

    /// The bytes of a row as they will lie in a page, but for transaction, command and place.
    /// `raw` has for some columns the bytes to store as they are.
    pub(super) fn form(
        &self,
        x: &ExecTxn<'_>,
        values: &[Datum],
        mut raw: Vec<Option<Vec<u8>>>,
    ) -> Result<Vec<u8>> {
        let size = reduce::row_size(&self.desc, values);
        if size <= reduce::TUPLE_TARGET && raw.is_empty() {
            let mut out = Vec::with_capacity(page::align8(size));
            self.form_short(values, &mut out)?;
            return Ok(out);
        }
        raw.resize(values.len(), None);
        match &self.toast {
            Some(toast) => {
                let mut store = toast.writer(x);
                reduce::reduce(&self.desc, values, &mut raw, Some(&mut store))?;
            }
            None => reduce::reduce(&self.desc, values, &mut raw, None)?,
        }
        let row = form_tuple_with(&self.desc, values, &raw)?;
        let nulls = row.nulls.as_deref();
        let mut out = change::header(values.len(), nulls, row.has_varwidth, row.has_external);
        out.extend_from_slice(&row.data);
        let size = page::align8(out.len());
        if size > page::MAX_TUPLE_SIZE {
            let most = page::MAX_TUPLE_SIZE;
            bail!(PROGRAM_LIMIT_EXCEEDED, "row is too big: size {size}, maximum size {most}");
        }
        Ok(out)
    }

    /// Adds a row.
    pub fn insert(&self, x: &ExecTxn<'_>, values: &[Datum]) -> Result<Tid> {
        let mut row = self.form(x, values, Vec::new())?;
        let xid = x.write_xid(&self.storage)?;
        let mut page = self.page_with_room(row.len(), xid)?;
        self.writes(x, None)?;
        let init = start_page(&mut page, xid);
        let off = page::next_offset(&mut page);
        let tid = Tid { block: page.block(), offset: off };
        self.stamp(&mut row, &page, xid, x, tid)?;
        if !page::add_tuple(&mut page, off, &row) {
            bail!(INTERNAL_ERROR, "failed to add tuple to page");
        }
        let mut cleared = self.clear_visible(&mut page)?;
        let flags = if init { record::INIT } else { 0 }
            | if cleared.is_some() { record::CLEARED } else { 0 };
        let main = [off as u8, (off >> 8) as u8, flags];
        let mut data = Vec::with_capacity(row.len());
        record::put_tuple(&mut data, tuple_of(&row)?, 0, 0);
        let touched = Touched { id: 0, page: &mut page, init, data: &data };
        self.log(record::INSERT, xid, &main, touched, cleared.as_mut());
        Ok(tid)
    }

    /// Forms a row at the end of `out`, whose length is a multiple of 8, without allocating if the
    /// row is short.
    fn form_at_end(&self, x: &ExecTxn<'_>, values: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        if reduce::row_size(&self.desc, values) > reduce::TUPLE_TARGET {
            out.extend_from_slice(&self.form(x, values, Vec::new())?);
            return Ok(());
        }
        self.form_short(values, out)
    }

    /// Forms a row of values that are stored as they are, as [`HeapRel::form_at_end`] does.
    fn form_short(&self, values: &[Datum], out: &mut Vec<u8>) -> Result<()> {
        let start = out.len();
        let header = change::begin_header(values, out);
        let varwidth = append_values(&self.desc, values, out)?;
        change::finish_header(&mut out[start..], values.len(), header, varwidth);
        Ok(())
    }

    /// Adds many rows, with one log record for each page. Their places are added to `tids`.
    pub fn multi_insert(
        &self,
        x: &ExecTxn<'_>,
        rows: &mut dyn Iterator<Item = &[Datum]>,
        options: InsertOptions,
        tids: &mut Vec<Tid>,
    ) -> Result<()> {
        let mut formed = FormedRows::default();
        for values in rows {
            let start = formed.bytes.len();
            self.form_at_end(x, values, &mut formed.bytes)?;
            let end = formed.bytes.len();
            formed.ends.push((start, end));
            formed.bytes.resize(page::align8(end), 0);
        }
        let xid = x.write_xid(&self.storage)?;
        let mut at = 0;
        while at < formed.ends.len() {
            let (start, end) = formed.ends[at];
            let page = self.page_with_room(end - start, xid)?;
            self.writes(x, None)?;
            at += self.fill_page(x, xid, page, &mut formed, at, options, tids)?;
        }
        Ok(())
    }

    /// Puts as many rows as fit, from row `at`, into a page; how many those were.
    #[allow(clippy::too_many_arguments)]
    fn fill_page(
        &self,
        x: &ExecTxn<'_>,
        xid: Xid,
        mut page: PageMut<'static>,
        rows: &mut FormedRows,
        at: usize,
        options: InsertOptions,
        tids: &mut Vec<Tid>,
    ) -> Result<usize> {
        let init = start_page(&mut page, xid);
        let spare = self.spare_bytes();
        let mut data = Vec::with_capacity(base::PAGE_SIZE);
        let mut n = 0;
        let FormedRows { bytes, ends } = rows;
        for (start, end) in &ends[at..] {
            let row = &mut bytes[*start..*end];
            if n > 0 && page::free_space(&page) < page::align8(row.len()) + spare {
                break;
            }
            let off = page::next_offset(&mut page);
            let tid = Tid { block: page.block(), offset: off };
            self.stamp(row, &page, xid, x, tid)?;
            if options.frozen {
                TupleMut::new(row).change_mask(page::XMIN_FROZEN, 0);
            }
            if !page::add_tuple(&mut page, off, row) {
                break;
            }
            let t = tuple_of(row)?;
            data.extend_from_slice(&off.to_le_bytes());
            data.extend_from_slice(&(t.data().len() as u16).to_le_bytes());
            record::put_tuple(&mut data, t, 0, 0);
            tids.push(tid);
            n += 1;
        }
        if n == 0 {
            bail!(INTERNAL_ERROR, "failed to add tuple to page");
        }
        let mut cleared = self.clear_visible(&mut page)?;
        let flags = if init { record::INIT } else { 0 }
            | if cleared.is_some() { record::CLEARED } else { 0 };
        let main = [flags, n as u8, (n >> 8) as u8];
        let touched = Touched { id: 0, page: &mut page, init, data: &data };
        self.log(record::MULTI_INSERT, xid, &main, touched, cleared.as_mut());
        drop(cleared);
        if options.frozen && at + n < rows.ends.len() {
            self.set_visible_if_frozen(&mut page)?;
        }
        Ok(n)
    }

    /// After COPY FREEZE has filled a page: marks it, if it holds nothing but frozen rows.
    fn set_visible_if_frozen(&self, page: &mut PageMut<'_>) -> Result<()> {
        let all = (1..=page::max_offset(page)).all(|off| match page::line(page, off) {
            page::Line::Normal { .. } => {
                page::tuple(page, off).is_some_and(|t| t.frozen() && t.no_deleter())
            }
            page::Line::Unused => true,
            _ => false,
        });
        if all { self.set_visible(page, vm::ALL_VISIBLE | vm::ALL_FROZEN) } else { Ok(()) }
    }

    /// Marks a page as all-visible, in its flags and in the map.
    pub(super) fn set_visible(&self, page: &mut PageMut<'_>, bits: u8) -> Result<()> {
        let block = page.block();
        let mut map = self.map_page_made(block)?;
        if vm::get(&map, block) == bits && page::all_visible(page) {
            return Ok(());
        }
        if page::is_new(&map) {
            vm::init(&mut map);
        }
        vm::set(&mut map, block, bits);
        page::change_flags(page, page::ALL_VISIBLE, 0);
        let mut touched = [Touched::new(0, &mut map), Touched::new(1, page)];
        log_change(&self.storage, Rmgr::Heap, record::VISIBLE, Xid::INVALID, &[bits], &mut touched);
        Ok(())
    }

    /// The map's page for a heap page, latched, made if it is not there.
    fn map_page_made(&self, heap: BlockNo) -> Result<PageMut<'static>> {
        let block = vm::map_block(heap);
        if !self.files.exists(Fork::Vm)? {
            self.files.create_fork(Fork::Vm)?;
        }
        while self.files.nblocks(Fork::Vm)? <= block {
            drop(self.files.extend_one(Fork::Vm)?);
        }
        self.files.read_exclusive(Fork::Vm, block)
    }

    /// The bits of a heap page in the visibility map.
    pub fn visibility(&self, heap: BlockNo) -> Result<u8> {
        let block = vm::map_block(heap);
        if self.files.nblocks(Fork::Vm)? <= block {
            return Ok(0);
        }
        let page = self.files.read_shared(Fork::Vm, block)?;
        Ok(if page::is_new(&page) { 0 } else { vm::get(&page, heap) })
    }

    /// How many pages are all-visible and how many all-frozen.
    pub fn visibility_counts(&self) -> Result<(u32, u32)> {
        let mut sum = (0, 0);
        for block in 0..self.files.nblocks(Fork::Vm)?.0 {
            let page = self.files.read_shared(Fork::Vm, BlockNo(block))?;
            let n = vm::count(&page);
            sum = (sum.0 + n.0, sum.1 + n.1);
        }
        Ok(sum)
    }

    /// Takes an all-visible page's mark away. The map's page comes back changed, latched and not
    /// logged: the record of the change that follows must have it.
    pub(super) fn clear_visible(&self, page: &mut PageMut<'_>) -> Result<Option<PageMut<'static>>> {
        if !page::all_visible(page) {
            return Ok(None);
        }
        let heap = page.block();
        let block = vm::map_block(heap);
        let mut map = None;
        if self.files.nblocks(Fork::Vm)? > block {
            let mut m = self.files.read_exclusive(Fork::Vm, block)?;
            if !page::is_new(&m) {
                vm::set(&mut m, heap, 0);
                map = Some(m);
            }
        }
        page::change_flags(page, 0, page::ALL_VISIBLE);
        Ok(map)
    }

    /// Logs a change of one heap page and, if it lost its mark, of its map page.
    pub(super) fn log<'r>(
        &self,
        info: u8,
        xid: Xid,
        main: &[u8],
        touched: Touched<'r>,
        cleared: Option<&'r mut PageMut<'static>>,
    ) {
        let storage = &self.storage;
        match cleared {
            Some(map) => {
                let mut all = [touched, Touched::new(2, map)];
                log_change(storage, Rmgr::Heap, info, xid, main, &mut all);
            }
            None => {
                log_change(storage, Rmgr::Heap, info, xid, main, &mut [touched]);
            }
        }
    }

    /// Cuts the table to `keep` pages. The caller keeps all others out of the table.
    pub(super) fn truncate_to(&self, keep: BlockNo) -> Result<()> {
        let file = self.about.file;
        let mut main = Vec::new();
        for n in [file.tablespace.0, file.database.0, file.number, keep.0] {
            main.extend_from_slice(&n.to_le_bytes());
        }
        let storage = &self.storage;
        let logged = self.about.persistence == Persistence::Permanent;
        let at = vm::map_block(keep);
        if self.files.nblocks(Fork::Vm)? > at {
            let mut map = self.files.read_exclusive(Fork::Vm, at)?;
            if !page::is_new(&map) {
                vm::clear_from(&mut map, keep);
            }
            let mut touched = [Touched::new(0, &mut map)];
            let info = record::TRUNCATE;
            let lsn = log_change(storage, Rmgr::Heap, info, Xid::INVALID, &main, &mut touched);
            drop(map);
            storage.wal.flush(lsn)?;
        } else if logged {
            let mut rec = wal::RecordBuilder::new(Rmgr::Heap, record::TRUNCATE, Xid::INVALID);
            rec.data(&main);
            let lsn = storage.wal.insert(&rec);
            storage.wal.flush(lsn)?;
        }
        truncate_files(&self.files, keep)
    }

    /// Writes transaction, command and place into a row's header.
    pub(super) fn stamp(
        &self,
        row: &mut [u8],
        page: &PageMut<'_>,
        xid: Xid,
        x: &ExecTxn<'_>,
        tid: Tid,
    ) -> Result<()> {
        let Some(xmin) = page::encode_xid(page::xid_base(page), xid) else {
            bail!(INTERNAL_ERROR, "transaction id {xid} does not fit page {}", page.block());
        };
        let mut t = TupleMut::new(row);
        t.set_xmin(xmin);
        t.set_xmax(0);
        t.set_cid(x.write_cid().0);
        t.set_ctid(tid);
        Ok(())
    }

    /// Bytes of each page that insertions leave free for updates.
    pub(super) fn spare_bytes(&self) -> usize {
        base::PAGE_SIZE * (100 - self.about.fillfactor.clamp(10, 100) as usize) / 100
    }

    fn target(&self) -> &AtomicU32 {
        &self.targets[TARGET_SLOT.with(|s| *s)]
    }

    /// A page with room for a row of `len` bytes, latched; its base suits `xid`. It may be new.
    pub(super) fn page_with_room(&self, len: usize, xid: Xid) -> Result<PageMut<'static>> {
        let need = page::align8(len);
        // A row that leaves no room for the spare bytes goes into an empty page all the same.
        let wanted = (need + self.spare_bytes()).min(page::MAX_TUPLE_SIZE);
        let (mut at, mut crowded) = (&self.targets[0], false);
        if let first = at.load(Ordering::Relaxed)
            && first != u32::MAX
            && BlockNo(first) < self.nblocks()?
        {
            match self.files.read(Fork::Main, BlockNo(first))?.try_into_write() {
                Some(mut page) => {
                    let new = page::is_new(&page);
                    let room = if new { page::MAX_TUPLE_SIZE } else { page::free_space(&page) };
                    if room >= wanted && self.fit_xid(&mut page, xid)? {
                        return Ok(page);
                    }
                }
                None => crowded = true,
            }
        }
        if crowded {
            at = self.target();
        }
        let mut block = match at.load(Ordering::Relaxed) {
            u32::MAX => self.files.page_with_space(wanted)?,
            b => Some(BlockNo(b)),
        };
        for _ in 0..50 {
            let Some(b) = block else { break };
            if b < self.nblocks()? {
                let mut page = self.files.read_exclusive(Fork::Main, b)?;
                let room = if page::is_new(&page) {
                    page::MAX_TUPLE_SIZE
                } else {
                    page::free_space(&page)
                };
                if room >= wanted && self.fit_xid(&mut page, xid)? {
                    at.store(b.0, Ordering::Relaxed);
                    return Ok(page);
                }
                drop(page);
                block = self.files.record_and_find(b, room.min(wanted - 1), wanted)?;
            } else {
                block = self.files.page_with_space(wanted)?;
            }
        }
        let page = self.files.extend_one(Fork::Main)?;
        at.store(page.block().0, Ordering::Relaxed);
        Ok(page)
    }

    /// Makes the page's base suit `xid`, by pruning, freezing and rebasing if it must.
    pub(super) fn fit_xid(&self, page: &mut PageMut<'_>, xid: Xid) -> Result<bool> {
        if page::is_new(page) || page::encode_xid(page::xid_base(page), xid).is_some() {
            return Ok(true);
        }
        self.prune(page, Freeze::All, false)?;
        let base = page::base_for(xid);
        if !page::rebase(page, base) {
            return Ok(false);
        }
        let touched = Touched::new(0, page);
        self.log(record::REBASE, Xid::INVALID, &base.to_le_bytes(), touched, None);
        Ok(true)
    }

    /// Prunes a page that a reader came to, if it seems worth it and nobody else is there.
    pub fn prune_if_worthwhile(&self, pin: &Pin, clock: &mut PruneClock) -> Result<()> {
        {
            let page = pin.read();
            if page::prune_hint(&page) == 0 || page::is_new(&page) {
                return Ok(());
            }
            let least = self.spare_bytes().max(base::PAGE_SIZE / 10);
            let full = page::flags(&page) & page::PAGE_FULL != 0;
            if !full && page::exact_free(&page) >= least {
                return Ok(());
            }
        }
        self.prune_if_due(pin, clock)
    }

    /// Prunes a page of which a reader has seen that much of it is dead, though it has room: every
    /// other reader would have to look at the same.
    pub(super) fn prune_crowded(
        &self,
        pin: &Pin,
        unseen: usize,
        clock: &mut PruneClock,
    ) -> Result<()> {
        if unseen < CROWD { Ok(()) } else { self.prune_if_due(pin, clock) }
    }

    /// Prunes a page whose oldest deleter is done for all, if nobody else is there.
    fn prune_if_due(&self, pin: &Pin, clock: &mut PruneClock) -> Result<()> {
        let horizon = *clock.horizon.get_or_insert_with(|| self.storage.recent_horizon());
        if !self.is_prunable(&pin.read(), horizon)? {
            return Ok(());
        }
        if let Some(mut page) = pin.try_write() {
            self.prune(&mut page, Freeze::Nothing, false)?;
        }
        Ok(())
    }

    /// True if the oldest deleter that the page's hint names is done for all.
    fn is_prunable(&self, page: &page::Bytes, horizon: base::Lsn) -> Result<bool> {
        let hint = page::prune_hint(page);
        if hint == 0 {
            return Ok(false);
        }
        let oldest = page::decode_xid(page::xid_base(page), hint);
        Ok(match self.storage.txn.status(oldest)? {
            txn::XidStatus::InProgress => false,
            txn::XidStatus::Committed(lsn) => lsn <= horizon,
            txn::XidStatus::Aborted => true,
        })
    }

    /// Makes room for a new version in a latched page, if something can go.
    pub(super) fn make_room(&self, page: &mut PageMut<'_>) -> Result<()> {
        if self.is_prunable(page, self.storage.recent_horizon())? {
            self.prune(page, Freeze::Nothing, false)?;
        }
        Ok(())
    }

    /// Prunes a latched page, and freezes what all see as `freeze` says.
    pub(super) fn prune(
        &self,
        page: &mut PageMut<'_>,
        freeze: Freeze,
        no_indexes: bool,
    ) -> Result<page::PrunePlan> {
        // Freezing for want of room for an id must go as far as it can.
        let storage = &self.storage;
        let horizon = match freeze {
            Freeze::Nothing => storage.recent_horizon(),
            _ => storage.horizon(),
        };
        self.prune_below(page, horizon, freeze, no_indexes)
    }

    /// As [`HeapRel::prune`], with a horizon taken before.
    pub(super) fn prune_below(
        &self,
        page: &mut PageMut<'_>,
        horizon: base::Lsn,
        freeze: Freeze,
        no_indexes: bool,
    ) -> Result<page::PrunePlan> {
        let facts = super::visibility::PageFacts::of(page);
        let mut keeper = super::visibility::Undertaker::new(&self.storage, horizon);
        let mut hints = Vec::new();
        let block = page.block();
        let (mut plan, hint) = prune::plan(page, block, no_indexes, |off, t| {
            let mut bits = 0;
            let fate = keeper.fate(t, &facts, &mut bits)?;
            if bits != 0 {
                hints.push((off, bits));
            }
            Ok(fate)
        })?;
        for (off, bits) in hints {
            if let Some(mut t) = page::tuple_mut(page, off) {
                t.change_mask(bits, 0);
            }
        }
        super::freeze::add(page, &facts, &mut keeper, freeze, &mut plan)?;
        if plan.is_empty() {
            page::set_prune_hint(page, hint);
            page::change_flags(page, 0, page::PAGE_FULL);
            return Ok(plan);
        }
        page::apply_prune(page, &plan, hint);
        let main = record::put_prune(&plan, hint);
        self.log(record::PRUNE, Xid::INVALID, &main, Touched::new(0, page), None);
        Ok(plan)
    }
}

/// Cuts the forks of a table to what `keep` pages need.
pub(super) fn truncate_files(files: &Arc<RelFiles>, keep: BlockNo) -> Result<()> {
    let map_pages = keep.0.div_ceil(vm::HEAP_BLOCKS);
    if files.nblocks(Fork::Vm)?.0 > map_pages {
        files.truncate(Fork::Vm, BlockNo(map_pages))?;
    }
    files.truncate_free_space(keep)?;
    files.truncate(Fork::Main, keep)
}

/// Makes a new page of zeros a heap page; true if it was one.
pub(super) fn start_page(page: &mut PageMut<'_>, xid: Xid) -> bool {
    let new = page::is_new(page);
    if new {
        page::init(page, page::base_for(xid));
    }
    new
}

/// The tuple in bytes that this crate formed.
pub(super) fn tuple_of(row: &[u8]) -> Result<page::Tuple<'_>> {
    page::Tuple::new(row).ok_or_else(|| base::Error::internal("a formed row has no header"))
}
