//! Set-returning functions: rows by the batch.

mod series;
pub(crate) mod tables;

use crate::builtin;
use crate::call::FnCtx;
use base::{Oid, Result, err};
use types::record::{Record, RecordColumn};
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
    #[allow(clippy::new_ret_no_self)]
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
            if let ([builder], true) = (&mut *out, row.len() > 1) {
                builder.push(as_record(cx, row));
                n += 1;
                continue;
            }
            let row = match (&cx.call.columns, row.as_slice()) {
                // A function that returns records, with the query saying what is in them.
                (Some(columns), [Datum::Bytes(b)]) if cx.call.ret_type == types::oid::RECORD => {
                    spread(cx, columns, b)?
                }
                _ => row,
            };
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

/// Rows that are records: one value of a select list, or the columns of a row of FROM.
pub(crate) struct Records {
    records: std::vec::IntoIter<Record>,
}

impl Records {
    /// These rows.
    #[allow(clippy::new_ret_no_self)]
    pub(crate) fn new(records: Vec<Record>) -> Box<dyn RowSource> {
        Box::new(Records { records: records.into_iter() })
    }
}

impl RowSource for Records {
    fn next(&mut self, cx: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize> {
        let mut n = 0;
        for record in self.records.by_ref().take(most) {
            n += 1;
            let whole = out.len() == 1 && record.columns.len() > 1 && cx.call.columns.is_none();
            if whole {
                out[0].push(record.encode());
                continue;
            }
            let values = match &cx.call.columns {
                Some(columns) => fields(cx, columns, record)?,
                None => record.columns.into_iter().map(|c| c.value).collect(),
            };
            for (builder, value) in out.iter_mut().zip(values) {
                crate::check_held(cx, &value, builder.phys_type())?;
                builder.push(value);
            }
        }
        Ok(n)
    }
}

/// The fields of a record, which must be as the query says.
fn spread(cx: &FnCtx, columns: &[(String, Oid, i32)], record: &[u8]) -> Result<Vec<Datum>> {
    fields(cx, columns, Record::decode(record)?)
}

fn fields(cx: &FnCtx, columns: &[(String, Oid, i32)], record: Record) -> Result<Vec<Datum>> {
    let differs = |detail: String| {
        err!(DATATYPE_MISMATCH, "function return row and query-specified return row do not match")
            .detail(detail)
    };
    let (has, expects) = (record.columns.len(), columns.len());
    if has != expects {
        let many = if has == 1 { "" } else { "s" };
        return Err(differs(format!(
            "Returned row contains {has} attribute{many}, but query expects {expects}."
        )));
    }
    for (i, (field, column)) in record.columns.iter().zip(columns).enumerate() {
        if field.type_oid != column.1 {
            let name = |oid| cx.env.catalog().type_name(oid).unwrap_or_default();
            return Err(differs(format!(
                "Returned type {} at ordinal position {}, but query expects {}.",
                name(field.type_oid),
                i + 1,
                name(column.1)
            )));
        }
    }
    Ok(record.columns.into_iter().map(|c| c.value).collect())
}

/// The type of an output of type `anyelement`: that of the elements of the array given.
fn concrete(cx: &FnCtx, output: Oid) -> Oid {
    if output != types::oid::ANYELEMENT {
        return output;
    }
    let array = cx.call.arg_types.first().copied().unwrap_or_default();
    let info = cx.env.catalog().types().type_info(array);
    info.map_or(output, |i| if i.elem.is_valid() { i.elem } else { output })
}

/// A row of several columns as one value, where a select list wants it.
fn as_record(cx: &FnCtx, row: Vec<Datum>) -> Datum {
    let named = cx.env.catalog().types().row_desc(cx.call.ret_type, -1);
    let proc = builtin::proc(cx.call.fn_oid);
    let outs: Vec<Oid> = match (&named, proc) {
        (Some(desc), _) => desc.attrs.iter().map(|a| a.type_oid).collect(),
        (None, Some(p)) => {
            let modes = p.proallargtypes.iter().zip(&p.proargmodes);
            let outs = modes.filter(|(_, m)| matches!(m, b'o' | b'b' | b't'));
            outs.map(|(t, _)| concrete(cx, *t)).collect()
        }
        (None, None) => Vec::new(),
    };
    let column = |(i, value): (usize, Datum)| RecordColumn {
        type_oid: outs.get(i).copied().unwrap_or(types::oid::TEXT),
        value,
    };
    let type_oid = if named.is_some() { cx.call.ret_type } else { types::oid::RECORD };
    let columns = row.into_iter().enumerate().map(column).collect();
    Record { type_oid, typmod: -1, columns }.encode()
}

/// The built-in set-returning function of this OID.
pub fn set_returning(oid: Oid) -> Option<SrfFn> {
    let row = builtin::proc(oid)?;
    body(row).or_else(|| row.proretset.then_some(session_rows as SrfFn))
}

/// Whether a set-returning function has a body that is not the session's.
pub fn has_set_body(oid: Oid) -> bool {
    builtin::proc(oid).is_some_and(|row| body(row).is_some())
}

/// What PostgreSQL writes in SQL binds by its OID, as in the registry.
fn body(row: &builtin::ProcRow) -> Option<SrfFn> {
    if row.prolang == Oid(14) {
        return tables::find(&row.oid.to_string());
    }
    series::find(row.prosrc).or_else(|| tables::find(row.prosrc))
}

/// The rows of a function that is not built in.
pub fn user_set(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    match cx.env.session_rows(cx.call, args) {
        Some(rows) => Ok(Box::new(UserRows { rows: rows?.into_iter() })),
        None => {
            Err(err!(FEATURE_NOT_SUPPORTED, "function {} is not supported yet", cx.call.fn_oid))
        }
    }
}

/// Rows whose last column is the row itself, if they have several.
struct UserRows {
    rows: std::vec::IntoIter<Vec<Datum>>,
}

impl RowSource for UserRows {
    fn next(&mut self, cx: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize> {
        let mut n = 0;
        for mut row in self.rows.by_ref().take(most) {
            if let [only] = out
                && row.len() > 1
            {
                // One column is wanted: the row, unless it has but one column of this form.
                let phys = only.phys_type();
                let fits = row.len() == 2 && row[0].phys_type().is_none_or(|p| p == phys);
                let value = if fits { row.swap_remove(0) } else { row.pop().unwrap_or_default() };
                crate::check_held(cx, &value, phys)?;
                only.push(value);
                n += 1;
                continue;
            }
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
