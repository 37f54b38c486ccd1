//! The log replayed elsewhere, up to random positions: the tree there must be sound at each.

use super::*;
use crate::btree::page::{self, Page};
use crate::btree::redo::BtreeRedo;
use crate::index::VacuumStats;
use base::{BlockNo, Fork, Lsn};
use wal::{ReadOutcome, Record, Redo, RedoTable, Rmgr};

/// The same index elsewhere: own files, own memory of the root.
fn copy_of(rel: &IndexRel) -> IndexRel {
    IndexRel {
        name: rel.name.clone(),
        desc: rel.desc.clone(),
        keys: rel.keys.clone(),
        am_cache: Default::default(),
        ..*rel
    }
}

fn work(storage: &Arc<Storage>, rel: &IndexRel, seed: u64, steps: u64) {
    let mut r = Random(seed);
    for i in 0..steps {
        let key = Datum::I64(r.below(if seed.is_multiple_of(2) { 60 } else { 1 << 30 }) as i64);
        insert(storage, rel, &[key], Tid::new(i as u32, seed as u16));
        if i % 900 == 899 {
            let (low, high) = (r.below(i) as u32, i as u32);
            let mut stats = VacuumStats::default();
            let dead = |t: Tid| t.block.0 >= low && t.block.0 < high;
            rel.am().bulk_delete(storage, rel, &dead, &mut stats).unwrap();
        }
    }
}

/// All that a page says, wherever its items lie.
fn content(p: &Page) -> (Vec<u8>, Vec<Vec<u8>>) {
    let meta = page::flags(p) & page::flag::META != 0;
    let n = if meta { 0 } else { page::count(p) };
    let mut rest = p[page::TRAILER..].to_vec();
    if meta {
        rest.extend_from_slice(&p[page::HEADER..page::HEADER + 20]);
    }
    (rest, (0..n).map(|i| page::item(p, i).0.to_vec()).collect())
}

fn replay(seed: u64) {
    let from = storage(300);
    let start = from.wal.inserted();
    let rel = index(&from, vec![int8()], false);
    if seed < 10 {
        rel.am().build_empty(&from, &rel).unwrap();
    } else {
        let rows = (0..3000).map(|i| (vec![Datum::I64(i % 700)], Tid::new(1 << 20, i as u16 + 1)));
        build(&from, &rel, rows.collect(), 1 << 30);
    }
    work(&from, &rel, seed, 3000);
    from.wal.flush(from.wal.inserted()).unwrap();

    let to = storage(300);
    let copy = copy_of(&rel);
    let table = RedoTable::new().with(Rmgr::Btree, Arc::new(BtreeRedo { pool: to.pool.clone() }));
    let mut reader = from.wal.reader(start);
    let mut record = Record::default();
    let (mut r, mut last) = (Random(seed), Lsn::INVALID);
    while reader.read(&mut record).unwrap() == ReadOutcome::Record {
        table.redo(&record).unwrap();
        if r.below(5) == 0 {
            // A record that is replayed twice changes nothing.
            table.redo(&record).unwrap();
        }
        if r.below(200) == 0
            && to.pool.relation(rel.file, rel.persistence).exists(Fork::Main).unwrap()
        {
            check(&to, &copy);
        }
        last = record.lsn_end;
    }
    assert_eq!(last, from.wal.inserted());
    assert_eq!(check(&to, &copy), check(&from, &rel));
    let (a, b) = (Tree::new(&from, &rel), Tree::new(&to, &copy));
    let n = a.rel.nblocks(Fork::Main).unwrap();
    assert_eq!(n, b.rel.nblocks(Fork::Main).unwrap());
    for block in 0..n.0 {
        let (x, y) = (a.read(BlockNo(block)).unwrap(), b.read(BlockNo(block)).unwrap());
        assert_eq!(content(&x), content(&y), "seed {seed}: block {block}");
    }
    // Replay may end between the two steps of a split or a deletion: writers go on from there.
    work(&to, &copy, seed + 2, 500);
    check(&to, &copy);
}

#[test]
fn replay_gives_the_same_pages() {
    for seed in [1, 2, 11] {
        replay(seed);
    }
}

/// Stops replay at random records, and goes on writing there.
#[test]
fn a_crash_anywhere_leaves_a_tree_to_go_on_with() {
    let from = storage(300);
    let start = from.wal.inserted();
    let rel = index(&from, vec![int8()], false);
    rel.am().build_empty(&from, &rel).unwrap();
    work(&from, &rel, 7, 2500);
    from.wal.flush(from.wal.inserted()).unwrap();
    let mut r = Random(99);
    for round in 0..10u64 {
        let to = storage(300);
        let copy = copy_of(&rel);
        let redo = BtreeRedo { pool: to.pool.clone() };
        let mut reader = from.wal.reader(start);
        let mut record = Record::default();
        let stop = 2 + r.below(2600);
        for _ in 0..stop {
            if reader.read(&mut record).unwrap() != ReadOutcome::Record {
                break;
            }
            redo.redo(&record).unwrap();
        }
        let before = check(&to, &copy);
        for i in 0..400 {
            let key = Datum::I64(r.below(1 << 30) as i64);
            insert(&to, &copy, &[key], Tid::new(1 << 25 | i, 1));
        }
        let mut stats = VacuumStats::default();
        copy.am().bulk_delete(&to, &copy, &|t| t.block.0 >> 25 == 1, &mut stats).unwrap();
        assert_eq!(stats.removed, 400);
        assert_eq!(check(&to, &copy), before, "round {round}");
    }
}
