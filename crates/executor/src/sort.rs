//! Sorting of rows in columns.
//!
//! Rows are sorted through entries of 16 bytes: the first key as a number that sorts the same (or
//! as far as eight bytes tell), and the row's place. Only ties look at the columns. When the rows
//! outgrow work_mem they are sorted and written out as a run; at the end the runs are merged. With
//! a bound only the first rows are kept, and rows that come after the last of these are dropped
//! as they arrive.

use crate::batch::{Place, gather_places, heap_size};
use crate::expr::Ordering_;
use crate::expr::compare::CmpKind;
use crate::run::Run;
use crate::spill::SpillFile;
use base::memory::Reservation;
use base::{Error, Result};
use std::cmp::Ordering;
use types::batch::ColumnData;
use types::{BATCH_ROWS, Batch, Column, PhysType};

/// A sort column: its position and order.
pub(crate) type Key = (usize, Ordering_);

#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    place: Place,
}

/// What a sort did, for EXPLAIN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SortFacts {
    pub top_n: bool,
    pub disk_kb: Option<u64>,
    pub memory_kb: u64,
}

/// Rows to be sorted.
pub(crate) struct Sorter {
    phys: Vec<PhysType>,
    batches: Vec<Batch>,
    entries: Vec<Entry>,
    runs: Vec<SpillFile>,
    memory: Reservation,
    /// Ties of the prefix are equal in the first key.
    exact: bool,
    bound: Option<usize>,
    /// With a bound: rows whose prefix is greater cannot be among the first.
    cutoff: u64,
    bounded: bool,
}

impl Sorter {
    pub fn new(run: &Run, phys: &[PhysType], bound: Option<u64>) -> Sorter {
        Sorter {
            phys: phys.to_vec(),
            batches: Vec::new(),
            entries: Vec::new(),
            runs: Vec::new(),
            memory: Reservation::new(run.cx.memory),
            exact: true,
            bound: bound.and_then(|b| usize::try_from(b).ok()).filter(|b| *b < 1 << 24),
            cutoff: u64::MAX,
            bounded: false,
        }
    }

    /// Rows taken in and not dropped, as far as they are in memory.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Takes in the rows that count.
    pub fn push(&mut self, run: &mut Run, keys: &[Key], batch: &Batch) -> Result<()> {
        let mut batch = batch.compact();
        let mut prefixes = vec![0; batch.len];
        if let Some((column, order)) = keys.first() {
            self.exact &= prefix(&batch.columns[*column], order, &mut prefixes);
        }
        if self.bounded {
            let keep: Vec<u16> =
                (0..batch.len as u16).filter(|i| prefixes[*i as usize] <= self.cutoff).collect();
            if keep.len() < batch.len {
                prefixes = keep.iter().map(|i| prefixes[*i as usize]).collect();
                batch.sel = Some(keep);
                batch = batch.compact();
            }
        }
        if batch.len == 0 {
            return Ok(());
        }
        self.memory.grow(heap_size(&batch) + batch.len * size_of::<Entry>())?;
        let number = self.batches.len() as u32;
        let place = |row: usize| Place { batch: number, row: row as u16 };
        let entries = prefixes.iter().enumerate();
        self.entries.extend(entries.map(|(i, p)| Entry { prefix: *p, place: place(i) }));
        self.batches.push(batch);
        match self.bound {
            Some(bound) if self.entries.len() >= (bound * 2).max(2 * BATCH_ROWS) => {
                self.shrink(run, keys, bound)
            }
            _ if self.memory.bytes() > run.cx.settings.work_mem => self.flush(run, keys),
            _ => Ok(()),
        }
    }

    /// Drops all but the first `bound` rows.
    fn shrink(&mut self, run: &mut Run, keys: &[Key], bound: usize) -> Result<()> {
        self.sort(run, keys)?;
        self.entries.truncate(bound);
        self.bounded = true;
        let places: Vec<Place> = self.entries.iter().map(|e| e.place).collect();
        let mut batches = Vec::new();
        for chunk in places.chunks(BATCH_ROWS) {
            batches.push(gather_places(&self.batches, chunk, &self.phys));
        }
        for (i, e) in self.entries.iter_mut().enumerate() {
            e.place = Place { batch: (i / BATCH_ROWS) as u32, row: (i % BATCH_ROWS) as u16 };
        }
        self.cutoff = self.entries.last().map_or(u64::MAX, |e| e.prefix);
        self.batches = batches;
        let bytes = self.batches.iter().map(heap_size).sum::<usize>();
        self.memory.resize(bytes + self.entries.len() * size_of::<Entry>())
    }

    fn sort(&mut self, run: &mut Run, keys: &[Key]) -> Result<()> {
        let (batches, exact) = (&self.batches, self.exact);
        let rest = if exact && !keys.is_empty() { &keys[1..] } else { keys };
        if rest.is_empty() {
            self.entries.sort_unstable_by_key(|e| e.prefix);
            return Ok(());
        }
        if rest.iter().any(|(_, o)| matches!(o.kind, CmpKind::Call(_))) {
            let mut entries = std::mem::take(&mut self.entries);
            let mut less = |a: &Entry, b: &Entry| compare(run, rest, batches, a, b);
            merge_sort(&mut entries, &mut less)?;
            self.entries = entries;
            return Ok(());
        }
        // Typed comparisons cannot fail.
        self.entries
            .sort_unstable_by(|a, b| compare(run, rest, batches, a, b).unwrap_or(Ordering::Equal));
        Ok(())
    }

    /// Sorts what is in memory and writes it out as a run.
    fn flush(&mut self, run: &mut Run, keys: &[Key]) -> Result<()> {
        let Some(temp) = run.cx.settings.temp.clone() else { return Ok(()) };
        self.sort(run, keys)?;
        let mut file = temp.create()?;
        let entries = std::mem::take(&mut self.entries);
        for chunk in entries.chunks(BATCH_ROWS) {
            let places: Vec<Place> = chunk.iter().map(|e| e.place).collect();
            file.write(&gather_places(&self.batches, &places, &self.phys))?;
        }
        self.runs.push(file);
        self.batches.clear();
        self.memory.resize(0)
    }

    /// Sorts; the rows can be read then.
    pub fn finish(mut self, run: &mut Run, keys: &[Key]) -> Result<Sorted> {
        let memory_kb = (self.memory.peak() as u64).div_ceil(1024).max(25);
        let mut facts = SortFacts { top_n: self.bounded, disk_kb: None, memory_kb };
        if !self.runs.is_empty() {
            if !self.entries.is_empty() {
                self.flush(run, keys)?;
            }
            facts.disk_kb = Some(self.runs.iter().map(|r| r.bytes()).sum::<u64>().div_ceil(1024));
            let merge = Merge::new(run, keys, self.runs, &self.phys)?;
            let rows = Rows::Runs(Box::new(merge));
            return Ok(Sorted { rows, facts, _memory: self.memory });
        }
        self.sort(run, keys)?;
        if let Some(bound) = self.bound {
            self.entries.truncate(bound);
        }
        let places = self.entries.iter().map(|e| e.place).collect();
        let rows = Rows::Memory { batches: self.batches, places, at: 0, phys: self.phys };
        Ok(Sorted { rows, facts, _memory: self.memory })
    }
}

/// Order of two rows by the keys that the prefixes have not decided.
fn compare(
    run: &mut Run,
    keys: &[Key],
    batches: &[Batch],
    a: &Entry,
    b: &Entry,
) -> Result<Ordering> {
    if a.prefix != b.prefix {
        return Ok(a.prefix.cmp(&b.prefix));
    }
    let (x, y) = (&batches[a.place.batch as usize], &batches[b.place.batch as usize]);
    compare_rows(run, keys, x, a.place.row as usize, y, b.place.row as usize)
}

/// Order of two rows by all of the keys.
pub(crate) fn compare_rows(
    run: &mut Run,
    keys: &[Key],
    a: &Batch,
    i: usize,
    b: &Batch,
    j: usize,
) -> Result<Ordering> {
    for (column, order) in keys {
        let o = order.compare_at(run, &a.columns[*column], i, &b.columns[*column], j)?;
        if o.is_ne() {
            return Ok(o);
        }
    }
    Ok(Ordering::Equal)
}

/// Numbers that sort as the column's values do, or as their first bytes; true if equal numbers
/// mean equal values.
fn prefix(column: &Column, order: &Ordering_, out: &mut [u64]) -> bool {
    let flip = if order.descending { u64::MAX } else { 0 };
    let sign = |x: i64| (x as u64) ^ (1 << 63);
    macro_rules! ints {
        ($v:ident) => {{
            for (o, x) in out.iter_mut().zip($v) {
                *o = sign(*x as i64) ^ flip;
            }
            true
        }};
    }
    let mut exact = match (&order.kind, &column.data) {
        (CmpKind::Call(_), _) => false,
        (_, ColumnData::I16(v)) => ints!(v),
        (_, ColumnData::I32(v)) => ints!(v),
        (_, ColumnData::I64(v)) => ints!(v),
        (_, ColumnData::U32(v)) => ints!(v),
        (_, ColumnData::F64(v)) => {
            for (o, x) in out.iter_mut().zip(v) {
                *o = float_bits(*x) ^ flip;
            }
            true
        }
        (_, ColumnData::Bytes(v)) => {
            for (i, o) in out.iter_mut().enumerate() {
                let bytes = v.get(i);
                let mut first = [0u8; 8];
                let n = bytes.len().min(8);
                first[..n].copy_from_slice(&bytes[..n]);
                *o = u64::from_be_bytes(first) ^ flip;
            }
            false
        }
        _ => false,
    };
    if matches!(order.kind, CmpKind::Call(_)) {
        out.fill(1 << 63);
    }
    if let Some(nulls) = &column.nulls {
        let null = if order.nulls_first { 0 } else { u64::MAX };
        for (i, o) in out.iter_mut().enumerate() {
            if nulls.get(i) {
                *o = null;
                // A value may have the same number.
                exact = false;
            }
        }
    }
    exact
}

/// Bits of a double that sort as it does; NaN is greatest, -0 is 0.
fn float_bits(x: f64) -> u64 {
    if x.is_nan() {
        return u64::MAX - 1;
    }
    let bits = (if x == 0.0 { 0.0 } else { x }).to_bits();
    if bits >> 63 != 0 { !bits } else { bits | 1 << 63 }
}

/// A sort that minds errors and does not trust the comparison to be an order.
pub(crate) fn merge_sort<T: Copy>(
    items: &mut Vec<T>,
    order: &mut impl FnMut(&T, &T) -> Result<Ordering>,
) -> Result<()> {
    let mut width = 1;
    let mut other: Vec<T> = Vec::with_capacity(items.len());
    while width < items.len() {
        other.clear();
        for chunk in items.chunks(width * 2) {
            let (mut a, mut b) = chunk.split_at(width.min(chunk.len()));
            while let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) {
                if order(y, x)?.is_lt() {
                    other.push(*y);
                    b = rest_b;
                } else {
                    other.push(*x);
                    a = rest_a;
                }
            }
            other.extend_from_slice(a);
            other.extend_from_slice(b);
        }
        std::mem::swap(items, &mut other);
        width *= 2;
    }
    Ok(())
}

/// Sorted rows.
pub(crate) struct Sorted {
    rows: Rows,
    pub facts: SortFacts,
    _memory: Reservation,
}

enum Rows {
    Memory { batches: Vec<Batch>, places: Vec<Place>, at: usize, phys: Vec<PhysType> },
    Runs(Box<Merge>),
}

impl Sorted {
    /// The next rows, at most `demand`.
    pub fn next(&mut self, run: &mut Run, keys: &[Key], demand: usize) -> Result<Option<Batch>> {
        match &mut self.rows {
            Rows::Memory { batches, places, at, phys } => {
                let n = demand.min(BATCH_ROWS).min(places.len() - *at);
                if n == 0 {
                    return Ok(None);
                }
                let batch = gather_places(batches, &places[*at..*at + n], phys);
                *at += n;
                Ok(Some(batch))
            }
            Rows::Runs(merge) => merge.next(run, keys, demand),
        }
    }

    /// Starts over.
    pub fn rewind(&mut self, run: &mut Run, keys: &[Key]) -> Result<()> {
        match &mut self.rows {
            Rows::Memory { at, .. } => *at = 0,
            Rows::Runs(merge) => merge.rewind(run, keys)?,
        }
        Ok(())
    }
}

/// Merges sorted runs.
struct Merge {
    runs: Vec<SpillFile>,
    phys: Vec<PhysType>,
    /// For each run: the current batch, the row in it, the number of the next batch.
    heads: Vec<Option<(Batch, usize, usize)>>,
    /// A heap of runs by their current rows, the least first.
    heap: Vec<usize>,
}

impl Merge {
    fn new(run: &mut Run, keys: &[Key], runs: Vec<SpillFile>, phys: &[PhysType]) -> Result<Merge> {
        let mut merge = Merge { runs, phys: phys.to_vec(), heads: Vec::new(), heap: Vec::new() };
        merge.rewind(run, keys)?;
        Ok(merge)
    }

    fn rewind(&mut self, run: &mut Run, keys: &[Key]) -> Result<()> {
        self.heads.clear();
        self.heap.clear();
        for file in &self.runs {
            let head = if file.len() > 0 { Some((file.read(0)?, 0, 1)) } else { None };
            self.heads.push(head);
        }
        for i in 0..self.runs.len() {
            if self.heads[i].is_some() {
                self.heap.push(i);
                self.up(run, keys, self.heap.len() - 1)?;
            }
        }
        Ok(())
    }

    fn less(&self, run: &mut Run, keys: &[Key], a: usize, b: usize) -> Result<bool> {
        let (Some((x, i, _)), Some((y, j, _))) = (&self.heads[a], &self.heads[b]) else {
            return Err(Error::internal("a finished run is still being merged"));
        };
        Ok(compare_rows(run, keys, x, *i, y, *j)?.then(a.cmp(&b)).is_lt())
    }

    fn up(&mut self, run: &mut Run, keys: &[Key], mut at: usize) -> Result<()> {
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.less(run, keys, self.heap[at], self.heap[parent])? {
                break;
            }
            self.heap.swap(at, parent);
            at = parent;
        }
        Ok(())
    }

    fn down(&mut self, run: &mut Run, keys: &[Key]) -> Result<()> {
        let mut at = 0;
        loop {
            let (left, right) = (at * 2 + 1, at * 2 + 2);
            let mut least = at;
            if left < self.heap.len() && self.less(run, keys, self.heap[left], self.heap[least])? {
                least = left;
            }
            if right < self.heap.len()
                && self.less(run, keys, self.heap[right], self.heap[least])?
            {
                least = right;
            }
            if least == at {
                return Ok(());
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    fn next(&mut self, run: &mut Run, keys: &[Key], demand: usize) -> Result<Option<Batch>> {
        let mut rows = crate::batch::Collector::new(&self.phys);
        while rows.rows() < demand.min(BATCH_ROWS) {
            let Some(&first) = self.heap.first() else { break };
            let Some((batch, row, next)) = &mut self.heads[first] else { break };
            rows.push(batch, *row);
            *row += 1;
            if *row >= batch.len {
                if *next < self.runs[first].len() {
                    let fresh = self.runs[first].read(*next)?;
                    let number = *next + 1;
                    self.heads[first] = Some((fresh, 0, number));
                } else {
                    self.heads[first] = None;
                    self.heap.swap_remove(0);
                }
            }
            self.down(run, keys)?;
        }
        Ok(rows.take())
    }
}
