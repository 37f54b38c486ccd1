//! Outer rows against the table.
//!
//! For a batch of outer rows pairs of positions are collected, a chunk at a time. The join's other
//! conditions are applied to a chunk as a whole; then the kind of join decides which pairs, and
//! which rows without a match, are given. The order of the outer rows is kept.

use super::HashJoinSpec;
use super::table::{END, Table, widen};
use crate::batch::{Place, gather, gather_places};
use crate::node::join::nulls;
use crate::run::Run;
use base::Result;
use ir::JoinKind;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Column, PhysType};

pub(crate) struct Probe {
    table: Arc<Table>,
    /// By inner row: it has matched.
    matched: Vec<bool>,
    outer_phys: Vec<PhysType>,
    inner_phys: Vec<PhysType>,
    current: Option<Current>,
    /// The next inner row to look at for those without a match.
    scan: usize,
}

/// The batch of outer rows that is being joined.
struct Current {
    batch: Batch,
    hashes: Vec<u64>,
    keys: Vec<Arc<Column>>,
    ints: Vec<i64>,
    /// The current row among those that count, and where its chain goes on.
    n: usize,
    chain: Option<u32>,
    /// The current row has matched in an earlier chunk.
    hit: bool,
}

/// A pair: place of the outer row among those that count, inner row.
type Pair = (u16, u32);

impl Probe {
    pub fn new(spec: &HashJoinSpec, table: Arc<Table>) -> Probe {
        let rows = match spec.join.kind {
            JoinKind::Right | JoinKind::Full | JoinKind::RightAnti | JoinKind::RightSemi => {
                table.rows()
            }
            _ => 0,
        };
        Probe {
            table,
            matched: vec![false; rows],
            outer_phys: spec.join.outer.phys.clone(),
            inner_phys: spec.join.inner.phys.clone(),
            current: None,
            scan: 0,
        }
    }

    /// Whether there are no inner rows.
    pub fn is_empty(&self) -> bool {
        self.table.rows() == 0
    }

    /// Starts over with the same table.
    pub fn reset(&mut self) {
        self.matched.fill(false);
        self.current = None;
        self.scan = 0;
    }

    /// Begins a batch of outer rows.
    pub fn begin(&mut self, run: &mut Run, spec: &HashJoinSpec, batch: Batch) -> Result<()> {
        let (hashes, keys) = spec.hashes(run, &batch, true)?;
        let mut ints = Vec::new();
        if self.table.ints.is_some() {
            widen(&keys[0], &mut ints);
        }
        self.current = Some(Current { batch, hashes, keys, ints, n: 0, chain: None, hit: false });
        Ok(())
    }

    /// The next joined rows of the current batch, at most `demand`; None when it is done.
    pub fn next(
        &mut self,
        run: &mut Run,
        spec: &HashJoinSpec,
        demand: usize,
    ) -> Result<Option<Batch>> {
        let limit = demand.min(BATCH_ROWS);
        while let Some(mut current) = self.current.take() {
            let (first, hit) = (current.n, current.hit);
            if first >= current.batch.rows() {
                return Ok(None);
            }
            let (mut pairs, complete) = self.candidates(run, spec, &mut current, limit)?;
            let batch = current.batch.clone();
            if !spec.join.qual.is_empty() && !pairs.is_empty() {
                pairs = self.apply_qual(run, spec, &batch, pairs)?;
            }
            // Rows from `first` to `last` have all their pairs in this chunk (and earlier ones).
            let last = if complete { current.n } else { current.n + 1 };
            let chosen = self.decide(spec, pairs, first..last, hit, complete, &mut current);
            self.current = Some(current);
            if !chosen.is_empty() {
                return Ok(Some(self.gather(&batch, &chosen)));
            }
        }
        Ok(None)
    }

    /// Pairs with equal keys, at most `limit`; true if the last row's chain is done.
    fn candidates(
        &self,
        run: &mut Run,
        spec: &HashJoinSpec,
        c: &mut Current,
        limit: usize,
    ) -> Result<(Vec<Pair>, bool)> {
        let mut pairs = Vec::with_capacity(limit);
        // One match is enough, if no other condition can reject it.
        let one = spec.join.single_match && spec.join.qual.is_empty();
        let first = c.n;
        while c.n < c.batch.rows() {
            // Rows without a match may take up places too.
            if pairs.len() >= limit || c.n - first >= limit {
                return Ok((pairs, true));
            }
            let i = c.batch.position(c.n);
            let null = c.keys.iter().any(|k| k.is_null(i));
            let mut row = match c.chain.take() {
                Some(row) => row,
                None if null => END,
                None => self.table.first(c.hashes[i]),
            };
            while row != END {
                if pairs.len() >= limit {
                    c.chain = Some(row);
                    return Ok((pairs, false));
                }
                let next = self.table.after(row);
                if self.same_key(run, spec, c, i, row)? {
                    pairs.push((c.n as u16, row));
                    if one {
                        break;
                    }
                }
                row = next;
            }
            c.n += 1;
        }
        Ok((pairs, true))
    }

    #[inline]
    fn same_key(
        &self,
        run: &mut Run,
        spec: &HashJoinSpec,
        c: &Current,
        i: usize,
        row: u32,
    ) -> Result<bool> {
        if let Some(ints) = &self.table.ints {
            return Ok(ints[row as usize] == c.ints[i]);
        }
        if self.table.hash(row) != c.hashes[i] {
            return Ok(false);
        }
        let place = self.table.places[row as usize];
        let inner = &self.table.keys[place.batch as usize];
        for (k, eq) in spec.equalities.iter().enumerate() {
            if !eq.same_at(run, &c.keys[k], i, &inner[k], place.row as usize)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The pairs that satisfy the join's other conditions.
    fn apply_qual(
        &self,
        run: &mut Run,
        spec: &HashJoinSpec,
        outer: &Batch,
        pairs: Vec<Pair>,
    ) -> Result<Vec<Pair>> {
        let chosen: Vec<(u16, Option<u32>)> = pairs.iter().map(|(n, r)| (*n, Some(*r))).collect();
        let mut both = self.gather(outer, &chosen);
        let before = both.rows();
        spec.join.qual.filter(run, &mut both)?;
        spec.join.output.count_unjoined(run, before - both.rows());
        Ok(both.positions().map(|p| pairs[p]).collect())
    }

    /// Which pairs, and which outer rows alone, are given. `rows` are the outer rows that the
    /// chunk has looked at; the first of them may have matched before.
    fn decide(
        &mut self,
        spec: &HashJoinSpec,
        pairs: Vec<Pair>,
        rows: std::ops::Range<usize>,
        hit_before: bool,
        complete: bool,
        current: &mut Current,
    ) -> Vec<(u16, Option<u32>)> {
        let kind = spec.join.kind;
        let single = spec.join.single_match;
        let mut out = Vec::with_capacity(pairs.len());
        let mut hit = hit_before;
        let mut pairs = pairs.into_iter().peekable();
        for n in rows.clone() {
            if n != rows.start {
                hit = false;
            }
            while let Some((_, row)) = pairs.next_if(|p| p.0 as usize == n) {
                let first_for_outer = !std::mem::replace(&mut hit, true);
                if single && !first_for_outer {
                    continue;
                }
                let mut first_for_inner = true;
                if let Some(m) = self.matched.get_mut(row as usize) {
                    first_for_inner = !std::mem::replace(m, true);
                }
                let wanted = match kind {
                    JoinKind::Anti | JoinKind::RightAnti => false,
                    JoinKind::RightSemi => first_for_inner,
                    _ => true,
                };
                if wanted {
                    out.push((n as u16, Some(row)));
                }
            }
            let done = complete || n + 1 < rows.end;
            if done && !hit && spec.join.keeps_outer() {
                out.push((n as u16, None));
            }
        }
        current.hit = !complete && hit;
        out
    }

    /// The columns of these pairs.
    fn gather(&self, outer: &Batch, chosen: &[(u16, Option<u32>)]) -> Batch {
        let positions: Vec<u16> =
            chosen.iter().map(|(n, _)| outer.position(*n as usize) as u16).collect();
        let mut columns = gather(outer, &positions);
        let places: Option<Vec<Place>> =
            chosen.iter().map(|(_, r)| r.map(|r| self.table.places[r as usize])).collect();
        match places {
            Some(places) => {
                let inner = gather_places(&self.table.batches, &places, &self.inner_phys);
                columns.extend(inner.columns);
            }
            None => columns.extend(self.gather_some(chosen)),
        }
        Batch { len: chosen.len(), columns, sel: None }
    }

    /// Inner columns where some outer rows stand alone.
    fn gather_some(&self, chosen: &[(u16, Option<u32>)]) -> Vec<Arc<Column>> {
        let mut builders = crate::batch::builders(&self.inner_phys, chosen.len());
        for (_, row) in chosen {
            match row {
                Some(r) => {
                    let place = self.table.places[*r as usize];
                    let batch = &self.table.batches[place.batch as usize];
                    crate::batch::push_row(&mut builders, batch, place.row as usize);
                }
                None => builders.iter_mut().for_each(|b| b.push_null()),
            }
        }
        builders.into_iter().map(|b| Arc::new(b.finish())).collect()
    }

    /// Inner rows without a match.
    pub fn unmatched_inner(&mut self, _spec: &HashJoinSpec, demand: usize) -> Option<Batch> {
        let mut places = Vec::new();
        while self.scan < self.matched.len() && places.len() < demand.min(BATCH_ROWS) {
            if !self.matched[self.scan] {
                places.push(self.table.places[self.scan]);
            }
            self.scan += 1;
        }
        if places.is_empty() {
            return None;
        }
        let mut columns = nulls(&self.outer_phys, places.len());
        let inner = gather_places(&self.table.batches, &places, &self.inner_phys);
        columns.extend(inner.columns);
        Some(Batch { len: places.len(), columns, sel: None })
    }
}
