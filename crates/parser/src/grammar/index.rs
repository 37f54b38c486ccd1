//! CREATE INDEX.

use super::*;

impl Parser<'_> {
    /// index_elem.
    pub(super) fn index_elem(&mut self) -> Result<IndexElem> {
        let pos = self.pos();
        let (mut name, mut expr) = (None, None);
        if self.is(T::LParen) {
            self.bump();
            expr = Some(self.expr()?);
            self.expect(T::RParen)?;
        } else if self.is_col_id() && !matches!(self.ahead(1).kind, T::LParen | T::Dot) {
            name = Some(self.col_id()?);
        } else {
            expr = Some(self.func_expr_windowless()?);
        }
        self.index_elem_options(name, expr, pos)
    }

    pub(super) fn index_elem_options(
        &mut self,
        name: Option<String>,
        expr: Option<Expr>,
        pos: Pos,
    ) -> Result<IndexElem> {
        let collation = self.opt_collate()?;
        let mut opclass = None;
        let mut opclass_options = Vec::new();
        let nulls = self.is_kw(Kw::Nulls) && matches!(self.kw_ahead(1), Kw::First | Kw::Last);
        let with = self.is_kw(Kw::With);
        if self.is_col_id() && !nulls && !with && !self.without_overlaps_next() {
            opclass = Some(self.any_name()?);
            if self.is(T::LParen) {
                opclass_options = self.reloptions()?;
            }
        }
        let dir = self.asc_desc();
        let nulls = self.nulls_order()?;
        Ok(IndexElem { name, expr, collation, opclass, opclass_options, dir, nulls, pos })
    }

    fn without_overlaps_next(&self) -> bool {
        self.is_kws(&[Kw::Without, Kw::Overlaps])
    }

    pub(super) fn opt_nulls_not_distinct(&mut self) -> bool {
        if self.accept_kws(&[Kw::Nulls, Kw::Not, Kw::Distinct]) {
            return true;
        }
        self.accept_kws(&[Kw::Nulls, Kw::Distinct]);
        false
    }

    /// After CREATE, at UNIQUE or INDEX.
    pub(super) fn create_index(&mut self) -> Result<Stmt> {
        let unique = self.accept_kw(Kw::Unique);
        self.expect_kw(Kw::Index)?;
        let concurrently = self.accept_kw(Kw::Concurrently);
        let if_not_exists = self.if_not_exists()?;
        let name = if self.is_kw(Kw::On) && !if_not_exists { None } else { Some(self.name()?) };
        self.expect_kw(Kw::On)?;
        let (rel, only) = self.relation_expr()?;
        let access_method = self.opt_access_method()?.unwrap_or_else(|| "btree".into());
        let elems = self.paren_list(|p| p.index_elem())?;
        let mut including = Vec::new();
        if self.accept_kw(Kw::Include) {
            including = self.paren_list(|p| p.index_elem())?;
        }
        let nulls_not_distinct = self.opt_nulls_not_distinct();
        let options = self.opt_reloptions()?;
        let tablespace = self.opt_tablespace()?;
        let predicate = self.opt_where()?;
        Ok(Stmt::CreateIndex(Box::new(CreateIndexStmt {
            unique,
            concurrently,
            if_not_exists,
            name,
            rel,
            only,
            access_method,
            elems,
            including,
            nulls_not_distinct,
            options,
            tablespace,
            predicate,
        })))
    }
}
