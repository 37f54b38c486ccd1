//! Plans of everything that is neither a scan nor a join.

use crate::path::{AggPath, Path, PathKind, SetPhase, scan::entries};
use crate::rel::PathKey;
use crate::root::Root;
use base::{Oid, Result, err};
use ir::{
    Agg, AggPhase, AggSplit, AggStrategy, Append, Expr, Gather, GatherMerge, Group, GroupKey,
    IncrementalSort, Limit, LockRows, Memoize, MergeAppend, Plan, PlanNode, RecursiveUnion,
    Result_, SetOp, Sort, SortGroupClause, SortKey, TargetEntry, Unique, WindowAgg, WindowClause,
};
use std::rc::Rc;

impl Root<'_> {
    pub(super) fn create_shape(&mut self, path: &Rc<Path>) -> Result<Plan> {
        match &path.kind {
            PathKind::Projection(sub) => self.create_projection(path, sub),
            PathKind::ProjectSet(sub) => {
                let child = self.create(sub)?;
                Ok(above(PlanNode::ProjectSet, child, entries(&path.target)))
            }
            PathKind::Gate { sub, quals } => {
                let child = self.create(sub)?;
                let target = child.target.clone();
                let node = PlanNode::Result(Result_ { constant_qual: quals.clone() });
                Ok(above(node, child, target))
            }
            PathKind::Material(sub) => {
                let child = self.create(sub)?;
                let target = child.target.clone();
                Ok(above(PlanNode::Material, child, target))
            }
            PathKind::Memoize { .. } => self.create_memoize(path),
            PathKind::Sort { sub, presorted } => self.create_sort(path, sub, *presorted),
            PathKind::SortColumns { sub, clauses } => {
                let child = self.create(sub)?;
                let keys = position_sort_keys(clauses, &child);
                let target = child.target.clone();
                Ok(above(PlanNode::Sort(Sort { keys }), child, target))
            }
            PathKind::Append { parts, shared_from } => {
                self.create_append(path, parts, *shared_from)
            }
            PathKind::MergeAppend { parts } => self.create_merge_append(path, parts),
            PathKind::Gather { sub, .. } | PathKind::GatherMerge { sub, .. } => {
                self.create_gather(path, sub)
            }
            PathKind::Agg(a) => self.create_agg(path, a),
            PathKind::Group { sub, clauses, having } => {
                let child = self.create(sub)?;
                let keys = group_keys(clauses, &child)?;
                let mut plan = above(PlanNode::Group(Group { keys }), child, entries(&path.target));
                plan.qual = having.clone();
                Ok(plan)
            }
            PathKind::HashColumns { sub, clauses, groups } => {
                let child = self.create(sub)?;
                let keys = position_group_keys(clauses, &child);
                let target = child.target.clone();
                let node = Agg {
                    strategy: AggStrategy::Hashed,
                    split: AggSplit::Simple,
                    keys,
                    num_groups: *groups,
                    set_lengths: Vec::new(),
                    chain: Vec::new(),
                };
                Ok(above(PlanNode::Agg(Box::new(node)), child, target))
            }
            PathKind::Unique { sub, keys } => self.create_unique(sub, *keys),
            PathKind::UniqueColumns { sub, clauses } => {
                let child = self.create(sub)?;
                let keys = position_group_keys(clauses, &child);
                let target = child.target.clone();
                Ok(above(PlanNode::Unique(Unique { keys }), child, target))
            }
            PathKind::UniqueFor { .. } => self.create_unique_for(path),
            PathKind::Window { sub, clause, top, qual } => {
                self.create_window(path, sub, clause, *top, qual)
            }
            PathKind::SetOp { .. } => self.create_set_op(path),
            PathKind::RecursiveUnion { .. } => self.create_recursive_union(path),
            PathKind::LockRows { sub, recheck_param } => {
                let child = self.create(sub)?;
                let target = child.target.clone();
                let node =
                    LockRows { marks: self.row_marks.clone(), recheck_param: *recheck_param };
                Ok(above(PlanNode::LockRows(node), child, target))
            }
            PathKind::Limit { sub, offset, count, with_ties } => {
                let child = self.create(sub)?;
                let target = child.target.clone();
                let ties = if *with_ties {
                    group_keys(&self.query.sort_clause, &child)?
                } else {
                    Vec::new()
                };
                let node = Limit {
                    offset: offset.clone(),
                    count: count.clone(),
                    with_ties: *with_ties,
                    ties,
                };
                Ok(above(PlanNode::Limit(node), child, target))
            }
            _ => Err(err!(INTERNAL_ERROR, "unrecognized path")),
        }
    }

    fn create_gather(&mut self, path: &Rc<Path>, sub: &Rc<Path>) -> Result<Plan> {
        let mut child = self.create(sub)?;
        self.global.borrow_mut().parallel_used = true;
        let init_params = Vec::new();
        let node = match &path.kind {
            PathKind::GatherMerge { workers, .. } => {
                let keys = self.sort_keys(&mut child, &path.pathkeys, None)?;
                PlanNode::GatherMerge(GatherMerge { workers: *workers, keys, init_params })
            }
            PathKind::Gather { workers, single_copy, .. } => PlanNode::Gather(Gather {
                workers: *workers,
                single_copy: *single_copy,
                init_params,
            }),
            _ => return Err(err!(INTERNAL_ERROR, "not a gather path")),
        };
        let target = child.target.clone();
        Ok(above(node, child, target))
    }

    /// Columns are computed in the child itself if it can; else by a Result above it.
    fn create_projection(&mut self, path: &Rc<Path>, sub: &Rc<Path>) -> Result<Plan> {
        let mut child = self.create(sub)?;
        let mut target = entries(&path.target);
        for t in &mut target {
            t.expr = self.with_nest_params(t.expr.clone());
        }
        let same = target.len() == child.target.len()
            && target.iter().zip(&child.target).all(|(a, b)| a.expr == b.expr);
        if same || can_project(&child.node) {
            child.target = target;
            return Ok(child);
        }
        Ok(above(PlanNode::Result(Result_::default()), child, target))
    }

    fn create_sort(&mut self, path: &Rc<Path>, sub: &Rc<Path>, presorted: usize) -> Result<Plan> {
        let mut child = self.create(sub)?;
        let keys = self.sort_keys(&mut child, &path.pathkeys, None)?;
        let target = child.target.clone();
        let node = if presorted > 0 {
            PlanNode::IncrementalSort(IncrementalSort { keys, presorted: presorted as u32 })
        } else {
            PlanNode::Sort(Sort { keys })
        };
        Ok(above(node, child, target))
    }

    fn create_memoize(&mut self, path: &Rc<Path>) -> Result<Plan> {
        let PathKind::Memoize { sub, params, ops, single_row, binary, entries: est } = &path.kind
        else {
            return Err(err!(INTERNAL_ERROR, "not a memoize path"));
        };
        let child = self.create(sub)?;
        let mut keys = Vec::new();
        let mut collations = Vec::new();
        for p in params {
            collations.push(p.collation());
            keys.push(self.with_nest_params(p.clone()));
        }
        let target = child.target.clone();
        let node = Memoize {
            hash_ops: ops.clone(),
            collations,
            params: keys,
            single_row: *single_row,
            binary_mode: *binary,
            est_entries: *est,
        };
        Ok(above(PlanNode::Memoize(node), child, target))
    }

    fn create_append(
        &mut self,
        path: &Rc<Path>,
        parts: &[Rc<Path>],
        shared_from: Option<usize>,
    ) -> Result<Plan> {
        let children = parts.iter().map(|p| self.create(p)).collect::<Result<Vec<_>>>()?;
        let mut plan = Plan::new(PlanNode::Append(Append {
            children,
            parents: self.append_parents(path),
            members: self.append_members(path, parts),
            first_partial: shared_from.unwrap_or(parts.len()) as u32,
            prune: self.prune_at_run_time(path, parts)?,
        }));
        plan.target = entries(&path.target);
        Ok(plan)
    }

    /// The parts' columns are the same by position, and so are those that they are sorted by.
    fn create_merge_append(&mut self, path: &Rc<Path>, parts: &[Rc<Path>]) -> Result<Plan> {
        let mut children = Vec::new();
        let mut keys: Option<Vec<SortKey>> = None;
        for p in parts {
            let mut child = self.create(p)?;
            let own = match self.keys_by_position(&path.target, &child, &path.pathkeys)? {
                Some(keys) => keys,
                None => self.sort_keys(&mut child, &path.pathkeys, None)?,
            };
            if keys.get_or_insert_with(|| own.clone()) != &own {
                return Err(err!(INTERNAL_ERROR, "MergeAppend child's columns do not match"));
            }
            children.push(child);
        }
        let mut target = entries(&path.target);
        if let Some(first) = children.first() {
            target.extend(first.target.iter().skip(target.len()).cloned());
        }
        let mut plan = Plan::new(PlanNode::MergeAppend(MergeAppend {
            children,
            parents: self.append_parents(path),
            members: self.append_members(path, parts),
            keys: keys.unwrap_or_default(),
            prune: self.prune_at_run_time(path, parts)?,
        }));
        plan.target = target;
        Ok(plan)
    }

    /// The columns of an append's parts that its keys mean, if all are columns of its own.
    fn keys_by_position(
        &self,
        target: &crate::rel::Target,
        child: &Plan,
        keys: &[PathKey],
    ) -> Result<Option<Vec<SortKey>>> {
        let mut out = Vec::new();
        for k in keys {
            let ec = &self.ecs[self.canonical_ec(k.ec)];
            let found = target.exprs.iter().enumerate().find_map(|(i, e)| {
                let own = |m: &&crate::rel::EcMember| !m.is_const && m.expr == *e;
                ec.members.iter().find(own).map(|m| (i, m.ty))
            });
            let Some((at, ty)) = found.filter(|(at, _)| *at < child.target.len()) else {
                return Ok(None);
            };
            let strategy = if k.descending { 5 } else { 1 };
            let Some(op) = self.env.catalog.amop(k.family, ty, ty, strategy)? else {
                return Ok(None);
            };
            out.push(SortKey {
                column: at as i16 + 1,
                op,
                collation: ec.collation,
                descending: k.descending,
                nulls_first: k.nulls_first,
            });
        }
        Ok(Some(out))
    }

    fn append_members(&self, path: &Path, parts: &[Rc<Path>]) -> Vec<(u32, u32)> {
        let parents = &self.rels[path.rel].relids;
        let mut out = Vec::new();
        for m in parts.first().iter().flat_map(|p| self.rels[p.rel].relids.iter()) {
            let above = self.base_rel(m).map(|r| r.ancestors.clone()).unwrap_or_default();
            let union = |a: u32| matches!(self.query.rte(a).kind, ir::RteKind::UnionAll { .. });
            let found = above.iter().rev().find(|a| parents.contains(**a) && !union(**a));
            out.extend(found.map(|a| (m, *a)));
        }
        out
    }

    fn append_parents(&self, path: &Path) -> Vec<u32> {
        self.rels[path.rel].relids.iter().collect()
    }

    fn create_agg(&mut self, path: &Rc<Path>, a: &AggPath) -> Result<Plan> {
        let child = self.create(&a.sub)?;
        let mut node = Agg {
            strategy: a.strategy,
            split: a.split,
            keys: group_keys(&a.clauses, &child)?,
            num_groups: a.groups,
            set_lengths: Vec::new(),
            chain: Vec::new(),
        };
        if let Some((first, rest)) = a.phases.split_first() {
            node.set_lengths = first.set_lengths.clone();
            // The first phase that is not hashed takes the rows as they come.
            let hashed = |p: &SetPhase| p.strategy == AggStrategy::Hashed;
            let mut as_it_comes = hashed(first);
            for p in rest {
                let sort = match hashed(p) || std::mem::take(&mut as_it_comes) {
                    true => Vec::new(),
                    false => sort_keys_of(&p.clauses, &child)?,
                };
                node.chain.push(AggPhase {
                    strategy: p.strategy,
                    keys: group_keys(&p.clauses, &child)?,
                    set_lengths: p.set_lengths.clone(),
                    sort,
                    num_groups: p.groups,
                });
            }
        }
        let mut plan = above(PlanNode::Agg(Box::new(node)), child, entries(&path.target));
        plan.qual = a.having.clone();
        for t in &mut plan.target {
            self.note_trans_types(&mut t.expr)?;
        }
        for q in &mut plan.qual {
            self.note_trans_types(q)?;
        }
        Ok(plan)
    }

    fn note_trans_types(&self, e: &mut Expr) -> Result<()> {
        let mut failed = None;
        ir::walk::transform(e, &mut |x| {
            if let Expr::Agg(a) = x {
                match self.env.catalog.aggregate(a.agg) {
                    Ok(d) => a.trans_type = d.trans_type,
                    Err(error) => failed = Some(error),
                }
            }
        });
        failed.map_or(Ok(()), Err)
    }

    fn create_unique(&mut self, sub: &Rc<Path>, keys: usize) -> Result<Plan> {
        let mut child = self.create(sub)?;
        let order: Vec<PathKey> = sub.pathkeys.iter().take(keys).copied().collect();
        let sort = self.sort_keys(&mut child, &order, None)?;
        let mut group = Vec::new();
        for (s, k) in sort.iter().zip(&order) {
            let ty = child.target[s.column as usize - 1].expr.ty();
            group.push(GroupKey {
                column: s.column,
                eq_op: self.family_equality(k.family, ty, s.op)?,
                collation: s.collation,
            });
        }
        let target = child.target.clone();
        Ok(above(PlanNode::Unique(Unique { keys: group }), child, target))
    }

    /// The equality that goes with a sort operator.
    fn family_equality(&self, family: Oid, ty: Oid, sort_op: Oid) -> Result<Oid> {
        if let Some(eq) = self.env.catalog.amop(family, ty, ty, 3)? {
            return Ok(eq);
        }
        let place = self.env.catalog.operator_in_family(sort_op, family)?;
        let found = match place {
            Some(p) => self.env.catalog.amop(family, p.left, p.right, 3)?,
            None => None,
        };
        found.ok_or_else(|| err!(INTERNAL_ERROR, "could not find equality operator"))
    }

    /// Duplicates removed for a semijoin.
    fn create_unique_for(&mut self, path: &Rc<Path>) -> Result<Plan> {
        let PathKind::UniqueFor { sub, exprs, ops, hash } = &path.kind else {
            return Err(err!(INTERNAL_ERROR, "not a unique path"));
        };
        let mut child = self.create(sub)?;
        let mut columns = Vec::new();
        for e in exprs {
            let position = match child.target.iter().position(|t| t.expr == *e) {
                Some(i) => i,
                None => {
                    super::add_column(&mut child, e.clone());
                    child.target.len() - 1
                }
            };
            columns.push(position as i16 + 1);
        }
        let mut keys = Vec::new();
        let mut sort = Vec::new();
        for ((column, op), e) in columns.iter().zip(ops).zip(exprs) {
            // Equality among the right side's own values.
            let ty = e.ty();
            let class = self.env.catalog.default_opclass(ty, Oid(403))?;
            let hash_eq = self.hash_equality(ty)?;
            let (eq_op, less) = match class {
                Some(c) => (
                    self.env.catalog.amop(c.family, c.input_type, c.input_type, 3)?,
                    self.env.catalog.amop(c.family, c.input_type, c.input_type, 1)?,
                ),
                None => (hash_eq, None),
            };
            let collation = e.collation();
            keys.push(GroupKey { column: *column, eq_op: eq_op.unwrap_or(*op), collation });
            sort.push(SortKey {
                column: *column,
                op: less.unwrap_or(*op),
                collation,
                descending: false,
                nulls_first: false,
            });
        }
        let target = child.target.clone();
        if *hash {
            let node = Agg {
                strategy: AggStrategy::Hashed,
                split: AggSplit::Simple,
                keys,
                num_groups: path.rows,
                set_lengths: Vec::new(),
                chain: Vec::new(),
            };
            return Ok(above(PlanNode::Agg(Box::new(node)), child, target));
        }
        let sorted = self.sort_node(child, sort, -1.0);
        Ok(above(PlanNode::Unique(Unique { keys }), sorted, target))
    }

    fn create_window(
        &mut self,
        path: &Rc<Path>,
        sub: &Rc<Path>,
        clause: &WindowClause,
        top: bool,
        qual: &[Expr],
    ) -> Result<Plan> {
        let child = self.create(sub)?;
        let node = WindowAgg {
            name: clause.name.clone().unwrap_or_else(|| format!("w{}", clause.ref_)),
            window: clause.ref_,
            partition: group_keys(&clause.partition, &child)?,
            order: group_keys(&clause.order, &child)?,
            frame: clause.frame.clone(),
            run_condition: Vec::new(),
            run_condition_orig: Vec::new(),
            top_window: top,
        };
        let mut plan = above(PlanNode::WindowAgg(Box::new(node)), child, entries(&path.target));
        plan.qual = qual.to_vec();
        Ok(plan)
    }

    fn create_set_op(&mut self, path: &Rc<Path>) -> Result<Plan> {
        let PathKind::SetOp { left, right, kind, all, strategy, clauses, groups } = &path.kind
        else {
            return Err(err!(INTERNAL_ERROR, "not a set operation"));
        };
        let outer = self.create(left)?;
        let inner = self.create(right)?;
        let node = SetOp {
            kind: *kind,
            all: *all,
            strategy: *strategy,
            keys: position_sort_keys(clauses, &outer),
            eq_ops: clauses.iter().map(|c| c.eq_op).collect(),
            num_groups: *groups,
        };
        let target = outer.target.clone();
        let mut plan = above(PlanNode::SetOp(node), outer, target);
        plan.inner = Some(Box::new(inner));
        Ok(plan)
    }

    fn create_recursive_union(&mut self, path: &Rc<Path>) -> Result<Plan> {
        let PathKind::RecursiveUnion { left, right, clauses, param, groups } = &path.kind else {
            return Err(err!(INTERNAL_ERROR, "not a recursive union"));
        };
        let outer = self.create(left)?;
        let inner = self.create(right)?;
        let node = RecursiveUnion {
            param: *param,
            keys: position_group_keys(clauses, &outer),
            num_groups: *groups,
        };
        let target = outer.target.clone();
        let mut plan = above(PlanNode::RecursiveUnion(node), outer, target);
        plan.inner = Some(Box::new(inner));
        Ok(plan)
    }
}

/// A node above a child.
pub(super) fn above(node: PlanNode, child: Plan, target: Vec<TargetEntry>) -> Plan {
    let mut plan = Plan::new(node);
    plan.target = target;
    (plan.startup_cost, plan.total_cost) = (child.startup_cost, child.total_cost);
    (plan.rows, plan.width) = (child.rows, child.width);
    plan.disabled_nodes = child.disabled_nodes;
    plan.outer = Some(Box::new(child));
    plan
}

/// True if the node computes the columns it gives.
fn can_project(node: &PlanNode) -> bool {
    !matches!(
        node,
        PlanNode::Material
            | PlanNode::Hash(_)
            | PlanNode::Memoize(_)
            | PlanNode::Sort(_)
            | PlanNode::IncrementalSort(_)
            | PlanNode::Unique(_)
            | PlanNode::SetOp(_)
            | PlanNode::LockRows(_)
            | PlanNode::Limit(_)
            | PlanNode::ModifyTable(_)
            | PlanNode::Append(_)
            | PlanNode::MergeAppend(_)
            | PlanNode::RecursiveUnion(_)
            | PlanNode::ProjectSet
            | PlanNode::BitmapAnd(_)
            | PlanNode::BitmapOr(_)
            | PlanNode::BitmapIndexScan(_)
    )
}

fn position(clause: &SortGroupClause, child: &Plan) -> Result<usize> {
    child
        .target
        .iter()
        .position(|t| t.sort_group_ref == clause.target_ref)
        .ok_or_else(|| err!(INTERNAL_ERROR, "ORDER/GROUP BY expression not found in targetlist"))
}

/// The columns of a child that clauses mean, to compare for equality.
fn group_keys(clauses: &[SortGroupClause], child: &Plan) -> Result<Vec<GroupKey>> {
    clauses
        .iter()
        .map(|c| {
            let i = position(c, child)?;
            Ok(GroupKey {
                column: i as i16 + 1,
                eq_op: c.eq_op,
                collation: child.target[i].expr.collation(),
            })
        })
        .collect()
}

fn sort_key(c: &SortGroupClause, i: usize, child: &Plan) -> SortKey {
    SortKey {
        column: i as i16 + 1,
        op: c.sort_op.unwrap_or(Oid::INVALID),
        collation: child.target[i].expr.collation(),
        descending: c.descending,
        nulls_first: c.nulls_first,
    }
}

fn sort_keys_of(clauses: &[SortGroupClause], child: &Plan) -> Result<Vec<SortKey>> {
    clauses.iter().map(|c| Ok(sort_key(c, position(c, child)?, child))).collect()
}

/// The n-th clause is about the n-th column.
fn position_sort_keys(clauses: &[SortGroupClause], child: &Plan) -> Vec<SortKey> {
    clauses.iter().enumerate().map(|(i, c)| sort_key(c, i, child)).collect()
}

fn position_group_keys(clauses: &[SortGroupClause], child: &Plan) -> Vec<GroupKey> {
    clauses
        .iter()
        .enumerate()
        .map(|(i, c)| GroupKey {
            column: i as i16 + 1,
            eq_op: c.eq_op,
            collation: child.target[i].expr.collation(),
        })
        .collect()
}
