//! UNION, INTERSECT, EXCEPT and WITH RECURSIVE.

use crate::cost::scan::Cost;
use crate::level::{CteScope, Level, plan_query};
use crate::path::{Path, PathKind};
use crate::prep::cast::cast_to;
use crate::rel::{BaseKind, SubqueryInfo, Target};
use crate::relids::Relids;
use crate::root::Root;
use base::{Oid, Result, err};
use ir::{
    Expr, Query, RteKind, SetOpKind, SetOpStrategy, SetOperand, SetOperation, SortGroupClause,
    TargetEntry, Var,
};
use std::rc::Rc;

/// Columns of a set operation: type, modifier, collation.
type Columns = Vec<(Oid, i32, Oid)>;

impl Root<'_> {
    /// Plans the tree of set operations; the result has the query's output columns.
    pub fn plan_set_operations(&mut self) -> Result<usize> {
        self.base = vec![None; self.query.rtable.len() + 1];
        let Some(top) = self.query.set_operations.clone() else {
            return Err(err!(INTERNAL_ERROR, "no set operation"));
        };
        let columns = columns_of(&top);
        let path = self.set_operation(&top, &columns)?;
        // The query's own target list names the columns of the leftmost operand.
        let mut list = Vec::new();
        for (i, t) in self.query.target_list.iter().enumerate() {
            let mut t = t.clone();
            if let Some(e) = path.target.exprs.get(i) {
                let (ty, typmod, collation) = (t.expr.ty(), t.expr.typmod(), t.expr.collation());
                t.expr = cast_to(self.env.catalog, e.clone(), ty, typmod, collation)?;
            }
            list.push(t);
        }
        self.processed = list;
        let rel = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        let target = Rc::new(super::target_of(self, &self.processed.clone()));
        let mut p = (*path).clone();
        if target.exprs == p.target.exprs {
            p.target = target.clone();
        } else {
            p = self.projected(&path, &target);
        }
        self.rels[rel].target = target;
        self.rels[rel].rows = p.rows;
        self.rels[rel].add_path(p);
        self.rels[rel].set_cheapest();
        Ok(rel)
    }

    fn operand(&mut self, operand: &SetOperand, columns: &Columns) -> Result<Rc<Path>> {
        match operand {
            SetOperand::Operation(op) => {
                let p = self.set_operation(op, &columns_of(op))?;
                self.with_columns(&p, columns)
            }
            SetOperand::Table(index) => self.operand_table(*index, columns),
        }
    }

    /// A leaf: a subquery planned for itself.
    fn operand_table(&mut self, index: u32, columns: &Columns) -> Result<Rc<Path>> {
        let RteKind::Subquery { query, .. } = self.query.rte(index).kind.clone() else {
            return Err(err!(INTERNAL_ERROR, "set operation over something not a subquery"));
        };
        let level = plan_query(
            self.env,
            self.global,
            *query,
            self.cte_scopes(),
            self.operand_fraction(),
            self.work_table,
        )?;
        let mut target = Target::default();
        for t in level.plan.target.iter().filter(|t| !t.junk) {
            let var = Var::new(index, t.resno, t.expr.ty(), t.expr.typmod(), t.expr.collation());
            target.exprs.push(Expr::Var(var));
            target.refs.push(0);
        }
        self.finish_target(&mut target);
        target.width = level.plan.width;
        let (startup, total) = (level.plan.startup_cost, level.plan.total_cost);
        let (rows, disabled) = (level.plan.rows, level.plan.disabled_nodes);
        let info = Rc::new(SubqueryInfo {
            plan: level.plan,
            rtable: level.rtable,
            order: level.order,
            unique_columns: level.unique_columns,
        });
        let rel = self.add_rel(BaseKind::Subquery(info), Relids::single(index), index);
        self.base[index as usize] = Some(rel);
        self.rels[rel].target = Rc::new(target);
        self.rels[rel].rows = rows;
        self.rels[rel].tuples = rows;
        let cost = Cost { startup, total, disabled };
        let path = Rc::new(self.plain_path(rel, PathKind::Subquery, cost));
        self.rels[rel].paths.push(path.clone());
        self.rels[rel].set_cheapest();
        self.with_columns(&path, columns)
    }

    fn operand_fraction(&self) -> f64 {
        let all =
            matches!(&self.query.set_operations, Some(op) if op.all && op.kind == SetOpKind::Union);
        if all && self.query.sort_clause.is_empty() { self.tuple_fraction } else { 0.0 }
    }

    /// The path with its columns labelled with the operation's types.
    fn with_columns(&self, path: &Rc<Path>, columns: &Columns) -> Result<Rc<Path>> {
        let mut target = Target::default();
        for (e, (ty, typmod, collation)) in path.target.exprs.iter().zip(columns) {
            let e = cast_to(self.env.catalog, e.clone(), *ty, *typmod, *collation)?;
            target.exprs.push(e);
            target.refs.push(0);
        }
        target.cost = path.target.cost;
        target.width = path.target.width;
        if target.exprs == path.target.exprs {
            return Ok(path.clone());
        }
        Ok(Rc::new(self.projected(path, &Rc::new(target))))
    }

    fn set_operation(&mut self, op: &SetOperation, columns: &Columns) -> Result<Rc<Path>> {
        if op.kind == SetOpKind::Union {
            return self.union(op, columns);
        }
        let left = self.operand(&op.left, columns)?;
        let right = self.operand(&op.right, columns)?;
        let s = self.env.settings;
        let clauses = op.group_clauses.clone();
        let hashable = clauses.iter().all(|c| c.hashable);
        let sortable = clauses.iter().all(|c| c.sort_op.is_some());
        let groups = (left.rows).max(1.0);
        let n = clauses.len() as f64;
        let sorted = |p: &Rc<Path>| self.cost_sort(self.path_cost(p), p.rows, p.target.width, -1.0);
        let hash_cost = left.total
            + right.total
            + s.cpu_operator_cost * (left.rows + right.rows) * n
            + s.cpu_tuple_cost * groups;
        let sort_cost = sorted(&left).total
            + sorted(&right).total
            + s.cpu_operator_cost * (left.rows + right.rows) * n;
        let hash = hashable && s.enable_hashagg && (!sortable || hash_cost <= sort_cost);
        if !hash && !sortable {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "could not implement {}",
                if op.kind == SetOpKind::Intersect { "INTERSECT" } else { "EXCEPT" }
            )
            .detail(
                "Some of the datatypes only support hashing, while others only support sorting.",
            ));
        }
        let (left, right) = if hash {
            (left, right)
        } else {
            (self.sort_all_columns(&left, &clauses), self.sort_all_columns(&right, &clauses))
        };
        let mut p = (*left).clone();
        p.rows = if op.kind == SetOpKind::Except { left.rows } else { left.rows.min(right.rows) };
        p.startup = if hash { right.total + left.total } else { left.startup + right.startup };
        p.total = if hash { hash_cost } else { sort_cost };
        p.disabled = left.disabled + right.disabled;
        p.kind = PathKind::SetOp {
            left,
            right,
            kind: op.kind,
            all: op.all,
            strategy: if hash { SetOpStrategy::Hashed } else { SetOpStrategy::Sorted },
            clauses,
            groups,
        };
        p.pathkeys = Vec::new();
        Ok(Rc::new(p))
    }

    /// The path sorted by all columns in order. The sort names columns by position.
    fn sort_all_columns(&self, path: &Rc<Path>, clauses: &[SortGroupClause]) -> Rc<Path> {
        let c = self.cost_sort(self.path_cost(path), path.rows, path.target.width, -1.0);
        let mut p = (**path).clone();
        p.kind = PathKind::SortColumns { sub: path.clone(), clauses: clauses.to_vec() };
        (p.startup, p.total, p.disabled) = (c.startup, c.total, c.disabled);
        Rc::new(p)
    }

    /// UNION [ALL]: nested ones of the same kind are one append.
    fn union(&mut self, op: &SetOperation, columns: &Columns) -> Result<Rc<Path>> {
        let mut parts = Vec::new();
        self.union_parts(op, op, columns, &mut parts)?;
        let s = self.env.settings;
        let mut p = (*parts[0]).clone();
        let rows: f64 = parts.iter().map(|x| x.rows).sum();
        p.startup = parts[0].startup;
        p.total = parts.iter().map(|x| x.total).sum::<f64>() + 0.5 * s.cpu_tuple_cost * rows;
        p.disabled = parts.iter().map(|x| x.disabled).sum();
        p.rows = rows;
        p.pathkeys = Vec::new();
        // Rows wide as the widest.
        let mut target = (*parts[0].target).clone();
        target.width = parts.iter().map(|x| x.target.width).max().unwrap_or(0);
        target.cost = (0.0, 0.0);
        p.target = Rc::new(target);
        p.kind = PathKind::Append { parts, shared_from: None };
        let append = Rc::new(p);
        if op.all {
            return Ok(append);
        }
        let clauses = op.group_clauses.clone();
        let n = clauses.len();
        let groups = append.rows;
        let none = crate::cost::shape::AggCosts::default();
        let input = self.path_cost(&append);
        let hashable = clauses.iter().all(|c| c.hashable);
        let sortable = clauses.iter().all(|c| c.sort_op.is_some());
        let width = append.target.width;
        let hash =
            self.cost_agg(input, append.rows, width, ir::AggStrategy::Hashed, &none, n, groups);
        let sort = self.cost_sort(input, append.rows, width, -1.0);
        let unique_total = sort.total + s.cpu_operator_cost * append.rows * n as f64;
        let use_hash =
            hashable && (!sortable || (hash.disabled, hash.total) <= (sort.disabled, unique_total));
        if !use_hash && !sortable {
            return Err(err!(FEATURE_NOT_SUPPORTED, "could not implement UNION").detail(
                "Some of the datatypes only support hashing, while others only support sorting.",
            ));
        }
        let mut p = (*append).clone();
        p.rows = groups;
        if use_hash {
            (p.startup, p.total, p.disabled) = (hash.startup, hash.total, hash.disabled);
            p.kind = PathKind::HashColumns { sub: append, clauses, groups };
        } else {
            let sorted = self.sort_all_columns(&append, &clauses);
            (p.startup, p.total, p.disabled) = (sorted.startup, unique_total, sorted.disabled);
            p.kind = PathKind::UniqueColumns { sub: sorted, clauses };
        }
        Ok(Rc::new(p))
    }

    fn union_parts(
        &mut self,
        top: &SetOperation,
        op: &SetOperation,
        columns: &Columns,
        out: &mut Vec<Rc<Path>>,
    ) -> Result<()> {
        for operand in [&op.left, &op.right] {
            match operand {
                SetOperand::Operation(inner)
                    if inner.kind == SetOpKind::Union
                        && (inner.all == top.all || !top.all && inner.all)
                        && inner.col_types == top.col_types
                        && inner.col_collations == top.col_collations =>
                {
                    self.union_parts(top, inner, columns, out)?;
                }
                other => {
                    let p = self.operand(other, columns)?;
                    out.push(p);
                }
            }
        }
        Ok(())
    }

    /// A recursive CTE's query: `first UNION [ALL] again`.
    pub fn plan_recursive(
        &mut self,
        name: &str,
        query: Query,
        scopes: Vec<CteScope>,
    ) -> Result<Level> {
        let mut root = Root::new(self.env, self.global, query);
        root.parent_ctes = scopes;
        let recursive =
            matches!(&root.query.set_operations, Some(op) if op.kind == SetOpKind::Union);
        if !recursive || !mentions(&root.query, name) {
            let query = std::mem::replace(&mut root.query, Query::new(ir::CmdType::Select));
            return plan_query(self.env, self.global, query, root.parent_ctes, 0.0, None);
        }
        let Some(op) = root.query.set_operations.clone() else {
            return Err(err!(INTERNAL_ERROR, "no set operation"));
        };
        root.base = vec![None; root.query.rtable.len() + 1];
        let columns = columns_of(&op);
        let left = root.operand(&op.left, &columns)?;
        let param = self.global.borrow_mut().new_param(Oid(2281));
        let factor = self.env.settings.recursive_worktable_factor;
        root.work_table = Some((param, left.rows * factor, left.target.width));
        let right = root.operand(&op.right, &columns)?;
        let s = self.env.settings;
        let mut p = (*left).clone();
        let rows = left.rows + 10.0 * right.rows;
        p.total = left.total + 10.0 * right.total + s.cpu_tuple_cost * rows;
        p.startup = left.startup;
        p.rows = rows;
        p.pathkeys = Vec::new();
        let mut target = (*left.target).clone();
        target.width = target.width.max(right.target.width);
        p.target = Rc::new(target);
        p.kind = PathKind::RecursiveUnion {
            groups: if op.all { 0.0 } else { rows },
            clauses: if op.all { Vec::new() } else { op.group_clauses.clone() },
            left,
            right,
            param,
        };
        let list: Vec<TargetEntry> = root
            .query
            .target_list
            .iter()
            .enumerate()
            .map(|(i, t)| {
                let mut t = t.clone();
                t.expr = p.target.exprs[i].clone();
                t
            })
            .collect();
        root.processed = list;
        root.make_level(&Rc::new(p))
    }
}

fn columns_of(op: &SetOperation) -> Columns {
    op.col_types
        .iter()
        .zip(&op.col_typmods)
        .zip(&op.col_collations)
        .map(|((t, m), c)| (*t, *m, *c))
        .collect()
}

/// True if the query refers to the CTE as itself.
fn mentions(query: &Query, name: &str) -> bool {
    query.rtable.iter().any(|r| match &r.kind {
        RteKind::Cte { name: n, self_reference: true, .. } => n == name,
        RteKind::Subquery { query, .. } => mentions(query, name),
        _ => false,
    }) || query.ctes.iter().any(|c| mentions(&c.query, name))
        || {
            let mut found = false;
            ir::walk::own_exprs(query, &mut |e| {
                found |= ir::walk::any(
                    e,
                    &mut |x| matches!(x, Expr::SubLink(s) if mentions(&s.query, name)),
                );
            });
            found
        }
}
