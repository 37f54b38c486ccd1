//! Waiting on a word.

use crate::sim::sched;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Sleeps while `*word == expected`, until woken or until `timeout` has passed. False means
/// that the time is over; true may be spurious, so callers look at the word again.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) -> bool {
    if let Some(sched) = sched::current() {
        if word.load(Ordering::SeqCst) != expected {
            sched.door();
            return true;
        }
        return sched.wait(Some(word as *const AtomicU32 as usize), timeout);
    }
    let spec = timeout.map(|t| libc::timespec {
        tv_sec: t.as_secs().min(i64::MAX as u64) as libc::time_t,
        tv_nsec: t.subsec_nanos() as _,
    });
    let spec_ptr = spec.as_ref().map_or(std::ptr::null(), |s| s as *const libc::timespec);
    // SAFETY: the word and the timespec outlive the call, and the kernel only reads them.
    let r = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word as *const AtomicU32,
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            spec_ptr,
        )
    };
    r == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

/// Wakes up to `n` threads that sleep on `word`; gives how many.
pub fn futex_wake(word: &AtomicU32, n: u32) -> usize {
    if let Some(sched) = sched::current() {
        return sched.wake(word as *const AtomicU32 as usize, n);
    }
    // SAFETY: FUTEX_WAKE uses the address as a key only.
    let r = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word as *const AtomicU32,
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            n.min(i32::MAX as u32),
        )
    };
    r.max(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn wait_returns_on_wake_change_and_timeout() {
        let word = Arc::new(AtomicU32::new(0));
        assert!(!futex_wait(&word, 0, Some(Duration::from_millis(5))));
        assert!(futex_wait(&word, 1, None));
        let other = word.clone();
        let t = std::thread::spawn(move || {
            while other.load(Ordering::SeqCst) == 0 {
                futex_wait(&other, 0, None);
            }
        });
        word.store(1, Ordering::SeqCst);
        while !t.is_finished() {
            futex_wake(&word, 1);
        }
        t.join().unwrap();
    }
}
