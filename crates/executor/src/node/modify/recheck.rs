//! A row that others changed: its plan is run again with the new version standing in for the
//! table, to see whether it still qualifies and what comes out for it (READ COMMITTED).

use crate::compile::PlanCompiler;
use crate::node::Child;
use crate::node::scan::{Recheck, StandInRow, datum_tid, relation_of};
use crate::run::Run;
use access::heap::{HeapRel, Sight, Viewer};
use base::{Error, Result, Tid, err};
use ir::{PlanRowMark, RowMarkKind, TargetEntry};
use std::sync::Arc;
use types::Datum;

/// A row mark with where its junk columns lie in the child's rows.
pub(crate) struct MarkProg {
    pub mark: PlanRowMark,
    /// The table, if it is one.
    pub heap: Option<Arc<HeapRel>>,
    pub table: String,
    pub ctid: Option<usize>,
    whole_row: Option<usize>,
}

/// Position of a junk column by name.
pub(crate) fn junk(target: &[TargetEntry], name: &str) -> Option<usize> {
    target.iter().position(|t| t.junk && t.name.as_deref() == Some(name))
}

impl MarkProg {
    pub fn compile(
        c: &PlanCompiler,
        mark: &PlanRowMark,
        target: &[TargetEntry],
    ) -> Result<MarkProg> {
        let ctid = junk(target, &format!("ctid{}", mark.id));
        let whole_row = junk(target, &format!("wholerow{}", mark.id));
        let (heap, table) = match &c.stmt.rtable[mark.rtindex as usize - 1].kind {
            ir::RteKind::Relation { .. } => {
                let (rel, open) = relation_of(c, mark.rtindex)?;
                (Some(Arc::clone(&open.heap)), rel.name.to_string())
            }
            _ => (None, String::new()),
        };
        Ok(MarkProg { mark: mark.clone(), heap, table, ctid, whole_row })
    }

    /// The place that a child's row has for it.
    pub fn tid(&self, row: &[Datum]) -> Option<Tid> {
        self.ctid.and_then(|c| row.get(c)).and_then(datum_tid)
    }

    /// The row that stands in for the mark's table.
    pub fn stand_in(&self, run: &Run, row: &[Datum]) -> Result<StandInRow> {
        let rti = self.mark.rtindex;
        if let (Some(heap), Some(tid)) = (&self.heap, self.tid(row)) {
            let values = fetch_any(run, heap, tid)?;
            return Ok(StandInRow { rti, tid, values: Some(values) });
        }
        let whole = self.whole_row.and_then(|c| row.get(c)).filter(|d| !d.is_null());
        let values = match (whole, &self.mark.kind) {
            (Some(d), RowMarkKind::Copy | RowMarkKind::Reference) => {
                let fields = crate::expr::composite::row_fields(d)?;
                Some(fields.into_iter().map(|(_, v)| v).collect())
            }
            _ => None,
        };
        Ok(StandInRow { rti, tid: Tid::INVALID, values })
    }
}

/// All columns of the version at a place, whoever sees it.
pub(crate) fn fetch_any(run: &Run, heap: &HeapRel, tid: Tid) -> Result<Vec<Datum>> {
    let mut values = vec![Datum::Null; heap.desc.natts()];
    let viewer = Viewer::new(run.cx.storage()?, Sight::Any);
    if !heap.fetch_version(tid, &viewer, &mut values)? {
        return Err(err!(INTERNAL_ERROR, "failed to fetch tuple {tid} for a re-check"));
    }
    Ok(values)
}

/// Runs a plan for stand-in rows; its first row, if there is one.
pub(crate) fn run_again(
    run: &mut Run,
    child: &Child,
    rows: Vec<StandInRow>,
) -> Result<Option<Vec<Datum>>> {
    let outer = run.recheck.replace(Box::new(Recheck { rows }));
    // Nested loops of this second run must not disturb those of the first.
    let saved = run.save_exec();
    let counters = run.instrumentation.take();
    let result = first_row(run, child);
    run.instrumentation = counters;
    run.restore_exec(saved);
    run.recheck = outer;
    result
}

fn first_row(run: &mut Run, child: &Child) -> Result<Option<Vec<Datum>>> {
    let mut node = child.start(run)?;
    let batch = node.next(run, 1)?;
    Ok(batch.map(|b| b.row(b.position(0))))
}

/// 40001, for transactions that keep their snapshot.
#[cold]
pub(crate) fn serialization_failure(what: &str) -> Error {
    err!(T_R_SERIALIZATION_FAILURE, "could not serialize access due to concurrent {what}")
}
