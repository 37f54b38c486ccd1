//! ALTER COLUMN: defaults, NOT NULL, generation, statistics, storage.

use super::Alter;
use crate::ddl::table::{def_text, storage_letter};
use base::{Error, Result, SqlState, bail, err};
use catalog::depend::ObjectAddress;
use catalog::{RelKind, RelationDesc, indexes, oids, vector};
use parser::ast::{self, DefElem};
use std::sync::Arc;
use types::Datum;

impl Alter<'_, '_> {
    /// The number of the column that a command names; system columns are refused.
    pub(super) fn column(&self, rel: &RelationDesc, column: &str) -> Result<i16> {
        if let Some(n) = rel.column_number(column) {
            return Ok(n);
        }
        if rel.kind != RelKind::View
            && crate::ddl::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == column)
        {
            bail!(FEATURE_NOT_SUPPORTED, "cannot alter system column \"{column}\"");
        }
        crate::ddl::column::named(rel, column)
    }

    /// SET DEFAULT and (with none) DROP DEFAULT.
    pub(super) fn set_default(
        &self,
        rel: &Arc<RelationDesc>,
        column: &str,
        default: Option<&ast::Expr>,
        recurse: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        let n = self.column(rel, column)?;
        let attr = &rel.tuple.attrs[n as usize - 1];
        if attr.identity != 0 {
            let e = err!(
                SYNTAX_ERROR,
                "column \"{column}\" of relation \"{}\" is an identity column",
                rel.name
            );
            return Err(match default {
                Some(_) => e,
                None => e.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."),
            });
        }
        if attr.generated != 0 {
            let e = err!(
                SYNTAX_ERROR,
                "column \"{column}\" of relation \"{}\" is a generated column",
                rel.name
            );
            return Err(match default {
                Some(_) => e.hint("Use ALTER TABLE ... ALTER COLUMN ... SET EXPRESSION instead."),
                None if attr.generated == b's' => {
                    e.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
                }
                None => e,
            });
        }
        self.remove_default(rel, n)?;
        if let Some(default) = default {
            ddl.store_default_unless_null(rel.oid, n, default)?;
        }
        if recurse {
            for child in self.children(rel.oid)? {
                if child.column_number(column).is_some() {
                    self.set_default(&child, column, default, true)?;
                }
            }
        }
        Ok(())
    }

    /// Removes a column's default or generation expression, if it has one.
    pub(super) fn remove_default(&self, rel: &RelationDesc, n: i16) -> Result<()> {
        let key = [Datum::U32(rel.oid.0), Datum::I16(n)];
        for row in self.ddl.rows.index_scan(indexes::PG_ATTRDEF_ADRELID, &key)? {
            let a = ObjectAddress::new(oids::PG_ATTRDEF, row.oid("oid")?);
            // The default itself goes, even if it is a part of its column.
            self.ddl.remove_one(a)?;
        }
        Ok(())
    }

    pub(super) fn set_not_null(
        &self,
        rel: &Arc<RelationDesc>,
        column: &str,
        recurse: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        let n = self.column(rel, column)?;
        if let Some(c) = rel.constraints.iter().find(|c| c.kind == b'n' && c.columns == [n]) {
            if c.no_inherit && recurse && !self.children(rel.oid)?.is_empty() {
                bail!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "cannot change NO INHERIT status of NOT NULL constraint \"{}\" on relation \
                     \"{}\"",
                    c.name,
                    rel.name
                );
            }
            if !c.is_local {
                let mut row = ddl.constraint_row(c.oid)?;
                row.set_bool("conislocal", true)?;
                ddl.rows.update(row)?;
            }
            if !c.validated {
                return self.validate_constraint(rel, c.name.as_ref(), recurse);
            }
            return Ok(());
        }
        let children = self.children(rel.oid)?;
        if !recurse && !children.is_empty() && rel.kind == RelKind::Partitioned {
            return Err(err!(
                INVALID_TABLE_DEFINITION,
                "constraint must be added to child tables too"
            )
            .hint("Do not specify the ONLY keyword."));
        }
        self.with_work(rel.oid, |w| w.not_null.push(n))?;
        ddl.add_not_null(rel.oid, n, None, false, false)?;
        if recurse {
            let made = ddl.view.relation(rel.oid)?;
            let name = made
                .constraints
                .iter()
                .find(|c| c.kind == b'n' && c.columns == [n])
                .map(|c| c.name.to_string());
            for child in children {
                self.inherit_not_null(&child, column, name.as_deref(), true)?;
            }
        }
        Ok(())
    }

    /// A child gets its parent's NOT NULL.
    pub(super) fn inherit_not_null(
        &self,
        child: &Arc<RelationDesc>,
        column: &str,
        name: Option<&str>,
        valid: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        let Some(n) = child.column_number(column) else { return Ok(()) };
        // A table may be reached on more than one way.
        let child = &ddl.view.relation(child.oid)?;
        let found = child.constraints.iter().find(|c| c.kind == b'n' && c.columns == [n]);
        match found {
            Some(c) if c.no_inherit => return Err(inheritance_fixed(&c.name, &child.name)),
            Some(c) => {
                let mut row = ddl.constraint_row(c.oid)?;
                let count = row.i16("coninhcount")?;
                row.set_i16("coninhcount", count + 1)?;
                ddl.rows.update(row)?;
                if !c.validated && valid {
                    self.validate_constraint(child, c.name.as_ref(), true)?;
                }
            }
            None => {
                if valid {
                    self.with_work(child.oid, |w| w.not_null.push(n))?;
                }
                let free = name.filter(|n| !child.constraints.iter().any(|c| &*c.name == *n));
                ddl.add_not_null(child.oid, n, free, false, false)?;
                let made = ddl.view.relation(child.oid)?;
                if let Some(c) =
                    made.constraints.iter().find(|c| c.kind == b'n' && c.columns == [n])
                {
                    let mut row = ddl.constraint_row(c.oid)?;
                    row.set_i16("coninhcount", 1)?
                        .set_bool("conislocal", false)?
                        .set_bool("convalidated", valid)?;
                    ddl.rows.update(row)?;
                }
                for grandchild in self.children(child.oid)? {
                    self.inherit_not_null(&grandchild, column, name, valid)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn drop_not_null(
        &self,
        rel: &Arc<RelationDesc>,
        column: &str,
        recurse: bool,
    ) -> Result<()> {
        let n = self.column(rel, column)?;
        let attr = &rel.tuple.attrs[n as usize - 1];
        if attr.identity != 0 {
            bail!(
                SYNTAX_ERROR,
                "column \"{column}\" of relation \"{}\" is an identity column",
                rel.name
            );
        }
        for index in &rel.indexes {
            if !index.columns[..usize::from(index.n_keys)].contains(&n) {
                continue;
            }
            if index.is_primary {
                bail!(INVALID_TABLE_DEFINITION, "column \"{column}\" is in a primary key");
            }
            if index.is_replica_identity {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "column \"{column}\" is in index used as replica identity"
                );
            }
        }
        if rel.is_partition
            && let Some(parent) = rel.parents.first()
        {
            let parent = self.ddl.view.relation(*parent)?;
            if let Some(m) = parent.column_number(column)
                && parent.tuple.attrs[m as usize - 1].not_null
            {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "column \"{column}\" is marked NOT NULL in parent table"
                );
            }
        }
        let found = rel.constraints.iter().find(|c| c.kind == b'n' && c.columns == [n]);
        match found {
            Some(c) => self.drop_constraint(rel, c.name.as_ref(), false, false, recurse),
            None => Ok(()),
        }
    }

    pub(super) fn set_expression(
        &self,
        rel: &Arc<RelationDesc>,
        column: &str,
        expr: &ast::Expr,
        recurse: bool,
    ) -> Result<()> {
        let n = self.column(rel, column)?;
        let attr = rel.tuple.attrs[n as usize - 1].clone();
        if attr.generated == b'v' && rel.constraints.iter().any(|c| c.kind == b'c') {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "ALTER TABLE / SET EXPRESSION is not supported for virtual generated columns in \
                 tables with check constraints"
            )
            .detail(format!(
                "Column \"{column}\" of relation \"{}\" is a virtual generated column.",
                rel.name
            )));
        }
        if attr.generated == 0 {
            bail!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "column \"{column}\" of relation \"{}\" is not a generated column",
                rel.name
            );
        }
        self.with_work(rel.oid, |_| ())?;
        self.remove_default(rel, n)?;
        self.ddl.store_default(rel.oid, n, expr, attr.generated)?;
        if attr.generated == b's' {
            if rel.kind.has_storage() {
                self.row_type_unused(rel)?;
            }
            self.with_work(rel.oid, |w| w.rewrite = true)?;
        } else if attr.not_null {
            self.with_work(rel.oid, |w| w.not_null.push(n))?;
        }
        self.remember_dependents(rel, n)?;
        for child in if recurse { self.children(rel.oid)? } else { Vec::new() } {
            self.set_expression(&child, column, expr, true)?;
        }
        Ok(())
    }

    pub(super) fn drop_expression(
        &self,
        rel: &Arc<RelationDesc>,
        column: &str,
        missing_ok: bool,
        recurse: bool,
    ) -> Result<()> {
        let n = self.column(rel, column)?;
        let attr = rel.tuple.attrs[n as usize - 1].clone();
        let children = self.children(rel.oid)?;
        if !recurse && !children.is_empty() {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "ALTER TABLE / DROP EXPRESSION must be applied to child tables too"
            );
        }
        if self.ddl.column_row(rel.oid, n)?.i16("attinhcount")? > 0 {
            bail!(
                INVALID_TABLE_DEFINITION,
                "cannot drop generation expression from inherited column"
            );
        }
        if attr.generated == b'v' {
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "ALTER TABLE / DROP EXPRESSION is not supported for virtual generated columns"
            )
            .detail(format!(
                "Column \"{column}\" of relation \"{}\" is a virtual generated column.",
                rel.name
            )));
        }
        if attr.generated == 0 {
            let text = format!(
                "column \"{column}\" of relation \"{}\" is not a generated column",
                rel.name
            );
            if missing_ok {
                self.ddl.skip_notice(format!("{text}, skipping"));
                return Ok(());
            }
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, text));
        }
        self.remove_default(rel, n)?;
        let mut row = self.ddl.column_row(rel.oid, n)?;
        row.set_char("attgenerated", 0)?;
        self.ddl.rows.update(row)?;
        for child in children {
            let Some(m) = child.column_number(column) else { continue };
            self.remove_default(&child, m)?;
            let mut row = self.ddl.column_row(child.oid, m)?;
            row.set_char("attgenerated", 0)?;
            self.ddl.rows.update(row)?;
        }
        Ok(())
    }

    pub(super) fn set_statistics(
        &self,
        rel: &RelationDesc,
        column: &std::result::Result<String, i32>,
        target: Option<i32>,
    ) -> Result<()> {
        let n = match column {
            Ok(name) => {
                let n = self.column(rel, name)?;
                if matches!(rel.kind, RelKind::Index | RelKind::PartitionedIndex) {
                    bail!(
                        FEATURE_NOT_SUPPORTED,
                        "cannot alter statistics on column \"{name}\" of index \"{}\"",
                        rel.name
                    );
                }
                n
            }
            Err(number) => {
                let index = matches!(rel.kind, RelKind::Index | RelKind::PartitionedIndex);
                if !index {
                    bail!(FEATURE_NOT_SUPPORTED, "cannot refer to non-index column by number");
                }
                let n = i16::try_from(*number).unwrap_or(0);
                if n <= 0 || n as usize > rel.tuple.natts() {
                    bail!(
                        UNDEFINED_COLUMN,
                        "column number {number} of relation \"{}\" does not exist",
                        rel.name
                    );
                }
                let plain = rel.index.as_ref().is_some_and(|i| i.columns[n as usize - 1] != 0);
                if plain {
                    return Err(err!(
                        FEATURE_NOT_SUPPORTED,
                        "cannot alter statistics on non-expression column \"{}\" of index \"{}\"",
                        rel.tuple.attrs[n as usize - 1].name,
                        rel.name
                    )
                    .hint("Alter statistics on table column instead."));
                }
                n
            }
        };
        let mut value = target.filter(|t| *t != -1);
        if let Some(t) = value {
            if t < 0 {
                bail!(INVALID_PARAMETER_VALUE, "statistics target {t} is too low");
            }
            if t > 10000 {
                self.ddl.notice(Error::with_severity(
                    base::Severity::Warning,
                    SqlState::INVALID_PARAMETER_VALUE,
                    "lowering statistics target to 10000",
                ));
                value = Some(10000);
            }
        }
        let mut row = self.ddl.column_row(rel.oid, n)?;
        row.set("attstattarget", value.map_or(Datum::Null, |t| Datum::I16(t as i16)))?;
        self.ddl.rows.update(row)?;
        Ok(())
    }

    pub(super) fn set_column_options(
        &self,
        rel: &RelationDesc,
        column: &str,
        options: &[DefElem],
        reset: bool,
    ) -> Result<()> {
        let n = self.column(rel, column)?;
        let mut row = self.ddl.column_row(rel.oid, n)?;
        let mut all = row.texts("attoptions")?.unwrap_or_default();
        for o in options {
            if !matches!(o.name.as_str(), "n_distinct" | "n_distinct_inherited") {
                bail!(INVALID_PARAMETER_VALUE, "unrecognized parameter \"{}\"", o.name);
            }
            all.retain(|a| a.split('=').next() != Some(o.name.as_str()));
            if reset {
                continue;
            }
            let value = def_text(o).unwrap_or_else(|| "true".into());
            let number: f64 = value.parse().map_err(|_| {
                err!(
                    INVALID_PARAMETER_VALUE,
                    "invalid value for floating point option \"{}\": {value}",
                    o.name
                )
            })?;
            if number < -1.0 {
                return Err(err!(
                    INVALID_PARAMETER_VALUE,
                    "value {value} out of bounds for option \"{}\"",
                    o.name
                )
                .detail("Valid values are between \"-1.000000\" and \"179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558632766878171540458953514382464234321326889464182768467546703537516986049910576551282076245490090389328944075868508455133942304583236903222948165808559332123347747.000000\"."));
            }
            all.push(format!("{}={value}", o.name));
        }
        let value = match all.is_empty() {
            true => Datum::Null,
            false => vector::from_texts(oids::TEXT, &all),
        };
        row.set("attoptions", value)?;
        self.ddl.rows.update(row)?;
        Ok(())
    }

    pub(super) fn set_storage(
        &self,
        rel: &RelationDesc,
        column: &str,
        storage: &str,
        recurse: bool,
    ) -> Result<()> {
        let n = self.column(rel, column)?;
        let attr = &rel.tuple.attrs[n as usize - 1];
        let ty = self.ddl.view.type_(attr.type_oid)?;
        let letter = storage_letter(storage)?.unwrap_or(ty.storage);
        if letter != b'p' && ty.storage == b'p' {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "column data type {} can only have storage PLAIN",
                self.ddl.format_type(attr.type_oid, -1)
            );
        }
        let mut row = self.ddl.column_row(rel.oid, n)?;
        row.set_char("attstorage", letter)?;
        self.ddl.rows.update(row)?;
        for index in &rel.indexes {
            for (i, _) in index.columns.iter().enumerate().filter(|(_, c)| **c == n) {
                let mut row = self.ddl.column_row(index.oid, i as i16 + 1)?;
                row.set_char("attstorage", letter)?;
                self.ddl.rows.update(row)?;
            }
        }
        self.ddl.create_toast_if_needed(rel.oid)?;
        if recurse {
            for child in self.children(rel.oid)? {
                self.set_storage(&child, column, storage, true)?;
            }
        }
        Ok(())
    }

    pub(super) fn set_compression(
        &self,
        rel: &RelationDesc,
        column: &str,
        method: &str,
    ) -> Result<()> {
        let n = self.column(rel, column)?;
        let attr = &rel.tuple.attrs[n as usize - 1];
        let letter = self.ddl.compression_letter(attr.type_oid, method)?;
        let mut row = self.ddl.column_row(rel.oid, n)?;
        row.set_char("attcompression", letter)?;
        self.ddl.rows.update(row)?;
        Ok(())
    }
}

/// A NOT NULL that children do not inherit cannot become one that they do by another command.
pub(super) fn inheritance_fixed(constraint: &str, table: &str) -> Error {
    err!(
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "cannot change NO INHERIT status of NOT NULL constraint \"{constraint}\" on relation \
         \"{table}\""
    )
    .hint(
        "You might need to make the existing constraint inheritable using ALTER TABLE ... ALTER \
         CONSTRAINT ... INHERIT.",
    )
}
