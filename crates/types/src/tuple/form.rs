//! A row's bytes from its values.

use super::{Attr, TupleDesc};
use crate::datum::Datum;
use base::{Result, bail};

/// The bytes of a row, without the page's tuple header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormedTuple {
    /// The values; offset 0 must be stored at a multiple of 8.
    pub data: Vec<u8>,
    /// A set bit means not null; None if none is null.
    pub nulls: Option<Vec<u8>>,
    /// Some value has no fixed size.
    pub has_varwidth: bool,
    /// Some value is a toast pointer.
    pub has_external: bool,
}

/// The bytes of a row of these values.
pub fn form_tuple(desc: &TupleDesc, values: &[Datum]) -> Result<FormedTuple> {
    form_tuple_with(desc, values, &[])
}

/// As [`form_tuple`], but where `raw` has bytes for a column they are stored instead of its value:
/// a whole varlena with header (compressed, or a toast pointer).
pub fn form_tuple_with(
    desc: &TupleDesc,
    values: &[Datum],
    raw: &[Option<Vec<u8>>],
) -> Result<FormedTuple> {
    if values.len() != desc.attrs.len() {
        bail!(INTERNAL_ERROR, "a row has {} values, not {}", values.len(), desc.attrs.len());
    }
    let mut out = FormedTuple::default();
    out.data.reserve(desc.attrs.len() * 8);
    if values.iter().any(Datum::is_null) {
        let mut bits = vec![0; values.len().div_ceil(8)];
        for (i, _) in values.iter().enumerate().filter(|(_, v)| !v.is_null()) {
            bits[i / 8] |= 1 << (i % 8);
        }
        out.nulls = Some(bits);
    }
    for (i, (attr, value)) in desc.attrs.iter().zip(values).enumerate() {
        if value.is_null() {
            continue;
        }
        out.has_varwidth |= attr.len < 0;
        match raw.get(i).and_then(Option::as_deref) {
            Some(bytes) => put_raw(&mut out, attr, bytes),
            None => put(&mut out.data, attr, value)?,
        }
    }
    Ok(out)
}

/// Appends the values of a row that has no NULLs and no values stored in other forms; `out` must
/// have a length that is a multiple of 8. Gives whether some value has no fixed size.
pub fn append_values(desc: &TupleDesc, values: &[Datum], out: &mut Vec<u8>) -> Result<bool> {
    if values.len() != desc.attrs.len() {
        bail!(INTERNAL_ERROR, "a row has {} values, not {}", values.len(), desc.attrs.len());
    }
    let mut varwidth = false;
    for (attr, value) in desc.attrs.iter().zip(values).filter(|(_, v)| !v.is_null()) {
        varwidth |= attr.len < 0;
        put(out, attr, value)?;
    }
    Ok(varwidth)
}

/// Bytes that the values of a row take, without forming it.
pub fn data_size(desc: &TupleDesc, values: &[Datum]) -> usize {
    let mut size = 0;
    for (attr, value) in desc.attrs.iter().zip(values).filter(|(_, v)| !v.is_null()) {
        size = match attr.len {
            -1 => {
                let len = value.as_bytes().len();
                if can_be_short(attr, len) { size + len + 1 } else { align(size, attr) + len + 4 }
            }
            -2 => size + value.as_bytes().len() + 1,
            n => align(size, attr) + n as usize,
        };
    }
    size
}

fn align(at: usize, attr: &Attr) -> usize {
    let a = (attr.align as usize).max(1);
    at.div_ceil(a) * a
}

/// Plain storage keeps the 4-byte header, as PostgreSQL does.
fn can_be_short(attr: &Attr, len: usize) -> bool {
    len < 127 && attr.storage != b'p'
}

fn put_raw(out: &mut FormedTuple, attr: &Attr, bytes: &[u8]) {
    let external = bytes.first() == Some(&1);
    out.has_external |= external;
    if bytes.first().is_some_and(|b| b & 1 == 0) {
        out.data.resize(align(out.data.len(), attr), 0);
    }
    out.data.extend_from_slice(bytes);
}

/// Appends a value in its on-disk form, aligned. The value is not NULL.
pub(crate) fn put(data: &mut Vec<u8>, attr: &Attr, value: &Datum) -> Result<()> {
    if let (-1, Datum::Bytes(bytes)) = (attr.len, value) {
        let len = bytes.len();
        if can_be_short(attr, len) {
            data.push(((len as u8 + 1) << 1) | 1);
        } else {
            data.resize(align(data.len(), attr), 0);
            data.extend_from_slice(&((len as u32 + 4) << 2).to_le_bytes());
        }
        data.extend_from_slice(bytes);
        return Ok(());
    }
    if attr.len > 0 {
        data.resize(align(data.len(), attr), 0);
    }
    let start = data.len();
    match value {
        Datum::Null => {}
        Datum::Bool(x) => data.push(*x as u8),
        Datum::Char(x) => data.push(*x),
        Datum::I16(x) => data.extend_from_slice(&x.to_le_bytes()),
        Datum::I32(x) => data.extend_from_slice(&x.to_le_bytes()),
        Datum::I64(x) => data.extend_from_slice(&x.to_le_bytes()),
        Datum::U32(x) => data.extend_from_slice(&x.to_le_bytes()),
        Datum::F32(x) => data.extend_from_slice(&x.to_le_bytes()),
        Datum::F64(x) => data.extend_from_slice(&x.to_le_bytes()),
        Datum::Bytes(x) => {
            data.extend_from_slice(x);
            if attr.len == -2 {
                data.push(0);
            }
        }
    }
    if attr.len > 0 {
        let want = attr.len as usize;
        if data.len() - start > want || (data.len() - start < want && want != 64) {
            bail!(
                INTERNAL_ERROR,
                "value of column \"{}\" (type {}) has {} bytes, not {want}",
                attr.name,
                attr.type_oid,
                data.len() - start
            );
        }
        data.resize(start + want, 0);
    }
    Ok(())
}
