//! Aggregates over groups in a hash table; also all grouping sets, each with a table of its own.
//!
//! When a table outgrows its memory it takes in no new groups: rows of other groups go to
//! partitions on disk by their hash, and each partition is aggregated for itself afterwards.

use super::AggSpec;
use crate::expr::agg::AggRun;
use crate::expr::compare::mix;
use crate::hash::{Grouper, UNKNOWN, push_value};
use crate::instrument::Detail;
use crate::node::Node;
use crate::output::Pump;
use crate::run::Run;
use crate::spill::SpillFile;
use base::Result;
use base::memory::Reservation;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Column, ColumnData};

/// Partitions that rows without a group are spread over.
const PARTITIONS: usize = 16;

/// Rows without a group, by parts of their hash.
type Parts = Vec<Option<SpillFile>>;

/// One table: the groups of one grouping set.
struct Table {
    set: Option<usize>,
    /// Which of the spec's keys it groups by.
    keys: Vec<usize>,
    grouper: Grouper,
    aggs: Vec<AggRun>,
    /// Needed columns of the groups' first rows.
    rep: Vec<Column>,
    /// Groups that have been given.
    given: usize,
}

/// Rows that wait for a later round, with the level of their partitioning.
struct Partition {
    file: SpillFile,
    level: u32,
    /// Of which grouping set, if there are any.
    set: Option<usize>,
}

pub(crate) struct HashedAgg {
    spec: Arc<AggSpec>,
    child: Box<dyn Node>,
    tables: Vec<Table>,
    at: usize,
    filled: bool,
    waiting: Vec<Partition>,
    memory: Option<Reservation>,
    disk_kb: u64,
    batches: u64,
    pump: Pump,
}

impl Table {
    fn new(spec: &AggSpec, set: Option<usize>) -> Result<Table> {
        let keys = match set {
            Some(s) => spec.sets[s].clone(),
            None => (0..spec.keys.len()).collect(),
        };
        let phys: Vec<_> = keys.iter().map(|k| spec.child.phys[spec.keys[*k].0]).collect();
        let int = keys.len() == 1 && crate::hash::is_int_key(&spec.keys[keys[0]].1, phys[0]);
        let mut aggs = spec.start_calls()?;
        let mut grouper = Grouper::new(int, &phys);
        if keys.is_empty() {
            // The empty grouping set has its group even without rows.
            grouper.force_one();
            aggs.iter_mut().for_each(|a| a.states.resize(1));
        }
        let empty = |p: &types::PhysType| Column::new(ColumnData::with_capacity(*p, 0));
        let rep = spec.rep_phys.iter().map(empty).collect();
        Ok(Table { set, keys, grouper, aggs, rep, given: 0 })
    }

    /// Takes in the rows; returns positions of those whose group is new when `full`.
    fn take(
        &mut self,
        run: &mut Run,
        spec: &AggSpec,
        batch: &Batch,
        full: bool,
    ) -> Result<Vec<u16>> {
        let keys: Vec<&Column> =
            self.keys.iter().map(|k| &*batch.columns[spec.keys[*k].0]).collect();
        let equalities: Vec<_> = self.keys.iter().map(|k| &spec.keys[*k].1).collect();
        let mut groups = Vec::new();
        self.grouper.assign(run, &equalities, &keys, batch, full, &mut groups)?;
        let mut unknown = Vec::new();
        let narrowed;
        let mut rows = batch;
        if full {
            let (known, other): (Vec<usize>, Vec<usize>) =
                batch.positions().partition(|i| groups[*i] != UNKNOWN);
            unknown = other.iter().map(|i| *i as u16).collect();
            let sel = Some(known.iter().map(|i| *i as u16).collect());
            narrowed = Batch { sel, ..batch.clone() };
            rows = &narrowed;
        }
        let mut begun = self.rep.first().map_or(usize::MAX, Column::len);
        if begun < self.grouper.len() {
            for i in rows.positions() {
                if groups[i] as usize == begun {
                    for (column, from) in self.rep.iter_mut().zip(&spec.rep) {
                        push_value(column, &batch.columns[*from], i);
                    }
                    begun += 1;
                }
            }
        }
        for (call, agg) in spec.calls.iter().zip(&mut self.aggs) {
            agg.states.resize(self.grouper.len());
            if self.set.is_some() && call.has_direct() {
                // What the set does not group by is NULL in direct arguments, unlike in others.
                let rows = nulled(spec, &self.keys, rows);
                call.note_direct(run, agg, Some(&groups), &rows, rows.sel.as_deref())?;
            }
            call.update(run, agg, Some(&groups), rows)?;
        }
        Ok(unknown)
    }

    fn memory(&self) -> usize {
        self.grouper.memory() + self.aggs.iter().map(|a| a.states.memory()).sum::<usize>()
    }

    /// The next groups.
    fn give(&mut self, run: &mut Run, spec: &AggSpec, demand: usize) -> Result<Option<Batch>> {
        if self.given == 0 {
            for (call, agg) in spec.calls.iter().zip(&mut self.aggs) {
                call.settle(run, agg, None)?;
            }
        }
        let n = demand.min(BATCH_ROWS).min(self.grouper.len() - self.given);
        if n == 0 {
            return Ok(None);
        }
        let range = self.given..self.given + n;
        self.given += n;
        let rep = self.rep.iter().enumerate().map(|(r, column)| {
            let from = spec.rep[r];
            let in_set = self.set.is_none()
                || self.keys.iter().any(|k| spec.keys[*k].0 == from)
                || !spec.keys.iter().any(|k| k.0 == from);
            let mut out = Column::new(ColumnData::with_capacity(spec.rep_phys[r], n));
            let nothing = Column::repeat(&types::Datum::Null, spec.rep_phys[r], 1);
            for g in range.clone() {
                match in_set && g < column.len() {
                    true => push_value(&mut out, column, g),
                    false => push_value(&mut out, &nothing, 0),
                };
            }
            if let ColumnData::Bytes(b) = &mut out.data {
                b.seal();
            }
            Arc::new(out)
        });
        let rep = rep.collect();
        spec.group_rows(run, &self.aggs, rep, range, self.set).map(Some)
    }
}

/// The rows with NULL in the columns that are grouped by, but not in the set of these keys.
fn nulled(spec: &AggSpec, keys: &[usize], rows: &Batch) -> Batch {
    let mut out = rows.clone();
    for (k, (column, _)) in spec.keys.iter().enumerate() {
        if !keys.contains(&k) {
            let phys = spec.child.phys[*column];
            out.columns[*column] = Arc::new(Column::repeat(&types::Datum::Null, phys, rows.len));
        }
    }
    out
}

impl HashedAgg {
    pub fn new(spec: Arc<AggSpec>, child: Box<dyn Node>) -> HashedAgg {
        HashedAgg {
            spec,
            child,
            tables: Vec::new(),
            at: 0,
            filled: false,
            waiting: Vec::new(),
            memory: None,
            disk_kb: 0,
            batches: 0,
            pump: Pump::default(),
        }
    }

    fn reset_tables(&mut self, only: Option<usize>) -> Result<()> {
        let sets = self.spec.sets.len();
        self.at = 0;
        self.tables = match (sets, only) {
            (0, _) => vec![Table::new(&self.spec, None)?],
            (_, Some(set)) => vec![Table::new(&self.spec, Some(set))?],
            _ => (0..sets).map(|s| Table::new(&self.spec, Some(s))).collect::<Result<_>>()?,
        };
        Ok(())
    }

    /// Takes in all rows of `source`, for one grouping set or all; what does not fit goes to
    /// partitions of the next level.
    fn fill(
        &mut self,
        run: &mut Run,
        (level, only): (u32, Option<usize>),
        mut source: impl FnMut(&mut Self, &mut Run) -> Result<Option<Batch>>,
    ) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        self.reset_tables(only)?;
        self.batches += 1;
        let can_spill = run.cx.settings.temp.is_some();
        let limit = run.cx.settings.hash_mem();
        let mut tables = std::mem::take(&mut self.tables);
        let mut parts: Vec<Parts> = tables.iter().map(|_| Parts::new()).collect();
        let mut full = false;
        while let Some(batch) = source(self, run)? {
            run.check_interrupts()?;
            for (table, parts) in tables.iter_mut().zip(&mut parts) {
                let unknown = table.take(run, &spec, &batch, full)?;
                if !unknown.is_empty() {
                    let rows = Batch { sel: Some(unknown), ..batch.clone() };
                    self.spill(run, parts, rows, (level, &table.keys))?;
                }
            }
            let used = tables.iter().map(Table::memory).sum();
            let memory = self.memory.get_or_insert_with(|| Reservation::new(run.cx.memory));
            memory.resize(used)?;
            full = full || (can_spill && used > limit);
        }
        for (table, parts) in tables.iter().zip(parts) {
            for file in parts.into_iter().flatten() {
                self.disk_kb += file.bytes().div_ceil(1024);
                self.waiting.push(Partition { file, level: level + 1, set: table.set });
            }
        }
        self.tables = tables;
        Ok(())
    }

    fn spill(
        &mut self,
        run: &mut Run,
        parts: &mut Parts,
        rows: Batch,
        (level, keys): (u32, &[usize]),
    ) -> Result<()> {
        parts.resize_with(PARTITIONS, || None);
        let mut hashes = vec![0; rows.len];
        for (column, eq) in keys.iter().map(|k| &self.spec.keys[*k]) {
            let sel = rows.sel.as_deref();
            eq.hash_left.hash_column(run, &rows.columns[*column], sel, &mut hashes)?;
        }
        let mut chosen: Vec<Vec<u16>> = vec![Vec::new(); PARTITIONS];
        for i in rows.positions() {
            let h = mix(hashes[i] ^ ((level as u64 + 1) << 32));
            chosen[h as usize % PARTITIONS].push(i as u16);
        }
        for (part, sel) in parts.iter_mut().zip(chosen) {
            if sel.is_empty() {
                continue;
            }
            let file = match part {
                Some(f) => f,
                none => match &run.cx.settings.temp {
                    Some(temp) => none.insert(temp.create()?),
                    None => return Err(base::Error::internal("nowhere to spill to")),
                },
            };
            file.write(&Batch { sel: Some(sel), ..rows.clone() })?;
        }
        Ok(())
    }

    fn report(&self, run: &mut Run) {
        let (id, batches, disk) = (self.spec.id, self.batches, self.disk_kb);
        let peak = self.memory.as_ref().map_or(0, Reservation::peak).div_ceil(1024);
        if let Some(all) = &mut run.instrumentation {
            let stats = all.node(id);
            stats.set("HashAgg Batches", Detail::Int(batches as i64));
            stats.set("Peak Memory Usage", Detail::Int(peak.max(24) as i64));
            stats.set("Disk Usage", Detail::Int(disk as i64));
        }
    }

    fn more(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if !self.filled {
            self.fill(run, (0, None), |me, run| me.child.next(run, BATCH_ROWS))?;
            self.filled = true;
            self.report(run);
        }
        let spec = Arc::clone(&self.spec);
        loop {
            while let Some(table) = self.tables.get_mut(self.at) {
                if let Some(batch) = table.give(run, &spec, demand)? {
                    return Ok(Some(batch));
                }
                self.at += 1;
            }
            let Some(part) = self.waiting.pop() else { return Ok(None) };
            let mut next = 0;
            self.fill(run, (part.level, part.set), |_, _| {
                next += 1;
                (next <= part.file.len()).then(|| part.file.read(next - 1)).transpose()
            })?;
            self.report(run);
        }
    }
}

impl Node for HashedAgg {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let mut pump = std::mem::take(&mut self.pump);
        let spec = Arc::clone(&self.spec);
        let result = pump.pull(run, demand, &spec.output, |run| self.more(run, demand));
        self.pump = pump;
        result
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.pump.clear();
        let again = self.batches <= 1 && self.filled && !self.spec.child.depends_on(changed);
        let own = self.spec.calls_depend_on(changed);
        if again && !own {
            self.at = 0;
            self.tables.iter_mut().for_each(|t| t.given = 0);
            return Ok(());
        }
        self.filled = false;
        self.waiting.clear();
        self.tables.clear();
        self.batches = 0;
        self.child.rescan(run, changed)
    }
}
