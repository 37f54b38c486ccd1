//! Which statement it is.

use super::*;

impl Parser<'_> {
    /// stmt.
    pub(super) fn statement(&mut self) -> Result<Stmt> {
        base::stack::check()?;
        if self.is(T::LParen) {
            return Ok(Stmt::Select(Box::new(self.select_no_parens()?)));
        }
        match self.kw() {
            Kw::Select
            | Kw::With
            | Kw::Values
            | Kw::Table
            | Kw::Insert
            | Kw::Update
            | Kw::Delete
            | Kw::Merge => self.preparable(),
            Kw::Begin
            | Kw::Start
            | Kw::Commit
            | Kw::End
            | Kw::Rollback
            | Kw::Abort
            | Kw::Savepoint
            | Kw::Release => self.transaction(),
            Kw::Prepare if self.kw_ahead(1) == Kw::Transaction => self.transaction(),
            Kw::Create => self.create(),
            Kw::Alter => self.alter(),
            Kw::Drop => self.drop(),
            Kw::Comment => self.comment(),
            Kw::Security => self.security_label(),
            Kw::Grant => self.grant(true),
            Kw::Revoke => self.grant(false),
            Kw::Reassign => self.reassign_owned(),
            Kw::Import => self.import_foreign_schema(),
            Kw::Refresh => self.refresh(),
            Kw::Set => self.set(),
            Kw::Reset => self.reset(),
            _ => self.command(),
        }
    }
}
