//! The shared table of locks: grants, queues, waiting.

use super::fast::{StrongLocks, strong, weak};
use super::local::{LocalLock, Owner};
use super::{LockMode, LockOutcome, LockTag, Wait};
use crate::backend::{Backend, ProcId};
use crate::interrupts::Interrupts;
use crate::interrupts::{LOCK_STATE, LOCK_WAITING};
use crate::manager::TxnManager;
use base::{Result, Xid, bail};
use hashbrown::HashMap;
use os::clock::monotonic_nanos;
use os::sync::atomic::{AtomicU64, Ordering};
use os::sync::{Mutex, RwLock, futex_wait};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

pub(super) const PARTITIONS: usize = 64;

/// A session that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Waiter {
    pub proc: ProcId,
    pub mode: LockMode,
}

/// What a session waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitInfo {
    pub tag: LockTag,
    pub mode: LockMode,
    /// Since when, microseconds since 1970.
    pub since_micros: i64,
}

/// A lock that somebody holds or wants.
#[derive(Default)]
pub(crate) struct Lock {
    /// Sessions with the modes each holds, as bits.
    pub holders: SmallVec<[(ProcId, u16); 2]>,
    pub queue: VecDeque<Waiter>,
}

impl Lock {
    fn held_by(&self, proc: ProcId) -> u16 {
        self.holders.iter().find(|h| h.0 == proc).map_or(0, |h| h.1)
    }

    fn held_by_others(&self, proc: ProcId) -> u16 {
        self.holders.iter().filter(|h| h.0 != proc).fold(0, |all, h| all | h.1)
    }

    fn grant(&mut self, proc: ProcId, modes: u16) {
        match self.holders.iter_mut().find(|h| h.0 == proc) {
            Some(h) => h.1 |= modes,
            None => self.holders.push((proc, modes)),
        }
    }

    fn is_unused(&self) -> bool {
        self.holders.is_empty() && self.queue.is_empty()
    }

    /// Where in the queue a request goes, and whether nobody before it stands in its way. It
    /// goes before the first waiter that our own locks block: behind it, both would wait.
    fn queue_place(&self, me: Waiter) -> (usize, bool) {
        let mine = self.held_by(me.proc);
        let mut before = 0;
        for (at, waiter) in self.queue.iter().enumerate() {
            if waiter.mode.conflicts() & mine != 0 {
                return (at, me.mode.conflicts() & before == 0);
            }
            before |= waiter.mode.bit();
        }
        (self.queue.len(), me.mode.conflicts() & before == 0)
    }

    /// Grants the waiters, from the front, that neither holders nor those before them block. They
    /// are to be woken when the table is free again: they need it.
    #[must_use]
    pub(super) fn grant_queue(&mut self, mgr: &TxnManager) -> Granted {
        let mut granted = Granted::default();
        let mut before = 0;
        let mut at = 0;
        while let Some(waiter) = self.queue.get(at).copied() {
            let others = self.held_by_others(waiter.proc);
            if waiter.mode.conflicts() & (others | before) == 0 {
                self.queue.remove(at);
                self.grant(waiter.proc, waiter.mode.bit());
                granted.add(mgr, waiter.proc);
            } else {
                before |= waiter.mode.bit();
                at += 1;
            }
        }
        granted
    }
}

/// State bits in the word a session sleeps on; the rest counts kicks.
const WAITING: u32 = LOCK_WAITING;
pub(super) const GRANTED: u32 = 2;
pub(super) const STATE: u32 = LOCK_STATE;

/// Sessions whose wait is over, though they sleep yet.
#[derive(Default)]
pub(super) struct Granted(SmallVec<[Arc<Interrupts>; 4]>);

impl Granted {
    /// This session's wait is over. Called with the partition locked.
    fn add(&mut self, mgr: &TxnManager, proc: ProcId) {
        let interrupts = mgr.slots.get(proc).interrupts.lock().clone();
        set_state(&interrupts, GRANTED);
        self.0.push(interrupts);
    }

    /// Wakes them. Called with no partition locked.
    pub(super) fn wake(self) {
        for interrupts in self.0 {
            interrupts.wake();
        }
    }
}

pub(super) fn set_state(interrupts: &Interrupts, state: u32) {
    let change = |word: u32| Some(word & !STATE | state);
    let _ = interrupts.word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
}

pub(super) type Partition = HashMap<LockTag, Lock, foldhash::fast::FixedState>;

/// The heavyweight locks of a server. Sessions lock through `Txn::lock` and `Backend`.
pub struct LockManager {
    pub(super) partitions: Box<[Mutex<Partition>]>,
    hasher: foldhash::fast::FixedState,
    strong: StrongLocks,
    deadlock_timeout_ms: AtomicU64,
    /// Deadlocks found since start.
    pub(super) deadlocks: AtomicU64,
    watcher: RwLock<Option<WaitWatcher>>,
}

/// Told of waits that are longer than `deadlock_timeout`.
pub type WaitWatcher = Arc<dyn Fn(&LongWait) + Send + Sync>;

/// How a long wait goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitStage {
    /// It has lasted for `deadlock_timeout`.
    Waiting,
    /// It was for nothing.
    Deadlock,
    /// The lock is there.
    Acquired,
    /// There was none: the session did not want to wait (see [`super::about::telling_failures`]).
    Failed,
}

/// A session waits for a lock, or has waited.
pub struct LongWait {
    /// The session's number.
    pub pid: i32,
    /// The lock.
    pub tag: LockTag,
    /// As it wants it.
    pub mode: LockMode,
    /// How long so far, in microseconds.
    pub micros: u64,
    /// How it goes.
    pub stage: WaitStage,
    /// What the session does: `while updating tuple (0,1) in relation "t"`.
    pub context: Option<String>,
    /// Where its statement names what it waits for, as a byte offset.
    pub location: Option<u32>,
    /// Its virtual transaction.
    pub vxid: (u32, u32),
    /// Who holds it.
    pub holders: Vec<i32>,
    /// Who waits for it, in order.
    pub queue: Vec<i32>,
}

impl LockManager {
    pub(crate) fn new(deadlock_timeout: Duration) -> LockManager {
        let hasher = foldhash::fast::FixedState::default();
        LockManager {
            partitions: (0..PARTITIONS)
                .map(|_| Mutex::new(Partition::with_hasher(hasher.clone())))
                .collect(),
            hasher,
            strong: StrongLocks::new(),
            deadlock_timeout_ms: AtomicU64::new(deadlock_timeout.as_millis() as u64),
            deadlocks: AtomicU64::new(0),
            watcher: RwLock::new(None),
        }
    }

    /// Sets who is told of long waits.
    pub fn set_watcher(&self, watcher: WaitWatcher) {
        *self.watcher.write() = Some(watcher);
    }

    #[cold]
    fn tell_wait(&self, me: &Backend, start: u64, stage: WaitStage) {
        let Some(watcher) = self.watcher.read().clone() else { return };
        let Some(info) = *me.slot().waiting.lock() else { return };
        let (mut holders, queue) = self.parties(me, info.tag);
        if holders.is_empty() {
            holders = self.blocking_pids(me.mgr(), me.pid());
        }
        watcher(&LongWait {
            pid: me.pid(),
            tag: info.tag,
            mode: info.mode,
            micros: (monotonic_nanos() - start) / 1000,
            stage,
            context: super::about::text(),
            location: super::about::place(),
            vxid: me.virtual_xid(),
            holders,
            queue,
        });
    }

    /// The sessions that hold a lock, and those that wait for it, in order.
    fn parties(&self, me: &Backend, tag: LockTag) -> (Vec<i32>, Vec<i32>) {
        let pid = |id: ProcId| me.mgr().slots.get(id).pid.load(Ordering::Relaxed);
        let (mut holders, mut queue) = (Vec::new(), Vec::new());
        if let Some(lock) = self.partition(&tag).lock().get(&tag) {
            holders.extend(lock.holders.iter().map(|h| pid(h.0)));
            queue.extend(lock.queue.iter().map(|w| pid(w.proc)));
        }
        if let LockTag::Transaction(xid) = tag
            && let Ok(Some(owner)) = me.mgr().owner(xid)
        {
            holders = vec![pid(owner)];
        }
        (holders, queue)
    }

    /// Tells of a lock that could not be had at once, if who asked wants that.
    pub(crate) fn tell_failure(&self, me: &Backend, tag: LockTag, mode: LockMode) {
        if !super::about::tells_failures() {
            return;
        }
        let Some(watcher) = self.watcher.read().clone() else { return };
        let (holders, queue) = self.parties(me, tag);
        watcher(&LongWait {
            pid: me.pid(),
            tag,
            mode,
            micros: 0,
            stage: WaitStage::Failed,
            context: None,
            location: None,
            vxid: me.virtual_xid(),
            holders,
            queue,
        });
    }

    /// Sets `deadlock_timeout`.
    pub fn set_deadlock_timeout(&self, timeout: Duration) {
        self.deadlock_timeout_ms.store(timeout.as_millis() as u64, Ordering::Relaxed);
    }

    /// Deadlocks found since start.
    pub fn deadlocks(&self) -> u64 {
        self.deadlocks.load(Ordering::Relaxed)
    }

    pub(super) fn partition_number(&self, tag: &LockTag) -> usize {
        self.hasher.hash_one(tag) as usize % PARTITIONS
    }

    pub(super) fn partition(&self, tag: &LockTag) -> &Mutex<Partition> {
        &self.partitions[self.partition_number(tag)]
    }

    pub(crate) fn acquire(
        &self,
        me: &Backend,
        tag: LockTag,
        mode: LockMode,
        wait: Wait,
        owner: Owner,
    ) -> Result<LockOutcome> {
        {
            let mut local = me.local_locks();
            if let Some(held) = local.held.get_mut(&(tag, mode)) {
                held.add(owner);
                return Ok(LockOutcome::AlreadyHeld);
            }
            if self.acquire_fast(me, tag, mode) {
                let held = local.held.add((tag, mode), LocalLock::fast(owner));
                let near = std::ptr::from_ref(held) as usize;
                local.near = near;
                return Ok(LockOutcome::Granted);
            }
        }
        if let Some((db, rel)) = strong(tag, mode) {
            self.strong.add(rel);
            self.collect_notes(me.mgr(), db, rel);
        }
        let outcome = self.acquire_shared(me, tag, mode, wait);
        if !matches!(&outcome, Ok(outcome) if outcome.is_held()) {
            self.forget_strong(tag, mode);
            return outcome;
        }
        me.local_locks().held.count((tag, mode), owner);
        Ok(LockOutcome::Granted)
    }

    fn forget_strong(&self, tag: LockTag, mode: LockMode) {
        if let Some((_, rel)) = strong(tag, mode) {
            self.strong.remove(rel);
        }
    }

    fn acquire_fast(&self, me: &Backend, tag: LockTag, mode: LockMode) -> bool {
        let Some((db, rel)) = weak(tag, mode) else { return false };
        let mut notes = me.slot().fast.lock();
        self.strong.is_clear(rel) && notes.note(db, rel, mode)
    }

    /// Moves all sessions' notes on a relation to the table, so that a strong request meets
    /// them there. New notes are not made: the counter is up.
    fn collect_notes(&self, mgr: &TxnManager, db: base::Oid, rel: base::Oid) {
        let tag = LockTag::Relation { db, rel };
        for (proc, slot) in mgr.slots.iter() {
            let mut notes = slot.fast.lock();
            let modes = notes.take(db, rel);
            if modes != 0 {
                // Under the notes' lock, so that the owner finds it in one place or the other.
                self.partition(&tag).lock().entry(tag).or_default().grant(proc, modes);
            }
        }
    }

    fn acquire_shared(
        &self,
        me: &Backend,
        tag: LockTag,
        mode: LockMode,
        wait: Wait,
    ) -> Result<LockOutcome> {
        if let Some(result) = self.take_up(me, tag, mode, wait == Wait::Park) {
            return result.map(|()| LockOutcome::Granted);
        }
        let waiter = Waiter { proc: me.id(), mode };
        let mut partition = self.partition(&tag).lock();
        let lock = partition.entry(tag).or_default();
        let free = lock.held_by_others(me.id()) & mode.conflicts() == 0;
        let (place, clear) = lock.queue_place(waiter);
        if free && clear {
            lock.grant(me.id(), mode.bit());
            return Ok(LockOutcome::Granted);
        }
        if wait == Wait::NoWait {
            if lock.is_unused() {
                partition.remove(&tag);
            }
            return Ok(LockOutcome::NotAvailable);
        }
        lock.queue.insert(place, waiter);
        self.announce_wait(me, tag, mode);
        drop(partition);
        self.queued(me, tag, mode, wait)?;
        Ok(LockOutcome::Granted)
    }

    /// Says what the session waits for. Called with the partition locked.
    fn announce_wait(&self, me: &Backend, tag: LockTag, mode: LockMode) {
        set_state(me.interrupts(), WAITING);
        let since_micros = os::clock::now_micros();
        *me.slot().waiting.lock() = Some(WaitInfo { tag, mode, since_micros });
    }

    /// Waits for a request that is in the queue since now.
    fn queued(&self, me: &Backend, tag: LockTag, mode: LockMode, wait: Wait) -> Result<()> {
        match wait {
            Wait::Park => Err(self.park(me, tag, mode)),
            _ => self.sleep(me, tag, mode, monotonic_nanos()),
        }
    }

    /// Sleeps until granted; the wait began at `start`. On an error the request is out of the
    /// queue.
    pub(super) fn sleep(
        &self,
        me: &Backend,
        tag: LockTag,
        mode: LockMode,
        start: u64,
    ) -> Result<()> {
        let result = match me.interrupts().word.load(Ordering::SeqCst) & STATE == GRANTED {
            true => Ok(()),
            false => {
                let _waiting = os::wait::begin(tag.wait_event());
                self.sleep_until_granted(me, start)
            }
        };
        let result = match result {
            Ok(()) => Ok(()),
            Err(e) => match self.leave_queue(me, tag, mode) {
                true => Err(e),
                // Granted in the last moment: the caller has the lock and meets the interrupt,
                // which is still raised or not worth much, at its next check.
                false => Ok(()),
            },
        };
        *me.slot().waiting.lock() = None;
        set_state(me.interrupts(), 0);
        result
    }

    fn sleep_until_granted(&self, me: &Backend, start: u64) -> Result<()> {
        let interrupts = me.interrupts();
        let own = || Duration::from_millis(self.deadlock_timeout_ms.load(Ordering::Relaxed));
        let timeout = interrupts.deadlock_timeout().unwrap_or_else(own);
        let mut told = false;
        let mut check_at = Some(start + timeout.as_nanos() as u64);
        let give_up = interrupts.lock_timeout().map(|t| start + t.as_nanos() as u64);
        loop {
            let seen = interrupts.word.load(Ordering::SeqCst);
            if seen & STATE == GRANTED {
                if told {
                    self.tell_wait(me, start, WaitStage::Acquired);
                }
                return Ok(());
            }
            interrupts.check_deadline()?;
            let now = monotonic_nanos();
            if give_up.is_some_and(|at| now >= at) {
                bail!(LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
            }
            if check_at.is_some_and(|at| now >= at) {
                check_at = None;
                let checked = self.check_deadlock(me);
                if checked.is_err() {
                    self.tell_wait(me, start, WaitStage::Deadlock);
                }
                checked?;
                if interrupts.word.load(Ordering::SeqCst) & STATE != GRANTED {
                    told = true;
                    self.tell_wait(me, start, WaitStage::Waiting);
                }
                continue;
            }
            let next =
                [check_at, give_up, interrupts.statement_deadline()].into_iter().flatten().min();
            let sleep = next.map(|at| Duration::from_nanos(at.saturating_sub(now).max(1000)));
            futex_wait(&interrupts.word, seen, sleep);
        }
    }

    /// Takes the session's request out of the queue. False if it has been granted.
    pub(super) fn leave_queue(&self, me: &Backend, tag: LockTag, mode: LockMode) -> bool {
        let mut granted = Granted::default();
        let mut partition = self.partition(&tag).lock();
        if me.interrupts().word.load(Ordering::SeqCst) & STATE == GRANTED {
            return false;
        }
        if let Some(lock) = partition.get_mut(&tag) {
            lock.queue.retain(|w| *w != Waiter { proc: me.id(), mode });
            // It may have been the only thing in somebody's way.
            if !matches!(tag, LockTag::Transaction(_)) {
                granted = lock.grant_queue(me.mgr());
            }
            if lock.is_unused() {
                partition.remove(&tag);
            }
        }
        drop(partition);
        granted.wake();
        true
    }

    pub(super) fn release_shared(&self, me: &Backend, tag: LockTag, mode: LockMode) {
        let mut granted = Granted::default();
        let mut partition = self.partition(&tag).lock();
        if let Some(lock) = partition.get_mut(&tag) {
            if let Some(at) = lock.holders.iter().position(|h| h.0 == me.id()) {
                lock.holders[at].1 &= !mode.bit();
                if lock.holders[at].1 == 0 {
                    lock.holders.swap_remove(at);
                }
            }
            if !lock.queue.is_empty() {
                granted = lock.grant_queue(me.mgr());
            }
            if lock.is_unused() {
                partition.remove(&tag);
            }
        }
        drop(partition);
        granted.wake();
        self.forget_strong(tag, mode);
    }

    fn release_entry(&self, me: &Backend, tag: LockTag, mode: LockMode, fast: bool) {
        if fast
            && let Some((db, rel)) = weak(tag, mode)
            && me.slot().fast.lock().remove(db, rel, mode)
        {
            return;
        }
        self.release_shared(me, tag, mode);
    }

    /// Gives one count of a lock back. False if it was not held so.
    pub(crate) fn release(
        &self,
        me: &Backend,
        tag: LockTag,
        mode: LockMode,
        owner: impl Fn(Owner) -> bool,
    ) -> bool {
        let released = me.local_locks().release_one(tag, mode, owner);
        match released {
            None => false,
            Some((over, fast)) => {
                if over {
                    self.release_entry(me, tag, mode, fast);
                }
                true
            }
        }
    }

    /// Gives all locks back that `gone` picks.
    pub(crate) fn release_owned(&self, me: &Backend, gone: impl Fn(Owner) -> bool) {
        let mut left: SmallVec<[(LockTag, LockMode); 4]> = SmallVec::new();
        {
            let mut local = me.local_locks();
            if local.held.is_empty() {
                return;
            }
            let mut notes = None;
            local.release(gone, |tag, mode, fast| {
                let noted = match weak(tag, mode) {
                    Some((db, rel)) if fast => {
                        let notes = notes.get_or_insert_with(|| me.slot().fast.lock());
                        notes.remove(db, rel, mode)
                    }
                    _ => false,
                };
                if !noted {
                    left.push((tag, mode));
                }
            });
        }
        for (tag, mode) in left {
            self.release_shared(me, tag, mode);
        }
    }

    /// What the session holds for its transaction.
    pub(crate) fn held_by_transaction(&self, me: &Backend) -> Vec<(LockTag, LockMode)> {
        let local = me.local_locks();
        let own = |l: &LocalLock| l.counts.iter().any(|(o, _)| *o != Owner::Session);
        local.held.iter().filter(|(_, l)| own(l)).map(|(key, _)| *key).collect()
    }

    /// Moves the transaction's locks from one session to another; nobody can come between.
    pub(crate) fn hand_over(&self, from: &Backend, to: &Backend) {
        for (tag, mode) in self.held_by_transaction(from) {
            let (fast, kept) = {
                let mut local = from.local_locks();
                let Some(lock) = local.held.get_mut(&(tag, mode)) else { continue };
                lock.counts.retain(|(o, _)| *o == Owner::Session);
                let (fast, kept) = (lock.fast, !lock.counts.is_empty());
                if !kept {
                    local.held.remove(&(tag, mode));
                }
                (fast, kept)
            };
            // A strong request looks at the notes under their mutex: it finds the lock either
            // there or in the table.
            let mut notes = from.slot().fast.lock();
            let noted = match weak(tag, mode) {
                Some((db, rel)) if fast && !kept => notes.remove(db, rel, mode),
                _ => false,
            };
            let mut partition = self.partition(&tag).lock();
            let lock = partition.entry(tag).or_default();
            lock.grant(to.id(), mode.bit());
            if !noted
                && !kept
                && let Some(at) = lock.holders.iter().position(|h| h.0 == from.id())
            {
                lock.holders[at].1 &= !mode.bit();
                if lock.holders[at].1 == 0 {
                    lock.holders.swap_remove(at);
                }
            }
            drop(partition);
            drop(notes);
            if kept && let Some((_, rel)) = strong(tag, mode) {
                self.strong.add(rel);
            }
            to.local_locks().held.count((tag, mode), Owner::Level(0));
        }
    }

    /// Takes a lock that was held before the server stopped. Nobody else holds any.
    pub(crate) fn hold_again(&self, me: &Backend, tag: LockTag, mode: LockMode) {
        if let Some((_, rel)) = strong(tag, mode) {
            self.strong.add(rel);
        }
        self.partition(&tag).lock().entry(tag).or_default().grant(me.id(), mode.bit());
        me.local_locks().held.count((tag, mode), Owner::Level(0));
    }

    pub(crate) fn release_all(&self, me: &Backend) {
        self.release_owned(me, |_| true);
    }

    /// Waits until a transaction, or subtransaction, is over.
    pub(crate) fn wait_for_xid(&self, me: &Backend, xid: Xid, wait: Wait) -> Result<()> {
        let mgr = me.mgr();
        let tag = LockTag::Transaction(xid);
        if let Some(result) = self.take_up(me, tag, LockMode::Share, wait == Wait::Park) {
            return result;
        }
        let mut partition = self.partition(&tag).lock();
        let Some(owner) = mgr.owner(xid)? else {
            drop(partition);
            return self.await_settled(me, xid);
        };
        if owner == me.id() {
            return Ok(());
        }
        // The owner settles the state first and looks at the flag second.
        mgr.slots.get(owner).awaited.store(true, Ordering::SeqCst);
        os::sync::atomic::fence(Ordering::SeqCst);
        if mgr.owner(xid)? != Some(owner) {
            drop(partition);
            return self.await_settled(me, xid);
        }
        let lock = partition.entry(tag).or_default();
        lock.queue.push_back(Waiter { proc: me.id(), mode: LockMode::Share });
        self.announce_wait(me, tag, LockMode::Share);
        drop(partition);
        self.queued(me, tag, LockMode::Share, wait)
    }

    /// The transaction is over, or about to be, or (on a standby) runs elsewhere.
    fn await_settled(&self, me: &Backend, xid: Xid) -> Result<()> {
        while me.mgr().is_running(xid)? {
            let event = base::wait::WaitEvent::LockTransactionid;
            me.interrupts().sleep(event, Duration::from_millis(1))?;
        }
        Ok(())
    }

    /// Wakes all who wait for the end of this transaction; its state is settled.
    pub(crate) fn xid_is_over(&self, mgr: &Arc<TxnManager>, xid: Xid) {
        let tag = LockTag::Transaction(xid);
        let mut granted = Granted::default();
        let mut partition = self.partition(&tag).lock();
        if let Some(lock) = partition.remove(&tag) {
            lock.queue.iter().for_each(|waiter| granted.add(mgr, waiter.proc));
        }
        drop(partition);
        granted.wake();
    }
}
