//! VACUUM FULL and CLUSTER: a table written anew without what is dead, in some order.
//!
//! System tables keep their files: their places are fixed. They are vacuumed in place instead.

use crate::Session;
use crate::ddl::name::quote;
use crate::session::RunParts;
use access::ExecTxn;
use access::heap::InsertOptions;
use base::progress::{self, Command, cluster as figure};
use base::{Oid, Result, bail, err};
use catalog::{IndexDesc, RelKind, RelationDesc, RowStore, RowWriter, indexes, oids};
use executor::Execution;
use parser::ast::{ClusterStmt, LockMode};
use std::sync::Arc;
use types::{BATCH_ROWS, Datum};

impl Session {
    /// Writes a table's rows to new files, in the order of an index if one is given, and builds
    /// its indexes anew.
    pub(crate) fn write_anew(&mut self, table: Oid, order: Option<&IndexDesc>) -> Result<()> {
        self.lock_relation(table, LockMode::AccessExclusive as u8)?;
        let old = self.core.view()?.relation(table)?;
        let tell = |figure, n| progress::set(Command::Cluster, figure, n);
        let storage = self.core.database.storage();
        let files = storage.pool.relation(old.relfile, old.persistence.for_files());
        tell(figure::BLOCKS, i64::from(files.nblocks(base::Fork::Main)?.0));
        tell(figure::PHASE, if order.is_some() { figure::SORTING } else { figure::SEQ_SCAN });
        // The query is made ready for the old files before the table gets new ones.
        let sql = self.rows_query(&old, order)?;
        let statements = parser::parse(&sql)?;
        let (run, keep) = self.as_system_run(statements.first())?;
        let mut run = run;
        self.with_ddl("", |ddl| ddl.new_files_without_indexes(&old))?;
        let new = self.core.view()?.relation(table)?;
        let count = self.write_rows(&mut run, &keep, &new)?;
        tell(figure::PHASE, figure::REBUILDING);
        self.with_ddl("", |ddl| ddl.new_index_files(table))?;
        tell(figure::PHASE, figure::FINAL_CLEANUP);
        let storage = self.core.database.storage();
        let files = storage.pool.relation(new.relfile, new.persistence.for_files());
        let pages = files.nblocks(base::Fork::Main)?.0;
        let class =
            [("relpages", Datum::I32(pages as i32)), ("reltuples", Datum::F32(count as f32))];
        self.core.set_class(table, &class)
    }

    /// The rows of a table as a query, and which attribute each column of it is.
    fn rows_query(&self, rel: &RelationDesc, order: Option<&IndexDesc>) -> Result<String> {
        let view = self.core.view()?;
        let attrs = rel.tuple.attrs.iter().filter(|a| !a.dropped && a.generated != b'v');
        let columns: Vec<String> = attrs.map(|a| quote(&a.name)).collect();
        let schema = quote(&view.namespace(rel.namespace)?.name);
        let mut sql =
            format!("SELECT {} FROM ONLY {schema}.{}", columns.join(", "), quote(&rel.name));
        if let Some(index) = order {
            let mut keys = Vec::new();
            for (i, attnum) in index.columns.iter().take(index.n_keys as usize).enumerate() {
                let key = match attnum {
                    0 => self.index_expression(index, i)?,
                    n => quote(&rel.tuple.attrs[*n as usize - 1].name),
                };
                let option = index.options.get(i).copied().unwrap_or(0);
                let way = if option & 1 != 0 { "DESC" } else { "ASC" };
                let nulls = if option & 2 != 0 { "FIRST" } else { "LAST" };
                keys.push(format!("{key} {way} NULLS {nulls}"));
            }
            // Rows with the same key keep their order.
            sql.push_str(&format!(" ORDER BY {}, ctid", keys.join(", ")));
        }
        Ok(sql)
    }

    fn index_expression(&self, index: &IndexDesc, column: usize) -> Result<String> {
        let env = self.env()?;
        let text = crate::sysfn::index_column(&env, index.oid, column as i64 + 1)?;
        Ok(format!("({text})"))
    }

    fn as_system_run(
        &self,
        stmt: Option<&parser::ast::RawStmt>,
    ) -> Result<(Execution, Vec<usize>)> {
        let core = self.core.clone();
        core.as_system(|| {
            let analysed = self.analyse(stmt, &[])?;
            let env = self.env()?;
            let query = analysed.queries.into_iter().next();
            let query = query.ok_or_else(|| base::Error::internal("no query for a table"))?;
            let plan = self.plan(&env, query, None, 0.0)?;
            let compiled = self.compile(&env, plan)?;
            let target = &compiled.plan().plan.target;
            let keep = (0..target.len()).filter(|i| !target[*i].junk).collect();
            let snapshot = Arc::new(self.core.txn()?.latest_snapshot());
            Ok((Execution::new(compiled, Arc::from([]), snapshot), keep))
        })
    }

    fn write_rows(&self, run: &mut Execution, keep: &[usize], new: &RelationDesc) -> Result<u64> {
        let env = self.env()?;
        let parts = RunParts::new(self)?;
        let storage = self.core.database.storage();
        let txn = self.core.txn()?;
        let snapshot = Arc::new(txn.latest_snapshot());
        let heap = new.open(storage, &env.view)?.heap.clone();
        let natts = new.tuple.natts().max(1);
        let attrs = new.tuple.attrs.iter().enumerate();
        let places: Vec<usize> =
            attrs.filter(|(_, a)| !a.dropped && a.generated != b'v').map(|(i, _)| i).collect();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        let mut rows: Vec<Datum> = Vec::new();
        let mut tids = Vec::new();
        let mut count = 0;
        loop {
            let batch = run.next_batch(parts.cx(&env), 0)?;
            if let Some(batch) = &batch {
                for i in batch.positions() {
                    let begin = rows.len();
                    rows.resize(begin + natts, Datum::Null);
                    for (column, place) in keep.iter().zip(&places) {
                        rows[begin + place] = batch.columns[*column].get(i);
                    }
                    count += 1;
                }
            }
            self.check_interrupts()?;
            progress::set(Command::Cluster, figure::TUPLES_SCANNED, count as i64);
            if rows.len() >= BATCH_ROWS * natts || batch.is_none() && !rows.is_empty() {
                tids.clear();
                // Who has an older snapshot finds the rows rather than an empty table.
                let options = InsertOptions { frozen: true };
                heap.multi_insert(&x, &mut rows.chunks_exact(natts), options, &mut tids)?;
                rows.clear();
                progress::set(Command::Cluster, figure::TUPLES_WRITTEN, count as i64);
            }
            if batch.is_none() {
                return Ok(count);
            }
        }
    }

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

    /// Fails unless the user may maintain the relation.
    pub(crate) fn require_maintain(&self, rel: &RelationDesc) -> Result<()> {
        let view = self.core.view()?;
        let user = self.core.users().current;
        let right = catalog::acl::bit(b'm');
        crate::session::permission::require_on_relation(&view, user, rel, right)
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
        if rel.oid < Oid::FIRST_NORMAL {
            return Ok(());
        }
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
        self.write_anew(table, Some(&desc))
    }

    fn mark_clustered(&self, rel: &RelationDesc, index: Oid) -> Result<()> {
        let store = &self.core.store;
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
