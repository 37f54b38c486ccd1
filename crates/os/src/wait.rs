//! The seam: whoever is about to wait says so first, with [`begin`]. The server hangs its
//! reactor's hand-over and `pg_stat_activity` on it; a thread without a hook pays one
//! thread-local load.

pub use base::WaitEvent;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

/// What a thread wants to do before and after it waits.
pub trait WaitHook {
    /// The thread may block from here on.
    fn before_wait(&self, event: WaitEvent);
    /// The thread goes on.
    fn after_wait(&self);
}

/// Threads whose waits can be seen by others.
const SEEN: usize = 4096;
/// What each of them waits for.
static EVENTS: [AtomicU16; SEEN] = [const { AtomicU16::new(0) }; SEEN];
/// The kernel's number of each of them.
static KERNEL_IDS: [AtomicU32; SEEN] = [const { AtomicU32::new(0) }; SEEN];
static NEXT: AtomicU32 = AtomicU32::new(1);

thread_local! {
    /// The thread's place in the list; 0 until it wants one.
    static PLACE: Cell<u32> = const { Cell::new(0) };
}

/// The thread's number in the list of waits; threads beyond the list have 0.
#[inline]
pub fn thread_place() -> u32 {
    match PLACE.with(|p| p.get()) {
        0 => {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let n = if (n as usize) < SEEN { n } else { 0 };
            KERNEL_IDS[n as usize].store(crate::thread::id() as u32, Ordering::Relaxed);
            PLACE.with(|p| p.set(n));
            n
        }
        n => n,
    }
}

/// What the thread of this number waits for.
pub fn event_of(place: u32) -> WaitEvent {
    let n = EVENTS.get(place as usize).map_or(0, |e| e.load(Ordering::Relaxed));
    WaitEvent::from_u16(n)
}

/// The kernel's number of the thread of this number; none if it is not in the list.
pub fn kernel_id_of(place: u32) -> Option<u64> {
    let id = KERNEL_IDS.get(place as usize).filter(|_| place != 0)?.load(Ordering::Relaxed);
    (id != 0).then_some(u64::from(id))
}

fn note(event: u16) {
    let place = PLACE.with(|p| p.get()) as usize;
    if place != 0 {
        EVENTS[place].store(event, Ordering::Relaxed);
    }
}

thread_local! {
    static HOOKED: Cell<bool> = const { Cell::new(false) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static HOOK: RefCell<Option<Rc<dyn WaitHook>>> = const { RefCell::new(None) };
}

/// Sets this thread's hook; gives back the one it had.
pub fn set_hook(hook: Option<Rc<dyn WaitHook>>) -> Option<Rc<dyn WaitHook>> {
    HOOKED.with(|h| h.set(hook.is_some()));
    HOOK.with(|h| std::mem::replace(&mut *h.borrow_mut(), hook))
}

/// Says that this thread is about to wait for `event`, until the guard is dropped. Of nested
/// waits only the outermost reaches the hook.
#[inline]
pub fn begin(event: WaitEvent) -> Guard {
    if !HOOKED.with(|h| h.get()) {
        return Guard { hook: None, counted: false };
    }
    begin_hooked(event)
}

#[cold]
fn begin_hooked(event: WaitEvent) -> Guard {
    let depth = DEPTH.with(|d| d.replace(d.get() + 1));
    if depth == 0 {
        note(event as u16);
    }
    let hook = if depth == 0 { HOOK.with(|h| h.borrow().clone()) } else { None };
    if let Some(hook) = &hook {
        hook.before_wait(event);
    }
    Guard { hook, counted: true }
}

/// While it lives, the thread counts as waiting.
#[must_use]
pub struct Guard {
    hook: Option<Rc<dyn WaitHook>>,
    counted: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.counted {
            let depth = DEPTH.with(|d| {
                d.set(d.get() - 1);
                d.get()
            });
            if depth == 0 {
                note(0);
            }
        }
        if let Some(hook) = self.hook.take() {
            hook.after_wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Log(RefCell<Vec<&'static str>>);
    impl WaitHook for Log {
        fn before_wait(&self, event: WaitEvent) {
            self.0.borrow_mut().push(event.name().unwrap_or("-"));
        }
        fn after_wait(&self) {
            self.0.borrow_mut().push("after");
        }
    }

    #[test]
    fn only_the_outermost_wait_is_told() {
        let log = Rc::new(Log(RefCell::new(vec![])));
        let before = set_hook(Some(log.clone()));
        {
            let _a = begin(WaitEvent::WalSync);
            let _b = begin(WaitEvent::DataFileRead);
        }
        drop(begin(WaitEvent::DataFileRead));
        set_hook(before);
        drop(begin(WaitEvent::DataFileRead));
        assert_eq!(*log.0.borrow(), ["WalSync", "after", "DataFileRead", "after"]);
    }
}
