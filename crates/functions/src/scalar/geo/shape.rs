//! Boxes, paths and circles.

use super::flat::{
    edges, nearest_of_segments, nearest_on_segment, on_segment, segments_meet, times,
};
use super::{Point, Result, distance, hypot, le, nearer};
use crate::scalar::float::{add, div, mul, sub};
use types::geo::{Circle, Line, Lseg, Path, Rect};

pub(super) fn in_box(b: &Rect, p: Point) -> bool {
    b.high.x >= p.x && b.low.x <= p.x && b.high.y >= p.y && b.low.y <= p.y
}

pub(super) fn overlap(a: &Rect, b: &Rect) -> bool {
    le(a.low.x, b.high.x) && le(b.low.x, a.high.x) && le(a.low.y, b.high.y) && le(b.low.y, a.high.y)
}

pub(super) fn box_contains(a: &Rect, b: &Rect) -> bool {
    super::ge(a.high.x, b.high.x)
        && le(a.low.x, b.low.x)
        && super::ge(a.high.y, b.high.y)
        && le(a.low.y, b.low.y)
}

pub(super) fn box_center(b: &Rect) -> Result<Point> {
    Ok(Point { x: div(add(b.high.x, b.low.x)?, 2.0)?, y: div(add(b.high.y, b.low.y)?, 2.0)? })
}

pub(super) fn width(b: &Rect) -> Result<f64> {
    sub(b.high.x, b.low.x)
}

pub(super) fn height(b: &Rect) -> Result<f64> {
    sub(b.high.y, b.low.y)
}

pub(super) fn box_area(b: &Rect) -> Result<f64> {
    mul(width(b)?, height(b)?)
}

pub(super) fn around_both(a: &Rect, b: &Rect) -> Rect {
    Rect::around(&[a.low, a.high, b.low, b.high])
}

/// Multiplies or divides both corners.
pub(super) fn turn(b: &Rect, q: Point, f: fn(Point, Point) -> Result<Point>) -> Result<Rect> {
    Ok(Rect::new(f(b.high, q)?, f(b.low, q)?))
}

pub(super) fn nearest_in_box(b: &Rect, p: Point) -> Result<(Point, f64)> {
    if in_box(b, p) {
        return Ok((p, 0.0));
    }
    let [first, rest @ ..] = edges(b);
    let mut best = nearest_on_segment(&first, p)?;
    for edge in rest {
        let found = nearest_on_segment(&edge, p)?;
        if nearer(found.1, best.1) {
            best = found;
        }
    }
    Ok(best)
}

/// The point of the box nearest to a segment; the segment's point nearest to the centre if they
/// have points in common.
pub(super) fn nearest_to_segment(b: &Rect, l: &Lseg) -> Result<(Point, f64)> {
    if segment_meets_box(b, l)? {
        return Ok((nearest_on_segment(l, box_center(b)?)?.0, 0.0));
    }
    let [first, rest @ ..] = edges(b);
    let mut best = nearest_of_segments(l, &first)?;
    for edge in rest {
        let found = nearest_of_segments(l, &edge)?;
        if nearer(found.1, best.1) {
            best = found;
        }
    }
    Ok(best)
}

pub(super) fn segment_meets_box(b: &Rect, l: &Lseg) -> Result<bool> {
    if !overlap(b, &Rect::around(&l.p)) {
        return Ok(false);
    }
    if in_box(b, l.p[0]) || in_box(b, l.p[1]) {
        return Ok(true);
    }
    for edge in edges(b) {
        if segments_meet(l, &edge)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn line_meets_box(l: &Line, b: &Rect) -> Result<bool> {
    for edge in edges(b) {
        if super::flat::segment_meets_line(&edge, l)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The segments of a path, the closing one too.
pub(super) fn segments(points: &[Point], closed: bool) -> impl Iterator<Item = Lseg> + '_ {
    let n = points.len();
    let count = if closed { n } else { n.saturating_sub(1) };
    (0..count).map(move |i| Lseg { p: [points[i], points[(i + 1) % n]] })
}

pub(super) fn path_length(p: &Path) -> Result<f64> {
    segments(&p.points, p.closed).try_fold(0.0, |sum, l| add(sum, distance(l.p[0], l.p[1])?))
}

pub(super) fn path_area(p: &Path) -> Result<Option<f64>> {
    if !p.closed {
        return Ok(None);
    }
    let mut sum = 0.0;
    for l in segments(&p.points, true) {
        sum = add(sum, mul(l.p[0].x, l.p[1].y)?)?;
        sum = sub(sum, mul(l.p[0].y, l.p[1].x)?)?;
    }
    Ok(Some((sum / 2.0).abs()))
}

pub(super) fn paths_meet(a: &Path, b: &Path) -> Result<bool> {
    if a.points.is_empty() || b.points.is_empty() {
        return Ok(false);
    }
    if !overlap(&Rect::around(&a.points), &Rect::around(&b.points)) {
        return Ok(false);
    }
    for l in segments(&a.points, a.closed) {
        for m in segments(&b.points, b.closed) {
            base::interrupt::step()?;
            if segments_meet(&l, &m)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

pub(super) fn path_distance(a: &Path, b: &Path) -> Result<Option<f64>> {
    let mut best: Option<f64> = None;
    for l in segments(&a.points, a.closed) {
        for m in segments(&b.points, b.closed) {
            base::interrupt::step()?;
            let d = nearest_of_segments(&l, &m)?.1;
            if best.is_none_or(|b| nearer(d, b)) {
                best = Some(d);
            }
        }
    }
    Ok(best)
}

pub(super) fn point_to_segments(points: &[Point], closed: bool, p: Point) -> Result<f64> {
    let mut best: Option<f64> = None;
    for l in segments(points, closed) {
        base::interrupt::step()?;
        let d = nearest_on_segment(&l, p)?.1;
        if best.is_none_or(|b| nearer(d, b)) {
            best = Some(d);
        }
    }
    match (best, points.first()) {
        (Some(d), _) => Ok(d),
        (None, Some(q)) => distance(p, *q),
        (None, None) => Ok(0.0),
    }
}

pub(super) fn on_path(p: &Path, q: Point) -> Result<bool> {
    if p.closed {
        return Ok(super::area::inside(&p.points, q) != super::area::Side::Outside);
    }
    for l in segments(&p.points, false) {
        if on_segment(&l, q)? {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(super) fn moved(
    points: &[Point],
    q: Point,
    f: fn(Point, Point) -> Result<Point>,
) -> Result<Vec<Point>> {
    points.iter().map(|p| f(*p, q)).collect()
}

pub(super) fn circle_distance(a: &Circle, b: &Circle) -> Result<f64> {
    let gap = sub(distance(a.center, b.center)?, add(a.radius, b.radius)?)?;
    Ok(if gap < 0.0 { 0.0 } else { gap })
}

pub(super) fn circle_area(c: &Circle) -> Result<f64> {
    mul(mul(c.radius, c.radius)?, std::f64::consts::PI)
}

pub(super) fn circle_times(c: &Circle, q: Point) -> Result<Circle> {
    Ok(Circle { center: times(c.center, q)?, radius: mul(c.radius, hypot(q.x, q.y)?)? })
}

pub(super) fn circle_over(c: &Circle, q: Point) -> Result<Circle> {
    Ok(Circle { center: super::flat::over(c.center, q)?, radius: div(c.radius, hypot(q.x, q.y)?)? })
}

pub(super) fn circle_box(c: &Circle) -> Result<Rect> {
    let delta = div(c.radius, 2f64.sqrt())?;
    Ok(Rect {
        high: Point { x: add(c.center.x, delta)?, y: add(c.center.y, delta)? },
        low: Point { x: sub(c.center.x, delta)?, y: sub(c.center.y, delta)? },
    })
}
