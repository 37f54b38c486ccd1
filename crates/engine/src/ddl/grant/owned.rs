//! DROP OWNED and REASSIGN OWNED: all that a role has in this database, and in shared tables.

use super::acl_class;
use crate::ddl::Ddl;
use crate::ddl::shared_depend::{ACL, OWNER, POLICY};
use base::{Error, Oid, Result, bail, err};
use catalog::acl::{change_owner, from_items};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::privilege::{can_set_role, has_rights_of};
use catalog::{RelKind, SysRow, indexes, oids};
use parser::ast::RoleSpec;
use types::Datum;

fn address(row: &SysRow) -> Result<ObjectAddress> {
    Ok(ObjectAddress {
        class: row.oid("classid")?,
        object: row.oid("objid")?,
        sub: row.i32("objsubid")?,
    })
}

impl Ddl<'_> {
    fn owned_roles(&self, specs: &[RoleSpec], verb: &str, done: &str) -> Result<Vec<Oid>> {
        let mut roles = Vec::new();
        for spec in specs {
            let role = self.role_oid(spec)?;
            if !has_rights_of(&self.view, self.user(), role)? {
                return Err(err!(
                    INSUFFICIENT_PRIVILEGE,
                    "permission denied to {verb} objects"
                )
                .detail(format!(
                    "Only roles with privileges of role \"{}\" may {verb} objects owned by {done}",
                    self.role_name(role)?
                )));
            }
            roles.push(role);
        }
        Ok(roles)
    }

    fn here(&self, row: &SysRow) -> Result<bool> {
        let database = row.oid("dbid")?;
        Ok(!database.is_valid() || database == self.view.context().database)
    }

    /// DROP OWNED.
    pub fn drop_owned(&self, specs: &[RoleSpec], cascade: bool) -> Result<()> {
        let roles = self.owned_roles(specs, "drop", "it.")?;
        let mut doomed = Vec::new();
        for role in roles {
            if role < Oid::FIRST_NORMAL {
                bail!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "cannot drop objects owned by role {} because they are required by the \
                     database system",
                    self.role_name(role)?
                );
            }
            for row in self.role_dependents(role)? {
                if !self.here(&row)? {
                    continue;
                }
                let a = address(&row)?;
                let kind = row.char("deptype")?;
                if kind == ACL && a.class != oids::PG_AUTH_MEMBERS {
                    self.remove_role_from_acl(a, role)?;
                } else if kind == POLICY {
                    if !self.remove_role_from_policy(a.object, role)? {
                        doomed.push(a);
                    }
                } else if matches!(kind, OWNER | ACL)
                    && !matches!(a.class, oids::PG_DATABASE | oids::PG_TABLESPACE)
                {
                    doomed.push(a);
                }
            }
        }
        let mut objects = Vec::new();
        for a in doomed {
            match a.class {
                oids::PG_AUTH_MEMBERS => {
                    let key = [Datum::U32(a.object.0)];
                    for row in self.rows.index_scan(indexes::PG_AUTH_MEMBERS_OID, &key)? {
                        self.delete_membership(&row)?;
                    }
                }
                oids::PG_DEFAULT_ACL => {
                    let key = [Datum::U32(a.object.0)];
                    for row in self.rows.index_scan(indexes::PG_DEFAULT_ACL_OID, &key)? {
                        self.remove_default_acl(&row)?;
                    }
                }
                _ => {
                    // What is a part of something else goes with it.
                    let whole = depend::dependencies_of(self.rows, a)?
                        .into_iter()
                        .any(|d| d.kind == DependKind::Internal && d.depender.sub == 0);
                    if !whole && !objects.contains(&a) {
                        objects.push(a);
                    }
                }
            }
        }
        objects.sort();
        self.drop_objects(&objects, cascade)
    }

    /// Takes all that was granted to a role on an object, or by it.
    fn remove_role_from_acl(&self, a: ObjectAddress, role: Oid) -> Result<()> {
        let (mut row, column) = match (a.class, a.sub) {
            (oids::PG_CLASS, n) if n != 0 => (self.column_row(a.object, n as i16)?, "attacl"),
            (oids::PG_DEFAULT_ACL, _) => {
                (self.row_by_oid(indexes::PG_DEFAULT_ACL_OID, a.object)?, "defaclacl")
            }
            (oids::PG_PARAMETER_ACL, _) => {
                (self.row_by_oid(indexes::PG_PARAMETER_ACL_OID, a.object)?, "paracl")
            }
            _ => {
                let class = acl_class(a.class);
                let Some((class, column)) = class.and_then(|c| Some((c, c.acl?))) else {
                    return Err(Error::unsupported("privileges on this object"));
                };
                (self.row_by_oid(class.index, a.object)?, column)
            }
        };
        let Some(mut items) = row.acl(column)? else { return Ok(()) };
        items.retain(|i| i.grantee != role && i.grantor != role);
        self.forget_roles(a, ACL, Some(role))?;
        let gone = items.is_empty();
        match a.class {
            oids::PG_DEFAULT_ACL if gone => return self.remove_default_acl(&row),
            oids::PG_PARAMETER_ACL if gone => return self.rows.delete(&row),
            oids::PG_CLASS if gone && a.sub != 0 => row.set(column, Datum::Null)?,
            _ => row.set(column, from_items(&items)?)?,
        };
        self.rows.update(row)?;
        Ok(())
    }

    /// REASSIGN OWNED.
    pub fn reassign_owned(&self, specs: &[RoleSpec], to: &RoleSpec) -> Result<()> {
        let roles = self.owned_roles(specs, "reassign", "it.")?;
        let new = self.role_oid(to)?;
        if !has_rights_of(&self.view, self.user(), new)? {
            return Err(err!(INSUFFICIENT_PRIVILEGE, "permission denied to reassign objects")
                .detail(format!(
                    "Only roles with privileges of role \"{}\" may reassign objects to it.",
                    self.role_name(new)?
                )));
        }
        for role in roles {
            if role < Oid::FIRST_NORMAL {
                bail!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "cannot reassign ownership of objects owned by role {} because they are \
                     required by the database system",
                    self.role_name(role)?
                );
            }
            for row in self.role_dependents(role)? {
                if !self.here(&row)? || row.char("deptype")? != OWNER {
                    continue;
                }
                let a = address(&row)?;
                // Default privileges are a role's own; others have theirs.
                if a.class != oids::PG_DEFAULT_ACL && a.class != oids::PG_USER_MAPPING {
                    self.set_owner(a, new)?;
                }
            }
        }
        Ok(())
    }

    /// Fails unless the user may give things to a role, and the role may have them where they are.
    pub fn check_new_owner(&self, namespace: Option<Oid>, owner: Oid) -> Result<()> {
        if self.is_superuser()? {
            return Ok(());
        }
        if !can_set_role(&self.view, self.user(), owner)? {
            let name = self.role_name(owner)?;
            bail!(INSUFFICIENT_PRIVILEGE, "must be able to SET ROLE \"{name}\"");
        }
        match namespace {
            Some(namespace) => self.require_create_by(owner, namespace),
            None => Ok(()),
        }
    }

    /// Gives an object, and what belongs to it, to another role. The rights to do so have been
    /// checked.
    pub fn set_owner(&self, a: ObjectAddress, owner: Oid) -> Result<()> {
        let Some(class) = acl_class(a.class) else {
            return Err(Error::unsupported("another owner for this object"));
        };
        let mut row = self.row_by_oid(class.index, a.object)?;
        let old = row.oid(class.owner)?;
        if old == owner {
            return Ok(());
        }
        row.set_oid(class.owner, owner)?;
        if let Some(column) = class.acl
            && let Some(items) = row.acl(column)?
        {
            row.set(column, from_items(&change_owner(&items, old, owner))?)?;
        }
        let (row_type, array) = match a.class {
            oids::PG_CLASS => (row.oid("reltype")?, Oid::INVALID),
            oids::PG_TYPE => (Oid::INVALID, row.oid("typarray")?),
            _ => (Oid::INVALID, Oid::INVALID),
        };
        self.rows.update(row)?;
        // A part has no owner of its own on record.
        let key = [
            Datum::U32(self.view.context().database.0),
            Datum::U32(a.class.0),
            Datum::U32(a.object.0),
        ];
        let mut recorded = old < Oid::FIRST_NORMAL;
        for row in self.rows.index_scan(indexes::PG_SHDEPEND_DEPENDER, &key)? {
            recorded |= row.char("deptype")? == OWNER && row.i32("objsubid")? == 0;
        }
        let part = self.is_part(a)?;
        if (recorded || crate::ddl::shared_depend::is_shared(a.class)) && !part {
            self.change_owner_dependency(a, owner)?;
        }
        for oid in [row_type, array].into_iter().filter(|o| o.is_valid()) {
            self.set_owner(ObjectAddress::new(oids::PG_TYPE, oid), owner)?;
        }
        if a.class == oids::PG_CLASS {
            self.set_owner_of_parts(a, old, owner)?;
        }
        Ok(())
    }

    /// True for what never has an owner on record: row types, arrays, indexes, TOAST tables.
    fn is_part(&self, a: ObjectAddress) -> Result<bool> {
        Ok(match a.class {
            oids::PG_CLASS => matches!(
                self.view.relation(a.object)?.kind,
                RelKind::Index | RelKind::PartitionedIndex | RelKind::Toast
            ),
            oids::PG_TYPE => {
                let t = self.view.type_(a.object)?;
                t.is_array()
                    || t.kind == b'c' && t.relation.is_valid() && {
                        self.view.relation(t.relation)?.kind != RelKind::Composite
                    }
            }
            _ => false,
        })
    }

    /// A table's indexes, its TOAST table, its columns' lists and its own sequences.
    fn set_owner_of_parts(&self, a: ObjectAddress, old: Oid, owner: Oid) -> Result<()> {
        let rel = self.view.relation(a.object)?;
        for index in &rel.indexes {
            self.set_owner(ObjectAddress::relation(index.oid), owner)?;
        }
        if rel.toast.is_valid() {
            self.set_owner(ObjectAddress::relation(rel.toast), owner)?;
        }
        for mut row in self.rows.index_scan(indexes::PG_ATTRIBUTE_NUM, &[Datum::U32(a.object.0)])? {
            if let Some(items) = row.acl("attacl")? {
                row.set("attacl", from_items(&change_owner(&items, old, owner))?)?;
                self.rows.update(row)?;
            }
        }
        for d in depend::dependents_of(self.rows, a)? {
            let owned = matches!(d.kind, DependKind::Auto | DependKind::Internal)
                && d.depender.class == oids::PG_CLASS
                && d.depender.sub == 0
                && d.referenced.sub != 0;
            if owned && self.view.relation(d.depender.object)?.kind == RelKind::Sequence {
                self.set_owner(d.depender, owner)?;
            }
        }
        Ok(())
    }
}
