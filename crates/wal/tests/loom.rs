//! Model of reservation and publication:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p wal --test loom`.
#![cfg(loom)]

use base::Lsn;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use wal::Slots;

const START: u64 = 64;

struct Log {
    slots: Slots,
    /// One cell for each eight bytes behind START; loom finds unordered access to them.
    cells: Vec<UnsafeCell<u64>>,
}

fn log(slots: usize) -> Arc<Log> {
    let cells = (0..4).map(|_| UnsafeCell::new(0)).collect();
    Arc::new(Log { slots: Slots::new(slots, Lsn(START), Lsn(START)), cells })
}

fn insert(log: &Log, hint: usize) {
    let slot = log.slots.acquire(hint);
    let (epoch, _) = log.slots.epoch();
    let start = log.slots.reserve(slot, epoch, 8, u64::MAX >> 1).expect("no checkpoint here");
    log.cells[(start - START) as usize / 8].with_mut(|c| unsafe { *c = start });
    log.slots.release(slot);
}

fn check_published(log: &Log) -> u64 {
    let end = log.slots.published().0;
    for at in (START..end).step_by(8) {
        log.cells[(at - START) as usize / 8].with(|c| assert_eq!(unsafe { *c }, at));
    }
    end
}

#[test]
fn published_is_copied() {
    loom::model(|| {
        let log = log(2);
        let threads: Vec<_> = (0..2)
            .map(|i| {
                let log = log.clone();
                thread::spawn(move || insert(&log, i))
            })
            .collect();
        check_published(&log);
        for t in threads {
            t.join().unwrap();
        }
        assert_eq!(check_published(&log), START + 16);
    });
}

#[test]
fn inserters_share_a_slot() {
    loom::model(|| {
        let log = log(1);
        let other = log.clone();
        let t = thread::spawn(move || insert(&other, 0));
        insert(&log, 0);
        check_published(&log);
        t.join().unwrap();
        assert_eq!(check_published(&log), START + 16);
    });
}

/// A record behind the redo pointer was decided on by that redo pointer.
#[test]
fn images_are_decided_by_the_right_redo_pointer() {
    loom::model(|| {
        let log = log(2);
        let threads: Vec<_> = (0..2)
            .map(|i| {
                let log = log.clone();
                thread::spawn(move || {
                    let slot = log.slots.acquire(i);
                    let (start, redo) = loop {
                        let (epoch, redo) = log.slots.epoch();
                        if let Ok(start) = log.slots.reserve(slot, epoch, 8, u64::MAX >> 1) {
                            break (start, redo);
                        }
                    };
                    log.slots.release(slot);
                    (start, redo)
                })
            })
            .collect();
        let redo = log.slots.advance_redo();
        for t in threads {
            let (start, decided_by) = t.join().unwrap();
            let expected = if start >= redo.0 { redo } else { Lsn(START) };
            assert!(decided_by == expected || redo.0 == START);
        }
    });
}
