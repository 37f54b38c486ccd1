//! Set-returning functions behind the system views.

use super::args::Args;
use super::{SysSession, settings};
use crate::activity::{SessionInfo, SessionState};
use base::wait::WaitEvent;
use base::{Oid, Result};
use parser::keywords::{Category, KEYWORDS};
use txn::{LockInfo, LockTag, PredicateHolder, PredicateTarget};
use types::Datum;

type Rows = Vec<Vec<Datum>>;

pub(super) fn rows(s: &dyn SysSession, name: &str, args: &Args) -> Option<Result<Rows>> {
    Some(match name {
        "pg_show_all_settings" => Ok(settings::all(s)),
        "pg_lock_status" => {
            let notes = s.predicate_locks();
            Ok(s.locks().iter().map(lock).chain(notes.iter().map(predicate_lock)).collect())
        }
        "pg_stat_get_activity" => Ok(activity(s, args)),
        "pg_stat_get_backend_idset" => {
            Ok(s.sessions().iter().map(|i| vec![Datum::I32(i.pid)]).collect())
        }
        "pg_get_keywords" => Ok(keywords()),
        "pg_cursor" => Ok(cursors(s)),
        "pg_prepared_statement" => Ok(prepared(s)),
        "pg_partition_tree" => partition_tree(s, args),
        "pg_partition_ancestors" => ancestors(s, args),
        "pg_available_extensions" => Ok(vec![vec![text("plpgsql"), text("1.0"), text(PLPGSQL)]]),
        "pg_available_extension_versions" => Ok(vec![vec![
            text("plpgsql"),
            text("1.0"),
            Datum::Bool(true),
            Datum::Bool(true),
            Datum::Bool(false),
            text("pg_catalog"),
            Datum::Null,
            text(PLPGSQL),
        ]]),
        "pg_prepared_xact" => {
            let row = |(xid, gid, at, owner, db): (u64, String, i64, u32, u32)| {
                vec![
                    Datum::U32(xid as u32),
                    text(&gid),
                    Datum::I64(at),
                    Datum::U32(owner),
                    Datum::U32(db),
                ]
            };
            Ok(s.prepared_transactions().into_iter().map(row).collect())
        }
        "pg_get_catalog_foreign_keys" => foreign_keys(s),
        "pg_get_multixact_members" => {
            args.oid(0).and_then(|id| Err(super::outside::multixact_members(id)))
        }
        "pg_extension_update_paths" => update_paths(args),
        "pg_listening_channels"
        | "pg_get_loaded_modules"
        | "pg_available_wal_summaries"
        | "pg_stat_get_wal_senders"
        | "pg_stat_get_wal_receiver"
        | "pg_stat_get_subscription"
        | "pg_get_replication_slots"
        | "pg_show_replication_origin_status"
        | "pg_stat_get_slru"
        | "pg_stat_get_io"
        | "pg_get_shmem_allocations"
        | "pg_get_backend_memory_contexts"
        | "pg_get_publication_tables"
        | "pg_event_trigger_ddl_commands"
        | "pg_event_trigger_dropped_objects" => Ok(Vec::new()),
        _ => return None,
    })
}

/// References between the system tables, as `pg_get_catalog_foreign_keys` has them.
fn foreign_keys(s: &dyn SysSession) -> Result<Rows> {
    let io = s.env().io();
    let row = |line: &str| -> Result<Vec<Datum>> {
        const TYPES: [Oid; 6] = [Oid(2205), Oid(1009), Oid(2205), Oid(1009), Oid(16), Oid(16)];
        let values = line.split('\t').zip(TYPES);
        values.map(|(text, ty)| types::io::input(ty, text, -1, &io)).collect()
    };
    functions::builtin::CATALOG_FOREIGN_KEYS.lines().map(row).collect()
}

fn update_paths(args: &Args) -> Result<Rows> {
    let name = args.text(0)?;
    let wrong = if name.is_empty() {
        "Extension names must not be empty."
    } else if name.contains("--") {
        "Extension names must not contain \"--\"."
    } else if name.starts_with('-') || name.ends_with('-') {
        "Extension names must not begin or end with \"-\"."
    } else if name.contains(['/', '\\']) {
        "Extension names must not contain directory separator characters."
    } else {
        ""
    };
    if !wrong.is_empty() {
        let e = base::err!(INVALID_PARAMETER_VALUE, "invalid extension name: \"{name}\"");
        return Err(e.detail(wrong));
    }
    match name {
        "plpgsql" => Ok(Vec::new()),
        name => Err(base::err!(FEATURE_NOT_SUPPORTED, "extension \"{name}\" is not available")
            .hint(
                "The extension must first be installed on the system where PostgreSQL is running.",
            )),
    }
}

const PLPGSQL: &str = "PL/pgSQL procedural language";

fn text(t: &str) -> Datum {
    Datum::text(t)
}

/// A row of `pg_locks`.
fn lock(l: &LockInfo) -> Vec<Datum> {
    let oid = |o: Oid| Datum::U32(o.0);
    let mut row = vec![Datum::Null; 16];
    match l.tag {
        LockTag::Relation { db, rel } | LockTag::Extend { db, rel } => {
            (row[1], row[2]) = (oid(db), oid(rel));
        }
        LockTag::FrozenIds { db } => row[1] = oid(db),
        LockTag::Page { db, rel, block } => {
            (row[1], row[2]) = (oid(db), oid(rel));
            row[3] = Datum::I32(block.0 as i32);
        }
        LockTag::Tuple { db, rel, tid } => {
            (row[1], row[2]) = (oid(db), oid(rel));
            row[3] = Datum::I32(tid.block.0 as i32);
            row[4] = Datum::I16(tid.offset as i16);
        }
        LockTag::Transaction(xid) => row[6] = Datum::U32(xid.0 as u32),
        LockTag::VirtualXid { proc, local } => row[5] = Datum::string(format!("{proc}/{local}")),
        LockTag::SpeculativeToken { xid, token } => {
            row[6] = Datum::U32(xid.0 as u32);
            row[8] = Datum::U32(token);
        }
        LockTag::Object { db, class, id, sub } => {
            (row[1], row[7], row[8]) = (oid(db), oid(class), oid(id));
            row[9] = Datum::I16(sub as i16);
        }
        LockTag::Advisory { db, key1, key2, kind } => {
            (row[1], row[7], row[8]) = (oid(db), Datum::U32(key1), Datum::U32(key2));
            row[9] = Datum::I16(kind as i16);
        }
    }
    row[0] = text(l.tag.type_name());
    row[10] = Datum::string(format!("{}/{}", l.virtual_xid.0, l.virtual_xid.1));
    row[11] = Datum::I32(l.pid);
    row[12] = text(l.mode.name());
    row[13] = Datum::Bool(l.granted);
    row[14] = Datum::Bool(l.fast_path);
    row[15] = l.wait_start_micros.map_or(Datum::Null, |t| Datum::I64(since_2000(t)));
    row
}

/// A note of a serializable transaction, which is shown like a lock.
fn predicate_lock((target, holder): &(PredicateTarget, PredicateHolder)) -> Vec<Datum> {
    let mut row = vec![Datum::Null; 16];
    row[0] = text(match (target.block(), target.offset()) {
        (None, _) => "relation",
        (_, None) => "page",
        (_, Some(_)) => "tuple",
    });
    (row[1], row[2]) = (Datum::U32(target.db.0), Datum::U32(target.rel.0));
    row[3] = target.block().map_or(Datum::Null, |b| Datum::I32(b.0 as i32));
    row[4] = target.offset().map_or(Datum::Null, |o| Datum::I16(o as i16));
    row[10] = Datum::string(format!("{}/{}", holder.virtual_xid.0, holder.virtual_xid.1));
    row[11] = Datum::I32(holder.pid);
    row[12] = text("SIReadLock");
    (row[13], row[14]) = (Datum::Bool(true), Datum::Bool(false));
    row
}

/// Microseconds since 2000, of those since 1970.
fn since_2000(unix: i64) -> i64 {
    unix - types::datetime::UNIX_OFFSET
}

fn activity(s: &dyn SysSession, args: &Args) -> Rows {
    let only = args.int(0).ok().map(|n| n as i32);
    let columns = functions::builtin::procs().iter().find(|p| p.proname == "pg_stat_get_activity");
    let names: Vec<&str> = match columns {
        Some(p) => p
            .proargnames
            .iter()
            .zip(&p.proargmodes)
            .filter(|(_, m)| **m == b'o')
            .map(|(n, _)| *n)
            .collect(),
        None => Vec::new(),
    };
    let sessions = s.sessions();
    let mut rows: Rows = sessions
        .iter()
        .filter(|i| only.is_none_or(|pid| i.pid == pid))
        .map(|i| {
            let may_see = s.may_see_session_of(i.user);
            names.iter().map(|n| activity_shown(i, n, may_see)).collect()
        })
        .collect();
    let sees_parts = s.may_see_session_of(Oid::INVALID);
    for part in &PARTS {
        let pid = s.part_pid(part.0);
        if only.is_none_or(|wanted| wanted == pid) {
            let value = |n: &&str| match (sees_parts, *n) {
                (true, _) | (_, "pid") => part_value(s, *part, pid, n),
                (false, "query") => text(NOT_SHOWN),
                (false, _) => Datum::Null,
            };
            rows.push(names.iter().map(value).collect());
        }
    }
    rows
}

/// What others are told of a session's statement who may not see it.
const NOT_SHOWN: &str = "<insufficient privilege>";

/// What somebody is told of a session who may see all of it or not.
pub(super) fn activity_shown(i: &SessionInfo, column: &str, may_see: bool) -> Datum {
    match column {
        "datid" | "pid" | "usesysid" | "application_name" | "backend_xid" | "backend_xmin" => {
            activity_value(i, column)
        }
        _ if may_see => activity_value(i, column),
        "query" => text(NOT_SHOWN),
        _ => Datum::Null,
    }
}

fn client_certificate(i: &SessionInfo, get: fn(&(String, String, String)) -> Datum) -> Datum {
    i.ssl.as_ref().and_then(|s| s.client.as_ref()).map_or(Datum::Null, get)
}

fn numeric(digits: &str) -> Datum {
    use functions::FnEnv;
    let env = functions::StaticEnv::new(0);
    types::io::input(Oid(1700), digits, -1, &env.io()).unwrap_or(Datum::Null)
}

/// What a session waits for: its client between statements.
fn wait_event(i: &SessionInfo) -> WaitEvent {
    match i.state {
        SessionState::Active => i.parked.unwrap_or_else(|| os::wait::event_of(i.thread)),
        _ => WaitEvent::ClientRead,
    }
}

/// Parts of the server that have a row of their own.
const PARTS: [(&str, WaitEvent); 4] = [
    ("autovacuum launcher", WaitEvent::AutovacuumMain),
    ("background writer", WaitEvent::BgwriterMain),
    ("checkpointer", WaitEvent::CheckpointerMain),
    ("walwriter", WaitEvent::WalWriterMain),
];

fn part_value(
    s: &dyn SysSession,
    (kind, event): (&str, WaitEvent),
    pid: i32,
    column: &str,
) -> Datum {
    match column {
        "pid" => Datum::I32(pid),
        "backend_type" => text(kind),
        "wait_event_type" => event.class().map_or(Datum::Null, text),
        "wait_event" => event.name().map_or(Datum::Null, text),
        "backend_start" => Datum::I64(s.start_times().0),
        _ => Datum::Null,
    }
}

fn activity_value(i: &SessionInfo, column: &str) -> Datum {
    let time = |t: i64| if t == 0 { Datum::Null } else { Datum::I64(since_2000(t)) };
    match column {
        "datid" => Datum::U32(i.database.0),
        "pid" => Datum::I32(i.pid),
        "usesysid" => Datum::U32(i.user.0),
        "application_name" => text(&i.application_name),
        "state" => text(i.state.as_str()),
        "query" => text(&i.query),
        "query_id" if i.query_id != 0 => Datum::I64(i.query_id),
        "xact_start" if i.state == SessionState::Disabled => Datum::Null,
        "xact_start" => time(i.xact_start),
        "query_start" => time(i.query_start),
        "backend_start" => time(i.backend_start),
        "state_change" => time(i.state_change),
        "client_addr" => i
            .client_addr
            .as_ref()
            .and_then(|a| {
                use functions::FnEnv;
                let env = functions::StaticEnv::new(0);
                types::io::input(Oid(869), a, -1, &env.io()).ok()
            })
            .unwrap_or(Datum::Null),
        "client_hostname" => i.client_hostname.as_ref().map_or(Datum::Null, |n| text(n)),
        "client_port" => Datum::I32(i.client_port.unwrap_or(-1)),
        "leader_pid" => i.leader.map_or(Datum::Null, Datum::I32),
        "backend_type" => match i.background {
            true if i.leader.is_some() => text("parallel worker"),
            true => text("autovacuum worker"),
            false => text("client backend"),
        },
        "ssl" => Datum::Bool(i.ssl.is_some()),
        "sslversion" => i.ssl.as_ref().map_or(Datum::Null, |s| text(&s.version)),
        "sslcipher" => i.ssl.as_ref().map_or(Datum::Null, |s| text(&s.cipher)),
        "sslbits" => i.ssl.as_ref().map_or(Datum::Null, |s| Datum::I32(s.bits)),
        "ssl_client_dn" => client_certificate(i, |c| text(&c.0)),
        "ssl_client_serial" => client_certificate(i, |c| numeric(&c.1)),
        "ssl_issuer_dn" => client_certificate(i, |c| text(&c.2)),
        "gss_auth" | "gss_enc" | "gss_delegation" => Datum::Bool(false),
        "wait_event_type" => wait_event(i).class().map_or(Datum::Null, text),
        "wait_event" => wait_event(i).name().map_or(Datum::Null, text),
        "backend_xid" => i.xid.map_or(Datum::Null, |x| Datum::U32(x as u32)),
        "backend_xmin" => i.xmin.map_or(Datum::Null, |x| Datum::U32(x as u32)),
        _ => Datum::Null,
    }
}

fn keywords() -> Rows {
    KEYWORDS
        .iter()
        .map(|k| {
            let (code, description) = match k.category {
                Category::Unreserved => (b'U', "unreserved"),
                Category::ColName => (b'C', "unreserved (cannot be function or type name)"),
                Category::TypeFunc => (b'T', "reserved (can be function or type name)"),
                Category::Reserved => (b'R', "reserved"),
            };
            let label = if k.bare_label { "can be bare label" } else { "requires AS" };
            vec![
                text(k.word),
                Datum::Char(code),
                Datum::Bool(k.bare_label),
                text(description),
                text(label),
            ]
        })
        .collect()
}

fn cursors(s: &dyn SysSession) -> Rows {
    s.cursors()
        .iter()
        .map(|c| {
            vec![
                text(&c.name),
                text(&c.statement),
                Datum::Bool(c.holdable),
                Datum::Bool(c.binary),
                Datum::Bool(c.scrollable),
                Datum::I64(c.created),
            ]
        })
        .collect()
}

fn types(list: &[Oid]) -> Datum {
    let elem = types::array::ElemType::builtin(catalog::oids::REGTYPE);
    let values: Vec<Datum> = list.iter().map(|o| Datum::U32(o.0)).collect();
    types::array::make_vector(&elem, &values).unwrap_or(Datum::Null)
}

fn prepared(s: &dyn SysSession) -> Rows {
    s.prepared()
        .iter()
        .map(|p| {
            vec![
                text(&p.name),
                text(&p.statement),
                Datum::I64(p.prepared),
                types(&p.parameter_types),
                p.result_types.as_deref().map_or(Datum::Null, types),
                Datum::Bool(p.from_sql),
                Datum::I64(p.generic_plans),
                Datum::I64(p.custom_plans),
            ]
        })
        .collect()
}

fn partition_tree(s: &dyn SysSession, args: &Args) -> Result<Rows> {
    let root = args.oid(0)?;
    let mut out = Vec::new();
    let mut todo = vec![(root, Oid::INVALID, 0)];
    while let Some((oid, parent, level)) = todo.pop() {
        let Some(rel) = s.view().find_relation(oid)? else { continue };
        let partitioned =
            matches!(rel.kind, catalog::RelKind::Partitioned | catalog::RelKind::PartitionedIndex);
        if !rel.is_partition && !partitioned {
            continue;
        }
        let parent = if level == 0 && rel.is_partition {
            rel.parents.first().copied().unwrap_or_default()
        } else {
            parent
        };
        let parent = if parent.is_valid() { Datum::U32(parent.0) } else { Datum::Null };
        out.push(vec![Datum::U32(oid.0), parent, Datum::Bool(!partitioned), Datum::I32(level)]);
        for child in s.view().children(oid)?.into_iter().rev() {
            todo.push((child, oid, level + 1));
        }
    }
    Ok(out)
}

fn ancestors(s: &dyn SysSession, args: &Args) -> Result<Rows> {
    let mut out = Vec::new();
    let mut next = Some(args.oid(0)?);
    while let Some(oid) = next {
        let Some(rel) = s.view().find_relation(oid)? else { break };
        if !rel.is_partition && rel.partition_key.is_none() {
            break;
        }
        out.push(vec![Datum::U32(oid.0)]);
        next = if rel.is_partition { rel.parents.first().copied() } else { None };
    }
    Ok(out)
}
