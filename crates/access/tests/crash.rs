//! Random histories on the simulated disk: a table with an index, transactions, vacuums and
//! checkpoints; a crash at some operation; recovery. What was acknowledged is there, a
//! transaction is there as a whole or not at all, and every page passes its check.

use access::heap::{
    HeapDesc, HeapRedo, HeapRel, HeapScan, Outcome, ScanOptions, ScanSource, Skip, UpdateOptions,
    VacuumOptions,
};
use access::index::{IndexMethod, IndexRel, KeyCmp, KeyColumn, UniqueCheck};
use access::{ExecTxn, Storage};
use base::{Lsn, Oid, RelFile, Tid, Xid};
use buffer::{BufferPool, Persistence, PoolConfig, StorageRedo};
use os::Disk;
use os::sim::{Faults, Sim, SimDisk, Stop};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use txn::{Backend, CommitData, Interrupts, Isolation, TxnConfig, TxnManager, TxnRedo, Wait};
use types::{Attr, Batch, Datum, TupleDesc, oid};
use wal::{CheckPoint, Control, ControlFile, Record, Redo, RedoTable, Rmgr, Wal, WalConfig};

const SEGMENT: u64 = 1 << 20;
const DIR: &str = "pg_wal";
const CONTROL: &str = "pg_control";

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ (self.0 >> 29);
        x.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 11
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Rows by id.
type Rows = BTreeMap<i32, i64>;

/// What the client knows.
#[derive(Default)]
struct World {
    /// After the last transaction whose commit was acknowledged.
    acknowledged: Rows,
    /// With the transaction that was committing when the crash came.
    pending: Option<Rows>,
}

fn held(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Nothing;
impl Redo for Nothing {
    fn redo(&self, _: &Record) -> base::Result<()> {
        Ok(())
    }
    fn describe(&self, _: &Record) -> String {
        String::new()
    }
}

struct Db {
    storage: Arc<Storage>,
    control: ControlFile,
    backend: Arc<Backend>,
    rel: Arc<HeapRel>,
    index: Arc<IndexRel>,
}

fn wal_config() -> WalConfig {
    WalConfig {
        segment_size: SEGMENT,
        buffers: SEGMENT as usize,
        threads: false,
        ..WalConfig::default()
    }
}

fn storage(disk: &Disk, wal: Arc<Wal>, next_xid: Xid, buffers: usize) -> Arc<Storage> {
    let config = PoolConfig {
        buffers,
        on_fatal: Arc::new(|e| os::abort(&e.to_string())),
        ..PoolConfig::default()
    };
    let pool = BufferPool::new(disk.clone(), wal.clone(), config);
    let config = TxnConfig { next_xid, ..TxnConfig::default() };
    let txn = TxnManager::open(disk.clone(), wal.clone(), config).unwrap();
    Arc::new(Storage { pool, wal, txn })
}

fn file(number: u32) -> RelFile {
    RelFile { tablespace: Oid(1663), database: Oid(5), number }
}

fn index() -> IndexRel {
    IndexRel {
        oid: Oid(16401),
        name: "i".into(),
        heap_oid: Oid(16400),
        file: file(16401),
        persistence: Persistence::Permanent,
        method: IndexMethod::Btree,
        desc: Arc::new(TupleDesc::new(vec![Attr::new("id", oid::INT4, 4, true, 4)])),
        keys: vec![KeyColumn::ascending(KeyCmp::Int)],
        unique: true,
        nulls_not_distinct: false,
        fillfactor: 90,
        deduplicate: false,
        am_cache: Default::default(),
    }
}

impl Db {
    fn over(storage: Arc<Storage>, control: ControlFile) -> Db {
        let desc = Arc::new(TupleDesc::new(vec![
            Attr::new("id", oid::INT4, 4, true, 4),
            Attr::new("n", oid::INT8, 8, true, 8),
            Attr::new("filler", oid::TEXT, -1, false, 4),
        ]));
        let mut about = HeapDesc::new(Oid(16400), file(16400), desc);
        about.indexed = [0].into_iter().collect();
        about.keys = [0].into_iter().collect();
        let rel = Arc::new(HeapRel::open(&storage, about, None));
        let backend = storage.txn.register(1, Oid(5), Arc::new(Interrupts::new())).unwrap();
        Db { storage, control, backend, rel, index: Arc::new(index()) }
    }

    fn create(disk: &Disk) -> base::Result<()> {
        disk.create_dir_all(Path::new("base/5"))?;
        let wal = Wal::create(disk.clone(), Path::new(DIR), wal_config())?;
        disk.sync_tree(Path::new(""))?;
        let new = Control::new(1, SEGMENT as u32);
        let control = ControlFile::create(disk, Path::new(CONTROL), &new)?;
        let db = Db::over(storage(disk, wal, Xid(3), 64), control);
        for f in [db.rel.about.file, db.index.file] {
            db.storage.pool.create_relation(f, Persistence::Permanent)?;
        }
        db.index.am().build_empty(&db.storage, &db.index)?;
        db.checkpoint()
    }

    fn checkpoint(&self) -> base::Result<()> {
        let redo = self.storage.wal.begin_checkpoint()?;
        let next_xid = self.storage.txn.next_xid();
        self.storage.pool.checkpoint(false, &mut |_| {})?;
        self.storage.txn.checkpoint()?;
        let contents = CheckPoint { redo, next_xid, ..CheckPoint::default() };
        self.storage.wal.finish_checkpoint(&self.control, contents, false)?;
        self.storage.wal.remove_old_segments(redo, 2, &|_| true)?;
        Ok(())
    }

    fn recover(disk: &Disk, buffers: usize) -> base::Result<Db> {
        let control = ControlFile::open(disk, Path::new(CONTROL))?;
        let c = control.get();
        let wal = Wal::open(disk.clone(), Path::new(DIR), wal_config(), c.checkpoint_copy.redo)?;
        let storage = storage(disk, wal, c.checkpoint_copy.next_xid, buffers);
        disk.sync_tree(Path::new(""))?;
        let nothing: Arc<dyn Redo> = Arc::new(Nothing);
        let (mgr, pool) = (storage.txn.clone(), storage.pool.clone());
        let xact = TxnRedo { mgr, pool: pool.clone(), on_commit: None };
        let table = RedoTable::new()
            .with(Rmgr::Xlog, nothing)
            .with(Rmgr::Storage, Arc::new(StorageRedo(pool.clone())))
            .with(Rmgr::Heap, Arc::new(HeapRedo::new(&pool)))
            .with(Rmgr::Btree, Arc::new(access::btree::redo::BtreeRedo { pool: pool.clone() }))
            .with(Rmgr::Transaction, Arc::new(xact));
        let end = storage.wal.recover(&c, &table, &mut |r| storage.txn.observe_xid(r.xid))?;
        storage.wal.start_writing(end.end)?;
        storage.txn.end_recovery(end.end)?;
        let db = Db::over(storage, control);
        db.checkpoint()?;
        Ok(db)
    }

    fn rows(&self, x: &ExecTxn<'_>) -> base::Result<Vec<(Tid, i32, i64)>> {
        let options = ScanOptions { columns: vec![0, 1], tids: true, ..ScanOptions::default() };
        let snapshot = Arc::new(x.snapshot.clone());
        let mut scan = HeapScan::new(&self.rel, &snapshot, ScanSource::All, options)?;
        let (mut out, mut batch) = (Vec::new(), Batch::default());
        while scan.next_batch(&mut batch, 1024)? {
            for (i, tid) in scan.tids().iter().enumerate() {
                out.push((*tid, batch.get(0, i).as_i32(), batch.get(1, i).as_i64()));
            }
        }
        Ok(out)
    }

    /// Compares with the world, by scan and by index.
    fn verify(&self, world: &mut World) -> base::Result<()> {
        let wrong = self.rel.check()?;
        assert!(wrong.is_empty(), "{wrong:#?}");
        self.index.am().check(&self.storage, &self.index, None)?;
        let txn = self.storage.txn.begin(&self.backend, Isolation::ReadCommitted);
        let snapshot = txn.snapshot();
        let x = ExecTxn { txn: &txn, snapshot: &snapshot };
        let rows = self.rows(&x)?;
        let found: Rows = rows.iter().map(|r| (r.1, r.2)).collect();
        assert_eq!(found.len(), rows.len(), "a row is there twice");
        if Some(&found) == world.pending.as_ref() {
            world.acknowledged = found;
        } else {
            assert_eq!(found, world.acknowledged, "pending: {:?}", world.pending);
        }
        world.pending = None;
        let mut probe = self.rel.probe(&x);
        for (_, id, _) in &rows {
            let am = self.index.am();
            let key = [Datum::I32(*id)];
            let hit =
                am.find_conflict(&self.storage, &self.index, &key, Tid::INVALID, &mut probe)?;
            assert!(hit.is_some(), "no index entry for row {id}");
        }
        drop(snapshot);
        txn.commit(CommitData::default(), &mut |_| Ok(()))?;
        Ok(())
    }

    fn put_index(&self, x: &ExecTxn<'_>, id: i32, tid: Tid) -> base::Result<()> {
        let mut probe = self.rel.probe(x);
        let key = [Datum::I32(id)];
        self.index.am().insert(
            &self.storage,
            &self.index,
            &key,
            tid,
            UniqueCheck::Yes,
            &mut probe,
        )?;
        Ok(())
    }

    /// One transaction of some statements; commits, or aborts, or is left alone.
    fn transaction(&self, rng: &mut Rng, world: &Mutex<World>) -> base::Result<()> {
        let txn = self.storage.txn.begin(&self.backend, Isolation::ReadCommitted);
        let mut rows = held(world).acknowledged.clone();
        for _ in 0..1 + rng.below(6) {
            txn.increment_command()?;
            let snapshot = txn.snapshot();
            let x = ExecTxn { txn: &txn, snapshot: &snapshot };
            let there = self.rows(&x)?;
            let some = (!there.is_empty()).then(|| there[rng.below(there.len() as u64) as usize]);
            let filler = Datum::string("f".repeat(rng.below(900) as usize));
            let n = rng.below(1000) as i64;
            match (rng.below(5), some) {
                (0 | 1, _) | (_, None) => {
                    let id = rng.below(100_000) as i32;
                    if rows.contains_key(&id) {
                        continue;
                    }
                    let tid = self.rel.insert(&x, &[Datum::I32(id), Datum::I64(n), filler])?;
                    self.put_index(&x, id, tid)?;
                    rows.insert(id, n);
                }
                (2, Some((tid, id, _))) => {
                    self.rel.delete(&x, tid, Wait::Block, false)?;
                    rows.remove(&id);
                }
                (_, Some((tid, id, _))) => {
                    let new = [Datum::I32(id), Datum::I64(n), filler];
                    let options = UpdateOptions { unchanged: None, wait: Wait::Block };
                    match self.rel.update(&x, tid, &new, options)? {
                        Outcome::Done(tid, access::heap::IndexUpdates::All) => {
                            self.put_index(&x, id, tid)?
                        }
                        Outcome::Done(..) => {}
                        other => panic!("{other:?}"),
                    }
                    rows.insert(id, n);
                }
            }
        }
        if rng.below(6) == 0 {
            return txn.abort();
        }
        held(world).pending = Some(rows.clone());
        let lsn = txn.commit(CommitData::default(), &mut |_| Ok(()))?;
        self.storage.wal.flush(lsn.max(Lsn(1)))?;
        let mut world = held(world);
        world.acknowledged = rows;
        world.pending = None;
        Ok(())
    }
}

fn life(disk: Disk, seed: u64, world: Arc<Mutex<World>>) -> base::Result<()> {
    let mut rng = Rng(seed);
    let db = Db::recover(&disk, 24 + rng.below(60) as usize)?;
    db.verify(&mut held(&world))?;
    for _ in 0..rng.below(80) {
        db.transaction(&mut rng, &world)?;
        match rng.below(24) {
            0 => db.checkpoint()?,
            1 => {
                db.storage.pool.background_write(8)?;
            }
            2 => {
                let mut lock = || Ok(true);
                let options = VacuumOptions {
                    strategy: Default::default(),
                    skip: Skip::AllVisible,
                    freeze_before: Xid(u64::MAX),
                    index_cleanup: true,
                    dead_limit: 100,
                    lock_for_truncation: Some(&mut lock),
                    pause: &mut |_, _| Ok(()),
                };
                db.rel.vacuum(std::slice::from_ref(&db.index), -1.0, options)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn history(seed: u64) {
    let mut rng = Rng(seed.wrapping_mul(77777) + 1);
    let mut sim_disk = SimDisk::new(rng.next(), Faults::default());
    Db::create(&Disk::simulated(sim_disk.clone())).unwrap();
    let world = Arc::new(Mutex::new(World::default()));
    for _ in 0..5 {
        let crash_at = Some(sim_disk.operations() + 1 + rng.below(200));
        sim_disk.set_faults(Faults { crash_at, ..Faults::default() });
        let (disk, seed, held) = (sim_disk.clone(), rng.next(), world.clone());
        let stop = Sim::new(rng.next())
            .max_steps(3_000_000)
            .run(move || life(Disk::simulated(disk), seed, held));
        match stop {
            Stop::Finished(Ok(())) | Stop::Crashed => {}
            other => panic!("{other:?}"),
        }
        sim_disk = match rng.below(4) {
            0 => sim_disk.process_restart(),
            _ => sim_disk.power_cycle(rng.next()),
        };
    }
    let disk = Disk::simulated(sim_disk);
    let world = &mut held(&world);
    let db = Db::recover(&disk, 64).unwrap();
    db.verify(world).unwrap();
}

#[test]
fn nothing_acknowledged_is_lost() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    if let Some(seed) = number("OLIFANT_SEED") {
        return history(seed);
    }
    for seed in 0..number("OLIFANT_SEEDS").unwrap_or(40) {
        let result = std::panic::catch_unwind(|| history(seed));
        if let Err(payload) = result {
            eprintln!("OLIFANT_SEED={seed} fails");
            std::panic::resume_unwind(payload);
        }
    }
}
