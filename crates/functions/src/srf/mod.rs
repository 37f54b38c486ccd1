//! Set-returning functions: rows by the batch.

mod series;
pub(crate) mod tables;

use crate::builtin;
use crate::call::FnCtx;
use base::{Oid, Result, err};
use types::{ColumnBuilder, Datum};

/// The rows of one call.
pub trait RowSource: Send {
    /// Appends at most `most` rows to `out`, one builder a result column (one if the function
    /// returns a scalar), and says how many; 0 means the end.
    fn next(&mut self, cx: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize>;
}

/// Starts a call. NULL arguments of a strict function are the caller's to handle (no rows).
pub type SrfFn = fn(&mut FnCtx, &[Datum]) -> Result<Box<dyn RowSource>>;

/// Rows that are all there from the start.
pub struct Rows {
    rows: std::vec::IntoIter<Vec<Datum>>,
}

impl Rows {
    /// These rows.
    pub fn new(rows: Vec<Vec<Datum>>) -> Box<dyn RowSource> {
        Box::new(Rows { rows: rows.into_iter() })
    }

    /// Rows of one column.
    pub fn single(values: Vec<Datum>) -> Box<dyn RowSource> {
        Rows::new(values.into_iter().map(|v| vec![v]).collect())
    }
}

impl RowSource for Rows {
    fn next(&mut self, cx: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize> {
        let mut n = 0;
        for row in self.rows.by_ref().take(most) {
            let mut values = row.into_iter();
            for builder in out.iter_mut() {
                let value = values.next().unwrap_or_default();
                crate::check_held(cx, &value, builder.phys_type())?;
                builder.push(value);
            }
            n += 1;
        }
        Ok(n)
    }
}

/// The built-in set-returning function of this OID.
pub fn set_returning(oid: Oid) -> Option<SrfFn> {
    let row = builtin::proc(oid)?;
    series::find(row.prosrc)
        .or_else(|| tables::find(row.prosrc))
        .or_else(|| row.proretset.then_some(session_rows as SrfFn))
}

/// The rows that only the session can make.
fn session_rows(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    match cx.env.session_rows(cx.call, args) {
        Some(rows) => Ok(Rows::new(rows?)),
        None => {
            let name = cx.env.catalog().proc_name(cx.call.fn_oid).unwrap_or_default();
            Err(err!(FEATURE_NOT_SUPPORTED, "function {name} is not supported yet"))
        }
    }
}
