//! Rows of JSON objects: `json_populate_record`, `json_to_record` and their kind.

use crate::call::{FnCtx, FnDef};
use crate::srf::{RowSource, Rows};
use base::{Error, Oid, Result, bail, err};
use std::sync::Arc;
use types::array::{ElemType, make_array};
use types::io::TypeInfo;
use types::json::{Json, decode, encode};
use types::record::{Record, RecordColumn};
use types::{Datum, oid};

/// A column to fill.
#[derive(Clone)]
struct Target {
    name: String,
    ty: Oid,
    typmod: i32,
    dropped: bool,
}

/// Where in the document a value is, for hints.
#[derive(Clone, Copy)]
enum At<'a> {
    Key(&'a str),
    /// The whole document.
    Top,
}

impl At<'_> {
    fn hint(self, e: Error) -> Error {
        match self {
            At::Key(key) => e.hint(format!("See the value of key \"{key}\".")),
            At::Top => e,
        }
    }
}

const DEPTH_MAX: usize = 500;

struct Filler<'a> {
    cx: &'a FnCtx<'a>,
    name: String,
    depth: usize,
}

impl Filler<'_> {
    fn info(&self, ty: Oid) -> Result<Arc<TypeInfo>> {
        let found = self.cx.env.catalog().types().type_info(ty);
        found.ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {ty} does not exist"))
    }

    fn columns(&self, ty: Oid, typmod: i32) -> Option<Vec<Target>> {
        let desc = self.cx.env.catalog().types().row_desc(ty, typmod)?;
        let target = |a: &types::Attr| Target {
            name: a.name.to_string(),
            ty: a.type_oid,
            typmod: a.typmod,
            dropped: a.dropped,
        };
        Some(desc.attrs.iter().map(target).collect())
    }

    fn value(&mut self, json: &Json, ty: Oid, typmod: i32, at: At) -> Result<Datum> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            bail!(STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
        }
        let value = self.typed(json, ty, typmod, at);
        self.depth -= 1;
        value
    }

    fn typed(&mut self, json: &Json, ty: Oid, typmod: i32, at: At) -> Result<Datum> {
        let info = self.info(ty)?;
        let types = self.cx.env.catalog().types();
        if info.typtype == b'd' {
            let value = self.value(json, info.base, info.base_typmod, at)?;
            types.check_domain(ty, &value)?;
            return Ok(value);
        }
        if matches!(json, Json::Null) {
            return Ok(Datum::Null);
        }
        match (ty, json) {
            (oid::JSONB, json) => return Ok(Datum::bytes(encode(json))),
            (oid::JSON, json) => return Ok(Datum::string(text(json))),
            (_, Json::Array(items)) if info.elem.is_valid() => {
                return self.array(items, info.elem, typmod, at);
            }
            (_, Json::Object(_)) if info.typtype == b'c' => {
                let columns = self.columns(ty, typmod).unwrap_or_default();
                return self.row(json, &columns, None, ty).map(|r| r.encode());
            }
            (_, Json::String(_)) => {}
            _ if info.elem.is_valid() => {
                return Err(at.hint(err!(INVALID_TEXT_REPRESENTATION, "expected JSON array")));
            }
            (_, Json::Array(_)) if info.typtype == b'c' => {
                let name = &self.name;
                bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on an array");
            }
            _ if info.typtype == b'c' => {
                let name = &self.name;
                bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on a scalar");
            }
            _ => {}
        }
        let text = match json {
            Json::String(s) => s.clone(),
            other => text(other),
        };
        types::io::input(ty, &text, typmod, &self.cx.env.io())
    }

    fn array(&mut self, items: &[Json], elem: Oid, typmod: i32, at: At) -> Result<Datum> {
        let mut dims = Vec::new();
        let mut level = items;
        let nested = self.info(elem)?.typtype != b'c' && !matches!(elem, oid::JSON | oid::JSONB);
        // The first element says how many dimensions there are.
        loop {
            dims.push(level.len() as i32);
            match level.first() {
                Some(Json::Array(inner)) if nested && dims.len() < types::array::MAX_DIMENSIONS => {
                    level = inner;
                }
                _ => break,
            }
        }
        let mut values = Vec::new();
        self.fill(items, elem, typmod, (&dims, 0), &mut values, at)?;
        let elem = ElemType::new(&*self.info(elem)?);
        if values.is_empty() {
            return make_array(&elem, &[], &[], &[]).map(Datum::bytes);
        }
        make_array(&elem, &values, &dims, &vec![1; dims.len()]).map(Datum::bytes)
    }

    fn fill(
        &mut self,
        items: &[Json],
        elem: Oid,
        typmod: i32,
        (dims, level): (&[i32], usize),
        out: &mut Vec<Datum>,
        at: At,
    ) -> Result<()> {
        let malformed = || {
            err!(INVALID_TEXT_REPRESENTATION, "malformed JSON array")
                .detail("Multidimensional arrays must have sub-arrays with matching dimensions.")
        };
        if items.len() as i32 != dims[level] {
            return Err(malformed());
        }
        for item in items {
            if level + 1 < dims.len() {
                match item {
                    Json::Array(inner) => {
                        self.fill(inner, elem, typmod, (dims, level + 1), out, at)?;
                    }
                    _ => {
                        return Err(
                            at.hint(err!(INVALID_TEXT_REPRESENTATION, "expected JSON array"))
                        );
                    }
                }
            } else {
                let value = self.value(item, elem, typmod, at)?;
                out.push(value);
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        json: &Json,
        columns: &[Target],
        base: Option<&Record>,
        ty: Oid,
    ) -> Result<Record> {
        let mut out = Vec::with_capacity(columns.len());
        for (i, column) in columns.iter().enumerate() {
            let old = base.and_then(|b| b.columns.get(i)).map(|c| c.value.clone());
            let value = match json.get(&column.name) {
                _ if column.dropped => Datum::Null,
                Some(v) => self.value(v, column.ty, column.typmod, At::Key(&column.name))?,
                None => match old {
                    Some(old) => old,
                    // A domain without a value is checked all the same.
                    None if base.is_none() => {
                        let info = self.info(column.ty)?;
                        if info.typtype == b'd' {
                            let types = self.cx.env.catalog().types();
                            types.check_domain(column.ty, &Datum::Null)?;
                        }
                        Datum::Null
                    }
                    None => Datum::Null,
                },
            };
            out.push(RecordColumn { type_oid: column.ty, value });
        }
        Ok(Record { type_oid: ty, typmod: -1, columns: out })
    }
}

fn text(json: &Json) -> String {
    let mut out = Vec::new();
    types::json::write(json, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// What is to be filled: the columns and the row that gives what is missing.
struct Shape {
    columns: Vec<Target>,
    ty: Oid,
    base: Option<Record>,
    domain: Option<Oid>,
}

fn shape(cx: &FnCtx, filler: &Filler, base: Option<&Datum>) -> Result<Shape> {
    let declared = |cx: &FnCtx| {
        let target = |c: &(String, Oid, i32)| Target {
            name: c.0.clone(),
            ty: c.1,
            typmod: c.2,
            dropped: false,
        };
        cx.call.columns.as_ref().map(|c| c.iter().map(target).collect::<Vec<_>>())
    };
    let undetermined = || {
        let name = &filler.name;
        err!(FEATURE_NOT_SUPPORTED, "could not determine row type for result of {name}").hint(
            "Provide a non-null record argument, or call the function in the FROM clause using \
             a column definition list.",
        )
    };
    let Some(base) = base else {
        let columns = declared(cx).ok_or_else(|| {
            let name = &filler.name;
            err!(FEATURE_NOT_SUPPORTED, "could not determine row type for result of {name}").hint(
                "Provide a non-null record argument, or call the function in the FROM clause \
                 using a column definition list.",
            )
        })?;
        return Ok(Shape { columns, ty: oid::RECORD, base: None, domain: None });
    };
    let first = filler.info(cx.call.arg_type(0))?;
    let kind = match first.typtype {
        b'd' => filler.info(first.base)?.typtype,
        kind => kind,
    };
    if kind != b'c' && cx.call.arg_type(0) != oid::RECORD {
        let name = &filler.name;
        bail!(DATATYPE_MISMATCH, "first argument of {name} must be a row type");
    }
    let record = match base.is_null() {
        true => None,
        false => Some(Record::decode(base.as_bytes())?),
    };
    let mut ty = cx.call.arg_type(0);
    let mut domain = None;
    let info = filler.info(ty)?;
    if info.typtype == b'd' {
        domain = Some(ty);
        ty = info.base;
    }
    if ty == oid::RECORD {
        let columns = match (&record, declared(cx)) {
            (_, Some(columns)) => columns,
            (Some(r), None) => {
                let columns = filler.columns(r.type_oid, r.typmod);
                let numbered = || {
                    r.columns.iter().enumerate().map(|(i, c)| Target {
                        name: format!("f{}", i + 1),
                        ty: c.type_oid,
                        typmod: -1,
                        dropped: false,
                    })
                };
                columns.unwrap_or_else(|| numbered().collect())
            }
            (None, None) => return Err(undetermined()),
        };
        return Ok(Shape { columns, ty, base: record, domain });
    }
    let columns = filler.columns(ty, -1).ok_or_else(|| {
        err!(DATATYPE_MISMATCH, "first argument of {} must be a row type", filler.name)
    })?;
    Ok(Shape { columns, ty, base: record, domain })
}

/// A value of JSON as one of any type; domains are checked.
pub(crate) fn populate(cx: &FnCtx, json: &Json, ty: Oid, typmod: i32) -> Result<Datum> {
    let name = "populate_composite".to_string();
    Filler { cx, name, depth: 0 }.value(json, ty, typmod, At::Top)
}

fn document(cx: &FnCtx, value: &Datum, binary: bool) -> Result<Json> {
    let _ = cx;
    if binary { Ok(decode(value.as_bytes())) } else { types::json::parse(value.as_str()) }
}

fn filler<'a>(cx: &'a FnCtx<'a>) -> Filler<'a> {
    let name = cx.env.catalog().proc_name(cx.call.fn_oid).unwrap_or_default();
    Filler { cx, name, depth: 0 }
}

fn record(cx: &FnCtx, args: &[Datum], populate: bool, binary: bool) -> Result<Datum> {
    let mut f = filler(cx);
    let (base, json) = match populate {
        true => (Some(&args[0]), &args[1]),
        false => (None, &args[0]),
    };
    if json.is_null() {
        return Ok(base.cloned().unwrap_or_default());
    }
    let shape = shape(cx, &f, base)?;
    let json = document(cx, json, binary)?;
    let name = f.name.clone();
    match &json {
        Json::Object(_) => {}
        Json::Null if populate => return Ok(base.cloned().unwrap_or_default()),
        Json::Array(_) => bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on an array"),
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on a scalar"),
    }
    let row = f.row(&json, &shape.columns, shape.base.as_ref(), shape.ty)?.encode();
    if let Some(domain) = shape.domain {
        cx.env.catalog().types().check_domain(domain, &row)?;
    }
    Ok(row)
}

/// The rows of `json_populate_recordset` and `json_to_recordset`.
pub(crate) fn set(
    cx: &mut FnCtx,
    args: &[Datum],
    populate: bool,
    binary: bool,
) -> Result<Box<dyn RowSource>> {
    let cx: &FnCtx = cx;
    let mut f = filler(cx);
    let (base, json) = match populate {
        true => (Some(&args[0]), &args[1]),
        false => (None, &args[0]),
    };
    if json.is_null() {
        return Ok(Rows::new(Vec::new()));
    }
    let shape = shape(cx, &f, base)?;
    let name = f.name.clone();
    let items = match document(cx, json, binary)? {
        Json::Array(items) => items,
        Json::Object(_) => bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on an object"),
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on a scalar"),
    };
    let mut rows = Vec::with_capacity(items.len());
    for item in &items {
        if !matches!(item, Json::Object(_)) {
            bail!(INVALID_PARAMETER_VALUE, "argument of {name} must be an array of objects");
        }
        let row = f.row(item, &shape.columns, shape.base.as_ref(), shape.ty)?;
        if let Some(domain) = shape.domain {
            cx.env.catalog().types().check_domain(domain, &row.encode())?;
        }
        rows.push(row.columns.into_iter().map(|c| c.value).collect());
    }
    Ok(Rows::new(rows))
}

const ROWS: &[FnDef] = &[
    raw!(json_populate_record(cx, args) { record(cx, args, true, false) }),
    raw!(jsonb_populate_record(cx, args) { record(cx, args, true, true) }),
    raw!(json_to_record(cx, args) { record(cx, args, false, false) }),
    raw!(jsonb_to_record(cx, args) { record(cx, args, false, true) }),
    raw!(jsonb_populate_record_valid(cx, args) {
        Datum::Bool(record(cx, args, true, true).is_ok())
    }),
];

pub(crate) const FNS: &[&[FnDef]] = &[ROWS];
