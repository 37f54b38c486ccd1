//! Heavyweight locks and row locks: exclusion, queues, deadlocks, timeouts, savepoints.

mod common;

use base::{Error, Oid, SqlState, Tid};
use common::{World, rel, seeded, spawn, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use txn::{
    CommitData, Isolation, LockMode, LockOutcome, LockTag, RowKey, RowStrength, Txn, TxnManager,
    Wait,
};

fn waits(mgr: &Arc<TxnManager>, pid: i32) -> bool {
    mgr.locks().list(mgr).iter().any(|l| l.pid == pid && !l.granted)
}

fn row(n: u16) -> RowKey {
    RowKey { db: Oid(5), rel: Oid(700), tid: Tid::new(0, n) }
}

#[test]
fn modes_are_counted_and_go_with_the_transaction() {
    let world = World::new();
    let (a, b) = (world.begin(1), world.begin(2));
    assert_eq!(a.lock(rel(9), LockMode::AccessShare).unwrap(), LockOutcome::Granted);
    assert_eq!(a.lock(rel(9), LockMode::AccessShare).unwrap(), LockOutcome::AlreadyHeld);
    assert_eq!(b.lock(rel(9), LockMode::RowExclusive).unwrap(), LockOutcome::Granted);
    let listed = world.mgr.locks().list(&world.mgr);
    assert!(listed.iter().any(|l| l.pid == 1 && l.fast_path && l.tag == rel(9)));
    let exclusive = LockMode::AccessExclusive;
    assert_eq!(b.try_lock(rel(9), exclusive).unwrap(), LockOutcome::NotAvailable);
    assert!(a.unlock(rel(9), LockMode::AccessShare));
    assert_eq!(b.try_lock(rel(9), exclusive).unwrap(), LockOutcome::NotAvailable);
    assert!(a.unlock(rel(9), LockMode::AccessShare));
    assert!(!a.unlock(rel(9), LockMode::AccessShare));
    assert_eq!(b.try_lock(rel(9), exclusive).unwrap(), LockOutcome::Granted);
    assert!(b.holds_lock(rel(9), LockMode::Share));
    assert_eq!(a.try_lock(rel(9), LockMode::AccessShare).unwrap(), LockOutcome::NotAvailable);
    b.abort().unwrap();
    assert!(a.try_lock(rel(9), exclusive).unwrap().is_held());
    a.abort().unwrap();
    assert!(world.mgr.locks().list(&world.mgr).is_empty());
}

#[test]
fn savepoints_and_sessions_own_their_locks() {
    let world = World::new();
    let (a, b) = (world.begin(1), world.begin(2));
    let advisory = LockTag::Advisory { db: Oid(5), key1: 0, key2: 7, kind: 1 };
    let x = LockMode::Exclusive;
    a.push_sub();
    a.lock(rel(1), x).unwrap();
    a.push_sub();
    a.lock(rel(2), x).unwrap();
    a.commit_sub().unwrap();
    assert!(!b.try_lock(rel(2), x).unwrap().is_held());
    a.abort_sub().unwrap();
    assert!(b.try_lock(rel(1), x).unwrap().is_held());
    assert!(b.try_lock(rel(2), x).unwrap().is_held());
    for _ in 0..2 {
        a.backend().lock_session(advisory, x, Wait::Block).unwrap();
    }
    a.lock(advisory, x).unwrap();
    a.abort().unwrap();
    assert!(!b.try_lock(advisory, x).unwrap().is_held());
    assert!(a.backend().unlock_session(advisory, x));
    assert!(!b.try_lock(advisory, x).unwrap().is_held());
    assert!(a.backend().unlock_session(advisory, x));
    assert!(!a.backend().unlock_session(advisory, x));
    assert!(b.try_lock(advisory, x).unwrap().is_held());
}

fn detail(error: &Error) -> &str {
    error.fields().detail.as_deref().unwrap_or("")
}

#[test]
fn a_deadlock_ends_for_one() {
    let world = World::new();
    let (a, b) = (world.begin(101), world.begin(102));
    let x = LockMode::AccessExclusive;
    a.lock(rel(1), x).unwrap();
    b.lock(rel(2), x).unwrap();
    let other = spawn({
        let b = b.clone();
        move || {
            let result = b.lock(rel(1), LockMode::Share);
            b.abort().unwrap();
            result
        }
    });
    until("waiting", || waits(&world.mgr, 102));
    assert_eq!(world.mgr.locks().blocking_pids(&world.mgr, 102), [101]);
    let mine = a.lock(rel(2), LockMode::RowExclusive);
    a.abort().unwrap();
    let theirs = other.join().unwrap();
    let (error, me) = match (mine, theirs) {
        (Err(e), Ok(_)) => (e, true),
        (Ok(_), Err(e)) => (e, false),
        both => panic!("{both:?}"),
    };
    assert_eq!(error.code(), SqlState::T_R_DEADLOCK_DETECTED);
    assert_eq!(error.message(), "deadlock detected");
    assert_eq!(error.fields().hint.as_deref(), Some("See server log for query details."));
    let mut lines = [
        "Process 101 waits for RowExclusiveLock on relation 2 of database 5; blocked by process 102.",
        "Process 102 waits for ShareLock on relation 1 of database 5; blocked by process 101.",
    ];
    if !me {
        lines.reverse();
    }
    assert_eq!(detail(&error), lines.join("\n"));
    assert_eq!(world.mgr.locks().deadlocks(), 1);
}

#[test]
fn a_deadlock_over_transactions_and_rows() {
    let world = World::new();
    let (a, b) = (world.begin(1), world.begin(2));
    let (xa, xb) = (a.xid().unwrap(), b.xid().unwrap());
    let other = spawn({
        let (b, mgr) = (b.clone(), world.mgr.clone());
        move || {
            let result = mgr.wait_for_xid(&b, xa);
            b.abort().unwrap();
            result
        }
    });
    until("waiting", || waits(&world.mgr, 2));
    os::thread::sleep(Duration::from_millis(100));
    let strength = RowStrength::Update;
    let error = a.wait_for_row(&row(1), strength, Some(xb), Wait::Block).unwrap_err();
    assert_eq!(
        detail(&error),
        format!(
            "Process 1 waits for ShareLock on transaction {xb}; blocked by process 2.\n\
             Process 2 waits for ShareLock on transaction {xa}; blocked by process 1."
        )
    );
    a.abort().unwrap();
    other.join().unwrap().unwrap();
}

/// Both look for the deadlock at the same time: whoever finds it leaves its queue at once, and
/// the other one waits on.
#[test]
fn one_of_two_that_look_at_once_is_failed() {
    for _ in 0..20 {
        let world = World::new();
        let (a, b) = (world.begin(1), world.begin(2));
        let (xa, xb) = (a.xid().unwrap(), b.xid().unwrap());
        let wait = |txn: Arc<Txn>, xid| {
            let mgr = world.mgr.clone();
            spawn(move || {
                let result = mgr.wait_for_xid(&txn, xid);
                txn.abort().unwrap();
                result
            })
        };
        let both = [wait(a.clone(), xb), wait(b.clone(), xa)].map(|t| t.join().unwrap());
        assert_eq!(both.iter().filter(|r| r.is_err()).count(), 1, "{both:?}");
    }
}

/// c waits for b's place in a queue only: changing the order helps all.
#[test]
fn a_queue_is_reordered_rather_than_anybody_failed() {
    let world = World::new();
    let (a, b, c) = (world.begin(1), world.begin(2), world.begin(3));
    a.lock(rel(1), LockMode::Share).unwrap();
    c.lock(rel(2), LockMode::AccessExclusive).unwrap();
    let queue = |txn: &Arc<Txn>, tag: LockTag, mode: LockMode, pid: i32| {
        let other = txn.clone();
        let thread = spawn(move || {
            let result = other.lock(tag, mode).map(drop);
            other.abort().unwrap();
            result
        });
        until("waiting", || waits(&world.mgr, pid));
        thread
    };
    let b = queue(&b, rel(1), LockMode::AccessExclusive, 2);
    let c = queue(&c, rel(1), LockMode::AccessShare, 3);
    // a waits for c, c for b's place, b for a.
    a.lock(rel(2), LockMode::AccessShare).unwrap();
    a.abort().unwrap();
    b.join().unwrap().unwrap();
    c.join().unwrap().unwrap();
    assert_eq!(world.mgr.locks().deadlocks(), 0);
}

#[test]
fn waits_end_by_timeout_cancel_and_grant() {
    let world = World::new();
    let (a, b) = (world.begin(1), world.begin(2));
    a.lock(rel(1), LockMode::AccessExclusive).unwrap();
    let interrupts = b.backend().interrupts().clone();
    interrupts.set_lock_timeout_ms(20);
    let error = b.lock(rel(1), LockMode::AccessShare).unwrap_err();
    assert_eq!(error.message(), "canceling statement due to lock timeout");
    assert_eq!(error.code(), SqlState::LOCK_NOT_AVAILABLE);
    interrupts.set_lock_timeout_ms(0);
    interrupts.begin_statement(Some(Duration::from_millis(30)));
    let error = b.lock(rel(1), LockMode::AccessShare).unwrap_err();
    assert_eq!(error.message(), "canceling statement due to statement timeout");
    interrupts.begin_statement(None);
    let other = b.clone();
    let waiting = spawn(move || other.lock(rel(1), LockMode::AccessShare));
    until("waiting", || waits(&world.mgr, 2));
    interrupts.cancel();
    let error = waiting.join().unwrap().unwrap_err();
    assert_eq!(error.code(), SqlState::QUERY_CANCELED);
    assert!(!waits(&world.mgr, 2));
    let other = b.clone();
    let waiting = spawn(move || other.lock(rel(1), LockMode::AccessShare));
    until("waiting", || waits(&world.mgr, 2));
    a.abort().unwrap();
    assert_eq!(waiting.join().unwrap().unwrap(), LockOutcome::Granted);
}

/// Random modes on a few relations: what conflicts is never held together.
#[test]
fn conflicting_modes_never_meet() {
    let world = Arc::new(World::new());
    let held: Arc<Vec<[AtomicI64; 9]>> = Arc::new((0..3).map(|_| Default::default()).collect());
    let threads: Vec<_> = (0..6u64)
        .map(|n| {
            let (world, held) = (world.clone(), held.clone());
            spawn(move || {
                let session = world.session(n as i32);
                let mut random = seeded(n + 1);
                let mut deadlocks = 0;
                for _ in 0..1500 {
                    let txn = world.mgr.begin(&session, Isolation::ReadCommitted);
                    let mut mine = Vec::new();
                    for _ in 0..1 + random(2) {
                        let at = random(3);
                        // Mostly weak modes, as in life.
                        let mode = match random(4) {
                            0 => LockMode::ALL[random(8) as usize],
                            _ => LockMode::ALL[random(3) as usize],
                        };
                        match txn.lock(rel(at as u32), mode) {
                            Ok(LockOutcome::AlreadyHeld) => continue,
                            Ok(_) => {}
                            Err(e) => {
                                assert_eq!(e.code(), SqlState::T_R_DEADLOCK_DETECTED);
                                deadlocks += 1;
                                break;
                            }
                        }
                        held[at as usize][mode as usize].fetch_add(1, Ordering::SeqCst);
                        mine.push((at as usize, mode));
                        for other in LockMode::ALL {
                            let own = mine.iter().filter(|m| **m == (at as usize, other)).count();
                            let all = held[at as usize][other as usize].load(Ordering::SeqCst);
                            assert!(!mode.conflicts_with(other) || all <= own as i64);
                        }
                        if random(20) == 0 {
                            os::thread::yield_now();
                        }
                    }
                    for (at, mode) in mine {
                        held[at][mode as usize].fetch_sub(1, Ordering::SeqCst);
                    }
                    txn.abort().unwrap();
                }
                deadlocks
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(world.mgr.locks().list(&world.mgr).is_empty());
}

#[test]
fn row_locks_conflict_as_they_should() {
    let world = World::new();
    let (a, b, c) = (world.begin(1), world.begin(2), world.begin(3));
    assert_eq!(c.row_conflict(&row(1), RowStrength::Update).unwrap(), None);
    assert_eq!(a.lock_row(&row(1), RowStrength::KeyShare).unwrap(), None);
    assert_eq!(b.lock_row(&row(1), RowStrength::NoKeyUpdate).unwrap(), None);
    let conflict = c.lock_row(&row(1), RowStrength::Update).unwrap().unwrap();
    assert_eq!(conflict.xid, a.xid().unwrap());
    assert_eq!(c.row_conflict(&row(1), RowStrength::KeyShare).unwrap(), None);
    let conflict = c.row_conflict(&row(1), RowStrength::Share).unwrap().unwrap();
    assert_eq!((conflict.xid, conflict.strength), (b.xid().unwrap(), RowStrength::NoKeyUpdate));
    assert!(
        !c.wait_for_row(&row(1), RowStrength::Share, Some(conflict.xid), Wait::NoWait).unwrap()
    );
    world.mgr.rows().carry(&world.mgr, &row(1), &row(2)).unwrap();
    assert!(c.row_conflict(&row(2), RowStrength::Share).unwrap().is_some());
    b.commit(CommitData::default(), &mut |_| Ok(())).unwrap();
    assert_eq!(c.row_conflict(&row(1), RowStrength::Share).unwrap(), None);
    assert_eq!(c.row_conflict(&row(2), RowStrength::Share).unwrap(), None);
    // A savepoint's locks go with it, the ones before it stay.
    a.push_sub();
    assert_eq!(a.lock_row(&row(1), RowStrength::Update).unwrap(), None);
    assert!(c.lock_row(&row(1), RowStrength::KeyShare).unwrap().is_some());
    a.abort_sub().unwrap();
    assert_eq!(c.lock_row(&row(1), RowStrength::KeyShare).unwrap(), None);
    assert!(c.row_conflict(&row(1), RowStrength::Update).unwrap().is_some());
    drop((a, b, c));
    world.mgr.maintain().unwrap();
    assert!(world.mgr.rows().is_empty());
}

/// Sessions take turns on rows as an update would: look, take or wait, change, commit.
#[test]
fn rows_are_handed_on_and_nothing_is_lost() {
    let world = Arc::new(World::new());
    let rows: Arc<Vec<AtomicI64>> = Arc::new((0..4).map(|_| AtomicI64::new(0)).collect());
    let threads: Vec<_> = (0..5u64)
        .map(|n| {
            let (world, rows) = (world.clone(), rows.clone());
            spawn(move || {
                let session = world.session(n as i32);
                let mut random = seeded(n + 50);
                let mut done = 0;
                for _ in 0..600 {
                    let txn = world.mgr.begin(&session, Isolation::ReadCommitted);
                    let at = random(4);
                    let key = row(at as u16 + 1);
                    while let Some(c) = txn.lock_row(&key, RowStrength::Update).unwrap() {
                        txn.wait_for_row(&key, RowStrength::Update, Some(c.xid), Wait::Block)
                            .unwrap();
                    }
                    txn.leave_row_queue(&key, RowStrength::Update);
                    let before = rows[at as usize].load(Ordering::Relaxed);
                    if random(8) == 0 {
                        os::thread::yield_now();
                    }
                    rows[at as usize].store(before + 1, Ordering::Relaxed);
                    done += 1;
                    txn.commit(CommitData::default(), &mut |_| Ok(())).unwrap();
                }
                done
            })
        })
        .collect();
    let done: i64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    assert_eq!(done, rows.iter().map(|r| r.load(Ordering::Relaxed)).sum::<i64>());
    assert!(world.mgr.rows().is_empty());
}

#[test]
fn a_waiter_for_a_subtransaction_wakes_at_its_rollback() {
    let world = World::new();
    let (a, b) = (world.begin(1), world.begin(2));
    a.xid().unwrap();
    a.push_sub();
    let sub = a.xid().unwrap();
    let (mgr, other) = (world.mgr.clone(), b.clone());
    let waiting = spawn(move || mgr.wait_for_xid(&other, sub));
    until("waiting", || waits(&world.mgr, 2));
    a.abort_sub().unwrap();
    waiting.join().unwrap().unwrap();
    a.push_sub();
    let sub = a.xid().unwrap();
    a.commit_sub().unwrap();
    let (mgr, other) = (world.mgr.clone(), b.clone());
    let waiting = spawn(move || mgr.wait_for_xid(&other, sub));
    until("waiting", || waits(&world.mgr, 2));
    a.commit(CommitData::default(), &mut |_| Ok(())).unwrap();
    waiting.join().unwrap().unwrap();
}
