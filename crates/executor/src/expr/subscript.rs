//! `array[...]`, fetched or assigned. Other containers go through functions of their own.

use super::composite::Element;
use super::{ExprCompiler, Kind, Prog, RowInput, VarMap};
use crate::run::Run;
use base::{Error, Result, bail};
use ir::{Expr, SubscriptRef};
use types::array::ArrayRef;
use types::{Datum, oid};

/// `array[...]`.
pub(crate) struct SubscriptProg {
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

pub(crate) fn compile(c: &mut ExprCompiler, s: &SubscriptRef, map: &VarMap) -> Result<Prog> {
    let container_type = c.catalog.type_(s.container_type)?;
    if !container_type.is_array() && container_type.kind != b'd' && container_type.len >= 0 {
        return Err(Error::unsupported("subscripts of this type"));
    }
    if s.container_type == oid::JSONB {
        return Err(Error::unsupported("subscripts of jsonb"));
    }
    let mut bounds = |list: &[Option<Expr>]| -> Result<Vec<Option<Prog>>> {
        list.iter().map(|e| e.as_ref().map(|e| c.expr(e, map)).transpose()).collect()
    };
    let (upper, lower) = (bounds(&s.upper)?, bounds(&s.lower)?);
    let container = c.expr(&s.container, map)?;
    let assign = s.assign.as_ref().map(|e| c.expr(e, map)).transpose()?;
    let volatile = upper.iter().chain(&lower).flatten().chain(&assign).any(|p| p.volatile)
        || container.volatile;
    let element = Element::of_type(c, s.element_type)?;
    let prog = SubscriptProg { container, element, upper, lower, assign };
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
        match &self.assign {
            None if self.lower.is_empty() => self.fetch(&array, &upper),
            None => self.slice(&array, &upper, &lower),
            Some(value) => {
                let value = value.eval(run, input)?;
                if self.lower.is_empty() {
                    return self.store(&array, &upper, value);
                }
                Err(Error::unsupported("assignment to array slices"))
            }
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
            let first = parts.lbounds[0] as i64;
            let n = at[0] as i64 - first;
            if n < 0 {
                let gap = (-n) as usize;
                let mut values = vec![Datum::Null; gap];
                values.append(&mut parts.values);
                parts.values = values;
                parts.values[0] = value;
                parts.lbounds[0] = at[0];
            } else {
                if n as usize >= parts.values.len() {
                    parts.values.resize(n as usize + 1, Datum::Null);
                }
                parts.values[n as usize] = value;
            }
            parts.dims[0] = parts.values.len() as i32;
            return self.element.make_shaped(&parts.values, &parts.dims, &parts.lbounds);
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
}
