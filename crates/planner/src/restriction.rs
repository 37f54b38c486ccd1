//! Making restrictions out of conditions.

use crate::rel::Restriction;
use crate::relids::Relids;
use crate::root::Root;
use base::{Oid, Result};
use ir::{Expr, OpKind};
use std::cell::Cell;
use std::rc::Rc;

/// What a new restriction is told of where its condition stood.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    pub pushed_down: bool,
    pub pseudoconstant: bool,
    pub required: Option<Relids>,
    pub outer_relids: Relids,
    pub security_level: u32,
    pub parent_ec: Option<usize>,
}

impl Root<'_> {
    /// A restriction of this condition.
    pub fn restriction(&self, clause: Expr, place: Placement) -> Result<Rc<Restriction>> {
        let clause_relids = self.relids_of(&clause);
        let required = place.required.unwrap_or_else(|| clause_relids.clone());
        let serial = self.next_serial();
        let mut r = Restriction {
            clause_relids,
            required,
            pushed_down: place.pushed_down,
            outer_relids: place.outer_relids,
            pseudoconstant: place.pseudoconstant,
            left_relids: Relids::empty(),
            right_relids: Relids::empty(),
            can_join: false,
            merge_families: Vec::new(),
            hash_op: Oid::INVALID,
            left_ec: Cell::new(None),
            right_ec: Cell::new(None),
            parent_ec: place.parent_ec,
            security_level: place.security_level,
            selectivity: Cell::new(-1.0),
            outer_selectivity: Cell::new(-1.0),
            cost: Cell::new(None),
            serial,
            origin: serial,
            clause,
        };
        if let Expr::Op(o) = &r.clause
            && o.kind == OpKind::Plain
            && o.args.len() == 2
        {
            r.left_relids = self.relids_of(&o.args[0]);
            r.right_relids = self.relids_of(&o.args[1]);
            r.can_join = !r.left_relids.is_empty()
                && !r.right_relids.is_empty()
                && !r.left_relids.overlaps(&r.right_relids);
            if !r.pseudoconstant {
                self.note_join_ops(&mut r)?;
            }
        }
        Ok(Rc::new(r))
    }

    /// The same, for the form of the condition of serial `origin` over a member of a tree.
    pub fn restriction_as(
        &self,
        clause: Expr,
        place: Placement,
        origin: u32,
    ) -> Result<Rc<Restriction>> {
        let mut r = self.restriction(clause, place)?;
        if let Some(r) = Rc::get_mut(&mut r) {
            r.origin = origin;
        }
        Ok(r)
    }

    /// Finds out whether the operator can be used for merge and hash joins.
    fn note_join_ops(&self, r: &mut Restriction) -> Result<()> {
        let Expr::Op(o) = &r.clause else { return Ok(()) };
        let op = self.env.catalog.operator(o.op)?;
        let volatile = crate::prep::volatility::has_volatile(&r.clause, self.env)?;
        if volatile {
            return Ok(());
        }
        if op.can_merge {
            let families = self.equality_families(o.op)?;
            r.merge_families = families;
        }
        if op.can_hash {
            r.hash_op = o.op;
        }
        Ok(())
    }

    /// B-tree families in which the operator is equality.
    pub fn equality_families(&self, op: Oid) -> Result<Vec<Oid>> {
        let mut out: Vec<Oid> = self
            .env
            .catalog
            .amops_of_operator(op)?
            .iter()
            .filter(|a| a.am == Oid(403) && a.strategy == 3)
            .map(|a| a.family)
            .collect();
        out.sort_unstable();
        Ok(out)
    }
}

/// The operands of a binary operator's condition.
pub fn operands(r: &Restriction) -> Option<(&Expr, &Expr)> {
    match &r.clause {
        Expr::Op(o) if o.args.len() == 2 => Some((&o.args[0], &o.args[1])),
        _ => None,
    }
}
