//! FROM and WITH.

use super::*;

impl Parser<'_> {
    pub(super) fn from_list(&mut self) -> Result<Vec<FromItem>> {
        self.list(|p| p.table_ref())
    }

    /// table_ref: an item with the joins after it.
    pub(super) fn table_ref(&mut self) -> Result<FromItem> {
        let pos = self.pos();
        let first = self.table_primary()?;
        self.joins(first, pos, false)
    }

    fn at_join(&self) -> bool {
        matches!(
            self.kw(),
            Kw::Cross | Kw::Join | Kw::Inner | Kw::Left | Kw::Right | Kw::Full | Kw::Natural
        )
    }

    /// Joins onto `left`; as a right operand that still lacks its ON, stops before it.
    fn joins(&mut self, mut left: FromItem, pos: Pos, nested: bool) -> Result<FromItem> {
        base::stack::check()?;
        let mut chain = 0;
        while self.at_join() {
            if nested && self.is_any(&[Kw::On, Kw::Using]) {
                break;
            }
            chain += 1;
            if chain > 2000 {
                return Err(base::stack::too_deep());
            }
            left = self.join(left, pos)?;
        }
        Ok(left)
    }

    fn join(&mut self, left: FromItem, pos: Pos) -> Result<FromItem> {
        if self.accept_kw(Kw::Cross) {
            self.expect_kw(Kw::Join)?;
            let right = self.table_primary()?;
            return Ok(join_item(JoinKind::Cross, false, left, right, pos));
        }
        let natural = self.accept_kw(Kw::Natural);
        let kind = match self.kw() {
            Kw::Left => JoinKind::Left,
            Kw::Right => JoinKind::Right,
            Kw::Full => JoinKind::Full,
            _ => JoinKind::Inner,
        };
        if kind != JoinKind::Inner {
            self.bump();
            self.accept_kw(Kw::Outer);
        } else {
            self.accept_kw(Kw::Inner);
        }
        self.expect_kw(Kw::Join)?;
        let right_pos = self.pos();
        let mut right = self.table_primary()?;
        if natural {
            return Ok(join_item(kind, true, left, right, pos));
        }
        if self.at_join() {
            right = self.joins(right, right_pos, true)?;
        }
        let FromItem::Join(mut join) = join_item(kind, false, left, right, pos) else {
            return Err(Error::internal("not a join"));
        };
        if self.accept_kw(Kw::Using) {
            let columns = self.paren_list(|p| {
                let pos = p.pos();
                Ok(Ident { name: p.col_id()?, pos })
            })?;
            let alias = if self.accept_kw(Kw::As) { Some(self.col_id()?) } else { None };
            join.using = Some(JoinUsing { columns, alias });
        } else {
            self.expect_kw(Kw::On)?;
            join.on = Some(self.expr()?);
        }
        Ok(FromItem::Join(join))
    }

    fn table_primary(&mut self) -> Result<FromItem> {
        base::stack::check()?;
        let pos = self.pos();
        let lateral = self.accept_kw(Kw::Lateral);
        if self.is(T::LParen) {
            if self.at_select_parens() {
                let query = self.select_parens()?;
                let alias = self.opt_alias()?;
                return Ok(FromItem::Subquery(Box::new(SubqueryRef {
                    lateral,
                    query,
                    alias,
                    pos,
                })));
            }
            if lateral {
                return Err(self.unexpected());
            }
            return self.parenthesised_join();
        }
        if self.ahead(1).kind == T::LParen {
            match self.kw() {
                Kw::Xmltable => return self.xml_table(lateral),
                Kw::JsonTable => {
                    return Ok(FromItem::JsonTable(Box::new(self.json_table(lateral)?)));
                }
                _ => {}
            }
        }
        if self.is_kws(&[Kw::Rows, Kw::From]) && self.ahead(2).kind == T::LParen {
            return self.rows_from(lateral, pos);
        }
        if self.is_kw(Kw::Only) || (self.is_col_id() && !self.at_call()) {
            if lateral {
                let mut end = 1;
                while self.ahead(end).kind == T::Dot {
                    end += 2;
                }
                return Err(self.unexpected_at(self.ahead(end)));
            }
            let (rel, only) = self.relation_expr()?;
            let alias = self.opt_alias()?;
            let sample = self.opt_sample()?;
            return Ok(FromItem::Table(Box::new(TableRef { rel, only, alias, sample })));
        }
        let call = self.func_expr_windowless()?;
        let ordinality = self.accept_kws(&[Kw::With, Kw::Ordinality]);
        let mut item = FunctionRef {
            lateral,
            ordinality,
            rows_from: false,
            functions: vec![(call, Vec::new())],
            alias: None,
            columns: Vec::new(),
            pos,
        };
        self.func_alias(&mut item)?;
        Ok(FromItem::Function(Box::new(item)))
    }

    /// Whether a dotted name here is followed by a parenthesis.
    fn at_call(&self) -> bool {
        let mut end = 1;
        while self.ahead(end).kind == T::Dot {
            end += 2;
        }
        self.ahead(end).kind == T::LParen
    }

    fn parenthesised_join(&mut self) -> Result<FromItem> {
        self.expect(T::LParen)?;
        let inner = self.table_ref()?;
        let FromItem::Join(mut join) = inner else {
            // Only a join may stand in parentheses.
            return Err(self.unexpected());
        };
        self.expect(T::RParen)?;
        if let Some(alias) = self.opt_alias()? {
            if join.alias.is_some() {
                // A second pair of parentheses with an alias of its own wraps the first.
                let pos = join.pos;
                let query = super::select::bare_query(
                    SelectBody::Select(Box::new(SelectCore {
                        targets: vec![Target {
                            name: None,
                            expr: Expr {
                                kind: ExprKind::Column { parts: vec![], star: true },
                                pos,
                            },
                            pos,
                        }],
                        from: vec![FromItem::Join(join)],
                        ..SelectCore::default()
                    })),
                    pos,
                );
                let sub = SubqueryRef { lateral: false, query, alias: Some(alias), pos };
                return Ok(FromItem::Subquery(Box::new(sub)));
            }
            join.alias = Some(alias);
        }
        Ok(FromItem::Join(join))
    }

    fn rows_from(&mut self, lateral: bool, pos: Pos) -> Result<FromItem> {
        self.at += 2;
        let functions = self.paren_list(|p| {
            let call = p.func_expr_windowless()?;
            let mut columns = Vec::new();
            if p.accept_kw(Kw::As) {
                columns = p.paren_list(|p| p.func_column())?;
            }
            Ok((call, columns))
        })?;
        let ordinality = self.accept_kws(&[Kw::With, Kw::Ordinality]);
        let mut item = FunctionRef {
            lateral,
            ordinality,
            rows_from: true,
            functions,
            alias: None,
            columns: Vec::new(),
            pos,
        };
        self.func_alias(&mut item)?;
        Ok(FromItem::Function(Box::new(item)))
    }

    /// relation_expr: name, `name *`, ONLY name, ONLY (name).
    pub(super) fn relation_expr(&mut self) -> Result<(RelName, bool)> {
        if self.accept_kw(Kw::Only) {
            let parens = self.accept(T::LParen);
            let rel = self.rel_name()?;
            if parens {
                self.expect(T::RParen)?;
            }
            return Ok((rel, true));
        }
        let rel = self.rel_name()?;
        self.accept(T::Star);
        Ok((rel, false))
    }

    /// relation_expr without an alias.
    pub(super) fn plain_table(&mut self) -> Result<TableRef> {
        let (rel, only) = self.relation_expr()?;
        Ok(TableRef { rel, only, alias: None, sample: None })
    }

    pub(super) fn opt_alias(&mut self) -> Result<Option<Alias>> {
        if self.accept_kw(Kw::As) || self.is_col_id() {
            let name = self.col_id()?;
            let columns = self.opt_paren_names()?;
            return Ok(Some(Alias { name, columns }));
        }
        Ok(None)
    }

    /// func_alias_clause: also lists of column definitions.
    fn func_alias(&mut self, item: &mut FunctionRef) -> Result<()> {
        let written = self.accept_kw(Kw::As);
        if written && self.is(T::LParen) {
            item.columns = self.paren_list(|p| p.func_column())?;
            return Ok(());
        }
        if !written && !self.is_col_id() {
            return Ok(());
        }
        let name = self.col_id()?;
        let mut columns = Vec::new();
        if self.is(T::LParen) {
            if matches!(self.ahead(2).kind, T::Comma | T::RParen) {
                columns = self.paren_list(|p| p.col_id())?;
            } else {
                item.columns = self.paren_list(|p| p.func_column())?;
            }
        }
        item.alias = Some(Alias { name, columns });
        Ok(())
    }

    /// TableFuncElement: name type [COLLATE].
    pub(super) fn func_column(&mut self) -> Result<ColumnDef> {
        let pos = self.pos();
        let name = self.col_id()?;
        let type_name = Some(self.type_name()?);
        let collation = self.opt_collate()?;
        Ok(ColumnDef { collation, ..super::table::plain_column(name, type_name, pos) })
    }

    pub(super) fn opt_collate(&mut self) -> Result<Option<Name>> {
        let pos = self.pos();
        if !self.accept_kw(Kw::Collate) {
            return Ok(None);
        }
        // An error about the collation points at the clause.
        Ok(Some(Name { pos, ..self.any_name()? }))
    }

    fn opt_sample(&mut self) -> Result<Option<TableSample>> {
        if !self.accept_kw(Kw::Tablesample) {
            return Ok(None);
        }
        let method = self.func_name()?;
        let args = self.paren_list(|p| p.expr())?;
        let mut repeatable = None;
        if self.accept_kw(Kw::Repeatable) {
            self.expect(T::LParen)?;
            repeatable = Some(self.expr()?);
            self.expect(T::RParen)?;
        }
        Ok(Some(TableSample { method, args, repeatable }))
    }

    fn xml_table(&mut self, lateral: bool) -> Result<FromItem> {
        let pos = self.pos();
        self.at += 2;
        let mut namespaces = Vec::new();
        if self.accept_kw(Kw::Xmlnamespaces) {
            namespaces = self.paren_list(|p| {
                if p.accept_kw(Kw::Default) {
                    return Ok((None, p.b_expr()?));
                }
                let uri = p.b_expr()?;
                p.expect_kw(Kw::As)?;
                Ok((Some(p.col_label()?), uri))
            })?;
            self.expect(T::Comma)?;
        }
        let row = self.primary()?;
        let doc = self.xml_passing()?;
        self.expect_kw(Kw::Columns)?;
        let columns = self.list(|p| p.xml_table_column())?;
        self.expect(T::RParen)?;
        let alias = self.opt_alias()?;
        let table = XmlTable { lateral, namespaces, row, doc, columns, alias, pos };
        Ok(FromItem::XmlTable(Box::new(table)))
    }

    fn xml_table_column(&mut self) -> Result<XmlTableColumn> {
        let pos = self.pos();
        let name = self.col_id()?;
        let mut column = XmlTableColumn {
            name,
            type_name: None,
            path: None,
            default: None,
            not_null: false,
            pos,
        };
        if self.accept_kws(&[Kw::For, Kw::Ordinality]) {
            return Ok(column);
        }
        column.type_name = Some(self.type_name()?);
        loop {
            let at = self.pos();
            let twice = |what| {
                let message = format!("only one {what} value is allowed per column");
                Err(base::err!(SYNTAX_ERROR, "{message}").at(at))
            };
            match self.kw() {
                Kw::Path => {
                    self.bump();
                    if column.path.replace(self.b_expr()?).is_some() {
                        return twice("PATH");
                    }
                }
                Kw::Default => {
                    self.bump();
                    if column.default.replace(self.b_expr()?).is_some() {
                        return twice("DEFAULT");
                    }
                }
                Kw::Not => {
                    self.bump();
                    self.expect_kw(Kw::Null)?;
                    column.not_null = true;
                }
                Kw::Null => {
                    self.bump();
                }
                _ => return Ok(column),
            }
        }
    }

    // WITH.

    pub(super) fn opt_with(&mut self) -> Result<Option<WithClause>> {
        if !self.is_kw(Kw::With) {
            return Ok(None);
        }
        let pos = self.pos();
        self.bump();
        let recursive = self.is_kw(Kw::Recursive) && self.kw_ahead(1) != Kw::As;
        if recursive {
            self.bump();
        }
        let ctes = self.list(|p| p.cte())?;
        Ok(Some(WithClause { recursive, ctes, pos }))
    }

    fn cte(&mut self) -> Result<Cte> {
        let pos = self.pos();
        let name = self.col_id()?;
        let mut columns = Vec::new();
        if self.is(T::LParen) {
            columns = self.paren_list(|p| {
                let pos = p.pos();
                Ok(Ident { name: p.col_id()?, pos })
            })?;
        }
        self.expect_kw(Kw::As)?;
        let materialized = if self.accept_kws(&[Kw::Not, Kw::Materialized]) {
            Some(false)
        } else {
            self.accept_kw(Kw::Materialized).then_some(true)
        };
        self.expect(T::LParen)?;
        let query = self.preparable()?;
        self.expect(T::RParen)?;
        let search = self.cte_search()?;
        let cycle = self.cte_cycle()?;
        Ok(Cte { name, columns, materialized, query, search, cycle, pos })
    }

    fn cte_search(&mut self) -> Result<Option<CteSearch>> {
        let pos = self.pos();
        if !self.accept_kw(Kw::Search) {
            return Ok(None);
        }
        let breadth = self.accept_kw(Kw::Breadth);
        if !breadth {
            self.expect_kw(Kw::Depth)?;
        }
        self.expect_kws(&[Kw::First, Kw::By])?;
        let columns = self.name_list()?;
        self.expect_kw(Kw::Set)?;
        Ok(Some(CteSearch { breadth, columns, sequence: self.col_id()?, pos }))
    }

    fn cte_cycle(&mut self) -> Result<Option<CteCycle>> {
        let pos = self.pos();
        if !self.accept_kw(Kw::Cycle) {
            return Ok(None);
        }
        let columns = self.name_list()?;
        self.expect_kw(Kw::Set)?;
        let mark = self.col_id()?;
        let mut values = None;
        if self.accept_kw(Kw::To) {
            let to = self.primary()?;
            self.expect_kw(Kw::Default)?;
            values = Some(Box::new((to, self.primary()?)));
        }
        self.expect_kw(Kw::Using)?;
        Ok(Some(CteCycle { columns, mark, values, path: self.col_id()?, pos }))
    }
}

fn join_item(kind: JoinKind, natural: bool, left: FromItem, right: FromItem, pos: Pos) -> FromItem {
    FromItem::Join(Box::new(Join {
        kind,
        natural,
        left,
        right,
        using: None,
        on: None,
        alias: None,
        pos,
    }))
}
