//! What a session does that has to wait, for what is said about the wait: in the log while it
//! lasts, and in the error if it ends with one.

use base::{Error, Result, Tid};
use std::cell::Cell;

/// Bytes that names have at most.
const NAME: usize = 63;

#[derive(Clone, Copy)]
struct About {
    verb: &'static str,
    tid: Tid,
    /// The relation's name; a copy, so that waiting takes no count on what others use.
    name: [u8; NAME],
    len: u8,
}

thread_local! {
    static ABOUT: Cell<Option<About>> = const { Cell::new(None) };
}

thread_local! {
    static TELLS_FAILURES: Cell<bool> = const { Cell::new(false) };
}

/// Runs what locks a row without waiting; if `wanted`, the watcher of waits is told of a lock that
/// is not to be had.
pub fn telling_failures<R>(wanted: bool, lock: impl FnOnce() -> R) -> R {
    if !wanted {
        return lock();
    }
    TELLS_FAILURES.set(true);
    let result = lock();
    TELLS_FAILURES.set(false);
    result
}

pub(crate) fn tells_failures() -> bool {
    TELLS_FAILURES.get()
}

/// `while updating tuple (0,1) in relation "t"`, if that is known.
pub fn text() -> Option<String> {
    let about = ABOUT.get()?;
    let name = String::from_utf8_lossy(&about.name[..about.len as usize]);
    let (block, offset) = (about.tid.block.0, about.tid.offset);
    Some(format!("while {} tuple ({block},{offset}) in relation \"{name}\"", about.verb))
}

thread_local! {
    static PLACE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Where the statement names the relation that is waited for.
pub(crate) fn place() -> Option<u32> {
    PLACE.get()
}

/// Runs what may wait for the relation that the statement names at this byte; an error of the wait
/// is one of that place.
pub fn placed<R>(at: Option<u32>, wait: impl FnOnce() -> Result<R>) -> Result<R> {
    if at.is_none() {
        return wait();
    }
    PLACE.set(at);
    let result = wait();
    PLACE.set(None);
    result.map_err(|e| match e.code() {
        // Whoever cancels a statement does not mean a place in it.
        base::SqlState::QUERY_CANCELED => e,
        _ if e.is_parked() || e.fields().severity >= base::Severity::Fatal => e,
        _ => e.at(at),
    })
}

/// Runs the wait for the first place in a row's queue, of which nothing more is said: only who has
/// got there does something with the row.
pub(crate) fn queueing<R>(wait: impl FnOnce() -> Result<R>) -> Result<R> {
    let about = ABOUT.take();
    let result = wait();
    if result.is_ok() {
        ABOUT.set(about);
    }
    result
}

/// Runs what may wait for a row.
pub fn waiting<R>(
    verb: &'static str,
    tid: Tid,
    name: &str,
    wait: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let mut about = About { verb, tid, name: [0; NAME], len: name.len().min(NAME) as u8 };
    let len = about.len as usize;
    about.name[..len].copy_from_slice(&name.as_bytes()[..len]);
    ABOUT.set(Some(about));
    let result = wait();
    let told = |e: Error| match text() {
        Some(text) => e.context(text),
        None => e,
    };
    let result = result.map_err(|e| if e.is_parked() { e } else { told(e) });
    ABOUT.set(None);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_tell_what_waited() {
        let tid = Tid { block: base::BlockNo(3), offset: 7 };
        let failed: Result<()> = waiting("updating", tid, "t", || {
            assert_eq!(text().as_deref(), Some("while updating tuple (3,7) in relation \"t\""));
            Err(base::err!(T_R_DEADLOCK_DETECTED, "deadlock detected"))
        });
        let e = failed.unwrap_err();
        let context = e.fields().context.as_deref();
        assert_eq!(context, Some("while updating tuple (3,7) in relation \"t\""));
        assert_eq!(text(), None);
        let failed: Result<()> = waiting("updating", tid, "t", || {
            queueing(|| {
                assert_eq!(text(), None);
                Err(base::err!(LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout"))
            })
        });
        assert_eq!(failed.unwrap_err().fields().context, None);
    }

    #[test]
    fn errors_have_the_place_of_the_name() {
        let late =
            || Err(base::err!(LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout"));
        let failed: Result<()> = placed(Some(7), || {
            assert_eq!(place(), Some(7));
            late()
        });
        assert_eq!((failed.unwrap_err().fields().location, place()), (Some(7), None));
        let cancelled =
            || Err(base::err!(QUERY_CANCELED, "canceling statement due to user request"));
        let failed: Result<()> = placed(Some(7), cancelled);
        assert_eq!(failed.unwrap_err().fields().location, None);
        let failed: Result<()> = placed(None, late);
        assert_eq!(failed.unwrap_err().fields().location, None);
    }
}
