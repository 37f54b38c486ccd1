//! Changing jsonb values, and casts from them.

use crate::call::FnDef;
use base::{Error, Result, bail, err};
use types::array::{ArrayRef, ElemType};
use types::json::{self, Json, compare_keys};
use types::numeric::{self, Numeric};
use types::{Datum, oid};

fn open(bytes: &[u8]) -> Json {
    json::decode(bytes)
}

fn close(value: Json) -> Datum {
    Datum::bytes(json::encode(&value))
}

fn concat(a: Json, b: Json) -> Result<Json> {
    Ok(match (a, b) {
        (Json::Object(mut x), Json::Object(y)) => {
            x.extend(y);
            Json::object(x)
        }
        (Json::Array(mut x), Json::Array(y)) => {
            x.extend(y);
            Json::Array(x)
        }
        (Json::Array(mut x), y) => {
            x.push(y);
            Json::Array(x)
        }
        (x, Json::Array(mut y)) => {
            y.insert(0, x);
            Json::Array(y)
        }
        (x, y) if x.is_scalar() || y.is_scalar() => Json::Array(vec![x, y]),
        _ => bail!(INVALID_PARAMETER_VALUE, "invalid concatenation of jsonb objects"),
    })
}

fn delete_keys(value: Json, keys: &[String]) -> Result<Json> {
    Ok(match value {
        Json::Object(members) => {
            Json::Object(members.into_iter().filter(|m| !keys.contains(&m.0)).collect())
        }
        Json::Array(items) => Json::Array(
            items
                .into_iter()
                .filter(|i| !matches!(i, Json::String(s) if keys.contains(s)))
                .collect(),
        ),
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot delete from scalar"),
    })
}

fn delete_index(value: Json, index: i32) -> Result<Json> {
    match value {
        Json::Array(mut items) => {
            let at = if index < 0 { index as i64 + items.len() as i64 } else { index as i64 };
            if (0..items.len() as i64).contains(&at) {
                items.remove(at as usize);
            }
            Ok(Json::Array(items))
        }
        Json::Object(_) => {
            Err(err!(INVALID_PARAMETER_VALUE, "cannot delete from object using integer index"))
        }
        _ => Err(err!(INVALID_PARAMETER_VALUE, "cannot delete from scalar")),
    }
}

/// What is done at the end of a path.
#[derive(Clone)]
enum Change {
    Set(Json, bool),
    Insert(Json, bool),
    Delete,
}

fn path_steps(value: &Datum) -> Result<Vec<Datum>> {
    let array = ArrayRef::parse(value.as_bytes())?;
    if array.dims.len() > 1 {
        bail!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts");
    }
    array.values(&ElemType::builtin(oid::TEXT))
}

fn change(value: Json, path: &[Datum], level: usize, what: &Change) -> Result<Json> {
    let step = &path[level];
    if step.is_null() {
        bail!(NULL_VALUE_NOT_ALLOWED, "path element at position {} is null", level + 1);
    }
    let last = level + 1 == path.len();
    match value {
        Json::Object(members) => change_object(members, path, level, what, last),
        // In an empty array there is nothing to be changed, whatever the path says.
        Json::Array(items)
            if items.is_empty() && matches!(what, Change::Set(_, false) | Change::Delete) =>
        {
            Ok(Json::Array(items))
        }
        Json::Array(items) => change_array(items, path, level, what, last),
        other => Ok(other),
    }
}

fn change_object(
    mut members: Vec<(String, Json)>,
    path: &[Datum],
    level: usize,
    what: &Change,
    last: bool,
) -> Result<Json> {
    let key = path[level].as_str();
    match members.binary_search_by(|m| compare_keys(&m.0, key)) {
        Ok(i) if !last => {
            let inner = std::mem::replace(&mut members[i].1, Json::Null);
            members[i].1 = change(inner, path, level + 1, what)?;
        }
        Ok(i) => match what {
            Change::Set(value, _) => members[i].1 = value.clone(),
            Change::Delete => {
                members.remove(i);
            }
            Change::Insert(..) => {
                return Err(err!(INVALID_PARAMETER_VALUE, "cannot replace existing key")
                    .hint("Try using the function jsonb_set to replace key value."));
            }
        },
        Err(i) if last => match what {
            Change::Set(value, true) | Change::Insert(value, _) => {
                members.insert(i, (key.to_string(), value.clone()));
            }
            _ => {}
        },
        Err(_) => {}
    }
    Ok(Json::Object(members))
}

fn change_array(
    mut items: Vec<Json>,
    path: &[Datum],
    level: usize,
    what: &Change,
    last: bool,
) -> Result<Json> {
    let step = path[level].as_str();
    let index: i64 = types::io::parse_i32(step).map(i64::from).map_err(|_| {
        err!(
            INVALID_TEXT_REPRESENTATION,
            "path element at position {} is not an integer: \"{step}\"",
            level + 1
        )
    })?;
    let n = items.len() as i64;
    // Positions before the start count as before the first, beyond the end as after the last.
    let at = if index < 0 { if -index > n { i64::MIN } else { n + index } } else { index.min(n) };
    let inside = (0..n).contains(&at);
    if !last {
        if inside {
            let slot = &mut items[at as usize];
            let inner = std::mem::replace(slot, Json::Null);
            *slot = change(inner, path, level + 1, what)?;
        }
        return Ok(Json::Array(items));
    }
    match what {
        Change::Set(value, _) if inside => items[at as usize] = value.clone(),
        Change::Set(value, true) if at == i64::MIN => items.insert(0, value.clone()),
        Change::Set(value, true) => items.push(value.clone()),
        Change::Insert(value, after) if inside => {
            items.insert(at as usize + *after as usize, value.clone());
        }
        Change::Insert(value, _) if at == i64::MIN => items.insert(0, value.clone()),
        Change::Insert(value, _) => items.push(value.clone()),
        Change::Delete if inside => {
            items.remove(at as usize);
        }
        _ => {}
    }
    Ok(Json::Array(items))
}

fn at_path(value: &[u8], path: &Datum, what: Change) -> Result<Datum> {
    let tree = open(value);
    let steps = path_steps(path)?;
    if tree.is_scalar() {
        match what {
            Change::Delete => bail!(INVALID_PARAMETER_VALUE, "cannot delete path in scalar"),
            _ => bail!(INVALID_PARAMETER_VALUE, "cannot set path in scalar"),
        }
    }
    if steps.is_empty() {
        return Ok(close(tree));
    }
    change(tree, &steps, 0, &what).map(close)
}

fn set_lax(args: &[Datum]) -> Result<Datum> {
    if args[0].is_null() || args[1].is_null() || args[3].is_null() {
        return Ok(Datum::Null);
    }
    if args[4].is_null() {
        return Err(err!(
            INVALID_PARAMETER_VALUE,
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", \
             or \"raise_exception\""
        ));
    }
    let create = args[3].as_bool();
    if !args[2].is_null() {
        let value = open(args[2].as_bytes());
        return at_path(args[0].as_bytes(), &args[1], Change::Set(value, create));
    }
    match args[4].as_str() {
        "raise_exception" => Err(err!(NULL_VALUE_NOT_ALLOWED, "JSON value must not be null")
            .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .hint(
                "To avoid, either change the null_value_treatment argument or ensure that an SQL \
             NULL is not passed.",
            )),
        "use_json_null" => at_path(args[0].as_bytes(), &args[1], Change::Set(Json::Null, create)),
        "delete_key" => at_path(args[0].as_bytes(), &args[1], Change::Delete),
        "return_target" => Ok(args[0].clone()),
        _ => Err(err!(
            INVALID_PARAMETER_VALUE,
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", \
             or \"raise_exception\""
        )),
    }
}

#[cold]
fn cannot_cast(value: &Json, to: &str) -> Error {
    let what = match value {
        Json::Null => "null",
        Json::String(_) => "string",
        Json::Number(_) => "numeric",
        Json::Bool(_) => "boolean",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    err!(INVALID_PARAMETER_VALUE, "cannot cast jsonb {what} to type {to}")
}

/// A jsonb number; None for null.
fn number(bytes: &[u8], to: &str) -> Result<Option<Numeric>> {
    match open(bytes) {
        Json::Number(n) => Ok(Some(n)),
        Json::Null => Ok(None),
        other => Err(cannot_cast(&other, to)),
    }
}

fn integer<T: TryFrom<i128>>(bytes: &[u8], name: &str) -> Result<Option<T>> {
    number(bytes, name)?.map(|n| numeric::to_int(&n.encode()?, name)).transpose()
}

/// What a scalar, or the beginning of an array or object, adds to a hash.
trait Mix {
    fn start(&mut self, object: bool);
    fn scalar(&mut self, value: &Json) -> Result<()>;
    fn text(&mut self, text: &str);
}

struct Plain(u32);

impl Mix for Plain {
    fn start(&mut self, object: bool) {
        self.0 ^= if object { 0x2000_0000 } else { 0x4000_0000 };
    }
    fn scalar(&mut self, value: &Json) -> Result<()> {
        let one = match value {
            Json::Null => 1,
            Json::Bool(true) => 2,
            Json::Bool(false) => 4,
            Json::Number(n) => super::hash::hash_num(&n.encode()?),
            _ => return Ok(()),
        };
        self.0 = self.0.rotate_left(1) ^ one;
        Ok(())
    }
    fn text(&mut self, text: &str) {
        self.0 = self.0.rotate_left(1) ^ super::hash::hash_bytes(text.as_bytes());
    }
}

/// 64 bits, of which each half is turned for itself.
struct Seeded(u64, u64);

impl Seeded {
    fn add(&mut self, one: u64) {
        let (high, low) = ((self.0 >> 32) as u32, self.0 as u32);
        self.0 = (high.rotate_left(1) as u64) << 32 | low.rotate_left(1) as u64;
        self.0 ^= one;
    }
}

impl Mix for Seeded {
    fn start(&mut self, object: bool) {
        self.0 ^= if object { 0x2000_0000_2000_0000 } else { 0x4000_0000_4000_0000 };
    }
    fn scalar(&mut self, value: &Json) -> Result<()> {
        let seed = self.1;
        let one = match value {
            Json::Null => seed.wrapping_add(1),
            Json::Bool(b) if seed != 0 => super::hash::hash_u32_extended(*b as u32, seed),
            Json::Bool(true) => 2,
            Json::Bool(false) => 4,
            Json::Number(n) => super::hash::hash_num_extended(&n.encode()?, seed),
            _ => return Ok(()),
        };
        self.add(one);
        Ok(())
    }
    fn text(&mut self, text: &str) {
        self.add(super::hash::hash_bytes_extended(text.as_bytes(), self.1));
    }
}

fn mix(value: &Json, top: bool, out: &mut dyn Mix) -> Result<()> {
    match value {
        Json::Array(items) => {
            out.start(false);
            items.iter().try_for_each(|i| mix(i, false, out))
        }
        Json::Object(members) => {
            out.start(true);
            members.iter().try_for_each(|(key, value)| {
                out.text(key);
                mix(value, false, out)
            })
        }
        scalar => {
            // A scalar alone is an array of one.
            if top {
                out.start(false);
            }
            match scalar {
                Json::String(s) => out.text(s),
                other => out.scalar(other)?,
            }
            Ok(())
        }
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn hash(bytes: &[u8]) -> Result<i32> {
    let value = open(bytes);
    let mut out = Plain(0);
    if !is_empty(&value) {
        mix(&value, true, &mut out)?;
    }
    Ok(out.0 as i32)
}

fn hash_extended(bytes: &[u8], seed: u64) -> Result<i64> {
    let value = open(bytes);
    if is_empty(&value) {
        return Ok(seed as i64);
    }
    let mut out = Seeded(0, seed);
    mix(&value, true, &mut out)?;
    Ok(out.0 as i64)
}

const LIST: &[FnDef] = &[
    row!(jsonb_concat(a: &[u8], b: &[u8]) { concat(open(a), open(b)).map(close) }),
    row!(jsonb_delete(a: &[u8], key: &str) {
        delete_keys(open(a), &[key.to_string()]).map(close)
    }),
    row!(jsonb_delete_array(a: &[u8], keys: &Datum) {
        if ArrayRef::parse(keys.as_bytes())?.dims.len() > 1 {
            bail!(ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts");
        }
        delete_keys(open(a), &types::array::known_texts_of(keys)).map(close)
    }),
    row!(jsonb_delete_idx(a: &[u8], i: i32) { delete_index(open(a), i).map(close) }),
    row!(jsonb_delete_path(a: &[u8], path: &Datum) { at_path(a, path, Change::Delete) }),
    row!(jsonb_set(a: &[u8], path: &Datum, v: &[u8], create: bool) {
        at_path(a, path, Change::Set(open(v), create))
    }),
    raw!(jsonb_set_lax(cx, args) { set_lax(args) }),
    row!(jsonb_insert(a: &[u8], path: &Datum, v: &[u8], after: bool) {
        at_path(a, path, Change::Insert(open(v), after))
    }),
    row!(jsonb_bool(a: &[u8]) {
        match open(a) {
            Json::Bool(b) => Datum::Bool(b),
            Json::Null => Datum::Null,
            other => return Err(cannot_cast(&other, "boolean")),
        }
    }),
    row!(jsonb_numeric(a: &[u8]) {
        match number(a, "numeric")? {
            Some(n) => Datum::Bytes(n.encode()?),
            None => Datum::Null,
        }
    }),
    row!(jsonb_int2(a: &[u8]) { integer::<i16>(a, "smallint") }),
    row!(jsonb_int4(a: &[u8]) { integer::<i32>(a, "integer") }),
    row!(jsonb_int8(a: &[u8]) { integer::<i64>(a, "bigint") }),
    row!(jsonb_float8(a: &[u8]) {
        match number(a, "double precision")? {
            Some(n) => Datum::F64(types::io::parse_f64(&n.to_string())?),
            None => Datum::Null,
        }
    }),
    row!(jsonb_float4(a: &[u8]) {
        match number(a, "real")? {
            Some(n) => Datum::F32(types::io::parse_f32(&n.to_string())?),
            None => Datum::Null,
        }
    }),
    row!(jsonb_hash(a: &[u8]) { hash(a) }),
    row!(jsonb_hash_extended(a: &[u8], seed: i64) { hash_extended(a, seed as u64) }),
];

pub(super) const FNS: &[&[FnDef]] = &[LIST];
