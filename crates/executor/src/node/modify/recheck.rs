//! A row that others changed: its plan is run again with the new version standing in for the
//! table, to see whether it still qualifies and what comes out for it (READ COMMITTED).

use crate::compile::PlanCompiler;
use crate::node::Child;
use crate::node::scan::{Recheck, StandInRow, datum_tid, relation_of};
use crate::run::Run;
use access::heap::{HeapRel, Sight, Viewer};
use base::{Error, Oid, Result, Tid, err};
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
    table_oid: Option<usize>,
    whole_row: Option<usize>,
    /// The tables of an inheritance tree.
    members: Vec<Member>,
}

/// A table of an inheritance tree.
struct Member {
    oid: Oid,
    rti: u32,
    heap: Arc<HeapRel>,
    name: String,
}

/// Where a row that a mark names lies.
pub(crate) struct Marked<'m> {
    pub rti: u32,
    pub heap: &'m Arc<HeapRel>,
    pub table: &'m str,
    pub tid: Tid,
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
        let table_oid = junk(target, &format!("tableoid{}", mark.id));
        let mut members = Vec::new();
        for rti in &mark.members {
            let (rel, open) = relation_of(c, *rti)?;
            let (heap, name) = (Arc::clone(&open.heap), rel.name.to_string());
            members.push(Member { oid: rel.oid, rti: *rti, heap, name });
        }
        let (heap, table) = match &c.stmt.rtable[mark.rtindex as usize - 1].kind {
            ir::RteKind::Relation { .. } if members.is_empty() => {
                let (rel, open) = relation_of(c, mark.rtindex)?;
                (Some(Arc::clone(&open.heap)), rel.name.to_string())
            }
            _ => (None, String::new()),
        };
        Ok(MarkProg { mark: mark.clone(), heap, table, ctid, table_oid, whole_row, members })
    }

    /// The place that a child's row has for it.
    fn tid(&self, row: &[Datum]) -> Option<Tid> {
        self.ctid.and_then(|c| row.get(c)).and_then(datum_tid)
    }

    /// The row that a child's row has for it.
    pub fn marked(&self, row: &[Datum]) -> Option<Marked<'_>> {
        let tid = self.tid(row)?;
        if let Some(heap) = &self.heap {
            return Some(Marked { rti: self.mark.rtindex, heap, table: &self.table, tid });
        }
        let Some(Datum::U32(oid)) = self.table_oid.and_then(|c| row.get(c)) else { return None };
        let m = self.members.iter().find(|m| m.oid.0 == *oid)?;
        Some(Marked { rti: m.rti, heap: &m.heap, table: &m.name, tid })
    }

    /// The rows that stand in for the mark's tables; that of an inheritance tree which has none
    /// is without a row.
    pub fn stand_in(&self, run: &Run, row: &[Datum], out: &mut Vec<StandInRow>) -> Result<()> {
        let marked = self.marked(row);
        let found = marked.as_ref().map(|m| m.rti);
        for m in self.members.iter().filter(|m| Some(m.rti) != found) {
            out.push(StandInRow { rti: m.rti, tid: Tid::INVALID, values: None });
        }
        if let Some(m) = marked {
            let values = fetch_any(run, m.heap, m.tid)?;
            out.push(StandInRow { rti: m.rti, tid: m.tid, values: Some(values) });
            return Ok(());
        }
        if !self.members.is_empty() {
            return Ok(());
        }
        let rti = self.mark.rtindex;
        let whole = self.whole_row.and_then(|c| row.get(c)).filter(|d| !d.is_null());
        let values = match (whole, &self.mark.kind) {
            (Some(d), RowMarkKind::Copy | RowMarkKind::Reference) => {
                let fields = crate::expr::composite::row_fields(d)?;
                Some(fields.into_iter().map(|(_, v)| v).collect())
            }
            _ => None,
        };
        out.push(StandInRow { rti, tid: Tid::INVALID, values });
        Ok(())
    }

    /// As [`MarkProg::stand_in`] for a row that was found anew, at another place.
    pub fn moved_in(&self, run: &Run, rti: u32, tid: Tid, out: &mut Vec<StandInRow>) -> Result<()> {
        for m in self.members.iter().filter(|m| m.rti != rti) {
            out.push(StandInRow { rti: m.rti, tid: Tid::INVALID, values: None });
        }
        let member = self.members.iter().find(|m| m.rti == rti).map(|m| &m.heap);
        if let Some(heap) = member.or(self.heap.as_ref()) {
            let values = fetch_any(run, heap, tid)?;
            out.push(StandInRow { rti, tid, values: Some(values) });
        }
        Ok(())
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
