//! The state of one run of a plan, and what it is given by the session.

use crate::compile::CompiledStmt;
use crate::expr::RowInput;
use crate::expr::batch::Vector;
use crate::hooks::Hooks;
use crate::instrument::Instrumentation;
use crate::node::Node;
use crate::node::scan::Recheck;
use crate::parallel::{Shared, Workers};
use crate::spill::TempSpace;
use crate::subplan;
use access::Storage;
use base::memory::Account;
use base::{Error, Result};
use catalog::CatalogView;
use functions::{CallState, FnEnv};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use txn::{Snapshot, Txn, Wait};
use types::{Batch, Datum};

/// Settings that change how plans run.
#[derive(Clone, Debug)]
pub struct ExecSettings {
    /// Bytes that an operator may hold before it spills.
    pub work_mem: usize,
    /// Hash tables may hold this many times as much.
    pub hash_mem_multiplier: f64,
    /// Where operators that outgrow their memory write to; None: they keep growing.
    pub temp: Option<TempSpace>,
    /// Who has workers does a part of the work too.
    pub leader_participates: bool,
    /// Rows that NOWAIT finds locked are told of in the server's log.
    pub log_lock_failures: bool,
    /// Scans of large tables begin where others are.
    pub synchronize_scans: bool,
}

impl ExecSettings {
    /// Bytes that a hash table may hold before it spills.
    pub fn hash_mem(&self) -> usize {
        (self.work_mem as f64 * self.hash_mem_multiplier) as usize
    }
}

impl Default for ExecSettings {
    fn default() -> ExecSettings {
        ExecSettings {
            work_mem: 4 << 20,
            hash_mem_multiplier: 2.0,
            temp: None,
            leader_participates: true,
            log_lock_failures: false,
            synchronize_scans: true,
        }
    }
}

/// What a session lends to a run for the time of one call.
#[derive(Clone, Copy)]
pub struct ExecCtx<'a> {
    /// The session as functions see it.
    pub env: &'a dyn FnEnv,
    /// The catalogs as the statement sees them.
    pub catalog: &'a CatalogView,
    /// Pool, log and transactions; None where no table is touched.
    pub storage: Option<&'a Arc<Storage>>,
    /// The transaction; None where no table is touched.
    pub txn: Option<&'a Arc<Txn>>,
    /// What is done around changes of rows.
    pub hooks: &'a dyn Hooks,
    /// The query's memory account.
    pub memory: &'a Arc<Account>,
    /// Settings.
    pub settings: &'a ExecSettings,
    /// Where workers for parallel plans come from; None: there are none.
    pub workers: Option<&'a dyn Workers>,
}

impl<'a> ExecCtx<'a> {
    /// Pool, log and transactions.
    #[inline]
    pub fn storage(&self) -> Result<&'a Arc<Storage>> {
        self.storage.ok_or_else(|| Error::internal("tables cannot be read here"))
    }

    /// The transaction.
    #[inline]
    pub fn txn(&self) -> Result<&'a Arc<Txn>> {
        self.txn.ok_or_else(|| Error::internal("there is no transaction here"))
    }
}

/// The operand that a `CaseTest` reads.
pub(crate) enum CaseValue {
    One(Datum),
    /// By position of the batch that is evaluated.
    Many(Vector),
}

/// An exec param.
#[derive(Clone, Default)]
pub(crate) struct ExecSlot {
    pub value: Datum,
    /// Index of the init plan that has to run before the value is there.
    pub pending: Option<u32>,
}

/// A subplan's running state.
#[derive(Default)]
pub(crate) struct SubState {
    /// None until it is first used, and while it runs.
    pub node: Option<Box<dyn Node>>,
    pub started: bool,
    /// For subplans that keep their result in a hash table.
    pub hashed: Option<Box<subplan::Hashed>>,
    /// For CTEs: the rows so far.
    pub cte: Option<Box<crate::node::cte_scan::CteState>>,
}

/// The part of a run that outlives a call.
pub(crate) struct State {
    pub stmt: Arc<CompiledStmt>,
    pub snapshot: Arc<Snapshot>,
    /// While a changed row is checked again: what stands in for its table.
    pub recheck: Option<Box<Recheck>>,
    pub extern_params: Arc<[Datum]>,
    pub exec: Vec<ExecSlot>,
    pub call_states: Vec<CallState>,
    pub case: Vec<CaseValue>,
    pub domain: Vec<Datum>,
    pub subplans: Vec<SubState>,
    /// Rows of the last round of a recursion, by its exec param.
    pub work_tables: Vec<(u32, Arc<Vec<Batch>>)>,
    pub merge_action: Option<&'static str>,
    /// Rows that data-changing statements processed.
    pub processed: u64,
    /// Nothing is changed or locked yet, and whoever runs this runs it again if it has to wait.
    pub parks: bool,
    pub instrumentation: Option<Box<Instrumentation>>,
    /// What is shared with the other members of a team.
    pub shared: Option<Arc<Shared>>,
}

/// A run during one call: what the session lends, and the state.
pub(crate) struct Run<'a> {
    pub env: &'a dyn FnEnv,
    pub cx: ExecCtx<'a>,
    state: &'a mut State,
}

impl Deref for Run<'_> {
    type Target = State;
    #[inline]
    fn deref(&self) -> &State {
        self.state
    }
}

impl DerefMut for Run<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State {
        self.state
    }
}

impl State {
    pub fn new(stmt: Arc<CompiledStmt>, params: Arc<[Datum]>, snapshot: Arc<Snapshot>) -> State {
        let mut exec: Vec<ExecSlot> = Vec::new();
        exec.resize_with(stmt.exec_params, ExecSlot::default);
        for (i, init) in stmt.init_plans.iter().enumerate() {
            for param in &init.set_params {
                exec[*param as usize].pending = Some(i as u32);
            }
        }
        let mut subplans = Vec::new();
        subplans.resize_with(stmt.subplans.len(), SubState::default);
        State {
            stmt,
            snapshot,
            recheck: None,
            extern_params: params,
            exec,
            call_states: Vec::new(),
            case: Vec::new(),
            domain: Vec::new(),
            subplans,
            work_tables: Vec::new(),
            merge_action: None,
            processed: 0,
            parks: false,
            instrumentation: None,
            shared: None,
        }
    }
}

impl<'a> Run<'a> {
    pub fn new(cx: ExecCtx<'a>, state: &'a mut State) -> Run<'a> {
        Run { env: cx.env, cx, state }
    }

    /// How to wait for the first row of a table without hooks; from here on something may be
    /// changed.
    pub fn first_wait(&mut self, hooked: bool) -> Wait {
        match std::mem::take(&mut self.parks) && !hooked {
            true => Wait::Park,
            false => Wait::Block,
        }
    }

    /// Parameter `$id`.
    #[inline]
    pub fn extern_param(&self, id: u32) -> Datum {
        self.extern_params.get(id as usize - 1).cloned().unwrap_or_default()
    }

    /// An exec param; runs the init plan that makes it if that has not been done.
    #[inline]
    pub fn exec_param(&mut self, id: u32) -> Result<Datum> {
        if let Some(init) = self.exec[id as usize].pending {
            subplan::run_init_plan(self, init as usize)?;
        }
        Ok(self.exec[id as usize].value.clone())
    }

    /// Sets an exec param.
    pub fn set_exec_param(&mut self, id: u32, value: Datum) {
        let slot = &mut self.exec[id as usize];
        slot.value = value;
        slot.pending = None;
    }

    /// The exec params as they are.
    pub fn save_exec(&self) -> Vec<ExecSlot> {
        self.exec.clone()
    }

    /// Makes the exec params what they were.
    pub fn restore_exec(&mut self, saved: Vec<ExecSlot>) {
        self.exec = saved;
    }

    /// The params that change with `changed`: those, and what init plans make of them. Such init
    /// plans will run again.
    pub fn changed_params(&mut self, changed: &[u32]) -> Vec<u32> {
        let mut all = changed.to_vec();
        let stmt = Arc::clone(&self.stmt);
        for (i, init) in stmt.init_plans.iter().enumerate() {
            if init.depends_on.iter().any(|p| all.contains(p)) {
                for param in &init.set_params {
                    self.exec[*param as usize].pending = Some(i as u32);
                    all.push(*param);
                }
            }
        }
        all
    }

    /// What a call site keeps between calls.
    #[inline]
    pub fn call_state(&mut self, id: u32) -> &mut CallState {
        let id = id as usize;
        if id >= self.call_states.len() {
            let all = self.stmt.call_states.max(id + 1);
            self.call_states.resize_with(all, CallState::default);
        }
        &mut self.state.call_states[id]
    }

    /// The operand of the innermost CASE, for the row of the input.
    pub fn case_value(&self, input: RowInput<'_>) -> Datum {
        match (self.case.last(), input) {
            (Some(CaseValue::One(d)), _) => d.clone(),
            (Some(CaseValue::Many(v)), RowInput::Batch(_, i) | RowInput::Pair(_, i, ..)) => {
                v.get(i)
            }
            _ => Datum::Null,
        }
    }

    /// The operand of the innermost CASE.
    pub fn case_vector(&self) -> Vector {
        match self.case.last() {
            Some(CaseValue::One(d)) => Vector::Const(d.clone()),
            Some(CaseValue::Many(v)) => v.clone(),
            None => Vector::Const(Datum::Null),
        }
    }

    /// The value under test by a domain's constraint.
    pub fn domain_value(&self) -> Datum {
        self.domain.last().cloned().unwrap_or_default()
    }

    /// What MERGE does with the current row.
    pub fn merge_action(&self) -> Datum {
        self.merge_action.map_or(Datum::Null, Datum::text)
    }

    /// Fails if the statement was cancelled.
    #[inline]
    pub fn check_interrupts(&self) -> Result<()> {
        if let Some(shared) = &self.shared {
            shared.check()?;
        }
        self.env.check_interrupts()
    }

    /// Runs `f` on the node of a subplan, which is started first if need be.
    pub fn with_subplan<R>(
        &mut self,
        index: usize,
        f: impl FnOnce(&mut Run, &mut dyn Node) -> Result<R>,
    ) -> Result<R> {
        let mut node = match self.subplans[index].node.take() {
            Some(node) => node,
            None if self.subplans[index].started => {
                return Err(Error::internal("a subplan runs inside of itself"));
            }
            None => {
                self.subplans[index].started = true;
                let plan = Arc::clone(&self.stmt.subplans[index]);
                plan.start(self)?
            }
        };
        let result = f(self, &mut *node);
        self.subplans[index].node = Some(node);
        result
    }
}
