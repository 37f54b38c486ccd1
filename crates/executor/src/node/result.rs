//! Result: one row of expressions, or the child's rows if conditions that do not depend on them
//! hold.

use super::{Child, FoundRow, Node, NodeSpec, OnlyRow};
use crate::batch;
use crate::compile::PlanCompiler;
use crate::expr::{Qual, RowInput, VarMap};
use crate::output::{Output, Pump};
use crate::run::Run;
use base::Result;
use ir::{Expr, Plan};
use std::sync::Arc;
use types::{Batch, Datum};

struct ResultSpec {
    child: Option<Child>,
    constant: Qual,
    output: Output,
}

struct ResultNode {
    spec: Arc<ResultSpec>,
    child: Option<Box<dyn Node>>,
    pump: Pump,
    checked: bool,
    done: bool,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    result: &ir::Result_,
) -> Result<Arc<dyn NodeSpec>> {
    let child = plan.outer.as_ref().map(|p| c.node(p)).transpose()?;
    let map = VarMap::outer(child.as_ref().map_or(0, |c| c.phys.len()));
    let constant = c.ec.qual(&result.constant_qual, &VarMap::default())?;
    let output = match &child {
        None if gives_nothing(result) => c.output(&without_columns(plan), &map)?,
        _ => c.output(plan, &map)?,
    };
    Ok(Arc::new(ResultSpec { child, constant, output }))
}

/// A condition is false whatever comes.
fn gives_nothing(result: &ir::Result_) -> bool {
    let is_false = |e: &Expr| matches!(e, Expr::Const(c) if c.value != Datum::Bool(true));
    result.constant_qual.iter().any(is_false)
}

/// The plan with NULLs for its columns: those of a relation that is not read are nowhere.
fn without_columns(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.qual.clear();
    for t in &mut plan.target {
        t.expr = Expr::null_const(t.expr.ty(), t.expr.typmod(), t.expr.collation());
    }
    plan
}

impl NodeSpec for ResultSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.as_ref().map(|c| c.start(run)).transpose()?;
        let pump = Pump::default();
        Ok(Box::new(ResultNode { spec: self, child, pump, checked: false, done: false }))
    }

    fn only_row(&self, run: &mut Run, _whole: bool) -> Result<OnlyRow> {
        if self.child.is_some() {
            return Ok(OnlyRow::Unknown);
        }
        let holds = self.constant.test(run, RowInput::None)?
            && self.output.qual.test(run, RowInput::None)?;
        Ok(match holds {
            true => OnlyRow::Found(FoundRow { columns: self.row(run)?, whole: None }),
            false => OnlyRow::None,
        })
    }
}

impl ResultSpec {
    /// The row of expressions.
    fn row(&self, run: &mut Run) -> Result<Vec<Datum>> {
        let mut columns = Vec::with_capacity(self.output.target.len());
        for prog in &self.output.target {
            columns.push(prog.eval(run, RowInput::None)?);
        }
        Ok(columns)
    }
}

impl Node for ResultNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if !self.checked {
            self.checked = true;
            self.done = !self.spec.constant.test(run, RowInput::None)?;
        }
        if self.done {
            return Ok(None);
        }
        let output = &self.spec.output;
        if let Some(child) = &mut self.child {
            return self.pump.pull(run, demand, output, |run| child.next(run, demand));
        }
        self.done = true;
        let mut row = batch::unit();
        output.qual.filter(run, &mut row)?;
        if row.rows() == 0 {
            return Ok(None);
        }
        let columns = self.spec.row(run)?;
        Ok(Some(batch::one_row(&columns, &output.phys())))
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.checked = false;
        self.done = false;
        self.pump.clear();
        self.child.as_mut().map_or(Ok(()), |c| c.rescan(run, changed))
    }

    fn set_bound(&mut self, bound: u64) {
        if self.spec.output.qual.is_empty()
            && let Some(child) = &mut self.child
        {
            child.set_bound(bound);
        }
    }
}
