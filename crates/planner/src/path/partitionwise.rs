//! Joins of partitioned relations, partition by partition: where the keys must be equal, rows of
//! a partition find partners in one partition of the other side only.

use super::member::table_of;
use crate::rel::{BaseKind, Partitioned, Restriction, Scheme, SpecialJoin};
use crate::relids::Relids;
use crate::restriction::operands;
use crate::root::Root;
use base::Result;
use catalog::partition::{BoundKind, RangeDatum};
use ir::{Expr, JoinKind};
use std::rc::Rc;
use types::Datum;

/// Partitions of the two sides that are joined with each other, and what keys the result has.
type Match = (Option<usize>, Option<usize>, BoundKind);

/// What a join is: its special join, and whether one side has to be made unique.
pub type JoinAs = Option<(SpecialJoin, bool)>;

fn same_scheme(a: &Scheme, b: &Scheme) -> bool {
    a.strategy == b.strategy
        && a.families == b.families
        && a.types == b.types
        && a.collations == b.collations
}

impl Root<'_> {
    /// Notes how a new join's rows are divided, if they are.
    pub fn note_join_partitions(
        &mut self,
        join: usize,
        (a, b): (usize, usize),
        kind: JoinKind,
        list: &[Rc<Restriction>],
    ) -> Result<()> {
        if !self.env.settings.enable_partitionwise_join
            || !self.rels[a].by_partition
            || !self.rels[b].by_partition
        {
            return Ok(());
        }
        let (Some(pa), Some(pb)) =
            (self.rels[a].partitioned.clone(), self.rels[b].partitioned.clone())
        else {
            return Ok(());
        };
        if !same_scheme(&pa.scheme, &pb.scheme)
            || !self.keys_are_equal((a, &pa), (b, &pb), kind, list)?
        {
            return Ok(());
        }
        let (mut keys, mut nullable_keys) = (Vec::new(), Vec::new());
        for i in 0..pa.keys.len() {
            let (ka, kb) = (&pa.keys[i], &pb.keys[i]);
            let (na, nb) = (&pa.nullable_keys[i], &pb.nullable_keys[i]);
            let (own, nullable) = match kind {
                JoinKind::Inner => ([&ka[..], kb].concat(), [&na[..], nb].concat()),
                JoinKind::Semi | JoinKind::Anti => (ka.clone(), na.clone()),
                JoinKind::Left => (ka.clone(), [&na[..], kb, nb].concat()),
                _ => (Vec::new(), full_keys([&ka[..], na].concat(), [&kb[..], nb].concat())),
            };
            keys.push(own);
            nullable_keys.push(nullable);
        }
        self.rels[join].by_partition = true;
        self.rels[join].partitioned = Some(Rc::new(Partitioned {
            scheme: pa.scheme.clone(),
            keys,
            nullable_keys,
            bounds: Vec::new(),
            parts: Vec::new(),
        }));
        Ok(())
    }

    /// Whether the conditions make all columns of the keys equal.
    fn keys_are_equal(
        &self,
        (a, pa): (usize, &Partitioned),
        (b, pb): (usize, &Partitioned),
        kind: JoinKind,
        list: &[Rc<Restriction>],
    ) -> Result<bool> {
        let n = pa.keys.len();
        let mut known = vec![false; n];
        let outer_join = matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Anti);
        let (ra, rb) = (&self.rels[a].relids, &self.rels[b].relids);
        for r in list {
            if outer_join && r.pushed_down || !r.can_join {
                continue;
            }
            let (Some((left, right)), Expr::Op(o)) = (operands(r), &r.clause) else { continue };
            let (ea, eb) = if r.left_relids.is_subset(ra) && r.right_relids.is_subset(rb) {
                (left, right)
            } else if r.left_relids.is_subset(rb) && r.right_relids.is_subset(ra) {
                (right, left)
            } else {
                continue;
            };
            let strict = self.env.catalog.proc(o.func)?.strict;
            let (Some(i), Some(j)) = (key_of(ea, pa, strict), key_of(eb, pb, strict)) else {
                continue;
            };
            if i != j || known[i] {
                continue;
            }
            let (family, collation) = (pa.scheme.families[i], pa.scheme.collations[i]);
            if collation.is_valid() && o.input_collation != collation {
                continue;
            }
            known[i] = match pa.scheme.strategy {
                b'h' => {
                    r.hash_op.is_valid()
                        && self.env.catalog.operator_in_family(r.hash_op, family)?.is_some()
                }
                _ => r.merge_families.contains(&family),
            };
        }
        // Conditions that need not be tested here may make columns equal too.
        for (i, known) in known.iter_mut().enumerate() {
            let pairs = pa.keys[i].iter().flat_map(|x| pb.keys[i].iter().map(move |y| (x, y)));
            for (x, y) in pairs {
                *known = *known || self.known_equal(x, y, pa, i)?;
            }
        }
        Ok(known.iter().all(|k| *k))
    }

    /// Whether a class has both expressions, equal by what the partitions are made by.
    fn known_equal(&self, x: &Expr, y: &Expr, p: &Partitioned, column: usize) -> Result<bool> {
        let (family, collation) = (p.scheme.families[column], p.scheme.collations[column]);
        let ty = p.scheme.types[column];
        for ec in self.ecs.iter().filter(|e| e.merged.is_none() && !e.has_volatile && !e.broken) {
            let has = |e: &Expr| {
                ec.all_members().any(|m| super::index::strip(&m.expr) == super::index::strip(e))
            };
            if ec.collation != collation && collation.is_valid() || !has(x) || !has(y) {
                continue;
            }
            let fits = match p.scheme.strategy {
                b'h' => match self.env.catalog.amop(family, ty, ty, 1)? {
                    Some(op) => {
                        let own = self.equality_families(op)?;
                        ec.families.iter().any(|f| own.contains(f))
                    }
                    None => false,
                },
                _ => ec.families.contains(&family),
            };
            if fits {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Joins the partitions of `a` with those of `b` that they match.
    pub fn partitionwise_join(
        &mut self,
        join: usize,
        a: usize,
        b: usize,
        special: &JoinAs,
        list: &[Rc<Restriction>],
    ) -> Result<()> {
        let (Some(own), Some(pa), Some(pb)) = (
            self.rels[join].partitioned.clone(),
            self.rels[a].partitioned.clone(),
            self.rels[b].partitioned.clone(),
        ) else {
            return Ok(());
        };
        if !self.rels[join].by_partition
            || !self.rels[a].by_partition
            || !self.rels[b].by_partition
            || self.rels[join].dummy
            || !same_scheme(&pa.scheme, &pb.scheme)
        {
            return Ok(());
        }
        let kind = special.as_ref().map_or(JoinKind::Inner, |s| s.0.kind);
        let first = own.bounds.is_empty();
        let Some(pairs) = self.matching_partitions(&pa, &pb, kind)? else {
            if first {
                self.rels[join].partitioned = None;
                self.rels[join].by_partition = false;
            }
            return Ok(());
        };
        if !first && !self.same_parts(&own, &pairs) {
            return Ok(());
        }
        let (mut bounds, mut parts) = (Vec::new(), Vec::new());
        for (ca, cb, bound) in pairs {
            bounds.push(bound);
            parts.push(Some(self.join_parts(join, ca, cb, special, list)?));
        }
        if first && let Some(p) = &mut self.rels[join].partitioned {
            let p = Rc::make_mut(p);
            (p.bounds, p.parts) = (bounds, parts);
        }
        Ok(())
    }

    /// Whether joining these gives the parts that the join is known to have.
    fn same_parts(&self, own: &Partitioned, pairs: &[(usize, usize, BoundKind)]) -> bool {
        own.parts.len() == pairs.len()
            && pairs.iter().zip(&own.parts).all(|((a, b, _), part)| {
                let both = self.rels[*a].relids.union(&self.rels[*b].relids);
                part.is_some_and(|p| self.rels[p].relids == both)
            })
    }

    /// The partitions to join; None if it cannot be done so.
    fn matching_partitions(
        &self,
        pa: &Partitioned,
        pb: &Partitioned,
        kind: JoinKind,
    ) -> Result<Option<Vec<(usize, usize, BoundKind)>>> {
        let Some(pairs) = match_bounds(pa, pb, kind)? else { return Ok(None) };
        let mut out = Vec::new();
        for (i, j, bound) in pairs {
            let a = i.and_then(|i| pa.parts[i]);
            let b = j.and_then(|j| pb.parts[j]);
            let empty = |c: Option<usize>| c.is_none_or(|c| self.rels[c].dummy);
            let nothing = match kind {
                JoinKind::Inner | JoinKind::Semi => empty(a) || empty(b),
                JoinKind::Left | JoinKind::Anti => empty(a),
                _ => empty(a) && empty(b),
            };
            if nothing {
                continue;
            }
            match (a, b) {
                (Some(a), Some(b)) => out.push((a, b, bound)),
                _ => return Ok(None),
            }
        }
        Ok((!out.is_empty()).then_some(out))
    }

    /// The join of two partitions, with its paths.
    fn join_parts(
        &mut self,
        join: usize,
        a: usize,
        b: usize,
        special: &JoinAs,
        list: &[Rc<Restriction>],
    ) -> Result<usize> {
        let members = self.rels[a].relids.union(&self.rels[b].relids);
        let list: super::Conditions = self.restrictions_for_members(list, &members)?.into();
        let special = match special {
            None => None,
            Some((s, unique)) => Some((self.special_for_members(s, &members)?, *unique)),
        };
        let known = self.join_map.get(&members).copied();
        let child = match known {
            Some(child) => child,
            None => self.new_part_join(join, (a, b), &members, &special, &list)?,
        };
        self.add_join_paths(child, a, b, special.clone(), &list)?;
        self.partitionwise_join(child, a, b, &special, &list)?;
        Ok(child)
    }

    fn new_part_join(
        &mut self,
        join: usize,
        (a, b): (usize, usize),
        members: &Relids,
        special: &JoinAs,
        list: &[Rc<Restriction>],
    ) -> Result<usize> {
        let child = self.add_rel(BaseKind::Join, members.clone(), 0);
        self.join_map.insert(members.clone(), child);
        let parent_target = self.rels[join].target.clone();
        let target = self.target_for_members(&parent_target, members)?;
        let rows = self.join_rows(a, b, special.as_ref().map(|s| &s.0), list)?;
        let parallel = self.rels[join].parallel
            && self.rels[a].parallel
            && self.rels[b].parallel
            && self.all_parallel_safe(list.iter().map(|r| &r.clause))?
            && self.all_parallel_safe(&target.exprs)?;
        let lateral = self.rels[join].lateral.clone();
        let c = &mut self.rels[child];
        (c.target, c.rows, c.parallel, c.lateral) = (Rc::new(target), rows, parallel, lateral);
        self.add_part_classes(members)?;
        let kind = special.as_ref().map_or(JoinKind::Inner, |s| s.0.kind);
        self.note_join_partitions(child, (a, b), kind, list)?;
        Ok(child)
    }

    /// Adds the forms over these members of what classes have over several relations.
    fn add_part_classes(&mut self, members: &Relids) -> Result<()> {
        let top = self.top_relids(members);
        for i in 0..self.ecs.len() {
            if self.ecs[i].merged.is_some() || self.ecs[i].has_volatile {
                continue;
            }
            let mut new = Vec::new();
            for m in &self.ecs[i].members {
                if m.relids.len() < 2 || !m.relids.is_subset(&top) {
                    continue;
                }
                let relids = self.relids_for_members(&m.relids, members);
                let expr = self.for_members(&m.expr, members)?;
                if !self.ecs[i].of_children.iter().any(|c| c.expr == expr) {
                    new.push(crate::rel::EcMember { expr, relids, is_const: false, ty: m.ty });
                }
            }
            self.ecs[i].of_children.extend(new);
        }
        Ok(())
    }

    /// Once all pairs of a join are done: appends the joins of its partitions.
    pub fn finish_partitionwise(&mut self, join: usize) -> Result<()> {
        let Some(p) = self.rels[join].partitioned.clone() else { return Ok(()) };
        if !self.rels[join].by_partition
            || self.rels[join].dummy
            || p.parts.is_empty()
            || table_of(&self.rels[join].kind).is_some()
        {
            return Ok(());
        }
        let mut live = Vec::new();
        for child in p.parts.iter().flatten().copied() {
            self.finish_partitionwise(child)?;
            if self.rels[child].paths.is_empty() {
                // Some join could be done in no way: the whole is not done so.
                self.rels[join].partitioned = None;
                return Ok(());
            }
            self.rels[child].set_cheapest();
            if !self.rels[child].dummy {
                live.push(child);
            }
        }
        self.add_append_paths(join, &live)
    }
}

/// The key column that an expression is.
fn key_of(e: &Expr, p: &Partitioned, strict: bool) -> Option<usize> {
    let e = super::index::strip(e);
    let is = |k: &Expr| super::index::strip(k) == e;
    (0..p.keys.len())
        .find(|i| p.keys[*i].iter().any(is) || strict && p.nullable_keys[*i].iter().any(is))
}

/// What a FULL join's key is called: either side's, or what USING makes of both.
fn full_keys(a: Vec<Expr>, b: Vec<Expr>) -> Vec<Expr> {
    let mut both = Vec::new();
    for x in &a {
        for y in &b {
            if x.ty() == y.ty() {
                both.push(Expr::Coalesce {
                    args: vec![x.clone(), y.clone()],
                    ty: x.ty(),
                    collation: x.collation(),
                    location: None,
                });
            }
        }
    }
    [a, b, both].concat()
}

/// Matches the partitions of two sides by their bounds. None unless each of one side has keys in
/// common with one of the other at most.
fn match_bounds(a: &Partitioned, b: &Partitioned, kind: JoinKind) -> Result<Option<Vec<Match>>> {
    if same_bounds(a, b)? {
        let pair = |(i, bound): (usize, &BoundKind)| (Some(i), Some(i), bound.clone());
        return Ok(Some(a.bounds.iter().enumerate().map(pair).collect()));
    }
    if a.scheme.strategy == b'h' {
        return Ok(None);
    }
    let mut taken = vec![false; b.bounds.len()];
    let mut out: Vec<Match> = Vec::new();
    for i in 0..a.bounds.len() {
        let mut partner = None;
        for (j, taken) in taken.iter_mut().enumerate() {
            if !overlap(a, i, b, j)? {
                continue;
            }
            if *taken || partner.is_some() {
                return Ok(None);
            }
            (*taken, partner) = (true, Some(j));
        }
        let bound = match (kind, partner) {
            (JoinKind::Full, Some(j)) => match joined_bound(a, &a.bounds[i], &b.bounds[j])? {
                Some(bound) => bound,
                None => return Ok(None),
            },
            _ => a.bounds[i].clone(),
        };
        out.push((Some(i), partner, bound));
    }
    for (j, taken) in taken.iter().enumerate() {
        if !taken {
            out.push((None, Some(j), b.bounds[j].clone()));
        }
    }
    Ok(Some(out))
}

fn same_bounds(a: &Partitioned, b: &Partitioned) -> Result<bool> {
    if a.bounds.len() != b.bounds.len() {
        return Ok(false);
    }
    for (x, y) in a.bounds.iter().zip(&b.bounds) {
        if !same_bound(a, x, y)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_bound(p: &Partitioned, x: &BoundKind, y: &BoundKind) -> Result<bool> {
    let by = &p.scheme.partitioning;
    Ok(match (x, y) {
        (BoundKind::Default, BoundKind::Default) => true,
        (BoundKind::Hash(m, r), BoundKind::Hash(n, s)) => m == n && r == s,
        (BoundKind::List(x), BoundKind::List(y)) => {
            x.len() == y.len() && all_in(p, x, y)? && all_in(p, y, x)?
        }
        (BoundKind::Range(l, u), BoundKind::Range(m, v)) => {
            by.compare_bounds(l, m)?.is_eq() && by.compare_bounds(u, v)?.is_eq()
        }
        _ => false,
    })
}

fn contains(p: &Partitioned, list: &[Datum], value: &Datum) -> Result<bool> {
    for v in list {
        let same = match (v.is_null(), value.is_null()) {
            (true, true) => true,
            (false, false) => p.scheme.partitioning.compare(0, v, value)?.is_eq(),
            _ => false,
        };
        if same {
            return Ok(true);
        }
    }
    Ok(false)
}

fn all_in(p: &Partitioned, values: &[Datum], list: &[Datum]) -> Result<bool> {
    for v in values {
        if !contains(p, list, v)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a key that is not null may be in both partitions.
fn overlap(a: &Partitioned, i: usize, b: &Partitioned, j: usize) -> Result<bool> {
    let by = &a.scheme.partitioning;
    Ok(match (&a.bounds[i], &b.bounds[j]) {
        (BoundKind::List(x), BoundKind::List(y)) => {
            for v in x.iter().filter(|v| !v.is_null()) {
                if contains(a, y, v)? {
                    return Ok(true);
                }
            }
            false
        }
        (BoundKind::Range(l, u), BoundKind::Range(m, v)) => {
            by.compare_bounds(l, v)?.is_lt() && by.compare_bounds(m, u)?.is_lt()
        }
        (BoundKind::Default, other) => !covered(a, other)?,
        (other, BoundKind::Default) => !covered(b, other)?,
        _ => true,
    })
}

/// Whether all keys of a bound are in partitions other than the default one.
fn covered(p: &Partitioned, bound: &BoundKind) -> Result<bool> {
    match bound {
        BoundKind::List(values) => {
            for v in values.iter().filter(|v| !v.is_null()) {
                let mut found = false;
                for other in &p.bounds {
                    if let BoundKind::List(list) = other {
                        found = found || contains(p, list, v)?;
                    }
                }
                if !found {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        BoundKind::Range(lower, upper) => {
            let by = &p.scheme.partitioning;
            let mut at: &[RangeDatum] = lower;
            // The bounds are in order.
            for other in &p.bounds {
                let BoundKind::Range(l, u) = other else { continue };
                if by.compare_bounds(l, at)?.is_le() && by.compare_bounds(u, at)?.is_gt() {
                    at = u;
                }
            }
            Ok(by.compare_bounds(at, upper)?.is_ge())
        }
        _ => Ok(false),
    }
}

/// The keys of two partitions together, for a FULL join.
fn joined_bound(p: &Partitioned, x: &BoundKind, y: &BoundKind) -> Result<Option<BoundKind>> {
    if same_bound(p, x, y)? {
        return Ok(Some(x.clone()));
    }
    Ok(match (x, y) {
        (BoundKind::List(a), BoundKind::List(b)) => {
            let mut all = a.clone();
            for v in b {
                if !contains(p, &all, v)? {
                    all.push(v.clone());
                }
            }
            Some(BoundKind::List(all))
        }
        // What lies between two ranges could be in a third: no such join is made.
        _ => None,
    })
}
