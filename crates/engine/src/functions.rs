//! Functions that only a session can run: settings, definitions of objects, sizes, locks.

use crate::{StatementEnv, sysfn};
use base::Result;
use functions::CallInfo;
use types::Datum;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    crate::sql_function::call(env, call, args)
        .or_else(|| crate::sequence_fn::call(env, call, args))
        .or_else(|| crate::advisory_fn::call(env, call, args))
        .or_else(|| crate::notify_fn::call(env, call, args))
        .or_else(|| crate::auth_files::call(env, call, args))
        .or_else(|| crate::large_object::call(env, call, args))
        .or_else(|| crate::stats::call(env, call, args))
        .or_else(|| crate::server_file_fn::call(env, call, args))
        .or_else(|| crate::wal_fn::call(env, call, args))
        .or_else(|| crate::statistics_fn::call(env, call, args))
        .or_else(|| crate::origin_fn::call(env, call, args))
        .or_else(|| sysfn::call(env, call, args))
        .or_else(|| crate::sql_function::call_built_in(env, call, args))
}

/// The rows of a set-returning one; `None` if it is not among them.
pub fn rows(
    env: &StatementEnv<'_>,
    call: &CallInfo,
    args: &[Datum],
) -> Option<Result<Vec<Vec<Datum>>>> {
    crate::sql_function::rows(env, call, args)
        .or_else(|| crate::sequence_fn::rows(env, call, args))
        .or_else(|| crate::notify_fn::rows(env, call, args))
        .or_else(|| crate::auth_files::rows(env, call, args))
        .or_else(|| crate::stats::rows(env, call, args))
        .or_else(|| crate::server_file_fn::rows(env, call, args))
        .or_else(|| crate::wal_fn::rows(env, call, args))
        .or_else(|| sysfn::rows(env, call, args))
        .or_else(|| crate::sql_function::rows_built_in(env, call, args))
}
