//! BitmapIndexScan, BitmapAnd, BitmapOr and BitmapHeapScan.
//!
//! A bitmap is the sorted places that an index names. The heap scan reads their pages in order.

use super::index_keys::IndexKeys;
use super::index_scan::{count_search, counted};
use super::scan::{TableScan, relation_of, start_stand_in};
use super::seq_scan::{next_rows, options, read_ahead};
use super::{Node, NodeSpec};
use crate::compile::PlanCompiler;
use crate::counts;
use crate::expr::Qual;
use crate::instrument::Usage;
use crate::output::Pump;
use crate::run::Run;
use access::heap::{BitmapPage, HeapScan, ScanSource};
use access::index::{IndexRel, IndexScan as Scan, ScanOptions};
use base::memory::Reservation;
use base::{BlockNo, Error, Result, Tid};
use ir::{Plan, PlanNode};
use os::sync::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use types::Batch;

/// What makes a bitmap.
enum Source {
    Index { id: u32, index: Arc<IndexRel>, keys: IndexKeys },
    And(u32, Vec<Source>),
    Or(u32, Vec<Source>),
}

struct BitmapSpec {
    table: Arc<TableScan>,
    source: Source,
    /// The conditions, for rows of pages that the bitmap names as a whole.
    recheck: Qual,
    /// Members of a team share the pages.
    parallel: bool,
}

/// The pages that one member of a team has found, for all; which of them are taken.
#[derive(Default)]
struct SharedPages {
    pages: Mutex<Option<Arc<Vec<BitmapPage>>>>,
    next: AtomicUsize,
}

/// How many pages a member takes at a time.
const CHUNK: usize = 16;

struct BitmapNode {
    spec: Arc<BitmapSpec>,
    scan: Option<HeapScan>,
    memory: Option<Reservation>,
    done: bool,
    pump: Pump,
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    scan: &ir::BitmapHeapScan,
) -> Result<Arc<dyn NodeSpec>> {
    let table = TableScan::compile(c, plan, scan.scanrel, &scan.recheck_qual)?;
    let child = plan.outer.as_ref().ok_or_else(|| Error::internal("a bitmap scan of nothing"))?;
    let source = source(c, child)?;
    let recheck = Qual::default();
    let parallel = plan.parallel_aware;
    Ok(Arc::new(BitmapSpec { table: Arc::new(table), source, recheck, parallel }))
}

fn source(c: &mut PlanCompiler, plan: &Plan) -> Result<Source> {
    c.init_plans_of(plan)?;
    match &plan.node {
        PlanNode::BitmapIndexScan(s) => {
            let (rel, open) = relation_of(c, s.scanrel)?;
            let at = rel.indexes.iter().position(|i| i.oid == s.index);
            let at = at.ok_or_else(|| Error::internal("the index is not the table's"))?;
            let keys = IndexKeys::compile(c, &rel.indexes[at], &s.index_qual)?;
            Ok(Source::Index { id: plan.id, index: Arc::clone(&open.indexes[at]), keys })
        }
        PlanNode::BitmapAnd(b) => {
            let all = b.children.iter().map(|p| source(c, p)).collect::<Result<_>>()?;
            Ok(Source::And(plan.id, all))
        }
        PlanNode::BitmapOr(b) => {
            let all = b.children.iter().map(|p| source(c, p)).collect::<Result<_>>()?;
            Ok(Source::Or(plan.id, all))
        }
        _ => Err(Error::internal("a bitmap made by a node of another kind")),
    }
}

impl NodeSpec for BitmapSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let table = Arc::clone(&self.table);
        start_stand_in(&table, run, |_| {
            Ok(Box::new(BitmapNode {
                spec: self,
                scan: None,
                memory: None,
                done: false,
                pump: Pump::default(),
            }))
        })
    }
}

impl Source {
    /// The places, sorted.
    fn tids(&self, run: &mut Run) -> Result<Vec<u64>> {
        let before = run.instrumentation.is_some().then(Usage::now);
        let (id, out) = match self {
            Source::Index { id, index, keys } => {
                let keys = keys.eval(run)?;
                count_search(run, *id);
                let storage = run.cx.storage()?;
                let serial = run.snapshot.serial().cloned();
                let options = ScanOptions { serial, ..ScanOptions::default() };
                let mut scan: Box<dyn Scan> =
                    index.am().begin_scan(storage, index, keys, options)?;
                let mut out = Vec::new();
                scan.bitmap(&mut |tid| out.push(tid.to_u64()))?;
                out.sort_unstable();
                out.dedup();
                counts::scanned(counted(index), 1, out.len() as u64, 0);
                (*id, out)
            }
            Source::And(id, parts) => {
                let mut all: Option<Vec<u64>> = None;
                for part in parts {
                    if all.as_ref().is_some_and(Vec::is_empty) {
                        break;
                    }
                    let next = part.tids(run)?;
                    all = Some(match all {
                        None => next,
                        Some(before) => both(&before, &next),
                    });
                }
                (*id, all.unwrap_or_default())
            }
            Source::Or(id, parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(part.tids(run)?);
                }
                all.sort_unstable();
                all.dedup();
                (*id, all)
            }
        };
        if let Some(all) = &mut run.instrumentation {
            let stats = all.node(id);
            stats.loops += 1;
            if let Some(before) = before {
                before.credit(stats);
            }
            if matches!(self, Source::Index { .. }) {
                stats.rows += out.len() as f64;
            }
        }
        Ok(out)
    }
}

/// What two sorted lists have in common.
fn both(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = Vec::with_capacity(a.len().min(b.len()));
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                out.push(a[i]);
                i += 1;
                j += 1;
            }
        }
    }
    out
}

fn pages(tids: Vec<u64>) -> Vec<BitmapPage> {
    let mut out: Vec<BitmapPage> = Vec::new();
    for n in tids {
        let tid = Tid::from_u64(n);
        match out.last_mut() {
            Some(BitmapPage { block, offsets: Some(offsets), .. }) if *block == tid.block => {
                offsets.push(tid.offset);
            }
            _ => out.push(BitmapPage {
                block: BlockNo(tid.block.0),
                offsets: Some(vec![tid.offset]),
                recheck: false,
            }),
        }
    }
    out
}

impl BitmapNode {
    /// The next pages of those that the team shares; false if there are none.
    fn begin_shared(&mut self, run: &mut Run) -> Result<bool> {
        let spec = Arc::clone(&self.spec);
        let Some(team) = run.shared.clone() else { return Ok(false) };
        let shared = team.of_node(spec.table.id, || Ok(SharedPages::default()))?;
        let all = {
            // Whoever comes while the bitmap is made waits for it.
            let mut place = shared.pages.lock();
            match &*place {
                Some(all) => Arc::clone(all),
                None => {
                    let tids = spec.source.tids(run)?;
                    Arc::clone(place.insert(Arc::new(pages(tids))))
                }
            }
        };
        let from = shared.next.fetch_add(CHUNK, Ordering::Relaxed).min(all.len());
        let some = &all[from..(from + CHUNK).min(all.len())];
        if some.is_empty() {
            return Ok(false);
        }
        if let Some(counts) = &mut run.instrumentation {
            counts.node(spec.table.id).add("Exact Heap Blocks", some.len() as i64);
        }
        let source = ScanSource::Bitmap(Arc::new(some.to_vec()));
        let options = options(&spec.table);
        self.scan = Some(HeapScan::new(spec.table.heap(), &run.snapshot, source, options)?);
        Ok(true)
    }

    fn begin(&mut self, run: &mut Run) -> Result<()> {
        let spec = Arc::clone(&self.spec);
        let tids = spec.source.tids(run)?;
        let mut memory = Reservation::new(run.cx.memory);
        memory.grow(tids.len() * 8)?;
        let pages = pages(tids);
        if let Some(all) = &mut run.instrumentation {
            all.node(spec.table.id).add("Exact Heap Blocks", pages.len() as i64);
        }
        let source = ScanSource::Bitmap(Arc::new(pages));
        let options = options(&spec.table);
        self.scan = Some(HeapScan::new(spec.table.heap(), &run.snapshot, source, options)?);
        self.memory = Some(memory);
        Ok(())
    }
}

impl Node for BitmapNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        if self.done {
            return Ok(None);
        }
        let shared = self.spec.parallel && run.shared.is_some();
        loop {
            if self.scan.is_none() {
                if !shared {
                    self.begin(run)?;
                } else if !self.begin_shared(run)? {
                    self.done = true;
                    return Ok(None);
                }
            }
            let (spec, Some(scan)) = (&self.spec, &mut self.scan) else { return Ok(None) };
            let most = read_ahead(&spec.table, demand);
            let batch = self.pump.pull(run, demand, &spec.table.output, |run| {
                run.check_interrupts()?;
                let Some(mut batch) = next_rows(&spec.table, scan, most)? else { return Ok(None) };
                counts::scanned(spec.table.counted(), 0, 0, batch.len as u64);
                if scan.recheck() {
                    spec.recheck.filter(run, &mut batch)?;
                }
                Ok(Some(batch))
            })?;
            if batch.is_none() {
                self.scan = None;
                self.memory = None;
                if shared {
                    continue;
                }
                self.done = true;
            }
            return Ok(batch);
        }
    }

    fn rescan(&mut self, _run: &mut Run, _changed: &[u32]) -> Result<()> {
        self.scan = None;
        self.memory = None;
        self.done = false;
        self.pump.clear();
        Ok(())
    }
}
