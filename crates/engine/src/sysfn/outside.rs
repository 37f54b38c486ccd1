//! Functions for states that a server here is never in: recovery, an upgrade by pg_upgrade, an
//! event trigger's run, the making of a cluster. They say so, in PostgreSQL's words.

use base::{Error, Oid, Result, err};
use types::Datum;

pub(super) fn call(name: &str) -> Option<Result<Datum>> {
    Some(match name {
        "pg_promote"
        | "pg_wal_replay_pause"
        | "pg_wal_replay_resume"
        | "pg_get_wal_replay_pause_state"
        | "pg_is_wal_replay_paused" => {
            Err(err!(OBJECT_NOT_IN_PREREQUISITE_STATE, "recovery is not in progress")
                .hint("Recovery control functions can only be executed during recovery."))
        }
        "pg_sync_replication_slots" => Err(err!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "replication slots can only be synchronized to a standby server"
        )),
        "pg_event_trigger_table_rewrite_oid" | "pg_event_trigger_table_rewrite_reason" => {
            Err(err!(
                E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED,
                "{name}() can only be called in a table_rewrite event trigger function"
            ))
        }
        "pg_stop_making_pinned_objects" => {
            Err(err!(INTERNAL_ERROR, "cannot advance OID counter anymore"))
        }
        "pg_numa_available" => Ok(Datum::Bool(false)),
        name if name.starts_with("binary_upgrade_") => Err(err!(
            CANT_CHANGE_RUNTIME_PARAM,
            "function can only be called when server is in binary upgrade mode"
        )),
        _ => return None,
    })
}

/// Row locks are in memory: there are no members of multixacts to tell of.
pub(super) fn multixact_members(id: Oid) -> Error {
    match id.is_valid() {
        false => err!(INVALID_PARAMETER_VALUE, "invalid MultiXactId: {id}"),
        true => {
            err!(INTERNAL_ERROR, "MultiXactId {id} has not been created yet -- apparent wraparound")
        }
    }
}
