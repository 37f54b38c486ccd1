//! What is done about pages that are damaged on disk, where a superuser wants to read what is left
//! (`zero_damaged_pages`, `ignore_checksum_failure`): said by who runs statements for its thread,
//! asked by who reads pages. Without it a damaged page is an error.

use crate::Error;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Somebody who goes on with damaged pages.
pub trait Lenient: Send + Sync {
    /// A page with sane limits is taken as it is, whatever its checksum says.
    fn ignores_checksums(&self) -> bool;
    /// A page that cannot be used counts as empty.
    fn zeroes_pages(&self) -> bool;
    /// What was done about a page.
    fn warn(&self, warning: Error);
}

thread_local! {
    static ANY: Cell<bool> = const { Cell::new(false) };
    static WHO: RefCell<Option<Arc<dyn Lenient>>> = const { RefCell::new(None) };
}

/// Says how this thread deals with damage from now on.
#[inline]
pub fn set(lenient: Option<impl FnOnce() -> Arc<dyn Lenient>>) {
    if lenient.is_some() || ANY.get() {
        ANY.set(lenient.is_some());
        WHO.set(lenient.map(|who| who()));
    }
}

/// Who goes on with damaged pages on this thread.
pub fn lenient() -> Option<Arc<dyn Lenient>> {
    WHO.with_borrow(Clone::clone)
}
