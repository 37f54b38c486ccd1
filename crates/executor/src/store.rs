//! Rows that are kept: batches in memory.

use crate::batch::heap_size;
use crate::run::Run;
use base::Result;
use base::memory::Reservation;
use types::{Batch, PhysType};

/// Batches in the order in which they came.
pub(crate) struct RowStore {
    batches: Vec<Batch>,
    memory: Reservation,
    rows: u64,
}

impl RowStore {
    pub fn new(run: &Run, _phys: &[PhysType]) -> RowStore {
        RowStore { batches: Vec::new(), memory: Reservation::new(run.cx.memory), rows: 0 }
    }

    /// How many batches there are.
    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Adds the rows that count.
    pub fn push(&mut self, _run: &mut Run, batch: Batch) -> Result<()> {
        let batch = batch.compact();
        self.memory.grow(heap_size(&batch))?;
        self.rows += batch.len as u64;
        self.batches.push(batch);
        Ok(())
    }

    /// One of the batches.
    pub fn batch(&self, _run: &mut Run, index: usize) -> Result<Batch> {
        Ok(self.batches[index].clone())
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.batches.clear();
        self.rows = 0;
        let _ = self.memory.resize(0);
    }
}
