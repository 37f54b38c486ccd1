//! Queries and data-changing statements.

use super::{
    ColumnDef, Expr, Ident, Indirection, JsonArgument, JsonBehavior, JsonFormat, JsonQuotes,
    JsonValue, JsonWrapper, OpName, Pos, RelName, TypeName,
};

/// A whole query: WITH, body, ORDER BY, LIMIT, locking.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// What makes the rows.
    pub body: SelectBody,
    /// ORDER BY.
    pub order_by: Vec<SortBy>,
    /// LIMIT / FETCH; `LIMIT ALL` is none.
    pub limit: Option<Box<Expr>>,
    /// OFFSET.
    pub offset: Option<Box<Expr>>,
    /// FETCH .. WITH TIES.
    pub with_ties: bool,
    /// FOR UPDATE and its kin.
    pub locking: Vec<LockingClause>,
    /// Where the query starts.
    pub pos: Pos,
}

impl SelectStmt {
    /// `SELECT expr FROM (query) AS alias`.
    pub fn over_subquery(expr: Expr, query: SelectStmt, alias: Alias, pos: Pos) -> SelectStmt {
        let from = SubqueryRef { lateral: false, query, alias: Some(alias), pos };
        let core = SelectCore {
            targets: vec![Target { name: None, expr, pos }],
            from: vec![FromItem::Subquery(Box::new(from))],
            ..SelectCore::default()
        };
        SelectStmt {
            with: None,
            body: SelectBody::Select(Box::new(core)),
            order_by: Vec::new(),
            limit: None,
            offset: None,
            with_ties: false,
            locking: Vec::new(),
            pos,
        }
    }
}

/// What makes the rows of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectBody {
    /// SELECT .. FROM .. (also TABLE t).
    Select(Box<SelectCore>),
    /// VALUES (..), (..).
    Values(Vec<Vec<Expr>>),
    /// UNION, INTERSECT, EXCEPT.
    SetOp(Box<SetOperation>),
}

/// A SELECT without the clauses that belong to the whole query.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SelectCore {
    /// DISTINCT.
    pub distinct: Option<Distinct>,
    /// The select list; may be empty.
    pub targets: Vec<Target>,
    /// INTO.
    pub into: Option<Box<IntoClause>>,
    /// FROM.
    pub from: Vec<FromItem>,
    /// WHERE.
    pub where_clause: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<GroupItem>,
    /// GROUP BY DISTINCT.
    pub group_distinct: bool,
    /// HAVING.
    pub having: Option<Expr>,
    /// WINDOW.
    pub windows: Vec<WindowDef>,
}

/// DISTINCT [ON].
#[derive(Clone, Debug, PartialEq)]
pub enum Distinct {
    /// DISTINCT.
    All,
    /// DISTINCT ON (..).
    On(Vec<Expr>),
}

/// Two queries combined.
#[derive(Clone, Debug, PartialEq)]
pub struct SetOperation {
    /// Which.
    pub op: SetOp,
    /// ALL.
    pub all: bool,
    /// Left.
    pub left: SelectStmt,
    /// Right.
    pub right: SelectStmt,
}

/// UNION, INTERSECT, EXCEPT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SetOp {
    Union,
    Intersect,
    Except,
}

/// An entry of a select list or of RETURNING.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// AS.
    pub name: Option<String>,
    /// The value.
    pub expr: Expr,
    /// Where it starts.
    pub pos: Pos,
}

/// SELECT .. INTO / CREATE TABLE .. AS.
#[derive(Clone, Debug, PartialEq)]
pub struct IntoClause {
    /// The table to make.
    pub rel: RelName,
    /// TEMP, UNLOGGED.
    pub persistence: Persistence,
    /// Column names.
    pub columns: Vec<String>,
    /// USING method.
    pub access_method: Option<String>,
    /// WITH (..).
    pub options: Vec<super::DefElem>,
    /// ON COMMIT.
    pub on_commit: super::OnCommit,
    /// TABLESPACE.
    pub tablespace: Option<String>,
    /// WITH NO DATA.
    pub no_data: bool,
}

/// How long a relation lives and whether it is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum Persistence {
    #[default]
    Permanent,
    Unlogged,
    Temporary,
}

/// WITH [RECURSIVE].
#[derive(Clone, Debug, PartialEq)]
pub struct WithClause {
    /// RECURSIVE.
    pub recursive: bool,
    /// The entries.
    pub ctes: Vec<Cte>,
    /// Where WITH stands.
    pub pos: Pos,
}

/// An entry of WITH.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: String,
    /// Its column names.
    pub columns: Vec<Ident>,
    /// [NOT] MATERIALIZED.
    pub materialized: Option<bool>,
    /// The statement: a query, INSERT, UPDATE, DELETE or MERGE.
    pub query: super::Stmt,
    /// SEARCH.
    pub search: Option<CteSearch>,
    /// CYCLE.
    pub cycle: Option<CteCycle>,
    /// Where the name stands.
    pub pos: Pos,
}

/// SEARCH BREADTH|DEPTH FIRST BY .. SET ..
#[derive(Clone, Debug, PartialEq)]
pub struct CteSearch {
    /// BREADTH.
    pub breadth: bool,
    /// BY.
    pub columns: Vec<String>,
    /// SET.
    pub sequence: String,
    /// Where it stands.
    pub pos: Pos,
}

/// CYCLE .. SET .. [TO .. DEFAULT ..] USING ..
#[derive(Clone, Debug, PartialEq)]
pub struct CteCycle {
    /// The columns.
    pub columns: Vec<String>,
    /// SET.
    pub mark: String,
    /// TO, DEFAULT; TRUE and FALSE if not written.
    pub values: Option<Box<(Expr, Expr)>>,
    /// USING.
    pub path: String,
    /// Where it stands.
    pub pos: Pos,
}

/// An item of FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum FromItem {
    /// A table, view or CTE.
    Table(Box<TableRef>),
    /// A subquery.
    Subquery(Box<SubqueryRef>),
    /// Functions.
    Function(Box<FunctionRef>),
    /// A join.
    Join(Box<Join>),
    /// XMLTABLE.
    XmlTable(Box<XmlTable>),
    /// JSON_TABLE.
    JsonTable(Box<JsonTable>),
}

/// `AS name (columns)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// The columns.
    pub columns: Vec<String>,
}

/// A relation in FROM or as a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    /// The name.
    pub rel: RelName,
    /// ONLY.
    pub only: bool,
    /// The alias.
    pub alias: Option<Alias>,
    /// TABLESAMPLE.
    pub sample: Option<TableSample>,
}

/// TABLESAMPLE method (args) REPEATABLE (seed).
#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    /// The method.
    pub method: super::Name,
    /// Its arguments.
    pub args: Vec<Expr>,
    /// REPEATABLE.
    pub repeatable: Option<Expr>,
}

/// A subquery in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct SubqueryRef {
    /// LATERAL.
    pub lateral: bool,
    /// The query.
    pub query: SelectStmt,
    /// The alias.
    pub alias: Option<Alias>,
    /// Where it starts.
    pub pos: Pos,
}

/// Functions in FROM.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionRef {
    /// LATERAL.
    pub lateral: bool,
    /// WITH ORDINALITY.
    pub ordinality: bool,
    /// ROWS FROM (..).
    pub rows_from: bool,
    /// The calls, each with its own column definitions (ROWS FROM only).
    pub functions: Vec<(Expr, Vec<ColumnDef>)>,
    /// The alias.
    pub alias: Option<Alias>,
    /// `AS (name type, ..)`.
    pub columns: Vec<ColumnDef>,
    /// Where it starts.
    pub pos: Pos,
}

/// Kinds of join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum JoinKind {
    Cross,
    Inner,
    Left,
    Right,
    Full,
}

/// A join.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Kind.
    pub kind: JoinKind,
    /// NATURAL.
    pub natural: bool,
    /// Left.
    pub left: FromItem,
    /// Right.
    pub right: FromItem,
    /// USING.
    pub using: Option<JoinUsing>,
    /// ON.
    pub on: Option<Expr>,
    /// `(a JOIN b ..) AS x`.
    pub alias: Option<Alias>,
    /// Where it starts.
    pub pos: Pos,
}

/// USING (columns) [AS alias].
#[derive(Clone, Debug, PartialEq)]
pub struct JoinUsing {
    /// The columns.
    pub columns: Vec<Ident>,
    /// AS.
    pub alias: Option<String>,
}

/// XMLTABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct XmlTable {
    /// LATERAL.
    pub lateral: bool,
    /// XMLNAMESPACES; a name of none is DEFAULT.
    pub namespaces: Vec<(Option<String>, Expr)>,
    /// The row path.
    pub row: Expr,
    /// PASSING.
    pub doc: Expr,
    /// COLUMNS.
    pub columns: Vec<XmlTableColumn>,
    /// The alias.
    pub alias: Option<Alias>,
    /// Where it starts.
    pub pos: Pos,
}

/// A column of XMLTABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct XmlTableColumn {
    /// The name.
    pub name: String,
    /// The type; none for FOR ORDINALITY.
    pub type_name: Option<TypeName>,
    /// PATH.
    pub path: Option<Expr>,
    /// DEFAULT.
    pub default: Option<Expr>,
    /// NOT NULL.
    pub not_null: bool,
    /// Where it starts.
    pub pos: Pos,
}

/// JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    /// LATERAL.
    pub lateral: bool,
    /// The document.
    pub context: JsonValue,
    /// The path, a string.
    pub path: Expr,
    /// AS name of the path.
    pub path_name: Option<String>,
    /// PASSING.
    pub passing: Vec<JsonArgument>,
    /// COLUMNS.
    pub columns: Vec<JsonTableColumn>,
    /// ON ERROR.
    pub on_error: Option<JsonBehavior>,
    /// The alias.
    pub alias: Option<Alias>,
    /// Where it starts.
    pub pos: Pos,
}

/// A column of JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum JsonTableColumn {
    /// name FOR ORDINALITY.
    Ordinality { name: String, pos: Pos },
    /// name type [EXISTS] PATH ..
    Column(Box<JsonTableRegular>),
    /// NESTED PATH .. COLUMNS (..); the place is the path's name's, if there is one.
    Nested { path: Expr, path_name: Option<String>, columns: Vec<JsonTableColumn>, pos: Pos },
}

/// A column of JSON_TABLE with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTableRegular {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_name: TypeName,
    /// EXISTS.
    pub exists: bool,
    /// FORMAT JSON.
    pub format: Option<JsonFormat>,
    /// PATH.
    pub path: Option<Expr>,
    /// WRAPPER.
    pub wrapper: JsonWrapper,
    /// QUOTES.
    pub quotes: JsonQuotes,
    /// ON EMPTY.
    pub on_empty: Option<JsonBehavior>,
    /// ON ERROR.
    pub on_error: Option<JsonBehavior>,
    /// Where it starts.
    pub pos: Pos,
}

/// An item of GROUP BY.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    /// An expression (a row of several when parenthesised).
    Expr(Expr),
    /// ().
    Empty(Pos),
    /// ROLLUP (..).
    Rollup(Vec<Expr>, Pos),
    /// CUBE (..).
    Cube(Vec<Expr>, Pos),
    /// GROUPING SETS (..).
    Sets(Vec<GroupItem>, Pos),
}

/// Order of sorting.
#[derive(Clone, Debug, PartialEq)]
pub enum SortDir {
    /// Not written.
    Default,
    /// ASC.
    Asc,
    /// DESC.
    Desc,
    /// USING op.
    Using(OpName),
}

/// Where nulls sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NullsOrder {
    Default,
    First,
    Last,
}

/// An item of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SortBy {
    /// The expression.
    pub expr: Expr,
    /// ASC, DESC, USING.
    pub dir: SortDir,
    /// NULLS.
    pub nulls: NullsOrder,
}

/// A window: of WINDOW (`name` set) or of OVER (`OVER name` gives only `name`).
#[derive(Clone, Debug, PartialEq)]
pub struct WindowDef {
    /// Its name in WINDOW, or what `OVER name` names.
    pub name: Option<String>,
    /// The window that it copies: the name within the parentheses.
    pub refname: Option<String>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<SortBy>,
    /// The frame.
    pub frame: Option<WindowFrame>,
    /// Where it starts.
    pub pos: Pos,
}

/// A window's frame.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFrame {
    /// ROWS, RANGE, GROUPS.
    pub mode: FrameMode,
    /// Start.
    pub start: FrameBound,
    /// End; none unless BETWEEN was written.
    pub end: Option<FrameBound>,
    /// EXCLUDE.
    pub exclude: FrameExclude,
}

/// Units of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameMode {
    Range,
    Rows,
    Groups,
}

/// An end of a frame.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

/// EXCLUDE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FrameExclude {
    NoOthers,
    CurrentRow,
    Group,
    Ties,
}

/// Strengths of row locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

/// What to do when a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[allow(missing_docs)]
pub enum LockWait {
    #[default]
    Block,
    Skip,
    Error,
}

/// FOR UPDATE [OF ..] [NOWAIT | SKIP LOCKED].
#[derive(Clone, Debug, PartialEq)]
pub struct LockingClause {
    /// Strength.
    pub strength: LockStrength,
    /// OF.
    pub of: Vec<RelName>,
    /// NOWAIT, SKIP LOCKED.
    pub wait: LockWait,
}

/// A column, or part of it, as the target of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct AssignTarget {
    /// The column.
    pub name: String,
    /// Parts of it.
    pub steps: Vec<Indirection>,
    /// Where it starts.
    pub pos: Pos,
}

/// `target = value` or `(targets) = value`.
#[derive(Clone, Debug, PartialEq)]
pub enum SetClause {
    /// One.
    Single(AssignTarget, Expr),
    /// Several from a row or a subquery.
    Multi(Vec<AssignTarget>, Expr),
}

/// RETURNING [WITH (OLD AS x, NEW AS y)] targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Returning {
    /// Names for OLD and NEW: (true for NEW, alias, place).
    pub options: Vec<(bool, Ident)>,
    /// The list.
    pub targets: Vec<Target>,
}

/// OVERRIDING.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Overriding {
    None,
    User,
    System,
}

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// The target; its alias from AS.
    pub target: TableRef,
    /// Columns; empty if not written.
    pub columns: Vec<AssignTarget>,
    /// OVERRIDING.
    pub overriding: Overriding,
    /// The rows; none is DEFAULT VALUES.
    pub source: Option<SelectStmt>,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// What conflict is meant.
    pub target: Option<ConflictTarget>,
    /// DO UPDATE; none is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// Where ON stands.
    pub pos: Pos,
}

/// DO UPDATE SET .. WHERE ..
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictUpdate {
    /// SET.
    pub set: Vec<SetClause>,
    /// WHERE.
    pub where_clause: Option<Expr>,
}

/// What ON CONFLICT names.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    /// (columns) WHERE predicate.
    Index {
        /// The elements.
        elems: Vec<IndexElem>,
        /// WHERE.
        predicate: Option<Expr>,
        /// Where it starts.
        pos: Pos,
    },
    /// ON CONSTRAINT.
    Constraint(String, Pos),
}

/// An element of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexElem {
    /// A column, unless `expr`.
    pub name: Option<String>,
    /// An expression.
    pub expr: Option<Expr>,
    /// COLLATE.
    pub collation: Option<super::Name>,
    /// Operator class.
    pub opclass: Option<super::Name>,
    /// Its options.
    pub opclass_options: Vec<super::DefElem>,
    /// ASC, DESC.
    pub dir: SortDir,
    /// NULLS.
    pub nulls: NullsOrder,
    /// Where it starts.
    pub pos: Pos,
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// The target.
    pub target: TableRef,
    /// SET.
    pub set: Vec<SetClause>,
    /// FROM.
    pub from: Vec<FromItem>,
    /// WHERE; may be CURRENT OF.
    pub where_clause: Option<Expr>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct DeleteStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// The target.
    pub target: TableRef,
    /// USING.
    pub using: Vec<FromItem>,
    /// WHERE; may be CURRENT OF.
    pub where_clause: Option<Expr>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeStmt {
    /// WITH.
    pub with: Option<WithClause>,
    /// INTO.
    pub target: TableRef,
    /// USING.
    pub source: FromItem,
    /// ON.
    pub on: Expr,
    /// WHEN.
    pub whens: Vec<MergeWhen>,
    /// RETURNING.
    pub returning: Option<Returning>,
}

/// Which rows a WHEN of MERGE is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MergeMatch {
    Matched,
    NotMatchedBySource,
    NotMatchedByTarget,
}

/// WHEN .. THEN .. of MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeWhen {
    /// Which rows.
    pub matched: MergeMatch,
    /// AND.
    pub condition: Option<Expr>,
    /// THEN.
    pub action: MergeAction,
}

/// What MERGE does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum MergeAction {
    Update(Vec<SetClause>),
    Delete,
    /// No values is DEFAULT VALUES.
    Insert {
        columns: Vec<AssignTarget>,
        overriding: Overriding,
        values: Option<Vec<Expr>>,
    },
    DoNothing,
}
