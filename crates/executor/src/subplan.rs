//! Subselects of expressions: run for each row, once (init plans), or once into a hash table.

use crate::compile::CompiledStmt;
use crate::expr::composite::Element;
use crate::expr::{Equality, ExprCompiler, Prog, RowInput, VarMap};
use crate::hash::RowTable;
use crate::node::{Node, drain};
use crate::run::Run;
use base::{Error, Oid, Result, bail};
use ir::{Expr, OpKind, SubLinkKind};
use std::sync::Arc;
use types::{BATCH_ROWS, Datum};

/// A subselect in an expression.
pub(crate) struct SubPlanProg {
    kind: SubLinkKind,
    plan: usize,
    test: Option<Prog>,
    param_ids: Vec<u32>,
    /// Params of the subplan and their values.
    args: Vec<(u32, Prog)>,
    set_params: Vec<u32>,
    hashed: Option<HashedProg>,
    of_arrays: bool,
    element: Option<Element>,
}

/// `(a, b) = ANY (subselect)` by a hash table.
pub(crate) struct HashedProg {
    left: Vec<Prog>,
    right: Vec<Prog>,
    equalities: Vec<Equality>,
    unknown_eq_false: bool,
}

/// The hash table of a subselect's rows.
pub(crate) struct Hashed {
    table: RowTable,
    rows: u64,
    /// Keys with a NULL in them.
    partial: Vec<Vec<Datum>>,
}

/// A subselect that runs once, when one of its params is first read.
pub(crate) struct InitPlan {
    pub kind: SubLinkKind,
    pub plan: usize,
    pub set_params: Vec<u32>,
    /// Params that it depends on itself.
    pub depends_on: Vec<u32>,
    pub element: Option<Element>,
    pub of_arrays: bool,
}

impl SubPlanProg {
    pub fn compile(c: &mut ExprCompiler, s: &ir::SubPlan, map: &VarMap) -> Result<SubPlanProg> {
        let args = c.list(&s.args, map)?;
        let args = s.par_params.iter().copied().zip(args).collect();
        let hashed = match (&s.test, s.use_hash_table) {
            (Some(test), true) => Some(HashedProg::compile(c, s, test, map)?),
            _ => None,
        };
        let test = match &s.test {
            Some(t) if hashed.is_none() => Some(c.expr(t, map)?),
            _ => None,
        };
        let element = match s.kind {
            SubLinkKind::Array => Some(array_element(c, s.ty)?),
            _ => None,
        };
        Ok(SubPlanProg {
            kind: s.kind,
            of_arrays: s.of_arrays,
            plan: s.plan as usize,
            test,
            param_ids: s.param_ids.clone(),
            args,
            set_params: s.set_params.clone(),
            hashed,
            element,
        })
    }

    /// The value for one row.
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        if let Some(h) = &self.hashed {
            return h.eval(run, self, input);
        }
        let mut changed = Vec::with_capacity(self.args.len());
        for (param, prog) in &self.args {
            let value = prog.eval(run, input)?;
            run.set_exec_param(*param, value);
            changed.push(*param);
        }
        let changed = run.changed_params(&changed);
        let fresh = !run.subplans[self.plan].started;
        run.with_subplan(self.plan, |run, node| {
            if !fresh {
                node.rescan(run, &changed)?;
            }
            self.run_kind(run, node, input)
        })
    }

    fn run_kind(&self, run: &mut Run, node: &mut dyn Node, input: RowInput<'_>) -> Result<Datum> {
        match self.kind {
            SubLinkKind::Exists => Ok(Datum::Bool(node.next(run, 1)?.is_some())),
            SubLinkKind::Expr => {
                Ok(single_row(run, node)?.map_or(Datum::Null, |mut r| r.swap_remove(0)))
            }
            SubLinkKind::Array => collect_array(run, node, self.element.as_ref(), self.of_arrays),
            SubLinkKind::MultiExpr => {
                let row = single_row(run, node)?;
                for (i, param) in self.set_params.iter().enumerate() {
                    let value = row.as_ref().and_then(|r| r.get(i).cloned()).unwrap_or_default();
                    run.set_exec_param(*param, value);
                }
                Ok(Datum::Null)
            }
            SubLinkKind::RowCompare => match single_row(run, node)? {
                Some(row) => self.test_row(run, row, input),
                None => Ok(Datum::Null),
            },
            SubLinkKind::Any => self.quantified(run, node, input, true),
            SubLinkKind::All => self.quantified(run, node, input, false),
            SubLinkKind::Cte => Err(Error::internal("a CTE is not a value")),
        }
    }

    fn test_row(&self, run: &mut Run, row: Vec<Datum>, input: RowInput<'_>) -> Result<Datum> {
        for (param, value) in self.param_ids.iter().zip(row) {
            run.set_exec_param(*param, value);
        }
        match &self.test {
            Some(test) => test.eval(run, input),
            None => Err(Error::internal("a quantified subselect without a comparison")),
        }
    }

    /// ANY stops at true, ALL at false; NULL if neither and some comparison is NULL.
    fn quantified(
        &self,
        run: &mut Run,
        node: &mut dyn Node,
        input: RowInput<'_>,
        any: bool,
    ) -> Result<Datum> {
        let mut result = Datum::Bool(!any);
        let mut demand = 1;
        while let Some(batch) = node.next(run, demand)? {
            for n in 0..batch.rows() {
                let row = batch.row(batch.position(n));
                match self.test_row(run, row, input)? {
                    Datum::Bool(b) if b == any => return Ok(Datum::Bool(any)),
                    Datum::Null => result = Datum::Null,
                    _ => {}
                }
            }
            demand = (demand * 4).min(BATCH_ROWS);
        }
        Ok(result)
    }
}

fn array_element(c: &ExprCompiler, array_or_element: Oid) -> Result<Element> {
    let t = c.catalog.type_(array_or_element)?;
    if t.is_array() { Element::of_type(c, t.elem) } else { Element::of_type(c, array_or_element) }
}

/// The only row; an error if there are more.
fn single_row(run: &mut Run, node: &mut dyn Node) -> Result<Option<Vec<Datum>>> {
    let Some(batch) = node.next(run, 1)? else { return Ok(None) };
    let row = batch.row(batch.position(0));
    if node.next(run, 1)?.is_some() {
        bail!(
            CARDINALITY_VIOLATION,
            "more than one row returned by a subquery used as an expression"
        );
    }
    Ok(Some(row))
}

fn collect_array(
    run: &mut Run,
    node: &mut dyn Node,
    element: Option<&Element>,
    of_arrays: bool,
) -> Result<Datum> {
    let mut values = Vec::new();
    drain(node, run, |_, batch| {
        values.extend(batch.positions().map(|i| batch.get(0, i)));
        Ok(())
    })?;
    match element {
        Some(e) if of_arrays => e.stack(&values),
        Some(e) => e.make(&values),
        None => Err(Error::internal("ARRAY subselect without an element type")),
    }
}

impl HashedProg {
    fn compile(
        c: &mut ExprCompiler,
        s: &ir::SubPlan,
        test: &Expr,
        map: &VarMap,
    ) -> Result<HashedProg> {
        let mut clauses = Vec::new();
        split_and(test, &mut clauses);
        let mut prog = HashedProg {
            left: Vec::new(),
            right: Vec::new(),
            equalities: Vec::new(),
            unknown_eq_false: s.unknown_eq_false,
        };
        for clause in clauses {
            let Expr::Op(o) = clause else {
                return Err(Error::internal("hashed subselect by something else than operators"));
            };
            if o.kind != OpKind::Plain || o.args.len() != 2 {
                return Err(Error::internal("hashed subselect by an operator of another shape"));
            }
            prog.left.push(c.expr(&o.args[0], map)?);
            prog.right.push(c.expr(&o.args[1], map)?);
            prog.equalities.push(Equality::of_operator(c, o.op, o.input_collation)?);
        }
        Ok(prog)
    }

    fn build(&self, run: &mut Run, sub: &SubPlanProg) -> Result<Hashed> {
        let mut out = Hashed { table: RowTable::new(run), rows: 0, partial: Vec::new() };
        let fresh = !run.subplans[sub.plan].started;
        run.with_subplan(sub.plan, |run, node| {
            if !fresh {
                node.rescan(run, &[])?;
            }
            drain(node, run, |run, batch| {
                for n in 0..batch.rows() {
                    let row = batch.row(batch.position(n));
                    for (param, value) in sub.param_ids.iter().zip(row) {
                        run.set_exec_param(*param, value);
                    }
                    let mut key = Vec::with_capacity(self.right.len());
                    for prog in &self.right {
                        key.push(prog.eval(run, RowInput::None)?);
                    }
                    out.rows += 1;
                    if key.iter().any(Datum::is_null) {
                        if !self.unknown_eq_false {
                            out.partial.push(key);
                        }
                    } else {
                        let hash = out.table.hash(run, &self.equalities, &key, false)?;
                        out.table.insert(run, &self.equalities, hash, key)?;
                    }
                }
                Ok(())
            })
        })?;
        Ok(out)
    }

    fn eval(&self, run: &mut Run, sub: &SubPlanProg, input: RowInput<'_>) -> Result<Datum> {
        let hashed = match run.subplans[sub.plan].hashed.take() {
            Some(h) => h,
            None => Box::new(self.build(run, sub)?),
        };
        let result = self.probe(run, &hashed, input);
        run.subplans[sub.plan].hashed = Some(hashed);
        result
    }

    fn probe(&self, run: &mut Run, hashed: &Hashed, input: RowInput<'_>) -> Result<Datum> {
        if hashed.rows == 0 {
            return Ok(Datum::Bool(false));
        }
        let mut key = Vec::with_capacity(self.left.len());
        for prog in &self.left {
            key.push(prog.eval(run, input)?);
        }
        if !key.iter().any(Datum::is_null) {
            let hash = hashed.table.hash(run, &self.equalities, &key, true)?;
            if hashed.table.find(run, &self.equalities, hash, &key)?.is_some() {
                return Ok(Datum::Bool(true));
            }
            if self.unknown_eq_false {
                return Ok(Datum::Bool(false));
            }
        } else {
            if self.unknown_eq_false {
                return Ok(Datum::Bool(false));
            }
            // NULL if any row could be equal were the NULLs known.
            for i in 0..hashed.table.len() {
                if self.could_match(run, &key, hashed.table.row(i))? {
                    return Ok(Datum::Null);
                }
            }
        }
        for row in &hashed.partial {
            if self.could_match(run, &key, row)? {
                return Ok(Datum::Null);
            }
        }
        Ok(Datum::Bool(false))
    }

    fn could_match(&self, run: &mut Run, key: &[Datum], row: &[Datum]) -> Result<bool> {
        for (i, eq) in self.equalities.iter().enumerate() {
            if !key[i].is_null() && !row[i].is_null() && !eq.equal(run, &key[i], &row[i])? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The operands of nested ANDs.
pub(crate) fn split_and<'e>(e: &'e Expr, out: &mut Vec<&'e Expr>) {
    match e {
        Expr::Bool { op: ir::BoolOp::And, args, .. } => {
            args.iter().for_each(|a| split_and(a, out));
        }
        other => out.push(other),
    }
}

/// Runs an init plan and sets the params that it makes.
pub(crate) fn run_init_plan(run: &mut Run, index: usize) -> Result<()> {
    let stmt: Arc<CompiledStmt> = Arc::clone(&run.stmt);
    let init = &stmt.init_plans[index];
    let fresh = !run.subplans[init.plan].started;
    for param in &init.set_params {
        run.exec[*param as usize].pending = None;
    }
    run.with_subplan(init.plan, |run, node| {
        if !fresh {
            node.rescan(run, &init.depends_on)?;
        }
        match init.kind {
            SubLinkKind::Exists => {
                let found = node.next(run, 1)?.is_some();
                set(run, init, 0, Datum::Bool(found));
            }
            SubLinkKind::Array => {
                let array = collect_array(run, node, init.element.as_ref(), init.of_arrays)?;
                set(run, init, 0, array);
            }
            SubLinkKind::Cte => {}
            _ => {
                let row = single_row(run, node)?;
                for i in 0..init.set_params.len() {
                    let value = row.as_ref().and_then(|r| r.get(i).cloned()).unwrap_or_default();
                    set(run, init, i, value);
                }
            }
        }
        Ok(())
    })
}

fn set(run: &mut Run, init: &InitPlan, i: usize, value: Datum) {
    if let Some(param) = init.set_params.get(i) {
        run.set_exec_param(*param, value);
    }
}
