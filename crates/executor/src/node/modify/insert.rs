//! INSERT.

use super::{Done, ModifySpec, TargetProg, conflict, exec_txn};
use crate::hooks::RowChange;
use crate::run::Run;
use access::ExecTxn;
use access::heap::InsertOptions;
use base::Result;
use ir::{CheckOptionKind, CmdType};
use types::{Batch, Datum};

/// Conditions that an inserted row must satisfy.
const CHECKS: &[CheckOptionKind] = &[CheckOptionKind::RlsInsert];

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
        Some(conflict) => conflict::insert(spec, run, x, target, conflict, row)?,
        None => insert_row(run, x, target, row)?,
    };
    Ok(done.map(|d| (d, child)))
}

/// What a new row goes through before it is stored; None if a trigger suppressed it.
pub(super) fn prepare(
    run: &mut Run,
    target: &TargetProg,
    mut row: Vec<Datum>,
) -> Result<Option<Vec<Datum>>> {
    let rel = &target.rel;
    if rel.hooked {
        let change = RowChange {
            rel: &rel.rel,
            command: CmdType::Insert,
            old: None,
            new: Some((None, &row)),
            assigned: &[],
        };
        match run.cx.hooks.before_row(&change)? {
            Some(changed) => row = changed,
            None => return Ok(None),
        }
    }
    rel.generate(run, &mut row)?;
    target.check_options(run, &row, CHECKS)?;
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
    let Some(row) = prepare(run, target, row)? else { return Ok(None) };
    let rel = &target.rel;
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
        })?;
    }
    target.check_options(run, &row, &[CheckOptionKind::View])?;
    Ok(Done { old: None, new: Some((tid, row)) })
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
        target.check_options(run, &row, CHECKS)?;
        rel.check(run, &row)?;
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
