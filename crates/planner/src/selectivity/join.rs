//! Selectivity of conditions that join two relations.

use super::variable::Variable;
use super::{DEFAULT_EQ, DEFAULT_INEQ, DEFAULT_MATCH, JoinFor};
use crate::root::Root;
use base::{Oid, Result};
use ir::{JoinKind, OpExpr};
use std::cmp::Ordering;
use types::Datum;

impl Root<'_> {
    /// Share of the cross product (of the left rows, for semijoins) that satisfies `o`.
    pub fn join_selectivity(&self, o: &OpExpr, join: JoinFor) -> Result<f64> {
        let desc = self.env.catalog.operator(o.op)?;
        if o.args.len() != 2 {
            return Ok(0.5);
        }
        match desc.join.0 {
            105 => self.eq_join(o.op, o, join),
            106 => {
                if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                    let v = self.variable(&o.args[0], 0)?;
                    return Ok(1.0 - v.null_frac());
                }
                let eq = if desc.negator.is_valid() {
                    self.eq_join(desc.negator, o, join)?
                } else {
                    DEFAULT_EQ
                };
                Ok(1.0 - eq)
            }
            107 | 108 | 386 | 398 => Ok(DEFAULT_INEQ),
            0 => Ok(0.5),
            _ => Ok(DEFAULT_MATCH),
        }
    }

    fn eq_join(&self, op: Oid, o: &OpExpr, join: JoinFor) -> Result<f64> {
        let mut left = self.variable(&o.args[0], 0)?;
        let mut right = self.variable(&o.args[1], 0)?;
        // The inner side of the join second.
        let swapped =
            join.special.syn_right.contains(left.rel) || join.special.syn_left.contains(right.rel);
        if swapped {
            std::mem::swap(&mut left, &mut right);
        }
        let inner = self.eq_join_inner(op, &left, &right, o.input_collation);
        let s = match join.kind {
            JoinKind::Semi | JoinKind::Anti => {
                let inner_rows = join
                    .special
                    .min_right
                    .iter()
                    .filter_map(|r| self.base_rel(r))
                    .map(|r| r.rows.max(1.0))
                    .product::<f64>();
                let semi = self.eq_join_semi(op, &left, &right, o.input_collation, inner_rows);
                semi.min(inner_rows * inner)
            }
            _ => inner,
        };
        Ok(s.clamp(0.0, 1.0))
    }

    fn same(&self, op: Oid, a: &Datum, v1: &Variable, b: &Datum, v2: &Variable, c: Oid) -> bool {
        if v1.ty == v2.ty
            && let (Some(x), Some(y)) = (super::scalar::as_number(a), super::scalar::as_number(b))
        {
            return x.partial_cmp(&y) == Some(Ordering::Equal);
        }
        if v1.ty == v2.ty && a == b {
            return true;
        }
        self.holds(op, a, v1.ty, b, v2.ty, c)
    }

    fn eq_join_inner(&self, op: Oid, v1: &Variable, v2: &Variable, collation: Oid) -> f64 {
        let (nd1, _) = v1.num_distinct();
        let (nd2, _) = v2.num_distinct();
        let (n1, n2) = (v1.null_frac(), v2.null_frac());
        let (Some(m1), Some(m2)) = (v1.slot(1), v2.slot(1)) else {
            return (1.0 - n1) * (1.0 - n2) / nd1.max(nd2);
        };
        let mut hit1 = vec![false; m1.values.len()];
        let mut hit2 = vec![false; m2.values.len()];
        let mut both = 0.0;
        let mut matches = 0.0;
        for (i, a) in m1.values.iter().enumerate() {
            for (j, b) in m2.values.iter().enumerate() {
                if !hit2[j] && self.same(op, a, v1, b, v2, collation) {
                    hit1[i] = true;
                    hit2[j] = true;
                    both += f64::from(m1.numbers[i]) * f64::from(m2.numbers[j]);
                    matches += 1.0;
                    break;
                }
            }
        }
        let sums = |numbers: &[f32], hit: &[bool]| -> (f64, f64) {
            let mut matched = 0.0;
            let mut unmatched = 0.0;
            for (n, h) in numbers.iter().zip(hit) {
                if *h {
                    matched += f64::from(*n);
                } else {
                    unmatched += f64::from(*n);
                }
            }
            (matched, unmatched)
        };
        let (match1, un1) = sums(&m1.numbers, &hit1);
        let (match2, un2) = sums(&m2.numbers, &hit2);
        let other1 = (1.0 - n1 - match1 - un1).clamp(0.0, 1.0);
        let other2 = (1.0 - n2 - match2 - un2).clamp(0.0, 1.0);
        let total = |un_a: f64, other_a: f64, n_b: f64, un_b: f64, other_b: f64, len_b: f64| {
            let mut t = both;
            if n_b > len_b {
                t += un_a * other_b / (n_b - len_b);
            }
            if n_b > matches {
                t += other_a * (other_b + un_b) / (n_b - matches);
            }
            t
        };
        let t1 = total(un1, other1, nd2, un2, other2, m2.values.len() as f64);
        let t2 = total(un2, other2, nd1, un1, other1, m1.values.len() as f64);
        t1.min(t2)
    }

    fn eq_join_semi(
        &self,
        op: Oid,
        v1: &Variable,
        v2: &Variable,
        collation: Oid,
        inner_rows: f64,
    ) -> f64 {
        let (nd1, default1) = v1.num_distinct();
        let (mut nd2, mut default2) = v2.num_distinct();
        if v2.rel != 0 && v2.rows > 0.0 && nd2 >= v2.rows {
            nd2 = v2.rows;
            default2 = false;
        }
        if nd2 >= inner_rows {
            nd2 = inner_rows;
            default2 = false;
        }
        let n1 = v1.null_frac();
        if let (Some(m1), Some(m2)) = (v1.slot(1), v2.slot(1)) {
            let used2 = m2.values.len().min(nd2.max(0.0) as usize);
            let mut matched = 0.0;
            let mut matches = 0.0;
            for (i, a) in m1.values.iter().enumerate() {
                if m2.values[..used2].iter().any(|b| self.same(op, a, v1, b, v2, collation)) {
                    matched += f64::from(m1.numbers[i]);
                    matches += 1.0;
                }
            }
            let uncertain = if !default1 && !default2 {
                let (rest1, rest2) = (nd1 - matches, nd2 - matches);
                if rest1 <= rest2 || rest2 < 0.0 { 1.0 } else { rest2 / rest1 }
            } else {
                0.5
            };
            let other = (1.0 - matched - n1).clamp(0.0, 1.0);
            return matched + uncertain * other;
        }
        if !default1 && !default2 {
            if nd1 <= nd2 || nd2 < 0.0 { 1.0 - n1 } else { (nd2 / nd1) * (1.0 - n1) }
        } else {
            0.5 * (1.0 - n1)
        }
    }
}
