//! Selectivity of conditions that join two relations.

use super::variable::Variable;
use super::{DEFAULT_EQ, DEFAULT_INEQ, DEFAULT_MATCH, JoinFor};
use crate::root::Root;
use base::{Oid, Result};
use foldhash::HashMap;
use ir::{JoinKind, OpExpr};
use std::cmp::Ordering;
use std::rc::Rc;
use types::Datum;

/// Places in two lists of values.
pub type Common = Rc<[(u32, u32)]>;

/// An operator, its collation, and the two columns that it compares.
pub type ColumnPair = (Oid, Oid, (u32, i16), (u32, i16));

/// The values as numbers, if all are some.
fn numbers_of(slot: &catalog::StatisticSlot) -> Option<Vec<f64>> {
    slot.values.iter().map(super::as_number).collect()
}

/// The pairs of equal numbers, by the order of the first list.
fn equal_numbers(a: &[f64], b: &[f64]) -> Vec<(u32, u32)> {
    // Adding zero makes a negative zero a positive one; what is no number equals nothing.
    let key = |x: &f64| (!x.is_nan()).then(|| (x + 0.0).to_bits());
    equal_keys(a.iter().map(key), b.iter().map(key))
}

/// The pairs of values of the same bytes, by the order of the first list.
fn equal_bytes(a: &[Datum], b: &[Datum]) -> Vec<(u32, u32)> {
    fn key(value: &Datum) -> Option<&[u8]> {
        match value {
            Datum::Bytes(x) => Some(x),
            _ => None,
        }
    }
    equal_keys(a.iter().map(key), b.iter().map(key))
}

fn equal_keys<K: Eq + std::hash::Hash>(
    a: impl Iterator<Item = Option<K>>,
    b: impl ExactSizeIterator<Item = Option<K>>,
) -> Vec<(u32, u32)> {
    let mut places: HashMap<K, u32> =
        HashMap::with_capacity_and_hasher(b.len(), Default::default());
    for (j, key) in (0u32..).zip(b) {
        if let Some(key) = key {
            places.entry(key).or_insert(j);
        }
    }
    (0u32..).zip(a).filter_map(|(i, key)| Some((i, *places.get(&key?)?))).collect()
}

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

    /// Which of the commonest values of two columns are equal, as places in their lists: for each
    /// of the first list the first in the second. Found once per pair of columns, as the same
    /// join is estimated from many sides.
    fn common_values(&self, op: Oid, v1: &Variable, v2: &Variable, collation: Oid) -> Common {
        let (Some(m1), Some(m2)) = (v1.slot(1), v2.slot(1)) else { return Rc::default() };
        let columns = v1.attno.zip(v2.attno).filter(|_| v1.rel != 0 && v2.rel != 0);
        let key = columns.map(|(a, b)| (op, collation, (v1.rel, a), (v2.rel, b)));
        let known = |k| self.common_values.borrow().iter().find(|c| c.0 == k).map(|c| c.1.clone());
        if let Some(found) = key.and_then(known) {
            return found;
        }
        let found: Common = match numbers_of(m1).zip(numbers_of(m2)) {
            Some((a, b)) if v1.ty == v2.ty => equal_numbers(&a, &b).into(),
            _ if v1.ty == v2.ty && self.equal_if_bytes_are(v1.ty, collation) => {
                equal_bytes(&m1.values, &m2.values).into()
            }
            _ => {
                let first = |a: &Datum| {
                    m2.values.iter().position(|b| self.same(op, a, v1, b, v2, collation))
                };
                let pair = |(i, a)| first(a).map(|j| (i as u32, j as u32));
                m1.values.iter().enumerate().filter_map(pair).collect()
            }
        };
        if let Some(key) = key {
            self.common_values.borrow_mut().push((key, found.clone()));
        }
        found
    }

    /// Whether values of the type are equal when, and only when, their bytes are.
    fn equal_if_bytes_are(&self, ty: Oid, collation: Oid) -> bool {
        match ty.0 {
            // bytea, uuid, name.
            17 | 2950 | 19 => true,
            // text, varchar.
            25 | 1043 => {
                let found = self.env.catalog.find_collation(collation);
                matches!(found, Ok(Some(c)) if c.is_deterministic)
            }
            _ => false,
        }
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
        self.env.holds(op, a, v1.ty, b, v2.ty, c)
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
        for &(i, j) in self.common_values(op, v1, v2, collation).iter() {
            let (i, j) = (i as usize, j as usize);
            if hit2[j] {
                continue;
            }
            hit1[i] = true;
            hit2[j] = true;
            both += f64::from(m1.numbers[i]) * f64::from(m2.numbers[j]);
            matches += 1.0;
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
            for &(i, j) in self.common_values(op, v1, v2, collation).iter() {
                if (j as usize) < used2 {
                    matched += f64::from(m1.numbers[i as usize]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_meets_the_first_that_equals_it() {
        let pairs = equal_numbers(&[3.0, -0.0, f64::NAN, 7.0], &[0.0, f64::NAN, 3.0, 3.0]);
        assert_eq!(pairs, [(0, 2), (1, 0)]);
        let text = |s: &str| Datum::Bytes(s.into());
        let pairs = equal_bytes(&[text("b"), Datum::Null], &[text("a"), text("b"), Datum::Null]);
        assert_eq!(pairs, [(0, 1)]);
    }
}
