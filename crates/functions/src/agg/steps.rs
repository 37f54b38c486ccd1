//! The steps of aggregates as functions of their own, over states that are arrays. Built-in
//! aggregates are run as a whole; these are for users' aggregates that are made of them, and for
//! whoever calls them.

use super::state::State;
use super::statistics::{FloatMoments, Moment, Pairs, Regression};
use crate::call::{FnCtx, FnDef};
use base::{Error, Result, bail, err};
use types::array::{ArrayRef, ElemType, make_vector};
use types::numeric::Numeric;
use types::{Datum, oid};

/// The numbers of a state of `n` floats.
fn floats(state: &Datum, n: usize, caller: &str) -> Result<Vec<Datum>> {
    let array = ArrayRef::parse(state.as_bytes())?;
    if array.dims != [n as i32] || array.has_nulls() {
        bail!(INTERNAL_ERROR, "{caller}: expected {n}-element float8 array");
    }
    array.values(&ElemType::builtin(oid::FLOAT8))
}

fn float_state(values: &[Datum]) -> Result<Datum> {
    make_vector(&ElemType::builtin(oid::FLOAT8), values)
}

fn moments(state: &Datum, result: Moment, caller: &str) -> Result<FloatMoments> {
    let mut moments = FloatMoments::new(result);
    moments.restore(&floats(state, 3, caller)?);
    Ok(moments)
}

fn float_step(cx: &mut FnCtx, args: &[Datum], caller: &str) -> Result<Datum> {
    let mut state = moments(&args[0], Moment::Average, caller)?;
    state.step(cx, &args[1..])?;
    float_state(&state.save())
}

fn float_end(cx: &mut FnCtx, args: &[Datum], result: Moment, caller: &str) -> Result<Datum> {
    moments(&args[0], result, caller)?.finish(cx)
}

fn pairs(state: &Datum, result: Regression, caller: &str) -> Result<Pairs> {
    let mut pairs = Pairs::new(result);
    pairs.restore(&floats(state, 6, caller)?);
    Ok(pairs)
}

fn pair_end(cx: &mut FnCtx, args: &[Datum], result: Regression, caller: &str) -> Result<Datum> {
    pairs(&args[0], result, caller)?.finish(cx)
}

const FLOATS: &[FnDef] = &[
    raw!(float8_accum(cx, args) { float_step(cx, args, "float8_accum") }),
    raw!(float4_accum(cx, args) { float_step(cx, args, "float4_accum") }),
    raw!(float8_combine(cx, args) {
        let mut state = moments(&args[0], Moment::Average, "float8_combine")?;
        state.merge(cx, &floats(&args[1], 3, "float8_combine")?)?;
        float_state(&state.save())
    }),
    raw!(float8_avg(cx, args) { float_end(cx, args, Moment::Average, "float8_avg") }),
    raw!(float8_var_pop(cx, args) { float_end(cx, args, Moment::VarPop, "float8_var_pop") }),
    raw!(float8_var_samp(cx, args) { float_end(cx, args, Moment::VarSamp, "float8_var_samp") }),
    raw!(float8_stddev_pop(cx, args) {
        float_end(cx, args, Moment::StddevPop, "float8_stddev_pop")
    }),
    raw!(float8_stddev_samp(cx, args) {
        float_end(cx, args, Moment::StddevSamp, "float8_stddev_samp")
    }),
];

const PAIRS: &[FnDef] = &[
    raw!(float8_regr_accum(cx, args) {
        let mut state = pairs(&args[0], Regression::Sxx, "float8_regr_accum")?;
        state.step(cx, &args[1..])?;
        float_state(&state.save())
    }),
    raw!(float8_regr_combine(cx, args) {
        let mut state = pairs(&args[0], Regression::Sxx, "float8_regr_combine")?;
        state.merge(cx, &floats(&args[1], 6, "float8_regr_combine")?)?;
        float_state(&state.save())
    }),
    raw!(float8_regr_sxx(cx, args) { pair_end(cx, args, Regression::Sxx, "float8_regr_sxx") }),
    raw!(float8_regr_syy(cx, args) { pair_end(cx, args, Regression::Syy, "float8_regr_syy") }),
    raw!(float8_regr_sxy(cx, args) { pair_end(cx, args, Regression::Sxy, "float8_regr_sxy") }),
    raw!(float8_regr_avgx(cx, args) {
        pair_end(cx, args, Regression::AvgX, "float8_regr_avgx")
    }),
    raw!(float8_regr_avgy(cx, args) {
        pair_end(cx, args, Regression::AvgY, "float8_regr_avgy")
    }),
    raw!(float8_regr_r2(cx, args) { pair_end(cx, args, Regression::R2, "float8_regr_r2") }),
    raw!(float8_regr_slope(cx, args) {
        pair_end(cx, args, Regression::Slope, "float8_regr_slope")
    }),
    raw!(float8_regr_intercept(cx, args) {
        pair_end(cx, args, Regression::Intercept, "float8_regr_intercept")
    }),
    raw!(float8_covar_pop(cx, args) {
        pair_end(cx, args, Regression::CovarPop, "float8_covar_pop")
    }),
    raw!(float8_covar_samp(cx, args) {
        pair_end(cx, args, Regression::CovarSamp, "float8_covar_samp")
    }),
    raw!(float8_corr(cx, args) { pair_end(cx, args, Regression::Corr, "float8_corr") }),
];

/// The count and the sum of a state of two integers.
fn count_and_sum(state: &Datum) -> Result<(i64, i64)> {
    let array = ArrayRef::parse(state.as_bytes())?;
    if array.dims != [2] || array.has_nulls() {
        bail!(INTERNAL_ERROR, "expected 2-element int8 array");
    }
    let values = array.values(&ElemType::builtin(oid::INT8))?;
    Ok((values[0].as_i64(), values[1].as_i64()))
}

/// The state with `n` taken in, or taken out.
fn int_step(args: &[Datum], sign: i64) -> Result<Datum> {
    let (count, sum) = count_and_sum(&args[0])?;
    // Integers of four bytes do not fill a sum of eight.
    let sum = sum.wrapping_add(sign * args[1].to_i64());
    let state = [Datum::I64(count.wrapping_add(sign)), Datum::I64(sum)];
    make_vector(&ElemType::builtin(oid::INT8), &state)
}

/// A sum that begins with nothing: the first value is the sum.
fn int_sum(args: &[Datum]) -> Datum {
    match (&args[0], &args[1]) {
        (sum, Datum::Null) => sum.clone(),
        (Datum::Null, n) => Datum::I64(n.to_i64()),
        (sum, n) => Datum::I64(sum.as_i64().wrapping_add(n.to_i64())),
    }
}

fn numeric_sum(args: &[Datum]) -> Result<Datum> {
    let n = match &args[1] {
        Datum::Null => return Ok(args[0].clone()),
        n => Numeric::from(n.to_i64()),
    };
    let sum = match &args[0] {
        Datum::Null => n,
        sum => Numeric::decode(sum.as_bytes()).add(&n),
    };
    sum.encode().map(Datum::Bytes)
}

#[cold]
fn not_in_aggregate() -> Error {
    err!(INTERNAL_ERROR, "aggregate function called in non-aggregate context")
}

const INTEGERS: &[FnDef] = &[
    raw!(int2_sum(cx, args) { int_sum(args) }),
    raw!(int4_sum(cx, args) { int_sum(args) }),
    raw!(int8_sum(cx, args) { numeric_sum(args) }),
    raw!(int2_avg_accum(cx, args) { int_step(args, 1) }),
    raw!(int4_avg_accum(cx, args) { int_step(args, 1) }),
    raw!(int2_avg_accum_inv(cx, args) { int_step(args, -1) }),
    raw!(int4_avg_accum_inv(cx, args) { int_step(args, -1) }),
    raw!(int4_avg_combine(cx, args) { Err::<Datum, _>(not_in_aggregate()) }),
    raw!(int8_avg(cx, args) {
        match count_and_sum(&args[0])? {
            (0, _) => Datum::Null,
            (n, sum) => Datum::Bytes(Numeric::from(sum).div(&Numeric::from(n))?.encode()?),
        }
    }),
    raw!(int2int4_sum(cx, args) {
        match count_and_sum(&args[0])? {
            (0, _) => Datum::Null,
            (_, sum) => Datum::I64(sum),
        }
    }),
];

pub(crate) const FNS: &[&[FnDef]] = &[FLOATS, PAIRS, INTEGERS];
