//! From the root to the page where a key is or would be.
//!
//! A descent latches nothing: it reads inner pages optimistically and without pinning them (the
//! page's version is compared afterwards), so that concurrent descents write no shared memory. It
//! may arrive at a page that has since been split or deleted; whoever uses the page latches it and
//! then moves right as long as the key lies beyond the high key.

use super::key::{self, IntSearch, SearchKey, corrupt, is_beyond, verify_page};
use super::opt::{self, Step};
use super::page::{self, Page, flag};
use super::tree::{ReadPage, Tree, WritePage};
use base::{BlockNo, Result};
use std::sync::atomic::Ordering;

/// A descent that starts over more often than this runs in circles.
const MAX_RESTARTS: u32 = 10_000;

/// Which end of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The first page.
    Left,
    /// The last page.
    Right,
}

/// What a descent looks for.
#[derive(Clone, Copy)]
pub enum Target<'k> {
    /// The page for a key.
    Key(&'k SearchKey),
    /// The first or last page.
    End(End),
}

fn pack_root(block: BlockNo, level: u32) -> u64 {
    (1 << 63) | (level as u64) << 32 | block.0 as u64
}

impl Tree<'_> {
    /// Where descents to `level` start: a page that is alone on its level. None if the index is
    /// empty.
    fn root(&self, level: u32) -> Result<Option<(BlockNo, u32)>> {
        let cached = self.index.am_cache.root.load(Ordering::Relaxed);
        let cached_level = (cached >> 32) as u32 & 0xFF;
        if cached != 0 && cached_level >= level {
            return Ok(Some((BlockNo(cached as u32), cached_level)));
        }
        let meta = self.read_meta()?;
        if meta.root == BlockNo::INVALID {
            return Ok(None);
        }
        if meta.fast_level >= level {
            let packed = pack_root(meta.fast_root, meta.fast_level);
            self.index.am_cache.root.store(packed, Ordering::Relaxed);
            return Ok(Some((meta.fast_root, meta.fast_level)));
        }
        if meta.level < level {
            return Err(corrupt(self.index, meta.root, format!("root is below level {level}")));
        }
        Ok(Some((meta.root, meta.level)))
    }

    /// Forgets where the root was.
    pub fn forget_root(&self) {
        self.index.am_cache.root.store(0, Ordering::Relaxed);
    }

    /// What the metapage says.
    pub fn read_meta(&self) -> Result<page::Meta> {
        let p = self.read(BlockNo(0))?;
        page::read_meta(&p).ok_or_else(|| {
            base::err!(INDEX_CORRUPTED, "index \"{}\" is not a btree", self.index.name)
        })
    }

    /// The page of `level` where the target is, or one to its left. None if the index is empty.
    pub fn descend(&self, target: Target<'_>, level: u32) -> Result<Option<BlockNo>> {
        let fast = match target {
            Target::Key(key) => IntSearch::of(self.index, key),
            Target::End(_) => None,
        };
        for _ in 0..MAX_RESTARTS {
            let Some((mut block, mut at)) = self.root(level)? else { return Ok(None) };
            let mut is_root = true;
            loop {
                match self.step((target, fast.as_ref()), block, at, is_root, level)? {
                    Step::Here => return Ok(Some(block)),
                    Step::Down(child) => {
                        block = child;
                        at -= 1;
                        is_root = false;
                        if at == level {
                            return Ok(Some(block));
                        }
                    }
                    Step::Right(next) => block = next,
                    Step::Restart => break,
                }
            }
            self.forget_root();
        }
        Err(corrupt(self.index, BlockNo(0), "the way to a key has no end"))
    }

    /// Looks at one page on the way.
    fn step(
        &self,
        (target, fast): (Target<'_>, Option<&IntSearch>),
        block: BlockNo,
        at: u32,
        is_root: bool,
        level: u32,
    ) -> Result<Step> {
        let total = match target {
            Target::Key(key) => key.is_total(),
            Target::End(_) => true,
        };
        if total {
            for _ in 0..3 {
                let step = self.rel.optimistic(self.fork, block, |p| {
                    opt::step(self.index, p, (target, fast), at, is_root, level)
                });
                if let Some(Ok(step)) = step {
                    return Ok(step);
                }
            }
        }
        let p = self.read(block)?;
        verify_page(self.index, block, &p)?;
        step_latched(self, &p, target, at, is_root, level)
    }

    /// Latches the leaf where an entry with this key belongs or would begin, for writing. Finishes
    /// splits that somebody left incomplete. None if the index is empty.
    pub fn leaf_for_write(&self, key: &SearchKey) -> Result<Option<WritePage>> {
        let Some(block) = self.descend(Target::Key(key), 0)? else { return Ok(None) };
        let p = self.write(block)?;
        self.move_right_write(p, key).map(Some)
    }

    /// From a latched page, to the right, to the page where the key belongs.
    pub fn move_right_write(&self, mut p: WritePage, key: &SearchKey) -> Result<WritePage> {
        loop {
            verify_page(self.index, p.block(), &p)?;
            if page::flags(&p) & flag::INCOMPLETE_SPLIT != 0 && !page::is_ignorable(&p) {
                let (block, level) = (p.block(), page::level(&p));
                self.finish_split(p)?;
                p = self.write(block)?;
                if page::level(&p) != level {
                    return Err(corrupt(self.index, block, "page changed its level"));
                }
                continue;
            }
            if !page::is_ignorable(&p) && !is_beyond(self.index, &p, key)? {
                return Ok(p);
            }
            p = self.right_of(p)?;
        }
    }

    /// Latches the right sibling, then lets go of this page.
    fn right_of(&self, p: WritePage) -> Result<WritePage> {
        let right = page::right(&p);
        if right == BlockNo::INVALID {
            return Err(corrupt(self.index, p.block(), "fell off the right end"));
        }
        self.write(right)
    }

    /// Latches for reading the leaf where the key belongs, beginning at a page to its left.
    pub fn leaf_for_read(&self, block: BlockNo, key: &SearchKey) -> Result<ReadPage> {
        let mut block = block;
        loop {
            let p = self.read(block)?;
            verify_page(self.index, block, &p)?;
            if !page::is_ignorable(&p) && !is_beyond(self.index, &p, key)? {
                return Ok(p);
            }
            block = page::right(&p);
            if block == BlockNo::INVALID {
                return Err(corrupt(self.index, p.block(), "fell off the right end"));
            }
        }
    }

    /// Finds and latches the page of `level` whose downlink number (second value) leads to
    /// `child`. `key` is the child's high key, or any key within the child.
    pub fn parent_of(
        &self,
        child: BlockNo,
        key: &SearchKey,
        level: u32,
    ) -> Result<Option<(WritePage, u16)>> {
        self.forget_root();
        let Some(start) = self.descend(Target::Key(key), level)? else { return Ok(None) };
        let mut p = self.write(start)?;
        loop {
            verify_page(self.index, p.block(), &p)?;
            if !page::is_ignorable(&p) {
                if page::flags(&p) & flag::INCOMPLETE_SPLIT != 0 {
                    let block = p.block();
                    self.finish_split(p)?;
                    p = self.write(block)?;
                    continue;
                }
                let found = (page::first(&p)..page::count(&p))
                    .find(|i| page::item(&p, *i).child() == child);
                if let Some(i) = found {
                    return Ok(Some((p, i)));
                }
            }
            if page::right(&p) == BlockNo::INVALID {
                return Ok(None);
            }
            p = self.right_of(p)?;
        }
    }
}

/// As [`opt::step`], on a latched page.
fn step_latched(
    tree: &Tree<'_>,
    p: &Page,
    target: Target<'_>,
    at: u32,
    is_root: bool,
    level: u32,
) -> Result<Step> {
    if page::flags(p) & flag::META != 0 || page::level(p) != at {
        return Ok(Step::Restart);
    }
    if is_root && !(page::is_leftmost(p) && page::is_rightmost(p)) {
        return Ok(Step::Restart);
    }
    if page::is_ignorable(p) {
        return Ok(match page::right(p) {
            BlockNo::INVALID => Step::Restart,
            right => Step::Right(right),
        });
    }
    if at == level {
        return Ok(Step::Here);
    }
    let number = match target {
        Target::Key(key) => {
            if is_beyond(tree.index, p, key)? {
                return Ok(Step::Right(page::right(p)));
            }
            key::downlink(tree.index, p, key)?
        }
        Target::End(End::Left) => page::first(p),
        Target::End(End::Right) if page::is_rightmost(p) => page::count(p).saturating_sub(1),
        Target::End(End::Right) => return Ok(Step::Right(page::right(p))),
    };
    if number >= page::count(p) {
        return Ok(Step::Restart);
    }
    Ok(Step::Down(page::item(p, number).child()))
}
