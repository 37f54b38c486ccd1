//! Who sees whom: snapshots, subtransactions, horizons, the commit log, recovery.

mod common;

use base::{CommandId, Lsn, Xid};
use common::{World, seeded, spawn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use txn::{CommitData, Isolation, Sees, Snapshot, SubId, Txn, TxnManager, XidStatus};

fn commit(txn: &Txn) -> Lsn {
    txn.commit(CommitData::default(), &mut |_| Ok(())).unwrap()
}

fn sees(mgr: &TxnManager, snapshot: &Snapshot, xid: Xid) -> Sees {
    mgr.sees(snapshot, xid).unwrap()
}

#[test]
fn a_snapshot_sees_what_committed_before_it() {
    let world = World::new();
    let (a, b) = (world.begin(1), world.begin(2));
    assert_eq!(a.current_xid_if_any(), None);
    let xid = a.xid().unwrap();
    assert_eq!(a.xid().unwrap(), xid);
    let before = b.snapshot();
    assert_eq!(sees(&world.mgr, &before, xid), Sees::Running);
    assert_eq!(sees(&world.mgr, &a.snapshot(), xid), Sees::Own);
    assert_eq!(world.mgr.status(xid).unwrap(), XidStatus::InProgress);
    let lsn = commit(&a);
    assert!(lsn.is_valid());
    assert_eq!(sees(&world.mgr, &before, xid), Sees::Later(lsn));
    let after = b.snapshot();
    assert_eq!(sees(&world.mgr, &after, xid), Sees::Yes(lsn));
    assert_eq!(after.gate, lsn);
    assert_eq!(world.mgr.status(xid).unwrap(), XidStatus::Committed(lsn));
    assert!(!world.mgr.commit_is_flushed(lsn));
    // A reader's reply waits for what it has seen; not if the log has got there meanwhile.
    assert_eq!(commit(&b), lsn);
    let c = world.begin(3);
    c.snapshot();
    world.mgr.log().flush(lsn).unwrap();
    assert!(world.mgr.commit_is_flushed(lsn));
    assert_eq!(commit(&c), Lsn::INVALID);
    let d = world.begin(4);
    let xid = d.xid().unwrap();
    drop(d);
    assert_eq!(sees(&world.mgr, &world.begin(5).snapshot(), xid), Sees::Aborted);
    assert_eq!(sees(&world.mgr, &after, Xid::FROZEN), Sees::Yes(Lsn(1)));
}

#[test]
fn repeatable_read_keeps_its_snapshot_and_advances_its_commands() {
    let world = World::new();
    let session = world.session(1);
    let txn = world.mgr.begin(&session, Isolation::RepeatableRead);
    let first = txn.snapshot();
    let other = world.begin(2);
    let xid = other.xid().unwrap();
    commit(&other);
    assert_eq!(txn.command_for_write(), CommandId(0));
    txn.increment_command().unwrap();
    txn.increment_command().unwrap();
    let second = txn.snapshot();
    assert_eq!((second.lsn, second.curcid), (first.lsn, CommandId(1)));
    assert!(matches!(sees(&world.mgr, &second, xid), Sees::Later(_)));
    assert!(sees(&world.mgr, &txn.latest_snapshot(), xid).yes());
}

#[test]
fn subtransactions_live_and_die_with_their_parents() {
    let world = World::new();
    let txn = world.begin(1);
    let top = txn.xid().unwrap();
    assert_eq!(txn.push_sub(), SubId(2));
    let kept = txn.xid().unwrap();
    assert!(kept > top);
    txn.push_sub();
    let undone = txn.xid().unwrap();
    txn.abort_sub().unwrap();
    assert_eq!(world.mgr.status(undone).unwrap(), XidStatus::Aborted);
    assert_eq!(txn.current_xid_if_any(), Some(kept));
    assert!(txn.owns(kept).unwrap() && txn.owns(top).unwrap() && !txn.owns(undone).unwrap());
    txn.commit_sub().unwrap();
    assert_eq!(txn.current_xid_if_any(), Some(top));
    assert_eq!(world.mgr.status(kept).unwrap(), XidStatus::InProgress);
    let lsn = commit(&txn);
    for xid in [top, kept] {
        assert_eq!(world.mgr.status(xid).unwrap(), XidStatus::Committed(lsn));
    }
    assert_eq!(world.mgr.status(undone).unwrap(), XidStatus::Aborted);
    // Parents get their ids before their children.
    let txn = world.begin(2);
    txn.push_sub();
    txn.push_sub();
    let inner = txn.xid().unwrap();
    assert_eq!(txn.top_xid_if_any(), Some(Xid(inner.0 - 2)));
    txn.abort().unwrap();
    assert_eq!(world.mgr.status(inner).unwrap(), XidStatus::Aborted);
}

#[test]
fn the_horizon_waits_for_the_oldest_snapshot() {
    let world = World::new();
    let reader = world.begin(1);
    let old = reader.snapshot();
    let writer = world.begin(2);
    let xid = writer.xid().unwrap();
    let lsn = commit(&writer);
    drop(writer);
    assert!(!world.mgr.horizon().passed(lsn));
    let copy = old.clone();
    drop(old);
    assert!(!world.mgr.horizon().passed(lsn));
    let importer = world.begin(3);
    importer.import_snapshot(&copy);
    drop(copy);
    assert!(!world.mgr.horizon().passed(lsn));
    drop(importer);
    assert!(world.mgr.horizon().passed(lsn));
    assert!(world.mgr.horizon().xid > xid);
    let runner = world.begin(4);
    let running = runner.xid().unwrap();
    assert_eq!(world.mgr.oldest_running(), running);
    world.mgr.hold_horizon(1, Some(Lsn(1)));
    assert!(world.mgr.horizon().lsn >= lsn, "a horizon never goes back");
}

#[test]
fn states_move_to_disk_and_survive() {
    let world = World::new();
    let session = world.session(1);
    let mut outcomes = Vec::new();
    let mut random = seeded(7);
    let holder = world.begin(2);
    let early = holder.snapshot();
    for _ in 0..100_000 {
        let txn = world.mgr.begin(&session, Isolation::ReadCommitted);
        let xid = txn.xid().unwrap();
        let committed = random(3) > 0;
        if committed {
            commit(&txn);
        } else {
            txn.abort().unwrap();
        }
        outcomes.push((xid, committed));
    }
    let check = |mgr: &TxnManager| {
        for (xid, committed) in outcomes.iter().step_by(13) {
            let status = mgr.status(*xid).unwrap();
            assert_eq!(matches!(status, XidStatus::Committed(_)), *committed, "{xid}");
        }
    };
    assert_eq!(world.mgr.state_chunks(), 4);
    world.mgr.maintain().unwrap();
    assert_eq!(world.mgr.state_chunks(), 4, "a snapshot can still tell");
    for (xid, _) in outcomes.iter().step_by(101) {
        assert!(!sees(&world.mgr, &early, *xid).yes());
    }
    drop((early, holder));
    world.mgr.maintain().unwrap();
    world.mgr.maintain().unwrap();
    assert_eq!(world.mgr.state_chunks(), 1);
    check(&world.mgr);
    world.mgr.checkpoint().unwrap();
    check(&world.mgr);
    let again = world.reopen(world.mgr.next_xid());
    again.end_recovery(Lsn(1 << 40)).unwrap();
    check(&again);
    again.truncate_clog(Xid(40_000)).unwrap();
    assert!(matches!(again.status(outcomes[50_001].0), Ok(s) if s != XidStatus::InProgress));
}

#[test]
fn redo_repeats_ends_and_ends_what_ran() {
    let world = World::new();
    let (a, b, c) = (world.begin(1), world.begin(2), world.begin(3));
    let ids = [a.xid().unwrap(), b.xid().unwrap(), c.xid().unwrap()];
    b.push_sub();
    let sub = b.xid().unwrap();
    b.commit_sub().unwrap();
    world.mgr.checkpoint().unwrap();
    let record = CommitData { extra: b"inval".to_vec(), ..CommitData::default() };
    let lsn = b.commit(record, &mut |_| Ok(())).unwrap();
    a.abort().unwrap();
    let again = world.reopen(Xid(3));
    for (info, xid, data, end) in world.log.records.lock().iter() {
        let (_, extra) = again.redo(*info, *xid, data, *end).unwrap();
        assert_eq!(extra.is_empty(), *xid != ids[1]);
    }
    again.observe_xid(ids[2]).unwrap();
    again.end_recovery(Lsn(1 << 40)).unwrap();
    assert!(again.next_xid() > sub);
    assert_eq!(again.status(ids[0]).unwrap(), XidStatus::Aborted);
    assert_eq!(again.status(ids[1]).unwrap(), XidStatus::Committed(lsn));
    assert_eq!(again.status(sub).unwrap(), XidStatus::Committed(lsn));
    assert_eq!(again.status(ids[2]).unwrap(), XidStatus::Aborted);
    assert!(again.last_committed() >= Lsn(1 << 40));
}

/// A snapshot gives the same answers however often it is asked, and a later one sees no less.
#[test]
fn snapshots_are_stable_under_committers() {
    let world = Arc::new(World::new());
    let stop = Arc::new(AtomicBool::new(false));
    let newest = Arc::new(AtomicU64::new(3));
    let writers: Vec<_> = (0..4)
        .map(|n| {
            let (world, newest) = (world.clone(), newest.clone());
            spawn(move || {
                let session = world.session(n);
                for i in 0..8000u64 {
                    let txn = world.mgr.begin(&session, Isolation::ReadCommitted);
                    txn.xid().unwrap();
                    if i % 3 == 0 {
                        txn.push_sub();
                        newest.fetch_max(txn.xid().unwrap().0, Ordering::Relaxed);
                        txn.commit_sub().unwrap();
                    }
                    newest.fetch_max(txn.top_xid().unwrap().0, Ordering::Relaxed);
                    if i % 10 == 0 {
                        txn.abort().unwrap()
                    } else {
                        commit(&txn);
                    }
                }
            })
        })
        .collect();
    let readers: Vec<_> = (0..2)
        .map(|n| {
            let (world, newest, stop) = (world.clone(), newest.clone(), stop.clone());
            spawn(move || {
                let txn = world.begin(100 + n);
                let mut last: Option<(Snapshot, Vec<Xid>)> = None;
                let mut rounds = 0;
                while !stop.load(Ordering::Relaxed) {
                    let snapshot = txn.snapshot();
                    let top = newest.load(Ordering::Relaxed);
                    let ids = (top.saturating_sub(200).max(3)..=top).map(Xid);
                    let visible = |s: &Snapshot, ids: &mut dyn Iterator<Item = Xid>| {
                        ids.filter(|x| sees(&world.mgr, s, *x).yes()).collect::<Vec<_>>()
                    };
                    let first = visible(&snapshot, &mut ids.clone());
                    os::thread::yield_now();
                    assert_eq!(first, visible(&snapshot, &mut ids.clone()));
                    for xid in ids.filter(|x| *x < snapshot.floor) {
                        let seen = sees(&world.mgr, &snapshot, xid);
                        assert!(matches!(seen, Sees::Yes(_) | Sees::Aborted), "{seen:?}");
                    }
                    if let Some((before, then)) = &last {
                        assert!(before.lsn <= snapshot.lsn);
                        assert_eq!(then.len(), visible(&snapshot, &mut then.iter().copied()).len());
                        assert_eq!(*then, visible(before, &mut then.iter().copied()));
                    }
                    last = Some((snapshot, first));
                    rounds += 1;
                }
                assert!(rounds > 10);
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().unwrap();
    }
}
