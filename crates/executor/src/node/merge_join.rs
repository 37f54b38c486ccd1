//! MergeJoin: both children come sorted by the merged columns.
//!
//! The inner rows of one key are collected and every outer row of that key is joined with them. A
//! row with NULL in a merged column matches nothing and is passed by where it stands.

use super::join::{JoinSpec, Pairs};
use super::{Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::expr::{Ordering_, Prog, RowInput, VarMap};
use crate::output::Pump;
use crate::run::Run;
use base::{Error, Result};
use ir::{Expr, JoinKind, Plan};
use std::cmp::Ordering;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Column};

struct MergeJoinSpec {
    join: JoinSpec,
    outer_keys: Vec<Prog>,
    inner_keys: Vec<Prog>,
    /// Order of outer values against inner ones, and of inner ones among themselves.
    orders: Vec<(Ordering_, Ordering_)>,
}

/// One input with its key columns.
struct Side {
    node: Box<dyn Node>,
    batch: Batch,
    keys: Vec<Arc<Column>>,
    n: usize,
    started: bool,
    eof: bool,
}

/// Inner rows of one key.
#[derive(Default)]
struct Group {
    batches: Vec<Batch>,
    /// Key columns of the first row, and its position in them.
    keys: Vec<Arc<Column>>,
    at: usize,
    /// Batch and position of each row, and whether it has matched.
    rows: Vec<(u32, u16, bool)>,
    /// Rows that have been given as unmatched, when the group is left.
    given: usize,
}

struct MergeJoinNode {
    spec: Arc<MergeJoinSpec>,
    outer: Side,
    inner: Side,
    group: Option<Group>,
    /// The next row of the group to join the current outer row with.
    next: usize,
    matched: bool,
    pairs: Pairs,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    m: &ir::MergeJoin,
) -> Result<Arc<dyn NodeSpec>> {
    let join = JoinSpec::compile(c, plan, &m.join)?;
    let mut spec =
        MergeJoinSpec { join, outer_keys: Vec::new(), inner_keys: Vec::new(), orders: Vec::new() };
    let outer = VarMap::outer(spec.join.outer.phys.len());
    let inner = VarMap::default().and(ir::INNER_VAR, 0, spec.join.inner.phys.len());
    for key in &m.keys {
        let Expr::Op(op) = &key.clause else {
            return Err(Error::internal("a merge clause that is no operator"));
        };
        spec.outer_keys.push(c.ec.expr(&op.args[0], &outer)?);
        spec.inner_keys.push(c.ec.expr(&op.args[1], &inner)?);
        let desc = c.ec.catalog.operator(op.op)?;
        let mut order = |types| -> Result<Ordering_> {
            let mut o = Ordering_::of_family(&mut c.ec, key.family, types, key.collation)?;
            o.descending = key.descending;
            o.nulls_first = key.nulls_first;
            Ok(o)
        };
        let across = order([desc.left, desc.right])?;
        spec.orders.push((across, order([desc.right, desc.right])?));
    }
    Ok(Arc::new(spec))
}

impl Side {
    fn new(node: Box<dyn Node>) -> Side {
        Side { node, batch: Batch::default(), keys: Vec::new(), n: 0, started: false, eof: false }
    }

    /// Position of the current row in its columns; None at the end.
    fn position(&self) -> Option<usize> {
        (self.started && !self.eof).then(|| self.batch.position(self.n))
    }

    fn advance(&mut self, run: &mut Run, keys: &[Prog], demand: usize) -> Result<()> {
        if self.eof {
            return Ok(());
        }
        if self.started && self.n + 1 < self.batch.rows() {
            self.n += 1;
            return Ok(());
        }
        self.started = true;
        self.n = 0;
        match self.node.next(run, demand.min(BATCH_ROWS))? {
            None => self.eof = true,
            Some(batch) => {
                self.keys.clear();
                for prog in keys {
                    let v = prog.eval_batch(run, &batch, batch.sel.as_deref())?;
                    self.keys.push(v.into_column(prog.phys, batch.len));
                }
                self.batch = batch;
            }
        }
        Ok(())
    }

    fn has_null(&self, i: usize) -> bool {
        self.keys.iter().any(|k| k.is_null(i))
    }

    fn reset(&mut self) {
        self.started = false;
        self.eof = false;
        self.n = 0;
        self.batch = Batch::default();
    }
}

impl NodeSpec for MergeJoinSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let outer = Side::new(self.join.outer.start(run)?);
        let inner = Side::new(self.join.inner.start(run)?);
        let pairs = Pairs::new(&self.join.outer.phys, &self.join.inner.phys);
        Ok(Box::new(MergeJoinNode {
            spec: self,
            outer,
            inner,
            group: None,
            next: 0,
            matched: false,
            pairs,
            pump: Pump::default(),
        }))
    }
}

impl MergeJoinSpec {
    fn compare(
        &self,
        run: &mut Run,
        outer: &[Arc<Column>],
        i: usize,
        inner: &[Arc<Column>],
        j: usize,
    ) -> Result<Ordering> {
        for (k, (order, _)) in self.orders.iter().enumerate() {
            let o = order.compare_at(run, &outer[k], i, &inner[k], j)?;
            if o.is_ne() {
                return Ok(o);
            }
        }
        Ok(Ordering::Equal)
    }
}

impl MergeJoinNode {
    /// Collects the inner rows that have the current inner row's key.
    fn load_group(&mut self, run: &mut Run, demand: usize) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        let Some(first) = self.inner.position() else { return Ok(()) };
        let mut group = Group { keys: self.inner.keys.clone(), at: first, ..Group::default() };
        group.batches.push(self.inner.batch.clone());
        let mut i = first;
        loop {
            group.rows.push((group.batches.len() as u32 - 1, i as u16, false));
            let more = self.inner.n + 1 < self.inner.batch.rows();
            self.inner.advance(run, &spec.inner_keys, demand)?;
            let Some(next) = self.inner.position() else { break };
            if !more {
                group.batches.push(self.inner.batch.clone());
            }
            i = next;
            let mut same = !self.inner.has_null(i);
            for (k, (_, order)) in spec.orders.iter().enumerate() {
                let (a, b) = (&group.keys[k], &self.inner.keys[k]);
                same = same && order.compare_at(run, a, group.at, b, i)?.is_eq();
            }
            if !same {
                break;
            }
        }
        self.group = Some(group);
        self.next = 0;
        Ok(())
    }

    /// Leaves the group, giving its unmatched rows if they are wanted.
    fn drop_group(&mut self, demand: usize) {
        let Some(group) = &mut self.group else { return };
        if self.spec.join.keeps_inner() {
            while group.given < group.rows.len() {
                if self.pairs.rows() >= demand {
                    // The next call goes on from here.
                    return;
                }
                let (b, i, matched) = group.rows[group.given];
                group.given += 1;
                if !matched {
                    self.pairs.push(None, Some((&group.batches[b as usize], i as usize)));
                }
            }
        }
        self.group = None;
    }

    fn next_outer(&mut self, run: &mut Run, demand: usize) -> Result<()> {
        if let (Some(i), false, true) =
            (self.outer.position(), self.matched, self.spec.join.keeps_outer())
        {
            self.pairs.push(Some((&self.outer.batch, i)), None);
        }
        self.matched = false;
        self.next = 0;
        let spec = Arc::clone(&self.spec);
        self.outer.advance(run, &spec.outer_keys, demand)
    }

    /// Joins the current outer row with the group.
    fn join_group(&mut self, run: &mut Run, i: usize, demand: usize) -> Result<()> {
        let join = &self.spec.join;
        let Some(group) = &mut self.group else { return Ok(()) };
        while self.next < group.rows.len() {
            if self.pairs.rows() >= demand {
                return Ok(());
            }
            let (b, j, _) = group.rows[self.next];
            let inner = &group.batches[b as usize];
            let input = RowInput::Pair(&self.outer.batch, i, inner, j as usize);
            let hit = join.qual.is_empty() || join.qual.test(run, input)?;
            let mark = &mut group.rows[self.next].2;
            self.next += 1;
            if !hit {
                continue;
            }
            let seen = std::mem::replace(mark, true);
            self.matched = true;
            let wanted = match join.kind {
                JoinKind::RightSemi => !seen,
                _ => join.gives_matches(),
            };
            if wanted {
                self.pairs.push(Some((&self.outer.batch, i)), Some((inner, j as usize)));
            }
            if join.single_match {
                self.next = group.rows.len();
            }
        }
        self.next_outer(run, demand)
    }

    /// Collects joined rows until there are `demand` or the inputs end.
    fn collect(&mut self, run: &mut Run, demand: usize) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        if !self.outer.started {
            self.outer.advance(run, &spec.outer_keys, demand)?;
            self.inner.advance(run, &spec.inner_keys, demand)?;
        }
        while self.pairs.rows() < demand {
            let outer = self.outer.position();
            if let (Some(i), Some(group)) = (outer, &self.group) {
                let order = match self.outer.has_null(i) {
                    true => Ordering::Less,
                    false => spec.compare(run, &self.outer.keys, i, &group.keys, group.at)?,
                };
                match order {
                    Ordering::Equal => self.join_group(run, i, demand)?,
                    Ordering::Less => self.next_outer(run, demand)?,
                    Ordering::Greater => self.drop_group(demand),
                }
                continue;
            }
            if self.group.is_some() {
                self.drop_group(demand);
                continue;
            }
            match (outer, self.inner.position()) {
                (None, None) => return Ok(()),
                (Some(_), None) if !spec.join.keeps_outer() => return Ok(()),
                (None, Some(_)) if !spec.join.keeps_inner() => return Ok(()),
                (Some(_), None) => self.next_outer(run, demand)?,
                (None, Some(j)) => self.pass_inner(run, j, demand)?,
                (Some(i), Some(_)) if self.outer.has_null(i) => self.next_outer(run, demand)?,
                (Some(_), Some(j)) if self.inner.has_null(j) => self.pass_inner(run, j, demand)?,
                (Some(i), Some(j)) => {
                    match spec.compare(run, &self.outer.keys, i, &self.inner.keys, j)? {
                        Ordering::Less => self.next_outer(run, demand)?,
                        Ordering::Greater => self.pass_inner(run, j, demand)?,
                        Ordering::Equal => self.load_group(run, demand)?,
                    }
                }
            }
            run.check_interrupts()?;
        }
        Ok(())
    }

    /// Passes an inner row that matches nothing.
    fn pass_inner(&mut self, run: &mut Run, j: usize, demand: usize) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        if spec.join.keeps_inner() {
            self.pairs.push(None, Some((&self.inner.batch, j)));
        }
        self.inner.advance(run, &spec.inner_keys, demand)
    }
}

impl Node for MergeJoinNode {
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
        self.group = None;
        self.matched = false;
        self.pairs.take();
        self.pump.clear();
        self.outer.reset();
        self.inner.reset();
        self.outer.node.rescan(run, changed)?;
        self.inner.node.rescan(run, changed)
    }
}
