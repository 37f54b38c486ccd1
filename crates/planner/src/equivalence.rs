//! Equivalence classes: sets of expressions that conditions make equal. They imply further
//! conditions, and they name sort orders.

use crate::rel::{EcMember, EquivalenceClass, Restriction};
use crate::relids::Relids;
use crate::restriction::{Placement, operands};
use crate::root::Root;
use base::{Oid, Result};
use ir::{Expr, OpExpr, OpKind};
use std::rc::Rc;

/// Members of a class, by their places.
type Places = smallvec::SmallVec<[usize; 4]>;

impl EcMember {
    /// False of a constant that is the class's value in one member of a union only.
    fn names_it(&self) -> bool {
        self.is_const || !matches!(self.expr, Expr::Const(_))
    }
}

impl EquivalenceClass {
    /// The members and their forms over members of inheritance trees.
    pub fn all_members(&self) -> impl Iterator<Item = &EcMember> {
        self.members.iter().chain(&self.of_children)
    }

    /// One of those, by its place among them.
    fn any_member(&self, place: usize) -> &EcMember {
        match place.checked_sub(self.members.len()) {
            Some(child) => &self.of_children[child],
            None => &self.members[place],
        }
    }
}

impl Root<'_> {
    /// Takes a merge-joinable equality into the classes. False if it must be kept as it is.
    pub fn process_equivalence(&mut self, r: &Rc<Restriction>) -> Result<bool> {
        let Some((left, right)) = operands(r) else { return Ok(false) };
        let (left, right) = (left.clone(), right.clone());
        if left == right {
            return Ok(false);
        }
        let Expr::Op(op) = &r.clause else { return Ok(false) };
        let collation = op.input_collation;
        let desc = self.env.catalog.operator(op.op)?;
        let a = self.find_member(&left, desc.left, &r.merge_families, collation);
        let b = self.find_member(&right, desc.right, &r.merge_families, collation);
        let ec = match (a, b) {
            (Some(a), Some(b)) if a == b => a,
            (Some(a), Some(b)) => {
                self.merge_classes(a, b);
                a
            }
            (Some(a), None) => {
                self.add_member(a, right, desc.right);
                a
            }
            (None, Some(b)) => {
                self.add_member(b, left, desc.left);
                b
            }
            (None, None) => {
                self.ecs.push(EquivalenceClass {
                    families: r.merge_families.clone(),
                    collation,
                    ..EquivalenceClass::default()
                });
                let ec = self.ecs.len() - 1;
                self.add_member(ec, left, desc.left);
                self.add_member(ec, right, desc.right);
                ec
            }
        };
        self.ecs[ec].sources.push(r.clone());
        r.left_ec.set(Some(ec));
        r.right_ec.set(Some(ec));
        Ok(true)
    }

    fn find_member(&self, expr: &Expr, ty: Oid, families: &[Oid], collation: Oid) -> Option<usize> {
        self.ecs.iter().position(|ec| {
            ec.merged.is_none()
                && !ec.has_volatile
                && !ec.above_sets
                && ec.collation == collation
                && ec.families == families
                && ec.members.iter().any(|m| m.ty == ty && m.expr == *expr)
        })
    }

    fn add_member(&mut self, ec: usize, expr: Expr, ty: Oid) {
        let relids = self.relids_of(&expr);
        let is_const = relids.is_empty();
        let class = &mut self.ecs[ec];
        class.relids.extend(&relids);
        class.has_const |= is_const;
        class.members.push(EcMember { expr, relids, is_const, ty });
    }

    fn merge_classes(&mut self, into: usize, from: usize) {
        let old = std::mem::take(&mut self.ecs[from]);
        self.ecs[from].merged = Some(into);
        let class = &mut self.ecs[into];
        class.members.extend(old.members);
        class.of_children.extend(old.of_children);
        class.sources.extend(old.sources);
        class.derived.extend(old.derived);
        class.relids.extend(&old.relids);
        class.has_const |= old.has_const;
    }

    /// The class of a sort expression. With `create`, a new one if there is none.
    pub fn class_for_sort(
        &mut self,
        expr: &Expr,
        families: &[Oid],
        ty: Oid,
        collation: Oid,
        sort_ref: u32,
        create: bool,
    ) -> Result<Option<usize>> {
        let volatile = crate::prep::volatility::has_volatile(expr, self.env)?;
        if !volatile {
            let found = self.ecs.iter().position(|ec| {
                ec.merged.is_none()
                    && !ec.has_volatile
                    && ec.above_sets == self.above_sets
                    && ec.collation == collation
                    && ec.families == families
                    && ec.all_members().any(|m| m.ty == ty && m.expr == *expr && m.names_it())
            });
            if found.is_some() {
                return Ok(found);
            }
        } else if let Some(found) = self
            .ecs
            .iter()
            .position(|ec| ec.has_volatile && ec.sort_ref == sort_ref && sort_ref != 0)
        {
            return Ok(Some(found));
        }
        if !create {
            return Ok(None);
        }
        self.ecs.push(EquivalenceClass {
            families: families.to_vec(),
            collation,
            has_volatile: volatile,
            sort_ref,
            above_sets: self.above_sets,
            ..EquivalenceClass::default()
        });
        let ec = self.ecs.len() - 1;
        self.add_member(ec, expr.clone(), ty);
        // An aggregate, a window function or a set has no tables of its own, but is no constant.
        let varies = |e: &Expr| {
            matches!(e, Expr::Agg(_) | Expr::Window(_)) || crate::prep::volatility::returns_set(e)
        };
        if volatile || ir::walk::any(expr, &mut |e| varies(e)) {
            self.ecs[ec].has_const = false;
            self.ecs[ec].members[0].is_const = false;
        }
        Ok(Some(ec))
    }

    /// An equality between two members, if the families have an operator for their types.
    fn equality(
        &self,
        ec: &EquivalenceClass,
        left: &EcMember,
        right: &EcMember,
    ) -> Result<Option<Expr>> {
        let Some(op) = self.equality_operator(ec, left, right)? else { return Ok(None) };
        let desc = self.env.catalog.operator(op)?;
        Ok(Some(Expr::Op(OpExpr {
            kind: OpKind::Plain,
            op,
            func: desc.function,
            ret_type: Oid(16),
            ret_set: false,
            collation: Oid::INVALID,
            input_collation: ec.collation,
            args: vec![left.expr.clone(), right.expr.clone()],
            location: None,
        })))
    }

    fn equality_operator(
        &self,
        ec: &EquivalenceClass,
        left: &EcMember,
        right: &EcMember,
    ) -> Result<Option<Oid>> {
        for family in &ec.families {
            if let Some(op) = self.env.catalog.amop(*family, left.ty, right.ty, 3)? {
                return Ok(Some(op));
            }
        }
        Ok(None)
    }

    /// A restriction `left = right` of two members of a class, by their places; one that was
    /// written or made already is reused.
    fn class_restriction(
        &mut self,
        index: usize,
        left: usize,
        right: usize,
    ) -> Result<Option<Rc<Restriction>>> {
        let ec = &self.ecs[index];
        let (left, right) = (ec.any_member(left), ec.any_member(right));
        let same = |r: &Rc<Restriction>| {
            operands(r).is_some_and(|(a, b)| {
                *a == left.expr && *b == right.expr || *b == left.expr && *a == right.expr
            })
        };
        if let Some(found) = ec.sources.iter().chain(&ec.derived).find(|r| same(r)) {
            return Ok(Some(found.clone()));
        }
        let Some(clause) = self.equality(ec, left, right)? else { return Ok(None) };
        let place = Placement { pushed_down: true, parent_ec: Some(index), ..Placement::default() };
        let r = self.restriction(clause, place)?;
        r.left_ec.set(Some(index));
        r.right_ec.set(Some(index));
        self.ecs[index].derived.push(r.clone());
        Ok(Some(r))
    }

    /// Conditions on single relations that the classes imply.
    pub fn generate_base_implied(&mut self) -> Result<()> {
        for index in 0..self.ecs.len() {
            let ec = &self.ecs[index];
            if ec.merged.is_some() || ec.members.len() < 2 {
                continue;
            }
            let members = ec.members.len();
            let mut made = Vec::new();
            if ec.has_const {
                // A lone `1 = a` stays as it is written, else each member = the constant.
                let pick = ec.members.iter().position(|m| m.is_const).unwrap_or(0);
                for m in (0..members).filter(|m| *m != pick) {
                    match self.class_restriction(index, m, pick)? {
                        Some(r) if self.ecs[index].members[m].is_const => {
                            made.extend(self.between_constants(index, r)?)
                        }
                        Some(r) => made.push(self.constant_right(index, m, pick, r)?),
                        None => self.ecs[index].broken = true,
                    }
                }
            } else {
                let mut last: Vec<(u32, usize)> = Vec::new();
                for m in 0..members {
                    let relids = &self.ecs[index].members[m].relids;
                    let Some(rel) = relids.singleton() else { continue };
                    match last.iter_mut().find(|(r, _)| *r == rel) {
                        None => last.push((rel, m)),
                        Some((_, prev)) => {
                            let previous = std::mem::replace(prev, m);
                            made.extend(self.class_restriction(index, previous, m)?);
                        }
                    }
                }
            }
            if self.ecs[index].broken {
                made = self.ecs[index].sources.clone();
            }
            for r in made {
                self.distribute_restriction(r);
            }
        }
        Ok(())
    }

    /// A class's condition with its constant on the right, unless it is all that the class is of.
    fn constant_right(
        &self,
        index: usize,
        member: usize,
        constant: usize,
        r: Rc<Restriction>,
    ) -> Result<Rc<Restriction>> {
        let ec = &self.ecs[index];
        let (m, c) = (ec.any_member(member), ec.any_member(constant));
        let alone = ec.members.len() == 2 && ec.sources.len() == 1;
        if alone || operands(&r).is_none_or(|(left, _)| *left == m.expr) {
            return Ok(r);
        }
        let Some(clause) = self.equality(ec, m, c)? else { return Ok(r) };
        let place = Placement { pushed_down: true, parent_ec: Some(index), ..Placement::default() };
        let r = self.restriction(clause, place)?;
        r.left_ec.set(Some(index));
        r.right_ec.set(Some(index));
        Ok(r)
    }

    /// What an equality of two constants comes to: nothing, or that no row is there.
    fn between_constants(
        &self,
        index: usize,
        r: Rc<Restriction>,
    ) -> Result<Option<Rc<Restriction>>> {
        let value = crate::prep::const_fold::simplify(r.clause.clone(), self.env, false)?;
        match &value {
            Expr::Const(c) if c.value == types::Datum::Bool(true) => Ok(None),
            Expr::Const(_) => {
                let place = crate::restriction::Placement {
                    pushed_down: true,
                    required: Some(self.ecs[index].relids.clone()),
                    ..Default::default()
                };
                self.restriction(Expr::bool_const(false), place).map(Some)
            }
            _ => Ok(Some(r)),
        }
    }

    /// Conditions that join `outer` to `inner` and that the classes imply.
    pub fn generate_join_implied(
        &mut self,
        outer: &Relids,
        inner: &Relids,
    ) -> Result<Vec<Rc<Restriction>>> {
        let mut out = Vec::new();
        let both = outer.union(inner);
        for index in 0..self.ecs.len() {
            let ec = &self.ecs[index];
            if ec.merged.is_some()
                || ec.has_const
                || ec.has_volatile
                || ec.members.len() < 2
                || ec.broken
                || !ec.relids.overlaps(outer)
                || !ec.relids.overlaps(inner)
            {
                continue;
            }
            // Members as places in the class, which grows no members here.
            let usable =
                |m: &usize| ec.members[*m].relids.is_subset(&both) && !ec.members[*m].is_const;
            let all = 0..ec.members.len();
            let of = |side: &Relids, m: usize| ec.members[m].relids.is_subset(side);
            let on = |side| all.clone().filter(usable).filter(move |m| of(side, *m));
            let (outer_members, inner_members): (Places, Places) =
                (on(outer).collect(), on(inner).collect());
            let new_members: Places =
                all.clone().filter(usable).filter(|m| !of(outer, *m) && !of(inner, *m)).collect();
            if let Some(r) = self.best_join_clause(index, &outer_members, &inner_members)? {
                out.push(r);
            }
            // Members that need both sides are tied to one that needs one side only.
            let mut previous = outer_members.first().or(inner_members.first()).copied();
            for m in new_members {
                if let Some(p) = previous
                    && let Some(r) = self.class_restriction(index, p, m)?
                {
                    out.push(r);
                }
                previous = Some(m);
            }
        }
        Ok(out)
    }

    /// The one condition that ties the two sides, plain columns preferred.
    fn best_join_clause(
        &mut self,
        index: usize,
        outer: &[usize],
        inner: &[usize],
    ) -> Result<Option<Rc<Restriction>>> {
        let mut best: Option<(u32, usize, usize)> = None;
        let ec = &self.ecs[index];
        for (o, i) in outer.iter().flat_map(|o| inner.iter().map(|i| (*o, *i))) {
            let (left, right) = (&ec.members[o], &ec.members[i]);
            if self.equality_operator(ec, left, right)?.is_none() {
                continue;
            }
            let score = u32::from(matches!(left.expr, Expr::Var(_)))
                + u32::from(matches!(right.expr, Expr::Var(_)));
            if best.as_ref().is_none_or(|b| score > b.0) {
                best = Some((score, o, i));
            }
        }
        match best {
            None => Ok(None),
            Some((_, o, i)) => self.class_restriction(index, o, i),
        }
    }

    /// Conditions `column = something of another relation` that the classes imply, for an
    /// index column of relation `rel`.
    pub fn generate_implied_for_column(
        &mut self,
        rel: &Relids,
        matches: &dyn Fn(&EquivalenceClass, &EcMember) -> bool,
    ) -> Result<Vec<Rc<Restriction>>> {
        let mut out = Vec::new();
        let top = self.top_relids(rel);
        for index in 0..self.ecs.len() {
            let ec = &self.ecs[index];
            if ec.merged.is_some()
                || ec.has_const
                || ec.has_volatile
                || ec.members.len() < 2
                || !ec.relids.overlaps(&top)
            {
                continue;
            }
            let Some(column) = ec.all_members().position(|m| m.relids == *rel && matches(ec, m))
            else {
                continue;
            };
            let is_other = |m: &usize| {
                let relids = &ec.members[*m].relids;
                !relids.overlaps(&top) && !relids.is_empty()
            };
            let others: Places = (0..ec.members.len()).filter(is_other).collect();
            for other in others {
                if let Some(r) = self.class_restriction(index, column, other)? {
                    out.push(r);
                }
            }
        }
        Ok(out)
    }

    /// True if a class has members on either side.
    pub fn classes_join(&self, a: &Relids, b: &Relids) -> bool {
        self.ecs.iter().any(|ec| {
            ec.merged.is_none()
                && !ec.has_const
                && ec.members.len() > 1
                && ec.relids.overlaps(a)
                && ec.relids.overlaps(b)
                && ec.members.iter().any(|m| !m.relids.is_empty() && m.relids.is_subset(a))
                && ec.members.iter().any(|m| !m.relids.is_empty() && m.relids.is_subset(b))
        })
    }

    /// True if a class ties the relations to others.
    pub fn classes_reach_out(&self, relids: &Relids) -> bool {
        self.ecs.iter().any(|ec| {
            ec.merged.is_none()
                && !ec.has_const
                && ec.members.len() > 1
                && ec.relids.overlaps(relids)
                && !ec.relids.is_subset(relids)
        })
    }
}
