//! Random numbers: PostgreSQL's generator (xoroshiro128**), so that `setseed` gives its sequence.

use crate::call::{FnCtx, FnDef};
use base::{Result, bail};
use types::Datum;
use types::numeric::Numeric;

/// 64 random bits from the session's generator.
pub(crate) fn next(cx: &FnCtx) -> u64 {
    let cell = cx.env.random_state();
    let [s0, sx] = cell.get();
    let s1 = sx ^ s0;
    let out = s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
    cell.set([s0.rotate_left(24) ^ s1 ^ (s1 << 16), s1.rotate_left(37)]);
    out
}

/// The state that a seed makes.
fn seeded(seed: u64) -> [u64; 2] {
    let mut state = seed;
    let mut split = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut v = state;
        v = (v ^ (v >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        v = (v ^ (v >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        v ^ (v >> 31)
    };
    let out = [split(), split()];
    if out == [0, 0] { [0x5851_F42D_4C95_7F2D, 0x1405_7B7E_F767_814F] } else { out }
}

/// A double from 0 (included) to 1 (excluded).
fn unit(cx: &FnCtx) -> f64 {
    (next(cx) >> (64 - 52)) as f64 * 2f64.powi(-52)
}

/// A number from `low` to `high`, both included.
pub(crate) fn range(cx: &FnCtx, low: u64, high: u64) -> u64 {
    if high <= low {
        return low;
    }
    let span = high - low;
    let shift = span.leading_zeros();
    loop {
        let v = next(cx) >> shift;
        if v <= span {
            return low + v;
        }
    }
}

fn signed(cx: &FnCtx, low: i64, high: i64) -> Result<i64> {
    if low > high {
        bail!(INVALID_PARAMETER_VALUE, "lower bound must be less than or equal to upper bound");
    }
    let span = high.wrapping_sub(low) as u64;
    Ok(low.wrapping_add(range(cx, 0, span) as i64))
}

fn normal(cx: &FnCtx, mean: f64, stddev: f64) -> f64 {
    // Box and Muller's method; the logarithm must not see zero.
    let u1 = 1.0 - unit(cx);
    let u2 = 1.0 - unit(cx);
    mean + stddev * ((-2.0 * u1.ln()).sqrt() * (2.0 * std::f64::consts::PI * u2).sin())
}

fn numeric(cx: &FnCtx, low: &[u8], high: &[u8]) -> Result<types::Blob> {
    let (a, b) = (Numeric::decode(low), Numeric::decode(high));
    for (n, which) in [(&a, "lower"), (&b, "upper")] {
        if n.is_nan() {
            bail!(INVALID_PARAMETER_VALUE, "{which} bound cannot be NaN");
        }
        if !n.is_finite() {
            bail!(INVALID_PARAMETER_VALUE, "{which} bound cannot be infinity");
        }
    }
    if a.cmp_value(&b).is_gt() {
        bail!(INVALID_PARAMETER_VALUE, "lower bound must be less than or equal to upper bound");
    }
    let scale = a.dscale.max(b.dscale);
    let mut out = a.add(&up_to(cx, &b.sub(&a), scale)?).round(scale);
    out.dscale = scale;
    out.encode()
}

/// A number from zero to `span`, both included, with `scale` digits after the point: the first
/// sixteen digits at once, the others by groups, until it is not too large.
fn up_to(cx: &FnCtx, span: &Numeric, scale: i32) -> Result<Numeric> {
    const BASE: u64 = 10_000;
    const GROUP: usize = 4;
    if span.is_zero() {
        return Ok(Numeric::ZERO);
    }
    let after = (scale + 3) / 4;
    let unused = 10u64.pow((after * 4 - scale) as u32);
    // Digits of base 10000, those after the point included, and how many of them are whole.
    let len = (span.weight + 1 + after) as usize;
    let whole = len - usize::from(unused != 1);
    let first = len.min(GROUP);
    let at = |i: usize| span.digits.get(i).copied().unwrap_or(0) as u64;
    let top = (0..first).fold(0, |top, i| top * BASE + at(i));
    loop {
        base::interrupt::check()?;
        let mut digits = vec![0u16; len];
        let mut put = |from: usize, n: usize, mut value: u64| {
            for d in digits[from..from + n].iter_mut().rev() {
                *d = (value % BASE) as u16;
                value /= BASE;
            }
        };
        if first == len && unused != 1 {
            put(0, first, range(cx, 0, top / unused) * unused);
        } else {
            put(0, first, range(cx, 0, top));
        }
        let mut i = first;
        // The lowest part of a group's number is its first digit.
        while i + GROUP <= whole {
            let mut value = range(cx, 0, BASE.pow(GROUP as u32) - 1);
            for at in i..i + GROUP {
                put(at, 1, value % BASE);
                value /= BASE;
            }
            i += GROUP;
        }
        while i < whole {
            put(i, 1, range(cx, 0, BASE - 1));
            i += 1;
        }
        if i < len {
            put(i, 1, range(cx, 0, BASE / unused - 1) * unused);
        }
        let out = Numeric { weight: span.weight, digits, dscale: scale, ..Numeric::ZERO }.strip();
        if out.cmp_value(span).is_le() {
            return Ok(out);
        }
    }
}

const LIST: &[FnDef] = &[
    row!(cx; drandom() { unit(cx) }),
    row!(cx; int4random(low: i32, high: i32) {
        signed(cx, low as i64, high as i64).map(|n| n as i32)
    }),
    row!(cx; int8random(low: i64, high: i64) { signed(cx, low, high) }),
    row!(cx; numeric_random(low: &[u8], high: &[u8]) { numeric(cx, low, high) }),
    row!(cx; drandom_normal(mean: f64, stddev: f64) { normal(cx, mean, stddev) }),
    row!(cx; setseed(seed: f64) {
        if !(-1.0..=1.0).contains(&seed) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "setseed parameter {} is out of allowed range [-1,1]",
                types::io::f64_text(seed)
            );
        }
        let bits = (((1u64 << 52) - 1) as f64 * seed) as i64;
        cx.env.random_state().set(seeded(bits as u64));
        Datum::text("")
    }),
];

pub(super) const FNS: &[&[FnDef]] = &[LIST];
