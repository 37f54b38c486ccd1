//! A segment of the log with these bytes: reading ends, and never panics.
#![no_main]

use base::{Lsn, PAGE_SIZE};
use libfuzzer_sys::fuzz_target;
use os::Disk;
use os::sim::{Faults, SimDisk};
use std::path::Path;
use wal::{Record, WalReader, segment_name};

const SEGMENT: u64 = 64 << 10;

fuzz_target!(|data: &[u8]| {
    let disk = Disk::simulated(SimDisk::new(1, Faults::default()));
    let dir = Path::new("pg_wal");
    if disk.create_dir_all(dir).is_err() {
        return;
    }
    let mut bytes = data.to_vec();
    bytes.resize(SEGMENT as usize, 0);
    let name = segment_name(1, Lsn(SEGMENT), SEGMENT);
    if disk.write_atomic(&dir.join(name), &bytes).is_err() {
        return;
    }
    let mut reader = WalReader::new(&disk, dir, SEGMENT, 1, Lsn(SEGMENT));
    let mut record = Record::default();
    let mut page = vec![0; PAGE_SIZE];
    while reader.read(&mut record).is_ok_and(|r| r.is_record()) {
        for b in &record.blocks {
            record.restore_image(b.id, &mut page);
            let _ = record.block_data(b.id);
        }
    }
});
