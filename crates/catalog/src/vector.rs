//! Array columns of system tables as plain lists.

use base::{Error, Oid, Result};
use types::{Datum, PhysType};

fn missing<T>() -> Result<T> {
    Err(Error::unsupported("reading arrays of system tables"))
}

/// The elements of an `oidvector` or `oid[]`; NULL is empty.
pub fn to_oids(value: &Datum) -> Result<Vec<Oid>> {
    if value.is_null() { Ok(Vec::new()) } else { missing() }
}

/// The elements of an `int2vector` or `smallint[]`; NULL is empty.
pub fn to_i16s(value: &Datum) -> Result<Vec<i16>> {
    if value.is_null() { Ok(Vec::new()) } else { missing() }
}

/// The elements of a `real[]`; NULL is empty.
pub fn to_f32s(value: &Datum) -> Result<Vec<f32>> {
    if value.is_null() { Ok(Vec::new()) } else { missing() }
}

/// The elements of a `text[]`, `name[]`, `"char"[]` or `aclitem[]`, as text.
pub fn to_texts(value: &Datum) -> Result<Option<Vec<String>>> {
    if value.is_null() { Ok(None) } else { missing() }
}

/// The elements of an array whose elements are held in this way.
pub fn to_values(value: &Datum, _phys: PhysType) -> Result<Vec<Datum>> {
    if value.is_null() { Ok(Vec::new()) } else { missing() }
}

/// The elements of an array of any type; NULL is empty.
pub fn to_any(value: &Datum) -> Result<Vec<Datum>> {
    if value.is_null() { Ok(Vec::new()) } else { missing() }
}

/// An `oidvector` or `oid[]`.
pub fn from_oids(_type_oid: Oid, _values: &[Oid]) -> Datum {
    Datum::Null
}

/// An `int2vector` or `smallint[]`.
pub fn from_i16s(_type_oid: Oid, _values: &[i16]) -> Datum {
    Datum::Null
}

/// A `text[]`, `name[]` or `aclitem[]` of the element type.
pub fn from_texts(_elem: Oid, _values: &[String]) -> Datum {
    Datum::Null
}

/// An array of the element type, whose values are like the column's.
pub fn from_values(_elem: Oid, _attr: &types::tuple::Attr, _values: &[Datum]) -> Result<Datum> {
    missing()
}
