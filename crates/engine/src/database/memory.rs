//! The server's memory limit, and where statements write to that need more than their share.
//!
//! A watcher compares what the process holds with the limit, the more often the closer it is. When
//! there is no room left the statement that holds most is ended with 53200, long before the
//! system would end the server. Who that is: every statement's account says what its operators
//! hold, and the allocator counts for each thread, so that a statement that grows in one value
//! (an array, a document) is found as well.

use super::Database;
use super::titles::Titles;
use crate::activity::SessionInfo;
use crate::log::{LogLine, LogWho, message, tag_of};
use crate::settings::Defaults;
use base::{Error, Result, err};
use os::HugePages;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use txn::WaitStage;

/// How shared buffers are to be mapped (`huge_pages`); fails if that has to be in huge pages of
/// which there are not enough. Tells it in `huge_pages_status`.
pub(super) fn huge_pages(defaults: &mut Defaults, buffers: usize) -> Result<HugePages> {
    let kb = defaults.get("huge_page_size").map_or(0, |v| v.as_i64()).max(0) as u32;
    let (wanted, reserved) = (defaults.show("huge_pages"), HugePages::Reserved(kb));
    let bytes = buffers * base::PAGE_SIZE;
    let chosen = match wanted.as_str() {
        "off" => HugePages::Off,
        _ if reserved.can_map(bytes) => reserved,
        "on" => {
            let e = err!(OUT_OF_MEMORY, "could not map anonymous shared memory: {NO_MEMORY}");
            return Err(e
                .hint(format!(
                    "This error usually means that PostgreSQL's request for a shared memory \
                     segment exceeded available memory, swap space, or huge pages. To reduce the \
                     request size (currently {bytes} bytes), reduce PostgreSQL's shared memory \
                     usage, perhaps by reducing \"shared_buffers\" or \"max_connections\"."
                ))
                .severity(base::Severity::Fatal));
        }
        _ => HugePages::Try,
    };
    let status = if chosen == reserved { "on" } else { "off" };
    if let Some(def) = base::settings::find("huge_pages_status")
        && let Ok(value) = def.parse(status)
    {
        defaults.set_internal(def.name, value);
    }
    Ok(chosen)
}

const NO_MEMORY: &str = "Cannot allocate memory";

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
        let defaults = self.defaults();
        let removes = defaults.get("remove_temp_files_after_crash").is_none_or(|v| v.as_bool());
        if os::restart::is_after_crash() && !removes {
            // They are left for who wants to know what went on.
            return Ok(self.disk.create_dir_all(&folder)?);
        }
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
        self.log_with(&info, who, e, None, false);
    }

    /// The same of a session as it is now, in a virtual transaction. It waits, or does not.
    fn log_with(
        &self,
        info: &SessionInfo,
        who: Option<Arc<LogWho>>,
        e: &Error,
        vxid: Option<(u32, u32)>,
        waits: bool,
    ) {
        let mut tag = tag_of(&info.query);
        if waits {
            tag.push_str(" waiting");
        }
        let xid = self.storage.txn.transaction_of(info.pid);
        let who = who.or_else(|| info.background.then(|| self.part("autovacuum worker")));
        let line = LogLine {
            who: who.as_deref(),
            statement: (!info.query.is_empty()).then_some(info.query.as_str()),
            tag: tag.trim_start(),
            application: &info.application_name,
            vxid,
            xid: xid.and_then(|found| found.0).map_or(0, |xid| xid.0),
            query_id: info.query_id,
            ..LogLine::of_server(e)
        };
        self.write_log(&line);
    }

    /// `pg_log_backend_memory_contexts`: a session has one account, which its statements share.
    /// False if there is no such session.
    pub(crate) fn log_memory_of(&self, pid: i32) -> bool {
        let Some(used) = self.activity.memory_of(pid) else { return false };
        let Some((info, who)) = self.activity.session(pid) else { return false };
        let blocks = usize::from(used > 0);
        let lines = [
            format!("logging memory contexts of PID {pid}"),
            format!(
                "level: 1; TopMemoryContext: {used} total in {blocks} blocks; 0 free (0 chunks); \
                 {used} used"
            ),
            format!("Grand total: {used} bytes in {blocks} blocks; 0 free (0 chunks); {used} used"),
        ];
        for line in lines {
            let e = message(line);
            let line = LogLine {
                who: who.as_deref(),
                tag: &tag_of(&info.query),
                application: &info.application_name,
                ..LogLine::of_server(&e)
            };
            self.write_log(&line);
        }
        true
    }

    /// `log_lock_waits` and `log_lock_failures`
    pub(super) fn watch_locks(self: &Arc<Database>) {
        let weak = Arc::downgrade(self);
        self.storage.txn.locks().set_watcher(Arc::new(move |wait| {
            if let Some(database) = weak.upgrade() {
                database.log_wait(wait);
            }
        }));
    }

    fn log_wait(&self, wait: &txn::LongWait) {
        let failed = wait.stage == WaitStage::Failed;
        let Some((info, who)) = self.activity.session(wait.pid) else { return };
        if !failed && !info.log_lock_waits {
            return;
        }
        let what = match wait.stage {
            WaitStage::Waiting => "still waiting for",
            WaitStage::Deadlock => "detected deadlock while waiting for",
            WaitStage::Acquired => "acquired",
            WaitStage::Failed => "could not obtain",
        };
        let (ms, us) = (wait.micros / 1000, wait.micros % 1000);
        let (pid, mode, tag) = (wait.pid, wait.mode.name(), wait.tag);
        let mut text = format!("process {pid} {what} {mode} on {tag}");
        if !failed {
            text.push_str(&format!(" after {ms}.{us:03} ms"));
        }
        let mut e = message(text);
        if wait.stage != WaitStage::Acquired {
            let list =
                |pids: &[i32]| pids.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
            let processes = if wait.holders.len() == 1 { "Process" } else { "Processes" };
            let (holders, queue) = (list(&wait.holders), list(&wait.queue));
            let stop = if failed { ',' } else { '.' };
            let text =
                format!("{processes} holding the lock: {holders}{stop} Wait queue: {queue}.");
            e = e.detail(text);
        }
        if let Some(context) = &wait.context {
            e = e.context(context.as_str());
        }
        if let Some(parameters) = info.parameters.as_deref() {
            e = e.context(parameters);
        }
        let e = crate::session::locate(e.at(wait.location), &info.query);
        self.log_with(&info, who, &e, Some(wait.vxid), !failed);
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

/// Names of threads follow what sessions do this often, in nanoseconds.
const TITLES_EVERY: u64 = 500_000_000;

/// The watcher's thread.
pub(super) fn watch(database: &Weak<Database>) {
    // What a victim gives back takes a moment to be seen.
    let mut patience = 0;
    let mut nap = Duration::from_millis(20);
    let (mut titles, mut titles_due) = (Titles::default(), 0);
    loop {
        let Some(database) = database.upgrade() else { return };
        if database.nap(nap) {
            return;
        }
        let now = os::clock::monotonic_nanos();
        if now >= titles_due {
            titles.refresh(&database);
            titles_due = now + TITLES_EVERY;
        }
        let limit = limit(&database.defaults());
        os::memory::set_limit(limit);
        let mut used = os::memory::resident_bytes();
        if used >= limit {
            // Part of it may be what was freed a moment ago.
            os::memory::give_back();
            used = os::memory::resident_bytes();
        }
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
