//! What became of each transaction: an array indexed by its id, in chunks, for all that any
//! snapshot may still have to tell apart; behind it, the commit log on disk. README.md has the
//! protocol of the words.

use crate::backend::ProcId;
use crate::clog::{Bits, Clog, XIDS_PER_PAGE, get_bits, set_bits};
use base::{Error, Lsn, PAGE_SIZE, Result, Xid};
use os::sync::Mutex;
use os::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, fence};
use std::ptr;

/// A transaction's word, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Runs in this session; `None`: not known to run.
    InProgress(Option<ProcId>),
    /// Its commit record is being inserted and will end behind this position.
    Committing(Lsn),
    /// Its commit record ends here.
    Committed(Lsn),
    Aborted,
}

impl State {
    pub(crate) fn encode(self) -> u64 {
        match self {
            State::InProgress(None) => 0,
            State::InProgress(Some(proc)) => (proc.0 as u64 + 1) << 2,
            State::Committing(lsn) => lsn.0 << 2 | 1,
            State::Aborted => 2,
            State::Committed(lsn) => lsn.0 << 2 | 3,
        }
    }

    pub(crate) fn decode(word: u64) -> State {
        match word & 3 {
            0 => State::InProgress((word >> 2).checked_sub(1).map(|p| ProcId(p as u32))),
            1 => State::Committing(Lsn(word >> 2)),
            2 => State::Aborted,
            _ => State::Committed(Lsn(word >> 2)),
        }
    }
}

/// What commits before the oldest snapshot are said to have ended at.
pub(crate) const LONG_AGO: Lsn = Lsn(1);

const CHUNK: u64 = XIDS_PER_PAGE;
const RING: usize = 1 << 14;
const NO_CHUNK: u64 = u64::MAX;

struct Chunk {
    /// Which chunk this memory is at present. Memory is reused, never freed, while the table
    /// lives, so a reader that was overtaken reads some word and then finds another number.
    number: AtomicU64,
    /// Changed since the last checkpoint wrote it.
    dirty: AtomicBool,
    words: Box<[AtomicU64]>,
}

/// The table.
pub(crate) struct XidTable {
    ring: Box<[AtomicPtr<Chunk>]>,
    clog: Clog,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Chunks in the ring, oldest first, with the log position at which all in it were over.
    present: std::collections::BTreeMap<u64, Option<Lsn>>,
    spare: Vec<*mut Chunk>,
}

// SAFETY: the pointers are to chunks that the table owns; chunks are Sync.
unsafe impl Send for Inner {}

fn place(xid: Xid) -> (u64, usize) {
    (xid.0 / CHUNK, (xid.0 % CHUNK) as usize)
}

impl XidTable {
    pub fn new(clog: Clog) -> XidTable {
        XidTable {
            ring: (0..RING).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            clog,
            inner: Mutex::new(Inner::default()),
        }
    }

    fn chunk(&self, number: u64) -> Option<&Chunk> {
        let chunk = self.ring[number as usize % RING].load(Ordering::Acquire);
        // SAFETY: what the ring points to is freed only when the table is dropped.
        let chunk = unsafe { chunk.as_ref() }?;
        (chunk.number.load(Ordering::Acquire) == number).then_some(chunk)
    }

    /// The state of a transaction whose chunk is in memory.
    #[inline]
    fn recent(&self, xid: Xid) -> Option<State> {
        let (number, at) = place(xid);
        let chunk = self.chunk(number)?;
        let word = chunk.words[at].load(Ordering::Acquire);
        fence(Ordering::Acquire);
        // Another number by now: the word may have been another transaction's.
        (chunk.number.load(Ordering::Relaxed) == number).then(|| State::decode(word))
    }

    /// The state of a transaction.
    #[inline]
    pub fn get(&self, xid: Xid) -> Result<State> {
        match self.recent(xid) {
            Some(state) => Ok(state),
            None => self.old(xid),
        }
    }

    #[cold]
    fn old(&self, xid: Xid) -> Result<State> {
        if xid < Xid::FIRST_NORMAL {
            return Ok(State::Committed(LONG_AGO));
        }
        let (number, at) = place(xid);
        Ok(match get_bits(&*self.clog.read(number)?, at) {
            Bits::Committed => State::Committed(LONG_AGO),
            Bits::Aborted => State::Aborted,
            // It is not in memory, so it does not run: it was running when the server died.
            Bits::InProgress => State::Aborted,
        })
    }

    /// The chunk with this transaction, brought into memory if need be.
    fn made(&self, number: u64) -> Result<&Chunk> {
        if let Some(chunk) = self.chunk(number) {
            return Ok(chunk);
        }
        let mut inner = self.inner.lock();
        if let Some(chunk) = self.chunk(number) {
            return Ok(chunk);
        }
        let slot = &self.ring[number as usize % RING];
        if !slot.load(Ordering::Acquire).is_null() {
            return Err(Error::new(
                base::SqlState::OUT_OF_MEMORY,
                "too many transactions since the oldest snapshot",
            ));
        }
        let page = self.clog.read(number)?;
        let raw = inner.spare.pop().unwrap_or_else(|| {
            Box::into_raw(Box::new(Chunk {
                number: AtomicU64::new(NO_CHUNK),
                dirty: AtomicBool::new(false),
                words: (0..CHUNK).map(|_| AtomicU64::new(0)).collect(),
            }))
        });
        // SAFETY: spare chunks are valid and freed only with the table.
        let chunk = unsafe { &*raw };
        for (at, word) in chunk.words.iter().enumerate() {
            let state = match get_bits(&page, at) {
                Bits::Committed => State::Committed(LONG_AGO),
                Bits::Aborted => State::Aborted,
                Bits::InProgress => State::InProgress(None),
            };
            word.store(state.encode(), Ordering::Relaxed);
        }
        chunk.dirty.store(false, Ordering::Relaxed);
        chunk.number.store(number, Ordering::Release);
        slot.store(raw, Ordering::Release);
        inner.present.insert(number, None);
        Ok(chunk)
    }

    /// Sets a transaction's state. To be called with `Committing` before the commit record is
    /// inserted: that also marks the chunk for the next checkpoint.
    pub fn set(&self, xid: Xid, state: State) -> Result<()> {
        let (number, at) = place(xid);
        let chunk = self.made(number)?;
        chunk.words[at].store(state.encode(), Ordering::SeqCst);
        if !matches!(state, State::InProgress(_)) && !chunk.dirty.load(Ordering::SeqCst) {
            chunk.dirty.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Brings the chunk of a transaction into memory, so that an unknown one counts as running.
    pub fn ensure(&self, xid: Xid) -> Result<()> {
        self.made(place(xid).0).map(drop)
    }

    /// After recovery: what was running when the server died has not happened.
    pub fn abort_unfinished(&self, next: Xid) -> Result<()> {
        let numbers: Vec<u64> = self.inner.lock().present.keys().copied().collect();
        for number in numbers {
            let Some(chunk) = self.chunk(number) else { continue };
            for (at, word) in chunk.words.iter().enumerate() {
                let xid = Xid(number * CHUNK + at as u64);
                let unknown = State::InProgress(None).encode();
                if xid >= Xid::FIRST_NORMAL && xid < next && word.load(Ordering::Relaxed) == unknown
                {
                    self.set(xid, State::Aborted)?;
                }
            }
        }
        Ok(())
    }

    /// Writes what has changed since the last checkpoint and syncs it. The caller has chosen
    /// the redo pointer before: a commit record before it belongs to a transaction that was
    /// at least committing then, and its chunk marked.
    pub fn checkpoint(&self) -> Result<()> {
        let numbers: Vec<u64> = self.inner.lock().present.keys().copied().collect();
        for number in numbers {
            if let Some(chunk) = self.chunk(number)
                && chunk.dirty.swap(false, Ordering::SeqCst)
            {
                self.write_chunk(chunk, number)?;
            }
        }
        self.clog.sync()
    }

    fn write_chunk(&self, chunk: &Chunk, number: u64) -> Result<()> {
        let mut page = [0; PAGE_SIZE];
        for (at, word) in chunk.words.iter().enumerate() {
            let mut spins = 0;
            let bits = loop {
                match State::decode(word.load(Ordering::SeqCst)) {
                    State::InProgress(_) => break Bits::InProgress,
                    State::Aborted => break Bits::Aborted,
                    State::Committed(_) => break Bits::Committed,
                    State::Committing(_) => back_off(&mut spins),
                }
            };
            set_bits(&mut page, at, bits);
        }
        self.clog.write(number, &page)
    }

    /// Gives memory back: chunks in which all is over (every id is below `running`) and that
    /// all snapshots agree on (`horizon` has passed the log position where that was noticed,
    /// `now`).
    pub fn trim(&self, running: Xid, now: Lsn, horizon: Lsn) -> Result<()> {
        let mut inner = self.inner.lock();
        let mut gone = Vec::new();
        for (number, over_at) in &mut inner.present {
            if (number + 1) * CHUNK > running.0 {
                break;
            }
            let over_at = *over_at.get_or_insert(now);
            if horizon >= over_at {
                gone.push(*number);
            }
        }
        for number in gone {
            let Some(chunk) = self.chunk(number) else { continue };
            if chunk.dirty.load(Ordering::SeqCst) {
                // Not synced here; the next checkpoint syncs what it finds written.
                self.write_chunk(chunk, number)?;
                chunk.dirty.store(false, Ordering::SeqCst);
            }
            let slot = &self.ring[number as usize % RING];
            let raw = slot.swap(ptr::null_mut(), Ordering::AcqRel);
            chunk.number.store(NO_CHUNK, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            inner.present.remove(&number);
            inner.spare.push(raw);
        }
        Ok(())
    }

    /// Forgets transactions before this one; nothing refers to them any more.
    pub fn truncate(&self, oldest: Xid) -> Result<()> {
        self.clog.truncate(oldest.0 / CHUNK)
    }

    /// Chunks in memory.
    pub fn chunks(&self) -> usize {
        self.inner.lock().present.len()
    }
}

impl Drop for XidTable {
    fn drop(&mut self) {
        let mut all = std::mem::take(&mut self.inner.get_mut().spare);
        all.extend(self.ring.iter().map(|slot| slot.load(Ordering::Relaxed)));
        for raw in all.into_iter().filter(|raw| !raw.is_null()) {
            // SAFETY: each chunk came from Box::into_raw and is in the ring or spare, not both.
            drop(unsafe { Box::from_raw(raw) });
        }
    }
}

/// Waits a little for another thread that is about to be done.
#[cold]
pub(crate) fn back_off(spins: &mut u32) {
    *spins += 1;
    if *spins < 64 {
        os::sync::spin_hint();
    } else {
        os::thread::yield_now();
    }
}
