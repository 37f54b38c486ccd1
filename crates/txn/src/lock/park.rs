//! Waits that their statements have left: the request stays in the queue while nothing of the
//! statement is on any thread's stack. Whoever ends the wait wakes the session through
//! [`crate::Interrupts::set_waker`]; the statement is run again, makes the same request, and finds
//! it granted, or goes on waiting, parked again or asleep.

use super::local::Owner;
use super::table::{GRANTED, STATE, set_state};
use super::{LockManager, LockMode, LockTag};
use crate::backend::Backend;
use base::wait::WaitEvent;
use base::{Error, Result};
use os::sync::atomic::Ordering;

/// A request whose statement has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parked {
    tag: LockTag,
    mode: LockMode,
    /// When the wait began, in nanoseconds of the monotonic clock.
    since: u64,
}

/// The place in a row's queue that a statement has left with: the row's lock is waited for, or held
/// while the end of a transaction is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub tag: LockTag,
    pub mode: LockMode,
    /// The statement came again and got the row.
    pub claimed: bool,
}

impl LockManager {
    /// Leaves a request that was queued just now.
    pub(super) fn park(&self, me: &Backend, tag: LockTag, mode: LockMode) -> Error {
        me.set_parked(Some(Parked { tag, mode, since: os::clock::monotonic_nanos() }));
        Error::parked()
    }

    /// Goes on with the request that the session has left, if it is this one: `None` if not, and
    /// then that one is given up.
    pub(super) fn take_up(
        &self,
        me: &Backend,
        tag: LockTag,
        mode: LockMode,
        again: bool,
    ) -> Option<Result<()>> {
        let parked = me.take_parked()?;
        if (parked.tag, parked.mode) != (tag, mode) {
            self.give_up(me, parked);
            return None;
        }
        let granted = me.interrupts().word.load(Ordering::SeqCst) & STATE == GRANTED;
        if !granted && again {
            me.set_parked(Some(parked));
            return Some(Err(Error::parked()));
        }
        Some(self.sleep(me, tag, mode, parked.since))
    }

    /// Takes a request back, granted or not.
    fn give_up(&self, me: &Backend, parked: Parked) {
        let Parked { tag, mode, .. } = parked;
        // The end of a transaction is nothing that could be held.
        if !self.leave_queue(me, tag, mode) && !matches!(tag, LockTag::Transaction(_)) {
            self.release_shared(me, tag, mode);
        }
        self.stop_waiting(me);
    }

    fn stop_waiting(&self, me: &Backend) {
        *me.slot().waiting.lock() = None;
        set_state(me.interrupts(), 0);
    }
}

impl Backend {
    /// What a parked statement waits for.
    pub fn parked_event(&self) -> Option<WaitEvent> {
        self.parked().map(|p| p.tag.wait_event())
    }

    /// True if the session has left this request, and it has not been granted.
    pub(crate) fn awaits_parked(&self, tag: LockTag, mode: LockMode) -> bool {
        let granted = self.interrupts().word.load(Ordering::SeqCst) & STATE == GRANTED;
        !granted && self.parked().is_some_and(|p| (p.tag, p.mode) == (tag, mode))
    }

    /// Takes back what a parked statement waited for, if it is not going to be run again.
    pub fn abandon_wait(&self) {
        self.take_place();
        if let Some(parked) = self.take_parked() {
            self.mgr().locks().give_up(self, parked);
        }
    }

    /// A statement leaves that waits for a row; the place it left with before is no longer needed.
    pub(crate) fn keep_place(&self, tag: LockTag, mode: LockMode, owner: Owner) {
        if let Some(old) = self.take_place()
            && (old.tag, old.mode) != (tag, mode)
        {
            self.give_place_back(old, owner);
        }
        self.set_place(Some(Place { tag, mode, claimed: false }));
    }

    /// A statement that had left is done. Its place in the row's queue becomes the transaction's if
    /// it got the row: whoever is next could only begin to wait for that transaction's end.
    /// Otherwise the next one is let forward.
    pub(crate) fn settle_wait(&self, owner: Owner) {
        let place = self.take_place();
        let locks = self.mgr().locks();
        if let Some(parked) = self.take_parked() {
            let claims = |p: Place| p.claimed && (p.tag, p.mode) == (parked.tag, parked.mode);
            let granted = self.interrupts().word.load(Ordering::SeqCst) & STATE == GRANTED;
            if !(granted && place.is_some_and(claims)) {
                locks.give_up(self, parked);
            } else {
                locks.stop_waiting(self);
                self.local_locks().held.count((parked.tag, parked.mode), owner);
            }
        }
        if let Some(place) = place {
            self.give_place_back(place, owner);
        }
    }

    fn give_place_back(&self, place: Place, owner: Owner) {
        if !place.claimed {
            self.mgr().locks().release(self, place.tag, place.mode, |o| o == owner);
        }
    }
}
