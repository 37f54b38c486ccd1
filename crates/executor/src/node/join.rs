//! What all joins share.

use super::Child;
use crate::batch::builders;
use crate::compile::PlanCompiler;
use crate::expr::{Qual, VarMap};
use crate::output::Output;
use base::Result;
use ir::{JoinCommon, JoinKind, Plan};
use std::sync::Arc;
use types::{Batch, Column, ColumnBuilder, Datum, PhysType};

/// The children, conditions and columns of a join. Its input columns are the outer ones, then the
/// inner ones.
pub(crate) struct JoinSpec {
    pub kind: JoinKind,
    pub outer: Child,
    pub inner: Child,
    /// Conditions of the join that its method has not checked.
    pub qual: Qual,
    /// Outer columns that `qual` reads.
    pub qual_outer: Vec<usize>,
    pub output: Output,
    /// One match decides about an outer row.
    pub single_match: bool,
}

impl JoinSpec {
    pub fn compile(c: &mut PlanCompiler, plan: &Plan, join: &JoinCommon) -> Result<JoinSpec> {
        let outer = c.outer(plan)?;
        let inner = c.inner(plan)?;
        let map = VarMap::join(outer.phys.len(), inner.phys.len());
        let qual = c.ec.qual(&join.join_qual, &map)?;
        let mut qual_outer = Vec::new();
        for e in &join.join_qual {
            ir::walk::each(e, &mut |e| {
                if let ir::Expr::Var(v) = e
                    && v.varno == ir::OUTER_VAR
                    && v.attno > 0
                {
                    qual_outer.push(v.attno as usize - 1);
                }
            });
        }
        qual_outer.sort_unstable();
        qual_outer.dedup();
        let output = c.output(plan, &map)?;
        let single_match =
            join.inner_unique || matches!(join.kind, JoinKind::Semi | JoinKind::Anti);
        Ok(JoinSpec { kind: join.kind, outer, inner, qual, qual_outer, output, single_match })
    }

    /// Whether an outer row without a match is given.
    pub fn keeps_outer(&self) -> bool {
        matches!(self.kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti)
    }

    /// Whether an inner row without a match is given.
    pub fn keeps_inner(&self) -> bool {
        matches!(self.kind, JoinKind::Right | JoinKind::Full | JoinKind::RightAnti)
    }

    /// Whether matches are given.
    pub fn gives_matches(&self) -> bool {
        !matches!(self.kind, JoinKind::Anti | JoinKind::RightAnti)
    }
}

/// Joined rows, collected by value.
pub(crate) struct Pairs {
    builders: Vec<ColumnBuilder>,
    outer: usize,
    rows: usize,
}

impl Pairs {
    pub fn new(outer: &[PhysType], inner: &[PhysType]) -> Pairs {
        let all: Vec<PhysType> = outer.iter().chain(inner).copied().collect();
        Pairs { builders: builders(&all, 0), outer: outer.len(), rows: 0 }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row; a side that is None is all NULL.
    pub fn push(&mut self, outer: Option<(&Batch, usize)>, inner: Option<(&Batch, usize)>) {
        let (left, right) = self.builders.split_at_mut(self.outer);
        for (side, row) in [(left, outer), (right, inner)] {
            match row {
                Some((batch, i)) => crate::batch::push_row(side, batch, i),
                None => side.iter_mut().for_each(ColumnBuilder::push_null),
            }
        }
        self.rows += 1;
    }

    /// The rows so far, if there are any.
    pub fn take(&mut self) -> Option<Batch> {
        if self.rows == 0 {
            return None;
        }
        let rows = std::mem::take(&mut self.rows);
        Some(crate::batch::take(rows, &mut self.builders))
    }
}

/// Columns of `len` NULLs.
pub(crate) fn nulls(phys: &[PhysType], len: usize) -> Vec<Arc<Column>> {
    phys.iter().map(|p| Arc::new(crate::expr::batch::repeat(&Datum::Null, *p, len))).collect()
}
