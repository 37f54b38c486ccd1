//! RecursiveUnion and WorkTableScan: WITH RECURSIVE.
//!
//! The first term's rows are the first work table; the recursive term runs over the work table and
//! its rows are the next one, until there are none.

use super::limit::keys;
use super::{Child, Node, NodeSpec};
use crate::batch::split;
use crate::compile::PlanCompiler;
use crate::expr::{Equality, VarMap, named};
use crate::hash::RowTable;
use crate::output::{Output, Pump};
use crate::run::Run;
use base::Result;
use ir::Plan;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch};

struct UnionSpec {
    first: Child,
    recursive: Child,
    param: u32,
    /// For UNION without ALL: all columns.
    keys: Vec<(usize, Equality)>,
}

struct UnionNode {
    spec: Arc<UnionSpec>,
    first: Box<dyn Node>,
    recursive: Option<Box<dyn Node>>,
    seen: RowTable,
    /// Rows of the round that is running.
    collected: Vec<Batch>,
    in_first: bool,
    done: bool,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    r: &ir::RecursiveUnion,
) -> Result<Arc<dyn NodeSpec>> {
    let first = c.outer(plan)?;
    let recursive = c.inner(plan)?;
    let keys = keys(c, &r.keys)?;
    Ok(Arc::new(UnionSpec { first, recursive, param: r.param, keys }))
}

impl NodeSpec for UnionSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let first = self.first.start(run)?;
        let seen = RowTable::new(run);
        Ok(Box::new(UnionNode {
            spec: self,
            first,
            recursive: None,
            seen,
            collected: Vec::new(),
            in_first: true,
            done: false,
        }))
    }
}

impl UnionNode {
    /// Leaves the rows selected that have not been given before.
    fn drop_seen(&mut self, run: &mut Run, batch: &mut Batch) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        if spec.keys.is_empty() {
            return Ok(());
        }
        let mut kept = Vec::new();
        for n in 0..batch.rows() {
            let i = batch.position(n);
            let mut key = Vec::with_capacity(spec.keys.len());
            let mut hash = 0u64;
            for (column, eq) in &spec.keys {
                let value = batch.get(*column, i);
                let x = match value.is_null() {
                    true => crate::expr::compare::NULL_HASH,
                    false => eq.hash_left.hash(run, &value)?,
                };
                hash = crate::expr::compare::mix(hash.rotate_left(5) ^ x);
                key.push(value);
            }
            let equalities: Vec<&Equality> = spec.keys.iter().map(|(_, e)| e).collect();
            if self.seen.insert(run, &equalities, hash, key)?.1 {
                kept.push(i as u16);
            }
        }
        batch.sel = Some(kept);
        Ok(())
    }

    /// The next round's rows become the work table; false if there are none.
    fn next_round(&mut self, run: &mut Run) -> Result<bool> {
        let rows = std::mem::take(&mut self.collected);
        if rows.is_empty() {
            return Ok(false);
        }
        let param = self.spec.param;
        run.work_tables.retain(|(p, _)| *p != param);
        run.work_tables.push((param, Arc::new(rows)));
        match &mut self.recursive {
            None => self.recursive = Some(self.spec.recursive.start(run)?),
            Some(node) => {
                let changed = run.changed_params(&[param]);
                node.rescan(run, &changed)?;
            }
        }
        Ok(true)
    }
}

impl Node for UnionNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        while !self.done {
            run.check_interrupts()?;
            let batch = match (&mut self.recursive, self.in_first) {
                (_, true) => self.first.next(run, demand.min(BATCH_ROWS))?,
                (Some(node), _) => node.next(run, demand.min(BATCH_ROWS))?,
                (None, false) => None,
            };
            match batch {
                Some(mut batch) => {
                    self.drop_seen(run, &mut batch)?;
                    if batch.rows() > 0 {
                        self.collected.push(batch.compact());
                        return Ok(Some(batch));
                    }
                }
                None => {
                    self.in_first = false;
                    self.done = !self.next_round(run)?;
                }
            }
        }
        Ok(None)
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.seen = RowTable::new(run);
        self.collected.clear();
        self.in_first = true;
        self.done = false;
        if let Some(node) = &mut self.recursive {
            // The recursive term starts over with each round, but must learn what has changed.
            let others: Vec<u32> =
                changed.iter().copied().filter(|p| *p != self.spec.param).collect();
            if self.spec.recursive.depends_on(&others) {
                node.rescan(run, &others)?;
            }
        }
        self.first.rescan(run, changed)
    }
}

struct WorkSpec {
    param: u32,
    output: Output,
}

struct WorkNode {
    spec: Arc<WorkSpec>,
    at: usize,
    rest: Option<Batch>,
    pump: Pump,
}

pub(crate) fn compile_scan(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::WorkTableScan,
) -> Result<Arc<dyn NodeSpec>> {
    let types = match &c.stmt.rtable[scan.scanrel as usize - 1].kind {
        ir::RteKind::Cte { types, .. } => types.clone(),
        _ => plan.target.iter().map(|t| t.expr.ty()).collect(),
    };
    let map = VarMap::default()
        .and(scan.scanrel, 0, types.len())
        .with_types(named(types, &c.stmt.rtable[scan.scanrel as usize - 1]));
    let output = c.output(plan, &map)?;
    Ok(Arc::new(WorkSpec { param: scan.param, output }))
}

impl NodeSpec for WorkSpec {
    fn start(self: Arc<Self>, _run: &mut Run) -> Result<Box<dyn Node>> {
        Ok(Box::new(WorkNode { spec: self, at: 0, rest: None, pump: Pump::default() }))
    }
}

impl Node for WorkNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let (spec, at, rest) = (&self.spec, &mut self.at, &mut self.rest);
        self.pump.pull(run, demand, &spec.output, |run| {
            let batch = match rest.take() {
                Some(b) => Some(b),
                None => {
                    let table = run.work_tables.iter().find(|(p, _)| *p == spec.param);
                    *at += 1;
                    table.and_then(|(_, rows)| rows.get(*at - 1).cloned())
                }
            };
            let Some(batch) = batch else { return Ok(None) };
            let (front, back) = split(batch, demand);
            *rest = back;
            Ok(Some(front))
        })
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.at = 0;
        self.rest = None;
        self.pump.clear();
        Ok(())
    }
}
