//! Sessions as the transaction system knows them: a slot each, in an array that everybody can
//! scan. What a session changes all the time is on cache lines of its own.

use crate::combo::Combos;
use crate::interrupts::Interrupts;
use crate::lock::{FastPath, LocalLocks, Parked, Place, WaitInfo};
use crate::manager::TxnManager;
use crate::protocol;
use base::{Lsn, Oid, Result, Xid, bail};
use os::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering, fence};
use os::sync::{Mutex, MutexGuard};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// Number of a session's slot, from 0. Reused when the session ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcId(pub u32);

/// One session's slot. The alignment keeps neighbours' cache lines apart.
#[repr(align(128))]
pub(crate) struct Slot {
    /// Lower bound of the id its transaction has or is about to get; 0 is none.
    pub xid_bound: AtomicU64,
    /// The id its transaction has; 0 is none.
    pub xid: AtomicU64,
    /// No snapshot of it is older than this position; 0 is none.
    pub snapshot: AtomicU64,
    /// Somebody waits for its transaction.
    pub awaited: AtomicBool,
    pub used: AtomicBool,
    pub in_transaction: AtomicBool,
    /// How many ids its transaction's subtransactions have.
    pub subxids: AtomicU32,
    pub pid: AtomicI32,
    pub database: AtomicU32,
    /// Counts its transactions: the second half of a virtual transaction id.
    pub local_xid: AtomicU32,
    /// Strengthless relation locks, see `lock::fast`.
    pub fast: Mutex<FastPath>,
    /// What it waits for; changed only with the lock's partition held.
    pub waiting: Mutex<Option<WaitInfo>>,
    pub interrupts: Mutex<Arc<Interrupts>>,
}

impl Slot {
    fn new() -> Slot {
        Slot {
            xid_bound: AtomicU64::new(0),
            xid: AtomicU64::new(0),
            snapshot: AtomicU64::new(0),
            awaited: AtomicBool::new(false),
            used: AtomicBool::new(false),
            in_transaction: AtomicBool::new(false),
            subxids: AtomicU32::new(0),
            pid: AtomicI32::new(0),
            database: AtomicU32::new(0),
            local_xid: AtomicU32::new(0),
            fast: Mutex::new(FastPath::default()),
            waiting: Mutex::new(None),
            interrupts: Mutex::new(Arc::new(Interrupts::new())),
        }
    }
}

const CHUNK: usize = 64;

/// All slots. Memory comes as sessions do.
pub(crate) struct Slots {
    chunks: Box<[OnceLock<Box<[Slot]>>]>,
    /// Slots below this have been used at some time.
    high: AtomicU32,
    free: Mutex<Vec<u32>>,
    most: u32,
}

impl Slots {
    pub fn new(most: u32) -> Slots {
        let chunks = (most as usize).div_ceil(CHUNK);
        Slots {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
            high: AtomicU32::new(0),
            free: Mutex::new(Vec::new()),
            most,
        }
    }

    pub fn get(&self, id: ProcId) -> &Slot {
        let chunk = self.chunks[id.0 as usize / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| Slot::new()).collect());
        &chunk[id.0 as usize % CHUNK]
    }

    /// How many slots have been used.
    pub fn used(&self) -> u32 {
        self.high.load(Ordering::Relaxed)
    }

    /// The slots that have been used.
    pub fn iter(&self) -> impl Iterator<Item = (ProcId, &Slot)> {
        (0..self.high.load(Ordering::SeqCst)).map(|i| (ProcId(i), self.get(ProcId(i))))
    }

    fn take(&self) -> Option<ProcId> {
        let mut free = self.free.lock();
        if let Some(id) = free.pop() {
            return Some(ProcId(id));
        }
        let id = self.high.load(Ordering::SeqCst);
        if id >= self.most {
            return None;
        }
        self.get(ProcId(id));
        self.high.store(id + 1, Ordering::SeqCst);
        Some(ProcId(id))
    }

    fn give_back(&self, id: ProcId) {
        let mut free = self.free.lock();
        free.push(id.0);
        // Low numbers first, so that scans stay short.
        free.sort_unstable_by(|a, b| b.cmp(a));
    }
}

/// A session's place in the transaction system. It has at most one transaction at a time.
pub struct Backend {
    mgr: Arc<TxnManager>,
    id: ProcId,
    interrupts: Arc<Interrupts>,
    /// Positions of the snapshots that the session holds.
    held: Mutex<SmallVec<[u64; 8]>>,
    locks: Mutex<LocalLocks>,
    /// Pairs of command ids that rows of the running transaction name by number.
    pub(crate) combos: Mutex<Combos>,
    /// What the session's statement waits for since it has left its thread.
    parked: Mutex<Option<Parked>>,
    is_parked: AtomicBool,
    /// What it has of the row's queue.
    place: Mutex<Option<Place>>,
    has_place: AtomicBool,
}

impl TxnManager {
    /// A place for a session that clients know as process `pid`. It is given back when the
    /// last reference is dropped.
    pub fn register(
        self: &Arc<Self>,
        pid: i32,
        database: Oid,
        interrupts: Arc<Interrupts>,
    ) -> Result<Arc<Backend>> {
        let Some(id) = self.slots.take() else {
            bail!(TOO_MANY_CONNECTIONS, "sorry, too many clients already");
        };
        let slot = self.slots.get(id);
        slot.pid.store(pid, Ordering::Relaxed);
        slot.database.store(database.0, Ordering::Relaxed);
        *slot.interrupts.lock() = interrupts.clone();
        slot.used.store(true, Ordering::SeqCst);
        Ok(Arc::new(Backend {
            mgr: self.clone(),
            id,
            interrupts,
            held: Mutex::new(SmallVec::new()),
            locks: Mutex::new(LocalLocks::default()),
            combos: Mutex::new(Combos::default()),
            parked: Mutex::new(None),
            is_parked: AtomicBool::new(false),
            place: Mutex::new(None),
            has_place: AtomicBool::new(false),
        }))
    }
}

impl Backend {
    /// The transaction system.
    pub fn mgr(&self) -> &Arc<TxnManager> {
        &self.mgr
    }

    /// Has what the next transaction will need fetched into the processor's cache.
    pub fn approach(&self) {
        os::memory::prefetch_all(self.slot());
        os::memory::prefetch_all(&*self.interrupts);
        if let Some(local) = self.locks.try_lock() {
            os::memory::prefetch(local.near as *const u8);
        }
    }

    /// The session's slot.
    pub fn id(&self) -> ProcId {
        self.id
    }

    /// The number that clients know the session by.
    pub fn pid(&self) -> i32 {
        self.slot().pid.load(Ordering::Relaxed)
    }

    /// The database that the session is in.
    pub fn database(&self) -> Oid {
        Oid(self.slot().database.load(Ordering::Relaxed))
    }

    /// Sets what [`Backend::database`] returns.
    pub fn set_database(&self, database: Oid) {
        self.slot().database.store(database.0, Ordering::Relaxed);
    }

    /// The session's interrupts.
    pub fn interrupts(&self) -> &Arc<Interrupts> {
        &self.interrupts
    }

    /// The virtual transaction id, as in `pg_locks`: slot and count.
    pub fn virtual_xid(&self) -> (u32, u32) {
        (self.id.0 + 1, self.slot().local_xid.load(Ordering::Relaxed))
    }

    pub(crate) fn set_parked(&self, parked: Option<Parked>) {
        let is = parked.is_some();
        *self.parked.lock() = parked;
        self.is_parked.store(is, Ordering::Relaxed);
        self.interrupts.set_parked(is);
    }

    pub(crate) fn parked(&self) -> Option<Parked> {
        *self.parked.lock()
    }

    #[inline]
    pub(crate) fn take_parked(&self) -> Option<Parked> {
        if !self.is_parked.load(Ordering::Relaxed) {
            return None;
        }
        let parked = *self.parked.lock();
        self.set_parked(None);
        parked
    }

    pub(crate) fn set_place(&self, place: Option<Place>) {
        self.has_place.store(place.is_some(), Ordering::Relaxed);
        *self.place.lock() = place;
    }

    /// True if the statement that runs, or has just run, has kept a place in a row's queue.
    #[inline]
    pub fn has_row_place(&self) -> bool {
        self.has_place.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn take_place(&self) -> Option<Place> {
        if !self.has_row_place() {
            return None;
        }
        let place = *self.place.lock();
        self.set_place(None);
        place
    }

    pub(crate) fn slot(&self) -> &Slot {
        self.mgr.slots.get(self.id)
    }

    pub(crate) fn local_locks(&self) -> MutexGuard<'_, LocalLocks> {
        self.locks.lock()
    }

    /// Takes the position for a snapshot and holds back the horizon for it. The older position
    /// is announced first: a horizon computed by someone who has not seen the announcement is
    /// at most what `published` was before it, and so at most what is read after it.
    pub(crate) fn hold_snapshot(&self, published: impl Fn() -> Lsn) -> Lsn {
        let mut held = self.held.lock();
        let slot = self.slot();
        let lsn = match held.is_empty() {
            true => Lsn(protocol::announce(&slot.snapshot, || published().0)),
            false => published(),
        };
        held.push(lsn.0);
        lsn
    }

    /// Holds back the horizon for a snapshot that somebody else holds at this moment.
    pub(crate) fn hold_position(&self, lsn: Lsn) {
        let mut held = self.held.lock();
        let slot = self.slot();
        let announced = slot.snapshot.load(Ordering::Relaxed);
        if held.is_empty() || announced > lsn.0 {
            slot.snapshot.store(lsn.0.max(1), Ordering::SeqCst);
        }
        held.push(lsn.0);
    }

    pub(crate) fn release_snapshot(&self, lsn: Lsn) {
        let mut held = self.held.lock();
        if let Some(at) = held.iter().rposition(|l| *l == lsn.0) {
            held.swap_remove(at);
        }
        let oldest = held.iter().copied().min();
        // Release: who sees the slot empty sees what the snapshot's user did before.
        let slot = self.slot();
        match oldest {
            None => slot.snapshot.store(0, Ordering::Release),
            Some(lsn) if lsn > slot.snapshot.load(Ordering::Relaxed) => {
                slot.snapshot.store(lsn.max(1), Ordering::Release);
            }
            Some(_) => {}
        }
    }

    /// The transaction's id, announced before it is allocated so that no scan misses it.
    pub(crate) fn begin_xid(&self, allocate: impl FnOnce() -> Result<Xid>) -> Result<Xid> {
        let slot = self.slot();
        slot.xid_bound.store(self.mgr.next_xid().0, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let result = allocate();
        match &result {
            Ok(xid) => {
                slot.xid_bound.store(xid.0, Ordering::SeqCst);
                slot.xid.store(xid.0, Ordering::SeqCst);
            }
            Err(_) => slot.xid_bound.store(0, Ordering::SeqCst),
        }
        result
    }

    pub(crate) fn end_xid(&self) {
        let slot = self.slot();
        slot.xid.store(0, Ordering::SeqCst);
        slot.xid_bound.store(0, Ordering::SeqCst);
        slot.awaited.store(false, Ordering::SeqCst);
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.abandon_wait();
        self.mgr.locks().release_all(self);
        let slot = self.slot();
        slot.used.store(false, Ordering::SeqCst);
        slot.xid.store(0, Ordering::SeqCst);
        slot.xid_bound.store(0, Ordering::SeqCst);
        slot.snapshot.store(0, Ordering::SeqCst);
        slot.awaited.store(false, Ordering::SeqCst);
        slot.pid.store(0, Ordering::SeqCst);
        self.mgr.slots.give_back(self.id);
    }
}
