//! Constraints: `pg_constraint` rows; NOT NULL, CHECK, PRIMARY KEY and UNIQUE.

use super::Ddl;
use super::index::{IndexKey, NewIndex};
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ForeignKey, RelationDesc, SysRow, oids, vector};
use parser::ast::{self, KeyConstraint};
use types::Datum;

/// A constraint to be recorded.
#[derive(Clone, Debug)]
pub struct NewConstraint {
    /// Its name.
    pub name: String,
    /// Its schema.
    pub namespace: Oid,
    /// `c`, `f`, `n`, `p` or `u`.
    pub kind: u8,
    /// The table, or 0.
    pub relation: Oid,
    /// The domain, or 0.
    pub domain: Oid,
    /// DEFERRABLE
    pub deferrable: bool,
    /// INITIALLY DEFERRED
    pub deferred: bool,
    /// ENFORCED
    pub enforced: bool,
    /// Not NOT VALID.
    pub validated: bool,
    /// Its index, or 0.
    pub index: Oid,
    /// NO INHERIT
    pub no_inherit: bool,
    /// Defined here.
    pub is_local: bool,
    /// How many parents have it.
    pub inherit_count: i16,
    /// The constraint it was made from, or 0.
    pub parent: Oid,
    /// Columns concerned.
    pub columns: Vec<i16>,
    /// The operators of an exclusion constraint.
    pub exclusion: Vec<Oid>,
    /// What a foreign key has more.
    pub foreign: Option<ForeignKey>,
    /// JSON of a check.
    pub expr: Option<String>,
}

impl NewConstraint {
    /// One that is enforced, valid and not deferrable.
    pub fn new(name: &str, namespace: Oid, kind: u8, relation: Oid) -> NewConstraint {
        NewConstraint {
            name: name.to_string(),
            namespace,
            kind,
            relation,
            domain: Oid::INVALID,
            deferrable: false,
            deferred: false,
            enforced: true,
            validated: true,
            index: Oid::INVALID,
            no_inherit: false,
            is_local: true,
            inherit_count: 0,
            parent: Oid::INVALID,
            columns: Vec::new(),
            exclusion: Vec::new(),
            foreign: None,
            expr: None,
        }
    }
}

impl Ddl<'_> {
    /// Writes a constraint's row and what it depends on; gives its OID.
    pub fn insert_constraint(&self, new: NewConstraint) -> Result<Oid> {
        let oid = self.rows.new_oid(oids::PG_CONSTRAINT)?;
        let mut row = SysRow::new(oids::PG_CONSTRAINT)?;
        row.set_oid("oid", oid)?
            .set_text("conname", &new.name)?
            .set_oid("connamespace", new.namespace)?
            .set_char("contype", new.kind)?
            .set_bool("condeferrable", new.deferrable)?
            .set_bool("condeferred", new.deferred)?
            .set_bool("conenforced", new.enforced)?
            .set_bool("convalidated", new.validated)?
            .set_oid("conrelid", new.relation)?
            .set_oid("contypid", new.domain)?
            .set_oid("conindid", new.index)?
            .set_char("confupdtype", b' ')?
            .set_char("confdeltype", b' ')?
            .set_char("confmatchtype", b' ')?
            .set_bool("conislocal", new.is_local)?
            .set_i16("coninhcount", new.inherit_count)?
            .set_oid("conparentid", new.parent)?
            .set_bool("connoinherit", new.no_inherit)?
            .set_opt_text("conbin", new.expr.as_deref())?;
        if !new.columns.is_empty() {
            row.set("conkey", vector::from_i16s(oids::INT2_ARRAY, &new.columns))?;
        }
        if !new.exclusion.is_empty() {
            row.set("conexclop", vector::from_oids(oids::OID_ARRAY, &new.exclusion))?;
        }
        if let Some(f) = &new.foreign {
            row.set_oid("confrelid", f.table)?
                .set_char("confupdtype", f.on_update)?
                .set_char("confdeltype", f.on_delete)?
                .set_char("confmatchtype", f.match_type)?
                .set("confkey", vector::from_i16s(oids::INT2_ARRAY, &f.columns))?
                .set("conpfeqop", vector::from_oids(oids::OID_ARRAY, &f.pf_eq_ops))?
                .set("conppeqop", vector::from_oids(oids::OID_ARRAY, &f.pp_eq_ops))?
                .set("conffeqop", vector::from_oids(oids::OID_ARRAY, &f.ff_eq_ops))?;
            if !f.delete_set_columns.is_empty() {
                let columns = vector::from_i16s(oids::INT2_ARRAY, &f.delete_set_columns);
                row.set("confdelsetcols", columns)?;
            }
        }
        self.rows.insert(row)?;
        self.depend_constraint(oid, &new)?;
        Ok(oid)
    }

    fn depend_constraint(&self, oid: Oid, new: &NewConstraint) -> Result<()> {
        let own = ObjectAddress::new(oids::PG_CONSTRAINT, oid);
        if new.relation.is_valid() {
            for n in new.columns.iter().filter(|n| **n != 0) {
                let column = ObjectAddress::column(new.relation, *n);
                depend::record(self.rows, own, column, DependKind::Auto)?;
            }
            if new.columns.iter().all(|n| *n == 0) {
                let table = ObjectAddress::relation(new.relation);
                depend::record(self.rows, own, table, DependKind::Auto)?;
            }
        }
        if new.domain.is_valid() {
            let domain = ObjectAddress::new(oids::PG_TYPE, new.domain);
            depend::record(self.rows, own, domain, DependKind::Auto)?;
        }
        if let Some(f) = &new.foreign {
            for n in &f.columns {
                let column = ObjectAddress::column(f.table, *n);
                depend::record(self.rows, own, column, DependKind::Normal)?;
            }
            let index = ObjectAddress::relation(new.index);
            depend::record(self.rows, own, index, DependKind::Normal)?;
        }
        Ok(())
    }

    /// Fails if the table has a constraint of this name.
    pub fn check_constraint_name(&self, table: &RelationDesc, name: &str) -> Result<()> {
        if table.constraints.iter().any(|c| &*c.name == name) {
            bail!(
                DUPLICATE_OBJECT,
                "constraint \"{name}\" for relation \"{}\" already exists",
                table.name
            );
        }
        Ok(())
    }

    /// Makes a column NOT NULL, with its constraint; what is there is checked if `check` is set.
    pub fn add_not_null(
        &self,
        table: Oid,
        attnum: i16,
        name: Option<&str>,
        no_inherit: bool,
        check: bool,
    ) -> Result<()> {
        if check {
            let rel = self.view.relation(table)?;
            let has = rel.constraints.iter().any(|c| c.kind == b'n' && c.columns == [attnum]);
            if !has {
                self.storage.check_not_null(&rel, attnum)?;
            }
        }
        self.add_not_null_beside(table, attnum, name, no_inherit, &[])
    }

    /// As [`Ddl::add_not_null`] without a look at rows; `taken` are names of constraints to come.
    pub fn add_not_null_beside(
        &self,
        table: Oid,
        attnum: i16,
        name: Option<&str>,
        no_inherit: bool,
        taken: &[String],
    ) -> Result<()> {
        let rel = self.view.relation(table)?;
        let has = rel.constraints.iter().any(|c| c.kind == b'n' && c.columns == [attnum]);
        let attr = &rel.tuple.attrs[attnum as usize - 1];
        if has {
            return Ok(());
        }
        let name = match name {
            Some(name) => {
                self.check_constraint_name(&rel, name)?;
                name.to_string()
            }
            None => self.choose_constraint_name(
                &rel.name,
                Some(&attr.name),
                "not_null",
                rel.namespace,
                taken,
            )?,
        };
        if !attr.not_null {
            let mut row = self.column_row(table, attnum)?;
            row.set_bool("attnotnull", true)?;
            self.rows.update(row)?;
        }
        self.insert_constraint(NewConstraint {
            columns: vec![attnum],
            no_inherit,
            ..NewConstraint::new(&name, rel.namespace, b'n', table)
        })?;
        Ok(())
    }

    /// Fails if a column's NOT NULL is less than a primary key needs: of the table, and with ONLY
    /// of its children, which get none from it.
    fn not_null_fits_key(&self, rel: &RelationDesc, n: i16, only: bool) -> Result<()> {
        let column = &rel.tuple.attrs[n as usize - 1].name;
        let mut tables = vec![self.view.relation(rel.oid)?];
        for child in if only { self.view.children(rel.oid)? } else { Vec::new() } {
            tables.push(self.view.relation(child)?);
        }
        for table in tables {
            let Some(m) = table.column_number(column) else { continue };
            let found = table.constraints.iter().find(|c| c.kind == b'n' && c.columns == [m]);
            let Some(c) = found.filter(|c| !c.validated || c.no_inherit) else { continue };
            let (mark, hint) = match c.no_inherit {
                true => (
                    "NO INHERIT",
                    "You might need to make the existing constraint inheritable using ALTER TABLE \
                     ... ALTER CONSTRAINT ... INHERIT.",
                ),
                false => (
                    "NOT VALID",
                    "You might need to validate it using ALTER TABLE ... VALIDATE CONSTRAINT.",
                ),
            };
            return Err(err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot create primary key on column \"{column}\""
            )
            .detail(format!(
                "The constraint \"{}\" on column \"{column}\" of table \"{}\", marked {mark}, \
                 is incompatible with a primary key.",
                c.name, table.name
            ))
            .hint(hint));
        }
        Ok(())
    }

    /// A PRIMARY KEY or UNIQUE constraint: its index and its row.
    pub fn add_key(
        &self,
        table: Oid,
        constraint: &ast::Constraint,
        key: &KeyConstraint,
        primary: bool,
        only: bool,
    ) -> Result<()> {
        let rel = self.view.relation(table)?;
        if primary && rel.indexes.iter().any(|i| i.is_primary) {
            let e = err!(
                INVALID_TABLE_DEFINITION,
                "multiple primary keys for table \"{}\" are not allowed",
                rel.name
            );
            return Err(e.at(constraint.pos));
        }
        if let Some(index) = &key.index {
            return self.adopt_index(&rel, constraint, index, primary);
        }
        if key.without_overlaps {
            return Err(Error::unsupported("WITHOUT OVERLAPS"));
        }
        let mut keys: Vec<IndexKey> = Vec::new();
        for column in &key.columns {
            let n = self.key_column(&rel, column, constraint.pos)?;
            if keys.iter().any(|k| k.attnum == n) {
                let what = if primary { "primary key" } else { "unique" };
                let e = err!(
                    DUPLICATE_COLUMN,
                    "column \"{column}\" appears twice in {what} constraint"
                );
                return Err(e.at(constraint.pos));
            }
            keys.push(self.index_key_of(&rel, n, oids::BTREE_AM, "btree")?);
        }
        let numbers: Vec<i16> = keys.iter().map(|k| k.attnum).collect();
        let what = if primary { "primary keys" } else { "unique constraints" };
        self.refuse_virtual(&rel, &numbers, what)?;
        let mut including = Vec::new();
        for column in &key.including {
            including.push(self.included_column(&rel, column)?);
        }
        let name = self.key_name(&rel, constraint, key, primary)?;
        if primary {
            for k in &keys {
                self.not_null_fits_key(&rel, k.attnum, only)?;
                self.add_not_null(table, k.attnum, None, false, true)?;
            }
            self.pass_on_not_null(table)?;
        }
        self.create_index(NewIndex {
            table,
            name,
            namespace: rel.namespace,
            am: oids::BTREE_AM,
            tablespace: self.tablespace_for(key.tablespace.as_deref(), rel.persistence)?,
            keys,
            including,
            unique: true,
            nulls_not_distinct: key.nulls_not_distinct,
            primary,
            immediate: !constraint.deferrable,
            constraint: Some((
                if primary { b'p' } else { b'u' },
                constraint.deferrable,
                constraint.initially_deferred,
            )),
            exclusion: Vec::new(),
            exprs: None,
            predicate: None,
            options: super::reloption::read(&key.options, super::reloption::Holder::Index)?,
            only,
        })?;
        Ok(())
    }

    fn key_column(&self, rel: &RelationDesc, column: &str, pos: u32) -> Result<i16> {
        rel.column_number(column).ok_or_else(|| {
            err!(UNDEFINED_COLUMN, "column \"{column}\" named in key does not exist").at(pos)
        })
    }

    fn key_name(
        &self,
        rel: &RelationDesc,
        constraint: &ast::Constraint,
        key: &KeyConstraint,
        primary: bool,
    ) -> Result<String> {
        if let Some(name) = &constraint.name {
            if self.view.relation_oid_in(rel.namespace, name)?.is_some() {
                bail!(DUPLICATE_TABLE, "relation \"{name}\" already exists");
            }
            self.check_constraint_name(rel, name)?;
            return Ok(name.clone());
        }
        if primary {
            return self.choose_key_name(&rel.name, None, "pkey", rel.namespace);
        }
        let all: Vec<String> = key.columns.iter().chain(&key.including).cloned().collect();
        let columns = super::index::join_names(&all);
        self.choose_key_name(&rel.name, Some(&columns), "key", rel.namespace)
    }

    /// ADD PRIMARY KEY / UNIQUE USING INDEX.
    fn adopt_index(
        &self,
        rel: &RelationDesc,
        constraint: &ast::Constraint,
        index: &str,
        primary: bool,
    ) -> Result<()> {
        let Some(found) = rel.indexes.iter().find(|i| &*i.name == index) else {
            bail!(UNDEFINED_OBJECT, "index \"{index}\" does not exist");
        };
        let own = ObjectAddress::relation(found.oid);
        for d in depend::dependencies_of(self.rows, own)? {
            if d.kind == DependKind::Internal && d.referenced.class == oids::PG_CONSTRAINT {
                bail!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "index \"{index}\" is already associated with a constraint"
                );
            }
        }
        if !found.is_unique {
            return Err(err!(WRONG_OBJECT_TYPE, "\"{index}\" is not a unique index")
                .detail("Cannot create a primary key or unique constraint using such an index."));
        }
        if found.predicate.is_some() || found.exprs.is_some() {
            let what =
                if found.exprs.is_some() { "contains expressions" } else { "is a partial index" };
            return Err(err!(WRONG_OBJECT_TYPE, "index \"{index}\" {what}")
                .detail("Cannot create a primary key or unique constraint using such an index."));
        }
        let columns = found.columns[..usize::from(found.n_keys)].to_vec();
        if primary {
            for n in &columns {
                self.add_not_null(rel.oid, *n, None, false, true)?;
            }
            self.pass_on_not_null(rel.oid)?;
        }
        let name = constraint.name.clone().unwrap_or_else(|| index.to_string());
        if name != index {
            let text = format!(
                "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{index}\" to \
                 \"{name}\""
            );
            self.notice(Error::notice(text));
            let mut class = self.class_row(found.oid)?;
            class.set_text("relname", &name)?;
            self.rows.update(class)?;
        }
        depend::forget(self.rows, own)?;
        let new = NewConstraint {
            index: found.oid,
            deferrable: constraint.deferrable,
            deferred: constraint.initially_deferred,
            columns,
            no_inherit: true,
            ..NewConstraint::new(&name, rel.namespace, if primary { b'p' } else { b'u' }, rel.oid)
        };
        let oid = self.insert_constraint(new)?;
        let made = ObjectAddress::new(oids::PG_CONSTRAINT, oid);
        depend::record(self.rows, own, made, DependKind::Internal)?;
        let mut row = self.index_row(found.oid)?;
        row.set_bool("indisprimary", primary)?.set_bool("indimmediate", !constraint.deferrable)?;
        self.rows.update(row)?;
        Ok(())
    }

    /// The `pg_index` row of an index.
    pub fn index_row(&self, oid: Oid) -> Result<SysRow> {
        let key = [Datum::U32(oid.0)];
        let found = self.rows.index_scan(catalog::indexes::PG_INDEX_INDEXRELID, &key)?;
        let row = found.into_iter().next();
        row.ok_or_else(|| err!(INTERNAL_ERROR, "cache lookup failed for index {oid}"))
    }

    /// A CHECK constraint; what is there is checked unless NOT VALID.
    pub fn add_check(
        &self,
        table: Oid,
        constraint: &ast::Constraint,
        expr: &ast::Expr,
        check: bool,
    ) -> Result<()> {
        let rel = self.view.relation(table)?;
        if constraint.no_inherit && rel.kind == catalog::RelKind::Partitioned {
            bail!(
                INVALID_TABLE_DEFINITION,
                "cannot add NO INHERIT constraint to partitioned table \"{}\"",
                rel.name
            );
        }
        let cooked = crate::cook::check(self, &rel, expr)?;
        let columns = crate::cook::columns_of(&cooked);
        let name = match &constraint.name {
            Some(name) => {
                self.check_constraint_name(&rel, name)?;
                name.clone()
            }
            None => {
                let column = match columns[..] {
                    [n] if n > 0 => Some(rel.tuple.attrs[n as usize - 1].name.to_string()),
                    [-6] => Some("tableoid".to_string()),
                    _ => None,
                };
                self.choose_constraint_name(
                    &rel.name,
                    column.as_deref(),
                    "check",
                    rel.namespace,
                    &[],
                )?
            }
        };
        let validated = !constraint.not_valid && constraint.enforced;
        if check && validated {
            self.storage.check_rows(&rel, &name, &cooked)?;
        }
        let text = crate::cook::to_text(&cooked)?;
        let oid = self.insert_constraint(NewConstraint {
            columns,
            expr: Some(text),
            no_inherit: constraint.no_inherit,
            validated,
            enforced: constraint.enforced,
            ..NewConstraint::new(&name, rel.namespace, b'c', table)
        })?;
        let own = ObjectAddress::new(oids::PG_CONSTRAINT, oid);
        self.depend_expr(own, &cooked, table)?;
        let mut class = self.class_row(table)?;
        let checks = class.i16("relchecks")?;
        class.set_i16("relchecks", checks + 1)?;
        self.rows.update(class)?;
        Ok(())
    }
}
