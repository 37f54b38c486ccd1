//! The bytes of a connection: what has come and is not yet used, what is to go. An idle connection
//! has neither; buffers are lent by the thread that serves it.

use base::{Error, Result, Severity, err};
use engine::Interrupts;
use os::poll::{Interest, wait_one};
use os::wait::{WaitEvent, begin};
use rustls::{ServerConfig, ServerConnection};
use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use types::encoding::Encoding;

/// Bytes read at a time.
const READ: usize = 32 << 10;
/// A connection that waits keeps up to so many bytes that it has not used in a buffer of their own.
const SMALL: usize = 1 << 10;
/// Output beyond this is sent before the statement is done.
pub const FLUSH_AT: usize = 64 << 10;
/// Buffers larger than this are not kept for the next connection.
const KEEP: usize = 256 << 10;

/// How often a wait for a client in the middle of a statement looks whether the session is to
/// end.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A client's socket.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Tcp(TcpStream),
    /// Unix domain.
    Unix(UnixStream),
}

impl Socket {
    /// The server's address, as the client reached it; None on a unix socket.
    pub fn server_address(&self) -> Option<SocketAddr> {
        match self {
            Socket::Tcp(s) => s.local_addr().ok(),
            Socket::Unix(_) => None,
        }
    }

    /// The same without the port.
    pub fn local_address(&self) -> Option<String> {
        self.server_address().map(|a| a.ip().to_string())
    }

    /// False if the client has closed it, or it broke.
    pub fn is_open(&self) -> bool {
        !os::poll::is_broken(self.as_raw_fd())
    }

    fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => (&mut &*s).read(buf),
            Socket::Unix(s) => (&mut &*s).read(buf),
        }
    }

    fn write(&self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => (&mut &*s).write(buf),
            Socket::Unix(s) => (&mut &*s).write(buf),
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Socket::Tcp(s) => s.as_raw_fd(),
            Socket::Unix(s) => s.as_raw_fd(),
        }
    }
}

/// The socket as the TLS library reads and writes it.
struct SocketIo<'a>(&'a Socket);

impl Read for SocketIo<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for SocketIo<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Lent {
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static LENT: RefCell<Lent> = const {
        RefCell::new(Lent { input: Vec::new(), output: Vec::new() })
    };
}

/// Gives the thread a buffer for the connection that reads next. An empty one, or one of what a
/// waiting connection has left, is none.
fn lend_input(input: Vec<u8>) {
    if (READ..=KEEP).contains(&input.len()) {
        LENT.with(|l| l.borrow_mut().input = input);
    }
}

/// What came of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Got {
    /// This many bytes.
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// The client has closed the connection, or it broke.
    End,
}

/// See the module's text.
pub struct Wire {
    socket: Socket,
    /// `input[start..end]` has come and is not used.
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// To be sent.
    pub out: Vec<u8>,
    sent: usize,
    broken: bool,
    /// What comes next cannot be made sense of: the connection ends.
    pub out_of_step: bool,
    tls: Option<Box<ServerConnection>>,
    /// What texts are converted from and to.
    pub encoding: Encoding,
    /// Who may want the session to end while it waits for the client.
    interrupts: Option<Arc<Interrupts>>,
}

/// The error when the client is gone.
#[cold]
pub fn connection_lost() -> Error {
    err!(CONNECTION_FAILURE, "connection to client lost").severity(Severity::Fatal)
}

impl Wire {
    /// A new connection.
    pub fn new(socket: Socket) -> Wire {
        Wire {
            socket,
            input: Vec::new(),
            start: 0,
            end: 0,
            out: Vec::new(),
            sent: 0,
            broken: false,
            out_of_step: false,
            tls: None,
            encoding: Encoding::UTF8,
            interrupts: None,
        }
    }

    /// The session that the connection serves can be told to end.
    pub fn set_interrupts(&mut self, interrupts: Arc<Interrupts>) {
        self.interrupts = Some(interrupts);
    }

    /// Waits for the socket, in the middle of a statement. Only the session's end interrupts
    /// that: a client cannot make sense of an error in the middle of a message, and one that
    /// sends rows is told of a cancel when they have come.
    fn wait_for_client(&mut self, event: WaitEvent, want: Interest) -> Result<()> {
        let _waiting = begin(event);
        let fd = self.socket.as_raw_fd();
        while !wait_one(fd, want, Some(LOOK_EVERY)).map_err(|_| connection_lost())? {
            let Some(interrupts) = &self.interrupts else { continue };
            if interrupts.is_terminated() {
                // Who does not read cannot be told either.
                self.broken |= want.write;
                interrupts.check()?;
            }
        }
        Ok(())
    }

    /// From here on all bytes are encrypted; what has come already was, too.
    pub fn begin_tls(&mut self, config: Arc<ServerConfig>) -> Result<()> {
        let broken = |e: rustls::Error| {
            err!(PROTOCOL_VIOLATION, "could not accept SSL connection: {e}")
                .severity(Severity::Fatal)
        };
        let mut tls = ServerConnection::new(config).map_err(broken)?;
        let come = self.pending().to_vec();
        self.consume(come.len());
        let mut rest = &come[..];
        while !rest.is_empty() {
            if tls.read_tls(&mut rest).is_err() {
                return Err(connection_lost());
            }
            if let Err(e) = tls.process_new_packets() {
                let _ = tls.write_tls(&mut SocketIo(&self.socket));
                return Err(broken(e));
            }
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// The encrypted connection.
    pub fn tls(&self) -> Option<&ServerConnection> {
        self.tls.as_deref()
    }

    fn fill_tls(&mut self) -> Got {
        let Some(mut tls) = self.tls.take() else { return Got::End };
        let got = self.fill_from(&mut tls);
        self.tls = Some(tls);
        got
    }

    /// Reads what is there, all of what was decrypted, since no event tells of that.
    fn fill_from(&mut self, tls: &mut ServerConnection) -> Got {
        let mut total = 0;
        loop {
            self.make_room(self.end - self.start + READ);
            match tls.reader().read(&mut self.input[self.end..]) {
                Ok(0) => return if total > 0 { Got::Bytes(total) } else { Got::End },
                Ok(n) => {
                    self.end += n;
                    total += n;
                    continue;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Got::End,
            }
            if total >= READ {
                return Got::Bytes(total);
            }
            match tls.read_tls(&mut SocketIo(&self.socket)) {
                Ok(0) => return if total > 0 { Got::Bytes(total) } else { Got::End },
                Ok(_) => {
                    if tls.process_new_packets().is_err() {
                        // The alert says why.
                        let _ = tls.write_tls(&mut SocketIo(&self.socket));
                        return Got::End;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    return if total > 0 { Got::Bytes(total) } else { Got::Nothing };
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Got::End,
            }
        }
    }

    /// Encrypts what is to go, and sends what can be sent.
    fn send_tls(&mut self, tls: &mut ServerConnection) -> bool {
        loop {
            // Some at a time, so that one copy is not made of all that is to go.
            while self.sent < self.out.len() && !tls.wants_write() {
                let piece = &self.out[self.sent..];
                match tls.writer().write(&piece[..piece.len().min(FLUSH_AT)]) {
                    Ok(0) | Err(_) => break,
                    Ok(n) => self.sent += n,
                }
            }
            if !tls.wants_write() {
                break;
            }
            match tls.write_tls(&mut SocketIo(&self.socket)) {
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.broken = true;
                    break;
                }
            }
        }
        self.out.clear();
        self.sent = 0;
        true
    }

    /// The socket.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Takes the thread's output buffer, unless something is in the own one.
    pub fn borrow_output(&mut self) {
        if self.out.capacity() == 0 {
            self.out = LENT.with(|l| std::mem::take(&mut l.borrow_mut().output));
        }
    }

    /// Gives the input's buffer back if it holds nothing.
    pub fn give_back_input(&mut self) {
        if self.start == self.end && !self.input.is_empty() {
            let input = std::mem::take(&mut self.input);
            (self.start, self.end) = (0, 0);
            lend_input(input);
        } else if self.input.len() > SMALL && self.end - self.start <= SMALL {
            // The Sync of a statement that waits, or the beginning of a message: neither needs
            // the whole buffer meanwhile.
            let rest = self.pending().to_vec();
            let input = std::mem::replace(&mut self.input, rest);
            (self.start, self.end) = (0, self.input.len());
            lend_input(input);
        }
    }

    /// The same for the output.
    pub fn give_back_output(&mut self) {
        if self.out.is_empty() && self.out.capacity() > 0 {
            let out = std::mem::take(&mut self.out);
            if out.capacity() <= KEEP {
                LENT.with(|l| l.borrow_mut().output = out);
            }
        }
    }

    /// What has come and is not used.
    pub fn pending(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    /// Marks `n` bytes as used.
    pub fn consume(&mut self, n: usize) {
        self.start += n;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Makes room for a message of `len` bytes in all, if that is known.
    fn make_room(&mut self, len: usize) {
        if self.input.len() <= SMALL {
            let mut input = LENT.with(|l| std::mem::take(&mut l.borrow_mut().input));
            if input.len() < READ {
                input.resize(READ, 0);
            }
            let rest = self.pending();
            let len = rest.len();
            input[..len].copy_from_slice(rest);
            self.input = input;
            (self.start, self.end) = (0, len);
        }
        if self.start > 0 && self.input.len() - self.end < READ / 2 {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let wanted = self.start + len.max(self.end - self.start + READ / 2);
        if wanted > self.input.len() {
            self.input.resize(wanted, 0);
        }
    }

    /// Reads what is there. `len` is the size of the message under way, if known.
    pub fn fill(&mut self, len: usize) -> Got {
        if self.tls.is_some() {
            return self.fill_tls();
        }
        self.make_room(len.min(self.end - self.start + (1 << 20)));
        loop {
            match self.socket.read(&mut self.input[self.end..]) {
                Ok(0) => return Got::End,
                Ok(n) => {
                    self.end += n;
                    return Got::Bytes(n);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Got::Nothing,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Got::End,
            }
        }
    }

    /// Reads, waiting until something comes.
    pub fn fill_blocking(&mut self, len: usize) -> Result<()> {
        loop {
            match self.fill(len) {
                Got::Bytes(_) => return Ok(()),
                Got::End => {
                    (self.broken, self.out_of_step) = (true, true);
                    return Err(err!(
                        CONNECTION_FAILURE,
                        "unexpected EOF on client connection with an open transaction"
                    ));
                }
                Got::Nothing => self.wait_for_client(WaitEvent::ClientRead, Interest::READ)?,
            }
        }
    }

    /// Sends what can be sent now; true if nothing is left.
    pub fn send(&mut self) -> bool {
        if let Some(mut tls) = self.tls.take() {
            let done = self.send_tls(&mut tls);
            self.tls = Some(tls);
            return done;
        }
        while self.sent < self.out.len() && !self.broken {
            match self.socket.write(&self.out[self.sent..]) {
                Ok(0) => self.broken = true,
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return false,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.broken = true,
            }
        }
        self.out.clear();
        self.sent = 0;
        true
    }

    /// Sends everything, waiting for the client.
    pub fn send_blocking(&mut self) -> Result<()> {
        while !self.send() {
            self.wait_for_client(WaitEvent::ClientWrite, Interest::WRITE)?;
        }
        if self.broken { Err(connection_lost()) } else { Ok(()) }
    }

    /// True if something is left to be sent.
    pub fn has_output(&self) -> bool {
        self.sent < self.out.len() || self.tls.as_ref().is_some_and(|t| t.wants_write())
    }

    /// True once writing has failed.
    pub fn is_broken(&self) -> bool {
        self.broken
    }
}
