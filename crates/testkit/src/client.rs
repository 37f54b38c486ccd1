//! One connection to a server, by the simple query protocol.

use base::{Error, Result, SqlState};
use pgwire::client::{self, decode};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What one query string gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryResult {
    /// Column names of the last result with rows.
    pub columns: Vec<String>,
    /// Rows of all results, values as text.
    pub rows: Vec<Vec<Option<String>>>,
    /// Command tags, in order.
    pub tags: Vec<String>,
    /// Notices, in order.
    pub notices: Vec<Error>,
    /// The error that ended it.
    pub error: Option<Error>,
}

/// One connection.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Process number and key, for cancel requests.
    pub key: (i32, Vec<u8>),
    status: u8,
    /// What a COPY that asks for rows is given.
    data: Option<String>,
}

fn io(e: std::io::Error) -> Error {
    Error::new(SqlState::CONNECTION_FAILURE, e.to_string())
}

impl Client {
    /// Connects to 127.0.0.1 as `user`, who must be trusted.
    pub fn connect(port: u16, user: &str, database: &str) -> Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(io)?;
        stream.set_nodelay(true).map_err(io)?;
        stream.set_read_timeout(Some(Duration::from_secs(120))).map_err(io)?;
        let mut c =
            Client { stream, buffer: Vec::new(), key: (0, Vec::new()), status: b'I', data: None };
        let mut out = Vec::new();
        let options = [("user", user), ("database", database), ("application_name", "testkit")];
        pgwire::startup::encode_session(&mut out, 3 << 16, &options);
        c.stream.write_all(&out).map_err(io)?;
        loop {
            let (kind, body) = c.message(true)?.ok_or_else(lost)?;
            match kind {
                b'R' if client::authentication(&body)?.0 != 0 => {
                    return Err(Error::internal("the server asks for a password"));
                }
                b'K' => c.key = client::backend_key_data(&body)?,
                b'E' => return Err(client::error(&body)?),
                b'Z' => return Ok(c),
                _ => {}
            }
        }
    }

    /// The next message; None if none has come and `wait` is false.
    fn message(&mut self, wait: bool) -> Result<Option<(u8, Vec<u8>)>> {
        loop {
            if let Some((m, n)) = decode(&self.buffer)? {
                let found = (m.kind, m.body.to_vec());
                self.buffer.drain(..n);
                return Ok(Some(found));
            }
            let mut chunk = [0; 16384];
            let patience = if wait { Duration::from_secs(120) } else { Duration::from_millis(5) };
            self.stream.set_read_timeout(Some(patience)).map_err(io)?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(lost()),
                Ok(n) => self.buffer.extend_from_slice(&chunk[..n]),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e)
                    if !wait
                        && matches!(
                            e.kind(),
                            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                        ) =>
                {
                    return Ok(None);
                }
                Err(e) => return Err(io(e)),
            }
        }
    }

    /// Sends a query string without waiting for its result.
    pub fn send(&mut self, sql: &str) -> Result<()> {
        let mut out = Vec::new();
        client::query(&mut out, sql);
        self.stream.write_all(&out).map_err(io)
    }

    /// Sends a query with one parameter in the binary form of its type, likewise.
    pub fn send_binary(&mut self, sql: &str, ty: base::Oid, value: &[u8]) -> Result<()> {
        let mut out = Vec::new();
        client::parse(&mut out, "", sql, &[ty]);
        client::bind_binary(&mut out, "", "", value);
        client::execute(&mut out, "", 0);
        client::sync(&mut out);
        self.stream.write_all(&out).map_err(io)
    }

    /// The result of what was sent. With a time limit, None if it has not come by then; what
    /// did come is kept in `partial`.
    pub fn receive(
        &mut self,
        limit: Option<Duration>,
        partial: &mut QueryResult,
    ) -> Result<Option<QueryResult>> {
        let until = limit.map(|l| Instant::now() + l);
        loop {
            let Some((kind, body)) = self.message(until.is_none())? else {
                if until.is_some_and(|u| Instant::now() >= u) {
                    return Ok(None);
                }
                continue;
            };
            match kind {
                b'T' => {
                    partial.columns =
                        client::row_description(&body)?.into_iter().map(|c| c.0).collect();
                }
                b'D' => {
                    let row = client::data_row(&body)?
                        .into_iter()
                        .map(|v| v.map(|b| String::from_utf8_lossy(b).into_owned()))
                        .collect();
                    partial.rows.push(row);
                }
                b'C' => partial.tags.push(client::command_tag(&body)?.to_string()),
                b'N' => partial.notices.push(client::error(&body)?),
                b'E' => partial.error = Some(client::error(&body)?),
                b'd' => {
                    let line = String::from_utf8_lossy(&body).trim_end().to_string();
                    partial.rows.push(vec![Some(line)]);
                }
                b'G' => {
                    let mut out = Vec::new();
                    match self.data.take() {
                        Some(data) => {
                            client::copy_data(&mut out, data.as_bytes());
                            client::copy_done(&mut out);
                        }
                        None => client::copy_fail(&mut out, "no data"),
                    }
                    self.stream.write_all(&out).map_err(io)?;
                }
                b'Z' => {
                    self.status = body.first().copied().unwrap_or(b'I');
                    return Ok(Some(std::mem::take(partial)));
                }
                _ => {}
            }
        }
    }

    /// Runs a query string to its end. An error of the server's is part of the result.
    pub fn query(&mut self, sql: &str) -> Result<QueryResult> {
        self.send(sql)?;
        let mut partial = QueryResult::default();
        self.receive(None, &mut partial)?.ok_or_else(lost)
    }

    /// The same; what follows the first line is the data of a COPY that asks for some.
    pub fn query_with_data(&mut self, sql: &str) -> Result<QueryResult> {
        let (sql, data) = sql.split_once('\n').map_or((sql, None), |(s, d)| (s, Some(d)));
        self.data = data.map(str::to_string);
        self.query(sql)
    }

    /// Runs statements that must not fail.
    pub fn execute(&mut self, sql: &str) -> Result<QueryResult> {
        let r = self.query(sql)?;
        match r.error {
            Some(e) => Err(e.context(format!("SQL: {sql}"))),
            None => Ok(r),
        }
    }

    /// The first value of the first row.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>> {
        let r = self.execute(sql)?;
        Ok(r.rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten())
    }

    /// The transaction status that the server last told: `I`, `T` or `E`.
    pub fn status(&self) -> char {
        char::from(self.status)
    }
}

fn lost() -> Error {
    Error::new(SqlState::CONNECTION_FAILURE, "server closed the connection unexpectedly")
}
