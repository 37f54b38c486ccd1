//! Planning one query level from beginning to end.

use crate::prep::{self, const_fold, loose, outer_join, pull_up, quals, sublinks, volatility};
use crate::rel::{BaseKind, CteInfo, SubqueryInfo};
use crate::relids::Relids;
use crate::root::{Env, Global, Root};
use crate::subselect::replace_outer_refs;
use base::{Oid, Result};
use foldhash::HashMap;
use ir::walk;
use ir::{
    CmdType, Expr, FromItem, JoinKind, MergeMatch, Plan, PlanRowMark, Query, Rte, RteKind,
    SubLinkKind, SubPlan,
};
use std::cell::RefCell;
use std::rc::Rc;

/// CTEs by name.
pub type CteScope = HashMap<String, Rc<CteInfo>>;

/// A planned level: its plan speaks of its own range table.
pub struct Level {
    pub plan: Plan,
    pub rtable: Vec<Rte>,
    pub row_marks: Vec<PlanRowMark>,
    /// Order of the output: column, sort operator, descending, nulls first.
    pub order: Vec<(i16, Oid, bool, bool)>,
    pub unique_columns: Vec<Vec<i16>>,
}

/// The work table that a recursive term reads: exec param, rows, width.
pub type WorkTable = (u32, f64, i32);

/// Plans a query and all queries inside it.
pub fn plan_query(
    env: &Env,
    global: &RefCell<Global>,
    query: Query,
    parent_ctes: Vec<CteScope>,
    tuple_fraction: f64,
    work_table: Option<WorkTable>,
) -> Result<Level> {
    let mut root = Root::new(env, global, query);
    root.parent_ctes = parent_ctes;
    root.tuple_fraction = tuple_fraction;
    root.work_table = work_table;
    root.plan_ctes()?;
    prep::inline::sets(&mut root.query, env)?;
    prep::note_states(&mut root.query, env)?;
    merge_to_join(&mut root.query);
    sublinks::pull_up_sublinks(&mut root.query, env)?;
    pull_up::pull_up_subqueries(&mut root.query, env)?;
    prep::union_all::flatten(&mut root.query, env)?;
    pull_up::flatten_join_columns(&mut root.query);
    prep::stored::ask_stored_forms(&mut root.query, env)?;
    root.note_relations()?;
    root.preprocess()?;
    outer_join::reduce_outer_joins(&mut root.query, env)?;
    remove_useless_results(&mut root.query);
    root.remove_self_joins()?;
    root.plan_upper()
}

/// MERGE reads its target joined with its source; which rows without a partner are wanted
/// follows from its actions.
fn merge_to_join(query: &mut Query) {
    if query.command != CmdType::Merge {
        return;
    }
    let wants = |m| query.merge_actions.iter().any(|a| a.matched == m);
    let (by_source, by_target) =
        (wants(MergeMatch::NotMatchedBySource), wants(MergeMatch::NotMatchedByTarget));
    let kind = match (by_source, by_target) {
        (true, true) => JoinKind::Full,
        (true, false) => JoinKind::Left,
        (false, true) => JoinKind::Right,
        (false, false) => JoinKind::Inner,
    };
    let mut items = std::mem::take(&mut query.jointree.items);
    let source = match items.len() {
        1 => items.remove(0),
        _ => FromItem::From(Box::new(ir::FromExpr { items, quals: None })),
    };
    // A view's condition chooses among the target's rows before they are joined.
    let table = FromItem::Table(query.result_relation);
    let target = match query.jointree.quals.take() {
        Some(q) => FromItem::From(Box::new(ir::FromExpr { items: vec![table], quals: Some(q) })),
        None => table,
    };
    let join = ir::JoinExpr {
        kind,
        natural: false,
        left: target,
        right: source,
        using: Vec::new(),
        using_alias: None,
        quals: query.merge_join_condition.clone(),
        rtindex: 0,
    };
    if by_source {
        note_source(query, &join.right);
    }
    query.jointree.items = vec![FromItem::Join(Box::new(join))];
}

/// Where rows may have no source, "matched" means that the condition holds and there is one: the
/// condition alone may hold of nothing but nulls.
fn note_source(query: &mut Query, source: &FromItem) {
    let index = match source {
        FromItem::Table(n) => *n,
        _ => return,
    };
    let rte = &mut query.rtable[index as usize - 1];
    match &mut rte.kind {
        // Pulled up, its whole row would be a row of nulls rather than null.
        RteKind::Subquery { barrier, .. } => *barrier = true,
        RteKind::Relation { .. } | RteKind::Values { .. } => {}
        _ => return,
    }
    let whole = Expr::Var(ir::Var::new(index, 0, Oid(2249), -1, Oid::INVALID));
    let there = Expr::NullTest {
        kind: ir::NullTestKind::IsNotNull,
        arg: Box::new(whole),
        is_row: false,
        location: None,
    };
    let all = [there].into_iter().chain(query.merge_join_condition.take()).collect();
    query.merge_join_condition = walk::conjoin(all);
}

/// A joined `Result` (a FROM-less subquery pulled up) adds nothing to an inner join.
fn remove_useless_results(query: &mut Query) {
    let is_result: Vec<bool> =
        query.rtable.iter().map(|r| matches!(r.kind, RteKind::Result)).collect();
    if !is_result.contains(&true) {
        return;
    }
    let result = |i: u32| is_result.get(i as usize - 1) == Some(&true);
    drop_results(&mut query.jointree, &result);
    // Of results alone one is left.
    let mut quals: Vec<Expr> = query.jointree.quals.take().into_iter().collect();
    while let [FromItem::From(_)] = &query.jointree.items[..] {
        let Some(FromItem::From(inner)) = query.jointree.items.pop() else { break };
        query.jointree.items = inner.items;
        quals.extend(inner.quals);
    }
    query.jointree.quals = walk::conjoin(quals.into_iter().flat_map(walk::conjuncts).collect());
}

/// Drops the results of a list that has other items, and those inside its items.
fn drop_results(from: &mut ir::FromExpr, result: &dyn Fn(u32) -> bool) {
    from.items.iter_mut().for_each(|i| drop_results_of(i, result));
    let mut quals: Vec<Expr> = Vec::new();
    let mut left = from.items.len();
    from.items.retain_mut(|i| {
        let lone = match i {
            FromItem::Table(t) => result(*t),
            FromItem::From(f) => matches!(&f.items[..], [FromItem::Table(t)] if result(*t)),
            FromItem::Join(_) => false,
        };
        if !lone || left == 1 {
            return true;
        }
        left -= 1;
        if let FromItem::From(f) = i {
            quals.extend(f.quals.take());
        }
        false
    });
    if !quals.is_empty() {
        quals.extend(from.quals.take());
        from.quals = walk::conjoin(quals.into_iter().flat_map(walk::conjuncts).collect());
    }
}

fn drop_results_of(item: &mut FromItem, result: &dyn Fn(u32) -> bool) {
    match item {
        FromItem::Table(_) => {}
        FromItem::From(f) => drop_results(f, result),
        FromItem::Join(j) => {
            drop_results_of(&mut j.left, result);
            drop_results_of(&mut j.right, result);
            let lone = |i: &FromItem| match i {
                FromItem::Table(t) => result(*t),
                FromItem::From(f) => matches!(&f.items[..], [FromItem::Table(t)] if result(*t)),
                FromItem::Join(_) => false,
            };
            if j.kind == JoinKind::Inner && (lone(&j.left) || lone(&j.right)) {
                let nothing = || FromItem::Table(0);
                let items = vec![
                    std::mem::replace(&mut j.left, nothing()),
                    std::mem::replace(&mut j.right, nothing()),
                ];
                let mut from = ir::FromExpr { items, quals: j.quals.take() };
                drop_results(&mut from, result);
                *item = FromItem::From(Box::new(from));
            }
        }
    }
}

impl Root<'_> {
    /// Plans the CTEs that are not made part of the query.
    fn plan_ctes(&mut self) -> Result<()> {
        prep::inline_ctes(&mut self.query, self.env)?;
        let ctes = std::mem::take(&mut self.query.ctes);
        for cte in &ctes {
            let mut query = (*cte.query).clone();
            let refs = replace_outer_refs(&mut query, self.global);
            let scopes = self.cte_scopes();
            let level = if cte.recursive {
                self.plan_recursive(&cte.name, query, scopes)?
            } else {
                plan_query(self.env, self.global, query, scopes, 0.0, None)?
            };
            let param = self.global.borrow_mut().new_param(Oid(2281));
            let info = CteInfo { subplan: 0, param, rows: level.plan.rows };
            let total = level.plan.total_cost;
            let subplan = self.add_subplan(level);
            let info = CteInfo { subplan, ..info };
            self.init_plans.push(SubPlan {
                kind: SubLinkKind::Cte,
                of_arrays: false,
                test: None,
                param_ids: Vec::new(),
                plan: subplan,
                name: format!("CTE {}", cte.name),
                ty: Oid(2249),
                typmod: -1,
                collation: Oid::INVALID,
                use_hash_table: false,
                unknown_eq_false: false,
                parallel_safe: false,
                set_params: vec![param],
                par_params: refs.iter().map(|r| r.param).collect(),
                args: refs.into_iter().map(|r| r.expr).collect(),
                startup_cost: total,
                per_call_cost: 0.0,
            });
            self.ctes.insert(cte.name.clone(), Rc::new(info));
        }
        Ok(())
    }

    /// Remembers what the plan depends on.
    fn note_relations(&mut self) -> Result<()> {
        let mut g = self.global.borrow_mut();
        for rte in &self.query.rtable {
            match &rte.kind {
                RteKind::Relation { relid, .. } => g.relation_oids.push(*relid),
                RteKind::Subquery { view: Some(v), .. }
                | RteKind::UnionAll { view: Some(v), .. } => g.relation_oids.push(*v),
                _ => {}
            }
        }
        Ok(())
    }

    /// Simplifies all expressions and plans the sublinks in them.
    fn preprocess(&mut self) -> Result<()> {
        let mut query = std::mem::replace(&mut self.query, Query::new(CmdType::Select));
        self.query.rtable = std::mem::take(&mut query.rtable);
        for t in query.target_list.iter_mut().chain(&mut query.returning) {
            t.expr = self.prepare(take(&mut t.expr), false)?;
        }
        for t in &mut query.target_list {
            self.resolve_multi_params(&mut t.expr);
        }
        self.prepare_from(&mut query.jointree)?;
        if let Some(h) = query.having.take() {
            let h = self.prepare(h, true)?;
            self.having = walk::conjuncts(h);
        }
        for w in &mut query.windows {
            for b in [&mut w.frame.start, &mut w.frame.end] {
                if let ir::FrameBound::Preceding(e) | ir::FrameBound::Following(e) = b {
                    *e = self.prepare(take(e), false)?;
                }
            }
        }
        for e in [&mut query.limit_count, &mut query.limit_offset].into_iter().flatten() {
            *e = self.prepare(take(e), false)?;
        }
        if let Some(c) = &mut query.on_conflict {
            for t in &mut c.set {
                t.expr = self.prepare(take(&mut t.expr), false)?;
            }
            for e in [&mut c.where_, &mut c.arbiter_where].into_iter().flatten() {
                *e = self.prepare(take(e), true)?;
            }
            for t in &mut c.set {
                self.resolve_multi_params(&mut t.expr);
            }
        }
        for a in &mut query.merge_actions {
            if let Some(q) = &mut a.qual {
                *q = self.prepare(take(q), true)?;
            }
            for t in &mut a.target_list {
                t.expr = self.prepare(take(&mut t.expr), false)?;
            }
            for t in &mut a.target_list {
                self.resolve_multi_params(&mut t.expr);
            }
        }
        if let Some(e) = &mut query.merge_join_condition {
            *e = self.prepare(take(e), true)?;
        }
        for w in &mut query.with_check_options {
            w.qual = self.prepare(take(&mut w.qual), true)?;
        }
        for at in 0..self.query.rtable.len() {
            self.preprocess_source(at)?;
        }
        query.rtable = std::mem::take(&mut self.query.rtable);
        self.query = query;
        self.move_having()?;
        prep::group_keys::drop_dependent_groups(&mut self.query, self.env)
    }

    /// Simplifies the expressions of an entry of the range table.
    fn preprocess_source(&mut self, at: usize) -> Result<()> {
        let has_exprs = match &self.query.rtable[at].kind {
            RteKind::Function { .. } | RteKind::Values { .. } | RteKind::UnionAll { .. } => true,
            RteKind::Relation { sample, .. } => sample.is_some(),
            _ => false,
        };
        if !has_exprs {
            return Ok(());
        }
        let mut kind = self.query.rtable[at].kind.clone();
        match &mut kind {
            RteKind::Function { functions, .. } => {
                for f in functions {
                    f.expr = self.prepare(take(&mut f.expr), false)?;
                }
            }
            RteKind::Values { lists, .. } => {
                for e in lists.iter_mut().flatten() {
                    *e = self.prepare(take(e), false)?;
                }
            }
            RteKind::UnionAll { members, .. } => {
                for e in members.iter_mut().flat_map(|m| &mut m.columns) {
                    *e = self.prepare(take(e), false)?;
                }
            }
            RteKind::Relation { sample: Some(sample), .. } => {
                for e in sample.args.iter_mut().chain(&mut sample.repeatable) {
                    *e = self.prepare(take(e), false)?;
                }
            }
            _ => {}
        }
        self.query.rtable[at].kind = kind;
        Ok(())
    }

    /// The columns of `SET (a, b) = (SELECT ...)`: numbered by sublink and column until here.
    fn resolve_multi_params(&self, e: &mut Expr) {
        walk::replace(e, &mut |x| {
            let Expr::Param(p) = x else { return None };
            let n = p.id.checked_sub(prep::PLACEHOLDER)?;
            let (_, params) = self.multi_values.iter().find(|m| m.0 == n >> 16)?;
            params.get((n as usize & 0xffff).checked_sub(1)?).cloned()
        });
    }

    fn prepare(&mut self, e: Expr, is_qual: bool) -> Result<Expr> {
        let mut e = const_fold::simplify(e, self.env, false)?;
        if is_qual {
            e = quals::canonicalise(e);
        }
        self.process_sublinks(e, is_qual)
    }

    /// Conditions prepared; None if they always hold.
    fn prepare_quals(&mut self, quals: Option<Expr>) -> Result<Option<Expr>> {
        let Some(q) = quals else { return Ok(None) };
        let q = self.prepare(q, true)?;
        Ok((!matches!(&q, Expr::Const(c) if c.value == types::Datum::Bool(true))).then_some(q))
    }

    fn prepare_from(&mut self, from: &mut ir::FromExpr) -> Result<()> {
        from.quals = self.prepare_quals(from.quals.take())?;
        from.items.iter_mut().try_for_each(|i| self.prepare_item(i))
    }

    fn prepare_item(&mut self, item: &mut FromItem) -> Result<()> {
        match item {
            FromItem::Table(_) => Ok(()),
            FromItem::From(f) => self.prepare_from(f),
            FromItem::Join(j) => {
                j.quals = self.prepare_quals(j.quals.take())?;
                self.prepare_item(&mut j.left)?;
                self.prepare_item(&mut j.right)
            }
        }
    }

    /// HAVING parts without aggregates are better tested before grouping.
    fn move_having(&mut self) -> Result<()> {
        let mut kept = Vec::new();
        for h in std::mem::take(&mut self.having) {
            let aggregate = walk::any(&h, &mut |e| matches!(e, Expr::Agg(_) | Expr::Grouping(_)));
            let subplan = walk::any(&h, &mut |e| matches!(e, Expr::SubPlan(_)));
            if aggregate
                || !self.query.grouping_sets.is_empty()
                || volatility::has_volatile(&h, self.env)?
                || subplan
                || self.tells_equals_apart(&h)?
            {
                kept.push(h);
                continue;
            }
            if self.query.group_clause.is_empty() {
                // It decides on the one group too.
                kept.push(h.clone());
            }
            let mut all: Vec<Expr> = self.query.jointree.quals.take().into_iter().collect();
            all.push(h);
            let all = all.into_iter().flat_map(walk::conjuncts).collect();
            self.query.jointree.quals = walk::conjoin(all);
        }
        self.having = kept;
        Ok(())
    }

    /// Whether a condition may hold for some rows of a group and not for others, since they are
    /// equal and not the same.
    fn tells_equals_apart(&self, h: &Expr) -> Result<bool> {
        let by: Vec<&Expr> = (self.query.group_clause.iter())
            .filter_map(|c| {
                self.query.target_list.iter().find(|t| t.sort_group_ref == c.target_ref)
            })
            .map(|t| &t.expr)
            .collect();
        loose::tells_equals_apart(self.env, h, &|e| by.contains(&e))
    }

    /// Plans the subqueries, CTE references and work tables among the base relations.
    pub fn plan_sources(&mut self) -> Result<()> {
        for index in 1..self.base.len() as u32 {
            if let Some(rel) = self.base[index as usize]
                && self.rels[rel].parent.is_none()
            {
                self.open_source(rel, index)?;
            }
        }
        Ok(())
    }

    /// Finds out what a base relation reads. A subquery of a UNION ALL is planned later, once its
    /// conditions are known.
    pub fn open_source(&mut self, rel: usize, index: u32) -> Result<()> {
        let at = index as usize - 1;
        if let RteKind::Relation { inherit, .. } = self.query.rtable[at].kind {
            self.load_relation(rel)?;
            self.note_sample_refs(rel, index);
            if inherit {
                self.expand_inheritance(rel)?;
            } else if let BaseKind::Table(desc) = &self.rels[rel].kind
                && desc.kind == catalog::RelKind::Partitioned
            {
                // ONLY: it has no rows of its own.
                self.rels[rel].dummy = true;
            }
            return Ok(());
        }
        if let RteKind::Function { .. } | RteKind::Values { .. } = self.query.rtable[at].kind {
            self.note_lateral_refs(rel, index);
            return Ok(());
        }
        let is_member = self.rels[rel].parent.is_some();
        match self.query.rtable[at].kind.clone() {
            RteKind::Subquery { query, .. } if !is_member => {
                self.plan_source(rel, index, *query)?
            }
            RteKind::UnionAll { members, .. } => self.expand_union(rel, &members)?,
            RteKind::Cte { name, levels_up, self_reference, .. } => {
                self.rels[rel].kind = if self_reference {
                    let (param, rows, width) = self.work_table.unwrap_or((0, 10.0, 32));
                    let _ = width;
                    self.rels[rel].tuples = rows;
                    BaseKind::WorkTable(param)
                } else {
                    BaseKind::Cte(self.find_cte(&name, levels_up)?)
                };
            }
            RteKind::NamedTuplestore { .. } => {
                return Err(base::Error::unsupported("a transition table"));
            }
            _ => {}
        }
        Ok(())
    }

    /// What functions and lists of values take from other tables.
    fn note_lateral_refs(&mut self, rel: usize, index: u32) {
        let at = index as usize - 1;
        let kind = std::mem::replace(&mut self.query.rtable[at].kind, RteKind::Result);
        let exprs: Vec<&Expr> = match &kind {
            RteKind::Function { functions, .. } => functions.iter().map(|f| &f.expr).collect(),
            RteKind::Values { lists, .. } => lists.iter().flatten().collect(),
            _ => Vec::new(),
        };
        let mut lateral = Relids::empty();
        for e in exprs {
            let by = self.relids_of(e);
            if !by.is_empty() {
                self.need_columns(e, &Relids::single(index));
                lateral.extend(&by);
            }
        }
        self.rels[rel].lateral = lateral;
        self.query.rtable[at].kind = kind;
    }

    /// What TABLESAMPLE's arguments take from other tables.
    fn note_sample_refs(&mut self, rel: usize, index: u32) {
        if !matches!(self.query.rte(index).kind, RteKind::Relation { sample: Some(_), .. }) {
            return;
        }
        let RteKind::Relation { sample: Some(sample), .. } = self.query.rte(index).kind.clone()
        else {
            return;
        };
        for e in sample.args.iter().chain(&sample.repeatable) {
            let by = self.relids_of(e);
            self.need_columns(e, &Relids::single(index));
            self.rels[rel].lateral.extend(&by);
        }
    }

    fn find_cte(&self, name: &str, levels_up: u32) -> Result<Rc<CteInfo>> {
        let scope = match levels_up {
            0 => Some(&self.ctes),
            n => self.parent_ctes.get(n as usize - 1),
        };
        scope
            .and_then(|s| s.get(name))
            .or_else(|| self.parent_ctes.iter().find_map(|s| s.get(name)))
            .cloned()
            .ok_or_else(|| base::err!(INTERNAL_ERROR, "could not find plan for CTE \"{name}\""))
    }

    pub fn plan_source(&mut self, rel: usize, index: u32, mut query: Query) -> Result<()> {
        let refs = replace_outer_refs(&mut query, self.global);
        for r in &refs {
            let by = self.relids_of(&r.expr);
            self.rels[rel].lateral.extend(&by);
            self.need_columns(&r.expr, &Relids::single(index));
        }
        if !refs.is_empty() {
            self.lateral_refs.insert(index, refs);
        }
        self.push_down_quals(rel, &mut query)?;
        let alone = self.all_base.len() == 1
            && self.query.group_clause.is_empty()
            && !self.query.has_aggs
            && self.query.sort_clause.is_empty()
            && self.query.distinct_clause.is_empty();
        let fraction = if alone { self.tuple_fraction } else { 0.0 };
        let level =
            plan_query(self.env, self.global, query, self.cte_scopes(), fraction, self.work_table)?;
        self.rels[rel].kind = BaseKind::Subquery(Rc::new(SubqueryInfo {
            plan: level.plan,
            rtable: level.rtable,
            order: level.order,
            unique_columns: level.unique_columns,
        }));
        Ok(())
    }

    /// Moves conditions on a subquery's columns into it where that cannot change the result.
    fn push_down_quals(&mut self, rel: usize, query: &mut Query) -> Result<()> {
        let index = self.rels[rel].rtindex;
        let barrier = matches!(
            &self.query.rtable[index as usize - 1].kind,
            RteKind::Subquery { barrier: true, .. }
        );
        if barrier || !takes_quals(query) {
            return Ok(());
        }
        let mut kept = Vec::new();
        for r in std::mem::take(&mut self.rels[rel].restrictions) {
            let unfit = r.pseudoconstant
                || walk::any(&r.clause, &mut |e| {
                    matches!(e, Expr::SubPlan(_)) || matches!(e, Expr::Var(v) if v.attno <= 0)
                })
                || volatility::has_volatile(&r.clause, self.env)?;
            if unfit || !self.moves_into(&r.clause, index, query)? {
                kept.push(r);
                continue;
            }
            move_into(&r.clause, index, query);
        }
        self.rels[rel].restrictions = kept;
        Ok(())
    }

    /// Whether a condition on columns of entry `index` may be tested in its query.
    fn moves_into(&self, clause: &Expr, index: u32, query: &Query) -> Result<bool> {
        let mut columns = Vec::new();
        walk::each(clause, &mut |e| {
            if let Expr::Var(v) = e
                && v.varno == index
            {
                columns.push((v.attno, v.ty));
            }
        });
        let of_entry = |e: &Expr| matches!(e, Expr::Var(v) if v.varno == index);
        let groups = match &query.set_operations {
            Some(op) => is_grouping(op),
            None => !query.distinct_clause.is_empty(),
        };
        if groups && loose::tells_equals_apart(self.env, clause, &of_entry)? {
            return Ok(false);
        }
        if let Some(op) = &query.set_operations {
            for leaf in operands(op) {
                let RteKind::Subquery { query, .. } = &query.rte(leaf).kind else {
                    return Ok(false);
                };
                if !self.moves_into(clause, index, query)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        for (column, ty) in columns {
            let Some(t) = query.target_list.iter().find(|t| t.resno == column) else {
                return Ok(false);
            };
            let distinct = &query.distinct_clause;
            let kept_apart =
                distinct.is_empty() || distinct.iter().any(|d| d.target_ref == t.sort_group_ref);
            if !kept_apart
                || t.expr.ty() != ty
                || walk::any(&t.expr, &mut |x| matches!(x, Expr::SubLink(_)))
                || volatility::has_volatile(&t.expr, self.env)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The entries that a set operation is of.
fn operands(op: &ir::SetOperation) -> Vec<u32> {
    let mut out = Vec::new();
    for side in [&op.left, &op.right] {
        match side {
            ir::SetOperand::Table(index) => out.push(*index),
            ir::SetOperand::Operation(inner) => out.extend(operands(inner)),
        }
    }
    out
}

/// Whether conditions on its output may be tested in a query: it gives each row for itself.
fn takes_quals(query: &Query) -> bool {
    let plain = query.limit_count.is_none()
        && query.limit_offset.is_none()
        && query.windows.is_empty()
        && !query.has_target_srfs
        && query.grouping_sets.is_empty()
        && query.command == CmdType::Select;
    let Some(op) = &query.set_operations else { return plain };
    plain
        && !has_except(op)
        && operands(op).into_iter().all(|leaf| match &query.rte(leaf).kind {
            RteKind::Subquery { query, .. } => takes_quals(query),
            _ => false,
        })
}

/// Whether a set operation gives equal rows once, or compares them.
fn is_grouping(op: &ir::SetOperation) -> bool {
    let within = |side: &ir::SetOperand| match side {
        ir::SetOperand::Table(_) => false,
        ir::SetOperand::Operation(inner) => is_grouping(inner),
    };
    !op.all || op.kind != ir::SetOpKind::Union || within(&op.left) || within(&op.right)
}

fn has_except(op: &ir::SetOperation) -> bool {
    let within = |side: &ir::SetOperand| match side {
        ir::SetOperand::Table(_) => false,
        ir::SetOperand::Operation(inner) => has_except(inner),
    };
    op.kind == ir::SetOpKind::Except || within(&op.left) || within(&op.right)
}

/// Adds a condition on columns of entry `index` to its query, or to all of a set operation.
fn move_into(clause: &Expr, index: u32, query: &mut Query) {
    if let Some(op) = &query.set_operations {
        for leaf in operands(op) {
            if let RteKind::Subquery { query, .. } = &mut query.rtable[leaf as usize - 1].kind {
                move_into(clause, index, query);
            }
        }
        return;
    }
    let mut moved = clause.clone();
    walk::replace(&mut moved, &mut |e| match e {
        Expr::Var(v) if v.varno == index => {
            query.target_list.iter().find(|t| t.resno == v.attno).map(|t| t.expr.clone())
        }
        _ => None,
    });
    let grouped = query.has_aggs || !query.group_clause.is_empty() || query.having.is_some();
    let place = if grouped { &mut query.having } else { &mut query.jointree.quals };
    let mut all: Vec<Expr> = place.take().into_iter().collect();
    all.push(moved);
    *place = walk::conjoin(all.into_iter().flat_map(walk::conjuncts).collect());
}

fn take(e: &mut Expr) -> Expr {
    std::mem::replace(e, Expr::bool_const(false))
}
