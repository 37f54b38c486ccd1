//! Reasons to stop what a session is doing, raised by others and looked at by it.

use base::{Result, Severity, SqlState, bail, err};
use os::clock::monotonic_nanos;
use os::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use os::sync::futex_wake;
use std::sync::OnceLock;
use std::time::Duration;

const CANCEL: u32 = 1;
const TERMINATE: u32 = 2;
const STATEMENT_TIMEOUT: u32 = 4;
const TRANSACTION_TIMEOUT: u32 = 8;
const IDLE_IN_TRANSACTION: u32 = 16;
const RECOVERY_CONFLICT: u32 = 32;
const OUT_OF_MEMORY: u32 = 64;
const CLIENT_GONE: u32 = 128;
const ASK_MEMORY: u32 = 256;

/// A session's interrupt flags and deadlines. Raising one wakes the session out of any wait
/// that goes through [`Interrupts::sleep`] or a lock queue.
pub struct Interrupts {
    flags: AtomicU32,
    /// In nanoseconds of the monotonic clock; 0 is none.
    statement_deadline: AtomicU64,
    /// The same for the transaction.
    transaction_deadline: AtomicU64,
    /// How often to look for the client while a statement runs, in milliseconds; 0 is never.
    client_check_ms: AtomicU32,
    /// Milliseconds; 0 is none.
    lock_timeout_ms: AtomicU32,
    /// Milliseconds; 0 is the server's own.
    deadlock_timeout_ms: AtomicU32,
    hold_off: AtomicBool,
    /// Bytes the thread held when the statement began, and what the statement held when asked.
    memory_before: AtomicU64,
    memory: AtomicU64,
    /// What the session sleeps on. The two low bits are the lock manager's; the rest counts
    /// how often somebody wanted it to look up.
    pub(crate) word: AtomicU32,
    /// Who runs the session's statement again when it has left its thread.
    waker: OnceLock<Waker>,
    parked: AtomicBool,
}

/// Called when a parked session is to look up; must not block.
pub type Waker = Box<dyn Fn() + Send + Sync>;

/// The lock manager's bits of the word, and what they are while a request is queued.
pub(crate) const LOCK_STATE: u32 = 3;
pub(crate) const LOCK_WAITING: u32 = 1;

/// Added to the word by who wants the session to look up.
pub(crate) const KICK: u32 = 4;

impl Default for Interrupts {
    fn default() -> Interrupts {
        Interrupts::new()
    }
}

impl Interrupts {
    /// No flag, no deadline.
    pub fn new() -> Interrupts {
        Interrupts {
            flags: AtomicU32::new(0),
            statement_deadline: AtomicU64::new(0),
            transaction_deadline: AtomicU64::new(0),
            client_check_ms: AtomicU32::new(0),
            lock_timeout_ms: AtomicU32::new(0),
            deadlock_timeout_ms: AtomicU32::new(0),
            hold_off: AtomicBool::new(false),
            memory_before: AtomicU64::new(0),
            memory: AtomicU64::new(0),
            word: AtomicU32::new(0),
            waker: OnceLock::new(),
            parked: AtomicBool::new(false),
        }
    }

    /// Sets who is told that a parked session may go on. Only the first one counts.
    pub fn set_waker(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    /// True if a waker is set.
    pub fn has_waker(&self) -> bool {
        self.waker.get().is_some()
    }

    /// Says whether the session's statement has left its thread.
    pub(crate) fn set_parked(&self, parked: bool) {
        self.parked.store(parked, Ordering::SeqCst);
    }

    /// True if the session's statement has left its thread and has not got what it waits for.
    pub fn still_waits(&self) -> bool {
        self.word.load(Ordering::SeqCst) & LOCK_STATE == LOCK_WAITING
            && self.flags.load(Ordering::SeqCst) == 0
    }

    /// Wakes the session from what it sleeps on.
    pub(crate) fn wake(&self) {
        match self.parked.load(Ordering::SeqCst) {
            true => {
                if let Some(waker) = self.waker.get() {
                    waker();
                }
            }
            false => {
                futex_wake(&self.word, u32::MAX);
            }
        }
    }

    fn raise(&self, flag: u32) {
        self.flags.fetch_or(flag, Ordering::SeqCst);
        self.kick();
    }

    /// Makes the session look up from its sleep.
    pub fn kick(&self) {
        self.word.fetch_add(KICK, Ordering::SeqCst);
        self.wake();
    }

    /// The user wants the statement to end.
    pub fn cancel(&self) {
        self.raise(CANCEL);
    }

    /// The session has to end.
    pub fn terminate(&self) {
        self.raise(TERMINATE);
    }

    /// `statement_timeout` has passed.
    pub fn statement_timed_out(&self) {
        self.raise(STATEMENT_TIMEOUT);
    }

    /// `transaction_timeout` has passed.
    pub fn transaction_timed_out(&self) {
        self.raise(TRANSACTION_TIMEOUT);
    }

    /// `idle_in_transaction_session_timeout` has passed.
    pub fn idle_in_transaction_timed_out(&self) {
        self.raise(IDLE_IN_TRANSACTION);
    }

    /// Replay on a standby needs what the session holds.
    pub fn recovery_conflict(&self) {
        self.raise(RECOVERY_CONFLICT);
    }

    /// The server runs out of memory and this statement uses most of it.
    pub fn out_of_memory(&self) {
        self.raise(OUT_OF_MEMORY);
    }

    /// Wants to know how much memory the statement holds.
    pub fn ask_memory(&self) {
        self.memory.store(0, Ordering::Relaxed);
        self.flags.fetch_or(ASK_MEMORY, Ordering::SeqCst);
    }

    /// The answer to [`Interrupts::ask_memory`]; 0 until it has come.
    pub fn memory(&self) -> usize {
        self.memory.load(Ordering::Relaxed) as usize
    }

    /// The client has closed its connection.
    pub fn client_gone(&self) {
        self.raise(CLIENT_GONE);
    }

    /// True if the session has been told to end.
    pub fn is_terminated(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & (TERMINATE | CLIENT_GONE) != 0
    }

    /// Before a statement: forgets a cancel that came too late for the one before, and sets
    /// the deadline from `statement_timeout`, `None` for none.
    pub fn begin_statement(&self, timeout: Option<Duration>) {
        let stale = CANCEL | STATEMENT_TIMEOUT | OUT_OF_MEMORY | ASK_MEMORY;
        self.flags.fetch_and(!stale, Ordering::SeqCst);
        self.memory_before.store(os::memory::thread_bytes() as u64, Ordering::Relaxed);
        let deadline = timeout.map_or(0, |t| monotonic_nanos() + t.as_nanos() as u64);
        self.statement_deadline.store(deadline, Ordering::Relaxed);
    }

    /// Before another statement of the same string.
    pub fn restart_statement(&self, timeout: Option<Duration>) {
        let deadline = timeout.map_or(0, |t| monotonic_nanos() + t.as_nanos() as u64);
        self.statement_deadline.store(deadline, Ordering::Relaxed);
    }

    /// After a statement: its deadline no longer counts.
    pub fn end_statement(&self) {
        self.statement_deadline.store(0, Ordering::Relaxed);
    }

    /// A transaction begins, with `transaction_timeout`, or ends.
    pub fn set_transaction_timeout(&self, timeout: Option<Duration>) {
        let deadline = timeout.map_or(0, |t| monotonic_nanos() + t.as_nanos() as u64);
        self.transaction_deadline.store(deadline, Ordering::Relaxed);
        if timeout.is_none() {
            self.flags.fetch_and(!TRANSACTION_TIMEOUT, Ordering::SeqCst);
        }
    }

    /// True if the transaction has a deadline.
    pub fn has_transaction_deadline(&self) -> bool {
        self.transaction_deadline.load(Ordering::Relaxed) != 0
    }

    /// True if a wait for a lock has to look at a clock, or for the client, besides
    /// `deadlock_timeout`.
    pub fn has_clocks(&self) -> bool {
        self.statement_deadline().is_some()
            || self.lock_timeout_ms.load(Ordering::Relaxed) != 0
            || self.client_check_ms() != 0
    }

    /// Sets `client_connection_check_interval`.
    pub fn set_client_check_ms(&self, ms: u32) {
        self.client_check_ms.store(ms, Ordering::Relaxed);
    }

    /// `client_connection_check_interval`
    #[inline]
    pub fn client_check_ms(&self) -> u32 {
        self.client_check_ms.load(Ordering::Relaxed)
    }

    /// When the statement has to be done, in nanoseconds of the monotonic clock.
    pub fn statement_deadline(&self) -> Option<u64> {
        let of = |d: &AtomicU64| Some(d.load(Ordering::Relaxed)).filter(|d| *d != 0);
        match (of(&self.statement_deadline), of(&self.transaction_deadline)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Sets `lock_timeout`; 0 is none.
    pub fn set_lock_timeout_ms(&self, ms: u32) {
        self.lock_timeout_ms.store(ms, Ordering::Relaxed);
    }

    /// Sets `deadlock_timeout`; 0 is the server's own.
    pub fn set_deadlock_timeout_ms(&self, ms: u32) {
        self.deadlock_timeout_ms.store(ms, Ordering::Relaxed);
    }

    pub(crate) fn deadlock_timeout(&self) -> Option<Duration> {
        match self.deadlock_timeout_ms.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(Duration::from_millis(ms.into())),
        }
    }

    pub(crate) fn lock_timeout(&self) -> Option<Duration> {
        match self.lock_timeout_ms.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(Duration::from_millis(ms as u64)),
        }
    }

    /// While held off, [`Interrupts::check`] finds nothing. For commits and the like.
    pub fn sethold_off(&self, yes: bool) -> bool {
        self.hold_off.swap(yes, Ordering::Relaxed)
    }

    /// The error to end with, if somebody wants the session to. One load if nobody does.
    #[inline]
    pub fn check(&self) -> Result<()> {
        match self.flags.load(Ordering::Relaxed) {
            0 => Ok(()),
            _ => self.process(),
        }
    }

    /// As [`Interrupts::check`], and looks at the clock for the statement's deadline, and at what
    /// the server holds if the thread has come to hold much more.
    pub fn check_deadline(&self) -> Result<()> {
        if let Some(deadline) = self.statement_deadline()
            && monotonic_nanos() >= deadline
        {
            let whole = self.transaction_deadline.load(Ordering::Relaxed) == deadline;
            let flag = if whole { TRANSACTION_TIMEOUT } else { STATEMENT_TIMEOUT };
            self.flags.fetch_or(flag, Ordering::SeqCst);
        }
        self.check()?;
        let held = os::memory::thread_bytes();
        match held - LOOKED.get() {
            ..0 => LOOKED.set(held),
            0..LOOK_EVERY => {}
            _ => {
                LOOKED.set(held);
                base::interrupt::Ask::room(self, 0)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn process(&self) -> Result<()> {
        if self.flags.load(Ordering::Relaxed) & ASK_MEMORY != 0 {
            // The thread's own count: a statement stays on the thread that began it.
            let before = self.memory_before.load(Ordering::Relaxed) as i64;
            let held = os::memory::thread_bytes().saturating_sub(before).max(0);
            self.memory.store(held as u64, Ordering::Relaxed);
            self.flags.fetch_and(!ASK_MEMORY, Ordering::SeqCst);
        }
        if self.hold_off.load(Ordering::Relaxed) {
            return Ok(());
        }
        let flags = self.flags.load(Ordering::SeqCst);
        let fatal = |code: SqlState, text: &str| {
            Err(base::Error::with_severity(Severity::Fatal, code, text))
        };
        if flags & TERMINATE != 0 {
            return fatal(
                SqlState::ADMIN_SHUTDOWN,
                "terminating connection due to administrator command",
            );
        }
        if flags & CLIENT_GONE != 0 {
            return fatal(SqlState::CONNECTION_FAILURE, "connection to client lost");
        }
        if flags & IDLE_IN_TRANSACTION != 0 {
            return fatal(
                SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
                "terminating connection due to idle-in-transaction timeout",
            );
        }
        if flags & TRANSACTION_TIMEOUT != 0 {
            return fatal(
                SqlState::TRANSACTION_TIMEOUT,
                "terminating connection due to transaction timeout",
            );
        }
        self.flags.fetch_and(
            !(CANCEL | STATEMENT_TIMEOUT | RECOVERY_CONFLICT | OUT_OF_MEMORY),
            Ordering::SeqCst,
        );
        if flags & STATEMENT_TIMEOUT != 0 {
            bail!(QUERY_CANCELED, "canceling statement due to statement timeout");
        }
        if flags & OUT_OF_MEMORY != 0 {
            return Err(err!(OUT_OF_MEMORY, "out of memory")
                .detail("The server canceled its largest query to stay within its memory limit."));
        }
        if flags & RECOVERY_CONFLICT != 0 {
            bail!(T_R_SERIALIZATION_FAILURE, "canceling statement due to conflict with recovery");
        }
        if flags & CANCEL != 0 {
            bail!(QUERY_CANCELED, "canceling statement due to user request");
        }
        Ok(())
    }

    /// Sleeps for `time`, or until an interrupt ends it with an error.
    pub fn sleep(&self, event: base::wait::WaitEvent, time: Duration) -> Result<()> {
        let end = monotonic_nanos().saturating_add(time.as_nanos() as u64);
        let _waiting = os::wait::begin(event);
        loop {
            let seen = self.word.load(Ordering::SeqCst);
            self.check_deadline()?;
            let now = monotonic_nanos();
            if now >= end {
                return Ok(());
            }
            let until = self.statement_deadline().unwrap_or(u64::MAX).min(end);
            os::sync::futex_wait(
                &self.word,
                seen,
                Some(Duration::from_nanos(until.saturating_sub(now))),
            );
        }
    }
}

impl base::interrupt::Ask for Interrupts {
    fn ask(&self) -> Result<()> {
        self.check_deadline()
    }

    fn room(&self, bytes: usize) -> Result<()> {
        self.check_deadline()?;
        let before = self.memory_before.load(Ordering::Relaxed) as i64;
        let held = os::memory::thread_bytes().saturating_sub(before).max(0) as usize;
        let refused = held.saturating_add(bytes) >= REFUSED_LEAST && is_full(bytes as u64);
        if refused && !self.hold_off.load(Ordering::Relaxed) {
            return Err(err!(OUT_OF_MEMORY, "out of memory")
                .detail(format!("Failed on request of size {bytes}.")));
        }
        Ok(())
    }
}

/// Whether there is no room for so many bytes, also once what was freed before is given back.
/// Others are given a moment to free what they are about to.
fn is_full(bytes: u64) -> bool {
    if os::memory::has_room(bytes) {
        return false;
    }
    for _ in 0..PATIENCE {
        os::memory::give_back();
        if os::memory::has_room(bytes) {
            return false;
        }
        os::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A statement that holds less than this with what it asks for is never refused it.
const REFUSED_LEAST: usize = 16 << 20;

/// How often memory is looked at before it is refused.
const PATIENCE: u32 = 10;

thread_local! {
    /// What the thread held when it was last asked whether there is room for it.
    static LOOKED: std::cell::Cell<i64> = const { std::cell::Cell::new(0) };
}

/// What a thread may come to hold more before it has to look whether there is room.
const LOOK_EVERY: i64 = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn cancel_ends_a_sleep_once() {
        let i = Arc::new(Interrupts::new());
        let other = i.clone();
        let t = os::thread::spawn("cancel", move || other.cancel()).unwrap();
        let e = i.sleep(base::wait::WaitEvent::PgSleep, Duration::from_secs(20)).unwrap_err();
        assert_eq!(e.code(), SqlState::QUERY_CANCELED);
        t.join().unwrap();
        i.check().unwrap();
        i.begin_statement(Some(Duration::from_millis(1)));
        let e = i.sleep(base::wait::WaitEvent::PgSleep, Duration::from_secs(20)).unwrap_err();
        assert_eq!(e.message(), "canceling statement due to statement timeout");
    }
}
