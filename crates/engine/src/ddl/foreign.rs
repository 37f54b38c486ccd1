//! Foreign-data wrappers, servers, user mappings and what is foreign about foreign tables. They
//! are kept as they are said; without a handler nobody reads through them.

use super::Ddl;
use super::index::with_code;
use super::lookup::name_of;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{SysRow, oids, vector};
use parser::ast::{
    AlterForeignServerStmt, CreateForeignServerStmt, DefAction, DefElem, ForeignDataWrapperStmt,
    RoleKind, RoleSpec, UserMappingAction, UserMappingStmt,
};
use types::Datum;

/// `postgresql_fdw_validator`.
const POSTGRESQL_VALIDATOR: Oid = Oid(2316);

/// What that validator lets pass: of servers, of user mappings.
const SERVER_OPTIONS: [&str; 13] = [
    "authtype",
    "service",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "port",
    "tty",
    "options",
    "requiressl",
    "sslmode",
    "gsslib",
    "gssdelegation",
];
const USER_OPTIONS: [&str; 2] = ["user", "password"];

/// Options as they are stored after a change: `name=value` each.
fn changed_options(before: &[String], options: &[DefElem]) -> Result<Vec<String>> {
    let mut all: Vec<String> = before.to_vec();
    for e in options {
        let name = &e.name;
        let at = all.iter().position(|o| o.split_once('=').is_some_and(|(n, _)| n == name));
        let value = super::table::def_text(e).unwrap_or_default();
        match (e.action, at) {
            (DefAction::Drop, Some(i)) => drop(all.remove(i)),
            (DefAction::Set, Some(i)) => all[i] = format!("{name}={value}"),
            (DefAction::Drop | DefAction::Set, None) => {
                bail!(UNDEFINED_OBJECT, "option \"{name}\" not found")
            }
            (_, Some(_)) => {
                bail!(DUPLICATE_OBJECT, "option \"{name}\" provided more than once")
            }
            (_, None) if name.contains('=') => bail!(
                INVALID_PARAMETER_VALUE,
                "invalid option name \"{name}\": must not contain \"=\""
            ),
            (_, None) => all.push(format!("{name}={value}")),
        }
    }
    Ok(all)
}

fn stored_options(options: &[String]) -> Datum {
    match options.is_empty() {
        true => Datum::Null,
        false => vector::from_texts(oids::TEXT, options),
    }
}

fn options_in(row: &SysRow, column: &str) -> Result<Vec<String>> {
    Ok(vector::to_texts(row.get(column)?)?.unwrap_or_default())
}

impl Ddl<'_> {
    fn require_wrapper(&self, name: &str) -> Result<SysRow> {
        match self.named_row(oids::PG_FOREIGN_DATA_WRAPPER, "fdwname", name)? {
            Some(row) => Ok(row),
            None => bail!(UNDEFINED_OBJECT, "foreign-data wrapper \"{name}\" does not exist"),
        }
    }

    fn find_server(&self, name: &str) -> Result<Option<SysRow>> {
        self.named_row(oids::PG_FOREIGN_SERVER, "srvname", name)
    }

    fn require_server(&self, name: &str) -> Result<SysRow> {
        match self.find_server(name)? {
            Some(row) => Ok(row),
            None => bail!(UNDEFINED_OBJECT, "server \"{name}\" does not exist"),
        }
    }

    /// Handler and validator, where they are said.
    fn wrapper_functions(&self, options: &[DefElem]) -> Result<[Option<Oid>; 2]> {
        let mut found = [None, None];
        for e in options {
            let which = usize::from(e.name == "validator");
            if found[which].is_some() {
                return Err(err!(SYNTAX_ERROR, "conflicting or redundant options").at(e.pos));
            }
            found[which] = Some(match (&e.value, which) {
                (None, _) => Oid::INVALID,
                (Some(_), 0) => {
                    let name = name_of(e)?;
                    let f = self.function_exact(&name, &[])?;
                    // fdw_handler
                    if f.return_type != Oid(3115) {
                        bail!(
                            WRONG_OBJECT_TYPE,
                            "function {} must return type fdw_handler",
                            name.parts.join(".")
                        );
                    }
                    f.oid
                }
                (Some(_), _) => {
                    self.function_exact(&name_of(e)?, &[oids::TEXT_ARRAY, oids::OID])?.oid
                }
            });
        }
        Ok(found)
    }

    /// Lets a wrapper's validator look at options of an object of a class.
    fn validate_options(&self, validator: Oid, options: &[String], class: Oid) -> Result<()> {
        if validator != POSTGRESQL_VALIDATOR {
            return Ok(());
        }
        let allowed: &[&str] = match class {
            oids::PG_FOREIGN_SERVER => &SERVER_OPTIONS,
            oids::PG_USER_MAPPING => &USER_OPTIONS,
            _ => &[],
        };
        for o in options {
            let name = o.split_once('=').map_or(o.as_str(), |(n, _)| n);
            if !allowed.contains(&name) {
                let e = err!(SYNTAX_ERROR, "invalid option \"{name}\"");
                return Err(match allowed.is_empty() {
                    true => e.hint("There are no valid options in this context."),
                    false => e,
                });
            }
        }
        Ok(())
    }

    /// CREATE FOREIGN DATA WRAPPER.
    pub fn create_wrapper(&self, stmt: &ForeignDataWrapperStmt) -> Result<()> {
        let name = stmt.name.as_str();
        if !self.is_superuser()? {
            return Err(err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to create foreign-data wrapper \"{name}\""
            )
            .hint("Must be superuser to create a foreign-data wrapper."));
        }
        let class = oids::PG_FOREIGN_DATA_WRAPPER;
        if self.named_row(class, "fdwname", name)?.is_some() {
            bail!(DUPLICATE_OBJECT, "foreign-data wrapper \"{name}\" already exists");
        }
        let functions = self.wrapper_functions(&stmt.func_options)?.map(Option::unwrap_or_default);
        let options = changed_options(&[], &stmt.options)?;
        self.validate_options(functions[1], &options, class)?;
        let oid = self.rows.new_oid(class)?;
        let mut row = SysRow::new(class)?;
        row.set_oid("oid", oid)?
            .set_text("fdwname", name)?
            .set_oid("fdwowner", self.user())?
            .set_oid("fdwhandler", functions[0])?
            .set_oid("fdwvalidator", functions[1])?
            .set("fdwoptions", stored_options(&options))?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(class, oid);
        for f in functions {
            depend::record(
                self.rows,
                own,
                ObjectAddress::new(oids::PG_PROC, f),
                DependKind::Normal,
            )?;
        }
        self.depend_owner(own, self.user())
    }

    /// ALTER FOREIGN DATA WRAPPER.
    pub fn alter_wrapper(&self, stmt: &ForeignDataWrapperStmt) -> Result<()> {
        let name = stmt.name.as_str();
        if !self.is_superuser()? {
            return Err(err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to alter foreign-data wrapper \"{name}\""
            )
            .hint("Must be superuser to alter a foreign-data wrapper."));
        }
        let mut row = self.require_wrapper(name)?;
        let functions = self.wrapper_functions(&stmt.func_options)?;
        let warn = |text: &str| {
            let severity = base::Severity::Warning;
            self.notice(Error::with_severity(severity, SqlState::WARNING, text.to_string()));
        };
        if let Some(handler) = functions[0] {
            row.set_oid("fdwhandler", handler)?;
            warn(
                "changing the foreign-data wrapper handler can change behavior of existing \
                 foreign tables",
            );
        }
        if let Some(validator) = functions[1] {
            row.set_oid("fdwvalidator", validator)?;
            if validator.is_valid() {
                warn(
                    "changing the foreign-data wrapper validator can cause the options for \
                     dependent objects to become invalid",
                );
            }
        }
        let options = changed_options(&options_in(&row, "fdwoptions")?, &stmt.options)?;
        let class = oids::PG_FOREIGN_DATA_WRAPPER;
        self.validate_options(row.oid("fdwvalidator")?, &options, class)?;
        row.set("fdwoptions", stored_options(&options))?;
        let own = ObjectAddress::new(class, row.oid("oid")?);
        let both = [row.oid("fdwhandler")?, row.oid("fdwvalidator")?];
        self.rows.update(row)?;
        if functions.iter().any(Option::is_some) {
            depend::forget(self.rows, own)?;
            for f in both {
                let f = ObjectAddress::new(oids::PG_PROC, f);
                depend::record(self.rows, own, f, DependKind::Normal)?;
            }
        }
        Ok(())
    }

    fn validator_of(&self, wrapper: Oid) -> Result<Oid> {
        self.row_of(oids::PG_FOREIGN_DATA_WRAPPER, wrapper)?.oid("fdwvalidator")
    }

    fn require_usage(&self, class: Oid, row: &SysRow, name: &str) -> Result<()> {
        if self.is_superuser()? {
            return Ok(());
        }
        let Some(facts) = super::grant::acl_class(class) else { return Ok(()) };
        let acl = facts.acl.map(|c| row.acl(c)).transpose()?.flatten();
        let owner = row.oid(facts.owner)?;
        let rights = catalog::privilege::Rights { kind: facts.kind, owner, acl: acl.as_deref() };
        if rights.of(&self.view, self.user(), catalog::acl::bit(b'U'))? != 0 {
            return Ok(());
        }
        Err(super::grant::permission_denied(facts.noun, name))
    }

    /// CREATE SERVER.
    pub fn create_server(&self, stmt: &CreateForeignServerStmt) -> Result<()> {
        let name = stmt.name.as_str();
        if self.find_server(name)?.is_some() {
            let text = format!("server \"{name}\" already exists");
            if !stmt.if_not_exists {
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, text));
            }
            let e = Error::notice(format!("{text}, skipping"));
            self.notice(with_code(e, SqlState::DUPLICATE_OBJECT));
            return Ok(());
        }
        let wrapper = self.require_wrapper(&stmt.wrapper)?;
        self.require_usage(oids::PG_FOREIGN_DATA_WRAPPER, &wrapper, &stmt.wrapper)?;
        let wrapper = wrapper.oid("oid")?;
        let class = oids::PG_FOREIGN_SERVER;
        let options = changed_options(&[], &stmt.options)?;
        self.validate_options(self.validator_of(wrapper)?, &options, class)?;
        let oid = self.rows.new_oid(class)?;
        let mut row = SysRow::new(class)?;
        row.set_oid("oid", oid)?
            .set_text("srvname", name)?
            .set_oid("srvowner", self.user())?
            .set_oid("srvfdw", wrapper)?
            .set_opt_text("srvtype", stmt.server_type.as_deref())?
            .set_opt_text("srvversion", stmt.version.as_deref())?
            .set("srvoptions", stored_options(&options))?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(class, oid);
        let on = ObjectAddress::new(oids::PG_FOREIGN_DATA_WRAPPER, wrapper);
        depend::record(self.rows, own, on, DependKind::Normal)?;
        self.depend_owner(own, self.user())
    }

    /// ALTER SERVER.
    pub fn alter_server(&self, stmt: &AlterForeignServerStmt) -> Result<()> {
        let mut row = self.require_server(&stmt.name)?;
        let class = oids::PG_FOREIGN_SERVER;
        self.require_owner(ObjectAddress::new(class, row.oid("oid")?))?;
        if let Some(version) = &stmt.version {
            row.set_opt_text("srvversion", version.as_deref())?;
        }
        let options = changed_options(&options_in(&row, "srvoptions")?, &stmt.options)?;
        self.validate_options(self.validator_of(row.oid("srvfdw")?)?, &options, class)?;
        row.set("srvoptions", stored_options(&options))?;
        self.rows.update(row)?;
        Ok(())
    }

    fn mapped_user(&self, user: &RoleSpec) -> Result<(Oid, String)> {
        if matches!(user.kind, RoleKind::Public) {
            return Ok((Oid::INVALID, "public".to_string()));
        }
        let role = self.role_oid(user)?;
        Ok((role, self.view.role(role)?.name.to_string()))
    }

    /// CREATE, ALTER and DROP USER MAPPING.
    pub fn user_mapping(&self, stmt: &UserMappingStmt) -> Result<()> {
        let skip = |text: String| {
            self.notice(Error::notice(format!("{text}, skipping")));
            Ok(())
        };
        let dropping = stmt.action == UserMappingAction::Drop && stmt.if_exists;
        let (user, shown) = match self.mapped_user(&stmt.user) {
            Err(e) if dropping => return skip(e.message().to_string()),
            other => other?,
        };
        let server = match self.find_server(&stmt.server)? {
            None if dropping => return skip(format!("server \"{}\" does not exist", stmt.server)),
            _ => self.require_server(&stmt.server)?,
        };
        let server_oid = server.oid("oid")?;
        if !self.has_rights_of(server.oid("srvowner")?)? && user != self.user() {
            bail!(INSUFFICIENT_PRIVILEGE, "must be owner of foreign server {}", stmt.server);
        }
        let class = oids::PG_USER_MAPPING;
        let mut found = None;
        for row in self.rows.table_scan(class)? {
            if row.oid("umuser")? == user && row.oid("umserver")? == server_oid {
                found = Some(row);
            }
        }
        let what = format!("user mapping for \"{shown}\"");
        let place = format!("for server \"{}\"", stmt.server);
        let validator = self.validator_of(server.oid("srvfdw")?)?;
        match (stmt.action, found) {
            (UserMappingAction::Create, Some(_)) => {
                let text = format!("{what} already exists {place}");
                match stmt.if_exists {
                    true => skip(text),
                    false => Err(Error::new(SqlState::DUPLICATE_OBJECT, text)),
                }
            }
            (UserMappingAction::Create, None) => {
                let options = changed_options(&[], &stmt.options)?;
                self.validate_options(validator, &options, class)?;
                let oid = self.rows.new_oid(class)?;
                let mut row = SysRow::new(class)?;
                row.set_oid("oid", oid)?
                    .set_oid("umuser", user)?
                    .set_oid("umserver", server_oid)?
                    .set("umoptions", stored_options(&options))?;
                self.rows.insert(row)?;
                let own = ObjectAddress::new(class, oid);
                let on = ObjectAddress::new(oids::PG_FOREIGN_SERVER, server_oid);
                depend::record(self.rows, own, on, DependKind::Normal)?;
                match user.is_valid() {
                    true => self.depend_owner(own, user),
                    false => Ok(()),
                }
            }
            (_, None) => {
                let text = format!("{what} does not exist {place}");
                match dropping {
                    true => skip(text),
                    false => Err(Error::new(SqlState::UNDEFINED_OBJECT, text)),
                }
            }
            (UserMappingAction::Alter, Some(mut row)) => {
                let options = changed_options(&options_in(&row, "umoptions")?, &stmt.options)?;
                self.validate_options(validator, &options, class)?;
                row.set("umoptions", stored_options(&options))?;
                self.rows.update(row)?;
                Ok(())
            }
            (UserMappingAction::Drop, Some(row)) => {
                self.drop_objects(&[ObjectAddress::new(class, row.oid("oid")?)], false)
            }
        }
    }

    /// What makes a table a foreign one.
    pub(super) fn insert_foreign_table(
        &self,
        table: Oid,
        server: &str,
        options: &[DefElem],
    ) -> Result<()> {
        let row = self.require_server(server)?;
        self.require_usage(oids::PG_FOREIGN_SERVER, &row, server)?;
        let server = row.oid("oid")?;
        let options = changed_options(&[], options)?;
        let validator = self.validator_of(row.oid("srvfdw")?)?;
        self.validate_options(validator, &options, oids::PG_FOREIGN_TABLE)?;
        let mut row = SysRow::new(oids::PG_FOREIGN_TABLE)?;
        row.set_oid("ftrelid", table)?
            .set_oid("ftserver", server)?
            .set("ftoptions", stored_options(&options))?;
        self.rows.insert(row)?;
        let own = ObjectAddress::relation(table);
        let on = ObjectAddress::new(oids::PG_FOREIGN_SERVER, server);
        depend::record(self.rows, own, on, DependKind::Normal)
    }

    fn foreign_table_row(&self, table: Oid) -> Result<SysRow> {
        for row in self.rows.table_scan(oids::PG_FOREIGN_TABLE)? {
            if row.oid("ftrelid")? == table {
                return Ok(row);
            }
        }
        Err(err!(INTERNAL_ERROR, "cache lookup failed for foreign table {table}"))
    }

    /// Before a foreign table goes.
    pub(super) fn remove_foreign_table(&self, table: Oid) -> Result<()> {
        let row = self.foreign_table_row(table)?;
        self.rows.delete(&row)
    }

    /// ALTER FOREIGN TABLE .. OPTIONS.
    pub(super) fn alter_table_options(&self, table: Oid, options: &[DefElem]) -> Result<()> {
        let mut row = self.foreign_table_row(table)?;
        let options = changed_options(&options_in(&row, "ftoptions")?, options)?;
        row.set("ftoptions", stored_options(&options))?;
        self.rows.update(row)?;
        Ok(())
    }

    /// OPTIONS of a column.
    pub(super) fn alter_column_options(
        &self,
        table: Oid,
        attnum: i16,
        options: &[DefElem],
    ) -> Result<()> {
        let mut row = self.column_row(table, attnum)?;
        let options = changed_options(&options_in(&row, "attfdwoptions")?, options)?;
        row.set("attfdwoptions", stored_options(&options))?;
        self.rows.update(row)?;
        Ok(())
    }
}
