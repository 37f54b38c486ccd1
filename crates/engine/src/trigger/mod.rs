//! Triggers that users make: which fire for a change, in the order of their names, and the
//! functions they call. BEFORE triggers run where the row changes; AFTER triggers are queued with
//! the foreign keys' checks and run at the end of the statement, or before the commit.

mod builtin;

use crate::StatementEnv;
use crate::ddl::trigger::bits;
use crate::session::{RunParts, SessionCore};
use base::{Error, Result};
use catalog::{RelationDesc, TriggerDesc};
use ir::CmdType;
use std::cell::Cell;
use std::sync::Arc;
use types::Datum;

thread_local! {
    /// How many triggers run within one another: a statement does not leave its thread in one.
    static DEPTH: Cell<i32> = const { Cell::new(0) };
}

/// A trigger that runs, for `pg_trigger_depth`.
pub(crate) struct Running(());

impl Running {
    /// It begins.
    pub(crate) fn begin() -> Running {
        DEPTH.set(DEPTH.get() + 1);
        Running(())
    }

    /// How many run now.
    pub(crate) fn depth() -> i32 {
        DEPTH.get()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// What a trigger's function is told.
pub(crate) struct Firing<'a> {
    pub rel: &'a RelationDesc,
    pub trigger: &'a TriggerDesc,
    /// The event's bit, as in `tgtype`.
    pub event: i16,
    pub old: Option<&'a [Datum]>,
    pub new: Option<&'a [Datum]>,
}

impl Firing<'_> {
    /// The row as it is without the trigger.
    fn row(&self) -> Vec<Datum> {
        self.new.or(self.old).map(<[Datum]>::to_vec).unwrap_or_default()
    }
}

/// The bit of a command.
pub(crate) fn event_of(command: CmdType) -> i16 {
    match command {
        CmdType::Insert => bits::INSERT,
        CmdType::Delete => bits::DELETE,
        _ => bits::UPDATE,
    }
}

/// The triggers of a table for an event: `timing` has the bits ROW and BEFORE.
pub(crate) fn matching<'r>(
    core: &SessionCore,
    rel: &'r RelationDesc,
    event: i16,
    timing: i16,
    assigned: &[i16],
) -> Vec<&'r TriggerDesc> {
    if rel.triggers.iter().all(|t| t.is_internal) {
        return Vec::new();
    }
    let role = core.settings.lock().str("session_replication_role").to_string();
    let enabled = |t: &TriggerDesc| match t.enabled {
        b'D' => false,
        b'A' => true,
        b'R' => role == "replica",
        _ => role != "replica",
    };
    let mask = bits::ROW | bits::BEFORE | bits::INSTEAD;
    let columns = |t: &TriggerDesc| {
        event != bits::UPDATE
            || t.columns.is_empty()
            || t.columns.iter().any(|n| assigned.contains(n))
    };
    let fires = |t: &&TriggerDesc| {
        !t.is_internal && t.kind & mask == timing && t.kind & event != 0 && enabled(t) && columns(t)
    };
    let mut found: Vec<&TriggerDesc> = rel.triggers.iter().filter(fires).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Whether a trigger's WHEN lets it fire.
pub(crate) fn wanted(core: &Arc<SessionCore>, f: &Firing<'_>) -> Result<bool> {
    let Some(text) = &f.trigger.when else { return Ok(true) };
    let when: ir::Expr = crate::cook::from_text(text)?;
    let random = Cell::new([1, 2]);
    let env = StatementEnv::new(core, &random, os::clock::now_micros())?;
    let snapshot = Arc::new(core.txn()?.latest_snapshot());
    let storage = core.database.storage();
    let mut exprs = executor::RowExprs::of_pair(&env.view, storage, f.rel, snapshot, &[when])?;
    let natts = f.rel.tuple.natts();
    let mut row = f.old.map_or_else(|| vec![Datum::Null; natts], <[Datum]>::to_vec);
    row.resize(natts, Datum::Null);
    row.extend(f.new.map_or_else(|| vec![Datum::Null; natts], <[Datum]>::to_vec));
    let parts = RunParts::of(core)?;
    Ok(matches!(exprs.value(parts.cx(&env), 0, &row)?, Datum::Bool(true)))
}

/// Calls a trigger's function: the row to go on with, or none to leave the row alone.
pub(crate) fn call(core: &Arc<SessionCore>, f: &Firing<'_>) -> Result<Option<Vec<Datum>>> {
    let random = Cell::new([1, 2]);
    let env = StatementEnv::new(core, &random, os::clock::now_micros())?;
    let _running = Running::begin();
    let proc = env.view.proc(f.trigger.function)?;
    let source: &str = if proc.source.is_empty() { &proc.name } else { &proc.source };
    match (proc.language, source) {
        (catalog::oids::INTERNAL_LANGUAGE, "suppress_redundant_updates_trigger") => {
            builtin::suppress_redundant_updates(f)
        }
        (catalog::oids::INTERNAL_LANGUAGE, "tsvector_update_trigger_byid") => {
            builtin::tsvector_update(&env, f, false)
        }
        (catalog::oids::INTERNAL_LANGUAGE, "tsvector_update_trigger_bycolumn") => {
            builtin::tsvector_update(&env, f, true)
        }
        _ => Err(Error::unsupported(format!("calling the trigger function {}", proc.name))),
    }
}

/// BEFORE ROW triggers of a change: the row to store, or none.
pub(crate) fn before_row(
    core: &Arc<SessionCore>,
    change: &executor::RowChange<'_>,
) -> Result<Option<Vec<Datum>>> {
    let mut row = change.new.map(|(_, v)| v.to_vec());
    let event = event_of(change.command);
    let timing = bits::ROW | bits::BEFORE;
    for trigger in matching(core, change.rel, event, timing, change.assigned) {
        let old = change.old.map(|(_, v)| v);
        let f = Firing { rel: change.rel, trigger, event, old, new: row.as_deref() };
        if !wanted(core, &f)? {
            continue;
        }
        match call(core, &f)? {
            None => return Ok(None),
            Some(changed) if row.is_some() => row = Some(changed),
            Some(_) => {}
        }
    }
    Ok(Some(row.unwrap_or_default()))
}

/// Statement triggers.
pub(crate) fn statement(
    core: &Arc<SessionCore>,
    rel: &RelationDesc,
    event: i16,
    before: bool,
    assigned: &[i16],
) -> Result<()> {
    let timing = if before { bits::BEFORE } else { 0 };
    for trigger in matching(core, rel, event, timing, assigned) {
        let f = Firing { rel, trigger, event, old: None, new: None };
        if wanted(core, &f)? {
            call(core, &f)?;
        }
    }
    Ok(())
}
