//! VACUUM and ANALYZE.

use crate::Session;
use crate::ddl::table::def_text;
use access::heap::VacuumOptions;
use base::{Error, Oid, Result};
use catalog::{RelKind, RowStore, RowWriter, indexes, oids};
use parser::ast::{DefElem, VacuumStmt};
use types::Datum;

fn option_on(options: &[DefElem], name: &str) -> bool {
    options.iter().filter(|o| o.name == name).any(|o| match def_text(o) {
        None => true,
        Some(v) => !matches!(v.as_str(), "false" | "off" | "0" | "no"),
    })
}

impl Session {
    /// VACUUM or ANALYZE; gives the command tag.
    pub(crate) fn vacuum_stmt(&mut self, stmt: &VacuumStmt) -> Result<&'static str> {
        if stmt.vacuum {
            self.prevent_in_block("VACUUM")?;
            if option_on(&stmt.options, "full") {
                return Err(Error::unsupported("VACUUM FULL"));
            }
        }
        let tables = self.vacuum_tables(stmt)?;
        let analyze = !stmt.vacuum || option_on(&stmt.options, "analyze");
        for table in tables {
            let database = self.core.state.oid;
            let counts = self.core.database.changes.of(database, table);
            if stmt.vacuum {
                self.vacuum_table(table)?;
                self.commit_transaction()?;
                self.core.database.changes.vacuumed(database, table, counts);
                self.ensure_transaction()?;
            }
            if analyze {
                crate::command::analyze::analyze_table(self, table)?;
                self.core.database.changes.analysed(database, table, counts);
                if stmt.vacuum {
                    self.commit_transaction()?;
                    self.ensure_transaction()?;
                }
            }
        }
        Ok(if stmt.vacuum { "VACUUM" } else { "ANALYZE" })
    }

    /// The tables named, or all that the user owns.
    fn vacuum_tables(&self, stmt: &VacuumStmt) -> Result<Vec<Oid>> {
        let view = self.core.view()?;
        let mut all = Vec::new();
        for r in &stmt.relations {
            let rel = view
                .require_relation(r.rel.schema.as_deref(), &r.rel.name)
                .map_err(|e| e.at(r.rel.pos))?;
            all.push(rel.oid);
        }
        if stmt.relations.is_empty() {
            for row in self.core.store.table_scan(oids::PG_CLASS)? {
                if matches!(row.char("relkind")?, b'r' | b'm') {
                    all.push(row.oid("oid")?);
                }
            }
        }
        Ok(all)
    }

    pub(crate) fn vacuum_table(&mut self, table: Oid) -> Result<()> {
        const SHARE_UPDATE_EXCLUSIVE: u8 = 4;
        self.lock_relation(table, SHARE_UPDATE_EXCLUSIVE)?;
        let view = self.core.view()?;
        let Some(rel) = view.find_relation(table)? else { return Ok(()) };
        if !matches!(rel.kind, RelKind::Table | RelKind::MatView | RelKind::Toast) {
            let text = format!(
                "skipping \"{}\" --- cannot vacuum non-tables or special system tables",
                rel.name
            );
            self.core.notice(Error::warning(text));
            return Ok(());
        }
        let storage = self.core.database.storage().clone();
        let open = rel.open(&storage, &view)?.clone();
        let memory = (self.core.settings.lock().i64("maintenance_work_mem") as usize) << 10;
        let interrupts = self.interrupts().clone();
        let mut pause = |_: base::BlockNo, _: base::BlockNo| interrupts.check();
        let options = VacuumOptions {
            all_pages: false,
            index_cleanup: true,
            dead_limit: (memory / 8).max(1024),
            lock_for_truncation: None,
            pause: &mut pause,
        };
        let report = open.heap.vacuum(&open.indexes, f64::from(rel.tuples), options)?;
        let class = [
            ("relpages", Datum::I32((report.pages - report.removed_pages) as i32)),
            ("reltuples", Datum::F32(report.live_tuples as f32)),
            ("relallvisible", Datum::I32(report.all_visible as i32)),
            ("relallfrozen", Datum::I32(report.all_frozen as i32)),
        ];
        self.set_class(table, &class)?;
        for (index, stats) in rel.indexes.iter().zip(&report.indexes) {
            let class = [
                ("relpages", Datum::I32(stats.pages as i32)),
                ("reltuples", Datum::F32(stats.entries as f32)),
            ];
            self.set_class(index.oid, &class)?;
        }
        if rel.toast.is_valid() {
            self.vacuum_table(rel.toast)?;
        }
        Ok(())
    }

    /// Changes columns of a relation's `pg_class` row, if they differ.
    pub(crate) fn set_class(&self, oid: Oid, columns: &[(&str, Datum)]) -> Result<()> {
        let key = [Datum::U32(oid.0)];
        let found = self.core.store.index_scan(indexes::PG_CLASS_OID, &key)?;
        let Some(mut row) = found.into_iter().next() else { return Ok(()) };
        let mut changed = false;
        for (name, value) in columns {
            if row.get(name)? != value {
                row.set(name, value.clone())?;
                changed = true;
            }
        }
        if changed {
            self.core.store.update(row)?;
        }
        Ok(())
    }
}
