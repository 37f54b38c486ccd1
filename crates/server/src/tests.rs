//! The whole server over a made-up database that answers, sleeps, spins or waits for the log.

use crate::backend::{Backend, BackendSession, BindRequest, Described, Request};
use crate::hba::Hba;
use crate::listen::{Listeners, SocketAccess};
use crate::log::Log;
use crate::pidfile::Facts;
use crate::postmaster::Serving;
use crate::shared::Shared;
use base::{Error, Lsn, Oid, Result, err};
use engine::Interrupts;
use engine::sink::{ResultColumn, Sink};
use os::Disk;
use os::thread::JoinHandle;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;
use tools::client::{Client, Target};
use types::Datum;

type Told = os::sync::Mutex<Option<Arc<dyn Fn(Lsn) + Send + Sync>>>;

#[derive(Default)]
struct Fake {
    inserted: AtomicU64,
    flushed: AtomicU64,
    told: Told,
    pids: AtomicI32,
    sessions: os::sync::Mutex<Vec<(i32, Arc<Interrupts>)>>,
    secret: Option<String>,
}

struct FakeSession {
    fake: Arc<Fake>,
    pid: i32,
    interrupts: Arc<Interrupts>,
    gate: Lsn,
    prepared: String,
}

/// The database that the listener thread and the sessions share.
struct Shareable(Arc<Fake>);

impl Backend for Shareable {
    fn new_pid(&self) -> i32 {
        self.0.pids.fetch_add(1, Ordering::SeqCst) + 1
    }
    fn connect(&self, request: Request) -> Result<Box<dyn BackendSession>> {
        let pid = request.who.map_or(0, |w| w.pid);
        let interrupts = Arc::new(Interrupts::new());
        self.0.sessions.lock().push((pid, interrupts.clone()));
        let fake = self.0.clone();
        let gate = Lsn::INVALID;
        Ok(Box::new(FakeSession { fake, pid, interrupts, gate, prepared: String::new() }))
    }
    fn role_secret(&self, _: &str) -> Result<Option<String>> {
        Ok(self.0.secret.clone())
    }
    fn cancel(&self, pid: i32, _: &[u8]) {
        self.0.sessions.lock().iter().filter(|s| s.0 == pid).for_each(|s| s.1.cancel());
    }
    fn terminate_all(&self) {
        self.0.sessions.lock().iter().for_each(|s| s.1.terminate());
    }
    fn is_member(&self, _: &str, _: &str) -> bool {
        false
    }
    fn flushed(&self) -> Lsn {
        Lsn(self.0.flushed.load(Ordering::SeqCst))
    }
    fn request_flush(&self, _: Lsn) {}
    fn flush_if_quick(&self, _: Lsn) {}
    fn flush(&self, _: Lsn) -> Result<()> {
        Ok(())
    }
    fn on_flush(&self, told: Arc<dyn Fn(Lsn) + Send + Sync>) {
        *self.0.told.lock() = Some(told);
    }
    fn reload(&self, _: engine::settings::Defaults) -> Vec<Error> {
        Vec::new()
    }
    fn shutdown(&self, _: bool) -> Result<()> {
        Ok(())
    }
}

impl FakeSession {
    fn answer(&mut self, sql: &str, describe: bool, sink: &mut dyn Sink) -> Result<()> {
        let (word, rest) = sql.split_once(' ').unwrap_or((sql, ""));
        let ms = Duration::from_millis(rest.parse().unwrap_or(0));
        match word {
            "sleep" => {
                let _waiting = os::wait::begin(os::wait::WaitEvent::PgSleep);
                os::thread::sleep(ms);
            }
            "spin" => {
                let end = now() + ms;
                while now() < end {
                    std::hint::spin_loop();
                }
            }
            "gate" => self.gate = Lsn(self.fake.inserted.fetch_add(1, Ordering::SeqCst) + 1),
            "fail" => return Err(err!(SYNTAX_ERROR, "as you wished").detail(rest)),
            "wait" => loop {
                os::thread::sleep(Duration::from_millis(2));
                self.interrupts.check()?;
            },
            "copy" => {
                sink.copy_in(false, 1)?;
                let mut n = 0;
                while let Some(data) = sink.copy_data_in()? {
                    n += data.len();
                }
                return sink.command_complete(&format!("COPY {n}"));
            }
            "many" => {
                let n: i32 = rest.parse().unwrap_or(0);
                for i in 0..n {
                    sink.row(&[Datum::I32(i)])?;
                }
                return sink.command_complete(&format!("SELECT {n}"));
            }
            _ => {}
        }
        if describe {
            let column = ResultColumn {
                name: "answer".into(),
                table: Oid(0),
                attnum: 0,
                type_oid: types::oid::TEXT,
                type_len: -1,
                typmod: -1,
            };
            sink.row_description(&[column], &[])?;
        }
        sink.row(&[Datum::text(sql)])?;
        sink.command_complete("SELECT 1")
    }
}

impl BackendSession for FakeSession {
    fn simple_query(&mut self, sql: &str, sink: &mut dyn Sink) -> Result<()> {
        self.answer(sql, true, sink)
    }
    fn parse(&mut self, _: &str, sql: &str, _: &[Oid], _: &mut dyn Sink) -> Result<()> {
        self.prepared = sql.to_string();
        Ok(())
    }
    fn bind(&mut self, _: BindRequest<'_>, _: &mut dyn Sink) -> Result<()> {
        Ok(())
    }
    fn describe_statement(
        &mut self,
        _: &str,
        _: &mut Vec<Oid>,
        _: &mut dyn Sink,
    ) -> Result<Described> {
        Ok(Described::NoRows)
    }
    fn describe_portal(&mut self, _: &str, _: &mut dyn Sink) -> Result<Described> {
        Ok(Described::NoRows)
    }
    fn execute(&mut self, _: &str, _: u64, sink: &mut dyn Sink) -> Result<()> {
        let sql = self.prepared.clone();
        self.answer(&sql, false, sink)
    }
    fn close_statement(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
    fn close_portal(&mut self, _: &str) -> Result<()> {
        Ok(())
    }
    fn sync(&mut self, _: &mut dyn Sink) -> Result<()> {
        Ok(())
    }
    fn failed(&mut self) {}
    fn transaction_status(&self) -> u8 {
        b'I'
    }
    fn gate(&mut self) -> Lsn {
        std::mem::take(&mut self.gate)
    }
    fn pid(&self) -> i32 {
        self.pid
    }
    fn cancel_key(&self, bytes: usize) -> Vec<u8> {
        (1..=bytes as u8).collect()
    }
    fn interrupts(&self) -> Arc<Interrupts> {
        self.interrupts.clone()
    }
    fn reported_settings(&self) -> Vec<(String, String)> {
        vec![("server_version".into(), "18".into())]
    }
    fn idle_timeout(&self) -> (u64, bool) {
        (0, false)
    }
    fn idle(&mut self, _: &mut dyn Sink) -> Result<()> {
        self.interrupts.check()
    }
}

struct Server {
    fake: Arc<Fake>,
    serving: Option<Serving>,
    dir: PathBuf,
    target: Target,
}

impl Server {
    fn start(name: &str, reactors: usize, hba: &str, secret: Option<String>) -> Server {
        let dir = std::env::temp_dir().join(format!("olifant-{name}-{}", os::process::id()));
        let disk = Disk::real();
        let _ = disk.remove_dir_all(&dir);
        disk.create_dir_all(&dir).unwrap();
        disk.write_atomic(&dir.join("hba"), hba.as_bytes()).unwrap();
        let folder = dir.display().to_string();
        let facts = Facts {
            data: Path::new("/nowhere"),
            started: 0,
            port: 5432,
            socket_dir: &folder,
            address: "",
        };
        let log = Arc::new(Log::default());
        let mut listeners = Listeners::default();
        let access = SocketAccess { mode: 0o777, group: String::new() };
        listeners.open_unix(&disk, &facts, &access, &log).unwrap();
        let fake = Arc::new(Fake { secret, ..Fake::default() });
        let hba = Hba::read(&dir.join("hba")).unwrap();
        let shared = Shared::new(Arc::new(Shareable(fake.clone())), log, hba);
        let serving = Serving::begin(shared, listeners, reactors).unwrap();
        let target = Target {
            host: folder,
            port: "5432".into(),
            user: "me".into(),
            database: "d".into(),
            password: Some("pencil".into()),
        };
        Server { fake, serving: Some(serving), dir, target }
    }

    fn client(&self) -> Client {
        Client::connect(&self.target, Some(Duration::from_secs(20))).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.refuse();
            serving.terminate();
            let end = now() + Duration::from_secs(5);
            while !serving.is_quiet() && now() < end {
                os::thread::sleep(Duration::from_millis(5));
            }
            serving.end();
        }
        let _ = Disk::real().remove_dir_all(&self.dir);
    }
}

fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    os::thread::spawn("client", f).unwrap()
}

/// Nanoseconds of the monotonic clock.
fn now() -> Duration {
    Duration::from_nanos(os::clock::monotonic_nanos())
}

fn text(client: &mut Client, sql: &str) -> String {
    client.query(sql).unwrap().rows[0][0].clone().unwrap_or_default()
}

const TRUST: &str = "local all all trust\n";

#[test]
fn statements_and_errors() {
    let server = Server::start("simple", 1, TRUST, None);
    let mut c = server.client();
    assert_eq!(text(&mut c, "hello"), "hello");
    let e = c.query("fail because").unwrap_err();
    assert_eq!((e.message(), e.fields().detail.as_deref()), ("as you wished", Some("because")));
    assert_eq!(text(&mut c, "again"), "again");
    assert_eq!(c.query("many 200000").unwrap().rows.len(), 200_000);
}

#[test]
fn waits_and_long_statements_do_not_hold_up_others() {
    let server = Server::start("waits", 1, TRUST, None);
    for slow in ["sleep 1500", "spin 1500"] {
        let mut a = server.client();
        let thread = spawn(move || {
            let start = now();
            a.query(slow).unwrap();
            (now() - start, text(&mut a, "after"))
        });
        os::thread::sleep(Duration::from_millis(100));
        let mut b = server.client();
        let start = now();
        for _ in 0..50 {
            text(&mut b, "x");
        }
        assert!(now() - start < Duration::from_millis(1000), "{slow}: {:?}", now() - start);
        let (took, after) = thread.join().unwrap();
        assert!(took >= Duration::from_millis(1500));
        assert_eq!(after, "after");
    }
}

#[test]
fn replies_wait_for_the_log() {
    let server = Server::start("gate", 1, TRUST, None);
    let mut a = server.client();
    let thread = spawn(move || {
        text(&mut a, "gate");
        now()
    });
    os::thread::sleep(Duration::from_millis(100));
    assert!(!thread.is_finished());
    assert_eq!(text(&mut server.client(), "x"), "x");
    let before = now();
    server.fake.flushed.store(1, Ordering::SeqCst);
    let told = server.fake.told.lock().clone().unwrap();
    told(Lsn(1));
    assert!(thread.join().unwrap() >= before);
}

#[test]
fn many_clients_at_once() {
    let server = Server::start("many", 2, TRUST, None);
    let threads: Vec<_> = (0..16)
        .map(|t| {
            let mut c = server.client();
            spawn(move || {
                for i in 0..300 {
                    let sql = match (i + t) % 50 {
                        0 => "sleep 3".to_string(),
                        1 => "spin 4".to_string(),
                        _ => format!("n{i}"),
                    };
                    assert_eq!(text(&mut c, &sql), sql);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn scram_by_hba() {
    let secret = pgwire::scram::Secret::new("pencil", &[5; 16], 4096).to_text();
    let server = Server::start("scram", 1, "local d me scram-sha-256\n", Some(secret));
    assert_eq!(text(&mut server.client(), "in"), "in");
    let mut wrong = server.target.clone();
    wrong.password = Some("pen".into());
    let e = Client::connect(&wrong, None).err().unwrap();
    assert_eq!(e.message(), "password authentication failed for user \"me\"");
    wrong.user = "you".into();
    let e = Client::connect(&wrong, None).err().unwrap();
    assert_eq!(
        e.message(),
        "no pg_hba.conf entry for host \"[local]\", user \"you\", database \"d\", no encryption"
    );
}

#[test]
fn termination_ends_idle_and_busy_sessions() {
    let server = Server::start("end", 1, TRUST, None);
    let (mut a, _idle) = (server.client(), server.client());
    let thread = spawn(move || a.query("wait").unwrap_err());
    os::thread::sleep(Duration::from_millis(50));
    let serving = server.serving.as_ref().unwrap();
    serving.refuse();
    serving.terminate();
    let e = thread.join().unwrap();
    assert_eq!(e.message(), "terminating connection due to administrator command");
    let end = now() + Duration::from_secs(3);
    while !serving.is_quiet() {
        assert!(now() < end);
        os::thread::sleep(Duration::from_millis(5));
    }
}
