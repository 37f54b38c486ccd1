//! VACUUM FULL and CLUSTER: a table written anew without what is dead to all, in some order.
//!
//! The new files are complete before anything refers to them: first they are made and noted in
//! `pg_class`, then filled from the old ones, then they take their place. *So a system table can
//! be written anew like any other, `pg_class` included: until the last step it is read from its
//! old file.*

use super::freeze::{self, is_heap};
use crate::Session;
use crate::ddl::RelStorage;
use crate::ddl::name::quote;
use crate::session::RunParts;
use access::heap::{HeapRel, Rewrite, RewriteReport};
use base::progress::{self, Command, cluster as figure};
use base::{Lsn, Oid, RelFile, Result};
use catalog::{IndexDesc, RelationDesc, RowStore, RowWriter, indexes};
use executor::Execution;
use parser::ast::LockMode;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use types::Datum;

/// System tables whose files are named in no row: `pg_type`, `pg_attribute`, `pg_proc`, `pg_class`
/// and what holds their long values. Shared ones are the same.
const MAPPED: [Oid; 6] = [Oid(1247), Oid(1249), Oid(1255), Oid(1259), Oid(4171), Oid(2836)];

/// New files, by relation.
pub(crate) type NewFiles = BTreeMap<Oid, RelFile>;

/// A relation as it will be with new files.
pub(crate) fn with_new_files(rel: &RelationDesc, files: &NewFiles) -> Result<RelationDesc> {
    rel.clone().with_files(&|oid| Ok(files.get(&oid).map(|f| f.number)))
}

impl Session {
    /// Writes a table's rows to new files, in the order of an index if one is given, and builds
    /// its indexes anew.
    pub(crate) fn write_anew(
        &mut self,
        table: Oid,
        order: Option<&IndexDesc>,
        verbose: bool,
    ) -> Result<()> {
        self.lock_relation(table, LockMode::AccessExclusive as u8)?;
        let view = self.core.view()?;
        let old = view.relation(table)?;
        let toast = match old.toast.is_valid() {
            true => Some(view.relation(old.toast)?),
            false => None,
        };
        if let Some(toast) = &toast {
            self.lock_relation(toast.oid, LockMode::AccessExclusive as u8)?;
        }
        self.await_writers(&old)?;
        let tell = |figure, n| progress::set(Command::Cluster, figure, n);
        let storage = self.core.database.storage().clone();
        let from = old.open(&storage, &view)?.clone();
        tell(figure::BLOCKS, i64::from(from.heap.nblocks()?.0));
        tell(figure::PHASE, if order.is_some() { figure::SORTING } else { figure::SEQ_SCAN });
        let meter = crate::session::trace::Meter::begin(verbose);
        let mut sorted = match order {
            Some(index) => Some(self.places_in_order(&old, index)?),
            None => None,
        };
        let mut concerned = vec![old.clone()];
        concerned.extend(toast.clone());
        let files = self.new_files_for(&concerned, true)?;
        let horizon = storage.horizon();
        let new = with_new_files(&old, &files)?;
        let heap = HeapRel::open(&storage, catalog::heap_desc(&new), None);
        let (report, values) =
            self.copy_versions((&from.heap, &heap), horizon, sorted.as_mut(), None)?;
        if let Some(toast) = &toast {
            let new = with_new_files(toast, &files)?;
            let to = HeapRel::open(&storage, catalog::heap_desc(&new), None);
            let from = toast.open(&storage, &view)?.clone();
            let (report, _) = self.copy_versions((&from.heap, &to), horizon, None, values)?;
            let oldest = Datum::oid(freeze::low(report.oldest_id));
            self.core.set_class(toast.oid, &[("relfrozenxid", oldest)])?;
            self.fill_new_indexes(&new)?;
        }
        drop(sorted);
        tell(figure::PHASE, figure::REBUILDING);
        self.fill_new_indexes(&new)?;
        tell(figure::PHASE, figure::SWAPPING);
        self.take_new_files(&concerned, &files)?;
        if let Some(meter) = meter {
            self.tell_rewrite(&old, &report, meter.cpu())?;
        }
        tell(figure::PHASE, figure::FINAL_CLEANUP);
        let rows = report.kept - report.recently_dead;
        let pages = heap.nblocks()?.0;
        let class = [
            ("relpages", Datum::I32(pages as i32)),
            ("reltuples", Datum::F32(rows as f32)),
            ("relfrozenxid", Datum::oid(freeze::low(report.oldest_id))),
        ];
        self.core.set_class(table, &class)
    }

    /// Waits until all that others have changed in a system table, which is locked, is settled:
    /// they hold its lock while they change it, not until their transactions end. An index of rows
    /// that are being replaced would have each of them twice.
    pub(super) fn await_writers(&self, table: &RelationDesc) -> Result<()> {
        if table.oid >= Oid::FIRST_NORMAL {
            return Ok(());
        }
        let (view, txn) = (self.core.view()?, self.core.txn()?);
        let heap = &table.open(self.core.database.storage(), &view)?.heap;
        loop {
            let writers = access::heap::unsettled(heap, &txn.latest_snapshot())?;
            if writers.is_empty() {
                return Ok(());
            }
            for xid in writers {
                txn.mgr().wait_for_xid(&txn, xid)?;
            }
        }
    }

    /// What VERBOSE tells.
    fn tell_rewrite(&self, old: &RelationDesc, report: &RewriteReport, cpu: String) -> Result<()> {
        let schema = self.core.view()?.namespace(old.namespace)?.name.clone();
        let text = format!(
            "\"{schema}.{}\": found {} removable, {} nonremovable row versions in {} pages",
            old.name, report.removed, report.kept, report.pages
        );
        let dead = report.recently_dead;
        let detail = format!("{dead} dead row versions cannot be removed yet.\n{cpu}.");
        let code = base::SqlState::SUCCESSFUL_COMPLETION;
        let told = base::Error::with_severity(base::Severity::Info, code, text);
        self.core.notice(told.detail(detail));
        Ok(())
    }

    /// Copies the versions that somebody may still see, those that count in order first.
    fn copy_versions(
        &self,
        (old, new): (&HeapRel, &HeapRel),
        horizon: Lsn,
        sorted: Option<&mut Execution>,
        only: Option<HashSet<Oid>>,
    ) -> Result<(RewriteReport, Option<HashSet<Oid>>)> {
        let mut rewrite = Rewrite::new(old, new, horizon);
        rewrite.only_values(only);
        if let Some(run) = sorted {
            let env = self.env()?;
            let parts = RunParts::new(self)?;
            progress::set(Command::Cluster, figure::PHASE, figure::WRITING);
            while let Some(batch) = run.next_batch(parts.cx(&env), 0)? {
                self.check_interrupts()?;
                for i in batch.positions() {
                    if let Some(tid) = executor::datum_tid(&batch.columns[0].get(i)) {
                        rewrite.copy_row(tid)?;
                    }
                }
                progress::add(
                    Command::Cluster,
                    figure::TUPLES_WRITTEN,
                    batch.positions().count() as i64,
                );
            }
        }
        rewrite.copy_rest(&mut |block| {
            progress::set(Command::Cluster, figure::BLOCKS_SCANNED, i64::from(block) + 1);
            self.check_interrupts()
        })?;
        let (report, values) = rewrite.finish()?;
        progress::set(
            Command::Cluster,
            figure::TUPLES_SCANNED,
            (report.kept + report.removed) as i64,
        );
        progress::set(Command::Cluster, figure::TUPLES_WRITTEN, report.kept as i64);
        Ok((report, values))
    }

    /// Makes files for tables, or only for their indexes, and notes them in `pg_class`.
    pub(crate) fn new_files_for(
        &self,
        tables: &[Arc<RelationDesc>],
        with_tables: bool,
    ) -> Result<NewFiles> {
        let view = self.core.view()?;
        let mut all = Vec::new();
        for table in tables {
            if with_tables {
                all.push(table.clone());
            }
            for index in &table.indexes {
                all.push(view.relation(index.oid)?);
            }
        }
        let mut files = NewFiles::new();
        for rel in all.into_iter().filter(|r| r.relfile.number != 0) {
            files.insert(rel.oid, self.new_file_like(&rel)?);
        }
        Ok(files)
    }

    /// Makes a new, empty file for a relation, which it does not have yet.
    pub(crate) fn new_file_like(&self, rel: &RelationDesc) -> Result<RelFile> {
        let fresh = RelStorage::new_file(self, rel.relfile.tablespace, rel.persistence)?;
        let file = RelFile { number: fresh.number, ..rel.relfile };
        let store = &self.core.store;
        let _kept = store.keep_locks();
        let key = [Datum::U32(rel.oid.0)];
        if let Some(mut class) = store.index_scan(indexes::PG_CLASS_OID, &key)?.into_iter().next() {
            // Where the tables are without which no others can be found is not said there.
            if class.oid("relfilenode")?.is_valid() {
                class.set_oid("relfilenode", Oid(file.number))?;
            }
            class
                .set_i32("relpages", 0)?
                .set_f32("reltuples", -1.0)?
                .set_i32("relallvisible", 0)?
                .set_i32("relallfrozen", 0)?;
            if is_heap(rel.kind) {
                freeze::set_new(&mut class, RelStorage::oldest_id(self))?;
            }
            store.update(class)?;
        }
        self.core.database.stats.moved(rel.relfile, file);
        let moved = RelationDesc { relfile: file, ..rel.clone() };
        RelStorage::create(self, &moved)?;
        RelStorage::drop_at_commit(self, rel.relfile, rel.persistence);
        Ok(file)
    }

    /// Builds all indexes of a table that is described with its new files.
    pub(crate) fn fill_new_indexes(&self, new: &RelationDesc) -> Result<()> {
        new.indexes.iter().try_for_each(|index| RelStorage::build_index(self, new, index).map(drop))
    }

    /// The new files are ready: those of system tables take their place for this transaction.
    /// Others have done so when `pg_class` changed.
    pub(crate) fn take_new_files(
        &self,
        tables: &[Arc<RelationDesc>],
        files: &NewFiles,
    ) -> Result<()> {
        if tables.iter().any(|t| t.oid >= Oid::FIRST_NORMAL) {
            return Ok(());
        }
        // Those that nothing can be found without cannot be elsewhere for a part of a transaction.
        let mapped = |t: &Arc<RelationDesc>| MAPPED.contains(&t.oid) || t.shared;
        if self.core.txn()?.depth() > 0 && tables.iter().any(mapped) {
            let text = "cannot change relation mapping within subtransaction";
            return Err(base::Error::internal(text));
        }
        let moved: Vec<(Oid, u32)> = files.iter().map(|(oid, f)| (*oid, f.number)).collect();
        self.core.store.move_files(&moved);
        let changes: Vec<_> = tables.iter().map(|t| catalog::Change::Relation(t.oid)).collect();
        self.core.overlay.add(&changes);
        Ok(())
    }

    /// The places of all rows that count, in the order of an index.
    fn places_in_order(&self, rel: &RelationDesc, index: &IndexDesc) -> Result<Execution> {
        let view = self.core.view()?;
        let schema = quote(&view.namespace(rel.namespace)?.name);
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
        let table = quote(&rel.name);
        let sql =
            format!("SELECT ctid FROM ONLY {schema}.{table} ORDER BY {}, ctid", keys.join(", "));
        self.as_system_run(parser::parse(&sql)?.first())
    }

    fn index_expression(&self, index: &IndexDesc, column: usize) -> Result<String> {
        let env = self.env()?;
        let text = crate::sysfn::index_column(&env, index.oid, column as i64 + 1)?;
        Ok(format!("({text})"))
    }

    fn as_system_run(&self, stmt: Option<&parser::ast::RawStmt>) -> Result<Execution> {
        let core = self.core.clone();
        core.as_system(|| {
            let analysed = self.analyse(stmt, &[])?;
            let env = self.env()?;
            let query = analysed.queries.into_iter().next();
            let query = query.ok_or_else(|| base::Error::internal("no query for a table"))?;
            let plan = self.plan(&env, query, None, 0.0)?;
            let compiled = self.compile(&env, plan)?;
            let snapshot = Arc::new(self.core.txn()?.latest_snapshot());
            Ok(Execution::new(compiled, Arc::from([]), snapshot))
        })
    }

    /// Fails unless the user may maintain the relation.
    pub(crate) fn require_maintain(&self, rel: &RelationDesc) -> Result<()> {
        let view = self.core.view()?;
        let user = self.core.users().current;
        let right = catalog::acl::bit(b'm');
        crate::session::permission::require_on_relation(&view, user, rel, right)
    }
}
