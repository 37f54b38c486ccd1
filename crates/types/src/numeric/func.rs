//! Roots, exponentials, logarithms and powers.

use super::{DEC_DIGITS, Kind, MAX_DISPLAY_SCALE, MIN_SIG_DIGITS, Numeric, overflow};

/// No power of e beyond this one is computed, which is PostgreSQL's bound.
const EXP_MAX: f64 = 6000.0;
use base::{Error, Result, err};

/// Digits computed beyond those wanted.
const GUARD: i32 = 12;
/// PostgreSQL's figure, on which estimated digits depend.
#[allow(clippy::approx_constant)]
const LOG10_E: f64 = 0.434_294_481_903_252;
const LN_10: f64 = std::f64::consts::LN_10;

fn clamp_scale(scale: i32) -> i32 {
    scale.clamp(0, MAX_DISPLAY_SCALE)
}

fn one() -> Numeric {
    Numeric::from(1i64)
}

/// First digits as a double, and the power of ten to multiply it by; the number is not zero.
fn leading(x: &Numeric) -> (f64, i32) {
    let mut mantissa = 0.0;
    let mut power = (x.weight + 1) * DEC_DIGITS;
    for d in x.digits.iter().take(4) {
        mantissa = mantissa * 10000.0 + *d as f64;
        power -= DEC_DIGITS;
    }
    (mantissa, power)
}

/// The number `mantissa * 10^power` of a double.
fn from_parts(mantissa: f64, power: i32) -> Numeric {
    super::from_f64(mantissa).shift10(power)
}

#[cold]
fn negative_sqrt() -> Error {
    err!(INVALID_ARGUMENT_FOR_POWER_FUNCTION, "cannot take square root of a negative number")
}

impl Numeric {
    /// The square root with PostgreSQL's choice of scale.
    pub fn sqrt(&self) -> Result<Numeric> {
        match self.kind {
            Kind::NaN => return Ok(Numeric::NAN),
            _ if self.negative => return Err(negative_sqrt()),
            Kind::Infinity => return Ok(Numeric::INFINITY),
            Kind::Finite => {}
        }
        let weight = if self.weight >= 0 {
            self.weight * DEC_DIGITS / 2 + 1
        } else {
            1 - (-self.weight) * DEC_DIGITS / 2
        };
        let scale = clamp_scale((MIN_SIG_DIGITS - weight).max(self.dscale));
        Ok(self.sqrt_scale(scale))
    }

    /// The square root of a number that is not negative, to `scale` digits after the point.
    pub fn sqrt_scale(&self, scale: i32) -> Numeric {
        if self.is_zero() {
            return Numeric { dscale: scale, ..Numeric::ZERO };
        }
        if let Some(root) = self.short_root(scale) {
            return root;
        }
        // The root of a number from 0.0001 to 10000, whose digits are moved afterwards: those after
        // the point are then those that count.
        let moved = (self.weight + 1).div_euclid(2) * 2 * DEC_DIGITS;
        let small = self.clone().shift10(-moved);
        let (mut mantissa, mut power) = leading(&small);
        if power % 2 != 0 {
            mantissa *= 10.0;
            power -= 1;
        }
        let mut x = from_parts(mantissa.sqrt(), power / 2);
        // Newton's method doubles the 15 digits of the start until all are there.
        let wanted = (scale + moved / 2 + GUARD).max(15);
        let half = Numeric { weight: -1, digits: vec![5000], dscale: 1, ..Numeric::ZERO };
        let mut digits = 14;
        while digits < wanted {
            digits *= 2;
            let local = digits.min(wanted) + GUARD;
            let quotient = small.div_to(&x, local, true);
            x = x.add(&quotient).mul_scale(&half, local);
        }
        let x = x.shift10(moved / 2);
        self.nearest_root(x.round(scale))
    }

    /// The root of a number that is an integer of 128 bits when its digits are moved before the
    /// point: that of the integer, rounded by what is left over.
    fn short_root(&self, scale: i32) -> Option<Numeric> {
        // 38 digits fit.
        let digits = (self.weight + 1) * DEC_DIGITS + 2 * scale;
        if 2 * scale < self.dscale || digits > 36 {
            return None;
        }
        let n = self.clone().shift10(2 * scale).to_i128()? as u128;
        let root = n.isqrt();
        let root = root + u128::from(n - root * root > root);
        Some(Numeric { dscale: scale, ..Numeric::from(root as i128).shift10(-scale) })
    }

    /// The root to the digits that `near` has, which is off by at most one in the last of them.
    fn nearest_root(&self, near: Numeric) -> Numeric {
        let scale = near.dscale;
        let unit = Numeric { dscale: scale, ..one().shift10(-scale) };
        let half = Numeric { dscale: scale + 1, ..Numeric::from(5i64).shift10(-scale - 1) };
        let square = |x: Numeric| x.mul_scale(&x, 2 * (scale + 1));
        if square(near.sub(&half)).cmp_value(self).is_gt() {
            near.sub(&unit)
        } else if square(near.add(&half)).cmp_value(self).is_le() {
            near.add(&unit)
        } else {
            near
        }
    }

    /// e to this number, with PostgreSQL's choice of scale.
    pub fn exp(&self) -> Result<Numeric> {
        match self.kind {
            Kind::NaN => return Ok(Numeric::NAN),
            Kind::Infinity if self.negative => return Ok(Numeric::ZERO),
            Kind::Infinity => return Ok(Numeric::INFINITY),
            Kind::Finite => {}
        }
        let value = super::to_f64(self).unwrap_or(if self.negative { -1e9 } else { 1e9 });
        let digits = (value * LOG10_E).clamp(-2000.0, 2000.0);
        let scale = clamp_scale((MIN_SIG_DIGITS - digits as i32).max(self.dscale));
        self.exp_to(scale)
    }

    /// e to this number, to `scale` digits after the point.
    fn exp_to(&self, scale: i32) -> Result<Numeric> {
        let value = super::to_f64(self).unwrap_or(if self.negative { -1e9 } else { 1e9 });
        if value.abs() >= EXP_MAX {
            if value > 0.0 {
                return Err(overflow());
            }
            return Ok(Numeric { dscale: scale, ..Numeric::ZERO });
        }
        // Significant digits of the result; each squaring below doubles the relative error.
        let weight = (value * LOG10_E) as i32;
        let mut halvings = 0;
        let mut reduced = value.abs();
        while reduced > 0.01 {
            reduced /= 2.0;
            halvings += 1;
        }
        let local = (scale + weight.max(0) + GUARD + halvings).max(20);
        let divisor = power_of_two(halvings);
        let x = self.div_to(&divisor, local, true);
        let mut term = one();
        let mut sum = one();
        let mut n = 1i64;
        loop {
            base::interrupt::check()?;
            term = term.mul_scale(&x, local).div_to(&Numeric::from(n), local, true);
            if term.is_zero() {
                break;
            }
            sum = sum.add(&term);
            n += 1;
        }
        for _ in 0..halvings {
            base::interrupt::check()?;
            // The scale shrinks as the value grows: digits before the point are significant too.
            let grown = if sum.is_zero() { 0 } else { sum.decimal_exponent() };
            sum = sum.mul_scale(&sum, local - (2 * grown).clamp(0, weight.max(0)));
        }
        Ok(sum.round(scale))
    }

    /// Decimal weight of the natural logarithm.
    fn ln_weight(&self) -> i32 {
        if self.signum() <= 0 {
            return 0;
        }
        let low = Numeric { weight: -1, digits: vec![9000], ..Numeric::ZERO };
        let high = Numeric { weight: 0, digits: vec![1, 1000], ..Numeric::ZERO };
        if self.cmp_value(&low).is_ge() && self.cmp_value(&high).is_le() {
            let x = self.sub(&one());
            return match x.digits.first() {
                Some(d) => x.weight * DEC_DIGITS + (*d as f64).log10() as i32,
                None => 0,
            };
        }
        let mut digits = self.digits[0] as f64;
        let mut weight = self.weight * DEC_DIGITS;
        if let Some(second) = self.digits.get(1) {
            digits = digits * 10000.0 + *second as f64;
            weight -= DEC_DIGITS;
        }
        (digits.ln() + weight as f64 * LN_10).abs().log10() as i32
    }

    /// The natural logarithm with PostgreSQL's choice of scale.
    pub fn ln(&self) -> Result<Numeric> {
        if let Some(special) = self.log_special()? {
            return Ok(special);
        }
        let scale = clamp_scale((MIN_SIG_DIGITS - self.ln_weight()).max(self.dscale));
        self.ln_to(scale)
    }

    fn log_special(&self) -> Result<Option<Numeric>> {
        match self.kind {
            Kind::NaN => return Ok(Some(Numeric::NAN)),
            Kind::Infinity if !self.negative => return Ok(Some(Numeric::INFINITY)),
            _ => {}
        }
        match self.signum() {
            -1 => Err(err!(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of a negative number")),
            0 => Err(err!(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of zero")),
            _ => Ok(None),
        }
    }

    /// The natural logarithm of a positive number, to `scale` digits after the point.
    fn ln_to(&self, scale: i32) -> Result<Numeric> {
        let mut x = self.clone();
        let mut roots = 0;
        let local = scale + GUARD + 8;
        let low = Numeric { weight: -1, digits: vec![9000], ..Numeric::ZERO };
        let high = Numeric { weight: 0, digits: vec![1, 1000], ..Numeric::ZERO };
        while x.cmp_value(&low).is_le() || x.cmp_value(&high).is_ge() {
            let tiny = -(x.weight.min(0)) * DEC_DIGITS;
            x = x.sqrt_scale(local + tiny);
            roots += 1;
        }
        // ln x = 2 (y + y^3/3 + y^5/5 + ...) with y = (x - 1) / (x + 1).
        let y = x.sub(&one()).div_to(&x.add(&one()), local, true);
        let square = y.mul_scale(&y, local);
        let mut power = y.clone();
        let mut sum = y;
        let mut n = 3i64;
        loop {
            base::interrupt::check()?;
            power = power.mul_scale(&square, local);
            let term = power.div_to(&Numeric::from(n), local, true);
            if term.is_zero() {
                break;
            }
            sum = sum.add(&term);
            n += 2;
        }
        Ok(sum.mul(&power_of_two(roots + 1)).round(scale))
    }

    /// The logarithm to a base, with PostgreSQL's choice of scale.
    pub fn log(&self, base: &Numeric) -> Result<Numeric> {
        if base.is_nan() || self.is_nan() {
            return Ok(Numeric::NAN);
        }
        if self.signum() < 0 && (base.signum() != 0 || self.kind == Kind::Infinity) {
            self.log_special()?;
        }
        let special = (base.log_special()?, self.log_special()?);
        match special {
            (Some(_), Some(_)) => return Ok(Numeric::NAN),
            (Some(_), None) => return Ok(Numeric::ZERO),
            (None, Some(_)) => return Ok(Numeric::INFINITY),
            (None, None) => {}
        }
        let weight = self.ln_weight() - base.ln_weight();
        let scale = clamp_scale((MIN_SIG_DIGITS - weight).max(self.dscale).max(base.dscale));
        let local = scale + GUARD + self.ln_weight().abs() + base.ln_weight().abs();
        let divisor = base.ln_to(local)?;
        if divisor.is_zero() {
            return Err(super::division_by_zero());
        }
        Ok(self.ln_to(local)?.div_to(&divisor, scale, true))
    }

    /// This number to the power of another, with PostgreSQL's choice of scale.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        if let Some(special) = self.power_special(exponent)? {
            return Ok(special);
        }
        let integral = exponent.clone().trunc(0).cmp_value(exponent).is_eq();
        if integral && let Some(n) = exponent.to_i64().and_then(|n| i32::try_from(n).ok()) {
            return self.power_int(n, exponent.dscale);
        }
        if self.is_zero() {
            return Ok(Numeric { dscale: MIN_SIG_DIGITS, ..Numeric::ZERO });
        }
        let (magnitude, negative) = if self.negative {
            (self.clone().abs(), is_odd(exponent))
        } else {
            (self.clone(), false)
        };
        let (mantissa, power) = leading(&magnitude);
        let ln = mantissa.ln() + power as f64 * LN_10;
        // PostgreSQL's estimate has eight digits of it.
        let unit = 10f64.powi((8 - magnitude.ln_weight()).max(0));
        let ln = if (ln * unit).is_finite() { (ln * unit).round() / unit } else { ln };
        let value = ln * super::to_f64(exponent).unwrap_or(f64::INFINITY);
        let rounded = (value * unit).round() / unit;
        let value = if rounded.is_finite() { rounded } else { value };
        let digits = value * LOG10_E;
        // PostgreSQL's bound, with room for the estimate's error: what is further from one takes
        // too long to compute.
        if value > EXP_MAX + 20.0 {
            return Err(overflow());
        }
        if value < -EXP_MAX - 20.0 {
            return Ok(Numeric { dscale: MAX_DISPLAY_SCALE, ..Numeric::ZERO });
        }
        let scale =
            clamp_scale((MIN_SIG_DIGITS - digits as i32).max(self.dscale).max(exponent.dscale));
        // The error of the logarithm is multiplied by the exponent and by the result.
        let exponent_digits = exponent.digits.len() as i32 * DEC_DIGITS + exponent.weight.abs() * 4;
        let local = scale + (digits as i32).max(0) + exponent_digits.min(1000) + GUARD;
        let product = magnitude.ln_to(local)?.mul_scale(exponent, local);
        let mut out = product.exp_to(scale)?;
        out.negative = negative && !out.is_zero();
        Ok(out)
    }

    fn power_special(&self, exponent: &Numeric) -> Result<Option<Numeric>> {
        let is_one = |n: &Numeric| n.is_finite() && n.cmp_value(&one()).is_eq();
        if self.is_nan() {
            return Ok(Some(if exponent.is_zero() { one() } else { Numeric::NAN }));
        }
        if exponent.is_nan() {
            return Ok(Some(if is_one(self) { one() } else { Numeric::NAN }));
        }
        if self.is_zero() && exponent.negative {
            return Err(err!(
                INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                "zero raised to a negative power is undefined"
            ));
        }
        let integral =
            !exponent.is_finite() || exponent.clone().trunc(0).cmp_value(exponent).is_eq();
        if self.negative && !integral && self.signum() < 0 {
            return Err(err!(
                INVALID_ARGUMENT_FOR_POWER_FUNCTION,
                "a negative number raised to a non-integer power yields a complex result"
            ));
        }
        if self.is_finite() && exponent.is_finite() {
            return Ok(None);
        }
        if is_one(self) || exponent.is_zero() {
            return Ok(Some(one()));
        }
        if !exponent.is_finite() {
            let abs = self.clone().abs();
            return Ok(Some(match abs.cmp_value(&one()) {
                std::cmp::Ordering::Equal => one(),
                order if order.is_gt() != exponent.negative => Numeric::INFINITY,
                _ => Numeric::ZERO,
            }));
        }
        // The base is infinite.
        if exponent.negative {
            return Ok(Some(Numeric::ZERO));
        }
        let negative = self.negative && is_odd(exponent);
        Ok(Some(Numeric { negative, ..Numeric::INFINITY }))
    }

    /// This number to an integer power.
    fn power_int(&self, n: i32, exponent_dscale: i32) -> Result<Numeric> {
        if self.is_zero() {
            return Ok(if n == 0 {
                Numeric { dscale: MIN_SIG_DIGITS, ..one() }
            } else {
                Numeric { dscale: MIN_SIG_DIGITS, ..Numeric::ZERO }
            });
        }
        let (mantissa, power) = leading(self);
        let digits = n as f64 * (mantissa.log10() + power as f64);
        if digits > 3.0 * i16::MAX as f64 * DEC_DIGITS as f64 {
            return Err(overflow());
        }
        if digits + 1.0 < -(MAX_DISPLAY_SCALE as f64) {
            return Ok(Numeric { dscale: MAX_DISPLAY_SCALE, ..Numeric::ZERO });
        }
        let scale =
            clamp_scale((MIN_SIG_DIGITS - digits as i32).max(self.dscale).max(exponent_dscale));
        match n {
            0 => return Ok(Numeric { dscale: scale, ..one() }),
            1 => return Ok(self.clone().round(scale)),
            -1 => return Ok(one().div_to(self, scale, true)),
            2 => return Ok(self.mul_scale(self, scale)),
            _ => {}
        }
        // Square and multiply keeping this many significant digits, which covers the errors.
        let keep =
            digits.abs() as i32 + scale + GUARD + 2 * (n.unsigned_abs() as f64).log10() as i32;
        let trim = |x: Numeric| {
            let top = if x.is_zero() { 0 } else { x.decimal_exponent() };
            if x.digits.len() as i32 * DEC_DIGITS > keep + 8 { x.round(keep - top) } else { x }
        };
        let mut base = self.clone();
        let mut left = n.unsigned_abs();
        let mut out = one();
        while left > 0 {
            ::base::interrupt::check()?;
            if left & 1 == 1 {
                out = trim(out.mul_scale(&base, base.dscale + out.dscale));
            }
            left >>= 1;
            if left > 0 {
                base = trim(base.mul_scale(&base, base.dscale * 2));
            }
            if base.weight > 40_000 || out.weight > 40_000 {
                if n > 0 {
                    return Err(overflow());
                }
                return Ok(Numeric { dscale: scale, ..Numeric::ZERO });
            }
        }
        Ok(if n < 0 { one().div_to(&out, scale, true) } else { out.round(scale) })
    }
}

fn is_odd(n: &Numeric) -> bool {
    // The digit of weight zero holds the units.
    usize::try_from(n.weight).ok().and_then(|i| n.digits.get(i)).is_some_and(|d| d % 2 == 1)
}

fn power_of_two(n: i32) -> Numeric {
    let mut out = one();
    for _ in 0..n {
        out = out.mul_small(2);
    }
    out
}
