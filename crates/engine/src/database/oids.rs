//! OIDs and numbers of relation files: one counter, logged ahead, so that a crash gives none twice.

use base::{Oid, Result, Xid};
use catalog::OidSource;
use os::sync::Mutex;
use std::sync::Arc;
use wal::{RecordBuilder, Rmgr, Wal, xlog_info};

/// How many OIDs one log record covers.
const AHEAD: u32 = 8192;

struct State {
    next: u32,
    logged: u32,
}

/// Gives OIDs out.
pub struct OidGenerator {
    wal: Arc<Wal>,
    state: Mutex<State>,
}

impl OidGenerator {
    /// Starts at `next`, as the control file or the log has it.
    pub fn new(wal: Arc<Wal>, next: Oid) -> OidGenerator {
        let next = next.0.max(Oid::FIRST_NORMAL.0);
        OidGenerator { wal, state: Mutex::new(State { next, logged: next }) }
    }

    /// Redo: OIDs below this may have been given out.
    pub fn observe(&self, next: Oid) {
        let mut state = self.state.lock();
        if next.0 > state.next {
            *state = State { next: next.0, logged: next.0 };
        }
    }

    /// What a checkpoint has to remember: nothing at or above it was given out unless logged.
    pub fn for_checkpoint(&self) -> Oid {
        let state = self.state.lock();
        Oid(state.logged.max(state.next))
    }
}

impl OidSource for OidGenerator {
    fn next_oid(&self) -> Result<Oid> {
        let mut state = self.state.lock();
        if state.next >= state.logged {
            self.wal.check_space()?;
            let logged = state.next.saturating_add(AHEAD);
            let mut record = RecordBuilder::new(Rmgr::Xlog, xlog_info::NEXTOID, Xid::INVALID);
            let bytes = logged.to_le_bytes();
            record.data(&bytes);
            self.wal.insert(&record);
            state.logged = logged;
        }
        let oid = Oid(state.next);
        state.next = match state.next.checked_add(1) {
            Some(n) => n,
            None => {
                state.logged = Oid::FIRST_NORMAL.0;
                Oid::FIRST_NORMAL.0
            }
        };
        Ok(oid)
    }
}
