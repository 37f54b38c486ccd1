//! Where a view's descriptors come from.

use crate::desc::*;
use base::{Oid, Result};
use std::sync::Arc;

/// Rows as descriptors, without regard to the search path. Each method gives what the
/// transaction sees now: committed rows and its own changes.
pub trait Source: Send + Sync {
    /// A number that changes whenever anything cached from this source may be stale.
    fn generation(&self) -> u64;
    /// A relation, by OID.
    fn relation(&self, oid: Oid) -> Result<Option<Arc<RelationDesc>>>;
    /// A relation's OID, by schema and name.
    fn relation_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>>;
    /// Direct children of a table, by OID.
    fn children(&self, parent: Oid) -> Result<Vec<Oid>>;
    /// A column's statistics: over the table alone, or with its children.
    fn statistic(
        &self,
        relation: Oid,
        attnum: i16,
        inherited: bool,
    ) -> Result<Option<Arc<StatisticDesc>>>;
    /// What is known of several columns of a table together.
    fn extended_statistics(&self, relation: Oid) -> Result<Arc<[Arc<ExtendedStatisticDesc>]>>;
    /// A sequence's parameters.
    fn sequence(&self, oid: Oid) -> Result<Option<Arc<SequenceDesc>>>;
    /// A constraint, by OID.
    fn constraint(&self, oid: Oid) -> Result<Option<Arc<ConstraintDesc>>>;
    /// The check constraints of a domain, by name.
    fn domain_constraints(&self, type_oid: Oid) -> Result<Arc<[ConstraintDesc]>>;
    /// A type, by OID.
    fn type_(&self, oid: Oid) -> Result<Option<Arc<TypeDesc>>>;
    /// A type's OID, by schema and name.
    fn type_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>>;
    /// The labels of an enum, in order.
    fn enum_labels(&self, type_oid: Oid) -> Result<Arc<[EnumLabel]>>;
    /// A label of an enum, by its OID.
    fn enum_label(&self, oid: Oid) -> Result<Option<EnumLabel>>;
    /// A function, by OID.
    fn proc(&self, oid: Oid) -> Result<Option<Arc<ProcDesc>>>;
    /// All functions of a name, in all schemas.
    fn procs_named(&self, name: &str) -> Result<Arc<[Arc<ProcDesc>]>>;
    /// What makes a function an aggregate.
    fn aggregate(&self, proc: Oid) -> Result<Option<Arc<AggregateDesc>>>;
    /// An operator, by OID.
    fn operator(&self, oid: Oid) -> Result<Option<Arc<OperatorDesc>>>;
    /// All operators of a name, in all schemas.
    fn operators_named(&self, name: &str) -> Result<Arc<[Arc<OperatorDesc>]>>;
    /// A cast.
    fn cast(&self, source: Oid, target: Oid) -> Result<Option<Arc<CastDesc>>>;
    /// An operator class, by OID.
    fn opclass(&self, oid: Oid) -> Result<Option<Arc<OpclassDesc>>>;
    /// All operator classes of an access method.
    fn opclasses_of(&self, am: Oid) -> Result<Arc<[Arc<OpclassDesc>]>>;
    /// An operator family, by OID.
    fn opfamily(&self, oid: Oid) -> Result<Option<Arc<OpfamilyDesc>>>;
    /// The operators of a family.
    fn amops_of_family(&self, family: Oid) -> Result<Arc<[AmopDesc]>>;
    /// The families an operator is in.
    fn amops_of_operator(&self, operator: Oid) -> Result<Arc<[AmopDesc]>>;
    /// The support functions of a family.
    fn amprocs_of_family(&self, family: Oid) -> Result<Arc<[AmprocDesc]>>;
    /// A collation, by OID.
    fn collation(&self, oid: Oid) -> Result<Option<Arc<CollationDesc>>>;
    /// A collation's OID, by schema and name.
    fn collation_oid(&self, namespace: Oid, name: &str) -> Result<Option<Oid>>;
    /// A schema, by OID.
    fn namespace(&self, oid: Oid) -> Result<Option<Arc<NamespaceDesc>>>;
    /// A schema, by name.
    fn namespace_named(&self, name: &str) -> Result<Option<Arc<NamespaceDesc>>>;
    /// A role, by OID.
    fn role(&self, oid: Oid) -> Result<Option<Arc<RoleDesc>>>;
    /// A role, by name.
    fn role_named(&self, name: &str) -> Result<Option<Arc<RoleDesc>>>;
    /// A database, by OID.
    fn database(&self, oid: Oid) -> Result<Option<Arc<DatabaseDesc>>>;
    /// A database, by name.
    fn database_named(&self, name: &str) -> Result<Option<Arc<DatabaseDesc>>>;
}
