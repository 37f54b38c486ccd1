//! The watcher: looks every few milliseconds whether some reactor's owner has been serving the same
//! connection since the last look, and takes the reactor away from it. Where that happens it looks
//! more often: a server that only has short statements is seldom disturbed, one that has long ones
//! too lets the short ones wait for a millisecond or two. It sleeps while nothing runs.

use super::{BUSY, Peer, Reactor};
use os::sync::{futex_wait, futex_wake};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Time between looks while reactors are being taken away.
const LOOK: Duration = Duration::from_millis(1);
/// The same when none has been for [`CALM_LOOKS`] looks.
const CALM_LOOK: Duration = Duration::from_millis(4);
const CALM_LOOKS: u32 = 256;
/// Looks at nothing before it goes to sleep.
const IDLE_LOOKS: u32 = 50;

/// See the module's text.
#[derive(Default)]
pub struct Watcher {
    asleep: AtomicU32,
    stopping: AtomicBool,
}

impl Watcher {
    /// Something begins to run.
    #[inline]
    pub fn notice(&self) {
        if self.asleep.load(Ordering::Relaxed) == 1 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        self.asleep.store(0, Ordering::SeqCst);
        futex_wake(&self.asleep, 1);
    }

    /// Ends it.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Watches until it is stopped; the body of its thread.
    pub fn run<P: Peer>(&self, reactors: &[Arc<Reactor<P>>]) {
        let mut last: Vec<u64> = reactors.iter().map(|r| r.seen()).collect();
        let (mut quiet, mut calm) = (0, CALM_LOOKS);
        while !self.stopping.load(Ordering::SeqCst) {
            os::thread::sleep(if calm < CALM_LOOKS { LOOK } else { CALM_LOOK });
            quiet += 1;
            calm = (calm + 1).min(CALM_LOOKS);
            for (reactor, last) in reactors.iter().zip(&mut last) {
                let seen = reactor.seen();
                if seen & BUSY != 0 {
                    quiet = 0;
                    if seen == *last {
                        calm = 0;
                        reactor.take_away(seen);
                    }
                }
                *last = seen;
            }
            if quiet > IDLE_LOOKS {
                quiet = 0;
                self.asleep.store(1, Ordering::SeqCst);
                if !reactors.iter().any(|r| r.seen() & BUSY != 0) {
                    futex_wait(&self.asleep, 1, None);
                }
                self.asleep.store(0, Ordering::SeqCst);
            }
        }
    }
}
