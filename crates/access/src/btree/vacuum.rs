//! Removal of entries whose rows are gone, and of pages that are empty.
//!
//! Vacuum goes through the pages in the order of the file. A split during that time could move
//! entries from a page ahead to one behind; therefore each vacuum has a cycle number, splits put
//! it on both halves, and a page of this cycle whose right sibling lies behind is followed.

use super::edit::Edit;
use super::key::{SearchKey, corrupt, verify_page};
use super::page::{self, flag};
use super::redo::kind;
use super::tree::{Tree, WritePage};
use crate::Storage;
use crate::index::VacuumStats;
use base::{BlockNo, RelFile, Result, Tid};
use os::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// A running vacuum: of which server, which index, its number.
static RUNNING: Mutex<Vec<(usize, RelFile, u16)>> = Mutex::new(Vec::new());
static HOW_MANY: AtomicU32 = AtomicU32::new(0);
static LAST_CYCLE: AtomicU32 = AtomicU32::new(0);

fn server(storage: &Storage) -> usize {
    std::ptr::from_ref(storage).addr()
}

/// Number of the vacuum that runs on an index, 0 if none.
pub fn current_cycle(storage: &Storage, file: RelFile) -> u16 {
    if HOW_MANY.load(Ordering::Acquire) == 0 {
        return 0;
    }
    let here = server(storage);
    RUNNING.lock().iter().find(|r| r.0 == here && r.1 == file).map_or(0, |r| r.2)
}

struct Cycle {
    server: usize,
    file: RelFile,
    number: u16,
}

impl Cycle {
    fn begin(storage: &Storage, file: RelFile) -> Cycle {
        let n = LAST_CYCLE.fetch_add(1, Ordering::Relaxed);
        let number = (n % 0xFFFE) as u16 + 1;
        let server = server(storage);
        let mut running = RUNNING.lock();
        running.push((server, file, number));
        HOW_MANY.store(running.len() as u32, Ordering::Release);
        Cycle { server, file, number }
    }
}

impl Drop for Cycle {
    fn drop(&mut self) {
        let mut running = RUNNING.lock();
        running.retain(|r| *r != (self.server, self.file, self.number));
        HOW_MANY.store(running.len() as u32, Ordering::Release);
    }
}

impl Tree<'_> {
    /// See [`crate::index::IndexAm::bulk_delete`].
    pub fn bulk_delete(&self, dead: &dyn Fn(Tid) -> bool, stats: &mut VacuumStats) -> Result<()> {
        let cycle = Cycle::begin(self.storage, self.index.file);
        stats.entries = 0;
        (stats.deleted, stats.free) = (0, 0);
        let mut block = 1;
        loop {
            let end = self.rel.nblocks(self.fork)?.0;
            if block >= end {
                break;
            }
            while block < end {
                self.vacuum_from(BlockNo(block), cycle.number, dead, stats)?;
                block += 1;
            }
        }
        stats.pages = block;
        Ok(())
    }

    /// A page in the order of the file, and those behind it that it was split into.
    fn vacuum_from(
        &self,
        start: BlockNo,
        cycle: u16,
        dead: &dyn Fn(Tid) -> bool,
        stats: &mut VacuumStats,
    ) -> Result<()> {
        let mut block = start;
        loop {
            let mut p = self.write(block)?;
            if self.is_recyclable(&p) {
                drop(p);
                stats.free += 1;
                stats.deleted += 1;
                return self.offer_page(block);
            }
            verify_page(self.index, block, &p)?;
            if page::flags(&p) & flag::DELETED != 0 {
                stats.deleted += 1;
                return Ok(());
            }
            if page::flags(&p) & flag::HALF_DEAD != 0 {
                drop(p);
                self.unlink(block, stats)?;
                return Ok(());
            }
            if !page::is_leaf(&p) {
                return Ok(());
            }
            let right = page::right(&p);
            let behind = page::cycle(&p) == cycle && right != BlockNo::INVALID && right < start;
            stats.removed += self.vacuum_leaf(&mut p, dead)?;
            let entries: usize =
                (page::first(&p)..page::count(&p)).map(|i| page::item(&p, i).ntids()).sum();
            stats.entries += entries as u64;
            if page::count(&p) == page::first(&p) {
                self.delete_page(p, stats)?;
            }
            if !behind {
                return Ok(());
            }
            block = right;
        }
    }

    /// Removes dead entries from a latched leaf; returns how many.
    fn vacuum_leaf(&self, p: &mut WritePage, dead: &dyn Fn(Tid) -> bool) -> Result<u64> {
        let (mut gone, mut shrunk, mut removed) = (Vec::new(), Vec::new(), 0);
        let mut alive = Vec::new();
        for i in page::first(p)..page::count(p) {
            let item = page::item(p, i);
            let n = item.ntids();
            alive.clear();
            alive.extend(item.tids().filter(|t| !dead(*t)));
            removed += (n - alive.len()) as u64;
            if alive.is_empty() {
                gone.push(i);
            } else if alive.len() < n {
                shrunk.push((i, page::make_posting(item, &alive)));
            }
        }
        if removed == 0 {
            return Ok(0);
        }
        let mut edit = Edit::new();
        for (i, item) in &shrunk {
            edit.replace(p, *i, item);
        }
        // Replacing re-packs the page but keeps the numbers.
        edit.delete(p, &gone);
        self.log(kind::VACUUM, &mut [(p, &edit, false)])?;
        Ok(removed)
    }

    /// Takes an empty leaf out of the tree, if that is possible now: first its downlink (and the
    /// inner pages that have no other child), then its siblings' links.
    fn delete_page(&self, leaf: WritePage, stats: &mut VacuumStats) -> Result<()> {
        if !may_delete(&leaf) {
            return Ok(());
        }
        let high = page::item(&leaf, 0).0.to_vec();
        let key = SearchKey::of_item(self.index, page::Item(&high))?;
        let mut branch = vec![leaf];
        let (mut parent, at) = loop {
            let Some(top) = branch.last() else { return Ok(()) };
            let level = page::level(top) + 1;
            let Some((parent, at)) = self.parent_of(top.block(), &key, level)? else {
                // Its left sibling's split is incomplete, so there is no downlink.
                return Ok(());
            };
            if at + 1 < page::count(&parent) {
                break (parent, at);
            }
            // The last child: its key space could only go to a child of another parent. That is
            // possible if the parent goes, too.
            if page::count(&parent) != page::first(&parent) + 1 || !may_delete(&parent) {
                return Ok(());
            }
            branch.push(parent);
        };
        let Some(top) = branch.last() else { return Ok(()) };
        let heir = page::right(top);
        if page::item(&parent, at + 1).child() != heir {
            return Ok(());
        }
        let mut edits: Vec<Edit> = Vec::with_capacity(branch.len() + 1);
        let mut edit = Edit::new();
        edit.set_child(&mut parent, at, heir);
        edit.delete(&mut parent, &[at + 1]);
        edits.push(edit);
        for p in &mut branch {
            let mut edit = Edit::new();
            let flags = page::flags(p) | flag::HALF_DEAD;
            edit.set_flags(p, flags);
            edits.push(edit);
        }
        let blocks: Vec<BlockNo> = branch.iter().map(|p| p.block()).collect();
        let mut pages: Vec<_> = std::iter::once(&mut parent)
            .chain(&mut branch)
            .zip(&edits)
            .map(|(p, e)| (p, e, false))
            .collect();
        self.log(kind::HALF_DEAD, &mut pages)?;
        drop(pages);
        drop(parent);
        drop(branch);
        for block in blocks.into_iter().rev() {
            self.unlink(block, stats)?;
        }
        Ok(())
    }

    /// Takes a half-dead page out of the chain of siblings.
    fn unlink(&self, block: BlockNo, stats: &mut VacuumStats) -> Result<()> {
        for _ in 0..1000 {
            let left = {
                let p = self.read(block)?;
                if page::flags(&p) & flag::HALF_DEAD == 0 {
                    return Ok(());
                }
                page::left(&p)
            };
            // Latches go from left to right. The left sibling may have been split since.
            let mut left_page = match left {
                BlockNo::INVALID => None,
                _ => match self.left_neighbour(left, block)? {
                    Some(p) => Some(p),
                    None => continue,
                },
            };
            let mut p = self.write(block)?;
            let left = left_page.as_ref().map_or(BlockNo::INVALID, |l| l.block());
            if page::left(&p) != left {
                continue;
            }
            let right = page::right(&p);
            if right == BlockNo::INVALID {
                return Err(corrupt(self.index, block, "a half-dead page is the last one"));
            }
            let mut right_page = self.write(right)?;
            if page::left(&right_page) != block {
                let what = format!("the right sibling {right} does not know it");
                return Err(corrupt(self.index, block, what));
            }
            let (mut el, mut ep, mut er) = (Edit::new(), Edit::new(), Edit::new());
            let safe = self.storage.wal.inserted();
            ep.set_deleted(&mut p, safe.0);
            er.set_left(&mut right_page, left);
            let mut pages = Vec::with_capacity(3);
            if let Some(l) = &mut left_page {
                el.set_right(l, right);
                pages.push((l, &el, false));
            }
            pages.push((&mut p, &ep, false));
            pages.push((&mut right_page, &er, false));
            self.log(kind::UNLINK, &mut pages)?;
            stats.newly_deleted += 1;
            stats.deleted += 1;
            return Ok(());
        }
        Err(corrupt(self.index, block, "the left sibling is not to be found"))
    }

    /// From `left` to the right, the page whose right sibling is `block`, latched for writing.
    fn left_neighbour(&self, left: BlockNo, block: BlockNo) -> Result<Option<WritePage>> {
        let mut at = left;
        while at != BlockNo::INVALID && at != block {
            let p = self.write(at)?;
            if page::flags(&p) & flag::DELETED != 0 {
                return Ok(None);
            }
            if page::right(&p) == block {
                return Ok(Some(p));
            }
            at = page::right(&p);
        }
        Ok(None)
    }
}

/// True unless the page must stay: the root, the last of its level, or its split is incomplete.
fn may_delete(p: &page::Page) -> bool {
    !page::is_rightmost(p)
        && page::flags(p) & (flag::ROOT | flag::INCOMPLETE_SPLIT | flag::HALF_DEAD | flag::DELETED)
            == 0
}
