//! Values too long for a row: compressed in place or stored apart in a TOAST table, a heap with
//! columns `chunk_id`, `chunk_seq` and `chunk_data` and an index on the first two.

pub mod reduce;

use crate::ExecTxn;
use crate::heap::{HeapRel, Sight, Viewer};
use crate::index::{Direction, IndexRel, ScanKey, ScanOptions, Strategy, UniqueCheck};
use base::{Oid, Result, Tid, bail, err};
use reduce::{Payload, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use txn::Wait;
use types::tuple::ToastPointer;
use types::{Attr, Blob, Datum, Detoast, TupleDesc};

/// Bytes of a value in one row of a TOAST table.
pub const CHUNK_SIZE: usize = 1996;

/// A TOAST table and its index.
pub struct ToastRel {
    /// The rows: chunk_id, chunk_seq, chunk_data.
    pub heap: HeapRel,
    /// On chunk_id and chunk_seq, unique.
    pub index: Arc<IndexRel>,
    /// The next value id to try.
    next_value: AtomicU32,
}

/// The columns of every TOAST table.
pub fn columns() -> TupleDesc {
    let mut id = Attr::new("chunk_id", types::oid::OID, 4, true, 4);
    let mut seq = Attr::new("chunk_seq", types::oid::INT4, 4, true, 4);
    let mut data = Attr::new("chunk_data", types::oid::BYTEA, -1, false, 4);
    for attr in [&mut id, &mut seq, &mut data] {
        attr.storage = b'p';
    }
    TupleDesc::new(vec![id, seq, data])
}

impl ToastRel {
    /// A TOAST table and its index.
    pub fn new(heap: HeapRel, index: Arc<IndexRel>) -> ToastRel {
        // Value ids need only differ within the table, and every one is looked up before use;
        // starting by chance makes it likely that the first is free.
        ToastRel { heap, index, next_value: AtomicU32::new(os::random::u64() as u32) }
    }

    /// Stores long values of the transaction's rows.
    pub fn writer<'a>(&'a self, x: &'a ExecTxn<'a>) -> Writer<'a> {
        Writer { toast: self, x }
    }

    /// Places of a value's chunks, in order.
    fn chunks(&self, value: Oid) -> Result<Vec<Tid>> {
        let keys = vec![ScanKey::new(0, Strategy::Eq, Datum::oid(value))];
        let storage = &self.heap.storage;
        let mut scan =
            self.index.am().begin_scan(storage, &self.index, keys, ScanOptions::default())?;
        let mut tids = Vec::new();
        while let Some(tid) = scan.next(Direction::Forward)? {
            tids.push(tid);
        }
        Ok(tids)
    }

    /// A value id that no chunk has.
    fn new_value(&self) -> Result<Oid> {
        loop {
            let oid = Oid(self.next_value.fetch_add(1, Ordering::Relaxed));
            if oid.is_valid() && self.chunks(oid)?.is_empty() {
                return Ok(oid);
            }
        }
    }

    /// The stored bytes of a value.
    pub fn fetch(&self, pointer: &ToastPointer) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(pointer.ext_size as usize);
        // The row that holds the pointer is seen, so its chunks are there; whoever deleted them
        // since deleted that row too.
        let viewer = Viewer::new(&self.heap.storage, Sight::NotAborted);
        let mut row = [Datum::Null, Datum::Null, Datum::Null];
        let mut expected = 0;
        for tid in self.chunks(pointer.value)? {
            if !self.heap.fetch_version(tid, &viewer, &mut row)? {
                continue;
            }
            if row[0].as_oid() != pointer.value {
                continue;
            }
            if row[1].as_i32() != expected {
                bail!(
                    DATA_CORRUPTED,
                    "unexpected chunk number {} (expected {expected}) for toast value {} in {}",
                    row[1].as_i32(),
                    pointer.value,
                    self.heap.oid()
                );
            }
            out.extend_from_slice(row[2].as_bytes());
            expected += 1;
        }
        if out.len() != pointer.ext_size as usize {
            bail!(
                DATA_CORRUPTED,
                "missing chunk number {expected} for toast value {} in {}",
                pointer.value,
                self.heap.oid()
            );
        }
        Ok(out)
    }

    /// Deletes a value's chunks.
    pub fn delete(&self, x: &ExecTxn<'_>, pointer: &ToastPointer) -> Result<()> {
        for tid in self.chunks(pointer.value)? {
            self.heap.delete(x, tid, Wait::Block, false)?;
        }
        Ok(())
    }
}

/// Stores values in a TOAST table.
pub struct Writer<'a> {
    toast: &'a ToastRel,
    x: &'a ExecTxn<'a>,
}

impl Store for Writer<'_> {
    fn store(&mut self, payload: Payload<'_>) -> Result<Vec<u8>> {
        let toast = self.toast;
        let value = toast.new_value()?;
        for (seq, chunk) in payload.bytes.chunks(CHUNK_SIZE).enumerate() {
            let (id, seq) = (Datum::oid(value), Datum::I32(seq as i32));
            let row = [id.clone(), seq.clone(), Datum::Bytes(Blob::new(chunk))];
            let tid = toast.heap.insert(self.x, &row)?;
            toast.index.am().insert(
                &toast.heap.storage,
                &toast.index,
                &[id, seq],
                tid,
                UniqueCheck::No,
                &mut toast.heap.probe(self.x),
            )?;
        }
        let pointer = ToastPointer {
            raw_size: payload.raw_size as u32,
            ext_size: payload.bytes.len() as u32,
            compression: payload.compression,
            value,
            relation: toast.heap.oid(),
        };
        Ok(pointer.encode().to_vec())
    }
}

/// Fetches a table's values that are stored apart.
pub struct Toaster<'a>(&'a HeapRel);

impl<'a> Toaster<'a> {
    /// For the values of this table.
    pub fn new(rel: &'a HeapRel) -> Toaster<'a> {
        Toaster(rel)
    }
}

impl Detoast for Toaster<'_> {
    fn fetch(&self, pointer: &ToastPointer) -> Result<Vec<u8>> {
        match &self.0.toast {
            Some(toast) => toast.fetch(pointer),
            None => Err(err!(DATA_CORRUPTED, "table {} has no TOAST table", self.0.oid())),
        }
    }
}
