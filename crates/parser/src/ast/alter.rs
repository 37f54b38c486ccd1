//! ALTER and DROP of what many kinds of object share.

use super::*;

/// ALTER TABLE, INDEX, VIEW, SEQUENCE, MATERIALIZED VIEW, FOREIGN TABLE, TYPE (composite).
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTableStmt {
    /// The word after ALTER.
    pub kind: ObjectKind,
    /// The relation.
    pub rel: RelName,
    /// ONLY.
    pub only: bool,
    /// IF EXISTS.
    pub missing_ok: bool,
    /// The commands.
    pub commands: Vec<AlterTableCommand>,
}

/// A command of ALTER TABLE with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTableCommand {
    /// What.
    pub kind: AlterTableKind,
    /// Where it starts.
    pub pos: Pos,
}

/// What a command of ALTER TABLE does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum AlterTableKind {
    AddColumn {
        column: ColumnDef,
        if_not_exists: bool,
        cascade: bool,
    },
    DropColumn {
        name: String,
        missing_ok: bool,
        cascade: bool,
    },
    AlterColumnType {
        column: String,
        /// Where the column is named.
        pos: Pos,
        type_name: TypeName,
        collation: Option<Name>,
        using: Option<Expr>,
        cascade: bool,
    },
    SetDefault {
        column: String,
        default: Expr,
    },
    DropDefault {
        column: String,
    },
    SetNotNull {
        column: String,
    },
    DropNotNull {
        column: String,
    },
    SetExpression {
        column: String,
        expr: Expr,
    },
    DropExpression {
        column: String,
        missing_ok: bool,
    },
    /// The column by name or by number; the target, none for DEFAULT.
    SetStatistics {
        column: Result<String, i32>,
        target: Option<i32>,
    },
    SetColumnOptions {
        column: String,
        options: Vec<DefElem>,
    },
    ResetColumnOptions {
        column: String,
        options: Vec<DefElem>,
    },
    SetStorage {
        column: String,
        storage: String,
    },
    SetCompression {
        column: String,
        method: String,
    },
    AddIdentity {
        column: String,
        always: bool,
        options: Vec<SeqOption>,
        pos: Pos,
    },
    /// SET GENERATED and sequence options.
    SetIdentity {
        column: String,
        always: Option<bool>,
        options: Vec<SeqOption>,
    },
    DropIdentity {
        column: String,
        missing_ok: bool,
    },
    ColumnFdwOptions {
        column: String,
        options: Vec<DefElem>,
    },
    AddConstraint(Constraint),
    AlterConstraint {
        name: String,
        deferrable: Option<bool>,
        initially_deferred: Option<bool>,
        enforced: Option<bool>,
        inherit: Option<bool>,
    },
    ValidateConstraint(String),
    DropConstraint {
        name: String,
        missing_ok: bool,
        cascade: bool,
    },
    ClusterOn(String),
    SetWithoutCluster,
    SetWithoutOids,
    SetLogged,
    SetUnlogged,
    /// By name; none is ALL or USER as `user` says.
    Trigger {
        state: TriggerState,
        target: TriggerTarget,
    },
    Rule {
        state: TriggerState,
        name: String,
    },
    Inherit(RelName),
    NoInherit(RelName),
    Of(TypeName),
    NotOf,
    Owner(RoleSpec),
    SetAccessMethod(Option<String>),
    SetTablespace(String),
    SetOptions(Vec<DefElem>),
    ResetOptions(Vec<DefElem>),
    ReplicaIdentity(ReplicaIdentity),
    RowSecurity(bool),
    ForceRowSecurity(bool),
    FdwOptions(Vec<DefElem>),
    AttachPartition {
        rel: RelName,
        bound: Option<PartitionBound>,
    },
    DetachPartition {
        rel: RelName,
        concurrently: bool,
    },
    FinalizeDetach(RelName),
}

/// Which triggers.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum TriggerTarget {
    Name(String),
    All,
    User,
}

/// REPLICA IDENTITY.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum ReplicaIdentity {
    Nothing,
    Full,
    Default,
    Index(String),
}

/// ALTER kind ALL IN TABLESPACE.
#[derive(Clone, Debug, PartialEq)]
pub struct MoveAllStmt {
    /// Table, index or materialized view.
    pub kind: ObjectKind,
    /// From.
    pub source: String,
    /// OWNED BY.
    pub roles: Vec<RoleSpec>,
    /// To.
    pub target: String,
    /// NOWAIT.
    pub nowait: bool,
}

/// ALTER .. RENAME.
#[derive(Clone, Debug, PartialEq)]
pub struct RenameStmt {
    /// What; a column, constraint, trigger.. has its relation as name and itself as member.
    pub object: Object,
    /// The word after ALTER, for columns: table, view, ...
    pub relation_kind: ObjectKind,
    /// The new name.
    pub new_name: String,
    /// IF EXISTS.
    pub missing_ok: bool,
    /// CASCADE of an attribute.
    pub cascade: bool,
}

/// ALTER .. SET SCHEMA.
#[derive(Clone, Debug, PartialEq)]
pub struct SetSchemaStmt {
    /// What.
    pub object: Object,
    /// To.
    pub schema: String,
    /// IF EXISTS.
    pub missing_ok: bool,
}

/// ALTER .. OWNER TO, but for relations, where it is a command of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnerStmt {
    /// What.
    pub object: Object,
    /// To.
    pub owner: RoleSpec,
}

/// ALTER .. [NO] DEPENDS ON EXTENSION.
#[derive(Clone, Debug, PartialEq)]
pub struct DependsStmt {
    /// What.
    pub object: Object,
    /// The extension.
    pub extension: String,
    /// NO.
    pub remove: bool,
}

/// DROP.
#[derive(Clone, Debug, PartialEq)]
pub struct DropStmt {
    /// Of what kind.
    pub kind: ObjectKind,
    /// Which.
    pub objects: Vec<Object>,
    /// IF EXISTS.
    pub missing_ok: bool,
    /// CASCADE.
    pub cascade: bool,
    /// CONCURRENTLY.
    pub concurrently: bool,
}
