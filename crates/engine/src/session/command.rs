//! Commands about the cluster rather than one table: databases, roles, privileges, locks.

use super::Session;
use crate::sink::Sink;
use base::Result;
use parser::ast::{ObjectKind, RawStmt, Stmt};
use types::Datum;

impl Session {
    /// Runs a command of this kind and gives its tag; `None` if the statement is another.
    pub(super) fn command(
        &mut self,
        stmt: &RawStmt,
        _text: &str,
        _params: &[Datum],
        _sink: &mut dyn Sink,
    ) -> Result<Option<String>> {
        let tag = match &stmt.stmt {
            Stmt::CreateDatabase(s) => {
                self.prevent_in_read_only("CREATE DATABASE")?;
                self.create_database(s)?;
                "CREATE DATABASE"
            }
            Stmt::DropDatabase(s) => {
                self.prevent_in_read_only("DROP DATABASE")?;
                self.drop_database(s)?;
                "DROP DATABASE"
            }
            Stmt::AlterDatabase(s) => {
                self.prevent_in_read_only("ALTER DATABASE")?;
                self.alter_database(s)?;
                "ALTER DATABASE"
            }
            Stmt::Rename(r) if r.object.kind == ObjectKind::Database => {
                self.prevent_in_read_only("ALTER DATABASE")?;
                self.rename_database(r)?;
                "ALTER DATABASE"
            }
            Stmt::Owner(o) if o.object.kind == ObjectKind::Database => {
                self.prevent_in_read_only("ALTER DATABASE")?;
                self.own_database(o)?;
                "ALTER DATABASE"
            }
            _ => return Ok(None),
        };
        Ok(Some(tag.to_string()))
    }
}
