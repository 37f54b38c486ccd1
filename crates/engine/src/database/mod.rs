//! A running server without its sockets: files opened and recovered, background work, and what
//! all sessions share.

pub(crate) mod archive;
mod checkpoint;
mod create;
mod files;
pub(crate) mod folders;
mod memory;
pub(crate) mod moved;
mod oids;
mod redo;
mod titles;
pub(crate) mod two_phase;

pub use checkpoint::CheckpointKind;
pub use create::CreateOptions;
pub use files::PendingFiles;
pub use oids::OidGenerator;
pub use titles::BACKEND as BACKEND_TITLE;

use crate::activity::Activity;
use crate::log::{LogLine, Logger};
use crate::settings::Defaults;
use access::Storage;
use base::{Error, Lsn, Oid, Result, Xid};
use buffer::{BufferPool, PoolConfig};
use catalog::cache::SharedCache;
use catalog::{Change, SysTables, oids as object};
use os::Disk;
use os::sync::{Mutex, RwLock};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use txn::{TxnConfig, TxnManager};
use wal::{ControlFile, DbState, Wal, WalConfig};

/// What all sessions of one database share.
pub struct DatabaseState {
    /// Its OID.
    pub oid: Oid,
    /// Its system tables.
    pub tables: Arc<SysTables>,
    /// Its descriptors.
    pub cache: Arc<SharedCache>,
    /// What its sessions have found out about statements.
    pub statements: crate::session::StatementCaches,
}

/// A running server without its sockets. Sessions are made by [`crate::Session::new`].
pub struct Database {
    pub(crate) disk: Disk,
    pub(crate) dir: PathBuf,
    pub(crate) storage: Arc<Storage>,
    pub(crate) control: ControlFile,
    pub(crate) oids: Arc<OidGenerator>,
    pub(crate) defaults: RwLock<Arc<Defaults>>,
    pub(crate) databases: Mutex<HashMap<Oid, Arc<DatabaseState>>>,
    pub(crate) activity: Activity,
    /// Workers of parallel plans.
    pub(crate) workers: crate::session::WorkerCount,
    pub(crate) checkpoints: checkpoint::Checkpoints,
    pub(crate) archive: archive::Archive,
    pub(crate) changes: crate::autovacuum::AllChanges,
    pub(crate) autovacuum: crate::autovacuum::Crew,
    pub(crate) doors: folders::Doors,
    pub(crate) exports: crate::session::Exports,
    /// Held from before a commit that moves system tables until their map is written, and while a
    /// checkpoint chooses its redo pointer.
    pub(crate) moving: Mutex<()>,
    /// Where the tables are that all databases share.
    shared_files: Arc<catalog::FileMap>,
    /// Prepared transactions.
    pub(crate) prepared: two_phase::PreparedList,
    /// The server's parts, as the log knows them.
    parts: Mutex<HashMap<String, Arc<crate::log::LogWho>>>,
    /// Counters.
    pub(crate) stats: crate::stats::Stats,
    /// What all sessions hold in memory.
    pub(crate) memory: Arc<base::memory::Account>,
    /// Held while `postgresql.auto.conf` is written.
    pub(crate) auto_conf: Mutex<()>,
    configuration: AtomicU64,
    reloader: RwLock<Option<crate::notify::Waker>>,
    auth_files: RwLock<Option<Arc<dyn crate::AuthFiles>>>,
    rotator: RwLock<Option<Arc<dyn Fn() -> bool + Send + Sync>>>,
    pub(crate) switchboard: crate::notify::Switchboard,
    logger: RwLock<Option<Logger>>,
    /// What the configuration wants to be timed.
    timing: Mutex<crate::settings::Timing>,
    /// When it was started, in microseconds since 1970.
    pub start_micros: i64,
}

/// The number of WAL and buffer settings taken from `postgresql.conf`.
fn pool_config(dir: &Path, defaults: &Defaults) -> PoolConfig {
    let number = |name: &str| defaults.get(name).map_or(0, |v| v.as_i64());
    let on = |name: &str| defaults.get(name).is_some_and(|v| v.as_bool());
    PoolConfig {
        buffers: number("shared_buffers").max(64) as usize,
        data_dir: dir.to_path_buf(),
        io_combine_limit: number("io_combine_limit")
            .min(number("io_max_combine_limit"))
            .clamp(1, 128) as usize,
        io_concurrency: number("effective_io_concurrency").max(1) as usize,
        io_method: os::IoMethod::parse(&defaults.show("io_method"))
            .unwrap_or_else(os::IoMethod::detect),
        data_sync_retry: on("data_sync_retry"),
        open_files: number("max_files_per_process").max(64) as usize,
        extend_by_zeros: defaults.show("file_extend_method") == "write_zeros",
        ..PoolConfig::default()
    }
}

fn wal_config(defaults: &Defaults, timeline: u32, segment_size: u64) -> WalConfig {
    let on = |name: &str| defaults.get(name).is_some_and(|v| v.as_bool());
    let number = |name: &str| defaults.get(name).map_or(0, |v| v.as_i64());
    let buffers = match number("wal_buffers") {
        n if n <= 0 => 16 << 20,
        n => ((n as usize) * base::PAGE_SIZE).next_power_of_two().max(64 << 10),
    };
    WalConfig {
        segment_size,
        buffers,
        timeline,
        fsync: on("fsync"),
        sync_method: match defaults.show("wal_sync_method").as_str() {
            "open_sync" | "open_datasync" => wal::SyncMethod::OpenDatasync,
            _ => wal::SyncMethod::Fdatasync,
        },
        full_page_writes: on("full_page_writes"),
        compression: wal::ImageCompression::from_setting(&defaults.show("wal_compression")),
        writer_delay: Duration::from_millis(number("wal_writer_delay").max(1) as u64),
        ..WalConfig::default()
    }
}

/// The settings that `pg_controldata` tells, as far as they have an effect.
fn note_settings(c: &mut wal::Control, defaults: &Defaults) {
    let number = |name: &str| defaults.get(name).map_or(0, |v| v.as_i64()).max(0) as u32;
    c.wal_level = match defaults.show("wal_level").as_str() {
        "minimal" => 0,
        "logical" => 2,
        _ => 1,
    };
    c.max_connections = number("max_connections");
    c.max_worker_processes = number("max_worker_processes");
    c.max_prepared_transactions = number("max_prepared_transactions");
    c.track_commit_timestamp = defaults.get("track_commit_timestamp").is_some_and(|v| v.as_bool());
}

/// Has all files written that the server before may have left to the kernel
/// (`recovery_init_sync_method`).
fn sync_all(disk: &Disk, dir: &Path, defaults: &Defaults) -> Result<()> {
    if defaults.show("recovery_init_sync_method") != "syncfs" {
        return Ok(disk.sync_each(dir)?);
    }
    disk.sync_tree(dir)?;
    // These may be on file systems of their own.
    let spaces = dir.join("pg_tblspc");
    if disk.exists(&spaces) {
        for space in disk.list(&spaces)? {
            disk.sync_tree(&spaces.join(space.name))?;
        }
    }
    Ok(disk.sync_tree(&dir.join("pg_wal"))?)
}

/// Settings that tell how the data directory was made.
fn note_presets(defaults: &mut Defaults, dir: &Path, about: &wal::Control) {
    let group_reads = os::process::mode(dir).is_ok_and(|mode| mode & 0o050 == 0o050);
    let presets = [
        ("wal_segment_size", about.wal_segment_size.to_string() + "B"),
        ("data_directory_mode", if group_reads { "0750" } else { "0700" }.to_string()),
    ];
    for (name, value) in presets {
        if let Some(def) = base::settings::find(name)
            && let Ok(value) = def.parse(&value)
        {
            defaults.set_internal(name, value);
        }
    }
}

impl Database {
    /// Opens the data directory `dir`, recovering it if the server before did not stop cleanly.
    pub fn open(disk: Disk, dir: &Path, defaults: Defaults) -> Result<Arc<Database>> {
        Database::open_telling(disk, dir, defaults, None)
    }

    /// The same; `logger` is told what is found.
    pub fn open_telling(
        disk: Disk,
        dir: &Path,
        mut defaults: Defaults,
        logger: Option<Logger>,
    ) -> Result<Arc<Database>> {
        functions::check_patterns();
        let control = ControlFile::open(&disk, &dir.join("global/pg_control"))?;
        let about = control.get();
        note_presets(&mut defaults, dir, &about);
        let clean = about.state == DbState::ShutDown;
        if !clean && defaults.get("fsync").is_none_or(|v| v.as_bool()) {
            sync_all(&disk, dir, &defaults)?;
        }
        let config = wal_config(
            &defaults,
            about.checkpoint_copy.timeline.max(1),
            u64::from(about.wal_segment_size),
        );
        let wal = Wal::open(disk.clone(), &dir.join("pg_wal"), config, about.checkpoint_copy.redo)?;
        let log: Arc<dyn buffer::Log> = wal.clone();
        let mut config = pool_config(dir, &defaults);
        config.huge_pages = memory::huge_pages(&mut defaults, config.buffers)?;
        let pool = BufferPool::new(disk.clone(), log, config);
        let txn = TxnManager::open(
            disk.clone(),
            wal.clone(),
            TxnConfig {
                clog_dir: dir.join("pg_xact"),
                times: Some((
                    dir.join("pg_commit_ts"),
                    defaults.get("track_commit_timestamp").is_some_and(|v| v.as_bool()),
                )),
                next_xid: about.checkpoint_copy.next_xid,
                max_backends: 1 << 15,
                deadlock_timeout: Duration::from_millis(
                    defaults.get("deadlock_timeout").map_or(1000, |v| v.as_i64()) as u64,
                ),
            },
        )?;
        if let Some(size) = defaults.get("track_activity_query_size") {
            crate::activity::set_query_size(size.as_i64());
        }
        let storage = Arc::new(Storage { pool, wal: wal.clone(), txn: txn.clone() });
        let oids = Arc::new(OidGenerator::new(wal.clone(), about.checkpoint_copy.next_oid));
        let shared_files = SysTables::shared_map(&storage);
        let database = Arc::new(Database {
            disk,
            dir: dir.to_path_buf(),
            storage,
            control,
            oids,
            archive: archive::Archive::new(&defaults),
            defaults: RwLock::new(Arc::new(defaults)),
            databases: Mutex::new(HashMap::new()),
            activity: Activity::default(),
            workers: Default::default(),
            checkpoints: checkpoint::Checkpoints::default(),
            changes: Default::default(),
            autovacuum: Default::default(),
            doors: Default::default(),
            exports: Default::default(),
            moving: Mutex::new(()),
            shared_files,
            prepared: Default::default(),
            parts: Mutex::default(),
            stats: Default::default(),
            memory: base::memory::Account::root(0),
            auto_conf: Mutex::new(()),
            configuration: AtomicU64::new(0),
            reloader: RwLock::new(None),
            auth_files: RwLock::new(None),
            rotator: RwLock::new(None),
            switchboard: Default::default(),
            logger: RwLock::new(logger),
            timing: Mutex::default(),
            start_micros: os::clock::now_micros(),
        });
        database.recover(clean)?;
        database.empty_temp_folder()?;
        database.watch_locks();
        database.set_predicate_limits(&database.defaults());
        database.configure_files(&database.defaults());
        database.stats.read(&database.disk, dir, clean)?;
        database.start_background()?;
        Ok(database)
    }

    /// Replays the log since the last checkpoint.
    fn recover(self: &Arc<Database>, clean: bool) -> Result<()> {
        let about = self.control.get();
        self.tell_state(&about);
        if !clean {
            self.control.update(|c| c.state = DbState::InCrashRecovery)?;
        }
        let redo = redo::Recovery::new(self);
        let table = redo.table();
        let storage = &self.storage;
        let meter = crate::session::trace::Meter::begin(!clean);
        let mut begun = false;
        let mut progress = self.progress();
        let end = storage.wal.recover(&about, &table, &mut |record| {
            if !clean && !begun {
                self.tell_startup(format!("redo starts at {}", record.lsn_start));
            }
            begun = true;
            if !clean {
                progress("redo in progress", record.lsn_start);
            }
            if record.xid.is_valid() {
                storage.txn.observe_xid(record.xid)?;
            }
            Ok(())
        })?;
        self.tell_redo(&end, meter);
        storage.wal.start_writing(end.end)?;
        storage.txn.end_recovery(end.end)?;
        self.adopt_prepared()?;
        redo.finish(clean)?;
        if !clean {
            self.remove_orphans()?;
            self.checkpoint(CheckpointKind::EndOfRecovery)?;
        }
        let defaults = self.defaults();
        self.control.update(|c| {
            c.state = DbState::InProduction;
            note_settings(c, &defaults);
        })
    }

    /// Tells now and then how far a start has come: `log_startup_progress_interval`.
    fn progress(&self) -> impl FnMut(&str, Lsn) {
        let interval =
            self.defaults().get("log_startup_progress_interval").map_or(0, |v| v.as_i64());
        let (began, nanos) = (os::clock::monotonic_nanos(), interval.max(0) as u64 * 1_000_000);
        let mut next = began + nanos;
        move |what, at| {
            let now = os::clock::monotonic_nanos();
            if nanos > 0 && now >= next {
                next = now + nanos;
                let hundredths = (now - began) / 10_000_000;
                self.tell_startup(format!(
                    "{what}, elapsed time: {}.{:02} s, current LSN: {at}",
                    hundredths / 100,
                    hundredths % 100
                ));
            }
        }
    }

    fn tell_startup(&self, text: String) {
        self.log_as("startup", &crate::log::message(text));
    }

    /// How the server before ended.
    fn tell_state(&self, about: &wal::Control) {
        let zone = types::datetime::TimeZone::by_name(&self.defaults().show("log_timezone"));
        let zone = zone.unwrap_or_else(types::datetime::TimeZone::utc);
        let time = crate::log_time::seconds_time(about.time, &zone);
        self.tell_startup(match about.state {
            DbState::ShutDown => format!("database system was shut down at {time}"),
            DbState::ShuttingDown => {
                format!("database system shutdown was interrupted; last known up at {time}")
            }
            DbState::InCrashRecovery => {
                format!("database system was interrupted while in recovery at {time}")
            }
            _ => format!("database system was interrupted; last known up at {time}"),
        });
        if about.state != DbState::ShutDown {
            let text = "database system was not properly shut down; automatic recovery in progress";
            self.tell_startup(text.to_string());
        }
    }

    /// What was replayed.
    fn tell_redo(&self, end: &wal::RecoveryEnd, meter: Option<crate::session::trace::Meter>) {
        let Some(meter) = meter else { return };
        if end.records == 0 {
            return self.tell_startup("redo is not required".into());
        }
        self.tell_startup(end.reason.clone());
        let usage = meter.cpu();
        self.tell_startup(format!("redo done at {} system usage: {usage}", end.last));
    }

    /// The disk.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// The data directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Pool, log and transactions.
    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// The sessions and what they do.
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The cluster's system identifier.
    pub fn system_identifier(&self) -> u64 {
        self.control.get().system_identifier
    }

    /// The settings that new sessions start with.
    pub fn defaults(&self) -> Arc<Defaults> {
        self.defaults.read().clone()
    }

    /// Takes the settings of a configuration that was read again.
    pub fn set_defaults(&self, mut defaults: Defaults) -> Vec<Error> {
        note_presets(&mut defaults, &self.dir, &self.control.get());
        let told = defaults.continue_from(&self.defaults());
        self.set_predicate_limits(&defaults);
        self.configure_files(&defaults);
        *self.defaults.write() = Arc::new(defaults);
        self.configuration.fetch_add(1, Ordering::Relaxed);
        told
    }

    /// How much serializable transactions note before they note it more coarsely.
    fn set_predicate_limits(&self, defaults: &Defaults) {
        let number = |name: &str| defaults.get(name).map_or(0, |v| v.as_i64());
        // Less than nothing divides what a transaction may have.
        let relation = match number("max_pred_locks_per_relation") {
            n @ ..0 => number("max_pred_locks_per_transaction") / -n - 1,
            n => n,
        };
        let page = number("max_pred_locks_per_page");
        self.storage.txn.ssi().set_limits(page.max(0) as u32, relation.max(0) as u32);
    }

    /// Takes over the settings about files: how many threads read ahead, and how the log is kept.
    fn configure_files(&self, defaults: &Defaults) {
        let on = |name: &str| defaults.get(name).is_some_and(|v| v.as_bool());
        let number = |name: &str| defaults.get(name).map_or(0, |v| v.as_i64()).max(0) as u64;
        os::io::set_workers(number("io_workers") as usize);
        *self.timing.lock() =
            crate::settings::Timing::new(on("track_io_timing"), on("track_wal_io_timing"));
        let wal = &self.storage.wal;
        wal.set_full_page_writes(on("full_page_writes"));
        wal.set_compression(wal::ImageCompression::from_setting(&defaults.show("wal_compression")));
        wal.set_files(wal::FileOptions {
            zero: on("wal_init_zero"),
            recycle: on("wal_recycle"),
            keep: number("wal_keep_size") << 20,
            delay: Duration::from_micros(number("commit_delay")),
            flush_after: number("wal_writer_flush_after") * base::PAGE_SIZE as u64,
        });
        let (txn, siblings) = (self.storage.txn.clone(), number("commit_siblings") as usize);
        // The one that commits is among the writers.
        wal.on_delay(Arc::new(move || txn.writers() > siblings));
    }

    /// Forgets when transactions committed that are so old that their rows have to be frozen.
    pub(crate) fn forget_commit_times(&self) -> Result<()> {
        let txn = &self.storage.txn;
        let kept = self.defaults().get("autovacuum_freeze_max_age").map_or(0, |v| v.as_i64());
        txn.truncate_times(Xid(txn.next_xid().0.saturating_sub(kept.max(0) as u64)))
    }

    /// How often the configuration was read again.
    pub(crate) fn configuration(&self) -> u64 {
        self.configuration.load(Ordering::Relaxed)
    }

    /// Sets who reads the configuration files again.
    pub fn set_reloader(&self, reloader: crate::notify::Waker) {
        *self.reloader.write() = Some(reloader);
    }

    /// Sets who reads the files about authentication.
    pub fn set_auth_files(&self, files: Arc<dyn crate::AuthFiles>) {
        *self.auth_files.write() = Some(files);
    }

    pub(crate) fn auth_files(&self) -> Option<Arc<dyn crate::AuthFiles>> {
        self.auth_files.read().clone()
    }

    /// Sets who begins new log files.
    pub fn set_rotator(&self, rotator: Arc<dyn Fn() -> bool + Send + Sync>) {
        *self.rotator.write() = Some(rotator);
    }

    /// Has new log files begun; false if there are none.
    pub(crate) fn rotate_log(&self) -> bool {
        let rotator = self.rotator.read().clone();
        rotator.is_some_and(|rotate| rotate())
    }

    /// Has the configuration files read again; false if nobody does that.
    pub(crate) fn reload(&self) -> bool {
        let reloader = self.reloader.read().clone();
        if let Some(reloader) = &reloader {
            reloader();
        }
        reloader.is_some()
    }

    /// What the sessions of a database share; made when the first comes.
    pub fn database_state(&self, oid: Oid) -> Arc<DatabaseState> {
        let mut all = self.databases.lock();
        all.entry(oid)
            .or_insert_with(|| {
                let tables = Arc::new(self.sys_tables(oid));
                let (cache, statements) = Default::default();
                Arc::new(DatabaseState { oid, tables, cache, statements })
            })
            .clone()
    }

    fn sys_tables(&self, database: Oid) -> SysTables {
        SysTables::new(self.storage.clone(), database, self.shared_files.clone())
    }

    /// Forgets what the sessions of a dropped database shared.
    pub(crate) fn forget_database(&self, oid: Oid) {
        self.databases.lock().remove(&oid);
    }

    /// The caches that these changes, made in `database`, concern.
    pub(crate) fn concerned(&self, database: Oid, changes: &[Change]) -> Vec<Arc<SharedCache>> {
        let shared = changes.iter().any(|c| {
            c.is_shared() || matches!(c, Change::Relation(oid) if is_shared_relation(*oid))
        });
        let all = self.databases.lock();
        all.values().filter(|d| shared || d.oid == database).map(|d| d.cache.clone()).collect()
    }

    /// Writes a line to the server's log.
    pub fn log(&self, message: &Error) {
        self.write_log(&LogLine::of_server(message));
    }

    /// Writes a line of one of the server's parts to its log.
    pub(crate) fn log_as(&self, part: &str, message: &Error) {
        self.write_log(&LogLine { who: Some(&self.part(part)), ..LogLine::of_server(message) });
    }

    /// One of the server's parts, as the log and the activity view know it.
    pub(crate) fn part(&self, name: &str) -> Arc<crate::log::LogWho> {
        let mut parts = self.parts.lock();
        let new = || crate::log::LogWho::server(self.activity.new_pid(), name);
        parts.entry(name.to_string()).or_insert_with(new).clone()
    }

    /// Writes lines to the server's log.
    pub(crate) fn write_log(&self, line: &LogLine<'_>) {
        let logger = self.logger.read().clone();
        if let Some(logger) = logger {
            logger(line);
        }
    }

    /// Sets who is told that idle sessions have got messages.
    pub fn set_waker(&self, waker: crate::notify::Waker) {
        self.switchboard.set_waker(waker);
    }

    /// Sets who writes the server's log.
    pub fn set_logger(&self, logger: Logger) {
        *self.logger.write() = Some(logger);
    }

    /// Stops cleanly: the sessions are gone. The next start needs no recovery.
    pub fn shutdown(&self) -> Result<()> {
        self.stop_background();
        self.control.update(|c| c.state = DbState::ShuttingDown)?;
        self.archive_rest()?;
        self.checkpoint(CheckpointKind::Shutdown)?;
        self.archive_last();
        self.stats.write(&self.disk, &self.dir, &self.storage.wal.stats())?;
        self.storage.wal.shutdown()
    }

    /// The next transaction id to be given out.
    pub fn next_xid(&self) -> Xid {
        self.storage.txn.next_xid()
    }

    /// The log is durable up to here: replies gated on less may go out.
    pub fn flushed(&self) -> Lsn {
        self.storage.wal.flushed()
    }

    /// The log, to wait for its flushes.
    pub fn wal(&self) -> &Arc<Wal> {
        &self.storage.wal
    }
}

fn is_shared_relation(oid: Oid) -> bool {
    catalog::builtin::relations().get(&oid).is_some_and(|r| r.shared) && oid != object::PG_CLASS
}

/// An error of a thread that could not be started.
pub(crate) fn thread_error(e: std::io::Error) -> Error {
    Error::internal(format!("could not start thread: {e}"))
}
