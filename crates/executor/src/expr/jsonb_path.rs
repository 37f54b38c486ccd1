//! Subscripts of jsonb: values inside of a value, fetched and replaced.

use base::{Result, bail, err};
use types::Datum;
use types::json::{Json, decode, encode};

/// A subscript.
pub(crate) enum Subscript {
    Index(i64),
    Key(String),
}

impl Subscript {
    fn key(&self) -> String {
        match self {
            Subscript::Index(n) => n.to_string(),
            Subscript::Key(k) => k.clone(),
        }
    }

    fn index(&self) -> Option<i64> {
        match self {
            Subscript::Index(n) => Some(*n),
            Subscript::Key(k) => k.parse::<i32>().ok().map(i64::from),
        }
    }

    /// What holds values under this subscript.
    fn container(&self) -> Json {
        match self {
            Subscript::Index(_) => Json::Array(Vec::new()),
            Subscript::Key(_) => Json::Object(Vec::new()),
        }
    }
}

/// The value that a path leads to; NULL if there is none.
pub(crate) fn fetch(json: &Datum, path: &[Subscript]) -> Datum {
    let root = decode(json.as_bytes());
    let mut at = &root;
    for step in path {
        let next = match at {
            Json::Object(_) => at.get(&step.key()),
            Json::Array(items) => step.index().and_then(|n| {
                let n = if n < 0 { n + items.len() as i64 } else { n };
                usize::try_from(n).ok().and_then(|n| items.get(n))
            }),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => return Datum::Null,
        }
    }
    Datum::bytes(encode(at))
}

/// The value with another one where a path leads to; what is missing on the way is made.
pub(crate) fn store(json: &Datum, path: &[Subscript], value: &Datum) -> Result<Datum> {
    let new = if value.is_null() { Json::Null } else { decode(value.as_bytes()) };
    let Some(first) = path.first() else { return Ok(Datum::bytes(encode(&new))) };
    let mut root = if json.is_null() { first.container() } else { decode(json.as_bytes()) };
    if root.is_scalar() {
        return Err(replaced_scalar());
    }
    put(&mut root, path, 1, new)?;
    Ok(Datum::bytes(encode(&root)))
}

fn replaced_scalar() -> base::Error {
    err!(INVALID_PARAMETER_VALUE, "cannot replace existing key")
        .detail("The path assumes key is a composite object, but it is a scalar value.")
}

fn put(at: &mut Json, path: &[Subscript], position: usize, new: Json) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        *at = new;
        return Ok(());
    };
    let fresh = || rest.first().map_or(Json::Null, Subscript::container);
    let slot = match at {
        Json::Object(members) => {
            let key = step.key();
            match members.iter().position(|m| m.0 == key) {
                Some(i) => &mut members[i].1,
                None => {
                    let at =
                        members.partition_point(|m| types::json::compare_keys(&m.0, &key).is_lt());
                    members.insert(at, (key, fresh()));
                    &mut members[at].1
                }
            }
        }
        Json::Array(items) => {
            let Some(n) = step.index() else {
                bail!(
                    INVALID_TEXT_REPRESENTATION,
                    "path element at position {position} is not an integer: \"{}\"",
                    step.key()
                );
            };
            let index = if n < 0 { n + items.len() as i64 } else { n };
            if index < 0 {
                bail!(
                    INVALID_PARAMETER_VALUE,
                    "path element at position {position} is out of range: {n}"
                );
            }
            // More would not fit into a value, and filling up with nulls must not exhaust memory.
            if index > 1 << 24 {
                bail!(
                    PROGRAM_LIMIT_EXCEEDED,
                    "number of jsonb array elements exceeds the maximum allowed (268435455)"
                );
            }
            if index as usize >= items.len() {
                items.resize(index as usize + 1, Json::Null);
                items[index as usize] = fresh();
            }
            &mut items[index as usize]
        }
        _ => return Err(replaced_scalar()),
    };
    if !rest.is_empty() && slot.is_scalar() {
        // A null may become a container; other scalars may not.
        return Err(replaced_scalar());
    }
    put(slot, rest, position + 1, new)
}
