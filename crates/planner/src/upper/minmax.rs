//! `min` and `max` of indexed columns: the first row of an ordered scan.

use super::Targets;
use crate::level::plan_query;
use crate::path::PathKind;
use crate::rel::BaseKind;
use crate::relids::Relids;
use crate::root::Root;
use crate::subselect::exec_param;
use base::{Oid, Result};
use ir::{
    Aggref, CmdType, Const, Expr, FromItem, NullTestKind, PlanNode, RteKind, SortGroupClause,
    SubLinkKind, SubPlan, TargetEntry, walk,
};
use std::rc::Rc;
use types::Datum;

impl Root<'_> {
    /// If all aggregates are min or max of a column that an index orders: a path that looks at
    /// one row for each.
    pub fn try_min_max(&mut self) -> Result<Option<(usize, Targets)>> {
        let q = &self.query;
        if !q.has_aggs
            || !q.group_clause.is_empty()
            || !q.grouping_sets.is_empty()
            || q.has_window_funcs
            || q.has_target_srfs
            || q.command != CmdType::Select
        {
            return Ok(None);
        }
        let [FromItem::Table(index)] = q.jointree.items.as_slice() else { return Ok(None) };
        let RteKind::Relation { relkind: 'r' | 'm', inherit: false, sample: None, .. } =
            q.rte(*index).kind
        else {
            // Inheritance trees are merged elsewhere; a table without children has no tree.
            return self.min_max_of_plain_table(*index);
        };
        self.min_max_over(*index)
    }

    fn min_max_of_plain_table(&mut self, index: u32) -> Result<Option<(usize, Targets)>> {
        let RteKind::Relation { relid, relkind: 'r' | 'm', sample: None, .. } =
            self.query.rte(index).kind
        else {
            return Ok(None);
        };
        if self.env.catalog.relation(relid)?.has_subclass {
            return Ok(None);
        }
        self.min_max_over(index)
    }

    fn min_max_over(&mut self, index: u32) -> Result<Option<(usize, Targets)>> {
        let mut aggs: Vec<Aggref> = Vec::new();
        for e in self.processed.iter().map(|t| &t.expr).chain(&self.having) {
            walk::each(e, &mut |x| {
                if let Expr::Agg(a) = x
                    && !aggs.contains(a)
                {
                    aggs.push((**a).clone());
                }
            });
        }
        if aggs.is_empty() || aggs.len() > 8 {
            return Ok(None);
        }
        let mut sort_ops = Vec::new();
        for a in &aggs {
            let desc = self.env.catalog.aggregate(a.agg)?;
            let simple = a.args.len() == 1
                && a.order.is_empty()
                && a.filter.is_none()
                && a.kind == 'n'
                && desc.sort_op.is_valid();
            let column = a.args.first().map(|t| crate::path::index::strip(&t.expr));
            if !simple || !matches!(column, Some(Expr::Var(_))) {
                return Ok(None);
            }
            sort_ops.push(desc.sort_op);
        }
        // Worth it only with an index on each column.
        let RteKind::Relation { relid, .. } = self.query.rte(index).kind else { return Ok(None) };
        let table = self.env.catalog.relation(relid)?;
        let indexed = aggs.iter().all(|a| {
            let Expr::Var(v) = crate::path::index::strip(&a.args[0].expr) else { return false };
            table.indexes.iter().any(|i| {
                i.am == Oid(403) && i.is_valid && i.columns[..i.n_keys as usize].contains(&v.attno)
            })
        });
        if !indexed {
            return Ok(None);
        }
        self.plan_min_max(index, &aggs, &sort_ops)
    }

    fn plan_min_max(
        &mut self,
        index: u32,
        aggs: &[Aggref],
        sort_ops: &[Oid],
    ) -> Result<Option<(usize, Targets)>> {
        let saved_plans = self.init_plans.len();
        let mut levels = Vec::new();
        let mut total = 0.0;
        for (a, op) in aggs.iter().zip(sort_ops) {
            let q = self.first_row_query(a, *op)?;
            let level = plan_query(self.env, self.global, q, self.cte_scopes(), 1.0, None)?;
            if !by_index(&level.plan) {
                self.init_plans.truncate(saved_plans);
                return Ok(None);
            }
            total += level.plan.total_cost;
            levels.push(level);
        }
        // The plain way: read the table once.
        let RteKind::Relation { relid, .. } = self.query.rte(index).kind else { return Ok(None) };
        let table = self.env.catalog.relation(relid)?;
        let pages = f64::from(self.env.sizes.pages(&table)?);
        let s = self.env.settings;
        if total >= pages * s.seq_page_cost + f64::from(table.tuples.max(0.0)) * s.cpu_tuple_cost
            && self.query.jointree.quals.is_none()
            && pages > 1.0
        {
            return Ok(None);
        }
        let mut params = Vec::new();
        for (a, level) in aggs.iter().zip(levels) {
            let param = self.global.borrow_mut().new_param(a.ty);
            let cost = level.plan.total_cost;
            let parallel_safe = level.plan.parallel_safe;
            self.global.borrow_mut().init_params.push(param);
            let plan = self.add_subplan(level);
            let name = {
                let mut g = self.global.borrow_mut();
                g.subplan_names += 1;
                format!("InitPlan {}", g.subplan_names)
            };
            self.init_plans.push(SubPlan {
                kind: SubLinkKind::Expr,
                of_arrays: false,
                test: None,
                param_ids: Vec::new(),
                plan,
                name,
                ty: a.ty,
                typmod: -1,
                collation: a.collation,
                use_hash_table: false,
                unknown_eq_false: false,
                parallel_safe,
                set_params: vec![param],
                par_params: Vec::new(),
                args: Vec::new(),
                startup_cost: cost,
                per_call_cost: 0.0,
            });
            params.push((a.clone(), param));
        }
        let substitute = |e: &mut Expr| {
            walk::replace(e, &mut |x| match x {
                Expr::Agg(a) => params
                    .iter()
                    .find(|(p, _)| *p == **a)
                    .map(|(p, id)| exec_param(*id, p.ty, -1, p.collation)),
                _ => None,
            });
        };
        for t in &mut self.processed {
            substitute(&mut t.expr);
        }
        let mut having = std::mem::take(&mut self.having);
        having.iter_mut().for_each(substitute);
        self.query.has_aggs = false;
        let target = Rc::new(super::target_of(self, &self.processed.clone()));
        let rel = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        self.rels[rel].target = target.clone();
        self.rels[rel].rows = 1.0;
        self.base = vec![None; self.query.rtable.len() + 1];
        let mut path = self.plain_path(rel, PathKind::Result { quals: having }, Default::default());
        path.target = target.clone();
        path.rows = 1.0;
        path.startup = total + target.cost.0;
        path.total = path.startup + target.cost.1 + self.env.settings.cpu_tuple_cost;
        self.rels[rel].add_path(path);
        self.rels[rel].set_cheapest();
        let t = Targets {
            joins: target.clone(),
            grouping: target.clone(),
            sort_input: target.clone(),
            final_: target,
        };
        Ok(Some((rel, t)))
    }

    /// `SELECT x FROM ... WHERE ... AND x IS NOT NULL ORDER BY x LIMIT 1`.
    fn first_row_query(&self, a: &Aggref, sort_op: Oid) -> Result<ir::Query> {
        let mut q = self.query.clone();
        let x = a.args[0].expr.clone();
        let not_null = Expr::NullTest {
            kind: NullTestKind::IsNotNull,
            arg: Box::new(x.clone()),
            is_row: false,
            location: None,
        };
        let quals = q.jointree.quals.take().map(walk::conjuncts).unwrap_or_default();
        q.jointree.quals = walk::conjoin(std::iter::once(not_null).chain(quals).collect());
        let mut t = TargetEntry::new(x, 1, None, false);
        t.sort_group_ref = 1;
        q.target_list = vec![t];
        q.having = None;
        q.has_aggs = false;
        q.distinct_clause.clear();
        q.has_distinct_on = false;
        let op = self.env.catalog.operator(sort_op)?;
        let amop = self.env.catalog.amops_of_operator(sort_op)?;
        let place = amop.iter().find(|m| m.am == Oid(403));
        let descending = place.is_some_and(|m| m.strategy == 5);
        let eq_op = match place {
            Some(m) => self.env.catalog.amop(m.family, m.left, m.right, 3)?.unwrap_or(op.oid),
            None => op.oid,
        };
        q.sort_clause = vec![SortGroupClause {
            target_ref: 1,
            eq_op,
            sort_op: Some(sort_op),
            descending,
            nulls_first: descending,
            hashable: false,
        }];
        q.limit_offset = None;
        q.limit_option = ir::LimitOption::Count;
        q.limit_count = Some(Expr::Const(Const {
            ty: Oid(20),
            typmod: -1,
            collation: Oid::INVALID,
            value: Datum::I64(1),
            location: None,
        }));
        Ok(q)
    }
}

/// True if the rows come from an index without a sort.
fn by_index(plan: &ir::Plan) -> bool {
    match &plan.node {
        PlanNode::Limit(_) | PlanNode::Result(_) => plan.outer.as_deref().is_some_and(by_index),
        PlanNode::IndexScan(_) | PlanNode::IndexOnlyScan(_) => true,
        _ => false,
    }
}
