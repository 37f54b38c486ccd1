//! What SQL/JSON's own syntax computes: constructors, IS JSON, query functions, JSON_TABLE's rows.
//!
//! The executor evaluates the operands and calls these.

use crate::call::FnCtx;
use crate::scalar::json_build::{Style, append_value, key_text, to_jsonb};
use crate::scalar::json_populate;
use crate::scalar::jsonpath::{
    Item, Mode, TimeKind, Variables, evaluate, item_of, path_of, time_text,
};
use base::{Error, Oid, Result, bail, err};
use std::collections::HashSet;
use types::io::TypeInfo;
use types::json::{self, Json, JsonbRef};
use types::jsonpath::JsonPath;
use types::{Datum, oid};

/// A value with its type.
pub type Typed = (Oid, Datum);

/// `JSON_OBJECT` of keys and values in turn.
pub fn object(
    cx: &FnCtx,
    pairs: &[Typed],
    jsonb: bool,
    absent_on_null: bool,
    unique: bool,
) -> Result<Datum> {
    let mut keys = HashSet::new();
    let mut members = Vec::new();
    let mut text = vec![b'{'];
    let mut any = false;
    for pair in pairs.chunks_exact(2) {
        let ((key_type, key), (value_type, value)) = (&pair[0], &pair[1]);
        if key.is_null() {
            bail!(NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key");
        }
        let skip = absent_on_null && value.is_null();
        // A value that is left out still has a key that may be a second one.
        if skip && !unique {
            continue;
        }
        let key = key_text(cx, *key_type, key)?;
        if unique && !keys.insert(key.clone()) {
            if jsonb {
                bail!(DUPLICATE_JSON_OBJECT_KEY_VALUE, "duplicate JSON object key value");
            }
            let mut shown = Vec::new();
            json::escape(&key, &mut shown);
            bail!(
                DUPLICATE_JSON_OBJECT_KEY_VALUE,
                "duplicate JSON object key value: {}",
                String::from_utf8_lossy(&shown)
            );
        }
        if skip {
            continue;
        }
        if jsonb {
            members.push((key, to_jsonb(cx, *value_type, value)?));
            continue;
        }
        if std::mem::replace(&mut any, true) {
            text.extend_from_slice(b", ");
        }
        json::escape(&key, &mut text);
        text.extend_from_slice(b" : ");
        append_value(cx, *value_type, value, Style::Json, &mut text)?;
    }
    if jsonb {
        return Ok(Datum::bytes(json::encode(&Json::object(members))));
    }
    text.push(b'}');
    Ok(Datum::bytes(text))
}

/// `JSON_ARRAY` of these values.
pub fn array(cx: &FnCtx, values: &[Typed], jsonb: bool, absent_on_null: bool) -> Result<Datum> {
    let kept = values.iter().filter(|v| !(absent_on_null && v.1.is_null()));
    if jsonb {
        let items = kept.map(|(t, v)| to_jsonb(cx, *t, v)).collect::<Result<Vec<_>>>()?;
        return Ok(Datum::bytes(json::encode(&Json::Array(items))));
    }
    let mut text = vec![b'['];
    for (i, (ty, value)) in kept.enumerate() {
        if i > 0 {
            text.extend_from_slice(b", ");
        }
        append_value(cx, *ty, value, Style::Json, &mut text)?;
    }
    text.push(b']');
    Ok(Datum::bytes(text))
}

/// `JSON_SCALAR`.
pub fn scalar(cx: &FnCtx, value: &Typed) -> Result<Datum> {
    if value.1.is_null() {
        return Ok(Datum::Null);
    }
    let mut text = Vec::new();
    append_value(cx, value.0, &value.1, Style::Json, &mut text)?;
    Ok(Datum::bytes(text))
}

/// `JSON(text WITH UNIQUE KEYS)`.
pub fn parse_unique(value: &Datum) -> Result<Datum> {
    if value.is_null() {
        return Ok(Datum::Null);
    }
    json::validate(value.as_str())?;
    if !json::keys_are_unique(value.as_str())? {
        bail!(DUPLICATE_JSON_OBJECT_KEY_VALUE, "duplicate JSON object key value");
    }
    Ok(value.clone())
}

/// What IS JSON may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Value,
    Array,
    Object,
    Scalar,
}

/// `value IS JSON`, of text, bytea, json or jsonb that is not null.
pub fn is_json(ty: Oid, value: &Datum, shape: Shape, unique: bool) -> Result<bool> {
    if ty == oid::JSONB {
        let value = JsonbRef(value.as_bytes());
        return Ok(match shape {
            Shape::Value => true,
            Shape::Array => value.is_array(),
            Shape::Object => value.is_object(),
            Shape::Scalar => !value.is_array() && !value.is_object(),
        });
    }
    let bytes = value.as_bytes();
    let Ok(text) = std::str::from_utf8(bytes) else {
        bail!(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
    };
    if text.contains('\0') {
        bail!(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x00");
    }
    let first = text.trim_start_matches([' ', '\t', '\n', '\r']).bytes().next();
    let fits = match shape {
        Shape::Value => true,
        Shape::Array => first == Some(b'['),
        Shape::Object => first == Some(b'{'),
        Shape::Scalar => !matches!(first, Some(b'[' | b'{')),
    };
    if !fits || (ty != oid::JSON && json::validate(text).is_err()) {
        return Ok(false);
    }
    Ok(!unique || json::keys_are_unique(text)?)
}

/// Which query function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryKind {
    Exists,
    Query,
    Value,
}

/// WRAPPER.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrapper {
    None,
    Conditional,
    Unconditional,
}

/// What a query function is asked.
pub struct QuerySpec {
    pub kind: QueryKind,
    pub wrapper: Wrapper,
    pub omit_quotes: bool,
    /// The type of the result and its modifier.
    pub ty: Oid,
    pub typmod: i32,
    /// The column of JSON_TABLE, for messages.
    pub column: Option<String>,
}

/// Values of PASSING.
pub struct Passed(Vec<(String, Item)>);

impl Passed {
    /// Values under their names.
    pub fn new(cx: &FnCtx, names: &[String], values: &[Typed]) -> Result<Passed> {
        let items = names
            .iter()
            .zip(values)
            .map(|(name, (ty, value))| Ok((name.clone(), item_of(cx, *ty, value)?)));
        items.collect::<Result<Vec<_>>>().map(Passed)
    }
}

/// What a query function found.
pub enum Found {
    Empty,
    /// The value, not yet of the wanted type.
    Item(QueryItem),
    /// An error for ON ERROR.
    Failed(Error),
}

/// What there is to be made a value of the wanted type.
pub struct QueryItem(Item);

/// Whether ON ERROR catches this error.
pub fn is_soft(e: &Error) -> bool {
    let code = e.code();
    ["22", "23", "42", "0A"].iter().any(|class| code.as_str().starts_with(class))
}

/// The path stored in a value, kept at the call site.
pub fn path(cx: &mut FnCtx, value: &Datum) -> Result<std::sync::Arc<JsonPath>> {
    path_of(cx, value.as_bytes())
}

/// Searches a document.
pub fn query(
    cx: &FnCtx,
    spec: &QuerySpec,
    document: &Datum,
    path: &JsonPath,
    passed: &Passed,
) -> Result<Found> {
    let root = json::decode(document.as_bytes());
    let mode = Mode { zoned: true, exists: spec.kind == QueryKind::Exists };
    let (mut found, failed) = evaluate(cx.env, path, &root, Variables::Items(&passed.0), mode)?;
    if spec.kind == QueryKind::Exists {
        return Ok(match failed {
            Some(e) if !path.lax || found.is_empty() => Found::Failed(e),
            _ => Found::Item(QueryItem(Item::Json(Json::Bool(!found.is_empty())))),
        });
    }
    if let Some(e) = failed {
        return Ok(Found::Failed(e));
    }
    if found.is_empty() {
        return Ok(Found::Empty);
    }
    if spec.kind == QueryKind::Value {
        let single = found.len() == 1;
        let item = found.swap_remove(0);
        let scalar = match &item {
            Item::Json(j) => j.is_scalar(),
            Item::Time(_) => true,
        };
        if single && scalar {
            return Ok(Found::Item(QueryItem(item)));
        }
        let place = spec
            .column
            .as_ref()
            .map_or("in JSON_VALUE".to_string(), |c| format!("for column \"{c}\""));
        let message = format!("JSON path expression {place} must return single scalar item");
        return Ok(Found::Failed(if single {
            err!(SQL_JSON_SCALAR_REQUIRED, "{message}")
        } else {
            err!(MORE_THAN_ONE_SQL_JSON_ITEM, "{message}")
        }));
    }
    let wrap = match spec.wrapper {
        Wrapper::None => false,
        Wrapper::Conditional => found.len() > 1,
        Wrapper::Unconditional => true,
    };
    if wrap {
        let items = found.into_iter().map(Item::into_json).collect();
        return Ok(Found::Item(QueryItem(Item::Json(Json::Array(items)))));
    }
    if found.len() > 1 {
        let place = spec
            .column
            .as_ref()
            .map_or("in JSON_QUERY".to_string(), |c| format!("for column \"{c}\""));
        return Ok(Found::Failed(
            err!(
                MORE_THAN_ONE_SQL_JSON_ITEM,
                "JSON path expression {place} must return single item when no wrapper is requested"
            )
            .hint("Use the WITH WRAPPER clause to wrap SQL/JSON items into an array."),
        ));
    }
    Ok(Found::Item(QueryItem(found.swap_remove(0))))
}

/// What ERROR ON EMPTY raises.
pub fn empty_error(spec: &QuerySpec) -> Error {
    match &spec.column {
        Some(c) => {
            err!(NO_SQL_JSON_ITEM, "no SQL/JSON item found for specified path of column \"{c}\"")
        }
        None => err!(NO_SQL_JSON_ITEM, "no SQL/JSON item found for specified path"),
    }
}

fn type_info(cx: &FnCtx, ty: Oid) -> Result<std::sync::Arc<TypeInfo>> {
    let found = cx.env.catalog().types().type_info(ty);
    found.ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {ty} does not exist"))
}

/// A found item as a value of the wanted type.
pub fn coerce(cx: &FnCtx, spec: &QuerySpec, item: QueryItem) -> Result<Datum> {
    let item = item.0;
    match spec.kind {
        QueryKind::Exists => coerce_exists(cx, spec, item),
        QueryKind::Query => coerce_json(cx, spec, &item.into_json()),
        QueryKind::Value => {
            if let Item::Json(Json::Null) = item {
                return check_null(cx, spec.ty);
            }
            let info = type_info(cx, spec.ty)?;
            let nested = matches!(spec.ty, oid::JSON | oid::JSONB)
                || matches!(info.typtype, b'd' | b'c')
                || info.elem.is_valid();
            if nested {
                return json_populate::populate(cx, &item.into_json(), spec.ty, spec.typmod);
            }
            let text = match &item {
                Item::Json(Json::String(s)) => s.clone(),
                Item::Json(Json::Bool(b)) => if *b { "t" } else { "f" }.to_string(),
                Item::Json(Json::Number(n)) => n.to_string(),
                Item::Json(_) => String::new(),
                Item::Time(t) => time_text(cx, t)?,
            };
            types::io::input(spec.ty, &text, spec.typmod, &cx.env.io())
        }
    }
}

/// NULL of the type, which may be a domain that refuses it.
pub fn check_null(cx: &FnCtx, ty: Oid) -> Result<Datum> {
    if type_info(cx, ty)?.typtype == b'd' {
        cx.env.catalog().types().check_domain(ty, &Datum::Null)?;
    }
    Ok(Datum::Null)
}

fn coerce_exists(cx: &FnCtx, spec: &QuerySpec, item: Item) -> Result<Datum> {
    let json = item.into_json();
    let truth = matches!(json, Json::Bool(true));
    let mut base = spec.ty;
    while let info = type_info(cx, base)?
        && info.typtype == b'd'
    {
        base = info.base;
    }
    let value = match base {
        oid::BOOL => Datum::Bool(truth),
        oid::INT4 => Datum::I32(truth as i32),
        _ => return json_populate::populate(cx, &json, spec.ty, spec.typmod),
    };
    if base != spec.ty {
        cx.env.catalog().types().check_domain(spec.ty, &value)?;
    }
    Ok(value)
}

/// A value of JSON as one of the wanted type, as JSON_QUERY does it.
pub fn coerce_json(cx: &FnCtx, spec: &QuerySpec, json: &Json) -> Result<Datum> {
    let plain = |s: &str| {
        // The string without its quotes is read as the type's text.
        let mut base = spec.ty;
        let mut typmod = spec.typmod;
        while let info = type_info(cx, base)?
            && info.typtype == b'd'
        {
            (base, typmod) = (info.base, info.base_typmod);
        }
        let value = types::io::input(base, s, typmod, &cx.env.io())?;
        if base != spec.ty {
            cx.env.catalog().types().check_domain(spec.ty, &value)?;
        }
        Ok(value)
    };
    match json {
        Json::String(s) if spec.omit_quotes => plain(s),
        Json::String(_) if !matches!(spec.ty, oid::JSON | oid::JSONB) => {
            let info = type_info(cx, spec.ty)?;
            if info.elem.is_valid() || matches!(info.typtype, b'd' | b'c') {
                if info.elem.is_valid() {
                    bail!(INVALID_TEXT_REPRESENTATION, "expected JSON array");
                }
                if info.typtype == b'c' {
                    bail!(INVALID_PARAMETER_VALUE, "cannot call populate_composite on a scalar");
                }
                return json_populate::populate(cx, json, spec.ty, spec.typmod);
            }
            let mut text = Vec::new();
            json::write(json, &mut text);
            plain(&String::from_utf8_lossy(&text))
        }
        Json::Null if spec.ty == oid::JSONB => Ok(Datum::bytes(json::encode(json))),
        Json::Null if spec.ty == oid::JSON => Ok(Datum::text("null")),
        Json::Null => {
            let info = type_info(cx, spec.ty)?;
            match info.category {
                b'S' if info.typtype != b'd' => plain("null"),
                _ => json_populate::populate(cx, json, spec.ty, spec.typmod),
            }
        }
        _ => json_populate::populate(cx, json, spec.ty, spec.typmod),
    }
}

/// What EMPTY ARRAY and its kind stand for, or a DEFAULT of type jsonb.
pub fn coerce_behavior(cx: &FnCtx, spec: &QuerySpec, json: &Json) -> Result<Datum> {
    match spec.kind {
        QueryKind::Exists => coerce_exists(cx, spec, Item::Json(json.clone())),
        _ => coerce_json(cx, spec, json),
    }
}

/// The items that a path of JSON_TABLE gives for a value.
pub fn table_rows(
    cx: &FnCtx,
    document: &Datum,
    path: &JsonPath,
    passed: &Passed,
) -> Result<(Vec<Datum>, Option<Error>)> {
    let root = json::decode(document.as_bytes());
    let mode = Mode { zoned: true, exists: false };
    let (found, failed) = evaluate(cx.env, path, &root, Variables::Items(&passed.0), mode)?;
    let rows = found.into_iter().map(|i| Datum::bytes(json::encode(&i.into_json())));
    Ok((rows.collect(), failed))
}

/// Whether evaluating the path depends on the session, given the kinds of its variables' times.
pub fn is_mutable(path: &JsonPath, names: &[String], types: &[Oid]) -> bool {
    let variable = |name: &str| {
        let at = names.iter().position(|n| n == name)?;
        TimeKind::of_type(types.get(at).copied()?)
    };
    crate::scalar::jsonpath::is_mutable(path, &variable)
}
