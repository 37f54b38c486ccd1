//! A scan of an index that the members of a team share: each takes some entries at a time, in the
//! index's order.

use access::index::{Direction, IndexScan, ScanKey};
use base::{Error, Result, Tid};
use os::sync::Mutex;
use std::sync::Arc;
use types::Datum;

/// Entries that a member takes at a time.
const CHUNK: usize = 512;

/// The scan itself.
pub(crate) struct SharedScan(Mutex<Box<dyn IndexScan>>);

impl SharedScan {
    pub fn new(scan: Box<dyn IndexScan>) -> SharedScan {
        SharedScan(Mutex::new(scan))
    }
}

/// A member's share of the entries.
pub(crate) struct Share {
    shared: Arc<SharedScan>,
    wants_values: bool,
    /// Rows of the entries that were taken, and whether all see all rows of their pages.
    taken: Vec<(Tid, bool)>,
    /// Their values, `width` for each.
    values: Vec<Datum>,
    width: usize,
    /// How many of them have been given.
    given: usize,
    done: bool,
}

impl Share {
    pub fn new(shared: Arc<SharedScan>, wants_values: bool) -> Share {
        Share {
            shared,
            wants_values,
            taken: Vec::new(),
            values: Vec::new(),
            width: 0,
            given: 0,
            done: false,
        }
    }

    fn take(&mut self, direction: Direction) -> Result<()> {
        self.taken.clear();
        self.values.clear();
        self.given = 0;
        let mut one = Vec::new();
        let mut scan = self.shared.0.lock();
        while self.taken.len() < CHUNK {
            let Some(tid) = scan.next(direction)? else {
                self.done = true;
                break;
            };
            self.taken.push((tid, scan.all_visible()));
            if self.wants_values {
                scan.values(&mut one)?;
                self.width = one.len();
                self.values.append(&mut one);
            }
        }
        Ok(())
    }
}

impl IndexScan for Share {
    fn rescan(&mut self, _keys: Vec<ScanKey>) -> Result<()> {
        Err(Error::internal("a shared scan of an index cannot start over"))
    }

    fn next(&mut self, direction: Direction) -> Result<Option<Tid>> {
        if self.given == self.taken.len() && !self.done {
            self.take(direction)?;
        }
        let entry = self.taken.get(self.given);
        self.given += usize::from(entry.is_some());
        Ok(entry.map(|e| e.0))
    }

    fn values(&self, out: &mut Vec<Datum>) -> Result<()> {
        out.clear();
        let at = self.given.saturating_sub(1) * self.width;
        out.extend(self.values.iter().skip(at).take(self.width).cloned());
        Ok(())
    }

    fn all_visible(&self) -> bool {
        self.given.checked_sub(1).and_then(|i| self.taken.get(i)).is_some_and(|e| e.1)
    }

    // The scan has moved on: the entry stays.
    fn kill(&mut self) {}

    fn mark(&mut self) -> Result<()> {
        Err(Error::internal("a shared scan of an index has no marks"))
    }

    fn restore(&mut self) -> Result<()> {
        Err(Error::internal("a shared scan of an index has no marks"))
    }

    fn bitmap(&mut self, _: &mut dyn FnMut(Tid)) -> Result<u64> {
        Err(Error::internal("a shared scan of an index makes no bitmap"))
    }
}
