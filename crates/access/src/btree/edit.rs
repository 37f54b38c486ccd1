//! Changes to pages, written down as they are made: what goes to the log is exactly what was done,
//! and redo does it again through the same function, [`apply`].
//!
//! A log record of the B-tree names the blocks it touches; the data of each block is a list of
//! edits in the encoding below (README.md has the table). The record's `info` says what happened as
//! a whole, for people who read the log; redo does not need it.

use super::page::{self, Item, Meta, Page};
use base::{BlockNo, Tid};

const OP_INIT: u8 = 1;
const OP_INSERT: u8 = 2;
const OP_REPLACE: u8 = 3;
const OP_DELETE: u8 = 4;
const OP_LEFT: u8 = 5;
const OP_RIGHT: u8 = 6;
const OP_FLAGS: u8 = 7;
const OP_CYCLE: u8 = 8;
const OP_TRUNCATE: u8 = 9;
const OP_CHILD: u8 = 10;
const OP_META: u8 = 11;
const OP_DELETED: u8 = 12;
const OP_DEDUP: u8 = 13;

/// Edits of one page, in their log form.
#[derive(Default, Debug)]
pub struct Edit {
    bytes: Vec<u8>,
}

impl Edit {
    /// No edits yet.
    pub fn new() -> Edit {
        Edit::default()
    }

    /// The log form.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Does what was written down from `from` on. A failure is a bug of ours: room and numbers were
    /// verified before.
    fn run(&mut self, p: &mut Page, from: usize) {
        if let Err(what) = apply(p, &self.bytes[from..]) {
            panic!("B-tree edit is impossible: {what}");
        }
    }

    fn op(&mut self, op: u8) -> usize {
        let from = self.bytes.len();
        self.bytes.push(op);
        from
    }

    fn u16(&mut self, v: u16) {
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    fn u32(&mut self, v: u32) {
        self.bytes.extend_from_slice(&v.to_le_bytes());
    }

    /// Makes the page empty.
    pub fn init(&mut self, p: &mut Page, level: u32, flags: u16, left: BlockNo, right: BlockNo) {
        let from = self.op(OP_INIT);
        self.u32(level);
        self.u16(flags);
        self.u32(left.0);
        self.u32(right.0);
        self.run(p, from);
    }

    /// Inserts items as numbers `at`, `at + 1`, ...
    pub fn insert<'a>(&mut self, p: &mut Page, at: u16, items: impl Iterator<Item = &'a [u8]>) {
        let from = self.op(OP_INSERT);
        self.u16(at);
        self.u16(0);
        let mut n = 0u16;
        for item in items {
            self.bytes.extend_from_slice(item);
            n += 1;
        }
        self.bytes[from + 3..from + 5].copy_from_slice(&n.to_le_bytes());
        self.run(p, from);
    }

    /// Inserts one item.
    pub fn insert_one(&mut self, p: &mut Page, at: u16, item: &[u8]) {
        self.insert(p, at, std::iter::once(item));
    }

    /// Replaces an item.
    pub fn replace(&mut self, p: &mut Page, at: u16, item: &[u8]) {
        let from = self.op(OP_REPLACE);
        self.u16(at);
        self.bytes.extend_from_slice(item);
        self.run(p, from);
    }

    /// Deletes the items of these numbers, ascending.
    pub fn delete(&mut self, p: &mut Page, numbers: &[u16]) {
        if numbers.is_empty() {
            return;
        }
        let from = self.op(OP_DELETE);
        self.u16(numbers.len() as u16);
        for n in numbers {
            self.u16(*n);
        }
        self.run(p, from);
    }

    /// Sets the left link.
    pub fn set_left(&mut self, p: &mut Page, b: BlockNo) {
        let from = self.op(OP_LEFT);
        self.u32(b.0);
        self.run(p, from);
    }

    /// Sets the right link.
    pub fn set_right(&mut self, p: &mut Page, b: BlockNo) {
        let from = self.op(OP_RIGHT);
        self.u32(b.0);
        self.run(p, from);
    }

    /// Sets the flags.
    pub fn set_flags(&mut self, p: &mut Page, flags: u16) {
        let from = self.op(OP_FLAGS);
        self.u16(flags);
        self.run(p, from);
    }

    /// Sets the vacuum cycle.
    pub fn set_cycle(&mut self, p: &mut Page, cycle: u16) {
        let from = self.op(OP_CYCLE);
        self.u16(cycle);
        self.run(p, from);
    }

    /// Removes item `first` and all after it.
    pub fn truncate(&mut self, p: &mut Page, first: u16) {
        let from = self.op(OP_TRUNCATE);
        self.u16(first);
        self.run(p, from);
    }

    /// Sets the child of pivot `at`.
    pub fn set_child(&mut self, p: &mut Page, at: u16, child: BlockNo) {
        let from = self.op(OP_CHILD);
        self.u16(at);
        self.u32(child.0);
        self.run(p, from);
    }

    /// Writes the metapage.
    pub fn set_meta(&mut self, p: &mut Page, m: &Meta) {
        let from = self.op(OP_META);
        self.u32(m.root.0);
        self.u32(m.level);
        self.u32(m.fast_root.0);
        self.u32(m.fast_level);
        self.run(p, from);
    }

    /// Marks the page deleted.
    pub fn set_deleted(&mut self, p: &mut Page, safe: u64) {
        let from = self.op(OP_DELETED);
        self.bytes.extend_from_slice(&safe.to_le_bytes());
        self.run(p, from);
    }

    /// Writes down how to make the page as it is; nothing is done to it.
    pub fn whole(&mut self, p: &Page) {
        self.op(OP_INIT);
        self.u32(page::level(p));
        self.u16(page::flags(p));
        self.u32(page::left(p).0);
        self.u32(page::right(p).0);
        self.op(OP_INSERT);
        self.u16(0);
        self.u16(page::count(p));
        for i in 0..page::count(p) {
            self.bytes.extend_from_slice(page::item(p, i).0);
        }
    }

    /// Merges the runs (number of the first item, how many) into posting lists.
    pub fn dedup(&mut self, p: &mut Page, runs: &[(u16, u16)]) {
        let from = self.op(OP_DEDUP);
        self.u16(runs.len() as u16);
        for (first, n) in runs {
            self.u16(*first);
            self.u16(*n);
        }
        self.run(p, from);
    }
}

/// Reads the log form.
struct Reader<'a> {
    b: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], String> {
        let (head, tail) = self.b.split_at_checked(n).ok_or("record is too short")?;
        self.b = tail;
        Ok(head)
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<u16, String> {
        Ok(page::get16(self.take(2)?, 0))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(page::get32(self.take(4)?, 0))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(page::get64(self.take(8)?, 0))
    }

    fn item(&mut self) -> Result<&'a [u8], String> {
        let size = Item(self.b).size();
        if size < page::ITEM_HEADER || !size.is_multiple_of(8) {
            return Err(format!("item of {size} bytes"));
        }
        self.take(size)
    }
}

/// Does edits in their log form.
pub fn apply(p: &mut Page, bytes: &[u8]) -> Result<(), String> {
    let mut r = Reader { b: bytes };
    while !r.b.is_empty() {
        apply_one(p, &mut r)?;
    }
    Ok(())
}

fn verify(ok: bool, what: &str) -> Result<(), String> {
    if ok { Ok(()) } else { Err(what.to_string()) }
}

fn apply_one(p: &mut Page, r: &mut Reader<'_>) -> Result<(), String> {
    match r.u8()? {
        OP_INIT => {
            let (level, flags) = (r.u32()?, r.u16()?);
            let (left, right) = (BlockNo(r.u32()?), BlockNo(r.u32()?));
            page::init(p, level, flags, left, right);
        }
        OP_INSERT => {
            let (at, n) = (r.u16()?, r.u16()?);
            for i in 0..n {
                let number = at.checked_add(i).ok_or("number is too large")?;
                verify(page::insert(p, number, r.item()?), "no room for an item")?;
            }
        }
        OP_REPLACE => {
            let at = r.u16()?;
            let item = r.item()?;
            if !page::overwrite(p, at, item) {
                page::retain(p, |i| i != at);
                verify(page::insert(p, at, item), "no room for a replaced item")?;
            }
        }
        OP_DELETE => {
            let n = r.u16()? as usize;
            let numbers = r.take(2 * n)?;
            let mut next = 0;
            page::retain(p, |i| {
                let gone = next < n && page::get16(numbers, 2 * next) == i;
                next += gone as usize;
                !gone
            });
            verify(next == n, "an item to delete is not there")?;
        }
        OP_LEFT => page::set_left(p, BlockNo(r.u32()?)),
        OP_RIGHT => page::set_right(p, BlockNo(r.u32()?)),
        OP_FLAGS => page::set_flags(p, r.u16()?),
        OP_CYCLE => page::set_cycle(p, r.u16()?),
        OP_TRUNCATE => {
            let first = r.u16()?;
            page::retain(p, |i| i < first);
        }
        OP_CHILD => {
            let (at, child) = (r.u16()?, BlockNo(r.u32()?));
            verify(page::set_child(p, at, child), "a downlink is not there")?;
        }
        OP_META => {
            let (root, level) = (BlockNo(r.u32()?), r.u32()?);
            let (fast_root, fast_level) = (BlockNo(r.u32()?), r.u32()?);
            page::write_meta(p, &Meta { root, level, fast_root, fast_level });
        }
        OP_DELETED => page::set_deleted(p, r.u64()?),
        OP_DEDUP => {
            let n = r.u16()? as usize;
            apply_dedup(p, r.take(4 * n)?)?;
        }
        other => return Err(format!("edit {other} does not exist")),
    }
    Ok(())
}

fn apply_dedup(p: &mut Page, runs: &[u8]) -> Result<(), String> {
    let old = *p;
    let count = page::count(&old);
    page::clear(p);
    let mut tids: Vec<Tid> = Vec::new();
    let (mut i, mut run, mut out) = (0, 0, 0);
    while i < count {
        let (first, n) = (page::get16(runs, 4 * run), page::get16(runs, 4 * run + 2));
        let item = page::item(&old, i);
        if 4 * run < runs.len() && first == i {
            verify(n >= 1 && n <= count - i, "a run is out of range")?;
            tids.clear();
            for k in 0..n {
                tids.extend(page::item(&old, i + k).tids());
            }
            let merged = page::make_posting(item, &tids);
            verify(page::insert(p, out, &merged), "no room for a posting list")?;
            i += n;
            run += 1;
        } else {
            verify(page::insert(p, out, item.0), "no room for an item")?;
            i += 1;
        }
        out += 1;
    }
    verify(4 * run == runs.len(), "a run is not there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::PAGE_SIZE;

    fn leaf(n: u64) -> Vec<u8> {
        page::make_leaf(&[], &n.to_le_bytes(), Tid::from_u64(n << 4 | 1))
    }

    #[test]
    fn replay_gives_the_same_page() {
        let mut p: Page = [0; PAGE_SIZE];
        let mut e = Edit::new();
        e.init(&mut p, 0, page::flag::LEAF, BlockNo::INVALID, BlockNo(7));
        for i in 0..100u64 {
            e.insert_one(&mut p, i as u16, &leaf(i / 10));
        }
        e.delete(&mut p, &[0, 5, 99]);
        e.dedup(&mut p, &[(0, 8), (8, 10)]);
        e.truncate(&mut p, 40);
        e.set_right(&mut p, BlockNo::INVALID);
        assert_eq!(page::count(&p), 40);
        assert_eq!(page::item(&p, 0).ntids(), 8);
        assert_eq!(page::damage(&p), None);
        let mut q: Page = [1; PAGE_SIZE];
        apply(&mut q, e.bytes()).unwrap();
        assert_eq!(p[8..], q[8..]);
    }

    #[test]
    fn nonsense_is_refused() {
        let mut p: Page = [0; PAGE_SIZE];
        for seed in 0..2000u32 {
            let bytes: Vec<u8> = (0..40u32)
                .map(|i| (seed.wrapping_mul(2654435761).wrapping_add(i * 40503) >> 11) as u8 % 19)
                .collect();
            let _ = apply(&mut p, &bytes);
        }
    }
}
