//! SetOp: INTERSECT and EXCEPT of the outer and the inner child.

use super::{Child, Node, NodeSpec, drain};
use crate::batch::{Collector, split};
use crate::compile::PlanCompiler;
use crate::expr::compare::HashKind;
use crate::expr::{Equality, Ordering_};
use crate::hash::RowTable;
use crate::run::Run;
use base::{Error, Result};
use ir::{Plan, SetOpKind};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Datum};

struct SetOpSpec {
    outer: Child,
    inner: Child,
    kind: SetOpKind,
    all: bool,
    columns: Vec<usize>,
    equalities: Vec<Equality>,
    /// For rows that cannot be hashed: both inputs come sorted like this.
    orders: Option<Vec<Ordering_>>,
}

/// A distinct row with how often it came from each side.
struct Group {
    row: Vec<Datum>,
    outer: u64,
    inner: u64,
}

struct SetOpNode {
    spec: Arc<SetOpSpec>,
    outer: Box<dyn Node>,
    inner: Box<dyn Node>,
    groups: Option<Vec<Group>>,
    at: usize,
    /// Copies of the current group's row still to give.
    copies: Option<u64>,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    s: &ir::SetOp,
) -> Result<Arc<dyn NodeSpec>> {
    let outer = c.outer(plan)?;
    let inner = c.inner(plan)?;
    let mut equalities = Vec::new();
    for (key, op) in s.keys.iter().zip(&s.eq_ops) {
        equalities.push(Equality::of_operator(&mut c.ec, *op, key.collation)?);
    }
    let hashable = equalities.iter().all(|e| !matches!(e.hash_left, HashKind::None));
    let orders = match hashable {
        true => None,
        false => {
            Some(s.keys.iter().map(|k| Ordering_::of_key(&mut c.ec, k)).collect::<Result<_>>()?)
        }
    };
    let columns = s.keys.iter().map(|k| k.column as usize - 1).collect();
    Ok(Arc::new(SetOpSpec { outer, inner, kind: s.kind, all: s.all, columns, equalities, orders }))
}

impl NodeSpec for SetOpSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let outer = self.outer.start(run)?;
        let inner = self.inner.start(run)?;
        Ok(Box::new(SetOpNode { spec: self, outer, inner, groups: None, at: 0, copies: None }))
    }
}

impl SetOpSpec {
    fn key(&self, batch: &Batch, i: usize) -> Vec<Datum> {
        self.columns.iter().map(|c| batch.get(*c, i)).collect()
    }

    fn copies(&self, g: &Group) -> u64 {
        match (self.kind, self.all) {
            (SetOpKind::Intersect, true) => g.outer.min(g.inner),
            (SetOpKind::Intersect, false) => (g.outer > 0 && g.inner > 0) as u64,
            (SetOpKind::Except, true) => g.outer.saturating_sub(g.inner),
            (SetOpKind::Except, false) => (g.outer > 0 && g.inner == 0) as u64,
            (SetOpKind::Union, _) => 1,
        }
    }

    fn hashed(
        &self,
        run: &mut Run,
        outer: &mut dyn Node,
        inner: &mut dyn Node,
    ) -> Result<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut table = RowTable::new(run);
        drain(outer, run, |run, batch| {
            for n in 0..batch.rows() {
                let i = batch.position(n);
                let key = self.key(&batch, i);
                let hash = table.hash(run, &self.equalities, &key, true)?;
                let (g, new) = table.insert(run, &self.equalities, hash, key)?;
                if new {
                    groups.push(Group { row: batch.row(i), outer: 0, inner: 0 });
                }
                groups[g].outer += 1;
            }
            Ok(())
        })?;
        if groups.is_empty() {
            return Ok(groups);
        }
        drain(inner, run, |run, batch| {
            for n in 0..batch.rows() {
                let key = self.key(&batch, batch.position(n));
                let hash = table.hash(run, &self.equalities, &key, true)?;
                if let Some(g) = table.find(run, &self.equalities, hash, &key)? {
                    groups[g].inner += 1;
                }
            }
            Ok(())
        })?;
        Ok(groups)
    }

    fn sorted(
        &self,
        run: &mut Run,
        orders: &[Ordering_],
        outer: &mut dyn Node,
        inner: &mut dyn Node,
    ) -> Result<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        let compare = |run: &mut Run, g: &Group, key: &[Datum]| {
            for ((column, order), value) in self.columns.iter().zip(orders).zip(key) {
                let o = order.compare_any(run, &g.row[*column], value)?;
                if o.is_ne() {
                    return Ok(o);
                }
            }
            Ok::<_, Error>(std::cmp::Ordering::Equal)
        };
        drain(outer, run, |run, batch| {
            for n in 0..batch.rows() {
                let i = batch.position(n);
                let key = self.key(&batch, i);
                match groups.last_mut() {
                    Some(g) if compare(run, g, &key)?.is_eq() => g.outer += 1,
                    _ => groups.push(Group { row: batch.row(i), outer: 1, inner: 0 }),
                }
            }
            Ok(())
        })?;
        let mut at = 0;
        drain(inner, run, |run, batch| {
            for n in 0..batch.rows() {
                let key = self.key(&batch, batch.position(n));
                while at < groups.len() {
                    match compare(run, &groups[at], &key)? {
                        std::cmp::Ordering::Less => at += 1,
                        std::cmp::Ordering::Equal => {
                            groups[at].inner += 1;
                            break;
                        }
                        std::cmp::Ordering::Greater => break,
                    }
                }
            }
            Ok(())
        })?;
        Ok(groups)
    }
}

impl Node for SetOpNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = Arc::clone(&self.spec);
        let groups = match &self.groups {
            Some(g) => g,
            None => {
                let (outer, inner) = (&mut *self.outer, &mut *self.inner);
                let groups = match &spec.orders {
                    None => spec.hashed(run, outer, inner)?,
                    Some(orders) => spec.sorted(run, orders, outer, inner)?,
                };
                self.groups.insert(groups)
            }
        };
        let mut rows = Collector::new(&spec.outer.phys);
        while rows.rows() < demand.min(BATCH_ROWS) && self.at < groups.len() {
            let group = &groups[self.at];
            let left = self.copies.get_or_insert_with(|| spec.copies(group));
            if *left == 0 {
                self.copies = None;
                self.at += 1;
                continue;
            }
            *left -= 1;
            rows.push_values(&group.row);
        }
        Ok(rows.take().map(|b| split(b, demand).0))
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.at = 0;
        self.copies = None;
        if self.spec.outer.depends_on(changed) || self.spec.inner.depends_on(changed) {
            self.groups = None;
            self.outer.rescan(run, changed)?;
            self.inner.rescan(run, changed)?;
        }
        Ok(())
    }
}
