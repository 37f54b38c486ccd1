//! Who sees which version. All of it reads a tuple under its page's latch; what was learnt about
//! transactions comes back as hint bits for the caller to set.

use super::page::{self, Bytes, Tuple};
use super::prune::Fate;
use crate::Storage;
use base::{BlockNo, CommandId, Lsn, Result, Tid, Xid};
use std::borrow::Cow;
use std::cell::Cell;
use txn::{Sees, Snapshot, XidStatus};

/// Which versions a reader wants.
#[derive(Clone, Copy)]
pub enum Sight<'a> {
    /// Those that the snapshot sees: the ordinary way.
    Mvcc(&'a Snapshot),
    /// Those that count as of now: committed by anyone, or made by the own transaction (the
    /// snapshot says which one that is) up to now.
    Now(&'a Snapshot),
    /// Whatever has not aborted: chunks of a long value, reached through a row that is seen.
    NotAborted,
    /// Every version.
    Any,
}

/// How many transactions a viewer remembers.
const MEMO: usize = 4;

/// Tuples of one page and the hint bits that were learnt about them.
pub type Hints = Vec<(u16, u16)>;

/// A reader: its sight, and what it remembers of the last transactions it met.
pub struct Viewer<'a> {
    storage: &'a Storage,
    sight: Sight<'a>,
    snapshot: Option<Cow<'a, Snapshot>>,
    /// Each at the place its id gives: most often the deleter of one version is the inserter of the
    /// next.
    memo: [Cell<(Xid, Sees)>; MEMO],
    flushed: Cell<Lsn>,
}

impl<'a> Viewer<'a> {
    /// A reader with this sight.
    pub fn new(storage: &'a Storage, sight: Sight<'a>) -> Viewer<'a> {
        let snapshot = match sight {
            Sight::Mvcc(s) => Some(Cow::Borrowed(s)),
            Sight::Now(s) => Some(Cow::Owned(as_of_now(s))),
            Sight::NotAborted | Sight::Any => None,
        };
        let memo = [const { Cell::new((Xid::INVALID, Sees::Aborted)) }; MEMO];
        Viewer { storage, sight, snapshot, memo, flushed: Cell::new(Lsn::INVALID) }
    }

    /// The reader that sees what the snapshot sees.
    pub fn mvcc(storage: &'a Storage, snapshot: &'a Snapshot) -> Viewer<'a> {
        Viewer::new(storage, Sight::Mvcc(snapshot))
    }

    /// Its sight.
    pub fn sight(&self) -> Sight<'a> {
        self.sight
    }

    /// Committed ids that the page stores as less than this one were over before the snapshot
    /// was made, if the viewer has a snapshot.
    pub fn limit(&self, page: &PageFacts) -> Option<u32> {
        let floor = self.snapshot.as_deref()?.floor;
        Some(floor.0.saturating_sub(page.base).min(u32::MAX as u64) as u32)
    }

    /// True if a hint about a commit at `lsn` may be set in a page whose LSN is `page_lsn`.
    fn may_hint(&self, lsn: Lsn, page_lsn: Lsn) -> bool {
        if lsn <= page_lsn || lsn <= self.flushed.get() {
            return true;
        }
        self.flushed.set(self.storage.wal.flushed());
        lsn <= self.flushed.get()
    }

    /// What the viewer makes of `xid`, an inserter (`slot` 0) or a deleter (1). `known` says
    /// that a hint bit tells it committed.
    #[inline]
    fn sees(
        &self,
        snapshot: &Snapshot,
        slot: usize,
        xid: Xid,
        known: bool,
        page: &PageFacts,
        hint: &mut u16,
    ) -> Result<Sees> {
        if known && xid < snapshot.floor {
            return Ok(Sees::Yes(Lsn::INVALID));
        }
        let place = &self.memo[xid.0 as usize % MEMO];
        let (memo, seen) = place.get();
        let seen = if memo == xid {
            seen
        } else {
            let seen = self.storage.txn.sees(snapshot, xid)?;
            if !matches!(seen, Sees::Own | Sees::Running) {
                place.set((xid, seen));
            }
            seen
        };
        match seen {
            Sees::Yes(lsn) if !known && self.may_hint(lsn, page.lsn) => {
                *hint |= if slot == 0 { page::XMIN_COMMITTED } else { page::XMAX_COMMITTED };
            }
            Sees::Aborted => {
                *hint |= if slot == 0 { page::XMIN_INVALID } else { page::XMAX_INVALID };
            }
            _ => {}
        }
        Ok(seen)
    }

    /// True if the viewer sees this version; what was learnt is added to `hint`.
    #[inline]
    pub fn sees_tuple(&self, t: Tuple<'_>, page: &PageFacts, hint: &mut u16) -> Result<bool> {
        let Some(snapshot) = self.snapshot.as_deref() else {
            return self.not_aborted(t);
        };
        let mask = t.mask();
        match mask & page::XMIN_FROZEN {
            page::XMIN_FROZEN => {}
            page::XMIN_INVALID => return Ok(false),
            known => {
                let xmin = page.xid(t.xmin_raw());
                match self.sees(snapshot, 0, xmin, known != 0, page, hint)? {
                    Sees::Yes(_) => {}
                    Sees::Own if cmin(t, snapshot) < snapshot.curcid => {}
                    _ => return Ok(false),
                }
            }
        }
        if t.no_deleter() {
            return Ok(true);
        }
        let xmax = page.xid(t.xmax_raw());
        let known = mask & page::XMAX_COMMITTED != 0;
        Ok(match self.sees(snapshot, 1, xmax, known, page, hint)? {
            Sees::Yes(_) => false,
            Sees::Own => cmax(t, snapshot) >= snapshot.curcid,
            _ => true,
        })
    }

    fn not_aborted(&self, t: Tuple<'_>) -> Result<bool> {
        if matches!(self.sight, Sight::Any) {
            return Ok(true);
        }
        Ok(match t.mask() & page::XMIN_FROZEN {
            // A stored value's chunks were inserted by whoever inserted the row that was seen,
            // or before: only what was taken back is out.
            0 => t.xmin_raw() != 0,
            page::XMIN_INVALID => false,
            _ => true,
        })
    }

    /// Finds the version of the row at `root` (a line pointer that an index entry names) that the
    /// viewer sees, going along its HOT chain.
    #[inline]
    pub fn search_chain(
        &self,
        bytes: &Bytes,
        block: BlockNo,
        root: u16,
        page: &PageFacts,
        hints: &mut Hints,
    ) -> Result<Option<u16>> {
        let mut walk = Chain::new(block, root);
        while let Some((off, t)) = walk.next(bytes) {
            let mut hint = 0;
            let seen = self.sees_tuple(t, page, &mut hint)?;
            if hint != 0 {
                hints.push((off, hint));
            }
            if seen {
                return Ok(Some(off));
            }
        }
        Ok(None)
    }
}

/// The same transaction's view of what is committed now, and of all it did itself.
fn as_of_now(s: &Snapshot) -> Snapshot {
    let mut now = s.with_curcid(CommandId(u32::MAX));
    now.lsn = Lsn::MAX;
    now
}

/// Goes along the HOT chain from a line pointer.
pub struct Chain {
    block: BlockNo,
    next: u16,
    first: bool,
    prior_xmax: u32,
    left: usize,
}

impl Chain {
    /// The chain whose root is `root` in page `block`.
    pub fn new(block: BlockNo, root: u16) -> Chain {
        Chain { block, next: root, first: true, prior_xmax: 0, left: page::MAX_TUPLES }
    }

    /// The next version, from old to new.
    pub fn next<'p>(&mut self, bytes: &'p Bytes) -> Option<(u16, Tuple<'p>)> {
        if self.next == 0 || self.left == 0 {
            return None;
        }
        self.left -= 1;
        let mut off = self.next;
        if self.first
            && let page::Line::Redirect(to) = page::line(bytes, off)
        {
            off = to;
        }
        let t = page::tuple(bytes, off)?;
        // A root that an index entry names is never heap-only; what follows always is.
        let redirected = off != self.next;
        if self.first {
            if t.heap_only() && !redirected {
                return None;
            }
        } else if !t.heap_only() || t.xmin_raw() != self.prior_xmax {
            return None;
        }
        self.first = false;
        self.prior_xmax = t.xmax_raw();
        let ctid = t.ctid();
        self.next = if t.hot_updated() && ctid.block == self.block { ctid.offset } else { 0 };
        Some((off, t))
    }
}

/// What a page says to judges of its tuples.
#[derive(Clone, Copy)]
pub struct PageFacts {
    /// Base of its transaction ids.
    pub base: u64,
    /// End of the last log record that changed it.
    pub lsn: Lsn,
}

impl PageFacts {
    /// The facts of this page.
    #[inline]
    pub fn of(bytes: &Bytes) -> PageFacts {
        PageFacts { base: page::xid_base(bytes), lsn: buffer::page_lsn(bytes) }
    }

    /// The full id that 32 bits stand for.
    #[inline]
    pub fn xid(&self, raw: u32) -> Xid {
        page::decode_xid(self.base, raw)
    }
}

/// The command that inserted an own tuple.
pub fn cmin(t: Tuple<'_>, own: &Snapshot) -> CommandId {
    if t.mask() & page::COMBO_CID != 0 { own.combo(t.cid()).0 } else { CommandId(t.cid()) }
}

/// The command that deleted a tuple that the own transaction deleted.
pub fn cmax(t: Tuple<'_>, own: &Snapshot) -> CommandId {
    if t.mask() & page::COMBO_CID != 0 { own.combo(t.cid()).1 } else { CommandId(t.cid()) }
}

/// What an updater, deleter or locker finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nobody is in the way.
    Free,
    /// The version never was, or is not there yet for this command.
    Invisible,
    /// The own transaction deleted or replaced it, with this command.
    SelfModified(CommandId),
    /// Replaced by a committed transaction; the new version is there.
    Updated(Tid),
    /// Deleted by a committed transaction.
    Deleted,
    /// Deleted by a committed transaction, and gone on in another partition.
    Moved,
    /// A transaction in progress has deleted or replaced it.
    Busy {
        /// Which one.
        xid: Xid,
        /// It deleted the row or changed a key column.
        keys: bool,
        /// Where its new version is; the tuple itself for a deletion.
        next: Tid,
    },
}

/// What stands in the way of changing the tuple at `tid`, for the own transaction and its command.
pub fn standing(
    storage: &Storage,
    own: &Snapshot,
    t: Tuple<'_>,
    tid: Tid,
    page: &PageFacts,
) -> Result<Standing> {
    let now = as_of_now(own);
    let mask = t.mask();
    match mask & page::XMIN_FROZEN {
        page::XMIN_INVALID => return Ok(Standing::Invisible),
        0 => match storage.txn.sees(&now, page.xid(t.xmin_raw()))? {
            Sees::Yes(_) => {}
            Sees::Own if cmin(t, own) < own.curcid => {}
            _ => return Ok(Standing::Invisible),
        },
        _ => {}
    }
    if t.no_deleter() {
        return Ok(Standing::Free);
    }
    let xmax = page.xid(t.xmax_raw());
    let next = t.ctid();
    Ok(match storage.txn.sees(&now, xmax)? {
        Sees::Own => match cmax(t, own) {
            cmax if cmax >= own.curcid => Standing::SelfModified(cmax),
            _ => Standing::Invisible,
        },
        Sees::Running | Sees::Later(_) => {
            Standing::Busy { xid: xmax, keys: t.mask2() & page::KEYS_UPDATED != 0, next }
        }
        Sees::Aborted => Standing::Free,
        Sees::Yes(_) if next.block.0 == page::MOVED_BLOCK => Standing::Moved,
        Sees::Yes(_) if next == tid => Standing::Deleted,
        Sees::Yes(_) => Standing::Updated(next),
    })
}

/// Judges tuples for pruning and vacuum: whether anybody could still see them.
pub struct Undertaker<'a> {
    storage: &'a Storage,
    /// What is committed up to here all snapshots see.
    horizon: Lsn,
    memo: [(Xid, XidStatus); 2],
    flushed: Lsn,
}

impl<'a> Undertaker<'a> {
    /// With the horizon that the transaction manager gives now.
    pub fn new(storage: &'a Storage, horizon: Lsn) -> Undertaker<'a> {
        let none = (Xid::INVALID, XidStatus::Aborted);
        Undertaker { storage, horizon, memo: [none; 2], flushed: storage.wal.flushed() }
    }

    fn status(&mut self, slot: usize, xid: Xid) -> Result<XidStatus> {
        if self.memo[slot].0 == xid {
            return Ok(self.memo[slot].1);
        }
        let status = self.storage.txn.status(xid)?;
        if !matches!(status, XidStatus::InProgress) {
            self.memo[slot] = (xid, status);
        }
        Ok(status)
    }

    /// What the tuple is to all, and hint bits.
    #[inline]
    pub fn fate(&mut self, t: Tuple<'_>, page: &PageFacts, hint: &mut u16) -> Result<Fate> {
        match t.mask() & page::XMIN_FROZEN {
            page::XMIN_INVALID => return Ok(Fate::Dead),
            0 => match self.status(0, page.xid(t.xmin_raw()))? {
                XidStatus::InProgress if t.no_deleter() => return Ok(Fate::Inserting),
                XidStatus::InProgress => return Ok(Fate::Deleting),
                XidStatus::Aborted => {
                    *hint |= page::XMIN_INVALID;
                    return Ok(Fate::Dead);
                }
                XidStatus::Committed(lsn) => {
                    if lsn <= self.flushed || lsn <= page.lsn {
                        *hint |= page::XMIN_COMMITTED;
                    }
                }
            },
            _ => {}
        }
        if t.no_deleter() {
            return Ok(Fate::Live);
        }
        Ok(match self.status(1, page.xid(t.xmax_raw()))? {
            XidStatus::InProgress => Fate::Deleting,
            XidStatus::Aborted => {
                *hint |= page::XMAX_INVALID;
                Fate::Live
            }
            XidStatus::Committed(lsn) => {
                if lsn <= self.flushed || lsn <= page.lsn {
                    *hint |= page::XMAX_COMMITTED;
                }
                // A dead tuple may go before its deleter's commit is flushed: the pruning record
                // comes after the commit record in the log.
                if lsn <= self.horizon { Fate::Dead } else { Fate::RecentlyDead }
            }
        })
    }

    /// True if every snapshot, now and later, sees what the tuple's inserter did.
    pub fn inserted_for_all(&mut self, t: Tuple<'_>, page: &PageFacts) -> Result<bool> {
        if t.frozen() {
            return Ok(true);
        }
        let status = self.status(0, page.xid(t.xmin_raw()))?;
        Ok(matches!(status, XidStatus::Committed(lsn) if lsn <= self.horizon))
    }
}

/// The line of the page from which index entries lead to the heap-only version at `offset`; the
/// version itself if there is none.
pub(super) fn chain_root(bytes: &Bytes, block: BlockNo, offset: u16) -> u16 {
    for root in 1..=page::max_offset(bytes) {
        let is_root = match page::line(bytes, root) {
            page::Line::Redirect(_) => true,
            page::Line::Normal { .. } => page::tuple(bytes, root).is_some_and(|t| !t.heap_only()),
            _ => false,
        };
        let mut chain = Chain::new(block, root);
        while is_root && let Some((member, _)) = chain.next(bytes) {
            if member == offset {
                return root;
            }
        }
    }
    offset
}
