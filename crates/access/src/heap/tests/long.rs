//! Long values, in a real TOAST table with its index.

use super::*;
use crate::index::{IndexMethod, IndexRel, KeyCmp, KeyColumn};
use crate::toast::{self, ToastRel};
use txn::Wait;

fn with_toast(storage: &Arc<Storage>) -> Arc<HeapRel> {
    let desc = Arc::new(toast::columns());
    let heap = open(storage, HeapDesc::new(Oid(16500), file(16500), Arc::clone(&desc)));
    drop(heap);
    let heap =
        HeapRel::open(storage, HeapDesc::new(Oid(16500), file(16500), Arc::clone(&desc)), None);
    let index = Arc::new(IndexRel {
        oid: Oid(16501),
        name: "pg_toast_index".into(),
        heap_oid: Oid(16500),
        file: file(16501),
        persistence: buffer::Persistence::Permanent,
        method: IndexMethod::Btree,
        desc: Arc::new(TupleDesc::new(desc.attrs[..2].to_vec())),
        keys: vec![KeyColumn::ascending(KeyCmp::Int), KeyColumn::ascending(KeyCmp::Int)],
        unique: true,
        nulls_not_distinct: false,
        fillfactor: 90,
        deduplicate: false,
        am_cache: Default::default(),
    });
    storage.pool.create_relation(index.file, index.persistence).unwrap();
    index.am().build_empty(storage, &index).unwrap();
    let about = about(16400);
    storage.pool.create_relation(about.file, about.persistence).unwrap();
    Arc::new(HeapRel::open(storage, about, Some(Arc::new(ToastRel::new(heap, index)))))
}

fn noise(n: usize) -> String {
    let mut x = 0x2545F4914F6CDD1Du64;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (b'!' + (x % 90) as u8) as char
        })
        .collect()
}

#[test]
fn long_values_come_back() {
    let storage = storage(512);
    let rel = with_toast(&storage);
    let s = Session::new(&storage, 1);
    let (a, b) = (noise(20_000), "z".repeat(100_000));
    let (ta, _) =
        s.run(|x| (rel.insert(x, &row(1, 0, &a)).unwrap(), rel.insert(x, &row(2, 0, &b)).unwrap()));
    let whole = |x: &ExecTxn<'_>| rows(&rel, x.snapshot);
    s.run(|x| {
        let got = whole(x);
        assert_eq!(got[0].1, row(1, 0, &a));
        assert_eq!(got[1].1, row(2, 0, &b));
    });
    let chunks = |x: &ExecTxn<'_>| {
        let toast = rel.toast.as_ref().unwrap();
        let viewer = Viewer::mvcc(&storage, x.snapshot);
        let mut n = 0;
        for block in 0..toast.heap.nblocks().unwrap().0 {
            for off in 1..5 {
                let mut out = vec![Datum::Null; 3];
                let tid = Tid::new(block, off);
                n += toast.heap.fetch_version(tid, &viewer, &mut out).unwrap() as usize;
            }
        }
        n
    };
    let before = s.run(|x| chunks(x));
    assert_eq!(before, 11, "twenty thousand bytes that do not compress, the rest in its row");
    // An update that leaves the long column alone stores nothing.
    let unchanged = [2].into_iter().collect();
    let ta = s.run(|x| {
        let options = UpdateOptions { unchanged: Some(&unchanged), wait: Wait::Block };
        match rel.update(x, ta, &row(1, 5, &a), options).unwrap() {
            Outcome::Done(tid, _) => tid,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(s.run(|x| chunks(x)), 11);
    s.run(|x| assert!(whole(x).contains(&(ta, row(1, 5, &a)))));
    // One that changes it replaces the chunks.
    let c = noise(5000);
    let ta = s.run(|x| {
        let options = UpdateOptions { unchanged: None, wait: Wait::Block };
        match rel.update(x, ta, &row(1, 5, &c), options).unwrap() {
            Outcome::Done(tid, _) => tid,
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(s.run(|x| chunks(x)), 3);
    s.run(|x| assert!(whole(x).contains(&(ta, row(1, 5, &c)))));
    s.run(|x| rel.delete(x, ta, Wait::Block, false).unwrap());
    assert_eq!(s.run(|x| chunks(x)), 0);
    check(&rel);
}
