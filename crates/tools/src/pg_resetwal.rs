//! `pg_resetwal`: throws the log away and begins a new one, for a cluster that cannot start with
//! the one it has, or whose counters have to be set by hand.
//!
//! Transaction ids have 64 bits here: `-x` sets the lower half, `-e` the upper one. What `-c`, `-m`
//! and `-O` set is checked and shown, and then nowhere to be kept: rows have no
//! multitransactions, and commits no times apart from their records.

use crate::options::{Flag, Given, complain, flag, with_value};
use crate::pg_controldata::build_rows;
use base::{Lsn, Oid, Xid};
use os::Disk;
use std::path::{Path, PathBuf};
use wal::{Control, ControlFile, DbState, Wal, WalConfig};

const NAME: &str = "pg_resetwal";

const FLAGS: &[Flag] = &[
    with_value('c', "commit-timestamp-ids"),
    with_value('D', "pgdata"),
    with_value('e', "epoch"),
    flag('f', "force"),
    with_value('l', "next-wal-file"),
    with_value('m', "multixact-ids"),
    flag('n', "dry-run"),
    with_value('o', "next-oid"),
    with_value('O', "multixact-offset"),
    with_value('u', "oldest-transaction-id"),
    with_value('x', "next-transaction-id"),
    with_value('\0', "char-signedness"),
    with_value('\0', "wal-segsize"),
    flag('V', "version"),
    flag('?', "help"),
];

const CONTROL: &str = "global/pg_control";

/// Why the program ends: `error: ...` and the lines that go with it, or a wrong argument.
#[derive(Debug)]
enum Failure {
    Error(String),
    Misuse(String),
}

impl From<base::Error> for Failure {
    fn from(e: base::Error) -> Failure {
        Failure::Error(e.message().to_string())
    }
}

fn error<T>(text: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Error(text.into()))
}

/// The program.
pub fn main(args: &[String]) -> i32 {
    let help = include_str!("../data/help/pg_resetwal.txt");
    let given = match Given::begin(NAME, help, args, FLAGS, 1) {
        Ok(given) => given,
        Err(code) => return code,
    };
    match run(&given) {
        Ok(()) => 0,
        Err(Failure::Error(text)) => {
            eprintln!("{NAME}: error: {text}");
            1
        }
        Err(Failure::Misuse(text)) => {
            complain(NAME, &format!("error: {text}"));
            1
        }
    }
}

/// A number as C's strtoul reads it into 32 bits: signs and overflow wrap.
fn number(text: &str) -> Option<u32> {
    let t = text.trim_start();
    let (negative, digits) = match t.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, t.strip_prefix('+').unwrap_or(t)),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => (16, hex),
        None if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        None => (10, digits),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).unwrap_or(u64::MAX);
    Some(if negative { value.wrapping_neg() } else { value } as u32)
}

/// What the flags ask for.
#[derive(Debug, Default, PartialEq)]
struct Wanted {
    epoch: Option<u32>,
    next_xid: Option<u32>,
    oldest_xid: Option<u32>,
    commit_times: Option<(u32, u32)>,
    next_oid: Option<u32>,
    multixacts: Option<(u32, u32)>,
    multixact_offset: Option<u32>,
    /// The timeline and the name of the first segment.
    file: Option<String>,
    /// Bytes.
    segment_size: Option<u32>,
    signedness: Option<String>,
}

impl Wanted {
    fn read(given: &Given) -> Result<Wanted, Failure> {
        let mut wanted = Wanted::default();
        for (name, value) in &given.flags {
            wanted.flag(name, value)?;
        }
        Ok(wanted)
    }

    fn flag(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let invalid = |flag: &str| Failure::Misuse(format!("invalid argument for option {flag}"));
        let one = |flag: &str| number(value).ok_or_else(|| invalid(flag));
        let two = |flag: &str| {
            let (a, b) = value.split_once(',').ok_or_else(|| invalid(flag))?;
            number(a).zip(number(b)).ok_or_else(|| invalid(flag))
        };
        const FIRST_NORMAL: u32 = 3;
        match name {
            "epoch" => match one("-e")? {
                u32::MAX => return error("transaction ID epoch (-e) must not be -1"),
                n => self.epoch = Some(n),
            },
            "oldest-transaction-id" => match one("-u")? {
                n if n < FIRST_NORMAL => {
                    return error("oldest transaction ID (-u) must be greater than or equal to 3");
                }
                n => self.oldest_xid = Some(n),
            },
            "next-transaction-id" => match one("-x")? {
                n if n < FIRST_NORMAL => {
                    return error("transaction ID (-x) must be greater than or equal to 3");
                }
                n => self.next_xid = Some(n),
            },
            "commit-timestamp-ids" => {
                let both = two("-c")?;
                if [both.0, both.1].iter().any(|n| (1..FIRST_NORMAL).contains(n)) {
                    return error(
                        "transaction ID (-c) must be either 0 or greater than or equal to 3",
                    );
                }
                self.commit_times = Some(both);
            }
            "next-oid" => match one("-o")? {
                0 => return error("OID (-o) must not be 0"),
                n => self.next_oid = Some(n),
            },
            "multixact-ids" => match two("-m")? {
                (_, 0) => return error("oldest multitransaction ID (-m) must not be 0"),
                both => self.multixacts = Some(both),
            },
            "multixact-offset" => match one("-O")? {
                u32::MAX => return error("multitransaction offset (-O) must not be -1"),
                n => self.multixact_offset = Some(n),
            },
            "next-wal-file" => {
                let hexadecimal = value.bytes().all(|b| b.is_ascii_hexdigit());
                if value.len() != 24 || !hexadecimal {
                    return Err(invalid("-l"));
                }
                self.file = Some(value.to_ascii_uppercase());
            }
            "wal-segsize" => self.segment_size = Some(segment_size(value)?),
            "char-signedness" => match value {
                "signed" => self.signedness = Some(value.to_string()),
                "unsigned" => return error("char signedness cannot be changed in this server"),
                _ => return Err(invalid("--char-signedness")),
            },
            _ => {}
        }
        Ok(())
    }

    /// Changes the control data; `first` is where the new log begins.
    fn apply(&self, control: &mut Control, timeline: u32) {
        let point = &mut control.checkpoint_copy;
        let (mut high, mut low) = (point.next_xid.0 >> 32, point.next_xid.0 & 0xffff_ffff);
        high = self.epoch.map_or(high, u64::from);
        low = self.next_xid.map_or(low, u64::from);
        point.next_xid = Xid(high << 32 | low);
        if let Some(oldest) = self.oldest_xid {
            // The last id with this lower half.
            let before = if u64::from(oldest) > low { high.saturating_sub(1) } else { high };
            point.oldest_xid = Xid(before << 32 | u64::from(oldest));
            point.oldest_xid_db = Oid::INVALID;
        }
        if let Some(oid) = self.next_oid {
            point.next_oid = Oid(oid);
        }
        if timeline > point.timeline {
            point.timeline = timeline;
            point.prev_timeline = timeline;
        }
        if let Some(size) = self.segment_size {
            control.wal_segment_size = size;
        }
    }

    /// The lines under "Values to be changed".
    fn lines(&self, first_file: &str) -> Vec<(&'static str, String)> {
        let mut lines = vec![("First log segment after reset:", first_file.to_string())];
        if let Some((next, oldest)) = self.multixacts {
            lines.push(("NextMultiXactId:", next.to_string()));
            lines.push(("OldestMultiXid:", oldest.to_string()));
            lines.push(("OldestMulti's DB:", "0".into()));
        }
        let mut one = |name, value: Option<u32>| {
            lines.extend(value.map(|n| (name, n.to_string())));
        };
        one("NextMultiOffset:", self.multixact_offset);
        one("NextOID:", self.next_oid);
        one("NextXID:", self.next_xid);
        one("OldestXID:", self.oldest_xid);
        one("OldestXID's DB:", self.oldest_xid.map(|_| 0));
        one("NextXID epoch:", self.epoch);
        // Zero means no change.
        let (oldest, newest) = self.commit_times.unwrap_or_default();
        one("oldestCommitTsXid:", Some(oldest).filter(|n| *n != 0));
        one("newestCommitTsXid:", Some(newest).filter(|n| *n != 0));
        one("Bytes per WAL segment:", self.segment_size);
        lines.extend(self.signedness.clone().map(|s| ("Default char data signedness:", s)));
        lines
    }
}

/// `--wal-segsize`, in bytes.
fn segment_size(value: &str) -> Result<u32, Failure> {
    let Ok(megabytes) = value.trim().parse::<i64>() else {
        return error(format!("invalid value \"{value}\" for option --wal-segsize"));
    };
    if !(1..=1024).contains(&megabytes) {
        return error("--wal-segsize must be in range 1..1024");
    }
    if !(megabytes as u64).is_power_of_two() {
        return error("argument of --wal-segsize must be a power of two between 1 and 1024");
    }
    Ok((megabytes as u32) << 20)
}

fn run(given: &Given) -> Result<(), Failure> {
    let wanted = Wanted::read(given)?;
    let mut operands = given.operands.iter();
    let said = given.get("pgdata").map(str::to_string).or_else(|| operands.next().cloned());
    if let Some(extra) = operands.next() {
        let text = format!("too many command-line arguments (first is \"{extra}\")");
        return Err(Failure::Misuse(text));
    }
    let said = said.or_else(|| std::env::var("PGDATA").ok());
    let Some(said) = said else {
        return Err(Failure::Misuse("no data directory specified".into()));
    };
    let data = std::env::current_dir().unwrap_or_default().join(&said);
    if !Disk::real().exists(&data) {
        return error(format!(
            "could not read permissions of directory \"{said}\": No such file or directory"
        ));
    }
    let disk = Disk::real_in(data);
    check_version(&disk)?;
    if disk.exists(Path::new("postmaster.pid")) {
        return error(format!(
            "lock file \"postmaster.pid\" exists\n{NAME}: hint: Is a server running?  If not, \
             delete the lock file and try again."
        ));
    }
    reset(&disk, &wanted, given.has("force"), given.has("dry-run"))
}

fn check_version(disk: &Disk) -> Result<(), Failure> {
    let Ok(bytes) = disk.read(Path::new("PG_VERSION")) else {
        return error("could not open file \"PG_VERSION\" for reading: No such file or directory");
    };
    let text = String::from_utf8_lossy(&bytes);
    match text.trim() {
        "18" => Ok(()),
        other => error(format!(
            "data directory is of wrong version\n{NAME}: detail: File \"PG_VERSION\" contains \
             \"{other}\", which is not compatible with this program's version \"18\"."
        )),
    }
}

/// The control data, and whether it had to be guessed.
fn read_control(disk: &Disk) -> Result<(Control, bool), Failure> {
    let path = Path::new(CONTROL);
    if !disk.exists(path) {
        return error(format!(
            "could not open file \"{CONTROL}\" for reading: No such file or directory\n{NAME}: \
             hint: If you are sure the data directory path is correct, execute\n  touch \
             {CONTROL}\nand try again."
        ));
    }
    if let Ok(file) = ControlFile::open(disk, path) {
        return Ok((file.get(), false));
    }
    if let Some(control) = ControlFile::salvage(disk, path)? {
        eprintln!("{NAME}: warning: pg_control exists but has invalid CRC; proceed with caution");
        return Ok((control, true));
    }
    eprintln!("{NAME}: warning: pg_control exists but is broken or wrong version; ignoring it");
    let identifier = (os::clock::now_micros() as u64 / 1_000_000) << 32 | os::random::u64() >> 32;
    let mut control = Control::new(identifier, 16 << 20);
    control.checkpoint_copy.timeline = 1;
    control.checkpoint_copy.prev_timeline = 1;
    control.checkpoint_copy.full_page_writes = false;
    control.checkpoint_copy.next_xid = Xid::FIRST_NORMAL;
    control.checkpoint_copy.next_oid = Oid::FIRST_NORMAL;
    control.checkpoint_copy.oldest_xid = Xid::FIRST_NORMAL;
    Ok((control, true))
}

fn reset(disk: &Disk, wanted: &Wanted, force: bool, dry: bool) -> Result<(), Failure> {
    let (old, guessed) = read_control(disk)?;
    let mut new = old.clone();
    let mut first = after_existing(disk, &old, wanted.segment_size)?;
    let size = u64::from(wanted.segment_size.unwrap_or(old.wal_segment_size));
    let mut timeline = old.checkpoint_copy.timeline;
    if let Some(file) = &wanted.file {
        let field = |at: usize| u64::from_str_radix(&file[at..at + 8], 16).unwrap_or(0);
        let number = (field(8) << 32) / size + field(16);
        first = first.max(number);
        timeline = timeline.max(field(0) as u32);
    }
    wanted.apply(&mut new, timeline);
    if dry || guessed && !force {
        print!("{}", current_values(&old, guessed));
        let file = wal::segment_name(timeline, Lsn(first * size), size);
        print!("\n\nValues to be changed:\n\n");
        for (name, value) in wanted.lines(&file) {
            println!("{name:<38}{value}");
        }
        if dry {
            return Ok(());
        }
        return error(format!(
            "not proceeding because control file values were guessed\n{NAME}: hint: If these \
             values seem acceptable, use -f to force reset."
        ));
    }
    let clean = matches!(old.state, DbState::ShutDown | DbState::ShutDownInRecovery);
    if !clean && !force {
        return error(format!(
            "database server was not shut down cleanly\n{NAME}: detail: Resetting the \
             write-ahead log might cause data to be lost.\n{NAME}: hint: If you want to proceed \
             anyway, use -f to force reset."
        ));
    }
    begin_anew(disk, new, first)?;
    println!("Write-ahead log reset");
    Ok(())
}

/// The number of the first segment, of the new size, behind all log that there is.
fn after_existing(disk: &Disk, control: &Control, new: Option<u32>) -> Result<u64, Failure> {
    let old = u64::from(control.wal_segment_size.max(1 << 20));
    let mut end = control.checkpoint_copy.redo.0 / old * old + old;
    for name in segments(disk, "pg_wal")? {
        if let Some((_, start)) = wal::parse_segment_name(&name, old) {
            end = end.max(start.0 + old);
        }
    }
    Ok(end.div_ceil(new.map_or(old, u64::from)))
}

/// Names of a folder's files; none if there is no such folder.
fn segments(disk: &Disk, folder: &str) -> Result<Vec<String>, Failure> {
    let folder = Path::new(folder);
    if !disk.exists(folder) {
        return Ok(Vec::new());
    }
    let entries = disk.list(folder).map_err(base::Error::from)?;
    Ok(entries.into_iter().map(|e| e.name).collect())
}

/// Removes the log and writes one that holds a checkpoint of a clean shutdown and nothing else.
fn begin_anew(disk: &Disk, mut control: Control, first: u64) -> Result<(), Failure> {
    let path = Path::new(CONTROL);
    // A server that is started while this is not done finds no checkpoint rather than a wrong
    // one.
    control.state = DbState::ShutDown;
    control.min_recovery_point = Lsn::INVALID;
    control.min_recovery_timeline = 0;
    control.backup_start = Lsn::INVALID;
    control.backup_end = Lsn::INVALID;
    control.backup_end_required = false;
    control.time = os::clock::now_micros();
    for folder in ["pg_wal", "pg_wal/archive_status", "pg_wal/summaries"] {
        for name in segments(disk, folder)? {
            let stem = name.split('.').next().unwrap_or_default();
            let log = stem.len() >= 24 && stem.bytes().all(|b| b.is_ascii_hexdigit());
            if log {
                let file = PathBuf::from(folder).join(&name);
                disk.remove(&file).map_err(base::Error::from)?;
            }
        }
    }
    let config = WalConfig {
        segment_size: u64::from(control.wal_segment_size),
        timeline: control.checkpoint_copy.timeline,
        full_page_writes: control.checkpoint_copy.full_page_writes,
        threads: false,
        ..WalConfig::default()
    };
    let wal = Wal::create_at(disk.clone(), Path::new("pg_wal"), config, first)?;
    let file = ControlFile::create(disk, path, &control)?;
    let mut checkpoint = control.checkpoint_copy;
    checkpoint.redo = wal.begin_checkpoint()?;
    checkpoint.oldest_active_xid = Xid::INVALID;
    checkpoint.time = os::clock::now_micros();
    wal.finish_checkpoint(&file, checkpoint, true)?;
    Ok(wal.shutdown()?)
}

/// What the control file says, as far as it matters here.
fn current_values(c: &Control, guessed: bool) -> String {
    let p = &c.checkpoint_copy;
    let rows: Vec<(&str, String)> = vec![
        ("pg_control version number:", c.control_version.to_string()),
        ("Catalog version number:", c.catalog_version.to_string()),
        ("Database system identifier:", c.system_identifier.to_string()),
        ("Latest checkpoint's TimeLineID:", p.timeline.to_string()),
        (
            "Latest checkpoint's full_page_writes:",
            if p.full_page_writes { "on" } else { "off" }.into(),
        ),
        ("Latest checkpoint's NextXID:", format!("{}:{}", p.next_xid.0 >> 32, p.next_xid.0 as u32)),
        ("Latest checkpoint's NextOID:", p.next_oid.to_string()),
        ("Latest checkpoint's NextMultiXactId:", "1".into()),
        ("Latest checkpoint's NextMultiOffset:", "0".into()),
        ("Latest checkpoint's oldestXID:", (p.oldest_xid.0 as u32).to_string()),
        ("Latest checkpoint's oldestXID's DB:", p.oldest_xid_db.to_string()),
        ("Latest checkpoint's oldestActiveXID:", (p.oldest_active_xid.0 as u32).to_string()),
        ("Latest checkpoint's oldestMultiXid:", "1".into()),
        ("Latest checkpoint's oldestMulti's DB:", "1".into()),
        ("Latest checkpoint's oldestCommitTsXid:", "0".into()),
        ("Latest checkpoint's newestCommitTsXid:", "0".into()),
    ];
    let head = if guessed { "Guessed" } else { "Current" };
    let rows = rows.into_iter().chain(build_rows(c));
    let lines: String = rows.map(|(name, value)| format!("{name:<38}{value}\n")).collect();
    format!("{head} pg_control values:\n\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::sim::{Faults, SimDisk};

    fn wanted(name: &str, value: &str) -> Result<Wanted, String> {
        let mut wanted = Wanted::default();
        match wanted.flag(name, value) {
            Ok(()) => Ok(wanted),
            Err(Failure::Error(text) | Failure::Misuse(text)) => Err(text),
        }
    }

    #[test]
    fn numbers_as_c_reads_them() {
        assert_eq!(number("0x10"), Some(16));
        assert_eq!(number("010"), Some(8));
        assert_eq!(number("0"), Some(0));
        assert_eq!(number("-1"), Some(u32::MAX));
        assert_eq!(number("99999999999"), Some(1_215_752_191));
        assert_eq!(number("12x"), None);
        assert_eq!(number(""), None);
    }

    #[test]
    fn wrong_values_in_postgres_words() {
        let e = wanted("next-transaction-id", "2").unwrap_err();
        assert_eq!(e, "transaction ID (-x) must be greater than or equal to 3");
        assert_eq!(wanted("epoch", "-1").unwrap_err(), "transaction ID epoch (-e) must not be -1");
        assert_eq!(wanted("next-wal-file", "zzz").unwrap_err(), "invalid argument for option -l");
        assert_eq!(
            wanted("wal-segsize", "3").unwrap_err(),
            "argument of --wal-segsize must be a power of two between 1 and 1024"
        );
        assert!(wanted("commit-timestamp-ids", "1,2").is_err());
        assert_eq!(wanted("multixact-ids", "10,5").unwrap().multixacts, Some((10, 5)));
    }

    #[test]
    fn the_new_log_begins_behind_the_old_one() {
        let disk = Disk::simulated(SimDisk::new(1, Faults::default()));
        let mut control = Control::new(9, 1 << 20);
        control.state = DbState::InProduction;
        control.checkpoint_copy.timeline = 1;
        control.checkpoint_copy.next_xid = Xid(5 << 32 | 7);
        control.checkpoint_copy.redo = Lsn(3 << 20);
        for folder in ["global", "pg_wal"] {
            disk.create_dir_all(Path::new(folder)).unwrap();
        }
        ControlFile::create(&disk, Path::new(CONTROL), &control).unwrap();
        let size = 1 << 20;
        for at in [3, 4, 6] {
            let name = wal::segment_name(1, Lsn(at << 20), size);
            disk.write_atomic(&Path::new("pg_wal").join(name), b"old").unwrap();
        }
        let ask = Wanted { next_xid: Some(100), next_oid: Some(70_000), ..Wanted::default() };
        assert!(reset(&disk, &ask, false, false).is_err(), "it was not shut down");
        assert!(reset(&disk, &ask, true, false).is_ok());
        let found = ControlFile::open(&disk, Path::new(CONTROL)).unwrap().get();
        assert_eq!(found.state, DbState::ShutDown);
        assert_eq!(found.checkpoint_copy.next_xid, Xid(5 << 32 | 100));
        assert_eq!(found.checkpoint_copy.next_oid, Oid(70_000));
        assert_eq!(found.checkpoint.0 >> 20, 7);
        let left = segments(&disk, "pg_wal").unwrap();
        assert!(left.iter().all(|name| *name >= wal::segment_name(1, Lsn(7 << 20), size)));
    }
}
