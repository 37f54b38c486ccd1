//! COMMENT ON.

use super::Ddl;
use super::describe::Found;
use base::{Error, Result, SqlState, err};
use catalog::depend::{self, DependKind};
use parser::ast::{CommentStmt, DependsStmt, Object, ObjectDetail, ObjectKind};

impl Ddl<'_> {
    /// COMMENT ON.
    pub fn comment(&self, stmt: &CommentStmt) -> Result<()> {
        let database = stmt.object.kind == ObjectKind::Database;
        let found = self.find_object(&stmt.object, false);
        if let Err(e) = &found
            && database
            && e.code() == SqlState::INVALID_CATALOG_NAME
        {
            // A dump may be restored under another name.
            let code = SqlState::INVALID_CATALOG_NAME;
            self.notice(Error::with_severity(base::Severity::Warning, code, e.message()));
            return Ok(());
        }
        let found = found.map_err(|e| match e.code() {
            // Of a relation any kind is looked for first.
            SqlState::UNDEFINED_TABLE => {
                let name = stmt.object.name.parts.join(".");
                err!(UNDEFINED_TABLE, "relation \"{name}\" does not exist")
            }
            SqlState::UNDEFINED_OBJECT if stmt.object.kind == ObjectKind::Index => {
                let name = stmt.object.name.parts.join(".");
                err!(UNDEFINED_TABLE, "relation \"{name}\" does not exist")
            }
            // Which statement removes it is told by DROP.
            SqlState::WRONG_OBJECT_TYPE => Error::new(e.code(), e.message().to_string()),
            _ => e,
        })?;
        if let Found::Object(address) = found {
            self.require_owner_of_part(address)?;
            depend::set_comment(self.rows, address, stmt.comment.as_deref())?;
        }
        Ok(())
    }

    /// ALTER .. [NO] DEPENDS ON EXTENSION.
    pub fn depends_on_extension(&self, stmt: &DependsStmt) -> Result<()> {
        let Found::Object(own) = self.find_object(&stmt.object, false)? else { return Ok(()) };
        self.require_owner_of_part(own)?;
        let extension = Object {
            kind: ObjectKind::Extension,
            name: parser::ast::Name {
                parts: vec![stmt.extension.clone()],
                pos: parser::ast::NO_POS,
            },
            only: false,
            detail: ObjectDetail::None,
        };
        let Found::Object(extension) = self.find_object(&extension, false)? else { return Ok(()) };
        let kind = DependKind::AutoExtension;
        if stmt.remove {
            for row in self.rows.index_scan(
                catalog::indexes::PG_DEPEND_DEPENDER,
                &[
                    types::Datum::U32(own.class.0),
                    types::Datum::U32(own.object.0),
                    types::Datum::I32(own.sub),
                ],
            )? {
                if row.oid("refclassid")? == extension.class
                    && row.oid("refobjid")? == extension.object
                    && row.char("deptype")? == kind.as_u8()
                {
                    self.rows.delete(&row)?;
                }
            }
            return Ok(());
        }
        let known = depend::dependencies_of(self.rows, own)?;
        if known.iter().any(|d| d.referenced == extension) {
            return Ok(());
        }
        depend::record(self.rows, own, extension, kind)
    }
}
