//! What a session's next message will need, fetched into the processor's cache while others are
//! served: with thousands of sessions it is in memory by then, in a few places that only lead from
//! one to the next.

use super::Session;
use super::core::SessionCore;
use std::cell::Cell;
use std::sync::Arc;

/// An address and a number of bytes, to be fetched only: what was there may be gone.
type Region = (usize, usize);

fn region<T>(of: &T) -> Region {
    (std::ptr::from_ref(of) as usize, size_of::<T>())
}

fn fetch((at, len): Region) {
    (at..at + len).step_by(64).for_each(|at| os::memory::prefetch(at as *const u8));
}

/// Where a session's things are.
pub(super) struct Approach {
    parts: [Region; 6],
    /// The prepared statement that was asked for last, its place among the others, and its name.
    prepared: Cell<[Region; 3]>,
}

impl Approach {
    pub(super) fn new(core: &SessionCore) -> Approach {
        let mailbox = Arc::clone(&core.listening.lock().mailbox);
        Approach {
            parts: [
                region(core),
                region(&*core.backend),
                region(&*core.source),
                region(&*core.overlay),
                region(&*core.memory),
                region(&*mailbox),
            ],
            prepared: Cell::default(),
        }
    }

    pub(super) fn used(&self, name: &str, prepared: &Arc<super::Prepared>) {
        let text = (name.as_ptr() as usize, name.len());
        self.prepared.set([region(&**prepared), region(prepared), text]);
    }
}

impl Session {
    /// This session's next message comes when so many others have been served; called with 2, when
    /// the session itself has been fetched, and with 1.
    pub fn approach(&self, others: usize) {
        match others {
            2 => {
                self.near.parts.iter().for_each(|part| fetch(*part));
                self.near.prepared.get().into_iter().for_each(fetch);
            }
            _ => self.core.backend.approach(),
        }
    }
}
