//! CREATE INDEX, and the making of indexes for keys and TOAST tables.

use super::column::NewColumn;
use super::relation::NewRelation;
use super::type_name::ResolvedType;
use super::{BuiltIndex, Ddl};
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::privilege::{Grantable, Rights};
use catalog::{OpclassDesc, Persistence, RelKind, RelationDesc, SysRow, oids, vector};
use parser::ast::{self, CreateIndexStmt, LockMode};
use std::sync::Arc;
use types::Datum;

/// A key or INCLUDEd column of a new index.
#[derive(Clone, Debug)]
pub struct IndexKey {
    /// The table's column, or 0 for an expression.
    pub attnum: i16,
    /// Name of the index's own column; empty takes the table's.
    pub name: String,
    /// The type indexed.
    pub type_oid: Oid,
    /// Its modifier.
    pub typmod: i32,
    /// Operator class.
    pub opclass: Oid,
    /// Collation.
    pub collation: Oid,
    /// `indoption`: 1 DESC, 2 NULLS FIRST.
    pub option: i16,
}

impl IndexKey {
    /// A plain ascending column without collation.
    pub fn column(attnum: i16, type_oid: Oid, opclass: Oid) -> IndexKey {
        IndexKey {
            attnum,
            name: String::new(),
            type_oid,
            typmod: -1,
            opclass,
            collation: Oid::INVALID,
            option: 0,
        }
    }
}

/// An index to be made.
pub struct NewIndex {
    /// Its table.
    pub table: Oid,
    /// Its name.
    pub name: String,
    /// Its schema: that of the table.
    pub namespace: Oid,
    /// Access method.
    pub am: Oid,
    /// Tablespace; 0 is the database's.
    pub tablespace: Oid,
    /// Key columns.
    pub keys: Vec<IndexKey>,
    /// INCLUDEd columns.
    pub including: Vec<IndexKey>,
    /// UNIQUE
    pub unique: bool,
    /// NULLS NOT DISTINCT
    pub nulls_not_distinct: bool,
    /// PRIMARY KEY
    pub primary: bool,
    /// Not DEFERRABLE.
    pub immediate: bool,
    /// The constraint it is for: kind (`p`, `u`), DEFERRABLE, INITIALLY DEFERRED.
    pub constraint: Option<(u8, bool, bool)>,
    /// The operators of an exclusion constraint, by key.
    pub exclusion: Vec<Oid>,
    /// JSON of the expressions.
    pub exprs: Option<String>,
    /// JSON of the predicate.
    pub predicate: Option<String>,
    /// `name=value` items.
    pub options: Vec<String>,
    /// ONLY: partitions get theirs by ATTACH, until when the index is not valid.
    pub only: bool,
}

impl Ddl<'_> {
    /// Makes an index and fills it; gives its OID.
    pub fn create_index(&self, new: NewIndex) -> Result<Oid> {
        let table = self.view.relation(new.table)?;
        let all: Vec<&IndexKey> = new.keys.iter().chain(&new.including).collect();
        if all.len() > 32 {
            bail!(TOO_MANY_COLUMNS, "cannot use more than 32 columns in an index");
        }
        if new.unique || !new.exclusion.is_empty() {
            let what = match (new.primary, new.unique) {
                (true, _) => "PRIMARY KEY",
                (_, true) => "UNIQUE",
                _ => "EXCLUDE",
            };
            self.check_unique_key(&table, &new.keys, what)?;
        }
        let columns = self.index_columns(&table, &all)?;
        let oid = self.create_relation(NewRelation {
            oid: None,
            name: &new.name,
            namespace: new.namespace,
            kind: match table.kind {
                RelKind::Partitioned => RelKind::PartitionedIndex,
                _ => RelKind::Index,
            },
            persistence: table.persistence,
            owner: table.owner,
            am: new.am,
            tablespace: new.tablespace,
            columns: &columns,
            options: new.options.clone(),
            of_type: Oid::INVALID,
            is_partition: false,
        })?;
        self.insert_index_row(oid, &new, &all)?;
        self.note_class(new.table, &|class| {
            let known = class.bool("relhasindex")?;
            class.set_bool("relhasindex", true)?;
            Ok(!known)
        })?;
        self.depend_index(oid, &new, &all)?;
        let table = self.view.relation(new.table)?;
        if let Some(index) = table.indexes.iter().find(|i| i.oid == oid)
            && table.kind != RelKind::Partitioned
        {
            let built = self.storage.build_index(&table, index)?;
            self.note_sizes(&table, oid, &built)?;
        }
        if table.kind == RelKind::Partitioned {
            match new.only {
                true => self.await_partitions(table.oid, oid)?,
                false => self.index_partitions(table.oid, oid)?,
            }
        }
        Ok(oid)
    }

    /// Changes a table's row of `pg_class`; others that make indexes of the same table need not
    /// wait until the transaction ends. `change` tells whether there was something to change.
    fn note_class(&self, table: Oid, change: &dyn Fn(&mut SysRow) -> Result<bool>) -> Result<()> {
        let mut class = self.class_row(table)?;
        let tid = class.tid;
        let changed = change(&mut class)?;
        if changed && (tid == base::Tid::INVALID || !self.storage.note_index(table, tid, change)?) {
            self.rows.update(class)?;
        }
        Ok(())
    }

    /// What was counted while an index was built is what plans are made with until the next VACUUM
    /// or ANALYZE.
    fn note_sizes(&self, table: &RelationDesc, index: Oid, built: &BuiltIndex) -> Result<()> {
        let mut own = self.class_row(index)?;
        own.set_i32("relpages", built.pages as i32)?.set_f32("reltuples", built.entries as f32)?;
        self.rows.update(own)?;
        // Those who keep autovacuum away have statistics of their own.
        if !self.settings.bool("autovacuum") || crate::autovacuum::is_off_for(table) {
            return Ok(());
        }
        self.note_class(table.oid, &|class| {
            let old = (class.i32("relpages")?, class.f32("reltuples")?);
            // Of an empty table nothing is known yet.
            let rows = if built.rows == 0 && old.1 < 0.0 { -1.0 } else { built.rows as f32 };
            let new = (built.table_pages as i32, rows);
            class.set_i32("relpages", new.0)?.set_f32("reltuples", new.1)?;
            Ok(old != new)
        })
    }

    fn index_columns(&self, table: &RelationDesc, keys: &[&IndexKey]) -> Result<Vec<NewColumn>> {
        let mut columns: Vec<NewColumn> = Vec::new();
        let wanted = keys.iter().map(|key| match key.attnum {
            n if !key.name.is_empty() || n <= 0 => key.name.clone(),
            n => table.tuple.attrs[n as usize - 1].name.to_string(),
        });
        for (name, key) in distinct_names(wanted.collect()).into_iter().zip(keys) {
            if key.attnum == 0 && self.view.type_(key.type_oid)?.kind == b'p' {
                let shown = self.format_type(key.type_oid, -1);
                bail!(INVALID_TABLE_DEFINITION, "column \"{name}\" has pseudo-type {shown}");
            }
            // The opclass may store another type than it indexes.
            let class = self.view.opclass(key.opclass).ok();
            let stored = class.map_or(Oid::INVALID, |c| c.key_type);
            let type_oid = match stored.is_valid() && key.opclass.is_valid() {
                true if stored == oids::CSTRING => oids::NAME,
                true => stored,
                false => key.type_oid,
            };
            let t = ResolvedType { oid: type_oid, typmod: key.typmod, ndims: 0 };
            let collation = match key.collation.is_valid() {
                true => key.collation,
                false => Oid::INVALID,
            };
            let mut column = NewColumn::new(&name, t, collation);
            // A column is held as it is in the table.
            if key.attnum > 0 {
                let attr = &table.tuple.attrs[key.attnum as usize - 1];
                column.storage = (attr.type_oid == type_oid).then_some(attr.storage);
            }
            columns.push(column);
        }
        Ok(columns)
    }

    fn insert_index_row(&self, oid: Oid, new: &NewIndex, all: &[&IndexKey]) -> Result<()> {
        let numbers: Vec<i16> = all.iter().map(|k| k.attnum).collect();
        let keys = |f: fn(&IndexKey) -> Oid| new.keys.iter().map(f).collect::<Vec<Oid>>();
        let options: Vec<i16> = new.keys.iter().map(|k| k.option).collect();
        let mut row = SysRow::new(oids::PG_INDEX)?;
        row.set_oid("indexrelid", oid)?
            .set_oid("indrelid", new.table)?
            .set_i16("indnatts", all.len() as i16)?
            .set_i16("indnkeyatts", new.keys.len() as i16)?
            .set_bool("indisunique", new.unique)?
            .set_bool("indnullsnotdistinct", new.nulls_not_distinct)?
            .set_bool("indisprimary", new.primary)?
            .set_bool("indisexclusion", !new.exclusion.is_empty())?
            .set_bool("indimmediate", new.immediate)?
            .set_bool("indisvalid", true)?
            .set_bool("indisready", true)?
            .set_bool("indislive", true)?
            .set("indkey", vector::from_i16s(oids::INT2VECTOR, &numbers))?
            .set("indcollation", vector::from_oids(oids::OIDVECTOR, &keys(|k| k.collation)))?
            .set("indclass", vector::from_oids(oids::OIDVECTOR, &keys(|k| k.opclass)))?
            .set("indoption", vector::from_i16s(oids::INT2VECTOR, &options))?
            .set_opt_text("indexprs", new.exprs.as_deref())?
            .set_opt_text("indpred", new.predicate.as_deref())?;
        self.rows.insert(row)?;
        Ok(())
    }

    /// An index goes with the columns it has, or is a part of its constraint.
    fn depend_index(&self, oid: Oid, new: &NewIndex, all: &[&IndexKey]) -> Result<()> {
        let own = ObjectAddress::relation(oid);
        if let Some((kind, deferrable, deferred)) = new.constraint {
            let columns: Vec<i16> = new.keys.iter().map(|k| k.attnum).collect();
            for text in [&new.exprs].into_iter().flatten() {
                let exprs: Vec<ir::Expr> = crate::cook::from_text(text)?;
                for e in &exprs {
                    self.require_index_types(e)?;
                    self.depend_expr_kind(own, e, new.table, DependKind::Auto)?;
                }
            }
            if let Some(text) = &new.predicate {
                let predicate: ir::Expr = crate::cook::from_text(text)?;
                self.depend_expr_kind(own, &predicate, new.table, DependKind::Auto)?;
            }
            let constraint = self.insert_constraint(super::key::NewConstraint {
                index: oid,
                deferrable,
                deferred,
                columns,
                no_inherit: true,
                exclusion: new.exclusion.clone(),
                ..super::key::NewConstraint::new(&new.name, new.namespace, kind, new.table)
            })?;
            let constraint = ObjectAddress::new(oids::PG_CONSTRAINT, constraint);
            return depend::record(self.rows, own, constraint, DependKind::Internal);
        }
        let mut any = false;
        for key in all.iter().filter(|k| k.attnum > 0) {
            any = true;
            let column = ObjectAddress::column(new.table, key.attnum);
            depend::record(self.rows, own, column, DependKind::Auto)?;
        }
        if let Some(text) = &new.exprs {
            let exprs: Vec<ir::Expr> = crate::cook::from_text(text)?;
            for e in &exprs {
                any |= !crate::cook::columns_of(e).is_empty();
                self.require_index_types(e)?;
                self.depend_expr_kind(own, e, new.table, DependKind::Auto)?;
            }
        }
        if let Some(text) = &new.predicate {
            let predicate: ir::Expr = crate::cook::from_text(text)?;
            any |= !crate::cook::columns_of(&predicate).is_empty();
            self.require_index_types(&predicate)?;
            self.depend_expr_kind(own, &predicate, new.table, DependKind::Auto)?;
        }
        if !any {
            let table = ObjectAddress::relation(new.table);
            depend::record(self.rows, own, table, DependKind::Auto)?;
        }
        for key in &new.keys {
            let class = ObjectAddress::new(oids::PG_OPCLASS, key.opclass);
            depend::record(self.rows, own, class, DependKind::Normal)?;
            if key.collation.is_valid() && key.collation != oids::DEFAULT_COLLATION {
                let collation = ObjectAddress::new(oids::PG_COLLATION, key.collation);
                depend::record(self.rows, own, collation, DependKind::Normal)?;
            }
        }
        Ok(())
    }

    /// The operator class for a column: the one named, or the type's default.
    pub fn choose_opclass(
        &self,
        am: Oid,
        am_name: &str,
        type_oid: Oid,
        name: Option<&ast::Name>,
    ) -> Result<Arc<OpclassDesc>> {
        if let Some(name) = name {
            let (schema, last) = super::name::split(name);
            return self.view.opclass_named(am, schema, last)?.ok_or_else(|| {
                err!(
                    UNDEFINED_OBJECT,
                    "operator class \"{}\" does not exist for access method \"{am_name}\"",
                    name.parts.join(".")
                )
            });
        }
        self.view.default_opclass(type_oid, am)?.ok_or_else(|| {
            let shown = self.format_type(type_oid, -1);
            err!(
                UNDEFINED_OBJECT,
                "data type {shown} has no default operator class for access method \"{am_name}\""
            )
            .hint(
                "You must specify an operator class for the index or define a default operator \
                 class for the data type.",
            )
        })
    }

    /// A column's collation, if its type has one.
    pub fn index_key_of(
        &self,
        table: &RelationDesc,
        attnum: i16,
        am: Oid,
        am_name: &str,
    ) -> Result<IndexKey> {
        let attr = &table.tuple.attrs[attnum as usize - 1];
        let class = self.choose_opclass(am, am_name, attr.type_oid, None)?;
        let mut key = IndexKey::column(attnum, attr.type_oid, class.oid);
        key.typmod = attr.typmod;
        key.collation = attr.collation;
        Ok(key)
    }

    /// CREATE INDEX.
    pub fn create_index_stmt(&self, stmt: &CreateIndexStmt) -> Result<()> {
        let schema = stmt.rel.schema.as_deref();
        let table = self.view.require_relation(schema, &stmt.rel.name)?;
        self.storage.lock(table.oid, LockMode::Share)?;
        let table = self.view.relation(table.oid)?;
        self.require_owner_of_relation(&table)?;
        if !matches!(table.kind, RelKind::Table | RelKind::MatView | RelKind::Partitioned) {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "cannot create index on relation \"{}\"",
                table.name
            )
            .detail(match table.kind {
                RelKind::Toast => "This operation is not supported for TOAST tables.".into(),
                kind => format!("This operation is not supported for {}s.", kind.noun()),
            }));
        }
        if stmt.concurrently && table.kind == RelKind::Partitioned {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "cannot create index on partitioned table \"{}\" concurrently",
                table.name
            );
        }
        self.check_unused(&table, "CREATE INDEX")?;
        let am_name = match stmt.access_method.as_str() {
            "" => "btree",
            name => name,
        };
        let am = access_method(am_name)?;
        let name = self.index_name(stmt, &table)?;
        if self.view.relation_oid_in(table.namespace, &name)?.is_some() {
            if stmt.if_not_exists {
                let e = Error::notice(format!("relation \"{name}\" already exists, skipping"));
                self.notice(with_code(e, base::SqlState::DUPLICATE_TABLE));
                return Ok(());
            }
            bail!(DUPLICATE_TABLE, "relation \"{name}\" already exists");
        }
        let mut exprs = Vec::new();
        let mut keys = Vec::new();
        for elem in &stmt.elems {
            keys.push(self.index_elem(&table, elem, am, am_name, &mut exprs)?);
        }
        let mut including = Vec::new();
        for elem in &stmt.including {
            including.push(self.included_elem(&table, elem)?);
        }
        let predicate = match &stmt.predicate {
            Some(p) => {
                let text = crate::cook::index_predicate(self, &table, p)?;
                let made: ir::Expr = crate::cook::from_text(&text)?;
                if crate::cook::columns_of(&made).iter().any(|n| *n < 0) {
                    return Err(on_system_columns());
                }
                Some(text)
            }
            None => None,
        };
        let exprs = match exprs.is_empty() {
            true => None,
            false => Some(crate::cook::to_text(&exprs)?),
        };
        self.create_index(NewIndex {
            table: table.oid,
            name,
            namespace: table.namespace,
            am,
            tablespace: self.tablespace_for(stmt.tablespace.as_deref(), table.persistence)?,
            keys,
            including,
            unique: stmt.unique,
            nulls_not_distinct: stmt.nulls_not_distinct,
            primary: false,
            immediate: true,
            constraint: None,
            exclusion: Vec::new(),
            exprs,
            predicate,
            options: super::reloption::read(&stmt.options, super::reloption::Holder::Index)?,
            only: stmt.only,
        })?;
        Ok(())
    }

    fn index_name(&self, stmt: &CreateIndexStmt, table: &RelationDesc) -> Result<String> {
        if let Some(name) = &stmt.name {
            return Ok(name.clone());
        }
        let mut parts: Vec<String> = Vec::new();
        for elem in stmt.elems.iter().chain(&stmt.including) {
            parts.push(elem_name(elem));
        }
        let joined = join_names(&distinct_names(parts));
        self.choose_relation_name(&table.name, Some(&joined), "idx", table.namespace)
    }

    pub(super) fn index_elem(
        &self,
        table: &RelationDesc,
        elem: &ast::IndexElem,
        am: Oid,
        am_name: &str,
        exprs: &mut Vec<ir::Expr>,
    ) -> Result<IndexKey> {
        let bare = match elem.expr.as_ref().map(|e| &e.kind) {
            Some(ast::ExprKind::Column { parts, star: false }) => match parts.as_slice() {
                [one] => table.column_number(one).and(Some(one)),
                _ => None,
            },
            _ => None,
        };
        // A column in parentheses is the column.
        let mut key = match elem.name.as_ref().or(bare) {
            Some(name) => {
                if table.column_number(name).is_none()
                    && super::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == *name)
                {
                    return Err(on_system_columns());
                }
                let attnum = table
                    .column_number(name)
                    .ok_or_else(|| err!(UNDEFINED_COLUMN, "column \"{name}\" does not exist"))?;
                let attr = &table.tuple.attrs[attnum as usize - 1];
                self.refuse_virtual(table, &[attnum], "indexes")?;
                let mut key = IndexKey::column(attnum, attr.type_oid, Oid::INVALID);
                key.typmod = attr.typmod;
                key.collation = attr.collation;
                key
            }
            None => {
                let Some(e) = &elem.expr else {
                    return Err(Error::internal("an index element without column and expression"));
                };
                let cooked = crate::cook::index_expr(self, table, e)?;
                let used = crate::cook::columns_of(&cooked);
                if used.iter().any(|n| *n < 0) {
                    return Err(on_system_columns());
                }
                self.refuse_virtual(table, &used, "indexes")?;
                let mut key = IndexKey::column(0, cooked.ty(), Oid::INVALID);
                key.name = elem_name(elem);
                key.collation = cooked.collation();
                match without_collate(cooked) {
                    ir::Expr::Var(v) if v.attno > 0 => {
                        (key.attnum, key.typmod) = (v.attno, v.typmod);
                    }
                    cooked => exprs.push(cooked),
                }
                key
            }
        };
        if let Some(name) = &elem.collation {
            key.collation = self.collation(name).map_err(|e| e.placed(None))?;
        }
        self.check_collation(key.type_oid, key.collation, "index")?;
        let class = self.choose_opclass(am, am_name, key.type_oid, elem.opclass.as_ref())?;
        key.opclass = class.oid;
        self.check_byte_order(&class, key.collation)?;
        key.option = elem_option(elem);
        Ok(key)
    }

    /// Fails unless a key has a collation if, and only if, its type has collations.
    pub(super) fn check_collation(&self, ty: Oid, collation: Oid, of: &str) -> Result<()> {
        match (self.view.type_(ty)?.collation.is_valid(), collation.is_valid()) {
            (true, false) => Err(err!(
                INDETERMINATE_COLLATION,
                "could not determine which collation to use for {of} expression"
            )
            .hint("Use the COLLATE clause to set the collation explicitly.")),
            (false, true) => {
                let shown = self.format_type(ty, -1);
                bail!(DATATYPE_MISMATCH, "collations are not supported by type {shown}")
            }
            _ => Ok(()),
        }
    }

    /// Fails if an index would find bytes where a collation calls others equal.
    fn check_byte_order(&self, class: &catalog::OpclassDesc, collation: Oid) -> Result<()> {
        // Those of text, varchar and bpchar.
        if !matches!(class.oid.0, 4217..=4219) {
            return Ok(());
        }
        match self.view.find_collation(collation)? {
            Some(c) if !c.is_deterministic => bail!(
                FEATURE_NOT_SUPPORTED,
                "nondeterministic collations are not supported for operator class \"{}\"",
                class.name
            ),
            _ => Ok(()),
        }
    }

    fn included_elem(&self, table: &RelationDesc, elem: &ast::IndexElem) -> Result<IndexKey> {
        let Some(name) = &elem.name else {
            bail!(FEATURE_NOT_SUPPORTED, "expressions are not supported in included columns");
        };
        self.included_column(table, name)
    }

    /// An INCLUDEd column, by name.
    pub fn included_column(&self, table: &RelationDesc, name: &str) -> Result<IndexKey> {
        let attnum = table
            .column_number(name)
            .ok_or_else(|| err!(UNDEFINED_COLUMN, "column \"{name}\" does not exist"))?;
        let attr = &table.tuple.attrs[attnum as usize - 1];
        let mut key = IndexKey::column(attnum, attr.type_oid, Oid::INVALID);
        key.typmod = attr.typmod;
        Ok(key)
    }

    /// A collation's OID, by name.
    pub fn collation(&self, name: &ast::Name) -> Result<Oid> {
        let (schema, last) = super::name::split(name);
        let found = self.view.collation_named(schema, last)?;
        found.map(|c| c.oid).ok_or_else(|| {
            err!(
                UNDEFINED_OBJECT,
                "collation \"{}\" for encoding \"UTF8\" does not exist",
                name.parts.join(".")
            )
            .at(name.pos)
        })
    }

    /// Fails unless the user may make things in a tablespace.
    pub(super) fn require_on_tablespace(&self, row: &SysRow) -> Result<()> {
        let acl = row.acl("spcacl")?;
        let (kind, owner) = (Grantable::Tablespace, row.oid("spcowner")?);
        let rights = Rights { kind, owner, acl: acl.as_deref() };
        match rights.of(&self.view, self.user(), catalog::acl::bit(b'C'))? {
            0 => Err(super::grant::permission_denied("tablespace", &row.text("spcname")?)),
            _ => Ok(()),
        }
    }

    /// A tablespace's OID; the database's default, and none given, are 0.
    pub fn tablespace(&self, name: Option<&str>) -> Result<Oid> {
        self.tablespace_of(name, false)
    }

    /// The same for a relation that is kept so long: what is temporary goes its own ways.
    pub fn tablespace_for(&self, name: Option<&str>, persistence: Persistence) -> Result<Oid> {
        match (name, persistence) {
            (None, Persistence::Temp) => self.temp_tablespace(),
            _ => self.tablespace(name),
        }
    }

    /// One of `temp_tablespaces`, among those that are there and may be used; 0 is the database's
    /// default.
    pub fn temp_tablespace(&self) -> Result<Oid> {
        let default = self.view.database(self.view.context().database)?.tablespace;
        let mut spaces = Vec::new();
        let names = self.settings.str("temp_tablespaces");
        for name in crate::settings::split_list(names).unwrap_or_default() {
            if name.is_empty() {
                spaces.push(Oid::INVALID);
                continue;
            }
            let key = [Datum::text(&name)];
            let found = self.rows.index_scan(catalog::indexes::PG_TABLESPACE_NAME, &key)?;
            let Some(row) = found.first() else { continue };
            let oid = row.oid("oid")?;
            if oid == default {
                spaces.push(Oid::INVALID);
            } else if oid != oids::PG_GLOBAL && self.require_on_tablespace(row).is_ok() {
                spaces.push(oid);
            }
        }
        match spaces.len() {
            0 => Ok(Oid::INVALID),
            n => Ok(spaces[os::random::u64() as usize % n]),
        }
    }

    /// As [`Ddl::tablespace`]; `partitioned`: of what has no files, where the default cannot be
    /// told from nothing said.
    pub fn tablespace_of(&self, name: Option<&str>, partitioned: bool) -> Result<Oid> {
        let asked = name.unwrap_or(self.settings.str("default_tablespace"));
        if asked.is_empty() && name.is_none() {
            return Ok(Oid::INVALID);
        }
        let key = [Datum::text(asked)];
        let found = self.rows.index_scan(catalog::indexes::PG_TABLESPACE_NAME, &key)?;
        let Some(row) = found.first() else {
            // The setting may name one that is gone.
            if name.is_none() {
                return Ok(Oid::INVALID);
            }
            bail!(UNDEFINED_OBJECT, "tablespace \"{asked}\" does not exist");
        };
        let oid = row.oid("oid")?;
        let default = self.view.database(self.view.context().database)?.tablespace;
        if oid == default && partitioned {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "cannot specify default tablespace for partitioned relations"
            );
        }
        if oid != default {
            self.require_on_tablespace(row)?;
        }
        if oid == oids::PG_GLOBAL {
            bail!(
                INVALID_PARAMETER_VALUE,
                "only shared relations can be placed in pg_global tablespace"
            );
        }
        Ok(if oid == default { Oid::INVALID } else { oid })
    }
}

fn on_system_columns() -> Error {
    err!(FEATURE_NOT_SUPPORTED, "index creation on system columns is not supported")
}

/// A notice or error with another code.
pub fn with_code(mut e: Error, code: base::SqlState) -> Error {
    e.fields_mut().code = code;
    e
}

/// The access method of this name that indexes can be made with.
pub fn access_method(name: &str) -> Result<Oid> {
    match name {
        "btree" => Ok(oids::BTREE_AM),
        "hash" | "gin" | "gist" | "spgist" | "brin" => {
            Err(Error::unsupported(format!("access method \"{name}\"")))
        }
        _ => Err(err!(UNDEFINED_OBJECT, "access method \"{name}\" does not exist")),
    }
}

/// `indoption` of an element: DESC puts nulls first unless said otherwise.
fn elem_option(elem: &ast::IndexElem) -> i16 {
    let desc = matches!(elem.dir, ast::SortDir::Desc);
    let nulls_first = match elem.nulls {
        ast::NullsOrder::First => true,
        ast::NullsOrder::Last => false,
        ast::NullsOrder::Default => desc,
    };
    i16::from(desc) | (i16::from(nulls_first) << 1)
}

/// What an element's own column is called.
pub(super) fn elem_name(elem: &ast::IndexElem) -> String {
    if let Some(name) = &elem.name {
        return name.clone();
    }
    elem.expr.as_ref().map_or_else(|| "expr".to_string(), analyze::index_column_name)
}

/// Names of an index's columns: one that was there before gets a number.
pub(super) fn distinct_names(wanted: Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for base in wanted {
        let mut name = base.clone();
        let mut n = 0;
        while names.contains(&name) {
            n += 1;
            let number = n.to_string();
            let room = super::name::MAX_NAME - number.len();
            name = format!("{}{number}", super::name::clip(&base, room));
        }
        names.push(name);
    }
    names
}

/// What an expression is of, whatever its collation: that is the key's.
pub(super) fn without_collate(mut e: ir::Expr) -> ir::Expr {
    while let ir::Expr::Collate { arg, .. } = e {
        e = *arg;
    }
    e
}

/// Names joined by underscores, as long as they fit a name.
pub fn join_names(parts: &[String]) -> String {
    let mut out = String::new();
    for part in parts {
        if !out.is_empty() {
            out.push('_');
        }
        out.push_str(part);
        if out.len() >= super::name::MAX_NAME {
            break;
        }
    }
    super::name::clip(&out, super::name::MAX_NAME).to_string()
}
