//! The state of sums and averages: exact, with a fast path in 128 bits.

use super::small::{Small, pow10};
use super::{Kind, Numeric};

/// A running sum. Small numbers add up in 128 bits at one scale; others in full.
#[derive(Clone, Debug, Default)]
pub struct NumericSum {
    /// Sum of the small numbers, with `scale` digits after the point.
    fast: i128,
    scale: u32,
    /// Sum of the others, and of what overflowed `fast`.
    slow: Option<Box<Numeric>>,
    /// Largest scale of any number.
    dscale: i32,
    /// How many finite numbers.
    pub finite: i64,
    nan: i64,
    infinite: i64,
    neg_infinite: i64,
}

const FAST_MAX: u128 = 10u128.pow(37);

impl NumericSum {
    /// Takes in a stored value.
    #[inline]
    pub fn add(&mut self, bytes: &[u8]) {
        match Small::decode(bytes) {
            Some(small) => self.add_small(small, 1),
            None => self.add_numeric(&Numeric::decode(bytes), 1),
        }
    }

    /// Takes a stored value out again.
    pub fn remove(&mut self, bytes: &[u8]) {
        match Small::decode(bytes) {
            Some(small) => self.add_small(Small { mantissa: -small.mantissa, ..small }, -1),
            None => self.add_numeric(&Numeric::decode(bytes).neg(), -1),
        }
    }

    /// Takes in an integer.
    #[inline]
    pub fn add_i64(&mut self, n: i64) {
        self.add_small(Small { mantissa: n as i128, scale: 0 }, 1);
    }

    #[inline]
    fn add_small(&mut self, small: Small, count: i64) {
        self.finite += count;
        self.dscale = self.dscale.max(small.scale as i32);
        if small.scale > self.scale {
            match self.fast.checked_mul(pow10(small.scale - self.scale)) {
                Some(fast) if fast.unsigned_abs() < FAST_MAX => {
                    self.fast = fast;
                    self.scale = small.scale;
                }
                _ => self.spill(),
            }
        }
        if let Some(m) = small.rescale(self.scale.max(small.scale))
            && m.unsigned_abs() < FAST_MAX
            && self.scale >= small.scale
        {
            self.fast += m;
            if self.fast.unsigned_abs() >= FAST_MAX {
                self.spill();
            }
        } else {
            self.add_slow(&Numeric::decode(&small.encode()));
        }
    }

    fn spill(&mut self) {
        let number = Numeric::decode(&super::small::from_scaled(self.fast, self.scale));
        self.fast = 0;
        self.scale = 0;
        self.add_slow(&number);
    }

    fn add_slow(&mut self, number: &Numeric) {
        let sum = match self.slow.take() {
            Some(slow) => slow.add(number),
            None => number.clone(),
        };
        self.slow = Some(Box::new(sum));
    }

    /// Takes in a number `count` (1 or -1) times as far as counts go.
    fn add_numeric(&mut self, number: &Numeric, count: i64) {
        match (number.kind, number.negative == (count < 0)) {
            (Kind::NaN, _) => self.nan += count,
            (Kind::Infinity, true) => self.infinite += count,
            (Kind::Infinity, false) => self.neg_infinite += count,
            (Kind::Finite, _) => {
                self.finite += count;
                self.dscale = self.dscale.max(number.dscale);
                self.add_slow(number);
            }
        }
    }

    /// How many numbers.
    pub fn count(&self) -> i64 {
        self.finite + self.nan + self.infinite + self.neg_infinite
    }

    /// The sum.
    pub fn total(&self) -> Numeric {
        if self.nan > 0 || (self.infinite > 0 && self.neg_infinite > 0) {
            return Numeric::NAN;
        }
        if self.infinite > 0 {
            return Numeric::INFINITY;
        }
        if self.neg_infinite > 0 {
            return Numeric::NEG_INFINITY;
        }
        let mut total = Numeric::decode(&super::small::from_scaled(self.fast, self.scale));
        if let Some(slow) = &self.slow {
            total = total.add(slow);
        }
        total.dscale = self.dscale;
        total
    }

    /// The average; None of nothing.
    pub fn average(&self) -> Option<Numeric> {
        match self.count() {
            0 => None,
            n => self.total().div(&Numeric::from(n)).ok(),
        }
    }

    /// Takes in another sum.
    pub fn merge(&mut self, other: &NumericSum) {
        if other.finite > 0 {
            let finite = NumericSum { nan: 0, infinite: 0, neg_infinite: 0, ..other.clone() };
            let count = self.finite + other.finite;
            self.add_numeric(&finite.total(), 1);
            self.finite = count;
        }
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.neg_infinite += other.neg_infinite;
    }

    /// The state as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let finite = NumericSum { nan: 0, infinite: 0, neg_infinite: 0, ..self.clone() };
        let mut out = Vec::new();
        for n in [self.finite, self.nan, self.infinite, self.neg_infinite] {
            out.extend_from_slice(&n.to_le_bytes());
        }
        out.extend_from_slice(finite.total().to_string().as_bytes());
        out
    }

    /// The state that [`NumericSum::to_bytes`] made these bytes of.
    pub fn from_bytes(bytes: &[u8]) -> Option<NumericSum> {
        let (counts, text) = bytes.split_at_checked(32)?;
        let mut n = counts
            .chunks_exact(8)
            .map(|c| i64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]));
        let mut sum = NumericSum {
            finite: n.next()?,
            nan: n.next()?,
            infinite: n.next()?,
            neg_infinite: n.next()?,
            ..NumericSum::default()
        };
        let number = super::parse(std::str::from_utf8(text).ok()?).ok()?;
        sum.dscale = number.dscale;
        sum.add_slow(&number);
        Some(sum)
    }
}
