//! Sums and averages.

use super::state::{State, TypedState};
use crate::call::FnCtx;
use crate::scalar::int::int8_range;
use base::{Result, err};
use types::datetime::Interval;
use types::numeric::small::from_scaled;
use types::numeric::{Numeric, NumericSum};
use types::{Blob, Datum};

/// What the sum of integers becomes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum IntResult {
    /// bigint, checked.
    I64,
    /// numeric
    Numeric,
    /// The average, numeric.
    Average,
}

/// Sum of integers in 128 bits, which no number of rows overflows.
#[derive(Clone)]
pub(super) struct SumInt {
    pub(super) sum: i128,
    pub(super) count: i64,
    pub(super) result: IntResult,
}

impl SumInt {
    pub(super) fn new(result: IntResult) -> SumInt {
        SumInt { sum: 0, count: 0, result }
    }
}

macro_rules! add_int {
    ($($t:ty),*) => {$(
        impl TypedState<'_, $t> for SumInt {
            #[inline(always)]
            fn add(&mut self, value: $t) -> Result<()> {
                self.sum += value as i128;
                self.count += 1;
                Ok(())
            }
        }
    )*};
}
add_int!(i16, i32, i64);

impl State for SumInt {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        self.sum += args[0].to_i64() as i128;
        self.count += 1;
        Ok(())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        if self.count == 0 {
            return Ok(Datum::Null);
        }
        Ok(match self.result {
            IntResult::I64 => Datum::I64(i64::try_from(self.sum).map_err(|_| int8_range())?),
            IntResult::Numeric => Datum::Bytes(from_scaled(self.sum, 0)),
            IntResult::Average => {
                let average = Numeric::from(self.sum).div(&Numeric::from(self.count))?;
                Datum::Bytes(average.encode()?)
            }
        })
    }
    fn save(&self) -> Vec<Datum> {
        vec![Datum::bytes(self.sum.to_le_bytes().to_vec()), Datum::I64(self.count)]
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        let mut bytes = [0; 16];
        let stored = saved[0].as_bytes();
        bytes[..stored.len().min(16)].copy_from_slice(&stored[..stored.len().min(16)]);
        self.sum += i128::from_le_bytes(bytes);
        self.count += saved[1].as_i64();
        Ok(())
    }
    fn retract(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<bool> {
        self.sum -= args[0].to_i64() as i128;
        self.count -= 1;
        Ok(true)
    }
}

/// Sum of floats.
#[derive(Clone, Default)]
pub(super) struct SumFloat<T> {
    sum: Option<T>,
}

macro_rules! sum_float {
    ($t:ty, $variant:ident) => {
        impl TypedState<'_, $t> for SumFloat<$t> {
            #[inline(always)]
            fn add(&mut self, value: $t) -> Result<()> {
                let Some(old) = self.sum else {
                    self.sum = Some(value);
                    return Ok(());
                };
                let sum = old + value;
                if sum.is_infinite() && !old.is_infinite() && !value.is_infinite() {
                    return Err(crate::scalar::float::overflow());
                }
                self.sum = Some(sum);
                Ok(())
            }
        }

        impl State for SumFloat<$t> {
            fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
                match args[0] {
                    Datum::$variant(x) => self.add(x),
                    _ => Ok(()),
                }
            }
            fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
                Ok(self.sum.map_or(Datum::Null, Datum::$variant))
            }
            fn save(&self) -> Vec<Datum> {
                vec![self.sum.map_or(Datum::Null, Datum::$variant)]
            }
            fn merge(&mut self, cx: &mut FnCtx, saved: &[Datum]) -> Result<()> {
                self.step(cx, saved)
            }
        }
    };
}
sum_float!(f64, F64);
sum_float!(f32, F32);

/// Sum or average of numerics.
#[derive(Clone)]
pub(super) struct SumNumeric {
    sum: NumericSum,
    average: bool,
}

impl SumNumeric {
    pub(super) fn new(average: bool) -> SumNumeric {
        SumNumeric { sum: NumericSum::default(), average }
    }
}

impl<'a> TypedState<'a, &'a [u8]> for SumNumeric {
    #[inline]
    fn add(&mut self, value: &'a [u8]) -> Result<()> {
        self.sum.add(value);
        Ok(())
    }
}

impl State for SumNumeric {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        self.sum.add(args[0].as_bytes());
        Ok(())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        if self.sum.count() == 0 {
            return Ok(Datum::Null);
        }
        let total = self.sum.total();
        let out = if self.average { total.div(&Numeric::from(self.sum.count()))? } else { total };
        Ok(Datum::Bytes(out.encode()?))
    }
    fn save(&self) -> Vec<Datum> {
        vec![Datum::bytes(self.sum.to_bytes())]
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        let other = NumericSum::from_bytes(saved[0].as_bytes())
            .ok_or_else(|| err!(DATA_CORRUPTED, "invalid state of a sum"))?;
        self.sum.merge(&other);
        Ok(())
    }
    fn memory(&self) -> usize {
        64
    }
}

/// Sum or average of intervals.
#[derive(Clone)]
pub(super) struct SumInterval {
    sum: Interval,
    finite: i64,
    infinite: i64,
    neg_infinite: i64,
    average: bool,
}

impl SumInterval {
    pub(super) fn new(average: bool) -> SumInterval {
        SumInterval { sum: Interval::default(), finite: 0, infinite: 0, neg_infinite: 0, average }
    }

    fn take(&mut self, value: Interval, sign: i64) -> Result<()> {
        if value == Interval::INFINITY {
            self.infinite += sign;
        } else if value == Interval::NEG_INFINITY {
            self.neg_infinite += sign;
        } else {
            self.sum = if sign > 0 { self.sum.add(value)? } else { self.sum.sub(value)? };
            self.finite += sign;
        }
        Ok(())
    }
}

impl State for SumInterval {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        self.take(Interval::decode(args[0].as_bytes()), 1)
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        if self.infinite > 0 && self.neg_infinite > 0 {
            return Err(err!(DATETIME_FIELD_OVERFLOW, "interval out of range"));
        }
        let out = if self.infinite > 0 {
            Interval::INFINITY
        } else if self.neg_infinite > 0 {
            Interval::NEG_INFINITY
        } else if self.finite == 0 {
            return Ok(Datum::Null);
        } else if self.average {
            self.sum.div(self.finite as f64)?
        } else {
            self.sum
        };
        Ok(Datum::Bytes(Blob::new(&out.encode())))
    }
    fn save(&self) -> Vec<Datum> {
        vec![
            Datum::bytes(self.sum.encode().to_vec()),
            Datum::I64(self.finite),
            Datum::I64(self.infinite),
            Datum::I64(self.neg_infinite),
        ]
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.sum = self.sum.add(Interval::decode(saved[0].as_bytes()))?;
        self.finite += saved[1].as_i64();
        self.infinite += saved[2].as_i64();
        self.neg_infinite += saved[3].as_i64();
        Ok(())
    }
    fn retract(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<bool> {
        self.take(Interval::decode(args[0].as_bytes()), -1)?;
        Ok(true)
    }
}
