//! Costs of joins.

use super::scan::Cost;
use super::{EvalCost, bytes_of, clamp_rows, pages_of};
use crate::path::{Path, PathKind};
use crate::rel::{Restriction, SpecialJoin};
use crate::restriction::operands;
use crate::root::{MergeEnds, Root};
use crate::selectivity::JoinFor;
use base::Result;
use ir::{Expr, JoinKind};
use std::rc::Rc;

/// What semijoins and unique inners know of matches.
#[derive(Clone, Copy, Debug, Default)]
pub struct SemiFactors {
    /// Share of outer rows that have a match.
    pub outer_match: f64,
    /// Inner rows that match an outer row which has any.
    pub match_count: f64,
}

fn cost_of(p: &Path) -> Cost {
    Cost { startup: p.startup, total: p.total, disabled: p.disabled }
}

impl Root<'_> {
    /// Match factors for a join that stops at the first match.
    pub fn semi_factors(
        &self,
        kind: JoinKind,
        special: &SpecialJoin,
        clauses: &[Rc<Restriction>],
        inner_rows: f64,
    ) -> Result<SemiFactors> {
        let all = matches!(kind, JoinKind::Inner | JoinKind::Semi);
        let joins: Vec<&Expr> =
            clauses.iter().filter(|c| all || !c.pushed_down).map(|c| &c.clause).collect();
        let as_kind = if kind == JoinKind::Anti { JoinKind::Anti } else { JoinKind::Semi };
        // The remembered selectivities are of other kinds of joins.
        let share = |kind| {
            self.exprs_selectivity(joins.iter().copied(), 0, Some(JoinFor { kind, special }))
        };
        let semi = share(as_kind)?;
        let inner = share(JoinKind::Inner)?;
        let match_count = if semi > 0.0 { (inner * inner_rows / semi).max(1.0) } else { 1.0 };
        Ok(SemiFactors { outer_match: semi, match_count })
    }

    /// Cost of running a path again: startup and total.
    pub fn rescan_cost(&self, p: &Path) -> (f64, f64) {
        match &p.kind {
            PathKind::Function => (0.0, p.total - p.startup),
            PathKind::Hash { .. } => (p.startup, p.total),
            PathKind::Cte { .. } | PathKind::WorkTable { .. } => {
                let s = self.env.settings;
                let mut run = s.cpu_tuple_cost * p.rows;
                let bytes = bytes_of(p.rows, p.target.width);
                if bytes > s.work_mem {
                    run += s.seq_page_cost * (bytes / 8192.0).ceil();
                }
                (0.0, run)
            }
            PathKind::Material(_) | PathKind::Sort { .. } => {
                (0.0, self.rescan_material(p.rows, p.target.width))
            }
            PathKind::Memoize { .. } => (p.startup, self.rescan_memoize(p)),
            _ => (p.startup, p.total),
        }
    }

    fn rescan_memoize(&self, p: &Path) -> f64 {
        // The path's own total is that of one miss; `rows` of the key come from its params.
        let PathKind::Memoize { sub, params, entries, .. } = &p.kind else { return p.total };
        let s = self.env.settings;
        let calls = self.loop_count(&p.param);
        let mut distinct = 1.0;
        for e in params {
            if let Ok(v) = self.variable(e, 0) {
                let (d, default) = v.num_distinct();
                if default {
                    distinct = calls;
                    break;
                }
                distinct *= d;
            }
        }
        let distinct = distinct.min(calls).max(1.0);
        let width = sub.target.width;
        let entry = bytes_of(sub.rows, width) + 64.0 + 24.0 * params.len() as f64;
        let capacity = (s.work_mem * s.hash_mem_multiplier / entry).floor().max(1.0);
        let _ = entries;
        let evict = 1.0 - capacity.min(distinct) / distinct;
        let hit = ((calls - distinct) / calls * (capacity / distinct.max(capacity))).max(0.0);
        let lookup = s.cpu_operator_cost;
        let mut total = sub.total * (1.0 - hit) + lookup;
        total += s.cpu_tuple_cost * evict * sub.rows;
        total += s.cpu_operator_cost * evict;
        total += s.cpu_tuple_cost + s.cpu_operator_cost * sub.rows;
        total
    }

    /// A nested loop; what running the inner side again costs is known.
    #[allow(clippy::too_many_arguments)]
    pub fn cost_nest_loop(
        &self,
        kind: JoinKind,
        inner_unique: bool,
        outer: &Path,
        inner: &Path,
        (re_startup, re_total): (f64, f64),
        quals: EvalCost,
        semi: SemiFactors,
        target_cost: (f64, f64),
        rows: f64,
    ) -> Cost {
        let s = self.env.settings;
        let outer_rows = clamp_rows(outer.rows);
        let inner_rows = clamp_rows(inner.rows);
        let mut startup = outer.startup + inner.startup;
        let mut run = outer.total - outer.startup;
        if outer_rows > 1.0 {
            run += (outer_rows - 1.0) * re_startup;
        }
        let inner_run = inner.total - inner.startup;
        let re_run = re_total - re_startup;
        let tuples = if matches!(kind, JoinKind::Semi | JoinKind::Anti) || inner_unique {
            let matched = (outer_rows * semi.outer_match).round_ties_even();
            let unmatched = outer_rows - matched;
            let scan_fraction = 2.0 / (semi.match_count + 1.0);
            let mut n = matched * inner_rows * scan_fraction;
            if self.has_indexed_quals(inner) {
                run += inner_run * scan_fraction;
                if matched > 1.0 {
                    run += (matched - 1.0) * re_run * scan_fraction;
                }
                run += unmatched * re_run / inner_rows;
            } else {
                n += unmatched * inner_rows;
                let mut misses = unmatched;
                if misses >= 1.0 {
                    run += inner_run;
                    misses -= 1.0;
                    run += matched * re_run * scan_fraction;
                } else {
                    run += inner_run * scan_fraction;
                    run += (matched - 1.0).max(0.0) * re_run * scan_fraction;
                }
                if misses > 0.0 {
                    run += misses * re_run;
                }
            }
            n
        } else {
            run += inner_run;
            if outer_rows > 1.0 {
                run += (outer_rows - 1.0) * re_run;
            }
            outer_rows * inner_rows
        };
        startup += quals.startup;
        run += (s.cpu_tuple_cost + quals.per_row) * tuples;
        startup += target_cost.0;
        run += target_cost.1 * rows;
        let disabled = outer.disabled + inner.disabled + u32::from(!s.enable_nestloop);
        Cost { startup, total: startup + run, disabled }
    }

    /// True if the inner path's join conditions are all index conditions.
    fn has_indexed_quals(&self, inner: &Path) -> bool {
        match &inner.kind {
            PathKind::Index(p) => {
                !inner.param.is_empty()
                    && inner
                        .param_clauses
                        .iter()
                        .all(|r| p.clauses.iter().any(|c| c.origin.serial == r.serial))
            }
            PathKind::Bitmap(_) => !inner.param.is_empty(),
            _ => false,
        }
    }

    /// A hash join.
    #[allow(clippy::too_many_arguments)]
    pub fn cost_hash_join(
        &self,
        kind: JoinKind,
        inner_unique: bool,
        (outer, inner, shared): (&Path, &Path, bool),
        hash_clauses: &[Rc<Restriction>],
        other_quals: EvalCost,
        (semi, special): (SemiFactors, &SpecialJoin),
        target_cost: (f64, f64),
        rows: f64,
    ) -> Result<Cost> {
        let s = self.env.settings;
        let outer_rows = clamp_rows(outer.rows);
        let inner_rows = clamp_rows(inner.rows);
        let n = hash_clauses.len() as f64;
        let mut startup = outer.startup + inner.total;
        let mut run = outer.total - outer.startup;
        startup += (s.cpu_operator_cost * n + s.cpu_tuple_cost) * inner_rows;
        run += s.cpu_operator_cost * n * outer_rows;
        // A hash table that workers make together may be as large as theirs together.
        let (all_rows, makers) = match shared {
            true => (inner_rows * self.divisor(inner.workers), f64::from(outer.workers) + 1.0),
            false => (inner_rows, 1.0),
        };
        let (buckets, batches) = self.hash_size(all_rows, inner.target.width, makers);
        if batches > 1.0 {
            let outer_pages = pages_of(outer_rows, outer.target.width);
            let inner_pages = pages_of(inner_rows, inner.target.width);
            startup += s.seq_page_cost * inner_pages;
            run += s.seq_page_cost * (inner_pages + 2.0 * outer_pages);
        }
        let virtual_buckets = buckets * batches;
        let mut most_common = 1.0f64;
        let inner_relids = &self.rels[inner.rel].relids;
        let sides = hash_clauses.iter().filter_map(|c| {
            let (l, r) = operands(c)?;
            Some(if c.right_relids.is_subset(inner_relids) { r } else { l })
        });
        let (mut bucket, sides) = self.buckets_together(sides.collect());
        for side in sides {
            let (b, m) = self.bucket_stats(side, virtual_buckets)?;
            bucket = bucket.min(b);
            most_common = most_common.min(m);
        }
        // One value so frequent that its bucket will not fit: avoid hashing on it.
        let mut disabled = outer.disabled + inner.disabled + u32::from(!s.enable_hashjoin);
        let limit = s.work_mem * s.hash_mem_multiplier;
        if bytes_of(clamp_rows(inner_rows * most_common), inner.target.width) > limit {
            disabled += 1;
        }
        let hash_cost = self.restriction_cost(hash_clauses);
        startup += hash_cost.startup + other_quals.startup;
        let tuples = if matches!(kind, JoinKind::Semi | JoinKind::Anti) || inner_unique {
            let matched = (outer_rows * semi.outer_match).round_ties_even();
            let scan_fraction = 2.0 / (semi.match_count + 1.0);
            run +=
                hash_cost.per_row * matched * clamp_rows(inner_rows * bucket * scan_fraction) * 0.5;
            run += hash_cost.per_row
                * (outer_rows - matched)
                * clamp_rows(inner_rows / virtual_buckets)
                * 0.05;
            if kind == JoinKind::Anti { outer_rows - matched } else { matched }
        } else {
            run += hash_cost.per_row * outer_rows * clamp_rows(inner_rows * bucket) * 0.5;
            let sel = self.list_selectivity(
                hash_clauses,
                0,
                Some(JoinFor { kind: JoinKind::Inner, special }),
            )?;
            clamp_rows(sel * outer_rows * inner_rows)
        };
        run += (s.cpu_tuple_cost + other_quals.per_row) * tuples;
        startup += target_cost.0;
        run += target_cost.1 * rows;
        Ok(Cost { startup, total: startup + run, disabled })
    }

    /// The share of rows in a bucket by what is known of several keys together, and the keys that
    /// this says nothing of.
    fn buckets_together<'x>(&self, keys: Vec<&'x Expr>) -> (f64, Vec<&'x Expr>) {
        if keys.len() < 2 || self.rels.iter().all(|r| r.extended.is_empty()) {
            return (1.0, keys);
        }
        let mut distinct = 1.0f64;
        let (mut open, mut others) = (keys, Vec::new());
        while let Some(first) = open.first() {
            let of = |e: &Expr| self.relids_of(e).singleton();
            let Some(rel) = of(first) else {
                others.push(open.remove(0));
                continue;
            };
            let (same, rest): (Vec<&Expr>, Vec<&Expr>) =
                open.into_iter().partition(|e| of(e) == Some(rel));
            open = rest;
            let mut group: Vec<&Expr> = Vec::new();
            for e in same {
                if !group.contains(&e) {
                    group.push(e);
                }
            }
            while let Some(together) = self.groups_together(rel, &mut group, |e| *e) {
                distinct = distinct.max(together);
            }
            others.extend(group);
        }
        (1.0 / distinct, others)
    }

    /// Buckets and batches of a hash table.
    pub fn hash_size(&self, rows: f64, width: i32, makers: f64) -> (f64, f64) {
        let s = self.env.settings;
        let rows = if rows <= 0.0 { 1000.0 } else { rows };
        let tuple = f64::from(((width + 7) & !7) + 24 + 16 - 8);
        let bytes = rows * tuple;
        let limit = s.work_mem * s.hash_mem_multiplier * makers;
        let power = |x: f64| 2f64.powf(x.log2().ceil());
        let max_buckets = power(limit / 8.0 + 1.0) / 2.0;
        let mut buckets = power(rows.min(max_buckets).max(1024.0));
        let mut batches = 1.0;
        if bytes + buckets * 8.0 > limit {
            let bucket_size = tuple + 8.0;
            let per_batch = power(limit / bucket_size);
            buckets = per_batch.clamp(1024.0, max_buckets.max(1024.0));
            let left = limit - buckets * 8.0;
            batches = power((bytes / left.max(1.0)).ceil()).max(2.0);
        }
        (buckets, batches)
    }

    /// Expected share of the rows in the bucket of a value, and of the commonest value.
    fn bucket_stats(&self, e: &Expr, buckets: f64) -> Result<(f64, f64)> {
        let v = self.variable(e, 0)?;
        let mcv = v.slot(1).and_then(|m| m.numbers.first()).map_or(0.0, |n| f64::from(*n));
        let (mut distinct, default) = v.num_distinct();
        if default {
            return Ok((mcv.max(0.1), mcv));
        }
        let average = (1.0 - v.null_frac()) / distinct;
        if v.rel != 0 && v.tuples > 0.0 {
            distinct = clamp_rows(distinct * (v.rows / v.tuples));
        }
        let mut share = if distinct > buckets { 1.0 / buckets } else { 1.0 / distinct };
        if average > 0.0 && mcv > average {
            share *= mcv / average;
        }
        Ok((share.clamp(1.0e-6, 1.0), mcv))
    }

    /// A merge join. The sides' costs include their sorts.
    #[allow(clippy::too_many_arguments)]
    pub fn cost_merge_join(
        &self,
        kind: JoinKind,
        outer: (Cost, f64),
        inner: (Cost, f64, i32),
        (inner_path, sorted): (&Path, bool),
        first: Option<&Rc<Restriction>>,
        merge_quals: EvalCost,
        other_quals: EvalCost,
        tuples: f64,
        inner_unique: bool,
        target_cost: (f64, f64),
        rows: f64,
        outer_relids: &crate::relids::Relids,
    ) -> Result<(Cost, bool, bool)> {
        let s = self.env.settings;
        let outer_rows = clamp_rows(outer.1);
        let inner_rows = clamp_rows(inner.1);
        let ends = match first {
            Some(first) => self.merge_ends(first, outer_relids)?,
            None => (0.0, 1.0, 0.0, 1.0),
        };
        let (mut oss, mut oes, mut iss, mut ies) = ends;
        match kind {
            JoinKind::Left | JoinKind::Anti => (oss, oes) = (0.0, 1.0),
            JoinKind::Right | JoinKind::RightAnti => (iss, ies) = (0.0, 1.0),
            JoinKind::Full => (oss, oes, iss, ies) = (0.0, 1.0, 0.0, 1.0),
            _ => {}
        }
        let outer_skip = (outer_rows * oss).round_ties_even();
        let inner_skip = (inner_rows * iss).round_ties_even();
        let outer_used = clamp_rows(outer_rows * oes);
        let inner_used = clamp_rows(inner_rows * ies);
        let (oss, oes) = (outer_skip / outer_rows, outer_used / outer_rows);
        let (iss, ies) = (inner_skip / inner_rows, inner_used / inner_rows);
        let (oc, ic) = (outer.0, inner.0);
        let mut startup = oc.startup + (oc.total - oc.startup) * oss;
        let mut run = (oc.total - oc.startup) * (oes - oss);
        startup += ic.startup + (ic.total - ic.startup) * iss;
        let inner_run = (ic.total - ic.startup) * (ies - iss);
        let skip_restore = inner_unique || matches!(kind, JoinKind::Semi | JoinKind::Anti);
        let rescanned = if skip_restore { 0.0 } else { (tuples - inner_rows).max(0.0) };
        let ratio = 1.0 + rescanned / inner_rows;
        let bare = inner_run * ratio;
        let mat = inner_run + s.cpu_operator_cost * inner_rows * ratio;
        let sorted = sorted || matches!(inner_path.kind, PathKind::Sort { .. });
        let supports_restore =
            sorted || matches!(inner_path.kind, PathKind::Index(_) | PathKind::Material(_));
        let materialize = if skip_restore {
            false
        } else if s.enable_material && mat < bare {
            true
        } else {
            !supports_restore
                || s.enable_material && sorted && bytes_of(inner_rows, inner.2) > s.work_mem
        };
        run += if materialize { mat } else { bare };
        startup += merge_quals.startup + merge_quals.per_row * (outer_skip + inner_skip * ratio);
        run +=
            merge_quals.per_row * ((outer_used - outer_skip) + (inner_used - inner_skip) * ratio);
        startup += other_quals.startup + target_cost.0;
        run += (s.cpu_tuple_cost + other_quals.per_row) * tuples + target_cost.1 * rows;
        let disabled = oc.disabled + ic.disabled + u32::from(!s.enable_mergejoin);
        Ok((Cost { startup, total: startup + run, disabled }, materialize, skip_restore))
    }

    /// Which parts of both sides a merge will read: outer start and end, inner start and end.
    fn merge_ends(&self, r: &Rc<Restriction>, outer: &crate::relids::Relids) -> Result<MergeEnds> {
        let key = (r.serial, r.left_relids.is_subset(outer));
        if let Some(known) = self.merge_ends.borrow().iter().find(|k| k.0 == key) {
            return Ok(known.1);
        }
        let ends = self.find_merge_ends(r, key.1)?;
        self.merge_ends.borrow_mut().push((key, ends));
        Ok(ends)
    }

    fn find_merge_ends(&self, r: &Rc<Restriction>, left_is_outer: bool) -> Result<MergeEnds> {
        let Some((l, rr)) = operands(r) else { return Ok((0.0, 1.0, 0.0, 1.0)) };
        let (o, i) = if left_is_outer { (l, rr) } else { (rr, l) };
        let (vo, vi) = (self.variable(o, 0)?, self.variable(i, 0)?);
        let (Some(ro), Some(ri)) = (range_of(&vo), range_of(&vi)) else {
            return Ok((0.0, 1.0, 0.0, 1.0));
        };
        let share = |x: f64, (lo, hi): (f64, f64)| {
            if hi <= lo { 0.5 } else { ((x - lo) / (hi - lo)).clamp(0.0, 1.0) }
        };
        let (mut oe, mut ie) = (share(ri.1, ro), share(ro.1, ri));
        if oe > ie {
            oe = 1.0;
        } else if oe < ie {
            ie = 1.0;
        } else {
            (oe, ie) = (1.0, 1.0);
        }
        let (mut os, mut is) = (share(ri.0, ro), share(ro.0, ri));
        if os < is {
            os = 0.0;
        } else if os > is {
            is = 0.0;
        } else {
            (os, is) = (0.0, 0.0);
        }
        Ok((os, oe, is, ie))
    }

    /// The cost of a path, for the functions here.
    pub fn path_cost(&self, p: &Path) -> Cost {
        cost_of(p)
    }
}

/// Least and greatest value known of a variable, as numbers.
fn range_of(v: &crate::selectivity::Variable) -> Option<(f64, f64)> {
    use crate::selectivity::as_number;
    let h = v.slot(2)?;
    let mut lo = as_number(h.values.first()?)?;
    let mut hi = as_number(h.values.last()?)?;
    if let Some(m) = v.slot(1) {
        for x in m.values.iter().filter_map(as_number) {
            lo = lo.min(x);
            hi = hi.max(x);
        }
    }
    Some((lo, hi))
}

/// A stand-in that tells the selectivity code which side is which.
pub fn inner_special_of(root: &Root, outer: usize, inner: usize) -> SpecialJoin {
    let (left, right) = (root.rels[outer].relids.clone(), root.rels[inner].relids.clone());
    SpecialJoin {
        kind: JoinKind::Inner,
        min_left: left.clone(),
        min_right: right.clone(),
        syn_left: left,
        syn_right: right,
        lhs_strict: false,
        delays_upper: false,
        semi_ops: Vec::new(),
        semi_rhs: Vec::new(),
        semi_can_hash: false,
        semi_can_btree: false,
    }
}
