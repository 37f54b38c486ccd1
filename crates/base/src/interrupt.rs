//! Whether what runs on this thread should go on: asked by loops that may take long and know no
//! session, as those over a pattern, a number's digits or a document.
//!
//! Who runs statements says with [`enter`] whom to ask; without it everything goes on.

use crate::Result;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

/// Fails if the statement is cancelled or out of time.
pub type Check = Rc<dyn Fn() -> Result<()>>;

thread_local! {
    static CHECKS: RefCell<Vec<(u64, Check)>> = const { RefCell::new(Vec::new()) };
    static LAST: Cell<u64> = const { Cell::new(0) };
}

/// Takes its check away when dropped, in whatever order others are.
pub struct Entered {
    id: u64,
    // A guard belongs to its thread.
    _thread: PhantomData<Rc<()>>,
}

/// Has [`check`] ask this on this thread until the guard is dropped.
pub fn enter(ask: Check) -> Entered {
    let id = LAST.get() + 1;
    LAST.set(id);
    CHECKS.with_borrow_mut(|all| all.push((id, ask)));
    Entered { id, _thread: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CHECKS.with_borrow_mut(|all| all.retain(|c| c.0 != self.id));
    }
}

/// Fails if what runs here should not go on.
pub fn check() -> Result<()> {
    let last = CHECKS.with_borrow(|all| all.last().map(|c| Rc::clone(&c.1)));
    last.map_or(Ok(()), |ask| ask())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::err;

    #[test]
    fn the_last_one_that_is_still_there_is_asked() {
        assert!(check().is_ok());
        let first = enter(Rc::new(|| Err(err!(QUERY_CANCELED, "first"))));
        let second = enter(Rc::new(|| Err(err!(QUERY_CANCELED, "second"))));
        assert_eq!(check().unwrap_err().message(), "second");
        drop(first);
        assert_eq!(check().unwrap_err().message(), "second");
        drop(second);
        assert!(check().is_ok());
    }
}
