//! Programs over a batch of columns.
//!
//! A result has as many values as the input's columns; where `sel` leaves a row out its value is
//! arbitrary. What has no kernel of its own is done row by row through [`Prog::eval`].

use super::row::bool_test;
use super::{CaseProg, Kind, Prog, RowInput};
use crate::run::{CaseValue, Run};
use base::{Result, SqlState};
use std::sync::Arc;
use types::batch::{Bitmap, Column, ColumnBuilder, ColumnData};
use types::{Batch, Datum, PhysType};

/// The values of an expression over a batch.
#[derive(Clone)]
pub(crate) enum Vector {
    Column(Arc<Column>),
    /// The same value for all rows.
    Const(Datum),
}

impl Vector {
    /// The value at a position.
    #[inline]
    pub fn get(&self, position: usize) -> Datum {
        match self {
            Vector::Column(c) => c.get(position),
            Vector::Const(d) => d.clone(),
        }
    }

    /// The values as a column of `len`.
    pub fn into_column(self, phys: PhysType, len: usize) -> Arc<Column> {
        match self {
            Vector::Column(c) => c,
            Vector::Const(d) => Arc::new(repeat(&d, phys, len)),
        }
    }

    /// Whether the value at a position is NULL.
    #[inline]
    pub fn is_null(&self, position: usize) -> bool {
        match self {
            Vector::Column(c) => c.is_null(position),
            Vector::Const(d) => d.is_null(),
        }
    }
}

/// `len` times one value.
pub(crate) fn repeat(value: &Datum, phys: PhysType, len: usize) -> Column {
    let data = match (value, phys) {
        (Datum::I32(x), _) => ColumnData::I32(vec![*x; len]),
        (Datum::I64(x), _) => ColumnData::I64(vec![*x; len]),
        (Datum::F64(x), _) => ColumnData::F64(vec![*x; len]),
        (Datum::Bool(x), _) => ColumnData::Bool(vec![*x; len]),
        (Datum::Null, phys) => {
            let mut data = ColumnData::with_capacity(phys, len);
            data.resize(len);
            return Column { data, nulls: Some(Bitmap::ones(len)) };
        }
        _ => return Column::repeat(value, phys, len),
    };
    Column::new(data)
}

/// Calls `f` for the positions that count.
#[inline]
pub(crate) fn each(sel: Option<&[u16]>, len: usize, mut f: impl FnMut(usize)) {
    match sel {
        Some(sel) => sel.iter().for_each(|&i| f(i as usize)),
        None => (0..len).for_each(f),
    }
}

/// The same for what may fail.
#[inline]
pub(crate) fn try_each(
    sel: Option<&[u16]>,
    len: usize,
    mut f: impl FnMut(usize) -> Result<()>,
) -> Result<()> {
    match sel {
        Some(sel) => sel.iter().try_for_each(|&i| f(i as usize)),
        None => (0..len).try_for_each(f),
    }
}

/// A builder sized for `len` values, all of them zero.
pub(crate) fn sized(phys: PhysType, len: usize) -> ColumnBuilder {
    let mut b = ColumnBuilder::with_capacity(phys, len);
    b.resize(len);
    b
}

/// Puts the values of `from` at the selected positions into `into`.
pub(crate) fn scatter(into: &mut ColumnBuilder, from: &Vector, sel: Option<&[u16]>, len: usize) {
    macro_rules! copy {
        ($a:ident, $b:ident) => {
            each(sel, len, |i| $a[i] = $b[i])
        };
    }
    if let Vector::Column(c) = from {
        match (into.data_mut(), &c.data) {
            (ColumnData::Bool(a), ColumnData::Bool(b)) => copy!(a, b),
            (ColumnData::I16(a), ColumnData::I16(b)) => copy!(a, b),
            (ColumnData::I32(a), ColumnData::I32(b)) => copy!(a, b),
            (ColumnData::I64(a), ColumnData::I64(b)) => copy!(a, b),
            (ColumnData::U32(a), ColumnData::U32(b)) => copy!(a, b),
            (ColumnData::F32(a), ColumnData::F32(b)) => copy!(a, b),
            (ColumnData::F64(a), ColumnData::F64(b)) => copy!(a, b),
            _ => {
                each(sel, len, |i| into.set(i, &c.get(i)));
                return;
            }
        }
        if let Some(nulls) = &c.nulls {
            each(sel, len, |i| {
                if nulls.get(i) {
                    into.set_null(i);
                }
            });
        }
        return;
    }
    each(sel, len, |i| into.set(i, &from.get(i)));
}

impl Prog {
    /// The values for the rows `sel` of `batch` (all of its positions if None).
    pub fn eval_batch(&self, run: &mut Run, batch: &Batch, sel: Option<&[u16]>) -> Result<Vector> {
        match &self.kind {
            Kind::Const(d) => Ok(Vector::Const(d.clone())),
            Kind::Col(c) => Ok(Vector::Column(Arc::clone(&batch.columns[*c as usize]))),
            Kind::ExternParam(id) => Ok(Vector::Const(run.extern_param(*id))),
            Kind::ExecParam(id) => Ok(Vector::Const(run.exec_param(*id)?)),
            Kind::Call(call) if !self.volatile => match call.eval_batch(run, batch, sel, self.phys)
            {
                Err(e) if self.fits_by_rows(&e) => self.eval_rows(run, batch, sel),
                result => result,
            },
            Kind::And(args) => logic(args, false, run, batch, sel),
            Kind::Or(args) => logic(args, true, run, batch, sel),
            Kind::Not(arg) => negate(arg.eval_batch(run, batch, sel)?),
            Kind::Case(case) if !self.volatile => case.eval_batch(run, batch, sel, self.phys),
            Kind::CaseTest => Ok(run.case_vector()),
            Kind::Coalesce(args) if !self.volatile => coalesce(args, run, batch, sel, self.phys),
            Kind::NullTest { is_null, arg } => {
                let v = arg.eval_batch(run, batch, sel)?;
                Ok(null_test(&v, *is_null, batch.len))
            }
            Kind::BoolTest { kind, arg } => {
                let v = arg.eval_batch(run, batch, sel)?;
                let mut out = vec![false; batch.len];
                each(sel, batch.len, |i| out[i] = bool_test(*kind, &v.get(i)));
                Ok(Vector::Column(Arc::new(Column::new(ColumnData::Bool(out)))))
            }
            Kind::AnyAll(a) if a.set.is_some() && !self.volatile => a.eval_set(run, batch, sel),
            _ => self.eval_rows(run, batch, sel),
        }
    }

    /// Whether arguments of a batch that did not fit into memory may do so row by row: the result
    /// is small, and giving them up has made room.
    #[cold]
    fn fits_by_rows(&self, e: &base::Error) -> bool {
        const SOME: usize = 1 << 20;
        e.code() == SqlState::OUT_OF_MEMORY
            && self.phys != PhysType::Bytes
            && base::interrupt::room(SOME).is_ok()
    }

    /// Row by row.
    pub fn eval_rows(&self, run: &mut Run, batch: &Batch, sel: Option<&[u16]>) -> Result<Vector> {
        let mut out = sized(self.phys, batch.len);
        try_each(sel, batch.len, |i| {
            let value = self.eval(run, RowInput::Batch(batch, i))?;
            out.set(i, &value);
            Ok(())
        })?;
        Ok(Vector::Column(Arc::new(out.finish())))
    }
}

fn negate(v: Vector) -> Result<Vector> {
    Ok(match v {
        Vector::Const(Datum::Bool(b)) => Vector::Const(Datum::Bool(!b)),
        Vector::Const(_) => Vector::Const(Datum::Null),
        Vector::Column(c) => {
            let ColumnData::Bool(values) = &c.data else {
                return Err(base::Error::internal("NOT of a column that is not boolean"));
            };
            let data = ColumnData::Bool(values.iter().map(|b| !b).collect());
            Vector::Column(Arc::new(Column { data, nulls: c.nulls.clone() }))
        }
    })
}

/// AND (`stop` false) and OR (`stop` true): an argument is asked only for rows that those before
/// it have not decided.
fn logic(
    args: &[Prog],
    stop: bool,
    run: &mut Run,
    batch: &Batch,
    sel: Option<&[u16]>,
) -> Result<Vector> {
    let mut values = vec![!stop; batch.len];
    let mut nulls: Option<Bitmap> = None;
    let mut open: Option<Vec<u16>> = sel.map(<[u16]>::to_vec);
    for arg in args {
        let v = arg.eval_batch(run, batch, open.as_deref())?;
        let mut rest = Vec::with_capacity(batch.len);
        each(open.as_deref(), batch.len, |i| {
            let decided = match &v {
                Vector::Column(c) if c.is_null(i) => None,
                Vector::Column(c) => match &c.data {
                    ColumnData::Bool(b) => Some(b[i]),
                    _ => None,
                },
                Vector::Const(Datum::Bool(b)) => Some(*b),
                Vector::Const(_) => None,
            };
            match decided {
                Some(b) if b == stop => {
                    values[i] = stop;
                    if let Some(n) = &mut nulls {
                        n.clear(i);
                    }
                    return;
                }
                Some(_) => {}
                None => nulls.get_or_insert_with(|| Bitmap::zeros(batch.len)).set(i),
            }
            rest.push(i as u16);
        });
        if rest.is_empty() {
            break;
        }
        open = Some(rest);
    }
    Ok(Vector::Column(Arc::new(Column { data: ColumnData::Bool(values), nulls })))
}

fn null_test(v: &Vector, is_null: bool, len: usize) -> Vector {
    match v {
        Vector::Const(d) => Vector::Const(Datum::Bool(d.is_null() == is_null)),
        Vector::Column(c) => match &c.nulls {
            None => Vector::Const(Datum::Bool(!is_null)),
            Some(nulls) => {
                let out = (0..len).map(|i| nulls.get(i) == is_null).collect();
                Vector::Column(Arc::new(Column::new(ColumnData::Bool(out))))
            }
        },
    }
}

fn coalesce(
    args: &[Prog],
    run: &mut Run,
    batch: &Batch,
    sel: Option<&[u16]>,
    phys: PhysType,
) -> Result<Vector> {
    let mut out = sized(phys, batch.len);
    let mut open: Option<Vec<u16>> = sel.map(<[u16]>::to_vec);
    for arg in args {
        let v = arg.eval_batch(run, batch, open.as_deref())?;
        let (mut known, mut rest) = (Vec::new(), Vec::new());
        each(open.as_deref(), batch.len, |i| {
            if v.is_null(i) { rest.push(i as u16) } else { known.push(i as u16) }
        });
        scatter(&mut out, &v, Some(&known), batch.len);
        open = Some(rest);
        if open.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
    }
    each(open.as_deref(), batch.len, |i| out.set_null(i));
    Ok(Vector::Column(Arc::new(out.finish())))
}

impl CaseProg {
    fn eval_batch(
        &self,
        run: &mut Run,
        batch: &Batch,
        sel: Option<&[u16]>,
        phys: PhysType,
    ) -> Result<Vector> {
        let Some(arg) = &self.arg else { return self.branches_batch(run, batch, sel, phys) };
        let value = arg.eval_batch(run, batch, sel)?;
        run.case.push(CaseValue::Many(value));
        let result = self.branches_batch(run, batch, sel, phys);
        run.case.pop();
        result
    }

    fn branches_batch(
        &self,
        run: &mut Run,
        batch: &Batch,
        sel: Option<&[u16]>,
        phys: PhysType,
    ) -> Result<Vector> {
        let mut out = sized(phys, batch.len);
        let mut open: Option<Vec<u16>> = sel.map(<[u16]>::to_vec);
        for (when, then) in &self.whens {
            let v = when.eval_batch(run, batch, open.as_deref())?;
            let (mut hit, mut rest) = (Vec::new(), Vec::new());
            each(open.as_deref(), batch.len, |i| {
                if v.get(i).as_bool() { hit.push(i as u16) } else { rest.push(i as u16) }
            });
            if !hit.is_empty() {
                let values = then.eval_batch(run, batch, Some(&hit))?;
                scatter(&mut out, &values, Some(&hit), batch.len);
            }
            open = Some(rest);
            if open.as_ref().is_some_and(Vec::is_empty) {
                return Ok(Vector::Column(Arc::new(out.finish())));
            }
        }
        let values = self.default.eval_batch(run, batch, open.as_deref())?;
        scatter(&mut out, &values, open.as_deref(), batch.len);
        Ok(Vector::Column(Arc::new(out.finish())))
    }
}

impl super::AnyAllProg {
    /// `column = ANY (constant)`, by the set of its elements.
    fn eval_set(&self, run: &mut Run, batch: &Batch, sel: Option<&[u16]>) -> Result<Vector> {
        let scalar = self.call.args[0].eval_batch(run, batch, sel)?;
        let Some(set) = &self.set else {
            return Err(base::Error::internal("no set of constants"));
        };
        let mut values = vec![false; batch.len];
        let mut nulls: Option<Bitmap> = None;
        let is_empty = set.values.is_empty() && set.ints.as_ref().is_none_or(|s| s.is_empty());
        each(sel, batch.len, |i| {
            let value = scalar.get(i);
            let hit = !value.is_null() && set.contains(&value);
            if hit {
                values[i] = self.use_or;
            } else if set.has_null || (value.is_null() && !is_empty) {
                nulls.get_or_insert_with(|| Bitmap::zeros(batch.len)).set(i);
            } else {
                values[i] = !self.use_or;
            }
        });
        Ok(Vector::Column(Arc::new(Column { data: ColumnData::Bool(values), nulls })))
    }
}
