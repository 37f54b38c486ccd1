//! Aggregates that put all values together: strings, arrays, JSON.

use super::state::State;
use crate::call::FnCtx;
use crate::growth;
use crate::scalar::json_build::{Style, append_key, append_value, to_jsonb};
use base::{Result, bail};
use types::array::{ArrayRef, ElemType, make_array};
use types::json::{self, Json};
use types::{Blob, Datum};

/// Strings or byte strings with a delimiter between.
#[derive(Clone, Default)]
pub(super) struct Joined {
    /// The first value's delimiter too, which the result leaves out but a merge needs.
    bytes: Vec<u8>,
    first_delimiter: usize,
    any: bool,
}

impl State for Joined {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        if args[0].is_null() {
            return Ok(());
        }
        let delimiter = args[1].as_bytes();
        if !self.any {
            self.first_delimiter = delimiter.len();
        }
        self.any = true;
        growth::append(&mut self.bytes, delimiter)?;
        growth::append(&mut self.bytes, args[0].as_bytes())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        if !self.any {
            return Ok(Datum::Null);
        }
        let bytes = &self.bytes[self.first_delimiter..];
        growth::made(bytes.len())?;
        Ok(Datum::Bytes(Blob::new(bytes)))
    }
    fn save(&self) -> Vec<Datum> {
        vec![
            Datum::Bool(self.any),
            Datum::I64(self.first_delimiter as i64),
            Datum::bytes(self.bytes.clone()),
        ]
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        if !saved[0].as_bool() {
            return Ok(());
        }
        if !self.any {
            self.any = true;
            self.first_delimiter = saved[1].as_i64() as usize;
        }
        growth::append(&mut self.bytes, saved[2].as_bytes())
    }
    fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

/// Values of type xml, one after the other.
#[derive(Clone, Default)]
pub(super) struct XmlParts {
    values: Vec<Datum>,
}

impl State for XmlParts {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        if !args[0].is_null() {
            self.values.push(args[0].clone());
        }
        Ok(())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        // One alone is as it was.
        match self.values.as_slice() {
            [one] => Ok(one.clone()),
            all => Ok(crate::xml::concat(all)),
        }
    }
    fn save(&self) -> Vec<Datum> {
        self.values.clone()
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.values.extend_from_slice(saved);
        Ok(())
    }
    fn memory(&self) -> usize {
        self.values.iter().map(|v| v.as_bytes().len() + 32).sum()
    }
}

/// Values of any type, for an array.
#[derive(Clone, Default)]
pub(super) struct Values {
    values: Vec<Datum>,
}

impl State for Values {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        self.values.push(args[0].clone());
        Ok(())
    }
    fn finish(&self, cx: &mut FnCtx) -> Result<Datum> {
        if self.values.is_empty() {
            return Ok(Datum::Null);
        }
        let elem = crate::scalar::array::elem_type(cx, cx.call.arg_type(0))?;
        types::array::make_vector(&elem, &self.values)
    }
    fn save(&self) -> Vec<Datum> {
        self.values.clone()
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.values.extend_from_slice(saved);
        Ok(())
    }
    fn memory(&self) -> usize {
        self.values.iter().map(|v| 24 + v.heap_size()).sum()
    }
}

/// Ranges, for their union.
#[derive(Clone, Default)]
pub(super) struct Union {
    values: Vec<Datum>,
}

impl State for Union {
    fn step(&mut self, _: &mut FnCtx, args: &[Datum]) -> Result<()> {
        if !args[0].is_null() {
            self.values.push(args[0].clone());
        }
        Ok(())
    }
    fn finish(&self, cx: &mut FnCtx) -> Result<Datum> {
        if self.values.is_empty() {
            return Ok(Datum::Null);
        }
        crate::scalar::ranges::collected(cx, cx.call.ret_type, &self.values)
    }
    fn save(&self) -> Vec<Datum> {
        self.values.clone()
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.values.extend_from_slice(saved);
        Ok(())
    }
    fn memory(&self) -> usize {
        self.values.iter().map(|v| 24 + v.heap_size()).sum()
    }
}

/// What all ranges have in common.
#[derive(Clone, Default)]
pub(super) struct Common {
    value: Option<Datum>,
}

impl State for Common {
    fn step(&mut self, cx: &mut FnCtx, args: &[Datum]) -> Result<()> {
        self.value = Some(match self.value.take() {
            Some(old) => crate::scalar::ranges::common(cx, &old, &args[0])?,
            None => args[0].clone(),
        });
        Ok(())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        Ok(self.value.clone().unwrap_or_default())
    }
    fn save(&self) -> Vec<Datum> {
        self.value.iter().cloned().collect()
    }
    fn merge(&mut self, cx: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        match saved.first() {
            Some(value) => self.step(cx, std::slice::from_ref(value)),
            None => Ok(()),
        }
    }
}

/// Arrays of the same dimensions, for an array with one more.
#[derive(Clone, Default)]
pub(super) struct Arrays {
    values: Vec<Datum>,
    dims: Vec<i32>,
    lbounds: Vec<i32>,
    count: i32,
}

fn element_type_of(cx: &FnCtx) -> Result<ElemType> {
    let array = cx.call.arg_type(0);
    crate::scalar::array::array_elem(cx, array)
}

impl State for Arrays {
    fn step(&mut self, cx: &mut FnCtx, args: &[Datum]) -> Result<()> {
        if args[0].is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays");
        }
        let array = ArrayRef::parse(args[0].as_bytes())?;
        if array.is_empty() {
            bail!(ARRAY_SUBSCRIPT_ERROR, "cannot accumulate empty arrays");
        }
        if self.count == 0 {
            (self.dims, self.lbounds) = (array.dims.clone(), array.lbounds.clone());
        } else if self.dims != array.dims {
            bail!(ARRAY_SUBSCRIPT_ERROR, "cannot accumulate arrays of different dimensionality");
        }
        self.values.extend(array.values(&element_type_of(cx)?)?);
        self.count += 1;
        Ok(())
    }
    fn finish(&self, cx: &mut FnCtx) -> Result<Datum> {
        if self.count == 0 {
            return Ok(Datum::Null);
        }
        let dims = [&[self.count][..], &self.dims].concat();
        let lbounds = [&[1][..], &self.lbounds].concat();
        make_array(&element_type_of(cx)?, &self.values, &dims, &lbounds).map(Datum::bytes)
    }
    fn save(&self) -> Vec<Datum> {
        let mut out = vec![
            Datum::I32(self.count),
            types::array::make_vector(
                &ElemType::builtin(types::oid::INT4),
                &self.dims.iter().chain(&self.lbounds).map(|d| Datum::I32(*d)).collect::<Vec<_>>(),
            )
            .unwrap_or_default(),
        ];
        out.extend_from_slice(&self.values);
        out
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        if saved[0].as_i32() == 0 {
            return Ok(());
        }
        if self.count == 0 {
            let shape = ArrayRef::parse(saved[1].as_bytes())?
                .values(&ElemType::builtin(types::oid::INT4))?;
            let half = shape.len() / 2;
            self.dims = shape[..half].iter().map(Datum::as_i32).collect();
            self.lbounds = shape[half..].iter().map(Datum::as_i32).collect();
        }
        self.count += saved[0].as_i32();
        self.values.extend_from_slice(&saved[2..]);
        Ok(())
    }
    fn memory(&self) -> usize {
        self.values.iter().map(|v| 24 + v.heap_size()).sum()
    }
}

/// JSON text of an array or object that grows.
#[derive(Clone)]
pub(super) struct JsonText {
    text: Vec<u8>,
    any: bool,
    object: bool,
    /// NULL values are left out.
    strict: bool,
    /// Keys must not repeat.
    unique: bool,
    keys: std::collections::HashSet<String>,
}

impl JsonText {
    pub(super) fn new(object: bool, strict: bool, unique: bool) -> JsonText {
        JsonText { text: Vec::new(), any: false, object, strict, unique, keys: Default::default() }
    }
}

impl State for JsonText {
    fn step(&mut self, cx: &mut FnCtx, args: &[Datum]) -> Result<()> {
        let value = if self.object { 1 } else { 0 };
        if self.object {
            let mut key = Vec::new();
            append_key(cx, 0, &args[0], &mut key)?;
            if self.unique && !self.keys.insert(String::from_utf8_lossy(&key).into_owned()) {
                bail!(
                    DUPLICATE_JSON_OBJECT_KEY_VALUE,
                    "duplicate JSON object key value: {}",
                    String::from_utf8_lossy(&key)
                );
            }
            self.any = true;
            if self.strict && args[1].is_null() {
                return Ok(());
            }
            if !self.text.is_empty() {
                self.text.extend_from_slice(b", ");
            }
            self.text.extend_from_slice(&key);
            self.text.extend_from_slice(b" : ");
        } else {
            self.any = true;
            if self.strict && args[0].is_null() {
                return Ok(());
            }
            let first = self.text.is_empty();
            if !first {
                self.text.extend_from_slice(b", ");
            }
            let row = !args[0].is_null()
                && !first
                && crate::scalar::json_build::is_composite(cx, cx.call.arg_type(0));
            if row {
                self.text.extend_from_slice(b"\n ");
            }
        }
        let before = self.text.len();
        append_value(cx, cx.call.arg_type(value), &args[value], Style::Json, &mut self.text)?;
        growth::grow(before, self.text.len() - before)
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        if !self.any {
            return Ok(Datum::Null);
        }
        let (open, close) = if self.object { ("{ ", " }") } else { ("[", "]") };
        growth::made(open.len() + self.text.len() + close.len())?;
        Ok(Datum::bytes([open.as_bytes(), &self.text, close.as_bytes()].concat()))
    }
    fn save(&self) -> Vec<Datum> {
        vec![Datum::Bool(self.any), Datum::bytes(self.text.clone())]
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        if saved[0].as_bool() {
            if !self.text.is_empty() && !saved[1].as_bytes().is_empty() {
                self.text.extend_from_slice(b", ");
            }
            self.any = true;
            growth::append(&mut self.text, saved[1].as_bytes())?;
        }
        Ok(())
    }
    fn memory(&self) -> usize {
        self.text.capacity()
    }
}

/// Values of a jsonb array or object.
#[derive(Clone)]
pub(super) struct JsonbTree {
    items: Vec<Json>,
    members: Vec<(String, Json)>,
    any: bool,
    object: bool,
    strict: bool,
    unique: bool,
}

impl JsonbTree {
    pub(super) fn new(object: bool, strict: bool, unique: bool) -> JsonbTree {
        JsonbTree { items: Vec::new(), members: Vec::new(), any: false, object, strict, unique }
    }
}

impl State for JsonbTree {
    fn step(&mut self, cx: &mut FnCtx, args: &[Datum]) -> Result<()> {
        self.any = true;
        if !self.object {
            if !(self.strict && args[0].is_null()) {
                self.items.push(to_jsonb(cx, cx.call.arg_type(0), &args[0])?);
            }
            return Ok(());
        }
        if args[0].is_null() {
            bail!(INVALID_PARAMETER_VALUE, "field name must not be null");
        }
        let key = crate::scalar::json_build::key_text(cx, cx.call.arg_type(0), &args[0])?;
        if self.unique && self.members.iter().any(|m| m.0 == key) {
            bail!(DUPLICATE_JSON_OBJECT_KEY_VALUE, "duplicate JSON object key value");
        }
        if !(self.strict && args[1].is_null()) {
            self.members.push((key, to_jsonb(cx, cx.call.arg_type(1), &args[1])?));
        }
        Ok(())
    }
    fn finish(&self, _: &mut FnCtx) -> Result<Datum> {
        if !self.any {
            return Ok(Datum::Null);
        }
        let tree = if self.object {
            Json::object(self.members.clone())
        } else {
            Json::Array(self.items.clone())
        };
        Ok(Datum::bytes(json::encode(&tree)))
    }
    fn save(&self) -> Vec<Datum> {
        let mut out = vec![Datum::Bool(self.any)];
        out.extend(self.items.iter().map(|i| Datum::bytes(json::encode(i))));
        for (key, value) in &self.members {
            out.push(Datum::text(key));
            out.push(Datum::bytes(json::encode(value)));
        }
        out
    }
    fn merge(&mut self, _: &mut FnCtx, saved: &[Datum]) -> Result<()> {
        self.any |= saved[0].as_bool();
        if self.object {
            for pair in saved[1..].chunks_exact(2) {
                self.members.push((pair[0].as_str().to_string(), json::decode(pair[1].as_bytes())));
            }
        } else {
            self.items.extend(saved[1..].iter().map(|d| json::decode(d.as_bytes())));
        }
        Ok(())
    }
    fn memory(&self) -> usize {
        (self.items.len() + self.members.len()) * 64
    }
}
