//! What a session's settings have the thread do that runs its statements: go on with damaged pages
//! (`zero_damaged_pages`, `ignore_checksum_failure`), quote all names (`quote_all_identifiers`),
//! compress values and images of pages (`default_toast_compression`, `wal_compression`).

use super::SessionCore;
use crate::settings::Resolved;
use base::Error;
use base::damage::Lenient;
use std::cell::Cell;
use std::sync::{Arc, Weak};
use types::tuple::Compression;

struct LenientSession {
    zeroes: bool,
    ignores: bool,
    /// The thread may remember who it was lenient for when the session is gone.
    core: Weak<SessionCore>,
}

impl Lenient for LenientSession {
    fn ignores_checksums(&self) -> bool {
        self.ignores
    }

    fn zeroes_pages(&self) -> bool {
        self.zeroes
    }

    fn warn(&self, warning: Error) {
        if let Some(core) = self.core.upgrade() {
            core.notice(warning);
        }
    }
}

thread_local! {
    /// Between [`follow`] and [`forget`].
    static FOLLOWS: Cell<bool> = const { Cell::new(false) };
}

/// Has this thread do as the session's settings say, until [`forget`].
pub(super) fn follow(core: &Arc<SessionCore>) {
    let settings = core.resolved();
    FOLLOWS.set(true);
    changed(&settings);
    let (zeroes, ignores) = (settings.zero_damaged_pages, settings.ignore_checksums);
    base::damage::set((zeroes || ignores).then_some(|| -> Arc<dyn Lenient> {
        Arc::new(LenientSession { zeroes, ignores, core: Arc::downgrade(core) })
    }));
}

/// The settings of the session that this thread works for are different now.
pub(crate) fn changed(settings: &Resolved) {
    if FOLLOWS.get() {
        base::quoting::set_all(settings.quote_all);
        settings.toast_compression.set_default_of_thread();
        wal::compress_images(Some(settings.wal_compression));
    }
}

/// The thread does nothing of that from now on: its next work may be another session's.
pub(crate) fn forget() {
    FOLLOWS.set(false);
    base::quoting::set_all(false);
    Compression::Pglz.set_default_of_thread();
    wal::compress_images(None);
    base::damage::set(None::<fn() -> Arc<dyn Lenient>>);
}
