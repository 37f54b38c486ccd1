//! Nodes that change or lock rows.

use crate::expr::{Expr, TargetEntry};
use crate::query::{CmdType, ConflictAction, LockStrength, LockWait, MergeAction, WithCheckOption};
use base::Oid;
use serde::{Deserialize, Serialize};

/// How a row is marked for locking or for a later re-check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowMarkKind {
    Lock(LockStrength),
    /// Not locked; found again by its place for a re-check.
    Reference,
    /// Not locked; the whole row is carried along.
    Copy,
}

/// A range-table entry whose rows are locked, or needed for re-checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRowMark {
    pub rtindex: u32,
    /// The parent for an inheritance child; else the same as `rtindex`.
    pub parent: u32,
    /// Unique number, the `N` of the junk columns `ctidN`, `tableoidN`, `wholerowN`.
    pub id: u32,
    pub kind: RowMarkKind,
    pub wait: LockWait,
    /// The entry stands for a whole inheritance tree.
    pub is_parent: bool,
    /// The entries of the tree's members.
    pub members: Vec<u32>,
}

/// ON CONFLICT, planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanOnConflict {
    pub action: ConflictAction,
    /// Indexes whose violations are meant; all if empty.
    pub arbiters: Vec<Oid>,
    /// Values for `set_columns`. Columns of `excluded` are of `INNER_VAR`, columns of the
    /// existing row are of the target's range-table index.
    pub set: Vec<TargetEntry>,
    pub set_columns: Vec<i16>,
    pub where_: Option<Expr>,
    pub excluded_rtindex: u32,
}

/// One table that a ModifyTable writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModifyTarget {
    pub rtindex: u32,
    /// UPDATE: the attributes assigned, in the order of the child's non-junk columns.
    pub update_columns: Vec<i16>,
    /// RETURNING; columns of the table by its range-table index, others of `OUTER_VAR`.
    pub returning: Vec<TargetEntry>,
    pub with_check_options: Vec<WithCheckOption>,
    /// MERGE: source columns are of `OUTER_VAR`, target columns of the range-table index.
    pub merge_actions: Vec<MergeAction>,
    pub merge_join_condition: Option<Expr>,
}

/// INSERT, UPDATE, DELETE or MERGE of the outer child's rows. INSERT: the child's columns are
/// the whole new row. UPDATE: the assigned columns, then junk. UPDATE, DELETE and MERGE find
/// the row by the junk column `ctid` (and `tableoid` where there are several tables).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModifyTable {
    pub operation: CmdType,
    pub can_set_tag: bool,
    /// The table named in the statement.
    pub nominal: u32,
    /// Its root, if partitioned or inherited; else 0.
    pub root: u32,
    pub targets: Vec<ModifyTarget>,
    /// Check options over rows of the root, for partitions that rows move to and that are not
    /// among the targets.
    pub root_options: Vec<WithCheckOption>,
    pub on_conflict: Option<Box<PlanOnConflict>>,
    pub row_marks: Vec<PlanRowMark>,
    /// Exec param by which the re-check of changed rows is told apart.
    pub recheck_param: u32,
    /// Aliases of OLD and NEW in RETURNING.
    pub returning_old_alias: Option<String>,
    pub returning_new_alias: Option<String>,
    /// Foreign keys and triggers of these relations are to be looked up when it runs.
    pub relations: Vec<Oid>,
}

/// Locks the rows of the outer child that row marks name, re-checking changed ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockRows {
    pub marks: Vec<PlanRowMark>,
    pub recheck_param: u32,
}
