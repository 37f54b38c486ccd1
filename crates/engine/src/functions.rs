//! Functions that only a session can run: settings, definitions of objects, sizes, locks.

use crate::StatementEnv;
use base::{Error, Oid, Result};
use functions::CallInfo;
use types::Datum;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let symbol = functions::builtin::proc(call.fn_oid)?.prosrc;
    let _ = args;
    match symbol {
        "pg_backend_pid" => Some(Ok(Datum::I32(env.core.backend.pid()))),
        _ => None,
    }
}

/// An argument that is an OID.
#[allow(dead_code)]
fn oid_arg(args: &[Datum], i: usize) -> Result<Oid> {
    match args.get(i) {
        Some(Datum::U32(n)) => Ok(Oid(*n)),
        _ => Err(Error::internal("an argument is no OID")),
    }
}
