//! Databases as folders: made by copying another, removed whole, and shut to new sessions while
//! either happens.
//!
//! ```text
//! Database/CREATE  source u32, database u32
//! Database/DROP    database u32
//! ```
//!
//! CREATE is logged before the first byte is copied, and the copy is durable before its
//! transaction commits: after a crash a database has all its files or its row does not count.
//! Folders without a row are removed at the end of recovery, see
//! [`Database::remove_orphans`]. DROP removes the folder once its commit is in the log; replay
//! of the commit removes it again.

use super::Database;
use base::{Error, Oid, Result, SqlState, bail};
use catalog::{RowStore, oids};
use os::sync::{Condvar, Mutex};
use os::{Disk, OpenOptions};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A folder was made by copying another.
pub const DATABASE_CREATE: u8 = 0x10;
/// A folder goes when the transaction commits.
pub const DATABASE_DROP: u8 = 0x20;

/// How much is copied at a time.
const PIECE: usize = 1 << 20;

/// How files are copied (`file_copy_method`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FileCopy {
    /// Read and written.
    Copy,
    /// By the kernel, which may let both share what they have in common.
    Clone,
}

/// Databases that nobody may connect to just now.
#[derive(Default)]
pub struct Doors {
    shut: Mutex<HashSet<Oid>>,
    opened: Condvar,
}

/// A database shut to new sessions until this is dropped.
pub struct Shut {
    database: Arc<Database>,
    oid: Oid,
}

impl Drop for Shut {
    fn drop(&mut self) {
        self.database.doors.shut.lock().remove(&self.oid);
        self.database.doors.opened.notify_all();
    }
}

impl Doors {
    /// Waits until sessions may connect to the database.
    pub fn wait(&self, oid: Oid) {
        let mut shut = self.shut.lock();
        while shut.contains(&oid) {
            shut = self.opened.wait_timeout(shut, Duration::from_millis(100)).0;
        }
    }

    /// True if nobody may connect just now.
    pub fn is_shut(&self, oid: Oid) -> bool {
        self.shut.lock().contains(&oid)
    }
}

/// Where a database's files are.
pub(crate) fn folder(dir: &Path, database: Oid) -> PathBuf {
    dir.join(format!("base/{database}"))
}

impl Database {
    /// True if a database has files.
    pub(crate) fn has_folder(&self, oid: Oid) -> bool {
        oid == Oid::INVALID || self.disk.exists(&folder(&self.dir, oid))
    }

    /// Keeps new sessions out of a database. Waits while somebody else does.
    pub(crate) fn shut(self: &Arc<Database>, oid: Oid) -> Shut {
        loop {
            self.doors.wait(oid);
            if self.doors.shut.lock().insert(oid) {
                return Shut { database: self.clone(), oid };
            }
        }
    }

    /// Waits for other sessions to leave a database, for five seconds; how many remain.
    pub(crate) fn wait_for_others(&self, oid: Oid, own: i32) -> usize {
        for _ in 0..50 {
            let mut others = 0;
            for session in self.activity.sessions() {
                if session.database != oid || session.pid == own {
                    continue;
                }
                others += 1;
                if session.background {
                    self.activity.terminate(session.pid);
                }
            }
            if others == 0 {
                return 0;
            }
            os::thread::sleep(Duration::from_millis(100));
        }
        let there = |s: &crate::activity::SessionInfo| s.database == oid && s.pid != own;
        self.activity.sessions().iter().filter(|s| there(s)).count()
    }

    /// Removes folders of databases that do not exist, after a crash.
    pub(super) fn remove_orphans(self: &Arc<Database>) -> Result<()> {
        let mut known = HashSet::new();
        self.look_up_rows(|_, rows| {
            for row in rows.table_scan(oids::PG_DATABASE)? {
                known.insert(row.oid("oid")?);
            }
            Ok(())
        })?;
        if !known.contains(&oids::TEMPLATE1) {
            bail!(DATA_CORRUPTED, "pg_database has no row of template1");
        }
        for entry in self.disk.list(&self.dir.join("base"))? {
            let Ok(oid) = entry.name.parse::<u32>() else { continue };
            if entry.is_dir && !known.contains(&Oid(oid)) {
                remove(&self.disk, &self.dir, Oid(oid))?;
            }
        }
        Ok(())
    }
}

/// Copies a database's files and waits until they are on disk.
pub(crate) fn copy(disk: &Disk, dir: &Path, from: Oid, to: Oid, how: FileCopy) -> Result<()> {
    let to = folder(dir, to);
    copy_folder(disk, &folder(dir, from), &to, how)?;
    disk.sync_tree(&to)?;
    disk.sync_dir(&dir.join("base"))?;
    Ok(())
}

/// Removes a database's folder, if it is there.
pub(crate) fn remove(disk: &Disk, dir: &Path, database: Oid) -> Result<()> {
    let path = folder(dir, database);
    if disk.exists(&path) {
        disk.remove_dir_all(&path)?;
        disk.sync_dir(&dir.join("base"))?;
    }
    Ok(())
}

/// Copies the files of a folder to another, which is made.
pub(super) fn copy_folder(disk: &Disk, from: &Path, to: &Path, how: FileCopy) -> Result<()> {
    disk.create_dir_all(to)?;
    for entry in disk.list(from)?.into_iter().filter(|e| !e.is_dir) {
        let (from, to) = (from.join(&entry.name), to.join(&entry.name));
        match how {
            FileCopy::Copy => copy_file(disk, &from, &to)?,
            FileCopy::Clone => disk.clone_file(&from, &to)?,
        }
    }
    Ok(())
}

fn copy_file(disk: &Disk, from: &Path, to: &Path) -> Result<()> {
    let source = disk.open(from, &OpenOptions::new().read_only())?;
    let target = disk.open(to, &OpenOptions::new().create().truncate())?;
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    loop {
        let n = source.read_at(&mut piece, at)?;
        if n == 0 {
            return Ok(());
        }
        target.write_at(&piece[..n], at)?;
        at += n as u64;
    }
}

/// The words of a record.
pub(super) fn words<const N: usize>(data: &[u8]) -> Result<[Oid; N]> {
    let mut out = [Oid::INVALID; N];
    for (i, word) in out.iter_mut().enumerate() {
        let bytes = data.get(i * 4..i * 4 + 4).and_then(|b| b.try_into().ok());
        let Some(bytes) = bytes else {
            return Err(Error::new(SqlState::DATA_CORRUPTED, "database record is too short"));
        };
        *word = Oid(u32::from_le_bytes(bytes));
    }
    Ok(out)
}
