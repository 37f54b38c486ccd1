//! Descriptors: what the rest of the system knows of catalog rows. Immutable and shared.

mod object;
mod relation;

pub use object::{
    AggregateDesc, AmopDesc, AmprocDesc, CastContext, CastDesc, CastMethod, CollationDesc,
    DatabaseDesc, EnumLabel, NamespaceDesc, OpclassDesc, OperatorDesc, OpfamilyDesc, ProcDesc,
    RoleDesc, TypeDesc,
};
pub use relation::{
    ConstraintDesc, ExtendedStatisticDesc, ForeignKey, IndexDesc, PartitionKeyDesc, Persistence,
    PolicyDesc, RelKind, RelationDesc, RuleDesc, SequenceDesc, StatisticDesc, StatisticSlot,
    TriggerDesc,
};

use std::sync::Arc;

/// A stored expression or query (`pg_node_tree`): the JSON text of the `ir` type it holds.
pub type NodeText = Arc<str>;
