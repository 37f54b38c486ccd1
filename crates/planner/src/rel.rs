//! What the planner knows while it works: relations, their conditions, paths.

use crate::cost::EvalCost;
use crate::path::Path;
use crate::relids::Relids;
use base::Oid;
use catalog::partition::BoundKind;
use catalog::{IndexDesc, RelationDesc};
use foldhash::HashMap;
use ir::{Expr, JoinKind, Plan};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Columns that a path gives, with what sort and group clauses call them (0: nothing).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    pub exprs: Vec<Expr>,
    pub refs: Vec<u32>,
    /// Evaluation cost: at start and per row.
    pub cost: (f64, f64),
    /// Bytes of a row.
    pub width: i32,
}

impl Target {
    /// Adds an expression unless it is there; a reference is merged in.
    pub fn add(&mut self, expr: Expr, sort_group_ref: u32) {
        for (e, r) in self.exprs.iter().zip(&mut self.refs) {
            if *e == expr && (*r == 0 || sort_group_ref == 0 || *r == sort_group_ref) {
                *r = (*r).max(sort_group_ref);
                return;
            }
        }
        self.exprs.push(expr);
        self.refs.push(sort_group_ref);
    }
}

/// A condition and what is known of it.
#[derive(Debug)]
pub struct Restriction {
    pub clause: Expr,
    /// Tables it mentions.
    pub clause_relids: Relids,
    /// Tables that must be joined before it can be tested.
    pub required: Relids,
    /// From a WHERE (or inner join) rather than the ON of the outer join it stands in.
    pub pushed_down: bool,
    /// Tables on the nullable sides below an outer join whose ON it stands in; for rank.
    pub outer_relids: Relids,
    /// Mentions no column at all (or only volatile ones must be kept).
    pub pseudoconstant: bool,
    /// `left op right` with tables on either side.
    pub left_relids: Relids,
    pub right_relids: Relids,
    pub can_join: bool,
    /// B-tree families in which the operator is equality, if it can be merge-joined.
    pub merge_families: Vec<Oid>,
    /// The operator, if it can be hash-joined.
    pub hash_op: Oid,
    /// Equivalence classes of the two sides, if merge-joinable.
    pub left_ec: Cell<Option<usize>>,
    pub right_ec: Cell<Option<usize>>,
    /// It was made from this equivalence class.
    pub parent_ec: Option<usize>,
    /// Leaky and below a security barrier: higher is later.
    pub security_level: u32,
    pub selectivity: Cell<f64>,
    pub outer_selectivity: Cell<f64>,
    /// Cost of testing it, once that was asked for.
    pub cost: Cell<Option<EvalCost>>,
    pub serial: u32,
    /// The serial of the condition over parents that this is the form of for some members;
    /// its own if it is no such form.
    pub origin: u32,
}

/// A member of an equivalence class.
#[derive(Clone, Debug)]
pub struct EcMember {
    pub expr: Expr,
    pub relids: Relids,
    pub is_const: bool,
    pub ty: Oid,
}

/// Expressions that must all be equal.
#[derive(Clone, Debug, Default)]
pub struct EquivalenceClass {
    pub families: Vec<Oid>,
    pub collation: Oid,
    pub members: Vec<EcMember>,
    /// The members' forms over members of inheritance trees: they name orders of scans, and are
    /// no source of conditions.
    pub of_children: Vec<EcMember>,
    pub sources: Vec<Rc<Restriction>>,
    pub derived: Vec<Rc<Restriction>>,
    pub relids: Relids,
    pub has_const: bool,
    pub has_volatile: bool,
    /// Came from an ordering only, not from an equality.
    pub broken: bool,
    /// It was merged into this one.
    pub merged: Option<usize>,
    pub sort_ref: u32,
    /// It is of values that grouping sets have made NULLs of, unlike the columns that they are
    /// written as.
    pub above_sets: bool,
}

/// One sort column of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathKey {
    /// Canonical equivalence class.
    pub ec: usize,
    pub family: Oid,
    pub descending: bool,
    pub nulls_first: bool,
}

/// An outer, semi or anti join that restricts the order of joins.
#[derive(Clone, Debug)]
pub struct SpecialJoin {
    pub kind: JoinKind,
    pub min_left: Relids,
    pub min_right: Relids,
    pub syn_left: Relids,
    pub syn_right: Relids,
    /// The condition is strict for the left side.
    pub lhs_strict: bool,
    /// A condition that is not its own had to wait for it: joins above must leave it whole.
    pub delays_upper: bool,
    /// For a semijoin: the equality operators and right expressions, if it can be made unique.
    pub semi_ops: Vec<Oid>,
    pub semi_rhs: Vec<Expr>,
    pub semi_can_hash: bool,
    pub semi_can_btree: bool,
}

/// An index as the planner sees it.
#[derive(Debug)]
pub struct IndexInfo {
    pub desc: Arc<IndexDesc>,
    /// Keys and included columns in terms of the table.
    pub columns: Vec<Expr>,
    pub predicate: Vec<Expr>,
    /// The query implies the predicate.
    pub predicate_ok: bool,
    pub pages: f64,
    pub tuples: f64,
    pub height: i32,
    pub is_btree: bool,
}

/// Statistics of several columns of a table, or of expressions, as the planner sees them.
#[derive(Debug)]
pub struct ExtendedInfo {
    pub desc: Arc<catalog::ExtendedStatisticDesc>,
    /// The expressions in terms of the table.
    pub exprs: Vec<Expr>,
}

/// What a base relation is.
#[derive(Clone, Debug)]
pub enum BaseKind {
    Table(Arc<RelationDesc>),
    /// An inheritance tree, whose members are other relations.
    AppendRel(Arc<RelationDesc>),
    /// A UNION ALL, whose members are other relations.
    UnionAll,
    Subquery(Rc<SubqueryInfo>),
    Function,
    Values,
    Cte(Rc<CteInfo>),
    WorkTable(u32),
    Result,
    /// A join of others.
    Join,
    /// The steps above joins.
    Upper,
}

/// A subquery that has been planned for itself.
#[derive(Debug)]
pub struct SubqueryInfo {
    pub plan: Plan,
    pub rtable: Vec<ir::Rte>,
    /// Sort order of its output, as columns: column, operator family, descending, nulls first.
    pub order: Vec<(i16, Oid, bool, bool)>,
    /// Sets of columns that are unique together.
    pub unique_columns: Vec<Vec<i16>>,
}

/// A CTE that has been planned.
#[derive(Debug, Clone)]
pub struct CteInfo {
    pub subplan: u32,
    pub param: u32,
    pub rows: f64,
}

/// A base relation, a join of some, or an upper step.
#[derive(Debug)]
pub struct Rel {
    pub relids: Relids,
    pub kind: BaseKind,
    /// For base relations.
    pub rtindex: u32,
    pub rows: f64,
    pub target: Rc<Target>,
    pub paths: Vec<Rc<Path>>,
    /// Paths of which each worker computes a part, the cheapest first.
    pub partial: Vec<Rc<Path>>,
    /// Workers may compute it.
    pub parallel: bool,
    pub cheapest_startup: Option<Rc<Path>>,
    pub cheapest_total: Option<Rc<Path>>,
    /// Cheapest for each parameterisation.
    pub cheapest_params: Vec<Rc<Path>>,
    pub pages: f64,
    pub tuples: f64,
    pub all_visible_fraction: f64,
    pub indexes: Vec<Rc<IndexInfo>>,
    /// Statistics of several of its columns together.
    pub extended: Vec<Rc<ExtendedInfo>>,
    pub restrictions: Vec<Rc<Restriction>>,
    /// Conditions that mention other relations too.
    pub join_info: Vec<Rc<Restriction>>,
    pub has_ec_joins: bool,
    /// Relations whose columns it refers to by LATERAL.
    pub lateral: Relids,
    /// Attribute numbers of its columns that are needed, with the relations that need them
    /// (index 0: the final output).
    pub needed: HashMap<i16, Relids>,
    /// Known to give nothing.
    pub dummy: bool,
    /// For an inheritance tree: members that have rows of their own.
    pub children: Vec<u32>,
    /// For an inheritance tree, or a level of partitions in one: the relations right below.
    pub direct: Vec<usize>,
    /// For a member of an inheritance tree or a UNION ALL: the table or union at the top.
    pub parent: Option<u32>,
    /// For an inheritance tree: how wide columns are, by what the members know.
    pub widths: HashMap<i16, i32>,
    /// That one and those between.
    pub ancestors: Vec<u32>,
    /// For a member of a UNION ALL: what the union's columns are here.
    pub columns: Option<Rc<[Expr]>>,
    /// How its rows are divided, if they are.
    pub partitioned: Option<Rc<Partitioned>>,
    /// It may be joined partition by partition.
    pub by_partition: bool,
}

/// What must be the same for two relations to be joined partition by partition.
pub struct Scheme {
    pub strategy: u8,
    /// Of each key column.
    pub families: Vec<Oid>,
    pub types: Vec<Oid>,
    pub collations: Vec<Oid>,
    /// Compares values of the key.
    pub partitioning: catalog::partition::Partitioning,
}

impl std::fmt::Debug for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scheme").field("families", &self.families).finish_non_exhaustive()
    }
}

/// How a relation's rows are divided into partitions.
#[derive(Clone, Debug)]
pub struct Partitioned {
    pub scheme: Rc<Scheme>,
    /// For each key column: expressions that are the key's value.
    pub keys: Vec<Vec<Expr>>,
    /// The same, but null in rows that an outer join made up.
    pub nullable_keys: Vec<Vec<Expr>>,
    pub bounds: Vec<BoundKind>,
    /// The partitions in the order of the bounds; None: nothing in it is wanted.
    pub parts: Vec<Option<usize>>,
}

/// A reference from a subquery to its parent query's column: by exec param.
#[derive(Clone, Debug, PartialEq)]
pub struct OuterRef {
    pub param: u32,
    pub expr: Expr,
}

/// An expression of outer relations that a nested loop's inner side reads as a param.
#[derive(Clone, Debug)]
pub struct NestVar {
    pub expr: Expr,
    pub param: u32,
}
