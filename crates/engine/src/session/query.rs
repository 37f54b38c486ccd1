//! Statements that are planned: analysed, planned, run, their rows handed to the sink.

use super::env::StatementEnv;
use super::kept::Collect;
use super::planning::RunParts;
use super::prepared::{Analysed, CachedPlan, Portal, PortalState, Prepared};
use super::simple::is_query;
use super::statement_cache::{Conditions, SharedStatement};
use super::trace::Meter;
use super::{Session, utility};
use crate::analysis;
use crate::rows::RowWriter;
use crate::settings::{PlanCacheMode, Resolved};
use crate::sink::{ResultColumn, ResultFormat, Sink};
use base::{Error, Oid, Result, err};
use executor::{CompiledStmt, Execution, PointQuery};
use functions::FnEnv;
use ir::{CmdType, Expr, Plan, PlanNode, PlannedStmt, Query, RteKind, TargetEntry};
use parser::ast::{RawStmt, Stmt};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use txn::Txn;
use types::{Batch, Datum};

/// How many times a statement with parameters is planned for their values before a plan for all
/// values is tried, as in PostgreSQL.
const CUSTOM_PLANS: u64 = 5;

impl Session {
    /// The value of an expression that reads no table.
    pub(crate) fn evaluate(
        &self,
        env: &StatementEnv<'_>,
        expr: Expr,
        params: Arc<[Datum]>,
    ) -> Result<Datum> {
        self.core.evaluate(env, expr, params)
    }

    /// Analyses a statement: queries are resolved and rewritten, utility statements asked what
    /// they return.
    pub(crate) fn analyse(&self, stmt: Option<&RawStmt>, given: &[Oid]) -> Result<Analysed> {
        use catalog::Source as _;
        let Some(stmt) = stmt else {
            let context = self.plan_context();
            return Ok(Analysed { params: given.to_vec(), context, ..Analysed::default() });
        };
        if !is_query(&stmt.stmt) {
            let columns = utility::result_columns(self, &stmt.stmt)?;
            let params = match query_within(&stmt.stmt) {
                Some(stmt) => {
                    let inner = RawStmt { stmt, location: Default::default(), len: 0 };
                    self.analyse(Some(&inner), given)?.params
                }
                None => given.to_vec(),
            };
            let generation = self.core.source.generation();
            let context = self.plan_context();
            return Ok(Analysed { params, columns, generation, context, ..Analysed::default() });
        }
        loop {
            let env = self.env()?;
            let generation = env.view.generation();
            let mut params = given.to_vec();
            let queries = analysis::analyze(&env, stmt, &mut params)?;
            for query in &queries {
                self.core.lock_named(query)?;
            }
            // A lock that had to be waited for may have let a change through.
            if self.core.source.generation() == generation {
                let columns = self.result_columns(&env, &queries)?;
                let context = self.plan_context();
                let query_id = self.numbered(&queries);
                let analysed = Analysed::new(queries);
                return Ok(Analysed { params, columns, generation, context, query_id, ..analysed });
            }
        }
    }

    /// The number of queries like the first of these, if numbers are wanted.
    fn numbered(&self, queries: &[Query]) -> i64 {
        match (self.core.resolved().trace.query_ids, queries.first()) {
            (true, Some(query)) => self.note_query_id(super::trace::query_id(query)),
            _ => 0,
        }
    }

    /// Shows others the number of the statement that is being run, unless it is within one.
    pub(super) fn note_query_id(&self, id: i64) -> i64 {
        if id != 0 {
            self.place.update(|info| {
                if info.query_id == 0 {
                    info.query_id = id;
                }
            });
        }
        id
    }

    /// Takes the locks of all tables that a query names.
    pub(crate) fn lock_relations(&self, query: &Query) -> Result<()> {
        self.core.lock_relations(query)
    }

    /// Locks a relation until the end of the transaction.
    pub(crate) fn lock_relation(&self, relation: Oid, mode: u8) -> Result<()> {
        self.core.lock_relation(relation, mode)
    }

    pub(super) fn result_columns(
        &self,
        env: &StatementEnv<'_>,
        queries: &[Query],
    ) -> Result<Vec<ResultColumn>> {
        let Some(query) = queries.iter().find(|q| q.can_set_tag) else { return Ok(Vec::new()) };
        let list = match query.command {
            CmdType::Select => &query.target_list,
            _ => &query.returning,
        };
        list.iter().filter(|t| !t.junk).map(|t| column_of(env, t)).collect()
    }

    /// Plans a query for these parameters, or for any.
    pub(crate) fn plan(
        &self,
        env: &StatementEnv<'_>,
        query: Query,
        params: Option<&[Datum]>,
        fraction: f64,
    ) -> Result<PlannedStmt> {
        self.core.plan(env, query, params, fraction)
    }

    /// A plan made into programs.
    pub(crate) fn compile(
        &self,
        env: &StatementEnv<'_>,
        plan: PlannedStmt,
    ) -> Result<Arc<CompiledStmt>> {
        self.core.compile(env, plan)
    }

    /// What names and rights in a statement depend on, besides the catalog.
    fn plan_context(&self) -> (u64, Oid) {
        (self.core.setting(|s| s.plan_version), self.core.users().current)
    }

    /// What statements mean depends on this, besides their texts; None if the session has
    /// something of its own that they may mean.
    fn conditions(&self) -> Option<Conditions> {
        use catalog::Source as _;
        if self.core.temp_namespace().is_some() || !self.core.overlay.is_empty() {
            return None;
        }
        let generation = self.core.source.generation();
        let context = self.plan_context();
        Some(Conditions { generation, context, text_version: self.core.resolved().text_version })
    }

    /// A statement as another session has left it.
    pub(super) fn shared_statement(
        &self,
        text: &str,
        types: &[Oid],
    ) -> Option<Arc<SharedStatement>> {
        self.core.statements.find(text, types, &self.conditions()?)
    }

    /// Takes the locks of a shared statement's tables; false if it does not mean any more what it
    /// meant.
    pub(super) fn is_still_shared(&self, shared: &SharedStatement) -> Result<bool> {
        for query in &shared.analysed.queries {
            self.core.lock_named(query)?;
        }
        Ok(self.is_fresh(&shared.analysed))
    }

    /// Analyses a statement, and leaves it to other sessions if it can be and is worth it. Before
    /// it was parsed, `told` notices were waiting.
    pub(super) fn analyse_to_share(
        &self,
        text: &str,
        stmt: &Arc<RawStmt>,
        types: &[Oid],
        told: usize,
    ) -> Result<(Arc<Analysed>, Option<Arc<SharedStatement>>)> {
        let (analysed, present) =
            types::datetime::watch_present(|| self.analyse(Some(stmt), types));
        self.core.locate_notices(told, text);
        let analysed = Arc::new(analysed?);
        let shared = match present || self.core.notices() != told {
            true => None,
            false => self.share(text, types, stmt, &analysed),
        };
        Ok((analysed, shared))
    }

    fn share(
        &self,
        text: &str,
        types: &[Oid],
        stmt: &Arc<RawStmt>,
        analysed: &Arc<Analysed>,
    ) -> Option<Arc<SharedStatement>> {
        let now = self.conditions()?;
        let means_now = now.generation == analysed.generation && now.context == analysed.context;
        let common = is_query(&stmt.stmt) || matches!(stmt.stmt, Stmt::Transaction(_));
        if !means_now || !common || !self.core.statements.wants(text, types, &now) {
            return None;
        }
        let (stmt, analysed) = (stmt.clone(), analysed.clone());
        let shared = SharedStatement::new(text.into(), types, stmt, analysed, now.text_version);
        let shared = Arc::new(shared);
        self.core.statements.keep(&shared);
        Some(shared)
    }

    /// True if a statement means what it meant when it was analysed.
    pub(super) fn is_fresh(&self, analysed: &Analysed) -> bool {
        use catalog::Source as _;
        analysed.generation == self.core.source.generation()
            && analysed.context == self.plan_context()
    }

    /// Analyses a prepared statement again if what it names may have changed.
    fn refresh(&self, prepared: &Prepared) -> Result<Arc<Analysed>> {
        use catalog::Source as _;
        let analysed = prepared.analysed.lock().clone();
        let context = self.plan_context();
        if analysed.context == context && analysed.generation == self.core.source.generation() {
            for query in &analysed.queries {
                self.lock_relations(query)?;
            }
            if analysed.generation == self.core.source.generation() {
                return Ok(analysed);
            }
        }
        let (fresh, shared) = self.analyse_again(prepared)?;
        if fresh.columns.len() != analysed.columns.len()
            || fresh.columns.iter().zip(&analysed.columns).any(|(a, b)| a.type_oid != b.type_oid)
        {
            // Drivers prepare again when they see this routine's name.
            return Err(err!(FEATURE_NOT_SUPPORTED, "cached plan must not change result type")
                .routine("RevalidateCachedQuery"));
        }
        *prepared.analysed.lock() = fresh.clone();
        *prepared.generic.lock() = None;
        prepared.custom.clear();
        *prepared.shared.lock() = shared;
        Ok(fresh)
    }

    fn analyse_again(
        &self,
        prepared: &Prepared,
    ) -> Result<(Arc<Analysed>, Option<Arc<SharedStatement>>)> {
        let (text, types) = (&prepared.text, &prepared.given_types);
        let Some(stmt) = prepared.stmt.as_ref().filter(|_| prepared.whole) else {
            return Ok((Arc::new(self.analyse(prepared.stmt.as_deref(), types)?), None));
        };
        match self.shared_statement(text, types) {
            Some(shared) if self.is_still_shared(&shared)? => {
                Ok((shared.analysed.clone(), Some(shared)))
            }
            _ => self.analyse_to_share(text, stmt, types, self.core.notices()),
        }
    }

    /// The plan to run a prepared statement with: one for these parameters, or the kept one for
    /// any, if it promises to be no dearer.
    pub(crate) fn programs(
        &self,
        env: &StatementEnv<'_>,
        prepared: &Prepared,
        params: &[Datum],
        fraction: f64,
    ) -> Result<(Arc<Analysed>, Arc<CachedPlan>)> {
        let analysed = self.refresh(prepared)?;
        let plan = self.plan_of(env, prepared, &analysed, params, fraction)?;
        if self.is_outdated(&plan, &analysed) {
            return self.programs(&self.env()?, prepared, params, fraction);
        }
        Ok((analysed, plan))
    }

    /// True if a child of a tree was changed before its lock was there.
    fn is_outdated(&self, plan: &CachedPlan, analysed: &Analysed) -> bool {
        !plan.members.is_empty() && !self.is_fresh(analysed)
    }

    fn plan_of(
        &self,
        env: &StatementEnv<'_>,
        prepared: &Prepared,
        analysed: &Arc<Analysed>,
        params: &[Datum],
        fraction: f64,
    ) -> Result<Arc<CachedPlan>> {
        let mode = env.settings().plan_cache_mode;
        let literals = prepared.from_literals;
        let customs = prepared.custom_plans.load(Ordering::Relaxed);
        let custom = match mode {
            _ if params.is_empty() => false,
            PlanCacheMode::ForceCustom => !literals,
            PlanCacheMode::ForceGeneric => false,
            PlanCacheMode::Auto => !literals && customs < CUSTOM_PLANS,
        };
        if !custom {
            let generic = self.generic_plan(env, prepared, analysed, fraction)?;
            let cost = generic.compiled.plan().plan.total_cost;
            let take = match (literals, mode) {
                (true, _) => generic.for_all_values,
                (false, PlanCacheMode::ForceGeneric) => true,
                _ => params.is_empty() || cost < *prepared.custom_cost.lock() / customs as f64,
            };
            if take {
                prepared.generic_plans.fetch_add(1, Ordering::Relaxed);
                return Ok(generic);
            }
        }
        self.custom_plan(env, prepared, analysed, params, fraction)
    }

    /// The plan for any parameters where a plan for given ones is due, but could not be another:
    /// it counts as one of those. Only for statements that will be run again.
    fn point_plan(
        &self,
        env: &StatementEnv<'_>,
        prepared: &Prepared,
        analysed: &Arc<Analysed>,
    ) -> Result<Option<Arc<CachedPlan>>> {
        let customs = prepared.custom_plans.load(Ordering::Relaxed);
        let due = customs < CUSTOM_PLANS && !analysed.params.is_empty();
        let again = !prepared.name.is_empty() || prepared.shared.lock().is_some();
        let simple = matches!(&analysed.queries[..], [query] if query.rtable.len() == 1);
        if !due
            || !again
            || prepared.from_literals
            || !simple
            || env.settings().plan_cache_mode != PlanCacheMode::Auto
        {
            return Ok(None);
        }
        let plan = self.generic_plan(env, prepared, analysed, 0.0)?;
        if !plan.for_all_values {
            return Ok(None);
        }
        prepared.count_custom(plan.compiled.plan(), env.settings());
        Ok(Some(plan))
    }

    /// The plan for any parameters, if somebody has made it and it still holds.
    fn known_generic(
        &self,
        prepared: &Prepared,
        analysed: &Arc<Analysed>,
    ) -> Option<Arc<CachedPlan>> {
        let current = |plan: &&Arc<CachedPlan>| plan.is_of(analysed);
        if let Some(known) = prepared.generic.lock().as_ref().filter(current) {
            return Some(known.clone());
        }
        let shared = prepared.shared_as(analysed)?;
        let known = shared.plan.lock().as_ref().filter(current).cloned()?;
        *prepared.generic.lock() = Some(known.clone());
        Some(known)
    }

    fn plan_portal(
        &self,
        env: &StatementEnv<'_>,
        prepared: &Prepared,
        analysed: &Arc<Analysed>,
        params: &[Datum],
    ) -> Result<Arc<CachedPlan>> {
        match self.point_plan(env, prepared, analysed)? {
            Some(plan) => Ok(plan),
            None => self.plan_of(env, prepared, analysed, params, 0.0),
        }
    }

    /// Plans what a portal runs when it is bound, which is when PostgreSQL's clients hear of what
    /// cannot be planned. A plan that is kept was told of when it was made.
    pub(super) fn plan_at_bind(&self, portal: &mut Portal) -> Result<()> {
        let prepared = &portal.prepared;
        let query = prepared.stmt.as_ref().is_some_and(|s| is_query(&s.stmt));
        let known = || {
            let analysed = prepared.analysed.lock().clone();
            self.known_generic(prepared, &analysed).is_some()
        };
        if !query || known() {
            return Ok(());
        }
        let planned = || {
            let env = self.env()?;
            let analysed = self.refresh(prepared)?;
            if !analysed.plain || analysed.names_cursor {
                return Ok(None);
            }
            let plan = self.plan_portal(&env, prepared, &analysed, &portal.params)?;
            Ok(Some((analysed, plan)))
        };
        let planned = planned().map_err(|e: Error| match self.parameter_context(portal) {
            Some(context) => e.context(context),
            None => e,
        })?;
        portal.planned = planned;
        Ok(())
    }

    /// True if a statement whose literals were taken for parameters cannot be planned with them:
    /// its error is one that comes before the first word of an answer.
    #[cold]
    pub(super) fn fails_when_planned(&self, portal: &Portal) -> bool {
        let analysed = portal.prepared.analysed.lock().clone();
        let planned = || {
            let query = main_query(&analysed)?.clone();
            self.plan(&self.env()?, query, Some(&portal.params), 0.0)
        };
        planned().is_err()
    }

    fn generic_plan(
        &self,
        env: &StatementEnv<'_>,
        prepared: &Prepared,
        analysed: &Arc<Analysed>,
        fraction: f64,
    ) -> Result<Arc<CachedPlan>> {
        if let Some(known) = self.known_generic(prepared, analysed) {
            for (relation, mode) in &known.members {
                self.lock_relation(*relation, *mode)?;
            }
            return Ok(known);
        }
        let plan = self.plan(env, main_query(analysed)?.clone(), None, fraction)?;
        let cached = Arc::new(self.cached(env, plan, analysed)?);
        *prepared.generic.lock() = Some(cached.clone());
        if let Some(shared) = prepared.shared_as(analysed)
            && cached.for_all_values
            && env.view.generation() == analysed.generation
        {
            *shared.plan.lock() = Some(cached.clone());
        }
        Ok(cached)
    }

    pub(super) fn cached(
        &self,
        env: &StatementEnv<'_>,
        plan: PlannedStmt,
        analysed: &Analysed,
    ) -> Result<CachedPlan> {
        let mut members = super::planning::members(&plan);
        let named = |relation: Oid| {
            let mut entries = analysed.queries.iter().flat_map(|q| &q.rtable);
            entries.any(
                |rte| matches!(rte.kind, ir::RteKind::Relation { relid, .. } if relid == relation),
            )
        };
        members.retain(|m| !named(m.0));
        let compiled = self.compile(env, plan)?;
        Ok(CachedPlan {
            members,
            point: PointQuery::of(&compiled),
            text_rows: RowWriter::new(&analysed.columns, &[]),
            for_all_values: is_for_all_values(compiled.plan()),
            compiled,
            generation: analysed.generation,
            settings: env.settings().plan_version,
        })
    }

    /// Statements of the simple protocol have no parameters: fails with the first that is named.
    fn refuse_parameters(&self, stmt: &RawStmt) -> Result<()> {
        let env = self.env()?;
        analyze::analyze(&crate::analysis::env(&env), stmt, analyze::Params::None).map(|_| ())
    }

    /// Runs a query of the simple protocol; gives its tag.
    pub(super) fn run_query_string(
        &mut self,
        stmt: &RawStmt,
        text: &str,
        sink: &mut dyn Sink,
    ) -> Result<String> {
        let told = self.core.notices();
        let analysed = self.analyse(Some(stmt), &[]);
        self.core.locate_notices(told, text);
        let named = match &analysed {
            Ok(analysed) => !analysed.params.is_empty(),
            // Of one that is not there either.
            Err(e) => e.code() == base::SqlState::INDETERMINATE_DATATYPE,
        };
        if named {
            self.refuse_parameters(stmt)?;
        }
        let analysed = analysed?;
        if !analysed.plain {
            let prepared = Prepared::new(
                "",
                Arc::from(""),
                Some(Arc::new(stmt.clone())),
                Arc::new(analysed),
                &[],
            );
            let mut portal =
                Portal::new("", Arc::new(prepared), Arc::new([]), self.statement_micros);
            portal.describe = true;
            let analysed = portal.prepared.analysed.lock().clone();
            return self.run_products(&portal, &analysed, sink);
        }
        let mut query = main_query(&analysed)?.clone();
        self.resolve_current_of(&mut query)?;
        let rows = RowWriter::new(&analysed.columns, &[]);
        let env = self.env()?;
        let run = self.execution(&env, query, Arc::new([]))?;
        if self.core.notices() > 0 {
            self.take_notices().iter().for_each(|n| sink.notice(n));
        }
        // Only now: what cannot be planned has no columns to tell of.
        if analysed.gives_rows() {
            sink.row_description(&analysed.columns, &[])?;
        }
        let tag = self.finish_run(&env, run, &rows, sink)?;
        drop(env);
        self.after_query()?;
        Ok(tag)
    }

    /// Plans one query for these parameters; ready to run.
    pub(super) fn execution(
        &self,
        env: &StatementEnv<'_>,
        query: Query,
        params: Arc<[Datum]>,
    ) -> Result<Execution> {
        let custom = (!params.is_empty()).then_some(&params[..]);
        let plan = self.plan(env, query, custom, 0.0)?;
        self.check_writes(&plan)?;
        let compiled = self.compile(env, plan)?;
        let snapshot = Arc::new(self.core.txn()?.snapshot());
        Ok(Execution::new(compiled, params, snapshot))
    }

    /// Plans and runs one query to its end.
    pub(crate) fn run_query(
        &mut self,
        query: Query,
        params: Arc<[Datum]>,
        rows: &RowWriter,
        sink: &mut dyn Sink,
    ) -> Result<String> {
        let env = self.env()?;
        let run = self.execution(&env, query, params)?;
        let tag = self.finish_run(&env, run, rows, sink)?;
        drop(env);
        self.after_query()?;
        Ok(tag)
    }

    fn finish_run(
        &self,
        env: &StatementEnv<'_>,
        mut run: Execution,
        rows: &RowWriter,
        sink: &mut dyn Sink,
    ) -> Result<String> {
        let count = self.pull(env, &mut run, 0, rows, sink)?.0;
        self.count_changes(&run);
        Ok(tag_of(&run, count).into_owned())
    }

    /// Fails if a read-only transaction's plan writes.
    pub(crate) fn check_writes(&self, plan: &PlannedStmt) -> Result<()> {
        let what = match plan.command {
            CmdType::Insert => "INSERT",
            CmdType::Update => "UPDATE",
            CmdType::Delete => "DELETE",
            CmdType::Merge => "MERGE",
            _ => return Ok(()),
        };
        self.prevent_in_read_only(what)
    }

    /// Runs a portal: at most `max` rows, 0 for all. Gives the command tag, or None if there may
    /// be more rows.
    pub(super) fn run_portal(
        &mut self,
        portal: &mut Portal,
        max: u64,
        sink: &mut dyn Sink,
    ) -> Result<Option<Cow<'static, str>>> {
        let mut made = None;
        if let PortalState::Ready = portal.state {
            if portal.prepared.analysed.lock().names_cursor {
                self.start_at_cursor(portal)?;
                return self.run_portal(portal, max, sink);
            }
            let analysed = self.refresh(&portal.prepared)?;
            if analysed.query_id != 0 {
                self.note_query_id(analysed.query_id);
            }
            let planned = portal.planned.take().filter(|(of, _)| Arc::ptr_eq(of, &analysed));
            if planned.is_none()
                && let Some(plan) = self.known_point(&portal.prepared, &analysed, max)
            {
                if portal.describe && analysed.gives_rows() {
                    sink.row_description(&analysed.columns, &portal.formats)?;
                }
                return self.run_point(&plan, portal, sink).map(Some);
            }
            let env = self.env()?;
            let prepared = &portal.prepared;
            if !analysed.plain {
                drop(env);
                portal.state = PortalState::Done;
                return self.run_products(portal, &analysed, sink).map(|t| Some(t.into()));
            }
            let plan = match planned {
                Some((_, plan)) => plan,
                None => self.plan_portal(&env, prepared, &analysed, &portal.params)?,
            };
            if self.is_outdated(&plan, &analysed) {
                drop(env);
                return self.run_portal(portal, max, sink);
            }
            // A client is told of columns once nothing but the rows can fail.
            self.check_writes(plan.compiled.plan())?;
            if portal.describe && analysed.gives_rows() {
                sink.row_description(&analysed.columns, &portal.formats)?;
            }
            if plan.point.is_some() && max != 1 {
                return self.run_point(&plan, portal, sink).map(Some);
            }
            let snapshot = Arc::new(self.core.txn()?.snapshot());
            portal.snapshot = Some(snapshot.clone());
            let mut run = Execution::new(plan.compiled.clone(), portal.params.clone(), snapshot);
            // Nothing may have been said yet by a statement that is run again.
            let silent = max == 0 && (!portal.describe || !analysed.gives_rows());
            if silent && self.parks() {
                run.may_park();
            }
            portal.state = PortalState::Running(Box::new(run));
            if max > 0 && plan.compiled.plan().writes() {
                drop(env);
                self.run_whole(portal, sink)?;
                return self.run_kept(portal, max, sink).map(|tag| tag.map(Cow::from));
            }
            made = Some(env);
        }
        if let PortalState::Kept(_) = portal.state {
            return self.run_kept(portal, max, sink).map(|tag| tag.map(Cow::from));
        }
        let analysed = portal.prepared.analysed.lock().clone();
        let writer = RowWriter::new(&analysed.columns, &portal.formats);
        let (count, more, tag) = match &mut portal.state {
            PortalState::Running(run) => {
                let env = match made {
                    Some(env) => env,
                    None => self.env()?,
                };
                let pulled = self.pull(&env, run, max, &writer, sink);
                if matches!(&pulled, Err(e) if e.is_parked()) {
                    portal.state = PortalState::Ready;
                    portal.snapshot = None;
                    return Err(Error::parked());
                }
                let (count, more) = pulled?;
                if !more {
                    self.count_changes(run);
                }
                (count, more, tag_of(run, count))
            }
            _ => (0, false, Cow::Borrowed("SELECT 0")),
        };
        portal.position += count;
        if more {
            return Ok(None);
        }
        portal.state = PortalState::Done;
        self.after_query()?;
        Ok(Some(tag))
    }

    /// Runs a portal to its end and keeps its rows.
    fn run_whole(&mut self, portal: &mut Portal, sink: &mut dyn Sink) -> Result<()> {
        let analysed = portal.prepared.analysed.lock().clone();
        let PortalState::Running(mut run) = std::mem::replace(&mut portal.state, PortalState::Done)
        else {
            return Ok(());
        };
        let writer = RowWriter::new(&analysed.columns, &portal.formats);
        let mut collect = Collect::new(&analysed.columns, sink);
        let count = self.pull(&self.env()?, &mut run, 0, &writer, &mut collect)?.0;
        self.count_changes(&run);
        let kept = collect.finish(tag_of(&run, count).into_owned());
        portal.state = PortalState::Kept(Box::new(kept));
        self.after_query()
    }

    /// The plan for any parameters, if it is there, is what [`Session::plan_of`] would take, and
    /// has a short path; it counts as run.
    fn known_point(
        &self,
        prepared: &Prepared,
        analysed: &Arc<Analysed>,
        max: u64,
    ) -> Option<Arc<CachedPlan>> {
        if max == 1 || !analysed.plain {
            return None;
        }
        let plan = self.known_generic(prepared, analysed)?;
        let mode = self.core.setting(|s| s.plan_cache_mode);
        if !plan.for_all_values || plan.point.is_none() || mode == PlanCacheMode::ForceCustom {
            return None;
        }
        let customs = prepared.custom_plans.load(Ordering::Relaxed);
        if customs < CUSTOM_PLANS && !analysed.params.is_empty() && !prepared.from_literals {
            if mode != PlanCacheMode::Auto {
                return None;
            }
            self.core.setting(|s| prepared.count_custom(plan.compiled.plan(), s));
        } else {
            prepared.generic_plans.fetch_add(1, Ordering::Relaxed);
        }
        Some(plan)
    }

    /// Runs a query that finds one row by its key, or none.
    fn run_point(
        &self,
        plan: &CachedPlan,
        portal: &mut Portal,
        sink: &mut dyn Sink,
    ) -> Result<Cow<'static, str>> {
        let Some(point) = &plan.point else {
            return Err(Error::internal("a plan without its short path"));
        };
        portal.state = PortalState::Done;
        let snapshot = self.core.with_txn(Txn::snapshot)?;
        let storage = self.core.database.storage();
        let mut space = self.point_space.take();
        let found = point.run(storage, &portal.params, &snapshot, &mut space)?;
        let row = &mut space.row;
        if found {
            let text = portal.formats.iter().all(|f| *f == ResultFormat::Text);
            if !text || !plan.text_rows.row_alone(row, sink)? {
                let env = self.env()?;
                match text {
                    true => plan.text_rows.row(row, &env.io(), sink)?,
                    false => {
                        let analysed = portal.prepared.analysed.lock().clone();
                        let writer = RowWriter::new(&analysed.columns, &portal.formats);
                        writer.row(row, &env.io(), sink)?;
                    }
                }
            }
            portal.position = 1;
        }
        row.clear();
        self.point_space.set(space);
        Ok(Cow::Borrowed(if found { "SELECT 1" } else { "SELECT 0" }))
    }

    /// Pulls rows and hands them on: how many, and whether there may be more.
    pub(crate) fn pull(
        &self,
        env: &StatementEnv<'_>,
        run: &mut Execution,
        max: u64,
        writer: &RowWriter,
        sink: &mut dyn Sink,
    ) -> Result<(u64, bool)> {
        let meter = Meter::begin(self.core.resolved().trace.executor);
        let pulled = self.pull_rows(env, run, max, writer, sink);
        if meter.is_some() && pulled.is_ok() {
            self.core.measured(meter, "EXECUTOR STATISTICS");
        }
        pulled
    }

    fn pull_rows(
        &self,
        env: &StatementEnv<'_>,
        run: &mut Execution,
        max: u64,
        writer: &RowWriter,
        sink: &mut dyn Sink,
    ) -> Result<(u64, bool)> {
        let mut parts = RunParts::new(self)?;
        if max != 0 {
            parts = parts.alone();
        }
        let keep = kept_columns(run.stmt().plan());
        let plain = run.stmt().plan().command == CmdType::Select || run.stmt().plan().has_returning;
        let mut count = 0;
        loop {
            let want = match max {
                0 => 0,
                n => (n - count) as usize,
            };
            let Some(batch) = run.next_batch(parts.cx(env), want)? else {
                return Ok((count, false));
            };
            let rows = batch.positions().count() as u64;
            if plain && rows > 0 {
                match &keep {
                    None => writer.batch(&batch, &env.io(), sink)?,
                    Some(keep) => writer.batch(&project(&batch, keep), &env.io(), sink)?,
                }
            }
            count += rows;
            if max != 0 && count >= max {
                return Ok((count, true));
            }
            self.check_interrupts()?;
        }
    }

    /// Runs to the end for what it does; nobody sees its rows.
    pub(super) fn discard_rows(&self, env: &StatementEnv<'_>, run: &mut Execution) -> Result<u64> {
        let parts = RunParts::new(self)?;
        let mut count = 0;
        while let Some(batch) = run.next_batch(parts.cx(env), 0)? {
            count += batch.positions().count() as u64;
            self.check_interrupts()?;
        }
        Ok(count)
    }

    /// Counts what a statement changed, for autovacuum.
    pub(super) fn count_changes(&self, run: &Execution) {
        let plan = run.stmt().plan();
        let rows = run.processed();
        let Some(first) = plan.result_relations.first().filter(|_| rows > 0) else { return };
        if let Some(ir::Rte { kind: RteKind::Relation { relid, .. }, .. }) =
            plan.rtable.get(*first as usize - 1)
        {
            let (inserted, dead) = match plan.command {
                CmdType::Insert => (rows, 0),
                _ => (0, rows),
            };
            self.core.changes.count(*relid, inserted, dead);
            let by_kind = match plan.command {
                CmdType::Insert => [rows, 0, 0],
                CmdType::Delete => [0, 0, rows],
                _ => [0, rows, 0],
            };
            self.core.changes.note(self.core.state.oid, *relid, by_kind);
            if plan.command == CmdType::Update {
                let (hot, newpage) = access::heap::take_update_counts();
                let key = (self.core.state.oid, *relid);
                executor::counts::updated(key, hot.min(rows), newpage.min(rows));
            }
        }
    }

    /// After a statement that may have changed rows: what was put off until now.
    pub(crate) fn after_query(&mut self) -> Result<()> {
        self.core.txn()?.increment_command()?;
        self.fire_foreign_keys()
    }
}

impl Prepared {
    /// Counts a plan made for given values, and what it costs with its planning, PostgreSQL's
    /// figure.
    pub(super) fn count_custom(&self, plan: &PlannedStmt, settings: &Resolved) {
        let tables = (plan.rtable.len() + 1) as f64;
        let planning = 1000.0 * settings.planner.cpu_operator_cost * tables;
        self.custom_plans.fetch_add(1, Ordering::Relaxed);
        *self.custom_cost.lock() += plan.plan.total_cost + planning;
    }
}

/// True if the parameters' values cannot matter to the choice of the plan: nothing is read, or
/// one row by an index.
fn is_for_all_values(stmt: &PlannedStmt) -> bool {
    stmt.subplans.is_empty() && reads_one_row(&stmt.plan)
}

fn reads_one_row(plan: &Plan) -> bool {
    let below = match &plan.node {
        PlanNode::IndexScan(_) | PlanNode::IndexOnlyScan(_) => return plan.rows <= 1.0,
        PlanNode::Result(_) | PlanNode::ModifyTable(_) | PlanNode::LockRows(_) => true,
        _ => false,
    };
    below && plan.children().into_iter().all(reads_one_row)
}

/// The query that gives the tag and the rows.
pub(super) fn main_query(analysed: &Analysed) -> Result<&Query> {
    match &analysed.queries[..] {
        [one] if one.notify.is_none() => Ok(one),
        _ => Err(Error::unsupported("rules with other actions than one here")),
    }
}

fn column_of(env: &StatementEnv<'_>, t: &TargetEntry) -> Result<ResultColumn> {
    let mut type_oid = t.expr.ty();
    let mut desc = env.view.type_(type_oid)?;
    // Clients are told a domain's base type.
    let mut typmod = t.expr.typmod();
    while desc.kind == b'd' {
        if desc.typmod >= 0 {
            typmod = desc.typmod;
        }
        type_oid = desc.base_type;
        desc = env.view.type_(type_oid)?;
    }
    Ok(ResultColumn {
        name: t.name.clone().unwrap_or_else(|| "?column?".to_string()),
        table: t.orig_table,
        attnum: t.orig_column,
        type_oid,
        type_len: desc.len,
        typmod,
    })
}

/// The columns that are not junk, if there are others.
pub(super) fn kept_columns(plan: &PlannedStmt) -> Option<Vec<usize>> {
    let target = &plan.plan.target;
    if !target.iter().any(|t| t.junk) {
        return None;
    }
    Some((0..target.len()).filter(|i| !target[*i].junk).collect())
}

pub(super) fn project(batch: &Batch, keep: &[usize]) -> Batch {
    Batch {
        len: batch.len,
        columns: keep.iter().map(|i| batch.columns[*i].clone()).collect(),
        sel: batch.sel.clone(),
    }
}

/// The query in a command, whose parameters are the command's.
fn query_within(stmt: &Stmt) -> Option<Stmt> {
    let query = match stmt {
        Stmt::Explain(e) if is_query(&e.query) => e.query.clone(),
        Stmt::Explain(e) => return query_within(&e.query),
        Stmt::CreateTableAs(c) => c.query.clone(),
        Stmt::DeclareCursor(d) => Stmt::Select(Box::new(d.query.clone())),
        _ => return None,
    };
    is_query(&query).then_some(query)
}

/// The command tag: rows given, or rows changed.
pub(crate) fn tag_of(run: &Execution, rows: u64) -> Cow<'static, str> {
    let changed = run.processed();
    Cow::Owned(match (run.stmt().plan().command, changed) {
        (CmdType::Insert, 1) => return Cow::Borrowed("INSERT 0 1"),
        (CmdType::Update, 1) => return Cow::Borrowed("UPDATE 1"),
        (CmdType::Delete, 1) => return Cow::Borrowed("DELETE 1"),
        (CmdType::Insert, n) => format!("INSERT 0 {n}"),
        (CmdType::Update, n) => format!("UPDATE {n}"),
        (CmdType::Delete, n) => format!("DELETE {n}"),
        (CmdType::Merge, n) => format!("MERGE {n}"),
        _ => format!("SELECT {rows}"),
    })
}
