//! The wire's binary form.

use super::IoCtx;
use super::dispatch::{input, null, output};
use crate::array::{ArrayRef, ElemType, count_elements, make_array};
use crate::datetime::Interval;
use crate::datum::Datum;
use crate::numeric::{Kind, Numeric};
use crate::range::{self, Range};
use crate::record::{Record, RecordColumn};
use crate::{json, oid};
use base::{Error, Oid, Result, bail, err};
use std::borrow::Cow;

#[cold]
fn bad() -> Error {
    err!(INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
}

#[cold]
fn short() -> Error {
    err!(PROTOCOL_VIOLATION, "insufficient data left in message")
}

#[cold]
fn used_up() -> Error {
    err!(PROTOCOL_VIOLATION, "no data left in message")
}

/// An element that says it is longer than what is left.
#[cold]
fn short_element() -> Error {
    err!(INVALID_BINARY_REPRESENTATION, "insufficient data left in message")
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(n).ok_or_else(short)?;
        self.0 = rest;
        Ok(head)
    }
    fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| short())
    }
    fn byte(&mut self) -> Result<u8> {
        self.take(1).map(|b| b[0]).map_err(|_| used_up())
    }
    /// As many bytes, read one by one.
    fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        self.take(n).map_err(|_| used_up())
    }
    /// An element of a value, with its length before it.
    fn element(&mut self, len: i32) -> Result<&'a [u8]> {
        self.take(len.max(0) as usize).map_err(|_| short_element())
    }
    fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.fixed()?))
    }
    fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.fixed()?))
    }
    fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.fixed()?))
    }
}

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

/// Reads a value from its binary form.
pub fn receive(type_oid: Oid, bytes: &[u8], typmod: i32, cx: &IoCtx) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = match type_oid {
        oid::BOOL => Datum::Bool(r.byte()? != 0),
        oid::CHAR => Datum::Char(r.byte()?),
        oid::INT2 => Datum::I16(r.i16()?),
        oid::INT4 => Datum::I32(r.i32()?),
        oid::DATE => Datum::I32(r.i32()?),
        oid::INT8 | oid::MONEY | oid::PG_LSN | oid::XID8 => Datum::I64(r.i64()?),
        oid::TIME => Datum::I64(crate::datetime::round_micros(r.i64()?, typmod)),
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            let t = r.i64()?;
            if !crate::datetime::is_infinite(t) && !crate::datetime::is_valid_timestamp(t) {
                bail!(DATETIME_FIELD_OVERFLOW, "timestamp out of range");
            }
            Datum::I64(crate::datetime::round_micros(t, typmod))
        }
        oid::FLOAT4 => Datum::F32(f32::from_be_bytes(r.fixed()?)),
        oid::FLOAT8 => Datum::F64(f64::from_be_bytes(r.fixed()?)),
        oid::OID
        | oid::XID
        | oid::CID
        | oid::REGPROC
        | oid::REGPROCEDURE
        | oid::REGOPER
        | oid::REGOPERATOR
        | oid::REGCLASS
        | oid::REGTYPE
        | oid::REGCONFIG
        | oid::REGDICTIONARY
        | oid::REGNAMESPACE
        | oid::REGROLE
        | oid::REGCOLLATION => Datum::U32(r.i32()? as u32),
        oid::BYTEA => return Ok(Datum::bytes(bytes.to_vec())),
        oid::UUID => Datum::bytes(r.take(16)?.to_vec()),
        oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => {
            let least = least(type_oid, bytes);
            if bytes.len() != least {
                return Err(if bytes.len() < least { short() } else { bad() });
            }
            let found = crate::snapshot::SnapshotValue::decode(bytes);
            let found = found.ok_or_else(|| {
                err!(INVALID_BINARY_REPRESENTATION, "invalid external pg_snapshot data")
            })?;
            return Ok(Datum::bytes(found.encode()));
        }
        oid::NUMERIC => {
            let number = numeric_recv(&mut r)?;
            Datum::Bytes(crate::numeric::apply_typmod(number, typmod)?.encode()?)
        }
        oid::INTERVAL => {
            let (micros, days, months) = (r.i64()?, r.i32()?, r.i32()?);
            let value = Interval::new(months, days, micros);
            let value = crate::datetime::interval_from_typmod(value, typmod)?;
            Datum::bytes(value.encode().to_vec())
        }
        oid::TIMETZ => {
            let (time, west) = (r.i64()?, r.i32()?);
            Datum::bytes(super::times::timetz_bytes(time, west))
        }
        oid::TID => {
            let (block, offset) = (r.i32()? as u32, r.i16()? as u16);
            let mut out = block.to_le_bytes().to_vec();
            out.extend_from_slice(&offset.to_le_bytes());
            Datum::bytes(out)
        }
        oid::MACADDR => Datum::bytes(r.bytes(6)?.to_vec()),
        oid::MACADDR8 => Datum::bytes(r.bytes(8)?.to_vec()),
        oid::BIT | oid::VARBIT => {
            let n = r.i32()?;
            let body = r.take((n.max(0) as usize).div_ceil(8))?;
            let mut out = n.to_le_bytes().to_vec();
            out.extend_from_slice(body);
            Datum::bytes(out)
        }
        oid::JSONB | oid::JSONPATH => {
            let version = r.byte()?;
            if version != 1 {
                let name = if type_oid == oid::JSONB { "jsonb" } else { "jsonpath" };
                bail!(INTERNAL_ERROR, "unsupported {name} version number {version}");
            }
            return input(type_oid, &client_text(r.0, cx)?, typmod, cx);
        }
        oid::INET | oid::CIDR => {
            let [family, mask, _, _] = r.bytes(4)?.try_into().map_err(|_| used_up())?;
            let mut out = vec![family, mask];
            out.extend_from_slice(r.bytes(if family == 3 { 16 } else { 4 })?);
            Datum::bytes(out)
        }
        _ => match super::special::receive(type_oid, bytes) {
            Some(stored) => {
                let wrong = || if bytes.len() < least(type_oid, bytes) { short() } else { bad() };
                return stored.map(Datum::bytes).ok_or_else(wrong);
            }
            None => return receive_by_kind(type_oid, bytes, typmod, cx),
        },
    };
    if r.0.is_empty() { Ok(value) } else { Err(bad()) }
}

/// So many bytes a value has that begins with these.
fn least(type_oid: Oid, bytes: &[u8]) -> usize {
    const FLOAT: usize = 8;
    let count = |at: usize| {
        let n: Option<[u8; 4]> = bytes.get(at..at + 4).and_then(|b| b.try_into().ok());
        n.map_or(0, |n| u32::from_be_bytes(n) as usize)
    };
    match type_oid {
        oid::POINT => 2 * FLOAT,
        oid::LSEG | oid::BOX => 4 * FLOAT,
        oid::LINE | oid::CIRCLE => 3 * FLOAT,
        oid::PATH => 5 + count(1).saturating_mul(2 * FLOAT),
        oid::POLYGON => 4 + count(0).saturating_mul(2 * FLOAT),
        // A number of transactions, the bounds, and those between.
        oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => 20 + count(0).saturating_mul(8),
        _ => 0,
    }
}

fn receive_by_kind(type_oid: Oid, bytes: &[u8], typmod: i32, cx: &IoCtx) -> Result<Datum> {
    let info = match type_oid {
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::JSON | oid::UNKNOWN => None,
        _ => cx.lookup.type_info(type_oid),
    };
    match info {
        Some(info) if info.typtype == b'd' => {
            let value = receive(info.base, bytes, info.base_typmod, cx)?;
            cx.lookup.check_domain(type_oid, &value)?;
            Ok(value)
        }
        Some(info) if info.has_like() => receive(info.base, bytes, typmod, cx),
        Some(info) if info.typtype == b'c' => record_recv(type_oid, bytes, cx),
        Some(info) if info.typtype == b'r' => {
            let mut r = Reader(bytes);
            let flags = r.fixed::<1>()?[0];
            let mut bound = |there: bool| -> Result<Datum> {
                if !there {
                    return Ok(Datum::Null);
                }
                let n = r.i32()?.max(0) as usize;
                receive(info.base, r.take(n)?, -1, cx)
            };
            let lower = bound(flags & (range::EMPTY | range::LB_INF) == 0)?;
            let upper = bound(flags & (range::EMPTY | range::UB_INF) == 0)?;
            let range = Range { type_oid, flags, lower, upper };
            let range = crate::compare::canonical(range, info.base, cx.lookup)?;
            Ok(Datum::bytes(range.encode()))
        }
        Some(info) if info.typtype == b'm' => {
            let mut r = Reader(bytes);
            let n = r.i32()?.max(0);
            let range = cx.lookup.type_info(info.base).ok_or_else(bad)?;
            let sub = cx.lookup.type_info(range.base).ok_or_else(bad)?;
            let mut ranges = Vec::new();
            for _ in 0..n {
                let len = r.i32()?.max(0) as usize;
                let value = receive(range.oid, r.take(len)?, -1, cx)?;
                ranges.push(Range::decode(value.as_bytes(), sub.phys)?);
            }
            if !r.0.is_empty() {
                return Err(bad());
            }
            let ranges = crate::compare::normalize(ranges, sub.oid, cx.lookup)?;
            Ok(Datum::bytes(range::encode_multirange(type_oid, &ranges)))
        }
        Some(info) if info.elem.is_valid() => array_recv(info.elem, bytes, typmod, cx),
        _ => input(type_oid, &client_text(bytes, cx)?, typmod, cx),
    }
}

fn numeric_recv(r: &mut Reader) -> Result<Numeric> {
    let (n, weight, sign, dscale) = (r.i16()?, r.i16()?, r.i16()? as u16, r.i16()?);
    let (kind, negative) = match sign {
        0 => (Kind::Finite, false),
        0x4000 => (Kind::Finite, true),
        0xC000 => (Kind::NaN, false),
        0xD000 => (Kind::Infinity, false),
        0xF000 => (Kind::Infinity, true),
        _ => bail!(INVALID_BINARY_REPRESENTATION, "invalid sign in external \"numeric\" value"),
    };
    if dscale & 0x3fff != dscale {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid scale in external \"numeric\" value");
    }
    let digits = (0..n.max(0))
        .map(|_| match r.i16()? {
            d @ 0..=9999 => Ok(d as u16),
            _ => Err(err!(
                INVALID_BINARY_REPRESENTATION,
                "invalid digit in external \"numeric\" value"
            )),
        })
        .collect::<Result<Vec<_>>>()?;
    let number = Numeric { kind, negative, weight: weight as i32, dscale: dscale as i32, digits };
    Ok(if kind == Kind::Finite { number.trunc(dscale as i32) } else { number })
}

/// A type in a message: its OID and its name.
fn named(type_oid: Oid, cx: &IoCtx) -> String {
    let name = cx.lookup.reg_out(oid::REGTYPE, type_oid).unwrap_or_else(|| "???".into());
    format!("{type_oid} ({name})")
}

fn array_recv(elem: Oid, bytes: &[u8], typmod: i32, cx: &IoCtx) -> Result<Datum> {
    let mut r = Reader(bytes);
    let (ndim, flags, sent) = (r.i32()?, r.i32()?, Oid(r.i32()? as u32));
    if !(0..=6).contains(&ndim) {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid number of dimensions: {ndim}");
    }
    if flags & !1 != 0 {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid array flags");
    }
    if sent != elem {
        bail!(
            DATATYPE_MISMATCH,
            "binary data has array element type {} instead of expected {}",
            named(sent, cx),
            named(elem, cx)
        );
    }
    let (mut dims, mut lbounds) = (Vec::new(), Vec::new());
    for _ in 0..ndim {
        dims.push(r.i32()?);
        lbounds.push(r.i32()?);
    }
    let n = count_elements(&dims)?;
    let mut values = Vec::with_capacity(n.min(r.0.len()));
    for _ in 0..n {
        let len = r.i32()?;
        values.push(if len < 0 {
            null(elem, cx)?
        } else {
            receive(elem, r.element(len)?, typmod, cx)?
        });
    }
    if !r.0.is_empty() {
        return Err(bad());
    }
    if values.is_empty() {
        dims.clear();
        lbounds.clear();
    }
    let info = cx
        .lookup
        .type_info(elem)
        .ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {elem} does not exist"))?;
    make_array(&ElemType::new(&info), &values, &dims, &lbounds).map(Datum::bytes)
}

fn record_recv(type_oid: Oid, bytes: &[u8], cx: &IoCtx) -> Result<Datum> {
    let desc = cx.lookup.row_desc(type_oid, -1).ok_or_else(bad)?;
    let mut r = Reader(bytes);
    let n = r.i32()?;
    let live = desc.attrs.iter().filter(|a| !a.dropped).count();
    if n as usize != live {
        bail!(DATATYPE_MISMATCH, "wrong number of columns: {n}, expected {live}");
    }
    let mut columns = Vec::new();
    for (i, attr) in desc.attrs.iter().enumerate() {
        if attr.dropped {
            columns.push(RecordColumn { type_oid: attr.type_oid, value: Datum::Null });
            continue;
        }
        let sent = Oid(r.i32()? as u32);
        if sent != attr.type_oid {
            bail!(
                DATATYPE_MISMATCH,
                "binary data has type {} instead of expected {} in record column {}",
                named(sent, cx),
                named(attr.type_oid, cx),
                i + 1
            );
        }
        let len = r.i32()?;
        let value = if len < 0 {
            null(attr.type_oid, cx)?
        } else {
            receive(attr.type_oid, r.element(len)?, attr.typmod, cx)?
        };
        columns.push(RecordColumn { type_oid: attr.type_oid, value });
    }
    Ok(Record { type_oid, typmod: -1, columns }.encode())
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
