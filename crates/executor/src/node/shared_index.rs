//! A scan of an index that the members of a team share: each takes some entries at a time, in the
//! index's order.

use access::index::{Direction, IndexScan, ScanKey};
use base::{Error, Result, Tid};
use os::sync::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use types::Datum;

/// Entries that a member takes at a time.
const CHUNK: usize = 256;

/// The scan itself.
pub(crate) struct SharedScan(Mutex<Box<dyn IndexScan>>);

impl SharedScan {
    pub fn new(scan: Box<dyn IndexScan>) -> SharedScan {
        SharedScan(Mutex::new(scan))
    }
}

#[derive(Default)]
struct Entry {
    tid: Tid,
    all_visible: bool,
    values: Vec<Datum>,
}

/// A member's share of the entries.
pub(crate) struct Share {
    shared: Arc<SharedScan>,
    wants_values: bool,
    taken: VecDeque<Entry>,
    current: Entry,
    done: bool,
}

impl Share {
    pub fn new(shared: Arc<SharedScan>, wants_values: bool) -> Share {
        let current = Entry::default();
        Share { shared, wants_values, taken: VecDeque::new(), current, done: false }
    }

    fn take(&mut self, direction: Direction) -> Result<()> {
        let mut scan = self.shared.0.lock();
        while self.taken.len() < CHUNK {
            let Some(tid) = scan.next(direction)? else {
                self.done = true;
                break;
            };
            let mut entry = Entry { tid, all_visible: scan.all_visible(), values: Vec::new() };
            if self.wants_values {
                scan.values(&mut entry.values)?;
            }
            self.taken.push_back(entry);
        }
        Ok(())
    }
}

impl IndexScan for Share {
    fn rescan(&mut self, _keys: Vec<ScanKey>) -> Result<()> {
        Err(Error::internal("a shared scan of an index cannot start over"))
    }

    fn next(&mut self, direction: Direction) -> Result<Option<Tid>> {
        if self.taken.is_empty() && !self.done {
            self.take(direction)?;
        }
        let Some(entry) = self.taken.pop_front() else { return Ok(None) };
        self.current = entry;
        Ok(Some(self.current.tid))
    }

    fn values(&self, out: &mut Vec<Datum>) -> Result<()> {
        out.clear();
        out.extend(self.current.values.iter().cloned());
        Ok(())
    }

    fn all_visible(&self) -> bool {
        self.current.all_visible
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
