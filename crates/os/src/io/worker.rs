//! Asynchronous I/O by a few threads that all queues share, as `io_method = worker` does it.

use super::{Completion, Request};
use crate::sync::{Condvar, Mutex};
use crate::wait;
use base::WaitEvent;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

struct Shared {
    jobs: Mutex<VecDeque<(Request, Arc<Mailbox>)>>,
    arrived: Condvar,
    running: AtomicUsize,
}

static SHARED: Shared = Shared {
    jobs: Mutex::new(VecDeque::new()),
    arrived: Condvar::new(),
    running: AtomicUsize::new(0),
};

static WANTED: AtomicUsize = AtomicUsize::new(3);

/// Sets how many threads there are: the setting `io_workers`.
pub fn set_workers(count: usize) {
    WANTED.store(count.clamp(1, 64), Ordering::Relaxed);
}

fn start_missing() {
    loop {
        let running = SHARED.running.load(Ordering::Relaxed);
        if running >= WANTED.load(Ordering::Relaxed) {
            return;
        }
        let next = running + 1;
        let r = SHARED.running.compare_exchange(running, next, Ordering::SeqCst, Ordering::Relaxed);
        if r.is_ok() && crate::thread::spawn("io worker", work).is_err() {
            SHARED.running.fetch_sub(1, Ordering::SeqCst);
            return;
        }
    }
}

fn work() {
    loop {
        let mut jobs = SHARED.arrived.wait_while(SHARED.jobs.lock(), |jobs| jobs.is_empty());
        let Some((request, mailbox)) = jobs.pop_front() else { continue };
        drop(jobs);
        let result = request.run(0);
        mailbox.done.lock().push(request.complete(result));
        mailbox.arrived.notify_one();
        let running = SHARED.running.load(Ordering::Relaxed);
        if running > WANTED.load(Ordering::Relaxed)
            && SHARED
                .running
                .compare_exchange(running, running - 1, Ordering::SeqCst, Ordering::Relaxed)
                .is_ok()
        {
            return;
        }
    }
}

#[derive(Default)]
struct Mailbox {
    done: Mutex<Vec<Completion>>,
    arrived: Condvar,
}

/// One queue's view of the workers.
pub struct Client {
    mailbox: Arc<Mailbox>,
    in_flight: usize,
}

impl Client {
    pub fn new() -> Client {
        start_missing();
        Client { mailbox: Arc::default(), in_flight: 0 }
    }

    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub fn push(&mut self, request: Request) {
        if SHARED.running.load(Ordering::Relaxed) == 0 {
            // No thread could be started: the request is done here.
            let result = request.run(0);
            self.mailbox.done.lock().push(request.complete(result));
        } else {
            SHARED.jobs.lock().push_back((request, self.mailbox.clone()));
            SHARED.arrived.notify_one();
        }
        self.in_flight += 1;
    }

    pub fn wait(&mut self, min: usize, out: &mut Vec<Completion>) {
        let min = min.min(self.in_flight);
        let mut done = self.mailbox.done.lock();
        if done.len() < min {
            let _waiting = wait::begin(WaitEvent::AioIoCompletion);
            done = self.mailbox.arrived.wait_while(done, |done| done.len() < min);
        }
        self.in_flight -= done.len();
        out.append(&mut done);
    }
}
