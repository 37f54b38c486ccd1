//! What a file operation failed with.

use base::{Error, SqlState};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of a file operation.
pub type Result<T> = std::result::Result<T, IoError>;

/// A failed file operation: what was tried, on which path, and why it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoError {
    op: &'static str,
    path: PathBuf,
    errno: i32,
}

impl IoError {
    /// `op` completes "could not {op} \"path\"", as in `open file`.
    pub fn new(op: &'static str, path: &Path, errno: i32) -> IoError {
        IoError { op, path: path.to_path_buf(), errno }
    }

    pub(crate) fn from_io(op: &'static str, path: &Path, e: &io::Error) -> IoError {
        let errno = e.raw_os_error().unwrap_or(match e.kind() {
            io::ErrorKind::NotFound => libc::ENOENT,
            io::ErrorKind::AlreadyExists => libc::EEXIST,
            io::ErrorKind::InvalidInput => libc::EINVAL,
            _ => libc::EIO,
        });
        IoError::new(op, path, errno)
    }

    pub(crate) fn last(op: &'static str, path: &Path) -> IoError {
        IoError::from_io(op, path, &io::Error::last_os_error())
    }

    /// The operating system's number for the reason.
    pub fn errno(&self) -> i32 {
        self.errno
    }

    /// Why it failed, in the operating system's words.
    pub fn reason(&self) -> String {
        let text = io::Error::from_raw_os_error(self.errno).to_string();
        text.split(" (os error").next().unwrap_or_default().to_string()
    }

    /// The path the operation was about.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the file or a folder on its path does not exist.
    pub fn is_not_found(&self) -> bool {
        self.errno == libc::ENOENT
    }

    /// True if something of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.errno == libc::EEXIST
    }

    /// True if the disk or the quota is full.
    pub fn is_full(&self) -> bool {
        self.errno == libc::ENOSPC || self.errno == libc::EDQUOT
    }

    /// The SQLSTATE that PostgreSQL gives to this reason.
    pub fn sqlstate(&self) -> SqlState {
        match self.errno {
            libc::EPERM | libc::EACCES | libc::EROFS => SqlState::INSUFFICIENT_PRIVILEGE,
            libc::ENOENT => SqlState::UNDEFINED_FILE,
            libc::EEXIST => SqlState::DUPLICATE_FILE,
            libc::ENOSPC | libc::EDQUOT => SqlState::DISK_FULL,
            libc::ENFILE | libc::EMFILE | libc::ENOMEM => SqlState::INSUFFICIENT_RESOURCES,
            _ => SqlState::IO_ERROR,
        }
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The standard library appends " (os error N)", which PostgreSQL's messages do not.
        let reason = io::Error::from_raw_os_error(self.errno).to_string();
        let reason = reason.split(" (os error").next().unwrap_or(&reason);
        write!(f, "could not {} \"{}\": {reason}", self.op, self.path.display())
    }
}

impl std::error::Error for IoError {}

impl From<IoError> for Error {
    fn from(e: IoError) -> Error {
        Error::new(e.sqlstate(), e.to_string())
    }
}
