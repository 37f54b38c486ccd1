//! Definitions of relations, types, schemas, databases.

use super::*;

/// ON COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum OnCommit {
    #[default]
    Unspecified,
    PreserveRows,
    DeleteRows,
    Drop,
}

/// CREATE TABLE and CREATE FOREIGN TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableStmt {
    /// The table.
    pub rel: RelName,
    /// TEMP, UNLOGGED.
    pub persistence: Persistence,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// OF type.
    pub of_type: Option<TypeName>,
    /// Columns, LIKEs and constraints in order.
    pub elements: Vec<TableElement>,
    /// INHERITS.
    pub inherits: Vec<RelName>,
    /// PARTITION OF.
    pub partition_of: Option<(RelName, PartitionBound)>,
    /// PARTITION BY.
    pub partition_by: Option<PartitionSpec>,
    /// USING.
    pub access_method: Option<String>,
    /// WITH.
    pub options: Vec<DefElem>,
    /// ON COMMIT.
    pub on_commit: OnCommit,
    /// TABLESPACE.
    pub tablespace: Option<String>,
    /// SERVER and OPTIONS of a foreign table.
    pub foreign: Option<(String, Vec<DefElem>)>,
}

/// An element of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TableElement {
    Column(ColumnDef),
    Like(LikeClause),
    Constraint(Constraint),
}

/// LIKE table INCLUDING ..
#[derive(Clone, Debug, PartialEq)]
pub struct LikeClause {
    /// The model.
    pub rel: RelName,
    /// What is copied.
    pub options: Vec<LikeOption>,
}

/// What LIKE may copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LikeOption {
    Comments,
    Compression,
    Constraints,
    Defaults,
    Generated,
    Identity,
    Indexes,
    Statistics,
    Storage,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// The name.
    pub name: String,
    /// The type; none in typed tables and partitions.
    pub type_name: Option<TypeName>,
    /// STORAGE; `default` for DEFAULT.
    pub storage: Option<String>,
    /// COMPRESSION; `default` for DEFAULT.
    pub compression: Option<String>,
    /// COLLATE.
    pub collation: Option<Name>,
    /// Constraints, DEFAULT, GENERATED.
    pub constraints: Vec<Constraint>,
    /// OPTIONS of a foreign table's column.
    pub fdw_options: Vec<DefElem>,
    /// Where it starts.
    pub pos: Pos,
}

/// A constraint of a column, table or domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// CONSTRAINT name.
    pub name: Option<String>,
    /// What.
    pub kind: ConstraintKind,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
    /// NOT VALID.
    pub not_valid: bool,
    /// ENFORCED; false for NOT ENFORCED.
    pub enforced: bool,
    /// NO INHERIT.
    pub no_inherit: bool,
    /// Where it starts.
    pub pos: Pos,
}

/// What a constraint is.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// NULL.
    Null,
    /// NOT NULL; a table constraint names the column.
    NotNull(Option<String>),
    /// DEFAULT.
    Default(Box<Expr>),
    /// GENERATED .. AS IDENTITY.
    Identity {
        /// ALWAYS.
        always: bool,
        /// Of the sequence.
        options: Vec<SeqOption>,
    },
    /// GENERATED ALWAYS AS (..).
    Generated {
        /// The value.
        expr: Box<Expr>,
        /// STORED; false is VIRTUAL.
        stored: bool,
        /// ALWAYS was written (else BY DEFAULT, which is refused later).
        always: bool,
    },
    /// CHECK.
    Check(Box<Expr>),
    /// UNIQUE.
    Unique(KeyConstraint),
    /// PRIMARY KEY.
    PrimaryKey(KeyConstraint),
    /// EXCLUDE.
    Exclude(Box<ExcludeConstraint>),
    /// REFERENCES / FOREIGN KEY.
    ForeignKey(Box<ForeignKey>),
}

/// UNIQUE and PRIMARY KEY.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct KeyConstraint {
    /// The columns; empty for a column constraint.
    pub columns: Vec<String>,
    /// WITHOUT OVERLAPS on the last column.
    pub without_overlaps: bool,
    /// NULLS NOT DISTINCT.
    pub nulls_not_distinct: bool,
    /// INCLUDE.
    pub including: Vec<String>,
    /// WITH.
    pub options: Vec<DefElem>,
    /// USING INDEX TABLESPACE.
    pub tablespace: Option<String>,
    /// USING INDEX: an index that exists.
    pub index: Option<String>,
}

/// EXCLUDE.
#[derive(Clone, Debug, PartialEq)]
pub struct ExcludeConstraint {
    /// USING.
    pub access_method: Option<String>,
    /// Elements and operators.
    pub elems: Vec<(IndexElem, OpName)>,
    /// INCLUDE.
    pub including: Vec<String>,
    /// WITH.
    pub options: Vec<DefElem>,
    /// USING INDEX TABLESPACE.
    pub tablespace: Option<String>,
    /// WHERE.
    pub predicate: Option<Expr>,
}

/// FOREIGN KEY.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKey {
    /// The referencing columns; empty for a column constraint.
    pub columns: Vec<String>,
    /// PERIOD before the last of them.
    pub period: bool,
    /// The referenced table.
    pub target: RelName,
    /// The referenced columns; empty is the primary key.
    pub target_columns: Vec<String>,
    /// PERIOD before the last of them.
    pub target_period: bool,
    /// MATCH.
    pub matching: FkMatch,
    /// ON DELETE.
    pub on_delete: FkAction,
    /// ON DELETE SET .. (columns).
    pub delete_columns: Vec<String>,
    /// ON UPDATE.
    pub on_update: FkAction,
}

/// MATCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FkMatch {
    Simple,
    Full,
    Partial,
}

/// Referential actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FkAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionSpec {
    /// Strategy as written: list, range, hash.
    pub strategy: String,
    /// The key; name or expression, collation and opclass are used of each.
    pub elems: Vec<IndexElem>,
    /// Where PARTITION stands.
    pub pos: Pos,
}

/// FOR VALUES ..
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum PartitionBound {
    Default {
        pos: Pos,
    },
    /// Names and numbers of WITH (..).
    Hash {
        modulus: i32,
        remainder: i32,
        pos: Pos,
    },
    List {
        values: Vec<Expr>,
        pos: Pos,
    },
    /// MINVALUE and MAXVALUE are columns of these names.
    Range {
        lower: Vec<Expr>,
        upper: Vec<Expr>,
        pos: Pos,
    },
}

/// CREATE TABLE AS, CREATE MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAsStmt {
    /// The table.
    pub into: IntoClause,
    /// MATERIALIZED VIEW.
    pub matview: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// A query or EXECUTE.
    pub query: Stmt,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndexStmt {
    /// UNIQUE.
    pub unique: bool,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The name.
    pub name: Option<String>,
    /// The table.
    pub rel: RelName,
    /// ONLY.
    pub only: bool,
    /// USING; `btree` if not written.
    pub access_method: String,
    /// The key.
    pub elems: Vec<IndexElem>,
    /// INCLUDE.
    pub including: Vec<IndexElem>,
    /// NULLS NOT DISTINCT.
    pub nulls_not_distinct: bool,
    /// WITH.
    pub options: Vec<DefElem>,
    /// TABLESPACE.
    pub tablespace: Option<String>,
    /// WHERE.
    pub predicate: Option<Expr>,
}

/// An option of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct SeqOption {
    /// What.
    pub kind: SeqOptionKind,
    /// Where it starts.
    pub pos: Pos,
}

/// What an option of a sequence says; numbers are as written with their sign.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum SeqOptionKind {
    As(TypeName),
    Cache(String),
    Cycle(bool),
    Increment(String),
    MaxValue(Option<String>),
    MinValue(Option<String>),
    OwnedBy(Name),
    SequenceName(Name),
    Start(String),
    Restart(Option<String>),
    Logged(bool),
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequenceStmt {
    /// The sequence.
    pub rel: RelName,
    /// TEMP, UNLOGGED.
    pub persistence: Persistence,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Options.
    pub options: Vec<SeqOption>,
}

/// ALTER SEQUENCE with options.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequenceStmt {
    /// The sequence.
    pub rel: RelName,
    /// IF EXISTS.
    pub missing_ok: bool,
    /// Options.
    pub options: Vec<SeqOption>,
}

/// WITH CHECK OPTION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum CheckOption {
    None,
    Local,
    Cascaded,
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateViewStmt {
    /// The view.
    pub rel: RelName,
    /// TEMP, UNLOGGED.
    pub persistence: Persistence,
    /// OR REPLACE.
    pub replace: bool,
    /// RECURSIVE; the query is then already wrapped in its WITH.
    pub recursive: bool,
    /// Column names.
    pub columns: Vec<String>,
    /// WITH (..).
    pub options: Vec<DefElem>,
    /// The query.
    pub query: SelectStmt,
    /// WITH CHECK OPTION.
    pub check_option: CheckOption,
}

/// REFRESH MATERIALIZED VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct RefreshMatViewStmt {
    /// The view.
    pub rel: RelName,
    /// CONCURRENTLY.
    pub concurrently: bool,
    /// WITH NO DATA.
    pub no_data: bool,
}

/// CREATE SCHEMA.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchemaStmt {
    /// The name; none takes the role's.
    pub name: Option<String>,
    /// AUTHORIZATION.
    pub authorization: Option<RoleSpec>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Statements within.
    pub elements: Vec<RawStmtIn>,
}

/// A statement within CREATE SCHEMA.
pub type RawStmtIn = super::RawStmt;

/// CREATE DATABASE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabaseStmt {
    /// The name.
    pub name: String,
    /// Options.
    pub options: Vec<DefElem>,
}

/// DROP DATABASE.
#[derive(Clone, Debug, PartialEq)]
pub struct DropDatabaseStmt {
    /// The name.
    pub name: String,
    /// IF EXISTS.
    pub missing_ok: bool,
    /// Options.
    pub options: Vec<DefElem>,
}

/// ALTER DATABASE.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum AlterDatabaseStmt {
    Options { name: String, options: Vec<DefElem> },
    Set { name: String, set: SetStmt },
    RefreshCollation { name: String },
}

/// CREATE TABLESPACE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTablespaceStmt {
    /// The name.
    pub name: String,
    /// OWNER.
    pub owner: Option<RoleSpec>,
    /// LOCATION.
    pub location: String,
    /// WITH.
    pub options: Vec<DefElem>,
}

/// CREATE TYPE but for base types, which are a [`DefineStmt`].
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTypeStmt {
    /// The type.
    pub name: Name,
    /// What.
    pub kind: CreateTypeKind,
}

/// What CREATE TYPE makes.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum CreateTypeKind {
    Composite(Vec<ColumnDef>),
    Enum(Vec<String>),
    Range(Vec<DefElem>),
}

/// CREATE DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomainStmt {
    /// The domain.
    pub name: Name,
    /// The base type.
    pub type_name: TypeName,
    /// COLLATE.
    pub collation: Option<Name>,
    /// Constraints and DEFAULT.
    pub constraints: Vec<Constraint>,
}

/// ALTER DOMAIN.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDomainStmt {
    /// The domain.
    pub name: Name,
    /// What.
    pub action: AlterDomainAction,
}

/// What ALTER DOMAIN does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum AlterDomainAction {
    SetDefault(Expr),
    DropDefault,
    SetNotNull,
    DropNotNull,
    AddConstraint(Constraint),
    DropConstraint { name: String, missing_ok: bool, cascade: bool },
    ValidateConstraint(String),
}

/// ALTER TYPE of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterEnumStmt {
    /// The type.
    pub name: Name,
    /// RENAME VALUE: the old value.
    pub old_value: Option<String>,
    /// The new value; none for DROP VALUE, which PostgreSQL refuses.
    pub new_value: String,
    /// BEFORE / AFTER.
    pub neighbor: Option<String>,
    /// AFTER.
    pub after: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
}
