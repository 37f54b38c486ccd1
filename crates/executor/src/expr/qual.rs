//! Conditions: a list of programs, all of which must be true, that narrows a batch's selection.
//!
//! Comparisons of a column of a fixed-width type with something that does not change during the
//! run have kernels here that write the selection without an intermediate column.

use super::batch::Vector;
use super::{Kind, Prog, RowInput};
use crate::run::Run;
use base::Result;
use types::batch::{Bitmap, ColumnData};
use types::{Batch, Datum};

/// The six comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CmpOp {
    /// The same with the operands exchanged.
    pub fn commuted(self) -> CmpOp {
        match self {
            CmpOp::Lt => CmpOp::Gt,
            CmpOp::Le => CmpOp::Ge,
            CmpOp::Gt => CmpOp::Lt,
            CmpOp::Ge => CmpOp::Le,
            other => other,
        }
    }

    /// Whether it holds for operands in this order.
    #[inline]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            CmpOp::Eq => order.is_eq(),
            CmpOp::Ne => order.is_ne(),
            CmpOp::Lt => order.is_lt(),
            CmpOp::Le => order.is_le(),
            CmpOp::Gt => order.is_gt(),
            CmpOp::Ge => order.is_ge(),
        }
    }
}

/// What the operands of a built-in comparison are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CmpClass {
    /// Integers of any width, dates, times, oids, booleans.
    Int,
    Float,
}

enum Cond {
    /// Column against a value of the run, by a kernel.
    Column {
        column: usize,
        op: CmpOp,
        rhs: Prog,
        whole: Prog,
    },
    General(Prog),
}

/// Conditions that are joined by AND.
#[derive(Default)]
pub(crate) struct Qual {
    conds: Vec<Cond>,
    pub volatile: bool,
    pub fallible: bool,
}

impl Qual {
    /// The conditions in the planner's order.
    pub fn new(progs: Vec<Prog>) -> Qual {
        let volatile = progs.iter().any(|p| p.volatile);
        let fallible = progs.iter().any(|p| p.fallible);
        Qual { conds: progs.into_iter().map(cond).collect(), volatile, fallible }
    }

    /// True if every row passes.
    pub fn is_empty(&self) -> bool {
        self.conds.is_empty()
    }

    /// Whether one row passes.
    pub fn test(&self, run: &mut Run, input: RowInput<'_>) -> Result<bool> {
        for c in &self.conds {
            let prog = match c {
                Cond::Column { whole, .. } => whole,
                Cond::General(p) => p,
            };
            if !prog.eval(run, input)?.as_bool() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Leaves the rows that pass selected.
    pub fn filter(&self, run: &mut Run, batch: &mut Batch) -> Result<()> {
        if self.conds.is_empty() {
            return Ok(());
        }
        if self.volatile {
            return self.filter_rows(run, batch);
        }
        let mut sel = batch.sel.take();
        for c in &self.conds {
            if sel.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
            sel = Some(match c {
                Cond::Column { column, op, rhs, whole } => {
                    let value = rhs.eval(run, RowInput::None)?;
                    match compare(batch, *column, *op, &value, sel.as_deref()) {
                        Some(s) => s,
                        None => general(whole, run, batch, sel.as_deref())?,
                    }
                }
                Cond::General(p) => general(p, run, batch, sel.as_deref())?,
            });
        }
        batch.sel = sel;
        Ok(())
    }

    /// All conditions for a row before the next row.
    fn filter_rows(&self, run: &mut Run, batch: &mut Batch) -> Result<()> {
        let mut kept = Vec::new();
        for n in 0..batch.rows() {
            let i = batch.position(n);
            if self.test(run, RowInput::Batch(batch, i))? {
                kept.push(i as u16);
            }
        }
        batch.sel = Some(kept);
        Ok(())
    }
}

fn cond(prog: Prog) -> Cond {
    if let Kind::Call(call) = &prog.kind
        && let Some((_, op)) = call.comparison
        && let [a, b] = call.args.as_slice()
    {
        let found = match (a.as_column(), b.as_column()) {
            (Some(c), None) if b.is_run_constant() => Some((c, op, b)),
            (None, Some(c)) if a.is_run_constant() => Some((c, op.commuted(), a)),
            _ => None,
        };
        if let Some((column, op, rhs)) = found {
            let rhs = match &rhs.kind {
                Kind::Const(d) => Kind::Const(d.clone()),
                Kind::ExternParam(n) => Kind::ExternParam(*n),
                Kind::ExecParam(n) => Kind::ExecParam(*n),
                _ => return Cond::General(prog),
            };
            let rhs =
                Prog { kind: rhs, phys: prog.phys, ty: prog.ty, volatile: false, fallible: false };
            return Cond::Column { column, op, rhs, whole: prog };
        }
    }
    Cond::General(prog)
}

/// Positions for which a boolean program is true.
fn general(prog: &Prog, run: &mut Run, batch: &Batch, sel: Option<&[u16]>) -> Result<Vec<u16>> {
    let all = || (0..batch.len as u16).collect::<Vec<u16>>();
    Ok(match prog.eval_batch(run, batch, sel)? {
        Vector::Const(Datum::Bool(true)) => sel.map_or_else(all, <[u16]>::to_vec),
        Vector::Const(_) => Vec::new(),
        Vector::Column(c) => match &c.data {
            ColumnData::Bool(b) => pick(b, |x| x, c.nulls.as_ref(), sel),
            _ => Vec::new(),
        },
    })
}

/// Positions whose value passes, without branches.
#[inline(always)]
fn pick<T: Copy>(
    values: &[T],
    pass: impl Fn(T) -> bool,
    nulls: Option<&Bitmap>,
    sel: Option<&[u16]>,
) -> Vec<u16> {
    let most = sel.map_or(values.len(), <[u16]>::len);
    let mut out = vec![0u16; most];
    let mut n = 0;
    match (sel, nulls) {
        (None, None) => {
            for (i, v) in values.iter().enumerate() {
                out[n] = i as u16;
                n += pass(*v) as usize;
            }
        }
        (None, Some(nulls)) => {
            for (i, v) in values.iter().enumerate() {
                out[n] = i as u16;
                n += (pass(*v) && !nulls.get(i)) as usize;
            }
        }
        (Some(sel), nulls) => {
            for &i in sel {
                out[n] = i;
                let null = nulls.is_some_and(|m| m.get(i as usize));
                n += (pass(values[i as usize]) && !null) as usize;
            }
        }
    }
    out.truncate(n);
    out
}

/// The kernel for this column, if there is one.
fn compare(
    batch: &Batch,
    column: usize,
    op: CmpOp,
    value: &Datum,
    sel: Option<&[u16]>,
) -> Option<Vec<u16>> {
    let c = &batch.columns[column];
    let nulls = c.nulls.as_ref();
    macro_rules! ints {
        ($v:ident, $t:ty) => {{
            let wide = int_value(value)?;
            match <$t>::try_from(wide) {
                Ok(k) => by_op($v, op, k, nulls, sel),
                Err(_) => out_of_range($v, op, wide > 0, nulls, sel),
            }
        }};
    }
    if value.is_null() {
        return Some(Vec::new());
    }
    Some(match &c.data {
        ColumnData::I16(v) => ints!(v, i16),
        ColumnData::I32(v) => ints!(v, i32),
        ColumnData::I64(v) => ints!(v, i64),
        ColumnData::U32(v) => ints!(v, u32),
        ColumnData::F64(v) => match value {
            Datum::F64(k) if !k.is_nan() => by_float_op(v, op, *k, nulls, sel),
            _ => return None,
        },
        _ => return None,
    })
}

fn int_value(value: &Datum) -> Option<i64> {
    Some(match value {
        Datum::I16(n) => *n as i64,
        Datum::I32(n) => *n as i64,
        Datum::I64(n) => *n,
        Datum::U32(n) => *n as i64,
        _ => return None,
    })
}

#[inline(always)]
fn by_op<T: Copy + Ord>(
    v: &[T],
    op: CmpOp,
    k: T,
    nulls: Option<&Bitmap>,
    sel: Option<&[u16]>,
) -> Vec<u16> {
    match op {
        CmpOp::Eq => pick(v, |x| x == k, nulls, sel),
        CmpOp::Ne => pick(v, |x| x != k, nulls, sel),
        CmpOp::Lt => pick(v, |x| x < k, nulls, sel),
        CmpOp::Le => pick(v, |x| x <= k, nulls, sel),
        CmpOp::Gt => pick(v, |x| x > k, nulls, sel),
        CmpOp::Ge => pick(v, |x| x >= k, nulls, sel),
    }
}

/// NaN is greater than every number and equals itself.
fn by_float_op(
    v: &[f64],
    op: CmpOp,
    k: f64,
    nulls: Option<&Bitmap>,
    sel: Option<&[u16]>,
) -> Vec<u16> {
    match op {
        CmpOp::Eq => pick(v, |x| x == k, nulls, sel),
        CmpOp::Ne => pick(v, |x| x != k, nulls, sel),
        CmpOp::Lt => pick(v, |x| x < k, nulls, sel),
        CmpOp::Le => pick(v, |x| x <= k, nulls, sel),
        CmpOp::Gt => pick(v, |x| x > k || x.is_nan(), nulls, sel),
        CmpOp::Ge => pick(v, |x| x >= k || x.is_nan(), nulls, sel),
    }
}

/// The value is outside of the column's type: above it, or below.
fn out_of_range<T: Copy>(
    v: &[T],
    op: CmpOp,
    above: bool,
    nulls: Option<&Bitmap>,
    sel: Option<&[u16]>,
) -> Vec<u16> {
    let pass = match op {
        CmpOp::Eq => false,
        CmpOp::Ne => true,
        CmpOp::Lt | CmpOp::Le => above,
        CmpOp::Gt | CmpOp::Ge => !above,
    };
    pick(v, |_| pass, nulls, sel)
}
