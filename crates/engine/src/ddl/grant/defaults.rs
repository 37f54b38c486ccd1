//! ALTER DEFAULT PRIVILEGES, and what new objects get by it. A row of `pg_default_acl` without a
//! schema replaces the list that objects start with; one with a schema adds to it.

use super::Grant;
use crate::ddl::Ddl;
use base::{Error, Oid, Result, bail};
use catalog::acl::{AclItem, from_items};
use catalog::acl_change::{AclChange, merge, same, sorted};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::privilege::{Grantable, has_rights_of};
use catalog::{SysRow, indexes, oids};
use parser::ast::{AlterDefaultPrivilegesStmt, GrantTarget, ObjectKind};
use types::Datum;

/// The letter of `pg_default_acl.defaclobjtype`.
fn letter(kind: Grantable) -> Option<u8> {
    Some(match kind {
        Grantable::Table => b'r',
        Grantable::Sequence => b'S',
        Grantable::Function => b'f',
        Grantable::Type => b'T',
        Grantable::Schema => b'n',
        Grantable::LargeObject => b'L',
        _ => return None,
    })
}

impl Ddl<'_> {
    /// ALTER DEFAULT PRIVILEGES.
    pub fn alter_default_privileges(&self, stmt: &AlterDefaultPrivilegesStmt) -> Result<()> {
        let GrantTarget::Defaults(object) = stmt.action.target else {
            return Err(Error::internal("default privileges of named objects"));
        };
        let mut roles = Vec::new();
        for spec in &stmt.roles {
            roles.push(self.role_oid(spec)?);
        }
        if roles.is_empty() {
            roles.push(self.user());
        }
        let mut grant = self.read_grant(&stmt.action, object)?;
        if object == ObjectKind::Table
            && let Some(bits) = grant.privileges
            && bits & !Grantable::Table.all() != 0
        {
            let name = super::privilege_name(bits & !Grantable::Table.all());
            bail!(INVALID_GRANT_OPERATION, "invalid privilege type {name} for relation");
        }
        if !stmt.schemas.is_empty() {
            let word = match object {
                ObjectKind::Schema => Some("SCHEMAS"),
                ObjectKind::LargeObject => Some("LARGE OBJECTS"),
                _ => None,
            };
            if let Some(word) = word {
                bail!(
                    INVALID_GRANT_OPERATION,
                    "cannot use IN SCHEMA clause when using GRANT/REVOKE ON {word}"
                );
            }
        }
        let all = grant.privileges.unwrap_or(grant.kind.all());
        grant.privileges = Some(all);
        for role in roles {
            if !has_rights_of(&self.view, self.user(), role)? {
                bail!(INSUFFICIENT_PRIVILEGE, "permission denied to change default privileges");
            }
            if stmt.schemas.is_empty() {
                self.set_default_acl(&grant, role, Oid::INVALID, all)?;
            }
            for schema in &stmt.schemas {
                let schema = self.view.require_namespace(schema)?.oid;
                self.set_default_acl(&grant, role, schema, all)?;
            }
        }
        Ok(())
    }

    fn default_acl_row(&self, role: Oid, schema: Oid, letter: u8) -> Result<Option<SysRow>> {
        let key = [Datum::U32(role.0), Datum::U32(schema.0), Datum::Char(letter)];
        Ok(self.rows.index_scan(indexes::PG_DEFAULT_ACL_ROLE, &key)?.into_iter().next())
    }

    fn set_default_acl(
        &self,
        grant: &Grant<'_>,
        role: Oid,
        schema: Oid,
        privileges: u32,
    ) -> Result<()> {
        let Some(letter) = letter(grant.kind) else {
            return Err(Error::internal("no default privileges for this kind"));
        };
        let default = match schema.is_valid() {
            true => Vec::new(),
            false => grant.kind.default_acl(role),
        };
        let found = self.default_acl_row(role, schema, letter)?;
        let old = match &found {
            Some(row) => row.acl("defaclacl")?.unwrap_or_default(),
            None => default.clone(),
        };
        let new = AclChange {
            is_grant: grant.stmt.is_grant,
            grant_option: grant.stmt.grant_option,
            cascade: grant.stmt.cascade,
            grantees: &grant.grantees,
            privileges,
            grantor: role,
            owner: role,
        }
        .apply(&old)?;
        if same(&new, &default) {
            if let Some(row) = found {
                self.remove_default_acl(&row)?;
            }
            return Ok(());
        }
        let oid = match found {
            Some(mut row) => {
                row.set("defaclacl", from_items(&new)?)?;
                let oid = row.oid("oid")?;
                self.rows.update(row)?;
                oid
            }
            None => self.insert_default_acl(role, schema, letter, &new)?,
        };
        let own = ObjectAddress::new(oids::PG_DEFAULT_ACL, oid);
        self.change_acl_dependency(own, role, &new)
    }

    fn insert_default_acl(
        &self,
        role: Oid,
        schema: Oid,
        letter: u8,
        acl: &[AclItem],
    ) -> Result<Oid> {
        let oid = self.rows.new_oid(oids::PG_DEFAULT_ACL)?;
        let mut row = SysRow::new(oids::PG_DEFAULT_ACL)?;
        row.set_oid("oid", oid)?
            .set_oid("defaclrole", role)?
            .set_oid("defaclnamespace", schema)?
            .set_char("defaclobjtype", letter)?
            .set("defaclacl", from_items(acl)?)?;
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_DEFAULT_ACL, oid);
        self.depend_owner(own, role)?;
        if schema.is_valid() {
            let place = ObjectAddress::new(oids::PG_NAMESPACE, schema);
            depend::record(self.rows, own, place, DependKind::Auto)?;
        }
        Ok(oid)
    }

    /// Default privileges as messages name them.
    pub fn describe_default_acl(&self, oid: Oid) -> Result<String> {
        let row = self.row_by_oid(indexes::PG_DEFAULT_ACL_OID, oid)?;
        let what = match row.char("defaclobjtype")? {
            b'r' => "relations",
            b'S' => "sequences",
            b'f' => "functions",
            b'T' => "types",
            b'n' => "schemas",
            _ => "large objects",
        };
        let role = crate::ddl::name::quote(&self.view.role(row.oid("defaclrole")?)?.name);
        let text = format!("default privileges on new {what} belonging to role {role}");
        let schema = row.oid("defaclnamespace")?;
        Ok(match schema.is_valid() {
            true => {
                let schema = self.view.namespace(schema)?;
                format!("{text} in schema {}", crate::ddl::name::quote(&schema.name))
            }
            false => text,
        })
    }

    /// Deletes a row of `pg_default_acl` with what is recorded of it.
    pub fn remove_default_acl(&self, row: &SysRow) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_DEFAULT_ACL, row.oid("oid")?);
        self.forget_all_roles(own)?;
        depend::forget(self.rows, own)?;
        self.rows.delete(row)
    }

    /// The list that a new object gets; none if it is the kind's own.
    pub fn acl_of_new(
        &self,
        kind: Grantable,
        owner: Oid,
        schema: Oid,
    ) -> Result<Option<Vec<AclItem>>> {
        let Some(letter) = letter(kind) else { return Ok(None) };
        let acl = |schema: Oid| -> Result<Option<Vec<AclItem>>> {
            match self.default_acl_row(owner, schema, letter)? {
                Some(row) => row.acl("defaclacl"),
                None => Ok(None),
            }
        };
        let everywhere = acl(Oid::INVALID)?;
        let here = match kind {
            Grantable::Schema => None,
            _ => acl(schema)?,
        };
        if everywhere.is_none() && here.is_none() {
            return Ok(None);
        }
        let default = kind.default_acl(owner);
        let merged = merge(
            &everywhere.unwrap_or_else(|| default.clone()),
            &here.unwrap_or_default(),
            owner,
        )?;
        Ok(if same(&merged, &default) { None } else { Some(sorted(&merged)) })
    }

    /// Sets a new object's list in its row; see [`Ddl::acl_of_new`]. The dependencies are recorded
    /// by [`Ddl::depend_new_acl`] once the row is there.
    pub fn set_new_acl(
        &self,
        row: &mut SysRow,
        column: &str,
        acl: &Option<Vec<AclItem>>,
    ) -> Result<()> {
        if let Some(items) = acl {
            row.set(column, from_items(items)?)?;
        }
        Ok(())
    }

    /// Records the roles in a new object's list.
    pub fn depend_new_acl(
        &self,
        own: ObjectAddress,
        owner: Oid,
        acl: &Option<Vec<AclItem>>,
    ) -> Result<()> {
        match acl {
            Some(items) => self.change_acl_dependency(own, owner, items),
            None => Ok(()),
        }
    }
}
