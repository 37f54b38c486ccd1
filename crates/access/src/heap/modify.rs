//! Update, delete and lock a row. The README has the rules of row locks.

use super::change::{OldVersion, UpdateHead, mark_old, take_back};
use super::locks::RowQueue;
use super::log::{Touched, log_change};
use super::page::{self, Tuple, TupleMut};
use super::rel::{AttrSet, HeapRel, PruneClock, start_page, tuple_of};
use super::tally;
use super::visibility::{PageFacts, Standing, cmin, standing};
use super::{record, vm};
use crate::ExecTxn;
use base::{CommandId, Fork, Result, Tid, Xid, bail};
use buffer::{PageMut, Pin};
use std::ops::Range;
use txn::{RowStrength, Sees, Wait};
use types::Datum;
use types::tuple::{ToastPointer, attr_ranges};
use wal::Rmgr;

/// Which indexes need an entry for a new version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IndexUpdates {
    /// None: the new version is reached through the old one's entries.
    None,
    /// Only summarizing ones.
    Summarizing,
    /// All.
    All,
}

/// What became of an attempt to update, delete or lock a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Done. For an update: the new version and who must index it; else the row itself.
    Done(Tid, IndexUpdates),
    /// The version is not there for this command, and never was or no more is.
    Invisible,
    /// The own transaction changed it already, in this command or a later one.
    SelfModified(CommandId),
    /// Somebody has replaced it; look at the new version.
    Updated(Tid),
    /// Somebody has deleted it.
    Deleted,
    /// Somebody has moved it to another partition.
    Moved,
    /// Somebody is at it, and the caller did not want to wait.
    WouldBlock,
}

/// How an update is to be made.
#[derive(Clone, Copy)]
pub struct UpdateOptions<'a> {
    /// Columns whose values are the old version's: what is stored apart is not stored again, and
    /// they are not compared.
    pub unchanged: Option<&'a AttrSet>,
    /// What to do if somebody is at the row.
    pub wait: Wait,
}

/// See [`HeapRel::clear_two`].
type Cleared = (Option<PageMut<'static>>, Option<PageMut<'static>>, bool);

/// The latch of the tuple's page, and that of another.
type Latches<'p> = (PageMut<'p>, Option<PageMut<'p>>);

/// Where an attempt stands after looking at the tuple.
enum Step {
    /// Go on.
    Free,
    /// Somebody was waited for; look again.
    Again,
    /// That is it.
    Stop(Outcome),
}

/// How an attempt to update ended.
enum Attempt {
    /// Somebody was waited for, or the page changed.
    Again,
    /// Keys change, so look again with the stronger lock.
    Stronger,
    /// The new version needs another page.
    NoRoom,
    /// That is it, with the toast pointers of the old version.
    Stop(Outcome, Vec<Vec<u8>>),
}

/// What an update changes, as far as indexes and locks care.
#[derive(Clone, Copy, Default)]
struct Differences {
    keys: bool,
    indexed: bool,
    summarized: bool,
}

/// A row while it is being updated.
struct Update<'a, 'x> {
    x: &'a ExecTxn<'x>,
    xid: Xid,
    tid: Tid,
    row: Vec<u8>,
    unchanged: Option<&'a AttrSet>,
    differs: Differences,
}

impl HeapRel {
    /// Replaces the row at `tid`.
    pub fn update(
        &self,
        x: &ExecTxn<'_>,
        tid: Tid,
        values: &[Datum],
        options: UpdateOptions<'_>,
    ) -> Result<Outcome> {
        let xid = x.write_xid(&self.storage)?;
        let pin = self.files.read(Fork::Main, tid.block)?;
        self.prune_if_worthwhile(&pin, &mut PruneClock::default())?;
        let long = self.toast.is_some()
            && crate::toast::reduce::row_size(&self.desc, values)
                > crate::toast::reduce::TUPLE_TARGET;
        let mut raw = Vec::new();
        if long {
            // Long values are stored apart before the page is latched for good. The lock keeps
            // the row as it is meanwhile, so that they are not stored for nothing.
            match self.lock_row(x, tid, RowStrength::NoKeyUpdate, options.wait)? {
                Outcome::Done(..) => {}
                other => return Ok(other),
            }
            raw = self.kept_pointers(&pin, tid, options.unchanged)?;
        }
        let kept: Vec<Vec<u8>> = raw.iter().flatten().cloned().collect();
        let row = self.form(x, values, raw)?;
        let mut update = Update {
            x,
            xid,
            tid,
            row,
            unchanged: options.unchanged,
            differs: Differences::default(),
        };
        let (outcome, old_pointers) = self.update_latched(&mut update, &pin, options.wait)?;
        if matches!(outcome, Outcome::Done(..)) {
            self.delete_toasted(x, &old_pointers, &kept)?;
        }
        Ok(outcome)
    }

    /// Toast pointers of the old version that the new one keeps, by column.
    fn kept_pointers(
        &self,
        pin: &Pin,
        tid: Tid,
        unchanged: Option<&AttrSet>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let Some(unchanged) = unchanged else { return Ok(Vec::new()) };
        let page = pin.read();
        let Some(t) = page::tuple(&page, tid.offset) else { return Ok(Vec::new()) };
        if t.mask() & page::HAS_EXTERNAL == 0 {
            return Ok(Vec::new());
        }
        let ranges = self.ranges(t)?;
        Ok(ranges
            .into_iter()
            .enumerate()
            .map(|(i, r)| {
                let bytes = &t.data()[r?];
                (bytes.first() == Some(&1) && unchanged.contains(i)).then(|| bytes.to_vec())
            })
            .collect())
    }

    /// Where each value of a tuple lies.
    fn ranges(&self, t: Tuple<'_>) -> Result<Vec<Option<Range<usize>>>> {
        let mut out = vec![None; self.desc.natts()];
        attr_ranges(&self.desc, t.data(), t.bitmap(), t.natts(), &mut out)?;
        Ok(out)
    }

    /// Toast pointers in a tuple.
    fn pointers(&self, t: Tuple<'_>) -> Result<Vec<Vec<u8>>> {
        if t.mask() & page::HAS_EXTERNAL == 0 {
            return Ok(Vec::new());
        }
        let ranges = self.ranges(t)?;
        Ok(ranges
            .into_iter()
            .zip(&self.desc.attrs)
            .filter_map(|(r, a)| Some((&t.data()[r?], a)))
            .filter(|(b, a)| a.len == -1 && b.first() == Some(&1))
            .map(|(b, _)| b.to_vec())
            .collect())
    }

    /// Deletes what was stored apart for an old version, but for what is kept.
    fn delete_toasted(&self, x: &ExecTxn<'_>, old: &[Vec<u8>], kept: &[Vec<u8>]) -> Result<()> {
        let Some(toast) = &self.toast else { return Ok(()) };
        for bytes in old.iter().filter(|b| !kept.contains(b)) {
            toast.delete(x, &ToastPointer::decode(bytes)?)?;
        }
        Ok(())
    }

    /// Compares what indexes and keys use, value by value, as bytes.
    fn differences(
        &self,
        old: Tuple<'_>,
        row: &[u8],
        unchanged: Option<&AttrSet>,
    ) -> Result<Differences> {
        let about = &self.about;
        let same =
            |set: &AttrSet| unchanged.map_or(set.is_empty(), |unchanged| set.is_subset(unchanged));
        if same(&about.indexed) && same(&about.summarized) && same(&about.keys) {
            return Ok(Differences::default());
        }
        let new = tuple_of(row)?;
        let (a, b) = (self.ranges(old)?, self.ranges(new)?);
        let differs = |set: &AttrSet| {
            set.iter().any(|i| match (a.get(i), b.get(i)) {
                (Some(Some(p)), Some(Some(q))) => old.data()[p.clone()] != new.data()[q.clone()],
                // A column that was added later has its missing value in the old row.
                (Some(None), Some(None)) => {
                    i >= old.natts() && self.desc.attrs[i].missing.is_some()
                }
                _ => true,
            })
        };
        Ok(Differences {
            keys: differs(&about.keys),
            indexed: differs(&about.indexed),
            summarized: differs(&about.summarized),
        })
    }

    /// Looks at the tuple under the exclusive latch. If it is free the latches come back, that
    /// of another page too; else they are let go before anybody is waited for.
    fn look<'p>(
        &self,
        x: &ExecTxn<'_>,
        latches: Latches<'p>,
        tid: Tid,
        mode: RowStrength,
        wait: Wait,
        queue: &RowQueue<'_>,
    ) -> Result<(Step, Option<Latches<'p>>)> {
        let page = &latches.0;
        let facts = PageFacts::of(page);
        let Some(t) = page::tuple(page, tid.offset) else {
            return Ok((Step::Stop(Outcome::Invisible), None));
        };
        let busy = match standing(&self.storage, x.snapshot, t, tid, &facts)? {
            Standing::Free => match self.row_conflict(x, tid, mode)? {
                None if queue.is_early(page, tid.offset, mode) => None,
                None => {
                    queue.claim(page, tid.offset);
                    return Ok((Step::Free, Some(latches)));
                }
                Some(xid) => Some(xid),
            },
            Standing::Busy { xid, .. } => Some(xid),
            other => return Ok((Step::Stop(stop(other, queue)), None)),
        };
        queue.find(page, tid.offset);
        drop(latches);
        let done = queue.wait(mode, wait, busy)?;
        Ok((if done { Step::Again } else { Step::Stop(Outcome::WouldBlock) }, None))
    }

    /// The part of an update that works on latched pages. Gives the toast pointers of the old
    /// version too.
    fn update_latched(
        &self,
        u: &mut Update<'_, '_>,
        pin: &Pin,
        wait: Wait,
    ) -> Result<(Outcome, Vec<Vec<u8>>)> {
        let mut other: Option<Pin> = None;
        // Until the old version was seen nobody knows whether keys change; the weaker mode does
        // for the first look, and the stronger one is checked before anything is marked.
        let mut mode = RowStrength::NoKeyUpdate;
        let x = u.x;
        let queue = self.queue(x, u.tid, "updating");
        loop {
            match self.try_update(u, pin, other.as_ref(), mode, wait, &queue)? {
                Attempt::Again => {}
                Attempt::Stronger => mode = RowStrength::Update,
                Attempt::NoRoom => {
                    let found = self.page_with_room(u.row.len(), u.xid)?;
                    let same = found.block() == u.tid.block;
                    let found = found.into_pin();
                    other = (!same).then_some(found);
                }
                Attempt::Stop(outcome, pointers) => return Ok((outcome, pointers)),
            }
        }
    }

    /// One attempt, with the old version's page and perhaps another latched.
    fn try_update(
        &self,
        u: &mut Update<'_, '_>,
        pin: &Pin,
        other: Option<&Pin>,
        mode: RowStrength,
        wait: Wait,
        queue: &RowQueue<'_>,
    ) -> Result<Attempt> {
        let latches = latch_both(pin, other);
        let (step, page) = self.look(u.x, latches, u.tid, mode, wait, queue)?;
        match step {
            Step::Again => return Ok(Attempt::Again),
            Step::Stop(outcome) => return Ok(Attempt::Stop(outcome, Vec::new())),
            Step::Free => {}
        }
        let Some((mut page, elsewhere)) = page else { return Ok(Attempt::Again) };
        let stays = elsewhere.is_none();
        self.writes(u.x, Some(u.tid))?;
        let Some(old) = page::tuple(&page, u.tid.offset) else { return Ok(Attempt::Again) };
        u.differs = self.differences(old, &u.row, u.unchanged)?;
        if u.differs.keys && mode != RowStrength::Update {
            return Ok(Attempt::Stronger);
        }
        let pointers = self.pointers(old)?;
        let need = page::align8(u.row.len());
        if !self.fit_xid(&mut page, u.xid)? {
            bail!(INTERNAL_ERROR, "transaction id {} does not fit page {}", u.xid, u.tid.block);
        }
        let outcome = match elsewhere {
            None => {
                if page::free_space(&page) < need {
                    self.make_room(&mut page)?;
                }
                if page::free_space(&page) < need {
                    page::change_flags(&mut page, page::PAGE_FULL, 0);
                    return Ok(Attempt::NoRoom);
                }
                self.update_in_page(u, &mut page)?
            }
            Some(mut target) => {
                let room = page::is_new(&target) || page::free_space(&target) >= need;
                if !room || !self.fit_xid(&mut target, u.xid)? {
                    return Ok(Attempt::NoRoom);
                }
                self.update_across(u, &mut page, &mut target)?
            }
        };
        match stays {
            true => tally::updated_in_page(!u.differs.indexed),
            false => tally::updated_elsewhere(),
        }
        Ok(Attempt::Stop(outcome, pointers))
    }

    /// Command id for the deleter's mark, and whether it is a combo.
    fn deleter_cid(&self, x: &ExecTxn<'_>, t: Tuple<'_>, facts: &PageFacts) -> Result<(u32, bool)> {
        let curcid = x.write_cid();
        let own = t.mask() & page::XMIN_COMMITTED == 0
            && self.storage.txn.sees(x.snapshot, facts.xid(t.xmin_raw()))? == Sees::Own;
        if !own {
            return Ok((curcid.0, false));
        }
        let cmin = cmin(t, x.snapshot);
        Ok((x.snapshot.make_combo(cmin, curcid), true))
    }

    fn old_version(
        &self,
        u: &Update<'_, '_>,
        page: &PageMut<'_>,
        hot: bool,
        next: Tid,
    ) -> Result<OldVersion> {
        let facts = PageFacts::of(page);
        let Some(t) = page::tuple(page, u.tid.offset) else {
            bail!(INTERNAL_ERROR, "tuple {} is gone", u.tid);
        };
        let cid = self.deleter_cid(u.x, t, &facts)?;
        let xmax = encode(page, u.xid)?;
        Ok(OldVersion { xmax, cid, keys: u.differs.keys, hot, next })
    }

    /// Puts the new version into the old one's page.
    fn update_in_page(&self, u: &mut Update<'_, '_>, page: &mut PageMut<'_>) -> Result<Outcome> {
        let hot = !u.differs.indexed;
        let old_data = page::tuple(page, u.tid.offset).map_or(Vec::new(), |t| t.data().to_vec());
        let mut cleared = self.clear_visible(page)?;
        let off = page::next_offset(page);
        let tid = Tid { block: u.tid.block, offset: off };
        self.stamp(&mut u.row, page, u.xid, u.x, tid)?;
        let mut new = TupleMut::new(&mut u.row);
        new.change_mask(page::UPDATED, 0);
        new.change_mask2(if hot { page::HEAP_ONLY } else { 0 }, 0);
        let old = self.old_version(u, page, hot, tid)?;
        self.copy_row_locks(u.tid, tid)?;
        if !page::add_tuple(page, off, &u.row) {
            bail!(INTERNAL_ERROR, "failed to add tuple to page");
        }
        mark_old(page, u.tid.offset, old);

        let flags = record::SHARED
            | if hot { record::HOT } else { 0 }
            | if u.differs.keys { record::KEYS } else { 0 }
            | if cleared.is_some() { record::CLEARED } else { 0 };
        let head = UpdateHead { old: u.tid.offset, new: off, flags };
        let t = tuple_of(&u.row)?;
        let (prefix, suffix) = record::shared(&old_data, t.data());
        let mut data = Vec::with_capacity(16 + t.data().len() - prefix - suffix);
        data.extend_from_slice(&(prefix as u16).to_le_bytes());
        data.extend_from_slice(&(suffix as u16).to_le_bytes());
        record::put_tuple(&mut data, t, prefix, suffix);
        let touched = Touched { id: 0, page, init: false, data: &data };
        self.log(record::UPDATE, u.xid, &head.encode(), touched, cleared.as_mut());
        let indexes = match (hot, u.differs.summarized) {
            (true, false) => IndexUpdates::None,
            (true, true) => IndexUpdates::Summarizing,
            _ => IndexUpdates::All,
        };
        Ok(Outcome::Done(tid, indexes))
    }

    /// Puts the new version into another page.
    fn update_across(
        &self,
        u: &mut Update<'_, '_>,
        page: &mut PageMut<'_>,
        target: &mut PageMut<'_>,
    ) -> Result<Outcome> {
        let init = start_page(target, u.xid);
        let (mut new_cleared, mut old_cleared, both) = self.clear_two(page, target)?;
        let off = page::next_offset(target);
        let tid = Tid { block: target.block(), offset: off };
        self.stamp(&mut u.row, target, u.xid, u.x, tid)?;
        TupleMut::new(&mut u.row).change_mask(page::UPDATED, 0);
        let old = self.old_version(u, page, false, tid)?;
        self.copy_row_locks(u.tid, tid)?;
        if !page::add_tuple(target, off, &u.row) {
            bail!(INTERNAL_ERROR, "failed to add tuple to page");
        }
        mark_old(page, u.tid.offset, old);

        let flags = if u.differs.keys { record::KEYS } else { 0 }
            | if init { record::INIT } else { 0 }
            | if new_cleared.is_some() { record::CLEARED } else { 0 }
            | if old_cleared.is_some() || both { record::OLD_CLEARED } else { 0 };
        let head = UpdateHead { old: u.tid.offset, new: off, flags };
        let mut data = Vec::with_capacity(u.row.len());
        record::put_tuple(&mut data, tuple_of(&u.row)?, 0, 0);
        let mut touched =
            vec![Touched { id: 0, page: target, init, data: &data }, Touched::new(1, page)];
        if let Some(map) = &mut new_cleared {
            touched.push(Touched::new(2, map));
        }
        if let Some(map) = &mut old_cleared {
            touched.push(Touched::new(3, map));
        }
        let main = head.encode();
        log_change(&self.storage, Rmgr::Heap, record::UPDATE, u.xid, &main, &mut touched);
        Ok(Outcome::Done(tid, IndexUpdates::All))
    }

    /// Takes the all-visible marks of two pages away: gives the map's pages for the new and the
    /// old version's, and whether one speaks of both (it is the first then).
    fn clear_two(&self, page: &mut PageMut<'_>, target: &mut PageMut<'_>) -> Result<Cleared> {
        let (old_map, new_map) = (vm::map_block(page.block()), vm::map_block(target.block()));
        if old_map == new_map && page::all_visible(page) && page::all_visible(target) {
            let mut map = self.clear_visible(target)?;
            if let Some(map) = &mut map {
                vm::set(map, page.block(), 0);
            }
            page::change_flags(page, 0, page::ALL_VISIBLE);
            let both = map.is_some();
            return Ok((map, None, both));
        }
        // In the order of their numbers, so that two updates cannot wait for each other.
        if old_map <= new_map {
            let old = self.clear_visible(page)?;
            Ok((self.clear_visible(target)?, old, false))
        } else {
            let new = self.clear_visible(target)?;
            Ok((new, self.clear_visible(page)?, false))
        }
    }

    /// Deletes the row at `tid`. `moved` says that it goes on in another partition.
    pub fn delete(&self, x: &ExecTxn<'_>, tid: Tid, wait: Wait, moved: bool) -> Result<Outcome> {
        let xid = x.write_xid(&self.storage)?;
        let pin = self.files.read(Fork::Main, tid.block)?;
        let queue = self.queue(x, tid, "deleting");
        let pointers = loop {
            let latches = (pin.write(), None);
            let strength = RowStrength::Update;
            let (step, page) = self.look(x, latches, tid, strength, wait, &queue)?;
            match step {
                Step::Again => continue,
                Step::Stop(outcome) => return Ok(outcome),
                Step::Free => {}
            }
            let Some((mut page, _)) = page else { continue };
            self.writes(x, Some(tid))?;
            if !self.fit_xid(&mut page, xid)? {
                bail!(INTERNAL_ERROR, "transaction id {xid} does not fit page {}", tid.block);
            }
            let facts = PageFacts::of(&page);
            let Some(t) = page::tuple(&page, tid.offset) else { continue };
            let pointers = self.pointers(t)?;
            let cid = self.deleter_cid(x, t, &facts)?;
            let mut cleared = self.clear_visible(&mut page)?;
            let block = if moved { base::BlockNo(page::MOVED_BLOCK) } else { tid.block };
            let next = Tid { block, offset: tid.offset };
            let xmax = encode(&page, xid)?;
            mark_old(&mut page, tid.offset, OldVersion { xmax, cid, keys: true, hot: false, next });
            let flags = record::KEYS
                | if moved { record::MOVED } else { 0 }
                | if cleared.is_some() { record::CLEARED } else { 0 };
            let main = [tid.offset as u8, (tid.offset >> 8) as u8, flags];
            let touched = Touched::new(0, &mut page);
            self.log(record::DELETE, xid, &main, touched, cleared.as_mut());
            break pointers;
        };
        self.delete_toasted(x, &pointers, &[])?;
        Ok(Outcome::Done(tid, IndexUpdates::None))
    }

    /// Takes back a row that the own command inserted, before anybody could see it: ON CONFLICT
    /// found another one.
    pub fn take_back(&self, x: &ExecTxn<'_>, tid: Tid) -> Result<()> {
        let xid = x.write_xid(&self.storage)?;
        let mut page = self.files.read_exclusive(Fork::Main, tid.block)?;
        let facts = PageFacts::of(&page);
        let own = match page::tuple(&page, tid.offset) {
            Some(t) => {
                let xmin = facts.xid(t.xmin_raw());
                t.no_deleter() && self.storage.txn.sees(x.snapshot, xmin)? == Sees::Own
            }
            None => false,
        };
        if !own {
            bail!(INTERNAL_ERROR, "cannot take back tuple {tid} of another transaction");
        }
        let pointers = match page::tuple(&page, tid.offset) {
            Some(t) => self.pointers(t)?,
            None => Vec::new(),
        };
        take_back(&mut page, tid.offset);
        let main = [tid.offset as u8, (tid.offset >> 8) as u8, record::TAKE_BACK];
        self.log(record::DELETE, xid, &main, Touched::new(0, &mut page), None);
        drop(page);
        self.delete_toasted(x, &pointers, &[])
    }

    /// Locks the row at `tid`, in memory: the page stays as it is.
    pub fn lock_row(
        &self,
        x: &ExecTxn<'_>,
        tid: Tid,
        mode: RowStrength,
        wait: Wait,
    ) -> Result<Outcome> {
        let pin = self.files.read(Fork::Main, tid.block)?;
        let queue = self.queue(x, tid, "locking");
        loop {
            let page = pin.read();
            let facts = PageFacts::of(&page);
            let Some(t) = page::tuple(&page, tid.offset) else { return Ok(Outcome::Invisible) };
            let busy = match standing(&self.storage, x.snapshot, t, tid, &facts)? {
                Standing::Free if queue.is_early(&page, tid.offset, mode) => None,
                Standing::Free => match self.take_row(x, tid, mode)? {
                    None => {
                        queue.claim(&page, tid.offset);
                        return Ok(Outcome::Done(tid, IndexUpdates::None));
                    }
                    Some(xid) => Some(xid),
                },
                Standing::Busy { keys: false, next, .. } if mode == RowStrength::KeyShare => {
                    let prior = facts.xid(t.xmax_raw());
                    match self.take_row(x, tid, mode)? {
                        Some(xid) => Some(xid),
                        None => {
                            drop(page);
                            return match self.lock_later(x, next, prior, wait)? {
                                true => Ok(Outcome::Done(tid, IndexUpdates::None)),
                                false => Ok(Outcome::WouldBlock),
                            };
                        }
                    }
                }
                Standing::Busy { xid, .. } => Some(xid),
                other => return Ok(stop(other, &queue)),
            };
            queue.find(&page, tid.offset);
            drop(page);
            if !queue.wait(mode, wait, busy)? {
                return Ok(Outcome::WouldBlock);
            }
        }
    }

    /// Locks the later versions of a row for key share, while their writer is at work. False if
    /// somebody holds one and the caller does not want to wait.
    fn lock_later(
        &self,
        x: &ExecTxn<'_>,
        mut tid: Tid,
        mut prior: Xid,
        wait: Wait,
    ) -> Result<bool> {
        let mode = RowStrength::KeyShare;
        loop {
            let page = self.files.read_shared(Fork::Main, tid.block)?;
            let facts = PageFacts::of(&page);
            let Some(t) = page::tuple(&page, tid.offset) else { return Ok(true) };
            if facts.xid(t.xmin_raw()) != prior {
                return Ok(true);
            }
            let gone = !t.no_deleter() && t.mask2() & page::KEYS_UPDATED != 0;
            let xmax = facts.xid(t.xmax_raw());
            // The writer may have gone on to delete the row or to change its key: wait for it.
            let busy = match gone && self.storage.txn.is_running(xmax)? {
                true => Some(xmax),
                false => self.take_row(x, tid, mode)?,
            };
            if let Some(xid) = busy {
                let queue = self.queue(x, tid, "locking");
                queue.find(&page, tid.offset);
                drop(page);
                if !queue.wait(mode, wait, Some(xid))? {
                    return Ok(false);
                }
                continue;
            }
            if t.no_deleter() || t.ctid() == tid {
                return Ok(true);
            }
            prior = xmax;
            tid = t.ctid();
        }
    }

    /// Locks the latest version of the row at `tid`, going along its chain; the caller checks
    /// its conditions again if that is another version ([`Outcome::Done`] names it).
    pub fn lock_latest(
        &self,
        x: &ExecTxn<'_>,
        tid: Tid,
        mode: RowStrength,
        wait: Wait,
    ) -> Result<Outcome> {
        let mut at = tid;
        loop {
            match self.lock_row(x, at, mode, wait)? {
                Outcome::Updated(next) => {
                    if self.writer(next)? != self.replacer(at)? {
                        // The new version was deleted and its place used again.
                        return Ok(Outcome::Deleted);
                    }
                    at = next;
                }
                // A later version that is gone altogether was deleted and pruned.
                Outcome::Invisible if at != tid => return Ok(Outcome::Deleted),
                other => return Ok(other),
            }
        }
    }

    /// xmin of the tuple at `tid`, if there is one.
    fn writer(&self, tid: Tid) -> Result<Option<Xid>> {
        if tid.block >= self.nblocks()? {
            return Ok(None);
        }
        let page = self.files.read_shared(Fork::Main, tid.block)?;
        let facts = PageFacts::of(&page);
        Ok(page::tuple(&page, tid.offset).map(|t| facts.xid(t.xmin_raw())))
    }

    /// xmax of the tuple at `tid`, if there is one.
    fn replacer(&self, tid: Tid) -> Result<Option<Xid>> {
        let page = self.files.read_shared(Fork::Main, tid.block)?;
        let facts = PageFacts::of(&page);
        Ok(page::tuple(&page, tid.offset).map(|t| facts.xid(t.xmax_raw())))
    }
}

fn stop(standing: Standing, queue: &RowQueue<'_>) -> Outcome {
    match standing {
        Standing::SelfModified(cid) => Outcome::SelfModified(cid),
        Standing::Updated(next) => {
            queue.hand_on();
            Outcome::Updated(next)
        }
        Standing::Deleted => Outcome::Deleted,
        Standing::Moved => Outcome::Moved,
        Standing::Invisible | Standing::Free | Standing::Busy { .. } => Outcome::Invisible,
    }
}

fn encode(page: &PageMut<'_>, xid: Xid) -> Result<u32> {
    match page::encode_xid(page::xid_base(page), xid) {
        Some(raw) => Ok(raw),
        None => bail!(INTERNAL_ERROR, "transaction id {xid} does not fit page {}", page.block()),
    }
}

/// Latches one or two pages, in the order of their numbers.
fn latch_both<'p>(pin: &'p Pin, other: Option<&'p Pin>) -> (PageMut<'p>, Option<PageMut<'p>>) {
    match other {
        None => (pin.write(), None),
        Some(other) if other.block() < pin.block() => {
            let second = other.write();
            (pin.write(), Some(second))
        }
        Some(other) => {
            let first = pin.write();
            (first, Some(other.write()))
        }
    }
}
