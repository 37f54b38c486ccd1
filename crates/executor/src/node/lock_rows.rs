//! LockRows: SELECT FOR UPDATE and its kind.

use super::modify::recheck::{MarkProg, run_again, serialization_failure};
use super::scan::StandInRow;
use super::{Child, Node, NodeSpec};
use crate::batch::Collector;
use crate::compile::PlanCompiler;
use crate::run::Run;
use access::ExecTxn;
use access::heap::Outcome;
use base::{Error, Result, Tid, err};
use ir::{LockStrength, LockWait, Plan, RowMarkKind};
use std::sync::Arc;
use txn::{RowStrength, Wait};
use types::{BATCH_ROWS, Batch, Datum};

struct LockSpec {
    child: Child,
    marks: Vec<MarkProg>,
}

struct LockNode {
    spec: Arc<LockSpec>,
    child: Box<dyn Node>,
    rest: Option<(Batch, usize)>,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    l: &ir::LockRows,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let target = plan.outer.as_ref().map(|p| p.target.clone()).unwrap_or_default();
    let marks = l.marks.iter().map(|m| MarkProg::compile(c, m, &target)).collect::<Result<_>>()?;
    Ok(Arc::new(LockSpec { child, marks }))
}

impl NodeSpec for LockSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        Ok(Box::new(LockNode { spec: self, child, rest: None }))
    }
}

fn strength(s: LockStrength) -> RowStrength {
    match s {
        LockStrength::ForKeyShare => RowStrength::KeyShare,
        LockStrength::ForShare => RowStrength::Share,
        LockStrength::ForNoKeyUpdate => RowStrength::NoKeyUpdate,
        LockStrength::ForUpdate => RowStrength::Update,
    }
}

impl LockSpec {
    /// Locks what a row names; the row to give, which may be made anew.
    fn lock(&self, run: &mut Run, row: Vec<Datum>) -> Result<Option<Vec<Datum>>> {
        if run.recheck.is_some() {
            // The rows that stand in for tables are locked already.
            return Ok(Some(row));
        }
        let snapshot = Arc::clone(&run.snapshot);
        let x = ExecTxn { txn: run.cx.txn()?, snapshot: &snapshot };
        let mut moved: Vec<(u32, u32, Tid)> = Vec::new();
        for mark in &self.marks {
            let RowMarkKind::Lock(s) = mark.mark.kind else { continue };
            let Some(marked) = mark.marked(&row) else { continue };
            let (heap, tid) = (marked.heap, marked.tid);
            let wait = match mark.mark.wait {
                LockWait::Block => run.first_wait(false),
                _ => Wait::NoWait,
            };
            let keeps = x.txn.isolation().keeps_snapshot();
            let told = mark.mark.wait == LockWait::NoWait && run.cx.settings.log_lock_failures;
            let outcome = txn::about::telling_failures(told, || match keeps {
                true => heap.lock_row(&x, tid, strength(s), wait),
                false => heap.lock_latest(&x, tid, strength(s), wait),
            })?;
            match outcome {
                Outcome::Done(at, _) if at != tid => moved.push((mark.mark.id, marked.rti, at)),
                Outcome::Done(..) => {}
                Outcome::WouldBlock if mark.mark.wait == LockWait::SkipLocked => return Ok(None),
                Outcome::WouldBlock => {
                    let table = marked.table;
                    return Err(err!(
                        LOCK_NOT_AVAILABLE,
                        "could not obtain lock on row in relation \"{table}\""
                    ));
                }
                Outcome::Updated(_) => return Err(serialization_failure("update")),
                Outcome::Deleted if keeps => return Err(serialization_failure("delete")),
                Outcome::Moved => {
                    return Err(err!(
                        T_R_SERIALIZATION_FAILURE,
                        "tuple to be locked was already moved to another partition due to \
                         concurrent update"
                    ));
                }
                Outcome::Deleted | Outcome::SelfModified(_) => return Ok(None),
                Outcome::Invisible => {
                    return Err(Error::internal("attempted to lock invisible tuple"));
                }
            }
        }
        if moved.is_empty() {
            return Ok(Some(row));
        }
        let mut rows: Vec<StandInRow> = Vec::new();
        for mark in &self.marks {
            match moved.iter().find(|(id, ..)| *id == mark.mark.id) {
                Some((_, rti, tid)) => mark.moved_in(run, *rti, *tid, &mut rows)?,
                None => mark.stand_in(run, &row, &mut rows)?,
            }
        }
        run_again(run, &self.child, rows)
    }
}

impl Node for LockNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = Arc::clone(&self.spec);
        let mut out = Collector::new(&spec.child.phys);
        while out.rows() < demand.min(BATCH_ROWS) {
            if self.rest.is_none() {
                let want = (demand - out.rows()).min(BATCH_ROWS);
                self.rest = self.child.next(run, want)?.map(|b| (b, 0));
            }
            let Some((batch, n)) = &mut self.rest else { break };
            let row = batch.row(batch.position(*n));
            *n += 1;
            if *n >= batch.rows() {
                self.rest = None;
            }
            if let Some(row) = spec.lock(run, row)? {
                out.push_values(&row);
            }
        }
        Ok(out.take())
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.rest = None;
        self.child.rescan(run, changed)
    }
}
