//! Ways to join two relations.

use super::add::Merits;
use super::{Conditions, JoinPath, Path, PathKind};
use crate::cost::join::SemiFactors;
use crate::cost::scan::Cost;
use crate::cost::{EvalCost, clamp_rows};
use crate::prep::loose::is_loose_collation;
use crate::rel::{PathKey, Restriction, SpecialJoin};
use crate::relids::Relids;
use crate::restriction::operands;
use crate::root::Root;
use base::Result;
use ir::{Expr, JoinKind};
use std::rc::Rc;

/// What the functions here share about one pair of relations.
pub(super) struct Pair<'a> {
    pub join: usize,
    pub outer: usize,
    pub inner: usize,
    pub kind: JoinKind,
    pub restrictions: &'a Conditions,
    pub inner_unique: bool,
    pub merge_clauses: Vec<Rc<Restriction>>,
    /// The tables of the join, and of its two sides.
    pub relids: Relids,
    pub outer_ids: Relids,
    /// The two sides as an inner join, for selectivities.
    pub sides: SpecialJoin,
    semi: SemiFactors,
    hash_clauses: Conditions,
}

/// An inner path of nested loops, with what is the same for every outer path.
struct LoopInner {
    path: Rc<Path>,
    /// The conditions that it does not test itself.
    left: Conditions,
    quals: EvalCost,
    rescan: (f64, f64),
    /// It remembers results, which is of use from two outer rows on.
    remembers: bool,
}

impl Root<'_> {
    /// Adds the ways to join `a` (left) and `b` (right) to the join relation's paths.
    pub fn add_join_paths(
        &mut self,
        join: usize,
        a: usize,
        b: usize,
        special: Option<(SpecialJoin, bool)>,
        restrictions: &Conditions,
    ) -> Result<()> {
        let kind = special.as_ref().map_or(JoinKind::Inner, |s| s.0.kind);
        if self.note_dummy(join, a, b, kind, restrictions) {
            return Ok(());
        }
        if let Some((s, _)) = &special
            && matches!(kind, JoinKind::Left | JoinKind::Anti)
            && !self.rels[b].dummy
            && self.rels[b].relids.is_subset(&s.syn_right)
            && restrictions.iter().any(|r| super::scan::is_false(&r.clause))
        {
            // No row has a partner: the right side need not be read.
            self.make_dummy(b);
            self.rels[b].set_cheapest();
        }
        let plain = crate::cost::join::inner_special_of(self, a, b);
        let spec = special.as_ref().map_or(&plain, |s| &s.0).clone();
        let unique_only = special.as_ref().is_some_and(|s| s.1);
        match kind {
            JoinKind::Inner => {
                self.join_one_way(join, a, b, JoinKind::Inner, &spec, restrictions)?;
                let turned = crate::cost::join::inner_special_of(self, b, a);
                self.join_one_way(join, b, a, JoinKind::Inner, &turned, restrictions)?;
            }
            JoinKind::Left => {
                self.join_one_way(join, a, b, JoinKind::Left, &spec, restrictions)?;
                self.join_one_way(join, b, a, JoinKind::Right, &spec, restrictions)?;
            }
            JoinKind::Full => {
                self.join_one_way(join, a, b, JoinKind::Full, &spec, restrictions)?;
                self.join_one_way(join, b, a, JoinKind::Full, &spec, restrictions)?;
            }
            JoinKind::Semi => {
                if !unique_only {
                    self.join_one_way(join, a, b, JoinKind::Semi, &spec, restrictions)?;
                    self.join_one_way(join, b, a, JoinKind::RightSemi, &spec, restrictions)?;
                }
                self.join_made_unique(join, a, b, &spec, restrictions)?;
            }
            JoinKind::Anti => {
                self.join_one_way(join, a, b, JoinKind::Anti, &spec, restrictions)?;
                self.join_one_way(join, b, a, JoinKind::RightAnti, &spec, restrictions)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// If the join cannot give a row: says so and notes it.
    fn note_dummy(
        &mut self,
        join: usize,
        a: usize,
        b: usize,
        kind: JoinKind,
        list: &[Rc<Restriction>],
    ) -> bool {
        let never = |pushed_only: bool| {
            list.iter().any(|r| {
                super::scan::is_false(&r.clause)
                    && matches!(r.clause, Expr::Const(_))
                    && (!pushed_only || r.pushed_down)
            })
        };
        let (da, db) = (self.rels[a].dummy, self.rels[b].dummy);
        let dummy = match kind {
            JoinKind::Inner | JoinKind::Semi => da || db || never(false),
            JoinKind::Left | JoinKind::Anti => da || never(true),
            JoinKind::Full => da && db || never(true),
            _ => false,
        };
        if dummy && !self.rels[join].dummy {
            self.make_dummy(join);
        }
        self.rels[join].dummy
    }

    /// Makes nothing the only path of a relation.
    fn make_dummy(&mut self, rel: usize) {
        self.rels[rel].dummy = true;
        self.rels[rel].paths.clear();
        self.rels[rel].partial.clear();
        let path = self.dummy_path(rel);
        self.rels[rel].add_path(path);
    }

    /// Joins with the semijoin's right side made unique first.
    fn join_made_unique(
        &mut self,
        join: usize,
        a: usize,
        b: usize,
        special: &SpecialJoin,
        list: &Conditions,
    ) -> Result<()> {
        if !self.can_unique(special) || special.syn_right != self.rels[b].relids {
            return Ok(());
        }
        let Some(unique) = self.unique_path(b, special)? else { return Ok(()) };
        let rows = self.rels[b].rows;
        self.rels[b].rows = unique.rows;
        let spec = crate::cost::join::inner_special_of(self, a, b);
        let turned = crate::cost::join::inner_special_of(self, b, a);
        let saved = (self.rels[b].paths.clone(), self.rels[b].cheapest_params.clone());
        let cheapest = (self.rels[b].cheapest_total.clone(), self.rels[b].cheapest_startup.clone());
        let unique = Rc::new(unique);
        {
            let r = &mut self.rels[b];
            r.paths = vec![unique.clone()];
            r.cheapest_params = vec![unique.clone()];
            r.cheapest_total = Some(unique.clone());
            r.cheapest_startup = Some(unique);
        }
        let partial = std::mem::take(&mut self.rels[b].partial);
        let done = self
            .join_one_way(join, a, b, JoinKind::Inner, &spec, list)
            .and_then(|()| self.join_one_way(join, b, a, JoinKind::Inner, &turned, list));
        let r = &mut self.rels[b];
        r.rows = rows;
        r.partial = partial;
        (r.paths, r.cheapest_params) = saved;
        (r.cheapest_total, r.cheapest_startup) = cheapest;
        done
    }

    fn unique_path(&mut self, rel: usize, special: &SpecialJoin) -> Result<Option<Path>> {
        let Some(sub) = self.rels[rel].cheapest_total.clone() else { return Ok(None) };
        if !sub.param.is_empty() {
            return Ok(None);
        }
        let s = self.env.settings;
        let groups = crate::selectivity::estimate_groups(self, &special.semi_rhs, sub.rows)?;
        let width = sub.target.width;
        let n = special.semi_ops.len() as f64;
        let input = self.path_cost(&sub);
        let sorted = self.cost_sort(input, sub.rows, width, -1.0);
        let by_sort = Cost {
            startup: sorted.startup,
            total: sorted.total + s.cpu_operator_cost * sub.rows * n,
            disabled: sorted.disabled,
        };
        let none = crate::cost::shape::AggCosts::default();
        let by_hash = self.cost_agg(
            input,
            sub.rows,
            width,
            ir::AggStrategy::Hashed,
            &none,
            special.semi_ops.len(),
            groups,
        );
        let hash = special.semi_can_hash
            && (!special.semi_can_btree
                || (by_hash.disabled, by_hash.total) <= (by_sort.disabled, by_sort.total));
        let cost = if hash { by_hash } else { by_sort };
        let kind = PathKind::UniqueFor {
            sub: sub.clone(),
            exprs: special.semi_rhs.clone(),
            ops: special.semi_ops.clone(),
            hash,
        };
        let mut path = self.plain_path(rel, kind, cost);
        path.parallel_safe &= sub.parallel_safe;
        path.rows = groups;
        Ok(Some(path))
    }

    /// All ways with `outer` as the outer side.
    fn join_one_way(
        &mut self,
        join: usize,
        outer: usize,
        inner: usize,
        kind: JoinKind,
        special: &SpecialJoin,
        restrictions: &Conditions,
    ) -> Result<()> {
        if self.rels[outer].lateral.overlaps(&self.rels[inner].relids) {
            return Ok(());
        }
        let inner_unique = matches!(kind, JoinKind::Inner | JoinKind::Left)
            && self.is_unique_inner(inner, outer, kind, restrictions)?;
        let semi = if matches!(kind, JoinKind::Semi | JoinKind::Anti) || inner_unique {
            self.semi_factors(kind, special, restrictions, self.rels[inner].rows)?
        } else {
            SemiFactors::default()
        };
        let sides = crate::cost::join::inner_special_of(self, outer, inner);
        let (outer_ids, inner_ids) = (&sides.min_left, &sides.min_right);
        let outer_join = matches!(
            kind,
            JoinKind::Left
                | JoinKind::Right
                | JoinKind::Full
                | JoinKind::Anti
                | JoinKind::RightAnti
        );
        let across = |r: &Restriction| {
            r.left_relids.is_subset(outer_ids) && r.right_relids.is_subset(inner_ids)
                || r.left_relids.is_subset(inner_ids) && r.right_relids.is_subset(outer_ids)
        };
        let usable =
            |r: &Rc<Restriction>| r.can_join && across(r) && !(outer_join && r.pushed_down);
        let mut merge_clauses = Vec::new();
        for r in restrictions.iter().filter(|r| usable(r)) {
            if !r.merge_families.is_empty() {
                self.note_merge_classes(r)?;
                merge_clauses.push(r.clone());
            }
        }
        let hash_clauses =
            restrictions.iter().filter(|r| usable(r) && r.hash_op.is_valid()).cloned().collect();
        let pair = Pair {
            join,
            outer,
            inner,
            kind,
            restrictions,
            inner_unique,
            merge_clauses,
            relids: self.rels[join].relids.clone(),
            outer_ids: outer_ids.clone(),
            sides,
            semi,
            hash_clauses,
        };
        self.nest_loops(&pair)?;
        self.merge_joins(&pair)?;
        self.hash_joins(&pair)
    }

    /// True if the conditions match at most one inner row for each outer one.
    fn is_unique_inner(
        &self,
        inner: usize,
        outer: usize,
        kind: JoinKind,
        restrictions: &[Rc<Restriction>],
    ) -> Result<bool> {
        match self.rels[inner].relids.singleton() {
            Some(index) => self.is_unique_for(index, &self.rels[outer].relids, kind, restrictions),
            None => Ok(false),
        }
    }

    /// The same for a base relation and a set of relations.
    pub fn is_unique_for(
        &self,
        index: u32,
        outer_ids: &Relids,
        kind: JoinKind,
        restrictions: &[Rc<Restriction>],
    ) -> Result<bool> {
        let Some(rel) = self.base_rel(index) else { return Ok(false) };
        let mut columns: Vec<i16> = Vec::new();
        for r in restrictions {
            if r.merge_families.is_empty() || kind == JoinKind::Left && r.pushed_down {
                continue;
            }
            let Some((l, e)) = operands(r) else { continue };
            let side = if r.left_relids == rel.relids && r.right_relids.is_subset(outer_ids) {
                l
            } else if r.right_relids == rel.relids && r.left_relids.is_subset(outer_ids) {
                e
            } else {
                continue;
            };
            if let Expr::Var(v) = super::index::strip(side)
                && self.keeps_apart(&r.clause, v.collation)?
            {
                columns.push(v.attno);
            }
        }
        for r in &rel.restrictions {
            if let Some((l, e)) = operands(r)
                && !r.merge_families.is_empty()
            {
                for (a, b) in [(l, e), (e, l)] {
                    if let Expr::Var(v) = super::index::strip(a)
                        && self.relids_of(b).is_empty()
                        && self.keeps_apart(&r.clause, v.collation)?
                    {
                        columns.push(v.attno);
                    }
                }
            }
        }
        if let crate::rel::BaseKind::Subquery(info) = &rel.kind {
            return Ok(info
                .unique_columns
                .iter()
                .any(|set| set.iter().all(|c| columns.contains(c))));
        }
        Ok(rel.indexes.iter().any(|i| {
            i.desc.is_unique
                && i.desc.is_immediate
                && i.predicate.is_empty()
                && i.desc.columns[..i.desc.n_keys as usize]
                    .iter()
                    .all(|c| *c != 0 && columns.contains(c))
        }))
    }

    /// Whether what this equality takes for equal is equal by the column's collation too: a
    /// collation for which other bytes are equal says nothing of another one's uniqueness.
    fn keeps_apart(&self, clause: &Expr, column: base::Oid) -> Result<bool> {
        let Expr::Op(o) = clause else { return Ok(true) };
        let used = o.input_collation;
        if used == column || !used.is_valid() {
            return Ok(true);
        }
        Ok(!is_loose_collation(self.env, used)?)
    }

    pub(super) fn join_path(
        &self,
        p: &Pair,
        outer: &Rc<Path>,
        inner: &Rc<Path>,
        restrictions: Conditions,
    ) -> JoinPath {
        JoinPath {
            kind: p.kind,
            inner_unique: p.inner_unique,
            outer: outer.clone(),
            inner: inner.clone(),
            restrictions,
        }
    }

    /// What a join of these paths still needs from outside.
    pub(super) fn needs(&self, outer: &Path, inner: &Path, nested: bool) -> Option<Relids> {
        if outer.param.is_empty() && inner.param.is_empty() {
            return Some(Relids::empty());
        }
        let outer_ids = &self.rels[outer.rel].relids;
        let inner_ids = &self.rels[inner.rel].relids;
        if outer.param.overlaps(inner_ids) {
            return None;
        }
        let from_inner = if nested { inner.param.minus(outer_ids) } else { inner.param.clone() };
        if !nested && inner.param.overlaps(outer_ids) {
            return None;
        }
        Some(outer.param.union(&from_inner))
    }

    /// Adds the path that `kind` makes, unless its merits show that it is not worth making.
    pub(super) fn finish_join(
        &mut self,
        p: &Pair,
        (outer, inner): (&Rc<Path>, &Rc<Path>),
        (cost, rows): (Cost, f64),
        param: Relids,
        keys: &[PathKey],
        kind: impl FnOnce(&Self) -> PathKind,
    ) {
        let join = &self.rels[p.join];
        let parallel_safe = join.parallel && outer.parallel_safe && inner.parallel_safe;
        let merits = Merits {
            startup: cost.startup,
            total: cost.total,
            disabled: cost.disabled,
            rows,
            param: &param,
            pathkeys: keys,
            parallel_safe,
        };
        let place = match outer.workers {
            0 => self.rels[p.join].make_room(&merits),
            _ => (!join.is_partial_beaten(&merits)).then_some(0),
        };
        let Some(place) = place else { return };
        let mut path = self.plain_path(p.join, kind(self), cost);
        path.param = param;
        path.pathkeys = keys.to_vec();
        path.rows = rows;
        path.parallel_safe = parallel_safe;
        path.workers = outer.workers;
        match path.workers {
            0 => self.rels[p.join].paths.insert(place, Rc::new(path)),
            _ => self.rels[p.join].add_partial(path),
        }
    }

    /// Whether workers may each join a part of the outer side.
    pub(super) fn may_share_outer(&self, p: &Pair) -> bool {
        let join = &self.rels[p.join];
        join.parallel
            && join.lateral.is_empty()
            && !self.rels[p.outer].partial.is_empty()
            && !matches!(
                p.kind,
                JoinKind::Full | JoinKind::Right | JoinKind::RightAnti | JoinKind::RightSemi
            )
    }

    pub(super) fn rows_for(&self, p: &Pair, outer: &Path, inner: &Path, param: &Relids) -> f64 {
        let all = self.rels[p.join].rows;
        if outer.workers > 0 {
            return clamp_rows(all / self.divisor(outer.workers));
        }
        if param.is_empty() {
            return all;
        }
        // Fewer, as the sides give fewer than without their params.
        let share = |path: &Path| {
            let r = &self.rels[path.rel];
            if path.param.overlaps(param) && r.rows > 0.0 {
                (path.rows / r.rows).min(1.0)
            } else {
                1.0
            }
        };
        clamp_rows(all * share(outer) * share(inner))
    }

    fn nest_loops(&mut self, p: &Pair) -> Result<()> {
        if matches!(
            p.kind,
            JoinKind::Right | JoinKind::Full | JoinKind::RightAnti | JoinKind::RightSemi
        ) {
            return Ok(());
        }
        let outers: Vec<Rc<Path>> = self.rels[p.outer].paths.clone();
        let mut inners: Vec<Rc<Path>> = Vec::new();
        for i in &self.rels[p.inner].cheapest_params {
            // What needs columns of a table at the top gets them from the member that is joined.
            inners.extend(self.path_for_outer_members(i, &p.outer_ids)?);
        }
        if let Some(c) = &self.rels[p.inner].cheapest_total
            && c.param.is_empty()
            && self.env.settings.enable_material
            && !matches!(
                c.kind,
                PathKind::Material(_)
                    | PathKind::Cte { .. }
                    | PathKind::WorkTable { .. }
                    | PathKind::Function
            )
        {
            let cost = self.cost_material(self.path_cost(c), c.rows, c.target.width);
            let mut m = self.plain_path(p.inner, PathKind::Material(c.clone()), cost);
            m.rows = c.rows;
            m.parallel_safe &= c.parallel_safe;
            m.pathkeys = c.pathkeys.clone();
            inners.push(Rc::new(m));
        }
        let mut tried = self.loop_inners(p, inners)?;
        self.loop_over(p, &outers, &tried);
        if self.may_share_outer(p) {
            tried.retain(|i| i.path.parallel_safe);
            let partial = self.rels[p.outer].partial.clone();
            self.loop_over(p, &partial, &tried);
        }
        Ok(())
    }

    /// The inner paths, and those of them that may remember results in that form too.
    fn loop_inners(&self, p: &Pair, inners: Vec<Rc<Path>>) -> Result<Vec<LoopInner>> {
        let mut out = Vec::with_capacity(inners.len() * 2);
        let entry = |path: Rc<Path>, remembers: bool| {
            // Conditions that the inner scan tests already are not tested again.
            let is_left =
                |r: &&Rc<Restriction>| !path.param_clauses.iter().any(|x| same_condition(x, r));
            let left = match path.param_clauses.is_empty() {
                true => p.restrictions.clone(),
                false => p.restrictions.iter().filter(is_left).cloned().collect(),
            };
            let quals = self.restriction_cost(&left[..]);
            LoopInner { left, quals, rescan: self.rescan_cost(&path), path, remembers }
        };
        let several = |paths: &[Rc<Path>]| paths.iter().any(|o| o.rows >= 2.0);
        let outer = &self.rels[p.outer];
        let mut remembered = Vec::new();
        if several(&outer.paths) || several(&outer.partial) {
            for inner in &inners {
                remembered.extend(self.memoized(p, inner)?);
            }
        }
        out.extend(inners.into_iter().map(|i| entry(i, false)));
        out.extend(remembered.into_iter().map(|m| entry(Rc::new(m), true)));
        Ok(out)
    }

    /// Nested loops of each of the outer paths with each of the inner ones.
    fn loop_over(&mut self, p: &Pair, outers: &[Rc<Path>], inners: &[LoopInner]) {
        let target = self.rels[p.join].target.cost;
        for outer in outers {
            let keys = &outer.pathkeys[..self.useful_pathkeys(&p.relids, &outer.pathkeys)];
            for i in inners.iter().filter(|i| !i.remembers || outer.rows >= 2.0) {
                let inner = &i.path;
                let Some(param) = self.needs(outer, inner, true) else { continue };
                if !param.is_empty() && (outer.workers > 0 || !self.wanted_param(&param, &p.relids))
                {
                    continue;
                }
                let rows = self.rows_for(p, outer, inner, &param);
                let cost = self.cost_nest_loop(
                    p.kind,
                    p.inner_unique,
                    outer,
                    inner,
                    i.rescan,
                    i.quals,
                    p.semi,
                    target,
                    rows,
                );
                let sides = (outer, inner);
                self.finish_join(p, sides, (cost, rows), param, keys, |root| {
                    PathKind::NestLoop(root.join_path(p, outer, inner, i.left.clone()))
                });
            }
        }
    }

    /// A parameterised join path is only of use if what it needs can come from outside.
    fn wanted_param(&self, param: &Relids, relids: &Relids) -> bool {
        let lateral: Relids = relids
            .iter()
            .filter_map(|i| self.base_rel(i))
            .fold(Relids::empty(), |s, r| s.union(&r.lateral));
        param.is_subset(&lateral.minus(relids)) || param.len() <= 1 && !self.special.is_empty()
    }

    /// The inner path with its results remembered by the values of its params.
    fn memoized(&self, p: &Pair, inner: &Rc<Path>) -> Result<Option<Path>> {
        let s = self.env.settings;
        if !s.enable_memoize
            || inner.param_clauses.is_empty()
            || !matches!(
                inner.kind,
                PathKind::Index(_)
                    | PathKind::Bitmap(_)
                    | PathKind::SeqScan
                    | PathKind::Append { .. }
            )
            || matches!(p.kind, JoinKind::Semi | JoinKind::Anti) && !p.inner_unique
        {
            return Ok(None);
        }
        let inner_ids = &self.rels[inner.rel].relids;
        let mut params = Vec::new();
        let mut ops = Vec::new();
        let mut binary = false;
        for r in &inner.param_clauses {
            let Some((l, e)) = operands(r) else { return Ok(None) };
            let other = if r.left_relids.is_subset(inner_ids) { e } else { l };
            let Expr::Op(o) = &r.clause else { return Ok(None) };
            // The value itself is the key: equality of its own type must be hashable.
            let Some(op) = self.hash_equality(other.ty())? else { return Ok(None) };
            if !r.hash_op.is_valid() || o.args[0].ty() != o.args[1].ty() {
                binary = true;
            }
            if !params.contains(other) {
                params.push(other.clone());
                ops.push(op);
            }
        }
        let mut cost = self.path_cost(inner);
        cost.startup += s.cpu_tuple_cost;
        cost.total += s.cpu_tuple_cost;
        let kind = PathKind::Memoize {
            sub: inner.clone(),
            params,
            ops,
            single_row: p.inner_unique,
            binary,
            entries: 0.0,
        };
        let mut m = self.plain_path(inner.rel, kind, cost);
        m.rows = inner.rows;
        m.parallel_safe &= inner.parallel_safe;
        m.param = inner.param.clone();
        m.param_clauses = inner.param_clauses.clone();
        Ok(Some(m))
    }

    /// The equality operator of a type's default hash operator class.
    pub fn hash_equality(&self, ty: base::Oid) -> Result<Option<base::Oid>> {
        let Some(class) = self.env.catalog.default_opclass(ty, base::Oid(405))? else {
            return Ok(None);
        };
        self.env.catalog.amop(class.family, class.input_type, class.input_type, 1)
    }

    fn hash_joins(&mut self, p: &Pair) -> Result<()> {
        if p.hash_clauses.is_empty() {
            return Ok(());
        }
        let mut outers: Vec<Rc<Path>> = Vec::new();
        let r = &self.rels[p.outer];
        outers.extend(r.cheapest_total.iter().cloned());
        if let Some(s) = &r.cheapest_startup
            && !outers.iter().any(|o| Rc::ptr_eq(o, s))
        {
            outers.push(s.clone());
        }
        let Some(inner) = self.rels[p.inner].cheapest_total.clone() else { return Ok(()) };
        for outer in outers {
            self.hash_with(p, &outer, &inner, false)?;
        }
        let join = &self.rels[p.join];
        let partial = self.rels[p.outer].partial.first().cloned();
        let (true, true, Some(outer)) = (join.parallel, join.lateral.is_empty(), partial) else {
            return Ok(());
        };
        if matches!(
            p.kind,
            JoinKind::RightSemi | JoinKind::Right | JoinKind::RightAnti | JoinKind::Full
        ) {
            return Ok(());
        }
        let made_unique = matches!(inner.kind, PathKind::UniqueFor { .. })
            || matches!(&self.rels[p.outer].cheapest_total, Some(o)
                if matches!(o.kind, PathKind::UniqueFor { .. }));
        if self.env.settings.enable_parallel_hash
            && !made_unique
            && let Some(inner) = self.rels[p.inner].partial.first().cloned()
        {
            self.hash_with(p, &outer, &inner, true)?;
        }
        if self.may_share_outer(p) {
            let safe = match inner.parallel_safe {
                true => Some(inner),
                false => self.rels[p.inner].cheapest_safe(),
            };
            if let Some(inner) = safe {
                self.hash_with(p, &outer, &inner, false)?;
            }
        }
        Ok(())
    }

    fn hash_with(
        &mut self,
        p: &Pair,
        outer: &Rc<Path>,
        inner: &Rc<Path>,
        shared: bool,
    ) -> Result<()> {
        {
            let Some(param) = self.needs(outer, inner, false) else { return Ok(()) };
            if outer.workers > 0 && !param.is_empty() {
                return Ok(());
            }
            let others = p
                .restrictions
                .iter()
                .filter(|r| !p.hash_clauses.iter().any(|h| h.serial == r.serial));
            let quals = self.restriction_cost(others);
            let rows = self.rows_for(p, outer, inner, &param);
            let target = self.rels[p.join].target.cost;
            let cost = self.cost_hash_join(
                p.kind,
                p.inner_unique,
                (outer, inner, shared),
                &p.hash_clauses,
                quals,
                (p.semi, &p.sides),
                target,
                rows,
            )?;
            let sides = (outer, inner);
            self.finish_join(p, sides, (cost, rows), param, &[], |root| PathKind::Hash {
                join: root.join_path(p, outer, inner, p.restrictions.clone()),
                clauses: p.hash_clauses.clone(),
                shared,
            });
        }
        Ok(())
    }
}

/// True if both say the same: the same restriction, or two of one class with the same effect.
pub(super) fn same_condition(a: &Rc<Restriction>, b: &Rc<Restriction>) -> bool {
    a.serial == b.serial
        || a.origin == b.origin
        || a.left_ec.get().is_some()
            && a.left_ec == b.left_ec
            && a.left_ec == a.right_ec
            && b.left_ec == b.right_ec
            && a.pushed_down
            && b.pushed_down
}
