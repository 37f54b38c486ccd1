//! How long a session has been there and what it did meanwhile: times of `pg_stat_database`.
//!
//! Each session counts on its own, and adds to its database's counters when it falls idle, at
//! most once a second, and at its end.

use super::Session;
use crate::activity::SessionState;

/// How often the counters are added to, in microseconds.
const REPORT_EVERY: i64 = 1_000_000;

/// How a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SessionEnd {
    /// The client said goodbye, or the server went down.
    #[default]
    Normal,
    /// The client was gone.
    Abandoned,
    /// By an error.
    Fatal,
    /// `pg_terminate_backend`
    Killed,
}

/// What was counted since it was added last; times are in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    state: SessionState,
    /// Since when the session is in that state.
    since: i64,
    reported: i64,
    active: u64,
    idle_in_transaction: u64,
}

impl Times {
    /// For a session that begins now.
    pub fn new(now: i64) -> Times {
        let state = SessionState::Idle;
        Times { state, since: now, reported: now, active: 0, idle_in_transaction: 0 }
    }

    /// The session goes over to another state.
    fn enter(&mut self, state: SessionState, now: i64) {
        let passed = (now - self.since).max(0) as u64;
        match self.state {
            SessionState::Active => self.active += passed,
            SessionState::IdleInTransaction | SessionState::IdleInFailedTransaction => {
                self.idle_in_transaction += passed;
            }
            SessionState::Idle | SessionState::Disabled => {}
        }
        (self.state, self.since) = (state, now);
    }
}

impl Session {
    /// Counts the time in the state that ends now.
    pub(super) fn count_time(&self, state: SessionState, now: i64) {
        let mut times = self.times.get();
        times.enter(state, now);
        self.times.set(times);
        if state != SessionState::Active && now - times.reported >= REPORT_EVERY {
            self.report_times(now);
        }
    }

    /// Adds what was counted to the database's counters.
    #[cold]
    fn report_times(&self, now: i64) {
        let mut times = self.times.get();
        let passed = (now - times.reported).max(0) as u64;
        self.core.database.stats.change_database(self.core.state.oid, |d| {
            d.session_micros += passed;
            d.active_micros += times.active;
            d.idle_in_transaction_micros += times.idle_in_transaction;
        });
        (times.reported, times.active, times.idle_in_transaction) = (now, 0, 0);
        self.times.set(times);
    }

    /// Notes how the session ends.
    pub fn set_end(&mut self, end: SessionEnd) {
        self.end = end;
    }

    /// Counts the session as ended.
    pub(super) fn count_end(&self) {
        let now = os::clock::now_micros();
        self.count_time(SessionState::Idle, now);
        self.report_times(now);
        self.core.database.stats.change_database(self.core.state.oid, |d| match self.end {
            SessionEnd::Normal => {}
            SessionEnd::Abandoned => d.abandoned += 1,
            SessionEnd::Fatal => d.fatal += 1,
            SessionEnd::Killed => d.killed += 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_for_the_state_it_was_spent_in() {
        let mut times = Times::new(100);
        times.enter(SessionState::Active, 150);
        times.enter(SessionState::IdleInTransaction, 180);
        times.enter(SessionState::Active, 280);
        times.enter(SessionState::Idle, 285);
        times.enter(SessionState::Idle, 1000);
        assert_eq!((times.active, times.idle_in_transaction), (35, 100));
    }
}
