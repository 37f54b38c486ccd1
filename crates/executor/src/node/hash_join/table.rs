//! The hash table of a join: rows in batches, linked into chains by their hash.

use crate::batch::{Place, heap_size};
use crate::expr::Equality;
use crate::expr::compare::EqKind;
use crate::run::Run;
use base::Result;
use base::memory::Reservation;
use std::sync::Arc;
use types::{Batch, Column, ColumnData, PhysType};

/// The end of a chain.
pub(crate) const END: u32 = u32::MAX;

pub(crate) struct Table {
    pub batches: Vec<Batch>,
    /// Key columns of each batch.
    pub keys: Vec<Vec<Arc<Column>>>,
    /// Place, hash and next row of the chain, by row number.
    pub places: Vec<Place>,
    hashes: Vec<u64>,
    next: Vec<u32>,
    /// First row of each chain.
    heads: Vec<u32>,
    /// With one integer key: its values by row number.
    pub ints: Option<Vec<i64>>,
    memory: Reservation,
}

/// A column of integers as 64-bit values; NULL becomes 0.
pub(crate) fn widen(column: &Column, out: &mut Vec<i64>) {
    match &column.data {
        ColumnData::I16(v) => out.extend(v.iter().map(|x| *x as i64)),
        ColumnData::I32(v) => out.extend(v.iter().map(|x| *x as i64)),
        ColumnData::I64(v) => out.extend_from_slice(v),
        ColumnData::U32(v) => out.extend(v.iter().map(|x| *x as i64)),
        _ => out.extend((0..column.len()).map(|i| column.get(i).to_i64())),
    }
}

impl Table {
    pub fn new(run: &Run, eq: &[Equality], _phys: &[PhysType]) -> Table {
        let int = eq.len() == 1 && matches!(eq[0].kind, EqKind::Int);
        Table {
            batches: Vec::new(),
            keys: Vec::new(),
            places: Vec::new(),
            hashes: Vec::new(),
            next: Vec::new(),
            heads: Vec::new(),
            ints: int.then(Vec::new),
            memory: Reservation::new(run.cx.memory),
        }
    }

    /// Adds the rows of a dense batch.
    pub fn push(&mut self, batch: Batch, hashes: Vec<u64>, keys: Vec<Arc<Column>>) -> Result<()> {
        self.memory.grow(heap_size(&batch) + batch.len * 24)?;
        let number = self.batches.len() as u32;
        self.places.extend((0..batch.len).map(|i| Place { batch: number, row: i as u16 }));
        self.hashes.extend(hashes);
        if let Some(ints) = &mut self.ints {
            widen(&keys[0], ints);
        }
        self.batches.push(batch);
        self.keys.push(keys);
        Ok(())
    }

    /// Gives up all rows with their hashes.
    pub fn take_rows(&mut self) -> Vec<(Batch, Vec<u64>)> {
        let batches = std::mem::take(&mut self.batches);
        let mut from = 0;
        let mut all = Vec::with_capacity(batches.len());
        for batch in batches {
            let to = from + batch.len;
            all.push((batch, self.hashes[from..to].to_vec()));
            from = to;
        }
        self.keys.clear();
        self.places.clear();
        self.hashes.clear();
        if let Some(ints) = &mut self.ints {
            ints.clear();
        }
        let _ = self.memory.resize(0);
        all
    }

    /// Links the rows into chains. Rows with NULL in a key are in none.
    pub fn link(&mut self) {
        let size = (self.places.len().max(1) * 2).next_power_of_two();
        self.heads = vec![END; size];
        self.next = vec![END; self.places.len()];
        let mask = size as u64 - 1;
        // From the last to the first, so that chains are in the order of the rows.
        for row in (0..self.places.len()).rev() {
            let place = self.places[row];
            let keys = &self.keys[place.batch as usize];
            if keys.iter().any(|k| k.is_null(place.row as usize)) {
                continue;
            }
            let head = &mut self.heads[(self.hashes[row] & mask) as usize];
            self.next[row] = *head;
            *head = row as u32;
        }
    }

    /// The first row of the chain of a hash.
    #[inline]
    pub fn first(&self, hash: u64) -> u32 {
        self.heads[(hash & (self.heads.len() as u64 - 1)) as usize]
    }

    /// The next row of the chain.
    #[inline]
    pub fn after(&self, row: u32) -> u32 {
        self.next[row as usize]
    }

    #[inline]
    pub fn hash(&self, row: u32) -> u64 {
        self.hashes[row as usize]
    }

    pub fn rows(&self) -> usize {
        self.places.len()
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.memory.bytes()
    }

    /// Chains, as EXPLAIN shows them.
    pub fn buckets(&self) -> usize {
        self.places.len().max(1024).next_power_of_two()
    }
}
