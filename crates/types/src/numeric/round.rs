//! Rounding and moving the point.

use super::{DEC_DIGITS, Numeric};

impl Numeric {
    /// Rounded half away from zero to `scale` digits after the point (before it if negative).
    pub fn round(self, scale: i32) -> Numeric {
        self.cut(scale, true)
    }

    /// Cut to `scale` digits after the point (before it if negative).
    pub fn trunc(self, scale: i32) -> Numeric {
        self.cut(scale, false)
    }

    fn cut(mut self, scale: i32, round: bool) -> Numeric {
        if !self.is_finite() {
            return self;
        }
        self.dscale = scale.max(0);
        if self.digits.is_empty() {
            return self;
        }
        // How many decimal digits are kept, counted from the first digit of base 10000.
        let keep = (self.weight as i64 + 1) * DEC_DIGITS as i64 + scale as i64;
        if keep < 0 || (keep == 0 && !round) {
            self.digits.clear();
            return self.strip();
        }
        let whole = (keep / DEC_DIGITS as i64) as usize;
        let part = (keep % DEC_DIGITS as i64) as u32;
        if whole >= self.digits.len() {
            return self;
        }
        let mut carry = false;
        if part == 0 {
            carry = round && self.digits[whole] >= 5000;
            self.digits.truncate(whole);
        } else {
            let unit = 10u16.pow(4 - part);
            let digit = self.digits[whole];
            let cut = digit % unit;
            self.digits.truncate(whole + 1);
            self.digits[whole] = digit - cut;
            if round && cut >= unit / 2 {
                let up = self.digits[whole] + unit;
                carry = up >= 10000;
                self.digits[whole] = up % 10000;
                if carry {
                    carry = true;
                }
            }
        }
        if carry {
            let end = if part == 0 { self.digits.len() } else { self.digits.len() - 1 };
            self.carry(end);
        }
        self.strip()
    }

    /// Adds one to the number made of the first `end` digits.
    fn carry(&mut self, end: usize) {
        for i in (0..end).rev() {
            if self.digits[i] == 9999 {
                self.digits[i] = 0;
            } else {
                self.digits[i] += 1;
                return;
            }
        }
        self.digits.insert(0, 1);
        self.weight += 1;
    }

    /// The largest integer not above.
    pub fn floor(self) -> Numeric {
        self.integer(true)
    }

    /// The smallest integer not below.
    pub fn ceil(self) -> Numeric {
        self.integer(false)
    }

    fn integer(self, down: bool) -> Numeric {
        if !self.is_finite() {
            return self;
        }
        let negative = self.negative;
        let cut = self.clone().trunc(0);
        if cut.cmp_value(&self).is_eq() || negative != down {
            return cut;
        }
        let one = Numeric::from(if down { -1i64 } else { 1 });
        cut.add(&one)
    }

    /// Times ten to the `n`th; the digits shown stay as they are in number before and after.
    pub fn shift10(mut self, n: i32) -> Numeric {
        let whole = n.div_euclid(DEC_DIGITS);
        let part = n.rem_euclid(DEC_DIGITS) as u32;
        let dscale = (self.dscale - n).max(0);
        if part != 0 {
            self = self.mul_small(10u32.pow(part));
        }
        self.weight += whole;
        self.dscale = dscale;
        self.strip()
    }

    /// Digits after the point that are not trailing zeros.
    pub fn min_scale(&self) -> i32 {
        let Some(last) = self.digits.iter().rposition(|d| *d != 0) else { return 0 };
        let mut scale = (last as i32 - self.weight) * DEC_DIGITS;
        let mut d = self.digits[last];
        while d.is_multiple_of(10) {
            scale -= 1;
            d /= 10;
        }
        scale.max(0)
    }
}
