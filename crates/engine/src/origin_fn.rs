//! Replication origins by name: made, found and dropped. How far each has come is kept by who
//! applies changes, which nobody does yet.

use crate::StatementEnv;
use base::{Error, Oid, Result, bail, err};
use catalog::{RowStore, RowWriter, SysRow, oids};
use functions::CallInfo;
use types::Datum;

const EXCLUSIVE: u8 = 7;
/// `pg_replication_origin_roname_index`
const NAME_INDEX: Oid = Oid(6002);
const NAME_LENGTH_MAX: usize = 512;
/// Origins are numbered in two bytes; the greatest number means none.
const NUMBERS: std::ops::Range<u32> = 1..0xFFFF;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let name = functions::builtin::proc(call.fn_oid)?.proname;
    let number = |oid: Option<Oid>| oid.map_or(Datum::Null, |o| Datum::U32(o.0));
    Some(match name {
        "pg_replication_origin_create" => create(env, args[0].as_str()),
        "pg_replication_origin_oid" => find(env, args[0].as_str()).map(number),
        "pg_replication_origin_drop" => drop_origin(env, args[0].as_str()),
        "pg_replication_origin_session_is_setup" => Ok(Datum::Bool(false)),
        "pg_replication_origin_session_reset"
        | "pg_replication_origin_session_progress"
        | "pg_replication_origin_xact_setup" => {
            Err(err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "no replication origin is configured"))
        }
        // A transaction that was not set up has nothing to forget.
        "pg_replication_origin_xact_reset" => Ok(Datum::Null),
        // One that never advanced is nowhere.
        "pg_replication_origin_progress" => existing(env, args[0].as_str()).map(|_| Datum::Null),
        _ => return None,
    })
}

fn row_of(env: &StatementEnv<'_>, name: &str) -> Result<Option<SysRow>> {
    let key = [Datum::text(name)];
    let found = env.core.store.index_scan(NAME_INDEX, &key)?;
    Ok(found.into_iter().next())
}

fn find(env: &StatementEnv<'_>, name: &str) -> Result<Option<Oid>> {
    row_of(env, name)?.map(|row| row.oid("roident")).transpose()
}

fn missing(name: &str) -> Error {
    err!(UNDEFINED_OBJECT, "replication origin \"{name}\" does not exist")
}

fn existing(env: &StatementEnv<'_>, name: &str) -> Result<Oid> {
    find(env, name)?.ok_or_else(|| missing(name))
}

fn create(env: &StatementEnv<'_>, name: &str) -> Result<Datum> {
    if matches!(name, "any" | "none") || name.starts_with("pg_") {
        return Err(err!(RESERVED_NAME, "replication origin name \"{name}\" is reserved").detail(
            "Origin names \"any\", \"none\", and names starting with \"pg_\" are reserved.",
        ));
    }
    if name.len() > NAME_LENGTH_MAX {
        return Err(err!(PROGRAM_LIMIT_EXCEEDED, "replication origin name is too long").detail(
            format!("Replication origin names must be no longer than {NAME_LENGTH_MAX} bytes."),
        ));
    }
    // Numbers are given out by one at a time.
    env.core.lock_relation(oids::PG_REPLICATION_ORIGIN, EXCLUSIVE)?;
    if find(env, name)?.is_some() {
        return Err(err!(
            UNIQUE_VIOLATION,
            "duplicate key value violates unique constraint \"pg_replication_origin_roname_index\""
        )
        .detail(format!("Key (roname)=({name}) already exists.")));
    }
    let rows = &env.core.store;
    let taken = rows
        .table_scan(oids::PG_REPLICATION_ORIGIN)?
        .iter()
        .map(|row| row.oid("roident").map(|o| o.0))
        .collect::<Result<std::collections::HashSet<u32>>>()?;
    let Some(number) = NUMBERS.into_iter().find(|n| !taken.contains(n)) else {
        bail!(PROGRAM_LIMIT_EXCEEDED, "could not find free replication origin ID");
    };
    let mut row = SysRow::new(oids::PG_REPLICATION_ORIGIN)?;
    row.set_oid("roident", Oid(number))?.set("roname", Datum::text(name))?;
    rows.insert(row)?;
    Ok(Datum::U32(number))
}

fn drop_origin(env: &StatementEnv<'_>, name: &str) -> Result<Datum> {
    env.core.lock_relation(oids::PG_REPLICATION_ORIGIN, EXCLUSIVE)?;
    let row = row_of(env, name)?.ok_or_else(|| missing(name))?;
    env.core.store.delete(&row)?;
    Ok(Datum::Null)
}
