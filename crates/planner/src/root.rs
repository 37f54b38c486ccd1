//! What planning one query level works with.

use crate::rel::{
    BaseKind, CteInfo, EquivalenceClass, NestVar, OuterRef, PathKey, Rel, SpecialJoin, Target,
};
use crate::relids::Relids;
use crate::selectivity::{ColumnPair, Common};
use crate::settings::PlannerSettings;
use base::{Oid, Result};
use catalog::{CatalogView, RelationDesc, StatisticDesc};
use foldhash::HashMap;
use ir::{Expr, Plan, PlanRowMark, Query, Rte, SubPlan};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use types::Datum;

/// Computes constant expressions; the executor's row evaluator, given by the engine.
pub trait ConstEvaluator {
    /// The value of an expression without columns, params or aggregates.
    fn evaluate(&self, expr: &Expr) -> Result<Datum>;
}

/// Present sizes of relations, which the catalogs know only from the last VACUUM.
pub trait RelationSizes {
    /// Pages of the main fork now.
    fn pages(&self, relation: &RelationDesc) -> Result<u32>;
    /// Pages of an index's main fork now.
    fn index_pages(&self, index: &catalog::IndexDesc) -> Result<u32>;
    /// Levels of a B-tree above its leaves, if known cheaply.
    fn tree_height(&self, index: &catalog::IndexDesc) -> Option<u32>;
}

/// What the planner is given besides the query.
pub struct Env<'a> {
    pub catalog: &'a CatalogView,
    pub settings: &'a PlannerSettings,
    pub evaluator: &'a dyn ConstEvaluator,
    pub sizes: &'a dyn RelationSizes,
    /// Values of `$n`, if known.
    pub params: Option<&'a [Datum]>,
    /// The plan is for these values only (a custom plan).
    pub fold_params: bool,
    /// Share of the rows that will be fetched; 0 is all.
    pub tuple_fraction: f64,
    /// The statement is run at one go, so that it may have workers.
    pub parallel_ok: bool,
    /// What functions in SQL do; None: they are called.
    pub bodies: Option<&'a dyn crate::prep::inline::FunctionBodies>,
    /// Notes what the plan is chosen by.
    pub watch: Option<&'a crate::watch::Watch>,
}

/// What all levels of a statement share.
#[derive(Default)]
pub struct Global {
    pub subplans: Vec<Plan>,
    /// Range table of each subplan, before it is appended to the statement's.
    pub subplan_rtables: Vec<(Vec<Rte>, Vec<PlanRowMark>)>,
    pub exec_param_types: Vec<Oid>,
    pub relation_oids: Vec<Oid>,
    pub object_oids: Vec<(Oid, Oid)>,
    pub last_row_mark: u32,
    pub subplan_names: u32,
    pub restriction_serial: u32,
    pub parallel_used: bool,
    /// The statement may have workers.
    pub parallel_ok: bool,
    /// Nothing in it has to be done by the leader.
    pub all_safe: bool,
    /// Params that init plans make: the leader computes them before workers start.
    pub init_params: Vec<u32>,
}

impl Global {
    /// A new exec param of this type.
    pub fn new_param(&mut self, ty: Oid) -> u32 {
        self.exec_param_types.push(ty);
        self.exec_param_types.len() as u32 - 1
    }
}

/// Shares of the outer side before which nothing and after which nothing more is read, and of the
/// inner side.
pub type MergeEnds = (f64, f64, f64, f64);

/// One query level while it is planned.
pub struct Root<'e> {
    pub env: &'e Env<'e>,
    pub global: &'e RefCell<Global>,
    pub query: Query,
    pub rels: Vec<Rel>,
    /// Relation by range-table index.
    pub base: Vec<Option<usize>>,
    pub join_map: HashMap<Relids, usize>,
    /// Statistics that were looked up, by relation, column and whether children are in them.
    statistics: RefCell<HashMap<(Oid, i16, bool), Option<Arc<StatisticDesc>>>>,
    /// Which of the commonest values of two columns are equal.
    pub common_values: RefCell<Vec<(ColumnPair, Common)>>,
    /// Which parts of its sides a merge by a condition reads, by the condition's serial and
    /// whether its left operand is the outer one.
    pub merge_ends: RefCell<Vec<((u32, bool), MergeEnds)>>,
    /// Orders are being noted of rows that grouping sets have made.
    pub above_sets: bool,
    /// Some base relation is a member of an inheritance tree or a UNION ALL.
    pub has_members: bool,
    pub ecs: Vec<EquivalenceClass>,
    pub special: Vec<SpecialJoin>,
    pub all_base: Relids,
    /// On the nullable side of some outer join.
    pub nullable: Relids,
    /// The nullable sides of all outer joins.
    pub nullable_sides: Vec<Relids>,
    pub tuple_fraction: f64,
    pub limit_tuples: f64,
    /// The order of groups, and then the one that aggregates want within them.
    pub group_pathkeys: Vec<PathKey>,
    /// How many of them are of the groups.
    pub group_key_count: usize,
    pub distinct_pathkeys: Vec<PathKey>,
    pub sort_pathkeys: Vec<PathKey>,
    pub window_pathkeys: Vec<PathKey>,
    pub query_pathkeys: Vec<PathKey>,
    pub init_plans: Vec<SubPlan>,
    /// Exec params that stand for columns of nested loops' outer sides.
    pub nest_vars: Vec<NestVar>,
    pub cur_outer: Relids,
    /// References of lateral subqueries to siblings: by range-table index of the subquery.
    pub lateral_refs: HashMap<u32, Vec<OuterRef>>,
    pub ctes: HashMap<String, Rc<CteInfo>>,
    pub parent_ctes: Vec<HashMap<String, Rc<CteInfo>>>,
    /// Inside WITH RECURSIVE: the param of the work table, its rows and width.
    pub work_table: Option<(u32, f64, i32)>,
    pub row_marks: Vec<PlanRowMark>,
    /// HAVING parts and quals after splitting.
    pub having: Vec<Expr>,
    /// Target list of the query after preprocessing.
    pub processed: Vec<ir::TargetEntry>,
    pub update_columns: Vec<i16>,
    pub has_pseudoconstant: bool,
    /// Values of multiple assignments from a subselect: number of the sublink, its columns.
    pub multi_values: Vec<(u32, Vec<ir::Expr>)>,
}

impl<'e> Root<'e> {
    /// What is known of a column's values; looked up once.
    pub fn statistic(
        &self,
        relation: Oid,
        attnum: i16,
        inherited: bool,
    ) -> Result<Option<Arc<StatisticDesc>>> {
        let key = (relation, attnum, inherited);
        if let Some(known) = self.statistics.borrow().get(&key) {
            return Ok(known.clone());
        }
        let found = self.env.catalog.statistic(relation, attnum, inherited)?;
        self.statistics.borrow_mut().insert(key, found.clone());
        Ok(found)
    }

    /// The state for a query about to be planned.
    pub fn new(env: &'e Env<'e>, global: &'e RefCell<Global>, query: Query) -> Root<'e> {
        Root {
            env,
            global,
            query,
            rels: Vec::new(),
            base: Vec::new(),
            join_map: HashMap::default(),
            statistics: RefCell::default(),
            common_values: RefCell::default(),
            merge_ends: RefCell::default(),
            above_sets: false,
            has_members: false,
            ecs: Vec::new(),
            special: Vec::new(),
            all_base: Relids::empty(),
            nullable: Relids::empty(),
            nullable_sides: Vec::new(),
            tuple_fraction: 0.0,
            limit_tuples: -1.0,
            group_pathkeys: Vec::new(),
            group_key_count: 0,
            distinct_pathkeys: Vec::new(),
            sort_pathkeys: Vec::new(),
            window_pathkeys: Vec::new(),
            query_pathkeys: Vec::new(),
            init_plans: Vec::new(),
            nest_vars: Vec::new(),
            cur_outer: Relids::empty(),
            lateral_refs: HashMap::default(),
            ctes: HashMap::default(),
            parent_ctes: Vec::new(),
            work_table: None,
            row_marks: Vec::new(),
            having: Vec::new(),
            processed: Vec::new(),
            update_columns: Vec::new(),
            has_pseudoconstant: false,
            multi_values: Vec::new(),
        }
    }

    /// The base relation of a range-table index.
    pub fn base_rel(&self, rtindex: u32) -> Option<&Rel> {
        self.base.get(rtindex as usize).copied().flatten().map(|i| &self.rels[i])
    }

    /// The base relation of a range-table index, to change.
    pub fn base_rel_mut(&mut self, rtindex: u32) -> Option<&mut Rel> {
        let i = self.base.get(rtindex as usize).copied().flatten()?;
        Some(&mut self.rels[i])
    }

    /// Adds an empty relation and gives its place.
    pub fn add_rel(&mut self, kind: BaseKind, relids: Relids, rtindex: u32) -> usize {
        self.rels.push(Rel {
            relids,
            kind,
            rtindex,
            rows: 0.0,
            target: Rc::new(Target::default()),
            paths: Vec::new(),
            partial: Vec::new(),
            parallel: false,
            cheapest_startup: None,
            cheapest_total: None,
            cheapest_params: Vec::new(),
            pages: 0.0,
            tuples: 0.0,
            all_visible_fraction: 0.0,
            indexes: Vec::new(),
            extended: Vec::new(),
            restrictions: Vec::new(),
            join_info: Vec::new(),
            has_ec_joins: false,
            lateral: Relids::empty(),
            needed: HashMap::default(),
            dummy: false,
            children: Vec::new(),
            direct: Vec::new(),
            parent: None,
            ancestors: Vec::new(),
            widths: HashMap::default(),
            columns: None,
            partitioned: None,
            by_partition: false,
        });
        self.rels.len() - 1
    }

    /// The canonical class of a class that may have been merged.
    pub fn canonical_ec(&self, mut ec: usize) -> usize {
        while let Some(into) = self.ecs[ec].merged {
            ec = into;
        }
        ec
    }

    /// Range-table indexes that an expression's columns are of.
    pub fn relids_of(&self, expr: &Expr) -> Relids {
        let mut set = Relids::empty();
        ir::walk::each(expr, &mut |e| match e {
            Expr::Var(v) if v.levels_up == 0 => set.add(v.varno),
            Expr::CurrentOf { varno, .. } => set.add(*varno),
            _ => {}
        });
        set
    }

    /// A serial number for a restriction.
    pub fn next_serial(&self) -> u32 {
        let mut g = self.global.borrow_mut();
        g.restriction_serial += 1;
        g.restriction_serial
    }
}
