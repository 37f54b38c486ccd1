//! Ways to compute a relation's rows, with their costs.

pub mod add;
pub mod append;
mod append_order;
mod gather;
pub mod index;
mod index_match;
pub mod join;
mod member;
mod merge_join;
mod partitionwise;
mod prune;
pub mod scan;

use crate::rel::{IndexInfo, PathKey, Restriction, Target};
use crate::relids::Relids;
use base::Oid;
use ir::{
    AggSplit, AggStrategy, Expr, JoinKind, ScanDirection, SetOpKind, SetOpStrategy,
    SortGroupClause, WindowClause,
};
use std::rc::Rc;

/// Conditions that many paths share.
pub type Conditions = Rc<[Rc<Restriction>]>;

/// One way to compute rows.
#[derive(Clone, Debug)]
pub struct Path {
    pub kind: PathKind,
    /// The relation that it is a path of.
    pub rel: usize,
    pub target: Rc<Target>,
    /// Relations whose columns it needs as params.
    pub param: Relids,
    pub rows: f64,
    pub startup: f64,
    pub total: f64,
    pub disabled: u32,
    pub pathkeys: Vec<PathKey>,
    /// Conditions applied, for a parameterised path: those moved down from joins.
    pub param_clauses: Vec<Rc<Restriction>>,
    /// Workers may run it.
    pub parallel_safe: bool,
    /// How many workers share its rows; 0 if each run gives them all.
    pub workers: u32,
}

/// A condition that an index can use.
#[derive(Clone, Debug)]
pub struct IndexClause {
    pub origin: Rc<Restriction>,
    /// The conditions for the index, with the index's column on the left.
    pub quals: Vec<Expr>,
    /// They keep more rows than the condition does.
    pub lossy: bool,
    /// Key column, from 0.
    pub column: usize,
}

#[derive(Clone, Debug)]
pub struct IndexPath {
    pub info: Rc<IndexInfo>,
    pub clauses: Vec<IndexClause>,
    pub only: bool,
    pub direction: ScanDirection,
    /// Cost of the index alone and share of the table's rows, for bitmaps.
    pub index_cost: f64,
    pub selectivity: f64,
}

/// Bitmaps of places, combined.
#[derive(Clone, Debug)]
pub enum BitmapTree {
    Index(Rc<IndexPath>),
    And { parts: Vec<BitmapTree>, cost: f64, selectivity: f64 },
    Or { parts: Vec<BitmapTree>, cost: f64, selectivity: f64 },
}

/// What join paths have in common.
#[derive(Clone, Debug)]
pub struct JoinPath {
    pub kind: JoinKind,
    pub inner_unique: bool,
    pub outer: Rc<Path>,
    pub inner: Rc<Path>,
    pub restrictions: Conditions,
}

#[derive(Clone, Debug)]
pub struct MergePath {
    pub join: JoinPath,
    pub clauses: Vec<Rc<Restriction>>,
    /// Sort the side first; empty if it comes sorted.
    pub outer_sort: Vec<PathKey>,
    pub inner_sort: Vec<PathKey>,
    pub materialize_inner: bool,
    pub skip_mark_restore: bool,
    pub keys: Vec<PathKey>,
}

#[derive(Clone, Debug)]
pub struct AggPath {
    pub sub: Rc<Path>,
    pub strategy: AggStrategy,
    pub split: AggSplit,
    pub groups: f64,
    pub clauses: Vec<SortGroupClause>,
    pub having: Vec<Expr>,
    /// Grouping sets: the sets of each phase, by sort-group reference.
    pub phases: Vec<SetPhase>,
}

/// Grouping sets computed in one go.
#[derive(Clone, Debug)]
pub struct SetPhase {
    pub strategy: AggStrategy,
    /// Columns in the order sorted by; for a hashed phase those of its one set.
    pub clauses: Vec<SortGroupClause>,
    pub set_lengths: Vec<u32>,
    pub groups: f64,
}

#[derive(Clone, Debug)]
pub enum PathKind {
    SeqScan,
    SampleScan,
    Index(Box<IndexPath>),
    Bitmap(BitmapTree),
    Tid(Vec<Expr>),
    TidRange(Vec<Expr>),
    Subquery,
    Function,
    Values,
    Cte {
        subplan: u32,
        param: u32,
    },
    WorkTable {
        param: u32,
    },
    /// One row, or none if the conditions do not hold.
    Result {
        quals: Vec<Expr>,
    },
    NestLoop(JoinPath),
    Merge(Box<MergePath>),
    Hash {
        join: JoinPath,
        clauses: Conditions,
        /// Workers build the hash table together.
        shared: bool,
    },
    Append {
        parts: Vec<Rc<Path>>,
        /// Workers take the parts up one by one; those before this one are run by one worker.
        shared_from: Option<usize>,
    },
    /// Parts that are each sorted, or are sorted first, merged.
    MergeAppend {
        parts: Vec<Rc<Path>>,
    },
    Gather {
        sub: Rc<Path>,
        workers: u32,
        single_copy: bool,
    },
    GatherMerge {
        sub: Rc<Path>,
        workers: u32,
    },
    /// Sorted, grouped or made unique by the output's columns, by position (set operations).
    SortColumns {
        sub: Rc<Path>,
        clauses: Vec<SortGroupClause>,
    },
    HashColumns {
        sub: Rc<Path>,
        clauses: Vec<SortGroupClause>,
        groups: f64,
    },
    UniqueColumns {
        sub: Rc<Path>,
        clauses: Vec<SortGroupClause>,
    },
    /// Conditions without columns, tested once before anything is read.
    Gate {
        sub: Rc<Path>,
        quals: Vec<Expr>,
    },
    Material(Rc<Path>),
    Memoize {
        sub: Rc<Path>,
        params: Vec<Expr>,
        ops: Vec<Oid>,
        single_row: bool,
        binary: bool,
        entries: f64,
    },
    /// Duplicates removed for a semijoin: by hashing, or by sorting.
    UniqueFor {
        sub: Rc<Path>,
        exprs: Vec<Expr>,
        ops: Vec<Oid>,
        hash: bool,
    },
    Projection(Rc<Path>),
    ProjectSet(Rc<Path>),
    Sort {
        sub: Rc<Path>,
        presorted: usize,
    },
    Group {
        sub: Rc<Path>,
        clauses: Vec<SortGroupClause>,
        having: Vec<Expr>,
    },
    Agg(Box<AggPath>),
    Window {
        sub: Rc<Path>,
        clause: Box<WindowClause>,
        top: bool,
        qual: Vec<Expr>,
    },
    Unique {
        sub: Rc<Path>,
        keys: usize,
    },
    SetOp {
        left: Rc<Path>,
        right: Rc<Path>,
        kind: SetOpKind,
        all: bool,
        strategy: SetOpStrategy,
        clauses: Vec<SortGroupClause>,
        groups: f64,
    },
    RecursiveUnion {
        left: Rc<Path>,
        right: Rc<Path>,
        clauses: Vec<SortGroupClause>,
        param: u32,
        groups: f64,
    },
    LockRows {
        sub: Rc<Path>,
        recheck_param: u32,
    },
    Limit {
        sub: Rc<Path>,
        offset: Option<Expr>,
        count: Option<Expr>,
        with_ties: bool,
    },
    Modify {
        sub: Rc<Path>,
        recheck_param: u32,
    },
}
