//! Agg: aggregates over all rows, over sorted groups, or over groups in a hash table.
//!
//! The node's columns and conditions read an input that is made for each group: the columns of the
//! group's first row that they need (NULL where a grouping set lacks them), the results of the
//! aggregates, and the values of GROUPING().

mod hashed;
mod sorted;

use super::limit::keys;
use super::{Child, Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::expr::agg::{AggCall, AggRun};
use crate::expr::compile::{SpaceColumns, VarSpace};
use crate::expr::{Equality, VarMap};
use crate::output::Output;
use crate::run::Run;
use base::{Error, Result};
use ir::{AggStrategy, Expr, GroupKey, GroupingFunc, Plan};
use std::sync::Arc;
use types::{Batch, Column, ColumnBuilder, ColumnData, Datum, PhysType};

pub(crate) struct AggSpec {
    id: u32,
    child: Child,
    strategy: AggStrategy,
    /// Group columns and how they are equal.
    keys: Vec<(usize, Equality)>,
    calls: Vec<AggCall>,
    call_phys: Vec<PhysType>,
    /// Columns of the child that the output needs.
    rep: Vec<usize>,
    rep_phys: Vec<PhysType>,
    /// For grouping sets: which of `keys` each has; empty if there are no grouping sets.
    sets: Vec<Vec<usize>>,
    /// For each GROUPING(): the child's columns it asks for.
    groupings: Vec<Vec<usize>>,
    /// Exec params that the node's own expressions read.
    own_params: Vec<u32>,
    output: Output,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    agg: &ir::Agg,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let (mut aggs, mut groupings, mut rep) = (Vec::new(), Vec::new(), Vec::new());
    for e in plan.target.iter().map(|t| &t.expr).chain(&plan.qual) {
        collect(e, &mut aggs, &mut groupings, &mut rep);
    }
    rep.sort_unstable();
    rep.dedup();
    let (all, sets) = grouping_sets(agg);
    let map = VarMap::outer(child.phys.len());
    let (mut calls, mut call_phys) = (Vec::new(), Vec::new());
    let mut slots = Vec::new();
    for e in aggs {
        let Expr::Agg(a) = &e else { continue };
        let call = AggCall::compile(&mut c.ec, a, &map)?;
        call_phys.push(c.ec.phys(call.result_type())?);
        slots.push((e.clone(), rep.len() + calls.len()));
        calls.push(call);
    }
    let mut grouping_columns = Vec::new();
    for e in groupings {
        let Expr::Grouping(g) = &e else { continue };
        grouping_columns.push(grouping_cols(plan, g)?);
        slots.push((e.clone(), rep.len() + calls.len() + grouping_columns.len() - 1));
    }
    let places = rep.iter().enumerate().map(|(i, c)| (*c as i16 + 1, i)).collect();
    let mut input = VarMap::default();
    input.spaces.push(VarSpace {
        varno: ir::OUTER_VAR,
        returning: ir::ReturningKind::Default,
        columns: SpaceColumns::Map(places),
        types: None,
    });
    let saved = std::mem::replace(&mut c.ec.slots, slots);
    let output = c.output(plan, &input);
    c.ec.slots = saved;
    let rep_phys = rep.iter().map(|i| child.phys[*i]).collect();
    Ok(Arc::new(AggSpec {
        id: plan.id,
        child,
        strategy: agg.strategy,
        keys: keys(c, &all)?,
        calls,
        call_phys,
        rep,
        rep_phys,
        sets,
        groupings: grouping_columns,
        own_params: own_params(plan),
        output: output?,
    }))
}

/// Aggregates, GROUPING()s and the child's columns outside of them.
fn collect(e: &Expr, aggs: &mut Vec<Expr>, groupings: &mut Vec<Expr>, rep: &mut Vec<usize>) {
    match e {
        Expr::Agg(_) => {
            if !aggs.contains(e) {
                aggs.push(e.clone());
            }
        }
        Expr::Grouping(_) => {
            if !groupings.contains(e) {
                groupings.push(e.clone());
            }
        }
        Expr::Var(v) if v.varno == ir::OUTER_VAR && v.attno > 0 => rep.push(v.attno as usize - 1),
        _ => ir::walk::children(e, &mut |c| collect(c, aggs, groupings, rep)),
    }
}

/// All group columns, and which of them each grouping set has.
fn grouping_sets(agg: &ir::Agg) -> (Vec<GroupKey>, Vec<Vec<usize>>) {
    if agg.set_lengths.is_empty() && agg.chain.is_empty() {
        return (agg.keys.clone(), Vec::new());
    }
    let mut all: Vec<GroupKey> = Vec::new();
    let mut sets = Vec::new();
    let mut phase = |keys: &[GroupKey], lengths: &[u32]| {
        let mut places = Vec::new();
        for k in keys {
            let at = all.iter().position(|a| a.column == k.column).unwrap_or_else(|| {
                all.push(k.clone());
                all.len() - 1
            });
            places.push(at);
        }
        if lengths.is_empty() {
            sets.push(places);
        } else {
            sets.extend(lengths.iter().map(|n| places[..*n as usize].to_vec()));
        }
    };
    phase(&agg.keys, &agg.set_lengths);
    for p in &agg.chain {
        phase(&p.keys, &p.set_lengths);
    }
    (all, sets)
}

/// The child's columns that the arguments of GROUPING() are.
fn grouping_cols(plan: &Plan, g: &GroupingFunc) -> Result<Vec<usize>> {
    if !g.cols.is_empty() || g.refs.is_empty() {
        return Ok(g.cols.iter().map(|c| (*c as usize).saturating_sub(1)).collect());
    }
    let child = plan.outer.as_ref().map(|p| &p.target);
    g.refs
        .iter()
        .map(|r| {
            child
                .and_then(|t| t.iter().position(|t| t.sort_group_ref == *r))
                .ok_or_else(|| Error::internal("GROUPING() of something that is not grouped"))
        })
        .collect()
}

impl NodeSpec for AggSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        let hashed = !self.sets.is_empty() || self.strategy == AggStrategy::Hashed;
        if hashed {
            return Ok(Box::new(hashed::HashedAgg::new(self, child)));
        }
        Ok(Box::new(sorted::SortedAgg::new(self, child)?))
    }
}

/// Exec params in the node's own expressions.
fn own_params(plan: &Plan) -> Vec<u32> {
    let mut all = Vec::new();
    for e in plan.target.iter().map(|t| &t.expr).chain(&plan.qual) {
        ir::walk::each(e, &mut |e| match e {
            Expr::Param(p) if p.kind == ir::ParamKind::Exec => all.push(p.id),
            Expr::SubPlan(s) => all.extend(&s.par_params),
            _ => {}
        });
    }
    all
}

impl AggSpec {
    fn calls_depend_on(&self, changed: &[u32]) -> bool {
        self.own_params.iter().any(|p| changed.contains(p))
    }

    fn start_calls(&self) -> Result<Vec<AggRun>> {
        self.calls.iter().map(AggCall::start).collect()
    }

    /// The input of the output programs for these groups of `aggs`, whose first rows' needed
    /// columns are `rep`. `set` is the grouping set, if there are any.
    fn group_rows(
        &self,
        run: &mut Run,
        aggs: &[AggRun],
        rep: Vec<Arc<Column>>,
        groups: impl ExactSizeIterator<Item = usize> + Clone,
        set: Option<usize>,
    ) -> Result<Batch> {
        let len = groups.len();
        let mut columns = rep;
        for ((call, agg), phys) in self.calls.iter().zip(aggs).zip(&self.call_phys) {
            let mut b = ColumnBuilder::with_capacity(*phys, len);
            for group in groups.clone() {
                b.push(call.finish(run, agg, group)?);
            }
            columns.push(Arc::new(b.finish()));
        }
        for cols in &self.groupings {
            let mask = set.map_or(0, |s| self.grouping_mask(cols, s));
            columns.push(Arc::new(Column::new(ColumnData::I32(vec![mask; len]))));
        }
        Ok(Batch { len, columns, sel: None })
    }

    /// The value of GROUPING(): a bit for each argument that is not in the set, the last lowest.
    fn grouping_mask(&self, cols: &[usize], set: usize) -> i32 {
        let has = |col: &usize| self.sets[set].iter().any(|k| self.keys[*k].0 == *col);
        cols.iter().fold(0, |mask, col| mask << 1 | (!has(col)) as i32)
    }
}

/// A row of needed columns that are all NULL, for a group without rows.
fn null_rep(phys: &[PhysType]) -> Vec<Arc<Column>> {
    phys.iter().map(|p| Arc::new(Column::repeat(&Datum::Null, *p, 1))).collect()
}
