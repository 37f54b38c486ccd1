//! ADD, ALTER, VALIDATE and DROP CONSTRAINT.

use super::Alter;
use crate::ddl::Ddl;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::ObjectAddress;
use catalog::{ConstraintDesc, RelKind, RelationDesc, SysRow, indexes, oids};
use parser::ast::{self, Constraint, ConstraintKind};
use std::sync::Arc;

impl Ddl<'_> {
    /// The `pg_constraint` row of a constraint.
    pub fn constraint_row(&self, oid: Oid) -> Result<SysRow> {
        self.row_by_oid(indexes::PG_CONSTRAINT_OID, oid)
    }

    /// A foreign key as it would be written.
    pub fn foreign_key_ast(&self, rel: &RelationDesc, c: &ConstraintDesc) -> Result<Constraint> {
        let Some(f) = &c.foreign else { return Err(Error::internal("not a foreign key")) };
        let target = self.view.relation(f.table)?;
        let schema = self.view.namespace(target.namespace)?.name.to_string();
        let names = |rel: &RelationDesc, columns: &[i16]| -> Vec<String> {
            columns.iter().map(|n| rel.tuple.attrs[*n as usize - 1].name.to_string()).collect()
        };
        let action = |a: u8| match a {
            b'r' => ast::FkAction::Restrict,
            b'c' => ast::FkAction::Cascade,
            b'n' => ast::FkAction::SetNull,
            b'd' => ast::FkAction::SetDefault,
            _ => ast::FkAction::NoAction,
        };
        let fk = ast::ForeignKey {
            columns: names(rel, &c.columns),
            period: false,
            target: ast::RelName {
                catalog: None,
                schema: Some(schema),
                name: target.name.to_string(),
                pos: ast::NO_POS,
            },
            target_columns: names(&target, &f.columns),
            target_period: false,
            matching: if f.match_type == b'f' { ast::FkMatch::Full } else { ast::FkMatch::Simple },
            on_delete: action(f.on_delete),
            delete_columns: names(rel, &f.delete_set_columns),
            on_update: action(f.on_update),
        };
        Ok(Constraint {
            name: Some(c.name.to_string()),
            kind: ConstraintKind::ForeignKey(Box::new(fk)),
            deferrable: c.deferrable,
            initially_deferred: c.deferred,
            not_valid: !c.validated,
            enforced: c.enforced,
            no_inherit: c.no_inherit,
            pos: ast::NO_POS,
        })
    }
}

impl Alter<'_, '_> {
    pub(super) fn add_constraint(&self, table: Oid, c: &Constraint, recurse: bool) -> Result<()> {
        let ddl = self.ddl;
        let rel = ddl.view.relation(table)?;
        match &c.kind {
            ConstraintKind::PrimaryKey(k) => {
                for column in &k.columns {
                    self.column(&rel, column)?;
                }
                ddl.add_key(table, c, k, true, !recurse)
            }
            ConstraintKind::Unique(k) => ddl.add_key(table, c, k, false, !recurse),
            ConstraintKind::ForeignKey(f) => {
                if rel.kind == RelKind::Partitioned && !recurse {
                    bail!(
                        WRONG_OBJECT_TYPE,
                        "cannot use ONLY for foreign key on partitioned table \"{}\" referencing \
                         relation \"{}\"",
                        rel.name,
                        f.target.name
                    );
                }
                let oid = ddl.add_foreign_key(table, c, f)?;
                if !c.not_valid && c.enforced {
                    self.check_foreign_later(oid)?;
                }
                Ok(())
            }
            ConstraintKind::Check(e) => self.add_check(&rel, c, e, recurse),
            ConstraintKind::NotNull(Some(column)) => {
                self.add_named_not_null(&rel, c, column, recurse)
            }
            ConstraintKind::Exclude(x) => ddl.add_exclude(table, c, x, !recurse),
            _ => Err(Error::internal("no table constraint")),
        }
    }

    fn add_named_not_null(
        &self,
        rel: &Arc<RelationDesc>,
        c: &Constraint,
        column: &str,
        recurse: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        let n = self.column(rel, column)?;
        if let Some(old) = rel.constraints.iter().find(|o| o.kind == b'n' && o.columns == [n]) {
            if old.no_inherit != c.no_inherit {
                return Err(super::column::inheritance_fixed(&old.name, &rel.name));
            }
            if !old.validated && !c.not_valid {
                return Err(crate::ddl::inherit::incompatible(&old.name, &rel.name));
            }
            if let Some(name) = &c.name
                && *name != *old.name
            {
                return Err(err!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "cannot create not-null constraint \"{name}\" on column \"{column}\" of table \
                     \"{}\"",
                    rel.name
                )
                .detail(format!(
                    "A not-null constraint named \"{}\" already exists for this column.",
                    old.name
                )));
            }
            if !old.is_local {
                let mut row = ddl.constraint_row(old.oid)?;
                row.set_bool("conislocal", true)?;
                ddl.rows.update(row)?;
            }
            return Ok(());
        }
        if !c.not_valid {
            self.with_work(rel.oid, |w| w.not_null.push(n))?;
        }
        ddl.add_not_null(rel.oid, n, c.name.as_deref(), c.no_inherit, false)?;
        let made = ddl.view.relation(rel.oid)?;
        let made = made.constraints.iter().find(|o| o.kind == b'n' && o.columns == [n]).cloned();
        if c.not_valid
            && let Some(made) = &made
        {
            let mut row = ddl.constraint_row(made.oid)?;
            row.set_bool("convalidated", false)?;
            ddl.rows.update(row)?;
        }
        if c.no_inherit {
            return Ok(());
        }
        let children = self.children(rel.oid)?;
        if !recurse && !children.is_empty() {
            bail!(INVALID_TABLE_DEFINITION, "constraint must be added to child tables too");
        }
        for child in children {
            let name = made.as_ref().map(|m| m.name.to_string());
            self.inherit_not_null(&child, column, name.as_deref(), !c.not_valid)?;
        }
        Ok(())
    }

    fn add_check(
        &self,
        rel: &Arc<RelationDesc>,
        c: &Constraint,
        e: &ast::Expr,
        recurse: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        if c.no_inherit && rel.kind == RelKind::Partitioned {
            bail!(
                INVALID_TABLE_DEFINITION,
                "cannot add NO INHERIT constraint to partitioned table \"{}\"",
                rel.name
            );
        }
        if self.merge_check(rel, c, e)? {
            return Ok(());
        }
        let before: Vec<Oid> = rel.constraints.iter().map(|c| c.oid).collect();
        ddl.add_check(rel.oid, c, e, false)?;
        let now = ddl.view.relation(rel.oid)?;
        let Some(made) = now.constraints.iter().find(|c| !before.contains(&c.oid)) else {
            return Ok(());
        };
        self.check_later(rel.oid, made)?;
        if c.no_inherit {
            return Ok(());
        }
        let children = self.children(rel.oid)?;
        if !recurse && !children.is_empty() {
            bail!(INVALID_TABLE_DEFINITION, "constraint must be added to child tables too");
        }
        for child in children {
            // A table may be reached on more than one way.
            let child = ddl.view.relation(child.oid)?;
            self.inherit_check(&now, &child, made)?;
        }
        Ok(())
    }

    /// A check that the table inherits already becomes its own too.
    fn merge_check(&self, rel: &RelationDesc, c: &Constraint, e: &ast::Expr) -> Result<bool> {
        let ddl = self.ddl;
        let Some(name) = &c.name else { return Ok(false) };
        let found = rel.constraints.iter().find(|o| *o.name == **name && o.kind == b'c');
        let Some(old) = found.filter(|o| !o.is_local && o.inherit_count > 0) else {
            return Ok(false);
        };
        let Some(text) = &old.expr else { return Ok(false) };
        let made = crate::cook::check(ddl, rel, e)?;
        if !crate::ddl::inherit::same_expr(&made, &crate::cook::from_text(text)?) {
            return Ok(false);
        }
        if c.no_inherit {
            bail!(
                INVALID_OBJECT_DEFINITION,
                "constraint \"{name}\" conflicts with inherited constraint on relation \"{}\"",
                rel.name
            );
        }
        ddl.make_local(old)?;
        Ok(true)
    }

    fn check_later(&self, table: Oid, made: &ConstraintDesc) -> Result<()> {
        if made.validated
            && made.enforced
            && let Some(text) = &made.expr
        {
            let check = crate::cook::from_text(text)?;
            self.with_work(table, |w| w.checks.push((made.name.to_string(), check)))?;
        }
        Ok(())
    }

    /// A child gets its parent's check, or counts one parent more for the one it has.
    pub(super) fn inherit_check(
        &self,
        parent: &RelationDesc,
        child: &Arc<RelationDesc>,
        check: &ConstraintDesc,
    ) -> Result<()> {
        let ddl = self.ddl;
        let before: Vec<Oid> = child.constraints.iter().map(|c| c.oid).collect();
        ddl.copy_check(parent, child, check, true)?;
        let now = ddl.view.relation(child.oid)?;
        if let Some(made) = now.constraints.iter().find(|c| !before.contains(&c.oid)) {
            self.check_later(child.oid, made)?;
            for grandchild in self.children(child.oid)? {
                let grandchild = ddl.view.relation(grandchild.oid)?;
                self.inherit_check(&now, &grandchild, made)?;
            }
        }
        Ok(())
    }

    pub(super) fn alter_constraint(
        &self,
        rel: &Arc<RelationDesc>,
        name: &str,
        deferrable: Option<bool>,
        deferred: Option<bool>,
        enforced: Option<bool>,
        inherit: Option<bool>,
    ) -> Result<()> {
        let ddl = self.ddl;
        let Some(c) = rel.constraints.iter().find(|c| &*c.name == name) else {
            bail!(
                UNDEFINED_OBJECT,
                "constraint \"{name}\" of relation \"{}\" does not exist",
                rel.name
            );
        };
        let of = format!("constraint \"{name}\" of relation \"{}\"", rel.name);
        if (deferrable.is_some() || deferred.is_some()) && c.kind != b'f' {
            bail!(WRONG_OBJECT_TYPE, "{of} is not a foreign key constraint");
        }
        if enforced.is_some() && c.kind != b'f' {
            bail!(WRONG_OBJECT_TYPE, "cannot alter enforceability of {of}");
        }
        if inherit.is_some() && c.kind != b'n' {
            bail!(WRONG_OBJECT_TYPE, "{of} is not a not-null constraint");
        }
        if c.parent.is_valid() {
            let above = ddl.view.constraint(c.parent)?;
            let table = ddl.view.relation(above.relation)?;
            return Err(err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot alter constraint \"{name}\" on relation \"{}\"",
                rel.name
            )
            .detail(format!(
                "Constraint \"{name}\" is derived from constraint \"{}\" of relation \"{}\".",
                above.name, table.name
            ))
            .hint("You may alter the constraint it derives from instead."));
        }
        if let Some(inherit) = inherit {
            return self.alter_inherit(rel, c, inherit);
        }
        let new_deferred = deferred.unwrap_or(c.deferred && deferrable != Some(false));
        let new_deferrable = deferrable.unwrap_or(new_deferred || c.deferrable);
        let all = ddl.foreign_key_family(c)?;
        for c in &all {
            if deferrable.is_some() || deferred.is_some() {
                ddl.set_deferrable(c, new_deferrable, new_deferred)?;
            }
        }
        match enforced {
            Some(true) if !c.enforced => {
                ddl.enforce_foreign_key(c)?;
                self.check_foreign_later(c.oid)?;
            }
            Some(false) if c.enforced => {
                for c in &all {
                    ddl.stop_enforcing(c)?;
                }
            }
            _ => {}
        }
        // Descriptors of both tables hold the constraint.
        for c in &all {
            let other = c.foreign.as_ref().map(|f| f.table);
            for table in [Some(c.relation), other].into_iter().flatten() {
                ddl.rows.update(ddl.class_row(table)?)?;
            }
        }
        Ok(())
    }

    /// Rows that are there will be checked: those of each partition by its own constraint.
    pub(super) fn check_foreign_later(&self, constraint: Oid) -> Result<()> {
        let c = self.ddl.view.constraint(constraint)?;
        for c in self.ddl.foreign_key_family(&c)? {
            self.check_foreign_part(&c)?;
        }
        Ok(())
    }

    fn check_foreign_part(&self, c: &ConstraintDesc) -> Result<()> {
        // On the table referred to partitions have constraints that check nothing.
        let above = match c.parent.is_valid() {
            true => self.ddl.view.constraint(c.parent)?.relation,
            false => Oid::INVALID,
        };
        match c.relation == above {
            true => Ok(()),
            false => self.with_work(c.relation, |w| w.foreign.push(c.oid)),
        }
    }

    fn alter_inherit(
        &self,
        rel: &Arc<RelationDesc>,
        c: &ConstraintDesc,
        inherit: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        if c.inherit_count > 0 {
            bail!(
                WRONG_OBJECT_TYPE,
                "cannot alter inherited constraint \"{}\" on relation \"{}\"",
                c.name,
                rel.name
            );
        }
        if c.no_inherit != inherit {
            return Ok(());
        }
        if !inherit && rel.kind == RelKind::Partitioned {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "not-null constraint \"{}\" on partitioned table \"{}\" cannot be NO INHERIT",
                c.name,
                rel.name
            );
        }
        let mut row = ddl.constraint_row(c.oid)?;
        row.set_bool("connoinherit", !inherit)?;
        ddl.rows.update(row)?;
        let column = c.columns.first().map(|n| rel.tuple.attrs[*n as usize - 1].name.to_string());
        let Some(column) = column else { return Ok(()) };
        for child in self.children(rel.oid)? {
            match inherit {
                true => self.inherit_not_null(&child, &column, Some(&c.name), true)?,
                false => {
                    let n = child.column_number(&column);
                    let found = child
                        .constraints
                        .iter()
                        .find(|o| o.kind == b'n' && o.columns.first().copied() == n);
                    if let Some(o) = found {
                        let mut row = ddl.constraint_row(o.oid)?;
                        row.set_i16("coninhcount", (o.inherit_count - 1).max(0))?
                            .set_bool("conislocal", true)?;
                        ddl.rows.update(row)?;
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn validate_constraint(
        &self,
        rel: &Arc<RelationDesc>,
        name: &str,
        recurse: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        let Some(c) = rel.constraints.iter().find(|c| &*c.name == name) else {
            bail!(
                UNDEFINED_OBJECT,
                "constraint \"{name}\" of relation \"{}\" does not exist",
                rel.name
            );
        };
        if !matches!(c.kind, b'f' | b'c' | b'n') {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "cannot validate constraint \"{name}\" of relation \"{}\"",
                rel.name
            )
            .detail("This operation is not supported for this type of constraint."));
        }
        if !c.enforced {
            bail!(WRONG_OBJECT_TYPE, "cannot validate NOT ENFORCED constraint");
        }
        if c.validated {
            return Ok(());
        }
        if c.kind == b'f' {
            let c = ddl.view.constraint(c.oid)?;
            for part in ddl.foreign_key_family(&c)? {
                let mut row = ddl.constraint_row(part.oid)?;
                let was = row.bool("convalidated")?;
                row.set_bool("convalidated", true)?;
                ddl.rows.update(row)?;
                if !was {
                    self.check_foreign_part(&part)?;
                }
            }
            return Ok(());
        }
        let mut row = ddl.constraint_row(c.oid)?;
        row.set_bool("convalidated", true)?;
        ddl.rows.update(row)?;
        match c.kind {
            b'c' => {
                if let Some(text) = &c.expr {
                    let check = crate::cook::from_text(text)?;
                    self.with_work(rel.oid, |w| w.checks.push((name.to_string(), check)))?;
                }
            }
            _ => {
                let columns = c.columns.clone();
                self.with_work(rel.oid, |w| w.not_null.extend(columns))?;
            }
        }
        if c.no_inherit {
            return Ok(());
        }
        let children = self.children(rel.oid)?;
        if !recurse && !children.is_empty() {
            bail!(INVALID_TABLE_DEFINITION, "constraint must be validated on child tables too");
        }
        for child in children {
            let name = match c.kind {
                b'c' => name.to_string(),
                _ => {
                    let column = &rel.tuple.attrs[c.columns[0] as usize - 1].name;
                    let n = child.column_number(column);
                    let own = child
                        .constraints
                        .iter()
                        .find(|o| o.kind == b'n' && o.columns.first().copied() == n);
                    match own {
                        Some(o) => o.name.to_string(),
                        None => continue,
                    }
                }
            };
            self.validate_constraint(&child, &name, true)?;
        }
        Ok(())
    }

    pub(super) fn drop_constraint(
        &self,
        rel: &Arc<RelationDesc>,
        name: &str,
        missing_ok: bool,
        cascade: bool,
        recurse: bool,
    ) -> Result<()> {
        let Some(c) = rel.constraints.iter().find(|c| &*c.name == name) else {
            let text = format!("constraint \"{name}\" of relation \"{}\" does not exist", rel.name);
            if missing_ok {
                self.ddl.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, text));
        };
        if c.inherit_count > 0 {
            bail!(
                INVALID_TABLE_DEFINITION,
                "cannot drop inherited constraint \"{name}\" of relation \"{}\"",
                rel.name
            );
        }
        if c.kind == b'n' {
            self.not_null_may_go(rel, c)?;
        }
        if let Some(f) = c.foreign.as_ref().filter(|f| f.table != rel.oid) {
            self.ddl.storage.lock(f.table, ast::LockMode::AccessExclusive)?;
            let referenced = self.ddl.view.relation(f.table)?;
            self.ddl.check_unused(&referenced, "ALTER TABLE")?;
        }
        let mut all = vec![ObjectAddress::new(oids::PG_CONSTRAINT, c.oid)];
        if matches!(c.kind, b'c' | b'n') && !c.no_inherit {
            self.drop_from_children(rel, c, recurse, &mut all)?;
        }
        self.ddl.drop_objects(&all, cascade)
    }

    fn not_null_may_go(&self, rel: &RelationDesc, c: &ConstraintDesc) -> Result<()> {
        let Some(n) = c.columns.first() else { return Ok(()) };
        let attr = &rel.tuple.attrs[*n as usize - 1];
        if let Some(pk) = rel.indexes.iter().find(|i| i.is_primary)
            && pk.columns[..usize::from(pk.n_keys)].contains(n)
        {
            bail!(INVALID_TABLE_DEFINITION, "column \"{}\" is in a primary key", attr.name);
        }
        if attr.identity != 0 {
            bail!(
                SYNTAX_ERROR,
                "column \"{}\" of relation \"{}\" is an identity column",
                attr.name,
                rel.name
            );
        }
        Ok(())
    }

    fn drop_from_children(
        &self,
        rel: &RelationDesc,
        c: &ConstraintDesc,
        recurse: bool,
        all: &mut Vec<ObjectAddress>,
    ) -> Result<()> {
        let ddl = self.ddl;
        let children = self.children(rel.oid)?;
        for child in children {
            let found = match c.kind {
                b'n' => {
                    let column = &rel.tuple.attrs[c.columns[0] as usize - 1].name;
                    let n = child.column_number(column);
                    child
                        .constraints
                        .iter()
                        .find(|o| o.kind == b'n' && o.columns.first().copied() == n)
                }
                _ => child.constraints.iter().find(|o| o.name == c.name && o.kind == c.kind),
            };
            let Some(own) = found else { continue };
            if recurse && own.inherit_count == 1 && !own.is_local {
                all.push(ObjectAddress::new(oids::PG_CONSTRAINT, own.oid));
                self.drop_from_children(&child, own, true, all)?;
                continue;
            }
            let mut row = ddl.constraint_row(own.oid)?;
            row.set_i16("coninhcount", (own.inherit_count - 1).max(0))?;
            if !recurse {
                row.set_bool("conislocal", true)?;
            }
            ddl.rows.update(row)?;
        }
        Ok(())
    }
}
