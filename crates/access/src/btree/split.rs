//! Splits: a full page becomes two, then the parent learns of the right one.
//!
//! The first step is one log record (left page, new right page, the old right sibling's left
//! link); the second is another. In between the left page is flagged as an incomplete split:
//! searches do not mind, they follow the right link; whoever next wants to write there finishes it.

use super::edit::Edit;
use super::key::{self, SearchKey, compare, corrupt, make_separator};
use super::page::{self, Meta, Page, flag};
use super::redo::kind;
use super::tree::{Tree, WritePage};
use base::{BlockNo, Result};
use std::cmp::Ordering;

impl Tree<'_> {
    /// Splits a page that is full, and completes the split. `key` is what waits for room.
    pub fn split(&self, mut left: WritePage, key: Option<&SearchKey>) -> Result<()> {
        let cut = self.choose_cut(&left, key)?;
        let is_leaf = page::is_leaf(&left);
        let separator = if is_leaf {
            make_separator(self.index, page::item(&left, cut - 1), page::item(&left, cut))?
        } else {
            page::with_child(page::item(&left, cut).0, BlockNo::INVALID)
        };
        let old_right = page::right(&left);
        let mut right = self.new_page()?;
        let (mut el, mut er, mut es) = (Edit::new(), Edit::new(), Edit::new());
        let cycle = self.vacuum_cycle();

        let old: Box<Page> = Box::new(*left);
        let right_flags = page::flags(&old) & (flag::LEAF | flag::HAS_DEAD);
        er.init(&mut right, page::level(&old), right_flags, left.block(), old_right);
        let high = (old_right != BlockNo::INVALID).then(|| page::item(&old, 0).0);
        let offset = high.is_some() as u16;
        let first = (!is_leaf).then(|| page::as_minus_infinity(page::item(&old, cut)));
        let rest = cut + first.is_some() as u16;
        let items = high
            .into_iter()
            .chain(first.as_deref())
            .chain((rest..page::count(&old)).map(|i| page::item(&old, i).0));
        er.insert(&mut right, 0, items);
        if right_flags & flag::HAS_DEAD != 0 {
            for i in (cut..page::count(&old)).filter(|i| page::is_dead(&old, *i)) {
                page::mark_dead(&mut right, i - cut + offset);
            }
        }
        if cycle != 0 {
            er.set_cycle(&mut right, cycle);
            el.set_cycle(&mut left, cycle);
        }
        el.truncate(&mut left, cut);
        if high.is_some() {
            el.replace(&mut left, 0, &separator);
        } else {
            el.insert_one(&mut left, 0, &separator);
        }
        el.set_right(&mut left, right.block());
        el.set_flags(&mut left, page::flags(&old) | flag::INCOMPLETE_SPLIT);
        if old_right == BlockNo::INVALID {
            let mut pages = [(&mut left, &el, false), (&mut right, &er, true)];
            self.log(kind::SPLIT, &mut pages)?;
        } else {
            let mut sibling = self.write(old_right)?;
            es.set_left(&mut sibling, right.block());
            let mut pages =
                [(&mut left, &el, false), (&mut right, &er, true), (&mut sibling, &es, false)];
            self.log(kind::SPLIT, &mut pages)?;
        }
        if is_leaf {
            let (db, rel) = (self.index.file.database, self.index.oid);
            self.storage.txn.ssi().page_split(db, rel, left.block(), right.block());
        }
        self.insert_downlink(left, right)
    }

    /// Completes the split of a latched page that is flagged so.
    pub fn finish_split(&self, left: WritePage) -> Result<()> {
        let right = self.write(page::right(&left))?;
        self.insert_downlink(left, right)
    }

    /// Tells the parent of `right`, which was split off from `left`.
    fn insert_downlink(&self, mut left: WritePage, right: WritePage) -> Result<()> {
        let (left_block, right_block) = (left.block(), right.block());
        let level = page::level(&left);
        if page::flags(&left) & flag::ROOT != 0 {
            return self.new_root(left, right);
        }
        drop(right);
        let separator = page::item(&left, 0).0.to_vec();
        let key = SearchKey::of_item(self.index, page::Item(&separator))?;
        let downlink = page::with_child(&separator, right_block);
        loop {
            let found = self.parent_of(left_block, &key, level + 1)?;
            let Some((mut parent, at)) = found else {
                return Err(corrupt(self.index, left_block, "the parent is not to be found"));
            };
            if page::free_space(&parent) < downlink.len() + 4 {
                self.split(parent, None)?;
                continue;
            }
            let (mut ep, mut el) = (Edit::new(), Edit::new());
            ep.insert_one(&mut parent, at + 1, &downlink);
            let flags = page::flags(&left) & !flag::INCOMPLETE_SPLIT;
            el.set_flags(&mut left, flags);
            let mut pages = [(&mut parent, &ep, false), (&mut left, &el, false)];
            return self.log(kind::INSERT_UPPER, &mut pages);
        }
    }

    /// The root was split: makes one above.
    fn new_root(&self, mut left: WritePage, right: WritePage) -> Result<()> {
        let level = page::level(&left) + 1;
        let mut root = self.new_page()?;
        let mut meta = self.write(BlockNo(0))?;
        let (mut er, mut el, mut em) = (Edit::new(), Edit::new(), Edit::new());
        er.init(&mut root, level, flag::ROOT, BlockNo::INVALID, BlockNo::INVALID);
        let first = page::make_minus_infinity(left.block());
        let second = page::with_child(page::item(&left, 0).0, right.block());
        er.insert(&mut root, 0, [&first[..], &second[..]].into_iter());
        let flags = page::flags(&left) & !(flag::INCOMPLETE_SPLIT | flag::ROOT);
        el.set_flags(&mut left, flags);
        let root_block = root.block();
        let new = Meta { root: root_block, level, fast_root: root_block, fast_level: level };
        em.set_meta(&mut meta, &new);
        let mut pages = [(&mut root, &er, true), (&mut left, &el, false), (&mut meta, &em, true)];
        self.log(kind::NEW_ROOT, &mut pages)?;
        self.forget_root();
        Ok(())
    }

    /// Number of the item that will be the first of the right page.
    fn choose_cut(&self, p: &Page, key: Option<&SearchKey>) -> Result<u16> {
        let (first, count) = (page::first(p), page::count(p));
        if count - first < 2 {
            return Err(corrupt(self.index, BlockNo::INVALID, "a full page has one item"));
        }
        let sizes: Vec<usize> = (first..count).map(|i| page::item(p, i).0.len() + 4).collect();
        let total: usize = sizes.iter().sum();
        let room = page::TRAILER - page::HEADER;
        let left_share = self.left_share(p, key)?;
        let wanted = total * left_share / 100;
        // What goes left, and its new high key, must fit; one item at least on each side.
        let fits = |i: usize, before: usize| {
            let high = page::align8(page::item(p, first + i as u16).0.len()) + 8 + 4;
            before + high <= room
        };
        let (mut best, mut best_distance, mut before) = (None, usize::MAX, 0);
        for i in 1..sizes.len() {
            before += sizes[i - 1];
            let distance = before.abs_diff(wanted);
            if distance < best_distance && fits(i, before) {
                best = Some(i);
                best_distance = distance;
            }
        }
        let Some(best) = best else {
            return Err(corrupt(self.index, BlockNo::INVALID, "a full page cannot be split"));
        };
        let cut = first + best as u16;
        if !page::is_leaf(p) || left_share != 50 {
            return Ok(cut);
        }
        self.shorter_separator(p, cut, &sizes, total, fits)
    }

    /// How many percent of the items' bytes stay on the left page.
    fn left_share(&self, p: &Page, key: Option<&SearchKey>) -> Result<usize> {
        if !page::is_leaf(p) {
            return Ok(if page::is_rightmost(p) { 70 } else { 50 });
        }
        let (first, last) = (page::first(p), page::count(p) - 1);
        let nkeys = self.index.nkeys();
        let (low, high) = (page::item(p, first), page::item(p, last));
        if key::equal_columns(self.index, low, high)? == nkeys {
            // Many rows with one key: they arrive in order of place, so leave the left page full.
            return Ok(96);
        }
        if page::is_rightmost(p) {
            return Ok(self.index.fillfactor.clamp(10, 100) as usize);
        }
        // Ascending insertions in the middle of the index (each after the one before) go on at the
        // end of the page.
        if let Some(key) = key
            && nkeys > 1
            && compare(self.index, key, high)? == Ordering::Greater
        {
            return Ok(self.index.fillfactor.clamp(10, 100) as usize);
        }
        Ok(50)
    }

    /// Among cuts near the middle, the one whose separator keeps the fewest columns.
    fn shorter_separator(
        &self,
        p: &Page,
        cut: u16,
        sizes: &[usize],
        total: usize,
        fits: impl Fn(usize, usize) -> bool,
    ) -> Result<u16> {
        let first = page::first(p);
        let mut best = (usize::MAX, usize::MAX, cut);
        let mut before = 0;
        for i in 1..sizes.len() {
            before += sizes[i - 1];
            let number = first + i as u16;
            let distance = before.abs_diff(total / 2);
            let near = number == cut || distance * 100 < total * 4;
            if !near || !fits(i, before) {
                continue;
            }
            let (a, b) = (page::item(p, number - 1), page::item(p, number));
            let kept = key::equal_columns(self.index, a, b)?;
            if (kept, distance) < (best.0, best.1) {
                best = (kept, distance, number);
            }
        }
        Ok(best.2)
    }
}
