//! FOREIGN KEY: which unique index it refers to, which operators compare, and the triggers that
//! stand for it in `pg_trigger`. The executor enforces it without calling them.

use super::Ddl;
use super::foreign_key_tree::{KeyPlan, NO_TRIGGERS};
use base::{Oid, Result, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{ForeignKey, IndexDesc, Persistence, RelKind, RelationDesc, SysRow, oids, vector};
use parser::ast::{self, FkAction, FkMatch, LockMode};
use types::Attr;

/// `pg_constraint`'s letter of an action.
fn action(a: FkAction) -> u8 {
    match a {
        FkAction::NoAction => b'a',
        FkAction::Restrict => b'r',
        FkAction::Cascade => b'c',
        FkAction::SetNull => b'n',
        FkAction::SetDefault => b'd',
    }
}

/// The built-in trigger functions of an action: on delete, on update.
fn action_procs(a: u8, update: bool) -> Oid {
    let pair = match a {
        b'c' => 1646,
        b'r' => 1648,
        b'n' => 1650,
        b'd' => 1652,
        _ => 1654,
    };
    Oid(pair + u32::from(update))
}

impl Ddl<'_> {
    /// Adds a foreign key, and what stands for it on the partitions of both tables. Rows that are
    /// there are not checked.
    pub fn add_foreign_key(
        &self,
        table: Oid,
        constraint: &ast::Constraint,
        fk: &ast::ForeignKey,
    ) -> Result<Oid> {
        let rel = self.view.relation(table)?;
        let target = self.view.require_relation(fk.target.schema.as_deref(), &fk.target.name)?;
        self.storage.lock(target.oid, LockMode::ShareRowExclusive)?;
        let target = self.view.relation(target.oid)?;
        if !matches!(target.kind, RelKind::Table | RelKind::Partitioned) {
            bail!(WRONG_OBJECT_TYPE, "referenced relation \"{}\" is not a table", target.name);
        }
        self.check_persistence(&rel, &target)?;
        if fk.period || fk.target_period {
            return Err(base::Error::unsupported("FOREIGN KEY with PERIOD"));
        }
        if fk.matching == FkMatch::Partial {
            bail!(FEATURE_NOT_SUPPORTED, "MATCH PARTIAL not yet implemented");
        }
        let columns = self.fk_columns(&rel, &fk.columns)?;
        let (index, targets) = self.referenced_index(&target, fk)?;
        self.refuse_generated(&rel, &columns, fk)?;
        if columns.len() != targets.len() {
            bail!(
                INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree"
            );
        }
        let name = match &constraint.name {
            Some(name) => {
                self.check_constraint_name(&rel, name)?;
                name.clone()
            }
            None => {
                let joined = super::index::join_names(&fk.columns);
                self.choose_constraint_name(&rel.name, Some(&joined), "fkey", rel.namespace, &[])?
            }
        };
        let ops = self.fk_operators(&rel, &target, &name, &columns, &targets, &index)?;
        let foreign = ForeignKey {
            table: target.oid,
            columns: targets,
            on_update: action(fk.on_update),
            on_delete: action(fk.on_delete),
            match_type: if fk.matching == FkMatch::Full { b'f' } else { b's' },
            pf_eq_ops: ops.iter().map(|o| o.0).collect(),
            pp_eq_ops: ops.iter().map(|o| o.1).collect(),
            ff_eq_ops: ops.iter().map(|o| o.2).collect(),
            delete_set_columns: self.fk_columns(&rel, &fk.delete_columns)?,
        };
        for (n, name) in foreign.delete_set_columns.iter().zip(&fk.delete_columns) {
            if !columns.contains(n) {
                bail!(
                    INVALID_COLUMN_REFERENCE,
                    "column \"{name}\" referenced in ON DELETE SET action must be part of foreign \
                     key"
                );
            }
        }
        let mut foreign = foreign;
        let mut seen = Vec::new();
        foreign.delete_set_columns.retain(|n| {
            !seen.contains(n) && {
                seen.push(*n);
                true
            }
        });
        let key = KeyPlan {
            name,
            columns,
            foreign,
            index: index.oid,
            deferrable: constraint.deferrable,
            deferred: constraint.initially_deferred,
            enforced: constraint.enforced,
            validated: !constraint.not_valid && constraint.enforced,
        };
        let oid = self.insert_foreign_key(&rel, &key, Oid::INVALID)?;
        self.foreign_key_tree(&rel, &target, &key, oid, NO_TRIGGERS)?;
        Ok(oid)
    }

    /// Fails if a column cannot hold what the key would put there, or has no values of its own.
    fn refuse_generated(
        &self,
        rel: &RelationDesc,
        columns: &[i16],
        fk: &ast::ForeignKey,
    ) -> Result<()> {
        let generated = |n: &i16| *n > 0 && rel.tuple.attrs[*n as usize - 1].generated != 0;
        if !columns.iter().any(generated) {
            return Ok(());
        }
        let writes = |a: FkAction| matches!(a, FkAction::SetNull | FkAction::SetDefault);
        let when = match (fk.on_update, fk.on_delete) {
            (update, _) if writes(update) || update == FkAction::Cascade => "ON UPDATE",
            (_, delete) if writes(delete) => "ON DELETE",
            _ => return self.refuse_virtual(rel, columns, "foreign key constraints"),
        };
        bail!(
            SYNTAX_ERROR,
            "invalid {when} action for foreign key constraint containing generated column"
        )
    }

    fn check_persistence(&self, rel: &RelationDesc, target: &RelationDesc) -> Result<()> {
        let message = match (rel.persistence, target.persistence) {
            (Persistence::Permanent, Persistence::Permanent) => return Ok(()),
            (Persistence::Permanent, _) => {
                "constraints on permanent tables may reference only permanent tables"
            }
            (Persistence::Unlogged, Persistence::Temp) => {
                "constraints on unlogged tables may reference only permanent or unlogged tables"
            }
            (Persistence::Unlogged, _) | (Persistence::Temp, Persistence::Temp) => return Ok(()),
            (Persistence::Temp, _) => {
                "constraints on temporary tables may reference only temporary tables"
            }
        };
        bail!(INVALID_TABLE_DEFINITION, "{message}")
    }

    pub(super) fn fk_columns(&self, rel: &RelationDesc, names: &[String]) -> Result<Vec<i16>> {
        let number = |name: &String| {
            if super::column::SYSTEM_COLUMNS.iter().any(|s| s.0 == *name) {
                bail!(FEATURE_NOT_SUPPORTED, "system columns cannot be used in foreign keys");
            }
            rel.column_number(name).ok_or_else(|| {
                err!(
                    UNDEFINED_COLUMN,
                    "column \"{name}\" referenced in foreign key constraint does not exist"
                )
            })
        };
        names.iter().map(number).collect()
    }

    /// The unique index referred to and the columns, in the foreign key's order.
    fn referenced_index(
        &self,
        target: &RelationDesc,
        fk: &ast::ForeignKey,
    ) -> Result<(std::sync::Arc<IndexDesc>, Vec<i16>)> {
        if fk.target_columns.is_empty() {
            let Some(index) = target.primary_key() else {
                bail!(
                    UNDEFINED_OBJECT,
                    "there is no primary key for referenced table \"{}\"",
                    target.name
                );
            };
            let columns = index.columns[..usize::from(index.n_keys)].to_vec();
            return Ok((index.clone(), columns));
        }
        let columns = self.fk_columns(target, &fk.target_columns)?;
        let fits = |index: &&std::sync::Arc<IndexDesc>| {
            let keys = &index.columns[..usize::from(index.n_keys)];
            index.is_unique
                && index.is_valid
                && index.is_immediate
                && index.predicate.is_none()
                && index.exprs.is_none()
                && keys.len() == columns.len()
                && keys.iter().all(|k| columns.contains(k))
        };
        match target.indexes.iter().find(fits) {
            Some(index) => Ok((index.clone(), columns)),
            None => bail!(
                INVALID_FOREIGN_KEY,
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                target.name
            ),
        }
    }

    /// For each column PK = FK, PK = PK and FK = FK.
    fn fk_operators(
        &self,
        rel: &RelationDesc,
        target: &RelationDesc,
        name: &str,
        columns: &[i16],
        targets: &[i16],
        index: &IndexDesc,
    ) -> Result<Vec<(Oid, Oid, Oid)>> {
        let mut all = Vec::new();
        for (fk, pk) in columns.iter().zip(targets) {
            let at = index.columns.iter().position(|c| c == pk).unwrap_or(0);
            let family = index.opfamilies[at];
            let class_type = index.opc_types[at];
            let fk_attr = &rel.tuple.attrs[*fk as usize - 1];
            let pk_attr = &target.tuple.attrs[*pk as usize - 1];
            let fk_type = self.base_type(fk_attr.type_oid)?.oid;
            let Some(pp) = self.view.amop(family, class_type, class_type, 3)? else {
                bail!(INTERNAL_ERROR, "missing operator 3 in opfamily {family}");
            };
            let cross = self.view.amop(family, class_type, fk_type, 3)?;
            let own = self.view.amop(family, fk_type, fk_type, 3)?;
            let pair = match (cross, own) {
                (Some(pf), Some(ff)) => Some((pf, ff)),
                _ if catalog::generic::is_polymorphic(class_type) => {
                    // Enums, arrays and ranges: both sides are the same type.
                    (fk_attr.type_oid == pk_attr.type_oid).then_some((pp, pp))
                }
                _ if self.becomes(fk_type, class_type)? => Some((pp, pp)),
                _ => None,
            };
            let Some((pf, ff)) = pair else {
                return Err(err!(
                    DATATYPE_MISMATCH,
                    "foreign key constraint \"{name}\" cannot be implemented"
                )
                .detail(format!(
                    "Key columns \"{}\" of the referencing table and \"{}\" of the referenced \
                     table are of incompatible types: {} and {}.",
                    fk_attr.name,
                    pk_attr.name,
                    self.format_type(fk_attr.type_oid, -1),
                    self.format_type(pk_attr.type_oid, -1)
                )));
            };
            self.fk_collations(name, fk_attr, pk_attr)?;
            all.push((pf, pp, ff));
        }
        Ok(all)
    }

    /// Refuses columns of which one takes texts for equal that the other does not.
    fn fk_collations(&self, name: &str, fk: &Attr, pk: &Attr) -> Result<()> {
        if fk.collation == pk.collation || !fk.collation.is_valid() || !pk.collation.is_valid() {
            return Ok(());
        }
        let exact = |oid| functions::collation::collator(oid).map(|c| c.deterministic);
        if exact(fk.collation)? && exact(pk.collation)? {
            return Ok(());
        }
        Err(err!(
            COLLATION_MISMATCH,
            "foreign key constraint \"{name}\" cannot be implemented"
        )
        .detail(format!(
            "Key columns \"{}\" of the referencing table and \"{}\" of the referenced table have \
             incompatible collations: \"{}\" and \"{}\".  If either collation is \
             nondeterministic, then both collations have to be the same.",
            fk.name,
            pk.name,
            self.collation_name(fk.collation),
            self.collation_name(pk.collation)
        )))
    }

    /// True if values of a type can be given to operators that take another.
    fn becomes(&self, from: Oid, to: Oid) -> Result<bool> {
        if from == to {
            return Ok(true);
        }
        if to == Oid(2249) {
            // Any two rows compare.
            return Ok(self.view.type_(from)?.kind == b'c');
        }
        let cast = self.view.cast(from, to)?;
        Ok(cast.is_some_and(|c| c.context == catalog::CastContext::Implicit))
    }

    /// Two rows of `pg_trigger` that other programs expect of a foreign key: those of the table
    /// referred to (`actions`) or those of the other; gives their OIDs.
    pub(super) fn insert_fk_triggers(
        &self,
        constraint: Oid,
        key: &KeyPlan,
        rel: Oid,
        actions: bool,
        parents: (Oid, Oid),
    ) -> Result<(Oid, Oid)> {
        const AFTER_DELETE: i16 = 9;
        const AFTER_UPDATE: i16 = 17;
        const AFTER_INSERT: i16 = 5;
        let fk = &key.foreign;
        let all = match actions {
            true => [
                (AFTER_DELETE, action_procs(fk.on_delete, false), parents.0),
                (AFTER_UPDATE, action_procs(fk.on_update, true), parents.1),
            ],
            false => [(AFTER_INSERT, Oid(1644), parents.0), (AFTER_UPDATE, Oid(1645), parents.1)],
        };
        let (table, other, letter) = match actions {
            true => (fk.table, rel, "a"),
            false => (rel, fk.table, "c"),
        };
        let mut made = Vec::new();
        for (kind, function, parent) in all {
            let oid = self.rows.new_oid(oids::PG_TRIGGER)?;
            // Actions other than NO ACTION are never put off.
            let at_once = actions && !matches!(function.0, 1654 | 1655);
            let mut row = SysRow::new(oids::PG_TRIGGER)?;
            row.set_oid("oid", oid)?
                .set_oid("tgrelid", table)?
                .set_oid("tgparentid", parent)?
                .set_text("tgname", &format!("RI_ConstraintTrigger_{letter}_{oid}"))?
                .set_oid("tgfoid", function)?
                .set_i16("tgtype", kind)?
                .set_char("tgenabled", b'O')?
                .set_bool("tgisinternal", true)?
                .set_oid("tgconstrrelid", other)?
                .set_oid("tgconstrindid", key.index)?
                .set_oid("tgconstraint", constraint)?
                .set_bool("tgdeferrable", key.deferrable && !at_once)?
                .set_bool("tginitdeferred", key.deferred && !at_once)?
                .set("tgattr", vector::from_i16s(oids::INT2VECTOR, &[]))?
                .set("tgargs", types::Datum::bytes(Vec::new()))?;
            self.rows.insert(row)?;
            let own = ObjectAddress::new(oids::PG_TRIGGER, oid);
            let of = ObjectAddress::new(oids::PG_CONSTRAINT, constraint);
            depend::record(self.rows, own, of, DependKind::Internal)?;
            made.push(oid);
        }
        let mut class = self.class_row(table)?;
        if !class.bool("relhastriggers")? {
            class.set_bool("relhastriggers", true)?;
            self.rows.update(class)?;
        }
        Ok((made[0], made[1]))
    }
}
