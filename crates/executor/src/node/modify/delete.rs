//! DELETE.

use super::recheck::fetch_any;
use super::update::{Attempt, follow, self_modified};
use super::{Done, ModifySpec, TargetProg};
use crate::hooks::RowChange;
use crate::run::Run;
use access::ExecTxn;
use access::heap::Outcome;
use base::{Result, Tid, err};
use ir::CmdType;
use txn::RowStrength;
use types::Datum;

/// Deletes the row at `tid`.
pub(super) fn delete(
    spec: &ModifySpec,
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    mut tid: Tid,
    mut child: Vec<Datum>,
) -> Result<Option<(Done, Vec<Datum>)>> {
    loop {
        match delete_row(run, x, target, tid, false)? {
            Attempt::Done(done) => return Ok(Some((done, child))),
            Attempt::Skip => return Ok(None),
            Attempt::Changed(outcome) => {
                let strength = RowStrength::Update;
                match follow(spec, run, x, target, tid, outcome, strength, &child)? {
                    Some((at, row)) => (tid, child) = (at, row),
                    None => return Ok(None),
                }
            }
        }
    }
}

/// One attempt to delete the row at `tid`.
pub(super) fn delete_row(
    run: &mut Run,
    x: &ExecTxn<'_>,
    target: &TargetProg,
    tid: Tid,
    moving: bool,
) -> Result<Attempt> {
    let rel = &target.rel;
    let mut old = Vec::new();
    if rel.hooked || target.returning.is_some() {
        old = fetch_any(run, rel.heap(), tid)?;
    }
    let change = RowChange {
        rel: &rel.rel,
        command: CmdType::Delete,
        old: Some((tid, &old)),
        new: None,
        assigned: &[],
        moving,
    };
    if rel.hooked && run.cx.hooks.before_row(&change)?.is_none() {
        return Ok(Attempt::Skip);
    }
    let wait = run.first_wait(rel.hooked);
    match rel.heap().delete(x, tid, wait, false)? {
        Outcome::Done(..) => {
            if rel.hooked {
                run.cx.hooks.after_row(&change)?;
            }
            Ok(Attempt::Done(Done { old: Some((tid, old)), new: None, ..Done::default() }))
        }
        Outcome::SelfModified(cid) => {
            self_modified(x, cid, "deleted")?;
            Ok(Attempt::Skip)
        }
        Outcome::Invisible => Err(err!(INTERNAL_ERROR, "attempted to delete invisible tuple")),
        other => Ok(Attempt::Changed(other)),
    }
}
