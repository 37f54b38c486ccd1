//! Who sees which version. All of it reads a tuple under its page's latch; what was learnt about
//! transactions comes back as hint bits for the caller to set.

use super::page::{self, Bytes, Tuple};
use super::prune::Fate;
use crate::Storage;
use base::{BlockNo, CommandId, Lsn, Tid, Xid};
use std::cell::Cell;
use txn::{Snapshot, XidStatus};

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

/// Tuples of one page and the hint bits that were learnt about them.
pub type Hints = Vec<(u16, u16)>;

/// A reader: its sight, and what it remembers of the last transactions it met.
pub struct Viewer<'a> {
    storage: &'a Storage,
    sight: Sight<'a>,
    memo: [Cell<(Xid, XidStatus)>; 2],
    flushed: Cell<Lsn>,
}

/// What a transaction's fate means to a viewer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Yes,
    No,
    /// In progress.
    Pending,
    Aborted,
}

impl<'a> Viewer<'a> {
    /// A reader with this sight.
    pub fn new(storage: &'a Storage, sight: Sight<'a>) -> Viewer<'a> {
        let none = (Xid::INVALID, XidStatus::Aborted);
        Viewer {
            storage,
            sight,
            memo: [Cell::new(none), Cell::new(none)],
            flushed: Cell::new(Lsn::INVALID),
        }
    }

    /// The reader that sees what the snapshot sees.
    pub fn mvcc(storage: &'a Storage, snapshot: &'a Snapshot) -> Viewer<'a> {
        Viewer::new(storage, Sight::Mvcc(snapshot))
    }

    /// Its sight.
    pub fn sight(&self) -> Sight<'a> {
        self.sight
    }

    /// True if every tuple of an all-visible page is seen.
    pub fn trusts_all_visible(&self) -> bool {
        true
    }

    /// What became of a transaction; what is final is remembered.
    fn status(&self, slot: usize, xid: Xid) -> XidStatus {
        let (known, status) = self.memo[slot].get();
        if known == xid {
            return status;
        }
        let status = self.storage.txn.status(xid);
        if !matches!(status, XidStatus::InProgress) {
            self.memo[slot].set((xid, status));
        }
        status
    }

    /// True if a hint about a commit at `lsn` may be set in a page whose LSN is `page_lsn`.
    fn may_hint(&self, lsn: Lsn, page_lsn: Lsn) -> bool {
        if lsn <= page_lsn || lsn <= self.flushed.get() {
            return true;
        }
        self.flushed.set(self.storage.wal.flushed());
        lsn <= self.flushed.get()
    }

    /// Whether the viewer sees what `xid` did. `known` says that a hint bit tells it committed.
    fn sees(&self, slot: usize, xid: Xid, known: bool, page: &PageFacts, hint: &mut u16) -> Seen {
        let (committed, aborted) = match slot {
            0 => (page::XMIN_COMMITTED, page::XMIN_INVALID),
            _ => (page::XMAX_COMMITTED, page::XMAX_INVALID),
        };
        let snapshot = match self.sight {
            Sight::Mvcc(s) => Some(s),
            _ => None,
        };
        if known {
            match snapshot {
                None => return Seen::Yes,
                Some(s) if s.surely_sees(xid) => return Seen::Yes,
                _ => {}
            }
        }
        match self.status(slot, xid) {
            XidStatus::InProgress => Seen::Pending,
            XidStatus::Aborted => {
                *hint |= aborted;
                Seen::Aborted
            }
            XidStatus::Committed(lsn) => {
                if !known && self.may_hint(lsn, page.lsn) {
                    *hint |= committed;
                }
                match snapshot {
                    Some(s) if lsn > s.lsn => Seen::No,
                    _ => Seen::Yes,
                }
            }
        }
    }

    /// True if the viewer sees this version; what was learnt is added to `hint`.
    pub fn sees_tuple(&self, t: Tuple<'_>, page: &PageFacts, hint: &mut u16) -> bool {
        let (own, curcid) = match self.sight {
            Sight::Any => return true,
            Sight::NotAborted => return self.not_aborted(t, page, hint),
            Sight::Mvcc(s) => (s, s.curcid),
            Sight::Now(s) => (s, CommandId(u32::MAX)),
        };
        let mask = t.mask();
        match mask & page::XMIN_FROZEN {
            page::XMIN_FROZEN => {}
            page::XMIN_INVALID => return false,
            known => {
                let xmin = page.xid(t.xmin_raw());
                if known == 0 && own.is_own(xmin) {
                    if cmin(t, own) >= curcid {
                        return false;
                    }
                } else if self.sees(0, xmin, known != 0, page, hint) != Seen::Yes {
                    return false;
                }
            }
        }
        if t.no_deleter() {
            return true;
        }
        let xmax = page.xid(t.xmax_raw());
        if own.is_own(xmax) {
            return cmax(t, own) >= curcid;
        }
        self.sees(1, xmax, mask & page::XMAX_COMMITTED != 0, page, hint) != Seen::Yes
    }

    fn not_aborted(&self, t: Tuple<'_>, page: &PageFacts, hint: &mut u16) -> bool {
        match t.mask() & page::XMIN_FROZEN {
            0 => self.sees(0, page.xid(t.xmin_raw()), false, page, hint) != Seen::Aborted,
            page::XMIN_INVALID => false,
            _ => true,
        }
    }

    /// Finds the version of the row at `root` (a line pointer that an index entry names) that the
    /// viewer sees, going along its HOT chain.
    pub fn search_chain(
        &self,
        bytes: &Bytes,
        block: BlockNo,
        root: u16,
        page: &PageFacts,
        hints: &mut Hints,
    ) -> Option<u16> {
        let mut walk = Chain::new(block, root);
        while let Some((off, t)) = walk.next(bytes) {
            let mut hint = 0;
            let seen = self.sees_tuple(t, page, &mut hint);
            if hint != 0 {
                hints.push((off, hint));
            }
            if seen {
                return Some(off);
            }
        }
        None
    }
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
) -> Standing {
    let mask = t.mask();
    match mask & page::XMIN_FROZEN {
        page::XMIN_INVALID => return Standing::Invisible,
        0 => {
            let xmin = page.xid(t.xmin_raw());
            if own.is_own(xmin) {
                if cmin(t, own) >= own.curcid {
                    return Standing::Invisible;
                }
            } else if !matches!(storage.txn.status(xmin), XidStatus::Committed(_)) {
                return Standing::Invisible;
            }
        }
        _ => {}
    }
    if t.no_deleter() {
        return Standing::Free;
    }
    let xmax = page.xid(t.xmax_raw());
    if own.is_own(xmax) {
        let cmax = cmax(t, own);
        return if cmax >= own.curcid { Standing::SelfModified(cmax) } else { Standing::Invisible };
    }
    let next = t.ctid();
    match storage.txn.status(xmax) {
        XidStatus::InProgress => {
            Standing::Busy { xid: xmax, keys: t.mask2() & page::KEYS_UPDATED != 0, next }
        }
        XidStatus::Aborted => Standing::Free,
        XidStatus::Committed(_) if next.block.0 == page::MOVED_BLOCK => Standing::Moved,
        XidStatus::Committed(_) if next == tid => Standing::Deleted,
        XidStatus::Committed(_) => Standing::Updated(next),
    }
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

    fn status(&mut self, slot: usize, xid: Xid) -> XidStatus {
        if self.memo[slot].0 == xid {
            return self.memo[slot].1;
        }
        let status = self.storage.txn.status(xid);
        if !matches!(status, XidStatus::InProgress) {
            self.memo[slot] = (xid, status);
        }
        status
    }

    /// What the tuple is to all, and hint bits.
    pub fn fate(&mut self, t: Tuple<'_>, page: &PageFacts, hint: &mut u16) -> Fate {
        let mask = t.mask();
        match mask & page::XMIN_FROZEN {
            page::XMIN_INVALID => return Fate::Dead,
            0 => match self.status(0, page.xid(t.xmin_raw())) {
                XidStatus::InProgress if t.no_deleter() => return Fate::Inserting,
                XidStatus::InProgress => return Fate::Deleting,
                XidStatus::Aborted => {
                    *hint |= page::XMIN_INVALID;
                    return Fate::Dead;
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
            return Fate::Live;
        }
        match self.status(1, page.xid(t.xmax_raw())) {
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
        }
    }

    /// True if every snapshot, now and later, sees what the tuple's inserter did.
    pub fn inserted_for_all(&mut self, t: Tuple<'_>, page: &PageFacts) -> bool {
        if t.frozen() {
            return true;
        }
        let status = self.status(0, page.xid(t.xmin_raw()));
        matches!(status, XidStatus::Committed(lsn) if lsn <= self.horizon)
    }
}
