//! Batches taken apart and put together.

use std::sync::Arc;
use types::{BATCH_ROWS, Batch, Column, ColumnBuilder, Datum, PhysType};

/// The first `n` rows that count, and the others if there are any.
pub(crate) fn split(batch: Batch, n: usize) -> (Batch, Option<Batch>) {
    let rows = batch.rows();
    if rows <= n {
        return (batch, None);
    }
    let (front, rest) = match &batch.sel {
        Some(sel) => (sel[..n].to_vec(), sel[n..].to_vec()),
        None => ((0..n as u16).collect(), (n as u16..rows as u16).collect()),
    };
    let first = Batch { len: batch.len, columns: batch.columns.clone(), sel: Some(front) };
    (first, Some(Batch { sel: Some(rest), ..batch }))
}

/// The finished builders as a batch of `len` rows.
pub(crate) fn finish(len: usize, builders: Vec<ColumnBuilder>) -> Batch {
    Batch { len, columns: builders.into_iter().map(|b| Arc::new(b.finish())).collect(), sel: None }
}

/// Empty builders for columns held like this.
pub(crate) fn builders(phys: &[PhysType], capacity: usize) -> Vec<ColumnBuilder> {
    phys.iter().map(|p| ColumnBuilder::with_capacity(*p, capacity)).collect()
}

/// Takes the columns that were built so far as a batch.
pub(crate) fn take(len: usize, builders: &mut [ColumnBuilder]) -> Batch {
    Batch { len, columns: builders.iter_mut().map(|b| Arc::new(b.take())).collect(), sel: None }
}

/// Appends one row of a batch to builders.
#[inline]
pub(crate) fn push_row(builders: &mut [ColumnBuilder], batch: &Batch, position: usize) {
    for (builder, column) in builders.iter_mut().zip(&batch.columns) {
        builder.push_from(column, position);
    }
}

/// A batch of one row.
pub(crate) fn one_row(row: &[Datum], phys: &[PhysType]) -> Batch {
    let columns = row.iter().zip(phys).map(|(d, p)| Arc::new(Column::repeat(d, *p, 1))).collect();
    Batch { len: 1, columns, sel: None }
}

/// A row without columns, once.
pub(crate) fn unit() -> Batch {
    Batch { len: 1, columns: Vec::new(), sel: None }
}

/// The columns of `batch` at these positions, which may repeat, as dense columns.
pub(crate) fn gather(batch: &Batch, positions: &[u16]) -> Vec<Arc<Column>> {
    batch.columns.iter().map(|c| Arc::new(c.gather(positions))).collect()
}

/// Bytes that a batch holds, for memory accounts.
pub(crate) fn heap_size(batch: &Batch) -> usize {
    batch.columns.iter().map(|c| c.heap_size() + 32).sum::<usize>() + 64
}

/// A place in a list of batches: batch number and position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub batch: u32,
    pub row: u16,
}

/// Rows of a list of batches at these places.
pub(crate) fn gather_places(batches: &[Batch], places: &[Place], phys: &[PhysType]) -> Batch {
    let columns = phys
        .iter()
        .enumerate()
        .map(|(c, p)| Arc::new(gather_column(batches, c, places, *p)))
        .collect();
    Batch { len: places.len(), columns, sel: None }
}

fn gather_column(batches: &[Batch], c: usize, places: &[Place], phys: PhysType) -> Column {
    use types::batch::ColumnData;
    macro_rules! fast {
        ($variant:ident) => {{
            let clean = places.iter().all(|p| batches[p.batch as usize].columns[c].nulls.is_none());
            if clean {
                let mut out = Vec::with_capacity(places.len());
                for p in places {
                    match &batches[p.batch as usize].columns[c].data {
                        ColumnData::$variant(v) => out.push(v[p.row as usize]),
                        _ => break,
                    }
                }
                if out.len() == places.len() {
                    return Column::new(ColumnData::$variant(out));
                }
            }
        }};
    }
    match phys {
        PhysType::I32 => fast!(I32),
        PhysType::I64 => fast!(I64),
        PhysType::F64 => fast!(F64),
        _ => {}
    }
    let mut builder = ColumnBuilder::with_capacity(phys, places.len());
    for p in places {
        builder.push_from(&batches[p.batch as usize].columns[c], p.row as usize);
    }
    builder.finish()
}

/// Collects rows into batches of full size.
pub(crate) struct Collector {
    builders: Vec<ColumnBuilder>,
    rows: usize,
}

impl Collector {
    pub fn new(phys: &[PhysType]) -> Collector {
        Collector { builders: builders(phys, 0), rows: 0 }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether no further row should be added before [`Collector::take`].
    pub fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS
    }

    pub fn push(&mut self, batch: &Batch, position: usize) {
        push_row(&mut self.builders, batch, position);
        self.rows += 1;
    }

    pub fn push_values(&mut self, row: &[Datum]) {
        for (builder, value) in self.builders.iter_mut().zip(row) {
            builder.push_ref(value);
        }
        self.rows += 1;
    }

    /// The rows so far, if there are any.
    pub fn take(&mut self) -> Option<Batch> {
        if self.rows == 0 {
            return None;
        }
        let rows = std::mem::take(&mut self.rows);
        Some(take(rows, &mut self.builders))
    }
}
