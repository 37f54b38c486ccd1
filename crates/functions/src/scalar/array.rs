//! Arrays.

use crate::call::{CallInfo, CallState, FnCtx, FnDef};
use base::{Oid, Result, bail, err};
use std::cmp::Ordering;
use types::array::{ArrayRef, ElemType, MAX_DIMENSIONS, count_elements, fill_array, make_array};
use types::compare::{compare, compare_arrays};
use types::{Datum, oid};

/// Facts about an element type.
pub(crate) fn elem_type(cx: &FnCtx, type_oid: Oid) -> Result<ElemType> {
    match cx.env.catalog().types().type_info(type_oid) {
        Some(info) => Ok(ElemType::new(&info)),
        None => Err(err!(UNDEFINED_OBJECT, "type with OID {type_oid} does not exist")),
    }
}

/// Facts about the element type of an array type.
pub(crate) fn array_elem(cx: &FnCtx, array_type: Oid) -> Result<ElemType> {
    let elem = match array_type {
        oid::OIDVECTOR => oid::OID,
        oid::INT2VECTOR => oid::INT2,
        _ => {
            let info = cx.env.catalog().types().type_info(array_type);
            match info {
                Some(info) if info.typtype == b'd' => return array_elem(cx, info.base),
                Some(info) if info.elem.is_valid() => info.elem,
                _ => bail!(DATATYPE_MISMATCH, "could not determine input data type"),
            }
        }
    };
    elem_type(cx, elem)
}

/// An array's parts and the facts about its elements.
pub(crate) fn open<'a>(cx: &FnCtx, value: &'a Datum) -> Result<(ArrayRef<'a>, ElemType)> {
    let array = ArrayRef::parse(value.as_bytes())?;
    let elem = elem_type(cx, array.elem_type)?;
    Ok((array, elem))
}

/// Whether two elements are equal; NULLs are.
pub(crate) fn same(cx: &FnCtx, elem: &ElemType, a: &Datum, b: &Datum) -> Result<bool> {
    base::interrupt::step()?;
    Ok(match (a.is_null(), b.is_null()) {
        (true, true) => true,
        (false, false) => compare(elem.oid(), a, b, cx.env.catalog().types())?.is_eq(),
        _ => false,
    })
}

fn rebuild(array: &ArrayRef, elem: &ElemType, values: &[Datum]) -> Result<Datum> {
    make_array(elem, values, &array.dims, &array.lbounds).map(Datum::bytes)
}

fn order(cx: &FnCtx, a: &[u8], b: &[u8]) -> Result<Ordering> {
    compare_arrays(a, b, cx.env.catalog().types())
}

const COMPARE: &[FnDef] = &[
    row!(cx; array_eq(a: &[u8], b: &[u8]) { order(cx, a, b).map(Ordering::is_eq) }),
    row!(cx; array_ne(a: &[u8], b: &[u8]) { order(cx, a, b).map(Ordering::is_ne) }),
    row!(cx; array_lt(a: &[u8], b: &[u8]) { order(cx, a, b).map(Ordering::is_lt) }),
    row!(cx; array_le(a: &[u8], b: &[u8]) { order(cx, a, b).map(Ordering::is_le) }),
    row!(cx; array_gt(a: &[u8], b: &[u8]) { order(cx, a, b).map(Ordering::is_gt) }),
    row!(cx; array_ge(a: &[u8], b: &[u8]) { order(cx, a, b).map(Ordering::is_ge) }),
    row!(cx; btarraycmp(a: &[u8], b: &[u8]) { order(cx, a, b).map(|o| o as i32) }),
    row!(cx; oidvectoreq(a: &[u8], b: &[u8]) { vector(a, b).map(Ordering::is_eq) }),
    row!(cx; oidvectorne(a: &[u8], b: &[u8]) { vector(a, b).map(Ordering::is_ne) }),
    row!(cx; oidvectorlt(a: &[u8], b: &[u8]) { vector(a, b).map(Ordering::is_lt) }),
    row!(cx; oidvectorle(a: &[u8], b: &[u8]) { vector(a, b).map(Ordering::is_le) }),
    row!(cx; oidvectorgt(a: &[u8], b: &[u8]) { vector(a, b).map(Ordering::is_gt) }),
    row!(cx; oidvectorge(a: &[u8], b: &[u8]) { vector(a, b).map(Ordering::is_ge) }),
    row!(cx; btoidvectorcmp(a: &[u8], b: &[u8]) {
        let count = |v| ArrayRef::parse(v).map(|v| v.dims.first().copied().unwrap_or(0));
        match count(a)? - count(b)? {
            0 => vector(a, b).map(|o| o as i32)?,
            difference => difference,
        }
    }),
    row!(cx; array_larger(a: &Datum, b: &Datum) {
        let larger = order(cx, a.as_bytes(), b.as_bytes())?.is_gt();
        if larger { a } else { b }
    }),
    row!(cx; array_smaller(a: &Datum, b: &Datum) {
        let smaller = order(cx, a.as_bytes(), b.as_bytes())?.is_lt();
        if smaller { a } else { b }
    }),
    row!(cx; hash_array(a: &Datum) { hash(cx, a) }),
    row!(cx; hash_array_extended(a: &Datum, seed: i64) { hash_extended(cx, a, seed) }),
    row!(cx; arrayoverlap(a: &Datum, b: &Datum) { overlap(cx, a, b) }),
    row!(cx; arraycontains(a: &Datum, b: &Datum) { contains(cx, a, b) }),
    row!(cx; arraycontained(a: &Datum, b: &Datum) { contains(cx, b, a) }),
];

/// An `oidvector` compares by length first.
fn vector(a: &[u8], b: &[u8]) -> Result<Ordering> {
    let elem = ElemType::builtin(oid::OID);
    let (x, y) = (ArrayRef::parse(a)?, ArrayRef::parse(b)?);
    let (x, y) = (x.values(&elem)?, y.values(&elem)?);
    Ok(x.len()
        .cmp(&y.len())
        .then_with(|| x.iter().map(Datum::as_u32).cmp(y.iter().map(Datum::as_u32))))
}

/// Calls a built-in function from inside another.
pub(crate) fn call(cx: &FnCtx, function: Oid, collation: Oid, args: &[Datum]) -> Result<Datum> {
    let info = CallInfo { collation, ..CallInfo::of(function) };
    let Some(entry) = crate::lookup(function) else {
        let by_session = cx.env.call_session_fn(&info, args);
        return by_session.unwrap_or_else(|| cx.env.catalog().call_user_function(function, args));
    };
    let mut state = CallState::default();
    entry.call(&mut FnCtx { env: cx.env, call: &info, state: &mut state }, args)
}

/// The error of a value whose type has no hash function.
#[cold]
pub(crate) fn no_hash(cx: &FnCtx, type_oid: Oid, extended: bool) -> base::Error {
    let name = cx.env.catalog().type_name(type_oid).unwrap_or_default();
    let which = if extended { "an extended" } else { "a" };
    err!(UNDEFINED_FUNCTION, "could not identify {which} hash function for type {name}")
}

fn hash_proc(cx: &FnCtx, elem: &ElemType, extended: bool) -> Result<(Oid, Oid)> {
    cx.env.catalog().hash_procs(elem.oid()).ok_or_else(|| no_hash(cx, elem.oid(), extended))
}

fn hash(cx: &FnCtx, value: &Datum) -> Result<i32> {
    let (array, elem) = open(cx, value)?;
    let (function, _) = hash_proc(cx, &elem, false)?;
    let mut out: u32 = 1;
    for item in array.iter(&elem) {
        let item = item?;
        let h = if item.is_null() {
            0
        } else {
            call(cx, function, cx.call.collation, &[item])?.as_i32() as u32
        };
        out = (out << 5).wrapping_sub(out).wrapping_add(h);
    }
    Ok(out as i32)
}

fn hash_extended(cx: &FnCtx, value: &Datum, seed: i64) -> Result<i64> {
    let (array, elem) = open(cx, value)?;
    let (_, function) = hash_proc(cx, &elem, true)?;
    let mut out: u64 = 1;
    for item in array.iter(&elem) {
        let item = item?;
        let h = if item.is_null() {
            0
        } else {
            call(cx, function, cx.call.collation, &[item, Datum::I64(seed)])?.as_i64() as u64
        };
        out = (out << 5).wrapping_sub(out).wrapping_add(h);
    }
    Ok(out as i64)
}

fn check_same_elem(a: &ArrayRef, b: &ArrayRef) -> Result<()> {
    if a.elem_type != b.elem_type {
        bail!(DATATYPE_MISMATCH, "cannot compare arrays of different element types");
    }
    Ok(())
}

fn overlap(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<bool> {
    let ((x, elem), (y, _)) = (open(cx, a)?, open(cx, b)?);
    check_same_elem(&x, &y)?;
    let right = y.values(&elem)?;
    for left in x.iter(&elem) {
        let left = left?;
        if left.is_null() {
            continue;
        }
        for r in &right {
            if same(cx, &elem, &left, r)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn contains(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<bool> {
    let ((x, elem), (y, _)) = (open(cx, a)?, open(cx, b)?);
    check_same_elem(&x, &y)?;
    let left = x.values(&elem)?;
    for right in y.iter(&elem) {
        let right = right?;
        let mut found = false;
        if !right.is_null() {
            for l in &left {
                if same(cx, &elem, l, &right)? {
                    found = true;
                    break;
                }
            }
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

fn dims_text(array: &ArrayRef) -> String {
    let part = |(l, d): (&i32, &i32)| format!("[{l}:{}]", l + d - 1);
    array.lbounds.iter().zip(&array.dims).map(part).collect()
}

const SHAPE: &[FnDef] = &[
    row!(array_ndims(a: &[u8]) {
        let array = ArrayRef::parse(a)?;
        (!array.dims.is_empty()).then_some(array.dims.len() as i32)
    }),
    row!(array_dims(a: &[u8]) {
        let array = ArrayRef::parse(a)?;
        (!array.dims.is_empty()).then(|| dims_text(&array))
    }),
    row!(array_lower(a: &[u8], n: i32) {
        ArrayRef::parse(a)?.lbounds.get((n as usize).wrapping_sub(1)).copied()
    }),
    row!(array_upper(a: &[u8], n: i32) {
        let array = ArrayRef::parse(a)?;
        let i = (n as usize).wrapping_sub(1);
        array.dims.get(i).map(|d| array.lbounds[i] + d - 1)
    }),
    row!(array_length(a: &[u8], n: i32) {
        ArrayRef::parse(a)?.dims.get((n as usize).wrapping_sub(1)).copied()
    }),
    row!(array_cardinality(a: &[u8]) { ArrayRef::parse(a)?.len() as i32 }),
];

fn index_range() -> base::Error {
    err!(NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")
}

/// The array argument's parts, or an empty array of the call's result type for NULL.
fn pieces(cx: &FnCtx, value: &Datum) -> Result<(Vec<Datum>, Vec<i32>, Vec<i32>, ElemType)> {
    if value.is_null() {
        let elem = array_elem(cx, cx.call.ret_type)?;
        return Ok((Vec::new(), Vec::new(), Vec::new(), elem));
    }
    let (array, elem) = open(cx, value)?;
    Ok((array.values(&elem)?, array.dims, array.lbounds, elem))
}

fn append(cx: &FnCtx, array: &Datum, value: &Datum) -> Result<Datum> {
    let (mut values, dims, lbounds, elem) = pieces(cx, array)?;
    if dims.len() > 1 {
        bail!(DATA_EXCEPTION, "argument must be empty or one-dimensional array");
    }
    let lower = lbounds.first().copied().unwrap_or(1);
    lower.checked_add(values.len() as i32).ok_or_else(index_range)?;
    values.push(value.clone());
    make_array(&elem, &values, &[values.len() as i32], &[lower]).map(Datum::bytes)
}

fn prepend(cx: &FnCtx, value: &Datum, array: &Datum) -> Result<Datum> {
    let (mut values, dims, lbounds, elem) = pieces(cx, array)?;
    if dims.len() > 1 {
        bail!(DATA_EXCEPTION, "argument must be empty or one-dimensional array");
    }
    let lower = lbounds.first().copied().unwrap_or(1);
    values.insert(0, value.clone());
    make_array(&elem, &values, &[values.len() as i32], &[lower]).map(Datum::bytes)
}

fn incompatible(detail: String) -> base::Error {
    err!(ARRAY_SUBSCRIPT_ERROR, "cannot concatenate incompatible arrays").detail(detail)
}

fn concat(cx: &FnCtx, a: &Datum, b: &Datum) -> Result<Datum> {
    match (a.is_null(), b.is_null()) {
        (true, _) => return Ok(b.clone()),
        (_, true) => return Ok(a.clone()),
        _ => {}
    }
    let ((x, elem), (y, _)) = (open(cx, a)?, open(cx, b)?);
    if x.elem_type != y.elem_type {
        bail!(DATATYPE_MISMATCH, "cannot concatenate incompatible arrays");
    }
    if x.dims.is_empty() {
        return Ok(b.clone());
    }
    if y.dims.is_empty() {
        return Ok(a.clone());
    }
    let (nx, ny) = (x.dims.len(), y.dims.len());
    let (mut dims, lbounds);
    if nx == ny {
        if x.dims[1..] != y.dims[1..] {
            return Err(incompatible(
                "Arrays with differing element dimensions are not compatible for concatenation."
                    .into(),
            ));
        }
        dims = x.dims.clone();
        dims[0] += y.dims[0];
        lbounds = x.lbounds.clone();
    } else if nx == ny + 1 {
        if x.dims[1..] != y.dims[..] || x.lbounds[1..] != y.lbounds[..] {
            return Err(incompatible(
                "Arrays with differing dimensions are not compatible for concatenation.".into(),
            ));
        }
        dims = x.dims.clone();
        dims[0] += 1;
        lbounds = x.lbounds.clone();
    } else if ny == nx + 1 {
        if y.dims[1..] != x.dims[..] || y.lbounds[1..] != x.lbounds[..] {
            return Err(incompatible(
                "Arrays with differing dimensions are not compatible for concatenation.".into(),
            ));
        }
        dims = y.dims.clone();
        dims[0] += 1;
        lbounds = y.lbounds.clone();
    } else {
        return Err(incompatible(format!(
            "Arrays of {nx} and {ny} dimensions are not compatible for concatenation."
        )));
    }
    let mut values = x.values(&elem)?;
    values.extend(y.values(&elem)?);
    make_array(&elem, &values, &dims, &lbounds).map(Datum::bytes)
}

fn position(cx: &FnCtx, args: &[Datum], all: bool) -> Result<Datum> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let (array, elem) = open(cx, &args[0])?;
    if array.dims.len() > 1 {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "searching for elements in multidimensional arrays is not supported"
        );
    }
    let lower = array.lbounds.first().copied().unwrap_or(1);
    let mut start = lower;
    if let Some(from) = args.get(2).filter(|_| !array.dims.is_empty()) {
        if args[1].is_null() && !array.values(&elem)?.iter().any(Datum::is_null) {
            return Ok(Datum::Null);
        }
        if from.is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "initial position must not be null");
        }
        start = from.as_i32();
    }
    let mut found = Vec::new();
    for (i, value) in array.iter(&elem).enumerate() {
        let at = lower + i as i32;
        if at >= start && same(cx, &elem, &value?, &args[1])? {
            if !all {
                return Ok(Datum::I32(at));
            }
            found.push(Datum::I32(at));
        }
    }
    if all {
        types::array::make_vector(&ElemType::builtin(oid::INT4), &found)
    } else {
        Ok(Datum::Null)
    }
}

fn remove(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let (array, elem) = open(cx, &args[0])?;
    if array.dims.len() > 1 {
        bail!(
            FEATURE_NOT_SUPPORTED,
            "removing elements from multidimensional arrays is not supported"
        );
    }
    let mut out = Vec::new();
    for value in array.iter(&elem) {
        let value = value?;
        if !same(cx, &elem, &value, &args[1])? {
            out.push(value);
        }
    }
    if out.len() == array.len() {
        return Ok(args[0].clone());
    }
    if out.is_empty() {
        return make_array(&elem, &[], &[], &[]).map(Datum::bytes);
    }
    make_array(&elem, &out, &[out.len() as i32], &array.lbounds).map(Datum::bytes)
}

fn replace(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let (array, elem) = open(cx, &args[0])?;
    let mut values = array.values(&elem)?;
    for value in &mut values {
        if same(cx, &elem, value, &args[1])? {
            *value = args[2].clone();
        }
    }
    rebuild(&array, &elem, &values)
}

fn fill(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    let null = || err!(NULL_VALUE_NOT_ALLOWED, "dimension array or low bound array cannot be null");
    let int4 = ElemType::builtin(oid::INT4);
    let list = |d: &Datum| -> Result<Vec<i32>> {
        let array = ArrayRef::parse(d.as_bytes())?;
        if array.dims.len() > 1 {
            return Err(err!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
                .detail("Dimension array must be one dimensional."));
        }
        if array.has_nulls() {
            bail!(NULL_VALUE_NOT_ALLOWED, "dimension values cannot be null");
        }
        Ok(array.values(&int4)?.iter().map(Datum::as_i32).collect())
    };
    if args[1..].iter().any(Datum::is_null) {
        return Err(null());
    }
    let dims = list(&args[1])?;
    let lbounds = match args.get(2) {
        Some(d) => list(d)?,
        None => vec![1; dims.len()],
    };
    if lbounds.len() != dims.len() {
        return Err(err!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
            .detail("Low bound array has different size than dimensions array."));
    }
    if dims.len() > MAX_DIMENSIONS {
        bail!(
            PROGRAM_LIMIT_EXCEEDED,
            "number of array dimensions ({}) exceeds the maximum allowed ({MAX_DIMENSIONS})",
            dims.len()
        );
    }
    let elem = array_elem(cx, cx.call.ret_type)?;
    let n = count_elements(&dims)?;
    for (dim, lower) in dims.iter().zip(&lbounds) {
        if lower.checked_add(*dim).is_none() {
            bail!(PROGRAM_LIMIT_EXCEEDED, "array lower bound is too large: {lower}");
        }
    }
    if n == 0 {
        return make_array(&elem, &[], &[], &[]).map(Datum::bytes);
    }
    fill_array(&elem, &args[0], &dims, &lbounds).map(Datum::bytes)
}

fn trim(cx: &FnCtx, value: &Datum, n: i32) -> Result<Datum> {
    let (array, elem) = open(cx, value)?;
    let len = array.dims.first().copied().unwrap_or(0);
    if n < 0 || n > len {
        bail!(ARRAY_ELEMENT_ERROR, "number of elements to trim must be between 0 and {len}");
    }
    if n == len || len == 0 {
        return make_array(&elem, &[], &[], &[]).map(Datum::bytes);
    }
    let values = array.values(&elem)?;
    let keep = values.len() / len as usize * (len - n) as usize;
    let mut dims = array.dims.clone();
    dims[0] -= n;
    make_array(&elem, &values[..keep], &dims, &vec![1; dims.len()]).map(Datum::bytes)
}

/// Groups of elements that stay together when the first dimension is rearranged.
fn slices(array: &ArrayRef, values: Vec<Datum>) -> Vec<Vec<Datum>> {
    let n = array.dims.first().copied().unwrap_or(0).max(1) as usize;
    let size = (values.len() / n).max(1);
    values.chunks(size).map(<[Datum]>::to_vec).collect()
}

fn reverse(cx: &FnCtx, value: &Datum) -> Result<Datum> {
    let (array, elem) = open(cx, value)?;
    if array.dims.first().is_none_or(|d| *d < 2) {
        return Ok(value.clone());
    }
    let mut parts = slices(&array, array.values(&elem)?);
    parts.reverse();
    rebuild(&array, &elem, &parts.concat())
}

fn sort(cx: &FnCtx, value: &Datum, descending: bool, nulls_first: bool) -> Result<Datum> {
    let (array, elem) = open(cx, value)?;
    if array.dims.first().is_none_or(|d| *d < 2) {
        return Ok(value.clone());
    }
    let lookup = cx.env.catalog().types();
    if cx.env.catalog().compare_proc(elem.oid()).is_none() {
        let name = cx.env.catalog().type_name(elem.oid()).unwrap_or_default();
        bail!(FEATURE_NOT_SUPPORTED, "could not identify a comparison function for type {name}");
    }
    let mut parts = slices(&array, array.values(&elem)?);
    let mut failed = None;
    parts.sort_by(|a, b| {
        for (x, y) in a.iter().zip(b) {
            let order = match (x.is_null(), y.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ => match compare(elem.oid(), x, y, lookup) {
                    Ok(o) if descending => o.reverse(),
                    Ok(o) => o,
                    Err(e) => {
                        failed = Some(e);
                        Ordering::Equal
                    }
                },
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    });
    if let Some(e) = failed {
        return Err(e);
    }
    rebuild(&array, &elem, &parts.concat())
}

fn shuffle(cx: &FnCtx, value: &Datum, count: Option<i32>) -> Result<Datum> {
    let (array, elem) = open(cx, value)?;
    let mut parts = slices(&array, array.values(&elem)?);
    let len = array.dims.first().copied().unwrap_or(0);
    let n = count.unwrap_or(len);
    if n < 0 || n > len {
        bail!(INVALID_PARAMETER_VALUE, "sample size must be between 0 and {len}");
    }
    if n == 0 || len == 0 {
        return make_array(&elem, &[], &[], &[]).map(Datum::bytes);
    }
    for i in 0..n as usize {
        let j = super::random::range(cx, i as u64, parts.len() as u64 - 1) as usize;
        parts.swap(i, j);
    }
    parts.truncate(n as usize);
    let mut dims = array.dims.clone();
    dims[0] = n;
    let lbounds = match count {
        Some(_) => [&[1][..], &array.lbounds[1..]].concat(),
        None => array.lbounds.clone(),
    };
    make_array(&elem, &parts.concat(), &dims, &lbounds).map(Datum::bytes)
}

/// Text of an array's elements with a delimiter between.
fn to_text(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Datum::Null);
    }
    let (array, elem) = open(cx, &args[0])?;
    let delimiter = args[1].as_bytes();
    let null = args.get(2).filter(|d| !d.is_null());
    let mut out = Vec::new();
    let mut first = true;
    for value in array.iter(&elem) {
        let value = value?;
        if value.is_null() && null.is_none() {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.extend_from_slice(delimiter);
        }
        match null {
            Some(text) if value.is_null() => out.extend_from_slice(text.as_bytes()),
            _ => types::io::output(elem.oid(), &value, &cx.env.io(), &mut out)?,
        }
    }
    Ok(Datum::bytes(out))
}

/// The parts of `string_to_array` and `string_to_table`; None makes NULL.
pub(crate) fn split_text(collation: Oid, args: &[Datum]) -> Result<Option<Vec<Datum>>> {
    if args[0].is_null() {
        return Ok(None);
    }
    let text = args[0].as_str();
    let null = args.get(2).filter(|d| !d.is_null()).map(Datum::as_str);
    let loose = match collation.0 {
        0 | 100 | 950 | 951 => None,
        _ => Some(crate::collation::collator(collation)?).filter(|c| !c.deterministic),
    };
    let is_null = |part: &str| match (null, &loose) {
        (Some(null), Some(loose)) => loose.equal(null, part),
        (null, _) => null == Some(part),
    };
    let item = |part: &str| {
        base::interrupt::step()?;
        Ok(if is_null(part) { Datum::Null } else { Datum::text(part) })
    };
    if text.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let parts: Result<Vec<Datum>> = if args[1].is_null() {
        text.chars().map(|c| item(c.encode_utf8(&mut [0; 4]))).collect()
    } else if args[1].as_str().is_empty() {
        item(text).map(|all| vec![all])
    } else if let Some(loose) = &loose {
        super::collated::split(loose, text, args[1].as_str()).into_iter().map(item).collect()
    } else {
        text.split(args[1].as_str()).map(item).collect()
    };
    parts.map(Some)
}

fn text_array(values: Vec<Datum>) -> Result<Datum> {
    types::array::make_vector(&ElemType::builtin(oid::TEXT), &values)
}

fn width_bucket(cx: &FnCtx, value: &Datum, thresholds: &Datum) -> Result<i32> {
    let (array, elem) = open(cx, thresholds)?;
    if array.dims.len() > 1 {
        bail!(ARRAY_SUBSCRIPT_ERROR, "thresholds must be one-dimensional array");
    }
    if array.has_nulls() {
        bail!(NULL_VALUE_NOT_ALLOWED, "thresholds array must not contain NULLs");
    }
    let lookup = cx.env.catalog().types();
    let values = array.values(&elem)?;
    let (mut low, mut high) = (0, values.len());
    while low < high {
        let middle = (low + high) / 2;
        if compare(elem.oid(), value, &values[middle], lookup)?.is_lt() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(low as i32)
}

const CHANGE: &[FnDef] = &[
    raw!(array_append(cx, args) { append(cx, &args[0], &args[1]) }),
    raw!(array_prepend(cx, args) { prepend(cx, &args[0], &args[1]) }),
    raw!(array_cat(cx, args) { concat(cx, &args[0], &args[1]) }),
    raw!(array_position(cx, args) { position(cx, args, false) }),
    raw!(array_position_start(cx, args) { position(cx, args, false) }),
    raw!(array_positions(cx, args) { position(cx, args, true) }),
    raw!(array_remove(cx, args) { remove(cx, args) }),
    raw!(array_replace(cx, args) { replace(cx, args) }),
    raw!(array_fill(cx, args) { fill(cx, args) }),
    raw!(array_fill_with_lower_bounds(cx, args) { fill(cx, args) }),
    row!(cx; trim_array(a: &Datum, n: i32) { trim(cx, a, n) }),
    row!(cx; array_reverse(a: &Datum) { reverse(cx, a) }),
    row!(cx; array_sort(a: &Datum) { sort(cx, a, false, false) }),
    row!(cx; array_sort_order(a: &Datum, desc: bool) { sort(cx, a, desc, desc) }),
    row!(cx; array_sort_order_nulls_first(a: &Datum, desc: bool, first: bool) {
        sort(cx, a, desc, first)
    }),
    row!(cx; array_shuffle(a: &Datum) { shuffle(cx, a, None) }),
    row!(cx; array_sample(a: &Datum, n: i32) { shuffle(cx, a, Some(n)) }),
    raw!(array_to_text(cx, args) { to_text(cx, args) }),
    raw!(array_to_text_null(cx, args) { to_text(cx, args) }),
    raw!(text_to_array(cx, args) {
        split_text(cx.call.collation, args)?.map_or(Ok(Datum::Null), text_array)
    }),
    raw!(text_to_array_null(cx, args) {
        split_text(cx.call.collation, args)?.map_or(Ok(Datum::Null), text_array)
    }),
    row!(cx; width_bucket_array(v: &Datum, t: &Datum) { width_bucket(cx, v, t) }),
];

pub(super) const FNS: &[&[FnDef]] = &[COMPARE, SHAPE, CHANGE];
