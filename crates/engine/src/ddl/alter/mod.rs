//! ALTER TABLE and its like. The commands of a statement are done in passes, as in PostgreSQL:
//! what goes goes first, then types change, columns come, constraints, and the rest. Rows are
//! rewritten once, and checked once all is as it will be.

mod add_column;
mod change_type;
mod column;
mod constraint;
mod identity;
pub(crate) mod kind;
pub(crate) use kind::{not_opened, not_supported, refused};
mod relation;
pub(in crate::ddl) use relation::state_letter;
mod rename;

use super::Ddl;
use base::{Error, Oid, Result, SqlState, bail};
use catalog::{RelKind, RelationDesc};
use ir::Expr;
use parser::ast::{
    AlterTableKind, AlterTableStmt, Constraint, ConstraintKind, LockMode, ObjectKind, RelName,
};
use std::cell::RefCell;
use std::sync::Arc;

/// When a command is done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Pass {
    Drop,
    ChangeType,
    AddColumn,
    SetExpression,
    AddConstraint,
    ColumnAttributes,
    AddIndex,
    OtherConstraint,
    Misc,
}

/// A command, or a part of one that has its own time.
enum Step<'a> {
    Command(&'a AlterTableKind),
}

/// What is to be done with a table's rows.
struct Work {
    table: Oid,
    /// The table before the statement.
    old: Arc<RelationDesc>,
    /// Columns to compute: from the row before, or (`true`) from the new one.
    values: Vec<(i16, Expr, bool)>,
    rewrite: bool,
    not_null: Vec<i16>,
    checks: Vec<(String, Expr)>,
    /// Foreign keys to be checked.
    foreign: Vec<Oid>,
    /// Indexes and constraints over columns whose type changes.
    rebuild: Vec<change_type::Rebuild>,
    changed: Vec<i16>,
}

/// One statement.
struct Alter<'d, 'e> {
    ddl: &'d Ddl<'e>,
    work: RefCell<Vec<Work>>,
    /// Steps that came up while others were done.
    more: RefCell<Vec<(Pass, Oid, Constraint, bool)>>,
}

/// The lock that a command needs.
fn lock_of(kind: &AlterTableKind) -> LockMode {
    match kind {
        AlterTableKind::AddConstraint(c) if matches!(c.kind, ConstraintKind::ForeignKey(_)) => {
            LockMode::ShareRowExclusive
        }
        AlterTableKind::Trigger { .. } => LockMode::ShareRowExclusive,
        AlterTableKind::SetStatistics { .. }
        | AlterTableKind::SetColumnOptions { .. }
        | AlterTableKind::ResetColumnOptions { .. }
        | AlterTableKind::ClusterOn(_)
        | AlterTableKind::SetWithoutCluster
        | AlterTableKind::ValidateConstraint(_)
        | AlterTableKind::AttachPartition { .. }
        | AlterTableKind::SetOptions(_)
        | AlterTableKind::ResetOptions(_) => LockMode::ShareUpdateExclusive,
        _ => LockMode::AccessExclusive,
    }
}

fn pass_of(kind: &AlterTableKind) -> Pass {
    use AlterTableKind::*;
    match kind {
        DropColumn { .. }
        | DropConstraint { .. }
        | DropNotNull { .. }
        | DropExpression { .. }
        | DropIdentity { .. }
        | DropDefault { .. } => Pass::Drop,
        AlterColumnType { .. } => Pass::ChangeType,
        AddColumn { .. } => Pass::AddColumn,
        SetExpression { .. } => Pass::SetExpression,
        SetDefault { .. } => Pass::OtherConstraint,
        AddIdentity { .. } => Pass::OtherConstraint,
        AddConstraint(c) => pass_of_constraint(c),
        SetNotNull { .. } => Pass::ColumnAttributes,
        _ => Pass::Misc,
    }
}

fn pass_of_constraint(c: &Constraint) -> Pass {
    match &c.kind {
        ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique(_) | ConstraintKind::Exclude(_) => {
            Pass::AddIndex
        }
        ConstraintKind::ForeignKey(_) => Pass::OtherConstraint,
        ConstraintKind::NotNull(_) => Pass::ColumnAttributes,
        _ => Pass::AddConstraint,
    }
}

impl Ddl<'_> {
    /// ALTER TABLE and its like.
    pub fn alter_table(&self, stmt: &AlterTableStmt) -> Result<()> {
        let Some(rel) = self.relation_to_alter(&stmt.rel, stmt.kind, stmt.missing_ok)? else {
            return Ok(());
        };
        let mode = match rel.kind {
            // What a view's options say counts for who reads it.
            RelKind::View => None,
            _ => stmt.commands.iter().map(|c| lock_of(&c.kind)).max(),
        };
        self.storage.lock(rel.oid, mode.unwrap_or(LockMode::AccessExclusive))?;
        let rel = self.view.relation(rel.oid)?;
        self.require_owner_of_relation(&rel)?;
        self.check_unused(&rel, "ALTER TABLE")?;
        for command in &stmt.commands {
            kind::check_kind(&rel, &command.kind)?;
        }
        let alter =
            Alter { ddl: self, work: RefCell::new(Vec::new()), more: RefCell::new(Vec::new()) };
        alter.run(rel.oid, stmt)
    }

    /// Fails if the session still reads the relation, or something is still to be done for
    /// changes of its rows.
    pub fn check_unused(&self, rel: &RelationDesc, statement: &str) -> Result<()> {
        if self.storage.in_use(rel.oid) {
            base::bail!(
                OBJECT_IN_USE,
                "cannot {statement} \"{}\" because it is being used by active queries in this session",
                rel.name
            );
        }
        if self.env.core.foreign_keys.is_pending_on(rel.oid) {
            base::bail!(
                OBJECT_IN_USE,
                "cannot {statement} \"{}\" because it has pending trigger events",
                rel.name
            );
        }
        Ok(())
    }

    /// The relation a statement names, of the kind its word says; none if IF EXISTS.
    pub(super) fn relation_to_alter(
        &self,
        name: &RelName,
        kind: ObjectKind,
        missing_ok: bool,
    ) -> Result<Option<Arc<RelationDesc>>> {
        let schema = name.schema.as_deref();
        let found = match self.view.relation_named(schema, &name.name) {
            Err(e) if missing_ok && e.code() == SqlState::INVALID_SCHEMA_NAME => None,
            other => other?,
        };
        let Some(rel) = found else {
            if let Some(schema) = schema.filter(|s| !missing_ok && *s != "pg_temp") {
                self.view.require_namespace(schema)?;
            }
            let shown = match schema {
                Some(s) => format!("{s}.{}", name.name),
                None => name.name.clone(),
            };
            let text = format!("relation \"{shown}\" does not exist");
            if missing_ok {
                self.skip_notice(format!("relation \"{}\" does not exist, skipping", name.name));
                return Ok(None);
            }
            return Err(Error::new(SqlState::UNDEFINED_TABLE, text));
        };
        let wrong = |what: &str| base::err!(WRONG_OBJECT_TYPE, "\"{}\" is not {what}", rel.name);
        match (kind, rel.kind) {
            (ObjectKind::View, RelKind::View)
            | (ObjectKind::MatView, RelKind::MatView)
            | (ObjectKind::ForeignTable, RelKind::Foreign)
            | (ObjectKind::Type, RelKind::Composite)
            | (ObjectKind::Sequence, RelKind::Sequence)
            | (ObjectKind::Index, RelKind::Index | RelKind::PartitionedIndex) => {}
            (ObjectKind::View, _) => return Err(wrong("a view")),
            (ObjectKind::MatView, _) => return Err(wrong("a materialized view")),
            (ObjectKind::ForeignTable, _) => return Err(wrong("a foreign table")),
            (ObjectKind::Type, _) => return Err(wrong("a composite type")),
            (ObjectKind::Index, _) => return Err(wrong("an index")),
            (ObjectKind::Sequence, _) => return Err(wrong("a sequence")),
            (_, RelKind::Composite) => {
                let e = base::err!(WRONG_OBJECT_TYPE, "\"{}\" is a composite type", rel.name);
                return Err(e.hint("Use ALTER TYPE instead."));
            }
            _ => {}
        }
        Ok(Some(rel))
    }
}

impl Alter<'_, '_> {
    fn run(&self, table: Oid, stmt: &AlterTableStmt) -> Result<()> {
        let mut steps: Vec<(Pass, Step)> =
            stmt.commands.iter().map(|c| (pass_of(&c.kind), Step::Command(&c.kind))).collect();
        steps.sort_by_key(|s| s.0);
        let mut rewritten = false;
        let recurse = !stmt.only;
        if steps.iter().any(|s| s.0 == Pass::ChangeType) {
            // New values are computed from rows as they were before the statement.
            let tables = if recurse { self.ddl.tree(table)? } else { vec![table] };
            for table in tables {
                self.with_work(table, |_| ())?;
            }
        }
        for pass in [
            Pass::Drop,
            Pass::ChangeType,
            Pass::AddColumn,
            Pass::SetExpression,
            Pass::AddConstraint,
            Pass::ColumnAttributes,
            Pass::AddIndex,
            Pass::OtherConstraint,
            Pass::Misc,
        ] {
            if pass >= Pass::AddIndex && !rewritten {
                self.rewrite()?;
                self.rebuild()?;
                rewritten = true;
            }
            for (_, step) in steps.iter().filter(|s| s.0 == pass) {
                match step {
                    Step::Command(kind) => self.command(table, kind, recurse)?,
                }
            }
            loop {
                let next = {
                    let mut more = self.more.borrow_mut();
                    more.iter().position(|m| m.0 == pass).map(|i| more.remove(i))
                };
                let Some((_, table, c, recurse)) = next else { break };
                self.add_constraint(table, &c, recurse).map_err(|e| unplaced(e, &c))?;
            }
        }
        self.check_rows()
    }

    /// The work to be done with a table's rows; made if it is not there.
    fn with_work<T>(&self, table: Oid, f: impl FnOnce(&mut Work) -> T) -> Result<T> {
        let mut all = self.work.borrow_mut();
        if let Some(work) = all.iter_mut().find(|w| w.table == table) {
            return Ok(f(work));
        }
        all.push(Work {
            table,
            old: self.ddl.view.relation(table)?,
            values: Vec::new(),
            rewrite: false,
            not_null: Vec::new(),
            checks: Vec::new(),
            foreign: Vec::new(),
            rebuild: Vec::new(),
            changed: Vec::new(),
        });
        match all.last_mut() {
            Some(work) => Ok(f(work)),
            None => Err(Error::internal("no work")),
        }
    }

    fn command(&self, table: Oid, kind: &AlterTableKind, recurse: bool) -> Result<()> {
        use AlterTableKind::*;
        let rel = self.ddl.view.relation(table)?;
        match kind {
            AddColumn { column, if_not_exists, cascade } => {
                self.typed_tables(&rel, *cascade)?;
                self.add_column(&rel, column, *if_not_exists, recurse, false)
            }
            DropColumn { name, missing_ok, cascade } => {
                self.typed_tables(&rel, *cascade)?;
                self.drop_column(&rel, name, *missing_ok, *cascade, recurse)
            }
            AlterColumnType { column, pos, type_name, collation, using, cascade } => {
                self.typed_tables(&rel, *cascade)?;
                let new = change_type::NewType { column, pos: *pos, type_name, collation, using };
                self.change_type(&rel, &new, recurse, false)
            }
            SetDefault { column, default } => {
                let set = self.set_default(&rel, column, Some(default), recurse);
                set.map_err(|e| e.placed(None))
            }
            DropDefault { column } => self.set_default(&rel, column, None, recurse),
            SetNotNull { column } => self.set_not_null(&rel, column, recurse),
            DropNotNull { column } => self.drop_not_null(&rel, column, recurse),
            SetExpression { column, expr } => {
                let set = self.set_expression(&rel, column, expr, recurse);
                set.map_err(|e| e.placed(None))
            }
            DropExpression { column, missing_ok } => {
                self.drop_expression(&rel, column, *missing_ok, recurse)
            }
            SetStatistics { column, target } => self.set_statistics(&rel, column, *target),
            SetColumnOptions { column, options } => {
                self.set_column_options(&rel, column, options, false)
            }
            ResetColumnOptions { column, options } => {
                self.set_column_options(&rel, column, options, true)
            }
            SetStorage { column, storage } => self.set_storage(&rel, column, storage, recurse),
            SetCompression { column, method } => self.set_compression(&rel, column, method),
            AddIdentity { column, always, options, .. } => {
                self.add_identity(&rel, column, *always, options, recurse)
            }
            SetIdentity { column, always, options } => {
                self.set_identity(&rel, column, *always, options, recurse)
            }
            DropIdentity { column, missing_ok } => {
                self.drop_identity(&rel, column, *missing_ok, recurse)
            }
            AddConstraint(c) => self.add_constraint(table, c, recurse).map_err(|e| unplaced(e, c)),
            AlterConstraint { name, deferrable, initially_deferred, enforced, inherit } => self
                .alter_constraint(
                    &rel,
                    name,
                    *deferrable,
                    *initially_deferred,
                    *enforced,
                    *inherit,
                ),
            ValidateConstraint(name) => self.validate_constraint(&rel, name, recurse),
            DropConstraint { name, missing_ok, cascade } => {
                self.drop_constraint(&rel, name, *missing_ok, *cascade, recurse)
            }
            other => self.relation_command(&rel, other),
        }
    }

    /// Children of a table, locked; none if the statement says ONLY. Those of a composite type
    /// are the tables of that type.
    fn children(&self, table: Oid) -> Result<Vec<Arc<RelationDesc>>> {
        let mut all = Vec::new();
        let rel = self.ddl.view.relation(table)?;
        let children = match rel.kind {
            RelKind::Composite => self.ddl.tables_of_type(&rel)?,
            _ => self.ddl.view.children(table)?,
        };
        for child in children {
            self.ddl.storage.lock(child, LockMode::AccessExclusive)?;
            let child = self.ddl.view.relation(child)?;
            self.ddl.check_unused(&child, "ALTER TABLE")?;
            all.push(child);
        }
        Ok(all)
    }

    /// A composite type changes with the tables of the type, or not at all.
    fn typed_tables(&self, rel: &RelationDesc, cascade: bool) -> Result<()> {
        let composite = rel.kind == RelKind::Composite;
        if !composite || cascade || self.ddl.tables_of_type(rel)?.is_empty() {
            return Ok(());
        }
        Err(typed_table_error(&rel.name))
    }

    /// Gives tables whose rows have to change new files with the changed rows.
    fn rewrite(&self) -> Result<()> {
        let todo: Vec<(Oid, Arc<RelationDesc>, Vec<(i16, Expr, bool)>)> = self
            .work
            .borrow_mut()
            .iter_mut()
            .filter(|w| w.rewrite)
            .map(|w| (w.table, w.old.clone(), w.values.clone()))
            .collect();
        for (table, old, values) in todo {
            let new = self.ddl.view.relation(table)?;
            if !new.kind.has_storage() {
                continue;
            }
            if old.oid < Oid::FIRST_NORMAL {
                bail!(FEATURE_NOT_SUPPORTED, "cannot rewrite system relation \"{}\"", old.name);
            }
            self.ddl.storage.open(&old)?;
            self.ddl.new_files_without_indexes(&new)?;
            let new = self.ddl.view.relation(table)?;
            let generated = self.generated_values(&new)?;
            let values: Vec<(i16, Expr, bool)> =
                values.into_iter().filter(|v| !v.2).chain(generated).collect();
            self.ddl.storage.rewrite(&old, &new, &values)?;
            self.ddl.new_index_files(table)?;
        }
        Ok(())
    }

    /// Stored generated columns are computed again for each rewritten row.
    fn generated_values(&self, rel: &RelationDesc) -> Result<Vec<(i16, Expr, bool)>> {
        let mut all = Vec::new();
        for (i, a) in rel.tuple.attrs.iter().enumerate() {
            if a.generated == b's'
                && !a.dropped
                && let Some(text) = rel.default_of(i as i16 + 1)
            {
                all.push((i as i16 + 1, crate::cook::from_text(text)?, true));
            }
        }
        Ok(all)
    }

    /// Looks at the rows once all is as it will be.
    fn check_rows(&self) -> Result<()> {
        let all = std::mem::take(&mut *self.work.borrow_mut());
        for work in &all {
            let rel = self.ddl.view.relation(work.table)?;
            if !rel.kind.has_storage() {
                continue;
            }
            for n in &work.not_null {
                if !rel.tuple.attrs[*n as usize - 1].dropped {
                    self.ddl.storage.check_not_null(&rel, *n)?;
                }
            }
            for (name, check) in &work.checks {
                self.ddl.storage.check_rows(&rel, name, check)?;
            }
        }
        for work in &all {
            for oid in &work.foreign {
                let Some(fk) = self.ddl.view.find_constraint(*oid)? else { continue };
                let rel = self.ddl.view.relation(work.table)?;
                if rel.kind.has_storage() {
                    self.ddl.storage.check_foreign_key(&rel, &fk)?;
                }
            }
        }
        Ok(())
    }
}

impl Ddl<'_> {
    /// The tables made of a composite type.
    fn tables_of_type(&self, of: &RelationDesc) -> Result<Vec<Oid>> {
        let mut all = Vec::new();
        for row in self.rows.table_scan(catalog::oids::PG_CLASS)? {
            if row.oid("reloftype")? == of.row_type {
                all.push(row.oid("oid")?);
            }
        }
        Ok(all)
    }

    /// A table and all below it, locked, parents first.
    pub fn tree(&self, table: Oid) -> Result<Vec<Oid>> {
        let mut all = vec![table];
        let mut next = 0;
        while next < all.len() {
            for child in self.view.children(all[next])? {
                if !all.contains(&child) {
                    self.storage.lock(child, LockMode::AccessExclusive)?;
                    let rel = self.view.relation(child)?;
                    self.check_unused(&rel, "ALTER TABLE")?;
                    all.push(child);
                }
            }
            next += 1;
        }
        Ok(all)
    }
}

/// A constraint's error is told without the place of what is looked at once its turn has come.
fn unplaced(e: Error, c: &Constraint) -> Error {
    let keyed = matches!(
        c.kind,
        ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique(_) | ConstraintKind::Exclude(_)
    );
    let using = matches!(&c.kind, ConstraintKind::PrimaryKey(k) | ConstraintKind::Unique(k)
        if k.index.is_some());
    if keyed && (using || e.code() == SqlState::DUPLICATE_COLUMN) { e } else { e.placed(None) }
}

/// The tables of a type are in the way of its change.
pub(in crate::ddl) fn typed_table_error(name: &str) -> Error {
    base::err!(
        DEPENDENT_OBJECTS_STILL_EXIST,
        "cannot alter type \"{name}\" because it is the type of a typed table"
    )
    .hint("Use ALTER ... CASCADE to alter the typed tables too.")
}
