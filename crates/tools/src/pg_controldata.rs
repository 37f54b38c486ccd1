//! `pg_controldata`: what the control file says.

use crate::options::{Flag, Given, complain, flag, with_value};
use os::Disk;
use std::path::{Path, PathBuf};
use wal::{Control, ControlFile};

const NAME: &str = "pg_controldata";

const FLAGS: &[Flag] = &[with_value('D', "pgdata"), flag('V', "version"), flag('?', "help")];

const HELP: &str = "\
pg_controldata displays control information of a PostgreSQL database cluster.

Usage:
  pg_controldata [OPTION] [DATADIR]

Options:
 [-D, --pgdata=]DATADIR  data directory
  -V, --version          output version information, then exit
  -?, --help             show this help, then exit

If no data directory (DATADIR) is specified, the environment variable PGDATA
is used.
";

/// The program.
pub fn main(args: &[String]) -> i32 {
    let given = match Given::begin(NAME, HELP, args, FLAGS, 1) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let mut operands = given.operands.iter();
    let data = given.get("pgdata").map(str::to_string).or_else(|| operands.next().cloned());
    if let Some(extra) = operands.next() {
        complain(NAME, &format!("error: too many command-line arguments (first is \"{extra}\")"));
        return 1;
    }
    let data = data.map(PathBuf::from).or_else(|| std::env::var_os("PGDATA").map(PathBuf::from));
    let Some(data) = data else {
        complain(NAME, "error: no data directory specified");
        return 1;
    };
    let path = data.join("global/pg_control");
    let disk = Disk::real_in(std::env::current_dir().unwrap_or_default());
    if !disk.exists(&path) {
        let path = path.display();
        eprintln!(
            "{NAME}: error: could not open file \"{path}\" for reading: No such file or directory"
        );
        return 1;
    }
    match ControlFile::open(&disk, Path::new(&path)) {
        Ok(file) => {
            print!("{}", describe(&file.get()));
            0
        }
        Err(e) => {
            eprintln!("{NAME}: error: {}", e.message());
            1
        }
    }
}

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time as C's `%c` has it, in UTC.
fn time(micros: i64) -> String {
    let seconds = micros.div_euclid(1_000_000);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let z = days + 719_468;
    let (era, doe) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 2 } else { mp - 10 };
    let year = yoe + era * 400 + (month <= 1) as i64;
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year}",
        DAYS[days.rem_euclid(7) as usize],
        MONTHS[month.clamp(0, 11) as usize],
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

fn on_off(yes: bool) -> String {
    if yes { "on" } else { "off" }.to_string()
}

/// All lines.
fn describe(c: &Control) -> String {
    let p = &c.checkpoint_copy;
    let wal_level = ["minimal", "replica", "logical"];
    let wal_level =
        wal_level.get(c.wal_level as usize).copied().unwrap_or("unrecognized \"wal_level\"");
    let file = wal::segment_name(p.timeline, p.redo, u64::from(c.wal_segment_size.max(1 << 20)));
    let nonce: String = c.mock_nonce.iter().map(|b| format!("{b:02x}")).collect();
    let rows: Vec<(&str, String)> = vec![
        ("pg_control version number:", c.control_version.to_string()),
        ("Catalog version number:", c.catalog_version.to_string()),
        ("Database system identifier:", c.system_identifier.to_string()),
        ("Database cluster state:", c.state.as_str().to_string()),
        ("pg_control last modified:", time(c.time)),
        ("Latest checkpoint location:", c.checkpoint.to_string()),
        ("Latest checkpoint's REDO location:", p.redo.to_string()),
        ("Latest checkpoint's REDO WAL file:", file),
        ("Latest checkpoint's TimeLineID:", p.timeline.to_string()),
        ("Latest checkpoint's PrevTimeLineID:", p.prev_timeline.to_string()),
        ("Latest checkpoint's full_page_writes:", on_off(p.full_page_writes)),
        ("Latest checkpoint's NextXID:", format!("{}:{}", p.next_xid.0 >> 32, p.next_xid.0 as u32)),
        ("Latest checkpoint's NextOID:", p.next_oid.to_string()),
        ("Latest checkpoint's NextMultiXactId:", "1".into()),
        ("Latest checkpoint's NextMultiOffset:", "0".into()),
        ("Latest checkpoint's oldestXID:", p.oldest_xid.to_string()),
        ("Latest checkpoint's oldestXID's DB:", p.oldest_xid_db.to_string()),
        ("Latest checkpoint's oldestActiveXID:", p.oldest_active_xid.to_string()),
        ("Latest checkpoint's oldestMultiXid:", "1".into()),
        ("Latest checkpoint's oldestMulti's DB:", "1".into()),
        ("Latest checkpoint's oldestCommitTsXid:", "0".into()),
        ("Latest checkpoint's newestCommitTsXid:", "0".into()),
        ("Time of latest checkpoint:", time(p.time)),
        ("Fake LSN counter for unlogged rels:", c.unlogged_lsn.to_string()),
        ("Minimum recovery ending location:", c.min_recovery_point.to_string()),
        ("Min recovery ending loc's timeline:", c.min_recovery_timeline.to_string()),
        ("Backup start location:", c.backup_start.to_string()),
        ("Backup end location:", c.backup_end.to_string()),
        ("End-of-backup record required:", if c.backup_end_required { "yes" } else { "no" }.into()),
        ("wal_level setting:", wal_level.into()),
        ("wal_log_hints setting:", on_off(c.wal_log_hints)),
        ("max_connections setting:", c.max_connections.to_string()),
        ("max_worker_processes setting:", c.max_worker_processes.to_string()),
        ("max_wal_senders setting:", c.max_wal_senders.to_string()),
        ("max_prepared_xacts setting:", c.max_prepared_transactions.to_string()),
        ("max_locks_per_xact setting:", c.max_locks_per_transaction.to_string()),
        ("track_commit_timestamp setting:", on_off(c.track_commit_timestamp)),
    ];
    let last = ("Mock authentication nonce:", nonce);
    let rows = rows.into_iter().chain(build_rows(c)).chain([last]);
    rows.map(|(name, value)| format!("{name:<38}{value}\n")).collect()
}

/// What does not change as long as the folder is there.
pub(crate) fn build_rows(c: &Control) -> [(&'static str, String); 13] {
    [
        ("Maximum data alignment:", "8".into()),
        ("Database block size:", c.block_size.to_string()),
        ("Blocks per segment of large relation:", "131072".into()),
        ("WAL block size:", "8192".into()),
        ("Bytes per WAL segment:", c.wal_segment_size.to_string()),
        ("Maximum length of identifiers:", "64".into()),
        ("Maximum columns in an index:", "32".into()),
        ("Maximum size of a TOAST chunk:", "1996".into()),
        ("Size of a large-object chunk:", "2048".into()),
        ("Date/time type storage:", "64-bit integers".into()),
        ("Float8 argument passing:", "by value".into()),
        ("Data page checksum version:", (c.data_checksums as u32).to_string()),
        ("Default char data signedness:", "signed".into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lines() {
        assert_eq!(time(1_795_219_200_000_000), "Sat Nov 21 00:00:00 2026");
        assert_eq!(time(0), "Thu Jan  1 00:00:00 1970");
        let text = describe(&Control::new(7, 16 << 20));
        assert!(text.starts_with("pg_control version number:            1800\n"));
        assert!(text.contains("\nDatabase block size:                  8192\n"));
    }
}
