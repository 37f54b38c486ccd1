//! Aggregates with ORDER BY or DISTINCT whose input is sorted once, below them, instead of by
//! each aggregate for each group.

use crate::path::index::strip;
use crate::rel::PathKey;
use crate::root::Root;
use base::Result;
use ir::{Aggref, Expr, SortGroupClause, walk};

impl Root<'_> {
    /// Adds to the order of the groups the order that most aggregates want, and marks these.
    pub(super) fn presort_aggregates(&mut self) -> Result<()> {
        self.group_key_count = self.group_pathkeys.len();
        if !self.env.settings.enable_presorted_aggregate
            || !self.query.has_aggs
            || !self.query.grouping_sets.is_empty()
        {
            return Ok(());
        }
        let mut waiting: Vec<(Aggref, Vec<PathKey>)> = Vec::new();
        for a in self.ordered_aggregates() {
            if let Some(keys) = self.order_of_groups_and(&a)? {
                waiting.push((a, keys));
            }
        }
        let (mut best, mut best_keys) = (Vec::new(), Vec::new());
        while waiting.len() > best.len() {
            // The order that the first one wants, or one that begins with it.
            let mut keys = waiting[0].1.clone();
            let fits = |a: &[PathKey], b: &[PathKey]| a.starts_with(b) || b.starts_with(a);
            let (mut served, mut left) = (Vec::new(), Vec::new());
            for (a, own) in waiting {
                if !fits(&keys, &own) {
                    left.push((a, own));
                    continue;
                }
                if own.len() > keys.len() {
                    keys = own;
                }
                served.push(a);
            }
            waiting = left;
            if served.len() > best.len() {
                (best, best_keys) = (served, keys);
            }
        }
        if best.is_empty() {
            return Ok(());
        }
        self.group_pathkeys = best_keys;
        for e in self.processed.iter_mut().map(|t| &mut t.expr).chain(&mut self.having) {
            walk::transform(e, &mut |x| {
                if let Expr::Agg(a) = x {
                    a.presorted |= best.contains(a);
                }
            });
        }
        Ok(())
    }

    /// The aggregates of this level that a sort below them can serve.
    fn ordered_aggregates(&self) -> Vec<Aggref> {
        let mut found: Vec<Aggref> = Vec::new();
        for e in self.processed.iter().map(|t| &t.expr).chain(&self.having) {
            walk::each(e, &mut |x| {
                if let Expr::Agg(a) = x
                    && a.levels_up == 0
                    && a.kind == 'n'
                    && !(a.order.is_empty() && a.distinct.is_empty())
                    && (a.filter.is_none() || plain_arguments(a))
                    && !found.contains(a)
                {
                    found.push((**a).clone());
                }
            });
        }
        found
    }

    /// The order of the groups, and within them the one that an aggregate wants. None if it is
    /// not to be had by a sort below.
    fn order_of_groups_and(&mut self, a: &Aggref) -> Result<Option<Vec<PathKey>>> {
        let mut clauses: Vec<SortGroupClause> = a.order.clone();
        let more =
            a.distinct.iter().filter(|d| !a.order.iter().any(|o| o.target_ref == d.target_ref));
        clauses.extend(more.cloned());
        let Some(own) = self.pathkeys_for_clauses(&clauses, &a.args)? else { return Ok(None) };
        if own.iter().any(|k| self.ecs[self.canonical_ec(k.ec)].has_volatile) {
            return Ok(None);
        }
        let mut keys = self.group_pathkeys.clone();
        for k in own {
            if !self.redundant(&k, &keys) {
                keys.push(k);
            }
        }
        Ok(Some(keys))
    }
}

/// True if the arguments, computed for rows that the filter leaves out, can raise no error.
fn plain_arguments(a: &Aggref) -> bool {
    a.args.iter().all(|t| matches!(strip(&t.expr), Expr::Var(_) | Expr::Const(_)))
}
