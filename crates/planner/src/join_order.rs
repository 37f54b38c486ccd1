//! In which order relations are joined: every legal order by dynamic programming, level by
//! level; a greedy search where there are too many.

use crate::init::JoinItem;
use crate::path::Conditions;
use crate::rel::{BaseKind, Restriction, SpecialJoin, Target};
use crate::relids::Relids;
use crate::root::Root;
use crate::selectivity::JoinFor;
use base::{Result, err};
use ir::{Expr, JoinKind};
use std::rc::Rc;

/// Above so many items the search is greedy.
const DP_LIMIT: usize = 11;

impl Root<'_> {
    /// Paths for the join of everything in the list.
    pub fn search_joins(&mut self, item: &JoinItem) -> Result<usize> {
        match item {
            JoinItem::Rel(r) => self
                .base
                .get(*r as usize)
                .copied()
                .flatten()
                .ok_or_else(|| err!(INTERNAL_ERROR, "no relation entry for relid {r}")),
            JoinItem::Pair(a, b) => {
                let a = self.search_joins(a)?;
                let b = self.search_joins(b)?;
                self.join_all(vec![a, b])
            }
            JoinItem::List(items) => {
                let rels =
                    items.iter().map(|i| self.search_joins(i)).collect::<Result<Vec<_>>>()?;
                self.join_all(rels)
            }
        }
    }

    fn join_all(&mut self, rels: Vec<usize>) -> Result<usize> {
        if rels.len() == 1 {
            return Ok(rels[0]);
        }
        if rels.len() > DP_LIMIT {
            return self.join_greedily(rels);
        }
        let n = rels.len();
        let mut levels: Vec<Vec<usize>> = vec![Vec::new(), rels];
        for level in 2..=n {
            let mut made: Vec<usize> = Vec::new();
            self.join_level(&levels, level, &mut made)?;
            for &r in &made {
                self.finish_partitionwise(r)?;
                if self.rels[r].relids != self.all_base {
                    self.gather_paths(r, false)?;
                }
                self.rels[r].set_cheapest();
            }
            if made.is_empty() && level == n {
                return Err(err!(INTERNAL_ERROR, "failed to build any {level}-way joins"));
            }
            levels.push(made);
        }
        levels[n]
            .first()
            .copied()
            .ok_or_else(|| err!(INTERNAL_ERROR, "failed to build any {n}-way joins"))
    }

    fn join_level(
        &mut self,
        levels: &[Vec<usize>],
        level: usize,
        made: &mut Vec<usize>,
    ) -> Result<()> {
        // Left- and right-deep joins with one more item.
        for (i, &old) in levels[level - 1].iter().enumerate() {
            let tied = self.has_join_clause(old);
            let first = if level == 2 { i + 1 } else { 0 };
            for &one in &levels[1][first.min(levels[1].len())..] {
                if self.rels[old].relids.overlaps(&self.rels[one].relids) {
                    continue;
                }
                if !tied
                    || self.relevant_clause(old, one)
                    || self.order_forced(old, one, &levels[1])
                {
                    self.try_join(old, one, made)?;
                }
            }
        }
        // Bushy joins, tied by a condition only.
        for k in 2..=level / 2 {
            let other = level - k;
            for (i, &a) in levels[k].iter().enumerate() {
                if !self.has_join_clause(a) {
                    continue;
                }
                let first = if k == other { i + 1 } else { 0 };
                for &b in &levels[other][first.min(levels[other].len())..] {
                    if !self.rels[a].relids.overlaps(&self.rels[b].relids)
                        && (self.relevant_clause(a, b) || self.order_forced(a, b, &levels[1]))
                    {
                        self.try_join(a, b, made)?;
                    }
                }
            }
        }
        if made.is_empty() {
            for &old in &levels[level - 1] {
                for &one in &levels[1] {
                    if !self.rels[old].relids.overlaps(&self.rels[one].relids) {
                        self.try_join(old, one, made)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Joins, again and again, the pair that gives the fewest rows.
    fn join_greedily(&mut self, mut rels: Vec<usize>) -> Result<usize> {
        while rels.len() > 1 {
            let mut best: Option<(f64, usize, usize, usize)> = None;
            for tied_only in [true, false] {
                for i in 0..rels.len() {
                    for j in i + 1..rels.len() {
                        if tied_only && !self.relevant_clause(rels[i], rels[j]) {
                            continue;
                        }
                        let mut made = Vec::new();
                        self.try_join(rels[i], rels[j], &mut made)?;
                        let Some(&joined) = made.first() else { continue };
                        self.finish_partitionwise(joined)?;
                        if self.rels[joined].relids != self.all_base {
                            self.gather_paths(joined, false)?;
                        }
                        self.rels[joined].set_cheapest();
                        let cost =
                            self.rels[joined].cheapest_total.as_ref().map_or(f64::MAX, |p| p.total);
                        if best.is_none_or(|b| cost < b.0) {
                            best = Some((cost, i, j, joined));
                        }
                    }
                }
                if best.is_some() {
                    break;
                }
            }
            let Some((_, i, j, joined)) = best else {
                return Err(err!(INTERNAL_ERROR, "failed to join all relations together"));
            };
            rels.remove(j);
            rels[i] = joined;
        }
        Ok(rels[0])
    }

    fn has_join_clause(&self, rel: usize) -> bool {
        let r = &self.rels[rel];
        self.classes_reach_out(&r.relids)
            || r.relids.iter().any(|i| {
                self.base_rel(i)
                    .is_some_and(|b| b.join_info.iter().any(|c| !c.required.is_subset(&r.relids)))
            })
            || self.special.iter().any(|s| {
                let inside = |x: &Relids| x.is_subset(&r.relids);
                inside(&s.min_left) != inside(&s.min_right)
            })
    }

    fn relevant_clause(&self, a: usize, b: usize) -> bool {
        let (ra, rb) = (&self.rels[a].relids, &self.rels[b].relids);
        let both = ra.union(rb);
        let by_clause = ra.iter().any(|i| {
            self.base_rel(i).is_some_and(|x| {
                x.join_info.iter().any(|c| {
                    c.required.is_subset(&both) && c.clause_relids.overlaps(rb)
                        || c.clause_relids.overlaps(rb) && c.required.overlaps(rb)
                })
            })
        });
        by_clause || self.classes_join(ra, rb)
    }

    /// An outer join or LATERAL wants these two joined.
    fn order_forced(&self, a: usize, b: usize, items: &[usize]) -> bool {
        let (ra, rb) = (&self.rels[a].relids, &self.rels[b].relids);
        let lateral = self.rels[a].lateral.overlaps(rb) || self.rels[b].lateral.overlaps(ra);
        let completes = |side: &Relids| side.overlaps(ra) && side.overlaps(rb);
        lateral
            // One side of an outer join that names only its other side: its tables have nothing
            // in common but have to be joined first.
            || self.special.iter().any(|s| {
                s.kind != JoinKind::Full && (completes(&s.min_left) || completes(&s.min_right))
            }) && !self.has_legal_clause(a, items)
                && !self.has_legal_clause(b, items)
            || self.special.iter().any(|s| {
                s.min_left.is_subset(ra) && s.min_right.is_subset(rb)
                    || s.min_left.is_subset(rb) && s.min_right.is_subset(ra)
                    || s.syn_right.overlaps(ra) && s.syn_right.overlaps(rb)
                    || s.syn_left.overlaps(ra)
                        && s.syn_left.overlaps(rb)
                        && s.kind == JoinKind::Full
            })
    }

    /// True if some item can be joined to the relation by a condition.
    fn has_legal_clause(&self, rel: usize, items: &[usize]) -> bool {
        let relids = &self.rels[rel].relids;
        items.iter().any(|i| {
            let other = &self.rels[*i].relids;
            !other.overlaps(relids)
                && self.relevant_clause(rel, *i)
                && self.join_is_legal(relids, other).is_some()
        })
    }

    /// Whether two relations may be joined, and as what: the special join and whether the
    /// sides are swapped in it. `None` if not.
    #[allow(clippy::type_complexity)]
    fn join_is_legal(&self, ra: &Relids, rb: &Relids) -> Option<Option<(SpecialJoin, bool, bool)>> {
        let both = ra.union(rb);
        let mut found: Option<(SpecialJoin, bool, bool)> = None;
        let mut must_be_left = false;
        for s in &self.special {
            if !s.min_right.overlaps(&both)
                || both.is_subset(&s.min_right)
                || s.min_left.union(&s.min_right).is_subset(ra)
                || s.min_left.union(&s.min_right).is_subset(rb)
            {
                continue;
            }
            if s.kind == JoinKind::Semi {
                // Made unique on one side already, it is a plain join.
                if s.syn_right.is_subset(ra) && s.syn_right != *ra
                    || s.syn_right.is_subset(rb) && s.syn_right != *rb
                {
                    continue;
                }
            }
            if s.min_left.is_subset(ra) && s.min_right.is_subset(rb) {
                if found.is_some() {
                    return None;
                }
                found = Some((s.clone(), false, false));
            } else if s.min_left.is_subset(rb) && s.min_right.is_subset(ra) {
                if found.is_some() {
                    return None;
                }
                found = Some((s.clone(), true, false));
            } else if s.kind == JoinKind::Semi && s.syn_right == *rb && self.can_unique(s) {
                if found.is_some() {
                    return None;
                }
                found = Some((s.clone(), false, true));
            } else if s.kind == JoinKind::Semi && s.syn_right == *ra && self.can_unique(s) {
                if found.is_some() {
                    return None;
                }
                found = Some((s.clone(), true, true));
            } else {
                // The join is inside this one's right side, or it breaks the order.
                if ra.overlaps(&s.min_right) && rb.overlaps(&s.min_right) {
                    continue;
                }
                if s.kind != JoinKind::Left || both.overlaps(&s.min_left) {
                    return None;
                }
                must_be_left = true;
            }
        }
        if must_be_left
            && !found.as_ref().is_some_and(|(s, _, _)| s.kind == JoinKind::Left && s.lhs_strict)
        {
            return None;
        }
        Some(found)
    }

    /// True if the semijoin's right side can be made unique.
    pub fn can_unique(&self, s: &SpecialJoin) -> bool {
        !s.semi_ops.is_empty() && (s.semi_can_hash || s.semi_can_btree)
    }

    fn try_join(&mut self, a: usize, b: usize, made: &mut Vec<usize>) -> Result<()> {
        let (ra, rb) = (self.rels[a].relids.clone(), self.rels[b].relids.clone());
        let Some(special) = self.join_is_legal(&ra, &rb) else { return Ok(()) };
        let (a_lateral, b_lateral) =
            (self.rels[a].lateral.overlaps(&rb), self.rels[b].lateral.overlaps(&ra));
        if a_lateral && b_lateral {
            return Ok(());
        }
        let relids = ra.union(&rb);
        let (a, b, special) = match special {
            Some((s, true, u)) => (b, a, Some((s, u))),
            Some((s, false, u)) => (a, b, Some((s, u))),
            None => (a, b, None),
        };
        let restrictions: Conditions = self.join_restrictions(a, b)?.into();
        let join = match self.join_map.get(&relids) {
            Some(&j) => j,
            None => self.new_join(a, b, relids, special.as_ref().map(|s| &s.0), &restrictions)?,
        };
        if !made.contains(&join) {
            made.push(join);
        }
        self.add_join_paths(join, a, b, special.clone(), &restrictions)?;
        self.partitionwise_join(join, a, b, &special, &restrictions)
    }

    fn new_join(
        &mut self,
        a: usize,
        b: usize,
        relids: Relids,
        special: Option<&SpecialJoin>,
        restrictions: &[Rc<Restriction>],
    ) -> Result<usize> {
        let join = self.add_rel(BaseKind::Join, relids.clone(), 0);
        self.join_map.insert(relids.clone(), join);
        let mut target = Target::default();
        for side in [a, b] {
            for e in &self.rels[side].target.exprs {
                let keep = match e {
                    Expr::Var(v) => self.base_rel(v.varno).is_none_or(|r| {
                        r.needed.get(&v.attno).is_some_and(|by| !by.is_subset(&relids))
                    }),
                    _ => true,
                };
                if keep {
                    target.exprs.push(e.clone());
                    target.refs.push(0);
                }
            }
        }
        self.finish_target(&mut target);
        let mut lateral = self.rels[a].lateral.union(&self.rels[b].lateral);
        lateral = lateral.minus(&relids);
        let rows = self.join_rows(a, b, special, restrictions)?;
        let parallel = self.rels[a].parallel
            && self.rels[b].parallel
            && self.all_parallel_safe(restrictions.iter().map(|r| &r.clause))?
            && self.all_parallel_safe(&target.exprs)?;
        let r = &mut self.rels[join];
        r.parallel = parallel;
        r.target = Rc::new(target);
        r.lateral = lateral;
        r.rows = rows;
        let kind = special.map_or(JoinKind::Inner, |s| s.kind);
        self.note_join_partitions(join, (a, b), kind, restrictions)?;
        Ok(join)
    }

    /// The conditions to test at the join of two relations.
    pub fn join_restrictions(&mut self, a: usize, b: usize) -> Result<Vec<Rc<Restriction>>> {
        let (ra, rb) = (self.rels[a].relids.clone(), self.rels[b].relids.clone());
        let both = ra.union(&rb);
        let mut out: Vec<Rc<Restriction>> = Vec::new();
        for i in both.iter() {
            let Some(rel) = self.base_rel(i) else { continue };
            for r in &rel.join_info {
                if r.required.is_subset(&both)
                    && !r.required.is_subset(&ra)
                    && !r.required.is_subset(&rb)
                    && !out.iter().any(|x| x.serial == r.serial)
                {
                    out.push(r.clone());
                }
            }
        }
        out.extend(self.generate_join_implied(&ra, &rb)?);
        Ok(out)
    }

    /// Expected rows of a join.
    pub fn join_rows(
        &self,
        a: usize,
        b: usize,
        special: Option<&SpecialJoin>,
        list: &[Rc<Restriction>],
    ) -> Result<f64> {
        let (outer, inner) = (self.rels[a].rows, self.rels[b].rows);
        let kind = special.map_or(JoinKind::Inner, |s| s.kind);
        let plain = crate::cost::join::inner_special_of(self, a, b);
        let special = special.unwrap_or(&plain);
        let join = Some(JoinFor { kind, special });
        let (s, p) = if matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti) {
            let (own, above): (Vec<_>, Vec<_>) = list.iter().cloned().partition(|r| !r.pushed_down);
            let own = self.list_selectivity(&own, 0, join)?;
            match above.is_empty() {
                true => (own, 1.0),
                false => (own, self.list_selectivity(&above, 0, join)?),
            }
        } else {
            (self.list_selectivity(list, 0, join)?, 1.0)
        };
        let rows = match kind {
            JoinKind::Inner => outer * inner * s,
            JoinKind::Left => (outer * inner * s).max(outer) * p,
            JoinKind::Full => (outer * inner * s).max(outer).max(inner) * p,
            JoinKind::Semi => outer * s,
            JoinKind::Anti => outer * (1.0 - s) * p,
            _ => outer * inner * s,
        };
        Ok(crate::cost::clamp_rows(rows))
    }
}
