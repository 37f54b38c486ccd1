//! Commands about the whole relation: options, owner, parents, row security, triggers, rules.

use super::Alter;
use crate::ddl::Ddl;
use crate::ddl::reloption::{self, Holder};
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{Persistence, RelKind, RelationDesc, indexes, oids};
use parser::ast::{AlterTableKind, DefElem, LockMode, ReplicaIdentity, TriggerState};
use std::sync::Arc;
use types::Datum;

pub(in crate::ddl) fn state_letter(state: TriggerState) -> u8 {
    match state {
        TriggerState::Enable => b'O',
        TriggerState::Disable => b'D',
        TriggerState::EnableReplica => b'R',
        TriggerState::EnableAlways => b'A',
    }
}

impl Alter<'_, '_> {
    pub(super) fn relation_command(
        &self,
        rel: &Arc<RelationDesc>,
        kind: &AlterTableKind,
    ) -> Result<()> {
        let ddl = self.ddl;
        match kind {
            AlterTableKind::SetOptions(options) => self.set_options(rel, options, false),
            AlterTableKind::ResetOptions(options) => self.set_options(rel, options, true),
            AlterTableKind::Owner(role) => ddl.change_owner(rel.oid, ddl.role_oid(role)?),
            AlterTableKind::RowSecurity(on) => self.set_class_bool(rel, "relrowsecurity", *on),
            AlterTableKind::ForceRowSecurity(on) => {
                self.set_class_bool(rel, "relforcerowsecurity", *on)
            }
            AlterTableKind::Rule { state, name } => self.set_rule(rel, *state, name),
            AlterTableKind::Inherit(parent) => {
                let parent = ddl.view.require_relation(parent.schema.as_deref(), &parent.name)?;
                ddl.storage.lock(parent.oid, LockMode::ShareUpdateExclusive)?;
                ddl.add_parent(rel, &parent)
            }
            AlterTableKind::NoInherit(parent) => {
                let parent = ddl.view.require_relation(parent.schema.as_deref(), &parent.name)?;
                if rel.is_partition {
                    bail!(WRONG_OBJECT_TYPE, "cannot change inheritance of a partition");
                }
                ddl.remove_parent(rel, &parent)
            }
            AlterTableKind::ReplicaIdentity(identity) => self.replica_identity(rel, identity),
            AlterTableKind::ClusterOn(index) => self.cluster_on(rel, Some(index)),
            AlterTableKind::SetWithoutCluster => self.cluster_on(rel, None),
            AlterTableKind::SetWithoutOids => Ok(()),
            AlterTableKind::SetLogged => self.set_persistence(rel, Persistence::Permanent),
            AlterTableKind::SetUnlogged => self.set_persistence(rel, Persistence::Unlogged),
            AlterTableKind::SetAccessMethod(name) => ddl.set_access_method(rel, name.as_deref()),
            AlterTableKind::SetTablespace(name) => {
                let space = ddl.tablespace(Some(name))?;
                if space == rel.tablespace {
                    return Ok(());
                }
                self.move_to_tablespace(rel, space)
            }
            AlterTableKind::Trigger { state, target } => ddl.set_trigger_state(rel, *state, target),
            AlterTableKind::FdwOptions(options) => ddl.alter_table_options(rel.oid, options),
            AlterTableKind::ColumnFdwOptions { column, options } => {
                let n = self.column(rel, column)?;
                ddl.alter_column_options(rel.oid, n, options)
            }
            AlterTableKind::NotOf => {
                if !rel.of_type.is_valid() {
                    bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a typed table", rel.name);
                }
                let own = ObjectAddress::relation(rel.oid);
                let ty = ObjectAddress::new(oids::PG_TYPE, rel.of_type);
                depend::forget_one(ddl.rows, own, ty)?;
                let mut class = ddl.class_row(rel.oid)?;
                class.set_oid("reloftype", Oid::INVALID)?;
                ddl.rows.update(class)?;
                Ok(())
            }
            AlterTableKind::Of(name) => self.of_type(rel, name),
            AlterTableKind::AttachPartition { rel: child, bound } => {
                ddl.attach_partition(rel, child, bound.as_ref())
            }
            AlterTableKind::DetachPartition { rel: child, concurrently } => {
                ddl.detach_partition(rel, child, *concurrently)
            }
            AlterTableKind::FinalizeDetach(child) => ddl.finalize_detach(rel, child),
            other => {
                let name = super::kind::action_name(other);
                Err(Error::unsupported(format!("ALTER TABLE {name}")))
            }
        }
    }

    fn set_class_bool(&self, rel: &RelationDesc, column: &str, value: bool) -> Result<()> {
        let mut class = self.ddl.class_row(rel.oid)?;
        class.set_bool(column, value)?;
        self.ddl.rows.update(class)?;
        Ok(())
    }

    fn set_options(&self, rel: &RelationDesc, options: &[DefElem], reset: bool) -> Result<()> {
        let holder = match rel.kind {
            RelKind::Index | RelKind::PartitionedIndex => Holder::Index,
            _ => Holder::Table,
        };
        reloption::check_namespaces(options, holder)?;
        if reset {
            reloption::refuse_values(options)?;
        }
        let (toast, own): (Vec<&DefElem>, Vec<&DefElem>) =
            options.iter().partition(|o| o.namespace.is_some());
        if rel.kind == RelKind::Partitioned && !own.is_empty() && !reset {
            let text = "cannot specify storage parameters for a partitioned table";
            return Err(err!(WRONG_OBJECT_TYPE, "{text}")
                .hint("Specify storage parameters for its leaf partitions instead."));
        }
        let mut all: Vec<String> = rel
            .options
            .iter()
            .filter(|(n, _)| !own.iter().any(|o| o.name == *n))
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        if !reset {
            let own: Vec<DefElem> = own.into_iter().cloned().collect();
            all.extend(match rel.kind {
                RelKind::View => crate::ddl::view::view_options(&own)?,
                _ => reloption::read(&own, holder)?,
            });
        }
        if rel.kind == RelKind::View
            && all.iter().any(|o| o.starts_with("check_option="))
            && let Some(text) = rel.view_query()
        {
            let queries: Vec<ir::Query> = crate::cook::from_text(text)?;
            if let Some(reason) = queries.first().and_then(|q| analyze::query_reason(q, true)) {
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "WITH CHECK OPTION is supported only on automatically updatable views"
                )
                .hint(reason));
            }
        }
        self.ddl.write_options(rel.oid, &all)?;
        if toast.is_empty() || !rel.toast.is_valid() {
            return Ok(());
        }
        let store = self.ddl.view.relation(rel.toast)?;
        let mut all: Vec<String> = store
            .options
            .iter()
            .filter(|(n, _)| !toast.iter().any(|o| o.name == *n))
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        if !reset {
            all.extend(reloption::of_toast(options)?);
        }
        self.ddl.write_options(rel.toast, &all)
    }

    fn set_rule(&self, rel: &RelationDesc, state: TriggerState, name: &str) -> Result<()> {
        let key = [Datum::U32(rel.oid.0), Datum::text(name)];
        let rows = self.ddl.rows.index_scan(indexes::PG_REWRITE_REL, &key)?;
        let Some(mut row) = rows.into_iter().next() else {
            bail!(UNDEFINED_OBJECT, "rule \"{name}\" for relation \"{}\" does not exist", rel.name);
        };
        row.set_char("ev_enabled", state_letter(state))?;
        self.ddl.rows.update(row)?;
        Ok(())
    }

    fn replica_identity(&self, rel: &RelationDesc, identity: &ReplicaIdentity) -> Result<()> {
        let ddl = self.ddl;
        let (letter, index) = match identity {
            ReplicaIdentity::Default => (b'd', None),
            ReplicaIdentity::Full => (b'f', None),
            ReplicaIdentity::Nothing => (b'n', None),
            ReplicaIdentity::Index(name) => {
                let Some(other) = ddl.view.relation_oid_in(rel.namespace, name)? else {
                    bail!(
                        UNDEFINED_OBJECT,
                        "index \"{name}\" for table \"{}\" does not exist",
                        rel.name
                    );
                };
                let Some(index) = rel.indexes.iter().find(|i| i.oid == other) else {
                    bail!(
                        WRONG_OBJECT_TYPE,
                        "\"{name}\" is not an index for table \"{}\"",
                        rel.name
                    );
                };
                if !index.is_unique {
                    bail!(
                        WRONG_OBJECT_TYPE,
                        "cannot use non-unique index \"{name}\" as replica identity"
                    );
                }
                if !index.is_immediate {
                    bail!(
                        FEATURE_NOT_SUPPORTED,
                        "cannot use non-immediate index \"{name}\" as replica identity"
                    );
                }
                if index.exprs.is_some() {
                    bail!(
                        FEATURE_NOT_SUPPORTED,
                        "cannot use expression index \"{name}\" as replica identity"
                    );
                }
                if index.predicate.is_some() {
                    bail!(
                        FEATURE_NOT_SUPPORTED,
                        "cannot use partial index \"{name}\" as replica identity"
                    );
                }
                for n in &index.columns[..usize::from(index.n_keys)] {
                    let attr = &rel.tuple.attrs[*n as usize - 1];
                    if !attr.not_null {
                        bail!(
                            WRONG_OBJECT_TYPE,
                            "index \"{name}\" cannot be used as replica identity because column \
                             \"{}\" is nullable",
                            attr.name
                        );
                    }
                }
                (b'i', Some(index.oid))
            }
        };
        let mut class = ddl.class_row(rel.oid)?;
        class.set_char("relreplident", letter)?;
        ddl.rows.update(class)?;
        for i in &rel.indexes {
            if i.is_replica_identity != (Some(i.oid) == index) {
                let mut row = ddl.index_row(i.oid)?;
                row.set_bool("indisreplident", Some(i.oid) == index)?;
                ddl.rows.update(row)?;
            }
        }
        Ok(())
    }

    fn cluster_on(&self, rel: &RelationDesc, name: Option<&str>) -> Result<()> {
        let ddl = self.ddl;
        let index = match name {
            None => None,
            Some(name) => {
                let Some(oid) = ddl.view.relation_oid_in(rel.namespace, name)? else {
                    bail!(
                        UNDEFINED_OBJECT,
                        "index \"{name}\" for table \"{}\" does not exist",
                        rel.name
                    );
                };
                let Some(index) = rel.indexes.iter().find(|i| i.oid == oid) else {
                    bail!(
                        WRONG_OBJECT_TYPE,
                        "\"{name}\" is not an index for table \"{}\"",
                        rel.name
                    );
                };
                if index.predicate.is_some() {
                    bail!(FEATURE_NOT_SUPPORTED, "cannot cluster on partial index \"{name}\"");
                }
                Some(oid)
            }
        };
        for i in &rel.indexes {
            if i.is_clustered != (Some(i.oid) == index) {
                let mut row = ddl.index_row(i.oid)?;
                row.set_bool("indisclustered", Some(i.oid) == index)?;
                ddl.rows.update(row)?;
            }
        }
        Ok(())
    }

    fn move_to_tablespace(&self, rel: &Arc<RelationDesc>, named: Oid) -> Result<()> {
        let ddl = self.ddl;
        let space = match named.is_valid() {
            true => named,
            false => ddl.view.database(ddl.view.context().database)?.tablespace,
        };
        if !rel.kind.has_storage() {
            let mut class = ddl.class_row(rel.oid)?;
            class.set_oid("reltablespace", named)?;
            ddl.rows.update(class)?;
            return Ok(());
        }
        if let Some(index) = &rel.index {
            ddl.new_file_in(rel, named, space)?;
            let table = ddl.view.relation(index.table)?;
            return match table.indexes.iter().find(|i| i.oid == rel.oid) {
                Some(index) => ddl.storage.build_index(&table, index).map(drop),
                None => Ok(()),
            };
        }
        ddl.storage.open(rel)?;
        ddl.new_file_in(rel, named, space)?;
        if rel.toast.is_valid() {
            let toast = ddl.view.relation(rel.toast)?;
            ddl.new_file_in(&toast, named, space)?;
            for index in &toast.indexes {
                ddl.new_file_in(&*ddl.view.relation(index.oid)?, named, space)?;
            }
            ddl.new_index_files(toast.oid)?;
        }
        let new = ddl.view.relation(rel.oid)?;
        ddl.storage.rewrite(rel, &new, &[])?;
        // Indexes stay where they are, but their entries lead elsewhere.
        ddl.new_index_files(rel.oid)
    }

    fn set_persistence(&self, rel: &Arc<RelationDesc>, persistence: Persistence) -> Result<()> {
        let ddl = self.ddl;
        if rel.persistence == Persistence::Temp {
            return Err(err!(
                INVALID_TABLE_DEFINITION,
                "cannot change logged status of table \"{}\" because it is temporary",
                rel.name
            ));
        }
        if rel.persistence == persistence {
            return Ok(());
        }
        let foreign = rel.constraints.iter().chain(&rel.referenced_by).filter(|c| c.kind == b'f');
        for fk in foreign {
            let other = match fk.relation == rel.oid {
                true => fk.foreign.as_ref().map_or(rel.oid, |f| f.table),
                false => fk.relation,
            };
            if other == rel.oid {
                continue;
            }
            let other = ddl.view.relation(other)?;
            let to_permanent = persistence == Persistence::Permanent;
            let own_key = fk.relation == rel.oid;
            if to_permanent && own_key && other.persistence != Persistence::Permanent {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "could not change table \"{}\" to logged because it references unlogged table \
                     \"{}\"",
                    rel.name,
                    other.name
                );
            }
            if !to_permanent && !own_key && other.persistence == Persistence::Permanent {
                bail!(
                    INVALID_TABLE_DEFINITION,
                    "could not change table \"{}\" to unlogged because it references logged table \
                     \"{}\"",
                    rel.name,
                    other.name
                );
            }
        }
        ddl.storage.open(rel)?;
        let mut all = vec![rel.oid];
        all.extend(rel.indexes.iter().map(|i| i.oid));
        if rel.toast.is_valid() {
            let toast = ddl.view.relation(rel.toast)?;
            all.push(toast.oid);
            all.extend(toast.indexes.iter().map(|i| i.oid));
        }
        for oid in all {
            let mut class = ddl.class_row(oid)?;
            class.set_char("relpersistence", persistence.as_u8())?;
            ddl.rows.update(class)?;
        }
        let new = ddl.view.relation(rel.oid)?;
        ddl.new_files_without_indexes(&new)?;
        let new = ddl.view.relation(rel.oid)?;
        ddl.storage.rewrite(rel, &new, &[])?;
        ddl.new_index_files(rel.oid)?;
        for d in depend::dependents_of(ddl.rows, ObjectAddress::relation(rel.oid))? {
            if d.depender.class != oids::PG_CLASS {
                continue;
            }
            let Some(sequence) = ddl.view.find_relation(d.depender.object)? else { continue };
            if sequence.kind == RelKind::Sequence && sequence.persistence != persistence {
                ddl.set_sequence_persistence(&sequence, persistence)?;
            }
        }
        Ok(())
    }

    fn of_type(&self, rel: &RelationDesc, name: &parser::ast::TypeName) -> Result<()> {
        let ddl = self.ddl;
        let ty = ddl.resolve_type(name)?;
        let desc = ddl.view.type_(ty.oid)?;
        if desc.kind != b'c' {
            bail!(
                WRONG_OBJECT_TYPE,
                "type {} is not a composite type",
                ddl.format_type(ty.oid, -1)
            );
        }
        if !rel.parents.is_empty() {
            bail!(WRONG_OBJECT_TYPE, "typed tables cannot inherit");
        }
        let shape = ddl.view.relation(desc.relation)?;
        let own: Vec<_> = rel.tuple.attrs.iter().filter(|a| !a.dropped).collect();
        let wanted: Vec<_> = shape.tuple.attrs.iter().filter(|a| !a.dropped).collect();
        for (i, w) in wanted.iter().enumerate() {
            let Some(a) = own.get(i) else {
                bail!(DATATYPE_MISMATCH, "table is missing column \"{}\"", w.name);
            };
            if a.name != w.name {
                bail!(
                    DATATYPE_MISMATCH,
                    "table has column \"{}\" where type requires \"{}\"",
                    a.name,
                    w.name
                );
            }
            if a.type_oid != w.type_oid || a.typmod != w.typmod || a.collation != w.collation {
                bail!(
                    DATATYPE_MISMATCH,
                    "table \"{}\" has different type for column \"{}\"",
                    rel.name,
                    w.name
                );
            }
        }
        if let Some(extra) = own.get(wanted.len()) {
            bail!(DATATYPE_MISMATCH, "table has extra column \"{}\"", extra.name);
        }
        let address = ObjectAddress::relation(rel.oid);
        if rel.of_type.is_valid() {
            let old = ObjectAddress::new(oids::PG_TYPE, rel.of_type);
            depend::forget_one(ddl.rows, address, old)?;
        }
        let new = ObjectAddress::new(oids::PG_TYPE, ty.oid);
        depend::record(ddl.rows, address, new, DependKind::Normal)?;
        let mut class = ddl.class_row(rel.oid)?;
        class.set_oid("reloftype", ty.oid)?;
        ddl.rows.update(class)?;
        Ok(())
    }
}

impl Ddl<'_> {
    /// Gives a relation, its indexes, owned sequences, TOAST table and types another owner.
    pub fn change_owner(&self, oid: Oid, owner: Oid) -> Result<()> {
        let rel = self.view.relation(oid)?;
        if matches!(rel.kind, RelKind::Index | RelKind::PartitionedIndex) {
            let e = Error::with_severity(
                base::Severity::Warning,
                base::SqlState::WRONG_OBJECT_TYPE,
                format!("cannot change owner of index \"{}\"", rel.name),
            );
            self.notice(e.hint("Change the ownership of the index's table instead."));
            return Ok(());
        }
        if rel.owner == owner {
            return Ok(());
        }
        self.check_new_owner(Some(rel.namespace), owner)?;
        self.set_owner(ObjectAddress::relation(oid), owner)
    }
}
