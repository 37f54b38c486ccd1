//! Appends that keep their parts' order: merged, or one after the other where the partitions'
//! bounds are in that order.

use super::append::flatten_append;
use super::{Path, PathKind};
use crate::cost::scan::Cost;
use crate::pathkeys::contained_in;
use crate::rel::PathKey;
use crate::root::Root;
use base::{Oid, Result};
use catalog::partition::BoundKind;
use std::rc::Rc;

impl Root<'_> {
    /// For each order that some part comes in: all parts in that order.
    pub(super) fn ordered_appends(&mut self, rel: usize, live: &[usize]) -> Result<()> {
        let mut orders: Vec<Vec<PathKey>> = Vec::new();
        for c in live {
            let lateral = &self.rels[*c].lateral;
            for p in self.rels[*c].paths.iter().filter(|p| p.param == *lateral) {
                if !p.pathkeys.is_empty() && !orders.contains(&p.pathkeys) {
                    orders.push(p.pathkeys.clone());
                }
            }
        }
        if orders.is_empty() {
            return Ok(());
        }
        let (up, down) = match self.rels[rel].rtindex {
            0 => (None, None),
            _ => (self.partition_order(rel, false)?, self.partition_order(rel, true)?),
        };
        for keys in orders {
            let fits = |o: &Option<(Vec<PathKey>, bool)>| {
                o.as_ref().is_some_and(|(by, partial)| {
                    contained_in(&keys, by) || !partial && contained_in(by, &keys)
                })
            };
            let (ascending, descending) = (fits(&up), fits(&down));
            let by_total = self.ordered_parts(live, &keys, false);
            let by_startup = self.ordered_parts(live, &keys, true);
            let differ = by_total.iter().zip(&by_startup).any(|(a, b)| !Rc::ptr_eq(a, b));
            let mut choices = vec![by_startup];
            if differ {
                choices.push(by_total);
            }
            for parts in choices {
                let path = if ascending || descending {
                    self.sorted_append(rel, parts, &keys, !ascending)
                } else {
                    let mut flat = Vec::new();
                    parts.iter().for_each(|p| flatten_append(p, &mut flat));
                    self.merge_append_path(rel, flat, &keys)
                };
                self.rels[rel].add_path(path);
            }
        }
        Ok(())
    }

    /// Of each part the path in that order that is cheapest, or just the cheapest.
    fn ordered_parts(&self, live: &[usize], keys: &[PathKey], startup: bool) -> Vec<Rc<Path>> {
        let cost = |p: &Path| (p.disabled, if startup { p.startup } else { p.total });
        let best = |c: &usize| {
            let r = &self.rels[*c];
            let sorted =
                r.paths.iter().filter(|p| p.param == r.lateral && contained_in(keys, &p.pathkeys));
            let found = sorted
                .min_by(|a, b| cost(a).partial_cmp(&cost(b)).unwrap_or(std::cmp::Ordering::Equal));
            found.or(r.cheapest_total.as_ref()).cloned()
        };
        live.iter().filter_map(best).collect()
    }

    /// One part after the other, each sorted first if need be.
    fn sorted_append(
        &self,
        rel: usize,
        parts: Vec<Rc<Path>>,
        keys: &[PathKey],
        backward: bool,
    ) -> Path {
        let mut flat = Vec::new();
        for p in &parts {
            // A part that is itself a single scan need not be an append of it.
            let one = match &p.kind {
                PathKind::Append { parts: own, shared_from: None } if own.len() == 1 => &own[0],
                _ => p,
            };
            let sorted = match contained_in(keys, &one.pathkeys) {
                true => one.clone(),
                false => Rc::new(self.sorted_path(one, keys, -1.0)),
            };
            match &sorted.kind {
                PathKind::Append { parts: own, shared_from: None } if !backward => {
                    flat.extend(own.iter().cloned());
                }
                _ => flat.push(sorted),
            }
        }
        if backward {
            flat.reverse();
        }
        self.append_path(rel, flat, keys.to_vec())
    }

    /// Parts merged by the keys.
    fn merge_append_path(&self, rel: usize, parts: Vec<Rc<Path>>, keys: &[PathKey]) -> Path {
        let s = self.env.settings;
        let all = self.top_relids(&self.rels[rel].relids) == self.all_base;
        let more = self.is_grouped()
            || !self.query.distinct_clause.is_empty()
            || self.query.has_window_funcs
            || self.query.has_target_srfs;
        let limit = if all && !more { self.limit_tuples } else { -1.0 };
        let mut cost = Cost::default();
        let mut sorted = Vec::new();
        for p in &parts {
            let p = match contained_in(keys, &p.pathkeys) {
                true => p.clone(),
                false => Rc::new(self.sorted_path(p, keys, limit)),
            };
            cost.startup += p.startup;
            cost.total += p.total;
            cost.disabled += p.disabled;
            sorted.push(p);
        }
        let rows: f64 = sorted.iter().map(|p| p.rows).sum();
        if sorted.len() > 1 {
            let n = sorted.len() as f64;
            let comparison = 2.0 * s.cpu_operator_cost;
            let startup = comparison * n * n.log2();
            let run = rows * comparison * n.log2() + s.cpu_tuple_cost * 0.5 * rows;
            cost.startup += startup;
            cost.total += startup + run;
        }
        let safe = sorted.iter().all(|p| p.parallel_safe);
        let mut path = self.plain_path(rel, PathKind::MergeAppend { parts: sorted }, cost);
        path.rows = rows;
        path.parallel_safe &= safe;
        path.pathkeys = keys.to_vec();
        path
    }

    /// The order that partitions taken one after the other (from the last on, if backward) give,
    /// and whether it is only a part of the key. None if they are in no order.
    fn partition_order(
        &mut self,
        rel: usize,
        backward: bool,
    ) -> Result<Option<(Vec<PathKey>, bool)>> {
        let Some(p) = self.rels[rel].partitioned.clone() else { return Ok(None) };
        let live: Vec<usize> = (0..p.parts.len()).filter(|i| p.parts[*i].is_some()).collect();
        let ordered = match p.scheme.strategy {
            b'r' => !live.iter().any(|i| matches!(p.bounds[*i], BoundKind::Default)),
            b'l' => lists_in_order(&p, &live)?,
            _ => false,
        };
        if !ordered {
            return Ok(None);
        }
        let mut keys = Vec::new();
        for (i, expr) in p.keys.iter().enumerate() {
            let Some(expr) = expr.first() else { return Ok(Some((keys, true))) };
            let (family, ty) = (p.scheme.families[i], p.scheme.types[i]);
            let Some(eq) = self.env.catalog.amop(family, ty, ty, 3)? else {
                return Ok(Some((keys, true)));
            };
            let families = self.equality_families(eq)?;
            // Nulls are in the partition that comes last.
            let collation: Oid = p.scheme.collations[i];
            let found = self.class_for_sort(expr, &families, ty, collation, 0, false)?;
            let Some(ec) = found else {
                return Ok(Some((keys, true)));
            };
            let key = PathKey { ec, family, descending: backward, nulls_first: backward };
            if !self.redundant(&key, &keys) {
                keys.push(key);
            }
        }
        Ok(Some((keys, false)))
    }
}

/// Whether each list's values are all below those of the next: rows of a partition all come
/// before those of the next one.
fn lists_in_order(p: &crate::rel::Partitioned, live: &[usize]) -> Result<bool> {
    let compare = &p.scheme.partitioning;
    let mut last: Option<types::Datum> = None;
    for (n, i) in live.iter().enumerate() {
        let BoundKind::List(values) = &p.bounds[*i] else { return Ok(false) };
        let mut highest = last.clone();
        for v in values {
            if v.is_null() {
                if n + 1 < live.len() || values.len() > 1 {
                    return Ok(false);
                }
                continue;
            }
            if let Some(l) = &last
                && compare.compare(0, v, l)?.is_le()
            {
                return Ok(false);
            }
            highest = match highest {
                Some(h) if compare.compare(0, v, &h)?.is_le() => Some(h),
                _ => Some(v.clone()),
            };
        }
        last = highest;
    }
    Ok(true)
}
