//! The heap over a real pool, log and transaction manager.

mod basic;
mod crash;
mod long;
mod many;

use super::*;
use crate::{ExecTxn, Storage};
use base::{Oid, RelFile, Tid, Xid};
use os::Disk;
use std::sync::Arc;
use txn::{Backend, CommitData, Interrupts, Isolation, Snapshot, Txn};
use types::{Attr, Batch, Datum, TupleDesc, oid};

pub fn storage(buffers: usize) -> Arc<Storage> {
    let disk = Disk::simulated(os::sim::SimDisk::new(1, os::sim::Faults::default()));
    Storage::create(disk, buffers).unwrap()
}

/// id int4, note text, n int8
pub fn columns() -> Arc<TupleDesc> {
    Arc::new(TupleDesc::new(vec![
        Attr::new("id", oid::INT4, 4, true, 4),
        Attr::new("n", oid::INT8, 8, true, 8),
        Attr::new("note", oid::TEXT, -1, false, 4),
    ]))
}

pub fn file(number: u32) -> RelFile {
    RelFile { tablespace: Oid(1663), database: Oid(5), number }
}

pub fn about(number: u32) -> HeapDesc {
    HeapDesc::new(Oid(number), file(number), columns())
}

pub fn open(storage: &Arc<Storage>, about: HeapDesc) -> Arc<HeapRel> {
    storage.pool.create_relation(about.file, about.persistence).unwrap();
    Arc::new(HeapRel::open(storage, about, None))
}

pub fn table(storage: &Arc<Storage>) -> Arc<HeapRel> {
    let mut about = about(16400);
    about.indexed = [0].into_iter().collect();
    about.keys = [0].into_iter().collect();
    open(storage, about)
}

/// A session with at most one transaction.
pub struct Session {
    pub backend: Arc<Backend>,
    pub storage: Arc<Storage>,
}

impl Session {
    pub fn new(storage: &Arc<Storage>, pid: i32) -> Session {
        let backend = storage.txn.register(pid, Oid(5), Arc::new(Interrupts::new())).unwrap();
        Session { backend, storage: Arc::clone(storage) }
    }

    pub fn begin(&self) -> Arc<Txn> {
        self.storage.txn.begin(&self.backend, Isolation::ReadCommitted)
    }

    /// Runs one command in a transaction of its own.
    pub fn run<R>(&self, work: impl FnOnce(&ExecTxn<'_>) -> R) -> R {
        let txn = self.begin();
        let snapshot = txn.snapshot();
        let out = work(&ExecTxn { txn: &txn, snapshot: &snapshot });
        drop(snapshot);
        commit(&txn);
        out
    }
}

pub fn commit(txn: &Txn) {
    txn.commit(CommitData::default(), &mut |_| Ok(())).unwrap();
}

pub fn row(id: i32, n: i64, note: &str) -> Vec<Datum> {
    vec![Datum::I32(id), Datum::I64(n), Datum::text(note)]
}

/// All rows that the snapshot sees, in order of place.
pub fn rows(rel: &Arc<HeapRel>, snapshot: &Snapshot) -> Vec<(Tid, Vec<Datum>)> {
    let options = ScanOptions { columns: vec![0, 1, 2], tids: true, ..ScanOptions::default() };
    let snapshot = Arc::new(snapshot.clone());
    let mut scan = HeapScan::new(rel, &snapshot, ScanSource::All, options).unwrap();
    let mut out = Vec::new();
    let mut batch = Batch::default();
    while scan.next_batch(&mut batch, 1000).unwrap() {
        for (i, tid) in scan.tids().iter().enumerate() {
            out.push((*tid, batch.row(i)));
        }
    }
    out
}

/// Checks every page.
pub fn check(rel: &HeapRel) {
    let wrong = rel.check().unwrap();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

pub fn vacuum(rel: &HeapRel) -> VacuumReport {
    let mut lock = || Ok(true);
    let options = VacuumOptions {
        strategy: Default::default(),
        skip: Skip::AllVisible,
        freeze_before: Xid(u64::MAX),
        index_cleanup: true,
        dead_limit: 100_000,
        lock_for_truncation: Some(&mut lock),
        pause: &mut |_, _| Ok(()),
    };
    rel.vacuum(&[], -1.0, options).unwrap()
}
