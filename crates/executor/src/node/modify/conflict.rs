//! INSERT ... ON CONFLICT.
//!
//! First the arbiter indexes are asked for a live row with the key. If there is none the row is
//! inserted, and its entries go to the arbiters first: should one of them find a conflict after
//! all, the row is taken back and everything begins anew.

use super::insert::{CHECKS, finish, prepare};
use super::recheck::{fetch_any, serialization_failure};
use super::route::{Router, mapped};
use super::update::{Attempt, update_row};
use super::{Done, ResultRel, TargetProg};
use crate::compile::PlanCompiler;
use crate::expr::compile::{SpaceColumns, VarSpace};
use crate::expr::{Prog, RowInput, VarMap};
use crate::node::scan::{CTID, TABLE_OID, system_value, tid_datum};
use crate::run::Run;
use access::ExecTxn;
use access::heap::{Found, Outcome, Sight, Viewer};
use base::{Error, Oid, Result, Tid, err};
use ir::{CheckOptionKind, ConflictAction, PlanOnConflict};
use txn::{RowStrength, Wait};
use types::Datum;

/// System columns of the existing row, in the order of the input.
const SYSTEM: [i16; 6] = [CTID, TABLE_OID, -2, -3, -4, -5];

pub(super) struct ConflictProg {
    action: ConflictAction,
    /// Indexes whose conflicts are meant; all unique ones if none is named.
    arbiters: Vec<Oid>,
    set: Vec<(usize, Prog)>,
    set_numbers: Vec<i16>,
    where_: Option<Prog>,
    /// An expression asks for system columns of the existing row.
    reads_system: bool,
    /// For a partition: the columns of the table that was named, where they differ.
    layout: Layout,
}

/// Where a partition's columns are in rows of the root, and the other way round.
#[derive(Clone, Default)]
pub(super) struct Layout {
    pub map: Option<Vec<Option<usize>>>,
    pub back: Option<Vec<Option<usize>>>,
}

/// What is compiled for a partition rather than for the table itself.
pub(super) struct OfLeaf {
    pub layout: Layout,
    /// Columns of the root.
    pub natts: usize,
}

impl ConflictProg {
    /// DO UPDATE.
    pub fn updates(&self) -> bool {
        self.action == ir::ConflictAction::Update
    }

    /// The columns that DO UPDATE assigns to.
    pub fn set_numbers(&self) -> &[i16] {
        &self.set_numbers
    }

    pub fn compile(
        c: &mut PlanCompiler,
        o: &PlanOnConflict,
        rel: &ResultRel,
        leaf: Option<OfLeaf>,
    ) -> Result<ConflictProg> {
        let natts = leaf.as_ref().map_or(rel.natts(), |l| l.natts);
        let layout = leaf.map_or(Layout::default(), |l| l.layout);
        // The input: the existing row, the row that was to be inserted, and the system columns of
        // the existing one.
        let own = (0..natts).map(|i| (i as i16 + 1, i));
        let system = SYSTEM.iter().enumerate().map(|(i, n)| (*n, 2 * natts + i));
        let mut map = VarMap::default();
        map.spaces.push(VarSpace {
            varno: rel.rti,
            returning: ir::ReturningKind::Default,
            columns: SpaceColumns::Map(own.chain(system).collect()),
            types: None,
        });
        let map = map.and(ir::INNER_VAR, natts, natts);
        let map = map.and(o.excluded_rtindex, natts, natts);
        let mut set = Vec::new();
        for (t, n) in o.set.iter().filter(|t| !t.junk).zip(&o.set_columns) {
            set.push((*n as usize - 1, c.ec.expr(&t.expr, &map)?));
        }
        let mut reads_system = false;
        for e in o.set.iter().map(|t| &t.expr).chain(&o.where_) {
            ir::walk::each(e, &mut |e| {
                reads_system |= matches!(e, ir::Expr::Var(v) if v.varno == rel.rti && v.attno < 0);
            });
        }
        let where_ = o.where_.as_ref().map(|e| c.ec.expr(e, &map)).transpose()?;
        let unique = rel.indexes.iter().filter(|i| i.desc.is_unique || i.desc.is_exclusion);
        let arbiters = match o.arbiters.is_empty() {
            true if unique.clone().any(|i| !i.desc.is_immediate) => return Err(deferrable()),
            true => unique.map(|i| i.desc.oid).collect(),
            false => own_arbiters(c, rel, &o.arbiters)?,
        };
        let set_numbers = match &layout.map {
            None => o.set_columns.clone(),
            Some(map) => {
                let here = |n: &i16| map.iter().position(|m| *m == Some(*n as usize - 1));
                o.set_columns.iter().filter_map(here).map(|i| i as i16 + 1).collect()
            }
        };
        Ok(ConflictProg {
            action: o.action,
            arbiters,
            set,
            set_numbers,
            where_,
            reads_system,
            layout,
        })
    }
}

fn deferrable() -> Error {
    err!(
        OBJECT_NOT_IN_PREREQUISITE_STATE,
        "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as \
         arbiters"
    )
}

/// The indexes of `rel` that are arbiters, or partitions of them.
fn own_arbiters(c: &PlanCompiler, rel: &ResultRel, arbiters: &[Oid]) -> Result<Vec<Oid>> {
    let mut own = Vec::new();
    for index in &rel.indexes {
        let mut at = Some(index.desc.oid);
        while let Some(oid) = at {
            if arbiters.contains(&oid) {
                if !index.desc.is_immediate {
                    return Err(deferrable());
                }
                own.push(index.desc.oid);
                break;
            }
            at = c.ec.catalog.relation(oid)?.parents.first().copied();
        }
    }
    Ok(own)
}

/// The row that has the new one's key in an arbiter index.
fn find(
    run: &mut Run,
    x: &ExecTxn<'_>,
    rel: &ResultRel,
    conflict: &ConflictProg,
    row: &[Datum],
) -> Result<Option<Tid>> {
    for index in rel.indexes.iter().filter(|i| conflict.arbiters.contains(&i.desc.oid)) {
        if !index.wants(run, row)? {
            continue;
        }
        let values = index.values(run, row)?;
        let storage = run.cx.storage()?;
        let mut probe = rel.heap().probe(x);
        let am = index.rel.am();
        let found = am.find_conflict(storage, &index.rel, &values, Tid::INVALID, &mut probe)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Inserts the row, which has the target's columns. `route`: the target is this leaf.
pub(super) fn insert(
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    conflict: &ConflictProg,
    route: Option<(&Router, usize)>,
    row: Vec<Datum>,
) -> Result<Option<Done>> {
    let Some(row) = prepare(run, target, row, CHECKS)? else { return Ok(None) };
    let rel = &target.rel;
    loop {
        run.check_interrupts()?;
        if let Some(root) = find(run, x, rel, conflict, &row)? {
            match on_conflict(run, x, target, conflict, (root, route), &row)? {
                Resolved::Done(done) => return Ok(done),
                Resolved::Retry => continue,
            }
        }
        let tid = rel.heap().insert(x, &row)?;
        if rel.insert_entries(run, x, &row, tid, &conflict.arbiters)?.is_some() {
            rel.heap().take_back(x, tid)?;
            continue;
        }
        return finish(run, target, tid, row).map(Some);
    }
}

enum Resolved {
    Done(Option<Done>),
    /// The conflicting row is gone or another one.
    Retry,
}

fn on_conflict(
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    conflict: &ConflictProg,
    (root, route): (Tid, Option<(&Router, usize)>),
    row: &[Datum],
) -> Result<Resolved> {
    let heap = target.rel.heap();
    let keeps = x.txn.isolation().keeps_snapshot();
    let mut scratch = Vec::new();
    if conflict.action == ConflictAction::Nothing {
        let viewer = Viewer::mvcc(run.cx.storage()?, x.snapshot);
        if keeps && !matches!(heap.fetch(root, &viewer, &mut scratch)?, Found::Row(_)) {
            return Err(serialization_failure("update"));
        }
        return Ok(Resolved::Done(None));
    }
    // The index names the beginning of the chain of versions.
    let viewer = Viewer::new(run.cx.storage()?, Sight::Now(x.snapshot));
    let Found::Row(tid) = heap.fetch(root, &viewer, &mut scratch)? else {
        return Ok(Resolved::Retry);
    };
    match heap.lock_row(x, tid, RowStrength::NoKeyUpdate, Wait::Block)? {
        Outcome::Done(..) => {}
        Outcome::Updated(_) | Outcome::Deleted | Outcome::Moved => {
            if keeps {
                return Err(serialization_failure("update"));
            }
            return Ok(Resolved::Retry);
        }
        Outcome::Invisible | Outcome::SelfModified(_) => {
            return Err(err!(
                CARDINALITY_VIOLATION,
                "ON CONFLICT DO UPDATE command cannot affect row a second time"
            )
            .hint(
                "Ensure that no rows proposed for insertion within the same command have \
                 duplicate constrained values.",
            ));
        }
        Outcome::WouldBlock => return Err(Error::internal("a blocking lock did not block")),
    }
    let old = fetch_any(run, heap, tid)?;
    let visible = Viewer::mvcc(run.cx.storage()?, x.snapshot);
    if keeps && !heap.fetch_version(tid, &visible, &mut scratch)? {
        return Err(serialization_failure("update"));
    }
    let layout = &conflict.layout;
    let mut input = mapped(&layout.back, &old);
    let width = input.len();
    input.extend(mapped(&layout.back, row));
    if conflict.reads_system {
        let header = heap.system_columns(tid)?;
        input.push(tid_datum(tid));
        let value = |n: &i16| Datum::U32(system_value(*n, target.rel.rel.oid, Some(&header)));
        input.extend(SYSTEM[1..].iter().map(value));
    }
    if let Some(w) = &conflict.where_
        && !w.is_true(run, RowInput::Row(&input))?
    {
        return Ok(Resolved::Done(None));
    }
    target.check_options(run, &old, &[CheckOptionKind::RlsConflict])?;
    let mut new = input[..width].to_vec();
    for (column, prog) in &conflict.set {
        new[*column] = prog.eval(run, RowInput::Row(&input))?;
    }
    if let Some((router, n)) = route
        && router.find(run, &new)? != n
    {
        return Err(err!(FEATURE_NOT_SUPPORTED, "invalid ON UPDATE specification").detail(
            "The result tuple would appear in a different partition than the original tuple.",
        ));
    }
    let new = mapped(&layout.map, &new);
    match update_row(run, x, target, tid, old, new, &conflict.set_numbers)? {
        Attempt::Done(done) => Ok(Resolved::Done(Some(Done { locked: true, ..done }))),
        Attempt::Skip => Ok(Resolved::Done(None)),
        Attempt::Changed(_) => Ok(Resolved::Retry),
    }
}
