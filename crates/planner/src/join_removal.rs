//! Left joins that add nothing: each row of the left side has at most one partner, and no column
//! of the right side is wanted above. The join and its right side are left out.

use crate::init::JoinItem;
use crate::rel::{BaseKind, Restriction, SpecialJoin};
use crate::relids::Relids;
use crate::root::Root;
use base::Result;
use ir::{Expr, JoinKind};
use std::rc::Rc;

impl Root<'_> {
    /// Removes such joins, one after the other: each may make another one useless.
    pub fn remove_useless_joins(&mut self, items: &mut JoinItem) -> Result<()> {
        let mut at = 0;
        while at < self.special.len() {
            match self.removable_side(&self.special[at])? {
                Some(index) => {
                    self.special.remove(at);
                    self.remove_relation(index);
                    remove_item(items, index);
                    at = 0;
                }
                None => at += 1,
            }
        }
        Ok(())
    }

    /// The right side of a join that adds nothing.
    fn removable_side(&self, join: &SpecialJoin) -> Result<Option<u32>> {
        let Some(index) = join.min_right.singleton() else { return Ok(None) };
        let Some(rel) = self.base_rel(index) else { return Ok(None) };
        let kind_fits = matches!(rel.kind, BaseKind::Table(_) | BaseKind::Subquery(_));
        if join.kind != JoinKind::Left
            || !kind_fits
            || index == self.query.result_relation
            || self.row_marks.iter().any(|m| m.rtindex == index)
        {
            return Ok(None);
        }
        let joined = join.min_left.union(&join.min_right);
        let wanted_above = rel.needed.values().any(|by| !by.is_subset(&joined));
        let others = self.base.iter().flatten().map(|r| &self.rels[*r]);
        if wanted_above || others.clone().any(|o| o.lateral.contains(index)) {
            return Ok(None);
        }
        // A condition from above the join that has to wait for it keeps it.
        let mut own: Vec<Rc<Restriction>> = Vec::new();
        for r in &rel.join_info {
            if r.pushed_down || !r.required.is_subset(&joined) {
                return Ok(None);
            }
            own.push(r.clone());
        }
        let unique = self.is_unique_for(index, &join.min_left, JoinKind::Left, &own)?;
        Ok(unique.then_some(index))
    }

    /// Forgets a relation and every condition that mentions it.
    fn remove_relation(&mut self, index: u32) {
        let gone = Relids::single(index);
        self.all_base = self.all_base.minus(&gone);
        self.nullable = self.nullable.minus(&gone);
        for side in &mut self.nullable_sides {
            *side = side.minus(&gone);
        }
        for s in &mut self.special {
            for set in [&mut s.min_left, &mut s.min_right, &mut s.syn_left, &mut s.syn_right] {
                *set = set.minus(&gone);
            }
        }
        for ec in &mut self.ecs {
            ec.members.retain(|m| !m.relids.contains(index));
            ec.sources.retain(|r| !r.required.contains(index));
            ec.derived.retain(|r| !r.required.contains(index));
            ec.relids = ec.relids.minus(&gone);
        }
        if let Some(rel) = self.base_rel_mut(index) {
            rel.restrictions.clear();
            rel.join_info.clear();
        }
        self.base[index as usize] = None;
        for at in self.base.clone().into_iter().flatten() {
            let rel = &mut self.rels[at];
            rel.join_info.retain(|r| !r.required.contains(index));
            // Columns that only the join's condition wanted are not wanted any more.
            let own = rel.relids.clone();
            let mut unwanted = Vec::new();
            for (column, by) in &mut rel.needed {
                if by.contains(index) {
                    *by = by.minus(&gone);
                    if by.is_subset(&own) {
                        unwanted.push(*column);
                    }
                }
            }
            for column in unwanted {
                rel.needed.remove(&column);
                let target = Rc::make_mut(&mut rel.target);
                let is_it = |e: &Expr| matches!(e, Expr::Var(v) if v.attno == column);
                let kept = target.exprs.iter().zip(&target.refs).filter(|(e, _)| !is_it(e));
                let (exprs, refs) = kept.map(|(e, r)| (e.clone(), *r)).unzip();
                (target.exprs, target.refs) = (exprs, refs);
            }
        }
    }
}

/// Takes a relation out of what is to be joined; true if nothing is left there.
fn remove_item(item: &mut JoinItem, index: u32) -> bool {
    match item {
        JoinItem::Rel(i) => *i == index,
        JoinItem::List(items) => {
            items.retain_mut(|i| !remove_item(i, index));
            items.is_empty()
        }
        JoinItem::Pair(a, b) => {
            remove_item(a, index);
            remove_item(b, index);
            false
        }
    }
}
