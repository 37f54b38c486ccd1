//! CREATE of views, sequences, schemas, databases, and the way to every other CREATE.

use super::lists::{flag, number, option, text_option};
use super::*;

impl Parser<'_> {
    /// CREATE ..
    pub(super) fn create(&mut self) -> Result<Stmt> {
        let start = self.at;
        self.expect_kw(Kw::Create)?;
        let replace = self.accept_kws(&[Kw::Or, Kw::Replace]);
        if replace {
            return self.create_or_replace();
        }
        let persistence = self.opt_temp()?;
        if persistence != Persistence::Permanent {
            return match self.kw() {
                Kw::Table => self.create_table(persistence),
                Kw::Sequence => self.create_sequence(persistence),
                Kw::View | Kw::Recursive => self.create_view(persistence, false),
                Kw::Materialized if persistence == Persistence::Unlogged => {
                    self.create_matview(persistence)
                }
                _ => Err(self.unexpected()),
            };
        }
        match self.kw() {
            Kw::Table => self.create_table(persistence),
            Kw::Unique | Kw::Index => self.create_index(),
            Kw::View | Kw::Recursive => self.create_view(persistence, false),
            Kw::Materialized => self.create_matview(persistence),
            Kw::Sequence => self.create_sequence(persistence),
            Kw::Schema => self.create_schema(),
            Kw::Database => self.create_database(),
            Kw::Role | Kw::Group => self.create_role(),
            Kw::User if self.kw_ahead(1) == Kw::Mapping => self.user_mapping(),
            Kw::User => self.create_role(),
            Kw::Tablespace => self.create_tablespace(),
            Kw::Type => self.create_type(),
            Kw::Domain => self.create_domain(),
            Kw::Function | Kw::Procedure => self.create_function(false),
            Kw::Aggregate => self.create_aggregate(false),
            Kw::Operator => self.create_operator(),
            Kw::Trigger | Kw::Constraint => self.create_trigger(false),
            Kw::Event => self.create_event_trigger(),
            Kw::Rule => self.create_rule(false),
            Kw::Policy => self.policy(true),
            Kw::Cast => self.create_cast(),
            Kw::Default | Kw::Conversion => self.create_conversion(),
            Kw::Transform => self.create_transform(false),
            Kw::Access => self.create_access_method(),
            Kw::Trusted | Kw::Procedural | Kw::Language => self.create_language(false),
            Kw::Statistics => self.create_statistics(),
            Kw::Collation => self.create_collation(),
            Kw::Text => self.create_text_search(),
            Kw::Extension => self.create_extension(),
            Kw::Foreign if self.kw_ahead(1) == Kw::Table => self.create_foreign_table(),
            Kw::Foreign => self.foreign_data_wrapper(true),
            Kw::Server => self.create_server(),
            Kw::Publication => self.create_publication(),
            Kw::Subscription => self.create_subscription(),
            Kw::Assertion => {
                let pos = self.tokens[start].start;
                self.bump();
                let message = "CREATE ASSERTION is not yet implemented";
                Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}").at(pos))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn create_or_replace(&mut self) -> Result<Stmt> {
        let persistence = self.opt_temp()?;
        match self.kw() {
            Kw::View | Kw::Recursive => self.create_view(persistence, true),
            _ if persistence != Persistence::Permanent => Err(self.unexpected()),
            Kw::Function | Kw::Procedure => self.create_function(true),
            Kw::Aggregate => self.create_aggregate(true),
            Kw::Trigger | Kw::Constraint => self.create_trigger(true),
            Kw::Rule => self.create_rule(true),
            Kw::Transform => self.create_transform(true),
            Kw::Trusted | Kw::Procedural | Kw::Language => self.create_language(true),
            _ => Err(self.unexpected()),
        }
    }

    fn create_view(&mut self, persistence: Persistence, replace: bool) -> Result<Stmt> {
        let recursive = self.accept_kw(Kw::Recursive);
        self.expect_kw(Kw::View)?;
        let rel = self.rel_name()?;
        let columns =
            if recursive { self.paren_list(|p| p.col_id())? } else { self.opt_paren_names()? };
        let options = self.opt_reloptions()?;
        self.expect_kw(Kw::As)?;
        let mut query = self.select_no_parens()?;
        let check_option = self.opt_check_option()?;
        if recursive {
            if check_option != CheckOption::None {
                let message = "WITH CHECK OPTION not supported on recursive views";
                return Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}"));
            }
            query = recursive_view(&rel.name, &columns, query);
        }
        Ok(Stmt::CreateView(Box::new(CreateViewStmt {
            rel,
            persistence,
            replace,
            recursive,
            columns,
            options,
            query,
            check_option,
        })))
    }

    fn opt_check_option(&mut self) -> Result<CheckOption> {
        if !self.is_kw(Kw::With) {
            return Ok(CheckOption::None);
        }
        self.bump();
        let local = self.accept_kw(Kw::Local);
        if !local {
            self.accept_kw(Kw::Cascaded);
        }
        self.expect_kws(&[Kw::Check, Kw::Option])?;
        Ok(if local { CheckOption::Local } else { CheckOption::Cascaded })
    }

    fn create_sequence(&mut self, persistence: Persistence) -> Result<Stmt> {
        self.expect_kw(Kw::Sequence)?;
        let if_not_exists = self.if_not_exists()?;
        let rel = self.rel_name()?;
        let mut options = Vec::new();
        while self.at_seq_option() {
            options.push(self.seq_option()?);
        }
        let stmt = CreateSequenceStmt { rel, persistence, if_not_exists, options };
        Ok(Stmt::CreateSequence(Box::new(stmt)))
    }

    pub(super) fn at_seq_option(&self) -> bool {
        self.is_any(&[
            Kw::As,
            Kw::Cache,
            Kw::Cycle,
            Kw::Increment,
            Kw::Logged,
            Kw::Maxvalue,
            Kw::Minvalue,
            Kw::No,
            Kw::Owned,
            Kw::Sequence,
            Kw::Start,
            Kw::Restart,
            Kw::Unlogged,
        ])
    }

    /// SeqOptElem.
    pub(super) fn seq_option(&mut self) -> Result<SeqOption> {
        let pos = self.pos();
        let word = self.kw();
        if !self.at_seq_option() {
            return Err(self.unexpected());
        }
        self.bump();
        use SeqOptionKind::*;
        let kind = match word {
            Kw::As => As(self.simple_type(false)?),
            Kw::Cache => Cache(self.numeric_only()?),
            Kw::Cycle => Cycle(true),
            Kw::Increment => {
                self.accept_kw(Kw::By);
                Increment(self.numeric_only()?)
            }
            Kw::Logged => Logged(true),
            Kw::Unlogged => Logged(false),
            Kw::Maxvalue => MaxValue(Some(self.numeric_only()?)),
            Kw::Minvalue => MinValue(Some(self.numeric_only()?)),
            Kw::Owned => {
                self.expect_kw(Kw::By)?;
                // NONE is a word like any other here.
                OwnedBy(self.any_name()?)
            }
            Kw::Sequence => {
                self.expect_kw(Kw::Name)?;
                SequenceName(self.any_name()?)
            }
            Kw::Start => {
                self.accept_kw(Kw::With);
                Start(self.numeric_only()?)
            }
            Kw::Restart => {
                let with = self.accept_kw(Kw::With);
                let number = matches!(self.tok().kind, T::Int | T::Float | T::Plus | T::Minus);
                Restart(if with || number { Some(self.numeric_only()?) } else { None })
            }
            _ => match self.bump().kw {
                Kw::Cycle => Cycle(false),
                Kw::Maxvalue => MaxValue(None),
                Kw::Minvalue => MinValue(None),
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected());
                }
            },
        };
        Ok(SeqOption { kind, pos })
    }

    fn create_schema(&mut self) -> Result<Stmt> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let mut name = None;
        if !self.is_kw(Kw::Authorization) {
            name = Some(self.col_id()?);
        }
        let mut authorization = None;
        if self.accept_kw(Kw::Authorization) {
            authorization = Some(self.role_spec()?);
        }
        let mut elements = Vec::new();
        while self.is_any(&[Kw::Create, Kw::Grant]) {
            let pos = self.pos();
            if if_not_exists {
                let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
                return Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}").at(pos));
            }
            let stmt = if self.is_kw(Kw::Create) { self.create()? } else { self.grant(true)? };
            elements.push(RawStmt { stmt, location: pos, len: self.last_end() - pos });
        }
        let stmt = CreateSchemaStmt { name, authorization, if_not_exists, elements };
        Ok(Stmt::CreateSchema(Box::new(stmt)))
    }

    fn create_database(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.name()?;
        self.accept_kw(Kw::With);
        let options = self.database_options()?;
        Ok(Stmt::CreateDatabase(CreateDatabaseStmt { name, options }))
    }

    /// createdb_opt_list.
    pub(super) fn database_options(&mut self) -> Result<Vec<DefElem>> {
        let mut options = Vec::new();
        loop {
            let pos = self.pos();
            let token = self.tok();
            let name = match token.kw {
                Kw::Connection => {
                    self.bump();
                    self.expect_kw(Kw::Limit)?;
                    "connection_limit".to_owned()
                }
                Kw::Encoding | Kw::Location | Kw::Owner | Kw::Tablespace | Kw::Template => {
                    self.bump();
                    self.name_of(token)
                }
                _ if token.kind == T::Ident => {
                    self.bump();
                    self.name_of(token)
                }
                _ => return Ok(options),
            };
            self.accept(T::Eq);
            let value = match self.tok().kind {
                T::Int | T::Float | T::Plus | T::Minus => Some(number(self.numeric_only()?)),
                _ if self.accept_kw(Kw::Default) => None,
                _ => Some(DefValue::String(self.opt_boolean_or_string()?)),
            };
            options.push(option(name, value, pos));
        }
    }

    fn create_tablespace(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.name()?;
        let owner = if self.accept_kw(Kw::Owner) { Some(self.role_spec()?) } else { None };
        self.expect_kw(Kw::Location)?;
        let location = self.sconst()?;
        let options = self.opt_reloptions()?;
        Ok(Stmt::CreateTablespace(CreateTablespaceStmt { name, owner, location, options }))
    }

    fn create_access_method(&mut self) -> Result<Stmt> {
        self.expect_kws(&[Kw::Access, Kw::Method])?;
        let name = self.name()?;
        self.expect_kw(Kw::Type)?;
        let table = self.accept_kw(Kw::Table);
        if !table {
            self.expect_kw(Kw::Index)?;
        }
        self.expect_kw(Kw::Handler)?;
        let handler = self.handler_name()?;
        Ok(Stmt::CreateAccessMethod(CreateAccessMethodStmt { name, table, handler }))
    }

    pub(super) fn handler_name(&mut self) -> Result<Name> {
        self.any_name()
    }

    fn create_statistics(&mut self) -> Result<Stmt> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let mut name = None;
        if !self.is_kw(Kw::On) && !self.is(T::LParen) {
            name = Some(self.any_name()?);
        }
        let mut kinds = Vec::new();
        if self.is(T::LParen) {
            kinds = self.paren_list(|p| p.col_id())?;
        }
        self.expect_kw(Kw::On)?;
        let elems = self.list(|p| {
            let pos = p.pos();
            if p.accept(T::LParen) {
                let found = p.expr()?;
                p.expect(T::RParen)?;
                return Ok(found);
            }
            if p.is_col_id() && !matches!(p.ahead(1).kind, T::LParen | T::Dot) {
                return Ok(super::expr::column(vec![p.col_id()?], pos));
            }
            p.func_expr_windowless()
        })?;
        self.expect_kw(Kw::From)?;
        let from = self.from_list()?;
        let stmt = CreateStatisticsStmt { name, if_not_exists, kinds, elems, from };
        Ok(Stmt::CreateStatistics(Box::new(stmt)))
    }

    fn create_extension(&mut self) -> Result<Stmt> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        self.accept_kw(Kw::With);
        let mut options = Vec::new();
        loop {
            let pos = self.pos();
            match self.kw() {
                Kw::Schema => {
                    self.bump();
                    options.push(text_option("schema", self.name()?, pos));
                }
                Kw::Version => {
                    self.bump();
                    options.push(text_option("new_version", self.word_or_sconst()?, pos));
                }
                Kw::Cascade => {
                    self.bump();
                    options.push(flag("cascade", true, pos));
                }
                _ => break,
            }
        }
        Ok(Stmt::CreateExtension(CreateExtensionStmt { name, if_not_exists, options }))
    }
}

/// The query of CREATE RECURSIVE VIEW: WITH RECURSIVE name (columns) AS (query) SELECT columns.
fn recursive_view(name: &str, columns: &[String], query: SelectStmt) -> SelectStmt {
    let ident = |n: &String| Ident { name: n.clone(), pos: NO_POS };
    let cte = Cte {
        name: name.to_owned(),
        columns: columns.iter().map(ident).collect(),
        materialized: None,
        query: Stmt::Select(Box::new(query)),
        search: None,
        cycle: None,
        pos: NO_POS,
    };
    let target = |n: &String| Target {
        name: None,
        expr: super::expr::column(vec![n.clone()], NO_POS),
        pos: NO_POS,
    };
    let rel = RelName { catalog: None, schema: None, name: name.to_owned(), pos: NO_POS };
    let table = TableRef { rel, only: false, alias: None, sample: None };
    let core = SelectCore {
        targets: columns.iter().map(target).collect(),
        from: vec![FromItem::Table(Box::new(table))],
        ..SelectCore::default()
    };
    let body = SelectBody::Select(Box::new(core));
    let with = WithClause { recursive: true, ctes: vec![cte], pos: NO_POS };
    SelectStmt { with: Some(with), ..super::select::bare_query(body, NO_POS) }
}
