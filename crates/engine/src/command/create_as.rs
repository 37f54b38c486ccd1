//! CREATE TABLE AS, SELECT INTO, CREATE MATERIALIZED VIEW and REFRESH: relations filled by a query.

use crate::ddl::Ddl;
use crate::ddl::index::with_code;
use crate::ddl::relation::NewRelation;
use crate::ddl::reloption;
use crate::session::RunParts;
use crate::{Session, StatementEnv};
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::RelKind;
use executor::{BulkInsert, BulkOptions, Execution};
use ir::Query;
use parser::ast::{
    self, CreateTableAsStmt, IntoClause, LockMode, RefreshMatViewStmt, SelectStmt, Stmt,
};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Datum};

/// SELECT INTO as CREATE TABLE AS; none if it is no SELECT INTO.
pub(crate) fn as_create_table(stmt: &SelectStmt) -> Option<CreateTableAsStmt> {
    let (into, query) = analyze::select_into(stmt)?;
    let query = Stmt::Select(Box::new(query));
    Some(CreateTableAsStmt { into, matview: false, if_not_exists: false, query })
}

impl Session {
    /// SELECT INTO; gives the command tag.
    pub(crate) fn select_into(&mut self, stmt: &SelectStmt, text: &str) -> Result<String> {
        let Some(stmt) = as_create_table(stmt) else {
            return Err(Error::internal("SELECT without INTO"));
        };
        self.create_table_as(&stmt, &[], text)
    }

    /// CREATE TABLE AS and CREATE MATERIALIZED VIEW; gives the command tag.
    pub(crate) fn create_table_as(
        &mut self,
        stmt: &CreateTableAsStmt,
        params: &[Datum],
        text: &str,
    ) -> Result<String> {
        let what = if stmt.matview { "CREATE MATERIALIZED VIEW" } else { "CREATE TABLE AS" };
        self.prevent_in_read_only(what)?;
        self.prepare_temp_for(&stmt.into.rel, stmt.into.persistence)?;
        let (analysed, params) = self.source_query(stmt, params)?;
        let Some(table) = self.create_to_fill(stmt, &analysed, text)? else {
            return Ok(what.to_string());
        };
        if stmt.into.no_data {
            return Ok(what.to_string());
        }
        let count = self.fill(table, analysed, params)?;
        self.after_query()?;
        Ok(format!("SELECT {count}"))
    }

    /// Makes the empty relation of CREATE TABLE AS; none if there is one and IF NOT EXISTS.
    pub(crate) fn create_to_fill(
        &mut self,
        stmt: &CreateTableAsStmt,
        query: &Query,
        text: &str,
    ) -> Result<Option<Oid>> {
        let made = self.with_ddl(text, |ddl| match stmt.matview {
            true => ddl.create_matview(stmt, query),
            false => ddl.create_table_for(stmt, query),
        })?;
        self.core.txn()?.increment_command()?;
        Ok(made)
    }

    /// The query as it was analysed, not rewritten, and its parameters.
    pub(crate) fn source_query(
        &self,
        stmt: &CreateTableAsStmt,
        params: &[Datum],
    ) -> Result<(Query, Arc<[Datum]>)> {
        let env = self.env()?;
        if let Stmt::Execute(e) = &stmt.query {
            let prepared = self.find_prepared(&e.name)?;
            let analysed = prepared.analysed.lock().clone();
            let Some(query) = analysed.queries.first().cloned() else {
                bail!(WRONG_OBJECT_TYPE, "prepared statement is not a SELECT");
            };
            if query.command != ir::CmdType::Select {
                bail!(WRONG_OBJECT_TYPE, "prepared statement is not a SELECT");
            }
            let values = self.execute_arguments(&prepared, &e.params)?;
            return Ok((query, values));
        }
        let cx = crate::analysis::env(&env);
        let mut types = self.param_types.clone();
        let kind = match params.is_empty() {
            true => analyze::Params::None,
            false => analyze::Params::Infer(&mut types),
        };
        let query = analyze::analyze_stmt(&cx, &stmt.query, kind)?;
        Ok((query, params.into()))
    }

    /// Runs a query that is not rewritten yet and puts its rows into a table; gives their number.
    pub(crate) fn fill(&mut self, table: Oid, query: Query, params: Arc<[Datum]>) -> Result<u64> {
        let env = self.env()?;
        let cx = crate::analysis::env(&env);
        let mut queries = analyze::rewrite(&cx, query)?;
        let (Some(query), true) = (queries.pop(), queries.is_empty()) else {
            return Err(Error::unsupported("filling a table from several queries"));
        };
        self.lock_relations(&query)?;
        let custom = (!params.is_empty()).then_some(&params[..]);
        let plan = self.plan(&env, query, custom, 0.0)?;
        let compiled = self.compile(&env, plan)?;
        let snapshot = Arc::new(self.core.txn()?.snapshot());
        let mut filling = Filling::new(self, &env, table, &compiled.plan().plan, &snapshot)?;
        let mut run = Execution::new(compiled, params, snapshot);
        let parts = RunParts::new(self)?;
        while let Some(batch) = run.next_batch(parts.cx(&env), 0)? {
            filling.add(&parts, &env, &batch)?;
            self.check_interrupts()?;
        }
        let count = filling.finish(&parts, &env)?;
        drop(env);
        Ok(count)
    }

    /// REFRESH MATERIALIZED VIEW.
    pub(crate) fn refresh_matview(
        &mut self,
        stmt: &RefreshMatViewStmt,
        text: &str,
    ) -> Result<&'static str> {
        self.prevent_in_read_only("REFRESH MATERIALIZED VIEW")?;
        let (oid, query) = self.with_ddl(text, |ddl| ddl.prepare_refresh(stmt))?;
        self.core.txn()?.increment_command()?;
        if !stmt.no_data {
            self.fill(oid, query, Arc::new([]))?;
        }
        self.with_ddl(text, |ddl| ddl.rebuild_indexes(oid))?;
        self.after_query()?;
        Ok("REFRESH MATERIALIZED VIEW")
    }
}

/// A table that the rows of a query go to.
pub(crate) struct Filling {
    table: Oid,
    bulk: BulkInsert,
    /// The query's columns that are the table's.
    keep: Vec<usize>,
    rows: Vec<Datum>,
    count: u64,
}

impl Filling {
    pub(crate) fn new(
        session: &Session,
        env: &StatementEnv<'_>,
        table: Oid,
        plan: &ir::Plan,
        snapshot: &Arc<txn::Snapshot>,
    ) -> Result<Filling> {
        let keep = (0..plan.target.len()).filter(|i| !plan.target[*i].junk).collect();
        let rel = env.view.relation(table)?;
        let storage = session.core.database.storage();
        let options = BulkOptions::default();
        let bulk = BulkInsert::new(&env.view, storage, &rel, snapshot.clone(), options)?;
        Ok(Filling { table, bulk, keep, rows: Vec::new(), count: 0 })
    }

    pub(crate) fn add(
        &mut self,
        parts: &RunParts,
        env: &StatementEnv<'_>,
        batch: &Batch,
    ) -> Result<()> {
        for i in batch.positions() {
            self.rows.extend(self.keep.iter().map(|c| batch.columns[*c].get(i)));
            self.count += 1;
            if self.rows.len() >= BATCH_ROWS * self.keep.len().max(1) {
                self.store(parts, env)?;
            }
        }
        if self.keep.is_empty() {
            // A table without columns still has rows.
            self.rows = vec![Datum::Null; batch.positions().count()];
            self.store(parts, env)?;
        }
        Ok(())
    }

    fn store(&mut self, parts: &RunParts, env: &StatementEnv<'_>) -> Result<()> {
        self.bulk.store(parts.cx(env), &mut self.rows).map_err(|(e, _)| e)
    }

    /// All rows were given: how many.
    pub(crate) fn finish(mut self, parts: &RunParts, env: &StatementEnv<'_>) -> Result<u64> {
        if !self.rows.is_empty() {
            self.store(parts, env)?;
        }
        let changes = &env.core.changes;
        changes.count(self.table, self.count, 0);
        changes.note(env.core.state.oid, self.table, [self.count, 0, 0]);
        Ok(self.count)
    }
}

impl Ddl<'_> {
    /// Makes the table of CREATE TABLE AS; none if there is one and IF NOT EXISTS.
    fn create_table_for(&self, stmt: &CreateTableAsStmt, query: &Query) -> Result<Option<Oid>> {
        self.create_filled(stmt, query, RelKind::Table)
    }

    fn create_matview(&self, stmt: &CreateTableAsStmt, query: &Query) -> Result<Option<Oid>> {
        if stmt.into.persistence == ast::Persistence::Unlogged {
            bail!(FEATURE_NOT_SUPPORTED, "materialized views cannot be unlogged");
        }
        if query.has_modifying_cte {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "materialized views must not use data-modifying statements in WITH"
            );
        }
        if self.uses_temp(query)? {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "materialized views must not use temporary tables or views"
            );
        }
        let mut stored = query.clone();
        analyze::clear_places(&mut stored);
        let Some(oid) = self.create_filled(stmt, query, RelKind::MatView)? else {
            return Ok(None);
        };
        self.store_view_rule(oid, &stored)?;
        if stmt.into.no_data {
            self.set_populated(oid, false)?;
        }
        Ok(Some(oid))
    }

    fn set_populated(&self, oid: Oid, populated: bool) -> Result<()> {
        let mut class = self.class_row(oid)?;
        if class.bool("relispopulated")? != populated {
            class.set_bool("relispopulated", populated)?;
            self.rows.update(class)?;
        }
        Ok(())
    }

    /// True if IF NOT EXISTS makes the statement do nothing.
    pub(crate) fn is_made_already(&self, stmt: &CreateTableAsStmt) -> Result<bool> {
        let (namespace, _) = self.relation_place(&stmt.into.rel, stmt.into.persistence)?;
        let name = &stmt.into.rel.name;
        if self.view.relation_oid_in(namespace, name)?.is_none() {
            return Ok(false);
        }
        let text = format!("relation \"{name}\" already exists");
        if !stmt.if_not_exists {
            return Err(Error::new(SqlState::DUPLICATE_TABLE, text));
        }
        let e = Error::notice(format!("{text}, skipping"));
        self.notice(with_code(e, SqlState::DUPLICATE_TABLE));
        Ok(true)
    }

    fn create_filled(
        &self,
        stmt: &CreateTableAsStmt,
        query: &Query,
        kind: RelKind,
    ) -> Result<Option<Oid>> {
        let into: &IntoClause = &stmt.into;
        if self.is_made_already(stmt)? {
            return Ok(None);
        }
        let (namespace, persistence) = self.relation_place(&into.rel, into.persistence)?;
        let columns = self.query_columns(query, &into.columns, "", true)?;
        let oid = self.create_relation(NewRelation {
            oid: None,
            name: &into.rel.name,
            namespace,
            kind,
            persistence,
            owner: self.user(),
            am: self.table_method(into.access_method.as_deref())?,
            tablespace: self.tablespace_for(into.tablespace.as_deref(), persistence)?,
            columns: &columns,
            options: reloption::read(&into.options, reloption::Holder::Table)?,
            of_type: Oid::INVALID,
            is_partition: false,
        })?;
        self.create_toast_if_needed(oid)?;
        self.toast_options(oid, &into.options)?;
        self.on_commit(oid, into.on_commit, persistence)?;
        Ok(Some(oid))
    }

    /// Checks a REFRESH and empties the view; gives it and its query.
    fn prepare_refresh(&self, stmt: &RefreshMatViewStmt) -> Result<(Oid, Query)> {
        let found = self.view.require_relation(stmt.rel.schema.as_deref(), &stmt.rel.name)?;
        let mode = match stmt.concurrently {
            true => LockMode::Exclusive,
            false => LockMode::AccessExclusive,
        };
        self.storage.lock(found.oid, mode)?;
        let rel = self.view.relation(found.oid)?;
        if rel.kind != RelKind::MatView {
            bail!(FEATURE_NOT_SUPPORTED, "\"{}\" is not a materialized view", rel.name);
        }
        let maintain = catalog::acl::bit(b'm');
        crate::session::permission::require_on_relation(&self.view, self.user(), &rel, maintain)?;
        if stmt.concurrently && !rel.is_populated {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "CONCURRENTLY cannot be used when the materialized view is not populated"
            );
        }
        if stmt.concurrently && stmt.no_data {
            bail!(
                SYNTAX_ERROR,
                "REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together"
            );
        }
        let usable = |i: &catalog::IndexDesc| {
            i.is_unique && i.is_valid && i.exprs.is_none() && i.predicate.is_none()
        };
        if stmt.concurrently && !rel.indexes.iter().any(|i| usable(i)) {
            let label = self.relation_label_full(&rel)?;
            return Err(err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "cannot refresh materialized view \"{label}\" concurrently"
            )
            .hint(
                "Create a unique index with no WHERE clause on one or more columns of the \
                 materialized view.",
            ));
        }
        self.check_unused(&rel, "REFRESH MATERIALIZED VIEW")?;
        let Some(text) = rel.view_query() else {
            return Err(Error::internal("a materialized view without a query"));
        };
        let queries: Vec<Query> = crate::cook::from_text(text)?;
        let Some(query) = queries.into_iter().next() else {
            return Err(Error::internal("a materialized view without a query"));
        };
        self.new_files(&rel)?;
        self.set_populated(rel.oid, !stmt.no_data)?;
        Ok((rel.oid, query))
    }

    /// Nothing to do now: rows are entered into the indexes as they come.
    fn rebuild_indexes(&self, _oid: Oid) -> Result<()> {
        Ok(())
    }

    /// `schema.name`.
    pub fn relation_label_full(&self, rel: &catalog::RelationDesc) -> Result<String> {
        let schema = self.view.namespace(rel.namespace)?;
        let quote = super::super::ddl::name::quote;
        Ok(format!("{}.{}", quote(&schema.name), quote(&rel.name)))
    }
}
