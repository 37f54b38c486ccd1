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
    /// `max_stack_depth` of the session, in kB.
    static DEPTH_MAX: Cell<u32> = const { Cell::new(DEFAULT_DEPTH) };
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
    let limit = match DEPTH_MAX.get() {
        kilobytes if kilobytes < DEFAULT_DEPTH => kilobytes as usize * 1024,
        _ => LIMIT,
    };
    if base - here > limit.min(LIMIT) { Err(too_deep()) } else { Ok(()) }
}

/// Sets `max_stack_depth` for what this thread runs; more than the default changes nothing but
/// what is told.
pub fn set_depth(kilobytes: u32) {
    DEPTH_MAX.set(kilobytes);
}

/// The default of `max_stack_depth`, in kB.
const DEFAULT_DEPTH: u32 = 2048;

/// The error of [`check`], for those who count levels themselves.
#[cold]
pub fn too_deep() -> Error {
    let kilobytes = DEPTH_MAX.get();
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded").hint(format!(
        "Increase the configuration parameter \"max_stack_depth\" (currently {kilobytes}kB), \
         after ensuring the platform's stack depth limit is adequate."
    ))
}
