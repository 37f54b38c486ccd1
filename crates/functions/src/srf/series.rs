//! Series of numbers and times, and the elements of arrays.

use super::{RowSource, Rows, SrfFn};
use crate::call::FnCtx;
use crate::scalar::array::open;
use crate::scalar::datetime::add_interval;
use base::{Error, Result, err};
use std::sync::Arc;
use types::datetime::{Interval, TimeZone, is_infinite};
use types::numeric::Numeric;
use types::{ColumnBuilder, Datum};

pub(super) fn find(symbol: &str) -> Option<SrfFn> {
    Some(match symbol {
        "generate_series_int4" | "generate_series_step_int4" => ints32,
        "generate_series_int8" | "generate_series_step_int8" => ints64,
        "generate_series_numeric" | "generate_series_step_numeric" => numerics,
        "generate_series_timestamp" => |_, args| times(args, None),
        "generate_series_timestamptz" => {
            |cx, args| times(args, Some(Arc::clone(&cx.env.format().timezone)))
        }
        "generate_series_timestamptz_at_zone" => |cx, args| {
            let zone = crate::scalar::datetime::zone_named(args[3].as_str(), cx)?;
            times(&args[..3], Some(zone))
        },
        "array_unnest" => unnest,
        "generate_subscripts" | "generate_subscripts_nodir" => subscripts,
        _ => return None,
    })
}

#[cold]
fn zero_step() -> Error {
    err!(INVALID_PARAMETER_VALUE, "step size cannot equal zero")
}

struct Ints {
    next: Option<i64>,
    last: i64,
    step: i64,
    wide: bool,
}

impl RowSource for Ints {
    fn next(&mut self, _: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize> {
        let mut n = 0;
        while n < most {
            let Some(value) = self.next else { break };
            if if self.step > 0 { value > self.last } else { value < self.last } {
                self.next = None;
                break;
            }
            if self.wide {
                out[0].push_i64(value);
            } else {
                out[0].push_i32(value as i32);
            }
            self.next = value.checked_add(self.step);
            n += 1;
        }
        Ok(n)
    }
}

fn ints(args: &[Datum], wide: bool) -> Result<Box<dyn RowSource>> {
    let step = args.get(2).map_or(1, Datum::to_i64);
    if step == 0 {
        return Err(zero_step());
    }
    Ok(Box::new(Ints { next: Some(args[0].to_i64()), last: args[1].to_i64(), step, wide }))
}

fn ints32(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    ints(args, false)
}

fn ints64(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    ints(args, true)
}

struct Numerics {
    next: Numeric,
    last: Numeric,
    step: Numeric,
}

impl RowSource for Numerics {
    fn next(&mut self, _: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize> {
        let mut n = 0;
        while n < most {
            let order = self.next.cmp_value(&self.last);
            if if self.step.negative { order.is_lt() } else { order.is_gt() } {
                break;
            }
            out[0].push_bytes(&self.next.encode()?);
            self.next = self.next.add(&self.step);
            n += 1;
        }
        Ok(n)
    }
}

fn numerics(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let number = |i: usize| args.get(i).map(|d| Numeric::decode(d.as_bytes()));
    let step = number(2).unwrap_or_else(|| Numeric::from(1i64));
    let (first, last) = (number(0).unwrap_or(Numeric::ZERO), number(1).unwrap_or(Numeric::ZERO));
    for (n, what) in [(&first, "start"), (&last, "stop"), (&step, "step size")] {
        let suffix = if what == "step size" { "" } else { " value" };
        if n.is_nan() {
            return Err(err!(INVALID_PARAMETER_VALUE, "{what}{suffix} cannot be NaN"));
        }
        if !n.is_finite() {
            return Err(err!(INVALID_PARAMETER_VALUE, "{what}{suffix} cannot be infinity"));
        }
    }
    if step.is_zero() {
        return Err(zero_step());
    }
    Ok(Box::new(Numerics { next: first, last, step }))
}

struct Times {
    next: i64,
    last: i64,
    step: Interval,
    up: bool,
    zone: Option<Arc<TimeZone>>,
}

impl RowSource for Times {
    fn next(&mut self, cx: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize> {
        let mut n = 0;
        while n < most {
            if if self.up { self.next > self.last } else { self.next < self.last } {
                break;
            }
            out[0].push_i64(self.next);
            if n % 256 == 0 {
                cx.env.check_interrupts()?;
            }
            self.next = add_interval(self.next, &self.step, self.zone.as_deref())?;
            n += 1;
        }
        Ok(n)
    }
}

fn times(args: &[Datum], zone: Option<Arc<TimeZone>>) -> Result<Box<dyn RowSource>> {
    let step = Interval::decode(args[2].as_bytes());
    let up = step.span() > 0;
    if step.span() == 0 {
        return Err(zero_step());
    }
    if step.is_infinite() {
        return Err(err!(INVALID_PARAMETER_VALUE, "step size cannot be infinite"));
    }
    let (next, last) = (args[0].as_i64(), args[1].as_i64());
    let over = if up { next > last } else { next < last };
    if is_infinite(next) && !over {
        // An infinite start never reaches its end.
        return Ok(Box::new(Forever(next)));
    }
    Ok(Box::new(Times { next, last, step, up, zone }))
}

struct Forever(i64);

impl RowSource for Forever {
    fn next(&mut self, cx: &mut FnCtx, out: &mut [ColumnBuilder], most: usize) -> Result<usize> {
        cx.env.check_interrupts()?;
        (0..most).for_each(|_| out[0].push_i64(self.0));
        Ok(most)
    }
}

fn unnest(cx: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let (array, elem) = open(cx, &args[0])?;
    let values = array.values(&elem)?;
    let composite = |v: &Datum| -> Result<Vec<Datum>> {
        // An array of rows makes a row of columns each.
        Ok(crate::scalar::json_build::row_columns(cx, v)?.into_iter().map(|c| c.2).collect())
    };
    let info = cx.env.catalog().types().type_info(elem.oid());
    if info.is_some_and(|i| i.typtype == b'c') {
        let n = cx
            .env
            .catalog()
            .types()
            .row_desc(elem.oid(), -1)
            .map_or(0, |d| d.attrs.iter().filter(|a| !a.dropped).count());
        let rows = values
            .iter()
            .map(|v| if v.is_null() { Ok(vec![Datum::Null; n]) } else { composite(v) })
            .collect::<Result<Vec<_>>>()?;
        return Ok(Rows::new(rows));
    }
    Ok(Rows::single(values))
}

fn subscripts(_: &mut FnCtx, args: &[Datum]) -> Result<Box<dyn RowSource>> {
    let array = types::array::ArrayRef::parse(args[0].as_bytes())?;
    let i = (args[1].as_i32() as usize).wrapping_sub(1);
    let (Some(dim), Some(lower)) = (array.dims.get(i), array.lbounds.get(i)) else {
        return Ok(Rows::new(Vec::new()));
    };
    let (low, high) = (*lower as i64, (*lower + dim - 1) as i64);
    let reverse = args.get(2).is_some_and(Datum::as_bool);
    let (next, last, step) = if reverse { (high, low, -1) } else { (low, high, 1) };
    Ok(Box::new(Ints { next: Some(next), last, step, wide: false }))
}
