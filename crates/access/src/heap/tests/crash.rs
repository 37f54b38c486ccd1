//! Redo: a second set of files, made from the log alone, has the same rows.

use super::*;
use crate::sequence::{Sequence, SequenceOptions, SequenceRedo, SequenceRow};
use base::{BlockNo, Fork, Lsn};
use txn::Wait;
use wal::{ReadOutcome, Record, Redo, Rmgr};

/// Replays the log of `from` into `to`, whose files are empty.
fn replay(from: &Storage, to: &Arc<Storage>, start: Lsn) {
    from.wal.flush(from.wal.inserted()).unwrap();
    let heap = HeapRedo::new(&to.pool);
    let sequence = SequenceRedo::new(&to.pool);
    let mut reader = from.wal.reader(start);
    let mut record = Record::default();
    while let ReadOutcome::Record = reader.read(&mut record).unwrap() {
        match record.rmgr {
            Rmgr::Heap => heap.redo(&record).unwrap(),
            Rmgr::Sequence => sequence.redo(&record).unwrap(),
            _ => {}
        }
    }
}

/// A page without what redo need not make equal: hints, command ids.
fn masked(bytes: &page::Bytes) -> Vec<u8> {
    let mut p = *bytes;
    page::set_prune_hint(&mut p, 0);
    page::change_flags(&mut p, 0, page::PAGE_FULL | page::HAS_FREE_LINES);
    for off in 1..=page::max_offset(&p) {
        if let Some(mut t) = page::tuple_mut(&mut p, off) {
            t.set_cid(0);
            let mask = t.get().mask();
            if mask & page::XMIN_FROZEN != page::XMIN_FROZEN {
                t.change_mask(0, page::XMIN_FROZEN);
            }
            t.change_mask(0, page::XMAX_COMMITTED | page::XMAX_INVALID | page::COMBO_CID);
        }
    }
    p[..10].fill(0);
    p.to_vec()
}

#[test]
fn the_log_alone_makes_the_same_pages() {
    let storage = storage(256);
    let rel = table(&storage);
    let start = storage.wal.inserted();
    let s = Session::new(&storage, 1);
    let mut seed = 12345u64;
    let mut chance = |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    for round in 0..600 {
        let abort = chance(5) == 0;
        let txn = s.begin();
        for _ in 0..chance(8) {
            txn.increment_command().unwrap();
            let snapshot = txn.snapshot();
            let x = ExecTxn { txn: &txn, snapshot: &snapshot };
            let note = "v".repeat(chance(300) as usize);
            let live = rows(&rel, &snapshot);
            let options = UpdateOptions { unchanged: None, wait: Wait::Block };
            match chance(6) {
                0 | 1 => drop(rel.insert(&x, &row(round, 1, &note)).unwrap()),
                2 if !live.is_empty() => {
                    let (tid, _) = &live[chance(live.len() as u64) as usize];
                    rel.delete(&x, *tid, Wait::Block, false).unwrap();
                }
                3 => {
                    let many: Vec<_> = (0..5).map(|i| row(i, 2, &note)).collect();
                    let mut it = many.iter().map(Vec::as_slice);
                    let options = InsertOptions::default();
                    rel.multi_insert(&x, &mut it, options, &mut Vec::new()).unwrap();
                }
                _ if !live.is_empty() => {
                    let (tid, old) = &live[chance(live.len() as u64) as usize];
                    let id = if chance(4) == 0 { 7 } else { old[0].as_i32() };
                    rel.update(&x, *tid, &row(id, 3, &note), options).unwrap();
                }
                _ => {}
            }
        }
        if abort {
            txn.abort().unwrap();
        } else {
            commit(&txn);
        }
        if chance(40) == 0 {
            vacuum(&rel);
        }
    }
    check(&rel);
    let copy = super::storage(256);
    let twin = open(&copy, rel.about.clone());
    replay(&storage, &copy, start);
    // Pages that were added and never written have no record.
    let n = rel.nblocks().unwrap();
    for b in (0..n.0).map(BlockNo) {
        let a = rel.files.read_shared(Fork::Main, b).unwrap();
        if b >= twin.nblocks().unwrap() {
            assert!(page::is_new(&a));
            continue;
        }
        let c = twin.files.read_shared(Fork::Main, b).unwrap();
        assert!(masked(&a) == masked(&c), "page {b} differs");
        drop((a, c));
        assert_eq!(rel.visibility(b).unwrap(), twin.visibility(b).unwrap(), "map of page {b}");
    }
    check(&twin);
}

#[test]
fn sequences_skip_but_never_repeat() {
    let storage = storage(64);
    let f = file(16600);
    let start = storage.wal.inserted();
    let permanent = buffer::Persistence::Permanent;
    storage.pool.create_relation(f, permanent).unwrap();
    let seq = Sequence::open(&storage, f, permanent);
    seq.create(SequenceRow { last_value: 1, log_cnt: 0, is_called: false }).unwrap();
    let mut o =
        SequenceOptions { start: 1, increment: 1, min: 1, max: 100, cache: 1, cycle: false };
    let first = seq.next(&o, "s").unwrap();
    assert_eq!((first.first, first.last, first.logged.is_some()), (1, 1, true));
    assert_eq!(seq.read().unwrap(), SequenceRow { last_value: 1, log_cnt: 32, is_called: true });
    let mut records = 0;
    for n in 2..=60 {
        let t = seq.next(&o, "s").unwrap();
        assert_eq!(t.first, n);
        records += t.logged.is_some() as u32;
    }
    assert!(records <= 2, "{records} records");
    let copy = super::storage(64);
    copy.pool.create_relation(f, permanent).unwrap();
    replay(&storage, &copy, start);
    let after = Sequence::open(&copy, f, permanent);
    assert!(after.next(&o, "s").unwrap().first > 60);
    o.cache = 10;
    let t = seq.next(&o, "s").unwrap();
    assert_eq!((t.first, t.last), (61, 70));
    seq.set(99, true).unwrap();
    let t = seq.next(&o, "s").unwrap();
    assert_eq!((t.first, t.last), (100, 100));
    let e = seq.next(&o, "s").unwrap_err();
    assert_eq!(e.message(), "nextval: reached maximum value of sequence \"s\" (100)");
    o.cycle = true;
    assert_eq!(seq.next(&o, "s").unwrap().first, 1);
}
