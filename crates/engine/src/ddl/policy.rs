//! CREATE POLICY and ALTER POLICY.

use super::Ddl;
use super::shared_depend::POLICY;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{RelKind, RelationDesc, SysRow, oids, vector};
use parser::ast::{Expr, LockMode, PolicyStmt, RoleKind, RoleSpec};
use std::sync::Arc;
use types::Datum;

/// The index on `pg_policy (polrelid, polname)`.
const BY_NAME: Oid = Oid(3258);

/// `pg_policy.polcmd`.
fn letter(command: &str) -> Result<u8> {
    Ok(match command {
        "all" => b'*',
        "select" => b'r',
        "insert" => b'a',
        "update" => b'w',
        "delete" => b'd',
        _ => bail!(SYNTAX_ERROR, "unrecognized row security option \"{command}\""),
    })
}

impl Ddl<'_> {
    fn policy_table(&self, stmt: &PolicyStmt) -> Result<Arc<RelationDesc>> {
        let rel = self.view.require_relation(stmt.rel.schema.as_deref(), &stmt.rel.name)?;
        self.storage.lock(rel.oid, LockMode::AccessExclusive)?;
        let rel = self.view.relation(rel.oid)?;
        self.require_owner_of_relation(&rel)?;
        if !matches!(rel.kind, RelKind::Table | RelKind::Partitioned) {
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a table", rel.name);
        }
        Ok(rel)
    }

    fn policy_roles(&self, roles: &[RoleSpec]) -> Result<Vec<Oid>> {
        if roles.is_empty() || roles.iter().any(|r| matches!(r.kind, RoleKind::Public)) {
            if roles.len() > 1 {
                let e = Error::with_severity(
                    base::Severity::Warning,
                    SqlState::INVALID_PARAMETER_VALUE,
                    "ignoring specified roles other than PUBLIC",
                );
                self.notice(e.hint("All roles are members of the PUBLIC role."));
            }
            return Ok(vec![Oid::INVALID]);
        }
        roles.iter().map(|r| self.role_oid(r)).collect()
    }

    fn policy_expr(&self, rel: &RelationDesc, e: Option<&Expr>) -> Result<Option<ir::Expr>> {
        let Some(e) = e else { return Ok(None) };
        let env = crate::analysis::env(self.env);
        let made = analyze::relation_expr(&env, rel, e, analyze::ExprUse::Policy);
        made.map(Some).map_err(|e| e.placed(None))
    }

    fn policy_row(&self, rel: &RelationDesc, name: &str) -> Result<Option<SysRow>> {
        let key = [Datum::U32(rel.oid.0), Datum::text(name)];
        Ok(self.rows.index_scan(BY_NAME, &key)?.into_iter().next())
    }

    fn depend_policy(
        &self,
        oid: Oid,
        rel: &RelationDesc,
        exprs: [&Option<ir::Expr>; 2],
    ) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_POLICY, oid);
        depend::record(self.rows, own, ObjectAddress::relation(rel.oid), DependKind::Auto)?;
        for e in exprs.into_iter().flatten() {
            self.depend_expr(own, e, rel.oid)?;
        }
        Ok(())
    }

    /// CREATE POLICY.
    pub fn create_policy(&self, stmt: &PolicyStmt) -> Result<()> {
        let command = letter(&stmt.command)?;
        if matches!(command, b'r' | b'd') && stmt.check.is_some() {
            bail!(SYNTAX_ERROR, "WITH CHECK cannot be applied to SELECT or DELETE");
        }
        if command == b'a' && stmt.using.is_some() {
            bail!(SYNTAX_ERROR, "only WITH CHECK expression allowed for INSERT");
        }
        let rel = self.policy_table(stmt)?;
        if self.policy_row(&rel, &stmt.name)?.is_some() {
            bail!(
                DUPLICATE_OBJECT,
                "policy \"{}\" for table \"{}\" already exists",
                stmt.name,
                rel.name
            );
        }
        let roles = self.policy_roles(stmt.roles.as_deref().unwrap_or(&[]))?;
        let using = self.policy_expr(&rel, stmt.using.as_ref())?;
        let check = self.policy_expr(&rel, stmt.check.as_ref())?;
        let text = |e: &Option<ir::Expr>| e.as_ref().map(crate::cook::to_text).transpose();
        let oid = self.rows.new_oid(oids::PG_POLICY)?;
        let mut row = SysRow::new(oids::PG_POLICY)?;
        row.set_oid("oid", oid)?
            .set_text("polname", &stmt.name)?
            .set_oid("polrelid", rel.oid)?
            .set_char("polcmd", command)?
            .set_bool("polpermissive", stmt.permissive)?
            .set("polroles", vector::from_oids(oids::OID_ARRAY, &roles))?
            .set_opt_text("polqual", text(&using)?.as_deref())?
            .set_opt_text("polwithcheck", text(&check)?.as_deref())?;
        self.rows.insert(row)?;
        self.depend_policy_roles(oid, &roles)?;
        self.depend_policy(oid, &rel, [&using, &check])
    }

    /// Records the roles that a policy is for; everyone is none of them.
    fn depend_policy_roles(&self, oid: Oid, roles: &[Oid]) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_POLICY, oid);
        self.forget_roles(own, POLICY, None)?;
        for role in roles.iter().filter(|r| r.is_valid()) {
            self.depend_role(own, *role, POLICY)?;
        }
        Ok(())
    }

    /// Takes a role from those that a policy is for; false if there is no other.
    pub fn remove_role_from_policy(&self, oid: Oid, role: Oid) -> Result<bool> {
        let mut row = self.row_by_oid(catalog::indexes::PG_POLICY_OID, oid)?;
        let mut roles = row.oids("polroles")?;
        roles.retain(|r| *r != role);
        if roles.is_empty() {
            return Ok(false);
        }
        row.set("polroles", vector::from_oids(oids::OID_ARRAY, &roles))?;
        self.rows.update(row)?;
        self.depend_policy_roles(oid, &roles)?;
        Ok(true)
    }

    /// ALTER POLICY.
    pub fn alter_policy(&self, stmt: &PolicyStmt) -> Result<()> {
        let rel = self.policy_table(stmt)?;
        let Some(mut row) = self.policy_row(&rel, &stmt.name)? else {
            return Err(err!(
                UNDEFINED_OBJECT,
                "policy \"{}\" for table \"{}\" does not exist",
                stmt.name,
                rel.name
            ));
        };
        let command = row.char("polcmd")?;
        if matches!(command, b'r' | b'd') && stmt.check.is_some() {
            bail!(SYNTAX_ERROR, "only USING expression allowed for SELECT, DELETE");
        }
        if command == b'a' && stmt.using.is_some() {
            bail!(SYNTAX_ERROR, "only WITH CHECK expression allowed for INSERT");
        }
        if let Some(roles) = &stmt.roles {
            let roles = self.policy_roles(roles)?;
            row.set("polroles", vector::from_oids(oids::OID_ARRAY, &roles))?;
        }
        let using = self.policy_expr(&rel, stmt.using.as_ref())?;
        let check = self.policy_expr(&rel, stmt.check.as_ref())?;
        if let Some(e) = &using {
            row.set_text("polqual", &crate::cook::to_text(e)?)?;
        }
        if let Some(e) = &check {
            row.set_text("polwithcheck", &crate::cook::to_text(e)?)?;
        }
        let stored = |row: &SysRow, column: &str| -> Result<Option<ir::Expr>> {
            row.opt_text(column)?.map(|t| crate::cook::from_text(&t)).transpose()
        };
        let (using, check) = (stored(&row, "polqual")?, stored(&row, "polwithcheck")?);
        let (oid, roles) = (row.oid("oid")?, row.oids("polroles")?);
        self.rows.update(row)?;
        self.depend_policy_roles(oid, &roles)?;
        depend::forget(self.rows, ObjectAddress::new(oids::PG_POLICY, oid))?;
        self.depend_policy(oid, &rel, [&using, &check])
    }

    /// The policy of a table by name.
    pub fn find_policy(&self, rel: &RelationDesc, name: &str) -> Result<Option<Oid>> {
        self.policy_row(rel, name)?.map(|row| row.oid("oid")).transpose()
    }
}
