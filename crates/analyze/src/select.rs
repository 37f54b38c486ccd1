//! SELECT and VALUES.

use crate::names::{new_rte, ns_column};
use crate::state::{Analyzer, Kind, loc};
use base::{Oid, Result, err};
use catalog::oids;
use ir::{Alias, CmdType, Expr, FromExpr, FromItem, LimitOption, Query, RteKind};
use parser::ast::{self, SelectBody};

impl Analyzer<'_> {
    /// A query at the current level, which must be fresh.
    pub fn select(&mut self, stmt: &ast::SelectStmt) -> Result<Query> {
        base::stack::check()?;
        let mut query = match &stmt.body {
            SelectBody::Select(core) => self.select_core(stmt, core)?,
            SelectBody::Values(lists) => self.values(stmt, lists)?,
            SelectBody::SetOp(op) => self.set_operation(stmt, op)?,
        };
        query.has_recursive = stmt.with.as_ref().is_some_and(|w| w.recursive);
        Ok(query)
    }

    /// Moves what the level gathered into the query.
    pub fn finish_query(&mut self, query: &mut Query, quals: Option<Expr>) {
        let st = self.st();
        query.rtable = std::mem::take(&mut st.rtable);
        query.jointree = FromExpr { items: std::mem::take(&mut st.joinlist), quals };
        query.ctes = std::mem::take(&mut st.ctes).into_iter().map(|c| c.cte).collect();
        query.has_aggs = st.has_aggs;
        query.has_window_funcs = st.has_windows;
        query.has_target_srfs = st.has_srfs;
        query.has_sublinks = st.has_sublinks;
        query.has_modifying_cte = st.has_modifying_cte;
    }

    pub fn where_clause(&mut self, clause: Option<&ast::Expr>, kind: Kind) -> Result<Option<Expr>> {
        let Some(e) = clause else { return Ok(None) };
        let made = self.expr(e, kind)?;
        let construct = if kind == Kind::Having { "HAVING" } else { "WHERE" };
        self.coerce_to_boolean(made, construct).map(Some)
    }

    fn select_core(&mut self, stmt: &ast::SelectStmt, core: &ast::SelectCore) -> Result<Query> {
        let mut query = Query::new(CmdType::Select);
        if let Some(with) = &stmt.with {
            self.with_clause(with)?;
        }
        if let Some(into) = &core.into {
            return Err(
                err!(SYNTAX_ERROR, "SELECT ... INTO is not allowed here").at(loc(into.rel.pos))
            );
        }
        self.st().locked = stmt.locking.clone();
        self.st().windows = core.windows.clone();
        self.from_clause(&core.from)?;
        query.target_list = self.target_list(&core.targets, Kind::SelectTarget)?;
        let mut targets = std::mem::take(&mut query.target_list);
        self.mark_origins(&mut targets);
        let quals = self.where_clause(core.where_clause.as_ref(), Kind::Where)?;
        query.having = self.where_clause(core.having.as_ref(), Kind::Having)?;
        query.sort_clause = self.sort_clause(&stmt.order_by, &mut targets, Kind::OrderBy, false)?;
        let (group, sets) = self.group_clause(&core.group_by, &mut targets, &query.sort_clause)?;
        query.group_clause = group;
        query.grouping_sets = sets;
        query.group_distinct = core.group_distinct;
        match &core.distinct {
            None => {}
            Some(ast::Distinct::All) => {
                query.distinct_clause =
                    self.distinct_clause(&mut targets, &query.sort_clause, false)?;
            }
            Some(ast::Distinct::On(exprs)) => {
                query.distinct_clause =
                    self.distinct_on(exprs, &mut targets, &query.sort_clause)?;
                query.has_distinct_on = true;
            }
        }
        self.limits(stmt, &mut query)?;
        query.windows = self.window_clauses(&mut targets)?;
        if self.cur().resolve_unknowns {
            self.resolve_unknowns(&mut targets)?;
        }
        query.target_list = targets;
        self.finish_query(&mut query, quals);
        for clause in &stmt.locking {
            self.locking_clause(&mut query, clause, false)?;
        }
        crate::collate::assign_query(self, &mut query)?;
        let grouped = query.has_aggs
            || !query.group_clause.is_empty()
            || !query.grouping_sets.is_empty()
            || query.having.is_some();
        if grouped {
            self.check_grouping(&mut query)?;
        }
        Ok(query)
    }

    pub fn limits(&mut self, stmt: &ast::SelectStmt, query: &mut Query) -> Result<()> {
        query.limit_offset = self.limit(stmt.offset.as_deref(), Kind::Offset, stmt.with_ties)?;
        query.limit_count = self.limit(stmt.limit.as_deref(), Kind::Limit, stmt.with_ties)?;
        if stmt.with_ties {
            query.limit_option = LimitOption::WithTies;
        }
        Ok(())
    }

    /// `transformValuesClause`: VALUES as a query of its own.
    fn values(&mut self, stmt: &ast::SelectStmt, lists: &[Vec<ast::Expr>]) -> Result<Query> {
        let mut query = Query::new(CmdType::Select);
        if let Some(with) = &stmt.with {
            self.with_clause(with)?;
        }
        let rows = self.values_rows(lists, Kind::Values)?;
        let width = rows.first().map_or(0, Vec::len);
        let mut columns: Vec<Vec<Expr>> = vec![Vec::new(); width];
        for row in rows {
            for (i, e) in row.into_iter().enumerate() {
                columns[i].push(e);
            }
        }
        let (mut types, mut typmods, mut collations) = (Vec::new(), Vec::new(), Vec::new());
        let mut done: Vec<Vec<Expr>> = Vec::new();
        for column in columns {
            let refs: Vec<&Expr> = column.iter().collect();
            let ty = self.common_type(&refs, Some("VALUES"))?.unwrap_or(oids::TEXT);
            let mut made = Vec::with_capacity(column.len());
            for e in column {
                made.push(self.to_common(e, ty, "VALUES")?);
            }
            typmods.push(crate::coerce::common_typmod(made.iter(), ty));
            let collation = crate::collate::column_collation(self, &mut made)?;
            types.push(ty);
            collations.push(collation);
            done.push(made);
        }
        let height = done.first().map_or(lists.len(), Vec::len);
        let mut rows: Vec<Vec<Expr>> = vec![Vec::with_capacity(width); height];
        for column in done {
            for (i, e) in column.into_iter().enumerate() {
                rows[i].push(e);
            }
        }
        let lateral = rows.iter().flatten().any(|e| {
            ir::walk::any_levels(
                e,
                0,
                &mut |e, level| matches!(e, Expr::Var(v) if v.levels_up == level),
            )
        });
        let item = self.add_values(rows, types, typmods, collations);
        let index = item.rtindex;
        self.st().rtable[index as usize - 1].lateral = lateral;
        self.st().joinlist.push(FromItem::Table(index));
        self.st().namespace.push(item);
        let star = ast::Expr {
            kind: ast::ExprKind::Column { parts: Vec::new(), star: true },
            pos: ast::NO_POS,
        };
        let star = ast::Target { name: None, expr: star, pos: ast::NO_POS };
        let mut targets =
            if width == 0 { Vec::new() } else { self.target_list(&[star], Kind::SelectTarget)? };
        query.sort_clause = self.sort_clause(&stmt.order_by, &mut targets, Kind::OrderBy, false)?;
        self.limits(stmt, &mut query)?;
        if let Some(clause) = stmt.locking.first() {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "{} cannot be applied to VALUES",
                crate::lock::strength_name(clause.strength)
            ));
        }
        query.target_list = targets;
        self.finish_query(&mut query, None);
        crate::collate::assign_query(self, &mut query)?;
        Ok(query)
    }

    /// The rows of VALUES, all of one length.
    pub fn values_rows(&mut self, lists: &[Vec<ast::Expr>], kind: Kind) -> Result<Vec<Vec<Expr>>> {
        let mut rows: Vec<Vec<Expr>> = Vec::with_capacity(lists.len());
        for list in lists {
            let row = self.with_kind(kind, |a| a.expr_list_expanding(list))?;
            if rows.first().is_some_and(|first| first.len() != row.len()) {
                let at = row.first().and_then(Expr::location);
                return Err(err!(SYNTAX_ERROR, "VALUES lists must all be the same length").at(at));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    pub fn add_values(
        &mut self,
        lists: Vec<Vec<Expr>>,
        types: Vec<Oid>,
        typmods: Vec<i32>,
        collations: Vec<Oid>,
    ) -> crate::state::NsItem {
        let columns = (1..=types.len()).map(|i| format!("column{i}")).collect();
        let eref = Alias { name: "*VALUES*".into(), columns };
        let kind = RteKind::Values {
            lists,
            types: types.clone(),
            typmods: typmods.clone(),
            collations: collations.clone(),
        };
        let index = self.add_rte(new_rte(kind, None, eref.clone()));
        let cols = (0..types.len())
            .map(|i| ns_column(index, i as i16 + 1, types[i], typmods[i], collations[i]))
            .collect();
        self.ns_item(index, &eref, cols)
    }
}
