//! Nodes that join their two children.

use crate::expr::Expr;
use crate::query::JoinKind;
use base::Oid;
use serde::{Deserialize, Serialize};

/// What all joins have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JoinCommon {
    pub kind: JoinKind,
    /// Conditions of the join itself; the node's `qual` is applied after null extension.
    pub join_qual: Vec<Expr>,
    /// At most one inner row matches each outer one.
    pub inner_unique: bool,
}

/// A value of the outer row that the inner plan reads as an exec param.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestParam {
    pub param: u32,
    /// A `Var` of `OUTER_VAR` (or an expression over such).
    pub value: Expr,
}

/// The inner child runs once for each outer row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestLoop {
    pub join: JoinCommon,
    pub params: Vec<NestParam>,
}

/// One merged column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeKey {
    /// The equality, outer operand left.
    pub clause: Expr,
    pub family: Oid,
    pub collation: Oid,
    pub descending: bool,
    pub nulls_first: bool,
}

/// Both children come sorted by the merged columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeJoin {
    pub join: JoinCommon,
    pub keys: Vec<MergeKey>,
    /// The inner child need not go back: each outer row has one match at most, in order.
    pub skip_mark_restore: bool,
}

/// The inner child is a [`Hash`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HashJoin {
    pub join: JoinCommon,
    /// The equalities, outer operand left.
    pub hash_clauses: Vec<Expr>,
    pub hash_ops: Vec<Oid>,
    pub collations: Vec<Oid>,
    /// What is hashed of the outer rows.
    pub hash_keys: Vec<Expr>,
}

/// A hash table over its outer child's rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hash {
    /// What is hashed of the rows (columns are of `OUTER_VAR`).
    pub hash_keys: Vec<Expr>,
    /// Expected rows over all workers.
    pub rows_total: f64,
}
