//! `postmaster.pid`, and the lock files beside unix sockets.

use base::{Result, Severity, err};
use os::{Disk, OpenOptions};
use std::path::{Path, PathBuf};

/// A lock file, removed when dropped.
pub struct LockFile {
    disk: Disk,
    path: PathBuf,
    lines: Vec<String>,
}

/// What is known when `postmaster.pid` is made.
pub struct Facts<'a> {
    /// The data directory.
    pub data: &'a Path,
    /// When the server started, in seconds since 1970.
    pub started: i64,
    /// Its port.
    pub port: u16,
    /// Folder of the unix socket, or empty.
    pub socket_dir: &'a str,
    /// First address listened to, or empty.
    pub address: &'a str,
}

impl LockFile {
    /// Makes `postmaster.pid` in the data directory. Fails if another server has it.
    pub fn for_data(disk: &Disk, facts: &Facts<'_>) -> Result<LockFile> {
        let path = facts.data.join("postmaster.pid");
        let lines = vec![
            os::process::id().to_string(),
            facts.data.display().to_string(),
            facts.started.to_string(),
            facts.port.to_string(),
            facts.socket_dir.to_string(),
            facts.address.to_string(),
            // PostgreSQL's shared memory key and id; there is none.
            format!("{:>9} {:>9}", 0, 0),
            "starting".to_string(),
        ];
        let hint = |pid: i32| {
            format!(
                "Is another postmaster (PID {pid}) running in data directory \"{}\"?",
                facts.data.display()
            )
        };
        LockFile::create(disk, path, lines, "postmaster.pid", &hint)
    }

    /// Makes the lock file of a unix socket.
    pub fn for_socket(disk: &Disk, socket: &Path, facts: &Facts<'_>) -> Result<LockFile> {
        let path = PathBuf::from(format!("{}.lock", socket.display()));
        let lines = vec![
            os::process::id().to_string(),
            facts.data.display().to_string(),
            facts.started.to_string(),
            facts.port.to_string(),
            facts.socket_dir.to_string(),
        ];
        let hint = |pid: i32| {
            format!("Is another postmaster (PID {pid}) using socket file \"{}\"?", socket.display())
        };
        let name = path.display().to_string();
        LockFile::create(disk, path, lines, &name, &hint)
    }

    fn create(
        disk: &Disk,
        path: PathBuf,
        lines: Vec<String>,
        name: &str,
        hint: &dyn Fn(i32) -> String,
    ) -> Result<LockFile> {
        for _ in 0..100 {
            match disk.open(&path, &OpenOptions::new().create().exclusive()) {
                Ok(_) => {
                    let file = LockFile { disk: disk.clone(), path, lines };
                    file.write()?;
                    return Ok(file);
                }
                Err(e) if e.is_already_exists() => {}
                Err(e) => {
                    return Err(err!(IO_ERROR, "could not create lock file \"{name}\": {e}")
                        .severity(Severity::Fatal));
                }
            }
            // Made by a server that is gone, it may go.
            let text = disk.read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let pid: i32 = text.lines().next().and_then(|l| l.trim().parse().ok()).unwrap_or(0);
            let own = [os::process::id(), os::process::parent_id()];
            if pid > 0 && !own.contains(&pid) && os::process::exists(pid) {
                return Err(err!(LOCK_FILE_EXISTS, "lock file \"{name}\" already exists")
                    .hint(hint(pid))
                    .severity(Severity::Fatal));
            }
            disk.remove(&path)?;
        }
        Err(err!(LOCK_FILE_EXISTS, "could not create lock file \"{name}\"")
            .severity(Severity::Fatal))
    }

    fn write(&self) -> Result<()> {
        let text = self.lines.join("\n") + "\n";
        let file = self.disk.open(&self.path, &OpenOptions::new().create().truncate())?;
        file.write_at(text.as_bytes(), 0)?;
        file.sync()?;
        let _ = os::process::set_mode(&self.path, 0o600);
        Ok(())
    }

    /// Changes the state in the last line: `starting`, `ready`, `stopping`.
    pub fn set_status(&mut self, status: &str) -> Result<()> {
        if let Some(last) = self.lines.last_mut() {
            *last = format!("{status:<8}");
        }
        // Its length stays, so that nobody who waits for the server finds an empty file.
        let text = self.lines.join("\n") + "\n";
        self.disk.open(&self.path, &OpenOptions::new())?.write_at(text.as_bytes(), 0)?;
        Ok(())
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let _ = self.disk.remove(&self.path);
    }
}
