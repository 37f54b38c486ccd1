//! Large objects as objects: made, dropped, and who may use them.

use super::pages::Pages;
use crate::StatementEnv;
use crate::ddl::Ddl;
use crate::session::SessionCore;
use base::{Oid, Result, bail, err};
use catalog::depend::ObjectAddress;
use catalog::privilege::{Grantable, Rights, bits};
use catalog::{CatalogView, RowStore, RowWriter, SysRow, indexes, oids};
use types::Datum;

/// An object's row, as it is now.
pub fn row(core: &SessionCore, object: Oid) -> Result<Option<SysRow>> {
    let key = [Datum::U32(object.0)];
    let found = core.store.index_scan(indexes::PG_LARGEOBJECT_METADATA_OID, &key)?;
    Ok(found.into_iter().next())
}

/// True if there is an object of this number.
pub fn exists(core: &SessionCore, object: Oid) -> Result<bool> {
    Ok(row(core, object)?.is_some())
}

pub fn require(core: &SessionCore, object: Oid) -> Result<SysRow> {
    let found = row(core, object)?;
    found.ok_or_else(|| err!(UNDEFINED_OBJECT, "large object {object} does not exist"))
}

/// Which of the privileges in `wanted` a user has on an object.
fn rights(view: &CatalogView, row: &SysRow, user: Oid, wanted: &[u8]) -> Result<u32> {
    let acl = row.acl("lomacl")?;
    let rights =
        Rights { kind: Grantable::LargeObject, owner: row.oid("lomowner")?, acl: acl.as_deref() };
    rights.of(view, user, bits(wanted))
}

/// Fails unless the user has a right, or rights on large objects do not count.
pub fn check_right(env: &StatementEnv<'_>, row: &SysRow, letter: u8) -> Result<()> {
    let user = env.core.users().current;
    if env.core.settings.lock().bool("lo_compat_privileges")
        || rights(&env.view, row, user, &[letter])? != 0
    {
        return Ok(());
    }
    bail!(INSUFFICIENT_PRIVILEGE, "permission denied for large object {}", row.oid("oid")?)
}

/// Makes an object; 0 is any number that is free.
pub fn create(env: &StatementEnv<'_>, wanted: Oid) -> Result<Oid> {
    let store = &env.core.store;
    let object = match wanted.is_valid() {
        true => wanted,
        false => store.new_oid(oids::PG_LARGEOBJECT_METADATA)?,
    };
    let owner = env.core.users().current;
    let mut row = SysRow::new(oids::PG_LARGEOBJECT_METADATA)?;
    row.set_oid("oid", object)?.set_oid("lomowner", owner)?;
    env.with_ddl(|ddl| {
        let a = ObjectAddress::new(oids::PG_LARGEOBJECT, object);
        let acl = ddl.acl_of_new(Grantable::LargeObject, owner, Oid::INVALID)?;
        ddl.set_new_acl(&mut row, "lomacl", &acl)?;
        ddl.rows.insert(row)?;
        ddl.depend_owner(a, owner)?;
        ddl.depend_new_acl(a, owner, &acl)
    })?;
    Ok(object)
}

/// Drops an object; its owner may.
pub fn unlink(env: &StatementEnv<'_>, object: Oid) -> Result<()> {
    let row = require(env.core, object)?;
    let compat = env.core.settings.lock().bool("lo_compat_privileges");
    let user = env.core.users().current;
    if !compat && !catalog::privilege::has_rights_of(&env.view, user, row.oid("lomowner")?)? {
        bail!(INSUFFICIENT_PRIVILEGE, "must be owner of large object {object}");
    }
    env.core.large_objects.retain(|d| d.object != object);
    env.with_ddl(|ddl| ddl.drop_objects(&[ObjectAddress::new(oids::PG_LARGEOBJECT, object)], false))
}

impl Ddl<'_> {
    /// Removes the rows of a large object.
    pub(crate) fn remove_large_object(&self, object: Oid) -> Result<()> {
        let row = require(self.env.core, object)?;
        self.rows.delete(&row)?;
        let snapshot = self.env.core.txn()?.latest_snapshot();
        Pages { store: &self.env.core.store, object, snapshot }.remove_from(0)
    }
}
