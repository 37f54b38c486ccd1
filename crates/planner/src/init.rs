//! From a join tree to base relations, a list of things to join, and conditions in their places.

use crate::prep::outer_join::item_relids;
use crate::prep::volatility;
use crate::rel::{BaseKind, Restriction, SpecialJoin};
use crate::relids::Relids;
use crate::restriction::Placement;
use crate::root::Root;
use base::Result;
use ir::walk::conjuncts;
use ir::{Expr, FromExpr, FromItem, JoinExpr, JoinKind, LockStrength, RteKind};
use std::rc::Rc;

/// What the join search works on: lists of relations, in which order is free.
#[derive(Clone, Debug)]
pub enum JoinItem {
    Rel(u32),
    List(Vec<JoinItem>),
    /// A FULL join, whose two sides are searched apart.
    Pair(Box<JoinItem>, Box<JoinItem>),
}

struct Scope {
    items: Vec<JoinItem>,
    relids: Relids,
    inner_joined: Relids,
    /// Conditions that name tables of further out (LATERAL): they belong to a join above.
    postponed: Vec<Expr>,
}

struct QualScope<'a> {
    scope: &'a Relids,
    /// For the ON of an outer join: what must be joined first, and the side kept whole.
    outer: Option<(&'a Relids, &'a Relids)>,
}

impl Root<'_> {
    /// Makes a base relation for each table of the join tree.
    pub fn add_base_rels(&mut self) -> Result<()> {
        self.base = vec![None; self.query.rtable.len() + 1];
        let items = std::mem::take(&mut self.query.jointree.items);
        for item in &items {
            self.add_base_of(item)?;
        }
        self.query.jointree.items = items;
        Ok(())
    }

    fn add_base_of(&mut self, item: &FromItem) -> Result<()> {
        match item {
            FromItem::Table(i) => self.add_base(*i),
            FromItem::Join(j) => {
                self.add_base_of(&j.left)?;
                self.add_base_of(&j.right)
            }
            FromItem::From(f) => f.items.iter().try_for_each(|i| self.add_base_of(i)),
        }
    }

    fn add_base(&mut self, index: u32) -> Result<()> {
        let kind = self.base_kind(index)?;
        let rel = self.add_rel(kind, Relids::single(index), index);
        self.base[index as usize] = Some(rel);
        self.all_base.add(index);
        self.join_map.insert(Relids::single(index), rel);
        Ok(())
    }

    /// What an entry of the range table is. That of a subquery is known once it is planned.
    pub fn base_kind(&self, index: u32) -> Result<BaseKind> {
        Ok(match &self.query.rte(index).kind {
            RteKind::Relation { relid, .. } => BaseKind::Table(self.env.catalog.relation(*relid)?),
            RteKind::Function { .. } => BaseKind::Function,
            RteKind::Values { .. } => BaseKind::Values,
            RteKind::UnionAll { .. } => BaseKind::UnionAll,
            _ => BaseKind::Result,
        })
    }

    /// Notes that the output, or the relations in `by`, need the columns of an expression.
    pub fn need_columns(&mut self, expr: &Expr, by: &Relids) {
        let mut vars = Vec::new();
        ir::walk::each(expr, &mut |e| {
            if let Expr::Var(v) = e
                && v.levels_up == 0
            {
                vars.push(v.clone());
            }
        });
        for v in vars {
            let Some(rel) = self.base_rel_mut(v.varno) else { continue };
            rel.needed.entry(v.attno).or_default().extend(by);
            let target = Rc::make_mut(&mut rel.target);
            let expr = Expr::Var(v);
            if !target.exprs.contains(&expr) {
                target.exprs.push(expr);
                target.refs.push(0);
            }
        }
    }

    /// Puts each condition of the join tree in its place; gives what is to be joined.
    pub fn deconstruct(&mut self) -> Result<JoinItem> {
        let from = self.query.jointree.clone();
        from.items.iter().for_each(|item| nullable_sides(item, &mut self.nullable_sides));
        let scope = self.deconstruct_from(&from)?;
        if !scope.postponed.is_empty() {
            return Err(base::err!(INTERNAL_ERROR, "a condition names tables that are not there"));
        }
        Ok(JoinItem::List(scope.items))
    }

    fn deconstruct_from(&mut self, from: &FromExpr) -> Result<Scope> {
        let mut items: Vec<JoinItem> = Vec::new();
        let mut relids = Relids::empty();
        let mut inner_joined = Relids::empty();
        let mut remaining = from.items.len();
        let mut quals = Vec::new();
        for item in &from.items {
            let sub = self.deconstruct_item(item)?;
            relids.extend(&sub.relids);
            inner_joined = sub.inner_joined;
            quals.extend(sub.postponed);
            remaining -= 1;
            // A sub-list is merged in unless that makes the search too wide.
            if sub.items.len() <= 1
                || items.len() + sub.items.len() + remaining
                    <= self.env.settings.from_collapse_limit
            {
                items.extend(sub.items);
            } else {
                items.push(JoinItem::List(sub.items));
            }
        }
        if from.items.len() > 1 {
            inner_joined = relids.clone();
        }
        quals.extend(from.quals.clone().map(conjuncts).unwrap_or_default());
        let (own, postponed): (Vec<Expr>, Vec<Expr>) =
            quals.into_iter().partition(|q| self.relids_of(q).is_subset(&relids));
        let place = QualScope { scope: &relids, outer: None };
        for q in own {
            self.distribute_qual(q, &place)?;
        }
        Ok(Scope { items, relids, inner_joined, postponed })
    }

    fn deconstruct_item(&mut self, item: &FromItem) -> Result<Scope> {
        match item {
            FromItem::Table(i) => Ok(Scope {
                items: vec![JoinItem::Rel(*i)],
                relids: Relids::single(*i),
                inner_joined: Relids::empty(),
                postponed: Vec::new(),
            }),
            FromItem::From(f) => self.deconstruct_from(f),
            FromItem::Join(j) => self.deconstruct_join(j),
        }
    }

    fn deconstruct_join(&mut self, j: &JoinExpr) -> Result<Scope> {
        let left = self.deconstruct_item(&j.left)?;
        let right = self.deconstruct_item(&j.right)?;
        let relids = left.relids.union(&right.relids);
        let mut inner_joined = left.inner_joined.union(&right.inner_joined);
        match j.kind {
            JoinKind::Inner => inner_joined = relids.clone(),
            JoinKind::Left | JoinKind::Anti => self.nullable.extend(&right.relids),
            JoinKind::Full => self.nullable.extend(&relids),
            _ => {}
        }
        let mut quals: Vec<Expr> = j.quals.clone().map(conjuncts).unwrap_or_default();
        let mut postponed = Vec::new();
        for q in left.postponed.into_iter().chain(right.postponed) {
            match self.relids_of(&q).is_subset(&relids) {
                true => quals.push(q),
                false => postponed.push(q),
            }
        }
        let place_outer;
        let kept;
        let mut own = None;
        let outer = if j.kind == JoinKind::Inner {
            None
        } else {
            let special =
                self.special_join(j.kind, &left.relids, &right.relids, &inner_joined, &quals)?;
            place_outer = special.min_left.union(&special.min_right);
            kept = match j.kind {
                JoinKind::Full => relids.clone(),
                JoinKind::Semi => Relids::empty(),
                _ => left.relids.clone(),
            };
            own = Some(special);
            (j.kind != JoinKind::Semi).then_some((&place_outer, &kept))
        };
        let place = QualScope { scope: &relids, outer };
        for q in quals {
            self.distribute_qual(q, &place)?;
        }
        // Its own conditions are not above it: they must not be put off until it is done.
        self.special.extend(own);
        let limit = self.env.settings.join_collapse_limit;
        let items = if j.kind == JoinKind::Full {
            vec![JoinItem::Pair(Box::new(as_item(left.items)), Box::new(as_item(right.items)))]
        } else if left.items.len() + right.items.len() <= limit {
            [left.items, right.items].concat()
        } else {
            vec![as_item(left.items), as_item(right.items)]
        };
        Ok(Scope { items, relids, inner_joined, postponed })
    }

    /// Finds out what must be joined before this join can be.
    fn special_join(
        &self,
        kind: JoinKind,
        left: &Relids,
        right: &Relids,
        inner_joined: &Relids,
        quals: &[Expr],
    ) -> Result<SpecialJoin> {
        self.refuse_locks(kind, left, right)?;
        let mut special = SpecialJoin {
            kind,
            min_left: left.clone(),
            min_right: right.clone(),
            syn_left: left.clone(),
            syn_right: right.clone(),
            lhs_strict: false,
            delays_upper: false,
            semi_ops: Vec::new(),
            semi_rhs: Vec::new(),
            semi_can_hash: false,
            semi_can_btree: false,
        };
        if kind == JoinKind::Semi {
            self.note_unique_ops(&mut special, quals)?;
        }
        if kind == JoinKind::Full {
            return Ok(special);
        }
        let mut clause_relids = Relids::empty();
        let mut strict = Vec::new();
        for q in quals {
            clause_relids.extend(&self.relids_of(q));
            volatility::nonnullable_rels(q, self.env, true, &mut strict)?;
        }
        let strict: Relids = strict.into_iter().collect();
        special.lhs_strict = strict.overlaps(left);
        let mut min_left = clause_relids.intersect(left);
        let mut min_right = clause_relids.union(inner_joined).intersect(right);
        for other in &self.special {
            let both = other.syn_left.union(&other.syn_right);
            if other.kind == JoinKind::Full {
                if left.overlaps(&both) {
                    min_left.extend(&both);
                }
                if right.overlaps(&both) {
                    min_right.extend(&both);
                }
                continue;
            }
            if left.overlaps(&other.syn_right)
                && clause_relids.overlaps(&other.syn_right)
                && (kind == JoinKind::Semi || !strict.overlaps(&other.min_right))
            {
                min_left.extend(&both);
            }
            let semi_like = |k: JoinKind| matches!(k, JoinKind::Semi | JoinKind::Anti);
            if right.overlaps(&other.syn_right)
                && (clause_relids.overlaps(&other.syn_right)
                    || !clause_relids.overlaps(&other.min_left)
                    || semi_like(kind)
                    || semi_like(other.kind)
                    || !other.lhs_strict
                    || other.delays_upper)
            {
                min_right.extend(&both);
            }
        }
        special.min_left = if min_left.is_empty() { left.clone() } else { min_left };
        special.min_right = if min_right.is_empty() { right.clone() } else { min_right };
        Ok(special)
    }

    /// Rows that an outer join may have made up cannot be locked.
    fn refuse_locks(&self, kind: JoinKind, left: &Relids, right: &Relids) -> Result<()> {
        let nullable =
            |index: u32| right.contains(index) || kind == JoinKind::Full && left.contains(index);
        let Some(mark) = self.query.row_marks.iter().find(|m| nullable(m.rtindex)) else {
            return Ok(());
        };
        let lock = match mark.strength {
            LockStrength::ForKeyShare => "FOR KEY SHARE",
            LockStrength::ForShare => "FOR SHARE",
            LockStrength::ForNoKeyUpdate => "FOR NO KEY UPDATE",
            LockStrength::ForUpdate => "FOR UPDATE",
        };
        Err(base::Error::new(
            base::SqlState::FEATURE_NOT_SUPPORTED,
            format!("{lock} cannot be applied to the nullable side of an outer join"),
        ))
    }

    /// For a semijoin all of whose conditions are equalities: how to make its right side unique.
    fn note_unique_ops(&self, special: &mut SpecialJoin, quals: &[Expr]) -> Result<()> {
        let mut ops = Vec::new();
        let mut rhs = Vec::new();
        let (mut hash, mut btree) = (true, true);
        for q in quals {
            let Expr::Op(o) = q else {
                if self.relids_of(q).is_subset(&special.syn_right) {
                    continue;
                }
                return Ok(());
            };
            let all = self.relids_of(q);
            if all.is_subset(&special.syn_right) || all.is_subset(&special.syn_left) {
                continue;
            }
            if o.args.len() != 2 {
                return Ok(());
            }
            let (l, r) = (self.relids_of(&o.args[0]), self.relids_of(&o.args[1]));
            let (op, expr) = if r.is_subset(&special.syn_right) && !l.overlaps(&special.syn_right) {
                (o.op, o.args[1].clone())
            } else if l.is_subset(&special.syn_right) && !r.overlaps(&special.syn_right) {
                let commutator = self.env.catalog.operator(o.op)?.commutator;
                if !commutator.is_valid() {
                    return Ok(());
                }
                (commutator, o.args[0].clone())
            } else {
                return Ok(());
            };
            let desc = self.env.catalog.operator(op)?;
            btree &= desc.can_merge && !self.equality_families(op)?.is_empty();
            hash &= desc.can_hash;
            if !btree && !hash || volatility::has_volatile(&expr, self.env)? {
                return Ok(());
            }
            ops.push(op);
            rhs.push(expr);
        }
        if !ops.is_empty() {
            special.semi_ops = ops;
            special.semi_rhs = rhs;
            special.semi_can_hash = hash;
            special.semi_can_btree = btree;
        }
        Ok(())
    }

    /// Adds to `relids` what outer joins below must be done before a condition on them can be
    /// tested. True if something was added.
    fn delay_for_outer_joins(&mut self, relids: &mut Relids) -> bool {
        let mut delayed = false;
        loop {
            let before = relids.clone();
            for s in &mut self.special {
                if s.kind == JoinKind::Semi {
                    continue;
                }
                let touches = relids.overlaps(&s.min_right)
                    || s.kind == JoinKind::Full && relids.overlaps(&s.min_left);
                if touches {
                    relids.extend(&s.min_left);
                    relids.extend(&s.min_right);
                    s.delays_upper |= s.kind != JoinKind::Full;
                    delayed = true;
                }
            }
            if *relids == before {
                return delayed;
            }
        }
    }

    fn distribute_qual(&mut self, clause: Expr, place: &QualScope) -> Result<()> {
        let mut relids = self.relids_of(&clause);
        let mut pseudoconstant = false;
        if relids.is_empty() {
            match place.outer {
                Some((join, _)) => relids = join.clone(),
                None => {
                    relids = place.scope.clone();
                    pseudoconstant = !volatility::has_volatile(&clause, self.env)?;
                    self.has_pseudoconstant |= pseudoconstant;
                    // Below an outer join it decides about one side only; elsewhere about all.
                    let below = self.nullable_sides.iter().any(|s| relids.is_subset(s));
                    if pseudoconstant && !below {
                        relids = self.all_base.clone();
                    }
                }
            }
            if relids.is_empty() {
                relids = self.all_base.clone();
            }
        }
        let mut pushed_down = true;
        let mut equivalence = false;
        match place.outer {
            Some((join, kept)) if relids.overlaps(kept) => {
                // It cannot be tested below the join: rows of the kept side must survive it.
                pushed_down = false;
                relids = join.union(&relids);
            }
            _ => {
                let delayed = self.delay_for_outer_joins(&mut relids);
                equivalence = !delayed;
            }
        }
        if relids.len() > 1 && !pseudoconstant {
            let all = relids.clone();
            self.need_columns(&clause, &all);
        }
        let outer_relids = place.outer.map(|(_, kept)| kept.clone()).unwrap_or_default();
        let r = self.restriction(
            clause,
            Placement {
                pushed_down,
                pseudoconstant,
                required: Some(relids),
                outer_relids,
                ..Placement::default()
            },
        )?;
        if !r.merge_families.is_empty() && equivalence && self.process_equivalence(&r)? {
            return Ok(());
        }
        self.distribute_restriction(r);
        Ok(())
    }

    /// Hangs a restriction on the relations that it mentions.
    pub fn distribute_restriction(&mut self, r: Rc<Restriction>) {
        if let Some(index) = r.required.singleton() {
            if let Some(rel) = self.base_rel_mut(index)
                && !rel.restrictions.iter().any(|x| x.serial == r.serial)
            {
                rel.restrictions.push(r);
            }
            return;
        }
        for index in r.required.clone().iter() {
            if let Some(rel) = self.base_rel_mut(index)
                && !rel.join_info.iter().any(|x| x.serial == r.serial)
            {
                rel.join_info.push(r.clone());
            }
        }
        if r.required.is_empty()
            && let Some(rel) = self.rels.first_mut()
        {
            rel.restrictions.push(r);
        }
    }

    /// After the classes are known: leaves out joins that add nothing, and notes the classes of
    /// join conditions that were kept apart.
    pub fn finish_conditions(&mut self, items: &mut JoinItem) -> Result<()> {
        self.remove_useless_joins(items)?;
        let all: Vec<Rc<Restriction>> =
            self.rels.iter().flat_map(|r| r.join_info.iter().cloned()).collect();
        for r in all {
            self.note_merge_classes(&r)?;
        }
        let ecs = std::mem::take(&mut self.ecs);
        for ec in &ecs {
            if ec.merged.is_some() || ec.members.len() < 2 || ec.has_const {
                continue;
            }
            // Columns of a class may be joined at any level.
            for m in &ec.members {
                let by = ec.relids.clone();
                self.need_columns(&m.expr, &by);
            }
        }
        self.ecs = ecs;
        for i in 0..self.rels.len() {
            let relids = self.rels[i].relids.clone();
            self.rels[i].has_ec_joins = self.classes_reach_out(&relids);
        }
        Ok(())
    }
}

/// The sides of outer joins that they may give nulls for.
fn nullable_sides(item: &FromItem, out: &mut Vec<Relids>) {
    match item {
        FromItem::Table(_) => {}
        FromItem::From(f) => f.items.iter().for_each(|i| nullable_sides(i, out)),
        FromItem::Join(j) => {
            if matches!(j.kind, JoinKind::Full | JoinKind::Right) {
                out.push(item_relids(&j.left));
            }
            if matches!(j.kind, JoinKind::Full | JoinKind::Left | JoinKind::Anti) {
                out.push(item_relids(&j.right));
            }
            nullable_sides(&j.left, out);
            nullable_sides(&j.right, out);
        }
    }
}

fn as_item(mut items: Vec<JoinItem>) -> JoinItem {
    if items.len() == 1 { items.remove(0) } else { JoinItem::List(items) }
}
