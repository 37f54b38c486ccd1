//! GROUP BY, GROUPING, and the check that nothing else is ungrouped.

use crate::clause::{assign_ref, same_expr};
use crate::state::{Analyzer, Kind, loc};
use base::{Oid, Result, err};
use ir::{
    Expr, GroupingFunc, GroupingSet, Location, Query, RteKind, SortGroupClause, TargetEntry, Var,
};
use parser::ast::{self, ExprKind, GroupItem};
use std::cell::RefCell;

impl Analyzer<'_> {
    /// `transformGroupClause`.
    pub fn group_clause(
        &mut self,
        items: &[GroupItem],
        targets: &mut Vec<TargetEntry>,
        sort: &[SortGroupClause],
    ) -> Result<(Vec<SortGroupClause>, Vec<GroupingSet>)> {
        let mut clauses = Vec::new();
        let mut sets = Vec::new();
        let has_sets = items.iter().any(|i| !matches!(i, GroupItem::Expr(_)));
        for item in items {
            match item {
                GroupItem::Expr(e) => {
                    let refs = self.group_refs(e, targets, sort, &mut clauses)?;
                    if has_sets {
                        sets.push(GroupingSet::Simple(refs));
                    }
                }
                other => sets.push(self.grouping_set(other, targets, sort, &mut clauses)?),
            }
        }
        Ok((clauses, sets))
    }

    /// An expression of GROUP BY; an unnamed row is all its fields.
    fn group_refs(
        &mut self,
        e: &ast::Expr,
        targets: &mut Vec<TargetEntry>,
        sort: &[SortGroupClause],
        clauses: &mut Vec<SortGroupClause>,
    ) -> Result<Vec<u32>> {
        if let ExprKind::Row { fields, explicit: false } = &e.kind {
            let mut refs = Vec::new();
            for f in fields {
                refs.extend(self.group_refs(f, targets, sort, clauses)?);
            }
            return Ok(refs);
        }
        let i = self.target_for(e, targets, Kind::GroupBy, false)?;
        let known = targets[i].sort_group_ref;
        if known > 0 && clauses.iter().any(|c| c.target_ref == known) {
            return Ok(vec![known]);
        }
        // Group in ORDER BY's way where it has one.
        let sorted = sort.iter().find(|c| known > 0 && c.target_ref == known);
        let clause = match sorted {
            Some(c) => c.clone(),
            None => {
                let place = loc(e.location());
                self.group_clause_for(targets, i).map_err(|e| e.at(place))?
            }
        };
        let target_ref = assign_ref(targets, i);
        clauses.push(clause);
        Ok(vec![target_ref])
    }

    fn grouping_set(
        &mut self,
        item: &GroupItem,
        targets: &mut Vec<TargetEntry>,
        sort: &[SortGroupClause],
        clauses: &mut Vec<SortGroupClause>,
    ) -> Result<GroupingSet> {
        base::stack::check()?;
        let mut each = |a: &mut Self, list: &[ast::Expr]| -> Result<Vec<GroupingSet>> {
            let mut sets = Vec::new();
            for e in list {
                sets.push(GroupingSet::Simple(a.group_refs(e, targets, sort, clauses)?));
            }
            Ok(sets)
        };
        Ok(match item {
            GroupItem::Empty(_) => GroupingSet::Empty,
            GroupItem::Expr(e) => GroupingSet::Simple(self.group_refs(e, targets, sort, clauses)?),
            GroupItem::Rollup(list, _) => GroupingSet::Rollup(each(self, list)?),
            GroupItem::Cube(list, pos) => {
                if list.len() > 12 {
                    return Err(
                        err!(TOO_MANY_COLUMNS, "CUBE is limited to 12 elements").at(loc(*pos))
                    );
                }
                GroupingSet::Cube(each(self, list)?)
            }
            GroupItem::Sets(items, _) => {
                let mut sets = Vec::new();
                for inner in items {
                    sets.push(self.grouping_set(inner, targets, sort, clauses)?);
                }
                GroupingSet::Sets(sets)
            }
        })
    }

    /// GROUPING(..).
    pub fn grouping_call(&mut self, args: &[ast::Expr], at: Location) -> Result<Expr> {
        if args.len() > 31 {
            return Err(
                err!(TOO_MANY_ARGUMENTS, "GROUPING must have fewer than 32 arguments").at(at)
            );
        }
        let mut made = Vec::new();
        for a in args {
            made.push(self.transform(a)?);
        }
        let refs: Vec<&Expr> = made.iter().collect();
        let levels_up = crate::agg::min_level(&refs).unwrap_or(0);
        self.place_aggregate(levels_up, "grouping", at)?;
        Ok(Expr::Grouping(Box::new(GroupingFunc {
            args: made,
            refs: Vec::new(),
            cols: Vec::new(),
            levels_up,
            location: at,
        })))
    }

    /// `parseCheckAggregates`.
    pub fn check_grouping(&mut self, query: &mut Query) -> Result<()> {
        let mut grouped: Vec<(Expr, u32)> = Vec::new();
        for c in &query.group_clause {
            let entry = query.target_list.iter().find(|t| t.sort_group_ref == c.target_ref);
            if let Some(entry) = entry {
                grouped.push((flatten_joins(query, entry.expr.clone()), c.target_ref));
            }
        }
        let sets = !query.grouping_sets.is_empty();
        let common = if sets { common_refs(&query.grouping_sets) } else { None };
        let keys = RefCell::new(Vec::new());
        let check =
            Check { analyzer: self, grouped: &grouped, common, has_sets: sets, keys: &keys };
        let mut functional: Vec<u32> = Vec::new();
        let mut exprs: Vec<Expr> = Vec::new();
        for t in &query.target_list {
            exprs.push(t.expr.clone());
        }
        exprs.extend(query.having.clone());
        for e in exprs {
            let flat = flatten_joins(query, e);
            check.walk(&flat, query, 0, false, &mut functional)?;
        }
        let grouped = grouped.clone();
        query.constraint_deps = keys.take();
        fill_grouping(query, &grouped)
    }
}

struct Check<'c, 'a> {
    analyzer: &'c Analyzer<'a>,
    grouped: &'c [(Expr, u32)],
    common: Option<Vec<u32>>,
    has_sets: bool,
    /// Constraints of the primary keys that columns were found to depend on.
    keys: &'c RefCell<Vec<Oid>>,
}

impl Check<'_, '_> {
    /// `check_ungrouped_columns_walker`; `depth` is how many subqueries inwards we are.
    fn walk(
        &self,
        e: &Expr,
        query: &Query,
        depth: u32,
        direct: bool,
        functional: &mut Vec<u32>,
    ) -> Result<()> {
        base::stack::check()?;
        match e {
            Expr::Const(_) | Expr::Param(_) => return Ok(()),
            Expr::Agg(a) => {
                if a.levels_up == depth {
                    // Arguments of the aggregate are not restricted, its direct ones are.
                    for d in &a.direct_args {
                        self.walk(d, query, depth, true, functional)?;
                    }
                    return Ok(());
                }
                if a.levels_up > depth {
                    return Ok(());
                }
            }
            Expr::Grouping(g) if g.levels_up >= depth => return Ok(()),
            _ => {}
        }
        if depth == 0 && !matches!(e, Expr::Var(_)) {
            for (g, _) in self.grouped.iter().filter(|g| !matches!(g.0, Expr::Var(_))) {
                if same_expr(g, e) {
                    return Ok(());
                }
            }
        }
        if let Expr::Var(v) = e {
            return self.var(v, query, depth, direct, functional);
        }
        if let Expr::SubLink(s) = e {
            let mut result = Ok(());
            ir::walk::query_exprs(&s.query, depth + 1, &mut |inner, level| {
                if result.is_ok() {
                    result = self.walk(inner, query, level, direct, functional);
                }
            });
            result?;
        }
        let mut result = Ok(());
        ir::walk::children(e, &mut |c| {
            if result.is_ok() {
                result = self.walk(c, query, depth, direct, functional);
            }
        });
        result
    }

    fn var(
        &self,
        v: &Var,
        query: &Query,
        depth: u32,
        direct: bool,
        functional: &mut Vec<u32>,
    ) -> Result<()> {
        if v.levels_up != depth {
            return Ok(());
        }
        for (g, _) in self.grouped {
            if let Expr::Var(gv) = g
                && gv.varno == v.varno
                && gv.attno == v.attno
                && gv.levels_up == 0
            {
                return Ok(());
            }
        }
        let rte = query.rte(v.varno);
        if functional.contains(&v.varno) {
            return Ok(());
        }
        if let RteKind::Relation { relid, .. } = &rte.kind {
            let key = self.analyzer.catalog().relation(*relid)?;
            if let Some(index) = key.primary_key().filter(|i| i.is_immediate) {
                let keys = &index.columns[..index.n_keys as usize];
                let covered = keys.iter().all(|k| {
                    self.grouped.iter().any(|(g, r)| {
                        let common = match &self.common {
                            Some(refs) => refs.contains(r),
                            None => !self.has_sets,
                        };
                        common
                            && matches!(g, Expr::Var(gv)
                                if gv.varno == v.varno && gv.attno == *k && gv.levels_up == 0)
                    })
                });
                if covered && !keys.is_empty() {
                    functional.push(v.varno);
                    let own =
                        key.constraints.iter().find(|c| c.index == index.oid && c.kind == b'p');
                    self.keys.borrow_mut().extend(own.map(|c| c.oid));
                    return Ok(());
                }
            }
        }
        let column = match v.attno {
            0 => "*".to_owned(),
            n if n < 0 => "ctid".to_owned(),
            n => rte.eref.columns.get(n as usize - 1).cloned().unwrap_or_default(),
        };
        let name = format!("{}.{column}", rte.eref.name);
        let error = if depth == 0 {
            err!(
                GROUPING_ERROR,
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate \
                 function"
            )
        } else {
            err!(GROUPING_ERROR, "subquery uses ungrouped column \"{name}\" from outer query")
        };
        let error = if direct && depth == 0 {
            error.detail(
                "Direct arguments of an ordered-set aggregate must use only grouped columns.",
            )
        } else {
            error
        };
        Err(error.at(v.location))
    }
}

/// Columns of joins as the columns that they stand for.
fn flatten_joins(query: &Query, mut expr: Expr) -> Expr {
    let has_joins = query.rtable.iter().any(|r| matches!(r.kind, RteKind::Join { .. }));
    if has_joins {
        ir::walk::rewrite_expr(&mut expr, 0, &mut |e, level| {
            let Expr::Var(v) = e else { return None };
            if v.levels_up != level || v.varno == 0 || v.varno as usize > query.rtable.len() {
                return None;
            }
            let RteKind::Join { alias_vars, .. } = &query.rte(v.varno).kind else { return None };
            if v.attno <= 0 {
                return None;
            }
            let mut found = alias_vars.get(v.attno as usize - 1)?.clone();
            found = flatten_joins(query, found);
            if level > 0 {
                ir::walk::shift_levels(&mut found, level as i32, 0);
            }
            if let Expr::Var(inner) = &mut found {
                inner.location = v.location;
            }
            Some(found)
        });
    }
    expr
}

/// The references that are in every grouping set.
fn common_refs(sets: &[GroupingSet]) -> Option<Vec<u32>> {
    let mut common: Option<Vec<u32>> = None;
    for set in expand_sets(sets) {
        common = Some(match common {
            None => set,
            Some(list) => list.into_iter().filter(|r| set.contains(r)).collect(),
        });
    }
    common
}

/// All sets that a GROUP BY with grouping sets means.
pub(crate) fn expand_sets(sets: &[GroupingSet]) -> Vec<Vec<u32>> {
    let mut result: Vec<Vec<u32>> = vec![Vec::new()];
    for set in sets {
        let inner = expand_one(set);
        let mut next = Vec::new();
        for r in &result {
            for i in &inner {
                let mut joined = r.clone();
                joined.extend(i.iter().filter(|x| !r.contains(x)));
                next.push(joined);
            }
        }
        result = next;
    }
    result
}

fn expand_one(set: &GroupingSet) -> Vec<Vec<u32>> {
    let flat = |s: &GroupingSet| match s {
        GroupingSet::Simple(refs) => refs.clone(),
        _ => Vec::new(),
    };
    match set {
        GroupingSet::Empty => vec![Vec::new()],
        GroupingSet::Simple(refs) => vec![refs.clone()],
        GroupingSet::Rollup(list) => {
            (0..=list.len()).rev().map(|n| list[..n].iter().flat_map(flat).collect()).collect()
        }
        GroupingSet::Cube(list) => (0..1u32 << list.len())
            .rev()
            .map(|mask| {
                let chosen = list.iter().enumerate().filter(|(i, _)| mask & (1 << i) != 0);
                chosen.flat_map(|(_, s)| flat(s)).collect()
            })
            .collect(),
        GroupingSet::Sets(list) => list.iter().flat_map(expand_one).collect(),
    }
}

/// `finalize_grouping_exprs`: what GROUPING's arguments refer to.
fn fill_grouping(query: &mut Query, grouped: &[(Expr, u32)]) -> Result<()> {
    let has_any = |e: &Expr| ir::walk::any_levels(e, 0, &mut |e, _| matches!(e, Expr::Grouping(_)));
    if !query.target_list.iter().map(|t| &t.expr).chain(&query.having).any(has_any) {
        return Ok(());
    }
    let snapshot = query.clone();
    let mut problem = None;
    // Those of subqueries may be this query's as well.
    let mut fix = |e: &mut Expr| {
        ir::walk::rewrite_expr(e, 0, &mut |e, level| {
            let Expr::Grouping(g) = e else { return None };
            if g.levels_up != level || !g.refs.is_empty() {
                return None;
            }
            let mut g = g.clone();
            for arg in &g.args {
                let mut own = arg.clone();
                ir::walk::shift_levels(&mut own, -(level as i32), level);
                let flat = flatten_joins(&snapshot, own);
                match grouped.iter().find(|(g, _)| same_expr(g, &flat)) {
                    Some((_, r)) => g.refs.push(*r),
                    None => {
                        problem.get_or_insert(arg.location());
                    }
                }
            }
            Some(Expr::Grouping(g))
        });
    };
    query.target_list.iter_mut().for_each(|t| fix(&mut t.expr));
    query.having.iter_mut().for_each(fix);
    match problem {
        Some(at) => Err(err!(
            GROUPING_ERROR,
            "arguments to GROUPING must be grouping expressions of the associated query level"
        )
        .at(at)),
        None => Ok(()),
    }
}
