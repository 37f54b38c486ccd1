//! Which commands which kinds of relations take.

use base::{Error, Result, err};
use catalog::{RelKind, RelationDesc};
use parser::ast::{AlterTableKind, TriggerState};

/// The command as messages name it.
pub(super) fn action_name(kind: &AlterTableKind) -> &'static str {
    use AlterTableKind::*;
    match kind {
        AddColumn { .. } => "ADD COLUMN",
        DropColumn { .. } => "DROP COLUMN",
        AlterColumnType { .. } => "ALTER COLUMN ... SET DATA TYPE",
        SetDefault { .. } | DropDefault { .. } => "ALTER COLUMN ... SET DEFAULT",
        SetNotNull { .. } => "ALTER COLUMN ... SET NOT NULL",
        DropNotNull { .. } => "ALTER COLUMN ... DROP NOT NULL",
        SetExpression { .. } => "ALTER COLUMN ... SET EXPRESSION",
        DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
        SetStatistics { .. } => "ALTER COLUMN ... SET STATISTICS",
        SetColumnOptions { .. } => "ALTER COLUMN ... SET",
        ResetColumnOptions { .. } => "ALTER COLUMN ... RESET",
        SetStorage { .. } => "ALTER COLUMN ... SET STORAGE",
        SetCompression { .. } => "ALTER COLUMN ... SET COMPRESSION",
        AddIdentity { .. } => "ALTER COLUMN ... ADD IDENTITY",
        SetIdentity { .. } => "ALTER COLUMN ... SET",
        DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
        ColumnFdwOptions { .. } => "ALTER COLUMN ... OPTIONS",
        AddConstraint(_) => "ADD CONSTRAINT",
        AlterConstraint { .. } => "ALTER CONSTRAINT",
        ValidateConstraint(_) => "VALIDATE CONSTRAINT",
        DropConstraint { .. } => "DROP CONSTRAINT",
        ClusterOn(_) => "CLUSTER ON",
        SetWithoutCluster => "SET WITHOUT CLUSTER",
        SetWithoutOids => "SET WITHOUT OIDS",
        SetLogged => "SET LOGGED",
        SetUnlogged => "SET UNLOGGED",
        Trigger { state, .. } => match state {
            TriggerState::Disable => "DISABLE TRIGGER",
            _ => "ENABLE TRIGGER",
        },
        Rule { state, .. } => match state {
            TriggerState::Disable => "DISABLE RULE",
            _ => "ENABLE RULE",
        },
        Inherit(_) => "INHERIT",
        NoInherit(_) => "NO INHERIT",
        Of(_) => "OF",
        NotOf => "NOT OF",
        Owner(_) => "OWNER TO",
        SetAccessMethod(_) => "SET ACCESS METHOD",
        SetTablespace(_) => "SET TABLESPACE",
        SetOptions(_) => "SET",
        ResetOptions(_) => "RESET",
        ReplicaIdentity(_) => "REPLICA IDENTITY",
        RowSecurity(true) => "ENABLE ROW SECURITY",
        RowSecurity(false) => "DISABLE ROW SECURITY",
        ForceRowSecurity(true) => "FORCE ROW SECURITY",
        ForceRowSecurity(false) => "NO FORCE ROW SECURITY",
        FdwOptions(_) => "OPTIONS",
        AttachPartition { .. } => "ATTACH PARTITION",
        DetachPartition { .. } => "DETACH PARTITION",
        FinalizeDetach(_) => "DETACH PARTITION ... FINALIZE",
    }
}

/// The kinds of relations that a command is for.
fn kinds_of(kind: &AlterTableKind) -> &'static [RelKind] {
    use AlterTableKind::*;
    use RelKind::{
        Composite, Foreign, Index, MatView, Partitioned, PartitionedIndex, Sequence, Table, View,
    };
    match kind {
        AddColumn { .. } | DropColumn { .. } | AlterColumnType { .. } => {
            &[Table, Partitioned, Composite, Foreign]
        }
        SetDefault { .. } | DropDefault { .. } => &[Table, Partitioned, View, Foreign],
        AddIdentity { .. } | SetIdentity { .. } | DropIdentity { .. } => {
            &[Table, Partitioned, View, Foreign]
        }
        SetStatistics { .. } => &[Table, Partitioned, MatView, Index, PartitionedIndex, Foreign],
        SetColumnOptions { .. } | ResetColumnOptions { .. } | SetStorage { .. } => {
            &[Table, Partitioned, MatView, Foreign]
        }
        SetCompression { .. } => &[Table, Partitioned, MatView],
        ClusterOn(_) | SetWithoutCluster => &[Table, Partitioned, MatView],
        SetLogged | SetUnlogged => &[Table, Sequence],
        SetAccessMethod(_) => &[Table, Partitioned, MatView],
        SetTablespace(_) => &[Table, Partitioned, MatView, Index, PartitionedIndex],
        SetOptions(_) | ResetOptions(_) => {
            &[Table, Partitioned, View, MatView, Index, PartitionedIndex]
        }
        ReplicaIdentity(_) => &[Table, Partitioned, MatView],
        Rule { .. } => &[Table, Partitioned, View],
        Trigger { .. } | Inherit(_) | NoInherit(_) => &[Table, Partitioned, Foreign],
        Of(_) | NotOf | RowSecurity(_) | ForceRowSecurity(_) => &[Table, Partitioned],
        Owner(_) => &[
            Table,
            Partitioned,
            View,
            MatView,
            Index,
            PartitionedIndex,
            Foreign,
            Composite,
            Sequence,
        ],
        AttachPartition { .. } => &[Partitioned, PartitionedIndex],
        DetachPartition { .. } | FinalizeDetach(_) => &[Partitioned],
        ColumnFdwOptions { .. } | FdwOptions(_) => &[Foreign],
        _ => &[Table, Partitioned, Foreign],
    }
}

/// `This operation is not supported for views.`
pub(crate) fn not_supported(kind: RelKind) -> String {
    let noun = match kind {
        RelKind::Table => "tables",
        RelKind::Index => "indexes",
        RelKind::Sequence => "sequences",
        RelKind::Toast => "TOAST tables",
        RelKind::View => "views",
        RelKind::MatView => "materialized views",
        RelKind::Composite => "composite types",
        RelKind::Foreign => "foreign tables",
        RelKind::Partitioned => "partitioned tables",
        RelKind::PartitionedIndex => "partitioned indexes",
    };
    format!("This operation is not supported for {noun}.")
}

/// The error of a relation that no command can have as a table.
pub(crate) fn not_opened(rel: &RelationDesc) -> Error {
    err!(WRONG_OBJECT_TYPE, "cannot open relation \"{}\"", rel.name).detail(not_supported(rel.kind))
}

/// Fails if the relation is of a kind the command is not for.
pub(super) fn check_kind(rel: &RelationDesc, kind: &AlterTableKind) -> Result<()> {
    if kinds_of(kind).contains(&rel.kind) {
        return Ok(());
    }
    Err(refused(rel, action_name(kind)))
}

/// The error of a relation of a kind that the action is not for.
pub(crate) fn refused(rel: &RelationDesc, action: &str) -> Error {
    err!(
        WRONG_OBJECT_TYPE,
        "ALTER action {action} cannot be performed on relation \"{}\"",
        rel.name
    )
    .detail(not_supported(rel.kind))
}
