//! Foreign keys. Each change of a row of a table that takes part in one queues what has to be
//! looked at ([`RiHooks`]); the queue is worked off at the end of the statement, or, for deferred
//! constraints, before the commit. What has to be done is a query with the keys as parameters,
//! planned once for each constraint.
//!
//! The order is PostgreSQL's: checks see what the statement did, and what one of them changes is
//! followed up before the next begins.

mod error;
mod modes;
mod query;

use crate::ddl::trigger::bits;
use crate::session::SessionCore;
use crate::trigger;
use base::{Error, Oid, Result, Tid, err};
use catalog::{ConstraintDesc, RelationDesc, TriggerDesc};
use executor::{CompiledStmt, Hooks, RowChange};
use ir::CmdType;
use os::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use txn::SubId;
use types::Datum;

/// What is to be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) enum Kind {
    /// A referencing row is new: the row referred to must exist.
    Check,
    /// A referenced row is gone.
    Deleted,
    /// A referenced row has other keys.
    Updated,
    /// A row's key was perhaps not unique: `constraint` is that of its index.
    Unique,
    /// A user's trigger and its event.
    Trigger(Oid, i16),
}

/// One thing to look at.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub kind: Kind,
    pub constraint: Oid,
    /// The table whose row has changed.
    pub on: Oid,
    /// The referencing table.
    pub table: Oid,
    /// The referencing row, to be passed over if it is gone by then.
    pub tid: Tid,
    /// Old key of the referenced row.
    pub old: Vec<Datum>,
    /// New key, of the referencing or the referenced row.
    pub new: Vec<Datum>,
    sub: SubId,
}

/// A query that belongs to a constraint, planned.
pub(crate) struct RiPlan {
    pub compiled: Arc<CompiledStmt>,
    pub generation: u64,
    pub settings: u64,
}

/// Which deferrable constraints are deferred now.
#[derive(Default)]
struct Modes {
    all: Option<bool>,
    single: HashMap<Oid, bool>,
}

#[derive(Default)]
struct State {
    now: Vec<Event>,
    later: Vec<Event>,
    modes: Modes,
    plans: HashMap<(Oid, query::Step), Arc<RiPlan>>,
}

/// A session's queue and plans.
#[derive(Default)]
pub struct ForeignKeys {
    state: Mutex<State>,
}

impl ForeignKeys {
    /// Takes what is to be done at the end of a statement.
    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.state.lock().now)
    }

    /// Takes what was put off.
    pub(crate) fn take_deferred(&self) -> Vec<Event> {
        std::mem::take(&mut self.state.lock().later)
    }

    /// The transaction is over.
    pub(crate) fn clear(&self) {
        let mut s = self.state.lock();
        s.now.clear();
        s.later.clear();
        s.modes = Modes::default();
    }

    /// True if something is still to be done for a table.
    pub(crate) fn is_pending_on(&self, table: Oid) -> bool {
        let s = self.state.lock();
        s.now.iter().chain(&s.later).any(|e| e.on == table)
    }

    /// A statement failed: what it queued goes.
    pub(crate) fn statement_failed(&self) {
        self.state.lock().now.clear();
    }

    /// A subtransaction was rolled back, and those within it: their numbers are higher.
    pub(crate) fn sub_aborted(&self, sub: SubId) {
        let mut s = self.state.lock();
        s.now.retain(|e| e.sub.0 < sub.0);
        s.later.retain(|e| e.sub.0 < sub.0);
    }

    /// SET CONSTRAINTS: none is ALL. What is to be checked at once now is returned.
    pub(crate) fn set_modes(&self, constraints: Option<&[Oid]>, deferred: bool) -> Vec<Event> {
        let mut s = self.state.lock();
        match constraints {
            None => s.modes = Modes { all: Some(deferred), single: HashMap::new() },
            Some(oids) => {
                for oid in oids {
                    s.modes.single.insert(*oid, deferred);
                }
            }
        }
        if deferred {
            return Vec::new();
        }
        let meant = |e: &Event| constraints.is_none_or(|c| c.contains(&e.constraint));
        let (due, later) = std::mem::take(&mut s.later).into_iter().partition(meant);
        s.later = later;
        due
    }

    fn push(&self, c: &ConstraintDesc, event: Event) {
        self.push_by(c.deferrable, c.oid, c.deferred, event);
    }

    fn push_by(&self, deferrable: bool, constraint: Oid, deferred: bool, event: Event) {
        let mut s = self.state.lock();
        let mode = s.modes.single.get(&constraint).copied().or(s.modes.all);
        let deferred = deferrable && mode.unwrap_or(deferred);
        if deferred { s.later.push(event) } else { s.now.push(event) }
    }

    fn plan(&self, key: (Oid, query::Step)) -> Option<Arc<RiPlan>> {
        self.state.lock().plans.get(&key).cloned()
    }

    fn keep_plan(&self, key: (Oid, query::Step), plan: Arc<RiPlan>) {
        self.state.lock().plans.insert(key, plan);
    }
}

/// Queues what changes of rows mean for foreign keys.
pub(crate) struct RiHooks {
    core: Arc<SessionCore>,
}

impl RiHooks {
    /// For this session.
    pub fn new(core: &Arc<SessionCore>) -> RiHooks {
        RiHooks { core: core.clone() }
    }

    fn referencing(&self, change: &RowChange<'_>, sub: SubId) {
        let Some((tid, new)) = change.new else { return };
        let all = &change.rel.constraints;
        for c in all.iter().filter(|c| c.kind == b'f' && c.enforced) {
            let Some(foreign) = &c.foreign else { continue };
            // One for a partition of the table referred to: the one above it checks.
            if c.parent.is_valid() && all.iter().any(|above| above.oid == c.parent) {
                continue;
            }
            let key = key_of(new, &c.columns);
            let nulls = key.iter().filter(|v| v.is_null()).count();
            if nulls == key.len() || (nulls > 0 && foreign.match_type != b'f') {
                continue;
            }
            // An earlier version that is not checked yet will be passed over: this one counts.
            let same = change.old.is_some_and(|(_, old)| key_of(old, &c.columns) == key);
            if same && !self.is_waiting(c.oid) {
                continue;
            }
            let event = Event {
                kind: Kind::Check,
                constraint: c.oid,
                on: change.rel.oid,
                table: change.rel.oid,
                tid: tid.unwrap_or(Tid::INVALID),
                old: Vec::new(),
                new: key,
                sub,
            };
            self.core.foreign_keys.push(c, event);
        }
    }

    /// An AFTER trigger fires at the end of the statement, or before the commit.
    fn queue_trigger(
        &self,
        rel: &RelationDesc,
        t: &TriggerDesc,
        event: i16,
        tid: Option<Tid>,
        (old, new): (Vec<Datum>, Vec<Datum>),
    ) -> Result<()> {
        let made = Event {
            kind: Kind::Trigger(t.oid, event),
            constraint: t.constraint,
            on: rel.oid,
            table: rel.oid,
            tid: tid.unwrap_or(Tid::INVALID),
            old,
            new,
            sub: self.core.txn()?.current_sub(),
        };
        let deferrable = t.deferrable && t.constraint.is_valid();
        self.core.foreign_keys.push_by(deferrable, t.constraint, t.initially_deferred, made);
        Ok(())
    }

    /// A row moves within the tree of `root`: what refers to a table between it and the row's
    /// partition cannot follow.
    fn check_move(&self, leaf: &RelationDesc, root: &RelationDesc) -> Result<()> {
        let view = self.core.view()?;
        for c in leaf.referenced_by.iter().filter(|c| c.parent.is_valid()) {
            let mut top = c.clone();
            while top.parent.is_valid() && !root.referenced_by.iter().any(|r| r.oid == top.oid) {
                top = ConstraintDesc::clone(&*view.constraint(top.parent)?);
            }
            if root.referenced_by.iter().any(|r| r.oid == top.oid) {
                continue;
            }
            let table = top.foreign.as_ref().map_or(Oid::INVALID, |f| f.table);
            let table = view.relation(table)?;
            return Err(err!(
                FEATURE_NOT_SUPPORTED,
                "cannot move tuple across partitions when a non-root ancestor of the source \
                 partition is directly referenced in a foreign key"
            )
            .detail(format!(
                "A foreign key points to ancestor \"{}\" but not the root ancestor \"{}\".",
                table.name, root.name
            ))
            .hint(format!("Consider defining the foreign key on table \"{}\".", root.name)));
        }
        Ok(())
    }

    fn is_waiting(&self, constraint: Oid) -> bool {
        let s = self.core.foreign_keys.state.lock();
        s.now.iter().chain(&s.later).any(|e| e.constraint == constraint)
    }

    fn referenced(&self, change: &RowChange<'_>, sub: SubId) {
        let Some((_, old)) = change.old else { return };
        for c in change.rel.referenced_by.iter().filter(|c| c.enforced) {
            let Some(foreign) = &c.foreign else { continue };
            // A row that moves to another partition is an update of the table above.
            if change.moving && c.parent.is_valid() {
                continue;
            }
            let key = key_of(old, &foreign.columns);
            if key.iter().any(Datum::is_null) {
                continue;
            }
            let new = match change.new {
                Some((_, new)) => key_of(new, &foreign.columns),
                None => Vec::new(),
            };
            if change.command != CmdType::Delete && same_image(&new, &key) {
                continue;
            }
            let event = Event {
                kind: if new.is_empty() { Kind::Deleted } else { Kind::Updated },
                constraint: c.oid,
                on: change.rel.oid,
                table: c.relation,
                tid: Tid::INVALID,
                old: key,
                new,
                sub,
            };
            self.core.foreign_keys.push(c, event);
        }
    }
}

/// True if the keys are the same bytes: `0` and `-0` are not.
fn same_image(a: &[Datum], b: &[Datum]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (a, b) {
            (Datum::F64(a), Datum::F64(b)) => a.to_bits() == b.to_bits(),
            (Datum::F32(a), Datum::F32(b)) => a.to_bits() == b.to_bits(),
            (a, b) => a == b,
        })
}

fn key_of(row: &[Datum], columns: &[i16]) -> Vec<Datum> {
    columns.iter().map(|n| row.get(*n as usize - 1).cloned().unwrap_or_default()).collect()
}

impl Hooks for RiHooks {
    fn before_statement(
        &self,
        rel: &RelationDesc,
        command: CmdType,
        assigned: &[i16],
    ) -> Result<()> {
        let event = trigger::event_of(command);
        trigger::statement(&self.core, rel, event, true, assigned)
    }

    fn after_statement(
        &self,
        rel: &RelationDesc,
        command: CmdType,
        assigned: &[i16],
    ) -> Result<()> {
        let event = trigger::event_of(command);
        for t in trigger::matching(&self.core, rel, event, 0, assigned) {
            self.queue_trigger(rel, t, event, None, (Vec::new(), Vec::new()))?;
        }
        Ok(())
    }

    fn before_row(&self, change: &RowChange<'_>) -> Result<Option<Vec<Datum>>> {
        trigger::before_row(&self.core, change)
    }

    fn readable_columns(&self, rel: &RelationDesc) -> Option<Vec<i16>> {
        self.core.readable_columns(rel)
    }

    fn hides_rows(&self, rel: &RelationDesc) -> bool {
        self.core.hides_rows(rel)
    }

    fn key_columns(&self, relation: Oid) -> Result<String> {
        let random = std::cell::Cell::new([1, 2]);
        let env = crate::StatementEnv::new(&self.core, &random, os::clock::now_micros())?;
        crate::sysfn::key_columns(&env, relation)
    }

    fn after_move(&self, leaf: &RelationDesc, change: &RowChange<'_>) -> Result<()> {
        self.check_move(leaf, change.rel)?;
        self.referenced(change, self.core.txn()?.current_sub());
        Ok(())
    }

    fn defer_unique(&self, rel: &RelationDesc, index: Oid, tid: Tid) -> Result<()> {
        let Some(c) = rel.constraints.iter().find(|c| c.index == index && c.kind != b'f') else {
            return Err(Error::internal("a deferrable index without a constraint"));
        };
        let event = Event {
            kind: Kind::Unique,
            constraint: c.oid,
            on: rel.oid,
            table: rel.oid,
            tid,
            old: Vec::new(),
            new: Vec::new(),
            sub: self.core.txn()?.current_sub(),
        };
        self.core.foreign_keys.push(c, event);
        Ok(())
    }

    fn after_row(&self, change: &RowChange<'_>) -> Result<()> {
        let sub = self.core.txn()?.current_sub();
        self.referencing(change, sub);
        self.referenced(change, sub);
        let event = trigger::event_of(change.command);
        let rel = change.rel;
        for t in trigger::matching(&self.core, rel, event, bits::ROW, change.assigned) {
            let old = change.old.map(|(_, v)| v);
            let new = change.new.map(|(_, v)| v);
            let f = trigger::Firing { rel, trigger: t, event, old, new };
            if trigger::wanted(&self.core, &f)? {
                let rows = (
                    old.map(<[Datum]>::to_vec).unwrap_or_default(),
                    new.map(<[Datum]>::to_vec).unwrap_or_default(),
                );
                let tid = change.new.and_then(|(tid, _)| tid);
                self.queue_trigger(rel, t, event, tid, rows)?;
            }
        }
        Ok(())
    }
}
