//! ALTER TABLE.

use super::Ddl;
use super::describe::Found;
use base::{Error, Result, bail, err};
use catalog::depend::ObjectAddress;
use catalog::{RelationDesc, oids};
use parser::ast::{
    AlterTableKind, AlterTableStmt, Constraint, ConstraintKind, LockMode, Name, Object,
    ObjectDetail,
};

/// The lock that a command needs.
fn lock_of(kind: &AlterTableKind) -> LockMode {
    match kind {
        AlterTableKind::AddConstraint(c) if matches!(c.kind, ConstraintKind::ForeignKey(_)) => {
            LockMode::ShareRowExclusive
        }
        AlterTableKind::SetStatistics { .. }
        | AlterTableKind::ValidateConstraint(_)
        | AlterTableKind::SetOptions(_)
        | AlterTableKind::ResetOptions(_) => LockMode::ShareUpdateExclusive,
        _ => LockMode::AccessExclusive,
    }
}

impl Ddl<'_> {
    /// ALTER TABLE and its like.
    pub fn alter_table(&self, stmt: &AlterTableStmt) -> Result<()> {
        let name = Name {
            parts: stmt.rel.schema.iter().cloned().chain([stmt.rel.name.clone()]).collect(),
            pos: stmt.rel.pos,
        };
        let schema = stmt.rel.schema.as_deref();
        let Some(rel) = self.view.relation_named(schema, &stmt.rel.name)? else {
            let text = format!("relation \"{}\" does not exist", name.parts.join("."));
            if stmt.missing_ok {
                self.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(base::SqlState::UNDEFINED_TABLE, text).at(stmt.rel.pos));
        };
        let object = Object { kind: stmt.kind, name, only: stmt.only, detail: ObjectDetail::None };
        if !matches!(stmt.kind, parser::ast::ObjectKind::Type)
            && let Found::Missing(text) = self.find_object(&object, false)?
        {
            return Err(Error::internal(text));
        }
        let mode = stmt.commands.iter().map(|c| lock_of(&c.kind)).max();
        self.storage.lock(rel.oid, mode.unwrap_or(LockMode::AccessExclusive))?;
        let rel = self.view.relation(rel.oid)?;
        self.require_owner_of_relation(&rel)?;
        for command in &stmt.commands {
            let rel = self.view.relation(rel.oid)?;
            self.alter_command(&rel, &command.kind)?;
        }
        Ok(())
    }

    fn alter_command(&self, rel: &RelationDesc, kind: &AlterTableKind) -> Result<()> {
        match kind {
            AlterTableKind::AddConstraint(c) => self.add_constraint(rel, c),
            AlterTableKind::DropConstraint { name, missing_ok, cascade } => {
                self.drop_constraint(rel, name, *missing_ok, *cascade)
            }
            AlterTableKind::DropColumn { name, missing_ok, cascade } => {
                self.drop_column(rel, name, *missing_ok, *cascade)
            }
            AlterTableKind::SetNotNull { column } => {
                let n = self.alter_column(rel, column)?;
                self.add_not_null(rel.oid, n, None, false, true)
            }
            AlterTableKind::DropNotNull { column } => self.drop_not_null(rel, column),
            AlterTableKind::SetOptions(options) => {
                let mut all: Vec<String> = rel
                    .options
                    .iter()
                    .filter(|(n, _)| !options.iter().any(|o| o.name == *n))
                    .map(|(n, v)| format!("{n}={v}"))
                    .collect();
                all.extend(super::table::reloptions(options)?);
                self.set_options(rel, &all)
            }
            AlterTableKind::ResetOptions(options) => {
                let all: Vec<String> = rel
                    .options
                    .iter()
                    .filter(|(n, _)| !options.iter().any(|o| o.name == *n))
                    .map(|(n, v)| format!("{n}={v}"))
                    .collect();
                self.set_options(rel, &all)
            }
            AlterTableKind::Owner(role) => {
                let owner = self.role_oid(role)?;
                let mut class = self.class_row(rel.oid)?;
                class.set_oid("relowner", owner)?;
                self.rows.update(class)?;
                self.depend_owner(ObjectAddress::relation(rel.oid), owner)
            }
            other => {
                let debug = format!("{other:?}");
                let name: String = debug.chars().take_while(|c| c.is_alphanumeric()).collect();
                Err(Error::unsupported(format!("ALTER TABLE {name}")))
            }
        }
    }

    fn alter_column(&self, rel: &RelationDesc, column: &str) -> Result<i16> {
        rel.column_number(column).ok_or_else(|| {
            err!(
                UNDEFINED_COLUMN,
                "column \"{column}\" of relation \"{}\" does not exist",
                rel.name
            )
        })
    }

    fn add_constraint(&self, rel: &RelationDesc, c: &Constraint) -> Result<()> {
        match &c.kind {
            ConstraintKind::PrimaryKey(k) => self.add_key(rel.oid, c, k, true),
            ConstraintKind::Unique(k) => self.add_key(rel.oid, c, k, false),
            ConstraintKind::ForeignKey(f) => self.add_foreign_key(rel.oid, c, f, true),
            ConstraintKind::Check(e) => self.add_check(rel.oid, c, e, true),
            ConstraintKind::NotNull(Some(column)) => {
                let n = self.alter_column(rel, column)?;
                self.add_not_null(rel.oid, n, c.name.as_deref(), c.no_inherit, !c.not_valid)
            }
            _ => Err(Error::unsupported("this kind of constraint")),
        }
    }

    fn drop_constraint(
        &self,
        rel: &RelationDesc,
        name: &str,
        missing_ok: bool,
        cascade: bool,
    ) -> Result<()> {
        let Some(c) = rel.constraints.iter().find(|c| &*c.name == name) else {
            let text = format!("constraint \"{name}\" of relation \"{}\" does not exist", rel.name);
            if missing_ok {
                self.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(base::SqlState::UNDEFINED_OBJECT, text));
        };
        self.drop_objects(&[ObjectAddress::new(oids::PG_CONSTRAINT, c.oid)], cascade)
    }

    fn drop_column(
        &self,
        rel: &RelationDesc,
        name: &str,
        missing_ok: bool,
        cascade: bool,
    ) -> Result<()> {
        let Some(n) = rel.column_number(name) else {
            let text = format!("column \"{name}\" of relation \"{}\" does not exist", rel.name);
            if missing_ok {
                self.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(base::SqlState::UNDEFINED_COLUMN, text));
        };
        self.drop_objects(&[ObjectAddress::column(rel.oid, n)], cascade)
    }

    fn drop_not_null(&self, rel: &RelationDesc, column: &str) -> Result<()> {
        let n = self.alter_column(rel, column)?;
        if let Some(pk) = rel.primary_key()
            && pk.columns[..usize::from(pk.n_keys)].contains(&n)
        {
            bail!(INVALID_TABLE_DEFINITION, "column \"{column}\" is in a primary key");
        }
        match rel.constraints.iter().find(|c| c.kind == b'n' && c.columns == [n]) {
            Some(c) => self.drop_objects(&[ObjectAddress::new(oids::PG_CONSTRAINT, c.oid)], false),
            None => Ok(()),
        }
    }

    fn set_options(&self, rel: &RelationDesc, options: &[String]) -> Result<()> {
        let value = match options.is_empty() {
            true => types::Datum::Null,
            false => catalog::vector::from_texts(oids::TEXT, options),
        };
        let mut class = self.class_row(rel.oid)?;
        class.set("reloptions", value)?;
        self.rows.update(class)?;
        Ok(())
    }
}
