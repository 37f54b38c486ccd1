//! The wire's binary form: texts of clients, and values as they are sent. What is received is
//! read in [`super::receive`].

use super::IoCtx;
use super::dispatch::output;
use super::receive::bad;
use crate::array::{ArrayRef, ElemType};
use crate::datetime::Interval;
use crate::datum::Datum;
use crate::numeric::{Kind, Numeric};
use crate::range::{self, Range};
use crate::record::Record;
use crate::{json, oid};
use base::{Oid, Result, err};
use std::borrow::Cow;

/// Bytes from a client as text, in the encoding that the client uses.
pub fn client_text<'a>(bytes: &'a [u8], cx: &IoCtx) -> Result<Cow<'a, str>> {
    let encoding = cx.format.client_encoding;
    if !encoding.is_converted() {
        return checked_text(bytes).map(Cow::Borrowed);
    }
    Ok(match encoding.decode(bytes)? {
        Cow::Borrowed(bytes) => Cow::Borrowed(checked_text(bytes)?),
        Cow::Owned(bytes) => Cow::Owned(checked_text(&bytes)?.to_string()),
    })
}

/// Bytes from a client as text: valid UTF-8 without zeros.
pub fn checked_text(bytes: &[u8]) -> Result<&str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains('\0')
    {
        return Ok(text);
    }
    crate::encoding::Encoding::UTF8.verify(bytes)?;
    Err(err!(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\""))
}

/// Appends a value's binary form.
pub fn send(type_oid: Oid, value: &Datum, cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Datum::Null => {}
        Datum::Bool(b) => out.push(*b as u8),
        Datum::Char(c) => out.push(*c),
        Datum::I16(n) => out.extend_from_slice(&n.to_be_bytes()),
        Datum::I32(n) => out.extend_from_slice(&n.to_be_bytes()),
        Datum::I64(n) => out.extend_from_slice(&n.to_be_bytes()),
        Datum::U32(n) => match cx.lookup.type_info(type_oid) {
            Some(info) if info.typtype == b'e' => return output(type_oid, value, cx, out),
            _ => out.extend_from_slice(&n.to_be_bytes()),
        },
        Datum::F32(x) => out.extend_from_slice(&x.to_be_bytes()),
        Datum::F64(x) => out.extend_from_slice(&x.to_be_bytes()),
        Datum::Bytes(b) => return send_bytes(type_oid, b, cx, out),
    }
    Ok(())
}

/// Puts what was written from `start` on in the client's encoding.
pub fn to_client(out: &mut Vec<u8>, start: usize, cx: &IoCtx) -> Result<()> {
    let encoding = cx.format.client_encoding;
    if encoding.is_converted()
        && let Cow::Owned(converted) = encoding.encode(&out[start..])?
    {
        out.truncate(start);
        out.extend_from_slice(&converted);
    }
    Ok(())
}

fn send_bytes(type_oid: Oid, b: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    match type_oid {
        oid::TEXT
        | oid::VARCHAR
        | oid::BPCHAR
        | oid::NAME
        | oid::JSON
        | oid::UNKNOWN
        | oid::CSTRING => {
            out.extend_from_slice(&cx.format.client_encoding.encode(b)?);
        }
        oid::XML => {
            // The declaration says what the text is now.
            let text = std::str::from_utf8(b).map(crate::xml::value::output);
            let text = text.map_or_else(|_| b.to_vec(), |t| t.to_string().into_bytes());
            out.extend_from_slice(&cx.format.client_encoding.encode(&text)?);
        }
        oid::BYTEA
        | oid::UUID
        | oid::MACADDR
        | oid::MACADDR8
        | oid::PG_NDISTINCT
        | oid::PG_DEPENDENCIES
        | oid::PG_MCV_LIST => out.extend_from_slice(b),
        oid::NUMERIC => {
            let n = Numeric::decode(b);
            let sign: u16 = match (n.kind, n.negative) {
                (Kind::Finite, false) => 0,
                (Kind::Finite, true) => 0x4000,
                (Kind::NaN, _) => 0xC000,
                (Kind::Infinity, false) => 0xD000,
                (Kind::Infinity, true) => 0xF000,
            };
            out.extend_from_slice(&(n.digits.len() as u16).to_be_bytes());
            out.extend_from_slice(&(n.weight as i16).to_be_bytes());
            out.extend_from_slice(&sign.to_be_bytes());
            let dscale = if n.kind == Kind::Infinity { 0x20 } else { n.dscale as i16 };
            out.extend_from_slice(&dscale.to_be_bytes());
            for d in &n.digits {
                out.extend_from_slice(&d.to_be_bytes());
            }
        }
        oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => out.extend_from_slice(b),
        oid::INTERVAL => {
            let i = Interval::decode(b);
            out.extend_from_slice(&i.micros.to_be_bytes());
            out.extend_from_slice(&i.days.to_be_bytes());
            out.extend_from_slice(&i.months.to_be_bytes());
        }
        oid::TIMETZ => {
            let (time, west) = crate::compare::timetz_parts(b);
            out.extend_from_slice(&time.to_be_bytes());
            out.extend_from_slice(&west.to_be_bytes());
        }
        oid::TID => {
            out.extend(b.iter().take(4).rev());
            out.extend(b.iter().skip(4).rev());
        }
        oid::BIT | oid::VARBIT => {
            out.extend(b.iter().take(4).rev());
            out.extend_from_slice(crate::bits::bit_bytes(b));
        }
        oid::INET | oid::CIDR => {
            let n = b.len().saturating_sub(2) as u8;
            out.extend_from_slice(&b[..2.min(b.len())]);
            out.extend_from_slice(&[(type_oid == oid::CIDR) as u8, n]);
            out.extend_from_slice(b.get(2..).unwrap_or(&[]));
        }
        oid::JSONB => {
            out.push(1);
            let start = out.len();
            json::write(&json::decode(b), out);
            to_client(out, start, cx)?;
        }
        oid::RECORD => record_send(b, cx, out)?,
        oid::OIDVECTOR | oid::INT2VECTOR => array_send(b, cx, out)?,
        _ => match super::special::send(type_oid, b) {
            Some(bytes) => out.extend_from_slice(&bytes),
            None => send_by_kind(type_oid, b, cx, out)?,
        },
    }
    Ok(())
}

fn send_by_kind(type_oid: Oid, b: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    let Some(info) = cx.lookup.type_info(type_oid) else { return Err(bad()) };
    match info.typtype {
        b'd' => send_bytes(info.base, b, cx, out),
        _ if info.has_like() => send_bytes(info.base, b, cx, out),
        b'c' => record_send(b, cx, out),
        b'r' => {
            let sub = cx.lookup.type_info(info.base).ok_or_else(bad)?;
            let range = Range::decode(b, sub.phys)?;
            out.push(range.flags);
            for bound in [&range.lower, &range.upper] {
                if !bound.is_null() {
                    sized(out, |out| send(info.base, bound, cx, out))?;
                }
            }
            Ok(())
        }
        b'm' => {
            let range = cx.lookup.type_info(info.base).ok_or_else(bad)?;
            let sub = cx.lookup.type_info(range.base).ok_or_else(bad)?;
            let ranges = range::decode_multirange(b, sub.phys)?;
            out.extend_from_slice(&(ranges.len() as u32).to_be_bytes());
            for r in &ranges {
                sized(out, |out| send_bytes(range.oid, &r.encode(), cx, out))?;
            }
            Ok(())
        }
        _ if info.elem.is_valid() || type_oid == oid::ANYARRAY => array_send(b, cx, out),
        _ => {
            let blob = Datum::Bytes(crate::Blob::new(b));
            output(type_oid, &blob, cx, out)
        }
    }
}

/// Appends a part with its length before it.
fn sized(out: &mut Vec<u8>, f: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    f(out)?;
    let len = (out.len() - at - 4) as i32;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

fn array_send(b: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    let array = ArrayRef::parse(b)?;
    let info = cx.lookup.type_info(array.elem_type).ok_or_else(bad)?;
    let elem = ElemType::new(&info);
    for word in [array.dims.len() as i32, array.has_nulls() as i32, array.elem_type.0 as i32] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    for (dim, lower) in array.dims.iter().zip(&array.lbounds) {
        out.extend_from_slice(&dim.to_be_bytes());
        out.extend_from_slice(&lower.to_be_bytes());
    }
    for value in array.iter(&elem) {
        let value = value?;
        if value.is_null() {
            out.extend_from_slice(&(-1i32).to_be_bytes());
        } else {
            sized(out, |out| send(array.elem_type, &value, cx, out))?;
        }
    }
    Ok(())
}

fn record_send(b: &[u8], cx: &IoCtx, out: &mut Vec<u8>) -> Result<()> {
    let record = Record::decode(b)?;
    let desc = cx.lookup.row_desc(record.type_oid, record.typmod);
    let dropped = |i: usize| desc.as_ref().and_then(|d| d.attrs.get(i)).is_some_and(|a| a.dropped);
    let live = (0..record.columns.len()).filter(|i| !dropped(*i)).count();
    out.extend_from_slice(&(live as i32).to_be_bytes());
    for (i, column) in record.columns.iter().enumerate() {
        if dropped(i) {
            continue;
        }
        out.extend_from_slice(&column.type_oid.0.to_be_bytes());
        if column.value.is_null() {
            out.extend_from_slice(&(-1i32).to_be_bytes());
        } else {
            sized(out, |out| send(column.type_oid, &column.value, cx, out))?;
        }
    }
    Ok(())
}
