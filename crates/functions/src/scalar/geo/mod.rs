//! Geometric functions: comparison with a tolerance, distances, nearest points, containment.

mod area;
mod flat;
mod list;
mod shape;

use crate::call::FnDef;
use crate::kernel::{ArgType, IntoDatum};
use base::Result;
use types::geo::{Circle, EPSILON, Line, Lseg, Path, Point, Polygon, Rect, Stored, near};
use types::{Column, Datum};

pub(crate) const FNS: &[&[FnDef]] = &[
    list::POINTS,
    list::LINES,
    list::RECTS,
    list::RECT_ORDER,
    list::CIRCLE_ORDER,
    list::PATHS,
    list::POLYGONS,
    list::CIRCLES,
];

macro_rules! value {
    ($($t:ty),*) => {$(
        impl<'a> ArgType<'a> for $t {
            type Reader = ();
            fn reader(_: &'a Column) {}
            fn read(_: (), _: usize) -> $t {
                <$t>::load(&[])
            }
            fn of(value: &'a Datum) -> $t {
                <$t>::load(value.as_bytes())
            }
        }
        impl IntoDatum for $t {
            fn into_datum(self) -> Datum {
                Datum::bytes(self.store())
            }
        }
    )*};
}
value!(Point, Lseg, Line, Rect, Path, Polygon, Circle);

fn lt(a: f64, b: f64) -> bool {
    b - a > EPSILON
}

fn le(a: f64, b: f64) -> bool {
    a <= b || a - b <= EPSILON
}

fn gt(a: f64, b: f64) -> bool {
    a - b > EPSILON
}

fn ge(a: f64, b: f64) -> bool {
    a >= b || b - a <= EPSILON
}

fn ne(a: f64, b: f64) -> bool {
    a != b && (a - b).abs() > EPSILON
}

/// Length of the hypotenuse, without a needless overflow.
fn hypot(x: f64, y: f64) -> Result<f64> {
    if x.is_infinite() || y.is_infinite() {
        return Ok(f64::INFINITY);
    }
    if x.is_nan() || y.is_nan() {
        return Ok(f64::NAN);
    }
    let (x, y) = (x.abs(), y.abs());
    let (x, y) = if x < y { (y, x) } else { (x, y) };
    if y == 0.0 {
        return Ok(x);
    }
    let ratio = y / x;
    let result = x * (1.0 + ratio * ratio).sqrt();
    if result.is_infinite() {
        return Err(super::float::overflow());
    }
    if result == 0.0 {
        return Err(super::float::underflow());
    }
    Ok(result)
}

fn distance(p: Point, q: Point) -> Result<f64> {
    hypot(super::float::sub(p.x, q.x)?, super::float::sub(p.y, q.y)?)
}

/// The smaller of two distances; NaN counts as larger than all.
fn nearer(a: f64, b: f64) -> bool {
    types::compare::compare_f64(a, b).is_lt()
}

fn same_length(a: f64, b: f64) -> bool {
    near(a, b)
}
