//! Batches: up to [`BATCH_ROWS`] rows held by column, with a selection vector.

mod bitmap;
mod builder;
mod bytes;
mod column;

pub use bitmap::Bitmap;
pub use builder::ColumnBuilder;
pub use bytes::{BytesColumn, View};
pub use column::{Column, ColumnData};

use crate::datum::Datum;
use std::sync::Arc;

/// Most rows in a batch.
pub const BATCH_ROWS: usize = 1024;

/// Rows by column. Each column has `len` values; `sel`, if there, lists the positions of the
/// rows that count, ascending.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Values in each column.
    pub len: usize,
    /// The columns; shared, so that a projection copies none.
    pub columns: Vec<Arc<Column>>,
    /// Positions of the rows that count; all of them when None.
    pub sel: Option<Vec<u16>>,
}

impl Batch {
    /// A batch of these columns, all of whose rows count.
    pub fn new(len: usize, columns: Vec<Arc<Column>>) -> Batch {
        debug_assert!(columns.iter().all(|c| c.len() == len));
        Batch { len, columns, sel: None }
    }

    /// How many rows count.
    #[inline]
    pub fn rows(&self) -> usize {
        self.sel.as_ref().map_or(self.len, Vec::len)
    }

    /// Position in the columns of the `n`th row that counts.
    #[inline]
    pub fn position(&self, n: usize) -> usize {
        self.sel.as_ref().map_or(n, |s| s[n] as usize)
    }

    /// Positions of the rows that count.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rows()).map(|n| self.position(n))
    }

    /// The value of column `column` at position `position`.
    #[inline]
    pub fn get(&self, column: usize, position: usize) -> Datum {
        self.columns[column].get(position)
    }

    /// All values at position `position`.
    pub fn row(&self, position: usize) -> Vec<Datum> {
        self.columns.iter().map(|c| c.get(position)).collect()
    }

    /// The same rows without a selection vector: unselected values are dropped.
    pub fn compact(&self) -> Batch {
        match &self.sel {
            None => self.clone(),
            Some(sel) => Batch {
                len: sel.len(),
                columns: self.columns.iter().map(|c| Arc::new(c.gather(sel))).collect(),
                sel: None,
            },
        }
    }
}
