//! `pg_checksums`: are all pages as they were written? Checksums are always on.

use engine::offline::bad_checksum;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use tools::options::{Flag, Given, complain, flag, with_value};
use wal::{ControlFile, DbState};

const NAME: &str = "pg_checksums";

const FLAGS: &[Flag] = &[
    with_value('D', "pgdata"),
    flag('c', "check"),
    flag('d', "disable"),
    flag('e', "enable"),
    with_value('f', "filenode"),
    flag('N', "no-sync"),
    flag('P', "progress"),
    with_value('\0', "sync-method"),
    flag('v', "verbose"),
    flag('V', "version"),
    flag('?', "help"),
];

/// The program.
pub fn main(args: &[String]) -> i32 {
    let given = match Given::begin(
        NAME,
        include_str!("../../../tools/data/help/pg_checksums.txt"),
        args,
        FLAGS,
        1,
    ) {
        Ok(given) => given,
        Err(code) => return code,
    };
    match run(&given) {
        Ok(bad) => i32::from(bad),
        Err(text) => {
            eprintln!("{NAME}: error: {text}");
            1
        }
    }
}

fn misused(text: &str) -> Result<bool, String> {
    complain(NAME, &format!("error: {text}"));
    std::process::exit(1)
}

/// True if a page is bad.
fn run(given: &Given) -> Result<bool, String> {
    let mut operands = given.operands.iter();
    let said = given.get("pgdata").map(str::to_string).or_else(|| operands.next().cloned());
    let said = said.or_else(|| std::env::var("PGDATA").ok());
    let Some(data) = said.map(PathBuf::from) else {
        return misused("no data directory specified");
    };
    if let Some(extra) = operands.next() {
        return misused(&format!("too many command-line arguments (first is \"{extra}\")"));
    }
    if let Some(node) = given.get("filenode") {
        if node.parse::<u32>().is_err() {
            return Err(format!("invalid value \"{node}\" for option -f/--filenode"));
        }
        if given.has("enable") || given.has("disable") {
            return misused("option -f/--filenode can only be used with --check");
        }
    }
    if let Some(method) = given.get("sync-method")
        && !["fsync", "syncfs"].contains(&method)
    {
        return Err(format!("unrecognized sync method: {method}"));
    }
    let path = data.join("global/pg_control");
    if !path.exists() {
        let path = path.display();
        return Err(format!(
            "could not open file \"{path}\" for reading: No such file or directory"
        ));
    }
    let disk = os::Disk::real_in(std::env::current_dir().unwrap_or_default());
    let control = ControlFile::open(&disk, &path).map_err(|e| e.message().to_string())?.get();
    if control.state != DbState::ShutDown {
        return Err("cluster must be shut down".into());
    }
    if given.has("enable") {
        return Err("data checksums are already enabled in cluster".into());
    }
    if given.has("disable") {
        return Err("data checksums cannot be disabled in this server".into());
    }
    let mut work = Work {
        only: given.get("filenode").map(str::to_string),
        verbose: given.has("verbose"),
        files: 0,
        blocks: 0,
        bad: 0,
    };
    for folder in ["global", "base", "pg_tblspc"] {
        work.folder(&data.join(folder))?;
    }
    println!("Checksum operation completed");
    println!("Files scanned:   {}", work.files);
    println!("Blocks scanned:  {}", work.blocks);
    println!("Bad checksums:  {}", work.bad);
    println!("Data checksum version: 1");
    Ok(work.bad > 0)
}

struct Work {
    only: Option<String>,
    verbose: bool,
    files: u64,
    blocks: u64,
    bad: u64,
}

/// Number of the relation file and of the segment, of a file's name: `16384_vm.1`.
fn relation_file(name: &str) -> Option<(&str, u32)> {
    let (stem, segment) = name.split_once('.').unwrap_or((name, "0"));
    let node = stem.split('_').next().unwrap_or_default();
    let fork = stem.strip_prefix(node).unwrap_or_default();
    let known = matches!(fork, "" | "_fsm" | "_vm" | "_init");
    let number = !node.is_empty() && node.bytes().all(|b| b.is_ascii_digit());
    (known && number).then_some((node, segment.parse().ok()?))
}

impl Work {
    fn folder(&mut self, folder: &Path) -> Result<(), String> {
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_string();
            if path.is_dir() {
                if name != "pgsql_tmp" {
                    self.folder(&path)?;
                }
                continue;
            }
            let Some((node, segment)) = relation_file(&name) else { continue };
            if self.only.as_ref().is_none_or(|only| only == node) {
                self.file(&path, segment)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, segment: u32) -> Result<(), String> {
        const SEGMENT_BLOCKS: u32 = 1 << 17;
        let shown = path.display();
        let mut file =
            File::open(path).map_err(|e| format!("could not open file \"{shown}\": {e}"))?;
        self.files += 1;
        let mut page = [0; base::PAGE_SIZE];
        let mut block = segment * SEGMENT_BLOCKS;
        // A part of a page at the end of a file is what a crash left of an extension.
        while file.read_exact(&mut page).is_ok() {
            self.blocks += 1;
            if let Some((stored, wanted)) = bad_checksum(&page, block) {
                self.bad += 1;
                eprintln!(
                    "{NAME}: error: checksum verification failed in file \"{shown}\", block \
                     {}: calculated checksum {wanted:X} but block contains {stored:X}",
                    block - segment * SEGMENT_BLOCKS
                );
            }
            block += 1;
        }
        if self.verbose {
            println!("{NAME}: checksums verified in file \"{shown}\"");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::relation_file;

    #[test]
    fn names_of_files() {
        assert_eq!(relation_file("16384"), Some(("16384", 0)));
        assert_eq!(relation_file("16384_vm.2"), Some(("16384", 2)));
        assert_eq!(relation_file("PG_VERSION"), None);
        assert_eq!(relation_file("16384_x"), None);
        assert_eq!(relation_file("pg_filenode.map"), None);
    }
}
