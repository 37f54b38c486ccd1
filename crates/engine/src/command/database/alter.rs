//! ALTER DATABASE.

use super::options::Changes;
use crate::Session;
use base::{Error, Oid, Result, bail};
use catalog::depend::ObjectAddress;
use catalog::oids;
use catalog::privilege::{has_rights_of, is_superuser};
use parser::ast::{AlterDatabaseStmt, DefElem, OwnerStmt, RenameStmt};

impl Session {
    /// ALTER DATABASE: options, settings, the collation's version.
    pub(crate) fn alter_database(&mut self, stmt: &AlterDatabaseStmt) -> Result<()> {
        match stmt {
            AlterDatabaseStmt::Options { name, options } => {
                self.alter_database_options(name, options)
            }
            AlterDatabaseStmt::Set { name, set } => {
                let found = self.require_database(name)?;
                self.require_database_owner(&found)?;
                self.store_setting(found.oid, Oid::INVALID, set)
            }
            AlterDatabaseStmt::RefreshCollation { name } => {
                let found = self.require_database(name)?;
                self.require_database_owner(&found)?;
                self.core.notice(Error::notice("version has not changed"));
                Ok(())
            }
        }
    }

    fn alter_database_options(&mut self, name: &str, options: &[DefElem]) -> Result<()> {
        let changes = Changes::read(options)?;
        if let Some(space) = &changes.tablespace {
            return self.move_database(name, space);
        }
        let found = self.require_database(name)?;
        if found.connection_limit == -2 {
            return Err(base::err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot alter invalid database \"{name}\""
            )
            .hint("Use DROP DATABASE to drop invalid databases."));
        }
        self.require_database_owner(&found)?;
        if changes.allow_connections == Some(false) && found.oid == self.core.state.oid {
            bail!(INVALID_PARAMETER_VALUE, "cannot disallow connections for current database");
        }
        self.update_row(self.database_row(found.oid)?, |row| {
            if let Some(yes) = changes.is_template {
                row.set_bool("datistemplate", yes)?;
            }
            if let Some(yes) = changes.allow_connections {
                row.set_bool("datallowconn", yes)?;
            }
            if let Some(n) = changes.connection_limit {
                row.set_i32("datconnlimit", n)?;
            }
            Ok(())
        })
    }

    fn move_database(&mut self, name: &str, space: &str) -> Result<()> {
        self.prevent_in_block("ALTER DATABASE SET TABLESPACE")?;
        let found = self.require_database(name)?;
        self.require_database_owner(&found)?;
        match space {
            "pg_default" if found.tablespace == oids::PG_DEFAULT => Ok(()),
            "pg_global" => {
                bail!(INVALID_PARAMETER_VALUE, "pg_global cannot be used as default tablespace")
            }
            _ => Err(Error::unsupported("databases in tablespaces")),
        }
    }

    /// ALTER DATABASE RENAME.
    pub(crate) fn rename_database(&mut self, stmt: &RenameStmt) -> Result<()> {
        let found = self.require_database(stmt.object.name.last())?;
        self.require_database_owner(&found)?;
        let view = self.core.view()?;
        let user = self.core.users().current;
        if !is_superuser(&view, user)? && !view.role(user)?.create_db {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to rename database");
        }
        if view.database_named(&stmt.new_name)?.is_some() {
            bail!(DUPLICATE_DATABASE, "database \"{}\" already exists", stmt.new_name);
        }
        if found.oid == self.core.state.oid {
            bail!(FEATURE_NOT_SUPPORTED, "current database cannot be renamed");
        }
        self.lock_database(found.oid)?;
        let shut = self.core.database.shut(found.oid);
        self.require_nobody_in(
            found.oid,
            format!("database \"{}\" is being accessed by other users", found.name),
        )?;
        self.update_row(self.database_row(found.oid)?, |row| {
            row.set_text("datname", &stmt.new_name)?;
            Ok(())
        })?;
        self.core.files.lock().keep_shut(shut);
        Ok(())
    }

    /// ALTER DATABASE OWNER.
    pub(crate) fn own_database(&mut self, stmt: &OwnerStmt) -> Result<()> {
        let found = self.require_database(stmt.object.name.last())?;
        let owner = self.with_ddl("", |ddl| ddl.role_oid(&stmt.owner))?;
        if owner == found.owner {
            return Ok(());
        }
        self.require_database_owner(&found)?;
        self.require_set_role(owner)?;
        let view = self.core.view()?;
        let user = self.core.users().current;
        if !is_superuser(&view, user)? && !has_createdb(&view, user)? {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to change owner of database");
        }
        debug_assert!(has_rights_of(&view, user, found.owner)?);
        let own = ObjectAddress::new(oids::PG_DATABASE, found.oid);
        self.update_row(self.database_row(found.oid)?, |row| {
            row.set_oid("datdba", owner)?;
            if let Some(acl) = row.acl("datacl")? {
                let moved = catalog::acl::change_owner(&acl, found.owner, owner);
                row.set("datacl", catalog::acl::from_items(&moved)?)?;
            }
            Ok(())
        })?;
        self.with_ddl("", |ddl| ddl.change_owner_dependency(own, owner))
    }
}

fn has_createdb(view: &catalog::CatalogView, user: Oid) -> Result<bool> {
    Ok(view.role(user)?.create_db)
}
