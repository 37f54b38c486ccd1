//! What planning makes: a tree of nodes with PostgreSQL's shapes and costs.
//!
//! Columns in a node's expressions are [`Var`](crate::Var)s: of scans by range-table index,
//! above scans by [`OUTER_VAR`](crate::OUTER_VAR) and [`INNER_VAR`](crate::INNER_VAR) with
//! the position in the child's target list as attribute number.

mod join;
mod modify;
mod scan;
mod shape;

pub use join::*;
pub use modify::*;
pub use scan::*;
pub use shape::*;

use crate::expr::{Expr, SubPlan, TargetEntry};
use crate::query::{CmdType, Rte, RteKind};
use base::Oid;
use serde::{Deserialize, Serialize};

/// A planned statement. Read-only: state of a run lives in the executor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedStmt {
    pub command: CmdType,
    pub has_returning: bool,
    pub has_modifying_cte: bool,
    pub can_set_tag: bool,
    pub plan: Plan,
    /// Range tables of all its queries, one after another.
    pub rtable: Vec<Rte>,
    /// Range-table indexes of the tables that it modifies.
    pub result_relations: Vec<u32>,
    /// Plans that `SubPlan`s refer to, by index.
    pub subplans: Vec<Plan>,
    pub row_marks: Vec<PlanRowMark>,
    /// Relations that it depends on: a change of one makes the plan stale.
    pub relation_oids: Vec<Oid>,
    /// Functions and types that it depends on.
    pub object_oids: Vec<(Oid, Oid)>,
    /// Types of the exec params, by id.
    pub exec_param_types: Vec<Oid>,
    pub parallel_mode_needed: bool,
    /// It may depend on the current user (row security).
    pub depends_on_role: bool,
}

impl PlannedStmt {
    /// True if running it may change rows.
    pub fn writes(&self) -> bool {
        self.command != CmdType::Select || self.has_modifying_cte
    }

    /// True if a node of it reads or changes this table, or reads this index.
    pub fn uses(&self, relation: Oid) -> bool {
        let is = |n: &u32| {
            let rte = self.rtable.get(*n as usize - 1);
            matches!(rte.map(|r| &r.kind),
                Some(RteKind::Relation { relid, .. }) if *relid == relation)
        };
        let mut left: Vec<&Plan> = self.subplans.iter().chain([&self.plan]).collect();
        while let Some(plan) = left.pop() {
            let (table, index) = plan.node.scans();
            if table.as_ref().is_some_and(is) || index == Some(relation) {
                return true;
            }
            left.extend(plan.children());
        }
        self.result_relations.iter().any(is)
    }

    /// A query of this plan that names no table.
    pub fn select(plan: Plan) -> PlannedStmt {
        PlannedStmt {
            command: CmdType::Select,
            has_returning: false,
            has_modifying_cte: false,
            can_set_tag: true,
            plan,
            rtable: Vec::new(),
            result_relations: Vec::new(),
            subplans: Vec::new(),
            row_marks: Vec::new(),
            relation_oids: Vec::new(),
            object_oids: Vec::new(),
            exec_param_types: Vec::new(),
            parallel_mode_needed: false,
            depends_on_role: false,
        }
    }
}

/// A node of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub node: PlanNode,
    /// Cost before the first row, and for all rows, in PostgreSQL's units.
    pub startup_cost: f64,
    pub total_cost: f64,
    /// Expected rows, and their width in bytes.
    pub rows: f64,
    pub width: i32,
    /// How many nodes of it are of kinds that settings disable.
    pub disabled_nodes: u32,
    pub parallel_aware: bool,
    pub parallel_safe: bool,
    /// Unique within the statement, from 0.
    pub id: u32,
    /// The columns that the node gives.
    pub target: Vec<TargetEntry>,
    /// Conditions, all of which must hold.
    pub qual: Vec<Expr>,
    pub outer: Option<Box<Plan>>,
    pub inner: Option<Box<Plan>>,
    /// Subplans that run once, when first asked for.
    pub init_plans: Vec<SubPlan>,
    /// Exec params whose change makes the node (or those below it) run anew.
    pub all_params: Vec<u32>,
}

impl Plan {
    /// A node without children, costs or columns.
    pub fn new(node: PlanNode) -> Plan {
        Plan {
            node,
            startup_cost: 0.0,
            total_cost: 0.0,
            rows: 0.0,
            width: 0,
            disabled_nodes: 0,
            parallel_aware: false,
            parallel_safe: false,
            id: 0,
            target: Vec::new(),
            qual: Vec::new(),
            outer: None,
            inner: None,
            init_plans: Vec::new(),
            all_params: Vec::new(),
        }
    }

    /// All children: outer, inner, then those of Append and its kind and of SubqueryScan.
    pub fn children(&self) -> Vec<&Plan> {
        let mut all: Vec<&Plan> = Vec::new();
        all.extend(self.outer.as_deref());
        all.extend(self.inner.as_deref());
        match &self.node {
            PlanNode::Append(a) => all.extend(&a.children),
            PlanNode::MergeAppend(a) => all.extend(&a.children),
            PlanNode::BitmapAnd(b) | PlanNode::BitmapOr(b) => all.extend(&b.children),
            PlanNode::SubqueryScan(s) => all.push(&s.subplan),
            _ => {}
        }
        all
    }

    /// The same, to change.
    pub fn children_mut(&mut self) -> Vec<&mut Plan> {
        let mut all: Vec<&mut Plan> = Vec::new();
        all.extend(self.outer.as_deref_mut());
        all.extend(self.inner.as_deref_mut());
        match &mut self.node {
            PlanNode::Append(a) => all.extend(&mut a.children),
            PlanNode::MergeAppend(a) => all.extend(&mut a.children),
            PlanNode::BitmapAnd(b) | PlanNode::BitmapOr(b) => all.extend(&mut b.children),
            PlanNode::SubqueryScan(s) => all.push(&mut s.subplan),
            _ => {}
        }
        all
    }
}

/// What a node does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PlanNode {
    Result(Result_),
    ProjectSet,
    ModifyTable(Box<ModifyTable>),
    Append(Append),
    MergeAppend(MergeAppend),
    RecursiveUnion(RecursiveUnion),
    BitmapAnd(BitmapCombine),
    BitmapOr(BitmapCombine),
    SeqScan(SeqScan),
    SampleScan(SampleScan),
    IndexScan(Box<IndexScan>),
    IndexOnlyScan(Box<IndexOnlyScan>),
    BitmapIndexScan(Box<BitmapIndexScan>),
    BitmapHeapScan(BitmapHeapScan),
    TidScan(TidScan),
    TidRangeScan(TidRangeScan),
    SubqueryScan(SubqueryScan),
    FunctionScan(FunctionScan),
    ValuesScan(ValuesScan),
    CteScan(CteScan),
    WorkTableScan(WorkTableScan),
    NamedTuplestoreScan(NamedTuplestoreScan),
    NestLoop(NestLoop),
    MergeJoin(Box<MergeJoin>),
    HashJoin(HashJoin),
    Hash(Hash),
    Material,
    Memoize(Memoize),
    Sort(Sort),
    IncrementalSort(IncrementalSort),
    Group(Group),
    Agg(Box<Agg>),
    WindowAgg(Box<WindowAgg>),
    Unique(Unique),
    SetOp(SetOp),
    LockRows(LockRows),
    Limit(Limit),
    Gather(Gather),
    GatherMerge(GatherMerge),
}

impl PlanNode {
    /// The range-table index of the table and the index that a node scans.
    pub fn scans(&self) -> (Option<u32>, Option<Oid>) {
        match self {
            PlanNode::SeqScan(s) => (Some(s.scanrel), None),
            PlanNode::SampleScan(s) => (Some(s.scanrel), None),
            PlanNode::BitmapHeapScan(s) => (Some(s.scanrel), None),
            PlanNode::TidScan(s) => (Some(s.scanrel), None),
            PlanNode::TidRangeScan(s) => (Some(s.scanrel), None),
            PlanNode::IndexScan(s) => (Some(s.scanrel), Some(s.index)),
            PlanNode::IndexOnlyScan(s) => (Some(s.scanrel), Some(s.index)),
            PlanNode::BitmapIndexScan(s) => (Some(s.scanrel), Some(s.index)),
            _ => (None, None),
        }
    }
}
