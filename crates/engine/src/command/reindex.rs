//! REINDEX: indexes built anew.

use super::rewrite::with_new_files;
use crate::Session;
use crate::session::trace::Meter;
use base::progress::{Command, index as figure};
use base::{Error, Oid, Result, bail, err};
use catalog::{RelKind, RelationDesc, RowStore, oids};
use parser::ast::{LockMode, ReindexKind, ReindexStmt};

/// What REINDEX's options say.
#[derive(Clone, Copy, Default)]
struct Options {
    concurrently: bool,
    verbose: bool,
    /// Where the indexes are to be; 0 is the database's tablespace.
    tablespace: Option<Oid>,
}

impl Session {
    /// REINDEX; gives the command tag.
    pub(crate) fn reindex_stmt(&mut self, stmt: &ReindexStmt) -> Result<&'static str> {
        let mut options = Options::default();
        let mut tablespace = None;
        for option in &stmt.options {
            match option.name.as_str() {
                "concurrently" => options.concurrently = crate::ddl::option::bool_of(option)?,
                "verbose" => options.verbose = crate::ddl::option::bool_of(option)?,
                "tablespace" => tablespace = Some(crate::ddl::option::text_of(option)?),
                name => {
                    let e = err!(SYNTAX_ERROR, "unrecognized REINDEX option \"{name}\"");
                    return Err(e.at(option.pos));
                }
            }
        }
        if options.concurrently {
            self.prevent_in_block("REINDEX CONCURRENTLY")?;
        }
        if let Some(name) = &tablespace {
            options.tablespace = Some(self.with_ddl("", |ddl| ddl.tablespace(Some(name)))?);
        }
        match stmt.kind {
            ReindexKind::Index => self.reindex_index(stmt, options)?,
            ReindexKind::Table => {
                let Some(name) = &stmt.rel else { return Ok("REINDEX") };
                let view = self.core.view()?;
                let rel = view.require_relation(name.schema.as_deref(), &name.name)?;
                if !matches!(
                    rel.kind,
                    RelKind::Table | RelKind::MatView | RelKind::Toast | RelKind::Partitioned
                ) {
                    bail!(
                        WRONG_OBJECT_TYPE,
                        "\"{}\" is not a table or materialized view",
                        rel.name
                    );
                }
                self.require_maintain(&rel)?;
                if rel.kind == RelKind::Partitioned {
                    self.reindex_partitions(&rel, options)?;
                    return Ok("REINDEX");
                }
                if options.concurrently && rel.oid < Oid::FIRST_NORMAL {
                    bail!(FEATURE_NOT_SUPPORTED, "cannot reindex system catalogs concurrently");
                }
                if !self.reindex_table(rel.oid, options)? {
                    let how = match options.concurrently {
                        true => "that can be reindexed concurrently",
                        false => "to reindex",
                    };
                    let text = format!("table \"{}\" has no indexes {how}", rel.name);
                    self.core.notice(Error::notice(text));
                }
            }
            _ => self.reindex_many(stmt, options)?,
        }
        Ok("REINDEX")
    }

    fn reindex_index(&mut self, stmt: &ReindexStmt, options: Options) -> Result<()> {
        let Some(name) = &stmt.rel else { return Ok(()) };
        let view = self.core.view()?;
        let rel = view.require_relation(name.schema.as_deref(), &name.name)?;
        let Some(index) = &rel.index else {
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is not an index", rel.name);
        };
        let table = view.relation(index.table)?;
        self.require_maintain(&table)
            .map_err(|_| crate::ddl::grant::permission_denied("index", &rel.name))?;
        if rel.kind == RelKind::PartitionedIndex {
            return self.reindex_partitions(&rel, options);
        }
        if options.concurrently && rel.oid < Oid::FIRST_NORMAL {
            bail!(FEATURE_NOT_SUPPORTED, "cannot reindex system catalogs concurrently");
        }
        self.lock_relation(table.oid, LockMode::Share as u8)?;
        self.rebuild(&table, rel.oid, options)
    }

    /// The partitions of a table or of an index, each in a transaction of its own.
    fn reindex_partitions(&mut self, rel: &RelationDesc, options: Options) -> Result<()> {
        let (what, command) = match rel.kind {
            RelKind::Partitioned => ("table", "REINDEX TABLE"),
            _ => ("index", "REINDEX INDEX"),
        };
        let view = self.core.view()?;
        self.prevent_in_block(command).map_err(|e| {
            let schema =
                view.namespace(rel.namespace).map_or_else(|_| "".into(), |n| n.name.clone());
            e.context(format!("while reindexing partitioned {what} \"{schema}.{}\"", rel.name))
        })?;
        let mut leaves = Vec::new();
        for oid in self.with_ddl("", |ddl| ddl.tree(rel.oid))? {
            if view.relation(oid)?.kind.has_storage() {
                leaves.push(oid);
            }
        }
        for oid in leaves {
            self.commit_transaction()?;
            self.ensure_transaction()?;
            let Some(leaf) = self.core.view()?.find_relation(oid)? else { continue };
            match &leaf.index {
                None => {
                    let done = self.reindex_table(oid, options)?;
                    self.tell_table(&leaf, options, done)?;
                }
                Some(index) => {
                    self.lock_relation(index.table, LockMode::Share as u8)?;
                    let table = self.core.view()?.relation(index.table)?;
                    self.rebuild(&table, oid, options)?;
                }
            }
        }
        Ok(())
    }

    /// VERBOSE says of each of several tables that it was done.
    fn tell_table(&self, rel: &RelationDesc, options: Options, done: bool) -> Result<()> {
        if options.verbose && done {
            let schema = self.core.view()?.namespace(rel.namespace)?;
            let text = format!("table \"{}.{}\" was reindexed", schema.name, rel.name);
            let code = base::SqlState::SUCCESSFUL_COMPLETION;
            self.core.notice(Error::with_severity(base::Severity::Info, code, text));
        }
        Ok(())
    }

    /// Builds a table's indexes anew, and those of its TOAST table; false if there are none.
    fn reindex_table(&mut self, table: Oid, options: Options) -> Result<bool> {
        let mode = match table < Oid::FIRST_NORMAL {
            // As its indexes' builds will have it: a stronger lock is not asked for later.
            true => LockMode::AccessExclusive,
            false => LockMode::Share,
        };
        self.lock_relation(table, mode as u8)?;
        let rel = self.core.view()?.relation(table)?;
        let toast = match rel.toast.is_valid() {
            // They stay in their tablespace.
            true => self.reindex_table(rel.toast, Options { tablespace: None, ..options })?,
            false => false,
        };
        for index in &rel.indexes {
            self.rebuild(&rel, index.oid, options)?;
        }
        Ok(!rel.indexes.is_empty() || toast)
    }

    fn rebuild(&mut self, table: &RelationDesc, index: Oid, options: Options) -> Result<()> {
        let telling = self.core.progress(Command::CreateIndex, table.oid);
        base::progress::set(Command::CreateIndex, figure::COMMAND, figure::REINDEX);
        let meter = Meter::begin(options.verbose);
        self.lock_relation(index, LockMode::AccessExclusive as u8)?;
        let desc = self.core.view()?.relation(index)?;
        self.with_ddl("", |ddl| ddl.check_unused(&desc, "REINDEX INDEX"))?;
        match index >= Oid::FIRST_NORMAL {
            true => {
                self.with_ddl("", |ddl| ddl.new_index_file(table.oid, index, options.tablespace))?
            }
            false if options.tablespace.is_some() => {
                bail!(FEATURE_NOT_SUPPORTED, "cannot move system relation \"{}\"", desc.name)
            }
            false => self.rebuild_system_index(table.oid, index)?,
        }
        drop(telling);
        if let Some(meter) = meter {
            let name = self.core.view()?.relation(index)?.name.clone();
            let text = format!("index \"{name}\" was reindexed");
            let code = base::SqlState::SUCCESSFUL_COMPLETION;
            let told = Error::with_severity(base::Severity::Info, code, text);
            self.core.notice(told.detail(meter.cpu()));
        }
        Ok(())
    }

    /// Gives an index of a system table a new file. Who reads such tables locks no indexes: all
    /// others are kept out of the table, and out of the one whose long values it has.
    fn rebuild_system_index(&mut self, table: Oid, index: Oid) -> Result<()> {
        let system = catalog::builtin::relations();
        let main = system.values().find(|r| r.toast == table).map(|r| r.oid);
        for oid in main.into_iter().chain([table]) {
            self.lock_relation(oid, LockMode::AccessExclusive as u8)?;
        }
        let view = self.core.view()?;
        let (rel, about) = (view.relation(table)?, view.relation(index)?);
        self.await_writers(&rel)?;
        let file = self.new_file_like(&about)?;
        let files = [(index, file)].into();
        let new = with_new_files(&rel, &files)?;
        if let Some(desc) = new.indexes.iter().find(|i| i.oid == index) {
            crate::ddl::RelStorage::build_index(self, &new, desc)?;
        }
        let mut concerned = vec![rel];
        if let Some(main) = main {
            concerned.push(view.relation(main)?);
        }
        self.take_new_files(&concerned, &files)
    }

    /// REINDEX SCHEMA, DATABASE and SYSTEM: each table in a transaction of its own.
    fn reindex_many(&mut self, stmt: &ReindexStmt, options: Options) -> Result<()> {
        let concurrently = options.concurrently;
        let word = match stmt.kind {
            ReindexKind::Schema => "SCHEMA",
            ReindexKind::System => "SYSTEM",
            _ => "DATABASE",
        };
        self.prevent_in_block(&format!("REINDEX {word}"))?;
        let view = self.core.view()?;
        let user = self.core.users().current;
        let mut schema = None;
        if stmt.kind == ReindexKind::Schema {
            let name = stmt.name.as_deref().unwrap_or("");
            let found = view.require_namespace(name)?;
            if !catalog::privilege::has_rights_of(&view, user, found.owner)? {
                bail!(INSUFFICIENT_PRIVILEGE, "must be owner of schema {name}");
            }
            schema = Some(found.oid);
        } else {
            let here = view.database(self.core.state.oid)?;
            if stmt.name.as_deref().is_some_and(|n| n != &*here.name) {
                bail!(FEATURE_NOT_SUPPORTED, "can only reindex the currently open database");
            }
            if !catalog::privilege::has_rights_of(&view, user, here.owner)? {
                bail!(INSUFFICIENT_PRIVILEGE, "must be owner of database {}", here.name);
            }
        }
        if stmt.kind == ReindexKind::System && concurrently {
            bail!(FEATURE_NOT_SUPPORTED, "cannot reindex system catalogs concurrently");
        }
        if concurrently {
            let text = "cannot reindex system catalogs concurrently, skipping all";
            self.core.notice(Error::warning(text));
        }
        let stays = |oid: Oid| oid < Oid::FIRST_NORMAL && options.tablespace.is_some();
        let mut told = false;
        let mut tables = Vec::new();
        for row in self.core.store.table_scan(oids::PG_CLASS)? {
            let oid = row.oid("oid")?;
            let wanted = matches!(row.char("relkind")?, b'r' | b'm')
                && schema.is_none_or(|s| row.oid("relnamespace").is_ok_and(|n| n == s))
                && (stmt.kind != ReindexKind::System || oid < Oid::FIRST_NORMAL);
            if wanted && !(concurrently && oid < Oid::FIRST_NORMAL) {
                if stays(oid) && !std::mem::replace(&mut told, true) {
                    let text = "cannot move system relations, skipping all";
                    let code = base::SqlState::FEATURE_NOT_SUPPORTED;
                    self.core.notice(Error::with_severity(base::Severity::Warning, code, text));
                }
                if !stays(oid) {
                    tables.push(oid);
                }
            }
        }
        for table in tables {
            if let Some(rel) = self.core.view()?.find_relation(table)?
                && self.require_maintain(&rel).is_ok()
            {
                let done = self.reindex_table(table, options)?;
                self.tell_table(&rel, options, done)?;
                self.commit_transaction()?;
                self.ensure_transaction()?;
            }
        }
        Ok(())
    }
}
