//! Calls of functions.

use super::batch::Vector;
use super::qual::{CmpClass, CmpOp};
use super::{Prog, RowInput};
use crate::run::Run;
use base::{Oid, Result, bail, err};
use functions::{Arg, CallInfo, FnCtx, FnEntry, Rows};
use ir::SqlValueOp;
use std::sync::Arc;
use types::{Batch, ColumnBuilder, Datum, PhysType};

/// A function as one place of a plan calls it.
pub(crate) struct Callee {
    /// None: not built in, the session runs it.
    pub entry: Option<&'static FnEntry>,
    pub strict: bool,
    pub info: CallInfo,
    /// How the result is held.
    pub phys: PhysType,
    /// Which of the run's call states it has; 0 is for those that keep nothing.
    pub state: u32,
}

impl Callee {
    /// Calls it; NULL arguments of a strict function are the caller's to handle.
    #[inline]
    pub fn invoke(&self, run: &mut Run, args: &[Datum]) -> Result<Datum> {
        let env = run.env;
        match self.entry {
            Some(entry) => {
                let state = run.call_state(self.state);
                let mut cx = FnCtx { env, call: &self.info, state };
                let value = (entry.row)(&mut cx, args)?;
                functions::check_held(&cx, &value, self.phys)?;
                Ok(value)
            }
            None => match env.call_session_fn(&self.info, args) {
                Some(value) => value,
                None => env.catalog().call_user_function(self.info.fn_oid, args),
            },
        }
    }

    /// Calls it unless it is strict and an argument is NULL.
    #[inline]
    pub fn call(&self, run: &mut Run, args: &[Datum]) -> Result<Datum> {
        if self.strict && args.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        self.invoke(run, args)
    }
}

/// A call with its arguments.
pub(crate) struct Call {
    pub callee: Callee,
    pub args: Vec<Prog>,
    /// It compares values of fixed width, by this.
    pub comparison: Option<(CmpClass, CmpOp)>,
}

impl std::ops::Deref for Call {
    type Target = Callee;
    fn deref(&self) -> &Callee {
        &self.callee
    }
}

impl Call {
    /// The value for one row.
    #[inline]
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        match self.args.as_slice() {
            [a, b] => {
                let args = [a.eval(run, input)?, b.eval(run, input)?];
                if let (Some((CmpClass::Int, op)), false, false) =
                    (self.comparison, args[0].is_null(), args[1].is_null())
                {
                    let order = args[0].to_i64().cmp(&args[1].to_i64());
                    return Ok(Datum::Bool(op.holds(order)));
                }
                self.callee.call(run, &args)
            }
            [a] => {
                let args = [a.eval(run, input)?];
                self.callee.call(run, &args)
            }
            args => {
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(arg.eval(run, input)?);
                }
                self.callee.call(run, &values)
            }
        }
    }

    /// IS DISTINCT FROM.
    pub fn eval_distinct(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let args = [self.args[0].eval(run, input)?, self.args[1].eval(run, input)?];
        Ok(Datum::Bool(match (args[0].is_null(), args[1].is_null()) {
            (true, true) => false,
            (false, false) => !self.callee.invoke(run, &args)?.as_bool(),
            _ => true,
        }))
    }

    /// NULLIF.
    pub fn eval_null_if(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let args = [self.args[0].eval(run, input)?, self.args[1].eval(run, input)?];
        if args[0].is_null() || args[1].is_null() {
            return Ok(args[0].clone());
        }
        let equal = self.callee.invoke(run, &args)?.as_bool();
        let [first, _] = args;
        Ok(if equal { Datum::Null } else { first })
    }

    /// The values for the selected rows of a batch.
    pub fn eval_batch(
        &self,
        run: &mut Run,
        batch: &Batch,
        sel: Option<&[u16]>,
        phys: PhysType,
    ) -> Result<Vector> {
        let mut values = Vec::with_capacity(self.args.len());
        for arg in &self.args {
            values.push(arg.eval_batch(run, batch, sel)?);
        }
        let Some(entry) = self.callee.entry else {
            return self.loop_rows(run, &values, batch, sel, phys);
        };
        if values.iter().all(|v| matches!(v, Vector::Const(_))) {
            // Nothing depends on the rows; but without rows there must be no error either.
            if sel.map_or(batch.len, <[u16]>::len) == 0 {
                return Ok(Vector::Const(Datum::Null));
            }
            let args: Vec<Datum> = values.iter().map(|v| v.get(0)).collect();
            return Ok(Vector::Const(self.callee.call(run, &args)?));
        }
        let args: Vec<Arg> = values.iter().map(as_arg).collect();
        let mut out = ColumnBuilder::with_capacity(phys, batch.len);
        let env = run.env;
        let state = run.call_state(self.callee.state);
        let mut cx = FnCtx { env, call: &self.callee.info, state };
        entry.call_batch(&mut cx, &args, Rows { len: batch.len, sel }, &mut out)?;
        Ok(Vector::Column(Arc::new(out.finish())))
    }

    fn loop_rows(
        &self,
        run: &mut Run,
        args: &[Vector],
        batch: &Batch,
        sel: Option<&[u16]>,
        phys: PhysType,
    ) -> Result<Vector> {
        let mut out = super::batch::sized(phys, batch.len);
        let mut values = vec![Datum::Null; args.len()];
        super::batch::try_each(sel, batch.len, |i| {
            for (value, arg) in values.iter_mut().zip(args) {
                *value = arg.get(i);
            }
            out.set(i, &self.callee.call(run, &values)?);
            Ok(())
        })?;
        Ok(Vector::Column(Arc::new(out.finish())))
    }
}

/// A vector as an argument of a kernel.
pub(crate) fn as_arg(v: &Vector) -> Arg<'_> {
    match v {
        Vector::Column(c) => Arg::Column(c),
        Vector::Const(d) => Arg::Const(d),
    }
}

/// Calls a built-in function by OID, for what the executor itself needs.
pub(crate) fn call_builtin(run: &mut Run, oid: u32, args: &[Datum]) -> Result<Datum> {
    let entry = functions::lookup(Oid(oid))
        .ok_or_else(|| err!(INTERNAL_ERROR, "cache lookup failed for function {oid}"))?;
    let info = CallInfo::of(Oid(oid));
    let env = run.env;
    let mut state = functions::CallState::default();
    entry.call(&mut FnCtx { env, call: &info, state: &mut state }, args)
}

/// CURRENT_DATE and its kind; the numbers are OIDs of the casts that PostgreSQL applies to now().
pub(crate) fn sql_value(run: &mut Run, op: SqlValueOp, typmod: i32) -> Result<Datum> {
    let now = Datum::I64(run.env.transaction_timestamp());
    let (value, scale) = match op {
        SqlValueOp::CurrentDate => return call_builtin(run, 1178, &[now]),
        SqlValueOp::CurrentTimestamp => (now, 1967),
        SqlValueOp::LocalTimestamp => (call_builtin(run, 2027, &[now])?, 1961),
        SqlValueOp::CurrentTime => (call_builtin(run, 1388, &[now])?, 1969),
        SqlValueOp::LocalTime => (call_builtin(run, 2019, &[now])?, 1968),
        SqlValueOp::CurrentRole | SqlValueOp::CurrentUser | SqlValueOp::User => {
            return call_builtin(run, 745, &[]);
        }
        SqlValueOp::SessionUser => return call_builtin(run, 746, &[]),
        SqlValueOp::CurrentCatalog => return call_builtin(run, 861, &[]),
        SqlValueOp::CurrentSchema => return call_builtin(run, 1402, &[]),
    };
    if typmod < 0 { Ok(value) } else { call_builtin(run, scale, &[value, Datum::I32(typmod)]) }
}

/// The next value of an identity column's sequence.
/// `nextval`
const NEXTVAL: Oid = Oid(1574);

pub(crate) fn next_value(run: &mut Run, sequence: Oid, ty: Oid) -> Result<Datum> {
    let entry = functions::lookup(NEXTVAL)
        .ok_or_else(|| err!(INTERNAL_ERROR, "cache lookup failed for function {NEXTVAL}"))?;
    // Without types of arguments: rights on the sequence are not asked for.
    let info = CallInfo { arg_types: Vec::new(), ..CallInfo::of(NEXTVAL) };
    let mut state = functions::CallState::default();
    let mut cx = FnCtx { env: run.env, call: &info, state: &mut state };
    let value = entry.call(&mut cx, &[Datum::U32(sequence.0)])?.as_i64();
    match ty {
        types::oid::INT8 => Ok(Datum::I64(value)),
        types::oid::INT4 => match i32::try_from(value) {
            Ok(v) => Ok(Datum::I32(v)),
            Err(_) => bail!(NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"),
        },
        types::oid::INT2 => match i16::try_from(value) {
            Ok(v) => Ok(Datum::I16(v)),
            Err(_) => bail!(NUMERIC_VALUE_OUT_OF_RANGE, "smallint out of range"),
        },
        _ => bail!(INTERNAL_ERROR, "unsupported sequence type {}", ty),
    }
}
