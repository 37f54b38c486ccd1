//! Nanoseconds per insertion and microseconds per flush: `cargo bench -p wal`.

use base::{BlockNo, Fork, Oid, PAGE_SIZE, RelFile, Xid};
use os::Disk;
use std::path::Path;
use wal::{BlockFlags, RecordBuilder, Rmgr, Wal, WalConfig};

fn main() {
    let folder = std::env::temp_dir().join(format!("wal-bench-{}", std::process::id()));
    Disk::real().create_dir_all(&folder).expect("folder");
    let disk = Disk::real_in(&folder);
    let wal = Wal::create(disk, Path::new("pg_wal"), WalConfig::default()).expect("log");
    let rel = RelFile { tablespace: Oid(1663), database: Oid(5), number: 16384 };
    let mut page = vec![0u8; PAGE_SIZE];
    page[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    let insert = |n: usize| {
        for i in 0..n {
            let mut b = RecordBuilder::new(Rmgr::Heap, 0, Xid(3));
            let block = BlockNo(i as u32);
            b.block(0, rel, Fork::Main, block, Some(&page), BlockFlags::STANDARD);
            b.block_data(0, &[7; 60]).data(&[1; 8]);
            if wal.check_space().is_err() {
                return;
            }
            wal.insert(&b);
        }
    };
    insert(1000);
    for round in 0..5 {
        os::thread::sleep(std::time::Duration::from_millis(300));
        wal.flush(wal.inserted()).expect("flush");
        let begin = os::clock::monotonic_nanos();
        insert(100_000);
        let nanos = os::clock::monotonic_nanos() - begin;
        println!("round {round}: {} ns per insertion of 130 bytes", nanos / 100_000);
    }
    for _ in 0..3 {
        let begin = os::clock::monotonic_nanos();
        for _ in 0..500 {
            insert(3);
            wal.flush(wal.inserted()).expect("flush");
        }
        let nanos = os::clock::monotonic_nanos() - begin;
        println!("{} us per flush of three records", nanos / 500_000);
    }
    let begin = os::clock::monotonic_nanos();
    let before = wal.stats().bytes;
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let wal = wal.clone();
            os::thread::spawn("bulk", move || {
                for _ in 0..400_000 {
                    let mut b = RecordBuilder::new(Rmgr::Heap, 0, Xid(3));
                    b.block(0, rel, Fork::Main, BlockNo(1), None, BlockFlags::NONE);
                    b.block_data(0, &[7; 300]);
                    if wal.check_space().is_err() {
                        return;
                    }
                    wal.insert(&b);
                }
            })
        })
        .collect();
    for t in threads {
        let _ = t.map(|t| t.join());
    }
    wal.flush(wal.inserted()).expect("flush");
    let nanos = os::clock::monotonic_nanos() - begin;
    let bytes = wal.stats().bytes - before;
    println!("{} MB/s by two threads, flushed", bytes * 1000 / nanos);
    println!("{:?}", wal.stats());
    wal.shutdown().expect("shutdown");
    Disk::real().remove_dir_all(&folder).expect("clean up");
}
