//! A log in memory and a transaction system on a folder of its own.
#![allow(dead_code)]

use base::{Lsn, Oid, Result, Xid};
use os::Disk;
use os::sync::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use txn::{Backend, Interrupts, Isolation, LockTag, Txn, TxnConfig, TxnLog, TxnManager};

/// Kind, transaction, data and end of a record.
pub type Inserted = (u8, Xid, Vec<u8>, Lsn);

/// Reserves positions and keeps records; durable when told.
pub struct TestLog {
    next: AtomicU64,
    flushed: AtomicU64,
    pub records: Mutex<Vec<Inserted>>,
    keep: bool,
}

impl TxnLog for TestLog {
    fn insert(&self, info: u8, xid: Xid, data: &[u8]) -> Result<Lsn> {
        let lsn = Lsn(self.next.fetch_add(64, Ordering::Relaxed) + 64);
        if lsn.0.is_multiple_of(192) {
            // Somebody else gets a later position and is done sooner.
            os::thread::yield_now();
        }
        if self.keep {
            self.records.lock().push((info, xid, data.to_vec(), lsn));
        }
        Ok(lsn)
    }
    fn inserted(&self) -> Lsn {
        Lsn(self.next.load(Ordering::Relaxed))
    }
    fn flush(&self, lsn: Lsn) -> Result<()> {
        self.flushed.fetch_max(lsn.0, Ordering::SeqCst);
        Ok(())
    }
    fn flushed(&self) -> Lsn {
        Lsn(self.flushed.load(Ordering::SeqCst))
    }
    fn flush_soon(&self, _: Lsn) {}
}

pub struct World {
    pub disk: Disk,
    pub dir: PathBuf,
    pub log: Arc<TestLog>,
    pub mgr: Arc<TxnManager>,
}

impl World {
    pub fn new() -> World {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("olifant-txn-{}-{n}", std::process::id()));
        let disk = Disk::real();
        let _ = disk.remove_dir_all(&dir);
        let log = Arc::new(TestLog {
            next: AtomicU64::new(1024),
            flushed: AtomicU64::new(0),
            records: Mutex::new(Vec::new()),
            keep: true,
        });
        let mgr = open(&disk, &dir, &log, Xid(3));
        World { disk, dir, log, mgr }
    }

    /// A server that starts again with what is on disk.
    pub fn reopen(&self, next_xid: Xid) -> Arc<TxnManager> {
        open(&self.disk, &self.dir, &self.log, next_xid)
    }

    pub fn session(&self, pid: i32) -> Arc<Backend> {
        self.mgr.register(pid, Oid(5), Arc::new(Interrupts::new())).unwrap()
    }

    pub fn begin(&self, pid: i32) -> Arc<Txn> {
        self.mgr.begin(&self.session(pid), Isolation::ReadCommitted)
    }
}

fn open(disk: &Disk, dir: &Path, log: &Arc<TestLog>, next_xid: Xid) -> Arc<TxnManager> {
    let config = TxnConfig {
        clog_dir: dir.to_path_buf(),
        next_xid,
        deadlock_timeout: Duration::from_millis(50),
        ..TxnConfig::default()
    };
    TxnManager::open(disk.clone(), log.clone(), config).unwrap()
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.disk.remove_dir_all(&self.dir);
    }
}

pub fn rel(n: u32) -> LockTag {
    LockTag::Relation { db: Oid(5), rel: Oid(n) }
}

/// Runs in a thread of its own.
pub fn spawn<T: Send + 'static>(
    f: impl FnOnce() -> T + Send + 'static,
) -> os::thread::JoinHandle<T> {
    os::thread::spawn("test", f).unwrap()
}

pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        os::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what} does not happen");
}

pub fn seeded(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |below| {
        x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (x >> 33) % below
    }
}
