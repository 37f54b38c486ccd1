//! DROP: what goes with an object, in which order, and the removal of each.

use super::Ddl;
use super::describe::Found;
use super::index::with_code;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{RelKind, SysRow, indexes, oids};
use parser::ast::{DropStmt, LockMode};
use types::Datum;

/// How an object came to be among those that go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// The statement names it.
    Named,
    /// It is a part of one that goes, or was made for it.
    Part,
    /// It needs one that goes: only with CASCADE.
    Needs(ObjectAddress),
}

impl Ddl<'_> {
    /// DROP of what is found by name.
    pub fn drop_stmt(&self, stmt: &DropStmt) -> Result<()> {
        let mut targets = Vec::new();
        for object in &stmt.objects {
            match self.find_object(object, stmt.missing_ok)? {
                Found::Object(a) => {
                    self.check_droppable(a)?;
                    self.require_owner(a)?;
                    targets.push(a);
                }
                Found::Missing(text) => self.notice(Error::notice(format!("{text}, skipping"))),
            }
        }
        self.drop_objects(&targets, stmt.cascade)
    }

    fn check_droppable(&self, a: ObjectAddress) -> Result<()> {
        if a.class == oids::PG_CLASS {
            let rel = self.view.relation(a.object)?;
            if a.object < Oid::FIRST_NORMAL && !self.settings.bool("allow_system_table_mods") {
                bail!(
                    INSUFFICIENT_PRIVILEGE,
                    "permission denied: \"{}\" is a system catalog",
                    rel.name
                );
            }
            // An index's table is locked first, so that readers and droppers agree on the order.
            if let Some(index) = &rel.index {
                self.storage.lock(index.table, LockMode::AccessExclusive)?;
            }
            self.storage.lock(a.object, LockMode::AccessExclusive)?;
        } else if a.object < Oid(12000) || a.object < Oid::FIRST_NORMAL && a.object.0 != 2200 {
            let what = self.describe(a)?;
            bail!(
                DEPENDENT_OBJECTS_STILL_EXIST,
                "cannot drop {what} because it is required by the database system"
            );
        }
        Ok(())
    }

    /// Drops these objects and their parts, and with `cascade` all that needs them.
    pub fn drop_objects(&self, targets: &[ObjectAddress], cascade: bool) -> Result<()> {
        let mut all: Vec<(ObjectAddress, Why)> = Vec::new();
        for a in targets {
            let whole = self.owner_of_part(*a)?;
            if let Some(whole) = whole
                && !targets.contains(&whole)
            {
                let what = self.describe(*a)?;
                let of = self.describe(whole)?;
                return Err(err!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "cannot drop {what} because {of} requires it"
                )
                .hint(format!("You can drop {of} instead.")));
            }
            self.collect(*a, Why::Named, &mut all)?;
        }
        self.report(&all, cascade)?;
        // Last found, first dropped: dependents go before what they need.
        for (a, _) in all.iter().rev() {
            self.remove(*a)?;
        }
        Ok(())
    }

    /// The object that this one is an internal part of.
    fn owner_of_part(&self, a: ObjectAddress) -> Result<Option<ObjectAddress>> {
        if a.sub != 0 {
            return Ok(None);
        }
        for d in depend::dependencies_of(self.rows, a)? {
            if d.depender.sub == 0 && d.kind == DependKind::Internal {
                return Ok(Some(d.referenced));
            }
        }
        Ok(None)
    }

    fn collect(
        &self,
        a: ObjectAddress,
        why: Why,
        all: &mut Vec<(ObjectAddress, Why)>,
    ) -> Result<()> {
        if let Some(found) = all.iter_mut().find(|(o, _)| *o == a) {
            // Reached in another way too: a part is never in the way.
            if matches!(found.1, Why::Needs(_)) && !matches!(why, Why::Needs(_)) {
                found.1 = why;
            }
            return Ok(());
        }
        // A column goes with its whole table.
        let whole = ObjectAddress { sub: 0, ..a };
        if a.sub != 0 && all.iter().any(|(o, _)| *o == whole) {
            return Ok(());
        }
        all.push((a, why));
        for d in depend::dependents_of(self.rows, a)? {
            let dependent = d.depender;
            if dependent.object == a.object && dependent.class == a.class {
                continue;
            }
            let next = match d.kind {
                DependKind::Auto
                | DependKind::Internal
                | DependKind::PartitionPrimary
                | DependKind::PartitionSecondary => Why::Part,
                DependKind::Normal | DependKind::Extension => Why::Needs(a),
            };
            // What is a part of something else takes that with it.
            let target = match next {
                Why::Needs(_) => self.owner_of_part(dependent)?.unwrap_or(dependent),
                _ => dependent,
            };
            self.collect(target, next, all)?;
        }
        Ok(())
    }

    fn report(&self, all: &[(ObjectAddress, Why)], cascade: bool) -> Result<()> {
        let mut lines = Vec::new();
        for (a, why) in all {
            let Why::Needs(on) = why else { continue };
            lines.push(match cascade {
                true => format!("drop cascades to {}", self.describe(*a)?),
                false => format!("{} depends on {}", self.describe(*a)?, self.describe(*on)?),
            });
        }
        if lines.is_empty() {
            return Ok(());
        }
        if cascade {
            let notice = match lines.len() {
                1 => Error::notice(lines.remove(0)),
                n => Error::notice(format!("drop cascades to {n} other objects"))
                    .detail(lines.join("\n")),
            };
            self.notice(notice);
            return Ok(());
        }
        let named: Vec<&ObjectAddress> =
            all.iter().filter(|(_, w)| *w == Why::Named).map(|(a, _)| a).collect();
        let text = match named[..] {
            [one] => {
                format!("cannot drop {} because other objects depend on it", self.describe(*one)?)
            }
            _ => "cannot drop desired object(s) because other objects depend on them".to_string(),
        };
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, text)
            .detail(lines.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    fn delete_all(&self, index: Oid, key: &[Datum]) -> Result<Vec<SysRow>> {
        let rows = self.rows.index_scan(index, key)?;
        for row in &rows {
            self.rows.delete(row)?;
        }
        Ok(rows)
    }

    /// Removes one object's rows and files, its dependencies and its comments.
    fn remove(&self, a: ObjectAddress) -> Result<()> {
        let key = [Datum::U32(a.object.0)];
        match a.class {
            oids::PG_CLASS if a.sub != 0 => self.remove_column(a)?,
            oids::PG_CLASS => self.remove_relation(a.object)?,
            oids::PG_TYPE => {
                self.delete_all(indexes::PG_TYPE_OID, &key)?;
                self.delete_all(indexes::PG_ENUM_SORT, &key)?;
                self.delete_all(indexes::PG_RANGE_TYPID, &key)?;
            }
            oids::PG_CONSTRAINT => self.remove_constraint(a.object)?,
            oids::PG_ATTRDEF => {
                for row in self.delete_all(Oid(2657), &key)? {
                    let mut column = self.column_row(row.oid("adrelid")?, row.i16("adnum")?)?;
                    column.set_bool("atthasdef", false)?;
                    self.rows.update(column)?;
                }
            }
            oids::PG_TRIGGER => {
                self.delete_all(indexes::PG_TRIGGER_OID, &key)?;
            }
            oids::PG_REWRITE => {
                self.delete_all(indexes::PG_REWRITE_OID, &key)?;
            }
            oids::PG_NAMESPACE => {
                self.delete_all(indexes::PG_NAMESPACE_OID, &key)?;
            }
            oids::PG_PROC => {
                self.delete_all(indexes::PG_PROC_OID, &key)?;
                self.delete_all(indexes::PG_AGGREGATE_FNOID, &key)?;
            }
            oids::PG_OPERATOR => {
                self.delete_all(indexes::PG_OPERATOR_OID, &key)?;
            }
            oids::PG_COLLATION => {
                self.delete_all(indexes::PG_COLLATION_OID, &key)?;
            }
            _ => return Err(Error::unsupported(format!("DROP of {}", self.describe(a)?))),
        }
        if a.sub == 0 {
            depend::forget(self.rows, a)?;
            let database = Datum::U32(self.view.context().database.0);
            let key = [database, Datum::U32(a.class.0), Datum::U32(a.object.0)];
            self.delete_all(indexes::PG_SHDEPEND_DEPENDER, &key)?;
        } else {
            depend::forget(self.rows, a)?;
        }
        depend::remove_comments(self.rows, a)
    }

    fn remove_relation(&self, oid: Oid) -> Result<()> {
        self.storage.lock(oid, LockMode::AccessExclusive)?;
        let rel = self.view.relation(oid)?;
        let key = [Datum::U32(oid.0)];
        if rel.relfile.number != 0 {
            self.storage.drop_at_commit(rel.relfile, rel.persistence);
        }
        if matches!(rel.kind, RelKind::Index | RelKind::PartitionedIndex) {
            self.delete_all(indexes::PG_INDEX_INDEXRELID, &key)?;
        }
        if rel.kind == RelKind::Sequence {
            self.delete_all(indexes::PG_SEQUENCE_SEQRELID, &key)?;
        }
        self.delete_all(indexes::PG_STATISTIC_RELID, &key)?;
        self.delete_all(indexes::PG_INHERITS_RELID, &key)?;
        self.delete_all(indexes::PG_PARTITIONED_TABLE_PARTRELID, &key)?;
        self.delete_all(indexes::PG_ATTRIBUTE_NUM, &key)?;
        self.delete_all(indexes::PG_CLASS_OID, &key)?;
        Ok(())
    }

    fn remove_constraint(&self, oid: Oid) -> Result<()> {
        let c = self.view.constraint(oid)?;
        self.delete_all(indexes::PG_CONSTRAINT_OID, &[Datum::U32(oid.0)])?;
        if !c.relation.is_valid() {
            return Ok(());
        }
        match c.kind {
            b'c' => {
                let mut class = self.class_row(c.relation)?;
                let checks = class.i16("relchecks")?;
                class.set_i16("relchecks", (checks - 1).max(0))?;
                self.rows.update(class)?;
            }
            b'n' => {
                for n in &c.columns {
                    let mut column = self.column_row(c.relation, *n)?;
                    if column.bool("attnotnull")? {
                        column.set_bool("attnotnull", false)?;
                        self.rows.update(column)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A dropped column stays in its place, without name and type.
    fn remove_column(&self, a: ObjectAddress) -> Result<()> {
        let attnum = a.sub as i16;
        let mut row = self.column_row(a.object, attnum)?;
        row.set_text("attname", &format!("........pg.dropped.{attnum}........"))?
            .set_oid("atttypid", Oid::INVALID)?
            .set_bool("attisdropped", true)?
            .set_bool("attnotnull", false)?
            .set_bool("atthasmissing", false)?
            .set_char("attgenerated", 0)?
            .set_char("attidentity", 0)?
            .set("attmissingval", Datum::Null)?
            .set("attstattarget", Datum::Null)?
            .set("attacl", Datum::Null)?
            .set("attoptions", Datum::Null)?;
        self.rows.update(row)?;
        let key = [Datum::U32(a.object.0), Datum::I16(attnum)];
        self.delete_all(indexes::PG_STATISTIC_RELID, &key)?;
        Ok(())
    }

    /// As [`with_code`], for the notices of IF EXISTS.
    pub fn skip_notice(&self, text: String) {
        self.notice(with_code(Error::notice(text), SqlState::SUCCESSFUL_COMPLETION));
    }
}
