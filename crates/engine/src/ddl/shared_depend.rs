//! Dependencies on roles: who owns an object and who was granted something on it, in
//! `pg_shdepend`, so that a role that is needed anywhere is not dropped.

use super::Ddl;
use base::{Oid, Result};
use catalog::acl::AclItem;
use catalog::depend::ObjectAddress;
use catalog::{SysRow, indexes, oids};
use types::Datum;

/// `pg_shdepend.deptype` of an owner.
pub const OWNER: u8 = b'o';
/// Of a role that an access control list speaks of.
pub const ACL: u8 = b'a';
/// Of a role that a policy is for.
pub const POLICY: u8 = b'r';

/// True for objects that no database has for itself.
pub fn is_shared(class: Oid) -> bool {
    matches!(
        class,
        oids::PG_DATABASE
            | oids::PG_AUTHID
            | oids::PG_AUTH_MEMBERS
            | oids::PG_TABLESPACE
            | oids::PG_PARAMETER_ACL
            | oids::PG_SUBSCRIPTION
    )
}

/// The roles that a list speaks of, but for the owner and everyone.
pub fn roles_in(acl: &[AclItem], owner: Oid) -> Vec<Oid> {
    let mut roles: Vec<Oid> = acl
        .iter()
        .flat_map(|i| [i.grantee, i.grantor])
        .filter(|r| r.is_valid() && *r != owner)
        .collect();
    roles.sort();
    roles.dedup();
    roles
}

impl Ddl<'_> {
    fn shared_key(&self, object: ObjectAddress) -> [Datum; 4] {
        let database = match is_shared(object.class) {
            true => Oid::INVALID,
            false => self.view.context().database,
        };
        [
            Datum::U32(database.0),
            Datum::U32(object.class.0),
            Datum::U32(object.object.0),
            Datum::I32(object.sub),
        ]
    }

    /// Records that an object needs a role, unless it is one that cannot be dropped.
    pub fn depend_role(&self, object: ObjectAddress, role: Oid, kind: u8) -> Result<()> {
        if role < Oid::FIRST_NORMAL {
            return Ok(());
        }
        let [database, ..] = self.shared_key(object);
        let mut row = SysRow::new(oids::PG_SHDEPEND)?;
        row.set("dbid", database)?
            .set_oid("classid", object.class)?
            .set_oid("objid", object.object)?
            .set_i32("objsubid", object.sub)?
            .set_oid("refclassid", oids::PG_AUTHID)?
            .set_oid("refobjid", role)?
            .set_char("deptype", kind)?;
        self.rows.insert(row)?;
        Ok(())
    }

    /// Removes records that an object needs roles: of one kind, and of one role if it is given.
    pub fn forget_roles(&self, object: ObjectAddress, kind: u8, role: Option<Oid>) -> Result<()> {
        for row in self.rows.index_scan(indexes::PG_SHDEPEND_DEPENDER, &self.shared_key(object))? {
            let this = row.char("deptype")? == kind && row.oid("refclassid")? == oids::PG_AUTHID;
            if this && (role.is_none() || role == Some(row.oid("refobjid")?)) {
                self.rows.delete(&row)?;
            }
        }
        Ok(())
    }

    /// Removes all records of roles that an object, its columns included, needs.
    pub fn forget_all_roles(&self, object: ObjectAddress) -> Result<()> {
        let key = self.shared_key(object);
        let key = if object.sub == 0 { &key[..3] } else { &key[..] };
        for row in self.rows.index_scan(indexes::PG_SHDEPEND_DEPENDER, key)? {
            self.rows.delete(&row)?;
        }
        Ok(())
    }

    /// Records an object's owner.
    pub fn depend_owner(&self, object: ObjectAddress, owner: Oid) -> Result<()> {
        self.depend_role(object, owner, OWNER)
    }

    /// Records an object's new owner, who is no more in its list as somebody else.
    pub fn change_owner_dependency(&self, object: ObjectAddress, owner: Oid) -> Result<()> {
        self.forget_roles(object, OWNER, None)?;
        self.forget_roles(object, ACL, Some(owner))?;
        if object.class == catalog::oids::PG_CLASS
            && self.view.relation(object.object)?.kind == catalog::RelKind::Composite
        {
            return Ok(());
        }
        self.depend_owner(object, owner)
    }

    /// Records the roles that an object's list speaks of, where it has changed.
    pub fn change_acl_dependency(
        &self,
        object: ObjectAddress,
        owner: Oid,
        acl: &[AclItem],
    ) -> Result<()> {
        self.forget_roles(object, ACL, None)?;
        for role in roles_in(acl, owner) {
            self.depend_role(object, role, ACL)?;
        }
        Ok(())
    }
}
