//! Plans of scans.

use crate::path::index::strip;
use crate::path::scan::entries;
use crate::path::{BitmapTree, IndexClause, IndexPath, Path, PathKind};
use crate::rel::{BaseKind, NestVar};
use crate::root::Root;
use base::Result;
use ir::{
    BitmapCombine, BitmapHeapScan, BitmapIndexScan, BoolOp, CteScan, Expr, FunctionScan, INDEX_VAR,
    IndexOnlyScan, IndexScan, Plan, PlanNode, RteKind, SampleScan, SeqScan, SubqueryScan,
    TargetEntry, TidRangeScan, TidScan, ValuesScan, Var, WorkTableScan, walk,
};
use std::rc::Rc;

impl Root<'_> {
    pub(super) fn create_scan(&mut self, path: &Rc<Path>) -> Result<Plan> {
        let scanrel = self.rels[path.rel].rtindex;
        let mut quals = Vec::new();
        if !matches!(path.kind, PathKind::Index(_) | PathKind::Bitmap(_)) {
            quals = self.scan_quals(path);
        }
        let mut plan = match &path.kind {
            PathKind::SeqScan => Plan::new(PlanNode::SeqScan(SeqScan { scanrel })),
            PathKind::SampleScan => {
                let RteKind::Relation { sample: Some(sample), .. } = &self.query.rte(scanrel).kind
                else {
                    return Err(base::err!(INTERNAL_ERROR, "no TABLESAMPLE"));
                };
                let mut sample = (**sample).clone();
                for e in sample.args.iter_mut().chain(&mut sample.repeatable) {
                    *e = self.with_nest_params(e.clone());
                }
                Plan::new(PlanNode::SampleScan(SampleScan { scanrel, sample }))
            }
            PathKind::Tid(tids) => {
                let tid_quals: Vec<Expr> =
                    tids.iter().map(|t| self.with_nest_params(t.clone())).collect();
                // The scan sees to the condition that its own were taken from.
                let settled = |q: &Expr| match (&tid_quals[..], q) {
                    ([one], q) if one == q => true,
                    (many, Expr::Bool { op: ir::BoolOp::Or, args, .. }) => args == many,
                    _ => false,
                };
                quals.retain(|q| !settled(q));
                Plan::new(PlanNode::TidScan(TidScan { scanrel, tid_quals }))
            }
            PathKind::TidRange(tids) => {
                quals.retain(|q| !tids.contains(q));
                let tid_quals = tids.clone();
                Plan::new(PlanNode::TidRangeScan(TidRangeScan { scanrel, tid_quals }))
            }
            PathKind::Index(p) => return self.create_index_scan(path, p),
            PathKind::Bitmap(tree) => return self.create_bitmap_scan(path, tree),
            PathKind::Subquery => self.create_subquery_scan(path, scanrel)?,
            PathKind::Function => {
                let RteKind::Function { functions, ordinality } =
                    self.query.rte(scanrel).kind.clone()
                else {
                    return Err(base::err!(INTERNAL_ERROR, "no function"));
                };
                let mut functions = functions;
                for f in &mut functions {
                    f.expr = self.with_nest_params(f.expr.clone());
                }
                Plan::new(PlanNode::FunctionScan(FunctionScan { scanrel, functions, ordinality }))
            }
            PathKind::Values => {
                let RteKind::Values { lists, .. } = self.query.rte(scanrel).kind.clone() else {
                    return Err(base::err!(INTERNAL_ERROR, "no VALUES"));
                };
                let mut lists = lists;
                for e in lists.iter_mut().flatten() {
                    *e = self.with_nest_params(e.clone());
                }
                Plan::new(PlanNode::ValuesScan(ValuesScan { scanrel, lists }))
            }
            PathKind::Cte { subplan, param } => {
                Plan::new(PlanNode::CteScan(CteScan { scanrel, subplan: *subplan, param: *param }))
            }
            PathKind::WorkTable { param } => {
                Plan::new(PlanNode::WorkTableScan(WorkTableScan { scanrel, param: *param }))
            }
            _ => return Err(base::err!(INTERNAL_ERROR, "not a scan")),
        };
        plan.qual = quals;
        plan.target = self.param_target(path);
        Ok(plan)
    }

    /// The path's columns; those of outer relations (LATERAL) as params.
    fn param_target(&mut self, path: &Path) -> Vec<TargetEntry> {
        let mut list = entries(&path.target);
        for t in &mut list {
            t.expr = self.with_nest_params(t.expr.clone());
        }
        list
    }

    fn create_subquery_scan(&mut self, path: &Path, scanrel: u32) -> Result<Plan> {
        let BaseKind::Subquery(info) = self.rels[path.rel].kind.clone() else {
            return Err(base::err!(INTERNAL_ERROR, "not a subquery"));
        };
        for r in self.lateral_refs.get(&scanrel).cloned().unwrap_or_default() {
            // The value itself may be a column further out, and then a param already.
            if !self.nest_vars.iter().any(|n| n.param == r.param) {
                self.nest_vars.push(NestVar { expr: r.expr, param: r.param });
            }
        }
        let by = self.query.rtable.len() as u32;
        let mut subplan = info.plan.clone();
        super::shift_plan(&mut subplan, by);
        self.query.rtable.extend(info.rtable.iter().cloned());
        Ok(Plan::new(PlanNode::SubqueryScan(SubqueryScan { scanrel, subplan: Box::new(subplan) })))
    }

    /// The conditions for the index, its columns being of `INDEX_VAR`; and the same as written.
    fn index_quals(&mut self, p: &IndexPath) -> (Vec<Expr>, Vec<Expr>) {
        let mut quals = Vec::new();
        let mut orig = Vec::new();
        for c in &p.clauses {
            for q in &c.quals {
                orig.push(self.with_nest_params(q.clone()));
                let q = index_form(q, p, c);
                quals.push(self.with_nest_params(q));
            }
        }
        (quals, orig)
    }

    fn create_index_scan(&mut self, path: &Rc<Path>, p: &IndexPath) -> Result<Plan> {
        let scanrel = self.rels[path.rel].rtindex;
        let mut list = self.rels[path.rel].restrictions.clone();
        list.extend(path.param_clauses.iter().cloned());
        let mut left = self.unsettled(&list, p);
        left.retain(|r| !p.info.predicate.contains(&r.clause));
        // What an equality of the same class as an index condition says is settled too.
        left.retain(|r| {
            !p.clauses.iter().any(|c| {
                r.left_ec.get().is_some()
                    && c.origin.left_ec.get() == r.left_ec.get()
                    && c.origin.clause == r.clause
            })
        });
        let exprs = self.ordered(&left);
        let qual: Vec<Expr> = exprs.into_iter().map(|e| self.with_nest_params(e)).collect();
        let (index_qual, index_qual_orig) = self.index_quals(p);
        let mut plan = if p.only {
            let index_target = p
                .info
                .columns
                .iter()
                .enumerate()
                .map(|(i, c)| TargetEntry::new(c.clone(), i as i16 + 1, None, false))
                .collect();
            Plan::new(PlanNode::IndexOnlyScan(Box::new(IndexOnlyScan {
                scanrel,
                index: p.info.desc.oid,
                recheck_qual: index_qual.clone(),
                index_qual,
                order_by: Vec::new(),
                index_target,
                direction: p.direction,
            })))
        } else {
            Plan::new(PlanNode::IndexScan(Box::new(IndexScan {
                scanrel,
                index: p.info.desc.oid,
                index_qual,
                index_qual_orig,
                order_by: Vec::new(),
                order_by_orig: Vec::new(),
                order_by_ops: Vec::new(),
                direction: p.direction,
            })))
        };
        plan.qual = qual;
        plan.target = self.param_target(path);
        Ok(plan)
    }

    fn create_bitmap_scan(&mut self, path: &Rc<Path>, tree: &BitmapTree) -> Result<Plan> {
        let scanrel = self.rels[path.rel].rtindex;
        let (bitmap, recheck) = self.create_bitmap(path.rel, tree)?;
        let quals: Vec<Expr> =
            self.scan_quals(path).into_iter().filter(|q| !recheck.contains(q)).collect();
        let mut plan =
            Plan::new(PlanNode::BitmapHeapScan(BitmapHeapScan { scanrel, recheck_qual: recheck }));
        plan.qual = quals;
        plan.target = self.param_target(path);
        plan.outer = Some(Box::new(bitmap));
        Ok(plan)
    }

    fn create_bitmap(&mut self, rel: usize, tree: &BitmapTree) -> Result<(Plan, Vec<Expr>)> {
        let tuples = self.rels[rel].tuples;
        let (cost, selectivity) = self.bitmap_cost(tree, tuples);
        let (mut plan, recheck) = match tree {
            BitmapTree::Index(p) => {
                let (index_qual, index_qual_orig) = self.index_quals(p);
                // What the index cannot settle is tested anyway.
                let mut recheck: Vec<Expr> = Vec::new();
                for c in p.clauses.iter().filter(|c| !c.lossy) {
                    let e = self.with_nest_params(c.origin.clause.clone());
                    if !recheck.contains(&e) {
                        recheck.push(e);
                    }
                }
                for e in &p.info.predicate {
                    if !recheck.contains(e) {
                        recheck.push(e.clone());
                    }
                }
                let scan = BitmapIndexScan {
                    scanrel: self.rels[rel].rtindex,
                    index: p.info.desc.oid,
                    index_qual,
                    index_qual_orig,
                };
                let mut plan = Plan::new(PlanNode::BitmapIndexScan(Box::new(scan)));
                plan.total_cost = p.index_cost;
                (plan, recheck)
            }
            BitmapTree::And { parts, .. } => {
                let mut children = Vec::new();
                let mut recheck: Vec<Expr> = Vec::new();
                for p in parts {
                    let (c, r) = self.create_bitmap(rel, p)?;
                    children.push(c);
                    r.into_iter().for_each(|e| {
                        if !recheck.contains(&e) {
                            recheck.push(e);
                        }
                    });
                }
                let mut plan = Plan::new(PlanNode::BitmapAnd(BitmapCombine { children }));
                plan.startup_cost = cost;
                plan.total_cost = cost;
                (plan, recheck)
            }
            BitmapTree::Or { parts, .. } => {
                let mut children = Vec::new();
                let mut arms = Vec::new();
                for p in parts {
                    let (c, r) = self.create_bitmap(rel, p)?;
                    children.push(c);
                    arms.extend(walk::conjoin(r));
                }
                let recheck = Expr::Bool { op: BoolOp::Or, args: arms, location: None };
                let mut plan = Plan::new(PlanNode::BitmapOr(BitmapCombine { children }));
                plan.startup_cost = cost;
                plan.total_cost = cost;
                (plan, vec![recheck])
            }
        };
        plan.rows = crate::cost::clamp_rows(selectivity * tuples);
        Ok((plan, recheck))
    }
}

/// The condition with the index's column in place of the table's expression.
fn index_form(q: &Expr, p: &IndexPath, c: &IndexClause) -> Expr {
    let column = |n: usize| {
        let key = &p.info.columns[n];
        let mut var = Var::new(INDEX_VAR, n as i16 + 1, key.ty(), key.typmod(), key.collation());
        if let Expr::Var(v) = key {
            (var.syn_no, var.syn_attno) = (v.varno, v.attno);
        }
        Expr::Var(var)
    };
    let var = column(c.column);
    let mut q = q.clone();
    match &mut q {
        Expr::Op(o) => o.args[0] = var,
        Expr::ScalarArrayOp(s) => s.args[0] = var,
        Expr::NullTest { arg, .. } => **arg = var,
        Expr::RowCompare { left, .. } => {
            for (i, e) in left.iter_mut().enumerate() {
                let is_key = |k: &Expr| strip(k) == strip(e);
                let found = if i == 0 { None } else { p.info.columns.iter().position(is_key) };
                *e = column(found.unwrap_or(c.column));
            }
        }
        _ => {}
    }
    q
}
