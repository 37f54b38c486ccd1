//! Expressions, conditions and paths over tables at the top of inheritance trees, as the same
//! over members of the trees.

use super::{BitmapTree, IndexPath, Path, PathKind};
use crate::rel::{BaseKind, Restriction, SpecialJoin, Target};
use crate::relids::Relids;
use crate::root::Root;
use base::Result;
use catalog::RelationDesc;
use ir::{Expr, Var};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// The table that a relation stands for.
pub fn table_of(kind: &BaseKind) -> Option<&Arc<RelationDesc>> {
    match kind {
        BaseKind::Table(d) | BaseKind::AppendRel(d) => Some(d),
        _ => None,
    }
}

impl Root<'_> {
    /// The tables at the top of the trees that the relations are members of.
    pub fn top_relids(&self, relids: &Relids) -> Relids {
        if !self.has_members {
            return relids.clone();
        }
        relids.iter().map(|i| self.base_rel(i).and_then(|r| r.parent).unwrap_or(i)).collect()
    }

    /// An expression over the parent, which is above the member, as one over the member.
    pub fn for_member(&self, e: &Expr, parent: u32, member: u32) -> Result<Expr> {
        let (Some(p), Some(m)) = (self.base_rel(parent), self.base_rel(member)) else {
            return Ok(e.clone());
        };
        if !matches!(p.kind, BaseKind::UnionAll) {
            return match (table_of(&p.kind), table_of(&m.kind)) {
                (Some(pd), Some(md)) => over_table(e, (parent, pd), (member, md)),
                _ => Ok(e.clone()),
            };
        }
        // One union after the other, and then the tree that is a member of the last.
        let Some(at) = m.ancestors.iter().position(|a| *a == parent) else { return Ok(e.clone()) };
        let next = m.ancestors.get(at + 1).copied().unwrap_or(member);
        let Some(columns) = self.base_rel(next).and_then(|r| r.columns.as_deref()) else {
            return Ok(e.clone());
        };
        let out = self.over_union_member(e, parent, columns);
        if next == member { Ok(out) } else { self.for_member(&out, next, member) }
    }

    /// An expression over a union, whose columns are these in a member, as one over the member.
    fn over_union_member(&self, e: &Expr, union: u32, columns: &[Expr]) -> Expr {
        let mut out = e.clone();
        ir::walk::replace(&mut out, &mut |x| {
            let Expr::Var(v) = x else { return None };
            if v.varno != union || v.levels_up != 0 {
                return None;
            }
            match v.attno {
                0 => Some(Expr::Row(Box::new(ir::RowExpr {
                    ty: v.ty,
                    args: columns.to_vec(),
                    form: ir::CoercionForm::ImplicitCast,
                    names: self.query.rte(union).eref.columns.clone(),
                    location: None,
                }))),
                n => columns.get(usize::try_from(n - 1).ok()?).cloned(),
            }
        });
        out
    }

    /// An expression with the columns of tables at the top as those of these members.
    pub fn for_members(&self, e: &Expr, members: &Relids) -> Result<Expr> {
        let mut out = e.clone();
        for m in members.iter() {
            for above in self.base_rel(m).iter().flat_map(|r| &r.ancestors) {
                out = self.for_member(&out, *above, m)?;
            }
        }
        Ok(out)
    }

    /// The same of a list.
    pub fn list_for_members(&self, list: &[Expr], members: &Relids) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.for_members(e, members)).collect()
    }

    /// The members in place of their parents.
    pub fn relids_for_members(&self, relids: &Relids, members: &Relids) -> Relids {
        let mut out = relids.clone();
        for m in members.iter() {
            for above in self.base_rel(m).iter().flat_map(|r| &r.ancestors) {
                if relids.contains(*above) {
                    out = out.minus(&Relids::single(*above));
                    out.add(m);
                }
            }
        }
        out
    }

    /// A condition over the members in place of their parents.
    pub fn restriction_for_members(
        &self,
        r: &Rc<Restriction>,
        members: &Relids,
    ) -> Result<Rc<Restriction>> {
        let required = self.relids_for_members(&r.required, members);
        let clause_relids = self.relids_for_members(&r.clause_relids, members);
        if r.pseudoconstant || required == r.required && clause_relids == r.clause_relids {
            return Ok(r.clone());
        }
        Ok(Rc::new(Restriction {
            clause: self.for_members(&r.clause, members)?,
            clause_relids,
            required,
            pushed_down: r.pushed_down,
            outer_relids: r.outer_relids.clone(),
            pseudoconstant: false,
            left_relids: self.relids_for_members(&r.left_relids, members),
            right_relids: self.relids_for_members(&r.right_relids, members),
            can_join: r.can_join,
            merge_families: r.merge_families.clone(),
            hash_op: r.hash_op,
            left_ec: Cell::new(r.left_ec.get()),
            right_ec: Cell::new(r.right_ec.get()),
            parent_ec: r.parent_ec,
            security_level: r.security_level,
            selectivity: Cell::new(-1.0),
            outer_selectivity: Cell::new(-1.0),
            cost: Cell::new(None),
            serial: self.next_serial(),
            origin: r.origin,
        }))
    }

    /// The same of a list.
    pub fn restrictions_for_members(
        &self,
        list: &[Rc<Restriction>],
        members: &Relids,
    ) -> Result<Vec<Rc<Restriction>>> {
        list.iter().map(|r| self.restriction_for_members(r, members)).collect()
    }

    /// A target over the members in place of their parents.
    pub fn target_for_members(&self, t: &Target, members: &Relids) -> Result<Target> {
        let mut out = Target {
            exprs: self.list_for_members(&t.exprs, members)?,
            refs: t.refs.clone(),
            ..Target::default()
        };
        self.finish_target(&mut out);
        Ok(out)
    }

    /// What restricts the order of joins, between members.
    pub fn special_for_members(&self, s: &SpecialJoin, members: &Relids) -> Result<SpecialJoin> {
        Ok(SpecialJoin {
            min_left: self.relids_for_members(&s.min_left, members),
            min_right: self.relids_for_members(&s.min_right, members),
            syn_left: self.relids_for_members(&s.syn_left, members),
            syn_right: self.relids_for_members(&s.syn_right, members),
            semi_rhs: self.list_for_members(&s.semi_rhs, members)?,
            ..s.clone()
        })
    }

    /// A path that needs columns of tables at the top, as one that needs those of their members:
    /// the inner side of a nested loop over a member. None for a kind of path that cannot be.
    pub fn path_for_outer_members(
        &self,
        p: &Rc<Path>,
        members: &Relids,
    ) -> Result<Option<Rc<Path>>> {
        if !self.has_members || self.relids_for_members(&p.param, members) == p.param {
            return Ok(Some(p.clone()));
        }
        let mut new = (**p).clone();
        new.param = self.relids_for_members(&p.param, members);
        new.param_clauses = self.restrictions_for_members(&p.param_clauses, members)?;
        new.kind = match &p.kind {
            PathKind::SeqScan => PathKind::SeqScan,
            PathKind::Index(i) => {
                PathKind::Index(Box::new(self.index_for_outer_members(i, members)?))
            }
            PathKind::Bitmap(tree) => {
                PathKind::Bitmap(self.bitmap_for_outer_members(tree, members)?)
            }
            PathKind::Append { parts, shared_from: None } => {
                let mut new_parts = Vec::new();
                for part in parts {
                    match self.path_for_outer_members(part, members)? {
                        Some(part) => new_parts.push(part),
                        None => return Ok(None),
                    }
                }
                PathKind::Append { parts: new_parts, shared_from: None }
            }
            PathKind::Memoize { sub, params, ops, single_row, binary, entries } => {
                let Some(sub) = self.path_for_outer_members(sub, members)? else {
                    return Ok(None);
                };
                PathKind::Memoize {
                    sub,
                    params: self.list_for_members(params, members)?,
                    ops: ops.clone(),
                    single_row: *single_row,
                    binary: *binary,
                    entries: *entries,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Rc::new(new)))
    }

    fn index_for_outer_members(&self, p: &IndexPath, members: &Relids) -> Result<IndexPath> {
        let mut new = p.clone();
        for c in &mut new.clauses {
            c.origin = self.restriction_for_members(&c.origin, members)?;
            c.quals = self.list_for_members(&c.quals, members)?;
        }
        Ok(new)
    }

    fn bitmap_for_outer_members(&self, tree: &BitmapTree, members: &Relids) -> Result<BitmapTree> {
        let list = |parts: &[BitmapTree]| -> Result<Vec<BitmapTree>> {
            parts.iter().map(|t| self.bitmap_for_outer_members(t, members)).collect()
        };
        Ok(match tree {
            BitmapTree::Index(p) => {
                BitmapTree::Index(Rc::new(self.index_for_outer_members(p, members)?))
            }
            BitmapTree::And { parts, cost, selectivity } => {
                BitmapTree::And { parts: list(parts)?, cost: *cost, selectivity: *selectivity }
            }
            BitmapTree::Or { parts, cost, selectivity } => {
                BitmapTree::Or { parts: list(parts)?, cost: *cost, selectivity: *selectivity }
            }
        })
    }
}

/// An expression over a table as one over a table below it in its tree: columns are the same by
/// name.
fn over_table(
    e: &Expr,
    (parent, pd): (u32, &RelationDesc),
    (member, md): (u32, &RelationDesc),
) -> Result<Expr> {
    let mut failed = None;
    let mut out = e.clone();
    ir::walk::replace(&mut out, &mut |x| {
        let Expr::Var(v) = x else { return None };
        if v.varno != parent || v.levels_up != 0 {
            return None;
        }
        let mut new = Var { varno: member, syn_no: member, ..v.clone() };
        let stored = Var::column_of_stored(v.attno);
        let column = stored.unwrap_or(v.attno);
        if column > 0 {
            let name = &pd.tuple.attrs[column as usize - 1].name;
            match md.column_number(name) {
                Some(a) => {
                    new.attno = a;
                    new.syn_attno = a;
                    if stored.is_some() {
                        new = new.stored();
                    }
                }
                None => {
                    failed = Some(base::err!(
                        UNDEFINED_COLUMN,
                        "attribute \"{name}\" of relation \"{}\" does not exist",
                        md.name
                    ));
                }
            }
            return Some(Expr::Var(new));
        }
        // As a record it is only asked whether it is there.
        let record = v.ty == base::Oid(2249);
        if v.attno == 0 && pd.row_type != md.row_type && !record {
            new.ty = md.row_type;
            return Some(Expr::ConvertRowtype {
                arg: Box::new(Expr::Var(new)),
                ty: v.ty,
                form: ir::CoercionForm::ImplicitCast,
                location: None,
            });
        }
        Some(Expr::Var(new))
    });
    failed.map_or(Ok(out), Err)
}
