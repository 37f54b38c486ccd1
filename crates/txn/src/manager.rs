//! The transaction manager: ids, states, snapshots, the horizon.

use crate::backend::{Backend, Slots};
use crate::clog::Clog;
use crate::commit_times::CommitTimes;
use crate::lock::LockManager;
use crate::protocol;
use crate::record::{INFO_ABORT, INFO_COMMIT, XactRecord};
use crate::row_lock::RowLocks;
use crate::snapshot::{Hold, Horizon, Snapshot};
use crate::ssi::Ssi;
use crate::xid_table::{LONG_AGO, State, XidTable, back_off};
use base::{CommandId, Lsn, RelFile, Result, Xid};
use os::Disk;
use os::sync::Mutex;
use os::sync::atomic::{AtomicU64, Ordering};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the transaction system needs of the log.
pub trait TxnLog: Send + Sync {
    /// Inserts a record of the transaction resource manager; gives its end position. Not yet
    /// durable.
    fn insert(&self, info: u8, xid: Xid, data: &[u8]) -> Result<Lsn>;
    /// All records inserted so far end at or before this position, or are being inserted.
    fn inserted(&self) -> Lsn;
    /// Makes the log durable up to `lsn`, waiting for it.
    fn flush(&self, lsn: Lsn) -> Result<()>;
    /// The log is durable up to here.
    fn flushed(&self) -> Lsn;
    /// Asks for the log to be made durable up to `lsn` soon.
    fn flush_soon(&self, lsn: Lsn);
}

/// How the transaction system is set up.
#[derive(Clone)]
pub struct TxnConfig {
    /// The folder of the commit log.
    pub clog_dir: PathBuf,
    /// The folder of the times of commits, and whether they are kept: if not, it is emptied.
    pub times: Option<(PathBuf, bool)>,
    /// The first id to give out, from the control file.
    pub next_xid: Xid,
    /// Most sessions at a time.
    pub max_backends: u32,
    /// How long a lock wait lasts before deadlocks are looked for.
    pub deadlock_timeout: Duration,
}

impl Default for TxnConfig {
    fn default() -> TxnConfig {
        TxnConfig {
            clog_dir: PathBuf::from("pg_xact"),
            times: None,
            next_xid: Xid::FIRST_NORMAL,
            max_backends: 1 << 15,
            deadlock_timeout: Duration::from_secs(1),
        }
    }
}

/// What became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum XidStatus {
    /// It runs.
    InProgress,
    /// It committed; its commit record ends here. Long ago is some small position.
    Committed(Lsn),
    /// It aborted, or was running when the server died.
    Aborted,
}

/// What a snapshot makes of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sees {
    /// It is the snapshot's own, or a live subtransaction of it: command ids decide.
    Own,
    /// Committed in time. The position is that of its commit.
    Yes(Lsn),
    /// Committed, but after the snapshot was taken.
    Later(Lsn),
    /// It runs.
    Running,
    /// It aborted.
    Aborted,
}

impl Sees {
    /// True for a committed transaction within the snapshot.
    #[inline]
    pub fn yes(self) -> bool {
        matches!(self, Sees::Yes(_))
    }
}

/// On a line of its own: every commit writes it and every snapshot reads it.
#[repr(align(128))]
struct Published {
    /// Every commit record that ends at or before this belongs to a transaction that is at
    /// least `Committing`.
    last: AtomicU64,
    /// The same, over the commits whose clients wait for the flush.
    last_sync: AtomicU64,
}

#[repr(align(128))]
struct Own(AtomicU64);

/// The transaction system of a server.
pub struct TxnManager {
    log: Arc<dyn TxnLog>,
    published: Published,
    next_xid: Own,
    /// Every smaller id is over. Advanced now and then.
    floor: Own,
    /// A horizon computed a while ago.
    horizon_lsn: Own,
    /// Positions that replication slots and the like hold the horizon at, by who.
    external: Mutex<Vec<(u64, Lsn)>>,
    /// Counts snapshots that went from one session to another.
    imports: AtomicU64,
    table: XidTable,
    pub(crate) slots: Slots,
    locks: LockManager,
    rows: RowLocks,
    ssi: Arc<Ssi>,
    times: Option<CommitTimes>,
}

/// At least so many ids are given out between two looks at all sessions.
const LEAST_FLOOR_STEP: u64 = 8;

impl TxnManager {
    /// The transaction system as the control file describes it; then redo, if needed, and
    /// [`TxnManager::end_recovery`].
    pub fn open(disk: Disk, log: Arc<dyn TxnLog>, config: TxnConfig) -> Result<Arc<TxnManager>> {
        let next = config.next_xid.max(Xid::FIRST_NORMAL);
        let times = match &config.times {
            Some((dir, true)) => Some(CommitTimes::open(disk.clone(), dir)?),
            Some((dir, false)) => {
                CommitTimes::remove(disk.clone(), dir)?;
                None
            }
            None => None,
        };
        let clog = Clog::open(disk, &config.clog_dir)?;
        let start = log.inserted().max(LONG_AGO);
        Ok(Arc::new(TxnManager {
            log,
            published: Published { last: AtomicU64::new(start.0), last_sync: AtomicU64::new(0) },
            next_xid: Own(AtomicU64::new(next.0)),
            floor: Own(AtomicU64::new(Xid::FIRST_NORMAL.0)),
            horizon_lsn: Own(AtomicU64::new(LONG_AGO.0)),
            external: Mutex::new(Vec::new()),
            imports: AtomicU64::new(0),
            table: XidTable::new(clog),
            times,
            slots: Slots::new(config.max_backends),
            locks: LockManager::new(config.deadlock_timeout),
            rows: RowLocks::new(),
            ssi: Ssi::new(),
        }))
    }

    /// The heavyweight locks.
    pub fn locks(&self) -> &LockManager {
        &self.locks
    }

    /// The locks on rows.
    pub fn rows(&self) -> &RowLocks {
        &self.rows
    }

    /// Predicate locks.
    pub fn ssi(&self) -> &Arc<Ssi> {
        &self.ssi
    }

    /// The log.
    pub fn log(&self) -> &Arc<dyn TxnLog> {
        &self.log
    }

    /// The next id to be given out.
    pub fn next_xid(&self) -> Xid {
        Xid(self.next_xid.0.load(Ordering::SeqCst))
    }

    /// Redo: an id that appears in the log was given out, and must not be given out again.
    pub fn observe_xid(&self, xid: Xid) -> Result<()> {
        if xid >= Xid::FIRST_NORMAL {
            self.next_xid.0.fetch_max(xid.0 + 1, Ordering::SeqCst);
            self.table.ensure(xid)?;
        }
        Ok(())
    }

    pub(crate) fn allocate_xid(&self, backend: &Backend) -> Result<Xid> {
        let xid = Xid(self.next_xid.0.fetch_add(1, Ordering::SeqCst));
        self.table.set(xid, State::InProgress(Some(backend.id())))?;
        if xid.0.is_multiple_of(self.floor_step()) {
            self.advance();
        }
        Ok(xid)
    }

    /// How many ids are given out between two looks at all sessions: a look costs as much as there
    /// are sessions, and until it is taken, rows that are dead to all stay where everybody has to
    /// pass them.
    fn floor_step(&self) -> u64 {
        (self.slots.used() as u64 / 4).next_power_of_two().max(LEAST_FLOOR_STEP)
    }

    pub(crate) fn set_state(&self, xid: Xid, state: State) -> Result<()> {
        self.table.set(xid, state)
    }

    /// Writes that a transaction is prepared, with what is needed to have it again; flushed.
    pub fn log_prepare(&self, top: Xid, data: &[u8]) -> Result<()> {
        let lsn = self.log.insert(crate::two_phase::INFO_PREPARE, top, data)?;
        self.log.flush(lsn)
    }

    fn state(&self, xid: Xid) -> Result<State> {
        if xid < Xid::FIRST_NORMAL {
            return Ok(match xid {
                Xid::INVALID => State::Aborted,
                _ => State::Committed(LONG_AGO),
            });
        }
        self.table.get(xid)
    }

    /// The state once it is settled, waiting out the moment between the insertion of a commit
    /// record and the publication of its position, unless the commit is behind `interest`.
    fn settled(&self, xid: Xid, interest: Lsn) -> Result<State> {
        let mut spins = 0;
        loop {
            match self.state(xid)? {
                State::Committing(bound) if interest > bound => back_off(&mut spins),
                state => return Ok(state),
            }
        }
    }

    /// What became of a transaction.
    pub fn status(&self, xid: Xid) -> Result<XidStatus> {
        Ok(match self.settled(xid, Lsn::MAX)? {
            State::Committed(lsn) => XidStatus::Committed(lsn),
            State::Aborted => XidStatus::Aborted,
            State::InProgress(_) | State::Committing(_) => XidStatus::InProgress,
        })
    }

    /// What a snapshot makes of a transaction.
    #[inline]
    pub fn sees(&self, snapshot: &Snapshot, xid: Xid) -> Result<Sees> {
        Ok(match self.settled(xid, snapshot.lsn)? {
            State::Committed(lsn) if lsn <= snapshot.lsn => Sees::Yes(lsn),
            State::Committed(lsn) => Sees::Later(lsn),
            State::Aborted => Sees::Aborted,
            State::InProgress(Some(proc)) if proc == snapshot.proc => Sees::Own,
            State::InProgress(_) => Sees::Running,
            // Its record will end behind the bound, and so behind the snapshot.
            State::Committing(bound) => Sees::Later(bound),
        })
    }

    /// True if the snapshot sees a transaction that a hint bit says committed. Cheap for
    /// transactions that were over long before the snapshot.
    #[inline]
    pub fn sees_committed(&self, snapshot: &Snapshot, xid: Xid) -> Result<bool> {
        if xid < snapshot.floor {
            return Ok(true);
        }
        Ok(self.sees(snapshot, xid)?.yes())
    }

    /// True if `xid` is the running transaction of this session, or a live part of it.
    pub fn is_own(&self, backend: &Backend, xid: Xid) -> Result<bool> {
        Ok(self.state(xid)? == State::InProgress(Some(backend.id())))
    }

    /// The session that runs this transaction.
    pub(crate) fn owner(&self, xid: Xid) -> Result<Option<crate::ProcId>> {
        match self.state(xid)? {
            State::InProgress(owner) => Ok(owner),
            _ => Ok(None),
        }
    }

    /// True if the transaction has neither committed nor aborted; the moment of commit counts
    /// as over only when its position is known.
    pub fn is_running(&self, xid: Xid) -> Result<bool> {
        Ok(matches!(self.settled(xid, Lsn::MAX)?, State::InProgress(_)))
    }

    /// True if a commit at this position is safe on disk: only then may a hint bit say so.
    #[inline]
    pub fn commit_is_flushed(&self, lsn: Lsn) -> bool {
        lsn <= self.log.flushed()
    }

    /// The newest position that a snapshot can have now.
    pub fn last_committed(&self) -> Lsn {
        Lsn(self.published.last.load(Ordering::SeqCst))
    }

    /// A snapshot for the session, held until all clones are gone.
    pub fn snapshot(&self, backend: &Arc<Backend>, curcid: CommandId) -> Snapshot {
        // Before the position: the commits of ids below the floor were published before it.
        let floor = Xid(self.floor.0.load(Ordering::Acquire));
        let lsn = backend.hold_snapshot(|| self.last_committed());
        let gate = Lsn(self.published.last_sync.load(Ordering::Relaxed));
        let hold = Some(Arc::new(Hold { backend: backend.clone(), lsn }));
        Snapshot { lsn, gate, floor, proc: backend.id(), curcid, hold, serial: None }
    }

    /// The snapshot of another session, taken over while that one still holds it.
    pub fn import_snapshot(&self, backend: &Arc<Backend>, other: &Snapshot) -> Snapshot {
        backend.hold_position(other.lsn);
        // A scan that has passed our slot and not yet the other session's starts again.
        self.imports.fetch_add(1, Ordering::SeqCst);
        let hold = Some(Arc::new(Hold { backend: backend.clone(), lsn: other.lsn }));
        Snapshot { proc: backend.id(), hold, serial: None, ..other.clone() }
    }

    /// Looks at all sessions: how far back may anybody look?
    pub fn horizon(&self) -> Horizon {
        self.advance();
        self.horizon_cached()
    }

    /// A horizon computed a while ago: never too new. Two loads.
    pub fn horizon_cached(&self) -> Horizon {
        let lsn = Lsn(self.horizon_lsn.0.load(Ordering::Acquire));
        Horizon { lsn, xid: Xid(self.floor.0.load(Ordering::Acquire)) }
    }

    /// Every id below this is over.
    pub fn oldest_running(&self) -> Xid {
        self.advance();
        Xid(self.floor.0.load(Ordering::Acquire))
    }

    /// How many sessions have a transaction that writes.
    pub fn writers(&self) -> usize {
        let writes = |slot: u64| slot != 0;
        self.slots.iter().filter(|(_, s)| writes(s.xid_bound.load(Ordering::Relaxed))).count()
    }

    /// What others see of a session's transaction: its id, and how many ids its subtransactions
    /// have. None if there is no such session.
    pub fn transaction_of(&self, pid: i32) -> Option<(Option<Xid>, u32)> {
        let is_it = |s: &crate::backend::Slot| {
            s.used.load(Ordering::Acquire) && s.pid.load(Ordering::Relaxed) == pid
        };
        let (_, slot) = self.slots.iter().find(|(_, s)| is_it(s))?;
        let xid = Some(Xid(slot.xid.load(Ordering::Relaxed))).filter(|x| x.is_valid());
        Some((xid, slot.subxids.load(Ordering::Relaxed)))
    }

    /// Holds the horizon at a position on behalf of `who` (a replication slot); `None` lets go.
    pub fn hold_horizon(&self, who: u64, at: Option<Lsn>) {
        let mut external = self.external.lock();
        external.retain(|(w, _)| *w != who);
        external.extend(at.map(|lsn| (who, lsn)));
    }

    /// Computes floor and horizon anew.
    fn advance(&self) {
        // In this order: who gets an id below `next`, or a snapshot below `last`, has announced
        // it before we look at the slots.
        let (mut floor, mut horizon);
        loop {
            let imports = self.imports.load(Ordering::SeqCst);
            horizon = self.published.last.load(Ordering::SeqCst);
            floor = self.next_xid.0.load(Ordering::SeqCst);
            protocol::order_scan();
            for (_, slot) in self.slots.iter() {
                match slot.xid_bound.load(Ordering::SeqCst) {
                    0 => {}
                    xid => floor = floor.min(xid),
                }
                match slot.snapshot.load(Ordering::SeqCst) {
                    0 => {}
                    lsn => horizon = horizon.min(lsn),
                }
            }
            if self.imports.load(Ordering::SeqCst) == imports {
                break;
            }
        }
        for (_, lsn) in self.external.lock().iter() {
            horizon = horizon.min(lsn.0);
        }
        // Ids are cleared after publication, so whoever reads this floor and then the last
        // published position gets one that covers all ids below the floor.
        self.floor.0.fetch_max(floor, Ordering::AcqRel);
        self.horizon_lsn.0.fetch_max(horizon, Ordering::AcqRel);
    }

    /// Frees memory of transactions that nobody can tell apart any more. For a background
    /// task, every second or so.
    pub fn maintain(&self) -> Result<()> {
        let horizon = self.horizon();
        self.rows.sweep(self);
        self.table.trim(horizon.xid, self.last_committed(), horizon.lsn)
    }

    /// Writes the commit log. The caller has chosen the redo pointer before. A failure stops
    /// the server: what could not be synced cannot be synced again.
    pub fn checkpoint(&self) -> Result<()> {
        let written = self.table.checkpoint();
        let written = written.and_then(|()| self.times.as_ref().map_or(Ok(()), |t| t.checkpoint()));
        written.inspect_err(|e| os::abort(&e.to_string()))
    }

    /// Whether times of commits are kept: `track_commit_timestamp`.
    pub fn keeps_times(&self) -> bool {
        self.times.is_some()
    }

    /// When a transaction committed, in microseconds since 1970; none if it has not, or that is
    /// not known any more.
    pub fn commit_time(&self, xid: Xid) -> Result<Option<i64>> {
        let Some(times) = &self.times else { return Ok(None) };
        if xid < Xid::FIRST_NORMAL || xid >= self.next_xid() {
            return Ok(None);
        }
        match self.status(xid)? {
            XidStatus::Committed(_) => times.get(xid),
            _ => Ok(None),
        }
    }

    /// The last transaction that committed since the start, and when.
    pub fn last_commit_time(&self) -> Option<(Xid, i64)> {
        self.times.as_ref().and_then(CommitTimes::last)
    }

    /// Forgets when transactions before this one committed.
    pub fn truncate_times(&self, oldest: Xid) -> Result<()> {
        self.times.as_ref().map_or(Ok(()), |t| t.truncate(oldest))
    }

    /// Forgets the commit log before this id: all of it is frozen.
    pub fn truncate_clog(&self, oldest: Xid) -> Result<()> {
        self.table.truncate(oldest)
    }

    /// Chunks of 32,768 transaction states held in memory.
    pub fn state_chunks(&self) -> usize {
        self.table.chunks()
    }

    // The protocol of commit: README.md, "Commit".

    /// Inserts the commit record and makes the transaction visible to later snapshots.
    pub(crate) fn commit_xids(&self, top: Xid, record: &XactRecord) -> Result<Lsn> {
        let bound = self.log.inserted().max(self.last_committed());
        for xid in record.subxids.iter().chain([&top]) {
            self.table.set(*xid, State::Committing(bound))?;
        }
        let noted = self.times.as_ref().map_or(Ok(()), |times| {
            times.set(record.subxids.iter().chain([&top]).copied(), record.time_micros)
        });
        // The words are out before space in the log is taken; whoever takes space after us and
        // publishes a larger position has them before its position.
        protocol::order_with_log();
        let result = noted.and_then(|()| self.log.insert(INFO_COMMIT, top, &record.encode()));
        protocol::order_with_log();
        let state = match &result {
            Ok(lsn) => State::Committed(*lsn),
            Err(_) => State::Aborted,
        };
        for xid in record.subxids.iter().chain([&top]) {
            self.table.set(*xid, state)?;
        }
        let lsn = result?;
        // The wish to be waited for first: who sees the commit sees it too.
        if !record.asynchronous {
            self.published.last_sync.fetch_max(lsn.0, Ordering::AcqRel);
        }
        protocol::publish(&self.published.last, lsn.0);
        if let Some(times) = &self.times {
            times.committed(top, record.time_micros);
        }
        Ok(lsn)
    }

    /// Marks transactions as aborted; logs it if `top` is given.
    pub(crate) fn abort_xids(&self, top: Option<Xid>, xids: &[Xid], time: i64) -> Result<()> {
        if let Some(top) = top {
            let subxids = xids.iter().copied().filter(|x| *x != top).collect();
            let record = XactRecord { time_micros: time, subxids, ..XactRecord::default() };
            // Recovery treats what has no record as aborted: nothing hangs on this one.
            let _ = self.log.insert(INFO_ABORT, top, &record.encode());
        }
        for xid in xids {
            self.table.set(*xid, State::Aborted)?;
        }
        Ok(())
    }

    /// Redo of a record of the transaction resource manager that ends at `end`. Gives the
    /// relations whose files have to go, and the engine's bytes.
    pub fn redo(
        &self,
        info: u8,
        top: Xid,
        data: &[u8],
        end: Lsn,
    ) -> Result<(Vec<RelFile>, Vec<u8>)> {
        let record = XactRecord::decode(data)?;
        let state = match info & 0xF0 {
            INFO_COMMIT => State::Committed(end),
            INFO_ABORT => State::Aborted,
            other => {
                base::bail!(DATA_CORRUPTED, "unknown transaction record type {other}");
            }
        };
        for xid in record.subxids.iter().chain([&top]) {
            self.observe_xid(*xid)?;
            self.table.set(*xid, state)?;
        }
        if let (Some(times), State::Committed(_)) = (&self.times, state) {
            times.set(record.subxids.iter().chain([&top]).copied(), record.time_micros)?;
            times.committed(top, record.time_micros);
        }
        self.published.last.fetch_max(end.0, Ordering::SeqCst);
        Ok((record.dropped, record.extra))
    }

    /// What a record of the transaction resource manager says, for `pg_waldump`.
    pub fn describe(info: u8, data: &[u8]) -> String {
        let name = if info & 0xF0 == INFO_COMMIT { "COMMIT" } else { "ABORT" };
        match XactRecord::decode(data) {
            Ok(r) => {
                let mut text = format!("{name} at {}", r.time_micros);
                if !r.subxids.is_empty() {
                    let ids: Vec<String> = r.subxids.iter().map(|x| x.to_string()).collect();
                    text += &format!("; subxacts: {}", ids.join(" "));
                }
                if !r.dropped.is_empty() {
                    let files: Vec<String> = r.dropped.iter().map(|f| f.to_string()).collect();
                    text += &format!("; rels: {}", files.join(" "));
                }
                text
            }
            Err(e) => e.message().to_string(),
        }
    }

    /// After redo, before the first session: what was running has not happened, and the log
    /// now ends at `end`.
    pub fn end_recovery(&self, end: Lsn) -> Result<()> {
        self.table.abort_unfinished(self.next_xid())?;
        self.published.last.fetch_max(end.0, Ordering::SeqCst);
        self.advance();
        Ok(())
    }
}
