//! GRANT and REVOKE of privileges on objects, and the privileges that new objects start with.

mod column;
mod defaults;
mod object;
mod owned;
mod relation;

pub use object::{AclClass, acl_class};

use super::Ddl;
use base::{Error, Oid, Result, Severity, SqlState, bail, err};
use catalog::acl::{AclItem, bit};
use catalog::acl_change::{AclChange, grant_options_of};
use catalog::privilege::{Grantable, Rights, Through, is_superuser, roles_of};
use parser::ast::{GrantStmt, GrantTarget, ObjectKind, Privilege, RoleKind, RoleSpec};

/// The bit of a privilege's name.
fn privilege_bit(name: &str) -> Result<u32> {
    Ok(bit(match name {
        "insert" => b'a',
        "select" => b'r',
        "update" => b'w',
        "delete" => b'd',
        "truncate" => b'D',
        "references" => b'x',
        "trigger" => b't',
        "execute" => b'X',
        "usage" => b'U',
        "create" => b'C',
        "temporary" | "temp" => b'T',
        "connect" => b'c',
        "set" => b's',
        "alter system" => b'A',
        "maintain" => b'm',
        _ => bail!(SYNTAX_ERROR, "unrecognized privilege type \"{name}\""),
    }))
}

/// A privilege as messages name it.
fn privilege_name(bits: u32) -> &'static str {
    const NAMES: [&str; 15] = [
        "INSERT",
        "SELECT",
        "UPDATE",
        "DELETE",
        "TRUNCATE",
        "REFERENCES",
        "TRIGGER",
        "EXECUTE",
        "USAGE",
        "CREATE",
        "TEMP",
        "CONNECT",
        "SET",
        "ALTER SYSTEM",
        "MAINTAIN",
    ];
    NAMES.get(bits.trailing_zeros() as usize).copied().unwrap_or("")
}

/// The kind of privileges, and the word for the object, of a kind of object.
fn grantable(kind: ObjectKind) -> Result<(Grantable, &'static str)> {
    Ok(match kind {
        ObjectKind::Table => (Grantable::Table, "relation"),
        ObjectKind::Sequence => (Grantable::Sequence, "sequence"),
        ObjectKind::Database => (Grantable::Database, "database"),
        ObjectKind::Domain => (Grantable::Type, "domain"),
        ObjectKind::Type => (Grantable::Type, "type"),
        ObjectKind::Function => (Grantable::Function, "function"),
        ObjectKind::Procedure => (Grantable::Function, "procedure"),
        ObjectKind::Routine => (Grantable::Function, "routine"),
        ObjectKind::Language => (Grantable::Language, "language"),
        ObjectKind::LargeObject => (Grantable::LargeObject, "large object"),
        ObjectKind::Schema => (Grantable::Schema, "schema"),
        ObjectKind::Tablespace => (Grantable::Tablespace, "tablespace"),
        ObjectKind::ForeignDataWrapper => (Grantable::ForeignDataWrapper, "foreign-data wrapper"),
        ObjectKind::ForeignServer => (Grantable::ForeignServer, "foreign server"),
        ObjectKind::Parameter => (Grantable::Parameter, "parameter"),
        other => return Err(Error::unsupported(format!("privileges on {other:?}"))),
    })
}

/// `permission denied for table t`
pub fn permission_denied(noun: &str, name: &str) -> Error {
    err!(INSUFFICIENT_PRIVILEGE, "permission denied for {noun} {name}")
}

/// A statement with roles and privileges looked up.
#[derive(Clone)]
pub(super) struct Grant<'a> {
    pub stmt: &'a GrantStmt,
    pub kind: Grantable,
    /// None is ALL.
    pub privileges: Option<u32>,
    /// Privileges on columns.
    pub columns: Vec<&'a Privilege>,
    pub grantees: Vec<Oid>,
}

/// What the privileges of one object are changed by.
pub(super) struct Target<'a> {
    pub kind: Grantable,
    pub owner: Oid,
    /// The list to change.
    pub acl: &'a [AclItem],
    /// The list that says who may grant: with a column, its table's too.
    pub rights: &'a [AclItem],
    /// For warnings: `"t"`, `column "a" of relation "t"`.
    pub shown: String,
    /// The error for those who have no right at all.
    pub denied: Error,
}

impl Grant<'_> {
    /// The change of one object's list, cut to what the user may grant; with warnings if that is
    /// not all.
    pub fn apply(
        &self,
        ddl: &Ddl<'_>,
        target: Target<'_>,
        privileges: u32,
    ) -> Result<Vec<AclItem>> {
        let (grantor, options) = best_grantor(ddl, target.rights, target.owner, privileges)?;
        if options == 0 {
            let roles = roles_of(&ddl.view, grantor, Through::Inherit)?;
            let rights =
                Rights { kind: target.kind, owner: target.owner, acl: Some(target.rights) };
            let all = target.kind.all();
            let any = is_superuser(&ddl.view, grantor)?
                || rights.of_roles(&roles, all, false) != 0
                || rights.of_roles(&roles, all, true) != 0;
            if !any {
                return Err(target.denied);
            }
        }
        let given = privileges & options;
        let warn = |code, text: String| {
            ddl.notice(Error::with_severity(Severity::Warning, code, text));
        };
        let all_asked = match target.kind {
            Grantable::Column => privileges == target.kind.all(),
            _ => self.privileges.is_none(),
        };
        let (code, verb) = match self.stmt.is_grant {
            true => (SqlState::WARNING_PRIVILEGE_NOT_GRANTED, "were granted"),
            false => (SqlState::WARNING_PRIVILEGE_NOT_REVOKED, "could be revoked"),
        };
        if given == 0 {
            warn(code, format!("no privileges {verb} for {}", target.shown));
        } else if !all_asked && given != privileges {
            warn(code, format!("not all privileges {verb} for {}", target.shown));
        }
        AclChange {
            is_grant: self.stmt.is_grant,
            grant_option: self.stmt.grant_option,
            cascade: self.stmt.cascade,
            grantees: &self.grantees,
            privileges: given,
            grantor,
            owner: target.owner,
        }
        .apply(target.acl)
    }
}

/// In whose name the user grants best: the owner's, if it has the owner's rights, or that of the
/// role with most of the rights; and those rights.
fn best_grantor(ddl: &Ddl<'_>, acl: &[AclItem], owner: Oid, privileges: u32) -> Result<(Oid, u32)> {
    let user = ddl.user();
    if user == owner || ddl.is_superuser()? {
        return Ok((owner, privileges));
    }
    let mut best = (user, 0u32);
    for role in roles_of(&ddl.view, user, Through::Inherit)? {
        let options = grant_options_of(acl, role, owner, privileges);
        if options == privileges {
            return Ok((role, options));
        }
        if options.count_ones() > best.1.count_ones() {
            best = (role, options);
        }
    }
    Ok(best)
}

impl Ddl<'_> {
    /// The roles of GRANT .. TO; 0 is everyone.
    fn grantees(&self, specs: &[RoleSpec]) -> Result<Vec<Oid>> {
        let one = |spec: &RoleSpec| match spec.kind {
            RoleKind::Public => Ok(Oid::INVALID),
            _ => self.role_oid(spec),
        };
        specs.iter().map(one).collect()
    }

    fn read_grant<'s>(&self, stmt: &'s GrantStmt, object: ObjectKind) -> Result<Grant<'s>> {
        let (kind, noun) = grantable(object)?;
        if let Some(spec) = &stmt.grantor
            && self.role_oid(spec)? != self.user()
        {
            bail!(FEATURE_NOT_SUPPORTED, "grantor must be current user");
        }
        let grantees = self.grantees(&stmt.grantees)?;
        let allowed = match kind {
            Grantable::Table => kind.all() | Grantable::Sequence.all(),
            _ => kind.all(),
        };
        let mut bits = 0;
        let mut columns = Vec::new();
        for p in &stmt.privileges {
            if !p.columns.is_empty() {
                if kind != Grantable::Table || matches!(stmt.target, GrantTarget::Defaults(_)) {
                    bail!(
                        INVALID_GRANT_OPERATION,
                        "column privileges are only valid for relations"
                    );
                }
                columns.push(p);
                continue;
            }
            let this = privilege_bit(p.name.as_deref().unwrap_or(""))?;
            if this & allowed == 0 {
                let name = privilege_name(this);
                bail!(INVALID_GRANT_OPERATION, "invalid privilege type {name} for {noun}");
            }
            bits |= this;
        }
        let privileges = (!stmt.privileges.is_empty()).then_some(bits);
        Ok(Grant { stmt, kind, privileges, columns, grantees })
    }

    /// GRANT and REVOKE on objects.
    pub fn grant(&self, stmt: &GrantStmt) -> Result<()> {
        match &stmt.target {
            GrantTarget::Objects(kind, objects) => {
                let grant = self.read_grant(stmt, *kind)?;
                match kind {
                    ObjectKind::Table | ObjectKind::Sequence => {
                        let mut relations = Vec::new();
                        for object in objects {
                            let (schema, last) = super::name::split(&object.name);
                            relations.push(self.view.require_relation(schema, last)?.oid);
                        }
                        for relation in relations {
                            self.grant_on_relation(&grant, relation)?;
                        }
                        Ok(())
                    }
                    ObjectKind::Parameter => {
                        for object in objects {
                            self.grant_on_parameter(&grant, object.name.last())?;
                        }
                        Ok(())
                    }
                    _ => {
                        let mut found = Vec::new();
                        for object in objects {
                            found.push(self.find_grantable(object)?);
                        }
                        for a in found {
                            self.grant_on_object(&grant, a, *kind)?;
                        }
                        Ok(())
                    }
                }
            }
            GrantTarget::AllInSchema(kind, schemas) => {
                let grant = self.read_grant(stmt, *kind)?;
                self.grant_in_schemas(&grant, *kind, schemas)
            }
            GrantTarget::Defaults(_) => Err(Error::internal("default privileges in GRANT")),
        }
    }
}
