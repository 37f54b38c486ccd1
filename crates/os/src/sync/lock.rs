//! Mutex, reader-writer lock and condition variable.

use super::futex::{futex_wait, futex_wake};
use crate::sim::sched;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

pub use std::sync::{Once, RwLockReadGuard, RwLockWriteGuard};

/// A mutual exclusion lock without poisoning.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

/// Access to what a [`Mutex`] protects.
#[must_use]
pub struct MutexGuard<'a, T: ?Sized> {
    guard: std::sync::MutexGuard<'a, T>,
    mutex: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// The value, from the last owner.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock and takes it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self.try_lock() {
            Some(guard) => guard,
            None => self.lock_contended(),
        }
    }

    #[cold]
    fn lock_contended(&self) -> MutexGuard<'_, T> {
        if let Some(sched) = sched::current() {
            while sched.wait_turn() {
                if let Some(guard) = self.try_lock() {
                    return guard;
                }
            }
        }
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { guard, mutex: self }
    }

    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(MutexGuard { guard, mutex: self }),
            Err(TryLockError::Poisoned(p)) => {
                Some(MutexGuard { guard: p.into_inner(), mutex: self })
            }
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value; no lock is needed as nobody else can have it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: std::fmt::Debug + ?Sized> std::fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// A lock for many readers or one writer, without poisoning.
#[derive(Default)]
pub struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(std::sync::RwLock::new(value))
    }

    /// The value, from the last owner.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for shared access.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        match self.try_read() {
            Some(guard) => guard,
            None => self.read_contended(),
        }
    }

    #[cold]
    fn read_contended(&self) -> RwLockReadGuard<'_, T> {
        if let Some(sched) = sched::current() {
            while sched.wait_turn() {
                if let Some(guard) = self.try_read() {
                    return guard;
                }
            }
        }
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for exclusive access.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        match self.try_write() {
            Some(guard) => guard,
            None => self.write_contended(),
        }
    }

    #[cold]
    fn write_contended(&self) -> RwLockWriteGuard<'_, T> {
        if let Some(sched) = sched::current() {
            while sched.wait_turn() {
                if let Some(guard) = self.try_write() {
                    return guard;
                }
            }
        }
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shared access, if nobody writes.
    #[inline]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        match self.0.try_read() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(p)) => Some(p.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Exclusive access, if nobody has any.
    #[inline]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        match self.0.try_write() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(p)) => Some(p.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The value; no lock is needed as nobody else can have it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: std::fmt::Debug + ?Sized> std::fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A condition variable. Wakes may be spurious.
#[derive(Default, Debug)]
pub struct Condvar {
    sequence: AtomicU32,
}

impl Condvar {
    /// A condition nobody waits for.
    pub const fn new() -> Condvar {
        Condvar { sequence: AtomicU32::new(0) }
    }

    /// Gives the lock away, waits to be notified, takes the lock again.
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.wait_for(guard, None).0
    }

    /// As [`Condvar::wait`], but not longer than `timeout`; true if the time ran out.
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        self.wait_for(guard, Some(timeout))
    }

    fn wait_for<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Option<Duration>,
    ) -> (MutexGuard<'a, T>, bool) {
        let mutex = guard.mutex;
        // Read under the lock: a notify after the unlock changes it, and the wait falls through.
        let sequence = self.sequence.load(Ordering::SeqCst);
        drop(guard);
        let woken = futex_wait(&self.sequence, sequence, timeout);
        (mutex.lock(), !woken)
    }

    /// Waits while `condition` holds.
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        while condition(&mut guard) {
            guard = self.wait(guard);
        }
        guard
    }

    /// Waits while `condition` holds, but not longer than `timeout`; true if it still holds.
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'a, T>, bool) {
        let end = crate::clock::monotonic_nanos().saturating_add(timeout.as_nanos() as u64);
        while condition(&mut guard) {
            let now = crate::clock::monotonic_nanos();
            if now >= end {
                return (guard, true);
            }
            guard = self.wait_for(guard, Some(Duration::from_nanos(end - now))).0;
        }
        (guard, false)
    }

    /// Wakes one waiter.
    pub fn notify_one(&self) {
        self.sequence.fetch_add(1, Ordering::SeqCst);
        futex_wake(&self.sequence, 1);
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        self.sequence.fetch_add(1, Ordering::SeqCst);
        futex_wake(&self.sequence, u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn condvar_hands_over() {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let other = pair.clone();
        let t = std::thread::spawn(move || {
            for i in 0..1000 {
                let mut n = other.1.wait_while(other.0.lock(), |n| *n != 2 * i + 1);
                *n += 1;
                other.1.notify_all();
            }
        });
        for i in 0..1000 {
            let mut n = pair.1.wait_while(pair.0.lock(), |n| *n != 2 * i);
            *n += 1;
            pair.1.notify_all();
        }
        t.join().unwrap();
        assert_eq!(*pair.0.lock(), 2000);
    }

    #[test]
    fn condvar_times_out() {
        let m = Mutex::new(());
        let c = Condvar::new();
        assert!(c.wait_timeout_while(m.lock(), Duration::from_millis(5), |_| true).1);
    }
}
