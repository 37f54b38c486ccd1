//! Numbers whose digits fit 128 bits: the fast path.

use super::{Numeric, put_header};
use crate::blob::Blob;
use std::cmp::Ordering;

/// `mantissa / 10^scale`; the mantissa is below 10^33 in magnitude.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Small {
    /// The digits.
    pub mantissa: i128,
    /// How many of them are after the point, and shown.
    pub scale: u32,
}

/// Most digits after the point.
const SCALE_MAX: u32 = 24;
const MANTISSA_MAX: u128 = 10u128.pow(33);

const POW10: [i128; 39] = {
    let mut table = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// 10 to the `n`th, `n` at most 38.
#[inline]
pub fn pow10(n: u32) -> i128 {
    POW10[n as usize]
}

impl Small {
    /// Reads a stored value if it is small enough.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Small> {
        let (&[a, b], rest) = bytes.split_first_chunk::<2>()?;
        let header = u16::from_le_bytes([a, b]);
        let n = rest.len() / 2;
        if header >> 14 != 2 || n > 7 {
            return None;
        }
        let weight = ((header & 0x7f) as i32) << 25 >> 25;
        let scale = (header >> 7 & 0x3f) as u32;
        if scale > SCALE_MAX {
            return None;
        }
        let mantissa = if n <= 4 {
            let mut m: u64 = 0;
            for d in rest.chunks_exact(2) {
                m = m * 10000 + u16::from_le_bytes([d[0], d[1]]) as u64;
            }
            m as i128
        } else {
            let mut m: i128 = 0;
            for d in rest.chunks_exact(2) {
                m = m * 10000 + u16::from_le_bytes([d[0], d[1]]) as i128;
            }
            m
        };
        let shift = 4 * (weight - n as i32 + 1) + scale as i32;
        let mantissa = match shift {
            _ if mantissa == 0 => 0,
            0 => mantissa,
            1..=32 => mantissa.checked_mul(pow10(shift as u32))?,
            // The last digit has at most three zeros beyond the scale.
            -3..=-1 => {
                let p = pow10(-shift as u32);
                match u64::try_from(mantissa) {
                    Ok(m) => (m / p as u64) as i128,
                    Err(_) => mantissa / p,
                }
            }
            _ => return None,
        };
        if mantissa as u128 >= MANTISSA_MAX {
            return None;
        }
        Some(Small { mantissa: if header & 0x2000 != 0 { -mantissa } else { mantissa }, scale })
    }

    /// The number `mantissa / 10^scale`, if it is small enough.
    #[inline]
    pub fn new(mantissa: i128, scale: u32) -> Option<Small> {
        (mantissa.unsigned_abs() < MANTISSA_MAX && scale <= SCALE_MAX)
            .then_some(Small { mantissa, scale })
    }

    /// The stored form.
    #[inline]
    pub fn encode(self) -> Blob {
        let pad = (4 - self.scale % 4) % 4;
        let fraction = ((self.scale + pad) / 4) as i32;
        let mut digits = [0u16; 10];
        let mut n = 0;
        let full = self.mantissa.unsigned_abs() * pow10(pad) as u128;
        let mut low = if full > u64::MAX as u128 {
            let (high, low) = (full / 10u128.pow(16), (full % 10u128.pow(16)) as u64);
            split(low, 4, &mut digits, &mut n);
            if high > u64::MAX as u128 {
                split((high % 10u128.pow(16)) as u64, 4, &mut digits, &mut n);
                (high / 10u128.pow(16)) as u64
            } else {
                high as u64
            }
        } else {
            full as u64
        };
        while low != 0 {
            digits[n] = (low % 10000) as u16;
            low /= 10000;
            n += 1;
        }
        let mut out = [0u8; 22];
        while n > 0 && digits[n - 1] == 0 {
            n -= 1;
        }
        let first = digits[..n].iter().position(|d| *d != 0).unwrap_or(n);
        let weight = if n == 0 { 0 } else { n as i32 - fraction - 1 };
        let sign = if self.mantissa < 0 { 0x2000 } else { 0 };
        let header = 0x8000 | sign | (self.scale as u16) << 7 | (weight & 0x7f) as u16;
        out[..2].copy_from_slice(&header.to_le_bytes());
        let mut at = 2;
        for d in digits[first..n].iter().rev() {
            out[at..at + 2].copy_from_slice(&d.to_le_bytes());
            at += 2;
        }
        Blob::new(&out[..at])
    }

    /// The digits with `scale` of them after the point; None if that is too long.
    #[inline]
    pub fn rescale(self, scale: u32) -> Option<i128> {
        if scale == self.scale {
            return Some(self.mantissa);
        }
        self.mantissa.checked_mul(pow10(scale - self.scale))
    }

    /// Order by value.
    #[inline]
    pub fn compare(self, other: Small) -> Ordering {
        let scale = self.scale.max(other.scale);
        match (self.rescale(scale), other.rescale(scale)) {
            (Some(a), Some(b)) => a.cmp(&b),
            // The one that does not fit is the larger in magnitude.
            (None, _) => self.mantissa.cmp(&0),
            (_, None) => 0.cmp(&other.mantissa),
        }
    }

    /// The sum.
    #[inline]
    pub fn add(self, other: Small) -> Option<Small> {
        let scale = self.scale.max(other.scale);
        Small::new(self.rescale(scale)?.checked_add(other.rescale(scale)?)?, scale)
    }

    /// The difference.
    #[inline]
    pub fn sub(self, other: Small) -> Option<Small> {
        self.add(Small { mantissa: -other.mantissa, scale: other.scale })
    }

    /// The product.
    #[inline]
    pub fn mul(self, other: Small) -> Option<Small> {
        let product = match (i64::try_from(self.mantissa), i64::try_from(other.mantissa)) {
            (Ok(a), Ok(b)) => a as i128 * b as i128,
            _ => self.mantissa.checked_mul(other.mantissa)?,
        };
        Small::new(product, self.scale + other.scale)
    }
}

fn split(mut low: u64, count: usize, digits: &mut [u16; 10], n: &mut usize) {
    for _ in 0..count {
        digits[*n] = (low % 10000) as u16;
        low /= 10000;
        *n += 1;
    }
}

/// The stored form of an integer.
#[inline]
pub fn from_i64(n: i64) -> Blob {
    Small { mantissa: n as i128, scale: 0 }.encode()
}

/// The stored form of `mantissa / 10^scale`, of any size.
pub fn from_scaled(mantissa: i128, scale: u32) -> Blob {
    if let Some(small) = Small::new(mantissa, scale) {
        return small.encode();
    }
    let mut number = Numeric::from(mantissa);
    let whole = scale / 4;
    let rest = scale % 4;
    if rest != 0 {
        number = number.mul_small(10u32.pow(4 - rest));
        number.weight -= 1;
    }
    number.weight -= whole as i32;
    number.dscale = scale as i32;
    let mut out = Vec::new();
    let number = number.strip();
    put_header(&mut out, number.negative, number.weight, number.dscale);
    for d in &number.digits {
        out.extend_from_slice(&d.to_le_bytes());
    }
    Blob::from(out)
}
