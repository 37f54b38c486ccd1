//! PostgreSQL's cost model: sizes of rows and costs of operations.

pub mod join;
pub mod scan;
pub mod shape;

use crate::rel::Restriction;
use crate::root::Root;
use crate::watch;
use base::Oid;
use ir::{Expr, walk};
use std::rc::Rc;
use types::Datum;

/// Rows are at least one and whole.
pub fn clamp_rows(rows: f64) -> f64 {
    if rows.is_nan() || rows > 1.0e100 {
        return 1.0e100;
    }
    if rows <= 1.0 { 1.0 } else { rows.round_ties_even() }
}

/// Cost of evaluating something: once, and for each row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EvalCost {
    pub startup: f64,
    pub per_row: f64,
}

impl std::ops::AddAssign for EvalCost {
    fn add_assign(&mut self, other: EvalCost) {
        self.startup += other.startup;
        self.per_row += other.per_row;
    }
}

/// Bytes that `rows` rows of `width` take in memory.
pub fn bytes_of(rows: f64, width: i32) -> f64 {
    rows * f64::from(((width + 7) & !7) + 24)
}

/// Pages that `rows` rows of `width` take on disk.
pub fn pages_of(rows: f64, width: i32) -> f64 {
    (bytes_of(rows, width) / 8192.0).ceil()
}

impl Root<'_> {
    /// Cost of evaluating an expression.
    pub fn eval_cost(&self, e: &Expr) -> EvalCost {
        let mut cost = EvalCost::default();
        self.add_eval_cost(e, &mut cost);
        cost
    }

    /// Cost of evaluating all of these.
    pub fn eval_costs<'x>(&self, list: impl IntoIterator<Item = &'x Expr>) -> EvalCost {
        let mut cost = EvalCost::default();
        for e in list {
            self.add_eval_cost(e, &mut cost);
        }
        cost
    }

    /// Cost of testing all of these restrictions.
    pub fn restriction_cost<'x>(
        &self,
        list: impl IntoIterator<Item = &'x Rc<Restriction>>,
    ) -> EvalCost {
        let mut cost = EvalCost::default();
        for r in list {
            let one = r.cost.get().unwrap_or_else(|| self.eval_cost(&r.clause));
            r.cost.set(Some(one));
            if r.pseudoconstant {
                // Tested once.
                cost.startup += one.startup + one.per_row;
            } else {
                cost += one;
            }
        }
        cost
    }

    fn function_cost(&self, func: Oid) -> f64 {
        self.env.catalog.proc(func).map_or(1.0, |p| f64::from(p.cost))
            * self.env.settings.cpu_operator_cost
    }

    fn add_eval_cost(&self, e: &Expr, cost: &mut EvalCost) {
        match e {
            Expr::Func(f) => cost.per_row += self.function_cost(f.func),
            Expr::Op(o) => cost.per_row += self.function_cost(o.func),
            Expr::ScalarArrayOp(s) => {
                let n = self.array_length(&s.args[1]);
                let one = self.function_cost(s.func);
                cost.per_row += one * n * 0.5;
            }
            // Counted by the node that computes them.
            Expr::Agg(_) | Expr::Window(_) => return,
            Expr::Grouping(_) => {
                cost.per_row += self.env.settings.cpu_operator_cost;
                return;
            }
            Expr::CoerceViaIo { arg, ty, .. } => {
                if let Ok(t) = self.env.catalog.type_(*ty) {
                    cost.per_row += self.function_cost(t.input);
                }
                if let Ok(t) = self.env.catalog.type_(arg.ty()) {
                    cost.per_row += self.function_cost(t.output);
                }
            }
            Expr::ArrayCoerce { arg, element, .. } => {
                let one = self.eval_cost(element);
                cost.startup += one.startup;
                cost.per_row += one.per_row * self.array_length(arg);
                self.add_eval_cost(arg, cost);
                return;
            }
            Expr::RowCompare { ops, .. } => {
                for op in ops {
                    if let Ok(desc) = self.env.catalog.operator(*op) {
                        cost.per_row += self.function_cost(desc.function);
                    }
                }
            }
            Expr::MinMax { .. }
            | Expr::SqlValue { .. }
            | Expr::CoerceToDomain { .. }
            | Expr::NextValue { .. } => cost.per_row += self.env.settings.cpu_operator_cost,
            Expr::CurrentOf { .. } => cost.startup += 1.0e10,
            Expr::SubPlan(s) => {
                cost.startup += s.startup_cost;
                cost.per_row += s.per_call_cost;
                if let Some(t) = &s.test {
                    let _ = t;
                }
                return;
            }
            _ => {}
        }
        walk::children(e, &mut |c| self.add_eval_cost(c, cost));
    }

    /// Elements of an array, as far as known; else ten.
    pub fn array_length(&self, e: &Expr) -> f64 {
        match e {
            Expr::Const(c) if c.value == Datum::Null => 0.0,
            // How many there are is a part of what the comparison with them is estimated to keep.
            Expr::Param(_) if self.env.watch.is_some() => match watch::estimated(self.env, e) {
                Ok((value @ Expr::Const(_), _)) => self.array_length(&value),
                _ => 10.0,
            },
            other => match self.env.array_elements(other) {
                Ok(Some(list)) => list.len() as f64,
                _ => 10.0,
            },
        }
    }

    /// Average bytes of a type's values.
    pub fn type_width(&self, ty: Oid, typmod: i32) -> i32 {
        let Ok(desc) = self.env.catalog.type_(ty) else { return 32 };
        if desc.len > 0 {
            return i32::from(desc.len);
        }
        let max = match ty.0 {
            1042 if typmod >= 4 => return typmod - 4 + 4,
            1043 if typmod >= 4 => typmod - 4 + 4,
            1700 if typmod >= 4 => {
                let precision = ((typmod - 4) >> 16) & 0xffff;
                (precision + 3) / 4 * 2 + 8
            }
            1560 | 1562 if typmod > 0 => (typmod + 7) / 8 + 8,
            _ => 0,
        };
        match max {
            0 => 32,
            m if m <= 32 => m,
            m if m < 1000 => 32 + (m - 32) / 2,
            _ => 32 + (1000 - 32) / 2,
        }
    }

    /// Average bytes of an expression's values.
    pub fn expr_width(&self, e: &Expr) -> i32 {
        if let Expr::Var(v) = e
            && v.levels_up == 0
            && let Some(rel) = self.base_rel(v.varno)
        {
            use crate::rel::BaseKind;
            let column = ir::Var::column_of_stored(v.attno);
            if let Some(width) = rel.widths.get(&column.unwrap_or(v.attno)) {
                return *width;
            }
            if let BaseKind::Table(desc) | BaseKind::AppendRel(desc) = &rel.kind {
                if v.attno > 0
                    && let Ok(Some(s)) = self.statistic(desc.oid, v.attno, false)
                    && s.width > 0
                {
                    return s.width;
                }
                if v.attno == 0 {
                    let all = (1..=desc.tuple.attrs.len() as i16).filter_map(|a| {
                        let attr = &desc.tuple.attrs[a as usize - 1];
                        (!attr.dropped).then(|| {
                            self.env
                                .catalog
                                .statistic(desc.oid, a, false)
                                .ok()
                                .flatten()
                                .map_or_else(
                                    || self.type_width(attr.type_oid, attr.typmod),
                                    |s| s.width,
                                )
                        })
                    });
                    return all.sum();
                }
            }
        }
        if let Expr::Agg(a) = e
            && a.split == ir::AggSplit::InitialSerial
            && a.trans_type != Oid(2281)
        {
            return self.type_width(a.trans_type, -1);
        }
        self.type_width(e.ty(), e.typmod())
    }

    /// Fills in the cost and width of a target.
    pub fn finish_target(&self, target: &mut crate::rel::Target) {
        let mut cost = EvalCost::default();
        let mut width = 0;
        for e in &target.exprs {
            width += self.expr_width(e);
            if !matches!(e, Expr::Var(_)) {
                self.add_eval_cost(e, &mut cost);
            }
        }
        target.cost = (cost.startup, cost.per_row);
        target.width = width;
    }

    /// How many rows the outer relations of a parameterised path give together: how often
    /// it runs.
    pub fn loop_count(&self, param: &crate::relids::Relids) -> f64 {
        let mut least: Option<f64> = None;
        for r in param.iter() {
            if let Some(rel) = self.base_rel(r)
                && !rel.dummy
                && rel.rows > 0.0
            {
                least = Some(least.map_or(rel.rows, |l| l.min(rel.rows)));
            }
        }
        least.unwrap_or(1.0).max(1.0)
    }

    /// Pages that fetching `tuples` rows in random order reads, with the cache's help.
    pub fn index_pages_fetched(&self, tuples: f64, pages: f64, index_pages: f64) -> f64 {
        let t = pages.max(1.0);
        let tables: f64 = self
            .rels
            .iter()
            .filter(|r| matches!(r.kind, crate::rel::BaseKind::Table(_)))
            .map(|r| r.pages)
            .sum();
        let total = (tables + index_pages).max(1.0);
        let mut b = self.env.settings.effective_cache_size * t / total;
        b = if b <= 1.0 { 1.0 } else { b.ceil() };
        if t <= b {
            let fetched = 2.0 * t * tuples / (2.0 * t + tuples);
            return if fetched >= t { t } else { fetched.ceil() };
        }
        let limit = 2.0 * t * b / (2.0 * t - b);
        let fetched = if tuples <= limit {
            2.0 * t * tuples / (2.0 * t + tuples)
        } else {
            b + (tuples - limit) * (t - b) / t
        };
        fetched.ceil()
    }
}

/// What an expression's functions cost, where no query is known yet.
pub fn rough_cost(e: &Expr, env: &crate::root::Env) -> f64 {
    let mut called = Vec::new();
    walk::each(e, &mut |x| drop(crate::prep::volatility::called(x, env, &mut called)));
    let cost = |f: &base::Oid| env.catalog.proc(*f).map_or(1.0, |p| f64::from(p.cost));
    called.iter().map(cost).sum::<f64>() * env.settings.cpu_operator_cost
}
