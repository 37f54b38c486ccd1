//! Listening sockets, and the thread that accepts connections.

use crate::conn::{Conn, Socket};
use crate::log::Log;
use crate::pidfile::{Facts, LockFile};
use crate::reactor::Reactor;
use crate::shared::Shared;
use base::{Result, Severity, err};
use os::Disk;
use os::poll::{Bell, Epoll, Events, Interest};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Who may use the unix sockets.
pub struct SocketAccess {
    /// `unix_socket_permissions`
    pub mode: u32,
    /// `unix_socket_group`: a name or a number; empty is the server's own.
    pub group: String,
}

impl SocketAccess {
    fn apply(&self, path: &Path) -> Result<()> {
        let fatal = |text: String| Err(err!(SYSTEM_ERROR, "{text}").severity(Severity::Fatal));
        let shown = path.display();
        if !self.group.is_empty() {
            let number = self.group.parse().ok();
            let Some(group) = number.or_else(|| os::process::group_named(&self.group)) else {
                return fatal(format!("group \"{}\" does not exist", self.group));
            };
            if let Err(e) = os::process::set_group(path, group) {
                return fatal(format!("could not set group of file \"{shown}\": {}", reason(&e)));
            }
        }
        match os::process::set_mode(path, self.mode) {
            Ok(()) => Ok(()),
            Err(e) => {
                let why = reason(&e);
                fatal(format!("could not set permissions of file \"{shown}\": {why}"))
            }
        }
    }
}

/// All sockets that are listened to. Dropping it removes the unix ones.
#[derive(Default)]
pub struct Listeners {
    all: Vec<Listener>,
    files: Vec<PathBuf>,
    locks: Vec<LockFile>,
    disk: Option<Disk>,
}

impl Listeners {
    /// Opens TCP sockets on a list of addresses: names, numbers or `*`.
    pub fn open_tcp(&mut self, addresses: &str, port: u16, log: &Log) -> Result<()> {
        let wanted: Vec<&str> =
            addresses.split(',').map(str::trim).filter(|a| !a.is_empty()).collect();
        let mut opened = 0;
        for name in &wanted {
            let hosts: &[&str] = if *name == "*" { &["0.0.0.0", "::"] } else { &[name] };
            for host in hosts {
                let resolved = (*host, port).to_socket_addrs();
                for address in resolved.into_iter().flatten() {
                    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
                    let at = format!("{family} address \"{}\"", address.ip());
                    match TcpListener::bind(address) {
                        Ok(listener) => {
                            let _ = listener.set_nonblocking(true);
                            log.server(&format!("listening on {at}, port {port}"));
                            self.all.push(Listener::Tcp(listener));
                            opened += 1;
                        }
                        Err(e) => log.server(&format!("could not bind {at}: {}", reason(&e))),
                    }
                }
            }
        }
        if opened == 0 && !wanted.is_empty() {
            return Err(
                err!(SYSTEM_ERROR, "could not create any TCP/IP sockets").severity(Severity::Fatal)
            );
        }
        Ok(())
    }

    /// Opens a unix socket in a folder.
    pub fn open_unix(
        &mut self,
        disk: &Disk,
        facts: &Facts<'_>,
        access: &SocketAccess,
        log: &Log,
    ) -> Result<()> {
        let path = Path::new(facts.socket_dir).join(format!(".s.PGSQL.{}", facts.port));
        self.locks.push(LockFile::for_socket(disk, &path, facts)?);
        self.disk = Some(disk.clone());
        // We have the lock, so a socket that is there is nobody's.
        let _ = disk.remove(&path);
        let listener = UnixListener::bind(&path).map_err(|e| {
            err!(SYSTEM_ERROR, "could not bind Unix address \"{}\": {}", path.display(), reason(&e))
                .severity(Severity::Fatal)
        })?;
        self.files.push(path.clone());
        access.apply(&path)?;
        let _ = listener.set_nonblocking(true);
        log.server(&format!("listening on Unix socket \"{}\"", path.display()));
        self.all.push(Listener::Unix(listener));
        Ok(())
    }

    /// True if nothing is listened to.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        if let Some(disk) = &self.disk {
            for path in &self.files {
                let _ = disk.remove(path);
            }
        }
    }
}

fn reason(e: &std::io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// Accepts connections and gives each to the reactor with the fewest.
pub struct Acceptor {
    listeners: Listeners,
    shared: Arc<Shared>,
    reactors: Vec<Arc<Reactor<Conn>>>,
    bell: Bell,
    stopping: AtomicBool,
}

impl Acceptor {
    /// Nothing is accepted until [`Acceptor::run`].
    pub fn new(
        listeners: Listeners,
        shared: Arc<Shared>,
        reactors: Vec<Arc<Reactor<Conn>>>,
    ) -> std::io::Result<Arc<Acceptor>> {
        let (bell, stopping) = (Bell::new()?, AtomicBool::new(false));
        Ok(Arc::new(Acceptor { listeners, shared, reactors, bell, stopping }))
    }

    /// Ends [`Acceptor::run`].
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// Accepts until it is stopped.
    pub fn run(&self) -> std::io::Result<()> {
        let epoll = Epoll::new()?;
        epoll.add(self.bell.as_raw_fd(), u64::MAX, Interest::READ)?;
        for (i, listener) in self.listeners.all.iter().enumerate() {
            let fd = match listener {
                Listener::Tcp(l) => l.as_raw_fd(),
                Listener::Unix(l) => l.as_raw_fd(),
            };
            epoll.add(fd, i as u64, Interest::READ)?;
        }
        let mut events = Events::with_capacity(16);
        while !self.stopping.load(Ordering::SeqCst) {
            epoll.wait(&mut events, None)?;
            for event in events.iter() {
                if let Some(listener) = self.listeners.all.get(event.token as usize) {
                    self.accept_all(listener);
                }
            }
        }
        Ok(())
    }

    fn accept_all(&self, listener: &Listener) {
        loop {
            let accepted = match listener {
                Listener::Tcp(l) => l.accept().map(|(s, a)| (Socket::Tcp(s), Some(a))),
                Listener::Unix(l) => l.accept().map(|(s, _)| (Socket::Unix(s), None)),
            };
            let (socket, address) = match accepted {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == std::io::ErrorKind::ConnectionAborted => continue,
                Err(e) => {
                    self.shared.log.server(&format!("could not accept new connection: {e}"));
                    // Most likely there are no descriptors left; some will be closed.
                    os::thread::sleep(std::time::Duration::from_millis(50));
                    return;
                }
            };
            let ready = match &socket {
                Socket::Tcp(s) => {
                    if let Err(e) = self.shared.keep_alive().apply(s.as_raw_fd()) {
                        self.shared.log.server(&format!("could not set keepalives: {e}"));
                    }
                    s.set_nodelay(true).and_then(|()| s.set_nonblocking(true))
                }
                Socket::Unix(s) => s.set_nonblocking(true),
            };
            let emptiest = self.reactors.iter().enumerate().min_by_key(|(_, r)| r.len());
            let Some((number, reactor)) = emptiest else { return };
            if ready.is_ok() {
                self.begin(reactor, number, socket, address);
            }
        }
    }

    /// Hands a connection to its reactor; with `log_hostname`, when its client's name is known.
    fn begin(
        &self,
        reactor: &Arc<Reactor<Conn>>,
        number: usize,
        socket: Socket,
        address: Option<SocketAddr>,
    ) {
        let Some(client) = address.filter(|_| self.shared.logs_host_names()) else {
            let _ = reactor.add(Conn::new(&self.shared, socket, (address, None), number));
            return;
        };
        // That may take seconds, in which others are to be accepted.
        let (shared, reactor) = (Arc::clone(&self.shared), Arc::clone(reactor));
        let started = os::thread::spawn("name lookup", move || {
            let name = os::process::host_name(client.ip());
            let _ = reactor.add(Conn::new(&shared, socket, (address, name), number));
        });
        if let Err(e) = started {
            self.shared.log.server(&format!("could not look up a client's name: {e}"));
        }
    }
}
