//! IndexOnlyScan: columns of an index; the table is visited only where a page is not known to be
//! visible to all.

use super::index_keys::IndexKeys;
use super::index_scan::{count_search, counted, direction, find_index, parallel_scan};
use super::scan::{TABLE_OID, TableScan, start_stand_in};
use super::{Node, NodeSpec};
use crate::batch::{builders, take};
use crate::compile::PlanCompiler;
use crate::counts;
use crate::expr::compile::{SpaceColumns, VarSpace};
use crate::expr::{Prog, Qual, RowInput, VarMap};
use crate::output::{Output, Pump};
use crate::run::Run;
use access::heap::{Found, HeapRel, Offsets, Sight, Viewer, vm};
use access::index::{AllVisible, Direction, IndexRel, IndexScan as Scan, ScanOptions};
use base::{BlockNo, Error, Result, Tid};
use ir::{Expr, Plan};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Column, ColumnBuilder, ColumnData, Datum, PhysType};

struct Spec {
    /// The table, for what stands in for it.
    table: Arc<TableScan>,
    index: Arc<IndexRel>,
    keys: IndexKeys,
    direction: Direction,
    phys: Vec<PhysType>,
    output: Output,
    /// The output or its conditions read columns of the index.
    wants_values: bool,
    /// They read the table's OID.
    wants_oid: bool,
    /// Programs for the index's columns over a row of the table, for a stand-in row.
    from_table: Option<(Vec<Prog>, Qual)>,
    /// Members of a team share the entries.
    parallel: bool,
}

struct IndexOnlyNode {
    spec: Arc<Spec>,
    scan: Option<Box<dyn Scan>>,
    stale: bool,
    done: bool,
    builders: Vec<ColumnBuilder>,
    values: Vec<Datum>,
    pages: VisitedPages,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::IndexOnlyScan,
) -> Result<Arc<dyn NodeSpec>> {
    if !scan.order_by.is_empty() {
        return Err(Error::unsupported("ordering operators of indexes"));
    }
    // The node's own columns are of the index; what stands in reads the whole table row.
    let bare = Plan { target: Vec::new(), qual: Vec::new(), ..plan.clone() };
    let mut table = TableScan::compile(c, &bare, scan.scanrel, &[])?;
    let at = find_index(&table, scan.index)?;
    let desc = Arc::clone(&table.rel.indexes[at]);
    let keys = IndexKeys::compile(c, &desc, &scan.index_qual)?;
    let count = desc.tuple.natts();
    let phys: Vec<PhysType> = desc.tuple.attrs.iter().map(|a| a.phys).collect();
    let mut map = VarMap::default().and(ir::INDEX_VAR, 0, count);
    map.spaces.push(VarSpace {
        varno: scan.scanrel,
        returning: ir::ReturningKind::Default,
        columns: SpaceColumns::Map(vec![(TABLE_OID, count)]),
        types: None,
    });
    let output = c.output(plan, &map)?;
    let reads = |found: &mut dyn FnMut(&ir::Var) -> bool| {
        let exprs = plan.target.iter().map(|t| &t.expr).chain(&plan.qual);
        exprs.into_iter().any(|e| ir::walk::any(e, &mut |e| matches!(e, Expr::Var(v) if found(v))))
    };
    let wants_values = reads(&mut |v| v.varno == ir::INDEX_VAR);
    let wants_oid = reads(&mut |v| v.varno == scan.scanrel);
    let mut from_table = None;
    if c.may_recheck() {
        let natts = table.rel.tuple.natts();
        let exprs: Vec<Expr> = scan.index_target.iter().map(|t| t.expr.clone()).collect();
        let whole = VarMap::default().and(scan.scanrel, 0, natts);
        let progs = c.ec.list(&exprs, &whole)?;
        from_table = Some((progs, c.ec.qual(&scan.recheck_qual, &map)?));
    }
    table.id = plan.id;
    Ok(Arc::new(Spec {
        index: Arc::clone(&table.open.indexes[at]),
        table: Arc::new(table),
        keys,
        direction: direction(scan.direction),
        phys,
        output,
        wants_values,
        wants_oid,
        from_table,
        parallel: plan.parallel_aware,
    }))
}

impl NodeSpec for Spec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let table = Arc::clone(&self.table);
        let standing_in = table.stand_in(run).is_some();
        if standing_in {
            return Ok(Box::new(StandIn { spec: self, done: false, pump: Pump::default() }));
        }
        start_stand_in(&table, run, |_| {
            let builders = builders(&self.phys, 0);
            Ok(Box::new(IndexOnlyNode {
                spec: self,
                scan: None,
                stale: true,
                done: false,
                builders,
                values: Vec::new(),
                pages: VisitedPages::default(),
                pump: Pump::default(),
            }))
        })
    }
}

impl IndexOnlyNode {
    fn begin(&mut self, run: &mut Run) -> Result<()> {
        let keys = self.spec.keys.eval(run)?;
        count_search(run, self.spec.table.id);
        match &mut self.scan {
            Some(scan) => scan.rescan(keys)?,
            none => {
                let index = &self.spec.index;
                let heap = Arc::clone(self.spec.table.heap());
                let all_visible: AllVisible = Arc::new(move |block: BlockNo| {
                    heap.visibility(block).is_ok_and(|bits| bits & vm::ALL_VISIBLE != 0)
                });
                let serial = run.snapshot.serial().cloned();
                let options = ScanOptions {
                    want_values: self.spec.wants_values,
                    // What a serializable transaction reads must be looked at in the table.
                    all_visible: serial.is_none().then_some(all_visible),
                    serial,
                    parallel: parallel_scan(run, self.spec.table.id, self.spec.parallel)?,
                };
                let storage = run.cx.storage()?;
                *none = Some(index.am().begin_scan(storage, index, keys, options)?);
            }
        }
        self.stale = false;
        counts::scanned(counted(&self.spec.index), 1, 0, 0);
        Ok(())
    }

    fn read(&mut self, run: &mut Run, most: usize) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        if self.stale {
            self.begin(run)?;
        }
        let spec = Arc::clone(&self.spec);
        let Some(scan) = &mut self.scan else { return Ok(None) };
        let snapshot = Arc::clone(&run.snapshot);
        let viewer = Viewer::mvcc(run.cx.storage()?, &snapshot);
        let (mut rows, mut fetches, mut entries) = (0, 0, 0);
        while rows < most {
            let Some(tid) = scan.next(spec.direction)? else {
                self.done = true;
                break;
            };
            entries += 1;
            if !scan.all_visible() {
                fetches += 1;
                match self.pages.sees(spec.table.heap(), tid, &viewer)? {
                    Found::Row(_) => {}
                    Found::DeadToAll => {
                        scan.kill();
                        continue;
                    }
                    Found::None => continue,
                }
            }
            if spec.wants_values {
                scan.values(&mut self.values)?;
                for (b, v) in self.builders.iter_mut().zip(&self.values) {
                    b.push_ref(v);
                }
            }
            rows += 1;
            if spec.keys.unique {
                self.done = true;
                break;
            }
            if !spec.wants_values {
                let more = scan.skip_visible(spec.direction, most - rows);
                rows += more;
                entries += more as u64;
            }
        }
        if let Some(all) = &mut run.instrumentation {
            all.node(spec.table.id).add("Heap Fetches", fetches);
        }
        if entries > 0 {
            counts::scanned(counted(&spec.index), 0, entries, fetches as u64);
        }
        if rows == 0 {
            return Ok(None);
        }
        let mut batch = match spec.wants_values {
            true => take(rows, &mut self.builders),
            // The row count is all that counts.
            false => Batch { len: rows, columns: unread(spec.phys.len(), rows), sel: None },
        };
        add_table_oid(&spec, &mut batch);
        Ok(Some(batch))
    }
}

/// Columns that nobody reads.
fn unread(n: usize, rows: usize) -> Vec<Arc<Column>> {
    let column = Arc::new(Column::new(ColumnData::Bool(vec![false; rows])));
    std::iter::repeat_n(column, n).collect()
}

/// Rows of a page that make it likely that as many of the next are wanted.
const MANY: u32 = 8;

/// What is known of a page of the table.
#[derive(Default)]
struct VisitedPage {
    block: Option<BlockNo>,
    /// How many of its rows were asked about.
    asked: u32,
    seen: Option<Offsets>,
}

impl VisitedPage {
    /// True if `block` comes right after this page and will probably be asked about as much.
    fn leads_to(&self, block: BlockNo) -> bool {
        self.asked >= MANY && self.block.is_some_and(|b| b.0.checked_add(1) == Some(block.0))
    }
}

/// The two pages of the table that were visited last, the last one first: a row that was updated
/// since the table was filled makes a detour from the page where its neighbours are.
#[derive(Default)]
struct VisitedPages([VisitedPage; 2]);

impl VisitedPages {
    fn sees(&mut self, heap: &HeapRel, tid: Tid, viewer: &Viewer<'_>) -> Result<Found> {
        if matches!(viewer.sight(), Sight::Mvcc(s) if s.serial().is_some()) {
            // A serializable transaction notes each row that it looks at.
            return heap.exists(tid, viewer);
        }
        let [last, other] = &mut self.0;
        if last.block != Some(tid.block) {
            std::mem::swap(last, other);
        }
        if last.block != Some(tid.block) {
            // One row of a page is looked at by itself; who asks for a second will for more, and
            // who asked for many of a page will for many of the next.
            let by_pages = last.leads_to(tid.block) || other.leads_to(tid.block);
            *last = VisitedPage { block: Some(tid.block), asked: 0, seen: None };
            if !by_pages {
                last.asked = 1;
                return heap.exists(tid, viewer);
            }
        }
        last.asked += 1;
        let seen = match &last.seen {
            Some(seen) => seen,
            None => last.seen.insert(heap.visible_on(tid.block, viewer)?),
        };
        // Whether others see a row that this snapshot does not is worth a closer look.
        if seen.contains(tid.offset) { Ok(Found::Row(tid)) } else { heap.exists(tid, viewer) }
    }
}

fn add_table_oid(spec: &Spec, batch: &mut Batch) {
    if !spec.wants_oid {
        batch.columns.extend(unread(1, batch.len));
        return;
    }
    let oids = types::ColumnData::U32(vec![spec.table.rel.oid.0; batch.len]);
    batch.columns.push(Arc::new(types::Column::new(oids)));
}

impl Node for IndexOnlyNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let most = match self.spec.output.qual.is_empty() {
            true => demand.min(BATCH_ROWS),
            false => demand.clamp(64, BATCH_ROWS),
        };
        let mut pump = std::mem::take(&mut self.pump);
        let spec = Arc::clone(&self.spec);
        let result = pump.pull(run, demand, &spec.output, |run| self.read(run, most));
        self.pump = pump;
        result
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.stale = true;
        self.done = false;
        self.pages = VisitedPages::default();
        self.pump.clear();
        Ok(())
    }
}

/// Gives the index's columns of the row that stands in for the table.
struct StandIn {
    spec: Arc<Spec>,
    done: bool,
    pump: Pump,
}

impl StandIn {
    fn row(spec: &Spec, run: &mut Run) -> Result<Option<Batch>> {
        let Some((progs, recheck)) = &spec.from_table else { return Ok(None) };
        let rows = run.recheck.as_ref().map(|r| &r.rows);
        let found = rows.and_then(|r| r.iter().find(|r| r.rti == spec.table.rti));
        let Some(values) = found.and_then(|r| r.values.clone()) else { return Ok(None) };
        let mut columns = builders(&spec.phys, 1);
        for (b, prog) in columns.iter_mut().zip(progs) {
            b.push(prog.eval(run, RowInput::Row(&values))?);
        }
        let mut batch = crate::batch::finish(1, columns);
        add_table_oid(spec, &mut batch);
        recheck.filter(run, &mut batch)?;
        Ok((batch.rows() > 0).then_some(batch))
    }
}

impl Node for StandIn {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let (spec, done) = (&self.spec, &mut self.done);
        self.pump.pull(run, demand, &spec.output, |run| {
            if std::mem::replace(done, true) {
                return Ok(None);
            }
            StandIn::row(spec, run)
        })
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.done = false;
        self.pump.clear();
        Ok(())
    }
}
