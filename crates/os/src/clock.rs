//! Time. Under the simulator it is virtual: it moves when threads pass doors, and jumps when
//! all of them sleep.

use crate::sim::sched;
/// The kernel's time of this clock.
fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the struct it is given; both clocks exist on every Linux, so it
    // cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time
}

/// Microseconds since 1970-01-01 00:00 UTC.
pub fn now_micros() -> i64 {
    if let Some(sched) = sched::current() {
        return 1_800_000_000_000_000 + sched.now_micros() as i64;
    }
    let time = read(libc::CLOCK_REALTIME);
    time.tv_sec * 1_000_000 + time.tv_nsec / 1000
}

/// Nanoseconds since some moment before; never goes backwards.
pub fn monotonic_nanos() -> u64 {
    if let Some(sched) = sched::current() {
        return sched.now_micros() * 1000;
    }
    let time = read(libc::CLOCK_MONOTONIC);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
