//! The reactor: a set of connections of which one thread at a time serves those that are ready.
//!
//! A thread *owns* a reactor while it waits for events and runs what they ask for. A statement runs
//! right on the owner. When it is about to block (the `os::wait` seam) or has run for too long (the
//! watcher), the reactor is taken away from it and given to a spare thread; the statement goes on
//! as *detached*, and its connection comes back to the reactor when it is done. README.md has the
//! protocol of that hand-over.

mod doorbell;
mod slab;
mod spare;
mod watch;

pub use spare::Crew;

use self::doorbell::Doorbell;
use self::slab::Slab;
use base::Lsn;
use os::poll::{Epoll, Event, Events, Interest};
use os::sync::Mutex;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often connections look at their time limits, and how often if limits are in use.
const SLOW_TICK: Duration = Duration::from_secs(1);
const FAST_TICK: Duration = Duration::from_millis(50);

/// What a connection waits for after it was served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// More bytes from the client.
    Read,
    /// Room for bytes to the client (and more bytes from it).
    Write,
    /// The log being durable up to here; then [`Peer::release`].
    Gate(Lsn),
    /// Being woken by the waker that [`Peer::parked`] was given; then [`Peer::resume`]. Its socket
    /// need not be looked at, but may be if it is now: few clients send anything meanwhile.
    Park,
    /// The same, but bytes have come that it cannot use yet.
    ParkDeaf,
    /// Nothing: it is over.
    Close,
}

/// A connection, as the reactor sees it.
pub trait Peer: Send + 'static {
    /// Its socket.
    fn fd(&self) -> RawFd;
    /// Its socket is ready.
    fn ready(&mut self, read: bool, write: bool) -> Next;
    /// What it waited for is durable up to here.
    fn release(&mut self, flushed: Lsn) -> Next;
    /// It has answered [`Next::Park`], and is to keep the waker if it has none. True if it was
    /// woken before it had one.
    fn parked(&mut self, waker: &dyn Fn() -> Waker) -> bool {
        let _ = waker;
        true
    }
    /// It was parked, and was woken, or may have been.
    fn resume(&mut self) -> Next {
        self.tick()
    }
    /// Called about once a second, for time limits.
    fn tick(&mut self) -> Next;
    /// It is going to be served when this many others, at most [`APPROACH`], have been: what it
    /// will need may be fetched into the processor's cache, each time one step further from the
    /// connection itself, which is fetched when that many are before it.
    fn approach(&self, others: usize) {
        let _ = others;
    }
    /// True if that has to be often.
    fn ticks_fast() -> bool {
        false
    }
}

/// The log, as gates need it.
pub trait Flushes: Send + Sync {
    /// It is durable up to here.
    fn flushed(&self) -> Lsn;
    /// Somebody waits for this position.
    fn request(&self, lsn: Lsn);
    /// Makes it durable up to here on this thread, if that is known to be quick; otherwise as
    /// [`Flushes::request`].
    fn flush_if_quick(&self, lsn: Lsn);
}

/// Wakes a parked connection. Never blocks.
pub type Waker = Box<dyn Fn() + Send + Sync>;

/// How many services before its own a connection begins to be fetched.
pub const APPROACH: usize = 4;
/// With fewer connections than this what they need stays in the processor's cache.
const MANY: usize = 128;

const BELL: u64 = u64::MAX;
const IDLE: u64 = 0;
const BUSY: u64 = 1;
const NOBODY: u64 = u64::MAX;

/// See the module's text.
pub struct Reactor<P: Peer> {
    epoll: Epoll,
    bell: Doorbell,
    flushes: Arc<dyn Flushes>,
    crew: Arc<Crew<P>>,
    peers: Slab<P>,
    /// Counts services by two; plus [`BUSY`] while one is under way. Whoever changes it from the
    /// busy value of a service has the reactor: its owner at the end, or who takes it away.
    state: AtomicU64,
    /// The connection that is served.
    current: AtomicU64,
    /// Held while the reactor is taken away; a detached thread passes through it before it gives
    /// its connection back.
    handover: Mutex<()>,
    /// The least position that a connection of this reactor waits for.
    least_gate: AtomicU64,
    gates: Mutex<Vec<(Lsn, u64)>>,
    /// Parked connections that were woken, and whether there are any.
    woken: Mutex<Vec<u64>>,
    any_woken: AtomicBool,
    tick: AtomicBool,
    stopping: AtomicBool,
}

/// A reactor, whatever its connections are.
trait Owned {
    fn give_up(self: Arc<Self>, service: u64);
}

thread_local! {
    static OWNED: RefCell<Option<Arc<dyn Owned>>> = const { RefCell::new(None) };
    /// The state of the service that this thread's reactor is in; 0 if there is none.
    static SERVICE: Cell<u64> = const { Cell::new(0) };
    /// The reactor that this thread serves, to be compared only.
    static SERVED: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
}

/// The hook of worker threads: a wait that may take long costs the thread its reactor.
struct Hook;

impl os::wait::WaitHook for Hook {
    fn before_wait(&self, event: os::wait::WaitEvent) {
        // Waits of this class end within microseconds; if not, the watcher sees it.
        if event.class() == Some("LWLock") {
            return;
        }
        let service = SERVICE.replace(0);
        if service != 0
            && let Some(owned) = OWNED.with(|o| o.borrow().clone())
        {
            owned.give_up(service);
        }
    }

    fn after_wait(&self) {}
}

impl<P: Peer> Owned for Reactor<P> {
    fn give_up(self: Arc<Self>, service: u64) {
        self.take_away(service);
    }
}

impl<P: Peer> Reactor<P> {
    /// A reactor without connections. Nobody owns it until [`Crew::assign`].
    pub fn new(flushes: Arc<dyn Flushes>, crew: Arc<Crew<P>>) -> io::Result<Arc<Reactor<P>>> {
        let (epoll, bell) = (Epoll::new()?, Doorbell::new()?);
        bell.listen(&epoll, BELL)?;
        Ok(Arc::new(Reactor {
            epoll,
            bell,
            flushes,
            crew,
            peers: Slab::new(),
            state: AtomicU64::new(IDLE),
            current: AtomicU64::new(NOBODY),
            handover: Mutex::new(()),
            least_gate: AtomicU64::new(u64::MAX),
            gates: Mutex::new(Vec::new()),
            woken: Mutex::new(Vec::new()),
            any_woken: AtomicBool::new(false),
            tick: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        }))
    }

    /// Adds a connection.
    pub fn add(&self, peer: P) -> io::Result<()> {
        let fd = peer.fd();
        let token = self.peers.insert(peer, fd);
        let result = self.epoll.add(fd, token, Interest::READ);
        if result.is_err() {
            self.peers.remove(token);
        }
        if self.len() == 1 {
            // Without connections it waits with no end; a silent one has its time limits too.
            self.ring();
        }
        result
    }

    /// How many connections it has.
    pub fn len(&self) -> usize {
        self.peers.len()
    }

    /// Wakes the owner if something that is durable now is waited for. True if not, but something
    /// beyond is.
    pub fn flushed(&self, upto: Lsn) -> bool {
        let least = self.least_gate.load(Ordering::SeqCst);
        if least <= upto.0 {
            self.ring();
        }
        least > upto.0 && least != u64::MAX
    }

    /// Lets every connection look at its time limits now.
    pub fn tick_now(&self) {
        self.tick.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// Makes the owner look up.
    pub fn ring(&self) {
        self.bell.ring();
    }

    /// Ends the owner's loop, and with it the reactor.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// Serves connections until the reactor is taken away or stopped. The caller owns it.
    pub(crate) fn run(self: &Arc<Self>) {
        os::wait::set_hook(Some(Rc::new(Hook)));
        OWNED.with(|o| *o.borrow_mut() = Some(Arc::clone(self) as Arc<dyn Owned>));
        SERVED.set(Arc::as_ptr(self).cast());
        self.serve_until_lost();
        SERVED.set(std::ptr::null());
        OWNED.with(|o| o.borrow_mut().take());
    }

    fn serve_until_lost(self: &Arc<Self>) {
        let mut turn = self.state.load(Ordering::SeqCst);
        let mut events = Events::with_capacity(64);
        let mut ticked = os::clock::monotonic_nanos();
        // Whoever had the reactor before may have lost it with some left.
        if !self.resume_woken(&mut turn) {
            return;
        }
        // Who lost the reactor in the middle of a round has not asked for a flush.
        if !self.flush_for_gates(&mut turn) || !self.open_gates(&mut turn) {
            return;
        }
        while !self.stopping.load(Ordering::Relaxed) {
            let fast = P::ticks_fast() || self.peers.parked() > 0;
            let every = if fast { FAST_TICK } else { SLOW_TICK };
            let timeout = if self.peers.is_empty() { None } else { Some(every) };
            if self.epoll.wait(&mut events, timeout).is_err() {
                return;
            }
            let approach = self.peers.len() >= MANY;
            for (i, event) in events.iter().enumerate() {
                if approach {
                    self.approach(events.iter().skip(i + 1).map(|e| e.token));
                }
                if event.token == BELL {
                    self.bell.answer();
                } else if !self.serve(&mut turn, event) {
                    return;
                }
                if !self.resume_woken(&mut turn) {
                    return;
                }
            }
            if !self.flush_for_gates(&mut turn) || !self.open_gates(&mut turn) {
                return;
            }
            let now = os::clock::monotonic_nanos();
            if now - ticked >= every.as_nanos() as u64 || self.tick.swap(false, Ordering::SeqCst) {
                ticked = now;
                if !self.tick_all(&mut turn) {
                    return;
                }
            }
        }
    }

    /// The connections that are going to be served, the next one first.
    fn approach(&self, tokens: impl Iterator<Item = u64>) {
        let tokens: SmallVec<[u64; APPROACH]> = tokens.take(APPROACH).collect();
        self.peers.look(&tokens, |others, peer| match others + 1 {
            APPROACH => os::memory::prefetch_all(peer),
            others => peer.approach(others),
        });
    }

    /// Serves one connection; false if the reactor was taken away meanwhile.
    fn serve(self: &Arc<Self>, turn: &mut u64, event: Event) -> bool {
        self.with_peer(turn, event.token, |peer| peer.ready(event.read, event.write))
    }

    /// Runs `f` on a connection that nobody else runs; false if the reactor was taken away. `turn`
    /// is the state while nothing runs.
    fn with_peer(
        self: &Arc<Self>,
        turn: &mut u64,
        token: u64,
        f: impl FnOnce(&mut P) -> Next,
    ) -> bool {
        let Some(peer) = self.peers.take(token) else { return true };
        self.with_taken(turn, token, peer, f)
    }

    fn with_taken(
        self: &Arc<Self>,
        turn: &mut u64,
        token: u64,
        mut peer: Box<P>,
        f: impl FnOnce(&mut P) -> Next,
    ) -> bool {
        let service = self.begin(*turn, token);
        SERVICE.set(service);
        let next = f(&mut peer);
        SERVICE.set(0);
        let kept = self.end(turn, service);
        self.settle(token, peer, next, kept);
        kept
    }

    /// Serves the parked connections that were woken; false if the reactor was taken away.
    fn resume_woken(self: &Arc<Self>, turn: &mut u64) -> bool {
        while self.any_woken.load(Ordering::SeqCst) {
            let token = {
                let mut woken = self.woken.lock();
                let token = woken.pop();
                self.any_woken.store(!woken.is_empty(), Ordering::SeqCst);
                token
            };
            if let Some(token) = token
                && let Some(peer) = self.peers.take_parked(token)
                && !self.with_taken(turn, token, peer, |peer| peer.resume())
            {
                return false;
            }
        }
        true
    }

    /// A parked connection is to be served.
    fn wake(&self, token: u64) {
        let mut woken = self.woken.lock();
        woken.push(token);
        self.any_woken.store(true, Ordering::SeqCst);
        drop(woken);
        // The owner's own thread looks after each service; so does the next owner before its first
        // one, if this thread has lost the reactor by then.
        let service = SERVICE.get();
        let mine = service != 0
            && SERVED.get() == std::ptr::from_ref(self).cast()
            && self.state.load(Ordering::SeqCst) == service;
        if !mine {
            self.ring();
        }
    }

    /// The owner begins something that may take long; gives the state meanwhile.
    fn begin(&self, turn: u64, token: u64) -> u64 {
        let service = turn + 2 + BUSY;
        self.current.store(token, Ordering::Relaxed);
        self.state.store(service, Ordering::SeqCst);
        self.crew.watcher().notice();
        service
    }

    /// It is done; false if the reactor was taken away meanwhile.
    fn end(&self, turn: &mut u64, service: u64) -> bool {
        *turn = service - BUSY;
        let kept = self.state.compare_exchange(service, *turn, Ordering::SeqCst, Ordering::SeqCst);
        if kept.is_err() {
            // Whoever took the reactor away silences our socket under this lock; only then may it
            // be listened to again.
            drop(self.handover.lock());
        }
        kept.is_ok()
    }

    /// True if somebody waits for what is not yet durable.
    fn has_closed_gates(&self) -> bool {
        let least = self.least_gate.load(Ordering::SeqCst);
        least != u64::MAX && least > self.flushes.flushed().0
    }

    /// Makes durable what the connections just served wait for, all at once; false if the
    /// reactor was taken away meanwhile.
    fn flush_for_gates(self: &Arc<Self>, turn: &mut u64) -> bool {
        if !self.has_closed_gates() {
            return true;
        }
        let most = self.gates.lock().iter().map(|g| g.0).max();
        let Some(lsn) = most.filter(|lsn| *lsn > self.flushes.flushed()) else { return true };
        // Who would ring now rings for what is looked at right after this.
        let rung = self.bell.muffle();
        let service = self.begin(*turn, NOBODY);
        self.flushes.flush_if_quick(lsn);
        let kept = self.end(turn, service);
        self.bell.unmuffle(rung);
        if !kept {
            self.ring();
        }
        kept
    }

    /// Takes the reactor away from its owner, if this service is still under way, and gives it to
    /// a spare thread.
    pub(crate) fn take_away(self: &Arc<Self>, service: u64) {
        let guard = self.handover.lock();
        let token = self.current.load(Ordering::SeqCst);
        let idle = service - BUSY;
        let swapped =
            self.state.compare_exchange(service, idle, Ordering::SeqCst, Ordering::SeqCst);
        if swapped.is_err() {
            return;
        }
        if let Some(fd) = self.peers.set_interest(token, Interest::NONE) {
            let _ = self.epoll.modify(fd, token, Interest::NONE);
        }
        drop(guard);
        self.crew.assign(Arc::clone(self));
    }

    /// The state, for the watcher.
    pub(crate) fn seen(&self) -> u64 {
        self.state.load(Ordering::Relaxed)
    }

    /// Puts a connection back and waits for what it waits for. `owned`: by the owner, who looks
    /// after the gates when it has served all that are ready.
    fn settle(self: &Arc<Self>, token: u64, mut peer: Box<P>, next: Next, owned: bool) {
        let want = match next {
            Next::Close => {
                let _ = self.epoll.remove(peer.fd());
                self.peers.remove(token);
                drop(peer);
                return;
            }
            Next::Read | Next::Gate(_) => Some(Interest::READ),
            Next::Write => Some(Interest { read: true, write: true }),
            // A thread that lost the reactor has lost the socket too: see `take_away`.
            Next::Park => None,
            Next::ParkDeaf => Some(Interest::NONE),
        };
        let fd = peer.fd();
        let parked = matches!(next, Next::Park | Next::ParkDeaf);
        let woken = parked && peer.parked(&|| self.waker(token));
        let changed = self.peers.put(token, peer, want, parked);
        if changed
            && let Some(want) = want
            && self.epoll.modify(fd, token, want).is_err()
        {
            self.peers.remove(token);
            return;
        }
        // While it was on its way back, the owner may have looked for it in vain.
        if woken || (parked && !owned) {
            self.wake(token);
        }
        if let Next::Gate(lsn) = next {
            let mut gates = self.gates.lock();
            gates.push((lsn, token));
            self.least_gate.fetch_min(lsn.0, Ordering::SeqCst);
            drop(gates);
            if !owned {
                // The owner does not know of the gate.
                self.flushes.request(lsn);
                // A flush that ended before the gate was listed has told nobody.
                if self.flushes.flushed() >= lsn {
                    self.ring();
                }
            }
        }
    }

    fn waker(self: &Arc<Self>, token: u64) -> Waker {
        let reactor = Arc::downgrade(self);
        Box::new(move || {
            if let Some(reactor) = reactor.upgrade() {
                reactor.wake(token);
            }
        })
    }

    /// Releases the connections whose gate has opened; false if the reactor was taken away.
    fn open_gates(self: &Arc<Self>, turn: &mut u64) -> bool {
        let flushed = self.flushes.flushed();
        if self.least_gate.load(Ordering::SeqCst) > flushed.0 {
            return true;
        }
        let mut open = Vec::new();
        {
            let mut gates = self.gates.lock();
            gates.retain(|(lsn, token)| {
                if *lsn <= flushed {
                    open.push(*token);
                }
                *lsn > flushed
            });
            let least = gates.iter().map(|g| g.0.0).min().unwrap_or(u64::MAX);
            self.least_gate.store(least, Ordering::SeqCst);
        }
        for (i, token) in open.iter().enumerate() {
            if !self.with_peer(turn, *token, |peer| peer.release(flushed)) {
                // The next owner releases the others.
                let mut gates = self.gates.lock();
                gates.extend(open[i + 1..].iter().map(|t| (flushed, *t)));
                self.least_gate.fetch_min(flushed.0, Ordering::SeqCst);
                drop(gates);
                self.ring();
                return false;
            }
        }
        true
    }

    /// Lets every connection look at its time limits; false if the reactor was taken away.
    fn tick_all(self: &Arc<Self>, turn: &mut u64) -> bool {
        self.peers.idle_tokens().into_iter().all(|t| self.with_peer(turn, t, |peer| peer.tick()))
    }
}
