//! Sorting of index items: in memory by an abbreviated key first, in sorted runs on disk when
//! memory is short, which are merged.

use super::super::key::{SearchKey, compare};
use super::super::page::{Item, align8, get64};
use crate::Storage;
use crate::index::{IndexRel, KeyCmp};
use base::Result;
use os::{Disk, File, OpenOptions};
use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};
use types::Datum;

/// One item: what its first column amounts to in 64 bits, where its bytes are.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    /// Place in the arena, in units of 8 bytes; the lowest bit says that the row lives.
    place: u64,
}

impl Entry {
    fn at(self) -> usize {
        (self.place >> 1) as usize * 8
    }
}

/// Collects items.
pub struct Sorter<'a> {
    storage: &'a Storage,
    index: &'a IndexRel,
    memory: usize,
    arena: Vec<u8>,
    entries: Vec<Entry>,
    /// The items so far came in order.
    ordered: bool,
    runs: Vec<RunFile>,
    /// The last item of the last run, with its prefix.
    last: (u64, Vec<u8>),
    /// The prefix alone decides about the key (one integer column).
    exact: bool,
}

/// A number whose order is the order of the column's values in the index, as far as 64 bits tell.
fn abbreviate(index: &IndexRel, value: &Datum) -> u64 {
    let Some(column) = index.keys.first() else { return 0 };
    if value.is_null() {
        return if column.nulls_first { 0 } else { u64::MAX };
    }
    let natural = match column.cmp {
        KeyCmp::Int => value.to_i64() as u64 ^ (1 << 63),
        KeyCmp::Float => {
            let x = match value {
                Datum::F32(x) => *x as f64,
                Datum::F64(x) => *x,
                _ => return 0,
            };
            // -0 and 0 are equal; NaN is the greatest.
            let bits = if x == 0.0 { 0 } else { x.to_bits() };
            match x {
                _ if x.is_nan() => u64::MAX,
                _ if bits >> 63 == 1 => !bits,
                _ => bits | 1 << 63,
            }
        }
        KeyCmp::Bytes => {
            let b = value.as_bytes();
            let mut first = [0; 8];
            let n = b.len().min(8);
            first[..n].copy_from_slice(&b[..n]);
            u64::from_be_bytes(first)
        }
        KeyCmp::Custom(_) => 0,
    };
    if column.desc && !matches!(column.cmp, KeyCmp::Custom(_)) { !natural } else { natural }
}

fn item_at(arena: &[u8], at: usize) -> Item<'_> {
    let size = Item(arena.get(at..).unwrap_or(&[])).size();
    Item(arena.get(at..at + size).unwrap_or(&[]))
}

/// Order of two items with their prefixes.
#[inline]
fn order(
    index: &IndexRel,
    exact: bool,
    a: (u64, Item<'_>),
    b: (u64, Item<'_>),
) -> Result<Ordering> {
    if a.0 != b.0 {
        return Ok(a.0.cmp(&b.0));
    }
    // NULL has the prefix of some value.
    let exact = exact && a.0 != 0 && a.0 != u64::MAX;
    order_items(index, exact, a.1, b.1)
}

/// Order of two items by key, then by place.
fn order_items(index: &IndexRel, exact: bool, a: Item<'_>, b: Item<'_>) -> Result<Ordering> {
    if !exact {
        let mut key = SearchKey::of_item(index, a)?;
        key.tid = None;
        let order = compare(index, &key, b)?;
        if order != Ordering::Equal {
            return Ok(order);
        }
    }
    Ok(a.tid(0).cmp(&b.tid(0)))
}

impl<'a> Sorter<'a> {
    /// Sorts with about this many bytes of memory.
    pub fn new(storage: &'a Storage, index: &'a IndexRel, memory: usize) -> Sorter<'a> {
        let exact = index.keys.len() == 1 && matches!(index.keys[0].cmp, KeyCmp::Int);
        Sorter {
            storage,
            index,
            memory: memory.max(1 << 20),
            arena: Vec::new(),
            entries: Vec::new(),
            ordered: true,
            runs: Vec::new(),
            last: (0, Vec::new()),
            exact,
        }
    }

    /// Adds an item.
    pub fn add(&mut self, values: &[Datum], item: &[u8], alive: bool) -> Result<()> {
        let used = self.arena.len() + item.len() + (self.entries.len() + 1) * size_of::<Entry>();
        if used > self.memory && !self.entries.is_empty() {
            self.spill()?;
        }
        let prefix = values.first().map_or(0, |v| abbreviate(self.index, v));
        if self.ordered
            && let Some(last) = self.entries.last()
        {
            let before = (last.prefix, item_at(&self.arena, last.at()));
            self.ordered = self.order(before, (prefix, Item(item)))? != Ordering::Greater;
        }
        let place = (self.arena.len() / 8) as u64;
        self.arena.extend_from_slice(item);
        self.arena.resize(align8(self.arena.len()), 0);
        self.entries.push(Entry { prefix, place: place << 1 | alive as u64 });
        Ok(())
    }

    fn order(&self, a: (u64, Item<'_>), b: (u64, Item<'_>)) -> Result<Ordering> {
        order(self.index, self.exact, a, b)
    }

    fn sort(&mut self) -> Result<()> {
        if self.ordered {
            return Ok(());
        }
        let (index, arena, exact) = (self.index, &self.arena, self.exact);
        let mut failure = None;
        self.entries.sort_unstable_by(|a, b| {
            let (x, y) = (item_at(arena, a.at()), item_at(arena, b.at()));
            order(index, exact, (a.prefix, x), (b.prefix, y)).unwrap_or_else(|e| {
                failure.get_or_insert(e);
                Ordering::Equal
            })
        });
        failure.map_or(Ok(()), Err)
    }

    /// Writes what is in memory to disk as a sorted run, or to the end of the last one if that is
    /// where it belongs: what comes in order needs no merging.
    fn spill(&mut self) -> Result<()> {
        self.sort()?;
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else {
            return Ok(());
        };
        let (first, last) = (*first, *last);
        let follows = !self.runs.is_empty() && {
            let before = (self.last.0, Item(&self.last.1));
            let first = (first.prefix, item_at(&self.arena, first.at()));
            self.order(before, first)? != Ordering::Greater
        };
        if !follows {
            self.runs.push(RunFile::create(self.storage)?);
        }
        if let Some(run) = self.runs.last_mut() {
            for e in &self.entries {
                run.write(e.prefix, e.place & 1 == 1, item_at(&self.arena, e.at()).0)?;
            }
        }
        let bytes = item_at(&self.arena, last.at()).0;
        self.last.0 = last.prefix;
        self.last.1.clear();
        self.last.1.extend_from_slice(bytes);
        self.entries.clear();
        self.arena.clear();
        self.ordered = true;
        Ok(())
    }

    /// The items in order.
    pub fn finish(mut self) -> Result<Sorted<'a>> {
        if self.runs.is_empty() {
            self.sort()?;
        } else {
            self.spill()?;
            for run in &mut self.runs {
                run.flush()?;
                run.advance()?;
            }
        }
        Ok(Sorted {
            index: self.index,
            arena: self.arena,
            entries: self.entries,
            next: 0,
            runs: self.runs,
            current: None,
            exact: self.exact,
        })
    }
}

/// An item in its turn.
pub struct SortedItem<'a> {
    pub bytes: &'a [u8],
    /// Items with different prefixes have different keys.
    pub prefix: u64,
    /// Its row lives.
    pub alive: bool,
}

/// Sorted items.
pub struct Sorted<'a> {
    index: &'a IndexRel,
    arena: Vec<u8>,
    entries: Vec<Entry>,
    next: usize,
    runs: Vec<RunFile>,
    current: Option<usize>,
    exact: bool,
}

impl Sorted<'_> {
    /// The next item.
    pub fn next(&mut self) -> Result<Option<SortedItem<'_>>> {
        if self.runs.is_empty() {
            let Some(e) = self.entries.get(self.next) else { return Ok(None) };
            self.next += 1;
            return Ok(Some(SortedItem {
                bytes: item_at(&self.arena, e.at()).0,
                prefix: e.prefix,
                alive: e.place & 1 == 1,
            }));
        }
        if let Some(i) = self.current.take() {
            self.runs[i].advance()?;
        }
        let mut best: Option<usize> = None;
        for i in 0..self.runs.len() {
            if self.runs[i].done {
                continue;
            }
            best = match best {
                Some(b) if self.order(b, i)? != Ordering::Greater => Some(b),
                _ => Some(i),
            };
        }
        self.current = best;
        Ok(best.map(|i| {
            let RunFile { item, prefix, alive, .. } = &self.runs[i];
            SortedItem { bytes: item, prefix: *prefix, alive: *alive }
        }))
    }

    fn order(&self, a: usize, b: usize) -> Result<Ordering> {
        let (a, b) = (&self.runs[a], &self.runs[b]);
        order(self.index, self.exact, (a.prefix, Item(&a.item)), (b.prefix, Item(&b.item)))
    }
}

static FILES: AtomicU64 = AtomicU64::new(0);
const BUFFER: usize = 1 << 18;

/// A sorted run on disk: per item prefix u64, alive u8, padding, then the item's bytes. Removed
/// when dropped.
struct RunFile {
    disk: Disk,
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read already.
    at: usize,
    offset: u64,
    end: u64,
    item: Vec<u8>,
    prefix: u64,
    alive: bool,
    done: bool,
}

impl RunFile {
    fn create(storage: &Storage) -> Result<RunFile> {
        let disk = storage.pool.disk();
        let dir = storage.pool.data_dir().join("base/pgsql_tmp");
        disk.create_dir_all(&dir)?;
        let path = dir.join(format!("pgsql_tmp_build.{}", FILES.fetch_add(1, Atomic::Relaxed)));
        let file = disk.open(&path, &OpenOptions::new().create().truncate())?;
        Ok(RunFile {
            disk: disk.clone(),
            path,
            file,
            buffer: Vec::with_capacity(BUFFER + (1 << 14)),
            at: 0,
            offset: 0,
            end: 0,
            item: Vec::new(),
            prefix: 0,
            alive: false,
            done: false,
        })
    }

    fn write(&mut self, prefix: u64, alive: bool, item: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(&prefix.to_le_bytes());
        self.buffer.extend_from_slice(&(alive as u64).to_le_bytes());
        self.buffer.extend_from_slice(item);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.write_at(&self.buffer, self.end)?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Makes at least `n` unread bytes available; false at the end.
    fn fill(&mut self, n: usize) -> Result<bool> {
        while self.buffer.len() - self.at < n {
            if self.offset >= self.end {
                return Ok(false);
            }
            self.buffer.drain(..self.at);
            self.at = 0;
            let old = self.buffer.len();
            let want = (self.end - self.offset).min(BUFFER as u64) as usize;
            self.buffer.resize(old + want, 0);
            let got = self.file.read_at(&mut self.buffer[old..], self.offset)?;
            self.buffer.truncate(old + got);
            self.offset += got as u64;
            if got == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the next item.
    fn advance(&mut self) -> Result<()> {
        if !self.fill(24)? {
            self.done = true;
            return Ok(());
        }
        self.prefix = get64(&self.buffer, self.at);
        self.alive = get64(&self.buffer, self.at + 8) != 0;
        let size = Item(&self.buffer[self.at + 16..]).size();
        if !self.fill(16 + size)? {
            return Err(base::err!(DATA_CORRUPTED, "a temporary file of an index build is short"));
        }
        self.item.clear();
        self.item.extend_from_slice(&self.buffer[self.at + 16..self.at + 16 + size]);
        self.at += 16 + size;
        Ok(())
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // What stays behind is removed when the server starts.
        let _ = self.disk.remove(&self.path);
    }
}
