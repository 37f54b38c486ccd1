//! Planning and what runs need, from a session's core: functions in SQL have no session.

use super::core::SessionCore;
use super::env::StatementEnv;
use super::trace::Meter;
use crate::settings::Resolved;
use base::memory::Account;
use base::{Oid, Result};
use catalog::{IndexDesc, RelationDesc};
use executor::{CompiledStmt, ExecCtx, Execution};
use ir::{Expr, Plan, PlanNode, PlannedStmt, Query, RteKind, TargetEntry};
use std::sync::Arc;
use txn::{LockMode, LockTag};
use types::Datum;

/// Sizes of relations now.
struct Sizes<'a> {
    core: &'a Arc<SessionCore>,
}

impl planner::RelationSizes for Sizes<'_> {
    fn pages(&self, rel: &RelationDesc) -> Result<u32> {
        if rel.relfile.number == 0 {
            return Ok(0);
        }
        let pool = &self.core.database.storage().pool;
        let files = pool.relation(rel.relfile, rel.persistence.for_files());
        Ok(files.nblocks(base::Fork::Main)?.0)
    }

    fn index_pages(&self, index: &IndexDesc) -> Result<u32> {
        let pool = &self.core.database.storage().pool;
        let files = pool.relation(index.relfile, index.persistence.for_files());
        Ok(files.nblocks(base::Fork::Main)?.0)
    }

    fn tree_height(&self, index: &IndexDesc) -> Option<u32> {
        let storage = self.core.database.storage();
        let open = catalog::open_index(index, &catalog::builtin_support).ok()?;
        Some(open.am().facts(storage, &open).ok()?.height)
    }
}

/// Computes constant expressions for the planner.
struct Evaluator<'a, 'e> {
    core: &'a Arc<SessionCore>,
    env: &'a StatementEnv<'e>,
}

impl planner::ConstEvaluator for Evaluator<'_, '_> {
    fn evaluate(&self, expr: &Expr) -> Result<Datum> {
        self.core.evaluate(self.env, expr.clone(), Arc::new([]))
    }
}

/// What functions in SQL do, for the planner.
struct Bodies<'a, 'e> {
    env: &'a StatementEnv<'e>,
}

impl planner::FunctionBodies for Bodies<'_, '_> {
    fn body(
        &self,
        proc: &catalog::ProcDesc,
        arg_types: &[Oid],
        ret_type: Oid,
    ) -> Result<Option<Query>> {
        // What is wrong with a function is said when it is called.
        let found = crate::sql_function::body(self.env, proc, arg_types, ret_type);
        Ok(found.unwrap_or_default())
    }
}

impl SessionCore {
    /// The value of an expression that reads no table.
    pub(crate) fn evaluate(
        self: &Arc<Self>,
        env: &StatementEnv<'_>,
        expr: Expr,
        params: Arc<[Datum]>,
    ) -> Result<Datum> {
        let mut plan = Plan::new(PlanNode::Result(Default::default()));
        plan.target = vec![TargetEntry::new(expr, 1, None, false)];
        plan.rows = 1.0;
        let stmt = PlannedStmt::select(plan);
        let compiled = executor::compile(Arc::new(stmt), &env.view, None)?;
        let snapshot = Arc::new(self.txn()?.snapshot());
        let mut run = Execution::new(compiled, params, snapshot);
        let parts = RunParts::of(self)?;
        let value = match run.next_batch(parts.cx(env), 1)? {
            Some(batch) => {
                let first = batch.positions().next();
                first.map_or(Datum::Null, |i| batch.columns[0].get(i))
            }
            None => Datum::Null,
        };
        Ok(value)
    }

    /// Takes the locks of all tables that a query names.
    pub(crate) fn lock_relations(&self, query: &Query) -> Result<()> {
        for rte in &query.rtable {
            match &rte.kind {
                RteKind::Relation { relid, lock_mode, .. } => {
                    self.lock_relation(*relid, *lock_mode)?;
                }
                RteKind::Subquery { query, .. } => self.lock_relations(query)?,
                _ => {}
            }
        }
        for cte in &query.ctes {
            self.lock_relations(&cte.query)?;
        }
        Ok(())
    }

    /// The same for a statement that was analysed just now from its text: what is said of a wait
    /// has the place of the table's name.
    pub(crate) fn lock_named(&self, query: &Query) -> Result<()> {
        for rte in &query.rtable {
            match &rte.kind {
                RteKind::Relation { relid, lock_mode, written, .. } => {
                    txn::about::placed(written.0, || self.lock_relation(*relid, *lock_mode))?;
                }
                // What a view reads is named in the view's text.
                RteKind::Subquery { query, view, .. } if view.is_some() => {
                    self.lock_relations(query)?;
                }
                RteKind::Subquery { query, .. } => self.lock_named(query)?,
                _ => {}
            }
        }
        for cte in &query.ctes {
            self.lock_named(&cte.query)?;
        }
        Ok(())
    }

    /// Locks a relation until the end of the transaction.
    pub(crate) fn lock_relation(&self, relation: Oid, mode: u8) -> Result<()> {
        let txn = self.txn()?;
        let builtin = relation < Oid::FIRST_NORMAL;
        let shared =
            builtin && catalog::builtin::relations().get(&relation).is_some_and(|r| r.shared);
        let db = if shared { Oid::INVALID } else { self.state.oid };
        let mode = lock_mode(mode);
        txn.lock(LockTag::Relation { db, rel: relation }, mode)?;
        Ok(())
    }

    /// Plans a query for these parameters, or for any.
    pub(crate) fn plan(
        self: &Arc<Self>,
        env: &StatementEnv<'_>,
        query: Query,
        params: Option<&[Datum]>,
        fraction: f64,
    ) -> Result<PlannedStmt> {
        self.plan_watched(env, query, params, fraction, None)
    }

    /// The same. With a watch the values are estimated with, and the plan is good for any.
    pub(super) fn plan_watched(
        self: &Arc<Self>,
        env: &StatementEnv<'_>,
        query: Query,
        params: Option<&[Datum]>,
        fraction: f64,
        watch: Option<&planner::Watch>,
    ) -> Result<PlannedStmt> {
        self.check_permissions(env, &query)?;
        let settings = self.resolved();
        let planner_env = planner::Env {
            catalog: &env.view,
            settings: &settings.planner,
            evaluator: &Evaluator { core: self, env },
            sizes: &Sizes { core: self },
            params,
            fold_params: params.is_some() && watch.is_none(),
            tuple_fraction: fraction,
            // A cursor is read in pieces; a worker has no workers.
            parallel_ok: fraction == 0.0 && !super::worker::is_worker(),
            bodies: Some(&Bodies { env }),
            watch,
        };
        let meter = Meter::begin(settings.trace.planner);
        let plan = planner::plan_query(query, &planner_env)?;
        self.measured(meter, "PLANNER STATISTICS");
        if settings.trace.any {
            self.show_plan(&plan);
        }
        self.lock_members(&plan)?;
        Ok(plan)
    }

    /// True if what a plan was chosen by is much the same for these parameters, now.
    pub(super) fn grounds_hold(
        self: &Arc<Self>,
        env: &StatementEnv<'_>,
        params: &[Datum],
        grounds: &planner::Grounds,
    ) -> Result<bool> {
        grounds.hold(&planner::Env {
            catalog: &env.view,
            settings: &self.resolved().planner,
            evaluator: &Evaluator { core: self, env },
            sizes: &Sizes { core: self },
            params: Some(params),
            fold_params: false,
            tuple_fraction: 0.0,
            parallel_ok: false,
            bodies: None,
            watch: None,
        })
    }

    /// Locks the children of inheritance trees that a plan reads: the statement names none of
    /// them.
    fn lock_members(&self, plan: &PlannedStmt) -> Result<()> {
        for (relation, mode) in members(plan) {
            self.lock_relation(relation, mode)?;
        }
        Ok(())
    }

    /// A plan made into programs.
    pub(crate) fn compile(
        self: &Arc<Self>,
        env: &StatementEnv<'_>,
        plan: PlannedStmt,
    ) -> Result<Arc<CompiledStmt>> {
        executor::compile(Arc::new(plan), &env.view, Some(self.database.storage()))
    }
}

/// What a run borrows from the session.
pub(crate) struct RunParts {
    storage: Arc<access::Storage>,
    txn: Arc<txn::Txn>,
    memory: Arc<Account>,
    settings: Arc<Resolved>,
    hooks: crate::ri::RiHooks,
    workers: Option<super::worker::SessionWorkers>,
}

impl RunParts {
    /// For the session's open transaction.
    pub fn new(session: &super::Session) -> Result<RunParts> {
        RunParts::of(&session.core)
    }

    /// The same, of a session's core.
    pub fn of(core: &Arc<SessionCore>) -> Result<RunParts> {
        Ok(RunParts {
            storage: core.database.storage().clone(),
            txn: core.txn()?,
            memory: core.memory.clone(),
            settings: core.resolved(),
            hooks: crate::ri::RiHooks::new(core),
            workers: (!super::worker::is_worker())
                .then(|| super::worker::SessionWorkers::new(core)),
        })
    }

    /// For a run that may stop on its way: without workers, which would wait meanwhile.
    pub fn alone(mut self) -> RunParts {
        self.workers = None;
        self
    }

    /// As the executor takes it.
    pub fn cx<'a>(&'a self, env: &'a StatementEnv<'_>) -> ExecCtx<'a> {
        ExecCtx {
            env,
            catalog: &env.view,
            storage: Some(&self.storage),
            txn: Some(&self.txn),
            hooks: &self.hooks,
            memory: &self.memory,
            settings: &self.settings.exec,
            workers: self.workers.as_ref().map(|w| w as &dyn executor::Workers),
        }
    }
}

/// Children of inheritance trees that a plan reads, with their locks.
pub(super) fn members(plan: &PlannedStmt) -> Vec<(Oid, u8)> {
    let named_by_none = plan.rtable.iter().filter(|r| !r.in_from);
    named_by_none
        .filter_map(|rte| match &rte.kind {
            RteKind::Relation { relid, lock_mode, .. } => Some((*relid, *lock_mode)),
            _ => None,
        })
        .collect()
}

fn lock_mode(n: u8) -> LockMode {
    LockMode::ALL.iter().copied().find(|m| *m as u8 == n).unwrap_or(LockMode::AccessShare)
}
