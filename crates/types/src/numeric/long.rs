//! Products and quotients of digit strings that are too long for the pencil-and-paper methods,
//! which would take minutes for numbers of 131,072 digits.
//!
//! A product is a convolution, which becomes digit by digit under a number-theoretic transform:
//! one over the field of a prime of 64 bits is exact, as no sum of products here reaches it. A
//! quotient is a product by the divisor's reciprocal, found by Newton's method, each step of
//! which doubles its digits; what is off in the last place is mended by the remainder.

use super::BASE;
use super::arith::{div_long_hand, mul_long_hand};

/// Shorter factors are multiplied by hand.
const MUL_MIN: usize = 128;
/// Shorter quotients and divisors are divided by hand.
const DIV_MIN: usize = 96;

/// A prime that is 1 modulo 2^32, so that it has roots of unity for all lengths needed.
const PRIME: u64 = 0xffff_ffff_0000_0001;
/// A generator of its multiplicative group.
const GENERATOR: u64 = 7;

fn mul_mod(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    let (low, high) = (product as u64, (product >> 64) as u64);
    // 2^64 = 2^32 - 1 and 2^96 = -1 modulo the prime.
    let (middle, top) = (high & 0xffff_ffff, high >> 32);
    let (mut out, borrow) = low.overflowing_sub(top);
    if borrow {
        out = out.wrapping_sub(0xffff_ffff);
    }
    let (sum, carry) = out.overflowing_add(middle * 0xffff_ffff);
    let sum = if carry { sum.wrapping_add(0xffff_ffff) } else { sum };
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn add_mod(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    if carry || sum >= PRIME { sum.wrapping_sub(PRIME) } else { sum }
}

fn sub_mod(a: u64, b: u64) -> u64 {
    let (diff, borrow) = a.overflowing_sub(b);
    if borrow { diff.wrapping_add(PRIME) } else { diff }
}

fn pow_mod(mut base: u64, mut exponent: u64) -> u64 {
    let mut out = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            out = mul_mod(out, base);
        }
        base = mul_mod(base, base);
        exponent >>= 1;
    }
    out
}

/// The powers of a root of unity of order `n`, half of them.
fn roots(n: usize, inverse: bool) -> Vec<u64> {
    let mut root = pow_mod(GENERATOR, (PRIME - 1) / n as u64);
    if inverse {
        root = pow_mod(root, PRIME - 2);
    }
    let mut out = Vec::with_capacity(n / 2);
    let mut power = 1;
    for _ in 0..n / 2 {
        out.push(power);
        power = mul_mod(power, root);
    }
    out
}

/// The transform, which leaves its values in the order of reversed bits.
fn forward(values: &mut [u64], roots: &[u64]) {
    let mut half = values.len() / 2;
    while half > 0 {
        let step = roots.len() / half;
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (i, (x, y)) in low.iter_mut().zip(high).enumerate() {
                let (a, b) = (*x, *y);
                *x = add_mod(a, b);
                *y = mul_mod(sub_mod(a, b), roots[i * step]);
            }
        }
        half /= 2;
    }
}

/// The transform's inverse but for the factor of the length, from the order that it left.
fn backward(values: &mut [u64], roots: &[u64]) {
    let mut half = 1;
    while half < values.len() {
        let step = roots.len() / half;
        for block in values.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (i, (x, y)) in low.iter_mut().zip(high).enumerate() {
                let (a, b) = (*x, mul_mod(*y, roots[i * step]));
                *x = add_mod(a, b);
                *y = sub_mod(a, b);
            }
        }
        half *= 2;
    }
}

/// Product of digit strings; its length is the sum of both.
pub(super) fn mul_digits(a: &[u16], b: &[u16]) -> Vec<u16> {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    if short.len() < MUL_MIN {
        return mul_long_hand(short, long);
    }
    let len = a.len() + b.len();
    let n = len.next_power_of_two();
    let spread = |digits: &[u16]| {
        let mut out: Vec<u64> = digits.iter().rev().map(|d| *d as u64).collect();
        out.resize(n, 0);
        out
    };
    let there = roots(n, false);
    let mut x = spread(a);
    forward(&mut x, &there);
    if a == b {
        x.iter_mut().for_each(|v| *v = mul_mod(*v, *v));
    } else {
        let mut y = spread(b);
        forward(&mut y, &there);
        x.iter_mut().zip(&y).for_each(|(v, w)| *v = mul_mod(*v, *w));
    }
    drop(there);
    backward(&mut x, &roots(n, true));
    let scale = pow_mod(n as u64, PRIME - 2);
    let mut out = vec![0u16; len];
    let mut carry = 0;
    for (slot, sum) in out.iter_mut().rev().zip(&x) {
        let total = mul_mod(*sum, scale) + carry;
        *slot = (total % BASE as u64) as u16;
        carry = total / BASE as u64;
    }
    out
}

/// Quotient of digit strings, without what is left; as long as the dividend less the divisor plus
/// one. The divisor's first digit is not zero.
pub(super) fn div_digits(dividend: &[u16], divisor: &[u16]) -> Vec<u16> {
    let len = dividend.len() + 1 - divisor.len();
    if divisor.len() < DIV_MIN || len < DIV_MIN {
        return div_long_hand(dividend, divisor);
    }
    // So many of the first digits of both say what the quotient is, but for its last digit.
    let kept = len + 3;
    let first = |digits: &[u16], n: usize| {
        let mut out = digits[..n.min(digits.len())].to_vec();
        out.resize(n, 0);
        out
    };
    let inverse = reciprocal(&first(divisor, kept));
    let mut quotient = mul_digits(&first(dividend, len - 1 + kept), &inverse);
    quotient.truncate(quotient.len() - 2 * kept);
    if quotient[0] > 0 {
        // More than the largest number of so many digits.
        quotient.fill(BASE as u16 - 1);
    }
    quotient.remove(0);
    // The remainder tells how far off it is.
    let mut rest = padded(dividend, dividend.len() + 1);
    let mut product = mul_digits(&quotient, divisor);
    while product > rest {
        decrement(&mut quotient);
        subtract(&mut product, divisor);
    }
    subtract(&mut rest, &product);
    let divisor = padded(divisor, rest.len());
    while rest >= divisor {
        increment(&mut quotient);
        subtract(&mut rest, &divisor);
    }
    quotient
}

/// About `BASE^(2 n) / digits` for n digits of which the first is not zero, in n + 2 digits; off
/// by a few units of the last place.
fn reciprocal(digits: &[u16]) -> Vec<u16> {
    let n = digits.len();
    if n < DIV_MIN {
        let mut power = vec![0; 2 * n + 1];
        power[0] = 1;
        return div_long_hand(&power, digits);
    }
    let h = n / 2 + 2;
    // With R close to BASE^(2 n) / d, R + R (BASE^(2 n) - d R) / BASE^(2 n) is closer.
    let mut guess = reciprocal(&digits[..h]);
    guess.resize(guess.len() + n - h, 0);
    let mut product = padded(&mul_digits(&guess, digits), 2 * n + 2);
    let mut power = vec![0; 2 * n + 2];
    power[1] = 1;
    let above = product > power;
    if above {
        subtract(&mut product, &power);
    } else {
        std::mem::swap(&mut product, &mut power);
        subtract(&mut product, &power);
    }
    let mut step = mul_digits(&guess, &product);
    step.truncate(step.len() - 2 * n);
    let mut guess = padded(&guess, n + 2);
    let step = padded(&step, n + 2);
    if above {
        subtract(&mut guess, &step);
    } else {
        add(&mut guess, &step);
    }
    guess
}

/// The same number in `len` digits: with zeros before it or without some of those it has.
fn padded(digits: &[u16], len: usize) -> Vec<u16> {
    let surplus = digits.len().saturating_sub(len);
    debug_assert!(digits[..surplus].iter().all(|d| *d == 0));
    let kept = &digits[surplus..];
    let mut out = vec![0; len - kept.len()];
    out.extend_from_slice(kept);
    out
}

/// Takes a number away that is not larger and not longer.
fn subtract(from: &mut [u16], what: &[u16]) {
    let mut borrow = 0;
    let start = from.len() - what.len();
    let zeros = std::iter::repeat_n(&0, start);
    for (x, y) in from.iter_mut().rev().zip(what.iter().rev().chain(zeros)) {
        let y = *y + borrow;
        borrow = (*x < y) as u16;
        *x = *x + borrow * BASE as u16 - y;
    }
}

/// Adds a number that is not longer; there is room for the sum.
fn add(to: &mut [u16], what: &[u16]) {
    let mut carry = 0;
    let start = to.len() - what.len();
    let zeros = std::iter::repeat_n(&0, start);
    for (x, y) in to.iter_mut().rev().zip(what.iter().rev().chain(zeros)) {
        let sum = *x + *y + carry;
        carry = (sum >= BASE as u16) as u16;
        *x = sum - carry * BASE as u16;
    }
}

fn increment(digits: &mut [u16]) {
    add(digits, &[1]);
}

fn decrement(digits: &mut [u16]) {
    subtract(digits, &[1]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits without a pattern, with runs of the extremes in them.
    fn digits(seed: u64, len: usize) -> Vec<u16> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut out: Vec<u16> = (0..len)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                match state >> 61 {
                    0 => 0,
                    1 => 9999,
                    _ => (state % BASE as u64) as u16,
                }
            })
            .collect();
        out[0] = out[0].max(1);
        out
    }

    #[test]
    fn long_products_are_those_by_hand() {
        for (i, (m, n)) in
            [(128, 128), (128, 1000), (777, 333), (2048, 2048), (5000, 129)].iter().enumerate()
        {
            let (a, b) = (digits(i as u64 + 1, *m), digits(i as u64 + 100, *n));
            assert!(mul_digits(&a, &b) == mul_long_hand(&a, &b), "{m} by {n}");
        }
        let nines = vec![9999; 3000];
        assert!(mul_digits(&nines, &nines) == mul_long_hand(&nines, &nines));
    }

    #[test]
    fn long_quotients_are_those_by_hand() {
        let lengths = [
            (192, 96),
            (400, 96),
            (1000, 400),
            (1000, 900),
            (3000, 1500),
            (2500, 200),
            (1201, 601),
        ];
        for (i, (m, n)) in lengths.iter().enumerate() {
            for seed in 0..4 {
                let (a, b) = (digits(seed + 7 * i as u64, *m), digits(seed + 1000, *n));
                assert!(div_digits(&a, &b) == div_long_hand(&a, &b), "{m} by {n}");
                // Quotients without a remainder, and with the largest one.
                let product = mul_digits(&a, &b);
                assert!(padded(&div_digits(&product, &b), a.len()) == a, "{m} times {n}");
                let mut less = product;
                decrement(&mut less);
                let mut before = a.clone();
                decrement(&mut before);
                assert!(padded(&div_digits(&less, &b), a.len()) == before, "{m} times {n} less 1");
            }
        }
        let (nines, mut one) = (vec![9999; 1500], vec![0; 700]);
        one[0] = 1;
        assert!(div_digits(&nines, &one) == div_long_hand(&nines, &one));
        assert!(div_digits(&nines, &nines[..700]) == div_long_hand(&nines, &nines[..700]));
    }
}
