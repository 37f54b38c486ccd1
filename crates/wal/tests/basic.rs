//! The log on a real disk and on a simulated one, without faults.

use base::{BlockNo, Fork, Lsn, Oid, PAGE_SIZE, RelFile, Xid};
use os::sim::{Faults, SimDisk};
use os::sync::Arc;
use os::{Disk, IoMethod};
use std::path::{Path, PathBuf};
use wal::{
    BlockFlags, CheckPoint, Control, ControlFile, DbState, Record, RecordBuilder, Redo, RedoTable,
    Rmgr, Wal, WalConfig,
};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("wal-{name}-{}", std::process::id()));
        let _ = Disk::real().remove_dir_all(&path);
        Disk::real().create_dir_all(&path).unwrap();
        Folder(path)
    }
    fn disk(&self) -> Disk {
        Disk::real_in(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = Disk::real().remove_dir_all(&self.0);
    }
}

fn small() -> WalConfig {
    WalConfig { segment_size: 256 << 10, buffers: 64 << 10, ..WalConfig::default() }
}

fn note(text: &[u8]) -> RecordBuilder<'static> {
    let mut b = RecordBuilder::new(Rmgr::Generic, 0, Xid(3));
    b.data(text);
    b
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

fn table() -> RedoTable {
    RedoTable::new().with(Rmgr::Generic, Arc::new(Nothing)).with(Rmgr::Xlog, Arc::new(Nothing))
}

const DIR: &str = "pg_wal";

#[test]
fn what_is_inserted_is_read_back() {
    let folder = Folder::new("read");
    let _ = IoMethod::detect();
    let wal = Wal::create(folder.disk(), Path::new(DIR), small()).unwrap();
    let start = wal.inserted();
    let mut lsns = vec![];
    for i in 0..5000usize {
        wal.check_space().unwrap();
        lsns.push(wal.insert(&note(&vec![i as u8; i % 700])));
        if i % 100 == 0 {
            wal.flush(lsns[i]).unwrap();
            assert!(wal.flushed() >= lsns[i]);
        }
    }
    // Larger than the ring, and than a segment.
    wal.check_space().unwrap();
    let big: Vec<u8> = (0..600_000).map(|i| (i / 7) as u8).collect();
    lsns.push(wal.insert(&note(&big)));
    wal.flush(wal.inserted()).unwrap();
    let mut reader = wal.reader(start);
    let mut record = Record::default();
    for (i, lsn) in lsns.iter().enumerate() {
        assert!(reader.read(&mut record).unwrap().is_record(), "record {i}");
        assert_eq!(record.lsn_end, *lsn);
        if i < 5000 {
            assert_eq!(record.data(), vec![i as u8; i % 700]);
        } else {
            assert_eq!(record.data(), big);
        }
    }
    assert!(!reader.read(&mut record).unwrap().is_record());
    let stats = wal.stats();
    assert_eq!(stats.records, 5001);
    wal.shutdown().unwrap();
}

#[test]
fn many_threads_insert_and_flush() {
    let folder = Folder::new("threads");
    let wal = Wal::create(folder.disk(), Path::new(DIR), small()).unwrap();
    let start = wal.inserted();
    let handles: Vec<_> = (0..6u8)
        .map(|t| {
            let wal = wal.clone();
            os::thread::spawn("inserter", move || {
                for i in 0..500usize {
                    wal.check_space().unwrap();
                    let lsn = wal.insert(&note(&vec![t; 1 + i % 300]));
                    if i % 50 == 0 {
                        wal.flush(lsn).unwrap();
                    }
                }
            })
            .unwrap()
        })
        .collect();
    for h in handles {
        h.join().unwrap();
    }
    wal.flush(wal.inserted()).unwrap();
    let mut reader = wal.reader(start);
    let mut record = Record::default();
    let mut counts = [0; 6];
    while reader.read(&mut record).unwrap().is_record() {
        let t = record.data()[0];
        assert_eq!(record.data(), vec![t; 1 + counts[t as usize] % 300]);
        counts[t as usize] += 1;
    }
    assert_eq!(counts, [500; 6]);
    wal.shutdown().unwrap();
}

#[test]
fn images_follow_the_redo_pointer() {
    let disk = Disk::simulated(SimDisk::new(1, Faults::default()));
    let config = WalConfig { threads: false, ..small() };
    let wal = Wal::create(disk, Path::new(DIR), config).unwrap();
    let rel = RelFile { tablespace: Oid(1663), database: Oid(5), number: 1 };
    let mut page = vec![0u8; PAGE_SIZE];
    let change = |page: &mut Vec<u8>| {
        let mut b = RecordBuilder::new(Rmgr::Heap, 0, Xid(3));
        b.block(0, rel, Fork::Main, BlockNo(0), Some(page), BlockFlags::NONE);
        b.block_data(0, b"x");
        let (start, end) = wal.insert_range(&b);
        drop(b);
        page[..8].copy_from_slice(&end.0.to_le_bytes());
        wal.flush(end).unwrap();
        wal.read_record(start).unwrap().block(0).unwrap().has_image()
    };
    assert!(change(&mut page));
    assert!(!change(&mut page));
    wal.begin_checkpoint().unwrap();
    assert!(change(&mut page));
    assert!(!change(&mut page));
    for _ in 0..20 {
        wal.begin_checkpoint().unwrap();
        assert!(change(&mut page));
    }
    wal.set_full_page_writes(false);
    wal.begin_checkpoint().unwrap();
    assert!(!change(&mut page));
}

#[test]
fn checkpoint_recover_recycle_and_go_on() {
    let folder = Folder::new("recover");
    let disk = folder.disk();
    let control_path = Path::new("pg_control");
    let wal = Wal::create(disk.clone(), Path::new(DIR), small()).unwrap();
    let control = ControlFile::create(&disk, control_path, &Control::new(1, 256 << 10)).unwrap();
    let checkpoint = |wal: &Wal, control: &ControlFile, shutdown| {
        let redo = wal.begin_checkpoint().unwrap();
        wal.finish_checkpoint(control, CheckPoint { redo, ..CheckPoint::default() }, shutdown)
            .unwrap();
        wal.remove_old_segments(redo, 2, &|_| true).unwrap()
    };
    checkpoint(&wal, &control, false);
    let mut recycled = 0;
    for i in 0..3000u32 {
        wal.check_space().unwrap();
        wal.insert(&note(&vec![i as u8; 600]));
        if i % 600 == 599 {
            recycled += checkpoint(&wal, &control, false).0;
        }
    }
    assert!(recycled > 0);
    wal.insert(&note(b"after"));
    let switched = wal.switch_segment().unwrap();
    assert!(switched < wal.inserted());
    assert_eq!(wal.inserted().0 % wal.segment_size(), 0);
    wal.insert(&note(b"last"));
    wal.shutdown().unwrap();
    drop(wal);
    for round in 0..3 {
        let control = ControlFile::open(&disk, control_path).unwrap();
        let c = control.get();
        let wal = Wal::open(disk.clone(), Path::new(DIR), small(), c.checkpoint_copy.redo).unwrap();
        let mut seen = vec![];
        let end = wal
            .recover(&c, &table(), &mut |r| {
                seen.push(r.data().to_vec());
                Ok(())
            })
            .unwrap();
        if round == 0 {
            assert_eq!(seen.last().unwrap(), b"last");
        }
        control.update(|c| c.state = DbState::InProduction).unwrap();
        wal.start_writing(end.end).unwrap();
        assert_eq!(wal.inserted(), end.end);
        wal.insert(&note(b"more"));
        checkpoint(&wal, &control, round == 1);
        wal.shutdown().unwrap();
    }
}

#[test]
fn a_full_disk_is_the_statements_error() {
    let sim = SimDisk::new(1, Faults { capacity: Some(700 << 10), ..Faults::default() });
    let config = WalConfig { threads: false, ..small() };
    let wal = Wal::create(Disk::simulated(sim.clone()), Path::new(DIR), config).unwrap();
    let start = wal.inserted();
    let mut count = 0;
    let e = loop {
        match wal.check_space() {
            Ok(()) => wal.insert(&note(&[1; 1000])),
            Err(e) => break e,
        };
        count += 1;
    };
    assert_eq!(e.code().as_str(), "53100");
    // The statement fails; commits that are under way still fit.
    wal.flush(wal.inserted()).unwrap();
    let end = wal.insert(&note(b"commit"));
    wal.flush(end).unwrap();
    assert!(!wal.is_failed());
    sim.set_faults(Faults::default());
    wal.check_space().unwrap();
    let mut reader = wal.reader(start);
    let mut record = Record::default();
    while reader.read(&mut record).unwrap().is_record() {
        count -= 1;
    }
    assert_eq!(count, -1);
}

#[test]
fn a_failed_sync_stops_the_log_for_good() {
    let sim = SimDisk::new(1, Faults::default());
    let told = Arc::new(os::sync::Mutex::new(vec![]));
    let sink = told.clone();
    let on_panic = Arc::new(move |e: &base::Error| sink.lock().push(e.to_string()));
    let config = WalConfig { threads: false, on_panic, ..small() };
    let wal = Wal::create(Disk::simulated(sim.clone()), Path::new(DIR), config).unwrap();
    let lsn = wal.insert(&note(b"x"));
    let fail_sync_at = Some(sim.operations() + 2);
    sim.set_faults(Faults { fail_sync_at, ..Faults::default() });
    let before = wal.flushed();
    assert!(wal.flush(lsn).is_err());
    assert!(wal.flush(lsn).is_err(), "a second try must not succeed");
    assert_eq!(wal.flushed(), before);
    assert_eq!(told.lock().len(), 1);
    assert!(told.lock()[0].starts_with("PANIC"));
}

#[test]
fn listeners_hear_of_flushes() {
    struct Ear(os::sync::Mutex<Lsn>);
    impl wal::FlushListener for Ear {
        fn flushed(&self, upto: Lsn) {
            let mut known = self.0.lock();
            *known = known.max(upto);
        }
    }
    let folder = Folder::new("listen");
    let wal = Wal::create(folder.disk(), Path::new(DIR), small()).unwrap();
    let ear = Arc::new(Ear(os::sync::Mutex::new(Lsn(0))));
    wal.on_flush(ear.clone());
    let lsn = wal.insert(&note(b"x"));
    wal.flush_async(lsn);
    let begin = os::clock::monotonic_nanos();
    while *ear.0.lock() < lsn {
        os::thread::sleep(std::time::Duration::from_millis(1));
        assert!(os::clock::monotonic_nanos() - begin < 5_000_000_000);
    }
    // Nobody asks for this one: the walwriter flushes it by and by.
    let lsn = wal.insert(&note(b"y"));
    wal.flush_soon();
    while *ear.0.lock() < lsn {
        os::thread::sleep(std::time::Duration::from_millis(1));
        assert!(os::clock::monotonic_nanos() - begin < 5_000_000_000);
    }
    wal.shutdown().unwrap();
}

#[test]
fn replay_compares_pages_when_asked() {
    struct Breaks;
    impl Redo for Breaks {
        fn redo(&self, _: &Record) -> base::Result<()> {
            Ok(())
        }
        fn describe(&self, _: &Record) -> String {
            "a change".into()
        }
    }
    let disk = Disk::simulated(SimDisk::new(1, Faults::default()));
    let config = WalConfig { threads: false, consistency_check: true, ..small() };
    let wal = Wal::create(disk.clone(), Path::new(DIR), config.clone()).unwrap();
    let rel = RelFile { tablespace: Oid(1663), database: Oid(5), number: 1 };
    let page = vec![9u8; PAGE_SIZE];
    let redo = wal.inserted();
    let mut b = RecordBuilder::new(Rmgr::Heap, 0, Xid(3));
    b.block(0, rel, Fork::Main, BlockNo(0), Some(&page), BlockFlags::WILL_INIT);
    let start = wal.insert_range(&b).0;
    wal.flush(wal.inserted()).unwrap();
    for same in [true, false] {
        let wal = Wal::open(disk.clone(), Path::new(DIR), config.clone(), redo).unwrap();
        let mut table = RedoTable::new().with(Rmgr::Heap, Arc::new(Breaks));
        table.set_pages(Arc::new(move |_, page| {
            page.fill(9);
            page[..8].fill(0);
            page[100] += !same as u8;
            Ok(true)
        }));
        let mut control = Control::new(1, 256 << 10);
        control.checkpoint = start;
        control.checkpoint_copy.redo = redo;
        let result = wal.recover(&control, &table, &mut |_| Ok(()));
        assert_eq!(result.is_ok(), same, "{result:?}");
    }
}
