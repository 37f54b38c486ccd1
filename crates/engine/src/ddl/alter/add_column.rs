//! ADD COLUMN and DROP COLUMN.

use super::{Alter, pass_of_constraint};
use crate::ddl::column::NewColumn;
use crate::ddl::table::Later;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{RelKind, RelationDesc, oids};
use ir::Expr;
use parser::ast::{ColumnDef, ConstraintKind, LockMode};
use std::sync::Arc;

impl Alter<'_, '_> {
    pub(super) fn add_column(
        &self,
        rel: &Arc<RelationDesc>,
        def: &ColumnDef,
        if_not_exists: bool,
        recurse: bool,
        inherited: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        if rel.is_partition && !inherited {
            bail!(WRONG_OBJECT_TYPE, "cannot add column to a partition");
        }
        if rel.of_type.is_valid() && !inherited {
            bail!(WRONG_OBJECT_TYPE, "cannot add column to typed table");
        }
        if inherited && self.merge_column(rel, def)? {
            return Ok(());
        }
        if crate::ddl::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == def.name) {
            bail!(
                DUPLICATE_COLUMN,
                "column name \"{}\" conflicts with a system column name",
                def.name
            );
        }
        if rel.column_number(&def.name).is_some() {
            let text =
                format!("column \"{}\" of relation \"{}\" already exists", def.name, rel.name);
            if if_not_exists {
                ddl.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, text));
        }
        self.with_work(rel.oid, |_| ())?;
        let number = rel.tuple.natts() as i16 + 1;
        if number > 1600 {
            bail!(TOO_MANY_COLUMNS, "tables can have at most 1600 columns");
        }
        let mut later = Later::default();
        let mut column =
            ddl.table_column(&rel.name, def, number, rel.namespace, rel.persistence, &mut later)?;
        later.warnings.drain(..).for_each(|w| ddl.notice(w));
        ddl.refuse_own_row(rel, column.type_oid)?;
        ddl.check_columns(std::slice::from_ref(&column))?;
        if inherited && !rel.of_type.is_valid() {
            (column.is_local, column.inherit_count) = (false, 1);
        }
        ddl.insert_column(rel.oid, number, &column)?;
        let mut class = ddl.class_row(rel.oid)?;
        class.set_i16("relnatts", number)?;
        ddl.rows.update(class)?;
        self.column_sequences(rel.oid, &later)?;
        for (number, expr, generated) in &later.defaults {
            let stored = ddl.store_default(rel.oid, *number, expr, *generated);
            stored.map_err(|e| e.placed(None))?;
        }
        if rel.kind != RelKind::Composite {
            self.value_for_rows(rel, number, &column)?;
            ddl.create_toast_if_needed(rel.oid)?;
        }
        for (number, name, no_inherit) in &later.not_null {
            ddl.add_not_null(rel.oid, *number, name.as_deref(), *no_inherit, false)?;
            self.with_work(rel.oid, |w| w.not_null.push(*number))?;
        }
        let pending = later.checks.into_iter().chain(later.keys).chain(later.foreign);
        for p in pending {
            let c = p.constraint.into_owned();
            self.more.borrow_mut().push((pass_of_constraint(&c), rel.oid, c, recurse));
        }
        self.add_to_children(rel, def, if_not_exists, recurse)
    }

    fn add_to_children(
        &self,
        rel: &RelationDesc,
        def: &ColumnDef,
        if_not_exists: bool,
        recurse: bool,
    ) -> Result<()> {
        let children = self.children(rel.oid)?;
        let identity =
            |c: &parser::ast::Constraint| matches!(c.kind, ConstraintKind::Identity { .. });
        if recurse
            && rel.partition_key.is_none()
            && !children.is_empty()
            && def.constraints.iter().any(identity)
        {
            bail!(
                INVALID_TABLE_DEFINITION,
                "cannot recursively add identity column to table that has child tables"
            );
        }
        if !children.is_empty() && !recurse {
            bail!(INVALID_TABLE_DEFINITION, "column must be added to child tables too");
        }
        for child in &children {
            // Identities and keys are the parent's own; its checks come to the children with it.
            let mut own = def.clone();
            own.constraints.retain(|c| {
                !matches!(
                    c.kind,
                    ConstraintKind::PrimaryKey(_)
                        | ConstraintKind::Unique(_)
                        | ConstraintKind::ForeignKey(_)
                        | ConstraintKind::Exclude(_)
                        | ConstraintKind::Check(_)
                ) && !c.no_inherit
            });
            // A table may be reached on more than one way.
            let child = self.ddl.view.relation(child.oid)?;
            self.add_column(&child, &own, if_not_exists, true, true)?;
        }
        Ok(())
    }

    /// A child that has the column already only counts one parent more.
    fn merge_column(&self, child: &RelationDesc, def: &ColumnDef) -> Result<bool> {
        let ddl = self.ddl;
        let Some(number) = child.column_number(&def.name) else { return Ok(false) };
        let attr = &child.tuple.attrs[number as usize - 1];
        let Some(name) = &def.type_name else { return Ok(false) };
        let ty = ddl.resolve_type(name)?;
        if attr.type_oid != ty.oid || attr.typmod != ty.typmod {
            bail!(
                DATATYPE_MISMATCH,
                "child table \"{}\" has different type for column \"{}\"",
                child.name,
                def.name
            );
        }
        let mut row = ddl.column_row(child.oid, number)?;
        let count = row.i16("attinhcount")?;
        row.set_i16("attinhcount", count + 1)?;
        ddl.rows.update(row)?;
        ddl.notice(Error::notice(format!(
            "merging definition of column \"{}\" for child \"{}\"",
            def.name, child.name
        )));
        Ok(true)
    }

    /// Sequences made for a column belong to it.
    fn column_sequences(&self, table: Oid, later: &Later<'_>) -> Result<()> {
        for (number, sequence) in &later.sequences {
            let kind = if *number < 0 { DependKind::Internal } else { DependKind::Auto };
            let column = ObjectAddress::column(table, number.abs());
            let own = ObjectAddress::relation(*sequence);
            depend::record(self.ddl.rows, own, column, kind)?;
        }
        Ok(())
    }

    /// What rows that are there have in a new column: NULL, one value for all, or a value
    /// computed for each.
    fn value_for_rows(&self, rel: &RelationDesc, number: i16, column: &NewColumn) -> Result<()> {
        let ddl = self.ddl;
        if column.generated == b'v' || !rel.kind.has_storage() {
            return Ok(());
        }
        let now = ddl.view.relation(rel.oid)?;
        if column.generated == b's' {
            self.row_type_unused(rel)?;
            return self.with_work(rel.oid, |w| w.rewrite = true);
        }
        let env = crate::analysis::env(ddl.env);
        let mut expr = match column.identity {
            0 => analyze::default_of(&env, &now, number)?,
            _ => Some(self.identity_value(rel.oid, number, column.type_oid)?),
        };
        let ty = ddl.view.type_(column.type_oid)?;
        if expr.is_none() && ty.kind == b'd' && ddl.domain_has_constraints(column.type_oid)? {
            expr = Some(null_of_domain(ddl, column)?);
        }
        let Some(expr) = expr else { return Ok(()) };
        if !matches!(&expr, Expr::Const(c) if c.value.is_null()) {
            self.row_type_unused(rel)?;
        }
        if self.is_volatile(&expr) || column.identity != 0 {
            return self.with_work(rel.oid, |w| {
                w.rewrite = true;
                w.values.push((number, expr, false));
            });
        }
        // Rows that are there need not be touched: the value is kept with the column.
        if ty.kind == b'd' && ddl.domain_has_constraints(column.type_oid)? {
            return self.with_work(rel.oid, |w| {
                w.rewrite = true;
                w.values.push((number, expr, false));
            });
        }
        let value = ddl.storage.evaluate(&expr)?;
        if value.is_null() {
            return Ok(());
        }
        self.with_work(rel.oid, |w| w.values.push((number, expr, false)))?;
        ddl.set_missing(rel.oid, number, &value)
    }

    /// The next value of an identity column's sequence.
    pub(super) fn identity_value(&self, table: Oid, number: i16, ty: Oid) -> Result<Expr> {
        let sequence = self.ddl.identity_sequence(table, number)?;
        Ok(Expr::NextValue { sequence, ty })
    }

    pub(super) fn is_volatile(&self, expr: &Expr) -> bool {
        ir::walk::any(expr, &mut |e| {
            let func = match e {
                Expr::Func(f) => f.func,
                Expr::Op(o) => o.func,
                Expr::ScalarArrayOp(o) => o.func,
                Expr::NextValue { .. } => return true,
                _ => return false,
            };
            self.ddl.view.proc(func).is_ok_and(|p| p.volatility == b'v')
        })
    }

    pub(super) fn drop_column(
        &self,
        rel: &Arc<RelationDesc>,
        name: &str,
        missing_ok: bool,
        cascade: bool,
        recurse: bool,
    ) -> Result<()> {
        let mut all = Vec::new();
        self.columns_to_drop(rel, name, missing_ok, recurse, false, &mut all)?;
        if all.is_empty() {
            return Ok(());
        }
        self.ddl.drop_objects(&all, cascade)
    }

    fn columns_to_drop(
        &self,
        rel: &Arc<RelationDesc>,
        name: &str,
        missing_ok: bool,
        recurse: bool,
        inherited: bool,
        all: &mut Vec<ObjectAddress>,
    ) -> Result<()> {
        let ddl = self.ddl;
        if rel.of_type.is_valid() && !inherited {
            bail!(WRONG_OBJECT_TYPE, "cannot drop column from typed table");
        }
        if crate::ddl::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == name)
            && rel.column_number(name).is_none()
        {
            bail!(FEATURE_NOT_SUPPORTED, "cannot drop system column \"{name}\"");
        }
        let Some(n) = rel.column_number(name) else {
            let text = format!("column \"{name}\" of relation \"{}\" does not exist", rel.name);
            if missing_ok {
                ddl.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, text));
        };
        let row = ddl.column_row(rel.oid, n)?;
        if row.i16("attinhcount")? > 0 && !inherited {
            bail!(INVALID_TABLE_DEFINITION, "cannot drop inherited column \"{name}\"");
        }
        if let Some(key) = &rel.partition_key {
            self.not_in_partition_key(rel, key, n, "drop")?;
        }
        let own = ObjectAddress::column(rel.oid, n);
        if !all.contains(&own) {
            all.push(own);
        }
        let children = self.children(rel.oid)?;
        if rel.kind == RelKind::Partitioned && !recurse && !children.is_empty() {
            return Err(err!(
                INVALID_TABLE_DEFINITION,
                "cannot drop column from only the partitioned table when partitions exist"
            )
            .hint("Do not specify the ONLY keyword."));
        }
        for child in children {
            let Some(m) = child.column_number(name) else { continue };
            let mut row = ddl.column_row(child.oid, m)?;
            let count = row.i16("attinhcount")?;
            let typed = child.of_type.is_valid();
            if typed || recurse && count == 1 && !row.bool("attislocal")? {
                self.columns_to_drop(&child, name, false, true, true, all)?;
                continue;
            }
            row.set_i16("attinhcount", (count - 1).max(0))?;
            if !recurse {
                row.set_bool("attislocal", true)?;
            }
            ddl.rows.update(row)?;
        }
        Ok(())
    }

    /// A partition key keeps its columns.
    pub(super) fn not_in_partition_key(
        &self,
        rel: &RelationDesc,
        key: &catalog::PartitionKeyDesc,
        n: i16,
        what: &str,
    ) -> Result<()> {
        let mut used = key.columns.contains(&n);
        if let Some(text) = &key.exprs {
            let exprs: Vec<Expr> = crate::cook::from_text(text)?;
            used |= exprs.iter().any(|e| crate::cook::columns_of(e).contains(&n));
        }
        if used {
            bail!(
                INVALID_TABLE_DEFINITION,
                "cannot {what} column \"{}\" because it is part of the partition key of relation \"{}\"",
                rel.tuple.attrs[n as usize - 1].name,
                rel.name
            );
        }
        Ok(())
    }
}

/// A domain's NULL, which its constraints may refuse.
fn null_of_domain(ddl: &crate::ddl::Ddl<'_>, column: &NewColumn) -> Result<Expr> {
    let base = ddl.base_type(column.type_oid)?;
    let _ = (LockMode::AccessShare, oids::PG_TYPE);
    Ok(Expr::CoerceToDomain {
        arg: Box::new(Expr::null_const(base.oid, -1, column.collation)),
        ty: column.type_oid,
        typmod: -1,
        collation: column.collation,
        form: ir::CoercionForm::ImplicitCast,
        location: None,
    })
}
