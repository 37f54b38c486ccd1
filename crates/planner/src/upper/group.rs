//! GROUP BY, aggregates, grouping sets and DISTINCT.

use super::Targets;
use crate::cost::clamp_rows;
use crate::cost::shape::AggCosts;
use crate::path::{AggPath, Path, PathKind};
use crate::pathkeys::contained_in;
use crate::rel::{BaseKind, PathKey, Target};
use crate::relids::Relids;
use crate::root::Root;
use base::{Result, err};
use ir::{AggSplit, AggStrategy, Expr, SortGroupClause};
use std::rc::Rc;

/// Whether partitions are grouped each for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wise {
    Not,
    /// Their groups are then combined.
    Partial,
    /// Their groups have nothing in common.
    Full,
}

/// What grouping gives, over a relation or over a partition of it.
pub(super) struct Grouping {
    pub target: Rc<Target>,
    pub having: Vec<Expr>,
    /// What is grouped by.
    pub exprs: Vec<Expr>,
    pub can_sort: bool,
    pub can_hash: bool,
}

impl Grouping {
    fn new(root: &Root, targets: &Targets) -> Grouping {
        let clauses = &root.query.group_clause;
        Grouping {
            target: targets.grouping.clone(),
            having: root.having.clone(),
            exprs: root.clause_exprs(clauses),
            can_sort: clauses.iter().all(|c| c.sort_op.is_some()),
            can_hash: !clauses.is_empty()
                && clauses.iter().all(|c| c.hashable)
                && !root.has_ordered_aggregate(targets),
        }
    }
}

impl Root<'_> {
    /// The expressions that clauses mean.
    pub fn clause_exprs(&self, clauses: &[SortGroupClause]) -> Vec<Expr> {
        clauses
            .iter()
            .filter_map(|c| {
                self.processed
                    .iter()
                    .find(|t| t.sort_group_ref == c.target_ref)
                    .map(|t| t.expr.clone())
            })
            .collect()
    }

    /// Adds grouping above the input's paths.
    pub fn group_rel(&mut self, input: usize, targets: &Targets) -> Result<usize> {
        let rel = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        self.rels[rel].target = targets.grouping.clone();
        let having = self.having.clone();
        self.rels[rel].parallel = self.rels[input].parallel
            && self.all_parallel_safe(&targets.grouping.exprs)?
            && self.all_parallel_safe(&having)?;
        if !self.query.grouping_sets.is_empty() {
            let mut exprs: Vec<&Expr> = targets.grouping.exprs.iter().collect();
            exprs.extend(having.iter());
            let costs = self.agg_costs(&exprs)?;
            let can_hash = !self.has_ordered_aggregate(targets);
            self.grouping_set_paths(rel, input, targets, &costs, can_hash)?;
        } else {
            let g = Grouping::new(self, targets);
            let wise = match self.env.settings.enable_partitionwise_aggregate {
                true => Wise::Full,
                false => Wise::Not,
            };
            self.plain_group_paths(rel, input, &g, wise)?;
        }
        if self.rels[rel].paths.is_empty() {
            return Err(err!(FEATURE_NOT_SUPPORTED, "could not implement GROUP BY").detail(
                "Some of the datatypes only support hashing, while others only support sorting.",
            ));
        }
        self.rels[rel].rows = self.rels[rel].paths[0].rows;
        self.rels[rel].set_cheapest();
        Ok(rel)
    }

    /// Adds grouping by plain columns; gives the relation of partial groups, if there is one.
    fn plain_group_paths(
        &mut self,
        rel: usize,
        input: usize,
        g: &Grouping,
        asked: Wise,
    ) -> Result<Option<usize>> {
        let wise = if asked == Wise::Not || !self.is_divided(input) {
            Wise::Not
        } else if asked == Wise::Full && self.groups_by_partition(input, g) {
            Wise::Full
        } else if self.aggregates_split(g)? {
            Wise::Partial
        } else {
            Wise::Not
        };
        let how = (asked == Wise::Partial, wise == Wise::Partial);
        let mut partial = self.partial_group_rel(rel, input, g, how)?;
        if wise != Wise::Not {
            self.group_by_parts(rel, input, &mut partial, g, wise)?;
        }
        if asked == Wise::Partial {
            if let Some(partial) = partial {
                self.rels[partial].set_cheapest();
            }
            return Ok(partial);
        }
        let mut finish = None;
        if let Some(p) = partial {
            self.gather_groups(p)?;
            self.rels[p].set_cheapest();
            finish = (!self.rels[p].paths.is_empty()).then_some(p);
        }
        self.whole_group_paths(rel, input, g, finish)?;
        if !self.rels[rel].partial.is_empty() {
            // Each worker groups some of the partitions.
            self.gather_paths(rel, true)?;
        }
        Ok(partial)
    }

    fn whole_group_paths(
        &mut self,
        rel: usize,
        input: usize,
        g: &Grouping,
        partial: Option<usize>,
    ) -> Result<()> {
        let clauses = self.query.group_clause.clone();
        let having = &g.having;
        let mut exprs: Vec<&Expr> = g.target.exprs.iter().collect();
        exprs.extend(having.iter());
        let costs = self.agg_costs(&exprs)?;
        let rows = self.rels[input].cheapest_total.as_ref().map_or(1.0, |p| p.rows);
        let groups = match clauses.is_empty() {
            true => 1.0,
            false => crate::selectivity::estimate_groups(self, &g.exprs, rows)?,
        };
        let aggregates = self.query.has_aggs;
        let wanted = self.group_pathkeys.clone();
        let cheapest = self.rels[input].cheapest_total.clone();
        if g.can_sort {
            let mut orders = Vec::new();
            for p in self.rels[input].paths.clone() {
                orders.push((p.clone(), clauses.clone(), wanted.clone()));
                if let Some((clauses, wanted)) =
                    self.regrouped(g, &clauses, &wanted, &p.pathkeys)?
                {
                    orders.push((p, clauses, wanted));
                }
            }
            for (p, clauses, wanted) in orders {
                let is_cheapest = cheapest.as_ref().is_some_and(|c| Rc::ptr_eq(c, &p));
                let presorted = crate::pathkeys::common_prefix(&wanted, &p.pathkeys);
                let sorted = if presorted == wanted.len() {
                    p.clone()
                } else if presorted > 0 && self.env.settings.enable_incremental_sort {
                    Rc::new(self.incrementally_sorted(&p, &wanted, presorted, -1.0)?)
                } else if is_cheapest {
                    Rc::new(self.sorted_path(&p, &wanted, -1.0))
                } else {
                    continue;
                };
                let path = if aggregates || clauses.is_empty() {
                    let strategy =
                        if clauses.is_empty() { AggStrategy::Plain } else { AggStrategy::Sorted };
                    self.agg_path(&sorted, strategy, &g.target, &clauses, having, &costs, groups)?
                } else {
                    self.group_path(&sorted, &g.target, &clauses, having, groups)?
                };
                self.adopt(rel, &Rc::new(path));
            }
        }
        if let Some(partial) = partial
            && g.can_sort
        {
            self.finalize_sorted(rel, partial, g, groups)?;
        }
        if g.can_hash
            && let Some(p) = cheapest
        {
            let hashed = AggStrategy::Hashed;
            let path = self.agg_path(&p, hashed, &g.target, &clauses, having, &costs, groups)?;
            self.adopt(rel, &Rc::new(path));
        }
        if let Some(partial) = partial
            && g.can_hash
        {
            self.finalize_hashed(rel, partial, g, groups)?;
        }
        Ok(())
    }

    /// What is grouped by in another order, in which more of it comes sorted already.
    fn regrouped(
        &mut self,
        g: &Grouping,
        clauses: &[SortGroupClause],
        wanted: &[PathKey],
        have: &[PathKey],
    ) -> Result<Option<(Vec<SortGroupClause>, Vec<PathKey>)>> {
        let s = self.env.settings;
        let exprs = self.clause_exprs(clauses);
        if !s.enable_group_by_reordering || exprs != g.exprs || exprs.len() != clauses.len() {
            return Ok(None);
        }
        let incremental = s.enable_incremental_sort;
        let (of_groups, within) = wanted.split_at(self.group_key_count);
        let Some(mut keys) = crate::pathkeys::reordered(of_groups, have, incremental) else {
            return Ok(None);
        };
        let mut rest: Vec<(SortGroupClause, Option<PathKey>)> = Vec::new();
        for (c, e) in clauses.iter().zip(&exprs) {
            let Some(op) = c.sort_op else { return Ok(None) };
            let order = (c.descending, c.nulls_first);
            rest.push((c.clone(), self.path_key(e, op, order, c.target_ref, false)?));
        }
        let mut out = Vec::new();
        for k in &keys {
            let Some(at) = rest.iter().position(|r| r.1 == Some(*k)) else { return Ok(None) };
            out.push(rest.remove(at).0);
        }
        out.extend(rest.into_iter().map(|r| r.0));
        keys.extend(within);
        Ok(Some((out, keys)))
    }

    /// Whether rows of different partitions are never in one group.
    fn groups_by_partition(&self, input: usize, g: &Grouping) -> bool {
        let Some(p) = &self.rels[input].partitioned else { return false };
        let strip = crate::path::index::strip;
        p.keys.iter().zip(&p.scheme.collations).all(|(keys, collation)| {
            keys.iter().any(|k| {
                g.exprs.iter().any(|e| {
                    strip(e) == strip(k) && (!collation.is_valid() || e.collation() == *collation)
                })
            })
        })
    }

    /// Groups each partition for itself: wholly, or in a first step.
    fn group_by_parts(
        &mut self,
        rel: usize,
        input: usize,
        partial: &mut Option<usize>,
        g: &Grouping,
        wise: Wise,
    ) -> Result<()> {
        let parts = self.rels[input].partitioned.clone();
        let (mut live, mut first_steps) = (Vec::new(), Vec::new());
        let mut all_partial = true;
        for part in parts.iter().flat_map(|p| p.parts.iter().flatten().copied()) {
            if self.rels[part].dummy {
                continue;
            }
            let members = self.rels[part].relids.clone();
            let own = Grouping {
                target: Rc::new(self.target_for_members(&g.target, &members)?),
                having: self.list_for_members(&g.having, &members)?,
                exprs: self.list_for_members(&g.exprs, &members)?,
                ..*g
            };
            let child = self.add_rel(BaseKind::Upper, members, 0);
            self.rels[child].target = own.target.clone();
            self.rels[child].parallel = self.rels[rel].parallel && self.rels[part].parallel;
            match self.plain_group_paths(child, part, &own, wise)? {
                Some(step) => first_steps.push(step),
                None => all_partial = false,
            }
            if wise == Wise::Full {
                self.rels[child].set_cheapest();
                live.push(child);
            }
        }
        if let Some(p) = *partial
            && all_partial
            && first_steps.iter().all(|s| !self.rels[*s].paths.is_empty())
        {
            for step in &first_steps {
                self.rels[*step].set_cheapest();
            }
            self.add_append_paths(p, &first_steps)?;
            self.rels[p].set_cheapest();
        }
        if wise == Wise::Full {
            self.add_append_paths(rel, &live)?;
        }
        Ok(())
    }

    /// DISTINCT or ORDER BY inside an aggregate keep it from being hashed.
    fn has_ordered_aggregate(&self, targets: &Targets) -> bool {
        targets.grouping.exprs.iter().chain(&self.having).any(|e| {
            ir::walk::any(e, &mut |x| {
                matches!(x, Expr::Agg(a) if a.levels_up == 0
                    && (!a.order.is_empty() || !a.distinct.is_empty() || a.kind != 'n'))
            })
        })
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn agg_path(
        &self,
        sub: &Rc<Path>,
        strategy: AggStrategy,
        target: &Rc<Target>,
        clauses: &[SortGroupClause],
        having: &[Expr],
        costs: &AggCosts,
        groups: f64,
    ) -> Result<Path> {
        let input = self.path_cost(sub);
        let mut c = self.cost_agg(
            input,
            sub.rows,
            sub.target.width,
            strategy,
            costs,
            clauses.len(),
            groups,
        );
        let mut rows = groups;
        if !having.is_empty() {
            let q = self.eval_costs(having);
            c.startup += q.startup;
            c.total += q.startup + rows * q.per_row;
            rows = clamp_rows(rows * self.exprs_selectivity(having, 0, None)?);
        }
        let mut p = (**sub).clone();
        p.kind = PathKind::Agg(Box::new(AggPath {
            sub: sub.clone(),
            strategy,
            split: AggSplit::Simple,
            groups,
            clauses: clauses.to_vec(),
            having: having.to_vec(),
            phases: Vec::new(),
        }));
        p.target = target.clone();
        p.pathkeys =
            if strategy == AggStrategy::Sorted { sub.pathkeys.clone() } else { Vec::new() };
        if self.group_pathkeys.len() > self.group_key_count {
            // What is sorted by within groups is gone.
            p.pathkeys.truncate(self.group_key_count);
        }
        (p.rows, p.disabled) = (rows, c.disabled);
        p.startup = c.startup + target.cost.0;
        p.total = c.total + target.cost.0 + target.cost.1 * rows;
        Ok(p)
    }

    pub(super) fn group_path(
        &self,
        sub: &Rc<Path>,
        target: &Rc<Target>,
        clauses: &[SortGroupClause],
        having: &[Expr],
        groups: f64,
    ) -> Result<Path> {
        let mut p = (**sub).clone();
        let s = self.env.settings;
        let mut total = sub.total + s.cpu_operator_cost * sub.rows * clauses.len() as f64;
        let mut startup = sub.startup;
        let mut rows = groups;
        if !having.is_empty() {
            let q = self.eval_costs(having);
            startup += q.startup;
            total += q.startup + rows * q.per_row;
            rows = clamp_rows(rows * self.exprs_selectivity(having, 0, None)?);
        }
        p.kind = PathKind::Group {
            sub: sub.clone(),
            clauses: clauses.to_vec(),
            having: having.to_vec(),
        };
        p.target = target.clone();
        p.rows = rows;
        p.startup = startup + target.cost.0;
        p.total = total + target.cost.0 + target.cost.1 * rows;
        Ok(p)
    }

    /// Adds DISTINCT above the input's paths.
    pub fn distinct_rel(&mut self, input: usize) -> Result<usize> {
        let rel = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        let target = self.rels[input].target.clone();
        self.rels[rel].target = target.clone();
        let clauses = self.query.distinct_clause.clone();
        let Some(cheapest) = self.rels[input].cheapest_total.clone() else { return Ok(rel) };
        let exprs = self.clause_exprs(&clauses);
        let rows = if self.query.group_clause.is_empty() && !self.query.has_aggs {
            crate::selectivity::estimate_groups(self, &exprs, cheapest.rows)?
        } else {
            cheapest.rows
        };
        self.rels[rel].parallel = self.rels[input].parallel;
        if let Some(partial) = self.partial_distinct_rel(input)? {
            self.distinct_of(rel, partial, rows)?;
        }
        self.distinct_of(rel, input, rows)?;
        if self.rels[rel].paths.is_empty() {
            return Err(err!(FEATURE_NOT_SUPPORTED, "could not implement DISTINCT").detail(
                "Some of the datatypes only support hashing, while others only support sorting.",
            ));
        }
        self.rels[rel].rows = rows;
        self.rels[rel].set_cheapest();
        Ok(rel)
    }

    fn first_row_path(&self, sub: Rc<Path>) -> Path {
        let (c, rows) = self.cost_limit(self.path_cost(&sub), sub.rows, None, Some(1.0));
        let mut path = (*sub).clone();
        let one = ir::Const {
            ty: base::Oid(20),
            typmod: -1,
            collation: base::Oid::INVALID,
            value: types::Datum::I64(1),
            location: None,
        };
        let count = Some(Expr::Const(one));
        path.kind = PathKind::Limit { sub, offset: None, count, with_ties: false };
        (path.startup, path.total, path.rows) = (c.startup, c.total, rows);
        path
    }

    /// What is sorted by for DISTINCT in another order, in which more of it comes sorted already.
    /// DISTINCT ON looks at the first keys only: they stay the first.
    fn distinct_order(&self, wanted: &[PathKey], have: &[PathKey]) -> Option<Vec<PathKey>> {
        let s = self.env.settings;
        if !s.enable_distinct_reordering {
            return None;
        }
        let on = self.query.has_distinct_on;
        let fits = |k: &&PathKey| !on || self.distinct_pathkeys.contains(k);
        let have: Vec<PathKey> = have.iter().take_while(fits).copied().collect();
        crate::pathkeys::reordered(wanted, &have, s.enable_incremental_sort)
    }

    /// The ways to make the input's rows distinct.
    fn distinct_of(&mut self, rel: usize, input: usize, rows: f64) -> Result<()> {
        let target = self.rels[input].target.clone();
        let mut clauses = self.query.distinct_clause.clone();
        let exprs = self.clause_exprs(&clauses);
        if exprs.len() == clauses.len() {
            // The same column again tells nothing more apart.
            let mut i = 0;
            clauses.retain(|_| {
                i += 1;
                !exprs[..i - 1].contains(&exprs[i - 1])
            });
        }
        let Some(cheapest) = self.rels[input].cheapest_total.clone() else { return Ok(()) };
        let on = self.query.has_distinct_on;
        if clauses.iter().all(|c| c.sort_op.is_some()) {
            let wanted: Vec<PathKey> =
                if on && self.distinct_pathkeys.len() < self.sort_pathkeys.len() {
                    self.sort_pathkeys.clone()
                } else {
                    self.distinct_pathkeys.clone()
                };
            let keys = self.distinct_pathkeys.len();
            let mut orders = Vec::new();
            for p in self.rels[input].paths.clone() {
                orders.push((p.clone(), wanted.clone()));
                if let Some(wanted) = self.distinct_order(&wanted, &p.pathkeys) {
                    orders.push((p, wanted));
                }
            }
            for (p, wanted) in orders {
                let is_cheapest = Rc::ptr_eq(&p, &cheapest);
                let presorted = crate::pathkeys::common_prefix(&wanted, &p.pathkeys);
                let sorted = if contained_in(&wanted, &p.pathkeys) {
                    p
                } else if presorted > 0 && self.env.settings.enable_incremental_sort {
                    Rc::new(self.incrementally_sorted(&p, &wanted, presorted, -1.0)?)
                } else if is_cheapest {
                    Rc::new(self.sorted_path(&p, &wanted, -1.0))
                } else {
                    continue;
                };
                if keys == 0 {
                    // All rows are the same in what is asked for: the first one will do.
                    let path = self.first_row_path(sorted);
                    self.adopt(rel, &Rc::new(path));
                    continue;
                }
                let mut u = (*sorted).clone();
                u.total += self.env.settings.cpu_operator_cost * sorted.rows * keys as f64;
                u.rows = rows;
                u.kind = PathKind::Unique { sub: sorted, keys };
                self.adopt(rel, &Rc::new(u));
            }
        }
        if !on && clauses.iter().all(|c| c.hashable) {
            let none = AggCosts::default();
            let path =
                self.agg_path(&cheapest, AggStrategy::Hashed, &target, &clauses, &[], &none, rows)?;
            self.adopt(rel, &Rc::new(path));
        }
        Ok(())
    }
}
