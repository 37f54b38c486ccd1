//! Making JSON of values of any type.

use crate::call::{FnCtx, FnDef};
use base::{Oid, Result, bail, err};
use types::array::{ArrayRef, ElemType};
use types::io::DateStyle;
use types::json::{self, Json};
use types::numeric::Numeric;
use types::record::Record;
use types::{Datum, oid};

/// Whether lines are broken between items.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Style {
    /// One line.
    Json,
    /// A line feed after each comma at the top.
    Lines,
}

/// What a type becomes in JSON.
enum Kind {
    Bool,
    Number,
    Date,
    Json,
    Jsonb,
    Array,
    Composite,
    Cast(Oid),
    Text,
}

fn kind(cx: &FnCtx, type_oid: Oid) -> Kind {
    match type_oid {
        oid::BOOL => Kind::Bool,
        oid::INT2 | oid::INT4 | oid::INT8 | oid::FLOAT4 | oid::FLOAT8 | oid::NUMERIC => {
            Kind::Number
        }
        oid::DATE | oid::TIMESTAMP | oid::TIMESTAMPTZ => Kind::Date,
        oid::JSON => Kind::Json,
        oid::JSONB => Kind::Jsonb,
        // A column of statistics holds arrays of any type.
        oid::ANYARRAY => Kind::Array,
        oid::RECORD => Kind::Composite,
        oid::TEXT | oid::VARCHAR | oid::UNKNOWN | oid::BPCHAR => Kind::Text,
        _ => match cx.env.catalog().types().type_info(type_oid) {
            Some(info) if info.typtype == b'd' => kind(cx, info.base),
            Some(info) if info.typtype == b'c' => Kind::Composite,
            Some(info) if info.elem.is_valid() => Kind::Array,
            Some(info) if info.oid.0 >= 16384 => {
                match cx.env.catalog().cast_proc(type_oid, oid::JSON) {
                    Some(cast) => Kind::Cast(cast),
                    None => Kind::Text,
                }
            }
            _ => Kind::Text,
        },
    }
}

/// Whether values of a type are rows.
pub(crate) fn is_composite(cx: &FnCtx, type_oid: Oid) -> bool {
    matches!(kind(cx, type_oid), Kind::Composite | Kind::Array)
}

/// A value's text form.
pub(crate) fn text_of(cx: &FnCtx, type_oid: Oid, value: &Datum) -> Result<String> {
    let mut out = Vec::new();
    types::io::output(type_oid, value, &cx.env.io(), &mut out)?;
    Ok(String::from_utf8(out).unwrap_or_default())
}

fn date_text(cx: &FnCtx, type_oid: Oid, value: &Datum) -> Result<String> {
    let mut format = cx.env.format().clone();
    format.date_style = DateStyle::Iso;
    let io = types::IoCtx { format: &format, ..cx.env.io() };
    let mut out = Vec::new();
    types::io::output(type_oid, value, &io, &mut out)?;
    let mut text = String::from_utf8(out).unwrap_or_default();
    if type_oid != oid::DATE {
        text = text.replacen(' ', "T", 1);
    }
    // Offsets are written in full hours and minutes.
    if type_oid == oid::TIMESTAMPTZ
        && let Some(at) = text.rfind(['+', '-']).filter(|at| *at > 10)
        && text[at..].split(' ').next().is_some_and(|o| o.len() == 3)
    {
        text.insert_str(at + 3, ":00");
    }
    Ok(text)
}

/// Appends a value as JSON text.
pub(crate) fn append_value(
    cx: &FnCtx,
    type_oid: Oid,
    value: &Datum,
    style: Style,
    out: &mut Vec<u8>,
) -> Result<()> {
    if value.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match kind(cx, type_oid) {
        Kind::Bool => {
            let word: &[u8] = if value.as_bool() { b"true" } else { b"false" };
            out.extend_from_slice(word);
        }
        Kind::Number => {
            let text = text_of(cx, type_oid, value)?;
            if text.bytes().any(|b| matches!(b, b'N' | b'I')) {
                json::escape(&text, out);
            } else {
                out.extend_from_slice(text.as_bytes());
            }
        }
        Kind::Date => json::escape(&date_text(cx, type_oid, value)?, out),
        Kind::Json => out.extend_from_slice(value.as_bytes()),
        Kind::Jsonb => json::write(&json::decode(value.as_bytes()), out),
        Kind::Array => append_array(cx, value, style, out)?,
        Kind::Composite => append_row(cx, value, style, out)?,
        Kind::Cast(cast) => {
            let result = super::array::call(cx, cast, Oid::INVALID, std::slice::from_ref(value))?;
            out.extend_from_slice(result.as_bytes());
        }
        Kind::Text => json::escape(&text_of(cx, type_oid, value)?, out),
    }
    Ok(())
}

fn append_array(cx: &FnCtx, value: &Datum, style: Style, out: &mut Vec<u8>) -> Result<()> {
    let array = ArrayRef::parse(value.as_bytes())?;
    if array.is_empty() {
        out.extend_from_slice(b"[]");
        return Ok(());
    }
    let elem = super::array::elem_type(cx, array.elem_type)?;
    let values = array.values(&elem)?;
    append_dimension(cx, &array, &elem, &mut values.iter(), 0, style, out)
}

fn append_dimension(
    cx: &FnCtx,
    array: &ArrayRef,
    elem: &ElemType,
    values: &mut std::slice::Iter<Datum>,
    depth: usize,
    style: Style,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.push(b'[');
    for i in 0..array.dims[depth] {
        if i > 0 {
            let separator: &[u8] = if style == Style::Lines { b",\n " } else { b"," };
            out.extend_from_slice(separator);
        }
        if depth + 1 < array.dims.len() {
            append_dimension(cx, array, elem, values, depth + 1, Style::Json, out)?;
        } else if let Some(value) = values.next() {
            append_value(cx, elem.oid(), value, Style::Json, out)?;
        }
    }
    out.push(b']');
    Ok(())
}

/// Names and values of a row's columns, dropped ones left out.
pub(crate) fn row_columns(cx: &FnCtx, value: &Datum) -> Result<Vec<(String, Oid, Datum)>> {
    let record = Record::decode(value.as_bytes())?;
    let desc = cx.env.catalog().types().row_desc(record.type_oid, record.typmod);
    let mut out = Vec::new();
    for (i, column) in record.columns.into_iter().enumerate() {
        let attr = desc.as_ref().and_then(|d| d.attrs.get(i));
        if attr.is_some_and(|a| a.dropped) {
            continue;
        }
        let name = attr.map_or_else(|| format!("f{}", i + 1), |a| a.name.to_string());
        out.push((name, column.type_oid, column.value));
    }
    Ok(out)
}

fn append_row(cx: &FnCtx, value: &Datum, style: Style, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'{');
    for (i, (name, type_oid, value)) in row_columns(cx, value)?.into_iter().enumerate() {
        if i > 0 {
            let separator: &[u8] = if style == Style::Lines { b",\n " } else { b"," };
            out.extend_from_slice(separator);
        }
        json::escape(&name, out);
        out.push(b':');
        append_value(cx, type_oid, &value, Style::Json, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Text of an object's key.
pub(crate) fn key_text(cx: &FnCtx, type_oid: Oid, value: &Datum) -> Result<String> {
    match kind(cx, type_oid) {
        Kind::Json | Kind::Jsonb | Kind::Array | Kind::Composite | Kind::Cast(_) => {
            bail!(
                INVALID_PARAMETER_VALUE,
                "key value must be scalar, not array, composite, or json"
            );
        }
        Kind::Bool => Ok(if value.as_bool() { "true" } else { "false" }.to_string()),
        Kind::Date => date_text(cx, type_oid, value),
        _ => text_of(cx, type_oid, value),
    }
}

/// Appends the key given as argument `i`, escaped.
pub(crate) fn append_key(cx: &FnCtx, i: usize, value: &Datum, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        return Err(err!(NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key"));
    }
    json::escape(&key_text(cx, cx.call.arg_type(i), value)?, out);
    Ok(())
}

/// A value as a jsonb tree.
pub(crate) fn to_jsonb(cx: &FnCtx, type_oid: Oid, value: &Datum) -> Result<Json> {
    if value.is_null() {
        return Ok(Json::Null);
    }
    Ok(match kind(cx, type_oid) {
        Kind::Bool => Json::Bool(value.as_bool()),
        Kind::Number => match value {
            Datum::Bytes(b) => {
                let n = Numeric::decode(b);
                if n.is_finite() { Json::Number(n) } else { Json::String(n.to_string()) }
            }
            _ => {
                let text = text_of(cx, type_oid, value)?;
                if text.bytes().any(|b| matches!(b, b'N' | b'I')) {
                    Json::String(text)
                } else {
                    Json::Number(types::numeric::parse(&text)?)
                }
            }
        },
        Kind::Date => Json::String(date_text(cx, type_oid, value)?),
        Kind::Json => json::parse(value.as_str())?,
        Kind::Jsonb => json::decode(value.as_bytes()),
        Kind::Array => {
            let array = ArrayRef::parse(value.as_bytes())?;
            let elem = super::array::elem_type(cx, array.elem_type)?;
            let values = array.values(&elem)?;
            if array.is_empty() {
                return Ok(Json::Array(Vec::new()));
            }
            nested(cx, &array, &elem, &mut values.iter(), 0)?
        }
        Kind::Composite => {
            let members = row_columns(cx, value)?
                .into_iter()
                .map(|(name, t, v)| Ok((name, to_jsonb(cx, t, &v)?)))
                .collect::<Result<Vec<_>>>()?;
            Json::object(members)
        }
        Kind::Cast(cast) => {
            let result = super::array::call(cx, cast, Oid::INVALID, std::slice::from_ref(value))?;
            json::parse(result.as_str())?
        }
        Kind::Text => Json::String(text_of(cx, type_oid, value)?),
    })
}

fn nested(
    cx: &FnCtx,
    array: &ArrayRef,
    elem: &ElemType,
    values: &mut std::slice::Iter<Datum>,
    depth: usize,
) -> Result<Json> {
    let mut items = Vec::new();
    for _ in 0..array.dims[depth] {
        if depth + 1 < array.dims.len() {
            items.push(nested(cx, array, elem, values, depth + 1)?);
        } else if let Some(value) = values.next() {
            items.push(to_jsonb(cx, elem.oid(), value)?);
        }
    }
    Ok(Json::Array(items))
}

/// The arguments of a VARIADIC "any" function with their types: the elements of the array if one
/// was given with VARIADIC. None if that array is NULL.
pub(crate) fn variadic_args(
    cx: &FnCtx,
    args: &[Datum],
    from: usize,
) -> Result<Option<Vec<(Oid, Datum)>>> {
    let rest = &args[from.min(args.len())..];
    if cx.call.variadic {
        let Some(last) = rest.last() else { return Ok(Some(Vec::new())) };
        if last.is_null() {
            return Ok(None);
        }
        let array = ArrayRef::parse(last.as_bytes())?;
        let elem = super::array::elem_type(cx, array.elem_type)?;
        let values = array.values(&elem)?;
        return Ok(Some(values.into_iter().map(|v| (elem.oid(), v)).collect()));
    }
    Ok(Some(
        rest.iter().enumerate().map(|(i, v)| (cx.call.arg_type(from + i), v.clone())).collect(),
    ))
}

fn odd_arguments(name: &str) -> base::Error {
    err!(INVALID_PARAMETER_VALUE, "argument list must have even number of elements")
        .hint(format!("The arguments of {name}() must consist of alternating keys and values."))
}

fn build_object(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    let Some(args) = variadic_args(cx, args, 0)? else { return Ok(Datum::Null) };
    if args.len() % 2 != 0 {
        return Err(odd_arguments("json_build_object"));
    }
    let mut out = vec![b'{'];
    for (i, pair) in args.chunks_exact(2).enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        if pair[0].1.is_null() {
            return Err(err!(NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key"));
        }
        json::escape(&key_text(cx, pair[0].0, &pair[0].1)?, &mut out);
        out.extend_from_slice(b" : ");
        append_value(cx, pair[1].0, &pair[1].1, Style::Json, &mut out)?;
    }
    out.push(b'}');
    Ok(Datum::bytes(out))
}

fn build_array(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    let Some(args) = variadic_args(cx, args, 0)? else { return Ok(Datum::Null) };
    let mut out = vec![b'['];
    for (i, (type_oid, value)) in args.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        append_value(cx, *type_oid, value, Style::Json, &mut out)?;
    }
    out.push(b']');
    Ok(Datum::bytes(out))
}

fn jsonb_object(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    let Some(args) = variadic_args(cx, args, 0)? else { return Ok(Datum::Null) };
    if args.len() % 2 != 0 {
        return Err(odd_arguments("jsonb_build_object"));
    }
    let mut members = Vec::new();
    for (i, pair) in args.chunks_exact(2).enumerate() {
        if pair[0].1.is_null() {
            bail!(INVALID_PARAMETER_VALUE, "argument {}: key must not be null", 2 * i + 1);
        }
        let key = key_text(cx, pair[0].0, &pair[0].1)?;
        members.push((key, to_jsonb(cx, pair[1].0, &pair[1].1)?));
    }
    Ok(Datum::bytes(json::encode(&Json::object(members))))
}

fn jsonb_array(cx: &FnCtx, args: &[Datum]) -> Result<Datum> {
    let Some(args) = variadic_args(cx, args, 0)? else { return Ok(Datum::Null) };
    let items = args.iter().map(|(t, v)| to_jsonb(cx, *t, v)).collect::<Result<Vec<_>>>()?;
    Ok(Datum::bytes(json::encode(&Json::Array(items))))
}

fn whole(cx: &FnCtx, value: &Datum, style: Style) -> Result<Datum> {
    let mut out = Vec::new();
    append_value(cx, cx.call.arg_type(0), value, style, &mut out)?;
    Ok(Datum::bytes(out))
}

fn lines(args: &[Datum]) -> Style {
    if args.get(1).is_some_and(Datum::as_bool) { Style::Lines } else { Style::Json }
}

/// Pairs of the keys and values of `json_object(text[])` and `(text[], text[])`.
fn text_pairs(args: &[Datum]) -> Result<Vec<(String, Option<String>)>> {
    let text = ElemType::builtin(oid::TEXT);
    let string = |d: &Datum| (!d.is_null()).then(|| d.as_str().to_string());
    let first = ArrayRef::parse(args[0].as_bytes())?;
    let keys = first.values(&text)?;
    let pairs: Vec<(Datum, Datum)> = if args.len() == 2 {
        let second = ArrayRef::parse(args[1].as_bytes())?;
        if first.dims.len() > 1 || first.dims.len() != second.dims.len() {
            bail!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts");
        }
        let values = second.values(&text)?;
        if keys.len() != values.len() {
            bail!(ARRAY_SUBSCRIPT_ERROR, "mismatched array dimensions");
        }
        keys.into_iter().zip(values).collect()
    } else {
        match first.dims[..] {
            [] => {}
            [n] if n % 2 == 0 => {}
            [_] => {
                bail!(ARRAY_SUBSCRIPT_ERROR, "array must have even number of elements");
            }
            [_, 2] => {}
            [_, _] => bail!(ARRAY_SUBSCRIPT_ERROR, "array must have two columns"),
            _ => bail!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts"),
        }
        keys.chunks_exact(2).map(|p| (p[0].clone(), p[1].clone())).collect()
    };
    pairs
        .iter()
        .map(|(k, v)| match string(k) {
            Some(key) => Ok((key, string(v))),
            None => Err(err!(NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key")),
        })
        .collect()
}

fn json_object(args: &[Datum]) -> Result<Datum> {
    let mut out = vec![b'{'];
    for (i, (key, value)) in text_pairs(args)?.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        json::escape(key, &mut out);
        out.extend_from_slice(b" : ");
        match value {
            Some(value) => json::escape(value, &mut out),
            None => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
    Ok(Datum::bytes(out))
}

fn jsonb_object_of_text(args: &[Datum]) -> Result<Datum> {
    let members = text_pairs(args)?
        .into_iter()
        .map(|(k, v)| (k, v.map_or(Json::Null, Json::String)))
        .collect();
    Ok(Datum::bytes(json::encode(&Json::object(members))))
}

const LIST: &[FnDef] = &[
    raw!(to_json(cx, args) { whole(cx, &args[0], Style::Json) }),
    raw!(array_to_json(cx, args) { whole(cx, &args[0], lines(args)) }),
    raw!(array_to_json_pretty(cx, args) { whole(cx, &args[0], lines(args)) }),
    raw!(row_to_json(cx, args) { whole(cx, &args[0], lines(args)) }),
    raw!(row_to_json_pretty(cx, args) { whole(cx, &args[0], lines(args)) }),
    raw!(to_jsonb(cx, args) {
        to_jsonb(cx, cx.call.arg_type(0), &args[0]).map(|j| json::encode(&j))
    }),
    raw!(json_build_object(cx, args) { build_object(cx, args) }),
    raw!(json_build_object_noargs(cx, args) { "{}" }),
    raw!(json_build_array(cx, args) { build_array(cx, args) }),
    raw!(json_build_array_noargs(cx, args) { "[]" }),
    raw!(jsonb_build_object(cx, args) { jsonb_object(cx, args) }),
    raw!(jsonb_build_object_noargs(cx, args) { json::encode(&Json::Object(Vec::new())) }),
    raw!(jsonb_build_array(cx, args) { jsonb_array(cx, args) }),
    raw!(jsonb_build_array_noargs(cx, args) { json::encode(&Json::Array(Vec::new())) }),
    raw!(json_object(cx, args) { json_object(args) }),
    raw!(json_object_two_arg(cx, args) { json_object(args) }),
    raw!(jsonb_object(cx, args) { jsonb_object_of_text(args) }),
    raw!(jsonb_object_two_arg(cx, args) { jsonb_object_of_text(args) }),
];

pub(super) const FNS: &[&[FnDef]] = &[LIST];
