//! The deterministic scheduler. Simulated threads are real threads of which one runs; at each
//! door (sleep, wake, contended lock, file operation, spawn, join) the seed decides who is next.
//!
//! A stop (crash, deadlock, panic, end of the main thread) unwinds every other thread: each is
//! woken where it waits and leaves with a panic that carries [`SimStop`]. While a thread
//! unwinds, doors let it pass, so that destructors may use them.

use crate::random::Rng;
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

thread_local! {
    static CURRENT: RefCell<Option<(Arc<Sched>, usize)>> = const { RefCell::new(None) };
}

/// The simulation this thread runs in.
#[inline]
pub(crate) fn current() -> Option<Arc<Sched>> {
    // During the thread's own end the key may be gone; then it is outside.
    CURRENT.try_with(|c| c.borrow().as_ref().map(|(s, _)| s.clone())).ok().flatten()
}

fn my_id() -> usize {
    CURRENT.with(|c| c.borrow().as_ref().map_or(0, |(_, id)| *id))
}

/// What unwinds a simulated thread when the simulation stops.
struct SimStop;

/// Why a simulation ended.
#[derive(Debug)]
pub enum Stop<R> {
    /// The main function returned.
    Finished(R),
    /// The machine crashed, by the disk's faults or by [`Sim::crash`].
    Crashed,
    /// All threads waited for each other; with what each waited for.
    Deadlock(String),
    /// A thread panicked; with its name and message.
    Panicked(String),
    /// More doors were passed than allowed: threads spin without progress.
    TooLong,
}

impl<R> Stop<R> {
    /// What the main function returned; panics with the reason if it did not return.
    pub fn finished(self) -> R {
        match self {
            Stop::Finished(r) => r,
            Stop::Crashed => panic!("simulation crashed"),
            Stop::Deadlock(s) => panic!("simulation deadlocked: {s}"),
            Stop::Panicked(s) => panic!("simulated thread panicked: {s}"),
            Stop::TooLong => panic!("simulation makes no progress"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Reason {
    End,
    Crash,
    Deadlock(String),
    Panic(String),
    TooLong,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Runnable,
    Waiting { address: Option<usize>, deadline: Option<u64> },
    Joining(usize),
    Finished,
}

struct Thread {
    name: String,
    state: State,
    woken: bool,
    turn: Arc<Condvar>,
}

struct Inner {
    threads: Vec<Thread>,
    running: usize,
    live: usize,
    rng: Rng,
    now: u64,
    steps: u64,
    max_steps: u64,
    stop: Option<Reason>,
}

/// One simulation's scheduler.
pub struct Sched {
    inner: Mutex<Inner>,
    all_gone: Condvar,
}

/// A simulation: a seed and the scheduler it drives.
pub struct Sim {
    seed: u64,
    max_steps: u64,
}

impl Sim {
    /// The simulation of this seed.
    pub fn new(seed: u64) -> Sim {
        Sim { seed, max_steps: 5_000_000 }
    }

    /// Allows so many doors before the run counts as stuck.
    pub fn max_steps(mut self, n: u64) -> Sim {
        self.max_steps = n;
        self
    }

    /// Runs `main` as the first simulated thread until it returns or the simulation stops, and
    /// all threads are gone.
    pub fn run<R: Send>(self, main: impl FnOnce() -> R + Send) -> Stop<R> {
        let sched = Arc::new(Sched {
            inner: Mutex::new(Inner {
                threads: vec![],
                running: 0,
                live: 0,
                rng: Rng::new(self.seed),
                now: 0,
                steps: 0,
                max_steps: self.max_steps,
                stop: None,
            }),
            all_gone: Condvar::new(),
        });
        let mut result = None;
        sched.add_thread("main");
        std::thread::scope(|scope| {
            let inside = sched.clone();
            let slot = &mut result;
            scope.spawn(move || {
                run_thread(inside, 0, || *slot = Some(main()));
            });
        });
        let mut inner = sched.lock();
        while inner.live > 0 {
            inner = sched.all_gone.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        match (inner.stop.take(), result) {
            (Some(Reason::Crash), _) => Stop::Crashed,
            (Some(Reason::Deadlock(s)), _) => Stop::Deadlock(s),
            (Some(Reason::Panic(s)), _) => Stop::Panicked(s),
            (Some(Reason::TooLong), _) => Stop::TooLong,
            (_, Some(r)) => Stop::Finished(r),
            (_, None) => Stop::Panicked("main returned nothing".into()),
        }
    }

    /// True on a simulated thread.
    pub fn is_inside() -> bool {
        current().is_some()
    }

    /// Stops the machine this thread runs on: all its threads unwind, this one at once. What
    /// survives on disk is [`super::SimDisk::power_cycle`]'s to say. Does nothing outside.
    pub fn crash() {
        if let Some(sched) = current() {
            sched.stop(Reason::Crash);
        }
    }
}

/// The body of a simulated thread: waits for its first turn, runs, and passes the turn on.
pub(crate) fn run_thread(sched: Arc<Sched>, id: usize, body: impl FnOnce()) {
    CURRENT.with(|c| *c.borrow_mut() = Some((sched.clone(), id)));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let inner = sched.lock();
        drop(sched.await_turn(inner, id));
        sched.raise_if_stopped();
        body();
    }));
    CURRENT.with(|c| *c.borrow_mut() = None);
    let mut inner = sched.lock();
    inner.threads[id].state = State::Finished;
    inner.live -= 1;
    for t in &mut inner.threads {
        if t.state == State::Joining(id) {
            t.state = State::Runnable;
        }
    }
    if let Err(payload) = outcome
        && !payload.is::<SimStop>()
        && inner.stop.is_none()
    {
        let name = inner.threads[id].name.clone();
        inner.stop = Some(Reason::Panic(format!("{name}: {}", panic_text(&*payload))));
    }
    if id == 0 && inner.stop.is_none() {
        inner.stop = Some(Reason::End);
    }
    if inner.stop.is_some() {
        inner.wake_all();
    } else {
        inner.choose_next(None);
    }
    if inner.live == 0 {
        sched.all_gone.notify_all();
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(s), _) => s.to_string(),
        (_, Some(s)) => s.clone(),
        _ => "panic".to_string(),
    }
}

impl Inner {
    fn wake_all(&mut self) {
        for t in &self.threads {
            t.turn.notify_all();
        }
    }

    /// Picks who runs next and wakes it; `except` is passed over if anybody else can run.
    fn choose_next(&mut self, except: Option<usize>) {
        self.steps += 1;
        self.now += 1 + self.rng.below(10);
        if self.steps > self.max_steps {
            self.stop = Some(Reason::TooLong);
            return self.wake_all();
        }
        loop {
            self.expire_timers();
            let can = |i: &usize, t: &Thread| t.state == State::Runnable && Some(*i) != except;
            let count = self.threads.iter().enumerate().filter(|(i, t)| can(i, t)).count();
            if count > 0 {
                let pick = self.rng.below(count as u64) as usize;
                let chosen =
                    (0..self.threads.len()).filter(|i| can(i, &self.threads[*i])).nth(pick);
                self.running = chosen.unwrap_or(0);
                self.threads[self.running].turn.notify_all();
                return;
            }
            let next = self.threads.iter().filter_map(|t| match t.state {
                State::Waiting { deadline, .. } => deadline,
                _ => None,
            });
            match next.min() {
                Some(deadline) => self.now = self.now.max(deadline),
                None => break,
            }
        }
        // Nobody else can run. One that only looks for a free lock keeps looking in vain.
        if self.live > 0 {
            let all: Vec<String> = self
                .threads
                .iter()
                .filter(|t| t.state != State::Finished)
                .map(|t| format!("{} {:?}", t.name, t.state))
                .collect();
            self.stop = Some(Reason::Deadlock(all.join("; ")));
            self.wake_all();
        }
    }

    fn expire_timers(&mut self) {
        for t in &mut self.threads {
            if let State::Waiting { deadline: Some(d), .. } = t.state
                && d <= self.now
            {
                t.state = State::Runnable;
                t.woken = false;
            }
        }
    }
}

impl Sched {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn await_turn<'a>(&self, mut inner: MutexGuard<'a, Inner>, me: usize) -> MutexGuard<'a, Inner> {
        let turn = inner.threads[me].turn.clone();
        while inner.running != me && inner.stop.is_none() {
            inner = turn.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner
    }

    /// Unwinds this thread if the simulation has stopped; a thread that unwinds already passes.
    fn raise_if_stopped(&self) -> bool {
        let stopped = self.lock().stop.is_some();
        if stopped && !std::thread::panicking() {
            resume_unwind(Box::new(SimStop));
        }
        stopped
    }

    /// Passes the turn. False if the simulation has stopped and this thread unwinds.
    fn switch(&self, inner: MutexGuard<'_, Inner>, except: Option<usize>) -> bool {
        let mut inner = inner;
        if inner.stop.is_none() && !std::thread::panicking() {
            let me = my_id();
            inner.choose_next(except);
            inner = self.await_turn(inner, me);
        }
        drop(inner);
        !self.raise_if_stopped()
    }

    /// A moment at which another thread may take over.
    pub(crate) fn door(&self) {
        self.switch(self.lock(), None);
    }

    /// A moment at which another thread must take over, if one can.
    pub(crate) fn yield_to_others(&self) {
        let inner = self.lock();
        let others = inner.threads.iter().enumerate().any(|(i, t)| {
            i != my_id()
                && matches!(t.state, State::Runnable | State::Waiting { deadline: Some(_), .. })
        });
        let except = others.then(my_id);
        self.switch(inner, except);
    }

    /// For lock loops: lets another thread run; false if this one unwinds and should use the
    /// real lock, as the owner, unwinding too, is about to let go.
    pub(crate) fn wait_turn(&self) -> bool {
        self.switch(self.lock(), Some(my_id()))
    }

    /// Sleeps on `address` until woken or until `timeout`; false if the time ran out.
    pub(crate) fn wait(&self, address: Option<usize>, timeout: Option<Duration>) -> bool {
        let mut inner = self.lock();
        if inner.stop.is_none() && !std::thread::panicking() {
            let deadline = timeout.map(|t| inner.now + t.as_micros().max(1) as u64);
            let me = my_id();
            inner.threads[me].state = State::Waiting { address, deadline };
            inner.threads[me].woken = true;
        } else {
            drop(inner);
            std::thread::yield_now();
            self.raise_if_stopped();
            return true;
        }
        self.switch(inner, None);
        self.lock().threads[my_id()].woken
    }

    /// Wakes up to `n` sleepers on `address`.
    pub(crate) fn wake(&self, address: usize, n: u32) -> usize {
        let mut inner = self.lock();
        let mut woken = 0;
        while woken < n as usize {
            let on = |t: &Thread| match t.state {
                State::Waiting { address: a, .. } => a == Some(address),
                _ => false,
            };
            let count = inner.threads.iter().filter(|t| on(t)).count();
            if count == 0 {
                break;
            }
            let pick = inner.rng.below(count as u64) as usize;
            if let Some(t) = inner.threads.iter_mut().filter(|t| on(t)).nth(pick) {
                t.state = State::Runnable;
                t.woken = true;
            }
            woken += 1;
        }
        self.switch(inner, None);
        woken
    }

    pub(crate) fn add_thread(&self, name: &str) -> usize {
        let mut inner = self.lock();
        inner.threads.push(Thread {
            name: name.to_string(),
            state: State::Runnable,
            woken: false,
            turn: Arc::new(Condvar::new()),
        });
        inner.live += 1;
        inner.threads.len() - 1
    }

    pub(crate) fn forget_thread(&self, id: usize) {
        let mut inner = self.lock();
        inner.threads[id].state = State::Finished;
        inner.live -= 1;
    }

    pub(crate) fn is_finished(&self, id: usize) -> bool {
        self.lock().threads[id].state == State::Finished
    }

    pub(crate) fn join(&self, id: usize) {
        let mut inner = self.lock();
        if inner.threads[id].state == State::Finished {
            return;
        }
        if inner.stop.is_none() && !std::thread::panicking() {
            let me = my_id();
            inner.threads[me].state = State::Joining(id);
            self.switch(inner, None);
        } else {
            drop(inner);
            self.raise_if_stopped();
        }
    }

    pub(crate) fn now_micros(&self) -> u64 {
        let mut inner = self.lock();
        inner.now += 1;
        inner.now
    }

    pub(crate) fn random(&self) -> u64 {
        self.lock().rng.next_u64()
    }

    fn stop(&self, reason: Reason) {
        let mut inner = self.lock();
        if inner.stop.is_none() {
            inner.stop = Some(reason);
            inner.wake_all();
        }
        drop(inner);
        self.raise_if_stopped();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::{Condvar as SimCondvar, Mutex as SimMutex};

    fn interleaving(seed: u64) -> Vec<u32> {
        Sim::new(seed)
            .run(|| {
                let log = Arc::new(SimMutex::new(vec![]));
                let handles: Vec<_> = (0..3)
                    .map(|i| {
                        let log = log.clone();
                        crate::thread::spawn("t", move || {
                            for n in 0..5 {
                                log.lock().push(i * 10 + n);
                                crate::thread::yield_now();
                            }
                        })
                        .unwrap()
                    })
                    .collect();
                for h in handles {
                    h.join().unwrap();
                }
                std::mem::take(&mut *log.lock())
            })
            .finished()
    }

    #[test]
    fn a_seed_replays_exactly() {
        let all: Vec<_> = (0..20).map(interleaving).collect();
        for (seed, log) in all.iter().enumerate() {
            assert_eq!(*log, interleaving(seed as u64));
            assert_eq!(log.len(), 15);
        }
        assert!(all.iter().any(|l| *l != all[0]));
    }

    #[test]
    fn a_deadlock_is_found() {
        let stop = Sim::new(1).run(|| {
            let pair = (SimMutex::new(()), SimCondvar::new());
            drop(pair.1.wait(pair.0.lock()));
        });
        assert!(matches!(stop, Stop::Deadlock(_)));
    }

    #[test]
    fn a_crash_unwinds_all() {
        struct Count(Arc<std::sync::atomic::AtomicUsize>);
        impl Drop for Count {
            fn drop(&mut self) {
                self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let stop = Sim::new(5).run(|| {
            for _ in 0..4 {
                let guard = Count(count.clone());
                crate::thread::spawn("sleeper", move || {
                    let _guard = guard;
                    let pair = (SimMutex::new(()), SimCondvar::new());
                    drop(pair.1.wait(pair.0.lock()));
                })
                .unwrap();
            }
            crate::thread::sleep(Duration::from_secs(1));
            Sim::crash();
        });
        assert!(matches!(stop, Stop::Crashed));
        assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 4);
    }

    #[test]
    fn virtual_time_costs_nothing() {
        let slept = Sim::new(1)
            .run(|| {
                let before = crate::clock::now_micros();
                crate::thread::sleep(Duration::from_secs(3600));
                crate::clock::now_micros() - before
            })
            .finished();
        assert!(slept >= 3_600_000_000);
    }

    #[test]
    fn a_panic_is_reported() {
        let stop = Sim::new(1).run(|| {
            let t = crate::thread::spawn("bad", || resume_unwind(Box::new("broken"))).unwrap();
            let _: Result<(), _> = t.join();
        });
        assert!(matches!(stop, Stop::Panicked(s) if s == "bad: broken"));
    }
}
