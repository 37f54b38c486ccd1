//! This process and others, as the server's programs need them.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Signal numbers that the programs use.
pub mod signal {
    /// Reload the configuration.
    pub const HUP: i32 = libc::SIGHUP;
    /// Fast shutdown; cancel.
    pub const INT: i32 = libc::SIGINT;
    /// Immediate shutdown.
    pub const QUIT: i32 = libc::SIGQUIT;
    /// Smart shutdown.
    pub const TERM: i32 = libc::SIGTERM;
    /// Promotion.
    pub const USR1: i32 = libc::SIGUSR1;
    /// A write to a closed connection.
    pub const PIPE: i32 = libc::SIGPIPE;
}

/// Number of this process.
pub fn id() -> i32 {
    std::process::id() as i32
}

/// Number of the process that started this one.
pub fn parent_id() -> i32 {
    std::os::unix::process::parent_id() as i32
}

/// True if this process runs as root.
pub fn is_root() -> bool {
    // SAFETY: takes nothing and touches no memory.
    unsafe { libc::geteuid() == 0 }
}

/// Name of the user that this process runs as.
pub fn user_name() -> Option<String> {
    // SAFETY: takes nothing and touches no memory.
    let uid = unsafe { libc::geteuid() };
    let all = std::fs::read_to_string("/etc/passwd").ok()?;
    all.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_string())
    })
}

/// The user id of the other end of a unix socket.
pub fn peer_user(fd: RawFd) -> Option<u32> {
    let mut cred = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both pointers are to locals that live during the call.
    let ok = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut cred).cast(), &mut len)
    };
    (ok == 0).then_some(cred.uid)
}

/// Name of a user by number.
pub fn name_of_user(uid: u32) -> Option<String> {
    let all = std::fs::read_to_string("/etc/passwd").ok()?;
    all.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_string())
    })
}

/// The number of a group by its name.
pub fn group_named(name: &str) -> Option<u32> {
    let all = std::fs::read_to_string("/etc/group").ok()?;
    all.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    })
}

/// Gives a file to a group.
pub fn set_group(path: &Path, group: u32) -> io::Result<()> {
    std::os::unix::fs::chown(path, None, Some(group))
}

/// Sends a signal; 0 only asks whether the process is there.
pub fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: takes no pointers.
    if unsafe { libc::kill(pid, signal) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// True if a process of this number exists.
pub fn exists(pid: i32) -> bool {
    match kill(pid, 0) {
        Ok(()) => !is_zombie(pid),
        Err(e) => e.raw_os_error() == Some(libc::EPERM),
    }
}

fn is_zombie(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|s| s.starts_with('Z'))
}

/// Lets writes to closed connections fail instead of ending the process.
pub fn ignore_broken_pipes() {
    // SAFETY: SIG_IGN is a valid disposition.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Sets which permissions new files do not get; gives the old mask.
pub fn set_umask(mask: u32) -> u32 {
    // SAFETY: takes no pointers.
    unsafe { libc::umask(mask) }
}

/// What a thread has used since it began; times are in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// When this was found out.
    pub at: i64,
    /// In its own code.
    pub user: i64,
    /// In the kernel's.
    pub system: i64,
    /// Most memory of the process, in kilobytes.
    pub resident_kb: i64,
    /// Blocks read by file systems.
    pub blocks_in: i64,
    /// Blocks written.
    pub blocks_out: i64,
    /// Page faults that needed a disk.
    pub faults: i64,
    /// Those that did not.
    pub reclaims: i64,
    /// Times it gave the processor back.
    pub waits: i64,
    /// Times it lost it.
    pub turns: i64,
}

/// What this thread has used.
pub fn thread_usage() -> Usage {
    // SAFETY: the struct is made of numbers, for which zero is a value.
    let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the struct lives during the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut raw) };
    let micros = |t: libc::timeval| t.tv_sec * 1_000_000 + t.tv_usec;
    Usage {
        at: (crate::clock::monotonic_nanos() / 1000) as i64,
        user: micros(raw.ru_utime),
        system: micros(raw.ru_stime),
        resident_kb: raw.ru_maxrss,
        blocks_in: raw.ru_inblock,
        blocks_out: raw.ru_oublock,
        faults: raw.ru_majflt,
        reclaims: raw.ru_minflt,
        waits: raw.ru_nvcsw,
        turns: raw.ru_nivcsw,
    }
}

/// Facts about a file; times are in microseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileFacts {
    /// Bytes.
    pub size: u64,
    /// A folder.
    pub is_dir: bool,
    /// An ordinary file.
    pub is_file: bool,
    /// Read last.
    pub accessed: i64,
    /// Written last.
    pub modified: i64,
    /// Its attributes changed last.
    pub changed: i64,
}

/// What there is to know about a file.
pub fn file_facts(path: &Path) -> io::Result<FileFacts> {
    use std::os::unix::fs::MetadataExt;
    let about = std::fs::metadata(path)?;
    let second = |n: i64| n * 1_000_000;
    Ok(FileFacts {
        size: about.size(),
        is_dir: about.is_dir(),
        is_file: about.is_file(),
        accessed: second(about.atime()),
        modified: second(about.mtime()),
        changed: second(about.ctime()),
    })
}

/// Names of what is in a folder.
pub fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let name = |e: io::Result<std::fs::DirEntry>| Ok(e?.file_name().to_string_lossy().into_owned());
    std::fs::read_dir(folder)?.map(name).collect()
}

/// A file's bytes, or a part of them: from where (from the end, if that is less than nothing), and
/// how many at most.
pub fn read_part(path: &Path, part: Option<(i64, i64)>) -> io::Result<Vec<u8>> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = File::open(path)?;
    let mut out = Vec::new();
    match part {
        None => file.read_to_end(&mut out)?,
        Some((from, most)) => {
            let at = match u64::try_from(from) {
                Ok(from) => SeekFrom::Start(from),
                Err(_) => SeekFrom::End(from),
            };
            file.seek(at)?;
            file.take(most.max(0) as u64).read_to_end(&mut out)?
        }
    };
    Ok(out)
}

/// Permission bits and owner of a file.
pub fn mode_and_owner(path: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let about = std::fs::metadata(path).ok()?;
    Some((about.mode(), about.uid()))
}

/// Sets the permission bits of a file.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// A file's permissions.
pub fn mode(path: &Path) -> io::Result<u32> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::metadata(path)?.permissions().mode() & 0o7777)
}

/// Most descriptors this process may have open; raised to what is allowed.
pub fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct lives during the calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return 1024;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
    limit.rlim_cur
}

/// Starts a program in a session of its own, so that it outlives the terminal; its output is
/// appended to `log`, or goes where this program's goes. Gives its process number.
pub fn start_detached<S: AsRef<OsStr>>(
    program: &Path,
    args: &[S],
    log: Option<&Path>,
) -> io::Result<std::process::Child> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    if let Some(log) = log {
        let file = File::options().create(true).append(true).open(log)?;
        command.stdout(file.try_clone()?).stderr(file);
    }
    // SAFETY: setsid is async-signal-safe, and nothing else happens between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    command.spawn()
}

/// Lets this process, and those that it starts, leave a file when they crash, as far as the system
/// permits; false if it does not permit any.
pub fn allow_core_files() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only read or write the value they are given.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_CORE, &raw mut limit) != 0 || limit.rlim_max == 0 {
            return false;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) == 0
    }
}

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By a signal: its number and what it means.
    Signal(i32, &'static str),
}

/// Shows this text where `ps` shows the command line, cut to the room that there is: that of the
/// arguments and the environment. For the start of a program, before there are other threads.
pub fn set_title(title: &str) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in parentheses, may have spaces in it.
    let fields = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let addresses: Vec<usize> =
        fields.split_whitespace().map(|f| f.parse().unwrap_or(0)).skip(45).take(4).collect();
    let [start, end, _, last] = addresses[..] else { return };
    if start == 0 || end <= start || last < end {
        return;
    }
    for (name, value) in std::env::vars_os() {
        // SAFETY: there is one thread. The C library makes copies, so that nothing points to what
        // is overwritten below.
        unsafe { std::env::set_var(name, value) };
    }
    let mut bytes: Vec<u8> = title.bytes().filter(|b| *b != 0).take(last - start - 1).collect();
    // The kernel reads on into the environment if the last byte of the arguments is not 0.
    bytes.resize(bytes.len().max(end - start - 1) + 1, 0);
    // SAFETY: the kernel has put arguments and environment side by side there, on the first
    // thread's stack, and there are as many bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start as *mut u8, bytes.len()) };
}

/// The name that an address has in the network; none if it has none.
pub fn host_name(address: std::net::IpAddr) -> Option<String> {
    let mut name = [0u8; 1025];
    // SAFETY: the structures are plain numbers, for which zeros are valid; those that are filled in
    // live through the calls, and the lengths are theirs.
    let failed = unsafe {
        let at = |socket: *const libc::sockaddr, len: usize, name: &mut [u8]| {
            let (len, room) = (len as libc::socklen_t, name.len() as libc::socklen_t);
            let to = name.as_mut_ptr().cast();
            libc::getnameinfo(socket, len, to, room, std::ptr::null_mut(), 0, libc::NI_NAMEREQD)
        };
        match address {
            std::net::IpAddr::V4(ip) => {
                let mut socket: libc::sockaddr_in = std::mem::zeroed();
                socket.sin_family = libc::AF_INET as libc::sa_family_t;
                socket.sin_addr.s_addr = ip.to_bits().to_be();
                at((&raw const socket).cast(), size_of_val(&socket), &mut name)
            }
            std::net::IpAddr::V6(ip) => {
                let mut socket: libc::sockaddr_in6 = std::mem::zeroed();
                socket.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                socket.sin6_addr.s6_addr = ip.octets();
                at((&raw const socket).cast(), size_of_val(&socket), &mut name)
            }
        }
    };
    let text = name.split(|b| *b == 0).next().unwrap_or_default();
    (failed == 0).then(|| String::from_utf8_lossy(text).into_owned())
}

/// Runs a shell command and gives what it writes to its output.
pub fn shell_output(command: &str) -> io::Result<(Ended, Vec<u8>)> {
    let mut shell = Command::new("/bin/sh");
    let output = shell.arg("-c").arg(command).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = output.output()?;
    Ok((ended(output.status), output.stdout))
}

/// Runs a shell command in a folder and waits for it. Its output goes where this program's goes.
pub fn run_shell(command: &str, folder: &Path) -> io::Result<Ended> {
    let mut shell = Command::new("/bin/sh");
    let status = shell.arg("-c").arg(command).current_dir(folder).stdin(Stdio::null()).status()?;
    Ok(ended(status))
}

fn ended(status: std::process::ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(n)) => Ended::Signal(n, signal_meaning(n)),
        (None, None) => Ended::Code(-1),
    }
}

fn signal_meaning(number: i32) -> &'static str {
    match number {
        libc::SIGHUP => "Hangup",
        libc::SIGINT => "Interrupt",
        libc::SIGQUIT => "Quit",
        libc::SIGABRT => "Aborted",
        libc::SIGKILL => "Killed",
        libc::SIGSEGV => "Segmentation fault",
        libc::SIGPIPE => "Broken pipe",
        libc::SIGTERM => "Terminated",
        _ => "unrecognized signal",
    }
}

/// True if the descriptor is a terminal.
pub fn is_terminal(fd: &impl AsRawFd) -> bool {
    // SAFETY: takes no pointers.
    unsafe { libc::isatty(fd.as_raw_fd()) == 1 }
}

/// Addresses of this machine with their masks.
pub fn interfaces() -> Vec<(std::net::IpAddr, std::net::IpAddr)> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call fills in a list that is read below and given back with freeifaddrs.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: the pointer is an element of the list, which is not given back before the end.
        let one = unsafe { &*next };
        // SAFETY: as above; addresses are null or point to what their family says.
        let pair = unsafe { (socket_ip(one.ifa_addr), socket_ip(one.ifa_netmask)) };
        if let (Some(ip), Some(mask)) = pair {
            out.push((ip, mask));
        }
        next = one.ifa_next;
    }
    // SAFETY: the list came from getifaddrs and is not used any more.
    unsafe { libc::freeifaddrs(list) };
    out
}

/// SAFETY: `at` is null or points to a socket address as large as its family says.
unsafe fn socket_ip(at: *const libc::sockaddr) -> Option<std::net::IpAddr> {
    if at.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    match i32::from(unsafe { (*at).sa_family }) {
        libc::AF_INET => {
            // SAFETY: the family says that it is this large.
            let four = unsafe { &*at.cast::<libc::sockaddr_in>() };
            Some(std::net::Ipv4Addr::from_bits(u32::from_be(four.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is this large.
            let six = unsafe { &*at.cast::<libc::sockaddr_in6>() };
            Some(std::net::Ipv6Addr::from(six.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// True if the other end of a socket is gone.
pub fn is_hung_up(fd: std::os::fd::RawFd) -> bool {
    let mut one = libc::pollfd { fd, events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: one entry, which lives through the call; no waiting.
    let n = unsafe { libc::poll(&mut one, 1, 0) };
    n > 0 && one.revents & (libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR) != 0
}

/// Has files and folders made from now on as the data directory is: for the owner alone, or for
/// its group to read. True if the group may read.
pub fn follow_mode_of(data: &Path) -> bool {
    let group_reads = mode(data).is_ok_and(|mode| mode & 0o050 == 0o050);
    set_umask(if group_reads { 0o027 } else { 0o077 });
    group_reads
}

/// Asks the user for a line.
pub fn read_line(prompt: &str) -> String {
    use std::io::Write;
    print!("{prompt}");
    let _ = io::stdout().flush();
    let mut line = String::new();
    let _ = io::stdin().read_line(&mut line);
    line.trim_end_matches(['\n', '\r']).to_string()
}

/// Asks the user for a password, which is not shown while it is typed.
pub fn read_password(prompt: &str) -> Option<String> {
    use std::io::{BufRead, Write};
    use std::os::fd::AsRawFd;
    let opened = std::fs::OpenOptions::new().read(true).write(true).open("/dev/tty");
    let Ok(mut terminal) = opened else { return Some(read_line(prompt)) };
    let fd = terminal.as_raw_fd();
    let _ = terminal.write_all(prompt.as_bytes());
    // SAFETY: a structure of plain numbers, for which zeros are valid.
    let mut before: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and the structure lives through the call.
    let known = unsafe { libc::tcgetattr(fd, &mut before) } == 0;
    if known {
        let mut silent = before;
        silent.c_lflag &= !libc::ECHO;
        // SAFETY: as above.
        unsafe { libc::tcsetattr(fd, libc::TCSAFLUSH, &silent) };
    }
    let mut line = String::new();
    let read = io::BufReader::new(&terminal).read_line(&mut line);
    if known {
        // SAFETY: as above.
        unsafe { libc::tcsetattr(fd, libc::TCSAFLUSH, &before) };
    }
    let _ = terminal.write_all(b"\n");
    read.ok()?;
    Some(line.trim_end_matches(['\n', '\r']).to_string())
}

/// Programs that write into a pipe end quietly when nobody reads it.
pub fn end_on_broken_pipes() {
    // SAFETY: restores the default action; no handler of ours runs.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}
