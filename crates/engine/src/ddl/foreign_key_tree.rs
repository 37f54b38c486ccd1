//! Foreign keys of partitioned tables. A key is one row of `pg_constraint` for the two tables it
//! names, and one more for
//! - each partition of the table referred to: it carries the triggers there, and checks nothing;
//! - each partition of the referring table: it is what the partition's rows are checked by.

use super::Ddl;
use super::key::NewConstraint;
use base::{Oid, Result, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ConstraintDesc, ForeignKey, RelKind, RelationDesc, indexes, oids};
use parser::ast::LockMode;
use types::Datum;

/// The triggers of the constraint above, where there is none.
pub(super) const NO_TRIGGERS: (Oid, Oid) = (Oid::INVALID, Oid::INVALID);

/// A foreign key as it is made on one pair of tables after another.
#[derive(Clone)]
pub(super) struct KeyPlan {
    pub name: String,
    pub columns: Vec<i16>,
    pub foreign: ForeignKey,
    pub index: Oid,
    pub deferrable: bool,
    pub deferred: bool,
    pub enforced: bool,
    pub validated: bool,
}

impl KeyPlan {
    fn of(c: &ConstraintDesc) -> Option<KeyPlan> {
        Some(KeyPlan {
            name: c.name.to_string(),
            columns: c.columns.clone(),
            foreign: c.foreign.clone()?,
            index: c.index,
            deferrable: c.deferrable,
            deferred: c.deferred,
            enforced: c.enforced,
            validated: c.validated,
        })
    }

    /// True if the other stands for the same.
    fn same_as(&self, other: &KeyPlan) -> bool {
        let (a, b) = (&self.foreign, &other.foreign);
        let pairs = |k: &KeyPlan| {
            let mut all: Vec<(i16, i16)> =
                k.columns.iter().copied().zip(k.foreign.columns.iter().copied()).collect();
            all.sort_unstable();
            all
        };
        a.table == b.table
            && pairs(self) == pairs(other)
            && self.deferrable == other.deferrable
            && self.deferred == other.deferred
            && a.on_update == b.on_update
            && a.on_delete == b.on_delete
            && a.match_type == b.match_type
    }
}

/// The columns of `to` that are called as these of `from`.
fn mapped(from: &RelationDesc, to: &RelationDesc, columns: &[i16]) -> Vec<i16> {
    let number = |n: &i16| to.column_number(&from.tuple.attrs[*n as usize - 1].name).unwrap_or(0);
    columns.iter().map(number).collect()
}

fn constraint(oid: Oid) -> ObjectAddress {
    ObjectAddress::new(oids::PG_CONSTRAINT, oid)
}

impl Ddl<'_> {
    /// Writes one constraint of a foreign key's tree.
    pub(super) fn insert_foreign_key(
        &self,
        rel: &RelationDesc,
        key: &KeyPlan,
        parent: Oid,
    ) -> Result<Oid> {
        let inherited = parent.is_valid();
        self.insert_constraint(NewConstraint {
            columns: key.columns.clone(),
            index: key.index,
            foreign: Some(key.foreign.clone()),
            deferrable: key.deferrable,
            deferred: key.deferred,
            enforced: key.enforced,
            validated: key.validated,
            // What partitions take over is theirs too.
            no_inherit: !inherited && rel.kind != RelKind::Partitioned,
            is_local: !inherited,
            inherit_count: i16::from(inherited),
            parent,
            ..NewConstraint::new(&key.name, rel.namespace, b'f', rel.oid)
        })
    }

    /// What a new foreign key needs below both tables, and its triggers.
    pub(super) fn foreign_key_tree(
        &self,
        rel: &RelationDesc,
        target: &RelationDesc,
        key: &KeyPlan,
        oid: Oid,
        checks: (Oid, Oid),
    ) -> Result<()> {
        self.referenced_tree(rel, target, key, oid, NO_TRIGGERS)?;
        self.referencing_tree(rel, target, key, oid, checks)
    }

    /// Triggers on the table referred to, and constraints for its partitions.
    fn referenced_tree(
        &self,
        rel: &RelationDesc,
        target: &RelationDesc,
        key: &KeyPlan,
        oid: Oid,
        above: (Oid, Oid),
    ) -> Result<()> {
        let made = match key.enforced {
            true => self.insert_fk_triggers(oid, key, rel.oid, true, above)?,
            false => NO_TRIGGERS,
        };
        if target.kind == RelKind::Partitioned {
            for child in self.partitions_in_order(target)? {
                self.storage.lock(child, LockMode::ShareRowExclusive)?;
                self.referenced_part(rel, target, child, key, oid, made)?;
            }
        }
        Ok(())
    }

    fn referenced_part(
        &self,
        rel: &RelationDesc,
        target: &RelationDesc,
        child: Oid,
        key: &KeyPlan,
        parent: Oid,
        above: (Oid, Oid),
    ) -> Result<()> {
        let part = self.view.relation(child)?;
        let mut index = Oid::INVALID;
        for i in &part.indexes {
            if self.view.relation(i.oid)?.parents.contains(&key.index) {
                index = i.oid;
            }
        }
        if !index.is_valid() {
            return Err(err!(
                INTERNAL_ERROR,
                "index for {} not found in partition {}",
                key.index,
                part.name
            ));
        }
        let foreign = ForeignKey {
            table: child,
            columns: mapped(target, &part, &key.foreign.columns),
            ..key.foreign.clone()
        };
        let mut own = KeyPlan { foreign, index, ..key.clone() };
        let mut n = 1;
        while self.constraint_exists(rel.namespace, &format!("{}_{n}", key.name))? {
            n += 1;
        }
        own.name = format!("{}_{n}", key.name);
        let oid = self.insert_foreign_key(rel, &own, parent)?;
        depend::record(self.rows, constraint(oid), constraint(parent), DependKind::Internal)?;
        own.name.clone_from(&key.name);
        self.referenced_tree(rel, &part, &own, oid, above)
    }

    /// Triggers on the referring table, and constraints of its partitions.
    fn referencing_tree(
        &self,
        rel: &RelationDesc,
        target: &RelationDesc,
        key: &KeyPlan,
        oid: Oid,
        above: (Oid, Oid),
    ) -> Result<()> {
        let made = match key.enforced {
            true => self.insert_fk_triggers(oid, key, rel.oid, false, above)?,
            false => NO_TRIGGERS,
        };
        if rel.kind == RelKind::Partitioned {
            for child in self.partitions_in_order(rel)? {
                self.storage.lock(child, LockMode::ShareRowExclusive)?;
                self.referencing_part(rel, child, target, key, oid, made)?;
            }
        }
        Ok(())
    }

    /// A partition's own constraint; the OID if it was made and not there already.
    fn referencing_part(
        &self,
        parent: &RelationDesc,
        child: Oid,
        target: &RelationDesc,
        key: &KeyPlan,
        above: Oid,
        triggers: (Oid, Oid),
    ) -> Result<Option<Oid>> {
        let part = self.view.relation(child)?;
        let foreign = ForeignKey {
            delete_set_columns: mapped(parent, &part, &key.foreign.delete_set_columns),
            ..key.foreign.clone()
        };
        let columns = mapped(parent, &part, &key.columns);
        let mut own = KeyPlan { columns, foreign, ..key.clone() };
        for c in part.constraints.iter().filter(|c| c.kind == b'f' && !c.parent.is_valid()) {
            if KeyPlan::of(c).is_some_and(|k| k.same_as(&own)) {
                return self.adopt_foreign_key(&part, c, key, above, triggers);
            }
        }
        if part.constraints.iter().any(|c| *c.name == *own.name) {
            let names: Vec<String> = own
                .columns
                .iter()
                .map(|n| part.tuple.attrs[*n as usize - 1].name.to_string())
                .collect();
            let joined = super::index::join_names(&names);
            own.name = self.choose_constraint_name(
                &part.name,
                Some(&joined),
                "fkey",
                part.namespace,
                &[],
            )?;
        }
        let oid = self.insert_foreign_key(&part, &own, above)?;
        self.depend_partition(oid, above, child)?;
        own.name.clone_from(&key.name);
        self.referencing_tree(&part, target, &own, oid, triggers)?;
        Ok(Some(oid))
    }

    fn depend_partition(&self, oid: Oid, above: Oid, child: Oid) -> Result<()> {
        let own = constraint(oid);
        depend::record(self.rows, own, constraint(above), DependKind::PartitionPrimary)?;
        let table = ObjectAddress::relation(child);
        depend::record(self.rows, own, table, DependKind::PartitionSecondary)
    }

    /// A partition that comes with a like foreign key keeps it as a part of its parent's.
    fn adopt_foreign_key(
        &self,
        part: &RelationDesc,
        c: &ConstraintDesc,
        key: &KeyPlan,
        above: Oid,
        triggers: (Oid, Oid),
    ) -> Result<Option<Oid>> {
        let parent = self.view.constraint(above)?;
        if parent.enforced != c.enforced {
            let table = self.view.relation(parent.relation)?;
            return Err(err!(
                OBJECT_NOT_IN_PREREQUISITE_STATE,
                "constraint \"{}\" enforceability conflicts with constraint \"{}\" on relation \
                 \"{}\"",
                parent.name,
                c.name,
                part.name
            )
            .table("", &*table.name));
        }
        let mut row = self.constraint_row(c.oid)?;
        row.set_oid("conparentid", above)?
            .set_bool("conislocal", false)?
            .set_i16("coninhcount", 1)?;
        self.rows.update(row)?;
        self.depend_partition(c.oid, above, part.oid)?;
        // The parent's triggers act for the whole tree.
        for row in self.triggers_of(c.oid)? {
            let function = row.oid("tgfoid")?.0;
            let mut row = row;
            if matches!(function, 1644 | 1645) {
                let to = if function == 1644 { triggers.0 } else { triggers.1 };
                row.set_oid("tgparentid", to)?;
                self.rows.update(row)?;
            } else {
                let own = ObjectAddress::new(oids::PG_TRIGGER, row.oid("oid")?);
                depend::forget_one(self.rows, own, constraint(c.oid))?;
                self.drop_quietly(&[own])?;
            }
        }
        for below in self.constraints_below(c.oid)? {
            if below.relation == c.relation {
                depend::forget_one(self.rows, constraint(below.oid), constraint(c.oid))?;
                self.drop_quietly(&[constraint(below.oid)])?;
            }
        }
        self.refresh_key_tables(c)?;
        Ok((!c.validated && key.validated).then_some(c.oid))
    }

    /// Descriptors of both tables hold the constraint.
    fn refresh_key_tables(&self, c: &ConstraintDesc) -> Result<()> {
        let other = c.foreign.as_ref().map(|f| f.table);
        for table in [Some(c.relation), other].into_iter().flatten() {
            self.rows.update(self.class_row(table)?)?;
        }
        Ok(())
    }

    fn triggers_of(&self, oid: Oid) -> Result<Vec<catalog::SysRow>> {
        self.rows.index_scan(indexes::PG_TRIGGER_CONSTRAINT, &[Datum::U32(oid.0)])
    }

    /// The constraint's triggers of one table, by what they are for: delete or insert, update.
    fn triggers_on(&self, oid: Oid, table: Oid, actions: bool) -> Result<(Oid, Oid)> {
        let mut found = NO_TRIGGERS;
        for row in self.triggers_of(oid)? {
            let check = matches!(row.oid("tgfoid")?.0, 1644 | 1645);
            if row.oid("tgrelid")? == table && check != actions {
                match row.i16("tgtype")? {
                    17 => found.1 = row.oid("oid")?,
                    _ => found.0 = row.oid("oid")?,
                }
            }
        }
        Ok(found)
    }

    fn constraints_below(&self, oid: Oid) -> Result<Vec<ConstraintDesc>> {
        let key = [Datum::U32(oid.0)];
        let rows = self.rows.index_scan(indexes::PG_CONSTRAINT_PARENT, &key)?;
        let mut all = Vec::new();
        for row in rows {
            all.push(ConstraintDesc::clone(&*self.view.constraint(row.oid("oid")?)?));
        }
        all.sort_by_key(|c| c.oid);
        Ok(all)
    }

    /// A constraint and all that were made from it.
    pub(super) fn foreign_key_family(&self, c: &ConstraintDesc) -> Result<Vec<ConstraintDesc>> {
        let mut all = vec![c.clone()];
        let mut next = 0;
        while next < all.len() {
            let below = self.constraints_below(all[next].oid)?;
            all.extend(below);
            next += 1;
        }
        Ok(all)
    }

    /// A new partition takes part in the foreign keys of its parent and in those that refer to it.
    pub(super) fn inherit_foreign_keys(&self, child: Oid, parent: &RelationDesc) -> Result<()> {
        for c in &parent.referenced_by {
            let Some(key) = KeyPlan::of(c) else { continue };
            self.storage.lock(c.relation, LockMode::ShareRowExclusive)?;
            let rel = self.view.relation(c.relation)?;
            let triggers = self.triggers_on(c.oid, parent.oid, true)?;
            self.referenced_part(&rel, parent, child, &key, c.oid, triggers)?;
        }
        let keys = parent.constraints.iter().filter(|c| c.kind == b'f');
        for c in keys.clone() {
            if c.foreign.as_ref().is_some_and(|f| f.table == child) {
                let part = self.view.relation(child)?;
                return Err(err!(
                    INVALID_OBJECT_DEFINITION,
                    "cannot attach table \"{}\" as a partition because it is referenced by foreign \
                     key \"{}\"",
                    part.name,
                    c.name
                ));
            }
        }
        let own = |c: &&ConstraintDesc| !parent.constraints.iter().any(|p| p.oid == c.parent);
        for c in keys.filter(own) {
            let Some(key) = KeyPlan::of(c) else { continue };
            self.storage.lock(key.foreign.table, LockMode::ShareRowExclusive)?;
            let target = self.view.relation(key.foreign.table)?;
            let triggers = self.triggers_on(c.oid, parent.oid, false)?;
            let made = self.referencing_part(parent, child, &target, &key, c.oid, triggers)?;
            let Some(made) = made.filter(|_| key.validated && key.enforced) else { continue };
            for own in self.foreign_key_family(&*self.view.constraint(made)?)? {
                if !own.validated {
                    let mut row = self.constraint_row(own.oid)?;
                    row.set_bool("convalidated", true)?;
                    self.rows.update(row)?;
                }
                let rel = self.view.relation(own.relation)?;
                if rel.kind.has_storage() {
                    self.storage.check_foreign_key(&rel, &own)?;
                }
            }
        }
        Ok(())
    }

    /// A partition may only leave if nothing refers to its rows through its parent.
    pub(super) fn check_detached(&self, child: &RelationDesc) -> Result<()> {
        for c in child.referenced_by.iter().filter(|c| c.parent.is_valid()) {
            self.storage.lock(c.relation, LockMode::Share)?;
            self.storage.check_not_referenced(c)?;
        }
        Ok(())
    }

    /// What a partition's foreign keys are once it stands alone.
    pub(super) fn detach_foreign_keys(&self, child: &RelationDesc) -> Result<()> {
        let inherited = |c: &&ConstraintDesc| {
            c.kind == b'f'
                && c.parent.is_valid()
                && !child.constraints.iter().any(|p| p.oid == c.parent)
        };
        for c in child.constraints.iter().filter(inherited) {
            let Some(key) = KeyPlan::of(c) else { continue };
            let mut row = self.constraint_row(c.oid)?;
            row.set_oid("conparentid", Oid::INVALID)?
                .set_bool("conislocal", true)?
                .set_i16("coninhcount", 0)?;
            self.rows.update(row)?;
            depend::forget_one(self.rows, constraint(c.oid), constraint(c.parent))?;
            let table = ObjectAddress::relation(child.oid);
            depend::forget_one(self.rows, constraint(c.oid), table)?;
            for mut row in self.triggers_of(c.oid)? {
                row.set_oid("tgparentid", Oid::INVALID)?;
                self.rows.update(row)?;
            }
            // From now on it acts by itself.
            let target = self.view.relation(key.foreign.table)?;
            self.referenced_tree(child, &target, &key, c.oid, NO_TRIGGERS)?;
        }
        for c in child.referenced_by.iter().filter(|c| c.parent.is_valid()) {
            depend::forget_one(self.rows, constraint(c.oid), constraint(c.parent))?;
            self.drop_quietly(&[constraint(c.oid)])?;
        }
        Ok(())
    }

    /// ALTER CONSTRAINT: when one constraint of the tree is checked.
    pub(super) fn set_deferrable(
        &self,
        c: &ConstraintDesc,
        deferrable: bool,
        deferred: bool,
    ) -> Result<()> {
        let mut row = self.constraint_row(c.oid)?;
        row.set_bool("condeferrable", deferrable)?.set_bool("condeferred", deferred)?;
        self.rows.update(row)?;
        for mut row in self.triggers_of(c.oid)? {
            // Actions other than NO ACTION are never put off.
            if matches!(row.oid("tgfoid")?.0, 1644 | 1645 | 1654 | 1655) {
                row.set_bool("tgdeferrable", deferrable)?.set_bool("tginitdeferred", deferred)?;
                self.rows.update(row)?;
            }
        }
        Ok(())
    }

    /// NOT ENFORCED: nothing looks at the constraint any more.
    pub(super) fn stop_enforcing(&self, c: &ConstraintDesc) -> Result<()> {
        let mut row = self.constraint_row(c.oid)?;
        row.set_bool("conenforced", false)?.set_bool("convalidated", false)?;
        self.rows.update(row)?;
        for row in self.triggers_of(c.oid)? {
            let own = ObjectAddress::new(oids::PG_TRIGGER, row.oid("oid")?);
            depend::forget_one(self.rows, own, constraint(c.oid))?;
            self.drop_quietly(&[own])?;
        }
        Ok(())
    }

    /// ENFORCED: the triggers of a tree are made again.
    pub(super) fn enforce_foreign_key(&self, c: &ConstraintDesc) -> Result<()> {
        self.enforce_part(c, None, NO_TRIGGERS, NO_TRIGGERS)
    }

    fn enforce_part(
        &self,
        c: &ConstraintDesc,
        above: Option<&ConstraintDesc>,
        mut actions: (Oid, Oid),
        mut checks: (Oid, Oid),
    ) -> Result<()> {
        let mut row = self.constraint_row(c.oid)?;
        row.set_bool("conenforced", true)?.set_bool("convalidated", true)?;
        self.rows.update(row)?;
        let Some(key) = KeyPlan::of(c) else { return Ok(()) };
        let table = |c: &ConstraintDesc| c.foreign.as_ref().map(|f| f.table);
        if above.is_none_or(|a| table(a) != table(c)) {
            actions = self.insert_fk_triggers(c.oid, &key, c.relation, true, actions)?;
        }
        if above.is_none_or(|a| a.relation != c.relation) {
            checks = self.insert_fk_triggers(c.oid, &key, c.relation, false, checks)?;
        }
        for below in self.constraints_below(c.oid)? {
            self.enforce_part(&below, Some(c), actions, checks)?;
        }
        Ok(())
    }
}
