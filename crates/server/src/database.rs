//! The engine as the server's [`Backend`].

use crate::backend::{Backend, BackendSession, Request};
use crate::log::Log;
use base::{Error, Lsn, Result};
use engine::Database;
use engine::settings::Defaults;
use os::Disk;
use std::path::Path;
use std::sync::Arc;
use wal::FlushListener;

/// Opens a data directory.
pub fn open(
    disk: &Disk,
    data: &Path,
    defaults: Defaults,
    log: &Arc<Log>,
) -> Result<Arc<dyn Backend>> {
    let database = Database::open(disk.clone(), data, defaults)?;
    let log = Arc::clone(log);
    database.set_logger(Arc::new(move |e| log.error(&Default::default(), e, None)));
    Ok(Arc::new(Engine { database }))
}

/// See the module's text.
struct Engine {
    database: Arc<Database>,
}

/// Passes flushes on.
struct Told(Arc<dyn Fn(Lsn) + Send + Sync>);

impl FlushListener for Told {
    fn flushed(&self, upto: Lsn) {
        (self.0)(upto);
    }
}

impl Backend for Engine {
    fn connect(&self, _request: Request) -> Result<Box<dyn BackendSession>> {
        Err(Error::unsupported("a session"))
    }

    fn role_secret(&self, _user: &str) -> Result<Option<String>> {
        Ok(None)
    }

    fn cancel(&self, pid: i32, key: &[u8]) {
        self.database.activity().cancel_with_key(pid, key);
    }

    fn terminate_all(&self) {
        self.database.activity().terminate_all();
    }

    fn is_member(&self, _user: &str, _role: &str) -> bool {
        false
    }

    fn flushed(&self) -> Lsn {
        self.database.flushed()
    }

    fn request_flush(&self, lsn: Lsn) {
        self.database.wal().flush_async(lsn);
    }

    fn flush(&self, lsn: Lsn) -> Result<()> {
        self.database.wal().flush(lsn)
    }

    fn on_flush(&self, told: Arc<dyn Fn(Lsn) + Send + Sync>) {
        self.database.wal().on_flush(Arc::new(Told(told)));
    }

    fn reload(&self, settings: Defaults) {
        self.database.set_defaults(settings);
    }

    fn shutdown(&self, immediate: bool) -> Result<()> {
        if immediate { Ok(()) } else { self.database.shutdown() }
    }
}
