//! Changes of access control lists: what GRANT and REVOKE do to one. A right to grant that goes
//! takes with it what was granted by it, or is kept by that, as the statement says.

use crate::acl::AclItem;
use base::{Oid, Result, bail, err};

/// What one GRANT or REVOKE does to a list.
#[derive(Clone, Debug)]
pub struct AclChange<'a> {
    /// GRANT rather than REVOKE.
    pub is_grant: bool,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub grant_option: bool,
    /// CASCADE
    pub cascade: bool,
    /// To or from whom; 0 is everyone.
    pub grantees: &'a [Oid],
    /// The privileges.
    pub privileges: u32,
    /// By whom.
    pub grantor: Oid,
    /// The object's owner, who may always grant.
    pub owner: Oid,
}

impl AclChange<'_> {
    /// The list after the change.
    pub fn apply(&self, old: &[AclItem]) -> Result<Vec<AclItem>> {
        let mut acl = old.to_vec();
        for grantee in self.grantees {
            if self.is_grant && self.grant_option && !grantee.is_valid() {
                bail!(INVALID_GRANT_OPERATION, "grant options can only be granted to roles");
            }
            // As the standard has it: GRANT with the option gives both, REVOKE without it takes
            // both, and REVOKE GRANT OPTION takes the option only.
            let privileges = if self.is_grant || !self.grant_option { self.privileges } else { 0 };
            let options = if !self.is_grant || self.grant_option { self.privileges } else { 0 };
            let item = AclItem {
                grantee: *grantee,
                grantor: self.grantor,
                privileges,
                grant_options: options,
            };
            update(&mut acl, &item, self.is_grant, self.owner, self.cascade)?;
        }
        Ok(acl)
    }
}

/// Adds or takes the rights of `item`, and what depended on them.
fn update(
    acl: &mut Vec<AclItem>,
    item: &AclItem,
    add: bool,
    owner: Oid,
    cascade: bool,
) -> Result<()> {
    if add && item.grant_options != 0 {
        check_circularity(acl, item, owner)?;
    }
    let same = |i: &AclItem| i.grantee == item.grantee && i.grantor == item.grantor;
    let at = match acl.iter().position(same) {
        Some(at) => at,
        None => {
            acl.push(AclItem { privileges: 0, grant_options: 0, ..*item });
            acl.len() - 1
        }
    };
    let found = &mut acl[at];
    let before = found.grant_options;
    match add {
        true => {
            found.privileges |= item.privileges;
            found.grant_options |= item.grant_options;
        }
        false => {
            found.privileges &= !item.privileges;
            found.grant_options &= !item.grant_options;
        }
    }
    let lost = before & !found.grant_options;
    if found.privileges == 0 && found.grant_options == 0 {
        acl.remove(at);
    }
    match lost {
        0 => Ok(()),
        lost => revoke_granted_by(acl, item.grantee, lost, owner, cascade),
    }
}

/// Which of these privileges a role may grant by a list: by itself, not by membership.
pub fn grant_options_of(acl: &[AclItem], role: Oid, owner: Oid, wanted: u32) -> u32 {
    if role == owner {
        return wanted;
    }
    let own = acl.iter().filter(|i| i.grantee == role);
    own.fold(0, |all, i| all | i.grant_options) & wanted
}

/// A role lost rights to grant: what it granted by them goes too.
fn revoke_granted_by(
    acl: &mut Vec<AclItem>,
    role: Oid,
    lost: u32,
    owner: Oid,
    cascade: bool,
) -> Result<()> {
    if role == owner {
        return Ok(());
    }
    let lost = lost & !grant_options_of(acl, role, owner, lost);
    if lost == 0 {
        return Ok(());
    }
    while let Some(i) = acl.iter().find(|i| i.grantor == role && i.privileges & lost != 0).copied()
    {
        if !cascade {
            return Err(err!(DEPENDENT_OBJECTS_STILL_EXIST, "dependent privileges exist")
                .hint("Use CASCADE to revoke them too."));
        }
        let gone = AclItem { grantor: role, privileges: lost, grant_options: lost, ..i };
        update(acl, &gone, false, owner, true)?;
    }
    Ok(())
}

/// Fails if the grantor has its right to grant from the one it would grant to.
fn check_circularity(acl: &[AclItem], item: &AclItem, owner: Oid) -> Result<()> {
    if item.grantor == owner {
        return Ok(());
    }
    let mut without = acl.to_vec();
    let of_grantee = |i: &&AclItem| i.grantee == item.grantee && i.grant_options != 0;
    while let Some(given) = without.iter().find(of_grantee).copied() {
        let gone = AclItem { privileges: 0, ..given };
        update(&mut without, &gone, false, owner, true)?;
    }
    let left = grant_options_of(&without, item.grantor, owner, item.grant_options);
    if item.grant_options & !left != 0 {
        bail!(INVALID_GRANT_OPERATION, "grant options cannot be granted back to your own grantor");
    }
    Ok(())
}

/// The list with the rights of another added.
pub fn merge(acl: &[AclItem], more: &[AclItem], owner: Oid) -> Result<Vec<AclItem>> {
    let mut out = acl.to_vec();
    for item in more {
        update(&mut out, item, true, owner, false)?;
    }
    Ok(out)
}

/// True if two lists say the same, in whatever order.
pub fn same(a: &[AclItem], b: &[AclItem]) -> bool {
    let sorted = |items: &[AclItem]| {
        let mut items: Vec<_> =
            items.iter().map(|i| (i.grantee, i.grantor, i.privileges, i.grant_options)).collect();
        items.sort();
        items
    };
    sorted(a) == sorted(b)
}

/// The list in its canonical order.
pub fn sorted(acl: &[AclItem]) -> Vec<AclItem> {
    let mut items = acl.to_vec();
    items.sort_by_key(|i| (i.grantee, i.grantor, i.privileges, i.grant_options));
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Oid = Oid(1);

    fn change(is_grant: bool, option: bool, to: &[Oid], by: Oid) -> AclChange<'_> {
        AclChange {
            is_grant,
            grant_option: option,
            cascade: false,
            grantees: to,
            privileges: 2,
            grantor: by,
            owner: OWNER,
        }
    }

    #[test]
    fn what_was_granted_on_keeps_its_grant() {
        let a = [Oid(5)];
        let b = [Oid(6)];
        let acl = change(true, true, &a, OWNER).apply(&[]).unwrap();
        let acl = change(true, true, &b, Oid(5)).apply(&acl).unwrap();
        let revoke = change(false, false, &a, OWNER);
        let e = revoke.apply(&acl).unwrap_err();
        assert_eq!(e.message(), "dependent privileges exist");
        let left = AclChange { cascade: true, ..revoke }.apply(&acl).unwrap();
        assert!(left.is_empty());
        let e = change(true, true, &a, Oid(6)).apply(&acl).unwrap_err();
        assert_eq!(e.message(), "grant options cannot be granted back to your own grantor");
    }
}
