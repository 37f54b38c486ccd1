//! TRUNCATE: new files for the table, its TOAST table and all their indexes; the old ones go when
//! the transaction commits.

use super::freeze::{self, is_heap};
use crate::ddl::Ddl;
use crate::session::permission::require_on_relation;
use base::{Error, Oid, Result, bail, err};
use catalog::depend::{self, ObjectAddress};
use catalog::{RelKind, RelationDesc, oids};
use parser::ast::{LockMode, TruncateStmt};

impl Ddl<'_> {
    /// TRUNCATE.
    pub fn truncate(&self, stmt: &TruncateStmt) -> Result<()> {
        let mut tables: Vec<Oid> = Vec::new();
        for item in &stmt.relations {
            let found = self.view.require_relation(item.rel.schema.as_deref(), &item.rel.name)?;
            self.storage.lock(found.oid, LockMode::AccessExclusive)?;
            let found = self.view.relation(found.oid)?;
            found.check_handler()?;
            if !matches!(found.kind, RelKind::Table | RelKind::Partitioned) {
                bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a table", found.name);
            }
            let right = catalog::acl::bit(b'D');
            require_on_relation(&self.view, self.user(), &found, right)?;
            if found.oid < Oid::FIRST_NORMAL && !self.settings.bool("allow_system_table_mods") {
                bail!(
                    INSUFFICIENT_PRIVILEGE,
                    "permission denied: \"{}\" is a system catalog",
                    found.name
                );
            }
            self.check_unused(&found, "TRUNCATE")?;
            if found.kind == RelKind::Partitioned && item.only {
                return Err(err!(
                    WRONG_OBJECT_TYPE,
                    "cannot truncate only a partitioned table"
                )
                .hint("Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly."));
            }
            let mut tree = vec![found.oid];
            let mut next = 0;
            while next < tree.len() && !item.only {
                for child in self.view.children(tree[next])? {
                    self.storage.lock(child, LockMode::AccessExclusive)?;
                    let rel = self.view.relation(child)?;
                    self.check_unused(&rel, "TRUNCATE")?;
                    tree.push(child);
                }
                next += 1;
            }
            for table in tree {
                if !tables.contains(&table) {
                    tables.push(table);
                }
            }
        }
        self.add_referencing(&mut tables, stmt.cascade)?;
        let event = crate::ddl::trigger::bits::TRUNCATE;
        for table in &tables {
            let rel = self.view.relation(*table)?;
            crate::trigger::statement(self.env.core, &rel, event, true, &[])?;
        }
        for table in &tables {
            self.new_files(&*self.view.relation(*table)?)?;
            if stmt.restart_identity {
                self.restart_sequences(*table)?;
            }
        }
        for table in &tables {
            let rel = self.view.relation(*table)?;
            crate::trigger::statement(self.env.core, &rel, event, false, &[])?;
        }
        Ok(())
    }

    /// Tables with foreign keys to those truncated come along, or stand in the way.
    fn add_referencing(&self, tables: &mut Vec<Oid>, cascade: bool) -> Result<()> {
        if !cascade {
            for table in tables.iter() {
                let more = self.referencing(&[*table])?;
                if let Some(other) = more.iter().find(|t| !tables.contains(t)) {
                    return Err(self.referenced_error(*table, *other)?);
                }
            }
            return Ok(());
        }
        loop {
            let mut more = self.referencing(tables)?;
            more.retain(|t| !tables.contains(t));
            if more.is_empty() {
                return Ok(());
            }
            for oid in more {
                self.storage.lock(oid, LockMode::AccessExclusive)?;
                let other = self.view.relation(oid)?;
                let text = format!("truncate cascades to table \"{}\"", other.name);
                self.notice(Error::notice(text));
                let right = catalog::acl::bit(b'D');
                require_on_relation(&self.view, self.user(), &other, right)?;
                self.check_unused(&other, "TRUNCATE")?;
                tables.push(oid);
            }
        }
    }

    /// Tables with foreign keys to one of these, with their partitions, in the order of their OIDs.
    fn referencing(&self, tables: &[Oid]) -> Result<Vec<Oid>> {
        let mut all = Vec::new();
        for table in tables {
            all.extend(self.view.relation(*table)?.referenced_by.iter().map(|fk| fk.relation));
        }
        let mut next = 0;
        while next < all.len() {
            let rel = self.view.relation(all[next])?;
            if rel.partition_key.is_some() {
                all.extend(self.view.children(rel.oid)?);
            }
            next += 1;
        }
        all.sort();
        all.dedup();
        Ok(all)
    }

    fn referenced_error(&self, table: Oid, by: Oid) -> Result<Error> {
        let (rel, other) = (self.view.relation(table)?, self.view.relation(by)?);
        Ok(err!(
            FEATURE_NOT_SUPPORTED,
            "cannot truncate a table referenced in a foreign key constraint"
        )
        .detail(format!("Table \"{}\" references \"{}\".", other.name, rel.name))
        .hint(format!(
            "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
            other.name
        )))
    }

    /// Gives a table, its TOAST table and their indexes new, empty files.
    pub fn new_files(&self, rel: &RelationDesc) -> Result<()> {
        if !rel.kind.has_storage() {
            return Ok(());
        }
        self.new_file_of(rel)?;
        if rel.toast.is_valid() {
            let toast = self.view.relation(rel.toast)?;
            self.new_file_of(&toast)?;
            self.new_index_files(toast.oid)?;
        }
        self.new_index_files(rel.oid)
    }

    /// Gives a table and its TOAST table new, empty files, but not its own indexes.
    pub fn new_files_without_indexes(&self, rel: &RelationDesc) -> Result<()> {
        self.new_file_of(rel)?;
        if rel.toast.is_valid() {
            let toast = self.view.relation(rel.toast)?;
            self.new_file_of(&toast)?;
            self.new_index_files(toast.oid)?;
        }
        Ok(())
    }

    /// New files for a table's indexes, filled from the table.
    pub fn new_index_files(&self, table: Oid) -> Result<()> {
        for index in &self.view.relation(table)?.indexes {
            self.new_file_of(&*self.view.relation(index.oid)?)?;
            // The table's descriptor is read again: it has the index with its new file.
            let table = self.view.relation(table)?;
            if let Some(index) = table.indexes.iter().find(|i| i.oid == index.oid) {
                self.storage.build_index(&table, index)?;
            }
        }
        Ok(())
    }

    /// A new file for one of a table's indexes, filled from the table; it may be in another
    /// tablespace (0 is the database's).
    pub fn new_index_file(&self, table: Oid, index: Oid, tablespace: Option<Oid>) -> Result<()> {
        let rel = self.view.relation(index)?;
        match tablespace {
            None => self.new_file_of(&rel)?,
            Some(named) => {
                let default = self.view.database(self.view.context().database)?.tablespace;
                let space = if named.is_valid() { named } else { default };
                self.new_file_in(&rel, named, space)?;
            }
        }
        let table = self.view.relation(table)?;
        match table.indexes.iter().find(|i| i.oid == index) {
            Some(index) => self.storage.build_index(&table, index).map(drop),
            None => Ok(()),
        }
    }

    /// A new, empty file for a relation.
    pub fn new_file_of(&self, rel: &RelationDesc) -> Result<()> {
        if rel.relfile.number == 0 {
            return Ok(());
        }
        self.new_file_in(rel, rel.tablespace, rel.relfile.tablespace)
    }

    /// A new, empty file in a tablespace; `named` is 0 if it is the database's.
    pub fn new_file_in(&self, rel: &RelationDesc, named: Oid, tablespace: Oid) -> Result<()> {
        let old = rel.relfile;
        let file = self.storage.new_file(tablespace, rel.persistence)?;
        self.storage.moved(old, file);
        let mut class = self.class_row(rel.oid)?;
        class
            .set_oid("reltablespace", named)?
            .set_oid("relfilenode", Oid(file.number))?
            .set_i32("relpages", 0)?
            .set_f32("reltuples", -1.0)?
            .set_i32("relallvisible", 0)?
            .set_i32("relallfrozen", 0)?;
        if is_heap(rel.kind) {
            freeze::set_new(&mut class, self.storage.oldest_id())?;
        }
        self.rows.update(class)?;
        self.storage.drop_at_commit(old, rel.persistence);
        self.storage.create(&*self.view.relation(rel.oid)?)
    }

    fn restart_sequences(&self, table: Oid) -> Result<()> {
        for d in depend::dependents_of(self.rows, ObjectAddress::relation(table))? {
            if d.depender.class != oids::PG_CLASS {
                continue;
            }
            let rel = self.view.relation(d.depender.object)?;
            if rel.kind == RelKind::Sequence {
                let seq = self.view.sequence(rel.oid)?;
                self.new_file_of(&rel)?;
                let fresh = self.view.relation(rel.oid)?;
                self.storage.start_sequence(&fresh, seq.start, false)?;
            }
        }
        Ok(())
    }
}
