//! From the chosen path to the plan.
//!
//! Expressions stay in terms of the query's range table until [`fixup`] turns columns of
//! children into `OUTER_VAR` and `INNER_VAR`.

mod embed;
pub mod fixup;
mod join;
mod modify;
pub mod params;
mod scan;
mod shape;

pub use embed::shift_plan;

use crate::level::Level;
use crate::path::{Path, PathKind, scan::entries};
use crate::rel::{NestVar, PathKey, Restriction};
use crate::relids::Relids;
use crate::root::Root;
use crate::subselect::exec_param;
use base::{Oid, Result, err};
use ir::{Expr, OUTER_VAR, Plan, PlanNode, Result_, SortKey, TargetEntry, Var, walk};
use std::rc::Rc;

/// The child's columns, handed on as they are (expressions still in query terms).
pub fn pass_through(target: &[TargetEntry]) -> Vec<TargetEntry> {
    target
        .iter()
        .enumerate()
        .map(|(i, t)| {
            let mut out = t.clone();
            let e = &t.expr;
            let mut var = Var::new(OUTER_VAR, i as i16 + 1, e.ty(), e.typmod(), e.collation());
            if let Expr::Var(v) = e {
                (var.syn_no, var.syn_attno) = (v.syn_no, v.syn_attno);
            }
            out.expr = Expr::Var(var);
            out
        })
        .collect()
}

/// The plan as one that a single worker runs, for `debug_parallel_query`.
pub fn in_worker(mut top: Plan, settings: &crate::settings::PlannerSettings) -> Plan {
    let node = ir::Gather { workers: 1, single_copy: true, init_params: Vec::new() };
    let mut gather = Plan::new(PlanNode::Gather(node));
    gather.startup_cost = top.startup_cost + settings.parallel_setup_cost;
    gather.total_cost =
        top.total_cost + settings.parallel_setup_cost + settings.parallel_tuple_cost * top.rows;
    (gather.rows, gather.width) = (top.rows, top.width);
    gather.disabled_nodes = top.disabled_nodes;
    gather.target = pass_through(&top.target);
    gather.init_plans = std::mem::take(&mut top.init_plans);
    gather.outer = Some(Box::new(top));
    gather
}

impl Root<'_> {
    /// Makes the level's plan of its best path.
    pub fn make_level(mut self, best: &Rc<Path>) -> Result<Level> {
        let order = self.output_order(best)?;
        let mut plan = self.create(best)?;
        self.label_output(&mut plan);
        if self.init_plans.iter().any(|s| !s.parallel_safe) {
            plan.parallel_safe = false;
        }
        plan.init_plans = std::mem::take(&mut self.init_plans);
        fixup::fix(&mut plan);
        let unique_columns = self.unique_output();
        let mut rtable = std::mem::take(&mut self.query.rtable);
        embed::lighten(&mut rtable);
        Ok(Level { plan, rtable, row_marks: self.row_marks, order, unique_columns })
    }

    /// Names, junk marks and origins of the output columns.
    fn label_output(&self, plan: &mut Plan) {
        if matches!(plan.node, PlanNode::ModifyTable(_)) {
            return;
        }
        for (t, p) in plan.target.iter_mut().zip(&self.processed) {
            t.name = p.name.clone();
            t.junk = p.junk;
            t.sort_group_ref = p.sort_group_ref;
            (t.orig_table, t.orig_column) = (p.orig_table, p.orig_column);
        }
        for t in plan.target.iter_mut().skip(self.processed.len()) {
            t.junk = true;
        }
        // LockRows finds its columns in its child by name.
        if matches!(plan.node, PlanNode::LockRows(_) | PlanNode::Limit(_))
            && let Some(child) = &mut plan.outer
        {
            self.label_output(child);
        }
    }

    /// The order of the output in terms of its columns.
    fn output_order(&self, best: &Path) -> Result<Vec<(i16, Oid, bool, bool)>> {
        let mut out = Vec::new();
        for k in &best.pathkeys {
            let ec = &self.ecs[self.canonical_ec(k.ec)];
            let found = best.target.exprs.iter().enumerate().find_map(|(i, e)| {
                ec.members.iter().find(|m| m.expr == *e).map(|m| (i as i16 + 1, m.ty))
            });
            let Some((column, ty)) = found else { break };
            let strategy = if k.descending { 5 } else { 1 };
            let Some(op) = self.env.catalog.amop(k.family, ty, ty, strategy)? else { break };
            out.push((column, op, k.descending, k.nulls_first));
        }
        Ok(out)
    }

    /// Sets of output columns without duplicates: the columns of DISTINCT and of GROUP BY.
    fn unique_output(&self) -> Vec<Vec<i16>> {
        let mut out = Vec::new();
        let columns = |refs: Vec<u32>| -> Option<Vec<i16>> {
            refs.iter()
                .map(|r| {
                    self.processed
                        .iter()
                        .find(|t| t.sort_group_ref == *r && !t.junk)
                        .map(|t| t.resno)
                })
                .collect()
        };
        let has_srf = self.processed.iter().any(|t| crate::prep::volatility::has_srf(&t.expr));
        if !self.query.distinct_clause.is_empty() {
            out.extend(columns(self.query.distinct_clause.iter().map(|c| c.target_ref).collect()));
        }
        if !self.query.group_clause.is_empty() && self.query.grouping_sets.is_empty() && !has_srf {
            out.extend(columns(self.query.group_clause.iter().map(|c| c.target_ref).collect()));
        }
        if self.query.has_aggs && self.query.group_clause.is_empty() && !has_srf {
            // One row at most: any set of columns.
            out.push(Vec::new());
        }
        if let Some(op) = &self.query.set_operations
            && !op.all
        {
            out.push((1..=op.col_types.len() as i16).collect());
        }
        out
    }

    /// The plan of a path.
    pub fn create(&mut self, path: &Rc<Path>) -> Result<Plan> {
        let mut plan = match &path.kind {
            PathKind::SeqScan
            | PathKind::SampleScan
            | PathKind::Index(_)
            | PathKind::Bitmap(_)
            | PathKind::Tid(_)
            | PathKind::TidRange(_)
            | PathKind::Subquery
            | PathKind::Function
            | PathKind::Values
            | PathKind::Cte { .. }
            | PathKind::WorkTable { .. } => self.create_scan(path)?,
            PathKind::NestLoop(_) | PathKind::Merge(_) | PathKind::Hash { .. } => {
                self.create_join(path)?
            }
            PathKind::Modify { .. } => self.create_modify(path)?,
            PathKind::Result { quals } => {
                let mut constant_qual = quals.clone();
                if !self.rels[path.rel].relids.is_empty() {
                    constant_qual.extend(self.scan_quals(path).into_iter().filter(|_| false));
                }
                let mut p = Plan::new(PlanNode::Result(Result_ { constant_qual }));
                p.target = entries(&path.target);
                if self.rels[path.rel].rtindex != 0 && quals.is_empty() {
                    p.qual = self.scan_quals(path);
                }
                p
            }
            _ => self.create_shape(path)?,
        };
        if plan.total_cost == 0.0 || !keeps_own_cost(&path.kind) {
            plan.startup_cost = path.startup;
            plan.total_cost = path.total;
            plan.rows = path.rows;
            plan.width = path.target.width;
            plan.disabled_nodes = path.disabled;
        }
        plan.parallel_safe = path.parallel_safe;
        plan.parallel_aware |= match &path.kind {
            PathKind::SeqScan | PathKind::Index(_) | PathKind::Bitmap(_) => path.workers > 0,
            PathKind::Hash { shared, .. } => {
                if let Some(hash) = &mut plan.inner {
                    hash.parallel_aware = *shared;
                }
                *shared
            }
            PathKind::Append { shared_from, .. } => shared_from.is_some(),
            _ => false,
        };
        let gates = self.gating_quals(path);
        Ok(if gates.is_empty() { plan } else { gated(plan, gates) })
    }

    /// Conditions without columns that decide about no more than what this path scans or joins:
    /// an outer join is above it.
    fn gating_quals(&self, path: &Path) -> Vec<Expr> {
        if !self.has_pseudoconstant {
            return Vec::new();
        }
        let rel = &self.rels[path.rel];
        let list = match &path.kind {
            PathKind::NestLoop(j) | PathKind::Hash { join: j, .. } => &j.restrictions[..],
            PathKind::Merge(m) => &m.join.restrictions,
            PathKind::SeqScan
            | PathKind::SampleScan
            | PathKind::Index(_)
            | PathKind::Bitmap(_)
            | PathKind::Tid(_)
            | PathKind::TidRange(_)
            | PathKind::Subquery
            | PathKind::Function
            | PathKind::Values
            | PathKind::Cte { .. }
            | PathKind::WorkTable { .. } => match rel.parent.and_then(|p| self.base_rel(p)) {
                Some(parent) => &parent.restrictions,
                None => &rel.restrictions,
            },
            _ => return Vec::new(),
        };
        let gates = list.iter().filter(|r| r.pseudoconstant && r.required != self.all_base);
        gates.map(|r| r.clause.clone()).collect()
    }

    /// Conditions in the order of their cost, cheapest first.
    pub fn ordered(&self, list: &[Rc<Restriction>]) -> Vec<Expr> {
        let mut items: Vec<(u32, f64, Expr)> = list
            .iter()
            .filter(|r| !r.pseudoconstant)
            .map(|r| (r.security_level, self.eval_cost(&r.clause).per_row, r.clause.clone()))
            .collect();
        items.sort_by(|a, b| {
            (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(std::cmp::Ordering::Equal)
        });
        items.into_iter().map(|i| i.2).collect()
    }

    /// Replaces columns of the nested loops' outer sides by exec params.
    pub fn with_nest_params(&mut self, mut e: Expr) -> Expr {
        if self.cur_outer.is_empty() {
            return e;
        }
        let outer = self.cur_outer.clone();
        let mut found: Vec<Var> = Vec::new();
        walk::each(&e, &mut |x| {
            if let Expr::Var(v) = x
                && outer.contains(v.varno)
                && !found.contains(v)
            {
                found.push(v.clone());
            }
        });
        if found.is_empty() {
            return e;
        }
        let params: Vec<(Expr, u32)> = found
            .into_iter()
            .map(|v| {
                let expr = Expr::Var(v);
                let param = self.nest_param(&expr);
                (expr, param)
            })
            .collect();
        walk::replace(&mut e, &mut |x| {
            params
                .iter()
                .find(|(p, _)| p == x)
                .map(|(p, id)| exec_param(*id, p.ty(), p.typmod(), p.collation()))
        });
        e
    }

    fn nest_param(&mut self, expr: &Expr) -> u32 {
        if let Some(n) = self.nest_vars.iter().find(|n| n.expr == *expr) {
            return n.param;
        }
        let param = self.global.borrow_mut().new_param(expr.ty());
        self.nest_vars.push(NestVar { expr: expr.clone(), param });
        param
    }

    /// All conditions of a scan path, as the plan tests them.
    pub fn scan_quals(&mut self, path: &Path) -> Vec<Expr> {
        let mut list = self.rels[path.rel].restrictions.clone();
        list.extend(path.param_clauses.iter().cloned());
        let exprs = self.ordered(&list);
        exprs.into_iter().map(|e| self.with_nest_params(e)).collect()
    }

    /// A sort node with its costs.
    pub fn sort_node(&self, child: Plan, keys: Vec<SortKey>, limit: f64) -> Plan {
        let input = crate::cost::scan::Cost {
            startup: child.startup_cost,
            total: child.total_cost,
            disabled: child.disabled_nodes,
        };
        let c = self.cost_sort(input, child.rows, child.width, limit);
        let mut p = Plan::new(PlanNode::Sort(ir::Sort { keys }));
        (p.startup_cost, p.total_cost, p.disabled_nodes) = (c.startup, c.total, c.disabled);
        (p.rows, p.width) = (child.rows, child.width);
        p.target = child.target.clone();
        p.outer = Some(Box::new(child));
        p
    }

    /// Finds the columns that sort keys mean in a plan's output; `prefer` limits the members
    /// looked at to those of these relations.
    pub fn sort_keys(
        &self,
        child: &mut Plan,
        keys: &[PathKey],
        prefer: Option<&Relids>,
    ) -> Result<Vec<SortKey>> {
        let mut out = Vec::new();
        for k in keys {
            let ec = &self.ecs[self.canonical_ec(k.ec)];
            let in_target = child.target.iter().enumerate().find_map(|(i, t)| {
                ec.all_members()
                    .find(|m| {
                        !m.is_const
                            && if ec.has_volatile {
                                t.sort_group_ref == ec.sort_ref
                            } else {
                                crate::path::index::strip(&m.expr)
                                    == crate::path::index::strip(&t.expr)
                            }
                    })
                    .map(|m| (i, m.ty))
            });
            let (position, ty) = match in_target {
                Some(found) => found,
                None => {
                    let have = child_relids(self, child);
                    let m = ec
                        .all_members()
                        .find(|m| {
                            !m.is_const
                                && m.relids.is_subset(prefer.unwrap_or(&have))
                                && m.relids.is_subset(&have)
                        })
                        .ok_or_else(|| {
                            err!(INTERNAL_ERROR, "could not find pathkey item to sort")
                        })?;
                    add_column(child, m.expr.clone());
                    (child.target.len() - 1, m.ty)
                }
            };
            let strategy = if k.descending { 5 } else { 1 };
            let op = self
                .env
                .catalog
                .amop(k.family, ty, ty, strategy)?
                .ok_or_else(|| err!(INTERNAL_ERROR, "missing operator {strategy} in family"))?;
            out.push(SortKey {
                column: position as i16 + 1,
                op,
                collation: ec.collation,
                descending: k.descending,
                nulls_first: k.nulls_first,
            });
        }
        Ok(out)
    }
}

/// The plan below a test that is made once.
fn gated(plan: Plan, constant_qual: Vec<Expr>) -> Plan {
    let target = plan.target.clone();
    let mut gate = Plan::new(PlanNode::Result(Result_ { constant_qual }));
    (gate.startup_cost, gate.total_cost) = (plan.startup_cost, plan.total_cost);
    (gate.rows, gate.width) = (plan.rows, plan.width);
    (gate.disabled_nodes, gate.parallel_safe) = (plan.disabled_nodes, plan.parallel_safe);
    gate.target = target;
    gate.outer = Some(Box::new(plan));
    gate
}

fn keeps_own_cost(_kind: &PathKind) -> bool {
    false
}

/// The relations whose columns stand in a plan's scans.
fn child_relids(root: &Root, plan: &Plan) -> Relids {
    let mut set = Relids::empty();
    for t in &plan.target {
        set.extend(&root.relids_of(&t.expr));
    }
    for c in plan.children() {
        set.extend(&child_relids(root, c));
    }
    set
}

/// Adds a junk column to a plan's output: in the node itself if it computes columns, else in
/// the node below.
fn add_column(plan: &mut Plan, expr: Expr) {
    let passes = matches!(
        plan.node,
        PlanNode::Sort(_)
            | PlanNode::IncrementalSort(_)
            | PlanNode::Material
            | PlanNode::Unique(_)
            | PlanNode::Limit(_)
            | PlanNode::LockRows(_)
            | PlanNode::Memoize(_)
            | PlanNode::Gather(_)
            | PlanNode::GatherMerge(_)
    );
    if passes && let Some(c) = plan.outer.as_deref_mut() {
        add_column(c, expr.clone());
    }
    if matches!(plan.node, PlanNode::Append(_) | PlanNode::MergeAppend(_)) {
        // An append hands rows on as they are: a node above it computes.
        let child = std::mem::replace(plan, Plan::new(PlanNode::Result(Result_::default())));
        let target = child.target.clone();
        *plan = shape::above(PlanNode::Result(Result_::default()), child, target);
    }
    let n = plan.target.len() as i16 + 1;
    plan.target.push(TargetEntry::new(expr, n, None, true));
}
