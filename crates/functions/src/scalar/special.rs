//! Special functions: error function and gamma, as the C library's.

use super::float::overflow;
use base::Result;

/// The error function.
pub(super) fn erf(x: f64) -> f64 {
    types::math::erf(x)
}

/// One minus the error function.
pub(super) fn erfc(x: f64) -> f64 {
    types::math::erfc(x)
}

/// The gamma function.
pub(super) fn gamma(x: f64) -> Result<f64> {
    if x.is_nan() || x == f64::INFINITY {
        return Ok(x);
    }
    if x == f64::NEG_INFINITY || x == 0.0 || (x < 0.0 && x == x.floor()) {
        return Err(overflow());
    }
    let r = types::math::tgamma(x);
    if r.is_infinite() {
        return Err(overflow());
    }
    if r == 0.0 {
        return Err(super::float::underflow());
    }
    Ok(r)
}

/// The logarithm of the gamma function's magnitude.
pub(super) fn lgamma(x: f64) -> Result<f64> {
    let r = types::math::lgamma(x);
    if r.is_infinite() && !x.is_infinite() { Err(overflow()) } else { Ok(r) }
}
