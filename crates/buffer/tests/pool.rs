//! The pool over real files: round trips, eviction, checksums, write ordering, races.

use base::{BlockNo, Fork, Lsn, Oid, PAGE_SIZE, RelFile, Result};
use buffer::{BufferPool, BufferUsage, Log, Persistence, PoolConfig, RelFiles, Strategy};
use os::{Disk, IoMethod};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A log that is durable up to where somebody asked.
#[derive(Default)]
struct TestLog(AtomicU64);

impl Log for TestLog {
    fn flush(&self, lsn: Lsn) -> Result<()> {
        self.0.fetch_max(lsn.0, Ordering::SeqCst);
        Ok(())
    }
    fn flushed(&self) -> Lsn {
        Lsn(self.0.load(Ordering::SeqCst))
    }
}

struct Folder {
    disk: Disk,
    dir: PathBuf,
    log: Arc<TestLog>,
}

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("olifant-buffer-{}-{n}", std::process::id()));
        let disk = Disk::real();
        let _ = disk.remove_dir_all(&dir);
        disk.create_dir_all(&dir).unwrap();
        Folder { disk, dir, log: Arc::new(TestLog::default()) }
    }

    fn pool(&self, buffers: usize) -> Arc<BufferPool> {
        self.pool_with(buffers, IoMethod::detect())
    }

    fn pool_with(&self, buffers: usize, io_method: IoMethod) -> Arc<BufferPool> {
        let config =
            PoolConfig { buffers, data_dir: self.dir.clone(), io_method, ..PoolConfig::default() };
        BufferPool::new(self.disk.clone(), self.log.clone(), config)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = self.disk.remove_dir_all(&self.dir);
    }
}

fn file(number: u32) -> RelFile {
    RelFile { tablespace: Oid(1663), database: Oid(5), number }
}

fn made(pool: &BufferPool, number: u32, blocks: u32) -> Arc<RelFiles> {
    let rel = pool.create_relation(file(number), Persistence::Permanent).unwrap();
    let mut left = blocks;
    while left > 0 {
        let n = left.min(8);
        let pins = rel.extend(Fork::Main, n).unwrap();
        assert_eq!(pins[0].block().0, blocks - left);
        for pin in &pins {
            let block = pin.block().0;
            let mut page = pin.write();
            page.mark_dirty();
            page[100..104].copy_from_slice(&block.to_le_bytes());
        }
        left -= n;
    }
    assert_eq!(rel.nblocks(Fork::Main).unwrap(), BlockNo(blocks));
    rel
}

fn number_in(page: &[u8; PAGE_SIZE]) -> u32 {
    u32::from_le_bytes(page[100..104].try_into().unwrap())
}

#[test]
fn pages_survive_eviction_and_restart() {
    let folder = Folder::new();
    let pool = folder.pool(16);
    let rel = made(&pool, 10, 100);
    let before = BufferUsage::current();
    for block in 0..100 {
        assert_eq!(number_in(&rel.read(Fork::Main, BlockNo(block)).unwrap().read()), block);
        assert_eq!(number_in(&rel.read_shared(Fork::Main, BlockNo(block)).unwrap()), block);
    }
    let used = BufferUsage::current() - before;
    assert_eq!(used.shared_hit + used.shared_read, 200);
    assert!(used.shared_read >= 84, "{used:?}");
    let counts = pool.checkpoint(false, &mut |_| {}).unwrap();
    assert!(counts.files == 1);
    drop(rel);
    drop(pool);
    let pool = folder.pool(64);
    let rel = pool.relation(file(10), Persistence::Permanent);
    assert_eq!(rel.nblocks(Fork::Main).unwrap(), BlockNo(100));
    for block in (0..100).rev() {
        assert_eq!(number_in(&rel.read(Fork::Main, BlockNo(block)).unwrap().read()), block);
    }
    let error = rel.read(Fork::Main, BlockNo(100)).err().unwrap();
    assert_eq!(
        error.message(),
        "could not read blocks 100..100 in file \"base/5/10\": read only 0 of 8192 bytes"
    );
}

#[test]
fn a_broken_page_is_an_error_each_time() {
    let folder = Folder::new();
    let pool = folder.pool(16);
    made(&pool, 11, 3);
    pool.checkpoint(false, &mut |_| {}).unwrap();
    drop(pool);
    let path = folder.dir.join("base/5/11");
    let mut bytes = folder.disk.read(&path).unwrap();
    bytes[PAGE_SIZE + 4000] ^= 1;
    folder.disk.write_atomic(&path, &bytes).unwrap();
    let pool = folder.pool(16);
    let rel = pool.relation(file(11), Persistence::Permanent);
    for _ in 0..40 {
        let error = rel.read(Fork::Main, BlockNo(1)).err().unwrap();
        assert_eq!(error.code().to_string(), "XX001");
        assert_eq!(error.message(), "invalid page in block 1 of relation \"base/5/11\"");
    }
    assert_eq!(number_in(&rel.read(Fork::Main, BlockNo(2)).unwrap().read()), 2);
    let page = rel.read_or_zero(Fork::Main, BlockNo(1)).unwrap();
    assert!(page.read().iter().all(|b| *b == 0));
}

#[test]
fn the_log_goes_first() {
    let folder = Folder::new();
    let pool = folder.pool(16);
    let rel = made(&pool, 12, 1);
    {
        let mut page = rel.read_exclusive(Fork::Main, BlockNo(0)).unwrap();
        page.mark_dirty();
        page.set_lsn(Lsn(777));
    }
    assert_eq!(folder.log.flushed(), Lsn(0));
    made(&pool, 13, 100);
    assert!(!rel.is_resident(Fork::Main, BlockNo(0)));
    assert_eq!(folder.log.flushed(), Lsn(777));
    assert_eq!(rel.read_shared(Fork::Main, BlockNo(0)).unwrap().lsn(), Lsn(777));
}

#[test]
fn latches_upgrade_downgrade_and_exclude() {
    let folder = Folder::new();
    let pool = folder.pool(16);
    let rel = made(&pool, 14, 1);
    let a = rel.read(Fork::Main, BlockNo(0)).unwrap();
    let b = a.clone();
    let shared = a.read();
    assert!(b.try_write().is_none());
    let second = b.read();
    let shared = shared.try_upgrade().err().unwrap();
    drop(second);
    let mut exclusive = shared.try_upgrade().ok().unwrap();
    assert!(b.try_read().is_none());
    let version = b.version();
    exclusive[500] = 1;
    assert!(b.optimistic(|p| p.u8(500)).is_none());
    assert!(rel.optimistic(Fork::Main, BlockNo(0), |p| p.u8(500)).is_none());
    let shared = exclusive.downgrade();
    assert!(b.version() > version);
    assert_eq!(b.optimistic(|p| (p.u8(500), p.u32(100), p.u64(PAGE_SIZE - 4))), Some((1, 0, 0)));
    drop(shared);
    assert!(a.try_write_cleanup().is_none());
    drop(b);
    assert!(a.try_write_cleanup().is_some());
    assert!(a.into_write().into_pin().try_read().is_some());
}

#[test]
fn all_frames_pinned_is_an_error_and_not_a_hang() {
    let folder = Folder::new();
    let pool = folder.pool(16);
    let rel = made(&pool, 15, 40);
    let pins: Vec<_> = (0..16).map(|b| rel.read(Fork::Main, BlockNo(b)).unwrap()).collect();
    let error = rel.read(Fork::Main, BlockNo(20)).err().unwrap();
    assert_eq!(error.message(), "no unpinned buffers available");
    drop(pins);
    rel.read(Fork::Main, BlockNo(20)).unwrap();
}

#[test]
fn truncate_and_drop_forget_pages() {
    let folder = Folder::new();
    let pool = folder.pool(32);
    let rel = made(&pool, 16, 50);
    rel.truncate(Fork::Main, BlockNo(10)).unwrap();
    assert_eq!(rel.nblocks(Fork::Main).unwrap(), BlockNo(10));
    assert!(rel.read(Fork::Main, BlockNo(10)).is_err());
    let page = rel.extend_one(Fork::Main).unwrap();
    assert_eq!(page.block(), BlockNo(10));
    assert!(page.iter().all(|b| *b == 0));
    drop(page);
    assert_eq!(number_in(&rel.read_shared(Fork::Main, BlockNo(9)).unwrap()), 9);
    pool.drop_relation(file(16)).unwrap();
    assert!(!folder.disk.exists(&folder.dir.join("base/5/16")));
    let error = rel.read(Fork::Main, BlockNo(0)).err().unwrap();
    assert_eq!(error.message(), "could not open file \"base/5/16\": No such file or directory");
    pool.drop_relation(file(16)).unwrap();
    pool.checkpoint(false, &mut |_| {}).unwrap();
    assert!(pool.contents().iter().all(|c| c.0 != file(16)));
}

fn all_orders(method: IoMethod) {
    let folder = Folder::new();
    let pool = folder.pool(64);
    let rel = made(&pool, 17, 500);
    pool.checkpoint(false, &mut |_| {}).unwrap();
    drop((rel, pool));
    let pool = folder.pool_with(64, method);
    let rel = pool.relation(file(17), Persistence::Permanent);
    let orders: [(Vec<u32>, Strategy); 4] = [
        ((0..500).collect(), Strategy::BulkRead),
        ((0..500).rev().collect(), Strategy::Normal),
        ((0..500).step_by(7).chain(3..20).collect(), Strategy::Vacuum(32)),
        ((0..500).map(|i| i * 37 % 500).collect(), Strategy::Normal),
    ];
    for (order, strategy) in orders {
        let blocks: Vec<BlockNo> = order.iter().map(|b| BlockNo(*b)).collect();
        let mut stream = pool.read_stream(&rel, Fork::Main, Box::new(blocks.into_iter()), strategy);
        for block in &order {
            let pin = stream.next().unwrap().unwrap();
            assert_eq!(pin.block(), BlockNo(*block));
            assert_eq!(number_in(&pin.read()), *block);
        }
        assert!(stream.next().unwrap().is_none());
    }
    // An abandoned stream, and one that runs past the end.
    let mut stream =
        pool.read_stream(&rel, Fork::Main, Box::new((0..600).map(BlockNo)), Strategy::BulkRead);
    for _ in 0..30 {
        stream.next().unwrap();
    }
    drop(stream);
    let mut stream =
        pool.read_stream(&rel, Fork::Main, Box::new((480..600).map(BlockNo)), Strategy::BulkRead);
    for _ in 480..500 {
        stream.next().unwrap().unwrap();
    }
    assert!(stream.next().is_err());
}

#[test]
fn streams_give_every_page_in_order_sync() {
    all_orders(IoMethod::Sync);
}

#[test]
fn streams_give_every_page_in_order_worker() {
    all_orders(IoMethod::Worker);
}

#[test]
fn streams_give_every_page_in_order_best() {
    all_orders(IoMethod::detect());
}

#[test]
fn a_stream_never_gives_a_stale_page() {
    let folder = Folder::new();
    let pool = folder.pool(32);
    let rel = made(&pool, 18, 200);
    pool.checkpoint(false, &mut |_| {}).unwrap();
    for round in 1..20u8 {
        let mut stream =
            pool.read_stream(&rel, Fork::Main, Box::new((0..200).map(BlockNo)), Strategy::Normal);
        for block in 0..200u32 {
            let pin = stream.next().unwrap().unwrap();
            assert_eq!(pin.read()[200], if block == 0 { round - 1 } else { round }, "{block}");
            drop(pin);
            // Change the next page, and push it out, behind the stream's back.
            if block < 199 {
                let mut page = rel.read_exclusive(Fork::Main, BlockNo(block + 1)).unwrap();
                page.mark_dirty();
                page[200] = round;
            }
            if block % 10 == 0 {
                for other in 0..40 {
                    drop(rel.read(Fork::Main, BlockNo((block + 60 + other) % 200)).unwrap());
                }
            }
        }
        let mut page = rel.read_exclusive(Fork::Main, BlockNo(0)).unwrap();
        page.mark_dirty();
        page[200] = round;
    }
}

#[test]
fn free_space_is_found_again() {
    let folder = Folder::new();
    let pool = folder.pool(64);
    let rel = made(&pool, 19, 60);
    assert_eq!(rel.page_with_space(100).unwrap(), None);
    rel.record_free_space(BlockNo(7), 5000).unwrap();
    rel.record_free_space(BlockNo(50), 1000).unwrap();
    assert_eq!(rel.page_with_space(4000).unwrap(), Some(BlockNo(7)));
    assert_eq!(rel.page_with_space(6000).unwrap(), None);
    assert!(rel.page_with_space(500).unwrap().is_some());
    assert_eq!(rel.record_and_find(BlockNo(7), 10, 500).unwrap(), Some(BlockNo(50)));
    assert_eq!(rel.recorded_free_space(BlockNo(50)).unwrap(), 992);
    // A page beyond the end is corrected.
    rel.record_free_space(BlockNo(5000), 8000).unwrap();
    assert_eq!(rel.page_with_space(7000).unwrap(), None);
    assert_eq!(rel.recorded_free_space(BlockNo(5000)).unwrap(), 0);
    rel.truncate_free_space(BlockNo(50)).unwrap();
    assert_eq!(rel.page_with_space(500).unwrap(), None);
    rel.record_free_space(BlockNo(3), 3000).unwrap();
    rel.vacuum_free_space().unwrap();
    assert_eq!(rel.page_with_space(2900).unwrap(), Some(BlockNo(3)));
}

/// Threads that add to counters in pages of a relation that does not fit, while others write
/// dirty pages back, checkpoint, scan and read without latches.
#[test]
fn nothing_is_lost_when_everything_happens_at_once() {
    const BLOCKS: u32 = 120;
    let folder = Folder::new();
    let pool = folder.pool(40);
    let rel = made(&pool, 20, BLOCKS);
    let stop = Arc::new(AtomicBool::new(false));
    let mut adders = Vec::new();
    for seed in 0..4u64 {
        let rel = rel.clone();
        adders.push(os::thread::spawn("adder", move || {
            let mut x = seed * 7919 + 1;
            for _ in 0..15_000 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let block = BlockNo((x >> 33) as u32 % BLOCKS);
                let mut page = rel.read_exclusive(Fork::Main, block).unwrap();
                page.mark_dirty();
                assert_eq!(number_in(&page), block.0);
                let n = u64::from_le_bytes(page[200..208].try_into().unwrap()) + 1;
                for at in [200, 4000, 8184] {
                    page[at..at + 8].copy_from_slice(&n.to_le_bytes());
                }
            }
        }));
    }
    let mut others = Vec::new();
    let (p, s) = (pool.clone(), stop.clone());
    others.push(os::thread::spawn("bgwriter", move || {
        while !s.load(Ordering::Relaxed) {
            p.background_write(8).unwrap();
            os::thread::sleep(std::time::Duration::from_micros(300));
        }
    }));
    let (p, s) = (pool.clone(), stop.clone());
    others.push(os::thread::spawn("checkpointer", move || {
        while !s.load(Ordering::Relaxed) {
            p.checkpoint(false, &mut |_| {}).unwrap();
            os::thread::sleep(std::time::Duration::from_millis(3));
        }
    }));
    let (p, r, s) = (pool.clone(), rel.clone(), stop.clone());
    others.push(os::thread::spawn("reader", move || {
        let mut seen = 0;
        while !s.load(Ordering::Relaxed) {
            let mut stream = p.read_stream(
                &r,
                Fork::Main,
                Box::new((0..BLOCKS).map(BlockNo)),
                Strategy::BulkRead,
            );
            while let Some(pin) = stream.next().unwrap() {
                let page = pin.read();
                assert_eq!(page[200..208], page[8184..8192]);
            }
            for block in 0..BLOCKS {
                let read = r.optimistic(Fork::Main, BlockNo(block), |p| {
                    (p.u32(100), p.u64(200), p.u64(4000), p.u64(8184))
                });
                if let Some((number, a, b, c)) = read {
                    assert_eq!((number, a, a), (block, b, c));
                    seen += 1;
                }
            }
        }
        assert!(seen > 0);
    }));
    for t in adders {
        t.unwrap().join().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    for t in others {
        t.unwrap().join().unwrap();
    }
    let total = |rel: &Arc<RelFiles>| -> u64 {
        (0..BLOCKS)
            .map(|b| {
                let page = rel.read_shared(Fork::Main, BlockNo(b)).unwrap();
                u64::from_le_bytes(page[200..208].try_into().unwrap())
            })
            .sum()
    };
    assert_eq!(total(&rel), 60_000);
    pool.checkpoint(true, &mut |_| {}).unwrap();
    drop((rel, pool));
    let pool = folder.pool(40);
    assert_eq!(total(&pool.relation(file(20), Persistence::Permanent)), 60_000);
}

#[test]
fn relations_come_and_go_under_checkpoints() {
    let folder = Folder::new();
    let pool = folder.pool(64);
    let stop = Arc::new(AtomicBool::new(false));
    let (p, s) = (pool.clone(), stop.clone());
    let checkpointer = os::thread::spawn("checkpointer", move || {
        while !s.load(Ordering::Relaxed) {
            p.checkpoint(false, &mut |_| {}).unwrap();
            p.background_write(16).unwrap();
        }
    })
    .unwrap();
    let makers: Vec<_> = (0..3u32)
        .map(|t| {
            let pool = pool.clone();
            os::thread::spawn("maker", move || {
                for i in 0..40 {
                    let number = 1000 + t * 1000 + i;
                    let rel = made(&pool, number, 20);
                    rel.truncate(Fork::Main, BlockNo(5)).unwrap();
                    assert_eq!(number_in(&rel.read_shared(Fork::Main, BlockNo(4)).unwrap()), 4);
                    pool.drop_relation(file(number)).unwrap();
                }
            })
            .unwrap()
        })
        .collect();
    for maker in makers {
        maker.join().unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    checkpointer.join().unwrap();
    assert!(folder.disk.list(&folder.dir.join(Path::new("base/5"))).unwrap().is_empty());
}

#[test]
fn unlogged_and_temporary_pages_wait() {
    let folder = Folder::new();
    let pool = folder.pool(64);
    for (number, persistence) in [(30, Persistence::Unlogged), (31, Persistence::Temp)] {
        let rel = pool.create_relation(file(number), persistence).unwrap();
        let mut page = rel.extend_one(Fork::Main).unwrap();
        page.mark_dirty();
        page[100] = 1;
    }
    assert_eq!(pool.checkpoint(false, &mut |_| {}).unwrap().pages, 0);
    assert_eq!(pool.checkpoint(true, &mut |_| {}).unwrap().pages, 1);
}
