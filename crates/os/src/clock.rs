//! Time. Under the simulator it is virtual: it moves when threads pass doors, and jumps when
//! all of them sleep.

use crate::sim::sched;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Microseconds since 1970-01-01 00:00 UTC.
pub fn now_micros() -> i64 {
    if let Some(sched) = sched::current() {
        return 1_800_000_000_000_000 + sched.now_micros() as i64;
    }
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(d) => d.as_micros() as i64,
        Err(e) => -(e.duration().as_micros() as i64),
    }
}

/// Nanoseconds since some moment before; never goes backwards.
pub fn monotonic_nanos() -> u64 {
    if let Some(sched) = sched::current() {
        return sched.now_micros() * 1000;
    }
    START.elapsed().as_nanos() as u64
}
