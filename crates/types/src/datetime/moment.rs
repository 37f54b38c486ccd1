//! Whether the present was looked at: what a text such as `today` means is not for later.

use std::cell::Cell;

thread_local! {
    static READ: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the value of a text depends on when it is read.
pub(crate) fn note_read() {
    READ.set(true);
}

/// Does `work`; also tells whether a text was read meanwhile, on this thread, whose value depends
/// on when it is read.
pub fn watch_present<R>(work: impl FnOnce() -> R) -> (R, bool) {
    let before = READ.replace(false);
    let result = work();
    let read = READ.get();
    READ.set(before || read);
    (result, read)
}
