//! JSON: checking and parsing text, the tree of a value, and jsonb's stored form.

mod check;
mod parse;
mod stored;
mod write;

pub use parse::{Token, Tokens, keys_are_unique, parse, validate};
pub use stored::{JsonbRef, decode, encode};
pub use write::{escape, quoted, write, write_pretty};

use crate::numeric::{self, Numeric};
use std::cmp::Ordering;

/// A JSON value. Objects have unique keys, sorted by length, then by bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// a number
    Number(Numeric),
    /// a string
    String(String),
    /// an array
    Array(Vec<Json>),
    /// an object
    Object(Vec<(String, Json)>),
}

/// Order of an object's keys: shorter first, then by bytes.
pub fn compare_keys(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.as_bytes().cmp(b.as_bytes()))
}

impl Json {
    /// An object of these members: sorted, the last of equal keys kept.
    pub fn object(mut members: Vec<(String, Json)>) -> Json {
        // A stable sort keeps equal keys in order, so that the last one wins below.
        members.sort_by(|a, b| compare_keys(&a.0, &b.0));
        let mut out: Vec<(String, Json)> = Vec::with_capacity(members.len());
        for member in members {
            match out.last_mut() {
                Some(last) if last.0 == member.0 => *last = member,
                _ => out.push(member),
            }
        }
        Json::Object(out)
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => {
                members.binary_search_by(|m| compare_keys(&m.0, key)).ok().map(|i| &members[i].1)
            }
            _ => None,
        }
    }

    /// Whether it is neither an array nor an object.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Json::Array(_) | Json::Object(_))
    }

    /// What `jsonb_typeof` says.
    pub fn type_name(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::String(_) => 1,
            Json::Number(_) => 2,
            Json::Bool(_) => 3,
            Json::Array(_) => 4,
            Json::Object(_) => 5,
        }
    }

    /// jsonb's order. `top` is true for whole values: there an empty array is below all else.
    pub fn compare(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::Array(a), _) if a.is_empty() && !matches!(other, Json::Array(_)) => {
                Ordering::Less
            }
            (_, Json::Array(b)) if b.is_empty() && !matches!(self, Json::Array(_)) => {
                Ordering::Greater
            }
            _ => self.compare_inner(other),
        }
    }

    fn compare_inner(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Number(a), Json::Number(b)) => a.cmp_value(b),
            (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Array(a), Json::Array(b)) => a.len().cmp(&b.len()).then_with(|| {
                a.iter()
                    .zip(b)
                    .map(|(x, y)| x.compare_inner(y))
                    .find(|o| o.is_ne())
                    .unwrap_or(Ordering::Equal)
            }),
            (Json::Object(a), Json::Object(b)) => a.len().cmp(&b.len()).then_with(|| {
                a.iter()
                    .zip(b)
                    .map(|(x, y)| x.0.cmp(&y.0).then_with(|| x.1.compare_inner(&y.1)))
                    .find(|o| o.is_ne())
                    .unwrap_or(Ordering::Equal)
            }),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl From<i64> for Json {
    fn from(n: i64) -> Json {
        Json::Number(numeric::Numeric::from(n))
    }
}

#[cfg(test)]
mod tests;
