//! VACUUM and ANALYZE.

use super::freeze::{self, Advance, Cutoffs};
use super::upkeep_report::{Kind, Told, Work};
use super::vacuum_options::Options;
use crate::Session;
use crate::session::SessionCore;
use crate::stats::Work as StatsWork;
use access::heap::{VacuumOptions, VacuumReport};
use base::progress::{self, Command, cluster};
use base::{Error, Oid, Result, bail};
use catalog::{RelKind, RelationDesc, RowStore, RowWriter, indexes, oids};
use parser::ast::VacuumStmt;
use types::Datum;

/// One table of VACUUM or ANALYZE, with the columns to analyse; none is all.
struct Task {
    table: Oid,
    columns: Vec<String>,
    /// The statement names it: what is wrong with it is told.
    named: bool,
}

impl Session {
    /// VACUUM or ANALYZE; gives the command tag.
    pub(crate) fn vacuum_stmt(&mut self, stmt: &VacuumStmt) -> Result<&'static str> {
        let options = Options::read(stmt)?;
        let tag = if stmt.vacuum { "VACUUM" } else { "ANALYZE" };
        if stmt.vacuum {
            self.prevent_in_block("VACUUM")?;
        }
        if options.only_database_stats {
            self.note_oldest_of_database()?;
            return Ok(tag);
        }
        let before = self.buffer_limit_kb.replace(options.buffer_limit_kb);
        let done = self.vacuum_all(stmt, &options);
        self.buffer_limit_kb.set(before);
        done.map(|()| tag)
    }

    fn vacuum_all(&mut self, stmt: &VacuumStmt, options: &Options) -> Result<()> {
        for work in self.vacuum_tables(stmt)? {
            if stmt.vacuum {
                self.vacuum_one(&work, options)?;
            }
            if options.analyze {
                self.analyze_one(&work, options)?;
                if stmt.vacuum {
                    self.commit_transaction()?;
                    self.ensure_transaction()?;
                }
            }
        }
        if stmt.vacuum {
            if !options.skip_database_stats {
                self.note_oldest_of_database()?;
            }
            self.core.database.forget_commit_times()?;
        }
        Ok(())
    }

    /// How VACUUM and ANALYZE read tables: in a ring of BUFFER_USAGE_LIMIT, or of
    /// `vacuum_buffer_usage_limit`.
    pub(crate) fn upkeep_ring(&self) -> buffer::Strategy {
        let set = || self.core.settings.lock().i64("vacuum_buffer_usage_limit") as u32;
        let kb = self.buffer_limit_kb.get().unwrap_or_else(set);
        buffer::Strategy::Vacuum(kb / (base::PAGE_SIZE as u32 >> 10))
    }

    fn vacuum_one(&mut self, work: &Task, options: &Options) -> Result<()> {
        let (table, database) = (work.table, self.core.state.oid);
        if !self.may_work_on(work, options, "vacuum", options.full)? {
            return Ok(());
        }
        let counts = self.core.database.changes.of(database, table);
        let began = os::clock::monotonic_nanos();
        let rel = self.core.view()?.relation(table)?;
        let is_table = matches!(rel.kind, RelKind::Table | RelKind::MatView | RelKind::Toast);
        if options.verbose && is_table && options.full {
            let schema = self.core.view()?.namespace(rel.namespace)?.name.clone();
            let code = base::SqlState::SUCCESSFUL_COMPLETION;
            let text = format!("vacuuming \"{schema}.{}\"", rel.name);
            self.core.notice(Error::with_severity(base::Severity::Info, code, text));
        }
        match options.full && is_table {
            true if options.process_main => {
                let _telling = self.core.progress(Command::Cluster, table);
                progress::set(Command::Cluster, cluster::COMMAND, cluster::VACUUM_FULL);
                let order = rel.indexes.iter().find(|i| i.is_clustered).cloned();
                self.write_anew(table, order.as_deref(), options.verbose)?;
            }
            true => {}
            false if options.process_main => self.vacuum_pages(table, table, options)?,
            false if options.process_toast && rel.toast.is_valid() => {
                self.vacuum_pages(rel.toast, table, options)?;
            }
            false => {}
        }
        self.commit_transaction()?;
        self.core.database.changes.vacuumed(database, table, counts);
        if options.full {
            let micros = (os::clock::monotonic_nanos() - began) / 1000;
            self.core.database.stats.worked((database, table), StatsWork::Vacuum, None, micros);
        }
        self.ensure_transaction()
    }

    fn analyze_one(&mut self, work: &Task, options: &Options) -> Result<()> {
        let (table, database) = (work.table, self.core.state.oid);
        if !self.may_work_on(work, options, "analyze", false)? {
            return Ok(());
        }
        let rel = self.core.view()?.relation(table)?;
        for (i, column) in work.columns.iter().enumerate() {
            if rel.column_number(column).is_none() {
                bail!(
                    UNDEFINED_COLUMN,
                    "column \"{column}\" of relation \"{}\" does not exist",
                    rel.name
                );
            }
            if work.columns[..i].contains(column) {
                bail!(
                    DUPLICATE_COLUMN,
                    "column \"{column}\" of relation \"{}\" appears more than once",
                    rel.name
                );
            }
        }
        if !matches!(rel.kind, RelKind::Table | RelKind::MatView | RelKind::Partitioned) {
            if work.named && !options.vacuum {
                let text = format!(
                    "skipping \"{}\" --- cannot analyze non-tables or special system tables",
                    rel.name
                );
                self.core.notice(Error::warning(text));
            }
            return Ok(());
        }
        let counts = self.core.database.changes.of(database, table);
        crate::command::analyze::analyze_table(self, table, &work.columns, options.told)?;
        self.core.database.changes.analysed(database, table, counts);
        Ok(())
    }

    /// False, with a warning, if the user may not maintain the table, or it is locked and such
    /// are to be skipped.
    fn may_work_on(
        &self,
        work: &Task,
        options: &Options,
        verb: &str,
        exclusive: bool,
    ) -> Result<bool> {
        let view = self.core.view()?;
        let Some(rel) = view.find_relation(work.table)? else { return Ok(false) };
        if options.skip_locked {
            let db = if rel.shared { Oid::INVALID } else { self.core.state.oid };
            let tag = txn::LockTag::Relation { db, rel: rel.oid };
            let mode = match exclusive {
                true => txn::LockMode::AccessExclusive,
                false => txn::LockMode::ShareUpdateExclusive,
            };
            if !self.core.txn()?.try_lock(tag, mode)?.is_held() {
                if work.named {
                    let text =
                        format!("skipping {verb} of \"{}\" --- lock not available", rel.name);
                    let code = base::SqlState::LOCK_NOT_AVAILABLE;
                    self.core.notice(Error::with_severity(base::Severity::Warning, code, text));
                }
                return Ok(false);
            }
        }
        let here = view.database(self.core.state.oid)?;
        let user = self.core.users().current;
        let owns_database =
            !rel.shared && catalog::privilege::has_rights_of(&view, user, here.owner)?;
        if owns_database || self.require_maintain(&rel).is_ok() {
            return Ok(true);
        }
        // Of both VACUUM and ANALYZE the first one warns.
        if verb == "vacuum" || !options.vacuum {
            let text = format!("permission denied to {verb} \"{}\", skipping it", rel.name);
            self.core.notice(Error::warning(text));
        }
        Ok(false)
    }

    /// The tables named, or all.
    fn vacuum_tables(&self, stmt: &VacuumStmt) -> Result<Vec<Task>> {
        let view = self.core.view()?;
        let mut all = Vec::new();
        for r in &stmt.relations {
            let rel = view.require_relation(r.rel.schema.as_deref(), &r.rel.name)?;
            let work = |table| Task { table, columns: r.columns.clone(), named: true };
            if r.only && stmt.vacuum && rel.kind == RelKind::Partitioned {
                let text =
                    format!("VACUUM ONLY of partitioned table \"{}\" has no effect", rel.name);
                self.core.notice(Error::warning(text));
            }
            all.push(work(rel.oid));
            let mut next = all.len() - 1;
            while !r.only && next < all.len() {
                for child in view.children(all[next].table)? {
                    if !all.iter().any(|w| w.table == child) {
                        all.push(work(child));
                    }
                }
                next += 1;
            }
        }
        if stmt.relations.is_empty() {
            for row in self.core.store.table_scan(oids::PG_CLASS)? {
                if matches!(row.char("relkind")?, b'r' | b'm' | b'p') {
                    let table = row.oid("oid")?;
                    let rel = view.relation(table)?;
                    let others = rel.persistence == catalog::Persistence::Temp
                        && Some(rel.namespace) != self.core.temp_namespace();
                    if !others && self.require_maintain(&rel).is_ok() {
                        all.push(Task { table, columns: Vec::new(), named: false });
                    }
                }
            }
        }
        Ok(all)
    }

    /// Vacuums a table on the server's own account.
    pub(crate) fn vacuum_table(
        &mut self,
        table: Oid,
        told: Told,
        against_wraparound: bool,
    ) -> Result<()> {
        let stmt = VacuumStmt { vacuum: true, options: Vec::new(), relations: Vec::new() };
        let options = Options { told, against_wraparound, ..Options::read(&stmt)? };
        self.vacuum_pages(table, table, &options)
    }

    /// Vacuums a table, or the TOAST table that belongs to `main`.
    fn vacuum_pages(&mut self, table: Oid, main: Oid, how: &Options) -> Result<()> {
        const SHARE_UPDATE_EXCLUSIVE: u8 = 4;
        self.lock_relation(table, SHARE_UPDATE_EXCLUSIVE)?;
        let began = os::clock::monotonic_nanos();
        let view = self.core.view()?;
        let Some(rel) = view.find_relation(table)? else { return Ok(()) };
        if rel.kind == RelKind::Partitioned {
            return Ok(());
        }
        if !matches!(rel.kind, RelKind::Table | RelKind::MatView | RelKind::Toast) {
            let text = format!(
                "skipping \"{}\" --- cannot vacuum non-tables or special system tables",
                rel.name
            );
            self.core.notice(Error::warning(text));
            return Ok(());
        }
        let schema = view.namespace(rel.namespace)?.name.clone();
        let name = format!("{}.{schema}.{}", self.core.database_name, rel.name);
        let cutoffs = Cutoffs::of(self, &rel, how)?;
        let aggressive = how.all_pages || cutoffs.aggressive;
        let telling = self.core.progress(Command::Vacuum, table);
        let work = Work::begin(self, how.told);
        if let Some(work) = &work {
            let word = if aggressive { "aggressively vacuuming" } else { "vacuuming" };
            work.step(self, format!("{word} \"{name}\""));
        }
        let storage = self.core.database.storage().clone();
        let open = rel.open(&storage, &view)?.clone();
        let memory = self.vacuum_memory();
        if cutoffs.failsafe {
            self.warn_of_failsafe(&name);
        }
        let interrupts = self.interrupts().clone();
        let mut cost = super::vacuum_cost::Cost::new(self, &rel);
        let mut pause = |_: base::BlockNo, _: base::BlockNo| {
            if !cutoffs.failsafe {
                cost.pause();
            }
            interrupts.check()
        };
        let mut lock = || self.lock_out_all(&[main, table]);
        let truncates = self.truncates(&rel, how) && !cutoffs.failsafe;
        let options = VacuumOptions {
            strategy: self.upkeep_ring(),
            skip: cutoffs.skip(how),
            freeze_before: cutoffs.freeze_before,
            index_cleanup: how.index_cleanup && !cutoffs.failsafe,
            dead_limit: (memory / 8).max(1024),
            lock_for_truncation: if truncates { Some(&mut lock) } else { None },
            pause: &mut pause,
        };
        let report = open.heap.vacuum(&open.indexes, f64::from(rel.tuples), options)?;
        let advance = report.oldest_id.and_then(|oldest| cutoffs.advance(self, oldest));
        let micros = (os::clock::monotonic_nanos() - began) / 1000;
        self.note_vacuum(&rel, &report, advance, micros)?;
        if let Some(work) = &work {
            if report.removed_pages > 0 {
                let (from, to) = (report.pages, report.pages - report.removed_pages);
                let text = format!("table \"{}\": truncated {from} to {to} pages", rel.name);
                work.step(self, text);
            }
            let indexes: Vec<_> = rel.indexes.iter().map(|i| i.name.clone()).collect();
            let kind = Kind {
                aggressive,
                against_wraparound: how.against_wraparound,
                failsafe: cutoffs.failsafe,
                index_cleanup: how.index_cleanup,
                advance,
            };
            work.vacuumed(self, (&name, kind), &indexes, &report, &cost);
        }
        drop(telling);
        if rel.toast.is_valid() && how.process_toast {
            self.vacuum_pages(rel.toast, main, how)?;
        }
        Ok(())
    }

    /// A table's ids are so old that its vacuum does nothing but freeze.
    fn warn_of_failsafe(&self, name: &str) {
        let text = format!(
            "bypassing nonessential maintenance of table \"{name}\" as a failsafe after 0 index scans"
        );
        let warning = Error::warning(text)
            .detail("The table's relfrozenxid or relminmxid is too far in the past.")
            .hint(
                "Consider increasing configuration parameter \"maintenance_work_mem\" or \
                 \"autovacuum_work_mem\".\nYou might also need to consider other ways for VACUUM \
                 to keep up with the allocation of transaction IDs.",
            );
        match self.is_background() {
            true => self.core.database.log_as("autovacuum worker", &warning),
            false => self.core.notice(warning),
        }
    }

    /// Whether empty pages at a table's end are given back.
    fn truncates(&self, rel: &RelationDesc, how: &Options) -> bool {
        // Who reads system tables does not lock them.
        if rel.oid < Oid::FIRST_NORMAL {
            return false;
        }
        let off = |v: &str| matches!(v, "false" | "off" | "0" | "no");
        let own = rel.option("vacuum_truncate").map(|v| !off(v));
        let set = || self.core.settings.lock().bool("vacuum_truncate");
        how.truncate.or(own).unwrap_or_else(set)
    }

    /// Keeps all others out of these tables; false if that cannot be had soon.
    fn lock_out_all(&self, tables: &[Oid]) -> Result<bool> {
        let (mode, txn) = (txn::LockMode::AccessExclusive, self.core.txn()?);
        for rel in tables {
            let tag = txn::LockTag::Relation { db: self.core.state.oid, rel: *rel };
            let mut tries = 0;
            while !txn.try_lock(tag, mode)?.is_held() {
                tries += 1;
                if tries == 100 {
                    return Ok(false);
                }
                let _waiting = os::wait::begin(base::wait::WaitEvent::VacuumTruncate);
                os::thread::sleep(std::time::Duration::from_millis(50));
                self.check_interrupts()?;
            }
        }
        Ok(true)
    }

    /// What a vacuum found out goes into `pg_class` and the counters.
    fn note_vacuum(
        &self,
        rel: &RelationDesc,
        report: &VacuumReport,
        advance: Option<Advance>,
        micros: u64,
    ) -> Result<()> {
        let mut class = vec![
            ("relpages", Datum::I32((report.pages - report.removed_pages) as i32)),
            ("reltuples", Datum::F32(report.live_tuples as f32)),
            ("relallvisible", Datum::I32(report.all_visible as i32)),
            ("relallfrozen", Datum::I32(report.all_frozen as i32)),
        ];
        if let Some(advance) = advance {
            class.push(("relfrozenxid", Datum::oid(freeze::low(advance.now))));
            class.push(("relminmxid", Datum::U32(freeze::NEXT_MULTI)));
        }
        self.core.set_class(rel.oid, &class)?;
        for (index, stats) in rel.indexes.iter().zip(&report.indexes) {
            let class = [
                ("relpages", Datum::I32(stats.pages as i32)),
                ("reltuples", Datum::F32(stats.entries as f32)),
            ];
            self.core.set_class(index.oid, &class)?;
        }
        let db = if rel.shared { Oid::INVALID } else { self.core.state.oid };
        let work = match self.is_background() {
            true => StatsWork::AutoVacuum,
            false => StatsWork::Vacuum,
        };
        let rows = Some((report.live_tuples, report.recently_dead as f64));
        self.core.database.stats.worked((db, rel.oid), work, rows, micros);
        Ok(())
    }

    /// Bytes for what is remembered of dead rows.
    fn vacuum_memory(&self) -> usize {
        let settings = self.core.settings.lock();
        let kilobytes = match settings.i64("autovacuum_work_mem") {
            n if n > 0 && self.is_background() => n,
            _ => settings.i64("maintenance_work_mem"),
        };
        (kilobytes as usize) << 10
    }
}

impl SessionCore {
    /// Changes columns of a relation's `pg_class` row, if they differ.
    pub(crate) fn set_class(&self, oid: Oid, columns: &[(&str, Datum)]) -> Result<()> {
        let _kept = self.store.keep_locks();
        let found = self.store.index_scan(indexes::PG_CLASS_OID, &[Datum::U32(oid.0)])?;
        let Some(mut row) = found.into_iter().next() else { return Ok(()) };
        let mut changed = false;
        for (name, value) in columns {
            if row.get(name)? != value {
                row.set(name, value.clone())?;
                changed = true;
            }
        }
        if changed {
            self.store.update(row)?;
        }
        Ok(())
    }
}
