//! Geometric types: their values, stored form and text form.
//!
//! ```text
//! point  x y        lseg  two points          line  A B C (Ax + By + C = 0)
//! box    high, low  circle  centre, radius    path  u8 closed | points     polygon  points
//! ```
//! All numbers are little-endian doubles.

mod text;

pub use text::{
    box_in, box_text, circle_in, circle_text, line_in, line_text, lseg_in, lseg_text, path_in,
    path_text, point_in, point_text, polygon_in, polygon_text,
};

/// Numbers nearer than this count as equal.
pub const EPSILON: f64 = 1.0e-6;

/// A point.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Point {
    /// Along the first axis.
    pub x: f64,
    /// Along the second axis.
    pub y: f64,
}

/// A piece of a straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lseg {
    /// Its ends.
    pub p: [Point; 2],
}

/// The points where `ax + by + c = 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Factor of x.
    pub a: f64,
    /// Factor of y.
    pub b: f64,
    /// The constant.
    pub c: f64,
}

/// A rectangle along the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// The corner up and to the right.
    pub high: Point,
    /// The corner down and to the left.
    pub low: Point,
}

/// A circle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circle {
    /// Its centre.
    pub center: Point,
    /// Its radius.
    pub radius: f64,
}

/// Points joined by lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Whether the last point is joined with the first.
    pub closed: bool,
    /// The points in order.
    pub points: Vec<Point>,
}

fn put(out: &mut Vec<u8>, numbers: &[f64]) {
    for x in numbers {
        out.extend_from_slice(&x.to_le_bytes());
    }
}

fn number(b: &[u8], i: usize) -> f64 {
    let bytes = b.get(i * 8..i * 8 + 8).and_then(|s| s.try_into().ok());
    bytes.map_or(0.0, f64::from_le_bytes)
}

fn points(b: &[u8]) -> Vec<Point> {
    (0..b.len() / 16).map(|i| point_at(b, 2 * i)).collect()
}

fn point_at(b: &[u8], i: usize) -> Point {
    Point { x: number(b, i), y: number(b, i + 1) }
}

/// A value with a stored form.
pub trait Stored: Sized {
    /// Reads the stored form; what is missing reads as zero.
    fn load(bytes: &[u8]) -> Self;
    /// The stored form.
    fn store(&self) -> Vec<u8>;
}

impl Stored for Point {
    fn load(b: &[u8]) -> Point {
        point_at(b, 0)
    }
    fn store(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        put(&mut out, &[self.x, self.y]);
        out
    }
}

impl Stored for Lseg {
    fn load(b: &[u8]) -> Lseg {
        Lseg { p: [point_at(b, 0), point_at(b, 2)] }
    }
    fn store(&self) -> Vec<u8> {
        let [p, q] = self.p;
        let mut out = Vec::with_capacity(32);
        put(&mut out, &[p.x, p.y, q.x, q.y]);
        out
    }
}

impl Stored for Line {
    fn load(b: &[u8]) -> Line {
        Line { a: number(b, 0), b: number(b, 1), c: number(b, 2) }
    }
    fn store(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        put(&mut out, &[self.a, self.b, self.c]);
        out
    }
}

impl Stored for Rect {
    fn load(b: &[u8]) -> Rect {
        Rect { high: point_at(b, 0), low: point_at(b, 2) }
    }
    fn store(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(32);
        put(&mut out, &[self.high.x, self.high.y, self.low.x, self.low.y]);
        out
    }
}

impl Stored for Circle {
    fn load(b: &[u8]) -> Circle {
        Circle { center: point_at(b, 0), radius: number(b, 2) }
    }
    fn store(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        put(&mut out, &[self.center.x, self.center.y, self.radius]);
        out
    }
}

impl Stored for Path {
    fn load(b: &[u8]) -> Path {
        let closed = b.first().is_some_and(|c| *c != 0);
        Path { closed, points: points(b.get(1..).unwrap_or_default()) }
    }
    fn store(&self) -> Vec<u8> {
        let mut out = vec![self.closed as u8];
        for p in &self.points {
            put(&mut out, &[p.x, p.y]);
        }
        out
    }
}

/// The corners of a polygon.
#[derive(Clone, Debug, PartialEq)]
pub struct Polygon {
    /// The corners in order.
    pub points: Vec<Point>,
}

impl Stored for Polygon {
    fn load(b: &[u8]) -> Polygon {
        Polygon { points: points(b) }
    }
    fn store(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.points.len() * 16);
        for p in &self.points {
            put(&mut out, &[p.x, p.y]);
        }
        out
    }
}

impl Rect {
    /// The rectangle between two opposite corners.
    pub fn new(p: Point, q: Point) -> Rect {
        let order = |a: f64, b: f64| {
            if crate::compare::compare_f64(a, b).is_gt() { (a, b) } else { (b, a) }
        };
        let ((hx, lx), (hy, ly)) = (order(p.x, q.x), order(p.y, q.y));
        Rect { high: Point { x: hx, y: hy }, low: Point { x: lx, y: ly } }
    }

    /// The smallest rectangle around some points.
    pub fn around(points: &[Point]) -> Rect {
        let mut all = points.iter();
        let first = all.next().copied().unwrap_or_default();
        let mut out = Rect { high: first, low: first };
        for p in all {
            // NaN is beyond all numbers, as in their order.
            let less = |a, b| crate::compare::compare_f64(a, b).is_lt();
            if less(p.x, out.low.x) {
                out.low.x = p.x;
            }
            if less(out.high.x, p.x) {
                out.high.x = p.x;
            }
            if less(p.y, out.low.y) {
                out.low.y = p.y;
            }
            if less(out.high.y, p.y) {
                out.high.y = p.y;
            }
        }
        out
    }
}

/// Equal or nearly so.
pub fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= EPSILON
}

/// Zero or nearly so.
pub fn near_zero(a: f64) -> bool {
    a.abs() <= EPSILON
}

impl Line {
    /// The line through a point with a slope; an infinite slope is upright.
    pub fn with_slope(p: Point, slope: f64) -> Line {
        if slope.is_infinite() {
            return Line { a: -1.0, b: 0.0, c: p.x };
        }
        if slope == 0.0 {
            return Line { a: 0.0, b: -1.0, c: p.y };
        }
        // Adding zero makes a negative zero positive.
        Line { a: slope, b: -1.0, c: p.y - slope * p.x + 0.0 }
    }
}

impl Point {
    /// The slope of the line to another point.
    pub fn slope(self, q: Point) -> f64 {
        if near(self.x, q.x) {
            return f64::INFINITY;
        }
        if near(self.y, q.y) {
            return 0.0;
        }
        (self.y - q.y) / (self.x - q.x)
    }

    /// Nearly the same point; points with NaN are compared exactly.
    pub fn same(self, q: Point) -> bool {
        if self.x.is_nan() || self.y.is_nan() || q.x.is_nan() || q.y.is_nan() {
            let eq = |a: f64, b: f64| crate::compare::compare_f64(a, b).is_eq();
            return eq(self.x, q.x) && eq(self.y, q.y);
        }
        near(self.x, q.x) && near(self.y, q.y)
    }
}
