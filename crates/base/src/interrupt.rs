//! Whether what runs on this thread should go on: asked by loops that may take long and know no
//! session, as those over a pattern, a number's digits or a document.
//!
//! Who runs statements says with [`enter`] whom to ask; without it everything goes on.

use crate::Result;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

/// Who knows whether a statement is to go on.
pub trait Ask {
    /// Fails if it is cancelled or out of time.
    fn ask(&self) -> Result<()>;

    /// Fails for the same reasons, or if there is no memory for so many bytes more.
    fn room(&self, _bytes: usize) -> Result<()> {
        self.ask()
    }
}

thread_local! {
    static ASKED: RefCell<Vec<(u64, Arc<dyn Ask>)>> = const { RefCell::new(Vec::new()) };
    static LAST: Cell<u64> = const { Cell::new(0) };
    static TAKEN: Cell<u32> = const { Cell::new(0) };
}

/// Takes whom to ask away when dropped, in whatever order others are.
pub struct Entered {
    id: u64,
    // A guard belongs to its thread.
    _thread: PhantomData<Rc<()>>,
}

/// Has [`check`] ask this on this thread until the guard is dropped.
pub fn enter(asked: Arc<dyn Ask>) -> Entered {
    let id = LAST.get() + 1;
    LAST.set(id);
    ASKED.with_borrow_mut(|all| all.push((id, asked)));
    Entered { id, _thread: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        ASKED.with_borrow_mut(|all| all.retain(|a| a.0 != self.id));
    }
}

/// Fails if what runs here should not go on.
pub fn check() -> Result<()> {
    let last = ASKED.with_borrow(|all| all.last().map(|a| Arc::clone(&a.1)));
    last.map_or(Ok(()), |asked| asked.ask())
}

/// Bytes that are worth a question of their own.
const LARGE: usize = 1 << 20;

/// Fails if what runs here should not go on, or may not hold so many bytes more: what a value that
/// grows says before it does.
#[inline]
pub fn room(bytes: usize) -> Result<()> {
    if bytes < LARGE {
        return step_by(bytes >> 10);
    }
    let last = ASKED.with_borrow(|all| all.last().map(|a| Arc::clone(&a.1)));
    last.map_or(Ok(()), |asked| asked.room(bytes))
}

/// Steps of loops between two questions.
const STEPS: u32 = 1024;

/// Asks now and then: what a loop of short steps says in each of them.
#[inline]
pub fn step() -> Result<()> {
    step_by(1)
}

/// As [`step`], for what takes as long as so many steps.
#[inline]
pub fn step_by(n: usize) -> Result<()> {
    let steps = TAKEN.get().saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
    if steps < STEPS {
        TAKEN.set(steps);
        return Ok(());
    }
    TAKEN.set(0);
    check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::err;

    struct Refuses(&'static str);

    impl Ask for Refuses {
        fn ask(&self) -> Result<()> {
            Err(err!(QUERY_CANCELED, "{}", self.0))
        }
    }

    #[test]
    fn the_last_one_that_is_still_there_is_asked() {
        assert!(check().is_ok());
        let first = enter(Arc::new(Refuses("first")));
        let second = enter(Arc::new(Refuses("second")));
        assert_eq!(check().unwrap_err().message(), "second");
        drop(first);
        assert_eq!(check().unwrap_err().message(), "second");
        drop(second);
        assert!(check().is_ok());
    }

    #[test]
    fn steps_ask_now_and_then() {
        let _entered = enter(Arc::new(Refuses("stop")));
        let taken = (0..).position(|_| step().is_err()).unwrap();
        assert!(taken < STEPS as usize);
        assert!(step().is_ok());
        assert_eq!(step_by(usize::MAX).unwrap_err().message(), "stop");
    }
}
