//! UPDATE.

use super::delete::delete_row;
use super::insert::insert_routed;
use super::recheck::{fetch_any, run_again, serialization_failure};
use super::{Done, ModifySpec, TargetProg};
use crate::hooks::RowChange;
use crate::node::scan::StandInRow;
use crate::run::Run;
use access::ExecTxn;
use access::heap::{IndexUpdates, Outcome, UpdateOptions};
use base::{Error, Result, Tid, err};
use ir::{CheckOptionKind, CmdType};
use txn::{RowStrength, Wait};
use types::Datum;

/// What became of one attempt.
pub(super) enum Attempt {
    Done(Done),
    /// The row is to be left alone.
    Skip,
    /// Somebody else changed it.
    Changed(Outcome),
}

/// Updates the row at `tid` to what the child's row says. `whole` are its columns, if they are
/// known.
pub(super) fn update(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    mut tid: Tid,
    mut child: Vec<Datum>,
    mut whole: Option<Vec<Datum>>,
) -> Result<Option<(Done, Vec<Datum>)>> {
    loop {
        let old = match whole.take() {
            Some(row) => row,
            None if target.needs_old() => fetch_any(run, target.rel.heap(), tid)?,
            None => vec![Datum::Null; target.rel.natts()],
        };
        let mut new = old.clone();
        for (column, value) in target.assigned.iter().zip(&child) {
            new[*column] = value.clone();
        }
        if let Some(moved) = move_row(spec, run, x, target, tid, &old, &new)? {
            match moved {
                Attempt::Done(done) => return Ok(Some((done, child))),
                Attempt::Skip => return Ok(None),
                Attempt::Changed(outcome) => {
                    let strength = RowStrength::Update;
                    match follow(spec, run, x, target, tid, outcome, strength, &child)? {
                        Some((at, row)) => (tid, child) = (at, row),
                        None => return Ok(None),
                    }
                    continue;
                }
            }
        }
        match update_row(run, x, target, tid, old, new, &target.assigned_numbers)? {
            Attempt::Done(done) => return Ok(Some((done, child))),
            Attempt::Skip => return Ok(None),
            Attempt::Changed(outcome) => {
                let strength = RowStrength::NoKeyUpdate;
                match follow(spec, run, x, target, tid, outcome, strength, &child)? {
                    Some((at, row)) => (tid, child) = (at, row),
                    None => return Ok(None),
                }
            }
        }
    }
}

/// A row that no longer belongs to its partition moves to another: none if it stays.
pub(super) fn move_row(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    tid: Tid,
    old: &[Datum],
    new: &[Datum],
) -> Result<Option<Attempt>> {
    let Some(router) = &spec.router else {
        target.rel.check_belongs(run, new)?;
        return Ok(None);
    };
    if target.rel.belongs(run, new)? {
        return Ok(None);
    }
    let own = router.leaves.iter().find(|l| l.oid == target.rel.rel.oid);
    let root = super::route::mapped(&own.and_then(|l| l.back.clone()), new);
    // The row goes first to where it belongs, so that nothing is lost if it belongs nowhere.
    router.find(run, &root)?;
    Ok(Some(match delete_row(run, x, target, tid, true)? {
        Attempt::Done(_) => match insert_routed(spec, run, x, &root, CheckOptionKind::RlsUpdate)? {
            Some(mut done) => {
                done.old = Some((tid, old.to_vec()));
                done.moved = true;
                if target.rel.hooked {
                    let back = own.and_then(|l| l.back.clone());
                    let before = super::route::mapped(&back, old);
                    run.cx.hooks.after_move(
                        &target.rel.rel,
                        &RowChange {
                            rel: router.root(),
                            command: CmdType::Update,
                            old: Some((tid, &before)),
                            new: Some((None, &root)),
                            assigned: &target.assigned_numbers,
                            moving: false,
                        },
                    )?;
                }
                if let (Some((_, row)), Some(leaf)) = (&mut done.new, own) {
                    *row = super::route::mapped(&leaf.map, row);
                }
                Attempt::Done(done)
            }
            None => Attempt::Skip,
        },
        other => other,
    }))
}

/// One attempt to replace the row at `tid`.
pub(super) fn update_row(
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    tid: Tid,
    old: Vec<Datum>,
    mut new: Vec<Datum>,
    assigned: &[i16],
) -> Result<Attempt> {
    let rel = &target.rel;
    let change = |new_tid: Option<Tid>,
                  old: &[Datum],
                  new: &[Datum],
                  f: &mut dyn FnMut(&RowChange<'_>) -> Result<()>| {
        f(&RowChange {
            rel: &rel.rel,
            command: CmdType::Update,
            old: Some((tid, old)),
            new: Some((new_tid, new)),
            assigned,
            moving: false,
        })
    };
    if rel.hooked {
        let mut replaced = None;
        change(None, &old, &new, &mut |c| {
            replaced = run.cx.hooks.before_row(c)?;
            Ok(())
        })?;
        match replaced {
            Some(row) => new = row,
            None => return Ok(Attempt::Skip),
        }
    }
    rel.generate(run, &mut new)?;
    target.check_options(run, &new, &[CheckOptionKind::RlsUpdate])?;
    rel.check(run, &new)?;
    // A trigger may have changed any column.
    let unchanged = (!rel.hooked && !target.assigned.is_empty()).then_some(&target.unchanged);
    let options = UpdateOptions { unchanged, wait: run.first_wait(rel.hooked) };
    match rel.heap().update(x, tid, &new, options)? {
        Outcome::Done(at, indexes) => {
            if indexes != IndexUpdates::None {
                rel.insert_entries(run, x, &new, at, &[])?;
            }
            if rel.hooked {
                change(Some(at), &old, &new, &mut |c| run.cx.hooks.after_row(c))?;
            }
            target.check_options(run, &new, &[CheckOptionKind::View])?;
            Ok(Attempt::Done(Done {
                old: Some((tid, old)),
                new: Some((at, new)),
                ..Done::default()
            }))
        }
        Outcome::SelfModified(cid) => {
            self_modified(x, cid, "updated")?;
            Ok(Attempt::Skip)
        }
        Outcome::Invisible => Err(err!(INTERNAL_ERROR, "attempted to update invisible tuple")),
        other => Ok(Attempt::Changed(other)),
    }
}

/// A row that the own transaction changed: nothing to do if this command did it, an error if
/// something that it set off did.
pub(super) fn self_modified(x: &ExecTxn<'_>, cid: base::CommandId, what: &str) -> Result<()> {
    if cid == x.snapshot.curcid {
        return Ok(());
    }
    Err(err!(
        TRIGGERED_DATA_CHANGE_VIOLATION,
        "tuple to be {what} was already modified by an operation triggered by the current command"
    )
    .hint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows."))
}

/// After somebody else changed the row at `tid`: the place of its latest version, locked, and the
/// child's row for it if it still qualifies.
#[allow(clippy::too_many_arguments)]
pub(super) fn follow(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    tid: Tid,
    outcome: Outcome,
    strength: RowStrength,
    child: &[Datum],
) -> Result<Option<(Tid, Vec<Datum>)>> {
    let keeps = x.txn.isolation().keeps_snapshot();
    match outcome {
        Outcome::Updated(_) if keeps => return Err(serialization_failure("update")),
        Outcome::Deleted if keeps => return Err(serialization_failure("delete")),
        Outcome::Deleted => return Ok(None),
        Outcome::Moved => {
            return Err(err!(
                T_R_SERIALIZATION_FAILURE,
                "tuple to be locked was already moved to another partition due to concurrent update"
            ));
        }
        Outcome::Updated(_) => {}
        other => return Err(Error::internal(format!("unexpected outcome {other:?}"))),
    }
    let at = match target.rel.heap().lock_latest(x, tid, strength, Wait::Block)? {
        Outcome::Done(at, _) => at,
        Outcome::Deleted => return Ok(None),
        Outcome::SelfModified(cid) => {
            self_modified(x, cid, "updated")?;
            return Ok(None);
        }
        other => return Err(Error::internal(format!("unexpected outcome {other:?}"))),
    };
    let values = fetch_any(run, target.rel.heap(), at)?;
    let mut rows = vec![StandInRow { rti: target.rel.rti, tid: at, values: Some(values) }];
    // The row was not in another table of the tree.
    for other in spec.targets.iter().filter(|t| t.rel.rti != target.rel.rti) {
        rows.push(StandInRow { rti: other.rel.rti, tid: Tid::INVALID, values: None });
    }
    for mark in spec.marks.iter().filter(|m| m.mark.rtindex != target.rel.rti) {
        mark.stand_in(run, child, &mut rows)?;
    }
    Ok(run_again(run, &spec.child, rows)?.map(|row| (at, row)))
}
