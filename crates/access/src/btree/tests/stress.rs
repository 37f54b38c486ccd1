//! Many threads on one index.

use super::*;
use crate::index::{Direction, Strategy, VacuumStats};
use os::sync::Mutex;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Threads insert, look up and scan; one vacuums what they retire. Entries that stay must be seen
/// by every scan that begins after they came, in order.
fn stress(unique: bool, spread: u64, per_thread: u64) {
    let storage = storage(400);
    let rel = Arc::new(empty_index(&storage, vec![int8()], unique));
    let retired: Arc<Mutex<HashSet<Tid>>> = Arc::default();
    let stop = Arc::new(AtomicBool::new(false));
    let mut workers = Vec::new();
    for t in 0..4u64 {
        let (storage, rel, retired) = (storage.clone(), rel.clone(), retired.clone());
        workers.push(os::thread::spawn("insert", move || {
            let mut r = Random(t + 100);
            let mut mine = Vec::new();
            for i in 0..per_thread {
                let key = r.below(spread) as i64;
                let tid = Tid::new((t * per_thread + i) as u32, 1);
                if insert(&storage, &rel, &[Datum::I64(key)], tid) != InsertOutcome::Unique {
                    assert!(unique);
                    continue;
                }
                if !unique && r.below(3) == 0 {
                    retired.lock().insert(tid);
                } else {
                    mine.push((key, tid));
                }
                if i % 64 == 0 && !mine.is_empty() {
                    let (key, tid) = mine[r.below(mine.len() as u64) as usize];
                    let eq = ScanKey::new(0, Strategy::Eq, Datum::I64(key));
                    let mut s = scan(&storage, &rel, vec![eq]);
                    let mut found = false;
                    while let Some(x) = s.next(Direction::Forward).unwrap() {
                        found |= x == tid;
                    }
                    assert!(found, "key {key} row {tid} is not found");
                }
            }
            mine
        }));
    }
    let mut others = Vec::new();
    for direction in [Direction::Forward, Direction::Backward] {
        let (storage, rel, stop) = (storage.clone(), rel.clone(), stop.clone());
        others.push(os::thread::spawn("scan", move || {
            while !stop.load(Ordering::Relaxed) {
                let mut s = scan(&storage, &rel, vec![]);
                let (mut last, mut values) = (None, Vec::new());
                while let Some(tid) = s.next(direction).unwrap() {
                    s.values(&mut values).unwrap();
                    let here = (values[0].to_i64(), tid.to_u64());
                    if let Some(last) = last {
                        let ok = match direction {
                            Direction::Forward => last < here,
                            Direction::Backward => last > here,
                        };
                        assert!(ok, "{direction:?}: {last:?} then {here:?}");
                    }
                    last = Some(here);
                }
            }
        }));
    }
    let vacuum = {
        let (storage, rel, stop) = (storage.clone(), rel.clone(), stop.clone());
        let retired = retired.clone();
        os::thread::spawn("vacuum", move || {
            while !stop.load(Ordering::Relaxed) {
                let dead = retired.lock().clone();
                let mut stats = VacuumStats::default();
                rel.am().bulk_delete(&storage, &rel, &|t| dead.contains(&t), &mut stats).unwrap();
            }
        })
    };
    let mut expected = Vec::new();
    for w in workers {
        expected.extend(w.unwrap().join().unwrap());
    }
    stop.store(true, Ordering::Relaxed);
    for o in others {
        o.unwrap().join().unwrap();
    }
    vacuum.unwrap().join().unwrap();
    let dead = retired.lock().clone();
    let mut stats = VacuumStats::default();
    rel.am().bulk_delete(&storage, &rel, &|t| dead.contains(&t), &mut stats).unwrap();
    expected.sort_by_key(|(k, t)| (*k, t.to_u64()));
    let mut s = scan(&storage, &rel, vec![]);
    let mut seen = Vec::new();
    while let Some(t) = s.next(Direction::Forward).unwrap() {
        seen.push(t);
    }
    assert_eq!(seen, expected.iter().map(|e| e.1).collect::<Vec<_>>());
    assert_eq!(check(&storage, &rel), expected.len() as u64);
}

#[test]
fn threads_insert_scan_and_vacuum() {
    stress(false, 1 << 40, 2500);
    stress(false, 50, 2500);
}

#[test]
fn threads_race_for_unique_keys() {
    stress(true, 2000, 2500);
}
