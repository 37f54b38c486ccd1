//! A data directory and a server of its own.

use crate::{Client, workspace_root};
use base::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A cluster in a temporary folder; stopped and removed when dropped.
pub struct Cluster {
    folder: PathBuf,
    port: u16,
    server: Option<Child>,
    /// Errors in the log that the test expects, as parts of lines.
    pub expected_errors: Vec<String>,
}

fn failed(what: &str, e: impl std::fmt::Display) -> Error {
    Error::internal(format!("{what}: {e}"))
}

/// The program under test: `$OLIFANT`, or the workspace's own build.
pub fn program() -> PathBuf {
    if let Some(p) = std::env::var_os("OLIFANT") {
        return PathBuf::from(p);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace_root().join("target"), PathBuf::from);
    let release = target.join("release/olifant");
    if release.exists() { release } else { target.join("debug/olifant") }
}

fn free_port() -> Result<u16> {
    let listener =
        std::net::TcpListener::bind("127.0.0.1:0").map_err(|e| failed("finding a port", e))?;
    Ok(listener.local_addr().map_err(|e| failed("finding a port", e))?.port())
}

impl Cluster {
    /// Makes a cluster with `initdb` and starts it with these settings.
    pub fn start(settings: &[(&str, &str)]) -> Result<Cluster> {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("olifant-test-{}-{n}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|e| failed("making a folder", e))?;
        let mut c =
            Cluster { folder, port: free_port()?, server: None, expected_errors: Vec::new() };
        let out = Command::new(program())
            .args(["initdb", "-D"])
            .arg(c.data())
            .args(["-U", "postgres", "-A", "trust"])
            .output()
            .map_err(|e| failed("initdb", e))?;
        if !out.status.success() {
            return Err(failed("initdb", String::from_utf8_lossy(&out.stderr)));
        }
        let mut conf = String::new();
        for (name, value) in settings {
            conf.push_str(&format!("{name} = '{value}'\n"));
        }
        let path = c.data().join("postgresql.auto.conf");
        std::fs::write(path, conf).map_err(|e| failed("writing settings", e))?;
        c.run_server()?;
        Ok(c)
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The folder around it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("server.log")
    }

    /// All that the server has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Starts the server and waits until it takes connections.
    pub fn run_server(&mut self) -> Result<()> {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log_path())
            .map_err(|e| failed("opening the log", e))?;
        let err = log.try_clone().map_err(|e| failed("opening the log", e))?;
        let child = Command::new(program())
            .args(["postgres", "-D"])
            .arg(self.data())
            .args(["-p", &self.port.to_string(), "-k"])
            .arg(&self.folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(err)
            .spawn()
            .map_err(|e| failed("starting the server", e))?;
        self.server = Some(child);
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            match Client::connect(self.port, "postgres", "postgres") {
                Ok(_) => return Ok(()),
                Err(e) if Instant::now() > until => {
                    return Err(failed(
                        "the server does not start",
                        format!("{e}\n{}", self.log()),
                    ));
                }
                Err(_) => {
                    if let Some(c) = &mut self.server
                        && let Ok(Some(status)) = c.try_wait()
                    {
                        return Err(failed(
                            "the server ended",
                            format!("{status}\n{}", self.log()),
                        ));
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }

    /// A connection as the superuser.
    pub fn connect(&self) -> Result<Client> {
        Client::connect(self.port, "postgres", "postgres")
    }

    /// Sends the server a signal and waits until it has ended.
    fn signal(&mut self, signal: i32) -> Result<()> {
        let Some(mut child) = self.server.take() else { return Ok(()) };
        // SAFETY: the process is our own child and has not been waited for, so the number is its.
        unsafe { libc::kill(child.id() as i32, signal) };
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            match child.try_wait() {
                Ok(Some(_)) => return Ok(()),
                Ok(None) if Instant::now() > until => {
                    let _ = child.kill();
                    return Err(failed("the server does not stop", self.log()));
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(e) => return Err(failed("waiting for the server", e)),
            }
        }
    }

    /// Kills the server as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.signal(libc::SIGKILL)
    }

    /// Stops the server in fast mode.
    pub fn stop(&mut self) -> Result<()> {
        self.signal(libc::SIGINT)
    }

    /// Lines of the log that tell of errors nobody expected.
    pub fn unexpected_errors(&self) -> Vec<String> {
        self.log()
            .lines()
            .filter(|l| l.contains("PANIC:") || l.contains("panicked at") || l.contains("XX0"))
            .filter(|l| !self.expected_errors.iter().any(|e| l.contains(e)))
            .map(str::to_string)
            .collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.signal(libc::SIGQUIT);
        if std::env::var_os("OLIFANT_KEEP").is_none() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}
