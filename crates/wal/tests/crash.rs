//! Random histories on the simulated disk: insert, flush, checkpoint, switch; crash at some
//! operation; recover; go on; crash again. What was acknowledged is there, what is there was
//! written, in order and without gaps.
//!
//! `OLIFANT_SEED=n` runs one seed, `OLIFANT_SEEDS=n` that many.

use base::{Lsn, Xid};
use os::Disk;
use os::random::Rng;
use os::sim::{Faults, Sim, SimDisk, Stop};
use os::sync::Arc;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wal::{
    CheckPoint, Control, ControlFile, Record, RecordBuilder, Redo, RedoTable, Rmgr, SyncMethod,
    Wal, WalConfig,
};

const SEGMENT: u64 = 64 << 10;
const DIR: &str = "pg_wal";
const CONTROL: &str = "pg_control";

struct Nothing;
impl Redo for Nothing {
    fn redo(&self, _: &Record) -> base::Result<()> {
        Ok(())
    }
    fn describe(&self, _: &Record) -> String {
        String::new()
    }
}

/// What the world was told, and what it knows of the log.
#[derive(Default)]
struct World {
    /// By writer: the last number acknowledged.
    acknowledged: BTreeMap<u64, u64>,
    /// By writer: the last number inserted.
    inserted: BTreeMap<u64, u64>,
    /// The greatest position acknowledged.
    flushed: u64,
}

/// The world, although a crash may have unwound its holder.
fn held(world: &Mutex<World>) -> MutexGuard<'_, World> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

fn config(rng: &mut Rng) -> WalConfig {
    let methods = [SyncMethod::Fdatasync, SyncMethod::OpenDatasync];
    WalConfig {
        segment_size: SEGMENT,
        buffers: SEGMENT as usize,
        sync_method: methods[rng.below(2) as usize],
        threads: rng.one_in(2),
        writer_delay: Duration::from_micros(200),
        ..WalConfig::default()
    }
}

fn contents(writer: u64, number: u64) -> Vec<u8> {
    let mut data = vec![];
    data.extend_from_slice(&writer.to_le_bytes());
    data.extend_from_slice(&number.to_le_bytes());
    let mut rng = Rng::new(writer * 1000 + number);
    let len = match rng.below(30) {
        0 => 30_000,
        1..5 => 3000,
        _ => 100,
    };
    data.extend((0..rng.below(len)).map(|i| (i ^ writer ^ number) as u8));
    data
}

/// Opens what a crash left; checks it against the world; gives a log to go on with.
fn recover(disk: &Disk, config: WalConfig, world: &mut World) -> (Arc<Wal>, ControlFile) {
    let control = ControlFile::open(disk, Path::new(CONTROL)).expect("control file");
    let c = control.get();
    let wal = Wal::open(disk.clone(), Path::new(DIR), config, c.checkpoint_copy.redo).unwrap();
    let nothing: Arc<dyn Redo> = Arc::new(Nothing);
    let table = RedoTable::new().with(Rmgr::Generic, nothing.clone()).with(Rmgr::Xlog, nothing);
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let end = wal.recover(&c, &table, &mut |r| {
        if r.rmgr == Rmgr::Generic {
            let (writer, number) = (word(r, 0), word(r, 8));
            assert_eq!(r.data(), contents(writer, number), "damaged record");
            if let Some(before) = last.insert(writer, number) {
                assert_eq!(number, before + 1, "gap in writer {writer}");
            }
        }
        Ok(())
    });
    let end = end.expect("recovery");
    assert!(end.end.0 >= world.flushed, "log ends at {}, acknowledged {}", end.end, world.flushed);
    for (writer, number) in &last {
        let known = world.inserted.get(writer).copied().unwrap_or(0);
        assert!(*number <= known + 1, "writer {writer} never wrote {number}");
    }
    for (writer, number) in &world.acknowledged {
        // Writers that were silent since the checkpoint are not in the log any more.
        if let Some(found) = last.get(writer) {
            assert!(found >= number, "writer {writer} lost {number}, log has {found}");
        }
    }
    wal.start_writing(end.end).expect("start writing");
    (wal, control)
}

fn word(r: &Record, at: usize) -> u64 {
    u64::from_le_bytes(r.data()[at..at + 8].try_into().expect("eight bytes"))
}

fn checkpoint(wal: &Wal, control: &ControlFile) -> base::Result<()> {
    let redo = wal.begin_checkpoint()?;
    let contents = CheckPoint { redo, ..CheckPoint::default() };
    wal.finish_checkpoint(control, contents, false)?;
    wal.remove_old_segments(redo, 2, &|_| true)?;
    Ok(())
}

fn write(wal: &Wal, world: &Mutex<World>, writer: u64, seed: u64) {
    let mut rng = Rng::new(seed);
    for number in 1..30 {
        if wal.check_space().is_err() {
            return;
        }
        held(world).inserted.insert(writer, number - 1);
        let mut b = RecordBuilder::new(Rmgr::Generic, 0, Xid(writer));
        b.data(&contents(writer, number));
        let lsn = wal.insert(&b);
        held(world).inserted.insert(writer, number);
        match rng.below(12) {
            0..4 => acknowledge(wal, world, writer, number, lsn),
            4 => wal.flush_async(lsn),
            5 => {
                let _ = wal.switch_segment();
            }
            _ => {}
        }
    }
}

fn acknowledge(wal: &Wal, world: &Mutex<World>, writer: u64, number: u64, lsn: Lsn) {
    if wal.flush(lsn).is_ok() {
        let mut world = held(world);
        world.acknowledged.insert(writer, number);
        world.flushed = world.flushed.max(lsn.0);
    }
}

/// One life of the server: recover, then some writers and a checkpointer at once.
fn life(disk: Disk, seed: u64, life: u64, world: Arc<Mutex<World>>) {
    let mut rng = Rng::new(seed);
    let (wal, control) = recover(&disk, config(&mut rng), &mut held(&world));
    let mut threads = vec![];
    for i in 0..1 + rng.below(3) {
        let (wal, world, seed) = (wal.clone(), world.clone(), rng.next_u64());
        let body = move || write(&wal, &world, life * 10 + i + 1, seed);
        threads.push(os::thread::spawn("writer", body).unwrap());
    }
    for _ in 0..rng.below(4) {
        os::thread::sleep(Duration::from_micros(rng.below(3000)));
        if checkpoint(&wal, &control).is_err() {
            break;
        }
    }
    for t in threads {
        let _ = t.join();
    }
    let _ = wal.shutdown();
}

fn faults(rng: &mut Rng) -> Faults {
    let mut faults = Faults::default();
    match rng.below(8) {
        0 => faults.fail_sync_at = Some(1 + rng.below(200)),
        1 => faults.capacity = Some(SEGMENT * (4 + rng.below(4))),
        2 => faults.fail_write_at = Some(1 + rng.below(200)),
        _ => {}
    }
    faults.crash_at = Some(1 + rng.below(250));
    faults
}

fn history(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut sim_disk = SimDisk::new(rng.next_u64(), Faults::default());
    {
        let disk = Disk::simulated(sim_disk.clone());
        let settings = WalConfig { threads: false, ..config(&mut rng) };
        let wal = Wal::create(disk.clone(), Path::new(DIR), settings).unwrap();
        disk.sync_dir(Path::new("")).unwrap();
        let new = Control::new(1, SEGMENT as u32);
        let control = ControlFile::create(&disk, Path::new(CONTROL), &new).unwrap();
        checkpoint(&wal, &control).unwrap();
    }
    let world = Arc::new(Mutex::new(World::default()));
    for n in 0..4 {
        sim_disk.set_faults(faults(&mut rng));
        let (disk, seed, world) = (sim_disk.clone(), rng.next_u64(), world.clone());
        let stop = Sim::new(rng.next_u64())
            .max_steps(300_000)
            .run(move || life(Disk::simulated(disk), seed, n, world));
        match stop {
            Stop::Finished(()) | Stop::Crashed => {}
            // Faults during recovery end it with an error, which the test's expects report.
            Stop::Panicked(s) if s.contains("could not") || s.contains("not open") => {}
            other => panic!("{other:?}"),
        }
        sim_disk = match rng.below(4) {
            0 => sim_disk.process_restart(),
            _ => sim_disk.power_cycle(rng.next_u64()),
        };
    }
    let disk = Disk::simulated(sim_disk);
    let settings = WalConfig { threads: false, ..config(&mut rng) };
    let world = &mut held(&world);
    let (wal, _) = recover(&disk, settings, world);
    assert!(wal.inserted() > Lsn(0));
}

#[test]
fn nothing_acknowledged_is_lost() {
    let number = |name: &str| std::env::var(name).ok().and_then(|s| s.parse::<u64>().ok());
    if let Some(seed) = number("OLIFANT_SEED") {
        return history(seed);
    }
    for seed in 0..number("OLIFANT_SEEDS").unwrap_or(200) {
        let result = std::panic::catch_unwind(|| history(seed));
        if let Err(payload) = result {
            eprintln!("OLIFANT_SEED={seed} fails");
            std::panic::resume_unwind(payload);
        }
    }
}
