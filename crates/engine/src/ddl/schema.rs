//! Schemas, owners and who may define what.

use super::Ddl;
use super::index::with_code;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::ObjectAddress;
use catalog::privilege::Grantable;
use catalog::{RelKind, RelationDesc, SysRow, oids};
use parser::ast::{CreateSchemaStmt, RoleKind, RoleSpec};

impl Ddl<'_> {
    /// The role a specification means.
    pub fn role_oid(&self, spec: &RoleSpec) -> Result<Oid> {
        match &spec.kind {
            RoleKind::Name(name) => Ok(self.view.require_role(name)?.oid),
            RoleKind::CurrentRole | RoleKind::CurrentUser => Ok(self.user()),
            RoleKind::SessionUser => {
                let name = self.settings.str("session_authorization").to_string();
                match self.view.role_named(&name)? {
                    Some(role) => Ok(role.oid),
                    None => Ok(self.user()),
                }
            }
            RoleKind::Public => Err(err!(UNDEFINED_OBJECT, "role \"public\" does not exist")),
        }
    }

    /// True if the current user has the rights of `role`.
    pub fn has_rights_of(&self, role: Oid) -> Result<bool> {
        catalog::privilege::has_rights_of(&self.view, self.user(), role)
    }

    /// Fails unless the current user owns the relation; system tables are nobody's.
    pub fn require_owner_of_relation(&self, rel: &RelationDesc) -> Result<()> {
        if rel.oid < Oid::FIRST_NORMAL && !self.settings.bool("allow_system_table_mods") {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: \"{}\" is a system catalog",
                rel.name
            );
        }
        if self.has_rights_of(rel.owner)? {
            return Ok(());
        }
        let noun = match rel.kind {
            RelKind::Partitioned => "table",
            kind => kind.noun(),
        };
        bail!(INSUFFICIENT_PRIVILEGE, "must be owner of {noun} {}", rel.name)
    }

    /// CREATE SCHEMA; gives the statements it contains back to be run in it.
    pub fn create_schema(&self, stmt: &CreateSchemaStmt) -> Result<Oid> {
        let owner = match &stmt.authorization {
            Some(spec) => self.role_oid(spec)?,
            None => self.user(),
        };
        let name = match &stmt.name {
            Some(name) => name.clone(),
            None => self.view.role(owner)?.name.to_string(),
        };
        self.require_on_database(b'C')?;
        if !catalog::privilege::can_set_role(&self.view, self.user(), owner)? {
            let role = self.role_name(owner)?;
            bail!(INSUFFICIENT_PRIVILEGE, "must be able to SET ROLE \"{role}\"");
        }
        if let Some(found) = self.view.namespace_named(&name)? {
            let text = format!("schema \"{name}\" already exists");
            if !stmt.if_not_exists {
                return Err(Error::new(SqlState::DUPLICATE_SCHEMA, text));
            }
            let e = Error::notice(format!("{text}, skipping"));
            self.notice(with_code(e, SqlState::DUPLICATE_SCHEMA));
            return Ok(found.oid);
        }
        if name.starts_with("pg_") && !self.settings.bool("allow_system_table_mods") {
            return Err(err!(RESERVED_NAME, "unacceptable schema name \"{name}\"")
                .detail("The prefix \"pg_\" is reserved for system schemas."));
        }
        self.insert_namespace(&name, owner)
    }

    /// Writes a schema's row.
    pub fn insert_namespace(&self, name: &str, owner: Oid) -> Result<Oid> {
        let oid = self.rows.new_oid(oids::PG_NAMESPACE)?;
        let mut row = SysRow::new(oids::PG_NAMESPACE)?;
        row.set_oid("oid", oid)?.set_text("nspname", name)?.set_oid("nspowner", owner)?;
        let own = ObjectAddress::new(oids::PG_NAMESPACE, oid);
        // Temporary schemas are the system's.
        let acl = match name.starts_with("pg_") {
            true => None,
            false => self.acl_of_new(Grantable::Schema, owner, Oid::INVALID)?,
        };
        self.set_new_acl(&mut row, "nspacl", &acl)?;
        self.rows.insert(row)?;
        self.depend_owner(own, owner)?;
        self.depend_new_acl(own, owner, &acl)?;
        Ok(oid)
    }
}
