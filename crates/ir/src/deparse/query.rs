//! Queries.

use super::constant::Label;
use super::scope::Scope;
use super::{Printer, STEP};
use crate::expr::{Expr, TargetEntry};
use crate::query::*;
use types::Datum;

impl<'a> Printer<'a> {
    /// Prints a query at the current indentation. `show_names`: output columns that have no name
    /// of their own get `AS "?column?"`.
    pub(super) fn query(&mut self, query: &'a Query, show_names: bool) {
        let scope = Scope::of_query(query, &self.scopes, self.names);
        let tables =
            query.rtable.iter().filter(|r| !matches!(r.kind, RteKind::Group { .. })).count();
        let prefix = std::mem::replace(&mut self.prefix, !self.scopes.is_empty() || tables != 1);
        let targets = std::mem::replace(&mut self.targets, &query.target_list);
        let windows = std::mem::replace(&mut self.windows, &query.windows);
        let ordering = std::mem::replace(&mut self.in_order_by, false);
        self.scopes.push(scope);
        let indent = self.indent;
        match query.command {
            CmdType::Select => self.select(query, show_names),
            CmdType::Insert => self.insert(query),
            CmdType::Update => self.update(query),
            CmdType::Delete => self.delete(query),
            CmdType::Merge => self.unsupported = Some("printing a MERGE statement".into()),
            CmdType::Nothing => self.notify(query),
        }
        self.indent = indent;
        self.scopes.pop();
        self.in_order_by = ordering;
        self.windows = windows;
        self.targets = targets;
        self.prefix = prefix;
    }

    /// Prints a query within another one, whose result's names are its own.
    pub(super) fn nested_query(&mut self, query: &'a Query, show_names: bool) {
        let names = self.result_names.take();
        self.query(query, show_names);
        self.result_names = names;
    }

    fn select(&mut self, query: &'a Query, show_names: bool) {
        self.with_clause(query);
        match &query.set_operations {
            Some(op) => self.set_operation(op, query, show_names),
            None => self.basic_select(query, show_names),
        }
        if !query.sort_clause.is_empty() {
            self.clause(" ORDER BY ", -STEP, STEP, 1);
            let by_number = query.set_operations.is_some();
            self.order_by(&query.sort_clause, &query.target_list, by_number);
        }
        if let Some(offset) = &query.limit_offset {
            self.clause(" OFFSET ", -STEP, STEP, 0);
            self.expr(offset, false);
        }
        if let Some(count) = &query.limit_count {
            if query.limit_option == LimitOption::WithTies {
                self.clause(" FETCH FIRST (", -STEP, STEP, 0);
                self.expr(count, false);
                self.put(") ROWS WITH TIES");
            } else {
                self.clause(" LIMIT ", -STEP, STEP, 0);
                match count {
                    Expr::Const(c) if matches!(c.value, Datum::Null) => self.put("ALL"),
                    _ => self.expr(count, false),
                }
            }
        }
        if query.has_for_update {
            self.row_marks(&query.row_marks);
        }
    }

    fn row_marks(&mut self, marks: &'a [RowMark]) {
        for mark in marks.iter().filter(|m| !m.pushed_down) {
            let word = match mark.strength {
                LockStrength::ForKeyShare => " FOR KEY SHARE",
                LockStrength::ForShare => " FOR SHARE",
                LockStrength::ForNoKeyUpdate => " FOR NO KEY UPDATE",
                LockStrength::ForUpdate => " FOR UPDATE",
            };
            self.clause(word, -STEP, STEP, 0);
            if let Some(name) = self.table_name(mark.rtindex) {
                self.put(&format!(" OF {name}"));
            }
            match mark.wait {
                LockWait::Block => {}
                LockWait::NoWait => self.put(" NOWAIT"),
                LockWait::SkipLocked => self.put(" SKIP LOCKED"),
            }
        }
    }

    pub(super) fn with_clause(&mut self, query: &'a Query) {
        if query.ctes.is_empty() {
            return;
        }
        if self.style.indent {
            self.indent += STEP;
            self.put(" ");
        }
        self.put(if query.has_recursive { "WITH RECURSIVE " } else { "WITH " });
        for (i, cte) in query.ctes.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.put_ident(&cte.name);
            if cte.aliased || renamed(cte) {
                self.put("(");
                self.list(&cte.col_names, |p, n| p.put_ident(n));
                self.put(")");
            }
            self.put(match cte.materialize {
                CteMaterialize::Default => " AS (",
                CteMaterialize::Always => " AS MATERIALIZED (",
                CteMaterialize::Never => " AS NOT MATERIALIZED (",
            });
            if self.style.indent {
                self.clause("", 0, 0, 0);
            }
            self.nested_query(&cte.query, true);
            if self.style.indent {
                self.clause("", 0, 0, 0);
            }
            self.put(")");
        }
        if self.style.indent {
            self.indent -= STEP;
            self.clause("", 0, 0, 0);
        } else {
            self.put(" ");
        }
    }

    fn basic_select(&mut self, query: &'a Query, show_names: bool) {
        if self.style.indent {
            self.indent += STEP;
            self.put(" ");
        }
        if let Some(lists) = self.only_values(query) {
            return self.values(lists);
        }
        self.put("SELECT");
        if query.has_distinct_on {
            self.put(" DISTINCT ON (");
            for (i, by) in query.distinct_clause.iter().enumerate() {
                if i > 0 {
                    self.put(", ");
                }
                self.sort_group_expr(by.target_ref, &query.target_list, false);
            }
            self.put(")");
        } else if !query.distinct_clause.is_empty() {
            self.put(" DISTINCT");
        }
        self.target_list(&query.target_list, show_names);
        self.from_clause(query, " FROM ");
        if let Some(quals) = &query.jointree.quals {
            self.clause(" WHERE ", -STEP, STEP, 1);
            self.expr(quals, false);
        }
        self.group_by(query);
        if let Some(having) = &query.having {
            self.clause(" HAVING ", -STEP, STEP, 0);
            self.expr(having, false);
        }
        self.window_clauses(&query.windows);
    }

    fn group_by(&mut self, query: &'a Query) {
        if query.group_clause.is_empty() && query.grouping_sets.is_empty() {
            return;
        }
        self.clause(" GROUP BY ", -STEP, STEP, 1);
        if query.group_distinct {
            self.put("DISTINCT ");
        }
        if query.grouping_sets.is_empty() {
            for (i, by) in query.group_clause.iter().enumerate() {
                if i > 0 {
                    self.put(", ");
                }
                self.sort_group_expr(by.target_ref, &query.target_list, false);
            }
        } else {
            self.list(&query.grouping_sets, |p, s| p.grouping_set(s, &query.target_list, true));
        }
    }

    fn grouping_set(&mut self, set: &'a GroupingSet, targets: &'a [TargetEntry], bare: bool) {
        let (word, sets, bare_inner) = match set {
            GroupingSet::Empty => return self.put("()"),
            GroupingSet::Simple(refs) => {
                let paren = !bare || refs.len() != 1;
                self.put(if paren { "(" } else { "" });
                for (i, r) in refs.iter().enumerate() {
                    self.put(if i > 0 { ", " } else { "" });
                    self.sort_group_expr(*r, targets, false);
                }
                return self.put(if paren { ")" } else { "" });
            }
            GroupingSet::Rollup(sets) => ("ROLLUP(", sets, true),
            GroupingSet::Cube(sets) => ("CUBE(", sets, true),
            GroupingSet::Sets(sets) => ("GROUPING SETS (", sets, false),
        };
        self.put(word);
        self.list(sets, |p, s| p.grouping_set(s, targets, bare_inner));
        self.put(")");
    }

    /// The lists of a query that is nothing but VALUES.
    fn only_values(&self, query: &'a Query) -> Option<&'a [Vec<Expr>]> {
        let mut in_from = query.rtable.iter().filter(|r| r.in_from);
        let (rte, None) = (in_from.next()?, in_from.next()) else { return None };
        let RteKind::Values { lists, .. } = &rte.kind else { return None };
        let plain = query.target_list.len() == rte.eref.columns.len()
            && query.distinct_clause.is_empty()
            && query.jointree.quals.is_none()
            && query.rtable.len() == 1;
        let same = query.target_list.iter().enumerate().all(|(i, t)| {
            let name = self.result_names.as_ref().and_then(|r| r.get(i)).or(t.name.as_ref());
            !t.junk && matches!(t.expr, Expr::Var(_)) && name == rte.eref.columns.get(i)
        });
        (plain && same).then_some(lists)
    }

    pub(super) fn values(&mut self, lists: &'a [Vec<Expr>]) {
        self.put("VALUES ");
        for (i, list) in lists.iter().enumerate() {
            self.put(if i > 0 { ", (" } else { "(" });
            for (j, value) in list.iter().enumerate() {
                self.put(if j > 0 { "," } else { "" });
                self.top_expr(value);
            }
            self.put(")");
        }
    }

    pub(super) fn target_list(&mut self, targets: &'a [TargetEntry], show_names: bool) {
        let mut multiline = false;
        for (i, target) in targets.iter().filter(|t| !t.junk).enumerate() {
            self.put(if i > 0 { ", " } else { " " });
            let wanted = self.result_names.as_ref().and_then(|r| r.get(i).cloned());
            let wanted = wanted.or_else(|| target.name.clone());
            let item = self.aside(|p| {
                let own = match &target.expr {
                    Expr::Var(v) => p.var(v, true),
                    e => {
                        p.expr(e, true);
                        (!show_names).then(|| "?column?".to_string())
                    }
                };
                if let Some(name) = wanted.filter(|w| own.as_ref() != Some(w)) {
                    p.put(" AS ");
                    p.put_ident(&name);
                }
            });
            self.wrapped(&item, i > 0, multiline);
            multiline = item.get(1..).is_some_and(|rest| rest.contains('\n'));
        }
    }

    pub(super) fn order_by(
        &mut self,
        order: &'a [SortGroupClause],
        targets: &'a [TargetEntry],
        by_number: bool,
    ) {
        for (i, by) in order.iter().enumerate() {
            if i > 0 {
                self.put(", ");
            }
            self.sort_group_expr(by.target_ref, targets, by_number);
            let op = by.sort_op.and_then(|o| self.names.operator(o));
            let usual = op.is_none_or(|o| o.name == if by.descending { ">" } else { "<" });
            if !usual {
                let name = by.sort_op.map(|o| self.operator_name(o)).unwrap_or_default();
                self.put(&format!(" USING {name}"));
                self.put(if by.nulls_first { " NULLS FIRST" } else { " NULLS LAST" });
                continue;
            }
            self.put(match (by.descending, by.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            });
        }
    }

    /// Prints what a sort or group clause refers to.
    pub(super) fn sort_group_expr(
        &mut self,
        target_ref: u32,
        targets: &'a [TargetEntry],
        by_number: bool,
    ) {
        let Some(target) = targets.iter().find(|t| t.sort_group_ref == target_ref) else { return };
        if by_number && !target.junk {
            return self.put(&target.resno.to_string());
        }
        match &target.expr {
            // Without its type, an integer would be read as the number of a column.
            Expr::Const(c) => self.constant(c, Label::Always),
            Expr::Var(v) => {
                let saved = std::mem::replace(&mut self.in_order_by, true);
                self.var(v, false);
                self.in_order_by = saved;
            }
            e => {
                let call = matches!(e, Expr::Func(_) | Expr::Agg(_) | Expr::Window(_));
                let paren = self.style.spare_parens || call;
                self.put(if paren { "(" } else { "" });
                let saved = std::mem::replace(&mut self.in_order_by, true);
                self.expr(e, true);
                self.in_order_by = saved;
                self.put(if paren { ")" } else { "" });
            }
        }
    }
}

/// True if the CTE's columns have other names than its query gives them.
fn renamed(cte: &Cte) -> bool {
    let own = cte.query.target_list.iter().filter(|t| !t.junk).map(|t| t.name.as_deref());
    !cte.col_names.iter().map(|n| Some(n.as_str())).eq(own)
}
