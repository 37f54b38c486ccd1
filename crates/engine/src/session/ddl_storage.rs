//! What definitions do to files and locks, in the session's transaction.

use super::{Session, SessionOptions};
use crate::ddl::{BuiltIndex, RelStorage};
use access::heap::{BuildScan, HeapScan, ScanOptions, ScanSource};
use access::index::{BuildOptions, BuildOutcome, BuildSource};
use access::sequence::{Sequence, SequenceRow};
use base::{Error, Oid, RelFile, Result, Xid, err};
use catalog::{ConstraintDesc, IndexDesc, OidSource, Persistence, RelationDesc, SysRow};
use executor::RowExprs;
use parser::ast::LockMode;
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Datum};

impl RelStorage for Session {
    fn prevent_in_block(&self, what: &str) -> Result<()> {
        Session::prevent_in_block(self, what)
    }

    fn lock(&self, relation: Oid, mode: LockMode) -> Result<()> {
        self.lock_relation(relation, mode as u8)
    }

    fn in_use(&self, relation: Oid) -> bool {
        self.portals.iter().any(|p| p.uses(relation))
    }

    fn new_file(&self, tablespace: Oid, _persistence: Persistence) -> Result<RelFile> {
        let database = self.core.state.oid;
        loop {
            let number = self.core.database.oids.next_oid()?.0;
            let file = RelFile { tablespace, database, number };
            // Numbers come round again one day: one that is in use is passed over.
            let path = self.core.database.dir().join(file.to_string());
            if !self.core.database.disk().exists(&path) {
                return Ok(file);
            }
        }
    }

    fn oldest_id(&self) -> Xid {
        self.core.database.storage().txn.oldest_running()
    }

    fn moved(&self, from: RelFile, to: RelFile) {
        self.core.database.stats.moved(from, to);
    }

    fn create(&self, rel: &RelationDesc) -> Result<()> {
        let storage = self.core.database.storage();
        let txn = self.core.txn()?;
        self.core.files.lock().create(
            &storage.pool,
            &storage.wal,
            &txn,
            rel.relfile,
            rel.persistence.for_files(),
        )
    }

    fn drop_at_commit(&self, file: RelFile, persistence: Persistence) {
        if let Ok(txn) = self.core.txn() {
            self.core.files.lock().drop_at_commit(&txn, file, persistence.for_files());
        }
    }

    fn build_index(&self, table: &RelationDesc, index: &IndexDesc) -> Result<BuiltIndex> {
        use base::progress::{Command, cluster, index as figure};
        let telling = self.core.progress(Command::CreateIndex, table.oid);
        let tell = |number, value| base::progress::set(Command::CreateIndex, number, value);
        if telling.is_some() {
            tell(figure::COMMAND, figure::CREATE);
        }
        tell(figure::INDEX, i64::from(index.oid.0));
        tell(figure::METHOD, i64::from(index.am.0));
        tell(figure::PHASE, figure::BUILDING);
        let built = self.fill_index(table, index)?;
        base::progress::add(Command::Cluster, cluster::INDEXES_REBUILT, 1);
        Ok(built)
    }

    fn check_not_null(&self, table: &RelationDesc, attnum: i16) -> Result<()> {
        let column = attnum as usize - 1;
        let attr = &table.tuple.attrs[column];
        let mut found = false;
        if attr.generated == b'v' {
            let value = ir::Var::new(1, attnum, attr.type_oid, attr.typmod, attr.collation);
            let test = ir::Expr::NullTest {
                kind: ir::NullTestKind::IsNotNull,
                arg: Box::new(ir::Expr::Var(value)),
                is_row: false,
                location: None,
            };
            found = self.any_row(table, &test, false)?;
        } else {
            self.scan_table(table, vec![column], &mut |batch| {
                found |= batch.positions().any(|i| batch.columns[0].is_null(i));
                Ok(!found)
            })?;
        }
        if !found {
            return Ok(());
        }
        let name = &table.tuple.attrs[column].name;
        Err(err!(
            NOT_NULL_VIOLATION,
            "column \"{name}\" of relation \"{}\" contains null values",
            table.name
        )
        .table(self.schema_of(table)?, table.name.to_string())
        .column(name.to_string()))
    }

    fn check_rows(&self, table: &RelationDesc, name: &str, check: &ir::Expr) -> Result<()> {
        let violated = self.any_row(table, check, false)?;
        if !violated {
            return Ok(());
        }
        Err(err!(
            CHECK_VIOLATION,
            "check constraint \"{name}\" of relation \"{}\" is violated by some row",
            table.name
        )
        .table(self.schema_of(table)?, table.name.to_string())
        .constraint(name.to_string()))
    }

    fn stray(&self, partition: Oid, parent: Oid) -> Result<Option<Oid>> {
        self.stray_rows(partition, parent)
    }

    fn violates(&self, table: &RelationDesc, condition: &ir::Expr) -> Result<bool> {
        self.any_row(table, condition, false)
    }

    fn open(&self, table: &RelationDesc) -> Result<()> {
        let view = self.core.view()?;
        table.open(self.core.database.storage(), &view)?;
        Ok(())
    }

    fn rewrite(
        &self,
        old: &RelationDesc,
        new: &RelationDesc,
        values: &[(i16, ir::Expr, bool)],
    ) -> Result<()> {
        self.rewrite_table(old, new, values)
    }

    fn evaluate(&self, expr: &ir::Expr) -> Result<Datum> {
        let env = self.env()?;
        Session::evaluate(self, &env, expr.clone(), Arc::new([]))
    }

    fn sequence_state(&self, rel: &RelationDesc) -> Result<(i64, bool)> {
        let storage = self.core.database.storage();
        let files = Sequence::open(storage, rel.relfile, rel.persistence.for_files());
        let row = files.read()?;
        Ok((row.last_value, row.is_called))
    }

    fn check_excluded(&self, table: &RelationDesc, index: &IndexDesc) -> Result<()> {
        self.refuse_excluded(table, index)
    }

    fn note_index(
        &self,
        table: Oid,
        row: base::Tid,
        change: &dyn Fn(&mut SysRow) -> Result<bool>,
    ) -> Result<bool> {
        let options =
            SessionOptions { background: Some(self.core.state.oid), ..SessionOptions::default() };
        let mut other = Session::new(&self.core.database, &options)?;
        let _kept = self.core.store.keep_locks();
        self.core.store.keep_table(catalog::oids::PG_CLASS)?;
        other.core.store.work_for_another();
        let mut tries = 0;
        loop {
            other.ensure_transaction()?;
            let done = other.with_ddl("", |ddl| {
                let index = catalog::indexes::PG_CLASS_OID;
                let rows = ddl.rows.index_scan(index, &[types::Datum::U32(table.0)])?;
                let Some(mut class) = rows.into_iter().next() else { return Ok(false) };
                let known = class.tid == row || tries > 0;
                if !change(&mut class)? {
                    return Ok(true);
                }
                if known {
                    ddl.rows.update(class)?;
                }
                Ok(known)
            });
            match done {
                Ok(done) => {
                    other.commit_transaction()?;
                    return Ok(done);
                }
                // Somebody else has just changed the row: it is read again.
                Err(e) if e.code() == base::SqlState::INTERNAL_ERROR && tries < 10 => {
                    other.rollback_all()?;
                    tries += 1;
                }
                Err(e) => {
                    let _ = other.rollback_all();
                    return Err(e);
                }
            }
        }
    }

    fn check_not_referenced(&self, fk: &ConstraintDesc) -> Result<()> {
        self.refuse_referenced(fk)
    }

    fn check_foreign_key(&self, table: &RelationDesc, fk: &ConstraintDesc) -> Result<()> {
        crate::constraint::check_existing(self, table, fk)
    }

    fn start_sequence(&self, rel: &RelationDesc, last: i64, called: bool) -> Result<()> {
        let storage = self.core.database.storage();
        let files = Sequence::open(storage, rel.relfile, rel.persistence.for_files());
        files.create(SequenceRow { last_value: last, log_cnt: 0, is_called: called })
    }
}

impl Session {
    /// Reads some columns of all rows that count now; `f` says whether to go on.
    pub(crate) fn scan_table(
        &self,
        table: &RelationDesc,
        columns: Vec<usize>,
        f: &mut dyn FnMut(&Batch) -> Result<bool>,
    ) -> Result<()> {
        if table.relfile.number == 0 {
            return Ok(());
        }
        let storage = self.core.database.storage();
        let view = self.core.view()?;
        let open = table.open(storage, &view)?;
        let snapshot = Arc::new(self.core.txn()?.latest_snapshot());
        let options = ScanOptions { columns, ..Default::default() };
        let mut scan = HeapScan::new(&open.heap, &snapshot, ScanSource::All, options)?;
        let mut batch = Batch::new(0, Vec::new());
        while scan.next_batch(&mut batch, BATCH_ROWS)? {
            self.check_interrupts()?;
            if !f(&batch)? {
                break;
            }
        }
        Ok(())
    }

    /// True if no row of the table counts now.
    pub(crate) fn table_is_empty(&self, table: &RelationDesc) -> Result<bool> {
        let mut empty = true;
        self.scan_table(table, Vec::new(), &mut |batch| {
            empty &= batch.positions().next().is_none();
            Ok(empty)
        })?;
        Ok(empty)
    }
}

impl Session {
    fn fill_index(&self, table: &RelationDesc, index: &IndexDesc) -> Result<BuiltIndex> {
        let storage = self.core.database.storage();
        let view = self.core.view()?;
        let open = table.open(storage, &view)?;
        let at = table.indexes.iter().position(|i| i.oid == index.oid);
        let rel = at
            .map(|i| open.indexes[i].clone())
            .ok_or_else(|| Error::internal("an index is not its table's"))?;
        let memory = (self.core.settings.lock().i64("maintenance_work_mem") as usize) << 10;
        let snapshot = self.core.txn()?.latest_snapshot();
        let mut exprs: Vec<ir::Expr> = match &index.exprs {
            Some(text) => crate::cook::from_text(text)?,
            None => Vec::new(),
        };
        let computed = exprs.len();
        if let Some(text) = &index.predicate {
            exprs.push(crate::cook::from_text(text)?);
        }
        let width = match exprs.is_empty() {
            true => index.columns.iter().max().map_or(0, |n| *n as usize),
            false => table.tuple.natts(),
        };
        let scan = BuildScan::new(&open.heap, &snapshot, width)?;
        let mut next = 0;
        let columns = index
            .columns
            .iter()
            .map(|n| match *n {
                0 => {
                    next += 1;
                    Err(next - 1)
                }
                n => Ok(n as usize - 1),
            })
            .collect();
        let env = self.env()?;
        let parts = super::RunParts::new(self)?;
        let progs = match exprs.is_empty() {
            true => None,
            false => {
                let snapshot = Arc::new(snapshot.clone());
                Some(RowExprs::new(&env.view, storage, table, snapshot, &exprs)?)
            }
        };
        let predicate = index.predicate.as_ref().map(|_| computed);
        let mut source = TableRows {
            session: self,
            scan,
            columns,
            progs,
            predicate,
            parts: &parts,
            env: &env,
            done: 0,
            rows: 0,
        };
        match rel.am().build(storage, &rel, &mut source, BuildOptions { memory })? {
            BuildOutcome::Done(entries) => {
                let size = |file, persistence: Persistence| {
                    let files = storage.pool.relation(file, persistence.for_files());
                    files.nblocks(base::Fork::Main).map(|n| n.0)
                };
                Ok(BuiltIndex {
                    rows: source.rows,
                    entries,
                    table_pages: size(table.relfile, table.persistence)?,
                    pages: size(index.relfile, index.persistence)?,
                })
            }
            BuildOutcome::Duplicate(key, ..) => {
                let shown = crate::describe::key_detail(self, table, index, &key)?;
                Err(err!(UNIQUE_VIOLATION, "could not create unique index \"{}\"", index.name)
                    .detail(format!("Key {shown} is duplicated."))
                    .table(self.schema_of(table)?, table.name.to_string())
                    .constraint(index.name.to_string()))
            }
        }
    }
}

impl Session {
    /// The name of a table's schema.
    fn schema_of(&self, table: &RelationDesc) -> Result<String> {
        Ok(self.core.view()?.namespace(table.namespace)?.name.to_string())
    }
}

/// A table's rows, for the build of an index.
struct TableRows<'a> {
    session: &'a Session,
    scan: BuildScan,
    /// Columns of the table, or numbers of expressions.
    columns: Vec<std::result::Result<usize, usize>>,
    progs: Option<RowExprs>,
    /// Which expression says whether a row is wanted.
    predicate: Option<usize>,
    parts: &'a super::RunParts,
    env: &'a super::StatementEnv<'a>,
    done: u64,
    /// Those that live.
    rows: u64,
}

impl BuildSource for TableRows<'_> {
    fn next(&mut self, values: &mut Vec<Datum>) -> Result<Option<(base::Tid, bool)>> {
        loop {
            self.done += 1;
            if self.done.is_multiple_of(1024) {
                self.session.check_interrupts()?;
            }
            let Some(row) = self.scan.next_row()? else { return Ok(None) };
            self.rows += u64::from(row.live);
            if let (Some(p), Some(progs)) = (self.predicate, &mut self.progs)
                && progs.value(self.parts.cx(self.env), p, row.values)? != Datum::Bool(true)
            {
                continue;
            }
            for c in &self.columns {
                values.push(match (c, &mut self.progs) {
                    (Ok(c), _) => row.values[*c].clone(),
                    (Err(n), Some(progs)) => {
                        progs.value(self.parts.cx(self.env), *n, row.values)?
                    }
                    (Err(_), None) => Datum::Null,
                });
            }
            return Ok(Some((row.tid, row.live)));
        }
    }
}
