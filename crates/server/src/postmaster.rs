//! The server's life: start, signals, stop.

use crate::backend::Backend;
use crate::config::{self, CommandLine};
use crate::conn::Conn;
use crate::hba::Hba;
use crate::hba::ident::Ident;
use crate::listen::{Acceptor, Listeners, SocketAccess};
use crate::log::{Log, LogConfig};
use crate::passphrase::When;
use crate::pidfile::{Facts, LockFile};
use crate::reactor::{Crew, Flushes, Reactor};
use crate::shared::{Shared, State};
use crate::tls::Tls;
use base::{Error, Lsn, Result, Severity, SqlState, err};
use engine::settings::Defaults;
use os::Disk;
use os::poll::Signals;
use os::process::signal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Opens the database; a parameter so that tests can serve another.
pub type Open = dyn Fn(&Disk, &Path, Defaults, &Arc<Log>) -> Result<Arc<dyn Backend>>;

struct FlushesOf(Arc<dyn Backend>);

impl Flushes for FlushesOf {
    fn flushed(&self) -> Lsn {
        self.0.flushed()
    }

    fn request(&self, lsn: Lsn) {
        self.0.request_flush(lsn);
    }

    fn flush_if_quick(&self, lsn: Lsn) {
        self.0.flush_if_quick(lsn);
    }
}

/// A server that serves.
pub struct Serving {
    shared: Arc<Shared>,
    reactors: Vec<Arc<Reactor<Conn>>>,
    crew: Arc<Crew<Conn>>,
    acceptor: Arc<Acceptor>,
    threads: Vec<os::thread::JoinHandle<()>>,
}

fn system(e: std::io::Error) -> Error {
    err!(SYSTEM_ERROR, "{e}").severity(Severity::Fatal)
}

impl Serving {
    /// Begins to serve on these sockets, with this many reactors.
    pub fn begin(shared: Arc<Shared>, listeners: Listeners, reactors: usize) -> Result<Serving> {
        let crew = Crew::new();
        let flushes: Arc<dyn Flushes> = Arc::new(FlushesOf(shared.backend.clone()));
        let mut all = Vec::new();
        for _ in 0..reactors.max(1) {
            all.push(Reactor::new(flushes.clone(), crew.clone()).map_err(system)?);
        }
        let told: Vec<_> = all.iter().map(Arc::downgrade).collect();
        shared.backend.on_flush(Arc::new(move |upto| {
            let mut beyond = None;
            for reactor in told.iter().filter_map(|r| r.upgrade()) {
                if reactor.flushed(upto) {
                    beyond = Some(reactor);
                }
            }
            // One that found somebody else flushing: the next flush is its own.
            if let Some(reactor) = beyond {
                reactor.ring();
            }
        }));
        let told: Vec<_> = all.iter().map(Arc::downgrade).collect();
        shared.backend.on_message(Arc::new(move || {
            told.iter().filter_map(|r| r.upgrade()).for_each(|r| r.tick_now());
        }));
        let acceptor = Acceptor::new(listeners, shared.clone(), all.clone()).map_err(system)?;
        for reactor in &all {
            crew.assign(reactor.clone());
        }
        let mut threads = Vec::new();
        let (watching, watched) = (crew.clone(), all.clone());
        let watch = move || watching.watcher().run(&watched);
        threads.push(os::thread::spawn("watcher", watch).map_err(system)?);
        let accepting = acceptor.clone();
        let accept = move || {
            if let Err(e) = accepting.run() {
                eprintln!("could not accept connections: {e}");
            }
        };
        threads.push(os::thread::spawn("acceptor", accept).map_err(system)?);
        shared.set_state(State::Running);
        Ok(Serving { shared, reactors: all, crew, acceptor, threads })
    }

    /// Takes no new sessions.
    pub fn refuse(&self) {
        self.shared.set_state(State::Stopping);
    }

    /// Tells all sessions to end.
    pub fn terminate(&self) {
        self.shared.backend.terminate_all();
        self.reactors.iter().for_each(|r| r.tick_now());
    }

    /// True once all connections are gone.
    pub fn is_quiet(&self) -> bool {
        self.shared.connections.count() == 0
    }

    /// Stops all threads.
    pub fn end(self) {
        self.acceptor.stop();
        self.reactors.iter().for_each(|r| r.stop());
        self.crew.stop();
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// `external_pid_file`: another file with the process number, gone when the server is.
struct PidCopy(Option<PathBuf>);

impl PidCopy {
    fn write(path: &str, log: &Log) -> PidCopy {
        if path.is_empty() {
            return PidCopy(None);
        }
        let text = format!("{}\n", os::process::id());
        match Disk::real().write_atomic(Path::new(path), text.as_bytes()) {
            Ok(()) => PidCopy(Some(PathBuf::from(path))),
            Err(e) => {
                log.server(&format!("could not write external PID file \"{path}\": {e}"));
                PidCopy(None)
            }
        }
    }
}

impl Drop for PidCopy {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = Disk::real().remove(path);
        }
    }
}

fn number(defaults: &Defaults, name: &str) -> i64 {
    defaults.get(name).map_or(0, |v| v.as_i64())
}

/// The program `postgres`; its exit code.
pub fn main(args: &[String], open: &Open) -> i32 {
    let log = Arc::new(Log::default());
    match run(args, open, &log) {
        Ok(code) => code,
        Err(e) => {
            let e = match e.fields().severity >= Severity::Fatal {
                true => e,
                false => e.severity(Severity::Fatal),
            };
            log.error(None, &e);
            1
        }
    }
}

/// Has `ps` show the server as `postgres`, and `cluster_name` in front of its command line, as
/// `postgres: NAME: ...`.
fn show_cluster_name(name: &str, args: &[String]) {
    os::thread::set_name(os::thread::id(), "postgres");
    if !name.is_empty() {
        os::process::set_title(&format!("postgres: {name}: postgres {}", args.join(" ")));
    }
}

fn data_directory(command_line: &CommandLine) -> Option<PathBuf> {
    let given = command_line.data.clone().or_else(|| std::env::var_os("PGDATA").map(Into::into))?;
    std::path::absolute(given).ok()
}

fn run(args: &[String], open: &Open, log: &Arc<Log>) -> Result<i32> {
    let command_line = CommandLine::parse(args)?;
    let Some(data) = data_directory(&command_line) else {
        eprintln!(
            "postgres does not know where to find the server configuration file.\nYou must \
             specify the --config-file or -D invocation option or set the PGDATA environment \
             variable."
        );
        return Ok(2);
    };
    let disk = Disk::real();
    verify_data_directory(&disk, &data)?;
    os::process::follow_mode_of(&data);
    let defaults = config::load(&data, &command_line.settings)?;
    if let Some(name) = &command_line.print {
        println!("{}", defaults.show(name));
        return Ok(0);
    }
    os::restart::prepare();
    show_cluster_name(&defaults.show("cluster_name"), args);
    log.configure(LogConfig::of(&defaults));
    engine::settings::check_preloaded(&defaults.show("shared_preload_libraries"), false)?;
    if os::process::is_root() {
        let text = "running as root: any client that gets superuser rights owns this machine";
        log.warning(text);
    }
    panic_hook(log);
    write_options(&disk, &data, args)?;
    os::process::ignore_broken_pipes();
    os::process::raise_file_limit();
    let wanted = [signal::HUP, signal::INT, signal::TERM, signal::QUIT, signal::USR1];
    let signals = Signals::block(&wanted).map_err(system)?;
    let port = number(&defaults, "port").clamp(1, 65535) as u16;
    let socket_dirs = defaults.show("unix_socket_directories");
    let socket_dirs: Vec<&str> =
        socket_dirs.split(',').map(str::trim).filter(|d| !d.is_empty()).collect();
    let addresses = defaults.show("listen_addresses");
    let facts = |socket_dir| Facts {
        data: &data,
        started: os::clock::now_micros() / 1_000_000,
        port,
        socket_dir,
        address: addresses.split(',').next().unwrap_or_default().trim(),
    };
    let first = facts(socket_dirs.first().copied().unwrap_or_default());
    let mut pid_file = LockFile::for_data(&disk, &first)?;
    if defaults.show("logging_collector") == "on" {
        log.collect(&data, &defaults)?;
    }
    log.server(&format!("starting {}", base::build::version()));
    let mut listeners = Listeners::default();
    listeners.open_tcp(&addresses, port, log)?;
    let access = SocketAccess {
        mode: number(&defaults, "unix_socket_permissions") as u32,
        group: defaults.show("unix_socket_group"),
    };
    open_unix_sockets(&mut listeners, &disk, &socket_dirs, (&facts, &access), log)?;
    let path = hba_path(&data, &defaults);
    let hba = Hba::read(&path).map_err(|errors| {
        tell_all(log, errors);
        let text = format!("could not load {}", path.display());
        Error::new(SqlState::INTERNAL_ERROR, text).severity(Severity::Fatal)
    })?;
    let tls = Tls::load(&data, &defaults, When::Start)?;
    let settings = defaults.clone();
    let auth_files = AuthPaths {
        data: data.clone(),
        command_line: command_line.settings.clone(),
        hba: hba_path(&data, &defaults),
        ident: ident_path(&data, &defaults),
    };
    let backend = open(&disk, &data, defaults, log)?;
    let shared = Shared::new(backend, log.clone(), hba);
    shared.set_tls(tls);
    if !load_ident(&shared, &auth_files.ident) {
        log.server(&format!("could not load {}", auth_files.ident.display()));
    }
    shared.backend.on_auth_files(Arc::new(auth_files));
    shared.configure(&settings);
    let cores = os::thread::available_parallelism();
    let serving = Serving::begin(shared.clone(), listeners, cores)?;
    log.server("database system is ready to accept connections");
    pid_file.set_status("ready")?;
    let extra = PidCopy::write(&settings.show("external_pid_file"), log);
    arm_restart(&settings);
    let code = signal_loop(&signals, &shared, serving, &mut pid_file, &data, &command_line)?;
    os::restart::arm(false);
    drop((extra, pid_file));
    Ok(code)
}

/// One unix socket in each folder. A folder that does not work is no reason not to start, unless
/// nothing else is listened to; another server on the same socket is.
fn open_unix_sockets<'a>(
    listeners: &mut Listeners,
    disk: &Disk,
    dirs: &[&'a str],
    (facts, access): (&dyn Fn(&'a str) -> Facts<'a>, &SocketAccess),
    log: &Log,
) -> Result<()> {
    for dir in dirs {
        if let Err(e) = listeners.open_unix(disk, &facts(dir), access, log) {
            if e.code() == base::SqlState::LOCK_FILE_EXISTS {
                return Err(e);
            }
            log.error(None, &e.severity(Severity::Log));
            let text = format!("could not create Unix-domain socket in directory \"{dir}\"");
            log.warning(&text);
        }
    }
    if listeners.is_empty() {
        return Err(err!(SYSTEM_ERROR, "no socket created for listening"));
    }
    Ok(())
}

/// Crates whose bugs may leave pages or the log half changed: the server must stop and recover.
const STORAGE: &[&str] =
    &["crates/os/", "crates/wal/", "crates/buffer/", "crates/txn/", "crates/access/"];

/// Logs panics, and stops the server if one is below the session layer.
fn panic_hook(log: &Arc<Log>) {
    let log = Arc::clone(log);
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map(|l| format!("{}:{}", l.file(), l.line()));
        let place = place.unwrap_or_default();
        let message = info.payload_as_str().unwrap_or("unknown reason");
        let trace = std::backtrace::Backtrace::force_capture();
        let text = format!("{message}, at {place}\n{trace}");
        let e = Error::with_severity(Severity::Panic, base::SqlState::INTERNAL_ERROR, text);
        log.error(None, &e);
        if is_below(&trace.to_string(), &place) {
            os::abort("the server stops; it recovers when it is started again");
        }
    }));
}

/// True if the panic happened in storage code, or in the standard library called by it.
fn is_below(trace: &str, place: &str) -> bool {
    if place.contains("crates/") {
        return STORAGE.iter().any(|c| place.contains(c));
    }
    // Above the standard library's frames and our hook's own.
    let ours = |at: &str| at.find("crates/").map(|i| at[i..].to_string());
    let first = trace
        .lines()
        .filter_map(|l| l.trim().strip_prefix("at "))
        .filter_map(ours)
        .find(|at| !at.starts_with("crates/server/src/postmaster.rs"));
    first.is_some_and(|f| STORAGE.iter().any(|c| f.starts_with(c)))
}

/// Writes down how the server was started, for `pg_ctl restart`.
fn write_options(disk: &Disk, data: &Path, args: &[String]) -> Result<()> {
    let own = std::env::current_exe().unwrap_or_default();
    let mut text = own.display().to_string();
    for arg in args {
        text.push_str(&format!(" \"{arg}\""));
    }
    text.push('\n');
    Ok(disk.write_atomic(&data.join("postmaster.opts"), text.as_bytes())?)
}

fn verify_data_directory(disk: &Disk, data: &Path) -> Result<()> {
    if !disk.exists(data) {
        return Err(err!(
            CONFIG_FILE_ERROR,
            "data directory \"{}\" does not exist",
            data.display()
        ));
    }
    // Neither writing by the group nor anything by others.
    if os::process::mode(data).is_ok_and(|mode| mode & 0o027 != 0) {
        let text = data.display();
        return Err(err!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "data directory \"{text}\" has invalid permissions"
        )
        .detail("Permissions should be u=rwx (0700) or u=rwx,g=rx (0750)."));
    }
    let version = disk.read(&data.join("PG_VERSION")).map_err(|_| {
        err!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "\"{}\" is not a valid data directory",
            data.display()
        )
        .detail(format!("File \"{}/PG_VERSION\" is missing.", data.display()))
    })?;
    if version.trim_ascii() != b"18" {
        let found = String::from_utf8_lossy(&version).trim().to_string();
        return Err(err!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "database files are incompatible with server"
        )
        .detail(format!(
            "The data directory was initialized by PostgreSQL version {found}, which is not \
             compatible with this version 18."
        )));
    }
    Ok(())
}

struct AuthPaths {
    data: PathBuf,
    command_line: Vec<(String, String)>,
    hba: PathBuf,
    ident: PathBuf,
}

impl engine::AuthFiles for AuthPaths {
    fn rules(&self) -> Result<Vec<engine::HbaRule>> {
        crate::hba::rows(&self.hba)
    }

    fn settings(&self) -> Result<Defaults> {
        config::load_all(&self.data, &self.command_line).map(|(defaults, _)| defaults)
    }

    fn mappings(&self) -> Result<Vec<engine::IdentMapping>> {
        crate::hba::ident::rows(&self.ident)
    }
}

/// Without maps the server can do, so a file that is wrong is told of and no more.
/// False if the file cannot be used.
fn load_ident(shared: &Shared, path: &Path) -> bool {
    match Ident::read(path) {
        Ok(ident) => shared.set_ident(ident),
        Err(errors) => {
            tell_all(&shared.log, errors);
            return false;
        }
    }
    true
}

/// Writes what is wrong with a file's lines.
fn tell_all(log: &Log, errors: Vec<Error>) {
    for e in errors {
        log.error(None, &e.severity(Severity::Log));
    }
}

fn ident_path(data: &Path, defaults: &Defaults) -> PathBuf {
    let set = defaults.show("ident_file");
    if set.is_empty() { data.join("pg_ident.conf") } else { data.join(set) }
}

fn hba_path(data: &Path, defaults: &Defaults) -> PathBuf {
    let set = defaults.show("hba_file");
    if set.is_empty() { data.join("pg_hba.conf") } else { data.join(set) }
}

/// How to stop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
enum Stop {
    No,
    Smart,
    Fast,
}

/// `restart_after_crash`
fn arm_restart(settings: &Defaults) {
    os::restart::arm(settings.get("restart_after_crash").is_some_and(|v| v.as_bool()));
}

fn signal_loop(
    signals: &Signals,
    shared: &Arc<Shared>,
    serving: Serving,
    pid_file: &mut LockFile,
    data: &Path,
    command_line: &CommandLine,
) -> Result<i32> {
    let log = &shared.log;
    let (weak, folder) = (Arc::downgrade(shared), data.to_path_buf());
    let settings = command_line.settings.clone();
    shared.backend.on_reload(Arc::new(move || {
        if let Some(shared) = weak.upgrade() {
            reload(&shared, &folder, &settings);
        }
    }));
    let rotated = log.clone();
    shared.backend.on_rotate(Arc::new(move || rotated.rotate()));
    let mut stop = Stop::No;
    loop {
        // While stopping, the connections' end is looked for between signals.
        let number = match stop {
            Stop::No => Some(signals.wait().map_err(system)?),
            _ => signals.wait_for(Duration::from_millis(20)).map_err(system)?,
        };
        match number {
            Some(signal::USR1) => {
                log.rotate();
            }
            Some(signal::HUP) => reload(shared, data, &command_line.settings),
            Some(signal::TERM) if stop == Stop::No => {
                log.server("received smart shutdown request");
                stop = Stop::Smart;
                serving.refuse();
                pid_file.set_status("stopping")?;
            }
            Some(signal::INT) if stop < Stop::Fast => {
                log.server("received fast shutdown request");
                log.server("aborting any active transactions");
                stop = Stop::Fast;
                serving.refuse();
                pid_file.set_status("stopping")?;
                serving.terminate();
            }
            Some(signal::QUIT) => {
                log.server("received immediate shutdown request");
                let _ = shared.backend.shutdown(true);
                return Ok(2);
            }
            _ => {}
        }
        if stop == Stop::No || !serving.is_quiet() {
            continue;
        }
        serving.end();
        log.server("shutting down");
        shared.backend.shutdown(false)?;
        log.server("database system is shut down");
        return Ok(0);
    }
}

fn reload(shared: &Arc<Shared>, data: &Path, command_line: &[(String, String)]) {
    let log = &shared.log;
    log.server("received SIGHUP, reloading configuration files");
    let loaded = config::load_all(data, command_line);
    let main = data.join("postgresql.conf").display().to_string();
    let contains = |file: Option<&str>, what: &str| {
        let file = file.unwrap_or(&main);
        let e = err!(CONFIG_FILE_ERROR, "configuration file \"{file}\" contains errors; {what}");
        log.error(None, &e.severity(Severity::Log));
    };
    match loaded {
        Ok((defaults, errors)) if defaults.entries().iter().any(|e| e.near.is_some()) => {
            for e in errors {
                log.error(None, &e.severity(Severity::Log));
            }
            let at = defaults.entries().iter().rfind(|e| e.near.is_some());
            contains(at.map(|e| &*e.file), "no changes were applied");
        }
        Ok((defaults, errors)) => {
            let mut wrong = !errors.is_empty();
            for e in errors {
                log.error(None, &e.severity(Severity::Log));
            }
            let told = shared.backend.reload(defaults.clone());
            told.iter().for_each(|line| log.error(None, line));
            let late = |e: &engine::settings::FileEntry| {
                let start = format!("parameter \"{}\" cannot", e.name);
                e.applied && told.iter().any(|t| t.message().starts_with(&start))
            };
            wrong |= told.iter().any(|t| t.code() == SqlState::CANT_CHANGE_RUNTIME_PARAM);
            if wrong {
                let at = defaults.entries().iter().rfind(|e| e.error.is_some() || late(e));
                contains(at.map(|e| &*e.file), "unaffected changes were applied");
            }
            shared.configure(&defaults);
            arm_restart(&defaults);
            log.configure(LogConfig::of(&defaults));
            log.reconfigure_files(&defaults);
            let path = hba_path(data, &defaults);
            match Hba::read(&path) {
                Ok(hba) => shared.set_hba(hba),
                Err(errors) => {
                    tell_all(log, errors);
                    log.server(&format!("{} was not reloaded", path.display()));
                }
            }
            let path = ident_path(data, &defaults);
            if !load_ident(shared, &path) {
                log.server(&format!("{} was not reloaded", path.display()));
            }
            match Tls::load(data, &defaults, When::Reload) {
                Ok(tls) => shared.set_tls(tls),
                Err(e) => {
                    log.error(None, &e.severity(Severity::Log));
                    log.server("SSL configuration was not reloaded");
                }
            }
        }
        Err(e) => {
            log.error(None, &e.severity(Severity::Log));
            contains(None, "no changes were applied");
        }
    }
}
