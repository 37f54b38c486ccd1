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
        text: &str,
        params: &[Datum],
        sink: &mut dyn Sink,
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
            Stmt::CreateTablespace(s) => {
                self.create_tablespace(s)?;
                "CREATE TABLESPACE"
            }
            Stmt::DropTablespace { name, missing_ok } => {
                self.drop_tablespace(name, *missing_ok)?;
                "DROP TABLESPACE"
            }
            Stmt::AlterTablespace { name, options, reset } => {
                self.alter_tablespace(name, options, *reset)?;
                "ALTER TABLESPACE"
            }
            _ => return self.role_command(stmt, text, params, sink),
        };
        Ok(Some(tag.to_string()))
    }

    /// Roles and privileges.
    fn role_command(
        &mut self,
        stmt: &RawStmt,
        text: &str,
        params: &[Datum],
        sink: &mut dyn Sink,
    ) -> Result<Option<String>> {
        let tag = match &stmt.stmt {
            Stmt::CreateRole(s) => {
                self.prevent_in_read_only("CREATE ROLE")?;
                self.with_ddl(text, |ddl| ddl.create_role(s))?;
                "CREATE ROLE"
            }
            Stmt::AlterRole(s) => {
                self.prevent_in_read_only("ALTER ROLE")?;
                self.with_ddl(text, |ddl| ddl.alter_role(s))?;
                "ALTER ROLE"
            }
            Stmt::AlterRoleSet(s) => {
                self.prevent_in_read_only("ALTER ROLE")?;
                let (database, role) = self.with_ddl(text, |ddl| ddl.settings_target(s))?;
                self.store_setting(database, role, &s.set)?;
                "ALTER ROLE"
            }
            Stmt::DropRole { roles, missing_ok } => {
                self.prevent_in_read_only("DROP ROLE")?;
                self.with_ddl(text, |ddl| ddl.drop_roles(roles, *missing_ok))?;
                "DROP ROLE"
            }
            Stmt::Rename(r) if r.object.kind == ObjectKind::Role => {
                self.prevent_in_read_only("ALTER ROLE")?;
                self.with_ddl(text, |ddl| ddl.rename_role(r))?;
                "ALTER ROLE"
            }
            Stmt::GrantRole(s) => {
                let tag = if s.is_grant { "GRANT ROLE" } else { "REVOKE ROLE" };
                self.prevent_in_read_only(tag)?;
                self.with_ddl(text, |ddl| ddl.grant_role(s))?;
                tag
            }
            Stmt::Grant(s) => {
                let tag = if s.is_grant { "GRANT" } else { "REVOKE" };
                self.prevent_in_read_only(tag)?;
                self.with_ddl(text, |ddl| ddl.grant(s))?;
                tag
            }
            Stmt::AlterDefaultPrivileges(s) => {
                self.prevent_in_read_only("ALTER DEFAULT PRIVILEGES")?;
                self.with_ddl(text, |ddl| ddl.alter_default_privileges(s))?;
                "ALTER DEFAULT PRIVILEGES"
            }
            Stmt::DropOwned { roles, cascade } => {
                self.prevent_in_read_only("DROP OWNED")?;
                self.with_ddl(text, |ddl| ddl.drop_owned(roles, *cascade))?;
                "DROP OWNED"
            }
            Stmt::ReassignOwned { roles, new_role } => {
                self.prevent_in_read_only("REASSIGN OWNED")?;
                self.with_ddl(text, |ddl| ddl.reassign_owned(roles, new_role))?;
                "REASSIGN OWNED"
            }
            _ => return self.other_command(stmt, text, params, sink),
        };
        Ok(Some(tag.to_string()))
    }

    fn other_command(
        &mut self,
        stmt: &RawStmt,
        text: &str,
        params: &[Datum],
        sink: &mut dyn Sink,
    ) -> Result<Option<String>> {
        let tag = match &stmt.stmt {
            Stmt::Prepare(p) => {
                self.prepare_stmt(p, text)?;
                "PREPARE"
            }
            Stmt::Execute(e) => return self.execute_stmt(e, sink).map(Some),
            Stmt::DeclareCursor(d) => {
                self.declare_cursor(d, text, params)?;
                "DECLARE CURSOR"
            }
            Stmt::Fetch(f) => return self.fetch_stmt(f, sink).map(Some),
            Stmt::Cluster(c) => {
                self.prevent_in_read_only("CLUSTER")?;
                self.cluster_stmt(c)?
            }
            Stmt::Reindex(r) => {
                self.prevent_in_read_only("REINDEX")?;
                self.reindex_stmt(r)?
            }
            Stmt::AlterSystem(s) => {
                self.alter_system(s)?;
                "ALTER SYSTEM"
            }
            Stmt::SecurityLabel(s) => match &s.provider {
                Some(name) => base::bail!(
                    INVALID_PARAMETER_VALUE,
                    "security label provider \"{name}\" is not loaded"
                ),
                None => base::bail!(
                    INVALID_PARAMETER_VALUE,
                    "no security label providers have been loaded"
                ),
            },
            _ => return Ok(None),
        };
        Ok(Some(tag.to_string()))
    }
}
