//! Who may do what: the privileges that kinds of object have, the lists that objects start with,
//! and what a user may do by a list.

use crate::CatalogView;
use crate::acl::{AclItem, bit};
use crate::oids;
use base::{Oid, Result};

/// A kind of object that privileges are granted on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Grantable {
    Table,
    Sequence,
    Column,
    Database,
    Function,
    Language,
    LargeObject,
    Schema,
    Tablespace,
    Type,
    ForeignDataWrapper,
    ForeignServer,
    Parameter,
}

/// The bits of these letters.
pub fn bits(letters: &[u8]) -> u32 {
    letters.iter().fold(0, |all, l| all | bit(*l))
}

impl Grantable {
    /// All privileges that the kind has.
    pub fn all(self) -> u32 {
        bits(match self {
            Grantable::Table => b"arwdDxtm",
            Grantable::Sequence => b"rwU",
            Grantable::Column => b"arwx",
            Grantable::Database => b"CTc",
            Grantable::Function => b"X",
            Grantable::Language => b"U",
            Grantable::LargeObject => b"rw",
            Grantable::Schema => b"UC",
            Grantable::Tablespace => b"C",
            Grantable::Type => b"U",
            Grantable::ForeignDataWrapper => b"U",
            Grantable::ForeignServer => b"U",
            Grantable::Parameter => b"sA",
        })
    }

    /// What everyone has where nothing was granted or revoked.
    pub fn public(self) -> u32 {
        bits(match self {
            Grantable::Database => b"Tc",
            Grantable::Function => b"X",
            Grantable::Language | Grantable::Type => b"U",
            _ => b"",
        })
    }

    /// The list that an object without one has.
    pub fn default_acl(self, owner: Oid) -> Vec<AclItem> {
        let item =
            |grantee, privileges| AclItem { grantee, grantor: owner, privileges, grant_options: 0 };
        let mut items = Vec::new();
        if self.public() != 0 {
            items.push(item(Oid::INVALID, self.public()));
        }
        if self != Grantable::Column {
            items.push(item(owner, self.all()));
        }
        items
    }
}

/// True for superusers.
pub fn is_superuser(view: &CatalogView, user: Oid) -> Result<bool> {
    Ok(user == oids::SUPERUSER || view.find_role(user)?.is_some_and(|r| r.superuser))
}

/// A kind of membership.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Through {
    /// Of which rights come without SET ROLE.
    Inherit,
    /// That allow SET ROLE.
    Set,
    /// All.
    Any,
}

/// The user and all roles it is a member of in this way, nearest first.
pub fn roles_of(view: &CatalogView, user: Oid, through: Through) -> Result<Vec<Oid>> {
    let mut all = vec![user];
    let mut next = 0;
    while next < all.len() {
        if let Some(role) = view.find_role(all[next])? {
            for (of, _, inherit, set) in &role.member_of {
                let counts = match through {
                    Through::Inherit => *inherit,
                    Through::Set => *set,
                    Through::Any => true,
                };
                if counts && !all.contains(of) {
                    all.push(*of);
                }
            }
        }
        // The owner of the database is a member of `pg_database_owner`.
        let context = view.context();
        if !all.contains(&oids::PG_DATABASE_OWNER)
            && let Some(database) = view.find_database(context.database)?
            && database.owner == all[next]
        {
            all.push(oids::PG_DATABASE_OWNER);
        }
        next += 1;
    }
    Ok(all)
}

/// True if the user has the rights of the role, without SET ROLE.
pub fn has_rights_of(view: &CatalogView, user: Oid, role: Oid) -> Result<bool> {
    Ok(user == role
        || is_superuser(view, user)?
        || roles_of(view, user, Through::Inherit)?.contains(&role))
}

/// True if the user may SET ROLE to the role.
pub fn can_set_role(view: &CatalogView, user: Oid, role: Oid) -> Result<bool> {
    Ok(user == role
        || is_superuser(view, user)?
        || roles_of(view, user, Through::Set)?.contains(&role))
}

/// True if the user is a member of the role, in any way. Superusers are of all.
pub fn is_member(view: &CatalogView, user: Oid, role: Oid) -> Result<bool> {
    Ok(user == role
        || is_superuser(view, user)?
        || roles_of(view, user, Through::Any)?.contains(&role))
}

/// An object's list as rights are found in it.
#[derive(Clone, Copy, Debug)]
pub struct Rights<'a> {
    /// What it is.
    pub kind: Grantable,
    /// Its owner.
    pub owner: Oid,
    /// Its list, if something was granted or revoked.
    pub acl: Option<&'a [AclItem]>,
}

impl Rights<'_> {
    /// Which of the privileges in `wanted` the user has.
    pub fn of(&self, view: &CatalogView, user: Oid, wanted: u32) -> Result<u32> {
        if wanted == 0 {
            return Ok(0);
        }
        if is_superuser(view, user)? {
            return Ok(wanted);
        }
        let roles = roles_of(view, user, Through::Inherit)?;
        Ok(self.of_roles(&roles, wanted, false) | self.of_everything(&roles) & wanted)
    }

    /// What roles may do with all objects of the kind.
    fn of_everything(&self, roles: &[Oid]) -> u32 {
        let mut all = 0;
        for role in roles {
            all |= match (*role, self.kind) {
                (oids::PG_READ_ALL_DATA, Grantable::Table | Grantable::Sequence) => bits(b"r"),
                (oids::PG_WRITE_ALL_DATA, Grantable::Table) => bits(b"awd"),
                (oids::PG_WRITE_ALL_DATA, Grantable::Sequence) => bits(b"w"),
                (oids::PG_MAINTAIN, Grantable::Table) => bits(b"m"),
                (oids::PG_READ_ALL_DATA | oids::PG_WRITE_ALL_DATA, Grantable::Schema) => bits(b"U"),
                _ => 0,
            };
        }
        all
    }

    /// Which of the privileges in `wanted` the user may grant.
    pub fn grantable_by(&self, view: &CatalogView, user: Oid, wanted: u32) -> Result<u32> {
        if is_superuser(view, user)? {
            return Ok(wanted);
        }
        let roles = roles_of(view, user, Through::Inherit)?;
        Ok(self.of_roles(&roles, wanted, true))
    }

    /// What these roles, and everyone, have together.
    pub fn of_roles(&self, roles: &[Oid], wanted: u32, grant: bool) -> u32 {
        if grant && self.owner.is_valid() && roles.contains(&self.owner) {
            return wanted;
        }
        let default;
        let items = match self.acl {
            Some(items) => items,
            None => {
                default = self.kind.default_acl(self.owner);
                &default
            }
        };
        let applies = |i: &&AclItem| match grant {
            // Nobody has the right to grant by being one of everyone.
            true => roles.contains(&i.grantee),
            false => !i.grantee.is_valid() || roles.contains(&i.grantee),
        };
        let given = |i: &AclItem| if grant { i.grant_options } else { i.privileges };
        items.iter().filter(applies).fold(0, |all, i| all | given(i)) & wanted
    }
}
