//! `array[...]`, fetched or assigned. Other containers go through functions of their own.

use super::composite::Element;
use super::{ExprCompiler, Kind, Prog, RowInput, VarMap};
use crate::run::{CaseValue, Run};
use base::{Result, bail};
use ir::{Expr, SubscriptRef};
use types::array::ArrayRef;
use types::{Datum, oid};

/// `array[...]`.
pub(crate) struct SubscriptProg {
    kind: Container,
    container: Prog,
    element: Element,
    upper: Vec<Option<Prog>>,
    lower: Vec<Option<Prog>>,
    assign: Option<Prog>,
}

/// An array taken apart.
struct Parts {
    values: Vec<Datum>,
    dims: Vec<i32>,
    lbounds: Vec<i32>,
}

/// What is subscripted.
#[derive(Clone, Copy, PartialEq)]
enum Container {
    Array,
    /// Elements of a fixed size, so many of them: point, name, ...
    Fixed {
        count: i64,
        width: usize,
    },
    Jsonb,
}

pub(crate) fn compile(c: &mut ExprCompiler, s: &SubscriptRef, map: &VarMap) -> Result<Prog> {
    let container_type = c.catalog.type_(s.container_type)?;
    let element_len = c.catalog.find_type(s.element_type)?.map_or(0, |t| t.len);
    let kind = if s.container_type == oid::JSONB {
        Container::Jsonb
    } else if container_type.len > 0 && element_len > 0 {
        let (all, width) = (container_type.len as i64, element_len as usize);
        Container::Fixed { count: all / width as i64, width }
    } else {
        Container::Array
    };
    let mut bounds = |list: &[Option<Expr>]| -> Result<Vec<Option<Prog>>> {
        list.iter().map(|e| e.as_ref().map(|e| c.expr(e, map)).transpose()).collect()
    };
    let (upper, lower) = (bounds(&s.upper)?, bounds(&s.lower)?);
    let container = c.expr(&s.container, map)?;
    let assign = s.assign.as_ref().map(|e| c.expr(e, map)).transpose()?;
    let volatile = upper.iter().chain(&lower).flatten().chain(&assign).any(|p| p.volatile)
        || container.volatile;
    let element = Element::of_type(c, s.element_type)?;
    let prog = SubscriptProg { kind, container, element, upper, lower, assign };
    c.node(Kind::Subscript(Box::new(prog)), s.result_type, (volatile, true))
}

/// A subscript's value: None if NULL.
type Bound = Option<i32>;

impl SubscriptProg {
    pub fn eval(&self, run: &mut Run, input: RowInput<'_>) -> Result<Datum> {
        let array = self.container.eval(run, input)?;
        if array.is_null() && self.assign.is_none() {
            return Ok(Datum::Null);
        }
        if self.kind == Container::Jsonb {
            return self.eval_jsonb(run, input, array);
        }
        if self.kind == Container::Array && self.assign.is_none() && self.lower.is_empty() {
            return self.element(run, input, &array);
        }
        let mut null = false;
        let mut bounds = |list: &[Option<Prog>]| -> Result<Vec<Option<Bound>>> {
            list.iter()
                .map(|p| {
                    let Some(p) = p else { return Ok(None) };
                    let v = p.eval(run, input)?;
                    null |= v.is_null();
                    Ok(Some((!v.is_null()).then(|| v.to_i64() as i32)))
                })
                .collect()
        };
        let (upper, lower) = (bounds(&self.upper)?, bounds(&self.lower)?);
        if null {
            if self.assign.is_some() {
                bail!(NULL_VALUE_NOT_ALLOWED, "array subscript in assignment must not be null");
            }
            return Ok(Datum::Null);
        }
        let flat = |list: &[Option<Bound>]| list.iter().map(|b| b.flatten()).collect::<Vec<_>>();
        let (upper, lower) = (flat(&upper), flat(&lower));
        if let Container::Fixed { count, width } = self.kind {
            let value = self.assign.as_ref().map(|v| v.eval(run, input)).transpose()?;
            return self.fixed(array, (count, width), &upper, value);
        }
        match &self.assign {
            None => self.slice(&array, &upper, &lower),
            Some(value) => {
                // An assignment to a part of the element starts from what it is.
                let old = match (array.is_null(), self.lower.is_empty()) {
                    (true, _) => Datum::Null,
                    (false, true) => self.fetch(&array, &upper)?,
                    (false, false) => self.slice(&array, &upper, &lower)?,
                };
                run.case.push(CaseValue::One(old));
                let value = value.eval(run, input);
                run.case.pop();
                let value = value?;
                if self.lower.is_empty() {
                    return self.store(&array, &upper, value);
                }
                self.store_slice(array, &upper, &lower, &value)
            }
        }
    }

    /// `array[1][2]`
    fn element(&self, run: &mut Run, input: RowInput<'_>, array: &Datum) -> Result<Datum> {
        let mut at = [0; types::array::MAX_DIMENSIONS];
        let mut null = false;
        for (slot, subscript) in at.iter_mut().zip(&self.upper) {
            let Some(subscript) = subscript else { continue };
            let value = subscript.eval(run, input)?;
            null |= value.is_null();
            *slot = if value.is_null() { 0 } else { value.to_i64() as i32 };
        }
        match null || self.upper.len() > at.len() {
            true => Ok(Datum::Null),
            false => self.element.at(array, &at[..self.upper.len()]),
        }
    }

    fn parts(&self, array: &Datum) -> Result<Parts> {
        let a = ArrayRef::parse(array.as_bytes())?;
        Ok(Parts {
            values: self.element.elements(array)?,
            dims: a.dims.clone(),
            lbounds: a.lbounds.clone(),
        })
    }

    fn fetch(&self, array: &Datum, at: &[Bound]) -> Result<Datum> {
        let parts = self.parts(array)?;
        if at.len() != parts.dims.len() {
            return Ok(Datum::Null);
        }
        let mut index = 0usize;
        for (d, bound) in at.iter().enumerate() {
            let n = bound.unwrap_or(0) as i64 - parts.lbounds[d] as i64;
            if n < 0 || n >= parts.dims[d] as i64 {
                return Ok(Datum::Null);
            }
            index = index * parts.dims[d] as usize + n as usize;
        }
        Ok(parts.values.get(index).cloned().unwrap_or_default())
    }

    fn slice(&self, array: &Datum, upper: &[Bound], lower: &[Bound]) -> Result<Datum> {
        let parts = self.parts(array)?;
        let nd = parts.dims.len();
        if nd == 0 || upper.len() > nd {
            return self.element.make(&[]);
        }
        let (mut from, mut dims) = (Vec::new(), Vec::new());
        for d in 0..nd {
            let (first, last) = (parts.lbounds[d], parts.lbounds[d] + parts.dims[d] - 1);
            let lo = lower.get(d).copied().flatten().unwrap_or(first).max(first);
            let hi = upper.get(d).copied().flatten().unwrap_or(last).min(last);
            if lo > hi {
                return self.element.make(&[]);
            }
            from.push((lo - first) as usize);
            dims.push(hi - lo + 1);
        }
        let total: usize = dims.iter().map(|d| *d as usize).product();
        let mut values = Vec::with_capacity(total);
        for n in 0..total {
            let (mut rest, mut index, mut stride) = (n, 0, 1);
            for d in (0..nd).rev() {
                let size = dims[d] as usize;
                index += (from[d] + rest % size) * stride;
                rest /= size;
                stride *= parts.dims[d] as usize;
            }
            values.push(parts.values[index].clone());
        }
        self.element.make_shaped(&values, &dims, &vec![1; nd])
    }

    fn store(&self, array: &Datum, at: &[Bound], value: Datum) -> Result<Datum> {
        let mut parts = match array.is_null() {
            true => Parts { values: Vec::new(), dims: Vec::new(), lbounds: Vec::new() },
            false => self.parts(array)?,
        };
        let at: Vec<i32> = at.iter().map(|b| b.unwrap_or(1)).collect();
        if parts.dims.is_empty() {
            let ones = vec![1; at.len()];
            return self.element.make_shaped(&[value], &ones, &at);
        }
        if at.len() != parts.dims.len() {
            bail!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts");
        }
        if parts.dims.len() == 1 {
            let (at, one) = (at[0] as i64, [value]);
            return self.replace(parts, at, &one);
        }
        let mut index = 0usize;
        for (d, bound) in at.iter().enumerate() {
            let n = *bound as i64 - parts.lbounds[d] as i64;
            if n < 0 || n >= parts.dims[d] as i64 {
                bail!(ARRAY_SUBSCRIPT_ERROR, "array subscript out of range");
            }
            index = index * parts.dims[d] as usize + n as usize;
        }
        parts.values[index] = value;
        self.element.make_shaped(&parts.values, &parts.dims, &parts.lbounds)
    }

    /// Puts values into an array of one dimension, which grows to hold them.
    fn replace(&self, mut parts: Parts, at: i64, new: &[Datum]) -> Result<Datum> {
        let first = parts.lbounds[0] as i64;
        let last = (first + parts.dims[0] as i64).max(at + new.len() as i64);
        let low = first.min(at);
        let length = last - low;
        if length > types::array::MAX_ELEMENTS as i64 || last > i32::MAX as i64 {
            bail!(
                PROGRAM_LIMIT_EXCEEDED,
                "array size exceeds the maximum allowed ({})",
                types::array::MAX_ELEMENTS
            );
        }
        let mut values = vec![Datum::Null; length as usize];
        for (i, value) in parts.values.drain(..).enumerate() {
            values[(first - low) as usize + i] = value;
        }
        for (i, value) in new.iter().enumerate() {
            values[(at - low) as usize + i] = value.clone();
        }
        self.element.make_shaped(&values, &[length as i32], &[low as i32])
    }

    fn store_slice(
        &self,
        array: Datum,
        upper: &[Bound],
        lower: &[Bound],
        value: &Datum,
    ) -> Result<Datum> {
        // A slice of nothing is assigned nothing.
        if value.is_null() {
            return Ok(array);
        }
        let new = self.parts(value)?;
        let old = match array.is_null() {
            true => Parts { values: Vec::new(), dims: Vec::new(), lbounds: Vec::new() },
            false => self.parts(&array)?,
        };
        let fresh = old.dims.is_empty();
        if !fresh && upper.len() > old.dims.len() {
            bail!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts");
        }
        let nd = if fresh { upper.len() } else { old.dims.len() };
        let mut ranges = Vec::with_capacity(nd);
        for d in 0..nd {
            let own = (!fresh)
                .then(|| (old.lbounds[d] as i64, old.lbounds[d] as i64 + old.dims[d] as i64 - 1));
            let given = |list: &[Bound]| list.get(d).copied().flatten().map(i64::from);
            let low = given(lower).or(own.map(|o| o.0));
            let high = given(upper).or(own.map(|o| o.1));
            let (Some(low), Some(high)) = (low.or(fresh.then_some(1)), high) else {
                return Err(base::err!(
                    ARRAY_SUBSCRIPT_ERROR,
                    "array slice subscript must provide both boundaries"
                )
                .detail(
                    "When assigning to a slice of an empty array value, slice boundaries must \
                     be fully specified.",
                ));
            };
            if low > high && (d < upper.len()) {
                bail!(ARRAY_SUBSCRIPT_ERROR, "upper bound cannot be less than lower bound");
            }
            if nd > 1 && own.is_some_and(|o| low < o.0 || high > o.1) {
                bail!(ARRAY_SUBSCRIPT_ERROR, "array subscript out of range");
            }
            ranges.push((low, high));
        }
        let mut total: i64 = 1;
        for (low, high) in &ranges {
            total = total.saturating_mul(high - low + 1);
        }
        if total > types::array::MAX_ELEMENTS as i64 {
            bail!(
                PROGRAM_LIMIT_EXCEEDED,
                "array size exceeds the maximum allowed ({})",
                types::array::MAX_ELEMENTS
            );
        }
        if (new.values.len() as i64) < total {
            bail!(ARRAY_SUBSCRIPT_ERROR, "source array too small");
        }
        let values = &new.values[..total as usize];
        if fresh {
            let dims: Vec<i32> = ranges.iter().map(|(l, h)| (h - l + 1) as i32).collect();
            let lows: Vec<i32> = ranges.iter().map(|(l, _)| *l as i32).collect();
            return self.element.make_shaped(values, &dims, &lows);
        }
        if nd == 1 {
            return self.replace(old, ranges[0].0, values);
        }
        self.overwrite(old, &ranges, values)
    }

    /// Puts values into a part of an array of several dimensions.
    fn overwrite(&self, mut old: Parts, ranges: &[(i64, i64)], values: &[Datum]) -> Result<Datum> {
        for (n, value) in values.iter().enumerate() {
            let (mut rest, mut index, mut stride) = (n, 0usize, 1usize);
            for d in (0..ranges.len()).rev() {
                let (low, high) = ranges[d];
                let size = (high - low + 1) as usize;
                index += ((low - old.lbounds[d] as i64) as usize + rest % size) * stride;
                rest /= size;
                stride *= old.dims[d] as usize;
            }
            old.values[index] = value.clone();
        }
        self.element.make_shaped(&old.values, &old.dims, &old.lbounds)
    }

    fn fixed(
        &self,
        container: Datum,
        (count, width): (i64, usize),
        at: &[Bound],
        value: Option<Datum>,
    ) -> Result<Datum> {
        if !self.lower.is_empty() {
            bail!(FEATURE_NOT_SUPPORTED, "slices of fixed-length arrays not implemented");
        }
        let index = at.first().copied().flatten().unwrap_or(0) as i64;
        let inside = at.len() == 1 && (0..count).contains(&index);
        let Some(value) = value else {
            if !inside {
                return Ok(Datum::Null);
            }
            let mut bytes = container.as_bytes().to_vec();
            bytes.resize(count as usize * width, 0);
            let at = index as usize * width;
            return types::record::get_raw(self.element.elem_phys(), &bytes[at..at + width]);
        };
        if !inside {
            bail!(ARRAY_SUBSCRIPT_ERROR, "array subscript out of range");
        }
        if container.is_null() || value.is_null() {
            return Ok(container);
        }
        let mut bytes = container.as_bytes().to_vec();
        bytes.resize(count as usize * width, 0);
        let mut new = Vec::new();
        types::record::put_raw(&value, &mut new);
        let at = index as usize * width;
        if new.len() == width {
            bytes[at..at + width].copy_from_slice(&new);
        }
        Ok(Datum::bytes(bytes))
    }

    fn eval_jsonb(&self, run: &mut Run, input: RowInput<'_>, json: Datum) -> Result<Datum> {
        let mut path = Vec::with_capacity(self.upper.len());
        for p in self.upper.iter().flatten() {
            match p.eval(run, input)? {
                Datum::Null if self.assign.is_some() => {
                    bail!(NULL_VALUE_NOT_ALLOWED, "jsonb subscript in assignment must not be null");
                }
                Datum::Null => return Ok(Datum::Null),
                Datum::I32(n) => path.push(super::jsonb_path::Subscript::Index(n as i64)),
                text => path.push(super::jsonb_path::Subscript::Key(text.as_str().to_string())),
            }
        }
        match &self.assign {
            None => Ok(super::jsonb_path::fetch(&json, &path)),
            Some(value) => {
                let value = value.eval(run, input)?;
                super::jsonb_path::store(&json, &path, &value)
            }
        }
    }
}
