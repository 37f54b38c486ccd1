//! Addition, multiplication, division, comparison.

use super::{
    BASE, DEC_DIGITS, DSCALE_MAX, Kind, MAX_DISPLAY_SCALE, MIN_SIG_DIGITS, Numeric,
    division_by_zero,
    long::{div_digits, mul_digits},
};
use base::Result;
use std::cmp::Ordering;

impl Numeric {
    /// Order by value: -Infinity, numbers, Infinity, NaN.
    pub fn cmp_value(&self, other: &Numeric) -> Ordering {
        let rank = |n: &Numeric| match n.kind {
            Kind::NaN => 2,
            Kind::Infinity if n.negative => -1,
            Kind::Infinity => 1,
            Kind::Finite => 0,
        };
        match rank(self).cmp(&rank(other)) {
            Ordering::Equal if self.is_finite() => {}
            order => return order,
        }
        match self.signum().cmp(&other.signum()) {
            Ordering::Equal => {
                let order = self.cmp_abs(other);
                if self.negative { order.reverse() } else { order }
            }
            order => order,
        }
    }

    /// Order by magnitude of two numbers.
    pub(crate) fn cmp_abs(&self, other: &Numeric) -> Ordering {
        let (a, b) = (significant(&self.digits), significant(&other.digits));
        let empty = a.1.is_empty().cmp(&b.1.is_empty()).reverse();
        if a.1.is_empty() || b.1.is_empty() {
            return empty;
        }
        let (wa, wb) = (self.weight - a.0 as i32, other.weight - b.0 as i32);
        wa.cmp(&wb).then_with(|| a.1.cmp(b.1))
    }

    /// The sum; the longer scale is kept.
    pub fn add(&self, other: &Numeric) -> Numeric {
        match (self.kind, other.kind) {
            (Kind::NaN, _) | (_, Kind::NaN) => return Numeric::NAN,
            (Kind::Infinity, Kind::Infinity) if self.negative != other.negative => {
                return Numeric::NAN;
            }
            (Kind::Infinity, _) => return self.clone(),
            (_, Kind::Infinity) => return other.clone(),
            _ => {}
        }
        let mut out = if self.negative == other.negative {
            Numeric { negative: self.negative, ..self.add_abs(other) }
        } else if self.cmp_abs(other).is_ge() {
            Numeric { negative: self.negative, ..self.sub_abs(other) }
        } else {
            Numeric { negative: other.negative, ..other.sub_abs(self) }
        };
        out.dscale = self.dscale.max(other.dscale);
        out.strip()
    }

    /// The difference; the longer scale is kept.
    pub fn sub(&self, other: &Numeric) -> Numeric {
        self.add(&other.clone().neg())
    }

    fn add_abs(&self, other: &Numeric) -> Numeric {
        let low = self.lowest().min(other.lowest());
        let weight = self.weight.max(other.weight) + 1;
        let mut digits = vec![0u16; (weight - low + 1) as usize];
        let mut carry = 0;
        for (i, slot) in digits.iter_mut().enumerate().rev() {
            let w = weight - i as i32;
            let sum = self.at(w) + other.at(w) + carry;
            carry = (sum >= BASE as u16) as u16;
            *slot = sum - carry * BASE as u16;
        }
        Numeric { weight, digits, ..Numeric::ZERO }
    }

    /// `self - other` where self is not smaller in magnitude.
    fn sub_abs(&self, other: &Numeric) -> Numeric {
        let low = self.lowest().min(other.lowest());
        let weight = self.weight.max(other.weight);
        let mut digits = vec![0u16; (weight - low + 1) as usize];
        let mut borrow = 0i32;
        for (i, slot) in digits.iter_mut().enumerate().rev() {
            let w = weight - i as i32;
            let mut diff = self.at(w) as i32 - other.at(w) as i32 - borrow;
            borrow = (diff < 0) as i32;
            diff += borrow * BASE as i32;
            *slot = diff as u16;
        }
        Numeric { weight, digits, ..Numeric::ZERO }
    }

    /// Power of 10000 of the last digit.
    fn lowest(&self) -> i32 {
        self.weight - self.digits.len() as i32 + 1
    }

    /// The digit at this power of 10000.
    fn at(&self, power: i32) -> u16 {
        usize::try_from(self.weight - power)
            .ok()
            .and_then(|i| self.digits.get(i))
            .copied()
            .unwrap_or(0)
    }

    /// Times a small positive integer; the scale stays.
    pub(crate) fn mul_small(mut self, factor: u32) -> Numeric {
        let mut carry = 0u64;
        for d in self.digits.iter_mut().rev() {
            let product = *d as u64 * factor as u64 + carry;
            *d = (product % BASE as u64) as u16;
            carry = product / BASE as u64;
        }
        while carry > 0 {
            self.digits.insert(0, (carry % BASE as u64) as u16);
            carry /= BASE as u64;
            self.weight += 1;
        }
        self
    }

    /// The product; the scales add up.
    pub fn mul(&self, other: &Numeric) -> Numeric {
        let scale = self.dscale + other.dscale;
        let product = self.mul_exact(other);
        if scale > DSCALE_MAX { product.round(DSCALE_MAX) } else { product }
    }

    /// The product rounded to `scale` digits after the point.
    pub fn mul_scale(&self, other: &Numeric, scale: i32) -> Numeric {
        self.mul_exact(other).round(scale)
    }

    fn mul_exact(&self, other: &Numeric) -> Numeric {
        let negative = self.negative != other.negative;
        match (self.kind, other.kind) {
            (Kind::NaN, _) | (_, Kind::NaN) => return Numeric::NAN,
            (Kind::Infinity, _) | (_, Kind::Infinity) => {
                if self.is_zero() || other.is_zero() {
                    return Numeric::NAN;
                }
                return Numeric { negative, ..Numeric::INFINITY };
            }
            _ => {}
        }
        let dscale = self.dscale + other.dscale;
        if self.is_zero() || other.is_zero() {
            return Numeric { dscale, ..Numeric::ZERO };
        }
        let digits = mul_digits(&self.digits, &other.digits);
        let weight = self.weight + other.weight + 1;
        Numeric { kind: Kind::Finite, negative, weight, dscale, digits }.strip()
    }

    /// Scale of a quotient: at least 16 significant digits, and not less than either operand's.
    pub fn div_scale(&self, other: &Numeric) -> i32 {
        let first = |n: &Numeric| {
            let (skip, digits) = significant(&n.digits);
            digits.first().map_or((0, 0), |d| (n.weight - skip as i32, *d))
        };
        let ((w1, d1), (w2, d2)) = (first(self), first(other));
        let mut weight = w1 - w2;
        if d1 <= d2 {
            weight -= 1;
        }
        (MIN_SIG_DIGITS - weight * DEC_DIGITS)
            .max(self.dscale)
            .max(other.dscale)
            .clamp(0, MAX_DISPLAY_SCALE)
    }

    /// The quotient with PostgreSQL's choice of scale.
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        match self.div_special(other)? {
            Some(special) => Ok(special),
            None => Ok(self.div_to(other, self.div_scale(other), true)),
        }
    }

    /// The integer part of the quotient.
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric> {
        match self.div_special(other)? {
            Some(special) => Ok(special),
            None => Ok(self.div_to(other, 0, false)),
        }
    }

    fn div_special(&self, other: &Numeric) -> Result<Option<Numeric>> {
        Ok(Some(match (self.kind, other.kind) {
            (Kind::NaN, _) | (_, Kind::NaN) => Numeric::NAN,
            (Kind::Infinity, Kind::Infinity) => Numeric::NAN,
            (_, Kind::Finite) if other.is_zero() => return Err(division_by_zero()),
            (Kind::Infinity, _) => {
                Numeric { negative: self.negative != other.negative, ..Numeric::INFINITY }
            }
            (_, Kind::Infinity) => Numeric::ZERO,
            _ => return Ok(None),
        }))
    }

    /// The quotient of two numbers to `scale` digits after the point.
    pub fn div_to(&self, other: &Numeric, scale: i32, round: bool) -> Numeric {
        let (skip_a, a) = significant(&self.digits);
        let (skip_b, b) = significant(&other.digits);
        if a.is_empty() {
            return Numeric { dscale: scale.max(0), ..Numeric::ZERO };
        }
        let (wa, wb) = (self.weight - skip_a as i32, other.weight - skip_b as i32);
        // Digits of base 10000 wanted after the point, with one to round by.
        let after = (scale.max(0) + DEC_DIGITS - 1) / DEC_DIGITS + 1;
        let weight = wa - wb;
        let wanted = (weight + 1 + after).max(1) as usize;
        let mut dividend = a.to_vec();
        dividend.resize(wanted + b.len(), 0);
        // Digits of the dividend beyond those can change none of the quotient's digits.
        let quotient = div_digits(&dividend, b);
        let out = Numeric {
            kind: Kind::Finite,
            negative: self.negative != other.negative,
            weight,
            dscale: scale.max(0),
            digits: quotient,
        };
        if round { out.round(scale) } else { out.trunc(scale) }
    }

    /// The remainder, with the sign of the dividend.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        match (self.kind, other.kind) {
            (Kind::NaN, _) | (_, Kind::NaN) => return Ok(Numeric::NAN),
            _ if other.is_zero() => return Err(division_by_zero()),
            (Kind::Infinity, _) => return Ok(Numeric::NAN),
            (_, Kind::Infinity) => return Ok(self.clone()),
            _ => {}
        }
        let quotient = self.div_to(other, 0, false);
        let mut out = self.sub(&other.mul_exact(&quotient));
        out.dscale = self.dscale.max(other.dscale);
        Ok(out)
    }
}

/// Digits without leading zeros, and how many there were.
fn significant(digits: &[u16]) -> (usize, &[u16]) {
    let skip = digits.iter().position(|d| *d != 0).unwrap_or(digits.len());
    let end = digits.iter().rposition(|d| *d != 0).map_or(skip, |p| p + 1);
    (skip, &digits[skip..end])
}

/// Product of digit strings; its length is the sum of both.
pub(super) fn mul_long_hand(a: &[u16], b: &[u16]) -> Vec<u16> {
    let mut acc = vec![0u64; a.len() + b.len()];
    // Each sum has at most 2^36 products below 10^8 before it would overflow: no check needed.
    for (i, &x) in a.iter().enumerate() {
        if x != 0 {
            for (slot, &y) in acc[i + 1..].iter_mut().zip(b) {
                *slot += x as u64 * y as u64;
            }
        }
    }
    let mut out = vec![0u16; acc.len()];
    let mut carry = 0;
    for (slot, sum) in out.iter_mut().zip(&acc).rev() {
        let total = sum + carry;
        *slot = (total % BASE as u64) as u16;
        carry = total / BASE as u64;
    }
    out
}

/// Quotient of digit strings (long division); as long as the dividend less the divisor plus one.
pub(super) fn div_long_hand(dividend: &[u16], divisor: &[u16]) -> Vec<u16> {
    let base = BASE as i64;
    if let [d] = divisor {
        let mut rest = 0u32;
        return dividend
            .iter()
            .map(|&x| {
                let current = rest * BASE + x as u32;
                rest = current % *d as u32;
                (current / *d as u32) as u16
            })
            .collect();
    }
    // Scaled so that the divisor's first digit is at least half the base (Knuth's algorithm D).
    let scale = base / (divisor[0] as i64 + 1);
    let multiply = |digits: &[u16], extra: bool| {
        let mut out = vec![0i64; digits.len() + extra as usize];
        let mut carry = 0;
        for (i, &d) in digits.iter().enumerate().rev() {
            let product = d as i64 * scale + carry;
            out[i + extra as usize] = product % base;
            carry = product / base;
        }
        if extra {
            out[0] = carry;
        }
        out
    };
    let mut u = multiply(dividend, true);
    let v = multiply(divisor, false);
    let n = v.len();
    let count = u.len() - n;
    let mut out = Vec::with_capacity(count);
    for j in 0..count {
        let top = u[j] * base + u[j + 1];
        let mut q = (top / v[0]).min(base - 1);
        let mut r = top - q * v[0];
        let third = u.get(j + 2).copied().unwrap_or(0);
        while r < base && q * v[1] > r * base + third {
            q -= 1;
            r += v[0];
        }
        let mut borrow = 0;
        for i in (0..n).rev() {
            let diff = u[j + 1 + i] - q * v[i] - borrow;
            let digit = diff.rem_euclid(base);
            borrow = (digit - diff) / base;
            u[j + 1 + i] = digit;
        }
        u[j] -= borrow;
        if u[j] < 0 {
            q -= 1;
            let mut carry = 0;
            for i in (0..n).rev() {
                let sum = u[j + 1 + i] + v[i] + carry;
                u[j + 1 + i] = sum % base;
                carry = sum / base;
            }
            u[j] += carry;
        }
        out.push(q as u16);
    }
    out
}
