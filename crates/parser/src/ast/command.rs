//! Commands that are neither queries nor definitions.

use super::{Expr, Name, Pos, RelName, SelectStmt, Stmt, TableRef, TypeName};

/// `name [= value]` in an option list.
#[derive(Clone, Debug, PartialEq)]
pub struct DefElem {
    /// `toast.` and the like.
    pub namespace: Option<String>,
    /// The option, in lower case unless quoted.
    pub name: String,
    /// Its value.
    pub value: Option<DefValue>,
    /// ADD, SET or DROP before it (foreign-data options).
    pub action: DefAction,
    /// Where it starts.
    pub pos: Pos,
}

/// The word before an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum DefAction {
    #[default]
    Unspecified,
    Set,
    Add,
    Drop,
}

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum DefValue {
    /// A string, or a word taken as one.
    String(String),
    /// A whole number.
    Integer(i32),
    /// Any other number, as written with its sign.
    Float(String),
    /// A fact of the grammar: `CYCLE` / `NO CYCLE`.
    Bool(bool),
    /// Anything that reads as a type (also a plain word).
    Type(TypeName),
    /// An operator, possibly qualified.
    Operator(super::OpName),
    /// Names.
    Names(Vec<String>),
    /// Roles.
    Roles(Vec<super::RoleSpec>),
    /// Other options.
    List(Vec<DefElem>),
    /// `*`.
    Star,
    /// NULL.
    Null,
    /// A setting change (functions).
    Set(Box<SetStmt>),
}

/// Transaction control.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TransactionStmt {
    Begin { modes: Vec<TransactionMode> },
    Start { modes: Vec<TransactionMode> },
    Commit { chain: bool },
    Rollback { chain: bool },
    Savepoint(String),
    Release(String),
    RollbackTo(String),
    Prepare(String),
    CommitPrepared(String),
    RollbackPrepared(String),
}

/// Isolation levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl IsolationLevel {
    /// The setting's value.
    pub fn as_str(self) -> &'static str {
        match self {
            IsolationLevel::ReadUncommitted => "read uncommitted",
            IsolationLevel::ReadCommitted => "read committed",
            IsolationLevel::RepeatableRead => "repeatable read",
            IsolationLevel::Serializable => "serializable",
        }
    }
}

/// A property of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TransactionMode {
    Isolation(IsolationLevel),
    ReadOnly(bool),
    Deferrable(bool),
}

/// COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyStmt {
    /// The table, unless `query`.
    pub rel: Option<RelName>,
    /// COPY (query) TO.
    pub query: Option<Stmt>,
    /// Columns; empty is all.
    pub columns: Vec<super::Ident>,
    /// FROM rather than TO.
    pub is_from: bool,
    /// PROGRAM.
    pub is_program: bool,
    /// The file or program; none is STDIN / STDOUT.
    pub filename: Option<String>,
    /// Options; the old syntax is translated.
    pub options: Vec<DefElem>,
    /// WHERE.
    pub where_clause: Option<Expr>,
}

/// TRUNCATE.
#[derive(Clone, Debug, PartialEq)]
pub struct TruncateStmt {
    /// The tables.
    pub relations: Vec<TableRef>,
    /// RESTART IDENTITY.
    pub restart_identity: bool,
    /// CASCADE.
    pub cascade: bool,
}

/// EXPLAIN; ANALYZE and VERBOSE without parentheses are among the options.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainStmt {
    /// Options.
    pub options: Vec<DefElem>,
    /// What to explain.
    pub query: Stmt,
}

/// PREPARE.
#[derive(Clone, Debug, PartialEq)]
pub struct PrepareStmt {
    /// The name.
    pub name: String,
    /// The parameters' types.
    pub arg_types: Vec<TypeName>,
    /// The statement.
    pub query: Stmt,
    /// Where the statement starts.
    pub query_pos: Pos,
}

/// EXECUTE.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecuteStmt {
    /// The prepared statement.
    pub name: String,
    /// The arguments.
    pub params: Vec<Expr>,
}

/// SET and RESET.
#[derive(Clone, Debug, PartialEq)]
pub struct SetStmt {
    /// SET LOCAL.
    pub local: bool,
    /// What.
    pub kind: SetKind,
}

/// What SET or RESET does. TIME ZONE is `timezone`, ROLE `role`, NAMES `client_encoding`,
/// SESSION AUTHORIZATION `session_authorization`, SCHEMA `search_path`.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SetKind {
    /// Literals; an interval for TIME ZONE is a cast of a literal.
    Value(String, Vec<Expr>),
    Default(String),
    FromCurrent(String),
    Reset(String),
    ResetAll,
    /// SET TRANSACTION.
    Transaction(Vec<TransactionMode>),
    /// SET SESSION CHARACTERISTICS.
    Characteristics(Vec<TransactionMode>),
    /// SET TRANSACTION SNAPSHOT.
    Snapshot(String),
}

/// SHOW.
#[derive(Clone, Debug, PartialEq)]
pub struct ShowStmt {
    /// The setting, or `all`.
    pub name: String,
}

/// VACUUM or ANALYZE.
#[derive(Clone, Debug, PartialEq)]
pub struct VacuumStmt {
    /// VACUUM, not ANALYZE.
    pub vacuum: bool,
    /// Options: full, freeze, verbose, analyze, ...
    pub options: Vec<DefElem>,
    /// What to work on; empty is everything.
    pub relations: Vec<VacuumRelation>,
}

/// A table of VACUUM.
#[derive(Clone, Debug, PartialEq)]
pub struct VacuumRelation {
    /// The table.
    pub rel: RelName,
    /// ONLY.
    pub only: bool,
    /// Columns.
    pub columns: Vec<String>,
}

/// What REINDEX works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ReindexKind {
    Index,
    Table,
    Schema,
    System,
    Database,
}

/// REINDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct ReindexStmt {
    /// What.
    pub kind: ReindexKind,
    /// The index or table.
    pub rel: Option<RelName>,
    /// The schema or database.
    pub name: Option<String>,
    /// Options; CONCURRENTLY is `concurrently`.
    pub options: Vec<DefElem>,
}

/// CLUSTER.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterStmt {
    /// The table; none is all.
    pub rel: Option<RelName>,
    /// The index.
    pub index: Option<String>,
    /// Options.
    pub options: Vec<DefElem>,
}

/// Table lock modes, weakest first, numbered as PostgreSQL's (1..=8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum LockMode {
    AccessShare = 1,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

/// LOCK.
#[derive(Clone, Debug, PartialEq)]
pub struct LockStmt {
    /// The tables.
    pub relations: Vec<TableRef>,
    /// The mode.
    pub mode: LockMode,
    /// NOWAIT.
    pub nowait: bool,
}

/// NOTIFY.
#[derive(Clone, Debug, PartialEq)]
pub struct NotifyStmt {
    /// The channel.
    pub channel: String,
    /// The payload.
    pub payload: Option<String>,
}

/// DECLARE .. CURSOR.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclareCursorStmt {
    /// The name.
    pub name: String,
    /// BINARY.
    pub binary: bool,
    /// [NO] SCROLL.
    pub scroll: Option<bool>,
    /// INSENSITIVE (true) or ASENSITIVE (false).
    pub insensitive: Option<bool>,
    /// WITH HOLD.
    pub hold: bool,
    /// The query.
    pub query: SelectStmt,
}

/// Which way FETCH goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FetchDirection {
    Forward,
    Backward,
    Absolute,
    Relative,
}

/// FETCH and MOVE.
#[derive(Clone, Debug, PartialEq)]
pub struct FetchStmt {
    /// The cursor.
    pub cursor: String,
    /// Direction.
    pub direction: FetchDirection,
    /// How many or which; `i64::MAX` is ALL.
    pub count: i64,
    /// MOVE.
    pub is_move: bool,
}

/// DISCARD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DiscardTarget {
    All,
    Plans,
    Sequences,
    Temp,
}

/// SET CONSTRAINTS.
#[derive(Clone, Debug, PartialEq)]
pub struct SetConstraintsStmt {
    /// Which; empty is ALL.
    pub constraints: Vec<RelName>,
    /// DEFERRED.
    pub deferred: bool,
}

/// COMMENT.
#[derive(Clone, Debug, PartialEq)]
pub struct CommentStmt {
    /// On what.
    pub object: Object,
    /// The text; none is NULL.
    pub comment: Option<String>,
}

/// SECURITY LABEL.
#[derive(Clone, Debug, PartialEq)]
pub struct SecurityLabelStmt {
    /// FOR provider.
    pub provider: Option<String>,
    /// On what.
    pub object: Object,
    /// The label; none is NULL.
    pub label: Option<String>,
}

/// Kinds of database objects that statements name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ObjectKind {
    AccessMethod,
    Aggregate,
    Attribute,
    Cast,
    Collation,
    Column,
    Constraint,
    Conversion,
    Database,
    Domain,
    DomainConstraint,
    EventTrigger,
    Extension,
    ForeignDataWrapper,
    ForeignServer,
    ForeignTable,
    Function,
    Index,
    Language,
    LargeObject,
    MatView,
    OpClass,
    OpFamily,
    Operator,
    Parameter,
    Policy,
    Procedure,
    Publication,
    Role,
    Routine,
    Rule,
    Schema,
    Sequence,
    Statistics,
    Subscription,
    Table,
    Tablespace,
    Transform,
    Trigger,
    TsConfiguration,
    TsDictionary,
    TsParser,
    TsTemplate,
    Type,
    View,
}

/// An object that a statement names.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its name; for a column its table's parts, then the column; for a trigger, rule, policy
    /// or constraint the relation's (or domain's) name.
    pub name: Name,
    /// ONLY before a relation's name.
    pub only: bool,
    /// What else identifies it.
    pub detail: ObjectDetail,
}

/// What identifies an object beside its name.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectDetail {
    /// Nothing.
    None,
    /// The name of a trigger, rule, policy, column or constraint of the relation or domain.
    Member(String),
    /// The parameters of a function or aggregate; none if no parentheses were written.
    Params(Option<FuncSignature>),
    /// The operand types of an operator; none is NONE.
    Operands(Option<TypeName>, Option<TypeName>),
    /// The access method of an operator class or family.
    Using(String),
    /// A type or domain, as written.
    Type(TypeName),
    /// The two types of a cast.
    Cast(TypeName, TypeName),
    /// The type and language of a transform.
    Transform(TypeName, String),
    /// The number of a large object, as written.
    LargeObject(String),
}

/// The parameters by which a function is named.
#[derive(Clone, Debug, PartialEq)]
pub struct FuncSignature {
    /// The parameters. Those of an aggregate `f(*)` are empty.
    pub params: Vec<super::FuncParam>,
    /// How many direct arguments an ordered-set aggregate has; none if it is not one.
    pub direct: Option<usize>,
}
