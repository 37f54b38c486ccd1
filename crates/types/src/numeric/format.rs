//! Numbers as text.

use super::{DEC_DIGITS, Kind, Numeric};

impl Numeric {
    /// Appends the number with its `dscale` digits after the point.
    pub fn write(&self, out: &mut Vec<u8>) {
        match (self.kind, self.negative) {
            (Kind::NaN, _) => return out.extend_from_slice(b"NaN"),
            (Kind::Infinity, false) => return out.extend_from_slice(b"Infinity"),
            (Kind::Infinity, true) => return out.extend_from_slice(b"-Infinity"),
            (Kind::Finite, true) => out.push(b'-'),
            (Kind::Finite, false) => {}
        }
        if self.weight < 0 || self.digits.is_empty() {
            out.push(b'0');
        }
        let whole = if self.digits.is_empty() { -1 } else { self.weight.max(-1) };
        for i in 0..=whole {
            let d = self.digit(i);
            if i == 0 {
                out.extend_from_slice(itoa::Buffer::new().format(d).as_bytes());
            } else {
                put4(d, 4, out);
            }
        }
        if self.dscale > 0 {
            out.push(b'.');
            let mut left = self.dscale;
            let mut position = 0;
            while left > 0 {
                // Digit of base 10000 number `position` after the point.
                let d = self.digit(self.weight + 1 + position);
                let take = left.min(DEC_DIGITS);
                put4(d, take as usize, out);
                left -= take;
                position += 1;
            }
        }
    }

    /// Digit `i` of base 10000, 0 beyond either end.
    fn digit(&self, i: i32) -> u16 {
        usize::try_from(i).ok().and_then(|i| self.digits.get(i)).copied().unwrap_or(0)
    }

    /// The number in scientific notation with `scale` digits after the point.
    pub fn to_scientific(&self, scale: i32) -> String {
        if !self.is_finite() {
            return self.to_string();
        }
        let exponent = if self.is_zero() { 0 } else { self.decimal_exponent() };
        let shifted = self.clone().shift10(-exponent).round(scale);
        // Rounding may have carried into a second digit before the point.
        let (shifted, exponent) = if !shifted.is_zero() && shifted.decimal_exponent() > 0 {
            (shifted.shift10(-1).round(scale), exponent + 1)
        } else {
            (shifted, exponent)
        };
        let mut shown = shifted;
        shown.dscale = scale;
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{shown}e{sign}{:02}", exponent.abs())
    }

    /// Power of ten of the first decimal digit; the number is not zero.
    pub(crate) fn decimal_exponent(&self) -> i32 {
        let first = self.digits.first().copied().unwrap_or(1);
        self.weight * DEC_DIGITS + (first as f64).log10().floor() as i32
    }
}

fn put4(d: u16, take: usize, out: &mut Vec<u8>) {
    let digits = [d / 1000, d / 100 % 10, d / 10 % 10, d % 10];
    out.extend(digits[..take].iter().map(|d| b'0' + *d as u8));
}

impl std::fmt::Display for Numeric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        f.write_str(std::str::from_utf8(&out).unwrap_or(""))
    }
}
