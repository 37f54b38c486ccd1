//! Single rows by place: for index scans, for rechecks after waiting, for unique checks.

use super::decode::Decoder;
use super::page::{self, Bytes, Tuple};
use super::prune::Fate;
use super::rel::HeapRel;
use super::scan::{SystemColumns, set_hints, system_columns};
use super::serial_read;
use super::visibility::{Chain, Hints, PageFacts, Sight, Undertaker, Viewer};
use super::vm;
use crate::ExecTxn;
use crate::index::{AllVisible, IndexRel, RowProbe, RowState};
use base::{BlockNo, Fork, Lsn, Result, Tid, Xid};
use buffer::{PageRef, Upcoming};
use std::collections::HashSet;
use std::sync::Arc;
use txn::Sees;
use types::tuple::{StoredForm, attr_ranges, deform};
use types::{ColumnBuilder, Datum, NoDetoast};

/// What an index scan found at a tid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The version at this place.
    Row(Tid),
    /// None that this viewer sees.
    None,
    /// None that anybody sees or will see: the index entry can be marked dead.
    DeadToAll,
}

/// Some of a page's places.
#[derive(Clone, Copy, Default, Debug)]
pub struct Offsets([u64; 8]);

impl Offsets {
    fn insert(&mut self, offset: u16) {
        if let Some(word) = self.0.get_mut(offset as usize / 64) {
            *word |= 1 << (offset % 64);
        }
    }

    /// True if this place is one of them.
    #[inline]
    pub fn contains(&self, offset: u16) -> bool {
        self.0.get(offset as usize / 64).is_some_and(|word| word >> (offset % 64) & 1 != 0)
    }
}

impl HeapRel {
    /// Finds the version that the viewer sees of the row whose chain begins at `tid`, and hands
    /// it to `read` under the page's latch.
    fn with_visible<R>(
        &self,
        tid: Tid,
        viewer: &Viewer<'_>,
        chain: bool,
        read: impl FnOnce(PageRef<'static>, u16) -> Result<R>,
    ) -> Result<(Found, Option<R>)> {
        if tid.block >= self.nblocks()? {
            return Ok((Found::None, None));
        }
        let latched = self.files.read_shared(Fork::Main, tid.block)?;
        if page::is_new(&latched) {
            return Ok((Found::None, None));
        }
        let facts = PageFacts::of(&latched);
        let mut hints = Hints::new();
        let found = if chain {
            viewer.search_chain(&latched, tid.block, tid.offset, &facts, &mut hints)?
        } else {
            let mut hint = 0;
            match page::tuple(&latched, tid.offset) {
                Some(t) => viewer.sees_tuple(t, &facts, &mut hint)?.then_some(tid.offset),
                None => None,
            }
        };
        if let Sight::Mvcc(snapshot) = viewer.sight()
            && let Some(serial) = snapshot.serial()
        {
            let place = serial_read::Place { rel: self, serial, snapshot };
            place.row(&latched, tid, chain, found, &facts)?;
        }
        let latched = set_hints(latched, &hints);
        match found {
            Some(off) => {
                let at = Tid { block: tid.block, offset: off };
                Ok((Found::Row(at), Some(read(latched, off)?)))
            }
            None if chain && matches!(viewer.sight(), Sight::Mvcc(_)) => {
                let dead = self.all_dead(&latched, tid, &facts)?;
                Ok((if dead { Found::DeadToAll } else { Found::None }, None))
            }
            None => Ok((Found::None, None)),
        }
    }

    /// True if every version in the chain is dead to all.
    fn all_dead(&self, bytes: &Bytes, tid: Tid, facts: &PageFacts) -> Result<bool> {
        if page::line(bytes, tid.offset) == page::Line::Dead {
            return Ok(true);
        }
        let mut keeper = Undertaker::new(&self.storage, self.storage.recent_horizon());
        let mut walk = Chain::new(tid.block, tid.offset);
        let mut any = false;
        while let Some((_, t)) = walk.next(bytes) {
            any = true;
            if keeper.fate(t, facts, &mut 0)? != Fate::Dead {
                return Ok(false);
            }
        }
        Ok(any)
    }

    /// The row that an index entry names, as the viewer sees it: its first `out.len()` columns.
    pub fn fetch(&self, tid: Tid, viewer: &Viewer<'_>, out: &mut [Datum]) -> Result<Found> {
        self.fetch_either(tid, viewer, true, out)
    }

    /// The very version at `tid`, if the viewer sees it: no chain is followed.
    pub fn fetch_version(&self, tid: Tid, viewer: &Viewer<'_>, out: &mut [Datum]) -> Result<bool> {
        Ok(matches!(self.fetch_either(tid, viewer, false, out)?, Found::Row(_)))
    }

    fn fetch_either(
        &self,
        tid: Tid,
        viewer: &Viewer<'_>,
        chain: bool,
        out: &mut [Datum],
    ) -> Result<Found> {
        let read = |latched: PageRef<'static>, off: u16| {
            let Some(t) = page::tuple(&latched, off) else { return Ok(()) };
            if t.mask() & page::HAS_EXTERNAL == 0 {
                return self.deform(t, out, &NoDetoast);
            }
            let copy = t.bytes().to_vec();
            drop(latched);
            let t = super::rel::tuple_of(&copy)?;
            self.deform(t, out, &self.fetcher())
        };
        Ok(self.with_visible(tid, viewer, chain, read)?.0)
    }

    fn deform(&self, t: Tuple<'_>, out: &mut [Datum], fetcher: &dyn types::Detoast) -> Result<()> {
        deform(&self.desc, t.data(), t.bitmap(), t.natts(), out, fetcher)
    }

    /// As [`HeapRel::fetch`], appending the decoder's columns to builders: for index scans that
    /// fill batches.
    pub fn fetch_columns(
        &self,
        tid: Tid,
        viewer: &Viewer<'_>,
        decoder: &Decoder,
        builders: &mut [ColumnBuilder],
    ) -> Result<Found> {
        let read = |latched: PageRef<'static>, off: u16| {
            let Some(t) = page::tuple(&latched, off) else { return Ok(()) };
            if !decoder.may_fetch(t) {
                return decoder.page(&latched, &[off], builders, &NoDetoast, Upcoming::NONE);
            }
            let copy = t.bytes().to_vec();
            drop(latched);
            let t = super::rel::tuple_of(&copy)?;
            decoder.tuple(t, builders, &self.fetcher())
        };
        Ok(self.with_visible(tid, viewer, true, read)?.0)
    }

    /// The places of a page from which chains begin that have a version the viewer sees. For a
    /// snapshot the answer stays true.
    pub fn visible_on(&self, block: BlockNo, viewer: &Viewer<'_>) -> Result<Offsets> {
        let mut seen = Offsets::default();
        if block >= self.nblocks()? {
            return Ok(seen);
        }
        let latched = self.files.read_shared(Fork::Main, block)?;
        if page::is_new(&latched) {
            return Ok(seen);
        }
        let facts = PageFacts::of(&latched);
        let mut hints = Hints::new();
        let limit = viewer.limit(&facts);
        for offset in 1..=page::max_offset(&latched) {
            // Most rows have one version, which was settled before the snapshot was made.
            let glance = page::glance(&latched, offset).zip(limit);
            if glance.is_some_and(|(g, limit)| !g.heap_only() && g.seen(limit) == Some(true)) {
                seen.insert(offset);
                continue;
            }
            let root = match page::line(&latched, offset) {
                page::Line::Redirect(_) => true,
                page::Line::Normal { .. } => {
                    page::tuple(&latched, offset).is_some_and(|t| !t.heap_only())
                }
                _ => false,
            };
            if root && viewer.search_chain(&latched, block, offset, &facts, &mut hints)?.is_some() {
                seen.insert(offset);
            }
        }
        drop(set_hints(latched, &hints));
        Ok(seen)
    }

    /// Whether the viewer sees a version of the row that an index entry names: for index-only
    /// scans of pages that are not all-visible, and for checks.
    pub fn exists(&self, tid: Tid, viewer: &Viewer<'_>) -> Result<Found> {
        Ok(self.with_visible(tid, viewer, true, |_, _| Ok(()))?.0)
    }

    /// System columns of the version at `tid`, whoever sees it.
    pub fn system_columns(&self, tid: Tid) -> Result<SystemColumns> {
        if tid.block >= self.nblocks()? {
            return Ok(SystemColumns::default());
        }
        let latched = self.files.read_shared(Fork::Main, tid.block)?;
        let facts = PageFacts::of(&latched);
        Ok(system_columns(&latched, tid.offset, &facts))
    }

    /// How these columns of the version at `tid` are stored, whoever sees it; None for NULL. They
    /// have to be varlenas.
    pub fn stored_forms(&self, tid: Tid, columns: &[usize]) -> Result<Vec<Option<StoredForm>>> {
        let mut forms = vec![None; columns.len()];
        if tid.block >= self.nblocks()? {
            return Ok(forms);
        }
        let latched = self.files.read_shared(Fork::Main, tid.block)?;
        let Some(t) = page::tuple(&latched, tid.offset) else { return Ok(forms) };
        let mut ranges = vec![None; columns.iter().max().map_or(0, |last| last + 1)];
        attr_ranges(&self.desc, t.data(), t.bitmap(), t.natts(), &mut ranges)?;
        for (form, &column) in forms.iter_mut().zip(columns) {
            let missing = &self.desc.attrs[column].missing;
            *form = match (&ranges[column], missing) {
                (Some(range), _) => Some(StoredForm::of(&t.data()[range.clone()])?),
                (None, Some(Datum::Bytes(value))) if column >= t.natts() => {
                    Some(StoredForm::plain(value.len()))
                }
                _ => None,
            };
        }
        Ok(forms)
    }

    /// What index-only scans ask: whether all rows of a page are visible to all.
    pub fn all_visible_test(self: &Arc<Self>) -> AllVisible {
        let rel = Arc::clone(self);
        // What cannot be read is not known to be visible; the fetch that follows tells why.
        Arc::new(move |block| rel.visibility(block).unwrap_or(0) & vm::ALL_VISIBLE != 0)
    }

    /// What unique checks ask; see [`crate::index::RowProbe`].
    pub fn probe<'a>(&'a self, x: &'a ExecTxn<'a>) -> HeapProbe<'a> {
        HeapProbe { rel: self, x }
    }

    /// Which of the rows that index entries name have no live version left, so that the entries
    /// can go (bottom-up deletion).
    pub fn dead_among(&self, tids: &[Tid]) -> Result<HashSet<Tid>> {
        let mut dead = HashSet::new();
        for &tid in tids {
            if tid.block >= self.nblocks()? {
                continue;
            }
            let latched = self.files.read_shared(Fork::Main, tid.block)?;
            if self.all_dead(&latched, tid, &PageFacts::of(&latched))? {
                dead.insert(tid);
            }
        }
        Ok(dead)
    }
}

/// Answers the unique checks of a table's indexes.
pub struct HeapProbe<'a> {
    rel: &'a HeapRel,
    x: &'a ExecTxn<'a>,
}

impl RowProbe for HeapProbe<'_> {
    fn writes_page(&mut self, index: &IndexRel, block: BlockNo) -> Result<()> {
        match self.x.txn.serial() {
            Some(serial) => serial.conflict_in(index.file.database, index.oid, Some(block), None),
            None => Ok(()),
        }
    }

    fn state(&mut self, tid: Tid) -> Result<RowState> {
        let rel = self.rel;
        if tid.block >= rel.nblocks()? {
            return Ok(RowState::DeadToAll);
        }
        let latched = rel.files.read_shared(Fork::Main, tid.block)?;
        let facts = PageFacts::of(&latched);
        let mut walk = Chain::new(tid.block, tid.offset);
        while let Some((_, t)) = walk.next(&latched) {
            if let Some(state) = self.version(t, &facts)? {
                return Ok(state);
            }
        }
        let dead = rel.all_dead(&latched, tid, &facts)?;
        Ok(if dead { RowState::DeadToAll } else { RowState::Gone })
    }

    fn wait(&mut self, xid: Xid, _tid: Tid) -> Result<()> {
        self.rel.storage.txn.wait_for_xid(self.x.txn, xid)
    }
}

impl HeapProbe<'_> {
    /// What one version means to a newcomer: nothing if it is gone.
    fn version(&self, t: Tuple<'_>, facts: &PageFacts) -> Result<Option<RowState>> {
        let mut now = self.x.snapshot.clone();
        now.lsn = Lsn::MAX;
        let mgr = &self.rel.storage.txn;
        match t.mask() & page::XMIN_FROZEN {
            page::XMIN_INVALID => return Ok(None),
            0 => {
                let xmin = facts.xid(t.xmin_raw());
                match mgr.sees(&now, xmin)? {
                    Sees::Yes(_) | Sees::Own => {}
                    Sees::Aborted => return Ok(None),
                    Sees::Running | Sees::Later(_) => return Ok(Some(RowState::InProgress(xmin))),
                }
            }
            _ => {}
        }
        if t.no_deleter() {
            return Ok(Some(RowState::Live));
        }
        let xmax = facts.xid(t.xmax_raw());
        Ok(match mgr.sees(&now, xmax)? {
            Sees::Yes(_) | Sees::Own => None,
            Sees::Aborted => Some(RowState::Live),
            Sees::Running | Sees::Later(_) => Some(RowState::InProgress(xmax)),
        })
    }
}
