//! CREATE, ALTER and DROP TABLESPACE: a row, a folder elsewhere, and a link to it in `pg_tblspc`.

use crate::Session;
use crate::ddl::grant::permission_denied;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, ObjectAddress};
use catalog::{RowStore, RowWriter, SysRow, indexes, oids, vector};
use parser::ast::{CreateTablespaceStmt, DefElem};
use std::path::{Path, PathBuf};
use types::Datum;

/// The folder within a tablespace that this version's files lie in.
const VERSION_FOLDER: &str = "PG_18_202506291";

fn options_of(options: &[DefElem]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for e in options {
        let text = crate::ddl::table::def_text(e).unwrap_or_else(|| "true".to_string());
        match e.name.as_str() {
            "seq_page_cost" | "random_page_cost" => {
                let number: std::result::Result<f64, _> = text.parse();
                if !number.is_ok_and(|n| n >= 0.0) {
                    bail!(
                        INVALID_PARAMETER_VALUE,
                        "invalid value for floating point option \"{}\": {text}",
                        e.name
                    );
                }
            }
            "effective_io_concurrency" | "maintenance_io_concurrency" => {
                let number: std::result::Result<i32, _> = text.parse();
                if number.is_err() {
                    bail!(
                        INVALID_PARAMETER_VALUE,
                        "invalid value for integer option \"{}\": {text}",
                        e.name
                    );
                }
            }
            other => bail!(INVALID_PARAMETER_VALUE, "unrecognized parameter \"{other}\""),
        }
        all.push(format!("{}={text}", e.name));
    }
    Ok(all)
}

fn set_options(row: &mut SysRow, options: &[String]) -> Result<()> {
    match options.is_empty() {
        true => row.set("spcoptions", Datum::Null)?,
        false => row.set("spcoptions", vector::from_texts(oids::TEXT, options))?,
    };
    Ok(())
}

impl Session {
    fn tablespace_link(&self, oid: Oid) -> PathBuf {
        self.core.database.dir().join("pg_tblspc").join(oid.to_string())
    }

    fn find_tablespace(&self, name: &str) -> Result<Option<SysRow>> {
        let found =
            self.core.store.index_scan(indexes::PG_TABLESPACE_NAME, &[Datum::text(name)])?;
        Ok(found.into_iter().next())
    }

    /// CREATE TABLESPACE.
    pub(crate) fn create_tablespace(&mut self, stmt: &CreateTablespaceStmt) -> Result<()> {
        self.prevent_in_read_only("CREATE TABLESPACE")?;
        self.prevent_in_block("CREATE TABLESPACE")?;
        let name = stmt.name.as_str();
        if !self.core.is_superuser() {
            return Err(err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to create tablespace \"{name}\""
            )
            .hint("Must be superuser to create a tablespace."));
        }
        let owner = match &stmt.owner {
            Some(owner) => self.with_ddl("", |ddl| ddl.role_oid(owner))?,
            None => self.core.users().current,
        };
        let location = stmt.location.trim_end_matches('/');
        if location.contains('\'') {
            bail!(INVALID_NAME, "tablespace location cannot contain single quotes");
        }
        let in_place = location.is_empty() && self.settings().bool("allow_in_place_tablespaces");
        if !in_place && !location.starts_with('/') {
            bail!(INVALID_OBJECT_DEFINITION, "tablespace location must be an absolute path");
        }
        if location.len() > 900 {
            bail!(INVALID_OBJECT_DEFINITION, "tablespace location \"{location}\" is too long");
        }
        if name.starts_with("pg_") {
            return Err(err!(RESERVED_NAME, "unacceptable tablespace name \"{name}\"")
                .detail("The prefix \"pg_\" is reserved for system tablespaces."));
        }
        if self.find_tablespace(name)?.is_some() {
            bail!(DUPLICATE_OBJECT, "tablespace \"{name}\" already exists");
        }
        let options = options_of(&stmt.options)?;
        let oid = self.core.store.new_oid(oids::PG_TABLESPACE)?;
        let mut row = SysRow::new(oids::PG_TABLESPACE)?;
        row.set_oid("oid", oid)?.set_text("spcname", name)?.set_oid("spcowner", owner)?;
        set_options(&mut row, &options)?;
        self.core.store.insert(row)?;
        let own = ObjectAddress::new(oids::PG_TABLESPACE, oid);
        self.with_ddl("", |ddl| ddl.depend_owner(own, owner))?;
        self.make_tablespace_folder(oid, location, in_place)
    }

    fn make_tablespace_folder(&self, oid: Oid, location: &str, in_place: bool) -> Result<()> {
        let disk = self.core.database.disk();
        let link = self.tablespace_link(oid);
        if in_place {
            let folder = link.join(VERSION_FOLDER);
            disk.create_dir_all(&folder)?;
        } else {
            let place = Path::new(location);
            if !disk.exists(place) {
                return Err(err!(UNDEFINED_FILE, "directory \"{location}\" does not exist"));
            }
            let folder = place.join(VERSION_FOLDER);
            if disk.exists(&folder) {
                bail!(
                    OBJECT_IN_USE,
                    "directory \"{}\" already in use as a tablespace",
                    folder.display()
                );
            }
            disk.create_dir_all(&folder)?;
            disk.sync_dir(place)?;
            if let Err(e) = disk.symlink(place, &link) {
                // Another attempt is to find the place as it was.
                let _ = disk.remove_dir_all(&folder);
                return Err(e.into());
            }
        }
        let links = &self.core.database.dir().join("pg_tblspc");
        Ok(disk.sync_dir(links)?)
    }

    fn require_tablespace_owner(&self, row: &SysRow) -> Result<()> {
        let owner = row.oid("spcowner")?;
        if self.with_ddl("", |ddl| ddl.has_rights_of(owner))? {
            return Ok(());
        }
        bail!(INSUFFICIENT_PRIVILEGE, "must be owner of tablespace {}", row.text("spcname")?)
    }

    /// DROP TABLESPACE.
    pub(crate) fn drop_tablespace(&mut self, name: &str, missing_ok: bool) -> Result<()> {
        self.prevent_in_read_only("DROP TABLESPACE")?;
        self.prevent_in_block("DROP TABLESPACE")?;
        let Some(row) = self.find_tablespace(name)? else {
            let text = format!("tablespace \"{name}\" does not exist");
            if missing_ok {
                self.core.notice(Error::notice(format!("{text}, skipping")));
                return Ok(());
            }
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, text));
        };
        let oid = row.oid("oid")?;
        self.require_tablespace_owner(&row)?;
        if oid < Oid::FIRST_NORMAL {
            return Err(permission_denied("tablespace", name));
        }
        let not_empty =
            || err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "tablespace \"{name}\" is not empty");
        if self.tablespace_is_used(oid)? {
            return Err(not_empty());
        }
        let disk = self.core.database.disk();
        let link = self.tablespace_link(oid);
        let folder = link.join(VERSION_FOLDER);
        if disk.exists(&folder) {
            let listed = disk.list(&folder)?;
            for database in listed {
                let path = folder.join(&database.name);
                let files = disk.list(&path)?;
                if !files.is_empty() {
                    return Err(not_empty());
                }
            }
        }
        self.core.store.delete(&row)?;
        let own = ObjectAddress::new(oids::PG_TABLESPACE, oid);
        self.with_ddl("", |ddl| {
            ddl.forget_all_roles(own)?;
            depend::set_comment(ddl.rows, own, None)
        })?;
        if disk.exists(&folder) {
            disk.remove_dir_all(&folder)?;
        }
        Ok(disk.unlink(&link)?)
    }

    /// Relations of this database and databases that are placed in a tablespace.
    fn tablespace_is_used(&self, oid: Oid) -> Result<bool> {
        for row in self.core.store.table_scan(oids::PG_CLASS)? {
            if row.oid("reltablespace")? == oid {
                return Ok(true);
            }
        }
        for row in self.core.store.table_scan(oids::PG_DATABASE)? {
            if row.oid("dattablespace")? == oid {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// ALTER TABLESPACE .. SET and RESET.
    pub(crate) fn alter_tablespace(
        &mut self,
        name: &str,
        options: &[DefElem],
        reset: bool,
    ) -> Result<()> {
        self.prevent_in_read_only("ALTER TABLESPACE")?;
        let Some(mut row) = self.find_tablespace(name)? else {
            bail!(UNDEFINED_OBJECT, "tablespace \"{name}\" does not exist");
        };
        self.require_tablespace_owner(&row)?;
        let mut all = vector::to_texts(row.get("spcoptions")?)?.unwrap_or_default();
        let named = |o: &String, e: &DefElem| o.split_once('=').is_some_and(|(n, _)| n == e.name);
        all.retain(|o| !options.iter().any(|e| named(o, e)));
        if !reset {
            all.extend(options_of(options)?);
        }
        set_options(&mut row, &all)?;
        self.core.store.update(row)?;
        Ok(())
    }
}
