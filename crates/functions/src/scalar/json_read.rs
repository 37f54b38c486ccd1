//! Taking JSON apart. `json` values keep their text, so that what is taken out is a piece of it.

use crate::call::FnDef;
use crate::srf::{RowSource, Rows};
use base::{Result, bail, err};
use types::array::{ArrayRef, ElemType};
use types::json::{self, Json, JsonbRef, Token, Tokens, compare_keys};
use types::{Datum, oid};

/// A piece of JSON text and what it starts with.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    pub(super) kind: Token,
}

impl<'a> Piece<'a> {
    pub(super) fn whole(text: &'a str) -> Result<Piece<'a>> {
        let mut tokens = Tokens::new(text, false);
        let kind = tokens.next()?;
        let start = tokens.start;
        Ok(Piece { text: text[start..].trim_end(), kind })
    }

    /// The value as text: strings unescaped, null as NULL.
    pub(super) fn datum(&self, text: bool) -> Result<Datum> {
        if !text {
            return Ok(Datum::text(self.text));
        }
        Ok(match self.kind {
            Token::Null => Datum::Null,
            Token::String => {
                let mut tokens = Tokens::new(self.text, true);
                tokens.next()?;
                Datum::string(tokens.string)
            }
            _ => Datum::text(self.text),
        })
    }

    /// The items of an array or the members of an object.
    pub(super) fn children(&self) -> Result<Vec<(String, Piece<'a>)>> {
        let object = self.kind == Token::ObjectStart;
        let mut out = Vec::new();
        let mut tokens = Tokens::new(self.text, true);
        tokens.next()?;
        let mut token = tokens.next()?;
        while !matches!(token, Token::ObjectEnd | Token::ArrayEnd | Token::End) {
            let mut key = String::new();
            if object {
                key.clone_from(&tokens.string);
                tokens.next()?;
                token = tokens.next()?;
            }
            let (start, kind) = (tokens.start, token);
            let mut depth = 0;
            loop {
                match token {
                    Token::ObjectStart | Token::ArrayStart => depth += 1,
                    Token::ObjectEnd | Token::ArrayEnd => depth -= 1,
                    Token::End => break,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                token = tokens.next()?;
            }
            out.push((key, Piece { text: &self.text[start..tokens.end], kind }));
            token = tokens.next()?;
            if token == Token::Comma {
                token = tokens.next()?;
            }
        }
        Ok(out)
    }

    fn field(&self, key: &str) -> Result<Option<Piece<'a>>> {
        if self.kind != Token::ObjectStart {
            return Ok(None);
        }
        // The last of equal keys counts.
        Ok(self.children()?.into_iter().rev().find(|c| c.0 == key).map(|c| c.1))
    }

    fn item(&self, index: i64) -> Result<Option<Piece<'a>>> {
        if self.kind != Token::ArrayStart {
            return Ok(None);
        }
        let items = self.children()?;
        let at = if index < 0 { index + items.len() as i64 } else { index };
        Ok(usize::try_from(at).ok().and_then(|i| items.get(i)).map(|c| c.1))
    }
}

/// Rows of `json_array_elements`.
pub(crate) fn elements(text: &str, as_text: bool) -> Result<Box<dyn RowSource>> {
    let piece = Piece::whole(text)?;
    match piece.kind {
        Token::ArrayStart => {
            let values =
                piece.children()?.iter().map(|c| c.1.datum(as_text)).collect::<Result<_>>()?;
            Ok(Rows::single(values))
        }
        Token::ObjectStart => {
            let name = if as_text { "json_array_elements_text" } else { "json_array_elements" };
            Err(err!(INVALID_PARAMETER_VALUE, "cannot call {name} on a non-array"))
        }
        _ => {
            let name = if as_text { "json_array_elements_text" } else { "json_array_elements" };
            Err(err!(INVALID_PARAMETER_VALUE, "cannot call {name} on a scalar"))
        }
    }
}

/// Rows of `json_object_keys`.
pub(crate) fn keys(text: &str) -> Result<Box<dyn RowSource>> {
    let piece = Piece::whole(text)?;
    match piece.kind {
        Token::ObjectStart => {
            let values = piece.children()?.into_iter().map(|c| Datum::string(c.0)).collect();
            Ok(Rows::single(values))
        }
        Token::ArrayStart => {
            Err(err!(INVALID_PARAMETER_VALUE, "cannot call json_object_keys on an array"))
        }
        _ => Err(err!(INVALID_PARAMETER_VALUE, "cannot call json_object_keys on a scalar")),
    }
}

/// Rows of `json_each`.
pub(crate) fn each(text: &str, as_text: bool) -> Result<Box<dyn RowSource>> {
    let piece = Piece::whole(text)?;
    match piece.kind {
        Token::ObjectStart => {
            let rows = piece
                .children()?
                .into_iter()
                .map(|(key, value)| Ok(vec![Datum::string(key), value.datum(as_text)?]))
                .collect::<Result<_>>()?;
            Ok(Rows::new(rows))
        }
        Token::ArrayStart => {
            Err(err!(INVALID_PARAMETER_VALUE, "cannot deconstruct an array as an object"))
        }
        _ => Err(err!(INVALID_PARAMETER_VALUE, "cannot deconstruct a scalar")),
    }
}

fn optional(piece: Option<Piece>, text: bool) -> Result<Datum> {
    piece.map_or(Ok(Datum::Null), |p| p.datum(text))
}

/// The steps of a path; None if one is NULL.
fn path(value: &Datum) -> Result<Option<Vec<String>>> {
    let array = ArrayRef::parse(value.as_bytes())?;
    let values = array.values(&ElemType::builtin(oid::TEXT))?;
    Ok(values.iter().map(|v| (!v.is_null()).then(|| v.as_str().to_string())).collect())
}

fn index_of(step: &str) -> Option<i64> {
    step.trim_start().parse::<i32>().ok().map(i64::from)
}

fn json_path(text: &str, steps: &Datum, as_text: bool) -> Result<Datum> {
    let Some(steps) = path(steps)? else { return Ok(Datum::Null) };
    let mut piece = Piece::whole(text)?;
    if steps.is_empty() {
        return if as_text { piece.datum(true) } else { Ok(Datum::text(text)) };
    }
    for step in &steps {
        let next = match piece.kind {
            Token::ObjectStart => piece.field(step)?,
            Token::ArrayStart => match index_of(step) {
                Some(i) => piece.item(i)?,
                None => None,
            },
            _ => None,
        };
        match next {
            Some(p) => piece = p,
            None => return Ok(Datum::Null),
        }
    }
    piece.datum(as_text)
}

fn jsonb_item(value: JsonbRef<'_>, index: i64) -> Option<JsonbRef<'_>> {
    // A scalar is its own only element.
    if !value.is_object() && !value.is_array() {
        return matches!(index, 0 | -1).then_some(value);
    }
    let at = if index < 0 { index + value.len() as i64 } else { index };
    value.item(usize::try_from(at).ok()?)
}

fn jsonb_shown(value: Option<JsonbRef>, text: bool) -> Datum {
    match value {
        None => Datum::Null,
        Some(v) if !text => Datum::bytes(v.0.to_vec()),
        Some(v) => match v.to_json() {
            Json::Null => Datum::Null,
            Json::String(s) => Datum::string(s),
            other => {
                let mut out = Vec::new();
                json::write(&other, &mut out);
                Datum::bytes(out)
            }
        },
    }
}

fn jsonb_path<'a>(value: &'a [u8], steps: &Datum) -> Result<Option<JsonbRef<'a>>> {
    let Some(steps) = path(steps)? else { return Ok(None) };
    let mut at = JsonbRef(value);
    for step in &steps {
        let next = if at.is_object() {
            at.get(step)
        } else if at.is_array() {
            index_of(step).and_then(|i| jsonb_item(at, i))
        } else {
            None
        };
        match next {
            Some(v) => at = v,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

fn json_typeof(text: &str) -> Result<&'static str> {
    Ok(match Piece::whole(text)?.kind {
        Token::ObjectStart => "object",
        Token::ArrayStart => "array",
        Token::String => "string",
        Token::Number => "number",
        Token::True | Token::False => "boolean",
        _ => "null",
    })
}

fn json_array_length(text: &str) -> Result<i32> {
    let piece = Piece::whole(text)?;
    match piece.kind {
        Token::ArrayStart => Ok(piece.children()?.len() as i32),
        Token::ObjectStart => {
            bail!(INVALID_PARAMETER_VALUE, "cannot get array length of a non-array")
        }
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot get array length of a scalar"),
    }
}

/// JSON text without members that are null; `arrays` drops null items too.
fn strip_text(piece: Piece, arrays: bool, out: &mut String) -> Result<()> {
    let object = match piece.kind {
        Token::ObjectStart => true,
        Token::ArrayStart => false,
        Token::String => {
            // Strings are written anew, without escapes that need not be.
            let mut quoted = Vec::new();
            if let Json::String(text) = json::parse(piece.text)? {
                json::escape(&text, &mut quoted);
            }
            out.push_str(&String::from_utf8_lossy(&quoted));
            return Ok(());
        }
        _ => {
            out.push_str(piece.text);
            return Ok(());
        }
    };
    out.push(if object { '{' } else { '[' });
    let mut first = true;
    for (key, value) in piece.children()? {
        if value.kind == Token::Null && (object || arrays) {
            continue;
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        if object {
            let mut quoted = Vec::new();
            json::escape(&key, &mut quoted);
            out.push_str(&String::from_utf8_lossy(&quoted));
            out.push(':');
        }
        strip_text(value, arrays, out)?;
    }
    out.push(if object { '}' } else { ']' });
    Ok(())
}

fn strip(value: Json, arrays: bool) -> Json {
    match value {
        Json::Array(items) => Json::Array(
            items
                .into_iter()
                .filter(|i| !arrays || *i != Json::Null)
                .map(|i| strip(i, arrays))
                .collect(),
        ),
        Json::Object(members) => Json::Object(
            members
                .into_iter()
                .filter(|m| m.1 != Json::Null)
                .map(|(k, v)| (k, strip(v, arrays)))
                .collect(),
        ),
        other => other,
    }
}

const JSON: &[FnDef] = &[
    row!(json_object_field(a: &str, key: &str) { optional(Piece::whole(a)?.field(key)?, false) }),
    row!(json_object_field_text(a: &str, key: &str) {
        optional(Piece::whole(a)?.field(key)?, true)
    }),
    row!(json_array_element(a: &str, i: i32) { optional(Piece::whole(a)?.item(i as i64)?, false) }),
    row!(json_array_element_text(a: &str, i: i32) {
        optional(Piece::whole(a)?.item(i as i64)?, true)
    }),
    row!(json_extract_path(a: &str, steps: &Datum) { json_path(a, steps, false) }),
    row!(json_extract_path_text(a: &str, steps: &Datum) { json_path(a, steps, true) }),
    row!(json_typeof(a: &str) { json_typeof(a) }),
    row!(json_array_length(a: &str) { json_array_length(a) }),
    raw!(json_strip_nulls(cx, args) {
        let mut out = String::new();
        let arrays = args.get(1).is_some_and(Datum::as_bool);
        strip_text(Piece::whole(args[0].as_str())?, arrays, &mut out)?;
        out
    }),
];

const JSONB: &[FnDef] = &[
    row!(jsonb_object_field(a: &[u8], key: &str) { jsonb_shown(JsonbRef(a).get(key), false) }),
    row!(jsonb_object_field_text(a: &[u8], key: &str) { jsonb_shown(JsonbRef(a).get(key), true) }),
    row!(jsonb_array_element(a: &[u8], i: i32) {
        jsonb_shown(jsonb_item(JsonbRef(a), i as i64), false)
    }),
    row!(jsonb_array_element_text(a: &[u8], i: i32) {
        jsonb_shown(jsonb_item(JsonbRef(a), i as i64), true)
    }),
    row!(jsonb_extract_path(a: &[u8], p: &Datum) { jsonb_shown(jsonb_path(a, p)?, false) }),
    row!(jsonb_extract_path_text(a: &[u8], p: &Datum) { jsonb_shown(jsonb_path(a, p)?, true) }),
    row!(jsonb_typeof(a: &[u8]) { json::decode(a).type_name() }),
    row!(jsonb_array_length(a: &[u8]) {
        let value = JsonbRef(a);
        if value.is_object() {
            bail!(INVALID_PARAMETER_VALUE, "cannot get array length of a non-array");
        }
        if !value.is_array() {
            bail!(INVALID_PARAMETER_VALUE, "cannot get array length of a scalar");
        }
        value.len() as i32
    }),
    raw!(jsonb_strip_nulls(cx, args) {
        let arrays = args.get(1).is_some_and(Datum::as_bool);
        json::encode(&strip(json::decode(args[0].as_bytes()), arrays))
    }),
    row!(jsonb_pretty(a: &[u8]) {
        let mut out = Vec::new();
        json::write_pretty(&json::decode(a), 0, &mut out);
        out
    }),
    row!(jsonb_exists(a: &[u8], key: &str) { exists(JsonbRef(a), key) }),
    row!(jsonb_exists_any(a: &[u8], keys: &Datum) {
        types::array::known_texts_of(keys).iter().any(|k| exists(JsonbRef(a), k))
    }),
    row!(jsonb_exists_all(a: &[u8], keys: &Datum) {
        types::array::known_texts_of(keys).iter().all(|k| exists(JsonbRef(a), k))
    }),
    row!(jsonb_contains(a: &[u8], b: &[u8]) { contains_top(&json::decode(a), &json::decode(b)) }),
    row!(jsonb_contained(a: &[u8], b: &[u8]) { contains_top(&json::decode(b), &json::decode(a)) }),
];

fn exists(value: JsonbRef, key: &str) -> bool {
    if value.is_object() {
        return value.get(key).is_some();
    }
    if value.is_array() {
        return (0..value.len()).any(|i| value.item(i).and_then(|v| v.as_str()) == Some(key));
    }
    value.as_str() == Some(key)
}

fn contains_top(a: &Json, b: &Json) -> bool {
    match (a, b) {
        // An array may contain a scalar on the right, at the top only.
        (Json::Array(items), b) if b.is_scalar() => items.iter().any(|i| i.compare(b).is_eq()),
        _ => contains(a, b),
    }
}

fn contains(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Object(x), Json::Object(y)) => y.iter().all(|(key, value)| {
            x.binary_search_by(|m| compare_keys(&m.0, key)).is_ok_and(|i| contains(&x[i].1, value))
        }),
        (Json::Array(x), Json::Array(y)) => {
            y.iter().all(|value| x.iter().any(|item| contains(item, value)))
        }
        (x, y) if x.is_scalar() && y.is_scalar() => x.compare(y).is_eq(),
        _ => false,
    }
}

const COMPARE: &[FnDef] = &[
    row!(jsonb_eq(a: &[u8], b: &[u8]) { order(a, b).is_eq() }),
    row!(jsonb_ne(a: &[u8], b: &[u8]) { order(a, b).is_ne() }),
    row!(jsonb_lt(a: &[u8], b: &[u8]) { order(a, b).is_lt() }),
    row!(jsonb_le(a: &[u8], b: &[u8]) { order(a, b).is_le() }),
    row!(jsonb_gt(a: &[u8], b: &[u8]) { order(a, b).is_gt() }),
    row!(jsonb_ge(a: &[u8], b: &[u8]) { order(a, b).is_ge() }),
    row!(jsonb_cmp(a: &[u8], b: &[u8]) { order(a, b) as i32 }),
];

fn order(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    json::decode(a).compare(&json::decode(b))
}

pub(super) const FNS: &[&[FnDef]] = &[JSON, JSONB, COMPARE];
