//! Adding an entry, with the unique check.
//!
//! The rule that makes unique checks right: the leaf where the key's entries begin is latched for
//! writing from before the check until the entry is in. Two transactions that insert the same key
//! meet at that page. A split lets go of it, so after a split the check is made again.

use super::edit::Edit;
use super::key::{self, SearchKey, compare, corrupt, form_item, lower_bound};
use super::page::{self, Page, flag};
use super::redo::kind;
use super::tree::{Tree, WritePage};
use crate::index::{InsertOutcome, RowProbe, RowState, UniqueCheck};
use base::{BlockNo, Result, Tid, Xid};
use std::cmp::Ordering;
use std::sync::atomic::Ordering as Atomic;
use types::Datum;

/// What a look at all entries with a key found.
enum Verdict {
    /// No live row has the key.
    Clear,
    /// This one has.
    Conflict(Tid),
    /// It depends on this transaction.
    Wait(Xid, Tid),
}

/// An entry on its way in.
struct Entry<'a> {
    item: Vec<u8>,
    key: SearchKey,
    tid: Tid,
    check: UniqueCheck,
    probe: &'a mut dyn RowProbe,
}

impl Tree<'_> {
    /// Adds an entry, see [`crate::index::IndexAm::insert`].
    pub fn insert(
        &self,
        values: &[Datum],
        tid: Tid,
        check: UniqueCheck,
        probe: &mut dyn RowProbe,
    ) -> Result<InsertOutcome> {
        let key = SearchKey::of_values(self.index, values);
        let distinct = key.has_null() && !self.index.nulls_not_distinct;
        let check = if distinct { UniqueCheck::No } else { check };
        let item = form_item(self.index, values, tid)?;
        if self.is_logged() {
            // A full disk must be found before a page is changed.
            self.storage.wal.check_space()?;
        }
        let mut entry = Entry { item, key, tid, check, probe };
        loop {
            if let Some(outcome) = self.try_insert(&mut entry)? {
                return Ok(outcome);
            }
        }
    }

    /// One attempt; None if it has to be made again.
    fn try_insert(&self, entry: &mut Entry<'_>) -> Result<Option<InsertOutcome>> {
        let checking = entry.check != UniqueCheck::No;
        entry.key.tid = if checking { None } else { Some(entry.tid) };
        let mut p = match self.rightmost_leaf(&entry.key)? {
            Some(p) => p,
            None => match self.leaf_for_write(&entry.key)? {
                Some(p) => p,
                None => {
                    self.make_first_leaf()?;
                    return Ok(None);
                }
            },
        };
        let mut outcome = InsertOutcome::Unique;
        if checking {
            match self.check_unique(&mut p, entry)? {
                Verdict::Clear => {}
                Verdict::Conflict(_) | Verdict::Wait(..) if entry.check == UniqueCheck::Partial => {
                    outcome = InsertOutcome::MaybeConflict;
                }
                Verdict::Conflict(tid) => {
                    // Who looked for the key and found none is told so rather than of the key.
                    entry.probe.writes_page(self.index, p.block())?;
                    return Ok(Some(InsertOutcome::Conflict(tid)));
                }
                Verdict::Wait(xid, tid) => {
                    drop(p);
                    txn::about::waiting("inserting index", tid, &self.index.name, || {
                        entry.probe.wait(xid, tid)
                    })?;
                    return Ok(None);
                }
            }
            if entry.check == UniqueCheck::Existing {
                return Ok(Some(outcome));
            }
            entry.key.tid = Some(entry.tid);
            p = self.move_right_write(p, &entry.key)?;
        }
        entry.probe.writes_page(self.index, p.block())?;
        Ok(self.insert_on_leaf(p, entry)?.then_some(outcome))
    }

    /// A row with this key that lives, see [`crate::index::IndexAm::find_conflict`].
    pub fn find_conflict(
        &self,
        values: &[Datum],
        except: Tid,
        probe: &mut dyn RowProbe,
    ) -> Result<Option<Tid>> {
        let key = SearchKey::of_values(self.index, values);
        if key.has_null() && !self.index.nulls_not_distinct {
            return Ok(None);
        }
        let check = UniqueCheck::Existing;
        let mut entry = Entry { item: Vec::new(), key, tid: except, check, probe };
        loop {
            let Some(mut p) = self.leaf_for_write(&entry.key)? else { return Ok(None) };
            match self.check_unique(&mut p, &mut entry)? {
                Verdict::Clear => return Ok(None),
                Verdict::Conflict(tid) => return Ok(Some(tid)),
                Verdict::Wait(xid, tid) => {
                    drop(p);
                    entry.probe.wait(xid, tid)?;
                }
            }
        }
    }

    /// The rightmost leaf, if the last insertion went there and this one, too, surely belongs
    /// there: saves the descent for ascending keys.
    fn rightmost_leaf(&self, key: &SearchKey) -> Result<Option<WritePage>> {
        let cached = self.index.am_cache.rightmost.load(Atomic::Relaxed);
        if cached == 0 {
            return Ok(None);
        }
        let p = self.write(BlockNo(cached as u32))?;
        let fits = page::is_leaf(&p)
            && page::is_rightmost(&p)
            && !page::is_ignorable(&p)
            && page::count(&p) > 0
            && compare(self.index, key, page::item(&p, 0))? == Ordering::Greater;
        if fits {
            return Ok(Some(p));
        }
        if !(page::is_leaf(&p) && page::is_rightmost(&p)) {
            self.index.am_cache.rightmost.store(0, Atomic::Relaxed);
        }
        Ok(None)
    }

    /// Looks at all entries with the key, beginning on the latched leaf `first`.
    fn check_unique(&self, first: &mut WritePage, entry: &mut Entry<'_>) -> Result<Verdict> {
        let mut killed = Vec::new();
        let verdict = self.check_page(first, entry, Some(&mut killed))?;
        if !killed.is_empty() {
            for i in &killed {
                page::mark_dead(first, *i);
            }
            // Not marked dirty: a page that goes to disk for a hint alone could be torn there
            // without an image in the log to mend it.
        }
        let mut next = match verdict {
            Some(verdict) => return Ok(verdict),
            None => page::right(first),
        };
        loop {
            let p = self.read(next)?;
            key::verify_page(self.index, next, &p)?;
            if !page::is_ignorable(&p)
                && let Some(verdict) = self.check_page(&p, entry, None)?
            {
                return Ok(verdict);
            }
            next = page::right(&p);
            if next == BlockNo::INVALID {
                return Ok(Verdict::Clear);
            }
        }
    }

    /// Looks at the entries with the key on one page; None if there may be more on the next one.
    fn check_page(
        &self,
        p: &Page,
        entry: &mut Entry<'_>,
        mut killed: Option<&mut Vec<u16>>,
    ) -> Result<Option<Verdict>> {
        let start = lower_bound(self.index, p, &entry.key)?;
        for i in start..page::count(p) {
            let item = page::item(p, i);
            if compare(self.index, &entry.key, item)? != Ordering::Equal {
                return Ok(Some(Verdict::Clear));
            }
            if page::is_dead(p, i) {
                continue;
            }
            let mut all_dead = true;
            for tid in item.tids().filter(|t| *t != entry.tid) {
                match entry.probe.state(tid)? {
                    RowState::DeadToAll => continue,
                    RowState::Gone => all_dead = false,
                    RowState::Live => return Ok(Some(Verdict::Conflict(tid))),
                    RowState::InProgress(xid) => return Ok(Some(Verdict::Wait(xid, tid))),
                }
            }
            all_dead &= item.tids().all(|t| t != entry.tid);
            if let (true, Some(killed)) = (all_dead, killed.as_deref_mut()) {
                killed.push(i);
            }
        }
        if page::is_rightmost(p) {
            return Ok(Some(Verdict::Clear));
        }
        let beyond = compare(self.index, &entry.key, page::item(p, 0))?;
        Ok((beyond == Ordering::Less).then_some(Verdict::Clear))
    }

    /// Inserts on the leaf where the entry belongs; false if the leaf was split instead.
    fn insert_on_leaf(&self, mut p: WritePage, entry: &Entry<'_>) -> Result<bool> {
        if self.insert_if_room(&mut p, entry)? {
            return Ok(true);
        }
        if page::flags(&p) & flag::HAS_DEAD != 0 {
            self.delete_dead(&mut p)?;
            if self.insert_if_room(&mut p, entry)? {
                return Ok(true);
            }
        }
        if self.index.deduplicate
            && self.dedup(&mut p, entry.item.len())?
            && self.insert_if_room(&mut p, entry)?
        {
            return Ok(true);
        }
        self.split(p, Some(&entry.key))?;
        Ok(false)
    }

    fn insert_if_room(&self, p: &mut WritePage, entry: &Entry<'_>) -> Result<bool> {
        let at = lower_bound(self.index, p, &entry.key)?;
        if at < page::count(p) {
            let item = page::item(p, at);
            if compare(self.index, &entry.key, item)? == Ordering::Equal {
                return self.insert_into_posting(p, at, entry.tid);
            }
        }
        if page::free_space(p) < entry.item.len() + 4 {
            return Ok(false);
        }
        let last = at == page::count(p) && page::is_rightmost(p) && page::count(p) > 0;
        let mut edit = Edit::new();
        edit.insert_one(p, at, &entry.item);
        let block = p.block();
        self.log(kind::INSERT_LEAF, &mut [(p, &edit, false)])?;
        let cache = &self.index.am_cache.rightmost;
        let wanted = if last { (1 << 32) | block.0 as u64 } else { 0 };
        if last && cache.load(Atomic::Relaxed) != wanted {
            cache.store(wanted, Atomic::Relaxed);
        }
        Ok(true)
    }

    /// The row's place lies between those of the posting list number `at`: puts it in there, or
    /// makes two lists of it.
    fn insert_into_posting(&self, p: &mut WritePage, at: u16, tid: Tid) -> Result<bool> {
        if page::is_dead(p, at) {
            // Not worth growing: the caller removes dead items when there is no room.
            return Ok(false);
        }
        let item = page::item(p, at);
        let mut tids: Vec<Tid> = item.tids().collect();
        let Err(slot) = tids.binary_search(&tid) else {
            let what = format!("there is an entry for row {tid} already");
            return Err(corrupt(self.index, p.block(), what));
        };
        let mut edit = Edit::new();
        let old_len = item.0.len();
        if page::posting_size(item, tids.len() + 1) <= page::MAX_POSTING {
            tids.insert(slot, tid);
            let merged = page::make_posting(item, &tids);
            if merged.len() > old_len + page::free_space(p) {
                return Ok(false);
            }
            edit.replace(p, at, &merged);
        } else {
            let right = page::make_posting(item, &tids[slot..]);
            tids.truncate(slot);
            tids.push(tid);
            let left = page::make_posting(item, &tids);
            if left.len() + right.len() + 4 > old_len + page::free_space(p) {
                return Ok(false);
            }
            edit.replace(p, at, &left);
            edit.insert_one(p, at + 1, &right);
        }
        self.log(kind::INSERT_POST, &mut [(p, &edit, false)])?;
        Ok(true)
    }

    /// Removes the items that are marked dead.
    pub fn delete_dead(&self, p: &mut WritePage) -> Result<()> {
        let dead: Vec<u16> =
            (page::first(p)..page::count(p)).filter(|i| page::is_dead(p, *i)).collect();
        let mut edit = Edit::new();
        edit.delete(p, &dead);
        let flags = page::flags(p) & !flag::HAS_DEAD;
        edit.set_flags(p, flags);
        self.log(kind::DELETE, &mut [(p, &edit, false)])
    }

    /// Merges items with equal keys into posting lists; false if that gains nothing. `need` is the
    /// size of what waits for room.
    fn dedup(&self, p: &mut WritePage, need: usize) -> Result<bool> {
        let runs = dedup_runs(p);
        let gain: usize = runs.iter().map(|r| r.2).sum();
        if gain == 0 || page::free_space(p) + gain < need + 4 {
            return Ok(false);
        }
        let mut edit = Edit::new();
        let runs: Vec<(u16, u16)> = runs.iter().map(|r| (r.0, r.1)).collect();
        edit.dedup(p, &runs);
        let flags = page::flags(p) & !flag::HAS_DEAD;
        edit.set_flags(p, flags);
        self.log(kind::DEDUP, &mut [(p, &edit, false)])?;
        Ok(true)
    }

    /// The first leaf of an empty index, which is its root.
    fn make_first_leaf(&self) -> Result<()> {
        let mut meta = self.write(BlockNo(0))?;
        let Some(old) = page::read_meta(&meta) else {
            return Err(corrupt(self.index, BlockNo(0), "not a metapage"));
        };
        if old.root != BlockNo::INVALID {
            return Ok(());
        }
        let mut root = self.new_page()?;
        let (mut e0, mut e1) = (Edit::new(), Edit::new());
        let block = root.block();
        e1.init(&mut root, 0, flag::LEAF | flag::ROOT, BlockNo::INVALID, BlockNo::INVALID);
        let new = page::Meta { root: block, level: 0, fast_root: block, fast_level: 0 };
        e0.set_meta(&mut meta, &new);
        self.log(kind::NEW_ROOT, &mut [(&mut meta, &e0, true), (&mut root, &e1, true)])
    }
}

/// Runs of items that may share a posting list: number of the first, how many, bytes gained.
fn dedup_runs(p: &Page) -> Vec<(u16, u16, usize)> {
    let mut runs = Vec::new();
    let count = page::count(p);
    let mut i = page::first(p);
    while i < count {
        let base = page::item(p, i);
        let (mut tids, mut bytes, mut n) = (base.ntids(), base.0.len(), 1u16);
        while i + n < count {
            let next = page::item(p, i + n);
            let dead = page::is_dead(p, i) || page::is_dead(p, i + n);
            if dead
                || page::posting_size(base, tids + next.ntids()) > page::MAX_POSTING
                || !key::same_image(base, next)
            {
                break;
            }
            tids += next.ntids();
            bytes += next.0.len() + 4;
            n += 1;
        }
        let merged = page::posting_size(base, tids);
        if n > 1 && bytes > merged {
            runs.push((i, n, bytes - merged));
        }
        i += n;
    }
    runs
}
