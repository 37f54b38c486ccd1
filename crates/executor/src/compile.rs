//! From a plan to compiled nodes.

use crate::expr::composite::Element;
use crate::expr::{ExprCompiler, Qual, VarMap};
use crate::node::{self, Child, NodeSpec, Planned};
use crate::output::Output;
use crate::prune::Prune;
use crate::subplan::InitPlan;
use access::Storage;
use base::{Error, Result};
use catalog::CatalogView;
use ir::{CmdType, Plan, PlanNode, PlannedStmt, SubLinkKind};
use std::sync::Arc;
use types::PhysType;

/// A plan ready to run, by any number of sessions at once. It is to be made anew when a relation
/// or function that the plan names has changed.
pub struct CompiledStmt {
    plan: Arc<PlannedStmt>,
    pub(crate) root: Child,
    pub(crate) subplans: Vec<Child>,
    pub(crate) init_plans: Vec<InitPlan>,
    pub(crate) call_states: usize,
    pub(crate) exec_params: usize,
    /// Subplans that change rows and must run to their end whether or not they are read.
    pub(crate) modifying: Vec<usize>,
    /// What prunes the children of appends, by the appends' numbers.
    pub(crate) prunes: Vec<(u32, Arc<Prune>)>,
    /// It may be run again from its start as long as it has changed and locked nothing.
    pub(crate) repeatable: bool,
}

/// Statements that cost more are not run again because they have to wait.
const CHEAP: f64 = 1000.0;

impl CompiledStmt {
    /// The plan that it was made from.
    pub fn plan(&self) -> &Arc<PlannedStmt> {
        &self.plan
    }

    /// A statement of this root and nothing else.
    pub(crate) fn of_parts(plan: Arc<PlannedStmt>, root: Child, call_states: usize) -> Self {
        CompiledStmt {
            plan,
            root,
            subplans: Vec::new(),
            init_plans: Vec::new(),
            call_states,
            exec_params: 0,
            prunes: Vec::new(),
            modifying: Vec::new(),
            repeatable: false,
        }
    }

    /// How the columns of the result are held, junk included.
    pub fn phys_types(&self) -> &[PhysType] {
        &self.root.phys
    }
}

/// Compiles a plan. Without `storage` it must not touch tables.
pub fn compile(
    plan: Arc<PlannedStmt>,
    catalog: &CatalogView,
    storage: Option<&Arc<Storage>>,
) -> Result<Arc<CompiledStmt>> {
    let mut c = PlanCompiler::new(&plan, catalog, storage);
    let mut subplans = Vec::with_capacity(plan.subplans.len());
    let mut modifying = Vec::new();
    for (i, sub) in plan.subplans.iter().enumerate() {
        subplans.push(c.node(sub)?);
        if matches!(sub.node, PlanNode::ModifyTable(_)) {
            modifying.push(i);
        }
    }
    let root = c.node(&plan.plan)?;
    let repeatable = !c.ec.calls_volatile && modifying.is_empty() && plan.plan.total_cost < CHEAP;
    let (init_plans, exec_params, prunes) = (c.init_plans, c.exec_params, c.prunes);
    let call_states = c.ec.call_states as usize;
    Ok(Arc::new(CompiledStmt {
        plan,
        root,
        subplans,
        init_plans,
        call_states,
        exec_params,
        prunes,
        modifying,
        repeatable,
    }))
}

/// Compiles the nodes of one statement.
pub(crate) struct PlanCompiler<'a> {
    pub ec: ExprCompiler<'a>,
    pub stmt: &'a PlannedStmt,
    storage: Option<&'a Arc<Storage>>,
    init_plans: Vec<InitPlan>,
    exec_params: usize,
    prunes: Vec<(u32, Arc<Prune>)>,
}

impl<'a> PlanCompiler<'a> {
    /// For the nodes and expressions of this statement.
    pub fn new(
        stmt: &'a PlannedStmt,
        catalog: &'a CatalogView,
        storage: Option<&'a Arc<Storage>>,
    ) -> PlanCompiler<'a> {
        PlanCompiler {
            ec: ExprCompiler::new(catalog),
            stmt,
            storage,
            init_plans: Vec::new(),
            exec_params: stmt.exec_param_types.len(),
            prunes: Vec::new(),
        }
    }
}

impl PlanCompiler<'_> {
    /// A node and those below it.
    pub fn node(&mut self, plan: &Plan) -> Result<Child> {
        self.init_plans_of(plan)?;
        let spec = self.spec(plan)?;
        let mut phys = Vec::with_capacity(plan.target.len());
        for t in &plan.target {
            phys.push(self.ec.phys(t.expr.ty())?);
        }
        Ok(Arc::new(Planned { id: plan.id, phys, params: plan.all_params.clone(), spec }))
    }

    /// Notes the init plans that hang on a node.
    pub fn init_plans_of(&mut self, plan: &Plan) -> Result<()> {
        for init in &plan.init_plans {
            self.init_plan(init)?;
        }
        for p in &plan.all_params {
            self.exec_params = self.exec_params.max(*p as usize + 1);
        }
        Ok(())
    }

    /// What prunes the children of this append.
    pub fn prune(&mut self, id: u32, of: Option<&ir::AppendPrune>) -> Result<Option<Arc<Prune>>> {
        let prune = Prune::compile(self, of)?;
        self.prunes.extend(prune.clone().map(|p| (id, p)));
        Ok(prune)
    }

    /// Pool, log and transactions.
    pub fn storage(&self) -> Result<&Arc<Storage>> {
        self.storage.ok_or_else(|| Error::internal("tables cannot be read here"))
    }

    /// Whether rows may have to be checked again because others changed them.
    pub fn may_recheck(&self) -> bool {
        !self.stmt.row_marks.is_empty()
            || self.stmt.has_modifying_cte
            || matches!(self.stmt.command, CmdType::Update | CmdType::Delete | CmdType::Merge)
    }

    fn init_plan(&mut self, init: &ir::SubPlan) -> Result<()> {
        for p in &init.set_params {
            self.exec_params = self.exec_params.max(*p as usize + 1);
        }
        let sub = &self.stmt.subplans[init.plan as usize];
        let element = match init.kind {
            SubLinkKind::Array => {
                let t = self.ec.catalog.type_(init.ty)?;
                let ty = if t.is_array() { t.elem } else { init.ty };
                Some(Element::of_type(&self.ec, ty)?)
            }
            _ => None,
        };
        self.init_plans.push(InitPlan {
            kind: init.kind,
            plan: init.plan as usize,
            set_params: init.set_params.clone(),
            depends_on: sub.all_params.clone(),
            element,
            of_arrays: init.of_arrays,
        });
        Ok(())
    }

    fn spec(&mut self, plan: &Plan) -> Result<Arc<dyn NodeSpec>> {
        match &plan.node {
            PlanNode::Result(r) => node::result::compile(self, plan, r),
            PlanNode::ProjectSet => node::project_set::compile(self, plan),
            PlanNode::Append(a) => node::append::compile(self, plan, a),
            PlanNode::SubqueryScan(s) => node::subquery_scan::compile(self, plan, s),
            PlanNode::FunctionScan(f) => node::function_scan::compile(self, plan, f),
            PlanNode::ValuesScan(v) => node::values_scan::compile(self, plan, v),
            PlanNode::CteScan(s) => node::cte_scan::compile(self, plan, s),
            PlanNode::Hash(_) => Ok(node::material::pass(self.outer(plan)?)),
            PlanNode::Material => node::material::compile(self, plan),
            PlanNode::Limit(l) => node::limit::compile(self, plan, l),
            PlanNode::Gather(g) => node::gather::compile(self, plan, g),
            PlanNode::GatherMerge(g) => node::gather::compile_merge(self, plan, g),
            PlanNode::Sort(s) => node::sort::compile(self, plan, &s.keys, 0),
            PlanNode::IncrementalSort(s) => {
                node::sort::compile(self, plan, &s.keys, s.presorted as usize)
            }
            PlanNode::Unique(u) => node::unique::compile(self, plan, u),
            PlanNode::Group(g) => node::group::compile(self, plan, g),
            PlanNode::Agg(a) => node::agg::compile(self, plan, a),
            PlanNode::NestLoop(n) => node::nest_loop::compile(self, plan, n),
            PlanNode::MergeJoin(m) => node::merge_join::compile(self, plan, m),
            PlanNode::HashJoin(h) => node::hash_join::compile(self, plan, h),
            PlanNode::Memoize(m) => node::memoize::compile(self, plan, m),
            PlanNode::MergeAppend(a) => node::merge_append::compile(self, plan, a),
            PlanNode::RecursiveUnion(r) => node::recursive_union::compile(self, plan, r),
            PlanNode::WorkTableScan(s) => node::recursive_union::compile_scan(self, plan, s),
            PlanNode::SetOp(s) => node::set_op::compile(self, plan, s),
            PlanNode::WindowAgg(w) => node::window_agg::compile(self, plan, w),
            PlanNode::ModifyTable(m) => node::modify::compile(self, plan, m),
            PlanNode::LockRows(l) => node::lock_rows::compile(self, plan, l),
            PlanNode::SeqScan(s) => node::seq_scan::compile(self, plan, s),
            PlanNode::IndexScan(s) => node::index_scan::compile(self, plan, s),
            PlanNode::IndexOnlyScan(s) => node::index_only_scan::compile(self, plan, s),
            PlanNode::BitmapHeapScan(s) => node::bitmap::compile(self, plan, s),
            PlanNode::TidScan(s) => node::tid_scan::compile(self, plan, s),
            PlanNode::TidRangeScan(s) => node::tid_scan::compile_range(self, plan, s),
            PlanNode::SampleScan(s) => node::sample_scan::compile(self, plan, s),
            PlanNode::NamedTuplestoreScan(_) => Err(Error::unsupported("transition tables")),
            _ => Err(Error::unsupported("this kind of plan node")),
        }
    }

    /// The outer child.
    pub fn outer(&mut self, plan: &Plan) -> Result<Child> {
        match &plan.outer {
            Some(p) => self.node(p),
            None => Err(Error::internal("a plan node lacks its outer child")),
        }
    }

    /// The inner child.
    pub fn inner(&mut self, plan: &Plan) -> Result<Child> {
        match &plan.inner {
            Some(p) => self.node(p),
            None => Err(Error::internal("a plan node lacks its inner child")),
        }
    }

    /// A node's conditions and columns over an input.
    pub fn output(&mut self, plan: &Plan, map: &VarMap) -> Result<Output> {
        let qual: Qual = self.ec.qual(&plan.qual, map)?;
        Ok(Output::new(plan.id, qual, self.ec.targets(&plan.target, map)?))
    }
}
