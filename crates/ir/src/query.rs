//! What analysis makes of a statement: a tree of [`Query`]s over range tables.

use crate::expr::{Expr, Location, TargetEntry, Written};
use base::Oid;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CmdType {
    Select,
    Insert,
    Update,
    Delete,
    Merge,
    /// A rule's NOTHING.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitOption {
    Count,
    WithTies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overriding {
    None,
    UserValue,
    SystemValue,
}

/// One statement, or one subselect of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Query {
    pub command: CmdType,
    /// Its row count is the one that the client is told.
    pub can_set_tag: bool,
    /// Range-table index of the table that is modified; 0 for SELECT.
    pub result_relation: u32,
    pub has_aggs: bool,
    pub has_window_funcs: bool,
    pub has_target_srfs: bool,
    pub has_sublinks: bool,
    pub has_distinct_on: bool,
    pub has_recursive: bool,
    pub has_modifying_cte: bool,
    pub has_for_update: bool,
    pub has_row_security: bool,
    pub ctes: Vec<Cte>,
    /// Range table; `varno` n is entry n - 1.
    pub rtable: Vec<Rte>,
    pub jointree: FromExpr,
    pub merge_actions: Vec<MergeAction>,
    pub merge_join_condition: Option<Expr>,
    pub target_list: Vec<TargetEntry>,
    pub overriding: Overriding,
    pub on_conflict: Option<Box<OnConflict>>,
    pub returning: Vec<TargetEntry>,
    pub group_clause: Vec<SortGroupClause>,
    pub group_distinct: bool,
    pub grouping_sets: Vec<GroupingSet>,
    pub having: Option<Expr>,
    pub windows: Vec<WindowClause>,
    /// DISTINCT, or DISTINCT ON when `has_distinct_on`.
    pub distinct_clause: Vec<SortGroupClause>,
    pub sort_clause: Vec<SortGroupClause>,
    pub limit_offset: Option<Expr>,
    pub limit_count: Option<Expr>,
    pub limit_option: LimitOption,
    pub row_marks: Vec<RowMark>,
    /// For UNION and its kind: the tree; the operands are subquery entries of `rtable`.
    pub set_operations: Option<Box<SetOperation>>,
    /// Conditions that rows written through views must satisfy.
    pub with_check_options: Vec<WithCheckOption>,
    /// Primary keys by which columns need not be in GROUP BY.
    #[serde(default)]
    pub constraint_deps: Vec<Oid>,
    /// A rule's NOTIFY: channel and payload; the command is `Nothing` then.
    #[serde(default)]
    pub notify: Option<(String, Option<String>)>,
    /// Where the statement stands in the client's text: byte offset and length (0: to its end).
    pub location: Location,
    pub length: u32,
}

impl Query {
    /// A query of this kind with nothing in it.
    pub fn new(command: CmdType) -> Query {
        Query {
            command,
            can_set_tag: true,
            result_relation: 0,
            has_aggs: false,
            has_window_funcs: false,
            has_target_srfs: false,
            has_sublinks: false,
            has_distinct_on: false,
            has_recursive: false,
            has_modifying_cte: false,
            has_for_update: false,
            has_row_security: false,
            ctes: Vec::new(),
            rtable: Vec::new(),
            jointree: FromExpr::default(),
            merge_actions: Vec::new(),
            merge_join_condition: None,
            target_list: Vec::new(),
            overriding: Overriding::None,
            on_conflict: None,
            returning: Vec::new(),
            group_clause: Vec::new(),
            group_distinct: false,
            grouping_sets: Vec::new(),
            having: None,
            windows: Vec::new(),
            distinct_clause: Vec::new(),
            sort_clause: Vec::new(),
            limit_offset: None,
            limit_count: None,
            limit_option: LimitOption::Count,
            row_marks: Vec::new(),
            set_operations: None,
            with_check_options: Vec::new(),
            constraint_deps: Vec::new(),
            notify: None,
            location: None,
            length: 0,
        }
    }

    /// The range-table entry that `varno` means (counted from 1).
    pub fn rte(&self, varno: u32) -> &Rte {
        &self.rtable[varno as usize - 1]
    }
}

/// FROM and WHERE: the items are joined without a condition.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct FromExpr {
    pub items: Vec<FromItem>,
    pub quals: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromItem {
    /// A range-table index from 1.
    Table(u32),
    Join(Box<JoinExpr>),
    /// Made by the planner when it pulls up subqueries.
    From(Box<FromExpr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JoinKind {
    Inner,
    Left,
    Full,
    Right,
    /// The following are made by the planner from EXISTS and IN.
    Semi,
    Anti,
    RightSemi,
    RightAnti,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JoinExpr {
    pub kind: JoinKind,
    pub natural: bool,
    pub left: FromItem,
    pub right: FromItem,
    /// USING columns, for printing.
    pub using: Vec<String>,
    pub using_alias: Option<String>,
    /// The condition; USING has been turned into one.
    pub quals: Option<Expr>,
    /// Range-table index of the join itself; 0 when the planner made it.
    pub rtindex: u32,
}

/// Rights needed on a relation, as bits of `pg_class.relacl`.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct RtePerms {
    /// Bit per right: insert 1, select 2, update 4, delete 8, truncate 16, references 32,
    /// trigger 64, maintain 16384.
    pub required: u32,
    /// Whose rights are checked; none means the current user's.
    pub check_as: Option<Oid>,
    /// Attribute numbers (offset by nothing; 0 is the whole row), ascending.
    pub selected: Vec<i16>,
    pub inserted: Vec<i16>,
    pub updated: Vec<i16>,
}

/// A range-table entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rte {
    pub kind: RteKind,
    /// The alias as the user wrote it, if any.
    pub alias: Option<Alias>,
    /// Name and column names to be used; dropped columns are empty strings.
    pub eref: Alias,
    pub lateral: bool,
    /// The entry stands in FROM and belongs to the join tree.
    pub in_from: bool,
    pub perms: Option<RtePerms>,
    /// Row-security conditions, set by the rewriter.
    pub security_quals: Vec<Expr>,
}

#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Alias {
    pub name: String,
    pub columns: Vec<String>,
}

/// A function in FROM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RangeFunction {
    pub expr: Expr,
    /// How many columns it gives.
    pub column_count: u32,
    /// Column definition list, if one was given.
    pub col_names: Vec<String>,
    pub col_types: Vec<Oid>,
    pub col_typmods: Vec<i32>,
    pub col_collations: Vec<Oid>,
}

impl RangeFunction {
    /// JSON_TABLE or XMLTABLE: a table by a syntax of its own.
    pub fn is_table(&self) -> bool {
        self.table_word().is_some()
    }

    /// The word that EXPLAIN calls such a table by.
    pub fn table_word(&self) -> Option<&'static str> {
        match &self.expr {
            Expr::Json(j) if matches!(j.op, crate::JsonOp::Table(_)) => Some("json_table"),
            Expr::Xml(x) if matches!(x.op, crate::XmlOp::Table(_)) => Some("xmltable"),
            _ => None,
        }
    }
}

/// TABLESAMPLE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableSample {
    /// The method's function.
    pub handler: Oid,
    pub args: Vec<Expr>,
    pub repeatable: Option<Expr>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RteKind {
    Relation {
        relid: Oid,
        /// `pg_class.relkind`.
        relkind: char,
        /// Lock mode that the statement takes, 1 (AccessShare) to 8.
        lock_mode: u8,
        /// Descendant tables are meant too.
        inherit: bool,
        sample: Option<Box<TableSample>>,
        /// Where the statement names it.
        #[serde(skip)]
        written: Written,
    },
    Subquery {
        query: Box<Query>,
        /// It is the expansion of this view, and a security barrier if `barrier`.
        view: Option<Oid>,
        barrier: bool,
    },
    Join {
        kind: JoinKind,
        /// What each output column stands for.
        alias_vars: Vec<Expr>,
        /// How many columns are merged by USING; they come first.
        merged: u32,
        /// For each column, its position in the left and right input (0 if not there).
        left_cols: Vec<i16>,
        right_cols: Vec<i16>,
        using_alias: Option<Alias>,
    },
    Function {
        functions: Vec<RangeFunction>,
        ordinality: bool,
    },
    Values {
        lists: Vec<Vec<Expr>>,
        types: Vec<Oid>,
        typmods: Vec<i32>,
        collations: Vec<Oid>,
    },
    Cte {
        name: String,
        levels_up: u32,
        /// It refers to the CTE from within its own definition.
        self_reference: bool,
        types: Vec<Oid>,
        typmods: Vec<i32>,
        collations: Vec<Oid>,
    },
    /// A transition table, OLD or NEW, of a trigger.
    NamedTuplestore {
        name: String,
        relid: Oid,
        types: Vec<Oid>,
        typmods: Vec<i32>,
        collations: Vec<Oid>,
    },
    /// No table at all: one row without columns.
    Result,
    /// The rows of other entries, one after the other: a UNION ALL that planning took apart.
    UnionAll {
        members: Vec<UnionMember>,
        /// It is the expansion of this view.
        view: Option<Oid>,
    },
    /// The grouping step's output, by which HAVING and targets refer to grouped expressions.
    Group {
        exprs: Vec<Expr>,
    },
}

/// An entry whose rows are some of a UNION ALL's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnionMember {
    pub rtindex: u32,
    /// What the union's columns are, in terms of the entry.
    pub columns: Vec<Expr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CteMaterialize {
    Default,
    Always,
    Never,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cte {
    pub name: String,
    pub materialize: CteMaterialize,
    pub query: Box<Query>,
    pub recursive: bool,
    /// How often it is referred to.
    pub ref_count: u32,
    /// Columns are named behind its name.
    #[serde(default)]
    pub aliased: bool,
    pub col_names: Vec<String>,
    pub col_types: Vec<Oid>,
    pub col_typmods: Vec<i32>,
    pub col_collations: Vec<Oid>,
    pub location: Location,
}

/// A column to sort, group or make distinct by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SortGroupClause {
    /// The target entry's `sort_group_ref`.
    pub target_ref: u32,
    pub eq_op: Oid,
    /// `<` or `>`; none if the type can only be hashed.
    pub sort_op: Option<Oid>,
    pub descending: bool,
    pub nulls_first: bool,
    pub hashable: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum GroupingSet {
    Empty,
    /// One set: sort-group references.
    Simple(Vec<u32>),
    Rollup(Vec<GroupingSet>),
    Cube(Vec<GroupingSet>),
    Sets(Vec<GroupingSet>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameMode {
    Range,
    Rows,
    Groups,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Expr),
    CurrentRow,
    Following(Expr),
    UnboundedFollowing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FrameExclusion {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowFrame {
    /// Whether the user gave a frame.
    pub given: bool,
    pub mode: FrameMode,
    pub start: FrameBound,
    pub end: FrameBound,
    pub exclusion: FrameExclusion,
    /// `in_range` support functions for RANGE offsets; 0 where not needed.
    pub start_in_range: Oid,
    pub end_in_range: Oid,
    pub in_range_collation: Oid,
    pub in_range_asc: bool,
    pub in_range_nulls_first: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowClause {
    /// Name in the WINDOW clause.
    pub name: Option<String>,
    pub ref_name: Option<String>,
    pub partition: Vec<SortGroupClause>,
    pub order: Vec<SortGroupClause>,
    pub frame: WindowFrame,
    /// What window functions refer to it by, from 1.
    pub ref_: u32,
    pub copied_order: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LockStrength {
    ForKeyShare,
    ForShare,
    ForNoKeyUpdate,
    ForUpdate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LockWait {
    Block,
    SkipLocked,
    NoWait,
}

/// FOR UPDATE and its kind, for one range-table entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowMark {
    pub rtindex: u32,
    pub strength: LockStrength,
    pub wait: LockWait,
    /// Reached through a subquery's FOR UPDATE rather than named here.
    pub pushed_down: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SetOpKind {
    Union,
    Intersect,
    Except,
}

/// UNION, INTERSECT or EXCEPT of two operands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetOperation {
    pub kind: SetOpKind,
    pub all: bool,
    pub left: SetOperand,
    pub right: SetOperand,
    pub col_types: Vec<Oid>,
    pub col_typmods: Vec<i32>,
    pub col_collations: Vec<Oid>,
    /// Unless `all`: how to compare each column.
    pub group_clauses: Vec<SortGroupClause>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SetOperand {
    /// A subquery entry, by range-table index.
    Table(u32),
    Operation(Box<SetOperation>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConflictAction {
    Nothing,
    Update,
}

/// What an arbiter index must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InferenceElem {
    pub expr: Expr,
    pub collation: Option<Oid>,
    pub opclass: Option<Oid>,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnConflict {
    pub action: ConflictAction,
    pub arbiter: Vec<InferenceElem>,
    pub arbiter_where: Option<Expr>,
    /// Named by ON CONSTRAINT.
    pub constraint: Option<Oid>,
    pub set: Vec<TargetEntry>,
    pub where_: Option<Expr>,
    /// Range-table index of `excluded`.
    pub excluded_rtindex: u32,
    pub excluded_target: Vec<TargetEntry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MergeMatch {
    Matched,
    NotMatchedBySource,
    NotMatchedByTarget,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeAction {
    pub matched: MergeMatch,
    pub command: CmdType,
    pub overriding: Overriding,
    pub qual: Option<Expr>,
    pub target_list: Vec<TargetEntry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CheckOptionKind {
    View,
    RlsInsert,
    RlsUpdate,
    RlsConflict,
    RlsMergeUpdate,
    RlsMergeDelete,
}

/// WITH CHECK OPTION of a view, or a row-security policy's check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithCheckOption {
    pub kind: CheckOptionKind,
    pub relation: String,
    pub policy: Option<String>,
    pub qual: Expr,
    pub cascaded: bool,
}
