//! The steps above joins: grouping, windows, distinct, order, limit, and changing tables.

mod group;
mod minmax;
mod modify;
mod partial;
mod presorted;
mod setop;
mod sets;
mod window;

pub use partial::combine_states;

use crate::level::Level;
use crate::path::{Path, PathKind};
use crate::pathkeys::contained_in;
use crate::prep::volatility;
use crate::rel::{BaseKind, PathKey, Target};
use crate::relids::Relids;
use crate::root::Root;
use crate::watch;
use base::Result;
use ir::{CmdType, Expr, Query, TargetEntry, walk};
use std::rc::Rc;
use types::Datum;

/// The targets of the steps, from the joins up.
pub struct Targets {
    pub joins: Rc<Target>,
    pub grouping: Rc<Target>,
    pub sort_input: Rc<Target>,
    pub final_: Rc<Target>,
}

/// A target of a list of entries.
pub fn target_of(root: &Root, list: &[TargetEntry]) -> Target {
    let mut t = Target::default();
    for e in list {
        t.exprs.push(e.expr.clone());
        t.refs.push(e.sort_group_ref);
    }
    root.finish_target(&mut t);
    t
}

impl Root<'_> {
    /// Plans the whole level, its sources being known.
    pub fn plan_upper(mut self) -> Result<Level> {
        let (limit_tuples, offset, count) = self.limit_estimates();
        self.limit_tuples = limit_tuples;
        if let Some(c) = count {
            let needed = if c > 0.0 { c + offset.unwrap_or(0.0).max(0.0) } else { 0.0 };
            if needed > 0.0 && self.tuple_fraction == 0.0 {
                self.tuple_fraction = needed;
            } else if self.tuple_fraction == 0.0 && c <= 0.0 {
                self.tuple_fraction = 0.10;
            }
        }
        let (rel, mut targets) = if self.query.set_operations.is_some() {
            let rel = self.plan_set_operations()?;
            let t = Rc::new(target_of(&self, &self.processed));
            let t =
                Targets { joins: t.clone(), grouping: t.clone(), sort_input: t.clone(), final_: t };
            let clauses = self.query.sort_clause.clone();
            let list = self.processed.clone();
            self.sort_pathkeys = self.pathkeys_for_clauses(&clauses, &list)?.unwrap_or_default();
            (rel, t)
        } else {
            self.plan_joins_and_groups()?
        };
        let rel =
            if self.query.sort_clause.is_empty() { rel } else { self.order_rel(rel, &targets)? };
        let rel = self.project_final(rel, &mut targets)?;
        let rel = self.finish_rel(rel, offset, count)?;
        let best = self.cheapest_fractional(rel)?;
        self.make_level(&best)
    }

    /// Expected output rows under LIMIT (-1: none), and the estimates of OFFSET and LIMIT
    /// (0: not known).
    fn limit_estimates(&self) -> (f64, Option<f64>, Option<f64>) {
        let known = |e: &Option<Expr>| -> Option<f64> {
            let e = e.as_ref()?;
            let (folded, watch) = watch::estimated(self.env, e).ok()?;
            if let Some(watch) = watch {
                watch.counted(e, watch::rows_wanted(&folded));
            }
            match folded {
                Expr::Const(c) => match c.value {
                    Datum::I64(n) => Some((n as f64).max(1.0)),
                    Datum::Null => None,
                    _ => Some(0.0),
                },
                _ => Some(0.0),
            }
        };
        let count = known(&self.query.limit_count);
        let offset = match &self.query.limit_offset {
            Some(Expr::Const(c)) if matches!(c.value, Datum::I64(n) if n <= 0) => None,
            other => known(other),
        };
        let limit = match (count, offset) {
            (Some(c), None) if c > 0.0 => c,
            (Some(c), Some(o)) if c > 0.0 && o > 0.0 => c + o,
            _ => -1.0,
        };
        (limit, offset, count)
    }

    fn plan_joins_and_groups(&mut self) -> Result<(usize, Targets)> {
        self.process_target_list()?;
        if let Some(done) = self.try_min_max()? {
            return Ok(done);
        }
        let grouped = self.is_grouped();
        // Base relations, conditions and orders wanted.
        if self.query.jointree.items.is_empty() {
            return self.plan_without_from();
        }
        self.add_base_rels()?;
        let output = Relids::single(0);
        let list = std::mem::take(&mut self.processed);
        for t in &list {
            self.need_columns(&t.expr, &output);
        }
        self.processed = list;
        let having = std::mem::take(&mut self.having);
        for h in &having {
            self.need_columns(h, &output);
        }
        self.having = having;
        self.need_modify_columns(&output);
        let mut items = self.deconstruct()?;
        // Subqueries take conditions in: what classes imply too.
        self.generate_base_implied()?;
        self.plan_sources()?;
        self.finish_conditions(&mut items)?;
        self.note_orders()?;
        self.size_and_scan_all()?;
        let mut joined = self.search_joins(&items)?;
        self.rels[joined].set_cheapest();
        if self.has_pseudoconstant {
            joined = self.gate(joined);
        }
        let targets = self.make_targets()?;
        let mut rel = self.make_input(joined, &targets)?;
        if grouped {
            rel = self.group_rel(rel, &targets)?;
        }
        if !self.query.windows.is_empty() && self.query.has_window_funcs {
            rel = self.window_rel(rel, &targets)?;
        }
        rel = self.sets_before_sort(rel, &targets)?;
        if !self.query.distinct_clause.is_empty() {
            rel = self.distinct_rel(rel)?;
        }
        Ok((rel, targets))
    }

    /// True if rows are grouped or aggregated.
    pub fn is_grouped(&self) -> bool {
        !self.query.group_clause.is_empty()
            || !self.query.grouping_sets.is_empty()
            || self.query.has_aggs
            || self.query.having.is_some()
            || !self.having.is_empty()
    }

    fn plan_without_from(&mut self) -> Result<(usize, Targets)> {
        self.base = vec![None; self.query.rtable.len() + 1];
        self.note_orders()?;
        let rel = self.add_rel(BaseKind::Result, Relids::empty(), 0);
        self.rels[rel].rows = 1.0;
        let targets = self.make_targets()?;
        let plain = self.without_sets(&targets.joins);
        let quals: Vec<Expr> =
            self.query.jointree.quals.clone().map(walk::conjuncts).unwrap_or_default();
        let cost = self.eval_costs(&quals);
        let target = plain.as_ref().unwrap_or(&targets.joins).clone();
        let mut path = self.plain_path(rel, PathKind::Result { quals }, Default::default());
        path.target = target.clone();
        path.rows = 1.0;
        path.startup = target.cost.0 + cost.startup + cost.per_row;
        path.total = path.startup + self.env.settings.cpu_tuple_cost + target.cost.1;
        self.rels[rel].target = target;
        self.rels[rel].add_path(path);
        self.rels[rel].set_cheapest();
        let mut out = match plain {
            Some(_) => self.set_rel(rel, &targets.joins)?,
            None => rel,
        };
        if self.is_grouped() {
            out = self.group_rel(out, &targets)?;
        }
        if !self.query.windows.is_empty() && self.query.has_window_funcs {
            out = self.window_rel(out, &targets)?;
        }
        out = self.sets_before_sort(out, &targets)?;
        if !self.query.distinct_clause.is_empty() {
            out = self.distinct_rel(out)?;
        }
        Ok((out, targets))
    }

    /// Conditions without columns are tested once, above the joins, if they decide about all of
    /// them: see [`Root::gating_quals`] for others.
    fn gate(&mut self, rel: usize) -> usize {
        if self.rels[rel].dummy {
            // It gives nothing as it is.
            return rel;
        }
        let mut quals: Vec<Expr> = Vec::new();
        for r in self.rels.iter().flat_map(|r| r.restrictions.iter().chain(&r.join_info)) {
            if r.pseudoconstant && r.required == self.all_base && !quals.contains(&r.clause) {
                quals.push(r.clause.clone());
            }
        }
        if quals.is_empty() {
            return rel;
        }
        let paths = std::mem::take(&mut self.rels[rel].paths);
        for p in paths {
            let mut gated = (*p).clone();
            gated.kind = PathKind::Gate { sub: p.clone(), quals: quals.clone() };
            self.rels[rel].paths.push(Rc::new(gated));
        }
        for p in std::mem::take(&mut self.rels[rel].partial) {
            let mut gated = (*p).clone();
            gated.kind = PathKind::Gate { sub: p.clone(), quals: quals.clone() };
            self.rels[rel].partial.push(Rc::new(gated));
        }
        self.rels[rel].set_cheapest();
        rel
    }

    /// Finds out which orders the upper steps would like.
    fn note_orders(&mut self) -> Result<()> {
        if self.query.grouping_sets.is_empty() {
            let (group, list) = (self.query.group_clause.clone(), self.processed.clone());
            self.group_pathkeys = self.pathkeys_for_clauses(&group, &list)?.unwrap_or_default();
        }
        self.presort_aggregates()?;
        let list = self.processed.clone();
        let sort = self.query.sort_clause.clone();
        self.above_sets = !self.query.grouping_sets.is_empty();
        self.sort_pathkeys = self.pathkeys_for_clauses(&sort, &list)?.unwrap_or_default();
        let distinct = self.query.distinct_clause.clone();
        self.distinct_pathkeys = self.pathkeys_for_clauses(&distinct, &list)?.unwrap_or_default();
        if let Some(w) = self.query.windows.first().cloned() {
            let clauses = [w.partition, w.order].concat();
            self.window_pathkeys = self.pathkeys_for_clauses(&clauses, &list)?.unwrap_or_default();
        }
        self.above_sets = false;
        self.query_pathkeys = if !self.group_pathkeys.is_empty() {
            self.group_pathkeys.clone()
        } else if !self.window_pathkeys.is_empty() {
            self.window_pathkeys.clone()
        } else if self.distinct_pathkeys.len() > self.sort_pathkeys.len() {
            self.distinct_pathkeys.clone()
        } else {
            self.sort_pathkeys.clone()
        };
        Ok(())
    }

    fn size_and_scan_all(&mut self) -> Result<()> {
        for index in 1..self.base.len() {
            if let Some(rel) = self.base[index]
                && self.rels[rel].parent.is_none()
            {
                self.mark_partial_indexes(rel);
                self.consider_parallel(rel)?;
                self.size_base(rel)?;
            }
        }
        let alone = self.all_base.len() == 1;
        for index in 1..self.base.len() {
            if let Some(rel) = self.base[index]
                && self.rels[rel].parent.is_none()
            {
                self.scan_paths(rel)?;
                if !alone {
                    self.gather_paths(rel, false)?;
                    self.rels[rel].set_cheapest();
                }
            }
        }
        Ok(())
    }

    /// The relation of the last join giving what the steps above want. Sets that are grouped by
    /// are made here.
    fn make_input(&mut self, joined: usize, targets: &Targets) -> Result<usize> {
        match self.without_sets(&targets.joins) {
            None => {
                self.target_of_joins(joined, &targets.joins)?;
                Ok(joined)
            }
            Some(plain) => {
                self.target_of_joins(joined, &plain)?;
                self.set_rel(joined, &targets.joins)
            }
        }
    }

    /// What a target with sets in it is made of; None if it has none.
    fn without_sets(&self, target: &Target) -> Option<Rc<Target>> {
        let sets = self.is_grouped() && target.exprs.iter().any(volatility::has_srf);
        sets.then(|| Rc::new(self.flat_target(target, &[])))
    }

    /// Makes the paths of the last join give what the steps above want, partial paths too, and
    /// gathers the partial ones.
    fn target_of_joins(&mut self, rel: usize, wanted: &Rc<Target>) -> Result<()> {
        let parallel = self.rels[rel].parallel;
        let safe = !parallel || self.all_parallel_safe(&wanted.exprs)?;
        if !safe {
            self.gather_paths(rel, false)?;
            self.rels[rel].partial.clear();
            self.rels[rel].parallel = false;
        }
        if safe && self.is_divided(rel) {
            self.apply_target_to_parts(rel, wanted)?;
            if self.rels[rel].parallel {
                self.gather_paths(rel, false)?;
                self.rels[rel].set_cheapest();
            }
            return Ok(());
        }
        let same = *self.rels[rel].target == **wanted;
        self.apply_target(rel, wanted, true);
        if !safe {
            for p in &mut self.rels[rel].paths {
                Rc::make_mut(p).parallel_safe = false;
            }
            self.rels[rel].set_cheapest();
            return Ok(());
        }
        for p in std::mem::take(&mut self.rels[rel].partial) {
            let p = self.retargeted(&p, wanted, same);
            self.rels[rel].partial.push(Rc::new(p));
        }
        if self.rels[rel].parallel {
            self.gather_paths(rel, false)?;
            self.rels[rel].set_cheapest();
        }
        Ok(())
    }

    /// Unique indexes with a predicate count only where the query implies it.
    pub fn mark_partial_indexes(&mut self, rel: usize) {
        let list = self.rels[rel].restrictions.clone();
        let r = &self.rels[rel];
        if r.indexes.iter().all(|i| i.predicate.is_empty()) {
            return;
        }
        let marks: Vec<bool> = r
            .indexes
            .iter()
            .map(|i| i.predicate.iter().all(|p| list.iter().any(|r| self.implies(&r.clause, p))))
            .collect();
        for (info, ok) in self.rels[rel].indexes.iter_mut().zip(marks) {
            if let Some(info) = Rc::get_mut(info) {
                info.predicate_ok = ok;
            }
        }
    }

    fn make_targets(&mut self) -> Result<Targets> {
        let final_ = Rc::new(target_of(self, &self.processed.clone()));
        let has_srf = self.processed.iter().any(|t| volatility::has_srf(&t.expr));
        // Sets are made after grouping and windows; what is below gives what they are made of.
        let sort_input = if has_srf {
            let mut refs: Vec<u32> = Vec::new();
            let plain = |r: u32| {
                self.processed
                    .iter()
                    .any(|t| t.sort_group_ref == r && !volatility::has_srf(&t.expr))
            };
            refs.extend(self.query.sort_clause.iter().map(|s| s.target_ref));
            refs.retain(|r| plain(*r));
            // What is grouped by is made before, sets too.
            refs.extend(self.query.group_clause.iter().map(|s| s.target_ref));
            Rc::new(self.flat_target(&final_, &refs))
        } else {
            self.late_columns_out(&final_)?
        };
        let windows = self.query.has_window_funcs && !self.query.windows.is_empty();
        let grouping = if windows {
            Rc::new(self.window_input_target(&sort_input))
        } else {
            sort_input.clone()
        };
        let joins = if self.is_grouped() {
            Rc::new(self.group_input_target(&grouping))
        } else {
            grouping.clone()
        };
        Ok(Targets { joins, grouping, sort_input, final_ })
    }

    /// What is sorted: columns that nothing is sorted by come after, if they are volatile, or if
    /// they are dear and not all rows are wanted.
    fn late_columns_out(&self, target: &Rc<Target>) -> Result<Rc<Target>> {
        if self.query.sort_clause.is_empty() {
            return Ok(target.clone());
        }
        let few = self.query.limit_count.is_some() || self.tuple_fraction > 0.0;
        let dear = 10.0 * self.env.settings.cpu_operator_cost;
        let mut late = vec![false; target.exprs.len()];
        let mut any = false;
        for (i, (e, r)) in target.exprs.iter().zip(&target.refs).enumerate() {
            if *r != 0 || matches!(e, Expr::Var(_) | Expr::Const(_) | Expr::Agg(_)) {
                continue;
            }
            let volatile = volatility::has_volatile(e, self.env)?;
            any |= volatile;
            late[i] = volatile;
            if few {
                let cost = self.eval_cost(e);
                late[i] |= cost.startup + cost.per_row > dear;
                any |= late[i];
            }
        }
        if !any {
            return Ok(target.clone());
        }
        let dear_too = |e: &Expr| {
            let cost = self.eval_cost(e);
            cost.startup + cost.per_row > dear
        };
        let mut out = Target::default();
        for (i, (e, r)) in target.exprs.iter().zip(&target.refs).enumerate() {
            if *r == 0 && !matches!(e, Expr::Var(_) | Expr::Const(_) | Expr::Agg(_)) {
                late[i] |= dear_too(e);
            }
            if !late[i] {
                out.add(e.clone(), *r);
            }
        }
        for (e, _) in target.exprs.iter().zip(&late).filter(|(_, late)| **late) {
            pull_parts(e, true, true, &mut |x| out.add(x.clone(), 0));
        }
        self.finish_target(&mut out);
        Ok(Rc::new(out))
    }

    /// The columns under `refs` as they are, and for the rest what they are made of.
    fn flat_target(&self, target: &Target, refs: &[u32]) -> Target {
        let mut out = Target::default();
        for (e, r) in target.exprs.iter().zip(&target.refs) {
            if *r != 0 && refs.contains(r) {
                out.add(e.clone(), *r);
            }
        }
        for (e, r) in target.exprs.iter().zip(&target.refs) {
            if *r == 0 || !refs.contains(r) {
                pull_parts(e, true, true, &mut |x| out.add(x.clone(), 0));
            }
        }
        self.finish_target(&mut out);
        out
    }

    /// What grouping reads: group columns and the columns in the rest and in HAVING.
    fn group_input_target(&self, target: &Target) -> Target {
        let refs: Vec<u32> = self.query.group_clause.iter().map(|g| g.target_ref).collect();
        let mut out = Target::default();
        let mut rest = Vec::new();
        for t in &self.processed {
            if t.sort_group_ref != 0 && refs.contains(&t.sort_group_ref) {
                out.add(t.expr.clone(), t.sort_group_ref);
            }
        }
        for (e, r) in target.exprs.iter().zip(&target.refs) {
            if *r == 0 || !refs.contains(r) {
                rest.push(e.clone());
            }
        }
        rest.extend(self.having.iter().cloned());
        for e in &rest {
            pull_parts(e, false, false, &mut |x| {
                if matches!(x, Expr::Var(_)) {
                    out.add(x.clone(), 0);
                }
            });
        }
        self.finish_target(&mut out);
        out
    }

    /// What windows read: columns they sort by, aggregates, and plain columns.
    fn window_input_target(&self, target: &Target) -> Target {
        let mut refs: Vec<u32> = self.query.group_clause.iter().map(|g| g.target_ref).collect();
        for w in &self.query.windows {
            refs.extend(w.partition.iter().chain(&w.order).map(|c| c.target_ref));
        }
        let mut out = Target::default();
        for t in &self.processed {
            if t.sort_group_ref != 0 && refs.contains(&t.sort_group_ref) {
                out.add(t.expr.clone(), t.sort_group_ref);
            }
        }
        for (e, r) in target.exprs.iter().zip(&target.refs) {
            if *r == 0 || !refs.contains(r) {
                pull_parts(e, true, false, &mut |x| out.add(x.clone(), 0));
            }
        }
        for w in &self.query.windows {
            for b in [&w.frame.start, &w.frame.end] {
                if let ir::FrameBound::Preceding(e) | ir::FrameBound::Following(e) = b {
                    pull_parts(e, true, false, &mut |x| out.add(x.clone(), 0));
                }
            }
        }
        self.finish_target(&mut out);
        out
    }

    /// Makes every path of the relation give the target.
    pub fn apply_target(&mut self, rel: usize, target: &Rc<Target>, replace: bool) {
        let same = *self.rels[rel].target == **target;
        if replace {
            self.rels[rel].target = target.clone();
        }
        let paths = std::mem::take(&mut self.rels[rel].paths);
        for p in paths {
            let new = self.retargeted(&p, target, same);
            self.rels[rel].paths.push(Rc::new(new));
        }
        self.rels[rel].set_cheapest();
    }

    /// Whether a relation's rows are those of partitions that have paths of their own. Not if a
    /// condition without columns is tested above the appends of these.
    pub fn is_divided(&self, rel: usize) -> bool {
        if self.has_pseudoconstant {
            return false;
        }
        let r = &self.rels[rel];
        let parts = r.partitioned.as_ref().is_some_and(|p| !p.parts.is_empty());
        parts && !r.dummy && (r.by_partition || !matches!(r.kind, BaseKind::Join))
    }

    /// Makes the paths of each partition give the target, and appends them anew.
    fn apply_target_to_parts(&mut self, rel: usize, target: &Rc<Target>) -> Result<()> {
        let parts = self.rels[rel].partitioned.clone();
        let mut live = Vec::new();
        for part in parts.iter().flat_map(|p| p.parts.iter().flatten().copied()) {
            if self.rels[part].dummy {
                continue;
            }
            let members = self.rels[part].relids.clone();
            let own = Rc::new(self.target_for_members(target, &members)?);
            if self.is_divided(part) {
                self.apply_target_to_parts(part, &own)?;
            } else {
                let same = *self.rels[part].target == *own;
                self.apply_target(part, &own, true);
                for p in std::mem::take(&mut self.rels[part].partial) {
                    let p = self.retargeted(&p, &own, same);
                    self.rels[part].partial.push(Rc::new(p));
                }
            }
            live.push(part);
        }
        let r = &mut self.rels[rel];
        r.target = target.clone();
        r.paths.clear();
        r.partial.clear();
        self.add_append_paths(rel, &live)?;
        self.rels[rel].set_cheapest();
        Ok(())
    }

    /// A path that gives the target, which has the same columns already if `same`.
    fn retargeted(&self, p: &Rc<Path>, target: &Rc<Target>, same: bool) -> Path {
        if same && p.target.refs == target.refs {
            let mut n = (**p).clone();
            n.target = target.clone();
            return n;
        }
        self.projected(p, target)
    }

    /// A path that gives the target, computed from what `sub` gives.
    pub fn projected(&self, sub: &Rc<Path>, target: &Rc<Target>) -> Path {
        let s = self.env.settings;
        let old = sub.target.cost;
        let mut p = (**sub).clone();
        p.target = target.clone();
        let can_project = !matches!(
            sub.kind,
            PathKind::Material(_)
                | PathKind::Memoize { .. }
                | PathKind::Sort { .. }
                | PathKind::Unique { .. }
                | PathKind::SetOp { .. }
                | PathKind::LockRows { .. }
                | PathKind::Limit { .. }
                | PathKind::Append { .. }
                | PathKind::MergeAppend { .. }
                | PathKind::RecursiveUnion { .. }
                | PathKind::ProjectSet(_)
                | PathKind::UniqueFor { .. }
                | PathKind::Gate { .. }
        );
        // What workers may compute they compute.
        let below = match &sub.kind {
            PathKind::Gather { sub, .. } | PathKind::GatherMerge { sub, .. } => Some(sub),
            _ => None,
        };
        if let Some(below) = below
            && target.exprs != sub.target.exprs
            && self.all_parallel_safe(&target.exprs).unwrap_or(false)
        {
            let below = Rc::new(self.projected(below, target));
            p.startup += target.cost.0 - old.0;
            p.total += target.cost.0 - old.0 + (target.cost.1 - old.1) * sub.rows;
            match &mut p.kind {
                PathKind::Gather { sub, .. } | PathKind::GatherMerge { sub, .. } => *sub = below,
                _ => {}
            }
            return p;
        }
        let plain = target.exprs == sub.target.exprs;
        if plain {
            // Only the references differ: nothing to compute.
            if let PathKind::Projection(inner) = &sub.kind {
                p.kind = PathKind::Projection(inner.clone());
            } else if !can_project {
                p.kind = PathKind::Projection(sub.clone());
            }
            return p;
        }
        p.startup += target.cost.0 - if can_project { old.0 } else { 0.0 };
        p.total += target.cost.0 - if can_project { old.0 } else { 0.0 };
        p.total += (target.cost.1 - if can_project { old.1 } else { 0.0 }) * sub.rows;
        if !can_project {
            p.total += s.cpu_tuple_cost * sub.rows;
        }
        p.kind = PathKind::Projection(sub.clone());
        p
    }

    fn order_rel(&mut self, input: usize, targets: &Targets) -> Result<usize> {
        let rel = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        self.rels[rel].target = targets.sort_input.clone();
        let wanted = self.sort_pathkeys.clone();
        let cheapest = self.rels[input].cheapest_total.clone();
        for p in self.rels[input].paths.clone() {
            let is_cheapest = cheapest.as_ref().is_some_and(|c| Rc::ptr_eq(c, &p));
            let presorted = crate::pathkeys::common_prefix(&wanted, &p.pathkeys);
            if presorted == wanted.len() {
                self.adopt(rel, &p);
            } else if is_cheapest || presorted > 0 {
                let limit = self.limit_tuples;
                if is_cheapest {
                    let sorted = self.sorted_path(&p, &wanted, limit);
                    self.adopt(rel, &Rc::new(sorted));
                }
                if presorted > 0 && self.env.settings.enable_incremental_sort {
                    let sorted = self.incrementally_sorted(&p, &wanted, presorted, limit)?;
                    self.adopt(rel, &Rc::new(sorted));
                }
            }
        }
        self.sort_partial(rel, input, &wanted)?;
        self.rels[rel].rows = self.rels[input].rows;
        self.rels[rel].set_cheapest();
        Ok(rel)
    }

    /// Workers sort what they have, and the leader merges it.
    fn sort_partial(&mut self, rel: usize, input: usize, wanted: &[PathKey]) -> Result<()> {
        let Some(cheapest) = self.rels[input].partial.first().cloned() else { return Ok(()) };
        for p in self.rels[input].partial.clone() {
            if contained_in(wanted, &p.pathkeys) {
                continue;
            }
            let limit = self.limit_tuples;
            if let Some(sorted) = self.partial_sorted(&p, &cheapest, wanted, limit)? {
                let rows = self.gathered_rows(&sorted);
                let path = self.gather_merge_path(&sorted, rows);
                self.adopt(rel, &Rc::new(path));
            }
        }
        Ok(())
    }

    /// Adds a path of a lower step as one of this relation. It stays a path of the relation that
    /// it reads.
    pub fn adopt(&mut self, rel: usize, p: &Rc<Path>) {
        self.rels[rel].add_path((**p).clone());
    }

    /// The path sorted.
    pub fn sorted_path(&self, sub: &Rc<Path>, keys: &[PathKey], limit: f64) -> Path {
        let c = self.cost_sort(self.path_cost(sub), sub.rows, sub.target.width, limit);
        let mut p = (**sub).clone();
        p.kind = PathKind::Sort { sub: sub.clone(), presorted: 0 };
        (p.startup, p.total, p.disabled) = (c.startup, c.total, c.disabled);
        p.pathkeys = keys.to_vec();
        p
    }

    /// The path, whose rows come sorted by some of the keys, sorted by all.
    pub fn incrementally_sorted(
        &self,
        sub: &Rc<Path>,
        keys: &[PathKey],
        presorted: usize,
        limit: f64,
    ) -> Result<Path> {
        let mut exprs = Vec::new();
        for k in &keys[..presorted] {
            let ec = &self.ecs[self.canonical_ec(k.ec)];
            exprs.extend(ec.members.first().map(|m| m.expr.clone()));
        }
        let groups = crate::selectivity::estimate_groups(self, &exprs, sub.rows)?;
        let c = self.cost_incremental_sort(
            self.path_cost(sub),
            sub.rows,
            sub.target.width,
            limit,
            groups,
        );
        let mut p = (**sub).clone();
        p.kind = PathKind::Sort { sub: sub.clone(), presorted };
        (p.startup, p.total, p.disabled) = (c.startup, c.total, c.disabled);
        p.pathkeys = keys.to_vec();
        Ok(p)
    }

    /// Computes the final target, sets included.
    fn project_final(&mut self, rel: usize, targets: &mut Targets) -> Result<usize> {
        let final_ = targets.final_.clone();
        let has_srf = final_.exprs.iter().any(volatility::has_srf);
        if !has_srf {
            if self.query.set_operations.is_some() {
                return Ok(rel);
            }
            let needs = self.rels[rel].paths.iter().any(|p| p.target.exprs != final_.exprs);
            if needs {
                self.apply_target(rel, &final_, true);
            }
            return Ok(rel);
        }
        if self.rels[rel].paths.iter().all(|p| p.target.exprs == final_.exprs) {
            return Ok(rel);
        }
        self.set_rel(rel, &final_)
    }

    /// Sets are made before sorting, unless only other columns are sorted by.
    fn sets_before_sort(&mut self, rel: usize, targets: &Targets) -> Result<usize> {
        let sets = |t: &TargetEntry| volatility::has_srf(&t.expr);
        if !self.processed.iter().any(sets) {
            return Ok(rel);
        }
        let sort = &self.query.sort_clause;
        let sorted_by_set = self
            .processed
            .iter()
            .any(|t| sets(t) && sort.iter().any(|s| s.target_ref == t.sort_group_ref));
        if self.query.distinct_clause.is_empty() && !sort.is_empty() && !sorted_by_set {
            return Ok(rel);
        }
        self.set_rel(rel, &targets.final_)
    }

    fn set_rel(&mut self, rel: usize, target: &Rc<Target>) -> Result<usize> {
        let out = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        self.rels[out].target = target.clone();
        for p in self.rels[rel].paths.clone() {
            let path = self.with_sets(&p, target)?;
            self.adopt(out, &path);
        }
        self.rels[out].rows = self.rels[out].paths.first().map_or(1.0, |p| p.rows);
        self.rels[out].set_cheapest();
        Ok(out)
    }

    /// Computes a target that returns sets: the innermost sets first, one level a node.
    pub fn with_sets(&self, sub: &Rc<Path>, target: &Rc<Target>) -> Result<Rc<Path>> {
        let s = self.env.settings;
        let mut current = sub.clone();
        loop {
            // The sets whose arguments hold no set that is still to be computed.
            let mut next: Vec<Expr> = Vec::new();
            for e in &target.exprs {
                innermost_sets(e, &current.target.exprs, &mut next);
            }
            if next.is_empty() {
                break;
            }
            let top_level = target.exprs.iter().all(|e| {
                !volatility::has_srf(e) || next.contains(e) || current.target.exprs.contains(e)
            });
            let mut t = Target::default();
            if top_level {
                t.exprs = target.exprs.clone();
                t.refs = target.refs.clone();
            } else {
                for e in &current.target.exprs {
                    t.add(e.clone(), 0);
                }
                for e in &next {
                    t.add(e.clone(), 0);
                }
            }
            self.finish_target(&mut t);
            let mut rows: f64 = 1.0;
            for e in &next {
                rows = rows.max(self.set_rows(e)?);
            }
            let mut p = (*current).clone();
            p.rows = current.rows * rows;
            p.startup += t.cost.0;
            p.total += t.cost.0
                + (s.cpu_tuple_cost + t.cost.1) * current.rows
                + (p.rows - current.rows) * s.cpu_tuple_cost / 2.0;
            p.target = Rc::new(t);
            p.kind = PathKind::ProjectSet(current.clone());
            current = Rc::new(p);
        }
        if current.target.exprs != target.exprs {
            let p = self.projected(&current, target);
            current = Rc::new(p);
        }
        Ok(current)
    }

    /// The path that is cheapest for the share of rows wanted.
    pub fn cheapest_fractional(&self, rel: usize) -> Result<Rc<Path>> {
        let r = &self.rels[rel];
        let Some(total) = r.cheapest_total.clone() else {
            return Err(base::err!(
                INTERNAL_ERROR,
                "could not devise a query plan for the given query"
            ));
        };
        if self.tuple_fraction <= 0.0 {
            return Ok(total);
        }
        let mut fraction = self.tuple_fraction;
        if fraction >= 1.0 && total.rows > 0.0 {
            fraction /= total.rows;
        }
        let cost = |p: &Path| {
            if fraction >= 1.0 { p.total } else { p.startup + fraction * (p.total - p.startup) }
        };
        let mut best = total;
        for p in r.paths.iter().filter(|p| p.param.is_empty()) {
            if (p.disabled, cost(p)) < (best.disabled, cost(&best)) {
                best = p.clone();
            }
        }
        Ok(best)
    }

    /// Locking, LIMIT and table changes on top.
    fn finish_rel(
        &mut self,
        input: usize,
        offset: Option<f64>,
        count: Option<f64>,
    ) -> Result<usize> {
        let rel = self.add_rel(BaseKind::Upper, Relids::empty(), 0);
        self.rels[rel].target = self.rels[input].target.clone();
        self.rels[rel].rows = self.rels[input].rows;
        let has_limit = limits_rows(&self.query);
        for sub in self.rels[input].paths.clone() {
            let mut p = sub.clone();
            if !self.query.row_marks.is_empty() && self.query.command == CmdType::Select {
                let recheck_param = self.global.borrow_mut().new_param(base::Oid(2281));
                let mut locked = (*p).clone();
                locked.kind = PathKind::LockRows { sub: p.clone(), recheck_param };
                locked.total += p.rows * self.env.settings.cpu_tuple_cost;
                p = Rc::new(locked);
            }
            if has_limit {
                let (c, rows) = self.cost_limit(self.path_cost(&p), p.rows, offset, count);
                let mut l = (*p).clone();
                l.kind = PathKind::Limit {
                    sub: p.clone(),
                    offset: self.query.limit_offset.clone(),
                    count: self.query.limit_count.clone(),
                    with_ties: self.query.limit_option == ir::LimitOption::WithTies,
                };
                (l.startup, l.total, l.rows) = (c.startup, c.total, rows);
                p = Rc::new(l);
            }
            if self.query.command != CmdType::Select {
                p = Rc::new(self.modify_path(&p));
            }
            self.adopt(rel, &p);
        }
        self.rels[rel].set_cheapest();
        Ok(rel)
    }
}

/// Whether LIMIT and OFFSET leave rows out, or may: not if they are NULL, or OFFSET is 0.
fn limits_rows(query: &Query) -> bool {
    let is = |e: &Option<Expr>, harmless: &[Datum]| match e {
        None => true,
        Some(Expr::Const(c)) => harmless.contains(&c.value),
        Some(_) => false,
    };
    let all_counted = is(&query.limit_count, &[Datum::Null]);
    !(all_counted && is(&query.limit_offset, &[Datum::Null, Datum::I64(0)]))
}

/// Set-returning calls in `e` whose arguments return no sets, and that are not in `done`.
fn innermost_sets(e: &Expr, done: &[Expr], out: &mut Vec<Expr>) {
    if done.contains(e) {
        return;
    }
    let before = out.len();
    let mut pending = false;
    walk::children(e, &mut |c| {
        innermost_sets(c, done, out);
        pending |= volatility::has_srf(c) && !done.contains(c);
    });
    let inner = out.len() > before || pending && children_pending(e, done);
    if volatility::returns_set(e) && !inner && !out.contains(e) {
        out.push(e.clone());
    }
}

fn children_pending(e: &Expr, done: &[Expr]) -> bool {
    let mut pending = false;
    walk::children(e, &mut |c| {
        pending |= !done.contains(c) && (volatility::returns_set(c) || children_pending(c, done));
    });
    pending
}

/// Calls `f` with the parts that an expression is computed from: columns, and (if asked for)
/// aggregates and window functions as a whole.
pub fn pull_parts(e: &Expr, aggregates: bool, windows: bool, f: &mut dyn FnMut(&Expr)) {
    match e {
        Expr::Var(_) => f(e),
        Expr::Agg(_) | Expr::Grouping(_) if aggregates => f(e),
        Expr::Window(_) if windows => f(e),
        _ => walk::children(e, &mut |c| pull_parts(c, aggregates, windows, f)),
    }
}
