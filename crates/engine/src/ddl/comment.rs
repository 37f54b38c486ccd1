//! COMMENT ON.

use super::Ddl;
use super::describe::Found;
use base::{Result, SqlState, err};
use catalog::depend;
use parser::ast::CommentStmt;

impl Ddl<'_> {
    /// COMMENT ON.
    pub fn comment(&self, stmt: &CommentStmt) -> Result<()> {
        let found = self.find_object(&stmt.object, false).map_err(|e| match e.code() {
            // Of a relation any kind is looked for first.
            SqlState::UNDEFINED_TABLE => {
                let name = stmt.object.name.parts.join(".");
                err!(UNDEFINED_TABLE, "relation \"{name}\" does not exist")
            }
            _ => e,
        })?;
        if let Found::Object(address) = found {
            self.require_owner(address)?;
            depend::set_comment(self.rows, address, stmt.comment.as_deref())?;
        }
        Ok(())
    }
}
