//! Polygons.

use super::flat::segments_meet;
use super::shape::{overlap, segments};
use super::{Point, Result, distance, nearer};
use crate::scalar::float::{add, div, mul, sub};
use base::{bail, err};
use types::geo::{Circle, Lseg, Polygon, Rect, near, near_zero};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Side {
    Outside,
    Inside,
    Border,
}

/// Where a point is: how often a ray to the right crosses the border.
pub(super) fn inside(points: &[Point], q: Point) -> Side {
    let n = points.len();
    if n == 0 {
        return Side::Outside;
    }
    let mut crossings = false;
    for i in 0..n {
        let a = Point { x: points[i].x - q.x, y: points[i].y - q.y };
        let b = points[(i + 1) % n];
        let b = Point { x: b.x - q.x, y: b.y - q.y };
        // Where nobody knows on which side a corner is, the point is on the border.
        if a.x.is_nan() && (a.y.is_nan() || near_zero(a.y)) {
            return Side::Border;
        }
        if near_zero(a.x) && near_zero(a.y) {
            return Side::Border;
        }
        let cross = a.x * b.y - b.x * a.y;
        let dot = a.x * b.x + a.y * b.y;
        if near_zero(cross) && dot <= 0.0 {
            return Side::Border;
        }
        if (a.y > 0.0) != (b.y > 0.0) {
            // The edge crosses the axis; to the right of the point if the signs agree.
            let right = if b.y > a.y { cross > 0.0 } else { cross < 0.0 };
            crossings ^= right;
        }
    }
    if crossings { Side::Inside } else { Side::Outside }
}

pub(super) fn contains_point(p: &Polygon, q: Point) -> bool {
    inside(&p.points, q) != Side::Outside
}

/// Whether a segment lies in a polygon: its ends do, and the middle of each piece that the
/// polygon's edges cut it into.
fn contains_segment(outer: &[Point], l: &Lseg) -> Result<bool> {
    if l.p.iter().any(|p| inside(outer, *p) == Side::Outside) {
        return Ok(false);
    }
    let along = |p: &Point| (p.x - l.p[0].x).abs() + (p.y - l.p[0].y).abs();
    let mut cuts = vec![l.p[0], l.p[1]];
    for edge in segments(outer, true) {
        if let Some(p) = segments_meet(l, &edge)? {
            cuts.push(p);
        }
        for end in edge.p {
            if super::flat::on_segment(l, end)? {
                cuts.push(end);
            }
        }
    }
    cuts.sort_by(|a, b| along(a).total_cmp(&along(b)));
    for pair in cuts.windows(2) {
        let middle = Point { x: (pair[0].x + pair[1].x) / 2.0, y: (pair[0].y + pair[1].y) / 2.0 };
        if inside(outer, middle) == Side::Outside {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn contains(outer: &Polygon, inner: &Polygon) -> Result<bool> {
    let (a, b) = (Rect::around(&outer.points), Rect::around(&inner.points));
    if !super::shape::box_contains(&a, &b) {
        return Ok(false);
    }
    for l in segments(&inner.points, true) {
        if !contains_segment(&outer.points, &l)? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(super) fn overlaps(a: &Polygon, b: &Polygon) -> Result<bool> {
    if !overlap(&Rect::around(&a.points), &Rect::around(&b.points)) {
        return Ok(false);
    }
    for l in segments(&a.points, true) {
        for m in segments(&b.points, true) {
            base::interrupt::step()?;
            if segments_meet(&l, &m)?.is_some() {
                return Ok(true);
            }
        }
    }
    let first = |p: &Polygon| p.points.first().copied().unwrap_or_default();
    Ok(contains_point(a, first(b)) || contains_point(b, first(a)))
}

/// The same corners, from another one on or the other way round.
pub(super) fn same(a: &Polygon, b: &Polygon) -> bool {
    let n = a.points.len();
    if n != b.points.len() || n == 0 {
        return n == b.points.len();
    }
    (0..n).any(|shift| {
        let forward = (0..n).all(|i| a.points[i].same(b.points[(i + shift) % n]));
        forward || (0..n).all(|i| a.points[i].same(b.points[(shift + n - i) % n]))
    })
}

pub(super) fn polygon_distance(a: &Polygon, b: &Polygon) -> Result<f64> {
    if overlaps(a, b)? {
        return Ok(0.0);
    }
    let mut best: Option<f64> = None;
    for l in segments(&a.points, true) {
        for m in segments(&b.points, true) {
            base::interrupt::step()?;
            let d = super::flat::nearest_of_segments(&l, &m)?.1;
            if best.is_none_or(|b| nearer(d, b)) {
                best = Some(d);
            }
        }
    }
    Ok(best.unwrap_or(0.0))
}

pub(super) fn point_distance(p: &Polygon, q: Point) -> Result<f64> {
    if contains_point(p, q) {
        return Ok(0.0);
    }
    super::shape::point_to_segments(&p.points, true, q)
}

pub(super) fn circle_distance(p: &Polygon, c: &Circle) -> Result<f64> {
    let gap = sub(point_distance(p, c.center)?, c.radius)?;
    Ok(if gap < 0.0 { 0.0 } else { gap })
}

/// The circle around the mean of the corners, with their mean distance as radius.
pub(super) fn to_circle(p: &Polygon) -> Result<Circle> {
    let n = p.points.len() as f64;
    let mut center = Point::default();
    for q in &p.points {
        center = super::flat::plus(center, *q)?;
    }
    let center = Point { x: div(center.x, n)?, y: div(center.y, n)? };
    let mut radius = 0.0;
    for q in &p.points {
        radius = add(radius, distance(*q, center)?)?;
    }
    Ok(Circle { center, radius: div(radius, n)? })
}

pub(super) fn of_circle(n: i32, c: &Circle) -> Result<Polygon> {
    if near_zero(c.radius) {
        return Err(err!(
            FEATURE_NOT_SUPPORTED,
            "cannot convert circle with radius zero to polygon"
        ));
    }
    if n < 2 {
        bail!(INVALID_PARAMETER_VALUE, "must request at least 2 points");
    }
    let size = i64::from(n) * 16 + 40;
    if size > i64::from(i32::MAX) {
        bail!(PROGRAM_LIMIT_EXCEEDED, "too many points requested");
    }
    if size > 0x3fff_ffff {
        bail!(INTERNAL_ERROR, "invalid memory alloc request size {size}");
    }
    let step = 2.0 * std::f64::consts::PI / n as f64;
    let mut points = Vec::with_capacity(n as usize);
    for i in 0..n {
        let angle = mul(step, i as f64)?;
        points.push(Point {
            x: sub(c.center.x, mul(c.radius, angle.cos()).unwrap_or(0.0))?,
            y: add(c.center.y, mul(c.radius, angle.sin()).unwrap_or(0.0))?,
        });
    }
    Ok(Polygon { points })
}

/// Nearly equal areas.
pub(super) fn equal_area(a: f64, b: f64) -> bool {
    near(a, b)
}
