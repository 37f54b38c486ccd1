//! Plans that change tables.

use crate::path::{Path, PathKind};
use crate::root::Root;
use base::{Oid, Result, err};
use catalog::{IndexDesc, RelationDesc};
use ir::{
    ConflictAction, Expr, ModifyTable, ModifyTarget, OnConflict, Plan, PlanNode, PlanOnConflict,
    RteKind,
};
use std::rc::Rc;
use std::sync::Arc;

impl Root<'_> {
    pub(super) fn create_modify(&mut self, path: &Rc<Path>) -> Result<Plan> {
        let PathKind::Modify { sub, recheck_param } = &path.kind else {
            return Err(err!(INTERNAL_ERROR, "not a modify path"));
        };
        let mut child = self.create(sub)?;
        self.label_output(&mut child);
        let rtindex = self.query.result_relation;
        let RteKind::Relation { relid, .. } = self.query.rte(rtindex).kind else {
            return Err(err!(INTERNAL_ERROR, "result relation is not a table"));
        };
        let desc = self.env.catalog.relation(relid)?;
        let on_conflict = match self.query.on_conflict.clone() {
            Some(c) => Some(Box::new(self.plan_on_conflict(&c, &desc, rtindex)?)),
            None => None,
        };
        let target = ModifyTarget {
            rtindex,
            update_columns: self.update_columns.clone(),
            returning: self.query.returning.clone(),
            with_check_options: self.query.with_check_options.clone(),
            merge_actions: self.query.merge_actions.clone(),
            merge_join_condition: self.query.merge_join_condition.clone(),
        };
        let members = match self.query.command {
            ir::CmdType::Update | ir::CmdType::Delete | ir::CmdType::Merge => {
                self.base_rel(rtindex).map(|r| r.children.clone()).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        let root = if members.is_empty() { 0 } else { rtindex };
        let root_options = match members.is_empty() {
            true => Vec::new(),
            false => target.with_check_options.clone(),
        };
        let targets = match members.is_empty() {
            true => vec![target],
            false => members
                .iter()
                .map(|m| self.member_target(&target, rtindex, *m, &desc))
                .collect::<Result<_>>()?,
        };
        let mut relations = vec![relid];
        for m in &members {
            if let RteKind::Relation { relid, .. } = self.query.rte(*m).kind {
                relations.push(relid);
            }
        }
        let node = ModifyTable {
            operation: self.query.command,
            can_set_tag: self.query.can_set_tag,
            nominal: rtindex,
            root,
            targets,
            root_options,
            on_conflict,
            row_marks: self.row_marks.clone(),
            recheck_param: *recheck_param,
            returning_old_alias: None,
            returning_new_alias: None,
            relations,
        };
        let mut plan = Plan::new(PlanNode::ModifyTable(Box::new(node)));
        plan.target = self.query.returning.clone();
        plan.outer = Some(Box::new(child));
        Ok(plan)
    }

    /// What the statement does with the parent, as done with a member of its tree.
    fn member_target(
        &self,
        t: &ModifyTarget,
        parent: u32,
        member: u32,
        desc: &RelationDesc,
    ) -> Result<ModifyTarget> {
        let RteKind::Relation { relid, .. } = self.query.rte(member).kind else {
            return Err(err!(INTERNAL_ERROR, "a member is not a table"));
        };
        let own = self.env.catalog.relation(relid)?;
        let mut made = ModifyTarget { rtindex: member, ..t.clone() };
        let own_number = |n: i16| {
            let name = &desc.tuple.attrs[n as usize - 1].name;
            own.column_number(name)
                .ok_or_else(|| err!(INTERNAL_ERROR, "a member has no column \"{name}\""))
        };
        for n in &mut made.update_columns {
            *n = own_number(*n)?;
        }
        for a in &mut made.merge_actions {
            if let Some(q) = &mut a.qual {
                *q = self.for_member(q, parent, member)?;
            }
            for t in &mut a.target_list {
                t.expr = self.for_member(&t.expr, parent, member)?;
                // What is inserted is a row of the parent: it has yet to find its table.
                if a.command == ir::CmdType::Update && !t.junk {
                    t.resno = own_number(t.resno)?;
                }
            }
        }
        if let Some(c) = &mut made.merge_join_condition {
            *c = self.for_member(c, parent, member)?;
        }
        for r in &mut made.returning {
            r.expr = self.for_member(&r.expr, parent, member)?;
        }
        for o in &mut made.with_check_options {
            o.qual = self.for_member(&o.qual, parent, member)?;
        }
        Ok(made)
    }

    fn plan_on_conflict(
        &self,
        c: &OnConflict,
        desc: &RelationDesc,
        rtindex: u32,
    ) -> Result<PlanOnConflict> {
        let arbiters = self.infer_arbiters(c, desc, rtindex)?;
        if arbiters.is_empty() && (!c.arbiter.is_empty() || c.constraint.is_some()) {
            return Err(err!(
                INVALID_COLUMN_REFERENCE,
                "there is no unique or exclusion constraint matching the ON CONFLICT specification"
            ));
        }
        if c.action == ConflictAction::Update
            && arbiters.iter().any(|a| desc.indexes.iter().any(|i| i.oid == *a && i.is_exclusion))
        {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "ON CONFLICT DO UPDATE not supported with exclusion constraints"
            ));
        }
        let mut set = c.set.clone();
        let set_columns = set.iter().map(|t| t.resno).collect();
        for (i, t) in set.iter_mut().enumerate() {
            t.resno = i as i16 + 1;
        }
        Ok(PlanOnConflict {
            action: c.action,
            arbiters,
            set,
            set_columns,
            where_: c.where_.clone(),
            excluded_rtindex: c.excluded_rtindex,
        })
    }

    /// The unique indexes that ON CONFLICT's columns mean.
    fn infer_arbiters(
        &self,
        c: &OnConflict,
        desc: &RelationDesc,
        rtindex: u32,
    ) -> Result<Vec<Oid>> {
        if let Some(con) = c.constraint {
            let index = desc.constraints.iter().find(|k| k.oid == con).map(|k| k.index);
            return Ok(index.into_iter().filter(|i| i.is_valid()).collect());
        }
        if c.arbiter.is_empty() {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        for i in desc.indexes.iter().filter(|i| i.is_unique && i.is_valid) {
            if self.arbiter_matches(c, i, desc, rtindex)? {
                out.push(i.oid);
            }
        }
        Ok(out)
    }

    fn arbiter_matches(
        &self,
        c: &OnConflict,
        i: &Arc<IndexDesc>,
        desc: &RelationDesc,
        rtindex: u32,
    ) -> Result<bool> {
        let mut stored: Vec<Expr> = match &i.exprs {
            None => Vec::new(),
            Some(text) => crate::path::scan::node_from_text(text)?,
        };
        for e in &mut stored {
            crate::path::scan::renumber(e, rtindex);
        }
        let mut exprs = stored.into_iter();
        let keys: Vec<Expr> = i.columns[..i.n_keys as usize]
            .iter()
            .map(|a| match a {
                0 => exprs.next().unwrap_or_else(|| Expr::bool_const(true)),
                a => crate::path::scan::column_of(desc, rtindex, *a),
            })
            .collect();
        let same = |a: &Expr, b: &Expr| match (a, b) {
            (Expr::Var(x), Expr::Var(y)) => x.attno == y.attno && x.varno == y.varno,
            _ => a == b,
        };
        let covered = keys.iter().enumerate().all(|(n, k)| {
            c.arbiter.iter().any(|a| {
                same(&a.expr, k)
                    && a.collation.is_none_or(|x| x == i.collations[n])
                    && a.opclass.is_none_or(|x| x == i.opclasses[n])
            })
        });
        let all_used = c.arbiter.iter().all(|a| keys.iter().any(|k| same(&a.expr, k)));
        if !covered || !all_used {
            return Ok(false);
        }
        match (&i.predicate, &c.arbiter_where) {
            (None, _) => Ok(true),
            (Some(_), None) => Ok(false),
            (Some(p), Some(w)) => {
                let p = self.stored_expr(p, rtindex)?;
                let mut w = w.clone();
                if let Expr::Var(_) = w {
                    w = crate::prep::const_fold::simplify(w, self.env, false)?;
                }
                Ok(self.implies(&w, &p))
            }
        }
    }
}
