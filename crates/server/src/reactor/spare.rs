//! The threads that serve reactors: one each, and spare ones that wait for a reactor.

use super::watch::Watcher;
use super::{Peer, Reactor};
use os::sync::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Bytes of a worker's stack: deep expressions recurse.
const STACK: usize = 16 << 20;
/// A spare thread beyond this number goes after a while without work.
const KEEP: usize = 4;
const PATIENCE: Duration = Duration::from_secs(20);

struct Seat<P: Peer> {
    reactor: Mutex<Option<Arc<Reactor<P>>>>,
    given: Condvar,
}

/// See the module's text.
pub struct Crew<P: Peer> {
    idle: Mutex<Vec<Arc<Seat<P>>>>,
    threads: AtomicUsize,
    watcher: Watcher,
    stopping: AtomicBool,
    me: Weak<Crew<P>>,
}

impl<P: Peer> Crew<P> {
    /// No threads yet.
    pub fn new() -> Arc<Crew<P>> {
        Arc::new_cyclic(|me| Crew {
            idle: Mutex::new(Vec::new()),
            threads: AtomicUsize::new(0),
            watcher: Watcher::default(),
            stopping: AtomicBool::new(false),
            me: me.clone(),
        })
    }

    /// Who watches for statements that run long.
    pub fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    /// Sends all spare threads home.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.watcher.stop();
        for seat in self.idle.lock().drain(..) {
            seat.given.notify_one();
        }
    }

    /// Gives a reactor that nobody owns to a thread.
    pub fn assign(&self, reactor: Arc<Reactor<P>>) {
        let seat = self.idle.lock().pop();
        if let Some(seat) = seat {
            *seat.reactor.lock() = Some(reactor);
            seat.given.notify_one();
            return;
        }
        let Some(crew) = self.me.upgrade() else { return };
        self.threads.fetch_add(1, Ordering::Relaxed);
        let spare = Arc::clone(&reactor);
        let name = engine::BACKEND_TITLE;
        let started = os::thread::spawn_with_stack(name, STACK, move || crew.work(reactor));
        if started.is_err() {
            // Without a thread the reactor would stand still; try again shortly.
            self.threads.fetch_sub(1, Ordering::Relaxed);
            os::thread::sleep(Duration::from_millis(10));
            self.assign(spare);
        }
    }

    fn work(&self, first: Arc<Reactor<P>>) {
        let _keeping = os::memory::keep_blocks();
        let seat = Arc::new(Seat { reactor: Mutex::new(None), given: Condvar::new() });
        let mut next = Some(first);
        while let Some(reactor) = next {
            reactor.run();
            drop(reactor);
            next = self.rest(&seat);
        }
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// Waits for a reactor; None: the thread may go.
    fn rest(&self, seat: &Arc<Seat<P>>) -> Option<Arc<Reactor<P>>> {
        let mut mine = seat.reactor.lock();
        if self.stopping.load(Ordering::SeqCst) {
            return None;
        }
        self.idle.lock().push(Arc::clone(seat));
        loop {
            if let Some(reactor) = mine.take() {
                return Some(reactor);
            }
            if self.stopping.load(Ordering::SeqCst) {
                return None;
            }
            let (guard, timed_out) = seat.given.wait_timeout(mine, PATIENCE);
            mine = guard;
            if timed_out && mine.is_none() {
                let mut idle = self.idle.lock();
                let at = idle.iter().position(|s| Arc::ptr_eq(s, seat));
                // Not on the list: somebody is about to give a reactor.
                if let (Some(at), true) = (at, idle.len() > KEEP) {
                    idle.remove(at);
                    return None;
                }
            }
        }
    }
}
