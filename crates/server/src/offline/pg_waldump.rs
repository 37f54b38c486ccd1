//! `pg_waldump`: the log in words.

use base::{Fork, Lsn};
use engine::offline::Describer;
use os::Disk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tools::options::{Flag, Given, complain, flag, with_joined, with_value};
use wal::{ReadOutcome, Record, Rmgr, WalReader, parse_segment_name};

const NAME: &str = "pg_waldump";

const FLAGS: &[Flag] = &[
    flag('b', "bkp-details"),
    with_value('B', "block"),
    with_value('e', "end"),
    flag('f', "follow"),
    with_value('F', "fork"),
    with_value('n', "limit"),
    with_value('p', "path"),
    flag('q', "quiet"),
    with_value('r', "rmgr"),
    with_value('R', "relation"),
    with_value('s', "start"),
    with_value('t', "timeline"),
    flag('w', "fullpage"),
    with_value('x', "xid"),
    with_joined('z', "stats"),
    with_value('\0', "save-fullpage"),
    flag('V', "version"),
    flag('?', "help"),
];

type Outcome<T> = std::result::Result<T, String>;

/// The program.
pub fn main(args: &[String]) -> i32 {
    let given = match Given::begin(
        NAME,
        include_str!("../../../tools/data/help/pg_waldump.txt"),
        args,
        FLAGS,
        1,
    ) {
        Ok(given) => given,
        Err(code) => return code,
    };
    if given.get("rmgr") == Some("list") {
        Rmgr::ALL.iter().for_each(|r| println!("{}", r.name()));
        return 0;
    }
    if args.is_empty() {
        complain(NAME, "error: no arguments specified");
        return 1;
    }
    let wanted = match Wanted::of(&given) {
        Ok(wanted) => wanted,
        Err(text) => {
            complain(NAME, &format!("error: {text}"));
            return 1;
        }
    };
    match run(&given, &wanted) {
        Ok(()) => 0,
        Err(text) => {
            eprintln!("{NAME}: error: {text}");
            1
        }
    }
}

fn lsn(text: &str) -> Option<Lsn> {
    let (high, low) = text.split_once('/')?;
    let part = |t: &str| u32::from_str_radix(t, 16).ok();
    Some(Lsn(u64::from(part(high)?) << 32 | u64::from(part(low)?)))
}

/// Which records are shown.
#[derive(Default)]
struct Wanted {
    rmgr: Option<Rmgr>,
    xid: Option<u64>,
    relation: Option<String>,
    block: Option<u32>,
    fork: Option<Fork>,
    images: bool,
    limit: Option<u64>,
}

impl Wanted {
    fn of(given: &Given) -> Outcome<Wanted> {
        if let Some(extra) = given.operands.get(2) {
            return Err(format!("too many command-line arguments (first is \"{extra}\")"));
        }
        for flag in ["start", "end"] {
            if let Some(text) = given.get(flag)
                && lsn(text).is_none()
            {
                return Err(format!("invalid WAL location: \"{text}\""));
            }
        }
        for (flag, option) in [("limit", "-n/--limit"), ("timeline", "-t/--timeline")] {
            if let Some(text) = given.get(flag)
                && text.parse::<u32>().is_err()
            {
                return Err(format!("invalid value \"{text}\" for option {option}"));
            }
        }
        if let Some(kind) = given.get("stats").filter(|k| !matches!(*k, "" | "record")) {
            return Err(format!("unrecognized value for option --stats: {kind}"));
        }
        let mut wanted = Wanted { images: given.has("fullpage"), ..Wanted::default() };
        if let Some(name) = given.get("rmgr") {
            let found = Rmgr::ALL.iter().find(|r| r.name().eq_ignore_ascii_case(name));
            let found =
                found.ok_or_else(|| format!("resource manager \"{name}\" does not exist"))?;
            wanted.rmgr = Some(*found);
        }
        if let Some(fork) = given.get("fork") {
            wanted.fork = Some(match fork {
                "main" => Fork::Main,
                "fsm" => Fork::Fsm,
                "vm" => Fork::Vm,
                "init" => Fork::Init,
                other => return Err(format!("invalid fork name: \"{other}\"")),
            });
        }
        let number = |flag: &str, what: &str| match given.get(flag).map(str::parse::<u64>) {
            None => Ok(None),
            Some(Ok(n)) => Ok(Some(n)),
            Some(Err(_)) => {
                Err(format!("invalid {what}: \"{}\"", given.get(flag).unwrap_or_default()))
            }
        };
        wanted.xid = number("xid", "transaction ID specification")?;
        wanted.limit = number("limit", "value for option -n/--limit")?;
        wanted.block = number("block", "block number")?.map(|n| n as u32);
        if wanted.block.is_some() && given.get("relation").is_none() {
            return Err("option -B/--block requires option -R/--relation to be specified".into());
        }
        if let Some(relation) = given.get("relation") {
            let parts: Vec<&str> = relation.split('/').collect();
            if parts.len() != 3 || parts.iter().any(|p| p.parse::<u32>().is_err()) {
                return Err(format!(
                    "invalid relation specification: \"{relation}\"\n{NAME}: detail: Expecting \
                     \"tablespace OID/database OID/relation filenode\"."
                ));
            }
            wanted.relation = Some(relation.to_string());
        }
        Ok(wanted)
    }

    fn fits(&self, r: &Record) -> bool {
        let any = self.relation.is_some() || self.block.is_some() || self.fork.is_some();
        let block = |b: &wal::BlockRef| {
            self.relation.as_ref().is_none_or(|rel| *rel == relation_of(b))
                && self.block.is_none_or(|n| n == b.block.0)
                && self.fork.is_none_or(|f| f == b.fork)
        };
        self.rmgr.is_none_or(|m| m == r.rmgr)
            && self.xid.is_none_or(|x| x == r.xid.0)
            && (!self.images || r.blocks.iter().any(|b| b.has_image()))
            && (!any || r.blocks.iter().any(block))
    }
}

/// Makes the folder for images of pages, unless it is there and empty.
fn prepare_folder(folder: &str) -> Outcome<()> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(format!("directory \"{folder}\" exists but is not empty")),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => std::fs::create_dir(folder)
            .map_err(|e| format!("could not create directory \"{folder}\": {}", reason(&e))),
        Err(e) => Err(format!("could not access directory \"{folder}\": {}", reason(&e))),
    }
}

/// The system's words for an error.
fn reason(e: &std::io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

fn relation_of(b: &wal::BlockRef) -> String {
    format!("{}/{}/{}", b.rel.tablespace, b.rel.database, b.rel.number)
}

/// The folder with the segments, and the segment's name if one was given.
fn place(given: &Given) -> Outcome<(PathBuf, Option<String>)> {
    let first = given.operands.first().map(PathBuf::from);
    let name = first.as_ref().and_then(|f| f.file_name()).and_then(|n| n.to_str());
    let name = name.map(str::to_string);
    let own = first.as_ref().and_then(|f| f.parent()).filter(|p| !p.as_os_str().is_empty());
    let data = std::env::var("PGDATA").unwrap_or_default();
    let mut folders = Vec::new();
    match (given.get("path"), own) {
        (Some(path), _) => folders.push(PathBuf::from(path)),
        (None, Some(own)) => folders.push(own.to_path_buf()),
        (None, None) => folders.extend([PathBuf::from("."), PathBuf::from(data)]),
    }
    if let Some(path) = given.get("path")
        && !Path::new(path).is_dir()
    {
        return Err(format!("could not open directory \"{path}\": No such file or directory"));
    }
    for folder in folders {
        for folder in [folder.clone(), folder.join("pg_wal")] {
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            let names = entries.flatten().filter_map(|e| e.file_name().into_string().ok());
            let is_segment = |n: &String| n.len() == 24 && n.bytes().all(|b| b.is_ascii_hexdigit());
            let mut segments = names.filter(is_segment);
            let found = match &name {
                Some(name) => segments.any(|n| n == *name),
                None => segments.next().is_some(),
            };
            if found {
                let folder = std::path::absolute(&folder).unwrap_or(folder);
                return Ok((folder, name));
            }
        }
    }
    Err(match name {
        Some(name) => format!("could not locate WAL file \"{name}\""),
        None => "could not find any WAL file".to_string(),
    })
}

fn run(given: &Given, wanted: &Wanted) -> Outcome<()> {
    if let Some(folder) = given.get("save-fullpage") {
        prepare_folder(folder)?;
    }
    let (folder, name) = place(given)?;
    let segment_size = match &name {
        Some(name) => std::fs::metadata(folder.join(name)).map_or(16 << 20, |m| m.len()),
        None => 16 << 20,
    };
    let (mut timeline, mut start) = (1, Lsn::INVALID);
    if let Some(name) = &name {
        (timeline, start) = parse_segment_name(name, segment_size)
            .ok_or_else(|| format!("invalid WAL file name \"{name}\""))?;
    }
    if let Some(t) = given.get("timeline") {
        timeline = t.parse().map_err(|_| format!("invalid timeline specification: \"{t}\""))?;
    }
    let said = |flag: &str| match given.get(flag) {
        Some(text) => {
            lsn(text).map(Some).ok_or_else(|| format!("invalid WAL location: \"{text}\""))
        }
        None => Ok(None),
    };
    let segment_end = Lsn(start.0 + segment_size);
    let exact = said("start")?;
    let end = said("end")?;
    if let Some(at) = exact {
        start = at;
    } else if name.is_none() {
        return Err("no start WAL location given".into());
    }
    // With one segment named and no end, that segment is all.
    let end = end.or_else(|| match (&name, given.operands.get(1)) {
        (Some(_), None) => Some(segment_end),
        (_, Some(last)) => {
            let name = Path::new(last).file_name().and_then(|n| n.to_str()).unwrap_or_default();
            parse_segment_name(name, segment_size).map(|(_, at)| Lsn(at.0 + segment_size))
        }
        _ => None,
    });
    let mut reader = WalReader::new(&Disk::real(), &folder, segment_size, timeline, start);
    let mut record = Record::default();
    let first = find_first(&mut reader, &mut record, start, Lsn(start.0 + segment_size))?;
    if first != start && !start.0.is_multiple_of(segment_size) {
        let skipped = first.0 - start.0;
        let bytes = if skipped == 1 { "byte" } else { "bytes" };
        eprintln!(
            "pg_waldump: first record is after {start}, at {first}, skipping over {skipped} {bytes}"
        );
    }
    let data = folder.parent().unwrap_or(&folder).to_path_buf();
    let describer = Describer::new(&data);
    let stats = Stats { by_kind: given.get("stats") == Some("record"), ..Stats::default() };
    Dump { given, wanted, timeline, describer, shown: 0, stats }.all(&mut reader, record, end)
}

/// The first record at or after a position: the one before may reach into the segment.
fn find_first(reader: &mut WalReader, record: &mut Record, start: Lsn, end: Lsn) -> Outcome<Lsn> {
    let mut at = start.0.next_multiple_of(8);
    while at < end.0 {
        reader.seek(Lsn(at));
        match reader.read(record) {
            Ok(ReadOutcome::Record) => return Ok(Lsn(at)),
            Ok(_) => at += 8,
            Err(e) => return Err(e.message().to_string()),
        }
    }
    Err(format!("could not find a valid record after {start}"))
}

#[derive(Default)]
struct Stats {
    /// Records are told apart by their kinds too.
    by_kind: bool,
    /// Records, their bytes without images, bytes of images; by resource manager.
    by_rmgr: [[u64; 3]; 32],
    /// The same by resource manager and kind, with the kind's name.
    kinds: BTreeMap<(u8, u8), (String, [u64; 3])>,
    from: Option<Lsn>,
    to: Lsn,
}

struct Dump<'a> {
    given: &'a Given,
    wanted: &'a Wanted,
    timeline: u32,
    describer: Describer,
    shown: u64,
    stats: Stats,
}

impl Dump<'_> {
    fn all(&mut self, reader: &mut WalReader, first: Record, end: Option<Lsn>) -> Outcome<()> {
        let mut record = first;
        let mut before = Lsn::INVALID;
        let quiet = self.given.has("quiet");
        loop {
            if end.is_some_and(|e| record.lsn_start >= e) {
                break;
            }
            self.stats.from.get_or_insert(record.lsn_start);
            if self.wanted.fits(&record) {
                self.shown += 1;
                self.count(&record);
                if !quiet && !self.given.has("stats") {
                    self.print(&record, before);
                }
                if let Some(folder) = self.given.get("save-fullpage") {
                    self.save_images(&record, folder)?;
                }
            }
            before = record.lsn_start;
            self.stats.to = record.lsn_end;
            if self.wanted.limit.is_some_and(|n| self.shown >= n) {
                break;
            }
            match reader.read(&mut record) {
                Ok(ReadOutcome::Record) => {}
                Ok(ReadOutcome::End(_)) if self.given.has("follow") => {
                    self.wait_for_more(reader, &mut record)?;
                }
                Ok(ReadOutcome::End(reason)) => {
                    self.finish();
                    return Err(format!("error in WAL record at {before}: {reason}"));
                }
                Err(e) => return Err(e.message().to_string()),
            }
        }
        self.finish();
        Ok(())
    }

    fn finish(&self) {
        if self.given.has("stats") {
            print!("{}", self.stats.table());
        }
    }

    /// Looks every second whether the log has grown (`--follow`).
    fn wait_for_more(&self, reader: &mut WalReader, record: &mut Record) -> Outcome<()> {
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
            reader.seek(self.stats.to);
            match reader.read(record) {
                Ok(ReadOutcome::Record) => return Ok(()),
                Ok(ReadOutcome::End(_)) => {}
                Err(e) => return Err(e.message().to_string()),
            }
        }
    }

    /// Writes the images of pages in a record to files (`--save-fullpage`).
    fn save_images(&self, r: &Record, folder: &str) -> Outcome<()> {
        for b in r.blocks.iter().filter(|b| b.has_image()) {
            let mut page = vec![0; base::PAGE_SIZE];
            r.restore_image(b.id, &mut page).map_err(|e| e.message().to_string())?;
            let fork = match b.fork {
                Fork::Main => "main",
                Fork::Fsm => "fsm",
                Fork::Vm => "vm",
                Fork::Init => "init",
            };
            let name = format!(
                "{folder}/{:08X}-{:08X}-{:08X}.{}.{}.{}.{}_{fork}",
                self.timeline,
                r.lsn_start.0 >> 32,
                r.lsn_start.0 as u32,
                b.rel.tablespace,
                b.rel.database,
                b.rel.number,
                b.block.0
            );
            std::fs::write(&name, &page)
                .map_err(|e| format!("could not write file \"{name}\": {}", reason(&e)))?;
        }
        Ok(())
    }

    fn count(&mut self, r: &Record) {
        let images = r.image_len() as u64;
        let add = |sums: &mut [u64; 3]| {
            sums[0] += 1;
            sums[1] += r.len() as u64 - images;
            sums[2] += images;
        };
        add(&mut self.stats.by_rmgr[r.rmgr as usize]);
        if self.stats.by_kind {
            // Transactions have a flag among the bits of the kind.
            let kind = r.info & if r.rmgr == Rmgr::Transaction { 0x70 } else { 0xF0 };
            let named = || (self.describer.describe(r).0, [0; 3]);
            let found = self.stats.kinds.entry((r.rmgr as u8, kind));
            add(&mut found.or_insert_with(named).1);
        }
    }

    fn print(&self, r: &Record, before: Lsn) {
        let (kind, text) = self.describer.describe(r);
        let own = r.len() - r.image_len();
        let mut line = format!(
            "rmgr: {:<11} len (rec/tot): {own:>6}/{:>6}, tx: {:>10}, lsn: {}, prev {}, desc: {kind} {text}",
            r.rmgr.name(),
            r.len(),
            r.xid.0,
            padded(r.lsn_start),
            padded(before),
        );
        let details = self.given.has("bkp-details");
        for b in &r.blocks {
            let fork = match b.fork {
                Fork::Main => String::new(),
                Fork::Fsm => " fork fsm".to_string(),
                Fork::Vm => " fork vm".to_string(),
                Fork::Init => " fork init".to_string(),
            };
            let image = match (b.has_image(), b.has_check_image()) {
                (true, _) => " FPW",
                (_, true) => " FPW for WAL verification",
                _ => "",
            };
            let rel = relation_of(b);
            match details {
                false => line.push_str(&format!(
                    ", blkref #{}: rel {rel}{fork} blk {}{image}",
                    b.id, b.block.0
                )),
                true => {
                    let size = image_details(b);
                    line.push_str(&format!(
                        "\n\tblkref #{}: rel {rel}{fork} blk {}{size}",
                        b.id, b.block.0
                    ));
                }
            }
        }
        println!("{line}");
    }
}

/// What `--bkp-details` says of a block's image.
fn image_details(b: &wal::BlockRef) -> String {
    if !b.has_image() && !b.has_check_image() {
        return String::new();
    }
    let what = if b.has_image() { "" } else { " for WAL verification" };
    let hole = b.hole();
    let mut out = format!(" (FPW{what}); hole: offset: {}, length: {}", hole.start, hole.len());
    if let Some(method) = b.image_compression() {
        let saved = base::PAGE_SIZE - hole.len() - b.image_len();
        out.push_str(&format!(", compression saved: {saved}, method: {}", method.name()));
    }
    out
}

fn padded(at: Lsn) -> String {
    format!("{:X}/{:08X}", at.0 >> 32, at.0 as u32)
}

impl Stats {
    fn table(&self) -> String {
        let (from, to) = (self.from.unwrap_or(Lsn::INVALID), self.to);
        let sum = |i: usize| self.by_rmgr.iter().map(|s| s[i]).sum::<u64>();
        let (records, own, images) = (sum(0), sum(1), sum(2));
        let share = |n: u64, of: u64| if of == 0 { 0.0 } else { n as f64 * 100.0 / of as f64 };
        let mut out = format!("WAL statistics between {from} and {to}:\n");
        out.push_str(&format!(
            "{:<27} {:>20} {:>8} {:>20} {:>8} {:>20} {:>8} {:>20} {:>8}\n{:<27} {:>20} {:>8} \
             {:>20} {:>8} {:>20} {:>8} {:>20} {:>8}\n",
            "Type",
            "N",
            "(%)",
            "Record size",
            "(%)",
            "FPI size",
            "(%)",
            "Combined size",
            "(%)",
            "----",
            "-",
            "---",
            "-----------",
            "---",
            "--------",
            "---",
            "-------------",
            "---"
        ));
        let by_rmgr = Rmgr::ALL.iter().map(|r| (r.name().to_string(), self.by_rmgr[*r as usize]));
        let by_kind = self.kinds.iter().map(|((rmgr, _), (kind, sums))| {
            let rmgr = Rmgr::from_u8(*rmgr).map_or("", |r| r.name());
            (format!("{rmgr}/{kind}"), *sums)
        });
        let rows: Vec<(String, [u64; 3])> =
            if self.by_kind { by_kind.collect() } else { by_rmgr.collect() };
        for (name, s) in rows {
            let both = s[1] + s[2];
            out.push_str(&format!(
                "{:<27} {:>20} ({:>6.2}) {:>20} ({:>6.2}) {:>20} ({:>6.2}) {both:>20} ({:>6.2})\n",
                name,
                s[0],
                share(s[0], records),
                s[1],
                share(s[1], own),
                s[2],
                share(s[2], images),
                share(both, own + images),
            ));
        }
        let total = own + images;
        out.push_str(&format!(
            "{:<27} {:>20} {:>8} {:>20} {:>8} {:>20} {:>8} {:>20}\n",
            "", "--------", "", "--------", "", "--------", "", "--------"
        ));
        out.push_str(&format!(
            "{:<27} {records:>20} {:>8} {own:>20} {:<9}{images:>20} {:<9}{total:>20} [100%]\n",
            "Total",
            "",
            format!("[{:.2}%]", share(own, total)),
            format!("[{:.2}%]", share(images, total)),
        ));
        out
    }
}
