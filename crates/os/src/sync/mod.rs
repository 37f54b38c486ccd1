//! Locks and atomics. Locks are the standard library's without poisoning: a thread that
//! panics while it holds one is stopping the server, or had nothing half-done behind it.
//! Uncontended they cost what the standard ones cost; contended, they are doors of the
//! simulator. Under `cfg(loom)` the atomics are loom's, for models of the lock-free parts.

mod futex;
mod leases;
mod lock;
mod relay;

#[cfg(not(loom))]
pub use futex::{futex_wait, futex_wake};
pub use leases::{Lease, Leases};
pub use lock::{Condvar, Mutex, MutexGuard, Once, RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use relay::Relay;
pub use std::sync::{Arc, LazyLock, OnceLock, Weak};

/// The atomics, loom's under `cfg(loom)`.
pub mod atomic {
    #[cfg(loom)]
    pub use loom::sync::atomic::*;
    #[cfg(not(loom))]
    pub use std::sync::atomic::*;
}

/// In a loom model sleeping is yielding.
#[cfg(loom)]
pub fn futex_wait(
    word: &atomic::AtomicU32,
    expected: u32,
    _timeout: Option<std::time::Duration>,
) -> bool {
    if word.load(atomic::Ordering::SeqCst) == expected {
        loom::thread::yield_now();
    }
    true
}

/// In a loom model nobody sleeps.
#[cfg(loom)]
pub fn futex_wake(_word: &atomic::AtomicU32, _n: u32) -> usize {
    0
}

/// Once around a short spin: lets the other side make progress.
#[inline]
pub fn spin_hint() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    match crate::sim::sched::current() {
        Some(sched) => sched.yield_to_others(),
        None => std::hint::spin_loop(),
    }
}
