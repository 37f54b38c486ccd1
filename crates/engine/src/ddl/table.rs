//! CREATE TABLE.

use super::Ddl;
use super::column::NewColumn;
use super::index::with_code;
use super::relation::NewRelation;
use super::reloption::{self, Holder};
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{Persistence, RelKind, SysRow, oids};
use parser::ast::{
    self, ColumnDef, Constraint, ConstraintKind, CreateTableStmt, DefElem, DefValue, TableElement,
};

/// A constraint of the new table, with the column it was written at.
pub(super) struct Pending<'a> {
    pub constraint: std::borrow::Cow<'a, Constraint>,
    pub column: Option<i16>,
}

/// What is done once the table is there.
#[derive(Default)]
pub(super) struct Later<'a> {
    pub not_null: Vec<(i16, Option<String>, bool)>,
    pub defaults: Vec<(i16, ast::Expr, u8)>,
    pub sequences: Vec<(i16, Oid)>,
    pub keys: Vec<Pending<'a>>,
    pub checks: Vec<Pending<'a>>,
    pub foreign: Vec<Pending<'a>>,
    pub likes: Vec<(std::sync::Arc<catalog::RelationDesc>, Vec<ast::LikeOption>)>,
    /// Of the columns' types, which are told once more when the columns are made.
    pub warnings: Vec<base::Error>,
}

impl Later<'_> {
    /// Notes that a column is NOT NULL; what is said twice must be said the same.
    pub fn note_not_null(
        &mut self,
        number: i16,
        column: &str,
        name: Option<String>,
        no_inherit: bool,
        at_table: bool,
    ) -> Result<()> {
        let Some(old) = self.not_null.iter_mut().find(|n| n.0 == number) else {
            self.not_null.push((number, name, no_inherit));
            return Ok(());
        };
        if old.2 != no_inherit {
            let what = match at_table {
                true => "declaration for not-null constraint",
                false => "declarations for not-null constraints",
            };
            bail!(SYNTAX_ERROR, "conflicting NO INHERIT {what} on column \"{column}\"");
        }
        match (&old.1, name) {
            (Some(old), Some(new)) if *old != new => {
                let text = format!("conflicting not-null constraint names \"{old}\" and \"{new}\"");
                return Err(match at_table {
                    true => err!(SYNTAX_ERROR, "{text}"),
                    false => Error::internal(text),
                });
            }
            (None, Some(new)) => old.1 = Some(new),
            _ => {}
        }
        Ok(())
    }
}

impl Ddl<'_> {
    /// A partitioned table has a method only if it is said, for its partitions.
    fn method_of_new(&self, stmt: &CreateTableStmt) -> Result<Oid> {
        let named = stmt.access_method.as_deref();
        if stmt.foreign.is_some() || stmt.partition_by.is_some() && named.is_none() {
            return match (&stmt.partition_of, &stmt.foreign) {
                (Some((parent, _)), None) => self.method_of_parent(parent),
                _ => Ok(Oid::INVALID),
            };
        }
        if let (Some((parent, _)), None) = (&stmt.partition_of, named) {
            let am = self.method_of_parent(parent)?;
            if am.is_valid() {
                return Ok(am);
            }
        }
        self.table_method(named)
    }

    fn method_of_parent(&self, parent: &ast::RelName) -> Result<Oid> {
        Ok(self.view.require_relation(parent.schema.as_deref(), &parent.name)?.am)
    }

    /// CREATE TABLE.
    pub fn create_table(&self, stmt: &CreateTableStmt) -> Result<()> {
        if stmt.foreign.is_some() {
            refuse_foreign_keys(stmt)?;
        }
        let (namespace, persistence) = self.relation_place(&stmt.rel, stmt.persistence)?;
        if stmt.partition_by.is_some() {
            if persistence == Persistence::Unlogged {
                bail!(FEATURE_NOT_SUPPORTED, "partitioned tables cannot be unlogged");
            }
            if !stmt.inherits.is_empty() {
                bail!(
                    INVALID_OBJECT_DEFINITION,
                    "cannot create partitioned table as inheritance child"
                );
            }
            if not_null_constraints(stmt).any(|c| c.no_inherit) {
                bail!(
                    FEATURE_NOT_SUPPORTED,
                    "not-null constraints on partitioned tables cannot be NO INHERIT"
                );
            }
        }
        if self.view.relation_oid_in(namespace, &stmt.rel.name)?.is_some() {
            let text = format!("relation \"{}\" already exists", stmt.rel.name);
            if !stmt.if_not_exists {
                return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
            }
            let e = Error::notice(format!("{text}, skipping"));
            self.notice(with_code(e, SqlState::DUPLICATE_TABLE));
            return Ok(());
        }
        let mut later = Later::default();
        let parents: Vec<ast::RelName> = match &stmt.partition_of {
            Some((parent, _)) => vec![parent.clone()],
            None => stmt.inherits.clone(),
        };
        let mut inherited = self.inherited(&parents, persistence, stmt.partition_of.is_some())?;
        let of_type = self.of_type_columns(stmt, &mut inherited)?;
        let columns = self.table_columns(stmt, &inherited, namespace, persistence, &mut later)?;
        later.warnings.drain(..).for_each(|w| self.notice(w));
        let oid = self.create_relation(NewRelation {
            oid: None,
            name: &stmt.rel.name,
            namespace,
            kind: match (&stmt.partition_by, &stmt.foreign) {
                (Some(_), _) => RelKind::Partitioned,
                (None, Some(_)) => RelKind::Foreign,
                (None, None) => RelKind::Table,
            },
            persistence,
            owner: self.user(),
            am: self.method_of_new(stmt)?,
            tablespace: self.table_tablespace(stmt, &inherited, persistence)?,
            columns: &columns,
            options: match stmt.partition_by {
                Some(_) => reloption::of_partitioned(&stmt.options)?,
                None => reloption::read(&stmt.options, Holder::Table)?,
            },
            of_type,
            is_partition: stmt.partition_of.is_some(),
        })?;
        if of_type.is_valid() {
            let own = ObjectAddress::relation(oid);
            let ty = ObjectAddress::new(oids::PG_TYPE, of_type);
            depend::record(self.rows, own, ty, DependKind::Normal)?;
        }
        if let Some((server, options)) = &stmt.foreign {
            self.insert_foreign_table(oid, server, options)?;
            self.foreign_column_options(oid, stmt)?;
        } else if stmt.partition_by.is_none() {
            self.create_toast_if_needed(oid)?;
            self.toast_options(oid, &stmt.options)?;
        }
        self.on_commit(oid, stmt.on_commit, persistence)?;
        for (i, parent) in inherited.parents.iter().enumerate() {
            let partition = stmt.partition_of.is_some();
            self.insert_inherits(oid, parent.oid, i as i32 + 1, partition)?;
        }
        if let Some((_, bound)) = &stmt.partition_of {
            self.store_bound(oid, &inherited.parents[0], bound)?;
        }
        if let Some(spec) = &stmt.partition_by {
            self.store_partition_key(oid, spec)?;
        }
        self.inherit_defaults(oid, &inherited, &later)?;
        self.finish_table(oid, &mut later, &inherited.parents)?;
        if stmt.partition_of.is_some() {
            self.inherit_indexes(oid, &inherited.parents[0])?;
        }
        Ok(())
    }

    /// Writes the options that are for the TOAST table.
    pub fn toast_options(&self, table: Oid, options: &[DefElem]) -> Result<()> {
        let own = reloption::of_toast(options)?;
        let toast = self.view.relation(table)?.toast;
        match toast.is_valid() && !own.is_empty() {
            true => self.write_options(toast, &own),
            false => Ok(()),
        }
    }

    /// Replaces a relation's options.
    pub fn write_options(&self, oid: Oid, all: &[String]) -> Result<()> {
        let value = match all.is_empty() {
            true => types::Datum::Null,
            false => catalog::vector::from_texts(oids::TEXT, all),
        };
        let mut class = self.class_row(oid)?;
        class.set("reloptions", value)?;
        self.rows.update(class)?;
        Ok(())
    }

    /// Where a new table's files go. A partition goes where its parent says; that a partitioned
    /// table's partitions go where the database's default is cannot be said.
    fn table_tablespace(
        &self,
        stmt: &CreateTableStmt,
        inherited: &super::inherit::Inherited,
        persistence: Persistence,
    ) -> Result<Oid> {
        if let (Some(_), None) = (&stmt.partition_of, &stmt.tablespace) {
            let of_parent = inherited.parents[0].tablespace;
            if of_parent.is_valid() {
                self.require_on_tablespace(&self.row_of(oids::PG_TABLESPACE, of_parent)?)?;
                return Ok(of_parent);
            }
        }
        match (&stmt.tablespace, persistence) {
            (None, Persistence::Temp) => self.temp_tablespace(),
            (name, _) => self.tablespace_of(name.as_deref(), stmt.partition_by.is_some()),
        }
    }

    fn foreign_column_options(&self, table: Oid, stmt: &CreateTableStmt) -> Result<()> {
        for e in &stmt.elements {
            let TableElement::Column(def) = e else { continue };
            if def.fdw_options.is_empty() {
                continue;
            }
            if let Some(n) = self.view.relation(table)?.column_number(&def.name) {
                self.alter_column_options(table, n, &def.fdw_options)?;
            }
        }
        Ok(())
    }

    /// The schema and the persistence: a temporary table is in the session's own schema.
    pub fn relation_place(
        &self,
        rel: &ast::RelName,
        persistence: ast::Persistence,
    ) -> Result<(Oid, Persistence)> {
        let own = self.view.context().temp_namespace;
        if persistence == ast::Persistence::Temporary || rel.schema.as_deref() == Some("pg_temp") {
            if rel.schema.as_deref().is_some_and(|s| s != "pg_temp") {
                return Err(err!(
                    INVALID_TABLE_DEFINITION,
                    "cannot create temporary relation in non-temporary schema"
                )
                .at(rel.pos));
            }
            if persistence == ast::Persistence::Unlogged {
                return Err(err!(
                    INVALID_TABLE_DEFINITION,
                    "only temporary relations may be created in temporary schemas"
                )
                .at(rel.pos));
            }
            let Some(own) = own else {
                return Err(Error::internal("the session has no temporary schema"));
            };
            return Ok((own, Persistence::Temp));
        }
        let namespace = self.relation_namespace(rel).map_err(|e| match e.code() {
            // Told when the relation is made.
            SqlState::INSUFFICIENT_PRIVILEGE if e.fields().detail.is_some() => e,
            _ => e.at(rel.pos),
        })?;
        let persistence = match persistence {
            ast::Persistence::Unlogged => Persistence::Unlogged,
            _ if Some(namespace) == own => Persistence::Temp,
            _ => Persistence::Permanent,
        };
        Ok((namespace, persistence))
    }

    fn table_columns<'s>(
        &self,
        stmt: &'s CreateTableStmt,
        inherited: &super::inherit::Inherited,
        namespace: Oid,
        persistence: Persistence,
        later: &mut Later<'s>,
    ) -> Result<Vec<NewColumn>> {
        let mut columns: Vec<NewColumn> = inherited.columns.clone();
        let count = columns.len();
        let mut own_place = 0;
        let mut merged: Vec<usize> = Vec::new();
        let mut told: Vec<&str> = Vec::new();
        for element in &stmt.elements {
            match element {
                TableElement::Column(def) if def.type_name.is_none() => {
                    let place = (namespace, persistence);
                    if told.contains(&&*def.name) {
                        bail!(DUPLICATE_COLUMN, "column \"{}\" specified more than once", def.name);
                    }
                    told.push(&def.name);
                    self.told_column(stmt, def, &mut columns, place, later)?;
                }
                TableElement::Column(def) => {
                    own_place += 1;
                    let found = columns[..count].iter().position(|c| c.name == def.name);
                    let number = match found {
                        Some(at) => at as i16 + 1,
                        None => columns.len() as i16 + 1,
                    };
                    let column = self.table_column(
                        &stmt.rel.name,
                        def,
                        number,
                        namespace,
                        persistence,
                        later,
                    )?;
                    match found.filter(|at| !merged.contains(at)) {
                        Some(at) => {
                            merged.push(at);
                            let moved = at + 1 != own_place;
                            self.merge_own_column(&mut columns[at], column, moved)?;
                        }
                        None => columns.push(column),
                    }
                }
                TableElement::Like(like) => {
                    let foreign = stmt.foreign.is_some();
                    self.like(like, foreign, count, &mut merged, &mut columns, later)?;
                }
                TableElement::Constraint(c) => {
                    sort_constraint(
                        Pending { constraint: std::borrow::Cow::Borrowed(c), column: None },
                        later,
                    )?;
                }
            }
        }
        // Table constraints name columns that come later, so NOT NULL is resolved at the end.
        let named: Vec<(String, Option<String>, bool)> = stmt
            .elements
            .iter()
            .filter_map(|e| match e {
                TableElement::Constraint(c) => match &c.kind {
                    ConstraintKind::NotNull(Some(column)) => {
                        Some((column.clone(), c.name.clone(), c.no_inherit))
                    }
                    _ => None,
                },
                _ => None,
            })
            .collect();
        for (column, name, no_inherit) in named {
            let Some(i) = columns.iter().position(|c| c.name == column) else {
                let table = &stmt.rel.name;
                bail!(
                    UNDEFINED_COLUMN,
                    "column \"{column}\" of relation \"{table}\" does not exist"
                );
            };
            later.note_not_null(i as i16 + 1, &column, name, no_inherit, true)?;
        }
        let at_table = |name: &str| {
            not_null_constraints(stmt)
                .any(|c| matches!(&c.kind, ConstraintKind::NotNull(Some(n)) if n == name))
        };
        self.mark_not_null(&mut columns, later, &at_table)?;
        Ok(columns)
    }

    /// What PARTITION OF or OF says of a column that the table has anyway.
    fn told_column<'s>(
        &self,
        stmt: &'s CreateTableStmt,
        def: &'s ColumnDef,
        columns: &mut [NewColumn],
        (namespace, persistence): (Oid, Persistence),
        later: &mut Later<'s>,
    ) -> Result<()> {
        let Some(at) = columns.iter().position(|c| c.name == def.name) else {
            bail!(UNDEFINED_COLUMN, "column \"{}\" does not exist", def.name);
        };
        let mut column = columns[at].clone();
        (column.has_default, column.generated, column.identity) = (false, 0, 0);
        self.column_options(
            &stmt.rel.name,
            def,
            &mut column,
            at as i16 + 1,
            namespace,
            persistence,
            later,
        )?;
        if stmt.partition_of.is_some() {
            if column.identity != 0 {
                bail!(FEATURE_NOT_SUPPORTED, "identity columns are not supported on partitions");
            }
            super::inherit::check_generation(&columns[at], &column)?;
        } else if column.generated != 0 || column.identity != 0 {
            let what = if column.generated != 0 { "generated" } else { "identity" };
            bail!(FEATURE_NOT_SUPPORTED, "{what} columns are not supported on typed tables");
        }
        column.has_default |= columns[at].has_default;
        (column.generated, column.identity) = (columns[at].generated, columns[at].identity);
        columns[at] = column;
        Ok(())
    }

    /// Columns are made NOT NULL at once, so that no second version of their rows is needed.
    fn mark_not_null(
        &self,
        columns: &mut [NewColumn],
        later: &mut Later<'_>,
        told_at_table: &dyn Fn(&str) -> bool,
    ) -> Result<()> {
        let mut keyed = Vec::new();
        for p in &later.keys {
            let ConstraintKind::PrimaryKey(key) = &p.constraint.kind else { continue };
            for name in &key.columns {
                if let Some(i) = columns.iter().position(|c| c.name == *name) {
                    let at_table = p.column.is_none() || told_at_table(name);
                    keyed.push((i as i16 + 1, name.clone(), at_table));
                }
            }
        }
        for (number, name, at_table) in keyed {
            later.note_not_null(number, &name, None, false, at_table)?;
        }
        for (n, _, _) in &later.not_null {
            columns[*n as usize - 1].not_null = true;
        }
        Ok(())
    }

    pub(super) fn table_column<'s>(
        &self,
        table: &str,
        def: &'s ColumnDef,
        number: i16,
        namespace: Oid,
        persistence: Persistence,
        later: &mut Later<'s>,
    ) -> Result<NewColumn> {
        let Some(type_name) = &def.type_name else {
            bail!(SYNTAX_ERROR, "column \"{}\" has no type", def.name);
        };
        let serial = serial_type(type_name);
        let t = match serial {
            Some(oid) => super::type_name::ResolvedType { oid, typmod: -1, ndims: 0 },
            None => {
                let (t, warning) = self.resolve_warned(type_name)?;
                later.warnings.extend(warning);
                t
            }
        };
        let mut column = NewColumn::new(&def.name, t, self.column_collation(def, t.oid)?);
        column.storage = def.storage.as_deref().map(storage_letter).transpose()?.flatten();
        if column.storage.is_some_and(|s| s != b'p') && self.view.type_(t.oid)?.storage == b'p' {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "column data type {} can only have storage PLAIN",
                self.format_type(t.oid, -1)
            );
        }
        if let Some(method) = &def.compression {
            column.compression = self.compression_letter(t.oid, method)?;
        }
        if serial.is_some() {
            let seq = self.serial_sequence(table, def, t.oid, namespace, persistence)?;
            later.sequences.push((number, seq));
            later.not_null.push((number, None, false));
            column.has_default = true;
            let default = self.nextval_expr(seq)?;
            later.defaults.push((number, default, 0));
        }
        self.column_options(table, def, &mut column, number, namespace, persistence, later)?;
        Ok(column)
    }

    #[allow(clippy::too_many_arguments)]
    fn column_options<'s>(
        &self,
        table: &str,
        def: &'s ColumnDef,
        column: &mut NewColumn,
        number: i16,
        namespace: Oid,
        persistence: Persistence,
        later: &mut Later<'s>,
    ) -> Result<()> {
        let plain_default =
            |later: &Later<'_>| later.defaults.iter().any(|d| d.0 == number && d.2 == 0);
        let serial = plain_default(later);
        let mut nullable = false;
        for c in &def.constraints {
            let not_null = later.not_null.iter().any(|n| n.0 == number);
            let clashes = match c.kind {
                ConstraintKind::Null => not_null,
                ConstraintKind::NotNull(_)
                | ConstraintKind::PrimaryKey(_)
                | ConstraintKind::Identity { .. } => nullable,
                _ => false,
            };
            nullable |= matches!(c.kind, ConstraintKind::Null);
            if clashes {
                return Err(err!(
                    SYNTAX_ERROR,
                    "conflicting NULL/NOT NULL declarations for column \"{}\" of table \
                     \"{table}\"",
                    def.name
                )
                .at(c.pos));
            }
            let twice = match c.kind {
                ConstraintKind::Generated { .. } if column.generated != 0 => {
                    Some("multiple generation clauses specified")
                }
                ConstraintKind::Identity { .. } if column.identity != 0 => {
                    Some("multiple identity specifications")
                }
                _ => None,
            };
            let clash = |clash: &str| {
                let name = &def.name;
                err!(SYNTAX_ERROR, "{clash} for column \"{name}\" of table \"{table}\"").at(c.pos)
            };
            if let Some(twice) = twice {
                return Err(clash(twice));
            }
            self.column_constraint(table, column, number, c, namespace, persistence, later)?;
            let default = plain_default(later);
            match (default, column.identity != 0, column.generated != 0) {
                (true, true, _) => {
                    let e = clash("both default and identity specified");
                    return Err(if serial { e.placed(None) } else { e });
                }
                (true, _, true) => {
                    return Err(clash("both default and generation expression specified"));
                }
                (_, true, true) => {
                    return Err(clash("both identity and generation expression specified"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn column_collation(&self, def: &ColumnDef, type_oid: Oid) -> Result<Oid> {
        let own = self.view.type_(type_oid)?.collation;
        match &def.collation {
            None => Ok(own),
            Some(name) => {
                let found = self.collation(name)?;
                if !own.is_valid() {
                    return Err(err!(
                        DATATYPE_MISMATCH,
                        "collations are not supported by type {}",
                        self.format_type(type_oid, -1)
                    )
                    .at(name.pos));
                }
                Ok(found)
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn column_constraint<'s>(
        &self,
        table: &str,
        column: &mut NewColumn,
        number: i16,
        c: &'s Constraint,
        namespace: Oid,
        persistence: Persistence,
        later: &mut Later<'s>,
    ) -> Result<()> {
        match &c.kind {
            ConstraintKind::Null => Ok(()),
            ConstraintKind::NotNull(_) => {
                let name = c.name.clone();
                later.note_not_null(number, &column.name, name, c.no_inherit, false)
            }
            ConstraintKind::Default(e) => {
                if column.has_default {
                    let e = err!(
                        SYNTAX_ERROR,
                        "multiple default values specified for column \"{}\" of table \"{}\"",
                        column.name,
                        table
                    );
                    return Err(e.at(c.pos));
                }
                column.has_default = true;
                later.defaults.push((number, (**e).clone(), 0));
                Ok(())
            }
            ConstraintKind::Identity { always, options } => {
                let seq = self.create_owned_sequence(
                    table,
                    &column.name,
                    column.type_oid,
                    namespace,
                    persistence,
                    options,
                )?;
                column.identity = if *always { b'a' } else { b'd' };
                later.sequences.push((-number, seq));
                if !later.not_null.iter().any(|n| n.0 == number) {
                    later.not_null.push((number, None, false));
                }
                Ok(())
            }
            ConstraintKind::Generated { expr, stored, .. } => {
                column.generated = if *stored { b's' } else { b'v' };
                column.has_default = true;
                later.defaults.push((number, (**expr).clone(), column.generated));
                Ok(())
            }
            _ => {
                let mut own = c.clone();
                match &mut own.kind {
                    ConstraintKind::Unique(k) | ConstraintKind::PrimaryKey(k) => {
                        k.columns = vec![column.name.clone()];
                    }
                    ConstraintKind::ForeignKey(f) => f.columns = vec![column.name.clone()],
                    _ => {}
                }
                let constraint = std::borrow::Cow::Owned(own);
                sort_constraint(Pending { constraint, column: Some(number) }, later)
            }
        }
    }

    fn finish_table(
        &self,
        oid: Oid,
        later: &mut Later<'_>,
        parents: &[std::sync::Arc<catalog::RelationDesc>],
    ) -> Result<()> {
        for (number, sequence) in &later.sequences {
            let kind = if *number < 0 { DependKind::Internal } else { DependKind::Auto };
            let column = ObjectAddress::column(oid, number.abs());
            let own = ObjectAddress::relation(*sequence);
            depend::record(self.rows, own, column, kind)?;
        }
        for (number, expr, generated) in &later.defaults {
            self.store_default(oid, *number, expr, *generated)?;
        }
        let written = later.checks.iter().chain(&later.keys).chain(&later.foreign);
        let taken: Vec<String> = written.filter_map(|p| p.constraint.name.clone()).collect();
        for (number, name, no_inherit) in &later.not_null {
            self.add_not_null_beside(oid, *number, name.as_deref(), *no_inherit, &taken)?;
        }
        for p in &later.checks {
            if let ConstraintKind::Check(e) = &p.constraint.kind {
                self.add_check(oid, &p.constraint, e, false)?;
            }
        }
        for parent in parents {
            self.inherit_constraints(oid, parent)?;
        }
        for (source, options) in &later.likes {
            self.expand_like(oid, source, options)?;
        }
        for p in &drop_redundant_keys(std::mem::take(&mut later.keys)) {
            match &p.constraint.kind {
                ConstraintKind::PrimaryKey(k) => {
                    let added = self.add_key(oid, &p.constraint, k, true, false);
                    let copied = !later.likes.is_empty();
                    added.map_err(|e| if copied { e.placed(None) } else { e })?
                }
                ConstraintKind::Unique(k) => self.add_key(oid, &p.constraint, k, false, false)?,
                ConstraintKind::Exclude(x) => self.add_exclude(oid, &p.constraint, x, false)?,
                _ => {}
            }
        }
        for p in &later.foreign {
            if let ConstraintKind::ForeignKey(f) = &p.constraint.kind {
                self.add_foreign_key(oid, &p.constraint, f)?;
            }
        }
        Ok(())
    }

    /// Writes a column's default or generation expression; a constant NULL is none.
    pub fn store_default(
        &self,
        table: Oid,
        attnum: i16,
        expr: &ast::Expr,
        generated: u8,
    ) -> Result<()> {
        let rel = self.view.relation(table)?;
        let cooked = crate::cook::default_expr(self, &rel, attnum, expr, generated)?;
        self.store_cooked_default(table, attnum, &cooked, generated)
    }

    /// As [`Ddl::store_default`] of a column that is not generated; NULL is no default.
    pub fn store_default_unless_null(
        &self,
        table: Oid,
        attnum: i16,
        expr: &ast::Expr,
    ) -> Result<()> {
        let rel = self.view.relation(table)?;
        let cooked = crate::cook::default_expr(self, &rel, attnum, expr, 0)?;
        match &cooked {
            ir::Expr::Const(c) if c.value.is_null() => Ok(()),
            _ => self.store_cooked_default(table, attnum, &cooked, 0),
        }
    }

    /// As [`Ddl::store_default`], of an analysed expression.
    pub fn store_cooked_default(
        &self,
        table: Oid,
        attnum: i16,
        cooked: &ir::Expr,
        generated: u8,
    ) -> Result<()> {
        let oid = self.rows.new_oid(oids::PG_ATTRDEF)?;
        let mut row = SysRow::new(oids::PG_ATTRDEF)?;
        row.set_oid("oid", oid)?
            .set_oid("adrelid", table)?
            .set_i16("adnum", attnum)?
            .set_text("adbin", &crate::cook::to_text(cooked)?)?;
        self.rows.insert(row)?;
        let mut column = self.column_row(table, attnum)?;
        if !column.bool("atthasdef")? {
            column.set_bool("atthasdef", true)?;
            self.rows.update(column)?;
        }
        let own = ObjectAddress::new(oids::PG_ATTRDEF, oid);
        let column = ObjectAddress::column(table, attnum);
        let kind = if generated == 0 { DependKind::Auto } else { DependKind::Internal };
        depend::record(self.rows, own, column, kind)?;
        self.depend_kept_expr(own, cooked, table, DependKind::Normal)
    }
}

/// The NOT NULLs that a definition writes.
fn not_null_constraints(stmt: &CreateTableStmt) -> impl Iterator<Item = &Constraint> {
    let all = stmt.elements.iter().flat_map(|e| match e {
        TableElement::Column(def) => def.constraints.as_slice(),
        TableElement::Constraint(c) => std::slice::from_ref(c),
        _ => &[],
    });
    all.filter(|c| matches!(c.kind, ConstraintKind::NotNull(_)))
}

/// A foreign table has no keys: nobody watches over its rows.
fn refuse_foreign_keys(stmt: &CreateTableStmt) -> Result<()> {
    let mut all: Vec<&Constraint> = Vec::new();
    for e in &stmt.elements {
        match e {
            TableElement::Column(def) => all.extend(&def.constraints),
            TableElement::Constraint(c) => all.push(c),
            _ => {}
        }
    }
    for c in all {
        let what = match &c.kind {
            ConstraintKind::PrimaryKey(_) => "primary key",
            ConstraintKind::Unique(_) => "unique",
            ConstraintKind::ForeignKey(_) => "foreign key",
            ConstraintKind::Exclude(_) => "exclusion",
            _ => continue,
        };
        let text = format!("{what} constraints are not supported on foreign tables");
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, text).at(c.pos));
    }
    Ok(())
}

/// The primary key comes first; a key that says the same as one before it is left out, and gives
/// it its name.
fn drop_redundant_keys(keys: Vec<Pending<'_>>) -> Vec<Pending<'_>> {
    let primary = |p: &Pending<'_>| matches!(p.constraint.kind, ConstraintKind::PrimaryKey(_));
    let (first, others): (Vec<_>, Vec<_>) = keys.into_iter().partition(primary);
    let mut kept = first;
    for key in others {
        match kept.iter_mut().find(|k| is_same_key(&k.constraint, &key.constraint)) {
            Some(before) if before.constraint.name.is_none() => {
                before.constraint.to_mut().name = key.constraint.name.clone();
            }
            Some(_) => {}
            None => kept.push(key),
        }
    }
    kept
}

/// True if two keys are over the same columns in the same way.
fn is_same_key(a: &Constraint, b: &Constraint) -> bool {
    let key = |c: &Constraint| match &c.kind {
        ConstraintKind::PrimaryKey(k) | ConstraintKind::Unique(k) if k.index.is_none() => {
            Some((k.columns.clone(), k.including.clone(), k.nulls_not_distinct, k.without_overlaps))
        }
        _ => None,
    };
    key(a).is_some()
        && key(a) == key(b)
        && (a.deferrable, a.initially_deferred) == (b.deferrable, b.initially_deferred)
}

/// Puts a constraint where its turn comes.
fn sort_constraint<'s>(mut p: Pending<'s>, later: &mut Later<'s>) -> Result<()> {
    // No row of a new table can violate it.
    if p.constraint.not_valid {
        p.constraint.to_mut().not_valid = false;
    }
    let list = match &p.constraint.kind {
        ConstraintKind::Check(_) => &mut later.checks,
        ConstraintKind::Unique(_) | ConstraintKind::PrimaryKey(_) | ConstraintKind::Exclude(_) => {
            &mut later.keys
        }
        ConstraintKind::ForeignKey(_) => &mut later.foreign,
        _ => return Ok(()),
    };
    let _ = p.column;
    list.push(p);
    Ok(())
}

/// The integer type of `serial` and its relatives.
fn serial_type(name: &ast::TypeName) -> Option<Oid> {
    if !name.array_bounds.is_empty() || name.names.len() != 1 {
        return None;
    }
    match name.names[0].as_str() {
        "serial" | "serial4" => Some(oids::INT4),
        "bigserial" | "serial8" => Some(oids::INT8),
        "smallserial" | "serial2" => Some(oids::INT2),
        _ => None,
    }
}

/// A storage's letter; DEFAULT is none.
pub fn storage_letter(word: &str) -> Result<Option<u8>> {
    Ok(Some(match word.to_ascii_lowercase().as_str() {
        "plain" => b'p',
        "external" => b'e',
        "extended" => b'x',
        "main" => b'm',
        "default" => return Ok(None),
        _ => bail!(INVALID_PARAMETER_VALUE, "invalid storage type \"{word}\""),
    }))
}

/// What a Boolean option's text means.
pub fn bool_text(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&*text);
    match () {
        () if text == "1" || begins("true", 1) || begins("yes", 1) || text == "on" => Some(true),
        () if text == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2) => {
            Some(false)
        }
        () => None,
    }
}

/// An option's value as text.
pub fn def_text(option: &DefElem) -> Option<String> {
    match option.value.as_ref()? {
        DefValue::String(s) | DefValue::Float(s) => Some(s.clone()),
        DefValue::Integer(n) => Some(n.to_string()),
        DefValue::Bool(b) => Some(if *b { "true" } else { "false" }.to_string()),
        DefValue::Type(t) => t.names.last().cloned(),
        DefValue::Names(n) => Some(n.join(", ")),
        _ => None,
    }
}
