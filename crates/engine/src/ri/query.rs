//! The queries that enforce foreign keys.

use super::{Event, Kind, RiPlan, error};
use crate::Session;
use crate::ddl::name::quote;
use crate::session::RunParts;
use access::heap::Viewer;
use base::{Error, Oid, Result};
use catalog::{CatalogView, ConstraintDesc, ForeignKey, IndexDesc, RelKind, RelationDesc};
use executor::Execution;
use std::fmt::Write;
use std::sync::Arc;
use types::Datum;

/// Which query of a constraint.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    /// Locks the referenced row.
    Target,
    /// The same, by the old key of the referenced table.
    OldTarget,
    /// Finds a referencing row.
    Referencing,
    /// ON DELETE CASCADE
    Delete,
    /// ON UPDATE CASCADE
    Update,
    /// SET NULL: on delete, on update.
    SetNull(bool),
    /// SET DEFAULT: on delete, on update.
    SetDefault(bool),
}

/// A constraint and its tables.
struct Key {
    fk: ConstraintDesc,
    foreign: ForeignKey,
    table: Arc<RelationDesc>,
    target: Arc<RelationDesc>,
}

fn full_name(view: &CatalogView, rel: &RelationDesc) -> Result<String> {
    let schema = &view.namespace(rel.namespace)?.name;
    Ok(format!("{}.{}", quote(schema), quote(&rel.name)))
}

/// A table without what inherits from it, but a partitioned one with its partitions.
fn own_rows(view: &CatalogView, rel: &RelationDesc) -> Result<String> {
    let name = full_name(view, rel)?;
    Ok(match rel.kind {
        RelKind::Partitioned => name,
        _ => format!("ONLY {name}"),
    })
}

fn column(rel: &RelationDesc, n: i16) -> &str {
    &rel.tuple.attrs[n as usize - 1].name
}

fn types_of(rel: &RelationDesc, columns: &[i16]) -> Vec<Oid> {
    columns.iter().map(|n| rel.tuple.attrs[*n as usize - 1].type_oid).collect()
}

/// `a = $1 AND b = $2`
fn conditions(rel: &RelationDesc, columns: &[i16]) -> String {
    let mut out = String::new();
    for (i, n) in columns.iter().enumerate() {
        let and = if i == 0 { "" } else { " AND " };
        let name = quote(column(rel, *n));
        // Writing to a String cannot fail.
        let _ = write!(out, "{and}x.{name} OPERATOR(pg_catalog.=) ${}", i + 1);
    }
    out
}

impl Key {
    /// None if the constraint is gone.
    fn find(view: &CatalogView, event: &Event) -> Result<Option<Key>> {
        let Some(table) = view.find_relation(event.table)? else { return Ok(None) };
        let found = table.constraints.iter().find(|c| c.oid == event.constraint).cloned();
        let Some(fk) = found else { return Ok(None) };
        let Some(foreign) = fk.foreign.clone() else { return Ok(None) };
        let target = view.relation(foreign.table)?;
        Ok(Some(Key { fk, foreign, table, target }))
    }

    fn sql(&self, view: &CatalogView, step: Step) -> Result<(String, Vec<Oid>)> {
        let (table, target) = (own_rows(view, &self.table)?, own_rows(view, &self.target)?);
        let fk_types = types_of(&self.table, &self.fk.columns);
        let pk_types = types_of(&self.target, &self.foreign.columns);
        let of_target = conditions(&self.target, &self.foreign.columns);
        let of_table = conditions(&self.table, &self.fk.columns);
        Ok(match step {
            Step::Target | Step::OldTarget => {
                let types = if step == Step::Target { fk_types } else { pk_types };
                let sql = format!("SELECT 1 FROM {target} x WHERE {of_target} FOR KEY SHARE OF x");
                (sql, types)
            }
            Step::Referencing => {
                let sql = format!("SELECT 1 FROM {table} x WHERE {of_table} FOR KEY SHARE OF x");
                (sql, pk_types)
            }
            Step::Delete => (format!("DELETE FROM {table} x WHERE {of_table}"), pk_types),
            Step::Update => {
                let first = self.fk.columns.len() + 1;
                let value = |(i, n): (usize, &i16)| {
                    format!("{} = ${}", quote(column(&self.table, *n)), first + i)
                };
                let sets: Vec<String> = self.fk.columns.iter().enumerate().map(value).collect();
                let sql = format!("UPDATE {table} x SET {} WHERE {of_table}", sets.join(", "));
                (sql, [pk_types.clone(), pk_types].concat())
            }
            Step::SetNull(deleted) | Step::SetDefault(deleted) => {
                let word = if matches!(step, Step::SetNull(_)) { "NULL" } else { "DEFAULT" };
                let some = &self.foreign.delete_set_columns;
                let columns = if deleted && !some.is_empty() { some } else { &self.fk.columns };
                let value = |n: &i16| format!("{} = {word}", quote(column(&self.table, *n)));
                let sets: Vec<String> = columns.iter().map(value).collect();
                let sql = format!("UPDATE {table} x SET {} WHERE {of_table}", sets.join(", "));
                (sql, pk_types)
            }
        })
    }
}

impl Session {
    /// At the end of a statement: what it queued, and what that sets off.
    pub(crate) fn fire_foreign_keys(&self) -> Result<()> {
        for event in self.core.foreign_keys.take() {
            self.enforce(&event)?;
            self.fire_foreign_keys()?;
        }
        Ok(())
    }

    /// Before a commit: what was put off.
    pub(crate) fn fire_deferred(&self) -> Result<()> {
        loop {
            let due = self.core.foreign_keys.take_deferred();
            if due.is_empty() {
                return Ok(());
            }
            self.enforce_all(due)?;
        }
    }

    /// Works these off.
    pub(crate) fn enforce_all(&self, events: Vec<Event>) -> Result<()> {
        for event in events {
            if event.kind == Kind::Check && !self.is_there(&event)? {
                continue;
            }
            self.enforce(&event)?;
            self.fire_foreign_keys()?;
        }
        Ok(())
    }

    /// Whether the row that was to be checked is still the one that counts.
    fn is_there(&self, event: &Event) -> Result<bool> {
        let view = self.core.view()?;
        let Some(rel) = view.find_relation(event.table)? else { return Ok(false) };
        let open = rel.open(self.core.database.storage(), &view)?;
        let snapshot = self.core.txn()?.latest_snapshot();
        let viewer = Viewer::mvcc(self.core.database.storage(), &snapshot);
        let mut row = vec![Datum::Null; rel.tuple.natts()];
        open.heap.fetch_version(event.tid, &viewer, &mut row)
    }

    fn enforce(&self, event: &Event) -> Result<()> {
        let view = self.core.view()?;
        if let Kind::Trigger(oid, bit) = event.kind {
            return self.fire_trigger(&view, event, oid, bit);
        }
        if event.kind == Kind::Unique {
            return self.recheck_unique(&view, event);
        }
        let Some(key) = Key::find(&view, event)? else { return Ok(()) };
        let _running = crate::trigger::Running::begin();
        match event.kind {
            Kind::Unique | Kind::Trigger(..) => Ok(()),
            Kind::Check => self.check_reference(&key, event),
            Kind::Deleted => match key.foreign.on_delete {
                b'c' => self.step(&key, Step::Delete, &event.old).map(drop),
                b'n' => self.step(&key, Step::SetNull(true), &event.old).map(drop),
                b'd' => self.set_default(&key, event, true),
                action => self.refuse(&key, event, action == b'r'),
            },
            Kind::Updated => match key.foreign.on_update {
                b'c' => {
                    let params = [event.old.clone(), event.new.clone()].concat();
                    self.step(&key, Step::Update, &params).map(drop)
                }
                b'n' => self.step(&key, Step::SetNull(false), &event.old).map(drop),
                b'd' => self.set_default(&key, event, false),
                action => self.refuse(&key, event, action == b'r'),
            },
        }
    }

    /// Calls the function of an AFTER trigger.
    fn fire_trigger(&self, view: &CatalogView, event: &Event, oid: Oid, bit: i16) -> Result<()> {
        let Some(rel) = view.find_relation(event.table)? else { return Ok(()) };
        let Some(t) = rel.triggers.iter().find(|t| t.oid == oid) else { return Ok(()) };
        self.core.txn()?.increment_command()?;
        let some = |row: &'_ Vec<Datum>| (!row.is_empty()).then(|| row.clone());
        let (old, new) = (some(&event.old), some(&event.new));
        let f = crate::trigger::Firing {
            rel: &rel,
            trigger: t,
            event: bit,
            old: old.as_deref(),
            new: new.as_deref(),
        };
        crate::trigger::call(&self.core, &f)?;
        self.core.txn()?.increment_command().map(drop)
    }

    fn recheck_unique(&self, view: &CatalogView, event: &Event) -> Result<()> {
        let Some(rel) = view.find_relation(event.table)? else { return Ok(()) };
        let found = rel.constraints.iter().find(|c| c.oid == event.constraint);
        let Some(index) = found.map(|c| c.index) else { return Ok(()) };
        let txn = self.core.txn()?;
        txn.increment_command()?;
        let env = self.env()?;
        let snapshot = Arc::new(txn.latest_snapshot());
        let storage = self.core.database.storage();
        let options = executor::BulkOptions::default();
        let mut bulk =
            executor::BulkInsert::new(&env.view, storage, &rel, snapshot.clone(), options)?;
        let parts = RunParts::new(self)?;
        bulk.recheck_unique(parts.cx(&env), &snapshot, index, event.tid)
    }

    /// Fails if two rows of a table have the same key in an exclusion constraint's index.
    pub(crate) fn refuse_excluded(&self, table: &RelationDesc, index: &IndexDesc) -> Result<()> {
        let env = self.env()?;
        let mut exprs = match &index.exprs {
            Some(text) => crate::cook::from_text::<Vec<ir::Expr>>(text)?,
            None => Vec::new(),
        }
        .into_iter();
        let (mut keys, mut names) = (Vec::new(), Vec::new());
        for (i, n) in index.columns.iter().take(usize::from(index.n_keys)).enumerate() {
            keys.push(match *n {
                0 => {
                    let e = exprs.next().ok_or_else(|| Error::internal("too few expressions"))?;
                    names.push(index.tuple.attrs[i].name.to_string());
                    let text = self.with_ddl("", |ddl| ddl.expr_text(table, &e))?;
                    format!("({text})")
                }
                n => {
                    names.push(column(table, n).to_string());
                    quote(column(table, n))
                }
            });
        }
        let mut wanted: Vec<String> = keys.iter().map(|k| format!("{k} IS NOT NULL")).collect();
        if let Some(text) = &index.predicate {
            let e: ir::Expr = crate::cook::from_text(text)?;
            wanted.push(format!("({})", self.with_ddl("", |ddl| ddl.expr_text(table, &e))?));
        }
        let numbers: Vec<String> = (1..=keys.len()).map(|n| n.to_string()).collect();
        let sql = format!(
            "SELECT {} FROM {} WHERE {} GROUP BY {} HAVING pg_catalog.count(*) > 1 LIMIT 1",
            keys.join(", "),
            own_rows(&env.view, table)?,
            wanted.join(" AND "),
            numbers.join(", ")
        );
        let Some(key) = self.first_row(&env, &sql, keys.len())? else { return Ok(()) };
        Err(error::excluded(self, index, &names, &key)?)
    }

    fn check_reference(&self, key: &Key, event: &Event) -> Result<()> {
        if event.new.iter().any(Datum::is_null) {
            return Err(error::mixed(self, &key.table, &key.fk)?);
        }
        if self.step(key, Step::Target, &event.new)? > 0 {
            return Ok(());
        }
        Err(error::missing(self, &key.table, &key.target, &key.fk, &event.new)?)
    }

    /// After SET DEFAULT rows may refer to the old key again: then it must be there.
    fn set_default(&self, key: &Key, event: &Event, deleted: bool) -> Result<()> {
        self.step(key, Step::SetDefault(deleted), &event.old)?;
        self.fire_foreign_keys()?;
        self.refuse(key, event, false)
    }

    fn refuse(&self, key: &Key, event: &Event, restrict: bool) -> Result<()> {
        // Another row may have taken the key over.
        if !restrict && self.step(key, Step::OldTarget, &event.old)? > 0 {
            return Ok(());
        }
        if self.step(key, Step::Referencing, &event.old)? == 0 {
            return Ok(());
        }
        let columns = &key.foreign.columns;
        let (table, target) = (&key.table, &key.target);
        Err(error::referenced(self, table, target, &key.fk, columns, &event.old, restrict)?)
    }

    /// Runs a query of a constraint; how many rows it gave or changed.
    fn step(&self, key: &Key, step: Step, params: &[Datum]) -> Result<u64> {
        let txn = self.core.txn()?;
        txn.increment_command()?;
        let env = self.env()?;
        let plan = self.ri_plan(key, step, &env)?;
        let snapshot = Arc::new(txn.latest_snapshot());
        let mut run = Execution::new(plan.compiled.clone(), Arc::from(params), snapshot);
        let parts = RunParts::new(self)?;
        let mut rows = 0;
        while let Some(batch) = run.next_batch(parts.cx(&env), 1)? {
            rows += batch.rows() as u64;
            // One row is enough to know.
            if matches!(step, Step::Target | Step::OldTarget | Step::Referencing) && rows > 0 {
                break;
            }
        }
        txn.increment_command()?;
        Ok(rows.max(run.processed()))
    }

    /// The key of a row that refers to nothing, if there is one: for a constraint that is added.
    pub(crate) fn first_orphan(
        &self,
        table: &RelationDesc,
        fk: &ConstraintDesc,
        foreign: &ForeignKey,
    ) -> Result<Option<Vec<Datum>>> {
        let env = self.env()?;
        let target = env.view.relation(foreign.table)?;
        let (mut keys, mut joins, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        for (n, m) in fk.columns.iter().zip(&foreign.columns) {
            let (key, pk) = (quote(column(table, *n)), quote(column(&target, *m)));
            wanted.push(format!("fk.{key} IS NOT NULL"));
            joins.push(format!("pk.{pk} OPERATOR(pg_catalog.=) fk.{key}"));
            keys.push(format!("fk.{key}"));
        }
        let and = if foreign.match_type == b'f' { " OR " } else { " AND " };
        let sql = format!(
            "SELECT {} FROM {} fk LEFT JOIN {} pk ON ({}) WHERE pk.{} IS NULL AND ({}) LIMIT 1",
            keys.join(", "),
            own_rows(&env.view, table)?,
            own_rows(&env.view, &target)?,
            joins.join(" AND "),
            quote(column(&target, foreign.columns[0])),
            wanted.join(and)
        );
        self.first_row(&env, &sql, fk.columns.len())
    }

    /// Fails if a row refers to one of the partition that the constraint stands for.
    pub(crate) fn refuse_referenced(&self, fk: &ConstraintDesc) -> Result<()> {
        let Some(foreign) = &fk.foreign else { return Ok(()) };
        let env = self.env()?;
        let table = env.view.relation(fk.relation)?;
        let target = env.view.relation(foreign.table)?;
        let (mut keys, mut joins) = (Vec::new(), Vec::new());
        for (n, m) in fk.columns.iter().zip(&foreign.columns) {
            let (key, pk) = (quote(column(&table, *n)), quote(column(&target, *m)));
            joins.push(format!("pk.{pk} OPERATOR(pg_catalog.=) fk.{key}"));
            keys.push(format!("fk.{key}"));
        }
        let sql = format!(
            "SELECT {} FROM {} fk JOIN {} pk ON ({}) LIMIT 1",
            keys.join(", "),
            own_rows(&env.view, &table)?,
            own_rows(&env.view, &target)?,
            joins.join(" AND "),
        );
        match self.first_row(&env, &sql, keys.len())? {
            None => Ok(()),
            Some(key) => Err(error::removing(self, &table, &target, fk, &key)?),
        }
    }

    /// The first columns of the first row of a query that looks past the user's rights.
    fn first_row(
        &self,
        env: &crate::StatementEnv<'_>,
        sql: &str,
        columns: usize,
    ) -> Result<Option<Vec<Datum>>> {
        let statements = parser::parse(sql)?;
        let analysed = self.core.as_system(|| self.analyse(statements.first(), &[]))?;
        let Some(query) = analysed.queries.into_iter().next() else { return Ok(None) };
        let plan = self.core.as_system(|| self.plan(env, query, None, 0.0))?;
        let compiled = self.compile(env, plan)?;
        let snapshot = Arc::new(self.core.txn()?.latest_snapshot());
        let mut run = Execution::new(compiled, Arc::from([]), snapshot);
        let parts = RunParts::new(self)?;
        while let Some(batch) = run.next_batch(parts.cx(env), 1)? {
            if let Some(i) = batch.positions().next() {
                let keys = batch.columns.iter().take(columns);
                return Ok(Some(keys.map(|c| c.get(i)).collect()));
            }
        }
        Ok(None)
    }

    fn ri_plan(&self, key: &Key, step: Step, env: &crate::StatementEnv<'_>) -> Result<Arc<RiPlan>> {
        let generation = env.view.generation();
        let settings = self.core.settings.lock().version();
        let id = (key.fk.oid, step);
        if let Some(plan) = self.core.foreign_keys.plan(id)
            && plan.generation == generation
            && plan.settings == settings
        {
            self.lock_relation(key.target.oid, 2)?;
            self.lock_relation(key.table.oid, 3)?;
            return Ok(plan);
        }
        let (sql, types) = key.sql(&env.view, step)?;
        let statements = parser::parse(&sql)?;
        // Keys are looked up whatever rights the user has on the other table.
        let analysed = self.core.as_system(|| self.analyse(statements.first(), &types))?;
        let query = analysed
            .queries
            .into_iter()
            .next()
            .ok_or_else(|| Error::internal("a foreign key's query is empty"))?;
        let plan = self.core.as_system(|| self.plan(env, query, None, 0.0))?;
        let compiled = self.compile(env, plan)?;
        let plan = Arc::new(RiPlan { compiled, generation: analysed.generation, settings });
        self.core.foreign_keys.keep_plan(id, plan.clone());
        Ok(plan)
    }
}
