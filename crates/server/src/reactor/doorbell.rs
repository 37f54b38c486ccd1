//! How others make the owner of a reactor look up: an eventfd in its epoll set, written at most
//! once until the owner has answered.
//!
//! Whoever rings has changed beforehand what the owner is to see, and the owner looks at that
//! after it has answered. The eventfd is never silent while `rung` is set, except for a moment
//! within [`Doorbell::answer`] and while the bell is muffled: a ring in that time is not written,
//! but seen, as the owner has yet to look.

use os::poll::{Bell, Epoll, Interest};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering, fence};

/// See the module's text.
pub struct Doorbell {
    bell: Bell,
    rung: AtomicBool,
}

impl Doorbell {
    /// A silent bell.
    pub fn new() -> io::Result<Doorbell> {
        Ok(Doorbell { bell: Bell::new()?, rung: AtomicBool::new(false) })
    }

    /// Has the epoll set report it under this token.
    pub fn listen(&self, epoll: &Epoll, token: u64) -> io::Result<()> {
        epoll.add(self.bell.as_raw_fd(), token, Interest::READ)
    }

    /// Makes the owner look up. Never blocks.
    pub fn ring(&self) {
        if !self.rung.swap(true, Ordering::SeqCst) {
            self.bell.ring();
        }
    }

    /// The owner has heard it, and looks at everything after this. The eventfd goes silent first:
    /// the other way round it could swallow the ring of somebody who came in between, and `rung`
    /// would then stay set for ever.
    pub fn answer(&self) {
        self.bell.silence();
        self.rung.store(false, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// The owner is about to look at everything: rings need not be written until then. Gives what
    /// [`Doorbell::unmuffle`] takes.
    pub fn muffle(&self) -> bool {
        self.rung.swap(true, Ordering::SeqCst)
    }

    /// From now on rings are heard again; the owner looks at everything after this.
    pub fn unmuffle(&self, rung: bool) {
        if !rung {
            self.rung.store(false, Ordering::SeqCst);
            fence(Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::poll::Events;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    #[test]
    fn no_ring_is_lost() {
        const RINGS: u64 = 200_000;
        let bell = Arc::new(Doorbell::new().unwrap());
        let epoll = Epoll::new().unwrap();
        bell.listen(&epoll, 7).unwrap();
        let count = Arc::new(AtomicU64::new(0));
        let ringers: Vec<_> = (0..2)
            .map(|_| {
                let (bell, count) = (Arc::clone(&bell), Arc::clone(&count));
                std::thread::spawn(move || {
                    for _ in 0..RINGS {
                        count.fetch_add(1, Ordering::SeqCst);
                        bell.ring();
                    }
                })
            })
            .collect();
        let mut events = Events::with_capacity(1);
        let mut seen = 0;
        while seen < 2 * RINGS {
            epoll.wait(&mut events, Some(Duration::from_secs(20))).unwrap();
            assert_eq!(events.iter().count(), 1, "silent with {seen} rings seen");
            bell.answer();
            seen = count.load(Ordering::SeqCst);
            let rung = bell.muffle();
            bell.unmuffle(rung);
            seen = seen.max(count.load(Ordering::SeqCst));
        }
        ringers.into_iter().for_each(|t| t.join().unwrap());
    }
}
