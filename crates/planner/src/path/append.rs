//! Inheritance trees and partitioned tables: one relation for each member, appended.

use super::{Path, PathKind};
use crate::rel::{BaseKind, Target};
use crate::relids::Relids;
use crate::restriction::Placement;
use crate::root::Root;
use base::{Oid, Result};
use catalog::RelationDesc;
use ir::{Expr, RteKind, Var};
use std::rc::Rc;

impl Root<'_> {
    /// If the table has children: adds a relation for each member of its tree.
    pub fn expand_inheritance(&mut self, rel: usize) -> Result<()> {
        let BaseKind::Table(desc) = self.rels[rel].kind.clone() else { return Ok(()) };
        if !desc.has_subclass && desc.kind.has_storage() {
            return Ok(());
        }
        let index = self.rels[rel].rtindex;
        let mut members = Vec::new();
        self.collect_members(desc.oid, &mut members)?;
        if members.len() == 1 && members[0].kind.has_storage() {
            return Ok(());
        }
        let changed = self.query.result_relation == index;
        if self.query.command == ir::CmdType::Insert && changed {
            return Ok(());
        }
        self.rels[rel].kind = BaseKind::AppendRel(desc.clone());
        let mut children = Vec::new();
        for m in members.into_iter().filter(|m| m.kind.has_storage()) {
            children.push(self.add_child(index, &m)?);
        }
        for mark in self.row_marks.iter_mut().filter(|m| m.rtindex == index) {
            mark.members.clone_from(&children);
        }
        self.rels[rel].children = children;
        Ok(())
    }

    fn collect_members(&self, oid: Oid, out: &mut Vec<std::sync::Arc<RelationDesc>>) -> Result<()> {
        if out.iter().any(|m| m.oid == oid) {
            return Ok(());
        }
        let desc = self.env.catalog.relation(oid)?;
        let has_children = desc.has_subclass;
        let partitioned = !desc.kind.has_storage();
        let mut at = out.len();
        out.push(desc);
        if !has_children {
            return Ok(());
        }
        if partitioned {
            let parent = self.env.catalog.relation(oid)?;
            let parts = catalog::partition::Partitioning::load(self.env.catalog, &parent)?;
            for child in parts.in_order()? {
                self.collect_members(child, out)?;
            }
            return Ok(());
        }
        // Children before grandchildren.
        while let Some(parent) = out.get(at).cloned() {
            for child in self.env.catalog.children(parent.oid)? {
                if !out.iter().any(|m| m.oid == child) {
                    out.push(self.env.catalog.relation(child)?);
                }
            }
            at += 1;
        }
        Ok(())
    }

    fn add_child(&mut self, parent: u32, member: &std::sync::Arc<RelationDesc>) -> Result<u32> {
        let mut rte = self.query.rtable[parent as usize - 1].clone();
        if let RteKind::Relation { relid, relkind, inherit, .. } = &mut rte.kind {
            *relid = member.oid;
            *relkind = char::from(member.kind.as_u8());
            *inherit = false;
        }
        if rte.alias.is_none() {
            // Members are shown under the name of the table that the statement names.
            let name = rte.eref.name.clone();
            rte.alias = Some(ir::Alias { name, columns: Vec::new() });
        }
        rte.in_from = false;
        rte.perms = None;
        rte.eref.columns = member.tuple.attrs.iter().map(|a| a.name.to_string()).collect();
        self.query.rtable.push(rte);
        let index = self.query.rtable.len() as u32;
        let rel = self.add_rel(BaseKind::Table(member.clone()), Relids::single(index), index);
        self.base.resize(index as usize + 1, None);
        self.base[index as usize] = Some(rel);
        self.rels[rel].parent = Some(parent);
        self.load_relation(rel)?;
        Ok(index)
    }

    /// An expression over the parent as one over the member.
    pub fn for_member(&self, e: &Expr, parent: u32, member: u32) -> Result<Expr> {
        let (Some(p), Some(m)) = (self.base_rel(parent), self.base_rel(member)) else {
            return Ok(e.clone());
        };
        let (BaseKind::AppendRel(pd), BaseKind::Table(md)) = (&p.kind, &m.kind) else {
            return Ok(e.clone());
        };
        let mut failed = None;
        let mut out = e.clone();
        ir::walk::replace(&mut out, &mut |x| {
            let Expr::Var(v) = x else { return None };
            if v.varno != parent || v.levels_up != 0 {
                return None;
            }
            let mut new = Var { varno: member, syn_no: member, ..v.clone() };
            if v.attno > 0 {
                let name = &pd.tuple.attrs[v.attno as usize - 1].name;
                match md.column_number(name) {
                    Some(a) => {
                        new.attno = a;
                        new.syn_attno = a;
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
            if v.attno == 0 && pd.row_type != md.row_type {
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

    /// Sizes the members and adds an append of their cheapest paths.
    pub fn append_paths(&mut self, rel: usize) -> Result<()> {
        let parent = self.rels[rel].rtindex;
        let children = self.rels[rel].children.clone();
        let restrictions = self.rels[rel].restrictions.clone();
        let exprs = self.rels[rel].target.exprs.clone();
        let mut parts: Vec<Rc<Path>> = Vec::new();
        let mut members = Vec::new();
        let clauses: Vec<Expr> = restrictions.iter().map(|r| r.clause.clone()).collect();
        let BaseKind::AppendRel(top) = self.rels[rel].kind.clone() else { return Ok(()) };
        let mut kept = Vec::new();
        for child in children {
            let Some(c) = self.base[child as usize] else { continue };
            if let BaseKind::Table(member) = self.rels[c].kind.clone()
                && self.is_pruned(&top, parent, &member, &clauses)?
            {
                continue;
            }
            kept.push(child);
            let mut target = Target::default();
            for e in &exprs {
                target.exprs.push(self.for_member(e, parent, child)?);
                target.refs.push(0);
            }
            let mut list = Vec::new();
            for r in &restrictions {
                let clause = self.for_member(&r.clause, parent, child)?;
                let place = Placement {
                    pushed_down: r.pushed_down,
                    pseudoconstant: r.pseudoconstant,
                    ..Placement::default()
                };
                list.push(self.restriction(clause, place)?);
            }
            self.rels[c].target = Rc::new(target);
            self.rels[c].restrictions = list;
            if self.rels[rel].parallel {
                self.consider_parallel(c)?;
                self.rels[rel].parallel = self.rels[c].parallel;
            }
            self.size_base(c)?;
            self.scan_paths(c)?;
            members.push(c);
            parts.extend(self.rels[c].cheapest_total.clone());
        }
        self.rels[rel].children = kept;
        let rows: f64 = parts.iter().map(|p| p.rows).sum();
        let tuples: f64 = parts.iter().map(|p| self.rels[p.rel].tuples).sum();
        let width = parts.iter().map(|p| p.target.width).max().unwrap_or(0);
        {
            let r = &mut self.rels[rel];
            r.rows = crate::cost::clamp_rows(rows);
            r.tuples = tuples;
            Rc::make_mut(&mut r.target).width = width;
        }
        if parts.is_empty() {
            self.rels[rel].dummy = true;
            let path = self.dummy_path(rel);
            self.rels[rel].add_path(path);
            return Ok(());
        }
        let s = self.env.settings;
        let cost = crate::cost::scan::Cost {
            startup: parts[0].startup,
            total: parts.iter().map(|p| p.total).sum::<f64>() + 0.5 * s.cpu_tuple_cost * rows,
            disabled: parts.iter().map(|p| p.disabled).sum(),
        };
        let safe = parts.iter().all(|p| p.parallel_safe);
        let kind = PathKind::Append { parts, shared_from: None };
        let mut path = self.plain_path(rel, kind, cost);
        path.parallel_safe &= safe;
        self.rels[rel].add_path(path);
        if self.rels[rel].parallel && self.rels[rel].lateral.is_empty() {
            self.partial_appends(rel, &members);
        }
        Ok(())
    }

    /// Appends that workers share: of partial paths of all members, and of whole ones where they
    /// are cheaper.
    fn partial_appends(&mut self, rel: usize, members: &[usize]) {
        let s = self.env.settings;
        let most = s.max_parallel_workers_per_gather;
        // More members are worth more workers.
        let by_number = usize::BITS - members.len().leading_zeros();
        let workers_of = |list: &[Rc<Path>]| {
            let most_of = list.iter().map(|p| p.workers).max().unwrap_or(0);
            match s.enable_parallel_append {
                true => most_of.max(by_number).min(most),
                false => most_of,
            }
        };
        let first = |root: &Self, m: usize| root.rels[m].partial.first().cloned();
        let all: Option<Vec<Rc<Path>>> = members.iter().map(|m| first(self, *m)).collect();
        let mut rows = None;
        // The most expensive first.
        let index_of: Vec<u32> = self.rels.iter().map(|r| r.rtindex).collect();
        let by_total = |a: &Rc<Path>, b: &Rc<Path>| {
            b.total.total_cmp(&a.total).then(index_of[a.rel].cmp(&index_of[b.rel]))
        };
        let by_startup =
            |a: &Rc<Path>, b: &Rc<Path>| b.startup.total_cmp(&a.startup).then(by_total(a, b));
        if let Some(mut parts) = all {
            if s.enable_parallel_append {
                parts.sort_by(by_startup);
            }
            let workers = workers_of(&parts);
            let shared = s.enable_parallel_append.then_some(0);
            let path = self.partial_append(rel, parts, shared, workers, None);
            rows = Some(path.rows);
            self.rels[rel].add_partial(path);
        }
        if !s.enable_parallel_append {
            return;
        }
        let (mut whole, mut partial) = (Vec::new(), Vec::new());
        for m in members {
            let shared = first(self, *m);
            let safe = self.rels[*m].cheapest_safe();
            match (safe, shared) {
                (Some(w), Some(p)) if p.total < w.total => partial.push(p),
                (Some(w), _) => whole.push(w),
                (None, Some(p)) => partial.push(p),
                (None, None) => return,
            }
        }
        if whole.is_empty() {
            return;
        }
        let workers = workers_of(&partial);
        // Each of these is done by one worker.
        whole.sort_by(by_total);
        partial.sort_by(by_startup);
        let from = whole.len();
        whole.extend(partial);
        let path = self.partial_append(rel, whole, Some(from), workers, rows);
        self.rels[rel].add_partial(path);
    }

    fn partial_append(
        &self,
        rel: usize,
        parts: Vec<Rc<Path>>,
        shared_from: Option<usize>,
        workers: u32,
        rows: Option<f64>,
    ) -> Path {
        let s = self.env.settings;
        let divisor = self.divisor(workers);
        let (mut total, mut sum) = (0.0, 0.0);
        let mut startup = parts.first().map_or(0.0, |p| p.startup);
        match shared_from {
            None => {
                total = parts.iter().map(|p| p.total).sum();
                sum = parts.iter().map(|p| p.rows).sum();
            }
            Some(from) => {
                for (i, p) in parts.iter().enumerate() {
                    if i < workers as usize {
                        startup = startup.min(p.startup);
                    }
                    if i < from {
                        sum += p.rows / divisor;
                    } else {
                        sum += p.rows * self.divisor(p.workers) / divisor;
                        total += p.total;
                    }
                    sum = crate::cost::clamp_rows(sum);
                }
                total += spread(parts[..from].iter().map(|p| p.total), workers as usize);
            }
        }
        total += 0.5 * s.cpu_tuple_cost * sum;
        let cost = crate::cost::scan::Cost {
            startup,
            total,
            disabled: parts.iter().map(|p| p.disabled).sum(),
        };
        let mut path = self.plain_path(rel, PathKind::Append { parts, shared_from }, cost);
        path.workers = workers;
        path.rows = rows.unwrap_or(sum);
        path
    }
}

/// How long workers take that each take the next of these until there are none.
fn spread(costs: impl Iterator<Item = f64>, workers: usize) -> f64 {
    let mut busy: Vec<f64> = Vec::new();
    for cost in costs {
        if busy.len() < workers.max(1) {
            busy.push(cost);
        } else if let Some(least) = busy.iter_mut().min_by(|a, b| a.total_cmp(b)) {
            *least += cost;
        }
    }
    busy.into_iter().fold(0.0, f64::max)
}
