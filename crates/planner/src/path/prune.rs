//! Partitions that a query's conditions rule out.

use crate::root::Root;
use base::Result;
use catalog::RelationDesc;
use catalog::partition::{BoundKind, PartitionBound, Partitioning};
use ir::{BoolOp, Expr, NullTestKind, OpKind};
use std::sync::Arc;
use types::Datum;

/// One level of the tree above a partition.
struct Level {
    partitioning: Partitioning,
    parent: Arc<RelationDesc>,
    child: base::Oid,
    bound: BoundKind,
}

impl Root<'_> {
    /// True if no row of a partition can pass the conditions, whose columns are those of entry
    /// `varno`, the table at the top.
    pub fn is_pruned(
        &self,
        top: &RelationDesc,
        varno: u32,
        member: &Arc<RelationDesc>,
        clauses: &[Expr],
    ) -> Result<bool> {
        if !self.env.settings.enable_partition_pruning || clauses.is_empty() {
            return Ok(false);
        }
        let mut below = member.clone();
        while below.is_partition && below.oid != top.oid {
            let (Some(parent), Some(text)) = (below.parents.first(), &below.partition_bound) else {
                break;
            };
            let parent = self.env.catalog.relation(*parent)?;
            let level = Level {
                partitioning: Partitioning::load(self.env.catalog, &parent)?,
                bound: PartitionBound::parse(text)?.kind,
                child: below.oid,
                parent: parent.clone(),
            };
            if !self.all_may(&level, top, varno, clauses)? {
                return Ok(true);
            }
            below = parent;
        }
        Ok(false)
    }

    fn all_may(
        &self,
        level: &Level,
        top: &RelationDesc,
        varno: u32,
        clauses: &[Expr],
    ) -> Result<bool> {
        for clause in clauses {
            if !self.may(level, top, varno, clause)? {
                return Ok(false);
            }
        }
        // Known values of all key columns say which partition it is.
        let Some(key) = &level.parent.partition_key else { return Ok(true) };
        let mut values = Vec::new();
        for column in 0..key.columns.len() {
            let mut found = None;
            for clause in clauses {
                if let Some((c, 3, value)) = self.comparison(level, top, varno, clause)?
                    && c == column
                    && !value.is_null()
                {
                    found = Some(value);
                }
            }
            match found {
                Some(v) => values.push(v),
                None => return Ok(true),
            }
        }
        match level.partitioning.find(&values) {
            Ok(found) => Ok(found == Some(level.child)),
            Err(_) => Ok(true),
        }
    }

    /// Whether the partition may have rows for which a condition is true.
    fn may(&self, level: &Level, top: &RelationDesc, varno: u32, clause: &Expr) -> Result<bool> {
        match clause {
            Expr::Bool { op: BoolOp::And, args, .. } => {
                for a in args {
                    if !self.may(level, top, varno, a)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expr::Bool { op: BoolOp::Or, args, .. } => {
                for a in args {
                    let parts: Vec<Expr> = ir::walk::conjuncts(a.clone());
                    if self.all_may(level, top, varno, &parts)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::ScalarArrayOp(s) if s.use_or => {
                let [arg, Expr::Const(c)] = &s.args[..] else { return Ok(true) };
                if c.value.is_null() {
                    return Ok(false);
                }
                let Some(column) = self.key_column(level, top, varno, arg) else {
                    return Ok(true);
                };
                let family = level.partitioning.keys[column].family;
                let Some(amop) = self.env.catalog.operator_in_family(s.op, family)? else {
                    return Ok(true);
                };
                let strategy = if level.partitioning.strategy == b'h' { 3 } else { amop.strategy };
                for value in catalog::vector::to_any(&c.value)? {
                    if !value.is_null() && self.admits(level, column, strategy, &value)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::NullTest { kind, arg, is_row: false, .. } => {
                let Some(_) = self.key_column(level, top, varno, arg) else { return Ok(true) };
                let null = *kind == NullTestKind::IsNull;
                Ok(match &level.bound {
                    BoundKind::List(list) => list.iter().any(|v| v.is_null() == null),
                    BoundKind::Range(..) => !null,
                    _ => true,
                })
            }
            Expr::Const(c) => Ok(!matches!(c.value, Datum::Bool(false) | Datum::Null)),
            _ => match self.comparison(level, top, varno, clause)? {
                Some((_, _, value)) if value.is_null() => Ok(false),
                Some((column, strategy, value)) => self.admits(level, column, strategy, &value),
                None => Ok(true),
            },
        }
    }

    fn admits(&self, level: &Level, column: usize, strategy: i16, value: &Datum) -> Result<bool> {
        let p = &level.partitioning;
        let single = p.keys.len() == 1 && strategy == 3;
        match &level.bound {
            // The default partition has what no other takes.
            BoundKind::Default if single => Ok(p.find(std::slice::from_ref(value))? == p.default),
            BoundKind::Default => Ok(true),
            BoundKind::Hash(..) if single => {
                Ok(p.find(std::slice::from_ref(value))? == Some(level.child))
            }
            bound => p.may_match(bound, column, strategy, value),
        }
    }

    /// Which key column an expression is.
    fn key_column(&self, level: &Level, top: &RelationDesc, varno: u32, e: &Expr) -> Option<usize> {
        let e = match e {
            Expr::Relabel { arg, .. } => arg,
            e => e,
        };
        let Expr::Var(v) = e else { return None };
        if v.varno != varno || v.levels_up != 0 || v.attno <= 0 {
            return None;
        }
        let name = &top.tuple.attrs[v.attno as usize - 1].name;
        let own = level.parent.column_number(name)?;
        level.parent.partition_key.as_ref()?.columns.iter().position(|n| *n == own)
    }

    /// `key <op> constant`: the key column, the btree strategy, the constant.
    fn comparison(
        &self,
        level: &Level,
        top: &RelationDesc,
        varno: u32,
        clause: &Expr,
    ) -> Result<Option<(usize, i16, Datum)>> {
        let Expr::Op(o) = clause else { return Ok(None) };
        let (OpKind::Plain, [left, right]) = (o.kind, &o.args[..]) else { return Ok(None) };
        let constant = |e: &Expr| match e {
            Expr::Const(c) => Some(c.value.clone()),
            _ => None,
        };
        let mut op = o.op;
        let (column, value) = match (self.key_column(level, top, varno, left), constant(right)) {
            (Some(c), Some(v)) => (c, v),
            _ => match (self.key_column(level, top, varno, right), constant(left)) {
                (Some(c), Some(v)) => {
                    op = self.env.catalog.operator(op)?.commutator;
                    (c, v)
                }
                _ => return Ok(None),
            },
        };
        let key = &level.partitioning.keys[column];
        if key.collation.is_valid()
            && o.input_collation.is_valid()
            && key.collation != o.input_collation
        {
            return Ok(None);
        }
        let Some(amop) = self.env.catalog.operator_in_family(op, key.family)? else {
            return Ok(None);
        };
        let strategy = if level.partitioning.strategy == b'h' { 3 } else { amop.strategy };
        Ok(Some((column, strategy, value)))
    }
}
