//! NestLoop: the inner child runs once for each outer row.

use super::join::{JoinSpec, Pairs};
use super::{Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::expr::batch::repeat;
use crate::expr::{Prog, RowInput, VarMap};
use crate::output::Pump;
use crate::run::Run;
use base::Result;
use ir::{JoinKind, Plan};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Column, ColumnData};

struct NestLoopSpec {
    join: JoinSpec,
    params: Vec<(u32, Prog)>,
}

/// From so many inner rows on the join's conditions are evaluated by the batch.
const VECTOR_MIN: usize = 8;

struct NestLoopNode {
    spec: Arc<NestLoopSpec>,
    outer: Box<dyn Node>,
    inner: Box<dyn Node>,
    /// The outer rows and the current one among those that count.
    current: Option<(Batch, usize)>,
    /// The inner child is positioned for the current outer row.
    open: bool,
    matched: bool,
    /// Inner rows that satisfy the join, from the given one on.
    hits: Option<(Batch, usize)>,
    fresh: bool,
    pairs: Pairs,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    n: &ir::NestLoop,
) -> Result<Arc<dyn NodeSpec>> {
    let join = JoinSpec::compile(c, plan, &n.join)?;
    let map = VarMap::outer(join.outer.phys.len());
    let mut params = Vec::new();
    for p in &n.params {
        params.push((p.param, c.ec.expr(&p.value, &map)?));
    }
    Ok(Arc::new(NestLoopSpec { join, params }))
}

impl NodeSpec for NestLoopSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let outer = self.join.outer.start(run)?;
        let inner = self.join.inner.start(run)?;
        let pairs = Pairs::new(&self.join.outer.phys, &self.join.inner.phys);
        Ok(Box::new(NestLoopNode {
            spec: self,
            outer,
            inner,
            current: None,
            open: false,
            matched: false,
            hits: None,
            fresh: true,
            pairs,
            pump: Pump::default(),
        }))
    }
}

impl NestLoopNode {
    /// Makes the next outer row current and starts the inner child for it; false at the end.
    fn open_row(&mut self, run: &mut Run, demand: usize) -> Result<bool> {
        let spec = Arc::clone(&self.spec);
        match &mut self.current {
            Some((batch, n)) if *n + 1 < batch.rows() => *n += 1,
            _ => match self.outer.next(run, demand.min(BATCH_ROWS))? {
                Some(batch) => self.current = Some((batch, 0)),
                None => {
                    self.current = None;
                    return Ok(false);
                }
            },
        }
        let Some((batch, n)) = &self.current else { return Ok(false) };
        let input = RowInput::Batch(batch, batch.position(*n));
        let mut changed = Vec::with_capacity(spec.params.len());
        for (param, prog) in &spec.params {
            let value = prog.eval(run, input)?;
            run.set_exec_param(*param, value);
            changed.push(*param);
        }
        if !self.fresh {
            let changed = run.changed_params(&changed);
            self.inner.rescan(run, &changed)?;
        }
        self.fresh = false;
        self.open = true;
        self.matched = false;
        run.check_interrupts()?;
        Ok(true)
    }

    /// The next inner rows that satisfy the join's conditions; None at the inner end.
    fn next_hits(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let join = &self.spec.join;
        let Some((outer, n)) = &self.current else { return Ok(None) };
        let i = outer.position(*n);
        let want = match (join.single_match, join.qual.is_empty()) {
            (true, true) => 1,
            _ if join.qual.fallible || join.qual.volatile => demand,
            (_, true) => demand,
            _ => BATCH_ROWS,
        };
        while let Some(mut batch) = self.inner.next(run, want.min(BATCH_ROWS))? {
            if join.qual.is_empty() {
                return Ok(Some(batch));
            }
            if batch.rows() >= VECTOR_MIN && !join.qual.volatile {
                let columns = combined(join, outer, i, &batch);
                let mut both = Batch { len: batch.len, columns, sel: batch.sel.take() };
                let before = both.rows();
                join.qual.filter(run, &mut both)?;
                join.output.count_unjoined(run, before - both.rows());
                batch.sel = both.sel;
            } else {
                let mut kept = Vec::new();
                for m in 0..batch.rows() {
                    let j = batch.position(m);
                    if join.qual.test(run, RowInput::Pair(outer, i, &batch, j))? {
                        kept.push(j as u16);
                        if join.single_match {
                            break;
                        }
                    } else {
                        join.output.count_unjoined(run, 1);
                    }
                }
                batch.sel = Some(kept);
            }
            if batch.rows() > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Collects joined rows, at most `demand`; false at the end.
    fn collect(&mut self, run: &mut Run, demand: usize) -> Result<()> {
        while self.pairs.rows() < demand.min(BATCH_ROWS) {
            if !self.open && !self.open_row(run, demand)? {
                return Ok(());
            }
            if self.hits.is_none() {
                let want = demand - self.pairs.rows();
                self.hits = self.next_hits(run, want)?.map(|b| (b, 0));
            }
            let kind = self.spec.join.kind;
            let Some((outer, n)) = &self.current else { return Ok(()) };
            let row = (outer, outer.position(*n));
            let Some((hits, at)) = &mut self.hits else {
                if !self.matched && self.spec.join.keeps_outer() {
                    self.pairs.push(Some(row), None);
                }
                self.open = false;
                continue;
            };
            self.matched = true;
            if kind == JoinKind::Anti {
                self.hits = None;
                self.open = false;
                continue;
            }
            while *at < hits.rows() && self.pairs.rows() < demand.min(BATCH_ROWS) {
                self.pairs.push(Some(row), Some((hits, hits.position(*at))));
                *at += 1;
                if self.spec.join.single_match {
                    *at = hits.rows();
                    self.open = false;
                }
            }
            if *at >= hits.rows() {
                self.hits = None;
            }
        }
        Ok(())
    }
}

/// The inner rows with the outer row's columns before them; only those that the join's conditions
/// read are real.
fn combined(join: &JoinSpec, outer: &Batch, i: usize, inner: &Batch) -> Vec<Arc<Column>> {
    let unread = Arc::new(Column::new(ColumnData::Bool(Vec::new())));
    let mut columns = vec![unread; outer.columns.len()];
    for c in &join.qual_outer {
        let value = outer.get(*c, i);
        columns[*c] = Arc::new(repeat(&value, join.outer.phys[*c], inner.len));
    }
    columns.extend(inner.columns.iter().cloned());
    columns
}

impl Node for NestLoopNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = Arc::clone(&self.spec);
        let mut pump = std::mem::take(&mut self.pump);
        let result = pump.pull(run, demand, &spec.join.output, |run| {
            self.collect(run, demand)?;
            Ok(self.pairs.take())
        });
        self.pump = pump;
        result
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.current = None;
        self.open = false;
        self.hits = None;
        self.pairs.take();
        self.pump.clear();
        // The inner child starts over with each outer row, but must learn what has changed.
        if !self.fresh && self.spec.join.inner.depends_on(changed) {
            self.inner.rescan(run, changed)?;
        }
        self.outer.rescan(run, changed)
    }
}
