//! Scans. A leaf is read as a whole: what qualifies is copied out under the share latch, then the
//! latch and the pin go. The scan goes on at the neighbour that the page had when it was read, so
//! entries that a split moved are not seen twice; a snapshot makes it harmless that rows may come
//! and go meanwhile, and keeps deleted pages from being recycled under a scan.

mod parallel;
mod prepare;

pub use parallel::ParallelScan;
pub use prepare::{ArrayPosition, Fit, Prepared};

use super::key::{
    IntSearch, SearchKey, compare, corrupt, item_values_into, lower_bound, verify_page,
};
use super::opt;
use super::page::{self, Item, Page};
use super::search::{End, Target};
use super::tree::{ReadPage, Tree};
use crate::Storage;
use crate::index::{Direction, IndexRel, IndexScan, ScanKey, ScanOptions};
use base::{BlockNo, Lsn, Result, Tid};
use buffer::Persistence;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::sync::Arc;
use types::Datum;

/// One entry that qualifies.
#[derive(Clone, Copy, Debug)]
struct Entry {
    tid: Tid,
    /// Number of its item on the page.
    item: u16,
    visible: bool,
    /// Where its item's copy is, and how long.
    data: u32,
    len: u16,
}

/// What was copied from a leaf.
#[derive(Clone, Debug)]
struct Leaf {
    block: BlockNo,
    lsn: Lsn,
    left: BlockNo,
    right: BlockNo,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    /// Entries that qualify may be on pages to the left.
    more_left: bool,
    /// Likewise to the right.
    more_right: bool,
}

impl Default for Leaf {
    fn default() -> Leaf {
        Leaf {
            block: BlockNo::INVALID,
            lsn: Lsn::INVALID,
            left: BlockNo::INVALID,
            right: BlockNo::INVALID,
            entries: Vec::new(),
            bytes: Vec::new(),
            more_left: false,
            more_right: false,
        }
    }
}

/// Where a scan is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// Not started.
    Fresh,
    /// At this entry of the leaf.
    At(usize),
    /// Past the end in this direction.
    Past(Direction),
}

struct Mark {
    leaf: Arc<Leaf>,
    place: Place,
    arrays: ArrayPosition,
}

/// A scan of a B-tree.
pub struct BtScan {
    storage: Arc<Storage>,
    index: Arc<IndexRel>,
    options: ScanOptions,
    prepared: Prepared,
    leaf: Arc<Leaf>,
    place: Place,
    killed: Vec<usize>,
    mark: Option<Mark>,
}

impl BtScan {
    /// A scan that has not started.
    pub fn new(
        storage: &Arc<Storage>,
        index: &Arc<IndexRel>,
        keys: &[ScanKey],
        options: ScanOptions,
    ) -> Result<BtScan> {
        Ok(BtScan {
            storage: Arc::clone(storage),
            index: Arc::clone(index),
            options,
            prepared: Prepared::new(index, keys)?,
            leaf: Arc::default(),
            place: Place::Fresh,
            killed: Vec::new(),
            mark: None,
        })
    }

    /// The scan begins (again) at the end where this direction begins.
    fn begin(&mut self, direction: Direction) -> Result<bool> {
        if self.options.parallel.is_some() {
            return self.seize(direction);
        }
        if self.prepared.never {
            return Ok(false);
        }
        self.prepared.reset_arrays(direction);
        if self.begin_arrays(direction)? {
            return Ok(true);
        }
        self.next_arrays(direction)
    }

    /// Goes on to what comes after the current leaf.
    fn go_on(&mut self, direction: Direction) -> Result<bool> {
        if self.options.parallel.is_some() {
            return self.seize(direction);
        }
        Ok(self.neighbour(direction)? || self.next_arrays(direction)?)
    }

    /// Steps through combinations of array elements until one has entries.
    fn next_arrays(&mut self, direction: Direction) -> Result<bool> {
        while self.prepared.has_arrays() && self.prepared.step_arrays(direction) {
            if self.begin_arrays(direction)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the first leaf with entries for the current array elements.
    fn begin_arrays(&mut self, direction: Direction) -> Result<bool> {
        self.flush_kills();
        let key = self.prepared.start(&self.index, direction);
        let Some(block) = self.descend(&key, direction)? else { return Ok(false) };
        let plain = self.prepared.plain_equal && direction == Direction::Forward;
        if plain && !self.options.want_values && key.is_total() && self.options.serial.is_none() {
            let tree = Tree::new(&self.storage, &self.index);
            let mut found = SmallVec::new();
            if let Some(leaf) = tree.equal_on_leaf(block, &key, &mut found) {
                own(&mut self.leaf).set_equal(block, leaf, &found);
                return Ok(!found.is_empty());
            }
        }
        let (p, number) = self.first_leaf(block, &key, direction)?;
        self.note(p.block());
        let job = Job { index: &self.index, prepared: &self.prepared, options: &self.options };
        let leaf = own(&mut self.leaf);
        leaf.copy(&p, p.block(), &job, number, direction)?;
        drop(p);
        // Nothing qualifies before the start.
        match direction {
            Direction::Forward => leaf.more_left = false,
            Direction::Backward => leaf.more_right = false,
        }
        if !leaf.entries.is_empty() {
            return Ok(true);
        }
        self.neighbour(direction)
    }

    /// The leaf where a scan with this start key begins, or one to the left of it; None if the
    /// index is empty.
    fn descend(&self, key: &SearchKey, direction: Direction) -> Result<Option<BlockNo>> {
        let tree = Tree::new(&self.storage, &self.index);
        let found = tree.descend(target(key, direction), 0)?;
        if let (None, Some(serial)) = (&found, &self.options.serial) {
            serial.read_relation(self.index.file.database, self.index.oid);
        }
        Ok(found)
    }

    /// From the leaf where a descent arrived, the one where the scan begins, and the number of its
    /// first item there (backward: of the one after it).
    fn first_leaf(
        &self,
        block: BlockNo,
        key: &SearchKey,
        direction: Direction,
    ) -> Result<(ReadPage, u16)> {
        let tree = Tree::new(&self.storage, &self.index);
        let p = match target(key, direction) {
            Target::Key(key) => tree.leaf_for_read(block, key)?,
            Target::End(end) => tree.end_leaf(block, end)?,
        };
        let number = match (key.columns.is_empty(), direction) {
            (false, _) => lower_bound(&self.index, &p, key)?,
            (true, Direction::Forward) => page::first(&p),
            (true, Direction::Backward) => page::count(&p),
        };
        Ok((p, number))
    }

    /// Goes on to the nearest leaf in this direction that has entries.
    fn neighbour(&mut self, direction: Direction) -> Result<bool> {
        loop {
            let more = match direction {
                Direction::Forward => self.leaf.more_right,
                Direction::Backward => self.leaf.more_left,
            };
            if !more {
                return Ok(false);
            }
            self.flush_kills();
            let tree = Tree::new(&self.storage, &self.index);
            let p = match direction {
                Direction::Forward => tree.live_right(self.leaf.right)?,
                Direction::Backward => tree.live_left(self.leaf.block, self.leaf.left)?,
            };
            let Some(p) = p else { return Ok(false) };
            self.note(p.block());
            let from = match direction {
                Direction::Forward => page::first(&p),
                Direction::Backward => page::count(&p),
            };
            let job = Job { index: &self.index, prepared: &self.prepared, options: &self.options };
            own(&mut self.leaf).copy(&p, p.block(), &job, from, direction)?;
            if !self.leaf.entries.is_empty() {
                return Ok(true);
            }
        }
    }

    /// A serializable transaction looks at a leaf, which is latched.
    fn note(&self, block: BlockNo) {
        if let Some(serial) = &self.options.serial {
            serial.read_page(self.index.file.database, self.index.oid, block);
        }
    }

    fn entry(&self) -> Option<&Entry> {
        match self.place {
            Place::At(i) => self.leaf.entries.get(i),
            _ => None,
        }
    }

    /// Marks the items of the rows that were reported dead, if the leaf has not changed since.
    fn flush_kills(&mut self) {
        if self.killed.is_empty() {
            return;
        }
        let killed = std::mem::take(&mut self.killed);
        // Only the log position tells whether the page is the same; unlogged pages have none.
        if self.index.persistence != Persistence::Permanent {
            return;
        }
        let tree = Tree::new(&self.storage, &self.index);
        tree.mark_dead(self.leaf.block, self.leaf.lsn, || {
            let leaf = &self.leaf;
            killed.iter().filter_map(|i| leaf.entries.get(*i)).map(|e| (e.item, e.tid))
        });
    }
}

/// Where a descent leads.
fn target(key: &SearchKey, direction: Direction) -> Target<'_> {
    match (key.columns.is_empty(), direction) {
        (false, _) => Target::Key(key),
        (true, Direction::Forward) => Target::End(End::Left),
        (true, Direction::Backward) => Target::End(End::Right),
    }
}

/// What a leaf is copied for.
struct Job<'a> {
    index: &'a IndexRel,
    prepared: &'a Prepared,
    options: &'a ScanOptions,
}

/// The leaf to write to: another one if somebody remembers this one.
fn own(leaf: &mut Arc<Leaf>) -> &mut Leaf {
    if Arc::get_mut(leaf).is_none() {
        *leaf = Arc::default();
    }
    match Arc::get_mut(leaf) {
        Some(leaf) => leaf,
        None => unreachable!("the leaf was just made"),
    }
}

impl Leaf {
    /// Copies what qualifies from item `from` on (backward: from the one before it), until the
    /// page ends or nothing more can qualify.
    fn copy(
        &mut self,
        p: &Page,
        block: BlockNo,
        job: &Job<'_>,
        from: u16,
        direction: Direction,
    ) -> Result<()> {
        self.block = block;
        self.lsn = Lsn(page::get64(p, 0));
        self.left = page::left(p);
        self.right = page::right(p);
        self.entries.clear();
        self.bytes.clear();
        self.more_left = !page::is_leftmost(p);
        self.more_right = !page::is_rightmost(p);
        match direction {
            Direction::Forward => self.copy_forward(p, job, from),
            Direction::Backward => self.copy_backward(p, job, from),
        }
    }

    /// Takes what was found without latching the page.
    fn set_equal(&mut self, block: BlockNo, leaf: opt::Leaf, found: &[(Tid, u16)]) {
        self.block = block;
        self.lsn = Lsn(leaf.lsn);
        self.left = leaf.left;
        self.right = leaf.right;
        self.bytes.clear();
        (self.more_left, self.more_right) = (false, false);
        self.entries.clear();
        self.entries.extend(found.iter().map(|(tid, item)| Entry {
            tid: *tid,
            item: *item,
            visible: false,
            data: 0,
            len: 0,
        }));
    }

    fn push(&mut self, item: Item<'_>, number: u16, options: &ScanOptions, reverse: bool) {
        let data = self.bytes.len() as u32;
        let mut len = 0;
        if options.want_values {
            let key_end = item.key_end().min(item.0.len());
            self.bytes.extend_from_slice(&item.0[..key_end]);
            len = key_end as u16;
        }
        let n = item.ntids();
        for i in 0..n {
            let tid = item.tid(if reverse { n - 1 - i } else { i });
            let visible = options.all_visible.as_ref().is_some_and(|f| match self.entries.last() {
                // All entries of a leaf were there when the first was asked about: one answer
                // does for all of a page of the table.
                Some(e) if e.tid.block == tid.block => e.visible,
                _ => f(tid.block),
            });
            self.entries.push(Entry { tid, item: number, visible, data, len });
        }
    }

    fn copy_forward(&mut self, p: &Page, job: &Job<'_>, from: u16) -> Result<()> {
        let Job { index, prepared, options } = *job;
        let count = page::count(p);
        for i in from.max(page::first(p))..count {
            if page::is_dead(p, i) {
                continue;
            }
            let item = page::item(p, i);
            match prepared.fit(index, item, Direction::Forward)? {
                Fit::Match => self.push(item, i, options, false),
                Fit::Skip => {}
                Fit::Stop => {
                    self.more_right = false;
                    return Ok(());
                }
            }
        }
        // The high key may tell that the next page has nothing.
        if self.more_right && prepared.ends_before(index, page::item(p, 0))? {
            self.more_right = false;
        }
        Ok(())
    }

    fn copy_backward(&mut self, p: &Page, job: &Job<'_>, from: u16) -> Result<()> {
        let Job { index, prepared, options } = *job;
        for i in (page::first(p)..from.min(page::count(p))).rev() {
            if page::is_dead(p, i) {
                continue;
            }
            let item = page::item(p, i);
            match prepared.fit(index, item, Direction::Backward)? {
                Fit::Match => self.push(item, i, options, true),
                Fit::Skip => {}
                Fit::Stop => {
                    self.more_left = false;
                    break;
                }
            }
        }
        self.entries.reverse();
        Ok(())
    }
}

impl IndexScan for BtScan {
    fn rescan(&mut self, keys: Vec<ScanKey>) -> Result<()> {
        self.flush_kills();
        self.prepared = Prepared::new(&self.index, &keys)?;
        self.place = Place::Fresh;
        self.mark = None;
        Ok(())
    }

    fn next(&mut self, direction: Direction) -> Result<Option<Tid>> {
        let found = match (self.place, direction) {
            (Place::At(i), Direction::Forward) if i + 1 < self.leaf.entries.len() => {
                self.place = Place::At(i + 1);
                return Ok(self.entry().map(|e| e.tid));
            }
            (Place::At(i), Direction::Backward) if i > 0 => {
                self.place = Place::At(i - 1);
                return Ok(self.entry().map(|e| e.tid));
            }
            (Place::At(_), _) => self.go_on(direction)?,
            (Place::Past(end), _) if end == direction => false,
            (Place::Fresh | Place::Past(_), _) => self.begin(direction)?,
        };
        if !found {
            self.flush_kills();
            self.place = Place::Past(direction);
            return Ok(None);
        }
        self.place = Place::At(match direction {
            Direction::Forward => 0,
            Direction::Backward => self.leaf.entries.len() - 1,
        });
        Ok(self.entry().map(|e| e.tid))
    }

    fn values(&self, out: &mut Vec<Datum>) -> Result<()> {
        out.clear();
        let Some(e) = self.entry() else { return Ok(()) };
        let from = e.data as usize;
        let item = Item(&self.leaf.bytes[from..from + e.len as usize]);
        item_values_into(&self.index, item, self.index.desc.attrs.len(), out)
    }

    fn all_visible(&self) -> bool {
        self.entry().is_some_and(|e| e.visible)
    }

    fn skip_visible(&mut self, direction: Direction, most: usize) -> usize {
        let Place::At(i) = self.place else { return 0 };
        let entries = &self.leaf.entries;
        match direction {
            Direction::Forward => {
                let n = entries[i + 1..].iter().take(most).take_while(|e| e.visible).count();
                self.place = Place::At(i + n);
                n
            }
            Direction::Backward => {
                let n = entries[..i].iter().rev().take(most).take_while(|e| e.visible).count();
                self.place = Place::At(i - n);
                n
            }
        }
    }

    fn kill(&mut self) {
        if let Place::At(i) = self.place
            && self.killed.last() != Some(&i)
        {
            self.killed.push(i);
        }
    }

    fn mark(&mut self) -> Result<()> {
        self.mark = Some(Mark {
            leaf: Arc::clone(&self.leaf),
            place: self.place,
            arrays: self.prepared.array_position(),
        });
        Ok(())
    }

    fn restore(&mut self) -> Result<()> {
        self.flush_kills();
        if let Some(mark) = &self.mark {
            self.leaf = Arc::clone(&mark.leaf);
            self.place = mark.place;
            self.prepared.set_array_position(&mark.arrays);
        }
        Ok(())
    }

    fn bitmap(&mut self, out: &mut dyn FnMut(Tid)) -> Result<u64> {
        let mut n = 0;
        let mut found = self.begin(Direction::Forward)?;
        while found {
            for e in &self.leaf.entries {
                out(e.tid);
            }
            n += self.leaf.entries.len() as u64;
            found = self.neighbour(Direction::Forward)? || self.next_arrays(Direction::Forward)?;
        }
        self.place = Place::Past(Direction::Forward);
        Ok(n)
    }
}

impl Drop for BtScan {
    fn drop(&mut self) {
        self.flush_kills();
    }
}

impl Tree<'_> {
    /// Rows of the entries that equal a whole key, read without latching; None if the leaf has to
    /// be latched.
    fn equal_on_leaf(
        &self,
        block: BlockNo,
        key: &SearchKey,
        found: &mut SmallVec<[(Tid, u16); 4]>,
    ) -> Option<opt::Leaf> {
        let fast = IntSearch::of(self.index, key);
        let read = self.rel.optimistic(self.fork, block, |p| {
            opt::collect_equal(self.index, p, key, fast.as_ref(), found)
        });
        read?.ok()?
    }

    /// Rows of all entries with this key.
    pub fn lookup(&self, values: &[Datum], out: &mut Vec<Tid>) -> Result<()> {
        out.clear();
        let key = SearchKey::of_values(self.index, values);
        // `=` is never true of NULL.
        if key.has_null() {
            return Ok(());
        }
        let Some(block) = self.descend(Target::Key(&key), 0)? else { return Ok(()) };
        if key.is_total() {
            let mut found = SmallVec::new();
            if self.equal_on_leaf(block, &key, &mut found).is_some() {
                // Mostly one.
                for (tid, _) in &found {
                    out.push(*tid);
                }
                return Ok(());
            }
        }
        let mut p = self.leaf_for_read(block, &key)?;
        loop {
            let start = lower_bound(self.index, &p, &key)?;
            for i in start..page::count(&p) {
                let item = page::item(&p, i);
                if compare(self.index, &key, item)? != Ordering::Equal {
                    return Ok(());
                }
                if !page::is_dead(&p, i) {
                    out.extend(item.tids());
                }
            }
            match self.live_right(page::right(&p))? {
                Some(next) => p = next,
                None => return Ok(()),
            }
        }
    }

    /// The first leaf from `block` to the right that is not deleted.
    fn live_right(&self, block: BlockNo) -> Result<Option<ReadPage>> {
        let mut block = block;
        while block != BlockNo::INVALID {
            let p = self.read(block)?;
            verify_page(self.index, block, &p)?;
            if !page::is_ignorable(&p) {
                return Ok(Some(p));
            }
            block = page::right(&p);
        }
        Ok(None)
    }

    /// From a page where a descent to one end arrived, the page that is really there.
    fn end_leaf(&self, block: BlockNo, end: End) -> Result<ReadPage> {
        let mut block = block;
        loop {
            let p = self.read(block)?;
            verify_page(self.index, block, &p)?;
            let right = page::right(&p);
            let go_on = page::is_ignorable(&p) || (end == End::Right && right != BlockNo::INVALID);
            if !go_on {
                return Ok(p);
            }
            if right == BlockNo::INVALID {
                return Err(corrupt(self.index, block, "fell off the right end"));
            }
            block = right;
        }
    }

    /// The leaf to the left of `block`, whose left link was `left` when it was read. The left
    /// sibling may have been split (then the page wanted is some way to the right of it) or
    /// deleted, and so may `block` itself.
    fn live_left(&self, block: BlockNo, left: BlockNo) -> Result<Option<ReadPage>> {
        let (mut block, mut left) = (block, left);
        for _ in 0..1000 {
            if left == BlockNo::INVALID {
                return Ok(None);
            }
            // A few steps to the right are likely to meet our page.
            let mut at = left;
            for _ in 0..4 {
                let p = self.read(at)?;
                verify_page(self.index, at, &p)?;
                let deleted = page::flags(&p) & page::flag::DELETED != 0;
                let right = page::right(&p);
                if !deleted && right == block {
                    if !page::is_ignorable(&p) {
                        return Ok(Some(p));
                    }
                    // Half dead: go on from there.
                    (block, left) = (at, page::left(&p));
                    break;
                }
                if right == BlockNo::INVALID {
                    break;
                }
                at = right;
            }
            if block == at {
                continue;
            }
            // Either our page was deleted, then go on from the next living one, or its left link
            // has changed.
            let mut here = block;
            loop {
                let p = self.read(here)?;
                verify_page(self.index, here, &p)?;
                if page::flags(&p) & page::flag::DELETED == 0 {
                    (block, left) = (here, page::left(&p));
                    break;
                }
                here = page::right(&p);
                if here == BlockNo::INVALID {
                    return Err(corrupt(self.index, block, "fell off the right end"));
                }
            }
        }
        Err(corrupt(self.index, block, "the way to the left has no end"))
    }

    /// Marks items dead all of whose rows are among those given, unless the page has changed.
    fn mark_dead<I: Iterator<Item = (u16, Tid)>>(
        &self,
        block: BlockNo,
        lsn: Lsn,
        killed: impl Fn() -> I,
    ) {
        let Ok(pin) = self.rel.read(self.fork, block) else { return };
        let Some(mut p) = pin.try_write() else { return };
        if p.lsn() != lsn {
            return;
        }
        // The page is not marked dirty: one that goes to disk for a hint alone could be torn there
        // without an image in the log to mend it.
        let mut last = u16::MAX;
        for (number, _) in killed() {
            if number == last || number >= page::count(&p) {
                continue;
            }
            last = number;
            let item = page::item(&p, number);
            let n = killed().filter(|k| k.0 == number).count();
            if n >= item.ntids() && !page::is_dead(&p, number) {
                page::mark_dead(&mut p, number);
            }
        }
    }
}
