//! The functions by which clients use large objects.

use super::object::{check_right, create, require, unlink};
use super::pages::{MAX_SIZE, Pages};
use super::{Descriptor, READ, WRITE};
use crate::StatementEnv;
use base::{Oid, Result, bail, err};
use catalog::oids;
use functions::CallInfo;
use os::OpenOptions;
use std::path::Path;
use types::{Blob, Datum};

/// As much as a value may be.
const MAX_READ: i64 = 0x3FFF_FFFF - 4;

/// Bytes of a file that are read or written at a time.
const FILE_CHUNK: usize = 1 << 20;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let row = functions::builtin::proc(call.fn_oid)?;
    let known = row.proname.starts_with("lo_") || matches!(row.proname, "loread" | "lowrite");
    // Functions of types have names that begin the same way.
    if !known || row.pronamespace != oids::PG_CATALOG {
        return None;
    }
    run(env, row.proname, args).transpose()
}

/// An argument that is an integer of any size, or an OID.
fn number(args: &[Datum], i: usize) -> i64 {
    match args.get(i) {
        Some(Datum::I32(n)) => i64::from(*n),
        Some(Datum::I64(n)) => *n,
        Some(Datum::U32(n)) => i64::from(*n),
        _ => 0,
    }
}

fn run(env: &StatementEnv<'_>, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let n = |i: usize| number(args, i);
    let oid = |i: usize| Oid(n(i) as u32);
    let descriptor = n(0) as i32;
    let open = &env.core.large_objects;
    Ok(Some(match name {
        "lo_creat" => {
            check_writable(env, "lo_creat()")?;
            Datum::U32(create(env, Oid::INVALID)?.0)
        }
        "lo_create" => {
            check_writable(env, "lo_create()")?;
            Datum::U32(create(env, oid(0))?.0)
        }
        "lo_unlink" => {
            check_writable(env, "lo_unlink()")?;
            unlink(env, oid(0))?;
            Datum::I32(1)
        }
        "lo_open" => Datum::I32(open_object(env, oid(0), n(1) as i32)?),
        "lo_close" => {
            open.close(descriptor)?;
            Datum::I32(0)
        }
        "loread" => read(env, descriptor, n(1))?,
        "lowrite" => write(env, descriptor, args)?,
        "lo_lseek" => narrow(seek(env, descriptor, n(1), n(2))?, "lo_lseek", descriptor)?,
        "lo_lseek64" => Datum::I64(seek(env, descriptor, n(1), n(2))?),
        "lo_tell" => narrow(open.get(descriptor)?.position, "lo_tell", descriptor)?,
        "lo_tell64" => Datum::I64(open.get(descriptor)?.position),
        "lo_truncate" | "lo_truncate64" => {
            check_writable(env, &format!("{name}()"))?;
            truncate(env, descriptor, n(1))?
        }
        "lo_from_bytea" => {
            check_writable(env, "lo_from_bytea()")?;
            let object = create(env, oid(0))?;
            latest(env, object)?.write(0, bytes(args, 1))?;
            Datum::U32(object.0)
        }
        "lo_get" => match args.len() {
            1 => get(env, oid(0), 0, None)?,
            _ => get(env, oid(0), n(1), Some(n(2)))?,
        },
        "lo_put" => put(env, oid(0), n(1), bytes(args, 2))?,
        "lo_import" => import(env, bytes(args, 0), oid(1))?,
        "lo_export" => export(env, oid(0), bytes(args, 1))?,
        _ => return Ok(None),
    }))
}

fn bytes(args: &[Datum], i: usize) -> &[u8] {
    match args.get(i) {
        Some(Datum::Bytes(b)) => b,
        _ => &[],
    }
}

fn check_writable(env: &StatementEnv<'_>, what: &str) -> Result<()> {
    if env.core.settings.lock().bool("transaction_read_only") {
        bail!(READ_ONLY_SQL_TRANSACTION, "cannot execute {what} in a read-only transaction");
    }
    Ok(())
}

/// A position for functions that have 32 bits for it.
fn narrow(position: i64, name: &str, descriptor: i32) -> Result<Datum> {
    let narrow = i32::try_from(position).map_err(|_| {
        err!(
            NUMERIC_VALUE_OUT_OF_RANGE,
            "{name} result out of range for large-object descriptor {descriptor}"
        )
    })?;
    Ok(Datum::I32(narrow))
}

/// The bytes of an object as they are now.
fn latest<'a>(env: &'a StatementEnv<'_>, object: Oid) -> Result<Pages<'a>> {
    let snapshot = env.core.txn()?.latest_snapshot();
    Ok(Pages { store: &env.core.store, object, snapshot })
}

/// The bytes of an object as its descriptor shows them.
fn pages<'a>(env: &'a StatementEnv<'_>, d: &Descriptor) -> Result<Pages<'a>> {
    match &d.snapshot {
        Some(s) => Ok(Pages { store: &env.core.store, object: d.object, snapshot: s.clone() }),
        None => latest(env, d.object),
    }
}

/// An object made ready to be used, with the rights for it checked.
fn start(env: &StatementEnv<'_>, object: Oid, writes: bool) -> Result<Descriptor> {
    let row = require(env.core, object)?;
    check_right(env, &row, b'r')?;
    if writes {
        check_right(env, &row, b'w')?;
    }
    let txn = env.core.txn()?;
    let snapshot = (!writes).then(|| txn.snapshot());
    Ok(Descriptor { object, position: 0, writes, snapshot, sub: txn.current_sub() })
}

fn open_object(env: &StatementEnv<'_>, object: Oid, mode: i32) -> Result<i32> {
    if mode & WRITE != 0 {
        check_writable(env, "lo_open(INV_WRITE)")?;
    }
    if mode & (READ | WRITE) == 0 {
        bail!(INVALID_PARAMETER_VALUE, "invalid flags for opening a large object: {mode}");
    }
    let d = start(env, object, mode & WRITE != 0)?;
    Ok(env.core.large_objects.add(d))
}

fn read(env: &StatementEnv<'_>, descriptor: i32, count: i64) -> Result<Datum> {
    let d = env.core.large_objects.get(descriptor)?;
    let found = pages(env, &d)?.read(d.position, count.max(0))?;
    env.core.large_objects.seek(descriptor, d.position + found.len() as i64);
    Ok(Datum::Bytes(Blob::from(found)))
}

fn writable(env: &StatementEnv<'_>, descriptor: i32) -> Result<Descriptor> {
    let d = env.core.large_objects.get(descriptor)?;
    if !d.writes {
        bail!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "large object descriptor {descriptor} was not opened for writing"
        );
    }
    Ok(d)
}

fn write(env: &StatementEnv<'_>, descriptor: i32, args: &[Datum]) -> Result<Datum> {
    check_writable(env, "lowrite()")?;
    let d = writable(env, descriptor)?;
    let data = bytes(args, 1);
    latest(env, d.object)?.write(d.position, data)?;
    env.core.large_objects.seek(descriptor, d.position + data.len() as i64);
    Ok(Datum::I32(data.len() as i32))
}

fn check_target(target: i64) -> Result<i64> {
    match (0..=MAX_SIZE).contains(&target) {
        true => Ok(target),
        false => bail!(INVALID_PARAMETER_VALUE, "invalid large object seek target: {target}"),
    }
}

fn seek(env: &StatementEnv<'_>, descriptor: i32, offset: i64, whence: i64) -> Result<i64> {
    let d = env.core.large_objects.get(descriptor)?;
    let base = match whence {
        0 => 0,
        1 => d.position,
        2 => pages(env, &d)?.size()?,
        _ => bail!(INVALID_PARAMETER_VALUE, "invalid whence setting: {whence}"),
    };
    let target = check_target(base.saturating_add(offset))?;
    env.core.large_objects.seek(descriptor, target);
    Ok(target)
}

fn truncate(env: &StatementEnv<'_>, descriptor: i32, size: i64) -> Result<Datum> {
    let d = writable(env, descriptor)?;
    if !(0..=MAX_SIZE).contains(&size) {
        bail!(INVALID_PARAMETER_VALUE, "invalid large object truncation target: {size}");
    }
    latest(env, d.object)?.truncate(size)?;
    Ok(Datum::I32(0))
}

/// A part of an object, or all of it.
fn get(env: &StatementEnv<'_>, object: Oid, at: i64, count: Option<i64>) -> Result<Datum> {
    if count.is_some_and(|n| n < 0) {
        bail!(INVALID_PARAMETER_VALUE, "requested length cannot be negative");
    }
    let d = start(env, object, false)?;
    let pages = pages(env, &d)?;
    let at = check_target(at)?;
    let left = (pages.size()? - at).max(0);
    let count = count.map_or(left, |n| n.min(left));
    if count > MAX_READ {
        bail!(PROGRAM_LIMIT_EXCEEDED, "large object read request is too large");
    }
    Ok(Datum::Bytes(Blob::from(pages.read(at, count)?)))
}

fn put(env: &StatementEnv<'_>, object: Oid, at: i64, data: &[u8]) -> Result<Datum> {
    check_writable(env, "lo_put()")?;
    start(env, object, true)?;
    latest(env, object)?.write(check_target(at)?, data)?;
    Ok(Datum::text(""))
}

fn file_name(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn import(env: &StatementEnv<'_>, file: &[u8], wanted: Oid) -> Result<Datum> {
    check_writable(env, "lo_import()")?;
    let name = file_name(file);
    let options = OpenOptions::new().read_only();
    let file = env.core.database.disk().open(Path::new(&name), &options);
    let file = file.map_err(|e| {
        err!(UNDEFINED_FILE, "could not open server file \"{name}\": {}", e.reason())
    })?;
    let object = create(env, wanted)?;
    let mut chunk = vec![0; FILE_CHUNK];
    let mut at = 0;
    loop {
        let count = file
            .read_at(&mut chunk, at as u64)
            .map_err(|e| err!(IO_ERROR, "could not read server file \"{name}\": {}", e.reason()))?;
        if count == 0 {
            return Ok(Datum::U32(object.0));
        }
        latest(env, object)?.write(at, &chunk[..count])?;
        at += count as i64;
    }
}

fn export(env: &StatementEnv<'_>, object: Oid, file: &[u8]) -> Result<Datum> {
    let d = start(env, object, false)?;
    let pages = pages(env, &d)?;
    let name = file_name(file);
    let options = OpenOptions::new().create().truncate();
    let file = env.core.database.disk().open(Path::new(&name), &options);
    let file = file.map_err(|e| {
        err!(UNDEFINED_FILE, "could not create server file \"{name}\": {}", e.reason())
    })?;
    let mut at = 0;
    loop {
        let chunk = pages.read(at, FILE_CHUNK as i64)?;
        if chunk.is_empty() {
            return Ok(Datum::I32(1));
        }
        file.write_at(&chunk, at as u64).map_err(|e| {
            err!(IO_ERROR, "could not write server file \"{name}\": {}", e.reason())
        })?;
        at += chunk.len() as i64;
    }
}
