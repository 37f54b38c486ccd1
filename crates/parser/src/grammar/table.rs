//! CREATE TABLE.

use super::constraint::Place;
use super::*;

pub(super) fn plain_column(name: String, type_name: Option<TypeName>, pos: Pos) -> ColumnDef {
    ColumnDef {
        name,
        type_name,
        storage: None,
        compression: None,
        collation: None,
        constraints: Vec::new(),
        fdw_options: Vec::new(),
        pos,
    }
}

impl Parser<'_> {
    /// After CREATE: TEMP and its kin.
    pub(super) fn opt_temp(&mut self) -> Result<Persistence> {
        if self.is_any(&[Kw::Local, Kw::Global])
            && matches!(self.kw_ahead(1), Kw::Temp | Kw::Temporary)
        {
            self.at += 2;
            return Ok(Persistence::Temporary);
        }
        Ok(if self.accept_kw(Kw::Temp) || self.accept_kw(Kw::Temporary) {
            Persistence::Temporary
        } else if self.accept_kw(Kw::Unlogged) {
            Persistence::Unlogged
        } else {
            Persistence::Permanent
        })
    }

    /// CREATE TABLE or CREATE TABLE AS, at TABLE.
    pub(super) fn create_table(&mut self, persistence: Persistence) -> Result<Stmt> {
        self.expect_kw(Kw::Table)?;
        let if_not_exists = self.if_not_exists()?;
        let rel = self.rel_name()?;
        if self.at_create_as() {
            return self.create_table_as(rel, persistence, if_not_exists);
        }
        let mut stmt = empty_table(rel, persistence, if_not_exists);
        if self.accept_kw(Kw::Of) {
            stmt.of_type = Some(self.any_type_name()?);
            if self.is(T::LParen) {
                stmt.elements = self.paren_list(|p| p.typed_element())?;
            }
        } else if self.accept_kws(&[Kw::Partition, Kw::Of]) {
            self.partition_of(&mut stmt)?;
        } else {
            self.table_elements(&mut stmt)?;
            stmt.inherits = self.opt_inherits()?;
        }
        stmt.partition_by = self.opt_partition_by()?;
        stmt.access_method = self.opt_access_method()?;
        stmt.options = self.opt_with_table()?;
        stmt.on_commit = self.opt_on_commit()?;
        stmt.tablespace = self.opt_tablespace()?;
        Ok(Stmt::CreateTable(Box::new(stmt)))
    }

    fn any_type_name(&mut self) -> Result<TypeName> {
        let name = self.any_name()?;
        Ok(super::expr::plain_type(name.parts, name.pos))
    }

    fn partition_of(&mut self, stmt: &mut CreateTableStmt) -> Result<()> {
        let parent = self.rel_name()?;
        if self.is(T::LParen) {
            stmt.elements = self.paren_list(|p| p.typed_element())?;
        }
        stmt.partition_of = Some((parent, self.partition_bound()?));
        Ok(())
    }

    fn table_elements(&mut self, stmt: &mut CreateTableStmt) -> Result<()> {
        self.expect(T::LParen)?;
        if !self.is(T::RParen) {
            stmt.elements = self.list(|p| p.table_element())?;
        }
        self.expect(T::RParen)
    }

    fn opt_inherits(&mut self) -> Result<Vec<RelName>> {
        if self.accept_kw(Kw::Inherits) {
            self.paren_list(|p| p.rel_name())
        } else {
            Ok(Vec::new())
        }
    }

    /// CREATE FOREIGN TABLE, at FOREIGN.
    pub(super) fn create_foreign_table(&mut self) -> Result<Stmt> {
        self.expect_kws(&[Kw::Foreign, Kw::Table])?;
        let if_not_exists = self.if_not_exists()?;
        let rel = self.rel_name()?;
        let mut stmt = empty_table(rel, Persistence::Permanent, if_not_exists);
        if self.accept_kws(&[Kw::Partition, Kw::Of]) {
            self.partition_of(&mut stmt)?;
        } else {
            self.table_elements(&mut stmt)?;
            stmt.inherits = self.opt_inherits()?;
        }
        self.expect_kw(Kw::Server)?;
        let server = self.name()?;
        stmt.foreign = Some((server, self.create_options()?));
        Ok(Stmt::CreateTable(Box::new(stmt)))
    }

    fn opt_with_table(&mut self) -> Result<Vec<DefElem>> {
        if self.accept_kws(&[Kw::Without, Kw::Oids]) {
            return Ok(Vec::new());
        }
        if self.is_kw(Kw::With) && self.ahead(1).kind != T::LParen {
            self.bump();
            return Err(self.unexpected());
        }
        self.opt_reloptions()
    }

    fn opt_on_commit(&mut self) -> Result<OnCommit> {
        if !self.is_kws(&[Kw::On, Kw::Commit]) {
            return Ok(OnCommit::Unspecified);
        }
        self.at += 2;
        let found = match self.kw() {
            Kw::Drop => {
                self.bump();
                return Ok(OnCommit::Drop);
            }
            Kw::Delete => OnCommit::DeleteRows,
            Kw::Preserve => OnCommit::PreserveRows,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        self.expect_kw(Kw::Rows)?;
        Ok(found)
    }

    fn table_element(&mut self) -> Result<TableElement> {
        if self.is_kw(Kw::Like) {
            return self.like_clause();
        }
        if self.at_table_constraint() {
            return Ok(TableElement::Constraint(self.table_constraint(Place::Table)?));
        }
        Ok(TableElement::Column(self.column_def()?))
    }

    /// TypedTableElement: a column without a type.
    fn typed_element(&mut self) -> Result<TableElement> {
        if self.at_table_constraint() {
            return Ok(TableElement::Constraint(self.table_constraint(Place::Table)?));
        }
        let pos = self.pos();
        let name = self.col_id()?;
        self.accept_kws(&[Kw::With, Kw::Options]);
        let (constraints, collation) = self.column_qualifiers(Place::Table)?;
        let column = ColumnDef { constraints, collation, ..plain_column(name, None, pos) };
        Ok(TableElement::Column(column))
    }

    /// columnDef.
    pub(super) fn column_def(&mut self) -> Result<ColumnDef> {
        let pos = self.pos();
        let name = self.col_id()?;
        let type_name = Some(self.type_name()?);
        let mut column = plain_column(name, type_name, pos);
        if self.accept_kw(Kw::Storage) {
            column.storage = Some(self.name_or_default()?);
        }
        if self.accept_kw(Kw::Compression) {
            column.compression = Some(self.name_or_default()?);
        }
        column.fdw_options = self.create_options()?;
        (column.constraints, column.collation) = self.column_qualifiers(Place::Table)?;
        Ok(column)
    }

    pub(super) fn name_or_default(&mut self) -> Result<String> {
        if self.accept_kw(Kw::Default) { Ok("default".into()) } else { self.col_id() }
    }

    fn like_clause(&mut self) -> Result<TableElement> {
        self.bump();
        let rel = self.rel_name()?;
        use LikeOption::*;
        let all = [
            Comments,
            Compression,
            Constraints,
            Defaults,
            Generated,
            Identity,
            Indexes,
            Statistics,
            Storage,
        ];
        let mut options: Vec<LikeOption> = Vec::new();
        while self.is_any(&[Kw::Including, Kw::Excluding]) {
            let add = self.bump().kw == Kw::Including;
            let option = match self.kw() {
                Kw::Comments => Comments,
                Kw::Compression => Compression,
                Kw::Constraints => Constraints,
                Kw::Defaults => Defaults,
                Kw::Generated => Generated,
                Kw::Identity => Identity,
                Kw::Indexes => Indexes,
                Kw::Statistics => Statistics,
                Kw::Storage => Storage,
                Kw::All => {
                    self.bump();
                    options = if add { all.to_vec() } else { Vec::new() };
                    continue;
                }
                _ => return Err(self.unexpected()),
            };
            self.bump();
            options.retain(|&o| o != option);
            if add {
                options.push(option);
            }
        }
        Ok(TableElement::Like(LikeClause { rel, options }))
    }

    fn opt_partition_by(&mut self) -> Result<Option<PartitionSpec>> {
        let pos = self.pos();
        if !self.accept_kw(Kw::Partition) {
            return Ok(None);
        }
        self.expect_kw(Kw::By)?;
        let at = self.pos();
        let strategy = self.col_id()?;
        if !matches!(strategy.as_str(), "list" | "range" | "hash") {
            let message = format!("unrecognized partitioning strategy \"{strategy}\"");
            return Err(base::err!(INVALID_PARAMETER_VALUE, "{message}").at(at));
        }
        let elems = self.paren_list(|p| {
            let pos = p.pos();
            let (mut name, mut expr) = (None, None);
            if p.accept(T::LParen) {
                expr = Some(p.expr()?);
                p.expect(T::RParen)?;
            } else if p.is_col_id() && !matches!(p.ahead(1).kind, T::LParen | T::Dot) {
                name = Some(p.col_id()?);
            } else {
                expr = Some(p.func_expr_windowless()?);
            }
            let collation = p.opt_collate()?;
            let opclass = if p.is_col_id() { Some(p.any_name()?) } else { None };
            Ok(IndexElem {
                name,
                expr,
                collation,
                opclass,
                opclass_options: Vec::new(),
                dir: SortDir::Default,
                nulls: NullsOrder::Default,
                pos,
            })
        })?;
        Ok(Some(PartitionSpec { strategy, elems, pos }))
    }

    /// PartitionBoundSpec.
    pub(super) fn partition_bound(&mut self) -> Result<PartitionBound> {
        let pos = self.pos();
        if self.accept_kw(Kw::Default) {
            return Ok(PartitionBound::Default { pos });
        }
        self.expect_kws(&[Kw::For, Kw::Values])?;
        let pos = self.pos();
        match self.kw() {
            Kw::With => {
                self.bump();
                self.hash_bound(pos)
            }
            Kw::In => {
                self.bump();
                Ok(PartitionBound::List { values: self.paren_list(|p| p.expr())?, pos })
            }
            Kw::From => {
                self.bump();
                let lower = self.paren_list(|p| p.expr())?;
                self.expect_kw(Kw::To)?;
                let upper = self.paren_list(|p| p.expr())?;
                Ok(PartitionBound::Range { lower, upper, pos })
            }
            _ => Err(self.unexpected()),
        }
    }

    fn hash_bound(&mut self, pos: Pos) -> Result<PartitionBound> {
        let (mut modulus, mut remainder) = (None, None);
        self.paren_list(|p| {
            let at = p.pos();
            let name = p.non_reserved_word()?;
            let value = p.iconst()?;
            let slot = match name.as_str() {
                "modulus" => &mut modulus,
                "remainder" => &mut remainder,
                _ => {
                    let message =
                        format!("unrecognized hash partition bound specification \"{name}\"");
                    return Err(p.error_at(at, &message));
                }
            };
            if slot.replace(value).is_some() {
                let message = format!("{name} for hash partition provided more than once");
                return Err(base::err!(DUPLICATE_OBJECT, "{message}").at(at));
            }
            Ok(())
        })?;
        let Some(modulus) = modulus else {
            let message = "modulus for hash partition must be specified";
            return Err(base::err!(SYNTAX_ERROR, "{message}"));
        };
        let Some(remainder) = remainder else {
            let message = "remainder for hash partition must be specified";
            return Err(base::err!(SYNTAX_ERROR, "{message}"));
        };
        Ok(PartitionBound::Hash { modulus, remainder, pos })
    }

    // CREATE TABLE AS.

    /// After the table's name: whether AS comes, perhaps behind columns and options.
    fn at_create_as(&self) -> bool {
        if self.is_kw(Kw::As) || self.is_kw(Kw::Using) || self.is_kw(Kw::With) {
            return true;
        }
        if self.is_kw(Kw::On) || self.is_kw(Kw::Tablespace) || self.is_kw(Kw::Without) {
            return true;
        }
        // `(name, ..` or `(name)` is a list of column names only.
        self.is(T::LParen)
            && self.token_in(self.ahead(1), &[Category::Unreserved, Category::ColName])
            && matches!(self.ahead(2).kind, T::Comma | T::RParen)
            && self.kw_ahead(1) != Kw::Like
    }

    /// create_as_target and the query, after the name.
    fn create_table_as(
        &mut self,
        rel: RelName,
        persistence: Persistence,
        if_not_exists: bool,
    ) -> Result<Stmt> {
        let mut into = super::select::plain_into(rel, persistence);
        into.columns = self.opt_paren_names()?;
        into.access_method = self.opt_access_method()?;
        into.options = self.opt_with_table()?;
        into.on_commit = self.opt_on_commit()?;
        into.tablespace = self.opt_tablespace()?;
        self.expect_kw(Kw::As)?;
        let query = if self.is_kw(Kw::Execute) {
            self.execute()?
        } else {
            Stmt::Select(Box::new(self.select_no_parens()?))
        };
        into.no_data = self.opt_no_data();
        let stmt = CreateTableAsStmt { into, matview: false, if_not_exists, query };
        Ok(Stmt::CreateTableAs(Box::new(stmt)))
    }

    /// CREATE MATERIALIZED VIEW, at MATERIALIZED.
    pub(super) fn create_matview(&mut self, persistence: Persistence) -> Result<Stmt> {
        self.expect_kws(&[Kw::Materialized, Kw::View])?;
        let if_not_exists = self.if_not_exists()?;
        let rel = self.rel_name()?;
        let mut into = super::select::plain_into(rel, persistence);
        into.columns = self.opt_paren_names()?;
        into.access_method = self.opt_access_method()?;
        into.options = self.opt_reloptions()?;
        into.tablespace = self.opt_tablespace()?;
        self.expect_kw(Kw::As)?;
        let query = Stmt::Select(Box::new(self.select_no_parens()?));
        into.no_data = self.opt_no_data();
        let stmt = CreateTableAsStmt { into, matview: true, if_not_exists, query };
        Ok(Stmt::CreateTableAs(Box::new(stmt)))
    }
}

fn empty_table(rel: RelName, persistence: Persistence, if_not_exists: bool) -> CreateTableStmt {
    CreateTableStmt {
        rel,
        persistence,
        if_not_exists,
        of_type: None,
        elements: Vec::new(),
        inherits: Vec::new(),
        partition_of: None,
        partition_by: None,
        access_method: None,
        options: Vec::new(),
        on_commit: OnCommit::Unspecified,
        tablespace: None,
        foreign: None,
    }
}
