//! SET, RESET, SHOW.

use super::expr::{mk, string_expr};
use super::*;

fn set_stmt(local: bool, kind: SetKind) -> SetStmt {
    SetStmt { local, kind }
}

impl Parser<'_> {
    /// SET ..
    pub(super) fn set(&mut self) -> Result<Stmt> {
        self.bump();
        if self.is_kw(Kw::Constraints) {
            return self.set_constraints();
        }
        let local = self.accept_kw(Kw::Local);
        if !local && self.is_kw(Kw::Session) && self.kw_ahead(1) != Kw::Authorization {
            self.bump();
        }
        Ok(Stmt::Set(set_stmt(local, self.set_rest()?)))
    }

    fn set_constraints(&mut self) -> Result<Stmt> {
        self.bump();
        let mut constraints = Vec::new();
        if !self.accept_kw(Kw::All) {
            constraints = self.list(|p| p.rel_name())?;
        }
        let deferred = self.accept_kw(Kw::Deferred);
        if !deferred {
            self.expect_kw(Kw::Immediate)?;
        }
        Ok(Stmt::SetConstraints(SetConstraintsStmt { constraints, deferred }))
    }

    /// set_rest.
    fn set_rest(&mut self) -> Result<SetKind> {
        if self.is_kw(Kw::Transaction) {
            self.bump();
            if self.accept_kw(Kw::Snapshot) {
                return Ok(SetKind::Snapshot(self.sconst()?));
            }
            return Ok(SetKind::Transaction(self.transaction_modes(true)?));
        }
        if self.accept_kws(&[Kw::Characteristics, Kw::As, Kw::Transaction]) {
            return Ok(SetKind::Characteristics(self.transaction_modes(true)?));
        }
        self.set_rest_more()
    }

    /// set_rest_more.
    pub(super) fn set_rest_more(&mut self) -> Result<SetKind> {
        let pos = self.pos();
        let value = |name: &str, e: Expr| SetKind::Value(name.into(), vec![e]);
        match (self.kw(), self.kw_ahead(1)) {
            (Kw::Time, Kw::Zone) => {
                self.at += 2;
                return self.time_zone();
            }
            (Kw::Catalog, _) if self.ahead(1).kind == T::Str => {
                let message = "current database cannot be changed";
                return Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}").at(self.ahead(1).start));
            }
            (Kw::Schema, _) if self.ahead(1).kind == T::Str => {
                self.bump();
                return Ok(value("search_path", string_expr(self.sconst()?, pos)));
            }
            (Kw::Names, _) => {
                self.bump();
                if self.is(T::Str) {
                    let at = self.pos();
                    return Ok(value("client_encoding", string_expr(self.sconst()?, at)));
                }
                self.accept_kw(Kw::Default);
                return Ok(SetKind::Default("client_encoding".into()));
            }
            (Kw::Role, next) if next != Kw::To && self.ahead(1).kind != T::Eq => {
                self.bump();
                let at = self.pos();
                return Ok(value("role", string_expr(self.word_or_sconst()?, at)));
            }
            (Kw::Session, Kw::Authorization) => {
                self.at += 2;
                if self.accept_kw(Kw::Default) {
                    return Ok(SetKind::Default("session_authorization".into()));
                }
                let at = self.pos();
                let name = self.word_or_sconst()?;
                return Ok(value("session_authorization", string_expr(name, at)));
            }
            (Kw::Xml, Kw::Option) => {
                self.at += 2;
                let word = if self.accept_kw(Kw::Document) {
                    "DOCUMENT"
                } else {
                    self.expect_kw(Kw::Content)?;
                    "CONTENT"
                };
                return Ok(value("xmloption", string_expr(word.into(), pos)));
            }
            _ => {}
        }
        let name = self.var_name()?;
        if self.accept_kws(&[Kw::From, Kw::Current]) {
            return Ok(SetKind::FromCurrent(name));
        }
        if !self.accept(T::Eq) {
            self.expect_kw(Kw::To)?;
        }
        if self.accept_kw(Kw::Default) {
            return Ok(SetKind::Default(name));
        }
        Ok(SetKind::Value(name, self.list(|p| p.var_value())?))
    }

    /// var_name: dotted.
    pub(super) fn var_name(&mut self) -> Result<String> {
        let mut name = self.col_id()?;
        while self.accept(T::Dot) {
            name.push('.');
            name.push_str(&self.col_id()?);
        }
        Ok(name)
    }

    fn var_value(&mut self) -> Result<Expr> {
        let pos = self.pos();
        match self.tok().kind {
            T::Int | T::Float | T::Plus | T::Minus => {
                let text = self.numeric_only()?;
                let literal = match text.parse() {
                    Ok(n) => Literal::Integer(n),
                    Err(_) => Literal::Float(text),
                };
                Ok(mk(ExprKind::Literal(literal), pos))
            }
            _ => Ok(string_expr(self.opt_boolean_or_string()?, pos)),
        }
    }

    /// zone_value.
    fn time_zone(&mut self) -> Result<SetKind> {
        let pos = self.pos();
        if self.accept_kw(Kw::Default) || self.accept_kw(Kw::Local) {
            return Ok(SetKind::Default("timezone".into()));
        }
        let value = match self.tok().kind {
            T::Str => string_expr(self.sconst()?, pos),
            T::Ident => {
                let token = self.bump();
                string_expr(self.name_of(token), pos)
            }
            _ if self.is_kw(Kw::Interval) => {
                let mut type_name = self.interval_head()?;
                let at = self.pos();
                let text = self.sconst()?;
                if type_name.typmods.is_empty() {
                    type_name.typmods = self.interval_fields()?;
                    if let Some(first) = type_name.typmods.first() {
                        let hours = matches!(
                            first.kind,
                            ExprKind::Literal(Literal::Integer(m)) if m & !0xC00 == 0
                        );
                        if !hours {
                            let message = "time zone interval must be HOUR or HOUR TO MINUTE";
                            return Err(self.error_at(at, message));
                        }
                    }
                }
                let expr = Box::new(string_expr(text, at));
                mk(ExprKind::Cast { expr, type_name: Box::new(type_name) }, pos)
            }
            T::Int | T::Float | T::Plus | T::Minus => self.var_value()?,
            _ => return Err(self.unexpected()),
        };
        Ok(SetKind::Value("timezone".into(), vec![value]))
    }

    /// RESET ..
    pub(super) fn reset(&mut self) -> Result<Stmt> {
        self.bump();
        Ok(Stmt::Set(set_stmt(false, self.reset_rest()?)))
    }

    fn reset_rest(&mut self) -> Result<SetKind> {
        if self.accept_kw(Kw::All) {
            return Ok(SetKind::ResetAll);
        }
        Ok(SetKind::Reset(self.setting_words()?))
    }

    /// A setting's name, also in the words of the standard.
    fn setting_words(&mut self) -> Result<String> {
        for (words, name) in [
            (&[Kw::Time, Kw::Zone][..], "timezone"),
            (&[Kw::Transaction, Kw::Isolation, Kw::Level], "transaction_isolation"),
            (&[Kw::Session, Kw::Authorization], "session_authorization"),
        ] {
            if self.accept_kws(words) {
                return Ok(name.into());
            }
        }
        self.var_name()
    }

    /// SHOW ..
    pub(super) fn show(&mut self) -> Result<Stmt> {
        self.bump();
        let name = if self.accept_kw(Kw::All) { "all".into() } else { self.setting_words()? };
        Ok(Stmt::Show(ShowStmt { name }))
    }

    /// SET .. or RESET .. of ALTER ROLE, DATABASE, SYSTEM, FUNCTION.
    pub(super) fn set_or_reset(&mut self) -> Result<SetStmt> {
        if self.accept_kw(Kw::Reset) {
            return Ok(set_stmt(false, self.reset_rest()?));
        }
        self.expect_kw(Kw::Set)?;
        Ok(set_stmt(false, self.set_rest()?))
    }
}
