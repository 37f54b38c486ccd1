//! Scans with all kinds of keys against a filter over a list.

use super::*;
use crate::index::{Direction, ScanValue, Strategy};
use std::cmp::Ordering;

type Row = (Option<i32>, Option<i32>);

struct Setup {
    storage: Arc<Storage>,
    rel: Arc<IndexRel>,
    /// In index order.
    rows: Vec<(Row, Tid)>,
}

fn datum(x: Option<i32>) -> Datum {
    Datum::from(x)
}

fn setup(desc: [bool; 2], nulls_first: [bool; 2]) -> Setup {
    let storage = storage(256);
    let mut rel = empty_index(&storage, vec![int4(), int4()], false);
    for i in 0..2 {
        rel.keys[i].desc = desc[i];
        rel.keys[i].nulls_first = nulls_first[i];
    }
    let mut r = Random(17);
    let mut rows = Vec::new();
    for i in 0..1500u32 {
        let mut pick = |n| (r.below(15) > 0).then(|| r.below(n) as i32);
        let row = (pick(40), pick(12));
        let tid = Tid::new(i / 50, (i % 50) as u16 + 1);
        insert(&storage, &rel, &[datum(row.0), datum(row.1)], tid);
        rows.push((row, tid));
    }
    let order = |i: usize, a: Option<i32>, b: Option<i32>| match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) if nulls_first[i] => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) if nulls_first[i] => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) if desc[i] => b.cmp(&a),
        (Some(a), Some(b)) => a.cmp(&b),
    };
    rows.sort_by(|(a, t), (b, u)| {
        order(0, a.0, b.0).then(order(1, a.1, b.1)).then(t.to_u64().cmp(&u.to_u64()))
    });
    Setup { storage, rel: Arc::new(rel), rows }
}

fn holds(strategy: Strategy, o: Ordering) -> bool {
    match strategy {
        Strategy::Lt => o.is_lt(),
        Strategy::Le => o.is_le(),
        Strategy::Eq => o.is_eq(),
        Strategy::Ge => o.is_ge(),
        Strategy::Gt => o.is_gt(),
    }
}

fn matches(row: &Row, key: &ScanKey) -> bool {
    let x = if key.attr == 0 { row.0 } else { row.1 };
    match &key.value {
        ScanValue::IsNull => x.is_none(),
        ScanValue::IsNotNull => x.is_some(),
        ScanValue::One(v) => {
            x.is_some_and(|x| !v.is_null() && holds(key.strategy, x.cmp(&v.as_i32())))
        }
        ScanValue::Any(vs) => x.is_some_and(|x| vs.contains(&Datum::I32(x))),
        ScanValue::Row(vs) => {
            let (Some(a), v) = (row.0, &vs[0].1) else { return false };
            let first = a.cmp(&v.as_i32());
            if first.is_ne() || vs.len() == 1 {
                return holds(key.strategy, first);
            }
            row.1.is_some_and(|b| holds(key.strategy, b.cmp(&vs[1].1.as_i32())))
        }
    }
}

fn random_key(r: &mut Random) -> ScanKey {
    let attr = r.below(2) as u16;
    let n = if attr == 0 { 42 } else { 13 };
    let strategy = Strategy::from_number(r.below(5) as u16 + 1).unwrap();
    let one = |r: &mut Random| Datum::I32(r.below(n) as i32 - 1);
    match r.below(10) {
        0 => ScanKey { attr, strategy, value: ScanValue::IsNull, cmp: None },
        1 => ScanKey { attr, strategy, value: ScanValue::IsNotNull, cmp: None },
        2 | 3 => {
            let mut vs: Vec<Datum> = (0..r.below(6)).map(|_| one(r)).collect();
            vs.push(Datum::Null);
            ScanKey { attr, strategy: Strategy::Eq, value: ScanValue::Any(vs), cmp: None }
        }
        4 if strategy != Strategy::Eq => {
            let row =
                vec![(0, Datum::I32(r.below(40) as i32)), (1, Datum::I32(r.below(12) as i32))];
            ScanKey { attr: 0, strategy, value: ScanValue::Row(row), cmp: None }
        }
        _ => ScanKey::new(attr, strategy, one(r)),
    }
}

fn collect(s: &mut dyn IndexScan, direction: Direction) -> Vec<Tid> {
    let mut out = Vec::new();
    while let Some(t) = s.next(direction).unwrap() {
        out.push(t);
    }
    out
}

fn compare_all(s: &Setup, seed: u64) {
    let mut r = Random(seed);
    for _ in 0..120 {
        let keys: Vec<ScanKey> = (0..r.below(4)).map(|_| random_key(&mut r)).collect();
        let mut expected: Vec<Tid> = s
            .rows
            .iter()
            .filter(|(row, _)| keys.iter().all(|k| matches(row, k)))
            .map(|r| r.1)
            .collect();
        let mut sc = scan(&s.storage, &s.rel, keys.clone());
        assert_eq!(collect(&mut *sc, Direction::Forward), expected, "{keys:?}");
        let mut turned = collect(&mut *sc, Direction::Backward);
        turned.reverse();
        assert_eq!(turned, expected, "backward after forward: {keys:?}");
        let mut sc = scan(&s.storage, &s.rel, keys.clone());
        let mut backward = collect(&mut *sc, Direction::Backward);
        backward.reverse();
        assert_eq!(backward, expected, "backward: {keys:?}");
        let mut bits = Vec::new();
        let n = scan(&s.storage, &s.rel, keys.clone()).bitmap(&mut |t| bits.push(t)).unwrap();
        assert_eq!(n as usize, bits.len());
        bits.sort_by_key(|t| t.to_u64());
        expected.sort_by_key(|t| t.to_u64());
        assert_eq!(bits, expected, "bitmap: {keys:?}");
    }
}

/// Members of a team by turns of some entries: together they give each entry once, and each its
/// own in the index's order.
fn compare_teams(s: &Setup, seed: u64) {
    let mut r = Random(seed);
    for _ in 0..60 {
        let keys: Vec<ScanKey> = (0..r.below(4)).map(|_| random_key(&mut r)).collect();
        for direction in [Direction::Forward, Direction::Backward] {
            let team = Arc::default();
            let begin = |_| {
                let parallel = Some(Arc::clone(&team));
                let options = ScanOptions { parallel, ..ScanOptions::default() };
                s.rel.am().begin_scan(&s.storage, &s.rel, keys.clone(), options).unwrap()
            };
            let mut members: Vec<_> = (0..3).map(begin).collect();
            let mut got = vec![Vec::new(); members.len()];
            let mut going = vec![true; members.len()];
            while going.contains(&true) {
                let n = r.below(3) as usize;
                for _ in 0..r.below(200) {
                    match members[n].next(direction).unwrap() {
                        Some(tid) => got[n].push(tid),
                        None => going[n] = false,
                    }
                }
            }
            let in_order = |row: &&(Row, Tid)| keys.iter().all(|k| matches(&row.0, k));
            let mut expected: Vec<Tid> = s.rows.iter().filter(in_order).map(|r| r.1).collect();
            if direction == Direction::Backward {
                expected.reverse();
            }
            let place = |tid: &Tid| expected.iter().position(|t| t == tid).unwrap();
            for part in &got {
                assert!(part.is_sorted_by_key(place), "{keys:?}");
            }
            let mut all = got.concat();
            all.sort_by_key(place);
            assert_eq!(all, expected, "{keys:?}");
        }
    }
}

#[test]
fn teams_share_the_entries() {
    let s = setup([false, true], [false, true]);
    for seed in 0..4 {
        compare_teams(&s, seed);
    }
}

#[test]
fn keys_of_all_kinds() {
    for bits in 0..16u32 {
        let b = |i: u32| bits >> i & 1 == 1;
        let s = setup([b(0), b(1)], [b(2), b(3)]);
        compare_all(&s, bits as u64);
    }
}

#[test]
fn back_and_forth_with_marks() {
    let s = setup([false, false], [false, false]);
    let keys = vec![
        ScanKey::new(0, Strategy::Ge, Datum::I32(3)),
        ScanKey::new(0, Strategy::Lt, Datum::I32(30)),
    ];
    let expected: Vec<Tid> = s
        .rows
        .iter()
        .filter(|(row, _)| keys.iter().all(|k| matches(row, k)))
        .map(|r| r.1)
        .collect();
    let mut sc = scan(&s.storage, &s.rel, keys);
    let mut r = Random(3);
    let (mut at, mut mark) = (-1i64, None);
    for _ in 0..6000 {
        match r.below(20) {
            0 => {
                sc.mark().unwrap();
                mark = Some(at);
            }
            1 if mark.is_some() => {
                sc.restore().unwrap();
                at = mark.unwrap();
            }
            n => {
                let forward = n < 14;
                let step = if forward { 1 } else { -1 };
                at = (at + step).clamp(-1, expected.len() as i64);
                let direction = if forward { Direction::Forward } else { Direction::Backward };
                // Before the first call there is no place to go back from.
                if at == -1 && !forward {
                    at = 0;
                    while sc.next(Direction::Backward).unwrap().is_some() {}
                    assert_eq!(sc.next(Direction::Forward).unwrap(), Some(expected[0]));
                    continue;
                }
                let want = (at < expected.len() as i64).then(|| expected[at as usize]);
                assert_eq!(sc.next(direction).unwrap(), want);
            }
        }
    }
}

#[test]
fn values_and_kills() {
    let s = setup([false, true], [false, false]);
    let mut sc = scan(&s.storage, &s.rel, vec![]);
    let mut values = Vec::new();
    for (row, tid) in &s.rows {
        assert_eq!(sc.next(Direction::Forward).unwrap(), Some(*tid));
        sc.values(&mut values).unwrap();
        assert_eq!(values, [datum(row.0), datum(row.1)]);
        if row.0 == Some(7) {
            sc.kill();
        }
    }
    assert_eq!(sc.next(Direction::Forward).unwrap(), None);
    let alive = collect(&mut *scan(&s.storage, &s.rel, vec![]), Direction::Forward).len();
    let killed = s.rows.iter().filter(|r| r.0.0 == Some(7)).count();
    assert_eq!(alive, s.rows.len() - killed);
}
