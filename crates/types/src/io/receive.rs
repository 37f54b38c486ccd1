//! Values read from the wire's binary form.
//!
//! A type's function reads from a message what it needs; that nothing is left over is checked by
//! who handed it the message, in words of its own: a parameter, an element, a column. The bounds
//! of a range may have something after them.

use super::IoCtx;
use super::binary::client_text;
use super::dispatch::{input, null};
use super::message::Reader;
use crate::array::{ElemType, count_elements, make_array};
use crate::datetime::{
    END_DATE, Interval, MIN_DATE, interval_from_typmod, is_infinite, round_micros,
};
use crate::datum::Datum;
use crate::geo::{self, Stored};
use crate::numeric::{Kind, Numeric};
use crate::range::{self, Range};
use crate::record::{Record, RecordColumn};
use crate::snapshot::SnapshotValue;
use crate::{oid, ts};
use base::{Error, Oid, Result, bail, err};

/// OIDs from here on may be others in another database.
const FIRST_ASSIGNED: u32 = 10_000;

#[cold]
pub(super) fn bad() -> Error {
    err!(INVALID_BINARY_REPRESENTATION, "incorrect binary data format")
}

/// Reads a value from its binary form.
pub fn receive(type_oid: Oid, bytes: &[u8], typmod: i32, cx: &IoCtx) -> Result<Datum> {
    let mut r = Reader(bytes);
    let value = read(type_oid, &mut r, typmod, cx)?;
    if r.0.is_empty() { Ok(value) } else { Err(bad()) }
}

fn read(type_oid: Oid, r: &mut Reader, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    Ok(match type_oid {
        oid::BOOL => Datum::Bool(r.byte()? != 0),
        oid::CHAR => Datum::Char(r.byte()?),
        oid::INT2 => Datum::I16(r.i16()?),
        oid::INT4 => Datum::I32(r.i32()?),
        oid::INT8 | oid::MONEY | oid::PG_LSN | oid::XID8 => Datum::I64(r.i64()?),
        oid::DATE | oid::TIME | oid::TIMETZ | oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            moment(type_oid, r, typmod)?
        }
        oid::FLOAT4 => Datum::F32(f32::from_be_bytes(r.fixed()?)),
        oid::FLOAT8 => Datum::F64(r.f64()?),
        like if oid::is_oid_like(like) => Datum::U32(r.i32()? as u32),
        oid::BYTEA => Datum::bytes(r.rest().to_vec()),
        oid::UUID => Datum::bytes(r.take(16)?.to_vec()),
        oid::PG_SNAPSHOT | oid::TXID_SNAPSHOT => Datum::bytes(snapshot(r)?.encode()),
        oid::NUMERIC => {
            let number = numeric(r)?;
            Datum::Bytes(crate::numeric::apply_typmod(number, typmod)?.encode()?)
        }
        oid::INTERVAL => {
            let (micros, days, months) = (r.i64()?, r.i32()?, r.i32()?);
            let value = interval_from_typmod(Interval::new(months, days, micros), typmod)?;
            Datum::bytes(value.encode().to_vec())
        }
        oid::TID => {
            let (block, offset) = (r.i32()? as u32, r.i16()? as u16);
            let mut out = block.to_le_bytes().to_vec();
            out.extend_from_slice(&offset.to_le_bytes());
            Datum::bytes(out)
        }
        oid::MACADDR => Datum::bytes(listed(r, 6)?),
        // The shorter form is filled up in the middle.
        oid::MACADDR8 if r.0.len() == 6 => {
            let b = listed(r, 6)?;
            Datum::bytes(vec![b[0], b[1], b[2], 0xff, 0xfe, b[3], b[4], b[5]])
        }
        oid::MACADDR8 => Datum::bytes(listed(r, 8)?),
        oid::BIT | oid::VARBIT => bits(type_oid, r, typmod)?,
        oid::JSONB | oid::JSONPATH => {
            match (r.u8()?, type_oid) {
                (1, _) => {}
                (n, oid::JSONB) => bail!(INTERNAL_ERROR, "unsupported jsonb version number {n}"),
                (n, _) => bail!(INTERNAL_ERROR, "unsupported jsonpath version number: {n}"),
            }
            input(type_oid, &client_text(r.rest(), cx)?, typmod, cx)?
        }
        oid::INET | oid::CIDR => Datum::bytes(network(type_oid == oid::CIDR, r)?),
        oid::POINT | oid::LSEG | oid::LINE | oid::BOX | oid::CIRCLE | oid::PATH | oid::POLYGON => {
            Datum::bytes(shape(type_oid, r)?)
        }
        oid::TSVECTOR => Datum::bytes(ts::binary::receive_vector(r, cx)?.encode()),
        oid::TSQUERY => {
            let query = ts::binary::receive_query(r, cx)?;
            Datum::bytes(query.map_or(String::new(), |q| q.to_string()).into_bytes())
        }
        oid::OIDVECTOR | oid::INT2VECTOR => vector(type_oid, r, cx)?,
        _ => return read_by_kind(type_oid, r, typmod, cx),
    })
}

fn read_by_kind(type_oid: Oid, r: &mut Reader, typmod: i32, cx: &IoCtx) -> Result<Datum> {
    let info = match type_oid {
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::JSON | oid::UNKNOWN => None,
        _ => cx.lookup.type_info(type_oid),
    };
    match info {
        Some(info) if info.typtype == b'd' => {
            let value = read(info.base, r, info.base_typmod, cx)?;
            cx.lookup.check_domain(type_oid, &value)?;
            Ok(value)
        }
        Some(info) if info.has_like() => read(info.base, r, typmod, cx),
        Some(info) if info.typtype == b'c' => record(type_oid, r, cx),
        Some(info) if info.typtype == b'r' => {
            let all = range::EMPTY | range::LB_INC | range::UB_INC | range::LB_INF | range::UB_INF;
            let flags = r.byte()? & all;
            let mut bound = |there: bool| -> Result<Datum> {
                if !there {
                    return Ok(Datum::Null);
                }
                read(info.base, &mut r.part()?, -1, cx)
            };
            let lower = bound(flags & (range::EMPTY | range::LB_INF) == 0)?;
            let upper = bound(flags & (range::EMPTY | range::UB_INF) == 0)?;
            r.end()?;
            let range = Range { type_oid, flags, lower, upper };
            let range = crate::compare::canonical(range, info.base, cx.lookup)?;
            Ok(Datum::bytes(range.encode()))
        }
        Some(info) if info.typtype == b'm' => {
            let n = r.i32()?.max(0);
            let bytes = n as usize * size_of::<usize>();
            if bytes > crate::array::SIZE_MAX {
                bail!(INTERNAL_ERROR, "invalid memory alloc request size {bytes}");
            }
            let range = cx.lookup.type_info(info.base).ok_or_else(bad)?;
            let sub = cx.lookup.type_info(range.base).ok_or_else(bad)?;
            let mut ranges = Vec::new();
            for _ in 0..n {
                let value = read(range.oid, &mut r.part()?, -1, cx)?;
                ranges.push(Range::decode(value.as_bytes(), sub.phys)?);
            }
            r.end()?;
            let ranges = crate::compare::normalize(ranges, sub.oid, cx.lookup)?;
            Ok(Datum::bytes(range::encode_multirange(type_oid, &ranges)))
        }
        Some(info) if info.elem.is_valid() => array(info.elem, r, typmod, cx).map(|a| a.0),
        _ => input(type_oid, &client_text(r.rest(), cx)?, typmod, cx),
    }
}

/// As many bytes, read one by one.
fn listed(r: &mut Reader, n: usize) -> Result<Vec<u8>> {
    (0..n).map(|_| r.byte()).collect()
}

/// Zones are less than this many seconds away from Greenwich.
const ZONE_LIMIT: i32 = 16 * 3600;

fn moment(type_oid: Oid, r: &mut Reader, typmod: i32) -> Result<Datum> {
    const DAY: i64 = 86_400_000_000;
    match type_oid {
        oid::DATE => {
            let day = r.i32()?;
            let finite = day != i32::MIN && day != i32::MAX;
            if finite && !(MIN_DATE..END_DATE).contains(&day) {
                bail!(DATETIME_FIELD_OVERFLOW, "date out of range");
            }
            Ok(Datum::I32(day))
        }
        oid::TIME | oid::TIMETZ => {
            let time = r.i64()?;
            if !(0..=DAY).contains(&time) {
                bail!(DATETIME_FIELD_OVERFLOW, "time out of range");
            }
            if type_oid == oid::TIME {
                return Ok(Datum::I64(round_micros(time, typmod)));
            }
            let west = r.i32()?;
            if west <= -ZONE_LIMIT || west >= ZONE_LIMIT {
                bail!(INVALID_TIME_ZONE_DISPLACEMENT_VALUE, "time zone displacement out of range");
            }
            Ok(Datum::bytes(super::times::timetz_bytes(round_micros(time, typmod), west)))
        }
        _ => {
            let t = r.i64()?;
            if !is_infinite(t) && !crate::datetime::is_valid_timestamp(t) {
                bail!(DATETIME_FIELD_OVERFLOW, "timestamp out of range");
            }
            Ok(Datum::I64(round_micros(t, typmod)))
        }
    }
}

fn snapshot(r: &mut Reader) -> Result<SnapshotValue> {
    /// More do not fit into one value.
    const RUNNING_MAX: i32 = 0x3fff_ffff / 8 - 3;
    let wrong = || err!(INVALID_BINARY_REPRESENTATION, "invalid external pg_snapshot data");
    let n = r.i32()?;
    if !(0..=RUNNING_MAX).contains(&n) {
        return Err(wrong());
    }
    let (xmin, xmax) = (r.i64()? as u64, r.i64()? as u64);
    let known = |x: u64| x != 0 && x <= i64::MAX as u64;
    if !known(xmin) || !known(xmax) || xmax < xmin {
        return Err(wrong());
    }
    let (mut running, mut last) = (Vec::new(), 0);
    for _ in 0..n {
        let xid = r.i64()? as u64;
        if xid < last || xid < xmin || xid >= xmax {
            return Err(wrong());
        }
        if xid != last {
            running.push(xid);
        }
        last = xid;
    }
    Ok(SnapshotValue { xmin, xmax, running })
}

fn numeric(r: &mut Reader) -> Result<Numeric> {
    let (n, weight, sign, dscale) = (r.u16()?, r.i16()?, r.u16()?, r.i16()?);
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
    let digits = (0..n)
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

fn bits(type_oid: Oid, r: &mut Reader, typmod: i32) -> Result<Datum> {
    let n = r.i32()?;
    if !(0..=i32::MAX - 8).contains(&n) {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid length in external bit string");
    }
    match type_oid {
        oid::BIT if typmod > 0 && n != typmod => bail!(
            STRING_DATA_LENGTH_MISMATCH,
            "bit string length {n} does not match type bit({typmod})"
        ),
        oid::VARBIT if typmod > 0 && n > typmod => bail!(
            STRING_DATA_RIGHT_TRUNCATION,
            "bit string too long for type bit varying({typmod})"
        ),
        _ => {}
    }
    let body = r.take((n as usize).div_ceil(8))?;
    let mut out = n.to_le_bytes().to_vec();
    out.extend_from_slice(body);
    // What fills up the last byte is zero.
    if n % 8 != 0
        && let Some(last) = out.last_mut()
    {
        *last &= 0xff << (8 - n % 8);
    }
    Ok(Datum::bytes(out))
}

fn network(cidr: bool, r: &mut Reader) -> Result<Vec<u8>> {
    let name = if cidr { "cidr" } else { "inet" };
    let wrong = |what: &str| {
        err!(INVALID_BINARY_REPRESENTATION, "invalid {what} in external \"{name}\" value")
    };
    let family = r.byte()?;
    let size = match family {
        2 => 4,
        3 => 16,
        _ => return Err(wrong("address family")),
    };
    let mask = r.byte()?;
    if usize::from(mask) > size * 8 {
        return Err(wrong("bits"));
    }
    let _is_cidr = r.byte()?;
    if usize::from(r.byte()?) != size {
        return Err(wrong("length"));
    }
    let address = listed(r, size)?;
    let beyond = |i: usize| address[i / 8] & (0x80 >> (i % 8)) != 0;
    if cidr && (usize::from(mask)..size * 8).any(beyond) {
        return Err(err!(INVALID_BINARY_REPRESENTATION, "invalid external \"cidr\" value")
            .detail("Value has bits set to right of mask."));
    }
    Ok([&[family, mask], address.as_slice()].concat())
}

/// Numbers as they are stored.
fn numbers(r: &mut Reader, n: usize, out: &mut Vec<u8>) -> Result<()> {
    for _ in 0..n {
        out.extend_from_slice(&r.f64()?.to_le_bytes());
    }
    Ok(())
}

fn shape(type_oid: Oid, r: &mut Reader) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    match type_oid {
        oid::POINT => numbers(r, 2, &mut out)?,
        oid::LSEG => numbers(r, 4, &mut out)?,
        oid::BOX => {
            numbers(r, 4, &mut out)?;
            let given = geo::Rect::load(&out);
            let (mut high, mut low) = (given.high, given.low);
            if high.x < low.x {
                std::mem::swap(&mut high.x, &mut low.x);
            }
            if high.y < low.y {
                std::mem::swap(&mut high.y, &mut low.y);
            }
            out = geo::Rect { high, low }.store();
        }
        oid::LINE => {
            const NEARLY: f64 = 1.0e-6;
            let (a, b, c) = (r.f64()?, r.f64()?, r.f64()?);
            if a.abs() <= NEARLY && b.abs() <= NEARLY {
                bail!(
                    INVALID_BINARY_REPRESENTATION,
                    "invalid line specification: A and B cannot both be zero"
                );
            }
            [a, b, c].iter().for_each(|n| out.extend_from_slice(&n.to_le_bytes()));
        }
        oid::CIRCLE => {
            numbers(r, 3, &mut out)?;
            if geo::Circle::load(&out).radius < 0.0 {
                bail!(INVALID_BINARY_REPRESENTATION, "invalid radius in external \"circle\" value");
            }
        }
        _ => {
            const POINTS_MAX: i32 = i32::MAX / 16 - 2;
            let (name, closed) = match type_oid {
                oid::PATH => ("path", Some(r.byte()?)),
                _ => ("polygon", None),
            };
            let n = r.i32()?;
            if !(1..POINTS_MAX).contains(&n) {
                bail!(
                    INVALID_BINARY_REPRESENTATION,
                    "invalid number of points in external \"{name}\" value"
                );
            }
            out.extend(closed.map(|c| u8::from(c != 0)));
            numbers(r, n as usize * 2, &mut out)?;
        }
    }
    Ok(out)
}

/// A type in a message: its OID and its name.
fn named(type_oid: Oid, cx: &IoCtx) -> String {
    let name = match type_oid.is_valid() {
        true => cx.lookup.reg_out(oid::REGTYPE, type_oid).unwrap_or_else(|| "???".into()),
        false => "-".to_string(),
    };
    format!("{type_oid} ({name})")
}

/// Whether a type that was sent cannot be the one that is expected.
fn contradicts(sent: Oid, expected: Oid) -> bool {
    sent != expected && sent.0 < FIRST_ASSIGNED && expected.0 < FIRST_ASSIGNED
}

/// An array, the lower bounds of its dimensions, and whether it has NULLs.
fn array(elem: Oid, r: &mut Reader, typmod: i32, cx: &IoCtx) -> Result<(Datum, Vec<i32>, bool)> {
    let (ndim, flags, sent) = (r.i32()?, r.i32()?, Oid(r.i32()? as u32));
    if ndim < 0 {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid number of dimensions: {ndim}");
    }
    if ndim as usize > crate::array::MAX_DIMENSIONS {
        bail!(
            PROGRAM_LIMIT_EXCEEDED,
            "number of array dimensions ({ndim}) exceeds the maximum allowed ({})",
            crate::array::MAX_DIMENSIONS
        );
    }
    if flags & !1 != 0 {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid array flags");
    }
    if contradicts(sent, elem) {
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
    for i in 0..n {
        let Some(mut element) = r.element()? else {
            values.push(null(elem, cx)?);
            continue;
        };
        values.push(read(elem, &mut element, typmod, cx)?);
        if !element.0.is_empty() {
            bail!(
                INVALID_BINARY_REPRESENTATION,
                "improper binary format in array element {}",
                i + 1
            );
        }
    }
    if values.is_empty() {
        dims.clear();
        lbounds.clear();
    }
    let info = cx
        .lookup
        .type_info(elem)
        .ok_or_else(|| err!(UNDEFINED_OBJECT, "type with OID {elem} does not exist"))?;
    let made = make_array(&ElemType::new(&info), &values, &dims, &lbounds)?;
    Ok((Datum::bytes(made), lbounds, values.iter().any(Datum::is_null)))
}

/// `oidvector` and `int2vector`: one dimension, counted from 0, no NULLs.
fn vector(type_oid: Oid, r: &mut Reader, cx: &IoCtx) -> Result<Datum> {
    let (elem, name) = match type_oid {
        oid::OIDVECTOR => (oid::OID, "oidvector"),
        _ => (oid::INT2, "int2vector"),
    };
    let (value, lbounds, has_nulls) = array(elem, r, -1, cx)?;
    if lbounds != [0] || has_nulls {
        bail!(INVALID_BINARY_REPRESENTATION, "invalid {name} data");
    }
    Ok(value)
}

fn record(type_oid: Oid, r: &mut Reader, cx: &IoCtx) -> Result<Datum> {
    let desc = cx.lookup.row_desc(type_oid, -1).ok_or_else(bad)?;
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
        if contradicts(sent, attr.type_oid) {
            bail!(
                DATATYPE_MISMATCH,
                "binary data has type {} instead of expected {} in record column {}",
                named(sent, cx),
                named(attr.type_oid, cx),
                i + 1
            );
        }
        let value = match r.element()? {
            None => null(attr.type_oid, cx)?,
            Some(mut element) => {
                let value = read(attr.type_oid, &mut element, attr.typmod, cx)?;
                if !element.0.is_empty() {
                    bail!(
                        INVALID_BINARY_REPRESENTATION,
                        "improper binary format in record column {}",
                        i + 1
                    );
                }
                value
            }
        };
        columns.push(RecordColumn { type_oid: attr.type_oid, value });
    }
    Ok(Record { type_oid, typmod: -1, columns }.encode())
}
