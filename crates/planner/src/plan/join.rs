//! Plans of joins.

use crate::path::{JoinPath, MergePath, Path, PathKind, scan::entries};
use crate::rel::Restriction;
use crate::root::Root;
use base::{Result, err};
use ir::{
    Expr, Hash, HashJoin, JoinCommon, JoinKind, MergeJoin, MergeKey, NestLoop, NestParam, Plan,
    PlanNode,
};
use std::rc::Rc;

impl Root<'_> {
    pub(super) fn create_join(&mut self, path: &Rc<Path>) -> Result<Plan> {
        match &path.kind {
            PathKind::NestLoop(j) => self.create_nest_loop(path, j),
            PathKind::Merge(m) => self.create_merge_join(path, m),
            PathKind::Hash { join, clauses, .. } => self.create_hash_join(path, join, clauses),
            _ => Err(err!(INTERNAL_ERROR, "not a join")),
        }
    }

    /// The conditions of a join: its own, and those applied after null extension.
    fn split_quals(&mut self, j: &JoinPath, list: &[Rc<Restriction>]) -> (Vec<Expr>, Vec<Expr>) {
        let outer_join = !matches!(j.kind, JoinKind::Inner | JoinKind::Semi | JoinKind::RightSemi);
        let (own, above): (Vec<_>, Vec<_>) =
            list.iter().cloned().partition(|r| !outer_join || !r.pushed_down);
        let own = self.ordered(&own);
        let above = self.ordered(&above);
        let own = own.into_iter().map(|e| self.with_nest_params(e)).collect();
        let above = above.into_iter().map(|e| self.with_nest_params(e)).collect();
        (own, above)
    }

    fn create_nest_loop(&mut self, path: &Rc<Path>, j: &JoinPath) -> Result<Plan> {
        let outer_ids = self.rels[j.outer.rel].relids.clone();
        let outer = self.create(&j.outer)?;
        let saved = self.cur_outer.clone();
        self.cur_outer.extend(&outer_ids);
        let inner = self.create(&j.inner)?;
        self.cur_outer = saved;
        // The params that this outer side gives; others are given further out.
        let mut params = Vec::new();
        let mut kept = Vec::new();
        for n in std::mem::take(&mut self.nest_vars) {
            let of = self.relids_of(&n.expr);
            if of.is_subset(&outer_ids) {
                params.push(NestParam { param: n.param, value: n.expr });
            } else {
                kept.push(n);
            }
        }
        self.nest_vars = kept;
        let (join_qual, qual) = self.split_quals(j, &j.restrictions);
        // All conditions of an inner join are the join's own.
        let mut plan = Plan::new(PlanNode::NestLoop(NestLoop {
            join: JoinCommon { kind: j.kind, join_qual, inner_unique: j.inner_unique },
            params,
        }));
        plan.qual = qual;
        plan.target = self.join_target(path);
        plan.outer = Some(Box::new(outer));
        plan.inner = Some(Box::new(inner));
        Ok(plan)
    }

    fn join_target(&mut self, path: &Path) -> Vec<ir::TargetEntry> {
        let mut list = entries(&path.target);
        for t in &mut list {
            t.expr = self.with_nest_params(t.expr.clone());
        }
        list
    }

    /// The condition with its outer operand on the left.
    fn outer_left(&self, r: &Restriction, j: &JoinPath) -> Result<Expr> {
        let Expr::Op(o) = &r.clause else { return Ok(r.clause.clone()) };
        if r.left_relids.is_subset(&self.rels[j.outer.rel].relids) {
            return Ok(r.clause.clone());
        }
        let commutator = self.env.catalog.operator(o.op)?.commutator;
        if !commutator.is_valid() {
            return Err(err!(INTERNAL_ERROR, "could not find commutator for operator {}", o.op));
        }
        let mut o = o.clone();
        o.op = commutator;
        o.func = self.env.catalog.operator(commutator)?.function;
        o.args.swap(0, 1);
        Ok(Expr::Op(o))
    }

    fn create_hash_join(
        &mut self,
        path: &Rc<Path>,
        j: &JoinPath,
        clauses: &[Rc<Restriction>],
    ) -> Result<Plan> {
        let outer = self.create(&j.outer)?;
        let inner = self.create(&j.inner)?;
        let mut node = HashJoin {
            join: JoinCommon { kind: j.kind, join_qual: Vec::new(), inner_unique: j.inner_unique },
            hash_clauses: Vec::new(),
            hash_ops: Vec::new(),
            collations: Vec::new(),
            hash_keys: Vec::new(),
        };
        let mut inner_keys = Vec::new();
        for c in clauses {
            let e = self.outer_left(c, j)?;
            let e = self.with_nest_params(e);
            if let Expr::Op(o) = &e {
                node.hash_ops.push(o.op);
                node.collations.push(o.input_collation);
                node.hash_keys.push(o.args[0].clone());
                inner_keys.push(o.args[1].clone());
            }
            node.hash_clauses.push(e);
        }
        let others: Vec<_> = j
            .restrictions
            .iter()
            .filter(|r| !clauses.iter().any(|c| c.serial == r.serial))
            .cloned()
            .collect();
        let (join_qual, qual) = self.split_quals(j, &others);
        node.join.join_qual = join_qual;
        let mut hash = Plan::new(PlanNode::Hash(Hash { hash_keys: inner_keys, rows_total: 0.0 }));
        hash.startup_cost = inner.total_cost;
        hash.total_cost = inner.total_cost;
        (hash.rows, hash.width) = (inner.rows, inner.width);
        hash.disabled_nodes = inner.disabled_nodes;
        hash.target = inner.target.clone();
        hash.outer = Some(Box::new(inner));
        let mut plan = Plan::new(PlanNode::HashJoin(node));
        plan.qual = qual;
        plan.target = self.join_target(path);
        plan.outer = Some(Box::new(outer));
        plan.inner = Some(Box::new(hash));
        Ok(plan)
    }

    fn create_merge_join(&mut self, path: &Rc<Path>, m: &MergePath) -> Result<Plan> {
        let j = &m.join;
        let outer_ids = self.rels[j.outer.rel].relids.clone();
        let inner_ids = self.rels[j.inner.rel].relids.clone();
        let mut outer = self.create(&j.outer)?;
        let mut inner = self.create(&j.inner)?;
        if !m.outer_sort.is_empty() {
            let keys = self.sort_keys(&mut outer, &m.outer_sort, Some(&outer_ids))?;
            outer = self.sort_node(outer, keys, -1.0);
        }
        if !m.inner_sort.is_empty() {
            let keys = self.sort_keys(&mut inner, &m.inner_sort, Some(&inner_ids))?;
            inner = self.sort_node(inner, keys, -1.0);
        }
        if m.materialize_inner {
            let mut mat = Plan::new(PlanNode::Material);
            let input = crate::cost::scan::Cost {
                startup: inner.startup_cost,
                total: inner.total_cost,
                disabled: inner.disabled_nodes,
            };
            let c = self.cost_material(input, inner.rows, inner.width);
            (mat.startup_cost, mat.total_cost, mat.disabled_nodes) =
                (c.startup, c.total, c.disabled);
            (mat.rows, mat.width) = (inner.rows, inner.width);
            mat.target = inner.target.clone();
            mat.outer = Some(Box::new(inner));
            inner = mat;
        }
        let mut keys = Vec::new();
        for (c, k) in m.clauses.iter().zip(&m.keys) {
            let clause = self.outer_left(c, j)?;
            let collation = match &clause {
                Expr::Op(o) => o.input_collation,
                _ => base::Oid::INVALID,
            };
            keys.push(MergeKey {
                clause: self.with_nest_params(clause),
                family: k.family,
                collation,
                descending: k.descending,
                nulls_first: k.nulls_first,
            });
        }
        let others: Vec<_> = j
            .restrictions
            .iter()
            .filter(|r| !m.clauses.iter().any(|c| c.serial == r.serial))
            .cloned()
            .collect();
        let (join_qual, qual) = self.split_quals(j, &others);
        let mut plan = Plan::new(PlanNode::MergeJoin(Box::new(MergeJoin {
            join: JoinCommon { kind: j.kind, join_qual, inner_unique: j.inner_unique },
            keys,
            skip_mark_restore: m.skip_mark_restore,
        })));
        plan.qual = qual;
        plan.target = self.join_target(path);
        plan.outer = Some(Box::new(outer));
        plan.inner = Some(Box::new(inner));
        Ok(plan)
    }
}
