//! Selectivity of comparisons with a known or unknown value.

use super::pattern;
use super::variable::Variable;
use super::{DEFAULT_EQ, DEFAULT_INEQ, DEFAULT_MATCH};
use crate::prep::const_fold::simplify;
use crate::root::Root;
use base::{Oid, Result};
use ir::{Const, Expr, OpExpr, OpKind};
use std::cmp::Ordering;
use types::Datum;

/// Compares plain numbers; `None` for anything else.
fn quick_compare(a: &Datum, b: &Datum) -> Option<Ordering> {
    match (a, b) {
        (Datum::I16(a), Datum::I16(b)) => Some(a.cmp(b)),
        (Datum::I32(a), Datum::I32(b)) => Some(a.cmp(b)),
        (Datum::I64(a), Datum::I64(b)) => Some(a.cmp(b)),
        (Datum::U32(a), Datum::U32(b)) => Some(a.cmp(b)),
        (Datum::F32(a), Datum::F32(b)) => a.partial_cmp(b),
        (Datum::F64(a), Datum::F64(b)) => a.partial_cmp(b),
        _ => None,
    }
}

/// A value as a number on the line that its type is a part of.
pub fn as_number(value: &Datum) -> Option<f64> {
    Some(match value {
        Datum::Bool(b) => f64::from(u8::from(*b)),
        Datum::I16(n) => f64::from(*n),
        Datum::I32(n) => f64::from(*n),
        Datum::I64(n) => *n as f64,
        Datum::U32(n) => f64::from(*n),
        Datum::F32(x) => f64::from(*x),
        Datum::F64(x) => *x,
        Datum::Char(c) => f64::from(*c),
        _ => return None,
    })
}

/// Strings as fractions between two others, by their bytes from the first that differs.
fn string_fractions(value: &[u8], low: &[u8], high: &[u8]) -> (f64, f64, f64) {
    let same = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let tail = |s: &[u8]| -> f64 {
        let mut x = 0.0;
        let mut scale = 1.0;
        for b in s.iter().skip(same).take(12) {
            scale /= 256.0;
            x += f64::from(*b) * scale;
        }
        x
    };
    (tail(value), tail(low), tail(high))
}

impl Root<'_> {
    /// Share of rows for which `args[0] op args[1]` holds, one side being a known value.
    pub fn operator_selectivity(
        &self,
        op: Oid,
        args: &[Expr],
        collation: Oid,
        var_rel: u32,
    ) -> Result<f64> {
        let desc = self.env.catalog.operator(op)?;
        if args.len() != 2 {
            return Ok(if desc.rest.is_valid() { DEFAULT_MATCH } else { 0.5 });
        }
        let Some((v, other, var_left)) = self.split(args, var_rel)? else {
            return Ok(match desc.rest.0 {
                101 => DEFAULT_EQ,
                102 => 1.0 - DEFAULT_EQ,
                103 | 104 | 336 | 337 => DEFAULT_INEQ,
                1386 | 3169 | 3560 => 0.005,
                0 => 0.5,
                _ => DEFAULT_MATCH,
            });
        };
        match desc.rest.0 {
            101 => self.eq_selectivity(op, &v, &other, var_left, collation, false),
            102 => {
                let eq = if desc.negator.is_valid() { desc.negator } else { op };
                self.eq_selectivity(eq, &v, &other, var_left, collation, true)
            }
            103 | 336 | 104 | 337 => {
                let mut less = matches!(desc.rest.0, 103 | 336);
                let mut inclusive = matches!(desc.rest.0, 336 | 337);
                let mut op = op;
                if !var_left {
                    // `5 < x` is `x > 5`.
                    less = !less;
                    if !desc.commutator.is_valid() {
                        return Ok(DEFAULT_INEQ);
                    }
                    op = desc.commutator;
                    inclusive = matches!(self.env.catalog.operator(op)?.rest.0, 336 | 337);
                }
                self.inequality_selectivity(op, less, inclusive, &v, &other, collation)
            }
            1814 | 1816..=1825 => pattern::selectivity(self, desc.rest.0, &v, &other, collation),
            1386 => Ok(0.001),
            139 => Ok(0.005),
            1300 => Ok(0.1),
            0 => Ok(0.5),
            _ => Ok(DEFAULT_MATCH),
        }
    }

    /// The side that is an expression over the relation, the other, and whether it is the left.
    fn split(&self, args: &[Expr], var_rel: u32) -> Result<Option<(Variable, Expr, bool)>> {
        let left = self.variable(&args[0], var_rel)?;
        let right = self.variable(&args[1], var_rel)?;
        if left.rel != 0 && right.rel == 0 {
            let other = simplify(args[1].clone(), self.env, true)?;
            return Ok(Some((left, other, true)));
        }
        if right.rel != 0 && left.rel == 0 {
            let other = simplify(args[0].clone(), self.env, true)?;
            return Ok(Some((right, other, false)));
        }
        Ok(None)
    }

    /// True if the operator holds between two values.
    pub fn holds(&self, op: Oid, a: &Datum, at: Oid, b: &Datum, bt: Oid, coll: Oid) -> bool {
        let Ok(desc) = self.env.catalog.operator(op) else { return false };
        let constant = |value: &Datum, ty: Oid| {
            Expr::Const(Const {
                ty,
                typmod: -1,
                collation: coll,
                value: value.clone(),
                location: None,
            })
        };
        let call = Expr::Op(OpExpr {
            kind: OpKind::Plain,
            op,
            func: desc.function,
            ret_type: Oid(16),
            ret_set: false,
            collation: Oid::INVALID,
            input_collation: coll,
            args: vec![constant(a, at), constant(b, bt)],
            location: None,
        });
        matches!(self.env.evaluator.evaluate(&call), Ok(Datum::Bool(true)))
    }

    fn eq_selectivity(
        &self,
        op: Oid,
        v: &Variable,
        other: &Expr,
        var_left: bool,
        collation: Oid,
        negate: bool,
    ) -> Result<f64> {
        let nulls = v.null_frac();
        let s = match other {
            Expr::Const(c) if c.value == Datum::Null => return Ok(0.0),
            _ if v.unique && v.tuples >= 1.0 => 1.0 / v.tuples,
            Expr::Const(c) if v.stats.is_some() => self.eq_known(op, v, c, var_left, collation),
            _ if v.stats.is_some() => {
                let (distinct, _) = v.num_distinct();
                let mut s = 1.0 - nulls;
                if distinct > 1.0 {
                    s /= distinct;
                }
                if let Some(mcv) = v.slot(1)
                    && let Some(most) = mcv.numbers.first()
                {
                    s = s.min(f64::from(*most));
                }
                s
            }
            _ => 1.0 / v.num_distinct().0,
        };
        let s = if negate { 1.0 - s - nulls } else { s };
        Ok(s.clamp(0.0, 1.0))
    }

    fn eq_known(&self, op: Oid, v: &Variable, c: &Const, var_left: bool, collation: Oid) -> f64 {
        let nulls = v.null_frac();
        let mut sum = 0.0;
        let mut count = 0.0;
        if let Some(mcv) = v.slot(1) {
            for (value, freq) in mcv.values.iter().zip(&mcv.numbers) {
                let equal = match quick_compare(value, &c.value) {
                    Some(o) => o == Ordering::Equal,
                    None if var_left => self.holds(op, value, v.ty, &c.value, c.ty, collation),
                    None => self.holds(op, &c.value, c.ty, value, v.ty, collation),
                };
                if equal {
                    return f64::from(*freq);
                }
                sum += f64::from(*freq);
                count += 1.0;
            }
        }
        let mut s = (1.0 - sum - nulls).clamp(0.0, 1.0);
        let others = v.num_distinct().0 - count;
        if others > 1.0 {
            s /= others;
        }
        if let Some(least) = v.slot(1).and_then(|m| m.numbers.last()) {
            s = s.min(f64::from(*least));
        }
        s
    }

    fn inequality_selectivity(
        &self,
        op: Oid,
        less: bool,
        inclusive: bool,
        v: &Variable,
        other: &Expr,
        collation: Oid,
    ) -> Result<f64> {
        let Expr::Const(c) = other else { return Ok(DEFAULT_INEQ) };
        if c.value == Datum::Null {
            return Ok(0.0);
        }
        if v.stats.is_none() {
            if v.attno == Some(-1) {
                return Ok(self.ctid_share(v, &c.value, less, inclusive));
            }
            return Ok(DEFAULT_INEQ);
        }
        let mut sum_all = 0.0;
        let mut sum_true = 0.0;
        if let Some(mcv) = v.slot(1) {
            for (value, freq) in mcv.values.iter().zip(&mcv.numbers) {
                sum_all += f64::from(*freq);
                if self.holds(op, value, v.ty, &c.value, c.ty, collation) {
                    sum_true += f64::from(*freq);
                }
            }
        }
        let rest = 1.0 - v.null_frac() - sum_all;
        let share = self.histogram_share(op, less, inclusive, v, c, collation)?.unwrap_or(0.5);
        Ok((rest * share + sum_true).clamp(0.0, 1.0))
    }

    fn ctid_share(&self, v: &Variable, value: &Datum, less: bool, inclusive: bool) -> f64 {
        let Some(rel) = self.base_rel(v.rel) else { return DEFAULT_INEQ };
        let Datum::Bytes(b) = value else { return DEFAULT_INEQ };
        if rel.pages <= 0.0 || b.len() < 6 {
            return 1.0;
        }
        let mut eight = [0; 8];
        let n = b.len().min(8);
        eight[..n].copy_from_slice(&b[..n]);
        let tid = base::Tid::from_u64(u64::from_le_bytes(eight));
        let density = (rel.tuples / rel.pages).max(1.0);
        let mut block = f64::from(tid.block.0) + (f64::from(tid.offset) / density).min(1.0);
        if less != inclusive {
            block -= (1.0 / density).min(block);
        }
        let s = (block / rel.pages).clamp(0.0, 1.0);
        if less { s } else { 1.0 - s }
    }

    /// Share of the histogram's values that are below (or above) a constant.
    pub fn histogram_share(
        &self,
        op: Oid,
        less: bool,
        inclusive: bool,
        v: &Variable,
        c: &Const,
        collation: Oid,
    ) -> Result<Option<f64>> {
        let Some(h) = v.slot(2) else { return Ok(None) };
        let values = &h.values;
        let n = values.len();
        if n < 2 {
            return Ok(None);
        }
        // Whether `values[i] op constant` holds is the same from the first i on, or up to it.
        let below = |i: usize| {
            let holds = match quick_compare(&values[i], &c.value) {
                Some(o) => match (less, inclusive) {
                    (true, true) => o != Ordering::Greater,
                    (true, false) => o == Ordering::Less,
                    (false, true) => o != Ordering::Less,
                    (false, false) => o == Ordering::Greater,
                },
                None => self.holds(op, &values[i], v.ty, &c.value, c.ty, collation),
            };
            if less { holds } else { !holds }
        };
        let (mut lo, mut hi) = (0, n);
        while lo < hi {
            let mid = (lo + hi) / 2;
            if below(mid) {
                lo = mid + 1;
            } else {
                hi = mid;
            }
        }
        let mut share = if lo == 0 {
            0.0
        } else if lo >= n {
            1.0
        } else {
            let (a, b) = (&values[lo - 1], &values[lo]);
            let within = interpolate(&c.value, a, b);
            (lo as f64 - 1.0 + within) / (n as f64 - 1.0)
        };
        if !less {
            share = 1.0 - share;
        }
        // Values may lie beyond the histogram's ends.
        let cutoff = 0.01 / (n as f64 - 1.0);
        share = share.clamp(cutoff, 1.0 - cutoff);
        Ok(Some(share))
    }
}

/// How far a value is from `low` towards `high`, 0 to 1.
fn interpolate(value: &Datum, low: &Datum, high: &Datum) -> f64 {
    let (v, l, h) = match (as_number(value), as_number(low), as_number(high)) {
        (Some(v), Some(l), Some(h)) => (v, l, h),
        _ => match (value, low, high) {
            (Datum::Bytes(v), Datum::Bytes(l), Datum::Bytes(h)) => string_fractions(v, l, h),
            _ => return 0.5,
        },
    };
    if h <= l {
        return 0.5;
    }
    if v <= l {
        0.0
    } else if v >= h {
        1.0
    } else {
        let x = (v - l) / (h - l);
        if x.is_nan() { 0.5 } else { x.clamp(0.0, 1.0) }
    }
}
