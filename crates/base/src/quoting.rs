//! Whether names are quoted that need not be: the setting `quote_all_identifiers` of the session
//! whose statement this thread runs.

use std::cell::Cell;

thread_local! {
    static ALL: Cell<bool> = const { Cell::new(false) };
}

/// Takes over the setting of the session whose statement begins.
#[inline]
pub fn set_all(all: bool) {
    ALL.set(all);
}

/// True if every name is to be quoted.
#[inline]
pub fn all() -> bool {
    ALL.get()
}
