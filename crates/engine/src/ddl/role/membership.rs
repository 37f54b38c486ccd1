//! GRANT and REVOKE of roles: rows of `pg_auth_members`, one for each role, member and grantor.

use crate::ddl::Ddl;
use crate::ddl::shared_depend::ACL;
use base::{Error, Oid, Result, Severity, SqlState, bail, err};
use catalog::depend::ObjectAddress;
use catalog::privilege::{Through, has_rights_of, is_superuser, roles_of};
use catalog::{SysRow, indexes, oids};
use parser::ast::{DefElem, DefValue, GrantRoleStmt};
use types::Datum;

/// The options of a membership, where they are said.
#[derive(Clone, Copy, Default, Debug)]
pub struct MemberOptions {
    /// ADMIN
    pub admin: Option<bool>,
    /// INHERIT
    pub inherit: Option<bool>,
    /// SET
    pub set: Option<bool>,
}

/// What a REVOKE does with a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Plan {
    Keep,
    NoInherit,
    NoSet,
    NoAdmin,
    Delete,
}

/// The rows of one role and what happens to each.
struct Members {
    rows: Vec<SysRow>,
    plans: Vec<Plan>,
}

impl Members {
    fn admin_elsewhere(&self, at: usize) -> Result<bool> {
        let member = self.rows[at].oid("member")?;
        for (i, row) in self.rows.iter().enumerate() {
            let counts = i != at
                && row.oid("member")? == member
                && row.bool("admin_option")?
                && !matches!(self.plans[i], Plan::Delete | Plan::NoAdmin);
            if counts {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Plans that a grant, or its ADMIN option, goes, and with it what was granted by that.
    fn revoke(&mut self, at: usize, admin_only: bool, cascade: bool) -> Result<()> {
        if self.plans[at] == Plan::Delete || self.plans[at] == Plan::NoAdmin && admin_only {
            return Ok(());
        }
        self.plans[at] = if admin_only { Plan::NoAdmin } else { Plan::Delete };
        if !self.rows[at].bool("admin_option")? || self.admin_elsewhere(at)? {
            return Ok(());
        }
        let member = self.rows[at].oid("member")?;
        for i in 0..self.rows.len() {
            if self.rows[i].oid("grantor")? != member || self.plans[i] == Plan::Delete {
                continue;
            }
            if !cascade {
                let text = "dependent privileges exist";
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, text)
                    .hint("Use CASCADE to revoke them too."));
            }
            self.revoke(i, false, true)?;
        }
        Ok(())
    }
}

fn member_options(options: &[DefElem]) -> Result<MemberOptions> {
    let mut out = MemberOptions::default();
    for option in options {
        let value = match option.value {
            Some(DefValue::Bool(b)) => b,
            _ => true,
        };
        match option.name.as_str() {
            "admin" => out.admin = Some(value),
            "inherit" => out.inherit = Some(value),
            "set" => out.set = Some(value),
            name => {
                let e = err!(SYNTAX_ERROR, "unrecognized role option \"{name}\"");
                return Err(e.at(option.pos));
            }
        }
    }
    Ok(out)
}

impl Ddl<'_> {
    /// GRANT and REVOKE of roles.
    pub fn grant_role(&self, stmt: &GrantRoleStmt) -> Result<()> {
        let options = member_options(&stmt.options)?;
        let grantor = stmt.grantor.as_ref().map(|g| self.role_oid(g)).transpose()?;
        let members: Vec<Oid> =
            stmt.grantees.iter().map(|g| self.role_oid(g)).collect::<Result<_>>()?;
        for granted in &stmt.roles {
            let Some(name) = granted.name.as_ref().filter(|_| granted.columns.is_empty()) else {
                bail!(
                    INVALID_GRANT_OPERATION,
                    "column names cannot be included in GRANT/REVOKE ROLE"
                );
            };
            let role = self.view.require_role(name)?.oid;
            self.check_may_grant(role, stmt.is_grant)?;
            match stmt.is_grant {
                true => self.add_members(role, &members, grantor, options)?,
                false => self.remove_members(role, &members, grantor, options, stmt.cascade)?,
            }
        }
        Ok(())
    }

    /// A role's name.
    pub fn role_name(&self, role: Oid) -> Result<String> {
        Ok(self.view.role(role)?.name.to_string())
    }

    /// Fails unless the user may grant the role to others, or take it.
    pub fn check_may_grant(&self, role: Oid, is_grant: bool) -> Result<()> {
        let name = self.role_name(role)?;
        if role == oids::PG_DATABASE_OWNER {
            bail!(FEATURE_NOT_SUPPORTED, "role \"{name}\" cannot have explicit members");
        }
        let verb = if is_grant { "grant" } else { "revoke" };
        let denied = || err!(INSUFFICIENT_PRIVILEGE, "permission denied to {verb} role \"{name}\"");
        if is_superuser(&self.view, role)? {
            if !self.is_superuser()? {
                return Err(denied().detail(format!(
                    "Only roles with the SUPERUSER attribute may {verb} roles with the \
                     SUPERUSER attribute."
                )));
            }
        } else if !self.is_admin_of(self.user(), role)? {
            return Err(denied().detail(format!(
                "Only roles with the ADMIN option on role \"{name}\" may {verb} this role."
            )));
        }
        Ok(())
    }

    /// True if the user may grant the role, by itself or as a member of others.
    pub fn is_admin_of(&self, user: Oid, role: Oid) -> Result<bool> {
        if is_superuser(&self.view, user)? {
            return Ok(true);
        }
        if user == role {
            return Ok(false);
        }
        Ok(self.admin_among(&roles_of(&self.view, user, Through::Any)?, role)?.is_some())
    }

    /// The first of these roles that has the ADMIN option on a role.
    fn admin_among(&self, roles: &[Oid], role: Oid) -> Result<Option<Oid>> {
        for member in roles {
            let desc = self.view.role(*member)?;
            if desc.member_of.iter().any(|(of, admin, ..)| *of == role && *admin) {
                return Ok(Some(*member));
            }
        }
        Ok(None)
    }

    /// Whose grant it is: the one named, or the one with the right to grant who is nearest.
    fn grantor_of(&self, role: Oid, named: Option<Oid>, is_grant: bool) -> Result<Oid> {
        let user = self.user();
        let best = |member: Oid| -> Result<Option<Oid>> {
            if member == role {
                return Ok(None);
            }
            self.admin_among(&roles_of(&self.view, member, Through::Inherit)?, role)
        };
        let Some(grantor) = named else {
            if self.is_superuser()? {
                return Ok(oids::SUPERUSER);
            }
            return best(user)?.ok_or_else(|| Error::internal("no possible grantors"));
        };
        let name = self.role_name(grantor)?;
        if is_grant {
            let denied = || {
                err!(
                    INSUFFICIENT_PRIVILEGE,
                    "permission denied to grant privileges as role \"{name}\""
                )
            };
            if !has_rights_of(&self.view, user, grantor)? {
                return Err(denied().detail(format!(
                    "Only roles with privileges of role \"{name}\" may grant privileges as \
                     this role."
                )));
            }
            if grantor != oids::SUPERUSER && best(grantor)? != Some(grantor) {
                return Err(denied().detail(format!(
                    "The grantor must have the ADMIN option on role \"{}\".",
                    self.role_name(role)?
                )));
            }
        } else if !has_rights_of(&self.view, user, grantor)? {
            return Err(err!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied to revoke privileges granted by role \"{name}\""
            )
            .detail(format!(
                "Only roles with privileges of role \"{name}\" may revoke privileges granted by \
                 this role."
            )));
        }
        Ok(grantor)
    }

    fn members_of(&self, role: Oid) -> Result<Members> {
        let rows = self.rows.index_scan(indexes::PG_AUTH_MEMBERS_ROLE, &[Datum::U32(role.0)])?;
        let plans = vec![Plan::Keep; rows.len()];
        Ok(Members { rows, plans })
    }

    /// Makes roles members of another.
    pub fn add_members(
        &self,
        role: Oid,
        members: &[Oid],
        grantor: Option<Oid>,
        options: MemberOptions,
    ) -> Result<()> {
        let name = self.role_name(role)?;
        let grantor = self.grantor_of(role, grantor, true)?;
        for member in members {
            let other = self.role_name(*member)?;
            if *member == oids::PG_DATABASE_OWNER {
                bail!(FEATURE_NOT_SUPPORTED, "role \"{other}\" cannot be a member of any role");
            }
            // The other way round, by any path.
            if roles_of(&self.view, role, Through::Any)?.contains(member) {
                bail!(INVALID_GRANT_OPERATION, "role \"{name}\" is a member of role \"{other}\"");
            }
        }
        if options.admin == Some(true) && grantor != oids::SUPERUSER {
            self.check_admin_circularity(role, members, grantor)?;
        }
        for member in members {
            self.add_member(role, *member, grantor, options)?;
        }
        Ok(())
    }

    fn check_admin_circularity(&self, role: Oid, members: &[Oid], grantor: Oid) -> Result<()> {
        let mut all = self.members_of(role)?;
        for i in 0..all.rows.len() {
            if members.contains(&all.rows[i].oid("member")?) {
                all.revoke(i, false, true)?;
            }
        }
        for (row, plan) in all.rows.iter().zip(&all.plans) {
            if *plan == Plan::Keep && row.oid("member")? == grantor && row.bool("admin_option")? {
                return Ok(());
            }
        }
        bail!(INVALID_GRANT_OPERATION, "ADMIN option cannot be granted back to your own grantor")
    }

    /// Makes a role a member of another in the system's name, who needs no right for that.
    pub(super) fn add_members_by_system(
        &self,
        role: Oid,
        member: Oid,
        options: MemberOptions,
    ) -> Result<()> {
        self.add_member(role, member, oids::SUPERUSER, options)
    }

    fn add_member(
        &self,
        role: Oid,
        member: Oid,
        grantor: Oid,
        options: MemberOptions,
    ) -> Result<()> {
        let key = [Datum::U32(role.0), Datum::U32(member.0), Datum::U32(grantor.0)];
        let found = self.rows.index_scan(indexes::PG_AUTH_MEMBERS_ROLE, &key)?;
        if let Some(mut row) = found.into_iter().next() {
            let mut changed = false;
            for (column, value) in [
                ("admin_option", options.admin),
                ("inherit_option", options.inherit),
                ("set_option", options.set),
            ] {
                if let Some(value) = value
                    && row.bool(column)? != value
                {
                    row.set_bool(column, value)?;
                    changed = true;
                }
            }
            if changed {
                self.rows.update(row)?;
                return Ok(());
            }
            self.notice(Error::notice(format!(
                "role \"{}\" has already been granted membership in role \"{}\" by role \"{}\"",
                self.role_name(member)?,
                self.role_name(role)?,
                self.role_name(grantor)?
            )));
            return Ok(());
        }
        let oid = self.rows.new_oid(oids::PG_AUTH_MEMBERS)?;
        let inherit = match options.inherit {
            Some(yes) => yes,
            None => self.view.role(member)?.inherit,
        };
        let mut row = SysRow::new(oids::PG_AUTH_MEMBERS)?;
        row.set_oid("oid", oid)?
            .set_oid("roleid", role)?
            .set_oid("member", member)?
            .set_oid("grantor", grantor)?
            .set_bool("admin_option", options.admin.unwrap_or(false))?
            .set_bool("inherit_option", inherit)?
            .set_bool("set_option", options.set.unwrap_or(true))?;
        self.rows.insert(row)?;
        self.depend_role(ObjectAddress::new(oids::PG_AUTH_MEMBERS, oid), grantor, ACL)
    }

    /// Ends memberships, or takes some of their options.
    pub fn remove_members(
        &self,
        role: Oid,
        members: &[Oid],
        grantor: Option<Oid>,
        options: MemberOptions,
        cascade: bool,
    ) -> Result<()> {
        let grantor = self.grantor_of(role, grantor, false)?;
        let mut all = self.members_of(role)?;
        for member in members {
            let mut at = None;
            for (i, row) in all.rows.iter().enumerate() {
                if row.oid("member")? == *member && row.oid("grantor")? == grantor {
                    at = Some(i);
                }
            }
            match at {
                None => self.warn_not_member(role, *member, grantor)?,
                Some(i) if options.inherit == Some(false) => all.plans[i] = Plan::NoInherit,
                Some(i) if options.set == Some(false) => all.plans[i] = Plan::NoSet,
                Some(i) => all.revoke(i, options.admin == Some(false), cascade)?,
            }
        }
        for (mut row, plan) in all.rows.into_iter().zip(all.plans) {
            let column = match plan {
                Plan::Keep => continue,
                Plan::Delete => {
                    self.delete_membership(&row)?;
                    continue;
                }
                Plan::NoAdmin => "admin_option",
                Plan::NoInherit => "inherit_option",
                Plan::NoSet => "set_option",
            };
            row.set_bool(column, false)?;
            self.rows.update(row)?;
        }
        Ok(())
    }

    fn warn_not_member(&self, role: Oid, member: Oid, grantor: Oid) -> Result<()> {
        let text = format!(
            "role \"{}\" has not been granted membership in role \"{}\" by role \"{}\"",
            self.role_name(member)?,
            self.role_name(role)?,
            self.role_name(grantor)?
        );
        self.notice(Error::with_severity(Severity::Warning, SqlState::WARNING, text));
        Ok(())
    }

    /// Deletes a membership's row.
    pub fn delete_membership(&self, row: &SysRow) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_AUTH_MEMBERS, row.oid("oid")?);
        self.forget_all_roles(own)?;
        self.rows.delete(row)
    }
}
