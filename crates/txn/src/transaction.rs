//! One transaction of a session: its ids, subtransactions, command counter, locks, end.

use crate::backend::Backend;
use crate::lock::{LockMode, LockOutcome, LockTag, Owner, Place, Wait};
use crate::manager::TxnManager;
use crate::record::XactRecord;
use crate::row_lock::{RowConflict, RowKey, RowStrength};
use crate::snapshot::Snapshot;
use crate::ssi::{PredicateHolder, Serial};
use base::{CommandId, Error, Lsn, RelFile, Result, SqlState, Xid, bail};
use os::sync::Mutex;
use os::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, OnceLock};

/// The isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Isolation {
    /// As read committed.
    ReadUncommitted,
    /// A snapshot a statement.
    #[default]
    ReadCommitted,
    /// A snapshot a transaction.
    RepeatableRead,
    /// A snapshot a transaction, and predicate locks.
    Serializable,
}

impl Isolation {
    /// True if one snapshot serves the whole transaction.
    pub fn keeps_snapshot(self) -> bool {
        self >= Isolation::RepeatableRead
    }

    /// The name in `transaction_isolation`.
    pub const fn name(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }
}

/// Names a subtransaction within its transaction; the transaction itself is 1. Never reused
/// within a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SubId(pub u32);

impl SubId {
    /// The transaction itself.
    pub const TOP: SubId = SubId(1);
}

/// What a commit does beside making the transaction visible.
#[derive(Default)]
pub struct CommitData {
    /// The client does not wait for the flush (`synchronous_commit = off`).
    pub asynchronous: bool,
    /// Relations whose files are removed once the commit is durable.
    pub dropped: Vec<RelFile>,
    /// The engine's bytes: invalidation messages and the like.
    pub extra: Vec<u8>,
    /// Writes a commit record though nothing was given an id.
    pub force_record: bool,
}

struct Level {
    id: SubId,
    /// Its id, once it has written.
    xid: Option<Xid>,
    /// Ids of subtransactions that committed into it.
    children: Vec<Xid>,
}

struct Inner {
    levels: SmallVec<[Level; 1]>,
    next_sub: u32,
    /// The one snapshot of repeatable read and above.
    kept: Option<Snapshot>,
    row_keys: Vec<RowKey>,
}

/// A session's transaction. Shared with parallel workers; ended by `commit` or `abort`, and
/// aborted when dropped before.
pub struct Txn {
    backend: Arc<Backend>,
    isolation: AtomicU8,
    start_micros: i64,
    top_xid: AtomicU64,
    /// The id of the innermost subtransaction; 0 if it has none yet.
    current_xid: AtomicU64,
    command: AtomicU32,
    /// The command id is in some row or snapshot, so the next command needs another.
    command_used: AtomicBool,
    /// What the reply has to wait for: data seen that is not yet durable.
    gate: AtomicU64,
    inner: Mutex<Inner>,
    /// Open subtransactions: one less than there are levels.
    depth: AtomicU32,
    over: AtomicBool,
    /// READ ONLY, as far as predicate locks care.
    read_only: AtomicBool,
    /// What SERIALIZABLE tracks it by, once it has its snapshot.
    serial: OnceLock<Arc<Serial>>,
    /// `serial` is there.
    is_serial: AtomicBool,
}

impl TxnManager {
    /// Begins the session's transaction. The one before must have ended.
    pub fn begin(self: &Arc<Self>, backend: &Arc<Backend>, isolation: Isolation) -> Arc<Txn> {
        self.begin_at(backend, isolation, os::clock::now_micros())
    }

    /// The same, when it is known what time it is, in microseconds since 1970.
    pub fn begin_at(
        self: &Arc<Self>,
        backend: &Arc<Backend>,
        isolation: Isolation,
        start_micros: i64,
    ) -> Arc<Txn> {
        let slot = backend.slot();
        slot.local_xid.fetch_add(1, Ordering::Relaxed);
        slot.in_transaction.store(true, Ordering::Relaxed);
        Arc::new(Txn {
            backend: backend.clone(),
            isolation: AtomicU8::new(isolation as u8),
            start_micros,
            top_xid: AtomicU64::new(0),
            current_xid: AtomicU64::new(0),
            command: AtomicU32::new(0),
            command_used: AtomicBool::new(false),
            gate: AtomicU64::new(0),
            inner: Mutex::new(Inner {
                levels: smallvec![Level { id: SubId::TOP, xid: None, children: Vec::new() }],
                next_sub: 2,
                kept: None,
                row_keys: Vec::new(),
            }),
            depth: AtomicU32::new(0),
            over: AtomicBool::new(false),
            read_only: AtomicBool::new(false),
            serial: OnceLock::new(),
            is_serial: AtomicBool::new(false),
        })
    }

    /// Commits; see [`Txn::commit`].
    pub fn commit(&self, txn: &Txn, data: CommitData) -> Result<Lsn> {
        txn.commit(data, &mut |_| Ok(()))
    }

    /// Aborts; see [`Txn::abort`].
    pub fn abort(&self, txn: &Txn) -> Result<()> {
        txn.abort()
    }

    /// Waits until a transaction is over.
    pub fn wait_for_xid(&self, txn: &Txn, xid: Xid) -> Result<()> {
        self.locks().wait_for_xid(&txn.backend, xid, Wait::Block)
    }
}

impl Txn {
    /// The transaction system.
    pub fn mgr(&self) -> &Arc<TxnManager> {
        self.backend.mgr()
    }

    /// The session.
    pub fn backend(&self) -> &Arc<Backend> {
        &self.backend
    }

    /// The isolation level.
    pub fn isolation(&self) -> Isolation {
        match self.isolation.load(Ordering::Relaxed) {
            0 => Isolation::ReadUncommitted,
            1 => Isolation::ReadCommitted,
            2 => Isolation::RepeatableRead,
            _ => Isolation::Serializable,
        }
    }

    /// Changes the isolation level; only before the first snapshot.
    pub fn set_isolation(&self, isolation: Isolation) {
        self.isolation.store(isolation as u8, Ordering::Relaxed);
    }

    /// When it began, in microseconds since 1970.
    pub fn start_micros(&self) -> i64 {
        self.start_micros
    }

    /// The id that rows written now get: of the innermost subtransaction. Assigned on first
    /// use, after those of the transactions around it.
    #[inline]
    pub fn xid(&self) -> Result<Xid> {
        match self.current_xid.load(Ordering::Acquire) {
            0 => self.assign(),
            xid => Ok(Xid(xid)),
        }
    }

    #[cold]
    fn assign(&self) -> Result<Xid> {
        let mut inner = self.inner.lock();
        if self.is_over() {
            return Err(Error::internal("cannot assign a transaction id after the end"));
        }
        let mgr = self.mgr();
        let mut last = Xid::INVALID;
        for (depth, level) in inner.levels.iter_mut().enumerate() {
            last = match level.xid {
                Some(xid) => xid,
                None if depth == 0 => {
                    let xid = self.backend.begin_xid(|| mgr.allocate_xid(&self.backend))?;
                    self.top_xid.store(xid.0, Ordering::Release);
                    xid
                }
                None => {
                    let xid = mgr.allocate_xid(&self.backend)?;
                    self.backend.slot().subxids.fetch_add(1, Ordering::Relaxed);
                    xid
                }
            };
            if level.xid.is_none()
                && let Some(serial) = self.serial()
            {
                serial.note_xid(last);
            }
            level.xid = Some(last);
        }
        self.current_xid.store(last.0, Ordering::Release);
        Ok(last)
    }

    /// The id of the innermost subtransaction, if it has one.
    pub fn current_xid_if_any(&self) -> Option<Xid> {
        Some(Xid(self.current_xid.load(Ordering::Acquire))).filter(|x| x.is_valid())
    }

    /// The id of the whole transaction, if it has one.
    pub fn top_xid_if_any(&self) -> Option<Xid> {
        Some(Xid(self.top_xid.load(Ordering::Acquire))).filter(|x| x.is_valid())
    }

    /// The id of the whole transaction, assigned now if need be.
    pub fn top_xid(&self) -> Result<Xid> {
        match self.top_xid_if_any() {
            Some(xid) => Ok(xid),
            None => {
                self.xid()?;
                Ok(Xid(self.top_xid.load(Ordering::Acquire)))
            }
        }
    }

    /// True if `xid` is this transaction or a live part of it.
    pub fn owns(&self, xid: Xid) -> Result<bool> {
        if self.top_xid.load(Ordering::Acquire) == 0 {
            return Ok(false);
        }
        self.mgr().is_own(&self.backend, xid)
    }

    /// The number of the current command; for snapshots. Use [`Txn::command_for_write`] for rows.
    pub fn command_id(&self) -> CommandId {
        CommandId(self.command.load(Ordering::Relaxed))
    }

    /// The number that rows written now get.
    pub fn command_for_write(&self) -> CommandId {
        if !self.command_used.load(Ordering::Relaxed) {
            self.command_used.store(true, Ordering::Relaxed);
        }
        self.command_id()
    }

    /// What was written so far becomes visible to later commands.
    pub fn increment_command(&self) -> Result<()> {
        if !self.command_used.load(Ordering::Relaxed) {
            return Ok(());
        }
        let next = self.command.load(Ordering::Relaxed).wrapping_add(1);
        if next == u32::MAX {
            bail!(PROGRAM_LIMIT_EXCEEDED, "cannot have more than 2^32-2 commands in a transaction");
        }
        self.command.store(next, Ordering::Relaxed);
        self.command_used.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// The snapshot for a statement: a new one under read committed, the transaction's under
    /// repeatable read and above.
    pub fn snapshot(&self) -> Snapshot {
        if !self.isolation().keeps_snapshot() {
            return self.latest_snapshot();
        }
        let mut inner = self.inner.lock();
        if let Some(kept) = &inner.kept {
            return kept.with_curcid(self.command_id());
        }
        let fresh = match self.isolation() {
            Isolation::Serializable => self.serializable_snapshot(),
            _ => self.latest_snapshot(),
        };
        inner.kept = Some(fresh.clone());
        fresh
    }

    /// The first snapshot of a serializable transaction: from now on what it reads is noted.
    fn serializable_snapshot(&self) -> Snapshot {
        let read_only = self.read_only.load(Ordering::Relaxed);
        let take = || self.latest_snapshot();
        let (serial, mut fresh) = self.mgr().ssi().begin(read_only, self.predicate_holder(), take);
        if let Some(serial) = serial {
            fresh.serial = Some(serial.clone());
            self.track(serial);
        }
        fresh
    }

    fn predicate_holder(&self) -> PredicateHolder {
        PredicateHolder { pid: self.backend.pid(), virtual_xid: self.backend.virtual_xid() }
    }

    fn track(&self, serial: Arc<Serial>) {
        if let Some(xid) = self.top_xid_if_any() {
            serial.note_xid(xid);
        }
        if self.serial.set(serial).is_ok() {
            self.is_serial.store(true, Ordering::Release);
        }
    }

    /// SERIALIZABLE READ ONLY DEFERRABLE: waits for a snapshot with which nothing can go wrong.
    pub fn wait_for_safe_snapshot(&self) -> Result<()> {
        let deferrable =
            self.isolation() == Isolation::Serializable && self.read_only.load(Ordering::Relaxed);
        if !deferrable || self.has_kept_snapshot() {
            return Ok(());
        }
        loop {
            let take = || self.latest_snapshot();
            let (serial, fresh) = self.mgr().ssi().begin(true, self.predicate_holder(), take);
            let mut safe = serial.is_none();
            if let Some(serial) = serial {
                let wait = std::time::Duration::from_millis(20);
                let _waiting = os::wait::begin(base::wait::WaitEvent::SafeSnapshot);
                let answer = loop {
                    if let Err(e) = self.check_interrupts() {
                        break Err(e);
                    }
                    if let Some(answer) = serial.is_safe(wait) {
                        break Ok(answer);
                    }
                };
                serial.finish(false);
                safe = answer?;
            }
            if safe {
                self.inner.lock().kept = Some(fresh);
                return Ok(());
            }
        }
    }

    /// Says that the transaction is READ ONLY; counts for its first snapshot.
    pub fn set_read_only(&self, yes: bool) {
        self.read_only.store(yes, Ordering::Relaxed);
    }

    /// What it is tracked by, if it is serializable; whoever writes for it looks for readers.
    #[inline]
    pub fn serial(&self) -> Option<&Arc<Serial>> {
        match self.is_serial.load(Ordering::Relaxed) {
            true => self.serial.get(),
            false => None,
        }
    }

    /// The last check of a serializable transaction before its commit. An error: abort it.
    pub fn prepare_serializable(&self) -> Result<()> {
        self.serial().map_or(Ok(()), |s| s.prepare())
    }

    /// A snapshot of now, whatever the isolation level, as for foreign keys and catalogs.
    pub fn latest_snapshot(&self) -> Snapshot {
        let snapshot = self.mgr().snapshot(&self.backend, self.command_id());
        self.gate.fetch_max(snapshot.gate.0, Ordering::Relaxed);
        snapshot
    }

    /// Makes another session's snapshot this transaction's (SET TRANSACTION SNAPSHOT).
    pub fn import_snapshot(&self, other: &Snapshot) {
        let snapshot = self.mgr().import_snapshot(&self.backend, other);
        self.gate.fetch_max(snapshot.gate.0, Ordering::Relaxed);
        self.inner.lock().kept = Some(snapshot);
    }

    /// True once the transaction's own snapshot has been taken.
    pub fn has_kept_snapshot(&self) -> bool {
        self.inner.lock().kept.is_some()
    }

    /// A reply that shows what was read so far has to wait until the log is flushed to here.
    pub fn gate(&self) -> Lsn {
        Lsn(self.gate.load(Ordering::Relaxed))
    }

    // Subtransactions.

    /// The innermost subtransaction.
    pub fn current_sub(&self) -> SubId {
        self.inner.lock().levels.last().map_or(SubId::TOP, |l| l.id)
    }

    /// How many subtransactions are open.
    pub fn depth(&self) -> usize {
        self.depth.load(Ordering::Relaxed) as usize
    }

    /// Begins a subtransaction.
    pub fn push_sub(&self) -> SubId {
        let mut inner = self.inner.lock();
        let id = SubId(inner.next_sub);
        inner.next_sub += 1;
        inner.levels.push(Level { id, xid: None, children: Vec::new() });
        self.depth.fetch_add(1, Ordering::Relaxed);
        self.current_xid.store(0, Ordering::Release);
        id
    }

    /// The innermost subtransaction becomes part of the one around it.
    pub fn commit_sub(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        if inner.levels.len() < 2 {
            return Err(Error::internal("there is no subtransaction to commit"));
        }
        if let (Some(level), depth) = (inner.levels.pop(), inner.levels.len() as u32)
            && let Some(parent) = inner.levels.last_mut()
        {
            self.depth.fetch_sub(1, Ordering::Relaxed);
            parent.children.extend(level.children);
            parent.children.extend(level.xid);
            self.current_xid.store(parent.xid.map_or(0, |x| x.0), Ordering::Release);
            self.backend.local_locks().move_up(depth);
        }
        Ok(())
    }

    /// Undoes the innermost subtransaction: its rows, and its locks.
    pub fn abort_sub(&self) -> Result<()> {
        let (gone, depth) = {
            let mut inner = self.inner.lock();
            if inner.levels.len() < 2 {
                return Err(Error::internal("there is no subtransaction to abort"));
            }
            let level = inner.levels.pop();
            self.depth.fetch_sub(1, Ordering::Relaxed);
            let parent = inner.levels.last().and_then(|l| l.xid);
            self.current_xid.store(parent.map_or(0, |x| x.0), Ordering::Release);
            let mut gone = Vec::new();
            if let Some(level) = level {
                gone.extend(level.xid);
                gone.extend(level.children);
            }
            (gone, inner.levels.len() as u32)
        };
        let mgr = self.mgr();
        self.backend.slot().subxids.fetch_sub(gone.len() as u32, Ordering::Relaxed);
        mgr.abort_xids(None, &gone, 0)?;
        if !gone.is_empty() {
            self.wake_waiters(&gone);
        }
        mgr.locks().release_owned(&self.backend, |o| matches!(o, Owner::Level(l) if l >= depth));
        Ok(())
    }

    fn wake_waiters(&self, xids: &[Xid]) {
        os::sync::atomic::fence(Ordering::SeqCst);
        if self.backend.slot().awaited.load(Ordering::SeqCst) {
            for xid in xids {
                self.mgr().locks().xid_is_over(self.mgr(), *xid);
            }
        }
    }

    // The end.

    /// Commits. The returned position is what the client's reply has to wait for: of the
    /// commit record, or, without one, of unflushed commits that it has read. `INVALID` means
    /// that it need not wait.
    ///
    /// `visible` runs when later snapshots see the transaction and its locks still stand: the
    /// place to invalidate caches and, as `data.dropped` made the commit durable, to remove
    /// files. Its errors do not undo the commit.
    pub fn commit(
        &self,
        data: CommitData,
        visible: &mut dyn FnMut(Lsn) -> Result<()>,
    ) -> Result<Lsn> {
        let xids = {
            let mut inner = self.inner.lock();
            if inner.levels.len() != 1 || self.over.swap(true, Ordering::AcqRel) {
                return Err(Error::internal("commit of a transaction that cannot commit"));
            }
            std::mem::take(&mut inner.levels[0].children)
        };
        let needs_record = data.force_record || !data.dropped.is_empty();
        let top = match self.top_xid_if_any() {
            None if needs_record => Some(self.assign_for_commit()?),
            top => top,
        };
        let asynchronous = data.asynchronous && data.dropped.is_empty();
        let mut gate = if data.asynchronous { Lsn::INVALID } else { self.gate() };
        let mut result = Ok(());
        let mut all = xids;
        if let Some(top) = top {
            let must_flush = !data.dropped.is_empty();
            let record = XactRecord {
                time_micros: os::clock::now_micros(),
                asynchronous,
                subxids: all,
                dropped: data.dropped,
                extra: data.extra,
            };
            let inserted = self.mgr().commit_xids(top, &record);
            all = record.subxids;
            all.push(top);
            let lsn = match inserted {
                Ok(lsn) => lsn,
                Err(e) => {
                    self.finish(&all, false);
                    return Err(e);
                }
            };
            if must_flush {
                result = self.mgr().log().flush(lsn);
            }
            result = result.and_then(|()| visible(lsn));
            if asynchronous {
                self.mgr().log().flush_soon(lsn);
            } else {
                gate = lsn;
            }
        } else {
            result = visible(Lsn::INVALID);
        }
        self.finish(&all, true);
        result?;
        Ok(if self.mgr().log().flushed() >= gate { Lsn::INVALID } else { gate })
    }

    fn assign_for_commit(&self) -> Result<Xid> {
        let mgr = self.mgr();
        let xid = self.backend.begin_xid(|| mgr.allocate_xid(&self.backend))?;
        self.top_xid.store(xid.0, Ordering::Release);
        Ok(xid)
    }

    /// Aborts, with all open subtransactions. Fine if it is over already.
    pub fn abort(&self) -> Result<()> {
        if self.over.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let mut all = Vec::new();
        {
            let mut inner = self.inner.lock();
            for level in &mut inner.levels {
                all.extend(level.xid);
                all.append(&mut level.children);
            }
        }
        let result = self.mgr().abort_xids(self.top_xid_if_any(), &all, os::clock::now_micros());
        self.finish(&all, false);
        result
    }

    /// Ids of subtransactions that committed into it.
    pub(crate) fn children(&self) -> Vec<Xid> {
        self.inner.lock().levels.iter().flat_map(|l| l.children.iter().copied()).collect()
    }

    /// The transaction goes on elsewhere: the session has none any more. Gives its row locks.
    pub(crate) fn leave(&self) -> Vec<RowKey> {
        self.over.store(true, Ordering::Release);
        self.backend.combos.lock().clear();
        self.backend.end_xid();
        self.backend.slot().subxids.store(0, Ordering::Relaxed);
        let (keys, kept) = {
            let mut inner = self.inner.lock();
            (std::mem::take(&mut inner.row_keys), inner.kept.take())
        };
        drop(kept);
        self.backend.slot().in_transaction.store(false, Ordering::Relaxed);
        keys
    }

    /// The states are settled: wakes, releases, forgets.
    fn finish(&self, xids: &[Xid], committed: bool) {
        if let Some(serial) = self.serial() {
            serial.finish(committed);
        }
        self.backend.combos.lock().clear();
        if !xids.is_empty() {
            self.wake_waiters(xids);
            self.backend.end_xid();
            self.backend.slot().subxids.store(0, Ordering::Relaxed);
        }
        let mgr = self.mgr();
        mgr.locks().release_owned(&self.backend, |o| o != Owner::Session);
        self.backend.take_place();
        let (keys, kept) = {
            let mut inner = self.inner.lock();
            (std::mem::take(&mut inner.row_keys), inner.kept.take())
        };
        drop(kept);
        if !keys.is_empty() {
            mgr.rows().forget(mgr, &keys);
        }
        self.backend.slot().in_transaction.store(false, Ordering::Relaxed);
    }

    /// True once it has committed or aborted.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    // Locks.

    fn owner(&self) -> Owner {
        Owner::Level(self.depth.load(Ordering::Relaxed))
    }

    /// Locks until the end of the (sub)transaction, waiting if need be.
    pub fn lock(&self, tag: LockTag, mode: LockMode) -> Result<LockOutcome> {
        self.mgr().locks().acquire(&self.backend, tag, mode, Wait::Block, self.owner())
    }

    /// Locks until the end of the (sub)transaction if that is possible at once.
    pub fn try_lock(&self, tag: LockTag, mode: LockMode) -> Result<LockOutcome> {
        self.mgr().locks().acquire(&self.backend, tag, mode, Wait::NoWait, self.owner())
    }

    /// Gives one count of a lock back before the end. False if it is not held.
    pub fn unlock(&self, tag: LockTag, mode: LockMode) -> bool {
        let owner = self.owner();
        self.mgr().locks().release(&self.backend, tag, mode, |o| o == owner)
    }

    /// True if the session has the lock in this mode or a stronger one.
    pub fn holds_lock(&self, tag: LockTag, mode: LockMode) -> bool {
        let local = self.backend.local_locks();
        LockMode::ALL.iter().any(|m| *m >= mode && local.held.contains(&(tag, *m)))
    }

    /// Takes a row for the transaction, or says who is in the way. The caller has the row's
    /// page latched and has found no conflict in the row itself.
    pub fn lock_row(&self, key: &RowKey, strength: RowStrength) -> Result<Option<RowConflict>> {
        let xid = self.xid()?;
        let mgr = self.mgr();
        let conflict = mgr.rows().acquire(mgr, &self.backend, key, xid, strength)?;
        if conflict.is_none() {
            self.inner.lock().row_keys.push(*key);
        }
        Ok(conflict)
    }

    /// Who has the row in a strength that conflicts; the question of an update or delete that
    /// has the row's page latched exclusively. One load if nobody has locked rows.
    pub fn row_conflict(&self, key: &RowKey, strength: RowStrength) -> Result<Option<RowConflict>> {
        let mgr = self.mgr();
        mgr.rows().conflict(mgr, &self.backend, key, strength)
    }

    /// Waits until the first place in the row's queue is reached, and `xid`, which is in the way
    /// of `strength` on the row, is over. No latch may be held. False: it is not over, and `wait`
    /// says not to wait. Who waits keeps the place until [`Txn::leave_row_queue`].
    pub fn wait_for_row(
        &self,
        key: &RowKey,
        strength: RowStrength,
        xid: Option<Xid>,
        wait: Wait,
    ) -> Result<bool> {
        let tag = LockTag::Tuple { db: key.db, rel: key.rel, tid: key.tid };
        let mode = strength.queue_mode();
        let queued = self.backend.local_locks().held.contains(&(tag, mode));
        if !queued {
            let locks = self.mgr().locks();
            let outcome = crate::about::queueing(|| {
                locks.acquire(&self.backend, tag, mode, wait, self.owner())
            })?;
            if !outcome.is_held() {
                self.mgr().locks().tell_failure(&self.backend, tag, mode);
                return Ok(false);
            }
        }
        let Some(xid) = xid else { return Ok(true) };
        if wait == Wait::NoWait {
            let over = !self.mgr().is_running(xid)?;
            if !over {
                let xact = LockTag::Transaction(xid);
                self.mgr().locks().tell_failure(&self.backend, xact, LockMode::Share);
                self.leave_row_queue(key, strength);
            }
            return Ok(over);
        }
        self.mgr().locks().wait_for_xid(&self.backend, xid, wait)?;
        Ok(true)
    }

    /// After [`Txn::wait_for_row`], when the row has been got or given up.
    pub fn leave_row_queue(&self, key: &RowKey, strength: RowStrength) {
        let tag = LockTag::Tuple { db: key.db, rel: key.rel, tid: key.tid };
        self.unlock(tag, strength.queue_mode());
    }

    /// A statement leaves its thread while it waits for the row, or goes on to the row's new
    /// version. Until it is done the session has the place in the row's queue that it had reached.
    pub fn keep_row_place(&self, key: &RowKey, strength: RowStrength) {
        let tag = LockTag::Tuple { db: key.db, rel: key.rel, tid: key.tid };
        self.backend.keep_place(tag, strength.queue_mode(), self.owner());
    }

    /// True if the running statement has left its thread to reach the first place in the row's
    /// queue, and has not reached it.
    pub fn is_in_row_queue(&self, key: &RowKey, strength: RowStrength) -> bool {
        let tag = LockTag::Tuple { db: key.db, rel: key.rel, tid: key.tid };
        self.backend.awaits_parked(tag, strength.queue_mode())
    }

    /// True if the running statement has kept a place in a row's queue.
    #[inline]
    pub fn has_row_place(&self) -> bool {
        self.backend.has_row_place()
    }

    /// The statement has got the row; if it has a place in this row's queue that stays until the
    /// transaction ends.
    pub fn claim_row_place(&self, key: &RowKey) {
        let tag = LockTag::Tuple { db: key.db, rel: key.rel, tid: key.tid };
        if let Some(place) = self.backend.take_place() {
            let claimed = place.claimed || place.tag == tag;
            self.backend.set_place(Some(Place { claimed, ..place }));
        }
    }

    /// A statement that has kept a place is done: nothing is left of what it waited for but
    /// the place in the queue of a row that it got.
    pub fn settle_wait(&self) {
        self.backend.settle_wait(self.owner());
    }

    /// The session's interrupts.
    pub fn check_interrupts(&self) -> Result<()> {
        self.backend.interrupts().check()
    }

    /// "could not serialize access", with PostgreSQL's reason.
    pub fn serialization_failure(reason: &str) -> Error {
        Error::new(
            SqlState::T_R_SERIALIZATION_FAILURE,
            format!("could not serialize access due to {reason}"),
        )
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        if !self.is_over() {
            // The states stay right without the record; nobody is left to be told of a failure.
            let _ = self.abort();
        }
    }
}

impl Backend {
    /// Locks until given back, whatever becomes of transactions: session-level advisory locks.
    pub fn lock_session(&self, tag: LockTag, mode: LockMode, wait: Wait) -> Result<LockOutcome> {
        self.mgr().locks().acquire(self, tag, mode, wait, Owner::Session)
    }

    /// Gives one count of a session-level lock back. False if it is not held.
    pub fn unlock_session(&self, tag: LockTag, mode: LockMode) -> bool {
        self.mgr().locks().release(self, tag, mode, |o| o == Owner::Session)
    }

    /// Gives all session-level advisory locks back.
    pub fn unlock_all_advisory(&self) {
        let held: Vec<(LockTag, LockMode)> = {
            let local = self.local_locks();
            let advisory = |k: &&(LockTag, LockMode)| matches!(k.0, LockTag::Advisory { .. });
            local.held.iter().map(|(key, _)| key).filter(advisory).copied().collect()
        };
        for (tag, mode) in held {
            while self.unlock_session(tag, mode) {}
        }
    }
}
