//! Selectivity of comparisons with a known or unknown value.

use super::comparison::{Comparison, direction};
use super::pattern;
use super::variable::Variable;
use super::{DEFAULT_EQ, DEFAULT_INEQ, DEFAULT_MATCH};
use crate::root::Root;
use crate::watch;
use base::{Oid, Result};
use ir::Expr;
use types::Datum;

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
        let Some((v, var_left)) = self.split(args, var_rel)? else {
            return Ok(match desc.rest.0 {
                101 => DEFAULT_EQ,
                102 => 1.0 - DEFAULT_EQ,
                103 | 104 | 336 | 337 => DEFAULT_INEQ,
                1386 | 3169 | 3560 => 0.005,
                0 => 0.5,
                _ => DEFAULT_MATCH,
            });
        };
        let unknown = &args[usize::from(var_left)];
        let (other, watch) = watch::estimated(self.env, unknown)?;
        let compares = match desc.rest.0 {
            101 | 102 => true,
            103 | 104 | 336 | 337 => v.attno != Some(-1),
            _ => false,
        };
        if !compares && let Some(watch) = watch {
            watch.lose();
        }
        match desc.rest.0 {
            _ if compares => {
                let comparison = Comparison { op, v, var_left, collation };
                let share = comparison.share(self.env, &other)?;
                if let Some(watch) = watch {
                    watch.compared(comparison, unknown, share);
                }
                Ok(share)
            }
            103 | 104 | 336 | 337 => self.ctid_share(&v, op, var_left, &other),
            1814 | 1816..=1825 => pattern::selectivity(self, desc.rest.0, &v, &other, collation),
            1386 => Ok(0.001),
            139 => Ok(0.005),
            1300 => Ok(0.1),
            0 => Ok(0.5),
            _ => Ok(DEFAULT_MATCH),
        }
    }

    /// The side that is an expression over the relation, and whether it is the left.
    pub fn split(&self, args: &[Expr], var_rel: u32) -> Result<Option<(Variable, bool)>> {
        let left = self.variable(&args[0], var_rel)?;
        let right = self.variable(&args[1], var_rel)?;
        Ok(match (left.rel != 0, right.rel != 0) {
            (true, false) => Some((left, true)),
            (false, true) => Some((right, false)),
            _ => None,
        })
    }

    fn ctid_share(&self, v: &Variable, op: Oid, var_left: bool, other: &Expr) -> Result<f64> {
        let Expr::Const(c) = other else { return Ok(DEFAULT_INEQ) };
        let Some((_, less, inclusive)) = direction(self.env, op, var_left)? else {
            return Ok(DEFAULT_INEQ);
        };
        let (Some(rel), Datum::Bytes(b)) = (self.base_rel(v.rel), &c.value) else {
            return Ok(if c.value == Datum::Null { 0.0 } else { DEFAULT_INEQ });
        };
        if rel.pages <= 0.0 || b.len() < 6 {
            return Ok(1.0);
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
        Ok(if less { s } else { 1.0 - s })
    }
}
