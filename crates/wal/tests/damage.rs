//! Bytes that nobody wrote: the reader and replay end, and never panic.

use base::{BlockNo, Fork, Lsn, Oid, PAGE_SIZE, RelFile, Xid};
use os::random::Rng;
use os::sim::{Faults, SimDisk};
use os::{Disk, OpenOptions};
use std::path::Path;
use wal::{BlockFlags, Record, RecordBuilder, Rmgr, Wal, WalConfig, WalReader, segment_name};

const SEGMENT: u64 = 64 << 10;
const DIR: &str = "pg_wal";

fn config() -> WalConfig {
    let buffers = SEGMENT as usize;
    WalConfig { segment_size: SEGMENT, buffers, threads: false, ..WalConfig::default() }
}

/// A log of various records; gives the start and end of each.
fn some_log(disk: &Disk, rng: &mut Rng) -> Vec<(Lsn, Lsn)> {
    let wal = Wal::create(disk.clone(), Path::new(DIR), config()).unwrap();
    let rel = RelFile { tablespace: Oid(1663), database: Oid(5), number: 1 };
    let page = vec![0x55; PAGE_SIZE];
    let mut ranges = vec![];
    for i in 0..60 {
        let mut b = RecordBuilder::new(Rmgr::Heap, i, Xid(3));
        let flags = match rng.below(3) {
            0 => BlockFlags::FORCE_IMAGE,
            _ => BlockFlags::NO_IMAGE,
        };
        b.block(0, rel, Fork::Main, BlockNo(i as u32), Some(&page), flags);
        b.block_data(0, &vec![i; rng.below(300) as usize]);
        b.data(&vec![i; rng.below(2000) as usize]);
        wal.check_space().unwrap();
        ranges.push(wal.insert_range(&b));
    }
    wal.flush(wal.inserted()).unwrap();
    ranges
}

fn read_all(disk: &Disk, start: Lsn) -> Vec<(Lsn, Lsn)> {
    let mut reader = WalReader::new(disk, Path::new(DIR), SEGMENT, 1, start);
    let mut record = Record::default();
    let mut found = vec![];
    while reader.read(&mut record).unwrap().is_record() {
        found.push((record.lsn_start, record.lsn_end));
        let mut page = vec![0; PAGE_SIZE];
        for b in &record.blocks {
            let _ = record.restore_image(b.id, &mut page);
            let _ = record.block_data(b.id);
        }
    }
    found
}

#[test]
fn a_flipped_byte_ends_the_log_before_it() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let disk = Disk::simulated(SimDisk::new(seed, Faults::default()));
        let ranges = some_log(&disk, &mut rng);
        assert_eq!(read_all(&disk, ranges[0].0), ranges);
        let (from, to) = (ranges[0].0.0, ranges[59].1.0);
        for _ in 0..20 {
            let at = from + rng.below(to - from);
            let name = Path::new(DIR).join(segment_name(1, Lsn(at), SEGMENT));
            let file = disk.open(&name, &OpenOptions::new()).unwrap();
            let mut byte = [0];
            file.read_at(&mut byte, at % SEGMENT).unwrap();
            let flipped = [byte[0] ^ (1 << rng.below(8))];
            file.write_at(&flipped, at % SEGMENT).unwrap();
            let hit = ranges.iter().position(|(_, end)| at < end.0).unwrap();
            let found = read_all(&disk, ranges[0].0);
            // Padding is not covered: a flip there changes nothing.
            assert!(found == ranges[..hit] || found == ranges, "seed {seed} at {at}");
            file.write_at(&byte, at % SEGMENT).unwrap();
        }
    }
}

#[test]
fn random_bytes_are_no_log() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let disk = Disk::simulated(SimDisk::new(seed, Faults::default()));
        disk.create_dir_all(Path::new(DIR)).unwrap();
        for segment in 1..3 {
            let mut data: Vec<u8> = (0..SEGMENT).map(|_| rng.next_u64() as u8).collect();
            // Plausible headers here and there.
            for at in (0..SEGMENT as usize - 32).step_by(8) {
                if rng.one_in(3) {
                    data[at..at + 4].copy_from_slice(&(rng.below(3000) as u32).to_le_bytes());
                    data[at + 16] = rng.below(30) as u8;
                }
            }
            let name = segment_name(1, Lsn(segment * SEGMENT), SEGMENT);
            disk.write_atomic(&Path::new(DIR).join(name), &data).unwrap();
        }
        for at in (SEGMENT..3 * SEGMENT).step_by(8) {
            assert!(read_all(&disk, Lsn(at)).is_empty());
        }
    }
}

#[test]
fn records_of_an_earlier_round_are_not_taken_for_new_ones() {
    let disk = Disk::simulated(SimDisk::new(1, Faults::default()));
    let mut rng = Rng::new(1);
    let ranges = some_log(&disk, &mut rng);
    let first = Path::new(DIR).join(segment_name(1, ranges[0].0, SEGMENT));
    let later = Lsn(ranges[0].0.0 + 8 * SEGMENT);
    disk.rename(&first, &Path::new(DIR).join(segment_name(1, later, SEGMENT))).unwrap();
    assert!(read_all(&disk, later).is_empty());
}
