//! All locks, for `pg_locks`.

use super::table::LockManager;
use super::{LockMode, LockTag};
use crate::manager::TxnManager;
use base::Xid;
use os::sync::atomic::Ordering;

/// A row of `pg_locks`.
#[derive(Clone, Debug)]
pub struct LockInfo {
    /// What the lock is on.
    pub tag: LockTag,
    /// The holder's virtual transaction: slot from 1, count.
    pub virtual_xid: (u32, u32),
    /// The holder's or waiter's process number.
    pub pid: i32,
    /// The mode.
    pub mode: LockMode,
    /// Held rather than waited for.
    pub granted: bool,
    /// Held on the fast path.
    pub fast_path: bool,
    /// Since when it is waited for, in microseconds since 1970.
    pub wait_start_micros: Option<i64>,
}

fn modes(bits: u16) -> impl Iterator<Item = LockMode> {
    LockMode::ALL.into_iter().filter(move |m| bits & m.bit() != 0)
}

impl LockManager {
    /// All locks held and waited for, with those that transactions hold on their own ids.
    pub fn list(&self, mgr: &TxnManager) -> Vec<LockInfo> {
        let mut all = Vec::new();
        let row = |proc: crate::ProcId, tag, mode, granted, fast_path| {
            let slot = mgr.slots.get(proc);
            let waiting = *slot.waiting.lock();
            LockInfo {
                tag,
                virtual_xid: (proc.0 + 1, slot.local_xid.load(Ordering::Relaxed)),
                pid: slot.pid.load(Ordering::Relaxed),
                mode,
                granted,
                fast_path,
                wait_start_micros: waiting.filter(|_| !granted).map(|w| w.since_micros),
            }
        };
        for (proc, slot) in mgr.slots.iter() {
            if !slot.used.load(Ordering::SeqCst) {
                continue;
            }
            let notes: Vec<_> = slot.fast.lock().iter().copied().collect();
            for (db, rel, bits) in notes {
                for mode in modes(bits) {
                    all.push(row(proc, LockTag::Relation { db, rel }, mode, true, true));
                }
            }
            let (id, local) = (proc.0 + 1, slot.local_xid.load(Ordering::Relaxed));
            if local != 0 && slot.in_transaction.load(Ordering::Relaxed) {
                let tag = LockTag::VirtualXid { proc: id, local };
                all.push(row(proc, tag, LockMode::Exclusive, true, true));
            }
            let xid = Xid(slot.xid.load(Ordering::SeqCst));
            if xid.is_valid() {
                let tag = LockTag::Transaction(xid);
                all.push(row(proc, tag, LockMode::Exclusive, true, false));
            }
        }
        for partition in &self.partitions {
            for (tag, lock) in partition.lock().iter() {
                for (proc, bits) in &lock.holders {
                    for mode in modes(*bits) {
                        all.push(row(*proc, *tag, mode, true, false));
                    }
                }
                for waiter in &lock.queue {
                    all.push(row(waiter.proc, *tag, waiter.mode, false, false));
                }
            }
        }
        all
    }
}
