//! Rows that are kept: batches in memory, and in a file those beyond `work_mem`.

use crate::batch::heap_size;
use crate::run::Run;
use crate::spill::SpillFile;
use base::Result;
use base::memory::Reservation;
use types::{Batch, PhysType};

/// Batches in the order in which they came.
pub(crate) struct RowStore {
    /// The first ones.
    batches: Vec<Batch>,
    memory: Reservation,
    /// The others.
    spilled: Option<SpillFile>,
}

impl RowStore {
    pub fn new(run: &Run, _phys: &[PhysType]) -> RowStore {
        let memory = Reservation::new(run.cx.memory);
        RowStore { batches: Vec::new(), memory, spilled: None }
    }

    /// How many batches there are.
    pub fn batches(&self) -> usize {
        self.batches.len() + self.spilled.as_ref().map_or(0, |f| f.len())
    }

    /// Adds the rows that count.
    pub fn push(&mut self, run: &mut Run, batch: Batch) -> Result<()> {
        let batch = batch.compact();
        if let Some(file) = &mut self.spilled {
            return file.write(&batch);
        }
        let size = heap_size(&batch);
        let settings = run.cx.settings;
        if let Some(temp) = &settings.temp
            && self.memory.bytes() + size > settings.work_mem
        {
            return self.spilled.insert(temp.create()?).write(&batch);
        }
        self.memory.grow(size)?;
        self.batches.push(batch);
        Ok(())
    }

    /// One of the batches.
    pub fn batch(&self, _run: &mut Run, index: usize) -> Result<Batch> {
        match (self.batches.get(index), &self.spilled) {
            (Some(batch), _) => Ok(batch.clone()),
            (None, Some(file)) => file.read(index - self.batches.len()),
            (None, None) => Err(base::Error::internal("a stored batch is missing")),
        }
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.batches.clear();
        self.spilled = None;
        let _ = self.memory.resize(0);
    }
}
