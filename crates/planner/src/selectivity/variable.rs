//! What statistics say of an expression's values, and how many groups expressions make.

use super::DEFAULT_NUM_DISTINCT;
use crate::rel::{BaseKind, ExtendedInfo};
use crate::root::Root;
use base::{Oid, Result};
use catalog::{StatisticDesc, StatisticSlot};
use ir::Expr;
use std::sync::Arc;
use types::ext_stats::NDistinct;

/// An expression and what is known of its values.
pub struct Variable {
    pub expr: Expr,
    /// Range-table index, 0 if it is not of a single relation.
    pub rel: u32,
    pub attno: Option<i16>,
    pub stats: Option<Arc<StatisticDesc>>,
    /// Rows of the relation before and after its conditions.
    pub tuples: f64,
    pub rows: f64,
    pub unique: bool,
    pub ty: Oid,
}

impl Variable {
    /// True for `ctid` and its kind, which are never null.
    pub fn is_system_column(&self) -> bool {
        self.attno.is_some_and(|a| a < 0)
    }

    /// A slot of the statistics, by kind.
    pub fn slot(&self, kind: i16) -> Option<&StatisticSlot> {
        self.stats.as_ref()?.slots.iter().find(|s| s.kind == kind)
    }

    /// Share of nulls.
    pub fn null_frac(&self) -> f64 {
        self.stats.as_ref().map_or(0.0, |s| f64::from(s.null_frac))
    }

    /// Number of distinct values, and whether it is a mere default.
    pub fn num_distinct(&self) -> (f64, bool) {
        let mut distinct = 0.0;
        let mut nulls = 0.0;
        if let Some(s) = &self.stats {
            distinct = f64::from(s.distinct);
            nulls = f64::from(s.null_frac);
        } else if self.ty == Oid(16) {
            distinct = 2.0;
        } else if let Some(a) = self.attno {
            // ctid is unique; tableoid has one value.
            distinct = match a {
                -1 => -1.0,
                -6 => 1.0,
                _ => 0.0,
            };
        }
        if self.unique {
            distinct = -(1.0 - nulls);
        }
        if distinct > 0.0 {
            return (distinct.round().max(1.0), false);
        }
        if self.rel == 0 || self.tuples <= 0.0 {
            return (DEFAULT_NUM_DISTINCT, true);
        }
        if distinct < 0.0 {
            return ((-distinct * self.tuples).round().max(1.0), false);
        }
        if self.tuples < DEFAULT_NUM_DISTINCT {
            return (self.tuples.round().max(1.0), false);
        }
        (DEFAULT_NUM_DISTINCT, true)
    }
}

fn strip(e: &Expr) -> &Expr {
    match e {
        Expr::Relabel { arg, .. } => strip(arg),
        other => other,
    }
}

impl Root<'_> {
    /// What is known of an expression. With `var_rel`, other relations' columns count as known.
    pub fn variable(&self, expr: &Expr, var_rel: u32) -> Result<Variable> {
        let expr = strip(expr);
        let mut v = Variable {
            expr: expr.clone(),
            rel: 0,
            attno: None,
            stats: None,
            tuples: 0.0,
            rows: 0.0,
            unique: false,
            ty: expr.ty(),
        };
        if let Expr::Var(var) = expr
            && (var_rel == 0 || var.varno == var_rel)
        {
            v.rel = var.varno;
            v.attno = Some(var.attno);
            if let Some(rel) = self.base_rel(var.varno) {
                v.tuples = rel.tuples;
                v.rows = rel.rows;
                self.note_statistics(&mut v, var.varno, var.attno)?;
            }
            return Ok(v);
        }
        let relids = self.relids_of(expr);
        let index = match relids.singleton() {
            Some(i) if var_rel == 0 || var_rel == i => i,
            _ if var_rel != 0 && relids.contains(var_rel) => var_rel,
            _ => return Ok(v),
        };
        let Some(rel) = self.base_rel(index) else { return Ok(v) };
        v.rel = index;
        v.tuples = rel.tuples;
        v.rows = rel.rows;
        // An index on the same expression has statistics of it.
        for info in &rel.indexes {
            let Some(pos) = info.columns.iter().position(|c| strip(c) == expr) else { continue };
            if info.desc.is_unique && info.desc.n_keys == 1 && info.predicate.is_empty() {
                v.unique = true;
            }
            v.stats = self.statistic(info.desc.oid, pos as i16 + 1, false)?;
            if v.stats.is_some() {
                return Ok(v);
            }
        }
        for info in &rel.extended {
            let Some(of_exprs) = &info.desc.of_exprs else { continue };
            if let Some(at) = info.exprs.iter().position(|e| strip(e) == expr) {
                v.stats = of_exprs.get(at).cloned().flatten();
                break;
            }
        }
        Ok(v)
    }

    fn note_statistics(&self, v: &mut Variable, index: u32, attno: i16) -> Result<()> {
        let Some(rel) = self.base_rel(index) else { return Ok(()) };
        match &rel.kind {
            BaseKind::Table(desc) | BaseKind::AppendRel(desc) => {
                if attno > 0 {
                    let inherited = matches!(rel.kind, BaseKind::AppendRel(_));
                    v.stats = self.statistic(desc.oid, attno, inherited)?;
                }
                v.unique = rel.indexes.iter().any(|i| {
                    i.desc.is_unique
                        && i.desc.n_keys == 1
                        && i.desc.columns[0] == attno
                        && (i.predicate.is_empty() || i.predicate_ok)
                });
            }
            BaseKind::Subquery(info) => {
                v.unique = info.unique_columns.iter().any(|c| c.as_slice() == [attno]);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Root<'_> {
    /// How many groups those of some expressions over a relation make together that statistics
    /// know most of; these are taken out of the list.
    pub fn groups_together<T>(
        &self,
        rel: u32,
        list: &mut Vec<T>,
        expr: impl Fn(&T) -> &Expr,
    ) -> Option<f64> {
        let rel = self.base_rel(rel)?;
        // Expressions of it, columns of it, and the statistics.
        let mut best: Option<(usize, usize, &ExtendedInfo, &[NDistinct])> = None;
        let place = |info: &ExtendedInfo, e: &Expr| match strip(e) {
            Expr::Var(v) => info.desc.columns.contains(&v.attno).then_some(v.attno),
            e => info.exprs.iter().position(|x| x == e).map(|i| -1 - i as i16),
        };
        for info in &rel.extended {
            let Some(items) = &info.desc.distinct else { continue };
            let found: Vec<i16> = list.iter().filter_map(|t| place(info, expr(t))).collect();
            let exprs = found.iter().filter(|n| **n < 0).count();
            let columns = found.len() - exprs;
            let better = best.is_none_or(|b| (exprs, columns) > (b.0, b.1));
            if found.len() >= 2 && better {
                best = Some((exprs, columns, info, items));
            }
        }
        let (_, _, info, items) = best?;
        let found: Vec<i16> = list.iter().filter_map(|t| place(info, expr(t))).collect();
        let item = items.iter().find(|i| {
            i.attributes.len() == found.len() && i.attributes.iter().all(|a| found.contains(a))
        })?;
        list.retain(|t| place(info, expr(t)).is_none());
        Some(item.groups)
    }
}

/// One expression that groups are made by.
struct GroupVar {
    expr: Expr,
    rel: u32,
    distinct: f64,
}

/// How many groups `exprs` make of `rows` rows.
pub fn estimate_groups(root: &Root, exprs: &[Expr], rows: f64) -> Result<f64> {
    let rows = crate::cost::clamp_rows(rows);
    if exprs.is_empty() {
        return Ok(1.0);
    }
    let mut vars: Vec<GroupVar> = Vec::new();
    let mut distinct: f64 = 1.0;
    for e in exprs {
        if e.ty() == Oid(16) && !matches!(e, Expr::Var(_)) {
            distinct *= 2.0;
            continue;
        }
        let v = root.variable(e, 0)?;
        if v.stats.is_some() || v.unique {
            add_group_var(root, &mut vars, &v)?;
            continue;
        }
        let mut columns = Vec::new();
        ir::walk::each(e, &mut |x| {
            if let Expr::Var(var) = x
                && var.levels_up == 0
                && !columns.contains(x)
            {
                columns.push(x.clone());
            }
        });
        if columns.is_empty() {
            if crate::prep::volatility::has_volatile(e, root.env)? {
                return Ok(rows);
            }
            continue;
        }
        for c in columns {
            let v = root.variable(&c, 0)?;
            add_group_var(root, &mut vars, &v)?;
        }
    }
    if vars.is_empty() {
        return Ok(distinct.min(rows).ceil().max(1.0));
    }
    while let Some(first) = vars.first() {
        let rel = first.rel;
        let (of_rel, rest): (Vec<GroupVar>, Vec<GroupVar>) =
            vars.into_iter().partition(|g| g.rel == rel);
        vars = rest;
        let (mut product, mut largest, mut count) = (1.0, 1.0f64, 0);
        let mut of_rel: Vec<(Expr, f64)> =
            of_rel.into_iter().map(|g| (g.expr, g.distinct)).collect();
        while let Some(together) = root.groups_together(rel, &mut of_rel, |g| &g.0) {
            product *= together;
            largest = largest.max(together);
            count += 1;
        }
        for (_, own) in of_rel {
            product *= own;
            largest = largest.max(own);
            count += 1;
        }
        if let Some(r) = root.base_rel(rel)
            && r.tuples > 0.0
        {
            // Several columns of one table are rarely independent.
            let mut clamp = r.tuples;
            if count > 1 {
                clamp = (clamp * 0.1).max(largest.min(r.tuples));
            }
            product = product.min(clamp);
            // Not all values survive the table's conditions.
            if product > 0.0 && r.rows < r.tuples {
                product *= 1.0 - ((r.tuples - r.rows) / r.tuples).powf(r.tuples / product);
            }
            product = crate::cost::clamp_rows(product);
        }
        distinct *= product;
    }
    Ok(distinct.ceil().min(rows).max(1.0))
}

fn add_group_var(root: &Root, vars: &mut Vec<GroupVar>, v: &Variable) -> Result<()> {
    let (distinct, _) = v.num_distinct();
    // Expressions known to be equal count once: the one with fewer values.
    for i in 0..vars.len() {
        if vars[i].expr == v.expr {
            return Ok(());
        }
        let same_class = root.ecs.iter().any(|ec| {
            ec.merged.is_none()
                && ec.members.iter().any(|m| m.expr == v.expr)
                && ec.members.iter().any(|m| m.expr == vars[i].expr)
        });
        if same_class && vars[i].rel != v.rel {
            if vars[i].distinct <= distinct {
                return Ok(());
            }
            vars.remove(i);
            break;
        }
    }
    vars.push(GroupVar { expr: v.expr.clone(), rel: v.rel, distinct });
    Ok(())
}
