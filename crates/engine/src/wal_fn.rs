//! Functions about the log and the control file.

use crate::StatementEnv;
use crate::stats::functions::record;
use base::{Lsn, Oid, Result, bail};
use functions::CallInfo;
use types::Datum;
use types::datetime::UNIX_OFFSET;

/// Runs one; `None` if it is not among them.
pub fn call(env: &StatementEnv<'_>, call: &CallInfo, args: &[Datum]) -> Option<Result<Datum>> {
    let about = functions::builtin::proc(call.fn_oid)?;
    let position = |i: usize| match args.get(i) {
        Some(Datum::I64(n)) => Lsn(*n as u64),
        _ => Lsn::INVALID,
    };
    let wal = env.core.database.wal();
    let lsn = |lsn: Lsn| Datum::I64(lsn.0 as i64);
    Some(match about.proname {
        "pg_walfile_name" => Ok(Datum::string(file_of(env, position(0)).0)),
        "pg_walfile_name_offset" => {
            let (name, offset) = file_of(env, position(0));
            Ok(record(about, vec![Datum::string(name), Datum::I32(offset as i32)]))
        }
        "pg_split_walfile_name" => split(env, about, args[0].as_str()),
        "pg_wal_lsn_diff" => {
            let difference = i128::from(position(0).0) - i128::from(position(1).0);
            use functions::FnEnv;
            types::io::input(Oid(1700), &difference.to_string(), -1, &env.io())
        }
        "pg_switch_wal" => switch(env).map(lsn),
        "pg_create_restore_point" => restore_point(env, args[0].as_str()).map(lsn),
        "pg_control_system" => Ok(record(about, system(env))),
        "pg_control_checkpoint" => Ok(record(about, checkpoint(env))),
        "pg_control_recovery" => Ok(record(about, recovery(env))),
        "pg_control_init" => {
            let control = env.core.database.control.get();
            let sizes = [
                8,
                control.block_size as i32,
                131_072,
                control.block_size as i32,
                wal.segment_size() as i32,
                64,
                32,
                1996,
                2048,
            ];
            let mut row: Vec<Datum> = sizes.map(Datum::I32).into();
            let sums = Datum::I32(i32::from(control.data_checksums));
            row.extend([Datum::Bool(true), sums, Datum::Bool(true)]);
            Ok(record(about, row))
        }
        _ => return None,
    })
}

/// The rows of a set-returning one; `None` if it is not among them.
pub fn rows(_: &StatementEnv<'_>, call: &CallInfo, _: &[Datum]) -> Option<Result<Vec<Vec<Datum>>>> {
    let row = |r: &wal::Rmgr| vec![Datum::I32(*r as i32), Datum::text(r.name()), Datum::Bool(true)];
    match functions::builtin::proc(call.fn_oid)?.proname {
        "pg_get_wal_resource_managers" => Some(Ok(wal::Rmgr::ALL.iter().map(row).collect())),
        _ => None,
    }
}

/// The name of the segment file that a position is in, and where in it.
fn file_of(env: &StatementEnv<'_>, lsn: Lsn) -> (String, u64) {
    let wal = env.core.database.wal();
    (crate::database::archive::name_of(wal, lsn), lsn.0 % wal.segment_size())
}

fn split(env: &StatementEnv<'_>, about: &functions::builtin::ProcRow, name: &str) -> Result<Datum> {
    let size = env.core.database.wal().segment_size();
    let Some((timeline, start)) = wal::parse_segment_name(&name.to_ascii_uppercase(), size) else {
        bail!(INVALID_PARAMETER_VALUE, "invalid WAL file name \"{name}\"");
    };
    use functions::FnEnv;
    let number = (start.0 / size).to_string();
    let number = types::io::input(Oid(1700), &number, -1, &env.io())?;
    Ok(record(about, vec![number, Datum::I64(i64::from(timeline))]))
}

fn switch(env: &StatementEnv<'_>) -> Result<Lsn> {
    let wal = env.core.database.wal();
    let end = wal.switch_segment()?;
    wal.flush(end)?;
    Ok(end)
}

fn restore_point(env: &StatementEnv<'_>, name: &str) -> Result<Lsn> {
    const LONGEST: usize = 63;
    if env.core.database.defaults().show("wal_level") == "minimal" {
        return Err(base::err!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "WAL level not sufficient for creating a restore point"
        )
        .hint("\"wal_level\" must be set to \"replica\" or \"logical\" at server start."));
    }
    if name.len() > LONGEST {
        bail!(
            INVALID_PARAMETER_VALUE,
            "value too long for restore point (maximum {LONGEST} characters)"
        );
    }
    let mut data = os::clock::now_micros().to_le_bytes().to_vec();
    data.extend_from_slice(name.as_bytes());
    let info = wal::xlog_info::RESTORE_POINT;
    let mut made = wal::RecordBuilder::new(wal::Rmgr::Xlog, info, base::Xid::INVALID);
    made.data(&data);
    let end = env.core.database.wal().insert(&made);
    let e = crate::log::message(format!("restore point \"{name}\" created at {end}"));
    env.core.database.log(&e);
    Ok(end)
}

fn system(env: &StatementEnv<'_>) -> Vec<Datum> {
    let control = env.core.database.control.get();
    vec![
        Datum::I32(control.control_version as i32),
        Datum::I32(control.catalog_version as i32),
        Datum::I64(control.system_identifier as i64),
        Datum::I64(control.time / 1_000_000 * 1_000_000 - UNIX_OFFSET),
    ]
}

fn checkpoint(env: &StatementEnv<'_>) -> Vec<Datum> {
    let control = env.core.database.control.get();
    let c = &control.checkpoint_copy;
    let lsn = |lsn: Lsn| Datum::I64(lsn.0 as i64);
    let id = |n: u64| Datum::U32(n as u32);
    vec![
        lsn(control.checkpoint),
        lsn(c.redo),
        Datum::string(file_of(env, c.redo).0),
        Datum::I32(c.timeline as i32),
        Datum::I32(c.prev_timeline as i32),
        Datum::Bool(c.full_page_writes),
        Datum::string(format!("{}:{}", c.next_xid.0 >> 32, c.next_xid.0 as u32)),
        Datum::U32(c.next_oid.0),
        id(1),
        id(0),
        id(c.oldest_xid.0),
        Datum::U32(c.oldest_xid_db.0),
        id(c.oldest_active_xid.0),
        id(1),
        Datum::U32(c.oldest_xid_db.0),
        id(0),
        id(0),
        Datum::I64(c.time / 1_000_000 * 1_000_000 - UNIX_OFFSET),
    ]
}

fn recovery(env: &StatementEnv<'_>) -> Vec<Datum> {
    let control = env.core.database.control.get();
    let lsn = |lsn: Lsn| Datum::I64(lsn.0 as i64);
    vec![
        lsn(control.min_recovery_point),
        Datum::I32(control.min_recovery_timeline as i32),
        lsn(control.backup_start),
        lsn(control.backup_end),
        Datum::Bool(control.backup_end_required),
    ]
}
