//! A table's rows read once, to be checked or written to new files.

use super::{RunParts, Session};
use access::ExecTxn;
use access::heap::InsertOptions;
use base::{Oid, Result};
use catalog::RelationDesc;
use catalog::partition::Partitioning;
use executor::RowExprs;
use ir::Expr;
use std::sync::Arc;
use types::{BATCH_ROWS, Datum};

impl Session {
    /// True if a condition over the columns of a table has this value for one of its rows.
    pub(crate) fn any_row(
        &self,
        table: &RelationDesc,
        condition: &Expr,
        wanted: bool,
    ) -> Result<bool> {
        if table.relfile.number == 0 {
            return Ok(false);
        }
        let env = self.env()?;
        let parts = RunParts::new(self)?;
        let storage = self.core.database.storage();
        let snapshot = Arc::new(self.core.txn()?.latest_snapshot());
        let mut condition = condition.clone();
        if let Some(computed) = catalog::computed::Computed::of(table)? {
            computed.expand(&mut condition);
        }
        let exprs = [condition];
        let mut progs = RowExprs::new(&env.view, storage, table, snapshot, &exprs)?;
        let mut found = false;
        let mut row = Vec::new();
        let columns = (0..table.tuple.natts()).collect();
        self.scan_table(table, columns, &mut |batch| {
            for i in batch.positions() {
                row.clear();
                row.extend(batch.columns.iter().map(|c| c.get(i)));
                found |= progs.value(parts.cx(&env), 0, &row)? == Datum::Bool(wanted);
                if found {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(found)
    }

    /// True if all rows of a partition (and of those below it) belong to it.
    pub(crate) fn stray_rows(&self, partition: Oid, parent: Oid) -> Result<Option<Oid>> {
        self.stray_in(partition, partition, parent)
    }

    fn stray_in(&self, table: Oid, partition: Oid, parent: Oid) -> Result<Option<Oid>> {
        let env = self.env()?;
        let parts = RunParts::new(self)?;
        let storage = self.core.database.storage();
        let rel = env.view.relation(table)?;
        if rel.relfile.number == 0 {
            for child in env.view.children(table)? {
                if let Some(found) = self.stray_in(child, partition, parent)? {
                    return Ok(Some(found));
                }
            }
            return Ok(None);
        }
        let above = env.view.relation(parent)?;
        let partitioning = Partitioning::load(&env.view, &above)?;
        let keys = crate::ddl::inherit::partition_key_over(&above, &rel)?;
        let snapshot = Arc::new(self.core.txn()?.latest_snapshot());
        let mut progs = RowExprs::new(&env.view, storage, &rel, snapshot, &keys)?;
        let columns = (0..rel.tuple.natts()).collect();
        let mut all = true;
        let mut row = Vec::new();
        self.scan_table(&rel, columns, &mut |batch| {
            for i in batch.positions() {
                row.clear();
                row.extend(batch.columns.iter().map(|c| c.get(i)));
                let mut key = Vec::with_capacity(keys.len());
                for n in 0..keys.len() {
                    key.push(progs.value(parts.cx(&env), n, &row)?);
                }
                all &= partitioning.find(&key)? == Some(partition);
            }
            Ok(all)
        })?;
        Ok((!all).then_some(table))
    }

    /// Writes the rows of `old` to the files of `new`, which have been made.
    pub(crate) fn rewrite_table(
        &self,
        old: &RelationDesc,
        new: &RelationDesc,
        values: &[(i16, Expr, bool)],
    ) -> Result<()> {
        let env = self.env()?;
        let parts = RunParts::new(self)?;
        let storage = self.core.database.storage();
        let txn = self.core.txn()?;
        let snapshot = Arc::new(txn.latest_snapshot());
        let split = |from_new: bool| -> (Vec<usize>, Vec<Expr>) {
            let these = values.iter().filter(|v| v.2 == from_new);
            these.map(|v| (v.0 as usize - 1, v.1.clone())).unzip()
        };
        let (old_at, old_exprs) = split(false);
        let (new_at, new_exprs) = split(true);
        let mut from_old = RowExprs::new(&env.view, storage, old, snapshot.clone(), &old_exprs)?;
        let mut from_new = RowExprs::new(&env.view, storage, new, snapshot.clone(), &new_exprs)?;
        let heap = new.open(storage, &env.view)?.heap.clone();
        let natts = new.tuple.natts();
        let mut rows: Vec<Datum> = Vec::new();
        let mut tids = Vec::new();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        let mut write = |rows: &mut Vec<Datum>| -> Result<()> {
            tids.clear();
            let options = InsertOptions { frozen: false };
            heap.multi_insert(&x, &mut rows.chunks_exact(natts.max(1)), options, &mut tids)?;
            rows.clear();
            Ok(())
        };
        let columns = (0..old.tuple.natts()).collect();
        self.scan_table(old, columns, &mut |batch| {
            for i in batch.positions() {
                let row: Vec<Datum> = batch.columns.iter().map(|c| c.get(i)).collect();
                let begin = rows.len();
                rows.extend((0..natts.max(1)).map(|c| match new.tuple.attrs.get(c) {
                    Some(a) if a.dropped => Datum::Null,
                    _ => row.get(c).cloned().unwrap_or(Datum::Null),
                }));
                for (n, at) in old_at.iter().enumerate() {
                    rows[begin + at] = from_old.value(parts.cx(&env), n, &row)?;
                }
                for (n, at) in new_at.iter().enumerate() {
                    rows[begin + at] = from_new.value(parts.cx(&env), n, &rows[begin..])?;
                }
            }
            if rows.len() >= BATCH_ROWS * natts.max(1) {
                write(&mut rows)?;
            }
            Ok(true)
        })?;
        if !rows.is_empty() {
            write(&mut rows)?;
        }
        // What the statement checks next are the rows written here.
        txn.increment_command()
    }
}
