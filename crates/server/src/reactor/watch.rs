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
                // Whoever began, or wants it to stop, before it lay down has not woken it.
                let stopping = self.stopping.load(Ordering::SeqCst);
                if !stopping && !reactors.iter().any(|r| r.seen() & BUSY != 0) {
                    futex_wait(&self.asleep, 1, None);
                }
                self.asleep.store(0, Ordering::SeqCst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conn::Conn;
    use std::sync::mpsc;

    /// Watchers lie down at about the same time; each is stopped a little later than the one
    /// before, so that some are while they lie down.
    #[test]
    fn it_stops_whenever_it_is_told() {
        let lies_down = CALM_LOOK * IDLE_LOOKS;
        let (ended, all) = mpsc::channel();
        let started = std::time::Instant::now();
        for n in 0..64 {
            let (watcher, ended) = (Arc::new(Watcher::default()), ended.clone());
            let own = Arc::clone(&watcher);
            std::thread::spawn(move || {
                own.run::<Conn>(&[]);
                ended.send(()).unwrap();
            });
            std::thread::spawn(move || {
                let at = lies_down + Duration::from_micros(500) * n;
                std::thread::sleep(at.saturating_sub(started.elapsed()));
                watcher.stop();
            });
        }
        for _ in 0..64 {
            all.recv_timeout(Duration::from_secs(30)).unwrap();
        }
    }
}
