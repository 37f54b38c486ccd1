//! Many rows, many threads.

use super::*;
use txn::Wait;

#[test]
fn bulk_and_batches() {
    let storage = storage(512);
    let rel = table(&storage);
    let s = Session::new(&storage, 1);
    let all: Vec<Vec<Datum>> = (0..10_000)
        .map(|i| row(i, i as i64 * 2, if i % 3 == 0 { "x" } else { "long enough to be outside" }))
        .collect();
    s.run(|x| {
        let mut tids = Vec::new();
        for part in all.chunks(1000) {
            let mut rows = part.iter().map(Vec::as_slice);
            rel.multi_insert(x, &mut rows, InsertOptions::default(), &mut tids).unwrap();
        }
        assert_eq!(tids.len(), 10_000);
    });
    let whole = |snapshot: &Snapshot| -> Vec<Vec<Datum>> {
        rows(&rel, snapshot).into_iter().map(|r| r.1).collect()
    };
    s.run(|x| assert_eq!(whole(x.snapshot), all));
    let report = vacuum(&rel);
    assert_eq!((report.live_tuples, report.deleted), (10_000.0, 0));
    assert_eq!(report.all_frozen, rel.nblocks().unwrap().0);
    s.run(|x| assert_eq!(whole(x.snapshot), all));
    // Only a count, in small pieces, by two workers of a parallel scan.
    s.run(|x| {
        let shared = Arc::new(ParallelBlocks::new(rel.nblocks().unwrap()));
        let snapshot = Arc::new(x.snapshot.clone());
        let mut scans: Vec<HeapScan> = (0..2)
            .map(|_| {
                let source = ScanSource::Parallel(Arc::clone(&shared));
                HeapScan::new(&rel, &snapshot, source, ScanOptions::default()).unwrap()
            })
            .collect();
        let (mut n, mut batch) = (0, Batch::default());
        let mut more = true;
        while more {
            more = false;
            for scan in &mut scans {
                if scan.next_batch(&mut batch, 7).unwrap() {
                    n += batch.len;
                    more = true;
                }
            }
        }
        assert_eq!(n, 10_000);
        let sample = rel.sample(x.snapshot, 100, 42, Default::default(), &mut |_| Ok(())).unwrap();
        assert_eq!(sample.rows.len(), 100);
        assert!((sample.total_rows - 10_000.0).abs() < 500.0, "{}", sample.total_rows);
    });
    check(&rel);
}

#[test]
fn copy_freeze_is_visible_at_once() {
    let storage = storage(512);
    let rel = table(&storage);
    let s = Session::new(&storage, 1);
    s.run(|x| {
        let all: Vec<Vec<Datum>> = (0..2000).map(|i| row(i, 0, "f")).collect();
        let mut rows = all.iter().map(Vec::as_slice);
        let options = InsertOptions { frozen: true };
        rel.multi_insert(x, &mut rows, options, &mut Vec::new()).unwrap();
    });
    let (visible, frozen) = rel.visibility_counts().unwrap();
    assert_eq!(visible, frozen);
    assert!(visible >= rel.nblocks().unwrap().0 - 1);
    check(&rel);
}

/// Threads add to counters in rows; every addition must count once.
#[test]
fn no_update_is_lost() {
    let storage = storage(256);
    let rel = table(&storage);
    let s = Session::new(&storage, 100);
    const ROWS: usize = 5;
    const THREADS: usize = 6;
    const EACH: usize = 150;
    s.run(|x| {
        for i in 0..ROWS {
            rel.insert(x, &row(i as i32, 0, "counter")).unwrap();
        }
    });
    let threads: Vec<_> = (0..THREADS)
        .map(|t| {
            let (storage, rel) = (Arc::clone(&storage), Arc::clone(&rel));
            os::thread::spawn("adder", move || adder(&storage, &rel, t, EACH, ROWS)).unwrap()
        })
        .collect();
    for t in threads {
        t.join().unwrap();
    }
    s.run(|x| {
        let all = rows(&rel, x.snapshot);
        assert_eq!(all.len(), ROWS);
        let sum: i64 = all.iter().map(|r| r.1[1].as_i64()).sum();
        assert_eq!(sum, (THREADS * EACH) as i64);
    });
    vacuum(&rel);
    check(&rel);
}

fn adder(storage: &Arc<Storage>, rel: &Arc<HeapRel>, t: usize, each: usize, rows_: usize) {
    let s = Session::new(storage, t as i32);
    for i in 0..each {
        let wanted = ((i * 7 + t) % rows_) as i32;
        s.run(|x| {
            let found = rows(rel, x.snapshot).into_iter().find(|r| r.1[0].as_i32() == wanted);
            let (mut tid, mut old) = found.expect("every row has a visible version");
            loop {
                let new = row(wanted, old[1].as_i64() + 1, "counter");
                let options = UpdateOptions { unchanged: None, wait: Wait::Block };
                match rel.update(x, tid, &new, options).unwrap() {
                    Outcome::Done(..) => return,
                    Outcome::Updated(_) => {}
                    other => panic!("{other:?}"),
                }
                // As the executor does: lock the latest version and look at it.
                let strength = txn::RowStrength::NoKeyUpdate;
                match rel.lock_latest(x, tid, strength, Wait::Block).unwrap() {
                    Outcome::Done(latest, _) => tid = latest,
                    other => panic!("{other:?}"),
                }
                let viewer = Viewer::new(storage, Sight::Any);
                assert!(rel.fetch_version(tid, &viewer, &mut old).unwrap());
            }
        });
    }
}
