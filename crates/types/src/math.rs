//! Functions of the C library's mathematics that Rust's has no name for.

mod c {
    // SAFETY: pure functions of the C library that every target of ours links.
    unsafe extern "C" {
        pub safe fn erf(x: f64) -> f64;
        pub safe fn erfc(x: f64) -> f64;
        pub safe fn tgamma(x: f64) -> f64;
        pub safe fn lgamma(x: f64) -> f64;
        pub safe fn cbrt(x: f64) -> f64;
        pub safe fn asinh(x: f64) -> f64;
        pub safe fn acosh(x: f64) -> f64;
        pub safe fn atanh(x: f64) -> f64;
    }
}

/// The error function.
pub fn erf(x: f64) -> f64 {
    c::erf(x)
}

/// One minus the error function.
pub fn erfc(x: f64) -> f64 {
    c::erfc(x)
}

/// The gamma function.
pub fn tgamma(x: f64) -> f64 {
    c::tgamma(x)
}

/// The logarithm of the gamma function's magnitude.
pub fn lgamma(x: f64) -> f64 {
    c::lgamma(x)
}

/// The cube root.
pub fn cbrt(x: f64) -> f64 {
    c::cbrt(x)
}

/// The inverse hyperbolic sine.
pub fn asinh(x: f64) -> f64 {
    c::asinh(x)
}

/// The inverse hyperbolic cosine.
pub fn acosh(x: f64) -> f64 {
    c::acosh(x)
}

/// The inverse hyperbolic tangent.
pub fn atanh(x: f64) -> f64 {
    c::atanh(x)
}
