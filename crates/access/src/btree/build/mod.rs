//! Building a whole index: rows are formed into items, sorted, and laid into pages from the leaves
//! to the root. Each page goes to the log once, when it is full.

mod sort;

use self::sort::{Sorted, SortedItem, Sorter};
use super::edit::Edit;
use super::key::{equal_columns, form_item, item_values, make_separator, same_image};
use super::page::{self, Item, Meta, Page, flag};
use super::redo::kind;
use super::tree::{Tree, WritePage};
use crate::index::{BuildOptions, BuildOutcome, BuildSource};
use base::progress::{self, Command, index as figure};
use base::{BlockNo, Result, Tid, bail};

/// Bytes of a leaf's posting list while building.
const BUILD_POSTING: usize = 812;
/// How full inner pages get, in percent.
const INNER_FILL: usize = 70;

impl Tree<'_> {
    /// Makes the metapage of an empty index.
    pub fn build_empty(&self) -> Result<()> {
        let mut meta = self.rel.extend_one(self.fork)?;
        if meta.block() != BlockNo(0) {
            bail!(INTERNAL_ERROR, "index \"{}\" is not empty", self.index.name);
        }
        self.write_meta(&mut meta, BlockNo::INVALID, 0)
    }

    fn write_meta(&self, p: &mut WritePage, root: BlockNo, level: u32) -> Result<()> {
        let mut edit = Edit::new();
        edit.set_meta(p, &Meta { root, level, fast_root: root, fast_level: level });
        self.log(kind::BUILD, &mut [(p, &edit, true)])
    }

    /// See [`crate::index::IndexAm::build`].
    pub fn build(
        &self,
        source: &mut dyn BuildSource,
        options: BuildOptions,
    ) -> Result<BuildOutcome> {
        let tell = |figure, n| progress::set(Command::CreateIndex, figure, n);
        tell(figure::SUBPHASE, figure::SCANNING);
        let mut n = 0;
        let mut sorter = Sorter::new(self.storage, self.index, options.memory);
        let mut values = Vec::with_capacity(self.index.desc.attrs.len());
        loop {
            values.clear();
            let Some((tid, alive)) = source.next(&mut values)? else { break };
            sorter.add(&values, &form_item(self.index, &values, tid)?, alive)?;
            n += 1;
        }
        tell(figure::SUBPHASE, figure::SORTING);
        tell(figure::TUPLES, n);
        let mut sorted = sorter.finish()?;
        tell(figure::SUBPHASE, figure::LOADING);
        self.load(&mut sorted)
    }

    fn load(&self, sorted: &mut Sorted<'_>) -> Result<BuildOutcome> {
        let mut meta = self.rel.extend_one(self.fork)?;
        if meta.block() != BlockNo(0) {
            bail!(INTERNAL_ERROR, "index \"{}\" is not empty", self.index.name);
        }
        // The metapage is written last; until then the page must not look damaged.
        page::write_meta(
            &mut meta,
            &Meta { root: BlockNo::INVALID, level: 0, fast_root: BlockNo::INVALID, fast_level: 0 },
        );
        meta.mark_dirty();
        drop(meta);
        let mut loader = Loader { tree: self, levels: Vec::new(), run: None };
        let mut last_alive: Option<(u64, Vec<u8>)> = None;
        let mut last_prefix = None;
        let mut n: u64 = 0;
        while let Some(SortedItem { bytes, prefix, alive }) = sorted.next()? {
            if self.index.unique && alive {
                if let Some((before, other)) = &last_alive
                    && *before == prefix
                    && let Some(found) = self.duplicate(Item(other), Item(bytes))?
                {
                    return Ok(found);
                }
                let keep = last_alive.get_or_insert_default();
                keep.0 = prefix;
                keep.1.clear();
                keep.1.extend_from_slice(bytes);
            }
            loader.add(bytes, last_prefix != Some(prefix))?;
            last_prefix = Some(prefix);
            n += 1;
            if n.is_multiple_of(1024) {
                progress::set(Command::CreateIndex, figure::TUPLES_DONE, n as i64);
            }
        }
        let (root, level) = loader.finish()?;
        let mut meta = self.write(BlockNo(0))?;
        self.write_meta(&mut meta, root, level)?;
        Ok(BuildOutcome::Done(n))
    }

    fn duplicate(&self, a: Item<'_>, b: Item<'_>) -> Result<Option<BuildOutcome>> {
        let nkeys = self.index.nkeys();
        if equal_columns(self.index, a, b)? < nkeys {
            return Ok(None);
        }
        let values = item_values(self.index, b, nkeys)?;
        if !self.index.nulls_not_distinct && values.iter().any(|v| v.is_null()) {
            return Ok(None);
        }
        Ok(Some(BuildOutcome::Duplicate(values, a.tid(0), b.tid(0))))
    }
}

/// A level under construction: its last page, and the downlink that will lead to it.
struct Level {
    page: WritePage,
    downlink: Vec<u8>,
}

/// Equal keys on their way into a posting list.
struct Run {
    base: Vec<u8>,
    tids: Vec<Tid>,
}

struct Loader<'t> {
    tree: &'t Tree<'t>,
    levels: Vec<Level>,
    run: Option<Run>,
}

impl Loader<'_> {
    /// Adds the next leaf item; it is known to differ from the one before if it is `new`.
    fn add(&mut self, bytes: &[u8], new: bool) -> Result<()> {
        if !self.tree.index.deduplicate {
            return self.put(0, bytes);
        }
        let item = Item(bytes);
        if let Some(run) = self.run.as_mut().filter(|_| !new) {
            let base = Item(&run.base);
            let size = page::posting_size(base, run.tids.len() + 1);
            if size <= BUILD_POSTING && same_image(base, item) {
                run.tids.push(item.tid(0));
                return Ok(());
            }
        }
        self.flush_run()?;
        let run = self.run.get_or_insert_with(|| Run { base: Vec::new(), tids: Vec::new() });
        run.base.clear();
        run.base.extend_from_slice(bytes);
        run.tids.clear();
        run.tids.push(item.tid(0));
        Ok(())
    }

    fn flush_run(&mut self) -> Result<()> {
        let Some(mut run) = self.run.take() else { return Ok(()) };
        if run.tids.len() == 1 {
            self.put(0, &run.base)?;
        } else if !run.tids.is_empty() {
            let item = page::make_posting(Item(&run.base), &run.tids);
            self.put(0, &item)?;
        }
        run.tids.clear();
        self.run = Some(run);
        Ok(())
    }

    fn new_level(&mut self, level: usize, downlink: Vec<u8>) -> Result<()> {
        let mut page = self.tree.rel.extend_one(self.tree.fork)?;
        let leaf = if level == 0 { flag::LEAF } else { 0 };
        page::init(&mut page, level as u32, leaf, BlockNo::INVALID, BlockNo::INVALID);
        self.levels.push(Level { page, downlink });
        Ok(())
    }

    /// Appends an item to a level; a full page is finished first.
    fn put(&mut self, level: usize, bytes: &[u8]) -> Result<()> {
        if self.levels.len() == level {
            self.new_level(level, page::make_minus_infinity(BlockNo::INVALID))?;
        }
        let fill = match level {
            0 => self.tree.index.fillfactor.clamp(10, 100) as usize,
            _ => INNER_FILL,
        };
        let keep_free = (page::TRAILER - page::HEADER) * (100 - fill) / 100;
        let p = &mut self.levels[level].page;
        let free = page::free_space(p);
        let need = bytes.len() + 4;
        let n = page::count(p);
        if n >= 2 && (free < need || free - need < keep_free) {
            self.finish_page(level, bytes)?;
        }
        let p = &mut self.levels[level].page;
        let at = page::count(p);
        if !page::insert(p, at, bytes) {
            bail!(INTERNAL_ERROR, "an index item does not fit an empty page");
        }
        Ok(())
    }

    /// Gives the full page of a level its high key, and begins the next one. `next` will be the
    /// next item of the level.
    fn finish_page(&mut self, level: usize, next: &[u8]) -> Result<()> {
        let tree = self.tree;
        let mut fresh = tree.rel.extend_one(tree.fork)?;
        let lev = &mut self.levels[level];
        let p = &mut lev.page;
        let leaf = page::flags(p);
        page::init(&mut fresh, level as u32, leaf, p.block(), BlockNo::INVALID);
        let count = page::count(p);
        let (cut, separator) = choose_cut(tree, p, next, level == 0)?;
        for i in cut..count {
            let item = page::item(p, i);
            let minus = (level > 0 && i == cut).then(|| page::as_minus_infinity(item));
            let bytes = minus.as_deref().unwrap_or(item.0);
            let at = page::count(&fresh);
            if !page::insert(&mut fresh, at, bytes) {
                bail!(INTERNAL_ERROR, "an index item does not fit an empty page");
            }
        }
        page::retain(p, |i| i < cut);
        page::set_right(p, fresh.block());
        if !page::insert(p, 0, &separator) {
            bail!(INTERNAL_ERROR, "a high key does not fit its page");
        }
        let downlink = page::with_child(&separator, fresh.block());
        let mut full = Level { page: fresh, downlink };
        std::mem::swap(lev, &mut full);
        log_page(tree, &mut full.page)?;
        let up = page::with_child(&full.downlink, full.page.block());
        drop(full.page);
        self.put(level + 1, &up)
    }

    /// Finishes all levels; gives the root and its level.
    fn finish(mut self) -> Result<(BlockNo, u32)> {
        self.flush_run()?;
        let mut level = 0;
        let mut root = (BlockNo::INVALID, 0);
        while level < self.levels.len() {
            let lev = &mut self.levels[level];
            let block = lev.page.block();
            if page::is_leftmost(&lev.page) {
                let flags = page::flags(&lev.page) | flag::ROOT;
                page::set_flags(&mut lev.page, flags);
                root = (block, level as u32);
            }
            let up = page::with_child(&lev.downlink, block);
            log_page(self.tree, &mut self.levels[level].page)?;
            if root.0 == BlockNo::INVALID {
                self.put(level + 1, &up)?;
            }
            level += 1;
        }
        Ok(root)
    }
}

/// Where to end a full page: the number of the first item that moves on (the count if none), and
/// the high key. Items move on until the high key fits.
fn choose_cut(tree: &Tree<'_>, p: &Page, next: &[u8], leaf: bool) -> Result<(u16, Vec<u8>)> {
    let count = page::count(p);
    let mut free = page::free_space(p);
    let mut cut = count;
    loop {
        let first_right = if cut == count { Item(next) } else { page::item(p, cut) };
        let separator = if leaf {
            make_separator(tree.index, page::item(p, cut - 1), first_right)?
        } else {
            page::with_child(first_right.0, BlockNo::INVALID)
        };
        if separator.len() + 4 <= free || cut == 1 {
            return Ok((cut, separator));
        }
        cut -= 1;
        free += page::item(p, cut).0.len() + 4;
    }
}

/// Logs a finished page as a whole.
fn log_page(tree: &Tree<'_>, p: &mut WritePage) -> Result<()> {
    let mut edit = Edit::new();
    edit.whole(p);
    tree.log(kind::BUILD, &mut [(p, &edit, true)])
}
