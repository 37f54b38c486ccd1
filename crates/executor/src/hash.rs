//! Hash tables of rows: [`RowTable`] by values, [`Grouper`] over columns.

use crate::expr::Equality;
use crate::expr::compare::{EqKind, NULL_HASH, mix};
use crate::run::Run;
use base::Result;
use base::memory::Reservation;
use hashbrown::HashTable;
use types::batch::ColumnData;
use types::{Batch, Bitmap, Column, Datum, PhysType};

/// Distinct rows of values with their hashes.
pub(crate) struct RowTable {
    rows: Vec<Vec<Datum>>,
    table: HashTable<(u64, u32)>,
    memory: Reservation,
}

impl RowTable {
    pub fn new(run: &Run) -> RowTable {
        RowTable {
            rows: Vec::new(),
            table: HashTable::new(),
            memory: Reservation::new(run.cx.memory),
        }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn row(&self, index: usize) -> &[Datum] {
        &self.rows[index]
    }

    /// The hash of a key as the left (or right) operand of the equalities.
    pub fn hash(&self, run: &mut Run, eq: &[Equality], key: &[Datum], left: bool) -> Result<u64> {
        let mut h = 0u64;
        for (eq, value) in eq.iter().zip(key) {
            let kind = if left { &eq.hash_left } else { &eq.hash_right };
            let x = if value.is_null() { NULL_HASH } else { kind.hash(run, value)? };
            h = mix(h.rotate_left(5) ^ x);
        }
        Ok(h)
    }

    /// The row that is the same as `key`, the left operand.
    pub fn find<E: std::borrow::Borrow<Equality>>(
        &self,
        run: &mut Run,
        eq: &[E],
        hash: u64,
        key: &[Datum],
    ) -> Result<Option<usize>> {
        let mut failed = None;
        let found = self.table.find(hash, |(h, i)| {
            if *h != hash || failed.is_some() {
                return false;
            }
            let row = &self.rows[*i as usize];
            for (c, eq) in eq.iter().enumerate() {
                match eq.borrow().same(run, &key[c], &row[c]) {
                    Ok(true) => {}
                    Ok(false) => return false,
                    Err(e) => {
                        failed = Some(e);
                        return false;
                    }
                }
            }
            true
        });
        match failed {
            Some(e) => Err(e),
            None => Ok(found.map(|(_, i)| *i as usize)),
        }
    }

    /// The number of the row, which is added unless it is there; true if it is new.
    pub fn insert<E: std::borrow::Borrow<Equality>>(
        &mut self,
        run: &mut Run,
        eq: &[E],
        hash: u64,
        key: Vec<Datum>,
    ) -> Result<(usize, bool)> {
        if let Some(i) = self.find(run, eq, hash, &key)? {
            return Ok((i, false));
        }
        let size = 40 + key.len() * 24 + key.iter().map(Datum::heap_size).sum::<usize>();
        self.memory.grow(size)?;
        let index = self.rows.len();
        self.rows.push(key);
        self.table.insert_unique(hash, (hash, index as u32), |(h, _)| *h);
        Ok((index, true))
    }
}

/// The group of a row whose key is new to a [`Grouper`] that makes no new groups.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// Whether a single key like this is grouped by its number alone.
pub(crate) fn is_int_key(eq: &Equality, phys: PhysType) -> bool {
    matches!(eq.kind, EqKind::Int)
        && matches!(phys, PhysType::I16 | PhysType::I32 | PhysType::I64 | PhysType::U32)
}

/// Numbers the distinct keys of rows in columns, in order of first appearance.
pub(crate) struct Grouper {
    /// Key columns of the groups so far, by group number.
    pub keys: Vec<Column>,
    table: HashTable<(u64, u32)>,
    /// With one integer key: key and group.
    ints: Option<HashTable<(i64, u32)>>,
    null_group: Option<u32>,
    groups: usize,
    bytes: usize,
}

impl Grouper {
    /// For keys that compare like this and are held like this.
    /// `int` if there is one key and [`is_int_key`] says so.
    pub fn new(int: bool, phys: &[PhysType]) -> Grouper {
        Grouper {
            keys: phys.iter().map(|p| Column::new(ColumnData::with_capacity(*p, 0))).collect(),
            table: HashTable::new(),
            ints: int.then(HashTable::new),
            null_group: None,
            groups: 0,
            bytes: 0,
        }
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups
    }

    /// Without keys: makes the one group before there are any rows.
    pub fn force_one(&mut self) {
        self.table.insert_unique(0, (0, 0), |(h, _)| *h);
        self.groups = 1;
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.bytes
            + self.table.capacity() * 17
            + self.ints.as_ref().map_or(0, |t| t.capacity() * 17)
    }

    /// Sets `out[i]` to the group of the row at position `i` for the rows that count. New groups
    /// are made as needed, unless `full`: then it is [`UNKNOWN`].
    pub fn assign(
        &mut self,
        run: &mut Run,
        eq: &[&Equality],
        keys: &[&Column],
        batch: &Batch,
        full: bool,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        out.clear();
        out.resize(batch.len, 0);
        if self.ints.is_some() {
            self.assign_ints(keys[0], batch, full, out);
            return Ok(());
        }
        let mut hashes = vec![0u64; batch.len];
        for (eq, key) in eq.iter().zip(keys) {
            eq.hash_left.hash_column(run, key, batch.sel.as_deref(), &mut hashes)?;
        }
        for n in 0..batch.rows() {
            let i = batch.position(n);
            out[i] = self.assign_one(run, eq, keys, i, hashes[i], full)?;
        }
        Ok(())
    }

    fn assign_one(
        &mut self,
        run: &mut Run,
        eq: &[&Equality],
        keys: &[&Column],
        i: usize,
        hash: u64,
        full: bool,
    ) -> Result<u32> {
        let mut failed = None;
        let found = self.table.find(hash, |(h, g)| {
            *h == hash
                && eq.iter().enumerate().all(|(c, eq)| {
                    match eq.same_at(run, keys[c], i, &self.keys[c], *g as usize) {
                        Ok(same) => same,
                        Err(e) => {
                            failed = Some(e);
                            false
                        }
                    }
                })
        });
        if let Some((_, g)) = found {
            return Ok(*g);
        }
        if let Some(e) = failed {
            return Err(e);
        }
        if full {
            return Ok(UNKNOWN);
        }
        let group = self.groups as u32;
        for (stored, key) in self.keys.iter_mut().zip(keys) {
            self.bytes += push_value(stored, key, i);
        }
        self.groups += 1;
        self.table.insert_unique(hash, (hash, group), |(h, _)| *h);
        Ok(group)
    }

    fn assign_ints(&mut self, key: &Column, batch: &Batch, full: bool, out: &mut [u32]) {
        macro_rules! run {
            ($v:ident) => {
                for n in 0..batch.rows() {
                    let i = batch.position(n);
                    out[i] = if key.is_null(i) {
                        self.null(key, i, full)
                    } else {
                        self.int($v[i] as i64, key, i, full)
                    };
                }
            };
        }
        match &key.data {
            ColumnData::I16(v) => run!(v),
            ColumnData::I32(v) => run!(v),
            ColumnData::I64(v) => run!(v),
            ColumnData::U32(v) => run!(v),
            _ => {}
        }
    }

    #[inline]
    fn int(&mut self, value: i64, key: &Column, i: usize, full: bool) -> u32 {
        let Some(table) = &mut self.ints else { return 0 };
        let hash = mix(value as u64);
        if let Some((_, g)) = table.find(hash, |(k, _)| *k == value) {
            return *g;
        }
        if full {
            return UNKNOWN;
        }
        let group = self.groups as u32;
        table.insert_unique(hash, (value, group), |(k, _)| mix(*k as u64));
        self.bytes += push_value(&mut self.keys[0], key, i);
        self.groups += 1;
        group
    }

    fn null(&mut self, key: &Column, i: usize, full: bool) -> u32 {
        if let Some(g) = self.null_group {
            return g;
        }
        if full {
            return UNKNOWN;
        }
        let group = self.groups as u32;
        self.bytes += push_value(&mut self.keys[0], key, i);
        self.groups += 1;
        self.null_group = Some(group);
        group
    }
}

/// Appends value `i` of a column to another of the same type; returns the bytes that took.
pub(crate) fn push_value(into: &mut Column, from: &Column, i: usize) -> usize {
    let len = into.len();
    if from.is_null(i) {
        into.data.resize(len + 1);
        into.nulls.get_or_insert_with(|| Bitmap::zeros(len)).push(true);
        return 8;
    }
    if let Some(nulls) = &mut into.nulls {
        nulls.push(false);
    }
    match (&mut into.data, &from.data) {
        (ColumnData::Bool(a), ColumnData::Bool(b)) => a.push(b[i]),
        (ColumnData::Char(a), ColumnData::Char(b)) => a.push(b[i]),
        (ColumnData::I16(a), ColumnData::I16(b)) => a.push(b[i]),
        (ColumnData::I32(a), ColumnData::I32(b)) => a.push(b[i]),
        (ColumnData::I64(a), ColumnData::I64(b)) => a.push(b[i]),
        (ColumnData::U32(a), ColumnData::U32(b)) => a.push(b[i]),
        (ColumnData::F32(a), ColumnData::F32(b)) => a.push(b[i]),
        (ColumnData::F64(a), ColumnData::F64(b)) => a.push(b[i]),
        (ColumnData::Bytes(a), ColumnData::Bytes(b)) => {
            let bytes = b.get(i);
            a.push(bytes);
            return 16 + bytes.len();
        }
        (a, _) => a.resize(len + 1),
    }
    8
}
