//! A session that goes on with damaged pages: `zero_damaged_pages`, `ignore_checksum_failure`.

use super::SessionCore;
use base::Error;
use base::damage::Lenient;
use std::sync::{Arc, Weak};

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

/// Has this thread deal with damage as the session's settings say, until [`forget`].
pub(super) fn follow(core: &Arc<SessionCore>) {
    let settings = core.resolved();
    let (zeroes, ignores) = (settings.zero_damaged_pages, settings.ignore_checksums);
    base::damage::set((zeroes || ignores).then_some(|| -> Arc<dyn Lenient> {
        Arc::new(LenientSession { zeroes, ignores, core: Arc::downgrade(core) })
    }));
}

/// Damaged pages are errors on this thread from now on: its next work may be another session's.
pub(crate) fn forget() {
    base::damage::set(None::<fn() -> Arc<dyn Lenient>>);
}
