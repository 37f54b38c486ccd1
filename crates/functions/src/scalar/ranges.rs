//! Ranges and multiranges.

use crate::call::{FnCtx, FnDef};
use base::{Oid, Result, bail, err};
use std::cmp::Ordering;
use std::sync::Arc;
use types::compare::{Bound, canonical, compare, compare_bounds, compare_ranges, normalize};
use types::io::TypeInfo;
use types::range::*;
use types::{Datum, oid};

/// A range type's facts: itself and its subtype.
struct Kind {
    range: Oid,
    sub: Arc<TypeInfo>,
}

fn info(cx: &FnCtx, oid: Oid) -> Result<Arc<TypeInfo>> {
    cx.env
        .catalog()
        .types()
        .type_info(oid)
        .ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {oid} does not exist"))
}

/// The facts of a range or multirange type.
fn kind(cx: &FnCtx, type_oid: Oid) -> Result<Kind> {
    let found = info(cx, type_oid)?;
    match found.typtype {
        b'm' => kind(cx, found.base),
        b'd' => kind(cx, found.base),
        _ => Ok(Kind { range: type_oid, sub: info(cx, found.base)? }),
    }
}

fn kind_of(cx: &FnCtx, value: &Datum) -> Result<Kind> {
    kind(cx, stored_type(value.as_bytes()))
}

fn open(cx: &FnCtx, value: &Datum) -> Result<(Range, Kind)> {
    let kind = kind_of(cx, value)?;
    Ok((Range::decode(value.as_bytes(), kind.sub.phys)?, kind))
}

fn close(range: Range) -> Datum {
    Datum::bytes(range.encode())
}

fn make(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    let k = kind(cx, cx.call.ret_type)?;
    let mut flags = match args.get(2) {
        None => LB_INC,
        Some(Datum::Null) => {
            bail!(DATA_EXCEPTION, "range constructor flags argument must not be null");
        }
        Some(text) => match text.as_str() {
            "[]" => LB_INC | UB_INC,
            "[)" => LB_INC,
            "(]" => UB_INC,
            "()" => 0,
            _ => {
                return Err(err!(SYNTAX_ERROR, "invalid range bound flags")
                    .hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\"."));
            }
        },
    };
    if args[0].is_null() {
        flags = flags & !LB_INC | LB_INF;
    }
    if args[1].is_null() {
        flags = flags & !UB_INC | UB_INF;
    }
    let range = Range { type_oid: k.range, flags, lower: args[0].clone(), upper: args[1].clone() };
    canonical(range, k.sub.oid, cx.env.catalog().types()).map(close)
}

struct Line<'a> {
    cx: &'a FnCtx<'a>,
    sub: Oid,
}

impl Line<'_> {
    fn bounds(&self, a: Bound, b: Bound) -> Result<Ordering> {
        compare_bounds(a, b, self.sub, self.cx.env.catalog().types())
    }

    fn before(&self, a: &Range, b: &Range) -> Result<bool> {
        Ok(!a.is_empty() && !b.is_empty() && self.bounds(a.upper_bound(), b.lower_bound())?.is_lt())
    }

    fn overlaps(&self, a: &Range, b: &Range) -> Result<bool> {
        Ok(!a.is_empty()
            && !b.is_empty()
            && self.bounds(a.lower_bound(), b.upper_bound())?.is_le()
            && self.bounds(b.lower_bound(), a.upper_bound())?.is_le())
    }

    fn contains(&self, a: &Range, b: &Range) -> Result<bool> {
        if b.is_empty() {
            return Ok(true);
        }
        Ok(!a.is_empty()
            && self.bounds(a.lower_bound(), b.lower_bound())?.is_le()
            && self.bounds(a.upper_bound(), b.upper_bound())?.is_ge())
    }

    fn contains_value(&self, a: &Range, value: &Datum) -> Result<bool> {
        if a.is_empty() {
            return Ok(false);
        }
        let lookup = self.cx.env.catalog().types();
        if !a.lower_infinite() {
            let order = compare(self.sub, &a.lower, value, lookup)?;
            if order.is_gt() || (order.is_eq() && !a.lower_inclusive()) {
                return Ok(false);
            }
        }
        if !a.upper_infinite() {
            let order = compare(self.sub, &a.upper, value, lookup)?;
            if order.is_lt() || (order.is_eq() && !a.upper_inclusive()) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether nothing lies between an upper and a lower bound.
    fn adjacent_bounds(&self, upper: Bound, lower: Bound, range: Oid) -> Result<bool> {
        if upper.infinite || lower.infinite {
            return Ok(false);
        }
        let lookup = self.cx.env.catalog().types();
        let order = compare(self.sub, upper.value, lower.value, lookup)?;
        if order.is_eq() {
            return Ok(upper.inclusive != lower.inclusive);
        }
        let discrete = matches!(range, oid::INT4RANGE | oid::INT8RANGE | oid::DATERANGE);
        if !order.is_lt() || !discrete {
            return Ok(false);
        }
        // The range between them, both ends turned, is empty if they touch.
        let flags =
            if upper.inclusive { 0 } else { LB_INC } | if lower.inclusive { 0 } else { UB_INC };
        let gap = Range {
            type_oid: range,
            flags,
            lower: upper.value.clone(),
            upper: lower.value.clone(),
        };
        Ok(canonical(gap, self.sub, lookup)?.is_empty())
    }

    fn adjacent(&self, a: &Range, b: &Range) -> Result<bool> {
        if a.is_empty() || b.is_empty() {
            return Ok(false);
        }
        Ok(self.adjacent_bounds(a.upper_bound(), b.lower_bound(), a.type_oid)?
            || self.adjacent_bounds(b.upper_bound(), a.lower_bound(), a.type_oid)?)
    }

    fn intersect(&self, a: &Range, b: &Range) -> Result<Range> {
        if !self.overlaps(a, b)? {
            return Ok(Range::empty(a.type_oid));
        }
        let low = if self.bounds(a.lower_bound(), b.lower_bound())?.is_ge() { a } else { b };
        let high = if self.bounds(a.upper_bound(), b.upper_bound())?.is_le() { a } else { b };
        self.made(a.type_oid, low, high)
    }

    /// From the lower bound of one to the upper bound of another.
    fn made(&self, type_oid: Oid, low: &Range, high: &Range) -> Result<Range> {
        let flags = low.flags & (LB_INC | LB_INF) | high.flags & (UB_INC | UB_INF);
        let range = Range { type_oid, flags, lower: low.lower.clone(), upper: high.upper.clone() };
        canonical(range, self.sub, self.cx.env.catalog().types())
    }

    fn union(&self, a: &Range, b: &Range, strict: bool) -> Result<Range> {
        if a.is_empty() {
            return Ok(b.clone());
        }
        if b.is_empty() {
            return Ok(a.clone());
        }
        if strict && !self.overlaps(a, b)? && !self.adjacent(a, b)? {
            bail!(DATA_EXCEPTION, "result of range union would not be contiguous");
        }
        let low = if self.bounds(a.lower_bound(), b.lower_bound())?.is_le() { a } else { b };
        let high = if self.bounds(a.upper_bound(), b.upper_bound())?.is_ge() { a } else { b };
        self.made(a.type_oid, low, high)
    }

    /// The parts of `a` that are not in `b`, at most two.
    fn minus(&self, a: &Range, b: &Range) -> Result<Vec<Range>> {
        if !self.overlaps(a, b)? {
            return Ok(if a.is_empty() { Vec::new() } else { vec![a.clone()] });
        }
        let mut out = Vec::new();
        if self.bounds(a.lower_bound(), b.lower_bound())?.is_lt() {
            // Up to where `b` starts.
            let mut flags = a.flags & (LB_INC | LB_INF);
            if !b.lower_inclusive() {
                flags |= UB_INC;
            }
            out.push(Range {
                type_oid: a.type_oid,
                flags,
                lower: a.lower.clone(),
                upper: b.lower.clone(),
            });
        }
        if self.bounds(a.upper_bound(), b.upper_bound())?.is_gt() {
            let mut flags = a.flags & (UB_INC | UB_INF);
            if !b.upper_inclusive() {
                flags |= LB_INC;
            }
            out.push(Range {
                type_oid: a.type_oid,
                flags,
                lower: b.upper.clone(),
                upper: a.upper.clone(),
            });
        }
        let lookup = self.cx.env.catalog().types();
        out.into_iter()
            .map(|r| canonical(r, self.sub, lookup))
            .filter(|r| r.as_ref().map_or(true, |r| !r.is_empty()))
            .collect()
    }
}

fn two(
    cx: &FnCtx,
    a: &Datum,
    b: &Datum,
    f: impl Fn(&Line, &Range, &Range) -> Result<bool>,
) -> Result<bool> {
    let ((x, k), (y, _)) = (open(cx, a)?, open(cx, b)?);
    f(&Line { cx, sub: k.sub.oid }, &x, &y)
}

fn order(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<Ordering> {
    let ((x, k), (y, _)) = (open(cx, a)?, open(cx, b)?);
    compare_ranges(&x, &y, k.sub.oid, cx.env.catalog().types())
}

const COMPARE: &[FnDef] = &[
    row!(cx; range_eq(a: &Datum, b: &Datum) { order(cx, a, b).map(Ordering::is_eq) }),
    row!(cx; range_ne(a: &Datum, b: &Datum) { order(cx, a, b).map(Ordering::is_ne) }),
    row!(cx; range_lt(a: &Datum, b: &Datum) { order(cx, a, b).map(Ordering::is_lt) }),
    row!(cx; range_le(a: &Datum, b: &Datum) { order(cx, a, b).map(Ordering::is_le) }),
    row!(cx; range_gt(a: &Datum, b: &Datum) { order(cx, a, b).map(Ordering::is_gt) }),
    row!(cx; range_ge(a: &Datum, b: &Datum) { order(cx, a, b).map(Ordering::is_ge) }),
    row!(cx; range_cmp(a: &Datum, b: &Datum) { order(cx, a, b).map(|o| o as i32) }),
    row!(cx; range_overlaps(a: &Datum, b: &Datum) { two(cx, a, b, |l, x, y| l.overlaps(x, y)) }),
    row!(cx; range_contains(a: &Datum, b: &Datum) { two(cx, a, b, |l, x, y| l.contains(x, y)) }),
    row!(cx; range_contained_by(a: &Datum, b: &Datum) {
        two(cx, b, a, |l, x, y| l.contains(x, y))
    }),
    row!(cx; range_adjacent(a: &Datum, b: &Datum) { two(cx, a, b, |l, x, y| l.adjacent(x, y)) }),
    row!(cx; range_before(a: &Datum, b: &Datum) { two(cx, a, b, |l, x, y| l.before(x, y)) }),
    row!(cx; range_after(a: &Datum, b: &Datum) { two(cx, b, a, |l, x, y| l.before(x, y)) }),
    row!(cx; range_overleft(a: &Datum, b: &Datum) {
        two(cx, a, b, |l, x, y| {
            let some = !x.is_empty() && !y.is_empty();
            Ok(some && l.bounds(x.upper_bound(), y.upper_bound())?.is_le())
        })
    }),
    row!(cx; range_overright(a: &Datum, b: &Datum) {
        two(cx, a, b, |l, x, y| {
            let some = !x.is_empty() && !y.is_empty();
            Ok(some && l.bounds(x.lower_bound(), y.lower_bound())?.is_ge())
        })
    }),
    row!(cx; range_contains_elem(a: &Datum, v: &Datum) {
        let (x, k) = open(cx, a)?;
        Line { cx, sub: k.sub.oid }.contains_value(&x, v)
    }),
    row!(cx; elem_contained_by_range(v: &Datum, a: &Datum) {
        let (x, k) = open(cx, a)?;
        Line { cx, sub: k.sub.oid }.contains_value(&x, v)
    }),
];

fn combine(
    cx: &FnCtx,
    a: &Datum,
    b: &Datum,
    f: impl Fn(&Line, &Range, &Range) -> Result<Range>,
) -> Result<Datum> {
    let ((x, k), (y, _)) = (open(cx, a)?, open(cx, b)?);
    f(&Line { cx, sub: k.sub.oid }, &x, &y).map(close)
}

fn minus_one(l: &Line, a: &Range, b: &Range) -> Result<Range> {
    if a.is_empty() || b.is_empty() {
        return Ok(a.clone());
    }
    let mut parts = l.minus(a, b)?;
    if parts.len() > 1 {
        bail!(DATA_EXCEPTION, "result of range difference would not be contiguous");
    }
    Ok(parts.pop().unwrap_or_else(|| Range::empty(a.type_oid)))
}

const FUNCTIONS: &[FnDef] = &[
    raw!(range_constructor2(cx, args) { make(cx, args) }),
    raw!(range_constructor3(cx, args) { make(cx, args) }),
    row!(cx; range_lower(a: &Datum) { open(cx, a).map(|r| r.0.lower) }),
    row!(cx; range_upper(a: &Datum) { open(cx, a).map(|r| r.0.upper) }),
    row!(cx; range_empty(a: &Datum) { open(cx, a).map(|r| r.0.is_empty()) }),
    row!(cx; range_lower_inc(a: &Datum) { open(cx, a).map(|r| r.0.lower_inclusive()) }),
    row!(cx; range_upper_inc(a: &Datum) { open(cx, a).map(|r| r.0.upper_inclusive()) }),
    row!(cx; range_lower_inf(a: &Datum) { open(cx, a).map(|r| r.0.lower_infinite()) }),
    row!(cx; range_upper_inf(a: &Datum) { open(cx, a).map(|r| r.0.upper_infinite()) }),
    row!(cx; range_union(a: &Datum, b: &Datum) {
        combine(cx, a, b, |l, x, y| l.union(x, y, true))
    }),
    row!(cx; range_merge(a: &Datum, b: &Datum) {
        combine(cx, a, b, |l, x, y| l.union(x, y, false))
    }),
    row!(cx; range_intersect(a: &Datum, b: &Datum) {
        combine(cx, a, b, |l, x, y| l.intersect(x, y))
    }),
    row!(cx; range_minus(a: &Datum, b: &Datum) { combine(cx, a, b, minus_one) }),
    row!(int4range_canonical(a: &Datum) { a }),
    row!(int8range_canonical(a: &Datum) { a }),
    row!(daterange_canonical(a: &Datum) { a }),
    total!(int4range_subdiff(a: i32, b: i32) -> f64 { a as f64 - b as f64 }),
    total!(int8range_subdiff(a: i64, b: i64) -> f64 { a as f64 - b as f64 }),
    total!(daterange_subdiff(a: i32, b: i32) -> f64 { a as f64 - b as f64 }),
    total!(tsrange_subdiff(a: i64, b: i64) -> f64 { (a as f64 - b as f64) / 1e6 }),
    total!(tstzrange_subdiff(a: i64, b: i64) -> f64 { (a as f64 - b as f64) / 1e6 }),
    row!(numrange_subdiff(a: &[u8], b: &[u8]) {
        let d = super::numeric::sub(a, b)?;
        types::numeric::stored_to_f64(&d).unwrap_or(f64::NAN)
    }),
];

fn open_multi(cx: &FnCtx, value: &Datum) -> Result<(Vec<Range>, Kind)> {
    let k = kind_of(cx, value)?;
    Ok((decode_multirange(value.as_bytes(), k.sub.phys)?, k))
}

fn close_multi(cx: &FnCtx, k: &Kind, multi: Oid, ranges: Vec<Range>) -> Result<Datum> {
    let ranges = normalize(ranges, k.sub.oid, cx.env.catalog().types())?;
    Ok(Datum::bytes(encode_multirange(multi, &ranges)))
}

fn multi_order(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<Ordering> {
    let type_oid = stored_type(a.as_bytes());
    compare(type_oid, a, b, cx.env.catalog().types())
}

/// The ranges of an argument that is a range or a multirange.
fn either(cx: &FnCtx, value: &Datum) -> Result<(Vec<Range>, Kind)> {
    let found = info(cx, stored_type(value.as_bytes()))?;
    if found.typtype == b'm' {
        return open_multi(cx, value);
    }
    let (range, k) = open(cx, value)?;
    Ok((if range.is_empty() { Vec::new() } else { vec![range] }, k))
}

fn pairs(
    cx: &FnCtx,
    a: &Datum,
    b: &Datum,
    f: impl Fn(&Line, &[Range], &[Range]) -> Result<bool>,
) -> Result<bool> {
    let ((x, k), (y, _)) = (either(cx, a)?, either(cx, b)?);
    f(&Line { cx, sub: k.sub.oid }, &x, &y)
}

fn any_overlap(l: &Line, a: &[Range], b: &[Range]) -> Result<bool> {
    for x in a {
        for y in b {
            if l.overlaps(x, y)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn all_contained(l: &Line, a: &[Range], b: &[Range]) -> Result<bool> {
    'next: for y in b {
        for x in a {
            if l.contains(x, y)? {
                continue 'next;
            }
        }
        return Ok(false);
    }
    Ok(true)
}

fn ends<'a>(a: &'a [Range], b: &'a [Range]) -> Option<[&'a Range; 4]> {
    Some([a.first()?, a.last()?, b.first()?, b.last()?])
}

fn all_before(l: &Line, a: &[Range], b: &[Range]) -> Result<bool> {
    ends(a, b).map_or(Ok(false), |[_, last, first, _]| l.before(last, first))
}

fn touching(l: &Line, a: &[Range], b: &[Range]) -> Result<bool> {
    ends(a, b).map_or(Ok(false), |[a1, an, b1, bn]| {
        let t = a1.type_oid;
        Ok(l.adjacent_bounds(an.upper_bound(), b1.lower_bound(), t)?
            || l.adjacent_bounds(bn.upper_bound(), a1.lower_bound(), t)?)
    })
}

fn not_right(l: &Line, a: &[Range], b: &[Range]) -> Result<bool> {
    ends(a, b).map_or(Ok(false), |[_, an, _, bn]| {
        Ok(l.bounds(an.upper_bound(), bn.upper_bound())?.is_le())
    })
}

fn not_left(l: &Line, a: &[Range], b: &[Range]) -> Result<bool> {
    ends(a, b).map_or(Ok(false), |[a1, _, b1, _]| {
        Ok(l.bounds(a1.lower_bound(), b1.lower_bound())?.is_ge())
    })
}

macro_rules! mixed {
    ($f:expr; $($name:ident)*) => {
        &[$(row!(cx; $name(a: &Datum, b: &Datum) { pairs(cx, a, b, $f) }),)*]
    };
}

const OVERLAPS: &[FnDef] = mixed!(any_overlap; range_overlaps_multirange
    multirange_overlaps_range multirange_overlaps_multirange);
const CONTAINS: &[FnDef] = mixed!(all_contained; multirange_contains_range
    multirange_contains_multirange range_contains_multirange);
const CONTAINED: &[FnDef] = mixed!(|l, a, b| all_contained(l, b, a); range_contained_by_multirange
    multirange_contained_by_multirange multirange_contained_by_range);
const BEFORE: &[FnDef] = mixed!(all_before; range_before_multirange multirange_before_range
    multirange_before_multirange);
const AFTER: &[FnDef] = mixed!(|l, a, b| all_before(l, b, a); range_after_multirange
    multirange_after_range multirange_after_multirange);
const ADJACENT: &[FnDef] = mixed!(touching; range_adjacent_multirange
    multirange_adjacent_range multirange_adjacent_multirange);
const OVERLEFT: &[FnDef] = mixed!(not_right; range_overleft_multirange
    multirange_overleft_range multirange_overleft_multirange);
const OVERRIGHT: &[FnDef] = mixed!(not_left; range_overright_multirange
    multirange_overright_range multirange_overright_multirange);

fn multi_minus(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<Datum> {
    let ((mut x, k), (y, _)) = (open_multi(cx, a)?, open_multi(cx, b)?);
    let line = Line { cx, sub: k.sub.oid };
    for r in &y {
        let mut next = Vec::new();
        for part in &x {
            next.extend(line.minus(part, r)?);
        }
        x = next;
    }
    close_multi(cx, &k, stored_type(a.as_bytes()), x)
}

fn multi_intersect(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<Datum> {
    let ((x, k), (y, _)) = (open_multi(cx, a)?, open_multi(cx, b)?);
    let line = Line { cx, sub: k.sub.oid };
    let mut out = Vec::new();
    for p in &x {
        for q in &y {
            out.push(line.intersect(p, q)?);
        }
    }
    close_multi(cx, &k, stored_type(a.as_bytes()), out)
}

fn multi_of_ranges(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    let multi = cx.call.ret_type;
    let k = kind(cx, multi)?;
    let mut ranges = Vec::new();
    if let Some(value) = args.first() {
        if value.is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "multirange values cannot contain null members");
        }
        let single = stored_type(value.as_bytes()) == k.range && cx.call.arg_type(0) == k.range;
        if single {
            ranges.push(Range::decode(value.as_bytes(), k.sub.phys)?);
        } else {
            let (array, elem) = super::array::open(cx, value)?;
            if array.dims.len() > 1 {
                bail!(
                    CARDINALITY_VIOLATION,
                    "multiranges cannot be constructed from multidimensional arrays"
                );
            }
            for item in array.iter(&elem) {
                let item = item?;
                if item.is_null() {
                    bail!(NULL_VALUE_NOT_ALLOWED, "multirange values cannot contain null members");
                }
                ranges.push(Range::decode(item.as_bytes(), k.sub.phys)?);
            }
        }
    }
    close_multi(cx, &k, multi, ranges)
}

const MULTI: &[FnDef] = &[
    row!(cx; multirange_eq(a: &Datum, b: &Datum) { multi_order(cx, a, b).map(Ordering::is_eq) }),
    row!(cx; multirange_ne(a: &Datum, b: &Datum) { multi_order(cx, a, b).map(Ordering::is_ne) }),
    row!(cx; multirange_lt(a: &Datum, b: &Datum) { multi_order(cx, a, b).map(Ordering::is_lt) }),
    row!(cx; multirange_le(a: &Datum, b: &Datum) { multi_order(cx, a, b).map(Ordering::is_le) }),
    row!(cx; multirange_gt(a: &Datum, b: &Datum) { multi_order(cx, a, b).map(Ordering::is_gt) }),
    row!(cx; multirange_ge(a: &Datum, b: &Datum) { multi_order(cx, a, b).map(Ordering::is_ge) }),
    row!(cx; multirange_cmp(a: &Datum, b: &Datum) { multi_order(cx, a, b).map(|o| o as i32) }),
    raw!(multirange_constructor0(cx, args) { multi_of_ranges(cx, args) }),
    raw!(multirange_constructor1(cx, args) { multi_of_ranges(cx, args) }),
    raw!(multirange_constructor2(cx, args) { multi_of_ranges(cx, args) }),
    row!(cx; multirange_lower(a: &Datum) {
        open_multi(cx, a)?.0.into_iter().next().map(|r| r.lower)
    }),
    row!(cx; multirange_upper(a: &Datum) { open_multi(cx, a)?.0.pop().map(|r| r.upper) }),
    row!(cx; multirange_empty(a: &Datum) { open_multi(cx, a).map(|m| m.0.is_empty()) }),
    row!(cx; multirange_lower_inc(a: &Datum) {
        open_multi(cx, a)?.0.first().is_some_and(Range::lower_inclusive)
    }),
    row!(cx; multirange_upper_inc(a: &Datum) {
        open_multi(cx, a)?.0.last().is_some_and(Range::upper_inclusive)
    }),
    row!(cx; multirange_lower_inf(a: &Datum) {
        open_multi(cx, a)?.0.first().is_some_and(Range::lower_infinite)
    }),
    row!(cx; multirange_upper_inf(a: &Datum) {
        open_multi(cx, a)?.0.last().is_some_and(Range::upper_infinite)
    }),
    row!(cx; multirange_contains_elem(a: &Datum, v: &Datum) { in_multi(cx, a, v) }),
    row!(cx; elem_contained_by_multirange(v: &Datum, a: &Datum) { in_multi(cx, a, v) }),
    row!(cx; multirange_union(a: &Datum, b: &Datum) {
        let ((mut x, k), (y, _)) = (open_multi(cx, a)?, open_multi(cx, b)?);
        x.extend(y);
        close_multi(cx, &k, stored_type(a.as_bytes()), x)
    }),
    row!(cx; multirange_minus(a: &Datum, b: &Datum) { multi_minus(cx, a, b) }),
    row!(cx; multirange_intersect(a: &Datum, b: &Datum) { multi_intersect(cx, a, b) }),
    row!(cx; range_merge_from_multirange(a: &Datum) {
        let (x, k) = open_multi(cx, a)?;
        match (x.first(), x.last()) {
            (Some(low), Some(high)) => {
                Line { cx, sub: k.sub.oid }.made(k.range, low, high).map(close)
            }
            _ => Ok(close(Range::empty(k.range))),
        }
    }),
];

fn in_multi(cx: &FnCtx, a: &Datum, value: &Datum) -> Result<bool> {
    let (x, k) = open_multi(cx, a)?;
    let line = Line { cx, sub: k.sub.oid };
    for range in &x {
        if line.contains_value(range, value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The rows of `unnest` of a multirange.
pub(crate) fn unnest(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn crate::srf::RowSource>> {
    let (ranges, _) = open_multi(cx, &args[0])?;
    Ok(crate::srf::Rows::single(ranges.into_iter().map(close).collect()))
}

/// The multirange of some ranges or multiranges of type `type_oid`.
pub(crate) fn collected(cx: &FnCtx, multi: Oid, values: &[Datum]) -> Result<Datum> {
    let k = kind(cx, multi)?;
    let mut ranges = Vec::new();
    for value in values {
        ranges.extend(either(cx, value)?.0);
    }
    close_multi(cx, &k, multi, ranges)
}

/// What two ranges, or two multiranges, have in common.
pub(crate) fn common(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<Datum> {
    if info(cx, stored_type(a.as_bytes()))?.typtype == b'm' {
        return multi_intersect(cx, a, b);
    }
    let ((x, k), (y, _)) = (open(cx, a)?, open(cx, b)?);
    Line { cx, sub: k.sub.oid }.intersect(&x, &y).map(close)
}

fn bound_hash(cx: &FnCtx, k: &Kind, value: &Datum, seed: Option<i64>) -> Result<u64> {
    if value.is_null() {
        return Ok(0);
    }
    let procs = cx.env.catalog().hash_procs(k.sub.oid).ok_or_else(|| {
        let name = cx.env.catalog().type_name(k.sub.oid).unwrap_or_default();
        err!(UNDEFINED_FUNCTION, "could not identify a hash function for type {name}")
    })?;
    let collation = k.sub.collation;
    Ok(match seed {
        None => super::array::call(cx, procs.0, collation, std::slice::from_ref(value))?.as_i32()
            as u32 as u64,
        Some(s) => {
            let args = [value.clone(), Datum::I64(s)];
            super::array::call(cx, procs.1, collation, &args)?.as_i64() as u64
        }
    })
}

fn range_hash(cx: &FnCtx, r: &Range, k: &Kind, seed: Option<i64>) -> Result<u64> {
    let (lower, upper) = (bound_hash(cx, k, &r.lower, seed)?, bound_hash(cx, k, &r.upper, seed)?);
    Ok(match seed {
        None => {
            let flags = super::hash::hash_u32(r.flags as u32);
            let h = (flags ^ lower as u32).rotate_left(1);
            (h ^ upper as u32) as u64
        }
        Some(s) => {
            let flags = super::hash::hash_u32_extended(r.flags as u32, s as u64);
            let rotate = |v: u64| {
                // Each half is turned on its own.
                let (high, low) = ((v >> 32) as u32, v as u32);
                (high.rotate_left(1) as u64) << 32 | low.rotate_left(1) as u64
            };
            rotate(flags ^ lower) ^ upper
        }
    })
}

fn multi_hash(cx: &FnCtx, a: &Datum, seed: Option<i64>) -> Result<u64> {
    let (ranges, k) = open_multi(cx, a)?;
    let mut out: u64 = 1;
    for r in &ranges {
        let h = range_hash(cx, r, &k, seed)?;
        out = match seed {
            None => (out as u32).wrapping_mul(31).wrapping_add(h as u32) as u64,
            Some(_) => (out << 5).wrapping_sub(out).wrapping_add(h),
        };
    }
    Ok(out)
}

const HASH: &[FnDef] = &[
    row!(cx; hash_range(a: &Datum) {
        let (r, k) = open(cx, a)?;
        range_hash(cx, &r, &k, None).map(|h| h as u32 as i32)
    }),
    row!(cx; hash_range_extended(a: &Datum, seed: i64) {
        let (r, k) = open(cx, a)?;
        range_hash(cx, &r, &k, Some(seed)).map(|h| h as i64)
    }),
    row!(cx; hash_multirange(a: &Datum) { multi_hash(cx, a, None).map(|h| h as u32 as i32) }),
    row!(cx; hash_multirange_extended(a: &Datum, seed: i64) {
        multi_hash(cx, a, Some(seed)).map(|h| h as i64)
    }),
    row!(cx; range_intersect_agg_transfn(a: &Datum, b: &Datum) { common(cx, a, b) }),
    row!(cx; multirange_intersect_agg_transfn(a: &Datum, b: &Datum) { common(cx, a, b) }),
];

pub(super) const FNS: &[&[FnDef]] = &[
    HASH, COMPARE, FUNCTIONS, OVERLAPS, CONTAINS, CONTAINED, BEFORE, AFTER, ADJACENT, OVERLEFT,
    OVERRIGHT, MULTI,
];
