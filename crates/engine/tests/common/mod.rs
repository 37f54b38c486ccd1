//! A server in a folder of its own, and a sink that keeps what it gets.

use base::{Error, Result};
use engine::settings::Defaults;
use engine::sink::{ResultColumn, ResultFormat, Sink};
use engine::{CreateOptions, Database, Session, SessionOptions};
use os::Disk;
use std::path::PathBuf;
use std::sync::Arc;
use types::Datum;

/// What statements gave.
#[derive(Default, Debug)]
pub struct Rows {
    pub rows: Vec<Vec<String>>,
    pub tags: Vec<String>,
    pub notices: Vec<String>,
    pub input: Vec<u8>,
    pub out: String,
}

impl Sink for Rows {
    fn row_description(&mut self, _: &[ResultColumn], _: &[ResultFormat]) -> Result<()> {
        Ok(())
    }
    fn row(&mut self, values: &[Datum]) -> Result<()> {
        let text = |d: &Datum| match d {
            Datum::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
            Datum::I32(n) => n.to_string(),
            Datum::I64(n) => n.to_string(),
            Datum::U32(n) => n.to_string(),
            Datum::Null => "NULL".to_string(),
            other => format!("{other:?}"),
        };
        self.rows.push(values.iter().map(text).collect());
        Ok(())
    }
    fn command_complete(&mut self, tag: &str) -> Result<()> {
        self.tags.push(tag.to_string());
        Ok(())
    }
    fn notice(&mut self, notice: &Error) {
        self.notices.push(notice.message().to_string());
    }
    fn copy_in(&mut self, _: bool, _: usize) -> Result<()> {
        Ok(())
    }
    fn copy_data_in(&mut self) -> Result<Option<Vec<u8>>> {
        // A few bytes at a time: lines do not end where pieces do.
        let rest = self.input.split_off(self.input.len().min(5));
        let data = std::mem::replace(&mut self.input, rest);
        Ok((!data.is_empty()).then_some(data))
    }
    fn copy_out(&mut self, _: bool, _: usize) -> Result<()> {
        Ok(())
    }
    fn copy_data_out(&mut self, data: &[u8]) -> Result<()> {
        self.out.push_str(&String::from_utf8_lossy(data));
        Ok(())
    }
}

/// Runs statements that succeed.
pub fn run(s: &mut Session, sql: &str) -> Rows {
    let mut sink = Rows::default();
    if let Err(e) = s.simple_query(sql, &mut sink) {
        panic!("{sql}: {e} {:?}", e.fields().detail);
    }
    s.wait_gate().unwrap();
    sink
}

/// Runs a statement that fails.
#[allow(dead_code)]
pub fn fail(s: &mut Session, sql: &str) -> Error {
    let mut sink = Rows::default();
    s.simple_query(sql, &mut sink).expect_err(sql)
}

/// A running server.
#[allow(dead_code)]
pub struct Server {
    pub db: Arc<Database>,
    dir: PathBuf,
}

#[allow(dead_code)]
impl Server {
    /// Makes and opens one.
    pub fn start(name: &str) -> Server {
        Server::start_with(name, Defaults::default())
    }

    /// Makes and opens one with these settings.
    pub fn start_with(name: &str, defaults: Defaults) -> Server {
        let dir = std::env::temp_dir().join(format!("olifant-{name}-{}", std::process::id()));
        let disk = Disk::real();
        let _ = disk.remove_dir_all(&dir);
        Database::create(disk.clone(), &dir, &CreateOptions::default()).unwrap();
        let db = Database::open(disk, &dir, defaults).unwrap();
        Server { db, dir }
    }

    /// A session of the superuser.
    pub fn connect(&self) -> Session {
        let options = SessionOptions { user: "postgres".into(), ..SessionOptions::default() };
        Session::new(&self.db, &options).unwrap()
    }

    /// Stops it after its last session.
    pub fn stop(self, last: Session) {
        drop(last);
        self.db.shutdown().unwrap();
        Disk::real().remove_dir_all(&self.dir).unwrap();
    }
}
