//! The bodies by their symbols.

use super::area::{self, contains, overlaps, polygon_distance, same};
use super::flat::*;
use super::shape::*;
use super::{Circle, Line, Lseg, Path, Point, Polygon, Rect, distance, ge, gt, le, lt, ne};
use crate::call::FnDef;
use base::{bail, err};
use types::Datum;
use types::geo::near;

/// A truth that an error did not get in the way of.
fn sure(value: bool) -> base::Result<bool> {
    Ok(value)
}

fn bad_line() -> base::Error {
    err!(INVALID_PARAMETER_VALUE, "invalid line specification: must be two distinct points")
}

pub(super) const POINTS: &[FnDef] = &[
    row!(point_above(p: Point, q: Point) { gt(p.y, q.y) }),
    row!(point_below(p: Point, q: Point) { lt(p.y, q.y) }),
    row!(point_left(p: Point, q: Point) { lt(p.x, q.x) }),
    row!(point_right(p: Point, q: Point) { gt(p.x, q.x) }),
    row!(point_eq(p: Point, q: Point) { p.same(q) }),
    row!(point_ne(p: Point, q: Point) { !p.same(q) }),
    row!(point_vert(p: Point, q: Point) { near(p.x, q.x) }),
    row!(point_horiz(p: Point, q: Point) { near(p.y, q.y) }),
    row!(point_distance(p: Point, q: Point) { distance(p, q) }),
    row!(point_slope(p: Point, q: Point) { p.slope(q) }),
    row!(construct_point(x: f64, y: f64) { Point { x, y } }),
    row!(point_add(p: Point, q: Point) { plus(p, q) }),
    row!(point_sub(p: Point, q: Point) { minus(p, q) }),
    row!(point_mul(p: Point, q: Point) { times(p, q) }),
    row!(point_div(p: Point, q: Point) { over(p, q) }),
    row!(point_box(p: Point) { Rect { high: p, low: p } }),
    row!(points_box(p: Point, q: Point) { Rect::new(p, q) }),
];

pub(super) const LINES: &[FnDef] = &[
    row!(lseg_construct(p: Point, q: Point) { Lseg { p: [p, q] } }),
    row!(lseg_center(l: Lseg) { center(&l) }),
    row!(lseg_distance(l: Lseg, m: Lseg) { nearest_of_segments(&l, &m).map(|f| f.1) }),
    row!(lseg_interpt(l: Lseg, m: Lseg) { segments_meet(&l, &m) }),
    row!(lseg_intersect(l: Lseg, m: Lseg) { segments_meet(&l, &m).map(|p| p.is_some()) }),
    row!(lseg_parallel(l: Lseg, m: Lseg) { segments_parallel(&l, &m) }),
    row!(lseg_perp(l: Lseg, m: Lseg) { segments_upright(&l, &m) }),
    row!(lseg_vertical(l: Lseg) { near(l.p[0].x, l.p[1].x) }),
    row!(lseg_horizontal(l: Lseg) { near(l.p[0].y, l.p[1].y) }),
    row!(lseg_eq(l: Lseg, m: Lseg) { l.p[0].same(m.p[0]) && l.p[1].same(m.p[1]) }),
    row!(lseg_ne(l: Lseg, m: Lseg) { !l.p[0].same(m.p[0]) || !l.p[1].same(m.p[1]) }),
    row!(lseg_lt(l: Lseg, m: Lseg) {
        lt(distance(l.p[0], l.p[1])?, distance(m.p[0], m.p[1])?)
    }),
    row!(lseg_le(l: Lseg, m: Lseg) {
        le(distance(l.p[0], l.p[1])?, distance(m.p[0], m.p[1])?)
    }),
    row!(lseg_gt(l: Lseg, m: Lseg) {
        gt(distance(l.p[0], l.p[1])?, distance(m.p[0], m.p[1])?)
    }),
    row!(lseg_ge(l: Lseg, m: Lseg) {
        ge(distance(l.p[0], l.p[1])?, distance(m.p[0], m.p[1])?)
    }),
    row!(lseg_length(l: Lseg) { distance(l.p[0], l.p[1]) }),
    row!(inter_sl(l: Lseg, m: Line) { segment_meets_line(&l, &m).map(|p| p.is_some()) }),
    row!(inter_sb(l: Lseg, b: Rect) { segment_meets_box(&b, &l) }),
    row!(inter_lb(l: Line, b: Rect) { line_meets_box(&l, &b) }),
    row!(dist_ps(p: Point, l: Lseg) { nearest_on_segment(&l, p).map(|f| f.1) }),
    row!(dist_sp(l: Lseg, p: Point) { nearest_on_segment(&l, p).map(|f| f.1) }),
    row!(dist_sb(l: Lseg, b: Rect) { nearest_to_segment(&b, &l).map(|f| f.1) }),
    row!(dist_bs(b: Rect, l: Lseg) { nearest_to_segment(&b, &l).map(|f| f.1) }),
    row!(dist_pl(p: Point, l: Line) { nearest_on_line(&l, p).map(|f| f.1) }),
    row!(dist_lp(l: Line, p: Point) { nearest_on_line(&l, p).map(|f| f.1) }),
    row!(dist_ls(l: Line, s: Lseg) { segment_to_line(&s, &l).map(|f| f.1) }),
    row!(dist_sl(s: Lseg, l: Line) { segment_to_line(&s, &l).map(|f| f.1) }),
    row!(close_ps(p: Point, l: Lseg) { known(nearest_on_segment(&l, p)?) }),
    row!(close_pl(p: Point, l: Line) { known(nearest_on_line(&l, p)?) }),
    row!(close_pb(p: Point, b: Rect) { known(nearest_in_box(&b, p)?) }),
    row!(close_sb(l: Lseg, b: Rect) { known(nearest_to_segment(&b, &l)?) }),
    row!(close_ls(l: Line, s: Lseg) {
        if slope_of(&l) == s.p[0].slope(s.p[1]) {
            return Ok(Datum::Null);
        }
        known(segment_to_line(&s, &l)?)
    }),
    row!(close_lseg(l: Lseg, m: Lseg) {
        if l.p[0].slope(l.p[1]) == m.p[0].slope(m.p[1]) {
            return Ok(Datum::Null);
        }
        known(nearest_of_segments(&l, &m)?)
    }),
    row!(on_pl(p: Point, l: Line) { on_line(&l, p) }),
    row!(on_ps(p: Point, l: Lseg) { on_segment(&l, p) }),
    row!(on_sl(s: Lseg, l: Line) { sure(on_line(&l, s.p[0])? && on_line(&l, s.p[1])?) }),
    row!(on_sb(s: Lseg, b: Rect) { in_box(&b, s.p[0]) && in_box(&b, s.p[1]) }),
    row!(line_eq(l: Line, m: Line) { lines_equal(&l, &m) }),
    row!(line_construct_pp(p: Point, q: Point) {
        if p.same(q) {
            return Err(bad_line());
        }
        Line::with_slope(p, p.slope(q))
    }),
    row!(line_interpt(l: Line, m: Line) { meet(&l, &m) }),
    row!(line_intersect(l: Line, m: Line) { meet(&l, &m).map(|p| p.is_some()) }),
    row!(line_parallel(l: Line, m: Line) { meet(&l, &m).map(|p| p.is_none()) }),
    row!(line_perp(l: Line, m: Line) { lines_upright(&l, &m) }),
    row!(line_vertical(l: Line) { types::geo::near_zero(l.b) }),
    row!(line_horizontal(l: Line) { types::geo::near_zero(l.a) }),
    row!(line_distance(l: Line, m: Line) { super::flat::line_distance(&l, &m) }),
];

/// A nearest point; none if there is no distance to speak of.
fn known(found: (Point, f64)) -> Option<Point> {
    (!found.1.is_nan()).then_some(found.0)
}

macro_rules! by_area {
    ($t:ty, $area:ident; $eq:ident $ne:ident $lt:ident $le:ident $gt:ident $ge:ident) => {
        &[
            row!($eq(a: $t, b: $t) { sure(area::equal_area($area(&a)?, $area(&b)?)) }),
            row!($ne(a: $t, b: $t) { sure(ne($area(&a)?, $area(&b)?)) }),
            row!($lt(a: $t, b: $t) { sure(lt($area(&a)?, $area(&b)?)) }),
            row!($le(a: $t, b: $t) { sure(le($area(&a)?, $area(&b)?)) }),
            row!($gt(a: $t, b: $t) { sure(gt($area(&a)?, $area(&b)?)) }),
            row!($ge(a: $t, b: $t) { sure(ge($area(&a)?, $area(&b)?)) }),
        ]
    };
}

pub(super) const RECT_ORDER: &[FnDef] =
    by_area!(Rect, box_area; box_eq box_area_ne box_lt box_le box_gt box_ge);
pub(super) const CIRCLE_ORDER: &[FnDef] =
    by_area!(Circle, circle_area; circle_eq circle_ne circle_lt circle_le circle_gt circle_ge);

pub(super) const RECTS: &[FnDef] = &[
    row!(box_same(a: Rect, b: Rect) { a.high.same(b.high) && a.low.same(b.low) }),
    row!(box_overlap(a: Rect, b: Rect) { overlap(&a, &b) }),
    row!(box_left(a: Rect, b: Rect) { lt(a.high.x, b.low.x) }),
    row!(box_overleft(a: Rect, b: Rect) { le(a.high.x, b.high.x) }),
    row!(box_right(a: Rect, b: Rect) { gt(a.low.x, b.high.x) }),
    row!(box_overright(a: Rect, b: Rect) { ge(a.low.x, b.low.x) }),
    row!(box_below(a: Rect, b: Rect) { lt(a.high.y, b.low.y) }),
    row!(box_overbelow(a: Rect, b: Rect) { le(a.high.y, b.high.y) }),
    row!(box_above(a: Rect, b: Rect) { gt(a.low.y, b.high.y) }),
    row!(box_overabove(a: Rect, b: Rect) { ge(a.low.y, b.low.y) }),
    row!(box_below_eq(a: Rect, b: Rect) { le(a.high.y, b.low.y) }),
    row!(box_above_eq(a: Rect, b: Rect) { ge(a.low.y, b.high.y) }),
    row!(box_contain(a: Rect, b: Rect) { box_contains(&a, &b) }),
    row!(box_contained(a: Rect, b: Rect) { box_contains(&b, &a) }),
    row!(box_contain_pt(a: Rect, p: Point) { in_box(&a, p) }),
    row!(on_pb(p: Point, a: Rect) { in_box(&a, p) }),
    row!(box_center(a: Rect) { super::shape::box_center(&a) }),
    row!(box_area(a: Rect) { super::shape::box_area(&a) }),
    row!(box_width(a: Rect) { width(&a) }),
    row!(box_height(a: Rect) { height(&a) }),
    row!(box_distance(a: Rect, b: Rect) {
        distance(super::shape::box_center(&a)?, super::shape::box_center(&b)?)
    }),
    row!(box_intersect(a: Rect, b: Rect) {
        if !overlap(&a, &b) {
            return Ok(Datum::Null);
        }
        Rect {
            high: Point { x: a.high.x.min(b.high.x), y: a.high.y.min(b.high.y) },
            low: Point { x: a.low.x.max(b.low.x), y: a.low.y.max(b.low.y) },
        }
    }),
    row!(box_diagonal(a: Rect) { Lseg { p: [a.high, a.low] } }),
    row!(dist_pb(p: Point, b: Rect) { nearest_in_box(&b, p).map(|f| f.1) }),
    row!(dist_bp(b: Rect, p: Point) { nearest_in_box(&b, p).map(|f| f.1) }),
    row!(box_add(a: Rect, p: Point) { turn(&a, p, plus) }),
    row!(box_sub(a: Rect, p: Point) { turn(&a, p, minus) }),
    row!(box_mul(a: Rect, p: Point) { turn(&a, p, times) }),
    row!(box_div(a: Rect, p: Point) { turn(&a, p, over) }),
    row!(boxes_bound_box(a: Rect, b: Rect) { around_both(&a, &b) }),
    row!(box_poly(a: Rect) {
        Polygon {
            points: vec![
                a.low,
                Point { x: a.low.x, y: a.high.y },
                a.high,
                Point { x: a.high.x, y: a.low.y },
            ],
        }
    }),
    row!(box_circle(a: Rect) {
        let center = super::shape::box_center(&a)?;
        Circle { center, radius: distance(center, a.high)? }
    }),
];

pub(super) const PATHS: &[FnDef] = &[
    row!(path_inter(a: Path, b: Path) { paths_meet(&a, &b) }),
    row!(path_area(a: Path) { super::shape::path_area(&a) }),
    row!(path_length(a: Path) { super::shape::path_length(&a) }),
    row!(path_n_lt(a: Path, b: Path) { a.points.len() < b.points.len() }),
    row!(path_n_le(a: Path, b: Path) { a.points.len() <= b.points.len() }),
    row!(path_n_eq(a: Path, b: Path) { a.points.len() == b.points.len() }),
    row!(path_n_gt(a: Path, b: Path) { a.points.len() > b.points.len() }),
    row!(path_n_ge(a: Path, b: Path) { a.points.len() >= b.points.len() }),
    row!(path_distance(a: Path, b: Path) { super::shape::path_distance(&a, &b) }),
    row!(dist_ppath(p: Point, a: Path) { point_to_segments(&a.points, a.closed, p) }),
    row!(dist_pathp(a: Path, p: Point) { point_to_segments(&a.points, a.closed, p) }),
    row!(on_ppath(p: Point, a: Path) { on_path(&a, p) }),
    row!(path_contain_pt(a: Path, p: Point) { on_path(&a, p) }),
    row!("1426"(a: Path, p: Point) { on_path(&a, p) }),
    row!(path_isclosed(a: Path) { a.closed }),
    row!(path_isopen(a: Path) { !a.closed }),
    row!(path_npoints(a: Path) { a.points.len() as i32 }),
    row!(path_close(a: Path) { Path { closed: true, points: a.points } }),
    row!(path_open(a: Path) { Path { closed: false, points: a.points } }),
    row!(path_add(a: Path, b: Path) {
        if a.closed || b.closed {
            return Ok(Datum::Null);
        }
        Path { closed: false, points: [a.points, b.points].concat() }
    }),
    row!(path_add_pt(a: Path, p: Point) {
        Path { closed: a.closed, points: moved(&a.points, p, plus)? }
    }),
    row!(path_sub_pt(a: Path, p: Point) {
        Path { closed: a.closed, points: moved(&a.points, p, minus)? }
    }),
    row!(path_mul_pt(a: Path, p: Point) {
        Path { closed: a.closed, points: moved(&a.points, p, times)? }
    }),
    row!(path_div_pt(a: Path, p: Point) {
        Path { closed: a.closed, points: moved(&a.points, p, over)? }
    }),
    row!(path_poly(a: Path) {
        if !a.closed {
            bail!(INVALID_PARAMETER_VALUE, "open path cannot be converted to polygon");
        }
        Polygon { points: a.points }
    }),
];

fn bounds(p: &Polygon) -> Rect {
    Rect::around(&p.points)
}

pub(super) const POLYGONS: &[FnDef] = &[
    row!(poly_same(a: Polygon, b: Polygon) { same(&a, &b) }),
    row!(poly_contain(a: Polygon, b: Polygon) { contains(&a, &b) }),
    row!(poly_contained(a: Polygon, b: Polygon) { contains(&b, &a) }),
    row!(poly_overlap(a: Polygon, b: Polygon) { overlaps(&a, &b) }),
    row!(poly_left(a: Polygon, b: Polygon) { bounds(&a).high.x < bounds(&b).low.x }),
    row!(poly_overleft(a: Polygon, b: Polygon) { bounds(&a).high.x <= bounds(&b).high.x }),
    row!(poly_right(a: Polygon, b: Polygon) { bounds(&a).low.x > bounds(&b).high.x }),
    row!(poly_overright(a: Polygon, b: Polygon) { bounds(&a).low.x >= bounds(&b).low.x }),
    row!(poly_below(a: Polygon, b: Polygon) { bounds(&a).high.y < bounds(&b).low.y }),
    row!(poly_overbelow(a: Polygon, b: Polygon) { bounds(&a).high.y <= bounds(&b).high.y }),
    row!(poly_above(a: Polygon, b: Polygon) { bounds(&a).low.y > bounds(&b).high.y }),
    row!(poly_overabove(a: Polygon, b: Polygon) { bounds(&a).low.y >= bounds(&b).low.y }),
    row!(poly_contain_pt(a: Polygon, p: Point) { area::contains_point(&a, p) }),
    row!(pt_contained_poly(p: Point, a: Polygon) { area::contains_point(&a, p) }),
    row!(poly_distance(a: Polygon, b: Polygon) { polygon_distance(&a, &b) }),
    row!(dist_ppoly(p: Point, a: Polygon) { area::point_distance(&a, p) }),
    row!(dist_polyp(a: Polygon, p: Point) { area::point_distance(&a, p) }),
    row!(dist_cpoly(c: Circle, a: Polygon) { area::circle_distance(&a, &c) }),
    row!(dist_polyc(a: Polygon, c: Circle) { area::circle_distance(&a, &c) }),
    row!(poly_npoints(a: Polygon) { a.points.len() as i32 }),
    row!(poly_center(a: Polygon) { area::to_circle(&a).map(|c| c.center) }),
    row!(poly_box(a: Polygon) { bounds(&a) }),
    row!(spg_poly_quad_compress(a: Polygon) { bounds(&a) }),
    row!(poly_path(a: Polygon) { Path { closed: true, points: a.points } }),
    row!(poly_circle(a: Polygon) { area::to_circle(&a) }),
    row!(circle_poly(n: i32, c: Circle) { area::of_circle(n, &c) }),
    row!("1544"(c: Circle) { area::of_circle(12, &c) }),
];

pub(super) const CIRCLES: &[FnDef] = &[
    row!(circle_same(a: Circle, b: Circle) {
        ((a.radius.is_nan() && b.radius.is_nan()) || near(a.radius, b.radius))
            && a.center.same(b.center)
    }),
    row!(circle_contain(a: Circle, b: Circle) {
        sure(le(distance(a.center, b.center)?, a.radius - b.radius))
    }),
    row!(circle_contained(a: Circle, b: Circle) {
        sure(le(distance(a.center, b.center)?, b.radius - a.radius))
    }),
    row!(circle_overlap(a: Circle, b: Circle) {
        sure(le(distance(a.center, b.center)?, a.radius + b.radius))
    }),
    row!(circle_left(a: Circle, b: Circle) {
        lt(a.center.x + a.radius, b.center.x - b.radius)
    }),
    row!(circle_overleft(a: Circle, b: Circle) {
        le(a.center.x + a.radius, b.center.x + b.radius)
    }),
    row!(circle_right(a: Circle, b: Circle) {
        gt(a.center.x - a.radius, b.center.x + b.radius)
    }),
    row!(circle_overright(a: Circle, b: Circle) {
        ge(a.center.x - a.radius, b.center.x - b.radius)
    }),
    row!(circle_below(a: Circle, b: Circle) {
        lt(a.center.y + a.radius, b.center.y - b.radius)
    }),
    row!(circle_overbelow(a: Circle, b: Circle) {
        le(a.center.y + a.radius, b.center.y + b.radius)
    }),
    row!(circle_above(a: Circle, b: Circle) {
        gt(a.center.y - a.radius, b.center.y + b.radius)
    }),
    row!(circle_overabove(a: Circle, b: Circle) {
        ge(a.center.y - a.radius, b.center.y - b.radius)
    }),
    row!(circle_area(a: Circle) { super::shape::circle_area(&a) }),
    row!(circle_diameter(a: Circle) { crate::scalar::float::mul(a.radius, 2.0) }),
    row!(circle_radius(a: Circle) { a.radius }),
    row!(circle_center(a: Circle) { a.center }),
    row!(circle_distance(a: Circle, b: Circle) { super::shape::circle_distance(&a, &b) }),
    row!(cr_circle(p: Point, radius: f64) { Circle { center: p, radius } }),
    row!(dist_pc(p: Point, c: Circle) { edge_distance(&c, p) }),
    row!(dist_cpoint(c: Circle, p: Point) { edge_distance(&c, p) }),
    row!(circle_contain_pt(c: Circle, p: Point) {
        sure(distance(c.center, p)? <= c.radius)
    }),
    row!(pt_contained_circle(p: Point, c: Circle) {
        sure(distance(c.center, p)? <= c.radius)
    }),
    row!(circle_add_pt(c: Circle, p: Point) {
        Circle { center: plus(c.center, p)?, radius: c.radius }
    }),
    row!(circle_sub_pt(c: Circle, p: Point) {
        Circle { center: minus(c.center, p)?, radius: c.radius }
    }),
    row!(circle_mul_pt(c: Circle, p: Point) { circle_times(&c, p) }),
    row!(circle_div_pt(c: Circle, p: Point) { circle_over(&c, p) }),
    row!(circle_box(c: Circle) { super::shape::circle_box(&c) }),
];

fn edge_distance(c: &Circle, p: Point) -> base::Result<f64> {
    let gap = distance(c.center, p)? - c.radius;
    Ok(if gap < 0.0 { 0.0 } else { gap })
}
