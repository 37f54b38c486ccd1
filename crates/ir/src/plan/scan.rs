//! Nodes that read tables, indexes, functions, values and other queries.

use crate::expr::Expr;
use crate::plan::Plan;
use crate::query::{RangeFunction, TableSample};
use base::Oid;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScanDirection {
    Forward,
    Backward,
}

/// All rows of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeqScan {
    /// Range-table index.
    pub scanrel: u32,
}

/// Some rows of a table, by TABLESAMPLE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleScan {
    pub scanrel: u32,
    pub sample: TableSample,
}

/// Rows of a table through an index, in the index's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexScan {
    pub scanrel: u32,
    pub index: Oid,
    /// Conditions on the index's columns: one side is a `Var` of
    /// [`INDEX_VAR`](crate::INDEX_VAR) with the index column's number from 1 (after
    /// commutation it is always the left), the other does not depend on this table.
    /// Forms: `Op`, `ScalarArrayOp`, `RowCompare`, `NullTest`.
    pub index_qual: Vec<Expr>,
    /// The same in terms of the table, as written: for EXPLAIN and re-checks.
    pub index_qual_orig: Vec<Expr>,
    /// Ordering operators (nearest neighbours), likewise.
    pub order_by: Vec<Expr>,
    pub order_by_orig: Vec<Expr>,
    pub order_by_ops: Vec<Oid>,
    pub direction: ScanDirection,
}

/// Columns of an index; the table is visited only where visibility is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexOnlyScan {
    pub scanrel: u32,
    pub index: Oid,
    pub index_qual: Vec<Expr>,
    /// For re-checks, in terms of `INDEX_VAR`.
    pub recheck_qual: Vec<Expr>,
    pub order_by: Vec<Expr>,
    /// The index's columns: target and qual refer to them by `INDEX_VAR`.
    pub index_target: Vec<crate::TargetEntry>,
    pub direction: ScanDirection,
}

/// Places of rows, by an index; below a bitmap heap scan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BitmapIndexScan {
    pub scanrel: u32,
    pub index: Oid,
    pub index_qual: Vec<Expr>,
    pub index_qual_orig: Vec<Expr>,
}

/// AND or OR of bitmaps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BitmapCombine {
    pub children: Vec<Plan>,
}

/// Rows at the places that the outer child gives, in the table's order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BitmapHeapScan {
    pub scanrel: u32,
    /// Condition to check again on pages that the bitmap only names as a whole.
    pub recheck_qual: Vec<Expr>,
}

/// Rows at given places: `ctid = x`, `ctid = ANY (...)`, CURRENT OF; any may match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TidScan {
    pub scanrel: u32,
    pub tid_quals: Vec<Expr>,
}

/// Rows between places: comparisons of ctid, all of which must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TidRangeScan {
    pub scanrel: u32,
    pub tid_quals: Vec<Expr>,
}

/// Rows of a subquery that was planned for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubqueryScan {
    pub scanrel: u32,
    pub subplan: Box<Plan>,
}

/// Rows that functions give, side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionScan {
    pub scanrel: u32,
    pub functions: Vec<RangeFunction>,
    pub ordinality: bool,
}

/// Rows of a VALUES list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValuesScan {
    pub scanrel: u32,
    pub lists: Vec<Vec<Expr>>,
}

/// Rows of a CTE's plan, which several scans share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CteScan {
    pub scanrel: u32,
    /// Index into the statement's subplans.
    pub subplan: u32,
    /// Exec param that stands for the CTE's state.
    pub param: u32,
}

/// Rows that the last round of a recursion gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkTableScan {
    pub scanrel: u32,
    /// Exec param of the recursive union.
    pub param: u32,
}

/// Rows of a trigger's transition table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedTuplestoreScan {
    pub scanrel: u32,
    pub name: String,
}
