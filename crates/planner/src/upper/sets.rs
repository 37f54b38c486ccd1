//! Grouping sets: nested ones share a sort, others are sorted for or hashed.

use super::Targets;
use crate::cost::scan::Cost;
use crate::cost::shape::AggCosts;
use crate::path::{Path, PathKind, SetPhase};
use crate::pathkeys::contained_in;
use crate::root::Root;
use base::Result;
use ir::{AggStrategy, GroupingSet, SortGroupClause};
use std::rc::Rc;

/// Sets that nest, smallest first, and how many groups each makes.
struct Chain {
    sets: Vec<(Vec<u32>, f64)>,
    /// The columns of the largest, so ordered that each smaller set is a prefix.
    columns: Vec<SortGroupClause>,
}

impl Chain {
    fn groups(&self) -> f64 {
        self.sets.iter().map(|s| s.1).sum()
    }

    fn sorts(&self) -> bool {
        self.columns.iter().all(|c| c.sort_op.is_some())
    }

    /// The empty set needs no table.
    fn hashes(&self) -> bool {
        !self.columns.is_empty() && self.columns.iter().all(|c| c.hashable)
    }

    fn sorted(&self) -> SetPhase {
        let plain = self.columns.is_empty();
        SetPhase {
            strategy: if plain { AggStrategy::Plain } else { AggStrategy::Sorted },
            clauses: self.columns.clone(),
            set_lengths: self.sets.iter().rev().map(|s| s.0.len() as u32).collect(),
            groups: self.groups(),
        }
    }

    /// Each set but the empty one by itself in a hash table.
    fn hashed(&self) -> impl Iterator<Item = SetPhase> + '_ {
        self.sets.iter().rev().filter(|s| !s.0.is_empty()).map(|(set, groups)| SetPhase {
            strategy: AggStrategy::Hashed,
            clauses: self.columns[..set.len()].to_vec(),
            set_lengths: vec![set.len() as u32],
            groups: *groups,
        })
    }
}

impl Root<'_> {
    /// The ways to group by sets.
    pub(super) fn grouping_set_paths(
        &mut self,
        rel: usize,
        input: usize,
        targets: &Targets,
        costs: &AggCosts,
        can_hash: bool,
    ) -> Result<()> {
        let Some(sub) = self.rels[input].cheapest_total.clone() else { return Ok(()) };
        let chains = self.chains_of_sets(sub.rows)?;
        let limit = self.env.settings.work_mem * self.env.settings.hash_mem_multiplier;
        let entry = self.hash_entry_size(costs, sub.target.width);
        let sorts = chains.iter().all(Chain::sorts);
        if can_hash && chains.iter().all(|c| c.columns.is_empty() || c.hashes()) {
            let empty: Vec<&(Vec<u32>, f64)> =
                chains.iter().flat_map(|c| &c.sets).filter(|s| s.0.is_empty()).collect();
            let mut phases: Vec<SetPhase> = chains.iter().flat_map(Chain::hashed).collect();
            let groups: f64 = phases.iter().map(|p| p.groups).sum();
            if !phases.is_empty() && (groups * entry <= limit || !sorts) {
                let strategy = match empty.is_empty() {
                    true => AggStrategy::Hashed,
                    false => AggStrategy::Mixed,
                };
                if !empty.is_empty() {
                    phases.push(SetPhase {
                        strategy: AggStrategy::Plain,
                        clauses: Vec::new(),
                        set_lengths: vec![0; empty.len()],
                        groups: empty.len() as f64,
                    });
                }
                let path = self.sets_path(&sub, strategy, phases, targets, costs)?;
                self.adopt(rel, &Rc::new(path));
            }
        }
        if !sorts {
            return Ok(());
        }
        let first = chains[0].columns.clone();
        let list = self.processed.clone();
        let keys = self.pathkeys_for_clauses(&first, &list)?.unwrap_or_default();
        for p in self.rels[input].paths.clone() {
            let sorted = if contained_in(&keys, &p.pathkeys) {
                p
            } else if Rc::ptr_eq(&p, &sub) {
                Rc::new(self.sorted_path(&sub, &keys, -1.0))
            } else {
                continue;
            };
            if can_hash && let Some(phases) = mixed_phases(&chains, entry, limit) {
                let mixed = AggStrategy::Mixed;
                let path = self.sets_path(&sorted, mixed, phases, targets, costs)?;
                self.adopt(rel, &Rc::new(path));
            }
            let phases: Vec<SetPhase> = chains.iter().map(Chain::sorted).collect();
            let path = self.sets_path(&sorted, phases[0].strategy, phases, targets, costs)?;
            self.adopt(rel, &Rc::new(path));
        }
        Ok(())
    }

    /// The query's sets in chains in which each contains the one before.
    fn chains_of_sets(&self, rows: f64) -> Result<Vec<Chain>> {
        let mut sets = expand_sets(&self.query.grouping_sets);
        if self.query.group_distinct {
            let mut seen: Vec<Vec<u32>> = Vec::new();
            sets.retain(|s| {
                let mut key = s.clone();
                key.sort_unstable();
                let new = !seen.contains(&key);
                if new {
                    seen.push(key);
                }
                new
            });
        }
        let clauses = &self.query.group_clause;
        let clause = |r: &u32| clauses.iter().find(|c| c.target_ref == *r).cloned();
        let mut out = Vec::new();
        for chain in chain_sets(sets) {
            let order = column_order(&chain, &self.query.sort_clause);
            let mut sets = Vec::new();
            for set in chain {
                let part: Vec<SortGroupClause> = set.iter().filter_map(clause).collect();
                let exprs = self.clause_exprs(&part);
                let groups = crate::selectivity::estimate_groups(self, &exprs, rows)?;
                sets.push((set, groups));
            }
            out.push(Chain { sets, columns: order.iter().filter_map(clause).collect() });
        }
        Ok(out)
    }

    /// A path that does these phases: the input's rows are read once, sorted as the first of the
    /// phases that is not hashed wants them.
    fn sets_path(
        &self,
        sub: &Rc<Path>,
        strategy: AggStrategy,
        phases: Vec<SetPhase>,
        targets: &Targets,
        costs: &AggCosts,
    ) -> Result<Path> {
        let first = &phases[0];
        let target = &targets.grouping;
        let having = self.having.clone();
        let mut path =
            self.agg_path(sub, strategy, target, &first.clauses, &having, costs, first.groups)?;
        let (quals, share) = match having.is_empty() {
            true => (Default::default(), 1.0),
            false => (self.eval_costs(&having), self.exprs_selectivity(&having, 0, None)?),
        };
        let mut sorted_input = strategy == AggStrategy::Mixed;
        for p in &phases[1..] {
            let hashed = p.strategy == AggStrategy::Hashed;
            let mut start = Cost::default();
            if !hashed && !std::mem::take(&mut sorted_input) {
                let (startup, run) = self.sort_only(sub.rows, sub.target.width, -1.0);
                (start.startup, start.total) = (startup, startup + run);
                start.disabled = u32::from(!self.env.settings.enable_sort);
            }
            let how = if hashed { AggStrategy::Hashed } else { AggStrategy::Sorted };
            let (width, n) = (sub.target.width, p.clauses.len());
            let c = self.cost_agg(start, sub.rows, width, how, costs, n, p.groups);
            path.total += c.total + quals.startup + p.groups * quals.per_row;
            path.disabled += c.disabled;
            path.rows += match having.is_empty() {
                true => p.groups,
                false => crate::cost::clamp_rows(p.groups * share),
            };
        }
        path.pathkeys = Vec::new();
        if let PathKind::Agg(a) = &mut path.kind {
            a.phases = phases;
        }
        Ok(path)
    }
}

/// Phases of which as many are hashed as memory allows, smallest first; the first chain is sorted
/// for, as the input is. None if there is nothing to hash.
fn mixed_phases(chains: &[Chain], entry: f64, limit: f64) -> Option<Vec<SetPhase>> {
    let mut by_size: Vec<usize> = (1..chains.len())
        .filter(|i| chains[*i].hashes() && chains[*i].sets.iter().all(|s| !s.0.is_empty()))
        .collect();
    let size = |i: usize| chains[i].groups() * entry;
    by_size.sort_by(|a, b| size(*a).total_cmp(&size(*b)));
    let mut left = limit;
    by_size.retain(|i| {
        let fits = size(*i) <= left;
        if fits {
            left -= size(*i);
        }
        fits
    });
    if by_size.is_empty() {
        return None;
    }
    let mut phases: Vec<SetPhase> = Vec::new();
    for (i, c) in chains.iter().enumerate().filter(|(i, _)| by_size.contains(i)) {
        debug_assert!(i > 0);
        phases.splice(0..0, c.hashed().collect::<Vec<_>>().into_iter().rev());
    }
    let others = chains.iter().enumerate().filter(|(i, _)| !by_size.contains(i));
    phases.extend(others.map(|(_, c)| c.sorted()));
    Some(phases)
}

/// The columns of a chain of sets, those of smaller ones first; among the new ones of a set those
/// that the query sorts by come in that order.
fn column_order(chain: &[Vec<u32>], sort: &[SortGroupClause]) -> Vec<u32> {
    let mut order: Vec<u32> = Vec::new();
    let mut follows = true;
    for set in chain {
        let mut new: Vec<u32> = set.iter().copied().filter(|r| !order.contains(r)).collect();
        while follows && !new.is_empty() && order.len() < sort.len() {
            let wanted = sort[order.len()].target_ref;
            match new.iter().position(|r| *r == wanted) {
                Some(at) => order.push(new.remove(at)),
                None => follows = false,
            }
        }
        order.extend(new);
    }
    order
}

/// The simple sets that nested ones mean, largest first.
fn expand_sets(sets: &[GroupingSet]) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for s in sets {
        let choices = expand_set(s);
        let mut next = Vec::new();
        for base in &all {
            for c in &choices {
                let mut set = base.clone();
                for r in c {
                    if !set.contains(r) {
                        set.push(*r);
                    }
                }
                next.push(set);
            }
        }
        all = next;
    }
    all.sort_by_key(|s| std::cmp::Reverse(s.len()));
    all
}

fn expand_set(set: &GroupingSet) -> Vec<Vec<u32>> {
    let flat = |list: &[GroupingSet]| -> Vec<Vec<u32>> {
        list.iter().map(|s| expand_set(s).into_iter().flatten().collect()).collect()
    };
    match set {
        GroupingSet::Empty => vec![Vec::new()],
        GroupingSet::Simple(refs) => vec![refs.clone()],
        GroupingSet::Rollup(list) => {
            let parts = flat(list);
            (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
        }
        GroupingSet::Cube(list) => {
            let parts = flat(list);
            let n = parts.len();
            (0..1u32 << n)
                .rev()
                .map(|bits| {
                    (0..n)
                        .filter(|i| bits & (1 << (n - 1 - i)) != 0)
                        .flat_map(|i| parts[i].clone())
                        .collect()
                })
                .collect()
        }
        GroupingSet::Sets(list) => list.iter().flat_map(expand_set).collect(),
    }
}

/// Groups the sets into chains in which each is contained in the next; smallest first.
fn chain_sets(sets: Vec<Vec<u32>>) -> Vec<Vec<Vec<u32>>> {
    let mut chains: Vec<Vec<Vec<u32>>> = Vec::new();
    for set in sets {
        // Sets come largest first: a chain takes one that its smallest so far contains.
        let fits = chains
            .iter_mut()
            .find(|c| c[0].len() >= set.len() && set.iter().all(|r| c[0].contains(r)));
        match fits {
            Some(c) => c.insert(0, set),
            None => chains.push(vec![set]),
        }
    }
    chains
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_sets_share_a_chain() {
        let rollup =
            GroupingSet::Rollup(vec![GroupingSet::Simple(vec![1]), GroupingSet::Simple(vec![2])]);
        let sets = expand_sets(&[rollup]);
        assert_eq!(sets, [vec![1, 2], vec![1], vec![]]);
        let chains = chain_sets(sets);
        assert_eq!(chains, [vec![vec![], vec![1], vec![1, 2]]]);
        let apart = [GroupingSet::Simple(vec![1]), GroupingSet::Simple(vec![2])];
        let chains = chain_sets(expand_sets(&[GroupingSet::Sets(apart.to_vec())]));
        assert_eq!(chains.len(), 2);
    }

    #[test]
    fn columns_follow_the_wanted_order() {
        let clause = |target_ref| SortGroupClause {
            target_ref,
            eq_op: base::Oid(96),
            sort_op: Some(base::Oid(97)),
            descending: false,
            nulls_first: false,
            hashable: true,
        };
        let chain = [vec![3], vec![1, 2, 3]];
        assert_eq!(column_order(&chain, &[clause(3), clause(2)]), [3, 2, 1]);
        assert_eq!(column_order(&chain, &[clause(1)]), [3, 1, 2]);
    }
}
