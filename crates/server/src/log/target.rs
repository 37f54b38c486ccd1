//! Where the log goes besides standard error: files that rotate by age and size
//! (`logging_collector`), and syslog.

use base::{Result, Severity, err};
use engine::log_time::strftime;
use engine::settings::Defaults;
use os::{Disk, File, OpenOptions};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::datetime::TimeZone;

/// The form of a file's lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// As standard error would get.
    Text,
    /// Rows.
    Csv,
    /// Objects.
    Json,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Text => "stderr",
            Kind::Csv => "csvlog",
            Kind::Json => "jsonlog",
        }
    }

    /// The name of its file, given that of the text file.
    fn name(self, text: &str) -> String {
        let stem = text.strip_suffix(".log").unwrap_or(text);
        match self {
            Kind::Text => text.to_string(),
            Kind::Csv => format!("{stem}.csv"),
            Kind::Json => format!("{stem}.json"),
        }
    }
}

struct Open {
    kind: Kind,
    file: File,
    /// As `current_logfiles` and `pg_current_logfile` have it.
    name: PathBuf,
    size: u64,
}

/// The files of the logging collector.
pub struct Files {
    disk: Disk,
    data: PathBuf,
    folder: PathBuf,
    pattern: String,
    truncate: bool,
    /// Bytes; 0 is no limit.
    most: u64,
    /// Seconds; 0 is never.
    age: i64,
    mode: u32,
    zone: Arc<TimeZone>,
    open: Vec<Open>,
    /// When the next rotation by age is due, in seconds since 1970.
    next: i64,
}

impl Files {
    /// Files as the settings want them, none open yet.
    pub fn new(data: &Path, defaults: &Defaults, zone: Arc<TimeZone>) -> Result<Files> {
        let mut files = Files {
            disk: Disk::real(),
            data: data.to_path_buf(),
            folder: PathBuf::new(),
            pattern: String::new(),
            truncate: false,
            most: 0,
            age: 0,
            mode: 0o600,
            zone,
            open: Vec::new(),
            next: i64::MAX,
        };
        let zone = files.zone.clone();
        files.configure(defaults, zone)?;
        Ok(files)
    }

    /// The settings changed; another name or folder means other files.
    pub fn configure(&mut self, d: &Defaults, zone: Arc<TimeZone>) -> Result<()> {
        let number = |name: &str| d.get(name).map_or(0, |v| v.as_i64());
        let folder = PathBuf::from(d.show("log_directory"));
        let pattern = d.show("log_filename");
        let moved = folder != self.folder || pattern != self.pattern;
        (self.folder, self.pattern, self.zone) = (folder, pattern, zone);
        self.truncate = d.show("log_truncate_on_rotation") == "on";
        self.most = (number("log_rotation_size").max(0) as u64) << 10;
        self.mode = number("log_file_mode") as u32;
        let age = number("log_rotation_age").max(0) * 60;
        if age != self.age {
            self.age = age;
            self.plan();
        }
        self.disk.create_dir_all(&self.data.join(&self.folder))?;
        if moved && !self.open.is_empty() {
            self.rotate();
        }
        Ok(())
    }

    /// Sets when the next rotation by age is due: at multiples of the age in local time.
    fn plan(&mut self) {
        self.next = i64::MAX;
        if self.age > 0 {
            let now = os::clock::now_micros() / 1_000_000;
            let offset = i64::from(self.zone.at_unix(now).offset);
            let local = now + offset;
            self.next = local - local.rem_euclid(self.age) + self.age - offset;
        }
    }

    fn path_now(&self, kind: Kind) -> PathBuf {
        let now = os::clock::now_micros() / 1_000_000;
        self.folder.join(kind.name(&strftime(&self.pattern, now, &self.zone)))
    }

    fn open_one(&self, kind: Kind, name: PathBuf, empty: bool) -> Result<Open> {
        let path = self.data.join(&name);
        // Somebody may empty the file while it is open.
        let mut options = OpenOptions::new().create().append();
        if empty {
            options = options.truncate();
        }
        let file = self.disk.open(&path, &options).map_err(|e| {
            err!(SYSTEM_ERROR, "could not open log file \"{}\": {e}", path.display())
                .severity(Severity::Fatal)
        })?;
        let _ = os::process::set_mode(&path, self.mode);
        let size = file.len()?;
        Ok(Open { kind, file, name, size })
    }

    /// Opens files of these kinds and closes others.
    pub fn open_wanted(&mut self, kinds: &[Kind]) -> Result<()> {
        self.open.retain(|o| kinds.contains(&o.kind));
        for kind in kinds {
            if !self.open.iter().any(|o| o.kind == *kind) {
                let open = self.open_one(*kind, self.path_now(*kind), false)?;
                self.open.push(open);
            }
        }
        self.tell();
        Ok(())
    }

    /// Writes `current_logfiles`.
    fn tell(&self) {
        let mut text = String::new();
        for o in &self.open {
            text.push_str(&format!("{} {}\n", o.kind.word(), o.name.display()));
        }
        // Without the file the function that reads it finds nothing; logging goes on.
        let _ = self.disk.write_atomic(&self.data.join("current_logfiles"), text.as_bytes());
    }

    /// Begins new files.
    pub fn rotate(&mut self) {
        self.rotate_kinds(false, &|_| true);
    }

    fn rotate_kinds(&mut self, by_age: bool, wanted: &dyn Fn(&Open) -> bool) {
        for i in 0..self.open.len() {
            if !wanted(&self.open[i]) {
                continue;
            }
            let (kind, old) = (self.open[i].kind, self.open[i].name.clone());
            let name = self.path_now(kind);
            // Only a rotation by age may overwrite: one by size would lose what was just written.
            let empty = self.truncate && by_age && name != old;
            if let Ok(open) = self.open_one(kind, name, empty) {
                self.open[i] = open;
            }
        }
        self.plan();
        self.tell();
    }

    /// Writes lines of a kind, after a rotation that is due.
    pub fn write(&mut self, kind: Kind, bytes: &[u8]) {
        if os::clock::now_micros() / 1_000_000 >= self.next {
            self.rotate_kinds(true, &|_| true);
        }
        if self.most > 0 {
            let most = self.most;
            if self.open.iter().any(|o| o.size >= most) {
                self.rotate_kinds(false, &|o| o.size >= most);
            }
        }
        if let Some(open) = self.open.iter_mut().find(|o| o.kind == kind) {
            // There is nowhere to report that the log cannot be written.
            let _ = open.file.write_at(bytes, open.size);
            open.size += bytes.len() as u64;
        }
    }
}

/// How lines go to syslog.
#[derive(Clone, Debug)]
pub struct Syslog {
    facility: u32,
    ident: String,
    sequence: bool,
    split: bool,
}

/// The most bytes of a message to syslog.
const SYSLOG_MOST: usize = 900;

impl Syslog {
    /// As the settings have it.
    pub fn of(d: &Defaults) -> Syslog {
        let local: u32 = d
            .show("syslog_facility")
            .to_lowercase()
            .trim_start_matches("local")
            .parse()
            .unwrap_or(0);
        Syslog {
            facility: 16 + local.min(7),
            ident: d.show("syslog_ident"),
            sequence: d.show("syslog_sequence_numbers") == "on",
            split: d.show("syslog_split_messages") == "on",
        }
    }

    /// Sends lines; a server without a syslog loses them.
    pub fn send(&self, severity: Severity, text: &str) {
        use std::sync::atomic::{AtomicU64, Ordering};
        static SEQUENCE: AtomicU64 = AtomicU64::new(0);
        let level = match severity {
            Severity::Debug => 7,
            Severity::Log | Severity::Info => 6,
            Severity::Notice => 5,
            Severity::Warning => 5,
            Severity::Error => 4,
            Severity::Fatal => 3,
            Severity::Panic => 2,
        };
        let Ok(socket) = UnixDatagram::unbound() else { return };
        if socket.connect("/dev/log").is_err() {
            return;
        }
        let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed) + 1;
        let pid = os::process::id();
        let priority = self.facility * 8 + level;
        let lines: Vec<&str> = match self.split {
            true => text.lines().flat_map(pieces).collect(),
            false => vec![text.trim_end()],
        };
        for (i, line) in lines.iter().enumerate() {
            let number = match (self.sequence, self.split) {
                (true, true) => format!("[{sequence}-{}] ", i + 1),
                (true, false) => format!("[{sequence}] "),
                _ => String::new(),
            };
            let packet = format!("<{priority}>{}[{pid}]: {number}{line}", self.ident);
            let _ = socket.send(packet.as_bytes());
        }
    }
}

fn pieces(line: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = line;
    while rest.len() > SYSLOG_MOST {
        let mut at = SYSLOG_MOST;
        while !rest.is_char_boundary(at) {
            at -= 1;
        }
        let (piece, more) = rest.split_at(at);
        out.push(piece);
        rest = more;
    }
    out.push(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_rotate_by_size_and_by_request() {
        let folder = std::env::temp_dir().join(format!("olifant-log-{}", os::process::id()));
        let mut defaults = Defaults::default();
        let source = engine::settings::Source::File;
        defaults.set("log_filename", "a.log", source).unwrap();
        defaults.set("log_rotation_size", "1kB", source).unwrap();
        Disk::real().create_dir_all(&folder).unwrap();
        let mut files = Files::new(&folder, &defaults, TimeZone::utc()).unwrap();
        files.open_wanted(&[Kind::Text, Kind::Csv]).unwrap();
        files.write(Kind::Text, &[b'x'; 1500]);
        files.write(Kind::Csv, b"row\n");
        assert_eq!(files.open[0].size, 1500);
        defaults.set("log_filename", "b.log", source).unwrap();
        files.configure(&defaults, TimeZone::utc()).unwrap();
        files.write(Kind::Text, b"line\n");
        let told = std::fs::read_to_string(folder.join("current_logfiles")).unwrap();
        assert_eq!(told, "stderr log/b.log\ncsvlog log/b.csv\n");
        assert_eq!(std::fs::read(folder.join("log/a.csv")).unwrap(), b"row\n");
        assert_eq!(std::fs::read(folder.join("log/b.log")).unwrap(), b"line\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
