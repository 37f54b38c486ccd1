//! Asynchronous I/O by the kernel.

use super::{Completion, Request};
use crate::disk::FileKind;
use crate::wait;
use base::WaitEvent;
use io_uring::{IoUring, opcode, types};
use std::sync::{Mutex, PoisonError};

/// Requests one ring holds.
const DEPTH: u32 = 128;
/// Idle rings kept for the next queue; making one costs tens of microseconds.
const KEPT: usize = 32;

static IDLE: Mutex<Vec<Ring>> = Mutex::new(vec![]);

/// True if the kernel gives us a ring.
pub fn works() -> bool {
    match Ring::acquire() {
        Some(ring) => {
            ring.release();
            true
        }
        None => false,
    }
}

/// A ring and the requests it works on.
pub struct Ring {
    ring: IoUring,
    slots: Vec<Option<Request>>,
    free: Vec<usize>,
    unsubmitted: usize,
}

impl Ring {
    pub fn acquire() -> Option<Ring> {
        if let Some(ring) = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Some(ring);
        }
        let ring = IoUring::builder().setup_clamp().build(DEPTH).ok()?;
        let slots = (0..DEPTH).map(|_| None).collect();
        Some(Ring { ring, slots, free: (0..DEPTH as usize).collect(), unsubmitted: 0 })
    }

    /// Keeps an idle ring for the next queue.
    pub fn release(self) {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT && self.in_flight() == 0 {
            idle.push(self);
        }
    }

    pub fn in_flight(&self) -> usize {
        DEPTH as usize - self.free.len()
    }

    pub fn push(&mut self, request: Request, ready: &mut Vec<Completion>) {
        let FileKind::Real(file) = &*request.file.0 else {
            let result = request.run(0);
            return ready.push(request.complete(result));
        };
        if !file.fits(request.address as usize, request.len, request.offset) {
            let result = request.run(0);
            return ready.push(request.complete(result));
        }
        let slot = loop {
            match self.free.pop() {
                Some(slot) => break slot,
                None => self.wait(1, ready),
            }
        };
        let fd = types::Fd(file.raw_fd());
        let len = request.len as u32;
        let entry = if request.write {
            opcode::Write::new(fd, request.address, len).offset(request.offset).build()
        } else {
            opcode::Read::new(fd, request.address, len).offset(request.offset).build()
        };
        self.slots[slot] = Some(request);
        let entry = entry.user_data(slot as u64);
        // SAFETY: file and memory live in the slot until the completion is taken.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.submit();
        }
        self.unsubmitted += 1;
    }

    pub fn submit(&mut self) {
        while self.unsubmitted > 0 {
            match self.ring.submit() {
                Ok(n) => self.unsubmitted -= n.min(self.unsubmitted),
                Err(e) if is_transient(&e) => crate::thread::yield_now(),
                Err(e) => panic!("io_uring does not take requests: {e}"),
            }
        }
    }

    pub fn wait(&mut self, min: usize, out: &mut Vec<Completion>) {
        self.submit();
        let mut got = self.take(out);
        if got >= min {
            return;
        }
        let _waiting = wait::begin(WaitEvent::AioIoUringExecution);
        while got < min && self.in_flight() > 0 {
            match self.ring.submit_and_wait((min - got).min(self.in_flight())) {
                Ok(_) => {}
                Err(e) if is_transient(&e) => {}
                Err(e) => panic!("io_uring does not give completions: {e}"),
            }
            got += self.take(out);
        }
    }

    fn take(&mut self, out: &mut Vec<Completion>) -> usize {
        let before = out.len();
        let (slots, free) = (&mut self.slots, &mut self.free);
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            if let Some(request) = slots[slot].take() {
                let result = request.finish(entry.result());
                out.push(request.complete(result));
                free.push(slot);
            }
        }
        out.len() - before
    }
}

fn is_transient(e: &std::io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
