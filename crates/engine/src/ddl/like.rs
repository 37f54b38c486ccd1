//! LIKE in CREATE TABLE, columns of typed tables, and copies of indexes.

use super::Ddl;
use super::column::NewColumn;
use super::index::{IndexKey, NewIndex, join_names};
use super::inherit::{Inherited, map_columns};
use super::key::NewConstraint;
use super::table::Later;
use super::type_name::ResolvedType;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, ObjectAddress};
use catalog::{ConstraintDesc, IndexDesc, RelKind, RelationDesc, oids};
use ir::Expr;
use parser::ast::{self, CreateTableStmt, LikeOption};
use std::sync::Arc;

impl Ddl<'_> {
    pub(super) fn like(
        &self,
        like: &ast::LikeClause,
        foreign: bool,
        inherited: usize,
        merged: &mut Vec<usize>,
        columns: &mut Vec<NewColumn>,
        later: &mut Later<'_>,
    ) -> Result<()> {
        let source = self
            .view
            .require_relation(like.rel.schema.as_deref(), &like.rel.name)
            .map_err(|e| e.at(like.rel.pos))?;
        if !matches!(
            source.kind,
            RelKind::Table
                | RelKind::View
                | RelKind::MatView
                | RelKind::Composite
                | RelKind::Foreign
                | RelKind::Partitioned
        ) {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "relation \"{}\" is invalid in LIKE clause",
                source.name
            )
            .detail(super::alter::not_supported(source.kind))
            .at(like.rel.pos));
        }
        let mut options = like.options.clone();
        if foreign {
            // A foreign table keeps no rows.
            options.retain(|o| {
                !matches!(
                    o,
                    LikeOption::Indexes
                        | LikeOption::Identity
                        | LikeOption::Storage
                        | LikeOption::Compression
                )
            });
        }
        let has = |o: LikeOption| options.contains(&o);
        for (i, a) in source.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped) {
            let n = i as i16 + 1;
            let row = self.column_row(source.oid, n)?;
            let ndims = row.i16("attndims")?;
            let t = ResolvedType { oid: a.type_oid, typmod: a.typmod, ndims };
            let mut c = NewColumn::new(&a.name, t, a.collation);
            if a.generated != 0 && has(LikeOption::Generated) {
                c.generated = a.generated;
            }
            if has(LikeOption::Storage) {
                c.storage = Some(a.storage);
            }
            if has(LikeOption::Compression) {
                c.compression = a.compression;
            }
            let known = columns[..inherited].iter().position(|k| k.name == c.name);
            let number = match known.filter(|at| !merged.contains(at)) {
                Some(at) => {
                    merged.push(at);
                    self.merge_own_column(&mut columns[at], c, false)?;
                    at as i16 + 1
                }
                None => {
                    columns.push(c);
                    columns.len() as i16
                }
            };
            if a.not_null {
                let named = source.constraints.iter().find(|c| c.kind == b'n' && c.columns == [n]);
                let no_inherit = named.is_some_and(|c| c.no_inherit);
                let name = named.map(|c| c.name.to_string());
                later.note_not_null(number, &a.name, name, no_inherit, false)?;
            }
        }
        later.likes.push((source, options));
        Ok(())
    }

    /// What LIKE copies once the table is there.
    pub(super) fn expand_like(
        &self,
        table: Oid,
        source: &Arc<RelationDesc>,
        options: &[LikeOption],
    ) -> Result<()> {
        let has = |o: LikeOption| options.contains(&o);
        let rel = self.view.relation(table)?;
        for (i, a) in source.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped) {
            let Some(n) = rel.column_number(&a.name) else { continue };
            let wanted = match a.generated {
                0 => has(LikeOption::Defaults),
                _ => has(LikeOption::Generated),
            };
            if wanted && let Some(text) = source.default_of(i as i16 + 1) {
                let expr = map_columns(&crate::cook::from_text(text)?, source, &rel)?;
                self.require_expr_types(&expr)?;
                self.store_cooked_default(table, n, &expr, a.generated)?;
            }
            if a.identity != 0 && has(LikeOption::Identity) {
                self.copy_identity(&rel, n, source, i as i16 + 1)?;
            }
            if has(LikeOption::Comments) {
                let comment = self.comment_of(ObjectAddress::column(source.oid, i as i16 + 1))?;
                let own = ObjectAddress::column(table, n);
                depend::set_comment(self.rows, own, comment.as_deref())?;
            }
        }
        if has(LikeOption::Constraints) {
            self.copy_checks(table, source, has(LikeOption::Comments))?;
        }
        if has(LikeOption::Comments) {
            let rel = self.view.relation(table)?;
            for c in source.constraints.iter().filter(|c| c.kind == b'n') {
                self.copy_constraint_comment(&rel, c, true)?;
            }
        }
        if has(LikeOption::Statistics) {
            self.copy_statistics(table, source, has(LikeOption::Comments))?;
        }
        if has(LikeOption::Indexes) {
            for index in &source.indexes {
                let rel = self.view.relation(table)?;
                let made = self.copy_index(&rel, source, index, None)?;
                if has(LikeOption::Comments) {
                    let comment = self.comment_of(ObjectAddress::relation(index.oid))?;
                    let own = ObjectAddress::relation(made);
                    depend::set_comment(self.rows, own, comment.as_deref())?;
                }
            }
        }
        Ok(())
    }

    fn copy_checks(&self, table: Oid, source: &RelationDesc, comments: bool) -> Result<()> {
        for c in source.constraints.iter().filter(|c| c.kind == b'c') {
            let Some(text) = &c.expr else { continue };
            let rel = self.view.relation(table)?;
            if c.no_inherit && rel.kind == RelKind::Partitioned {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "cannot add NO INHERIT constraint to partitioned table \"{}\"",
                    rel.name
                );
            }
            let expr = map_columns(&crate::cook::from_text(text)?, source, &rel)?;
            self.require_expr_types(&expr)?;
            if self.merge_copied_check(&rel, &c.name, &expr)? {
                self.copy_constraint_comment(&rel, c, comments)?;
                continue;
            }
            self.check_constraint_name(&rel, &c.name)?;
            let new = NewConstraint {
                enforced: c.enforced,
                validated: c.enforced,
                no_inherit: c.no_inherit,
                ..NewConstraint::new(&c.name, rel.namespace, b'c', table)
            };
            self.store_check(table, &expr, new)?;
            let rel = self.view.relation(table)?;
            self.copy_constraint_comment(&rel, c, comments)?;
        }
        Ok(())
    }

    /// A check that the table inherits becomes its own too.
    fn merge_copied_check(&self, rel: &RelationDesc, name: &str, expr: &Expr) -> Result<bool> {
        let found = rel.constraints.iter().find(|o| *o.name == *name && o.kind == b'c');
        let Some(old) = found.filter(|o| !o.is_local) else { return Ok(false) };
        let Some(text) = &old.expr else { return Ok(false) };
        if !super::inherit::same_expr(expr, &crate::cook::from_text(text)?) {
            return Ok(false);
        }
        self.make_local(old)?;
        Ok(true)
    }

    /// A constraint that a table inherits is the table's own from now on too.
    pub(super) fn make_local(&self, inherited: &ConstraintDesc) -> Result<()> {
        self.notice(Error::notice(format!(
            "merging constraint \"{}\" with inherited definition",
            inherited.name
        )));
        let mut row = self.constraint_row(inherited.oid)?;
        row.set_bool("conislocal", true)?;
        self.rows.update(row)?;
        Ok(())
    }

    /// Sets what is said of a table's constraint, if there is one of this name.
    pub(super) fn comment_on_constraint(
        &self,
        rel: &RelationDesc,
        constraint: &str,
        comment: Option<&str>,
    ) -> Result<()> {
        let Some(found) = rel.constraints.iter().find(|c| *c.name == *constraint) else {
            return Ok(());
        };
        let own = ObjectAddress::new(oids::PG_CONSTRAINT, found.oid);
        depend::set_comment(self.rows, own, comment)
    }

    fn copy_constraint_comment(
        &self,
        rel: &RelationDesc,
        c: &ConstraintDesc,
        comments: bool,
    ) -> Result<()> {
        if !comments {
            return Ok(());
        }
        let comment = self.comment_of(ObjectAddress::new(oids::PG_CONSTRAINT, c.oid))?;
        self.comment_on_constraint(rel, &c.name, comment.as_deref())
    }

    /// Extended statistics like those of another table.
    fn copy_statistics(
        &self,
        table: Oid,
        source: &Arc<RelationDesc>,
        comments: bool,
    ) -> Result<()> {
        for row in self.rows.table_scan(oids::PG_STATISTIC_EXT)? {
            if row.oid("stxrelid")? != source.oid {
                continue;
            }
            let rel = self.view.relation(table)?;
            let mut elements = super::statistics::Elements::default();
            for n in row.i16s("stxkeys")? {
                let name = &source.tuple.attrs[n as usize - 1].name;
                let Some(m) = rel.column_number(name) else { continue };
                elements.columns.push(m);
                elements.names.push(name.to_string());
            }
            elements.columns.sort_unstable();
            if let Some(text) = row.opt_text("stxexprs")? {
                let exprs: Vec<Expr> = crate::cook::from_text(&text)?;
                for e in &exprs {
                    elements.exprs.push(map_columns(e, source, &rel)?);
                    elements.names.push("expr".to_string());
                }
            }
            let kinds = catalog::vector::to_any(row.get("stxkind")?)?;
            let kinds: Vec<u8> = kinds
                .iter()
                .filter_map(|k| if let types::Datum::Char(k) = k { Some(*k) } else { None })
                .collect();
            let name = self.choose_statistics_name(&rel, &elements, rel.namespace)?;
            let made = self.insert_statistics(&rel, rel.namespace, &name, &elements, &kinds)?;
            if comments {
                let old = ObjectAddress::new(oids::PG_STATISTIC_EXT, row.oid("oid")?);
                let comment = self.comment_of(old)?;
                let own = ObjectAddress::new(oids::PG_STATISTIC_EXT, made);
                depend::set_comment(self.rows, own, comment.as_deref())?;
            }
        }
        Ok(())
    }

    fn copy_identity(
        &self,
        rel: &RelationDesc,
        n: i16,
        source: &RelationDesc,
        from: i16,
    ) -> Result<()> {
        let old = self.view.sequence(self.identity_sequence(source.oid, from)?)?;
        let column = rel.tuple.attrs[n as usize - 1].name.to_string();
        let name = self.choose_relation_name(&rel.name, Some(&column), "seq", rel.namespace)?;
        let seq = self.make_sequence(&name, rel.namespace, rel.persistence, &old)?;
        let mut row = self.column_row(rel.oid, n)?;
        row.set_char("attidentity", source.tuple.attrs[from as usize - 1].identity)?;
        self.rows.update(row)?;
        depend::record(
            self.rows,
            ObjectAddress::relation(seq),
            ObjectAddress::column(rel.oid, n),
            depend::DependKind::Internal,
        )
    }

    /// An index like that of another table, over the columns of the same names; gives its OID.
    pub fn copy_index(
        &self,
        rel: &Arc<RelationDesc>,
        source: &RelationDesc,
        index: &IndexDesc,
        name: Option<String>,
    ) -> Result<Oid> {
        let exprs: Vec<Expr> = match &index.exprs {
            Some(text) => crate::cook::from_text(text)?,
            None => Vec::new(),
        };
        let exprs: Vec<Expr> =
            exprs.iter().map(|e| map_columns(e, source, rel)).collect::<Result<_>>()?;
        let predicate = match &index.predicate {
            Some(text) => {
                let mapped = map_columns(&crate::cook::from_text(text)?, source, rel)?;
                Some(crate::cook::to_text(&mapped)?)
            }
            None => None,
        };
        let mut next_expr = exprs.iter();
        let mut keys = Vec::new();
        let mut including = Vec::new();
        for (i, n) in index.columns.iter().enumerate() {
            let own = &index.tuple.attrs[i];
            let mut key = match *n {
                0 => {
                    let expr =
                        next_expr.next().ok_or_else(|| Error::internal("too few expressions"))?;
                    let mut key = IndexKey::column(0, expr.ty(), Oid::INVALID);
                    key.name = own.name.to_string();
                    key
                }
                n => {
                    let column = &source.tuple.attrs[n as usize - 1].name;
                    let Some(m) = rel.column_number(column) else {
                        return Err(Error::internal("a copied index misses a column"));
                    };
                    let attr = &rel.tuple.attrs[m as usize - 1];
                    let mut key = IndexKey::column(m, attr.type_oid, Oid::INVALID);
                    key.typmod = attr.typmod;
                    key
                }
            };
            if i < usize::from(index.n_keys) {
                key.opclass = index.opclasses[i];
                key.collation = index.collations[i];
                key.option = index.options[i];
                keys.push(key);
            } else {
                including.push(key);
            }
        }
        let constraint = source
            .constraints
            .iter()
            .find(|c| c.index == index.oid && matches!(c.kind, b'p' | b'u' | b'x'));
        let name = match name {
            Some(name) => name,
            None => {
                let names: Vec<String> =
                    index.tuple.attrs.iter().map(|a| a.name.to_string()).collect();
                let joined = join_names(&names);
                match constraint {
                    _ if index.is_primary => {
                        self.choose_relation_name(&rel.name, None, "pkey", rel.namespace)?
                    }
                    Some(c) => {
                        let label = if c.kind == b'x' { "excl" } else { "key" };
                        self.choose_relation_name(&rel.name, Some(&joined), label, rel.namespace)?
                    }
                    None => {
                        self.choose_relation_name(&rel.name, Some(&joined), "idx", rel.namespace)?
                    }
                }
            }
        };
        self.create_index(NewIndex {
            table: rel.oid,
            name,
            namespace: rel.namespace,
            am: index.am,
            tablespace: self.view.relation(index.oid)?.tablespace,
            keys,
            including,
            unique: index.is_unique,
            nulls_not_distinct: index.nulls_not_distinct,
            primary: index.is_primary,
            immediate: index.is_immediate,
            constraint: constraint.map(|c| (c.kind, c.deferrable, c.deferred)),
            exclusion: match constraint {
                Some(c) if c.kind == b'x' => c.exclusion_ops.clone(),
                _ => Vec::new(),
            },
            exprs: if exprs.is_empty() { None } else { Some(crate::cook::to_text(&exprs)?) },
            predicate,
            options: index.rel_options.iter().map(|(n, v)| format!("{n}={v}")).collect(),
            only: false,
        })
    }

    /// The columns of OF type; gives the type.
    pub(super) fn of_type_columns(
        &self,
        stmt: &CreateTableStmt,
        inherited: &mut Inherited,
    ) -> Result<Oid> {
        let Some(name) = &stmt.of_type else { return Ok(Oid::INVALID) };
        let t = self.resolve_type(name)?;
        let desc = self.view.type_(t.oid)?;
        if desc.kind != b'c' {
            bail!(
                WRONG_OBJECT_TYPE,
                "type {} is not a composite type",
                self.format_type(t.oid, -1)
            );
        }
        let shape = self.view.relation(desc.relation)?;
        if shape.kind != RelKind::Composite {
            return Err(err!(
                WRONG_OBJECT_TYPE,
                "type {} is the row type of another table",
                self.format_type(t.oid, -1)
            )
            .detail(
                "A typed table must use a stand-alone composite type created with CREATE TYPE.",
            ));
        }
        for (i, a) in shape.tuple.attrs.iter().enumerate().filter(|(_, a)| !a.dropped) {
            let ndims = self.column_row(shape.oid, i as i16 + 1)?.i16("attndims")?;
            let t = ResolvedType { oid: a.type_oid, typmod: a.typmod, ndims };
            inherited.columns.push(NewColumn::new(&a.name, t, a.collation));
        }
        Ok(t.oid)
    }

    /// Defaults that parents give and the child does not override.
    pub(super) fn inherit_defaults(
        &self,
        table: Oid,
        inherited: &Inherited,
        later: &Later<'_>,
    ) -> Result<()> {
        for d in &inherited.defaults {
            let rel = self.view.relation(table)?;
            if later.defaults.iter().any(|l| l.0 == d.number)
                || rel.tuple.attrs[d.number as usize - 1].identity != 0
            {
                continue;
            }
            let attr = &rel.tuple.attrs[d.number as usize - 1];
            if d.conflict {
                return Err(match attr.generated {
                    0 => err!(
                        INVALID_COLUMN_DEFINITION,
                        "column \"{}\" inherits conflicting default values",
                        attr.name
                    )
                    .hint("To resolve the conflict, specify a default explicitly."),
                    _ => err!(
                        INVALID_COLUMN_DEFINITION,
                        "column \"{}\" inherits conflicting generation expressions",
                        attr.name
                    )
                    .hint("To resolve the conflict, specify a generation expression explicitly."),
                });
            }
            let parent = self.view.relation(d.parent)?;
            let expr = map_columns(&crate::cook::from_text(&d.text)?, &parent, &rel)?;
            self.store_cooked_default(table, d.number, &expr, attr.generated)?;
        }
        Ok(())
    }
}
