//! Transactions, COPY, EXPLAIN, VACUUM, cursors and the other commands.

use super::lists::{flag, option, text_option};
use super::*;

impl Parser<'_> {
    /// What `statement` does not know.
    pub(super) fn command(&mut self) -> Result<Stmt> {
        match self.kw() {
            Kw::Copy => self.copy(),
            Kw::Truncate => self.truncate(),
            Kw::Explain => self.explain(),
            Kw::Prepare => self.prepare(),
            Kw::Execute => self.execute(),
            Kw::Deallocate => {
                self.bump();
                self.accept_kw(Kw::Prepare);
                Ok(Stmt::Deallocate(self.name_or_all()?))
            }
            Kw::Show => self.show(),
            Kw::Vacuum | Kw::Analyze | Kw::Analyse => self.vacuum(),
            Kw::Checkpoint => {
                self.bump();
                let mut options = Vec::new();
                if self.is(T::LParen) {
                    options = self.utility_options()?;
                }
                Ok(Stmt::Checkpoint(options))
            }
            Kw::Reindex => self.reindex(),
            Kw::Cluster => self.cluster(),
            Kw::Lock => self.lock(),
            Kw::Listen => {
                self.bump();
                Ok(Stmt::Listen(self.col_id()?))
            }
            Kw::Unlisten => {
                self.bump();
                Ok(Stmt::Unlisten(if self.accept(T::Star) { None } else { Some(self.col_id()?) }))
            }
            Kw::Notify => {
                self.bump();
                let channel = self.col_id()?;
                let payload = if self.accept(T::Comma) { Some(self.sconst()?) } else { None };
                Ok(Stmt::Notify(NotifyStmt { channel, payload }))
            }
            Kw::Declare => self.declare_cursor(),
            Kw::Fetch | Kw::Move => self.fetch(),
            Kw::Close => {
                self.bump();
                Ok(Stmt::Close(self.name_or_all()?))
            }
            Kw::Discard => self.discard(),
            Kw::Do => self.do_block(),
            Kw::Call => self.call(),
            Kw::Load => {
                self.bump();
                Ok(Stmt::Load(self.sconst()?))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn name_or_all(&mut self) -> Result<Option<String>> {
        if self.accept_kw(Kw::All) { Ok(None) } else { Ok(Some(self.name()?)) }
    }

    fn opt_transaction_word(&mut self) {
        if !self.accept_kw(Kw::Work) {
            self.accept_kw(Kw::Transaction);
        }
    }

    /// AND [NO] CHAIN.
    fn opt_chain(&mut self) -> Result<bool> {
        if !self.accept_kw(Kw::And) {
            return Ok(false);
        }
        let no = self.accept_kw(Kw::No);
        self.expect_kw(Kw::Chain)?;
        Ok(!no)
    }

    pub(super) fn transaction(&mut self) -> Result<Stmt> {
        use TransactionStmt::*;
        let word = self.bump().kw;
        Ok(Stmt::Transaction(match word {
            Kw::Begin => {
                self.opt_transaction_word();
                Begin { modes: self.transaction_modes(false)? }
            }
            Kw::Start => {
                self.expect_kw(Kw::Transaction)?;
                Start { modes: self.transaction_modes(false)? }
            }
            Kw::Commit if self.accept_kw(Kw::Prepared) => CommitPrepared(self.sconst()?),
            Kw::Rollback if self.accept_kw(Kw::Prepared) => RollbackPrepared(self.sconst()?),
            Kw::Commit | Kw::End => {
                self.opt_transaction_word();
                Commit { chain: self.opt_chain()? }
            }
            Kw::Rollback | Kw::Abort => {
                self.opt_transaction_word();
                if word == Kw::Rollback && self.accept_kw(Kw::To) {
                    self.accept_kw(Kw::Savepoint);
                    RollbackTo(self.col_id()?)
                } else {
                    Rollback { chain: self.opt_chain()? }
                }
            }
            Kw::Savepoint => Savepoint(self.col_id()?),
            Kw::Release => {
                self.accept_kw(Kw::Savepoint);
                Release(self.col_id()?)
            }
            _ => {
                self.expect_kw(Kw::Transaction)?;
                Prepare(self.sconst()?)
            }
        }))
    }

    /// transaction_mode_list, with or without commas.
    pub(super) fn transaction_modes(&mut self, required: bool) -> Result<Vec<TransactionMode>> {
        let mut modes = Vec::new();
        while required && modes.is_empty()
            || self.is_any(&[Kw::Isolation, Kw::Read, Kw::Deferrable, Kw::Not])
        {
            modes.push(self.transaction_mode()?);
            if self.is(T::Comma) {
                self.bump();
                if !self.is_any(&[Kw::Isolation, Kw::Read, Kw::Deferrable, Kw::Not]) {
                    return Err(self.unexpected());
                }
            }
        }
        Ok(modes)
    }

    fn transaction_mode(&mut self) -> Result<TransactionMode> {
        match self.kw() {
            Kw::Isolation => {
                self.bump();
                self.expect_kw(Kw::Level)?;
                let level = if self.accept_kw(Kw::Serializable) {
                    IsolationLevel::Serializable
                } else if self.accept_kw(Kw::Repeatable) {
                    self.expect_kw(Kw::Read)?;
                    IsolationLevel::RepeatableRead
                } else {
                    self.expect_kw(Kw::Read)?;
                    if self.accept_kw(Kw::Committed) {
                        IsolationLevel::ReadCommitted
                    } else {
                        self.expect_kw(Kw::Uncommitted)?;
                        IsolationLevel::ReadUncommitted
                    }
                };
                Ok(TransactionMode::Isolation(level))
            }
            Kw::Read => {
                self.bump();
                let only = self.accept_kw(Kw::Only);
                if !only {
                    self.expect_kw(Kw::Write)?;
                }
                Ok(TransactionMode::ReadOnly(only))
            }
            Kw::Not => {
                self.bump();
                self.expect_kw(Kw::Deferrable)?;
                Ok(TransactionMode::Deferrable(false))
            }
            _ => {
                self.expect_kw(Kw::Deferrable)?;
                Ok(TransactionMode::Deferrable(true))
            }
        }
    }

    // COPY.

    fn copy(&mut self) -> Result<Stmt> {
        self.bump();
        let mut stmt = CopyStmt {
            rel: None,
            query: None,
            columns: Vec::new(),
            is_from: false,
            is_program: false,
            filename: None,
            options: Vec::new(),
            where_clause: None,
        };
        if self.accept(T::LParen) {
            stmt.query = Some(self.preparable()?);
            self.expect(T::RParen)?;
            self.expect_kw(Kw::To)?;
        } else {
            let binary_pos = self.pos();
            if self.is_kw(Kw::Binary) {
                self.bump();
                stmt.options.push(text_option("format", "binary".into(), binary_pos));
            }
            stmt.rel = Some(self.rel_name()?);
            if self.is(T::LParen) {
                stmt.columns = self.paren_list(|p| {
                    let pos = p.pos();
                    Ok(Ident { name: p.col_id()?, pos })
                })?;
            }
            stmt.is_from = self.accept_kw(Kw::From);
            if !stmt.is_from {
                self.expect_kw(Kw::To)?;
            }
        }
        self.copy_target(&mut stmt)?;
        let where_pos = self.pos();
        stmt.where_clause = self.opt_where()?;
        if stmt.where_clause.is_some() && !stmt.is_from {
            let error = self.error_at(where_pos, "WHERE clause not allowed with COPY TO");
            return Err(error);
        }
        Ok(Stmt::Copy(Box::new(stmt)))
    }

    fn copy_target(&mut self, stmt: &mut CopyStmt) -> Result<()> {
        let program_pos = self.pos();
        stmt.is_program = self.accept_kw(Kw::Program);
        if self.is(T::Str) {
            stmt.filename = Some(self.sconst()?);
        } else if self.is_any(&[Kw::Stdin, Kw::Stdout]) {
            if stmt.is_program {
                let message = "STDIN/STDOUT not allowed with PROGRAM";
                return Err(self.error_at(program_pos + 8, message));
            }
            self.bump();
        } else {
            return Err(self.unexpected());
        }
        let pos = self.pos();
        if self.is_any(&[Kw::Using, Kw::Delimiters]) {
            self.accept_kw(Kw::Using);
            self.expect_kw(Kw::Delimiters)?;
            stmt.options.push(text_option("delimiter", self.sconst()?, pos));
        }
        self.accept_kw(Kw::With);
        if self.is(T::LParen) {
            stmt.options.extend(self.paren_list(|p| p.copy_option())?);
            return Ok(());
        }
        while let Some(option) = self.old_copy_option()? {
            stmt.options.push(option);
        }
        Ok(())
    }

    fn copy_option(&mut self) -> Result<DefElem> {
        let pos = self.pos();
        let name = self.col_label()?;
        let value = match self.tok().kind {
            T::Comma | T::RParen => None,
            T::Int | T::Float | T::Plus | T::Minus => {
                Some(super::lists::number(self.numeric_only()?))
            }
            T::Star => {
                self.bump();
                Some(DefValue::Star)
            }
            T::LParen => Some(DefValue::Names(self.paren_list(|p| p.opt_boolean_or_string())?)),
            _ if self.accept_kw(Kw::Default) => Some(DefValue::String("default".into())),
            _ => Some(DefValue::String(self.opt_boolean_or_string()?)),
        };
        Ok(option(name, value, pos))
    }

    fn old_copy_option(&mut self) -> Result<Option<DefElem>> {
        let pos = self.pos();
        let word = self.kw();
        let simple = match word {
            Kw::Binary => Some(text_option("format", "binary".into(), pos)),
            Kw::Freeze => Some(flag("freeze", true, pos)),
            Kw::Csv => Some(text_option("format", "csv".into(), pos)),
            Kw::Header => Some(flag("header", true, pos)),
            _ => None,
        };
        if simple.is_some() {
            self.bump();
            return Ok(simple);
        }
        let named = match word {
            Kw::Delimiter => "delimiter",
            Kw::Null => "null",
            Kw::Quote => "quote",
            Kw::Escape => "escape",
            Kw::Encoding => {
                self.bump();
                return Ok(Some(text_option("encoding", self.sconst()?, pos)));
            }
            Kw::Force => {
                self.bump();
                let name = match self.kw() {
                    Kw::Quote => "force_quote",
                    Kw::Null => "force_null",
                    Kw::Not => {
                        self.bump();
                        if !self.is_kw(Kw::Null) {
                            return Err(self.unexpected());
                        }
                        "force_not_null"
                    }
                    _ => return Err(self.unexpected()),
                };
                self.bump();
                let value = if self.accept(T::Star) {
                    DefValue::Star
                } else {
                    DefValue::Names(self.name_list()?)
                };
                return Ok(Some(option(name, Some(value), pos)));
            }
            _ => return Ok(None),
        };
        self.bump();
        self.accept_kw(Kw::As);
        Ok(Some(text_option(named, self.sconst()?, pos)))
    }

    fn truncate(&mut self) -> Result<Stmt> {
        self.bump();
        self.accept_kw(Kw::Table);
        let relations = self.list(|p| p.plain_table())?;
        let restart_identity = self.accept_kws(&[Kw::Restart, Kw::Identity]);
        if !restart_identity {
            self.accept_kws(&[Kw::Continue, Kw::Identity]);
        }
        let cascade = self.opt_cascade();
        Ok(Stmt::Truncate(TruncateStmt { relations, restart_identity, cascade }))
    }

    fn explain(&mut self) -> Result<Stmt> {
        self.bump();
        let mut options = Vec::new();
        if self.is(T::LParen) && !self.at_select_parens() {
            options = self.utility_options()?;
        } else {
            let pos = self.pos();
            if self.accept_kw(Kw::Analyze) || self.accept_kw(Kw::Analyse) {
                options.push(option("analyze", None, pos));
            }
            let pos = self.pos();
            if self.accept_kw(Kw::Verbose) {
                options.push(option("verbose", None, pos));
            }
        }
        let query = match self.kw() {
            Kw::Declare => self.declare_cursor()?,
            Kw::Create | Kw::Refresh => {
                let pos = self.tok();
                let stmt = self.statement()?;
                match stmt {
                    Stmt::CreateTableAs(_) | Stmt::RefreshMatView(_) => stmt,
                    _ => return Err(self.unexpected_at(pos)),
                }
            }
            Kw::Execute => self.execute()?,
            _ => self.preparable()?,
        };
        Ok(Stmt::Explain(Box::new(ExplainStmt { options, query })))
    }

    fn prepare(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.name()?;
        let mut arg_types = Vec::new();
        if self.is(T::LParen) {
            arg_types = self.paren_list(|p| p.type_name())?;
        }
        self.expect_kw(Kw::As)?;
        let query_pos = self.pos();
        let query = self.preparable()?;
        Ok(Stmt::Prepare(Box::new(PrepareStmt { name, arg_types, query, query_pos })))
    }

    pub(super) fn execute(&mut self) -> Result<Stmt> {
        self.expect_kw(Kw::Execute)?;
        let name = self.name()?;
        let mut params = Vec::new();
        if self.is(T::LParen) {
            params = self.paren_list(|p| p.expr())?;
        }
        Ok(Stmt::Execute(ExecuteStmt { name, params }))
    }

    // Maintenance.

    fn vacuum(&mut self) -> Result<Stmt> {
        let vacuum = self.bump().kw == Kw::Vacuum;
        let mut options = Vec::new();
        if self.is(T::LParen) {
            options = self.utility_options()?;
        } else {
            let words: &[Kw] = if vacuum {
                &[Kw::Full, Kw::Freeze, Kw::Verbose, Kw::Analyze, Kw::Analyse]
            } else {
                &[Kw::Verbose]
            };
            for &word in words {
                let pos = self.pos();
                if self.is_kw(word) {
                    let token = self.bump();
                    let mut name = self.name_of(token);
                    if word == Kw::Analyse {
                        name = "analyze".into();
                    }
                    options.push(option(name, None, pos));
                }
            }
        }
        let mut relations = Vec::new();
        if self.is_col_id() || self.is_kw(Kw::Only) {
            relations = self.list(|p| {
                let (rel, only) = p.relation_expr()?;
                Ok(VacuumRelation { rel, only, columns: p.opt_paren_names()? })
            })?;
        }
        Ok(Stmt::Vacuum(VacuumStmt { vacuum, options, relations }))
    }

    fn reindex(&mut self) -> Result<Stmt> {
        self.bump();
        let mut options = Vec::new();
        if self.is(T::LParen) {
            options = self.utility_options()?;
        }
        let kind = match self.kw() {
            Kw::Index => ReindexKind::Index,
            Kw::Table => ReindexKind::Table,
            Kw::Schema => ReindexKind::Schema,
            Kw::System => ReindexKind::System,
            Kw::Database => ReindexKind::Database,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        let pos = self.pos();
        if self.accept_kw(Kw::Concurrently) {
            options.push(option("concurrently", None, pos));
        }
        let (mut rel, mut name) = (None, None);
        match kind {
            ReindexKind::Index | ReindexKind::Table => rel = Some(self.rel_name()?),
            ReindexKind::Schema => name = Some(self.name()?),
            _ if self.is_col_id() => name = Some(self.name()?),
            _ => {}
        }
        Ok(Stmt::Reindex(ReindexStmt { kind, rel, name, options }))
    }

    fn cluster(&mut self) -> Result<Stmt> {
        self.bump();
        let mut options = Vec::new();
        let (mut rel, mut index) = (None, None);
        let pos = self.pos();
        if self.is(T::LParen) {
            options = self.utility_options()?;
        } else if self.accept_kw(Kw::Verbose) {
            options.push(option("verbose", None, pos));
        }
        if self.is_col_id() {
            let first = self.rel_name()?;
            if self.accept_kw(Kw::On) {
                // The old order: CLUSTER index ON table.
                index = Some(first.name);
                rel = Some(self.rel_name()?);
            } else {
                if self.accept_kw(Kw::Using) {
                    index = Some(self.name()?);
                }
                rel = Some(first);
            }
        }
        Ok(Stmt::Cluster(ClusterStmt { rel, index, options }))
    }

    fn lock(&mut self) -> Result<Stmt> {
        self.bump();
        self.accept_kw(Kw::Table);
        let relations = self.list(|p| p.plain_table())?;
        let mut mode = LockMode::AccessExclusive;
        if self.accept_kw(Kw::In) {
            mode = match (self.kw(), self.kw_ahead(1)) {
                (Kw::Access, Kw::Share) => self.two(LockMode::AccessShare),
                (Kw::Access, Kw::Exclusive) => self.two(LockMode::AccessExclusive),
                (Kw::Row, Kw::Share) => self.two(LockMode::RowShare),
                (Kw::Row, Kw::Exclusive) => self.two(LockMode::RowExclusive),
                (Kw::Share, Kw::Update) => {
                    self.at += 2;
                    self.expect_kw(Kw::Exclusive)?;
                    LockMode::ShareUpdateExclusive
                }
                (Kw::Share, Kw::Row) => {
                    self.at += 2;
                    self.expect_kw(Kw::Exclusive)?;
                    LockMode::ShareRowExclusive
                }
                (Kw::Share, _) => {
                    self.bump();
                    LockMode::Share
                }
                (Kw::Exclusive, _) => {
                    self.bump();
                    LockMode::Exclusive
                }
                _ => return Err(self.unexpected()),
            };
            self.expect_kw(Kw::Mode)?;
        }
        let nowait = self.accept_kw(Kw::Nowait);
        Ok(Stmt::Lock(LockStmt { relations, mode, nowait }))
    }

    fn two(&mut self, mode: LockMode) -> LockMode {
        self.at += 2;
        mode
    }

    pub(super) fn refresh(&mut self) -> Result<Stmt> {
        self.bump();
        self.expect_kws(&[Kw::Materialized, Kw::View])?;
        let concurrently = self.accept_kw(Kw::Concurrently);
        let rel = self.rel_name()?;
        let no_data = self.opt_no_data();
        Ok(Stmt::RefreshMatView(RefreshMatViewStmt { rel, concurrently, no_data }))
    }

    // Cursors.

    fn declare_cursor(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.name()?;
        let (mut binary, mut scroll, mut insensitive) = (false, None, None);
        loop {
            match self.kw() {
                Kw::Binary => binary = true,
                Kw::Insensitive => insensitive = Some(true),
                Kw::Asensitive => insensitive = Some(false),
                Kw::Scroll => scroll = Some(true),
                Kw::No => {
                    self.bump();
                    if !self.is_kw(Kw::Scroll) {
                        return Err(self.unexpected());
                    }
                    scroll = Some(false);
                }
                _ => break,
            }
            self.bump();
        }
        self.expect_kw(Kw::Cursor)?;
        let hold = self.accept_kws(&[Kw::With, Kw::Hold]);
        if !hold {
            self.accept_kws(&[Kw::Without, Kw::Hold]);
        }
        self.expect_kw(Kw::For)?;
        let query = self.select_no_parens()?;
        let stmt = DeclareCursorStmt { name, binary, scroll, insensitive, hold, query };
        Ok(Stmt::DeclareCursor(Box::new(stmt)))
    }

    fn fetch(&mut self) -> Result<Stmt> {
        let is_move = self.bump().kw == Kw::Move;
        use FetchDirection::*;
        let (direction, count) = match self.kw() {
            Kw::Next | Kw::Prior | Kw::First | Kw::Last if !self.cursor_name_only() => {
                match self.bump().kw {
                    Kw::Next => (Forward, 1),
                    Kw::Prior => (Backward, 1),
                    Kw::First => (Absolute, 1),
                    _ => (Absolute, -1),
                }
            }
            Kw::Absolute | Kw::Relative if !self.cursor_name_only() => {
                let direction = if self.bump().kw == Kw::Absolute { Absolute } else { Relative };
                (direction, self.signed_iconst()? as i64)
            }
            Kw::All => {
                self.bump();
                (Forward, i64::MAX)
            }
            Kw::Forward | Kw::Backward if !self.cursor_name_only() => {
                let direction = if self.bump().kw == Kw::Forward { Forward } else { Backward };
                let count = match self.tok().kind {
                    T::Int | T::Plus | T::Minus => self.signed_iconst()? as i64,
                    _ if self.accept_kw(Kw::All) => i64::MAX,
                    _ => 1,
                };
                (direction, count)
            }
            _ => match self.tok().kind {
                T::Int | T::Plus | T::Minus => (Forward, self.signed_iconst()? as i64),
                _ => (Forward, 1),
            },
        };
        if !self.accept_kw(Kw::From) {
            self.accept_kw(Kw::In);
        }
        let cursor = self.name()?;
        Ok(Stmt::Fetch(FetchStmt { cursor, direction, count, is_move }))
    }

    /// Whether the word here is the last one, hence the cursor's name.
    fn cursor_name_only(&self) -> bool {
        matches!(self.ahead(1).kind, T::Eof | T::Semi)
    }

    fn discard(&mut self) -> Result<Stmt> {
        self.bump();
        let target = match self.kw() {
            Kw::All => DiscardTarget::All,
            Kw::Plans => DiscardTarget::Plans,
            Kw::Sequences => DiscardTarget::Sequences,
            Kw::Temp | Kw::Temporary => DiscardTarget::Temp,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(Stmt::Discard(target))
    }

    fn do_block(&mut self) -> Result<Stmt> {
        self.bump();
        let mut options = Vec::new();
        loop {
            let pos = self.pos();
            if self.is(T::Str) {
                options.push(text_option("as", self.sconst()?, pos));
            } else if self.accept_kw(Kw::Language) {
                options.push(text_option("language", self.word_or_sconst()?, pos));
            } else if options.is_empty() {
                return Err(self.unexpected());
            } else {
                return Ok(Stmt::Do(options));
            }
        }
    }

    fn call(&mut self) -> Result<Stmt> {
        self.bump();
        let name = self.func_name()?;
        if !self.is(T::LParen) {
            return Err(self.unexpected());
        }
        Ok(Stmt::Call(Box::new(self.call_args(name)?)))
    }
}
