//! Roles and privileges.

use super::{DefElem, Object, ObjectKind, Pos, SetStmt};

/// A role as written.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleSpec {
    /// Which.
    pub kind: RoleKind,
    /// Where it stands.
    pub pos: Pos,
}

/// Which role.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum RoleKind {
    Name(String),
    CurrentRole,
    CurrentUser,
    SessionUser,
    Public,
}

/// CREATE ROLE, USER, GROUP.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRoleStmt {
    /// ROLE, USER (can log in) or GROUP.
    pub flavor: RoleFlavor,
    /// The name.
    pub name: String,
    /// Options under PostgreSQL's names (`canlogin`, `superuser`, `password`, `addroleto`...).
    pub options: Vec<DefElem>,
}

/// The word of CREATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RoleFlavor {
    Role,
    User,
    Group,
}

/// ALTER ROLE, and ALTER GROUP .. ADD / DROP USER.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoleStmt {
    /// The role.
    pub role: RoleSpec,
    /// Options; `rolemembers` for ALTER GROUP.
    pub options: Vec<DefElem>,
    /// ALTER GROUP .. DROP USER.
    pub drop_members: bool,
}

/// ALTER ROLE .. [IN DATABASE ..] SET / RESET.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoleSetStmt {
    /// The role; none is ALL.
    pub role: Option<RoleSpec>,
    /// IN DATABASE.
    pub database: Option<String>,
    /// What.
    pub set: SetStmt,
}

/// A privilege.
#[derive(Clone, Debug, PartialEq)]
pub struct Privilege {
    /// In lower case; none for `ALL (columns)`.
    pub name: Option<String>,
    /// Of these columns.
    pub columns: Vec<String>,
}

/// On what privileges are granted.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum GrantTarget {
    /// Objects of one kind.
    Objects(ObjectKind, Vec<Object>),
    /// ALL kind IN SCHEMA names.
    AllInSchema(ObjectKind, Vec<String>),
    /// Default privileges.
    Defaults(ObjectKind),
}

/// GRANT and REVOKE of privileges.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantStmt {
    /// GRANT.
    pub is_grant: bool,
    /// Privileges; empty is ALL.
    pub privileges: Vec<Privilege>,
    /// On what.
    pub target: GrantTarget,
    /// To or from whom.
    pub grantees: Vec<RoleSpec>,
    /// WITH GRANT OPTION, or GRANT OPTION FOR.
    pub grant_option: bool,
    /// GRANTED BY.
    pub grantor: Option<RoleSpec>,
    /// CASCADE.
    pub cascade: bool,
}

/// GRANT and REVOKE of roles.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRoleStmt {
    /// GRANT.
    pub is_grant: bool,
    /// The roles granted.
    pub roles: Vec<Privilege>,
    /// To whom.
    pub grantees: Vec<RoleSpec>,
    /// WITH ADMIN / INHERIT / SET.
    pub options: Vec<DefElem>,
    /// GRANTED BY.
    pub grantor: Option<RoleSpec>,
    /// CASCADE.
    pub cascade: bool,
}

/// ALTER DEFAULT PRIVILEGES.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDefaultPrivilegesStmt {
    /// FOR ROLE.
    pub roles: Vec<RoleSpec>,
    /// IN SCHEMA.
    pub schemas: Vec<String>,
    /// The change.
    pub action: GrantStmt,
}
