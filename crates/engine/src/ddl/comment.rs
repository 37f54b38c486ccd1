//! COMMENT ON.

use super::Ddl;
use super::describe::Found;
use base::Result;
use catalog::depend;
use parser::ast::CommentStmt;

impl Ddl<'_> {
    /// COMMENT ON.
    pub fn comment(&self, stmt: &CommentStmt) -> Result<()> {
        if let Found::Object(address) = self.find_object(&stmt.object, false)? {
            self.require_owner(address)?;
            depend::set_comment(self.rows, address, stmt.comment.as_deref())?;
        }
        Ok(())
    }
}
