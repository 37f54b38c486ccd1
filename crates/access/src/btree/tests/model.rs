//! Random operations against a sorted set.

use super::*;
use crate::index::{Direction, VacuumStats};
use std::collections::BTreeSet;

type Key = (Option<i32>, Vec<u8>);

fn values(key: &Key) -> Vec<Datum> {
    vec![Datum::from(key.0), Datum::bytes(key.1.clone())]
}

/// NULLs last.
fn model_key(key: &Key, tid: Tid) -> (bool, i32, Vec<u8>, u64) {
    (key.0.is_none(), key.0.unwrap_or(0), key.1.clone(), tid.to_u64())
}

fn all(storage: &Arc<Storage>, rel: &Arc<IndexRel>, direction: Direction) -> Vec<u64> {
    let mut scan = scan(storage, rel, vec![]);
    let mut out = Vec::new();
    while let Some(tid) = scan.next(direction).unwrap() {
        out.push(tid.to_u64());
    }
    out
}

fn random_key(r: &mut Random, spread: u64) -> Key {
    let a = r.below(spread) as i32;
    let len = if r.below(50) == 0 { 400 } else { r.below(12) } as usize;
    (if r.below(20) == 0 { None } else { Some(a) }, vec![b'a' + (a % 3) as u8; len])
}

fn run(seed: u64, spread: u64, steps: u64) {
    let storage = storage(256);
    let rel = Arc::new(empty_index(&storage, vec![int4(), text()], false));
    let mut model = BTreeSet::new();
    let mut used = std::collections::HashMap::new();
    let mut r = Random(seed);
    for step in 0..steps {
        let key = random_key(&mut r, spread);
        let tid = Tid::new(r.below(5000) as u32, r.below(100) as u16 + 1);
        if used.contains_key(&tid) {
            continue;
        }
        insert(&storage, &rel, &values(&key), tid);
        model.insert(model_key(&key, tid));
        used.insert(tid, key);
        if step % (steps / 4) == steps / 4 - 1 {
            vacuum_some(&storage, &rel, &mut model, &mut used, &mut r);
        }
    }
    let expected: Vec<u64> = model.iter().map(|m| m.3).collect();
    assert_eq!(check(&storage, &rel), expected.len() as u64);
    assert_eq!(all(&storage, &rel, Direction::Forward), expected);
    for _ in 0..500 {
        let key = random_key(&mut r, spread);
        let (null, a, t, _) = model_key(&key, Tid::INVALID);
        let want: Vec<u64> = model
            .iter()
            .filter(|m| !null && (m.0, m.1, &m.2) == (null, a, &t))
            .map(|m| m.3)
            .collect();
        let mut rows = Vec::new();
        rel.am().lookup(&storage, &rel, &values(&key), &mut rows).unwrap();
        assert_eq!(rows.iter().map(|t| t.to_u64()).collect::<Vec<_>>(), want);
    }
    let mut backward = all(&storage, &rel, Direction::Backward);
    backward.reverse();
    assert_eq!(backward, expected);
}

/// Removes a range of keys and some others, and verifies the tree.
fn vacuum_some(
    storage: &Arc<Storage>,
    rel: &Arc<IndexRel>,
    model: &mut BTreeSet<(bool, i32, Vec<u8>, u64)>,
    used: &mut std::collections::HashMap<Tid, Key>,
    r: &mut Random,
) {
    let low = r.below(1000) as i32;
    let dead: std::collections::HashSet<Tid> = used
        .iter()
        .filter(|(tid, k)| k.0.is_some_and(|a| a >= low && a < low + 400) || tid.to_u64() % 7 == 0)
        .map(|(t, _)| *t)
        .collect();
    let mut stats = VacuumStats::default();
    rel.am().bulk_delete(storage, rel, &|t| dead.contains(&t), &mut stats).unwrap();
    assert_eq!(stats.removed, dead.len() as u64);
    model.retain(|m| !dead.contains(&Tid::from_u64(m.3)));
    used.retain(|t, _| !dead.contains(t));
    assert_eq!(stats.entries, model.len() as u64);
    assert_eq!(check(storage, rel), model.len() as u64);
}

#[test]
fn random_inserts_and_vacuums() {
    run(1, 1000, 4000);
    run(2, 20, 4000);
    run(3, 100_000, 4000);
}

#[test]
fn ascending_and_descending() {
    let storage = storage(256);
    for descending in [false, true] {
        let rel = Arc::new(empty_index(&storage, vec![int8()], true));
        for i in 0..8_000i64 {
            let k = if descending { -i } else { i };
            let tid = Tid::new(i as u32, 1);
            assert_eq!(insert(&storage, &rel, &[Datum::I64(k)], tid), InsertOutcome::Unique);
        }
        assert_eq!(check(&storage, &rel), 8_000);
        for i in (0..8_000i64).step_by(37) {
            let k = if descending { -i } else { i };
            let key = ScanKey::new(0, crate::index::Strategy::Eq, Datum::I64(k));
            let mut s = scan(&storage, &rel, vec![key]);
            assert_eq!(s.next(Direction::Forward).unwrap(), Some(Tid::new(i as u32, 1)));
            assert_eq!(s.next(Direction::Forward).unwrap(), None);
            let mut rows = Vec::new();
            rel.am().lookup(&storage, &rel, &[Datum::I64(k)], &mut rows).unwrap();
            assert_eq!(rows, [Tid::new(i as u32, 1)]);
            let again = insert(&storage, &rel, &[Datum::I64(k)], Tid::new(1 << 30, 1));
            assert_eq!(again, InsertOutcome::Conflict(Tid::new(i as u32, 1)));
        }
        let facts = rel.am().facts(&storage, &rel).unwrap();
        assert!(facts.height >= 1 && facts.pages < 120, "{facts:?}");
    }
}

#[test]
fn a_queue_does_not_grow() {
    let storage = storage(256);
    let rel = Arc::new(empty_index(&storage, vec![int8()], true));
    let mut next = 0u32;
    let mut pages = Vec::new();
    for _ in 0..8 {
        for _ in 0..4000 {
            insert(&storage, &rel, &[Datum::I64(next as i64)], Tid::new(next, 1));
            next += 1;
        }
        let keep = next - 100;
        let mut stats = VacuumStats::default();
        rel.am().bulk_delete(&storage, &rel, &|t| t.block.0 < keep, &mut stats).unwrap();
        assert_eq!(check(&storage, &rel), 100);
        pages.push(rel.am().facts(&storage, &rel).unwrap().pages);
    }
    assert!(pages[7] <= pages[2] + 4, "{pages:?}");
}

#[test]
fn builds_sort_in_memory_and_on_disk() {
    let storage = storage(512);
    let mut r = Random(9);
    let rows: Vec<(Vec<Datum>, Tid)> = (0..15_000u32)
        .map(|i| {
            let key = random_key(&mut r, 3000);
            (values(&key), Tid::new(i, 1))
        })
        .collect();
    let mut expected: Vec<_> = rows.clone();
    let rank = |v: &Vec<Datum>, t: Tid| {
        (v[0].is_null(), v[0].to_i64(), v[1].as_bytes().to_vec(), t.to_u64())
    };
    expected.sort_by_key(|(v, t)| rank(v, *t));
    // As they come, in order, and in order but for a part that comes too late.
    let sorted = expected.clone();
    let mut turned = expected.clone();
    turned.rotate_left(11_000);
    let expected: Vec<u64> = expected.iter().map(|e| e.1.to_u64()).collect();
    let inputs = [&rows, &sorted, &turned];
    for (rows, memory) in inputs.into_iter().flat_map(|r| [(r, 1 << 30), (r, 1 << 20)]) {
        let rel = Arc::new(index(&storage, vec![int4(), text()], false));
        let outcome = build(&storage, &rel, rows.clone(), memory);
        assert!(matches!(outcome, BuildOutcome::Done(15_000)), "{outcome:?}");
        assert_eq!(check(&storage, &rel), 15_000);
        assert_eq!(all(&storage, &rel, Direction::Forward), expected);
        let key = random_key(&mut r, 3000);
        insert(&storage, &rel, &values(&key), Tid::new(99, 9));
        assert_eq!(check(&storage, &rel), 15_001);
    }
}

#[test]
fn builds_find_duplicates() {
    let storage = storage(256);
    let rows = |n: i32| -> Vec<(Vec<Datum>, Tid)> {
        (0..n).map(|i| (vec![Datum::I32(i % 999)], Tid::new(i as u32, 1))).collect()
    };
    let rel = index(&storage, vec![int4()], true);
    match build(&storage, &rel, rows(1000), 1 << 30) {
        BuildOutcome::Duplicate(v, a, b) => {
            assert_eq!(v, [Datum::I32(0)]);
            assert_eq!((a, b), (Tid::new(0, 1), Tid::new(999, 1)));
        }
        other => panic!("{other:?}"),
    }
    let rel = index(&storage, vec![int4()], true);
    assert!(matches!(build(&storage, &rel, rows(999), 1 << 30), BuildOutcome::Done(999)));
    assert!(matches!(
        build(&storage, &index(&storage, vec![int4()], true), vec![], 1 << 30),
        BuildOutcome::Done(0)
    ));
}

#[test]
fn large_keys() {
    let storage = storage(256);
    let rel = Arc::new(empty_index(&storage, vec![text()], false));
    let mut r = Random(5);
    for i in 0..400u32 {
        let len = 2600 + r.below(60) as usize;
        let mut key: Vec<u8> = (0..len).map(|_| r.below(256) as u8).collect();
        key[0] = (i % 5) as u8;
        insert(&storage, &rel, &[Datum::bytes(key)], Tid::new(i, 1));
    }
    assert_eq!(check(&storage, &rel), 400);
    let huge: Vec<u8> = (0..3000).map(|_| r.below(256) as u8).collect();
    let e = rel
        .am()
        .insert(
            &storage,
            &rel,
            &[Datum::bytes(huge)],
            Tid::new(1, 1),
            UniqueCheck::No,
            &mut AllLive,
        )
        .unwrap_err();
    assert_eq!(e.code(), base::SqlState::PROGRAM_LIMIT_EXCEEDED);
}
