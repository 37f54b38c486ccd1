//! WindowAgg: window functions over partitions of the child's sorted rows.
//!
//! A partition is read as a whole, in chunks of full batches; then each function fills a column for
//! each chunk, and the chunks are given in order. The node's columns and conditions read the
//! child's columns followed by one column for each function.

mod frame;
mod function;

use super::limit::keys;
use super::{Child, Node, NodeSpec};
use crate::batch::{Collector, split};
use crate::compile::PlanCompiler;
use crate::expr::{Equality, Qual, VarMap};
use crate::output::{Output, Pump};
use crate::run::Run;
use base::Result;
use frame::{FrameSpec, Frames};
use function::WindowCall;
use ir::{Expr, Plan};
use std::sync::Arc;
use types::{BATCH_ROWS, Batch, PhysType};

pub(crate) struct WindowSpec {
    child: Child,
    partition: Vec<(usize, Equality)>,
    order: Vec<(usize, Equality)>,
    frame: FrameSpec,
    calls: Vec<WindowCall>,
    phys: Vec<PhysType>,
    /// For the top window: rows that cannot matter are dropped.
    run_condition: Option<Qual>,
    output: Output,
}

struct WindowNode {
    spec: Arc<WindowSpec>,
    child: Box<dyn Node>,
    /// Rows read beyond the partition.
    rest: Option<Batch>,
    eof: bool,
    /// Finished chunks of the partition, and the next to give.
    ready: Vec<Batch>,
    at: usize,
    pump: Pump,
}

/// The rows of one partition: batches of [`BATCH_ROWS`] but the last.
pub(crate) struct Partition {
    pub chunks: Vec<Batch>,
    pub rows: usize,
    /// For each row, the first row after its peers; and the number of its peer group.
    pub peers_end: Vec<u32>,
    pub peer_group: Vec<u32>,
}

impl Partition {
    /// The value of a column in a row.
    pub fn get(&self, column: usize, row: usize) -> types::Datum {
        self.chunks[row / BATCH_ROWS].get(column, row % BATCH_ROWS)
    }

    /// The first of a row's peers.
    pub fn peers_start(&self, row: usize) -> usize {
        let group = self.peer_group[row];
        self.peer_group.partition_point(|g| *g < group)
    }
}

pub(crate) fn compile(
    c: &mut PlanCompiler,
    plan: &Plan,
    w: &ir::WindowAgg,
) -> Result<Arc<dyn NodeSpec>> {
    let child = c.outer(plan)?;
    let mut functions: Vec<Expr> = Vec::new();
    for e in plan.target.iter().map(|t| &t.expr).chain(&plan.qual).chain(&w.run_condition) {
        ir::walk::each(e, &mut |e| {
            if matches!(e, Expr::Window(f) if f.window == w.window) && !functions.contains(e) {
                functions.push(e.clone());
            }
        });
    }
    let map = VarMap::outer(child.phys.len());
    let (mut calls, mut phys, mut slots) = (Vec::new(), Vec::new(), Vec::new());
    for (i, e) in functions.into_iter().enumerate() {
        let Expr::Window(f) = &e else { continue };
        calls.push(WindowCall::compile(&mut c.ec, f, &map)?);
        phys.push(c.ec.phys(f.ty)?);
        slots.push((e, child.phys.len() + i));
    }
    let saved = std::mem::replace(&mut c.ec.slots, slots);
    let output = c.output(plan, &map);
    let run_condition = match w.top_window && !w.run_condition.is_empty() {
        true => Some(c.ec.qual(&w.run_condition, &map)),
        false => None,
    };
    c.ec.slots = saved;
    let order_column = w.order.first().map(|k| k.column as usize - 1);
    let frame = FrameSpec::compile(&mut c.ec, &w.frame, order_column, plan)?;
    Ok(Arc::new(WindowSpec {
        partition: keys(c, &w.partition)?,
        order: keys(c, &w.order)?,
        child,
        frame,
        calls,
        phys,
        run_condition: run_condition.transpose()?,
        output: output?,
    }))
}

impl NodeSpec for WindowSpec {
    fn start(self: Arc<Self>, run: &mut Run) -> Result<Box<dyn Node>> {
        let child = self.child.start(run)?;
        Ok(Box::new(WindowNode {
            spec: self,
            child,
            rest: None,
            eof: false,
            ready: Vec::new(),
            at: 0,
            pump: Pump::default(),
        }))
    }
}

impl WindowNode {
    /// Reads the rows of the next partition.
    fn read(&mut self, run: &mut Run) -> Result<Option<Vec<Batch>>> {
        let spec = Arc::clone(&self.spec);
        let mut rows = Collector::new(&spec.child.phys);
        let mut chunks = Vec::new();
        let mut first: Option<(Batch, usize)> = None;
        loop {
            let batch = match self.rest.take() {
                Some(b) => b,
                None if self.eof => break,
                None => match self.child.next(run, BATCH_ROWS)? {
                    Some(b) => b,
                    None => {
                        self.eof = true;
                        break;
                    }
                },
            };
            run.check_interrupts()?;
            let mut n = 0;
            while n < batch.rows() {
                let i = batch.position(n);
                let (head, j) = match &first {
                    Some((b, j)) => (b, *j),
                    None => {
                        first = Some((batch.clone(), i));
                        (&batch, i)
                    }
                };
                let mut same = true;
                for (c, eq) in &spec.partition {
                    same = same && eq.same_at(run, &head.columns[*c], j, &batch.columns[*c], i)?;
                }
                if !same {
                    break;
                }
                rows.push(&batch, i);
                if rows.is_full() {
                    chunks.extend(rows.take());
                }
                n += 1;
            }
            if n < batch.rows() {
                let after = batch.positions().skip(n).map(|i| i as u16).collect();
                self.rest = Some(Batch { sel: Some(after), ..batch });
                break;
            }
        }
        chunks.extend(rows.take());
        Ok((!chunks.is_empty()).then_some(chunks))
    }

    fn peers(&self, run: &mut Run, chunks: Vec<Batch>) -> Result<Partition> {
        let rows = chunks.iter().map(|c| c.len).sum::<usize>();
        let mut p = Partition { chunks, rows, peers_end: vec![0; rows], peer_group: vec![0; rows] };
        let mut group = 0;
        for row in 1..rows {
            let (a, i) = (&p.chunks[(row - 1) / BATCH_ROWS], (row - 1) % BATCH_ROWS);
            let (b, j) = (&p.chunks[row / BATCH_ROWS], row % BATCH_ROWS);
            for (c, eq) in &self.spec.order {
                if !eq.same_at(run, &a.columns[*c], i, &b.columns[*c], j)? {
                    group += 1;
                    break;
                }
            }
            p.peer_group[row] = group;
        }
        let mut end = rows as u32;
        for row in (0..rows).rev() {
            if row + 1 < rows && p.peer_group[row] != p.peer_group[row + 1] {
                end = row as u32 + 1;
            }
            p.peers_end[row] = end;
        }
        Ok(p)
    }

    /// Computes the functions for the next partition.
    fn compute(&mut self, run: &mut Run) -> Result<bool> {
        let Some(chunks) = self.read(run)? else { return Ok(false) };
        let spec = Arc::clone(&self.spec);
        let partition = self.peers(run, chunks)?;
        let mut columns = Vec::with_capacity(spec.calls.len());
        for (call, phys) in spec.calls.iter().zip(&spec.phys) {
            let frames = Frames::new(run, &spec.frame, &partition)?;
            columns.push(call.column(run, &spec, &partition, frames, *phys)?);
        }
        self.ready = partition.chunks;
        for (n, chunk) in self.ready.iter_mut().enumerate() {
            chunk.columns.extend(columns.iter().map(|c| Arc::clone(&c[n])));
        }
        self.at = 0;
        Ok(true)
    }

    fn more(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        loop {
            while let Some(chunk) = self.ready.get_mut(self.at) {
                let (front, rest) = split(std::mem::take(chunk), demand);
                match rest {
                    Some(rest) => *chunk = rest,
                    None => self.at += 1,
                }
                let mut batch = front;
                if let Some(condition) = &self.spec.run_condition {
                    condition.filter(run, &mut batch)?;
                }
                if batch.rows() > 0 {
                    return Ok(Some(batch));
                }
            }
            if !self.compute(run)? {
                return Ok(None);
            }
        }
    }
}

impl Node for WindowNode {
    fn next(&mut self, run: &mut Run, demand: usize) -> Result<Option<Batch>> {
        let mut pump = std::mem::take(&mut self.pump);
        let spec = Arc::clone(&self.spec);
        let result = pump.pull(run, demand, &spec.output, |run| self.more(run, demand));
        self.pump = pump;
        result
    }

    fn rescan(&mut self, run: &mut Run, changed: &[u32]) -> Result<()> {
        self.rest = None;
        self.eof = false;
        self.ready.clear();
        self.at = 0;
        self.pump.clear();
        self.child.rescan(run, changed)
    }
}
