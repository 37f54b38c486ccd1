//! INSERT.

use super::route::mapped;
use super::{Done, ModifySpec, TargetProg, conflict, exec_txn};
use crate::hooks::RowChange;
use crate::run::Run;
use access::ExecTxn;
use access::heap::InsertOptions;
use base::Result;
use ir::{CheckOptionKind, CmdType};
use types::{Batch, Datum};

/// Conditions that an inserted row must satisfy.
pub(super) const CHECKS: CheckOptionKind = CheckOptionKind::RlsInsert;

/// Inserts the row that a child's row is.
pub(super) fn insert(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    child: Vec<Datum>,
) -> Result<Option<(Done, Vec<Datum>)>> {
    let mut row = child[..target.rel.natts().min(child.len())].to_vec();
    row.resize(target.rel.natts(), Datum::Null);
    let done = match &spec.conflict {
        Some(conflict) => conflict::insert(run, x, target, conflict, None, row)?,
        None => insert_row(run, x, target, row)?,
    };
    Ok(done.map(|d| (d, child)))
}

/// Inserts a row of a partitioned table into the partition it belongs to.
pub(super) fn routed(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    child: Vec<Datum>,
) -> Result<Option<(Done, Vec<Datum>)>> {
    let Some(done) = insert_routed(spec, run, x, &child, CHECKS)? else { return Ok(None) };
    Ok(Some((done, child)))
}

/// Inserts a row that has the root's columns; what was done has them too. `checks`: those of an
/// UPDATE if that moves the row.
pub(super) fn insert_routed(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    row: &[Datum],
    checks: CheckOptionKind,
) -> Result<Option<Done>> {
    let Some(router) = &spec.router else { return Ok(None) };
    let n = router.find(run, row)?;
    let (leaf, target) = (&router.leaves[n], &spec.leaves[n]);
    let own = mapped(&leaf.map, &row[..row.len().min(leaf_width(leaf, row))]);
    let done = match spec.leaf_conflicts.get(n) {
        Some(c) => conflict::insert(run, x, target, c, Some((router, n)), own)?,
        None => insert_into_leaf(run, x, target, own, checks)?,
    };
    let Some(mut done) = done else { return Ok(None) };
    done.table = Some(leaf.oid);
    for (_, own) in done.new.iter_mut().chain(done.old.iter_mut()) {
        *own = mapped(&leaf.back, own);
    }
    Ok(Some(done))
}

fn insert_into_leaf(
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    own: Vec<Datum>,
    checks: CheckOptionKind,
) -> Result<Option<Done>> {
    let Some(own) = prepare(run, target, own, checks)? else { return Ok(None) };
    if target.rel.hooked {
        target.rel.check_belongs(run, &own)?;
    }
    let tid = target.rel.heap().insert(x, &own)?;
    target.rel.insert_entries(run, x, &own, tid, &[])?;
    finish(run, target, tid, own).map(Some)
}

/// How many of a child's columns are the root's: the rest is junk.
fn leaf_width(leaf: &super::route::Leaf, row: &[Datum]) -> usize {
    leaf.back.as_ref().map_or(row.len(), Vec::len)
}

/// What a new row goes through before it is stored; None if a trigger suppressed it.
pub(super) fn prepare(
    run: &mut Run,
    target: &TargetProg,
    mut row: Vec<Datum>,
    checks: CheckOptionKind,
) -> Result<Option<Vec<Datum>>> {
    let rel = &target.rel;
    if rel.hooked {
        let change = RowChange {
            rel: &rel.rel,
            command: CmdType::Insert,
            old: None,
            new: Some((None, &row)),
            assigned: &[],
            moving: false,
        };
        match run.cx.hooks.before_row(&change)? {
            Some(changed) => row = changed,
            None => return Ok(None),
        }
    }
    rel.generate(run, &mut row)?;
    target.check_options(run, &row, &[checks])?;
    rel.check(run, &row)?;
    Ok(Some(row))
}

/// Inserts one row.
pub(super) fn insert_row(
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    row: Vec<Datum>,
) -> Result<Option<Done>> {
    let Some(row) = prepare(run, target, row, CHECKS)? else { return Ok(None) };
    let rel = &target.rel;
    rel.check_belongs(run, &row)?;
    let tid = rel.heap().insert(x, &row)?;
    rel.insert_entries(run, x, &row, tid, &[])?;
    finish(run, target, tid, row).map(Some)
}

/// What follows once the row is stored.
pub(super) fn finish(
    run: &mut Run,
    target: &TargetProg,
    tid: base::Tid,
    row: Vec<Datum>,
) -> Result<Done> {
    let rel = &target.rel;
    if rel.hooked {
        run.cx.hooks.after_row(&RowChange {
            rel: &rel.rel,
            command: CmdType::Insert,
            old: None,
            new: Some((Some(tid), &row)),
            assigned: &[],
            moving: false,
        })?;
    }
    target.check_options(run, &row, &[CheckOptionKind::View])?;
    Ok(Done { old: None, new: Some((tid, row)), ..Done::default() })
}

/// Inserts the rows of a batch into a table without triggers; how many.
pub(super) fn insert_many(run: &mut Run, target: &TargetProg, batch: &Batch) -> Result<u64> {
    let held = exec_txn(run)?;
    let x = held.borrow();
    let rel = &target.rel;
    let natts = rel.natts();
    let mut rows = Vec::with_capacity(batch.rows());
    for i in batch.positions() {
        let mut row = batch.row(i);
        row.resize(natts, Datum::Null);
        rel.generate(run, &mut row)?;
        target.check_options(run, &row, &[CHECKS])?;
        rel.check(run, &row)?;
        rel.check_belongs(run, &row)?;
        rows.push(row);
    }
    let mut tids = Vec::with_capacity(rows.len());
    let mut all = rows.iter().map(Vec::as_slice);
    rel.heap().multi_insert(&x, &mut all, InsertOptions::default(), &mut tids)?;
    for (row, tid) in rows.iter().zip(&tids) {
        rel.insert_entries(run, &x, row, *tid, &[])?;
    }
    for row in &rows {
        target.check_options(run, row, &[CheckOptionKind::View])?;
    }
    Ok(rows.len() as u64)
}
