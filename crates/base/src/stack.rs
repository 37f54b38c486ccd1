//! A guard against running out of stack in recursive code.
//!
//! Recursive walks over what a user wrote call [`check`] at each level; it measures how far the
//! stack has grown since the highest place seen on this thread.

use crate::{Error, Result, SqlState};
use std::cell::Cell;

/// How much of the stack a statement may use, in bytes; threads must have more than that.
pub const LIMIT: usize = 1_200_000;

thread_local! {
    static BASE: Cell<usize> = const { Cell::new(0) };
}

/// Whether there is room for another level; 54001 if not.
#[inline]
pub fn check() -> Result<()> {
    let marker = 0u8;
    let here = std::ptr::from_ref(&marker) as usize;
    let base = BASE.get();
    if here > base {
        BASE.set(here);
        return Ok(());
    }
    if base - here > LIMIT { Err(too_deep()) } else { Ok(()) }
}

/// The error of [`check`], for those who count levels themselves.
#[cold]
pub fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(
        "Increase the configuration parameter \"max_stack_depth\" (currently 2048kB), \
         after ensuring the platform's stack depth limit is adequate.",
    )
}
