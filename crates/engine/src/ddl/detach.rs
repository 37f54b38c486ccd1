//! DETACH PARTITION.

use super::Ddl;
use base::{Oid, Result, bail, err};
use catalog::depend::{self, ObjectAddress};
use catalog::partition::{BoundKind, PartitionBound as StoredBound, Partitioning};
use catalog::{RelationDesc, indexes, oids};
use parser::ast::{LockMode, RelName};
use types::Datum;

impl Ddl<'_> {
    /// DETACH PARTITION.
    pub fn detach_partition(
        &self,
        parent: &RelationDesc,
        name: &RelName,
        concurrently: bool,
    ) -> Result<()> {
        if concurrently {
            self.storage.prevent_in_block("ALTER TABLE ... DETACH CONCURRENTLY")?;
            if Partitioning::load(&self.view, parent)?.default.is_some() {
                bail!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "cannot detach partitions concurrently when a default partition exists"
                );
            }
        }
        let child = self.view.require_relation(name.schema.as_deref(), &name.name)?;
        self.storage.lock(child.oid, LockMode::AccessExclusive)?;
        let child = self.view.relation(child.oid)?;
        self.check_detached(&child)?;
        let kept = crate::sysfn::partition::constraint_of(&self.view, &child)?;
        self.remove_parent(&child, parent)?;
        let hashed = parent.partition_key.as_ref().is_some_and(|k| k.strategy == b'h');
        // What a hash-partitioned table says of its partitions' rows means nothing without it.
        if concurrently && !hashed {
            self.keep_as_check(&child, kept)?;
        }
        let default = child.partition_bound.as_deref().map(StoredBound::parse).transpose()?;
        let mut class = self.class_row(child.oid)?;
        class.set("relpartbound", Datum::Null)?.set_bool("relispartition", false)?;
        self.rows.update(class)?;
        self.rows.update(self.class_row(parent.oid)?)?;
        if default.is_some_and(|b| b.kind == BoundKind::Default) {
            let key = [Datum::U32(parent.oid.0)];
            for mut row in self.rows.index_scan(indexes::PG_PARTITIONED_TABLE_PARTRELID, &key)? {
                row.set_oid("partdefid", Oid::INVALID)?;
                self.rows.update(row)?;
            }
        }
        for (i, a) in child.tuple.attrs.iter().enumerate() {
            if a.identity != 0 && !a.dropped {
                let mut row = self.column_row(child.oid, i as i16 + 1)?;
                row.set_char("attidentity", 0)?;
                self.rows.update(row)?;
            }
        }
        for index in &child.indexes {
            self.unlink_index(index.oid)?;
        }
        self.drop_inherited_triggers(&child)?;
        self.detach_foreign_keys(&child)?;
        let own = |c: &&catalog::ConstraintDesc| c.parent.is_valid() && c.kind != b'f';
        for c in child.constraints.iter().filter(own) {
            let mut row = self.constraint_row(c.oid)?;
            row.set_oid("conparentid", Oid::INVALID)?
                .set_bool("conislocal", true)?
                .set_i16("coninhcount", 0)?;
            self.rows.update(row)?;
            let own = ObjectAddress::new(oids::PG_CONSTRAINT, c.oid);
            let above = ObjectAddress::new(oids::PG_CONSTRAINT, c.parent);
            depend::forget_one(self.rows, own, above)?;
        }
        Ok(())
    }

    /// DETACH PARTITION .. FINALIZE. A detachment is done at once, so that there is none to end.
    pub fn finalize_detach(&self, parent: &RelationDesc, name: &RelName) -> Result<()> {
        let child = self.view.require_relation(name.schema.as_deref(), &name.name)?;
        self.storage.lock(child.oid, LockMode::AccessExclusive)?;
        let child = self.view.relation(child.oid)?;
        if !child.parents.contains(&parent.oid) {
            bail!(
                UNDEFINED_TABLE,
                "relation \"{}\" is not a partition of relation \"{}\"",
                child.name,
                parent.name
            );
        }
        Err(err!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "cannot complete detaching partition \"{}\"",
            child.name
        )
        .detail("There's no pending concurrent detach."))
    }

    /// What held for a partition's rows becomes a check, unless its checks say so already.
    fn keep_as_check(&self, child: &RelationDesc, kept: Vec<ir::Expr>) -> Result<()> {
        let mut told: Vec<ir::Expr> = Vec::new();
        for c in child.constraints.iter().filter(|c| c.kind == b'c' && c.validated) {
            let Some(text) = &c.expr else { continue };
            match crate::cook::from_text(text)? {
                ir::Expr::Bool { op: ir::BoolOp::And, args, .. } => told.extend(args),
                other => told.push(other),
            }
        }
        if kept.iter().all(|k| told.iter().any(|t| super::inherit::same_expr(t, k))) {
            return Ok(());
        }
        let Some(expr) = ir::walk::conjoin(kept) else { return Ok(()) };
        let column = match crate::cook::columns_of(&expr)[..] {
            [n] if n > 0 => Some(child.tuple.attrs[n as usize - 1].name.to_string()),
            _ => None,
        };
        let column = column.as_deref();
        let name =
            self.choose_constraint_name(&child.name, column, "check", child.namespace, &[])?;
        let new = super::key::NewConstraint::new(&name, child.namespace, b'c', child.oid);
        self.store_check(child.oid, &expr, new)
    }

    fn unlink_index(&self, index: Oid) -> Result<()> {
        let key = [Datum::U32(index.0)];
        for row in self.rows.index_scan(indexes::PG_INHERITS_RELID, &key)? {
            let above = ObjectAddress::relation(row.oid("inhparent")?);
            self.rows.delete(&row)?;
            depend::forget_one(self.rows, ObjectAddress::relation(index), above)?;
        }
        let mut class = self.class_row(index)?;
        class.set_bool("relispartition", false)?;
        self.rows.update(class)?;
        Ok(())
    }
}
