//! What all connections share.

use crate::backend::Backend;
use crate::clients::Clients;
use crate::hba::Hba;
use crate::hba::ident::Ident;
use crate::log::Log;
use crate::tls::Tls;
use base::wait::WaitEvent;
use os::poll::KeepAlive;
use os::sync::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// How far the server has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    /// Not ready yet.
    Starting = 0,
    /// Serving.
    Running = 1,
    /// Takes no new sessions.
    Stopping = 2,
}

/// How many connections there are.
#[derive(Default)]
pub struct Connections {
    open: AtomicUsize,
}

impl Connections {
    /// One more.
    pub fn opened(&self) {
        self.open.fetch_add(1, Ordering::SeqCst);
    }

    /// One less.
    pub fn closed(&self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

/// See the module's text.
pub struct Shared {
    /// The database.
    pub backend: Arc<dyn Backend>,
    /// The log.
    pub log: Arc<Log>,
    /// How many connections there are.
    pub connections: Connections,
    /// Clients that are looked for while their statements run.
    pub clients: Clients,
    state: AtomicU8,
    hba: RwLock<Arc<Hba>>,
    tls: RwLock<Option<Tls>>,
    ident: RwLock<Arc<Ident>>,
    authentication_timeout_ms: AtomicU64,
    keep_alive: RwLock<KeepAlive>,
    /// `pre_auth_delay` and `post_auth_delay`, in seconds.
    auth_delays: [AtomicU64; 2],
    trace_negotiation: AtomicBool,
    log_host_names: AtomicBool,
    /// Makes up secrets of users that have none.
    mock: [u8; 32],
}

impl Shared {
    /// Before the first connection.
    pub fn new(backend: Arc<dyn Backend>, log: Arc<Log>, hba: Hba) -> Arc<Shared> {
        let mut mock = [0; 32];
        os::random::fill(&mut mock);
        Arc::new(Shared {
            backend,
            log,
            connections: Connections::default(),
            clients: Clients::default(),
            state: AtomicU8::new(State::Starting as u8),
            hba: RwLock::new(Arc::new(hba)),
            tls: RwLock::new(None),
            ident: RwLock::default(),
            authentication_timeout_ms: AtomicU64::new(60_000),
            keep_alive: RwLock::default(),
            auth_delays: Default::default(),
            trace_negotiation: AtomicBool::new(false),
            log_host_names: AtomicBool::new(false),
            mock,
        })
    }

    /// How far the server has come.
    pub fn state(&self) -> State {
        match self.state.load(Ordering::SeqCst) {
            0 => State::Starting,
            1 => State::Running,
            _ => State::Stopping,
        }
    }

    /// It has come further.
    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    /// The lines of `pg_hba.conf`.
    pub fn hba(&self) -> Arc<Hba> {
        self.hba.read().clone()
    }

    /// The file was read again.
    pub fn set_hba(&self, hba: Hba) {
        *self.hba.write() = Arc::new(hba);
    }

    /// The lines of `pg_ident.conf`.
    pub fn ident(&self) -> Arc<Ident> {
        self.ident.read().clone()
    }

    /// The file was read again.
    pub fn set_ident(&self, ident: Ident) {
        *self.ident.write() = Arc::new(ident);
    }

    /// How to encrypt connections; None: they are not.
    pub fn tls(&self) -> Option<Tls> {
        self.tls.read().clone()
    }

    /// The certificates were read again.
    pub fn set_tls(&self, tls: Option<Tls>) {
        *self.tls.write() = tls;
    }

    /// `tcp_keepalives_*` and `tcp_user_timeout`, for connections to come.
    pub fn keep_alive(&self) -> KeepAlive {
        *self.keep_alive.read()
    }

    /// Takes over the settings about connections.
    pub fn configure(&self, settings: &engine::settings::Defaults) {
        let number = |name: &str| settings.get(name).map_or(0, |v| v.as_i64());
        let whole = |name: &str| number(name).clamp(0, i64::from(i32::MAX)) as i32;
        let timeout = number("authentication_timeout").max(1) as u64 * 1000;
        self.authentication_timeout_ms.store(timeout, Ordering::Relaxed);
        for (delay, name) in self.auth_delays.iter().zip(["pre_auth_delay", "post_auth_delay"]) {
            delay.store(number(name).max(0) as u64, Ordering::Relaxed);
        }
        let on = |name: &str| settings.get(name).is_some_and(|v| v.as_bool());
        self.trace_negotiation.store(on("trace_connection_negotiation"), Ordering::Relaxed);
        self.log_host_names.store(on("log_hostname"), Ordering::Relaxed);
        *self.keep_alive.write() = KeepAlive {
            idle: whole("tcp_keepalives_idle"),
            interval: whole("tcp_keepalives_interval"),
            count: whole("tcp_keepalives_count"),
            user_timeout: whole("tcp_user_timeout"),
        };
    }

    /// Waits for `pre_auth_delay`, or after it for `post_auth_delay`: time for a debugger.
    pub fn delay_authentication(&self, after: bool) {
        let seconds = self.auth_delays[usize::from(after)].load(Ordering::Relaxed);
        if seconds > 0 {
            // Nobody sees it: there is no session yet.
            let _waiting = os::wait::begin(WaitEvent::ClientRead);
            os::thread::sleep(std::time::Duration::from_secs(seconds));
        }
    }

    /// `trace_connection_negotiation`
    pub fn traces_negotiation(&self) -> bool {
        self.trace_negotiation.load(Ordering::Relaxed)
    }

    /// `log_hostname`
    pub fn logs_host_names(&self) -> bool {
        self.log_host_names.load(Ordering::Relaxed)
    }

    /// `authentication_timeout`
    pub fn authentication_timeout_ms(&self) -> u64 {
        self.authentication_timeout_ms.load(Ordering::Relaxed)
    }

    /// Bytes that are the same for a user name each time, and not to be guessed.
    pub fn mock_secret(&self, user: &str) -> [u8; 32] {
        pgwire::scram::mix(&self.mock, user.as_bytes())
    }
}
