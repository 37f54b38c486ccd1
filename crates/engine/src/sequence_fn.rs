//! `nextval` and its relatives.

use crate::StatementEnv;
use crate::session::SequenceCache;
use access::sequence::{Sequence, SequenceOptions};
use base::{Error, Oid, Result, bail, err};
use catalog::{Persistence, RelKind, RelationDesc, SequenceDesc};
use functions::CallInfo;
use std::sync::Arc;
use types::Datum;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let oid = |i: usize| match args.get(i) {
        Some(Datum::U32(n)) => Oid(*n),
        _ => Oid::INVALID,
    };
    let number = |i: usize| match args.get(i) {
        Some(Datum::I64(n)) => *n,
        _ => 0,
    };
    Some(match call.fn_oid.0 {
        // What an identity column takes needs no right on its sequence: the call has no type.
        1574 => {
            let checked = !call.arg_types.is_empty();
            next_value(env, oid(0), checked).map(Datum::I64)
        }
        1575 => current_value(env, oid(0)).map(Datum::I64),
        1576 => set_value(env, oid(0), number(1), true),
        1765 => set_value(env, oid(0), number(1), matches!(args.get(2), Some(Datum::Bool(true)))),
        2559 => last_value(env).map(Datum::I64),
        4032 => last_of(env, oid(0)),
        3078 => parameters(env, oid(0)).map(|rows| record(PARAMETERS, rows)),
        6427 => data(env, oid(0)).map(|rows| record(DATA, rows)),
        _ => return None,
    })
}

fn open(env: &StatementEnv<'_>, oid: Oid, mode: u8) -> Result<(Arc<RelationDesc>, Sequence)> {
    let txn = env.core.txn()?;
    let db = env.core.state.oid;
    let mode = txn::LockMode::ALL.iter().copied().find(|m| *m as u8 == mode);
    let mode = mode.unwrap_or(txn::LockMode::AccessShare);
    txn.lock(txn::LockTag::Relation { db, rel: oid }, mode)?;
    let Some(rel) = env.view.find_relation(oid)? else {
        bail!(UNDEFINED_TABLE, "could not open relation with OID {oid}");
    };
    if rel.kind != RelKind::Sequence {
        return Err(crate::ddl::alter::not_opened(&rel));
    }
    let storage = env.core.database.storage();
    let files = Sequence::open(storage, rel.relfile, rel.persistence.for_files());
    Ok((rel, files))
}

/// Fails unless the user has one of these rights on the sequence.
fn check_right(env: &StatementEnv<'_>, rel: &RelationDesc, letters: &[u8]) -> Result<()> {
    if has_right(env, rel, letters)? {
        return Ok(());
    }
    Err(crate::ddl::grant::permission_denied("sequence", &rel.name))
}

fn has_right(env: &StatementEnv<'_>, rel: &RelationDesc, letters: &[u8]) -> Result<bool> {
    let user = env.core.users().current;
    let rights = crate::session::permission::relation_rights(rel);
    Ok(rights.of(&env.view, user, catalog::privilege::bits(letters))? != 0)
}

/// Fails if the transaction must not change the sequence.
fn check_writable(env: &StatementEnv<'_>, rel: &RelationDesc, what: &str) -> Result<()> {
    let read_only = env.core.settings.lock().bool("transaction_read_only");
    if read_only && rel.persistence != Persistence::Temp {
        bail!(READ_ONLY_SQL_TRANSACTION, "cannot execute {what} in a read-only transaction");
    }
    Ok(())
}

fn options(seq: &SequenceDesc) -> SequenceOptions {
    SequenceOptions {
        start: seq.start,
        increment: seq.increment,
        min: seq.min,
        max: seq.max,
        cache: seq.cache,
        cycle: seq.cycle,
    }
}

fn next_value(env: &StatementEnv<'_>, oid: Oid, checked: bool) -> Result<i64> {
    let file = env.view.find_relation(oid)?.map(|r| r.relfile);
    {
        // Values taken ahead count as long as the sequence has the same file.
        let mut all = env.core.sequences.lock();
        if let Some(c) = all.0.get_mut(&oid)
            && Some(c.file) == file.map(|f| f.number)
            && c.last != c.cached
        {
            c.last += c.increment;
            let value = c.last;
            all.1 = Some(oid);
            drop(all);
            if checked {
                check_right(env, &*env.view.relation(oid)?, b"Uw")?;
            }
            return Ok(value);
        }
    }
    let (rel, files) = open(env, oid, 3)?;
    if checked {
        check_right(env, &rel, b"Uw")?;
    }
    check_writable(env, &rel, "nextval()")?;
    let seq = env.view.sequence(oid)?;
    let taken = files.next(&options(&seq), &rel.name)?;
    if taken.logged.is_some() {
        // The commit waits for the log only if the transaction has an id.
        env.core.txn()?.xid()?;
    }
    let mut all = env.core.sequences.lock();
    let cache = SequenceCache {
        last: taken.first,
        cached: taken.last,
        increment: seq.increment,
        file: rel.relfile.number,
    };
    all.0.insert(oid, cache);
    all.1 = Some(oid);
    Ok(taken.first)
}

fn current_value(env: &StatementEnv<'_>, oid: Oid) -> Result<i64> {
    let (rel, _) = open(env, oid, 1)?;
    check_right(env, &rel, b"rU")?;
    match env.core.sequences.lock().0.get(&oid) {
        Some(c) => Ok(c.last),
        None => bail!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "currval of sequence \"{}\" is not yet defined in this session",
            rel.name
        ),
    }
}

fn last_value(env: &StatementEnv<'_>) -> Result<i64> {
    let undefined = || -> Error {
        err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "lastval is not yet defined in this session")
    };
    let all = env.core.sequences.lock();
    let oid = all.1.ok_or_else(undefined)?;
    let found = all.0.get(&oid).map(|c| c.last);
    drop(all);
    let Some(rel) = env.view.find_relation(oid)? else { return Err(undefined()) };
    check_right(env, &rel, b"rU")?;
    found.ok_or_else(undefined)
}

fn set_value(env: &StatementEnv<'_>, oid: Oid, value: i64, called: bool) -> Result<Datum> {
    let (rel, files) = open(env, oid, 3)?;
    check_right(env, &rel, b"w")?;
    check_writable(env, &rel, "setval()")?;
    let seq = env.view.sequence(oid)?;
    if value < seq.min || value > seq.max {
        bail!(
            NUMERIC_VALUE_OUT_OF_RANGE,
            "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
            rel.name,
            seq.min,
            seq.max
        );
    }
    env.core.txn()?.xid()?;
    files.set(value, called)?;
    let mut all = env.core.sequences.lock();
    if called {
        let cache = SequenceCache {
            last: value,
            cached: value,
            increment: seq.increment,
            file: rel.relfile.number,
        };
        all.0.insert(oid, cache);
    } else if let Some(c) = all.0.get_mut(&oid) {
        c.cached = c.last;
    }
    Ok(Datum::I64(value))
}

/// `pg_sequence_last_value`: NULL for one that was not used.
fn last_of(env: &StatementEnv<'_>, oid: Oid) -> Result<Datum> {
    let (rel, files) = open(env, oid, 1)?;
    if !has_right(env, &rel, b"rU")? {
        return Ok(Datum::Null);
    }
    let row = files.read()?;
    Ok(if row.is_called { Datum::I64(row.last_value) } else { Datum::Null })
}

/// `pg_sequence_parameters` and `pg_get_sequence_data`: one row.
pub fn rows(
    env: &StatementEnv<'_>,
    call: &CallInfo,
    args: &[Datum],
) -> Option<Result<Vec<Vec<Datum>>>> {
    let oid = match args.first() {
        Some(Datum::U32(n)) => Oid(*n),
        _ => return None,
    };
    match call.fn_oid.0 {
        3078 => Some(parameters(env, oid)),
        6427 => Some(data(env, oid)),
        _ => None,
    }
}

/// The types of what `pg_sequence_parameters` gives.
const PARAMETERS: &[Oid] = &[
    catalog::oids::INT8,
    catalog::oids::INT8,
    catalog::oids::INT8,
    catalog::oids::INT8,
    catalog::oids::BOOL,
    catalog::oids::INT8,
    catalog::oids::OID,
];
/// The types of what `pg_get_sequence_data` gives.
const DATA: &[Oid] = &[catalog::oids::INT8, catalog::oids::BOOL];

/// One row as a value.
fn record(types: &[Oid], rows: Vec<Vec<Datum>>) -> Datum {
    let Some(row) = rows.into_iter().next() else { return Datum::Null };
    let columns = types.iter().zip(row).map(|(ty, value)| (*ty, value));
    types::record::Record::anonymous(columns.map(column).collect()).encode()
}

fn column((ty, value): (Oid, Datum)) -> types::record::RecordColumn {
    types::record::RecordColumn { type_oid: ty, value }
}

fn parameters(env: &StatementEnv<'_>, oid: Oid) -> Result<Vec<Vec<Datum>>> {
    let Some(rel) = env.view.find_relation(oid)? else {
        bail!(UNDEFINED_TABLE, "relation with OID {oid} does not exist");
    };
    check_right(env, &rel, b"rwU")?;
    let seq = env.view.sequence(oid)?;
    Ok(vec![vec![
        Datum::I64(seq.start),
        Datum::I64(seq.min),
        Datum::I64(seq.max),
        Datum::I64(seq.increment),
        Datum::Bool(seq.cycle),
        Datum::I64(seq.cache),
        Datum::U32(seq.type_oid.0),
    ]])
}

fn data(env: &StatementEnv<'_>, oid: Oid) -> Result<Vec<Vec<Datum>>> {
    let (rel, files) = open(env, oid, 1)?;
    if !has_right(env, &rel, b"r")? {
        return Ok(vec![vec![Datum::Null, Datum::Null]]);
    }
    let row = files.read()?;
    Ok(vec![vec![Datum::I64(row.last_value), Datum::Bool(row.is_called)]])
}
