//! HashJoin: the inner rows in a hash table, probed by batches of outer rows.
//!
//! When the inner rows outgrow their memory both inputs are written to partitions by their hash,
//! and the partitions are joined one after another.

mod probe;
mod shared;
mod table;

use super::join::JoinSpec;
use super::{Node, NodeSpec, drain};
use crate::compile::PlanCompiler;
use crate::expr::compare::mix;
use crate::expr::{Equality, Prog, VarMap};
use crate::instrument::Detail;
use crate::output::Pump;
use crate::run::Run;
use crate::spill::{SpillFile, TempSpace};
use base::Result;
use ir::{JoinKind, Plan, PlanNode};
use probe::Probe;
use std::sync::Arc;
use table::Table;
use types::{BATCH_ROWS, Batch, PhysType};

/// Partitions of a join that does not fit in memory.
const PARTITIONS: usize = 32;

pub(crate) struct HashJoinSpec {
    join: JoinSpec,
    /// Number of the Hash node, for counters.
    hash_id: u32,
    /// Members of a team make the table together.
    parallel: bool,
    outer_keys: Vec<Prog>,
    inner_keys: Vec<Prog>,
    equalities: Vec<Equality>,
}

struct HashJoinNode {
    spec: Arc<HashJoinSpec>,
    outer: Box<dyn Node>,
    inner: Box<dyn Node>,
    probe: Option<Probe>,
    /// Partitions of both inputs that have not been joined; in order from the last.
    parts: Vec<(SpillFile, SpillFile)>,
    /// Outer rows of the current partition, and the next batch of them.
    outer_file: Option<(SpillFile, usize)>,
    /// The table holds all of the inner rows, so that it can be used again.
    whole: bool,
    outer_done: bool,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    h: &ir::HashJoin,
) -> Result<Arc<dyn NodeSpec>> {
    let join = JoinSpec::compile(c, plan, &h.join)?;
    let outer = VarMap::outer(join.outer.phys.len());
    let outer_keys = c.ec.list(&h.hash_keys, &outer)?;
    let inner_plan = plan.inner.as_deref();
    let (inner_exprs, hash_id) = match inner_plan.map(|p| (&p.node, p.id)) {
        Some((PlanNode::Hash(hash), id)) => (hash.hash_keys.clone(), id),
        _ => return Err(base::Error::internal("a hash join without a hash")),
    };
    let inner = VarMap::outer(join.inner.phys.len());
    let inner_keys = c.ec.list(&inner_exprs, &inner)?;
    let mut equalities = Vec::new();
    for (i, op) in h.hash_ops.iter().enumerate() {
        let collation = h.collations.get(i).copied().unwrap_or_default();
        equalities.push(Equality::of_operator(&mut c.ec, *op, collation)?);
    }
    let parallel = plan.parallel_aware;
    Ok(Arc::new(HashJoinSpec { join, hash_id, parallel, outer_keys, inner_keys, equalities }))
}

impl NodeSpec for HashJoinSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let outer = self.join.outer.start(run)?;
        let inner = self.join.inner.start(run)?;
        Ok(Box::new(HashJoinNode {
            spec: self,
            outer,
            inner,
            probe: None,
            parts: Vec::new(),
            outer_file: None,
            whole: false,
            outer_done: false,
            pump: Pump::default(),
        }))
    }
}

impl HashJoinSpec {
    /// Hashes of the rows that count by their keys, and the key columns. Rows with NULL in a key
    /// have some hash.
    fn hashes(
        &self,
        run: &mut Run,
        batch: &Batch,
        outer: bool,
    ) -> Result<(Vec<u64>, Vec<Arc<types::Column>>)> {
        let progs = if outer { &self.outer_keys } else { &self.inner_keys };
        let mut hashes = vec![0; batch.len];
        let mut keys = Vec::with_capacity(progs.len());
        for (prog, eq) in progs.iter().zip(&self.equalities) {
            let v = prog.eval_batch(run, batch, batch.sel.as_deref())?;
            let column = v.into_column(prog.phys, batch.len);
            let kind = if outer { &eq.hash_left } else { &eq.hash_right };
            kind.hash_column(run, &column, batch.sel.as_deref(), &mut hashes)?;
            keys.push(column);
        }
        Ok((hashes, keys))
    }

    /// Whether the join is empty when the inner side is.
    fn needs_inner(&self) -> bool {
        matches!(
            self.join.kind,
            JoinKind::Inner
                | JoinKind::Semi
                | JoinKind::Right
                | JoinKind::RightSemi
                | JoinKind::RightAnti
        )
    }
}

/// Files of one input by partition.
struct Partitions {
    files: Vec<SpillFile>,
}

impl Partitions {
    fn new(temp: &TempSpace) -> Result<Partitions> {
        let files = (0..PARTITIONS).map(|_| temp.create()).collect::<Result<_>>()?;
        Ok(Partitions { files })
    }

    fn write(&mut self, batch: &Batch, hashes: &[u64]) -> Result<()> {
        let mut chosen: Vec<Vec<u16>> = vec![Vec::new(); PARTITIONS];
        for i in batch.positions() {
            chosen[mix(hashes[i]) as usize % PARTITIONS].push(i as u16);
        }
        for (file, sel) in self.files.iter_mut().zip(chosen) {
            if !sel.is_empty() {
                file.write(&Batch { sel: Some(sel), ..batch.clone() })?;
            }
        }
        Ok(())
    }
}

impl HashJoinNode {
    /// Reads the inner rows: into a table, or into partitions together with the outer rows.
    fn build(&mut self, run: &mut Run) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        if let (Some(team), true) = (run.shared.clone(), spec.parallel) {
            let build = team.of_node(spec.hash_id, || Ok(shared::Build::default()))?;
            let table = build.table(run, &spec, &mut *self.inner)?;
            self.report(run, &table, false);
            self.whole = true;
            self.probe = Some(Probe::new(&spec, table));
            return Ok(());
        }
        let mut table = Table::new(run, &spec.equalities, &key_phys(&spec.inner_keys));
        let mut parts: Option<Partitions> = None;
        let limit = run.cx.settings.hash_mem();
        drain(&mut *self.inner, run, |run, batch| {
            let batch = batch.compact();
            let (hashes, keys) = spec.hashes(run, &batch, false)?;
            if let Some(parts) = &mut parts {
                return parts.write(&batch, &hashes);
            }
            table.push(batch, hashes, keys)?;
            if table.memory() > limit
                && let Some(temp) = run.cx.settings.temp.clone()
            {
                let p = parts.insert(Partitions::new(&temp)?);
                for (batch, hashes) in table.take_rows() {
                    p.write(&batch, &hashes)?;
                }
            }
            Ok(())
        })?;
        self.report(run, &table, parts.is_some());
        let Some(inner) = parts else {
            self.whole = true;
            table.link();
            self.probe = Some(Probe::new(&spec, Arc::new(table)));
            return Ok(());
        };
        self.whole = false;
        let Some(temp) = run.cx.settings.temp.clone() else { return Ok(()) };
        let mut outer = Partitions::new(&temp)?;
        drain(&mut *self.outer, run, |run, batch| {
            let (hashes, _) = spec.hashes(run, &batch, true)?;
            outer.write(&batch, &hashes)
        })?;
        self.parts = inner.files.into_iter().zip(outer.files).rev().collect();
        self.next_partition(run)?;
        Ok(())
    }

    /// Makes the table of the next partition; false if there is none.
    fn next_partition(&mut self, run: &mut Run) -> Result<bool> {
        let Some((inner, outer)) = self.parts.pop() else { return Ok(false) };
        let spec = Arc::clone(&self.spec);
        let mut table = Table::new(run, &spec.equalities, &key_phys(&spec.inner_keys));
        for i in 0..inner.len() {
            let batch = inner.read(i)?;
            let (hashes, keys) = spec.hashes(run, &batch, false)?;
            table.push(batch, hashes, keys)?;
        }
        table.link();
        self.probe = Some(Probe::new(&spec, Arc::new(table)));
        self.outer_file = Some((outer, 0));
        self.outer_done = false;
        Ok(true)
    }

    fn report(&self, run: &mut Run, table: &Table, spilled: bool) {
        let id = self.spec.hash_id;
        let (buckets, kb) = (table.buckets(), table.memory().div_ceil(1024));
        if let Some(all) = &mut run.instrumentation {
            let stats = all.node(id);
            let batches = if spilled { PARTITIONS as i64 } else { 1 };
            stats.set("Hash Buckets", Detail::Int(buckets as i64));
            stats.set("Hash Batches", Detail::Int(batches));
            stats.set("Peak Memory Usage", Detail::Int(kb as i64));
        }
    }

    fn next_outer(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        match &mut self.outer_file {
            None => self.outer.next(run, demand.min(BATCH_ROWS)),
            Some((file, at)) if *at < file.len() => {
                *at += 1;
                file.read(*at - 1).map(Some)
            }
            Some(_) => Ok(None),
        }
    }

    /// The next joined rows, before the node's own conditions.
    fn more(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = Arc::clone(&self.spec);
        if self.probe.is_none() {
            self.build(run)?;
        }
        loop {
            let Some(probe) = &mut self.probe else { return Ok(None) };
            if let Some(batch) = probe.next(run, &spec, demand)? {
                return Ok(Some(batch));
            }
            let skip = probe.is_empty() && spec.needs_inner();
            if !self.outer_done && !skip {
                match self.next_outer(run, demand)? {
                    Some(batch) => {
                        if let Some(probe) = &mut self.probe {
                            probe.begin(run, &spec, batch)?;
                        }
                        run.check_interrupts()?;
                        continue;
                    }
                    None => self.outer_done = true,
                }
            }
            if let Some(probe) = &mut self.probe
                && spec.join.keeps_inner()
                && let Some(batch) = probe.unmatched_inner(&spec, demand)
            {
                return Ok(Some(batch));
            }
            if !self.next_partition(run)? {
                return Ok(None);
            }
        }
    }
}

fn key_phys(keys: &[Prog]) -> Vec<PhysType> {
    keys.iter().map(|p| p.phys).collect()
}

impl Node for HashJoinNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let mut pump = std::mem::take(&mut self.pump);
        let spec = Arc::clone(&self.spec);
        let result = pump.pull(run, demand, &spec.join.output, |run| self.more(run, demand));
        self.pump = pump;
        result
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.pump.clear();
        self.outer_done = false;
        self.outer_file = None;
        self.parts.clear();
        match &mut self.probe {
            Some(probe) if self.whole && !self.spec.join.inner.depends_on(changed) => {
                probe.reset();
            }
            _ => {
                self.probe = None;
                self.inner.rescan(run, changed)?;
            }
        }
        self.outer.rescan(run, changed)
    }
}
