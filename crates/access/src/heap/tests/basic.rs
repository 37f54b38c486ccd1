//! One row at a time: who sees what, HOT, locks, outcomes.

use super::*;
use txn::{RowStrength, Wait};

fn done(o: Outcome) -> (Tid, IndexUpdates) {
    match o {
        Outcome::Done(tid, i) => (tid, i),
        other => panic!("{other:?}"),
    }
}

fn plain<'a>() -> UpdateOptions<'a> {
    UpdateOptions { unchanged: None, wait: Wait::Block }
}

#[test]
fn own_changes_by_command() {
    let storage = storage(128);
    let rel = table(&storage);
    let s = Session::new(&storage, 1);
    let txn = s.begin();
    let first = txn.snapshot();
    let x = ExecTxn { txn: &txn, snapshot: &first };
    let tid = rel.insert(&x, &row(1, 10, "one")).unwrap();
    assert!(rows(&rel, &first).is_empty(), "a command does not see its own rows");
    txn.increment_command().unwrap();
    let second = txn.snapshot();
    assert_eq!(rows(&rel, &second).len(), 1);
    let x = ExecTxn { txn: &txn, snapshot: &second };
    let (new, indexes) = done(rel.update(&x, tid, &row(1, 11, "one"), plain()).unwrap());
    assert_eq!(indexes, IndexUpdates::None);
    assert_eq!(rows(&rel, &second)[0].1[1], Datum::I64(10), "the old version, by combo");
    assert!(matches!(
        rel.update(&x, tid, &row(1, 12, "one"), plain()).unwrap(),
        Outcome::SelfModified(_)
    ));
    txn.increment_command().unwrap();
    let third = txn.snapshot();
    assert_eq!(rows(&rel, &third), [(new, row(1, 11, "one"))]);
    // Sub-transactions: what they do is undone with them.
    txn.push_sub();
    let x = ExecTxn { txn: &txn, snapshot: &third };
    done(rel.delete(&x, new, Wait::Block, false).unwrap());
    txn.increment_command().unwrap();
    assert!(rows(&rel, &txn.snapshot()).is_empty());
    txn.abort_sub().unwrap();
    assert_eq!(rows(&rel, &txn.snapshot()).len(), 1);
    let other = Session::new(&storage, 2);
    other.run(|x| assert!(rows(&rel, x.snapshot).is_empty()));
    commit(&txn);
    other.run(|x| assert_eq!(rows(&rel, x.snapshot), [(new, row(1, 11, "one"))]));
    check(&rel);
}

#[test]
fn hot_chain_is_found_and_pruned() {
    let storage = storage(128);
    let rel = table(&storage);
    let s = Session::new(&storage, 1);
    let root = s.run(|x| rel.insert(x, &row(1, 0, "hot")).unwrap());
    let old = Session::new(&storage, 2);
    let reader = old.begin();
    let seen_then = reader.snapshot();
    let mut tid = root;
    for n in 1..=2000 {
        tid = s.run(|x| {
            let (tid, indexes) = done(rel.update(x, tid, &row(1, n, "hot"), plain()).unwrap());
            assert_eq!(indexes, IndexUpdates::None);
            tid
        });
        if n == 100 {
            // The old snapshot holds everything back until it goes.
            let viewer = Viewer::mvcc(&storage, &seen_then);
            let mut out = vec![Datum::Null; 3];
            assert_eq!(rel.fetch(root, &viewer, &mut out).unwrap(), Found::Row(root));
            assert_eq!(out, row(1, 0, "hot"));
        }
        if n == 110 {
            break;
        }
    }
    drop(seen_then);
    commit(&reader);
    for n in 111..=2000 {
        tid = s.run(|x| done(rel.update(x, tid, &row(1, n, "hot"), plain()).unwrap()).0);
    }
    assert_eq!(rel.nblocks().unwrap().0, 1, "pruning kept the chain in its page");
    check(&rel);
    s.run(|x| {
        let viewer = Viewer::mvcc(&storage, x.snapshot);
        let mut out = vec![Datum::Null; 3];
        assert_eq!(rel.fetch(root, &viewer, &mut out).unwrap(), Found::Row(tid));
        assert_eq!(out, row(1, 2000, "hot"));
    });
    // An index that is built now names the root.
    s.run(|x| {
        let mut build = BuildScan::new(&rel, x.snapshot, usize::MAX).unwrap();
        let row = build.next_row().unwrap().unwrap();
        assert_eq!((row.tid, row.version, row.live), (root, tid, true));
        assert_eq!(build.next_row().unwrap(), None);
    });
    // A key change leaves the chain and the page's promise.
    let (_, indexes) = s.run(|x| done(rel.update(x, tid, &row(2, 0, "x"), plain()).unwrap()));
    assert_eq!(indexes, IndexUpdates::All);
    s.run(|x| {
        let viewer = Viewer::mvcc(&storage, x.snapshot);
        let mut out = vec![Datum::Null; 3];
        assert!(!matches!(rel.fetch(root, &viewer, &mut out).unwrap(), Found::Row(_)));
    });
}

#[test]
fn outcomes_for_the_second() {
    let storage = storage(128);
    let rel = table(&storage);
    let a = Session::new(&storage, 1);
    let b = Session::new(&storage, 2);
    let tid = a.run(|x| rel.insert(x, &row(1, 0, "r")).unwrap());

    let tb = b.begin();
    let sb = tb.snapshot();
    let xb = ExecTxn { txn: &tb, snapshot: &sb };
    let ta = a.begin();
    let sa = ta.snapshot();
    let xa = ExecTxn { txn: &ta, snapshot: &sa };
    let (new, _) = done(rel.update(&xa, tid, &row(1, 1, "r"), plain()).unwrap());
    let nowait = Wait::NoWait;
    assert_eq!(rel.lock_row(&xb, tid, RowStrength::Update, nowait).unwrap(), Outcome::WouldBlock);
    // The key did not change: a foreign key may lock the row.
    assert_eq!(
        rel.lock_row(&xb, tid, RowStrength::KeyShare, nowait).unwrap(),
        Outcome::Done(tid, IndexUpdates::None)
    );
    commit(&ta);
    assert_eq!(rel.lock_row(&xb, tid, RowStrength::Update, nowait).unwrap(), Outcome::Updated(new));
    // The lock of b holds for the new version: no delete, but updates that keep the key.
    let ta = a.begin();
    let sa = ta.snapshot();
    let xa = ExecTxn { txn: &ta, snapshot: &sa };
    assert_eq!(rel.delete(&xa, new, nowait, false).unwrap(), Outcome::WouldBlock);
    let opts = UpdateOptions { unchanged: None, wait: nowait };
    assert_eq!(rel.update(&xa, new, &row(9, 1, "r"), opts).unwrap(), Outcome::WouldBlock);
    let (newer, _) = done(rel.update(&xa, new, &row(1, 2, "r"), opts).unwrap());
    commit(&ta);
    let ta = a.begin();
    let sa = ta.snapshot();
    let xa = ExecTxn { txn: &ta, snapshot: &sa };
    assert_eq!(rel.delete(&xa, newer, nowait, false).unwrap(), Outcome::WouldBlock);
    commit(&tb);
    done(rel.delete(&xa, newer, nowait, false).unwrap());
    commit(&ta);
    let tb = b.begin();
    let sb = tb.snapshot();
    let xb = ExecTxn { txn: &tb, snapshot: &sb };
    assert_eq!(
        rel.lock_latest(&xb, tid, RowStrength::Update, Wait::Block).unwrap(),
        Outcome::Deleted
    );
    commit(&tb);
}

#[test]
fn updates_move_to_other_pages() {
    let storage = storage(128);
    let rel = table(&storage);
    let s = Session::new(&storage, 1);
    let note = "n".repeat(1000);
    let tids: Vec<Tid> =
        s.run(|x| (0..40).map(|i| rel.insert(x, &row(i, 0, &note)).unwrap()).collect());
    vacuum(&rel);
    assert!(rel.visibility(base::BlockNo(0)).unwrap() & vm::ALL_FROZEN != 0);
    let note = "m".repeat(1500);
    s.run(|x| {
        for (i, tid) in tids.iter().enumerate() {
            let new = row(i as i32, 1, &note);
            let (to, indexes) = done(rel.update(x, *tid, &new, plain()).unwrap());
            if to.block != tid.block {
                assert_eq!(indexes, IndexUpdates::All);
            }
        }
    });
    check(&rel);
    s.run(|x| {
        let all = rows(&rel, x.snapshot);
        assert_eq!(all.len(), 40);
        assert!(all.iter().all(|(_, r)| r[1] == Datum::I64(1)));
    });
    assert_eq!(rel.visibility(base::BlockNo(0)).unwrap(), 0);
    // Everything goes; vacuum gives the pages back.
    s.run(|x| {
        for (tid, _) in rows(&rel, x.snapshot) {
            done(rel.delete(x, tid, Wait::Block, false).unwrap());
        }
    });
    let report = vacuum(&rel);
    assert_eq!(rel.nblocks().unwrap().0, 0, "{report:?}");
}
