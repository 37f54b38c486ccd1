//! DROP ROLE, and what keeps a role from being dropped.

use super::denied;
use crate::ddl::Ddl;
use crate::ddl::shared_depend::{ACL, OWNER, POLICY};
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, ObjectAddress};
use catalog::{RoleDesc, SysRow, indexes, oids};
use parser::ast::{RoleKind, RoleSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use types::Datum;

/// How many objects are named.
const MOST: usize = 100;

impl Ddl<'_> {
    /// DROP ROLE, USER, GROUP.
    pub fn drop_roles(&self, roles: &[RoleSpec], missing_ok: bool) -> Result<()> {
        let own = self.view.role(self.user())?;
        if !own.superuser && !own.create_role {
            return Err(denied(
                "drop",
                "Only roles with the CREATEROLE attribute and the ADMIN option on the target \
                 roles may drop roles.",
            ));
        }
        let mut targets = Vec::new();
        for spec in roles {
            let RoleKind::Name(name) = &spec.kind else {
                bail!(INVALID_PARAMETER_VALUE, "cannot use special role specifier in DROP ROLE");
            };
            let Some(role) = self.view.role_named(name)? else {
                let text = format!("role \"{name}\" does not exist");
                if !missing_ok {
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, text));
                }
                self.notice(Error::notice(format!("{text}, skipping")));
                continue;
            };
            self.check_may_drop(&role)?;
            self.drop_memberships(role.oid)?;
            targets.push(role);
        }
        // All memberships are gone first: roles dropped together do not keep one another.
        for role in targets {
            let lines = self.needed_by(role.oid)?;
            if !lines.is_empty() {
                return Err(err!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "role \"{}\" cannot be dropped because some objects depend on it",
                    role.name
                )
                .detail(lines));
            }
            self.remove_role(role.oid)?;
        }
        Ok(())
    }

    fn check_may_drop(&self, role: &Arc<RoleDesc>) -> Result<()> {
        let users = self.env.core.users();
        if role.oid == users.current {
            bail!(OBJECT_IN_USE, "current user cannot be dropped");
        }
        if role.oid == users.session || role.oid == users.authenticated {
            bail!(OBJECT_IN_USE, "session user cannot be dropped");
        }
        if role.superuser && !self.is_superuser()? {
            return Err(denied(
                "drop",
                "Only roles with the SUPERUSER attribute may drop roles with the SUPERUSER \
                 attribute.",
            ));
        }
        if !self.is_admin_of(self.user(), role.oid)? {
            return Err(denied(
                "drop",
                format!(
                    "Only roles with the CREATEROLE attribute and the ADMIN option on role \
                     \"{}\" may drop this role.",
                    role.name
                ),
            ));
        }
        Ok(())
    }

    fn drop_memberships(&self, role: Oid) -> Result<()> {
        for index in [indexes::PG_AUTH_MEMBERS_ROLE, indexes::PG_AUTH_MEMBERS_MEMBER] {
            for row in self.rows.index_scan(index, &[Datum::U32(role.0)])? {
                self.delete_membership(&row)?;
            }
        }
        Ok(())
    }

    fn remove_role(&self, role: Oid) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_AUTHID, role);
        let key = [Datum::U32(role.0)];
        for row in self.rows.index_scan(indexes::PG_AUTHID_OID, &key)? {
            self.rows.delete(&row)?;
        }
        depend::set_comment(self.rows, own, None)?;
        for table in [oids::PG_DB_ROLE_SETTING, oids::PG_SHSECLABEL] {
            for row in self.rows.table_scan(table)? {
                let of_role = match table {
                    oids::PG_DB_ROLE_SETTING => row.oid("setrole")? == role,
                    _ => row.oid("objoid")? == role && row.oid("classoid")? == oids::PG_AUTHID,
                };
                if of_role {
                    self.rows.delete(&row)?;
                }
            }
        }
        Ok(())
    }

    /// The rows that say who needs a role.
    pub fn role_dependents(&self, role: Oid) -> Result<Vec<SysRow>> {
        let key = [Datum::U32(oids::PG_AUTHID.0), Datum::U32(role.0)];
        self.rows.index_scan(indexes::PG_SHDEPEND_REFERENCE, &key)
    }

    /// What needs a role, a line each; nothing if it can be dropped.
    fn needed_by(&self, role: Oid) -> Result<String> {
        let here = self.view.context().database;
        let mut objects = Vec::new();
        let mut elsewhere: BTreeMap<Oid, usize> = BTreeMap::new();
        for row in self.role_dependents(role)? {
            let database = row.oid("dbid")?;
            if database.is_valid() && database != here {
                *elsewhere.entry(database).or_default() += 1;
                continue;
            }
            let a = ObjectAddress {
                class: row.oid("classid")?,
                object: row.oid("objid")?,
                sub: row.i32("objsubid")?,
            };
            objects.push((a, row.char("deptype")?));
        }
        objects.sort_by_key(|(a, kind)| (a.object, a.class, a.sub, *kind));
        let mut lines = Vec::new();
        for (a, kind) in objects.iter().take(MOST) {
            let what = self.describe(*a)?;
            lines.push(match *kind {
                OWNER => format!("owner of {what}"),
                ACL => format!("privileges for {what}"),
                b'i' => format!("initial privileges for {what}"),
                POLICY => format!("target of {what}"),
                _ => format!("tablespace for {what}"),
            });
        }
        for (database, n) in elsewhere {
            let noun = if n == 1 { "object" } else { "objects" };
            let what = self.describe(ObjectAddress::new(oids::PG_DATABASE, database))?;
            lines.push(format!("{n} {noun} in {what}"));
        }
        if objects.len() > MOST {
            let more = objects.len() - MOST;
            let noun = if more == 1 { "object" } else { "objects" };
            lines.push(format!("and {more} other {noun} (see server log for list)"));
        }
        Ok(lines.join("\n"))
    }
}
