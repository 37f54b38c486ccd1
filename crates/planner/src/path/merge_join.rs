//! Merge joins: which orders of the sides are tried, and what becomes of them.

use super::join::Pair;
use super::{MergePath, Path, PathKind};
use crate::cost::clamp_rows;
use crate::pathkeys::contained_in;
use crate::rel::{PathKey, Restriction};
use crate::root::Root;
use base::Result;
use ir::{Expr, JoinKind};
use std::rc::Rc;

impl Root<'_> {
    /// The order that a merge of these conditions wants of the outer side.
    fn merge_keys(&self, p: &Pair) -> Vec<PathKey> {
        let mut keys: Vec<PathKey> = Vec::with_capacity(p.merge_clauses.len());
        for c in &p.merge_clauses {
            let ec = if c.left_relids.is_subset(&p.outer_ids) {
                c.left_ec.get()
            } else {
                c.right_ec.get()
            };
            let Some(ec) = ec else { continue };
            let key = PathKey {
                ec: self.canonical_ec(ec),
                family: c.merge_families[0],
                descending: false,
                nulls_first: false,
            };
            if !keys.iter().any(|k| k.ec == key.ec) {
                keys.push(key);
            }
        }
        keys
    }

    pub(super) fn merge_joins(&mut self, p: &Pair) -> Result<()> {
        if p.kind == JoinKind::RightSemi || p.merge_clauses.is_empty() && p.kind != JoinKind::Full {
            return Ok(());
        }
        if matches!(p.kind, JoinKind::Right | JoinKind::RightAnti | JoinKind::Full)
            && p.restrictions
                .iter()
                .filter(|r| !matches!(r.clause, Expr::Const(_)))
                .any(|r| !r.pushed_down && !p.merge_clauses.iter().any(|m| m.serial == r.serial))
        {
            return Ok(());
        }
        let base = self.merge_keys(p);
        let (Some(outer), Some(inner)) =
            (self.rels[p.outer].cheapest_total.clone(), self.rels[p.inner].cheapest_total.clone())
        else {
            return Ok(());
        };
        if base.is_empty() {
            // Without a column to merge by, every row is joined with every other.
            return self.merge_with(p, &outer, &inner, &[]);
        }
        // Both sides sorted, each column first in turn.
        for first in 0..base.len() {
            let mut keys = base.clone();
            let k = keys.remove(first);
            keys.insert(0, k);
            self.merge_with(p, &outer, &inner, &keys)?;
        }
        // Sides that come in a useful order already.
        let outers = self.rels[p.outer].paths.clone();
        for o in outers.iter().filter(|o| !o.pathkeys.is_empty()) {
            let keys: Vec<PathKey> = o
                .pathkeys
                .iter()
                .take_while(|k| base.iter().any(|b| b.ec == self.canonical_ec(k.ec)))
                .copied()
                .collect();
            if keys.is_empty() {
                continue;
            }
            self.merge_with(p, o, &inner, &keys)?;
            let sorted: Vec<Rc<Path>> = self.rels[p.inner].paths.clone();
            for i in sorted.iter().filter(|i| !i.pathkeys.is_empty()) {
                let wanted = self.inner_keys(p, &keys);
                let n = crate::pathkeys::common_prefix(&wanted, &i.pathkeys);
                if n > 0 {
                    self.merge_with(p, o, i, &keys[..n.min(keys.len())])?;
                }
            }
        }
        let sorted: Vec<Rc<Path>> = self.rels[p.inner].paths.clone();
        for i in sorted.iter().filter(|i| !i.pathkeys.is_empty()) {
            let wanted = self.inner_keys(p, &base);
            let n = crate::pathkeys::common_prefix(&wanted, &i.pathkeys);
            if n > 0 {
                self.merge_with(p, &outer, i, &base[..n.min(base.len())])?;
            }
        }
        self.partial_merge_joins(p, &base, &inner)
    }

    /// Merge joins of which workers each do a part of the outer side.
    fn partial_merge_joins(&mut self, p: &Pair, base: &[PathKey], inner: &Rc<Path>) -> Result<()> {
        if !self.may_share_outer(p) {
            return Ok(());
        }
        let safe = match inner.parallel_safe {
            true => Some(inner.clone()),
            false => self.rels[p.inner].cheapest_safe(),
        };
        let Some(inner) = safe else { return Ok(()) };
        let outers = self.rels[p.outer].partial.clone();
        for first in 0..base.len() {
            let mut keys = base.to_vec();
            let k = keys.remove(first);
            keys.insert(0, k);
            self.merge_with(p, &outers[0], &inner, &keys)?;
        }
        let inners: Vec<Rc<Path>> =
            self.rels[p.inner].paths.iter().filter(|i| i.parallel_safe).cloned().collect();
        for o in outers.iter().filter(|o| !o.pathkeys.is_empty()) {
            let in_base = |k: &&PathKey| base.iter().any(|b| b.ec == self.canonical_ec(k.ec));
            let keys: Vec<PathKey> = o.pathkeys.iter().take_while(in_base).copied().collect();
            if keys.is_empty() {
                continue;
            }
            self.merge_with(p, o, &inner, &keys)?;
            for i in inners.iter().filter(|i| !i.pathkeys.is_empty() && i.param.is_empty()) {
                let wanted = self.inner_keys(p, &keys);
                let n = crate::pathkeys::common_prefix(&wanted, &i.pathkeys);
                if n > 0 {
                    self.merge_with(p, o, i, &keys[..n.min(keys.len())])?;
                }
            }
        }
        Ok(())
    }

    /// The same order for the inner side: classes of the other operands.
    fn inner_keys(&self, p: &Pair, outer_keys: &[PathKey]) -> Vec<PathKey> {
        let outer_ids = &p.outer_ids;
        let mut out: Vec<PathKey> = Vec::with_capacity(outer_keys.len());
        for k in outer_keys {
            for c in &p.merge_clauses {
                let (o, i) = if c.left_relids.is_subset(outer_ids) {
                    (c.left_ec.get(), c.right_ec.get())
                } else {
                    (c.right_ec.get(), c.left_ec.get())
                };
                let (Some(o), Some(i)) = (o, i) else { continue };
                if self.canonical_ec(o) == self.canonical_ec(k.ec) {
                    let key = PathKey { ec: self.canonical_ec(i), ..*k };
                    // One outer column may have to equal several inner ones.
                    if !out.iter().any(|x| x.ec == key.ec) {
                        out.push(key);
                    }
                }
            }
        }
        out
    }

    /// The conditions in the order of the keys, each with its key.
    fn merge_clauses_for(
        &self,
        p: &Pair,
        keys: &[PathKey],
    ) -> (Vec<Rc<Restriction>>, Vec<PathKey>) {
        let n = p.merge_clauses.len();
        let (mut clauses, mut clause_keys) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for k in keys {
            for c in &p.merge_clauses {
                let is_left = c.left_relids.is_subset(&p.outer_ids);
                let ec = if is_left { c.left_ec.get() } else { c.right_ec.get() };
                if ec.is_some_and(|e| self.canonical_ec(e) == self.canonical_ec(k.ec)) {
                    clauses.push(c.clone());
                    clause_keys.push(*k);
                }
            }
        }
        (clauses, clause_keys)
    }

    fn merge_with(
        &mut self,
        p: &Pair,
        outer: &Rc<Path>,
        inner: &Rc<Path>,
        keys: &[PathKey],
    ) -> Result<()> {
        let Some(param) = self.needs(outer, inner, false) else { return Ok(()) };
        if !param.is_empty()
            && (outer.workers > 0
                || matches!(p.kind, JoinKind::Full | JoinKind::Right | JoinKind::RightAnti))
        {
            return Ok(());
        }
        let (clauses, clause_keys) = self.merge_clauses_for(p, keys);
        let all_needed = matches!(p.kind, JoinKind::Right | JoinKind::RightAnti | JoinKind::Full);
        let cross = p.kind == JoinKind::Full && p.merge_clauses.is_empty();
        if clauses.is_empty() && !cross || all_needed && clauses.len() < p.merge_clauses.len() {
            return Ok(());
        }
        let inner_keys = self.inner_keys(p, keys);
        // Nothing to sort by means that the side comes sorted.
        let outer_sort = if contained_in(keys, &outer.pathkeys) { &[] } else { keys };
        let inner_sort =
            if contained_in(&inner_keys, &inner.pathkeys) { &[] } else { &inner_keys[..] };
        let sorted = |root: &Self, path: &Path, sort: &[PathKey]| {
            let c = root.path_cost(path);
            if sort.is_empty() { c } else { root.cost_sort(c, path.rows, path.target.width, -1.0) }
        };
        let oc = sorted(self, outer, outer_sort);
        let ic = sorted(self, inner, inner_sort);
        let others =
            p.restrictions.iter().filter(|r| !clauses.iter().any(|m| m.serial == r.serial));
        let other_quals = self.restriction_cost(others);
        let join_for = crate::selectivity::JoinFor { kind: JoinKind::Inner, special: &p.sides };
        let sel = self.list_selectivity(&clauses, 0, Some(join_for))?;
        let tuples = clamp_rows(sel * clamp_rows(outer.rows) * clamp_rows(inner.rows));
        let merge_quals = self.restriction_cost(&clauses);
        let rows = self.rows_for(p, outer, inner, &param);
        let target = self.rels[p.join].target.cost;
        let (cost, materialize, skip) = self.cost_merge_join(
            p.kind,
            (oc, outer.rows),
            (ic, inner.rows, inner.target.width),
            (inner, !inner_sort.is_empty()),
            clauses.first(),
            merge_quals,
            other_quals,
            tuples,
            p.inner_unique,
            target,
            rows,
            &p.outer_ids,
        )?;
        let path_keys: &[PathKey] =
            if matches!(p.kind, JoinKind::Full | JoinKind::Right | JoinKind::RightAnti) {
                &[]
            } else {
                let all = if outer_sort.is_empty() { &outer.pathkeys[..] } else { keys };
                &all[..self.useful_pathkeys(&p.relids, all)]
            };
        self.finish_join(p, (outer, inner), (cost, rows), param, path_keys, |root| {
            PathKind::Merge(Box::new(MergePath {
                join: root.join_path(p, outer, inner, p.restrictions.clone()),
                clauses,
                outer_sort: outer_sort.to_vec(),
                inner_sort: inner_sort.to_vec(),
                materialize_inner: materialize,
                skip_mark_restore: skip,
                keys: clause_keys,
            }))
        });
        Ok(())
    }
}
