//! Waiting for many descriptors at once, for signals, and waking who waits. Linux only. There is no
//! simulated twin: sockets are outside of what the simulator covers.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn owned(fd: libc::c_int) -> io::Result<OwnedFd> {
    let fd = check(fd)?;
    // SAFETY: the call that gave it just made this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// What to wait for, and what was found, of one descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Interest {
    /// Bytes can be read, or the other side has closed.
    pub read: bool,
    /// Bytes can be written.
    pub write: bool,
}

impl Interest {
    /// Nothing; errors and hang-ups are reported all the same.
    pub const NONE: Interest = Interest { read: false, write: false };
    /// Reading.
    pub const READ: Interest = Interest { read: true, write: false };
    /// Writing.
    pub const WRITE: Interest = Interest { read: false, write: true };

    fn bits(self) -> u32 {
        let mut bits = 0;
        if self.read {
            bits |= libc::EPOLLIN | libc::EPOLLRDHUP;
        }
        if self.write {
            bits |= libc::EPOLLOUT;
        }
        bits as u32
    }
}

/// Something happened to the descriptor with this token.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What [`Epoll::add`] was told.
    pub token: u64,
    /// It can be read, or is broken.
    pub read: bool,
    /// It can be written, or is broken.
    pub write: bool,
}

/// A set of descriptors to wait for. Level-triggered.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

/// Room for the events of one wait.
pub struct Events(Vec<libc::epoll_event>, usize);

impl Events {
    /// Room for `n` events.
    pub fn with_capacity(n: usize) -> Events {
        Events(vec![libc::epoll_event { events: 0, u64: 0 }; n.max(1)], 0)
    }

    /// The events of the last wait.
    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        const BROKEN: u32 = (libc::EPOLLERR | libc::EPOLLHUP) as u32;
        self.0[..self.1].iter().map(|e| {
            let bits = e.events;
            Event {
                token: e.u64,
                read: bits & (libc::EPOLLIN as u32 | libc::EPOLLRDHUP as u32 | BROKEN) != 0,
                write: bits & (libc::EPOLLOUT as u32 | BROKEN) != 0,
            }
        })
    }
}

impl Epoll {
    /// An empty set.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: takes no pointers.
        owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Epoll)
    }

    fn control(&self, op: libc::c_int, fd: RawFd, token: u64, want: Interest) -> io::Result<()> {
        let mut event = libc::epoll_event { events: want.bits(), u64: token };
        // SAFETY: the event lives during the call.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), op, fd, &mut event) }).map(drop)
    }

    /// Adds a descriptor.
    pub fn add(&self, fd: RawFd, token: u64, want: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, want)
    }

    /// Changes what is waited for.
    pub fn modify(&self, fd: RawFd, token: u64, want: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, want)
    }

    /// Takes a descriptor out. Closing it does the same.
    pub fn remove(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest::NONE)
    }

    /// Waits until something happens, or for `timeout`. A signal ends the wait without events.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        let ms = timeout.map_or(-1, |t| t.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32);
        let room = events.0.len() as i32;
        // SAFETY: the kernel writes at most `room` events to the vector, which has that many.
        let n = unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.0.as_mut_ptr(), room, ms) };
        events.1 = match check(n) {
            Ok(n) => n as usize,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
            Err(e) => {
                events.1 = 0;
                return Err(e);
            }
        };
        Ok(())
    }
}

/// When a TCP connection on which nothing comes is given up; 0 is the system's default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KeepAlive {
    /// Seconds without a word before the first probe.
    pub idle: i32,
    /// Seconds between probes.
    pub interval: i32,
    /// Probes that may be lost.
    pub count: i32,
    /// Milliseconds that what was sent may stay unacknowledged.
    pub user_timeout: i32,
}

impl KeepAlive {
    /// Applies it to a TCP socket.
    pub fn apply(&self, fd: RawFd) -> io::Result<()> {
        set_option(fd, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
        for (name, value) in [
            (libc::TCP_KEEPIDLE, self.idle),
            (libc::TCP_KEEPINTVL, self.interval),
            (libc::TCP_KEEPCNT, self.count),
            (libc::TCP_USER_TIMEOUT, self.user_timeout),
        ] {
            if value > 0 {
                set_option(fd, libc::IPPROTO_TCP, name, value)?;
            }
        }
        Ok(())
    }
}

fn set_option(fd: RawFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: reads one int, a local that lives during the call.
    let result = unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), len) };
    check(result).map(drop)
}

/// A descriptor that becomes readable when somebody rings.
#[derive(Debug)]
pub struct Bell(OwnedFd);

impl Bell {
    /// A silent bell.
    pub fn new() -> io::Result<Bell> {
        // SAFETY: takes no pointers.
        owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }).map(Bell)
    }

    /// Makes it readable. Never blocks.
    pub fn ring(&self) {
        let one = 1u64;
        // SAFETY: writes the 8 bytes of a local.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Makes it silent.
    pub fn silence(&self) {
        let mut n = 0u64;
        // SAFETY: reads 8 bytes into a local.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut n).cast(), 8) };
    }
}

impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits until one descriptor can be read or written; false after `timeout`.
pub fn wait_one(fd: RawFd, want: Interest, timeout: Option<Duration>) -> io::Result<bool> {
    let mut events = 0;
    if want.read {
        events |= libc::POLLIN | libc::POLLRDHUP;
    }
    if want.write {
        events |= libc::POLLOUT;
    }
    let mut p = libc::pollfd { fd, events, revents: 0 };
    let ms = timeout.map_or(-1, |t| t.as_millis().min(i32::MAX as u128) as i32);
    // SAFETY: one pollfd that lives during the call.
    match check(unsafe { libc::poll(&mut p, 1, ms) }) {
        Ok(n) => Ok(n > 0),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(e) => Err(e),
    }
}

/// True if nothing can be sent on this socket any more.
pub fn is_broken(fd: RawFd) -> bool {
    let mut p = libc::pollfd { fd, events: 0, revents: 0 };
    // SAFETY: one pollfd that lives during the call.
    let n = unsafe { libc::poll(&mut p, 1, 0) };
    n > 0 && p.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0
}

/// Signals as a descriptor. They must be blocked before any thread is started.
#[derive(Debug)]
pub struct Signals(OwnedFd);

impl Signals {
    /// Blocks these signals in this thread and those it starts; they can be read from now on.
    pub fn block(numbers: &[i32]) -> io::Result<Signals> {
        // SAFETY: the set is made by sigemptyset before it is used, and lives during the calls.
        let fd = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            for n in numbers {
                libc::sigaddset(&mut set, *n);
            }
            check(libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC)
        };
        owned(fd).map(Signals)
    }

    /// Waits for the next signal, but not longer than `timeout`.
    pub fn wait_for(&self, timeout: Duration) -> io::Result<Option<i32>> {
        match wait_one(self.0.as_raw_fd(), Interest::READ, Some(timeout))? {
            true => self.wait().map(Some),
            false => Ok(None),
        }
    }

    /// Waits for the next signal.
    pub fn wait(&self) -> io::Result<i32> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut info = [0u8; SIZE];
        loop {
            // SAFETY: reads at most SIZE bytes into a local of that size.
            let n = unsafe { libc::read(self.0.as_raw_fd(), info.as_mut_ptr().cast(), SIZE) };
            if n == SIZE as isize {
                return Ok(i32::from_ne_bytes([info[0], info[1], info[2], info[3]]));
            }
            let e = io::Error::last_os_error();
            if e.kind() != io::ErrorKind::Interrupted {
                return Err(e);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_wakes_a_wait() {
        let (epoll, bell) = (Epoll::new().unwrap(), Bell::new().unwrap());
        epoll.add(bell.as_raw_fd(), 42, Interest::READ).unwrap();
        let mut events = Events::with_capacity(4);
        epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.iter().count(), 0);
        bell.ring();
        bell.ring();
        epoll.wait(&mut events, None).unwrap();
        let e = events.iter().next().unwrap();
        assert_eq!((e.token, e.read), (42, true));
        bell.silence();
        epoll.wait(&mut events, Some(Duration::ZERO)).unwrap();
        assert_eq!(events.iter().count(), 0);
    }
}
