//! Rows of JSON objects: `json_populate_record`, `json_to_record` and their kind.

use super::json_read::Piece;
use crate::call::{FnCtx, FnDef};
use crate::srf::{Records, RowSource};
use base::{Error, Oid, Result, bail, err};
use std::collections::HashMap;
use std::sync::Arc;
use types::array::{ElemType, make_array};
use types::io::TypeInfo;
use types::json::{Json, Token, decode, encode};
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

/// A value of the document: a piece of text, whose spelling is kept, or a part of a `jsonb`.
#[derive(Clone, Copy)]
enum Source<'a> {
    Text(Piece<'a>),
    Tree(&'a Json),
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Null,
    Object,
    Array,
    String,
    Other,
}

impl<'a> Source<'a> {
    fn form(&self) -> Form {
        match self {
            Source::Tree(Json::Null) => Form::Null,
            Source::Tree(Json::Object(_)) => Form::Object,
            Source::Tree(Json::Array(_)) => Form::Array,
            Source::Tree(Json::String(_)) => Form::String,
            Source::Tree(_) => Form::Other,
            Source::Text(piece) => match piece.kind {
                Token::Null => Form::Null,
                Token::ObjectStart => Form::Object,
                Token::ArrayStart => Form::Array,
                Token::String => Form::String,
                _ => Form::Other,
            },
        }
    }

    /// Its text, as it was written or as `jsonb` is shown.
    fn text(&self) -> String {
        match self {
            Source::Text(piece) => piece.text.to_string(),
            Source::Tree(json) => {
                let mut out = Vec::new();
                types::json::write(json, &mut out);
                String::from_utf8(out).unwrap_or_default()
            }
        }
    }

    /// The text that an input function reads: of a string what is between its quotes.
    fn input(&self) -> Result<String> {
        match self {
            Source::Text(piece) => Ok(piece.datum(true)?.as_str().to_string()),
            Source::Tree(Json::String(s)) => Ok(s.clone()),
            Source::Tree(_) => Ok(self.text()),
        }
    }

    fn jsonb(&self) -> Result<Vec<u8>> {
        match self {
            Source::Text(piece) => types::json::parse(piece.text).map(|j| encode(&j)),
            Source::Tree(json) => Ok(encode(json)),
        }
    }

    /// The items of an array.
    fn items(&self) -> Result<Vec<Source<'a>>> {
        match self {
            Source::Text(piece) => {
                Ok(piece.children()?.into_iter().map(|c| Source::Text(c.1)).collect())
            }
            Source::Tree(Json::Array(items)) => Ok(items.iter().map(Source::Tree).collect()),
            Source::Tree(_) => Ok(Vec::new()),
        }
    }

    /// The members of an object.
    fn members(&self) -> Result<HashMap<String, Source<'a>>> {
        match self {
            Source::Text(piece) if piece.kind == Token::ObjectStart => {
                Ok(piece.children()?.into_iter().map(|(k, v)| (k, Source::Text(v))).collect())
            }
            Source::Tree(Json::Object(members)) => {
                Ok(members.iter().map(|(k, v)| (k.clone(), Source::Tree(v))).collect())
            }
            _ => Ok(HashMap::new()),
        }
    }
}

/// Where in the document a value is, for hints.
#[derive(Clone, Copy)]
struct At<'a> {
    /// The member of the object; none for the whole document.
    key: Option<&'a str>,
    /// The places in arrays below it.
    items: &'a [usize],
}

impl At<'_> {
    const TOP: At<'static> = At { key: None, items: &[] };

    fn hint(self, e: Error) -> Error {
        let items: String = self.items.iter().map(|i| format!("[{i}]")).collect();
        match (self.key, items.as_str()) {
            (Some(key), "") => e.hint(format!("See the value of key \"{key}\".")),
            (Some(key), items) => {
                e.hint(format!("See the array element {items} of key \"{key}\"."))
            }
            (None, "") => e,
            (None, items) => e.hint(format!("See the array element {items}.")),
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

    fn value(
        &mut self,
        json: Source,
        (ty, typmod): (Oid, i32),
        base: Option<&Datum>,
        at: At,
    ) -> Result<Datum> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(base::stack::too_deep());
        }
        let value = self.typed(json, (ty, typmod), base, at);
        self.depth -= 1;
        value
    }

    fn typed(
        &mut self,
        json: Source,
        (ty, typmod): (Oid, i32),
        base: Option<&Datum>,
        at: At,
    ) -> Result<Datum> {
        let info = self.info(ty)?;
        let types = self.cx.env.catalog().types();
        if info.typtype == b'd' {
            let value = self.value(json, (info.base, info.base_typmod), base, at)?;
            types.check_domain(ty, &value)?;
            return Ok(value);
        }
        let form = json.form();
        if form == Form::Null {
            return Ok(Datum::Null);
        }
        match (ty, form) {
            (oid::JSONB, _) => return json.jsonb().map(Datum::bytes),
            (oid::JSON, _) => return Ok(Datum::string(json.text())),
            (_, Form::Array) if info.elem.is_valid() => {
                return self.array(&json.items()?, info.elem, typmod, at);
            }
            (_, Form::Object) if info.typtype == b'c' => {
                let columns = self.columns(ty, typmod).unwrap_or_default();
                let base = match base {
                    Some(b) if !b.is_null() => Some(Record::decode(b.as_bytes())?),
                    _ => None,
                };
                return self.row(json, &columns, base.as_ref(), ty).map(|r| r.encode());
            }
            (_, Form::String) => {}
            _ if info.elem.is_valid() => {
                return Err(at.hint(err!(INVALID_TEXT_REPRESENTATION, "expected JSON array")));
            }
            (_, Form::Array) if info.typtype == b'c' => {
                bail!(INVALID_PARAMETER_VALUE, "cannot call populate_composite on an array");
            }
            _ if info.typtype == b'c' => {
                bail!(INVALID_PARAMETER_VALUE, "cannot call populate_composite on a scalar");
            }
            _ => {}
        }
        types::io::input(ty, &json.input()?, typmod, &self.cx.env.io())
    }

    fn array(&mut self, items: &[Source], elem: Oid, typmod: i32, at: At) -> Result<Datum> {
        let mut dims = vec![items.len() as i32];
        let nested = self.info(elem)?.typtype != b'c' && !matches!(elem, oid::JSON | oid::JSONB);
        // The first element says how many dimensions there are.
        let mut first = items.first().copied();
        while let Some(inner) = first.filter(|f| nested && f.form() == Form::Array)
            && dims.len() < types::array::MAX_DIMENSIONS
        {
            let level = inner.items()?;
            dims.push(level.len() as i32);
            first = level.first().copied();
        }
        let mut values = Vec::new();
        self.fill(items, (elem, typmod), &dims, &mut values, at)?;
        let elem = ElemType::new(&*self.info(elem)?);
        if values.is_empty() {
            return make_array(&elem, &[], &[], &[]).map(Datum::bytes);
        }
        make_array(&elem, &values, &dims, &vec![1; dims.len()]).map(Datum::bytes)
    }

    /// The items of an array of these dimensions, one below the other.
    fn fill(
        &mut self,
        items: &[Source],
        elem: (Oid, i32),
        dims: &[i32],
        out: &mut Vec<Datum>,
        at: At,
    ) -> Result<()> {
        if items.len() as i32 != dims[0] {
            return Err(err!(INVALID_TEXT_REPRESENTATION, "malformed JSON array")
                .detail("Multidimensional arrays must have sub-arrays with matching dimensions."));
        }
        for (i, item) in items.iter().enumerate() {
            let path = [at.items, &[i]].concat();
            let at = At { items: &path, ..at };
            if dims.len() == 1 {
                let value = self.value(*item, elem, None, at)?;
                out.push(value);
            } else if item.form() == Form::Array {
                self.fill(&item.items()?, elem, &dims[1..], out, at)?;
            } else {
                return Err(at.hint(err!(INVALID_TEXT_REPRESENTATION, "expected JSON array")));
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        json: Source,
        columns: &[Target],
        base: Option<&Record>,
        ty: Oid,
    ) -> Result<Record> {
        let mut out = Vec::with_capacity(columns.len());
        let members = json.members()?;
        for (i, column) in columns.iter().enumerate() {
            let old = base.and_then(|b| b.columns.get(i)).map(|c| c.value.clone());
            let value = match members.get(&column.name) {
                _ if column.dropped => Datum::Null,
                Some(v) => {
                    let at = At { key: Some(&column.name), items: &[] };
                    self.value(*v, (column.ty, column.typmod), old.as_ref(), at)?
                }
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
            (None, Some(columns)) => columns,
            (Some(r), _) => {
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
    Filler { cx, name, depth: 0 }.value(Source::Tree(json), (ty, typmod), None, At::TOP)
}

/// The document, and of `jsonb` the tree that it is read into.
fn document<'a>(value: &'a Datum, tree: &'a Option<Json>) -> Result<Source<'a>> {
    match tree {
        Some(json) => Ok(Source::Tree(json)),
        None => {
            types::json::validate(value.as_str())?;
            Piece::whole(value.as_str()).map(Source::Text)
        }
    }
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
    let shape = shape(cx, &f, base)?;
    if json.is_null() {
        return Ok(base.cloned().unwrap_or_default());
    }
    let tree = binary.then(|| decode(json.as_bytes()));
    let json = document(json, &tree)?;
    let name = f.name.clone();
    match json.form() {
        Form::Object => {}
        Form::Null if populate => return Ok(base.cloned().unwrap_or_default()),
        Form::Array => bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on an array"),
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on a scalar"),
    }
    let row = f.row(json, &shape.columns, shape.base.as_ref(), shape.ty)?.encode();
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
    let shape = shape(cx, &f, base)?;
    if json.is_null() {
        return Ok(Records::new(Vec::new()));
    }
    let name = f.name.clone();
    let tree = binary.then(|| decode(json.as_bytes()));
    let json = document(json, &tree)?;
    let items = match json.form() {
        Form::Array => json.items()?,
        Form::Object => bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on an object"),
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot call {name} on a scalar"),
    };
    let mut rows = Vec::with_capacity(items.len());
    for item in &items {
        if item.form() != Form::Object {
            bail!(INVALID_PARAMETER_VALUE, "argument of {name} must be an array of objects");
        }
        let row = f.row(*item, &shape.columns, shape.base.as_ref(), shape.ty)?;
        if let Some(domain) = shape.domain {
            cx.env.catalog().types().check_domain(domain, &row.encode())?;
        }
        rows.push(row);
    }
    Ok(Records::new(rows))
}

const ROWS: &[FnDef] = &[
    raw!(json_populate_record(cx, args) { record(cx, args, true, false) }),
    raw!(jsonb_populate_record(cx, args) { record(cx, args, true, true) }),
    raw!(json_to_record(cx, args) { record(cx, args, false, false) }),
    raw!(jsonb_to_record(cx, args) { record(cx, args, false, true) }),
    raw!(jsonb_populate_record_valid(cx, args) {
        match record(cx, args, true, true) {
            Err(e) if e.message().ends_with("must be a row type") => Err(err!(
                DATATYPE_MISMATCH,
                "first argument of jsonb_populate_record must be a row type"
            )),
            made => Ok(Datum::Bool(made.is_ok())),
        }
    }),
];

pub(crate) const FNS: &[&[FnDef]] = &[ROWS];
