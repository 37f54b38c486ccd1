//! Set-returning functions: rows by the batch.

use crate::call::FnCtx;
use base::{Oid, Result};
use types::{ColumnBuilder, Datum};

/// The rows of one call.
pub trait RowSource: Send {
    /// Appends at most `most` rows to `out`, one builder a result column (one if the function
    /// returns a scalar), and says how many; 0 means the end.
    fn next(&mut self, cx: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize>;
}

/// Starts a call. NULL arguments of a strict function are the caller's to handle (no rows).
pub type SrfFn = fn(&mut FnCtx, &[Datum]) -> Result<Box<dyn RowSource>>;

/// The built-in set-returning function of this OID.
pub fn set_returning(oid: Oid) -> Option<SrfFn> {
    let _ = oid;
    None
}
