//! Variance, standard deviation, regression.

use super::state::{State, TypedState};
use crate::call::FnCtx;
use crate::scalar::float::overflow;
use base::Result;
use types::Datum;
use types::numeric::small::{Small, from_scaled, pow10};
use types::numeric::{Kind, Numeric};

/// What is asked of a sample.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Moment {
    Average,
    VarPop,
    VarSamp,
    StddevPop,
    StddevSamp,
}

/// Count, sum and sum of squared differences (Youngs and Cramer).
#[derive(Clone)]
pub(super) struct FloatMoments {
    n: f64,
    sum: f64,
    squares: f64,
    result: Moment,
}

impl FloatMoments {
    pub(super) fn new(result: Moment) -> FloatMoments {
        FloatMoments { n: 0.0, sum: 0.0, squares: 0.0, result }
    }

    /// Goes on from what [`State::save`] gave.
    pub(super) fn restore(&mut self, saved: &[Datum]) {
        if let [n, sum, squares] = saved {
            (self.n, self.sum, self.squares) = (n.as_f64(), sum.as_f64(), squares.as_f64());
        }
    }
}

impl TypedState<'_, f64> for FloatMoments {
    #[inline]
    fn add(&mut self, x: f64) -> Result<()> {
        let old = self.sum;
        self.n += 1.0;
        self.sum += x;
        if self.n > 1.0 {
            let t = x * self.n - self.sum;
            self.squares += t * t / (self.n * (self.n - 1.0));
            if self.sum.is_infinite() || self.squares.is_infinite() {
                if !old.is_infinite() && !x.is_infinite() {
                    return Err(overflow());
                }
                self.squares = f64::NAN;
            }
        } else if x.is_nan() || x.is_infinite() {
            self.squares = f64::NAN;
        }
        Ok(())
    }
}

impl TypedState<'_, f32> for FloatMoments {
    #[inline]
    fn add(&mut self, x: f32) -> Result<()> {
        TypedState::<f64>::add(self, x as f64)
    }
}

impl State for FloatMoments {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        match args[0] {
            Datum::F64(x) => TypedState::<f64>::add(self, x),
            Datum::F32(x) => TypedState::<f64>::add(self, x as f64),
            _ => Ok(()),
        }
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        let n = self.n;
        let sample = matches!(self.result, Moment::VarSamp | Moment::StddevSamp);
        if n == 0.0 || (sample && n <= 1.0) {
            return Ok(Datum::Null);
        }
        Ok(Datum::F64(match self.result {
            Moment::Average => self.sum / n,
            Moment::VarPop => self.squares / n,
            Moment::VarSamp => self.squares / (n - 1.0),
            Moment::StddevPop => (self.squares / n).sqrt(),
            Moment::StddevSamp => (self.squares / (n - 1.0)).sqrt(),
        }))
    }
    fn save(&self) -> Vec<Datum> {
        vec![Datum::F64(self.n), Datum::F64(self.sum), Datum::F64(self.squares)]
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        let (n, sum, squares) = (saved[0].as_f64(), saved[1].as_f64(), saved[2].as_f64());
        if n == 0.0 {
            return Ok(());
        }
        if self.n == 0.0 {
            (self.n, self.sum, self.squares) = (n, sum, squares);
            return Ok(());
        }
        let total = self.n + n;
        let t = self.sum / self.n - sum / n;
        self.squares += squares + self.n * n * t * t / total;
        self.n = total;
        self.sum += sum;
        Ok(())
    }
}

/// What is asked of pairs.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Regression {
    Sxx,
    Syy,
    Sxy,
    AvgX,
    AvgY,
    R2,
    Slope,
    Intercept,
    CovarPop,
    CovarSamp,
    Corr,
}

/// Sums over pairs (y, x).
#[derive(Clone)]
pub(super) struct Pairs {
    n: f64,
    sx: f64,
    sxx: f64,
    sy: f64,
    syy: f64,
    sxy: f64,
    result: Regression,
}

impl Pairs {
    pub(super) fn new(result: Regression) -> Pairs {
        Pairs { n: 0.0, sx: 0.0, sxx: 0.0, sy: 0.0, syy: 0.0, sxy: 0.0, result }
    }

    /// Goes on from what [`State::save`] gave.
    pub(super) fn restore(&mut self, saved: &[Datum]) {
        let v: Vec<f64> = saved.iter().map(Datum::as_f64).collect();
        if let [n, sx, sxx, sy, syy, sxy] = v[..] {
            *self = Pairs { n, sx, sxx, sy, syy, sxy, result: self.result };
        }
    }
}

impl State for Pairs {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        let (y, x) = (args[0].as_f64(), args[1].as_f64());
        let (old_x, old_y) = (self.sx, self.sy);
        self.n += 1.0;
        self.sx += x;
        self.sy += y;
        if self.n > 1.0 {
            let tx = x * self.n - self.sx;
            let ty = y * self.n - self.sy;
            let scale = 1.0 / (self.n * (self.n - 1.0));
            self.sxx += tx * tx * scale;
            self.syy += ty * ty * scale;
            self.sxy += tx * ty * scale;
            let all = [self.sx, self.sxx, self.sy, self.syy, self.sxy];
            if all.iter().any(|v| v.is_infinite()) {
                let x_fine = !old_x.is_infinite() && !x.is_infinite();
                let y_fine = !old_y.is_infinite() && !y.is_infinite();
                if ((self.sx.is_infinite() || self.sxx.is_infinite()) && x_fine)
                    || ((self.sy.is_infinite() || self.syy.is_infinite()) && y_fine)
                    || (self.sxy.is_infinite() && x_fine && y_fine)
                {
                    return Err(overflow());
                }
                if self.sxx.is_infinite() {
                    self.sxx = f64::NAN;
                }
                if self.syy.is_infinite() {
                    self.syy = f64::NAN;
                }
                if self.sxy.is_infinite() {
                    self.sxy = f64::NAN;
                }
            }
        } else {
            if !x.is_finite() {
                self.sxx = f64::NAN;
                self.sxy = f64::NAN;
            }
            if !y.is_finite() {
                self.syy = f64::NAN;
                self.sxy = f64::NAN;
            }
        }
        Ok(())
    }

    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        let n = self.n;
        let least = if self.result == Regression::CovarSamp { 2.0 } else { 1.0 };
        if n < least {
            return Ok(Datum::Null);
        }
        let value = match self.result {
            Regression::Sxx => self.sxx,
            Regression::Syy => self.syy,
            Regression::Sxy => self.sxy,
            Regression::AvgX => self.sx / n,
            Regression::AvgY => self.sy / n,
            Regression::CovarPop => self.sxy / n,
            Regression::CovarSamp => self.sxy / (n - 1.0),
            Regression::Corr if self.sxx == 0.0 || self.syy == 0.0 => return Ok(Datum::Null),
            Regression::Corr => {
                let product = self.sxx * self.syy;
                let r = if product == 0.0 || product.is_infinite() {
                    self.sxy / (self.sxx.sqrt() * self.syy.sqrt())
                } else {
                    self.sxy / product.sqrt()
                };
                if r.is_nan() { r } else { r.clamp(-1.0, 1.0) }
            }
            _ if self.sxx == 0.0 => return Ok(Datum::Null),
            Regression::R2 if self.syy == 0.0 => 1.0,
            Regression::R2 => (self.sxy * self.sxy) / (self.sxx * self.syy),
            Regression::Slope => self.sxy / self.sxx,
            Regression::Intercept => (self.sy - self.sx * self.sxy / self.sxx) / n,
        };
        Ok(Datum::F64(value))
    }

    fn save(&self) -> Vec<Datum> {
        [self.n, self.sx, self.sxx, self.sy, self.syy, self.sxy].map(Datum::F64).to_vec()
    }

    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        let v: Vec<f64> = saved.iter().map(Datum::as_f64).collect();
        let [n, sx, sxx, sy, syy, sxy] = v[..] else { return Ok(()) };
        if n == 0.0 {
            return Ok(());
        }
        if self.n == 0.0 {
            *self = Pairs { n, sx, sxx, sy, syy, sxy, result: self.result };
            return Ok(());
        }
        let total = self.n + n;
        let tx = self.sx / self.n - sx / n;
        let ty = self.sy / self.n - sy / n;
        self.sxx += sxx + self.n * n * tx * tx / total;
        self.syy += syy + self.n * n * ty * ty / total;
        self.sxy += sxy + self.n * n * tx * ty / total;
        self.n = total;
        self.sx += sx;
        self.sy += sy;
        Ok(())
    }
}

/// Exact count, sum and sum of squares, of numerics and integers. Small numbers add up in 128
/// bits at one scale, as long as that holds them; others in full.
#[derive(Clone)]
pub(super) struct ExactMoments {
    n: i64,
    special: i64,
    /// Sum of the small numbers with `scale` digits after the point, of their squares with twice
    /// as many.
    small: (i128, i128),
    scale: u32,
    sum: Numeric,
    squares: Numeric,
    result: Moment,
}

/// Sums up to here cannot overflow by one more small number.
const SMALL_SUM_MAX: i128 = 10i128.pow(37);
/// Digits after the point, whose double a sum of squares has.
const SCALE_MAX: u32 = 12;
/// Numbers whose squares are small enough.
const SMALL_MAX: u128 = 10u128.pow(18);

impl ExactMoments {
    pub(super) fn new(result: Moment) -> ExactMoments {
        ExactMoments {
            n: 0,
            special: 0,
            small: (0, 0),
            scale: 0,
            sum: Numeric::ZERO,
            squares: Numeric::ZERO,
            result,
        }
    }

    fn take(&mut self, value: &Datum, sign: i64) {
        match value {
            Datum::Bytes(b) => self.take_stored(b, sign),
            other => {
                let n = other.to_i64();
                let small = Small { mantissa: n as i128, scale: 0 };
                if !self.take_small(small, sign) {
                    self.take_numeric(&Numeric::from(n), sign);
                }
            }
        }
    }

    #[inline]
    fn take_stored(&mut self, bytes: &[u8], sign: i64) {
        let small = Small::decode(bytes);
        if !small.is_some_and(|small| self.take_small(small, sign)) {
            self.take_numeric(&Numeric::decode(bytes), sign);
        }
    }

    /// Takes a number in 128 bits; false if it is too large for that.
    #[inline]
    fn take_small(&mut self, number: Small, sign: i64) -> bool {
        if number.scale > SCALE_MAX {
            return false;
        }
        if number.scale > self.scale {
            self.spill();
            self.scale = number.scale;
        }
        let m = match self.scale - number.scale {
            0 => number.mantissa,
            shift => match number.mantissa.checked_mul(pow10(shift)) {
                Some(m) => m,
                None => return false,
            },
        };
        if m.unsigned_abs() >= SMALL_MAX {
            return false;
        }
        let m64 = m as i64 as i128;
        let (sum, squares) = &mut self.small;
        *sum += m64 * sign as i128;
        *squares += m64 * m64 * sign as i128;
        if squares.abs() >= SMALL_SUM_MAX || sum.abs() >= SMALL_SUM_MAX {
            self.spill();
        }
        self.n += sign;
        true
    }

    /// Puts what 128 bits hold with the rest.
    fn spill(&mut self) {
        let (sum, squares) = self.exact();
        (self.sum, self.squares, self.small) = (sum, squares, (0, 0));
    }

    /// The whole sums.
    fn exact(&self) -> (Numeric, Numeric) {
        if self.small == (0, 0) && self.scale as i32 <= self.sum.dscale {
            return (self.sum.clone(), self.squares.clone());
        }
        let part = |n, scale| Numeric::decode(&from_scaled(n, scale));
        let sum = self.sum.add(&part(self.small.0, self.scale));
        (sum, self.squares.add(&part(self.small.1, 2 * self.scale)))
    }

    fn take_numeric(&mut self, x: &Numeric, sign: i64) {
        self.n += sign;
        if x.kind != Kind::Finite {
            self.special += sign;
            return;
        }
        let square = x.mul_scale(x, 2 * x.dscale);
        if sign > 0 {
            self.sum = self.sum.add(x);
            self.squares = self.squares.add(&square);
        } else {
            self.sum = self.sum.sub(x);
            self.squares = self.squares.sub(&square);
        }
    }
}

impl<'a> TypedState<'a, &'a [u8]> for ExactMoments {
    #[inline]
    fn add(&mut self, value: &'a [u8]) -> Result<()> {
        self.take_stored(value, 1);
        Ok(())
    }
}

impl State for ExactMoments {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        self.take(&args[0], 1);
        Ok(())
    }

    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        let sample = matches!(self.result, Moment::VarSamp | Moment::StddevSamp);
        if self.n == 0 || (sample && self.n <= 1) {
            return Ok(Datum::Null);
        }
        if self.special > 0 {
            return Ok(Datum::Bytes(Numeric::NAN.encode()?));
        }
        let n = Numeric::from(self.n);
        let (sum, squares) = self.exact();
        let scale = sum.dscale * 2;
        let difference = n.mul_scale(&squares, scale).sub(&sum.mul_scale(&sum, scale));
        if difference.signum() <= 0 {
            return Ok(Datum::Bytes(Numeric::ZERO.encode()?));
        }
        let divisor = n.mul(&if sample { Numeric::from(self.n - 1) } else { n.clone() });
        let scale = difference.div_scale(&divisor);
        let variance = difference.div_to(&divisor, scale, true);
        let out = match self.result {
            Moment::StddevPop | Moment::StddevSamp => variance.sqrt_scale(scale),
            _ => variance,
        };
        Ok(Datum::Bytes(out.encode()?))
    }

    fn save(&self) -> Vec<Datum> {
        let (sum, squares) = self.exact();
        vec![
            Datum::I64(self.n),
            Datum::I64(self.special),
            Datum::Bytes(sum.to_unlimited()),
            Datum::Bytes(squares.to_unlimited()),
        ]
    }

    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.n += saved[0].as_i64();
        self.special += saved[1].as_i64();
        self.sum = self.sum.add(&Numeric::from_unlimited(saved[2].as_bytes()));
        self.squares = self.squares.add(&Numeric::from_unlimited(saved[3].as_bytes()));
        Ok(())
    }

    fn retract(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<bool> {
        // The scale of what is taken out would stay: only integers can be.
        if matches!(args[0], Datum::Bytes(_)) {
            return Ok(false);
        }
        self.take(&args[0], -1);
        Ok(true)
    }

    fn memory(&self) -> usize {
        64
    }
}
