//! A data directory is made, opened, stopped and opened again.

use engine::settings::Defaults;
use engine::{CreateOptions, Database};
use os::Disk;

#[test]
fn create_and_open() {
    let dir = std::env::temp_dir().join(format!("olifant-create-{}", std::process::id()));
    let _ = Disk::real().remove_dir_all(&dir);
    let disk = Disk::real();
    let t = os::clock::monotonic_nanos();
    Database::create(disk.clone(), &dir, &CreateOptions::default()).unwrap();
    println!("create: {} ms", (os::clock::monotonic_nanos() - t) / 1_000_000);
    for _ in 0..2 {
        let t = os::clock::monotonic_nanos();
        let db = Database::open(disk.clone(), &dir, Defaults::default()).unwrap();
        println!("open: {} ms", (os::clock::monotonic_nanos() - t) / 1_000_000);
        db.shutdown().unwrap();
    }
    disk.remove_dir_all(&dir).unwrap();
}
