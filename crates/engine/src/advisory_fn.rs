//! Advisory locks: of sessions, given back by hand, and of transactions.

use crate::StatementEnv;
use base::{Error, Result, Severity, SqlState};
use functions::CallInfo;
use txn::{LockMode, LockTag, Wait};
use types::Datum;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    if !matches!(call.fn_oid.0, 2880..=2892 | 3089..=3096) {
        return None;
    }
    let row = functions::builtin::proc(call.fn_oid)?;
    Some(run(env, row.proname, args))
}

fn run(env: &StatementEnv<'_>, name: &str, args: &[Datum]) -> Result<Datum> {
    let backend = &env.core.backend;
    if name == "pg_advisory_unlock_all" {
        backend.unlock_all_advisory();
        return Ok(Datum::text(""));
    }
    let mode = match name.ends_with("_shared") {
        true => LockMode::Share,
        false => LockMode::Exclusive,
    };
    let tag = tag(env, args);
    if name.starts_with("pg_advisory_unlock") {
        let held = backend.unlock_session(tag, mode);
        if !held {
            let word = if mode == LockMode::Share { "ShareLock" } else { "ExclusiveLock" };
            env.core.notice(Error::with_severity(
                Severity::Warning,
                SqlState::WARNING,
                format!("you don't own a lock of type {word}"),
            ));
        }
        return Ok(Datum::Bool(held));
    }
    let tries = name.starts_with("pg_try_");
    let outcome = match (name.contains("_xact_"), tries) {
        (true, true) => env.core.txn()?.try_lock(tag, mode)?,
        (true, false) => env.core.txn()?.lock(tag, mode)?,
        (false, true) => backend.lock_session(tag, mode, Wait::NoWait)?,
        (false, false) => backend.lock_session(tag, mode, Wait::Block)?,
    };
    Ok(match tries {
        true => Datum::Bool(outcome.is_held()),
        false => Datum::text(""),
    })
}

/// One key of 64 bits, or two of 32: they never meet.
fn tag(env: &StatementEnv<'_>, args: &[Datum]) -> LockTag {
    let db = env.core.state.oid;
    match args {
        [Datum::I32(a), Datum::I32(b)] => {
            LockTag::Advisory { db, key1: *a as u32, key2: *b as u32, kind: 2 }
        }
        [Datum::I64(n), ..] => {
            LockTag::Advisory { db, key1: (*n >> 32) as u32, key2: *n as u32, kind: 1 }
        }
        _ => LockTag::Advisory { db, key1: 0, key2: 0, kind: 1 },
    }
}
