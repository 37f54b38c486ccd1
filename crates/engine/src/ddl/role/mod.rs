//! CREATE, ALTER and DROP ROLE, and membership in roles.

mod drop;
mod membership;
pub mod password;

pub use membership::MemberOptions;

use super::Ddl;
use super::option::{conflicting, integer, text_of};
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::{RoleDesc, SysRow, indexes, oids};
use functions::FnEnv;
use parser::ast::{
    AlterRoleSetStmt, AlterRoleStmt, CreateRoleStmt, DefElem, DefValue, RenameStmt, RoleFlavor,
    RoleKind, RoleSpec,
};
use std::sync::Arc;
use types::Datum;

/// The options of a role as written, each at most once.
#[derive(Default)]
struct Options<'a> {
    superuser: Option<bool>,
    inherit: Option<bool>,
    create_role: Option<bool>,
    create_db: Option<bool>,
    login: Option<bool>,
    replication: Option<bool>,
    bypass_rls: Option<bool>,
    limit: Option<i32>,
    valid_until: Option<String>,
    /// None inside is PASSWORD NULL.
    password: Option<Option<String>>,
    in_roles: Option<&'a [RoleSpec]>,
    members: Option<&'a [RoleSpec]>,
    admins: Option<&'a [RoleSpec]>,
}

fn put<T>(slot: &mut Option<T>, value: T, option: &DefElem) -> Result<()> {
    if slot.is_some() {
        return Err(conflicting(option));
    }
    *slot = Some(value);
    Ok(())
}

fn roles(option: &DefElem) -> &[RoleSpec] {
    match &option.value {
        Some(DefValue::Roles(list)) => list,
        _ => &[],
    }
}

impl<'a> Options<'a> {
    fn read(ddl: &Ddl<'_>, options: &'a [DefElem]) -> Result<Options<'a>> {
        let mut all = Options::default();
        for o in options {
            let yes = !matches!(o.value, Some(DefValue::Bool(false)));
            match o.name.as_str() {
                "superuser" => put(&mut all.superuser, yes, o)?,
                "inherit" => put(&mut all.inherit, yes, o)?,
                "createrole" => put(&mut all.create_role, yes, o)?,
                "createdb" => put(&mut all.create_db, yes, o)?,
                "canlogin" => put(&mut all.login, yes, o)?,
                "isreplication" => put(&mut all.replication, yes, o)?,
                "bypassrls" => put(&mut all.bypass_rls, yes, o)?,
                "connectionlimit" => put(&mut all.limit, integer(o)?, o)?,
                "validUntil" => put(&mut all.valid_until, text_of(o)?, o)?,
                "password" => {
                    let text = o.value.is_some().then(|| text_of(o)).transpose()?;
                    put(&mut all.password, text, o)?;
                }
                "addroleto" => put(&mut all.in_roles, roles(o), o)?,
                "rolemembers" => put(&mut all.members, roles(o), o)?,
                "adminmembers" => put(&mut all.admins, roles(o), o)?,
                "sysid" => ddl.notice(Error::notice("SYSID can no longer be specified")),
                name => bail!(INTERNAL_ERROR, "option \"{name}\" not recognized"),
            }
        }
        if let Some(n) = all.limit.filter(|n| *n < -1) {
            bail!(INVALID_PARAMETER_VALUE, "invalid connection limit: {n}");
        }
        Ok(all)
    }

    fn is_only_password(&self) -> bool {
        let flags = [
            self.superuser,
            self.inherit,
            self.create_role,
            self.create_db,
            self.login,
            self.replication,
            self.bypass_rls,
        ];
        flags.iter().all(Option::is_none) && self.limit.is_none() && self.valid_until.is_none()
    }
}

/// A name that belongs to the system.
fn reserved(name: &str) -> bool {
    name.starts_with("pg_")
}

fn check_name(name: &str) -> Result<()> {
    if !reserved(name) {
        return Ok(());
    }
    Err(err!(RESERVED_NAME, "role name \"{name}\" is reserved")
        .detail("Role names starting with \"pg_\" are reserved."))
}

fn denied(verb: &str, detail: impl Into<String>) -> Error {
    err!(INSUFFICIENT_PRIVILEGE, "permission denied to {verb} role").detail(detail.into())
}

impl Ddl<'_> {
    fn own_role(&self) -> Result<Arc<RoleDesc>> {
        self.view.role(self.user())
    }

    /// True if the user may make roles.
    fn may_create_roles(&self) -> Result<bool> {
        let own = self.own_role()?;
        Ok(own.superuser || own.create_role)
    }

    fn role_row(&self, role: Oid) -> Result<SysRow> {
        self.row_by_oid(indexes::PG_AUTHID_OID, role)
    }

    fn set_valid_until(&self, row: &mut SysRow, text: &str) -> Result<()> {
        let io = self.env.io();
        let value = types::io::input(oids::TIMESTAMPTZ, text, -1, &io)?;
        row.set("rolvaliduntil", value)?;
        Ok(())
    }

    /// The form a password is stored in; none if there is none.
    fn stored_password(&self, role: &str, text: Option<&str>) -> Result<Option<String>> {
        let Some(text) = text else { return Ok(None) };
        if text.is_empty() || password::is_of_nothing(text, role) {
            let notice = "empty string is not a valid password, clearing password";
            self.notice(Error::notice(notice));
            return Ok(None);
        }
        let stored = if password::is_scram(text) || password::is_md5(text) {
            text.to_string()
        } else if self.settings.str("password_encryption") == "md5" {
            password::md5(text, role)
        } else {
            let mut salt = [0; 16];
            os::random::fill(&mut salt);
            let rounds = self.settings.i64("scram_iterations").clamp(1, i64::from(i32::MAX));
            password::scram(text, &salt, rounds as u32)
        };
        if stored.len() > 512 {
            return Err(err!(PROGRAM_LIMIT_EXCEEDED, "encrypted password is too long")
                .detail("Encrypted passwords must be no longer than 512 bytes."));
        }
        if password::is_md5(&stored) && self.settings.bool("md5_password_warnings") {
            let code = SqlState::WARNING_DEPRECATED_FEATURE;
            let text = "setting an MD5-encrypted password";
            self.notice(
                Error::with_severity(base::Severity::Warning, code, text)
                    .detail(
                        "MD5 password support is deprecated and will be removed in a future \
                         release of PostgreSQL.",
                    )
                    .hint(
                        "Refer to the PostgreSQL documentation for details about migrating to \
                         another password type.",
                    ),
            );
        }
        Ok(Some(stored))
    }

    /// CREATE ROLE, USER, GROUP.
    pub fn create_role(&self, stmt: &CreateRoleStmt) -> Result<()> {
        let o = Options::read(self, &stmt.options)?;
        let own = self.own_role()?;
        if !own.superuser {
            if !own.create_role {
                let detail = "Only roles with the CREATEROLE attribute may create roles.";
                return Err(denied("create", detail));
            }
            for (wanted, have, word) in [
                (o.superuser, false, "SUPERUSER"),
                (o.create_db, own.create_db, "CREATEDB"),
                (o.replication, own.replication, "REPLICATION"),
                (o.bypass_rls, own.bypass_rls, "BYPASSRLS"),
            ] {
                if wanted == Some(true) && !have {
                    return Err(denied(
                        "create",
                        format!(
                            "Only roles with the {word} attribute may create roles with the \
                             {word} attribute."
                        ),
                    ));
                }
            }
        }
        check_name(&stmt.name)?;
        if self.view.role_named(&stmt.name)?.is_some() {
            bail!(DUPLICATE_OBJECT, "role \"{}\" already exists", stmt.name);
        }
        let role = self.rows.new_oid(oids::PG_AUTHID)?;
        let mut row = SysRow::new(oids::PG_AUTHID)?;
        if let Some(text) = &o.valid_until {
            self.set_valid_until(&mut row, text)?;
        }
        let given = o.password.as_ref().and_then(|p| p.as_deref());
        let secret = self.stored_password(&stmt.name, given)?;
        let login = o.login.unwrap_or(stmt.flavor == RoleFlavor::User);
        row.set_oid("oid", role)?
            .set_text("rolname", &stmt.name)?
            .set_bool("rolsuper", o.superuser.unwrap_or(false))?
            .set_bool("rolinherit", o.inherit.unwrap_or(true))?
            .set_bool("rolcreaterole", o.create_role.unwrap_or(false))?
            .set_bool("rolcreatedb", o.create_db.unwrap_or(false))?
            .set_bool("rolcanlogin", login)?
            .set_bool("rolreplication", o.replication.unwrap_or(false))?
            .set_bool("rolbypassrls", o.bypass_rls.unwrap_or(false))?
            .set_i32("rolconnlimit", o.limit.unwrap_or(-1))?
            .set_opt_text("rolpassword", secret.as_deref())?;
        self.rows.insert(row)?;
        for spec in o.in_roles.unwrap_or_default() {
            let of = self.role_oid(spec)?;
            self.check_may_grant(of, true)?;
            self.add_members(of, &[role], None, MemberOptions::default())?;
        }
        self.make_admin_of_new(role)?;
        let listed = |specs: Option<&[RoleSpec]>| -> Result<Vec<Oid>> {
            specs.unwrap_or_default().iter().map(|s| self.role_oid(s)).collect()
        };
        let admin = MemberOptions { admin: Some(true), ..MemberOptions::default() };
        self.add_members(role, &listed(o.admins)?, None, admin)?;
        self.add_members(role, &listed(o.members)?, None, MemberOptions::default())
    }

    /// Who is not a superuser has its new roles by the ADMIN option, granted by the system.
    fn make_admin_of_new(&self, role: Oid) -> Result<()> {
        if self.is_superuser()? {
            return Ok(());
        }
        let user = self.user();
        let by_system = MemberOptions { admin: Some(true), inherit: Some(false), set: Some(false) };
        // The system needs no right to grant.
        self.add_members_by_system(role, user, by_system)?;
        let own = self.settings.str("createrole_self_grant").to_ascii_lowercase();
        let words: Vec<&str> = own.split(',').map(str::trim).filter(|w| !w.is_empty()).collect();
        if words.is_empty() {
            return Ok(());
        }
        let options = MemberOptions {
            admin: None,
            inherit: Some(words.contains(&"inherit")),
            set: Some(words.contains(&"set")),
        };
        self.add_members(role, &[user], Some(user), options)
    }

    /// The role that ALTER ROLE means; those of the system are not to be changed.
    fn role_to_alter(&self, spec: &RoleSpec) -> Result<Arc<RoleDesc>> {
        if let RoleKind::Name(name) = &spec.kind
            && reserved(name)
        {
            return Err(err!(RESERVED_NAME, "role name \"{name}\" is reserved")
                .detail("Cannot alter reserved roles."));
        }
        self.view.role(self.role_oid(spec)?)
    }

    /// ALTER ROLE, and ALTER GROUP with members.
    pub fn alter_role(&self, stmt: &AlterRoleStmt) -> Result<()> {
        let target = self.role_to_alter(&stmt.role)?;
        let o = Options::read(self, &stmt.options)?;
        self.check_may_alter(&target, &o)?;
        let mut row = self.role_row(target.oid)?;
        if let Some(text) = &o.valid_until {
            self.set_valid_until(&mut row, text)?;
        }
        for (column, value) in [
            ("rolsuper", o.superuser),
            ("rolinherit", o.inherit),
            ("rolcreaterole", o.create_role),
            ("rolcreatedb", o.create_db),
            ("rolcanlogin", o.login),
            ("rolreplication", o.replication),
            ("rolbypassrls", o.bypass_rls),
        ] {
            if let Some(value) = value {
                row.set_bool(column, value)?;
            }
        }
        if let Some(limit) = o.limit {
            row.set_i32("rolconnlimit", limit)?;
        }
        if let Some(text) = &o.password {
            let secret = self.stored_password(&target.name, text.as_deref())?;
            row.set_opt_text("rolpassword", secret.as_deref())?;
        }
        self.rows.update(row)?;
        let Some(specs) = o.members else { return Ok(()) };
        let members: Vec<Oid> = specs.iter().map(|s| self.role_oid(s)).collect::<Result<_>>()?;
        self.check_may_grant(target.oid, !stmt.drop_members)?;
        let options = MemberOptions::default();
        match stmt.drop_members {
            false => self.add_members(target.oid, &members, None, options),
            true => self.remove_members(target.oid, &members, None, options, false),
        }
    }

    fn check_may_alter(&self, target: &RoleDesc, o: &Options<'_>) -> Result<()> {
        let own = self.own_role()?;
        if !own.superuser && target.superuser {
            return Err(denied(
                "alter",
                "Only roles with the SUPERUSER attribute may alter roles with the SUPERUSER \
                 attribute.",
            ));
        }
        let change = |word: &str| {
            format!("Only roles with the {word} attribute may change the {word} attribute.")
        };
        if !own.superuser && o.superuser.is_some() {
            return Err(denied("alter", change("SUPERUSER")));
        }
        let admin = self.may_create_roles()? && self.is_admin_of(own.oid, target.oid)?;
        if o.members.is_some() {
            if !self.is_admin_of(own.oid, target.oid)? {
                return Err(denied(
                    "alter",
                    format!(
                        "Only roles with the ADMIN option on role \"{}\" may add or drop members.",
                        target.name
                    ),
                ));
            }
        } else if !admin {
            if !o.is_only_password() {
                return Err(denied(
                    "alter",
                    format!(
                        "Only roles with the CREATEROLE attribute and the ADMIN option on role \
                         \"{}\" may alter this role.",
                        target.name
                    ),
                ));
            }
            if o.password.is_some() && target.oid != own.oid {
                return Err(denied(
                    "alter",
                    "To change another role's password, the current user must have the \
                     CREATEROLE attribute and the ADMIN option on the role.",
                ));
            }
        } else if !own.superuser {
            for (wanted, have, word) in [
                (o.create_db, own.create_db, "CREATEDB"),
                (o.replication, own.replication, "REPLICATION"),
                (o.bypass_rls, own.bypass_rls, "BYPASSRLS"),
            ] {
                if wanted.is_some() && !have {
                    return Err(denied("alter", change(word)));
                }
            }
        }
        if o.superuser == Some(false) && target.oid == oids::SUPERUSER {
            return Err(err!(FEATURE_NOT_SUPPORTED, "permission denied to alter role")
                .detail("The bootstrap superuser must have the SUPERUSER attribute."));
        }
        Ok(())
    }

    /// What ALTER ROLE SET is for: database and role, 0 for all. Checks that the user may.
    pub fn settings_target(&self, stmt: &AlterRoleSetStmt) -> Result<(Oid, Oid)> {
        let role = stmt.role.as_ref().map(|spec| self.role_to_alter(spec)).transpose()?;
        if let Some(role) = &role {
            if role.superuser {
                if !self.is_superuser()? {
                    return Err(denied(
                        "alter",
                        "Only roles with the SUPERUSER attribute may alter roles with the \
                         SUPERUSER attribute.",
                    ));
                }
            } else if role.oid != self.user()
                && !(self.may_create_roles()? && self.is_admin_of(self.user(), role.oid)?)
            {
                return Err(denied(
                    "alter",
                    format!(
                        "Only roles with the CREATEROLE attribute and the ADMIN option on role \
                         \"{}\" may alter this role.",
                        role.name
                    ),
                ));
            }
        }
        let mut database = Oid::INVALID;
        if let Some(name) = &stmt.database {
            let found = self
                .view
                .database_named(name)?
                .ok_or_else(|| err!(INVALID_CATALOG_NAME, "database \"{name}\" does not exist"))?;
            database = found.oid;
            if role.is_none() && !self.has_rights_of(found.owner)? {
                bail!(INSUFFICIENT_PRIVILEGE, "must be owner of database {name}");
            }
        }
        if role.is_none() && stmt.database.is_none() && !self.is_superuser()? {
            return Err(err!(INSUFFICIENT_PRIVILEGE, "permission denied to alter setting")
                .detail("Only roles with the SUPERUSER attribute may alter settings globally."));
        }
        Ok((database, role.map_or(Oid::INVALID, |r| r.oid)))
    }

    /// Fails unless the user may do something about a role, such as to comment on it.
    pub fn check_admin(&self, role: Oid) -> Result<()> {
        let desc = self.view.role(role)?;
        let denied = || err!(INSUFFICIENT_PRIVILEGE, "permission denied");
        if desc.superuser {
            if self.is_superuser()? {
                return Ok(());
            }
            return Err(denied().detail("The current user must have the SUPERUSER attribute."));
        }
        if !self.may_create_roles()? {
            return Err(denied().detail("The current user must have the CREATEROLE attribute."));
        }
        if !self.is_admin_of(self.user(), role)? {
            return Err(denied().detail(format!(
                "The current user must have the ADMIN option on role \"{}\".",
                desc.name
            )));
        }
        Ok(())
    }

    /// ALTER ROLE RENAME.
    pub fn rename_role(&self, stmt: &RenameStmt) -> Result<()> {
        let old = stmt.object.name.last();
        let target = self.view.require_role(old)?;
        let users = self.env.core.users();
        if target.oid == users.session {
            bail!(FEATURE_NOT_SUPPORTED, "session user cannot be renamed");
        }
        if target.oid == users.current {
            bail!(FEATURE_NOT_SUPPORTED, "current user cannot be renamed");
        }
        check_name(old)?;
        check_name(&stmt.new_name)?;
        if self.view.role_named(&stmt.new_name)?.is_some() {
            bail!(DUPLICATE_OBJECT, "role \"{}\" already exists", stmt.new_name);
        }
        if target.superuser {
            if !self.is_superuser()? {
                return Err(denied(
                    "rename",
                    "Only roles with the SUPERUSER attribute may rename roles with the \
                     SUPERUSER attribute.",
                ));
            }
        } else if !(self.may_create_roles()? && self.is_admin_of(self.user(), target.oid)?) {
            return Err(denied(
                "rename",
                format!(
                    "Only roles with the CREATEROLE attribute and the ADMIN option on role \
                     \"{old}\" may rename this role."
                ),
            ));
        }
        let mut row = self.role_row(target.oid)?;
        row.set_text("rolname", &stmt.new_name)?;
        // The digest is of password and name together.
        if target.password.as_deref().is_some_and(password::is_md5) {
            row.set("rolpassword", Datum::Null)?;
            self.notice(Error::notice("MD5 password cleared because of role rename"));
        }
        self.rows.update(row)?;
        Ok(())
    }
}
