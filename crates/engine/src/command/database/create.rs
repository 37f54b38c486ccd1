//! CREATE DATABASE and DROP DATABASE: a row, and a folder. See `database/folders.rs` for what
//! happens to the files when the server crashes in between.

use super::options::{New, Written, text};
use crate::Session;
use crate::database::folders::{self, DATABASE_CREATE, DATABASE_DROP, FileCopy};
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::ObjectAddress;
use catalog::privilege::{has_rights_of, is_superuser};
use catalog::{DatabaseDesc, OidSource, RowStore, RowWriter, SysRow, indexes, oids};
use parser::ast::{CreateDatabaseStmt, DropDatabaseStmt};
use std::sync::Arc;
use types::Datum;
use wal::{RecordBuilder, Rmgr};

impl Session {
    /// CREATE DATABASE.
    pub(crate) fn create_database(&mut self, stmt: &CreateDatabaseStmt) -> Result<()> {
        self.prevent_in_block("CREATE DATABASE")?;
        let written = Written::read(self, &stmt.options)?;
        let owner = self.owner_of_new(&written)?;
        let name = text(written.template)?.unwrap_or_else(|| "template1".to_string());
        let view = self.core.view()?;
        // What is wrong with options is told before what is wrong with the template.
        let template = view.database_named(&name)?;
        let model = match &template {
            Some(t) => t.clone(),
            None => view.database(oids::TEMPLATE1)?,
        };
        let decided = New::decide(self, &written, &model);
        let user = self.core.users().current;
        let Some(template) = template else {
            let reserved = decided.as_ref().is_err_and(|e| e.code() == SqlState::SYNTAX_ERROR);
            if reserved {
                decided?;
            }
            bail!(INVALID_CATALOG_NAME, "template database \"{name}\" does not exist");
        };
        if template.connection_limit == -2 {
            return Err(err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot use invalid database \"{name}\" as template"
            )
            .hint("Use DROP DATABASE to drop invalid databases."));
        }
        if !template.is_template && !has_rights_of(&view, user, template.owner)? {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to copy database \"{name}\"");
        }
        let new = decided?;
        if let Some(space) = text(written.tablespace)? {
            self.tablespace_of_new(&space, &template)?;
        }
        if view.database_named(&stmt.name)?.is_some() {
            bail!(DUPLICATE_DATABASE, "database \"{}\" already exists", stmt.name);
        }
        self.copy_database(stmt, &template, &new, owner)
    }

    fn owner_of_new(&self, written: &Written<'_>) -> Result<Oid> {
        let view = self.core.view()?;
        let user = self.core.users().current;
        let owner = match text(written.owner)? {
            Some(name) => view.require_role(&name)?.oid,
            None => user,
        };
        if !is_superuser(&view, user)? && !view.role(user)?.create_db {
            bail!(INSUFFICIENT_PRIVILEGE, "permission denied to create database");
        }
        self.require_set_role(owner)?;
        Ok(owner)
    }

    fn tablespace_of_new(&self, name: &str, template: &DatabaseDesc) -> Result<()> {
        let rows = self.core.store.index_scan(indexes::PG_TABLESPACE_NAME, &[Datum::text(name)])?;
        let Some(row) = rows.first() else {
            bail!(UNDEFINED_OBJECT, "tablespace \"{name}\" does not exist");
        };
        let oid = row.oid("oid")?;
        if oid == oids::PG_GLOBAL {
            bail!(INVALID_PARAMETER_VALUE, "pg_global cannot be used as default tablespace");
        }
        if oid != template.tablespace {
            return Err(Error::unsupported("databases in tablespaces"));
        }
        Ok(())
    }

    fn copy_database(
        &mut self,
        stmt: &CreateDatabaseStmt,
        template: &DatabaseDesc,
        new: &New,
        owner: Oid,
    ) -> Result<()> {
        self.lock_database(template.oid)?;
        let database = self.core.database.clone();
        let shut = database.shut(template.oid);
        self.require_nobody_in(
            template.oid,
            format!("source database \"{}\" is being accessed by other users", template.name),
        )?;
        let oid = self.new_database_oid(new)?;
        let mut row = self.database_row(template.oid)?;
        row.set_oid("oid", oid)?
            .set_text("datname", &stmt.name)?
            .set_oid("datdba", owner)?
            .set_i32("encoding", new.encoding)?
            .set_char("datlocprovider", new.provider)?
            .set_bool("datistemplate", new.is_template)?
            .set_bool("datallowconn", new.allow_connections)?
            .set_bool("dathasloginevt", false)?
            .set_i32("datconnlimit", new.connection_limit)?
            .set_text("datcollate", &new.collate)?
            .set_text("datctype", &new.ctype)?
            .set_opt_text("datlocale", new.locale.as_deref())?
            .set_opt_text("daticurules", new.rules.as_deref())?
            .set("datcollversion", Datum::Null)?
            .set("datacl", Datum::Null)?;
        self.core.store.insert(row)?;
        let own = ObjectAddress::new(oids::PG_DATABASE, oid);
        self.with_ddl("", |ddl| ddl.depend_owner(own, owner))?;
        self.copy_shared_dependencies(template.oid, oid)?;
        // Nobody is inside: what is in memory of the template is on disk after this.
        database.checkpoint(crate::CheckpointKind::Requested)?;
        let txn = self.core.txn()?;
        let wal = database.wal();
        wal.check_space()?;
        self.core.files.lock().remove_folder(oid, false);
        let mut record = RecordBuilder::new(Rmgr::Database, DATABASE_CREATE, txn.top_xid()?);
        let words = [template.oid.0.to_le_bytes(), oid.0.to_le_bytes()].concat();
        record.data(&words);
        let lsn = wal.insert(&record);
        wal.flush(lsn)?;
        let how = match self.core.settings.lock().str("file_copy_method") {
            "clone" => FileCopy::Clone,
            _ => FileCopy::Copy,
        };
        folders::copy(database.disk(), database.dir(), template.oid, oid, how)?;
        drop(shut);
        Ok(())
    }

    fn new_database_oid(&self, new: &New) -> Result<Oid> {
        let database = &self.core.database;
        let taken = |oid: Oid| -> Result<Option<Arc<DatabaseDesc>>> {
            self.core.view()?.find_database(oid)
        };
        let folder = |oid: Oid| folders::folder(database.dir(), oid);
        if let Some(oid) = new.oid {
            if let Some(there) = taken(oid)? {
                bail!(
                    INVALID_PARAMETER_VALUE,
                    "database OID {oid} is already in use by database \"{}\"",
                    there.name
                );
            }
            if database.disk().exists(&folder(oid)) {
                bail!(
                    INVALID_PARAMETER_VALUE,
                    "data directory with the specified OID {oid} already exists"
                );
            }
            return Ok(oid);
        }
        loop {
            let oid = database.oids.next_oid()?;
            if taken(oid)?.is_none() && !database.disk().exists(&folder(oid)) {
                return Ok(oid);
            }
        }
    }

    /// Roles that objects of the template depend on, objects of its copy depend on too.
    fn copy_shared_dependencies(&self, from: Oid, to: Oid) -> Result<()> {
        let key = [Datum::U32(from.0)];
        for mut row in self.core.store.index_scan(indexes::PG_SHDEPEND_DEPENDER, &key)? {
            row.set_oid("dbid", to)?;
            self.core.store.insert(row)?;
        }
        Ok(())
    }

    /// DROP DATABASE.
    pub(crate) fn drop_database(&mut self, stmt: &DropDatabaseStmt) -> Result<()> {
        self.prevent_in_block("DROP DATABASE")?;
        let mut force = false;
        for option in &stmt.options {
            match option.name.as_str() {
                "force" => force = true,
                name => {
                    let e = err!(SYNTAX_ERROR, "unrecognized DROP DATABASE option \"{name}\"");
                    return Err(e.at(option.pos));
                }
            }
        }
        let view = self.core.view()?;
        let Some(found) = view.database_named(&stmt.name)? else {
            let text = format!("database \"{}\" does not exist", stmt.name);
            if !stmt.missing_ok {
                return Err(Error::new(SqlState::INVALID_CATALOG_NAME, text));
            }
            self.core.notice(Error::notice(format!("{text}, skipping")));
            return Ok(());
        };
        self.require_database_owner(&found)?;
        if found.oid == self.core.state.oid {
            bail!(OBJECT_IN_USE, "cannot drop the currently open database");
        }
        if found.is_template {
            bail!(WRONG_OBJECT_TYPE, "cannot drop a template database");
        }
        self.lock_database(found.oid)?;
        let database = self.core.database.clone();
        let shut = database.shut(found.oid);
        if force {
            self.terminate_others(found.oid)?;
        }
        self.require_nobody_in(
            found.oid,
            format!("database \"{}\" is being accessed by other users", found.name),
        )?;
        self.forget_database_rows(found.oid)?;
        // After this no record that replay starts from speaks of the database's pages.
        database.checkpoint(crate::CheckpointKind::Requested)?;
        let wal = database.wal();
        wal.check_space()?;
        let xid = self.core.txn()?.top_xid()?;
        let mut record = RecordBuilder::new(Rmgr::Database, DATABASE_DROP, xid);
        let words = found.oid.0.to_le_bytes();
        record.data(&words);
        wal.insert(&record);
        self.core.files.lock().remove_folder(found.oid, true);
        // The doors open after the commit: who waits there finds no database any more.
        self.core.files.lock().keep_shut(shut);
        database.forget_database(found.oid);
        Ok(())
    }

    fn terminate_others(&self, oid: Oid) -> Result<()> {
        let view = self.core.view()?;
        let user = self.core.users().current;
        let activity = self.core.database.activity();
        let others: Vec<_> = activity
            .sessions()
            .into_iter()
            .filter(|s| s.database == oid && s.pid != self.place.pid())
            .collect();
        for session in &others {
            let own = has_rights_of(&view, user, session.user)?
                && (is_superuser(&view, user)? || !is_superuser(&view, session.user)?);
            if !own && !session.background {
                return Err(err!(INSUFFICIENT_PRIVILEGE, "permission denied to terminate process")
                    .detail(
                        "Only roles with privileges of the role whose process is being terminated \
                     or with privileges of the \"pg_signal_backend\" role may terminate this \
                     process.",
                    ));
            }
        }
        for session in others {
            activity.terminate(session.pid);
        }
        Ok(())
    }

    /// Deletes a database's row and all that shared tables say of it.
    fn forget_database_rows(&self, oid: Oid) -> Result<()> {
        let store = &self.core.store;
        let number = Datum::U32(oid.0);
        let class = Datum::U32(oids::PG_DATABASE.0);
        let of_it = [Datum::U32(0), class.clone(), number.clone()];
        let described = [number.clone(), class];
        for (index, key) in [
            (indexes::PG_DATABASE_OID, std::slice::from_ref(&number)),
            (indexes::PG_DB_ROLE_SETTING_DATABASE, std::slice::from_ref(&number)),
            (indexes::PG_SHDEPEND_DEPENDER, std::slice::from_ref(&number)),
            (indexes::PG_SHDEPEND_DEPENDER, &of_it[..]),
            (indexes::PG_SHDESCRIPTION_OBJECT, &described[..]),
        ] {
            for row in store.index_scan(index, key)? {
                store.delete(&row)?;
            }
        }
        for row in store.table_scan(oids::PG_SHSECLABEL)? {
            if row.oid("objoid")? == oid && row.oid("classoid")? == oids::PG_DATABASE {
                store.delete(&row)?;
            }
        }
        Ok(())
    }

    /// Fails unless the user has the rights of the database's owner.
    pub(super) fn require_database_owner(&self, database: &DatabaseDesc) -> Result<()> {
        if has_rights_of(&self.core.view()?, self.core.users().current, database.owner)? {
            return Ok(());
        }
        bail!(INSUFFICIENT_PRIVILEGE, "must be owner of database {}", database.name)
    }

    /// Fails unless the user may SET ROLE to this one.
    pub(crate) fn require_set_role(&self, role: Oid) -> Result<()> {
        let view = self.core.view()?;
        if catalog::privilege::can_set_role(&view, self.core.users().current, role)? {
            return Ok(());
        }
        let name = view.role(role)?.name.clone();
        bail!(INSUFFICIENT_PRIVILEGE, "must be able to SET ROLE \"{name}\"")
    }

    /// Replaces a row after `change`.
    pub(super) fn update_row(
        &self,
        mut row: SysRow,
        change: impl FnOnce(&mut SysRow) -> Result<()>,
    ) -> Result<()> {
        change(&mut row)?;
        self.core.store.update(row)?;
        Ok(())
    }
}
