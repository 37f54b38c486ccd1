//! ALTER COLUMN TYPE: the column, its default, and what is made anew because it is over the column.

use super::Alter;
use crate::ddl::Ddl;
use crate::ddl::index::{IndexKey, NewIndex};
use crate::ddl::name::quote;
use crate::sysfn::ViewNames;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ConstraintDesc, IndexDesc, RelKind, RelationDesc, indexes, oids};
use functions::FnEnv;
use ir::deparse::Style;
use ir::{CoercionForm, Expr};
use parser::ast::{self, Name, TypeName};
use std::sync::Arc;
use types::Datum;

/// What ALTER COLUMN TYPE says.
pub(super) struct NewType<'a> {
    pub column: &'a str,
    /// Where the column is named.
    pub pos: ast::Pos,
    pub type_name: &'a TypeName,
    pub collation: &'a Option<Name>,
    pub using: &'a Option<ast::Expr>,
}

/// Something over a changed column that is made anew.
pub(super) enum Rebuild {
    Index(SavedIndex),
    Check {
        old: ConstraintDesc,
        text: String,
        comment: Option<String>,
    },
    Foreign {
        table: Oid,
        old: ConstraintDesc,
        constraint: ast::Constraint,
        comment: Option<String>,
    },
}

/// An index as text and numbers that mean the same after the change.
pub(super) struct SavedIndex {
    desc: Arc<IndexDesc>,
    tablespace: Oid,
    /// Texts of the expressions, in order.
    exprs: Vec<String>,
    predicate: Option<String>,
    /// Operator class by key, if it is not the default.
    opclasses: Vec<Option<Oid>>,
    constraint: Option<ConstraintDesc>,
    comment: Option<String>,
    constraint_comment: Option<String>,
}

/// What a cast that nobody wrote is around.
fn without_implicit(expr: Expr) -> Expr {
    match expr {
        Expr::Func(mut f) if f.form == CoercionForm::ImplicitCast && !f.args.is_empty() => {
            without_implicit(f.args.swap_remove(0))
        }
        Expr::Relabel { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::CoerceViaIo { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::ArrayCoerce { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::ConvertRowtype { arg, form: CoercionForm::ImplicitCast, .. }
        | Expr::CoerceToDomain { arg, form: CoercionForm::ImplicitCast, .. } => {
            without_implicit(*arg)
        }
        other => other,
    }
}

impl Ddl<'_> {
    /// An expression over a table as SQL text.
    pub fn expr_text(&self, rel: &RelationDesc, expr: &Expr) -> Result<String> {
        let names = ViewNames::new(&self.view, self.env.io());
        let columns = rel.tuple.attrs.iter().map(|a| a.name.to_string()).collect();
        let of = [ir::deparse::Relation { name: rel.name.to_string(), columns }];
        ir::deparse::expression(expr, &of, &names, Style::PLAIN, false)
    }
}

impl Ddl<'_> {
    /// A table's column that has values of a type in it, maybe deep within: in arrays, ranges,
    /// domains and rows.
    pub(in crate::ddl) fn column_of_type(
        &self,
        ty: Oid,
    ) -> Result<Option<(Arc<RelationDesc>, String)>> {
        base::stack::check()?;
        let own = ObjectAddress::new(oids::PG_TYPE, ty);
        let mut found = None;
        for d in depend::dependents_of(self.rows, own)? {
            if d.depender.class == oids::PG_TYPE {
                found = self.column_of_type(d.depender.object)?;
            } else if d.depender.class == oids::PG_CLASS && d.depender.sub > 0 {
                let user = self.view.relation(d.depender.object)?;
                let holds = user.kind.has_storage() || user.kind == RelKind::Partitioned;
                if holds {
                    let column = user.tuple.attrs[d.depender.sub as usize - 1].name.to_string();
                    found = Some((user, column));
                } else if user.row_type.is_valid() {
                    found = self.column_of_type(user.row_type)?;
                }
            }
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

impl Alter<'_, '_> {
    pub(super) fn change_type(
        &self,
        rel: &Arc<RelationDesc>,
        new: &NewType<'_>,
        recurse: bool,
        inherited: bool,
    ) -> Result<()> {
        let ddl = self.ddl;
        if rel.of_type.is_valid() && !inherited {
            let e = err!(WRONG_OBJECT_TYPE, "cannot alter column type of typed table");
            return Err(e.at(new.pos));
        }
        let n = self.column(rel, new.column).map_err(|e| e.at(new.pos))?;
        let attr = rel.tuple.attrs[n as usize - 1].clone();
        let row = ddl.column_row(rel.oid, n)?;
        if row.i16("attinhcount")? > 0 && !inherited {
            let column = new.column;
            let e = err!(INVALID_TABLE_DEFINITION, "cannot alter inherited column \"{column}\"");
            return Err(e.at(new.pos));
        }
        if attr.generated != 0 && new.using.is_some() {
            return Err(err!(
                INVALID_COLUMN_DEFINITION,
                "cannot specify USING when altering type of generated column"
            )
            .detail(format!("Column \"{}\" is a generated column.", new.column))
            .at(new.pos));
        }
        if let Some(key) = &rel.partition_key {
            self.not_in_partition_key(rel, key, n, "alter").map_err(|e| e.at(new.pos))?;
        }
        let (ty, warning) = ddl.resolve_warned(new.type_name)?;
        // It is told once more when the column is changed.
        warning.into_iter().for_each(|w| ddl.notice(w));
        let type_desc = ddl.view.type_(ty.oid)?;
        let collation = match new.collation {
            Some(name) => {
                let found = ddl.collation(name)?;
                if !type_desc.collation.is_valid() {
                    return Err(err!(
                        DATATYPE_MISMATCH,
                        "collations are not supported by type {}",
                        ddl.format_type(ty.oid, -1)
                    )
                    .at(name.pos));
                }
                found
            }
            None => type_desc.collation,
        };
        ddl.check_columns(&[crate::ddl::column::NewColumn::new(new.column, ty, collation)])?;
        let twice = self.with_work(rel.oid, |w| w.changed.contains(&n))?;
        if twice && inherited {
            return Ok(());
        }
        if twice {
            bail!(FEATURE_NOT_SUPPORTED, "cannot alter type of column \"{}\" twice", new.column);
        }
        self.with_work(rel.oid, |w| w.changed.push(n))?;
        if attr.identity != 0 && !rel.is_partition {
            crate::ddl::sequence::check_identity_type(ty.oid)?;
            let kind = ast::SeqOptionKind::As(new.type_name.clone());
            let as_type = ast::SeqOption { kind, pos: new.type_name.pos };
            ddl.change_sequence(ddl.identity_sequence(rel.oid, n)?, &[as_type])?;
        }
        if attr.generated == b'v' {
            ddl.check_virtual_type(new.column, ty.oid)?;
        }
        ddl.refuse_own_row(rel, ty.oid)?;
        if rel.row_type.is_valid() {
            self.row_type_unused(rel)?;
        }
        let stored = rel.kind.has_storage() && attr.generated != b'v';
        let made = stored.then(|| self.conversion(rel, n, new, &ty)).transpose()?;
        self.children_types(rel, new, recurse)?;
        if let Some(made) = made
            && needs_rewrite(ddl, &made, n)?
        {
            self.with_work(rel.oid, |w| {
                w.rewrite = true;
                w.values.push((n, made, false));
            })?;
        }
        self.remember_dependents(rel, n)?;
        let default = self.converted_default(rel, n, &ty, new.column)?;
        if default.is_some() {
            self.remove_default(rel, n)?;
        }
        self.write_type(rel, n, &ty, collation)?;
        if let Some(expr) = default {
            ddl.store_cooked_default(rel.oid, n, &expr, attr.generated)?;
        }
        Ok(())
    }

    fn children_types(&self, rel: &RelationDesc, new: &NewType<'_>, recurse: bool) -> Result<()> {
        let children = self.children(rel.oid)?;
        if !recurse && !children.is_empty() {
            bail!(
                INVALID_TABLE_DEFINITION,
                "type of inherited column \"{}\" must be changed in child tables too",
                new.column
            );
        }
        for child in children {
            let Some(m) = child.column_number(new.column) else { continue };
            let count = self.ddl.column_row(child.oid, m)?.i16("attinhcount")?;
            // All the parents that it has the column from change too.
            let changes = |p: &&Oid| self.work.borrow().iter().any(|w| w.table == **p);
            let parents = child.parents.iter().filter(changes).count();
            if i32::from(count) > parents as i32 && !child.of_type.is_valid() {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "cannot alter inherited column \"{}\" of relation \"{}\"",
                    new.column,
                    child.name
                );
            }
            self.change_type(&child, new, true, true)?;
        }
        Ok(())
    }

    /// A table whose row type is a column's type keeps its columns' types.
    pub(super) fn row_type_unused(&self, rel: &RelationDesc) -> Result<()> {
        let Some((user, column)) = self.ddl.column_of_type(rel.row_type)? else { return Ok(()) };
        let (what, uses) = match rel.kind {
            RelKind::Composite => ("type", "it"),
            RelKind::Foreign => ("foreign table", "its row type"),
            _ => ("table", "its row type"),
        };
        bail!(
            FEATURE_NOT_SUPPORTED,
            "cannot alter {what} \"{}\" because column \"{}.{column}\" uses {uses}",
            rel.name,
            user.name
        )
    }

    /// The expression that makes new values of the column from old rows.
    fn conversion(
        &self,
        rel: &RelationDesc,
        n: i16,
        new: &NewType<'_>,
        ty: &crate::ddl::type_name::ResolvedType,
    ) -> Result<Expr> {
        let ddl = self.ddl;
        let env = crate::analysis::env(ddl.env);
        let attr = &rel.tuple.attrs[n as usize - 1];
        // Columns of the row as it was before the statement.
        let old = self.with_work(rel.oid, |w| w.old.clone())?;
        let source = match new.using {
            Some(using) => {
                let made = analyze::relation_expr(&env, &old, using, analyze::ExprUse::AlterType)?;
                if crate::cook::columns_of(&made).contains(&0) {
                    return Err(err!(
                        FEATURE_NOT_SUPPORTED,
                        "cannot convert whole-row table reference"
                    )
                    .detail("USING expression contains a whole-row table reference."));
                }
                made
            }
            None => Expr::Var(ir::Var::new(1, n, attr.type_oid, attr.typmod, attr.collation)),
        };
        let made = analyze::coerce_assignment(&env, source, ty.oid, ty.typmod)?;
        made.ok_or_else(|| {
            let shown = ddl.format_type(ty.oid, -1);
            match new.using {
                Some(_) => err!(
                    DATATYPE_MISMATCH,
                    "result of USING clause for column \"{}\" cannot be cast automatically to \
                     type {shown}",
                    new.column
                )
                .hint("You might need to add an explicit cast."),
                None => {
                    let e = err!(
                        DATATYPE_MISMATCH,
                        "column \"{}\" cannot be cast automatically to type {shown}",
                        new.column
                    );
                    match attr.generated {
                        0 => e.hint(format!(
                            "You might need to specify \"USING {}::{}\".",
                            quote(new.column),
                            ddl.format_type(ty.oid, ty.typmod)
                        )),
                        _ => e,
                    }
                }
            }
        })
    }

    fn converted_default(
        &self,
        rel: &RelationDesc,
        n: i16,
        ty: &crate::ddl::type_name::ResolvedType,
        column: &str,
    ) -> Result<Option<Expr>> {
        let Some(text) = rel.default_of(n) else { return Ok(None) };
        let old: Expr = crate::cook::from_text(text)?;
        let env = crate::analysis::env(self.ddl.env);
        let made = analyze::coerce_assignment(&env, without_implicit(old), ty.oid, ty.typmod)?;
        let what = match rel.tuple.attrs[n as usize - 1].generated {
            0 => "default",
            _ => "generation expression",
        };
        made.map(Some).ok_or_else(|| {
            err!(
                DATATYPE_MISMATCH,
                "{what} for column \"{column}\" cannot be cast automatically to type {}",
                self.ddl.format_type(ty.oid, -1)
            )
        })
    }

    fn write_type(
        &self,
        rel: &RelationDesc,
        n: i16,
        ty: &crate::ddl::type_name::ResolvedType,
        collation: Oid,
    ) -> Result<()> {
        let ddl = self.ddl;
        let desc = ddl.view.type_(ty.oid)?;
        let rewrite = self.with_work(rel.oid, |w| w.rewrite)?;
        let mut row = ddl.column_row(rel.oid, n)?;
        row.set_oid("atttypid", ty.oid)?
            .set_i32("atttypmod", ty.typmod)?
            .set_i16("attndims", ty.ndims)?
            .set_oid("attcollation", collation)?
            .set_i16("attlen", desc.len)?
            .set_bool("attbyval", desc.by_val)?
            .set_char("attalign", desc.align)?
            .set_char("attstorage", desc.storage)?
            .set_char("attcompression", 0)?;
        if rewrite {
            row.set_bool("atthasmissing", false)?.set("attmissingval", Datum::Null)?;
        }
        ddl.rows.update(row)?;
        let own = ObjectAddress::column(rel.oid, n);
        for d in depend::dependencies_of(ddl.rows, own)? {
            if matches!(d.referenced.class, oids::PG_TYPE | oids::PG_COLLATION) {
                depend::forget_one(ddl.rows, own, d.referenced)?;
            }
        }
        let type_address = ObjectAddress::new(oids::PG_TYPE, ty.oid);
        depend::record(ddl.rows, own, type_address, DependKind::Normal)?;
        if collation.is_valid() && collation != oids::DEFAULT_COLLATION {
            let collation = ObjectAddress::new(oids::PG_COLLATION, collation);
            depend::record(ddl.rows, own, collation, DependKind::Normal)?;
        }
        let key = [Datum::U32(rel.oid.0), Datum::I16(n)];
        for row in ddl.rows.index_scan(indexes::PG_STATISTIC_RELID, &key)? {
            ddl.rows.delete(&row)?;
        }
        ddl.create_toast_if_needed(rel.oid)
    }

    /// Notes what is over a column and has to be made anew, and removes it; refuses what cannot.
    pub(super) fn remember_dependents(&self, rel: &Arc<RelationDesc>, n: i16) -> Result<()> {
        let ddl = self.ddl;
        let column = &rel.tuple.attrs[n as usize - 1].name;
        let refused =
            |what: &str| err!(FEATURE_NOT_SUPPORTED, "cannot alter type of a column used {what}");
        let on = |a: ObjectAddress| -> Result<String> {
            Ok(format!("{} depends on column \"{column}\"", ddl.describe(a)?))
        };
        for d in depend::dependents_of(ddl.rows, ObjectAddress::column(rel.oid, n))? {
            let a = d.depender;
            match a.class {
                oids::PG_REWRITE => {
                    return Err(refused("by a view or rule").detail(on(a)?));
                }
                oids::PG_TRIGGER => {
                    return Err(refused("in a trigger definition").detail(on(a)?));
                }
                oids::PG_POLICY => {
                    return Err(refused("in a policy definition").detail(on(a)?));
                }
                oids::PG_PROC => {
                    return Err(refused("by a function or procedure").detail(on(a)?));
                }
                oids::PG_ATTRDEF => {
                    let row = ddl.row_by_oid(Oid(2657), a.object)?;
                    let m = row.i16("adnum")?;
                    if m != n {
                        let other = &rel.tuple.attrs[m as usize - 1].name;
                        return Err(refused("by a generated column").detail(format!(
                            "Column \"{column}\" is used by generated column \"{other}\"."
                        )));
                    }
                }
                _ => {}
            }
        }
        let mut saved = Vec::new();
        let now = ddl.view.relation(rel.oid)?;
        for c in &now.constraints {
            let over = match (&c.kind, &c.expr) {
                (b'c', Some(text)) => {
                    let expr: Expr = crate::cook::from_text(text)?;
                    crate::cook::columns_of(&expr).iter().any(|m| *m == n || *m == 0)
                }
                // What stands for one on partitions comes back with it.
                (b'f', _) => c.columns.contains(&n) && !c.parent.is_valid(),
                _ => false,
            };
            if over {
                saved.push(self.save_constraint(&now, c)?);
            }
        }
        for c in &now.referenced_by {
            let over = c.foreign.as_ref().is_some_and(|f| f.columns.contains(&n));
            if over && !c.parent.is_valid() && c.relation != rel.oid {
                let other = ddl.view.relation(c.relation)?;
                saved.push(self.save_constraint(&other, c)?);
            }
        }
        for index in &now.indexes {
            // That of a partition comes back with the partitioned table's.
            let own = ddl.view.relation(index.oid)?.parents.is_empty();
            if own && index_columns(index)?.contains(&n) {
                saved.push(Rebuild::Index(self.save_index(&now, index)?));
            }
        }
        let mut gone = Vec::new();
        for s in &saved {
            gone.push(match s {
                Rebuild::Index(i) => match &i.constraint {
                    Some(c) => ObjectAddress::new(oids::PG_CONSTRAINT, c.oid),
                    None => ObjectAddress::relation(i.desc.oid),
                },
                Rebuild::Check { old, .. } | Rebuild::Foreign { old, .. } => {
                    ObjectAddress::new(oids::PG_CONSTRAINT, old.oid)
                }
            });
        }
        // Foreign keys go before the keys they refer to.
        gone.sort_by_key(|a| {
            let fk = now.constraints.iter().chain(&now.referenced_by);
            !fk.clone().any(|c| c.oid == a.object && c.kind == b'f')
        });
        for a in gone {
            ddl.drop_quietly(&[a])?;
        }
        self.with_work(rel.oid, |w| w.rebuild.extend(saved))
    }

    fn save_constraint(&self, rel: &RelationDesc, c: &ConstraintDesc) -> Result<Rebuild> {
        let comment = self.ddl.comment_of(ObjectAddress::new(oids::PG_CONSTRAINT, c.oid))?;
        if let (b'c', Some(text)) = (c.kind, &c.expr) {
            let expr: Expr = crate::cook::from_text(text)?;
            let text = self.ddl.expr_text(rel, &expr)?;
            return Ok(Rebuild::Check { old: c.clone(), text, comment });
        }
        let constraint = self.ddl.foreign_key_ast(rel, c)?;
        Ok(Rebuild::Foreign { table: rel.oid, old: c.clone(), constraint, comment })
    }

    fn save_index(&self, rel: &RelationDesc, index: &Arc<IndexDesc>) -> Result<SavedIndex> {
        let ddl = self.ddl;
        let exprs: Vec<Expr> = match &index.exprs {
            Some(text) => crate::cook::from_text(text)?,
            None => Vec::new(),
        };
        let predicate: Option<Expr> = match &index.predicate {
            Some(text) => Some(crate::cook::from_text(text)?),
            None => None,
        };
        let mut opclasses = Vec::new();
        for class in &index.opclasses {
            let desc = ddl.view.opclass(*class)?;
            opclasses.push((!desc.is_default).then_some(*class));
        }
        let constraint = rel.constraints.iter().find(|c| c.index == index.oid).cloned();
        let constraint_comment = match &constraint {
            Some(c) => ddl.comment_of(ObjectAddress::new(oids::PG_CONSTRAINT, c.oid))?,
            None => None,
        };
        Ok(SavedIndex {
            constraint_comment,
            desc: index.clone(),
            tablespace: ddl.view.relation(index.oid)?.tablespace,
            exprs: exprs.iter().map(|e| ddl.expr_text(rel, e)).collect::<Result<_>>()?,
            predicate: predicate.map(|p| ddl.expr_text(rel, &p)).transpose()?,
            opclasses,
            constraint,
            comment: ddl.comment_of(ObjectAddress::relation(index.oid))?,
        })
    }

    /// Makes what was remembered anew: indexes first, then checks and foreign keys.
    pub(super) fn rebuild(&self) -> Result<()> {
        let mut all: Vec<(Oid, Rebuild)> = Vec::new();
        for work in self.work.borrow_mut().iter_mut() {
            let table = work.table;
            all.extend(std::mem::take(&mut work.rebuild).into_iter().map(|r| (table, r)));
        }
        let order = |r: &Rebuild| match r {
            Rebuild::Index(_) => 0,
            Rebuild::Check { .. } => 1,
            _ => 2,
        };
        all.sort_by_key(|(_, r)| order(r));
        for (table, r) in all {
            // Places in the texts made here mean nothing to the client.
            match r {
                Rebuild::Index(saved) => {
                    self.rebuild_index(table, &saved).map_err(|e| e.placed(None))?;
                    if let Some(c) = &saved.constraint {
                        self.comment_again(table, &c.name, saved.constraint_comment.as_deref())?;
                    }
                }
                Rebuild::Check { old, text, comment } => {
                    self.rebuild_check(table, &old, &text).map_err(|e| e.placed(None))?;
                    self.comment_again(table, &old.name, comment.as_deref())?;
                }
                Rebuild::Foreign { table, old, constraint, comment } => {
                    let ast::ConstraintKind::ForeignKey(fk) = &constraint.kind else { continue };
                    let made = self.ddl.add_foreign_key(table, &constraint, fk)?;
                    if old.validated && old.enforced {
                        self.check_foreign_later(made)?;
                    }
                    self.comment_again(table, &old.name, comment.as_deref())?;
                }
            }
        }
        Ok(())
    }

    fn comment_again(&self, table: Oid, constraint: &str, comment: Option<&str>) -> Result<()> {
        if comment.is_none() {
            return Ok(());
        }
        self.ddl.comment_on_constraint(&*self.ddl.view.relation(table)?, constraint, comment)
    }

    fn rebuild_check(&self, table: Oid, old: &ConstraintDesc, text: &str) -> Result<()> {
        let ddl = self.ddl;
        let rel = ddl.view.relation(table)?;
        let expr = parser::parse_expr(text)?;
        let cooked = crate::cook::check(ddl, &rel, &expr)?;
        let oid = ddl.insert_constraint(crate::ddl::key::NewConstraint {
            columns: crate::cook::columns_of(&cooked),
            expr: Some(crate::cook::to_text(&cooked)?),
            enforced: old.enforced,
            validated: old.validated,
            no_inherit: old.no_inherit,
            is_local: old.is_local,
            inherit_count: old.inherit_count,
            ..crate::ddl::key::NewConstraint::new(&old.name, old.namespace, b'c', table)
        })?;
        let own = ObjectAddress::new(oids::PG_CONSTRAINT, oid);
        ddl.depend_kept_expr(own, &cooked, table, DependKind::Normal)?;
        let mut class = ddl.class_row(table)?;
        let checks = class.i16("relchecks")?;
        class.set_i16("relchecks", checks + 1)?;
        ddl.rows.update(class)?;
        if old.validated && old.enforced {
            self.with_work(table, |w| w.checks.push((old.name.to_string(), cooked)))?;
        }
        Ok(())
    }

    fn rebuild_index(&self, table: Oid, saved: &SavedIndex) -> Result<()> {
        let ddl = self.ddl;
        let rel = ddl.view.relation(table)?;
        let old = &saved.desc;
        let mut exprs = saved.exprs.iter();
        let mut cooked = Vec::new();
        let mut keys = Vec::new();
        for i in 0..usize::from(old.n_keys) {
            let mut key = match old.columns[i] {
                0 => {
                    let text =
                        exprs.next().ok_or_else(|| Error::internal("too few expressions"))?;
                    let expr = crate::cook::index_expr(ddl, &rel, &parser::parse_expr(text)?)?;
                    let mut key = IndexKey::column(0, expr.ty(), Oid::INVALID);
                    key.collation = expr.collation();
                    cooked.push(expr);
                    key
                }
                n => {
                    let attr = &rel.tuple.attrs[n as usize - 1];
                    let mut key = IndexKey::column(n, attr.type_oid, Oid::INVALID);
                    (key.typmod, key.collation) = (attr.typmod, attr.collation);
                    key
                }
            };
            key.name = old.tuple.attrs[i].name.to_string();
            key.option = old.options[i];
            key.opclass = match saved.opclasses[i] {
                Some(class) => class,
                None => ddl.choose_opclass(old.am, am_name(old.am), key.type_oid, None)?.oid,
            };
            keys.push(key);
        }
        let mut including = Vec::new();
        for n in &old.columns[usize::from(old.n_keys)..] {
            let name = rel.tuple.attrs[*n as usize - 1].name.to_string();
            including.push(ddl.included_column(&rel, &name)?);
        }
        let predicate = match &saved.predicate {
            Some(text) => {
                Some(crate::cook::index_predicate(ddl, &rel, &parser::parse_expr(text)?)?)
            }
            None => None,
        };
        let oid = ddl.create_index(NewIndex {
            table,
            name: old.name.to_string(),
            namespace: old.namespace,
            am: old.am,
            tablespace: saved.tablespace,
            keys,
            including,
            unique: old.is_unique,
            nulls_not_distinct: old.nulls_not_distinct,
            primary: old.is_primary,
            immediate: old.is_immediate,
            constraint: saved.constraint.as_ref().map(|c| (c.kind, c.deferrable, c.deferred)),
            exclusion: match &saved.constraint {
                Some(c) if c.kind == b'x' => c.exclusion_ops.clone(),
                _ => Vec::new(),
            },
            exprs: if cooked.is_empty() { None } else { Some(crate::cook::to_text(&cooked)?) },
            predicate,
            options: old.rel_options.iter().map(|(n, v)| format!("{n}={v}")).collect(),
            only: false,
        })?;
        if old.is_clustered || old.is_replica_identity {
            let mut row = ddl.index_row(oid)?;
            row.set_bool("indisclustered", old.is_clustered)?
                .set_bool("indisreplident", old.is_replica_identity)?;
            ddl.rows.update(row)?;
        }
        depend::set_comment(ddl.rows, ObjectAddress::relation(oid), saved.comment.as_deref())
    }
}

fn am_name(am: Oid) -> &'static str {
    match am {
        oids::HASH_AM => "hash",
        _ => "btree",
    }
}

/// All columns an index is over, those in its expressions and predicate included.
fn index_columns(index: &IndexDesc) -> Result<Vec<i16>> {
    let mut all: Vec<i16> = index.columns.iter().copied().filter(|n| *n > 0).collect();
    if let Some(text) = &index.exprs {
        let exprs: Vec<Expr> = crate::cook::from_text(text)?;
        exprs.iter().for_each(|e| all.extend(crate::cook::columns_of(e)));
    }
    if let Some(text) = &index.predicate {
        let expr: Expr = crate::cook::from_text(text)?;
        all.extend(crate::cook::columns_of(&expr));
    }
    Ok(all)
}

/// True unless the values stay as they are.
fn needs_rewrite(ddl: &Ddl<'_>, expr: &Expr, n: i16) -> Result<bool> {
    match expr {
        Expr::Var(v) => Ok(v.attno != n),
        Expr::Relabel { arg, .. } => needs_rewrite(ddl, arg, n),
        Expr::CoerceToDomain { arg, ty, .. } => {
            Ok(ddl.domain_has_constraints(*ty)? || needs_rewrite(ddl, arg, n)?)
        }
        // A length that is not less than the one before changes nothing.
        Expr::Func(f) if matches!(f.func.0, 669 | 1703) && f.args.len() >= 2 => {
            let (Expr::Const(c), arg) = (&f.args[1], &f.args[0]) else { return Ok(true) };
            let Datum::I32(new) = c.value else { return Ok(true) };
            let old = arg.typmod();
            let grows = match f.func.0 {
                669 => old >= 4 && new >= old,
                _ => old >= 4 && (new - 4) & 0x7ff == (old - 4) & 0x7ff && new >= old,
            };
            Ok(!grows || needs_rewrite(ddl, arg, n)?)
        }
        _ => Ok(true),
    }
}
