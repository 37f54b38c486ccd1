//! SELECT and what belongs to it.

use super::expr::boxed;
use super::*;

impl Parser<'_> {
    /// Whether a query without parentheses around it starts here.
    pub(super) fn at_select_start(&self) -> bool {
        matches!(self.kw(), Kw::Select | Kw::With | Kw::Table)
            || (self.kw() == Kw::Values && self.ahead(1).kind == T::LParen)
            || (self.is(T::LParen) && self.at_select_parens())
    }

    fn query_word_at(&self, i: usize) -> bool {
        let token = self.tokens[i.min(self.tokens.len() - 1)];
        matches!(token.kw, Kw::Select | Kw::With | Kw::Table)
            || (token.kw == Kw::Values
                && self.tokens.get(i + 1).is_some_and(|t| t.kind == T::LParen))
    }

    /// At `(`: whether it opens a query rather than an expression or a join. Needs to look
    /// behind the inner query only when several parentheses open at once.
    pub(super) fn at_select_parens(&self) -> bool {
        let mut depth = 0;
        while self.ahead(depth).kind == T::LParen {
            depth += 1;
        }
        if depth == 0 || !self.query_word_at(self.at + depth) {
            return false;
        }
        let mut end = self.at + depth - 1;
        for level in (1..depth).rev() {
            let Some(close) = self.matching_paren(end) else {
                return true;
            };
            let after = self.tokens[(close + 1).min(self.tokens.len() - 1)];
            let goes_on = matches!(
                after.kw,
                Kw::Union
                    | Kw::Intersect
                    | Kw::Except
                    | Kw::Order
                    | Kw::Limit
                    | Kw::Offset
                    | Kw::Fetch
                    | Kw::For
            );
            if after.kind != T::RParen && !goes_on {
                return false;
            }
            end = self.at + level - 1;
        }
        true
    }

    fn matching_paren(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (i, token) in self.tokens.iter().enumerate().skip(open) {
            match token.kind {
                T::LParen => depth += 1,
                T::RParen => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// select_with_parens.
    pub(super) fn select_parens(&mut self) -> Result<SelectStmt> {
        base::stack::check()?;
        self.expect(T::LParen)?;
        let query = self.select_no_parens()?;
        self.expect(T::RParen)?;
        Ok(query)
    }

    /// A query with or without parentheses.
    pub(super) fn select_no_parens(&mut self) -> Result<SelectStmt> {
        let with = self.opt_with()?;
        self.select_after_with(with)
    }

    pub(super) fn select_after_with(&mut self, with: Option<WithClause>) -> Result<SelectStmt> {
        let query = self.set_operations(0)?;
        self.select_options(query, with)
    }

    /// select_clause: UNION and EXCEPT bind weaker than INTERSECT, all to the left.
    fn set_operations(&mut self, min: u8) -> Result<SelectStmt> {
        base::stack::check()?;
        let mut left = self.query_primary()?;
        let mut chain = 0;
        loop {
            let (op, strength) = match self.kw() {
                Kw::Union => (SetOp::Union, 1),
                Kw::Except => (SetOp::Except, 1),
                Kw::Intersect => (SetOp::Intersect, 2),
                _ => return Ok(left),
            };
            if strength < min {
                return Ok(left);
            }
            chain += 1;
            if chain > 2000 {
                return Err(base::stack::too_deep());
            }
            self.bump();
            let all = self.accept_kw(Kw::All);
            if !all {
                self.accept_kw(Kw::Distinct);
            }
            let right = self.set_operations(strength + 1)?;
            let pos = left.pos;
            let body = SelectBody::SetOp(Box::new(SetOperation { op, all, left, right }));
            left = bare_query(body, pos);
        }
    }

    fn query_primary(&mut self) -> Result<SelectStmt> {
        let pos = self.pos();
        match self.tok().kind {
            T::LParen => return self.select_parens(),
            T::Keyword => {}
            _ => return Err(self.unexpected()),
        }
        let body = match self.kw() {
            Kw::Select => SelectBody::Select(Box::new(self.select_core()?)),
            Kw::Values => {
                self.bump();
                SelectBody::Values(self.list(|p| p.paren_list(|p| p.expr()))?)
            }
            Kw::Table => {
                self.bump();
                let star = ExprKind::Column { parts: vec![], star: true };
                let star = Expr { kind: star, pos: NO_POS };
                let (rel, only) = self.relation_expr()?;
                let table = TableRef { rel, only, alias: None, sample: None };
                SelectBody::Select(Box::new(SelectCore {
                    targets: vec![Target { name: None, expr: star, pos: NO_POS }],
                    from: vec![FromItem::Table(Box::new(table))],
                    ..SelectCore::default()
                }))
            }
            _ => return Err(self.unexpected()),
        };
        Ok(bare_query(body, pos))
    }

    fn select_core(&mut self) -> Result<SelectCore> {
        let mut core = SelectCore::default();
        self.expect_kw(Kw::Select)?;
        if self.accept_kw(Kw::Distinct) {
            core.distinct = Some(if self.accept_kw(Kw::On) {
                Distinct::On(self.paren_list(|p| p.expr())?)
            } else {
                Distinct::All
            });
        } else {
            self.accept_kw(Kw::All);
        }
        if core.distinct.is_some() || !self.at_targets_end() {
            core.targets = self.target_list()?;
        }
        if self.accept_kw(Kw::Into) {
            core.into = Some(Box::new(self.into_table()?));
        }
        if self.accept_kw(Kw::From) {
            core.from = self.from_list()?;
        }
        if self.accept_kw(Kw::Where) {
            core.where_clause = Some(self.expr()?);
        }
        if self.accept_kw(Kw::Group) {
            self.expect_kw(Kw::By)?;
            core.group_distinct = self.accept_kw(Kw::Distinct);
            if !core.group_distinct {
                self.accept_kw(Kw::All);
            }
            core.group_by = self.list(|p| p.group_item())?;
        }
        if self.accept_kw(Kw::Having) {
            core.having = Some(self.expr()?);
        }
        if self.accept_kw(Kw::Window) {
            core.windows = self.list(|p| {
                let name = p.col_id()?;
                p.expect_kw(Kw::As)?;
                let spec = p.window_spec()?;
                Ok(WindowDef { name: Some(name), ..spec })
            })?;
        }
        Ok(core)
    }

    fn at_targets_end(&self) -> bool {
        matches!(self.tok().kind, T::Eof | T::Semi | T::RParen)
            || self.is_any(&[
                Kw::From,
                Kw::Into,
                Kw::Where,
                Kw::Group,
                Kw::Having,
                Kw::Window,
                Kw::Union,
                Kw::Intersect,
                Kw::Except,
                Kw::Order,
                Kw::Limit,
                Kw::Offset,
                Kw::Fetch,
                Kw::For,
                Kw::Returning,
                Kw::On,
                Kw::With,
            ])
    }

    pub(super) fn target_list(&mut self) -> Result<Vec<Target>> {
        self.list(|p| p.target())
    }

    fn target(&mut self) -> Result<Target> {
        let pos = self.pos();
        if self.accept(T::Star) {
            let expr = Expr { kind: ExprKind::Column { parts: vec![], star: true }, pos };
            return Ok(Target { name: None, expr, pos });
        }
        let expr = self.expr()?;
        let name = if self.accept_kw(Kw::As) {
            Some(self.col_label()?)
        } else if self.is_bare_label() {
            let token = self.bump();
            Some(self.name_of(token))
        } else {
            None
        };
        Ok(Target { name, expr, pos })
    }

    /// After INTO.
    fn into_table(&mut self) -> Result<IntoClause> {
        let persistence = if self.is_any(&[Kw::Local, Kw::Global]) {
            self.bump();
            if !self.accept_kw(Kw::Temp) {
                self.expect_kw(Kw::Temporary)?;
            }
            Persistence::Temporary
        } else if self.accept_kw(Kw::Temp) || self.accept_kw(Kw::Temporary) {
            Persistence::Temporary
        } else if self.accept_kw(Kw::Unlogged) {
            Persistence::Unlogged
        } else {
            Persistence::Permanent
        };
        self.accept_kw(Kw::Table);
        let rel = self.rel_name()?;
        Ok(plain_into(rel, persistence))
    }

    fn group_item(&mut self) -> Result<GroupItem> {
        base::stack::check()?;
        let pos = self.pos();
        let next = self.ahead(1);
        match self.kw() {
            Kw::Rollup if next.kind == T::LParen => {
                self.bump();
                return Ok(GroupItem::Rollup(self.paren_list(|p| p.expr())?, pos));
            }
            Kw::Cube if next.kind == T::LParen => {
                self.bump();
                return Ok(GroupItem::Cube(self.paren_list(|p| p.expr())?, pos));
            }
            Kw::Grouping if next.kw == Kw::Sets => {
                self.at += 2;
                return Ok(GroupItem::Sets(self.paren_list(|p| p.group_item())?, pos));
            }
            _ => {}
        }
        if self.is(T::LParen) && next.kind == T::RParen {
            self.at += 2;
            return Ok(GroupItem::Empty(pos));
        }
        Ok(GroupItem::Expr(self.expr()?))
    }

    /// ORDER BY, LIMIT, FOR after a query's body; put into it unless it has them already.
    fn select_options(
        &mut self,
        mut query: SelectStmt,
        with: Option<WithClause>,
    ) -> Result<SelectStmt> {
        if self.is_kw(Kw::Order) {
            let order = self.sort_clause()?;
            if !query.order_by.is_empty() {
                let pos = order.first().map_or(NO_POS, |s| s.expr.pos);
                return Err(self.error_at(pos, "multiple ORDER BY clauses not allowed"));
            }
            query.order_by = order;
        }
        let mut locking = self.locking_clauses()?;
        let ties = self.limit_clauses(&mut query)?;
        if locking.is_none() {
            locking = self.locking_clauses()?;
        }
        query.locking.extend(locking.unwrap_or_default());
        if let Some(pos) = ties
            && query.locking.iter().any(|l| l.wait == LockWait::Skip)
        {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(self.error_at(pos, message));
        }
        if let Some(with) = with {
            if query.with.is_some() {
                return Err(self.error_at(with.pos, "multiple WITH clauses not allowed"));
            }
            query.with = Some(with);
        }
        Ok(query)
    }

    pub(super) fn opt_sort(&mut self) -> Result<Vec<SortBy>> {
        if self.is_kw(Kw::Order) { self.sort_clause() } else { Ok(Vec::new()) }
    }

    pub(super) fn sort_clause(&mut self) -> Result<Vec<SortBy>> {
        self.expect_kws(&[Kw::Order, Kw::By])?;
        self.list(|p| {
            let expr = p.expr()?;
            let dir = if p.accept_kw(Kw::Using) {
                SortDir::Using(p.operator_name()?)
            } else {
                p.asc_desc()
            };
            Ok(SortBy { expr, dir, nulls: p.nulls_order()? })
        })
    }

    pub(super) fn asc_desc(&mut self) -> SortDir {
        if self.accept_kw(Kw::Asc) {
            SortDir::Asc
        } else if self.accept_kw(Kw::Desc) {
            SortDir::Desc
        } else {
            SortDir::Default
        }
    }

    pub(super) fn nulls_order(&mut self) -> Result<NullsOrder> {
        if !(self.is_kw(Kw::Nulls) && matches!(self.kw_ahead(1), Kw::First | Kw::Last)) {
            return Ok(NullsOrder::Default);
        }
        self.bump();
        Ok(if self.bump().kw == Kw::First { NullsOrder::First } else { NullsOrder::Last })
    }

    fn limit_clauses(&mut self, query: &mut SelectStmt) -> Result<Option<Pos>> {
        let mut ties = None;
        let (mut limit_seen, mut offset_seen) = (false, false);
        loop {
            let pos = self.pos();
            match self.kw() {
                Kw::Limit if !limit_seen => {
                    self.bump();
                    let all = self.accept_kw(Kw::All);
                    let limit = if all { None } else { Some(boxed(self.expr()?)) };
                    if self.is(T::Comma) {
                        let error = self.error_at(pos, "LIMIT #,# syntax is not supported");
                        return Err(error.hint("Use separate LIMIT and OFFSET clauses."));
                    }
                    self.set_limit(query, limit, pos)?;
                    limit_seen = true;
                }
                Kw::Fetch if !limit_seen => {
                    self.fetch_first(query, &mut ties)?;
                    limit_seen = true;
                }
                Kw::Offset if !offset_seen => {
                    self.bump();
                    let offset = self.expr()?;
                    if !self.accept_kw(Kw::Row) {
                        self.accept_kw(Kw::Rows);
                    }
                    if query.offset.is_some() {
                        let message = "multiple OFFSET clauses not allowed";
                        return Err(self.error_at(offset.pos, message));
                    }
                    query.offset = Some(boxed(offset));
                    offset_seen = true;
                }
                _ => return Ok(ties),
            }
        }
    }

    fn set_limit(&self, query: &mut SelectStmt, limit: Option<Box<Expr>>, pos: Pos) -> Result<()> {
        if query.limit.is_some() && limit.is_some() {
            let at = limit.as_ref().map_or(pos, |e| e.pos);
            return Err(self.error_at(at, "multiple LIMIT clauses not allowed"));
        }
        if limit.is_some() {
            query.limit = limit;
        }
        Ok(())
    }

    fn fetch_first(&mut self, query: &mut SelectStmt, ties: &mut Option<Pos>) -> Result<()> {
        let pos = self.pos();
        self.bump();
        if !self.accept_kw(Kw::First) {
            self.expect_kw(Kw::Next)?;
        }
        let limit = if self.is_any(&[Kw::Row, Kw::Rows]) && self.ahead(1).kind != T::LParen {
            super::types::int_expr(1, NO_POS)
        } else if self.is(T::Plus) || self.is(T::Minus) {
            let at = self.pos();
            let text = self.numeric_only()?;
            match text.parse() {
                Ok(n) => super::types::int_expr(n, at),
                Err(_) => super::expr::mk(ExprKind::Literal(Literal::Float(text)), at),
            }
        } else {
            self.primary()?
        };
        if !self.accept_kw(Kw::Row) {
            self.expect_kw(Kw::Rows)?;
        }
        let ties_pos = self.pos();
        if self.accept_kw(Kw::With) {
            self.expect_kw(Kw::Ties)?;
            query.with_ties = true;
            *ties = Some(ties_pos);
            if query.order_by.is_empty() {
                let message = "WITH TIES cannot be specified without ORDER BY clause";
                return Err(self.error_at(ties_pos, message));
            }
        } else {
            self.expect_kw(Kw::Only)?;
        }
        self.set_limit(query, Some(boxed(limit)), pos)
    }

    /// FOR UPDATE and its kin; none if there is no FOR.
    fn locking_clauses(&mut self) -> Result<Option<Vec<LockingClause>>> {
        let mut list = None;
        while self.is_kw(Kw::For) {
            self.bump();
            let strength = match self.kw() {
                Kw::Update => LockStrength::Update,
                Kw::Share => LockStrength::Share,
                Kw::No => {
                    self.bump();
                    self.expect_kw(Kw::Key)?;
                    LockStrength::NoKeyUpdate
                }
                Kw::Key => {
                    self.bump();
                    LockStrength::KeyShare
                }
                Kw::Read => {
                    self.bump();
                    self.expect_kw(Kw::Only)?;
                    return Ok(Some(Vec::new()));
                }
                _ => return Err(self.unexpected()),
            };
            let word = match strength {
                LockStrength::Update | LockStrength::NoKeyUpdate => Kw::Update,
                _ => Kw::Share,
            };
            self.expect_kw(word)?;
            let mut of = Vec::new();
            if self.accept_kw(Kw::Of) {
                of = self.list(|p| p.rel_name())?;
            }
            let wait = if self.accept_kw(Kw::Nowait) {
                LockWait::Error
            } else if self.accept_kws(&[Kw::Skip, Kw::Locked]) {
                LockWait::Skip
            } else {
                LockWait::Block
            };
            list.get_or_insert_with(Vec::new).push(LockingClause { strength, of, wait });
        }
        Ok(list)
    }

    // Windows.

    /// window_specification, at the parenthesis.
    pub(super) fn window_spec(&mut self) -> Result<WindowDef> {
        let pos = self.pos();
        self.expect(T::LParen)?;
        let frame_word = self.is_any(&[Kw::Range, Kw::Rows, Kw::Groups]);
        let partition = self.is_kws(&[Kw::Partition, Kw::By]);
        let refname =
            if self.is_col_id() && !frame_word && !partition { Some(self.col_id()?) } else { None };
        let mut partition_by = Vec::new();
        if self.accept_kw(Kw::Partition) {
            self.expect_kw(Kw::By)?;
            partition_by = self.expr_list()?;
        }
        let order_by = self.opt_sort()?;
        let frame = self.opt_frame()?;
        self.expect(T::RParen)?;
        Ok(WindowDef { name: None, refname, partition_by, order_by, frame, pos })
    }

    fn opt_frame(&mut self) -> Result<Option<WindowFrame>> {
        let mode = match self.kw() {
            Kw::Range => FrameMode::Range,
            Kw::Rows => FrameMode::Rows,
            Kw::Groups => FrameMode::Groups,
            _ => return Ok(None),
        };
        self.bump();
        let bad = |pos, message: &str| Err(base::err!(WINDOWING_ERROR, "{message}").at(pos));
        let (start, end);
        let pos = self.pos();
        if self.accept_kw(Kw::Between) {
            let start_pos = self.pos();
            start = self.frame_bound()?;
            self.expect_kw(Kw::And)?;
            let end_pos = self.pos();
            let bound = self.frame_bound()?;
            use FrameBound::*;
            match (&start, &bound) {
                (UnboundedFollowing, _) => {
                    return bad(start_pos, "frame start cannot be UNBOUNDED FOLLOWING");
                }
                (_, UnboundedPreceding) => {
                    return bad(end_pos, "frame end cannot be UNBOUNDED PRECEDING");
                }
                (CurrentRow, Preceding(_)) => {
                    let message = "frame starting from current row cannot have preceding rows";
                    return bad(end_pos, message);
                }
                (Following(_), Preceding(_) | CurrentRow) => {
                    let message = "frame starting from following row cannot have preceding rows";
                    return bad(end_pos, message);
                }
                _ => end = Some(bound),
            }
        } else {
            start = self.frame_bound()?;
            end = None;
            match start {
                FrameBound::UnboundedFollowing => {
                    return bad(pos, "frame start cannot be UNBOUNDED FOLLOWING");
                }
                FrameBound::Following(_) => {
                    let message = "frame starting from following row cannot end with current row";
                    return bad(pos, message);
                }
                _ => {}
            }
        }
        Ok(Some(WindowFrame { mode, start, end, exclude: self.frame_exclude()? }))
    }

    fn frame_exclude(&mut self) -> Result<FrameExclude> {
        if !self.accept_kw(Kw::Exclude) {
            return Ok(FrameExclude::NoOthers);
        }
        let found = match self.kw() {
            Kw::Current => {
                self.bump();
                if !self.is_kw(Kw::Row) {
                    return Err(self.unexpected());
                }
                FrameExclude::CurrentRow
            }
            Kw::Group => FrameExclude::Group,
            Kw::Ties => FrameExclude::Ties,
            Kw::No => {
                self.bump();
                if !self.is_kw(Kw::Others) {
                    return Err(self.unexpected());
                }
                FrameExclude::NoOthers
            }
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(found)
    }

    fn frame_bound(&mut self) -> Result<FrameBound> {
        if self.is_kws(&[Kw::Unbounded, Kw::Preceding]) {
            self.at += 2;
            return Ok(FrameBound::UnboundedPreceding);
        }
        if self.is_kws(&[Kw::Unbounded, Kw::Following]) {
            self.at += 2;
            return Ok(FrameBound::UnboundedFollowing);
        }
        if self.is_kws(&[Kw::Current, Kw::Row]) {
            self.at += 2;
            return Ok(FrameBound::CurrentRow);
        }
        let value = boxed(self.expr()?);
        if self.accept_kw(Kw::Preceding) {
            return Ok(FrameBound::Preceding(value));
        }
        self.expect_kw(Kw::Following)?;
        Ok(FrameBound::Following(value))
    }
}

pub(super) fn bare_query(body: SelectBody, pos: Pos) -> SelectStmt {
    SelectStmt {
        with: None,
        body,
        order_by: Vec::new(),
        limit: None,
        offset: None,
        with_ties: false,
        locking: Vec::new(),
        pos,
    }
}

pub(super) fn plain_into(rel: RelName, persistence: Persistence) -> IntoClause {
    IntoClause {
        rel,
        persistence,
        columns: Vec::new(),
        access_method: None,
        options: Vec::new(),
        on_commit: OnCommit::Unspecified,
        tablespace: None,
        no_data: false,
    }
}
