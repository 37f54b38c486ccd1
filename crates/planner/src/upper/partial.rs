//! Grouping and DISTINCT in two steps: workers do what they can with their share of the rows, the
//! leader combines what they give.

use super::group::Grouping;
use super::pull_parts;
use crate::cost::shape::AggCosts;
use crate::path::{AggPath, Path, PathKind};
use crate::pathkeys::contained_in;
use crate::rel::{BaseKind, Target};
use crate::relids::Relids;
use crate::root::Root;
use base::{Oid, Result};
use ir::{AggSplit, AggStrategy, Aggref, Expr, TargetEntry, walk};
use std::rc::Rc;

const INTERNAL: Oid = Oid(2281);
const BYTEA: Oid = Oid(17);

impl Root<'_> {
    /// The relation of partially grouped rows, by workers or (if `whole`) of all the input's rows;
    /// None if that is not possible. With `force` it is there even if it has no paths yet.
    pub(super) fn partial_group_rel(
        &mut self,
        grouped: usize,
        input: usize,
        g: &Grouping,
        (whole, force): (bool, bool),
    ) -> Result<Option<usize>> {
        if !self.query.has_aggs && self.query.group_clause.is_empty()
            || !self.aggregates_split(g)?
        {
            return Ok(None);
        }
        let parallel = self.rels[grouped].parallel;
        let shared = self.rels[input].partial.first().cloned().filter(|_| parallel);
        if shared.is_none() && !whole && !force {
            return Ok(None);
        }
        let target = Rc::new(self.partial_target(g)?);
        let rel = self.add_rel(BaseKind::Upper, self.rels[grouped].relids.clone(), 0);
        self.rels[rel].parallel = parallel;
        self.rels[rel].target = target.clone();
        let costs = self.split_costs(g, AggSplit::InitialSerial)?;
        if let Some(cheapest) = shared {
            let partial = self.rels[input].partial.clone();
            self.initial_groups(rel, g, &costs, (&partial, &cheapest), true)?;
        }
        if whole && let Some(cheapest) = self.rels[input].cheapest_total.clone() {
            let paths = self.rels[input].paths.clone();
            self.initial_groups(rel, g, &costs, (&paths, &cheapest), false)?;
        }
        Ok(Some(rel))
    }

    /// Adds the first step of grouping above these paths.
    fn initial_groups(
        &mut self,
        rel: usize,
        g: &Grouping,
        costs: &AggCosts,
        (paths, cheapest): (&[Rc<Path>], &Rc<Path>),
        shared: bool,
    ) -> Result<()> {
        let clauses = self.query.group_clause.clone();
        let target = self.rels[rel].target.clone();
        let groups = match clauses.is_empty() {
            true => 1.0,
            false => crate::selectivity::estimate_groups(self, &g.exprs, cheapest.rows)?,
        };
        let wanted = self.group_pathkeys.clone();
        let mut found = Vec::new();
        if g.can_sort {
            for p in paths {
                let sorted = match contained_in(&wanted, &p.pathkeys) {
                    true => p.clone(),
                    false => match self.partial_sorted(p, cheapest, &wanted, -1.0)? {
                        Some(sorted) => sorted,
                        None => continue,
                    },
                };
                found.push(if self.query.has_aggs {
                    let strategy = match clauses.is_empty() {
                        true => AggStrategy::Plain,
                        false => AggStrategy::Sorted,
                    };
                    self.agg_path(&sorted, strategy, &target, &clauses, &[], costs, groups)?
                } else {
                    self.group_path(&sorted, &target, &clauses, &[], groups)?
                });
            }
        }
        if g.can_hash {
            let hashed = AggStrategy::Hashed;
            found.push(self.agg_path(cheapest, hashed, &target, &clauses, &[], costs, groups)?);
        }
        for path in found {
            match shared {
                true => self.rels[rel].add_partial(as_initial(path)),
                false => self.rels[rel].add_path(as_initial(path)),
            }
        }
        Ok(())
    }

    /// Gathers partially grouped rows, in any order and in that of the groups.
    pub(super) fn gather_groups(&mut self, rel: usize) -> Result<()> {
        self.gather_paths(rel, true)?;
        let Some(cheapest) = self.rels[rel].partial.first().cloned() else { return Ok(()) };
        let wanted = self.group_pathkeys.clone();
        for p in self.rels[rel].partial.clone() {
            if contained_in(&wanted, &p.pathkeys) {
                continue;
            }
            if let Some(sorted) = self.partial_sorted(&p, &cheapest, &wanted, -1.0)? {
                let rows = self.gathered_rows(&sorted);
                let path = self.gather_merge_path(&sorted, rows);
                self.rels[rel].add_path(path);
            }
        }
        self.rels[rel].set_cheapest();
        Ok(())
    }

    /// Adds groups that are finished from partial ones that come sorted.
    pub(super) fn finalize_sorted(
        &mut self,
        rel: usize,
        partial: usize,
        g: &Grouping,
        groups: f64,
    ) -> Result<()> {
        let costs = self.split_costs(g, AggSplit::FinalDeserial)?;
        let clauses = self.query.group_clause.clone();
        let (wanted, having) = (self.group_pathkeys.clone(), g.having.clone());
        let cheapest = self.rels[partial].cheapest_total.clone();
        for p in self.rels[partial].paths.clone() {
            let is_cheapest = cheapest.as_ref().is_some_and(|c| Rc::ptr_eq(c, &p));
            let presorted = crate::pathkeys::common_prefix(&wanted, &p.pathkeys);
            let sorted = if presorted == wanted.len() {
                p
            } else if presorted > 0 && self.env.settings.enable_incremental_sort {
                Rc::new(self.incrementally_sorted(&p, &wanted, presorted, -1.0)?)
            } else if is_cheapest {
                Rc::new(self.sorted_path(&p, &wanted, -1.0))
            } else {
                continue;
            };
            let target = &g.target;
            let path = if self.query.has_aggs {
                let strategy = match clauses.is_empty() {
                    true => AggStrategy::Plain,
                    false => AggStrategy::Sorted,
                };
                let path =
                    self.agg_path(&sorted, strategy, target, &clauses, &having, &costs, groups)?;
                as_final(path)
            } else {
                self.group_path(&sorted, target, &clauses, &having, groups)?
            };
            self.adopt(rel, &Rc::new(path));
        }
        Ok(())
    }

    /// Adds groups that are finished in a hash table.
    pub(super) fn finalize_hashed(
        &mut self,
        rel: usize,
        partial: usize,
        g: &Grouping,
        groups: f64,
    ) -> Result<()> {
        let Some(p) = self.rels[partial].cheapest_total.clone() else { return Ok(()) };
        let costs = self.split_costs(g, AggSplit::FinalDeserial)?;
        let (clauses, having) = (self.query.group_clause.clone(), g.having.clone());
        let (target, hashed) = (&g.target, AggStrategy::Hashed);
        let path = self.agg_path(&p, hashed, target, &clauses, &having, &costs, groups)?;
        self.adopt(rel, &Rc::new(as_final(path)));
        Ok(())
    }

    /// Rows made distinct by each worker, gathered; what they have in common is still there more
    /// than once.
    pub(super) fn partial_distinct_rel(&mut self, input: usize) -> Result<Option<usize>> {
        let Some(cheapest) = self.rels[input].partial.first().cloned() else { return Ok(None) };
        let clauses = self.query.distinct_clause.clone();
        if !self.rels[input].parallel || self.query.has_distinct_on {
            return Ok(None);
        }
        let target = self.rels[input].target.clone();
        let rel = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        self.rels[rel].parallel = true;
        self.rels[rel].target = target.clone();
        let exprs = self.clause_exprs(&clauses);
        let rows = crate::selectivity::estimate_groups(self, &exprs, cheapest.rows)?;
        if clauses.iter().all(|c| c.sort_op.is_some()) {
            let wanted = self.distinct_pathkeys.clone();
            for p in self.rels[input].partial.clone() {
                let sorted = match contained_in(&wanted, &p.pathkeys) {
                    true => p,
                    false => match self.partial_sorted(&p, &cheapest, &wanted, -1.0)? {
                        Some(sorted) => sorted,
                        None => continue,
                    },
                };
                let mut u = (*sorted).clone();
                let per_row = self.env.settings.cpu_operator_cost * wanted.len() as f64;
                u.total += per_row * sorted.rows;
                u.rows = rows;
                u.kind = PathKind::Unique { sub: sorted, keys: wanted.len() };
                self.rels[rel].add_partial(u);
            }
        }
        if clauses.iter().all(|c| c.hashable) {
            let (none, hashed) = (AggCosts::default(), AggStrategy::Hashed);
            let path = self.agg_path(&cheapest, hashed, &target, &clauses, &[], &none, rows)?;
            self.rels[rel].add_partial(path);
        }
        self.gather_paths(rel, true)?;
        self.rels[rel].set_cheapest();
        Ok((!self.rels[rel].paths.is_empty()).then_some(rel))
    }

    /// Aggregates of the target and of HAVING.
    fn aggregates(&self, g: &Grouping) -> Vec<Aggref> {
        let mut all: Vec<Aggref> = Vec::new();
        for e in g.target.exprs.iter().chain(&g.having) {
            walk::each(e, &mut |x| {
                if let Expr::Agg(a) = x
                    && a.levels_up == 0
                    && !all.contains(a)
                {
                    all.push((**a).clone());
                }
            });
        }
        all
    }

    /// Whether all aggregates can be computed in parts.
    pub(super) fn aggregates_split(&self, g: &Grouping) -> Result<bool> {
        for a in self.aggregates(g) {
            let desc = self.env.catalog.aggregate(a.agg)?;
            if !desc.combine.is_valid()
                || !a.order.is_empty()
                || !a.distinct.is_empty()
                || a.kind != 'n'
                || desc.trans_type == INTERNAL && !desc.serial.is_valid()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Group columns, other columns and the states of aggregates.
    fn partial_target(&self, g: &Grouping) -> Result<Target> {
        let refs: Vec<u32> = self.query.group_clause.iter().map(|g| g.target_ref).collect();
        let mut out = Target::default();
        let mut rest = Vec::new();
        for (e, r) in g.target.exprs.iter().zip(&g.target.refs) {
            match *r != 0 && refs.contains(r) {
                true => out.add(e.clone(), *r),
                false => rest.push(e.clone()),
            }
        }
        rest.extend(g.having.iter().cloned());
        let mut failed = None;
        for e in &rest {
            pull_parts(e, true, false, &mut |x| {
                let part = match x {
                    Expr::Agg(a) => self.state_of(a),
                    other => Ok(other.clone()),
                };
                match part {
                    Ok(part) => out.add(part, 0),
                    Err(error) => failed = Some(error),
                }
            });
        }
        if let Some(error) = failed {
            return Err(error);
        }
        self.finish_target(&mut out);
        Ok(out)
    }

    /// The aggregate as its state.
    fn state_of(&self, a: &Aggref) -> Result<Expr> {
        let mut a = a.clone();
        a.trans_type = self.env.catalog.aggregate(a.agg)?.trans_type;
        Ok(as_state(&a))
    }

    /// What one of the two steps costs.
    fn split_costs(&self, g: &Grouping, split: AggSplit) -> Result<AggCosts> {
        let mut exprs: Vec<&Expr> = g.target.exprs.iter().collect();
        exprs.extend(g.having.iter());
        let mut costs = self.agg_costs(&exprs)?;
        let s = self.env.settings;
        let call = |f: Oid| -> f64 {
            match f.is_valid() {
                true => self.env.catalog.proc(f).map_or(1.0, |p| f64::from(p.cost)),
                false => 0.0,
            }
        };
        if split == AggSplit::FinalDeserial {
            costs.trans = (0.0, 0.0);
        } else {
            costs.final_ = (0.0, 0.0);
        }
        for a in self.aggregates(g) {
            let desc = self.env.catalog.aggregate(a.agg)?;
            if split == AggSplit::FinalDeserial {
                costs.trans.1 += call(desc.combine) * s.cpu_operator_cost;
                costs.trans.1 += call(desc.deserial) * s.cpu_operator_cost;
            } else {
                costs.final_.1 += call(desc.serial) * s.cpu_operator_cost;
            }
        }
        Ok(costs)
    }
}

/// An aggregate, whose type of state is known, as its state.
fn as_state(a: &Aggref) -> Expr {
    // The states of aggregates that are built in are kept in a form of their own.
    let built_in = functions::aggregate(a.agg).is_some();
    let mut state = a.clone();
    state.ty = if built_in || a.trans_type == INTERNAL { BYTEA } else { a.trans_type };
    state.split = AggSplit::InitialSerial;
    Expr::Agg(Box::new(state))
}

/// Makes aggregates combine states. Only once the nodes above have found them as they were.
pub fn combine_states(e: &mut Expr) {
    walk::replace(e, &mut |x| {
        let Expr::Agg(a) = x else { return None };
        let mut all = (**a).clone();
        all.args = vec![TargetEntry::new(as_state(a), 1, None, false)];
        all.filter = None;
        all.split = AggSplit::FinalDeserial;
        Some(Expr::Agg(Box::new(all)))
    });
}

fn split_as(mut path: Path, split: AggSplit) -> Path {
    if let PathKind::Agg(a) = path.kind {
        path.kind = PathKind::Agg(Box::new(AggPath { split, ..*a }));
    }
    path
}

fn as_initial(path: Path) -> Path {
    split_as(path, AggSplit::InitialSerial)
}

fn as_final(path: Path) -> Path {
    split_as(path, AggSplit::FinalDeserial)
}
