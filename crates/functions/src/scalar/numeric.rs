//! Exact decimal numbers.

use super::float::{bucket_error, overflow as float_overflow};
use super::int::{int4_range, negative_offset};
use crate::call::FnDef;
use base::{Result, err};
use types::numeric::small::Small;
use types::numeric::{self, Kind, Numeric};
use types::{Blob, Datum};

/// The result of a number as a value.
pub(crate) fn store(n: Numeric) -> Result<Blob> {
    n.encode()
}

fn num(bytes: &[u8]) -> Numeric {
    Numeric::decode(bytes)
}

fn fast(
    a: &[u8],
    b: &[u8],
    small: fn(Small, Small) -> Option<Small>,
    full: fn(&Numeric, &Numeric) -> Numeric,
) -> Result<Blob> {
    if let (Some(x), Some(y)) = (Small::decode(a), Small::decode(b))
        && let Some(r) = small(x, y)
    {
        return Ok(r.encode());
    }
    full(&num(a), &num(b)).encode()
}

pub(crate) fn add(a: &[u8], b: &[u8]) -> Result<Blob> {
    fast(a, b, Small::add, Numeric::add)
}

pub(crate) fn sub(a: &[u8], b: &[u8]) -> Result<Blob> {
    fast(a, b, Small::sub, Numeric::sub)
}

pub(crate) fn mul(a: &[u8], b: &[u8]) -> Result<Blob> {
    fast(a, b, Small::mul, Numeric::mul)
}

const COMPARE: &[FnDef] = &[
    total!(numeric_eq(a: &[u8], b: &[u8]) -> bool { a == b || numeric::compare(a, b).is_eq() }),
    total!(numeric_ne(a: &[u8], b: &[u8]) -> bool { a != b && numeric::compare(a, b).is_ne() }),
    total!(numeric_lt(a: &[u8], b: &[u8]) -> bool { numeric::compare(a, b).is_lt() }),
    total!(numeric_le(a: &[u8], b: &[u8]) -> bool { numeric::compare(a, b).is_le() }),
    total!(numeric_gt(a: &[u8], b: &[u8]) -> bool { numeric::compare(a, b).is_gt() }),
    total!(numeric_ge(a: &[u8], b: &[u8]) -> bool { numeric::compare(a, b).is_ge() }),
    total!(numeric_cmp(a: &[u8], b: &[u8]) -> i32 { numeric::compare(a, b) as i32 }),
    row!(numeric_larger(a: &Datum, b: &Datum) {
        if numeric::compare(a.as_bytes(), b.as_bytes()).is_gt() { a } else { b }
    }),
    row!(numeric_smaller(a: &Datum, b: &Datum) {
        if numeric::compare(a.as_bytes(), b.as_bytes()).is_lt() { a } else { b }
    }),
];

const ARITHMETIC: &[FnDef] = &[
    row!(numeric_add(a: &[u8], b: &[u8]) { add(a, b) }),
    row!(numeric_sub(a: &[u8], b: &[u8]) { sub(a, b) }),
    row!(numeric_mul(a: &[u8], b: &[u8]) { mul(a, b) }),
    row!(numeric_div(a: &[u8], b: &[u8]) { num(a).div(&num(b)).and_then(store) }),
    row!(numeric_div_trunc(a: &[u8], b: &[u8]) { num(a).div_trunc(&num(b)).and_then(store) }),
    row!(numeric_mod(a: &[u8], b: &[u8]) { num(a).rem(&num(b)).and_then(store) }),
    row!(numeric_uminus(a: &[u8]) { store(num(a).neg()) }),
    row!(numeric_uplus(a: &Datum) { a }),
    row!(numeric_abs(a: &[u8]) { store(num(a).abs()) }),
    row!(numeric_sign(a: &[u8]) {
        let n = num(a);
        store(if n.is_nan() { n } else { Numeric::from(n.signum() as i64) })
    }),
    row!(numeric_inc(a: &[u8]) { store(num(a).add(&Numeric::from(1i64))) }),
    row!(numeric_round(a: &[u8], scale: i32) {
        store(num(a).round(scale.clamp(-200_000, numeric::DSCALE_MAX)))
    }),
    row!("1708"(a: &[u8]) { store(num(a).round(0)) }),
    row!(numeric_trunc(a: &[u8], scale: i32) {
        store(num(a).trunc(scale.clamp(-200_000, numeric::DSCALE_MAX)))
    }),
    row!("1710"(a: &[u8]) { store(num(a).trunc(0)) }),
    row!(numeric_ceil(a: &[u8]) { store(num(a).ceil()) }),
    row!(numeric_floor(a: &[u8]) { store(num(a).floor()) }),
    row!(numeric_sqrt(a: &[u8]) { num(a).sqrt().and_then(store) }),
    row!(numeric_exp(a: &[u8]) { num(a).exp().and_then(store) }),
    row!(numeric_ln(a: &[u8]) { num(a).ln().and_then(store) }),
    row!(numeric_log(base: &[u8], a: &[u8]) { num(a).log(&num(base)).and_then(store) }),
    row!("1741"(a: &[u8]) { num(a).log(&Numeric::from(10i64)).and_then(store) }),
    row!("1481"(a: &[u8]) { num(a).log(&Numeric::from(10i64)).and_then(store) }),
    row!(numeric_power(a: &[u8], b: &[u8]) { num(a).power(&num(b)).and_then(store) }),
    row!(numeric_fac(n: i64) { factorial(n) }),
    row!(numeric_gcd(a: &[u8], b: &[u8]) { gcd(num(a), num(b)).and_then(store) }),
    row!(numeric_lcm(a: &[u8], b: &[u8]) { lcm(num(a), num(b)).and_then(store) }),
    row!(numeric_scale(a: &[u8]) {
        let n = num(a);
        n.is_finite().then_some(n.dscale)
    }),
    row!(numeric_min_scale(a: &[u8]) {
        let n = num(a);
        n.is_finite().then(|| n.min_scale())
    }),
    row!(numeric_trim_scale(a: &[u8]) {
        let mut n = num(a);
        n.dscale = n.min_scale();
        store(n)
    }),
    row!(numeric(a: &[u8], typmod: i32) { numeric::apply_typmod(num(a), typmod).and_then(store) }),
    row!(width_bucket_numeric(v: &[u8], low: &[u8], high: &[u8], count: i32) {
        width_bucket(&num(v), &num(low), &num(high), count)
    }),
    row!(in_range_numeric_numeric(v: &[u8], base: &[u8], offset: &[u8], sub: bool, less: bool) {
        in_range(&num(v), &num(base), &num(offset), sub, less)
    }),
];

const CASTS: &[FnDef] = &[
    row!(int2_numeric(a: i16) { numeric::small::from_i64(a as i64) }),
    row!(int4_numeric(a: i32) { numeric::small::from_i64(a as i64) }),
    row!(int8_numeric(a: i64) { numeric::small::from_i64(a) }),
    checked!(numeric_int2(a: &[u8]) -> i16 { numeric::to_int(a, "smallint") }),
    checked!(numeric_int4(a: &[u8]) -> i32 { numeric::to_int(a, "integer") }),
    checked!(numeric_int8(a: &[u8]) -> i64 { numeric::to_int(a, "bigint") }),
    row!(float4_numeric(a: f32) { store(numeric::from_f32(a)) }),
    row!(float8_numeric(a: f64) { store(numeric::from_f64(a)) }),
    checked!(numeric_float8(a: &[u8]) -> f64 {
        numeric::stored_to_f64(a).map_err(|()| out_of_double(a))
    }),
    checked!(numeric_float4(a: &[u8]) -> f32 {
        let n = num(a);
        if !n.is_finite() {
            return numeric::to_f64(&n).map(|x| x as f32).map_err(|()| float_overflow());
        }
        types::io::parse_f32(&n.to_string())
    }),
];

#[cold]
fn out_of_double(a: &[u8]) -> base::Error {
    let text = num(a).to_string();
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "\"{text}\" is out of range for type double precision")
}

fn factorial(n: i64) -> Result<Blob> {
    if n < 0 {
        return Err(err!(
            NUMERIC_VALUE_OUT_OF_RANGE,
            "factorial of a negative number is undefined"
        ));
    }
    if n > 32177 {
        return Err(err!(NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format"));
    }
    store(product(1, n.max(1))?)
}

/// Product of the integers from `low` to `high`, from halves of about the same length.
fn product(low: i64, high: i64) -> Result<Numeric> {
    base::interrupt::check()?;
    if high - low < 8 {
        return Ok((low..=high).fold(Numeric::from(1i64), |out, i| out.mul(&Numeric::from(i))));
    }
    let middle = low + (high - low) / 2;
    Ok(product(low, middle)?.mul(&product(middle + 1, high)?))
}

fn gcd(a: Numeric, b: Numeric) -> Result<Numeric> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Numeric::NAN);
    }
    let scale = a.dscale.max(b.dscale);
    let (mut a, mut b) = (a.abs(), b.abs());
    while !b.is_zero() {
        base::interrupt::check()?;
        let r = a.rem(&b)?;
        a = b;
        b = r;
    }
    a.dscale = scale;
    Ok(a)
}

fn lcm(a: Numeric, b: Numeric) -> Result<Numeric> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Numeric::NAN);
    }
    let scale = a.dscale.max(b.dscale);
    let mut out = if a.is_zero() || b.is_zero() {
        Numeric::ZERO
    } else {
        let g = gcd(a.clone(), b.clone())?;
        a.div_trunc(&g)?.mul(&b).abs()
    };
    out.dscale = scale;
    Ok(out)
}

fn width_bucket(v: &Numeric, low: &Numeric, high: &Numeric, count: i32) -> Result<i32> {
    if count <= 0 {
        return Err(bucket_error("count must be greater than zero"));
    }
    if v.is_nan() || low.is_nan() || high.is_nan() {
        return Err(bucket_error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.kind == Kind::Infinity || high.kind == Kind::Infinity {
        return Err(bucket_error("lower and upper bounds must be finite"));
    }
    let order = low.cmp_value(high);
    if order.is_eq() {
        return Err(bucket_error("lower bound cannot equal upper bound"));
    }
    let up = order.is_lt();
    let below = v.cmp_value(low);
    let above = v.cmp_value(high);
    if if up { below.is_lt() } else { below.is_gt() } {
        return Ok(0);
    }
    if if up { above.is_ge() } else { above.is_le() } {
        return count.checked_add(1).ok_or_else(int4_range);
    }
    let offset = v.sub(low).abs().mul(&Numeric::from(count as i64));
    let bucket = offset.div_trunc(&high.sub(low).abs())?;
    Ok(bucket.to_i64().unwrap_or(0) as i32 + 1)
}

fn in_range(v: &Numeric, base: &Numeric, offset: &Numeric, sub: bool, less: bool) -> Result<bool> {
    if offset.is_nan() || offset.signum() < 0 {
        return Err(negative_offset());
    }
    if v.is_nan() {
        return Ok(base.is_nan() || !less);
    }
    if base.is_nan() {
        return Ok(less);
    }
    if offset.kind == Kind::Infinity && base.kind == Kind::Infinity && base.negative != sub {
        return Ok(true);
    }
    let bound = if sub { base.sub(offset) } else { base.add(offset) };
    let order = v.cmp_value(&bound);
    Ok(if less { order.is_le() } else { order.is_ge() })
}

pub(super) const FNS: &[&[FnDef]] = &[COMPARE, ARITHMETIC, CASTS];
