//! `null-server PORT`: answers each message with a canned row, without doing any work, so that a
//! benchmark knows how much of a figure is the client's and the kernel's.
//!
//! One thread accepts; each of the others has an epoll instance and its share of the connections.

use pgwire::backend::{self, Authentication, Field};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

/// A connection and what has arrived of its next message.
struct Connection {
    stream: TcpStream,
    input: Vec<u8>,
    started: bool,
}

fn row_description(out: &mut Vec<u8>) {
    let field = Field {
        name: "abalance",
        table: base_oid(0),
        attnum: 0,
        type_oid: base_oid(23),
        type_len: 4,
        typmod: -1,
        format: 0,
    };
    backend::row_description(out, [field].into_iter());
}

fn base_oid(n: u32) -> base::Oid {
    base::Oid(n)
}

fn row(out: &mut Vec<u8>) {
    backend::data_row(out, &[Some(b"0")]);
    backend::command_complete(out, "SELECT 1");
}

/// Appends the answer to one message.
fn answer(kind: u8, out: &mut Vec<u8>) {
    match kind {
        b'Q' => {
            row_description(out);
            row(out);
            backend::ready_for_query(out, b'I');
        }
        b'P' => backend::message(out, b'1', |_| {}),
        b'B' => backend::message(out, b'2', |_| {}),
        b'C' => backend::message(out, b'3', |_| {}),
        b'D' => row_description(out),
        b'E' => row(out),
        b'S' => backend::ready_for_query(out, b'I'),
        _ => {}
    }
}

impl Connection {
    /// Reads what has come and answers it; false when the client is gone.
    fn serve(&mut self, out: &mut Vec<u8>) -> bool {
        let mut chunk = [0; 8192];
        match self.stream.read(&mut chunk) {
            Ok(0) | Err(_) => return false,
            Ok(n) => self.input.extend_from_slice(&chunk[..n]),
        }
        out.clear();
        let mut at = 0;
        loop {
            let rest = &self.input[at..];
            let head = if self.started { 1 } else { 0 };
            if rest.len() < head + 4 {
                break;
            }
            let length = [rest[head], rest[head + 1], rest[head + 2], rest[head + 3]];
            let length = u32::from_be_bytes(length) as usize + head;
            if rest.len() < length {
                break;
            }
            if self.started {
                if rest[0] == b'X' {
                    return false;
                }
                answer(rest[0], out);
            } else if length == 8 {
                // A request for encryption.
                out.push(b'N');
            } else {
                self.started = true;
                backend::authentication(out, Authentication::Ok);
                backend::parameter_status(out, "server_version", base::build::RELEASE);
                backend::parameter_status(out, "client_encoding", "UTF8");
                backend::ready_for_query(out, b'I');
            }
            at += length;
        }
        self.input.drain(..at);
        out.is_empty() || self.stream.write_all(out).is_ok()
    }
}

/// Serves the connections whose numbers come over `incoming`, for ever.
fn work(epoll: i32, incoming: std::sync::mpsc::Receiver<TcpStream>) {
    let mut connections: HashMap<i32, Connection> = HashMap::new();
    let mut out = Vec::new();
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
    loop {
        // SAFETY: `events` is a valid array of the length given, and epoll an open descriptor.
        let n = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), 64, -1) };
        while let Ok(stream) = incoming.try_recv() {
            let fd = stream.as_raw_fd();
            connections.insert(fd, Connection { stream, input: Vec::new(), started: false });
        }
        for e in &events[..n.max(0) as usize] {
            let fd = e.u64 as i32;
            let alive = connections.get_mut(&fd).is_some_and(|c| c.serve(&mut out));
            if !alive {
                connections.remove(&fd);
            }
        }
    }
}

fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args().nth(1).and_then(|p| p.parse().ok()).unwrap_or(5499);
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    let workers = std::thread::available_parallelism().map_or(2, |n| n.get());
    let mut senders = Vec::new();
    for _ in 0..workers {
        // SAFETY: a plain system call without pointers.
        let epoll = unsafe { libc::epoll_create1(0) };
        let (sender, receiver) = std::sync::mpsc::channel();
        senders.push((epoll, sender));
        std::thread::spawn(move || work(epoll, receiver));
    }
    for (n, stream) in listener.incoming().enumerate() {
        let stream = stream?;
        stream.set_nodelay(true)?;
        let fd = stream.as_raw_fd();
        let (epoll, sender) = &senders[n % workers];
        if sender.send(stream).is_err() {
            break;
        }
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: fd as u64 };
        // SAFETY: `event` is valid for the call, and both descriptors are open.
        unsafe { libc::epoll_ctl(*epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
    }
    Ok(())
}
