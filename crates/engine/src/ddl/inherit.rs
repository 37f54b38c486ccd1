//! Parents and children: what a child takes over, and the rows of `pg_inherits`.

use super::Ddl;
use super::column::NewColumn;
use super::key::NewConstraint;
use super::type_name::ResolvedType;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ConstraintDesc, Persistence, RelKind, RelationDesc, SysRow, indexes, oids};
use ir::Expr;
use parser::ast::{LockMode, RelName};
use std::sync::Arc;
use types::Datum;

/// Gives columns of one relation the numbers of the columns of another that have their names.
pub fn map_columns(expr: &Expr, from: &RelationDesc, to: &RelationDesc) -> Result<Expr> {
    let mut made = expr.clone();
    let mut missing = None;
    ir::walk::transform(&mut made, &mut |e| {
        let Expr::Var(v) = e else { return };
        if v.varno != 1 || v.levels_up != 0 || v.attno <= 0 {
            return;
        }
        let name = &from.tuple.attrs[v.attno as usize - 1].name;
        match to.column_number(name) {
            Some(n) => {
                v.attno = n;
                v.syn_attno = n;
            }
            None => missing = Some(name.clone()),
        }
    });
    match missing {
        Some(name) => Err(err!(
            DATATYPE_MISMATCH,
            "could not convert row type: attribute \"{name}\" does not exist in \"{}\"",
            to.name
        )),
        None => Ok(made),
    }
}

/// The columns of a partitioned table's key as expressions over one of its partitions.
pub fn partition_key_over(parent: &RelationDesc, child: &RelationDesc) -> Result<Vec<Expr>> {
    let Some(key) = &parent.partition_key else {
        bail!(WRONG_OBJECT_TYPE, "table \"{}\" is not partitioned", parent.name);
    };
    let exprs: Vec<Expr> = match &key.exprs {
        Some(text) => crate::cook::from_text(text)?,
        None => Vec::new(),
    };
    let mut exprs = exprs.into_iter();
    let mut all = Vec::new();
    for n in &key.columns {
        let expr = match *n {
            0 => exprs.next().ok_or_else(|| Error::internal("a key lacks an expression"))?,
            n => {
                let a = &parent.tuple.attrs[n as usize - 1];
                Expr::Var(ir::Var::new(1, n, a.type_oid, a.typmod, a.collation))
            }
        };
        all.push(map_columns(&expr, parent, child)?);
    }
    Ok(all)
}

/// A parent's default of one inherited column.
#[derive(Clone)]
pub struct InheritedDefault {
    pub number: i16,
    pub text: String,
    /// The parent that `text` is over.
    pub parent: Oid,
    /// Two parents disagree, and the child has to say.
    pub conflict: bool,
}

/// What CREATE TABLE takes over from parents.
#[derive(Default)]
pub struct Inherited {
    pub parents: Vec<Arc<RelationDesc>>,
    pub columns: Vec<NewColumn>,
    pub defaults: Vec<InheritedDefault>,
}

impl Ddl<'_> {
    /// The columns of the parents that INHERITS or PARTITION OF names.
    pub fn inherited(
        &self,
        parents: &[RelName],
        persistence: Persistence,
        partition: bool,
    ) -> Result<Inherited> {
        let mut all = Inherited::default();
        for name in parents {
            let parent = self.view.require_relation(name.schema.as_deref(), &name.name)?;
            let mode =
                if partition { LockMode::AccessExclusive } else { LockMode::ShareUpdateExclusive };
            self.storage.lock(parent.oid, mode)?;
            let parent = self.view.relation(parent.oid)?;
            if all.parents.iter().any(|p| p.oid == parent.oid) {
                bail!(
                    DUPLICATE_TABLE,
                    "relation \"{}\" would be inherited from more than once",
                    parent.name
                );
            }
            self.check_parent(&parent, persistence, partition)?;
            self.merge_parent(&parent, partition, &mut all)?;
            all.parents.push(parent);
        }
        Ok(all)
    }

    fn check_parent(
        &self,
        parent: &RelationDesc,
        persistence: Persistence,
        partition: bool,
    ) -> Result<()> {
        if partition {
            if parent.kind != RelKind::Partitioned {
                bail!(WRONG_OBJECT_TYPE, "\"{}\" is not partitioned", parent.name);
            }
        } else if parent.kind == RelKind::Partitioned {
            bail!(WRONG_OBJECT_TYPE, "cannot inherit from partitioned table \"{}\"", parent.name);
        } else if parent.is_partition {
            bail!(WRONG_OBJECT_TYPE, "cannot inherit from partition \"{}\"", parent.name);
        }
        if !matches!(parent.kind, RelKind::Table | RelKind::Foreign | RelKind::Partitioned) {
            bail!(
                WRONG_OBJECT_TYPE,
                "inherited relation \"{}\" is not a table or foreign table",
                parent.name
            );
        }
        if parent.persistence == Persistence::Temp && persistence != Persistence::Temp {
            match partition {
                true => bail!(
                    WRONG_OBJECT_TYPE,
                    "cannot create a permanent relation as partition of temporary relation \"{}\"",
                    parent.name
                ),
                false => bail!(
                    WRONG_OBJECT_TYPE,
                    "cannot inherit from temporary relation \"{}\"",
                    parent.name
                ),
            }
        }
        if partition && parent.persistence != Persistence::Temp && persistence == Persistence::Temp
        {
            bail!(
                WRONG_OBJECT_TYPE,
                "cannot create a temporary relation as partition of permanent relation \"{}\"",
                parent.name
            );
        }
        self.require_owner_of_relation(parent)
    }

    fn merge_parent(
        &self,
        parent: &RelationDesc,
        partition: bool,
        all: &mut Inherited,
    ) -> Result<()> {
        for (i, a) in parent.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped) {
            let dims = self.column_row(parent.oid, i as i16 + 1)?.i16("attndims")?;
            let found = all.columns.iter().position(|c| *c.name == *a.name);
            let at = match found {
                Some(at) => {
                    self.merge_inherited(&mut all.columns[at], a)?;
                    at
                }
                None => {
                    let t = ResolvedType { oid: a.type_oid, typmod: a.typmod, ndims: dims };
                    let mut c = NewColumn::new(&a.name, t, a.collation);
                    c.is_local = false;
                    c.inherit_count = 1;
                    c.generated = a.generated;
                    c.storage = Some(a.storage);
                    c.compression = a.compression;
                    if partition {
                        c.identity = a.identity;
                    }
                    all.columns.push(c);
                    all.columns.len() - 1
                }
            };
            all.columns[at].not_null |= a.not_null && self.inherits_not_null(parent, i as i16 + 1);
            let Some(text) = parent.default_of(i as i16 + 1) else { continue };
            all.columns[at].has_default = true;
            let number = at as i16 + 1;
            match all.defaults.iter_mut().find(|d| d.number == number) {
                Some(d) => d.conflict |= !same_text(&d.text, text)?,
                None => all.defaults.push(InheritedDefault {
                    number,
                    text: text.to_string(),
                    parent: parent.oid,
                    conflict: false,
                }),
            }
        }
        Ok(())
    }

    fn inherits_not_null(&self, parent: &RelationDesc, n: i16) -> bool {
        parent.constraints.iter().any(|c| c.kind == b'n' && c.columns == [n] && !c.no_inherit)
    }

    fn merge_inherited(&self, c: &mut NewColumn, a: &types::tuple::Attr) -> Result<()> {
        let notice = format!("merging multiple inherited definitions of column \"{}\"", c.name);
        self.notice(Error::notice(notice));
        if c.type_oid != a.type_oid || c.typmod != a.typmod {
            return Err(err!(
                DATATYPE_MISMATCH,
                "inherited column \"{}\" has a type conflict",
                c.name
            )
            .detail(self.versus(c, a.type_oid, a.typmod)));
        }
        if c.collation != a.collation {
            return Err(err!(
                COLLATION_MISMATCH,
                "inherited column \"{}\" has a collation conflict",
                c.name
            )
            .detail(format!(
                "\"{}\" versus \"{}\"",
                self.collation_name(c.collation),
                self.collation_name(a.collation)
            )));
        }
        if c.generated != a.generated {
            bail!(
                INVALID_COLUMN_DEFINITION,
                "inherited column \"{}\" has a generation conflict",
                c.name
            );
        }
        let storage = c.storage.unwrap_or(a.storage);
        if storage != a.storage {
            return Err(err!(
                DATATYPE_MISMATCH,
                "inherited column \"{}\" has a storage parameter conflict",
                c.name
            )
            .detail(format!(
                "{} versus {}",
                storage_word(storage),
                storage_word(a.storage)
            )));
        }
        match (c.compression, a.compression) {
            (_, 0) => {}
            (0, _) => c.compression = a.compression,
            (old, new) if old != new => {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "column \"{}\" has a compression method conflict",
                    c.name
                )
                .detail(format!(
                    "{} versus {}",
                    compression_word(old),
                    compression_word(new)
                )));
            }
            _ => {}
        }
        c.inherit_count += 1;
        Ok(())
    }

    fn versus(&self, c: &NewColumn, type_oid: Oid, typmod: i32) -> String {
        format!(
            "{} versus {}",
            self.format_type(c.type_oid, c.typmod),
            self.format_type(type_oid, typmod)
        )
    }

    /// A collation's name for messages.
    pub fn collation_name(&self, oid: Oid) -> String {
        match self.view.find_collation(oid) {
            Ok(Some(c)) => c.name.to_string(),
            _ => String::new(),
        }
    }

    /// The child's own definition of a column it inherits.
    pub fn merge_own_column(
        &self,
        inherited: &mut NewColumn,
        own: NewColumn,
        moved: bool,
    ) -> Result<()> {
        let name = inherited.name.clone();
        let notice = match moved {
            true => Error::notice(format!(
                "moving and merging column \"{name}\" with inherited definition"
            ))
            .detail("User-specified column moved to the position of the inherited column."),
            false => Error::notice(format!("merging column \"{name}\" with inherited definition")),
        };
        self.notice(notice);
        if inherited.type_oid != own.type_oid || inherited.typmod != own.typmod {
            return Err(err!(DATATYPE_MISMATCH, "column \"{name}\" has a type conflict")
                .detail(self.versus(inherited, own.type_oid, own.typmod)));
        }
        if inherited.collation != own.collation {
            return Err(err!(COLLATION_MISMATCH, "column \"{name}\" has a collation conflict")
                .detail(format!(
                    "\"{}\" versus \"{}\"",
                    self.collation_name(inherited.collation),
                    self.collation_name(own.collation)
                )));
        }
        check_generation(inherited, &own)?;
        inherited.is_local = true;
        inherited.not_null |= own.not_null;
        inherited.has_default |= own.has_default;
        if own.identity != 0 {
            inherited.identity = own.identity;
        }
        if let Some(new) = own.storage {
            let old = inherited.storage.unwrap_or(new);
            if old != new {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "column \"{name}\" has a storage parameter conflict"
                )
                .detail(format!(
                    "{} versus {}",
                    storage_word(old),
                    storage_word(new)
                )));
            }
            inherited.storage = own.storage;
        }
        if own.compression != 0 {
            if inherited.compression != 0 && inherited.compression != own.compression {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "column \"{name}\" has a compression method conflict"
                )
                .detail(format!(
                    "{} versus {}",
                    compression_word(inherited.compression),
                    compression_word(own.compression)
                )));
            }
            inherited.compression = own.compression;
        }
        Ok(())
    }

    /// Writes what makes a table the child of another, at this place among its parents.
    pub fn insert_inherits(
        &self,
        child: Oid,
        parent: Oid,
        place: i32,
        partition: bool,
    ) -> Result<()> {
        let mut row = SysRow::new(oids::PG_INHERITS)?;
        row.set_oid("inhrelid", child)?
            .set_oid("inhparent", parent)?
            .set_i32("inhseqno", place)?
            .set_bool("inhdetachpending", false)?;
        self.rows.insert(row)?;
        let kind = if partition { DependKind::Auto } else { DependKind::Normal };
        let own = ObjectAddress::relation(child);
        depend::record(self.rows, own, ObjectAddress::relation(parent), kind)?;
        let mut class = self.class_row(parent)?;
        if !class.bool("relhassubclass")? {
            class.set_bool("relhassubclass", true)?;
            self.rows.update(class)?;
        }
        Ok(())
    }

    /// A new child gets its parent's NOT NULL and CHECK constraints.
    pub fn inherit_constraints(&self, child: Oid, parent: &RelationDesc) -> Result<()> {
        for c in parent.constraints.iter().filter(|c| !c.no_inherit) {
            let rel = self.view.relation(child)?;
            // No row of a new table can violate it.
            let valid = ConstraintDesc { validated: c.enforced, ..c.clone() };
            match c.kind {
                b'c' => self.copy_check(parent, &rel, &valid, false)?,
                b'n' => self.copy_not_null(parent, &rel, &valid)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Children get the NOT NULL constraints they lack, as far as their rows allow.
    pub fn pass_on_not_null(&self, table: Oid) -> Result<()> {
        let parent = self.view.relation(table)?;
        for child in self.view.children(table)? {
            for c in parent.constraints.iter().filter(|c| c.kind == b'n' && !c.no_inherit) {
                let rel = self.view.relation(child)?;
                let name = &parent.tuple.attrs[c.columns[0] as usize - 1].name;
                let Some(n) = rel.column_number(name) else { continue };
                let own = rel.constraints.iter().find(|o| o.kind == b'n' && o.columns == [n]);
                if let Some(own) = own {
                    if !own.validated && c.validated {
                        return Err(incompatible(&own.name, &rel.name));
                    }
                    continue;
                }
                if rel.kind.has_storage() {
                    self.storage.check_not_null(&rel, n)?;
                }
                self.copy_not_null(&parent, &rel, c)?;
            }
            self.pass_on_not_null(child)?;
        }
        Ok(())
    }

    fn copy_not_null(
        &self,
        parent: &RelationDesc,
        child: &RelationDesc,
        c: &ConstraintDesc,
    ) -> Result<()> {
        let Some(n) = c.columns.first() else { return Ok(()) };
        let name = &parent.tuple.attrs[*n as usize - 1].name;
        let Some(m) = child.column_number(name) else { return Ok(()) };
        if let Some(own) = child.constraints.iter().find(|o| o.kind == b'n' && o.columns == [m]) {
            let mut row = self.constraint_row(own.oid)?;
            let count = row.i16("coninhcount")?;
            row.set_i16("coninhcount", count + 1)?;
            self.rows.update(row)?;
            return Ok(());
        }
        let free = !child.constraints.iter().any(|o| o.name == c.name);
        let name = match free {
            true => c.name.to_string(),
            false => self.choose_constraint_name(
                &child.name,
                Some(name),
                "not_null",
                child.namespace,
                &[],
            )?,
        };
        let mut row = self.column_row(child.oid, m)?;
        if !row.bool("attnotnull")? {
            row.set_bool("attnotnull", true)?;
            self.rows.update(row)?;
        }
        self.insert_constraint(NewConstraint {
            columns: vec![m],
            is_local: false,
            inherit_count: 1,
            validated: c.validated,
            ..NewConstraint::new(&name, child.namespace, b'n', child.oid)
        })?;
        Ok(())
    }

    /// Gives a child a parent's check, or counts one parent more for the one it has.
    pub fn copy_check(
        &self,
        parent: &RelationDesc,
        child: &RelationDesc,
        c: &ConstraintDesc,
        alter: bool,
    ) -> Result<()> {
        let Some(text) = &c.expr else { return Ok(()) };
        let expr = map_columns(&crate::cook::from_text(text)?, parent, child)?;
        if let Some(own) = child.constraints.iter().find(|o| o.name == c.name) {
            let same = match (&own.expr, own.kind) {
                (Some(t), b'c') => same_expr(&crate::cook::from_text(t)?, &expr),
                _ => false,
            };
            if !same {
                if !own.is_local && !alter {
                    bail!(
                        DUPLICATE_OBJECT,
                        "check constraint name \"{}\" appears multiple times but with different \
                         expressions",
                        c.name
                    );
                }
                bail!(
                    DUPLICATE_OBJECT,
                    "constraint \"{}\" for relation \"{}\" already exists",
                    c.name,
                    child.name
                );
            }
            if own.no_inherit {
                bail!(
                    INVALID_OBJECT_DEFINITION,
                    "constraint \"{}\" conflicts with non-inherited constraint on relation \"{}\"",
                    c.name,
                    child.name
                );
            }
            if own.is_local || alter {
                self.notice(Error::notice(format!(
                    "merging constraint \"{}\" with inherited definition",
                    c.name
                )));
            }
            let mut row = self.constraint_row(own.oid)?;
            let count = row.i16("coninhcount")?;
            row.set_i16("coninhcount", count + 1)?;
            if parent.kind == RelKind::Partitioned {
                // A partition has no constraints of its own beside those of its only parent.
                row.set_bool("conislocal", false)?;
            }
            self.rows.update(row)?;
            return Ok(());
        }
        self.store_check(
            child.oid,
            &expr,
            NewConstraint {
                enforced: c.enforced,
                validated: c.validated,
                is_local: false,
                inherit_count: 1,
                ..NewConstraint::new(&c.name, child.namespace, b'c', child.oid)
            },
        )
    }

    /// Writes an analysed check.
    pub fn store_check(&self, table: Oid, expr: &Expr, new: NewConstraint) -> Result<()> {
        let oid = self.insert_constraint(NewConstraint {
            columns: crate::cook::columns_of(expr),
            expr: Some(crate::cook::to_text(expr)?),
            ..new
        })?;
        let own = ObjectAddress::new(oids::PG_CONSTRAINT, oid);
        self.depend_kept_expr(own, expr, table, DependKind::Normal)?;
        let mut class = self.class_row(table)?;
        let checks = class.i16("relchecks")?;
        class.set_i16("relchecks", checks + 1)?;
        self.rows.update(class)?;
        Ok(())
    }

    /// ALTER TABLE .. INHERIT.
    pub fn add_parent(&self, child: &Arc<RelationDesc>, parent: &Arc<RelationDesc>) -> Result<()> {
        self.require_owner_of_relation(parent)?;
        if child.kind == RelKind::Partitioned {
            bail!(WRONG_OBJECT_TYPE, "cannot change inheritance of partitioned table");
        }
        if child.is_partition {
            bail!(WRONG_OBJECT_TYPE, "cannot change inheritance of a partition");
        }
        if child.of_type.is_valid() {
            bail!(WRONG_OBJECT_TYPE, "cannot change inheritance of typed table");
        }
        self.check_parent(parent, child.persistence, false)?;
        if child.parents.contains(&parent.oid) {
            bail!(
                DUPLICATE_TABLE,
                "relation \"{}\" would be inherited from more than once",
                parent.name
            );
        }
        self.refuse_circle(child.oid, parent)?;
        self.match_columns(child, parent, false)?;
        self.match_constraints(child, parent)?;
        let place = self
            .rows
            .index_scan(indexes::PG_INHERITS_RELID, &[Datum::U32(child.oid.0)])?
            .iter()
            .map(|r| r.i32("inhseqno").unwrap_or(0))
            .max()
            .unwrap_or(0);
        self.insert_inherits(child.oid, parent.oid, place + 1, false)
    }

    pub(super) fn refuse_circle(&self, child: Oid, parent: &RelationDesc) -> Result<()> {
        let mut todo = vec![child];
        while let Some(next) = todo.pop() {
            if next == parent.oid {
                let rel = self.view.relation(child)?;
                return Err(err!(DUPLICATE_TABLE, "circular inheritance not allowed").detail(
                    format!("\"{}\" is already a child of \"{}\".", parent.name, rel.name),
                ));
            }
            todo.extend(self.view.children(next)?);
        }
        Ok(())
    }

    /// The child has all columns of its new parent, and counts one parent more for each.
    pub(super) fn match_columns(
        &self,
        child: &RelationDesc,
        parent: &RelationDesc,
        partition: bool,
    ) -> Result<()> {
        for (i, a) in parent.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped) {
            let Some(n) = child.column_number(&a.name) else {
                bail!(DATATYPE_MISMATCH, "child table is missing column \"{}\"", a.name);
            };
            let own = &child.tuple.attrs[n as usize - 1];
            if own.type_oid != a.type_oid || own.typmod != a.typmod {
                bail!(
                    DATATYPE_MISMATCH,
                    "child table \"{}\" has different type for column \"{}\"",
                    child.name,
                    a.name
                );
            }
            if own.collation != a.collation {
                bail!(
                    COLLATION_MISMATCH,
                    "child table \"{}\" has different collation for column \"{}\"",
                    child.name,
                    a.name
                );
            }
            if self.inherits_not_null(parent, i as i16 + 1) && !own.not_null {
                bail!(
                    DATATYPE_MISMATCH,
                    "column \"{}\" in child table \"{}\" must be marked NOT NULL",
                    a.name,
                    child.name
                );
            }
            if a.generated != 0 && own.generated == 0 {
                bail!(
                    DATATYPE_MISMATCH,
                    "column \"{}\" in child table must be a generated column",
                    a.name
                );
            }
            if a.generated == 0 && own.generated != 0 {
                bail!(
                    DATATYPE_MISMATCH,
                    "column \"{}\" in child table must not be a generated column",
                    a.name
                );
            }
            if a.generated != own.generated {
                let code = SqlState::DATATYPE_MISMATCH;
                return Err(other_generation(code, &a.name, a.generated, own.generated));
            }
            let mut row = self.column_row(child.oid, n)?;
            let count = row.i16("attinhcount")?;
            row.set_i16("attinhcount", count + 1)?;
            if partition {
                row.set_bool("attislocal", false)?.set_char("attidentity", a.identity)?;
            }
            self.rows.update(row)?;
        }
        Ok(())
    }

    pub(super) fn match_constraints(
        &self,
        child: &RelationDesc,
        parent: &RelationDesc,
    ) -> Result<()> {
        for c in parent.constraints.iter().filter(|c| !c.no_inherit) {
            let own = match c.kind {
                b'c' => {
                    let Some(own) =
                        child.constraints.iter().find(|o| o.kind == b'c' && o.name == c.name)
                    else {
                        bail!(
                            DATATYPE_MISMATCH,
                            "child table is missing constraint \"{}\"",
                            c.name
                        );
                    };
                    let (Some(a), Some(b)) = (&c.expr, &own.expr) else { continue };
                    let wanted = map_columns(&crate::cook::from_text(a)?, parent, child)?;
                    if !same_expr(&wanted, &crate::cook::from_text(b)?) {
                        bail!(
                            DATATYPE_MISMATCH,
                            "child table \"{}\" has different definition for check constraint \
                             \"{}\"",
                            child.name,
                            c.name
                        );
                    }
                    own
                }
                b'n' => {
                    let name = &parent.tuple.attrs[c.columns[0] as usize - 1].name;
                    let n = child.column_number(name);
                    let found = child
                        .constraints
                        .iter()
                        .find(|o| o.kind == b'n' && o.columns.first().copied() == n);
                    let Some(own) = found else { continue };
                    own
                }
                _ => continue,
            };
            if own.no_inherit {
                bail!(
                    INVALID_OBJECT_DEFINITION,
                    "constraint \"{}\" conflicts with non-inherited constraint on child table \
                     \"{}\"",
                    own.name,
                    child.name
                );
            }
            if !own.validated && c.validated {
                bail!(
                    INVALID_OBJECT_DEFINITION,
                    "constraint \"{}\" conflicts with NOT VALID constraint on child table \"{}\"",
                    own.name,
                    child.name
                );
            }
            let mut row = self.constraint_row(own.oid)?;
            let count = row.i16("coninhcount")?;
            row.set_i16("coninhcount", count + 1)?;
            if child.is_partition || parent.kind == RelKind::Partitioned {
                row.set_bool("conislocal", false)?;
            }
            self.rows.update(row)?;
        }
        Ok(())
    }

    /// ALTER TABLE .. NO INHERIT, and DETACH PARTITION.
    pub fn remove_parent(&self, child: &RelationDesc, parent: &RelationDesc) -> Result<()> {
        let mut found = false;
        for row in self.rows.index_scan(indexes::PG_INHERITS_RELID, &[Datum::U32(child.oid.0)])? {
            if row.oid("inhparent")? == parent.oid {
                self.rows.delete(&row)?;
                found = true;
            }
        }
        if !found {
            let what = match parent.kind {
                RelKind::Partitioned => "partition of relation",
                _ => "parent of relation",
            };
            if what.starts_with("partition") {
                bail!(
                    UNDEFINED_TABLE,
                    "relation \"{}\" is not a partition of relation \"{}\"",
                    child.name,
                    parent.name
                );
            }
            bail!(
                UNDEFINED_TABLE,
                "relation \"{}\" is not a parent of relation \"{}\"",
                parent.name,
                child.name
            );
        }
        for a in parent.tuple.attrs.iter().filter(|a| !a.dropped) {
            let Some(n) = child.column_number(&a.name) else { continue };
            let mut row = self.column_row(child.oid, n)?;
            let count = (row.i16("attinhcount")? - 1).max(0);
            row.set_i16("attinhcount", count)?;
            if count == 0 {
                row.set_bool("attislocal", true)?;
            }
            self.rows.update(row)?;
        }
        for c in &parent.constraints {
            let own = match c.kind {
                b'c' => child.constraints.iter().find(|o| o.kind == b'c' && o.name == c.name),
                b'n' => {
                    let name = &parent.tuple.attrs[c.columns[0] as usize - 1].name;
                    let n = child.column_number(name);
                    child
                        .constraints
                        .iter()
                        .find(|o| o.kind == b'n' && o.columns.first().copied() == n)
                }
                _ => None,
            };
            let Some(own) = own.filter(|o| o.inherit_count > 0) else { continue };
            let mut row = self.constraint_row(own.oid)?;
            row.set_i16("coninhcount", own.inherit_count - 1)?;
            if own.inherit_count == 1 {
                row.set_bool("conislocal", true)?;
            }
            self.rows.update(row)?;
        }
        let own = ObjectAddress::relation(child.oid);
        depend::forget_one(self.rows, own, ObjectAddress::relation(parent.oid))
    }
}

/// Fails if a child's column is not generated as the parent's is.
pub fn check_generation(inherited: &NewColumn, own: &NewColumn) -> Result<()> {
    let name = &inherited.name;
    if inherited.generated != 0 {
        if own.generated == 0 && own.has_default {
            bail!(
                INVALID_COLUMN_DEFINITION,
                "column \"{name}\" inherits from generated column but specifies default"
            );
        }
        if own.identity != 0 {
            bail!(
                INVALID_COLUMN_DEFINITION,
                "column \"{name}\" inherits from generated column but specifies identity"
            );
        }
        if own.generated != 0 && own.generated != inherited.generated {
            let code = SqlState::INVALID_COLUMN_DEFINITION;
            return Err(other_generation(code, name, inherited.generated, own.generated));
        }
    } else if own.generated != 0 {
        return Err(err!(
            INVALID_COLUMN_DEFINITION,
            "child column \"{name}\" specifies generation expression"
        )
        .hint("A child table column cannot be generated unless its parent column is."));
    }
    Ok(())
}

/// The refusal of a column that is stored where its parent's is computed, or the other way round.
fn other_generation(code: SqlState, name: &str, above: u8, own: u8) -> Error {
    let word = |g: u8| if g == b's' { "STORED" } else { "VIRTUAL" };
    let text = format!("column \"{name}\" inherits from generated column of different kind");
    let (above, own) = (word(above), word(own));
    Error::new(code, text).detail(format!("Parent column is {above}, child column is {own}."))
}

fn storage_word(letter: u8) -> &'static str {
    match letter {
        b'p' => "PLAIN",
        b'e' => "EXTERNAL",
        b'm' => "MAIN",
        _ => "EXTENDED",
    }
}

fn compression_word(letter: u8) -> &'static str {
    if letter == b'l' { "lz4" } else { "pglz" }
}

/// True if two analysed expressions are the same but for their places in a text.
pub fn same_expr(a: &Expr, b: &Expr) -> bool {
    analyze::without_places(a) == analyze::without_places(b)
}

fn same_text(a: &str, b: &str) -> Result<bool> {
    Ok(a == b || same_expr(&crate::cook::from_text(a)?, &crate::cook::from_text(b)?))
}

/// A NOT NULL that rows may violate does not become one that they may not.
pub fn incompatible(constraint: &str, table: &str) -> Error {
    err!(
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "incompatible NOT VALID constraint \"{constraint}\" on relation \"{table}\""
    )
    .hint("You might need to validate it using ALTER TABLE ... VALIDATE CONSTRAINT.")
}
