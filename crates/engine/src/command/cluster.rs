//! CLUSTER: a table in the order of one of its indexes.

use crate::Session;
use base::progress::{self, Command, cluster as figure};
use base::{Oid, Result, bail, err};
use catalog::{RelKind, RelationDesc, RowStore, RowWriter, indexes, oids};
use parser::ast::{ClusterStmt, LockMode};
use types::Datum;

impl Session {
    /// CLUSTER; gives the command tag.
    pub(crate) fn cluster_stmt(&mut self, stmt: &ClusterStmt) -> Result<&'static str> {
        for option in &stmt.options {
            if option.name != "verbose" {
                let e = err!(SYNTAX_ERROR, "unrecognized CLUSTER option \"{}\"", option.name);
                return Err(e.at(option.pos));
            }
        }
        let verbose = match stmt.options.last() {
            Some(option) => crate::ddl::option::bool_of(option)?,
            None => false,
        };
        let Some(name) = &stmt.rel else {
            self.prevent_in_block("CLUSTER")?;
            for (table, index) in self.clustered_tables()? {
                self.cluster_one(table, index, verbose)?;
                self.commit_transaction()?;
                self.ensure_transaction()?;
            }
            return Ok("CLUSTER");
        };
        let view = self.core.view()?;
        let rel = view.require_relation(name.schema.as_deref(), &name.name)?;
        if !matches!(rel.kind, RelKind::Table | RelKind::MatView | RelKind::Partitioned) {
            let word = "table or materialized view";
            bail!(WRONG_OBJECT_TYPE, "\"{}\" is not a {word}", rel.name);
        }
        self.require_maintain(&rel)?;
        let index = match &stmt.index {
            None => {
                rel.indexes.iter().find(|i| i.is_clustered).map(|i| i.oid).ok_or_else(|| {
                    err!(
                        UNDEFINED_OBJECT,
                        "there is no previously clustered index for table \"{}\"",
                        rel.name
                    )
                })?
            }
            Some(index) => view.relation_oid_in(rel.namespace, index)?.ok_or_else(|| {
                err!(
                    UNDEFINED_OBJECT,
                    "index \"{index}\" for table \"{}\" does not exist",
                    rel.name
                )
            })?,
        };
        if rel.kind == RelKind::Partitioned {
            return Err(base::Error::unsupported("CLUSTER of partitioned tables"));
        }
        self.cluster_one(rel.oid, index, verbose)?;
        Ok("CLUSTER")
    }

    /// Tables with an index they were clustered by, that the user may maintain.
    fn clustered_tables(&self) -> Result<Vec<(Oid, Oid)>> {
        let view = self.core.view()?;
        let mut found = Vec::new();
        for row in self.core.store.table_scan(oids::PG_INDEX)? {
            if row.bool("indisclustered")? {
                let table = row.oid("indrelid")?;
                let rel = view.relation(table)?;
                if rel.kind == RelKind::Table && self.require_maintain(&rel).is_ok() {
                    found.push((table, row.oid("indexrelid")?));
                }
            }
        }
        Ok(found)
    }

    fn cluster_one(&mut self, table: Oid, index: Oid, verbose: bool) -> Result<()> {
        self.lock_relation(table, LockMode::AccessExclusive as u8)?;
        let rel = self.core.view()?.relation(table)?;
        let Some(desc) = rel.indexes.iter().find(|i| i.oid == index).cloned() else {
            let other = self.core.view()?.relation(index)?;
            bail!(
                WRONG_OBJECT_TYPE,
                "\"{}\" is not an index for table \"{}\"",
                other.name,
                rel.name
            );
        };
        self.with_ddl("", |ddl| ddl.check_unused(&rel, "CLUSTER"))?;
        if desc.am != oids::BTREE_AM {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "cannot cluster on index \"{}\" because access method does not support clustering",
                desc.name
            );
        }
        if desc.predicate.is_some() {
            bail!(FEATURE_NOT_SUPPORTED, "cannot cluster on partial index \"{}\"", desc.name);
        }
        if !desc.is_valid {
            bail!(FEATURE_NOT_SUPPORTED, "cannot cluster on invalid index \"{}\"", desc.name);
        }
        if rel.shared {
            bail!(FEATURE_NOT_SUPPORTED, "cannot cluster a shared catalog");
        }
        self.mark_clustered(&rel, index)?;
        if verbose {
            let schema = self.core.view()?.namespace(rel.namespace)?.name.clone();
            let text =
                format!("clustering \"{schema}.{}\" using sequential scan and sort", rel.name);
            let code = base::SqlState::SUCCESSFUL_COMPLETION;
            let info = base::Error::with_severity(base::Severity::Info, code, text);
            self.core.notice(info);
        }
        let _telling = self.core.progress(Command::Cluster, table);
        progress::set(Command::Cluster, figure::COMMAND, figure::CLUSTER);
        progress::set(Command::Cluster, figure::INDEX, i64::from(index.0));
        self.write_anew(table, Some(&desc), verbose)
    }

    fn mark_clustered(&self, rel: &RelationDesc, index: Oid) -> Result<()> {
        let store = &self.core.store;
        let _kept = store.keep_locks();
        for i in &rel.indexes {
            let is_it = i.oid == index;
            if i.is_clustered == is_it {
                continue;
            }
            let key = [Datum::U32(i.oid.0)];
            for mut row in store.index_scan(indexes::PG_INDEX_INDEXRELID, &key)? {
                row.set_bool("indisclustered", is_it)?;
                store.update(row)?;
            }
        }
        Ok(())
    }
}
