//! The session, its transaction, the server, and what statistics there are.

use super::SysSession;
use super::args::{Args, opt_text};
use base::{Oid, Result};
use types::Datum;
use types::encoding::Encoding;
use types::record::{Record, RecordColumn};

pub(super) fn call(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    session(s, name, args)
        .or_else(|| transaction(s, name, args))
        .or_else(|| server(s, name, args))
        .or_else(|| of_session(s, name, args))
        .or_else(|| statistics(name))
}

fn int4_array(values: &[i32]) -> Datum {
    let elem = types::array::ElemType::builtin(Oid(23));
    let values: Vec<Datum> = values.iter().map(|n| Datum::I32(*n)).collect();
    types::array::make_vector(&elem, &values).unwrap_or(Datum::Null)
}

fn session(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    let own = || s.sessions().into_iter().find(|i| i.pid == s.pid());
    Some(match name {
        "pg_backend_pid" => Ok(Datum::I32(s.pid())),
        "pg_trigger_depth" => Ok(Datum::I32(crate::trigger::Running::depth())),
        "current_query" => Ok(super::args::opt_text(own().map(|i| i.query))),
        "pg_sleep" => sleep(s, args.values[0].as_f64()),
        "pg_sleep_for" => {
            let i = types::datetime::Interval::decode(args.values[0].as_bytes());
            sleep(s, i.span() as f64 / 1e6)
        }
        "pg_sleep_until" => {
            let now = s.env().clock_timestamp();
            sleep(s, (args.values[0].as_i64().saturating_sub(now)) as f64 / 1e6)
        }
        "inet_client_addr" => client_address(own().and_then(|i| i.client_addr)),
        "inet_client_port" => Ok(own().and_then(|i| i.client_port).map_or(Datum::Null, Datum::I32)),
        "inet_server_addr" => client_address(own().and_then(|i| i.server_address).map(|a| a.0)),
        "inet_server_port" => {
            let address = own().and_then(|i| i.server_address);
            Ok(address.map_or(Datum::Null, |a| Datum::I32(a.1)))
        }
        "pg_cancel_backend" => signal(s, args, false),
        "pg_terminate_backend" => signal(s, args, true),
        "pg_log_backend_memory_contexts" => log_memory(s, args),
        "pg_blocking_pids" => args.int(0).map(|pid| int4_array(&s.blocking(pid as i32))),
        "pg_safe_snapshot_blocking_pids" => Ok(int4_array(&[])),
        "pg_stat_force_next_flush" => Ok(Datum::text("")),
        _ => return None,
    })
}

/// Waits so many seconds, or until the statement is cancelled.
fn sleep(s: &dyn SysSession, seconds: f64) -> Result<Datum> {
    let end = os::clock::monotonic_nanos() as f64 + seconds.clamp(0.0, 1e12) * 1e9;
    let _waiting = os::wait::begin(base::wait::WaitEvent::PgSleep);
    loop {
        s.env().check_interrupts()?;
        let left = end - os::clock::monotonic_nanos() as f64;
        if left <= 0.0 || left.is_nan() {
            return Ok(Datum::text(""));
        }
        // Short naps, since a cancellation does not wake the thread.
        os::thread::sleep(std::time::Duration::from_nanos(left.min(2e7) as u64));
    }
}

fn client_address(address: Option<String>) -> Result<Datum> {
    let Some(text) = address else { return Ok(Datum::Null) };
    let env = functions::StaticEnv::new(0);
    use functions::FnEnv;
    types::io::input(Oid(869), &text, -1, &env.io())
}

fn signal(s: &dyn SysSession, args: &Args, terminate: bool) -> Result<Datum> {
    let pid = args.int(0)? as i32;
    let timeout = if terminate { args.int(1)? } else { 0 };
    if timeout < 0 {
        base::bail!(NUMERIC_VALUE_OUT_OF_RANGE, "\"timeout\" must not be negative");
    }
    let found = s.signal(pid, terminate)?;
    if found && timeout > 0 {
        return ended(s, pid, timeout).map(Datum::Bool);
    }
    if !found {
        let text = format!("PID {pid} is not a PostgreSQL backend process");
        s.env().notice(base::Error::warning(text));
    }
    Ok(Datum::Bool(found))
}

/// Waits for so many milliseconds until a session is gone; false, with a warning, if it is not.
fn ended(s: &dyn SysSession, pid: i32, timeout: i64) -> Result<bool> {
    let end = os::clock::monotonic_nanos().saturating_add(timeout as u64 * 1_000_000);
    while s.sessions().iter().any(|i| i.pid == pid) {
        s.env().check_interrupts()?;
        if os::clock::monotonic_nanos() >= end {
            let text = format!(
                "backend with PID {pid} did not terminate within {timeout} millisecond{}",
                if timeout == 1 { "" } else { "s" }
            );
            s.env().notice(base::Error::warning(text));
            return Ok(false);
        }
        os::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(true)
}

fn log_memory(s: &dyn SysSession, args: &Args) -> Result<Datum> {
    let pid = args.int(0)? as i32;
    let found = s.log_memory(pid);
    if !found {
        let text = format!("PID {pid} is not a PostgreSQL server process");
        s.env().notice(base::Error::warning(text));
    }
    Ok(Datum::Bool(found))
}

fn transaction(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    let id = |xid: Option<u64>| xid.map_or(Datum::Null, |x| Datum::I64(x as i64));
    Some(match name {
        "pg_current_xact_id" | "txid_current" => s.xid(true).map(id),
        "pg_current_xact_id_if_assigned" | "txid_current_if_assigned" => s.xid(false).map(id),
        "pg_current_snapshot" | "txid_current_snapshot" => {
            s.running_xids().map(|(xmin, xmax, running)| {
                let value = types::snapshot::SnapshotValue { xmin, xmax, running };
                Datum::bytes(value.encode())
            })
        }
        "pg_xact_status" | "txid_status" => args.int(0).and_then(|xid| match xid {
            // No transaction ever has this one.
            0 => Ok(Datum::Null),
            _ => s.xid_status(xid as u64).map(Datum::text),
        }),
        "pg_last_committed_xact" => s.last_commit_time().map(|last| match last {
            Some((xid, time)) => commit_row(&[Datum::U32(xid as u32), commit_time(Some(time))]),
            None => commit_row(&[Datum::Null, Datum::Null]),
        }),
        "pg_xact_commit_timestamp" => {
            args.oid(0).and_then(|xid| s.commit_time(xid.0)).map(commit_time)
        }
        "pg_xact_commit_timestamp_origin" => args
            .oid(0)
            .and_then(|xid| s.commit_time(xid.0))
            .map(|time| commit_row(&[commit_time(time)])),
        _ => return None,
    })
}

/// Microseconds since 2000, of those since 1970.
fn commit_time(time: Option<i64>) -> Datum {
    time.map_or(Datum::Null, |t| Datum::I64(t - types::datetime::UNIX_OFFSET))
}

/// What is known of a commit, the time last, and the origin that it came from: none, if anything
/// is known.
fn commit_row(known: &[Datum]) -> Datum {
    let origin = match known.last() {
        Some(Datum::Null) | None => Datum::Null,
        _ => Datum::U32(0),
    };
    let types = match known.len() {
        1 => &[1184, 26][..],
        _ => &[28, 1184, 26][..],
    };
    let values = known.iter().cloned().chain([origin]);
    let columns = types.iter().zip(values);
    let columns = columns.map(|(t, value)| RecordColumn { type_oid: base::Oid(*t), value });
    Record::anonymous(columns.collect()).encode()
}

fn server(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    let lsn = |n: u64| Ok(Datum::I64(n as i64));
    Some(match name {
        "pg_current_wal_lsn" | "pg_current_wal_insert_lsn" => lsn(s.wal_ends().0),
        "pg_current_wal_flush_lsn" => lsn(s.wal_ends().1),
        "pg_last_wal_receive_lsn" | "pg_last_wal_replay_lsn" | "pg_last_xact_replay_timestamp" => {
            Ok(Datum::Null)
        }
        "pg_is_in_recovery" => Ok(Datum::Bool(false)),
        "pg_postmaster_start_time" => Ok(Datum::I64(s.start_times().0)),
        "pg_conf_load_time" => Ok(Datum::I64(s.start_times().1)),
        "pg_jit_available" => Ok(Datum::Bool(false)),
        "pg_extension_config_dump" => Ok(Datum::text("")),
        "pg_char_to_encoding" => args.text(0).map(|t| Datum::I32(encoding_number(t))),
        "pg_encoding_to_char" => args.int(0).map(|n| Datum::text(encoding_name(n))),
        "pg_client_encoding" => Ok(opt_text(s.settings().show("client_encoding"))),
        _ => return None,
    })
}

/// The name of an encoding, or nothing.
pub(crate) fn encoding_name(number: i64) -> &'static str {
    Encoding::from_number(number).map_or("", Encoding::name)
}

/// The number of an encoding, or -1.
pub(crate) fn encoding_number(name: &str) -> i32 {
    Encoding::from_name(name).map_or(-1, Encoding::number)
}

/// What `pg_stat_activity` has of one session.
fn of_session(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Datum>> {
    let column = match name.strip_prefix("pg_stat_get_backend_")? {
        "activity" => "query",
        "activity_start" => "query_start",
        "client_addr" => "client_addr",
        "client_port" => "client_port",
        "dbid" => "datid",
        "pid" => "pid",
        "start" => "backend_start",
        "userid" => "usesysid",
        "wait_event" => "wait_event",
        "wait_event_type" => "wait_event_type",
        "xact_start" => "xact_start",
        _ => return None,
    };
    Some(args.int(0).map(|id| {
        let found = s.sessions().into_iter().find(|i| i64::from(i.pid) == id);
        match (found, column) {
            (Some(info), _) => {
                let may_see = s.may_see_session_of(info.user);
                super::table_rows::activity_shown(&info, column, may_see)
            }
            (None, "query") => Datum::text("<backend information not available>"),
            (None, _) => Datum::Null,
        }
    }))
}

/// Counters that nothing counts yet are zero; times are not known.
fn statistics(name: &str) -> Option<Result<Datum>> {
    let rest = name.strip_prefix("pg_stat_get_")?;
    let row = functions::builtin::procs().iter().find(|p| p.proname == name && !p.proretset)?;
    if rest.starts_with("backend_") {
        return None;
    }
    Some(Ok(match row.prorettype.0 {
        20 => Datum::I64(0),
        23 => Datum::I32(0),
        701 => Datum::F64(0.0),
        _ => Datum::Null,
    }))
}
