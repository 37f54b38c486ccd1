//! CREATE and ALTER STATISTICS: what ANALYZE is to find out about several columns together.

use super::Ddl;
use super::describe::Found;
use super::index::with_code;
use super::name::split;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{RelKind, RelationDesc, SysRow, oids, vector};
use parser::ast::{
    AlterStatisticsStmt, CreateStatisticsStmt, Expr, ExprKind, FromItem, LockMode, Object,
    ObjectDetail, ObjectKind,
};
use std::sync::Arc;
use types::Datum;

/// So many columns and expressions at most.
const MAX_COLUMNS: usize = 8;

/// Columns and expressions, as they are stored.
#[derive(Default)]
pub(super) struct Elements {
    pub columns: Vec<i16>,
    pub exprs: Vec<ir::Expr>,
    /// For the name that is made up.
    pub names: Vec<String>,
}

/// The column that an element is, if it is no more than that.
fn plain_column(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::Column { parts, star: false } if parts.len() == 1 => Some(&parts[0]),
        _ => None,
    }
}

impl Ddl<'_> {
    /// CREATE STATISTICS.
    pub fn create_statistics(&self, stmt: &CreateStatisticsStmt) -> Result<()> {
        let rel = self.statistics_table(stmt)?;
        let (namespace, name) = match &stmt.name {
            Some(name) => {
                let (schema, last) = split(name);
                (self.creation_namespace(schema)?, Some(last.to_string()))
            }
            None => (rel.namespace, None),
        };
        if let Some(name) = &name
            && self.statistics_in(namespace, name)?.is_some()
        {
            let text = format!("statistics object \"{name}\" already exists");
            if !stmt.if_not_exists {
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, text));
            }
            let e = Error::notice(format!("{text}, skipping"));
            self.notice(with_code(e, SqlState::DUPLICATE_OBJECT));
            return Ok(());
        }
        if stmt.elems.len() > MAX_COLUMNS {
            bail!(TOO_MANY_COLUMNS, "cannot have more than {MAX_COLUMNS} columns in statistics");
        }
        let elements = self.statistics_elements(&rel, stmt)?;
        let kinds = statistics_kinds(stmt, &elements)?;
        let name = match name {
            Some(name) => name,
            None => self.choose_statistics_name(&rel, &elements, namespace)?,
        };
        self.insert_statistics(&rel, namespace, &name, &elements, &kinds)?;
        Ok(())
    }

    /// The one table, which the user must own.
    fn statistics_table(&self, stmt: &CreateStatisticsStmt) -> Result<Arc<RelationDesc>> {
        let [item] = stmt.from.as_slice() else {
            bail!(FEATURE_NOT_SUPPORTED, "only a single relation is allowed in CREATE STATISTICS");
        };
        let table = match item {
            FromItem::Table(table) if table.sample.is_none() => table,
            _ => bail!(
                FEATURE_NOT_SUPPORTED,
                "CREATE STATISTICS only supports relation names in the FROM clause"
            ),
        };
        let name = &table.rel;
        let rel = self.view.require_relation(name.schema.as_deref(), &name.name)?;
        self.storage.lock(rel.oid, LockMode::ShareUpdateExclusive)?;
        let rel = self.view.relation(rel.oid)?;
        let fits = matches!(
            rel.kind,
            RelKind::Table | RelKind::MatView | RelKind::Foreign | RelKind::Partitioned
        );
        if !fits {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "cannot define statistics for relation \"{}\"",
                rel.name
            )
            .detail(super::alter::not_supported(rel.kind)));
        }
        self.require_owner_of_relation(&rel)?;
        if rel.oid < Oid::FIRST_NORMAL && !self.settings.bool("allow_system_table_mods") {
            bail!(
                INSUFFICIENT_PRIVILEGE,
                "permission denied: \"{}\" is a system catalog",
                rel.name
            );
        }
        Ok(rel)
    }

    fn statistics_in(&self, namespace: Oid, name: &str) -> Result<Option<Oid>> {
        for row in self.rows.table_scan(oids::PG_STATISTIC_EXT)? {
            if row.oid("stxnamespace")? == namespace && *row.text("stxname")? == *name {
                return Ok(Some(row.oid("oid")?));
            }
        }
        Ok(None)
    }

    fn require_ordering(&self, ty: Oid, what: &str) -> Result<()> {
        if self.view.default_opclass(ty, oids::BTREE_AM)?.is_none() {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "{what} cannot be used in statistics because its type {} has no default btree \
                 operator class",
                self.format_type(ty, -1)
            );
        }
        Ok(())
    }

    fn statistics_elements(
        &self,
        rel: &RelationDesc,
        stmt: &CreateStatisticsStmt,
    ) -> Result<Elements> {
        let mut all = Elements::default();
        for e in &stmt.elems {
            if let Some(name) = plain_column(e) {
                if super::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == name) {
                    bail!(
                        FEATURE_NOT_SUPPORTED,
                        "statistics creation on system columns is not supported"
                    );
                }
                let Some(n) = rel.column_number(name) else {
                    bail!(UNDEFINED_COLUMN, "column \"{name}\" does not exist");
                };
                let attr = &rel.tuple.attrs[n as usize - 1];
                refuse_virtual(rel, &[n])?;
                self.require_ordering(attr.type_oid, &format!("column \"{name}\""))?;
                all.columns.push(n);
                all.names.push(name.to_string());
                continue;
            }
            let env = crate::analysis::env(self.env);
            let made = analyze::relation_expr(&env, rel, e, analyze::ExprUse::Statistics)?;
            let used = crate::cook::columns_of(&made);
            refuse_virtual(rel, &used)?;
            if used.iter().any(|n| *n < 0) {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "statistics creation on system columns is not supported"
                );
            }
            if stmt.elems.len() > 1 {
                self.require_ordering(made.ty(), "expression")?;
            }
            all.exprs.push(made);
            all.names.push("expr".to_string());
        }
        if stmt.elems.len() == 1 && !all.columns.is_empty() {
            bail!(INVALID_OBJECT_DEFINITION, "extended statistics require at least 2 columns");
        }
        all.columns.sort_unstable();
        if all.columns.windows(2).any(|w| w[0] == w[1]) {
            bail!(DUPLICATE_COLUMN, "duplicate column name in statistics definition");
        }
        for (i, e) in all.exprs.iter().enumerate() {
            if all.exprs[..i].iter().any(|o| super::inherit::same_expr(o, e)) {
                bail!(DUPLICATE_COLUMN, "duplicate expression in statistics definition");
            }
        }
        Ok(all)
    }

    pub(super) fn choose_statistics_name(
        &self,
        rel: &RelationDesc,
        elements: &Elements,
        namespace: Oid,
    ) -> Result<String> {
        let joined = super::index::join_names(&elements.names);
        super::name::first_free(&rel.name, Some(&joined), "stat", |name| {
            Ok(self.statistics_in(namespace, name)?.is_none())
        })
    }

    pub(super) fn insert_statistics(
        &self,
        rel: &RelationDesc,
        namespace: Oid,
        name: &str,
        elements: &Elements,
        kinds: &[u8],
    ) -> Result<Oid> {
        let oid = self.rows.new_oid(oids::PG_STATISTIC_EXT)?;
        let mut row = SysRow::new(oids::PG_STATISTIC_EXT)?;
        row.set_oid("oid", oid)?
            .set_oid("stxrelid", rel.oid)?
            .set_text("stxname", name)?
            .set_oid("stxnamespace", namespace)?
            .set_oid("stxowner", self.user())?
            .set("stxkeys", vector::from_i16s(oids::INT2VECTOR, &elements.columns))?
            .set("stxstattarget", Datum::Null)?
            .set("stxkind", vector::from_chars(kinds))?;
        if !elements.exprs.is_empty() {
            row.set_text("stxexprs", &crate::cook::to_text(&elements.exprs)?)?;
        }
        self.rows.insert(row)?;
        let own = ObjectAddress::new(oids::PG_STATISTIC_EXT, oid);
        for n in &elements.columns {
            let column = ObjectAddress::column(rel.oid, *n);
            depend::record(self.rows, own, column, DependKind::Auto)?;
        }
        if elements.columns.is_empty() {
            let table = ObjectAddress::relation(rel.oid);
            depend::record(self.rows, own, table, DependKind::Auto)?;
        }
        for e in &elements.exprs {
            self.depend_expr_kind(own, e, rel.oid, DependKind::Auto)?;
        }
        let schema = ObjectAddress::new(oids::PG_NAMESPACE, namespace);
        depend::record(self.rows, own, schema, DependKind::Normal)?;
        self.depend_owner(own, self.user())?;
        Ok(oid)
    }

    /// ALTER STATISTICS .. SET STATISTICS.
    pub fn alter_statistics(&self, stmt: &AlterStatisticsStmt) -> Result<()> {
        let object = Object {
            kind: ObjectKind::Statistics,
            name: stmt.name.clone(),
            only: false,
            detail: ObjectDetail::None,
        };
        let mut target = stmt.target.unwrap_or(-1);
        if target < -1 {
            bail!(INVALID_PARAMETER_VALUE, "statistics target {target} is too low");
        }
        if target > 10_000 {
            target = 10_000;
            let text = format!("lowering statistics target to {target}");
            let code = SqlState::INVALID_PARAMETER_VALUE;
            self.notice(Error::with_severity(base::Severity::Warning, code, text));
        }
        let a = match self.find_object(&object, stmt.missing_ok)? {
            Found::Object(a) => a,
            Found::Missing(text) => {
                self.notice(Error::notice(format!("{text}, skipping")));
                return Ok(());
            }
        };
        self.require_owner(a)?;
        let mut row = self.row_of(a.class, a.object)?;
        match target {
            -1 => row.set("stxstattarget", Datum::Null)?,
            n => row.set("stxstattarget", Datum::I16(n as i16))?,
        };
        self.rows.update(row)?;
        Ok(())
    }

    /// Before a statistics object goes: what ANALYZE found for it.
    pub(super) fn remove_statistics_data(&self, oid: Oid) -> Result<()> {
        for row in self.rows.table_scan(oids::PG_STATISTIC_EXT_DATA)? {
            if row.oid("stxoid")? == oid {
                self.rows.delete(&row)?;
            }
        }
        Ok(())
    }
}

/// `d` ndistinct, `f` dependencies, `m` most common values, `e` expressions.
fn statistics_kinds(stmt: &CreateStatisticsStmt, elements: &Elements) -> Result<Vec<u8>> {
    let mut given = [false; 3];
    for kind in &stmt.kinds {
        match kind.as_str() {
            "ndistinct" => given[0] = true,
            "dependencies" => given[1] = true,
            "mcv" => given[2] = true,
            other => bail!(SYNTAX_ERROR, "unrecognized statistics kind \"{other}\""),
        }
    }
    let single = elements.columns.is_empty() && elements.exprs.len() == 1;
    if single && !stmt.kinds.is_empty() {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "when building statistics on a single expression, statistics kinds may not be specified"
        );
    }
    if stmt.kinds.is_empty() && !single {
        given = [true; 3];
    }
    let mut kinds: Vec<u8> =
        given.iter().zip(*b"dfm").filter(|(given, _)| **given).map(|(_, k)| k).collect();
    if !elements.exprs.is_empty() {
        kinds.push(b'e');
    }
    Ok(kinds)
}

fn refuse_virtual(rel: &RelationDesc, columns: &[i16]) -> Result<()> {
    match super::generated::has_virtual(rel, columns) {
        true => bail!(
            FEATURE_NOT_SUPPORTED,
            "statistics creation on virtual generated columns is not supported"
        ),
        false => Ok(()),
    }
}
