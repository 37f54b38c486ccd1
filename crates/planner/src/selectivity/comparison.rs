//! A column compared with a value: what share of rows that keeps, by what is known of the column.

use super::DEFAULT_INEQ;
use super::scalar::as_number;
use super::variable::Variable;
use crate::root::Env;
use base::{Oid, Result};
use ir::{Const, Expr, OpExpr, OpKind};
use std::cmp::Ordering;
use types::Datum;

/// `v op value`, or `value op v`.
pub struct Comparison {
    /// The operator, whose estimator is one of equality or of order.
    pub op: Oid,
    /// The side that is known by its statistics.
    pub v: Variable,
    /// That is the left one.
    pub var_left: bool,
    /// The comparison's collation.
    pub collation: Oid,
}

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

/// How two values compare without a call of their operator.
enum Order {
    /// Numbers, and other types of a fixed length that are stored as such.
    Numbers,
    /// Byte by byte.
    Bytes,
    /// By a collation under which only the same bytes are equal.
    EqualBytes,
    /// Not without a call.
    Unknown,
}

impl Order {
    fn of(env: &Env, a: Oid, b: Oid, collation: Oid) -> Order {
        match a.0 {
            _ if a != b => Order::Numbers,
            // bytea, uuid; name has its own collation.
            17 | 2950 => Order::Bytes,
            19 | 25 | 1043 => {
                let collation = env.catalog.concrete_collation(collation);
                if matches!(collation.0, 950 | 951)
                    || functions::collation::stands_for_default(collation)
                        && functions::collation::compares_bytes(collation)
                {
                    return Order::Bytes;
                }
                match env.catalog.find_collation(collation) {
                    Ok(Some(c)) if c.is_deterministic => Order::EqualBytes,
                    _ => Order::Unknown,
                }
            }
            _ => Order::Numbers,
        }
    }

    /// None: the operator has to be called.
    fn compare(&self, a: &Datum, b: &Datum) -> Option<Ordering> {
        match (self, a, b) {
            (Order::Bytes, Datum::Bytes(a), Datum::Bytes(b)) => Some(a[..].cmp(&b[..])),
            (Order::Numbers, a, b) => quick_compare(a, b),
            _ => None,
        }
    }

    /// Whether two values are equal. None: the operator has to be called.
    fn equal(&self, a: &Datum, b: &Datum) -> Option<bool> {
        match (self, a, b) {
            (Order::EqualBytes, Datum::Bytes(a), Datum::Bytes(b)) => Some(a[..] == b[..]),
            _ => self.compare(a, b).map(|o| o == Ordering::Equal),
        }
    }
}

/// Of an operator of order: what it is with the column to the left, whether it keeps what is
/// less, and whether it keeps what is equal. None: it is another operator, or has no commutator.
pub fn direction(env: &Env, op: Oid, var_left: bool) -> Result<Option<(Oid, bool, bool)>> {
    let desc = env.catalog.operator(op)?;
    let less = match desc.rest.0 {
        103 | 336 => true,
        104 | 337 => false,
        _ => return Ok(None),
    };
    if var_left {
        return Ok(Some((op, less, matches!(desc.rest.0, 336 | 337))));
    }
    // `5 < x` is `x > 5`.
    if !desc.commutator.is_valid() {
        return Ok(None);
    }
    let inclusive = matches!(env.catalog.operator(desc.commutator)?.rest.0, 336 | 337);
    Ok(Some((desc.commutator, !less, inclusive)))
}

impl Comparison {
    /// Share of rows for which the comparison with this value holds.
    pub fn share(&self, env: &Env, other: &Expr) -> Result<f64> {
        let desc = env.catalog.operator(self.op)?;
        match desc.rest.0 {
            101 => Ok(self.equal_share(env, self.op, other, false)),
            102 => {
                let eq = if desc.negator.is_valid() { desc.negator } else { self.op };
                Ok(self.equal_share(env, eq, other, true))
            }
            _ => self.range_share(env, other),
        }
    }

    fn equal_share(&self, env: &Env, eq: Oid, other: &Expr, negate: bool) -> f64 {
        let v = &self.v;
        let nulls = v.null_frac();
        let s = match other {
            Expr::Const(c) if c.value == Datum::Null => return 0.0,
            _ if v.unique && v.tuples >= 1.0 => 1.0 / v.tuples,
            Expr::Const(c) if v.stats.is_some() => self.equal_known(env, eq, c),
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
        s.clamp(0.0, 1.0)
    }

    fn equal_known(&self, env: &Env, eq: Oid, c: &Const) -> f64 {
        let v = &self.v;
        let mut sum = 0.0;
        let mut count = 0.0;
        if let Some(mcv) = v.slot(1) {
            let order = Order::of(env, v.ty, c.ty, self.collation);
            for (value, freq) in mcv.values.iter().zip(&mcv.numbers) {
                let equal = match order.equal(value, &c.value) {
                    Some(equal) => equal,
                    None if self.var_left => {
                        env.holds(eq, value, v.ty, &c.value, c.ty, self.collation)
                    }
                    None => env.holds(eq, &c.value, c.ty, value, v.ty, self.collation),
                };
                if equal {
                    return f64::from(*freq);
                }
                sum += f64::from(*freq);
                count += 1.0;
            }
        }
        let mut s = (1.0 - sum - v.null_frac()).clamp(0.0, 1.0);
        let others = v.num_distinct().0 - count;
        if others > 1.0 {
            s /= others;
        }
        if let Some(least) = v.slot(1).and_then(|m| m.numbers.last()) {
            s = s.min(f64::from(*least));
        }
        s
    }

    fn range_share(&self, env: &Env, other: &Expr) -> Result<f64> {
        let v = &self.v;
        let Some((op, less, inclusive)) = direction(env, self.op, self.var_left)? else {
            return Ok(DEFAULT_INEQ);
        };
        let Expr::Const(c) = other else { return Ok(DEFAULT_INEQ) };
        if c.value == Datum::Null {
            return Ok(0.0);
        }
        if v.stats.is_none() {
            return Ok(DEFAULT_INEQ);
        }
        let mut sum_all = 0.0;
        let mut sum_true = 0.0;
        if let Some(mcv) = v.slot(1) {
            let order = Order::of(env, v.ty, c.ty, self.collation);
            for (value, freq) in mcv.values.iter().zip(&mcv.numbers) {
                sum_all += f64::from(*freq);
                let holds = match order.compare(value, &c.value) {
                    Some(o) => kept(o, less, inclusive),
                    None => env.holds(op, value, v.ty, &c.value, c.ty, self.collation),
                };
                if holds {
                    sum_true += f64::from(*freq);
                }
            }
        }
        let rest = 1.0 - v.null_frac() - sum_all;
        let share = env.histogram_share(op, (less, inclusive), v, c, self.collation).unwrap_or(0.5);
        Ok((rest * share + sum_true).clamp(0.0, 1.0))
    }
}

/// Whether an operator of order keeps what compares like this.
fn kept(o: Ordering, less: bool, inclusive: bool) -> bool {
    match o {
        Ordering::Equal => inclusive,
        Ordering::Less => less,
        Ordering::Greater => !less,
    }
}

impl Env<'_> {
    /// True if the operator holds between two values.
    pub fn holds(&self, op: Oid, a: &Datum, at: Oid, b: &Datum, bt: Oid, coll: Oid) -> bool {
        let Ok(desc) = self.catalog.operator(op) else { return false };
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
        matches!(self.evaluator.evaluate(&call), Ok(Datum::Bool(true)))
    }

    /// Share of the histogram's values that are below (or above) a constant; `op` keeps what is
    /// less, and what is equal, or not.
    pub fn histogram_share(
        &self,
        op: Oid,
        (less, inclusive): (bool, bool),
        v: &Variable,
        c: &Const,
        collation: Oid,
    ) -> Option<f64> {
        let h = v.slot(2)?;
        let values = &h.values;
        let n = values.len();
        if n < 2 {
            return None;
        }
        let order = Order::of(self, v.ty, c.ty, collation);
        // Whether `values[i] op constant` holds is the same from the first i on, or up to it.
        let below = |i: usize| {
            let holds = match order.compare(&values[i], &c.value) {
                Some(o) => kept(o, less, inclusive),
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
        Some(share)
    }
}
