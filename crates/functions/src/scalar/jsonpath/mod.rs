//! SQL/JSON paths: evaluation and the functions over jsonb.

pub(crate) mod exec;
mod method;
mod mutable;
mod time;

pub(crate) use exec::{Item, Mode, Variables, evaluate};
pub(crate) use mutable::is_mutable;
pub(crate) use time::{Kind as TimeKind, text_of as time_text};

use crate::call::{FnCtx, FnDef};
use crate::srf::{RowSource, Rows};
use base::{Oid, Result, err};
use std::sync::Arc;
use types::json::{Json, decode, encode};
use types::jsonpath::JsonPath;
use types::{Datum, oid};

/// Paths parsed at a call site.
#[derive(Default)]
struct Cached(Option<(Vec<u8>, Arc<JsonPath>)>);

/// The path that is stored as `bytes`.
pub(crate) fn stored_path(cx: &mut FnCtx, bytes: &[u8]) -> Result<Arc<JsonPath>> {
    let cached = cx.state.get_or_try(|| Ok(Cached::default()))?;
    if let Some((text, path)) = &cached.0
        && text == bytes
    {
        return Ok(Arc::clone(path));
    }
    let path = Arc::new(types::jsonpath::parse(&String::from_utf8_lossy(bytes))?);
    cached.0 = Some((bytes.to_vec(), Arc::clone(&path)));
    Ok(path)
}

/// The path stored as these bytes, for others.
pub(crate) fn path_of(cx: &mut FnCtx, bytes: &[u8]) -> Result<Arc<JsonPath>> {
    stored_path(cx, bytes)
}

/// A value of PASSING.
pub(crate) fn item_of(cx: &FnCtx, ty: Oid, value: &Datum) -> Result<Item> {
    if value.is_null() {
        return Ok(Item::Json(Json::Null));
    }
    if let Some(kind) = TimeKind::of_type(ty) {
        return Ok(Item::Time(time::of_datum(kind, value)));
    }
    match ty {
        oid::JSONB
        | oid::BOOL
        | oid::INT2
        | oid::INT4
        | oid::INT8
        | oid::FLOAT4
        | oid::FLOAT8
        | oid::NUMERIC
        | oid::TEXT
        | oid::VARCHAR => super::json_build::to_jsonb(cx, ty, value).map(Item::Json),
        _ => {
            let name = cx.env.catalog().type_name(ty).unwrap_or_default();
            Err(err!(INVALID_PARAMETER_VALUE, "could not convert value of type {name} to jsonpath"))
        }
    }
}

fn variables(json: &Json) -> Result<&Json> {
    match json {
        Json::Object(_) => Ok(json),
        _ => Err(err!(INVALID_PARAMETER_VALUE, "\"vars\" argument is not an object").detail(
            "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.",
        )),
    }
}

/// What a function of these arguments finds, and the error that ended the search.
fn run(
    cx: &mut FnCtx,
    args: &[Datum],
    mode: Mode,
) -> Result<(Vec<Json>, Option<base::Error>, bool)> {
    let path = stored_path(cx, args[1].as_bytes())?;
    let root = decode(args[0].as_bytes());
    let vars = args.get(2).map(|v| decode(v.as_bytes()));
    let vars = match &vars {
        Some(v) => Variables::Object(variables(v)?),
        None => Variables::None,
    };
    let (found, failed) = evaluate(cx.env, &path, &root, vars, mode)?;
    let found = found.into_iter().map(Item::into_json).collect();
    Ok((found, failed, path.lax))
}

fn is_silent(args: &[Datum]) -> bool {
    args.get(3).is_none_or(Datum::as_bool)
}

fn all(cx: &mut FnCtx, args: &[Datum], zoned: bool) -> Result<Vec<Json>> {
    match run(cx, args, Mode { zoned, exists: false })? {
        (_, Some(e), _) if !is_silent(args) => Err(e),
        (found, _, _) => Ok(found),
    }
}

fn exists(cx: &mut FnCtx, args: &[Datum], zoned: bool) -> Result<Datum> {
    let (found, failed, lax) = run(cx, args, Mode { zoned, exists: true })?;
    match failed {
        // What comes after the first result is not looked at.
        _ if lax && !found.is_empty() => Ok(Datum::Bool(true)),
        Some(e) if !is_silent(args) => Err(e),
        Some(_) => Ok(Datum::Null),
        None => Ok(Datum::Bool(!found.is_empty())),
    }
}

fn matches(cx: &mut FnCtx, args: &[Datum], zoned: bool) -> Result<Datum> {
    let found = all(cx, args, zoned)?;
    match found.as_slice() {
        [Json::Bool(b)] => Ok(Datum::Bool(*b)),
        [Json::Null] => Ok(Datum::Null),
        _ if is_silent(args) => Ok(Datum::Null),
        _ => Err(err!(SINGLETON_SQL_JSON_ITEM_REQUIRED, "single boolean result is expected")),
    }
}

fn array(cx: &mut FnCtx, args: &[Datum], zoned: bool) -> Result<Datum> {
    let found = all(cx, args, zoned)?;
    Ok(Datum::bytes(encode(&Json::Array(found))))
}

fn first(cx: &mut FnCtx, args: &[Datum], zoned: bool) -> Result<Datum> {
    let found = all(cx, args, zoned)?;
    Ok(found.first().map_or(Datum::Null, |j| Datum::bytes(encode(j))))
}

/// The rows of `jsonb_path_query`.
pub(crate) fn query_rows(
    cx: &mut FnCtx,
    args: &[Datum],
    zoned: bool,
) -> Result<Box<dyn RowSource>> {
    let found = all(cx, args, zoned)?;
    Ok(Rows::single(found.iter().map(|j| Datum::bytes(encode(j))).collect()))
}

const PLAIN: &[FnDef] = &[
    raw!(jsonb_path_exists(cx, args) { exists(cx, args, false) }),
    raw!(jsonb_path_exists_tz(cx, args) { exists(cx, args, true) }),
    raw!(jsonb_path_exists_opr(cx, args) { exists(cx, args, false) }),
    raw!(jsonb_path_match(cx, args) { matches(cx, args, false) }),
    raw!(jsonb_path_match_tz(cx, args) { matches(cx, args, true) }),
    raw!(jsonb_path_match_opr(cx, args) { matches(cx, args, false) }),
    raw!(jsonb_path_query_array(cx, args) { array(cx, args, false) }),
    raw!(jsonb_path_query_array_tz(cx, args) { array(cx, args, true) }),
    raw!(jsonb_path_query_first(cx, args) { first(cx, args, false) }),
    raw!(jsonb_path_query_first_tz(cx, args) { first(cx, args, true) }),
];

pub(crate) const FNS: &[&[FnDef]] = &[PLAIN];
