//! Subselects in expressions: planned apart, run as init plans or subplans.

use crate::level::{Level, plan_query};
use crate::prep::sublinks::{simplify_exists, subquery_rte};
use crate::rel::OuterRef;
use crate::root::{Global, Root};
use base::{Oid, Result};
use ir::walk;
use ir::{
    Expr, Param, ParamKind, Plan, PlanNode, Query, SubLink, SubLinkKind, SubPlan, TargetEntry,
};
use std::cell::RefCell;

/// An exec param as an expression.
pub fn exec_param(id: u32, ty: Oid, typmod: i32, collation: Oid) -> Expr {
    Expr::Param(Param { kind: ParamKind::Exec, id, ty, typmod, collation, location: None })
}

/// Replaces references to the query just outside by exec params; gives which stand for what.
pub fn replace_outer_refs(query: &mut Query, global: &RefCell<Global>) -> Vec<OuterRef> {
    let mut refs: Vec<OuterRef> = Vec::new();
    walk::rewrite_query(query, 0, &mut |e, level| {
        let mut expr = match e {
            Expr::Var(v) if v.levels_up == level + 1 => e.clone(),
            Expr::Agg(a) if a.levels_up == level + 1 => e.clone(),
            Expr::Grouping(g) if g.levels_up == level + 1 => e.clone(),
            _ => return None,
        };
        walk::shift_levels(&mut expr, -(level as i32 + 1), level + 1);
        match &mut expr {
            Expr::Agg(a) => a.levels_up = 0,
            Expr::Grouping(g) => g.levels_up = 0,
            _ => {}
        }
        let (ty, typmod, collation) = (expr.ty(), expr.typmod(), expr.collation());
        let param = match refs.iter().find(|r| r.expr == expr) {
            Some(r) => r.param,
            None => {
                let param = global.borrow_mut().new_param(ty);
                refs.push(OuterRef { param, expr });
                param
            }
        };
        Some(exec_param(param, ty, typmod, collation))
    });
    refs
}

/// True if the node keeps its output, so that running it again is cheap.
fn keeps_output(plan: &Plan) -> bool {
    matches!(
        plan.node,
        PlanNode::Material
            | PlanNode::FunctionScan(_)
            | PlanNode::CteScan(_)
            | PlanNode::WorkTableScan(_)
            | PlanNode::NamedTuplestoreScan(_)
            | PlanNode::Sort(_)
    )
}

impl Root<'_> {
    /// Plans the sublinks of an expression. `top` tells a condition whose nulls count as false.
    pub fn process_sublinks(&mut self, expr: Expr, top: bool) -> Result<Expr> {
        match expr {
            Expr::SubLink(s) => {
                let mut s = *s;
                if let Some(t) = s.test.take() {
                    s.test = Some(Box::new(self.process_sublinks(*t, false)?));
                }
                self.make_subplan(s, top)
            }
            Expr::Bool { op, args, location } => {
                let keep = top && op != ir::BoolOp::Not;
                let args = args
                    .into_iter()
                    .map(|a| self.process_sublinks(a, keep))
                    .collect::<Result<Vec<_>>>()?;
                Ok(Expr::Bool { op, args, location })
            }
            mut other => {
                if !walk::any(&other, &mut |e| matches!(e, Expr::SubLink(_))) {
                    return Ok(other);
                }
                let mut failed = None;
                walk::children_mut(&mut other, &mut |c| {
                    if failed.is_some() {
                        return;
                    }
                    let old = std::mem::replace(c, Expr::bool_const(false));
                    match self.process_sublinks(old, false) {
                        Ok(new) => *c = new,
                        Err(e) => failed = Some(e),
                    }
                });
                failed.map_or(Ok(other), Err)
            }
        }
    }

    fn make_subplan(&mut self, s: SubLink, top: bool) -> Result<Expr> {
        let mut query = (*s.query).clone();
        if s.kind == SubLinkKind::Exists {
            let mut simple = query.clone();
            if simplify_exists(&mut simple, self.env)? {
                // One column, so that there is something to give.
                query = simple;
            }
        }
        let fraction = match s.kind {
            SubLinkKind::Exists => 1.0,
            SubLinkKind::Any | SubLinkKind::All => 0.5,
            _ => 0.0,
        };
        if s.kind == SubLinkKind::MultiExpr && refers_outside(&query) {
            return self.plan_columns_apart(&s);
        }
        let refs = replace_outer_refs(&mut query, self.global);
        let level = plan_query(self.env, self.global, query, self.cte_scopes(), fraction, None)?;
        let correlated = !refs.is_empty();
        if !correlated
            && matches!(
                s.kind,
                SubLinkKind::Exists
                    | SubLinkKind::Expr
                    | SubLinkKind::Array
                    | SubLinkKind::MultiExpr
            )
        {
            return Ok(self.init_plan(&s, level));
        }
        self.correlated_plan(s, level, refs, top)
    }

    /// `(a, b) = (SELECT ...)` that depends on the row: a subselect for each column. Columns of a
    /// batch are computed one after the other, so that none can leave values for another.
    fn plan_columns_apart(&mut self, s: &SubLink) -> Result<Expr> {
        let columns: Vec<TargetEntry> =
            s.query.target_list.iter().filter(|t| !t.junk).cloned().collect();
        let mut values = Vec::with_capacity(columns.len());
        for column in &columns {
            let (ty, typmod, collation) =
                (column.expr.ty(), column.expr.typmod(), column.expr.collation());
            let mut inner = (*s.query).clone();
            walk::shift_query_levels(&mut inner, 1, 1);
            let one = SubLink {
                kind: SubLinkKind::Expr,
                query: Box::new(column_of_subquery(inner, column)),
                ty,
                typmod,
                collation,
                ..s.clone()
            };
            values.push(self.make_subplan(one, false)?);
        }
        self.multi_values.push((s.id, values));
        Ok(Expr::null_const(Oid(2249), -1, Oid::INVALID))
    }

    /// The CTEs that a subquery of this level can refer to, nearest first.
    pub fn cte_scopes(&self) -> Vec<foldhash::HashMap<String, std::rc::Rc<crate::rel::CteInfo>>> {
        let mut all = vec![self.ctes.clone()];
        all.extend(self.parent_ctes.iter().cloned());
        all
    }

    /// Adds a finished level to the statement's subplans; gives its index.
    pub fn add_subplan(&self, level: Level) -> u32 {
        let mut g = self.global.borrow_mut();
        g.subplans.push(level.plan);
        g.subplan_rtables.push((level.rtable, level.row_marks));
        g.subplans.len() as u32 - 1
    }

    fn subplan_name(&self, init: bool) -> String {
        let mut g = self.global.borrow_mut();
        g.subplan_names += 1;
        format!("{} {}", if init { "InitPlan" } else { "SubPlan" }, g.subplan_names)
    }

    /// A subplan that runs once; its result is read as exec params.
    fn init_plan(&mut self, s: &SubLink, level: Level) -> Expr {
        let name = self.subplan_name(true);
        let visible: Vec<(Oid, i32, Oid)> = level
            .plan
            .target
            .iter()
            .filter(|t| !t.junk)
            .map(|t| (t.expr.ty(), t.expr.typmod(), t.expr.collation()))
            .collect();
        let types: Vec<Oid> = match s.kind {
            SubLinkKind::MultiExpr => visible.iter().map(|v| v.0).collect(),
            SubLinkKind::Exists => vec![Oid(16)],
            _ => vec![s.ty],
        };
        let params: Vec<u32> =
            types.iter().map(|t| self.global.borrow_mut().new_param(*t)).collect();
        let (startup, total) = (level.plan.startup_cost, level.plan.total_cost);
        let safe = level.plan.parallel_safe;
        let plan = self.add_subplan(level);
        let mut sub = blank(s, plan, name);
        sub.parallel_safe = safe;
        self.global.borrow_mut().init_params.extend(&params);
        sub.set_params = params.clone();
        sub.startup_cost = total;
        let _ = startup;
        self.init_plans.push(sub);
        if s.kind == SubLinkKind::MultiExpr {
            let args: Vec<Expr> = params
                .iter()
                .zip(&visible)
                .map(|(p, (ty, typmod, collation))| exec_param(*p, *ty, *typmod, *collation))
                .collect();
            self.multi_values.push((s.id, args.clone()));
            return Expr::Row(Box::new(ir::RowExpr {
                ty: Oid(2249),
                args,
                form: ir::CoercionForm::ImplicitCast,
                names: Vec::new(),
                location: None,
            }));
        }
        exec_param(params[0], types[0], s.typmod, s.collation)
    }

    /// A subplan that runs where its value is wanted.
    fn correlated_plan(
        &mut self,
        s: SubLink,
        level: Level,
        refs: Vec<OuterRef>,
        top: bool,
    ) -> Result<Expr> {
        let name = self.subplan_name(false);
        let mut level = level;
        let cost = self.env.settings;
        let mut sub = blank(&s, 0, name);
        sub.parallel_safe = level.plan.parallel_safe;
        for r in refs {
            sub.par_params.push(r.param);
            // An outer reference may itself be or hold something to be planned.
            sub.args.push(self.process_sublinks(r.expr, false)?);
        }
        let columns: Vec<(Oid, i32, Oid)> = level
            .plan
            .target
            .iter()
            .filter(|t| !t.junk)
            .map(|t| (t.expr.ty(), t.expr.typmod(), t.expr.collation()))
            .collect();
        if let Some(test) = &s.test
            && matches!(s.kind, SubLinkKind::Any | SubLinkKind::All | SubLinkKind::RowCompare)
        {
            let params: Vec<u32> =
                columns.iter().map(|c| self.global.borrow_mut().new_param(c.0)).collect();
            let mut test = (**test).clone();
            walk::replace(&mut test, &mut |e| match e {
                Expr::Param(p) if p.kind == ParamKind::Exec => {
                    let i = p.id.checked_sub(crate::prep::PLACEHOLDER)? as usize - 1;
                    let c = columns.get(i)?;
                    Some(exec_param(params[i], c.0, c.1, c.2))
                }
                _ => None,
            });
            sub.param_ids = params;
            sub.test = Some(Box::new(test));
        }
        let rows = level.plan.rows;
        let run = level.plan.total_cost - level.plan.startup_cost;
        if s.kind == SubLinkKind::Any && sub.par_params.is_empty() && self.can_hash(&sub, &level)? {
            sub.use_hash_table = true;
            sub.unknown_eq_false = top;
            sub.startup_cost = level.plan.total_cost + cost.cpu_operator_cost * rows;
            sub.per_call_cost = 0.0;
        } else {
            sub.per_call_cost = match s.kind {
                SubLinkKind::Exists => run / crate::cost::clamp_rows(rows),
                SubLinkKind::All | SubLinkKind::Any => {
                    0.5 * run + 0.5 * rows * cost.cpu_operator_cost
                }
                _ => run,
            };
            if sub.par_params.is_empty() && !keeps_output(&level.plan) {
                level.plan = materialised(self, level.plan);
            }
            if sub.par_params.is_empty() {
                sub.startup_cost += level.plan.startup_cost;
            } else {
                sub.per_call_cost += level.plan.startup_cost;
            }
        }
        sub.plan = self.add_subplan(level);
        Ok(Expr::SubPlan(Box::new(sub)))
    }

    /// True if `x = ANY (subplan)` can look its values up in a hash table that fits in memory.
    fn can_hash(&self, sub: &SubPlan, level: &Level) -> Result<bool> {
        let bytes = crate::cost::bytes_of(level.plan.rows, level.plan.width);
        if bytes > self.env.settings.work_mem * self.env.settings.hash_mem_multiplier {
            return Ok(false);
        }
        let Some(test) = &sub.test else { return Ok(false) };
        for part in walk::conjuncts((**test).clone()) {
            let Expr::Op(o) = &part else { return Ok(false) };
            if o.args.len() != 2 || o.kind != ir::OpKind::Plain {
                return Ok(false);
            }
            let desc = self.env.catalog.operator(o.op)?;
            let is_own = |x: &Expr| match x {
                Expr::Param(p) => p.kind == ParamKind::Exec && sub.param_ids.contains(&p.id),
                _ => false,
            };
            let own = |e: &Expr| walk::any(e, &mut |x| is_own(x));
            if !desc.can_hash
                || !self.env.catalog.proc(desc.function)?.strict
                || own(&o.args[0])
                || !own(&o.args[1])
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// True if the query names columns of the query around it.
fn refers_outside(query: &Query) -> bool {
    let mut found = false;
    walk::query_exprs(query, 0, &mut |e, level| {
        walk::any_levels(e, level, &mut |x, l| {
            found |= match x {
                Expr::Var(v) => v.levels_up > l,
                Expr::Agg(a) => a.levels_up > l,
                Expr::Grouping(g) => g.levels_up > l,
                _ => false,
            };
            found
        });
    });
    found
}

/// `SELECT column FROM (query)`.
fn column_of_subquery(query: Query, column: &TargetEntry) -> Query {
    let names = query.target_list.iter().filter(|t| !t.junk).map(|t| t.name.clone());
    let columns = names.map(Option::unwrap_or_default).collect();
    let (ty, typmod, collation) = (column.expr.ty(), column.expr.typmod(), column.expr.collation());
    let var = Expr::Var(ir::Var::new(1, column.resno, ty, typmod, collation));
    let mut outer = Query::new(ir::CmdType::Select);
    outer.has_sublinks = query.has_sublinks;
    outer.rtable.push(subquery_rte(query, "unnamed_subquery", columns));
    outer.jointree.items.push(ir::FromItem::Table(1));
    outer.target_list.push(TargetEntry::new(var, 1, column.name.clone(), false));
    outer
}

fn blank(s: &SubLink, plan: u32, name: String) -> SubPlan {
    SubPlan {
        kind: s.kind,
        test: None,
        param_ids: Vec::new(),
        plan,
        name,
        ty: s.ty,
        typmod: s.typmod,
        collation: s.collation,
        of_arrays: s.kind == SubLinkKind::Array
            && s.query.target_list.iter().find(|t| !t.junk).is_some_and(|t| t.expr.ty() == s.ty),
        use_hash_table: false,
        unknown_eq_false: false,
        parallel_safe: false,
        set_params: Vec::new(),
        par_params: Vec::new(),
        args: Vec::new(),
        startup_cost: 0.0,
        per_call_cost: 0.0,
    }
}

/// The plan with its output kept.
pub fn materialised(root: &Root, plan: Plan) -> Plan {
    let mut m = Plan::new(PlanNode::Material);
    let input = crate::cost::scan::Cost {
        startup: plan.startup_cost,
        total: plan.total_cost,
        disabled: plan.disabled_nodes,
    };
    let c = root.cost_material(input, plan.rows, plan.width);
    (m.startup_cost, m.total_cost, m.disabled_nodes) = (c.startup, c.total, c.disabled);
    (m.rows, m.width) = (plan.rows, plan.width);
    m.target = crate::plan::pass_through(&plan.target);
    m.outer = Some(Box::new(plan));
    m
}
