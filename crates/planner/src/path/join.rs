//! Ways to join two relations.

use super::add::Merits;
use super::{JoinPath, MergePath, Path, PathKind};
use crate::cost::clamp_rows;
use crate::cost::join::SemiFactors;
use crate::cost::scan::Cost;
use crate::pathkeys::contained_in;
use crate::rel::{PathKey, Restriction, SpecialJoin};
use crate::relids::Relids;
use crate::restriction::operands;
use crate::root::Root;
use base::Result;
use ir::{Expr, JoinKind};
use std::rc::Rc;

/// What the functions here share about one pair of relations.
struct Pair<'a> {
    join: usize,
    outer: usize,
    inner: usize,
    kind: JoinKind,
    restrictions: &'a [Rc<Restriction>],
    semi: SemiFactors,
    inner_unique: bool,
    merge_clauses: Vec<Rc<Restriction>>,
    hash_clauses: Vec<Rc<Restriction>>,
}

impl Root<'_> {
    /// Adds the ways to join `a` (left) and `b` (right) to the join relation's paths.
    pub fn add_join_paths(
        &mut self,
        join: usize,
        a: usize,
        b: usize,
        special: Option<(SpecialJoin, bool)>,
        restrictions: &[Rc<Restriction>],
    ) -> Result<()> {
        let kind = special.as_ref().map_or(JoinKind::Inner, |s| s.0.kind);
        if self.note_dummy(join, a, b, kind, restrictions) {
            return Ok(());
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
            self.rels[join].dummy = true;
            self.rels[join].paths.clear();
            self.rels[join].partial.clear();
            let path = self.dummy_path(join);
            self.rels[join].add_path(path);
        }
        self.rels[join].dummy
    }

    /// Joins with the semijoin's right side made unique first.
    fn join_made_unique(
        &mut self,
        join: usize,
        a: usize,
        b: usize,
        special: &SpecialJoin,
        list: &[Rc<Restriction>],
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
        restrictions: &[Rc<Restriction>],
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
        let (outer_ids, inner_ids) =
            (self.rels[outer].relids.clone(), self.rels[inner].relids.clone());
        let outer_join = matches!(
            kind,
            JoinKind::Left
                | JoinKind::Right
                | JoinKind::Full
                | JoinKind::Anti
                | JoinKind::RightAnti
        );
        let sides = |r: &Restriction| {
            r.left_relids.is_subset(&outer_ids) && r.right_relids.is_subset(&inner_ids)
                || r.left_relids.is_subset(&inner_ids) && r.right_relids.is_subset(&outer_ids)
        };
        let usable = |r: &Rc<Restriction>| r.can_join && sides(r) && !(outer_join && r.pushed_down);
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
            semi,
            inner_unique,
            merge_clauses,
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
        Ok(self.env.catalog.find_collation(used)?.is_none_or(|c| c.is_deterministic))
    }

    fn join_path(
        &self,
        p: &Pair,
        outer: &Rc<Path>,
        inner: &Rc<Path>,
        restrictions: Vec<Rc<Restriction>>,
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
    fn needs(&self, outer: &Path, inner: &Path, nested: bool) -> Option<Relids> {
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
    fn finish_join(
        &mut self,
        p: &Pair,
        (outer, inner): (&Rc<Path>, &Rc<Path>),
        (cost, rows): (Cost, f64),
        param: Relids,
        keys: Vec<PathKey>,
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
            pathkeys: &keys,
            parallel_safe,
        };
        if outer.workers == 0 && join.is_beaten(&merits) {
            return;
        }
        let mut path = self.plain_path(p.join, kind(self), cost);
        path.param = param;
        path.pathkeys = keys;
        path.rows = rows;
        path.parallel_safe = parallel_safe;
        path.workers = outer.workers;
        match path.workers {
            0 => self.rels[p.join].add_path(path),
            _ => self.rels[p.join].add_partial(path),
        }
    }

    /// Whether workers may each join a part of the outer side.
    fn may_share_outer(&self, p: &Pair) -> bool {
        let join = &self.rels[p.join];
        join.parallel
            && join.lateral.is_empty()
            && !self.rels[p.outer].partial.is_empty()
            && !matches!(
                p.kind,
                JoinKind::Full | JoinKind::Right | JoinKind::RightAnti | JoinKind::RightSemi
            )
    }

    fn rows_for(&self, p: &Pair, outer: &Path, inner: &Path, param: &Relids) -> f64 {
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
        let outer_ids = self.rels[p.outer].relids.clone();
        for i in &self.rels[p.inner].cheapest_params {
            // What needs columns of a table at the top gets them from the member that is joined.
            inners.extend(self.path_for_outer_members(i, &outer_ids)?.map(Rc::new));
        }
        let relids = self.rels[p.join].relids.clone();
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
        self.loop_over(p, &outers, &inners, &relids)?;
        if !self.may_share_outer(p) {
            return Ok(());
        }
        inners.retain(|i| i.parallel_safe);
        let partial = self.rels[p.outer].partial.clone();
        self.loop_over(p, &partial, &inners, &relids)
    }

    /// Nested loops of each of the outer paths with each of the inner ones.
    fn loop_over(
        &mut self,
        p: &Pair,
        outers: &[Rc<Path>],
        inners: &[Rc<Path>],
        relids: &Relids,
    ) -> Result<()> {
        for outer in outers {
            let keys_len = self.useful_pathkeys(relids, &outer.pathkeys);
            let keys = outer.pathkeys[..keys_len].to_vec();
            let mut tried = inners.to_vec();
            for inner in inners {
                if let Some(m) = self.memoized(p, outer, inner)? {
                    tried.push(Rc::new(m));
                }
            }
            for inner in &tried {
                let Some(param) = self.needs(outer, inner, true) else { continue };
                if !param.is_empty() && (outer.workers > 0 || !self.wanted_param(&param, relids)) {
                    continue;
                }
                // Conditions that the inner scan tests already.
                let left: Vec<Rc<Restriction>> = p
                    .restrictions
                    .iter()
                    .filter(|r| !inner.param_clauses.iter().any(|x| same_condition(x, r)))
                    .cloned()
                    .collect();
                let quals = self.restriction_cost(&left);
                let rows = self.rows_for(p, outer, inner, &param);
                let target = self.rels[p.join].target.cost;
                let cost = self.cost_nest_loop(
                    p.kind,
                    p.inner_unique,
                    outer,
                    inner,
                    quals,
                    p.semi,
                    target,
                    rows,
                );
                let sides = (outer, inner);
                self.finish_join(p, sides, (cost, rows), param, keys.clone(), |root| {
                    PathKind::NestLoop(root.join_path(p, outer, inner, left))
                });
            }
        }
        Ok(())
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
    fn memoized(&self, p: &Pair, outer: &Rc<Path>, inner: &Rc<Path>) -> Result<Option<Path>> {
        let s = self.env.settings;
        if !s.enable_memoize
            || inner.param_clauses.is_empty()
            || outer.rows < 2.0
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
            let others: Vec<_> = p
                .restrictions
                .iter()
                .filter(|r| !p.hash_clauses.iter().any(|h| h.serial == r.serial))
                .cloned()
                .collect();
            let quals = self.restriction_cost(&others);
            let rows = self.rows_for(p, outer, inner, &param);
            let target = self.rels[p.join].target.cost;
            let cost = self.cost_hash_join(
                p.kind,
                p.inner_unique,
                (outer, inner, shared),
                &p.hash_clauses,
                quals,
                p.semi,
                target,
                rows,
            )?;
            let sides = (outer, inner);
            self.finish_join(p, sides, (cost, rows), param, Vec::new(), |root| PathKind::Hash {
                join: root.join_path(p, outer, inner, p.restrictions.to_vec()),
                clauses: p.hash_clauses.clone(),
                shared,
            });
        }
        Ok(())
    }

    /// The order that a merge of these conditions wants of the outer side.
    fn merge_keys(&mut self, clauses: &[Rc<Restriction>], outer: usize) -> Vec<PathKey> {
        let outer_ids = self.rels[outer].relids.clone();
        let mut keys: Vec<PathKey> = Vec::new();
        for c in clauses {
            let ec = if c.left_relids.is_subset(&outer_ids) {
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

    fn merge_joins(&mut self, p: &Pair) -> Result<()> {
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
        let base = self.merge_keys(&p.merge_clauses, p.outer);
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
        let outer_ids = &self.rels[p.outer].relids;
        let mut out: Vec<PathKey> = Vec::new();
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
        outer: &Relids,
        keys: &[PathKey],
    ) -> (Vec<Rc<Restriction>>, Vec<PathKey>) {
        let (mut clauses, mut clause_keys) = (Vec::new(), Vec::new());
        for k in keys {
            for c in &p.merge_clauses {
                let is_left = c.left_relids.is_subset(outer);
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
        let outer_ids = self.rels[p.outer].relids.clone();
        let (clauses, clause_keys) = self.merge_clauses_for(p, &outer_ids, keys);
        let all_needed = matches!(p.kind, JoinKind::Right | JoinKind::RightAnti | JoinKind::Full);
        let cross = p.kind == JoinKind::Full && p.merge_clauses.is_empty();
        if clauses.is_empty() && !cross || all_needed && clauses.len() < p.merge_clauses.len() {
            return Ok(());
        }
        let inner_keys = self.inner_keys(p, keys);
        let outer_sort =
            if contained_in(keys, &outer.pathkeys) { Vec::new() } else { keys.to_vec() };
        let inner_sort =
            if contained_in(&inner_keys, &inner.pathkeys) { Vec::new() } else { inner_keys };
        let sorted = |root: &Self, path: &Path, sort: &[PathKey]| {
            let c = root.path_cost(path);
            if sort.is_empty() { c } else { root.cost_sort(c, path.rows, path.target.width, -1.0) }
        };
        let oc = sorted(self, outer, &outer_sort);
        let ic = sorted(self, inner, &inner_sort);
        let others: Vec<_> = p
            .restrictions
            .iter()
            .filter(|r| !clauses.iter().any(|m| m.serial == r.serial))
            .cloned()
            .collect();
        let special = crate::cost::join::inner_special(self, outer, inner);
        let join_for = crate::selectivity::JoinFor { kind: JoinKind::Inner, special: &special };
        let sel = self.list_selectivity(&clauses, 0, Some(join_for))?;
        let tuples = clamp_rows(sel * clamp_rows(outer.rows) * clamp_rows(inner.rows));
        let merge_quals = self.restriction_cost(&clauses);
        let other_quals = self.restriction_cost(&others);
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
            &outer_ids,
        )?;
        let relids = self.rels[p.join].relids.clone();
        let path_keys = if matches!(p.kind, JoinKind::Full | JoinKind::Right | JoinKind::RightAnti)
        {
            Vec::new()
        } else {
            let all = if outer_sort.is_empty() { outer.pathkeys.clone() } else { keys.to_vec() };
            let n = self.useful_pathkeys(&relids, &all);
            all[..n].to_vec()
        };
        self.finish_join(p, (outer, inner), (cost, rows), param, path_keys, |root| {
            PathKind::Merge(Box::new(MergePath {
                join: root.join_path(p, outer, inner, p.restrictions.to_vec()),
                clauses,
                outer_sort,
                inner_sort,
                materialize_inner: materialize,
                skip_mark_restore: skip,
                keys: clause_keys,
            }))
        });
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
