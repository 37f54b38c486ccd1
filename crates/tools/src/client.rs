//! A small client: connects, authenticates, runs simple queries.

use base::{Error, Result, Severity, err};
use pgwire::client::{self as messages, Received};
use pgwire::{md5, scram, startup};
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Where a server is, and who wants to talk to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// A name or address, or the folder of a unix socket.
    pub host: String,
    /// The port.
    pub port: String,
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password, if one is known.
    pub password: Option<String>,
}

/// Where the unix socket is if nothing is said.
pub const DEFAULT_SOCKET_DIR: &str = "/tmp";
/// Another place where it is often.
const OTHER_SOCKET_DIR: &str = "/var/run/postgresql";

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

impl Target {
    /// What the environment says, with PostgreSQL's defaults.
    pub fn from_environment() -> Target {
        let port = environment("PGPORT").unwrap_or_else(|| "5432".into());
        let user = environment("PGUSER")
            .or_else(os::process::user_name)
            .unwrap_or_else(|| "postgres".into());
        let in_folder = |dir: &str| os::Disk::real().exists(socket_path(dir, &port).as_ref());
        let host = environment("PGHOST").unwrap_or_else(|| {
            let other = !in_folder(DEFAULT_SOCKET_DIR) && in_folder(OTHER_SOCKET_DIR);
            if other { OTHER_SOCKET_DIR.into() } else { DEFAULT_SOCKET_DIR.into() }
        });
        Target {
            host,
            port,
            database: environment("PGDATABASE").unwrap_or_else(|| user.clone()),
            user,
            password: environment("PGPASSWORD"),
        }
    }
}

fn socket_path(dir: &str, port: &str) -> String {
    format!("{dir}/.s.PGSQL.{port}")
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn open(target: &Target, timeout: Option<Duration>) -> std::io::Result<Stream> {
        if target.host.starts_with('/') {
            let s = UnixStream::connect(socket_path(&target.host, &target.port))?;
            s.set_read_timeout(timeout)?;
            s.set_write_timeout(timeout)?;
            return Ok(Stream::Unix(s));
        }
        let port = target.port.parse().unwrap_or(5432);
        let mut last = std::io::Error::other("the name has no address");
        let name = target.host.as_str();
        let addresses = (name, port).to_socket_addrs().map_err(|e| {
            // The system's reason comes after what it was asked.
            let text = e.to_string();
            let reason = text.rsplit(": ").next().unwrap_or_default();
            let text = format!("could not translate host name \"{name}\" to address: {reason}");
            std::io::Error::new(std::io::ErrorKind::NotFound, text)
        })?;
        for address in addresses {
            let opened = match timeout {
                Some(t) => TcpStream::connect_timeout(&address, t),
                None => TcpStream::connect(address),
            };
            match opened {
                Ok(s) => {
                    s.set_read_timeout(timeout)?;
                    s.set_write_timeout(timeout)?;
                    s.set_nodelay(true)?;
                    return Ok(Stream::Tcp(s));
                }
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Tcp(s) => s.read(buf),
            Stream::Unix(s) => s.read(buf),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Stream::Tcp(s) => s.write_all(bytes),
            Stream::Unix(s) => s.write_all(bytes),
        }
    }
}

/// A connection.
pub struct Client {
    stream: Stream,
    input: Vec<u8>,
    notices: Vec<Error>,
}

fn broken(e: std::io::Error) -> Error {
    err!(CONNECTION_FAILURE, "{e}")
}

/// Rows of a query as text, and its command tag.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Rows; None is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// The last command's tag.
    pub tag: String,
}

impl Client {
    /// Connects and authenticates.
    pub fn connect(target: &Target, timeout: Option<Duration>) -> Result<Client> {
        let stream = Stream::open(target, timeout).map_err(|e| match e.get_ref() {
            Some(_) => err!(UNDEFINED_OBJECT, "{e}"),
            None => broken(e),
        })?;
        let mut client = Client { stream, input: Vec::new(), notices: Vec::new() };
        let mut out = Vec::new();
        let parameters = [("user", target.user.as_str()), ("database", target.database.as_str())];
        startup::encode_session(&mut out, startup::VERSION_3_0, &parameters);
        client.send(&out)?;
        client.authenticate(target)?;
        Ok(client)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).map_err(broken)
    }

    /// The next message: its type and body.
    fn receive(&mut self) -> Result<(u8, Vec<u8>)> {
        loop {
            if let Some((Received { kind, body }, n)) = messages::decode(&self.input)? {
                let message = (kind, body.to_vec());
                self.input.drain(..n);
                return Ok(message);
            }
            let mut buf = [0; 8192];
            match self.stream.read(&mut buf).map_err(broken)? {
                0 => {
                    return Err(err!(
                        CONNECTION_FAILURE,
                        "server closed the connection unexpectedly"
                    ));
                }
                n => self.input.extend_from_slice(&buf[..n]),
            }
        }
    }

    fn authenticate(&mut self, target: &Target) -> Result<()> {
        let password = || {
            target
                .password
                .clone()
                .ok_or_else(|| err!(INVALID_PASSWORD, "fe_sendauth: no password supplied"))
        };
        let mut exchange: Option<scram::Client> = None;
        loop {
            let (kind, body) = self.receive()?;
            let mut out = Vec::new();
            match kind {
                b'E' => return Err(messages::error(&body)?),
                b'Z' => return Ok(()),
                b'R' => match messages::authentication(&body)? {
                    (0, _) => {}
                    (3, _) => messages::password(&mut out, &password()?),
                    (5, salt) => {
                        let salt = salt.try_into().unwrap_or([0; 4]);
                        let secret = md5::secret(&target.user, &password()?);
                        messages::password(&mut out, &md5::response(&secret, salt));
                    }
                    (10, _) => {
                        let mut random = [0; 18];
                        os::random::fill(&mut random);
                        let client = scram::Client::new(&password()?, &random);
                        let first = client.first();
                        messages::sasl_initial(&mut out, scram::MECHANISM, first.as_bytes());
                        exchange = Some(client);
                    }
                    (11, data) => {
                        let Some(client) = exchange.as_mut() else {
                            return Err(err!(PROTOCOL_VIOLATION, "unexpected SASL message"));
                        };
                        let last = client.last(data)?;
                        messages::sasl_response(&mut out, last.as_bytes());
                    }
                    (12, data) => {
                        if !exchange.as_ref().is_some_and(|c| c.verify(data)) {
                            return Err(err!(INVALID_PASSWORD, "incorrect server signature"));
                        }
                    }
                    (other, _) => {
                        return Err(err!(
                            FEATURE_NOT_SUPPORTED,
                            "authentication method {other} not supported"
                        ));
                    }
                },
                _ => {}
            }
            if !out.is_empty() {
                self.send(&out)?;
            }
        }
    }

    /// Notices that have come since the last time.
    pub fn take_notices(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.notices)
    }

    /// Runs statements with the simple protocol; the rows of the last.
    pub fn query(&mut self, sql: &str) -> Result<Answer> {
        let mut out = Vec::new();
        messages::query(&mut out, sql);
        self.send(&out)?;
        let mut answer = Answer::default();
        let mut failure = None;
        loop {
            let (kind, body) = self.receive()?;
            match kind {
                b'T' => answer.rows.clear(),
                b'D' => {
                    let row = messages::data_row(&body)?;
                    let text = |v: &[u8]| String::from_utf8_lossy(v).into_owned();
                    answer.rows.push(row.into_iter().map(|v| v.map(text)).collect());
                }
                b'C' => answer.tag = messages::command_tag(&body)?.to_string(),
                b'E' => {
                    let e = messages::error(&body)?;
                    // After such an error the server says no more.
                    if e.fields().severity >= Severity::Fatal {
                        return Err(e);
                    }
                    failure = Some(e);
                }
                b'N' => self.notices.extend(messages::error(&body)),
                b'Z' => return failure.map_or(Ok(answer), Err),
                _ => {}
            }
        }
    }
}

/// What a server says to who asks whether it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ping {
    /// It accepts connections.
    Accepting,
    /// It is there but rejects connections (starting or stopping).
    Rejecting,
    /// Nobody answers.
    NoResponse,
    /// Nothing was tried: the parameters are wrong.
    NoAttempt,
}

/// Asks whether a server is there. A refused login counts as an answer.
pub fn ping(target: &Target, timeout: Option<Duration>) -> Ping {
    let timeout = timeout.filter(|t| !t.is_zero());
    match Client::connect(target, timeout) {
        Ok(_) => Ping::Accepting,
        Err(e) if e.code() == base::SqlState::CANNOT_CONNECT_NOW => Ping::Rejecting,
        Err(e) if e.fields().severity >= Severity::Fatal => Ping::Accepting,
        Err(e) if e.code() == base::SqlState::INVALID_PASSWORD => Ping::Accepting,
        Err(_) => Ping::NoResponse,
    }
}
