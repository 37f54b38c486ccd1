//! The two races that snapshots have to win, as small as they can be, so that loom can try all
//! orders. README.md says why they are right.

use os::sync::atomic::{AtomicU64, Ordering, fence};

/// Publishes that a commit whose record ends at `lsn` is settled: later snapshots see it.
pub(crate) fn publish(last: &AtomicU64, lsn: u64) {
    last.fetch_max(lsn, Ordering::AcqRel);
}

/// Between marking a transaction as committing and taking space in the log, and between the
/// space and what follows. The first makes the mark travel with the taken space: whoever takes
/// space later, and so gets a larger position, has the mark before anything it publishes.
pub(crate) fn order_with_log() {
    fence(Ordering::SeqCst);
}

/// Takes a position for a snapshot, having announced one that is not larger in `slot`. A scan
/// that misses the announcement has read `published` before us, so its horizon is at most what
/// we read then.
pub(crate) fn announce(slot: &AtomicU64, published: impl Fn() -> u64) -> u64 {
    slot.store(published().max(1), Ordering::Release);
    fence(Ordering::SeqCst);
    published()
}

/// Between reading what is published and looking at the announcements.
pub(crate) fn order_scan() {
    fence(Ordering::SeqCst);
}

/// Exhaustive models: `RUSTFLAGS="--cfg loom" cargo test -p txn --lib models`.
#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::xid_table::State;
    use base::Lsn;
    use loom::sync::Arc;
    use loom::thread;

    struct World {
        /// The log's end: space is taken by adding to it, as weakly ordered as can be.
        log: AtomicU64,
        last: AtomicU64,
        words: [AtomicU64; 2],
        slot: AtomicU64,
    }

    fn world() -> Arc<World> {
        Arc::new(World {
            log: AtomicU64::new(10),
            last: AtomicU64::new(10),
            words: [AtomicU64::new(0), AtomicU64::new(0)],
            slot: AtomicU64::new(0),
        })
    }

    impl World {
        fn commit(&self, at: usize) -> u64 {
            let bound = self.log.load(Ordering::Relaxed);
            self.words[at].store(State::Committing(Lsn(bound)).encode(), Ordering::Release);
            order_with_log();
            let lsn = self.log.fetch_add(10, Ordering::Relaxed) + 10;
            order_with_log();
            self.words[at].store(State::Committed(Lsn(lsn)).encode(), Ordering::Release);
            publish(&self.last, lsn);
            lsn
        }

        fn sees(&self, snapshot: u64, at: usize) -> bool {
            loop {
                match State::decode(self.words[at].load(Ordering::Acquire)) {
                    State::Committed(lsn) => return lsn.0 <= snapshot,
                    State::Committing(bound) if snapshot > bound.0 => thread::yield_now(),
                    _ => return false,
                }
            }
        }
    }

    /// What a snapshot says of a transaction is what its position says, at whatever moment it
    /// is asked.
    #[test]
    fn a_snapshot_does_not_change_its_mind() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let w = world();
            let committers: Vec<_> = (0..2)
                .map(|at| {
                    let w = w.clone();
                    thread::spawn(move || w.commit(at))
                })
                .collect();
            let snapshot = w.last.load(Ordering::Acquire);
            let seen = [w.sees(snapshot, 0), w.sees(snapshot, 1)];
            for (at, committer) in committers.into_iter().enumerate() {
                let lsn = committer.join().unwrap();
                assert_eq!(seen[at], lsn <= snapshot);
            }
        });
    }

    /// A horizon never passes a snapshot that is held.
    #[test]
    fn no_scan_passes_a_snapshot() {
        loom::model(|| {
            let w = world();
            let committer = {
                let w = w.clone();
                thread::spawn(move || {
                    publish(&w.last, 20);
                    publish(&w.last, 30);
                })
            };
            let scanner = {
                let w = w.clone();
                thread::spawn(move || {
                    let last = w.last.load(Ordering::Acquire);
                    order_scan();
                    match w.slot.load(Ordering::Acquire) {
                        0 => last,
                        announced => last.min(announced),
                    }
                })
            };
            let snapshot = announce(&w.slot, || w.last.load(Ordering::Acquire));
            assert!(scanner.join().unwrap() <= snapshot);
            committer.join().unwrap();
        });
    }
}
