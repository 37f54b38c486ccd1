//! What share of rows a condition keeps, by PostgreSQL's rules.

mod comparison;
mod extended;
mod join;
pub mod pattern;
mod scalar;
mod variable;

pub use comparison::{Comparison, direction};
pub use join::{ColumnPair, Common};
pub use scalar::as_number;
pub use variable::{Variable, estimate_groups};

use crate::prep::const_fold::simplify;
use crate::rel::{Restriction, SpecialJoin};
use crate::root::{Env, Root};
use crate::watch;
use base::{Oid, Result};
use extended::Condition;
use ir::{BoolOp, BoolTestKind, Expr, JoinKind, NullTestKind, OpKind};
use std::rc::Rc;
use types::Datum;

pub const DEFAULT_EQ: f64 = 0.005;
pub const DEFAULT_INEQ: f64 = 1.0 / 3.0;
pub const DEFAULT_RANGE_INEQ: f64 = 0.005;
pub const DEFAULT_MATCH: f64 = 0.005;
pub const DEFAULT_UNKNOWN: f64 = 0.005;
pub const DEFAULT_NOT_UNKNOWN: f64 = 1.0 - DEFAULT_UNKNOWN;
pub const DEFAULT_NUM_DISTINCT: f64 = 200.0;

/// The join that conditions are estimated for; none for a scan.
#[derive(Clone, Copy)]
pub struct JoinFor<'a> {
    pub kind: JoinKind,
    pub special: &'a SpecialJoin,
}

/// `a < x AND x < b`, found while going through a list.
struct RangePair {
    var: Expr,
    low: Option<f64>,
    high: Option<f64>,
}

impl Root<'_> {
    /// Share of rows that all of these keep together.
    pub fn list_selectivity(
        &self,
        list: &[Rc<Restriction>],
        var_rel: u32,
        join: Option<JoinFor>,
    ) -> Result<f64> {
        if let [one] = list {
            return self.restriction_selectivity(one, var_rel, join);
        }
        let list: Vec<Condition> = list.iter().map(Condition::Whole).collect();
        self.conditions_selectivity(&list, var_rel, join, true)
    }

    /// The same; without `extended`, columns count as independent.
    fn conditions_selectivity(
        &self,
        list: &[Condition],
        var_rel: u32,
        join: Option<JoinFor>,
        extended: bool,
    ) -> Result<f64> {
        if let [one] = list {
            return self.condition_selectivity(*one, var_rel, join, extended);
        }
        let mut s = 1.0;
        let mut done = Vec::new();
        if extended && let Some(rel) = self.extended_of(list) {
            done = vec![false; list.len()];
            s = self.extended_selectivity(rel, list, &mut done, var_rel, join)?;
        }
        let mut pairs: Vec<RangePair> = Vec::new();
        let open = |i: &usize| done.get(*i) != Some(&true);
        for c in (0..list.len()).filter(open).map(|i| list[i]) {
            let one = self.condition_selectivity(c, var_rel, join, extended)?;
            let single = match c {
                Condition::Whole(r) if r.pseudoconstant => {
                    s *= one;
                    continue;
                }
                Condition::Whole(r) => r.clause_relids.len() == 1,
                Condition::Part(e) => self.relids_of(e).len() == 1,
            };
            if let Some((var, is_low)) = self.range_side(c.expr(), single)? {
                add_range(&mut pairs, var, is_low, one);
            } else {
                s *= one;
            }
        }
        self.finish_ranges(pairs, s)
    }

    fn condition_selectivity(
        &self,
        c: Condition,
        var_rel: u32,
        join: Option<JoinFor>,
        extended: bool,
    ) -> Result<f64> {
        match c {
            Condition::Whole(r) => self.known_selectivity(r, var_rel, join, extended),
            Condition::Part(e) => self.selectivity_of(e, var_rel, join, true, extended),
        }
    }

    /// The same for bare conditions.
    pub fn exprs_selectivity<'x>(
        &self,
        list: impl IntoIterator<Item = &'x Expr, IntoIter: ExactSizeIterator>,
        var_rel: u32,
        join: Option<JoinFor>,
    ) -> Result<f64> {
        let list = list.into_iter();
        let several = list.len() > 1;
        let mut s = 1.0;
        let mut pairs: Vec<RangePair> = Vec::new();
        for e in list {
            let one = self.clause_selectivity(e, var_rel, join)?;
            match several && self.relids_of(e).len() == 1 {
                true => match self.range_side(e, true)? {
                    Some((var, is_low)) => add_range(&mut pairs, var, is_low, one),
                    None => s *= one,
                },
                false => s *= one,
            }
        }
        self.finish_ranges(pairs, s)
    }

    fn finish_ranges(&self, pairs: Vec<RangePair>, mut s: f64) -> Result<f64> {
        for p in pairs {
            match (p.low, p.high) {
                (Some(low), Some(high)) => {
                    let default = |x: f64| x == DEFAULT_INEQ;
                    let mut both = if default(low) || default(high) {
                        DEFAULT_RANGE_INEQ
                    } else {
                        low + high - 1.0 + self.null_fraction(&p.var)?
                    };
                    if both <= 0.0 {
                        both = if both < -0.01 { DEFAULT_RANGE_INEQ } else { 1.0e-10 };
                    }
                    s *= both;
                }
                (Some(x), None) | (None, Some(x)) => s *= x,
                (None, None) => {}
            }
        }
        Ok(s)
    }

    fn null_fraction(&self, var: &Expr) -> Result<f64> {
        let v = self.variable(var, 0)?;
        Ok(v.stats.as_ref().map_or(0.0, |s| f64::from(s.null_frac)))
    }

    /// For `x < const` and its kind: x, and whether the condition is a lower bound of it.
    fn range_side(&self, e: &Expr, single_rel: bool) -> Result<Option<(Expr, bool)>> {
        let Expr::Op(o) = e else { return Ok(None) };
        if o.kind != OpKind::Plain || o.args.len() != 2 || !single_rel {
            return Ok(None);
        }
        let pseudo = |e: &Expr| self.relids_of(e).is_empty();
        let var_left = if pseudo(&o.args[1]) {
            true
        } else if pseudo(&o.args[0]) {
            false
        } else {
            return Ok(None);
        };
        let less = match self.env.catalog.operator(o.op)?.rest {
            Oid(103) | Oid(336) => true,
            Oid(104) | Oid(337) => false,
            _ => return Ok(None),
        };
        let var = o.args[if var_left { 0 } else { 1 }].clone();
        Ok(Some((var, less != var_left)))
    }

    /// Share of rows that a restriction keeps. The usual cases are remembered.
    pub fn restriction_selectivity(
        &self,
        r: &Rc<Restriction>,
        var_rel: u32,
        join: Option<JoinFor>,
    ) -> Result<f64> {
        self.known_selectivity(r, var_rel, join, true)
    }

    fn known_selectivity(
        &self,
        r: &Rc<Restriction>,
        var_rel: u32,
        join: Option<JoinFor>,
        extended: bool,
    ) -> Result<f64> {
        if r.pseudoconstant {
            // A gating condition: all rows or none. Only a constant is worth looking at.
            return Ok(match &r.clause {
                Expr::Const(c) => f64::from(u8::from(c.value == Datum::Bool(true))),
                _ => 1.0,
            });
        }
        let inner_like = join.is_none_or(|j| j.kind == JoinKind::Inner);
        let cacheable = var_rel == 0 || r.clause_relids.singleton() == Some(var_rel);
        let cache = if inner_like { &r.selectivity } else { &r.outer_selectivity };
        if cacheable && cache.get() >= 0.0 {
            return Ok(cache.get());
        }
        let s = self.selectivity_of(&r.clause, var_rel, join, true, extended)?;
        if cacheable {
            cache.set(s);
        }
        Ok(s)
    }

    /// Share of rows that a condition keeps.
    pub fn clause_selectivity(&self, e: &Expr, var_rel: u32, join: Option<JoinFor>) -> Result<f64> {
        self.selectivity_of(e, var_rel, join, false, false)
    }

    /// The share of rows that an OR keeps, whose parts are parts of a restriction.
    fn or_selectivity(
        &self,
        args: &[Expr],
        var_rel: u32,
        join: Option<JoinFor>,
        stored: bool,
        extended: bool,
    ) -> Result<f64> {
        let mut done = vec![false; args.len()];
        let mut s = 0.0;
        if stored && extended {
            let list: Vec<Condition> = args.iter().map(Condition::Part).collect();
            if let Some(rel) = self.extended_of(&list) {
                s = self.extended_or_selectivity(rel, &list, &mut done, var_rel, join)?;
            }
        }
        for (a, _) in args.iter().zip(done).filter(|(_, done)| !done) {
            let one = self.selectivity_of(a, var_rel, join, stored, extended)?;
            s = s + one - s * one;
        }
        Ok(s)
    }

    /// With `stored`, the condition is a restriction or a part of the OR that one is: only for
    /// such is there a look at statistics of several columns.
    fn selectivity_of(
        &self,
        e: &Expr,
        var_rel: u32,
        join: Option<JoinFor>,
        stored: bool,
        extended: bool,
    ) -> Result<f64> {
        let s = match e {
            Expr::Const(c) => match c.value {
                Datum::Bool(true) => 1.0,
                _ => 0.0,
            },
            Expr::Var(_) => self.boolean_var(e, BoolTestKind::IsTrue, var_rel)?,
            Expr::Param(_) => match simplify(e.clone(), self.env, true)? {
                Expr::Const(c) => f64::from(u8::from(c.value == Datum::Bool(true))),
                _ => 0.5,
            },
            Expr::Bool { op: BoolOp::Not, args, .. } => {
                1.0 - self.clause_selectivity(&args[0], var_rel, join)?
            }
            Expr::Bool { op: BoolOp::And, args, .. } if stored => {
                let list: Vec<Condition> = args.iter().map(Condition::Part).collect();
                self.conditions_selectivity(&list, var_rel, join, extended)?
            }
            Expr::Bool { op: BoolOp::And, args, .. } => {
                self.exprs_selectivity(args, var_rel, join)?
            }
            Expr::Bool { op: BoolOp::Or, args, .. } => {
                self.or_selectivity(args, var_rel, join, stored, extended)?
            }
            Expr::Op(o) => {
                let is_join = join.is_some() && var_rel == 0 && self.relids_of(e).len() > 1;
                let s = match (is_join, join) {
                    (true, Some(j)) => self.join_selectivity(o, j)?,
                    _ => self.operator_selectivity(o.op, &o.args, o.input_collation, var_rel)?,
                };
                if o.kind == OpKind::Distinct { 1.0 - s } else { s }
            }
            Expr::Func(f) => self.function_selectivity(f)?,
            Expr::ScalarArrayOp(s) => self.array_selectivity(s, var_rel, join)?,
            Expr::RowCompare { left, right, ops, .. } => self.operator_selectivity(
                ops[0],
                &[left[0].clone(), right[0].clone()],
                Oid::INVALID,
                var_rel,
            )?,
            Expr::NullTest { kind, arg, .. } => self.null_test(arg, *kind, var_rel)?,
            Expr::BooleanTest { kind, arg, .. } => self.boolean_var(arg, *kind, var_rel)?,
            Expr::CurrentOf { varno, .. } => {
                self.base_rel(*varno).map_or(0.5, |r| 1.0 / r.tuples.max(1.0))
            }
            Expr::Relabel { arg, .. } | Expr::CoerceToDomain { arg, .. } => {
                self.clause_selectivity(arg, var_rel, join)?
            }
            _ => 0.5,
        };
        Ok(s.clamp(0.0, 1.0))
    }

    fn function_selectivity(&self, f: &ir::FuncExpr) -> Result<f64> {
        let _ = f;
        Ok(0.333_333_3)
    }

    fn null_test(&self, arg: &Expr, kind: NullTestKind, var_rel: u32) -> Result<f64> {
        let v = self.variable(arg, var_rel)?;
        let nulls = match &v.stats {
            Some(s) => f64::from(s.null_frac),
            None if v.is_system_column() => 0.0,
            None => {
                return Ok(match kind {
                    NullTestKind::IsNull => DEFAULT_UNKNOWN,
                    NullTestKind::IsNotNull => DEFAULT_NOT_UNKNOWN,
                });
            }
        };
        Ok(match kind {
            NullTestKind::IsNull => nulls,
            NullTestKind::IsNotNull => 1.0 - nulls,
        })
    }

    /// A boolean expression by itself, or under IS TRUE and its kind.
    fn boolean_var(&self, arg: &Expr, kind: BoolTestKind, var_rel: u32) -> Result<f64> {
        let v = self.variable(arg, var_rel)?;
        let Some(stats) = &v.stats else {
            if !matches!(arg, Expr::Var(_)) {
                let s = self.clause_selectivity(arg, var_rel, None)?;
                return Ok(match kind {
                    BoolTestKind::IsUnknown => DEFAULT_UNKNOWN,
                    BoolTestKind::IsNotUnknown => DEFAULT_NOT_UNKNOWN,
                    BoolTestKind::IsTrue | BoolTestKind::IsNotFalse => s,
                    BoolTestKind::IsFalse | BoolTestKind::IsNotTrue => 1.0 - s,
                });
            }
            return Ok(match kind {
                BoolTestKind::IsUnknown => DEFAULT_UNKNOWN,
                BoolTestKind::IsNotUnknown => DEFAULT_NOT_UNKNOWN,
                _ => 0.5,
            });
        };
        let nulls = f64::from(stats.null_frac);
        let trues = match stats.slots.iter().find(|s| s.kind == 1) {
            Some(mcv) if !mcv.values.is_empty() => {
                let first = f64::from(mcv.numbers.first().copied().unwrap_or(0.0));
                if mcv.values[0] == Datum::Bool(true) { first } else { 1.0 - first - nulls }
            }
            _ => (1.0 - nulls) / 2.0,
        };
        Ok(match kind {
            BoolTestKind::IsUnknown => nulls,
            BoolTestKind::IsNotUnknown => 1.0 - nulls,
            BoolTestKind::IsTrue => trues,
            BoolTestKind::IsNotTrue => 1.0 - trues,
            BoolTestKind::IsFalse => 1.0 - trues - nulls,
            BoolTestKind::IsNotFalse => trues + nulls,
        })
    }

    /// `x op ANY (array)` and `x op ALL (array)`.
    fn array_selectivity(
        &self,
        s: &ir::ScalarArrayOpExpr,
        var_rel: u32,
        join: Option<JoinFor>,
    ) -> Result<f64> {
        let op = self.env.catalog.operator(s.op)?;
        let is_eq = op.rest == Oid(101);
        let is_ne = op.rest == Oid(102);
        let (elements, watch) = match (&s.args[1], self.env.watch) {
            // Each of them is looked at by itself.
            (Expr::Array(a), Some(_)) if !a.multidims => (Some(a.elements.clone()), None),
            (array, _) => {
                let (array, watch) = watch::estimated(self.env, array)?;
                (self.env.array_elements(&array)?, watch)
            }
        };
        let element_sel = |e: &Expr| -> Result<f64> {
            let args = [s.args[0].clone(), e.clone()];
            match join {
                Some(j) if var_rel == 0 && self.relids_of(&s.args[0]).len() > 1 => {
                    let _ = j;
                    Ok(0.5)
                }
                _ => self.operator_selectivity(s.op, &args, s.input_collation, var_rel),
            }
        };
        let Some(elements) = elements else {
            if let Some(watch) = watch {
                watch.lose();
            }
            // Ten elements are assumed where the array is not known.
            let dummy = Expr::CaseTest { ty: op.right, typmod: -1, collation: Oid::INVALID };
            return Ok(of_any(&[element_sel(&dummy)?; 10], s.use_or, false));
        };
        let shares = elements.iter().map(element_sel).collect::<Result<Vec<_>>>()?;
        let sel = of_any(&shares, s.use_or, if s.use_or { is_eq } else { is_ne });
        if let Some(watch) = watch {
            let first = elements.first().filter(|_| s.use_or && is_eq);
            let of =
                first.map(|e| self.split(&[s.args[0].clone(), e.clone()], var_rel)).transpose()?;
            match of.flatten() {
                Some((v, true)) => {
                    let of =
                        Comparison { op: s.op, v, var_left: true, collation: s.input_collation };
                    watch.compared_any(of, &s.args[1], sel);
                }
                _ => watch.lose(),
            }
        }
        Ok(sel)
    }
}

/// Share of rows for which one of several comparisons holds (`any`), or all do; `disjoint` says
/// that no two do, or fail, for the same row.
pub fn of_any(shares: &[f64], any: bool, disjoint: bool) -> f64 {
    let independent = match any {
        true => shares.iter().fold(0.0, |sel, one| sel + one - sel * one),
        false => shares.iter().product(),
    };
    let apart = match any {
        true => shares.iter().sum(),
        false => shares.iter().fold(1.0, |sel, one| sel + one - 1.0),
    };
    if disjoint && (0.0..=1.0).contains(&apart) { apart } else { independent }
}

impl Env<'_> {
    /// The elements of a constant array, or of `ARRAY[...]`.
    pub fn array_elements(&self, array: &Expr) -> Result<Option<Vec<Expr>>> {
        match array {
            Expr::Array(a) if !a.multidims => Ok(Some(a.elements.clone())),
            Expr::Const(c) => {
                let Datum::Bytes(bytes) = &c.value else { return Ok(None) };
                let element = self.catalog.type_(c.ty)?.elem;
                let elem = types::array::ElemType::builtin(element);
                let values = types::array::ArrayRef::parse(bytes)?.values(&elem)?;
                Ok(Some(
                    values
                        .into_iter()
                        .map(|value| {
                            Expr::Const(ir::Const {
                                ty: element,
                                typmod: -1,
                                collation: c.collation,
                                value,
                                location: None,
                            })
                        })
                        .collect(),
                ))
            }
            Expr::Relabel { arg, .. } => self.array_elements(arg),
            _ => Ok(None),
        }
    }
}

fn add_range(pairs: &mut Vec<RangePair>, var: Expr, is_low: bool, s: f64) {
    let found = match pairs.iter_mut().find(|p| p.var == var) {
        Some(p) => p,
        None => {
            pairs.push(RangePair { var, low: None, high: None });
            let last = pairs.len() - 1;
            &mut pairs[last]
        }
    };
    let side = if is_low { &mut found.low } else { &mut found.high };
    // Two bounds on one side: the tighter one counts.
    *side = Some(side.map_or(s, |old| old.min(s)));
}
