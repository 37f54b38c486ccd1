//! Points, lines and line segments.

use super::{Point, Result, distance, nearer, same_length};
use crate::scalar::float::{add, div, mul, sub};
use types::geo::{Line, Lseg, Rect, near, near_zero};

pub(super) fn plus(p: Point, q: Point) -> Result<Point> {
    Ok(Point { x: add(p.x, q.x)?, y: add(p.y, q.y)? })
}

pub(super) fn minus(p: Point, q: Point) -> Result<Point> {
    Ok(Point { x: sub(p.x, q.x)?, y: sub(p.y, q.y)? })
}

/// The product as complex numbers: turns and stretches.
pub(super) fn times(p: Point, q: Point) -> Result<Point> {
    // Of two products that are out of range the second one is told.
    let (yy, yx) = (mul(p.y, q.y)?, mul(p.y, q.x)?);
    Ok(Point { x: sub(mul(p.x, q.x)?, yy)?, y: add(mul(p.x, q.y)?, yx)? })
}

pub(super) fn over(p: Point, q: Point) -> Result<Point> {
    // Of two products that are out of range the second one is told.
    let sum = |xx: fn(f64, f64) -> Result<f64>, a: (f64, f64), b: (f64, f64)| {
        let second = mul(b.0, b.1)?;
        xx(mul(a.0, a.1)?, second)
    };
    let square = sum(add, (q.x, q.x), (q.y, q.y))?;
    Ok(Point {
        x: div(sum(add, (p.x, q.x), (p.y, q.y))?, square)?,
        y: div(sum(sub, (p.y, q.x), (p.x, q.y))?, square)?,
    })
}

/// The slope of what is upright on the line through two points.
fn inverse_slope(p: Point, q: Point) -> f64 {
    if near(p.x, q.x) {
        return 0.0;
    }
    if near(p.y, q.y) {
        return f64::INFINITY;
    }
    (p.x - q.x) / (q.y - p.y)
}

pub(super) fn slope_of(l: &Line) -> f64 {
    if near_zero(l.a) {
        return 0.0;
    }
    if near_zero(l.b) {
        return f64::INFINITY;
    }
    l.a / -l.b
}

fn upright_slope(l: &Line) -> f64 {
    if near_zero(l.a) {
        return f64::INFINITY;
    }
    if near_zero(l.b) {
        return 0.0;
    }
    l.b / l.a
}

pub(super) fn line_through(l: &Lseg) -> Line {
    Line::with_slope(l.p[0], l.p[0].slope(l.p[1]))
}

/// Where two lines meet; None if they are parallel.
pub(super) fn meet(l: &Line, m: &Line) -> Result<Option<Point>> {
    let (x, y);
    if !near_zero(l.b) {
        if near(m.a, mul(l.a, div(m.b, l.b)?)?) {
            return Ok(None);
        }
        let bottom = sub(mul(l.a, m.b)?, mul(m.a, l.b)?)?;
        x = div(sub(mul(l.b, m.c)?, mul(m.b, l.c)?)?, bottom)?;
        y = div(-add(mul(l.a, x)?, l.c)?, l.b)?;
    } else if !near_zero(m.b) {
        if near(l.a, mul(m.a, div(l.b, m.b)?)?) {
            return Ok(None);
        }
        let bottom = sub(mul(m.a, l.b)?, mul(l.a, m.b)?)?;
        x = div(sub(mul(m.b, l.c)?, mul(l.b, m.c)?)?, bottom)?;
        y = div(-add(mul(m.a, x)?, m.c)?, m.b)?;
    } else {
        return Ok(None);
    }
    // Adding zero makes a negative zero positive.
    Ok(Some(Point { x: x + 0.0, y: y + 0.0 }))
}

pub(super) fn lines_equal(l: &Line, m: &Line) -> Result<bool> {
    let all = [l.a, l.b, l.c, m.a, m.b, m.c];
    if all.iter().any(|x| x.is_nan()) {
        let eq = |a, b| types::compare::compare_f64(a, b).is_eq();
        return Ok(eq(l.a, m.a) && eq(l.b, m.b) && eq(l.c, m.c));
    }
    let ratio = if !near_zero(m.a) {
        div(l.a, m.a)?
    } else if !near_zero(m.b) {
        div(l.b, m.b)?
    } else if !near_zero(m.c) {
        div(l.c, m.c)?
    } else {
        1.0
    };
    Ok(near(l.a, mul(ratio, m.a)?) && near(l.b, mul(ratio, m.b)?) && near(l.c, mul(ratio, m.c)?))
}

pub(super) fn lines_upright(l: &Line, m: &Line) -> Result<bool> {
    if near_zero(l.a) {
        return Ok(near_zero(m.b));
    }
    if near_zero(m.a) {
        return Ok(near_zero(l.b));
    }
    if near_zero(l.b) {
        return Ok(near_zero(m.a));
    }
    if near_zero(m.b) {
        return Ok(near_zero(l.a));
    }
    Ok(near(div(mul(l.a, m.a)?, mul(l.b, m.b)?)?, -1.0))
}

pub(super) fn line_distance(l: &Line, m: &Line) -> Result<f64> {
    if meet(l, m)?.is_some() {
        return Ok(0.0);
    }
    let usable = |x: f64, y: f64| !near_zero(x) && !x.is_nan() && !near_zero(y) && !y.is_nan();
    let ratio = if usable(l.a, m.a) {
        div(l.a, m.a)?
    } else if usable(l.b, m.b) {
        div(l.b, m.b)?
    } else {
        1.0
    };
    div(sub(l.c, mul(ratio, m.c)?)?.abs(), super::hypot(l.a, l.b)?)
}

pub(super) fn on_line(l: &Line, p: Point) -> Result<bool> {
    Ok(near_zero(add(add(mul(l.a, p.x)?, mul(l.b, p.y)?)?, l.c)?))
}

/// The point of a line nearest to another one, and how far it is.
pub(super) fn nearest_on_line(l: &Line, p: Point) -> Result<(Point, f64)> {
    let upright = Line::with_slope(p, upright_slope(l));
    match meet(&upright, l)? {
        Some(q) => Ok((q, distance(p, q)?)),
        // Only lines of NaN or infinity come here.
        None => Ok((Point { x: f64::NAN, y: f64::NAN }, f64::NAN)),
    }
}

pub(super) fn on_segment(l: &Lseg, p: Point) -> Result<bool> {
    let sum = add(distance(p, l.p[0])?, distance(p, l.p[1])?)?;
    Ok(same_length(sum, distance(l.p[0], l.p[1])?))
}

/// Where a segment meets a line; an end that is near takes its place.
pub(super) fn segment_meets_line(l: &Lseg, line: &Line) -> Result<Option<Point>> {
    let Some(p) = meet(&line_through(l), line)? else { return Ok(None) };
    if !on_segment(l, p)? {
        return Ok(None);
    }
    Ok(Some(l.p.into_iter().find(|end| end.same(p)).unwrap_or(p)))
}

pub(super) fn segments_meet(l: &Lseg, m: &Lseg) -> Result<Option<Point>> {
    let Some(p) = segment_meets_line(l, &line_through(m))? else { return Ok(None) };
    Ok(if on_segment(m, p)? { Some(p) } else { None })
}

/// The point of a segment nearest to another one, and how far it is.
pub(super) fn nearest_on_segment(l: &Lseg, p: Point) -> Result<(Point, f64)> {
    let upright = Line::with_slope(p, inverse_slope(l.p[0], l.p[1]));
    // The end nearer to the line that is upright on the segment.
    let (q, _) = segment_to_line(l, &upright)?;
    Ok((q, distance(p, q)?))
}

/// The point of `m` nearest to segment `l`, and how far it is.
pub(super) fn nearest_of_segments(l: &Lseg, m: &Lseg) -> Result<(Point, f64)> {
    if let Some(p) = segments_meet(l, m)? {
        return Ok((p, 0.0));
    }
    let mut best = nearest_on_segment(m, l.p[0])?;
    let other = nearest_on_segment(m, l.p[1])?;
    if nearer(other.1, best.1) {
        best = other;
    }
    for end in m.p {
        let d = nearest_on_segment(l, end)?.1;
        if nearer(d, best.1) {
            best = (end, d);
        }
    }
    Ok(best)
}

pub(super) fn segment_to_line(l: &Lseg, line: &Line) -> Result<(Point, f64)> {
    if let Some(p) = segment_meets_line(l, line)? {
        return Ok((p, 0.0));
    }
    let first = nearest_on_line(line, l.p[0])?.1;
    let second = nearest_on_line(line, l.p[1])?.1;
    Ok(if nearer(first, second) { (l.p[0], first) } else { (l.p[1], second) })
}

pub(super) fn segments_upright(l: &Lseg, m: &Lseg) -> bool {
    near(l.p[0].slope(l.p[1]), inverse_slope(m.p[0], m.p[1]))
}

pub(super) fn segments_parallel(l: &Lseg, m: &Lseg) -> bool {
    near(l.p[0].slope(l.p[1]), m.p[0].slope(m.p[1]))
}

pub(super) fn center(l: &Lseg) -> Result<Point> {
    Ok(Point { x: div(add(l.p[0].x, l.p[1].x)?, 2.0)?, y: div(add(l.p[0].y, l.p[1].y)?, 2.0)? })
}

pub(super) fn edges(b: &Rect) -> [Lseg; 4] {
    let (low_high, high_low) =
        (Point { x: b.low.x, y: b.high.y }, Point { x: b.high.x, y: b.low.y });
    [
        Lseg { p: [b.low, low_high] },
        Lseg { p: [b.high, low_high] },
        Lseg { p: [b.low, high_low] },
        Lseg { p: [b.high, high_low] },
    ]
}
