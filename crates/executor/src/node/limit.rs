//! Limit: OFFSET, LIMIT and WITH TIES.

use super::{Child, Node, NodeSpec};
use crate::batch::split;
use crate::compile::PlanCompiler;
use crate::expr::{Equality, Prog, RowInput, VarMap};
use crate::run::Run;
use base::{Result, bail};
use ir::Plan;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Datum};

struct LimitSpec {
    child: Child,
    offset: Option<Prog>,
    count: Option<Prog>,
    /// With ties: the columns that tie.
    ties: Option<Vec<(usize, Equality)>>,
}

struct LimitNode {
    spec: Arc<LimitSpec>,
    child: Box<dyn Node>,
    /// Rows still to skip and still to give; None until the expressions have been evaluated.
    window: Option<(u64, Option<u64>)>,
    /// The last row within the count, when ties follow.
    last: Option<Vec<Datum>>,
    in_ties: bool,
    done: bool,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    limit: &ir::Limit,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let none = VarMap::default();
    let offset = limit.offset.as_ref().map(|e| c.ec.expr(e, &none)).transpose()?;
    let count = limit.count.as_ref().map(|e| c.ec.expr(e, &none)).transpose()?;
    let ties = match limit.with_ties {
        true => Some(keys(c, &limit.ties)?),
        false => None,
    };
    Ok(Arc::new(LimitSpec { child, offset, count, ties }))
}

/// Positions and equalities of group keys.
pub(crate) fn keys(c: &mut PlanCompiler, keys: &[ir::GroupKey]) -> Result<Vec<(usize, Equality)>> {
    keys.iter()
        .map(|k| {
            let eq = Equality::of_operator(&mut c.ec, k.eq_op, k.collation)?;
            Ok((k.column as usize - 1, eq))
        })
        .collect()
}

impl NodeSpec for LimitSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        Ok(Box::new(LimitNode {
            spec: self,
            child,
            window: None,
            last: None,
            in_ties: false,
            done: false,
        }))
    }
}

impl LimitSpec {
    fn window(&self, run: &mut Run) -> Result<(u64, Option<u64>)> {
        let mut offset = 0;
        if let Some(prog) = &self.offset {
            let n = prog.eval(run, RowInput::None)?.to_i64();
            if n < 0 {
                bail!(INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE, "OFFSET must not be negative");
            }
            offset = n as u64;
        }
        let mut count = None;
        if let Some(prog) = &self.count {
            let value = prog.eval(run, RowInput::None)?;
            if !value.is_null() {
                let n = value.to_i64();
                if n < 0 {
                    bail!(INVALID_ROW_COUNT_IN_LIMIT_CLAUSE, "LIMIT must not be negative");
                }
                count = Some(n as u64);
            } else if self.ties.is_some() {
                bail!(
                    INVALID_ROW_COUNT_IN_LIMIT_CLAUSE,
                    "row count cannot be null in FETCH FIRST ... WITH TIES clause"
                );
            }
        }
        Ok((offset, count))
    }
}

impl LimitNode {
    /// Rows that tie with the last one.
    fn ties(&mut self, run: &mut Run, batch: Batch) -> Result<Option<Batch>> {
        let (Some(keys), Some(last)) = (&self.spec.ties, &self.last) else { return Ok(None) };
        let mut n = 0;
        'rows: while n < batch.rows() {
            let i = batch.position(n);
            for (column, eq) in keys {
                if !eq.same(run, &last[*column], &batch.get(*column, i))? {
                    break 'rows;
                }
            }
            n += 1;
        }
        if n < batch.rows() {
            self.done = true;
        }
        Ok((n > 0).then(|| split(batch, n).0))
    }
}

impl Node for LimitNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        let spec = Arc::clone(&self.spec);
        let (mut skip, mut left) = match self.window {
            Some(w) => w,
            None => {
                let w = spec.window(run)?;
                if let (Some(count), None) = (w.1, &spec.ties) {
                    self.child.set_bound(w.0.saturating_add(count));
                }
                w
            }
        };
        if left == Some(0) && !self.in_ties {
            self.done = true;
            return Ok(None);
        }
        loop {
            let want = match left {
                _ if self.in_ties => demand as u64,
                Some(n) => n.min(demand as u64),
                None => demand as u64,
            };
            // What is skipped is asked for with what follows it, but never more than the limit.
            let ask = (want.saturating_add(skip)).min(BATCH_ROWS as u64) as usize;
            let Some(mut batch) = self.child.next(run, ask)? else {
                self.done = true;
                return Ok(None);
            };
            if skip > 0 {
                let dropped = skip.min(batch.rows() as u64);
                skip -= dropped;
                self.window = Some((skip, left));
                match split(batch, dropped as usize).1 {
                    Some(rest) => batch = rest,
                    None => continue,
                }
            }
            if self.in_ties {
                return self.ties(run, batch);
            }
            if let Some(n) = &mut left {
                *n -= (batch.rows() as u64).min(*n);
                if *n == 0 {
                    if spec.ties.is_some() {
                        self.last = Some(batch.row(batch.position(batch.rows() - 1)));
                        self.in_ties = true;
                    } else {
                        self.done = true;
                    }
                }
            }
            self.window = Some((skip, left));
            return Ok(Some(batch));
        }
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.window = None;
        self.last = None;
        self.in_ties = false;
        self.done = false;
        self.child.rescan(run, changed)
    }
}
