//! ProjectSet: a target list with functions that return sets, side by side.

use super::{Child, Node, NodeSpec};
use crate::batch::Collector;
use crate::compile::PlanCompiler;
use crate::expr::func::Callee;
use crate::expr::{Prog, RowInput, VarMap};
use crate::run::Run;
use base::{Error, Oid, Result};
use functions::{FnCtx, RowSource};
use ir::{Expr, Plan};
use std::collections::VecDeque;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, ColumnBuilder, Datum, PhysType};

/// A call of a set-returning function.
pub(crate) struct SetCall {
    pub callee: Callee,
    pub args: Vec<Prog>,
    start: functions::SrfFn,
}

impl SetCall {
    /// The call that an expression is.
    pub fn compile(c: &mut PlanCompiler, e: &Expr, map: &VarMap) -> Result<SetCall> {
        let (func, args, collation, ret) = match e {
            Expr::Func(f) => (f.func, &f.args, f.input_collation, f.ret_type),
            Expr::Op(o) => (o.func, &o.args, o.input_collation, o.ret_type),
            _ => return Err(Error::unsupported("a set made by this expression")),
        };
        let start = functions::set_returning(func).unwrap_or(functions::user_set);
        let types: Vec<Oid> = args.iter().map(Expr::ty).collect();
        let mut callee = c.ec.callee(func, collation, types, ret)?;
        if let Expr::Func(f) = e {
            callee.info.variadic = f.variadic;
        }
        if callee.state == 0 {
            c.ec.call_states += 1;
            callee.state = c.ec.call_states - 1;
        }
        Ok(SetCall { callee, args: c.ec.list(args, map)?, start })
    }

    /// What the call knows about itself.
    pub fn info(&mut self) -> &mut functions::CallInfo {
        &mut self.callee.info
    }

    /// The rows for one input row; None if the function is strict and an argument is NULL.
    pub fn start(&self, run: &mut Run, input: RowInput<'_>) -> Result<Option<Box<dyn RowSource>>> {
        let mut args = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            args.push(arg.eval(run, input)?);
        }
        if self.callee.strict && args.iter().any(Datum::is_null) {
            return Ok(None);
        }
        let env = run.env;
        let state = run.call_state(self.callee.state);
        (self.start)(&mut FnCtx { env, call: &self.callee.info, state }, &args).map(Some)
    }

    /// More rows, into one builder a column.
    pub fn more(
        &self,
        run: &mut Run,
        source: &mut dyn RowSource,
        out: &mut [ColumnBuilder],
        most: usize,
    ) -> Result<usize> {
        let env = run.env;
        let state = run.call_state(self.callee.state);
        source.next(&mut FnCtx { env, call: &self.callee.info, state }, out, most)
    }
}

enum Column {
    Plain(Prog),
    Set { call: SetCall, phys: PhysType },
}

struct ProjectSetSpec {
    child: Child,
    columns: Vec<Column>,
    phys: Vec<PhysType>,
}

/// The rows of one call for the current input row.
#[derive(Default)]
struct Running {
    source: Option<Box<dyn RowSource>>,
    ready: VecDeque<Datum>,
}

struct ProjectSetNode {
    spec: Arc<ProjectSetSpec>,
    child: Box<dyn Node>,
    input: Option<(Batch, usize)>,
    running: Vec<Running>,
}

pub(crate) fn compile(c: &mut PlanCompiler, plan: &Plan) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let map = VarMap::outer(child.phys.len());
    let mut columns = Vec::new();
    let mut phys = Vec::new();
    for t in &plan.target {
        let held = c.ec.phys(t.expr.ty())?;
        phys.push(held);
        columns.push(match returns_set(&t.expr) {
            true => Column::Set { call: SetCall::compile(c, &t.expr, &map)?, phys: held },
            false => Column::Plain(c.ec.expr(&t.expr, &map)?),
        });
    }
    Ok(Arc::new(ProjectSetSpec { child, columns, phys }))
}

fn returns_set(e: &Expr) -> bool {
    match e {
        Expr::Func(f) => f.ret_set,
        Expr::Op(o) => o.ret_set,
        _ => false,
    }
}

impl NodeSpec for ProjectSetSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        let mut running = Vec::new();
        running.resize_with(self.columns.len(), Running::default);
        Ok(Box::new(ProjectSetNode { spec: self, child, input: None, running }))
    }
}

impl ProjectSetNode {
    fn begin_row(&mut self, run: &mut Run) -> Result<()> {
        let Some((batch, n)) = &self.input else { return Ok(()) };
        let input = RowInput::Batch(batch, batch.position(*n));
        for (column, running) in self.spec.columns.iter().zip(&mut self.running) {
            if let Column::Set { call, .. } = column {
                running.source = call.start(run, input)?;
                running.ready.clear();
            }
        }
        Ok(())
    }

    /// Fills a call's queue; false if the call has ended.
    fn refill(
        run: &mut Run,
        call: &SetCall,
        phys: PhysType,
        r: &mut Running,
        most: usize,
    ) -> Result<bool> {
        if !r.ready.is_empty() {
            return Ok(true);
        }
        let Some(source) = &mut r.source else { return Ok(false) };
        let mut out = [ColumnBuilder::new(phys)];
        let n = call.more(run, source.as_mut(), &mut out, most)?;
        if n == 0 {
            r.source = None;
            return Ok(false);
        }
        let [out] = out;
        let column = out.finish();
        r.ready.extend((0..n).map(|i| column.get(i)));
        Ok(true)
    }
}

impl Node for ProjectSetNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = Arc::clone(&self.spec);
        let mut rows = Collector::new(&spec.phys);
        while rows.rows() < demand {
            if self.input.is_none() {
                // Rows are asked for one by one when few are wanted.
                match self.child.next(run, demand.min(BATCH_ROWS))? {
                    Some(batch) => self.input = Some((batch, 0)),
                    None => break,
                }
                self.begin_row(run)?;
            }
            let most = demand - rows.rows();
            let mut any = false;
            for (column, r) in spec.columns.iter().zip(&mut self.running) {
                if let Column::Set { call, phys } = column {
                    any |= Self::refill(run, call, *phys, r, most)?;
                }
            }
            let Some((batch, n)) = &mut self.input else { break };
            if any {
                let input = RowInput::Batch(batch, batch.position(*n));
                let mut row = Vec::with_capacity(spec.columns.len());
                for (column, r) in spec.columns.iter().zip(&mut self.running) {
                    row.push(match column {
                        Column::Plain(prog) => prog.eval(run, input)?,
                        Column::Set { .. } => r.ready.pop_front().unwrap_or_default(),
                    });
                }
                rows.push_values(&row);
                continue;
            }
            *n += 1;
            if *n >= batch.rows() {
                self.input = None;
            } else {
                self.begin_row(run)?;
            }
        }
        Ok(rows.take())
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.input = None;
        self.child.rescan(run, changed)
    }
}
