//! How this thread's updates went, for `n_tup_hot_upd` and `n_tup_newpage_upd`.

use std::cell::Cell;

thread_local! {
    static UPDATES: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// A row was updated in its page, without new index entries if `hot`.
#[inline]
pub(super) fn updated_in_page(hot: bool) {
    let (n, elsewhere) = UPDATES.get();
    UPDATES.set((n + u64::from(hot), elsewhere));
}

/// A row's new version went to another page.
pub(super) fn updated_elsewhere() {
    let (n, elsewhere) = UPDATES.get();
    UPDATES.set((n, elsewhere + 1));
}

/// This thread's updates since the last time: without new index entries, and to another page.
pub fn take_update_counts() -> (u64, u64) {
    UPDATES.take()
}
