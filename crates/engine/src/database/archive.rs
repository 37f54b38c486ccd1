//! The archiver: finished segments of the log are handed to `archive_command`.
//!
//! A finished segment gets a file `pg_wal/archive_status/SEGMENT.ready`, which becomes
//! `SEGMENT.done` once the command has said that it has it. Segments without `.done` are never
//! removed or written again, so that a command that fails for a year costs disk space and nothing
//! else.

use super::Database;
use crate::log::message;
use crate::settings::Defaults;
use base::wait::WaitEvent;
use base::{Error, Lsn, Result};
use os::process::Ended;
use os::sync::{Condvar, Mutex};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use wal::{FlushListener, segment_name};

const PART: &str = "archiver";
/// A segment is tried so often before the archiver takes a rest.
const TRIES: usize = 3;
/// How long it rests, and at most sleeps.
const REST: Duration = Duration::from_secs(60);
const FOLDER: &str = "pg_wal/archive_status";

/// What the archiver and who wakes it share.
pub(crate) struct Archive {
    /// `archive_mode` was on at the start.
    on: bool,
    /// The number of the last segment that was seen to be finished.
    segment: AtomicU64,
    due: Mutex<bool>,
    wake: Condvar,
}

/// Sees from flushes when a segment is finished.
struct Watch(Weak<Database>);

impl FlushListener for Watch {
    fn flushed(&self, upto: Lsn) {
        let Some(database) = self.0.upgrade() else { return };
        let number = upto.0 / database.storage.wal.segment_size();
        if database.archive.segment.swap(number, Ordering::Relaxed) != number {
            database.archive.wake();
        }
    }
}

impl Archive {
    /// As the settings at the start have it: recovery's own checkpoint must keep what was not
    /// archived before a crash.
    pub(super) fn new(defaults: &Defaults) -> Archive {
        Archive {
            on: defaults.show("archive_mode") != "off",
            segment: AtomicU64::new(0),
            due: Mutex::new(false),
            wake: Condvar::new(),
        }
    }

    fn wake(&self) {
        *self.due.lock() = true;
        self.wake.notify_all();
    }

    fn sleep(&self, time: Duration) {
        let _waiting = os::wait::begin(WaitEvent::ArchiverMain);
        let mut due = self.due.lock();
        if !*due {
            due = self.wake.wait_timeout(due, time).0;
        }
        *due = false;
    }

    /// Segments have to be archived before they may go.
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }
}

impl Database {
    /// Starts the archiver, if there is to be one; gives its thread.
    pub(super) fn start_archiver(
        self: &Arc<Database>,
    ) -> Result<Option<os::thread::JoinHandle<()>>> {
        if !self.archive.is_on() {
            return Ok(None);
        }
        let wal = &self.storage.wal;
        self.archive.segment.store(wal.flushed().0 / wal.segment_size(), Ordering::Relaxed);
        wal.on_flush(Arc::new(Watch(Arc::downgrade(self))));
        let own = Arc::downgrade(self);
        let thread = os::thread::spawn(PART, move || archiver(&own));
        thread.map(Some).map_err(super::thread_error)
    }

    /// Whether a finished segment may be removed or written again.
    pub(super) fn may_drop_segment(&self, name: &str) -> bool {
        !self.archive.is_on() || self.disk.exists(&self.status_file(name, "done"))
    }

    /// Forgets that segments were archived that are there no more. After they are gone, not before:
    /// a crash in between must not have them archived again.
    pub(super) fn forget_archived(&self) -> Result<()> {
        let folder = self.dir.join(FOLDER);
        if !self.archive.is_on() || !self.disk.exists(&folder) {
            return Ok(());
        }
        for entry in self.disk.list(&folder)? {
            let Some(segment) = entry.name.strip_suffix(".done") else { continue };
            if !self.disk.exists(&self.storage.wal.dir().join(segment)) {
                self.disk.remove(&folder.join(&entry.name))?;
            }
        }
        Ok(())
    }

    /// Has the server's last words archived too: begins a new segment.
    pub(super) fn archive_rest(&self) -> Result<()> {
        if self.archive.is_on() {
            let end = self.storage.wal.switch_segment()?;
            self.storage.wal.flush(end)?;
        }
        Ok(())
    }

    /// Archives what is finished, one last time; the archiver has stopped.
    pub(super) fn archive_last(&self) {
        if self.archive.is_on() {
            archive_all(self);
        }
    }

    fn status_file(&self, segment: &str, state: &str) -> PathBuf {
        self.dir.join(FOLDER).join(format!("{segment}.{state}"))
    }

    /// Notes all finished segments that nothing is noted of.
    fn note_finished(&self) -> Result<()> {
        let wal = &self.storage.wal;
        let size = wal.segment_size();
        let end = wal.flushed().0 / size * size;
        self.disk.create_dir_all(&self.dir.join(FOLDER))?;
        for entry in self.disk.list(wal.dir())? {
            let Some((timeline, start)) = wal::parse_segment_name(&entry.name, size) else {
                continue;
            };
            let finished = timeline < wal.timeline() || start.0 + size <= end;
            let known = |state| self.disk.exists(&self.status_file(&entry.name, state));
            if finished && !known("done") && !known("ready") {
                self.disk.write_atomic(&self.status_file(&entry.name, "ready"), &[])?;
            }
        }
        Ok(())
    }

    /// Segments that wait, the oldest first.
    fn waiting(&self) -> Result<Vec<String>> {
        let mut names: Vec<String> = self
            .disk
            .list(&self.dir.join(FOLDER))?
            .into_iter()
            .filter_map(|e| e.name.strip_suffix(".ready").map(str::to_string))
            .collect();
        names.sort();
        Ok(names)
    }

    /// Begins a new segment if the one that is written has waited for `archive_timeout`.
    fn switch_in_time(&self, last: &mut (u64, u64)) {
        let limit = self.defaults().get("archive_timeout").map_or(0, |v| v.as_i64());
        let now = os::clock::monotonic_nanos();
        let wal = &self.storage.wal;
        let (number, within) =
            (wal.inserted().0 / wal.segment_size(), wal.inserted().0 % wal.segment_size());
        if last.0 != number {
            *last = (number, now);
        }
        // What is at a segment's beginning without anything having happened.
        const HEAD: u64 = 256;
        let waited = now.saturating_sub(last.1) >= limit.max(0) as u64 * 1_000_000_000;
        if limit > 0 && waited && within > HEAD {
            let _ = wal.switch_segment().and_then(|end| wal.flush(end));
        }
    }
}

/// The thread.
fn archiver(database: &Weak<Database>) {
    let mut last = (0, 0);
    let mut rested = 0;
    loop {
        let Some(database) = database.upgrade() else { return };
        if database.is_stopping() {
            return;
        }
        database.switch_in_time(&mut last);
        let now = os::clock::monotonic_nanos();
        let waits = rested > now && !*database.archive.due.lock();
        if !waits && !archive_all(&database) {
            rested = os::clock::monotonic_nanos() + REST.as_nanos() as u64;
        }
        // Short, as a stop and `archive_timeout` have to be seen.
        database.archive.sleep(Duration::from_secs(1));
    }
}

/// Archives all that waits; false if some could not be.
fn archive_all(database: &Database) -> bool {
    let names = match database.note_finished().and_then(|()| database.waiting()) {
        Ok(names) => names,
        Err(e) => {
            database.log_as(PART, &e.severity(base::Severity::Warning));
            return false;
        }
    };
    for name in names {
        let defaults = database.defaults();
        let (command, library) =
            (defaults.show("archive_command"), defaults.show("archive_library"));
        if let Some(e) = not_configured(&command, &library) {
            database.log_as(PART, &e);
            return false;
        }
        let mut tries = 0;
        while !archive_one(database, &name, &command) {
            tries += 1;
            if tries >= TRIES {
                let text = format!(
                    "archiving write-ahead log file \"{name}\" failed too many times, will try \
                     again later"
                );
                database.log_as(PART, &Error::warning(text));
                return false;
            }
            if database.nap(Duration::from_secs(1)) {
                return false;
            }
        }
    }
    true
}

fn not_configured(command: &str, library: &str) -> Option<Error> {
    if !library.is_empty() {
        let code = base::SqlState::UNDEFINED_FILE;
        let text = format!("could not access file \"{library}\": No such file or directory");
        let e = Error::with_severity(base::Severity::Warning, code, text);
        return Some(
            e.detail("Libraries of C functions cannot be loaded; set \"archive_command\"."),
        );
    }
    command.is_empty().then(|| {
        Error::warning("\"archive_mode\" enabled, yet archiving is not configured")
            .detail("\"archive_command\" is not set.")
    })
}

/// Runs the command for one segment; true if it has it.
fn archive_one(database: &Database, name: &str, command: &str) -> bool {
    let path = format!("pg_wal/{name}");
    if !database.disk.exists(&database.dir.join(&path)) {
        // Somebody has removed it by hand; there is nothing to be done about it.
        let text = format!("removed orphan archive status file \"{FOLDER}/{name}.ready\"");
        database.log_as(PART, &Error::warning(text));
        let _ = database.disk.remove(&database.status_file(name, "ready"));
        return true;
    }
    let command = expand(command, &path, name);
    let ended = {
        let _waiting = os::wait::begin(WaitEvent::ArchiveCommand);
        os::process::run_shell(&command, &database.dir)
    };
    let failed = match ended {
        Ok(Ended::Code(0)) => None,
        Ok(Ended::Code(code)) => Some(format!("archive command failed with exit code {code}")),
        Ok(Ended::Signal(n, name)) => {
            Some(format!("archive command was terminated by signal {n}: {name}"))
        }
        Err(e) => Some(format!("could not execute command \"{command}\": {e}")),
    };
    if let Some(text) = failed {
        let detail = format!("The failed archive command was: {command}");
        database.log_as(PART, &message(text).detail(detail));
        database.stats.archived(name, false);
        return false;
    }
    let (ready, done) = (database.status_file(name, "ready"), database.status_file(name, "done"));
    if let Err(e) = rename(database, &ready, &done) {
        database.log_as(PART, &e.severity(base::Severity::Warning));
        return false;
    }
    database.stats.archived(name, true);
    true
}

fn rename(database: &Database, from: &Path, to: &Path) -> Result<()> {
    database.disk.rename(from, to)?;
    Ok(database.disk.sync_dir(&database.dir.join(FOLDER))?)
}

/// `%p` is the segment's path, `%f` its name, `%%` a percent sign.
pub(crate) fn expand(command: &str, path: &str, name: &str) -> String {
    let mut out = String::new();
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('%', Some('p')) => out.push_str(path),
            ('%', Some('f')) => out.push_str(name),
            ('%', Some('%')) => out.push('%'),
            _ => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}

/// The name of the segment that a position is in, as the functions about the log have it.
pub(crate) fn name_of(wal: &wal::Wal, lsn: Lsn) -> String {
    segment_name(wal.timeline(), lsn, wal.segment_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_filled_in() {
        let expanded = expand("cp %p /a/%f %% %x %", "pg_wal/0001", "0001");
        assert_eq!(expanded, "cp pg_wal/0001 /a/0001 % %x %");
    }

    #[test]
    fn what_cannot_be_run_is_told() {
        assert!(not_configured("cp", "").is_none());
        assert!(not_configured("", "").is_some());
        assert!(not_configured("cp", "lib").is_some());
    }
}
