//! `pg_test_fsync`: which way to have bytes on the disk for sure is the fastest.

use crate::options::{Given, complain, flag, with_value};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

const NAME: &str = "pg_test_fsync";
const USAGE: &str = "Usage: pg_test_fsync [-f FILENAME] [-s SECS-PER-TEST]\n";
const BLOCK: usize = 8192;
/// `O_DIRECT`, `O_DSYNC` and `O_SYNC` of Linux.
const DIRECT: i32 = 0o40000;
const DATA_SYNC: i32 = 0o10000;
const SYNC: i32 = 0o4010000;

struct Test {
    file: String,
    nanos: u64,
    bytes: os::AlignedBuf,
}

/// The program.
pub fn main(args: &[String]) -> i32 {
    let flags = [
        with_value('f', "filename"),
        with_value('s', "secs-per-test"),
        flag('V', "version"),
        flag('?', "help"),
    ];
    let given = match Given::begin(NAME, USAGE, args, &flags, 1) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let seconds = match given.get("secs-per-test").map(str::parse::<u64>) {
        None => 5,
        Some(Ok(n)) if n > 0 && n <= u64::from(u32::MAX) => n,
        Some(Ok(_)) => {
            let most = u32::MAX;
            eprintln!("{NAME}: error: --secs-per-test must be in range 1..{most}");
            return 1;
        }
        Some(Err(_)) => {
            complain(NAME, "error: invalid argument for option --secs-per-test");
            return 1;
        }
    };
    if let Some(extra) = given.operands.first() {
        complain(NAME, &format!("error: too many command-line arguments (first is \"{extra}\")"));
        return 1;
    }
    let plural = if seconds == 1 { "second" } else { "seconds" };
    println!("{seconds} {plural} per test");
    println!("O_DIRECT supported on this platform for open_datasync and open_sync.");
    let file = given.get("filename").unwrap_or("./pg_test_fsync.out").to_string();
    let mut bytes = os::AlignedBuf::zeroed(16 * 1024);
    os::random::fill(&mut bytes[..]);
    let test = Test { file, nanos: seconds * 1_000_000_000, bytes };
    let result = test.all();
    let _ = std::fs::remove_file(&test.file);
    match result {
        Ok(()) => 0,
        Err(e) => {
            let text = e.to_string();
            let reason = text.split(" (os error").next().unwrap_or_default();
            eprintln!("{NAME}: error: could not open output file: {reason}");
            1
        }
    }
}

type Io<T> = std::io::Result<T>;

impl Test {
    fn open(&self, flags: i32) -> Io<File> {
        OpenOptions::new().read(true).write(true).custom_flags(flags).open(Path::new(&self.file))
    }

    /// Does it for as long as a test takes, and tells how often that was.
    fn run(&self, what: &str, mut once: impl FnMut() -> Io<()>) {
        print!("{what:<32}");
        let start = os::clock::monotonic_nanos();
        let mut operations = 0u64;
        let mut passed = 0;
        while passed < self.nanos {
            if once().is_err() {
                println!("{:>20}", "n/a");
                return;
            }
            operations += 1;
            passed = os::clock::monotonic_nanos() - start;
        }
        let per_second = operations as f64 * 1e9 / passed as f64;
        let micros = passed as f64 / 1000.0 / operations as f64;
        println!("{per_second:>15.3} ops/sec  {micros:>6.0} usecs/op");
    }

    fn all(&self) -> Io<()> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(Path::new(&self.file))?;
        // The file has its full size, so that only its contents change later.
        for i in 0..64 {
            file.write_all_at(&self.bytes[..], i * self.bytes.len() as u64)?;
        }
        file.sync_all()?;
        self.methods(1)?;
        self.methods(2)?;
        self.sizes()?;
        self.other_descriptor()?;
        println!("\nNon-sync'ed 8kB writes:");
        self.run("        write", || file.write_all_at(&self.bytes[..BLOCK], 0));
        Ok(())
    }

    fn write(&self, file: &File, writes: usize) -> Io<()> {
        (0..writes).try_for_each(|i| file.write_all_at(&self.bytes[..BLOCK], (i * BLOCK) as u64))
    }

    fn methods(&self, writes: usize) -> Io<()> {
        let words = if writes == 1 { "one 8kB write" } else { "two 8kB writes" };
        println!("\nCompare file sync methods using {words}:");
        println!("(in \"wal_sync_method\" preference order, except fdatasync is Linux's default)");
        let opened = |what: &str, flags: i32| match self.open(flags) {
            Ok(file) => self.run(what, || self.write(&file, writes)),
            Err(_) => println!("{what:<32}{:>20}", "n/a*"),
        };
        opened("        open_datasync", DATA_SYNC | DIRECT);
        let file = self.open(0)?;
        self.run("        fdatasync", || {
            self.write(&file, writes)?;
            file.sync_data()
        });
        self.run("        fsync", || {
            self.write(&file, writes)?;
            file.sync_all()
        });
        println!("{:<32}{:>20}", "        fsync_writethrough", "n/a");
        opened("        open_sync", SYNC | DIRECT);
        Ok(())
    }

    fn sizes(&self) -> Io<()> {
        println!("\nCompare open_sync with different write sizes:");
        println!("(This is designed to compare the cost of writing 16kB in different write");
        println!("open_sync sizes.)");
        for (count, kb) in [(1, 16), (2, 8), (4, 4), (8, 2), (16, 1)] {
            let s = if count == 1 { " " } else { "s" };
            let what = format!("        {count:2} * {kb:2}kB open_sync write{s}");
            let Ok(file) = self.open(SYNC | DIRECT) else {
                println!("{what:<32}{:>20}", "n/a*");
                continue;
            };
            let size = kb * 1024;
            self.run(&what, || {
                (0..count)
                    .try_for_each(|i| file.write_all_at(&self.bytes[..size], (i * size) as u64))
            });
        }
        Ok(())
    }

    fn other_descriptor(&self) -> Io<()> {
        println!("\nTest if fsync on non-write file descriptor is honored:");
        println!("(If the times are similar, fsync() can sync data written on a different");
        println!("descriptor.)");
        self.run("        write, fsync, close", || {
            let file = self.open(0)?;
            self.write(&file, 1)?;
            file.sync_all()?;
            drop(file);
            self.open(0).map(drop)
        });
        self.run("        write, close, fsync", || {
            let file = self.open(0)?;
            self.write(&file, 1)?;
            drop(file);
            self.open(0)?.sync_all()
        });
        Ok(())
    }
}
