//! Roles and privileges.

use super::lists::{flag, option, text_option};
use super::*;

impl Parser<'_> {
    /// RoleSpec.
    pub(super) fn role_spec(&mut self) -> Result<RoleSpec> {
        let pos = self.pos();
        let kind = match self.kw() {
            Kw::CurrentRole => RoleKind::CurrentRole,
            Kw::CurrentUser => RoleKind::CurrentUser,
            Kw::SessionUser => RoleKind::SessionUser,
            _ => {
                let quoted = self.is(T::Ident) && self.tok().side != 0;
                let name = self.non_reserved_word()?;
                if name == "public" && !quoted {
                    return Ok(RoleSpec { kind: RoleKind::Public, pos });
                }
                if name == "none" {
                    let message = "role name \"none\" is reserved";
                    return Err(base::err!(RESERVED_NAME, "{message}").at(pos));
                }
                return Ok(RoleSpec { kind: RoleKind::Name(name), pos });
            }
        };
        self.bump();
        Ok(RoleSpec { kind, pos })
    }

    pub(super) fn role_list(&mut self) -> Result<Vec<RoleSpec>> {
        self.list(|p| p.role_spec())
    }

    /// RoleId: a new role's name.
    fn role_id(&mut self) -> Result<String> {
        let spec = self.role_spec()?;
        let (pos, reserved) = match spec.kind {
            RoleKind::Name(name) => return Ok(name),
            RoleKind::Public => {
                let message = "role name \"public\" is reserved";
                return Err(base::err!(RESERVED_NAME, "{message}").at(spec.pos));
            }
            RoleKind::CurrentRole => (spec.pos, "CURRENT_ROLE"),
            RoleKind::CurrentUser => (spec.pos, "CURRENT_USER"),
            RoleKind::SessionUser => (spec.pos, "SESSION_USER"),
        };
        let message = format!("{reserved} cannot be used as a role name here");
        Err(base::err!(RESERVED_NAME, "{message}").at(pos))
    }

    /// After CREATE, at ROLE, USER or GROUP.
    pub(super) fn create_role(&mut self) -> Result<Stmt> {
        let flavor = match self.bump().kw {
            Kw::User => RoleFlavor::User,
            Kw::Group => RoleFlavor::Group,
            _ => RoleFlavor::Role,
        };
        let name = self.role_id()?;
        self.accept_kw(Kw::With);
        let mut options = Vec::new();
        while let Some(option) = self.role_option(true)? {
            options.push(option);
        }
        Ok(Stmt::CreateRole(CreateRoleStmt { flavor, name, options }))
    }

    fn role_option(&mut self, create: bool) -> Result<Option<DefElem>> {
        let pos = self.pos();
        let roles = |name: &str, list| Some(option(name, Some(DefValue::Roles(list)), pos));
        Ok(match self.kw() {
            Kw::Password => {
                self.bump();
                if self.accept_kw(Kw::Null) {
                    return Ok(Some(option("password", None, pos)));
                }
                Some(text_option("password", self.sconst()?, pos))
            }
            Kw::Encrypted | Kw::Unencrypted => {
                let plain = self.bump().kw == Kw::Unencrypted;
                self.expect_kw(Kw::Password)?;
                let password = self.sconst()?;
                if plain {
                    let message = "UNENCRYPTED PASSWORD is no longer supported";
                    return Err(base::err!(FEATURE_NOT_SUPPORTED, "{message}")
                        .hint("Remove UNENCRYPTED to store the password in encrypted form instead.")
                        .at(pos));
                }
                Some(text_option("password", password, pos))
            }
            Kw::Inherit => {
                self.bump();
                Some(flag("inherit", true, pos))
            }
            Kw::Connection => {
                self.bump();
                self.expect_kw(Kw::Limit)?;
                let limit = DefValue::Integer(self.signed_iconst()?);
                Some(option("connectionlimit", Some(limit), pos))
            }
            Kw::Valid => {
                self.bump();
                self.expect_kw(Kw::Until)?;
                Some(text_option("validUntil", self.sconst()?, pos))
            }
            Kw::User => {
                self.bump();
                roles("rolemembers", self.role_list()?)
            }
            Kw::Sysid if create => {
                self.bump();
                Some(option("sysid", Some(DefValue::Integer(self.iconst()?)), pos))
            }
            Kw::Admin if create => {
                self.bump();
                roles("adminmembers", self.role_list()?)
            }
            Kw::Role if create => {
                self.bump();
                roles("rolemembers", self.role_list()?)
            }
            Kw::In if create => {
                self.bump();
                if !self.accept_kw(Kw::Role) {
                    self.expect_kw(Kw::Group)?;
                }
                roles("addroleto", self.role_list()?)
            }
            _ if self.is(T::Ident) => {
                let token = self.bump();
                let name = self.name_of(token);
                let (known, value) = match name.as_str() {
                    "superuser" => ("superuser", true),
                    "nosuperuser" => ("superuser", false),
                    "createrole" => ("createrole", true),
                    "nocreaterole" => ("createrole", false),
                    "replication" => ("isreplication", true),
                    "noreplication" => ("isreplication", false),
                    "createdb" => ("createdb", true),
                    "nocreatedb" => ("createdb", false),
                    "login" => ("canlogin", true),
                    "nologin" => ("canlogin", false),
                    "bypassrls" => ("bypassrls", true),
                    "nobypassrls" => ("bypassrls", false),
                    "noinherit" => ("inherit", false),
                    _ => {
                        let message = format!("unrecognized role option \"{name}\"");
                        return Err(self.error_at(pos, &message));
                    }
                };
                Some(flag(known, value, pos))
            }
            _ => None,
        })
    }

    /// After ALTER, at ROLE, USER or GROUP; renaming was looked for already.
    pub(super) fn alter_role(&mut self) -> Result<Stmt> {
        let group = self.bump().kw == Kw::Group;
        let all = !group && self.accept_kw(Kw::All);
        let role = if all { None } else { Some(self.role_spec()?) };
        if let (true, Some(role)) = (group, role.clone()) {
            let drop_members = self.accept_kw(Kw::Drop);
            if !drop_members {
                self.expect_kw(Kw::Add)?;
            }
            let pos = self.pos();
            self.expect_kw(Kw::User)?;
            let members = DefValue::Roles(self.role_list()?);
            let options = vec![option("rolemembers", Some(members), pos)];
            return Ok(Stmt::AlterRole(AlterRoleStmt { role, options, drop_members }));
        }
        let mut database = None;
        if self.is_kws(&[Kw::In, Kw::Database]) {
            self.at += 2;
            database = Some(self.name()?);
        }
        if database.is_some() || all || self.is_any(&[Kw::Set, Kw::Reset]) {
            let set = self.set_or_reset()?;
            return Ok(Stmt::AlterRoleSet(AlterRoleSetStmt { role, database, set }));
        }
        self.accept_kw(Kw::With);
        let mut options = Vec::new();
        while let Some(option) = self.role_option(false)? {
            options.push(option);
        }
        let Some(role) = role else {
            return Err(self.unexpected());
        };
        Ok(Stmt::AlterRole(AlterRoleStmt { role, options, drop_members: false }))
    }

    // GRANT and REVOKE.

    /// GRANT .. or REVOKE ..
    pub(super) fn grant(&mut self, is_grant: bool) -> Result<Stmt> {
        self.bump();
        let mut grant_option = false;
        let mut revoked = Vec::new();
        if !is_grant {
            if self.accept_kws(&[Kw::Grant, Kw::Option, Kw::For]) {
                grant_option = true;
            } else if self.kw_ahead(1) == Kw::Option && self.kw_ahead(2) == Kw::For {
                let pos = self.pos();
                let name = self.col_id()?;
                self.at += 2;
                revoked.push(flag(&name, false, pos));
            }
        }
        let privileges = self.privileges()?;
        if self.is_kw(Kw::On) {
            let target = self.grant_target()?;
            return self
                .grant_end(is_grant, privileges, target, grant_option)
                .map(|g| Stmt::Grant(Box::new(g)));
        }
        self.grant_role(is_grant, privileges, revoked)
    }

    fn privileges(&mut self) -> Result<Vec<Privilege>> {
        if self.accept_kw(Kw::All) {
            self.accept_kw(Kw::Privileges);
            if self.is(T::LParen) {
                let columns = self.opt_paren_names()?;
                return Ok(vec![Privilege { name: None, columns }]);
            }
            return Ok(Vec::new());
        }
        self.list(|p| {
            let name = match p.kw() {
                Kw::Select | Kw::References | Kw::Create => {
                    let token = p.bump();
                    p.name_of(token)
                }
                Kw::Alter => {
                    p.bump();
                    p.expect_kw(Kw::System)?;
                    "alter system".into()
                }
                _ => p.col_id()?,
            };
            Ok(Privilege { name: Some(name), columns: p.opt_paren_names()? })
        })
    }

    fn grant_target(&mut self) -> Result<GrantTarget> {
        self.expect_kw(Kw::On)?;
        use ObjectKind::*;
        if self.is_kw(Kw::All) {
            let kind = match self.kw_ahead(1) {
                Kw::Tables => Table,
                Kw::Sequences => Sequence,
                Kw::Functions => Function,
                Kw::Procedures => Procedure,
                Kw::Routines => Routine,
                _ => {
                    self.bump();
                    return Err(self.unexpected());
                }
            };
            self.at += 2;
            self.expect_kws(&[Kw::In, Kw::Schema])?;
            return Ok(GrantTarget::AllInSchema(kind, self.name_list()?));
        }
        let (kind, words) = match (self.kw(), self.kw_ahead(1)) {
            (Kw::Table, _) => (Table, 1),
            (Kw::Sequence, _) => (Sequence, 1),
            (Kw::Foreign, Kw::Data) => (ForeignDataWrapper, 3),
            (Kw::Foreign, Kw::Server) => (ForeignServer, 2),
            (Kw::Function, _) => (Function, 1),
            (Kw::Procedure, _) => (Procedure, 1),
            (Kw::Routine, _) => (Routine, 1),
            (Kw::Database, _) => (Database, 1),
            (Kw::Domain, _) => (Domain, 1),
            (Kw::Language, _) => (Language, 1),
            (Kw::Large, Kw::Object) => (LargeObject, 2),
            (Kw::Parameter, _) => (Parameter, 1),
            (Kw::Schema, _) => (Schema, 1),
            (Kw::Tablespace, _) => (Tablespace, 1),
            (Kw::Type, _) => (Type, 1),
            _ => (Table, 0),
        };
        // A table may have one of these words as its name.
        if words > 0 && (self.ahead(words).kind == T::Comma || self.kw_ahead(words) == Kw::To) {
            let objects = self.list(|p| p.object_of(Table))?;
            return Ok(GrantTarget::Objects(Table, objects));
        }
        self.at += words;
        let objects = self.list(|p| match kind {
            Parameter => {
                let pos = p.pos();
                let name = p.var_name()?;
                Ok(Object {
                    kind,
                    name: Name { parts: vec![name], pos },
                    only: false,
                    detail: ObjectDetail::None,
                })
            }
            LargeObject => {
                let pos = p.pos();
                let number = p.numeric_only()?;
                Ok(Object {
                    kind,
                    name: Name { parts: vec![number.clone()], pos },
                    only: false,
                    detail: ObjectDetail::LargeObject(number),
                })
            }
            _ => p.object_of(kind),
        })?;
        Ok(GrantTarget::Objects(kind, objects))
    }

    fn grant_end(
        &mut self,
        is_grant: bool,
        privileges: Vec<Privilege>,
        target: GrantTarget,
        mut grant_option: bool,
    ) -> Result<GrantStmt> {
        self.expect_kw(if is_grant { Kw::To } else { Kw::From })?;
        let grantees = self.list(|p| {
            p.accept_kw(Kw::Group);
            p.role_spec()
        })?;
        if is_grant {
            grant_option = self.accept_kws(&[Kw::With, Kw::Grant, Kw::Option]);
        }
        let grantor = self.opt_granted_by()?;
        let cascade = !is_grant && self.opt_cascade();
        Ok(GrantStmt { is_grant, privileges, target, grantees, grant_option, grantor, cascade })
    }

    fn opt_granted_by(&mut self) -> Result<Option<RoleSpec>> {
        if self.accept_kws(&[Kw::Granted, Kw::By]) { Ok(Some(self.role_spec()?)) } else { Ok(None) }
    }

    fn grant_role(
        &mut self,
        is_grant: bool,
        roles: Vec<Privilege>,
        mut options: Vec<DefElem>,
    ) -> Result<Stmt> {
        self.expect_kw(if is_grant { Kw::To } else { Kw::From })?;
        let grantees = self.role_list()?;
        if is_grant && self.accept_kw(Kw::With) {
            options = self.list(|p| {
                let pos = p.pos();
                let name = p.col_label()?;
                let value = match p.kw() {
                    Kw::Option | Kw::True => true,
                    Kw::False => false,
                    _ => return Err(p.unexpected()),
                };
                p.bump();
                Ok(flag(&name, value, pos))
            })?;
        }
        let grantor = self.opt_granted_by()?;
        let cascade = !is_grant && self.opt_cascade();
        let stmt = GrantRoleStmt { is_grant, roles, grantees, options, grantor, cascade };
        Ok(Stmt::GrantRole(stmt))
    }

    /// After ALTER, at DEFAULT PRIVILEGES.
    pub(super) fn alter_default_privileges(&mut self) -> Result<Stmt> {
        self.expect_kws(&[Kw::Default, Kw::Privileges])?;
        let (mut roles, mut schemas) = (Vec::new(), Vec::new());
        loop {
            if self.accept_kws(&[Kw::In, Kw::Schema]) {
                schemas = self.name_list()?;
            } else if self.accept_kw(Kw::For) {
                if !self.accept_kw(Kw::Role) {
                    self.expect_kw(Kw::User)?;
                }
                roles = self.role_list()?;
            } else {
                break;
            }
        }
        let is_grant = self.accept_kw(Kw::Grant);
        if !is_grant {
            self.expect_kw(Kw::Revoke)?;
        }
        let option = !is_grant && self.accept_kws(&[Kw::Grant, Kw::Option, Kw::For]);
        let privileges = self.privileges()?;
        self.expect_kw(Kw::On)?;
        let kind = match self.kw() {
            Kw::Tables => ObjectKind::Table,
            Kw::Functions | Kw::Routines => ObjectKind::Function,
            Kw::Sequences => ObjectKind::Sequence,
            Kw::Types => ObjectKind::Type,
            Kw::Schemas => ObjectKind::Schema,
            Kw::Large => {
                self.bump();
                if !self.is_kw(Kw::Objects) {
                    return Err(self.unexpected());
                }
                ObjectKind::LargeObject
            }
            _ => return Err(self.unexpected()),
        };
        self.bump();
        let action = self.grant_end(is_grant, privileges, GrantTarget::Defaults(kind), option)?;
        let stmt = AlterDefaultPrivilegesStmt { roles, schemas, action };
        Ok(Stmt::AlterDefaultPrivileges(Box::new(stmt)))
    }

    pub(super) fn reassign_owned(&mut self) -> Result<Stmt> {
        self.expect_kws(&[Kw::Reassign, Kw::Owned, Kw::By])?;
        let roles = self.role_list()?;
        self.expect_kw(Kw::To)?;
        Ok(Stmt::ReassignOwned { roles, new_role: self.role_spec()? })
    }
}
