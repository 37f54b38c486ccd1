//! The B-tree against a model: random operations, scans of all kinds, vacuum, many threads.

mod model;
mod replay;
mod scans;
mod stress;

use super::tree::Tree;
use crate::Storage;
use crate::index::{
    BuildOptions, BuildOutcome, BuildSource, IndexMethod, IndexRel, IndexScan, InsertOutcome,
    KeyCmp, KeyColumn, RowProbe, RowState, ScanKey, ScanOptions, UniqueCheck,
};
use base::{Oid, RelFile, Result, Tid, Xid};
use buffer::Persistence;
use os::Disk;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use types::tuple::{Attr, TupleDesc};
use types::{Datum, oid};

/// A generator of numbers that only depend on the seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

pub fn storage(buffers: usize) -> Arc<Storage> {
    let disk = Disk::simulated(os::sim::SimDisk::new(1, os::sim::Faults::default()));
    Storage::create(disk, buffers).unwrap()
}

pub fn int4() -> Attr {
    Attr::new("a", oid::INT4, 4, true, 4)
}

pub fn int8() -> Attr {
    Attr::new("b", oid::INT8, 8, true, 8)
}

pub fn text() -> Attr {
    Attr::new("t", oid::TEXT, -1, false, 4)
}

pub fn cmp_of(attr: &Attr) -> KeyCmp {
    if attr.len == -1 { KeyCmp::Bytes } else { KeyCmp::Int }
}

/// An index over these columns, all of them keys.
pub fn index(storage: &Arc<Storage>, attrs: Vec<Attr>, unique: bool) -> IndexRel {
    static NUMBER: AtomicU64 = AtomicU64::new(20000);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed) as u32;
    let file = RelFile { tablespace: Oid(1663), database: Oid(5), number };
    let keys = attrs.iter().map(|a| KeyColumn::ascending(cmp_of(a))).collect();
    let rel = IndexRel {
        oid: Oid(number),
        name: "i".into(),
        heap_oid: Oid(1),
        file,
        persistence: Persistence::Permanent,
        method: IndexMethod::Btree,
        desc: Arc::new(TupleDesc::new(attrs)),
        keys,
        unique,
        nulls_not_distinct: false,
        fillfactor: 90,
        deduplicate: true,
        am_cache: Default::default(),
    };
    storage.pool.create_relation(file, Persistence::Permanent).unwrap();
    rel
}

pub fn empty_index(storage: &Arc<Storage>, attrs: Vec<Attr>, unique: bool) -> IndexRel {
    let rel = index(storage, attrs, unique);
    rel.am().build_empty(storage, &rel).unwrap();
    rel
}

/// All rows live.
pub struct AllLive;

impl RowProbe for AllLive {
    fn state(&mut self, _: Tid) -> Result<RowState> {
        Ok(RowState::Live)
    }
    fn wait(&mut self, _: Xid, _: Tid) -> Result<()> {
        Ok(())
    }
}

pub fn insert(storage: &Arc<Storage>, rel: &IndexRel, values: &[Datum], tid: Tid) -> InsertOutcome {
    let check = if rel.unique { UniqueCheck::Yes } else { UniqueCheck::No };
    rel.am().insert(storage, rel, values, tid, check, &mut AllLive).unwrap()
}

pub fn check(storage: &Arc<Storage>, rel: &IndexRel) -> u64 {
    Tree::new(storage, rel).check(None).unwrap_or_else(|e| panic!("{e}"))
}

pub fn scan(storage: &Arc<Storage>, rel: &Arc<IndexRel>, keys: Vec<ScanKey>) -> Box<dyn IndexScan> {
    let options = ScanOptions { want_values: true, ..ScanOptions::default() };
    rel.am().begin_scan(storage, rel, keys, options).unwrap()
}

/// Rows for a build, from a list.
pub struct List(pub std::vec::IntoIter<(Vec<Datum>, Tid)>);

impl BuildSource for List {
    fn next(&mut self, values: &mut Vec<Datum>) -> Result<Option<(Tid, bool)>> {
        Ok(self.0.next().map(|(v, tid)| {
            values.extend(v);
            (tid, true)
        }))
    }
}

pub fn build(
    storage: &Arc<Storage>,
    rel: &IndexRel,
    rows: Vec<(Vec<Datum>, Tid)>,
    memory: usize,
) -> BuildOutcome {
    let options = BuildOptions { memory };
    rel.am().build(storage, rel, &mut List(rows.into_iter()), options).unwrap()
}
