//! Nodes that order, group, combine and limit rows.

use crate::expr::{AggSplit, Expr};
use crate::plan::Plan;
use crate::query::{SetOpKind, WindowFrame};
use base::Oid;
use serde::{Deserialize, Serialize};

/// One row of constants, or the child's rows if the constant conditions hold.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Result_ {
    /// Conditions that do not depend on the rows.
    pub constant_qual: Vec<Expr>,
}

/// A sort column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SortKey {
    /// Position in the target list, from 1.
    pub column: i16,
    /// `<` or `>` of the type.
    pub op: Oid,
    pub collation: Oid,
    pub descending: bool,
    pub nulls_first: bool,
}

/// Compared for equality.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupKey {
    /// Position in the outer child's target list, from 1.
    pub column: i16,
    pub eq_op: Oid,
    pub collation: Oid,
}

/// Its children's rows, one child after another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Append {
    pub children: Vec<Plan>,
    /// The range-table indexes of the parents that it expands.
    pub parents: Vec<u32>,
    /// Of the members that the first child reads: their entries and those of their parents, whose
    /// names are shown for them above.
    pub members: Vec<(u32, u32)>,
    /// Children before this one are not parallel-aware themselves.
    pub first_partial: u32,
    pub prune: Option<Box<AppendPrune>>,
}

/// What rules out children of an append once the values in it are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AppendPrune {
    /// The partitioned table's entry, as the conditions name its columns.
    pub varno: u32,
    pub clauses: Vec<Expr>,
    /// The partitioned tables of the tree and their keys, in the terms of the conditions.
    pub tables: Vec<(Oid, Vec<Expr>)>,
    /// Of each child, from it up: the table (by position) that it is a partition of, and which.
    /// None for a child that is always run.
    pub children: Vec<Vec<(u32, Oid)>>,
}

/// Its sorted children's rows, merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeAppend {
    pub children: Vec<Plan>,
    pub parents: Vec<u32>,
    pub members: Vec<(u32, u32)>,
    pub keys: Vec<SortKey>,
    pub prune: Option<Box<AppendPrune>>,
}

/// WITH RECURSIVE: outer is the first term, inner the recursive one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecursiveUnion {
    /// Exec param by which the work table scans find it.
    pub param: u32,
    /// For UNION without ALL: all columns.
    pub keys: Vec<GroupKey>,
    pub num_groups: f64,
}

/// The outer child's rows by sort order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sort {
    pub keys: Vec<SortKey>,
}

/// The outer child's rows come sorted by the first columns already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IncrementalSort {
    pub keys: Vec<SortKey>,
    pub presorted: u32,
}

/// Inner results are kept by the values of their params.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memoize {
    pub hash_ops: Vec<Oid>,
    pub collations: Vec<Oid>,
    pub params: Vec<Expr>,
    pub single_row: bool,
    pub binary_mode: bool,
    pub est_entries: f64,
}

/// One row a group, without aggregates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    pub keys: Vec<GroupKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AggStrategy {
    /// One group.
    Plain,
    /// Rows come sorted by the group columns.
    Sorted,
    Hashed,
    /// Grouping sets by both.
    Mixed,
}

/// Further grouping sets that an Agg computes in another order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AggPhase {
    pub strategy: AggStrategy,
    pub keys: Vec<GroupKey>,
    /// For each set, how many of `keys` (from the first) it has: all sets of a phase nest.
    pub set_lengths: Vec<u32>,
    /// How to sort the input for this phase; empty for a hashed one.
    pub sort: Vec<SortKey>,
    pub num_groups: f64,
}

/// Aggregation. Aggregates stand in `target` and `qual`; their arguments' columns are of
/// `OUTER_VAR`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agg {
    pub strategy: AggStrategy,
    pub split: AggSplit,
    pub keys: Vec<GroupKey>,
    pub num_groups: f64,
    /// Grouping sets of the first phase: lengths of prefixes of `keys`; empty if none.
    pub set_lengths: Vec<u32>,
    /// Further phases for other grouping sets.
    pub chain: Vec<AggPhase>,
}

/// Window functions over the outer child's rows, sorted by partition and order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowAgg {
    /// The window's name, for EXPLAIN.
    pub name: String,
    /// `ref_` of the window; only its functions are computed here.
    pub window: u32,
    pub partition: Vec<GroupKey>,
    pub order: Vec<GroupKey>,
    pub frame: WindowFrame,
    /// Conditions under which later rows of a partition cannot matter.
    pub run_condition: Vec<Expr>,
    /// The same as written, for EXPLAIN.
    pub run_condition_orig: Vec<Expr>,
    pub top_window: bool,
}

/// The first of each run of equal rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unique {
    pub keys: Vec<GroupKey>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetOpStrategy {
    Sorted,
    Hashed,
}

/// INTERSECT or EXCEPT of outer and inner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetOp {
    pub kind: SetOpKind,
    pub all: bool,
    pub strategy: SetOpStrategy,
    pub keys: Vec<SortKey>,
    pub eq_ops: Vec<Oid>,
    pub num_groups: f64,
}

/// LIMIT and OFFSET.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    pub offset: Option<Expr>,
    pub count: Option<Expr>,
    pub with_ties: bool,
    /// For WITH TIES: the sort columns.
    pub ties: Vec<GroupKey>,
}

/// Rows of workers that run the outer child together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gather {
    pub workers: u32,
    pub single_copy: bool,
    /// Params to be computed before the workers start.
    pub init_params: Vec<u32>,
}

/// Sorted rows of workers, merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatherMerge {
    pub workers: u32,
    pub keys: Vec<SortKey>,
    pub init_params: Vec<u32>,
}
