//! Array columns of system tables as plain lists.

use base::{Error, Oid, Result};
use types::array::{self, ArrayRef, ElemType};
use types::tuple::Attr;
use types::{Datum, PhysType, oid};

fn wrong() -> Error {
    Error::new(base::SqlState::DATA_CORRUPTED, "unexpected array in a system table")
}

/// The elements, NULLs as they are; a NULL array has none.
fn values(value: &Datum, elem: &ElemType) -> Result<Vec<Datum>> {
    match value {
        Datum::Null => Ok(Vec::new()),
        Datum::Bytes(bytes) => ArrayRef::parse(bytes)?.values(elem),
        _ => Err(wrong()),
    }
}

/// The elements of an `oidvector` or `oid[]`; NULL is empty.
pub fn to_oids(value: &Datum) -> Result<Vec<Oid>> {
    let oid = |v: Datum| match v {
        Datum::U32(n) => Ok(Oid(n)),
        _ => Err(wrong()),
    };
    values(value, &ElemType::builtin(oid::OID))?.into_iter().map(oid).collect()
}

/// The elements of an `int2vector` or `smallint[]`; NULL is empty.
pub fn to_i16s(value: &Datum) -> Result<Vec<i16>> {
    let number = |v: Datum| match v {
        Datum::I16(n) => Ok(n),
        _ => Err(wrong()),
    };
    values(value, &ElemType::builtin(oid::INT2))?.into_iter().map(number).collect()
}

/// The elements of a `real[]`; NULL is empty.
pub fn to_f32s(value: &Datum) -> Result<Vec<f32>> {
    let number = |v: Datum| match v {
        Datum::F32(n) => Ok(n),
        _ => Err(wrong()),
    };
    values(value, &ElemType::builtin(oid::FLOAT4))?.into_iter().map(number).collect()
}

/// The elements of a `text[]` or `"char"[]`, as text.
pub fn to_texts(value: &Datum) -> Result<Option<Vec<String>>> {
    let Datum::Bytes(bytes) = value else { return Ok(None) };
    let elem = ElemType::builtin(ArrayRef::parse(bytes)?.elem_type);
    let text = |v: Datum| match v {
        Datum::Bytes(b) => String::from_utf8(b.to_vec()).map_err(|_| wrong()),
        Datum::Char(c) => Ok((c as char).to_string()),
        Datum::Null => Ok(String::new()),
        _ => Err(wrong()),
    };
    let all: Result<Vec<String>> = values(value, &elem)?.into_iter().map(text).collect();
    Ok(Some(all?))
}

/// The elements of an array whose elements are stored like a column's values.
pub fn to_values(value: &Datum, attr: &Attr) -> Result<Vec<Datum>> {
    values(value, &elem_like(attr))
}

/// An element type that is stored like a column.
fn elem_like(attr: &Attr) -> ElemType {
    ElemType::new(&types::io::TypeInfo {
        oid: attr.type_oid,
        name: attr.name.clone(),
        len: attr.len,
        byval: attr.byval,
        align: attr.align,
        storage: b'p',
        phys: attr.phys,
        typtype: b'b',
        category: b'X',
        delim: b',',
        elem: Oid::INVALID,
        array: Oid::INVALID,
        base: Oid::INVALID,
        base_typmod: -1,
        relid: Oid::INVALID,
        collation: Oid::INVALID,
    })
}

/// The elements of an array of any built-in type; NULL is empty.
pub fn to_any(value: &Datum) -> Result<Vec<Datum>> {
    let Datum::Bytes(bytes) = value else { return Ok(Vec::new()) };
    let type_oid = ArrayRef::parse(bytes)?.elem_type;
    values(value, &elem_of(type_oid))
}

/// A built-in type as an element.
fn elem_of(type_oid: Oid) -> ElemType {
    match crate::builtin::objects().type_(type_oid) {
        Some(t) => {
            let mut attr =
                Attr::new("", t.oid, t.len, t.by_val, crate::builtin::align_bytes(t.align));
            attr.phys = types::phys_type(t.oid, t.len, t.by_val);
            elem_like(&attr)
        }
        None => {
            // Enums are the only types of users that are not varlena.
            let mut attr = Attr::new("", type_oid, -1, false, 4);
            attr.phys = PhysType::Bytes;
            elem_like(&attr)
        }
    }
}

/// An `oidvector` or `oid[]`.
pub fn from_oids(type_oid: Oid, values: &[Oid]) -> Datum {
    if type_oid == crate::oids::OIDVECTOR {
        return array::oidvector(values);
    }
    let values: Vec<Datum> = values.iter().map(|o| Datum::U32(o.0)).collect();
    array::make_vector(&ElemType::builtin(oid::OID), &values).unwrap_or_default()
}

/// An `int2vector` or `smallint[]`.
pub fn from_i16s(type_oid: Oid, values: &[i16]) -> Datum {
    if type_oid == crate::oids::INT2VECTOR {
        return array::int2vector(values);
    }
    let values: Vec<Datum> = values.iter().map(|n| Datum::I16(*n)).collect();
    array::make_vector(&ElemType::builtin(oid::INT2), &values).unwrap_or_default()
}

/// A `real[]`.
pub fn from_f32s(values: &[f32]) -> Datum {
    let values: Vec<Datum> = values.iter().map(|n| Datum::F32(*n)).collect();
    array::make_vector(&ElemType::builtin(oid::FLOAT4), &values).unwrap_or_default()
}

/// A `text[]`, or a `"char"[]` of one-letter texts.
pub fn from_texts(elem: Oid, values: &[String]) -> Datum {
    let value = |s: &String| match elem {
        oid::CHAR => Datum::Char(s.bytes().next().unwrap_or(0)),
        _ => Datum::text(s),
    };
    let values: Vec<Datum> = values.iter().map(value).collect();
    array::make_vector(&ElemType::builtin(elem), &values).unwrap_or_default()
}

/// A `"char"[]`.
pub fn from_chars(values: &[u8]) -> Datum {
    let values: Vec<Datum> = values.iter().map(|c| Datum::Char(*c)).collect();
    array::make_vector(&ElemType::builtin(oid::CHAR), &values).unwrap_or_default()
}

/// An array of values that are stored like a column's.
pub fn from_values(attr: &Attr, values: &[Datum]) -> Result<Datum> {
    array::make_vector(&elem_like(attr), values)
}
