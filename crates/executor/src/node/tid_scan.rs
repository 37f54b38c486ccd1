//! TidScan and TidRangeScan: rows by their places.

use super::scan::{CTID, TableScan, datum_tid, start_stand_in};
use super::seq_scan::{PartScan, options};
use super::{Node, NodeSpec};
use crate::batch::take;
use crate::compile::PlanCompiler;
use crate::expr::composite::Element;
use crate::expr::{Prog, RowInput, VarMap};
use crate::output::Pump;
use crate::run::Run;
use access::heap::{HeapScan, ScanSource, Viewer};
use base::{BlockNo, Error, Result, Tid};
use ir::{Expr, Plan};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Datum};

enum TidQual {
    One(Prog),
    Any(Prog, Element),
}

struct TidSpec {
    table: Arc<TableScan>,
    quals: Vec<TidQual>,
}

struct TidNode {
    spec: Arc<TidSpec>,
    tids: Option<Vec<Tid>>,
    at: usize,
    pump: Pump,
}

/// The operand of a condition on ctid that is not ctid, and whether ctid stands left.
fn other_side(args: &[Expr], rti: u32) -> Result<(&Expr, bool)> {
    let is_ctid = |e: &Expr| matches!(e, Expr::Var(v) if v.varno == rti && v.attno == CTID);
    match args {
        [a, b] if is_ctid(a) => Ok((b, true)),
        [a, b] if is_ctid(b) => Ok((a, false)),
        _ => Err(Error::internal("a tid condition without ctid")),
    }
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::TidScan,
) -> Result<Arc<dyn NodeSpec>> {
    let any = match scan.tid_quals.as_slice() {
        [one] => vec![one.clone()],
        many => vec![Expr::Bool { op: ir::BoolOp::Or, args: many.to_vec(), location: None }],
    };
    let table = TableScan::compile(c, plan, scan.scanrel, &any)?;
    let none = VarMap::default();
    let mut quals = Vec::new();
    for q in &scan.tid_quals {
        quals.push(match q {
            Expr::Op(o) => {
                let (e, _) = other_side(&o.args, scan.scanrel)?;
                TidQual::One(c.ec.expr(e, &none)?)
            }
            Expr::ScalarArrayOp(s) => {
                let element = Element::of_array(&c.ec, s.args[1].ty())?;
                TidQual::Any(c.ec.expr(&s.args[1], &none)?, element)
            }
            _ => return Err(Error::unsupported("WHERE CURRENT OF")),
        });
    }
    Ok(Arc::new(TidSpec { table: Arc::new(table), quals }))
}

impl NodeSpec for TidSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let table = Arc::clone(&self.table);
        start_stand_in(&table, run, |_| {
            Ok(Box::new(TidNode { spec: self, tids: None, at: 0, pump: Pump::default() }))
        })
    }
}

impl TidSpec {
    fn tids(&self, run: &mut Run) -> Result<Vec<Tid>> {
        let mut out = Vec::new();
        for q in &self.quals {
            match q {
                TidQual::One(p) => out.extend(datum_tid(&p.eval(run, RowInput::None)?)),
                TidQual::Any(p, element) => {
                    let array = p.eval(run, RowInput::None)?;
                    if !array.is_null() {
                        out.extend(element.elements(&array)?.iter().filter_map(datum_tid));
                    }
                }
            }
        }
        out.sort_unstable();
        out.dedup();
        Ok(out)
    }
}

impl Node for TidNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = Arc::clone(&self.spec);
        if self.tids.is_none() {
            self.tids = Some(spec.tids(run)?);
        }
        let (Some(tids), at) = (&self.tids, &mut self.at) else { return Ok(None) };
        let table = &spec.table;
        self.pump.pull(run, demand, &table.output, |run| {
            let snapshot = Arc::clone(&run.snapshot);
            let viewer = Viewer::mvcc(run.cx.storage()?, &snapshot);
            let natts = table.attrs.last().map_or(0, |n| n + 1);
            let mut values = vec![Datum::Null; natts];
            let mut builders = crate::batch::builders(&table.phys[..table.attrs.len()], 1);
            let (mut found, mut system) = (Vec::new(), Vec::new());
            while *at < tids.len() && found.len() < demand.min(BATCH_ROWS) {
                let tid = tids[*at];
                *at += 1;
                if !table.heap().fetch_version(tid, &viewer, &mut values)? {
                    continue;
                }
                for (b, a) in builders.iter_mut().zip(&table.attrs) {
                    b.push_ref(&values[*a]);
                }
                found.push(tid);
                if table.wants_system() {
                    system.push(table.heap().system_columns(tid)?);
                }
            }
            if found.is_empty() {
                return Ok(None);
            }
            let mut batch = take(found.len(), &mut builders);
            table.add_system(&mut batch, &found, &system)?;
            Ok(Some(batch))
        })
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.tids = None;
        self.at = 0;
        self.pump.clear();
        Ok(())
    }
}

/// `<`, `<=`, `>=`, `>` of ctid, ctid standing left.
#[derive(Clone, Copy)]
enum Side {
    Below(bool),
    Above(bool),
}

struct RangeSpec {
    table: Arc<TableScan>,
    bounds: Vec<(Side, Prog)>,
}

struct RangeNode {
    spec: Arc<RangeSpec>,
    scan: PartScan,
}

pub(crate) fn compile_range(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::TidRangeScan,
) -> Result<Arc<dyn NodeSpec>> {
    let table = TableScan::compile(c, plan, scan.scanrel, &scan.tid_quals)?;
    let mut bounds = Vec::new();
    for q in &scan.tid_quals {
        let Expr::Op(o) = q else { return Err(Error::internal("a tid range by no operator")) };
        let (e, left) = other_side(&o.args, scan.scanrel)?;
        let name = c.ec.catalog.operator(o.op)?.name.to_string();
        let side = match (name.as_str(), left) {
            ("<", true) | (">", false) => Side::Below(false),
            ("<=", true) | (">=", false) => Side::Below(true),
            (">", true) | ("<", false) => Side::Above(false),
            _ => Side::Above(true),
        };
        bounds.push((side, c.ec.expr(e, &VarMap::default())?));
    }
    Ok(Arc::new(RangeSpec { table: Arc::new(table), bounds }))
}

impl NodeSpec for RangeSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let table = Arc::clone(&self.table);
        start_stand_in(&table, run, |_| {
            Ok(Box::new(RangeNode { spec: self, scan: PartScan::default() }))
        })
    }
}

impl RangeSpec {
    /// Places from the first to the last, inclusive; None if no place can satisfy the bounds.
    fn range(&self, run: &mut Run) -> Result<Option<(u64, u64)>> {
        let (mut low, mut high) = (0, u64::MAX);
        for (side, prog) in &self.bounds {
            let Some(tid) = datum_tid(&prog.eval(run, RowInput::None)?) else { return Ok(None) };
            let n = tid.to_u64();
            match side {
                Side::Above(true) => low = low.max(n),
                Side::Above(false) => low = low.max(n.saturating_add(1)),
                Side::Below(true) => high = high.min(n),
                Side::Below(false) if n == 0 => return Ok(None),
                Side::Below(false) => high = high.min(n - 1),
            }
        }
        Ok((low <= high).then_some((low, high)))
    }

    fn scan(&self, run: &mut Run) -> Result<Option<HeapScan>> {
        let Some((low, high)) = self.range(run)? else { return Ok(None) };
        let heap = self.table.heap();
        let last = (Tid::from_u64(high).block.0 as u64 + 1).min(heap.nblocks()?.0 as u64);
        let first = Tid::from_u64(low).block.0;
        let blocks = Box::new((first..last as u32).map(BlockNo));
        let mut options = options(&self.table);
        options.filter = Some(Box::new(move |tid: Tid| {
            let n = tid.to_u64();
            low <= n && n <= high
        }));
        HeapScan::new(heap, &run.snapshot, ScanSource::Blocks(blocks), options).map(Some)
    }
}

impl Node for RangeNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let spec = &self.spec;
        self.scan.next(run, demand, &spec.table, |run| spec.scan(run))
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.scan.rescan();
        Ok(())
    }
}
