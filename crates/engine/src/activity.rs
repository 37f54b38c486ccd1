//! The sessions of a server and what they are doing: `pg_stat_activity`, cancel requests.

use crate::log::LogWho;
use crate::stats::session::Figures;
use base::Oid;
use base::memory::Account;
use base::progress::{self, Command, Progress};
use os::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use txn::Interrupts;

/// What a session is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SessionState {
    /// Waiting for a statement.
    #[default]
    Idle,
    /// Running one.
    Active,
    /// Waiting for a statement, with a transaction open.
    IdleInTransaction,
    /// The same, with a failed transaction.
    IdleInFailedTransaction,
    /// Not shown: `track_activities` is off.
    Disabled,
}

impl SessionState {
    /// As `pg_stat_activity.state` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            SessionState::Idle => "idle",
            SessionState::Active => "active",
            SessionState::IdleInTransaction => "idle in transaction",
            SessionState::IdleInFailedTransaction => "idle in transaction (aborted)",
            SessionState::Disabled => "disabled",
        }
    }
}

/// How a connection is encrypted.
#[derive(Clone, Debug, Default)]
pub struct SslInfo {
    /// `TLSv1.3`
    pub version: String,
    /// The cipher's name.
    pub cipher: String,
    /// Bits of its key.
    pub bits: i32,
    /// The client's certificate: distinguished name, serial number, issuer.
    pub client: Option<(String, String, String)>,
}

/// One session, as others may see it.
#[derive(Clone, Debug, Default)]
pub struct SessionInfo {
    /// The number clients know it by.
    pub pid: i32,
    /// Its database.
    pub database: Oid,
    /// Its user.
    pub user: Oid,
    /// For a parallel worker: the session that it works for.
    pub leader: Option<i32>,
    /// A process of the server.
    pub background: bool,
    /// `application_name`
    pub application_name: String,
    /// Address of the client, if it came by network.
    pub client_addr: Option<String>,
    /// The name of that address, with `log_hostname`.
    pub client_hostname: Option<String>,
    /// Its port there.
    pub client_port: Option<i32>,
    /// Address and port of the server, as the client reached them.
    pub server_address: Option<(String, i32)>,
    /// How its connection is encrypted.
    pub ssl: Option<SslInfo>,
    /// When it began, in microseconds since 1970.
    pub backend_start: i64,
    /// When its transaction began, or 0.
    pub xact_start: i64,
    /// When its statement began, or 0.
    pub query_start: i64,
    /// When `state` changed.
    pub state_change: i64,
    /// Its transaction id, if it has one.
    pub xid: Option<u64>,
    /// The oldest transaction its snapshot may see running.
    pub xmin: Option<u64>,
    /// The thread that runs its statement, as `os::wait` numbers them.
    pub thread: u32,
    /// What it waits for without a thread.
    pub parked: Option<base::wait::WaitEvent>,
    /// What it is doing.
    pub state: SessionState,
    /// The statement, or the last one.
    pub query: String,
    /// The number of queries like it; 0: not computed.
    pub query_id: i64,
    /// What the log says of the parameters that it is run with.
    pub parameters: Option<Box<str>>,
    /// `log_lock_waits`
    pub log_lock_waits: bool,
}

/// Most bytes of a statement that are shown, with the end mark that C has.
static QUERY_SIZE: AtomicUsize = AtomicUsize::new(1024);

/// `track_activity_query_size`
pub(crate) fn set_query_size(bytes: i64) {
    QUERY_SIZE.store(usize::try_from(bytes).unwrap_or(1024).max(100), Ordering::Relaxed);
}

/// Most bytes of a statement that are shown.
pub(crate) fn query_size() -> usize {
    QUERY_SIZE.load(Ordering::Relaxed) - 1
}

struct Entry {
    info: Mutex<SessionInfo>,
    interrupts: Arc<Interrupts>,
    memory: Arc<Account>,
    who: Option<Arc<LogWho>>,
    cancel_key: Vec<u8>,
    /// How much of it the client was told.
    key_length: AtomicUsize,
    /// How far its long command is.
    progress: Mutex<Option<Arc<Progress>>>,
    /// What it has read and written.
    figures: Mutex<Option<Box<Figures>>>,
}

/// A session's place among all; it is given back when dropped.
pub struct Place {
    activity: Arc<Inner>,
    entry: Arc<Entry>,
    pid: i32,
}

#[derive(Default)]
struct Inner {
    sessions: Mutex<BTreeMap<i32, Arc<Entry>>>,
    next: Mutex<i32>,
}

/// All sessions.
#[derive(Clone, Default)]
pub struct Activity {
    inner: Arc<Inner>,
}

impl Activity {
    /// A number that no session has.
    pub fn new_pid(&self) -> i32 {
        let sessions = self.inner.sessions.lock();
        let mut next = self.inner.next.lock();
        loop {
            *next = if *next >= 4_000_000 || *next < 1000 { 1000 } else { *next + 1 };
            if !sessions.contains_key(&next) {
                return *next;
            }
        }
    }

    /// Enters a session.
    pub fn enter(
        &self,
        info: SessionInfo,
        interrupts: Arc<Interrupts>,
        memory: Arc<Account>,
        who: Option<Arc<LogWho>>,
    ) -> Place {
        let pid = info.pid;
        let mut cancel_key = vec![0; 32];
        os::random::fill(&mut cancel_key);
        let entry = Arc::new(Entry {
            info: Mutex::new(info),
            interrupts,
            memory,
            who,
            key_length: AtomicUsize::new(cancel_key.len()),
            cancel_key,
            progress: Mutex::new(None),
            figures: Mutex::new(None),
        });
        self.inner.sessions.lock().insert(pid, entry.clone());
        Place { activity: self.inner.clone(), entry, pid }
    }

    /// All sessions as they are now.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.inner.sessions.lock().values().map(|e| e.info.lock().clone()).collect()
    }

    /// Looks at all sessions, one after the other.
    pub(crate) fn each(&self, mut look: impl FnMut(&SessionInfo)) {
        self.inner.sessions.lock().values().for_each(|e| look(&e.info.lock()));
    }

    /// One session as it is now, and how the log knows it.
    pub(crate) fn session(&self, pid: i32) -> Option<(SessionInfo, Option<Arc<LogWho>>)> {
        self.find(pid).map(|e| (e.info.lock().clone(), e.who.clone()))
    }

    /// Says that a session runs a long command on this thread, until the result is dropped.
    /// None if it tells how far it is already.
    pub(crate) fn progress(&self, pid: i32, command: Command, relation: Oid) -> Option<Telling> {
        if progress::is_told() {
            return None;
        }
        let entry = self.find(pid)?;
        let figures = Progress::new(command, relation.0);
        *entry.progress.lock() = Some(Arc::clone(&figures));
        progress::begin(figures);
        Some(Telling(entry))
    }

    /// The sessions that run such a command: number, database, how far they are.
    pub(crate) fn progress_of(&self, command: Command) -> Vec<(i32, Oid, Arc<Progress>)> {
        let sessions = self.inner.sessions.lock();
        let told = |(pid, entry): (&i32, &Arc<Entry>)| {
            let figures = entry.progress.lock().clone()?;
            (figures.command == command).then(|| (*pid, entry.info.lock().database, figures))
        };
        sessions.iter().filter_map(told).collect()
    }

    /// What a session has read and written; none if it is not there.
    pub(crate) fn figures(&self, pid: i32) -> Option<Box<Figures>> {
        self.find(pid).map(|e| e.figures.lock().clone().unwrap_or_default())
    }

    /// Forgets what a session has read and written.
    pub(crate) fn reset_figures(&self, pid: i32, now: i64) {
        if let Some(entry) = self.find(pid) {
            let none = Figures { reset: now, ..Figures::default() };
            *entry.figures.lock() = Some(Box::new(none));
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.inner.sessions.lock().len()
    }

    /// How many of them are clients'.
    pub fn clients(&self) -> usize {
        let sessions = self.inner.sessions.lock();
        sessions.values().filter(|e| !e.info.lock().background).count()
    }

    /// How many are in a database.
    pub fn count_in(&self, database: Oid) -> usize {
        let sessions = self.inner.sessions.lock();
        sessions.values().filter(|e| e.info.lock().database == database).count()
    }

    fn find(&self, pid: i32) -> Option<Arc<Entry>> {
        self.inner.sessions.lock().get(&pid).cloned()
    }

    /// A cancel request from the network: the key has to be right.
    pub fn cancel_with_key(&self, pid: i32, key: &[u8]) {
        if let Some(entry) = self.find(pid) {
            let length = entry.key_length.load(Ordering::Relaxed);
            let own = &entry.cancel_key[..length.min(entry.cancel_key.len())];
            // How much of a wrong key is right must not be told by how long this takes.
            let differ = own.iter().zip(key).fold(0, |bits, (a, b)| bits | (a ^ b));
            if own.len() == key.len() && differ == 0 {
                entry.interrupts.cancel();
            }
        }
    }

    /// `pg_cancel_backend`: false if there is no such session.
    pub fn cancel(&self, pid: i32) -> bool {
        let found = self.find(pid);
        if let Some(entry) = &found {
            entry.interrupts.cancel();
        }
        found.is_some()
    }

    /// `pg_terminate_backend`: false if there is no such session.
    pub fn terminate(&self, pid: i32) -> bool {
        let found = self.find(pid);
        if let Some(entry) = &found {
            entry.interrupts.terminate();
        }
        found.is_some()
    }

    /// Asks all sessions that run a statement how much memory they hold; the answers come with
    /// their next look at their interrupts.
    pub(crate) fn ask_memory(&self) {
        for entry in self.inner.sessions.lock().values() {
            entry.interrupts.ask_memory();
        }
    }

    /// How much memory a session holds, as far as it is known; None if there is no such session.
    pub(crate) fn memory_of(&self, pid: i32) -> Option<usize> {
        self.find(pid).map(|e| e.memory.used().max(e.interrupts.memory()))
    }

    /// The session that holds the most memory, as far as they have answered.
    pub(crate) fn largest(&self) -> Option<(usize, Arc<Interrupts>)> {
        let sessions = self.inner.sessions.lock();
        let size = |e: &Arc<Entry>| e.memory.used().max(e.interrupts.memory());
        let largest = sessions.values().max_by_key(|e| size(e))?;
        Some((size(largest), largest.interrupts.clone()))
    }

    /// Ends all sessions.
    pub fn terminate_all(&self) {
        for entry in self.inner.sessions.lock().values() {
            entry.interrupts.terminate();
        }
    }
}

/// A command that tells how far it is.
pub(crate) struct Telling(Arc<Entry>);

impl Drop for Telling {
    fn drop(&mut self) {
        progress::end();
        *self.0.progress.lock() = None;
    }
}

impl Place {
    /// The session's number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The secret that a cancel request has to bring.
    pub fn cancel_key(&self) -> &[u8] {
        &self.entry.cancel_key
    }

    /// How much of it the client is told.
    pub fn set_cancel_key_length(&self, bytes: usize) {
        self.entry.key_length.store(bytes, Ordering::Relaxed);
    }

    /// The statement that is being run.
    pub fn running(&self) -> Option<String> {
        let info = self.entry.info.lock();
        (info.state == SessionState::Active).then(|| info.query.clone())
    }

    /// True for a process of the server.
    pub fn is_background(&self) -> bool {
        self.entry.info.lock().background
    }

    /// The number of queries like the one that is run.
    pub fn query_id(&self) -> i64 {
        self.entry.info.lock().query_id
    }

    /// Adds what the session has read and written.
    pub(crate) fn add_figures(&self, add: impl FnOnce(&mut Figures)) {
        add(self.entry.figures.lock().get_or_insert_default());
    }

    /// Changes what others see.
    pub fn update(&self, change: impl FnOnce(&mut SessionInfo)) {
        change(&mut self.entry.info.lock());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.activity.sessions.lock().remove(&self.pid);
    }
}
