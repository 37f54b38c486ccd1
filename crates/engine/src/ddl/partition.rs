//! Partitions: bounds, ATTACH and DETACH.

use super::Ddl;
use base::{Error, Result};
use catalog::RelationDesc;
use parser::ast::{PartitionBound, RelName};

impl Ddl<'_> {
    /// ATTACH PARTITION.
    pub fn attach_partition(
        &self,
        _parent: &RelationDesc,
        _child: &RelName,
        _bound: Option<&PartitionBound>,
    ) -> Result<()> {
        Err(Error::unsupported("ATTACH PARTITION"))
    }

    /// DETACH PARTITION.
    pub fn detach_partition(&self, _parent: &RelationDesc, _child: &RelName) -> Result<()> {
        Err(Error::unsupported("DETACH PARTITION"))
    }
}

impl Ddl<'_> {
    /// Writes a partition's bound.
    pub(super) fn store_bound(
        &self,
        _child: base::Oid,
        _parent: &RelationDesc,
        _bound: &PartitionBound,
    ) -> Result<()> {
        Err(Error::unsupported("partitions"))
    }

    /// Writes a partitioned table's key.
    pub(super) fn store_partition_key(
        &self,
        _table: base::Oid,
        _spec: &parser::ast::PartitionSpec,
    ) -> Result<()> {
        Err(Error::unsupported("partitioning"))
    }

    /// A partition gets the indexes its parent has.
    pub(super) fn inherit_indexes(&self, _child: base::Oid, _parent: &RelationDesc) -> Result<()> {
        Err(Error::unsupported("partitions"))
    }
}
