//! Large objects: rows of `pg_largeobject_metadata` with their bytes in `pg_largeobject`, a page
//! of 2048 bytes a row. Pages that were never written have no row and read as zeros.
//!
//! Entry points: [`call`] runs the functions by which clients use them; [`Descriptors`] is what a
//! session has open, until its transaction ends.

mod functions;
mod object;
mod pages;

pub use functions::call;
pub use object::exists;

use base::{Oid, Result, err};
use os::sync::Mutex;
use txn::{Snapshot, SubId};

/// `INV_WRITE`
const WRITE: i32 = 0x0002_0000;
/// `INV_READ`
const READ: i32 = 0x0004_0000;

/// A large object that is open.
#[derive(Clone)]
struct Descriptor {
    object: Oid,
    /// Where the next byte is read or written.
    position: i64,
    /// May it be written?
    writes: bool,
    /// What is read, unless it is open for writing: that sees everything up to now.
    snapshot: Option<Snapshot>,
    /// The subtransaction with which it goes.
    sub: SubId,
}

/// What a session has open, by number.
#[derive(Default)]
pub struct Descriptors {
    open: Mutex<Vec<Option<Descriptor>>>,
}

impl Descriptors {
    /// The least number that is free.
    fn add(&self, d: Descriptor) -> i32 {
        let mut open = self.open.lock();
        let at = open.iter().position(Option::is_none).unwrap_or(open.len());
        match open.get_mut(at) {
            Some(free) => *free = Some(d),
            None => open.push(Some(d)),
        }
        at as i32
    }

    fn get(&self, number: i32) -> Result<Descriptor> {
        let open = self.open.lock();
        let found = usize::try_from(number).ok().and_then(|n| open.get(n)?.clone());
        found.ok_or_else(|| invalid(number))
    }

    fn seek(&self, number: i32, position: i64) {
        let mut open = self.open.lock();
        if let Some(Some(d)) = usize::try_from(number).ok().and_then(|n| open.get_mut(n)) {
            d.position = position;
        }
    }

    fn close(&self, number: i32) -> Result<()> {
        self.get(number)?;
        self.open.lock()[number as usize] = None;
        Ok(())
    }

    fn retain(&self, stays: impl Fn(&Descriptor) -> bool) {
        for slot in self.open.lock().iter_mut() {
            if slot.as_ref().is_some_and(|d| !stays(d)) {
                *slot = None;
            }
        }
    }

    /// The transaction is over.
    pub(crate) fn clear(&self) {
        self.open.lock().clear();
    }

    /// A subtransaction became part of the one around it.
    pub(crate) fn sub_committed(&self, from: SubId, to: SubId) {
        for d in self.open.lock().iter_mut().flatten().filter(|d| d.sub == from) {
            d.sub = to;
        }
    }

    /// A subtransaction was rolled back.
    pub(crate) fn sub_aborted(&self, sub: SubId) {
        self.retain(|d| d.sub.0 < sub.0);
    }
}

fn invalid(number: i32) -> base::Error {
    err!(UNDEFINED_OBJECT, "invalid large-object descriptor: {number}")
}
