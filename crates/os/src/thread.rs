//! Threads. In the simulator a thread is a real one that runs only when the scheduler says so.

use crate::sim::sched::{self, Sched};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A thread to wait for.
pub struct JoinHandle<T> {
    real: Option<std::thread::JoinHandle<T>>,
    simulated: Option<Simulated<T>>,
}

type Simulated<T> = (Arc<Sched>, usize, Arc<Mutex<Option<T>>>);

impl<T> JoinHandle<T> {
    /// Waits for the end of the thread and gives what it returned; `Err` if it panicked.
    pub fn join(self) -> std::thread::Result<T> {
        if let Some((sched, id, result)) = self.simulated {
            sched.join(id);
            let value = result.lock().unwrap_or_else(PoisonError::into_inner).take();
            return value.ok_or_else(|| Box::new("simulated thread stopped") as _);
        }
        match self.real {
            Some(handle) => handle.join(),
            None => Err(Box::new("no thread")),
        }
    }

    /// True once the thread has ended.
    pub fn is_finished(&self) -> bool {
        match (&self.simulated, &self.real) {
            (Some((sched, id, _)), _) => sched.is_finished(*id),
            (None, Some(handle)) => handle.is_finished(),
            (None, None) => true,
        }
    }
}

/// Starts a thread. A thread started by a simulated one is simulated too.
pub fn spawn<T, F>(name: &str, f: F) -> io::Result<JoinHandle<T>>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    spawn_with_stack(name, 2 << 20, f)
}

/// Starts a thread with a stack of `stack` bytes.
pub fn spawn_with_stack<T, F>(name: &str, stack: usize, f: F) -> io::Result<JoinHandle<T>>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let builder = std::thread::Builder::new().name(name.to_string()).stack_size(stack);
    let Some(sched) = sched::current() else {
        return Ok(JoinHandle { real: Some(builder.spawn(f)?), simulated: None });
    };
    let result = Arc::new(Mutex::new(None));
    let slot = result.clone();
    let id = sched.add_thread(name);
    let inside = sched.clone();
    let spawned = builder.spawn(move || {
        sched::run_thread(inside, id, || {
            let value = f();
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        })
    });
    if let Err(e) = spawned {
        sched.forget_thread(id);
        return Err(e);
    }
    sched.door();
    Ok(JoinHandle { real: None, simulated: Some((sched, id, result)) })
}

/// Sleeps; in the simulator, for virtual time.
pub fn sleep(time: Duration) {
    match sched::current() {
        Some(sched) => {
            sched.wait(None, Some(time));
        }
        None => std::thread::sleep(time),
    }
}

/// True while this thread unwinds: of a panic, or because the simulation it is in has stopped.
pub fn is_unwinding() -> bool {
    std::thread::panicking()
}

/// Lets others run.
pub fn yield_now() {
    match sched::current() {
        Some(sched) => sched.yield_to_others(),
        None => std::thread::yield_now(),
    }
}

/// Number of processors this process may use.
pub fn available_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// The kernel's number of this thread, for logs.
pub fn id() -> u64 {
    // SAFETY: gettid takes nothing and touches no memory.
    unsafe { libc::gettid() as u64 }
}

/// Names a thread of this process by its kernel number, as `ps -T` and `top -H` show it; the
/// kernel keeps 15 bytes.
pub fn set_name(thread: u64, name: &str) {
    // A thread that has ended has no file any more, and needs no name.
    let _ = std::fs::write(format!("/proc/self/task/{thread}/comm"), name);
}
