//! How a vacuum is slowed down: pages found, read and changed cost points, and when enough have
//! come together it naps (`vacuum_cost_*`, `autovacuum_vacuum_cost_*`).

use crate::{Database, Session};
use base::wait::WaitEvent;
use buffer::BufferUsage;
use catalog::RelationDesc;
use std::sync::Arc;
use std::time::Duration;

/// Points until the next nap.
pub struct Cost {
    delay: Duration,
    limit: u64,
    /// For autovacuum: the others at work, who share the limit.
    shared: Option<Arc<Database>>,
    hit: u64,
    miss: u64,
    dirty: u64,
    points: u64,
    /// `track_cost_delay_timing`, and microseconds of naps.
    timed: bool,
    napped: u64,
    /// What this thread did, as it was counted already.
    seen: (u64, u64, u64),
}

/// This thread's pages found, read and made dirty.
fn counted() -> (u64, u64, u64) {
    let u = BufferUsage::current();
    let (hits, reads) = (u.shared_hit + u.local_hit, u.shared_read + u.local_read);
    (hits, reads, u.shared_dirtied + u.local_dirtied)
}

impl Cost {
    /// As the settings, or for autovacuum the table's options, have it.
    pub fn new(session: &Session, rel: &RelationDesc) -> Cost {
        let settings = session.core.settings.lock();
        let whole = |name: &str| settings.i64(name);
        let (mut delay, mut limit) =
            (settings.f64("vacuum_cost_delay"), whole("vacuum_cost_limit"));
        let mut shared = session.is_background().then(|| session.core.database.clone());
        if session.is_background() {
            let own = |name: &str| rel.option(name).and_then(|v| v.parse::<f64>().ok());
            let auto = settings.f64("autovacuum_vacuum_cost_delay");
            let wanted = own("autovacuum_vacuum_cost_delay").unwrap_or(auto);
            delay = if wanted >= 0.0 { wanted } else { delay };
            let auto = whole("autovacuum_vacuum_cost_limit") as f64;
            let wanted = own("autovacuum_vacuum_cost_limit").unwrap_or(auto);
            limit = if wanted > 0.0 { wanted as i64 } else { limit };
            // A table with settings of its own does not take part.
            let is_own = |name: &str| own(name).is_some();
            if is_own("autovacuum_vacuum_cost_limit") || is_own("autovacuum_vacuum_cost_delay") {
                shared = None;
            }
        }
        Cost {
            delay: Duration::from_secs_f64((delay / 1000.0).max(0.0)),
            limit: limit.max(1) as u64,
            shared,
            hit: whole("vacuum_cost_page_hit").max(0) as u64,
            miss: whole("vacuum_cost_page_miss").max(0) as u64,
            dirty: whole("vacuum_cost_page_dirty").max(0) as u64,
            points: 0,
            timed: settings.bool("track_cost_delay_timing"),
            napped: 0,
            seen: counted(),
        }
    }

    /// Counts what was done since the last call; naps if that was much.
    pub fn pause(&mut self) {
        if self.delay.is_zero() {
            return;
        }
        let now = counted();
        self.points += now.0.wrapping_sub(self.seen.0) * self.hit;
        self.points += now.1.wrapping_sub(self.seen.1) * self.miss;
        self.points += now.2.wrapping_sub(self.seen.2) * self.dirty;
        self.seen = now;
        let workers = self.shared.as_ref().map_or(1, |d| d.autovacuum.workers().max(1));
        let limit = (self.limit / workers as u64).max(1);
        if self.points < limit {
            return;
        }
        // A nap is longer where more has come together, but not by much.
        let share = (self.points as f64 / limit as f64).min(4.0);
        self.points = 0;
        let _waiting = os::wait::begin(WaitEvent::VacuumDelay);
        let began = self.timed.then(os::clock::monotonic_nanos);
        os::thread::sleep(self.delay.mul_f64(share));
        if let Some(began) = began {
            let micros = (os::clock::monotonic_nanos() - began) / 1000;
            self.napped += micros;
            let number = base::progress::vacuum::DELAY_MICROS;
            base::progress::add(base::progress::Command::Vacuum, number, micros as i64);
        }
    }

    /// Microseconds of naps, if they are timed.
    pub fn told_micros(&self) -> Option<u64> {
        self.timed.then_some(self.napped)
    }
}
