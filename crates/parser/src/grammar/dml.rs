//! INSERT, UPDATE, DELETE, MERGE.

use super::*;

impl Parser<'_> {
    /// A statement that may be prepared or stand in WITH.
    pub(super) fn preparable(&mut self) -> Result<Stmt> {
        let with = self.opt_with()?;
        self.preparable_after_with(with)
    }

    pub(super) fn preparable_after_with(&mut self, with: Option<WithClause>) -> Result<Stmt> {
        base::stack::check()?;
        Ok(match self.kw() {
            Kw::Insert => Stmt::Insert(Box::new(self.insert(with)?)),
            Kw::Update => Stmt::Update(Box::new(self.update(with)?)),
            Kw::Delete => Stmt::Delete(Box::new(self.delete(with)?)),
            Kw::Merge => Stmt::Merge(Box::new(self.merge(with)?)),
            _ => Stmt::Select(Box::new(self.select_after_with(with)?)),
        })
    }

    fn insert(&mut self, with: Option<WithClause>) -> Result<InsertStmt> {
        self.expect_kws(&[Kw::Insert, Kw::Into])?;
        let rel = self.rel_name()?;
        let mut alias = None;
        if self.accept_kw(Kw::As) {
            alias = Some(Alias { name: self.col_id()?, columns: Vec::new() });
        }
        let target = TableRef { rel, only: false, alias, sample: None };
        let mut columns = Vec::new();
        let mut overriding = Overriding::None;
        let source = if self.accept_kws(&[Kw::Default, Kw::Values]) {
            None
        } else {
            if self.is(T::LParen) && !self.at_select_parens() {
                columns = self.paren_list(|p| p.assign_target())?;
            }
            overriding = self.opt_overriding()?;
            Some(self.select_no_parens()?)
        };
        let on_conflict = self.opt_on_conflict()?;
        let returning = self.opt_returning()?;
        Ok(InsertStmt { with, target, columns, overriding, source, on_conflict, returning })
    }

    fn opt_overriding(&mut self) -> Result<Overriding> {
        if !self.accept_kw(Kw::Overriding) {
            return Ok(Overriding::None);
        }
        let found = if self.accept_kw(Kw::User) {
            Overriding::User
        } else {
            self.expect_kw(Kw::System)?;
            Overriding::System
        };
        self.expect_kw(Kw::Value)?;
        Ok(found)
    }

    pub(super) fn assign_target(&mut self) -> Result<AssignTarget> {
        let pos = self.pos();
        let name = self.col_id()?;
        let steps = self.indirection()?;
        Ok(AssignTarget { name, steps, pos })
    }

    fn opt_on_conflict(&mut self) -> Result<Option<OnConflict>> {
        let pos = self.pos();
        if !self.is_kws(&[Kw::On, Kw::Conflict]) {
            return Ok(None);
        }
        self.at += 2;
        let target_pos = self.pos();
        let target = if self.is(T::LParen) {
            let elems = self.paren_list(|p| p.index_elem())?;
            let predicate = self.opt_where()?;
            Some(ConflictTarget::Index { elems, predicate, pos: target_pos })
        } else if self.accept_kws(&[Kw::On, Kw::Constraint]) {
            Some(ConflictTarget::Constraint(self.name()?, target_pos))
        } else {
            None
        };
        self.expect_kw(Kw::Do)?;
        let update = if self.accept_kw(Kw::Nothing) {
            None
        } else {
            self.expect_kws(&[Kw::Update, Kw::Set])?;
            let set = self.set_clauses()?;
            Some(ConflictUpdate { set, where_clause: self.opt_where()? })
        };
        Ok(Some(OnConflict { target, update, pos }))
    }

    pub(super) fn opt_where(&mut self) -> Result<Option<Expr>> {
        if self.accept_kw(Kw::Where) { Ok(Some(self.expr()?)) } else { Ok(None) }
    }

    /// WHERE condition or WHERE CURRENT OF cursor.
    fn opt_where_or_current(&mut self) -> Result<Option<Expr>> {
        if !(self.is_kw(Kw::Where) && self.kw_ahead(1) == Kw::Current && self.kw_ahead(2) == Kw::Of)
        {
            return self.opt_where();
        }
        self.bump();
        let pos = self.pos();
        self.at += 2;
        let cursor = if self.is(T::Param) {
            CursorRef::Param(self.bump().side)
        } else {
            CursorRef::Name(self.name()?)
        };
        Ok(Some(Expr { kind: ExprKind::CurrentOf(cursor), pos }))
    }

    fn opt_returning(&mut self) -> Result<Option<Returning>> {
        if !self.accept_kw(Kw::Returning) {
            return Ok(None);
        }
        let mut options = Vec::new();
        if self.is_kw(Kw::With) {
            self.bump();
            options = self.paren_list(|p| {
                let is_new = match p.kw() {
                    Kw::New => true,
                    Kw::Old => false,
                    _ => return Err(p.unexpected()),
                };
                p.bump();
                p.expect_kw(Kw::As)?;
                let pos = p.pos();
                Ok((is_new, Ident { name: p.col_id()?, pos }))
            })?;
        }
        Ok(Some(Returning { options, targets: self.target_list()? }))
    }

    pub(super) fn set_clauses(&mut self) -> Result<Vec<SetClause>> {
        self.list(|p| {
            if p.is(T::LParen) {
                let targets = p.paren_list(|p| p.assign_target())?;
                p.expect(T::Eq)?;
                return Ok(SetClause::Multi(targets, p.expr()?));
            }
            let target = p.assign_target()?;
            p.expect(T::Eq)?;
            Ok(SetClause::Single(target, p.expr()?))
        })
    }

    /// relation_expr_opt_alias; SET is no alias unless AS is written.
    fn target_table(&mut self) -> Result<TableRef> {
        let (rel, only) = self.relation_expr()?;
        let mut alias = None;
        if self.accept_kw(Kw::As) || (self.is_col_id() && !self.is_kw(Kw::Set)) {
            alias = Some(Alias { name: self.col_id()?, columns: Vec::new() });
        }
        Ok(TableRef { rel, only, alias, sample: None })
    }

    fn update(&mut self, with: Option<WithClause>) -> Result<UpdateStmt> {
        self.bump();
        let target = self.target_table()?;
        self.expect_kw(Kw::Set)?;
        let set = self.set_clauses()?;
        let from = if self.accept_kw(Kw::From) { self.from_list()? } else { Vec::new() };
        let where_clause = self.opt_where_or_current()?;
        let returning = self.opt_returning()?;
        Ok(UpdateStmt { with, target, set, from, where_clause, returning })
    }

    fn delete(&mut self, with: Option<WithClause>) -> Result<DeleteStmt> {
        self.expect_kws(&[Kw::Delete, Kw::From])?;
        let target = self.target_table()?;
        let using = if self.accept_kw(Kw::Using) { self.from_list()? } else { Vec::new() };
        let where_clause = self.opt_where_or_current()?;
        let returning = self.opt_returning()?;
        Ok(DeleteStmt { with, target, using, where_clause, returning })
    }

    fn merge(&mut self, with: Option<WithClause>) -> Result<MergeStmt> {
        self.expect_kws(&[Kw::Merge, Kw::Into])?;
        let target = self.target_table()?;
        self.expect_kw(Kw::Using)?;
        let source = self.table_ref()?;
        self.expect_kw(Kw::On)?;
        let on = self.expr()?;
        let mut whens = vec![self.merge_when()?];
        while self.is_kw(Kw::When) {
            whens.push(self.merge_when()?);
        }
        let returning = self.opt_returning()?;
        Ok(MergeStmt { with, target, source, on, whens, returning })
    }

    fn merge_when(&mut self) -> Result<MergeWhen> {
        self.expect_kw(Kw::When)?;
        let matched = if self.accept_kw(Kw::Not) {
            self.expect_kw(Kw::Matched)?;
            if self.accept_kw(Kw::By) {
                if self.accept_kw(Kw::Source) {
                    MergeMatch::NotMatchedBySource
                } else {
                    self.expect_kw(Kw::Target)?;
                    MergeMatch::NotMatchedByTarget
                }
            } else {
                MergeMatch::NotMatchedByTarget
            }
        } else {
            self.expect_kw(Kw::Matched)?;
            MergeMatch::Matched
        };
        let condition = if self.accept_kw(Kw::And) { Some(self.expr()?) } else { None };
        self.expect_kw(Kw::Then)?;
        let insert = matched == MergeMatch::NotMatchedByTarget;
        let action = match self.kw() {
            Kw::Do => {
                self.bump();
                self.expect_kw(Kw::Nothing)?;
                MergeAction::DoNothing
            }
            Kw::Update if !insert => {
                self.bump();
                self.expect_kw(Kw::Set)?;
                MergeAction::Update(self.set_clauses()?)
            }
            Kw::Delete if !insert => {
                self.bump();
                MergeAction::Delete
            }
            Kw::Insert if insert => self.merge_insert()?,
            _ => return Err(self.unexpected()),
        };
        Ok(MergeWhen { matched, condition, action })
    }

    fn merge_insert(&mut self) -> Result<MergeAction> {
        self.bump();
        let mut columns = Vec::new();
        if self.is(T::LParen) {
            columns = self.paren_list(|p| p.assign_target())?;
        }
        let overriding = self.opt_overriding()?;
        let values = if columns.is_empty() && self.accept_kws(&[Kw::Default, Kw::Values]) {
            None
        } else {
            self.expect_kw(Kw::Values)?;
            Some(self.paren_list(|p| p.expr())?)
        };
        Ok(MergeAction::Insert { columns, overriding, values })
    }
}
