//! DROP: what goes with an object, in which order, and the removal of each.

use super::Ddl;
use super::describe::Found;
use super::index::with_code;
use base::{Error, Oid, Result, SqlState, bail, err};
use catalog::depend::{self, DependKind, ObjectAddress};
use catalog::{Persistence, RelKind, SysRow, indexes, oids};
use parser::ast::{self, DropStmt, LockMode};
use types::Datum;

/// So many lines are shown of what goes or stands in the way.
const MAX_SHOWN: usize = 100;

/// How an object came to be among those that go, as bits.
mod why {
    /// The statement names it.
    pub const NAMED: u8 = 1;
    /// It needs one that goes: only with CASCADE.
    pub const NORMAL: u8 = 2;
    /// It is a part of one that goes, or was made for it.
    pub const PART: u8 = 4;
    /// A part of it goes.
    pub const WHOLE: u8 = 8;
    /// It is a column of a relation that goes.
    pub const COLUMN: u8 = 16;
    /// It is a partition's, and goes with the partitioned table's or with the partition.
    pub const PARTITION: u8 = 32;
}

/// One that goes.
struct Gone {
    address: ObjectAddress,
    why: u8,
    /// What led to it.
    through: Option<ObjectAddress>,
}

/// What is being looked at, innermost last, and what was found, dependents first.
struct Collector<'t> {
    stack: Vec<(ObjectAddress, u8)>,
    found: Vec<Gone>,
    targets: &'t [ObjectAddress],
}

impl Ddl<'_> {
    /// DROP of what is found by name.
    pub fn drop_stmt(&self, stmt: &DropStmt) -> Result<()> {
        let mut targets = Vec::new();
        for object in &stmt.objects {
            match self.find_object(object, stmt.missing_ok)? {
                Found::Object(a) => {
                    if a.class == oids::PG_PROC && object.kind == ast::ObjectKind::Function {
                        self.refuse_aggregate(a.object)?;
                    }
                    self.check_droppable(a)?;
                    self.require_owner_of_part(a)?;
                    if stmt.concurrently {
                        self.refuse_partitioned_index(a)?;
                    }
                    targets.push(a);
                }
                Found::Missing(text) => self.notice(Error::notice(format!("{text}, skipping"))),
            }
        }
        self.drop_objects(&targets, stmt.cascade)
    }

    fn refuse_partitioned_index(&self, a: ObjectAddress) -> Result<()> {
        let rel = self.view.relation(a.object)?;
        if rel.kind == RelKind::PartitionedIndex && rel.persistence != Persistence::Temp {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "cannot drop partitioned index \"{}\" concurrently",
                rel.name
            );
        }
        Ok(())
    }

    fn refuse_aggregate(&self, oid: Oid) -> Result<()> {
        let p = self.view.proc(oid)?;
        match p.kind {
            b'a' => Err(err!(WRONG_OBJECT_TYPE, "\"{}\" is an aggregate function", p.name)
                .hint("Use DROP AGGREGATE to drop aggregate functions.")),
            _ => Ok(()),
        }
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
        } else if a.class == oids::PG_TRIGGER {
            let above = self.row_by_oid(indexes::PG_TRIGGER_OID, a.object)?.oid("tgparentid")?;
            if above.is_valid() {
                let what = self.describe(a)?;
                let of = self.describe(ObjectAddress::new(oids::PG_TRIGGER, above))?;
                return Err(err!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "cannot drop {what} because {of} requires it"
                )
                .hint(format!("You can drop {of} instead.")));
            }
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
        let found = self.collect_all(targets)?;
        self.refuse_partition_indexes(&found)?;
        self.report(&found, targets, cascade)?;
        for gone in &found {
            self.check_unused_object(gone.address)?;
            self.remove(gone.address)?;
        }
        Ok(())
    }

    /// Fails if a relation that is to go is still read by the session.
    fn check_unused_object(&self, a: ObjectAddress) -> Result<()> {
        if a.class != oids::PG_CLASS || a.sub != 0 {
            return Ok(());
        }
        let rel = self.view.relation(a.object)?;
        self.check_unused(&rel, if rel.index.is_some() { "DROP INDEX" } else { "DROP TABLE" })
    }

    /// Drops objects and all that depends on them, saying nothing.
    pub fn drop_quietly(&self, targets: &[ObjectAddress]) -> Result<()> {
        for gone in self.collect_all(targets)? {
            self.remove(gone.address)?;
        }
        Ok(())
    }

    /// Removes one object, whatever else it is a part of.
    pub fn remove_one(&self, a: ObjectAddress) -> Result<()> {
        self.remove(a)
    }

    /// Drops all that is in a schema, but not the schema.
    pub fn empty_schema(&self, schema: Oid) -> Result<()> {
        let schema = ObjectAddress::new(oids::PG_NAMESPACE, schema);
        let mut found = self.collect_all(&[schema])?;
        found.retain(|g| g.address != schema);
        for gone in found {
            self.remove(gone.address)?;
        }
        Ok(())
    }

    /// What goes with these objects, in the order in which it is removed.
    fn collect_all(&self, targets: &[ObjectAddress]) -> Result<Vec<Gone>> {
        let mut c = Collector { stack: Vec::new(), found: Vec::new(), targets };
        for a in targets {
            self.collect(*a, why::NAMED, &mut c)?;
        }
        Ok(c.found)
    }

    /// Objects that this one is a part of.
    fn wholes_of(&self, a: ObjectAddress) -> Result<Vec<(ObjectAddress, DependKind)>> {
        let mut all = Vec::new();
        for d in depend::dependencies_of(self.rows, a)? {
            let internal = matches!(d.kind, DependKind::Internal | DependKind::Extension);
            if d.depender.sub == a.sub && internal {
                all.push((d.referenced, d.kind));
            }
        }
        Ok(all)
    }

    /// Finds what has to go before an object. Dependents are looked at newest first and come
    /// before what they need.
    fn collect(&self, a: ObjectAddress, flags: u8, c: &mut Collector<'_>) -> Result<()> {
        base::stack::check()?;
        let whole = ObjectAddress { sub: 0, ..a };
        if let Some(on) = c.stack.iter_mut().find(|(o, _)| *o == a || *o == whole) {
            if on.0 == a {
                on.1 |= flags;
            }
            return Ok(());
        }
        if let Some(gone) = c.found.iter_mut().find(|g| g.address == a) {
            gone.why |= flags;
            return Ok(());
        }
        if a.sub != 0 && c.found.iter().any(|g| g.address == whole) {
            return Ok(());
        }
        for (owner, _) in self.wholes_of(a)? {
            if c.stack.is_empty() {
                if c.targets.contains(&owner) {
                    return Ok(());
                }
                let above = self.partitioned_above(a)?;
                return Err(self.required_by(a, above.unwrap_or(owner))?);
            }
            let whole = ObjectAddress { sub: 0, ..owner };
            if c.stack.iter().any(|(o, _)| *o == owner || *o == whole)
                || c.found.iter().any(|g| g.address == owner || g.address == whole)
            {
                continue;
            }
            // What is a part of something else takes that with it.
            let through = flags & !(why::NAMED | why::PART | why::PARTITION) | why::WHOLE;
            self.collect(owner, through, c)?;
            if let Some(gone) = c.found.iter_mut().find(|g| g.address == a) {
                gone.why |= flags & why::PARTITION;
            }
            return Ok(());
        }
        let mut dependents: Vec<(ObjectAddress, u8)> = Vec::new();
        for d in depend::dependents_of(self.rows, a)? {
            let other = d.depender;
            if other.object == a.object && other.class == a.class && a.sub == 0 {
                continue;
            }
            let kind = match d.kind {
                DependKind::Normal => why::NORMAL,
                DependKind::Extension | DependKind::AutoExtension => why::PART,
                DependKind::Auto | DependKind::Internal => why::PART,
                DependKind::PartitionPrimary | DependKind::PartitionSecondary => {
                    why::PART | why::PARTITION
                }
            };
            match dependents.iter_mut().find(|(o, _)| *o == other) {
                Some(seen) => seen.1 |= kind,
                None => dependents.push((other, kind)),
            }
        }
        dependents.sort_by_key(|(o, _)| (std::cmp::Reverse(o.object), o.class, o.sub));
        c.stack.push((a, flags));
        for (other, kind) in dependents {
            self.collect(other, kind, c)?;
        }
        let (_, flags) = c.stack.pop().unwrap_or((a, flags));
        let through = c.stack.last().map(|(o, _)| *o);
        // Columns that were found alone are covered by their whole relation.
        for gone in c.found.iter_mut() {
            let g = gone.address;
            if a.sub == 0 && g.sub != 0 && g.class == a.class && g.object == a.object {
                gone.why |= why::COLUMN;
            }
        }
        c.found.push(Gone { address: a, why: flags, through });
        Ok(())
    }

    /// Fails if a partition's index goes without the index of the partitioned table.
    fn refuse_partition_indexes(&self, found: &[Gone]) -> Result<()> {
        for gone in found.iter().rev() {
            let a = gone.address;
            if a.class != oids::PG_CLASS || a.sub != 0 || gone.why & why::PARTITION != 0 {
                continue;
            }
            if let Some(above) = self.partitioned_above(a)? {
                return Err(self.required_by(a, above)?);
            }
        }
        Ok(())
    }

    /// What a part of a partition is a part of in the partitioned table.
    fn partitioned_above(&self, a: ObjectAddress) -> Result<Option<ObjectAddress>> {
        let all = depend::dependencies_of(self.rows, a)?;
        let above = all.iter().find(|d| d.kind == DependKind::PartitionPrimary);
        Ok(above.map(|d| d.referenced))
    }

    fn required_by(&self, a: ObjectAddress, of: ObjectAddress) -> Result<Error> {
        let (what, of) = (self.describe(a)?, self.describe(of)?);
        Ok(err!(DEPENDENT_OBJECTS_STILL_EXIST, "cannot drop {what} because {of} requires it")
            .hint(format!("You can drop {of} instead.")))
    }

    fn report(&self, found: &[Gone], targets: &[ObjectAddress], cascade: bool) -> Result<()> {
        let mut lines = Vec::new();
        for gone in found.iter().rev() {
            if gone.why & (why::NAMED | why::COLUMN | why::PART) != 0 {
                continue;
            }
            let what = self.describe(gone.address)?;
            lines.push(match (cascade, gone.through) {
                (false, Some(on)) => format!("{what} depends on {}", self.describe(on)?),
                _ => format!("drop cascades to {what}"),
            });
        }
        if lines.is_empty() {
            return Ok(());
        }
        let count = lines.len();
        if count > MAX_SHOWN {
            lines.truncate(MAX_SHOWN);
            let more = count - MAX_SHOWN;
            let s = if more == 1 { "" } else { "s" };
            lines.push(format!("and {more} other object{s} (see server log for list)"));
        }
        if cascade {
            let notice = match count {
                1 => Error::notice(lines.remove(0)),
                n => Error::notice(format!("drop cascades to {n} other objects"))
                    .detail(lines.join("\n")),
            };
            self.notice(notice);
            return Ok(());
        }
        let text = match targets {
            [one] => {
                format!("cannot drop {} because other objects depend on it", self.describe(*one)?)
            }
            _ => "cannot drop desired object(s) because other objects depend on them".to_string(),
        };
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, text)
            .detail(lines.join("\n"))
            .hint("Use DROP ... CASCADE to drop the dependent objects too."))
    }

    /// ON COMMIT of a new relation.
    pub fn on_commit(
        &self,
        table: Oid,
        action: ast::OnCommit,
        persistence: Persistence,
    ) -> Result<()> {
        if action == ast::OnCommit::Unspecified {
            return Ok(());
        }
        if persistence != Persistence::Temp {
            bail!(INVALID_TABLE_DEFINITION, "ON COMMIT can only be used on temporary tables");
        }
        match action {
            ast::OnCommit::DeleteRows => self.env.core.on_commit.lock().push((table, false)),
            ast::OnCommit::Drop => self.env.core.on_commit.lock().push((table, true)),
            _ => {}
        }
        Ok(())
    }

    /// Does what was asked for at commit, with tables that are still there.
    pub fn on_commit_actions(&self, all: &[(Oid, bool)]) -> Result<()> {
        let emptied: Vec<Oid> = all.iter().filter(|t| !t.1).map(|t| t.0).collect();
        for table in &emptied {
            let Some(rel) = self.view.find_relation(*table)? else { continue };
            for fk in &rel.referenced_by {
                if emptied.contains(&fk.relation) || fk.relation == *table {
                    continue;
                }
                let other = self.view.relation(fk.relation)?;
                return Err(err!(
                    FEATURE_NOT_SUPPORTED,
                    "unsupported ON COMMIT and foreign key combination"
                )
                .detail(format!(
                    "Table \"{}\" references \"{}\", but they do not have the same ON COMMIT \
                     setting.",
                    other.name, rel.name
                )));
            }
        }
        let mut dropped = Vec::new();
        for (table, drop) in all {
            let Some(rel) = self.view.find_relation(*table)? else { continue };
            match drop {
                true => dropped.push(ObjectAddress::relation(rel.oid)),
                false => self.new_files(&rel)?,
            }
        }
        self.drop_quietly(&dropped)
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
            oids::PG_POLICY => {
                self.delete_all(indexes::PG_POLICY_OID, &key)?;
            }
            oids::PG_LARGEOBJECT => self.remove_large_object(a.object)?,
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
                self.unlink_operator(a.object)?;
                self.delete_all(indexes::PG_OPERATOR_OID, &key)?;
            }
            oids::PG_COLLATION => {
                self.delete_all(indexes::PG_COLLATION_OID, &key)?;
            }
            _ if self.remove_by_scan(a)? => {}
            class => match super::text_search::ts_class(class) {
                Some(facts) => {
                    if class == super::text_search::PG_TS_CONFIG {
                        self.remove_ts_mappings(a.object)?;
                    }
                    self.delete_all(facts.by_oid, &key)?;
                }
                None => return Err(Error::unsupported(format!("DROP of {}", self.describe(a)?))),
            },
        }
        depend::forget(self.rows, a)?;
        self.forget_all_roles(a)?;
        depend::remove_comments(self.rows, a)
    }

    /// Removes the row of an object whose system table is small.
    fn remove_by_scan(&self, a: ObjectAddress) -> Result<bool> {
        let known = matches!(
            a.class,
            oids::PG_CAST
                | oids::PG_CONVERSION
                | oids::PG_OPCLASS
                | oids::PG_OPFAMILY
                | oids::PG_AMOP
                | oids::PG_AMPROC
                | oids::PG_STATISTIC_EXT
                | oids::PG_PUBLICATION
                | oids::PG_SUBSCRIPTION
                | oids::PG_TRANSFORM
                | oids::PG_EVENT_TRIGGER
                | oids::PG_FOREIGN_DATA_WRAPPER
                | oids::PG_FOREIGN_SERVER
                | oids::PG_USER_MAPPING
                | oids::PG_PUBLICATION_REL
                | oids::PG_PUBLICATION_NAMESPACE
                | oids::PG_LANGUAGE
                | oids::PG_AM
                | oids::PG_DEFAULT_ACL
        );
        if known {
            if a.class == oids::PG_STATISTIC_EXT {
                self.remove_statistics_data(a.object)?;
            }
            let row = self.row_of(a.class, a.object)?;
            self.rows.delete(&row)?;
        }
        Ok(known)
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
        if rel.kind == RelKind::Foreign {
            self.remove_foreign_table(oid)?;
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
