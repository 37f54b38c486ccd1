//! Functions about the server's files: reading them, and what is in folders.

use crate::StatementEnv;
use base::{Error, Oid, Result, SqlState, bail, err};
use functions::CallInfo;
use std::path::{Component, Path, PathBuf};
use types::Datum;
use types::datetime::UNIX_OFFSET;
use types::record::{Record, RecordColumn};

type Rows = Vec<Vec<Datum>>;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let name = functions::builtin::proc(call.fn_oid)?.proname;
    Some(match name {
        "pg_read_file" => read(env, args).and_then(|bytes| match bytes {
            Some(bytes) => Ok(Datum::text(types::io::checked_text(&bytes)?)),
            None => Ok(Datum::Null),
        }),
        "pg_read_binary_file" => read(env, args).map(|b| b.map_or(Datum::Null, Datum::bytes)),
        "pg_stat_file" => stat(env, args),
        _ => return None,
    })
}

/// The rows of a set-returning one; `None` if it is not among them.
pub fn rows(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Rows>> {
    let name = functions::builtin::proc(call.fn_oid)?.proname;
    let log_folder = || env.core.database.defaults().show("log_directory");
    Some(match name {
        "pg_ls_dir" => list(env, args),
        "pg_ls_logdir" => files(env, &log_folder(), false),
        "pg_ls_waldir" => files(env, "pg_wal", false),
        "pg_ls_archive_statusdir" => files(env, "pg_wal/archive_status", true),
        "pg_ls_summariesdir" => files(env, "pg_wal/summaries", true),
        "pg_ls_logicalsnapdir" => files(env, "pg_logical/snapshots", true),
        "pg_ls_logicalmapdir" => files(env, "pg_logical/mappings", true),
        "pg_ls_tmpdir" => temporary(env, args),
        "pg_tablespace_databases" => databases(env, args),
        _ => return None,
    })
}

/// The path that an argument means, if the user may look there.
fn allowed_path(env: &StatementEnv<'_>, given: &str) -> Result<PathBuf> {
    let data = &env.core.database.dir;
    let path = Path::new(given);
    if env.core.has_rights_of(catalog::oids::PG_READ_SERVER_FILES)? {
        return Ok(data.join(path));
    }
    let up = path.components().any(|c| c == Component::ParentDir);
    if path.is_absolute() {
        let logs = env.core.database.defaults().show("log_directory");
        let within = path.starts_with(data) || path.starts_with(data.join(&logs));
        if up || !within {
            bail!(INSUFFICIENT_PRIVILEGE, "absolute path not allowed");
        }
    } else if leaves(path) {
        bail!(INSUFFICIENT_PRIVILEGE, "path must be in or below the data directory");
    }
    Ok(data.join(path))
}

/// True if a relative path goes above where it begins.
fn leaves(path: &Path) -> bool {
    let mut depth = 0i32;
    path.components().any(|c| {
        match c {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            _ => {}
        }
        depth < 0
    })
}

fn failed(e: &std::io::Error, what: &str) -> Error {
    let code = match e.kind() {
        std::io::ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        std::io::ErrorKind::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
        std::io::ErrorKind::IsADirectory | std::io::ErrorKind::NotADirectory => {
            SqlState::WRONG_OBJECT_TYPE
        }
        _ => SqlState::IO_ERROR,
    };
    let text = e.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    Error::with_severity(base::Severity::Error, code, format!("{what}: {reason}"))
}

/// The flag after the other arguments, or false.
fn flag(args: &[Datum], at: usize) -> bool {
    matches!(args.get(at), Some(Datum::Bool(true)))
}

/// What a function that reads a file reads: from where, how much, and whether there has to be one.
fn read(env: &StatementEnv<'_>, args: &[Datum]) -> Result<Option<Vec<u8>>> {
    let name = args[0].as_str();
    let part = match args {
        [_, Datum::I64(offset), Datum::I64(length), ..] => Some((*offset, *length)),
        _ => None,
    };
    let missing_ok = flag(args, if part.is_some() { 3 } else { 1 });
    if part.is_some_and(|(_, length)| length < 0) {
        bail!(INVALID_PARAMETER_VALUE, "requested length cannot be negative");
    }
    let path = allowed_path(env, name)?;
    match os::process::read_part(&path, part) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if missing_ok && e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::IsADirectory => {
            Err(failed(&e, &format!("could not read file \"{name}\"")))
        }
        Err(e) => Err(failed(&e, &format!("could not open file \"{name}\" for reading"))),
    }
}

fn stat(env: &StatementEnv<'_>, args: &[Datum]) -> Result<Datum> {
    let name = args[0].as_str();
    let path = allowed_path(env, name)?;
    let about = match os::process::file_facts(&path) {
        Ok(about) => Some(about),
        Err(e) if flag(args, 1) && e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(failed(&e, &format!("could not stat file \"{name}\""))),
    };
    let Some(about) = about else { return Ok(Datum::Null) };
    let time = |micros: i64| Datum::I64(micros - UNIX_OFFSET);
    let values = [
        (Oid(20), Datum::I64(about.size as i64)),
        (Oid(1184), time(about.accessed)),
        (Oid(1184), time(about.modified)),
        (Oid(1184), time(about.changed)),
        (Oid(1184), Datum::Null),
        (Oid(16), Datum::Bool(about.is_dir)),
    ];
    let columns = values.into_iter().map(|(type_oid, value)| RecordColumn { type_oid, value });
    Ok(Record::anonymous(columns.collect()).encode())
}

/// Names in a folder, those that begin with a dot too, "." and ".." if they are wanted.
fn list(env: &StatementEnv<'_>, args: &[Datum]) -> Result<Rows> {
    let name = args[0].as_str();
    let path = allowed_path(env, name)?;
    let names = match os::process::names_in(&path) {
        Ok(names) => names,
        Err(e) if flag(args, 1) && e.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(e) => return Err(no_folder(&e, name)),
    };
    let mut rows: Rows = names.iter().map(|n| vec![Datum::text(n)]).collect();
    if flag(args, 2) {
        rows.extend([".", ".."].map(|n| vec![Datum::text(n)]));
    }
    Ok(rows)
}

fn no_folder(e: &std::io::Error, name: &str) -> Error {
    failed(e, &format!("could not open directory \"{name}\""))
}

/// Ordinary files in a folder: name, size, when they were changed. Hidden ones are left out.
fn files(env: &StatementEnv<'_>, folder: &str, missing_ok: bool) -> Result<Rows> {
    let path = env.core.database.dir.join(folder);
    let names = match os::process::names_in(&path) {
        Ok(names) => names,
        Err(e) if missing_ok && e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(no_folder(&e, folder)),
    };
    let row = |name: &String| {
        // One that has gone meanwhile is not there.
        let about = os::process::file_facts(&path.join(name)).ok().filter(|a| a.is_file)?;
        let changed = Datum::I64(about.modified - UNIX_OFFSET);
        Some(vec![Datum::text(name), Datum::I64(about.size as i64), changed])
    };
    Ok(names.iter().filter(|n| !n.starts_with('.')).filter_map(row).collect())
}

fn temporary(env: &StatementEnv<'_>, args: &[Datum]) -> Result<Rows> {
    const DEFAULT: u32 = 1663;
    let space = match args.first() {
        Some(Datum::U32(oid)) => *oid,
        _ => DEFAULT,
    };
    use catalog::RowStore;
    let index = catalog::indexes::PG_TABLESPACE_OID;
    if env.core.store.index_scan(index, &[Datum::U32(space)])?.is_empty() {
        return Err(err!(UNDEFINED_OBJECT, "tablespace with OID {space} does not exist"));
    }
    match space {
        DEFAULT | 1664 => files(env, "base/pgsql_tmp", true),
        other => files(env, &format!("pg_tblspc/{other}/PG_18_202506291/pgsql_tmp"), true),
    }
}

/// Databases that have files in a tablespace.
fn databases(env: &StatementEnv<'_>, args: &[Datum]) -> Result<Rows> {
    let Some(Datum::U32(space)) = args.first() else { return Ok(Vec::new()) };
    let warn = |text: &str| {
        env.core.notice(Error::warning(text));
        Ok(Vec::new())
    };
    let folder = match space {
        1664 => return warn("global tablespace never has databases"),
        1663 => "base".to_string(),
        other => format!("pg_tblspc/{other}/PG_18_202506291"),
    };
    let path = env.core.database.dir.join(folder);
    let Ok(names) = os::process::names_in(&path) else {
        return warn(&format!("{space} is not a tablespace OID"));
    };
    let used =
        |oid: &u32| os::process::names_in(&path.join(oid.to_string())).is_ok_and(|n| !n.is_empty());
    let oids = names.iter().filter_map(|n| n.parse::<u32>().ok()).filter(used);
    Ok(oids.map(|oid| vec![Datum::U32(oid)]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_folder() {
        for (path, out) in
            [("base/1", false), ("base/..", false), ("../x", true), ("base/../../x", true)]
        {
            assert_eq!(leaves(Path::new(path)), out, "{path}");
        }
    }
}
