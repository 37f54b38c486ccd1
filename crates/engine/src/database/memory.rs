//! The server's memory limit, and where statements write to that need more than their share.
//!
//! A watcher compares what the process holds with the limit, the more often the closer it is. When
//! there is no room left the statement that holds most is ended with 53200, long before the
//! system would end the server. Who that is: every statement's account says what its operators
//! hold, and the allocator counts for each thread, so that a statement that grows in one value
//! (an array, a document) is found as well.

use super::Database;
use crate::log::{LogLine, message, tag_of};
use crate::settings::Defaults;
use base::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use txn::WaitStage;

/// The least that the largest statement has to hold to be worth ending.
const WORTH: usize = 16 << 20;

/// Bytes that the process may hold: `olifant.memory_limit` or nine tenths of the machine's.
fn limit(defaults: &Defaults) -> u64 {
    let set = defaults.custom("olifant.memory_limit").and_then(|text| {
        let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let number: u64 = text[..at].parse().ok()?;
        Some(match text[at..].trim() {
            "kB" => number << 10,
            "GB" => number << 30,
            "TB" => number << 40,
            _ => number << 20,
        })
    });
    set.filter(|n| *n > 0).unwrap_or_else(|| os::memory::total_bytes() / 10 * 9)
}

impl Database {
    fn temp_folder(&self) -> PathBuf {
        self.dir.join("base/pgsql_tmp")
    }

    /// Removes what statements of a server before left behind.
    pub(super) fn empty_temp_folder(&self) -> Result<()> {
        let folder = self.temp_folder();
        if self.disk.exists(&folder) {
            for entry in self.disk.list(&folder)? {
                self.disk.remove(&folder.join(&entry.name))?;
            }
            return Ok(());
        }
        Ok(self.disk.create_dir_all(&folder)?)
    }

    /// Where a session's statements write to.
    pub(crate) fn temp_space(self: &Arc<Database>, pid: i32) -> executor::TempSpace {
        let weak = Arc::downgrade(self);
        let told = move |path: &Path, bytes: u64| {
            if let Some(database) = weak.upgrade() {
                database.temp_file_gone(pid, path, bytes);
            }
        };
        let folder = self.temp_folder();
        let told: executor::TempTold = Box::new(told);
        executor::TempSpace::telling(self.disk.clone(), folder, pid as u64, Some(told))
    }

    /// Writes a line of a session, from outside of it: with its statement.
    pub(crate) fn log_of_session(&self, pid: i32, e: &Error) {
        let Some((info, who)) = self.activity.session(pid) else { return self.log(e) };
        let line = LogLine {
            who: who.as_deref(),
            statement: (!info.query.is_empty()).then_some(info.query.as_str()),
            tag: &tag_of(&info.query),
            application: &info.application_name,
            ..LogLine::of_server(e)
        };
        self.write_log(&line);
    }

    /// `log_lock_waits`
    pub(super) fn watch_locks(self: &Arc<Database>) {
        let weak = Arc::downgrade(self);
        self.storage.txn.locks().set_watcher(Arc::new(move |wait| {
            if let Some(database) = weak.upgrade() {
                database.log_wait(wait);
            }
        }));
    }

    fn log_wait(&self, wait: &txn::LongWait) {
        if !self.defaults().get("log_lock_waits").is_some_and(|v| v.as_bool()) {
            return;
        }
        let what = match wait.stage {
            WaitStage::Waiting => "still waiting for",
            WaitStage::Deadlock => "detected deadlock while waiting for",
            WaitStage::Acquired => "acquired",
        };
        let (ms, us) = (wait.micros / 1000, wait.micros % 1000);
        let (pid, mode, tag) = (wait.pid, wait.mode.name(), wait.tag);
        let text = format!("process {pid} {what} {mode} on {tag} after {ms}.{us:03} ms");
        let mut e = message(text);
        if wait.stage != WaitStage::Acquired {
            let list =
                |pids: &[i32]| pids.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
            let processes = if wait.holders.len() == 1 { "Process" } else { "Processes" };
            let (holders, queue) = (list(&wait.holders), list(&wait.queue));
            e = e.detail(format!("{processes} holding the lock: {holders}. Wait queue: {queue}."));
        }
        if let Some(context) = &wait.context {
            e = e.context(context.as_str());
        }
        self.log_of_session(pid, &e);
    }

    /// `log_temp_files`
    fn temp_file_gone(&self, pid: i32, path: &Path, bytes: u64) {
        if let Some((info, _)) = self.activity.session(pid) {
            self.stats.change_database(info.database, |d| {
                d.temp_files += 1;
                d.temp_bytes += bytes;
            });
        }
        let least = self.defaults().get("log_temp_files").map_or(-1, |v| v.as_i64());
        if least >= 0 && bytes >= (least as u64) << 10 {
            let name = path.strip_prefix(&self.dir).unwrap_or(path).display();
            let e = message(format!("temporary file: path \"{name}\", size {bytes}"));
            self.log_of_session(pid, &e);
        }
    }
}

/// The watcher's thread.
pub(super) fn watch(database: &Weak<Database>) {
    // What a victim gives back takes a moment to be seen.
    let mut patience = 0;
    let mut nap = Duration::from_millis(20);
    loop {
        let Some(database) = database.upgrade() else { return };
        if database.nap(nap) {
            return;
        }
        let limit = limit(&database.defaults());
        let used = os::memory::resident_bytes();
        nap = match used as f64 / limit as f64 {
            x if x < 0.5 => Duration::from_millis(250),
            x if x < 0.8 => Duration::from_millis(50),
            _ => Duration::from_millis(10),
        };
        if used < limit || patience > 0 {
            patience = if used < limit { 0 } else { patience - 1 };
            continue;
        }
        database.activity.ask_memory();
        os::thread::sleep(Duration::from_millis(5));
        if let Some((held, interrupts)) = database.activity.largest()
            && held >= WORTH
        {
            interrupts.out_of_memory();
            patience = 50;
        }
    }
}
