//! Inheritance trees, partitioned tables and UNION ALL: one relation for each member, appended.

use super::member::table_of;
use super::{Path, PathKind};
use crate::prep::const_fold::simplify;
use crate::rel::{BaseKind, EcMember, Partitioned, Restriction, Scheme};
use crate::relids::Relids;
use crate::root::Root;
use base::{Oid, Result};
use catalog::RelationDesc;
use catalog::partition::{BoundKind, Partitioning};
use ir::{Expr, RteKind, Var};
use std::rc::Rc;
use std::sync::Arc;

impl Root<'_> {
    /// If the table has children: adds a relation for each member of its tree.
    pub fn expand_inheritance(&mut self, rel: usize) -> Result<()> {
        let BaseKind::Table(desc) = self.rels[rel].kind.clone() else { return Ok(()) };
        if !desc.has_subclass && desc.kind.has_storage() {
            return Ok(());
        }
        if let Some(watch) = self.env.watch {
            // Values leave out members.
            watch.lose();
        }
        let index = self.rels[rel].rtindex;
        let changed = self.query.result_relation == index;
        if self.query.command == ir::CmdType::Insert && changed {
            return Ok(());
        }
        let mut leaves = Vec::new();
        if desc.kind.has_storage() {
            let members = self.collect_members(desc.oid)?;
            if members.len() == 1 {
                return Ok(());
            }
            self.rels[rel].kind = BaseKind::AppendRel(desc.clone());
            self.load_extended(rel, &desc, true)?;
            for m in members.iter().filter(|m| m.kind.has_storage()) {
                let child = self.add_child(index, rel, m)?;
                leaves.push(self.rels[child].rtindex);
                self.rels[rel].direct.push(child);
            }
        } else {
            self.expand_partitions(rel, index, &desc, &mut leaves)?;
            let whole_row = self.rels[rel].needed.contains_key(&0);
            // A union's members are not joined one by one.
            let joins = self.env.settings.enable_partitionwise_join && !self.has_union_above(rel);
            self.rels[rel].by_partition = joins && !whole_row;
        }
        for mark in self.row_marks.iter_mut().filter(|m| m.rtindex == index) {
            mark.members.clone_from(&leaves);
        }
        self.rels[rel].children = leaves;
        Ok(())
    }

    /// The members of a tree that is not partitioned: children before grandchildren.
    fn collect_members(&self, oid: Oid) -> Result<Vec<Arc<RelationDesc>>> {
        let mut out = vec![self.env.catalog.relation(oid)?];
        let mut at = 0;
        while let Some(parent) = out.get(at).cloned() {
            if parent.has_subclass {
                for child in self.env.catalog.children(parent.oid)? {
                    if !out.iter().any(|m| m.oid == child) {
                        out.push(self.env.catalog.relation(child)?);
                    }
                }
            }
            at += 1;
        }
        Ok(out)
    }

    /// Adds a relation for each partition, those of partitions that are partitioned right after
    /// them.
    fn expand_partitions(
        &mut self,
        rel: usize,
        top: u32,
        desc: &Arc<RelationDesc>,
        leaves: &mut Vec<u32>,
    ) -> Result<()> {
        self.rels[rel].kind = BaseKind::AppendRel(desc.clone());
        self.load_extended(rel, desc, true)?;
        let partitioning = Partitioning::load(self.env.catalog, desc)?;
        let varno = self.rels[rel].rtindex;
        let keys = self.keys_of(desc, desc, varno)?;
        let (mut bounds, mut parts) = (Vec::new(), Vec::new());
        for oid in partitioning.in_order()? {
            let member = self.env.catalog.relation(oid)?;
            let child = self.add_child(top, rel, &member)?;
            if member.kind.has_storage() {
                leaves.push(self.rels[child].rtindex);
            } else {
                self.expand_partitions(child, top, &member, leaves)?;
            }
            let bound = partitioning.parts.iter().find(|p| p.0 == oid).map(|p| p.1.clone());
            bounds.push(bound.unwrap_or(BoundKind::Default));
            parts.push(Some(child));
        }
        self.rels[rel].direct = parts.iter().flatten().copied().collect();
        let scheme = Rc::new(Scheme {
            strategy: partitioning.strategy,
            families: partitioning.keys.iter().map(|k| k.family).collect(),
            types: partitioning.keys.iter().map(|k| k.input_type).collect(),
            collations: partitioning.keys.iter().map(|k| k.collation).collect(),
            partitioning,
        });
        self.rels[rel].partitioned = Some(Rc::new(Partitioned {
            scheme,
            nullable_keys: vec![Vec::new(); keys.len()],
            keys: keys.into_iter().map(|k| vec![k]).collect(),
            bounds,
            parts,
        }));
        Ok(())
    }

    fn add_child(
        &mut self,
        parent: u32,
        above: usize,
        member: &Arc<RelationDesc>,
    ) -> Result<usize> {
        member.check_handler()?;
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
        self.place_below(rel, above);
        Ok(rel)
    }

    /// Adds a relation for each member of a UNION ALL.
    pub fn expand_union(&mut self, rel: usize, members: &[ir::UnionMember]) -> Result<()> {
        let mut leaves = Vec::new();
        for m in members {
            let index = m.rtindex;
            let kind = self.base_kind(index)?;
            let child = self.add_rel(kind, Relids::single(index), index);
            self.base[index as usize] = Some(child);
            self.place_below(child, rel);
            self.rels[child].columns = Some(m.columns.clone().into());
            self.open_source(child, index)?;
            leaves.push(index);
            self.rels[rel].direct.push(child);
        }
        self.rels[rel].children = leaves;
        Ok(())
    }

    fn place_below(&mut self, rel: usize, above: usize) {
        let index = self.rels[above].rtindex;
        self.rels[rel].parent = self.rels[above].parent.or(Some(index));
        self.rels[rel].ancestors = [&self.rels[above].ancestors[..], &[index]].concat();
        self.has_members = true;
    }

    /// Whether the relation is a member of a UNION ALL, or of a tree that is one.
    fn has_union_above(&self, rel: usize) -> bool {
        let top = self.rels[rel].parent.and_then(|p| self.base_rel(p));
        top.is_some_and(|t| matches!(t.kind, BaseKind::UnionAll))
    }

    /// Finds out which members of a tree, or of a level in it, may have rows that are wanted, and
    /// how many.
    pub fn size_append(&mut self, rel: usize) -> Result<()> {
        let top = self.rels[rel].parent.unwrap_or(self.rels[rel].rtindex);
        let mut live = Vec::new();
        let mut leaves = Vec::new();
        let (mut rows, mut tuples, mut bytes) = (0.0, 0.0, 0.0);
        let mut widths: Vec<(i16, f64)> = Vec::new();
        for child in std::mem::take(&mut self.rels[rel].direct) {
            if !self.size_member(rel, top, child)? {
                continue;
            }
            let c = &self.rels[child];
            match &c.kind {
                BaseKind::AppendRel(_) | BaseKind::UnionAll => {
                    leaves.extend(c.children.iter().copied())
                }
                _ => leaves.push(c.rtindex),
            }
            if !c.dummy {
                rows += c.rows;
                tuples += c.tuples;
                bytes += c.rows * f64::from(c.target.width);
                self.add_member_widths(rel, child, &mut widths);
            }
            live.push(child);
        }
        if let Some(p) = &mut self.rels[rel].partitioned {
            let p = Rc::make_mut(p);
            for part in &mut p.parts {
                *part = part.filter(|c| live.contains(c));
            }
        }
        let r = &mut self.rels[rel];
        r.dummy = live.is_empty();
        (r.direct, r.children) = (live, leaves);
        r.rows = crate::cost::clamp_rows(rows);
        r.tuples = tuples;
        if rows > 0.0 {
            r.widths =
                widths.iter().map(|(a, w)| (*a, (w / rows).round_ties_even() as i32)).collect();
            Rc::make_mut(&mut r.target).width = (bytes / rows).round_ties_even() as i32;
        }
        Ok(())
    }

    /// Adds up the widths of a member's columns, by the numbers they have above.
    fn add_member_widths(&self, rel: usize, child: usize, widths: &mut Vec<(i16, f64)>) {
        let c = &self.rels[child];
        // The columns of both are the same by position.
        for (own, e) in self.rels[rel].target.exprs.iter().zip(&c.target.exprs) {
            let Expr::Var(v) = own else { continue };
            let width = c.rows * f64::from(self.expr_width(e));
            match widths.iter_mut().find(|w| w.0 == v.attno) {
                Some(w) => w.1 += width,
                None => widths.push((v.attno, width)),
            }
        }
    }

    /// Makes a member what the tree is: conditions, columns, size. False if it is not needed.
    fn size_member(&mut self, rel: usize, top: u32, child: usize) -> Result<bool> {
        let Some(top_rel) = self.base[top as usize] else { return Ok(false) };
        if !self.may_have_rows(child)? {
            return Ok(false);
        }
        let own = self.rels[child].relids.clone();
        let Some(restrictions) = self.conditions_of_member(top_rel, child)? else {
            return Ok(false);
        };
        let parent = &self.rels[top_rel];
        let mut target = self.target_for_members(&parent.target, &own)?;
        target.refs = vec![0; target.exprs.len()];
        let join_info = self.restrictions_for_members(&parent.join_info, &own)?;
        let has_ec_joins = parent.has_ec_joins;
        let by_partition = parent.by_partition;
        let lateral = parent.lateral.clone();
        let needed = self.member_needs(top_rel, child)?;
        self.add_member_classes(top, &own)?;
        let c = &mut self.rels[child];
        c.target = Rc::new(target);
        (c.restrictions, c.join_info, c.needed) = (restrictions, join_info, needed);
        (c.has_ec_joins, c.by_partition, c.lateral) = (has_ec_joins, by_partition, lateral);
        let index = c.rtindex;
        if let RteKind::Subquery { query, .. } = &self.query.rte(index).kind {
            let query = (**query).clone();
            self.plan_source(child, index, query)?;
        }
        if self.rels[rel].parallel {
            self.consider_parallel(child)?;
            self.rels[rel].parallel = self.rels[child].parallel;
        }
        self.mark_partial_indexes(child);
        self.size_base(child)?;
        self.rels[rel].parallel &= self.rels[child].parallel;
        Ok(true)
    }

    /// Opens a table of a tree. False if the bounds of partitions rule its rows out.
    fn may_have_rows(&mut self, child: usize) -> Result<bool> {
        let Some(member) = table_of(&self.rels[child].kind).cloned() else { return Ok(true) };
        if self.rels[child].columns.is_some() {
            // It is the top of its tree, which has been opened.
            return Ok(true);
        }
        let above = self.rels[child].ancestors.iter().filter_map(|a| self.base_rel(*a));
        let named = above.filter_map(|r| Some((r, table_of(&r.kind)?.clone()))).next();
        let Some((named, desc)) = named else { return Ok(false) };
        let index = named.rtindex;
        let clauses: Vec<Expr> = named.restrictions.iter().map(|r| r.clause.clone()).collect();
        if self.is_pruned(&desc, index, &member, &clauses)? {
            return Ok(false);
        }
        if member.kind.has_storage() {
            self.load_relation(child)?;
        } else {
            self.global.borrow_mut().relation_oids.push(member.oid);
        }
        Ok(true)
    }

    /// The conditions of the tree over a member. None if they cannot hold.
    fn conditions_of_member(
        &self,
        top: usize,
        child: usize,
    ) -> Result<Option<Vec<Rc<Restriction>>>> {
        let own = &self.rels[child].relids;
        let moved = self.restrictions_for_members(&self.rels[top].restrictions, own)?;
        if !matches!(self.rels[top].kind, BaseKind::UnionAll) {
            return Ok(Some(moved));
        }
        let mut out = Vec::new();
        for r in moved {
            // What the columns are here may settle the condition.
            let clause = simplify(r.clause.clone(), self.env, false)?;
            if r.pseudoconstant || clause == r.clause {
                out.push(r);
                continue;
            }
            for part in ir::walk::conjuncts(clause) {
                if super::scan::is_false(&part) {
                    return Ok(None);
                }
                if matches!(part, Expr::Const(_)) {
                    continue;
                }
                let place = crate::restriction::Placement {
                    pushed_down: true,
                    required: Some(own.clone()),
                    security_level: r.security_level,
                    ..Default::default()
                };
                out.push(self.restriction_as(part, place, r.origin)?);
            }
        }
        Ok(Some(out))
    }

    /// What is needed of a member's columns.
    fn member_needs(&self, top: usize, child: usize) -> Result<foldhash::HashMap<i16, Relids>> {
        let mut out: foldhash::HashMap<i16, Relids> = Default::default();
        let (index, own) = (self.rels[top].rtindex, &self.rels[child].relids);
        for (a, by) in &self.rels[top].needed {
            let column = Expr::Var(Var::new(index, *a, Oid(2249), -1, Oid::INVALID));
            ir::walk::each(&self.for_members(&column, own)?, &mut |e| {
                if let Expr::Var(v) = e {
                    out.entry(v.attno).or_default().extend(by);
                }
            });
        }
        Ok(out)
    }

    /// Adds the forms that members of equivalence classes have over a member of the tree.
    fn add_member_classes(&mut self, top: u32, own: &Relids) -> Result<()> {
        let parent = Relids::single(top);
        for i in 0..self.ecs.len() {
            if self.ecs[i].merged.is_some() || self.ecs[i].has_volatile {
                continue;
            }
            let mut new = Vec::new();
            for m in self.ecs[i].members.iter().filter(|m| m.relids == parent) {
                new.push(EcMember {
                    expr: self.for_members(&m.expr, own)?,
                    relids: own.clone(),
                    is_const: false,
                    ty: m.ty,
                });
            }
            self.ecs[i].of_children.extend(new);
        }
        Ok(())
    }

    /// Adds the ways to scan each member, and to append what they give.
    pub fn append_paths(&mut self, rel: usize) -> Result<()> {
        let mut live = Vec::new();
        for child in self.rels[rel].direct.clone() {
            if !self.rels[rel].parallel {
                self.rels[child].parallel = false;
            }
            self.scan_paths(child)?;
            if !self.rels[child].dummy {
                live.push(child);
            }
        }
        self.add_append_paths(rel, &live)
    }

    /// Adds the ways to append the rows of `live`, which are the parts of `rel`.
    pub fn add_append_paths(&mut self, rel: usize, live: &[usize]) -> Result<()> {
        if live.is_empty() {
            self.rels[rel].dummy = true;
            self.rels[rel].paths.clear();
            self.rels[rel].partial.clear();
            let path = self.dummy_path(rel);
            self.rels[rel].add_path(path);
            return Ok(());
        }
        let whole = |root: &Self, startup: bool| -> Option<Vec<Rc<Path>>> {
            let mut parts = Vec::new();
            for c in live {
                let c = &root.rels[*c];
                let best = if startup { &c.cheapest_startup } else { &c.cheapest_total };
                let best = best.as_ref().filter(|p| p.param == c.lateral)?;
                flatten_append(best, &mut parts);
            }
            Some(parts)
        };
        if let Some(parts) = whole(self, false) {
            let path = self.append_path(rel, parts, Vec::new());
            self.rels[rel].add_path(path);
        }
        if self.tuple_fraction > 0.0
            && let Some(parts) = whole(self, true)
        {
            let path = self.append_path(rel, parts, Vec::new());
            self.rels[rel].add_path(path);
        }
        if self.rels[rel].parallel && self.rels[rel].lateral.is_empty() {
            self.partial_appends(rel, live);
        }
        self.ordered_appends(rel, live)?;
        if self.rels[rel].rtindex != 0 {
            self.param_appends(rel, live)?;
        }
        Ok(())
    }

    /// An append of these paths, which have the order of `keys` if one is run after the other.
    pub(super) fn append_path(
        &self,
        rel: usize,
        parts: Vec<Rc<Path>>,
        keys: Vec<crate::rel::PathKey>,
    ) -> Path {
        let s = self.env.settings;
        let rows: f64 = parts.iter().map(|p| p.rows).sum();
        let safe = parts.iter().all(|p| p.parallel_safe);
        let only = match &parts[..] {
            [one] => Some(one.clone()),
            _ => None,
        };
        let startup = match keys.is_empty() {
            true => parts.first().map_or(0.0, |p| p.startup),
            false => parts.iter().map(|p| p.startup).sum(),
        };
        let cost = crate::cost::scan::Cost {
            startup,
            total: parts.iter().map(|p| p.total).sum::<f64>() + 0.5 * s.cpu_tuple_cost * rows,
            disabled: parts.iter().map(|p| p.disabled).sum(),
        };
        let kind = PathKind::Append { parts, shared_from: None };
        let mut path = self.plain_path(rel, kind, cost);
        path.rows = rows;
        path.parallel_safe &= safe;
        path.pathkeys = keys;
        if let Some(one) = only {
            // It will be left out.
            (path.startup, path.total) = (one.startup, one.total);
            path.pathkeys = one.pathkeys.clone();
        }
        path
    }

    /// Appends of parameterised scans of all members.
    fn param_appends(&mut self, rel: usize, live: &[usize]) -> Result<()> {
        let mut sets: Vec<Relids> = Vec::new();
        for c in live {
            for p in &self.rels[*c].paths {
                if p.param != self.rels[*c].lateral && !sets.contains(&p.param) {
                    sets.push(p.param.clone());
                }
            }
        }
        let relids = self.rels[rel].relids.clone();
        let top = self.top_relids(&relids);
        let Some(top_rel) = top.singleton().and_then(|t| self.base[t as usize]) else {
            return Ok(());
        };
        for outer in sets {
            // The conditions are those of the table at the top, so that they are the same below.
            self.generate_join_implied(&outer, &top)?;
            let (_, all) = self.param_rows(top_rel, &outer)?;
            let clauses = self.restrictions_for_members(&all, &relids)?;
            let mut parts = Vec::new();
            for c in live {
                let own = self.rels[*c].relids.clone();
                let clauses = self.restrictions_for_members(&all, &own)?;
                match self.cheapest_with_params(*c, &outer, &clauses)? {
                    Some(part) => parts.push(part),
                    None => break,
                }
            }
            if parts.len() < live.len() {
                continue;
            }
            let mut flat = Vec::new();
            parts.iter().for_each(|p| flatten_append(p, &mut flat));
            let mut path = self.append_path(rel, flat, Vec::new());
            path.param = outer;
            path.param_clauses = clauses;
            path.pathkeys = Vec::new();
            self.rels[rel].add_path(path);
        }
        Ok(())
    }

    /// The cheapest scan of a member that needs these relations' columns and tests the conditions.
    fn cheapest_with_params(
        &self,
        rel: usize,
        outer: &Relids,
        clauses: &[Rc<Restriction>],
    ) -> Result<Option<Rc<Path>>> {
        let mut best: Option<Path> = None;
        for p in self.rels[rel].paths.iter().filter(|p| p.param.is_subset(outer)) {
            if let Some(new) = self.with_params(rel, p, outer, clauses)?
                && best.as_ref().is_none_or(|b| (new.disabled, new.total) < (b.disabled, b.total))
            {
                best = Some(new);
            }
        }
        Ok(best.map(Rc::new))
    }

    /// The path with all of these conditions tested, and the outer relations that they need.
    fn with_params(
        &self,
        rel: usize,
        p: &Rc<Path>,
        outer: &Relids,
        clauses: &[Rc<Restriction>],
    ) -> Result<Option<Path>> {
        if let PathKind::Append { parts, shared_from: None } = &p.kind {
            let members = self.rels[rel].relids.clone();
            if members.len() != 1 {
                return Ok(None);
            }
            let mut new = Vec::new();
            for part in parts {
                let own = self.rels[part.rel].relids.clone();
                let mut moved = Vec::new();
                for c in clauses {
                    moved.push(self.move_to_member(c, &members, &own)?);
                }
                match self.with_params(part.rel, part, outer, &moved)? {
                    Some(part) => new.push(Rc::new(part)),
                    None => return Ok(None),
                }
            }
            let mut path = self.append_path(rel, new, Vec::new());
            path.param = outer.clone();
            path.param_clauses = clauses.to_vec();
            return Ok(Some(path));
        }
        let known = matches!(
            p.kind,
            PathKind::SeqScan
                | PathKind::SampleScan
                | PathKind::Index(_)
                | PathKind::Bitmap(_)
                | PathKind::Subquery
                | PathKind::Result { .. }
        );
        if !known {
            return Ok(None);
        }
        let mut new = (**p).clone();
        let missing: Vec<_> = clauses
            .iter()
            .filter(|c| !p.param_clauses.iter().any(|x| super::join::same_condition(x, c)))
            .cloned()
            .collect();
        if !missing.is_empty() {
            let quals = self.restriction_cost(&missing);
            new.startup += quals.startup;
            let read =
                if matches!(p.kind, PathKind::SeqScan) { self.rels[rel].tuples } else { p.rows };
            new.total += quals.startup + quals.per_row * read;
            let sel = self.list_selectivity(&missing, self.rels[rel].rtindex, None)?;
            new.rows = crate::cost::clamp_rows(p.rows * sel);
            new.param_clauses.extend(missing);
        }
        new.param = outer.clone();
        new.pathkeys = Vec::new();
        Ok(Some(new))
    }

    /// A condition over a level of partitions as one over a member of that level.
    fn move_to_member(
        &self,
        r: &Rc<Restriction>,
        from: &Relids,
        to: &Relids,
    ) -> Result<Rc<Restriction>> {
        let (Some(from), Some(to)) = (from.singleton(), to.singleton()) else {
            return Ok(r.clone());
        };
        let clause = self.for_member(&r.clause, from, to)?;
        let place = crate::restriction::Placement {
            pushed_down: r.pushed_down,
            outer_relids: r.outer_relids.clone(),
            security_level: r.security_level,
            parent_ec: r.parent_ec,
            ..Default::default()
        };
        let new = self.restriction_as(clause, place, r.origin)?;
        new.left_ec.set(r.left_ec.get());
        new.right_ec.set(r.right_ec.get());
        Ok(new)
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

/// Adds a path to the parts of an append; an append's parts are taken apart.
pub(super) fn flatten_append(path: &Rc<Path>, parts: &mut Vec<Rc<Path>>) {
    match &path.kind {
        PathKind::Append { parts: own, shared_from: None } => parts.extend(own.iter().cloned()),
        PathKind::MergeAppend { parts: own } => parts.extend(own.iter().cloned()),
        _ => parts.push(path.clone()),
    }
}
