//! Floating point: comparison with NaN above all, arithmetic with range checks, functions.

use super::int::{division_by_zero, int2_range, int4_range, int8_range, negative_offset};
use crate::call::FnDef;
use base::{Error, Result, err};
use std::f64::consts::PI;
use types::compare::compare_f64;

#[cold]
pub(crate) fn overflow() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

#[cold]
pub(crate) fn underflow() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

#[cold]
fn input_range() -> Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

#[inline(always)]
fn checked_inf(r: f64, inputs_infinite: bool) -> Result<f64> {
    if r.is_infinite() && !inputs_infinite { Err(overflow()) } else { Ok(r) }
}

#[inline(always)]
pub(crate) fn add(a: f64, b: f64) -> Result<f64> {
    checked_inf(a + b, a.is_infinite() || b.is_infinite())
}

#[inline(always)]
pub(crate) fn sub(a: f64, b: f64) -> Result<f64> {
    checked_inf(a - b, a.is_infinite() || b.is_infinite())
}

#[inline(always)]
pub(crate) fn mul(a: f64, b: f64) -> Result<f64> {
    let r = a * b;
    if r == 0.0 && a != 0.0 && b != 0.0 {
        return Err(underflow());
    }
    checked_inf(r, a.is_infinite() || b.is_infinite())
}

#[inline(always)]
pub(crate) fn div(a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    let r = a / b;
    if r == 0.0 && a != 0.0 && !b.is_infinite() {
        return Err(underflow());
    }
    checked_inf(r, a.is_infinite())
}

/// Brings a result of two reals back to a real.
#[inline(always)]
fn real(r: f64, inputs_infinite: bool, zero_ok: bool) -> Result<f32> {
    let narrow = r as f32;
    if narrow.is_infinite() && !inputs_infinite {
        return Err(overflow());
    }
    if narrow == 0.0 && !zero_ok {
        return Err(underflow());
    }
    Ok(narrow)
}

macro_rules! compare {
    ($a:ty, $b:ty; $eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident $cmp:ident) => {
        &[
            total!($eq(a: $a, b: $b) -> bool { compare_f64(a as f64, b as f64).is_eq() }),
            total!($ne(a: $a, b: $b) -> bool { compare_f64(a as f64, b as f64).is_ne() }),
            total!($lt(a: $a, b: $b) -> bool { compare_f64(a as f64, b as f64).is_lt() }),
            total!($le(a: $a, b: $b) -> bool { compare_f64(a as f64, b as f64).is_le() }),
            total!($gt(a: $a, b: $b) -> bool { compare_f64(a as f64, b as f64).is_gt() }),
            total!($ge(a: $a, b: $b) -> bool { compare_f64(a as f64, b as f64).is_ge() }),
            total!($cmp(a: $a, b: $b) -> i32 { compare_f64(a as f64, b as f64) as i32 }),
        ]
    };
}

const F8: &[FnDef] = compare!(f64, f64; float8eq float8ne float8lt float8le float8gt float8ge
    btfloat8cmp);
const F4: &[FnDef] = compare!(f32, f32; float4eq float4ne float4lt float4le float4gt float4ge
    btfloat4cmp);
const F48: &[FnDef] = compare!(f32, f64; float48eq float48ne float48lt float48le float48gt
    float48ge btfloat48cmp);
const F84: &[FnDef] = compare!(f64, f32; float84eq float84ne float84lt float84le float84gt
    float84ge btfloat84cmp);

const ARITHMETIC: &[FnDef] = &[
    checked!(float8pl(a: f64, b: f64) -> f64 { add(a, b) }),
    checked!(float8mi(a: f64, b: f64) -> f64 { sub(a, b) }),
    checked!(float8mul(a: f64, b: f64) -> f64 { mul(a, b) }),
    checked!(float8div(a: f64, b: f64) -> f64 { div(a, b) }),
    checked!(float48pl(a: f32, b: f64) -> f64 { add(a as f64, b) }),
    checked!(float48mi(a: f32, b: f64) -> f64 { sub(a as f64, b) }),
    checked!(float48mul(a: f32, b: f64) -> f64 { mul(a as f64, b) }),
    checked!(float48div(a: f32, b: f64) -> f64 { div(a as f64, b) }),
    checked!(float84pl(a: f64, b: f32) -> f64 { add(a, b as f64) }),
    checked!(float84mi(a: f64, b: f32) -> f64 { sub(a, b as f64) }),
    checked!(float84mul(a: f64, b: f32) -> f64 { mul(a, b as f64) }),
    checked!(float84div(a: f64, b: f32) -> f64 { div(a, b as f64) }),
    checked!(float4pl(a: f32, b: f32) -> f32 {
        real((a + b) as f64, a.is_infinite() || b.is_infinite(), true)
    }),
    checked!(float4mi(a: f32, b: f32) -> f32 {
        real((a - b) as f64, a.is_infinite() || b.is_infinite(), true)
    }),
    checked!(float4mul(a: f32, b: f32) -> f32 {
        real((a * b) as f64, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
    }),
    checked!(float4div(a: f32, b: f32) -> f32 {
        if b == 0.0 && !a.is_nan() {
            return Err(division_by_zero());
        }
        real((a / b) as f64, a.is_infinite(), a == 0.0 || b.is_infinite())
    }),
    total!(float8um(a: f64) -> f64 { -a }),
    total!(float8up(a: f64) -> f64 { a }),
    total!(float8abs(a: f64) -> f64 { a.abs() }),
    total!(float4um(a: f32) -> f32 { -a }),
    total!(float4up(a: f32) -> f32 { a }),
    total!(float4abs(a: f32) -> f32 { a.abs() }),
    total!(float8larger(a: f64, b: f64) -> f64 { if compare_f64(a, b).is_gt() { a } else { b } }),
    total!(float8smaller(a: f64, b: f64) -> f64 { if compare_f64(a, b).is_lt() { a } else { b } }),
    total!(float4larger(a: f32, b: f32) -> f32 {
        if compare_f64(a as f64, b as f64).is_gt() { a } else { b }
    }),
    total!(float4smaller(a: f32, b: f32) -> f32 {
        if compare_f64(a as f64, b as f64).is_lt() { a } else { b }
    }),
];

fn to_int(x: f64, low: f64, high: f64, range: fn() -> Error) -> Result<i64> {
    let r = x.round_ties_even();
    if r >= low && r < high { Ok(r as i64) } else { Err(range()) }
}

const CASTS: &[FnDef] = &[
    total!(ftod(a: f32) -> f64 { a as f64 }),
    checked!(dtof(a: f64) -> f32 {
        let r = a as f32;
        if r.is_infinite() && !a.is_infinite() {
            return Err(overflow());
        }
        if r == 0.0 && a != 0.0 {
            return Err(underflow());
        }
        Ok(r)
    }),
    total!(i2tod(a: i16) -> f64 { a as f64 }),
    total!(i4tod(a: i32) -> f64 { a as f64 }),
    total!(i8tod(a: i64) -> f64 { a as f64 }),
    total!(i2tof(a: i16) -> f32 { a as f32 }),
    total!(i4tof(a: i32) -> f32 { a as f32 }),
    total!(i8tof(a: i64) -> f32 { a as f32 }),
    checked!(dtoi2(a: f64) -> i16 { to_int(a, -32768.0, 32768.0, int2_range).map(|n| n as i16) }),
    checked!(dtoi4(a: f64) -> i32 {
        to_int(a, -2_147_483_648.0, 2_147_483_648.0, int4_range).map(|n| n as i32)
    }),
    checked!(dtoi8(a: f64) -> i64 {
        to_int(a, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0, int8_range)
    }),
    checked!(ftoi2(a: f32) -> i16 {
        to_int(a as f64, -32768.0, 32768.0, int2_range).map(|n| n as i16)
    }),
    checked!(ftoi4(a: f32) -> i32 {
        to_int(a as f64, -2_147_483_648.0, 2_147_483_648.0, int4_range).map(|n| n as i32)
    }),
    checked!(ftoi8(a: f32) -> i64 {
        to_int(a as f64, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0, int8_range)
    }),
];

fn power(a: f64, b: f64) -> Result<f64> {
    if a.is_nan() {
        return Ok(if b == 0.0 { 1.0 } else { f64::NAN });
    }
    if b.is_nan() {
        return Ok(if a == 1.0 { 1.0 } else { f64::NAN });
    }
    if a == 0.0 && b < 0.0 {
        return Err(err!(
            INVALID_ARGUMENT_FOR_POWER_FUNCTION,
            "zero raised to a negative power is undefined"
        ));
    }
    if a < 0.0 && b.floor() != b {
        return Err(err!(
            INVALID_ARGUMENT_FOR_POWER_FUNCTION,
            "a negative number raised to a non-integer power yields a complex result"
        ));
    }
    let r = a.powf(b);
    if a.is_infinite() || b.is_infinite() {
        return Ok(r);
    }
    if r.is_infinite() {
        return Err(overflow());
    }
    if r == 0.0 && a != 0.0 {
        return Err(underflow());
    }
    Ok(r)
}

fn logarithm(a: f64, f: fn(f64) -> f64) -> Result<f64> {
    if a == 0.0 {
        return Err(err!(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of zero"));
    }
    if a < 0.0 {
        return Err(err!(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of a negative number"));
    }
    Ok(f(a))
}

const MATH: &[FnDef] = &[
    total!(dround(a: f64) -> f64 { a.round_ties_even() }),
    total!(dceil(a: f64) -> f64 { a.ceil() }),
    total!(dfloor(a: f64) -> f64 { a.floor() }),
    total!(dtrunc(a: f64) -> f64 { a.trunc() }),
    total!(dsign(a: f64) -> f64 {
        if a > 0.0 { 1.0 } else if a < 0.0 { -1.0 } else { 0.0 }
    }),
    checked!(dsqrt(a: f64) -> f64 {
        if a < 0.0 {
            return Err(err!(
                INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                "cannot take square root of a negative number"
            ));
        }
        Ok(a.sqrt())
    }),
    total!(dcbrt(a: f64) -> f64 { types::math::cbrt(a) }),
    checked!(dpow(a: f64, b: f64) -> f64 { power(a, b) }),
    checked!(dexp(a: f64) -> f64 {
        let r = a.exp();
        if a.is_infinite() || a.is_nan() {
            return Ok(r);
        }
        if r.is_infinite() {
            return Err(overflow());
        }
        if r == 0.0 {
            return Err(underflow());
        }
        Ok(r)
    }),
    checked!(dlog1(a: f64) -> f64 { logarithm(a, f64::ln) }),
    checked!(dlog10(a: f64) -> f64 { logarithm(a, f64::log10) }),
    checked!(dacos(a: f64) -> f64 { unit(a, f64::acos) }),
    checked!(dasin(a: f64) -> f64 { unit(a, f64::asin) }),
    total!(datan(a: f64) -> f64 { a.atan() }),
    total!(datan2(a: f64, b: f64) -> f64 { a.atan2(b) }),
    checked!(dcos(a: f64) -> f64 { finite(a, f64::cos) }),
    checked!(dsin(a: f64) -> f64 { finite(a, f64::sin) }),
    checked!(dtan(a: f64) -> f64 { finite(a, f64::tan) }),
    checked!(dcot(a: f64) -> f64 { finite(a, |x| 1.0 / x.tan()) }),
    total!(dsinh(a: f64) -> f64 { a.sinh() }),
    total!(dcosh(a: f64) -> f64 { a.cosh() }),
    total!(dtanh(a: f64) -> f64 { a.tanh() }),
    total!(dasinh(a: f64) -> f64 { types::math::asinh(a) }),
    checked!(dacosh(a: f64) -> f64 {
        if a < 1.0 { Err(input_range()) } else { Ok(types::math::acosh(a)) }
    }),
    checked!(datanh(a: f64) -> f64 {
        if !(-1.0..=1.0).contains(&a) && !a.is_nan() {
            return Err(input_range());
        }
        Ok(if a == 1.0 {
            f64::INFINITY
        } else if a == -1.0 {
            f64::NEG_INFINITY
        } else {
            types::math::atanh(a)
        })
    }),
    checked!(degrees(a: f64) -> f64 { div(a, PI / 180.0) }),
    checked!(radians(a: f64) -> f64 { mul(a, PI / 180.0) }),
    row!(dpi() { PI }),
    checked!(dsind(a: f64) -> f64 { finite(a, sind) }),
    checked!(dcosd(a: f64) -> f64 { finite(a, cosd) }),
    checked!(dtand(a: f64) -> f64 { finite(a, tand) }),
    checked!(dcotd(a: f64) -> f64 { finite(a, cotd) }),
    checked!(dasind(a: f64) -> f64 { unit(a, asind) }),
    checked!(dacosd(a: f64) -> f64 { unit(a, acosd) }),
    total!(datand(a: f64) -> f64 { a.atan() / 1f64.atan() * 45.0 }),
    total!(datan2d(a: f64, b: f64) -> f64 { a.atan2(b) / 1f64.atan() * 45.0 }),
    total!(derf(a: f64) -> f64 { super::special::erf(a) }),
    total!(derfc(a: f64) -> f64 { super::special::erfc(a) }),
    checked!(dgamma(a: f64) -> f64 { super::special::gamma(a) }),
    checked!(dlgamma(a: f64) -> f64 { super::special::lgamma(a) }),
    row!(in_range_float8_float8(v: f64, base: f64, offset: f64, sub: bool, less: bool) {
        in_range(v, base, offset, sub, less)
    }),
    row!(in_range_float4_float8(v: f32, base: f32, offset: f64, sub: bool, less: bool) {
        in_range(v as f64, base as f64, offset, sub, less)
    }),
    row!(width_bucket_float8(v: f64, low: f64, high: f64, count: i32) {
        width_bucket(v, low, high, count)
    }),
];

fn unit(a: f64, f: fn(f64) -> f64) -> Result<f64> {
    if a.is_nan() {
        return Ok(a);
    }
    if !(-1.0..=1.0).contains(&a) { Err(input_range()) } else { Ok(f(a)) }
}

fn finite(a: f64, f: fn(f64) -> f64) -> Result<f64> {
    if a.is_nan() {
        return Ok(a);
    }
    if a.is_infinite() { Err(input_range()) } else { Ok(f(a)) }
}

/// Sine of degrees from 0 to 30 and the like, exact at 30.
fn sind_small(x: f64) -> f64 {
    (x * (PI / 180.0)).sin() / (30.0 * (PI / 180.0)).sin() / 2.0
}

fn cosd_small(x: f64) -> f64 {
    let one_minus = 1.0 - (x * (PI / 180.0)).cos();
    1.0 - one_minus / (1.0 - (60.0 * (PI / 180.0)).cos()) / 2.0
}

fn sind_first(x: f64) -> f64 {
    if x <= 30.0 { sind_small(x) } else { cosd_small(90.0 - x) }
}

fn cosd_first(x: f64) -> f64 {
    if x <= 60.0 { cosd_small(x) } else { sind_small(90.0 - x) }
}

fn sind(a: f64) -> f64 {
    let mut x = a % 360.0;
    let mut sign = 1.0;
    if x < 0.0 {
        x = -x;
        sign = -sign;
    }
    if x > 180.0 {
        x = 360.0 - x;
        sign = -sign;
    }
    if x > 90.0 {
        x = 180.0 - x;
    }
    sign * sind_first(x)
}

fn cosd(a: f64) -> f64 {
    let mut x = (a % 360.0).abs();
    let mut sign = 1.0;
    if x > 180.0 {
        x = 360.0 - x;
    }
    if x > 90.0 {
        x = 180.0 - x;
        sign = -sign;
    }
    sign * cosd_first(x)
}

/// Brings an angle to the first quadrant; answers it and the sign of its tangent.
fn tangent_angle(a: f64) -> (f64, f64) {
    let mut x = a % 360.0;
    let mut sign = 1.0;
    if x < 0.0 {
        x = -x;
        sign = -sign;
    }
    if x > 180.0 {
        x = 360.0 - x;
        sign = -sign;
    }
    if x > 90.0 {
        x = 180.0 - x;
        sign = -sign;
    }
    (x, sign)
}

fn tand(a: f64) -> f64 {
    let (x, sign) = tangent_angle(a);
    let r = sign * ((sind_first(x) / cosd_first(x)) / (sind_first(45.0) / cosd_first(45.0)));
    if r == 0.0 { 0.0 } else { r }
}

fn cotd(a: f64) -> f64 {
    let (x, sign) = tangent_angle(a);
    let r = sign * ((cosd_first(x) / sind_first(x)) / (cosd_first(45.0) / sind_first(45.0)));
    if r == 0.0 { 0.0 } else { r }
}

fn asind_first(x: f64) -> f64 {
    if x <= 0.5 { x.asin() / 0.5f64.asin() * 30.0 } else { 90.0 - x.acos() / 0.5f64.acos() * 60.0 }
}

fn acosd_first(x: f64) -> f64 {
    if x <= 0.5 { 90.0 - x.asin() / 0.5f64.asin() * 30.0 } else { x.acos() / 0.5f64.acos() * 60.0 }
}

fn asind(a: f64) -> f64 {
    if a >= 0.0 { asind_first(a) } else { -asind_first(-a) }
}

fn acosd(a: f64) -> f64 {
    if a >= 0.0 { acosd_first(a) } else { 90.0 + asind_first(-a) }
}

fn in_range(v: f64, base: f64, offset: f64, sub: bool, less: bool) -> Result<bool> {
    if offset.is_nan() || offset < 0.0 {
        return Err(negative_offset());
    }
    if v.is_nan() {
        return Ok(base.is_nan() || !less);
    }
    if base.is_nan() {
        return Ok(less);
    }
    if offset.is_infinite() && base.is_infinite() && (if sub { base > 0.0 } else { base < 0.0 }) {
        return Ok(true);
    }
    let bound = if sub { base - offset } else { base + offset };
    Ok(if less { v <= bound } else { v >= bound })
}

#[cold]
pub(crate) fn bucket_error(text: &str) -> Error {
    err!(INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, "{text}")
}

fn width_bucket(v: f64, low: f64, high: f64, count: i32) -> Result<i32> {
    if count <= 0 {
        return Err(bucket_error("count must be greater than zero"));
    }
    if v.is_nan() || low.is_nan() || high.is_nan() {
        return Err(bucket_error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(bucket_error("lower and upper bounds must be finite"));
    }
    if low == high {
        return Err(bucket_error("lower bound cannot equal upper bound"));
    }
    let (v, low, high) = if low < high { (v, low, high) } else { (-v, -low, -high) };
    if v.is_nan() || v >= high {
        return count.checked_add(1).ok_or_else(int4_range);
    }
    if v < low {
        return Ok(0);
    }
    let share = if (high - low).is_finite() {
        (v - low) / (high - low)
    } else {
        (v / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
    };
    Ok(((count as f64 * share) as i32).min(count - 1) + 1)
}

pub(super) const FNS: &[&[FnDef]] = &[F8, F4, F48, F84, ARITHMETIC, CASTS, MATH];
