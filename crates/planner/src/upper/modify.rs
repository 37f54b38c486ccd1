//! INSERT, UPDATE, DELETE and MERGE: the columns that the table change needs.

use crate::path::{Path, PathKind};
use crate::relids::Relids;
use crate::root::Root;
use base::{Oid, Result};
use ir::{CmdType, Expr, LockWait, PlanRowMark, RowMarkKind, RteKind, TargetEntry, Var};
use std::rc::Rc;

impl Root<'_> {
    /// Completes the target list: all columns for INSERT, and the junk by which rows are found.
    pub fn process_target_list(&mut self) -> Result<()> {
        let mut list = self.query.target_list.clone();
        match self.query.command {
            CmdType::Insert => list = self.whole_row(list)?,
            CmdType::Update => {
                self.update_columns = Vec::new();
                for (i, t) in list.iter_mut().filter(|t| !t.junk).enumerate() {
                    self.update_columns.push(t.resno);
                    t.resno = i as i16 + 1;
                }
                self.add_row_identity(&mut list);
            }
            CmdType::Delete | CmdType::Merge => self.add_row_identity(&mut list),
            _ => {}
        }
        if self.query.command == CmdType::Merge {
            self.whole_merge_rows()?;
            self.add_merge_columns(&mut list);
        }
        self.add_row_marks(&mut list);
        self.add_returning_columns(&mut list);
        for (i, t) in list.iter_mut().enumerate() {
            t.resno = i as i16 + 1;
        }
        self.processed = list;
        Ok(())
    }

    /// One entry for each column of the table, in order; nulls where none is given.
    fn whole_row(&self, list: Vec<TargetEntry>) -> Result<Vec<TargetEntry>> {
        let RteKind::Relation { relid, .. } = self.query.rte(self.query.result_relation).kind
        else {
            return Ok(list);
        };
        let desc = self.env.catalog.relation(relid)?;
        let mut out = Vec::with_capacity(desc.tuple.attrs.len());
        for (i, a) in desc.tuple.attrs.iter().enumerate() {
            let resno = i as i16 + 1;
            let given = list.iter().find(|t| !t.junk && t.resno == resno);
            let entry = match given {
                Some(t) if !a.dropped => t.clone(),
                _ => {
                    let ty = if a.dropped { Oid(23) } else { a.type_oid };
                    let null = Expr::null_const(ty, -1, a.collation);
                    TargetEntry::new(null, resno, Some(a.name.to_string()), false)
                }
            };
            out.push(entry);
        }
        out.extend(list.into_iter().filter(|t| t.junk));
        Ok(out)
    }

    fn whole_merge_rows(&mut self) -> Result<()> {
        let mut actions = std::mem::take(&mut self.query.merge_actions);
        for a in &mut actions {
            if a.command == CmdType::Insert {
                a.target_list = self.whole_row(std::mem::take(&mut a.target_list))?;
            }
        }
        self.query.merge_actions = actions;
        Ok(())
    }

    /// The junk column `ctid` of the table that is changed.
    fn add_row_identity(&self, list: &mut Vec<TargetEntry>) {
        let var = Var::new(self.query.result_relation, -1, Oid(27), -1, Oid::INVALID);
        list.push(TargetEntry::new(
            Expr::Var(var),
            list.len() as i16 + 1,
            Some("ctid".into()),
            true,
        ));
        if self.target_is_tree() {
            let var = Var::new(self.query.result_relation, -6, Oid(26), -1, Oid::INVALID);
            let n = list.len() as i16 + 1;
            list.push(TargetEntry::new(Expr::Var(var), n, Some("tableoid".into()), true));
        }
    }

    /// True if the statement changes a table together with its children.
    fn target_is_tree(&self) -> bool {
        self.is_tree(self.query.result_relation)
    }

    /// True if an entry stands for a table together with its children.
    fn is_tree(&self, rtindex: u32) -> bool {
        let rte = self.query.rte(rtindex);
        let RteKind::Relation { relid, inherit: true, .. } = rte.kind else { return false };
        self.env.catalog.relation(relid).is_ok_and(|r| r.has_subclass || !r.kind.has_storage())
    }

    /// Columns of the source that MERGE actions and its condition read.
    fn add_merge_columns(&self, list: &mut Vec<TargetEntry>) {
        let target = self.query.result_relation;
        let mut exprs: Vec<&Expr> = Vec::new();
        for a in &self.query.merge_actions {
            exprs.extend(a.qual.iter());
            exprs.extend(a.target_list.iter().map(|t| &t.expr));
        }
        exprs.extend(self.query.merge_join_condition.iter());
        exprs.extend(self.query.returning.iter().map(|t| &t.expr));
        add_other_columns(&exprs, target, list);
    }

    /// Columns of other tables that RETURNING (and ON CONFLICT's kind) reads.
    fn add_returning_columns(&self, list: &mut Vec<TargetEntry>) {
        if self.query.returning.is_empty() || self.query.command == CmdType::Merge {
            return;
        }
        let exprs: Vec<&Expr> = self.query.returning.iter().map(|t| &t.expr).collect();
        add_other_columns(&exprs, self.query.result_relation, list);
    }

    /// Row marks: for FOR UPDATE, and for the other tables of an UPDATE or DELETE, whose rows
    /// are found again when the changed row has to be checked anew.
    fn add_row_marks(&mut self, list: &mut Vec<TargetEntry>) {
        let mut marks: Vec<PlanRowMark> = Vec::new();
        let from = self.query.jointree.clone();
        let tables = ir_items(&from);
        for m in &self.query.row_marks {
            if !matches!(self.query.rte(m.rtindex).kind, RteKind::Relation { .. })
                || !tables.contains(m.rtindex)
            {
                continue;
            }
            marks.push(self.new_mark(m.rtindex, RowMarkKind::Lock(m.strength), m.wait));
        }
        let rechecks = !marks.is_empty()
            || matches!(self.query.command, CmdType::Update | CmdType::Delete | CmdType::Merge);
        if rechecks {
            for index in tables.iter() {
                if index == self.query.result_relation || marks.iter().any(|m| m.rtindex == index) {
                    continue;
                }
                let kind = match self.query.rte(index).kind {
                    RteKind::Relation { .. } => RowMarkKind::Reference,
                    RteKind::Result => continue,
                    _ => RowMarkKind::Copy,
                };
                marks.push(self.new_mark(index, kind, LockWait::Block));
            }
        }
        for m in &marks {
            let (attno, ty, name) = match m.kind {
                RowMarkKind::Copy => (0, Oid(2249), format!("wholerow{}", m.id)),
                _ => (-1, Oid(27), format!("ctid{}", m.id)),
            };
            let var = Var::new(m.rtindex, attno, ty, -1, Oid::INVALID);
            let n = list.len() as i16 + 1;
            list.push(TargetEntry::new(Expr::Var(var), n, Some(name), true));
            if m.is_parent {
                let var = Var::new(m.rtindex, -6, Oid(26), -1, Oid::INVALID);
                let name = format!("tableoid{}", m.id);
                list.push(TargetEntry::new(Expr::Var(var), n + 1, Some(name), true));
            }
        }
        self.row_marks = marks;
    }

    fn new_mark(&self, rtindex: u32, kind: RowMarkKind, wait: LockWait) -> PlanRowMark {
        let mut g = self.global.borrow_mut();
        g.last_row_mark += 1;
        let id = g.last_row_mark;
        let is_parent = kind != RowMarkKind::Copy && self.is_tree(rtindex);
        PlanRowMark { rtindex, parent: rtindex, id, kind, wait, is_parent, members: Vec::new() }
    }

    /// Columns of the changed table that only the change itself reads need not be scanned.
    pub fn need_modify_columns(&mut self, _output: &Relids) {}

    /// The change of the table, above its input.
    pub fn modify_path(&self, sub: &Rc<Path>) -> Path {
        let mut p = (**sub).clone();
        let recheck_param = self.global.borrow_mut().new_param(Oid(2281));
        p.kind = PathKind::Modify { sub: sub.clone(), recheck_param };
        if self.query.returning.is_empty() {
            p.rows = 0.0;
            Rc::make_mut(&mut p.target).width = 0;
        }
        p
    }
}

/// The tables of a join tree.
fn ir_items(from: &ir::FromExpr) -> Relids {
    from.items
        .iter()
        .fold(Relids::empty(), |set, i| set.union(&crate::prep::outer_join::item_relids(i)))
}

/// Adds, as junk, columns of tables other than `target` that the expressions read.
fn add_other_columns(exprs: &[&Expr], target: u32, list: &mut Vec<TargetEntry>) {
    for e in exprs {
        ir::walk::each(e, &mut |x| {
            if let Expr::Var(v) = x
                && v.levels_up == 0
                && v.varno != target
                && !list.iter().any(|t| t.expr == *x)
            {
                let n = list.len() as i16 + 1;
                list.push(TargetEntry::new(x.clone(), n, None, true));
            }
        });
    }
}
