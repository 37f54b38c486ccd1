//! `client_connection_check_interval`: looks whether clients are still there while their
//! statements run, and ends the statements of those that are not.

use engine::Interrupts;
use os::sync::Mutex;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

struct Watched {
    fd: RawFd,
    interrupts: Arc<Interrupts>,
    /// How often, and when next, in nanoseconds of the monotonic clock.
    every: u64,
    due: u64,
}

#[derive(Default)]
struct List {
    all: Mutex<Vec<Watched>>,
    running: AtomicBool,
}

/// See the module's text.
#[derive(Clone, Default)]
pub struct Clients(Arc<List>);

/// How often the list is looked at.
const LOOK: Duration = Duration::from_millis(10);

impl Clients {
    /// A statement begins: its client is looked for every `ms` milliseconds.
    pub fn watch(&self, fd: RawFd, interrupts: &Arc<Interrupts>, ms: u32) {
        let every = u64::from(ms) * 1_000_000;
        let due = os::clock::monotonic_nanos() + every;
        let watched = Watched { fd, interrupts: interrupts.clone(), every, due };
        self.0.all.lock().push(watched);
        if !self.0.running.swap(true, Ordering::SeqCst) {
            let list = Arc::clone(&self.0);
            if os::thread::spawn("client check", move || list.run()).is_err() {
                self.0.running.store(false, Ordering::SeqCst);
            }
        }
    }

    /// The statement is done.
    pub fn forget(&self, fd: RawFd) {
        self.0.all.lock().retain(|w| w.fd != fd);
    }
}

impl List {
    /// Looks until there has been nothing to look at for a while.
    fn run(&self) {
        let mut idle = 0;
        loop {
            os::thread::sleep(LOOK);
            let now = os::clock::monotonic_nanos();
            let mut all = self.all.lock();
            for w in all.iter_mut().filter(|w| w.due <= now) {
                w.due = now + w.every;
                if os::process::is_hung_up(w.fd) {
                    w.interrupts.client_gone();
                }
            }
            idle = if all.is_empty() { idle + 1 } else { 0 };
            if idle > 100 {
                self.running.store(false, Ordering::SeqCst);
                return;
            }
        }
    }
}
