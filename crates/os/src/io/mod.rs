//! Batches of asynchronous reads and writes, over io_uring, over a few worker threads, or
//! done at once, as `io_method` says. One thread owns a queue at a time.

mod uring;
mod worker;

use crate::disk::{File, FileKind};
use crate::error::{IoError, Result};
use crate::random::Rng;
use crate::sim::sched;
use crate::{AlignedBuf, wait};
use base::WaitEvent;
use std::sync::atomic::{AtomicU8, Ordering};

pub use worker::set_workers;

/// How asynchronous I/O is done: the setting `io_method`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum IoMethod {
    /// By the thread itself when it asks for completions.
    Sync = 0,
    /// By a few threads shared by all.
    Worker = 1,
    /// By the kernel.
    IoUring = 2,
}

impl IoMethod {
    /// The method of this name.
    pub fn parse(name: &str) -> Option<IoMethod> {
        match name {
            "sync" => Some(IoMethod::Sync),
            "worker" => Some(IoMethod::Worker),
            "io_uring" => Some(IoMethod::IoUring),
            _ => None,
        }
    }

    /// The setting's word.
    pub fn as_str(self) -> &'static str {
        match self {
            IoMethod::Sync => "sync",
            IoMethod::Worker => "worker",
            IoMethod::IoUring => "io_uring",
        }
    }

    /// What works best here: io_uring where the kernel lets us, else workers.
    pub fn detect() -> IoMethod {
        static KNOWN: AtomicU8 = AtomicU8::new(u8::MAX);
        match KNOWN.load(Ordering::Relaxed) {
            1 => return IoMethod::Worker,
            2 => return IoMethod::IoUring,
            _ => {}
        }
        let best = if uring::works() { IoMethod::IoUring } else { IoMethod::Worker };
        KNOWN.store(best as u8, Ordering::Relaxed);
        best
    }
}

/// A finished request.
#[derive(Debug)]
pub struct Completion {
    /// What the request was submitted with.
    pub token: u64,
    /// Bytes done: fewer than asked only where a read met the end of the file.
    pub result: Result<usize>,
    /// The buffer of a request that owned one.
    pub buf: Option<AlignedBuf>,
}

/// What is to be done; kept until it is done, so that file and memory stay.
struct Request {
    file: File,
    buf: Option<AlignedBuf>,
    address: *mut u8,
    len: usize,
    offset: u64,
    token: u64,
    write: bool,
}

// SAFETY: the memory behind `address` is the request's own buffer, or lent under the contract
// of IoQueue::submit_read and submit_write until the completion is seen.
unsafe impl Send for Request {}

impl Request {
    /// Does the request, or what is left of it after `done` bytes, on this thread.
    fn run(&self, done: usize) -> Result<usize> {
        let (address, len) = (self.address.wrapping_add(done), self.len - done);
        let offset = self.offset + done as u64;
        if self.write {
            // SAFETY: the submitter promised `len` readable bytes until the completion.
            let data = unsafe { std::slice::from_raw_parts(address, len) };
            self.file.write_at(data, offset).map(|()| self.len)
        } else {
            // SAFETY: the submitter promised `len` writable bytes nobody else uses until then.
            let buf = unsafe { std::slice::from_raw_parts_mut(address, len) };
            self.file.read_at(buf, offset).map(|n| done + n)
        }
    }

    /// Ends a request of which the kernel says `res` bytes, or a negative error number.
    fn finish(&self, res: i32) -> Result<usize> {
        if res == -libc::EINTR || res == -libc::EAGAIN {
            return self.run(0);
        }
        if res < 0 {
            let op = if self.write { "write to file" } else { "read file" };
            return Err(IoError::new(op, self.file.path(), -res));
        }
        let done = res as usize;
        let at_end = !self.write && done == 0;
        if done == self.len || at_end { Ok(done) } else { self.run(done) }
    }

    fn complete(self, result: Result<usize>) -> Completion {
        Completion { token: self.token, result, buf: self.buf }
    }
}

enum Backend {
    Sync,
    Worker(worker::Client),
    Uring(Box<uring::Ring>),
}

/// A queue of asynchronous requests. Dropping it waits for those under way.
pub struct IoQueue {
    backend: Backend,
    /// Requests done when completions are asked for: all of the sync method, and those to
    /// simulated files.
    deferred: Vec<Request>,
    ready: Vec<Completion>,
}

impl IoQueue {
    /// A queue that works by this method, or the next best one that works.
    pub fn new(method: IoMethod) -> IoQueue {
        let backend = match method {
            _ if sched::current().is_some() => Backend::Sync,
            IoMethod::Sync => Backend::Sync,
            IoMethod::Worker => Backend::Worker(worker::Client::new()),
            IoMethod::IoUring => match uring::Ring::acquire() {
                Some(ring) => Backend::Uring(Box::new(ring)),
                None => Backend::Worker(worker::Client::new()),
            },
        };
        IoQueue { backend, deferred: vec![], ready: vec![] }
    }

    /// The method in use.
    pub fn method(&self) -> IoMethod {
        match self.backend {
            Backend::Sync => IoMethod::Sync,
            Backend::Worker(_) => IoMethod::Worker,
            Backend::Uring(_) => IoMethod::IoUring,
        }
    }

    /// Requests whose completions have not been handed out.
    pub fn in_flight(&self) -> usize {
        let behind = match &self.backend {
            Backend::Sync => 0,
            Backend::Worker(w) => w.in_flight(),
            Backend::Uring(r) => r.in_flight(),
        };
        self.deferred.len() + self.ready.len() + behind
    }

    /// Reads into a buffer that comes back with the completion.
    pub fn read(&mut self, file: &File, buf: AlignedBuf, offset: u64, token: u64) {
        let (address, len) = (buf.as_raw(), buf.len());
        let file = file.clone();
        self.push(Request { file, buf: Some(buf), address, len, offset, token, write: false });
    }

    /// Writes from a buffer that comes back with the completion.
    pub fn write(&mut self, file: &File, buf: AlignedBuf, offset: u64, token: u64) {
        let (address, len) = (buf.as_raw(), buf.len());
        let file = file.clone();
        self.push(Request { file, buf: Some(buf), address, len, offset, token, write: true });
    }

    /// Reads `len` bytes into borrowed memory.
    ///
    /// # Safety
    /// The memory must stay valid, and nobody else may touch it, until the completion of this
    /// request has been handed out or the queue has been dropped.
    pub unsafe fn submit_read(
        &mut self,
        file: &File,
        buf: *mut u8,
        len: usize,
        offset: u64,
        token: u64,
    ) {
        let file = file.clone();
        self.push(Request { file, buf: None, address: buf, len, offset, token, write: false });
    }

    /// Writes `len` bytes from borrowed memory.
    ///
    /// # Safety
    /// The memory must stay valid and unchanged until the completion of this request has been
    /// handed out or the queue has been dropped.
    pub unsafe fn submit_write(
        &mut self,
        file: &File,
        buf: *const u8,
        len: usize,
        offset: u64,
        token: u64,
    ) {
        let address = buf as *mut u8;
        let file = file.clone();
        self.push(Request { file, buf: None, address, len, offset, token, write: true });
    }

    fn push(&mut self, request: Request) {
        let simulated = matches!(&*request.file.0, FileKind::Simulated(_));
        match &mut self.backend {
            Backend::Worker(w) if !simulated => w.push(request),
            Backend::Uring(r) if !simulated => r.push(request, &mut self.ready),
            _ => self.deferred.push(request),
        }
    }

    /// Hands what was submitted to the kernel. Waiting does so too; call this when there is
    /// other work to do first.
    pub fn submit(&mut self) {
        if let Backend::Uring(r) = &mut self.backend {
            r.submit();
        }
    }

    /// Waits until at least `min` requests are done (or none is left) and appends all that
    /// are done to `out`.
    pub fn wait(&mut self, min: usize, out: &mut Vec<Completion>) {
        let min = min.min(self.in_flight());
        let before = out.len();
        out.append(&mut self.ready);
        self.run_deferred(min.saturating_sub(out.len() - before), out);
        let left = min.saturating_sub(out.len() - before);
        match &mut self.backend {
            Backend::Sync => {}
            Backend::Worker(w) => w.wait(left, out),
            Backend::Uring(r) => r.wait(left, out),
        }
    }

    /// Does at least `min` deferred requests; under the simulator, in an order the seed gives.
    fn run_deferred(&mut self, min: usize, out: &mut Vec<Completion>) {
        if self.deferred.is_empty() {
            return;
        }
        let mut rng = sched::current().map(|s| Rng::new(s.random()));
        let mut left = match &mut rng {
            Some(rng) => {
                min as u64
                    + rng.below((self.deferred.len() - min.min(self.deferred.len())) as u64 + 1)
            }
            None => self.deferred.len() as u64,
        };
        let _waiting = wait::begin(WaitEvent::AioIoCompletion);
        while left > 0 && !self.deferred.is_empty() {
            left -= 1;
            let pick = rng.as_mut().map_or(0, |r| r.below(self.deferred.len() as u64) as usize);
            let request = self.deferred.remove(pick);
            let result = request.run(0);
            out.push(request.complete(result));
        }
    }
}

impl Drop for IoQueue {
    fn drop(&mut self) {
        let mut out = vec![];
        // The kernel may still write to lent memory: it must be done before we are gone. What
        // was deferred has not begun and never will, unless it is a write.
        self.deferred.retain(|r| r.write && !std::thread::panicking());
        self.wait(usize::MAX, &mut out);
        if let Backend::Uring(ring) = std::mem::replace(&mut self.backend, Backend::Sync) {
            ring.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, OpenOptions};
    use std::path::Path;

    fn exercise(method: IoMethod, direct: bool) {
        let name = format!("os-io-{}-{}-{direct}", std::process::id(), method.as_str());
        let disk = Disk::real_in(std::env::temp_dir());
        let path = Path::new(&name);
        let file = disk.open(path, &OpenOptions::new().create().direct(direct)).unwrap();
        let mut queue = IoQueue::new(method);
        for i in 0..300u64 {
            let mut buf = AlignedBuf::zeroed(8192);
            buf.fill(i as u8);
            queue.write(&file, buf, i * 8192, i);
        }
        let mut done = vec![];
        queue.wait(usize::MAX, &mut done);
        assert_eq!(done.len(), 300);
        assert!(done.iter().all(|c| *c.result.as_ref().unwrap() == 8192));
        assert_eq!(queue.in_flight(), 0);
        done.clear();
        for i in 0..301u64 {
            queue.read(&file, AlignedBuf::zeroed(8192), i * 8192, i);
        }
        while queue.in_flight() > 0 {
            queue.wait(1, &mut done);
        }
        done.sort_by_key(|c| c.token);
        assert_eq!(done.len(), 301);
        for c in &done[..300] {
            assert_eq!(*c.result.as_ref().unwrap(), 8192);
            assert!(c.buf.as_ref().unwrap().iter().all(|b| *b == c.token as u8));
        }
        assert_eq!(*done[300].result.as_ref().unwrap(), 0, "past the end");
        queue.read(&file, AlignedBuf::zeroed(8192), 0, 0);
        drop(queue);
        disk.remove(path).unwrap();
    }

    #[test]
    fn simulated_requests_finish_in_an_order_of_the_seeds() {
        use crate::sim::{Faults, Sim, SimDisk};
        let order = |seed| {
            Sim::new(seed)
                .run(|| {
                    let disk = Disk::simulated(SimDisk::new(1, Faults::default()));
                    let file = disk.open(Path::new("f"), &OpenOptions::new().create()).unwrap();
                    let mut queue = IoQueue::new(IoMethod::IoUring);
                    for i in 0..8 {
                        queue.write(&file, AlignedBuf::zeroed(512), i * 512, i);
                    }
                    let mut out = vec![];
                    while queue.in_flight() > 0 {
                        queue.wait(1, &mut out);
                    }
                    out.iter().map(|c| c.token).collect::<Vec<_>>()
                })
                .finished()
        };
        assert_eq!(order(3), order(3));
        assert!((0..9).any(|seed| order(seed) != order(3)));
        assert!(order(3).len() == 8);
    }

    #[test]
    fn all_methods_do_the_same() {
        for method in [IoMethod::Sync, IoMethod::Worker, IoMethod::detect()] {
            exercise(method, false);
            exercise(method, true);
        }
    }
}
