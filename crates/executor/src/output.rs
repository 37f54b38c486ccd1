//! What most nodes do last: keep the rows that satisfy the conditions, and compute the columns.

use crate::batch::split;
use crate::expr::{Prog, Qual, RowInput};
use crate::run::Run;
use base::Result;
use std::sync::Arc;
use types::{Batch, ColumnBuilder, PhysType};

/// Conditions and target list of a node, over its input's columns.
pub(crate) struct Output {
    pub qual: Qual,
    pub target: Vec<Prog>,
    /// If the target is nothing but columns of the input: which.
    columns: Option<Vec<usize>>,
    volatile: bool,
    /// The node's number.
    id: u32,
}

impl Output {
    pub fn new(id: u32, qual: Qual, target: Vec<Prog>) -> Output {
        let columns = target.iter().map(Prog::as_column).collect();
        let volatile = target.iter().any(|p| p.volatile);
        Output { qual, target, columns, volatile, id }
    }

    /// Keeps the rows that satisfy the conditions, and counts the others.
    fn filter(&self, run: &mut Run, batch: &mut Batch) -> Result<()> {
        if self.qual.is_empty() {
            return Ok(());
        }
        let before = batch.rows();
        self.qual.filter(run, batch)?;
        if let Some(all) = &mut run.instrumentation {
            all.node(self.id).removed_by_filter += (before - batch.rows()) as u64;
        }
        Ok(())
    }

    /// Counts rows that a join's own conditions removed.
    pub fn count_unjoined(&self, run: &mut Run, rows: usize) {
        if let Some(all) = &mut run.instrumentation {
            all.node(self.id).removed_by_join += rows as u64;
        }
    }

    /// Whether the columns are handed on as they are.
    pub fn passes(&self, inputs: usize) -> bool {
        let all = self.columns.as_ref().is_some_and(|c| c.iter().copied().eq(0..inputs));
        all && self.qual.is_empty()
    }

    /// How the columns are held.
    pub fn phys(&self) -> Vec<PhysType> {
        self.target.iter().map(|p| p.phys).collect()
    }

    /// The columns of the rows that count.
    pub fn project(&self, run: &mut Run, batch: Batch) -> Result<Batch> {
        if let Some(columns) = &self.columns {
            let columns = columns.iter().map(|c| Arc::clone(&batch.columns[*c])).collect();
            return Ok(Batch { len: batch.len, columns, sel: batch.sel });
        }
        if self.volatile {
            return self.project_rows(run, &batch);
        }
        // Kernels run over whole columns, so drop what few rows would drag along.
        let batch = if batch.rows() * 2 < batch.len { batch.compact() } else { batch };
        let mut columns = Vec::with_capacity(self.target.len());
        for prog in &self.target {
            let v = prog.eval_batch(run, &batch, batch.sel.as_deref())?;
            columns.push(v.into_column(prog.phys, batch.len));
        }
        Ok(Batch { len: batch.len, columns, sel: batch.sel })
    }

    /// All columns of a row before the next row.
    fn project_rows(&self, run: &mut Run, batch: &Batch) -> Result<Batch> {
        let rows = batch.rows();
        let mut builders: Vec<ColumnBuilder> =
            self.target.iter().map(|p| ColumnBuilder::with_capacity(p.phys, rows)).collect();
        for n in 0..rows {
            let input = RowInput::Batch(batch, batch.position(n));
            for (prog, builder) in self.target.iter().zip(&mut builders) {
                builder.push(prog.eval(run, input)?);
            }
        }
        Ok(crate::batch::finish(rows, builders))
    }
}

/// Rows that have been read but not yet given, between calls of a node.
#[derive(Default)]
pub(crate) struct Pump {
    pending: Option<Batch>,
    /// The pending rows have passed the conditions already.
    filtered: bool,
}

impl Pump {
    pub fn clear(&mut self) {
        self.pending = None;
    }

    /// At most `demand` rows of what `source` gives that pass the conditions.
    pub fn pull(
        &mut self,
        run: &mut Run,
        demand: usize,
        output: &Output,
        mut source: impl FnMut(&mut Run) -> Result<Option<Batch>>,
    ) -> Result<Option<Batch>> {
        loop {
            let (mut batch, filtered) = match self.pending.take() {
                Some(batch) => (batch, self.filtered),
                None => match source(run)? {
                    Some(batch) => (batch, false),
                    None => return Ok(None),
                },
            };
            let careful = output.qual.volatile || output.qual.fallible;
            if !filtered && careful && batch.rows() > demand {
                let (front, rest) = split(batch, demand);
                batch = front;
                self.pending = rest;
                self.filtered = false;
                output.filter(run, &mut batch)?;
            } else {
                if !filtered {
                    output.filter(run, &mut batch)?;
                }
                if batch.rows() > demand {
                    let (front, rest) = split(batch, demand);
                    batch = front;
                    self.pending = rest;
                    self.filtered = true;
                }
            }
            if batch.rows() > 0 {
                return output.project(run, batch).map(Some);
            }
            run.check_interrupts()?;
        }
    }
}
